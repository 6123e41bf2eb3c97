"""What is said of all, of none or of both, and how often one sentence and the next count the same things."""

import re

from campaign.notes.audit_sentence import Prose, noun

_ALL = re.compile(
    r"\b(?P<none>none)\s(?:of\s(?:the\s|our\s|these\s)?)$|\ball\s(?:the\s|of\sthe\s|our\s)?$", re.IGNORECASE
)
_VERB_THEN = re.compile(r"\s(?:were\s|are\s|is\s|was\s|have\s|had\s)?[a-z]+(?:\s[a-z]+)?\s*\(\s*")
_CLOSES = re.compile(r"\s*\)")
_NOT_ALL = re.compile(r"\b(?:not|almost|nearly|but|except|virtually|practically)\b", re.IGNORECASE)
_AGAIN = re.compile(r"(?:^|[.!?:]\s+)(?:the|all|all\sthe|these|those|our)\s$", re.IGNORECASE)
_OTHER = re.compile(
    r"\b(?:more|another|others?|additional|extra|further|added|removed|new|old|then|after|before|later|first|second|next"
    r"|previous\w*|remaining|rest|up\sto|at\s(?:least|most)|per|each\sof|instead|example|suppose|only|minus|plus|dropped|left"
    r"|discard\w*|exclud\w*|skipp\w*|from|to|between|if|when|either|or|out\sof|of\swhich)\b",
    re.IGNORECASE,
)
"""Words by which two counts of one noun are of different things."""
_GOES_ON = re.compile(
    r"\s(?:are|is|were|was|all|have|had|agree|agreed|pass|passed|fail|failed|take|took|give|gave|show|ran|run|differ|cover"
    r"|listed|come|came|share)\b(?!\sof\b)"
)
_INSTANCES = re.compile(
    r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|times|bits?|bytes|points|percent|steps)$"
)
_NEAR = 1.34
"""Two counts farther apart than this are not meant as one."""


def audit_quantified(prose: Prose) -> None:
    """All 12 runs passed (12 of 12); 24 draws, and later "the 24 draws"."""
    for at in range(len(prose.numbers)):
        _all(prose, at)
    _again(prose)


def _all(prose: Prose, at: int) -> None:
    """A count of a total in brackets behind a sentence about all of them, or none."""
    ahead = prose.ahead(at)
    said = _ALL.search(ahead)
    if not said or at + 2 >= len(prose.numbers) or not prose.plain(at, at + 1, at + 2) or _NOT_ALL.search(ahead):
        return
    count, total = prose.numbers[at + 1], prose.numbers[at + 2]
    if count.token.kind != "count-of" or not _VERB_THEN.fullmatch(prose.gap(at, at + 1)):
        return
    if not _CLOSES.match(prose.text, total.noun_end) or prose.known(at + 2).value != prose.known(at).value:
        return
    wanted = 0.0 if said["none"] else prose.known(at).value
    expected = "" if prose.known(at + 1).value == wanted else f"{wanted:g}"
    source = f"said {'none' if said['none'] else 'all'!r} of {prose.numbers[at].token.text}"
    prose.tell("count", prose.known(at + 1), (prose.known(at),), expected, source)


def _again(prose: Prose) -> None:
    """Two counts of one plural noun, the second called "the": where nothing tells them apart, they are one."""
    places: dict[str, list[int]] = {}
    for at, number in enumerate(prose.numbers):
        if noun(number).endswith("s") and not _INSTANCES.search(noun(number)):
            places.setdefault(noun(number).split()[-1], []).append(at)
    for name, at in places.items():
        if len(at) != 2 or not prose.plain(*at) or min(prose.known(one).value for one in at) < 2:
            continue
        first, second = at
        start, first_end = prose.sentence(prose.numbers[first].start)
        second_start, end = prose.sentence(prose.numbers[second].start)
        if second_start != first_end or len(re.findall(rf"\b{re.escape(name)}\b", prose.text[start:end].lower())) != 2:
            continue
        opening = prose.text[second_start : prose.numbers[second].start]
        if not _AGAIN.search(opening) or not _GOES_ON.match(prose.text, prose.numbers[second].noun_end):
            continue
        one, other = prose.known(first), prose.known(second)
        if _OTHER.search(prose.text, start, end) or max(one.value, other.value) > _NEAR * min(one.value, other.value):
            continue
        expected = "" if one.value == other.value else one.token.text
        prose.tell("count", other, (one,), expected, f"the {name} counted before", level="warning")
