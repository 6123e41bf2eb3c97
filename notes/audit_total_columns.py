"""Total columns of a table against the columns beside them: their sum, or a quantity times a price."""

import re
from collections.abc import Sequence
from math import isclose, prod

from campaign.notes.audit_grid import SUMMED, Grid, Series, total_kind
from campaign.notes.audit_page import Page, Table, Tested
from campaign.notes.audit_sum import NOT_ADDED, Sum, added_up, level_of, tell_sum

_STATUS = re.compile(
    r"\W*(?:tests?\s)?(?:pass|fail|success|skip|error|correct|wrong|complete|done|open|closed)\w*\W*", re.IGNORECASE
)
"""A column beside which another one like it may have been left out."""
_DERIVED = re.compile(r"\b(?:diff(?:erence)?|delta|savings?|net|overhead|remaining|balance)\b", re.IGNORECASE)
_QUANTITY = re.compile(
    r"\W*(?:qty|quantity|units?|hours?|hrs|nights?|days?|months?|count|seats?|users?|pieces|pcs|no\.?|number|amount|n)\b",
    re.IGNORECASE,
)
_PRICE = re.compile(r"\b(?:price|weight|points|rate|cost|each|per|unit|fee|salary|wage)\b", re.IGNORECASE)
_AMOUNT = re.compile(r"\W*(?:(?:line\s|sub-?)?totals?|amount|sum|cost|total (?:price|cost|amount))\b", re.IGNORECASE)


def total_column(page: Page, table: Table, grid: Grid, series: Series, tested: Tested) -> None:
    """A total column against those beside it: the ones that most rows say, or all of them."""
    if NOT_ADDED.search(series.name):
        return
    others = [s for s in grid.series if not s.inside and s is not series and s.home and not NOT_ADDED.search(s.name)]
    others = [s for s in others if s.unit == series.unit and not _DERIVED.search(s.name) and not SUMMED.search(s.name)]
    before = [s for s in others if s.home < series.home]
    after = [s for s in others if s.home > series.home]
    windows = [before[i:] for i in range(max(0, len(before) - 8), len(before) - 1)]
    windows += [after[:i] for i in range(min(len(after), 8), 1, -1)]
    if before and after:
        windows.append(others)
    results = [_rows_of(series, window) for window in windows]
    fits = [sum(one.verdict == "" for one in found) for found in results]
    if not results or not max(map(len, results)):
        return
    best = max(range(len(results)), key=lambda at: (fits[at], -at))
    found = results[best]
    sure = total_kind(series.name) == "sure"
    most = fits[best] >= 2 and fits[best] * 3 >= len(found) * 2
    if most or (sure and fits[best] * 2 >= len(found)):
        support = 1
    elif sure and not max(fits) and len(found) <= 40 and all(map(_may_be_sum, found)):
        support = 0
    else:
        return
    said = f"{table.lead} {series.name}"
    for one in found:
        if one.verdict == "":
            tested.add("sum", [one.total.token, *(item.token for item in one.items)])
        elif level := level_of(one, "sure", support, said):
            doubtful = not support or (one.over and any(_STATUS.fullmatch(s.name) for s in windows[best]))
            tell_sum(page, tested, one, f"sum of its row in {series.name!r}", "warning" if doubtful else level)


def _rows_of(series: Series, window: Sequence[Series]) -> list[Sum]:
    found = []
    for row, total in enumerate(series.numbers):
        items = [one for s in window if (one := s.numbers[row])]
        gaps = any(row in s.gaps for s in window)
        if total and len(items) >= 2 and not gaps and series.unit != "?":
            found.append(added_up(series.name, series.unit, total, items))
    return found


def _may_be_sum(one: Sum) -> bool:
    """Whether a total that is not the sum of its row may have been meant as one."""
    values = [item.value for item in one.items]
    product = isclose(prod(values), one.total.value, rel_tol=1e-6)
    return not product and max(values) < one.total.value <= 2 * one.added


def amounts(page: Page, grid: Grid, series: Series, tested: Tested) -> bool:
    """A column of amounts against quantities and prices beside it; whether it is one."""
    if not _AMOUNT.match(series.name):
        return False
    others = [s for s in grid.series if not s.inside and s is not series and s.home < series.home]
    prices = [s for s in others if _PRICE.search(s.name) and s.unit == series.unit]
    quantities = [s for s in others if _QUANTITY.match(s.name) and not s.unit and s not in prices]
    if len(quantities) != 1 or len(prices) != 1:
        return False
    (quantity,), (price,) = quantities, prices
    rows = [row for row in range(len(series.numbers)) if row not in grid.totals]
    known = [
        (t, q, p) for r in rows if (t := series.numbers[r]) and (q := quantity.numbers[r]) and (p := price.numbers[r])
    ]
    known = [three for three in known if not any(one.loose for one in three)]
    wrong = []
    for total, count, each in known:
        count, each = count.fine(), each.fine()
        room = abs(count.value) * each.step / 2 if each.token.kind == "decimal" else 0.0
        value = count.value * each.value
        if not total.fine().holds((value - room, value + room)):
            wrong.append((total, count, each, value))
    if not known or 2 * len(wrong) > len(known):
        return False
    for total, count, each in known:
        tested.add("sum", [total.token, count.token, each.token])
    for total, count, each, value in wrong:
        also = [f"operand {page.place(one.token)}" for one in (count, each)]
        source = f"{quantity.name!r} times {price.name!r}"
        tested.findings.append(page.finding("sum", total.token, total.alike(value), source, "error", also))
    return True
