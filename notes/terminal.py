"""Text for a terminal of some width: aligned columns that never run over its edge."""

import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

NARROWEST, USUAL, WIDEST = 80, 100, 160
"""Columns: what a table needs, what is taken where nobody says, and what a line of text may have."""
GAP = 2
INDENT = 4


def columns() -> int:
    """Columns of the terminal, or of $COLUMNS; USUAL where there is none."""
    return min(max(shutil.get_terminal_size((USUAL, 24)).columns, NARROWEST), WIDEST)


@dataclass(frozen=True)
class Line:
    """One line of a grid."""

    cells: tuple[str, ...]
    """A cell for each column; the first one alone where `text` takes the place of the others, or for a heading."""
    text: str = ""
    """What takes the place of the other cells."""
    remarks: tuple[str, ...] = ()
    """What stands below, indented."""


def grid(head: Sequence[str], lines: Sequence[Line], width: int, right: Sequence[int] = ()) -> str:
    """Aligned columns under their heads, at most `width` wide; columns in `right` are aligned to the right.

    A first cell that is too long has a line of its own.
    """
    full = [line.cells for line in lines if len(line.cells) > 1]
    widths = [max([len(name), *(len(cells[i]) for cells in full)]) for i, name in enumerate(head)]
    first = max([len(head[0]), *(len(line.cells[0]) for line in lines if len(line.cells) > 1 or line.text)])
    rest = sum(widths[1:]) + GAP * (len(head) - 1)
    widths[0] = min(first, max(width - rest, INDENT))

    def joined(cells: Sequence[str]) -> str:
        padded = [c.rjust(widths[i]) if i in right else c.ljust(widths[i]) for i, c in enumerate(cells)]
        return (" " * GAP).join(padded).rstrip()

    shown = [joined(head), joined(["-" * one for one in widths])]
    for line in lines:
        start, cells = line.cells[0], line.cells[1:]
        if not cells and not line.text:
            shown.append(start)
            continue
        if len(start) > widths[0]:
            shown.append(start)
            start = ""
        if line.text:
            shown += wrapped(line.text, width, start.ljust(widths[0] + GAP), " " * (widths[0] + GAP))
        else:
            shown.append(joined([start, *cells]))
        for remark in line.remarks:
            shown += wrapped(remark, width, " " * INDENT)
    return "\n".join(shown)


def wrapped(text: str, width: int, first: str = "", later: str | None = None) -> list[str]:
    """`text` in lines of at most `width`, the first one begun with `first`, the others with `later` (like `first`)."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=first if later is None else later,
        break_on_hyphens=False,
        break_long_words=False,
    )
