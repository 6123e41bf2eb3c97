"""The plot of a saving over the slope along which rows are matched, with the bars of the verdict."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from campaign.notes.layout import Entry, arrange, label_axes, marks_above, names_beside, plain, put, settle_names
from campaign.notes.rows_plot import DOTS
from campaign.notes.svg import INK, MUTED, STYLES, Drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PLOT_POINTS = 188.0


@dataclass(frozen=True)
class SlopeMark:
    """A slope that is marked."""

    at: float
    label: str
    value: float | None = None
    """The saving that the text quotes there; None where it has none."""
    lo: float | None = None
    hi: float | None = None


@dataclass(frozen=True)
class SlopePlot(Drawn):
    """What a plot of a saving over the slope shows."""

    kind: ClassVar[str] = "slope"
    x_label: str
    """With the unit."""
    y_label: str
    """With the unit."""
    slopes: tuple[float, ...]
    values: tuple[float, ...]
    """Empty where the saving is not resolved."""
    lo: tuple[float, ...]
    hi: tuple[float, ...]
    interval: str
    """What the area and the ends of the marks are."""
    marks: tuple[SlopeMark, ...]
    """The plan's slopes."""
    bars: tuple[tuple[float, str], ...]
    """Each bar and what it is; the first is the one that a flip is about."""
    flips: tuple[SlopeMark, ...]

    def draw(self, figure: "Figure") -> None:
        """Nothing; the figure then shows the curve."""
        from matplotlib.ticker import MaxNLocator

        axes = figure.add_subplot()
        figure.patch.set_visible(False)
        plain(axes)
        colour, marker = STYLES[0]
        if self.values:
            axes.fill_between(self.slopes, self.lo, self.hi, color=colour, alpha=0.16, linewidth=0, zorder=1)
            axes.plot(self.slopes, self.values, color=colour, linewidth=1.7, zorder=3)
        for y, _ in self.bars:
            axes.axhline(y, color=_BAR, linewidth=1.3, linestyle=(0, (5, 3)), zorder=2)
        axes.axvline(0, color=MUTED, linewidth=0.8, zorder=1)
        resolved = False
        for mark in self.marks:
            axes.axvline(mark.at, color=MUTED, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
            if mark.value is None:
                continue
            resolved = True
            if mark.lo is not None and mark.hi is not None:
                ends = [[mark.value - mark.lo], [mark.hi - mark.value]]
                axes.errorbar(
                    mark.at, mark.value, yerr=ends, fmt="none", ecolor=colour, elinewidth=1.3, capsize=3, zorder=4
                )
            axes.plot(mark.at, mark.value, color=colour, marker=marker, zorder=5, **DOTS)
        for flip in self.flips:
            axes.axvline(flip.at, color=_BAR, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
            axes.plot(flip.at, self.bars[0][0], zorder=5, **_FLIP)
        axes.set_xlim(self.slopes[0], self.slopes[-1])
        if not (self.values or resolved):
            _bars_only(axes, [y for y, _ in self.bars])
        axes.margins(y=0.08)
        axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
        label_axes(axes, _PLOT_POINTS, self.y_label, self.x_label)
        beside = [(y, label, _BAR) for y, label in self.bars]
        above = [(mark.at, mark.label, INK) for mark in self.marks]
        above += [(flip.at, flip.label, _BAR) for flip in self.flips]
        entries = []
        if self.values:
            entries.append(Entry("saving", {"color": colour, "linestyle": "-", "linewidth": 1.7}))
            entries.append(Entry(self.interval, {"color": colour, "alpha": 0.16}, filled=True))
        if resolved:
            entries.append(Entry("at a slope of the plan", {"color": colour, "marker": marker, **DOTS}))
        if self.flips:
            entries.append(Entry("lower end at the bar", _FLIP))
        room = names_beside(axes, beside)
        # the names above need the width that the axes will have: arranged once without them, once with them
        arrange(figure, [axes], lambda box: put(axes, box), _PLOT_POINTS, right=room)
        over, write = marks_above(axes, above)
        arrange(
            figure,
            [axes],
            lambda box: put(axes, box),
            _PLOT_POINTS,
            title=self.title,
            entries=entries,
            remarks=self.remarks,
            right=room,
            above=over,
        )
        write()
        settle_names(axes, beside)


_BAR = "#a1272d"
_FLIP = {
    "color": _BAR,
    "marker": "D",
    "linestyle": "none",
    "markersize": 6.0,
    "markerfacecolor": "white",
    "markeredgecolor": _BAR,
    "markeredgewidth": 1.5,
}


def _bars_only(axes: "Axes", bars: list[float]) -> None:
    """Nothing; axes without a curve then show the bars with some room."""
    low, high = min([0.0, *bars]), max([0.0, *bars])
    room = (high - low) or 1.0
    axes.set_ylim(low - room, high + room)
