"""Total rows of a table against the columns above or below them: subtotals, grand totals, groups."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from campaign.notes.audit_amounts import in_common, kind_of
from campaign.notes.audit_grid import Counted, Grid, Series, in_base, total_kind
from campaign.notes.audit_page import Number, Page, Table, Tested
from campaign.notes.audit_sum import NOT_ADDED, Sum, added_up, level_of, tell_sum

_NO_AMOUNT = re.compile(r"[×%?°]|.*/.*|pp|bps|[kMG]?Hz|fps|QPS|RPS|TPS|dB\w*|x")
_DEDUCTED = re.compile(
    r"\W*(?:discounts?|refunds?|less|minus|credits?|coupons?|deductions?|rebates?|returns?|savings|expenses?|costs?|spent|removed)\b",
    re.IGNORECASE,
)
_KEYED = re.compile(
    r"\W*(?:metrics?|propert(?:y|ies)|parameters?|keys?|fields?|stat(?:istic)?s?|measures?|indicators?|kpi|settings?|facts?)?\W*",
    re.IGNORECASE,
)
"""The name of a first column whose rows are each of something else."""
_GRAND = re.compile(r"\W*grand\b", re.IGNORECASE)
_MOST_LAST = 40


def total_row(page: Page, table: Table, grid: Grid, row: int, tested: Tested) -> None:
    """The cells of a total row against the cells of their columns."""
    label = grid.called[row]
    kind = total_kind(label)
    rows = _sets(grid, row)
    columns = [s for s in grid.series if s.numbers[row] and not s.inside and not NOT_ADDED.search(s.name)]
    columns += [s for counted in grid.counted for s in _as_series(counted) if s.numbers[row]]
    found = [one for s in columns if (one := _best(grid, s, row, rows))]
    if len(found) > 1 and not any(one.verdict == "" for one in found):
        found = _last_rows(grid, columns, row) or found
    support = sum(one.verdict == "" for one in found)
    said = f"{table.lead} {label}"
    keyed = row + 1 < len(table.rows) or _KEYED.fullmatch(table.name(0)[:99]) is not None
    for one in found:
        if one.verdict == "":
            tested.add("sum", [one.total.token, *(item.token for item in one.items)])
        elif level := level_of(one, kind, support, f"{said} {one.name}", grid.cut, len(found) == 1, keyed):
            tell_sum(page, tested, one, f"sum of {one.name!r} above {label!r}", level)


def _as_series(counted: Counted) -> Iterator[Series]:
    """Counts as a column of their own, and what they are of, where that differs from row to row."""
    yield Series(counted.name, counted.counts, "", gaps=counted.gaps)
    if len({one.value for one in counted.wholes if one}) > 2:
        yield Series(counted.name, counted.wholes, "", gaps=counted.gaps)


def _sets(grid: Grid, row: int) -> list[list[int]]:
    """The sets of rows that a total row may be the total of, the likeliest first."""
    plain = [
        i for i in range(len(grid.labels)) if i not in grid.totals and i not in grid.asides and i not in grid.heads
    ]
    above = [i for i in plain if i < row]
    sums = [i for i in sorted(grid.totals) if i < row]
    if not above:
        later = [i for i in sorted(grid.totals) if i > row]
        below = [i for i in plain if not later or i < later[0]]
        return [[i for i in below if i not in grid.nested], below, [i for i in plain if i > row], later]
    last = sums[-1] if sums else -1
    since = [i for i in above if i > last]
    rest = [*(i for i in sums if total_kind(grid.called[i]) != "all"), *since]
    sets = [since, rest, above]
    if _GRAND.match(grid.called[row]) or not since:
        sets = [rest, above]
    heads = [i for i in grid.heads if i < row]
    if heads:
        sets.append([i for i in above if i > max(heads)])
    sets += [[i for i in chosen if i not in grid.nested] for chosen in sets if grid.nested.intersection(chosen)]
    aside = [i for i in range(row) if i not in grid.totals and i not in grid.heads]
    unique: list[list[int]] = []
    for chosen in [*sets, aside]:
        if chosen and chosen not in unique:
            unique.append(chosen)
    return unique


def _best(grid: Grid, series: Series, row: int, sets: Sequence[Sequence[int]]) -> Sum | None:
    """The total of a column in its row, with the rows that give it, or that miss it least."""
    found = [one for rows in sets if (one := _sum_of(grid, series, row, rows))]
    signed = [i for i in range(len(grid.labels)) if _DEDUCTED.match(grid.labels[i])]
    if signed:
        found += [one for rows in sets if (one := _sum_of(grid, series, row, rows, signed)) and one.verdict == ""]
    if not found:
        return None
    return next(
        (one for verdict in ("", "loose", "near") for one in found if one.verdict == verdict),
        min(found, key=lambda one: (one.gaps, abs(one.total.value - one.added))),
    )


def _sum_of(grid: Grid, series: Series, row: int, rows: Sequence[int], deducted: Sequence[int] = ()) -> Sum | None:
    total, unit = in_base(series, row)
    if not total or _NO_AMOUNT.fullmatch(unit):
        return None
    items, gaps = [], any(i in series.gaps for i in rows)
    for i in rows:
        item, own = in_base(series, i)
        if item and own == unit:
            items.append(replace(item, value=-abs(item.value)) if i in deducted else item)
        gaps |= bool(item) and own != unit
    if unit != series.unit and (mixed := _mixed(series, row, rows)):
        return mixed
    grouped = any(i in grid.totals for i in rows) or any(i in grid.totals for i in range(row))
    if len(items) < (1 if grouped else 2):
        return None
    return added_up(series.name, unit, total, items, gaps)


def _mixed(series: Series, row: int, rows: Sequence[int]) -> Sum | None:
    """The total of sizes in several units, such as kB and MB; None where a cell holds something else."""
    known = [one for i in (*rows, row) if (one := series.numbers[i])]
    numbers = [
        Number(one.token, 0, one.token.end - one.token.start, one.token.noun_end - one.token.start) for one in known
    ]
    if (
        len(known) <= len(rows)
        or len(known) < 3
        or any(kind_of(number)[0] not in ("bytes", "bits") for number in numbers)
    ):
        return None
    found = []
    for *items, total in in_common(numbers, [one.fine() for one in known]):
        found.append(added_up(series.name, total.token.unit or "", total, items))
    return min(found, key=lambda one: ("", "near", "loose", "no").index(one.verdict), default=None)


def _last_rows(grid: Grid, columns: Sequence[Series], row: int) -> list[Sum]:
    """The totals of the last rows alone, where that explains every column."""
    for start in range(row - 2, max(0, row - _MOST_LAST), -1):
        found = [_sum_of(grid, series, row, range(start, row)) for series in columns]
        if all(one and one.verdict == "" for one in found):
            return [one for one in found if one]
    return []
