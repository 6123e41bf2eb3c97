"""Numbers in a row with what is said of all: their mean, median, total, or where they begin and end."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf, prod

from campaign.notes.audit_printed import Printed, agree, follows
from campaign.notes.audit_sentence import Prose, noun, symbol, whole

_AND = re.compile(r"\s*(?:,|,?\s*(?:and|&)|,\s*and)\s*(?:[$€£])?")
_MEAN_OF = re.compile(r"\b(?P<kind>average|mean|median)\s+(?:of|is|was|=)\s*$", re.IGNORECASE)
_OVER = re.compile(r"\s*(?:over|of|from|for)\s+(?:the\s+(?:values\s+)?)?|\s*\(\s*", re.IGNORECASE)
_LIST_OF = re.compile(r"\b(?P<kind>average|mean|median|sum|total|minimum|maximum)\s+of\s+(?:the\s+)?$", re.IGNORECASE)
_IS = re.compile(r"\s*(?:is|was|=|equals|gives|makes|yields|comes\sto|would\sbe)\s+", re.IGNORECASE)
_THEN = re.compile(r"\s*(?:,|;|:|—|–|\()\s*(?:(?:or|so|i\.e\.|that\sis|which\sis|an?)\s+)?", re.IGNORECASE)
_ON_AVERAGE = re.compile(r"\s*(?:on|in)\s(?P<kind>average|the\smean)\b", re.IGNORECASE)
_AVERAGE_AHEAD = re.compile(r"\bon\s(?P<kind>average),?\s*$", re.IGNORECASE)
_ADDING = re.compile(r"\b(?P<kind>adding)\s+$", re.IGNORECASE)
_BRACKETED = re.compile(r"\b(?P<kind>average|mean|median)\b[^.;()]{0,40}\(\s*$", re.IGNORECASE)
_IS_BEHIND = re.compile(r"\s*\)\s+(?:is|was)\s+", re.IGNORECASE)
_HAVE = re.compile(
    r"\s*,?\s*(?:have|has|give|gives|with|for|giving)\san?\s(?P<kind>average|mean|median)\sof\s+", re.IGNORECASE
)
_OTHER_MEAN = re.compile(r"\bgeo|\bharmonic|\bweighted|\btrimmed", re.IGNORECASE)
_IN_TOTAL = re.compile(r"\s*(?:in\stotal|in\sall|altogether|combined|in\ssum)\b", re.IGNORECASE)
_FOR_TOTAL = re.compile(
    r"[^.;:()\d]{0,30},?\s*(?:for\sa\stotal\sof|a\stotal\sof|which\sadds?\sup\sto|adding\sup\sto|which\smakes|totalling"
    r"|totaling)\s+",
    re.IGNORECASE,
)
_COMES = re.compile(r"[^.;:()\d]{0,24}[,;]\s*(?:or\s|so\s|that\sis\s|making\s)?", re.IGNORECASE)
_LIST_ENDS = re.compile(r"\s*(?:[.,;:)!?]|$|(?:is|was|are|were|have|has|give)\b)")
_ALL_OF = re.compile(r"\s*(?::|\(|—)\s*")


def audit_listed(prose: Prose) -> None:
    """Every row of numbers beside which something is said of all of them."""
    for run in _runs(prose):
        for kind, result in _claims(prose, run):
            over = result < run[0] and prose.gap(result, run[0]).strip().lower().startswith("over")
            firm = [*run[1:], result] if over else [*run, result]  # "over" is no "more than" there
            if prose.seen[run[0]] and prose.firm(*firm) and _one_measure(prose, [*run, result]):
                _hold(prose, kind, run, result)
        _range(prose, run)
    _totals(prose)


def _runs(prose: Prose) -> Iterator[range]:
    """Numbers with nothing but commas and "and" between them, two at least."""
    at = 0
    while at < len(prose.numbers):
        end = at
        while end + 1 < len(prose.numbers) and _AND.fullmatch(prose.gap(end, end + 1)):
            end += 1
        if end > at:
            yield range(at, end + 1)
            if end > at + 1:  # the last may be what is said of the others
                yield range(at, end)
        at = end + 1


def _claims(prose: Prose, run: range) -> Iterator[tuple[str, int]]:
    """What is said of the row: "average", "median", "total"; and the index of the number that says it."""
    first, last = run[0], run[-1]
    ends = _LIST_ENDS.match(prose.text, prose.numbers[last].noun_end) is not None
    whole_run = not (last + 1 < len(prose.numbers) and _AND.fullmatch(prose.gap(last, last + 1)))
    ends = ends and re.match(r"\s*[.,;:)!?]|\s*$", prose.text[prose.numbers[last].noun_end :]) is not None
    if first > 0 and ends and whole_run and noun(prose.numbers[last]) in ("", noun(prose.numbers[first - 1])):
        ahead, gap = prose.ahead(first - 1, 24), prose.gap(first - 1, first)
        if _OVER.fullmatch(gap) and (found := _MEAN_OF.search(ahead)) and len(run) > 2:
            yield found["kind"].lower(), first - 1
        elif "(" in gap and _OVER.fullmatch(gap) and _AVERAGE_AHEAD.search(ahead) and prose.behind(last, 1) == ")":
            yield "average", first - 1
    if last + 1 < len(prose.numbers):
        gap = prose.gap(last, last + 1)
        said = _said_of(prose, first, gap)
        if said:
            yield said, last + 1
        elif (_THEN.fullmatch(gap) or _AND.fullmatch(gap)) and _ON_AVERAGE.match(prose.behind(last + 1)):
            yield "average", last + 1


def _said_of(prose: Prose, first: int, gap: str) -> str:
    """What is said of a row by the words before it and those between it and the number behind it."""
    ahead = prose.ahead(first)
    found = (_LIST_OF.search(ahead) or _ADDING.search(ahead)) if _IS.fullmatch(gap) else None
    found = found or (_BRACKETED.search(ahead) if _IS_BEHIND.fullmatch(gap) else None) or _HAVE.fullmatch(gap)
    return found["kind"].lower() if found else ""


def _one_measure(prose: Prose, at: Sequence[int]) -> bool:
    """Whether all measure or count the same; a number without a unit takes that of the others."""
    units = {symbol(prose.numbers[one]) for one in at} - {""}
    nouns = {noun(prose.numbers[one]) for one in at} - {""}
    kinds = {prose.numbers[one].token.kind for one in at}
    return len(units) + len(nouns) <= 1 and "ordinal" not in kinds and "multiplier" not in kinds


def _hold(prose: Prose, kind: str, run: range, result: int) -> None:
    items, said = [prose.known(at) for at in run], prose.known(result)
    if kind in ("sum", "total", "adding"):
        _sum(prose, said, items)
        return
    items = [one.exact() if whole(one) else one for one in items]
    values = sorted(one.value for one in items)
    other = [_geometric, _harmonic] if _OTHER_MEAN.search(prose.text) else []
    ways = [_EXACTLY[kind]] if kind in _EXACTLY else [_mean, *other]
    if all(not one.step for one in items) and whole(said):
        said = replace(said, step=0.98)  # all are exact: what is cut off must stay below the next whole number
    verdicts = [follows(said, way, items[:8]) for way in ways if len(items) <= 8]
    if not verdicts or (kind not in _EXACTLY and not values[0] / 2 <= said.value <= values[-1] * 2):
        return
    holds = any(verdict in ("", "cut") for verdict in verdicts)
    expected = "" if holds else said.alike(ways[0](*(one.value for one in items)))
    prose.tell("sum", said, items, expected, f"{kind} of {len(items)}", what="item")


def _mean(*values: float) -> float:
    return sum(values) / len(values)


def _median(*values: float) -> float:
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


_EXACTLY: dict[str, Callable[..., float]] = {"median": _median, "minimum": min, "maximum": max}


def _geometric(*values: float) -> float:
    return prod(values) ** (1 / len(values)) if min(values) > 0 else inf


def _harmonic(*values: float) -> float:
    return len(values) / sum(1 / value for value in values) if min(values) > 0 else inf


def _sum(prose: Prose, said: Printed, items: Sequence[Printed]) -> None:
    if len(items) > 8:
        return
    added = sum(one.value for one in items)
    verdict = follows(said, lambda *values: sum(values), items)
    if verdict in ("", "cut"):
        prose.tell("sum", said, items, "", "")
    elif 0.5 <= added / max(said.value, 1e-12) <= 2:
        prose.tell("sum", said, items, said.alike(added), f"{len(items)} numbers", what="item")


def _totals(prose: Prose) -> None:
    """Loading takes 1.2 s, parsing 0.8 s and writing 0.5 s, for a total of 2.5 s: of all amounts before it."""
    for sentence in prose.sentences():
        for at in sentence[2:]:
            gap = prose.gap(at - 1, at)
            last = _IN_TOTAL.match(prose.behind(at)) and _COMES.fullmatch(gap)
            if not (last or _FOR_TOTAL.fullmatch(gap)) or not symbol(prose.numbers[at]):
                continue
            first = at
            while first > sentence[0] and symbol(prose.numbers[first - 1]) == symbol(prose.numbers[at]):
                first -= 1
            run = range(first, at)
            if len(run) > 1 and prose.firm(*run, at) and prose.numbers[at].token.kind != "percent":
                _sum(prose, prose.known(at), [prose.known(one) for one in run])


def _range(prose: Prose, run: range) -> None:
    """The scores range from 2 to 9: 2, 5 and 9."""
    low, high = run[0] - 2, run[0] - 1
    if low < 0 or len(run) < 3 or not _ALL_OF.fullmatch(prose.gap(high, run[0])):
        return
    kinds = (prose.numbers[low].token.kind, prose.numbers[high].token.kind)
    named = re.search(r"\b(?:rang|span|var|run)\w*(?:\sfrom)?\s$", prose.ahead(low, 24))
    if not named or kinds not in (("from", "to"), ("range-low", "range-high"), ("integer", "integer")):
        return
    at = [low, high, *run]
    if (
        not prose.firm(*at)
        or not _one_measure(prose, at)
        or not _LIST_ENDS.match(prose.text, prose.numbers[run[-1]].noun_end)
    ):
        return
    items = [prose.known(one) for one in run]
    for end, pick in ((low, min), (high, max)):
        best = pick(items, key=lambda one: one.value)
        said = prose.known(end)
        expected = "" if agree(said, best) else best.token.text
        prose.tell("sum", said, items, expected, f"{len(items)} numbers", what="item")
