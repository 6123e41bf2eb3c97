"""Rows of Markdown tables that are missing, were put in, or change places: told as rows, not word by word."""

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MISSING = " is missing"
"""How the finding of a lost row ends; what else the cut leads to follows from it."""
_ROW = re.compile(r"[ \t>]*\|")
_DELIMITER = re.compile(r"[ \t>]*\|[\s|:-]*$")
_MARGIN = re.compile(r"^[ \t>]*\||\|[ \t]*$")

Span = tuple[int, int, int, int]
"""Start and end in the text as it was built, and in the text as it is; one of the two is empty."""


class RowChange(NamedTuple):
    """One thing that happened to whole rows of a table."""

    at: int
    """Where it is seen in the text as it is."""
    said: str
    expected: str
    spans: tuple[Span, ...]
    """The rows that are here or there alone."""


class _Line(NamedTuple):
    """A row that only one of the two texts has at this place."""

    span: Span
    text: str
    table: int
    """The offset in the text as it is of the table that it stands in."""

    @property
    def is_lost(self) -> bool:
        return self.span[0] < self.span[1]


def row_changes(built: str, found: str) -> list[RowChange]:
    """The rows that `found` lacks, has besides, or has in another order, as against `built`, by their places."""
    if built == found:
        return []
    by_table: dict[int, list[_Line]] = {}
    for line in _single(built, found):
        by_table.setdefault(line.table, []).append(line)
    changes = [change for lines in by_table.values() for change in _in_table(lines, built, found)]
    return sorted(changes, key=lambda change: change.at)


def _in_table(lines: Sequence[_Line], built: str, found: str) -> Iterator[RowChange]:
    """What happened to the rows of one table: those in another order first."""
    lost = Counter(line.text for line in lines if line.is_lost)
    put_in = Counter(line.text for line in lines if not line.is_lost)
    both = lost & put_in
    moved = []
    for is_lost in (True, False):
        left = both.copy()
        for line in lines:
            if line.is_lost == is_lost and left[line.text] > 0:
                left[line.text] -= 1
                moved.append(line)
    if moved:
        spans = tuple(line.span for line in moved)
        now = _labels(found[min(span[2] for span in spans) : max(span[3] for span in spans)])
        was = _labels(built[min(span[0] for span in spans) : max(span[1] for span in spans)])
        at = min(span[2] for span in spans)
        said = f"the rows stand in another order: {', '.join(now)}"
        yield RowChange(at, said, f"as it was built: {', '.join(was)}", spans)
    for line in lines:
        if line in moved:
            continue
        row = f"the row `{line.text.strip()}`"
        told = (f"{row}{MISSING}", "it here, as it was built") if line.is_lost else (f"{row} was put in", "no such row")
        yield RowChange(line.span[2], *told, (line.span,))


def _labels(text: str) -> list[str]:
    """What tells the rows of a text apart: the first cells that have words, or the rows whole."""
    rows = [line.strip() for line in text.splitlines() if line.strip()]
    cells = [next((cell.strip() for cell in _MARGIN.sub("", row).split("|") if cell.strip()), row) for row in rows]
    return cells if len(set(cells)) == len(cells) else [f"`{row}`" for row in rows]


def _single(built: str, found: str) -> Iterator[_Line]:
    """The rows that stand in one of the texts alone, where the lines around them are the same."""
    old, new = built.splitlines(keepends=True), found.splitlines(keepends=True)
    old_at, new_at = _offsets(old), _offsets(new)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal" or not all(map(_is_row, [*old[i1:i2], *new[j1:j2]])):
            continue
        if tag == "replace" and Counter(old[i1:i2]) != Counter(new[j1:j2]):
            continue
        table = _table(new, j1, new_at)
        if table is None:
            continue
        for index in range(i1, i2):
            yield _Line((old_at[index], old_at[index + 1], new_at[j1], new_at[j1]), old[index], table)
        for index in range(j1, j2):
            yield _Line((old_at[i2], old_at[i2], new_at[index], new_at[index + 1]), new[index], table)


def _is_row(line: str) -> bool:
    """Whether a line is a row of a table with cells in it."""
    return bool(_ROW.match(line)) and not _DELIMITER.match(line)


def _table(lines: Sequence[str], at: int, offsets: Sequence[int]) -> int | None:
    """The offset of the table whose body a line at this index belongs to; None for a header, or outside of tables."""
    first = at
    while first and _ROW.match(lines[first - 1]):
        first -= 1
    return offsets[first] if any(_DELIMITER.match(line) for line in lines[first:at]) else None


def _offsets(lines: Sequence[str]) -> list[int]:
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return offsets
