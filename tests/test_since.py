"""What was wrong when it was published, told apart from what only changed since."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.campaigns import TriedCampaign, built_campaign, published_campaign
from tests.repositories import PUBLISHED
from tests.test_neighbours import amend, correct

from campaign.notes.check import check_body, read_kept
from campaign.notes.findings import Finding
from campaign.notes.history import NoHistory, open_history
from campaign.notes.publish import publish
from campaign.notes.since import as_published, basis, differing, told_apart
from campaign.notes.sources import load


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return published_campaign(tmp_path, monkeypatch)


def told(campaign: TriedCampaign) -> list[Finding]:
    """The findings of the body, told apart."""
    sources = load(campaign.part)
    post, ledger, _ = read_kept(campaign.part)
    found, _ = check_body(campaign.part, post, ledger, sources)
    return told_apart(campaign.part, found, sources, open_history(campaign.root))


def kinds(findings: Sequence[Finding]) -> set[tuple[str, str]]:
    return {(finding.code, finding.level) for finding in findings}


def test_nothing_found_costs_nothing(campaign):
    """Where there is no finding, neither git nor the data are asked."""
    nothing: Any = None  # whatever asked it for something would fail
    assert told_apart(campaign.part, [], nothing, nothing) == []


def test_number_whose_data_were_mended_by_a_correction_is_a_note(campaign):
    """A published number that its data of that day gave, and that a correction tells of, only informs."""
    amend(campaign)
    correct(campaign, "saves 0.300 ms a verify step", '{{ q("saving") }} ms', ["part-1=The rows were measured again."])
    found = told(campaign)
    assert kinds(found) == {("since", "note")}
    assert "right when it was published; parts/part-1/data/draws.csv changed after" in found[0].also[0]


def test_number_whose_data_changed_without_a_correction_stays_an_error(campaign):
    """Data that nobody accounts for make no number right, and the data of that day can be taken up again."""
    amend(campaign)
    found = told(campaign)
    assert kinds(found) == {("changed", "error")}
    assert "and no correction says why" in found[0].also[0]
    command = found[0].mend.partition(", or ")[0]
    campaign.git(*command.split()[1:])
    assert told(campaign) == []


def test_fact_that_changed_without_a_correction_stays_an_error(campaign):
    """Facts are no more changed behind a published text than data."""
    campaign.change("value = 2\n", "value = 3\n", "facts.toml")
    assert kinds(told(campaign)) == {("changed", "error")}


def test_number_that_its_data_never_gave_was_wrong_then(tmp_path, monkeypatch):
    """A publication that slipped past the check, of a number that the data of that day do not give, is an error."""
    campaign = built_campaign(tmp_path, monkeypatch)
    for name in ("post.md", "numbers.json"):
        campaign.write(name, campaign.text(name).replace("0.300", "0.301"))
    campaign.commit_all("A wrong number")
    publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)
    campaign.commit_all("Publish it")
    found = told(campaign)
    assert kinds(found) == {("changed", "error")}
    assert "wrong when it was published" in found[0].also[0] and "gave '0.300'" in found[0].also[0]


def test_number_that_was_wrong_then_is_so_after_its_data_changed(tmp_path, monkeypatch):
    """Later data do not hide what was wrong from the beginning."""
    test_number_that_its_data_never_gave_was_wrong_then(tmp_path, monkeypatch)
    campaign = TriedCampaign(tmp_path.resolve() / "campaign", tmp_path.resolve() / "campaign")
    amend(campaign)
    wrong = next(finding for finding in told(campaign) if finding.said == "0.301")
    assert "wrong when it was published" in wrong.also[0]


def test_edited_text_is_left_to_the_other_findings(campaign):
    """A number that was edited after its publication was neither wrong then nor right."""
    campaign.change("saves 0.300", "saves 0.310")
    found = told(campaign)
    assert kinds(found) == {("changed", "error")} and found[0].also == ()


def test_draft_is_left_alone(tmp_path, monkeypatch):
    """What was never published has no day on which it was right."""
    campaign = built_campaign(tmp_path, monkeypatch)
    amend(campaign)
    found = told(campaign)
    assert kinds(found) == {("changed", "error")} and all(finding.also == () for finding in found)


def test_without_history_findings_stay_as_they_are(campaign, tmp_path, monkeypatch):
    """A shallow clone, and a host without git, cannot tell the two apart: an error stays one, and says so."""
    amend(campaign)
    campaign.commit_all("Other data")
    clone = campaign.clone(tmp_path / "clone", "--depth", "1")
    tried = TriedCampaign(clone.top, clone.root)
    found = told(tried)
    assert kinds(found) == {("changed", "error")}
    assert "git fetch --unshallow" in found[0].also[0]
    sources = load(tried.part)
    assert told_apart(tried.part, found, sources, NoHistory("no git here")) == found


def test_what_it_stood_on_is_read_from_git(campaign):
    """The files of that day are read as they were committed, whatever lies there now."""
    before = load(campaign.part)
    amend(campaign)
    campaign.write("facts.toml", campaign.text("facts.toml").replace("a smaller kernel", "another title"))
    then = as_published(campaign.part, campaign.repo)
    assert then.sources.readings["saving"].value == before.readings["saving"].value
    now = basis(campaign.part, load(campaign.part))
    assert differing(then.basis, now) == ["data/draws.csv", "facts.toml"]


def test_draws_with_crlf_line_ends_in_facts_are_no_change(campaign):
    """Line ends that a checkout changed in a typed file are no change of it."""
    then = as_published(campaign.part, campaign.repo)
    facts = campaign.part.facts
    facts.write_bytes(facts.read_bytes().replace(b"\n", b"\r\n"))
    assert differing(then.basis, basis(campaign.part, load(campaign.part))) == []
