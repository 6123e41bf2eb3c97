"""How a series of a table may have been computed from others: ratios, changes, differences and shares."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from campaign.notes.audit_grid import Counted, Grid, Series, own_unit
from campaign.notes.audit_printed import Formula, Printed

RATIO = re.compile(
    r"\b(?:speed-?\s?ups?|ratios?|relative|rel\.?|factor|faster|slower|vs\.?|versus|compared|improvements?|gains?|overhead"
    r"|slowdown|changes?|diff(?:erence)?s?|delta|increase|decrease|drop|reduction|savings?|saved|normali[sz]ed|scaling|x"
    r")(?!\w)|[Δ×δ∆]",
    re.IGNORECASE,
)
BEFORE = re.compile(r"\b(?:before|old|base(?:line)?|original|previous|prior|without|reference)\b", re.IGNORECASE)
AFTER = re.compile(r"\b(?:after|new|now|with|optimi[sz]ed|current|improved|candidate|ours)\b", re.IGNORECASE)
DIFFERS = re.compile(
    r"\b(?:changes?|diff(?:erence)?s?|delta|increase|decrease|drop|reduction|savings?|saved|improvements?|gains?"
    r"|overhead|net)\b|[Δδ∆]",
    re.IGNORECASE,
)
DIVIDES = re.compile(
    r"\b(?:speed-?\s?ups?|ratios?|relative|factor|faster|slower|slowdown|improvements?|gains?|reduction|scaling|x)(?!\w)|×",
    re.IGNORECASE,
)
SHARE = re.compile(
    r"\b(?:shares?|proportion|portion|fraction|distribution|breakdown|of total|of all|% of)(?!\w)", re.IGNORECASE
)
_CHANGE = re.compile(r"\W*(?:changes?|delta|diff(?:erence)?|[Δδ∆])\W*(?:%\W*)?", re.IGNORECASE)
"""A name that says no more than that there is a change, so that its sign tells which way."""
_NO_SHARE = re.compile(
    r"\b(?:growth|usage|utili[sz]ation|coverage|accuracy|efficiency|error|loss|(?:in|de)crease|changes?|gains?|savings?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Way:
    """How a series may have been computed: a formula, and its operands at each position."""

    says: str
    formula: Formula
    operands: Callable[[int], Sequence[Printed | None]]
    code: str = "ratio"
    nothing: float = 0.0
    """What it gives where nothing differs: 1 for a ratio, which many pairs give by chance."""
    prior: float = 0.0
    """How many digits' worth the names of its operands speak for it: before and after."""


def _positive(*values: float) -> None:
    if min(values) <= 0:
        raise ZeroDivisionError


def over(a: float, b: float) -> float:
    """The ratio of the first to the second."""
    _positive(b)
    return a / b


def percent_of(a: float, b: float) -> float:
    """The first in percent of the second."""
    _positive(b)
    return 100 * a / b


def under(a: float, b: float) -> float:
    """The ratio of the second to the first."""
    return over(b, a)


def percent_back(a: float, b: float) -> float:
    """The second in percent of the first."""
    return percent_of(b, a)


def change(a: float, b: float) -> float:
    """By how many percent the second is more than the first."""
    _positive(a)
    return 100 * (b / a - 1)


def drop(a: float, b: float) -> float:
    """By how many percent the second is less than the first."""
    return -change(a, b)


def gain(a: float, b: float) -> float:
    """By how many percent the first is more than the second."""
    return change(b, a)


def difference(a: float, b: float) -> float:
    """The second less the first."""
    return b - a


def fall(a: float, b: float) -> float:
    """The first less the second."""
    return a - b


def rest(a: float, b: float) -> float:
    """What the first leaves of the second, in percent."""
    return 100 - percent_of(a, b)


def left(a: float, b: float) -> float:
    """What the first leaves of the second, as a part of 1."""
    return 1 - over(a, b)


def signed(series: Series) -> bool:
    """Whether its numbers are printed with their signs."""
    return sum(one.token.text[:1] in "+-−" for one in series.known) * 2 >= len(series.known)


def ways(grid: Grid, series: Series, values: Sequence[Series]) -> Iterator[Way]:
    """Every way in which the series may have been computed."""
    percent = series.unit == "%"
    named = series.inside or RATIO.search(series.name) or signed(series)
    for a, b in permutations(values, 2):
        if a.unit != b.unit:
            continue
        if says_direction(series, a, b):
            yield from _directed(series, a, b, percent)
            continue
        if says_direction(series, b, a):
            continue
        prior = float(any(BEFORE.search(one.name) and AFTER.search(other.name) for one, other in ((a, b), (b, a))))
        pair = _pair(a, b, fine=prior > 0 and counts(a) and counts(b))
        if percent and named:
            yield Way(f"change from {a.name!r} to {b.name!r}", change, pair, prior=prior)
            yield Way(f"drop from {a.name!r} to {b.name!r}", drop, pair, prior=prior)
        if percent:
            yield Way(f"{a.name!r} of {b.name!r}", percent_of, pair, "share")
        else:
            yield Way(f"{a.name!r} over {b.name!r}", over, pair, nothing=1.0, prior=prior)
        if percent and named and a.unit in ("%", "?"):
            yield Way(f"points from {a.name!r} to {b.name!r}", difference, _pair(a, b, "%", fine=True), prior=prior)
        elif named and a.unit != "?" and series.unit in ("pp", "", a.unit):
            yield Way(f"difference of {a.name!r} and {b.name!r}", difference, _pair(a, b, fine=True), prior=prior)
    values = [a for a in values if a.unit != "?"]
    for a in values:
        at = references(grid, series, a) if named or series.unit == "×" else None
        if at:
            said = "its row of reference"
            if percent:
                yield Way(f"change of {a.name!r} from {said}", change, at)
                yield Way(f"drop of {a.name!r} from {said}", drop, at)
                yield Way(f"gain of {a.name!r} on {said}", gain, at)
                yield Way(f"{a.name!r} in percent of {said}", percent_back, at, nothing=100.0)
            else:
                prior = float(series.inside and a.home == series.home)
                yield Way(f"{a.name!r} over {said}", under, at, nothing=1.0, prior=prior)
                yield Way(f"{said} over {a.name!r}", over, at, nothing=1.0, prior=prior)
    for counted in grid.counted if percent else ():
        yield Way(f"counts in {counted.name!r}", percent_of, _of_whole(counted), "share")
    for a in values if percent and not series.inside and not _NO_SHARE.search(series.name) else ():
        if a.unit != "%" and (whole := whole_of(grid, a)):
            yield Way(f"share of {a.name!r} in its total", percent_of, _fixed(a, whole), "share")


def says_direction(series: Series, a: Series, b: Series) -> bool:
    """Whether a signed series says how much the second is more than the first: the change from old to new."""
    return (
        _CHANGE.fullmatch(series.name) is not None
        and signed(series)
        and BEFORE.search(a.name) is not None
        and AFTER.search(b.name) is not None
        and not BEFORE.search(b.name)
        and not AFTER.search(a.name)
    )


def _directed(series: Series, a: Series, b: Series, percent: bool) -> Iterator[Way]:
    pair = _pair(a, b, fine=counts(a) and counts(b))
    if percent:
        yield Way(f"change from {a.name!r} to {b.name!r}", change, pair, prior=1.0)
    if (percent and a.unit in ("%", "?")) or (not percent and a.unit != "?" and series.unit in ("pp", "", a.unit)):
        yield Way(f"difference of {a.name!r} and {b.name!r}", difference, _pair(a, b, fine=True), prior=1.0)


def _pair(a: Series, b: Series, unit: str = "", fine: bool = False) -> Callable[[int], Sequence[Printed | None]]:
    def operands(position: int) -> Sequence[Printed | None]:
        one, other = a.numbers[position], b.numbers[position]
        if a.unit == "?" and one and other and not own_unit(one) == own_unit(other) == (unit or own_unit(one)):
            return (None, None)
        return (one and one.fine(), other and other.fine()) if fine else (one, other)

    return operands


def counts(series: Series) -> bool:
    """Whether its numbers are whole and without a unit: things counted, which nobody rounds."""
    return not series.unit and all(one.whole for one in series.known)


def is_counted(one: Printed, operands: Sequence[Printed]) -> bool:
    """Whether all are whole numbers without a unit."""
    return all(each.whole and not own_unit(each) and each.factor == 1 for each in (one, *operands))


def _of_whole(counted: Counted) -> Callable[[int], Sequence[Printed | None]]:
    return lambda position: (counted.counts[position], counted.wholes[position])


def _fixed(a: Series, whole: Printed) -> Callable[[int], Sequence[Printed | None]]:
    return lambda position: (a.numbers[position], whole)


def references(grid: Grid, series: Series, a: Series) -> Callable[[int], Sequence[Printed | None]] | None:
    """For each position the number of its row of reference and its own, where such rows can be told."""
    rows_known = [row for row, one in enumerate(series.numbers) if one and a.numbers[row]]
    unity = (0.0, 100.0) if series.unit == "%" else (1.0,)
    found = [row for row in rows_known if (one := series.numbers[row]) and one.value in unity]
    blank = [row for row, one in enumerate(series.numbers) if not one and a.numbers[row] and row not in grid.totals]
    if not found and len(blank) == 1:
        found = blank
    if not found:
        return None
    nearest: list[int] = []
    last = found[0]
    marked = set(found)
    for row in range(len(series.numbers)):
        if row in marked:
            last = row
        nearest.append(last)

    def operands(position: int) -> Sequence[Printed | None]:
        if nearest[position] == position:
            return (None, None)
        return a.numbers[nearest[position]], a.numbers[position]

    return operands


def whole_of(grid: Grid, a: Series) -> Printed | None:
    """The number of the total row; where there is no such row, the sum of all."""
    if grid.totals:
        return a.numbers[max(grid.totals)]
    if len(a.known) < max(3, len(a.numbers)) or any(one.loose for one in a.known):
        return None
    step = 0.0 if counts(a) else sum(one.step for one in a.known)
    value = sum(one.value for one in a.known)
    return Printed(a.known[0].token, value, step, label=f"sum of {a.name!r}: {value:.12g}")
