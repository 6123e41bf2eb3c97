"""Words by which parts leave nothing out: passed and failed, yes and no, the other 20; and words of a rest."""

import re

from campaign.notes.audit_page import Number
from campaign.notes.audit_sentence import Prose

REST = re.compile(
    r"\b(?:rest|others?|remain\w*|skipped|timed? ?out|unknown|neither|ties?|draws?|drawn|undecided|abstain\w*|some|few"
    r"|several|both|including|includes|at least|errors?|pending|withdrawn|excluded|missing)\b",
    re.IGNORECASE,
)
"""What may be left where parts do not add up to their whole."""
_OTHER_AHEAD = re.compile(r"\bthe\s(?:other|remaining|rest,?)\s$", re.IGNORECASE)
_OPPOSITES = (
    ("pass", "fail"),
    ("succe", "fail"),
    ("hit", "miss"),
    ("yes", "no"),
    ("for", "against"),
    ("male", "female"),
    ("men", "women"),
    ("boys", "girls"),
    ("true", "false"),
    ("correct", "wrong"),
    ("correct", "incorrect"),
    ("right", "wrong"),
    ("solved", "unsolved"),
    ("accepted", "rejected"),
    ("valid", "invalid"),
    ("open", "closed"),
    ("approved", "rejected"),
    ("recover", "died"),
    ("surviv", "died"),
    ("won", "lost"),
    ("stay", "left"),
)
"""Words that leave nothing between them."""
_WORD = re.compile(r"[a-z]+")


def opposite(prose: Prose, parts: range) -> bool:
    """Whether two parts are called by words that leave nothing between them."""
    if len(parts) != 2:
        return False
    names = [_first_words(prose, prose.numbers[part]) for part in parts]
    pairs = (*_OPPOSITES, *((b, a) for a, b in _OPPOSITES))
    return any(
        any(word.startswith(a) for word in names[0]) and any(word.startswith(b) for word in names[1]) for a, b in pairs
    )


def _first_words(prose: Prose, number: Number) -> list[str]:
    """The words right behind a number that may name it."""
    behind = re.split(r"[,.;:()]|\band\b", prose.text[number.end : number.end + 30].lower(), maxsplit=1)[0]
    return _WORD.findall(behind)[:3]


def rest_last(prose: Prose, parts: range) -> bool:
    """Whether the last part is called the other, or the remaining ones: then nothing is left."""
    return _OTHER_AHEAD.search(prose.ahead(parts[-1], 20)) is not None
