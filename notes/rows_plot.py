"""The plot of rows in time, with the band of a yardstick."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from campaign.notes.dates import MONTHS
from campaign.notes.layout import Box, Entry, arrange, label_axes, plain, put
from campaign.notes.svg import MUTED, STYLES, Drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP_SECONDS = 6 * 3600.0
"""Rows that start further apart stand in panels of their own."""
MOST_PANELS = 4
"""Above this many the rows stand in one panel, gaps and all."""
BAND_COLOUR = "#8a8c92"
DOTS: dict[str, Any] = {"markersize": 6.0, "markeredgecolor": "white", "markeredgewidth": 0.7}
_PLOT_POINTS = 178.0
_BETWEEN = 12.0
_STEPS = (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080, 20160, 43200)
"""Minutes from one label of the time axis to the next."""
_DAY = 86400.0


@dataclass(frozen=True)
class ArmRows:
    """The rows of one arm."""

    label: str
    style: int
    """Which of the colours and markers it has."""
    starts: tuple[float, ...]
    """Seconds since 1970, UTC."""
    values: tuple[float, ...]


@dataclass(frozen=True)
class RowsPlot(Drawn):
    """What a plot of rows shows."""

    kind: ClassVar[str] = "rows"
    y_label: str
    """With the unit."""
    arms: tuple[ArmRows, ...]
    voids: tuple[float, ...]
    """Starts of void rows."""
    band: tuple[float, float, float] | None
    """Lower end, middle and upper end."""

    def draw(self, figure: "Figure") -> None:
        """Nothing; the figure then shows the rows."""
        panels = _panels(sorted([*self.voids, *(start for arm in self.arms for start in arm.starts)]))
        grid = [figure.add_subplot(1, len(panels), number + 1) for number in range(len(panels))]
        figure.patch.set_visible(False)
        for axes in grid:
            self._draw_panel(axes)
        low, high = _limits([value for arm in self.arms for value in arm.values] + list(self.band or ()))
        for axes, (first, last) in zip(grid, panels, strict=True):
            room = max((last - first) * 0.06, 480.0)
            axes.set_xlim(first - room, last + room)
            axes.set_ylim(low - (0.08 * (high - low) if self.voids else 0.0), high)
            axes.set_xlabel(_days(first, last), labelpad=5)
            if axes is not grid[0]:
                axes.tick_params(labelleft=False)
        label_axes(grid[0], _PLOT_POINTS, self.y_label)
        shares = [max(last - first, 0.4 * (panels[-1][1] - panels[0][0]) / len(panels), 1.0) for first, last in panels]
        shares = _at_least([share / sum(shares) for share in shares], 0.62 / len(panels))

        def place(box: Box) -> None:
            wide = box.right - box.left - _BETWEEN * (len(panels) - 1)
            left = box.left
            for axes, share, (first, last) in zip(grid, shares, panels, strict=True):
                put(axes, Box(left, box.bottom, left + wide * share, box.top))
                _time_ticks(axes, first, last, wide * share)
                left += wide * share + _BETWEEN

        entries = [
            Entry(arm.label, {"color": STYLES[arm.style][0], "marker": STYLES[arm.style][1], **DOTS})
            for arm in self.arms
        ]
        if self.voids:
            entries.append(Entry("void row", _VOID))
        arrange(figure, grid, place, _PLOT_POINTS, title=self.title, entries=entries, remarks=self.remarks, right=2)

    def _draw_panel(self, axes: "Axes") -> None:
        plain(axes)
        if self.band:
            low, middle, high = self.band
            axes.axhspan(low, high, color=BAND_COLOUR, alpha=0.2, linewidth=0, zorder=1)
            axes.axhline(middle, color=MUTED, linewidth=1.1, linestyle=(0, (4, 3)), zorder=2)
        for arm in self.arms:
            colour, marker = STYLES[arm.style]
            axes.plot(arm.starts, arm.values, color=colour, marker=marker, linestyle="none", zorder=3, **DOTS)
        if self.voids:
            axes.plot(self.voids, [0.05] * len(self.voids), transform=axes.get_xaxis_transform(), zorder=3, **_VOID)


_VOID: dict[str, Any] = {
    "color": MUTED,
    "marker": "x",
    "linestyle": "none",
    "markersize": 6.0,
    "markeredgewidth": 1.6,
}


def _panels(starts: Sequence[float]) -> list[tuple[float, float]]:
    """First and last start of each panel."""
    if not starts:
        return [(0.0, 0.0)]
    panels = [[starts[0], starts[0]]]
    for start in starts[1:]:
        if start - panels[-1][1] > GAP_SECONDS:
            panels.append([start, start])
        panels[-1][1] = start
    if len(panels) > MOST_PANELS:
        return [(starts[0], starts[-1])]
    return [(first, last) for first, last in panels]


def _at_least(shares: Sequence[float], least: float) -> list[float]:
    """Shares that sum to 1, none below `least`."""
    small = [share < least for share in shares]
    rest = 1 - least * sum(small)
    over = sum(share for share, is_small in zip(shares, small, strict=True) if not is_small)
    return [least if is_small else share * rest / over for share, is_small in zip(shares, small, strict=True)]


def _limits(values: Sequence[float]) -> tuple[float, float]:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = 0.09 * (high - low) or max(abs(high) * 0.01, 1e-9)
    return low - room, high + room


def _time_ticks(axes: "Axes", first: float, last: float, wide: float) -> None:
    """Labels of the time axis as close as they can be read: clock times, or days where it is long."""
    from matplotlib.ticker import FixedLocator

    low, high = axes.get_xlim()
    by_day = last - first > 1.5 * _DAY
    most = max(1, int(wide // 44))
    ticks: list[float] = []
    for minutes in _STEPS:
        if by_day and minutes < 1440:
            continue
        step = minutes * 60.0
        ticks = [n * step for n in range(int(-(-low // step)), int(high // step) + 1)]
        if len(ticks) <= most:
            break
    # an axis that holds none of the round times names its first row
    ticks = ticks or [first]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.set_xticklabels([_day(tick) if by_day else f"{_utc(tick):%H:%M}" for tick in ticks])


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _day(seconds: float) -> str:
    """`5 Nov`."""
    moment = _utc(seconds)
    return f"{moment.day} {MONTHS[moment.month - 1][:3]}"


def _days(first: float, last: float) -> str:
    """`5 Nov 2026, UTC`, or both days where they differ."""
    one, other = (f"{_day(moment)} {_utc(moment).year}" for moment in (first, last))
    return f"{one}, UTC" if one == other else f"{one} to {other}, UTC"
