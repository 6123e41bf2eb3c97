"""Shares: percentages beside the count and the total that they are of, and fractions beside percentages."""

import re
from collections.abc import Iterator

from campaign.notes.audit_page import Number
from campaign.notes.audit_printed import Printed
from campaign.notes.audit_sentence import Prose, noun, whole

_POSITION = re.compile(
    r"\b(?:chapter|step|page|part|level|phase|stage|day|week|month|year|item|figure|table|version|no\.?|number|task|section"
    r"|round|layer|line|lesson|module|slide|volume|issue|episode|attempt|on|until|since|released|dated?)\s*$",
    re.IGNORECASE,
)
_SHARE_AFTER = re.compile(r"\s*(?:[(\[]\s*|=\s*|,\s*or\s+|,\s*that is,?\s+|:\s+|—\s*|–\s+)(?:i\.e\.,?\s*)?")
_WORDED_AFTER = re.compile(
    r"(?:\s+[^.,;:()\[\]\d]{1,40}?)?\s*(?:(?P<open>[(\[])\s*|,\s*(?:or|i\.e\.,?|that is,?|that's|which is"
    r"|which was|an?\s(?:\w+\s){0,2}(?:rate|share|ratio|accuracy|fraction)\sof)\s+|\.\s+(?:That is|That's|This is)\s+)",
    re.IGNORECASE,
)
_CLOSES = re.compile(r"\s*(?:[)\].;]|,|$)")
_BRACKET_ENDS = re.compile(r"\s*[)\],;]")
_BRACKET_ONLY = re.compile(r"\s*[)\]]")
_SHARE_BEFORE = re.compile(r"\s*(?:of\s(?:all\s|the\s)*[^.,;:()\d]{2,30})?\s*(?:[(\[:=]|—)\s*", re.IGNORECASE)
_SHARE_END = re.compile(r"\s*(?:[)\].;,]|$)")
_WHOLE_FIRST = re.compile(
    r"\b(?:(?:out\s)?of\s(?:(?:all|the|these|those|our|a\stotal\sof)\s)*|(?:there\s(?:were|are)|total\sof|asked|tested"
    r"|sampled|had|has|took|ran)\s)$",
    re.IGNORECASE,
)
_SOME_OF_IT = re.compile(
    r"(?:\s[^.,;:()\d]{0,30})?\s*[,;.]\s*(?:and\s|but\s)?(?:of\s(?:which|these|them|those|whom)\s*,?\s*)?(?:only\s|just\s)?",
    re.IGNORECASE,
)
_OR = re.compile(r"\s[^.,;:()\[\]\d]{1,30},\s(?:or|i\.e\.,?|that is,?|which is|a rate of|a share of)\s", re.IGNORECASE)
_OF_WHICH = re.compile(r"\bof\s(?:which|these|them|those|whom)\b", re.IGNORECASE)
_IN = re.compile(r"(?:\s(?:times|cases?|runs?))?\s(?:in|out\sof)\s(?:the\s|all\s)?", re.IGNORECASE)
_NO_QUALIFIER = re.compile(r"\b(?:most|mean|p\d+|within|under|over|more|than|confidence|CI)\b", re.IGNORECASE)
_STATE = re.compile(
    r"\s(?:were|was|are|is|had|have|has|did|[a-z]+ed|passed|failed|said|got|came|went|left|won|lost|never|still)\b"
)


def audit_shares(prose: Prose) -> None:
    """Every count of a total with its share, and every fraction in words with its percentage."""
    used: set[int] = set()
    for count, total, share in _counted(prose):
        if share not in used and prose.plain(count, total) and prose.firm(share):
            used.add(share)
            _hold(prose, count, total, share)
    _of_whole(prose, used)
    for at in range(len(prose.numbers) - 1):
        _fraction(prose, at, used)


def _hold(prose: Prose, count: int, total: int, share: int) -> None:
    k, n, p = (prose.known(at) for at in (count, total, share))
    if n.value <= 0 or k.value > n.value:
        return
    percent = p.token.unit == "%"
    exact = (100 if percent else 1) * k.value / n.value
    holds = p.holds((exact, exact))
    also = () if holds else [f"{k.value:g}/{n.value:g} = {exact:.8g}{'%' if percent else ''}"]
    expected = "" if holds else p.alike(exact)
    prose.tell("share", p, (k, n), expected, f"{k.token.text} of {n.token.text}", what="of", also=also)


def _counted(prose: Prose) -> Iterator[tuple[int, int, int]]:
    """Count, total and share, where they stand side by side."""
    numbers = prose.numbers
    for at in range(len(numbers) - 1):
        count, total = numbers[at], numbers[at + 1]
        paired = count.token.kind == "count-of" and total.token.kind == "total"
        loosely = not paired and _IN.fullmatch(prose.gap(at, at + 1)) is not None and bool(noun(total))
        if not (paired or loosely) or _POSITION.search(prose.ahead(at, 16)):
            continue
        if at + 2 < len(numbers) and _stands_after(prose, at + 1, at + 2, words=paired):
            yield at, at + 1, at + 2
        if paired and at > 0 and _stands_before(prose, at):
            yield at, at + 1, at - 1


def _stands_after(prose: Prose, total: int, share: int, words: bool) -> bool:
    """Whether a share stands behind its total, on its own."""
    p, text, gap = prose.numbers[share], prose.text, prose.gap(total, share)
    plain = p.token.kind == "decimal" and "=" in gap and not p.token.unit
    if not (_is_percent(p) or plain):
        return False
    if _SHARE_AFTER.fullmatch(gap) and _CLOSES.match(text, p.end):
        return "(" not in gap or _BRACKET_ENDS.match(text, p.end) is not None
    found = _WORDED_AFTER.fullmatch(gap) if words else None
    if not found or _NO_QUALIFIER.search(gap):
        return False
    return (_BRACKET_ONLY if found["open"] else _CLOSES).match(text, p.end) is not None


def _stands_before(prose: Prose, at: int) -> bool:
    """Whether a share stands before the count at `at`: 80 % (40 of 50), 80 % of the tests (40 of 50), 0.8 (40/50)."""
    p, gap = prose.numbers[at - 1], prose.gap(at - 1, at)
    rate = p.token.kind == "decimal" and not p.token.unit and "(" in gap and 0 < float(p.token.value or 0) < 1
    found = _SHARE_BEFORE.fullmatch(gap)
    if not found or not (_is_percent(p) or rate):
        return False
    return _SHARE_END.match(prose.text, prose.numbers[at + 1].noun_end) is not None


def _of_whole(prose: Prose, used: set[int]) -> None:
    """Of 120 runs, 90 passed (75 %): a whole that comes first, then counts with shares in brackets."""
    for at in range(len(prose.numbers) - 2):
        ahead = prose.ahead(at)
        opened = _WHOLE_FIRST.search(ahead)
        if not opened or not noun(prose.numbers[at]) or not prose.plain(at):
            continue
        end = prose.sentence(prose.numbers[at].start)[1]
        share = at + 2
        gap = _SOME_OF_IT.fullmatch(prose.gap(at, at + 1))
        if not gap or not prose.plain(at + 1):
            continue
        of_them = opened[0].lower().startswith(("of", "out of")) or _OF_WHICH.search(gap[0])
        if not of_them and not _STATE.match(prose.behind(at + 1)):
            continue
        counts = [at + 1]
        while share < len(prose.numbers) and prose.numbers[share].start < end:
            if prose.plain(share) and prose.numbers[share].token.kind in ("integer", "word"):
                counts.append(share)
            elif _is_percent(prose.numbers[share]) and share not in used and prose.firm(share):
                between = prose.gap(share - 1, share)
                alone = between.endswith("(") and len(between) <= 40 and not re.search(r"[.,;:)]", between)
                closed = alone and _BRACKET_ONLY.match(prose.text, prose.numbers[share].end)
                said = _OR.fullmatch(between) and _CLOSES.match(prose.text, prose.numbers[share].end)
                if counts[-1] == share - 1 and (closed or said):
                    used.add(share)
                    fits = [one for one in counts if _fits(prose, one, at, share)]
                    _hold(prose, fits[0] if fits else counts[-1], at, share)
            else:
                break
            share += 1


def _fits(prose: Prose, count: int, total: int, share: int) -> bool:
    exact = 100 * prose.known(count).value / max(prose.known(total).value, 1)
    return prose.known(share).holds((exact, exact))


def _is_percent(number: Number) -> bool:
    return number.token.kind == "percent" and number.token.text[:1] not in "+-−"


# a quarter (25 %)

_PART_OF = re.compile(
    r"(?:\sof\s(?:the\s|all\s|our\s|its\s|those\s|these\s|them)?[^.,;:()\d]{0,25})?\s*\(", re.IGNORECASE
)
_RATIO = re.compile(
    r"\b(?:ratio|rate|share|fraction|proportion|probability|accuracy|precision|recall)\b", re.IGNORECASE
)
_ROOM = 4.0
"""Percentage points by which a fraction in words may be off; at most a fifth of it."""


def _fraction(prose: Prose, at: int, used: set[int]) -> None:
    """A fraction, or a number below one, with a percentage in brackets that must say the same; or with its count."""
    number, other = prose.numbers[at], prose.numbers[at + 1]
    value = _fraction_of(prose, at)
    gap = prose.gap(at, at + 1)
    if value is None or not prose.firm(at + 1) or at + 1 in used:
        return
    alone = _BRACKET_ONLY.match(prose.text, other.noun_end)
    if alone and _is_percent(other) and _PART_OF.fullmatch(gap):
        _same(prose, at, at + 1, value)
    elif number.token.role == "word" and whole(prose.known(at + 1)):
        _counted_fraction(prose, at, value)


def _fraction_of(prose: Prose, at: int) -> float | None:
    """The value of a fraction, or of a decimal below one in running text."""
    token = prose.numbers[at].token
    if token.role == "word" and token.kind == "fraction" and not token.unit and prose.firm(at):
        return float(token.value or 0)
    bare = token.kind == "decimal" and not token.unit and not prose.sight.block.cell and prose.firm(at)
    return float(token.value or 0) if bare and 0 < float(token.value or 0) < 1 else None


def _same(prose: Prose, at: int, share: int, value: float) -> None:
    p = prose.known(share)
    exact = 100 * value
    token = prose.numbers[at].token
    one = prose.seen[at] or Printed(token, value, 0.0)
    if token.role == "word":
        room = min(_ROOM, 0.2 * exact)
        holds = abs(p.value - exact) <= room
    else:
        holds = p.holds((100 * one.rounded[0], 100 * one.rounded[1]))
        if not holds and not 1 / 1.5 <= p.value / exact <= 1.5:
            return  # it is of something else
    sure = token.role == "word" or _RATIO.search(prose.ahead(at, 30)) is not None
    expected = "" if holds else p.alike(exact)
    prose.tell("share", p, (one,), expected, token.text, level="error" if sure else "warning")


_COUNT_OPENS = re.compile(r"\s*\(")
_TOTAL_FOLLOWS = re.compile(r"\s*\)\s+of\s+(?:the\s|all\s|our\s)*", re.IGNORECASE)


def _counted_fraction(prose: Prose, at: int, value: float) -> None:
    """Half (30) of the 60 runs, or half of the 60 runs (30)."""
    if at + 2 >= len(prose.numbers):
        return
    if _COUNT_OPENS.fullmatch(prose.gap(at, at + 1)) and _TOTAL_FOLLOWS.fullmatch(prose.gap(at + 1, at + 2)):
        count, total = at + 1, at + 2
    elif prose.numbers[at + 1].token.kind == "total" and re.fullmatch(r"\s*\(", prose.gap(at + 1, at + 2)):
        count, total = at + 2, at + 1
        if not _BRACKET_ONLY.match(prose.text, prose.numbers[count].end):
            return
    elif prose.numbers[at + 1].token.kind == "total" and re.fullmatch(r",\s*", prose.gap(at + 1, at + 2)):
        count, total = at + 2, at + 1
        if not re.match(r"\s*,", prose.text[prose.numbers[count].end :]):
            return
    else:
        return
    if not prose.plain(count, total) or prose.known(total).value <= 0 or noun(prose.numbers[count]):
        return
    k, n = prose.known(count), prose.known(total)
    share = k.value / n.value
    holds = abs(share - value) <= min(_ROOM / 100, 0.2 * value) or abs(k.value - value * n.value) < 1
    token = prose.numbers[at].token
    one = prose.seen[at] or Printed(token, value, 0.0)
    prose.tell("share", k, (one, n), "" if holds else f"{value * n.value:g}", f"{token.text} of {n.token.text}")
