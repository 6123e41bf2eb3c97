"""Lists, and numbers within a sentence, that the text says stand in an order."""

import re
from collections.abc import Iterator, Sequence

from campaign.notes.audit_page import Node, Number, Page, Sight, Tested
from campaign.notes.audit_printed import Printed, printed
from campaign.notes.audit_sentence import Prose, noun, symbol
from campaign.notes.audit_sorted import Order, fits, said_order, wrong_step

_AND = re.compile(r"\s*(?:,|;|→|->|<|>|,?\s*(?:and|then)|,\s*then)\s*")
_OPENS = re.compile(r"[^.;\d]{0,30}?(?::|\b(?:are|is|were|was)(?:\s(?:as\sfollows|these))?:?)\s*$")
_FEWEST = 3


def audit_sequences(page: Page, tested: Tested) -> None:
    """Every list below such words, and every row of numbers behind them."""
    for order, items in _announced_lists(page):
        chosen = _one_each(items)
        if chosen and len(items) >= _FEWEST:
            _hold(page, tested, order, *chosen)
    for sight in page.sights:
        if len(sight.numbers) >= _FEWEST and not sight.block.cell and sight.block.kind != "alt":
            _in_sentences(Prose(page, sight, tested))


def _announced_lists(page: Page) -> Iterator[tuple[Order, list[Sight]]]:
    """The order that the paragraph or heading above a list says, and the first paragraph of each item."""
    last: dict[int, Node] = {}
    for node in page.outline:
        before = last.get(node.parent)
        if node.kind == "list" and before and before.kind in ("paragraph", "heading"):
            sight = page.sight_of(before)
            order = said_order(_last_sentence(sight.text)) if sight else None
            if order and order.measured:
                items = _items(page, node)
                if len(items) == node.items:
                    yield order, items
        last[node.parent] = node


def _last_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", text.strip())[-1]


def _items(page: Page, node: Node) -> list[Sight]:
    """The first text of each item; those of lists inside it are left out."""
    inner = [n for n in page.outline if n.line >= node.line and n.end <= node.end and n is not node]
    if any(n.kind == "list" for n in inner):
        return []
    seen: dict[int, Sight] = {}
    for one in inner:
        if one.kind == "paragraph" and one.parent not in seen and (sight := page.sight_of(one)):
            seen[one.parent] = sight
    return list(seen.values())


def _one_each(items: Sequence[Sight]) -> tuple[list[Printed], str] | None:
    """The number of each item that all of them have one of: the only one, or the only one with their unit."""
    counts = [[number for number in sight.numbers if number.token.kind != "ordinal"] for sight in items]
    if not all(counts):
        return None
    if all(len(numbers) == 1 for numbers in counts):
        return _alike(items, [numbers[0] for numbers in counts])
    units = set.intersection(*({symbol(number) for number in numbers if symbol(number)} for numbers in counts))
    for unit in sorted(units):
        ours = [[number for number in numbers if symbol(number) == unit] for numbers in counts]
        if len(units) == 1 and all(len(numbers) == 1 for numbers in ours):
            return _alike(items, [numbers[0] for numbers in ours])
    return None


def _alike(items: Sequence[Sight], numbers: Sequence[Number]) -> tuple[list[Printed], str] | None:
    measures = {symbol(number) or noun(number) for number in numbers}
    seen = [printed(number, sight.text) for number, sight in zip(numbers, items, strict=True)]
    known = [one for one in seen if one and one.token.kind not in ("multiplier", "bound")]
    if len(measures) > 1 or len(known) < len(items):
        return None
    return known, symbol(numbers[0])


def _hold(page: Page, tested: Tested, order: Order, numbers: Sequence[Printed], unit: str) -> None:
    if not fits(order, unit):
        return
    wrong = wrong_step(order, numbers, unit)
    finding = None
    if wrong:
        at, expected = wrong
        also = [f"the one before: {page.place(numbers[at - 1].token)}"]
        finding = page.finding("order", numbers[at].token, expected, f"said {order.said!r}", "error", also)
    tested.add("order", [one.token for one in numbers], finding)


def _in_sentences(prose: Prose) -> None:
    """From smallest to largest: 3, 4, 5."""
    for sentence in prose.sentences():
        at = sentence[0]
        while at < sentence[-1]:
            end = at
            while end < sentence[-1] and _AND.fullmatch(prose.gap(end, end + 1)):
                end += 1
            run = range(at, end + 1)
            at = end + 1
            if len(run) < _FEWEST or not prose.firm(*run):
                continue
            ahead = prose.ahead(run[0], 120)
            order = said_order(ahead.rstrip().rstrip(":"))
            if not order or not order.measured or not _OPENS.search(ahead):
                continue
            numbers = [prose.numbers[one] for one in run]
            measures = {symbol(number) or noun(number) for number in numbers}
            last_only = not any(symbol(number) or noun(number) for number in numbers[:-1])
            if len(measures) == 1 or last_only:
                _hold(prose.page, prose.tested, order, [prose.known(one) for one in run], symbol(numbers[-1]))
