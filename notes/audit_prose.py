"""Sums, shares and changes in a sentence or a cell: what is said against the numbers beside it."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from campaign.notes.audit_page import Number, Page, Sight, Tested
from campaign.notes.audit_printed import Printed, coarse, follows, printed, reach, significant
from campaign.notes.findings import Level

_OPERATORS = {"+": "+", "-": "-", "−": "-", "–": "-", "×": "*", "*": "*", "x": "*", "·": "*", "/": "/", "÷": "/"}
_OPERATOR = re.compile(r"\s*([+\-−–×*·÷/]|(?<=\s)x(?=\s))\s*")
_EQUALS = re.compile(r"\s*={1,2}\s*")
_BEFORE_SUM = re.compile(r"(?:[+\-−–×*·÷/^(<>%\])}√∑]\s*|\ufffc)$")
_AFTER_SUM = re.compile(r"\s*(?:[+*×·÷/^]|[-−–]\s*\d|=\s*\d|\(?mod\b|%\s*\d)")
_SYMBOL_KINDS = frozenset("integer decimal percent count-of total multiplier".split())


def audit_prose(page: Page, tested: Tested) -> None:
    """Every block of the page that holds two numbers or more."""
    for sight in page.sights:
        if len(sight.numbers) >= 2 and sight.block.kind != "alt":
            seen = [printed(number, sight.text) for number in sight.numbers]
            _arithmetic(page, sight, seen, tested)
            _counted_shares(page, sight, seen, tested)
            _changes(page, sight, seen, tested)
            _parts(page, sight, seen, tested)


def _symbol(number: Number) -> str:
    """The unit's symbol, "" where there is none or only a counted noun."""
    return number.token.unit or "" if number.token.end == number.token.noun_end else ""


# a + b = c


def _arithmetic(page: Page, sight: Sight, seen: Sequence[Printed | None], tested: Tested) -> None:
    """Sums, differences, products and quotients that are written out with their result."""
    numbers = sight.numbers
    start = 0
    while start < len(numbers) - 2:
        end, operators = start, []
        while end + 1 < len(numbers):
            found = _OPERATOR.fullmatch(sight.text, numbers[end].noun_end, numbers[end + 1].start)
            if not found:
                break
            operators.append(_OPERATORS[found[1]])
            end += 1
        if operators and end + 1 < len(numbers):
            _equation(page, sight, seen[start : end + 2], numbers[start : end + 2], operators, tested)
        start = end + 1


def _equation(
    page: Page,
    sight: Sight,
    seen: Sequence[Printed | None],
    numbers: Sequence[Number],
    operators: Sequence[str],
    tested: Tested,
) -> None:
    text = sight.text
    known = [one for one in seen if one and not one.loose and one.token.kind in _SYMBOL_KINDS]
    kinds = set(operators)
    if "/" in kinds and numbers[0].token.kind == "count-of":
        return  # a share, see below
    if len(known) < len(numbers) or not _EQUALS.fullmatch(text, numbers[-2].noun_end, numbers[-1].start):
        return
    if _BEFORE_SUM.search(text[max(0, numbers[0].start - 4) : numbers[0].start]) and not text[
        : numbers[0].start
    ].rstrip().endswith("("):
        return
    if _AFTER_SUM.match(text, numbers[-1].noun_end) or not (kinds <= {"+", "-"} or len(kinds) == 1):
        return
    units = [_symbol(number) for number in numbers]
    if kinds <= {"+", "-"} and len({unit for unit in units if unit}) > 1:
        return
    if not kinds <= {"+", "-"} and any(units):
        return
    *operands, result = known
    operands = [one.exact() if _whole(one) else one for one in operands]

    def formula(*values: float) -> float:
        total = values[0]
        for operator, value in zip(operators, values[1:], strict=True):
            total = {"+": total + value, "-": total - value, "*": total * value}.get(operator, math.nan)
            if operator == "/":
                total = values[0] / values[1] if len(values) == 2 else math.nan
        return total

    if len(operands) > 8:
        return
    verdict = follows(
        result.exact() if all(one.step == 0 for one in operands) and _whole(result) and "/" not in kinds else result,
        formula,
        operands,
    )
    if verdict is None:
        return
    value = formula(*(one.value for one in operands))
    code = "ratio" if "/" in kinds else "sum"
    finding = None
    if verdict == "no":
        also = [f"operand {page.place(one.token)}" for one in operands]
        finding = page.finding(code, result.token, result.alike(value), "the equation", "error", also)
    tested.add(code, [one.token for one in known], finding)


def _whole(one: Printed) -> bool:
    """Whether it counts whole things."""
    return one.token.role == "word" or (one.token.text[-1:].isdigit() and "." not in one.token.text and one.step == 1.0)


# k of n (p %)

_SHARE_AFTER = re.compile(r"\s*(?:[(\[]\s*|=\s*|,\s*or\s+|,\s*that is,?\s+|:\s+|—\s*|–\s+)(?:i\.e\.,?\s*)?")
_SHARE_CLOSES = re.compile(r"\s*(?:[)\].;]|,|$)")
_SHARE_BEFORE = re.compile(r"\s*(?:[(\[:=]|—)\s*")
_SHARE_END = re.compile(r"\s*(?:[)\].;,]|$)")


def _counted_shares(page: Page, sight: Sight, seen: Sequence[Printed | None], tested: Tested) -> None:
    """Percentages and quotients beside the count and the total that they are of."""
    numbers = sight.numbers
    for at, (count, total) in enumerate(pairwise(numbers)):
        if count.token.kind not in ("count-of",) or total.token.kind != "total":
            continue
        k, n = seen[at], seen[at + 1]
        if not k or not n or k.loose or not _whole(k) or not _whole(n) or n.value <= 0 or k.value > n.value:
            continue
        share = _share_beside(sight, at)
        if share is None:
            continue
        p = seen[share]
        if not p or p.loose:
            continue
        factor = 100 if p.token.unit == "%" else 1
        exact = factor * k.value / n.value
        finding = None
        if not p.holds((exact, exact)):
            also = [f"count {page.place(k.token)}", f"total {page.place(n.token)}"]
            also += [f"{k.value:g}/{n.value:g} = {exact:.8g}{p.token.unit if factor == 100 else ''}"]
            source = f"{k.token.text} of {n.token.text}"
            finding = page.finding("share", p.token, p.alike(exact), source, "error", also)
        tested.add("share", [k.token, n.token, p.token], finding)


def _share_beside(sight: Sight, at: int) -> int | None:
    """The index of the share that stands beside the count at `at` and the total after it."""
    numbers, text = sight.numbers, sight.text
    total = numbers[at + 1]
    if at + 2 < len(numbers):
        p = numbers[at + 2]
        between = text[total.noun_end : p.start]
        plain = p.token.kind == "decimal" and "=" in between and not p.token.unit
        if (_is_percent(p) or plain) and _SHARE_AFTER.fullmatch(between) and _SHARE_CLOSES.match(text, p.end):
            closed = text[p.end :].lstrip()[:1]
            if "(" not in between or closed in (")", ",", ";"):
                return at + 2
    if at > 0:
        p = numbers[at - 1]
        between = text[p.end : numbers[at].start]
        if _is_percent(p) and _SHARE_BEFORE.fullmatch(between) and _SHARE_END.match(text, total.noun_end):
            return at - 1
    return None


def _is_percent(number: Number) -> bool:
    return number.token.kind == "percent" and number.token.text[:1] not in "+-−"


# from A to B, a C % drop


@dataclass(frozen=True, slots=True)
class _Change:
    """What is said of two numbers."""

    before: Printed
    after: Printed
    change: Printed
    tail: str
    """The words right behind the change."""


_CHANGE_AFTER = re.compile(
    r"\s*(?:[(\[]\s*|,\s*(?:or\s+)?(?:(?:an?|the)\s+)?|,\s*i\.e\.,?\s*(?:an?\s+)?|\s[—–-]\s(?:an?\s+)?|:\s+(?:an?\s+)?|=\s*)$"
)
_VERSUS = re.compile(r"\s*,?\s*(?:vs\.?|versus|against|instead of|compared (?:to|with))\s*$", re.IGNORECASE)
_CHANGE_TAIL = re.compile(
    r"\s*(?:relative\s|overall\s|net\s|total\s)?"
    r"(?:(?P<down>drop|decrease|decline|reduction|fall|cut|saving|less|lower|fewer|smaller|shorter|cheaper|reduced|down)"
    r"|(?P<up>increase|rise|growth|jump|more|higher|larger|bigger|longer|growing|up)"
    r"|(?P<other>faster|slower|speed-?\s?up|slowdown|improvement|better|worse|gain|change|difference|overhead|regression)"
    r")?s?(?!\w)"
)
_FASTER_WHEN_LESS = frozenset("ns µs us ms s sec secs min mins h".split())
_RESOURCES = re.compile(
    r"thread|gpu|core|worker|node|batch|version|layer|bit|block|step|epoch|client|user|stream", re.I
)


def _changes(page: Page, sight: Sight, seen: Sequence[Printed | None], tested: Tested) -> None:
    """Changes and ratios right behind the two numbers that they are of."""
    numbers, text = sight.numbers, sight.text
    for at in range(len(numbers) - 2):
        first, second, third = numbers[at : at + 3]
        if third.token.unit not in ("%", "×") or third.token.role == "word":
            continue
        arrow = first.token.kind == "from" and second.token.kind == "to"
        versus = _VERSUS.match(text[first.noun_end : second.start]) is not None and first.token.kind in (
            "integer",
            "decimal",
        )
        between = text[second.noun_end : third.start]
        behind = _CHANGE_AFTER.match(between)
        if not (arrow or versus) or not behind or not _comparable(text, first, second):
            continue
        a, b, c = seen[at : at + 3]
        tail = _CHANGE_TAIL.match(text, third.end)
        assert tail, "the pattern may match nothing"
        bare = between.strip() == "," and not (tail["down"] or tail["up"] or tail["other"])
        if bare:
            continue
        bracket = "(" in between or "[" in between
        ends = text[tail.end() :].lstrip()[:1]
        if not (a and b and c) or any(one.loose for one in (a, b)) or c.loose:
            continue
        if not (tail["down"] or tail["up"] or tail["other"]) and not (bracket and ends in (")", "]", ",", ";")):
            continue
        if bracket and ends not in (")", "]", ",", ";", ""):
            continue
        _change(page, _Change(a, b, c, tail[0].strip()), tail, arrow, _unit_of(first, second), tested)


def _comparable(text: str, first: Number, second: Number) -> bool:
    """Whether both are amounts of one thing, not settings such as a number of threads."""
    one, other = _symbol(first), _symbol(second)
    noun = "" if second.token.end == second.token.noun_end else second.token.unit or ""
    nearby = f"{noun} {text[max(0, first.start - 30) : first.start]} {text[second.end : second.end + 12]}"
    return (one == other or not one) and not _RESOURCES.search(nearby)


def _unit_of(first: Number, second: Number) -> str:
    return _symbol(second) or _symbol(first)


def _over(a: float, b: float) -> float:
    if b <= 0 or a <= 0:
        raise ZeroDivisionError
    return a / b


def _change(page: Page, said: _Change, tail: re.Match[str], arrow: bool, unit: str, tested: Tested) -> None:
    most = max(2, significant(said.before.token), significant(said.after.token))
    a, b = coarse(said.before, most), coarse(said.after, most)
    c = said.change
    if c.token.unit == "×":
        ways = [lambda x, y: _over(x, y), lambda x, y: _over(y, x)]
    else:
        sign = -1 if c.value < 0 else 1
        ways = [
            lambda x, y: sign * abs(100 * (_over(y, x) - 1)),
            lambda x, y: sign * abs(100 * (_over(x, y) - 1)),
        ]
        if unit == "%" or tail["other"] or not arrow:
            ways.append(lambda x, y: sign * abs(y - x))
    if unit == "%" and c.token.unit == "%":
        ways.append(lambda x, y: abs(y - x))
    verdicts = [follows(c, way, (a, b)) for way in ways[: 1 if arrow and _plain_change(tail, c, unit) else None]]
    verdicts = [verdict for verdict in verdicts if verdict is not None]
    if not verdicts:
        return
    tokens = [a.token, b.token, c.token]
    down = tail["down"] or (c.token.unit == "%" and c.token.text[:1] in "-−")
    up = tail["up"] or (c.token.unit == "%" and c.token.text[:1] == "+")
    wrong_way = arrow and ((down and b.value > a.value) or (up and b.value < a.value))
    if arrow and unit in _FASTER_WHEN_LESS:
        wrong_way = wrong_way or (said.tail == "faster" and b.value > a.value)
        wrong_way = wrong_way or (said.tail == "slower" and b.value < a.value)
    if "" in verdicts and not wrong_way:
        tested.add("ratio", tokens)
        return
    if "" not in verdicts and "no" in verdicts and not _near(c, a, b):
        return  # it is of something else
    way = ways[0]
    if c.token.unit == "×":
        way = min(ways, key=lambda way: abs(way(a.value, b.value) - c.value))
    value = way(a.value, b.value)
    span = reach(way, a.rounded, b.rounded)
    also = [f"from {page.place(a.token)}", f"to {page.place(b.token)}"]
    also += [f"as printed they give {value:.6g}" + (f", from {span[0]:.6g} to {span[1]:.6g}" if span else "")]
    if wrong_way and "" in verdicts:
        expected = "a rise" if b.value > a.value else "a fall"
        finding = page.finding("ratio", c.token, expected, f"said {said.tail or c.token.text!r}", "error", also)
    else:
        level: Level = "warning" if "cut" in verdicts else "error"
        finding = page.finding("ratio", c.token, c.alike(value), "the two numbers before it", level, also)
    tested.add("ratio", tokens, finding)


def _plain_change(tail: re.Match[str], c: Printed, unit: str) -> bool:
    """Whether the words leave only one base: a drop or a rise is of the first number."""
    return c.token.unit == "%" and unit != "%" and bool(tail["down"] or tail["up"])


def _near(c: Printed, a: Printed, b: Printed) -> bool:
    """Whether what is said is of the size that the two numbers give, so that it is of them."""
    if min(a.value, b.value) <= 0:
        return False
    times = max(a.value, b.value) / min(a.value, b.value)
    sizes = [times] if c.token.unit == "×" else [100 * (times - 1), 100 * (1 - 1 / times)]
    return any(size / 2 <= abs(c.value) <= size * 2 for size in sizes)


# 12 tests: 9 passed, 3 failed

_PART_WORD = re.compile(
    r"\s+(?:are |were |is )?(?:[a-z]+ed|ok|okay|new|wrong|right|unbound|bound|unknown|kept|lost|won|found)\b"
)
_WHOLE_WORD = re.compile(r"\b(?:in total|total|altogether|in all|overall)\b", re.IGNORECASE)
_BETWEEN_PARTS = re.compile(r"[^.;:()|]{1,40}(?:,|\band\b|,\s*and\b)\s*$")
_TO_WHOLE = re.compile(r"[^.;:()|]{0,40}(?::|=|—)\s*$")


def _parts(page: Page, sight: Sight, seen: Sequence[Printed | None], tested: Tested) -> None:
    """A whole, a colon, and its parts; or the parts, a colon, and the whole."""
    numbers, text = sight.numbers, sight.text
    plain = [bool(one and _whole(one) and not one.loose) for one in seen]
    at = 0
    while at < len(numbers):
        end = at
        while end + 1 < len(numbers) and plain[end] and plain[end + 1]:
            if not _BETWEEN_PARTS.fullmatch(text[numbers[end].end : numbers[end + 1].start]):
                break
            end += 1
        if end > at:
            for whole in (at - 1, end + 1):
                if 0 <= whole < len(numbers) and plain[whole]:
                    low, high = (whole, at) if whole < at else (end, whole)
                    if _TO_WHOLE.fullmatch(text[numbers[low].end : numbers[high].start]):
                        _part_sum(page, sight, seen, range(at, end + 1), whole, tested)
        at = end + 1


def _part_sum(
    page: Page, sight: Sight, seen: Sequence[Printed | None], parts: range, whole: int, tested: Tested
) -> None:
    text, numbers = sight.text, sight.numbers
    total = seen[whole]
    items = [one for one in (seen[part] for part in parts) if one]
    assert total and len(items) == len(parts), "only whole numbers are taken"
    noun = numbers[whole].token.unit
    added = sum(one.value for one in items)
    states = all(_PART_WORD.match(text, numbers[part].end) for part in parts)
    named = _WHOLE_WORD.search(text, max(0, numbers[whole].start - 20), numbers[whole].noun_end + 20)
    if not noun or any(one.value > total.value for one in items):
        return
    tokens = [total.token, *(one.token for one in items)]
    if added == total.value:
        tested.add("sum", tokens)
    elif (states or named) and 0.5 * total.value <= added <= 1.5 * total.value:
        also = [f"part {page.place(one.token)}" for one in items] + [f"the parts give {added:g}"]
        finding = page.finding("sum", total.token, f"{added:g}", f"{len(items)} parts", "error", also)
        tested.add("sum", tokens, finding)
