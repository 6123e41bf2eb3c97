"""How a reading is printed: the formats that a quote may name."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal

from campaign.analysis.readings import Reading
from campaign.analysis.rounding import MINUS
from campaign.notes.dates import long_date, utc_minute
from campaign.notes.errors import TemplateError

COMMA = str.maketrans(".,", ",.")
"""From a decimal point to a decimal comma, and back."""
NOT_RESOLVED = "not resolved"
"""What is printed for a reading without a value."""

_NUMBER = re.compile(r"(?P<sign>\+?)(?P<group>,?)(?:\.(?P<digits>\d+))?(?P<kind>[fd%])")
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}


def print_reading(reading: Reading, fmt: str | None = None, decimal: str = ".") -> str:
    """The characters that stand in the text for `reading`, in `fmt` or the reading's own format.

    Formats: `.3f` `,.0f` `+.2f` `,d` `.0%` (half away from zero on the decimal of the shortest repr, the
    minus as U+2212, never a negative zero), `word` and `Word` (four, Four), `ordinal` (fourth), `s` (text),
    `date` (6 November 2026), `minute` (2026-11-06 06:11Z), `clock` (06:11, in UTC),
    `Text` (a text with a capital), `tail` (what follows the last dot of a text).
    With `decimal` a comma, point and comma change places: 1.234,5. A reading without a value prints "not resolved".
    """
    if reading.value is None:
        return NOT_RESOLVED
    chosen = (
        fmt or reading.print or ("s" if isinstance(reading.value, str) else "d" if _is_whole(reading.value) else "")
    )
    if not chosen:
        raise TemplateError(
            f"reading {reading.id}: no format to print {reading.value!r} in; expected one, as .3f. Give `print` in the "
            "plan, or name it in the quote."
        )
    said = format_value(reading.value, chosen, reading.id)
    return said.translate(COMMA) if decimal == "," and _NUMBER.fullmatch(chosen) else said


def format_value(value: int | float | str, fmt: str, where: str) -> str:
    """`value` in the format `fmt`; TemplateError, naming `where`, when it does not fit."""
    if isinstance(value, str):
        if fmt in _TEXT:
            try:
                return _TEXT[fmt](value)
            except ValueError:
                raise TemplateError(
                    f"{where}: {value!r} is no date or time; expected one for the format {fmt!r}."
                ) from None
        raise TemplateError(
            f"{where}: the text {value!r} cannot be printed as {fmt!r}; expected one of {', '.join(_TEXT)}. Correct it."
        )
    if fmt in _WORDS:
        if value == 0.5 and fmt != "ordinal":
            return "half" if fmt == "word" else "Half"
        if not _is_whole(value) or not 0 <= value < 1000:
            raise TemplateError(
                f"{where}: {value!r} has no number word; expected a half or a whole number to 999. Use digits."
            )
        return _WORDS[fmt](int(value))
    found = _NUMBER.fullmatch(fmt)
    if not found:
        raise TemplateError(
            f"{where}: unknown format {fmt!r}; expected .3f, ,.0f, +.2f, d, ,d, .0%, {', '.join((*_WORDS, *_TEXT))}. "
            "Correct it."
        )
    if found["kind"] == "d" and not _is_whole(value):
        raise TemplateError(
            f"{where}: {value!r} is no whole number; expected one for the format {fmt!r}. Use .0f to round."
        )
    digits = int(found["digits"] or 0)
    return _number(value, digits, percent=found["kind"] == "%", plus=bool(found["sign"]), group=bool(found["group"]))


def _number(value: int | float, digits: int, *, percent: bool, plus: bool, group: bool) -> str:
    exact = Decimal(repr(value)) * (100 if percent else 1)
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    sign = MINUS if rounded < 0 else "+" if plus and rounded > 0 else ""
    return f"{sign}{abs(rounded):{',' if group else ''}f}{'%' if percent else ''}"


def _is_whole(value: int | float | str) -> bool:
    return not isinstance(value, str) and float(value).is_integer()


def number_word(value: int) -> str:
    """four, twenty-one, three hundred and eight."""
    if value < 20:
        return _ONES[value]
    if value < 100:
        tens, ones = divmod(value, 10)
        return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")
    hundreds, rest = divmod(value, 100)
    return f"{_ONES[hundreds]} hundred" + (f" and {number_word(rest)}" if rest else "")


def ordinal_word(value: int) -> str:
    """first, fourth, twenty-first."""
    said = number_word(value)
    cut = max(said.rfind("-"), said.rfind(" ")) + 1
    head, last = said[:cut], said[cut:]
    if last in _ORDINALS:
        last = _ORDINALS[last]
    elif last.endswith("ve"):
        last = f"{last[:-2]}fth"
    elif last.endswith("y"):
        last = f"{last[:-1]}ieth"
    else:
        last = f"{last}th"
    return head + last


def _day(text: str) -> date:
    """The day that `text` writes; of a time with a zone the day in UTC, as `minute` and `clock` show it."""
    return date.fromisoformat(text) if len(text) == 10 else _moment(text).date()


def _moment(text: str) -> datetime:
    """The time that `text` writes, in UTC; ValueError for a date alone or a time without a zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError
    return moment.astimezone(UTC)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_WORDS: dict[str, Callable[[int], str]] = {
    "word": number_word,
    "Word": lambda value: _capital(number_word(value)),
    "ordinal": ordinal_word,
}
_TEXT: dict[str, Callable[[str], str]] = {
    "s": str,
    "Text": _capital,
    "tail": lambda text: text.rpartition(".")[2],
    "date": lambda text: long_date(_day(text)),
    "minute": lambda text: utc_minute(_moment(text)),
    "clock": lambda text: f"{_moment(text):%H:%M}",
}
