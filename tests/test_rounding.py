"""The rounding audit: what was computed and printed always follows; what a reader cannot derive is named."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.served import repeatable

from campaign.analysis.expressions import Undefined, parse
from campaign.analysis.readings import Reading, Readings
from campaign.analysis.rounding import Audit, Printed, audit, audit_readings, rule_that_fits
from campaign.notes.quote import format_value, print_reading


def check(expression: str, printed: str, **operands: str) -> Audit:
    """The audit of `printed` as `out`; operands whose text ends in ! are counts."""
    read = {name: Printed.read(text.rstrip("!"), exact=text.endswith("!")) for name, text in operands.items()}
    return audit("out", parse(expression), Printed.read(printed), read)


# ---- printed numbers


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("0.428", Fraction(428, 1000), Fraction(1, 2000)),
        ("−1,234", Fraction(-1234), Fraction(1, 2)),
        ("-0.5", Fraction(-1, 2), Fraction(1, 20)),
        ("+2.0", Fraction(2), Fraction(1, 20)),
        ("43%", Fraction(43, 100), Fraction(1, 200)),
        ("2.5%", Fraction(25, 1000), Fraction(1, 2000)),
    ],
)
def test_a_printed_number_stands_for_half_a_unit_to_either_side(text, value, half):
    found = Printed.read(text)
    assert (found.value, found.half) == (value, half)


def test_a_count_stands_for_itself():
    assert Printed.read("12", exact=True).half == 0


@pytest.mark.parametrize("text", ["not resolved", "four", "", "1.2.3", "6 November 2026"])
def test_what_is_no_number_is_not_read(text):
    assert Printed.read(text) is None


@repeatable
@given(
    st.decimals(-10_000, 10_000, places=4, allow_nan=False),
    st.sampled_from([".3f", "+.2f", ",.1f", ".0f", ".1%", "+.0%"]),
)
def test_numbers_are_printed_as_a_note_prints_them(value, fmt):
    """Half away from zero, the minus of the note, no negative zero."""
    text = format_value(float(value), fmt, "here")
    # only the printed text says how: 1,000 has a comma, 999 cannot show one
    assert Printed.read(text).alike(Fraction(repr(float(value)))) == text


# ---- the three verdicts


def test_what_the_printed_operands_give_agrees():
    found = check("a - b", "0.427", a="0.582", b="0.155")
    assert (found.verdict, found.from_printed, found.text) == ("agrees", "0.427", "")


def test_a_last_digit_that_a_reader_would_not_get_is_named():
    """0.428 against 0.427, with the operands and what a reader gets."""
    found = check("a - b", "0.428", a="0.582", b="0.155")
    assert found.verdict == "differs by rounding"
    assert found.text == "out: printed 0.428; from the printed a = 0.582, b = 0.155 a reader gets 0.427"
    assert found.operands == (("a", "0.582"), ("b", "0.155"))


def test_a_number_that_no_rounding_explains_cannot_follow():
    found = check("a - b", "0.430", a="0.582", b="0.155")
    assert found.verdict == "cannot follow"
    assert "0.430 cannot come from the printed a = 0.582, b = 0.155" in found.text


def test_counts_leave_nothing_to_rounding():
    """1/3 is 33%, whatever the last digit of a count."""
    assert check("a / b", "34%", a="1!", b="3!").verdict == "cannot follow"
    assert check("a / b", "34%", a="1", b="3").verdict == "differs by rounding"


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("a > b", "it compares"),
        ("a > 1 and b > 1", "it compares"),
        ("count(a, b)", "count is no arithmetic"),
        ("all(a, b)", "all is no arithmetic"),
        ("a / (b - 0.2)", "divides by what may be zero"),
        ("sqrt(0 - a)", "square root of a negative number"),
        ("(b - 0.2) ** 0.5", "broken power"),
        ("a ** 200.5", "a power too large"),
        ("a * 'x'", "'x' is no number"),
    ],
)
def test_what_is_no_arithmetic_is_not_auditable(expression, why):
    found = check(expression, "1.0", a="2.0", b="0.2")
    assert found.verdict == "not auditable" and why in found.text and found.from_printed == ""


@pytest.mark.parametrize(
    ("expression", "gives"),
    [
        ("-a + +b", "−1.00"),
        ("a * b - 3", "−1.00"),
        ("a ** 2", "4.00"),
        ("a ** -1", "0.50"),
        ("a ** 0.5", "1.41"),
        ("a ** b", "2.00"),
        ("sqrt(a * 2)", "2.00"),
        ("sqrt(a)", "1.41"),
        ("abs(b - a)", "1.00"),
        ("min(a, b, 7)", "1.00"),
        ("max(a, b)", "2.00"),
        ("sum(a, b)", "3.00"),
        ("mean(a, b)", "1.50"),
        ("median(a, b, 5)", "2.00"),
        ("len(a, b)", "2.00"),
    ],
)
def test_every_operation_of_arithmetic_is_known(expression, gives):
    found = check(expression, gives, a="2.00", b="1.00")
    assert (found.verdict, found.from_printed) == ("agrees", gives)


def test_patterns_stand_for_every_operand_that_fits():
    operands = {f"row.{n}": Printed.read(text) for n, text in enumerate(["1.0", "2.0", "4.0"])}
    one = audit("out", parse("max(abs(row.* - mean(row.*)))"), Printed.read("1.7"), operands)
    assert (one.verdict, one.from_printed) == ("agrees", "1.7")


# ---- no false alarm

EXPRESSIONS = [
    *("a - b", "a + b * c", "a / c", "(a - b) / c", "100 * (1 - b / c)", "a ** 2 - b", "abs(a - b)", "sqrt(abs(a))"),
    *("max(a, b) - min(a, c)", "mean(a, b, c)", "a * a - a", "c ** 0.5", "c ** (a / 1000)", "median(a, b, c) / c"),
]
PLACES = st.integers(0, 4)


@repeatable
@given(
    st.sampled_from(EXPRESSIONS),
    st.lists(st.floats(-100, 100), min_size=2, max_size=2),
    st.floats(1, 100),
    st.lists(PLACES, min_size=4, max_size=4),
)
def test_what_was_computed_and_then_printed_always_follows(expression, values, above_zero, places):
    """Whatever the operands and the digits: an error is never false."""
    values = dict(zip("abc", [*values, above_zero], strict=True))
    try:
        out = parse(expression).value(values.__getitem__)
    except Undefined:
        return
    operands = {
        name: Printed.read(format_value(value, f".{digits}f", name))
        for (name, value), digits in zip(values.items(), places, strict=False)
    }
    printed = Printed.read(format_value(out, f".{places[3]}f", "out"))
    assert audit("out", parse(expression), printed, operands).verdict != "cannot follow"


# ---- a part's readings


def readings(*every: Reading) -> Readings:
    return Readings({reading.id: reading for reading in every}, "here")


SEEN = Reading("seen", 0.58249, print=".3f", aspects={"lo": 0.15451, "n": 6}, formula="row mean of a − row mean of b")
LEFT = Reading(
    "left", 0.42798, print=".3f", formula="seen - seen.lo", operands=(("seen", 0.58249), ("seen.lo", 0.15451))
)


def test_readings_computed_from_readings_are_audited_with_the_note_s_own_print():
    """Interval ends are operands of their own; a formula in words has no audit."""
    (found,) = audit_readings(readings(SEEN, LEFT), print_reading)
    assert found.id == "left" and found.verdict == "differs by rounding"
    assert found.text == "left: printed 0.428; from the printed seen = 0.582, seen.lo = 0.155 a reader gets 0.427"


def test_whole_numbers_are_exact_in_digits_and_in_words():
    tasks = Reading("tasks", 6, print="word")
    draws = Reading("draws", 7.0, print=",d")
    every = Reading("every", 42, print="d", formula="tasks * draws", operands=(("tasks", 6), ("draws", 7.0)))
    wrong = replace(every, id="wrong", value=43)
    found = audit_readings(readings(tasks, draws, every, wrong), print_reading)
    assert [one.verdict for one in found] == ["agrees", "cannot follow"]
    assert found[0].operands == (("tasks", "six"), ("draws", "7"))


@pytest.mark.parametrize("change", [{"value": None, "reason": "rows are missing"}, {"print": ""}])
def test_an_operand_that_is_not_printed_leaves_the_audit_open(change):
    (found,) = audit_readings(readings(replace(SEEN, **change), LEFT), print_reading)
    assert found.verdict == "not auditable"
    assert "seen" in found.text and "not printed as a number" in found.text


def test_a_reading_that_the_text_does_not_print_is_not_audited():
    """The caller says what is printed."""
    (found,) = audit_readings(readings(SEEN, LEFT), lambda one: None if one.id == "left" else print_reading(one))
    assert found.verdict == "not auditable" and "left is not printed" in found.text


def test_words_and_conditions_are_no_audit():
    word = Reading("word", "carries", formula="seen > 0", operands=(("seen", 0.58249),))
    missing = Reading("gone", None, formula="seen - 1", reason="rows are missing", operands=(("seen", 0.58249),))
    assert audit_readings(readings(SEEN, word, missing), print_reading) == ()


# ---- which rule of rounding fits


@pytest.mark.parametrize(
    ("expression", "printed", "operands", "rule"),
    [
        ("a / b", "0.13", {"a": "1", "b": "8"}, "half up"),  # 0.125
        ("a / b", "0.12", {"a": "1", "b": "8"}, "half even"),
        ("a / b", "0.66", {"a": "2", "b": "3"}, "truncation"),
        ("a / b", "0.67", {"a": "2", "b": "3"}, "half up"),
        ("a / b", "0.68", {"a": "2", "b": "3"}, "from the unrounded values"),
        ("a - b", "−0.021", {"a": "0.066", "b": "0.086"}, "from the unrounded values"),
        ("a / b", "2.13%", {"a": "17", "b": "800"}, "half up"),
        ("a / b", "2.12%", {"a": "17", "b": "800"}, "half even"),
        ("count(a > b)", "1", {"a": "2", "b": "1"}, "from the unrounded values"),
    ],
)
def test_the_rule_that_fits_a_printed_number_is_named(expression, printed, operands, rule):
    """Half up before half even before truncation; what no rule gives was computed from more than is printed."""
    read = {name: Printed.read(text, exact=True) for name, text in operands.items()}
    assert rule_that_fits(Printed.read(printed), parse(expression), read) == rule
