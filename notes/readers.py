"""Two readers: the Markdown of a post and its rendered page must show a person the same numbers."""

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import zip_longest
from textwrap import shorten

from campaign.notes.build import page_of
from campaign.notes.findings import Finding
from campaign.notes.html_reader import read_html
from campaign.notes.lines import line_column
from campaign.notes.numbers import Token, find_in
from campaign.notes.paths import Part
from campaign.notes.post import Post
from campaign.notes.reader import Block, read
from campaign.notes.sources import Sources

SHORT = 60
"""How much of a changed text is told."""
NOTHING = "no number"
"""What is said of a reader that sees none at a place."""


def check_readers(part: Part, post: Post, sources: Sources) -> Iterator[Finding]:
    """Where the two readers disagree on a post, and where the built page shows another text than the post.

    The page is rendered in memory; the built one is compared where it is there, for it is never committed.
    """
    page = page_of(part, post, sources)
    path, build = part.show(part.post), f"notes build {part.name}"
    yield from compare_readers(post.text, page, sources.names, path, sources.readings.decimal)
    if part.page.is_file():
        found = part.page.read_bytes().decode("utf-8", errors="replace")
        yield from _stale(found, page, sources, part.show(part.page), build)


def compare_readers(
    markdown: str, page: str, names: Collection[str], path: str, decimal: str = "."
) -> Iterator[Finding]:
    """A finding for each stretch of numbers that the two do not share, at its place in the Markdown."""
    ours = _numbers(read(markdown), markdown, names, decimal)
    theirs = _numbers(read_html(page, article=True), page, names, decimal)
    for said, shown, before in _differences(ours, theirs):
        at = (said or before)[:1]
        line, column = (at[0].line, at[0].column) if at else (1, 1)
        yield Finding(
            "readers",
            path,
            line,
            column,
            _listed(said),
            _listed(shown),
            "what the rendered page shows",
            "write the place more plainly; the check itself reads one of the two wrongly, so report it as a bug",
            length=said[0].end - said[0].start if said else 0,
            also=("said is what is read in the Markdown, expected what is read in its page",),
        )


def _stale(found: str, page: str, sources: Sources, path: str, mend: str) -> Iterator[Finding]:
    """What is wrong with the page on disk: its numbers, or its words (a warning), or only its markup (a note)."""
    if found == page:
        return
    was, now = read_html(found, article=True), read_html(page, article=True)
    said_as = sources.names, sources.readings.decimal
    differences = list(_differences(_numbers(was, found, *said_as), _numbers(now, page, *said_as)))
    for said, wanted, before in differences:
        at = (said or before)[:1]
        line, column = (at[0].line, at[0].column) if at else (1, 1)
        yield Finding("stale", path, line, column, _listed(said), _listed(wanted), "the post", mend)
    if differences:
        return
    apart = next((pair for pair in zip_longest(was, now) if _text(pair[0]) != _text(pair[1])), None)
    if apart:
        said, wanted = map(_text, apart)
        first = said.rfind(" ", 0, _first_apart(said, wanted)) + 1
        at = apart[0].source[first] if apart[0] and first < len(said) else len(found)
        line, column = line_column(found, at)
        yield Finding(
            "stale", path, line, column, _short(said[first:]), _short(wanted[first:]), "the post", mend, "warning"
        )
    else:
        yield Finding("stale", path, 1, 1, "other links, marks or styles", "the page as built now", "", mend, "note")


def _text(block: Block | None) -> str:
    return block.text if block else ""


def _short(text: str) -> str:
    return shorten(text, SHORT, placeholder=" …") or "nothing"


def _numbers(blocks: Sequence[Block], source: str, names: Collection[str], decimal: str) -> list[Token]:
    """The numbers and number words, those of footnotes last: a page shows them below the text."""
    found = [
        token
        for token in find_in(blocks, source, names, decimal_comma=decimal == ",")
        if token.role in ("number", "word")
    ]
    notes = [token for token in found if blocks[token.block].kind == "footnote"]
    # A page orders its footnotes by their references, the Markdown by their definitions.
    ordered = _by_block(notes, lambda of_block: [_seen(token) for token in of_block])
    return [token for token in found if blocks[token.block].kind != "footnote"] + ordered


def _by_block(tokens: Sequence[Token], key: Callable[[list[Token]], list[tuple[str, str, str, str]]]) -> list[Token]:
    """The tokens, their blocks in the order of `key`."""
    blocks: dict[int, list[Token]] = {}
    for token in tokens:
        blocks.setdefault(token.block, []).append(token)
    return [token for of_block in sorted(blocks.values(), key=key) for token in of_block]


def _seen(token: Token) -> tuple[str, str, str, str]:
    """What two readers must agree on."""
    return token.role, re.sub(r"\s+", " ", token.text), str(token.value), re.sub(r"\s+", " ", token.unit or "")


def _differences(
    first: Sequence[Token], second: Sequence[Token]
) -> Iterator[tuple[Sequence[Token], Sequence[Token], Sequence[Token]]]:
    """The stretches in which two rows of tokens differ, and the token of the first that stands before each."""
    old, new = [_seen(token) for token in first], [_seen(token) for token in second]
    if old == new:
        return
    head = next(
        (i for i, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    matcher = difflib.SequenceMatcher(None, old[head:], new[head:], autojunk=len(old) > 2000)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            start = head + i1
            yield first[start : head + i2], second[head + j1 : head + j2], first[max(0, start - 1) : start]


def _first_apart(first: Sequence[object], second: Sequence[object]) -> int:
    """Where two sequences first differ."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (one, other) in pairs if one != other), min(len(first), len(second)))


def _listed(tokens: Sequence[Token]) -> str:
    said = ", ".join(_with_unit(token) for token in tokens[:4])
    return (f"{said} and {len(tokens) - 4} more" if len(tokens) > 4 else said) or NOTHING


def _with_unit(token: Token) -> str:
    unit = token.unit or ""
    return f"{token.text} {unit}" if unit and unit not in token.text else token.text
