"""Counts within a sentence against what it then lists: three engines: a, b and c."""

import re
from collections.abc import Sequence

from campaign.notes.audit_page import Number, Page, Tested
from campaign.notes.audit_sentence import Prose

_NOT_COUNTING = re.compile(
    r"\b(?:at least|at most|up to|more than|fewer than|less than|over|about|around|or|one of|any of|first|last|other"
    r"|another|next|top|per|every|each|within|by|between|than|only|some|almost|nearly|other|further|additional|extra)"
    r"\s+(?:the\s+)?$|\d\s*(?:,|&|/|-|–|\s(?:and|or|to))\s*$",
    re.IGNORECASE,
)
_NOUN = re.compile(
    r"(?:\s(?!(?:and|or|of|in|on|for|with|to|that|which|times)\b)[a-z][a-z-]*){0,2}\s(?:[a-z-]*[a-z]s|people|of\sthem)\b"
)
_LISTED = re.compile(
    r"\s*(?:(?P<open>\()|:\s|,\s)(?P<items>[^.;:()!?\n]{3,200}?)(?P<end>\)|[.;!?\n]|$|,\s(?:were|are|was|have|all)\b)"
)
_WHERE = re.compile(r"\b(?:on|across|over|for|from|with)\s+(?:the\s|our\s)?$", re.IGNORECASE)
"""What is named behind things that only tell where may be their kinds: on 3 machines (Linux and macOS)."""
_FINAL = re.compile(r",?\s+(?:and|or|&)\s+")
_NO_LIST = re.compile(
    r"\b(?:such as|including|includes|e\.?g|i\.?e|for example|for instance|like|mainly|among|namely|which|that|who"
    r"|where|when|etc|more|others?|so on|plus|as well|both|either|with|is|are|was|were|has|have|can|will|respectively"
    r"|not|but|optional\w*|each|all|one|two|three|four|five|six|per|than|in|into|if|by|from|depending|you|we|it|they"
    r"|this|these|to)\b"
    r"|\.\.\.|…|[\"“”`=/|+–—\ufffc]|\s-\s|\d\s?%",
    re.IGNORECASE,
)
_THE = re.compile(r"\b(?:the|our|these|its)\s$", re.IGNORECASE)
_ARE = re.compile(r"(?:\s[a-z][a-z-]*){1,2}\s(?:are|were)\s(?P<items>[^.;:()!?\n]{3,200}?)[.;!?\n]?\s*$")
_A_NAME = re.compile(r"[a-z]|\S*[A-Z0-9]\S*(?:\s\S+)?")
_MOST_WORDS = 3


def audit_enumerations(page: Page, tested: Tested) -> None:
    """Every small count with a noun and a plain list right behind it."""
    for sight in page.sights:
        if sight.numbers and not sight.block.cell and sight.block.kind != "alt":
            prose = Prose(page, sight, tested)
            for at in range(len(prose.numbers)):
                _hold(prose, at)


def _hold(prose: Prose, at: int) -> None:
    number = prose.numbers[at]
    if not _small(number) or not prose.plain(at) or _NOT_COUNTING.search(prose.ahead(at, 24)):
        return
    if _in_sentence(prose, at):
        return
    found = _NOUN.match(prose.text, number.end)
    listed = _LISTED.match(prose.text, found.end()) if found else None
    if not found or not listed:
        return
    comma = not listed["open"] and prose.text[found.end() : found.end() + 3].lstrip().startswith(",")
    closed = listed["end"].startswith(",")
    if comma != closed or bool(listed["open"]) != (listed["end"] == ")"):
        return
    if comma and not found[0].strip().endswith("of them"):
        return
    items = _items(listed["items"])
    if not items or (listed["open"] and len(items) < (number.token.value or 0) and _WHERE.search(prose.ahead(at, 16))):
        return
    _count(prose, number, items)


def _in_sentence(prose: Prose, at: int) -> bool:
    """The arms of "the three arms are a, b and c": names only, since words may as well say how they are."""
    number = prose.numbers[at]
    found = _ARE.match(prose.text, number.end) if _THE.search(prose.ahead(at, 8)) else None
    items = _items(found["items"]) if found else None
    if not found or not items or not all(_A_NAME.fullmatch(item) for item in items):
        return False
    _count(prose, number, items)
    return True


def _count(prose: Prose, number: Number, items: Sequence[str]) -> None:
    """Holds a number to the things listed behind it."""
    finding = None
    if len(items) != number.token.value:
        also = ["listed: " + ", ".join(items)]
        source = f"{len(items)} things listed behind it"
        finding = prose.page.finding("count", number.token, str(len(items)), source, "warning", also)
    prose.tested.add("count", [number.token], finding)


def _small(number: Number) -> bool:
    token = number.token
    return token.kind in ("integer", "word") and token.value is not None and 2 <= token.value <= 12


def _items(text: str) -> list[str] | None:
    """The things of a plain list with one "and" before its last; None where it may be anything else."""
    if _NO_LIST.search(text) or len(_FINAL.findall(text)) != 1:
        return None
    *before, last = _FINAL.split(text)
    items = [item.strip() for item in [*before[0].split(","), last]]
    if "," in last or not all(items) or any(len(item.split()) > _MOST_WORDS for item in items):
        return None
    articles = {item.split()[0].lower() in ("a", "an", "the") and " " in item for item in items}
    return items if len(articles) == 1 and len(items) == len({item.lower() for item in items}) else None
