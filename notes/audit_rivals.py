"""Two things with their times, and how many times faster one is said to be: A takes 10 s and B takes 4 s."""

import re
from dataclasses import replace

from campaign.notes.audit_amounts import in_common, kind_of
from campaign.notes.audit_printed import coarse, follows, significant
from campaign.notes.audit_sentence import Prose
from campaign.notes.audit_ways import over, under

_TAKES = r"(?:takes?|took|needs?|needed|runs?\sin|ran\sin|finishes\sin|finished\sin|is|was)\s(?:only\s|just\s)?"
_VERB = re.compile(rf"\b{_TAKES}$", re.IGNORECASE)
_OTHER = re.compile(
    rf"\s*(?:,|,?\s(?:and|while|but|whereas))\s(?:the\s)?[^.;:,\d()]{{1,30}}?(?:\s{_TAKES}|\s)", re.IGNORECASE
)
_THEN = re.compile(
    r"\s*(?::|;|—|–|\.|,\s(?:so|thus|hence)|,\swhich\smeans)\s(?:so\s)?(?P<who>[^.;:,\d()]{1,30}?)\s(?:is|was|runs?)\s(?:thus\s)?"
)
_FASTER = re.compile(r"\s(?P<by>faster|slower|quicker)\b|\sas\s(?:fast|slow)\b|\sspeed-?up\b", re.IGNORECASE)
_LIMIT = 3.0


def audit_rivals(prose: Prose) -> None:
    """Every two times in a row with a multiplier in the clause behind them."""
    for at in range(len(prose.numbers) - 2):
        first, said = prose.numbers[at], prose.numbers[at + 2]
        if not prose.firm(at, at + 1, at + 2) or said.token.unit != "×" or said.token.role == "word":
            continue
        if kind_of(first)[0] != "time" or not _VERB.search(prose.ahead(at)):
            continue
        faster = _FASTER.match(prose.text, said.noun_end)
        then = _THEN.fullmatch(prose.gap(at + 1, at + 2))
        if not then or not re.search(
            rf"(?<!\w){re.escape(then['who'])}(?!\w)", prose.text[: prose.numbers[at + 1].start]
        ):
            continue  # it is of a third one
        if faster and _OTHER.fullmatch(prose.gap(at, at + 1)):
            _hold(prose, at, by=bool(faster["by"]))


def _hold(prose: Prose, at: int, by: bool) -> None:
    ways = in_common(prose.numbers[at : at + 2], [prose.known(at), prose.known(at + 1)])
    if len(ways) != 1 or min(one.value for one in ways[0]) <= 0:
        return
    most = max(2, *(significant(one.token) for one in ways[0]))
    first, second = (coarse(one, most) for one in ways[0])
    said = prose.known(at + 2)
    times = max(first.value, second.value) / min(first.value, second.value)
    if not times / _LIMIT <= said.value <= times * _LIMIT:
        return
    sizes = [said, replace(said, value=said.value + 1)] if by else [said]
    verdicts = [follows(one, way, (first, second)) for one in sizes for way in (over, under)]
    expected = "" if "" in verdicts or "cut" in verdicts else f"{said.alike(times)}"
    prose.tell("ratio", said, (first, second), expected, "the two times before it")
