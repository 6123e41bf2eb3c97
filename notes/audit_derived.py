"""What is computed from other numbers of a table: ratios, changes, differences and shares against their operands."""

import re
from collections.abc import Iterator, Sequence
from math import log10

from campaign.notes.audit_grid import Grid, Series
from campaign.notes.audit_meant import meant
from campaign.notes.audit_page import Page, Tested
from campaign.notes.audit_printed import Formula, Printed, follows, reach
from campaign.notes.audit_ways import RATIO, SHARE, Way, difference, is_counted, over, signed, under, ways
from campaign.notes.findings import Level

_MOST_SERIES = 8
_SAMPLE = 8
_SURE = 1.0
"""How many digits beyond those that trying many ways may give by chance must fit."""
_TRIED = 12
"""Of so many ways that a sample follows the whole series is looked at."""
_FEW = 8
"""Up to so many ways may be tried before a number that misses them all is told."""
_CLOSE = 0.25
"""A number that misses a way by more than this part of itself was computed in another way."""


def audit_derived(page: Page, grid: Grid, tested: Tested, by_row: bool = False) -> None:
    """Ratios, changes, differences and shares, each against the operands that its series or its name points to."""
    values = [s for s in grid.series if not s.inside and s.unit != "×" and len(s.known) >= 2]
    for series in grid.series:
        if not (by_row and not RATIO.search(series.name)) and not (
            _is_derived(series, by_row) and _by_most(page, grid, series, values, tested)
        ):
            _by_name(page, grid, series, tested)


def _by_most(page: Page, grid: Grid, series: Series, values: Sequence[Series], tested: Tested) -> bool:
    """A series against the operands that most of it points to; whether it points to any."""
    if len(series.known) < 2:
        return False
    others = [s for s in values if s is not series and not (s.unit == "%" and series.unit == "×")]
    near = sorted(others, key=lambda s: (abs(s.home - series.home), s.home))[:_MOST_SERIES]
    found = list(ways(grid, series, sorted(near, key=lambda s: s.home)))
    chosen = _chosen(series, found) or _only_way(series, found)
    if not chosen:
        return False
    way, results = chosen
    doubtful = sum(verdict == "" for *_, verdict in results) < 2
    for position, operands, verdict in results:
        one = series.numbers[position]
        assert one, "only positions with a number are tested"
        if verdict == "" or _in_points(one, operands) or _turned(series, way, one, operands):
            tested.add(way.code, [one.token, *(operand.token for operand in operands)])
        else:
            level: Level = "warning" if verdict == "cut" or doubtful else "error"
            _tell(page, tested, one, operands, way.formula, way.says, way.code, level, verdict == "cut")
    return True


def _by_name(page: Page, grid: Grid, series: Series, tested: Tested) -> None:
    """A series against the operands that its name points to."""
    for found in meant(grid, series):
        if found.follows:
            tested.add(found.code, [found.one.token, *(operand.token for operand in found.operands)])
        else:
            level: Level = "error" if found.sure else "warning"
            _tell(page, tested, found.one, found.operands, found.formula, found.says, found.code, level)


def _in_points(one: Printed, operands: Sequence[Printed]) -> bool:
    """Whether it is the difference of two percentages, which many print with a percent sign."""
    if any(operand.token.unit != "%" for operand in (one, *operands)):
        return False
    return "" in (follows(one, difference, operands), follows(one, difference, operands[::-1]))


def _turned(series: Series, way: Way, one: Printed, operands: Sequence[Printed]) -> bool:
    """Whether a plain ratio is that of the greater to the less, where the others have it the other way."""
    if way.formula not in (over, under) or not _EITHER.search(series.name):
        return False
    return follows(one, way.formula, operands[::-1]) == ""


_EITHER = re.compile(r"\b(?:ratio|factor|gap|differences?)\b", re.IGNORECASE)
_Result = tuple[int, Sequence[Printed], str]


def _chosen(series: Series, tried_ways: Sequence[Way]) -> tuple[Way, list[_Result]] | None:
    """The way that most of the series follows, with its results; None where no way is sure."""
    positions = [i for i, one in enumerate(series.numbers) if one and not one.loose]
    sample = positions[:: max(1, len(positions) // _SAMPLE)]
    tried = []
    for at, way in enumerate(tried_ways):
        results = list(_results(series, way, sample))
        fits = sum(verdict == "" for *_, verdict in results)
        if fits * 2 >= len(results) > 0:
            tried.append((-_sure(series, way, results), len(results) - fits, at))
    best: tuple[float, Way, list[_Result]] | None = None
    whole: tuple[Way, list[_Result]] | None = None
    for rank, (_, missed, at) in enumerate(sorted(tried)[:_TRIED]):
        if rank < 3 or (not missed and not whole):
            results = list(_results(series, tried_ways[at], positions))
            sure = _sure(series, tried_ways[at], results)
            if all(verdict == "" for *_, verdict in results):
                whole = whole or (tried_ways[at], results)
            if not best or sure > best[0]:
                best = sure, tried_ways[at], results
    if not best:
        return None
    sure, way, results = best
    fits = sum(verdict == "" for *_, verdict in results)
    needed = _SURE + log10(len(tried_ways))
    if fits == 1 and len(results) == 2 and (series.inside or RATIO.search(series.name)):
        needed += 0.5  # one of two
    elif fits * 3 < len(results) * 2 or len({series.numbers[at] for at, _, verdict in results if not verdict}) < 2:
        return None
    if sure < needed:
        return None
    # what follows in another way, if only loosely, contradicts nothing
    return whole or (way, results)


def _only_way(series: Series, tried_ways: Sequence[Way]) -> tuple[Way, list[_Result]] | None:
    """Of a series too short to show its way, the way that fits it, or that it misses by little where few were tried."""
    positions = [i for i, one in enumerate(series.numbers) if one and not one.loose]
    if len(positions) > 3 or not (series.inside or RATIO.search(series.name) or SHARE.search(series.name)):
        return None
    close: list[tuple[float, int]] = []
    for at, way in enumerate(tried_ways):
        results = list(_results(series, way, positions))
        if results and all(verdict == "" for *_, verdict in results) and _sure(series, way, results):
            return way, results
        misses = [_miss(series.numbers[position], way, operands) for position, operands, _ in results]
        if results and max(misses) < _CLOSE:
            close.append((max(misses), at))
    if (
        not close
        or len(tried_ways) > _FEW
        or len(results := list(_results(series, tried_ways[min(close)[1]], positions))) > 1
    ):
        return None
    return tried_ways[min(close)[1]], results


def _miss(one: Printed | None, way: Way, operands: Sequence[Printed]) -> float:
    """By what part of itself a number is off, counted from what it is where nothing differs."""
    assert one, "only positions with a number are tested"
    value = way.formula(*(operand.value for operand in operands))
    return abs(one.value - value) / max(abs(value - way.nothing), 1e-12)


def _sure(series: Series, way: Way, results: Sequence[_Result]) -> float:
    """How sure it is that those which fit do not by chance: the sum of how many digits each says.

    A number that is printed twice counts once; one that its operands leave wide open counts nothing.
    """
    found: dict[float, float] = {}
    for position, operands, verdict in results:
        one = series.numbers[position]
        span = reach(way.formula, *(operand.rounded for operand in operands))
        if one and span and verdict == "":
            room = span[1] - span[0] + one.step
            size = abs(one.value - way.nothing)
            if room <= size / 2:
                found[one.value] = max(found.get(one.value, 0.0), log10(size / max(room, size * 1e-6)))
    return sum(found.values()) + (way.prior if found else 0.0)


def _is_derived(series: Series, by_row: bool) -> bool:
    if by_row:
        return RATIO.search(series.name) is not None and not series.inside and series.unit in ("×", "%", "")
    if series.unit == "×" or series.inside or RATIO.search(series.name):
        return True
    return series.unit == "%" or (series.unit == "pp" and signed(series))


def _results(series: Series, way: Way, positions: Sequence[int]) -> Iterator[_Result]:
    """At each position the operands and whether the number follows from them."""
    for position in positions:
        one = series.numbers[position]
        known = [operand for operand in way.operands(position) if operand]
        if one and len(known) == 2 and not any(operand.loose for operand in known):
            if way.formula is difference and not series.unit and is_counted(one, known):
                one, known = one.exact(), [operand.exact() for operand in known]
            verdict = follows(one, way.formula, known)
            if verdict is not None:
                yield position, known, verdict


def _tell(
    page: Page,
    tested: Tested,
    one: Printed,
    operands: Sequence[Printed],
    formula: Formula,
    says: str,
    code: str,
    level: Level,
    cut: bool = False,
) -> None:
    value = formula(*(operand.value for operand in operands))
    span = reach(formula, *(operand.rounded for operand in operands))
    also = [f"operand {operand.label or page.place(operand.token)}" for operand in operands]
    also += [f"as printed they give {value:.6g}" + (f", from {span[0]:.6g} to {span[1]:.6g}" if span else "")]
    also += ["it would follow if the operands were cut off, not rounded"] if cut else []
    finding = page.finding(code, one.token, one.alike(value), says, level, also)
    tested.add(code, [one.token, *(operand.token for operand in operands)], finding)
