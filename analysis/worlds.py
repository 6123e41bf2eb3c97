"""Worlds: other values that a part's readings could have, so that it can be asked whether an expression hangs on them.

In a world everything fits together as data make it fit: an interval encloses its value, a count is whole and not below
zero, a share lies between its ends, the least of some records is not above their mean, and what is computed from other
readings is computed from them there too. Constants and facts stay as they are.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil, floor, inf, sqrt
from random import Random
from typing import Any

import numpy as np

from campaign.analysis.errors import ReadingError
from campaign.analysis.expressions import Expression, Undefined
from campaign.analysis.formulas import (
    END_OF_PAIRS,
    SAMPLE,
    Bands,
    Sample,
    bands_of,
    bounds_of,
    cases_of,
    expression_of,
    has_ends,
    samples_of,
)
from campaign.analysis.readings import ASPECTS, Reading, Readings

TRIALS = 240
"""Worlds that are drawn before the search turns to those in which two sides of a comparison are equal."""


def other_world(
    expression: Expression, readings: Readings, wanted: bool, *, trials: int = TRIALS
) -> Mapping[str, Any] | None:
    """Values of the readings with which `expression` is `wanted`; None where no world was found that has them.

    Gives the ids that the expression names and what they are in that world. The same question has the same answer.
    """
    worlds = _Worlds(expression, readings)
    for world in worlds.drawn(trials):
        if world.truth() is wanted:
            return world.told()
    for world in worlds.balanced():
        if world.truth() is wanted:
            return world.told()
    return None


@dataclass(frozen=True)
class _Leaf:
    """One thing that is free in a world, named by `key`: a value, a width, a number of records."""

    key: tuple[str, ...]
    whole: bool = False
    least: float = -inf
    most: float = inf
    family: tuple[str, ...] = ()
    """What it shares with leaves that can be alike in a world; its key where nothing is."""

    def fit(self, value: float) -> float:
        """The possible value that is nearest to `value`."""
        within = min(max(value, self.least), self.most)
        return round(within) if self.whole else float(within)


class _Worlds:
    """The worlds in which one expression can be asked for."""

    def __init__(self, expression: Expression, readings: Readings) -> None:
        self.expression = expression
        self.readings = readings
        self.ids = frozenset(readings)
        self.samples = samples_of(readings)
        numbers = [
            float(readings[name].value)  # type: ignore[arg-type]
            for name in named(expression, readings)
            if isinstance(readings[name].value, int | float)
        ]
        typed = [float(n.value) for n in ast.walk(expression.tree) if _is_number(n)]
        near = [n + d for n in (*numbers, *typed) for d in (-1e-3, 1e-3, -1, 1)]
        self.candidates = [0.0, 1.0, -1.0, 2.0, 1e5, -1e5, *numbers, *typed, *near]
        self.words = [n.value for n in ast.walk(expression.tree) if isinstance(n, ast.Constant)]
        self.words = [word for word in self.words if isinstance(word, str)]

    def drawn(self, trials: int) -> Iterator["_World"]:
        """The part's own world, simple ones, then random ones."""
        yield _World(self, 0, {})
        for number in range(1, trials):
            yield _World(self, number, {})

    def balanced(self) -> Iterator["_World"]:
        """Worlds at and on both sides of the point where the two sides of a comparison are equal."""
        for node in ast.walk(self.expression.tree):
            if not isinstance(node, ast.Compare):
                continue
            for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
                for number in range(6):
                    yield from self._balance(left, right, number)

    def _balance(self, left: ast.expr, right: ast.expr, number: int) -> Iterator["_World"]:
        start = _World(self, number, {})
        gap = start.gap(left, right)
        if gap is None:
            return
        for leaf in list(start.asked.values())[:12]:
            at = start.chosen[leaf.key]
            aside = leaf.fit(at + 1) if leaf.fit(at + 1) != at else leaf.fit(at - 1)
            then = _World(self, number, {leaf.key: aside}).gap(left, right)
            if then is None or then == gap or aside == at:
                continue
            root = at - gap * (aside - at) / (then - gap)
            step = max(1e-3, abs(root) * 1e-3)
            for value in {leaf.fit(v) for v in (root, floor(root), ceil(root), root - step, root + step)}:
                yield _World(self, number, {leaf.key: value})


@dataclass
class _World:
    """One set of values that fit together; values are chosen when they are asked for."""

    worlds: _Worlds
    number: int
    """0 is the part's own world; those up to 5 are simple ones; the others are random, near the part's own or far."""
    given: Mapping[tuple[str, ...], float]
    """What is given, in place of a choice."""
    chosen: dict[tuple[str, ...], float] = field(default_factory=dict)
    asked: dict[tuple[str, ...], _Leaf] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)
    families: dict[tuple[str, ...], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = Random(self.number)
        self.wild = (0.0, 1.0, 0.3, 0.0)[self.number % 4]
        self.alike = self.number % 4 == 3
        self.apart = self.random.choice((0.02, 0.1, 0.5, 1.0))
        self.part_of_families = self.random.choice((1.0, self.random.random())) if self.number > 5 else 1.0

    def truth(self) -> bool | None:
        """Whether the expression holds here; None where it has no value."""
        try:
            found = self.worlds.expression.value(self.lookup)
        except (Undefined, ReadingError):
            return None
        return None if np.ndim(found) else bool(found)

    def told(self) -> dict[str, Any]:
        """The ids that the expression names, with their values here."""
        said = {}
        for name in named(self.worlds.expression, self.worlds.readings):
            try:
                said[name] = self.value(name)
            except Undefined:
                said[name] = None
        return said

    def gap(self, left: ast.expr, right: ast.expr) -> float | None:
        """What the left side is above the right one; None where they are no single numbers."""
        try:
            found = [self.worlds.expression.at(side, self.lookup) for side in (left, right)]
        except (Undefined, ReadingError):
            return None
        numbers = [float(one) for one in found if isinstance(one, int | float)]
        return numbers[0] - numbers[1] if len(numbers) == 2 else None

    def lookup(self, name: str) -> Any:
        """The value of an id, or the values of those that a pattern fits: a family may have fewer members here."""
        if "*" not in name:
            return self.value(name)
        readings = self.worlds.readings
        members = readings.matching(name)
        if members and all(readings[one].role == "reading" for one in members):
            members = members[: max(1, ceil(self.part_of_families * len(members)))]
        return np.array([self.value(one) for one in members])

    def value(self, name: str) -> Any:
        """The value of one id here; Undefined where it has none."""
        if name not in self.known:
            self.known[name] = self._value(name)
        if self.known[name] is None:
            raise Undefined(f"{name} has no value")
        return self.known[name]

    def _value(self, name: str) -> Any:
        readings = self.worlds.readings
        reading = readings[name]
        if reading.role != "reading" or reading.value is None:
            return reading.value
        base, _, aspect = name.rpartition(".")
        if name not in self.worlds.ids and aspect in ASPECTS:
            return self._aspect(readings[base], aspect)
        if isinstance(reading.value, str):
            return self._text(reading)
        formula = expression_of(reading, readings)
        if formula is not None:
            try:
                found = formula.value(self.lookup)
            except Undefined:
                return None
            return found if not isinstance(found, bool) else str(found).lower()
        sample = self.worlds.samples.get(name)
        if sample is not None:
            return self._figure(reading, sample)
        if not has_ends(reading):
            return self._number(reading)
        return self._ends(reading)[END_OF_PAIRS.get(reading.formula.partition(" over ")[0], 1)]

    def _text(self, reading: Reading) -> Any:
        cases = cases_of(reading, self.worlds.readings)
        if cases:
            for condition, word in cases:
                try:
                    if condition is None or condition.truth(self.lookup):
                        return word
                except Undefined:
                    return None
            return None
        verdict = bands_of(reading)
        if verdict:
            return self._verdict(verdict)
        if self.number == 0:
            return reading.value
        return self.random.choice([str(reading.value), *self.worlds.words, "another word"])

    def _verdict(self, verdict: Bands) -> str:
        """The word of the band in which the deciding reading lies, or that of a guard."""
        value = self.value(verdict.reading)
        for word, sign, bound in verdict.bands:
            limit = self.value(bound) if bound else value
            if not sign or value > limit or (sign == ">=" and value == limit):
                return self.random.choice([word, "held", "confounded"]) if verdict.guarded else word
        raise Undefined("no band holds")

    # ------------------------------------------------------------ numbers

    def _choose(self, leaf: _Leaf, own: float, simple: tuple[float, ...] = ()) -> float:
        """The value of one leaf: given, the part's own, a simple one, or a random one."""
        if leaf.key in self.given:
            found = leaf.fit(self.given[leaf.key])
        elif leaf.key in self.chosen:
            return self.chosen[leaf.key]
        elif self.number == 0:
            found = leaf.fit(own)
        elif self.number <= 5:
            found = leaf.fit((simple or (0.0, 1.0, -1.0, 2.0, 1e4))[(self.number - 1) % len(simple or "12345")])
        elif self.alike:
            found = leaf.fit(self._alike(leaf, own))
        elif self.random.random() < self.wild:
            found = leaf.fit(self.random.choice(self.worlds.candidates))
        else:
            found = leaf.fit(own * (1 + self.random.choice((0, self.apart)) * self.random.uniform(-1, 1)))
        self.asked[leaf.key] = leaf
        self.chosen[leaf.key] = found
        return found

    def _alike(self, leaf: _Leaf, own: float) -> float:
        """One value for all leaves of a family: one of them decides what it is."""
        family = leaf.family or leaf.key
        if family not in self.families:
            near = own * self.random.uniform(0.3, 2.0)
            self.families[family] = self.random.choice([*self.worlds.candidates, 0.5, 1.5, own, near, near])
        return self.families[family]

    def _number(self, reading: Reading) -> float:
        least, most = bounds_of(reading)
        whole = isinstance(reading.value, int)
        return self._choose(_Leaf((reading.id,), whole, least, most), float(reading.value))  # type: ignore[arg-type]

    def _ends(self, reading: Reading) -> tuple[float, float, float]:
        """Lower end, value and upper end of an interval."""
        own, said = float(reading.value), reading.aspects  # type: ignore[arg-type]
        least, most = bounds_of(reading)
        key = self.worlds.samples.pairs.get(reading.id, (reading.id,))
        family = (key[0],) if len(key) > 1 else ()
        value = self._choose(_Leaf(key, False, least, most, family), own)
        lower, upper = abs(own - said["lo"]), abs(said["hi"] - own)
        widths = (0.0, 0.5, 1.0, 10.0, 1e4)
        down = self._choose(_Leaf((*key, "lo"), False, 0.0, inf, (*family, "lo") if family else ()), lower, widths)
        up = self._choose(_Leaf((*key, "hi"), False, 0.0, inf, (*family, "hi") if family else ()), upper, widths)
        return max(value - down, least), value, min(value + up, most)

    def _aspect(self, reading: Reading, aspect: str) -> Any:
        if aspect not in reading.aspects:
            return None
        own = reading.aspects[aspect]
        if aspect == "level":
            return own
        if aspect in ("lo", "hi") and has_ends(reading):
            return self._ends(reading)[0 if aspect == "lo" else 2]
        if aspect == "n" and reading.id in self.worlds.samples:
            return self._records(self.worlds.samples[reading.id])
        if aspect == "df" and own == reading.aspects.get("n", own) - 2:
            return max(1, self._aspect(reading, "n") - 2)
        whole = aspect == "n"
        least = 0.0 if aspect in ("se", "sd", "n", "df") else -inf
        return self._choose(_Leaf((reading.id, aspect), whole, least), own, (0.0, 1.0, 2.0, 10.0, 1e4))

    # ------------------------------------------------------------ figures of records

    def _records(self, sample: Sample) -> int:
        """How many records there are; never more than in a set that holds them all."""
        own = self.worlds.samples.own.get(sample.records, SAMPLE)
        leaf = _Leaf(("records", *sample.records), True, 0.0, inf, ("records", sample.table, sample.where))
        is_new = leaf.key not in self.chosen and leaf.key not in self.given
        found = self._choose(leaf, own, (own, own, 1.0, 2.0, 0.0))
        if is_new and not found and own and self.number > 5 and self.random.random() < 0.9:
            found = self.chosen[leaf.key] = own  # without records there is no figure: seldom a world that tells much
        for wider in self.worlds.samples.wider(sample):
            found = min(found, self._records(wider))
        return int(found)

    def _figure(self, reading: Reading, sample: Sample) -> Any:
        """One figure of records that are made up for this world; every figure of the same records has the same ones."""
        many = self._records(sample)
        if sample.stat == "count":
            return many
        key = ("column", sample.column, *sample.records)
        family = ("column", sample.column, sample.table, sample.where)
        if not many:
            return None
        own = float(reading.value) / sample.scale  # type: ignore[arg-type]
        if sample.stat == "distinct":
            return min(many, int(self._choose(_Leaf((*key, "distinct"), True, 1.0), own)))
        if sample.condition:
            share = own / many if sample.stat == "sum" else own
            held = self._choose(_Leaf((*key, "held"), True, 0.0, inf, (*family, "held")), round(share * many))
            held = min(many, int(held))
            return held if sample.stat == "sum" else held / many * sample.scale
        return self._of_values(reading, sample, key, many, own)

    def _of_values(self, reading: Reading, sample: Sample, key: tuple[str, ...], many: int, own: float) -> Any:
        of_own = self.worlds.samples.whole.get(key, False)
        least = max(sample.least(), 0.0 if of_own and sample.counted() else -inf)
        most = sample.most()
        if sample.stat != "sum" and not least <= own <= most:
            least, most = -inf, inf  # the part's own data say otherwise
        if sample.stat in ("sd", "spread"):
            own_level, own_width = 0.0, own
        else:
            own_level, own_width = (own / many if sample.stat == "sum" else own), 0.0
        level = self._choose(_Leaf((*key, "level"), of_own, least, most, (*key[:4], "level")), own_level)
        width = self._choose(
            _Leaf((*key, "width"), of_own, 0.0, inf, (*key[:4], "width")), own_width, (0.0, 0.0, 1.0, 2.0, 10.0)
        )
        shape = Random(f"{self.number} {key}")
        drawn = min(many, SAMPLE)
        values = [level + width * shape.choice((0, 0, 1, 2, 3)) for _ in range(drawn)]
        if drawn > 1:
            values[0], values[1] = level, level + width * shape.choice((1, 2, 3))
        values = [min(value, most) for value in values]
        match sample.stat:
            case "sum":
                found = sum(values) * (many // drawn) + sum(values[: many % drawn])
            case "mean":
                found = sum(values) / drawn
            case "median":
                ranked = sorted(values)
                found = (ranked[(drawn - 1) // 2] + ranked[drawn // 2]) / 2
            case "min":
                found = min(values)
            case "max":
                found = max(values)
            case "spread":
                found = max(values) - min(values)
            case "sd":
                mean = sum(values) / drawn
                found = sqrt(sum((one - mean) ** 2 for one in values) / max(1, drawn - 1))
            case _:
                found = values[0]
        return found * sample.scale if sample.scale != 1 else found


def named(expression: Expression, readings: Readings) -> list[str]:
    """The ids that an expression names, every one that a pattern fits."""
    found = [one for said in expression.ids for one in (readings.matching(said) if "*" in said else [said])]
    return list(dict.fromkeys(found))


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
