"""Neighbours: the other places that stand on what a correction corrects."""

import datetime
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign, published_campaign

from campaign.notes.build import fill_entry
from campaign.notes.building import correct_part
from campaign.notes.corrections import canonical, read_corrections
from campaign.notes.errors import UsageError
from campaign.notes.findings import Finding
from campaign.notes.history import sha256_of
from campaign.notes.neighbours import Neighbour, check_data, check_neighbours, files_of, neighbours
from campaign.notes.sources import load

SAID, SAYS = "saves 0.300 ms a verify step", '{{ q("saving") }} ms a verify step'


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return published_campaign(tmp_path, monkeypatch)


def amend(campaign: TriedCampaign) -> None:
    """Nothing; a value of part-1's draws is then another one."""
    campaign.change_cell("data/draws.csv", 3, "step_time_ms", lambda said: f"{float(said) + 100:.3f}")


def correct(
    campaign: TriedCampaign, said: str, says: str, acknowledge: Sequence[str] = (), part: str = "part-1"
) -> tuple[str, ...]:
    """What `notes correct` tells; the entry is committed."""
    return correct_part(
        campaign.part_named(part),
        day=datetime.date(2026, 11, 8),
        recorded=datetime.datetime(2026, 11, 8, 9, 0, tzinfo=datetime.UTC),
        said=said,
        says=says,
        because="A later measurement.",
        reported_by="A Reader",
        caused_by=None,
        commit=True,
        acknowledge=acknowledge,
    )


def found(campaign: TriedCampaign, said: str = SAID, says: str = SAYS) -> list[Neighbour]:
    """The neighbours of a correction of part-1."""
    sources = load(campaign.part)
    return neighbours(campaign.part, said, fill_entry(campaign.part, says, sources), sources, campaign.repo)


def open_(campaign: TriedCampaign, said: str = SAID, says: str = SAYS) -> set[tuple[str, str]]:
    """Part and reading of those that nothing settles."""
    return {(one.part, one.reading) for one in found(campaign, said, says) if not one.settled}


def checked(campaign: TriedCampaign, part: str = "part-1") -> list[Finding]:
    """The findings of `notes check` about neighbours."""
    its = campaign.part_named(part)
    sources = load(its)
    says = {entry.number: fill_entry(its, entry.says, sources) for entry in read_corrections(its)}
    return check_neighbours(its, sources, campaign.repo, says)


def copy(campaign: TriedCampaign, name: str, *, published: bool = True) -> None:
    """Nothing; a part with the files of part-1 is then built, and published."""
    shutil.copytree(campaign.part.folder, campaign.root / "parts" / name)
    for kept in ("published.toml", "corrections.toml"):
        (campaign.root / "parts" / name / kept).unlink(missing_ok=True)
    campaign.notes("build", name)
    campaign.commit_all(f"Build {name}")
    if published:
        campaign.notes("publish", name)


def test_words_without_a_number_have_no_neighbours(campaign):
    """Where no reading, fact or claim is corrected, nothing else stands on it."""
    assert found(campaign, "nothing here is about people", "it is about rows") == []


def test_number_that_stays_has_no_neighbours(campaign):
    """An entry that repeats the number corrects the words around it alone."""
    assert found(campaign, "saves 0.300 ms a verify step", "it saves 0.300 ms at most") == []


def test_places_of_the_same_reading_and_what_is_computed_from_it_are_found(campaign):
    """The interval's end, the verdict and the claim stand on the saving that is corrected."""
    told = {(one.reading, one.why) for one in found(campaign, says="more than that")}
    assert told == {
        ("saving > bar", "claims something of it"),
        ("saving.lo", "prints the same reading"),
        ("verdict", "is computed from saving"),
    }


def test_wrong_number_over_good_data_is_wrong_elsewhere_too(campaign):
    """Where the data are as published, recomputation cannot settle what prints the same."""
    assert all(not one.settled for one in found(campaign, says="more than that"))


def test_mended_data_settle_what_they_give_as_printed(campaign):
    """Places that the mended data give as before are settled; those that they give otherwise are open."""
    amend(campaign)
    assert open_(campaign) == {("part-1", "saving.lo"), ("part-1", "change"), ("part-1", "row.2")}
    settled = {one.reading: one.settled for one in found(campaign) if one.settled}
    assert settled["verdict"] == "derived again: still carries"
    assert settled["data.digest"] == "it names the data as they were published"


def test_open_neighbours_are_listed_and_nothing_is_written(campaign):
    """The command names each place, what it prints, what it would print, and how to go on."""
    amend(campaign)
    before = campaign.tree()
    with pytest.raises(UsageError) as refused:
        correct(campaign, SAID, SAYS)
    lines = str(refused.value).splitlines()
    assert re.fullmatch(r"  part-1:10:29  '0.212', now '0.\d\d\d'  saving.lo  \(prints the same reading\)", lines[1])
    assert '--acknowledge part-1:10:29="…"' in lines[-1]
    assert campaign.tree() == before


@pytest.mark.parametrize(
    "acknowledge",
    [
        ["part-1=Measured again."],
        ["saving.lo=a", "change=b", "row.2=c"],
        ["part-1:10:29=a", "part-1:12:55=b", "part-1:18:21=c"],
        ["part-1:saving.lo=a", "part-1:change=b = c", "part-1=d"],
    ],
    ids=["part", "readings", "places", "mixed"],
)
def test_acknowledged_neighbours_are_kept_in_the_entry(campaign, acknowledge):
    """Each neighbour is in the entry with what settles it and where it stands now, and the check has no finding."""
    amend(campaign)
    before = {one.reading: one.text for one in found(campaign) if one.reading in ("saving.lo", "change", "row.2")}
    correct(campaign, SAID, SAYS, acknowledge)
    entry = read_corrections(campaign.part)[0]
    kept = {one.reading: one for one in entry.neighbours}
    assert kept["saving.lo"].because and kept["saving.lo"].says is None
    lines = campaign.text().split("\n")
    for name, printed in before.items():
        _, line, column = kept[name].place.split(":")
        assert lines[int(line) - 1][int(column) - 1 :].startswith(printed)
    assert kept["verdict"].says == "carries" and kept["verdict"].because is None
    assert entry.data == load(campaign.part).data.digest
    assert checked(campaign) == []


@pytest.mark.parametrize("said", ["part-9=no", "saving.hi=it is not printed", "part-1:1:1=nothing is there"])
def test_acknowledgement_of_nothing_is_refused(campaign, said):
    """A place that does not stand on what is corrected is a slip, and the places that do are named."""
    amend(campaign)
    with pytest.raises(UsageError, match=r"no such place stands on.*part-1:10:29"):
        correct(campaign, SAID, SAYS, ["part-1=x", said])


@pytest.mark.parametrize("said", ["part-1", "=why", "part-1= "])
def test_acknowledgement_has_a_place_and_a_reason(campaign, said):
    """An acknowledgement without its reason is refused."""
    with pytest.raises(UsageError, match="expected PLACE=REASON"):
        correct(campaign, SAID, "more than that", [said])


def test_data_changed_behind_a_correction_of_words_have_to_be_told_of(campaign):
    """A correction of words does not make changed data right in passing."""
    amend(campaign)
    told = open_(campaign, "nothing here is about people", "it is about rows")
    assert ("part-1", "saving") in told and ("part-1", "") in told
    with pytest.raises(UsageError, match=r"parts/part-1/data/draws\.csv  \(it is not as it was published"):
        correct(campaign, "nothing here is about people", "it is about rows", ["saving=x"])


def test_entries_of_one_part_settle_each_other(campaign):
    """What an earlier entry corrects is no open neighbour of the next one, and its quote says what it says now."""
    amend(campaign)
    correct(campaign, SAID, SAYS, ["part-1=a"])
    told = {
        one.place: one.settled for one in found(campaign, "begins at 0.212 ms", 'begins at {{ q("saving.lo") }} ms')
    }
    assert "part-1:8:28" not in told
    assert told["part-1 correction 1"].startswith("derived again: still")


def test_other_part_on_the_same_data_is_found(campaign):
    """A part with a copy of the data, as they were before, has to be looked at; mended there too, it is settled."""
    copy(campaign, "part-2")
    amend(campaign)
    told = open_(campaign)
    assert ("part-2", "saving") in told and ("part-2", "passed") in told
    assert ("part-2", "gpus") not in told
    shutil.copy(campaign.part.data / "draws.csv", campaign.root / "parts/part-2/data/draws.csv")
    later = {one.reading: one for one in found(campaign) if one.part == "part-2"}
    assert later["passed"].settled == "derived again: still 94" and not later["saving"].settled


def test_other_part_that_is_corrected_itself_is_settled(campaign):
    """A place that an entry of its own part corrects asks for nothing more."""
    copy(campaign, "part-2")
    for name in ("part-1", "part-2"):
        campaign.change_cell(f"../{name}/data/draws.csv", 3, "step_time_ms", lambda said: f"{float(said) + 100:.3f}")
    correct(campaign, SAID, SAYS, ["part-2=It has an entry of its own.", "part-1=x"], part="part-2")
    told = {(one.part, one.reading): one.settled for one in found(campaign)}
    assert told["part-2", "saving"] == "corrected there"


def test_part_on_other_data_is_no_neighbour(campaign):
    """A part that shares no file stands on nothing that is corrected."""
    campaign.notes("new", "3")
    amend(campaign)
    assert {one.part for one in found(campaign)} == {"part-1"}


def test_number_taken_over_by_hand_is_found(campaign):
    """A fact of another part that names this one as its source, and prints the same, is a neighbour."""
    campaign.notes("new", "2")
    with campaign.part_named("part-2").facts.open("a") as file:
        file.write(
            '\n[facts."earlier"]\nvalue = 0.3\nunit = "ms/verify step"\nprint = ".3f"\nsource = "Part 1, its saving"\n'
        )
    campaign.write("../part-2/post.md.j2", '# Two\n\nPart 1 saved {{ q("earlier") }} ms.\n')
    campaign.notes("build", "2")
    amend(campaign)
    told = [one for one in found(campaign) if one.part == "part-2"]
    assert [(one.reading, one.why, one.settled) for one in told] == [("earlier", "takes it from Part 1 by hand", "")]


def test_entry_from_before_has_warnings_and_keeps_its_hash(campaign):
    """An entry without neighbours is as valid as it was, and what it leaves open is a warning."""
    amend(campaign)
    correct(campaign, SAID, SAYS, ["part-1=x"])
    text = campaign.text("corrections.toml")
    old = re.sub(r"(?ms)^data = .*?^\]\n", "", text)
    campaign.write("corrections.toml", old)
    entry = read_corrections(campaign.part)[0]
    assert entry.neighbours is None and sha256_of(canonical(entry).encode()) == sha256_of(
        old.partition("\n\n")[2].encode()
    )
    told = checked(campaign)
    assert {finding.level for finding in told} == {"warning"}
    assert {finding.source for finding in told} == {"saving.lo", "change", "row.2"}
    assert told[0].path == "parts/part-1/post.md" and "Part 1, correction 1, corrects" in told[0].also[0]


def test_part_that_takes_up_old_data_later_is_an_error(campaign):
    """A later part on the data that were corrected is found, though the entry cannot have known of it."""
    old = campaign.text("data/draws.csv")
    amend(campaign)
    correct(campaign, SAID, SAYS, ["part-1=x"])
    copy(campaign, "part-2", published=False)
    assert checked(campaign) == []
    campaign.write("../part-2/data/draws.csv", old)
    campaign.notes("build", "part-2")
    told = checked(campaign)
    assert {finding.level for finding in told} == {"error"}
    assert {finding.path for finding in told} == {"parts/part-2/post.md"}


def test_data_changed_after_publication_are_found_though_readings_were_written_anew(campaign):
    """The data of a published part are compared with git, not only with a file that can be written again."""
    sources = load(campaign.part)
    assert check_data(campaign.part, sources, campaign.repo) == []
    amend(campaign)
    problem = check_data(campaign.part, load(campaign.part), campaign.repo)[0]
    assert problem.code == "data-changed" and problem.path == "parts/part-1/data/draws.csv"
    command = re.findall(r"`(git checkout [^`]+)`", problem.mend)[0]
    campaign.git(*command.split()[1:])
    assert check_data(campaign.part, load(campaign.part), campaign.repo) == []


def test_data_changed_again_after_a_correction_are_found(campaign):
    """A correction accounts for the data that it saw, not for later ones."""
    amend(campaign)
    correct(campaign, SAID, SAYS, ["part-1=x"])
    assert check_data(campaign.part, load(campaign.part), campaign.repo) == []
    amend(campaign)
    assert [one.code for one in check_data(campaign.part, load(campaign.part), campaign.repo)] == ["data-changed"]


def test_files_of_a_reading_are_those_of_its_table_and_operands(campaign):
    """A count of tasks stands on what rows brought, a constant on nothing."""
    sources = load(campaign.part)
    rows = {"data/rows.csv", "data/draws.csv", "data/tasks.csv"}
    assert files_of("saving.lo", sources) == rows and files_of("verdict", sources) == rows
    assert files_of("bar", sources) == set() and files_of("gpus", sources) == set()


def test_label_is_no_neighbour(tmp_path, monkeypatch):
    """A word that only names something, and stands elsewhere too, asks for nothing; a number in its place does."""
    campaign = built_campaign(tmp_path, monkeypatch)
    facts = '[facts."day"]\nvalue = "same"\nsource = "the log"\n\n[facts."doors"]\nvalue = 3\nsource = "the log"\n'
    campaign.write("facts.toml", f"{campaign.text('facts.toml')}\n{facts}")
    quotes = ' on the {{ q("day") }} day, all {{ q("doors") }}'
    campaign.change("nothing here is about people", f"nothing{quotes}, yes{quotes}", "post.md.j2")
    campaign.notes("build", "1")
    campaign.commit_all("Say the day twice")
    campaign.notes("publish", "1")
    assert found(campaign, "nothing on the same day", "nothing on another day") == []
    (one,) = found(campaign, "nothing on the same day, all 3,", "nothing on another day, all 4,")
    assert (one.reading, one.text, one.why) == ("doors", "3", "prints the same reading")


def test_labels_of_another_part_are_no_neighbours(campaign):
    """Over the same data a number of another part is a neighbour, a label or a credit in it is not."""
    copy(campaign, "part-2")
    told = {one.reading for one in found(campaign, says="more than that") if one.part == "part-2"}
    assert {"saving", "row.2", "verdict", "saving > bar"} <= told
    assert not any(name.startswith(("arm_of.", "credit.")) for name in told)


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--says", "saves 7.123 ms", "says: '7.123 ms' is bound to nothing"),
        ("--says", '{{ q("savings") }} ms', "there is no reading 'savings'"),
        ("--because", "We counted 17 rows.", "because: '17' is bound to nothing"),
        ("--said", "saves 0.999 ms", "the published body has “saves 0.999 ms” not at all"),
        ("--date", "2026-11-01", "2026-11-01 is before 2026-11-06"),
        ("--date", "2999-11-01", "2999-11-01 has not come yet"),
    ],
)
def test_faults_of_an_entry_are_told_before_its_neighbours(campaign, option, text, message):
    """A person is not asked about other places for words that could not be entered."""
    options = {"--said": SAID, "--says": "saves more", "--because": "Seen.", "--reported-by": "A Reader"}
    options |= {"--date": "2026-11-08", option: text}
    told = campaign.notes("correct", "1", *(word for pair in options.items() for word in pair), exit=2).stderr
    assert message in told and "--acknowledge" not in told
