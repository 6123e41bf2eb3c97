"""A printed number as a reader may take it: the numbers that are printed so, and what can come out of several."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from campaign.notes.audit_page import Number
from campaign.notes.numbers import Token

_MANTISSA = re.compile(r"\d[\d,'’_\u2009\u202f\u00a0]*(?:\.\d+)?|\.\d+")
_DURATION_PART = re.compile(r"(\d+)(?:\.(\d+))?\s?(d|h|m(?!s)|s)")
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_LOOSE = re.compile(
    r"(?:[~≈∼≃<>≤≥]|\b(?:about|around|roughly|approximately|approx\.?|circa|ca\.|nearly|almost|over|under|above|below"
    r"|more than|less than|fewer than|up to|at least|at most|some|another|a further|close to"
    r"|as much as|as low as|as high as|as many as|or so))[\s*_]*$",
    re.IGNORECASE,
)
_LETTER = re.compile(r"\d([kKMBGT])(?![A-Za-z])")
_MONEY = frozenset("$€£¥₹¢")
_SLACK = 1e-9
"""Relative room for the last bits of floats."""

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Printed:
    """A number with the distance between two numbers that are printed in neighbouring ways."""

    token: Token
    value: float
    step: float
    """One unit in the last printed place; 0 for a number word or a count."""
    loose: bool = False
    """Whether a word or sign ahead says that it is only about so."""
    factor: float = 1.0
    """What its unit was multiplied by, to compare milliseconds with seconds."""
    label: str = ""
    """What it is, where it is printed nowhere: the sum of a column; `token` is then one of its items."""

    @property
    def whole(self) -> bool:
        """Whether it is printed as a whole number, to the last digit: 1200, but not 1.2k."""
        return self.token.kind in ("integer", "count-of", "total") and _scale(self.token) == 1

    @property
    def rounded(self) -> Span:
        """What is printed so when it is rounded."""
        return self.value - self.step / 2, self.value + self.step / 2

    @property
    def cut(self) -> Span:
        """What is printed so when it is cut off."""
        return (self.value, self.value + self.step) if self.value >= 0 else (self.value - self.step, self.value)

    def times(self, factor: float) -> "Printed":
        """The same number in another unit."""
        return replace(self, value=self.value * factor, step=self.step * factor, factor=self.factor * factor)

    def exact(self) -> "Printed":
        """The same number where it counts whole things."""
        return replace(self, step=0.0)

    def fine(self) -> "Printed":
        """The same number, its last zeros taken as printed on purpose."""
        return replace(self, step=_step(self.token) * self.factor)

    def alike(self, value: float) -> str:
        """`value` with as many decimals and the same unit."""
        unit = self.token.unit if self.token.noun_end == self.token.end else None
        if self.token.kind == "duration":
            return f"{value / self.factor:g} s"
        scale = _scale(self.token) * self.factor
        decimals = len(_digits(self.token).partition(".")[2])
        text = f"{value / scale:,.{decimals}f}" if "," in self.token.text else f"{value / scale:.{decimals}f}"
        letter = _LETTER.search(self.token.text)
        text += letter[1] if letter and self.token.kind != "scientific" else ""
        if unit in _MONEY:
            return f"{'-' * (value < 0)}{unit}{text.lstrip('-')}"
        return text + (unit or "" if not unit or unit in "%×‰°" else f" {unit}")

    def holds(self, span: Span) -> bool:
        """Whether a number of `span` is printed so, rounded or cut off."""
        own = (min(self.rounded[0], self.cut[0]), max(self.rounded[1], self.cut[1]))
        room = _SLACK * max(abs(own[0]), abs(own[1]), abs(span[0]), abs(span[1]), 1e-12)
        return own[0] <= span[1] + room and span[0] <= own[1] + room


def _digits(token: Token) -> str:
    found = _MANTISSA.search(token.text)
    return re.sub(r"[,'’_\u2009\u202f\u00a0]", "", found[0]).strip() if found else ""


def _scale(token: Token) -> float:
    """What the digits are multiplied by: 1000 for `3k`."""
    digits = _digits(token)
    if not digits or token.value is None or not float(digits):
        return 1.0
    return abs(float(token.value)) / float(digits)


def printed(number: Number, text: str) -> Printed | None:
    """The number as a reader takes it; None where it has no value that can be computed with."""
    token = number.token
    if token.value is None or token.kind in ("ordinal", "power"):
        return None
    if isinstance(token.value, Decimal) and token.value and abs(token.value.adjusted()) > 200:
        return None
    value = float(token.value)
    if not math.isfinite(value):
        return None
    loose = token.kind in ("bound", "plus-minus") or text[number.end : number.end + 1] == "+"
    loose = loose or _LOOSE.search(text[max(0, number.start - 24) : number.start]) is not None
    return Printed(token, value, _step(token), loose)


def _step(token: Token) -> float:
    if token.role == "word" or token.kind == "fraction":
        return 0.0
    if token.kind == "duration":
        parts = _DURATION_PART.findall(re.sub(r"(?<=[a-z])[a-z]+", "", token.text.lower()))
        if parts:
            _, decimals, unit = parts[-1]
            return _SECONDS[unit] / 10 ** len(decimals)
        return 10.0 ** -len(token.text.partition(".")[2])
    digits = _digits(token)
    return _scale(token) * 10.0 ** -len(digits.partition(".")[2])


def even(series: Sequence[Printed | None]) -> list[Printed | None]:
    """The numbers of one column, those with trailing zeros as coarse as the most digits in the column allow.

    123 and 12300 in one column are both of three digits; 100 alone is taken for one of two.
    """
    known = [one for one in series if one]
    most = max((significant(one.token) for one in known), default=0)
    return [one and coarse(one, max(2, most)) for one in series]


def coarse(one: Printed, most: int) -> Printed:
    """The number, where it ends in zeros and has more digits than `most`, as one of so many digits."""
    digits = _digits(one.token)
    if one.token.unit == "%" and abs(one.value) <= 100:
        return one
    if not one.step or "." in digits or len(digits) <= most or not digits.endswith("0"):
        return one
    zeros = min(len(digits) - most, len(digits) - len(digits.rstrip("0")))
    return replace(one, step=one.step * 10.0**zeros)


def significant(token: Token) -> int:
    """How many digits of a number are sure to be told: those up to the last that is no zero, or to the last decimal."""
    digits = _digits(token)
    if "." in digits:
        return len(digits.replace(".", "").lstrip("0"))
    return len(digits.rstrip("0"))


def agree(one: Printed, other: Printed) -> bool:
    """Whether two may print one quantity, each at its own precision."""
    coarser, finer = sorted((one, other), key=lambda printed: -printed.step)
    if coarser.step <= finer.step * (1 + _SLACK):
        return math.isclose(one.value, other.value, rel_tol=_SLACK)
    return coarser.holds((finer.value, finer.value))


Formula = Callable[..., float]


def reach(formula: Formula, *spans: Span) -> Span | None:
    """From the least to the greatest that a formula, rising or falling in each operand, gives; None where undefined."""
    corners: list[tuple[float, ...]] = [()]
    for span in spans:
        corners = [(*corner, end) for corner in corners for end in dict.fromkeys(span)]
    try:
        values = [formula(*corner) for corner in corners]
    except (ZeroDivisionError, OverflowError):
        return None
    return (min(values), max(values)) if all(map(math.isfinite, values)) else None


def follows(result: Printed, formula: Formula, operands: Sequence[Printed]) -> str | None:
    """Whether a printed result can come from printed operands: "" where it can, "cut" where only from cut-off ones.

    "no" where it cannot; None where that cannot be told.
    """
    spans = reach(formula, *(one.rounded for one in operands))
    if spans is None:
        return None
    if result.holds(spans):
        return ""
    spans = reach(formula, *(one.cut for one in operands))
    return "cut" if spans and result.holds(spans) else "no"
