"""One amount in two units: 1 h 30 min (90 min), 5 s (5000 ms)."""

import re

from campaign.notes.audit_amounts import in_common, kind_of
from campaign.notes.audit_printed import Printed, coarse
from campaign.notes.audit_sentence import Prose, noun, symbol

_OPENS = re.compile(r"\s*\(\s*(?:=\s*|i\.e\.,?\s*|or\s)?|\s*=\s*|,\s(?:i\.e\.|that\sis),?\s", re.IGNORECASE)
_CLOSES = re.compile(r"\s*[)\]]")
_ENDS = re.compile(r"\s*(?:[.,;)]|$)")
_MEASURES = ("time", "length", "mass", "bytes", "bits")
_NEAR = 1.8
"""Two amounts farther apart than this are not meant as one."""
_ROOM = 1 + 1e-9


def audit_same(prose: Prose) -> None:
    """Every amount with another of the same kind, alone in brackets, in another unit."""
    for at in range(len(prose.numbers) - 1):
        first, second = prose.numbers[at : at + 2]
        gap = prose.gap(at, at + 1)
        if not _OPENS.fullmatch(gap) or not prose.firm(at, at + 1):
            continue
        closed = (_CLOSES if "(" in gap else _ENDS).match(prose.text, second.noun_end)
        kinds = kind_of(first)[0], kind_of(second)[0]
        units = [symbol(one) or noun(one) or one.token.kind for one in (first, second)]
        durations = [one.token.kind == "duration" for one in (first, second)]
        if (
            not closed
            or kinds[0] != kinds[1]
            or kinds[0] not in _MEASURES
            or (units[0] == units[1] and not any(durations))
        ):
            continue
        if all(durations) or re.search(r"[+\-−×*/=]\s*$", prose.ahead(at, 3)):
            continue
        _hold(prose, at)


def _hold(prose: Prose, at: int) -> None:
    numbers, seen = prose.numbers[at : at + 2], [prose.known(at), prose.known(at + 1)]
    seen = [_step(one) for one in seen]
    ways = in_common(numbers, seen)
    if not ways:
        return
    one, other = ways[0]
    low, high = sorted((abs(one.value), abs(other.value)))
    if not low or high / low > _NEAR:
        return
    holds = any(_meet(*way) for way in ways)
    expected = "" if holds else other.alike(one.value)
    prose.tell("twice", seen[1], (seen[0],), expected, seen[0].token.text)


def _step(one: Printed) -> Printed:
    """The number, last zeros taken for rounding; one in words or of a duration as it is read."""
    if one.token.role == "word":
        return Printed(one.token, one.value, 1.0)
    return coarse(one, 2)


def _meet(one: Printed, other: Printed) -> bool:
    return one.rounded[0] <= other.rounded[1] * _ROOM and other.rounded[0] <= one.rounded[1] * _ROOM
