"""Quantities printed in every supported form are read back; a wider set of cases; nothing hangs or crashes."""

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from campaign.notes.numbers import Token, find
from campaign.notes.reader import read

CASES = json.loads((Path(__file__).parent / "data" / "numbers-adversarial.json").read_text(encoding="utf-8"))


def counted(markdown: str, decimal_comma: bool = False) -> list[Token]:
    tokens = find(markdown, decimal_comma=decimal_comma)
    return [token for token in tokens if token.role in ("number", "word")]


def close(got: Decimal | Fraction | None, want: str) -> bool:
    """Equal, or for a fraction without an end, equal in the digits that the case gives."""
    return got is not None and abs(Fraction(got) - Fraction(want)) < Fraction(1, 10**15)


# The wider set of cases, in the schema of numbers-cases.json


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case_has_these_numbers(case):
    """Text, value, unit and kind of every number of a case, in order, and no number where there is none."""
    got, want = counted(case["text"]), case["numbers"]
    assert [(token.text, token.unit, token.kind) for token in got] == [
        (number["text"], number["unit"], number["kind"]) for number in want
    ]
    assert all(close(token.value, number["value"]) for token, number in zip(got, want, strict=True))


def test_cases_have_an_id_each():
    assert len({case["id"] for case in CASES}) == len(CASES) >= 150


# Any quantity in any form


@dataclass(frozen=True)
class Printed:
    """A quantity as it stands in Markdown, and what a reader sees of it."""

    markdown: str
    seen: str
    value: Decimal
    unit: str | None
    """None also for a quantity that is printed without its unit."""
    noun: str = ""
    power: int = 0
    """The n of a × 10^n, which multiplies the low end of a range as well."""


SIGNS = {"": 1, "-": -1, "−": -1, "&minus;": -1, "+": 1}
GROUPS = ["", ",", "\u2009", "\u202f", "\u00a0", "\u2007", "'", "’", "_"]
EXPONENTS = {
    "": (0, ""),
    "e-3": (-3, "e-3"),
    "E+5": (5, "E+5"),
    " × 10^4": (4, " × 10^4"),
    "×10⁻³": (-3, "×10⁻³"),
    " &times; 10<sup>−2</sup>": (-2, " × 10^−2"),
    "·10^{6}": (6, "·10^{6}"),
}
UNITS = {
    "": None,
    " ms": "ms",
    "ms": "ms",
    "\u00a0ms": "ms",
    "%": "%",
    " %": "%",
    " percent": "%",
    "×": "×",
    "&times;": "×",
    " GB/s": "GB/s",
    " tok/s": "tok/s",
    " µs/call": "µs/call",
    " m/s²": "m/s²",
    " W·h": "W·h",
    " points": "pp",
    " bps": "bps",
    " °C": "°C",
}
NOUNS = ["", " rows", " verify steps", " tokens/s"]


@st.composite
def quantities(draw: Callable, signs: Sequence[str] = tuple(SIGNS), unit: bool = True) -> Printed:
    """Any quantity: sign, groups, decimals, exponent, unit or counted noun."""
    sign, group = draw(st.sampled_from(signs)), draw(st.sampled_from(GROUPS))
    whole = draw(st.integers(0, 9_999_999) | st.integers(0, 99))
    decimals = draw(st.from_regex(r"(\.[0-9]{1,4})?", fullmatch=True))
    digits = f"{whole:,}".replace(",", group) + decimals
    exponent = draw(st.sampled_from(list(EXPONENTS))) if unit else ""
    after = draw(st.sampled_from(list(UNITS))) if unit else ""
    noun = draw(st.sampled_from(NOUNS)) if unit and not after else ""
    seen = sign.replace("&minus;", "−") + digits + EXPONENTS[exponent][1] + after.replace("&times;", "×")
    value = SIGNS[sign] * Decimal(f"{whole}{decimals}").scaleb(EXPONENTS[exponent][0])
    said = UNITS[after] or noun.strip() or None
    power = EXPONENTS[exponent][0] if "10" in exponent else 0
    return Printed(f"{sign}{digits}{exponent}{after}", seen, value, said, noun, power)


FRAMES = [
    "took {} here",
    "({}) it is",
    "about ~{}, then",
    "is ≤ {}.",
    "so (&ge; {})",
    "{}",
    "**{}** so",
    "“{}”",
    "= {};",
]
PLACES = [
    "{}",
    "- {}",
    "1. {}",
    "> {}",
    "a line\nand {}",
    "| a | b |\n|--|--|\n| x | {} |",
    "## It {}",
    "x[^n]\n\n[^n]: {}",
    "[{}](https://x.org/7 'eight 8')",
    "![{}](fig-3.png)",
    "<table><tr><td>{}</td></tr></table>",
    "<details>\n<summary>{}</summary>\n</details>",
    "---\nn: 12\n---\n\n{}",
    "text <!-- 0.999 --> {}\n\n```\nx = 42\n```",
]


def split(markdown: str) -> str:
    """The same with an emphasis around one of its digits, where three stand together."""
    return re.sub(r"(?<=\d)(\d)(?=\d)", r"**\1**", markdown, count=1)


@settings(max_examples=300, deadline=None)
@given(quantities(), st.sampled_from(FRAMES), st.sampled_from(PLACES), st.booleans())
def test_any_quantity_is_read_back(quantity, frame, place, emphasis):
    """Value, unit and text are those that were printed, wherever the quantity stands."""
    raw = "<" in place[:1] or "![" in place  # no emphasis in raw HTML
    body = split(quantity.markdown) if emphasis and not raw else quantity.markdown
    if raw:
        frame = frame.replace("**", "")
    markdown = place.format(frame.format(body + quantity.noun))
    (token,) = counted(markdown)
    assert (token.text, token.value, token.unit) == (quantity.seen, quantity.value, quantity.unit)


RANGES = ["{}–{}", "{} to {}", "between {} and {}", "{} – {}", "{}…{}", "{}&ndash;{}"]


@settings(max_examples=150, deadline=None)
@given(
    quantities(["", "-", "−"], unit=False),
    quantities(["", "−"]),
    st.sampled_from(RANGES),
    st.sampled_from(PLACES),
)
def test_any_range_is_read_back(low, high, form, place):
    """Both ends have their values; the low end has the unit of the high end, and its × 10^n where it stays below."""
    scaled = low.value.scaleb(high.power)
    begin = scaled if high.value and scaled < high.value else low.value
    between = form.format(low.markdown, high.markdown + high.noun)
    tokens = counted(place.format(f"it took {between} here"))
    assert [(token.value, token.unit) for token in tokens] == [(begin, high.unit), (high.value, high.unit)]
    assert [token.kind for token in tokens] == ["range-low", "range-high"]


@settings(max_examples=150, deadline=None)
@given(quantities(["", "−"], unit=False), quantities(["", "−"], unit=False), st.sampled_from(PLACES))
def test_any_interval_is_read_back(low, high, place):
    """Two ends in square brackets are a range."""
    assume(low.value < high.value)
    tokens = counted(place.format(f"is 7 [{low.markdown}, {high.markdown}] here"))
    assert [(token.text, token.value) for token in tokens[1:]] == [(end.seen, end.value) for end in (low, high)]
    assert [token.kind for token in tokens[1:]] == ["range-low", "range-high"]


@settings(max_examples=150, deadline=None)
@given(quantities(["", "−"]), quantities([""]), st.sampled_from(["{} ± {}", "{} +/- {}", "{}&plusmn;{}"]))
def test_any_plus_minus_is_read_back(value, error, form):
    """A value and what it may be off by are two numbers."""
    assume(value.unit != "×" and not value.noun)
    first, second = counted("it is " + form.format(value.markdown, error.markdown + error.noun))
    assert (first.value, second.value, second.kind) == (value.value, error.value, "plus-minus")
    assert second.unit == error.unit


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59), st.sampled_from(["", " "]), st.booleans())
def test_any_duration_is_read_back(hours, minutes, seconds, gap, words):
    """Hours, minutes and seconds together are one duration in seconds."""
    if words:
        text = f"{hours} hours, {minutes} minutes and {seconds} seconds"
    else:
        text = f"{hours}h{gap}{minutes}m{gap}{seconds}s"
    (token,) = counted(f"it took {text} in all")
    assert (token.text, token.value, token.unit) == (text, hours * 3600 + minutes * 60 + seconds, "s")


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.from_regex(r"(,[0-9]{1,4})?", fullmatch=True), st.sampled_from(["", ".", "\u202f"]))
def test_decimal_comma_is_read_where_it_is_declared(whole, decimals, group):
    """The comma is the decimal mark, points part groups."""
    text = f"{whole:,}".replace(",", group) + decimals
    (token,) = counted(f"dauert {text} ms im Mittel", decimal_comma=True)
    assert (token.text, token.value) == (f"{text} ms", Decimal(f"{whole}{decimals.replace(',', '.')}"))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("3,14 und 1.234,5", ["3.14", "1234.5"]),
        ("0,30 bis 0,5 %", ["0.30", "0.5"]),
        ("1.234 Zeilen, 12", ["1234", "12"]),
        ("| a |\n|--|\n| 1.234 |", ["1234"]),
        ("Python 3.12, am 7.11.2026, 0.5", ["0.5"]),
    ],
)
def test_decimal_comma(text, values):
    assert [token.value for token in counted(text, decimal_comma=True)] == [Decimal(value) for value in values]


def test_undeclared_decimal_comma_is_none():
    """A comma that was not declared parts two numbers or groups of three digits, nothing else."""
    assert [token.value for token in counted("3,14 and 1,234")] == [3, 14, 1234]


# Numbers in words

ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ONES += [f"{stem}teen" for stem in ("thir", "four", "fif", "six", "seven", "eigh", "nine")]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def in_words(number: int, joint: str = " and ") -> str:
    """The number in English words."""
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    rest = number % size
    said = f"{in_words(number // size, joint)} {name}"
    return f"{said}{joint if rest < 100 else ' '}{in_words(rest, joint)}" if rest else said


def test_every_number_to_ten_thousand_is_read_in_words():
    markdown = "\n\n".join(f"exactly {in_words(number)} rows" for number in range(10_000))
    tokens = counted(markdown)
    assert [token.value for token in tokens] == list(range(10_000))
    assert all(token.unit == "rows" for token in tokens[2:])


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 999_999), st.sampled_from([" and ", " "]), st.booleans())
def test_any_number_to_a_million_is_read_in_words(number, joint, capital):
    """The words are one token with the value of the number."""
    said = in_words(number, joint)
    said = said.capitalize() if capital else said
    (token,) = counted(f"{said} rows")
    assert (token.text, token.value, token.unit) == (said, number, "rows")


def ordinal(number: int) -> str:
    """The ordinal in words."""
    said = in_words(number)
    head, last = said[: -len(re.split("[- ]", said)[-1])], re.split("[- ]", said)[-1]
    odd = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}
    odd |= {"twelve": "twelfth"}
    return head + odd.get(last, last[:-1] + "ieth" if last.endswith("y") else last + "th")


def test_every_ordinal_to_a_hundred_and_ninety_nine_is_read_in_words():
    numbers = [number for number in range(2, 200) if number != 100]
    tokens = counted("\n\n".join(f"the {ordinal(number)} run" for number in numbers))
    assert [(token.value, token.kind) for token in tokens] == [(number, "ordinal") for number in numbers]


def test_every_ordinal_to_a_thousand_is_read_in_digits():
    ends = {1: "st", 2: "nd", 3: "rd"}
    numbers = range(1, 1000)
    said = [f"{n}{'th' if n % 100 in (11, 12, 13) else ends.get(n % 10, 'th')}" for n in numbers]
    tokens = counted("\n\n".join(f"the {one} run" for one in said))
    assert [(token.text, token.value, token.kind) for token in tokens] == [
        (one, n, "ordinal") for one, n in zip(said, numbers, strict=True)
    ]


PARTS = {3: "third", 4: "quarter", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth", 9: "ninth", 10: "tenth"}


@pytest.mark.parametrize("joint", ["-", " "])
def test_every_fraction_is_read_in_words(joint):
    fractions = [(upper, lower) for lower in PARTS for upper in range(1, lower)]
    said = [f"{ONES[upper]}{joint}{PARTS[lower]}{'s' if upper > 1 else ''}" for upper, lower in fractions]
    tokens = counted("\n\n".join(f"about {one} of it" for one in said))
    assert [(token.text, Fraction(token.value or 0)) for token in tokens] == [
        (one, Fraction(*pair)) for one, pair in zip(said, fractions, strict=True)
    ]


# Front matter


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "markdown", ["---\nweight: 1\nn: 2\n---\n\n3 rows", "+++\nn = 1\n+++\n3 rows", "---\na: 1\n...\n3"]
)
def test_settings_in_front_matter_are_not_read(markdown, newline):
    """Most values at the top of a file are shown to no reader; what follows keeps its place."""
    markdown = markdown.replace("\n", newline)
    (token,) = counted(markdown)
    assert markdown[token.start : token.end] == token.text == "3"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "head",
    [
        '---\nn: 12\ntitle: "It is 3x faster"\n---\n',
        "---\ndescription: 3x faster # in 4 of 5 runs\n---\n",
        "---\nsummary: >-\n  It is\n  3x faster\ndate: 2026-11-07\n---\n",
        "+++\nweight = 4\ntitle = '3x faster'\n+++\n",
    ],
)
def test_title_and_summary_in_front_matter_are_read(head, newline):
    """They are shown above a post, so their numbers are read at their place."""
    markdown = (head + "\n7 rows\n").replace("\n", newline)
    tokens = counted(markdown)
    assert [(token.text, token.value) for token in tokens] == [("3x", 3), ("7", 7)]
    assert [markdown[token.start : token.end] for token in tokens] == ["3x", "7"]


@pytest.mark.parametrize(
    "markdown", ["---\n\n1\n\n---\n\n2", "---\n1 and more\n---\n2", "1\n\n---\nn: 2\n---\n", "---\na: 1\n2"]
)
def test_a_rule_opens_no_front_matter(markdown):
    assert [token.value for token in counted(markdown)] == [1, 2]


# Any bytes

SNIPPETS = [case["text"] for case in CASES]
NASTY = [
    *("1", "1,", "1.", "1-", "(", "[", "*", "|", "&", "`", "> ", "- ", "a1", "1a", "1x", "1/", "10^", "1e9", "1:"),
    *("1 h ", "1m", "one ", "one hundred ", "second ", "third, ", "all ", "a-a-", "1 a-", "#1", "a#", "a/1", "/a1"),
    *("http://a)", "$1", "1$", "![", "[^1]", "[^1]: ", "<a ", "<!--", "&#49;", "~~", "**1", "__", "\\", "1,1,1,"),
    *("1 1/2 ", "1/2 of ", "1 in ", "[1] ", "\u202f1", "⁻", "10⁶", "1 × ", "x^", "Part 1, ", "Python 3.1, ", "1.x"),
    *("(A, 2020) ", "+49 30 ", "1% ", "from 1 to ", "between 1 and ", "\n> ", "\n- ", "| 1 ", "|1|\n", "<sup>1</sup>"),
    *("{,}", "\\frac{", "\\times10", "---\na: 1\n", "RTX 1 ", "a@", "-fold", "deadbee", "1.1.1.", "twenty-", "ms/"),
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.binary(max_size=20).map(lambda raw: raw.decode(errors="replace"))
        | st.sampled_from(SNIPPETS)
        | st.sampled_from(NASTY),
        max_size=12,
    ).map("".join),
    st.booleans(),
)
def test_any_bytes_are_read_without_overlap(markdown, decimal_comma):
    """Tokens lie inside the text, in order and apart, and each says what stands in its block."""
    blocks = read(markdown)
    tokens = find(markdown, ("SM120", "W01"), decimal_comma=decimal_comma)
    for before, after in pairwise(tokens):
        assert before.end <= after.start
    for token in tokens:
        assert 0 <= token.start <= token.core_start < token.core_end <= token.end <= token.noun_end <= len(markdown)
        assert token.text in blocks[token.block].text
        raw = markdown[token.start : token.end]
        assert raw == token.text or any(mark in raw for mark in "&*<~\\_`[\r\n\u200b\xad\0")


@pytest.mark.parametrize(
    "text", ["{}½", "1 in {}", "Python {}.1, 2.1", "{}.5e9 ms", "v{}", "{}^2", "1:{}", "one in {}", "0x{}"]
)
def test_any_number_of_digits_is_read(text):
    """Five thousand digits, more than int() takes from a text, are no error."""
    assert find(text.format("9" * 5000))


@pytest.mark.parametrize("nasty", [*NASTY, "10^10^", "1e999999", "9^99999 ", "1" * 50 + "e9999 ", "½1"])
def test_twice_the_text_is_twice_the_work(nasty):
    """The calls that reading takes grow with the text, not with its square."""

    def calls(times: int) -> int:
        count = 0

        def seen(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(seen)
        try:
            find(f"{nasty * times} {nasty!r} {times}")  # a text that no other case has: equal blocks are read once
        finally:
            sys.setprofile(None)
        return count

    find(nasty * 50)  # what is made once
    assert calls(200) < 2.5 * calls(100) + 2000
