"""The points of a plan's plots, computed from the row values and readings that its text quotes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Literal

import numpy as np
import pandas as pd
import scipy

from campaign.analysis.chart import Chart, ewma_chart, individuals_chart
from campaign.analysis.compared import DEFAULT_LEVEL, Compared, compared
from campaign.analysis.constants import fixed
from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Reading
from campaign.analysis.rows import ROW_VALUES, served_tables
from campaign.analysis.rule import saving_of
from campaign.analysis.tipping import saving_curve
from campaign.engine.data import Data
from campaign.engine.plan import LEVEL, Lever, Plan
from campaign.kernels.errors import nearest

BandOf = Literal["rows", "next row", "mean", "none"]
"""What a yardstick's band covers: s of its rows, s·√(1 + 1/n) of one more row, s/√n of their mean."""

GRID = 81
"""Slopes at which a saving curve is computed."""


@dataclass(frozen=True)
class RowPoint:
    """One complete row."""

    row: str
    arm: str
    started: float
    """Seconds since 1970, UTC."""
    value: float | None
    """Of the column that is shown; None where the row has none."""


@dataclass(frozen=True)
class Band:
    """Where the rows of a yardstick lie: their mean ± t · a standard deviation."""

    arm: str
    of: BandOf
    n: int
    """Rows of the yardstick."""
    level: float
    """Percent."""
    center: float | None
    """Mean of the rows; None where there are none."""
    lo: float | None = None
    hi: float | None = None
    sd: float | None = None
    reason: str = ""
    """Why there is no band."""

    def outside(self, points: Sequence[RowPoint], arm: str) -> int | None:
        """How many rows of an arm lie outside the band; None without one."""
        if self.lo is None or self.hi is None:
            return None
        return sum(not self.lo <= one.value <= self.hi for one in points if one.arm == arm and one.value is not None)


@dataclass(frozen=True)
class RowsPicture:
    """The rows in time."""

    column: str
    points: tuple[RowPoint, ...]
    """Every complete row, in the order of start."""
    voids: tuple[RowPoint, ...]
    """Every void row, without a value."""
    band: Band | None
    """None where the plan has no yardstick, or the plot wants no band."""

    def values(self, arm: str) -> list[float]:
        """The values of one arm's rows."""
        return [one.value for one in self.points if one.arm == arm and one.value is not None]


@dataclass(frozen=True)
class Mark:
    """A slope of the plan with the saving that the text quotes there."""

    slope: str
    """Its name."""
    constant: str
    """The constant that holds it."""
    reading: str
    """The id of the saving along it."""
    at: float
    value: float | None
    lo: float | None
    hi: float | None


@dataclass(frozen=True)
class Bound:
    """The lower bound of a band of the verdict."""

    verdict: str
    constant: str
    at: float
    belongs: bool
    """Whether the bound itself belongs to the band."""


@dataclass(frozen=True)
class SlopePicture:
    """The saving over the slope at which rows are matched."""

    slopes: tuple[float, ...]
    """Ascending; of the curve."""
    values: tuple[float, ...]
    """The saving at each slope; empty with a reason."""
    lo: tuple[float, ...]
    hi: tuple[float, ...]
    marks: tuple[Mark, ...]
    bounds: tuple[Bound, ...]
    flips: tuple[float, ...]
    """Slopes in the range at which the lower end is the bar of the first band."""
    level: float
    reason: str = ""
    """Why there is no curve."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class DriftPicture:
    """A control chart of baseline rows in the order of time."""

    column: str
    arms: tuple[str, ...]
    points: tuple[RowPoint, ...]
    individuals: Chart
    averages: Chart


@dataclass(frozen=True)
class LeverPoint:
    """One lever with its saving, bar and outcome."""

    lever: Lever
    reading: str
    """The id of its saving."""
    value: float | None
    lo: float | None
    hi: float | None
    bar: float
    outcome: str | None
    """kept or parked; None where the saving has no value."""
    reason: str = ""


def rows_picture(plan: Plan, data: Data, column: str, yardstick: str, of: BandOf, level: float) -> RowsPicture:
    """Every complete row at its start, in `column` of the row values, and the band of the arm `yardstick`.

    A band needs two rows with a value; with fewer, or none that vary, it has a reason in place of its ends.
    """
    values = _row_values(plan, data)
    _check_column(values, column)
    points = _points(values, column)
    rows = data.tables["rows"]
    void = rows[rows["state"] == "void"].sort_values("started", kind="stable")
    voids = tuple(RowPoint(row.row, row.arm, row.started.timestamp(), None) for row in void.itertuples())
    band = None
    if yardstick and of != "none":
        _check_arms(plan, [yardstick], "yardstick")
        band = _band(yardstick, of, level, [one for one in points if one.arm == yardstick])
    return RowsPicture(column, points, voids, band)


def _band(arm: str, of: BandOf, level: float, points: Sequence[RowPoint]) -> Band:
    values = [one.value for one in points if one.value is not None]
    n = len(values)
    center = float(np.mean(values)) if values else None
    if center is None or n < 2:
        return Band(arm, of, n, level, center, reason=f"need at least two rows for a band, have {n}")
    sd = float(np.std(values, ddof=1))
    width = {"rows": 1.0, "next row": sqrt(1 + 1 / n), "mean": 1 / sqrt(n)}[of]
    half = float(scipy.stats.t.ppf(0.5 + level / 200, n - 1)) * sd * width
    return Band(arm, of, n, level, center, center - half, center + half, sd)


def slope_picture(
    plan: Plan, data: Data, readings: Mapping[str, Reading], span: tuple[float, float] | None
) -> SlopePicture:
    """The saving with its interval at every slope of `span`, or of a range about 0 and the plan's slopes. D7.

    The marks are the readings at the plan's slopes. An arm without rows, or one row in each, leaves no curve.
    """
    said = comparison(plan)
    if said is None:
        raise ReadingError(
            "the plan has no verdict over two arms; expected [verdict] with [saving], or with a reading that is "
            "computed from savings. Leave the plot out, or add them."
        )
    if plan.matching is None or "" in said.slopes:
        raise ReadingError(
            "the plan matches its rows along no slope; expected [matching] with slopes. Leave the plot out, or add it."
        )
    values = _row_values(plan, data)
    low, high = span or _about([0.0, *said.slopes.values()])
    slopes = tuple(low + (high - low) * i / (GRID - 1) for i in range(GRID))
    marks = tuple(
        Mark(name, plan.matching.slopes[name], said.ids[name], at, *_ends(readings[said.ids[name]]))
        for name, at in said.slopes.items()
    )
    assert plan.verdict is not None, "a comparison has a verdict"
    bounds = tuple(
        Bound(verdict, str(band.at_least or band.above), bound, belongs)
        for band, (verdict, bound, belongs) in zip(plan.verdict.bands, said.bars, strict=True)
        if bound is not None
    )
    level = level_of(plan, readings)
    first, second = (
        said.rows(values, arm)[["step_ms", "tokens_per_step"]].to_numpy(dtype=float) for arm in (said.against, said.arm)
    )
    curve = saving_curve(first, second, said.at, slopes, said.bar if said.bar is not None else 0.0, level)
    if curve.reason:
        return SlopePicture(slopes, (), (), (), marks, bounds, (), level, curve.reason)
    ends = [(float(one.value), float(one.lo), float(one.hi)) for one in curve.estimates]  # type: ignore[arg-type]
    y, lo, hi = (tuple(column) for column in zip(*ends, strict=True))
    flips = curve.flips if said.bar is not None else ()
    return SlopePicture(slopes, y, lo, hi, marks, bounds, flips, level, warnings=curve.estimates[0].warnings)


def _about(values: Sequence[float]) -> tuple[float, float]:
    """A range about all values, a quarter wider than they are at both ends."""
    low, high = min(values), max(values)
    room = (high - low) / 4 or 1.0
    return low - room, high + room


def drift_picture(plan: Plan, data: Data, column: str, arms: Sequence[str]) -> DriftPicture:
    """Individuals and their moving averages over all rows of the arms, in the order of start. R21."""
    _check_arms(plan, arms, "arms")
    values = _row_values(plan, data)
    _check_column(values, column)
    points = _points(values[values["arm"].isin(list(arms))], column)
    numbers = [float("nan") if one.value is None else one.value for one in points]
    return DriftPicture(column, tuple(arms), points, individuals_chart(numbers), ewma_chart(numbers))


def lever_points(plan: Plan, readings: Mapping[str, Reading], chosen: Sequence[str]) -> tuple[LeverPoint, ...]:
    """The levers named in `chosen`, or all of the plan, with the savings and outcomes that the text quotes."""
    known = [lever.id for lever in plan.lever]
    if not known:
        raise ReadingError("the plan has no [[lever]]; expected at least one. Leave the plot out, or add them.")
    for name in chosen:
        if name not in known:
            raise ReadingError(
                f"levers: names {name!r}; expected some of {', '.join(known)}.{nearest(name, known)} Correct it."
            )
    levers = [lever for lever in plan.lever if lever.id in (chosen or known)]
    units = list(dict.fromkeys(lever.unit for lever in levers))
    if len(units) > 1:
        raise ReadingError(
            f"the levers are in {' and in '.join(units)}; expected one unit on one axis. Name levers of one unit in "
            "`levers`, and make a plot for each."
        )
    found = []
    for lever in levers:
        name = saving_of(lever)
        outcome = readings[f"{lever.id}.outcome"].value
        found.append(
            LeverPoint(
                lever,
                name,
                *_ends(readings[name]),
                float(plan.constants[lever.bar].value),
                str(outcome) if outcome is not None else None,
                readings[name].reason,
            )
        )
    return tuple(found)


def _ends(reading: Reading) -> tuple[float | None, float | None, float | None]:
    """The value of a reading and the ends of its interval."""
    if reading.value is None or isinstance(reading.value, str):
        return None, None, None
    return float(reading.value), reading.aspects.get("lo"), reading.aspects.get("hi")


def comparison(plan: Plan) -> Compared | None:
    """What the plan's verdict stands on; None where it has none over two arms."""
    return compared(plan, fixed(plan))


def level_of(plan: Plan, readings: Mapping[str, Reading]) -> float:
    """Level of the plan's intervals in percent; at a planned look that of the savings."""
    said = comparison(plan)
    for name in said.ids.values() if said else ():
        if "level" in readings[name].aspects:
            return readings[name].aspects["level"]
    return float(plan.constants[LEVEL].value) if LEVEL in plan.constants else DEFAULT_LEVEL


def default_column(plan: Plan) -> str:
    """The column of the row values that the verdict compares first; else matched step time, else step time as it is."""
    said = comparison(plan)
    if said:
        return said.column_of(next(iter(said.slopes)))
    return f"matched_{next(iter(plan.matching.slopes))}" if plan.matching else "step_ms"


def _row_values(plan: Plan, data: Data) -> pd.DataFrame:
    tables = served_tables(plan, data)
    if ROW_VALUES not in tables:
        raise ReadingError(
            "the plan reads no rows and draws; expected the tables rows and draws, because a row's value is the mean "
            "of its draws. Leave the plot out, or add them to [tables]."
        )
    return tables[ROW_VALUES]


def _check_column(values: pd.DataFrame, column: str) -> None:
    known = [name for name in values if name not in ("row", "arm", "started")]
    if column not in known:
        raise ReadingError(
            f"column: {column!r} is no column of the row values; expected one of {', '.join(known)}."
            f"{nearest(column, known)} Correct it."
        )


def _check_arms(plan: Plan, arms: Sequence[str], key: str) -> None:
    for name in arms:
        if name not in plan.arms:
            raise ReadingError(
                f"{key}: names the arm {name!r}; expected one of {', '.join(plan.arms) or 'none yet'}."
                f"{nearest(name, plan.arms)} Correct it, or add it under [arms]."
            )


def _points(values: pd.DataFrame, column: str) -> tuple[RowPoint, ...]:
    found = []
    for row, arm, started, value in zip(*(values[name] for name in ("row", "arm", "started", column)), strict=True):
        number = None if pd.isna(value) or not isfinite(value) else float(value)
        found.append(RowPoint(str(row), str(arm), started.timestamp(), number))
    return tuple(found)
