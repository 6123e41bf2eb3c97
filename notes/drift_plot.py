"""The control chart of baseline rows in the order of time: the rows, and their moving average."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from campaign.notes.layout import Box, Entry, arrange, label_axes, marks_above, names_beside, plain, put, settle_names
from campaign.notes.rows_plot import DOTS
from campaign.notes.svg import INK, MUTED, STYLES, Drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROWS_POINTS, _AVERAGE_POINTS, _BETWEEN = 140.0, 92.0, 14.0
_LIMIT = "#a1272d"


@dataclass(frozen=True)
class Panel:
    """The points of one chart with its limits."""

    y_label: str
    points: tuple[float | None, ...]
    """One for each row, None where it has no value."""
    lo: tuple[float, ...]
    """Empty without limits."""
    hi: tuple[float, ...]
    shifts: tuple[int, ...]
    """Places, from 0, of the points beyond the limits."""
    names: tuple[tuple[float, str], ...]
    """Heights that are named beside the chart."""


@dataclass(frozen=True)
class DriftPlot(Drawn):
    """What a drift chart shows."""

    kind: ClassVar[str] = "drift chart"
    arms: tuple[tuple[str, int], ...]
    """Label of each arm, and which of the colours and markers it has."""
    of: tuple[int, ...]
    """For each row the place of its arm in `arms`."""
    rows: tuple[str, ...]
    """The name of each row."""
    days: tuple[tuple[int, str], ...]
    """The place of the first row of each day, and the day."""
    center: float | None
    panels: tuple[Panel, ...]
    """The rows; then the averages, where there are limits."""

    def draw(self, figure: "Figure") -> None:
        """Nothing; the figure then shows the chart."""
        from matplotlib.ticker import MaxNLocator

        grid = [figure.add_subplot(len(self.panels), 1, number + 1) for number in range(len(self.panels))]
        figure.patch.set_visible(False)
        heights = [_ROWS_POINTS, _AVERAGE_POINTS][: len(grid)]
        for axes, panel, high in zip(grid, self.panels, heights, strict=True):
            self._draw_panel(axes, panel, single_rows=panel is self.panels[0])
            axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
            label_axes(axes, high, panel.y_label)
            axes.set_xlim(0.4, len(self.rows) + 0.6)
            axes.xaxis.set_major_locator(MaxNLocator(9, integer=True, steps=[1, 2, 5, 10]))
            axes.tick_params(labelbottom=axes is grid[-1])
        grid[-1].set_xlabel("baseline rows in the order of start", labelpad=5)
        beside = [[(y, text, MUTED) for y, text in panel.names] for panel in self.panels]
        room = max(names_beside(axes, names) for axes, names in zip(grid, beside, strict=True))
        height = sum(heights) + _BETWEEN * (len(grid) - 1)

        def place(box: Box) -> None:
            top = box.top
            for axes, high in zip(grid, heights, strict=True):
                put(axes, Box(box.left, top - high, box.right, top))
                top -= high + _BETWEEN

        arrange(figure, grid, place, height, right=room)
        over, write = marks_above(grid[0], [(place + 1, day, INK) for place, day in self.days])
        arrange(
            figure,
            grid,
            place,
            height,
            title=self.title,
            entries=self._entries(),
            remarks=self.remarks,
            right=room,
            above=over,
        )
        write()
        for axes, names in zip(grid, beside, strict=True):
            settle_names(axes, names)

    def _entries(self) -> list[Entry]:
        entries = [
            Entry(label, {"color": STYLES[style][0], "marker": STYLES[style][1], **DOTS})
            for number, (label, style) in enumerate(self.arms)
            if number in self.of
        ]
        if any(panel.shifts for panel in self.panels):
            entries.append(Entry("beyond its limits", _RING))
        if any(panel.lo for panel in self.panels):
            entries.append(Entry("limits", _LIMIT_LINE))
        return entries

    def _draw_panel(self, axes: "Axes", panel: Panel, *, single_rows: bool) -> None:
        plain(axes)
        places = range(1, len(panel.points) + 1)
        if self.center is not None:
            axes.axhline(self.center, color=MUTED, linewidth=1.1, zorder=2)
        for start, _ in self.days[1:]:
            axes.axvline(start + 0.5, color=MUTED, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
        for limit in (panel.lo, panel.hi):
            if limit:
                edges = [place - 0.5 for place in places] + [len(limit) + 0.5]
                axes.step(edges, [*limit, limit[-1]], where="post", zorder=2, **_LIMIT_LINE)
        there = [(place, y) for place, y in zip(places, panel.points, strict=True) if y is not None]
        axes.plot([x for x, _ in there], [y for _, y in there], color="#9a9ca2", linewidth=1.0, zorder=3)
        if single_rows:
            for number, (_, style) in enumerate(self.arms):
                mine = [(x, y) for x, y in there if self.of[x - 1] == number]
                colour, marker = STYLES[style]
                axes.plot(
                    [x for x, _ in mine],
                    [y for _, y in mine],
                    color=colour,
                    marker=marker,
                    linestyle="none",
                    zorder=4,
                    **DOTS,
                )
        else:
            axes.plot([x for x, _ in there], [y for _, y in there], color=INK, marker=".", linestyle="none", zorder=4)
        for shift in panel.shifts:
            y = panel.points[shift]
            assert y is not None, "a point beyond limits has a value"
            axes.plot(shift + 1, y, zorder=5, **_RING)
        axes.margins(y=0.1)


_LIMIT_LINE: dict[str, Any] = {"color": _LIMIT, "linewidth": 1.3, "linestyle": (0, (5, 3))}
_RING: dict[str, Any] = {
    "color": _LIMIT,
    "marker": "o",
    "linestyle": "none",
    "markersize": 11.0,
    "markerfacecolor": "none",
    "markeredgecolor": _LIMIT,
    "markeredgewidth": 1.6,
}


def day_starts(starts: Sequence[float], name: Any) -> tuple[tuple[int, str], ...]:
    """The place of the first row of each day in UTC, with the day as `name` writes it."""
    found: list[tuple[int, str]] = []
    for place, start in enumerate(starts):
        day = name(start)
        if not found or found[-1][1] != day:
            found.append((place, day))
    return tuple(found)
