"""A part's life through the command line: planned, sealed, measured, built, published, corrected."""

import datetime
import re
import shutil
import subprocess
import sys
import unicodedata
import zlib
from pathlib import Path

import pytest
from click.testing import Result
from tests.campaigns import (
    TriedCampaign,
    built_campaign,
    draws_csv,
    empty_campaign,
    findings,
    part_files,
    published_campaign,
    rows_csv,
    tasks_csv,
)

from campaign.notes.corrections import stands_whole

SAID = "nothing here is about people"
CORRECT = (
    "correct", "1", "--said", SAID, "--says", 'it is about {{ q("rows.n", "word") }} rows',
    "--because", "A reader asked.", "--reported-by", "A Reader", "--date", "2026-11-08",
)  # fmt: skip


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return published_campaign(tmp_path, monkeypatch)


def test_whole_life_of_a_measured_part(tmp_path, monkeypatch):
    """Each command does its step, and `notes check` is green after each of them."""
    campaign = empty_campaign(tmp_path, monkeypatch)
    campaign.notes("new", "1")
    for name, text in part_files().items():
        if not name.startswith("data/"):
            campaign.write(name, text)
    campaign.change('{{ plot("rows", "The matched time of each row.") }}\n', "", "post.md.j2")
    campaign.write("plan.toml", campaign.text("plan.toml").partition("[[plot]]")[0])
    campaign.notes("build", "1")
    campaign.notes("check", "1")
    campaign.commit_all("Plan Part 1")
    planned = campaign.git("rev-parse", "HEAD")

    campaign.notes("seal", "1")
    assert campaign.git("log", "-1", "--format=%s") == "Seal the plan of Part 1"
    assert planned in campaign.text("seal.toml")
    campaign.notes("build", "1")
    campaign.notes("check", "1")

    start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)
    campaign.write("data/rows.csv", rows_csv(start))
    campaign.write("data/draws.csv", draws_csv())
    campaign.write("data/tasks.csv", tasks_csv())
    assert "carries" in campaign.notes("read", "1").stdout
    campaign.notes("build", "1")
    campaign.notes("check", "1")
    campaign.commit_all("Measure and build Part 1")

    campaign.notes("publish", "1")
    assert campaign.text().startswith("> **Part 1.** Published 6 November 2026.")
    campaign.notes("check", "1")

    campaign.change("saves 0.300", "saves 0.310")
    result = campaign.notes("check", "1", exit=1)
    campaign.git(
        *next(one["mend"] for one in findings(result.stdout) if one["code"] == "changed").split(" (")[0].split()[1:]
    )
    campaign.notes("check", "1")

    campaign.notes(*CORRECT)
    campaign.notes("check", "1")
    assert "published 2026-11-06, sealed" in campaign.notes("list").stdout


# The seal


def test_plan_is_committed_before_it_is_sealed(tmp_path, monkeypatch):
    """A plan that no commit holds cannot be sealed."""
    campaign = empty_campaign(tmp_path, monkeypatch)
    campaign.notes("new", "1")
    before = campaign.tree()
    result = campaign.notes("seal", "1", exit=2)
    assert (
        "parts/part-1/plan.toml: not committed" in result.stderr and "git add parts/part-1/plan.toml" in result.stderr
    )
    assert campaign.tree() == before


def test_plan_that_cannot_be_computed_is_not_sealed(tmp_path, monkeypatch):
    """A mistake in a plan is told before it is too late to mend it."""
    campaign = built_campaign(tmp_path, monkeypatch)
    campaign.change('reading = "saving.lo"', 'reading = "savin.lo"', "plan.toml")
    campaign.commit_all("A plan with a mistake")
    assert "savin" in campaign.notes("seal", "1", exit=2).stderr


def test_row_from_before_the_seal_is_refused(tmp_path, monkeypatch):
    """Measured rows come after the seal: an earlier one stops every command that reads it."""
    campaign = built_campaign(tmp_path, monkeypatch)
    campaign.seal_before_rows()
    for command in ("read", "build", "check"):
        message = campaign.notes(command, "1", exit=2).stderr
        assert "row 1 started 2026-11-06T04:00:00+00:00, before the plan was sealed on" in message


def test_rows_that_are_there_already_are_told_at_the_seal(tmp_path, monkeypatch):
    """A seal that would refuse its rows for good is not made."""
    campaign = built_campaign(tmp_path, monkeypatch)
    before = campaign.tree()
    assert "rows.csv: 4 rows are there already" in campaign.notes("seal", "1", exit=2).stderr
    assert campaign.tree() == before


def test_part_is_sealed_once(tmp_path, monkeypatch):
    """A second seal is refused and changes nothing."""
    campaign = built_campaign(tmp_path, monkeypatch)
    campaign.seal_before_rows()
    before = campaign.tree()
    assert "sealed already" in campaign.notes("seal", "1", exit=2).stderr
    assert campaign.tree() == before


def test_seal_of_data_from_elsewhere_proves_nothing(tmp_path, monkeypatch):
    """Order and seal of reconstructed data are stated, and the check says so."""
    campaign = built_campaign(tmp_path, monkeypatch)
    campaign.write("data/run.json", '{"origin": "reconstructed"}')
    campaign.notes("build", "1")
    campaign.notes("seal", "1", "--origin", "reconstructed", "--sealed", "2026-11-06T03:00:00Z")
    result = campaign.notes("check", "1")
    assert "order and seal are stated by the source, not proven here" in result.stdout
    assert "seal reconstructed" in campaign.notes("list").stdout


@pytest.mark.parametrize(("seal", "run"), [("measured", "reconstructed"), ("reconstructed", "measured")])
def test_seal_and_data_state_the_same_origin(tmp_path, monkeypatch, seal, run):
    """A seal that says measured beside data that say reconstructed, or the other way round, is told."""
    campaign = built_campaign(tmp_path, monkeypatch)
    campaign.write("data/run.json", f'{{"origin": "{run}"}}')
    campaign.write("data/rows.csv", rows_csv().replace("2026", "2099"))
    campaign.notes("build", "1")
    campaign.commit_all("Other data")
    campaign.notes(
        "seal", "1", "--origin", seal, *(["--sealed", "2026-11-06T03:00:00Z"] if seal != "measured" else []), exit=None
    )
    assert campaign.notes("check", "1", exit=None).exit_code in (1, 2)


# Publication


def test_part_with_findings_is_not_published(tmp_path, monkeypatch):
    """What the check finds stops a publication."""
    campaign = built_campaign(tmp_path, monkeypatch)
    campaign.change("saves 0.300", "saves 0.301")
    campaign.commit_all("A wrong number")
    before = campaign.tree()
    result = campaign.notes("publish", "1", exit=1)
    assert "`notes check part-1` shows them" in result.output and "Nothing was published" in result.output
    assert campaign.tree() == before


def test_uncommitted_part_is_not_published(tmp_path, monkeypatch):
    """What git does not hold cannot be proven later."""
    campaign = built_campaign(tmp_path, monkeypatch)
    campaign.change("about people.", "about any people.", "post.md.j2")
    campaign.notes("build", "1")
    before = campaign.tree()
    assert "changed since HEAD" in campaign.notes("publish", "1", exit=2).stderr
    assert campaign.tree() == before


def test_publication_is_committed(campaign):
    """The record and the new banner are one commit, and nothing is left to commit."""
    assert campaign.git("log", "-1", "--format=%s") == "Publish Part 1"
    assert campaign.git("show", "--name-only", "--format=").splitlines() == [
        "parts/chain.toml",
        "parts/part-1/post.md",
        "parts/part-1/published.toml",
    ]
    assert campaign.git("status", "--porcelain") == ""


def test_publication_can_be_left_to_commit(tmp_path, monkeypatch):
    """--no-commit writes the files and makes no commit."""
    campaign = built_campaign(tmp_path, monkeypatch)
    head = campaign.git("rev-parse", "HEAD")
    campaign.notes("publish", "1", "--no-commit")
    assert campaign.git("rev-parse", "HEAD") == head and campaign.part.published.exists()
    campaign.notes("check", "1")


def test_body_is_what_it_was_as_a_draft(tmp_path, monkeypatch):
    """Publication changes the banner alone."""
    campaign = built_campaign(tmp_path, monkeypatch)
    before = campaign.body
    campaign.notes("publish", "1")
    assert campaign.body == before
    assert campaign.text().startswith("> **Part 1.** Published 6 November 2026.\n")


def test_part_is_published_once(campaign):
    """A second publication is refused and names the way to change what is said."""
    before = campaign.tree()
    message = campaign.notes("publish", "1", exit=2).stderr
    assert "published already (6 November 2026)" in message and "notes correct part-1" in message
    assert campaign.tree() == before


def test_date_of_publication_can_be_given(tmp_path, monkeypatch):
    """--date is the day in record and banner."""
    campaign = built_campaign(tmp_path, monkeypatch)
    campaign.notes("publish", "1", "--date", "2026-11-07")
    assert "date = 2026-11-07" in campaign.text("published.toml") and "Published 7 November 2026" in campaign.text()


def test_part_outside_git_is_not_published(tmp_path, monkeypatch):
    """Without git there is nothing that could hold the text."""
    campaign = built_campaign(tmp_path, monkeypatch)
    shutil.rmtree(campaign.root / ".git")
    result = campaign.notes("publish", "1", exit=3)
    assert "not in a git work tree" in result.stderr and not campaign.part.published.exists()


# Kept text


@pytest.mark.parametrize(
    ("was", "becomes"),
    [("saves 0.300", "saves 0.310"), ("nothing here is", "nothing here was"), ("## Credits\n", "## Credits\n\n")],
    ids=["number", "word", "blank line"],
)
def test_published_body_edited_by_hand_is_exit_1(campaign, was, becomes):
    """A changed byte of a published body is a finding with its line, and what restores it works."""
    campaign.change(was, becomes)
    told = findings(campaign.notes("check", "1", exit=1).stdout)
    edited = next(one for one in told if one["code"] == "kept")
    assert edited["path"] == "parts/part-1/post.md" and int(edited["line"]) > 4
    command = re.search(r"`(git checkout [^`]+)`", edited["mend"])
    assert command
    campaign.git(*command[1].split()[1:])
    campaign.notes("check", "1")


def test_committed_edit_is_found_too(campaign):
    """Committing the edit does not make it the published text."""
    campaign.change("saves 0.300", "saves 0.310")
    campaign.commit_all("Tidy up")
    told = findings(campaign.notes("check", "1", exit=1).stdout)
    assert {"kept", "changed"} <= {one["code"] for one in told}


def test_build_of_an_edited_published_body_writes_nothing(campaign):
    """A body that was edited by hand is told, and neither page nor post is made from it."""
    campaign.change(SAID, "something here is about people")
    before = campaign.tree()
    told = campaign.notes("build", "1", exit=1).stdout
    assert "its published body was edited" in told
    assert campaign.tree() == before


def test_part_that_prints_nothing_resolved_is_not_published(tmp_path, monkeypatch):
    """A text that says "not resolved" because its rows are missing would say so for good."""
    campaign = empty_campaign(tmp_path, monkeypatch)
    campaign.notes("new", "1")
    campaign.notes("build", "1")
    campaign.commit_all("A skeleton")
    assert "has no value" in campaign.notes("publish", "1", exit=2).stderr
    assert not (campaign.root / "parts" / "part-1" / "published.toml").exists()


def test_removed_record_is_found(campaign):
    """A part does not become a draft again."""
    campaign.part.published.unlink()
    told = findings(campaign.notes("check", "1", exit=1).stdout)
    assert ("kept", "parts/part-1/published.toml") in {(one["code"], one["path"]) for one in told}


def test_build_of_a_published_part_with_its_record_removed_keeps_the_body(campaign):
    """Nor is its body built over once the record is gone."""
    campaign.part.published.unlink()
    campaign.change("about people.", "about any people.", "post.md.j2")
    body = campaign.body
    campaign.notes("build", "1", exit=None)
    assert campaign.body == body


def test_published_text_is_reachable_in_git(campaign):
    """The commit in the record holds the blob in the record, and the blob holds the body."""
    record = dict(re.findall(r'^(\w+) = "?([^"\n]+)"?$', campaign.text("published.toml"), re.MULTILINE))
    assert campaign.git("rev-parse", f"{record['commit']}:parts/part-1/post.md") == record["post_blob"]
    assert campaign.body.strip() in campaign.git("cat-file", "blob", record["post_blob"])
    campaign.git("merge-base", "--is-ancestor", record["commit"], "HEAD")


def test_published_part_moves_on_with_the_history(campaign):
    """Later commits, and other parts, leave the check green."""
    campaign.notes("new", "2")
    campaign.commit_all("Begin Part 2")
    campaign.notes("build", "1")
    campaign.notes("check", "1")


def test_another_part_makes_no_published_text_stale(campaign):
    """A new part does not turn the check of an old one red."""
    campaign.notes("new", "2")
    campaign.notes("check", "1")


# Corrections


def test_correction_is_shown_in_banner_entry_and_page(campaign):
    """Banner and entry stand around the body, which stays; the page marks the corrected words."""
    body = campaign.body
    campaign.notes(*CORRECT)
    text = campaign.text()
    assert "1 correction; the text below stays as it was published" in text.partition("<!-- campaign:body begin")[0]
    below = text.partition("<!-- campaign:body end -->\n")[2]
    for expected in (
        "## Corrections",
        "Correction 1, 8 November 2026",
        f"“{SAID}”",
        "it is about four rows",
        "A Reader",
    ):
        assert expected in below
    assert campaign.body == body
    page = campaign.part.page.read_text()
    assert "correction-1" in page and "corrected 8 November 2026" in page


def test_check_after_a_correction_is_green(campaign):
    """The corrected part agrees with its data, its entries and git."""
    campaign.notes(*CORRECT)
    campaign.notes("check", "1")
    assert campaign.git("log", "-1", "--format=%s") == "Correct Part 1: entry 1"
    assert campaign.git("status", "--porcelain") == ""


def test_second_correction_follows_the_first(campaign):
    """Entries are numbered, and both are listed."""
    campaign.notes(*CORRECT)
    campaign.notes(*CORRECT[:2], "--said", "the serving engine", *CORRECT[4:])
    assert "2 corrections; the text below" in campaign.text() and "### Correction 2," in campaign.text()
    campaign.notes("check", "1")


@pytest.mark.parametrize("option", ["--says", "--because"])
def test_number_typed_into_a_correction_is_refused(campaign, option):
    """What an entry says is bound to readings as the body is, and an entry cannot be mended later."""
    before = campaign.tree()
    arguments = list(CORRECT)
    arguments[CORRECT.index(option) + 1] = "it saves 0.400 ms"
    assert "0.400 ms" in campaign.notes(*arguments, exit=2).stderr
    assert campaign.tree() == before


def test_number_changed_in_an_entry_is_found(campaign):
    """A printed entry is compared with its file and the readings."""
    campaign.notes(*CORRECT)
    campaign.change("about four rows", "about five rows")
    told = findings(campaign.notes("check", "1", exit=1).stdout)
    line = next(i for i, text in enumerate(campaign.text().splitlines(), 1) if "about five rows" in text)
    assert ("stale", str(line)) in {(one["code"], one["line"]) for one in told}


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--said", "words that are not there", "not at all; expected exactly once"),
        ("--said", "ms", "times; expected exactly once"),
        ("--date", "2026-11-05", "is before 2026-11-06"),
        ("--date", "8 November", "is no date"),
        ("--says", '{{ q("nowhere") }}', "there is no reading 'nowhere'"),
        ("--says", "{{ q( }}", "corrections.toml"),
        ("--says", "", "says"),
        ("--because", " ", "because"),
        ("--caused-by", "7", "there is no such part"),
        ("--caused-by", "1", "names part-1 itself"),
    ],
)
def test_wrong_correction_is_refused_and_leaves_nothing(campaign, option, value, message):
    """What cannot stand as an entry is told, and no file changes."""
    before = campaign.tree()
    arguments = [*CORRECT, option, value] if option not in CORRECT else list(CORRECT)
    if option in CORRECT:
        arguments[CORRECT.index(option) + 1] = value
    result = campaign.notes(*arguments, exit=2)
    assert message in result.stderr and result.stderr.startswith("notes: ")
    assert campaign.tree() == before


def test_draft_is_not_corrected(tmp_path, monkeypatch):
    """A draft's text is changed itself."""
    campaign = built_campaign(tmp_path, monkeypatch)
    assert "part-1 is a draft" in campaign.notes(*CORRECT, exit=2).stderr


@pytest.mark.parametrize(
    ("was", "becomes"),
    [("A reader asked.", "Nobody asked."), ("2026-11-08", "2026-11-09"), ('"A Reader"', '"Another"')],
    ids=["reason", "date", "reporter"],
)
def test_entry_edited_by_hand_is_found(campaign, was, becomes):
    """The chain of entries shows that one of them was changed, after it was committed too."""
    campaign.notes(*CORRECT)
    campaign.change(was, becomes, "corrections.toml")
    for _ in range(2):
        told = findings(campaign.notes("check", "1", exit=1).stdout)
        assert ("kept", "parts/part-1/corrections.toml") in {(one["code"], one["path"]) for one in told}
        campaign.notes("build", "1", exit=None)
        campaign.commit_all("Tidy up")


def test_removed_entry_is_found(campaign):
    """An entry that a commit holds cannot vanish."""
    campaign.notes(*CORRECT)
    campaign.part.corrections.unlink()
    told = findings(campaign.notes("check", "1", exit=1).stdout)
    assert ("kept", "parts/part-1/corrections.toml") in {(one["code"], one["path"]) for one in told}


def test_part_that_causes_a_correction_can_name_it(campaign):
    """Links run both ways: the entry names the part, and the part can quote the entry."""
    campaign.notes("new", "2")
    campaign.notes(*CORRECT, "--caused-by", "2")
    assert "[Part 2](../part-2/post.md)" in campaign.text()
    campaign.write(
        "../part-2/post.md.j2",
        campaign.text("../part-2/post.md.j2") + '\nSee {{ q("part.1") }}, {{ q("correction.1.1.label") }}.\n',
    )
    campaign.notes("build", "2")
    assert "See Part 1, correction 1." in campaign.text("../part-2/post.md")
    campaign.notes("check")


def test_causing_part_prints_an_entry_with_its_quotes_filled(campaign):
    """What an entry says is quoted with the corrected part's readings, and an entry of a later day is not."""
    campaign.notes("new", "2", "--from", "1")
    each = '{{ q("correction." ~ e.part ~ "." ~ e.number ~ ".says") }}'
    campaign.write(
        "../part-2/post.md.j2",
        f'{{% for e in caused %}}\n{each}\n{{% endfor %}}\n{{{{ q("corrections.caused.n") }}}} in all.\n',
    )
    facts = campaign.text("../part-2/facts.toml")
    campaign.write("../part-2/facts.toml", re.sub(r"date = .*", "date = 2026-11-08", facts))
    campaign.commit_all("Part 2")
    campaign.notes(*CORRECT, "--caused-by", "2")
    campaign.notes("build", "2")
    assert "it is about four rows" in campaign.text("../part-2/post.md")
    campaign.write("../part-2/facts.toml", re.sub(r"date = .*", "date = 2026-11-07", facts))
    campaign.notes("build", "2")
    assert "0 in all." in campaign.text("../part-2/post.md")


def mended(campaign: TriedCampaign, *more: str, exit: int = 0) -> Result:
    """What `notes correct` says of the saving, after a later measurement changed the data that it was computed from."""
    campaign.change_cell("data/draws.csv", 3, "step_time_ms", lambda said: f"{float(said) + 100:.3f}")
    return campaign.notes(
        *CORRECT[:2], "--said", "saves 0.300 ms a verify step", "--says", '{{ q("saving") }} ms a verify step',
        *CORRECT[6:], *more, exit=exit,
    )  # fmt: skip


ACKNOWLEDGED = (
    "--acknowledge", "saving.lo=A later entry corrects it.", "--acknowledge", "row.2=The row is told of in part 2.",
    "--acknowledge", "part-1:12:55=It is the mean of what is corrected.",
)  # fmt: skip


def test_correction_of_a_number_with_changed_data(campaign):
    """Where data changed after publication, the entry prints what they give now, and the body stays."""
    mended(campaign, *ACKNOWLEDGED)
    assert "saves 0.300 ms" in campaign.body
    assert re.search(r"\*\*It should say:\*\* 0\.2\d\d ms a verify step", campaign.text())


def test_number_that_a_correction_mends_is_a_warning(campaign):
    """Where an entry says what recomputation gives now, the old numbers in the body are no errors any more."""
    mended(campaign, exit=2)
    before = campaign.notes("check", "1", exit=1).stdout
    campaign.git("checkout", "--", "parts/part-1/data")
    mended(campaign, *ACKNOWLEDGED)
    told = {one["said"]: one for one in findings(campaign.notes("check", "1", "--notes").stdout)}
    assert "said '0.300'" in before and "correction 1 says so" in told["'0.300'"]["mend"]
    assert told["'0.300'"]["level"] == "warning" and told["'−0.30'"]["code"] == "since"


def test_entry_that_says_another_number_mends_nothing():
    """A number that only holds the recomputed one among its digits does not correct it."""
    assert stands_whole("0.212", "it is 0.212 ms.") and stands_whole("2", "2, not 3")
    assert not any(stands_whole("2", text) for text in ("12", "2.5", "0.2", "−2", "2,000", "x2"))


# Clones


def test_whole_clone_checks_green(campaign, tmp_path, monkeypatch):
    """Another machine comes to the same."""
    campaign.notes(*CORRECT)
    clone = campaign.clone(tmp_path / "clone")
    monkeypatch.chdir(clone.root)
    campaign.notes("check")


def test_shallow_clone_cannot_tell(campaign, tmp_path, monkeypatch):
    """Without the history the proof is missing: exit 3, with the command that brings it."""
    campaign.notes(*CORRECT)
    clone = campaign.clone(tmp_path / "clone", "--depth", "1")
    monkeypatch.chdir(clone.root)
    result = campaign.notes("check", "1", exit=3)
    assert "git fetch --unshallow" in result.output
    clone.git("fetch", "--quiet", "--unshallow")
    campaign.notes("check", "1")


def test_finding_in_a_shallow_clone_is_a_finding(campaign, tmp_path, monkeypatch):
    """What is wrong by its binding is exit 1 even where the history is missing."""
    clone = campaign.clone(tmp_path / "clone", "--depth", "1")
    monkeypatch.chdir(clone.root)
    post = clone.root / "parts/part-1/post.md"
    post.write_text(post.read_text().replace("saves 0.300", "saves 0.301"))
    assert "said '0.301', expected '0.300'" in campaign.notes("check", "1", exit=1).stdout


def run_told(output: str, campaign: TriedCampaign) -> None:
    """Nothing; the git commands between backquotes in a command's output have run in the working directory."""
    for command in re.findall(r"`((?:git|rm) [^`]+)`", " ".join(output.split())):
        subprocess.run(command, shell=True, check=True, capture_output=True)


def test_partial_clone_cannot_tell(campaign, tmp_path, monkeypatch):
    """A clone without old blobs, or without old trees, says which command brings them; it works."""
    campaign.notes(*CORRECT)
    campaign.commit_all("Go on")
    for left_out in ("blob:none", "tree:0"):
        clone = campaign.clone(tmp_path / left_out.replace(":", "-"), f"--filter={left_out}")
        monkeypatch.chdir(clone.root)
        campaign.top.rename(tmp_path / "gone")
        result = campaign.notes("check", "1", exit=3)
        (tmp_path / "gone").rename(campaign.top)
        run_told(result.output, campaign)
        campaign.top.rename(tmp_path / "gone")
        campaign.notes("check", "1")
        (tmp_path / "gone").rename(campaign.top)


def test_checkout_with_crlf_names_one_command_for_all_its_files(campaign, tmp_path, monkeypatch):
    """Where git changed line ends at checkout, what is told of the post mends the data beside it too."""
    subprocess.run(
        ["git", "-c", "core.autocrlf=true", "clone", "--quiet", campaign.top.as_uri(), str(tmp_path / "clone")],
        check=True,
    )
    monkeypatch.chdir(tmp_path / "clone")
    output = campaign.notes("check", "1", exit=1).stdout
    told = next(one for one in findings(output) if "CRLF line ends in the published body" in one["said"])
    assert "its words are as published" in told["said"]
    run_told(told["mend"], campaign)
    campaign.notes("check", "1")


def accented(folder: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    """A published campaign with an é in its body."""
    campaign = built_campaign(folder, monkeypatch)
    campaign.change("about people.", "about a café.", "post.md.j2")
    campaign.notes("build", "1")
    campaign.commit_all("Another text")
    campaign.notes("publish", "1")
    return campaign


def test_body_with_characters_composed_otherwise_is_told_from_an_edit(tmp_path, monkeypatch):
    """A post that was saved in another Unicode form has its own finding, and what is told mends it."""
    campaign = accented(tmp_path, monkeypatch)
    campaign.write("post.md", unicodedata.normalize("NFD", campaign.text()))
    told = findings(campaign.notes("check", "1", exit=1).stdout)
    assert ["the Unicode form NFD; its words are as published" in one["said"] for one in told] == [True]
    run_told(told[0]["mend"], campaign)
    campaign.notes("check", "1")


def test_edit_is_found_among_characters_composed_otherwise(tmp_path, monkeypatch):
    """A changed word is shown on its own line, not the first line that has other bytes."""
    campaign = accented(tmp_path, monkeypatch)
    campaign.write("post.md", unicodedata.normalize("NFD", campaign.text()).replace("the serving engine", "an engine"))
    told = [one for one in findings(campaign.notes("check", "1", exit=1).stdout) if one["code"] == "kept"]
    assert len(told) == 1 and "an engine" in told[0]["said"] and "the serving engine" in told[0]["expected"]


def test_words_are_corrected_however_they_are_typed(tmp_path, monkeypatch):
    """Words that a terminal gives in another Unicode form are found in the body, and stored as it has them."""
    campaign = accented(tmp_path, monkeypatch)
    campaign.notes(*CORRECT[:2], "--said", unicodedata.normalize("NFD", "about a café"), *CORRECT[4:])
    assert 'said = "about a café"' in campaign.text("corrections.toml")
    campaign.notes("check", "1")


def test_byte_order_mark_is_told_as_one(campaign):
    """A mark that an editor put before the banner is mended by a build; before a record it is refused by its name."""
    campaign.write("post.md", "\ufeff" + campaign.text())
    assert [one["code"] for one in findings(campaign.notes("check", "1", exit=1).stdout)] == ["stale"]
    campaign.notes("build", "1")
    campaign.notes("check", "1")
    campaign.write("published.toml", "\ufeff" + campaign.text("published.toml"))
    message = campaign.notes("check", "1", exit=2).stderr
    assert "byte order mark" in message
    run_told(message, campaign)
    campaign.notes("check", "1")


def test_tag_that_moves_is_nothing(campaign):
    """The proof is the commit in HEAD's history, not a name that can be put elsewhere."""
    campaign.git("tag", "published", "HEAD~1")
    campaign.git("tag", "--force", "published", "HEAD")
    campaign.notes("check", "1")


def orphaned(campaign: TriedCampaign) -> str:
    """The old commit; HEAD's history is then one new commit with the same files."""
    old = campaign.git("rev-parse", "HEAD")
    campaign.git("checkout", "--quiet", "--orphan", "anew")
    campaign.commit_all("All anew")
    return old


def test_rewritten_history_is_found_and_mended_by_what_is_told(campaign):
    """A history that begins anew is a finding; the command that is told takes the old one up again."""
    orphaned(campaign)
    told = findings(campaign.notes("check", "1", exit=1).stdout)
    assert ["not in HEAD's history" in one["said"] for one in told] == [True]
    run_told(told[0]["mend"].partition("(after")[0], campaign)
    campaign.notes("check", "1")


@pytest.mark.parametrize("how", ["replace", "grafts"])
def test_history_put_together_on_this_machine_alone_is_none(campaign, how):
    """Neither a replacement object nor a graft, which no clone gets, makes up for a rewritten history."""
    old = orphaned(campaign)
    if how == "replace":
        campaign.git("replace", "--graft", "HEAD", old)
    else:
        (campaign.top / ".git" / "info").mkdir(exist_ok=True)
        (campaign.top / ".git" / "info" / "grafts").write_text(f"{campaign.git('rev-parse', 'HEAD')} {old}\n")
    assert "not in HEAD's history" in campaign.notes("check", "1", exit=1).stdout


def test_amended_commit_is_found(campaign):
    """A text that was changed in the commit of its own publication is not the published one."""
    campaign.change("the serving engine", "an engine")
    campaign.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    assert "kept" in {one["code"] for one in findings(campaign.notes("check", "1", exit=1).stdout)}


def test_linked_work_tree_and_submodule_check_as_the_first_one(campaign, tmp_path, monkeypatch):
    """A second work tree, and a campaign that is a submodule of another repository, have the same history."""
    campaign.notes(*CORRECT)
    campaign.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "-b", "second")
    outer = tmp_path / "outer"
    outer.mkdir()
    for command in (
        ["init", "--quiet"],
        ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(campaign.top), "notes"],
    ):
        subprocess.run(["git", *command], cwd=outer, check=True, capture_output=True)
    for folder in (tmp_path / "tree", outer / "notes"):
        monkeypatch.chdir(folder)
        campaign.notes("check")
        post = folder / "parts" / "part-1" / "post.md"
        post.write_text(post.read_text().replace("the serving engine", "an engine"))
        campaign.notes("check", exit=1)


def test_host_without_git_cannot_tell(campaign, monkeypatch):
    """Without the program git the numbers are still checked, and what is missing is told."""
    monkeypatch.setitem(sys.modules, "git", None)
    assert "install git" in campaign.notes("check", "1", exit=3).output
    campaign.change("saves 0.300", "saves 0.301")
    campaign.notes("check", "1", exit=1)


def test_damaged_blob_cannot_tell(campaign):
    """A published text that git gives with other bytes than its name stands for proves nothing."""
    name = re.findall(r'post_blob = "(\w+)"', campaign.text("published.toml"))[0]
    stored = campaign.top / ".git" / "objects" / name[:2] / name[2:]
    stored.chmod(0o644)
    stored.write_bytes(zlib.compress(zlib.decompress(stored.read_bytes()).replace(b"0.300", b"0.301")))
    assert "git fsck" in campaign.notes("check", "1", exit=3).output


# What stops a command before it writes


@pytest.mark.parametrize("command", [("seal", "1"), ("publish", "1"), CORRECT], ids=["seal", "publish", "correct"])
@pytest.mark.parametrize("trouble", ["nobody", "date by hand"])
def test_command_that_cannot_commit_writes_nothing(tmp_path, monkeypatch, command, trouble):
    """Where git would not commit, no file is left half done, and the same command works once that is mended."""
    made = published_campaign if command is CORRECT else built_campaign
    campaign = made(tmp_path, monkeypatch)
    if command[0] == "seal":
        for name in ("rows", "draws", "tasks"):
            campaign.write(f"data/{name}.csv", campaign.text(f"data/{name}.csv").partition("\n")[0] + "\n")
    before = campaign.tree()
    with monkeypatch.context() as inner:
        if trouble == "nobody":
            for role in ("AUTHOR", "COMMITTER"):
                inner.delenv(f"GIT_{role}_NAME")
                inner.delenv(f"GIT_{role}_EMAIL")
        else:
            inner.setenv("GIT_AUTHOR_DATE", "2026-11-06T00:00:00Z")
        assert campaign.notes(*command, exit=2).stderr.startswith("notes: ")
    assert campaign.tree() == before
    campaign.notes(*command)
