"""Where a number of an old post may come from besides readings: a setting of plan or run, the numbers beside it."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from campaign.analysis.rounding import Printed
from campaign.kernels.errors import CampaignError
from campaign.notes.bindings import Number, stems
from campaign.notes.ledger import read_ledger
from campaign.notes.paths import Campaign, Part
from campaign.notes.sources import Sources

_NO_SETTINGS = ("reading", "constants", "plot", "tables", "verdict", "lever", "about", "question")
"""Sections of a plan that hold no settings, or such as are readings already."""
_UNITS = {"ns": "ns", "us": "µs", "ms": "ms", "s": "s", "w": "W", "mib": "MiB", "gib": "GiB", "mb": "MB", "gb": "GB"}
"""Last words of keys that are a unit."""
_WHOLES = frozenset(map(Fraction, (0, 1, 100)))
"""What a number is a ratio to whatever it is."""
NEAR = 80
"""Characters between a number and those that it is computed from, at most."""


@dataclass(frozen=True)
class Setting:
    """A number that the plan or run.json holds under a key."""

    source: str
    """As a fact names it: data/run.json: machine.cores."""
    key: str
    words: frozenset[str]
    unit: str
    value: Fraction


def settings_of(sources: Sources) -> list[Setting]:
    """The numbers under the keys of the part's plan and of its run.json, in their order."""
    part = sources.part
    plan = tomllib.loads(part.plan.read_text(encoding="utf-8")) if part.plan.is_file() else {}
    plan = {key: value for key, value in plan.items() if key not in _NO_SETTINGS}
    found = [*_settings("plan.toml", plan, ()), *_settings("data/run.json", sources.data.run, ())]
    return [one for one in found if one.words]


def _settings(file: str, held: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Setting]:
    for key, value in held.items():
        steps = (*path, str(key))
        if isinstance(value, Mapping):
            yield from _settings(file, value, steps)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            words = re.split(r"[\W_]+", str(key).lower())
            unit = _UNITS.get(words[-1], "") if len(words) > 1 else ""
            said = frozenset(stems(" ".join(words[:-1] if unit else words)))
            if all(re.fullmatch(r"[\w-]+", step) for step in steps):
                yield Setting(f"{file}: {'.'.join(steps)}", str(key), said, unit, Fraction(repr(value)))


def setting_for(number: Number, settings: Sequence[Setting]) -> Setting | None:
    """The setting that has the number's value, and all the words of whose key stand around it; None where none, or two.

    The plan's goes before that of run.json, and of several engines the first one's stands for all with its key.
    """
    value = number.token.value
    if value is None:
        return None
    fits = [
        one
        for one in settings
        if one.value == Fraction(value) and one.words <= number.around.keys() and one.unit in ("", number.token.unit)
    ]
    most = max((len(one.words) for one in fits), default=0)
    fits = [one for one in fits if len(one.words) == most]
    return fits[0] if len({one.key for one in fits}) == 1 else None


@dataclass(frozen=True)
class Derived:
    """A number that other numbers beside it give."""

    formula: str
    """With {0} and {1} for the operands."""
    operands: tuple[int, ...]
    """Their indices among the numbers."""


def derived(index: int, numbers: Sequence[Number]) -> Derived | None:
    """How a percentage or a ratio follows from two numbers of its own sentence or row; None where none give it.

    Shares come from a count and its total, changes and ratios from two numbers of one unit.
    """
    number = numbers[index]
    printed = Printed.read(number.plain)
    if printed is None or number.token.unit not in ("%", "×"):
        return None
    for first, second in _pairs(index, numbers):
        a, b = numbers[first].token, numbers[second].token
        assert a.value is not None and b.value is not None, "only numbers are paired"
        one, other = Fraction(a.value), Fraction(b.value)
        counted = (a.kind, b.kind) == ("count-of", "total")
        if number.token.unit == "%" and counted and other and _gives(100 * one / other, printed):
            return Derived("100 × {0} / {1}", (first, second))
        if counted or a.unit != b.unit or a.unit == "×" or {one, other} & _WHOLES:
            continue
        if number.token.unit == "%" and _gives(abs(100 * (other - one) / one), printed):
            return Derived("100 × ({1} − {0}) / {0}", (first, second))
        if number.token.unit == "×" and _gives(one / other, printed):
            return Derived("{0} / {1}", (first, second))
        if number.token.unit == "×" and _gives(other / one, printed):
            return Derived("{1} / {0}", (first, second))
    return None


MOST_PARTS = 2
"""So many parts are named at most as the origin of a text."""
_SHARED = 2
"""So many numbers of three digits or more make a part its likely origin."""


@dataclass(frozen=True)
class Likely:
    """A part that an old text may report on."""

    part: Part
    named: bool
    """Whether the text names it."""
    shared: tuple[str, ...]
    """Numbers of three digits or more that both print, the part from its readings."""

    def __str__(self) -> str:
        said = [f"the text names {self.part.title}"] if self.named else []
        if self.shared:
            first = ", ".join(self.shared[:3]) + (", …" if len(self.shared) > 3 else "")
            said.append(f"{len(self.shared)} of its numbers are readings of {self.part.name} ({first})")
        return " and ".join(said)


def likely_parts(text: str, printed: Collection[str], campaign: Campaign) -> list[Likely]:
    """The parts of the campaign that a text names or that print several of its numbers, the likeliest first."""
    found = []
    for part in campaign.parts():
        if not (part.plan.is_file() and part.numbers.is_file()):
            continue
        try:
            places = read_ledger(part.numbers, part.show(part.numbers))[0].places
        except CampaignError:
            continue
        own = {place.text for place in places if place.kind == "reading" and len(re.sub(r"\D", "", place.text)) > 2}
        shared = tuple(said for said in dict.fromkeys(printed) if said in own)
        named = re.search(rf"\b{re.escape(part.title)}\b", text) is not None
        if named or len(shared) >= _SHARED:
            found.append(Likely(part, named, shared))
    return sorted(found, key=lambda one: (-len(one.shared), not one.named))[:MOST_PARTS]


def _gives(value: Fraction, printed: Printed) -> bool:
    """Whether a value, printed alike, has the characters of a number; its sign is told by words."""
    return printed.alike(abs(value)) == printed.alike(abs(printed.value)) and printed.value != 0


def _pairs(index: int, numbers: Sequence[Number]) -> Iterator[tuple[int, int]]:
    """The pairs of numbers that follow each other near a number, the nearest first."""
    number = numbers[index]
    near = [i for i in range(max(0, index - 4), min(len(numbers), index + 5)) if i != index]
    near = [i for i in near if _beside(number, numbers[i]) and numbers[i].token.value is not None]
    pairs = pairwise(near)
    yield from sorted(pairs, key=lambda pair: min(abs(pair[0] - index), abs(pair[1] - index)))


def _beside(number: Number, other: Number) -> bool:
    """Whether two numbers stand in one row of a table, or near each other in one paragraph."""
    if number.cell or other.cell:
        return bool(number.cell and other.cell and number.cell[:2] == other.cell[:2])
    apart = max(number.token.start - other.token.end, other.token.start - number.token.end)
    return number.token.block == other.token.block and apart <= NEAR
