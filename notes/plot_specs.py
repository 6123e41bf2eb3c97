"""What a plan says about its plots: a kind, and what that kind needs."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from campaign.analysis.pictures import BandOf
from campaign.engine.plan import Plan
from campaign.engine.strict import Id, Strict, Text, parse_strict
from campaign.kernels.errors import nearest
from campaign.notes.errors import TemplateError
from campaign.notes.paths import Part


class PlotSpec(Strict):
    """What every plot of a part says."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    """Its file's name below plots/."""
    kind: str
    title: str = ""


class SeriesSpec(Strict):
    """One line: the readings that a pattern fits, the star being x."""

    label: Text
    readings: Text
    """An id with one `*`, which stands for a number: the point's x."""


class Rule(Strict):
    """A horizontal line to compare with."""

    at: float
    label: Text


class LineSpec(PlotSpec):
    """Readings over a number in their ids."""

    kind: Literal["line"] = "line"
    x_label: Text
    y_label: Text
    x_scale: Literal["linear", "log2"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    x_tick_labels: list[str] | None = None
    rule: Rule | None = None
    series: Annotated[list[SeriesSpec], Field(min_length=1)]


class RowsSpec(PlotSpec):
    """Every row at its start, and a yardstick's band."""

    kind: Literal["rows"]
    column: str = ""
    """Of the row values; the one that the verdict compares first where none is named."""
    yardstick: str = ""
    """The arm of the band; the one that the verdict compares with where none is named."""
    band: BandOf = "rows"
    print: str = ""
    """The format of the readings that its text can quote."""
    y_label: str = ""


class SlopeSpec(PlotSpec):
    """The saving over the slope along which rows are matched."""

    kind: Literal["slope"]
    range: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    """The least and the greatest slope; a range about 0 and the plan's slopes where none is given."""
    print: str = ".3f"
    """The format of slopes that are not the plan's."""
    x_label: Text = "slope, ms per token"
    y_label: str = ""


class DriftSpec(PlotSpec):
    """Baseline rows in the order of time, with control limits."""

    kind: Literal["drift chart"]
    column: str = ""
    arms: list[str] = []
    """The baseline; the yardstick and the same day's arm where none is named."""
    print: str = ""
    y_label: str = ""


class LeversSpec(PlotSpec):
    """Levers against their bars."""

    kind: Literal["levers"]
    levers: list[Id] = []
    """All of the plan where none is named."""
    x_label: str = ""


KINDS: Mapping[str, type[PlotSpec]] = {
    "line": LineSpec,
    "rows": RowsSpec,
    "slope": SlopeSpec,
    "drift chart": DriftSpec,
    "levers": LeversSpec,
}


def declared_plots(plan: Plan, part: Part) -> list[PlotSpec]:
    """The plots that the plan declares."""
    found = []
    for said in plan.plot:
        where = f"{part.show(part.plan)}: plot {said.get('name')}"
        kind = said.get("kind", "line")
        if kind not in KINDS:
            raise TemplateError(
                f"{where}: kind is {kind!r}; expected one of {', '.join(KINDS)}.{nearest(str(kind), KINDS)} "
                "Name one of them."
            )
        found.append(parse_strict(KINDS[kind], said, where))
    names = [spec.name for spec in found]
    for name in names:
        if names.count(name) > 1:
            raise TemplateError(
                f"{part.show(part.plan)}: plot {name}: the name stands twice; expected each name once. Rename one."
            )
    return found


def unknown_plot(name: str, known: Sequence[str]) -> TemplateError:
    """The error for a template that shows a plot which the plan does not declare."""
    return TemplateError(
        f"plot {name!r}: not declared; expected one of {', '.join(known) or 'none'}.{nearest(name, known)} "
        "Declare it in the plan under [[plot]]."
    )
