"""A text as its audit reads it: numbers by block, tables by cell, lists and headings in their order."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from markdown_it.token import Token as MarkdownToken

from campaign.notes.findings import Finding, Level
from campaign.notes.html_reader import read_html
from campaign.notes.numbers import Token
from campaign.notes.parser import parser
from campaign.notes.reader import Block

_LINE_END = re.compile(r"\r\n?|\n")
_RAW_TABLE = re.compile(r"<table(?=[\s>])", re.IGNORECASE)
_RAW_TABLE_TAG = re.compile(r"<(/?)table(?=[\s>])[^>]*>?", re.IGNORECASE)
_STRUCK = re.compile(
    r"(?<!~)~~(?=[^\s~])(?:[^~\n]|\n(?!\s*\n))*(?<=[^\s~])~~(?!~)|<(del|s|strike)>(?:(?!</?\1>)[^\n])*</\1>",
    re.IGNORECASE,
)
"""What is struck out: the text no longer says it."""
_MEND = "nothing can mend this but a person: correct the one that is wrong"


@dataclass(frozen=True, slots=True)
class Number:
    """A number or number word with its place in the text of its block."""

    token: Token
    start: int
    end: int
    noun_end: int


@dataclass(frozen=True, slots=True)
class Sight:
    """What a reader sees in one block: its text and the numbers in it."""

    index: int
    block: Block
    numbers: tuple[Number, ...]

    @property
    def text(self) -> str:
        return self.block.text


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the sight of each cell by row and column, None where the cell is empty."""

    header: tuple[Sight | None, ...]
    rows: tuple[tuple[Sight | None, ...], ...]
    lead: str = ""
    """What the paragraph or heading directly above it says."""

    def name(self, column: int) -> str:
        """What the header says above a column."""
        sight = self.header[column] if column < len(self.header) else None
        return sight.text.strip() if sight else ""


@dataclass(frozen=True, slots=True)
class Node:
    """A heading, paragraph, list, table or other block of the outline."""

    kind: str
    """"heading", "paragraph", "list", "table", "html" or "other"."""
    parent: int
    """The number of the container that it stands in; siblings share it."""
    line: int
    """Lines from 0, the last one left out."""
    end: int
    level: int = 0
    """Of a heading."""
    items: int = 0
    """Of a list."""
    first: int | None = None
    """The number of the first item of a numbered list."""
    table: int = -1
    """Which of the page's tables it is."""


@dataclass
class Page:
    """A text with its numbers and its structure."""

    source: str
    path: str
    blocks: Sequence[Block]
    tokens: Sequence[Token]
    outline: Sequence[Node] = ()
    """Empty where the structure is not known; then nothing is counted against lists."""
    _lines: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._lines = [0, *(found.end() for found in _LINE_END.finditer(self.source))]

    @cached_property
    def sights(self) -> list[Sight]:
        """Every block with its numbers, but for those that are struck out."""
        counted: list[list[Token]] = [[] for _ in self.blocks]
        struck = [found.span() for found in _STRUCK.finditer(self.source)]
        starts = [start for start, _ in struck]
        for token in self.tokens:
            at = bisect_right(starts, token.start) - 1
            if token.role in ("number", "word") and not (at >= 0 and token.end <= struck[at][1]):
                counted[token.block].append(token)
        return [
            Sight(index, block, tuple(_number(block, token) for token in counted[index]))
            for index, block in enumerate(self.blocks)
        ]

    @cached_property
    def tables(self) -> list[Table]:
        """Every table, those in raw HTML last; rows are as wide as its header."""
        leads = self._leads
        tables = [_table(cells, leads.get(number, "")) for number, cells in enumerate(_cells(self.sights))]
        return tables + [_table(cells, "") for cells in _cells(self._raw_sights) if _holds_data(cells)]

    @cached_property
    def _leads(self) -> dict[int, str]:
        """For each table what stands directly above it."""
        found: dict[int, str] = {}
        last: dict[int, Node] = {}
        for node in self.outline:
            before = last.get(node.parent)
            if node.kind == "table" and before and before.kind in ("paragraph", "heading"):
                sight = self.sight_of(before)
                found[node.table] = sight.text if sight else ""
            last[node.parent] = node
        return found

    @cached_property
    def _raw_sights(self) -> list[Sight]:
        """The cells of the tables that stand as HTML in a Markdown text, with the numbers that were found there."""
        spans = self._raw_tables()
        if not spans:
            return []
        text = [" "] * len(self.source)
        for start, end in spans:
            text[start:end] = self.source[start:end]
        tokens = sorted(
            (token for token in self.tokens if token.role in ("number", "word")), key=lambda token: token.start
        )
        starts = [token.start for token in tokens]
        sights = []
        for index, block in enumerate(read_html("".join(text))):
            if block.cell:
                inside = tokens[bisect_left(starts, block.source[0]) : bisect_left(starts, block.ends[-1])]
                sights.append(Sight(index, block, tuple(_number(block, token) for token in inside)))
        return sights

    def _raw_tables(self) -> list[tuple[int, int]]:
        """Where tables stand as HTML in a Markdown text."""
        spans: list[tuple[int, int]] = []
        for node in self.outline:
            if node.kind != "html":
                continue
            at, end = self._lines[node.line], self._lines[min(node.end, len(self._lines) - 1)]
            while found := _RAW_TABLE.search(self.source, max(at, spans[-1][1] if spans else 0), max(end, at)):
                at = _table_end(self.source, found.start())
                spans.append((found.start(), at))
        return spans

    @cached_property
    def sight_on(self) -> dict[int, Sight]:
        """By line, from 0, the first block of prose that begins there."""
        found: dict[int, Sight] = {}
        for sight in self.sights:
            if sight.block.kind not in ("cell", "alt", "html"):
                found.setdefault(self.line(sight.block.source[0]) - 1, sight)
        return found

    def sight_of(self, node: Node) -> Sight | None:
        """The text of a paragraph or heading of the outline."""
        return next((self.sight_on[line] for line in range(node.line, node.end) if line in self.sight_on), None)

    def line(self, offset: int) -> int:
        """The line, from 1, of an offset in the source."""
        return bisect_right(self._lines, offset)

    def place(self, token: Token) -> str:
        """A number as it is printed, with its line and column."""
        return f"{token.text!r} at {token.line}:{token.column}"

    def finding(
        self, code: str, token: Token, expected: str, source: str, level: Level, also: Sequence[str] = ()
    ) -> Finding:
        """A finding about a number."""
        return Finding(
            code=code,
            path=self.path,
            line=token.line,
            column=token.column,
            said=token.text,
            expected=expected,
            source=source,
            mend=_MEND,
            level=level,
            length=token.end - token.start,
            also=tuple(also),
        )


@dataclass
class Tested:
    """What an audit has tested so far: findings, how many relations of each code, and which numbers they held."""

    findings: list[Finding] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)

    def add(self, code: str, tokens: Sequence[Token], finding: Finding | None = None) -> None:
        """One relation between these numbers, with its finding where it does not hold."""
        self.counts[code] = self.counts.get(code, 0) + 1
        self.numbers.update(token.start for token in tokens)
        if finding:
            self.findings.append(finding)

    def told(self, tokens: Iterable[Token]) -> bool:
        """Whether one of these numbers is in a finding."""
        places = {(one.line, one.column) for one in self.findings}
        return any((token.line, token.column) in places for token in tokens)


def _cells(sights: Sequence[Sight]) -> list[dict[tuple[int, int], Sight]]:
    """By table the cells by row and column, the first block of each."""
    found: dict[int, dict[tuple[int, int], Sight]] = {}
    for sight in sights:
        if cell := sight.block.cell:
            found.setdefault(cell.table, {})[cell.row, cell.column] = sight
    return [found.get(number, {}) for number in range(1 + max(found, default=-1))]


def _table(cells: dict[tuple[int, int], Sight], lead: str) -> Table:
    height = 1 + max((row for row, _ in cells), default=0)
    width = 1 + max((column for _, column in cells), default=-1)
    grid = [tuple(cells.get((row, column)) for column in range(width)) for row in range(height)]
    return Table(grid[0], tuple(grid[1:]), lead)


def _holds_data(cells: dict[tuple[int, int], Sight]) -> bool:
    """Whether an HTML table has a header of words, which one that only arranges pictures has not."""
    header = [sight for (row, _), sight in cells.items() if row == 0]
    return len(header) > 1 and len({row for row, _ in cells}) > 1 and not any(sight.numbers for sight in header[:1])


def _table_end(source: str, start: int) -> int:
    """Where the table that begins at `start` ends, with those inside it."""
    depth = 0
    for found in _RAW_TABLE_TAG.finditer(source, start):
        depth += -1 if found[1] else 1
        if not depth:
            return found.end()
    return len(source)


def _number(block: Block, token: Token) -> Number:
    starts = block.source
    start = bisect_right(starts, token.start) - 1
    return Number(token, start, bisect_right(starts, token.end - 1), bisect_right(starts, token.noun_end - 1))


_LEAVES = {"heading_open": "heading", "paragraph_open": "paragraph", "table_open": "table"}
_LISTS = ("bullet_list_open", "ordered_list_open")
_CONTAINERS = ("list_item_open", "blockquote_open", "footnote_reference_open")
_OTHERS = {"fence": "other", "code_block": "other", "hr": "other", "html_block": "html"}


def outline(markdown: str) -> list[Node]:
    """Headings, paragraphs, lists and tables of a Markdown text, in the order of their source."""
    return list(_walk(markdown))


def _walk(markdown: str) -> Iterator[Node]:
    made = parser()
    tokens: list[MarkdownToken] = []
    # what stands within a line is not asked for here
    made.block.parse(_LINE_END.sub("\n", markdown), made, {}, tokens)
    items: dict[int, int] = {}
    open_lists: list[int] = []
    for number, token in enumerate(tokens):
        if token.type in _LISTS:
            open_lists.append(number)
            items[number] = 0
        elif token.type == "list_item_open":
            items[open_lists[-1]] += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            open_lists.pop()
    containers = [-1]
    tables = -1
    for number, token in enumerate(tokens):
        line, end = token.map or (0, 0)
        if token.type in _LISTS:
            start = token.attrs.get("start", 1) if token.type == "ordered_list_open" else None
            first = int(start) if start is not None else None
            yield Node("list", containers[-1], line, end, items=items[number], first=first)
        elif token.type in _LEAVES:
            tables += token.type == "table_open"
            level = int(token.tag[1:]) if token.type == "heading_open" else 0
            yield Node(_LEAVES[token.type], containers[-1], line, end, level=level, table=tables)
        elif token.type in _OTHERS:
            yield Node(_OTHERS[token.type], containers[-1], line, end)
        if token.type in _CONTAINERS:
            containers.append(number)
        elif token.type.replace("_close", "_open") in _CONTAINERS:
            containers.pop()
