"""The chain: one link for every publication and correction of a campaign, each over the link before it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, published_campaign

from campaign.notes.building import adopt_chain, show_chain
from campaign.notes.chain import (
    chain_file,
    chain_report,
    check_anchor,
    check_chain,
    extend,
    head_of,
    not_adopted,
    read_chain,
)
from campaign.notes.errors import CannotTell, UsageError
from campaign.notes.history import NoHistory
from campaign.notes.seal import Problem

CORRECT = (
    "correct", "1", "--said", "nothing here is about people", "--says", "it is about rows",
    "--because", "A reader asked.", "--reported-by", "A Reader", "--date", "2026-11-08",
)  # fmt: skip


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return published_campaign(tmp_path, monkeypatch)


def problems(campaign: TriedCampaign) -> list[Problem]:
    return check_chain(campaign.part.campaign, campaign.repo)


def codes(campaign: TriedCampaign) -> list[str]:
    return [problem.code for problem in problems(campaign)]


def file(campaign: TriedCampaign) -> Path:
    return chain_file(campaign.part.campaign)


def told(problem: Problem, campaign: TriedCampaign) -> None:
    """Nothing; the git command that a finding names has run, and then `notes chain --adopt` where it says so."""
    for command in re.findall(r"`([^`]+)`", problem.mend):
        if command.startswith("git checkout"):
            campaign.git(*command.split()[1:])
        elif command == "notes chain --adopt":
            extend(campaign.part.campaign, campaign.repo)


def another_part(campaign: TriedCampaign, name: str) -> None:
    """Nothing; a part as part-1 is then built, published and committed."""
    shutil.copytree(campaign.part.folder, campaign.root / "parts" / name)
    (campaign.root / "parts" / name / "published.toml").unlink()
    campaign.notes("build", name)
    campaign.commit_all(f"Build {name}")
    campaign.notes("publish", name)


def test_publication_and_corrections_are_links(campaign):
    """Each command adds its link, and the chain is as it should be."""
    campaign.notes(*CORRECT)
    links = read_chain(campaign.part.campaign)
    assert [link.event for link in links] == ["part-1 published", "part-1 correction 1"]
    assert links[0].previous is None and links[1].previous is not None
    assert problems(campaign) == [] and campaign.git("status", "--porcelain") == ""


def test_earlier_links_keep_their_bytes(campaign):
    """The file only ever grows at its end."""
    before = file(campaign).read_bytes()
    campaign.notes(*CORRECT)
    assert file(campaign).read_bytes().startswith(before)


@pytest.mark.parametrize("key", ["number", "event", "sha256", "previous"])
@pytest.mark.parametrize("committed", [False, True])
def test_changed_link_is_found(campaign, key, committed):
    """A link with another value is a finding, before and after it is committed, and what is told mends it."""
    campaign.notes(*CORRECT)
    values = {"number": "3", "event": '"part-1 correction 2"', "sha256": f'"{"0" * 64}"', "previous": f'"{"1" * 64}"'}
    head, mark, link = file(campaign).read_text().rpartition("[[link]]")
    file(campaign).write_text(head + mark + re.sub(rf"(?m)^{key} = .*$", f"{key} = {values[key]}", link))
    if committed:
        campaign.commit_all("Tidy up")
    found = problems(campaign)
    assert len(found) == 1
    told(found[0], campaign)
    assert problems(campaign) == []


def test_removed_link_is_found(campaign):
    """A chain that lost its last link is a finding, also once that is committed."""
    campaign.notes(*CORRECT)
    text = file(campaign).read_text()
    file(campaign).write_text(text.rpartition("\n[[link]]")[0])
    campaign.commit_all("Tidy up")
    assert codes(campaign) == ["link-removed"]
    told(problems(campaign)[0], campaign)
    assert file(campaign).read_text() == text and problems(campaign) == []


def test_removed_chain_is_found(campaign):
    """A campaign does not become one without a chain again."""
    file(campaign).unlink()
    campaign.commit_all("Tidy up")
    assert codes(campaign) == ["chain-removed"] and not_adopted(campaign.part.campaign, campaign.repo) == ""
    told(problems(campaign)[0], campaign)
    assert problems(campaign) == []


def test_chain_written_anew_is_found(campaign):
    """Links in another order are wrong though every hash was made again."""
    another_part(campaign, "part-2")
    file(campaign).unlink()
    record, fresh, no_git = campaign.part.published, campaign.part.campaign, NoHistory("asked without git")
    kept = record.read_text()
    record.unlink()
    extend(fresh, no_git)
    record.write_text(kept)
    extend(fresh, no_git)
    assert [link.event for link in read_chain(fresh)] == ["part-2 published", "part-1 published"]
    campaign.commit_all("Another order")
    assert codes(campaign) == ["link-changed"]
    told(problems(campaign)[0], campaign)
    assert problems(campaign) == []


def test_record_that_changed_is_found(campaign):
    """A link holds the publication as it was recorded."""
    campaign.change("numbers = ", "numbers = 1", "published.toml")
    assert codes(campaign) == ["link-unlike"]


def test_link_unlike_its_file_follows_from_the_file(campaign):
    """The record that was edited is mended, and the chain with it."""
    campaign.commit_all("Before")
    campaign.change("numbers = ", "numbers = 1", "published.toml")
    report = chain_report(campaign.part.campaign)
    (finding,) = report.findings
    assert finding.cause.startswith("kept at parts/part-1/published.toml:")
    assert "git checkout" in finding.mend and finding.mend.endswith("`notes correct part-1`")


def test_published_part_that_is_gone_is_found(campaign):
    """A part whose folder was removed leaves its link behind."""
    another_part(campaign, "part-2")
    shutil.rmtree(campaign.root / "parts" / "part-2")
    assert codes(campaign) == ["link-of-nothing"]


def test_correction_without_a_link_is_found(campaign):
    """An entry that was added past the command has no link, and what is told adds it."""
    campaign.notes(*CORRECT, "--no-commit")
    campaign.git("checkout", "--", "parts/chain.toml")
    assert codes(campaign) == ["link-missing"]
    told(problems(campaign)[0], campaign)
    assert problems(campaign) == []


def test_campaign_from_before_the_chain_is_told_and_adopted_once(campaign):
    """What was published before there was a chain is no finding; one command makes its links."""
    campaign.notes(*CORRECT)
    campaign.git("reset", "--quiet", "--hard", "HEAD~2")
    campaign.notes("publish", "1", "--no-commit")
    file(campaign).unlink()
    campaign.commit_all("Published long ago")
    assert problems(campaign) == []
    assert "1 publication or correction" in not_adopted(campaign.part.campaign, campaign.repo)
    lines = adopt_chain(campaign.part.campaign, commit=True).lines
    assert "link 1, part-1 published" in lines[0]
    assert problems(campaign) == [] and not_adopted(campaign.part.campaign, campaign.repo) == ""
    assert campaign.git("status", "--porcelain") == ""
    assert "nothing to add" in adopt_chain(campaign.part.campaign, commit=True).lines[0]


def test_chain_is_shown_with_what_is_wrong(campaign):
    """Each link is a line, and what is wrong with the chain stands below them."""
    shown = show_chain(campaign.part.campaign)
    assert not shown.differs and re.fullmatch(r"1  part-1 published  [0-9a-f]{12}", shown.lines[0])
    campaign.change("numbers = ", "numbers = 1", "published.toml")
    shown = show_chain(campaign.part.campaign)
    assert shown.differs and "link-unlike" in shown.lines[1]


def test_nothing_is_added_to_a_chain_that_was_changed(campaign):
    """A correction is refused, and leaves no file changed, while the chain is not as it was left."""
    text = file(campaign).read_text()
    file(campaign).write_text(re.sub(r'sha256 = ".{4}', 'sha256 = "0000', text))
    before = campaign.tree()
    assert "the links before are not as they were left" in campaign.notes(*CORRECT, exit=2).stderr
    assert campaign.tree() == before
    with pytest.raises(UsageError):
        extend(campaign.part.campaign, campaign.repo)


def test_two_branches_that_publish_are_joined(campaign):
    """After a merge the links of one branch stand behind those of the other, and that is no finding."""
    campaign.git("checkout", "--quiet", "-b", "side")
    another_part(campaign, "part-3")
    campaign.git("checkout", "--quiet", "main")
    another_part(campaign, "part-2")
    merged = subprocess.run(["git", "merge", "--quiet", "side"], cwd=campaign.root, capture_output=True, check=False)
    assert merged.returncode == 1
    campaign.git("checkout", "--ours", "parts/chain.toml")
    extend(campaign.part.campaign, campaign.repo)
    campaign.commit_all("Take up the other branch")
    assert [link.event for link in read_chain(campaign.part.campaign)] == [
        "part-1 published",
        "part-2 published",
        "part-3 published",
    ]
    assert problems(campaign) == []
    campaign.notes(*CORRECT)
    assert problems(campaign) == []


def test_shallow_clone_cannot_tell_of_the_chain(campaign, tmp_path):
    """Whether links were changed shows in the whole history only, and the command that brings it works."""
    clone = campaign.clone(tmp_path / "clone", "--depth", "1")
    with pytest.raises(CannotTell, match="git fetch --unshallow"):
        check_chain(clone.part.campaign, clone.repo)
    clone.git("fetch", "--quiet", "--unshallow")
    assert check_chain(clone.part.campaign, clone.repo) == []


def test_partial_clone_needs_no_old_chain(campaign, tmp_path):
    """Earlier states of the chain are known by their names alone: a clone without old blobs can tell."""
    campaign.notes(*CORRECT)
    clone = campaign.clone(tmp_path / "clone", "--filter=blob:none")
    campaign.top.rename(tmp_path / "gone")
    assert check_chain(clone.part.campaign, clone.repo) == []


def test_chain_with_crlf_line_ends_is_as_it_was(campaign):
    """Line ends that a checkout changed are no change of the chain."""
    campaign.notes(*CORRECT)
    file(campaign).write_bytes(file(campaign).read_bytes().replace(b"\n", b"\r\n"))
    assert problems(campaign) == []


def head(campaign: TriedCampaign) -> str:
    """The hash that a person keeps elsewhere."""
    found = head_of(campaign.part.campaign, campaign.repo)
    assert found is not None
    return found.sha256


def begin_anew(campaign: TriedCampaign) -> None:
    """Nothing; the repository then has one commit, which holds what lies there, and no other history."""
    shutil.rmtree(campaign.root / ".git")
    campaign.git("init", "--quiet", "--initial-branch=main")
    campaign.commit_all("Begin")


def test_head_is_printed_with_its_commit(campaign):
    """The last lines give the one hash to keep elsewhere, the commit that holds it, and how to use it."""
    said = campaign.notes("chain").stdout
    commit = campaign.git("log", "-1", "--format=%H", "--", "parts/chain.toml")
    assert f"head {head(campaign)}  (link 1, in commit {commit[:12]})" in said
    assert f"notes chain --anchor {head(campaign)}" in said


def test_anchor_holds_while_links_are_added(campaign):
    """A head that was kept stays one of the links, however many follow."""
    kept = head(campaign)
    campaign.notes(*CORRECT)
    assert head(campaign) != kept
    for anchor in (kept, head(campaign), kept[:16], kept.upper()):
        campaign.notes("chain", "--anchor", anchor)


def test_history_rewritten_as_a_whole_is_found_by_its_anchor(campaign):
    """Where files, records, chain and commits were all made anew, only the head that was kept elsewhere tells."""
    kept = head(campaign)
    for name in ("published.toml", "../chain.toml"):
        (campaign.part.folder / name).unlink()
    campaign.change("about people", "about dogs", "post.md.j2")
    begin_anew(campaign)
    campaign.notes("build", "1")
    campaign.commit_all("Build it anew")
    campaign.notes("publish", "1")
    campaign.notes("chain")
    said = campaign.notes("chain", "--anchor", kept, exit=1).stdout
    assert f"parts/chain.toml: anchor-lost: found 1 link, none of them with the sha256 {kept[:16]}" in said


def test_history_that_lost_the_commits_of_its_records_is_found(campaign):
    """Records that name commits of another history make the command fail by itself."""
    begin_anew(campaign)
    assert codes(campaign) == []
    assert "published.toml: " in campaign.notes("chain", exit=1).stdout


@pytest.mark.parametrize("anchor", ["", "12ab", "x" * 64, "0" * 65])
def test_anchor_that_is_no_hash_is_refused(campaign, anchor):
    """A slip in the anchor is wrong use, not a finding."""
    with pytest.raises(UsageError, match=r"--anchor: found .*; expected the head that `notes chain` prints"):
        check_anchor(campaign.part.campaign, anchor)
