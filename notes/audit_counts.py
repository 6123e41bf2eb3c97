"""Counts against what they count: the list, the table or the section that follows, and counts of one thing twice."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from campaign.notes.audit_grid import columns
from campaign.notes.audit_page import Node, Number, Page, Sight, Table, Tested
from campaign.notes.audit_printed import Printed, printed
from campaign.notes.audit_sentence import noun as noun_of
from campaign.notes.findings import Level
from campaign.notes.numbers import Token

_AHEAD = re.compile(r"\b(?:following|these|below are|here are|there are)\s+(?:the\s+)?$", re.IGNORECASE)
_NOT_COUNTING = re.compile(
    r"\b(?:at least|at most|up to|more than|over|about|around|or|one of|any of|first|last|other|another|next|top|per"
    r"|every|each|in|within|of|by|for|from|between|and|after|level|version|phase|step|part|than|only)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_TO_COLON = re.compile(
    r"(?:[\s,]+(?:(?!and\b|or\b|with\b|in\b|of\b)[A-Za-z'’-]+)){0,3}?\s*(?:\((?:[^()]{1,30})\))?"
    r"(?P<rest>(?:\s(?:are|to|for|of|in|that|which|you|we|here|below|can|must|should|on|when|with)\b"
    r"[^:.;?!]{0,60})?):\s*$"
)
_EXAMPLES = re.compile(
    r"\b(?:for example|for instance|e\.g\.|such as|among (?:others|them)|including|like|especially|notably)(?!\w)",
    re.IGNORECASE,
)
"""Words after which a list shows only some."""
_OBJECT = re.compile(
    r"\s(?:will |must |should |can |may |all |each |both )*(?:needs?|ha(?:ve|s|d)|requires?|includes?|contains?"
    r"|supports?|uses?|used|provides?|offers?|allows?|shares?|gets?|wants?|takes?|do|does|did|runs?|expects?|lets?|gives?|knows?|see|saw|cover"
    r"|handle)\b",
    re.IGNORECASE,
)
"""A verb behind what is counted: the list then says what they have or do."""
_HERE_ARE = re.compile(r"(?:^|[.!?]\s)(?:here are|these are|below are|the following)\b[^.:;!?]*\.\s*$", re.IGNORECASE)
_TABLE = re.compile(
    r"\b(?:following|next|this)\s+table\b|\btable\s+below\b"
    r"|\bthe\s+table\s+(?:lists|shows|has|compares|gives|holds|names|covers)\s+(?:the\s+|all\s+)*$",
    re.IGNORECASE,
)
_BOTH = re.compile(
    r"(?:^|[.!?]\s)both\s(?:the\s|of\sthe\s|of\sthese\s)?[a-z]+s(?:\s(?:[a-z]+ed|(?:are|were)\s[a-z]+))?:\s*$",
    re.IGNORECASE,
)
_ONLY = re.compile(r"\bonly\s+$", re.IGNORECASE)
_SEVERAL = re.compile(r"\s(?:and|or|to|through)\s|[&/–]|\.\.\.|…")
_LEAD_END = re.compile(r"[:,.;(—]")
_ASIDE = re.compile(
    r"\W*(?:note|nb|n\.b\.|caveat|warning|hint|tip|bonus|also|plus|etc)\b|\s*(?:\.\.\.|…)", re.IGNORECASE
)
_PLURAL = re.compile(r"(?:es|s)$")
_NOUNS = re.compile(r"(?:\s+[A-Za-z]+){1,3}")
_LOOK = 40
"""So many blocks or lines away things are taken to belong together."""
_FAR = 400


def audit_counts(page: Page, tested: Tested) -> None:
    """Every count of the page that says what it counts."""
    both = {token.block: token for token in page.tokens if token.text.lower() == "both"}
    for place in _before_lists(page):
        _announced(page, place, tested)
        if place.sight.index in both:
            _both(page, place, both[place.sight.index], tested)
    _summaries(page, tested)
    _all_rows(page, tested)


# Three reasons: and a list


@dataclass(frozen=True, slots=True)
class _Listing:
    """A paragraph and the list or table that follows it."""

    sight: Sight
    length: int
    node: Node


def _siblings(page: Page) -> dict[int, list[Node]]:
    found: dict[int, list[Node]] = {}
    for node in page.outline:
        found.setdefault(node.parent, []).append(node)
    return found


def _before_lists(page: Page) -> Iterator[_Listing]:
    for nodes in _siblings(page).values():
        for at, node in enumerate(nodes[:-1]):
            after = nodes[at + 1]
            if node.kind != "paragraph" or after.kind not in ("list", "table"):
                continue
            sight = page.sight_of(node)
            if sight and (sight.text.rstrip().endswith(":") or _HERE_ARE.search(sight.text)):
                length = _length(page, nodes, at + 1)
                if length:
                    yield _Listing(sight, length, after)


def _length(page: Page, nodes: Sequence[Node], at: int) -> int | None:
    """How many items or rows follow; None where the list goes on in another that cannot be told from it."""
    node = nodes[at]
    if node.kind == "table":
        if not 0 <= node.table < len(page.tables):
            return None
        table = page.tables[node.table]
        grid = columns(table)
        return None if grid.totals else len(table.rows)
    length = node.items
    for later in islice(nodes, at + 1, at + _LOOK):
        if later.kind == "heading":
            break
        if later.kind == "list":
            if node.first is None or later.first is None:
                return None
            if later.first == node.first + length:
                length += later.items
    return length


def _announced(page: Page, listing: _Listing, tested: Tested) -> None:
    """A count right before the colon that opens a list."""
    sight = listing.sight
    text = sight.text.rstrip()
    text = f"{text[:-1]}:" if text.endswith(".") else text
    start = max(text.rfind(mark) for mark in (". ", "! ", "? ", "; ")) + 1
    counts = [number for number in sight.numbers if number.start >= start and _small(number)]
    if len([number for number in sight.numbers if number.start >= start]) != 1 or not counts:
        return
    number = counts[0]
    before = text[start : number.start]
    ahead = text[number.end :]
    if _NOT_COUNTING.search(before) or (not number.token.unit and not _AHEAD.search(before)):
        return
    if _EXAMPLES.search(ahead) or (not _AHEAD.search(before) and _OBJECT.match(sight.text, number.noun_end)):
        return
    if number.token.end == number.token.noun_end and not _AHEAD.search(before):
        return
    found = _TO_COLON.match(ahead)
    if not found or (found["rest"] and not _AHEAD.search(before) and number.token.unit is None):
        return
    if listing.node.kind == "table" and not (_AHEAD.search(before) or _TABLE.search(before)):
        return
    said = int(number.token.value or 0)
    finding = None
    wide = listing.node.kind == "table" and noun_of(number).endswith("columns")
    length = len(page.tables[listing.node.table].header) if wide else listing.length
    if said != length:
        if _tells_otherwise(page, listing.node, fewer=said > length):
            return
        what = "columns" if wide else "rows" if listing.node.kind == "table" else "items"
        also = [f"the {listing.node.kind} begins on line {listing.node.line + 1}"]
        level: Level = "warning" if found["rest"] else "error"
        finding = page.finding("count", number.token, str(length), f"{what} below", level, also)
    tested.add("count", [number.token], finding)


def _both(page: Page, listing: _Listing, both: Token, tested: Tested) -> None:
    """The two things of "both options failed:", where the list is of these."""
    if listing.sight.numbers or not _BOTH.search(listing.sight.text) or listing.node.kind != "list":
        return
    finding = None
    if listing.length != 2:
        if _tells_otherwise(page, listing.node, fewer=listing.length < 2):
            return
        also = [f"the list begins on line {listing.node.line + 1}"]
        finding = page.finding("count", both, str(listing.length), "items below", "warning", also)
    tested.add("count", [both], finding)


def _tells_otherwise(page: Page, node: Node, fewer: bool) -> bool:
    """Whether the items of a list need not be one for each: one names two things, or one is only a note."""
    texts = [page.sight_on[line].text for line in range(node.line, node.end) if line in page.sight_on]
    if fewer:
        return any(_SEVERAL.search(_LEAD_END.split(text, maxsplit=1)[0]) for text in texts)
    return any(_ASIDE.match(text) for text in texts)


def _small(number: Number) -> bool:
    token = number.token
    whole = token.kind in ("integer", "word") and token.value is not None and token.value == int(token.value)
    return whole and 2 <= int(token.value or 0) <= 40 and token.text.replace(" ", "").isalnum()


# 2 Regressions, 2 Improvements, and a section for each


def _summaries(page: Page, tested: Tested) -> None:
    """Lines that count the entries of the sections below, and sentences that say "only" so many of them."""
    sections = _sections(page)
    onlys = _onlys(page)
    heading = -1
    for node in page.outline:
        if node.kind == "heading" and node.level <= 2:
            heading = node.line
        sight = page.sight_of(node) if node.kind == "paragraph" and node.parent == -1 else None
        counted = list(_counted_nouns(sight)) if sight else []
        for number, noun, one in counted if len(counted) > 1 else ():
            below = sections.get(_stem(noun), [])
            at = bisect_right(below, (node.line, 0))
            if at < len(below) and below[at][0] - node.line < _FAR:
                _section(page, number, one, noun, below[at], tested)
            near = onlys.get(_stem(noun), [])
            first = bisect_right(near, max(heading, node.line - _LOOK), key=lambda only: only[0])
            for line, only in islice(near, first, first + _LOOK):
                if line < node.line + _LOOK:
                    _only(page, only, number, noun, tested)


def _section(page: Page, number: Number, one: Printed, noun: str, section: tuple[int, int], tested: Tested) -> None:
    line, length = section
    finding = None
    if length != round(one.value):
        also = [f"the section begins on line {line + 1}"]
        finding = page.finding("count", number.token, str(length), f"entries under {noun!r}", "error", also)
    tested.add("count", [number.token], finding)


def _only(page: Page, only: Number, number: Number, noun: str, tested: Tested) -> None:
    finding = None
    if only.token.value != number.token.value:
        also = [f"counted {page.place(number.token)}"]
        said = f"{number.token.text} {noun}"
        finding = page.finding("count", only.token, number.token.text, said, "warning", also)
    tested.add("count", [only.token, number.token], finding)


def _stem(word: str) -> str:
    return _PLURAL.sub("", word.lower())


def _counted_nouns(sight: Sight) -> Iterator[tuple[Number, str, Printed]]:
    """Counts with a noun that is written large, as in "2 Regressions, 4 Mixed"."""
    for number in sight.numbers:
        one = printed(number, sight.text)
        noun = re.match(r"\s+([A-Z][a-z]{3,})\b", sight.text[number.end : number.end + 40])
        if one and noun and number.token.kind in ("integer", "word") and not one.loose:
            yield number, noun[1], one


def _onlys(page: Page) -> dict[str, list[tuple[int, Number]]]:
    """Counts after "only" by the stem of what they may count, with their line from 0."""
    found: dict[str, list[tuple[int, Number]]] = {}
    for sight in page.sights:
        for number in sight.numbers:
            whole = number.token.kind in ("integer", "word")
            if whole and _ONLY.search(sight.text[max(0, number.start - 12) : number.start]):
                words = _NOUNS.match(sight.text[number.end : number.end + 60])
                for word in words[0].split() if words else ():
                    found.setdefault(_stem(word), []).append((number.token.line - 1, number))
    return found


def _sections(page: Page) -> dict[str, list[tuple[int, int]]]:
    """By the stem of a heading of one word the lines where it stands, and how many entries stand under it.

    Only where that is plain to see: one list, or paragraphs each with a list.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    heading: Node | None = None
    kinds: list[Node] = []
    for node in (*(node for node in page.outline if node.parent == -1), Node("heading", -1, 0, 0)):
        if node.kind != "heading":
            kinds.append(node)
            continue
        sight = page.sight_of(heading) if heading and kinds else None
        if heading and sight and " " not in sight.text.strip():
            pairs = len(kinds) // 2
            if [one.kind for one in kinds] == ["list"]:
                found.setdefault(_stem(sight.text.strip()), []).append((heading.line, kinds[0].items))
            elif pairs and [one.kind for one in kinds] == ["paragraph", "list"] * pairs:
                found.setdefault(_stem(sight.text.strip()), []).append((heading.line, pairs))
        heading, kinds = node, []
    return found


# All 13 engines, and a table of engines


def _all_rows(page: Page, tested: Tested) -> None:
    """The count in "all 13 engines" against the section's only table, whose first column is headed "Engine"."""
    tables: list[Table] = []
    texts: list[Sight] = []
    for node in (*page.outline, Node("heading", -1, 0, 0)):
        if node.kind == "heading":
            if len(tables) == 1:
                for sight in texts:
                    _all_in(page, sight, tables[0], tested)
            tables, texts = [], []
        elif node.kind == "table" and 0 <= node.table < len(page.tables):
            tables.append(page.tables[node.table])
        elif node.kind == "paragraph" and (sight := page.sight_of(node)):
            texts.append(sight)


def _all_in(page: Page, sight: Sight, table: Table, tested: Tested) -> None:
    name = table.name(0).lower()
    if not name or not name.isalpha() or len(table.rows) < 2:
        return
    for number in sight.numbers:
        before = sight.text[max(0, number.start - 10) : number.start].lower()
        noun = (number.token.unit or "").lower()
        if not re.search(r"\ball\s+(?:the\s+)?$", before) or number.token.kind not in ("integer", "word"):
            continue
        if noun in (name, f"{name}s", f"{name}es") and not columns(table).totals:
            labels = [row[0].text for row in table.rows if row[0]]
            if len(labels) != len(table.rows) or len(set(labels)) != len(labels):
                continue
            finding = None
            if number.token.value != len(labels):
                also = [f"rows: {', '.join(labels[:20])}"]
                finding = page.finding("count", number.token, str(len(labels)), "rows of the table", "error", also)
            tested.add("count", [number.token], finding)
