"""Asking where a printed number comes from."""

from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign, published_campaign


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


def place(campaign: TriedCampaign, text: str) -> tuple[int, int]:
    """Line and column at which the text begins in post.md."""
    lines = campaign.text().splitlines()
    line = next(i for i, held in enumerate(lines) if text in held)
    return line + 1, lines[line].index(text) + 1


def test_number_is_explained_by_its_text(campaign):
    """Value, format, interval, formula, place and data are told."""
    said = campaign.notes("why", "1", "0.300").stdout
    line, column = place(campaign, "0.300")
    for expected in (
        "reading  saving",
        "ms/verify step",
        "format .3f",
        "lo ",
        "hi ",
        "pooled t over rows",
        "data measured, sha256 ",
    ):
        assert expected in said
    assert f"stands at  parts/part-1/post.md {line}:{column} '0.300'" in said


def test_place_is_explained_by_line_and_column(campaign):
    """PART:LINE:COLUMN names one place, at any of its characters."""
    line, column = place(campaign, "0.212")
    for at in (column, column + 4):
        said = campaign.notes("why", f"part-1:{line}:{at}").stdout
        assert said.startswith("reading  saving.lo")


def test_line_is_explained_place_by_place(campaign):
    """PART:LINE names all places of the line, each source once."""
    line, _ = place(campaign, "took 8,872")
    said = campaign.notes("why", f"part-1:{line}").stdout
    assert said.startswith("3 different sources")
    assert [name for name in ("rows.n", "steps", "change") if f"reading  {name}\n" in said] == [
        "rows.n",
        "steps",
        "change",
    ]


def test_ambiguous_text_lists_every_candidate(campaign):
    """A text that several sources print is explained for each of them."""
    said = campaign.notes("why", "1", "changed").stdout
    assert said.startswith("2 different sources print this:")
    assert "arm_of.2" in said and "arm_of.3" in said


def test_every_place_of_a_source_is_told(campaign):
    """All places that print the same reading are listed, in another format too."""
    campaign.change("nothing here", 'and {{ q("saving", ".1f") }} ms again; nothing here', "post.md.j2")
    campaign.notes("build", "1")
    said = campaign.notes("why", "1", "0.300").stdout
    assert "'0.300'" in said and "'0.3'" in said and "format .1f" in said


def test_claim_is_explained_with_its_operands(campaign):
    """A claimed word leads to its expression and to the values that decide it."""
    said = campaign.notes("why", "1", "above").stdout
    assert "saving > bar" in said and "'above' while it is true" in said
    assert "saving = 0.29" in said or "saving = 0.3" in said
    assert "bar = 0.1" in said


def test_constant_and_fact_name_their_source(campaign):
    """A constant says why it has its value, a fact where it can be looked up."""
    assert "the saving that pays" in campaign.notes("why", "1", "0.10").stdout
    assert "the machine" in campaign.notes("why", "1", "two").stdout


def test_verdict_is_explained_by_its_bands(campaign):
    """The verdict shows the reading that decides and the bands."""
    said = campaign.notes("why", "1", "carries").stdout
    assert "saving.lo: carries >= bar, seen > nothing, rolled back" in said
    assert "saving.lo = 0.21" in said


def test_published_number_names_its_publication(tmp_path, monkeypatch):
    """A published part's number says since when it stands and in which commit."""
    campaign = published_campaign(tmp_path, monkeypatch)
    assert "published  2026-11-06, commit " in campaign.notes("why", "1", "0.300").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1", "7.5"], "no bound place for '7.5'"),
        (["part-1:1"], "no bound place for line 1;"),
        (["part-1:8:1"], "no bound place for line 8, column 1;"),
        (["part-1:9999"], "no bound place for line 9999"),
    ],
)
def test_text_that_nothing_prints_is_told(campaign, arguments, message):
    """What is no bound place is said to be none, with where to look."""
    result = campaign.notes("why", *arguments, exit=2)
    assert message in result.stderr and "`notes read part-1`" in result.stderr


def test_question_without_a_number_is_told(campaign):
    """A bare part is asked for the number."""
    assert "no number named; expected `notes why 1 0.314`" in campaign.notes("why", "1", exit=2).stderr


def test_hyphen_stands_for_the_minus_sign(campaign):
    """A person types a negative number with the key that a keyboard has, and it is taken for no option."""
    assert "reading  change" in campaign.notes("why", "1", "-0.30").stdout
    assert "reading  change" in campaign.notes("why", "1", "--", "-0.30").stdout


def test_part_may_be_named_with_its_folder(campaign):
    """A path to the post is a place as well as the part's name."""
    line, column = place(campaign, "0.300")
    assert "saving" in campaign.notes("why", f"parts/part-1:{line}:{column}").stdout
    assert "saving" in campaign.notes("why", f"parts/part-1/post.md:{line}:{column}").stdout
