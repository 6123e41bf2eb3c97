"""Where the texts of a plot stand: legend and title above it, remarks under it, names beside it, none over another.

Lengths are points from the lower left corner of the figure, which has 72 of them to an inch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from campaign.notes.svg import GRID, INK, MUTED, TEXT_POINTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALL_POINTS = TEXT_POINTS - 0.5
"""Size of remarks and of the names of marks."""
EDGE = 10.0
_REMARK_LINE, _LEGEND_LINE, _MARK_LINE, _TITLE_LINE = 13.0, 16.0, 13.5, 17.0
_TITLE = {"fontsize": TEXT_POINTS + 1.5, "fontweight": "bold"}


@dataclass(frozen=True)
class Box:
    """A rectangle for axes."""

    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True)
class Entry:
    """A name in the legend with what it looks like in the plot."""

    label: str
    style: dict[str, Any]
    """Of a matplotlib line: colour, marker, linestyle."""
    filled: bool = False
    """An area in that colour in place of a line."""


def put(axes: "Axes", box: Box) -> None:
    """Nothing; the axes then fill the box."""
    assert axes.figure is not None, "axes stand on a figure"
    width, height = axes.figure.bbox.width, axes.figure.bbox.height
    axes.set_position(
        (box.left / width, box.bottom / height, (box.right - box.left) / width, (box.top - box.bottom) / height)
    )


def arrange(
    figure: "Figure",
    axes: Sequence["Axes"],
    place: Callable[[Box], None],
    plot_height: float,
    *,
    title: str = "",
    entries: Sequence[Entry] = (),
    remarks: Sequence[str] = (),
    right: float = 0.0,
    above: float = 0.0,
) -> None:
    """Nothing; the figure is then as high as its texts need and all stand apart.

    `place` puts the axes into the box that is left for them; `right` and `above` are room for names beside and over it.
    """
    width = figure.bbox.width
    lines = [line for remark in remarks for line in wrapped(figure, remark, width - 2 * EDGE)]
    rows = _flowed(figure, entries, width - 2 * EDGE)
    titles = wrapped(figure, title, width - 2 * EDGE, **_TITLE)
    over = above + 8 + (_LEGEND_LINE * len(rows) + 2) * bool(rows) + (_TITLE_LINE * len(titles) + 7) * bool(titles)
    under_lines = EDGE - 2 + _REMARK_LINE * len(lines) + (3 if lines else 0)
    # The room for the texts changes the plot, and the plot the texts of its axes: twice is enough.
    for _ in range(2):
        left, under = outside(axes)
        bottom = under_lines + under
        top = bottom + plot_height
        height = top + over
        figure.set_size_inches(width / 72, height / 72)
        place(Box(left + EDGE, bottom, width - right - EDGE - 4, top))
    for below, line in zip(reversed(range(len(lines))), lines, strict=True):
        _write(figure, EDGE, EDGE - 4 + _REMARK_LINE * below, line, fontsize=SMALL_POINTS, color=MUTED)
    y = height - 7 * bool(titles)
    for line in titles:
        y -= _TITLE_LINE
        _write(figure, EDGE, y + 4, line, **_TITLE)
    for row in rows:
        y -= _LEGEND_LINE
        for x, entry in row:
            _draw_entry(figure, x, y + 4, entry)


def outside(axes: Sequence["Axes"]) -> tuple[float, float]:
    """Widths that the texts of the axes need left of the plot and under it."""
    left = under = 0.0
    for one in axes:
        y_text, x_text = one.yaxis.get_tightbbox(), one.xaxis.get_tightbbox()
        left = max(left, one.bbox.x0 - y_text.x0) if y_text is not None else left
        under = max(under, one.bbox.y0 - x_text.y0) if x_text is not None else under
    return left, under


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
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


def text_width(figure: "Figure", text: str, **style: Any) -> float:
    """How wide `text` is; small where `style` says nothing else."""
    probe = figure.text(0, 0, text, **{"fontsize": SMALL_POINTS} | style)
    width = float(probe.get_window_extent().width)
    probe.remove()
    return width


def wrapped(figure: "Figure", text: str, width: float, **style: Any) -> list[str]:
    """`text` in lines that are no wider than `width`, broken between words."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(figure, longer, **style) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def label_axes(axes: "Axes", height: float, y_label: str, x_label: str = "") -> None:
    """Nothing; the axes then have their labels, in several lines where one is longer than the axis."""
    figure = _figure(axes)
    axes.set_ylabel("\n".join(wrapped(figure, y_label, height, fontsize=TEXT_POINTS)), labelpad=6)
    if x_label:
        wide = 0.7 * figure.bbox.width
        axes.set_xlabel("\n".join(wrapped(figure, x_label, wide, fontsize=TEXT_POINTS)), labelpad=6)


def names_beside(axes: "Axes", names: Sequence[tuple[float, str, str]]) -> float:
    """The room that `names` (y, text, colour) need right of the axes; `settle_names` puts them there."""
    return max((text_width(_figure(axes), text) for _, text, _ in names), default=-6.0) + 6


def settle_names(axes: "Axes", names: Sequence[tuple[float, str, str]]) -> None:
    """Nothing; the names then stand right of the axes, each at its height or near it."""
    at = [float(axes.transData.transform((0, y))[1]) for y, _, _ in names]
    placed = apart(at, SMALL_POINTS + 3, axes.bbox.y0, axes.bbox.y1)
    for (_, text, colour), y in zip(names, placed, strict=True):
        _write(_figure(axes), axes.bbox.x1 + 6, y, text, fontsize=SMALL_POINTS, color=colour, va="center")


def marks_above(axes: "Axes", marks: Sequence[tuple[float, str, str]]) -> tuple[float, Callable[[], None]]:
    """The room that the names of `marks` (x, text, colour) need above the axes, and what writes them there.

    Names that would meet stand in several lines. Call with the axes' width as it will be.
    """
    figure = _figure(axes)
    lines: list[list[tuple[float, float, str, str]]] = []
    for x, text, colour in sorted(marks):
        wide = text_width(figure, text)
        at = float(axes.transData.transform((x, 0))[0])
        start = min(max(at - wide / 2, axes.bbox.x0), axes.bbox.x1 - wide)
        line = next((line for line in lines if line[-1][0] + line[-1][1] + 8 <= start), None)
        if line is None:
            lines.append(line := [])
        line.append((start, wide, text, colour))

    def write() -> None:
        for number, line in enumerate(lines):
            for start, _, text, colour in line:
                y = axes.bbox.y1 + 4 + _MARK_LINE * number
                _write(figure, start, y, text, fontsize=SMALL_POINTS, color=colour)

    return _MARK_LINE * len(lines), write


def plain(axes: "Axes") -> None:
    """Nothing; the axes then look like those of the line plots."""
    axes.patch.set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=3, width=0.8, labelcolor=INK)
    axes.tick_params(axis="y", which="both", length=0)


def _figure(axes: "Axes") -> "Figure":
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes stand on a figure"
    return figure


def _write(figure: "Figure", x: float, y: float, text: str, **style: Any) -> None:
    from matplotlib.transforms import IdentityTransform

    style = {"va": "baseline", "color": INK} | style
    figure.text(x, y, text, transform=IdentityTransform(), **style)


_KEY = 20.0
"""Room for what a legend's entry looks like."""


def _flowed(figure: "Figure", entries: Sequence[Entry], width: float) -> list[list[tuple[float, Entry]]]:
    """The entries with their x, in as many lines as they need; one that is longer than a line goes on in the next."""
    rows: list[list[tuple[float, Entry]]] = []
    x = 0.0
    for entry in entries:
        first, *more = wrapped(figure, entry.label, width - _KEY) or [""]
        wide = _KEY + text_width(figure, first)
        if not rows or more or x + wide > width + EDGE:
            rows.append([])
            x = EDGE
        rows[-1].append((x, replace(entry, label=first)))
        x += wide + 14
        for line in more:
            rows.append([(EDGE, Entry(line, {}))])
            x = EDGE + width
    return rows


def _draw_entry(figure: "Figure", x: float, y: float, entry: Entry) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle
    from matplotlib.transforms import IdentityTransform

    at = IdentityTransform()
    if not entry.style:
        pass  # the rest of a long name
    elif entry.filled:
        figure.add_artist(Rectangle((x, y - 1), 15, 9, transform=at, linewidth=0, **entry.style))
    else:
        xs = [x, x + 15] if entry.style.get("linestyle", "none") != "none" else [x + 7.5]
        figure.add_artist(Line2D(xs, [y + 3.3] * len(xs), transform=at, **{"linestyle": "none"} | entry.style))
    _write(figure, x + _KEY, y, entry.label, fontsize=SMALL_POINTS)
