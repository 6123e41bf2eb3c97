"""The rounding audit: whether each printed number follows from the printed numbers that it was computed from.

A reader has only what is printed. Every printed number stands for an interval, half a unit in its last place to
either side; interval arithmetic over the operands encloses whatever could have been computed from them.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import floor, isqrt, trunc
from typing import Literal

from campaign.analysis.errors import ReadingError
from campaign.analysis.expressions import Expression, parse
from campaign.analysis.readings import Reading, Readings, match_ids
from campaign.kernels.errors import CampaignError

MINUS = "−"
_PRINTED = re.compile(rf"(?P<sign>[+{MINUS}-]?)(?P<whole>\d[\d,]*)(?:\.(?P<digits>\d+))?(?P<percent>%?)")
_MOST_EXPONENT = 64
"""Exponents up to this are known; whole ones are computed exactly."""
_ERROR = Fraction(1, 10**12)

UNROUNDED = "from the unrounded values"
"""What stands for a rule where a printed number does not follow from the printed operands under any."""

Verdict = Literal["agrees", "differs by rounding", "cannot follow", "not auditable"]


@dataclass(frozen=True)
class Printed:
    """A number as it is printed, and what it can stand for."""

    text: str
    value: Fraction
    half: Fraction
    """Half a unit in the last printed place; 0 for a count."""
    digits: int
    """Decimals of the number as printed, of the percentage where it is one."""

    @classmethod
    def read(cls, text: str, *, exact: bool = False) -> "Printed | None":
        """What `text` (0.428, −1,234, +3.1%) stands for, without rounding where it is `exact`; None for no number."""
        found = _PRINTED.fullmatch(text)
        if not found:
            return None
        scale = 100 if found["percent"] else 1
        digits = len(found["digits"] or "")
        value = Fraction(f"{found['whole'].replace(',', '')}.{found['digits'] or '0'}") / scale
        half = Fraction(0) if exact else Fraction(1, 2 * 10**digits * scale)
        return cls(text, -value if found["sign"] in (MINUS, "-") else value, half, digits)

    @property
    def interval(self) -> "_Interval":
        return _Interval(self.value - self.half, self.value + self.half)

    def alike(self, value: Fraction) -> str:
        """`value` printed in the same way: half away from zero, never a negative zero."""
        percent = self.text.endswith("%")
        rounded = _rounded(value * (100 if percent else 1), self.digits)
        sign = MINUS if rounded < 0 else "+" if self.text.startswith("+") and rounded > 0 else ""
        group = "," if "," in self.text else ""
        return f"{sign}{abs(rounded):{group}.{self.digits}f}{'%' if percent else ''}"


@dataclass(frozen=True)
class Audit:
    """Whether a printed number follows from its printed operands."""

    id: str
    printed: str
    """As it is printed; empty where it is not."""
    from_printed: str
    """What arithmetic on the printed operands gives, printed in the same way; empty where not auditable."""
    operands: tuple[tuple[str, str], ...]
    """Ids of the operands, with what is printed for them."""
    verdict: Verdict
    """differs by rounding: a reader gets another last digit, a warning. cannot follow: an error."""
    text: str
    """The verdict in a sentence; empty where it agrees."""


class _NotAuditable(Exception):
    """Interval arithmetic gives nothing for this; the text is the reason."""


def audit(name: str, expression: Expression, printed: Printed, operands: Mapping[str, Printed]) -> Audit:
    """Whether `printed`, of the reading `name`, can come from `expression` over the printed `operands`.

    Knows + − * / **, min, max, abs, sqrt, sum, mean, median and len; comparisons, words and what hangs on them
    (count, all, any) are not auditable, nor is a division by what may be zero. An interval that names an operand twice
    is wider than it need be, so "cannot follow" is never said of what can. R23.
    """
    shown = tuple((one, operand.text) for one, operand in operands.items())
    said = ", ".join(f"{one} = {text}" for one, text in shown)
    try:
        centre = _one(_evaluate(expression, {one: _Interval(o.value, o.value) for one, o in operands.items()}))
        # printed alike, a function of floats such as a square root is as good as its middle
        reader = printed.alike((centre.lo + centre.hi) / 2)
        reach = _one(_evaluate(expression, {one: operand.interval for one, operand in operands.items()}))
    except (_NotAuditable, OverflowError) as why:
        return Audit(name, printed.text, "", shown, "not auditable", f"{name}: not auditable: {why}")
    if reach.hi < printed.interval.lo or reach.lo > printed.interval.hi:
        text = f"{name}: {printed.text} cannot come from the printed {said}; {expression.text} of them gives {reader}"
        return Audit(name, printed.text, reader, shown, "cannot follow", text)
    if reader == printed.alike(printed.value):
        return Audit(name, printed.text, reader, shown, "agrees", "")
    text = f"{name}: printed {printed.text}; from the printed {said} a reader gets {reader}"
    return Audit(name, printed.text, reader, shown, "differs by rounding", text)


def rule_that_fits(printed: Printed, expression: Expression, operands: Mapping[str, Printed]) -> str:
    """The rule under which the printed operands give `printed`; "from the unrounded values" where none does.

    One of half up, half even, truncation.
    """
    try:
        found = _one(_evaluate(expression, {one: _Interval(o.value, o.value) for one, o in operands.items()}))
    except (_NotAuditable, OverflowError):
        return UNROUNDED
    scaled = (found.lo + found.hi) / 2 * 10**printed.digits * (100 if printed.text.endswith("%") else 1)
    target = printed.value * 10**printed.digits * (100 if printed.text.endswith("%") else 1)
    rules = {"half up": floor(scaled + Fraction(1, 2)), "half even": round(scaled), "truncation": trunc(scaled)}
    return next((name for name, whole in rules.items() if whole == target), UNROUNDED)


def audit_readings(readings: Readings, show: Callable[[Reading], str | None]) -> tuple[Audit, ...]:
    """The audit of every reading whose formula is an expression over other readings, in their order.

    `show` gives what is printed for a reading, None where it is not printed; it may raise a CampaignError, as
    print_reading does for a reading without a format, and then nothing is printed. Counts, which are whole numbers
    kept or printed as such, stand for themselves.
    """
    audits = []
    for reading in readings.values():
        if isinstance(reading.value, int | float) and reading.operands:
            try:
                expression = parse(reading.formula)
            except ReadingError:
                continue  # it is in words
            if {one for one in expression.ids if "*" not in one} <= dict(reading.operands).keys():
                audits.append(_audit_reading(reading, expression, readings, show))
    return tuple(audits)


def _audit_reading(
    reading: Reading, expression: Expression, readings: Readings, show: Callable[[Reading], str | None]
) -> Audit:
    found = {one: _show(readings[one], show) for one, _ in reading.operands}
    shown = tuple((one, text) for one, (text, _) in found.items())
    text, printed = _show(reading, show)
    unread = [one for one, (_, operand) in {reading.id: (text, printed), **found}.items() if operand is None]
    if unread:
        why = f"{', '.join(unread)} {'is' if len(unread) == 1 else 'are'} not printed as a number"
        return Audit(reading.id, text, "", shown, "not auditable", f"{reading.id}: not auditable: {why}")
    return audit(reading.id, expression, printed, {one: operand for one, (_, operand) in found.items()})


def _show(reading: Reading, show: Callable[[Reading], str | None]) -> tuple[str, Printed | None]:
    try:
        text = show(reading) or ""
    except CampaignError:
        text = ""
    if not isinstance(reading.value, int | float):
        return text, None
    printed = Printed.read(text)
    if not printed:
        # a number word, which is printed of whole numbers alone
        whole = text and float(reading.value).is_integer() and not any(map(str.isdigit, text))
        return text, Printed(text, Fraction(reading.value), Fraction(0), 0) if whole else None
    counted = isinstance(reading.value, int) or not reading.print or reading.print.endswith("d")
    return text, Printed.read(text, exact=counted and printed.value == reading.value)


def _rounded(value: Fraction, digits: int) -> Decimal:
    """`value` to `digits` decimals, half away from zero."""
    scaled = abs(value) * 10**digits
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Decimal(-whole if value < 0 else whole).scaleb(-digits)


# ---------------------------------------------------------------- interval arithmetic


@dataclass(frozen=True)
class _Interval:
    """Every number from `lo` to `hi`."""

    lo: Fraction
    hi: Fraction


_Value = _Interval | list[_Interval]
"""One number, or those that a pattern stands for."""


def _evaluate(expression: Expression, operands: Mapping[str, _Interval]) -> _Value:
    def value(node: ast.expr) -> _Value:
        match node:
            case ast.Constant(value=bool() | str()):
                raise _NotAuditable(f"{node.value!r} is no number")
            case ast.Constant():
                exact = Fraction(repr(node.value))
                return _Interval(exact, exact)
            case ast.Name():
                name = expression.ids[int(node.id.removeprefix("_id"))]
                return [operands[one] for one in match_ids(name, operands)] if "*" in name else operands[name]
            case ast.UnaryOp(op=ast.USub()):
                return _each(lambda a: _Interval(-a.hi, -a.lo), value(node.operand))
            case ast.UnaryOp(op=ast.UAdd()):
                return value(node.operand)
            case ast.BinOp() if type(node.op) in _BINARY:
                return _each(_BINARY[type(node.op)], value(node.left), value(node.right))
            case ast.Call(func=ast.Name(id=name)) if name in _EACH:
                return _each(_EACH[name], value(node.args[0]))
            case ast.Call(func=ast.Name(id=name)) if name in _OF_ALL:
                values = [value(argument) for argument in node.args]
                return _OF_ALL[name]([one for found in values for one in _listed(found)])
            case ast.List() | ast.Tuple():
                return [_one(value(item)) for item in node.elts]
            case ast.Call(func=ast.Name(id=name)):
                raise _NotAuditable(f"{name} is no arithmetic")
        raise _NotAuditable("it compares")

    return value(expression.tree)


def _each(operation: Callable[..., _Interval], *values: _Value) -> _Value:
    """`operation` on each number of arrays; a single number goes with every one of them."""
    lengths = {len(value) for value in values if isinstance(value, list)}
    if not lengths:
        return operation(*values)
    if len(lengths) > 1:
        raise _NotAuditable("arrays of different lengths")
    length = lengths.pop()
    return [operation(*one) for one in zip(*(v if isinstance(v, list) else [v] * length for v in values), strict=True)]


def _listed(value: _Value) -> list[_Interval]:
    return value if isinstance(value, list) else [value]


def _one(value: _Value) -> _Interval:
    if isinstance(value, list):
        raise _NotAuditable("it gives many numbers")
    return value


def _multiply(a: _Interval, b: _Interval) -> _Interval:
    ends = [x * y for x, y in product((a.lo, a.hi), (b.lo, b.hi))]
    return _Interval(min(ends), max(ends))


def _divide(a: _Interval, b: _Interval) -> _Interval:
    if b.lo <= 0 <= b.hi:
        raise _NotAuditable("it divides by what may be zero as printed")
    return _multiply(a, _Interval(1 / b.hi, 1 / b.lo))


def _power(a: _Interval, b: _Interval) -> _Interval:
    if b.lo == b.hi and b.lo.denominator == 1 and abs(b.lo) <= _MOST_EXPONENT:
        exponent = int(b.lo)
        if exponent < 0:
            return _divide(_Interval(Fraction(1), Fraction(1)), _power(a, _Interval(-b.lo, -b.lo)))
        ends = [a.lo**exponent, a.hi**exponent]
        if exponent and exponent % 2 == 0 and a.lo < 0 < a.hi:
            ends.append(Fraction(0))
        return _Interval(min(ends), max(ends))
    if a.lo <= 0:
        raise _NotAuditable("a broken power of what may be zero or below as printed")
    if max(abs(b.lo), abs(b.hi)) > _MOST_EXPONENT:
        raise _NotAuditable("a power too large")
    # of positive numbers it rises or falls in either, so that the ends lie at corners
    corners = [float(x) ** float(y) for x, y in product((a.lo, a.hi), (b.lo, b.hi))]
    return _outward(min(corners), max(corners))


def _root(a: _Interval) -> _Interval:
    if a.hi < 0:
        raise _NotAuditable("the square root of a negative number")
    lo, hi = max(Fraction(0), a.lo), a.hi
    exact = [Fraction(isqrt(end.numerator), isqrt(end.denominator)) for end in (lo, hi)]
    if [end**2 for end in exact] == [lo, hi]:
        return _Interval(*exact)
    return _outward(float(lo) ** 0.5, float(hi) ** 0.5)


def _outward(lo: float, hi: float) -> _Interval:
    """From below `lo` to above `hi`, neither below 0, by more than a float power with such an exponent can err."""
    return _Interval(Fraction(lo) * (1 - _ERROR), Fraction(hi) * (1 + _ERROR))


def _absolute(a: _Interval) -> _Interval:
    ends = sorted((abs(a.lo), abs(a.hi)))
    return _Interval(Fraction(0) if a.lo < 0 < a.hi else ends[0], ends[1])


def _by_ends(of: Callable[[Sequence[Fraction]], Fraction]) -> Callable[[list[_Interval]], _Interval]:
    """`of`, which never falls as a number rises, of all lower and of all upper ends."""

    def of_all(values: list[_Interval]) -> _Interval:
        if not values:
            raise _NotAuditable("nothing to compute it from")
        return _Interval(of([value.lo for value in values]), of([value.hi for value in values]))

    return of_all


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _median(values: Sequence[Fraction]) -> Fraction:
    ranked = sorted(values)
    return (ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2]) / 2


_BINARY: dict[type[ast.operator], Callable[[_Interval, _Interval], _Interval]] = {
    ast.Add: lambda a, b: _Interval(a.lo + b.lo, a.hi + b.hi),
    ast.Sub: lambda a, b: _Interval(a.lo - b.hi, a.hi - b.lo),
    ast.Mult: _multiply,
    ast.Div: _divide,
    ast.Pow: _power,
}
_EACH: dict[str, Callable[[_Interval], _Interval]] = {"abs": _absolute, "sqrt": _root}
_OF_ALL: dict[str, Callable[[list[_Interval]], _Interval]] = {
    "min": _by_ends(min),
    "max": _by_ends(max),
    "sum": _by_ends(lambda values: sum(values, Fraction(0))),
    "mean": _by_ends(_mean),
    "median": _by_ends(_median),
    "len": _by_ends(lambda values: Fraction(len(values))),
}
