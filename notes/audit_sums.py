"""Sums in tables: every total row and total column of one."""

from campaign.notes.audit_grid import SUMMED, Grid
from campaign.notes.audit_page import Page, Table, Tested
from campaign.notes.audit_total_columns import amounts, total_column
from campaign.notes.audit_total_rows import total_row

_MOST_TOTALS = 20
"""With more total rows than that, what each is the total of cannot be told."""


def audit_sums(page: Page, table: Table, grid: Grid, tested: Tested) -> None:
    """The total rows and total columns of one table."""
    for row in sorted(grid.totals) if len(grid.totals) <= _MOST_TOTALS else ():
        total_row(page, table, grid, row, tested)
    for series in grid.series:
        added = not series.inside and SUMMED.search(series.name) and series.unit != "×"
        if added and not amounts(page, grid, series, tested):
            total_column(page, table, grid, series, tested)
