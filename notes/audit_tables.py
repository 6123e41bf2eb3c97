"""Sums, shares and ratios in tables: totals against their items, percentages and ratios against their operands."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, permutations
from math import log10

from campaign.notes.audit_grid import SUMMED, Counted, Grid, Series, columns, own_unit, rows
from campaign.notes.audit_page import Page, Table, Tested
from campaign.notes.audit_printed import Formula, Printed, follows, reach
from campaign.notes.findings import Finding, Level

_RATIO = re.compile(
    r"\b(?:speed-?\s?ups?|ratios?|relative|rel\.?|factor|faster|slower|vs\.?|versus|compared|improvements?|gains?|overhead"
    r"|slowdown|changes?|diff(?:erence)?s?|delta|increase|decrease|drop|reduction|savings?|saved|normali[sz]ed|scaling|x"
    r")(?!\w)|[Δ×δ∆]",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"(?:before|old|base(?:line)?|original|previous|prior|without|reference)\b", re.IGNORECASE)
_AFTER = re.compile(r"(?:after|new|now|with|optimi[sz]ed|current|improved|candidate|ours)\b", re.IGNORECASE)
_SHARE = re.compile(
    r"\b(?:shares?|proportion|portion|fraction|distribution|breakdown|of total|of all|% of)(?!\w)", re.IGNORECASE
)
_NOT_ADDED = re.compile(
    r"\b(?:mean|avg|average|median|p\d+|min|max|rate|ratio|relative|score|accuracy|precision|recall|f1|per|vs"
    r"|geo\s?mean|std|stddev|version|year|id|index|rank|throughput|bandwidth|speed-?\s?up|speed|utili[sz]ation)\b"
    r"|/s\b|/sec|×|Δ|±",
    re.IGNORECASE,
)
_MOST_SERIES = 8
_SAMPLE = 8
_SURE = 1.0
"""How many digits beyond those that trying many ways may give by chance must fit."""
_TRIED = 12
"""Of so many ways that a sample follows the whole series is looked at."""
_MOST_TOTALS = 20
"""With more total rows than that, what each is the total of cannot be told."""
_FEW = 8
"""Up to so many ways may be tried before a number that misses them all is told."""
_CLOSE = 0.25
"""A number that misses a way by more than this part of itself was computed in another way."""


def audit_tables(page: Page, tested: Tested) -> None:
    """Every table of the page, by columns and by rows."""
    for table in page.tables:
        if len(table.rows) < 1 or len(table.header) < 2:
            continue
        by_column = columns(table)
        _total_rows(page, by_column, tested)
        _total_series(page, by_column, tested)
        _whole(page, by_column, tested)
        _derived(page, by_column, tested)
        if len(table.rows) <= 40 and _names_a_ratio(table):
            _derived(page, rows(table), tested, by_row=True)


# Sums


def _total_rows(page: Page, grid: Grid, tested: Tested) -> None:
    """The cells of a total row against the cells of its column."""
    for row in sorted(grid.totals) if len(grid.totals) <= _MOST_TOTALS else ():
        results = []
        for series in grid.series:
            total = series.numbers[row]
            if not total or series.inside or series.unit in ("×", "?", "%") or _NOT_ADDED.search(series.name):
                continue
            items = _items(grid, series, row)
            if len(items) >= 2:
                results.append((series, total, items, _adds(series, total, items)))
        support = sum(verdict == "" for *_, verdict in results)
        for series, total, items, verdict in results:
            _judge_total(page, tested, grid.labels[row], series, total, items, verdict, support)


def _items(grid: Grid, series: Series, row: int) -> list[Printed]:
    """The numbers that a total may be of: those above it, or below where it stands first."""
    others = [i for i in range(len(series.numbers)) if i not in grid.totals]
    above = [series.numbers[i] for i in others if i < row]
    return [one for one in (above or [series.numbers[i] for i in others]) if one]


def _adds(series: Series, total: Printed, items: Sequence[Printed]) -> str:
    """Empty where the total is the sum of all items or of the last of them, "near" within rounding, else "no"."""
    if any(one.loose for one in (total, *items)):
        return "loose"
    counted = _counts(series)
    if counted:
        total, items = total.fine(), [one.fine() for one in items]
    near = False
    ordered = list(reversed(items))
    values = list(accumulate(one.value for one in ordered))
    half = list(accumulate(one.step / 2 for one in ordered))
    for value, room in zip(values[1:], half[1:], strict=True):
        if abs(total.value - value) < 0.5 if counted else total.holds((value - room, value + room)):
            return ""
        near |= abs(total.value - value) <= room if counted else total.holds((value, value + 2 * room))
    return "near" if near else "no"


def _counts(series: Series) -> bool:
    """Whether the numbers are whole things counted, which nobody rounds."""
    return not series.unit and all(
        one.token.kind == "integer" and one.token.text[-1:].isdigit() for one in series.known
    )


def _judge_total(
    page: Page,
    tested: Tested,
    label: str,
    series: Series,
    total: Printed,
    items: Sequence[Printed],
    verdict: str,
    support: int,
) -> None:
    values = [one.value for one in items]
    added = sum(values)
    if verdict == "":
        tested.add("sum", [total.token, *(one.token for one in items)])
        return
    missing = len(items) < len(series.numbers) - 1
    other = total.holds((max(values), max(values))) or total.holds((min(values), min(values)))
    mean = total.holds((added / len(values) - total.step, added / len(values) + total.step))
    close = SUMMED.search(label) and abs(total.value - added) <= _CLOSE * abs(added)
    if verdict == "loose" or other or mean or not (close or support) or (missing and not support):
        return
    if not 0 <= total.value <= 4 * abs(added):
        return
    finding = page.finding(
        "sum",
        total.token,
        total.alike(added),
        f"sum of {series.name!r} above {label!r}" if label else f"sum of {series.name!r}",
        # a table that leaves out small items has a larger total
        "warning" if verdict == "near" or (not support and total.value > added) else "error",
        [
            f"{len(values)} items give {added:.12g}",
            *(f"item {page.place(one.token)}" for one in items[:12]),
            *(["within what rounding each item could explain"] if verdict == "near" else []),
        ],
    )
    tested.add("sum", [total.token, *(one.token for one in items)], finding)


def _total_series(page: Page, grid: Grid, tested: Tested) -> None:
    """A total column against the columns beside it, where most rows say of which."""
    for series in grid.series:
        if (
            series.inside
            or series.unit in ("×", "?")
            or not SUMMED.search(series.name)
            or _NOT_ADDED.search(series.name)
        ):
            continue
        others = [s for s in grid.series if not s.inside and s is not series and s.unit == series.unit]
        others = [s for s in others if not _RATIO.search(s.name) and not _NOT_ADDED.search(s.name)]
        before = [s for s in others if s.home < series.home]
        after = [s for s in others if s.home > series.home]
        windows = [before[i:] for i in range(max(0, len(before) - 8), len(before) - 1)] + [
            after[:i] for i in range(2, 9)
        ]
        windows = [window for window in windows if len(window) >= 2]
        best: tuple[int, list[tuple[int, list[Printed], str]]] = (0, [])
        for window in windows:
            results = list(_added_rows(series, window))
            fits = sum(verdict == "" for *_, verdict in results)
            if fits > best[0]:
                best = fits, results
        fits, results = best
        if fits < 2 or fits * 3 < len(results) * 2:
            continue
        for row, items, verdict in results:
            total = series.numbers[row]
            assert total, "only rows with a total are added"
            if verdict == "":
                tested.add("sum", [total.token, *(one.token for one in items)])
            else:
                _judge_total(page, tested, "", series, total, items, verdict, 1)


def _added_rows(series: Series, window: Sequence[Series]) -> Iterator[tuple[int, list[Printed], str]]:
    for row, total in enumerate(series.numbers):
        items = [one.numbers[row] for one in window]
        known = [one for one in items if one]
        if total and len(known) == len(items):
            counted = _counts(series)
            value = sum(one.value for one in known)
            room = sum(one.step / 2 for one in known)
            fits = abs(total.value - value) < 0.5 if counted else total.holds((value - room, value + room))
            yield row, known, "" if fits else "near" if total.holds((value, value + 2 * room)) else "no"


# Shares


def _whole(page: Page, grid: Grid, tested: Tested) -> None:
    """Columns of percentages that are shares of one whole."""
    for series in grid.series:
        if series.unit != "%" or series.inside or any(one.token.text[:1] in "+-−" or one.loose for one in series.known):
            continue
        totals = [series.numbers[row] for row in grid.totals]
        total = next((one for one in totals if one), None)
        items = [one for row, one in enumerate(series.numbers) if one and row not in grid.totals]
        hundred = total is not None and total.value == 100 and len(grid.totals) == 1
        if len(items) < 2 or not (hundred or _SHARE.search(series.name)):
            continue
        value = sum(one.value for one in items)
        room = sum(one.step / 2 for one in items)
        if value - room <= 100 <= value + 2 * room + 1e-9:
            tested.add("share", [one.token for one in items])
        elif hundred and total and 80 <= value <= 125:
            expected, source = f"{value:.6g}%", f"sum of {series.name!r} above {grid.labels[max(grid.totals)]!r}"
            _tell_whole(page, tested, items, page.finding("share", total.token, expected, source, "error"))
        elif abs(value - 100) <= 3 and not grid.counted:
            expected = f"100% in all, not {value:.6g}%"
            _tell_whole(page, tested, items, page.finding("share", items[-1].token, expected, series.name, "warning"))


def _tell_whole(page: Page, tested: Tested, items: Sequence[Printed], finding: Finding) -> None:
    also = tuple(f"item {page.place(one.token)}" for one in items[:20])
    tested.add("share", [one.token for one in items], replace(finding, also=also))


# What is computed from other numbers of the table


@dataclass(frozen=True)
class _Way:
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


def _ratio(a: float, b: float) -> float:
    _positive(b)
    return a / b


def _percent(a: float, b: float) -> float:
    _positive(b)
    return 100 * a / b


def _ratio_back(a: float, b: float) -> float:
    return _ratio(b, a)


def _percent_back(a: float, b: float) -> float:
    return _percent(b, a)


def _change(a: float, b: float) -> float:
    _positive(a)
    return 100 * (b / a - 1)


def _drop(a: float, b: float) -> float:
    return -_change(a, b)


def _gain(a: float, b: float) -> float:
    return _change(b, a)


def _difference(a: float, b: float) -> float:
    return b - a


def _derived(page: Page, grid: Grid, tested: Tested, by_row: bool = False) -> None:
    """Ratios, changes, differences and shares, each against the operands that most of its series point to."""
    values = [s for s in grid.series if not s.inside and s.unit != "×" and len(s.known) >= 2]
    for series in grid.series:
        if len(series.known) < 2 or not _is_derived(series, by_row):
            continue
        others = [s for s in values if s is not series and not (s.unit == "%" and series.unit == "×")]
        near = sorted(others, key=lambda s: (abs(s.home - series.home), s.home))[:_MOST_SERIES]
        ways = list(_ways(grid, series, sorted(near, key=lambda s: s.home)))
        chosen = _chosen(series, ways) or _only_way(series, ways)
        doubtful = sum(verdict == "" for *_, verdict in chosen[1]) < 2 if chosen else False
        for position, operands, verdict in chosen[1] if chosen else ():
            one = series.numbers[position]
            assert one, "only positions with a number are tested"
            if verdict == "" or _in_points(one, operands):
                tested.add(chosen[0].code, [one.token, *(operand.token for operand in operands)])
            else:
                _tell(page, tested, chosen[0], one, operands, verdict, doubtful)


def _in_points(one: Printed, operands: Sequence[Printed]) -> bool:
    """Whether it is the difference of two percentages, which many print with a percent sign."""
    if any(operand.token.unit != "%" for operand in (one, *operands)):
        return False
    return "" in (follows(one, _difference, operands), follows(one, _difference, operands[::-1]))


_Result = tuple[int, Sequence[Printed], str]


def _chosen(series: Series, ways: Sequence[_Way]) -> tuple[_Way, list[_Result]] | None:
    """The way that most of the series follows, with its results; None where no way is sure."""
    positions = [i for i, one in enumerate(series.numbers) if one and not one.loose]
    sample = positions[:: max(1, len(positions) // _SAMPLE)]
    tried = []
    for at, way in enumerate(ways):
        results = list(_results(series, way, sample))
        fits = sum(verdict == "" for *_, verdict in results)
        if fits * 2 >= len(results) > 0:
            tried.append((-_sure(series, way, results), len(results) - fits, at))
    best: tuple[float, _Way, list[_Result]] | None = None
    whole: tuple[_Way, list[_Result]] | None = None
    for rank, (_, missed, at) in enumerate(sorted(tried)[:_TRIED]):
        if rank < 3 or (not missed and not whole):
            results = list(_results(series, ways[at], positions))
            sure = _sure(series, ways[at], results)
            if all(verdict == "" for *_, verdict in results):
                whole = whole or (ways[at], results)
            if not best or sure > best[0]:
                best = sure, ways[at], results
    if not best:
        return None
    sure, way, results = best
    fits = sum(verdict == "" for *_, verdict in results)
    needed = _SURE + log10(len(ways))
    if fits == 1 and len(results) == 2 and (series.inside or _RATIO.search(series.name)):
        needed += 0.5  # one of two
    elif fits * 3 < len(results) * 2 or len({series.numbers[at] for at, _, verdict in results if not verdict}) < 2:
        return None
    if sure < needed:
        return None
    # what follows in another way, if only loosely, contradicts nothing
    return whole or (way, results)


def _only_way(series: Series, ways: Sequence[_Way]) -> tuple[_Way, list[_Result]] | None:
    """Of a series too short to show its way, the way that fits it, or that it misses by little where few were tried."""
    positions = [i for i, one in enumerate(series.numbers) if one and not one.loose]
    if len(positions) > 3 or not (series.inside or _RATIO.search(series.name) or _SHARE.search(series.name)):
        return None
    close: list[tuple[float, int]] = []
    for at, way in enumerate(ways):
        results = list(_results(series, way, positions))
        if results and all(verdict == "" for *_, verdict in results) and _sure(series, way, results):
            return way, results
        misses = [_miss(series.numbers[position], way, operands) for position, operands, _ in results]
        if results and max(misses) < _CLOSE:
            close.append((max(misses), at))
    if not close or len(ways) > _FEW or len(results := list(_results(series, ways[min(close)[1]], positions))) > 1:
        return None
    return ways[min(close)[1]], results


def _miss(one: Printed | None, way: _Way, operands: Sequence[Printed]) -> float:
    """By what part of itself a number is off, counted from what it is where nothing differs."""
    assert one, "only positions with a number are tested"
    value = way.formula(*(operand.value for operand in operands))
    return abs(one.value - value) / max(abs(value - way.nothing), 1e-12)


def _sure(series: Series, way: _Way, results: Sequence[_Result]) -> float:
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
        return _RATIO.search(series.name) is not None and not series.inside and series.unit in ("×", "%", "")
    if series.unit == "×" or series.inside or _RATIO.search(series.name):
        return True
    return series.unit == "%" or (series.unit == "pp" and _signed(series))


def _signed(series: Series) -> bool:
    """Whether its numbers are printed with their signs."""
    return sum(one.token.text[:1] in "+-−" for one in series.known) * 2 >= len(series.known)


def _ways(grid: Grid, series: Series, values: Sequence[Series]) -> Iterator[_Way]:
    """Every way in which the series may have been computed."""
    percent = series.unit == "%"
    named = series.inside or _RATIO.search(series.name) or _signed(series)
    for a, b in permutations(values, 2):
        if a.unit != b.unit:
            continue
        pair = _pair(a, b)
        names = a.name.strip(), b.name.strip()
        prior = float(any(_BEFORE.match(one) and _AFTER.match(other) for one, other in (names, names[::-1])))
        if percent and named:
            yield _Way(f"change from {a.name!r} to {b.name!r}", _change, pair, prior=prior)
            yield _Way(f"drop from {a.name!r} to {b.name!r}", _drop, pair, prior=prior)
        if percent:
            yield _Way(f"{a.name!r} of {b.name!r}", _percent, pair, "share")
        else:
            yield _Way(f"{a.name!r} over {b.name!r}", _ratio, pair, nothing=1.0, prior=prior)
        if percent and named and a.unit in ("%", "?"):
            yield _Way(f"points from {a.name!r} to {b.name!r}", _difference, _pair(a, b, "%"), prior=prior)
        elif named and a.unit != "?" and series.unit in ("pp", "", a.unit):
            yield _Way(f"difference of {a.name!r} and {b.name!r}", _difference, pair, prior=prior)
    values = [a for a in values if a.unit != "?"]
    for a in values:
        references = _references(grid, series, a) if named or series.unit == "×" else None
        if references:
            said = "its row of reference"
            if percent:
                yield _Way(f"change of {a.name!r} from {said}", _change, references)
                yield _Way(f"drop of {a.name!r} from {said}", _drop, references)
                yield _Way(f"gain of {a.name!r} on {said}", _gain, references)
                yield _Way(f"{a.name!r} in percent of {said}", _percent_back, references, nothing=100.0)
            else:
                yield _Way(f"{a.name!r} over {said}", _ratio_back, references, nothing=1.0)
                yield _Way(f"{said} over {a.name!r}", _ratio, references, nothing=1.0)
    for counted in grid.counted if percent else ():
        yield _Way(f"counts in {counted.name!r}", _percent, _of_whole(counted), "share")
    for a in values:
        if percent and not series.inside and a.unit != "%" and (whole := _whole_of(grid, a)):
            yield _Way(f"share of {a.name!r} in its total", _percent, _fixed(a, whole), "share")


def _pair(a: Series, b: Series, unit: str = "") -> Callable[[int], Sequence[Printed | None]]:
    def operands(position: int) -> Sequence[Printed | None]:
        one, other = a.numbers[position], b.numbers[position]
        if a.unit == "?" and one and other and not own_unit(one) == own_unit(other) == (unit or own_unit(one)):
            return (None, None)
        return one, other

    return operands


def _of_whole(counted: Counted) -> Callable[[int], Sequence[Printed | None]]:
    return lambda position: (counted.counts[position], counted.wholes[position])


def _fixed(a: Series, whole: Printed) -> Callable[[int], Sequence[Printed | None]]:
    return lambda position: (a.numbers[position], whole)


def _references(grid: Grid, series: Series, a: Series) -> Callable[[int], Sequence[Printed | None]] | None:
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


def _whole_of(grid: Grid, a: Series) -> Printed | None:
    """The number of the total row; where there is no such row, the sum of all."""
    if grid.totals:
        return a.numbers[max(grid.totals)]
    if len(a.known) < max(3, len(a.numbers)) or any(one.loose for one in a.known):
        return None
    step = 0.0 if _counts(a) else sum(one.step for one in a.known)
    value = sum(one.value for one in a.known)
    return Printed(a.known[0].token, value, step, label=f"sum of {a.name!r}: {value:.12g}")


def _results(series: Series, way: _Way, positions: Sequence[int]) -> Iterator[_Result]:
    """At each position the operands and whether the number follows from them."""
    for position in positions:
        one = series.numbers[position]
        known = [operand for operand in way.operands(position) if operand]
        if one and len(known) == 2 and not any(operand.loose for operand in known):
            verdict = follows(one, way.formula, known)
            if verdict is not None:
                yield position, known, verdict


def _tell(
    page: Page, tested: Tested, way: _Way, one: Printed, operands: Sequence[Printed], verdict: str, doubtful: bool
) -> None:
    value = way.formula(*(operand.value for operand in operands))
    span = reach(way.formula, *(operand.rounded for operand in operands))
    level: Level = "warning" if verdict == "cut" or doubtful else "error"
    also = [f"operand {operand.label or page.place(operand.token)}" for operand in operands]
    also += [f"as printed they give {value:.6g}" + (f", from {span[0]:.6g} to {span[1]:.6g}" if span else "")]
    also += ["it would follow if the operands were cut off, not rounded"] if verdict == "cut" else []
    finding = page.finding(way.code, one.token, one.alike(value), way.says, level, also)
    tested.add(way.code, [one.token, *(operand.token for operand in operands)], finding)


def _names_a_ratio(table: Table) -> bool:
    return any(row[0] and _RATIO.search(row[0].text) for row in table.rows)
