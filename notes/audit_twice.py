"""One quantity printed in two places: the same words around a number, or a sentence that names a table's cell."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from campaign.notes.audit_grid import Grid, columns
from campaign.notes.audit_page import Number, Page, Sight, Table, Tested
from campaign.notes.audit_printed import Printed, agree, printed

_SUMMARY = re.compile(
    r"\b(?:summary|tl;?dr|abstract|overview|highlights|key results?|conclusions?|at a glance)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\Z")
_NOT_THE_VALUE = re.compile(
    r"\b(?:by|from|of|than|plus|minus|another|first|last|every|each|all|top|in|with|at|for)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_UNIT_PART = re.compile(r"[(\[].*?[)\]]|,\s*\S{1,4}$")
_MOST_ROWS = 60
_FEWEST_WORDS = 6


@dataclass
class _Section:
    """What stands under one heading."""

    title: str
    texts: list[Sight] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def audit_twice(page: Page, tested: Tested) -> None:
    """Every sentence with one number, against the same words and against the tables of its section."""
    frames: dict[str, list[tuple[_Section, Printed]]] = {}
    for section in _sections(page):
        grids = [(table, columns(table)) for table in section.tables if len(table.rows) <= _MOST_ROWS]
        for sight in section.texts:
            for words, number in _sentences(sight):
                one = printed(number, sight.text)
                measured = number.token.unit and number.end == number.noun_end
                if not one or one.loose or not (measured or number.token.kind == "decimal"):
                    continue
                if len(_LETTERS.findall(words)) >= _FEWEST_WORDS:
                    frames.setdefault(words, []).append((section, one))
                if len(grids) == 1 and not _NOT_THE_VALUE.search(sight.text[max(0, number.start - 20) : number.start]):
                    _cell_named(page, words, one, *grids[0], tested)
    for places in frames.values():
        if len(places) == 2:
            (section, one), (other_section, other) = places
            if section is other_section or any(_SUMMARY.search(s.title) for s in (section, other_section)):
                _compare(page, one, other, "the same words", tested)


def _sections(page: Page) -> Iterator[_Section]:
    section = _Section("")
    for node in page.outline:
        sight = page.sight_of(node) if node.kind in ("heading", "paragraph") else None
        if node.kind == "heading":
            yield section
            section = _Section(sight.text if sight else "")
        elif node.kind == "paragraph" and sight:
            section.texts.append(sight)
        elif node.kind == "table" and 0 <= node.table < len(page.tables):
            section.tables.append(page.tables[node.table])
    yield section


def _sentences(sight: Sight) -> Iterator[tuple[str, Number]]:
    """The sentences that hold one number, in small letters with a mark in its place."""
    start = at = 0
    for found in _SENTENCE_END.finditer(sight.text):
        inside = []
        while at < len(sight.numbers) and sight.numbers[at].start < found.start():
            inside.append(sight.numbers[at])
            at += 1
        if len(inside) == 1:
            before = sight.text[start : inside[0].start]
            words = f"{before}#{sight.text[inside[0].end : found.start()]}"
            yield " ".join(words.lower().split()), inside[0]
        start = found.end()


def _cell_named(page: Page, words: str, one: Printed, table: Table, grid: Grid, tested: Tested) -> None:
    """The cell whose row and column a sentence names, where it names one of each."""
    rows = [
        row
        for row, label in enumerate(grid.labels)
        if label.lower() in words
        and _LETTERS.search(label)
        and re.search(rf"(?<![\w-]){re.escape(label.lower())}(?![\w-])", words)
    ]
    if len(rows) != 1 or grid.labels.count(grid.labels[rows[0]]) != 1:
        return
    unit = one.token.unit or "" if one.token.end == one.token.noun_end else ""
    named = []
    for series in grid.series:
        name = _UNIT_PART.sub("", series.name).strip().lower()
        if name and series.home > 0 and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", words):
            named.append(series)
    if len(named) != 1 or len(_LETTERS.findall(_UNIT_PART.sub("", named[0].name))) < 1:
        return
    cell = named[0].numbers[rows[0]]
    if not cell or not unit or unit != (cell.token.unit or named[0].unit):
        return
    low, high = sorted((abs(one.value), abs(cell.value / cell.factor)))
    if high <= 1.5 * low:
        source = f"{table.name(named[0].home)!r} of {grid.labels[rows[0]]!r}"
        _compare(page, cell.times(1 / cell.factor), one, source, tested)


def _compare(page: Page, one: Printed, other: Printed, source: str, tested: Tested) -> None:
    finding = None
    if not agree(one, other):
        also = [f"printed {page.place(one.token)}"]
        finding = page.finding("twice", other.token, one.token.text, source, "warning", also)
    tested.add("twice", [one.token, other.token], finding)
