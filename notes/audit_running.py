"""Running totals: a column that adds up another one row by row."""

import re
from itertools import pairwise

from campaign.notes.audit_grid import Grid, Series
from campaign.notes.audit_page import Page, Tested
from campaign.notes.audit_printed import Printed

_RUNNING = re.compile(
    r"\b(?:cumulative|cumul\.?|cum\.?|running\s(?:total|sum)|(?:total|sum)\s(?:so\sfar|to\sdate))(?!\w)", re.IGNORECASE
)
_FEWEST = 3


def audit_running(page: Page, grid: Grid, tested: Tested) -> None:
    """Every column that calls itself so, against the one beside it that most of its rows add up."""
    for series in grid.series:
        if series.inside or not _RUNNING.search(series.name) or series.unit == "?":
            continue
        rows = [row for row in range(len(series.numbers)) if row not in grid.totals and row not in grid.asides]
        others = [s for s in grid.series if s is not series and not s.inside and s.unit == series.unit]
        others = [s for s in others if not _RUNNING.search(s.name) and s.home]
        best = max((_expected(series, s, rows) for s in others), key=_fits, default=[])
        if len(best) >= _FEWEST and 2 * (_fits(best) - 1) >= len(best) - 1 and _fits(best) > 1:
            _hold(page, series, best, tested)


_Step = tuple[Printed, Printed, float, bool]


def _expected(series: Series, items: Series, rows: list[int]) -> list[_Step]:
    """Each running total with its item, what it should be, and whether it is; empty where a row lacks one."""
    found: list[_Step] = []
    added, room = 0.0, 0.0
    for row in rows:
        one, item = series.numbers[row], items.numbers[row]
        if not one or not item or one.loose or item.loose:
            return []
        one, item = one.fine(), item.fine()
        exact = one.whole and item.whole and not series.unit
        added = added + item.value if found else one.value
        room = room + item.step / 2 if found else one.step / 2
        fits = abs(one.value - added) < 1e-9 if exact else one.holds((added - room, added + room))
        found.append((one, item, added, fits))
    return found


def _fits(steps: list[_Step]) -> int:
    return sum(fits for *_, fits in steps)


def _hold(page: Page, series: Series, steps: list[_Step], tested: Tested) -> None:
    for before, (one, item, value, fits) in pairwise(steps):
        finding = None
        if not fits:
            also = [f"the row before: {page.place(before[0].token)}", f"item {page.place(item.token)}"]
            source = f"running total in {series.name!r}"
            finding = page.finding("sum", one.token, one.alike(value), source, "error", also)
        tested.add("sum", [one.token, item.token], finding)
