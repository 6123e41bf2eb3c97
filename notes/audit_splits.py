"""Percentages into which a sentence splits a whole: 80 % training and 20 % test."""

import re
from itertools import pairwise

from campaign.notes.audit_complete import REST, opposite, rest_last
from campaign.notes.audit_sentence import Prose

_SPLIT = re.compile(
    r"\b(?:split|breakdown|consists?\sof|composed\sof|made\sup\sof|divided\sinto|distributed|mixture)\b", re.IGNORECASE
)
_SEPARATE = re.compile(r"[^.;:()|]{1,40}(?:,|/|\band\b|,\s*and\b|\bversus\b)\s*(?:the\s(?:other|remaining)\s)?")
_OF_ALL = re.compile(r"\s*of\s(?:the|all|our)\s", re.IGNORECASE)
_IS = re.compile(r"\s(?:is|are|was|were|goes|went)\b")


def audit_splits(prose: Prose) -> None:
    """Percentages that a sentence says a whole is split into."""
    for sentence in prose.sentences():
        shares = [at for at in sentence if prose.numbers[at].token.kind == "percent"]
        if len(shares) > 1 and len(shares) == shares[-1] - shares[0] + 1 and prose.firm(*shares):
            parts = range(shares[0], shares[-1] + 1)
            if _side_by_side(prose, parts) and not any(prose.known(at).token.text[0] in "+-−" for at in parts):
                _hold(prose, parts)


def _side_by_side(prose: Prose, parts: range) -> bool:
    """Whether nothing but words and commas parts the shares, and none of these words leaves a rest open."""
    gaps = [prose.text[prose.numbers[a].end : prose.numbers[b].start] for a, b in pairwise(parts)]
    start, end = prose.sentence(prose.numbers[parts[0]].start)
    open_ = REST.search(prose.text, start, end) and not rest_last(prose, parts)
    return not open_ and all(_SEPARATE.fullmatch(gap) for gap in gaps)


def _hold(prose: Prose, parts: range) -> None:
    """The sum of the shares against 100 %, where the words say that there are no others."""
    first = prose.numbers[parts[0]]
    ahead = prose.text[prose.sentence(first.start)[0] : first.start]
    complete = _SPLIT.search(ahead) is not None or rest_last(prose, parts) or opposite(prose, parts)
    each = _OF_ALL.match(ahead) and all(_IS.match(prose.behind(at)) for at in parts)
    items = [prose.known(at) for at in parts]
    added, room = sum(one.value for one in items), sum(one.step for one in items)
    if not (complete or each) or not 75 <= added <= 125:
        return
    wrong = added > 100 + room or (complete and added < 100 - room)
    expected = "shares that add up to 100 %" if wrong else ""
    also = [f"they give {added:g} %"] if wrong else ()
    prose.tell("share", items[-1], items[:-1], expected, f"{len(items)} shares", what="share", also=also)
