"""A line plot as SVG text: the same bytes for the same points, and the points' digest inside."""

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal

from campaign.notes.errors import TemplateError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DIRECT_LABELS = 6
"""Up to this many series are named at the ends of their lines; more get a legend."""

ERROR_BARS = 12
"""Up to this many points a spread is drawn as bars, which belong to single measurements; above, as a band."""

# Each at least 4.5:1 on white, so that a series' name can be written in its colour; hues after Okabe and Ito.
# The markers differ too: no reader needs the colours.
_STYLES = (
    ("#0b66a8", "o"),
    ("#b34700", "s"),
    ("#00735a", "^"),
    ("#9c3f78", "D"),
    ("#4a4a4a", "v"),
    ("#7a5c00", "P"),
    ("#5a4fb0", "X"),
    ("#a1272d", "<"),
)
_INK, _MUTED, _GRID = "#1e1f22", "#5a5c62", "#e6e6e1"
_FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
_SIZE_INCHES = (5.8, 3.6)
_TEXT_POINTS = 10.0


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
    # A part without a plot does not pay for this.
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.hashsalt": "campaign",
        "svg.fonttype": "none",
        # Shipped with matplotlib: the layout does not depend on the fonts of a machine.
        "font.family": ["DejaVu Sans"],
        "font.size": _TEXT_POINTS,
        "axes.unicode_minus": True,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "axes.edgecolor": _MUTED,
        "xtick.color": _MUTED,
        "ytick.color": _MUTED,
        "text.parse_math": False,
    }
    with matplotlib.rc_context():
        # A user's matplotlibrc must not show in a post.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(settings)
        figure = Figure(figsize=_SIZE_INCHES, dpi=72)  # what SVG is written in: a pixel is a point
        FigureCanvasSVG(figure)
        _draw(figure, spec)
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _tidied(out.getvalue(), spec)


def points_digest(spec: LinePlot) -> str:
    """Sha256, in hex, over everything that `spec` shows: values, labels, scales, alternative text."""
    text = json.dumps(["campaign-points", 1, _canonical(astuple(spec))], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_digest(svg: str) -> str | None:
    """The digest of the points that `svg` was drawn from, or None when it names none."""
    found = re.search(r"campaign-points sha256:([0-9a-f]{64})\b", svg)
    return found[1] if found else None


def _canonical(value: Any) -> Any:
    """`value` with 1 and 1.0, 0.0 and −0.0, and other packages' floats made one."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return [_canonical(item) for item in value]
    return float(value) + 0.0


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
    if len(labels) > len(_STYLES):
        refuse(
            "",
            f"{len(labels)} series",
            f"at most {len(_STYLES)}, or a reader cannot tell them apart. Make two plots",
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
    for (colour, marker), series in zip(_STYLES, spec.series, strict=False):
        _draw_series(axes, series, colour, marker, bars=max(len(s.x) for s in spec.series) <= ERROR_BARS)
    _draw_axes(axes, spec)
    if spec.title:
        axes.set_title(spec.title, loc="left", fontsize=_TEXT_POINTS + 1.5, fontweight="bold", pad=12)
    direct = len(spec.series) <= DIRECT_LABELS
    if not direct:
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, labelcolor=_INK)
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
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=3, width=0.8, labelcolor=_INK)
    axes.tick_params(axis="y", which="both", length=0)
    axes.margins(x=0.03)
    if spec.rule is not None:
        axes.axhline(spec.rule[0], color=_MUTED, linewidth=1.1, linestyle=(0, (4, 3)), zorder=2)


def _fit(figure: "Figure", axes: "Axes", spec: LinePlot, *, direct: bool) -> None:
    """Place the names at the line ends, apart from each other, and make room for all text."""
    names: list[tuple[float, str, str, str]] = []  # y, text, colour, weight
    if direct:
        for (colour, _), series in zip(_STYLES, spec.series, strict=False):
            names.append((series.y[-1], series.label, colour, "bold"))
    if spec.rule is not None and direct:
        names.append((spec.rule[0], spec.rule[1], _MUTED, "normal"))
    elif spec.rule is not None:
        axes.annotate(
            spec.rule[1],
            (0, spec.rule[0]),
            (0, 3),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            color=_MUTED,
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
        left, under = _outside(axes)
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
    for text, wanted, got in zip(texts, at, _apart(at, height, axes.bbox.y0, axes.bbox.y1), strict=True):
        text.set_position((6, got - wanted))


def _outside(axes: "Axes") -> tuple[float, float]:
    """Widths that the text of the axes needs left of the plot and under it."""
    y_text, x_text = axes.yaxis.get_tightbbox(), axes.xaxis.get_tightbbox()
    assert y_text is not None and x_text is not None, "both axes have labels"
    return axes.bbox.x0 - y_text.x0, axes.bbox.y0 - x_text.y0


def _apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights near `wanted`, in their order, at least `gap` apart, inside [low, high] if they fit."""
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    # Groups of names that touch stand centred on where their lines end.
    groups: list[list[int]] = []

    def bottom(group: list[int]) -> float:
        middle = sum(wanted[i] for i in group) / len(group)
        half = gap * (len(group) - 1) / 2
        return min(max(middle - half, low), max(high - 2 * half, low))

    for i in order:
        groups.append([i])
        while len(groups) > 1 and bottom(groups[-1]) < bottom(groups[-2]) + gap * len(groups[-2]):
            last = groups.pop()
            groups[-1] += last
    placed = [0.0] * len(wanted)
    for group in groups:
        for n, i in enumerate(group):
            placed[i] = bottom(group) + n * gap
    return placed


def _tidied(svg: str, spec: LinePlot) -> str:
    """`svg` small, titled, on a white card, and without styles for anything outside it."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->\s*|<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    # The style sheet says this for every element; inside a page that would be the page's too.
    svg = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font: (?:(\w+) )?([\d.]+px) 'DejaVu Sans'[^;\"]*", _font, svg)
    svg = re.sub(r"font-family: 'DejaVu Sans'[^;\"]*; ", "", svg)
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    svg = svg.replace("xlink:href=", "href=").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    referred = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    svg = re.sub(r'\sid="([^"]*)"', lambda found: found[0] if found[1] in referred else "", svg)
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"-?\d+\.\d+", _rounded, tag[0]), svg)
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"\s+", " ", tag[0]).replace(' "', '"'), svg)
    svg = re.sub(r"[ \t]*\n\s*", "\n", _without_bare_groups(svg))
    opening, rest = re.fullmatch(r"(<svg[^>]*)>(.*)", svg, re.DOTALL).groups()  # type: ignore[union-attr]
    title = f"<title>{escape(spec.alt or spec.title, quote=False)}</title>\n"
    digest = f"<metadata>campaign-points sha256:{points_digest(spec)}</metadata>\n"
    # White in dark mode too: the colours are chosen for it.
    card = '<rect width="100%" height="100%" rx="4" fill="#fff"/>'
    style = f' role="img" font-family="{_FONTS}" stroke-linejoin="round" stroke-linecap="butt"'
    return f"{opening}{style}>\n{title}{digest}{card}{rest.rstrip()}\n"


def _without_bare_groups(svg: str) -> str:
    """`svg` without the `<g>` that carry no attribute."""
    bare: list[bool] = []

    def keep(tag: re.Match[str]) -> str:
        if tag[0] == "</g>":
            return "" if bare.pop() else tag[0]
        bare.append(tag[0] == "<g>")
        return "" if bare[-1] else tag[0]

    return re.sub(r"<g>|<g [^>]*>|</g>", keep, svg)


def _font(found: "re.Match[str]") -> str:
    weight = f"font-weight: {found[1]}; " if found[1] else ""
    return f"{weight}font-size: {found[2]}"


def _rounded(found: "re.Match[str]") -> str:
    # A hundredth of a point is far below what a screen shows.
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
