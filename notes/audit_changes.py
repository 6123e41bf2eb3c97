"""Changes: what a sentence says of a before and an after, against what these two give."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from campaign.notes.audit_amounts import in_common
from campaign.notes.audit_pairs import Pair, pairs
from campaign.notes.audit_printed import Printed, coarse, follows, reach, significant
from campaign.notes.audit_sentence import Prose, noun, symbol
from campaign.notes.findings import Level

_DOWN = (
    r"shav(?:ed|es|ing)|cutting|reducing|lowering|saving|dropping|shrinking|remov(?:ed|es|ing)"
    r"|drop(?:s|ped)?|fell|falls?|decreas(?:es?|ed)|declin(?:es?|ed)|reduc(?:es?|ed|tions?)|shr(?:ank|unk|inks?)|cuts?"
    r"|lower(?:ed|s)?|down|less|fewer|smaller|shorter|cheaper|sav(?:es?|ed|ings?)|slash(?:ed|es)|trim(?:s|med)"
)
_UP = (
    r"add(?:ed|s|ing)|rais(?:ed|es|ing)|increasing|growing|gr(?:ew|ows?|own|owth)|ros(?:e)|ris(?:es?|en)|increas(?:es?|ed)|climb(?:s|ed)|jump(?:s|ed)?|up|more|higher|larger"
    r"|bigger|longer|gain(?:s|ed)?"
)
_EITHER = (
    r"improv(?:es?|ed|ing|ements?)|speeding(?:\s(?:it|this|things))?\sup|faster|slower|speed-?\s?ups?|sped\sup|speeds?\sup|slow-?downs?|slowed(?:\sdown)?|better"
    r"|worse|chang(?:es?|ed)|differ(?:s|ences?)|overhead|regressions?|as\s(?:fast|large|big|high|long|slow|many|much)"
)
_WORD = rf"(?:(?P<down>{_DOWN})|(?P<up>{_UP})|(?P<either>{_EITHER}))"
_WORD_AHEAD = re.compile(
    rf"\b{_WORD}(?:\s+(?:by|of|down|up|is|was|a|an|about|further|only|just|another|it|this|them|things))*\s*[(:]?\s*$",
    re.IGNORECASE,
)
_WORD_BEHIND = re.compile(
    rf"(?:\s|-)*(?:relative\s|overall\s|net\s|total\s|absolute\s|performance\s)?{_WORD}(?![\w-])", re.IGNORECASE
)
_LINK_AFTER = re.compile(
    r"(?:\s(?:an?|per|of|in|on|at|before|now|the|for|each|every|\w+s)\s?\w*(?:\s\w+)?|/[a-z]+|\s[a-z]+\sper\s[a-z]+)?"
    r"\s*(?:(?P<open>[(\[])\s*|,\s*|\s[—–-]\s|:\s*|;\s*|\.\s+|=\s*)"
    r"(?:(?:or|i\.e\.,?|that\sis|that's|which\sis|which\swas|this\sis|it\sis|it\swas|so|thus|hence|a|an|the|for|means?"
    r"|which\smeans|giving|making\sit|making|meaning|it\sis\snow|it\swas\ssped\sup|yielding|about|by|representing|and\sso|is)(?:,?\s+))*"
    rf"(?:(?:a\s|an\s|the\s)?(?:(?:overall|net|total|relative)\s)?{_WORD}\s(?:(?:it|this|them|things)\s)?(?:(?:of|by)\s)?)?$",
    re.IGNORECASE,
)
_LINK_BEFORE = re.compile(
    r"(?:[^.;:()\[\]\ufffc]{0,50}?)\s*[,:]?\s*(?P<open>\()?\s*(?:(?:going|rising|falling|growing|moving)\s)?"
)
_BREAKS = re.compile(
    r"\b(?:when|as\sthe|while|if|after|because|since|and|but|than|whereas|although|at|going|moving|switching|scaling|during"
    r"|each|for|on|across|over|between|with|without|to|who|until|in\s(?:may|june|july|the\syears?))\b|[/%]",
    re.IGNORECASE,
)
_STRONG_BREAKS = re.compile(
    r"\b(?:when|while|if|and|but|than|whereas|although|who|each|every|at|on|with)\b|%", re.IGNORECASE
)
_NEW_CLAUSE = re.compile(r"[,:(]\s*(?:(?:going|rising|falling|growing|moving|down|up)\s)?$", re.IGNORECASE)
_OF_WHAT = re.compile(r"(?:(?<=more|less)|(?<=fewer))\s(?!than\b|per\b)([a-z]{3,})\b", re.IGNORECASE)
_MEASURED_BY = frozenset("time overall now today again space and but with for when while than".split())
"""Words behind "more" or "less" that name no other quantity."""
_CLOSED = re.compile(r"\s*(?:[)\],;]|$)")
_MORE_THAN = re.compile(r"\bmore\s+than\s*$", re.IGNORECASE)
_NEARLY = re.compile(
    r"\b(?:nearly|almost|just\sunder|less\sthan|roughly|about|around|approximately)\s*$", re.IGNORECASE
)
_TIMES_VERB = re.compile(r"(?:doubl|tripl|quadrupl|halv)(?:e[sd]?|ing)$", re.IGNORECASE)
_IN_HALF = re.compile(r"\b(?:cut|cuts|slashed|reduced|split)\b[^.;:]{0,40}\b(?:in|by)\s+$", re.IGNORECASE)
_BY_SO_MUCH = frozenset("faster slower more less fewer larger bigger higher longer smaller cheaper lower".split())
"""Words by which "3 times faster" may mean four times as fast."""
_ROOM = 0.125
"""So far from twice may stand what is said to have doubled."""


def audit_changes(prose: Prose) -> None:
    """Every change that is said right before or right behind its pair, or inside it."""
    for pair in pairs(prose):
        for said in _changes(prose, pair):
            _hold(prose, pair, said)
    _down_from(prose)


@dataclass(frozen=True, slots=True)
class _Said:
    """What is said of a pair: its index, and the words that say it."""

    at: int
    word: str
    down: bool
    up: bool
    bare: bool = False
    """Whether no word says that it is a change, only brackets behind the pair."""


def _said(prose: Prose, at: int, *words: re.Match[str] | None) -> _Said:
    found = next((match for match in words if match and (match["down"] or match["up"] or match["either"])), None)
    text = prose.numbers[at].token.text
    percent = prose.numbers[at].token.unit in ("%", "pp")
    down = bool(found and found["down"]) or (percent and text[:1] in "-−")
    up = bool(found and found["up"]) or (percent and text[:1] == "+")
    word = next(filter(None, (found["down"], found["up"], found["either"])), "") if found else ""
    return _Said(at, word.lower(), down, up, bare=not word and not (percent and text[:1] in "+-−"))


def _changes(prose: Prose, pair: Pair) -> Iterator[_Said]:
    """What stands right before and right behind the pair."""
    text, at = prose.text, pair.low - 1
    if at >= 0 and prose.sentence(prose.numbers[at].start) == prose.sentence(prose.numbers[pair.low].start):
        number = prose.numbers[at]
        link = text[number.end : pair.start]
        found = _LINK_BEFORE.fullmatch(link)
        breaks = _STRONG_BREAKS if _NEW_CLAUSE.search(link) else _BREAKS
        if found and not breaks.search(link) and (not found["open"] or _CLOSED.match(text, pair.end)):
            said = _said(prose, at, _WORD_BEHIND.match(text, number.end), _WORD_AHEAD.search(prose.ahead(at, 40)))
            alone = number.token.unit == "×" and (":" in link or found["open"])
            if alone or not said.bare or _multiplies(prose, at):
                yield said
    at = pair.high + 1
    if at < len(prose.numbers):
        number = prose.numbers[at]
        link = text[pair.end : number.start]
        found = _LINK_AFTER.fullmatch(link)
        if found and len(link) <= 60:
            behind = _WORD_BEHIND.match(text, number.end)
            said = _said(prose, at, behind, found)
            closed = _CLOSED.match(text, behind.end() if behind else number.noun_end)
            if found["open"] and not closed:
                return
            if behind and _of_another(prose, pair, behind.end()):
                return
            if not said.bare or (
                found["open"] and (pair.moved or not pair.directed) and number.token.unit in ("%", "×")
            ):
                yield said


def _of_another(prose: Prose, pair: Pair, end: int) -> bool:
    """Whether the words behind a change name what it is of, and that is not what the pair measures: more memory."""
    named = _OF_WHAT.match(prose.text, end)
    word = named[1].lower() if named else ""
    ours = prose.text[prose.sentence(pair.start)[0] : pair.end].lower()
    return bool(word) and word.removesuffix("s") not in ours and word not in _MEASURED_BY


def _multiplies(prose: Prose, at: int) -> bool:
    """Whether it is a word such as "doubled", or "half" in "cut in half"."""
    token = prose.numbers[at].token
    if token.role != "word":
        return False
    return _TIMES_VERB.match(token.text) is not None or (
        token.text.lower() == "half" and _IN_HALF.search(prose.ahead(at)) is not None
    )


_FALLEN = re.compile(
    r"(?:\s(?:per|a)\s\w+)?\s*[,(]?\s*(?:(?:which|that)\sis\s)?"
    r"(?:(?P<down>down|a\s(?:drop|fall|reduction|decrease|decline)\sof)|(?P<up>up|an?\s(?:rise|increase|gain|growth)\sof)"
    r"|(?P<either>an?\s(?:improvement|change)\sof))\s+(?:by\s)?",
    re.IGNORECASE,
)
_FROM_BEHIND = re.compile(r"\s*(?:\(?\s*compared\sto|from|on)\s+(?:the\s)?(?:old\s|previous\s)?", re.IGNORECASE)


def _down_from(prose: Prose) -> None:
    """The 25 % of "45 ms, down 25 % from 60 ms"."""
    for at in range(len(prose.numbers) - 2):
        found = _FALLEN.fullmatch(prose.gap(at, at + 1))
        if found and prose.firm(at, at + 1, at + 2) and _FROM_BEHIND.fullmatch(prose.gap(at + 1, at + 2)):
            start, end = prose.numbers[at].start, prose.numbers[at + 2].noun_end
            _hold(prose, Pair(at + 2, at, start, end, True, True), _said(prose, at + 1, found))


# What the pair gives

Way = Callable[[float, float], float]


def _over(a: float, b: float) -> float:
    if b <= 0 or a <= 0:
        raise ZeroDivisionError
    return a / b


def _hold(prose: Prose, pair: Pair, said: _Said) -> None:
    """What is said against what the pair gives, in every unit in which that can be read."""
    if not prose.seen[said.at]:
        return
    ends = (pair.before, pair.after)
    amounts = in_common([prose.numbers[end] for end in ends], [prose.known(end) for end in ends])
    if not amounts:
        return
    unit = symbol(prose.numbers[said.at])
    if unit == "×" or _multiplies(prose, said.at):
        if symbol(prose.numbers[pair.after]) != "%":
            _times(prose, pair, said, amounts)
    elif prose.firm(said.at):
        _sizes(prose, pair, said, amounts, unit)


def _times(prose: Prose, pair: Pair, said: _Said, amounts: Sequence[tuple[Printed, ...]]) -> None:
    c = prose.known(said.at)
    ahead = prose.ahead(said.at, 24)
    rough = c.loose or _MORE_THAN.search(ahead) or _NEARLY.search(ahead)
    if c.token.role != "word":
        if not rough:
            _follow(prose, pair, said, amounts, [lambda x, y: _over(x, y), lambda x, y: _over(y, x)])
        return
    if (rough and not (_MORE_THAN.search(ahead) or _NEARLY.search(ahead))) or c.value <= 0:
        return
    a, b = amounts[0]
    if a.value <= 0 or b.value <= 0:
        return
    times = b.value / a.value
    verb = _multiplies(prose, said.at)
    wanted = c.value
    if not verb and (times < 1) != (wanted < 1):
        times = 1 / times
    low, high = wanted * (1 - _ROOM), wanted * (1 + _ROOM)
    if _MORE_THAN.search(ahead):
        low, high = (wanted * 0.97, wanted * 1.6) if wanted > 1 else (0.0, wanted * 1.03)
    elif _NEARLY.search(ahead):
        low, high = (wanted * 0.75, wanted * 1.1) if wanted > 1 else (wanted * 0.9, wanted * 1.3)
    if said.word in _BY_SO_MUCH:
        high += 1
    expected = "" if low <= times <= high else f"{times:.3g}×"
    source = "the two numbers beside it"
    prose.tell("ratio", c, (a, b), expected, source, also=[f"as printed they give {times:.6g}"] if expected else ())


def _sizes(prose: Prose, pair: Pair, said: _Said, amounts: Sequence[tuple[Printed, ...]], unit: str) -> None:
    """Percentages, points and plain amounts."""
    c = prose.known(said.at)
    sign = -1 if c.value < 0 else 1
    shared = {symbol(prose.numbers[end]) for end in (pair.before, pair.after)} - {""}
    percents = shared == {"%"}
    ways: list[Way] = []
    if unit == "%" and (shared != {"pp"}):
        ways += [
            lambda x, y: sign * abs(100 * (_over(y, x) - 1)),
            lambda x, y: sign * abs(100 * (_over(x, y) - 1)),
        ]
        if pair.directed and (said.down or said.up):
            ways = ways[:1]
        elif not (said.down or said.up) or not pair.directed:
            ways.append(lambda x, y: 100 * _over(y, x))
        if percents:
            ways.append(lambda x, y: sign * abs(y - x))
    elif unit == "pp" and (percents or not shared):
        ways.append(lambda x, y: sign * abs(y - x))
    elif not said.bare and _same_measure(prose, said.at, pair):
        amount = in_common(
            [prose.numbers[at] for at in (pair.before, pair.after, said.at)],
            [prose.known(at) for at in (pair.before, pair.after, said.at)],
        )
        for a, b, size in amount[:1]:
            _difference(prose, pair, said, a, b, size)
        return
    if ways:
        _follow(prose, pair, said, amounts, ways)


def _same_measure(prose: Prose, at: int, pair: Pair) -> bool:
    """Whether a plain amount may be the difference: it measures, or counts, what the pair does."""
    ends = [prose.numbers[end] for end in (pair.before, pair.after)]
    number = prose.numbers[at]
    measured = any(symbol(end) for end in ends)
    if measured or any(end.token.kind == "duration" for end in ends):
        return bool(symbol(number) or noun(number))
    nouns = {noun(end) for end in ends} - {""}
    by = re.search(r"\bby\s$", prose.ahead(at, 4)) is not None
    counted = not noun(number) or noun(number) in nouns or (by and not nouns)
    return not symbol(number) and counted and number.token.kind in ("integer", "decimal", "word")


def _difference(prose: Prose, pair: Pair, said: _Said, a: Printed, b: Printed, c: Printed) -> None:
    """An amount that one number is more or less than the other."""
    verdict = follows(c, lambda x, y: abs(y - x), (a, b))
    wrong_way = pair.directed and ((said.down and b.value > a.value) or (said.up and b.value < a.value))
    size = abs(b.value - a.value)
    if verdict == "no" and not size / 2.5 <= abs(c.value) <= 2.5 * size:
        return
    expected = c.alike(size) if verdict == "no" else ""
    if not expected and wrong_way:
        expected = "a rise" if b.value > a.value else "a fall"
    prose.tell("ratio", c, (a, b), expected, "the two numbers beside it")


_FASTER_WHEN_LESS = frozenset("ns µs us ms s sec secs min mins h".split())


def _follow(prose: Prose, pair: Pair, said: _Said, amounts: Sequence[tuple[Printed, ...]], ways: Sequence[Way]) -> None:
    """A relative change; told where no way of reading gives it and it is of the size that could be meant."""
    c = prose.known(said.at)
    whole = [_rounded(one) for one in amounts]
    verdicts = [verdict for pair_ in whole for way in ways if (verdict := follows(c, way, pair_)) is not None]
    if not verdicts:
        return
    if "no" in verdicts and "" not in verdicts and c.token.unit == "×" and said.word in _BY_SO_MUCH:
        less = coarse(c, 9)
        one_more = Printed(less.token, less.value + 1, less.step)
        verdicts += [found for pair_ in whole for way in ways if (found := follows(one_more, way, pair_))]
        if any(follows(one_more, way, pair_) == "" for pair_ in whole for way in ways):
            verdicts.append("")
    a, b = whole[0]
    if "no" not in verdicts and _points_off(c, a, b):
        also = [f"as printed they give {abs(b.value - a.value):g}", "within what rounding each could explain"]
        prose.tell(
            "ratio", c, (a, b), c.alike(abs(b.value - a.value)), "the two numbers beside it", also=also, level="warning"
        )
        return
    wrong_way = pair.directed and ((said.down and b.value > a.value) or (said.up and b.value < a.value))
    wrong_way = wrong_way and c.token.unit != "×"
    if pair.directed and symbol(prose.numbers[pair.after]) in _FASTER_WHEN_LESS:
        wrong_way = wrong_way or (said.word == "faster" and b.value > a.value)
        wrong_way = wrong_way or (said.word == "slower" and b.value < a.value)
    if "" in verdicts and not wrong_way:
        prose.tell("ratio", c, (a, b), "", "")
        return
    signed = c.token.text[:1] in "+-−"
    if "" not in verdicts and said.bare and not signed and not _near(c, a, b):
        return  # it is of something else
    if "" not in verdicts and not pair.moved and not signed and not _near(c, a, b):
        return
    way = ways[0]
    if c.token.unit == "×":
        way = min(ways, key=lambda one: abs(one(a.value, b.value) - c.value))
    value = way(a.value, b.value)
    span = reach(way, a.rounded, b.rounded)
    also = [f"as printed they give {value:.6g}" + (f", from {span[0]:.6g} to {span[1]:.6g}" if span else "")]
    if wrong_way and "" in verdicts:
        expected = "a rise" if b.value > a.value else "a fall"
        prose.tell("ratio", c, (a, b), expected, f"said {said.word or c.token.text!r}", also=also)
    else:
        level: Level = "warning" if "cut" in verdicts else "error"
        prose.tell("ratio", c, (a, b), c.alike(value), "the two numbers beside it", also=also, level=level)


def _points_off(c: Printed, a: Printed, b: Printed) -> bool:
    """Whether points are not the difference of two percentages as these are printed."""
    if c.token.unit != "pp" or any(one.token.unit != "%" for one in (a, b) if one.token.unit):
        return False
    return c.step <= a.step and c.step <= b.step and abs(abs(c.value) - abs(b.value - a.value)) > 1e-9


def _rounded(amounts: tuple[Printed, ...]) -> tuple[Printed, ...]:
    """The amounts, their last zeros taken for rounding where the other has fewer digits."""
    most = max(2, *(significant(one.token) for one in amounts))
    return tuple(coarse(one, most) for one in amounts)


def _near(c: Printed, a: Printed, b: Printed) -> bool:
    """Whether what is said is of the size that the two numbers give, so that it is of them."""
    if min(a.value, b.value) <= 0:
        return False
    times = max(a.value, b.value) / min(a.value, b.value)
    sizes = [times] if c.token.unit == "×" else [100 * (times - 1), 100 * (1 - 1 / times)]
    return any(size / 2 <= abs(c.value) <= size * 2 for size in sizes)
