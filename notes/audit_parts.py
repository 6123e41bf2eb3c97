"""Parts of a whole: 12 tests: 9 passed, 3 failed; 120 runs, of which 90 passed and 30 failed."""

import re
from collections.abc import Iterator, Sequence

from campaign.notes.audit_complete import REST, opposite, rest_last
from campaign.notes.audit_sentence import Prose, noun
from campaign.notes.findings import Level

_STATE = re.compile(
    r"\s+(?:are |were |is |was )?(?:[a-z]+ed|ok|okay|new|wrong|right|unbound|bound|unknown|kept|lost|won|found|yes|no"
    r"|hits?|misses|successes|failures|passes)\b"
)
_TOTAL = re.compile(r"\b(?:in total|total|altogether|in all|overall)\b", re.IGNORECASE)
_TOTAL_AHEAD = re.compile(
    r"(?:\b(?:a total of|in total,?|altogether,?|in all,?|overall,?|total of|total:)\s+|\ball\s+(?:the\s+)?)$",
    re.IGNORECASE,
)
_TOTAL_BEHIND = re.compile(r"\s*(?:in total|altogether|in all|overall|total)\b\s*", re.IGNORECASE)
_NEXT = re.compile(r"[^.;:()|]{1,40}(?:,|\band\b|,\s*and\b|\bplus\b)\s*(?:the\s(?:other|remaining)\s)?")
_TO_WHOLE = re.compile(r"[^.;:()|]{0,40}(?::|=|—)\s*")
_OPENS = re.compile(r"(?:\s*(?:in total|altogether|in all))?\s*\(\s*", re.IGNORECASE)
_COMMA = re.compile(r"\s*(?:in total|altogether|in all)?\s*,\s*(?:only\s)?", re.IGNORECASE)
_OF_WHICH = re.compile(r"\bof\s(?:which|them|these|those|whom)\b", re.IGNORECASE)
_CLOSES = re.compile(r"[^.;:()\[\]]{0,40}\)")
_ENDS = re.compile(r"[^.;:()\[\]]{0,40}[.;,)\n]|[^.;:()\[\]]{0,40}$")
_VAGUE = re.compile(r"\b(?:some|few|several|both|including|includes|at least|rest)\b", re.IGNORECASE)
_OTHER_THINGS = re.compile(r"\b(?:insertions?|deletions?|additions?|lines?|warnings?|MB|kB|GB|bytes?)\b", re.IGNORECASE)


def audit_parts(prose: Prose) -> None:
    """Every whole number that a sentence takes apart."""
    at = 0
    while at < len(prose.numbers):
        end = at
        while end + 1 < len(prose.numbers) and prose.plain(end, end + 1):
            between = prose.text[prose.numbers[end].end : prose.numbers[end + 1].start]
            if not _NEXT.fullmatch(between):
                break
            end += 1
        if prose.plain(at):
            for parts, whole in _wholes(prose, at, end):
                if _hold(prose, parts, whole):
                    break
        at = end + 1


def _wholes(prose: Prose, first: int, last: int) -> Iterator[tuple[range, int]]:
    """What may be the whole of these parts, and which they are then."""
    everything = range(first, last + 1)
    if last > first:
        if first > 0 and prose.plain(first - 1) and _joined(prose, first - 1, first, (_TO_WHOLE, _OPENS)):
            yield everything, first - 1
        if last + 1 < len(prose.numbers) and prose.plain(last + 1):
            gap = prose.text[prose.numbers[last].end : prose.numbers[last + 1].start]
            bracket = re.fullmatch(r"[^.;:()|]{0,40}\(\s*", gap) and _TOTAL_BEHIND.match(prose.behind(last + 1))
            if _TO_WHOLE.fullmatch(gap) or bracket:
                yield everything, last + 1
    if last > first + 1:  # the whole comes first, with no more than a comma behind it
        yield range(first + 1, last + 1), first


def _joined(prose: Prose, one: int, other: int, ways: Sequence[re.Pattern[str]]) -> bool:
    gap = prose.text[prose.numbers[one].end : prose.numbers[other].start]
    return any(way.fullmatch(gap) for way in ways[:1]) or any(way.fullmatch(prose.gap(one, other)) for way in ways[1:])


def _hold(prose: Prose, parts: range, at: int) -> bool:
    """The sum of the parts against their whole; whether the words say that there is nothing else."""
    total, items = prose.known(at), [prose.known(part) for part in parts]
    number = prose.numbers[at]
    if any(one.value > total.value for one in items) or any(
        prose.numbers[p].token.kind == "ordinal" for p in (*parts, at)
    ):
        return False
    added = sum(one.value for one in items)
    if added != total.value and not _says_all(prose, parts, at):
        return False
    if added == total.value:
        if noun(number) or _total_said(prose, at):
            prose.tell("sum", total, items, "", "")
            return True
        return False
    near = abs(added - total.value) <= max(1.0, 0.2 * total.value) or opposite(prose, parts)
    if near:
        source = f"{len(items)} parts"
        also = [f"the parts give {added:g}"]
        sure = added > total.value or _total_said(prose, at) or rest_last(prose, parts) or not _leads(prose, at)
        level: Level = "error" if sure else "warning"
        prose.tell("sum", total, items, f"{added:g}", source, what="part", also=also, level=level)
    return near


def _leads(prose: Prose, at: int) -> bool:
    """Whether it is "of 20 runs": what is said of them then need not be of all."""
    return re.search(r"\bof\s+(?:the\s|all\s|these\s|our\s)*$", prose.ahead(at), re.IGNORECASE) is not None


def _says_all(prose: Prose, parts: range, at: int) -> bool:
    """Whether the words leave no rest: a total and its parts in brackets or behind a colon, or two opposites."""
    numbers, text = prose.numbers, prose.text
    start, _ = prose.sentence(numbers[min(at, parts[0])].start)
    end = prose.sentence(numbers[max(at, parts[-1])].start)[1]
    following = prose.sentence(min(end, len(text)))[1] if end < len(text) else end
    if _VAGUE.search(_between(prose, parts)) or REST.search(text, numbers[max(at, parts[-1])].end + 9, following):
        return False
    if any(_OTHER_THINGS.match(text, numbers[part].end + 1) for part in parts):
        return False
    states = all(_STATE.match(text, numbers[part].end) for part in parts)
    before = at < parts[0]
    gap = prose.gap(at, parts[0]) if before else ""
    bracket = before and _OPENS.fullmatch(gap) is not None
    colon = before and _TO_WHOLE.fullmatch(text[numbers[at].end : numbers[parts[0]].start]) is not None
    behind = not before
    total = _total_said(prose, at) or rest_last(prose, parts)
    if (colon or behind) and (states or total or opposite(prose, parts)) and (_named(prose, at) or total):
        return True
    closed = _CLOSES.match(text, numbers[parts[-1]].noun_end) is not None
    if bracket and closed and noun(numbers[at]):
        return total or states or opposite(prose, parts) or _counts_alike(prose, parts, at)
    leads = re.search(r"\bof\s+(?:the\s|all\s|these\s|our\s)*$", text[start : numbers[at].start], re.IGNORECASE)
    leads = leads or _OF_WHICH.search(_between(prose, parts))
    comma = before and _COMMA.fullmatch(gap) is not None
    if leads and comma and noun(numbers[at]) and len(parts) == 2:
        return (opposite(prose, parts) or rest_last(prose, parts)) and _ENDS.match(
            text, numbers[parts[-1]].noun_end
        ) is not None
    return bool(comma and total and noun(numbers[at]) and _ENDS.match(text, numbers[parts[-1]].noun_end))


def _counts_alike(prose: Prose, parts: range, at: int) -> bool:
    """Whether brackets list things that nearly add up to a larger count, so that they are meant to."""
    total = prose.known(at).value
    added = sum(prose.known(part).value for part in parts)
    named = all(noun(prose.numbers[part]) for part in parts)
    return named and total >= 10 and abs(added - total) <= max(1.0, 0.1 * total)


def _total_said(prose: Prose, at: int) -> bool:
    ahead = _TOTAL_AHEAD.search(prose.ahead(at)) is not None
    return ahead or _TOTAL_BEHIND.match(prose.behind(at)) is not None


def _named(prose: Prose, at: int) -> bool:
    """Whether a word follows that may be what it counts."""
    return bool(noun(prose.numbers[at])) or re.match(r"\s[a-z]+", prose.behind(at)) is not None


def _between(prose: Prose, parts: range) -> str:
    return prose.text[prose.numbers[parts[0]].end : prose.numbers[parts[-1]].end]
