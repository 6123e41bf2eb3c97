"""Which way a number is said to go: what decreased from 10 ms to 12 ms did not decrease."""

import re

from campaign.notes.audit_amounts import in_common
from campaign.notes.audit_pairs import MOVES, Pair, pairs
from campaign.notes.audit_sentence import Prose, symbol
from campaign.notes.findings import Level

_DOWN = r"(?:fell|falls?|dropped|drops|decreased|decreases|declined|declines|shrank|shrunk|shrinks|reduced|lowered|cut)"
_UP = r"(?:rose|risen|rises|grew|grown|grows|increased|increases|climbed|climbs|jumped|raised)"
_MOVE = re.compile(rf"\b(?:(?P<down>{_DOWN})|(?P<up>{_UP})|{MOVES})\b(?=(?:\s+[a-z][a-z-]*){{0,4}}\s+$)", re.IGNORECASE)
_TURNED = re.compile(
    r"\b(?:ranks?|ranking|ranked|place|position|version|priority|never|not|no|rarely|less\soften|instead|could|would|if"
    r"|than|should|might|may|without|prevents?|avoid\w*|until|range[sd]?|varie[sd]|loss\sof|deficit|negative)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words by which a fall may be a rise, or no fall is told."""


def audit_directions(prose: Prose) -> None:
    """Every "from … to …" whose verb says up or down, where nothing else is told of its numbers."""
    for pair in pairs(prose):
        tokens = [prose.numbers[at].token for at in (pair.before, pair.after)]
        if pair.directed and pair.moved and pair.before < pair.after and not prose.tested.told(tokens):
            _hold(prose, pair)


def _hold(prose: Prose, pair: Pair) -> None:
    start, end = prose.sentence(pair.start)
    found = list(_MOVE.finditer(prose.text, start, pair.start))
    if not found or not (found[-1]["down"] or found[-1]["up"]) or _TURNED.search(prose.text, start, end):
        return
    if not prose.text[pair.start : pair.end].lower().startswith("from") or _said_beside(prose, pair, start, end):
        return
    numbers = [prose.numbers[at] for at in (pair.before, pair.after)]
    ways = in_common(numbers, [prose.known(at) for at in (pair.before, pair.after)])
    if not ways or (len(ways) > 1 and len({symbol(number) for number in numbers}) > 1):
        return
    before, after = ways[0]
    if before.value == after.value:
        return
    wrong = (after.value > before.value) == bool(found[-1]["down"])
    expected = ("a number below " if found[-1]["down"] else "a number above ") + before.token.text
    level: Level = "error" if symbol(numbers[1]) else "warning"
    said = found[-1][0].lower()
    prose.tell("order", after, (before,), expected if wrong else "", f"said {said!r}", what="from", level=level)


def _said_beside(prose: Prose, pair: Pair, start: int, end: int) -> bool:
    """Whether a change that is told stands in the sentence."""
    first, last = pair.low, pair.high
    while first > 0 and prose.numbers[first - 1].start >= start:
        first -= 1
    while last + 1 < len(prose.numbers) and prose.numbers[last + 1].start < end:
        last += 1
    return prose.tested.told(number.token for number in prose.numbers[first : last + 1])
