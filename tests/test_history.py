"""What git knows about a campaign's files."""

import datetime
import subprocess
from pathlib import Path

import pytest
from tests.repositories import PLAN, SmallCampaign, small_campaign

from campaign.notes.errors import CannotTell, UsageError
from campaign.notes.history import Held, NoHistory, blob_of, open_history, require_history, workable


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallCampaign:
    return small_campaign(tmp_path, monkeypatch)


def test_blob_is_named_as_git_names_it(campaign):
    """The name computed here is the one that git computes."""
    data = "a line\r\nund ein Wört\n".encode()
    (campaign.top / "x").write_bytes(data)
    assert blob_of(data) == campaign.git("hash-object", "--no-filters", "x")


def test_campaign_below_the_top_of_the_work_tree(tmp_path, monkeypatch):
    """A campaign may lie in a subfolder of its git work tree."""
    campaign = small_campaign(tmp_path, monkeypatch, below="notes/ours")
    assert campaign.repo.committed_blob(campaign.part.plan) == blob_of(PLAN.encode())


def test_no_git_is_an_answer(tmp_path):
    """Outside of git the answer says so, and what would help."""
    assert "git clone" in open_history(tmp_path).why


def test_no_git_program_is_an_answer(tmp_path, monkeypatch):
    """A host without git gets an answer, not a traceback."""
    monkeypatch.setitem(__import__("sys").modules, "git", None)
    assert "cannot be run" in open_history(tmp_path).why


def test_history_that_is_needed_cannot_be_told(tmp_path):
    """What needs a history says that it cannot tell without one."""
    with pytest.raises(CannotTell, match="A seal needs it"):
        require_history(NoHistory("no git here"), "A seal")


def test_empty_repository_has_no_head(campaign):
    """Before the first commit there is no commit and no committed file."""
    campaign.git("checkout", "--quiet", "--orphan", "empty")
    assert (campaign.repo.head_commit, campaign.repo.committed_blob(campaign.part.plan)) == (None, None)


def test_file_that_was_never_committed_has_no_blob(campaign):
    """A file that HEAD does not have has no committed blob."""
    campaign.part.facts.write_text("")
    assert campaign.repo.committed_blob(campaign.part.facts) is None


def test_file_outside_is_refused(campaign, tmp_path):
    """A file outside the work tree is a wrong use."""
    with pytest.raises(UsageError, match="outside the git work tree"):
        campaign.repo.committed_blob(tmp_path / "elsewhere")


def test_changed_file_is_not_clean(campaign):
    """One added byte makes a file unclean."""
    assert campaign.repo.is_clean(campaign.part.plan)
    campaign.part.plan.write_text(PLAN + "\n")
    assert not campaign.repo.is_clean(campaign.part.plan)


def test_change_hidden_from_git_status_is_not_clean(campaign):
    """A file that git was told to assume unchanged is compared all the same."""
    campaign.git("update-index", "--assume-unchanged", "parts/part-4/plan.toml")
    campaign.part.plan.write_text(PLAN + "\n")
    assert not campaign.repo.is_clean(campaign.part.plan)


def test_changed_below_names_new_and_changed_files(campaign):
    """New and changed files below a folder are named, those elsewhere are not."""
    campaign.part.plan.write_text("")
    (campaign.part.folder / "a b.csv").write_text("")
    (campaign.root / "elsewhere").write_text("")
    assert {path.name for path in campaign.repo.changed_below(campaign.part.folder)} == {"plan.toml", "a b.csv"}


def test_versions_go_from_new_to_old(campaign):
    """A file's states come newest first, its removal among them."""
    first = campaign.repo.committed_blob(campaign.part.plan)
    campaign.part.plan.write_text("a = 1\n")
    campaign.commit_all()
    campaign.part.plan.unlink()
    campaign.commit_all()
    assert [version.blob for version in campaign.repo.versions(campaign.part.plan)] == [
        None,
        blob_of(b"a = 1\n"),
        first,
    ]


def test_version_on_a_branch_that_lost_the_merge_is_found(campaign):
    """A state on a side branch counts though the merge kept the other one."""
    campaign.git("checkout", "--quiet", "-b", "side")
    campaign.part.plan.write_text("a = 1\n")
    side = campaign.commit_all()
    campaign.git("checkout", "--quiet", "main")
    campaign.git("merge", "--quiet", "--no-ff", "-s", "ours", "-m", "merged", "side")
    assert campaign.repo.earlier_commit_with(campaign.part.plan, blob_of(b"a = 1\n")) == side


def test_earlier_commit_is_the_one_that_brought_the_blob(campaign):
    """The commit that gave a file its present blob is found below later commits."""
    first = campaign.repo.head_commit
    campaign.part.facts.write_text("")
    campaign.commit_all()
    assert campaign.repo.earlier_commit_with(campaign.part.plan, blob_of(PLAN.encode())) == first


def test_commit_holds_its_blob(campaign):
    """A commit below HEAD holds the blob that it has."""
    first = campaign.repo.head_commit
    campaign.commit_all()
    assert campaign.repo.holds(first, campaign.part.plan, blob_of(PLAN.encode())) is Held.YES


def test_commit_with_another_blob(campaign):
    """A commit does not hold a blob that it does not have."""
    assert campaign.repo.holds(campaign.repo.head_commit, campaign.part.plan, blob_of(b"")) is Held.OTHER_BLOB


def test_commit_holds_its_blob_after_the_campaign_moved(campaign):
    """A blob is still held when the campaign's folder was moved inside the tree."""
    first = campaign.repo.head_commit
    (campaign.top / "ours").mkdir()
    campaign.git("mv", "parts", "campaign.toml", "ours/")
    campaign.commit_all()
    moved = SmallCampaign(campaign.top, campaign.top / "ours")
    assert moved.repo.holds(first, moved.part.plan, blob_of(PLAN.encode())) is Held.YES


def test_commit_that_an_amend_replaced_is_rewritten(campaign):
    """A commit that git still has, but not in HEAD's history, was rewritten."""
    first = campaign.repo.head_commit
    campaign.git("commit", "--quiet", "--amend", "-m", "another message")
    assert campaign.repo.holds(first, campaign.part.plan, blob_of(PLAN.encode())) is Held.REWRITTEN


def test_replacement_object_does_not_stand_in_for_history(campaign):
    """`git replace` cannot put a commit into HEAD's history."""
    first = campaign.repo.head_commit
    campaign.git("checkout", "--quiet", "--orphan", "other")
    other = campaign.commit_all("another root")
    campaign.git("replace", "--graft", other, first)
    assert campaign.repo.holds(first, campaign.part.plan, blob_of(PLAN.encode())) is Held.REWRITTEN


def test_commit_unknown_to_a_whole_clone_is_rewritten(campaign):
    """A whole history that lacks the commit was rewritten."""
    assert campaign.repo.holds("1" * 40, campaign.part.plan, blob_of(b"")) is Held.REWRITTEN


def test_commit_below_a_shallow_clone_is_missing(campaign, tmp_path):
    """A shallow clone cannot tell about a commit that it does not reach."""
    first = campaign.repo.head_commit
    campaign.commit_all()
    shallow = campaign.clone(tmp_path / "shallow", "--depth=1")
    assert shallow.repo.is_shallow
    assert shallow.repo.holds(first, shallow.part.plan, blob_of(PLAN.encode())) is Held.MISSING


def test_blob_below_a_shallow_clone_names_the_command(campaign, tmp_path):
    """A blob that a shallow clone lacks is asked for with `git fetch --unshallow`."""
    campaign.part.plan.write_text("a = 1\n")
    campaign.commit_all()
    shallow = campaign.clone(tmp_path / "shallow", "--depth=1")
    with pytest.raises(CannotTell, match="git fetch --unshallow"):
        shallow.repo.text_of(blob_of(PLAN.encode()))


def partial_clone(campaign: SmallCampaign, folder: Path) -> SmallCampaign:
    """A clone that left old blobs out, and whose remote is then gone."""
    campaign.part.plan.write_text("a = 1\n")
    campaign.commit_all()
    clone = campaign.clone(folder / "partial", "--filter=blob:none")
    campaign.top.rename(folder / "gone")
    return clone


def test_blob_left_out_of_a_partial_clone_names_the_command(campaign, tmp_path):
    """A blob that a partial clone left out is asked for with `git fetch --refetch`."""
    clone = partial_clone(campaign, tmp_path)
    with pytest.raises(CannotTell, match="git fetch --refetch --no-filter"):
        clone.repo.text_of(blob_of(PLAN.encode()))


def test_the_command_named_for_a_partial_clone_brings_the_blob(campaign, tmp_path):
    """`git fetch --refetch --no-filter` really brings what a partial clone left out."""
    clone = partial_clone(campaign, tmp_path)
    (tmp_path / "gone").rename(campaign.top)
    clone.git("fetch", "--quiet", "--refetch", "--no-filter")
    campaign.top.rename(tmp_path / "gone")
    assert clone.repo.text_of(blob_of(PLAN.encode())) == PLAN.encode()


def test_text_of_keeps_every_byte(campaign):
    """The bytes of a blob come back as they are, line ends and all."""
    data = b"\n\r\n a \xff\n\n"
    campaign.part.facts.write_bytes(data)
    campaign.commit_all()
    assert campaign.repo.text_of(blob_of(data)) == data


def test_commit_date_has_a_zone(campaign):
    """A commit's date is a moment with its zone, near the present."""
    age = datetime.datetime.now(datetime.UTC) - campaign.repo.commit_date(campaign.repo.head_commit)
    assert age < datetime.timedelta(hours=1)


def test_commit_takes_only_the_paths_named(campaign):
    """What else is staged is neither committed nor unstaged."""
    campaign.part.facts.write_text("a = 1\n")
    campaign.git("add", "parts/part-4/facts.toml")
    campaign.part.plan.write_text("a = 1\n")
    campaign.part.seal.write_text("b = 1\n")
    commit = campaign.repo.commit([campaign.part.plan, campaign.part.seal], "Seal the plan")
    changed = campaign.git("show", "--name-only", "--format=", commit).splitlines()
    assert changed == ["parts/part-4/plan.toml", "parts/part-4/seal.toml"]
    assert campaign.git("diff", "--cached", "--name-only") == "parts/part-4/facts.toml"


def test_commit_without_an_identity_is_refused(campaign, monkeypatch):
    """Where git does not know who commits, the commands that tell it are named."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{role}_NAME")
        monkeypatch.delenv(f"GIT_{role}_EMAIL")
    campaign.part.plan.write_text("")
    with pytest.raises(UsageError, match=r"git config user\.name"):
        campaign.repo.commit([campaign.part.plan], "x")


def test_commit_takes_the_identity_of_the_repository(campaign, monkeypatch):
    """The name that `git config` gave is the one in the commit."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{role}_NAME")
        monkeypatch.delenv(f"GIT_{role}_EMAIL")
    campaign.git("config", "user.name", "Ada")
    campaign.git("config", "user.email", "ada@example.org")
    campaign.part.plan.write_text("")
    commit = campaign.repo.commit([campaign.part.plan], "x")
    assert campaign.git("show", "--no-patch", "--format=%an <%ae>", commit) == "Ada <ada@example.org>"


def test_commit_dated_by_hand_is_refused(campaign, monkeypatch):
    """Git dates are never set by hand."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-06T06:11:00Z")
    with pytest.raises(UsageError, match="unset GIT_COMMITTER_DATE"):
        campaign.repo.commit([campaign.part.plan], "x")


def test_commit_of_nothing_is_refused(campaign):
    """A commit without a change is a wrong use."""
    with pytest.raises(UsageError, match="nothing to commit"):
        campaign.repo.commit([campaign.part.plan], "x")


def test_refused_commit_leaves_the_index_as_it_was(campaign):
    """A commit that a hook refuses leaves nothing staged, and says what the hook said."""
    hook = campaign.top / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    hook.chmod(0o755)
    campaign.part.seal.write_text("b = 1\n")
    with pytest.raises(UsageError, match="no such luck"):
        campaign.repo.commit([campaign.part.seal], "x")
    assert campaign.git("status", "--porcelain") == "?? parts/part-4/seal.toml"


def test_git_that_refuses_says_why(campaign, monkeypatch):
    """When git itself fails, its own words are in the error."""
    repo = campaign.repo
    (campaign.top / ".git" / "HEAD").write_text("nonsense\n")
    with pytest.raises(CannotTell, match="not a git repository"):
        _ = repo.is_shallow


def test_work_tree_of_another_owner_says_so(campaign, monkeypatch):
    """Where git mistrusts the work tree's owner, its own advice is passed on and nothing is called uncommitted."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(CannotTell, match=r"safe\.directory"):
        campaign.repo.committed_blob(campaign.part.plan)


def test_helper_makes_repositories_apart_from_this_one(campaign):
    """The test's repository is its own, not the one that holds this file."""
    top = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"], cwd=campaign.root, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert Path(top) == campaign.top


CHECKOUT = "git checkout {} -- parts/part-1/post.md (the published text), then notes build part-1"


def test_mend_outside_of_git_needs_no_git():
    """Nothing can be checked out there, and no log be read."""
    no_git = NoHistory("no git")
    told = "bring parts/part-1/post.md back from a clone or a backup (the published text), then notes build part-1"
    assert workable(CHECKOUT.format("0123456789ab"), no_git) == told
    assert workable("restore a.toml as it was written: `git log -p -- a.toml` shows it", no_git) == (
        "restore a.toml as it was written, from a clone or a backup"
    )


def test_mend_in_a_shallow_clone_fetches_first_what_it_lacks(campaign, tmp_path):
    """A commit that is here is checked out as it is."""
    campaign.part.plan.write_text(PLAN + "# more\n")
    first = campaign.git("rev-parse", "HEAD")
    campaign.git("commit", "--quiet", "--all", "--message", "More")
    head = campaign.git("rev-parse", "HEAD")
    clone = tmp_path / "shallow"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", campaign.top.as_uri(), clone], check=True)
    shallow = open_history(clone)
    assert workable(CHECKOUT.format(first), shallow) == f"`git fetch --unshallow`, then {CHECKOUT.format(first)}"
    for here in (CHECKOUT.format(head[:12]), CHECKOUT.format("HEAD"), "notes build part-1"):
        assert workable(here, shallow) == here
    assert workable(CHECKOUT.format(first), campaign.repo) == CHECKOUT.format(first)
