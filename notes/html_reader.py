"""A rendered page as a reader sees it, every character with its place in the HTML."""

import re
from collections import Counter
from dataclasses import dataclass, field

from campaign.notes.html_pieces import RAW, Piece, pieces, stretches, text_of
from campaign.notes.reader import Block, Cell, Span

FURNITURE = "data-furniture"
"""The attribute by which a page of ours marks what is not of its text: contents, badges, links back."""


def read_html(html: str, *, article: bool = False) -> list[Block]:
    """The blocks of a page in the order of their source, with the kinds and spans that a Markdown text has.

    Scripts, styles, comments, `<pre>`, the insides of pictures and whatever is hidden are unread, and so are the
    marks of lists; white space is one space. Of an `article` only what stands in `<main>` is read, without what is
    marked as furniture. Any text is taken; it costs time in proportion to its length.
    """
    page = _Page(html, article)
    for piece in pieces(html):
        match piece.kind:
            case "text":
                page.text(piece)
            case "start":
                page.opened(piece)
            case "end":
                page.closed(piece.name)
    return page.blocks()


_BLOCKS = frozenset(
    """address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol optgroup option p pre search
    section summary table tbody td tfoot th thead tr ul""".split()
)
"""Elements that stand as blocks of their own."""
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_UNREAD = RAW | frozenset(
    """annotation annotation-xml audio canvas datalist map meter object pre listing progress rp rt select svg template
    video""".split()
)
"""Elements of whose content a reader sees nothing, or what is no text."""
_ROWS = frozenset("tr tbody thead tfoot".split())
_CELLS = frozenset("td th caption".split())
_SCOPES = _CELLS | {"table", "object", "template"}
"""Elements out of which no end tag of another kind reaches."""
_LISTS = frozenset("ul ol menu dir dl select datalist".split())
_ITEMS = {"li": ("li",), "dd": ("dd", "dt"), "dt": ("dd", "dt"), "option": ("option",)}
"""Items of a list, with those that the next one ends."""
_CODE = frozenset("code kbd samp tt".split())
_KINDS = {"blockquote": "quote", "li": "item", "dd": "item", "dt": "item", "td": "cell", "th": "cell"}
_KINDS |= {f"h{level}": "heading" for level in range(1, 7)}
_INVISIBLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
_ORDINAL_END = re.compile(r"(?:st|nd|rd|th)<")
"""Raised letters that are no exponent; a lowered text that follows no word is no index either."""
_LABEL = re.compile(r"\[?\s?[\w*†‡§¶.:]{1,12}\s?\]?")
_SCHEME = re.compile(r"(?:https?://|mailto:)?(?:www\.)?", re.IGNORECASE)
_MOST_SPAN = 100
"""No cell is taken to cover more columns or rows."""
_MOST_COLUMNS = 1000
"""Behind this column no cell from above is looked for."""
_UNSEEN = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
# Soft hyphen, zero-width characters, word joiner, byte order mark: a reader sees nothing there.


@dataclass(slots=True)
class _Draft:
    """A block while it is written."""

    text: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def put(self, text: str, start: int, end: int) -> None:
        """Take what the source from `start` to `end` stands for; a space only after something else."""
        for character in text:
            white = character in " \t\n\r\f"
            if character in _UNSEEN or (white and (not self.text or self.text[-1] == " ")):
                continue
            self.text.append(" " if white else character)
            self.starts.append(start)
            self.ends.append(end)

    def read(self, html: str, start: int, end: int) -> None:
        for shown, begin, stop in stretches(html, start, end):
            self.put(shown, begin, stop)

    def take_back(self, at: int) -> None:
        """Forget the character at `at`, before which no span ends."""
        del self.text[at], self.starts[at], self.ends[at]
        for index in reversed(range(len(self.spans))):
            span = self.spans[index]
            if span.end <= at:
                break  # spans are noted in the order in which they end
            self.spans[index] = Span(span.kind, span.start - (span.start > at), span.end - 1)

    def mark(self, kind: str, start: int) -> None:
        if len(self.text) > start:
            self.spans.append(Span(kind, start, len(self.text)))

    def block(self, kind: str, cell: Cell | None = None) -> Block:
        size = len(self.text) - (self.text[-1:] == [" "])
        return Block(
            "".join(self.text[:size]),
            tuple(self.starts[:size]),
            tuple(self.ends[:size]),
            kind,
            tuple(Span(span.kind, span.start, min(span.end, size)) for span in self.spans if span.start < size),
            cell,
        )


@dataclass(slots=True)
class _Table:
    """Where the reading is in a table."""

    index: int
    row: int = -1
    column: int = 0
    covered: dict[int, int] = field(default_factory=dict)
    """The last row into which a cell from above reaches, by column."""

    def cell(self, columns: int, rows: int) -> Cell:
        """The next cell, which covers so many columns and rows."""
        while self.column < _MOST_COLUMNS and self.covered.get(self.column, -1) >= self.row:
            self.column += 1
        found = Cell(self.index, max(self.row, 0), self.column)
        if rows > 1:
            self.covered |= dict.fromkeys(range(self.column, self.column + columns), self.row + rows - 1)
        self.column += columns
        return found


@dataclass(slots=True)
class _Element:
    """An open element, and what its end undoes."""

    name: str
    kind: str
    unread: bool
    draft: _Draft
    """The block that was written where it began, and how long it was."""
    start: int
    href: str | None


class _Page:
    """A page while it is read: the open elements, and the block that is written."""

    def __init__(self, html: str, article: bool) -> None:
        self.html = html
        self.article = article
        self.open: list[_Element] = []
        self.scopes = [("", Counter[str]())]
        """The open elements that hold end tags in, with how many elements of each name are open in each."""
        self.within: Counter[str] = Counter()
        """How many such elements of each name are open."""
        self.lists = [Counter[str]()]
        """How many items of each name are open in each open list."""
        self.unread = 0
        self.mains = 0
        self.foreign = 0
        self.kinds: list[str] = []
        self.kinds_open: Counter[str] = Counter()
        self.tables: list[_Table] = []
        self.table_count = 0
        self.cells: list[Cell] = []
        self.draft = _Draft()
        self.pictures: list[_Draft] = []
        self.found: list[Block] = []

    def blocks(self) -> list[Block]:
        """All blocks, once the source has ended."""
        while self.open:
            self._pop()
        self._end_block()
        return [block for block in self.found if not block.text.isspace()]

    @property
    def _reads(self) -> bool:
        return not self.unread and (self.mains > 0 or not self.article)

    # What the source says

    def text(self, piece: Piece) -> None:
        if self._reads:
            self.draft.read(self.html, piece.start, piece.end)

    def opened(self, piece: Piece) -> None:
        name = piece.name
        if name in _BLOCKS or name in _SCOPES:
            self._end_block()
        if (name in _ROWS or name in _CELLS) and not self._makes_room(name):
            return  # a browser takes no cell outside a table
        self._end_before(name)
        hidden = self._hides(piece)
        if self._reads and not hidden:
            self._show(piece)
        if name in _VOID or (piece.closes_itself and (self.foreign or name in ("svg", "math"))):
            return
        href = self._value(piece, "href") if name == "a" and "href" in piece.attributes else None
        unread = hidden or name in _UNREAD
        self._push(_Element(name, self._kind(piece), unread, self.draft, len(self.draft.text), href), piece)

    def closed(self, name: str) -> None:
        if name == "br":
            self._end_block()
        scope, names = self.scopes[-1]
        if name in _CELLS:
            there = scope == name
        elif name in _SCOPES:
            there = self.within[name] > 0
        elif name in _ROWS and scope in _CELLS and len(self.scopes) > 1:
            there = self.scopes[-2][1][name] > 0
        else:
            there = names[name] > 0
        if there:
            self._pop_to(name)

    # What a start tag ends

    def _makes_room(self, name: str) -> bool:
        """End the cell or row before a new one; whether we are in a table at all."""
        scope, _ = self.scopes[-1]
        if scope in _CELLS:
            self._pop_to(scope)
        scope, names = self.scopes[-1]
        if scope != "table":
            return False
        if name in _ROWS:
            for ended in ("tr",) if name == "tr" else ("tr", "tbody", "thead", "tfoot"):
                if names[ended]:
                    self._pop_to(ended)
        return True

    def _end_before(self, name: str) -> None:
        """End the paragraph before a block, the item before the next one, and a link before another."""
        for ended in _ITEMS.get(name, ()):
            if self.lists[-1][ended]:
                self._pop_to(ended)
        names = self.scopes[-1][1]
        if name in _BLOCKS and names["p"]:
            self._pop_to("p")
        if name == "a" and names["a"]:
            self._pop_to("a")

    # What a reader sees

    def _show(self, piece: Piece) -> None:
        """Take what is seen of a start tag itself."""
        sign = {"br": " ", "sup": "^", "sub": "_", "img": "\ufffc", "svg": "\ufffc"}.get(piece.name)
        ordinal = piece.name == "sup" and _ORDINAL_END.match(self.html, piece.end)
        small_print = piece.name == "sub" and self.draft.text[-1:] in ([], [" "])
        if not sign or ordinal or small_print:
            return
        self.draft.put(sign, piece.start, piece.end)
        label = piece.attributes.get("alt" if piece.name == "img" else "aria-label")
        if sign == "\ufffc" and label:
            self.pictures.append(_Draft())
            self.pictures[-1].read(self.html, *label)

    def _hides(self, piece: Piece) -> bool:
        said = piece.attributes
        return bool(
            "hidden" in said
            or (self.article and FURNITURE in said)
            or ("aria-hidden" in said and self._value(piece, "aria-hidden").lower() == "true")
            or ("style" in said and _INVISIBLE.search(self._value(piece, "style")))
            or (piece.name == "dialog" and "open" not in said)
        )

    def _kind(self, piece: Piece) -> str:
        """The kind of block that is in the element; empty where it is the one of what is around it."""
        if piece.name == "section" and "footnotes" in self._value(piece, "class").split():
            return "footnote"
        if piece.name == "li" and self._value(piece, "role") == "doc-endnote":
            return "footnote"
        return _KINDS.get(piece.name, "")

    def _value(self, piece: Piece, name: str) -> str:
        return text_of(self.html, *piece.attributes[name]) if name in piece.attributes else ""

    def _count(self, piece: Piece, name: str) -> int:
        said = re.match(r"\s*(\d{1,5})", self._value(piece, name))
        return min(max(int(said[1]), 1), _MOST_SPAN) if said else 1

    # Open elements

    def _push(self, element: _Element, piece: Piece) -> None:
        name = element.name
        self.open.append(element)
        self.scopes[-1][1][name] += 1
        self.unread += element.unread
        self.mains += name == "main"
        self.foreign += name in ("svg", "math")
        if name in _ITEMS:
            self.lists[-1][name] += 1
        if element.kind:
            self.kinds.append(element.kind)
            self.kinds_open[element.kind] += 1
        if name == "table":
            self.tables.append(_Table(self.table_count))
            self.table_count += 1
        elif name == "tr":
            self.tables[-1].row += 1
            self.tables[-1].column = 0
        elif element.kind == "cell":
            self.cells.append(self.tables[-1].cell(self._count(piece, "colspan"), self._count(piece, "rowspan")))
        if name in _SCOPES:
            self.within[name] += 1
            self.scopes.append((name, Counter()))
        if name in _SCOPES or name in _LISTS:
            self.lists.append(Counter())

    def _pop_to(self, name: str) -> None:
        """End the innermost open element of this name, and whatever is open in it."""
        while self._pop() != name:
            pass

    def _pop(self) -> str:
        element = self.open.pop()
        name = element.name
        if name in _BLOCKS or name in _SCOPES:
            self._end_block()
        elif self._reads:
            self._end_span(element)
        if name in _SCOPES or name in _LISTS:
            self.lists.pop()
        if name in _SCOPES:
            self.scopes.pop()
            self.within[name] -= 1
        if element.kind == "cell":
            self.cells.pop()
        elif name == "table":
            self.tables.pop()
        if element.kind:
            self.kinds.pop()
            self.kinds_open[element.kind] -= 1
        if name in _ITEMS:
            self.lists[-1][name] -= 1
        self.foreign -= name in ("svg", "math")
        self.mains -= name == "main"
        self.unread -= element.unread
        self.scopes[-1][1][name] -= 1
        return name

    def _end_span(self, element: _Element) -> None:
        """Note what an element made of the text since it began."""
        draft = self.draft
        start = element.start if element.draft is draft else 0
        if element.name in _CODE:
            draft.mark("code", start)
        elif element.href is not None:
            said = "".join(draft.text[start:])
            raised = draft.text[start - 1 : start] == ["^"]
            if raised and element.href.startswith("#") and _LABEL.fullmatch(said):
                draft.mark("footnote", start)
            else:
                draft.mark("url" if _is_address(said, element.href) else "link", start)
        elif element.name == "sup" and draft.spans and draft.text[start - 1 : start] == ["^"]:
            last = draft.spans[-1]
            if last == Span("footnote", start, len(draft.text)):
                draft.take_back(start - 1)

    def _end_block(self) -> None:
        """Put away what was written, and begin anew."""
        if self.draft.text:
            self.found.append(self.draft.block(self._kind_here(), self.cells[-1] if self._in_cell() else None))
        self.found += [picture.block("alt") for picture in self.pictures if picture.text]
        self.draft = _Draft()
        self.pictures = []

    def _in_cell(self) -> bool:
        return self.kinds_open["cell"] > 0

    def _kind_here(self) -> str:
        for kind in ("cell", "heading", "footnote"):
            if self.kinds_open[kind]:
                return kind
        return self.kinds[-1] if self.kinds else "paragraph"


def _is_address(said: str, href: str) -> bool:
    """Whether a link's text is the address that it leads to."""
    return "/" in said + href and _bare(said) == _bare(href) and "." in said


def _bare(address: str) -> str:
    return _SCHEME.sub("", address, count=1).rstrip("/")
