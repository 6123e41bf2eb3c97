"""A campaign whose prose has decimal commas: what is printed, what is read back, and what is found."""

from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign, findings

from campaign.analysis.readings import Reading
from campaign.notes.importing import propose
from campaign.notes.quote import print_reading
from campaign.notes.sources import load


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    tried = built_campaign(tmp_path, monkeypatch)
    settings = tried.root / "campaign.toml"
    settings.write_text(settings.read_text() + 'decimal = ","\n')
    tried.notes("build", "1")
    return tried


@pytest.mark.parametrize(
    ("fmt", "said"), [(".2f", "1234,50"), (",.1f", "1.234,5"), ("+.0f", "+1235"), (".0%", "123450%")]
)
def test_point_and_comma_change_places(fmt, said):
    """A number is printed with a comma before its decimals and points between its thousands."""
    assert print_reading(Reading("x", 1234.5), fmt, ",") == said


def test_texts_keep_their_points():
    """What is no number is printed as it is."""
    assert print_reading(Reading("x", "v1.2, as built"), "s", ",") == "v1.2, as built"


def test_campaign_is_built_and_checked_with_commas(campaign):
    """Every number of the text is bound, and there is no finding."""
    assert "saves 0,300 ms" in campaign.text()
    assert "0 unbound" in campaign.notes("check", "1").stdout


def test_point_in_place_of_a_comma_is_found(campaign):
    """A decimal point says something else there."""
    campaign.change("saves 0,300", "saves 0.300")
    (one,) = [one for one in findings(campaign.notes("check", "1", exit=1).stdout) if one["level"] == "error"]
    assert (one["said"], one["expected"]) == ("'0.300'", "'0,300'")


@pytest.mark.parametrize("asked", ["0,300", "0.300", "0,3000", "0,300 ms"])
def test_why_reads_commas(campaign, asked):
    """A number is found as it is printed, in other digits, and with the point that a keyboard has."""
    said = campaign.notes("why", "1", asked).stdout
    assert "\nreading    saving, in ms/verify step\n" in said
    assert "0.300 → 0,300 (format .3f)" in " ".join(said.split())


@pytest.mark.parametrize("asked", ["8.872", "8872", "8 872"])
def test_why_knows_the_point_as_a_mark_between_thousands(campaign, asked):
    """The digits of a count are found however they are grouped."""
    assert "\nreading    steps, in steps\n" in campaign.notes("why", "1", asked).stdout


def test_why_names_the_nearest_numbers(campaign):
    """What is not printed is compared by its value."""
    said = campaign.notes("why", "1", "0,301", exit=2).stderr
    assert "The nearest are 0,300 (parts/part-1/post.md:" in said


def test_import_reads_commas(campaign):
    """An old post with commas is matched with the readings, its other numbers become facts, and the text comes back."""
    text = "The saving is 0,300 ms a verify step after 8.872 steps, and 1.234,5 s, −0,25 s later.\n"
    found = propose(text, "old.md", load(campaign.part), (), ",")
    assert '{{ q("saving") }} ms' in found.template and '{{ q("steps") }} steps' in found.template
    assert [stub.value for stub in found.facts] == [1234.5, -0.25]
    assert found.rendered() == found.body == text


def test_import_command_reads_commas(campaign):
    """The command takes the mark from campaign.toml."""
    (campaign.root / "old.md").write_text("The cap was 0,75 kW.\n")
    campaign.notes("import", "old.md", "--as", "2")
    assert "value = 0.75\n" in (campaign.root / "parts/part-2/facts.toml").read_text()
