"""Tables: their sums, what is computed from other numbers of theirs, and shares of one whole."""

from collections.abc import Sequence
from dataclasses import replace

from campaign.notes.audit_aggregates import audit_aggregates
from campaign.notes.audit_derived import audit_derived
from campaign.notes.audit_grid import Grid, columns, rows
from campaign.notes.audit_page import Page, Table, Tested
from campaign.notes.audit_printed import Printed
from campaign.notes.audit_rates import audit_rate_columns
from campaign.notes.audit_running import audit_running
from campaign.notes.audit_sums import audit_sums
from campaign.notes.audit_ways import RATIO, SHARE
from campaign.notes.findings import Finding


def audit_tables(page: Page, tested: Tested) -> None:
    """Every table of the page, by columns and by rows."""
    for table in page.tables:
        if len(table.rows) < 1 or len(table.header) < 2:
            continue
        by_column = columns(table)
        audit_sums(page, table, by_column, tested)
        audit_running(page, by_column, tested)
        audit_aggregates(page, table, by_column, tested)
        audit_derived(page, by_column, tested)
        audit_rate_columns(page, by_column, tested)
        _whole(page, by_column, tested)
        if len(table.rows) <= 40 and _names_a_ratio(table):
            audit_derived(page, rows(table), tested, by_row=True)


def _names_a_ratio(table: Table) -> bool:
    return any(row[0] and RATIO.search(row[0].text) for row in table.rows)


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
        if len(items) < 2 or not (hundred or SHARE.search(series.name)) or tested.told(one.token for one in items):
            continue  # a share that is wrong already makes a wrong sum
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
