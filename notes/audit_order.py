"""Order: tables that say how they are sorted, ranks, and rows that print one thing twice."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from campaign.notes.audit_grid import Grid, Series, columns, main_number
from campaign.notes.audit_page import Page, Sight, Table, Tested
from campaign.notes.audit_printed import Printed, agree
from campaign.notes.audit_sorted import TIMES, Order, fits, said_order, wrong_step

_RANK = re.compile(r"(?:rank(?:ing)?|place|position|pos\.?)", re.IGNORECASE)
_SCORE = re.compile(r"\b(?:scores?|points|pts|time|elo|rating|accuracy|wins|votes|latency|throughput)\b", re.IGNORECASE)
"""The name of what ranks are given for."""
_NUMBERED = re.compile(r"(?:#|no\.?|nr\.?|№)", re.IGNORECASE)
_ABOUT_TABLE = re.compile(
    r"\b(?:table|rows?|results?|below|following|above|engines?|models?|tools?|entries)\b|:\s*$", re.IGNORECASE
)
_WORDS = re.compile(r"[a-z]{3,}")
_LIKELY_ROWS = 10
"""From so many rows on, one column in order but for one or two rows is no chance."""


def audit_order(page: Page, tested: Tested) -> None:
    """Every table of the page: ranks, the order that the text says, rows that repeat."""
    for table in page.tables:
        if len(table.rows) < 2:
            continue
        grid = columns(table)
        ranked = _ranks(page, table, grid, tested)
        if not _said_order(page, table, grid, tested) and not ranked:
            _nearly_sorted(page, table, grid, tested)
        _repeated(page, table, grid, tested)


# Ranks


def _ranks(page: Page, table: Table, grid: Grid, tested: Tested) -> bool:
    """The rank columns against 1, 2, 3 …, ties allowed; whether there was one."""
    for series in grid.series:
        name = series.name.strip()
        plain = _NUMBERED.fullmatch(name) is not None
        if series.inside or not (plain or _RANK.fullmatch(name)) or series.unit:
            continue
        known = series.known
        if len(known) < 3 or len(known) < len(series.numbers) or any(one.token.kind != "integer" for one in known):
            continue
        values = [round(one.value) for one in known]
        if values[0] != 1 or (plain and sum(b - a == 1 for a, b in pairwise(values)) < 0.8 * (len(values) - 1)):
            continue
        wrong = next((i for i, fits in enumerate(_rank_fits(values)) if not fits), None)
        finding = None
        if wrong is not None:
            before = known[wrong - 1]
            expected = f"{values[wrong - 1] + 1} after {values[wrong - 1]}"
            also = [f"the rank before: {page.place(before.token)}"]
            finding = page.finding("order", known[wrong].token, expected, f"column {name!r}", "error", also)
        tested.add("order", [one.token for one in known], finding)
        if wrong is None:
            _ranked_by(page, grid, series, tested)
        return True
    return False


def _ranked_by(page: Page, grid: Grid, rank: Series, tested: Tested) -> None:
    """The only other column of numbers, where its name says what ranks are given for, and one row is out of order."""
    others = [s for s in grid.series if s is not rank and not s.inside]
    if len(others) != 1 or not _SCORE.search(others[0].name) or len(others[0].known) < len(others[0].numbers):
        return
    known = others[0].known
    falls = [i for i, (a, b) in enumerate(pairwise(known), 1) if b.value < a.value]
    rises = [i for i, (a, b) in enumerate(pairwise(known), 1) if b.value > a.value]
    wrong, way = (falls, "rising") if known[-1].value > known[0].value else (rises, "falling")
    if not falls or not rises:
        tested.add("order", [one.token for one in known])
    elif len(wrong) == 1:
        one, before = known[wrong[0]], known[wrong[0] - 1]
        also = [f"the row before: {page.place(before.token)}"]
        source = f"column {others[0].name!r} beside ranks"
        finding = page.finding("order", one.token, f"{way} numbers", source, "warning", also)
        tested.add("order", [each.token for each in known], finding)


def _rank_fits(values: Sequence[int]) -> Iterator[bool]:
    """Whether each rank may stand where it stands: the place itself, the one before again, or the next."""
    yield values[0] == 1
    for place, (before, value) in enumerate(pairwise(values), 2):
        yield value in (place, before, before + 1)


# What the text says


def _said_order(page: Page, table: Table, grid: Grid, tested: Tested) -> bool:
    """The column that the text above, or a header, says the table is sorted by; whether it names one."""
    candidates = [one for one in grid.series if not one.inside and len(one.known) >= max(3, 0.8 * len(one.numbers))]
    order = said_order(table.lead)
    if order and (_ABOUT_TABLE.search(table.lead) or not order.by):
        series = _named(candidates, order)
        if series:
            _in_order(page, series, order, tested)
            return True
    for series in candidates:
        order = said_order(table.name(series.home)) if 0 <= series.home < len(table.header) else None
        if order and not order.by:
            _in_order(page, series, order, tested)
            return True
    return False


def _named(candidates: Sequence[Series], order: Order) -> Series | None:
    """The one column that the words can be of."""
    if order.by:
        words = set(_WORDS.findall(order.by.lower()))
        named = [one for one in candidates if words & set(_WORDS.findall(one.name.lower()))]
        if len(named) != 1 and order.measured and len(candidates) == 1:
            return candidates[0]
        return named[0] if len(named) == 1 else None
    fitting = [one for one in candidates if fits(order, one.unit)]
    timed = [one for one in fitting if one.unit in TIMES] if order.fast else []
    return timed[0] if len(timed) == 1 else fitting[0] if len(fitting) == 1 else None


def _in_order(page: Page, series: Series, order: Order, tested: Tested) -> None:
    known = series.known
    wrong = wrong_step(order, known, series.unit)
    finding = None
    if wrong:
        at, expected = wrong
        also = [f"the row before: {page.place(known[at - 1].token)}"]
        expected = f"{expected} in {series.name!r}"
        finding = page.finding("order", known[at].token, expected, order.said, "error", also)
    tested.add("order", [one.token for one in known], finding)


def _nearly_sorted(page: Page, table: Table, grid: Grid, tested: Tested) -> None:
    """The first column of numbers, where all rows but one or two are in its order and nothing else orders them."""
    series = [s for s in grid.series if not s.inside]
    rows = [i for i in range(len(table.rows)) if i not in grid.totals]
    if not series or series[0].home == 0 or len(rows) < _LIKELY_ROWS or grid.totals:
        return
    first = series[0]
    known = [first.numbers[i] for i in rows]
    labels = [grid.labels[i].lower() for i in rows]
    if (
        not all(known)
        or labels == sorted(labels)
        or 4 * sum(map(_has_digit, labels)) > len(labels)
        or len(set(labels)) < len(labels)
    ):
        return
    if any(_sorted([s.numbers[i] for i in rows]) for s in series[1:]):
        return
    values = [one for one in known if one]
    for sign, way in ((1, "rising"), (-1, "falling")):
        wrong = [i for i, (a, b) in enumerate(pairwise(values), 1) if sign * b.value < sign * a.value]
        steps = len({one.value for one in values})
        if wrong and len(wrong) <= 2 and len(wrong) * 8 < len(values) and steps > 0.8 * len(values):
            one, before = values[wrong[0]], values[wrong[0] - 1]
            also = [f"the row before: {page.place(before.token)}"]
            also += [f"{len(values) - 1 - len(wrong)} of {len(values) - 1} steps are {way}"]
            source = f"column {first.name!r}, sorted but for {len(wrong)}"
            finding = page.finding("order", one.token, f"{way} numbers", source, "warning", also)
            tested.add("order", [one.token for one in values], finding)
            return
        if not wrong and steps > 1:
            tested.add("order", [one.token for one in values])
            return


def _has_digit(label: str) -> bool:
    return any(character.isdigit() for character in label)


def _sorted(numbers: Sequence[Printed | None]) -> bool:
    values = [one.value for one in numbers if one]
    if len(values) < len(numbers) or len(set(values)) < 3:
        return False
    return all(a <= b for a, b in pairwise(values)) or all(a >= b for a, b in pairwise(values))


# Rows that repeat


def _repeated(page: Page, table: Table, grid: Grid, tested: Tested) -> None:
    """Two rows of one label and the same words, in a table whose other labels are unique."""
    keys: dict[tuple[str, ...], list[int]] = {}
    for index, row in enumerate(table.rows):
        if row[0] and not main_number(row[0]):
            keys.setdefault(_words_of(row), []).append(index)
    repeats = [rows for rows in keys.values() if len(rows) > 1]
    if len(repeats) != 1 or len(repeats[0]) != 2 or len(table.rows) < 4:
        return
    labels = [label for label in grid.labels if label]
    if len(set(labels)) != len(table.rows) - 1:
        return
    series = [s for s in grid.series if not s.inside]
    if any(s.home == 1 and not s.unit and all(one.token.kind == "integer" for one in s.known) for s in series):
        return  # the next column counts what tells the two rows apart
    one_row, other_row = repeats[0]
    for s in series:
        one, other = s.numbers[one_row], s.numbers[other_row]
        if one and other:
            finding = None
            if not agree(one.fine(), other.fine()):
                also = [f"the other row: {page.place(one.token)}"]
                source = f"{s.name!r} of {grid.labels[one_row]!r}"
                finding = page.finding("twice", other.token, one.token.text, source, "warning", also)
            tested.add("twice", [one.token, other.token], finding)


def _words_of(row: Sequence[Sight | None]) -> tuple[str, ...]:
    """What the cells of a row say that are no numbers."""
    return tuple(cell.text.strip().lower() if cell and not main_number(cell) else "" for cell in row)
