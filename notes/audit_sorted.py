"""Words that say in which order something stands, and numbers that must follow them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from campaign.notes.audit_amounts import is_money
from campaign.notes.audit_printed import Printed

_SMALL = r"smallest|lowest|least|cheapest|shortest|lightest|fewest"
_LARGE = r"largest|biggest|highest|most\s(?:expensive|frequent)|greatest|longest|heaviest"
_JUDGED = r"best|worst|fastest|slowest|quickest"
_FIRST = r"(?:\sones?)?\s(?:(?:comes?\s)?first|at\sthe\stop|on\stop)"
_ENDS = r"(?=\s*(?:$|[:,.;)(—–]))"
_RISING = re.compile(
    rf"\b(?:(?:in\s(?:an?\s)?)?(?:ascending|increasing|rising)\sorder(?:\s(?:of|by)\s)?"
    rf"|(?:sorted|ordered|ranked)\b[^.;:]{{0,40}}\b(?:ascending|from\slow\sto\shigh)|(?:{_SMALL})(?:\s[a-z]+)?{_FIRST}{_ENDS}"
    rf"|from\s(?:the\s)?(?:{_SMALL})\sto\s(?:the\s)?(?:{_LARGE}){_ENDS}|(?:{_SMALL})\sto\s(?:{_LARGE}){_ENDS})",
    re.IGNORECASE,
)
_FALLING = re.compile(
    rf"\b(?:(?:in\s(?:an?\s)?)?(?:descending|decreasing|falling)\sorder(?:\s(?:of|by)\s)?"
    rf"|(?:sorted|ordered|ranked)\b[^.;:]{{0,40}}\b(?:descending|from\shigh\sto\slow)|(?:{_LARGE})(?:\s[a-z]+)?{_FIRST}{_ENDS}"
    rf"|from\s(?:the\s)?(?:{_LARGE})\sto\s(?:the\s)?(?:{_SMALL}){_ENDS}|(?:{_LARGE})\sto\s(?:{_SMALL}){_ENDS})",
    re.IGNORECASE,
)
_EITHER = re.compile(
    rf"\b(?:(?P<top>{_JUDGED}){_FIRST}{_ENDS}|(?:from\s)?(?:the\s)?(?P<one>{_JUDGED})\sto\s(?:the\s)?(?P<other>{_JUDGED}){_ENDS})",
    re.IGNORECASE,
)
_BY = re.compile(
    r"\b(?:sorted|ordered|ranked|order)(?:\s\([^()]*\))?,?\s(?:\w+\s)?(?:by|of|on)\s(?:the\s|their\s|its\s)?([a-z]+(?:\s[a-z]+)?)",
    re.IGNORECASE,
)
_EXCEPT = re.compile(r"\b(?:except|apart from|but not|mostly|roughly|not)\b", re.IGNORECASE)
_MEASURES = re.compile(
    r"\b(?:size|time|times|latency|speed|score|scores|price|cost|costs|accuracy|throughput|memory|stars|downloads|percentage"
    r"|share|frequency|duration|runtime|length|weight|count|value|values|total|median|mean|average|amount|rate|number)\b",
    re.IGNORECASE,
)
TIMES = frozenset("ns µs us ms s sec secs min mins h".split())
"""Units in which the fastest is the smallest."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a text says of an order."""

    said: str
    way: int
    """1 for rising, -1 for falling, 0 for either."""
    fast: int = 0
    """1 where the fastest is named first, -1 where it is named last; times rise or fall with it."""
    money: bool = False
    """Whether it is of prices."""
    by: str = ""
    """What is said to be sorted by."""

    @property
    def measured(self) -> bool:
        """Whether what it is sorted by, if that is said, is likely to be a number."""
        return not self.by or _MEASURES.search(self.by) is not None


def said_order(text: str) -> Order | None:
    """The order that a text announces; None where there is none."""
    if _EXCEPT.search(text):
        return None
    named = _BY.search(text)
    by = named[1] if named else ""
    for pattern, way in ((_RISING, 1), (_FALLING, -1)):
        if found := pattern.search(text):
            money = re.search("expensive|cheap", found[0], re.IGNORECASE) is not None
            return Order(" ".join(found[0].split()), way, money=money, by=by)
    if found := _EITHER.search(text):
        first = (found["top"] or found["one"]).lower()
        if found["other"] and {first, found["other"].lower()} not in ({"best", "worst"}, {"fastest", "slowest"}):
            return None
        fast = {"fastest": 1, "quickest": 1, "slowest": -1}.get(first, 0)
        return Order(" ".join(found[0].split()), 0, fast, by=by)
    return Order(" ".join(named[0].split()), 0, by=by) if named else None


def wrong_step(order: Order, numbers: Sequence[Printed], unit: str) -> tuple[int, str] | None:
    """The index of the first number that stands before its turn, and what was expected; None where all are in order."""
    way = order.way
    if not way and order.fast and unit in TIMES:
        way = order.fast
    values = [one.value for one in numbers]
    rises = [at for at, (a, b) in enumerate(pairwise(values), 1) if b > a]
    falls = [at for at, (a, b) in enumerate(pairwise(values), 1) if b < a]
    if way:
        wrong, name = (falls, "rising") if way > 0 else (rises, "falling")
    else:
        wrong, name = (falls, "rising") if len(falls) <= len(rises) else (rises, "falling")
    return (wrong[0], f"{name} numbers") if wrong else None


def fits(order: Order, unit: str) -> bool:
    """Whether numbers of this unit can be what the order is of."""
    return is_money(unit) or not order.money
