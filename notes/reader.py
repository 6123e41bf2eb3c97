"""Published Markdown as a reader sees it, every character with its place in the source."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html import unescape

from markdown_it.token import Token as MarkdownToken

from campaign.notes.parser import parser


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a block's text that is more than plain words."""

    kind: str
    """"code", "link", "url" (an address that is its own link text) or "footnote" (a reference to one)."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a block stands in a table; row 0 is the header."""

    table: int
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Block:
    """What a reader sees in one block; a code block, a comment or a link's target is in none."""

    text: str
    """Emphasis marks are gone, entities and escapes resolved; a line break is one space.
    A footnote reference stands as written; `<sup>` reads as `^`, `<sub>` as `_`, an image as U+FFFC."""
    source: tuple[int, ...]
    """For every character of `text` the offset in the Markdown where it begins."""
    ends: tuple[int, ...]
    """For every character of `text` the offset in the Markdown just after it (an entity is several long)."""
    kind: str
    """"paragraph", "heading", "item", "quote", "cell", "footnote", "alt" or "html"."""
    spans: tuple[Span, ...] = ()
    cell: Cell | None = None

    def inside(self, kind: str, position: int) -> bool:
        """Whether the character at `position` of `text` lies in a span of this kind."""
        return any(span.kind == kind and span.start <= position < span.end for span in self.spans)


def read(markdown: str) -> list[Block]:
    """The blocks of a Markdown text, in the order of their source.

    Of front matter at its top only a title and a summary are in one: a site shows them, and takes the rest as settings.
    """
    length = front_matter_length(markdown)
    hidden = re.sub(r"[^\r\n]", " ", markdown[:length])
    tokens = parser().parse(hidden + markdown[length:], {})
    blocks = list(_titles(re.sub(r"\r\n?", "\n", markdown[:length])))
    containers: list[str] = []
    tables, row, column = -1, -1, -1
    for at, token in enumerate(tokens):
        kind = token.type
        if kind in _OPENS:
            containers.append(_OPENS[kind])
        elif kind in _CLOSES:
            containers.pop()
        elif kind == "table_open":
            tables, row = tables + 1, -1
        elif kind == "tr_open":
            row, column = row + 1, -1
        elif kind == "inline":
            column += 1
            place = _place(containers)
            cell = Cell(tables, row, column) if place == "cell" else None
            if token.children:
                blocks += _inline(token.children, token.content, token.meta["where"], place, cell)
                if len(token.children) == 1 and tokens[at - 1].type == "paragraph_open" and not tokens[at - 1].hidden:
                    blocks += _caption(token.children[0], token.content, token.meta["where"])
        elif kind == "html_block":
            blocks += _html(token.content, token.meta["where"])
    shift = _carriage_returns(markdown)
    return [draft.block(shift) for draft in blocks if draft.text and not "".join(draft.text).isspace()]


_KEY = re.compile(r"[ \t]*(?:#|[\w\"'.-]+[ \t]*[:=](?:\s|$))")


def front_matter_length(markdown: str) -> int:
    """The length of the front matter at the top of a text; 0 where it has none."""
    if not markdown.startswith(("---", "+++", "\ufeff---", "\ufeff+++")):
        return 0
    lines = re.findall(r"[^\r\n]*(?:\r\n?|\n|\Z)", markdown)
    mark = lines[0].lstrip("\ufeff").rstrip()
    if mark not in ("---", "+++") or not _KEY.match(lines[1] if len(lines) > 1 else ""):
        return 0
    ends = (mark, "...") if mark == "---" else (mark,)
    last = next((index for index, line in enumerate(lines[1:], 1) if line.rstrip() in ends), None)
    return 0 if last is None else sum(map(len, lines[: last + 1]))


_SHOWN = re.compile(
    r"^(?P<key>title|subtitle|headline|tagline|description|summary|excerpt|abstract)[ \t]*[:=][ \t]*"
    r"(?:(?P<quote>[\"'])(?P<quoted>.*)(?P=quote)[ \t]*"
    r"|[|>][-+]?[ \t]*(?P<folded>(?:\n[ \t]+[^\n]*)+)"
    r"|(?P<plain>[^\n|>&*\[{#][^\n]*?)(?:[ \t]+#[^\n]*)?)$",
    re.MULTILINE | re.IGNORECASE,
)


def _titles(head: str) -> Iterator["_Draft"]:
    """The title and the summary that stand in front matter."""
    for found in _SHOWN.finditer(head):
        draft = _Draft("heading" if found["key"].lower() == "title" else "paragraph")
        start, end = next(found.span(group) for group in ("quoted", "folded", "plain") if found[group] is not None)
        draft.plain(re.sub(r"\s", " ", head[start:end]), range(start, end))
        yield draft


_OPENS = {
    "heading_open": "heading",
    "th_open": "cell",
    "td_open": "cell",
    "footnote_reference_open": "footnote",
    "list_item_open": "item",
    "blockquote_open": "quote",
}
_CLOSES = frozenset(name.replace("_open", "_close") for name in _OPENS)


def _place(containers: list[str]) -> str:
    """The kind of a block inside these containers, the innermost last."""
    for kind in ("cell", "heading", "footnote"):
        if kind in containers:
            return kind
    return containers[-1] if containers else "paragraph"


@dataclass(slots=True)
class _Draft:
    """A block while it is written; offsets are those of the text with bare line feeds."""

    kind: str
    cell: Cell | None = None
    text: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def plain(self, text: str, where: Iterable[int]) -> None:
        """Take characters that stand in the source as they are, one by one."""
        where = list(where)
        if not text.isascii() and _UNSEEN.search(text):
            kept = [i for i, character in enumerate(text) if not _UNSEEN.match(character)]
            text, where = "".join(text[i] for i in kept), [where[i] for i in kept]
        self.text.extend(text)
        self.starts.extend(where)
        self.ends.extend([offset + 1 for offset in where])

    def special(self, text: str, start: int, end: int) -> None:
        """Take characters that stand in the source as something else."""
        text = _UNSEEN.sub("", text)
        self.text.extend(text)
        self.starts.extend([start] * len(text))
        self.ends.extend([end] * len(text))

    def mark(self, kind: str, start: int) -> None:
        """Note that what was taken since `start` is of this kind."""
        if len(self.text) > start:
            self.spans.append(Span(kind, start, len(self.text)))

    def block(self, shift: Callable[[list[int]], Iterable[int]]) -> Block:
        return Block(
            text="".join(self.text),
            source=tuple(shift(self.starts)),
            ends=tuple(shift(self.ends)),
            kind=self.kind,
            spans=tuple(self.spans),
            cell=self.cell,
        )


# Soft hyphen, zero-width characters, word joiner, byte order mark: a reader sees nothing there.
_UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")


def _carriage_returns(markdown: str) -> Callable[[list[int]], Iterable[int]]:
    """What turns offsets in the parser's text, where a line ends with one character, into ours."""
    # A line end of two characters is one for the parser.
    breaks = array("q", (m.start() - i for i, m in enumerate(re.finditer("\r\n", markdown))))
    if not breaks:
        return lambda offsets: offsets
    # The offset of a line feed itself is that of its carriage return: count only breaks before it.
    return lambda offsets: (offset + bisect_right(breaks, offset - 1) for offset in offsets)


# Inline content


def _inline(
    tokens: list[MarkdownToken], content: str, where: list[int], kind: str, cell: Cell | None
) -> Iterator[_Draft]:
    """The block that these inline tokens make, then one for the alternative text of each image in it."""
    draft = _Draft(kind, cell)
    images: list[_Draft] = []
    links: list[int] = []
    for token in tokens:
        at = token.map[0] if token.map else 0
        match token.type:
            case "text":
                if token.content:
                    draft.plain(token.content, where[at : at + len(token.content)])
            case "text_special":
                if token.content == token.markup:
                    draft.plain(token.content, where[at : at + len(token.content)])
                else:
                    draft.special(token.content, where[at], where[at + len(token.markup) - 1] + 1)
            case "softbreak" | "hardbreak":
                draft.special(" ", where[at], where[at] + 1)
            case "code_inline":
                start = len(draft.text)
                at += len(token.markup)
                if content[at : at + len(token.content)].replace("\n", " ") != token.content:
                    at += 1  # one space at each side belongs to the marks
                draft.plain(token.content, where[at : at + len(token.content)])
                draft.mark("code", start)
            case "link_open":
                links.append(len(draft.text))
            case "link_close":
                start = links.pop()
                draft.mark("url" if token.markup == "autolink" else "link", start)
            case "footnote_ref":
                start = len(draft.text)
                length = len(token.meta["label"]) + 3
                draft.plain(content[at : at + length], where[at : at + length])
                draft.mark("footnote", start)
            case "image":
                draft.special("\ufffc", where[at], where[at] + 2)
                label = slice(at + 2, at + 2 + len(token.content))
                images += _inline(token.children or [], content[label], where[label], "alt", None)
            case "html_inline":
                end = at + len(token.content)
                images += _tag(draft, token.content, where[at:end], content[end : end + 5])
    yield draft
    yield from images


_TITLE = re.compile(r"""\s(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|\(((?:[^()\\]|\\.)*)\))\s*\)\Z""", re.DOTALL)


def _caption(image: MarkdownToken, content: str, where: list[int]) -> Iterator[_Draft]:
    """The title of an image that stands alone in its paragraph, where it is written there: a page shows it below."""
    if image.type == "image" and image.attrGet("title") and (title := _TITLE.search(content)):
        group = next(index for index in (1, 2, 3) if title[index] is not None)
        start, end = title.span(group)
        kept = [i for i in range(start, end) if content[i] != "\\" or not _ESCAPED.match(content, i)]
        yield from _html_text("".join(content[i] for i in kept), [where[i] for i in kept], "alt")


_ESCAPED = re.compile(r"\\[!-/:-@\[-`{-~]")
_TAG_NAME = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)")
_ALT = re.compile(r"""\salt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)


_ORDINAL_END = re.compile(r"(?:st|nd|rd|th)<")


def _tag(draft: _Draft, raw: str, where: list[int], after: str) -> Iterator[_Draft]:
    """Take what a reader sees of an inline tag: a break, a raised or lowered place; then its own text.

    The raised letters of an ordinal are no exponent, and small print that no word stands before is no index:
    `after` is what follows the tag.
    """
    named = _TAG_NAME.match(raw)
    if not named:
        return
    name = named[2].lower()
    sign = {"br": " ", "hr": " ", "sup": "^", "sub": "_", "img": "\ufffc"}.get(name)
    opens_word = not draft.text or draft.text[-1].isspace()
    if (name == "sup" and _ORDINAL_END.match(after)) or (name == "sub" and opens_word):
        sign = None
    if sign and (not named[1] or sign == " "):
        draft.special(sign, where[0], where[-1] + 1)
    if name == "img" and (alt := _ALT.search(raw)):
        group = 1 if alt[1] is not None else 2
        yield from _html_text(alt[group], where[slice(*alt.span(group))], "alt")


# HTML blocks

_HTML = re.compile(
    r"""(?P<unread><!--.*?(?:-->|\Z) | <\?.*?(?:\?>|\Z) | <![A-Za-z\[].*?(?:>|\Z)
          | <(?P<raw>script|style|pre|textarea|title|iframe|noframes|noembed|xmp)\b.*?(?:</(?P=raw)\s*>|\Z) )
      | (?P<tag></?[A-Za-z](?>(?:"[^"]*"|'[^']*'|[^'"<>])*)>)
      | (?P<text>[^<]+|<)""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_HEADING = re.compile(r"<h[1-6]", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_FLOWING = frozenset(
    "a abbr b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var wbr".split()
)


def _html(content: str, where: list[int]) -> Iterator[_Draft]:
    """The blocks of raw HTML: what stands between its tags, apart where a tag is no mere emphasis."""
    draft = _Draft("html")
    for found in _HTML.finditer(content):
        span = where[found.start() : found.end()]
        if found["text"]:
            _take_html(draft, found["text"], span)
        elif (found["raw"] or "").lower() == "pre":
            yield draft
            draft = _Draft("html")
        elif found["tag"]:
            name = _TAG_NAME.match(found["tag"])
            if name and name[2].lower() not in _FLOWING:
                yield draft
                draft = _Draft("heading" if _HEADING.fullmatch(name[0]) else "html")
            yield from _tag(draft, found["tag"], span, content[found.end() : found.end() + 5])
    yield draft


def _html_text(content: str, where: list[int], kind: str) -> Iterator[_Draft]:
    draft = _Draft(kind)
    _take_html(draft, content, where)
    yield draft


def _take_html(draft: _Draft, text: str, where: list[int]) -> None:
    """Take text between tags, its entities resolved and its line breaks as spaces."""
    last = 0
    for entity in _ENTITY.finditer(text):
        start, end = entity.span()
        draft.plain(text[last:start].replace("\n", " "), where[last:start])
        draft.special(unescape(entity[0]), where[start], where[end - 1] + 1)
        last = end
    draft.plain(text[last:].replace("\n", " "), where[last:])
