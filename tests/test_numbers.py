"""The numbers, number words and comparing words of a published text."""

import json
import re
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.notes.numbers import Token, find
from campaign.notes.reader import read

CASES = json.loads((Path(__file__).parent / "data" / "numbers-cases.json").read_text(encoding="utf-8"))
NAMES = ("SM120", "W01", "DeepSeek-V4.1-Flash-1017", "qa-remote", "RTX PRO 6000", "rs8")


def counted(markdown: str, names: tuple[str, ...] = ()) -> list[Token]:
    return [token for token in find(markdown, names) if token.role in ("number", "word")]


def said(markdown: str, role: str, names: tuple[str, ...] = ()) -> list[str]:
    return [token.text for token in find(markdown, names) if token.role == role]


def values(markdown: str) -> list[Decimal | Fraction | None]:
    return [token.value for token in counted(markdown)]


def units(markdown: str) -> list[str | None]:
    return [token.unit for token in counted(markdown)]


def kinds(markdown: str) -> list[str]:
    return [token.kind for token in counted(markdown)]


def same_value(got: Decimal | Fraction | None, want: str) -> bool:
    """Equal, or for a fraction with no end, equal in the digits that the case gives."""
    if isinstance(got, Fraction):
        return abs(got - Fraction(want)) < Fraction(1, 10**15)
    return got == Decimal(want)


# The cases


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case_has_these_numbers(case):
    """Text, value, unit and kind of every number of a case, in order."""
    got, want = counted(case["text"]), case["numbers"]
    assert [(token.text, token.unit, token.kind) for token in got] == [
        (number["text"], number["unit"], number["kind"]) for number in want
    ]
    assert all(same_value(token.value, number["value"]) for token, number in zip(got, want, strict=True))


@pytest.mark.parametrize("case", [case for case in CASES if case["not_numbers"]], ids=lambda case: case["id"])
def test_case_has_no_number_there(case):
    """No number covers a string that the case calls none, wherever it stands as a whole."""
    tokens = counted(case["text"])
    for string in case["not_numbers"]:
        for place in re.finditer(rf"(?<![\w.]){re.escape(string)}(?!\w|\.\d)", case["text"]):
            covering = [t.text for t in tokens if t.start < place.end() and place.start() < t.end]
            assert covering == []


# Signs


@pytest.mark.parametrize("sign", ["-", "−", "‑", "–", "&minus;", "\\-"])
def test_sign_before_a_number(sign):
    assert values(f"a change of {sign}3.2 ms") == [Decimal("-3.2")]


@pytest.mark.parametrize(
    "text",
    [
        *("5-3", "5–3", "5 – 3", "5−3", "rows 5-3", "x-3", "(a)-3", "W-3", "3%-5%", "pre-3"),
    ],
)
def test_dash_of_a_range_or_a_word_is_no_sign(text):
    assert all(value > 0 for value in values(text))


def test_negative_ends_of_a_range():
    tokens = counted("from −0.4–−0.1 ms and -0.4 to -0.1")
    assert [(str(token.value), token.kind) for token in tokens] == [
        *(("-0.4", "range-low"), ("-0.1", "range-high"), ("-0.4", "range-low"), ("-0.1", "range-high")),
    ]


def test_plus_is_part_of_the_number():
    assert [token.text for token in counted("a gain of +3.2%, 5+3")] == ["+3.2%", "5", "3"]


def test_plus_minus_is_no_sign():
    assert [(token.text, token.kind) for token in counted("±0.02 and +/-3")] == [
        ("0.02", "plus-minus"),
        ("3", "plus-minus"),
    ]


def test_sign_may_stand_before_or_after_the_currency():
    assert [(token.text, str(token.value)) for token in counted("-$3.20 and $-3.20")] == [
        ("-$3.20", "-3.20"),
        ("$-3.20", "-3.20"),
    ]


# Ranges, counts, pairs


def test_between_makes_a_range():
    assert kinds("between 3 and 7 rows") == ["range-low", "range-high"]
    assert units("between 3 and 7 rows") == ["rows", "rows"]


def test_and_alone_makes_no_range():
    assert units("3 and 7 rows") == [None, "rows"]


def test_low_end_takes_the_scale_word_of_the_high_end():
    assert values("1.5–2.0 million tokens") == [Decimal(1_500_000), Decimal(2_000_000)]


def test_low_end_keeps_its_own_unit():
    assert units("5 µs to 3 ms") == ["µs", "ms"]


@pytest.mark.parametrize(
    "text",
    [
        *("48/48", "48 / 48 tasks", "48 of 48", "48 of the 48 tasks", "forty out of 48"),
    ],
)
def test_count_and_total(text):
    assert kinds(text) == ["count-of", "total"]


def test_count_before_a_name_of_hardware_is_no_multiplier():
    assert [(token.text, token.unit) for token in counted("2× RTX 4090, 8×H100, 8xSM120", NAMES)] == [
        ("2", None),
        ("8", None),
        ("8", None),
    ]


def test_sizes_are_numbers_each():
    assert [token.text for token in counted("1024x768 and 3 × 4")] == ["1024", "768", "3", "4"]


# Units and nouns


@pytest.mark.parametrize(
    ("text", "shown", "unit"),
    [
        ("95 % of", "95 %", "%"),
        ("95\u00a0%", "95\u00a0%", "%"),
        ("95 percent of", "95 percent", "%"),
        ("2.1 percentage points", "2.1 percentage points", "pp"),
        ("900 GB/s", "900 GB/s", "GB/s"),
        ("0.31 ms/step", "0.31 ms/step", "ms/step"),
        ("12 tokens/s", "12", "tokens/s"),
        ("a 300 W cap", "300 W", "W"),
        ("300 Watts", "300", "Watts"),
        ("21 °C", "21 °C", "°C"),
        ("12 verify steps", "12", "verify steps"),
        ("4 GPUs", "4", "GPUs"),
        ("12 is", "12", None),
        ("12 failed", "12", None),
        ("0.314 means", "0.314", None),
        ("1 row", "1", "row"),
        ("1 and", "1", None),
        ("1,024-thread blocks", "1,024", "thread"),
        ("a 10-ms window", "10", "ms"),
        ("5 minutes", "5", "minutes"),
        ("3.2 × faster", "3.2 ×", "×"),
        ("100-fold", "100-fold", "×"),
        ("12 in all", "12", None),
        ("5 s.", "5 s", "s"),
        ("US$5", "US$5", "$"),
    ],
)
def test_unit(text, shown, unit):
    assert [(token.text, token.unit) for token in counted(text)] == [(shown, unit)]


def test_noun_ends_where_noun_end_says():
    markdown = "over 12 **verify** steps here"
    (token,) = counted(markdown)
    assert markdown[token.start : token.end] == "12"
    assert markdown[token.end : token.noun_end] == " **verify** steps"


def test_without_a_noun_noun_end_is_end():
    (token,) = counted("it was 0.31 ms then")
    assert token.noun_end == token.end


def test_scale_letters_count_and_byte_units_do_not():
    assert values("65K, 1.5B, 3bn, 16 GB, 2M rows") == [65_000, 1_500_000_000, 3_000_000_000, 16, 2_000_000]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2^20", 1048576),
        ("2**20", 1048576),
        ("10⁻³", Decimal("0.001")),
        ("10<sup>6</sup>", 1000000),
        ("1.5×10⁻³", Decimal("0.0015")),
        ("1.5·10^-3", Decimal("0.0015")),
        ("3E8", 300000000),
        ("0x1F", 31),
        ("1½", Decimal("1.5")),
        ("⅓", Fraction(1, 3)),
        ("1_000_000", 1000000),
        ("1'234", 1234),
        ("12\u202f345.5", Decimal("12345.5")),
        ("1:02:33", 3753),
        ("2 days 3 hours", 183600),
    ],
)
def test_value_of_other_spellings(text, value):
    assert values(f"in all {text}, it was") == [value]


def test_power_too_large_to_print_has_no_value():
    assert values("9^999999") == [None]


def test_comma_and_space_do_not_group():
    assert values("1, 234 and 1,2,3 and 12 345") == [1, 234, 1, 2, 3, 12, 345]


# Structure


@pytest.mark.parametrize(
    "text",
    [
        *("2026-11-07", "2026-11-07T06:11:32Z", "2026-11-07 06:11", "7 November 2026", "7th of November"),
        *("6–7 November 2026",),
        *("November 7, 2026", "Nov 7", "November 2026", "2026/11/07", "05/28/24", "07.11.2026", "2026-11"),
        *("Q3 2026",),
        *("06:11Z", "06:11:32", "05:30 UTC", "9:30 am", "20261107T0611Z", "2026-W45"),
        *("v0.26.0", "0.26.0", "v0.26.0rc1", "2.11.0+cu130", "v2", "580.65.06"),
        *("ec8a1e05e1cb", "sha256:ab12cd34ef", "123e4567-e89b-12d3-a456-426614174000"),
        *("Part 5", "part-5", "Parts 4 and 5", "Figure 2", "Fig. 2", "Tables 1–3", "Section 4.1", "§3.2"),
        *("#123", "PR 415"),
        *("RFC 3339", "ISO 8601", "CVE-2026-1234", "page 12"),
        *("https://example.org/pull/91743?x=1", "data/rows-12.csv", "parts/part-5/plan.toml:12"),
        *("github.com/a/b12",),
    ],
)
def test_structure(text):
    """The whole stretch is one token of structure and no number."""
    tokens = find(f"so ({text}), as")
    assert [(token.role, token.text, token.value) for token in tokens] == [("structure", text, None)]


@pytest.mark.parametrize(
    "text",
    [
        *("Python 3.12", "CUDA 13.0", "version 3", "commit 1234567", "in 2026", "since 2024"),
    ],
)
def test_structure_after_a_word(text):
    assert [(token.role, token.text) for token in find(text)] == [("structure", text.split()[1])]


@pytest.mark.parametrize(
    "text",
    [
        *("in 2026 rows", "at 2026", "in 2,026", "in 2048 of 4096", "in 2026 ms", "ratio 3:1", "12e3"),
        *("Part of 5", "table of 12", "v 3", "torch 13.8", "kernel 0.31", "CUDA 13.0 ms", "Table 12 ms"),
        *("Note 5", "No. 12", "Python 3.7 rows", "May 5%"),
    ],
)
def test_no_structure(text):
    assert said(text, "structure") == []


def test_rows_after_a_reference_are_counted():
    tokens = find("Part 5 and 12 rows")
    assert [(token.role, token.text) for token in tokens] == [("structure", "Part 5"), ("number", "12")]


def test_rows_after_several_references_are_counted():
    tokens = find("Parts 4, 5 and 12 rows")
    assert [(token.role, token.text) for token in tokens] == [("structure", "Parts 4, 5"), ("number", "12")]


def test_footnote_reference_is_structure():
    assert said("0.31 ms[^1]\n\n[^1]: yes", "structure") == ["[^1]"]


def test_exponent_of_a_letter_is_structure():
    assert said("x<sup>2</sup> and O(n^2)", "structure") == ["2", "2"]


def test_number_of_a_heading_is_structure():
    assert [(t.role, t.text) for t in find("## 2.1 Results\n\n## 2.1 ms saved\n\n## 12 rows")] == [
        ("structure", "2.1"),
        ("number", "2.1 ms"),
        ("number", "12"),
    ]


# Names


def test_declared_names():
    markdown = "SM120, W01, DeepSeek-V4.1-Flash-1017, qa-remote and RTX PRO 6000 on `rs8`"
    assert [(token.role, token.text) for token in find(markdown, NAMES)] == [
        ("name", name) for name in ("SM120", "W01", "DeepSeek-V4.1-Flash-1017", "RTX PRO 6000", "rs8")
    ]


def test_longest_declared_name_wins():
    assert said("GPT-5-mini", "name", ("GPT-5", "GPT-5-mini")) == ["GPT-5-mini"]


def test_declared_name_stands_as_a_whole_word():
    assert said("SM1200 and XSM120", "name", NAMES) == []
    assert said("SM1200 and XSM120", "undeclared", NAMES) == ["SM1200", "XSM120"]


def test_declared_name_of_two_words_may_be_wrapped():
    assert said("an RTX PRO\n6000 card", "name", NAMES) == ["RTX PRO 6000"]


@pytest.mark.parametrize(
    "text",
    [
        *("rs9", "SM121", "GPT-5", "3D", "2080Ti", "sm_120", "p99", "int8", "7B-Instruct", "RTX 4090"),
    ],
)
def test_undeclared_names(text):
    assert [(token.role, token.text) for token in find(f"on {text}, it")] == [("undeclared", text)]


@pytest.mark.parametrize(
    "text",
    [
        *("top-8", "pass@6", "sub-8", "k=8", "n>=8", "`max_num_seqs=8`", "`--n 8`", "rank-8", "best-of-8"),
    ],
)
def test_number_after_a_plain_word_is_a_number(text):
    assert values(text)[-1:] in ([Decimal(8)], [Decimal(6)])
    assert said(text, "undeclared") == []


# Words


@pytest.mark.parametrize(
    ("text", "shown", "value"),
    [
        ("four rows", "four", 4),
        ("Twenty-one rows", "Twenty-one", 21),
        ("five thousand two hundred rows", "five thousand two hundred", 5200),
        ("one million and four rows", "one million and four", 1000004),
        ("a hundred and twelve runs", "a hundred and twelve", 112),
        ("half a million rows", "half a million", 500000),
        ("a dozen runs", "a dozen", 12),
        ("two dozen tasks", "two dozen", 24),
        ("two and a half hours", "two and a half", Decimal("2.5")),
        ("zero rows", "zero", 0),
        ("a third of it", "a third", Fraction(1, 3)),
        ("a third less", "a third", Fraction(1, 3)),
        ("a third run", "third", 3),
        ("a quarter of it", "a quarter", Decimal("0.25")),
        ("three quarters of it", "three quarters", Decimal("0.75")),
        ("one in 10 runs", "one in 10", Decimal("0.1")),
        ("the cost halved", "halved", Decimal("0.5")),
        ("tripled since", "tripled", 3),
        ("two-fold", "two-fold", 2),
        ("tenfold", "tenfold", 10),
        ("the second run", "second", 2),
    ],
)
def test_number_word(text, shown, value):
    assert [(token.role, token.text, token.value) for token in counted(text)] == [("word", shown, value)]


@pytest.mark.parametrize(
    "text",
    [
        *("the one that ran", "this one is", "no one knows", "one another", "one can see", "each one"),
        *("a faster one",),
        *("one by one", "one at a time", "one-sided", "two-sided", "one-to-one", "one of the fastest"),
        *("someone", "everyone"),
        *("took a second", "12th-century", "zero-copy", "half-open", "double-check", "dozens"),
        *("Second, it", "behalf", "often"),
    ],
)
def test_no_number_word(text):
    assert said(text, "word") == []


@pytest.mark.parametrize(
    "text",
    [
        *("one block of it", "one in all", "and one after", "one of the rows", "only one", "One row"),
        "one verify step",
    ],
)
def test_one_counts(text):
    assert values(text) == [1]


def test_words_in_code_are_no_numbers_but_digits_are():
    assert [token.text for token in find("`two all 2` rows")] == ["2"]


def test_two_words_that_are_no_number_together():
    tokens = counted("four five-row blocks and six and seven")
    assert [token.text for token in tokens] == ["four", "five", "six", "seven"]


# Comparing words


def test_comparing_words():
    markdown = (
        "All 48 tasks, only faster, the first, none, the same, equal, at least half, under its bar, below 0.1, over 5"
    )
    assert said(markdown, "comparing") == [
        *("All", "only", "faster", "first", "none", "same", "equal", "at least", "under", "below", "over"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("not at all", "see below", "the table above", "under load", "First, it", "at first"),
        *("all-reduce", "no longer", "`all`"),
        *("on average over 12 draws", "first of all", "more-or-less", "no row", "each row", "overall"),
        *("lowering",),
    ],
)
def test_no_comparing_word(text):
    assert said(text, "comparing") == []


# Places


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([case["text"] for case in CASES]), st.sampled_from(["", "> ", "- ", "1. "]))
def test_places_are_those_of_the_source(text, prefix):
    """Where a token stands in the source as it is seen, the source from start to end is its text."""
    markdown = f"A line.\r\n\r\n{prefix}" + text
    for token in find(markdown):
        raw = markdown[token.start : token.end]
        assert raw == token.text or any(mark in raw for mark in "&*<")
        assert token.start <= token.core_start < token.core_end <= token.end <= token.noun_end
        assert markdown.count("\n", 0, token.start) == token.line - 1
        assert token.column == token.start - markdown.rfind("\n", 0, token.start)


@pytest.mark.parametrize(
    ("markdown", "core"),
    [
        ("drift −0.015 ms", "−0.015"),
        ("drift &minus;0.015 ms", "&minus;0.015"),
        ("took 8m30s", "8m30s"),
        ("for $233", "233"),
        ("about 65K tokens", "65"),
        ("0.**42** s", "0.**42"),
        ("1.2 million rows", "1.2"),
        ("the 2nd run", "2"),
        ("6.02 × 10^23", "6.02 × 10^23"),
        ("a 3.2× gain", "3.2"),
        ("**1,024** threads", "1,024"),
        ("Four rows", "Four"),
    ],
)
def test_core_is_what_a_formatter_printed(markdown, core):
    (token,) = counted(markdown)
    assert markdown[token.core_start : token.core_end] == core


def test_line_and_column_count_from_one():
    tokens = find("1 row\r\n\r\n> a 2\r> b 3\n")
    assert [(token.line, token.column) for token in tokens] == [(1, 1), (3, 5), (4, 5)]


def test_block_is_the_index_in_what_is_read():
    markdown = "1 row\n\n| a | b |\n|--|--|\n| 2 | 3 |\n"
    assert [read(markdown)[token.block].text for token in find(markdown)] == ["1 row", "2", "3"]


def test_alternative_text_comes_where_its_image_stands():
    assert [token.text for token in find("1 row ![2 rows](x) 3 rows")] == ["1", "2", "3"]


# Any text

FRAGMENTS = st.sampled_from(
    [
        *"0123456789.,:;-−–+*/^_%$€×x()[]{}<>=~±#&|`\\ \n\u00a0\u2009½⁶",
        *("one ", "two ", "hundred ", "and ", "half ", "a ", "third ", "in ", "of ", "to ", "from "),
        *("between ", "second "),
        *("ms", " rows", "K", "e-3", "1,024", "0.31", "2026-11-07", "06:11", "v1.2.3", "Part 5"),
        *("November ", "h", "m", "s"),
        *("<sup>", "</sup>", "![", "](u)", "[^1]", "\n\n[^1]: ", "SM120", "rs9", "\ufffc", "４", "٣", "²"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=120) | st.lists(FRAGMENTS, max_size=40).map("".join))
def test_any_text_is_read_without_overlap(markdown):
    tokens = find(markdown, NAMES)
    for before, after in pairwise(tokens):
        assert before.start < before.end <= after.start
    for token in tokens:
        assert token.text
        assert token.start <= token.core_start < token.core_end <= token.end <= token.noun_end
        assert token.noun_end <= len(markdown)


@settings(max_examples=300, deadline=None)
@given(st.lists(FRAGMENTS, max_size=40).map("".join))
def test_no_digit_is_left_out(markdown):
    """Every decimal digit that a reader sees belongs to a token."""
    covered = [(token.start, token.end) for token in find(markdown, NAMES)]
    for block in read(markdown):
        for character, place in zip(block.text, block.source, strict=True):
            if character.isdecimal():
                assert any(start <= place < end for start, end in covered), (character, place)


@settings(max_examples=300, deadline=None)
@given(
    st.decimals(min_value=-(10**9), max_value=10**9, places=3) | st.integers(-(10**12), 10**12).map(Decimal),
    st.sampled_from(
        [
            *("{}", "{:,}", "{:+}", "**{}**", "({})", "is {}.", "`{}`", "| a |\n|--|\n| {} |", "= {} ms"),
            *("{}%", "{} rows"),
        ]
    ),
    st.sampled_from(["-", "−", "&minus;"]),
)
def test_printed_number_is_read_back(number, form, minus):
    minus = "−" if "`" in form else minus  # code has no entities
    printed = form.format(number) if "|" in form else form.format(number).replace("-", minus)
    tokens = counted(printed)
    assert [token.value for token in tokens] == [number]


@pytest.mark.parametrize(
    "text",
    [
        *("1,", "1 ", "1.", "-", "one hundred ", "one million and ", "1:", "a.", "a/", "a-1-", "((", "$1"),
        *("1e", "1^", "<a ", "&"),
        *("12 h ", "<!--", "[1](", "1 of ", "Part 1, ", "x^", "1-", "ab12", "half a ", "![", "a@"),
        *("Nov 1 and ", "1'", "{,}"),
    ],
)
def test_long_repetition_is_read(text):
    """Thousands of them are read to the end, every token in the text."""
    markdown = text * 4000
    assert all(0 <= token.start < token.end <= len(markdown) for token in find(markdown))
