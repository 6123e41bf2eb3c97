"""What a plan decides about: which rows are compared, along which slopes, and with which bar."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from campaign.analysis.expressions import parse
from campaign.analysis.rule import declarations, saving_ids
from campaign.engine.plan import LEVEL, Plan

DEFAULT_LEVEL = 95.0
"""Interval level in percent where the plan has no constant `interval.level`."""


@dataclass(frozen=True)
class Compared:
    """The comparison that a plan's verdict stands on."""

    arm: str
    """The changed arm; positive savings mean that it is faster."""
    against: str
    """The arm that it is compared with, as the yardstick."""
    same_day: str
    """The baseline arm of the same day; empty where there is none."""
    slopes: Mapping[str, float]
    """Value of each slope by its name, ms per token; one of 0 with an empty name where nothing is matched."""
    at: float
    """Tokens per verify step to which rows are matched; 0 where nothing is."""
    column: str
    """The column of the row values that is compared where nothing is matched."""
    ids: Mapping[str, str]
    """Id of the saving along each slope."""
    bars: tuple[tuple[str, float | None, bool], ...]
    """Each band: its verdict, its bound, and whether the bound itself belongs to it; None where nothing bounds it."""
    level: float
    """Of the intervals, percent."""
    count: float | None = None
    """The saving that the kernel's count implies, ms/verify step."""

    @property
    def bar(self) -> float | None:
        """The bound of the first band that has one."""
        return next((bound for _, bound, _ in self.bars if bound is not None), None)

    def column_of(self, slope: str) -> str:
        """The column of the row values that is matched along `slope`."""
        return f"matched_{slope}" if slope else self.column

    def rows(self, row_values: pd.DataFrame, arm: str) -> pd.DataFrame:
        """The row values of one arm, in the order of their start."""
        return row_values[row_values["arm"] == arm]

    def values(self, row_values: pd.DataFrame, arm: str, slope: str) -> np.ndarray:
        """What is compared, for each row of one arm in the order of start."""
        return self.rows(row_values, arm)[self.column_of(slope)].to_numpy(dtype=float)


def compared(plan: Plan, known: Mapping[str, float]) -> Compared | None:
    """The comparison that the plan's verdict stands on; None where it has no verdict over two arms.

    `known` gives the value of constants, and of readings that are computed from constants alone. A plan that says
    [saving] says it there; of another, the savings or differences that the deciding reading is computed from count.
    """
    if plan.verdict is None:
        return None
    at = float(known[plan.matching.at]) if plan.matching else 0.0
    bars = tuple(
        (band.verdict, _bound(band.at_least or band.above, known), band.at_least is not None)
        for band in plan.verdict.bands
    )
    level = float(known.get(LEVEL, DEFAULT_LEVEL))
    if plan.saving:
        said = plan.saving
        names = list(plan.matching.slopes) if plan.matching else [""]
        slopes = {name: _slope(plan, name, known) for name in names}
        ids = dict(zip(names, saving_ids(plan), strict=True))
        count = float(known[said.count]) if said.count else None
        return Compared(said.arm, said.against, said.same_day, slopes, at, "step_ms", ids, bars, level, count)
    return _declared(plan, known, at, bars, level)


def _bound(name: str | None, known: Mapping[str, float]) -> float | None:
    value = known.get(name) if name else None
    return float(value) if value is not None else None


def _slope(plan: Plan, name: str, known: Mapping[str, float]) -> float:
    return float(known[plan.matching.slopes[name]]) if plan.matching and name else 0.0


def _declared(plan: Plan, known: Mapping[str, float], at: float, bars: tuple, level: float) -> Compared | None:
    """The comparison of a plan that writes out its readings."""
    assert plan.verdict is not None, "the caller asks for plans with a verdict"
    said = {str(one.get("id")): one for one in declarations(plan)}
    used = _used(plan.verdict.reading, said)
    savings = [said[name] for name in said if name in used and said[name].get("kind") in ("saving", "difference")]
    if not savings:
        return None
    first = savings[0]
    # a difference is `arm` minus `against`: it saves where `against` is faster
    turned = first["kind"] == "difference"
    arm, against = (first["against"], first["arm"]) if turned else (first["arm"], first["against"])
    alike = [one for one in savings if one["kind"] == first["kind"] and one["arm"] == first["arm"]]
    alike = [one for one in alike if one["against"] == first["against"]]
    names = {str(one.get("slope", "")): str(one["id"]) for one in alike}
    drifts = [one for one in said.values() if one.get("kind") == "drift" and one.get("against") == against]
    return Compared(
        arm,
        against,
        str(drifts[0]["arm"]) if drifts else "",
        {name: _slope(plan, name, known) for name in names},
        at,
        str(first.get("column", "step_ms")),
        names,
        bars,
        level,
    )


def _used(name: str, said: Mapping[str, dict]) -> set[str]:
    """The ids of the declarations that the reading `name` is computed from, itself among them."""
    base = name if name in said else name.rpartition(".")[0]
    if base not in said:
        return set()
    found = {base}
    if said[base].get("kind") == "expr":
        for inner in parse(said[base]["expr"]).ids:
            found |= _used(inner, said)
    return found
