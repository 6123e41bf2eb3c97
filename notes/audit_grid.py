"""The numbers of a table as series that can be computed with: one for each column, or for each row."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from campaign.notes.audit_page import Number, Sight, Table
from campaign.notes.audit_printed import Printed, even, printed

TOTAL = re.compile(
    r"\W*(?:grand\s|sub-?)?(?:totals?|sum|all|overall|altogether|combined)(?:\s(?!of\b|mean|average|avg|unique|distinct)[a-z]+){0,2}\W*",
    re.IGNORECASE,
)
"""A label that says that all is taken together."""
SUMMED = re.compile(r"\b(?:totals?|sum)\b", re.IGNORECASE)
"""A label that says that things are added."""
_MAIN_KINDS = frozenset("integer decimal percent multiplier scientific duration".split())
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_SPREAD = re.compile(r"(?:±|\+/-|\+-)\s?[\d.,]+\s?(?:%|[mµun]?s\b)?")
_INSIDE = re.compile(r"[\s*_]*\([\s*_]*$")
_INSIDE_END = re.compile(
    r"[\s*_]*(?:faster|slower|smaller|larger|less|more|fewer|lower|higher|better|worse|speedup)?[\s*_]*\)"
)
_HEADER_UNIT = re.compile(r"[(\[,/]\s*([A-Za-zµμ%×/²³]{1,10})\s*[)\]]?\s*$|(%)")
_TIMES = {"ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "min": 60.0, "h": 3600.0}
_BEHIND = re.compile(r"\s(?:faster|speedup|smaller)(?!\w)")
_TEXT = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Series:
    """The numbers of one column or row, None where a cell holds none that stands alone."""

    name: str
    numbers: tuple[Printed | None, ...]
    unit: str
    """The unit of its cells, or that in its header; "?" where they differ."""
    inside: bool = False
    """Whether they stand in brackets behind other numbers."""
    home: int = -1
    """Which column or row it comes from."""

    @property
    def known(self) -> list[Printed]:
        return [one for one in self.numbers if one]


@dataclass(frozen=True, slots=True)
class Counted:
    """A column of counts with what each is of: 48 of 60."""

    name: str
    counts: tuple[Printed | None, ...]
    wholes: tuple[Printed | None, ...]


@dataclass(frozen=True)
class Grid:
    """A table's series, with a label for each position in them."""

    labels: tuple[str, ...]
    series: tuple[Series, ...]
    totals: frozenset[int]
    """Positions whose label says that all is taken together."""
    counted: tuple[Counted, ...] = ()


def main_number(sight: Sight | None) -> Number | None:
    """The number that a cell holds, where it holds hardly anything else."""
    if not sight or not sight.numbers:
        return None
    first = sight.numbers[0]
    if first.token.kind not in _MAIN_KINDS or _TEXT.search(sight.text, 0, first.start):
        return None
    rest = _BEHIND.sub("", _SPREAD.sub("", _BRACKETS.sub("", sight.text[first.noun_end :])))
    return None if any(character.isalnum() for character in rest) else first


def inside_number(sight: Sight | None) -> Number | None:
    """The number in brackets behind a cell's own: 2.04x in "0.167s (2.04x)"."""
    if not sight or len(sight.numbers) < 2:
        return None
    first, second = sight.numbers[:2]
    opens = _INSIDE.search(sight.text, first.noun_end, second.start)
    if not opens or opens.start() != first.noun_end or not _INSIDE_END.match(sight.text, second.end):
        return None
    return second


def columns(table: Table) -> Grid:
    """The table's columns as series, the rows as positions."""
    labels = tuple(label_of(row) for row in table.rows)
    found: list[Series] = []
    for column in range(len(table.header)):
        found += _series(table.name(column), [row[column] for row in table.rows], column)
    counted = [_counted(table.name(column), [row[column] for row in table.rows]) for column in range(len(table.header))]
    totals = frozenset(i for i, label in enumerate(labels) if TOTAL.fullmatch(label))
    return Grid(labels, tuple(found), totals, tuple(one for one in counted if any(one.counts)))


def rows(table: Table) -> Grid:
    """The table's rows as series, the columns but the first as positions."""
    labels = tuple(table.name(column) for column in range(1, len(table.header)))
    found: list[Series] = []
    for index, row in enumerate(table.rows):
        found += _series(label_of(row), list(row[1:]), index)
    return Grid(labels, tuple(found), frozenset(i for i, label in enumerate(labels) if TOTAL.fullmatch(label)))


def label_of(row: Sequence[Sight | None]) -> str:
    """What the first cell of a row says."""
    return row[0].text.strip() if row and row[0] else ""


def _series(name: str, cells: list[Sight | None], home: int) -> list[Series]:
    found = []
    for pick, inside in ((main_number, False), (inside_number, True)):
        picked = [(pick(cell), cell) for cell in cells]
        numbers = [printed(number, cell.text) if number and cell else None for number, cell in picked]
        if any(numbers):
            numbers, unit = _one_unit(numbers, "" if inside else _header_unit(name))
            found.append(Series(name, tuple(even(numbers)), unit, inside, home))
    return found


def _counted(name: str, cells: list[Sight | None]) -> Counted:
    pairs = [_count_of(cell) for cell in cells]
    return Counted(name, tuple(pair and pair[0] for pair in pairs), tuple(pair and pair[1] for pair in pairs))


def _count_of(cell: Sight | None) -> tuple[Printed, Printed] | None:
    """Count and whole of a cell that holds nothing else."""
    if not cell or len(cell.numbers) != 2 or cell.numbers[0].token.kind != "count-of":
        return None
    first, second = cell.numbers
    if cell.text[: first.start].strip() or cell.text[second.noun_end :].strip():
        return None
    count, whole = printed(first, cell.text), printed(second, cell.text)
    return (count.exact(), whole.exact()) if count and whole and count.step == whole.step == 1 else None


def _header_unit(name: str) -> str:
    found = _HEADER_UNIT.search(name)
    return (found[1] or found[2] or "") if found else ""


def _one_unit(numbers: list[Printed | None], header: str) -> tuple[list[Printed | None], str]:
    """The numbers in one unit, times in seconds, and that unit."""
    units = {own_unit(one) or header for one in numbers if one}
    if units <= _TIMES.keys():
        return [one and one.times(_TIMES[own_unit(one) or header]) for one in numbers], "s"
    return numbers, units.pop() if len(units) == 1 else "?"


def own_unit(one: Printed) -> str:
    """The unit that is printed behind a number."""
    return one.token.unit or "" if one.token.end == one.token.noun_end else ""
