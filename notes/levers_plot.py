"""The plot of levers: what each saves, with its interval, against the bar that it had to reach."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from campaign.notes.layout import SMALL_POINTS, Box, Entry, arrange, put, text_width, wrapped
from campaign.notes.svg import GRID, INK, MUTED, STYLES, Drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW_POINTS = 34.0
_NAMES_SHARE = 0.36
"""Most of the width that the levers' names take."""
_COLOUR, _MARKER = STYLES[0]


@dataclass(frozen=True)
class LeverRow:
    """One lever."""

    label: str
    value: float | None
    lo: float | None
    hi: float | None
    bar: float
    outcome: str
    """kept, parked, or not resolved."""
    said: str
    """The saving as the text prints it; empty where it has none."""


@dataclass(frozen=True)
class LeversPlot(Drawn):
    """What a plot of levers shows."""

    kind: ClassVar[str] = "levers"
    x_label: str
    """With the unit."""
    interval: str
    """What the lines are."""
    levers: tuple[LeverRow, ...]
    """From the top."""

    def draw(self, figure: "Figure") -> None:
        """Nothing; the figure then shows the levers."""
        from matplotlib.ticker import MaxNLocator

        axes = figure.add_subplot()
        figure.patch.set_visible(False)
        axes.patch.set_visible(False)
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(length=3, width=0.8, labelcolor=INK)
        axes.tick_params(axis="y", length=0, pad=8)
        axes.axvline(0, color=MUTED, linewidth=0.9, zorder=1)
        for place, lever in enumerate(self.levers):
            _draw_lever(axes, place, lever)
        axes.set_ylim(len(self.levers) - 0.4, -0.6)
        axes.margins(x=0.06)
        names = ["\n".join(wrapped(figure, lever.label, _NAMES_SHARE * figure.bbox.width)) for lever in self.levers]
        axes.set_yticks(range(len(self.levers)), names, fontsize=SMALL_POINTS)
        axes.set_xlabel("\n".join(wrapped(figure, self.x_label, 0.6 * figure.bbox.width)), labelpad=6)
        beside = [f"{lever.said} {lever.outcome}".strip() for lever in self.levers]
        room = max(text_width(figure, text, fontweight="bold") for text in beside) + 8

        def place(box: Box) -> None:
            put(axes, box)
            most = max(2, int((box.right - box.left) // 52))
            axes.xaxis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))

        lines = max(name.count("\n") + 1 for name in names)
        arrange(
            figure,
            [axes],
            place,
            max(_ROW_POINTS, 13.0 * lines + 8) * len(self.levers) + 6,
            title=self.title,
            entries=self._entries(),
            remarks=self.remarks,
            right=room,
        )
        for place, (lever, text) in enumerate(zip(self.levers, beside, strict=True)):
            axes.annotate(
                text,
                (1, place),
                (8, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                va="center",
                fontsize=SMALL_POINTS,
                fontweight="bold" if lever.outcome == "kept" else "normal",
                color=INK if lever.value is not None else MUTED,
                annotation_clip=False,
            )

    def _entries(self) -> list[Entry]:
        outcomes = {lever.outcome for lever in self.levers}
        entries = [Entry(word, _dot(word)) for word in ("kept", "parked") if word in outcomes]
        if any(lever.lo is not None for lever in self.levers):
            entries.append(Entry(self.interval, {"color": _COLOUR, "linestyle": "-", "linewidth": 1.7}))
        return [*entries, Entry("its bar", _BAR | {"markersize": 11.0})]


_BAR: dict[str, Any] = {
    "color": "#a1272d",
    "marker": "|",
    "linestyle": "none",
    "markersize": 17.0,
    "markeredgewidth": 2.4,
}


def _dot(outcome: str) -> dict[str, Any]:
    """A filled marker for what is kept, an open one for the rest: told apart without colour."""
    return {
        "color": _COLOUR,
        "marker": _MARKER,
        "linestyle": "none",
        "markersize": 7.5,
        "markerfacecolor": _COLOUR if outcome == "kept" else "white",
        "markeredgecolor": _COLOUR,
        "markeredgewidth": 1.6,
    }


def _draw_lever(axes: "Axes", place: int, lever: LeverRow) -> None:
    axes.plot(lever.bar, place, zorder=2, **_BAR)
    if lever.value is None:
        return
    if lever.lo is not None and lever.hi is not None:
        ends = [[lever.value - lever.lo], [lever.hi - lever.value]]
        axes.errorbar(lever.value, place, xerr=ends, fmt="none", ecolor=_COLOUR, elinewidth=1.7, capsize=3.5, zorder=3)
    axes.plot(lever.value, place, zorder=4, **_dot(lever.outcome))
