"""Whole rows of tables: lost, put in, in another order."""

import pytest

from campaign.notes.table_rows import row_changes

HEAD = "Some words.\n\n| Start | ms |\n|---|---:|\n"
ROWS = ("| 23:11 | 69.52 |\n", "| 23:12 | 73.16 |\n", "| 23:14 | 75.97 |\n")
END = "\nMore words.\n"
BUILT = HEAD + "".join(ROWS) + END


def told(*rows: str) -> list[tuple[str, str]]:
    found = HEAD + "".join(rows) + END
    return [(change.said, found[change.at : change.at + 7]) for change in row_changes(BUILT, found)]


def test_lost_row_is_one_change():
    """It is named whole, and stands where the row below it stands now."""
    assert told(ROWS[0], ROWS[2]) == [("the row `| 23:12 | 73.16 |` is missing", "| 23:14")]


def test_row_put_in_is_one_change():
    """A row that the build did not write is named whole."""
    assert told(*ROWS[:2], "| 23:13 | 70.00 |\n", ROWS[2]) == [("the row `| 23:13 | 70.00 |` was put in", "| 23:13")]


@pytest.mark.parametrize(
    ("order", "now"),
    [((1, 0, 2), "23:12, 23:11"), ((2, 1, 0), "23:14, 23:12, 23:11"), ((1, 2, 0), "23:12, 23:14, 23:11")],
    ids=str,
)
def test_rows_in_another_order_are_one_change(order, now):
    """However many change places, their order is told once."""
    ((said, _),) = told(*(ROWS[index] for index in order))
    assert said == f"the rows stand in another order: {now}"


def test_rows_are_told_apart_whole_where_their_first_cells_are_the_same():
    """Two rows that begin alike are named by all of their cells."""
    same = ("| a | 1 |\n", "| a | 2 |\n")
    (change,) = row_changes(HEAD + "".join(same), HEAD + "".join(same[::-1]))
    assert change.said == "the rows stand in another order: `| a | 2 |`, `| a | 1 |`"


@pytest.mark.parametrize(
    "found",
    [BUILT.replace("73.16", "73.17"), BUILT.replace("|---|---:|\n", ""), BUILT.replace("words", "other words"), BUILT],
    ids=["cell", "delimiter", "prose", "nothing"],
)
def test_other_changes_are_left_to_the_words(found):
    """A changed cell, a broken table and prose are no matter of whole rows."""
    assert row_changes(BUILT, found) == []


def test_changed_cell_beside_a_lost_row_is_left_to_the_words():
    """Rows of which some are lost and others changed are compared word by word."""
    assert told(ROWS[0].replace("52", "53"), ROWS[2]) == []
