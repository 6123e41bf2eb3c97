"""A printed total with its items: whether it is their sum, and how sure it is that it is wrong where it is not."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isclose, prod

from campaign.notes.audit_page import Page, Tested
from campaign.notes.audit_printed import Printed
from campaign.notes.findings import Level

NOT_ADDED = re.compile(
    r"\b(?:mean|avg|average|median|p\d+|min|max|peak|best|worst|rate|ratio|relative|score|accuracy|precision|recall|f1|per"
    r"|vs|geo\s?mean|std|stddev|version|years?|since|id|index|rank|throughput|bandwidth|speed-?\s?ups?|speed|growth|age"
    r"|utili[sz]ation|temperature|cumulative|running|each|unit price|changes?|weight|rating|grade|level|coverage"
    r"|density|defaults?|frequency|fps|qps|rps|tps)\b|/s\b|/sec|/unit|[×ΔΣ±@#]|%",
    re.IGNORECASE,
)
"""The name of a column whose numbers nobody adds."""
_MEASURED = re.compile(
    r"\b(?:time|duration|latency|elapsed|runtime|seconds|secs|ms|size|memory|mem|ram|vram|bytes|KB|MB|GB|length|weight)\b",
    re.IGNORECASE,
)
"""The name of a column whose whole numbers are rounded."""
_OVERLAP = re.compile(
    r"\b(?:overlap\w*|parallel|concurrent\w*|simultaneous\w*|multiple|several|more than one|exclusive|multi-?label"
    r"|some (?:\w+ )?(?:have|are)|two labels|both|wall|unique|distinct|deduplicated)\b",
    re.IGNORECASE,
)
PART = re.compile(
    r"\b(?:top|first|largest|biggest|main|selected|some|sample|excerpt|examples?|partial|highlights|including|notable"
    r"|selection|subset|most)\b|…|\.\.\.",
    re.IGNORECASE,
)
_MONEY = frozenset("$€£¥₹¢") | {"USD", "EUR", "GBP", "CHF"}
_MOST_SUBSET = 12
_CLOSE = 0.25
"""A total that misses the sum by more than this part of it may be the total of something else."""
_VERY_CLOSE = 0.1


@dataclass(frozen=True)
class Sum:
    """A printed total, the items that it is most likely of, and whether it is their sum."""

    name: str
    total: Printed
    items: Sequence[Printed]
    verdict: str
    """Empty where it is; "near" where cut-off items could explain it; "loose" where that cannot be told; else "no"."""
    exact: bool
    gaps: bool = False
    """Whether there are items whose number is not known."""

    @property
    def added(self) -> float:
        return sum(one.value for one in self.items)

    @property
    def over(self) -> bool:
        """Whether the total is more than its items give."""
        return self.total.value > self.added

    def off(self, most: float) -> bool:
        """Whether it misses by more than this part of the sum."""
        return abs(self.total.value - self.added) > most * abs(self.added) + 1e-9

    @property
    def otherwise(self) -> bool:
        """Whether it is the greatest, the least or the mean of its items."""
        values = [one.value for one in self.items]
        mean = sum(values) / len(values)
        room = max(self.total.step, *(one.step for one in self.items)) / (1 if not self.exact else 2)
        return any(self.total.holds((one, one)) for one in (max(values), min(values))) or self.total.holds(
            (mean - room, mean + room)
        )


def added_up(name: str, unit: str, total: Printed, items: Sequence[Printed], gaps: bool = False) -> Sum:
    """A total with its items, each as exact as it is printed."""
    if any(one.loose for one in (total, *items)):
        return Sum(name, total, items, "loose", False, gaps)
    exact = _exact(name, unit, total, items)
    if exact:
        total, items = total.fine(), [one.fine() for one in items]
    value, room = sum(one.value for one in items), sum(one.step for one in items) / 2
    if exact:
        same = isclose(total.value, value, rel_tol=1e-9, abs_tol=1e-6)
        verdict = "" if same else "no"
        zeros = _zeros([*items, total])
        if not same and zeros >= 3 and abs(total.value - value) <= 10**zeros * (len(items) + 1) / 2:
            verdict = "near" if zeros == 3 else ""
    else:
        fine = sum(one.fine().step for one in items) / 2
        fits = total.fine().holds((value - fine, value + fine))
        near = total.holds((value - room, value + 2 * room))
        verdict = "" if fits else "near" if near else "no"
    return Sum(name, total, items, verdict, exact, gaps)


def _exact(name: str, unit: str, total: Printed, items: Sequence[Printed]) -> bool:
    """Whether the numbers are whole things counted, whole hours or prices, which nobody rounds."""
    if unit in _MONEY and not all(one.whole for one in (total, *items)):
        cents = [round(one.value * 100, 6) for one in items]
        return all(
            one.token.kind in ("integer", "decimal") and cent % 5 == 0 for one, cent in zip(items, cents, strict=True)
        )
    nouns = all(one.token.unit and one.token.noun_end > one.token.end for one in (total, *items))
    counted = (not unit and (nouns or not _MEASURED.search(name))) or unit in _MONEY
    hours = unit == "s" and all(one.factor == 3600 for one in (total, *items))
    return (counted or hours) and all(one.whole for one in (total, *items))


def _zeros(numbers: Sequence[Printed]) -> int:
    """With how many zeros the least round of some whole numbers ends."""
    ends = [len(digits) - len(digits.rstrip("0")) for one in numbers if (digits := f"{abs(round(one.value))}") != "0"]
    return min(ends, default=0)


def level_of(
    one: Sum, kind: str, support: int, said: str, cut: bool = False, alone: bool = False, keyed: bool = False
) -> Level | None:
    """How sure it is that a total is wrong; None where it may well be right."""
    if one.verdict == "loose" or (one.over and (one.gaps or cut or PART.search(said))):
        return None
    if not one.over and _OVERLAP.search(said) and one.total.value >= max(item.value for item in one.items):
        return None
    if one.verdict == "near":
        return "warning"
    timed = (one.total.token.unit and one.total.factor != 1) or _MEASURED.search(one.name)
    if kind == "sure":
        if one.otherwise:
            return "warning" if one.exact or support else None
        return "error" if one.exact or support or not timed else "warning"
    if kind == "named":
        if alone and (keyed or _explained(one)):
            return None
        if timed and one.over and not support:
            return None
        if one.otherwise or (one.off(_CLOSE) and not support):
            return None
        return "error" if one.exact else "warning"
    if one.otherwise or one.gaps or not one.exact:
        return None
    return "error" if support else None if one.off(_VERY_CLOSE) else "warning"


def _explained(one: Sum) -> bool:
    """Whether a total is the product of its items, or the sum of some of them."""
    values = [item.value for item in one.items]
    if len(values) > _MOST_SUBSET:
        return False
    if isclose(prod(values[:6]), one.total.value, rel_tol=1e-9):
        return True
    room = one.total.step / 2 + sum(item.step for item in one.items) / 2 if not one.exact else 1e-6
    return any(
        abs(sum(chosen) - one.total.value) <= room
        for size in range(2, len(values))
        for chosen in combinations(values, size)
    )


def tell_sum(page: Page, tested: Tested, one: Sum, source: str, level: Level) -> None:
    """Take down a finding about a total, with its items."""
    also = [
        f"{len(one.items)} items give {one.added / one.total.factor:.12g}",
        *(f"item {page.place(item.token)}" for item in one.items[:12]),
        *(["within what rounding each item could explain"] if one.verdict == "near" else []),
    ]
    finding = page.finding("sum", one.total.token, one.total.alike(one.added), source, level, also)
    tested.add("sum", [one.total.token, *(item.token for item in one.items)], finding)
