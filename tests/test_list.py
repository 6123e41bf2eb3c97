"""The list of a campaign's parts."""

from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign, empty_campaign, published_campaign


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


def row(campaign: TriedCampaign, part: str) -> str:
    """The line of the list for a part."""
    return next(line for line in campaign.notes("list").stdout.splitlines() if line.startswith(f"{part} "))


def test_draft_is_listed(campaign):
    """Date, state, numbers and title of a draft stand in its line."""
    assert row(campaign, "part-1").split() == ["part-1", "2026-11-06", "draft", "21", "a", "smaller", "kernel"]


def test_published_part_is_listed_with_its_date(tmp_path, monkeypatch):
    """A published part shows since when it is."""
    assert "published 2026-11-06" in row(published_campaign(tmp_path, monkeypatch), "part-1")


def test_corrections_are_counted(tmp_path, monkeypatch):
    """A corrected part shows how many entries it carries."""
    campaign = published_campaign(tmp_path, monkeypatch)
    campaign.notes(
        *"correct 1 --says x --because y --reported-by z --date 2026-11-07 --said".split(),
        "nothing here is about people",
    )
    head = campaign.notes("list").stdout.splitlines()[0]
    line = row(campaign, "part-1")
    assert line[head.index("corrections") : head.index("corrections") + len("corrections")].strip() == "1"


def test_sealed_draft_is_listed(campaign):
    """A seal shows in the state."""
    campaign.write("data/rows.csv", campaign.text("data/rows.csv").replace("2026", "2099"))
    campaign.seal_before_rows()
    assert "draft, sealed" in row(campaign, "part-1")


def test_parts_are_ordered_by_number(campaign):
    """Part 10 comes after Part 2."""
    for number in ("10", "2"):
        campaign.notes("new", number)
    names = [line.split()[0] for line in campaign.notes("list").stdout.splitlines()[2:]]
    assert names == ["part-1", "part-2", "part-10"]


def test_part_that_cannot_be_read_does_not_hide_the_others(campaign):
    """One bad file leaves the rest of the list, and is told below it."""
    campaign.notes("new", "2")
    campaign.write("../part-2/facts.toml", "[")
    lines = campaign.notes("list", exit=None).stdout.splitlines()
    assert lines[2].startswith("part-1") and "unreadable" in lines[3]
    assert "parts/part-2/facts.toml: not TOML" in lines[4]


def test_empty_campaign_says_how_to_begin(tmp_path, monkeypatch):
    """Without parts the command that makes one is named."""
    campaign = empty_campaign(tmp_path, monkeypatch)
    assert campaign.notes("list").stdout == "no parts yet: `notes new part-1` makes one\n"


def test_other_folders_are_no_parts(campaign):
    """What is not named like a part is left out."""
    (campaign.root / "parts" / "drafts").mkdir()
    (campaign.root / "parts" / "part-7").write_text("a file, no folder")
    assert [line.split()[0] for line in campaign.notes("list").stdout.splitlines()[2:]] == ["part-1"]
