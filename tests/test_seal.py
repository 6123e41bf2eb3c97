"""The seal: proof that a part's plan was there before its rows."""

import datetime
from pathlib import Path

import pytest
from tests.repositories import PLAN, SmallCampaign, small_campaign

from campaign.notes.errors import CannotTell, UsageError
from campaign.notes.history import NoHistory, blob_of, sha256_of
from campaign.notes.seal import Seal, check_seal, make_seal, read_seal, require_sealed_plan, write_seal

STATED = datetime.datetime(2026, 11, 6, 6, 11, tzinfo=datetime.UTC)
NO_GIT = NoHistory("no git here")


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallCampaign:
    return small_campaign(tmp_path, monkeypatch)


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def sealed(campaign: SmallCampaign, origin: str = "measured") -> Seal:
    """The committed seal of part-4."""
    moment = now() if origin == "measured" else STATED
    seal = make_seal(campaign.part, origin=origin, sealed=moment, repo=campaign.repo)
    write_seal(campaign.part, seal)
    campaign.commit_all("Seal")
    return seal


def codes(campaign: SmallCampaign) -> list[str]:
    return [problem.code for problem in check_seal(campaign.part, campaign.repo)]


def stamp(campaign: SmallCampaign, key: str, value: str) -> None:
    """Nothing; seal.toml then has another value under `key`."""
    lines = campaign.part.seal.read_text().splitlines()
    campaign.part.seal.write_text(
        "".join(f"{key} = {value}\n" if x.startswith(f"{key} =") else f"{x}\n" for x in lines)
    )


def test_seal_names_the_plan_and_the_commit_that_holds_it(campaign):
    """A seal has the plan's sha256, its blob and the earlier commit that brought it."""
    first = campaign.repo.head_commit
    campaign.commit_all("something else")
    seal = make_seal(campaign.part, origin="measured", sealed=now(), repo=campaign.repo)
    plan = PLAN.encode()
    assert (seal.plan_sha256, seal.plan_blob, seal.commit) == (sha256_of(plan), blob_of(plan), first)


def test_seal_reads_back_as_it_was_written(campaign):
    """seal.toml holds all of the seal."""
    assert read_seal(campaign.part) is None
    seal = sealed(campaign)
    assert read_seal(campaign.part) == seal


def test_measured_seal_is_kept_to_the_second_in_utc(campaign):
    """A measured seal's moment has no fraction and the zone UTC."""
    east = now().astimezone(datetime.timezone(datetime.timedelta(hours=2)))
    seal = make_seal(campaign.part, origin="measured", sealed=east, repo=campaign.repo)
    assert (seal.sealed, seal.sealed.tzinfo) == (east.replace(microsecond=0), datetime.UTC)


def test_stated_moment_is_kept_as_the_source_has_it(campaign):
    """A moment that a source states keeps its own zone in the file."""
    east = STATED.astimezone(datetime.timezone(datetime.timedelta(hours=2)))
    write_seal(campaign.part, make_seal(campaign.part, origin="stated", sealed=east, repo=campaign.repo))
    assert "sealed = 2026-11-06T08:11:00+02:00\n" in campaign.part.seal.read_text()


def test_seal_of_a_reconstruction_claims_no_proof(campaign):
    """A reconstruction's seal says that the order is stated and not proven."""
    seal = sealed(campaign, "reconstructed")
    assert not seal.is_proof
    assert "stated by the source, not proven here" in seal.note


def test_plan_that_is_not_committed_is_not_sealed(campaign):
    """A plan that HEAD does not have as it is here cannot be sealed."""
    campaign.part.plan.write_text("a = 1\n")
    with pytest.raises(
        UsageError, match=r"parts/part-4/plan\.toml: changed since HEAD.*git add parts/part-4/plan\.toml"
    ):
        make_seal(campaign.part, origin="measured", sealed=now(), repo=campaign.repo)


def test_seal_without_git_cannot_be_made(campaign):
    """A seal needs a history."""
    with pytest.raises(CannotTell, match="no git here"):
        make_seal(campaign.part, origin="measured", sealed=now(), repo=NO_GIT)


def test_moment_without_a_zone_is_refused(campaign):
    """A seal's moment has a zone."""
    with pytest.raises(UsageError, match="has no zone"):
        make_seal(campaign.part, origin="stated", sealed=datetime.datetime(2026, 11, 6, 6, 11), repo=campaign.repo)


def test_measured_seal_from_before_its_plan_is_refused(campaign):
    """A measured seal cannot be older than the commit that holds the plan."""
    with pytest.raises(UsageError, match="Set this machine's clock right"):
        make_seal(campaign.part, origin="measured", sealed=STATED - datetime.timedelta(days=9999), repo=campaign.repo)


def test_unknown_origin_is_refused(campaign):
    """An origin is one of three words."""
    with pytest.raises(UsageError, match=r"origin: found 'guessed'.*'measured', 'reconstructed' or 'stated'"):
        make_seal(campaign.part, origin="guessed", sealed=STATED, repo=campaign.repo)


def test_sealed_part_is_not_sealed_again(campaign):
    """A second seal is refused though the plan is unchanged."""
    sealed(campaign)
    with pytest.raises(UsageError, match="sealed already"):
        make_seal(campaign.part, origin="measured", sealed=now(), repo=campaign.repo)


def test_changed_plan_is_not_sealed_again(campaign):
    """A changed plan is told to become a new part's plan."""
    sealed(campaign)
    campaign.part.plan.write_text("a = 1\n")
    campaign.commit_all()
    with pytest.raises(UsageError, match="a new part"):
        make_seal(campaign.part, origin="measured", sealed=now(), repo=campaign.repo)


def test_removing_the_seal_does_not_free_the_plan(campaign):
    """A seal that a commit holds counts after its file is gone."""
    sealed(campaign)
    campaign.part.seal.unlink()
    with pytest.raises(UsageError, match="removed since; `git checkout"):
        make_seal(campaign.part, origin="measured", sealed=now(), repo=campaign.repo)


def test_seal_is_not_written_over_another(campaign):
    """An existing seal.toml stays as it is."""
    seal = sealed(campaign)
    before = campaign.part.seal.read_bytes()
    with pytest.raises(UsageError, match="sealed already"):
        write_seal(campaign.part, seal)
    assert campaign.part.seal.read_bytes() == before


def test_unknown_key_is_refused_with_the_nearest(campaign):
    """A mistyped key in seal.toml is answered with the right one."""
    sealed(campaign)
    campaign.part.seal.write_text(campaign.part.seal.read_text().replace("plan_blob", "plan_blop"))
    with pytest.raises(UsageError, match=r"parts/part-4/seal\.toml: plan_blop: unknown key.*Did you mean plan_blob\?"):
        read_seal(campaign.part)


def test_missing_key_is_named_with_its_meaning(campaign):
    """A key that is not there is named, and what it would hold."""
    sealed(campaign)
    text = campaign.part.seal.read_text()
    campaign.part.seal.write_text("".join(x for x in text.splitlines(True) if not x.startswith("plan_sha256")))
    with pytest.raises(UsageError, match=r"plan_sha256: missing; expected the sha256 of plan\.toml"):
        read_seal(campaign.part)


def test_broken_toml_is_named_with_its_line(campaign):
    """A file that is not TOML is answered with the line."""
    campaign.part.seal.write_text('origin = "measured"\nplan_sha256 =\n')
    with pytest.raises(UsageError, match=r"parts/part-4/seal\.toml: .*line 2"):
        read_seal(campaign.part)


def test_time_without_zone_in_the_file_is_refused(campaign):
    """A sealed moment without a zone is refused on load."""
    sealed(campaign)
    stamp(campaign, "sealed", "2026-11-06T06:11:00")
    with pytest.raises(UsageError, match="sealed: found"):
        read_seal(campaign.part)


@pytest.mark.parametrize("origin", ["measured", "reconstructed", "stated"])
def test_good_seal_has_no_problem(campaign, origin):
    """A seal as it was written passes, later commits or not."""
    sealed(campaign, origin)
    campaign.commit_all()
    assert codes(campaign) == []


def test_part_without_a_seal_has_no_problem(campaign):
    """A part that was never sealed has nothing to check."""
    assert (codes(campaign), require_sealed_plan(campaign.part)) == ([], None)


def test_changed_plan_stops_everything(campaign):
    """A plan changed after its seal is an error with both hashes and the command that restores it."""
    seal = sealed(campaign)
    campaign.part.plan.write_text("a = 1\n")
    with pytest.raises(UsageError, match=r"plan\.toml changed after its seal") as caught:
        require_sealed_plan(campaign.part)
    for needed in (
        sha256_of(b"a = 1\n"),
        sha256_of(PLAN.encode()),
        f"git checkout {seal.commit} -- parts/part-4/plan.toml",
    ):
        assert needed in str(caught.value)


def test_changed_plan_stops_the_check_too(campaign):
    """The check raises for a changed plan as everything else does."""
    sealed(campaign)
    campaign.part.plan.write_text("a = 1\n")
    with pytest.raises(UsageError, match="changed after its seal"):
        check_seal(campaign.part, campaign.repo)


def test_removed_plan_stops_everything(campaign):
    """A sealed part without its plan is an error."""
    sealed(campaign)
    campaign.part.plan.unlink()
    with pytest.raises(UsageError, match="expected the sealed plan"):
        require_sealed_plan(campaign.part)


def test_plan_changed_by_line_ends_only_says_so(campaign):
    """CRLF for LF in the plan is told apart from a changed word."""
    sealed(campaign)
    campaign.part.plan.write_bytes(PLAN.replace("\n", "\r\n").encode())
    with pytest.raises(UsageError, match=r"by its line ends only.*gitattributes"):
        require_sealed_plan(campaign.part)


def test_hash_alone_is_checked_without_git(campaign):
    """Where there is no git, an unchanged plan passes by its hash."""
    sealed(campaign)
    assert check_seal(campaign.part, NO_GIT) == []


def test_wrong_blob_is_found_without_git(campaign):
    """A blob name that is not the sealed plan's is found by computing it."""
    sealed(campaign)
    stamp(campaign, "plan_blob", f'"{"1" * 40}"')
    assert [problem.code for problem in check_seal(campaign.part, NO_GIT)] == ["seal-blob"]


def test_rewritten_history_is_found(campaign):
    """A seal whose commit was replaced is a problem that names the commit."""
    seal = sealed(campaign)
    campaign.git("checkout", "--quiet", "--orphan", "squashed")
    campaign.commit_all("all in one")
    [problem] = check_seal(campaign.part, campaign.repo)
    assert (problem.code, seal.commit in problem.said, seal.commit in problem.mend) == ("history-rewritten", True, True)


def test_merging_the_old_history_mends_it(campaign):
    """The command that the problem names really mends a rewritten history."""
    sealed(campaign)
    campaign.git("checkout", "--quiet", "--orphan", "squashed")
    campaign.commit_all("all in one")
    [problem] = check_seal(campaign.part, campaign.repo)
    campaign.git(*problem.mend.split("`")[1].split()[1:], "--no-edit")
    assert codes(campaign) == []


def test_commit_without_the_plan_is_found(campaign):
    """A seal that names a commit with another plan is a problem."""
    campaign.part.plan.write_text("a = 1\n")
    campaign.commit_all()
    write_seal(campaign.part, make_seal(campaign.part, origin="measured", sealed=now(), repo=campaign.repo))
    stamp(campaign, "commit", f'"{campaign.git("rev-parse", "HEAD~1")}"')
    campaign.commit_all()
    assert codes(campaign) == ["blob-not-in-commit"]


def test_shallow_clone_cannot_tell(campaign, tmp_path):
    """A clone that does not reach the seal's commit says how to fetch it."""
    sealed(campaign)
    shallow = campaign.clone(tmp_path / "shallow", "--depth=1")
    with pytest.raises(CannotTell, match="git fetch --unshallow"):
        check_seal(shallow.part, shallow.repo)


def test_unshallowed_clone_can_tell(campaign, tmp_path):
    """The command named for a shallow clone really helps."""
    sealed(campaign)
    shallow = campaign.clone(tmp_path / "shallow", "--depth=1")
    shallow.git("fetch", "--quiet", "--unshallow")
    assert codes(shallow) == []


def test_removed_seal_is_found(campaign):
    """A seal that a commit holds and that is gone is a problem."""
    sealed(campaign)
    campaign.part.seal.unlink()
    campaign.commit_all()
    assert codes(campaign) == ["seal-removed"]


def test_plan_sealed_again_is_found(campaign):
    """A new plan with a new seal over the old one is found, though both are committed."""
    sealed(campaign)
    campaign.part.seal.unlink()
    campaign.part.plan.write_text("a = 1\n")
    commit = campaign.commit_all()
    plan = campaign.part.plan.read_bytes()
    values = dict(origin="measured", plan_sha256=sha256_of(plan), plan_blob=blob_of(plan), commit=commit, note="x")
    write_seal(campaign.part, Seal(**values, sealed=now()))
    campaign.commit_all()
    assert set(codes(campaign)) == {"seal-replaced"}


def test_measured_seal_dated_back_is_found(campaign):
    """A measured seal that claims a moment before its plan's commit is a problem."""
    write_seal(campaign.part, make_seal(campaign.part, origin="measured", sealed=now(), repo=campaign.repo))
    stamp(campaign, "sealed", "2001-01-01T00:00:00Z")
    campaign.commit_all()
    assert codes(campaign) == ["seal-before-plan"]


def test_problem_reads_as_one_line(campaign):
    """A problem's text says where, what was found, what was expected and what to do."""
    sealed(campaign)
    campaign.part.seal.unlink()
    text = str(check_seal(campaign.part, campaign.repo)[0])
    assert text.startswith("parts/part-4/seal.toml: seal-removed: found no such file; expected the file that ")
    assert "To mend: `git checkout " in text


def test_byte_order_mark_in_a_sealed_plan_is_told(campaign):
    """An editor that adds one changes nothing that can be seen: the message names it."""
    sealed(campaign)
    campaign.part.plan.write_bytes(b"\xef\xbb\xbf" + campaign.part.plan.read_bytes())
    with pytest.raises(UsageError, match="byte order mark"):
        require_sealed_plan(campaign.part)
