"""A line plot as SVG text: the same bytes for the same points, and the points' digest inside."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from campaign.notes.errors import TemplateError
from campaign.notes.layout import apart, outside
from campaign.notes.svg import GRID, INK, MUTED, STYLES, TEXT_POINTS, digest_of, svg_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DIRECT_LABELS = 6
"""Up to this many series are named at the ends of their lines; more get a legend."""

ERROR_BARS = 12
"""Up to this many points a spread is drawn as bars, which belong to single measurements; above, as a band."""

_HEIGHT_INCHES = 3.6


@dataclass(frozen=True)
class Series:
    """One line of a plot."""

    label: str
    """Its name for the reader; different from those of the other series."""
    x: tuple[float, ...]
    """Finite, ascending."""
    y: tuple[float, ...]
    """Finite, one for each x. A point that could not be measured is left out, not NaN."""
    low: tuple[float, ...] | None = None
    """Lower ends of the spread, one for each x; together with `high` or not at all."""
    high: tuple[float, ...] | None = None
    """Upper ends of the spread."""


@dataclass(frozen=True)
class LinePlot:
    """What one plot shows."""

    title: str
    """Printed above the plot; may be empty."""
    x_label: str
    """With the unit."""
    y_label: str
    """With the unit."""
    series: tuple[Series, ...]
    """At least one; drawn and coloured in this order."""
    x_scale: Literal["linear", "log2"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    x_tick_labels: tuple[str, ...] | None = None
    """One for each distinct x of all series, ascending; None writes the numbers themselves."""
    rule: tuple[float, str] | None = None
    """A horizontal reference line: its y and what it is."""
    alt: str = ""
    """What someone who does not see the plot should know from it."""


def line_plot(spec: LinePlot) -> str:
    """SVG text of `spec`; the same bytes for the same spec on one matplotlib version.

    Raises TemplateError for points that cannot be drawn. Nothing global is changed.
    """
    _check(spec)
    return svg_of(lambda figure: _draw(figure, spec), _HEIGHT_INCHES, spec.alt or spec.title, points_digest(spec))


def points_digest(spec: LinePlot) -> str:
    """Sha256, in hex, over everything that `spec` shows: values, labels, scales, alternative text."""
    return digest_of(spec)


def _check(spec: LinePlot) -> None:
    """Refuse what cannot be drawn, or would be drawn as something else."""

    def refuse(series: str, found: str, expected: str) -> None:
        where = f"plot {spec.title or spec.y_label!r}" + (f", series {series!r}" if series else "")
        raise TemplateError(f"{where}: {found}; expected {expected}.")

    if not spec.series:
        refuse("", "no series", "at least one. Leave the plot out, or give it data")
    labels = [series.label for series in spec.series]
    for label in labels:
        if labels.count(label) > 1:
            refuse("", f"{labels.count(label)} series are called {label!r}", "different labels. Rename one")
    if len(labels) > len(STYLES):
        refuse(
            "",
            f"{len(labels)} series",
            f"at most {len(STYLES)}, or a reader cannot tell them apart. Make two plots",
        )
    for series in spec.series:
        if not series.x:
            refuse(series.label, "no points", "at least one. Leave the series out")
        if (series.low is None) != (series.high is None):
            refuse(series.label, "only one end of the spread", "low and high, or neither")
        for name, values in (("y", series.y), ("low", series.low), ("high", series.high)):
            if values is not None and len(values) != len(series.x):
                refuse(series.label, f"{len(values)} values of {name}", f"one for each of {len(series.x)} x")
        columns = [values for values in (series.x, series.y, series.low, series.high) if values is not None]
        if not all(math.isfinite(value) for values in columns for value in values):
            refuse(series.label, "NaN or an infinite value", "finite values. Leave the point out")
        if any(b <= a for a, b in zip(series.x, series.x[1:], strict=False)):
            refuse(series.label, "x that do not ascend", "ascending x. Sort the points")
        if series.low is not None and series.high is not None:
            for low, y, high in zip(series.low, series.y, series.high, strict=True):
                if not low <= y <= high:
                    refuse(series.label, f"spread [{low:g}, {high:g}] around {y:g}", "low <= y <= high")
        if spec.x_scale == "log2" and min(series.x) <= 0:
            refuse(series.label, f"x = {min(series.x):g} on a log2 axis", "x above 0. Use x_scale='linear'")
        if spec.y_scale == "log" and min(min(values) for values in columns[1:]) <= 0:
            refuse(series.label, "a value of 0 or less on a log axis", "values above 0. Use y_scale='linear'")
    if spec.rule is not None and not math.isfinite(spec.rule[0]):
        refuse("", f"a rule at {spec.rule[0]}", "a finite value")
    if spec.rule is not None and spec.y_scale == "log" and spec.rule[0] <= 0:
        refuse("", f"a rule at {spec.rule[0]:g} on a log axis", "a value above 0")
    positions = _positions(spec)
    if spec.x_tick_labels is not None and len(spec.x_tick_labels) != len(positions):
        refuse("", f"{len(spec.x_tick_labels)} tick labels", f"one for each of {len(positions)} distinct x")


def _positions(spec: LinePlot) -> list[float]:
    """The distinct x of all series, ascending."""
    return sorted({x for series in spec.series for x in series.x})


def _draw(figure: "Figure", spec: LinePlot) -> None:
    axes = figure.add_subplot()
    figure.patch.set_visible(False)
    axes.patch.set_visible(False)
    for (colour, marker), series in zip(STYLES, spec.series, strict=False):
        _draw_series(axes, series, colour, marker, bars=max(len(s.x) for s in spec.series) <= ERROR_BARS)
    _draw_axes(axes, spec)
    if spec.title:
        axes.set_title(spec.title, loc="left", fontsize=TEXT_POINTS + 1.5, fontweight="bold", pad=12)
    direct = len(spec.series) <= DIRECT_LABELS
    if not direct:
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, labelcolor=INK)
    _fit(figure, axes, spec, direct=direct)


def _draw_series(axes: "Axes", series: Series, colour: str, marker: str, *, bars: bool) -> None:
    style: dict[str, Any] = {"color": colour, "linewidth": 1.7, "zorder": 3}
    dots: dict[str, Any] = {
        "marker": marker,
        "markersize": 5.2,
        "markeredgecolor": "white",
        "markeredgewidth": 0.7,
    }
    if series.low is not None and series.high is not None:
        if bars:
            below = [y - low for y, low in zip(series.y, series.low, strict=True)]
            above = [high - y for y, high in zip(series.y, series.high, strict=True)]
            axes.errorbar(
                series.x,
                series.y,
                yerr=[below, above],
                fmt="none",
                ecolor=colour,
                elinewidth=1.1,
                capsize=2.5,
                zorder=2,
            )
        else:
            axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.16, linewidth=0, zorder=1)
    axes.plot(series.x, series.y, label=series.label, **style, **(dots if bars or len(series.x) == 1 else {}))


def _draw_axes(axes: "Axes", spec: LinePlot) -> None:
    from matplotlib.ticker import (
        FixedLocator,
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullFormatter,
        NullLocator,
    )

    if spec.x_scale == "log2":
        axes.set_xscale("log", base=2)
    if spec.y_scale == "log":
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        low, high = axes.get_ylim()
        if high < 200 * low:
            # Powers of ten alone would leave a short axis with one or two numbers on it.
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    elif spec.rule is None and min(min(s.low or s.y) for s in spec.series) >= 0:
        # Where zero is near anyway, show it: heights can then be compared.
        low, high = min(min(s.low or s.y) for s in spec.series), max(max(s.high or s.y) for s in spec.series)
        if low < 0.4 * high:
            axes.set_ylim(bottom=0)
    positions = _positions(spec)
    if spec.x_tick_labels is not None or (spec.x_scale == "log2" and len(positions) <= 10):
        axes.xaxis.set_major_locator(FixedLocator(positions))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticklabels(spec.x_tick_labels or [f"{x:,.10g}" for x in positions])
    elif spec.x_scale == "log2":
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    elif all(float(x).is_integer() for x in positions):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(spec.x_label, labelpad=6)
    axes.set_ylabel(spec.y_label, labelpad=6)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=3, width=0.8, labelcolor=INK)
    axes.tick_params(axis="y", which="both", length=0)
    axes.margins(x=0.03)
    if spec.rule is not None:
        axes.axhline(spec.rule[0], color=MUTED, linewidth=1.1, linestyle=(0, (4, 3)), zorder=2)


def _fit(figure: "Figure", axes: "Axes", spec: LinePlot, *, direct: bool) -> None:
    """Place the names at the line ends, apart from each other, and make room for all text."""
    names: list[tuple[float, str, str, str]] = []  # y, text, colour, weight
    if direct:
        for (colour, _), series in zip(STYLES, spec.series, strict=False):
            names.append((series.y[-1], series.label, colour, "bold"))
    if spec.rule is not None and direct:
        names.append((spec.rule[0], spec.rule[1], MUTED, "normal"))
    elif spec.rule is not None:
        axes.annotate(
            spec.rule[1],
            (0, spec.rule[0]),
            (0, 3),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            color=MUTED,
            va="bottom",
        )
    texts = [
        axes.annotate(
            text,
            (1, y),
            (6, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            color=colour,
            fontweight=weight,
            va="center",
            annotation_clip=False,
        )
        for y, text, colour, weight in names
    ]
    # The room for the names changes the plot, and the plot their places: twice is enough.
    for _ in range(2):
        wide = max((text.get_window_extent().width for text in texts), default=0)
        legend = axes.get_legend()
        if legend is not None:
            wide = legend.get_window_extent().width + 8
        left, under = outside([axes])
        box = figure.bbox
        axes.set_position(
            (
                (left + 10) / box.width,
                (under + 8) / box.height,
                1 - (left + 10 + wide + 16) / box.width,
                1 - (under + 8 + (34 if spec.title else 14)) / box.height,
            )
        )
    height = max((text.get_window_extent().height for text in texts), default=0) + 1.5
    at = [float(axes.transData.transform((_positions(spec)[0], name[0]))[1]) for name in names]
    for text, wanted, got in zip(texts, at, apart(at, height, axes.bbox.y0, axes.bbox.y1), strict=True):
        text.set_position((6, got - wanted))
