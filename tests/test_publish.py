"""Publication: from then on the body of a post is kept, byte for byte."""

import datetime
import os
from pathlib import Path

import pytest
from tests.repositories import BODY, PUBLISHED, SmallCampaign, small_campaign, write_post

from campaign.engine import files
from campaign.engine.errors import RecordError
from campaign.notes.errors import CannotTell, UsageError
from campaign.notes.history import NoHistory, blob_of, sha256_of
from campaign.notes.publish import Published, check_published, publish, published_body, read_published
from campaign.notes.seal import Problem, make_seal, write_seal

NO_GIT = NoHistory("no git here")
EDITED = BODY.replace("0.31", "0.41")


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallCampaign:
    return small_campaign(tmp_path, monkeypatch)


def published(campaign: SmallCampaign) -> Published:
    """What the published and committed part-4 has on record; its banner is the new one."""
    record = publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)
    write_post(campaign.part, banner="> **Part 4.** Published 6 November 2026.\n\n")
    campaign.commit_all("Publish part 4")
    return record


def problems(campaign: SmallCampaign) -> list[Problem]:
    return check_published(campaign.part, campaign.repo)


def codes(campaign: SmallCampaign) -> list[str]:
    return [problem.code for problem in problems(campaign)]


def stamp(campaign: SmallCampaign, key: str, value: str) -> None:
    """Nothing; published.toml then has another value under `key`."""
    lines = campaign.part.published.read_text().splitlines()
    campaign.part.published.write_text(
        "".join(f"{key} = {value}\n" if x.startswith(f"{key} =") else f"{x}\n" for x in lines)
    )


def test_record_names_body_blob_and_commit(campaign):
    """The record has the body's sha256, the post's blob and the commit that brought it."""
    draft, commit = campaign.part.post.read_bytes(), campaign.repo.head_commit
    campaign.commit_all("something else")
    record = published(campaign)
    assert (record.body_sha256, record.post_blob, record.commit) == (sha256_of(BODY.encode()), blob_of(draft), commit)


def test_record_reads_back_as_it_was_written(campaign):
    """published.toml holds all of the record."""
    assert read_published(campaign.part) is None
    record = published(campaign)
    assert read_published(campaign.part) == record


def test_same_publication_has_the_same_bytes(campaign):
    """Publishing the same state twice writes the same file."""
    publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)
    before = campaign.part.published.read_bytes()
    campaign.part.published.unlink()
    publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)
    assert campaign.part.published.read_bytes() == before


@pytest.mark.parametrize("name", ["post.md", "numbers.json", "readings.json", "plan.toml"])
def test_changed_file_stops_publication(campaign, name):
    """Each file that a publication stands on has to be committed as it is."""
    with (campaign.part.folder / name).open("a") as file:
        file.write("\n")
    with pytest.raises(UsageError, match=f"parts/part-4/{name}: changed since HEAD.*git add"):
        publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)


def test_missing_file_stops_publication(campaign):
    """A part without its readings is not published."""
    campaign.part.readings.unlink()
    campaign.commit_all()
    with pytest.raises(UsageError, match=r"readings\.json: there is no such file"):
        publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)


def test_seal_that_is_not_committed_stops_publication(campaign):
    """A seal has to be committed before its part is published."""
    moment = datetime.datetime.now(datetime.UTC)
    write_seal(campaign.part, make_seal(campaign.part, origin="measured", sealed=moment, repo=campaign.repo))
    with pytest.raises(UsageError, match=r"parts/part-4/seal\.toml: not committed"):
        publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)


def test_data_that_are_not_committed_stop_publication(campaign):
    """Whatever else lies in the part's folder has to be committed too, and is named."""
    campaign.part.data.mkdir()
    (campaign.part.data / "rows.csv").write_text("row\n")
    with pytest.raises(UsageError, match=r"not committed as it is: parts/part-4/data/rows\.csv;"):
        publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)


def test_refused_publication_writes_nothing(campaign):
    """A refused publication leaves no published.toml behind."""
    campaign.part.readings.write_text("")
    with pytest.raises(UsageError):
        publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)
    assert not campaign.part.published.exists()


def test_part_is_published_once(campaign):
    """A second publication is told to become a correction."""
    published(campaign)
    with pytest.raises(UsageError, match=r"published already \(6 November 2026\).*notes correct part-4"):
        publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)


def test_removing_the_record_does_not_free_the_text(campaign):
    """A publication that a commit holds counts after its file is gone."""
    published(campaign)
    campaign.part.published.unlink()
    campaign.commit_all()
    with pytest.raises(UsageError, match="its record removed since"):
        publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)


def test_date_of_publication_is_a_day(campaign):
    """A moment is not taken for a day."""
    with pytest.raises(UsageError, match=r"published\.toml: date: found"):
        publish(campaign.part, date=datetime.datetime(2026, 11, 6, 1), numbers=1, repo=campaign.repo)


def test_negative_count_is_refused(campaign):
    """A post cannot have had fewer than no numbers."""
    with pytest.raises(UsageError, match="numbers: found -1"):
        publish(campaign.part, date=PUBLISHED, numbers=-1, repo=campaign.repo)


def test_publication_without_git_is_impossible(campaign):
    """Publishing needs a history."""
    with pytest.raises(CannotTell, match="no git here"):
        publish(campaign.part, date=PUBLISHED, numbers=1, repo=NO_GIT)


def test_draft_has_no_problem(campaign):
    """A part that was never published has nothing to check."""
    assert codes(campaign) == []


def test_published_part_has_no_problem(campaign):
    """A new banner and dated entries below the body change nothing in it."""
    published(campaign)
    write_post(campaign.part, banner="> Corrected.\n\n", entries="## Corrections\n")
    campaign.commit_all()
    assert codes(campaign) == []


def test_published_body_comes_from_git(campaign):
    """The published body is read from the blob, whatever lies on disk."""
    published(campaign)
    write_post(campaign.part, EDITED)
    assert published_body(campaign.part, campaign.repo) == BODY


def test_draft_has_no_published_body(campaign):
    """Asking a draft for its published body is a wrong use."""
    with pytest.raises(UsageError, match="is a draft"):
        published_body(campaign.part, campaign.repo)


def test_edited_body_is_found_with_its_line(campaign):
    """One changed digit is found with both lines, the line's number and the commands that mend it."""
    published(campaign)
    write_post(campaign.part, EDITED)
    [problem] = problems(campaign)
    line = campaign.part.post.read_text().splitlines().index("The saving is 0.41 ms a verify") + 1
    assert (problem.code, problem.path, problem.line) == ("body-edited", "parts/part-4/post.md", line)
    assert problem.said == "`+The saving is 0.41 ms a verify`"
    assert problem.expected == "`-The saving is 0.31 ms a verify`"
    assert "git checkout HEAD -- parts/part-4/post.md" in problem.mend
    assert "notes correct part-4" in problem.mend


def test_every_changed_character_is_found(campaign):
    """No character of the body can be changed unseen."""
    published(campaign)
    repo = campaign.repo
    for i in range(0, len(BODY), 7):
        write_post(campaign.part, BODY[:i] + "#" * (BODY[i] != "#") + BODY[i + 1 :])
        assert [problem.code for problem in check_published(campaign.part, repo)] == ["body-edited"], i


def test_lines_added_at_the_end_are_found(campaign):
    """A body that goes on after its end is shown against that end."""
    published(campaign)
    write_post(campaign.part, BODY + "More.\n")
    assert [(problem.said, problem.expected) for problem in problems(campaign)] == [("`+More.`", "`-`")]


def test_committed_edit_is_mended_from_the_commit_of_publication(campaign):
    """Where HEAD itself has the edited body, the command names the commit that has the published one."""
    record = published(campaign)
    write_post(campaign.part, EDITED)
    campaign.commit_all()
    [problem] = problems(campaign)
    campaign.git(*problem.mend.split("`")[1].split()[1:])
    assert record.commit in problem.mend
    assert codes(campaign) == []


def test_hash_stamped_again_is_found(campaign):
    """An edited body with a fresh hash is found by the blob, and so is the hash."""
    published(campaign)
    write_post(campaign.part, EDITED)
    stamp(campaign, "body_sha256", f'"{sha256_of(EDITED.encode())}"')
    campaign.commit_all()
    assert set(codes(campaign)) == {"hash-stamped-again", "body-edited", "published-replaced"}


def test_whole_record_stamped_again_is_found(campaign):
    """A record that fits an edited and committed post is found by the record's own first commit."""
    published(campaign)
    write_post(campaign.part, EDITED)
    commit = campaign.commit_all()
    stamp(campaign, "body_sha256", f'"{sha256_of(EDITED.encode())}"')
    stamp(campaign, "post_blob", f'"{campaign.repo.committed_blob(campaign.part.post)}"')
    stamp(campaign, "commit", f'"{commit}"')
    campaign.commit_all()
    assert set(codes(campaign)) == {"published-replaced"}


def test_changed_date_of_publication_is_found(campaign):
    """The date of publication is kept as the body is."""
    published(campaign)
    stamp(campaign, "date", "2026-11-05")
    [problem] = problems(campaign)
    assert (problem.code, problem.said) == ("published-replaced", "date = 2026-11-05")


def test_removed_record_is_found(campaign):
    """A published part that poses as a draft is a problem."""
    published(campaign)
    campaign.part.published.unlink()
    campaign.commit_all()
    assert codes(campaign) == ["published-removed"]


def test_removed_post_is_found(campaign):
    """A published post that is gone is a problem."""
    published(campaign)
    campaign.part.post.unlink()
    assert codes(campaign) == ["post-missing"]


def test_lost_marker_is_found(campaign):
    """A published post without its markers is a problem, not a wrong use."""
    published(campaign)
    campaign.part.post.write_text(BODY)
    assert codes(campaign) == ["body-markers"]


def test_line_ends_are_told_apart_from_words(campaign):
    """CRLF for LF is named as such, with the setting that mends it."""
    published(campaign)
    campaign.part.post.write_bytes(campaign.part.post.read_bytes().replace(b"\n", b"\r\n"))
    [problem] = problems(campaign)
    assert (problem.code, "words are as published" in problem.said) == ("line-ends", True)
    assert ".gitattributes" in problem.mend


def test_checkout_that_converts_line_ends_is_named_so(campaign, tmp_path):
    """A clone whose git writes CRLF is told so, and the commands named mend it."""
    published(campaign)
    clone = campaign.clone(tmp_path / "clone", "--config", "core.autocrlf=true")
    assert codes(clone) == ["line-ends"]
    (clone.top / ".gitattributes").write_text("parts/** -text\n")
    clone.part.post.unlink()
    clone.git("checkout", "--", "parts/part-4/post.md")
    assert codes(clone) == []


def test_changed_word_with_other_line_ends_is_an_edit(campaign):
    """Other line ends do not hide a changed digit."""
    published(campaign)
    write_post(campaign.part, EDITED)
    campaign.part.post.write_bytes(campaign.part.post.read_bytes().replace(b"\n", b"\r\n"))
    assert [(problem.code, problem.said) for problem in problems(campaign)] == [
        ("body-edited", "`+The saving is 0.41 ms a verify`")
    ]


def test_rewritten_history_is_found(campaign):
    """A publication whose commit is gone from HEAD's history is a problem."""
    published(campaign)
    campaign.git("checkout", "--quiet", "--orphan", "squashed")
    campaign.commit_all("all in one")
    assert codes(campaign) == ["history-rewritten"]


def test_edit_is_found_without_git(campaign):
    """The hash alone finds an edited body."""
    published(campaign)
    write_post(campaign.part, EDITED)
    assert [problem.code for problem in check_published(campaign.part, NO_GIT)] == ["body-edited"]


def test_unedited_body_without_git_is_not_proven(campaign):
    """Without git an unedited body is neither wrong nor proven."""
    published(campaign)
    with pytest.raises(CannotTell, match="no git here"):
        check_published(campaign.part, NO_GIT)


def test_shallow_clone_cannot_tell(campaign, tmp_path):
    """A clone that does not reach the publication says how to fetch it."""
    published(campaign)
    shallow = campaign.clone(tmp_path / "shallow", "--depth=1")
    with pytest.raises(CannotTell, match="git fetch --unshallow"):
        check_published(shallow.part, shallow.repo)


def test_edit_is_found_in_a_shallow_clone(campaign, tmp_path):
    """What the hash alone can show is found in a shallow clone too."""
    published(campaign)
    shallow = campaign.clone(tmp_path / "shallow", "--depth=1")
    write_post(shallow.part, EDITED)
    assert codes(shallow) == ["body-edited"]


def test_partial_clone_without_its_remote_cannot_tell(campaign, tmp_path):
    """A clone without the published blob says how to fetch it."""
    published(campaign)
    clone = campaign.clone(tmp_path / "partial", "--filter=blob:none")
    campaign.top.rename(tmp_path / "gone")
    with pytest.raises(CannotTell, match="git fetch --refetch --no-filter"):
        check_published(clone.part, clone.repo)


def test_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """A write that fails leaves the old bytes and no other file."""
    path = tmp_path / "a.toml"
    files.write_text(path, "old\n")

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk is full"):
        files.write_text(path, "new\n")
    assert (path.read_text(), os.listdir(tmp_path)) == ("old\n", ["a.toml"])


def test_written_file_keeps_its_mode_and_its_link(tmp_path):
    """A file reached through a link stays a file reached through a link, with its mode."""
    path, link = tmp_path / "a", tmp_path / "b"
    files.write_text(path, "old\n")
    path.chmod(0o640)
    link.symlink_to(path)
    files.write_bytes(link, b"new\r\n")
    assert (path.read_bytes(), path.stat().st_mode & 0o777, link.is_symlink()) == (b"new\r\n", 0o640, True)


def test_file_in_no_folder_is_refused(tmp_path):
    """A folder that is not there is named."""
    with pytest.raises(RecordError, match="its folder does not exist"):
        files.write_text(tmp_path / "no" / "a", "")
