"""Margins: by how much a claim holds, and whether a change within the noise of its readings would turn it.

The rule. A reading with an interval is uncertain by that interval, one with a standard error alone by that error, and
any other broken number by half a unit in its last printed place. What is computed from readings is moved by moving
these; where several move, their effects add up as squares. Constants, facts and whole numbers are as they are, and so
is the end of an interval, its printing aside. A claim is fragile where its margin is not larger than that noise.
"""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from campaign.analysis.expressions import Expression, Undefined, parse
from campaign.analysis.formulas import expression_of
from campaign.analysis.readings import Reading, Readings
from campaign.notes.quote import MINUS

_SIGNS: dict[type[ast.cmpop], tuple[str, int]] = {
    ast.Lt: ("<", -1),
    ast.LtE: ("<=", -1),
    ast.Gt: (">", 1),
    ast.GtE: (">=", 1),
    ast.Eq: ("==", 0),
    ast.NotEq: ("!=", 0),
}
POINTS = "percentage points"
"""The unit in which percentages differ."""
_ZERO = ast.Constant(0)
_SAME = 1e-9
"""Numbers this close count as equal, as in expressions."""


@dataclass(frozen=True)
class Margin:
    """By how much one comparison holds, or fails to."""

    text: str
    """The comparison, as it is written in the claim."""
    holds: bool
    left: Any
    """Value of the left side; of the member that decides, where the comparison is of many."""
    right: Any
    distance: float | None
    """How far it is from turning: above zero where it holds, below where it does not. None where it compares words."""
    unit: str = ""
    noise: float = 0.0
    """How far the readings in it may be off, in the same unit."""
    reach: str = ""
    """Which reading brings the most noise, and from where; empty where none does."""
    member: str = ""
    """The id of the member that decides, where the comparison is of many."""
    whole: bool = False
    """Whether it is between whole numbers, of which the nearest other one is 1 away."""

    @property
    def fragile(self) -> bool:
        """Whether a change within the noise would turn it."""
        return self.distance is not None and self.noise > 0 and abs(self.distance) <= self.noise

    def __str__(self) -> str:
        """For people: holds by 0.061 ms/verify step (fragile: the interval of saving reaches ±0.14)."""
        word = "holds" if self.holds else "does not hold"
        if self.distance is None:
            return word
        if not self.distance:
            return f"{word}, with nothing to spare"
        unit = "" if self.whole and abs(self.distance) == 1 else POINTS if self.unit == "%" else self.unit
        by = f"{_number(abs(self.distance), self.whole)} {unit}".rstrip()
        said = f"{word}, by {by}" if not self.holds else f"{word} by {by}"
        said += f" at {self.member}" if self.member else ""
        return f"{said} (fragile: {self.reach})" if self.fragile else said

    def turned(self) -> "Margin":
        """The margin of its opposite."""
        return replace(self, holds=not self.holds, distance=None if self.distance is None else -self.distance)


@dataclass(frozen=True)
class Margins:
    """The margin of a claim, and those of every comparison in it."""

    decides: Margin
    """The comparison that decides: of several that must all hold the weakest, of several that could the strongest."""
    comparisons: tuple[Margin, ...]
    """Each comparison in the claim, as written."""
    beneath: tuple[Margin, ...] = ()
    """Where the claim compares a count of conditions: these conditions, the nearest to turning first."""

    @property
    def fragile(self) -> bool:
        """Whether a change within the noise would turn the claim."""
        return self.decides.fragile

    def __str__(self) -> str:
        said = str(self.decides)
        if self.beneath and self.beneath[0].distance is not None:
            nearest = self.beneath[0]
            said += f"; of the conditions that it counts, {nearest.text} is the nearest to turning: it {nearest}"
        return said


def margins(expression: str, readings: Readings) -> Margins | None:
    """By how much a claim holds for the readings; None where something in it is not resolved.

    A claim that compares nothing (`any(flag.*)`) is taken as a comparison with 0.
    """
    key = "margins", expression
    if key not in readings.memo:
        readings.memo[key] = _margins(expression, readings)
    return readings.memo[key]


def _margins(expression: str, readings: Readings) -> Margins | None:
    parsed = parse(expression)
    asked = _Asked(parsed, readings)
    try:
        found = asked.margin(parsed.tree)
    except Undefined:
        return None
    comparisons = []
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.Compare):
            comparisons += [weakest(each) for each in asked.compare(node)]
    return Margins(found, tuple(comparisons), tuple(_beneath(parsed, readings)))


Lookup = Callable[[str], Any]


class _Asked:
    """The margins of one expression over some readings."""

    def __init__(self, expression: Expression, readings: Readings, *, noisy: bool = True) -> None:
        """With `noisy` false the noise is left out."""
        self.expression = expression
        self.readings = readings
        self.noisy = noisy
        self.known_leaves: dict[str, frozenset[str]] = {}
        self.known_members: dict[str, list[str]] = {}
        self.compared: dict[tuple[int, int], list[Margin]] = {}

    def margin(self, node: ast.expr) -> Margin:
        """The margin of a condition; of many conditions the weakest, since a claim is one."""
        return weakest(self.each(node))

    def each(self, node: ast.expr) -> list[Margin]:
        """The margins of a condition, one for each of many."""
        match node:
            case ast.BoolOp():
                choose = weakest if isinstance(node.op, ast.And) else strongest
                return _together([self.each(value) for value in node.values], choose)
            case ast.UnaryOp(op=ast.Not()):
                return [one.turned() for one in self.each(node.operand)]
            case ast.Compare():
                return _together(self.compare(node), weakest)
            case ast.Call(func=ast.Name(id="all")):
                return [weakest([one for argument in node.args for one in self.each(argument)])]
            case ast.Call(func=ast.Name(id="any")):
                return [strongest([one for argument in node.args for one in self.each(argument)])]
            case ast.Constant(value=bool()):
                return [Margin(str(node.value), bool(node.value), node.value, None, None)]
        return self._between(node, ast.NotEq(), _ZERO)

    def compare(self, node: ast.Compare) -> list[list[Margin]]:
        """For each sign of a comparison its margin, or the margins where it is of many; the weakest first."""
        sides = [node.left, *node.comparators]
        return [self._between(left, op, right) for left, op, right in zip(sides, node.ops, sides[1:], strict=False)]

    def _between(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> list[Margin]:
        if (id(left), id(right)) not in self.compared:
            self.compared[id(left), id(right)] = self._compared(left, op, right)
        return self.compared[id(left), id(right)]

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> list[Margin]:
        text = self._written(left, op, right)
        values = [self._value(side, self._plain) for side in (left, right)]
        holds = np.atleast_1d(self.expression.at(ast.Compare(left, [op], [right]), self._plain)).tolist()
        if type(op) not in _SIGNS or any(np.asarray(value).dtype.kind not in "biuf" for value in values):
            return [Margin(text, bool(one), None, None, None) for one in holds]
        whole = all(np.asarray(value).dtype.kind in "biu" for value in values)
        lefts, rights = np.broadcast_arrays(*(np.atleast_1d(value) for value in values))
        members = self._members(left, right, len(lefts))
        pairs = list(zip(lefts.tolist(), rights.tolist(), strict=True))
        distances = [_distance(op, one, other, whole) for one, other in pairs]
        noise = self._noise(left, op, right, distances) if self.noisy and not whole else [(0.0, "")] * len(lefts)
        unit = self._unit(left) or self._unit(right)
        return [
            Margin(text, bool(holds[i]), *pairs[i], distances[i], unit, *noise[i], members[i], whole)
            for i in range(len(lefts))
        ]

    def _written(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        return self.expression.written(ast.Compare(left, [op], [right]))

    def _members(self, left: ast.expr, right: ast.expr, many: int) -> list[str]:
        """The id of each member of a comparison of many; of one that takes the least or the greatest, which it is."""
        for side in (left, right):
            if isinstance(side, ast.Call) and getattr(side.func, "id", "") in ("min", "max") and many == 1:
                chosen = self._extreme(side)
                if chosen:
                    return [chosen]
        if many == 1:
            return [""]
        for name in (*self.expression.ids_of(left), *self.expression.ids_of(right)):
            found = self.readings.matching(name) if "*" in name else []
            if len(found) == many:
                return found
        return [f"member {i + 1}" for i in range(many)]

    def _extreme(self, call: ast.Call) -> str:
        """The id whose value `min` or `max` gives; empty where several do, or it is not of readings themselves."""
        names = [one for argument in call.args for one in self._plain_ids(argument)]
        if len(names) < 2 or not all(self._plain_ids(argument) for argument in call.args):
            return ""
        size = abs if any(not isinstance(argument, ast.Name) for argument in call.args) else float
        sizes = [size(self._plain(name)) for name in names]
        extreme = (min if getattr(call.func, "id", "") == "min" else max)(sizes)
        return names[sizes.index(extreme)] if sizes.count(extreme) == 1 else ""

    def _plain_ids(self, node: ast.expr) -> list[str]:
        """The ids of a name, a pattern or the size of one."""
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "abs":
            return self._plain_ids(node.args[0])
        name = self.expression.id_of(node)
        return self.readings.matching(name) if "*" in name else [name] if name else []

    def _unit(self, node: ast.expr) -> str:
        """The unit of a side; empty for a plain number, and where it cannot be told."""
        match node:
            case ast.Name():
                units = {self.readings[one].unit for one in self._plain_ids(node)}
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                units = {self._unit(node.left), self._unit(node.right)} - {""}
            case ast.UnaryOp():
                return self._unit(node.operand)
            case ast.Call(func=ast.Name(id=name)) if name in ("min", "max", "abs", "sum", "mean", "median"):
                units = {self._unit(argument) for argument in node.args} - {""}
            case _:
                return ""
        return units.pop() if len(units) == 1 else ""

    # ------------------------------------------------------------ values, and values with some readings moved

    def _plain(self, name: str) -> Any:
        return self._moved({}, name)

    def _moved(self, moved: Mapping[str, float], name: str) -> Any:
        """The value of an id or a pattern, where the readings in `moved` have other values."""
        if "*" in name:
            return np.array([self._moved(moved, one) for one in self._all(name)])
        if name in moved:
            return moved[name]
        reading = self.readings[name]
        if reading.value is None:
            raise Undefined(f"{name} is not resolved")
        formula = expression_of(reading, self.readings) if moved and reading.role == "reading" else None
        if formula is None or self._leaves(name).isdisjoint(moved):
            return reading.value
        return formula.value(partial(self._moved, moved))

    def _value(self, node: ast.expr, lookup: Lookup) -> Any:
        return self.expression.at(node, lookup)

    def _noise(self, left: ast.expr, op: ast.cmpop, right: ast.expr, distances: list[float]) -> list[tuple[float, str]]:
        """How far readings within their noise can bring each comparison towards turning, and what brings the most."""
        at = np.array(distances)
        sign = np.where(at >= 0, 1, -1)
        total, most, reach = np.zeros(len(at)), np.zeros(len(at)), [""] * len(at)
        add = np.maximum if any(_picks(side) for side in (left, right)) else np.hypot
        for name, (lo, hi, from_where) in self._uncertain(left, right).items():
            nearest = np.full(len(at), inf)
            for end in (lo, hi):
                try:
                    moved = [self._value(side, partial(self._moved, {name: end})) for side in (left, right)]
                except Undefined:
                    continue
                one, other = (np.broadcast_to(np.atleast_1d(side), at.shape).tolist() for side in moved)
                there = [_distance(op, float(x), float(y), False) for x, y in zip(one, other, strict=True)]
                nearest = np.minimum(nearest, sign * np.array(there))
            brought = np.where(nearest < inf, np.maximum(0.0, np.abs(at) - np.minimum(nearest, np.abs(at))), 0.0)
            total = add(total, brought)
            for i in np.flatnonzero(brought > most):
                most[i], reach[i] = brought[i], from_where
        return list(zip(total.tolist(), reach, strict=True))

    def _uncertain(self, *nodes: ast.expr) -> dict[str, tuple[float, float, str]]:
        """Each reading that can be off: from where to where, and why, for people."""
        said = dict.fromkeys(name for node in nodes for name in self.expression.ids_of(node))
        ids = list(dict.fromkeys(one for name in said for one in self._all(name)))
        bars = [_half_unit(self.readings[one]) for one in ids if self.readings[one].role == "constant"]
        found: dict[str, tuple[float, float, str]] = {}
        for name in ids:
            for leaf in self._leaves(name):
                around = _around(self.readings[leaf], min(filter(None, bars), default=inf))
                if around:
                    found[leaf] = around
        return found

    def _all(self, name: str) -> list[str]:
        """An id, or the ids that a pattern fits."""
        if name not in self.known_members:
            self.known_members[name] = self.readings.matching(name) if "*" in name else [name]
        return self.known_members[name]

    def _leaves(self, name: str) -> frozenset[str]:
        """The readings that one is moved by: itself, or those with intervals that it is computed from."""
        if name not in self.known_leaves:
            reading = self.readings[name]
            formula = expression_of(reading, self.readings) if reading.role == "reading" else None
            if reading.role != "reading" or not isinstance(reading.value, int | float):
                leaves: frozenset[str] = frozenset()
            elif _has_noise(reading) or formula is None:
                leaves = frozenset({name})
            else:
                inner = frozenset(leaf for one, _ in reading.operands for leaf in self._leaves(one))
                leaves = frozenset(leaf for leaf in inner if _has_noise(self.readings[leaf])) or frozenset({name})
            self.known_leaves[name] = leaves
        return self.known_leaves[name]


def _picks(node: ast.expr) -> bool:
    """Whether a side is the least or the greatest of several, which no more than one reading at a time moves."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("min", "max")


def _has_noise(reading: Reading) -> bool:
    return "lo" in reading.aspects or "se" in reading.aspects


def weakest(found: list[Margin]) -> Margin:
    """Of conditions that must all hold, the one that decides: the first to turn, or the furthest from holding."""
    if not found:
        raise Undefined("nothing to compare")
    failing = [one for one in found if not one.holds]
    return max(failing, key=_strength) if failing else min(found, key=_strength)


def strongest(found: list[Margin]) -> Margin:
    """Of conditions of which one is enough, the one that decides: the last to turn, or the nearest to holding."""
    if not found:
        raise Undefined("nothing to compare")
    holding = [one for one in found if one.holds]
    return max(holding, key=_strength) if holding else min(found, key=_strength)


def _strength(margin: Margin) -> tuple[bool, float]:
    """How far from turning: fragile ones first, then by the margin as a share of what is compared."""
    if margin.distance is None:
        return True, inf
    scale = max(abs(float(margin.left)), abs(float(margin.right))) or 1.0
    return not margin.fragile, abs(margin.distance) / scale


def _together(found: list[list[Margin]], choose: Callable[[list[Margin]], Margin]) -> list[Margin]:
    """Conditions side by side; where each is of many, member by member."""
    many = max(len(one) for one in found)
    return [choose([one[i] if len(one) > 1 else one[0] for one in found]) for i in range(many)]


def _distance(op: ast.cmpop, left: float, right: float, whole: bool) -> float:
    """How far a comparison is from turning; below zero where it does not hold."""
    sign, side = _SIGNS[type(op)]
    gap = left - right
    if sign in ("==", "!="):
        apart = abs(gap)
        held = (1.0 if whole else 0.0) if apart <= _SAME / 2 else -apart
        return held if sign == "==" else -held
    distance = side * gap
    if not whole:
        return distance
    if "=" in sign:  # to the nearest whole number that turns it
        return distance + 1 if distance >= 0 else distance
    return distance if distance > 0 else distance - 1


def _around(reading: Reading, bar: float) -> tuple[float, float, str] | None:
    """From where to where a reading may lie, and why; None where it is what it is.

    `bar` is half a unit in the last place of a constant beside it: where that is finer than what is printed of the
    reading, the comparison is meant that finely.
    """
    value, said = reading.value, reading.aspects
    if reading.role != "reading" or not isinstance(value, int | float):
        return None
    if "lo" in said and "hi" in said:
        half = max(value - said["lo"], said["hi"] - value)
        return said["lo"], said["hi"], f"the interval of {reading.id} reaches ±{_number(half, False)}"
    if "se" in said:
        return (
            value - said["se"],
            value + said["se"],
            f"the standard error of {reading.id} is {_number(said['se'], False)}",
        )
    half = min(_half_unit(reading), bar)
    if not half:
        return None
    return value - half, value + half, f"{reading.id} is printed to ±{_number(half, False)}"


def _half_unit(reading: Reading) -> float:
    """Half a unit in the last place in which a reading is printed; 0 for a whole number and without a format."""
    found = re.search(r"(?:\.(\d+))?([f%])$", reading.print)
    if not found or isinstance(reading.value, int):
        return 0.0
    return 0.5 * 10.0 ** -(int(found[1] or 0) + (2 if found[2] == "%" else 0))


def _beneath(expression: Expression, readings: Readings) -> list[Margin]:
    """The conditions behind the counts that a claim names, the nearest to turning first."""
    found: list[Margin] = []
    for name in expression.ids:
        if "*" in name:
            continue
        counted = expression_of(readings[name], readings) if readings[name].role == "reading" else None
        if counted is None or not isinstance(counted.tree, ast.Call) or getattr(counted.tree.func, "id", "") != "count":
            continue
        asked = _Asked(counted, readings, noisy=False)
        try:
            found += [one for argument in counted.tree.args for one in asked.each(argument)]
        except Undefined:
            continue
    return sorted((one for one in found if one.distance is not None), key=_strength)


def _number(value: float, whole: bool) -> str:
    """A margin for people: two digits that tell something, or a whole number."""
    if whole or (value >= 10 and float(value).is_integer()):
        return f"{value:,.0f}"
    text = np.format_float_positional(float(f"{value:.2g}"), trim="-") if value < 10 else f"{value:,.1f}"
    return text.replace("-", MINUS)
