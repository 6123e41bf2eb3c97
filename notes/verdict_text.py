"""What a plan decided, in words for a terminal: the verdict, its guards and its levers, each with how far it is off."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from campaign.analysis.compared import compared
from campaign.analysis.constants import fixed
from campaign.analysis.expressions import COMPARISON_DIGITS, Expression, Undefined, parse
from campaign.analysis.readings import Reading, Readings
from campaign.analysis.rule import declarations, guards, saving_of
from campaign.analysis.verdict import Decision, decide
from campaign.engine.plan import Guard, Lever, Plan
from campaign.notes.quote import NOT_RESOLVED, format_value, print_reading

SIDES = {
    ast.Gt: "trips above",
    ast.GtE: "trips at or above",
    ast.Lt: "trips below",
    ast.LtE: "trips at or below",
    ast.Eq: "trips at",
    ast.NotEq: "trips at anything but",
}


def verdict_lines(plan: Plan, readings: Readings) -> Iterator[str]:
    """The word first, then the reading that it stands on, and its way to each bar."""
    assert plan.verdict is not None, "the caller asks for plans with a verdict"
    said = _verdict_reading(plan, readings)
    if said.value is None:
        yield f"{NOT_RESOLVED}: {said.reason}"
    else:
        yield str(said.value)
    deciding = readings[plan.verdict.reading]
    if deciding.value is None:
        yield f"{deciding.id} is {NOT_RESOLVED}: {deciding.reason}"
        return
    yield f"decided on {deciding.id} = {figure(deciding)} {deciding.unit}".rstrip()
    decision = _decision(plan, readings)
    if decision and decision.tripped:
        yield f"by its band alone it would be {decision.band}"
    yield from _bars(plan, readings, deciding)
    found = compared(plan, fixed(plan))
    for name in found.ids.values() if found else ():
        yield f"{name} {with_interval(readings[name])}"


def _bars(plan: Plan, readings: Readings, deciding: Reading) -> Iterator[str]:
    """How far the deciding reading lies from the bound of each band."""
    assert plan.verdict is not None, "the caller asks for plans with a verdict"
    for band in plan.verdict.bands:
        name = band.at_least or band.above
        bound = readings[name] if name else None
        if bound is None or not _both_numbers(bound.value, deciding.value):
            continue
        off = float(deciding.value) - float(bound.value)  # type: ignore[arg-type]
        how = "at least" if band.at_least else "above"
        yield f"{band.verdict} needs {how} {figure(bound)} ({bound.id}): {_off(off, figure(deciding), figure(bound))}"


def _verdict_reading(plan: Plan, readings: Readings) -> Reading:
    name = next((str(said["id"]) for said in declarations(plan) if said.get("kind") == "verdict"), "")
    if name:
        return readings[name]
    decision = _decision(plan, readings)
    return Reading("verdict", decision.word if decision else None, reason="a guard or a reading has no value")


def _decision(plan: Plan, readings: Readings) -> Decision | None:
    try:
        return decide(plan, lambda name: _looked_up(readings, name))
    except Undefined:
        return None


def _looked_up(readings: Readings, name: str) -> Any:
    """The value of an id or the values of a pattern; Undefined where one has none."""

    def value(reading: Reading) -> Any:
        if reading.value is None:
            raise Undefined(f"{reading.id} is not resolved: {reading.reason}")
        return reading.value

    if "*" in name:
        return np.array([value(readings[one]) for one in readings.matching(name)])
    return value(readings[name])


@dataclass(frozen=True)
class GuardState:
    """Whether a guard let the verdict pass."""

    name: str
    state: str
    """passed, tripped or not run."""
    said: str
    """How far it is from tripping, or why it did not run."""
    verdict: str
    """The word that it would put in place of a positive verdict."""


def guard_states(plan: Plan, readings: Readings) -> list[GuardState]:
    """Each guard of the verdict, in the plan's order."""
    return [_state(guard, parse(when), readings) for guard, when in guards(plan)]


def _state(guard: Guard, when: Expression, readings: Readings) -> GuardState:
    try:
        state = "tripped" if when.truth(lambda name: _looked_up(readings, name)) else "passed"
    except Undefined as why:
        return GuardState(guard.name, "not run", str(why), guard.verdict)
    return GuardState(guard.name, state, _distance(when, readings), guard.verdict)


def _distance(when: Expression, readings: Readings) -> str:
    """Both sides of a comparison of two numbers with what lies between them; another condition as it is written."""
    tree = when.tree
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or type(tree.ops[0]) not in SIDES:
        return when.text
    left, right = (_Side.of(when, node, readings) for node in (tree.left, tree.comparators[0]))
    said = f"{left.text} = {left.shown}; {SIDES[type(tree.ops[0])]} {right.shown}"
    if right.text != right.shown:
        said += f" ({right.text})"
    if not _both_numbers(left.value, right.value) or isinstance(tree.ops[0], ast.Eq | ast.NotEq):
        return said
    away = round(abs(left.value - right.value), COMPARISON_DIGITS)
    return f"{said}, {_enough(away, left.shown, right.shown)} away" if away else f"{said}, which it is exactly"


@dataclass(frozen=True)
class _Side:
    """One side of a comparison."""

    text: str
    value: Any
    shown: str

    @classmethod
    def of(cls, whole: Expression, node: ast.expr, readings: Readings) -> "_Side":
        value = Expression(whole.text, whole.ids, node).value(lambda name: _looked_up(readings, name))
        text = re.sub(r"_id(\d+)", lambda found: whole.ids[int(found[1])], ast.unparse(node))
        if text in readings:
            return cls(text, value, figure(readings[text]))
        # an expression is printed as what it is made of
        of = [readings[name] for name in whole.ids if name in text and name in readings]
        shape = next((one.print for one in of if one.print), "") if isinstance(value, float) else ""
        return cls(text, value, figure(Reading(text, value, print=shape)))


def lever_lines(plan: Plan, readings: Readings) -> Iterator[tuple[str, str]]:
    """Label and outcome of each lever, with its bar and how far it is off."""
    for lever in plan.lever:
        yield lever.label, _lever(lever, readings)


def _lever(lever: Lever, readings: Readings) -> str:
    saving = readings[saving_of(lever)]
    outcome, bar = readings[f"{lever.id}.outcome"], readings[lever.bar]
    if saving.value is None or outcome.value is None:
        return f"{NOT_RESOLVED}: {saving.reason or outcome.reason}"
    lower = lever.keep == "lower end"
    reached = readings[f"{saving.id}.lo"] if lower else saving
    said = f"{outcome.value}: {with_interval(saving)}; the bar for its {lever.keep} is {figure(bar)} ({bar.id})"
    if not _both_numbers(reached.value, bar.value):
        return said
    off = float(reached.value) - float(bar.value)  # type: ignore[arg-type]
    return f"{said}: {_off(off, figure(saving), figure(bar))}"


def _off(off: float, *shown: str) -> str:
    """Where a value lies that is `off` a bound, as the comparisons of the rule see it."""
    off = round(off, COMPARISON_DIGITS)
    return f"{_enough(abs(off), *shown)} {'above' if off > 0 else 'below'} it" if off else "exactly at it"


def _enough(away: float, *shown: str) -> str:
    """A distance like the figures beside it, with more digits where rounding would make it none."""
    said = _like(away, *shown)
    return said if re.search("[1-9]", said) else f"{away:.2g}"


def with_interval(reading: Reading) -> str:
    """The value with interval, level and n, as one text."""
    if reading.value is None:
        return f"{NOT_RESOLVED}: {reading.reason}"
    n = f", n = {reading.aspects['n']:,d}" if "n" in reading.aspects else ""
    return " ".join(filter(None, [figure(reading), interval(reading)])) + n


def interval(reading: Reading) -> str:
    """The interval with its level; over runs where no level belongs to it; empty where there is none."""
    lo, hi = reading.aspects.get("lo"), reading.aspects.get("hi")
    if lo is None or hi is None or reading.value is None:
        return ""
    low, high = (figure(Reading("end", end, print=reading.print)) for end in (lo, hi))
    of = f"{reading.aspects['level']:.4g} %" if "level" in reading.aspects else "over runs"
    return f"[{low}, {high}] {of}"


def figure(reading: Reading) -> str:
    """The value in its format; a number without one with six significant digits."""
    if reading.print or isinstance(reading.value, str | int) or reading.value is None:
        return print_reading(reading)
    return f"{reading.value:.6g}".replace("-", "−")


def _like(value: float, *shown: str) -> str:
    """`value` with as many decimals as the numbers shown beside it."""
    digits = max(len(one.rstrip("%").partition(".")[2]) for one in shown)
    return format_value(float(value), f".{digits}f", "a distance")


def _both_numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float | np.integer | np.floating) for value in values)
