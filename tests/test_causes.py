"""What follows from one change: the finding that tells of it, the ones that name it, and what is left out beside it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from campaign.notes.causes import located, narrowed, order, others_named, with_causes
from campaign.notes.findings import Finding
from campaign.notes.history import NoHistory

POST, READINGS, PLOTS = "parts/part-1/post.md", "parts/part-1/readings.json", "parts/part-1/plots"
PART = SimpleNamespace(
    name="part-1", number=1, post=POST, readings=READINGS, plots=PLOTS, show=lambda path: path,
    seal="parts/part-1/seal.toml", corrections="parts/part-1/corrections.toml",
    published=Path("parts/part-1/published.toml"),
)  # fmt: skip
OTHER = SimpleNamespace(
    name="part-2", number=2, show=lambda path: path,
    corrections="parts/part-2/corrections.toml", published="parts/part-2/published.toml",
)  # fmt: skip
PART.campaign = SimpleNamespace(parts=lambda: [PART, OTHER])
EDITED, DATA = "bring the text back", "notes correct part-1"
KEPT = Finding("kept", POST, 3, 7, "0.31", "0.13", "body-edited", "`git checkout HEAD -- parts/part-1/post.md`, then")
CHANGED = Finding("kept", "parts/part-1/data/a.csv", 2, 1, "1", "2", "data-changed", "bring a.csv back", length=1)
NUMBER = Finding("changed", POST, 3, 7, "0.31", "0.13", "reading saving", EDITED, length=4)
DERIVED = Finding("derived", POST, 3, 7, "0.31", "0.30", "saving = a - b", "waive it", level="warning", length=4)


def found(*findings: Finding) -> list[Finding]:
    return with_causes(PART, findings, EDITED)


def test_number_in_an_edited_text_follows_from_the_edit():
    """It is mended as the text is."""
    _, number = found(KEPT, NUMBER)
    assert number.cause == "kept at parts/part-1/post.md:3:7"
    assert number.mend == "git checkout HEAD -- parts/part-1/post.md (the published text), then notes build part-1"


def test_number_of_a_text_as_built_follows_from_changed_data():
    """What stands as it was built, the computed readings and the plots are mended with the data."""
    number = Finding("changed", POST, 3, 7, "0.31", "0.13", "reading saving", DATA)
    readings = Finding("stale", READINGS, 9, 1, "1", "2", "value of reading saving", "notes build part-1")
    plot = Finding("stale", f"{PLOTS}/rows.svg", 1, 1, "1", "2", "the plot's readings", "notes build part-1")
    first, *others = found(CHANGED, number, readings, plot)
    assert first == CHANGED
    assert {(one.cause, one.mend) for one in others} == {(CHANGED.name, CHANGED.mend)}


@pytest.mark.parametrize(
    "other",
    [
        NUMBER,
        Finding("changed", POST, 3, 7, "4", "5", "fact gpus", DATA),
        Finding("unbound", POST, 3, 7, "4", "a bound number", "", "quote it"),
        Finding("stale", POST, 1, 1, "a banner", "another", "the banner", "notes build part-1"),
        Finding("kept", "parts/part-1/seal.toml", 1, 1, "a", "b", "seal-blob", "restore it"),
    ],
)
def test_what_data_do_not_decide_does_not_follow_from_them(other):
    """Edited text, facts, numbers bound to nothing, banners and seals stand for themselves."""
    assert found(CHANGED, other) == [CHANGED, other]


def test_hash_of_a_file_is_not_told_beside_its_publication():
    """One file that changed is one finding."""
    stale = Finding("stale", CHANGED.path, 1, 1, "sha256 a", "sha256 b", "the data's hash", "git checkout")
    assert found(stale, CHANGED) == [CHANGED] and found(stale) == [stale]


def test_one_place_has_one_finding_about_its_number():
    """What a reader would compute is not told of a number that is wrong, nor of one that a wrong one leads to."""
    operand = ("from saving = 0.31 at 3:7",)
    result = Finding("derived", POST, 8, 2, "0.4", "0.5", "x = saving / 2", "", level="warning", also=operand)
    assert found(NUMBER, DERIVED, result) == [NUMBER]
    assert found(DERIVED, result) == [DERIVED, result]


def test_what_others_follow_from_stands_first():
    """Then come the findings in the text, by their places."""
    follows = Finding("changed", POST, 3, 7, "0.31", "0.13", "", "", cause=CHANGED.name)
    loose = Finding("kept", "parts/part-1/a.toml", 1, 1, "a", "b", "", "")
    assert order(PART, [loose, follows, CHANGED]) == [CHANGED, follows, loose]


@pytest.mark.parametrize(
    ("said", "expected", "column", "length", "shown"),
    [
        ("`+it saves 0.31 ms`", "`-it saves 0.13 ms`", 10, 4, ("it saves 0.31 ms", "it saves 0.13 ms")),
        ("`+r1,2,5`", "`-r1,3,5`", 4, 1, ("r1,2,5", "r1,3,5")),
        ("`+a new line`", "`-`", 1, 10, ("a new line", "an empty line")),
        ("`+`", "`-a line`", 1, 0, ("an empty line", "a line")),
        ("`+one two`", "`-one`", 1, 7, ("one two", "one")),
        ("the end of the body", "`-gone`", 1, 0, ("the end of the body", "gone")),
        ("`+was here`", "the end of the body", 1, 0, ("was here", "the end of the body")),
    ],
)
def test_difference_of_two_lines_is_told_without_marks(said, expected, column, length, shown):
    """The words that differ are pointed at; what stands around them is shown."""
    one = narrowed(Finding("kept", POST, 3, 1, said, expected, "body-edited", ""))
    assert (one.column, one.length, (one.said, one.expected)) == (column, length, shown)


def test_difference_far_along_a_line_is_shown():
    """A long line is cut at words around what differs."""
    line = "a word " * 40
    one = narrowed(Finding("kept", POST, 3, 1, f"`+{line}0.31 ms {line}`", f"`-{line}0.13 ms {line}`", "", ""))
    assert "0.31 ms" in one.said and "0.13 ms" in one.expected and len(one.said) < 80
    assert (one.column, one.length) == (len(line) + 1, 4)


SEAL = Finding("kept", PART.seal, 5, 1, "sealed = 1", "2", "seal-replaced", "bring the seal back")
ENTRY = Finding("kept", OTHER.corrections, 8, 1, "says = a", "b", "correction-changed", "bring the entry back")


@pytest.mark.parametrize(
    "follower",
    [
        Finding("changed", POST, 9, 2, "23:11Z", "23:01Z", "fact seal.date", DATA),
        Finding("gone", POST, 9, 2, "23:11Z", "no reading", "seal.date", "declare it"),
        Finding("rule", PART.seal, 1, 1, "the rule 1", "2", "the plan's rule", "another version"),
    ],
    ids=lambda one: one.code,
)
def test_what_a_seal_decides_follows_from_its_change(follower):
    """The seal alone is mended."""
    _, followed = found(SEAL, follower)
    assert (followed.cause, followed.mend) == (SEAL.name, SEAL.mend)


def test_edited_date_beside_a_changed_seal_is_its_own_fault():
    """The text is not as it was built: bringing the seal back does not mend it."""
    edit = Finding("changed", POST, 9, 2, "23:05Z", "23:01Z", "fact seal.date", EDITED, length=6)
    assert found(SEAL, edit)[1] == edit


@pytest.mark.parametrize("code, source", [("changed", "fact correction.2.1.says"), ("gone", "correction.2.1.says")])
def test_entry_of_another_part_is_the_cause_of_what_quotes_it(code, source):
    """The file that did not change is in no mend, nor is it told to be the reason."""
    because = "right when it was published: parts/part-1/facts.toml changed"
    quoted = Finding(code, POST, 9, 2, "a", "b", source, "git checkout 1 -- facts.toml", also=(because,))
    assert others_named(PART, [quoted]) == [OTHER]
    (followed,) = with_causes(PART, [quoted], EDITED, [ENTRY])
    assert (followed.cause, followed.mend, followed.also) == (ENTRY.name, ENTRY.mend, ())


def test_entries_below_a_text_follow_from_their_file():
    """A build would write the edited entry into the post."""
    kept = Finding("kept", PART.corrections, 8, 1, "a", "b", "correction-changed", "bring the entry back")
    entries = "the entries that published.toml and corrections.toml give"
    assert found(kept, Finding("stale", POST, 30, 1, "a", "b", entries, "notes build"))[1].cause == kept.name


def test_fewer_numbers_follow_from_a_lost_row():
    """The row's numbers are not counted as a second fault."""
    row = Finding("changed", POST, 9, 1, "the row `| a | 1 |` is missing", "it here", "reading a", EDITED)
    fewer = Finding("nothing", POST, 1, 1, "62 numbers", "at least 64", "the count at the build", EDITED)
    assert [one.cause for one in found(row, fewer)] == ["", row.name]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("says = x in correction 2", 6),
        ("previous = 1 in entry 1", 3),
        ("sha256 1 of what it says, as link 2 holds it", 4),
        ("no correction 3", 4),
        ("number = 1 in a record", 1),
    ],
)
def test_finding_about_an_entry_stands_on_its_line(tmp_path, said, line):
    """The key where it is named, else the head of the entry; of a lost one, that of the last that is there."""
    (tmp_path / "a.toml").write_text('[[entry]]\nnumber = 1\nprevious = "1"\n[[entry]]\nnumber = 2\nsays = "x"\n')
    kept = Finding("kept", "a.toml", 1, 1, said, "as it was", "correction-changed", "")
    assert located(kept, tmp_path, NoHistory("no git")).line == line
