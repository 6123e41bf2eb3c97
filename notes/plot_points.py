"""What each kind of plot shows and which readings it gives, from plan, data and readings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from campaign.analysis import pictures
from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Reading, Readings
from campaign.engine.data import Data
from campaign.engine.plan import Plan
from campaign.notes.dates import MONTHS
from campaign.notes.drift_plot import DriftPlot, Panel, day_starts
from campaign.notes.errors import TemplateError
from campaign.notes.levers_plot import LeverRow, LeversPlot
from campaign.notes.plot_specs import DriftSpec, LeversSpec, LineSpec, PlotSpec, RowsSpec, SeriesSpec, SlopeSpec
from campaign.notes.plots import LinePlot, Series
from campaign.notes.quote import NOT_RESOLVED, print_reading
from campaign.notes.rows_plot import ArmRows, RowsPlot
from campaign.notes.slope_plot import SlopeMark, SlopePlot
from campaign.notes.svg import STYLES, Drawn


@dataclass(frozen=True)
class Points:
    """The points of one plot, from plan, data and readings."""

    plan: Plan
    data: Data
    known: Readings
    where: str
    marks: tuple[str, ...]

    def plot(self, spec: PlotSpec) -> LinePlot | Drawn:
        """What the plot shows."""
        return self._said(SHOWS[type(spec)], spec)

    def readings(self, spec: PlotSpec, stem: str) -> list[Reading]:
        """The readings that the plot gives."""
        give = READINGS.get(type(spec))
        return list(self._said(lambda points, said: list(give(points, said, stem)), spec)) if give else []

    def _said(self, compute: "Callable[[Points, Any], Any]", spec: PlotSpec) -> Any:
        """What `compute` gives; an error of the analysis says which plot it is about."""
        try:
            return compute(self, spec)
        except ReadingError as wrong:
            raise TemplateError(f"{self.where}: {wrong}") from None

    # ---- what several kinds share

    @property
    def level(self) -> float:
        return pictures.level_of(self.plan, self.known)

    def column(self, spec: "RowsSpec | DriftSpec") -> str:
        return spec.column or pictures.default_column(self.plan)

    def format(self, spec: "RowsSpec | DriftSpec | SlopeSpec") -> str:
        """The plot's own format, or that of the savings."""
        said = pictures.comparison(self.plan)
        if not isinstance(spec, SlopeSpec) and spec.print:
            return spec.print
        return next((self.known[name].print for name in said.ids.values()), "") or ".3f" if said else ".3f"

    def label(self, arm: str) -> str:
        return self.plan.arms[arm].label

    def style(self, arm: str) -> int:
        """Which of the colours and markers an arm has."""
        place = list(self.plan.arms).index(arm)
        if place >= len(STYLES):
            raise ReadingError(
                f"the arm {arm} is the {place + 1}th of the plan; expected at most {len(STYLES)}, or a reader cannot "
                "tell them apart. Choose another kind of plot, or fewer arms."
            )
        return place

    def unit(self, column: str) -> str:
        """The unit of a column of the row values."""
        said = pictures.comparison(self.plan)
        if said and column in (said.column_of(slope) for slope in said.slopes):
            return self.known[next(iter(said.ids.values()))].unit or _UNITS["step_ms"][1]
        return _UNITS[column.partition("_")[0] if column.startswith("matched_") else column][1]

    def y_label(self, spec: "RowsSpec | DriftSpec", column: str) -> str:
        """What a column of the row values is, with its unit."""
        return spec.y_label or f"{what_of(column)}, {self.unit(column)}"

    # ---- the kinds

    def rows_picture(self, spec: RowsSpec) -> pictures.RowsPicture:
        said = pictures.comparison(self.plan)
        yardstick = spec.yardstick or (said.against if said else "")
        return pictures.rows_picture(self.plan, self.data, self.column(spec), yardstick, spec.band, self.level)

    def slope_picture(self, spec: SlopeSpec) -> pictures.SlopePicture:
        span = None
        if spec.range:
            span = (float(spec.range[0]), float(spec.range[1]))
            if span[0] >= span[1]:
                raise ReadingError(
                    f"range is {spec.range}; expected the least slope and then a greater one. Correct it."
                )
        return pictures.slope_picture(self.plan, self.data, self.known, span)

    def baseline(self, spec: DriftSpec) -> list[str]:
        """The arms of a drift chart."""
        said = pictures.comparison(self.plan)
        arms = spec.arms or ([arm for arm in (said.against, said.same_day) if arm] if said else [])
        if not arms:
            raise ReadingError(
                "the plan compares no two arms, so it has no baseline; expected `arms` with the baseline's. Add it."
            )
        return list(dict.fromkeys(arms))

    def drift_picture(self, spec: DriftSpec) -> pictures.DriftPicture:
        return pictures.drift_picture(self.plan, self.data, self.column(spec), self.baseline(spec))


_UNITS = {
    "step_ms": ("step time", "ms/verify step"),
    "matched": ("matched step time", "ms/verify step"),
    "tokens_per_step": ("tokens per step", "tokens/verify step"),
    "verify_steps": ("verify steps", "verify steps/draw"),
    "tokens": ("tokens", "tokens/draw"),
    "model_time_s": ("model time", "s/draw"),
    "passes": ("tasks passed", "tasks/draw"),
    "power_share": ("samples at the power cap", "share"),
}
"""What each column of the row values is, and its unit."""


# ---- line


def _line(points: Points, spec: LineSpec) -> LinePlot:
    """A reading without a value is left out, and its low and high ends are the spread."""
    return LinePlot(
        title=spec.title,
        x_label=spec.x_label,
        y_label=spec.y_label,
        series=tuple(_series(one, points.known, spec.name) for one in spec.series),
        x_scale=spec.x_scale,
        y_scale=spec.y_scale,
        x_tick_labels=tuple(spec.x_tick_labels) if spec.x_tick_labels else None,
        rule=(spec.rule.at, spec.rule.label) if spec.rule else None,
    )


def _series(spec: SeriesSpec, readings: Readings, plot: str) -> Series:
    stem, _, tail = spec.readings.partition("*")
    points = []
    for name in readings.matching(spec.readings):
        reading = readings[name]
        star = name.removeprefix(stem).removesuffix(tail)
        if reading.value is not None and star.isdecimal():
            value = float(reading.value)
            points.append((float(star), value, reading.aspects.get("lo", value), reading.aspects.get("hi", value)))
    if not points:
        raise TemplateError(
            f"plot {plot}: no reading with a value fits {spec.readings}; expected some, with a number for the star. "
            "Correct the pattern in the plan."
        )
    x, y, low, high = zip(*sorted(points), strict=True)
    return Series(spec.label, x, y, low, high)


# ---- rows

BANDS = {
    "rows": "mean ± t·s of the rows",
    "next row": "mean ± t·s·√(1 + 1/n), for one more row",
    "mean": "mean ± t·s/√n, for the mean",
}


def _rows(points: Points, spec: RowsSpec) -> RowsPlot:
    found = points.rows_picture(spec)
    arms = []
    for arm in points.plan.arms:
        there = [(one.started, one.value) for one in found.points if one.arm == arm and one.value is not None]
        if there:
            starts, values = zip(*there, strict=True)
            arms.append(ArmRows(points.label(arm), points.style(arm), starts, values))
    remarks, ends = [], None
    if found.band:
        label = points.label(found.band.arm)
        if found.band.lo is None or found.band.center is None or found.band.hi is None:
            remarks.append(f"No band of {label}: {found.band.reason}.")
        else:
            ends = (found.band.lo, found.band.center, found.band.hi)
            remarks.append(f"Band: {label}, {BANDS[found.band.of]}, n = {found.band.n}, {found.band.level:g} %.")
    remarks += _lacking(found.points)
    label = points.y_label(spec, found.column)
    return RowsPlot(
        title=spec.title,
        alt=f"The rows in time: {label}",
        remarks=(*remarks, *map(_sentence, points.marks)),
        y_label=label,
        arms=tuple(arms),
        voids=tuple(one.started for one in found.voids),
        band=ends,
    )


def _lacking(points: Sequence[pictures.RowPoint]) -> list[str]:
    lacking = [one.row for one in points if one.value is None]
    if not points or len(lacking) == len(points):
        return ["No row with a value."]
    return [f"Without a value, so not drawn: {', '.join(lacking)}."] if lacking else []


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _rows_readings(points: Points, spec: RowsSpec, stem: str) -> Iterator[Reading]:
    found = points.rows_picture(spec)
    fmt, unit = points.format(spec), points.unit(found.column)
    of = f"{found.column} of the complete rows"
    for arm in points.plan.arms:
        values = found.values(arm)
        yield Reading(f"{stem}.rows.{arm}", len(values), "rows", formula=f"rows of {arm} in {of}")
        mean = sum(values) / len(values) if values else None
        reason = "" if values else f"{arm} has no row with a value"
        yield Reading(f"{stem}.mean.{arm}", mean, unit, fmt, formula=f"mean of {arm}, {of}", reason=reason)
        if found.band:
            outside = found.band.outside(found.points, arm)
            yield Reading(
                f"{stem}.outside.{arm}",
                outside,
                "rows",
                formula=f"rows of {arm} outside {stem}.band",
                reason="" if outside is not None else found.band.reason,
            )
    yield Reading(f"{stem}.void", len(found.voids), "rows", formula="void rows")
    if found.band:
        band = found.band
        ends = {"lo": band.lo, "hi": band.hi, "sd": band.sd, "n": band.n, "level": band.level}
        yield Reading(
            f"{stem}.band",
            band.center if band.lo is not None else None,
            unit,
            fmt,
            {key: end for key, end in ends.items() if end is not None},
            formula=f"{found.column} of {band.arm}, {BANDS[band.of]}",
            reason=band.reason,
        )


# ---- slope


def _slope(points: Points, spec: SlopeSpec) -> SlopePlot:
    found = points.slope_picture(spec)
    unit = points.known[found.marks[0].reading].unit
    remarks = []
    if found.reason:
        remarks.append(f"Saving {NOT_RESOLVED}: {found.reason}.")
    elif found.bounds and not found.flips:
        remarks.append(f"The lower end does not meet the bar for “{found.bounds[0].verdict}” in this range.")
    return SlopePlot(
        title=spec.title,
        alt="The saving over the slope along which rows are matched",
        remarks=(*remarks, *map(_sentence, found.warnings), *map(_sentence, points.marks)),
        x_label=spec.x_label,
        y_label=spec.y_label or (f"saving, {unit}" if unit else "saving"),
        slopes=found.slopes,
        values=found.values,
        lo=found.lo,
        hi=found.hi,
        interval=f"{found.level:g} % interval",
        marks=tuple(
            SlopeMark(mark.at, f"{mark.slope} {_constant(points, mark.constant)}", mark.value, mark.lo, mark.hi)
            for mark in found.marks
        ),
        bars=tuple(
            (bound.at, f"{'≥' if bound.belongs else '>'} {_constant(points, bound.constant)} {bound.verdict}")
            for bound in found.bounds
        ),
        flips=tuple(
            SlopeMark(at, f"flip {print_reading(Reading('flip', at, print=spec.print))}") for at in found.flips
        ),
    )


def _constant(points: Points, name: str) -> str:
    """A constant, or what is computed from some, as the text prints it."""
    return print_reading(points.known[name], format_of(points.known[name]))


def format_of(reading: Reading) -> str:
    """The format of a reading; for a number without one the decimals that it has, at most three."""
    if reading.print or not isinstance(reading.value, float):
        return reading.print
    decimals = -int(Decimal(repr(reading.value)).normalize().as_tuple().exponent)
    return f".{min(max(decimals, 0), 3)}f"


def _slope_readings(points: Points, spec: SlopeSpec, stem: str) -> Iterator[Reading]:
    found = points.slope_picture(spec)
    unit = "ms/token"
    for name, at in (("from", found.slopes[0]), ("to", found.slopes[-1])):
        yield Reading(f"{stem}.{name}", at, unit, spec.print, formula="end of the range of slopes", role="constant")
    formula = "slopes in the range at which the lower end of the saving is the bar of the first band"
    none = found.reason or ("" if found.bounds else "the verdict has no bar")
    yield Reading(f"{stem}.flips", None if none else len(found.flips), "slopes", formula=formula, reason=none)
    first = found.flips[0] if found.flips else None
    reason = "" if found.flips else none or "the lower end does not meet the bar in this range"
    yield Reading(f"{stem}.flip", first, unit, spec.print, formula=f"the least of the {formula}", reason=reason)


# ---- drift chart


def _drift(points: Points, spec: DriftSpec) -> DriftPlot:
    found = points.drift_picture(spec)
    rows, averages = found.individuals, found.averages
    values = tuple(one.value for one in found.points)
    label = points.y_label(spec, found.column)

    def named(height: float | None, what: str) -> list[tuple[float, str]]:
        if height is None:
            return []
        return [(height, f"{print_reading(Reading('end', height, print=points.format(spec)))} {what}")]

    names = named(rows.center, "mean")
    if rows.lo:
        names += [*named(rows.lo[0], "limit"), *named(rows.hi[0], "limit")]
    panels = [Panel(label, values, rows.lo, rows.hi, rows.shifts, tuple(names))]
    if averages.lo:
        panels.append(Panel("moving average", averages.points, averages.lo, averages.hi, averages.shifts, ()))
    remarks = [f"No limits: {rows.reason}."] if rows.reason else []
    shifts = [found.points[place].row for place in rows.shifts]
    if shifts:
        remarks.append(f"Rows beyond their limits: {', '.join(shifts)}.")
    return DriftPlot(
        title=spec.title,
        alt=f"Control chart of the baseline rows in the order of start: {label}",
        remarks=(*remarks, *_lacking(found.points), *map(_sentence, points.marks)),
        arms=tuple((points.label(arm), points.style(arm)) for arm in found.arms),
        of=tuple(found.arms.index(one.arm) for one in found.points),
        rows=tuple(one.row for one in found.points),
        days=day_starts([one.started for one in found.points], _day),
        center=rows.center,
        panels=tuple(panels),
    )


def _day(started: float) -> str:
    day = datetime.fromtimestamp(started, UTC)
    return f"{day.day} {MONTHS[day.month - 1][:3]}"


def _drift_readings(points: Points, spec: DriftSpec, stem: str) -> Iterator[Reading]:
    found = points.drift_picture(spec)
    rows = found.individuals
    unit, fmt = points.unit(found.column), points.format(spec)
    ends = {"lo": rows.lo[0], "hi": rows.hi[0]} if rows.lo else {}
    of = f"{found.column} of {', '.join(found.arms)} in the order of start"
    yield Reading(f"{stem}.rows", len(found.points), "rows", formula=of)
    yield Reading(
        f"{stem}.individuals",
        rows.center,
        unit,
        fmt,
        ends,
        formula=f"mean of {of}; lo and hi are mean ± 2.66 mean moving ranges",
        reason="" if rows.center is not None else rows.reason,
    )
    for name, chart in (("beyond", rows), ("averages.beyond", found.averages)):
        beyond = len(chart.shifts) if chart.lo else None
        what = "moving averages (EWMA) of " if chart is found.averages else ""
        yield Reading(
            f"{stem}.{name}", beyond, "rows", formula=f"points beyond their limits, {what}{of}", reason=chart.reason
        )


# ---- levers


def _levers(points: Points, spec: LeversSpec) -> LeversPlot:
    found = pictures.lever_points(points.plan, points.known, spec.levers)
    levels = {points.known[one.reading].aspects.get("level") for one in found} - {None}
    several = len(levels) > 1 or any(one.lever.variants > 1 for one in found)
    unit = found[0].lever.unit
    return LeversPlot(
        title=spec.title,
        alt="What each lever saves, against its bar",
        remarks=(
            *(
                f"{one.lever.label}: {NOT_RESOLVED}, {one.reason or 'its saving has no value'}."
                for one in found
                if one.value is None
            ),
            *map(_sentence, points.marks),
        ),
        x_label=spec.x_label or (f"saving, {unit}" if unit else "saving"),
        interval="interval" if several or not levels else f"{next(iter(levels)):g} % interval",
        levers=tuple(
            LeverRow(
                one.lever.label,
                one.value,
                one.lo,
                one.hi,
                one.bar,
                one.outcome or NOT_RESOLVED,
                print_reading(points.known[one.reading], format_of(points.known[one.reading]))
                if one.value is not None
                else "",
            )
            for one in found
        ),
    )


def _levers_readings(points: Points, spec: LeversSpec, stem: str) -> Iterator[Reading]:
    for one in pictures.lever_points(points.plan, points.known, spec.levers):
        said = f"plan.toml: lever {one.lever.id}"
        yield Reading(f"{stem}.label.{one.lever.id}", one.lever.label, role="constant", because=said)


def what_of(column: str) -> str:
    """What a column of the row values is, in words."""
    return _UNITS["matched" if column.startswith("matched_") else column][0]


SHOWS: Mapping[type[PlotSpec], Callable[[Points, Any], LinePlot | Drawn]] = {
    LineSpec: _line,
    RowsSpec: _rows,
    SlopeSpec: _slope,
    DriftSpec: _drift,
    LeversSpec: _levers,
}
READINGS: Mapping[type[PlotSpec], Callable[[Points, Any, str], Iterator[Reading]]] = {
    RowsSpec: _rows_readings,
    SlopeSpec: _slope_readings,
    DriftSpec: _drift_readings,
    LeversSpec: _levers_readings,
}
