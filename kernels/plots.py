"""The plots of what a bench measured: microseconds over the length of a row."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import exp, log
from pathlib import Path
from typing import Any

import pandas as pd

STYLES = {
    "auto": {"color": "#0b4f9e", "linewidth": 2.8, "marker": "o", "zorder": 5},
    "rs8": {"color": "#3f8fd6", "linewidth": 1.5, "marker": "o", "zorder": 4},
    "served_topk": {"color": "#62a6e0", "linewidth": 1.5, "marker": "o", "zorder": 4},
    "cooperative_topk": {"color": "#c2410c", "linewidth": 1.5, "marker": "s", "zorder": 3},
    "persistent_topk": {"color": "#b08968", "linewidth": 1.2, "marker": "s", "zorder": 2},
    "top_k_per_row_decode": {"color": "#5f5f5f", "linewidth": 1.2, "marker": "^", "zorder": 2},
    "torch.topk": {"color": "#9c9c9c", "linewidth": 1.2, "marker": "v", "zorder": 1},
}
"""Ours in blues, `auto` above all; the peers in other colours, each with a mark of its own."""

TICKS_US = (4, 8, 16, 32, 64, 128, 256)


def headline(timings: pd.DataFrame, path: Path, *, k: int = 512, rows: int = 6) -> None:
    """Draws all kernels at one k and number of rows. timings: normal data, all columns candidates."""
    with _figure(path, 1, 1, (8.4, 4.8)) as (_, grid):
        axes = grid[0][0]
        cells = _chosen(timings, k, rows)
        _lines(axes, cells)
        _scales(axes, sorted(timings["columns"].unique()), _most_us(cells.hot_us))
        axes.set_ylabel("µs a call, scores in the L2 cache")
        axes.set_xlabel("columns of a row")
        axes.set_title(f"k {k:,}, {_rows(rows)}, normal data", loc="left", fontsize=11)


def by_rows(timings: pd.DataFrame, path: Path, *, k: int = 512, rows: Sequence[int] = (1, 8, 32, 64)) -> None:
    """Draws small multiples, one for each number of rows, on one scale. timings: as for `headline`."""
    most_us = _most_us(timings[(timings.k == k) & timings["rows"].isin(rows)].hot_us)
    with _figure(path, 2, 2, (10.5, 8)) as (figure, grid):
        for axes, count in zip(grid.flat, rows, strict=True):
            _lines(axes, _chosen(timings, k, count))
            _scales(axes, sorted(timings["columns"].unique()), most_us, short=True)
            axes.set_title(_rows(count), loc="left", fontsize=11)
        figure.supxlabel("columns of a row, in units of 1,024", fontsize=10)
        figure.supylabel("µs a call, scores in the L2 cache", fontsize=10)
        figure.suptitle(f"k {k:,}, normal data", fontsize=12)


def models(lines: pd.DataFrame, path: Path, *, title: str) -> None:
    """Draws measured times beside those predicted, corrected and refitted, a panel for each kernel.

    lines: as `model.against_prediction` returns them.
    """
    names = {"served_topk": "one block: served_topk", "rs8": "eight blocks: rs8", "auto": "sixteen blocks: auto"}
    present = [kernel for kernel in names if (lines.kernel == kernel).any()]
    with _figure(path, 1, len(present), (3.9 * len(present), 4.2)) as (figure, grid):
        for axes, kernel in zip(grid.flat, present, strict=True):
            of = lines[lines.kernel == kernel]
            axes.plot(of["columns"], of.predicted_us, "--", color="#8a8a8a", linewidth=1.4, label="predicted")
            axes.plot(of["columns"], of.corrected_us, ":", color="#c2410c", linewidth=1.6, label="corrected")
            axes.plot(of["columns"], of.refitted_us, "-", color="#3f8fd6", linewidth=1.6, label="refitted")
            axes.plot(of["columns"], of.measured_us, "o", color="#0b4f9e", markersize=6, label="measured")
            _scales(
                axes, sorted(lines["columns"].unique()), _most_us(lines.filter(like="_us").to_numpy().flat), short=True
            )
            axes.set_title(names[kernel], loc="left", fontsize=11)
            axes.margins(x=0.05)
        grid.flat[0].legend(frameon=False, loc="upper left")
        figure.supxlabel("columns of a row, in units of 1,024", fontsize=10)
        grid.flat[0].set_ylabel("µs a call, scores in the L2 cache")
        figure.suptitle(title, fontsize=12)


def _chosen(timings: pd.DataFrame, k: int, rows: int) -> pd.DataFrame:
    """The cells of one k and number of rows, by length."""
    return timings[(timings.k == k) & (timings["rows"] == rows)].sort_values("columns")


def _most_us(times: Iterable[float]) -> float:
    """The longest of the times that there are."""
    return max((time for time in times if time == time), default=TICKS_US[-1])


def _lines(axes: Any, cells: pd.DataFrame) -> None:
    """A line for each kernel, its name at its right end."""
    ends: dict[str, tuple[float, float]] = {}
    for kernel, style in STYLES.items():
        of = cells[(cells.kernel == kernel) & cells.hot_us.notna()]
        if len(of):
            axes.plot(of["columns"], of.hot_us, markersize=4.5, **style)
            ends[kernel] = float(of["columns"].iloc[-1]), float(of.hot_us.iloc[-1])
    _name_ends(axes, ends)


def _name_ends(axes: Any, ends: Mapping[str, tuple[float, float]]) -> None:
    """The kernels' names right of their last points, in their colours, moved apart where they would touch."""
    places = apart([log(at) for _, at in ends.values()], gap=0.155 * _of_height(axes))
    for (kernel, (x, y)), place in zip(ends.items(), places, strict=True):
        axes.annotate(
            kernel,
            (x, y),
            xytext=(x * 1.13, exp(place)),
            color=STYLES[kernel]["color"],
            fontsize=9,
            fontweight="bold" if kernel == "auto" else "normal",
            verticalalignment="center",
            annotation_clip=False,
        )


def _of_height(axes: Any) -> float:
    """How much more one line of text takes of these axes than of tall ones."""
    return 1.6 if axes.get_subplotspec().get_gridspec().nrows > 1 else 1.35


def apart(values: Sequence[float], *, gap: float) -> list[float]:
    """Places near the values, in their order, of which no two are closer than `gap`."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    groups: list[list[int]] = []

    def centre(group: list[int]) -> float:
        return sum(values[at] for at in group) / len(group)

    for at in order:
        groups.append([at])
        while (
            len(groups) > 1
            and centre(groups[-1]) - centre(groups[-2]) < gap * (len(groups[-1]) + len(groups[-2])) / 2 - 1e-12
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    places = [0.0] * len(values)
    for group in groups:
        for i, at in enumerate(group):
            places[at] = centre(group) + (i - (len(group) - 1) / 2) * gap
    return places


def _scales(axes: Any, lengths: Sequence[int], most_us: float, *, short: bool = False) -> None:
    """Logarithmic axes with plain numbers, up to `most_us`; short: lengths in units of 1,024."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(lengths, [f"{length // 1024}" if short else f"{length:,}" for length in lengths])
    axes.set_yticks(TICKS_US, [str(tick) for tick in TICKS_US])
    axes.set_ylim(3, most_us * 1.15)
    axes.minorticks_off()
    axes.grid(color="#e3e3e3", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)


def _rows(count: int) -> str:
    """A number of rows in words."""
    return f"{count} row{'s' if count > 1 else ''}"


@contextmanager
def _figure(path: Path, high: int, wide: int, inches: tuple[float, float]) -> Iterator[tuple[Any, Any]]:
    """A figure and its grid of axes, written to `path` as SVG, the same bytes every time."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with matplotlib.rc_context({"svg.hashsalt": "campaign", "font.size": 10}):
        figure, grid = pyplot.subplots(
            high, wide, figsize=inches, layout="constrained", squeeze=False, sharey=True, sharex=True
        )
        yield figure, grid
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
