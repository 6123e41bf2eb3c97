"""The plots of a part, as SVG, and what its text can quote of them."""

from dataclasses import dataclass, replace
from typing import Any

from campaign.analysis import pictures
from campaign.analysis.readings import Reading, Readings
from campaign.analysis.rows import missing_rows
from campaign.engine.data import Data
from campaign.engine.plan import Plan
from campaign.notes.paths import Part
from campaign.notes.plot_points import BANDS, Points, format_of, what_of
from campaign.notes.plot_specs import (
    DriftSpec,
    LeversSpec,
    PlotSpec,
    RowsSpec,
    SlopeSpec,
    declared_plots,
    unknown_plot,
)
from campaign.notes.plots import LinePlot, line_plot, points_digest
from campaign.notes.svg import Drawn


@dataclass(frozen=True)
class Plot:
    """A plot with its points."""

    name: str
    shows: LinePlot | Drawn

    @property
    def svg(self) -> str:
        """SVG text."""
        return line_plot(self.shows) if isinstance(self.shows, LinePlot) else self.shows.svg

    @property
    def digest(self) -> str:
        """The digest of its points, which the SVG carries."""
        return points_digest(self.shows) if isinstance(self.shows, LinePlot) else self.shows.digest


def plots_of(plan: Plan, part: Part, data: Data, readings: Readings) -> list[Plot]:
    """The plots that can be drawn: all of them, or none while planned rows are missing."""
    declared = declared_plots(plan, part)
    if readings.pending or _withheld(plan, data, readings):
        return []
    marks = _interim(readings)
    found = []
    for spec in declared:
        with_points = Points(plan, data, readings, f"{part.show(part.plan)}: plot {spec.name}", marks)
        found.append(Plot(spec.name, with_points.plot(spec)))
    return found


def plot_readings(plan: Plan, part: Part, data: Data, readings: Readings) -> dict[str, Reading]:
    """What the plots show beyond the plan's readings, as readings: `plot.rows.band`, `plot.slope.flip` and so on.

    A hyphen of a plot's name is an underscore in an id. Without values while planned rows are missing.
    """
    reason = _withheld(plan, data, readings)
    found = {}
    for spec in declared_plots(plan, part):
        points = Points(plan, data, readings, f"{part.show(part.plan)}: plot {spec.name}", _interim(readings))
        for reading in points.readings(spec, _stem(spec)):
            if reason and reading.role == "reading":
                reading = Reading(reading.id, None, reading.unit, reading.print, reason=reason)
            found[reading.id] = replace(reading, warnings=(*reading.warnings, *points.marks))
    return found


def _withheld(plan: Plan, data: Data, readings: Readings) -> str:
    """Why nothing may be shown: planned rows are missing, and no look at these rows was taken."""
    missing = missing_rows(plan, data)
    if not missing or any(one.role == "reading" and one.value is not None for one in readings.values()):
        return ""
    return f"{missing} planned rows are missing"


def _interim(readings: Readings) -> tuple[str, ...]:
    """What marks every reading of a campaign that was looked at before its last row."""
    return tuple(
        dict.fromkeys(said for one in readings.values() for said in one.warnings if said.startswith("interim"))
    )


def ids_of(name: str, plan: Plan, part: Part, data: Data, readings: Readings) -> dict[str, Any]:
    """What a template needs to write about the plot `name`: its kind, and ids and words to quote; no numbers."""
    declared = {spec.name: spec for spec in declared_plots(plan, part)}
    if name not in declared:
        raise unknown_plot(name, list(declared))
    spec = declared[name]
    points = Points(plan, data, readings, f"{part.show(part.plan)}: plot {name}", ())
    said: dict[str, Any] = {"kind": spec.kind, "stem": _stem(spec)}
    quoted: list[str] = []
    if isinstance(spec, RowsSpec):
        rows = points.rows_picture(spec)
        said |= {"arms": [arm for arm in plan.arms if rows.values(arm)], "band": rows.band.arm if rows.band else ""}
        said |= {"what": what_of(rows.column), "how": BANDS.get(spec.band, ""), "has_voids": bool(rows.voids)}
    elif isinstance(spec, SlopeSpec):
        slope = points.slope_picture(spec)
        said |= {"marks": [(mark.constant, mark.reading) for mark in slope.marks], "flips": bool(slope.flips)}
        said |= {"bars": [(bound.constant, bound.verdict) for bound in slope.bounds]}
        quoted = [name for pair in said["marks"] for name in pair] + [name for name, _ in said["bars"]]
    elif isinstance(spec, DriftSpec):
        drift = points.drift_picture(spec)
        said |= {"arms": drift.arms, "what": what_of(drift.column), "limits": bool(drift.individuals.lo)}
    elif isinstance(spec, LeversSpec):
        levers = pictures.lever_points(plan, readings, spec.levers)
        said |= {"levers": [(one.reading, one.lever.bar, one.lever.id) for one in levers]}
        quoted = [name for one in levers for name in (one.reading, one.lever.bar)]
    said["format"] = {name: format_of(readings[name]) for name in quoted}
    said["has_interval"] = {name: f"{name}.lo" in readings for name in quoted}
    return said


def _stem(spec: PlotSpec) -> str:
    return f"plot.{spec.name.replace('-', '_')}"
