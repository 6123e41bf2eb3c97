"""numbers.json: where each quoted place stands and what it comes from."""

import json
from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign

from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Reading, Readings
from campaign.notes.claims import claim_holds
from campaign.notes.errors import UsageError
from campaign.notes.ledger import NOT_TRUE, Ledger, Place, read_ledger

READINGS = Readings(
    {"saving": Reading("saving", 0.3, print=".3f"), "open": Reading("open", None, reason="no rows")}, "part-1"
)
LEDGER = Ledger(
    (
        Place("0.300", "reading", "saving"),
        Place("0.3", "reading", "saving", ".1f"),
        Place("less", "claim", "saving > 0", word="less", otherwise="more"),
    ),
    ("A step takes ", " ms (", ")\n", " than before: −1 “x”.\n"),
)
BODY = "A step takes 0.300 ms (0.3)\nless than before: −1 “x”.\n"


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


def test_places_and_literals_give_the_body():
    """The ledger holds the whole body."""
    assert LEDGER.body() == BODY


def test_spans_cut_the_places_out_of_the_body():
    """Each span holds exactly what its place printed."""
    assert [BODY[start:end] for start, end in LEDGER.spans()] == ["0.300", "0.3", "less"]


def test_other_texts_move_the_spans():
    """Longer texts in the places move what follows."""
    texts = ["10.300", "0.3", "no less"]
    body = LEDGER.body(texts)
    assert [body[start:end] for start, end in LEDGER.spans(texts)] == texts


def test_file_reads_back_as_it_was_written(tmp_path):
    """Every field of every place and all text survives numbers.json."""
    path = tmp_path / "numbers.json"
    path.write_text(LEDGER.to_json({"numbers": 2}))
    assert read_ledger(path, "numbers.json") == (LEDGER, {"numbers": 2})


def test_file_names_line_and_column_of_each_place(campaign):
    """A person finds each place of numbers.json in the body by its line and column."""
    lines = campaign.body.split("\n")
    for place in json.loads(campaign.text("numbers.json"))["places"]:
        at = place["column"] - 1
        assert lines[place["line"] - 1][at : at + len(place["text"])] == place["text"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not a numbers.json"),
        ("[]", "not a numbers.json"),
        ("{}", "schema"),
        ('{"schema": 99}', "schema 99; expected 1"),
        ('{"schema": 1, "counts": {}, "places": [{}], "after": ""}', "places.0"),
        ('{"schema": 1, "counts": {}, "places": 3, "after": ""}', "places"),
    ],
)
def test_file_that_is_no_ledger_is_refused(tmp_path, text, what):
    """A damaged numbers.json is told by its name, with what is wrong in it and how to have it again."""
    path = tmp_path / "numbers.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"^parts/part-1/numbers\.json: .*expected .*[Bb]uild") as wrong:
        read_ledger(path, "parts/part-1/numbers.json")
    assert what in str(wrong.value)


@pytest.mark.parametrize(
    "change",
    [{"text": 3}, {"source": None}, {"before": 1}, {"format": 2}, {"kind": "something"}],
    ids=["text", "source", "before", "format", "kind"],
)
def test_ledger_with_a_field_of_another_type_is_refused(campaign, change):
    """A field that is no text, or no known kind, is one message and not a traceback."""
    held = json.loads(campaign.text("numbers.json"))
    held["places"][5] |= change
    campaign.write("numbers.json", json.dumps(held))
    result = campaign.notes("check", "1", exit=2)
    assert result.stderr.startswith("notes: parts/part-1/numbers.json: ")


def test_format_that_no_longer_fits_is_a_finding(campaign):
    """A place whose format cannot print its reading is told like one whose reading is gone."""
    held = json.loads(campaign.text("numbers.json"))
    next(place for place in held["places"] if place["source"] == "saving")["format"] = "word"
    campaign.write("numbers.json", json.dumps(held))
    assert "error[gone]: said '0.300'" in campaign.notes("check", "1", exit=1).stdout


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place("0.299", "reading", "saving"), "0.300"),
        (Place("0.2", "reading", "saving", ".1f"), "0.3"),
        (Place("x", "reading", "open"), "not resolved"),
        (Place("x", "claim", "saving > 0", word="less", otherwise="more"), "less"),
        (Place("x", "claim", "saving < 0", word="less", otherwise="more"), "more"),
        (Place("x", "claim", "saving < 0", word="less"), NOT_TRUE),
        (Place("x", "claim", "open > 0", word="less", otherwise="more"), "not resolved"),
    ],
)
def test_fresh_text_comes_from_the_readings_of_now(place, text):
    """What should stand in a place is printed anew, whatever stood there at the build."""
    assert place.fresh(READINGS) == text


def test_place_whose_reading_is_gone_has_no_fresh_text():
    """A reading that is no longer declared is told."""
    with pytest.raises(ReadingError, match="there is no reading 'other'"):
        Place("1", "reading", "other").fresh(READINGS)


@pytest.mark.parametrize(
    ("expression", "holds"), [("saving > 0", True), ("saving < 0", False), ("open > 0", None), ("not open > 0", None)]
)
def test_claim_over_something_unresolved_neither_holds_nor_fails(expression, holds):
    """Neither a sentence nor its opposite is true of what is not resolved."""
    assert claim_holds(expression, READINGS) is holds
