"""HTML cut into its tags and the text between them, each with its place in the source.

The cuts are those of the HTML standard's tokenizer, so that a broken page reads as a browser shows it. They are made
here because no parser at hand serves: html5lib, lxml and selectolax do not say where a text stands, and the standard
library's takes a time that grows with the square of the length where tags are left open.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from html.entities import html5
from typing import Literal


@dataclass(slots=True)
class Piece:
    """A tag with its name, or text; comments, declarations and what is in scripts are in no piece."""

    kind: Literal["start", "end", "text"]
    start: int
    end: int
    name: str = ""
    attributes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Where the value of each attribute stands."""
    closes_itself: bool = False


def pieces(html: str) -> Iterator[Piece]:
    """The pieces of `html` in order; any text is taken, in a time that is proportional to its length."""
    at = 0
    while found := _MARKUP.search(html, at):
        if found.start() > at:
            yield Piece("text", at, found.start())
        if not found["name"]:
            at = _after_comment(html, found)
            continue
        piece = _tag(html, found)
        if piece is None:
            return  # a tag that never ends hides what follows
        yield piece
        at = piece.end
        if piece.kind == "start" and piece.name in RAW:
            raw_end = _RAW_ENDS[piece.name].search(html, at)
            at = raw_end.start() if raw_end else len(html)
    if at < len(html):
        yield Piece("text", at, len(html))


RAW = frozenset("script style xmp iframe noembed noframes noscript textarea title plaintext".split())
"""Elements whose content is no markup, and nothing that a reader reads."""

_RAW_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW}
_RAW_ENDS["plaintext"] = re.compile(r"(?!)")
_MARKUP = re.compile(r"<(?:(?P<slash>/?)(?P<name>[A-Za-z][^\s/>]*)|(?P<comment>!--)|[!?/])")
_COMMENT_END = re.compile(r"--!?>")
_NO_COMMENT = re.compile(r"-?>")
_ATTRIBUTE = re.compile(
    r"""[\s/]*+ (?: (?P<end>>) | (?P<name>[^\s/>][^\s/>=]*+)
          (?: \s*+=\s*+ (?: "(?P<double>[^"]*+)(?:"|\Z) | '(?P<single>[^']*+)(?:'|\Z)
                          | (?P<bare>[^\s>"'][^\s>]*+) )? )? )""",
    re.VERBOSE,
)


def _after_comment(html: str, found: re.Match[str]) -> int:
    if found["comment"]:
        end = _NO_COMMENT.match(html, found.end()) or _COMMENT_END.search(html, found.end())
        return end.end() if end else len(html)
    closing = html.find(">", found.end())
    return closing + 1 if closing >= 0 else len(html)


def _tag(html: str, found: re.Match[str]) -> Piece | None:
    """The tag that begins here, with the first attribute of each name; None where it never ends."""
    piece = Piece("end" if found["slash"] else "start", found.start(), found.end(), found["name"].lower())
    at = found.end()
    while more := _ATTRIBUTE.match(html, at):
        at = more.end()
        if more["end"]:
            piece.end = at
            piece.closes_itself = html[at - 2] == "/"
            return piece
        value = next((more.span(group) for group in ("double", "single", "bare") if more[group] is not None), (at, at))
        piece.attributes.setdefault(more["name"].lower(), value)
    return None


# Text

_STRETCH = re.compile(r"&(?:#(?:\d+|[xX][0-9a-fA-F]+);?|[A-Za-z][A-Za-z0-9]{1,31};?)|[ \t\n\r\f]+|[^& \t\n\r\f]+|&")


def stretches(html: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Text, with its entities resolved, and where it stands; a character that stands for itself comes alone.

    White space comes as one space.
    """
    for found in _STRETCH.finditer(html, start, end):
        said, at = found[0], found.start()
        if said[0] in " \t\n\r\f":
            yield " ", at, found.end()
            continue
        if said[0] == "&" and len(said) > 1:
            shown, length = _entity(said)
            yield shown, at, at + length
            said, at = said[length:], at + length
        for offset, character in enumerate(said, at):
            yield character, offset, offset + 1


def text_of(html: str, start: int, end: int) -> str:
    """The text between two offsets, its entities resolved: an attribute's value."""
    return "".join(shown for shown, _, _ in stretches(html, start, end))


def _entity(said: str) -> tuple[str, int]:
    """What an entity stands for, and how many of its characters belong to it; old names need no semicolon."""
    if said[1] == "#":
        digits = said[2:].lstrip("xX0").rstrip(";")
        return (unescape(said) if len(digits) < 8 else "\ufffd"), len(said)
    for length in range(len(said), 2, -1):
        if said[1:length] in html5:
            return html5[said[1:length]], length
    return "&", 1
