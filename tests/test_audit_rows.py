"""Rows and columns that sum up others: means, extremes, running totals, rates and signs, at their level."""

from itertools import accumulate
from statistics import mean, median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.notes.audit import audit


def table(*rows: str) -> str:
    """A Markdown table of lines whose cells are parted by bars."""
    head, *body = rows
    rule = "|".join("---" for _ in head.split("|"))
    return "\n".join(f"| {row} |" for row in (head, rule, *body)) + "\n"


def found(*rows: str) -> list[tuple[str, str, str]]:
    """What was said, what was expected and the level of each finding about one table."""
    return [(one.said, one.expected, one.level) for one in audit(table(*rows), "any.md").findings]


numbers = st.lists(st.integers(100, 900), min_size=3, max_size=8)


@given(numbers, st.sampled_from([("Mean", mean), ("Median", median), ("Min", min), ("Max", max)]))
@settings(max_examples=60, deadline=None)
def test_a_right_row_is_left_alone_and_one_that_is_off_is_told(values, called):
    """Each of the four rows is fine at the precision of its items; moved by a twentieth it is told."""
    name, way = called
    rows = [f"r{at} | {value / 10:.1f}" for at, value in enumerate(values)]
    right = way([value / 10 for value in values])
    assert found("run | ms", *rows, f"{name} | {right:.1f}") == []
    if name != "Mean":  # other kinds of mean may fit
        wrong = f"{right * 1.05 + 0.3:.1f}"
        assert [said for said, *_ in found("run | ms", *rows, f"{name} | {wrong}")] == [wrong]


def test_a_row_beside_others_that_are_right_is_an_error():
    """Where another column of the row is right, a wrong one is sure; alone it may be of something else."""
    rows = ["a | 10 | 1", "b | 20 | 3"]
    assert found("run | x | y", *rows, "Mean | 15 | 5") == [("5", "2", "error")]
    assert found("run | x", "a | 10", "b | 20", "Mean | 17") == [("17", "15", "warning")]
    assert found("run | x | y", *rows, "Mean | 19 | 5") == []


def test_a_mean_may_be_weighted_or_leave_out_a_warm_up():
    """A mean by the counts in another column, and one without the first, cold run, are right."""
    assert found("suite | n | s", "a | 100 | 2.0", "b | 10 | 9.0", "Average | 55 | 2.6") == []
    assert found("run | ms", "warm-up | 90", "a | 10", "b | 20", "Mean | 15") == []


@given(st.lists(st.integers(1, 99), min_size=4, max_size=9), st.integers(0, 50), st.data())
@settings(max_examples=40, deadline=None)
def test_a_running_total_may_start_anywhere_and_then_adds_each_row(values, before, data):
    """A running total with an offset is right; the one cell that is moved is told, and what it should be."""
    totals = [total + before for total in accumulate(values)]
    rows = [[f"d{at}", value, total] for at, (value, total) in enumerate(zip(values, totals, strict=True))]
    said = [" | ".join(map(str, row)) for row in rows]
    assert found("day | n | running total", *said) == []
    at = data.draw(st.integers(1, len(values) - 1))
    rows[at][2] += 1
    said = [" | ".join(map(str, row)) for row in rows]
    assert found("day | n | running total", *said) == [(str(totals[at] + 1), str(totals[at]), "error")]


def test_a_column_of_rates_is_counts_over_seconds():
    """One wrong rate beside right ones is an error; a rate of another name is left alone."""
    rows = ["a | 2400 | 30 | 90", "b | 1000 | 10 | 100", "c | 1000 | 20 | 50"]
    assert found("model | tokens | seconds | tok/s", *rows) == [("90", "80", "error")]
    assert found("model | tokens | seconds | req/s", *rows) == []


def test_the_sign_of_a_change_from_old_to_new_is_told():
    """A change has a sign; a speedup or an improvement may be positive where the number falls."""
    rows = ["a | 20.0 | 18.0 | +10.0%", "b | 30.0 | 27.0 | +10.0%"]
    assert [expected for _, expected, _ in found("q | old | new | change", *rows)] == ["-10.0%", "-10.0%"]
    assert found("q | old | new | improvement", *rows) == []


def test_a_total_of_sizes_in_several_units():
    """KB and MB add up, whether a megabyte has 1,000 of them or 1,024."""
    rows = ["a | 1.5 MB", "b | 500 KB", "c | 1.0 MB"]
    assert found("part | size", *rows, "total | 4.0 MB") != []
    assert found("part | size", *rows, "total | 3.0 MB") == []
    assert found("part | size", "a | 1.50 MiB", "b | 512 KiB", "total | 2.00 MiB") == []


def test_a_difference_of_counts_is_exact():
    """19 - 14 is 5, and not 4; where milliseconds are rounded it may be."""
    assert [said for said, *_ in found("q | A | B | diff", "x | 14 | 19 | 4", "y | 10 | 12 | 2")] == ["4"]
    assert found("q | before (ms) | after (ms) | diff (ms)", "x | 14 | 19 | 4", "y | 10 | 12 | 2") == []


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Of 20 runs, 12 passed and 5 failed.", "warning"),
        ("Of 20 runs, 12 passed and 9 failed.", "error"),
        ("Latency decreased from 10 ms to 12 ms.", "error"),
        ("The count rose from 5 to 3.", "warning"),
        ("The rate went from 80% to 85%, up 6 points.", "warning"),
        ("The rate went from 80% to 85%, up 8 points.", "error"),
    ],
)
def test_what_may_be_right_in_another_reading_is_a_warning(text, level):
    """A rest that is not named, a bare count and points within rounding are warnings."""
    assert [one.level for one in audit(text, "any.md").findings] == [level]


@pytest.mark.parametrize("mark", ["~~{}~~", "<del>{}</del>", "**~~{}~~**", "~~a {} b~~"])
def test_what_is_struck_out_is_no_longer_said(mark):
    """Numbers that are struck out stand in no relation."""
    wrong = "3 of 10 slots (40%)"
    assert [one.code for one in audit(f"It took {wrong}.", "any.md").findings] == ["share"]
    assert audit(f"It took {mark.format(wrong)}.", "any.md").findings == []
