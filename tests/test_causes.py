"""What follows from one change: the finding that tells of it, the ones that name it, and what is left out beside it."""

from types import SimpleNamespace

import pytest

from campaign.notes.causes import narrowed, order, with_causes
from campaign.notes.findings import Finding

POST, READINGS, PLOTS = "parts/part-1/post.md", "parts/part-1/readings.json", "parts/part-1/plots"
PART = SimpleNamespace(name="part-1", post=POST, readings=READINGS, plots=PLOTS, show=lambda path: path)
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
