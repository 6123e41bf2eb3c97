"""Arithmetic that a text writes out: 12 + 30 = 42, $900 (3 × $300), 12 plus 30 makes 42."""

import math
import re
from collections.abc import Callable, Sequence

from campaign.notes.audit_amounts import in_common, is_money, kind_of
from campaign.notes.audit_page import Number
from campaign.notes.audit_printed import Printed, follows
from campaign.notes.audit_sentence import Prose, noun, symbol, whole

_OPERATORS = {"+": "+", "-": "-", "−": "-", "–": "-", "×": "*", "*": "*", "x": "*", "·": "*", "/": "/", "÷": "/"}
_OPERATORS |= {"plus": "+", "minus": "-", "times": "*"}
_OPERATOR = re.compile(r"\s*([+\-−–×*·÷/]|(?<=\s)(?:x|plus|minus|times)(?=\s))\s*")
_EQUALS = re.compile(r"\s*={1,2}\s*")
_IN_WORDS = re.compile(
    r"\s*,?\s*(?:makes?|gives?|equals?|yields?|totals|is equal to|comes to|adds up to)\s+", re.IGNORECASE
)
_GRID = re.compile(r"(?:\s(?:grid|matrix|board|table|array))?\s(?:has|have|holds|contains)\s", re.IGNORECASE)
_CELLS = re.compile(r"\b(?:points|cells|entries|elements|pixels|squares|positions|tiles|fields)$")
_OPEN = re.compile(r"\s*(?:in total\s*)?[(\[]\s*=?\s*")
_CLOSE = re.compile(r"\s*[)\]]")
_BEFORE = re.compile(r"(?:[+\-−–×*·÷/^(<>%\])}√∑]\s*|\ufffc)$")
_AFTER = re.compile(
    r"\s*(?:[+*×·÷/^]|[-−–]\s*\d|=\s*\d|\(?mod\b|%\s*\d"
    r"|\(?in (?:binary|octal|hex|base|unary|GF)\b|\(?(?:binary|base)\b)"
)
_KINDS = frozenset("integer decimal percent count-of total multiplier scientific".split())
_MOST = 8
"""So many operands at most; longer sums are in tables."""


def audit_equations(prose: Prose) -> None:
    """Sums, differences, products and quotients that are written out with their result before or behind them."""
    start, count = 0, len(prose.numbers)
    while start < count - 1:
        end, operators = start, list[str]()
        while end + 1 < count and (found := _OPERATOR.fullmatch(prose.gap(end, end + 1))):
            operators.append(_OPERATORS[found[1]])
            end += 1
        if operators:
            _equation(prose, range(start, end + 1), operators)
        start = end + 1


def _equation(prose: Prose, operands: range, operators: Sequence[str]) -> None:
    kinds = set(operators)
    if len(operands) > _MOST or not (kinds <= {"+", "-"} or len(kinds) == 1):
        return
    first, last = operands[0], operands[-1]
    ahead = prose.text[max(0, prose.numbers[first].start - 4) : prose.numbers[first].start]
    if last + 1 < len(prose.numbers) and not _AFTER.match(prose.text, prose.numbers[last + 1].noun_end):
        opened = ahead.rstrip().endswith("(")
        gap = prose.gap(last, last + 1)
        words = _IN_WORDS.fullmatch(gap)
        if (
            kinds == {"*"}
            and _GRID.fullmatch(gap)
            and _CELLS.search(prose.numbers[last + 1].token.text + noun(prose.numbers[last + 1]))
        ):
            _hold(prose, operands, operators, last + 1, near=True)
            return
        if (_EQUALS.fullmatch(gap) or words) and (opened or not _BEFORE.search(ahead)):
            _hold(prose, operands, operators, last + 1)
            return
    bracketed = first > 0 and _OPEN.fullmatch(prose.gap(first - 1, first)) and _CLOSE.match(prose.behind(last))
    if bracketed and kinds <= {"+", "*"} and not _BEFORE.search(prose.ahead(first - 1, 4)):
        _hold(prose, operands, operators, first - 1, near=True)


def _hold(prose: Prose, operands: range, operators: Sequence[str], result: int, near: bool = False) -> None:
    """The result against its operands; with `near` only where it is of their size, so that it is meant as theirs."""
    at = [*operands, result]
    numbers = [prose.numbers[one] for one in at]
    if not prose.firm(*at) or any(prose.known(one).token.kind not in (*_KINDS, "duration") for one in at):
        return
    if any(number.token.text.lower().startswith("0x") for number in numbers):
        return  # such sums often wrap
    if "/" in operators and numbers[0].token.kind == "count-of" and _is_share(prose, operands[0]):
        return
    known = _units(numbers, [prose.known(one) for one in at], operators)
    if not known:
        return
    *items, said = known
    exact = all(whole(one) for one in items)
    counts = "*" in operators
    items = [one.exact() if whole(one) or (counts and one.token.kind == "integer") else one for one in items]
    formula = _formula(operators)
    verdict = follows(said.exact() if exact and whole(said) and "/" not in operators else said, formula, items)
    if verdict is None:
        return
    value = formula(*(one.value for one in items))
    if near and not 0.5 <= abs(value) / max(abs(said.value), 1e-12) <= 2:
        return
    expected = said.alike(value) if verdict == "no" else ""
    prose.tell("ratio" if "/" in operators else "sum", said, items, expected, "the equation")


def _is_share(prose: Prose, at: int) -> bool:
    return prose.firm(at, at + 1) and prose.known(at).value <= prose.known(at + 1).value


def _units(numbers: Sequence[Number], known: Sequence[Printed], operators: Sequence[str]) -> tuple[Printed, ...] | None:
    """All in units that may be computed with; None where they do not fit together."""
    units = [symbol(number).replace("pp", "") for number in numbers]  # points of a grid
    if set(operators) <= {"+", "-"}:
        named = {unit for unit in units if unit}
        if len(named) <= 1:
            return tuple(known)
        ways = in_common(numbers, known)
        return ways[0] if len(ways) == 1 else None
    if not any(units):
        return tuple(known)
    if "/" in operators:
        return None
    *ours, result = units
    measured = [at for at, unit in enumerate(ours) if unit]
    money = [at for at in measured if is_money(ours[at])]
    if is_money(result):
        others = [kind_of(numbers[at])[0] for at in measured if at not in money]
        fits = len(money) == 1 and ours[money[0]][:1] == result[:1] and set(others) <= {"time"}
        per = ours[money[0]][1:] if fits else ""
        return tuple(known) if fits and (not per or not others) else None
    if len(measured) != 1 or not result:
        return None
    ways = in_common([numbers[measured[0]], numbers[-1]], [known[measured[0]], known[-1]])
    if len(ways) != 1:
        return None
    converted = list(known)
    converted[measured[0]], converted[-1] = ways[0]
    return tuple(converted)


def _formula(operators: Sequence[str]) -> Callable[..., float]:
    def formula(*values: float) -> float:
        total = values[0]
        for operator, value in zip(operators, values[1:], strict=True):
            if operator == "/":
                total = total / value if len(values) == 2 else math.nan
            else:
                total = {"+": total + value, "-": total - value, "*": total * value}[operator]
        return total

    return formula
