"""Two numbers of a sentence that are one thing before and after: "from 200 ms to 120 ms", "100 ms instead of 200"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from campaign.notes.audit_sentence import Prose, noun, symbol


@dataclass(frozen=True, slots=True)
class Pair:
    """The indexes of both numbers and the stretch of text that says so."""

    before: int
    after: int
    start: int
    end: int
    directed: bool
    """Whether it is sure which one came first."""
    moved: bool
    """Whether the words say that one became the other, rather than that both are the ends of something."""

    @property
    def low(self) -> int:
        """The number that is printed first."""
        return min(self.before, self.after)

    @property
    def high(self) -> int:
        """The number that is printed last."""
        return max(self.before, self.after)


MOVES = (
    r"fell|falls|fall|falling|fallen|dropped|drops|drop|dropping|went|goes|gone|going|rose|rises|rise|risen|grew|grows"
    r"|grown|growing|shrank|shrunk|shrinks|increased|increases|increasing|decreased|decreases|decreasing|declined"
    r"|reduced|reduces|reducing|reduction|cut|cuts|lowered|raised|improved|improves|improving|improvement|slowed"
    r"|climbed|jumped|moved|came|sped\sup|doubled|tripled|halved|down|up|shortened|slimmed|trimmed|brought|bringing"
)
_MOVED = re.compile(rf"\b(?:{MOVES})\b", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\s+(?:just\s+|only\s+|the\s+|an?\s+)?$", re.IGNORECASE)
_WHEN = r"(?:\s(?:in|on|at|by|per|a|an|last|this)\s[^.;:,()]{1,18}?)?"
_TO = re.compile(rf"{_WHEN}\s*(?:(?:all\sthe\sway|down|up|back)\s+)*to\s+(?:just\s+|only\s+|now\s+|an?\s+|mere\s+)*")
_ARROW = re.compile(r"\s*(?:-{1,2}>|→|=>|⇒|⟶)\s*")
_BECAME = re.compile(
    rf"\s*,?\s*(?:and\s|it\s|they\s|then\s|has\s|have\s|now\s)*(?:{MOVES})\s(?:(?:down|up|back)\s)?to\s(?:just\s|only\s)?",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"(?:\s(?:per|a)\s\w+)?\s*,?\s*(?P<open>\()?(?P<words>instead\sof|rather\sthan|(?:as\s)?compared\s(?:to|with)"
    r"|vs\.?|versus|against|(?:(?:which|that)\sis\s|was\s)?(?:down|up)\sfrom|previously|formerly|where\sthe\s"
    r"(?:old|previous|former|other)\s(?:one|version|code|path|parser|kernel|build)\s(?:took|needed|used|had|handled))"
    r"\s+(?:the\s|an?\s)?(?:old\s|previous\s|former\s)?",
    re.IGNORECASE,
)
_UNDIRECTED = re.compile(r"vs|versus|against|compared|as\scompared", re.IGNORECASE)
_OLD = re.compile(r"\b(?:old|previous|former|before)\b[^.;:]{0,40}$|\bbefore:\s*$", re.IGNORECASE)
_NEW = re.compile(
    r"(?:[^.;:\d]{0,12},\s(?:and\s|but\s|while\s)?(?:the\s)?(?:new|current)\b[^.;:,\d]{0,30}|[.;,]\s+(?:and\s)?after:\s*)",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"\b(?:used\sto|last|was|were|had|previously|before|earlier|originally|took|needed|ago|once)\b[^.;:]{0,50}$",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"(?:\s(?:per|a|on|in)\s\w+(?:\s\w+)?)?\s*[;,.]\s+(?:and\s|but\s)?(?:it\s|we\s|they\s|there\s)?(?:is\s|are\s)?(?:now|today)"
    r",?\s(?:[a-z']+\s){0,3}?(?:only\s|just\s)?",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"\bcompared\s(?:to|with)\s[^.;:,\d]{0,40}$", re.IGNORECASE)
_THAN_THAT = re.compile(
    r",\s[^.;:,\d]{3,40}\s(?:takes?|needs?|uses?|is|was|has|had|runs?\s(?:in|at)|costs?|took)\s(?:only\s|just\s)?"
)
_BEFORE = re.compile(r"\s+before(?:\s[^.;:\d,]{1,25})?,?\s(?:and|but)\s(?:only\s|just\s|is\s)?", re.IGNORECASE)
_AFTER = re.compile(r"\s+after(?:wards|ward)?(?:\s(?:it|that|the\s\w+|this))?(?!\w)", re.IGNORECASE)
_FROM_BEHIND = re.compile(rf"{_WHEN}\s*,?\s*(?:up\s|down\s)?from\s(?:the\s|an?\s|about\s)?", re.IGNORECASE)
_REACHED = re.compile(rf"\b(?:{MOVES})\s(?:to|at)\s(?:just\s|only\s)?$", re.IGNORECASE)
_SETTINGS = re.compile(
    r"\b(?:threads?|gpus?|cores?|cpus?|workers?|nodes?|batch(?:es)?|versions?|layers?|bits?|blocks?|steps?|epochs?"
    r"|clients?|streams?|replicas?|processes|sizes?\sof|chapters?|pages?|sections?|lines?|rows?|ages?|aged|dates?"
    r"|levels?|python|node|release|rfc|port|ports|columns?)\b",
    re.IGNORECASE,
)


def pairs(prose: Prose) -> Iterator[Pair]:
    """Every such pair of neighbouring amounts that measure the same, in order."""
    for at in range(len(prose.numbers) - 1):
        if prose.firm(at, at + 1) and (pair := _pair(prose, at)) and _comparable(prose, pair):
            yield pair


def _pair(prose: Prose, at: int) -> Pair | None:
    first, second = prose.numbers[at : at + 2]
    if any(number.token.kind == "ordinal" for number in (first, second)):
        return None
    gap, ahead = prose.gap(at, at + 1), prose.ahead(at)
    start, end = first.start, second.noun_end
    from_ = _FROM.search(ahead)
    if from_ and _TO.fullmatch(gap):
        moved = _MOVED.search(ahead) is not None
        return Pair(at, at + 1, start - len(from_[0]), end, True, moved)
    if from_ is None and _FROM_BEHIND.fullmatch(gap) and _REACHED.search(ahead):
        return Pair(at + 1, at, start, end, True, True)
    if _ARROW.fullmatch(gap):
        return Pair(at, at + 1, start - (len(from_[0]) if from_ else 0), end, True, True)
    if _BECAME.fullmatch(gap):
        return Pair(at, at + 1, start, end, True, True)
    if first.token.kind not in ("integer", "decimal", "percent", "duration"):
        return None
    if found := _INSTEAD.fullmatch(gap):
        if found["open"]:
            end += 1 if prose.text[end : end + 1] == ")" else 0
        return Pair(at + 1, at, start, end, not _UNDIRECTED.match(found["words"]), True)
    told = (
        (_OLD.search(ahead) and _NEW.fullmatch(gap))
        or (_ONCE.search(ahead) and _NOW.fullmatch(gap))
        or (_COMPARED.search(ahead) and _THAN_THAT.fullmatch(gap))
    )
    if told:
        return Pair(at, at + 1, start, end, True, True)
    if _BEFORE.fullmatch(gap) and (after := _AFTER.match(prose.behind(at + 1))):
        return Pair(at, at + 1, start, end + after.end(), True, True)
    return None


def _comparable(prose: Prose, pair: Pair) -> bool:
    """Whether both are amounts of one thing, not settings such as a number of threads."""
    first, second = prose.numbers[pair.low], prose.numbers[pair.high]
    one, other = noun(first), noun(second)
    if one and other and one != other and not _related(one, other):
        return False
    if symbol(first) or symbol(second):
        return True
    nearby = f"{one} {other} {prose.ahead(pair.low, 30)} {prose.text[second.end : second.end + 14]}"
    return not _SETTINGS.search(nearby)


def _related(one: str, other: str) -> bool:
    """Whether two counted nouns end in the same word, or are units of time."""
    times = ("second", "minute", "hour", "day", "week", "month", "year")
    ends = [noun.split()[-1].removesuffix("s") for noun in (one, other)]
    return ends[0] == ends[1] or all(end in times for end in ends)
