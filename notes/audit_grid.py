"""The numbers of a table as series that can be computed with: one for each column, or for each row."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from campaign.notes.audit_page import Number, Sight, Table
from campaign.notes.audit_printed import Printed, even, printed
from campaign.notes.units import UNIT

_TOTAL = re.compile(
    r"\W*(?:(?P<sum>(?:grand\s|sub[-\s]?)?totals?(?:\ssum)?|sum(?:\stotal)?|[Σ∑])|all|overall|altogether|combined)"
    r"(?P<more>(?:\s(?!of\b|mean|average|avg|unique|distinct|per\b|possible)[a-z]+(?:/[a-z]+)?){0,2})"
    r"\W*?(?P<bracket>[(\[][^()\[\]]*[)\]])?\W*",
    re.IGNORECASE,
)
SUMMED = re.compile(r"\b(?:(?:sub)?totals?|sum)\b|[Σ∑]", re.IGNORECASE)
"""A label that says that things are added."""
_ASIDE = re.compile(
    r"\W*(?:avg|averages?|means?|medians?|min(?:imum)?|max(?:imum)?|geo\s?means?|std(?:ev|\.? dev)?|variance|p\d+"
    r"|speed-?ups?|ratio|changes?|diff(?:erence)?|delta|percent(?:age)?|share|rate|range|target|goal|limit|budget"
    r"|previous|baseline|trainable)\b[^|]{0,12}|%.*|% of .*|Δ.*",
    re.IGNORECASE,
)
"""A label of a row that is no item of a total below it."""
_OPERATION = re.compile(
    r"\W*(?:mean|avg|average|min|max|count|median|std|var|join|filter|sort|group\s?by|map|reduce|prod(?:uct)?|dot|add|mul"
    r"|multiply|concat|cumsum|softmax|matmul|any|mode|abs|sqrt|argmax|argsort|size|length)\W*",
    re.IGNORECASE,
)
"""A label of an operation; beside one, "sum" is another."""
_SUM = re.compile(r"\W*sum\W*", re.IGNORECASE)
_NESTED = re.compile(
    r"\s*(?:[-–—•·↳└├│>+]\s*\S|of (?:which|those|these|them)\b|thereof\b|incl(?:uding|\.)?\b|including\b)",
    re.IGNORECASE,
)
"""A label of a row that is part of the row above it."""
_MORE = re.compile(r"\W*(?:…|\.\.\.|etc\.?|and (?:more|others)|others?|more|rest)\W*", re.IGNORECASE)
_LONGEST = 120
"""What is longer is no label."""
_BLANK = re.compile(r"[\s\-–—−.]*")
_MAIN_KINDS = frozenset("integer decimal percent multiplier scientific duration".split())
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_SPREAD = re.compile(r"(?:±|\+/-|\+-)\s?[\d.,]+\s?(?:%|[mµun]?s\b)?")
_INSIDE = re.compile(r"[\s*_]*\([\s*_]*$")
_INSIDE_END = re.compile(
    r"[\s*_]*(?:faster|slower|smaller|larger|less|more|fewer|lower|higher|better|worse|speedup)?[\s*_]*\)"
)
_HEADER_UNIT = re.compile(
    r"(?:[(\[,]|\s/)\s*([A-Za-zµμ%×/²³$€£]{1,10})\s*[)\]]?\s*$|(%)|\b([A-Za-z]+/(?:s|sec|min|h|hr|day))\s*$"
)
_TIMES = {
    "ns": 1e-9,
    "µs": 1e-6,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "mins": 60.0,
    "min": 60.0,
    "hr": 3600.0,
    "hrs": 3600.0,
    "h": 3600.0,
}
_TIME_NOUNS = {"hour": "h", "hours": "h", "hrs": "h", "minute": "min", "minutes": "min", "mins": "min"}
_TIME_NOUNS |= {"second": "s", "seconds": "s", "secs": "s"}
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
    gaps: frozenset[int] = frozenset()
    """Positions whose cell says something else than a number; an empty cell or a dash is none."""

    @property
    def known(self) -> list[Printed]:
        return [one for one in self.numbers if one]


@dataclass(frozen=True, slots=True)
class Counted:
    """A column of counts with what each is of: 48 of 60."""

    name: str
    counts: tuple[Printed | None, ...]
    wholes: tuple[Printed | None, ...]
    gaps: frozenset[int] = frozenset()
    """Positions whose cell says something else."""


@dataclass(frozen=True)
class Grid:
    """A table's series, with a label for each position in them."""

    labels: tuple[str, ...]
    series: tuple[Series, ...]
    totals: frozenset[int]
    """Positions whose label says that all is taken together."""
    counted: tuple[Counted, ...] = ()
    called: tuple[str, ...] = ()
    """What each position calls itself as a total; empty for the others."""
    asides: frozenset[int] = frozenset()
    """Positions that sum up in another way, such as an average."""
    nested: frozenset[int] = frozenset()
    """Positions that are parts of the one above them."""
    heads: frozenset[int] = frozenset()
    """Positions that only name a group."""
    cut: bool = False
    """Whether it says that there are more positions than it shows."""


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
    operations = any(_OPERATION.fullmatch(label[:_LONGEST]) for label in labels)
    called = tuple("" if operations and _SUM.fullmatch(said) else said for said in map(_total_of, table.rows))
    found: list[Series] = []
    for column in range(len(table.header)):
        found += _series(table.name(column), [row[column] for row in table.rows], column)
    counted = [_counted(table.name(column), [row[column] for row in table.rows]) for column in range(len(table.header))]
    return Grid(
        labels,
        tuple(found),
        frozenset(i for i, label in enumerate(called) if label),
        tuple(one for one in counted if any(one.counts)),
        called,
        _where(labels, lambda label: bool(_ASIDE.fullmatch(label))),
        _where(labels, lambda label: bool(_NESTED.match(label))),
        frozenset(
            i for i, row in enumerate(table.rows) if not called[i] and not any(c and c.text.strip() for c in row[1:])
        ),
        any(not any(s.numbers[i] for s in found) for i in _where(labels, lambda label: bool(_MORE.fullmatch(label)))),
    )


def _where(labels: Sequence[str], says: Callable[[str], bool]) -> frozenset[int]:
    return frozenset(i for i, label in enumerate(labels) if len(label) < _LONGEST and says(label))


def _total_of(row: Sequence[Sight | None]) -> str:
    """What a row calls itself as a total, in the first of its cells that does, ahead of its numbers."""
    for cell in row:
        if main_number(cell):
            break
        if (
            cell
            and len(cell.text) < _LONGEST
            and not cell.block.inside("code", 0)
            and _TOTAL.fullmatch(cell.text.strip())
        ):
            return cell.text.strip()
    return ""


def total_kind(label: str) -> Literal["sure", "named", "all", ""]:
    """How a label calls its row a total: by that word alone, with others, or as all; empty where it does not."""
    found = _TOTAL.fullmatch(label.strip()) if len(label) < _LONGEST else None
    if not found:
        return ""
    if not found["sum"]:
        return "all"
    bracket = (found["bracket"] or "").strip("()[] ")
    return "sure" if not found["more"] and (not bracket or is_unit(bracket)) else "named"


def is_unit(said: str) -> bool:
    """Whether some words are the symbol of a unit."""
    return (
        said in _TIMES
        or said in ("%", "$", "€", "£", "#", "n", "k", "K", "M")
        or UNIT.fullmatch(f" {said}") is not None
    )


def rows(table: Table) -> Grid:
    """The table's rows as series, the columns but the first as positions."""
    labels = tuple(table.name(column) for column in range(1, len(table.header)))
    found: list[Series] = []
    for index, row in enumerate(table.rows):
        found += _series(label_of(row), list(row[1:]), index)
    called = tuple(label if total_kind(label) else "" for label in labels)
    return Grid(labels, tuple(found), _where(called, bool), called=called)


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
            gaps = frozenset(
                i for i, (number, cell) in enumerate(picked) if not number and cell and not _BLANK.fullmatch(cell.text)
            )
            found.append(Series(name[:_LONGEST], tuple(even(numbers)), unit, inside, home, gaps))
    return found


def _counted(name: str, cells: list[Sight | None]) -> Counted:
    pairs = [_count_of(cell) for cell in cells]
    gaps = frozenset(
        i
        for i, (pair, cell) in enumerate(zip(pairs, cells, strict=True))
        if not pair and cell and not _BLANK.fullmatch(cell.text)
    )
    return Counted(
        name[:_LONGEST], tuple(pair and pair[0] for pair in pairs), tuple(pair and pair[1] for pair in pairs), gaps
    )


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
    said = (found[1] or found[2] or found[3]) if found else ""
    return said if found and (found[3] or is_unit(said)) else ""


def _one_unit(numbers: list[Printed | None], header: str) -> tuple[list[Printed | None], str]:
    """The numbers in one unit, times in seconds, and that unit."""
    units = {own_unit(one) or header for one in numbers if one}
    if units <= _TIMES.keys():
        return [one and one.times(_TIMES[own_unit(one) or header]) for one in numbers], "s"
    return numbers, units.pop() if len(units) == 1 else "?"


def own_unit(one: Printed) -> str:
    """The unit that is printed behind a number."""
    if one.token.end == one.token.noun_end:
        return one.token.unit or ""
    return _TIME_NOUNS.get((one.token.unit or "").lower(), "")


def in_base(series: Series, position: int) -> tuple[Printed | None, str]:
    """A number of a series with its unit, a time in seconds even where the others are something else."""
    one = series.numbers[position]
    if not one or series.unit != "?":
        return one, series.unit
    unit = own_unit(one)
    return (one.times(_TIMES[unit]), "s") if unit in _TIMES else (one, unit)
