"""Changed texts: what each class makes of a small text."""

import re

import pytest

from campaign.analysis.readings import Reading, Readings
from campaign.notes.ledger import Place
from campaign.notes.mutants import CLASSES, Edit, Mutant, Published, mutants, reads_the_same

TEXT = """\
# Rows

The new kernel saves −0.314 ms a verify step (0.217 to 0.410 ms), and all four rows are below the bar.
Of 1,024 calls 12 failed, half of them on the old kernel.

| Arm | ms | passed |
|---|---:|---:|
| old | 14.451 | 3 of 4 |
| new | 14.137 | 4 of 4 |
| new | 14.137 | 2 of 4 |

![Two rows.](x.svg)
"""


def published(text: str = TEXT, **more) -> Published:
    return Published(text, labels=(("old", "new"),), **more)


def changed(kind: str, text: str = TEXT, **more) -> set[str]:
    """What becomes of the first changed line in every mutant of a class."""
    tried = published(text, **more)
    return {mutant.apply(tried.text) for mutant in mutants(tried, kind)}


def sentence(kind: str, text: str) -> set[str]:
    return {one.rstrip("\n") for one in changed(kind, f"{text}\n")}


def bound(text: str, said: str, place: Place, **more) -> Published:
    at = text.index(said)
    return Published(text, places=((at, at + len(said), place),), **more)


@pytest.mark.parametrize("kind", list(CLASSES))
def test_every_mutant_differs_from_the_text_where_it_says(kind):
    """The edits lie in the text, what was there is what the mutant says, and its line is the line of the first edit."""
    tried = published()
    for mutant in mutants(tried, kind):
        first = mutant.edits[0]
        assert mutant.was == " … ".join(TEXT[edit.start : edit.end] for edit in mutant.edits)
        assert mutant.line == TEXT.count("\n", 0, first.start) + 1
        assert mutant.lines(TEXT), mutant


def test_edits_are_made_from_left_to_right():
    """Two edits of different lengths change the two stretches that they name."""
    mutant = Mutant("x", (Edit(0, 1, "bb"), Edit(2, 3, "")), 1, 1, "", "")
    assert mutant.apply("a-c-d") == "bb--d"


def test_changed_lines_are_those_of_the_changed_text():
    """A line that is put in before others is a changed line, and the ones behind it are not."""
    mutant = Mutant("x", (Edit(2, 2, "new\n"),), 2, 1, "", "")
    assert mutant.lines("a\nb\n") == {2, 3}


def test_each_digit_is_changed_once():
    """There is one mutant for each digit, which differs from the text in that digit alone."""
    made = list(mutants(published(), "digit"))
    assert len(made) == len(re.findall(r"\d", TEXT))
    assert all(sum(a != b for a, b in zip(TEXT, one.apply(TEXT), strict=True)) == 1 for one in made)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("digit dropped", "takes 31 ms", {"takes 1 ms", "takes 3 ms"}),
        ("digits swapped", "takes 31.2 ms", {"takes 13.2 ms", "takes 32.1 ms"}),
        ("sign", "moves −3 ms", {"moves 3 ms", "moves +3 ms", "moves -3 ms"}),
        (
            "decimal point",
            "takes 3.14 ms",
            {"takes .314 ms", "takes 31.4 ms", "takes 314 ms", "takes 3,14 ms", "takes 3;14 ms", "takes 3. 14 ms"},
        ),
        ("comparing word", "only 3 ms", {"also 3 ms", "even 3 ms", "not only 3 ms", "3 ms"}),
        ("number word", "Four rows", {"Five rows", "Three rows", "Forty rows", "5 rows", " rows"}),
        ("numbers swapped", "from 3 to 5 ms", {"from 5 to 3 ms"}),
    ],
)
def test_class_makes_these_texts(kind, text, expected):
    """A class makes exactly the changed texts that its name says."""
    assert sentence(kind, text) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("unit", "takes 3 ms", "takes 3 s"),
        ("unit", "shares of 3 %", "shares of 3 pp"),
        ("unit", "holds 3 GB", "holds 3 GiB"),
        ("unit", "takes 3 ms", "takes 3"),
        ("range", "lies at 3 to 5 ms", "lies at 5 to 3 ms"),
        ("range", "lies at 3 to 5 ms", "lies at 3 and 5 ms"),
        ("range", "lies at 3 to 5 ms", "lies at 5 ms"),
        ("number word", "half of them", "third of them"),
        ("number word", "twice as fast", "three times as fast"),
        ("comparing word", "all 4 rows", "most 4 rows"),
        ("comparing word", "rows below 4 ms", "rows above 4 ms"),
        ("comparing word", "4 ms faster", "4 ms slower"),
        ("turning word", "the minimum is 4 ms", "the maximum is 4 ms"),
        ("negation", "it is 4 ms", "it is not 4 ms"),
        ("negation", "it is not 4 ms", "it is 4 ms"),
        ("look-alike", "takes 10 ms", "takes 1O ms"),
        ("size", "takes 10 ms", "takes 100 ms"),
        ("bound", "takes 10 ms", "takes ~10 ms"),
        ("per", "4 ms a verify step", "4 ms a draw"),
        ("number hidden", "takes 10 ms", "takes <!-- 10 --> ms"),
        ("typed number", "takes 10 ms", "takes 10 ms It took 12 ms."),
    ],
)
def test_class_makes_this_text_too(kind, text, expected):
    """A class makes this changed text, beside others."""
    assert expected in sentence(kind, text)


@pytest.mark.parametrize(
    ("kind", "was", "became"),
    [
        ("cells of a row swapped", "| old | 14.451 | 3 of 4 |", "| 14.451 | old | 3 of 4 |"),
        ("cells of a column swapped", "| old | 14.451 | 3 of 4 |", "| new | 14.451 | 3 of 4 |"),
        ("rows", "| old | 14.451 | 3 of 4 |\n", ""),
        ("header", "| Arm | ms | passed |", "| ms | Arm | passed |"),
        ("arms swapped", "| old | 14.451 | 3 of 4 |", "| new | 14.451 | 3 of 4 |"),
        ("arms swapped", "half of them on the old kernel", "half of them on the new kernel"),
    ],
)
def test_table_or_arm_is_changed(kind, was, became):
    """A mutant of the class holds the changed line in place of the old one."""
    assert any(was not in text and became in text for text in changed(kind))


def test_column_is_dropped_from_every_line():
    """A lost column takes its header, its rule and its cells with it."""
    assert any("| Arm | passed |\n|---|---:|\n| old | 3 of 4 |" in text for text in changed("header"))


def test_equal_cells_make_the_same_text():
    """Two equal cells that change places leave the text as it is: such a mutant counts as equivalent."""
    assert TEXT in changed("cells of a column swapped")


def test_quoted_number_is_rounded_otherwise():
    """A tie that is printed half away from zero is also tried half to even and cut."""
    readings = Readings({"x": Reading("x", 0.125, print=".2f")}, "")
    tried = bound("It took 0.13 s.\n", "0.13", Place("0.13", "reading", "x"), readings=readings)
    texts = {one.apply(tried.text) for one in mutants(tried, "rounded otherwise")}
    assert {"It took 0.12 s.\n", "It took 0.125 s.\n", "It took 0.1 s.\n"} <= texts


def test_stale_copy_takes_the_value_of_an_earlier_state():
    """The place holds what its reading was before."""
    earlier = Readings({"x": Reading("x", 4, print="d")}, "")
    tried = bound("It took 5 s.\n", "5", Place("5", "reading", "x"), earlier=(earlier,))
    assert [one.apply(tried.text) for one in mutants(tried, "stale copy")] == ["It took 4 s.\n"]


def test_quantity_is_changed_alike_in_all_its_places():
    """Both places of one reading change, and the rest stays."""
    place = Place("5", "reading", "x")
    tried = Published("5 s, again 5 s of 5\n", places=((0, 1, place), (11, 12, place)))
    assert [one.apply(tried.text) for one in mutants(tried, "changed everywhere")] == ["6 s, again 6 s of 5\n"]


def test_claim_becomes_its_false_word():
    """A bound word becomes what is printed where it is false, and is negated."""
    tried = bound("It is below 5.\n", "below", Place("below", "claim", "x < 5", word="below", otherwise="above"))
    texts = {one.apply(tried.text) for one in mutants(tried, "claim")}
    assert {"It is above 5.\n", "It is not below 5.\n"} <= texts


def test_verdict_becomes_another_band():
    """The word of a verdict becomes the word of every other band."""
    words = {"verdict": ("carries", "seen", "rolled back")}
    tried = bound("Verdict: carries.\n", "carries", Place("carries", "reading", "verdict"), words=words)
    texts = {one.apply(tried.text) for one in mutants(tried, "verdict word")}
    assert {"Verdict: seen.\n", "Verdict: rolled back.\n", "Verdict: not carries.\n"} <= texts


def test_sentence_without_a_quantity_is_left_alone():
    """Plain words are the hash's business: no mutant drops a sentence that says no quantity."""
    tried = published("The goal is clear. It took 5 ms.\n")
    assert "It took 5 ms.\n" not in {one.apply(tried.text).strip() + "\n" for one in mutants(tried, "sentence")}


def test_no_class_is_empty():
    """A text with places, claims and verdicts gives mutants of every class."""
    text = "Verdict: carries, below 5 ms; it took 0.13 s.\n\n" + TEXT
    said = [
        ("carries", Place("carries", "reading", "verdict")),
        ("below", Place("below", "claim", "x < 5", word="below", otherwise="above")),
        ("0.13", Place("0.13", "reading", "x")),
    ]
    tried = Published(
        text,
        places=tuple((text.index(word), text.index(word) + len(word), place) for word, place in said),
        readings=Readings({"x": Reading("x", 0.125, print=".2f")}, ""),
        labels=(("old", "new"),),
        words={"verdict": ("carries", "seen")},
        earlier=(Readings({"x": Reading("x", 0.5, print=".2f")}, ""),),
    )
    assert {mutant.kind for kind in CLASSES for mutant in mutants(tried, kind)} == set(CLASSES)


def test_other_white_space_reads_the_same():
    """A line that is wrapped elsewhere makes the same page, another digit does not."""
    assert reads_the_same("a b\nc 3\n", "a b c\n3\n")
    assert not reads_the_same("a 3\n", "a 4\n")
