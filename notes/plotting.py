"""The plots that a plan declares, drawn from readings."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from campaign.analysis.readings import Readings
from campaign.engine.plan import Plan, Strict, Text, parse_strict
from campaign.kernels.errors import nearest
from campaign.notes.errors import TemplateError
from campaign.notes.paths import Part
from campaign.notes.plots import LinePlot, Series, line_plot, points_digest


class SeriesSpec(Strict):
    """One line: the readings that a pattern fits, the star being x."""

    label: Text
    readings: Text
    """An id with one `*`, which stands for a number: the point's x."""


class Rule(Strict):
    """A horizontal line to compare with."""

    at: float
    label: Text


class PlotSpec(Strict):
    """One plot of a part."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    """Its file's name below plots/."""
    title: str = ""
    x_label: Text
    y_label: Text
    x_scale: Literal["linear", "log2"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    x_tick_labels: list[str] | None = None
    rule: Rule | None = None
    series: Annotated[list[SeriesSpec], Field(min_length=1)]


def declared_plots(plan: Plan, part: Part) -> list[PlotSpec]:
    """The plots that the plan declares."""
    return [parse_strict(PlotSpec, said, f"{part.show(part.plan)}: plot {said.get('name')}") for said in plan.plot]


def plots_of(plan: Plan, part: Part, readings: Readings) -> list[PlotSpec]:
    """The plots that can be drawn: all of them, or none while planned rows are missing."""
    declared = declared_plots(plan, part)
    return [] if readings.pending else declared


def line_plot_of(spec: PlotSpec, readings: Readings) -> LinePlot:
    """The points of a plot; a reading without a value is left out, and its low and high ends are the spread."""
    return LinePlot(
        title=spec.title,
        x_label=spec.x_label,
        y_label=spec.y_label,
        series=tuple(_series(one, readings, spec.name) for one in spec.series),
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


def draw(spec: PlotSpec, readings: Readings) -> str:
    """SVG text of a plot."""
    return line_plot(line_plot_of(spec, readings))


def digest(spec: PlotSpec, readings: Readings) -> str:
    """The digest of a plot's points, which its SVG carries."""
    return points_digest(line_plot_of(spec, readings))


def unknown_plot(name: str, known: Sequence[str]) -> TemplateError:
    """The error for a template that shows a plot which the plan does not declare."""
    return TemplateError(
        f"plot {name!r}: not declared; expected one of {', '.join(known) or 'none'}.{nearest(name, known)} "
        "Declare it in the plan under [[plot]]."
    )
