"""A campaign whose prose has decimal commas: what is printed, what is read back, and what is found."""

from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign, findings

from campaign.analysis.readings import Reading
from campaign.notes.quote import print_reading


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
