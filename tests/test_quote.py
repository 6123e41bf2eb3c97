"""How a reading is printed."""

import pytest

from campaign.analysis.readings import Reading
from campaign.notes.errors import TemplateError
from campaign.notes.quote import format_value, number_word, ordinal_word, print_reading


def printed(value: int | float | str, fmt: str) -> str:
    return format_value(value, fmt, "reading x")


@pytest.mark.parametrize(
    ("value", "fmt", "text"),
    [
        (2.125, ".2f", "2.13"),
        (2.675, ".2f", "2.68"),
        (1.005, ".2f", "1.01"),
        (0.125, ".2f", "0.13"),
        (0.5, ".0f", "1"),
        (1.5, ".0f", "2"),
        (2.5, ".0f", "3"),
        (-2.125, ".2f", "−2.13"),
        (-0.5, ".0f", "−1"),
        (0.2144999, ".3f", "0.214"),
        (9.9996, ".3f", "10.000"),
        (1e-7, ".3f", "0.000"),
        (1e22, ".0f", "1" + "0" * 22),
    ],
)
def test_halves_go_away_from_zero_on_the_decimal_that_a_person_sees(value, fmt, text):
    """A half in the shortest repr is rounded away from zero, whatever the binary fraction behind it."""
    assert printed(value, fmt) == text


@pytest.mark.parametrize("value", [-0.0004, -0.0, -1e-12, 0.0])
@pytest.mark.parametrize("fmt", [".3f", "+.3f"])
def test_zero_has_no_sign(value, fmt):
    """What rounds to zero is printed without a sign."""
    assert printed(value, fmt) == "0.000"


def test_minus_is_the_minus_sign():
    """A negative number carries U+2212, never a hyphen."""
    assert printed(-0.015, ".3f") == "\u22120.015"


@pytest.mark.parametrize(("value", "text"), [(0.3, "+0.30"), (-0.3, "−0.30")])
def test_plus_is_printed_where_asked_for(value, text):
    """`+.2f` shows the sign of either side of zero."""
    assert printed(value, "+.2f") == text


@pytest.mark.parametrize(
    ("value", "fmt", "text"),
    [
        (12340, ",d", "12,340"),
        (1234567.5, ",.0f", "1,234,568"),
        (999.5, ",.0f", "1,000"),
        (-12340, ",d", "−12,340"),
        (12340.0, "d", "12340"),
        (1234.5, ",.2f", "1,234.50"),
    ],
)
def test_thousands_are_grouped_where_asked_for(value, fmt, text):
    """A comma in the format groups by three digits."""
    assert printed(value, fmt) == text


@pytest.mark.parametrize(
    ("value", "fmt", "text"),
    [(0.94, ".0%", "94%"), (0.125, ".0%", "13%"), (-0.005, ".1%", "−0.5%"), (1, ".1%", "100.0%")],
)
def test_percent_is_of_one(value, fmt, text):
    """A share of 1 is printed as 100%, its halves away from zero too."""
    assert printed(value, fmt) == text


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (0, "zero"),
        (1, "one"),
        (13, "thirteen"),
        (20, "twenty"),
        (21, "twenty-one"),
        (99, "ninety-nine"),
        (100, "one hundred"),
        (308, "three hundred and eight"),
        (999, "nine hundred and ninety-nine"),
    ],
)
def test_whole_numbers_have_words(value, word):
    """Number words are British, with hyphens and `and`."""
    assert printed(value, "word") == word


def test_every_number_word_differs():
    """No two whole numbers to 999 share a word."""
    assert len({number_word(value) for value in range(1000)}) == 1000


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (1, "first"),
        (2, "second"),
        (3, "third"),
        (5, "fifth"),
        (8, "eighth"),
        (9, "ninth"),
        (12, "twelfth"),
        (20, "twentieth"),
        (21, "twenty-first"),
        (40, "fortieth"),
        (72, "seventy-second"),
        (100, "one hundredth"),
    ],
)
def test_whole_numbers_have_ordinals(value, word):
    """`ordinal` gives the place in a row."""
    assert printed(value, "ordinal") == word


@pytest.mark.parametrize(("value", "word"), [(101, "one hundred and first"), (112, "one hundred and twelfth")])
def test_ordinals_above_a_hundred_end_in_an_ordinal(value, word):
    """Only the last word of a long ordinal changes, and irregular ones stay irregular."""
    assert ordinal_word(value) == word


@pytest.mark.parametrize(("fmt", "word"), [("word", "half"), ("Word", "Half")])
def test_half_has_a_word(fmt, word):
    """0.5 is printed as a word."""
    assert printed(0.5, fmt) == word


def test_word_begins_a_sentence():
    """`Word` has a capital."""
    assert printed(4, "Word") == "Four"


@pytest.mark.parametrize(
    ("text", "fmt", "shown"),
    [
        ("2026-11-06", "date", "6 November 2026"),
        ("2026-11-06T23:59:00+00:00", "date", "6 November 2026"),
        ("2026-11-06T06:11:00+00:00", "minute", "2026-11-06 06:11Z"),
        ("2026-11-06T07:11:59+01:00", "minute", "2026-11-06 06:11Z"),
        ("2026-11-06T06:11:00+00:00", "clock", "06:11"),
        ("carries", "s", "carries"),
        ("rolled back", "Text", "Rolled back"),
        ("rs8 FAST", "Text", "Rs8 FAST"),
    ],
)
def test_texts_dates_and_times_have_formats(text, fmt, shown):
    """A date is long, a minute is in UTC, a clock is a clock, a text may begin a sentence."""
    assert printed(text, fmt) == shown


def test_clock_is_in_utc_like_the_minute():
    """A time of another zone is shown on the same clock as in `minute`."""
    assert printed("2026-11-06T07:11:00+01:00", "clock") == "06:11"


@pytest.mark.parametrize("fmt", ["minute", "clock"])
def test_date_without_a_time_is_no_time(fmt):
    """A day has no minute to print."""
    with pytest.raises(TemplateError, match=f"no date or time.*{fmt}"):
        printed("2026-11-06", fmt)


@pytest.mark.parametrize(
    ("value", "fmt", "message"),
    [
        (0.3, "3f", "unknown format '3f'; expected .3f"),
        (0.3, ".3g", "unknown format '.3g'"),
        (0.3, "{:.3f}", "unknown format"),
        (0.3, "date", "unknown format 'date'"),
        (0.3, "d", "0.3 is no whole number; expected one for the format 'd'. Use .0f to round"),
        (0.3, "word", "0.3 has no number word; expected a half or a whole number to 999. Use digits"),
        (1000, "word", "1000 has no number word"),
        (-1, "word", "-1 has no number word"),
        (0.5, "ordinal", "0.5 has no number word"),
        ("carries", ".3f", "the text 'carries' cannot be printed as '.3f'; expected one of s, Text"),
        ("carries", "word", "the text 'carries' cannot be printed as 'word'"),
        ("carries", "date", "'carries' is no date or time; expected one for the format 'date'"),
    ],
)
def test_wrong_use_of_a_format_is_told(value, fmt, message):
    """A value that does not fit its format is refused, with where, found, expected and what to do."""
    with pytest.raises(TemplateError) as wrong:
        printed(value, fmt)
    assert str(wrong.value).startswith("reading x: ")
    assert message in str(wrong.value)


def test_number_without_a_format_is_refused():
    """A fraction is not printed in as many digits as happen to be there."""
    with pytest.raises(TemplateError, match=r"reading saving: no format to print 0\.314.*Give `print` in the plan"):
        print_reading(Reading("saving", 0.314))


@pytest.mark.parametrize(("value", "text"), [(18, "18"), (18.0, "18"), ("carries", "carries")])
def test_whole_numbers_and_texts_need_no_format(value, text):
    """A count and a word print as they are."""
    assert print_reading(Reading("x", value)) == text


def test_format_of_the_quote_comes_before_that_of_the_plan():
    """A quote may print a reading in another format than its own."""
    assert print_reading(Reading("x", 0.314, print=".3f"), ".1f") == "0.3"


@pytest.mark.parametrize("fmt", [None, ".3f", "word", "date"])
def test_reading_without_a_value_is_not_resolved(fmt):
    """What cannot be computed is printed as such, in any format, and never as zero."""
    assert print_reading(Reading("x", None, reason="no rows"), fmt) == "not resolved"
