"""Rows of a table that give the mean, the median, the least or the greatest of the rows above them."""

import re
from collections.abc import Callable, Sequence
from math import prod
from statistics import median

from campaign.notes.audit_grid import Grid, Series
from campaign.notes.audit_page import Page, Table, Tested
from campaign.notes.audit_printed import Printed, agree
from campaign.notes.audit_sum import PART
from campaign.notes.findings import Level

_ROW = re.compile(
    r"\W*(?:(?P<mean>mean|average|avg\.?)|(?P<median>median)|(?P<min>min(?:imum)?\.?)|(?P<max>max(?:imum)?\.?))"
    r"\W*(?:\((?:s|ms|MB|GB|%)\))?\W*",
    re.IGNORECASE,
)
_WARM = re.compile(r"\b(?:warm|cold|first\srun|discarded|excluded|outlier)", re.IGNORECASE)
"""A row that means leave out."""
_NEAR = 1.5
"""What lies farther out than this is of something else."""
_LONGEST = 40
_MOST_ROWS = 200
_LEFT_OUT = re.compile(r"\b(?:weighted|geo\w*|harmonic|trimmed|across|over|per|macro|micro|all)\b", re.IGNORECASE)


def audit_aggregates(page: Page, table: Table, grid: Grid, tested: Tested) -> None:
    """Every row called so, in each column, against the rows above it."""
    if grid.cut or PART.search(table.lead) or _LEFT_OUT.search(table.lead):
        return
    for row, label in enumerate(grid.labels):
        found = _ROW.fullmatch(label) if len(label) < _LONGEST else None
        rows = _above(grid, row)
        if found and 2 <= len(rows) <= _MOST_ROWS:
            _row(page, grid, row, rows, str(found.lastgroup), tested)


def _above(grid: Grid, row: int) -> list[int]:
    """The rows that a row may sum up: those above it that sum up nothing, from the last heading on."""
    first = max((i for i in grid.heads if i < row), default=-1) + 1
    return [
        i
        for i in range(first, row)
        if i not in grid.totals | grid.asides and not _WARM.search(grid.labels[i][:_LONGEST])
    ]


def _row(page: Page, grid: Grid, row: int, rows: Sequence[int], kind: str, tested: Tested) -> None:
    cells: list[tuple[Series, Printed, list[Printed], bool]] = []
    for series in grid.series:
        one = series.numbers[row]
        items = [item for i in rows if (item := series.numbers[i])]
        if not one or series.inside or series.unit == "?" or len(items) < len(rows) or series.home == 0:
            continue
        if not any(item.loose for item in (one, *items)):
            weights = [[w.value for i in rows if (w := s.numbers[i])] for s in grid.series if s is not series]
            cells.append((series, one.fine(), [item.fine() for item in items], _fits(kind, one, items, weights)))
    right = sum(fits for *_, fits in cells)
    if not right and len(cells) > 1:
        return  # of something that the table does not show
    for series, one, items, fits in cells:
        finding = None
        if not fits:
            if not right and not _meant(kind, one, items):
                continue
            level: Level = "error" if right else "warning"
            value = _VALUE[kind]([item.value for item in items])
            also = [f"item {page.place(item.token)}" for item in items[:12]]
            source = f"{kind} of {len(items)} rows above in {series.name!r}"
            finding = page.finding("sum", one.token, one.alike(value), source, level, also)
        tested.add("sum", [one.token, *(item.token for item in items)], finding)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


_VALUE: dict[str, Callable[[Sequence[float]], float]] = {"mean": _mean, "median": median, "min": min, "max": max}


def _fits(kind: str, one: Printed, items: Sequence[Printed], weights: Sequence[Sequence[float]]) -> bool:
    values = [item.value for item in items]
    room = max(item.fine().step for item in items) / 2
    if kind != "mean":
        if kind != "median" or len(values) % 2:
            return agree(one.fine(), min(items, key=lambda item: abs(item.value - _VALUE[kind](values))).fine())
        return one.holds((median(values) - room, median(values) + room))
    means = [_mean(values)]
    if min(values) > 0:
        means += [prod(values) ** (1 / len(values)), len(values) / sum(1 / value for value in values)]
    if len(values) > 3:
        means += [_mean(sorted(values)[1:-1])]
    for weight in weights:
        if len(weight) == len(values) and min(weight) >= 0 and sum(weight) > 0:
            means.append(sum(w * value for w, value in zip(weight, values, strict=True)) / sum(weight))
    return any(one.holds((mean - room, mean + room)) for mean in means)


def _meant(kind: str, one: Printed, items: Sequence[Printed]) -> bool:
    """Whether a number that is not the one meant must be wrong: a mean within its items, or a maximum below one."""
    values = [item.value for item in items]
    if kind == "max":
        return one.value < max(values) * (_NEAR if max(values) > 0 else 1)
    if kind == "min":
        return one.value > min(values) / (_NEAR if min(values) > 0 else 1)
    low, high = sorted((min(values) / _NEAR, max(values) * _NEAR))
    return low <= one.value <= high
