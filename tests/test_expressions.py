"""Expressions over readings: what they compute, how they compare, and that nothing else can be reached."""

import contextlib
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.served import repeatable

from campaign.analysis.errors import ReadingError
from campaign.analysis.expressions import Undefined, parse

VALUES = {
    "a": 2.0,
    "b": 3.0,
    "zero": 0.0,
    "none": 0,
    "minus": -1.0,
    "drift": 0.13,
    "saving.low.lo": 0.155,
    "row.*": np.array([14.1, 14.2, 14.3]),
    "yardstick.min": 14.28,
    "rs8.n": 4,
    "many.*": np.array([2**40, 2**40]),
    "arm": "rs8",
    "arms.*": np.array(["old", "rs8"]),
    "min": 5.0,
    "nan": math.nan,
    "inf": math.inf,
    "listed.*": [1.0, 2.0],
}


def value(text: str, **more: object) -> object:
    """The expression's value where ids have the values above."""

    def lookup(name: str) -> object:
        known = VALUES | more
        if name not in known:
            raise ReadingError(f"no reading {name}")
        return known[name]

    return parse(text).value(lookup)


def refusal(text: str) -> str:
    with pytest.raises(ReadingError) as refused:
        value(text)
    return str(refused.value)


def undefined(text: str) -> str:
    with pytest.raises(Undefined) as why:
        value(text)
    return str(why.value)


# ---- what they compute


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("2 ** 3 ** 2", 512),
        ("-2 ** 2", -4),
        ("+a - -b", 5),
        ("8 - 4 - 2", 2),
        ("8 / 4 / 2", 1),
        ("2 ** -1", 0.5),
        (".5 + 5. + 1e-1 + 1E+1", 15.6),
        ("1e-5", 0.00001),
        ("a*b-a/b", 6 - 2 / 3),
        ("rs8.n * 2", 8),
        ("sqrt(a * 8)", 4),
        ("abs(minus)", 1),
    ],
)
def test_arithmetic_has_the_usual_precedence(text, expected):
    """Operators bind as they do in print."""
    assert value(text) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b and b < a or True", True),
        ("not a > b and b > a", True),
        ("not (a > b or b > a)", False),
        ("a < b < 4", True),
        ("a < b < 3", False),
        ("1 < 2 > 1", True),
        ("a + 1 == b", True),
        ("a != b", True),
        ("a in [2, 3]", True),
        ("a not in [2, 3]", False),
        ("arm == 'rs8'", True),
        ('arm != "rs8"', False),
        ("arm in ['old', 'rs8']", True),
        ("arm not in ['old']", True),
        ("'a' < 'b'", True),
        ("arm == 'rs'", False),
    ],
)
def test_conditions_are_true_or_false(text, expected):
    """A condition gives Python's own true or false."""
    assert value(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("min(row.*)", 14.1),
        ("max(row.*, 15)", 15),
        ("sum(row.*)", 42.6),
        ("mean(row.*)", 14.2),
        ("median(row.*)", 14.2),
        ("len(row.*)", 3),
        ("len(arms.*)", 2),
        ("count(row.* < yardstick.min)", 2),
        ("count(a < b, b < a, row.* > 14.15)", 3),
        ("all(row.* < yardstick.min)", False),
        ("any(row.* < yardstick.min)", True),
        ("max(row.*) - min(row.*)", 0.2),
        ("count(arms.* == 'rs8')", 1),
        ("sum(listed.*)", 3),
        ("min([3, 1, 2])", 1),
        ("min (a, b)", 2),
    ],
)
def test_functions_take_ids_and_wildcards(text, expected):
    """A wildcard stands for all its values, beside single ones."""
    assert value(text) == pytest.approx(expected)


def test_function_names_can_be_ids():
    """`min` without a bracket is an id like any other."""
    assert value("min + max(min, 1)") == 10


def test_wildcard_times_a_number_is_no_power():
    """`row.* * 2` doubles each value."""
    assert value("sum(row.* * 2)") == pytest.approx(85.2)


def test_wildcard_stays_itself_before_a_digit():
    """A digit behind a wildcard does not make another id of it."""
    assert "not an expression" in refusal("a + b + row.*1")


def test_ids_are_listed_as_written():
    """The ids of an expression are known, each once, wildcards and all; function names and words are not among them."""
    assert parse("max(row.*) < a.lo and a.lo > 1 and x == 'b' or not y in ['c']").ids == ("row.*", "a.lo", "x", "y")


def test_line_breaks_are_spaces():
    """A long expression may be broken into lines."""
    assert value("a\n  + b") == 5


def test_whole_numbers_do_not_overflow():
    """Products of many whole numbers go on where 64 bits end."""
    assert value("sum(many.* * many.*)") == 2.0**81


def test_whole_numbers_stay_whole():
    """Small powers and products of whole numbers are whole."""
    found = value("2 ** 10 * none + 2 ** 10")
    assert (found, type(found)) == (1024, int)


# ---- comparisons


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("drift > 0.13", False),
        ("abs(-0.13) > 0.13", False),
        ("0.13000000000000003 > 0.13", False),
        ("0.130000001 > 0.13", True),
        ("0.15499999999999997 >= saving.low.lo", True),
        ("saving.low.lo >= 0.155", True),
        ("0.154999999 >= 0.155", False),
        ("0.1 + 0.2 == 0.3", True),
        ("0.1 + 0.2 in [0.3]", True),
        ("0.1 + 0.2 != 0.3", False),
        ("0.31 * 0.5 >= 0.155", True),
        ("4e-10 > 0", False),
        ("1e-9 > 0", True),
        ("-4e-10 < 0", False),
        ("1e300 < 2e300", True),
        ("100000000.1 < 100000000.2", True),
    ],
)
def test_comparisons_are_of_values_rounded_to_1e_9(text, expected):
    """What differs by less than 1e-9 of its unit is equal, however the float came about."""
    assert value(text) is expected


@repeatable
@given(st.floats(-1e5, 1e5), st.integers(-3, 3))
def test_dust_decides_no_threshold(bar, steps):
    """A value within a few last bits of a threshold of nine decimals is at the threshold."""
    bar = round(bar, 6)
    near = bar + steps * math.ulp(bar)
    assert value("x >= y and x <= y and not x > y", x=near, y=bar) is True


@pytest.mark.parametrize("text", ["arm == 3", "a == 'rs8'", "a < 'b'", "row.* > arms.*", "a in ['x']", "1 in 'a'"])
def test_texts_are_not_compared_with_numbers(text):
    """A comparison of a text with a number is refused: it would be false for every record, and nobody would see it."""
    assert "it compares a number with a text" in refusal(text)


def test_list_does_not_mix_texts_and_numbers():
    """A list of texts and numbers is refused."""
    assert "a list mixes numbers and texts" in refusal("a in [2, 'x']")


# ---- what has no value


@pytest.mark.parametrize("text", ["a / zero", "a / none", "1 / 0", "zero / zero", "row.* / zero", "none ** minus"])
def test_division_by_zero_has_no_value(text):
    """A division by zero is undefined, and says so: it is no infinity and no NaN."""
    assert undefined(text) == f"a division by zero in {text}"


@pytest.mark.parametrize("text", ["sqrt(minus)", "minus ** 0.5", "sqrt(row.* - 14.2)"])
def test_roots_of_negative_numbers_have_no_value(text):
    """There are no complex readings."""
    assert "of a negative number" in undefined(text)


@pytest.mark.parametrize(
    "text", ["9 ** 9 ** 9", "10 ** 10 ** 8", "9.5 ** 999", "1e308 * 10", "-1e308 * 10", "1e308 + 1e308"]
)
def test_too_large_numbers_have_no_value(text):
    """A huge power is refused at once, and a sum that overflows is no infinity."""
    begun = time.monotonic()
    assert undefined(text) == f"a number too large in {text}"
    assert time.monotonic() - begun < 1


@pytest.mark.parametrize(
    "text", ["nan", "inf", "nan > 1", "not nan > 1", "max(nan, 1)", "a + nan", "inf - inf", "all(nan > 1, a > 1)"]
)
def test_value_that_is_no_number_goes_nowhere(text):
    """NaN compares with nothing, so a condition that reads it is undefined and not false."""
    assert "no number" in undefined(text)


@pytest.mark.parametrize("text", ["max([])", "all([])", "mean([])"])
def test_nothing_has_no_value(text):
    """The greatest of nothing is undefined, and nothing is not all true."""
    assert undefined(text) == "nothing to compute it from"


def test_undefined_operand_makes_all_undefined():
    """An unresolved id leaves the whole expression without a value, even beside something that is true."""

    def lookup(name: str) -> object:
        raise Undefined(f"{name} is not resolved: too few rows")

    with pytest.raises(Undefined, match="saving is not resolved: too few rows"):
        parse("1 < 2 or saving > 0").value(lookup)


# ---- what is refused


PYTHON = r"""
a ==   ¦ a b    ¦ 3 a      ¦ (a      ¦ a)       ¦ a; b   ¦ a = 3   ¦ a := 3 ¦ (a := 3)   ¦ lambda: 1 ¦ lambda x: x
a if b else 1   ¦ [x for x in [1]]   ¦ {x for x in [1]}  ¦ (x for x in [1]) ¦ {1: 2}     ¦ {1}       ¦ f'{a}'
b'x'   ¦ a[0]   ¦ a[0:1]   ¦ *a      ¦ min(*row.*)       ¦ min(**a)         ¦ min(a=1)   ¦ await a   ¦ yield 1
...    ¦ 1j     ¦ 0x10     ¦ 0b1     ¦ 1_0      ¦ 1.5.2  ¦ 2e3x    ¦ 1e400  ¦ ０         ¦ ａ        ¦ 1 // 2
5 % 2  ¦ a @ b  ¦ a & b    ¦ a | b   ¦ a ^ b    ¦ ~a     ¦ a << 2  ¦ a >> 1 ¦ a is b     ¦ a <> b    ¦ `a`
a $ b  ¦ a # b  ¦ a \ b    ¦ 'it\'s' ¦ 'open    ¦ x.     ¦ x..y    ¦ .x     ¦ a, b       ¦ [a]       ¦ ()
[1] + [2]       ¦ [] == [] ¦ not [1] ¦ del a    ¦ import os        ¦ a -> b ¦ print a    ¦ a?b       ¦ !a
"""
"""What Python or another language knows and an expression does not."""
ATTEMPTS = """
().__class__ ¦ (1).__class__ ¦ 'a'.upper() ¦ [].append(1) ¦ min.__self__ ¦ a.__class__ ¦ row.*.mean ¦ a.b ¦ open('x')
__import__('os') ¦ eval('1') ¦ exec('1') ¦ getattr(a, 'b') ¦ print(1) ¦ a.__class__() ¦ __builtins__ ¦ lookup ¦ np
_id0 ¦ _id1 + a ¦ min(min)(1) ¦ (min)(1)(2) ¦ min.__call__(1) ¦ None
"""
"""Attempts to reach something that is no reading."""


def pieces(text: str) -> list[str]:
    return [piece.strip() for line in text.strip().splitlines() for piece in line.split("¦")]


@pytest.mark.parametrize("text", ["", " ", "9" * 400, *pieces(PYTHON)])
def test_rest_of_python_is_refused(text):
    """Whatever is not arithmetic, a comparison, a condition or a known function is refused, with the expression."""
    said = refusal(text)
    assert said.startswith("expression ") and said.endswith("Correct it.") and "; expected " in said


@pytest.mark.parametrize("text", pieces(ATTEMPTS))
def test_nothing_but_readings_can_be_reached(text):
    """Attributes, imports, builtins and the evaluator's own names lead to no value: the lookup is asked for each."""
    with pytest.raises(ReadingError):
        value(text)


def test_unknown_function_is_told_with_the_nearest():
    """A misspelt function is refused by its own name."""
    assert "unknown function medain; expected one of min, max" in refusal("medain(row.*)")
    assert "Did you mean median?" in refusal("medain(row.*)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("min()", "min takes at least one value, not 0"),
        ("abs(a, b)", "abs takes one value, not 2"),
        ("sqrt()", "sqrt takes one value, not 0"),
    ],
)
def test_number_of_arguments_is_checked(text, said):
    """A function is given what it takes."""
    assert said in refusal(text)


@pytest.mark.parametrize(
    "text",
    ["arm + 1", "arm * 3", "'x' * 10 ** 9", "'a' + 'b'", "-arm", "not arm", "arm and a", "abs(arm)", "max(arm, 'a')"],
)
def test_texts_are_not_computed_with(text):
    """Arithmetic and functions take numbers alone."""
    assert "it computes with the text" in refusal(text)


def test_sums_of_different_lengths_are_refused():
    """Two wildcards with different numbers of values are not added."""
    assert "expected numbers with numbers" in refusal("row.* + many.*")


@pytest.mark.parametrize(
    "text", ["(" * 500 + "1" + ")" * 500, "-" * 1500 + "1", "+".join("1" * 5000), "+".join("1" * 990)]
)
def test_monstrous_expressions_are_refused(text):
    """Nesting and length have an end, and the message does not print all of it."""
    assert len(refusal(text)) < 600


def test_condition_is_true_or_false():
    """What is used as a condition has to be one: a number, a text or many values are refused."""
    lookup = VALUES.__getitem__
    assert parse("a < b").truth(lookup) is True
    for text in ("a", "arm", "row.* > 1", "count(a > 1)"):
        with pytest.raises(ReadingError, match="expected a condition, true or false"):
            parse(text).truth(lookup)


@repeatable
@given(st.text(alphabet="ab.*()[]'\" +-/<>=!,_0123456789eEandortin\n#\\é", max_size=25))
def test_any_text_is_computed_undefined_or_refused(text):
    """No text makes the evaluator fail in another way."""
    with contextlib.suppress(ReadingError, Undefined):
        value(text)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("a > 0.3", ("0.3",)),
        ("a > 2 * b or a == 0.3", ("2", "0.3")),
        ("-7 < a and a != 7", ("7",)),
        ("a in [3, 'rs8']", ("3",)),
        ("a * 10 > b / 0.1", ("10", "0.1")),
        ("a > 0 and b == 1 and a ** 2 > b", ()),
        ("100 * a / b > 1e3 * a", ()),
        ("arm == 'rs8' and True", ()),
    ],
)
def test_numbers_that_come_from_nothing_are_told(text, numbers):
    """0, 1, exponents and factors between units are no such numbers; those of a list and after a minus are."""
    assert parse(text).typed_numbers() == numbers


def test_a_node_is_written_and_computed_as_it_stands():
    """A piece of an expression has its ids back, and a value of its own."""
    found = parse("all(row.* > yardstick.min) or a + min == 7")
    whole = found.tree.values[1]
    assert found.written(whole) == "a + min == 7"
    assert found.at(whole, VALUES.__getitem__) is True
    assert found.at(whole.left, VALUES.__getitem__) == 7.0
    assert found.ids_of(found.tree) == ("row.*", "yardstick.min", "a", "min")
    assert found.id_of(whole.left.left) == "a" and found.id_of(whole) == ""
