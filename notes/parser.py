"""A Markdown parser that remembers where in the source everything stands.

Each inline token has in `meta["where"]` the offset of every character of its content; each of its children
has in `map[0]` the index in that content where it begins. Offsets are those of the text as the parser sees
it, where a line ends with one line feed.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.common.utils import MD_TRIM_CHARS
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token as MarkdownToken
from markdown_it.utils import EnvType
from mdit_py_plugins.footnote import footnote_plugin


class _Placed(StateInline):
    """Inline state that notes in each token's `map`, unused here, where in the block's content it begins."""

    pending_at = 0

    def append_pending(self, text: str) -> None:
        if not self.pending:
            self.pending_at = self.pos
        super().append_pending(text)

    def pushPending(self) -> MarkdownToken:
        token = super().pushPending()
        token.map = [self.pending_at, -1]
        return token

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> MarkdownToken:
        token = super().push(ttype, tag, nesting)
        at = self.pos
        last = self.tokens[-2] if len(self.tokens) > 1 else None
        if ttype == "text" and last is not None:
            if last.type == "link_open" and last.markup == "autolink":
                at += 1
            elif last.type == "text" and last.map and last.map[1] == self.pos:
                at = last.map[0] + len(last.content)  # one of several marks, as in `***`
        token.map = [at, self.pos]
        return token


_MARKED = re.compile(r"[\\`*_\[\]!<&~\n]")  # a text without these is one piece: most cells


class _PlacedParser(ParserInline):
    """An inline parser that makes such states."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[MarkdownToken]) -> list[MarkdownToken]:
        if src and not _MARKED.search(src):
            plain = MarkdownToken("text", "", 0)
            plain.content, plain.map = src, [0, -1]
            tokens.append(plain)
            return tokens
        state = _Placed(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def _autolink_text(state: StateInline) -> None:
    """Show an autolink's address as written; the parser would decode it."""
    for opening, text in zip(state.tokens, state.tokens[1:], strict=False):
        if opening.type == "link_open" and opening.markup == "autolink":
            at = text.map[0] if text.map else 0
            text.content = state.src[at : state.src.index(">", at)]


_BlockRule = Callable[[StateBlock, int, int, bool], bool]


def _placed(rule: _BlockRule, place: Callable[[StateBlock, list[MarkdownToken]], None]) -> _BlockRule:
    """A block rule that also notes where in the text the content of each of its tokens stands."""

    def noting(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        before = len(state.tokens)
        found = rule(state, start, end, silent)
        if found and not silent:
            place(state, [t for t in state.tokens[before:] if t.type in ("inline", "html_block")])
        return found

    return noting


def _line(state: StateBlock, line: int) -> tuple[int, int]:
    """Where the visible part of a line begins and ends, containers' marks and indentation left out."""
    return state.bMarks[line] + state.tShift[line], state.eMarks[line]


def _place_lines(state: StateBlock, tokens: list[MarkdownToken]) -> None:
    """A paragraph, a heading with its line below, or raw HTML."""
    for token in tokens:
        lines: list[str] = []
        where: list[int] = []
        for line in range(*(token.map or (0, 0))):
            start, end = _line(state, line)
            lines.append(state.src[start:end])
            where.extend(range(start, end + 1))  # with the line break
        token.content, token.meta["where"] = _trim("\n".join(lines), where)


def _place_heading(state: StateBlock, tokens: list[MarkdownToken]) -> None:
    for token in tokens:
        start, end = _line(state, token.map[0] if token.map else 0)
        while start < end and state.src[start] == "#":
            start += 1
        if token.content:
            start = state.src.index(token.content, start)
        token.meta["where"] = list(range(start, start + len(token.content)))


def _place_cells(state: StateBlock, tokens: list[MarkdownToken]) -> None:
    line = -1
    cells: Iterator[tuple[str, list[int]]] = iter(())
    for token in tokens:
        if token.map and token.map[0] != line:
            line = token.map[0]
            cells = iter(_split_row(state.src, *_line(state, line)))
        token.content, token.meta["where"] = next(cells, ("", []))


def _split_row(src: str, start: int, end: int) -> list[tuple[str, list[int]]]:
    """The cells of a table's line, each character with its place; a bar after a backslash ends none."""
    text, where = _trim(src[start:end], list(range(start, end)))
    cells: list[tuple[str, list[int]]] = []
    last = 0
    kept, offsets = "", []
    for bar in re.finditer(r"\\?\||\Z", text):
        if len(bar[0]) == 2:
            kept += text[last : bar.start()] + "|"
            offsets += [*where[last : bar.start()], where[bar.end() - 1]]
        else:
            cells.append((kept + text[last : bar.start()], [*offsets, *where[last : bar.start()]]))
            kept, offsets = "", []
        last = bar.end()
    if not cells[0][0]:
        cells.pop(0)
    if cells and not cells[-1][0]:
        cells.pop()
    return [_trim(cell, places) for cell, places in cells]


def _trim(text: str, where: list[int]) -> tuple[str, list[int]]:
    body = text.lstrip(MD_TRIM_CHARS)
    start = len(text) - len(body)
    body = body.rstrip(MD_TRIM_CHARS)
    return body, where[start : start + len(body)]


@cache
def parser() -> MarkdownIt:
    """CommonMark with tables, strikethrough and footnotes; pieces of text stay apart, each with its place."""
    made = MarkdownIt()
    made.inline = _PlacedParser()
    made.configure("commonmark")
    footnote_plugin(made, inline=False, move_to_end=False)
    made.enable(["table", "strikethrough"])
    made.core.ruler.disable("text_join")
    made.inline.ruler2.disable("fragments_join")
    made.inline.ruler2.push("autolink_text", _autolink_text)
    block = made.block.ruler
    leaves = {"paragraph": _place_lines, "lheading": _place_lines, "heading": _place_heading}
    leaves |= {"table": _place_cells, "html_block": _place_lines}
    for rule in list(block.__rules__):
        if rule.name in leaves:
            block.at(rule.name, _placed(rule.fn, leaves[rule.name]), {"alt": rule.alt})
    return made
