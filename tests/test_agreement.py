"""Agreement: one reading is one number, in every place of a post, in facts that restate it, and in every part."""

import json

import pytest
from tests.campaigns import TriedCampaign, built_campaign

from campaign.notes.agreement import agreement
from campaign.notes.ledger import read_ledger
from campaign.notes.post import split
from campaign.notes.sources import load


@pytest.fixture
def campaign(tmp_path, monkeypatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


def found(campaign: TriedCampaign) -> list:
    """What does not agree in part-1 as it lies there."""
    part = campaign.part
    ledger, _ = read_ledger(part.numbers, "numbers.json")
    return list(agreement(part, split(campaign.text(), "post.md"), ledger, load(part)))


def fact(name: str, value: str, source: str, more: str = "") -> str:
    return f'\n[facts."{name}"]\nvalue = {value}\nsource = {json.dumps(source)}\n{more}'


def add_fact(campaign: TriedCampaign, *said: str) -> None:
    campaign.write("facts.toml", campaign.text("facts.toml") + fact(*said))


def other_part(campaign: TriedCampaign, readings: list[dict], facts: str = "", data: dict | None = None) -> None:
    """A part-2 of which only what was computed lies there."""
    folder = campaign.part.folder.parent / "part-2"
    folder.mkdir()
    (folder / "readings.json").write_text(json.dumps({"part": "part-2", "data": data or {}, "readings": readings}))
    (folder / "facts.toml").write_text(facts)


def rebuilt(campaign: TriedCampaign, was: str, becomes: str) -> None:
    campaign.change(was, becomes, "post.md.j2")
    campaign.notes("build", "1")


def test_a_post_as_it_was_built_agrees_with_itself(campaign):
    """Each number is a rounding of the one value."""
    assert found(campaign) == []


def test_one_reading_at_two_precisions_agrees(campaign):
    """0.300 and 0.3 are roundings of one value."""
    rebuilt(campaign, "nothing here", '{{ q("saving", ".1f") }} ms; nothing here')
    assert found(campaign) == []


def test_one_reading_printed_in_two_ways_is_an_error(campaign):
    """Each place that cannot be the most precise one's value is named, with that place beside it."""
    rebuilt(campaign, "nothing here", 'again {{ q("saving", ".1f") }} ms; nothing here')
    campaign.change("again 0.3 ms", "again 0.4 ms")
    (one,) = found(campaign)
    assert (one.code, one.level, one.said, one.expected, one.source) == ("disagree", "error", "0.4", "0.300", "saving")
    assert campaign.text().split("\n")[one.line - 1][one.column - 1 :].startswith("0.4 ms")
    assert one.also[0].startswith("0.300 at 8:")


def test_a_count_in_words_agrees_with_its_digits(campaign):
    """Four and 4 are one number; a word has no rounding."""
    rebuilt(campaign, "nothing here", 'all {{ q("rows.n") }} of them; nothing here')
    assert found(campaign) == []
    campaign.change("all 4 of them", "all 5 of them")
    (one,) = found(campaign)
    assert {one.said, one.expected} == {"four", "5"}


def test_another_name_of_a_reading_agrees_with_it(campaign):
    """A reading whose expression is another reading stands for the same value."""
    campaign.change(
        '[[reading]]\nid = "rows.n"',
        '[[reading]]\nid = "short"\nkind = "expr"\nexpr = "saving"\nprint = ".1f"\n\n[[reading]]\nid = "rows.n"',
        "plan.toml",
    )
    rebuilt(campaign, "nothing here", 'again {{ q("short") }} ms; nothing here')
    campaign.change("again 0.3 ms", "again 0.2 ms")
    assert [(one.said, one.expected) for one in found(campaign)] == [("0.2", "0.300")]


def test_a_fact_is_held_to_the_file_that_its_source_names(campaign):
    """A key of run.json or of the plan that holds another number is told at the fact's line."""
    campaign.write("data/run.json", '{"origin": "measured", "machine": {"cores": 4}}\n')
    add_fact(campaign, "cores", "2", "data/run.json: machine.cores")
    (one,) = found(campaign)
    assert (one.code, one.said, one.expected) == ("disagree", "2", "4")
    assert campaign.text("facts.toml").split("\n")[one.line - 1] == '[facts."cores"]'


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("4", "data/run.json: machine.cores"),
        ("3", "data/run.json: what no key is called"),
        ("3", "data/run.json: machine"),
        ("3", "plan.toml: settings of both arms"),
        ("2", "plan.toml: rows.draws"),
        ("3.7", "plan.toml: matching.at"),
        ('"many"', "data/run.json: machine.cores"),
        ("3", "the machine's manual"),
    ],
)
def test_a_fact_that_agrees_or_names_no_key_is_no_finding(campaign, value, source):
    """Words after the file that are no key of it are words; a key of the plan may lead to a constant."""
    campaign.write("data/run.json", '{"origin": "measured", "machine": {"cores": 4}}\n')
    add_fact(campaign, "cores", value, source)
    assert found(campaign) == []


@pytest.mark.parametrize(
    ("typed", "held"),
    [("0.31", 0.3137), ("0.314", 0.3137), ("3", 3), ("18", 18.4), ('"W01"', "W01"), ("0.3145", 0.3145)],
)
def test_a_fact_that_restates_another_part_agrees_at_its_own_precision(campaign, typed, held):
    """A rounding of what that part has under the id is the same reading."""
    other_part(campaign, [{"id": "count", "value": held}])
    add_fact(campaign, "count", typed, "stated by Part 2")
    assert found(campaign) == []


@pytest.mark.parametrize(
    ("typed", "held", "source"),
    [
        ("0.32", 0.3137, "Part 2's count"),
        ("4", 3, "stated by part 2, its table"),
        ('"W02"', "W01", "part-2"),
        ("0.32", 0.31, "Part 1 and Part 2"),
    ],
)
def test_a_fact_that_another_part_has_otherwise_is_an_error(campaign, typed, held, source):
    """The finding stands at the fact and names the part and its file."""
    other_part(campaign, [{"id": "count", "value": held}])
    add_fact(campaign, "count", typed, source)
    (one,) = found(campaign)
    assert (one.code, one.level, one.expected) == ("disagree", "error", str(held))
    assert one.path == "parts/part-1/facts.toml" and "count of Part 2, parts/part-2/readings.json" in one.source


@pytest.mark.parametrize(
    "source", ["half of what Part 2 counted", "twice the bar of Part 2", "the manual, which Part 2 quotes above others"]
)
def test_a_number_that_is_made_of_another_parts_number_restates_nothing(campaign, source):
    """Half of another part's bar is no copy of it, though it has its name."""
    other_part(campaign, [{"id": "count", "value": 0.4}])
    add_fact(campaign, "count", "0.2", source)
    assert found(campaign) == []


def test_a_fact_that_was_rounded_twice_is_told_so(campaign):
    """0.1449 is 0.14; by way of 0.145 it becomes 0.15."""
    other_part(campaign, [{"id": "count", "value": 0.1449}])
    add_fact(campaign, "count", "0.15", "stated by Part 2")
    (one,) = found(campaign)
    assert one.also == ("0.15 is 0.145 rounded again, which is 0.1449 rounded: round once",)


def test_a_fact_typed_short_and_printed_shorter_is_rounded_twice(campaign):
    """A typed 0.145 that stands for 0.1449 agrees, but printed with two digits it reads 0.15."""
    other_part(campaign, [{"id": "count", "value": 0.1449}])
    add_fact(campaign, "count", "0.145", "stated by Part 2", 'print = ".2f"\n')
    rebuilt(campaign, "nothing here", 'a count of {{ q("count") }} ms; nothing here')
    (one,) = found(campaign)
    assert (one.path, one.said, one.expected) == ("parts/part-1/post.md", "0.15", "0.14")
    assert "rounded twice" in one.also[0]


def test_a_fact_in_another_unit_is_an_error(campaign):
    """The same number of another thing is no agreement."""
    other_part(campaign, [{"id": "count", "value": 3, "unit": "ms"}])
    add_fact(campaign, "count", "3", "stated by Part 2", 'unit = "s"\n')
    assert [(one.said, one.expected) for one in found(campaign)] == [("3 s", "3 ms")]


def test_a_constant_whose_reason_names_a_part_is_held_to_it(campaign):
    """The finding stands in the plan."""
    other_part(campaign, [], '[facts."bar"]\nvalue = 0.2\nsource = "there"\n')
    campaign.change('because = "the saving that pays"', 'because = "the bar of Part 2"', "plan.toml")
    (one,) = found(campaign)
    assert (one.path, one.said, one.expected) == ("parts/part-1/plan.toml", "0.1", "0.2")


def test_a_part_that_nothing_refers_to_is_not_read(campaign):
    """An equal id in any part is no reference, so that checking a campaign stays linear."""
    other_part(campaign, [{"id": "gpus", "value": 8}])
    assert found(campaign) == []


def test_one_reading_of_one_data_is_the_same_in_two_parts(campaign):
    """Where both parts have the same files, a reading that both compute alike has one value."""
    add_fact(campaign, "before", '"there"', "stated by Part 2")
    built = json.loads(campaign.text("readings.json"))
    readings = built["readings"]
    other_part(campaign, readings, data=built["data"])
    assert found(campaign) == []
    changed = [one | {"value": 0.5} if one["id"] == "saving" else one for one in readings]
    path = campaign.part.folder.parent / "part-2" / "readings.json"
    path.write_text(json.dumps({"data": built["data"], "readings": changed}))
    (one,) = found(campaign)
    assert one.said.startswith("saving = 0.3") and one.expected == "0.5"
    path.write_text(json.dumps({"data": built["data"] | {"data/draws.csv": "other"}, "readings": changed}))
    assert found(campaign) == []


def test_what_another_part_has_wrong_is_left_to_its_own_check(campaign):
    """A broken readings.json elsewhere says nothing about this part."""
    other_part(campaign, [])
    (campaign.part.folder.parent / "part-2" / "readings.json").write_text("not json")
    add_fact(campaign, "count", "0.15", "stated by Part 2")
    assert found(campaign) == []
