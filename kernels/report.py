"""What a bench measured, as a page: tables of times beside the quickest peer, by class of data, and a plot."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

OWN = ("served_topk", "rs8", "auto")
CELL = ["k", "columns", "rows"]


def page(timings: pd.DataFrame, environment: dict[str, Any], check: dict[str, Any], plot: str) -> str:
    """The page in Markdown. plot: the address of the picture."""
    normal = timings[timings.input_class == "normal"]
    parts = [
        "# Measured: top-k kernels on an H200",
        "Made by `python -P -m campaign.kernels report`; the figures are those of `data/bench.csv` and "
        "`data/certificate.json`, nothing here is typed by hand.",
        _environment(environment, check),
        f"![Microseconds a call over the length of a row, k 512, one row, for each kernel]({plot})",
    ]
    for k in sorted(normal.k.unique()):
        parts += [f"## k {k:,}: microseconds a call, normal data", _times(normal[normal.k == k])]
    parts += [_classes(timings), _wrong(timings)]
    return "\n\n".join(parts) + "\n"


def _environment(environment: dict[str, Any], check: dict[str, Any]) -> str:
    """On what, when, with which versions; and what was checked before."""
    rows = sum(kernel["rows"] for kernel in check["kernels"].values())
    calls = sum(kernel["calls"] for kernel in check["kernels"].values())
    wrong = sum(kernel["wrong_rows"] for kernel in check["kernels"].values())
    return (
        f"One {environment['gpu']} ({environment['multiprocessors']} multiprocessors), CUDA {environment['cuda']}, "
        f"torch {environment['torch']}, {environment['when']}, one run; sources {environment['sources']}. Each time is "
        "the median of nine replays of a CUDA graph with forty calls that go round up to four sets of random scores "
        "(hot); a second run goes round many buffers after a flush (cold, in the CSV alone). Beside it, "
        "compiled as it is: vLLM 0.26.0's `cooperative_topk` (up to 32 rows), `persistent_topk` and "
        "`top_k_per_row_decode`, and `torch.topk`.\n\n"
        f"Checked first: {calls:,} calls, {rows:,} rows against the oracle, {wrong} wrong (seed {check['seed']}, "
        f"{check['when']}, sources {check['sources']}). Nothing here has run on SM120."
    )


def _times(normal: pd.DataFrame) -> str:
    """Hot times of auto by length and number of rows, with the quickest peer's and the ratio."""
    best = quickest(normal)
    auto = normal[normal.kernel == "auto"].set_index(["columns", "rows"])
    columns, rows = sorted(normal["columns"].unique()), sorted(normal["rows"].unique())
    lines = [
        "| length | " + " | ".join(f"{count} row{'s' if count > 1 else ''}" for count in rows) + " |",
        "|---:|" + "---|" * len(rows),
    ]
    for length in columns:
        cells = []
        for count in rows:
            own, peer = auto.loc[(length, count)], best.loc[(length, count)]
            mark = "" if own.hot_us <= peer.hot_us else " **lost**"
            cells.append(
                f"{own.hot_us:.2f} : {peer.hot_us:.2f} {SHORT[peer.kernel]} = {own.hot_us / peer.hot_us:.2f}{mark}"
            )
        lines.append(f"| {length:,} | " + " | ".join(cells) + " |")
    return (
        "`auto` : the quickest peer = their ratio; c is cooperative_topk, p persistent_topk, r top_k_per_row_decode."
        "\n\n" + "\n".join(lines)
    )


SHORT = {"cooperative_topk": "c", "persistent_topk": "p", "top_k_per_row_decode": "r", "torch.topk": "t"}


def quickest(normal: pd.DataFrame) -> pd.DataFrame:
    """The quickest peer of each cell, by columns and rows."""
    peers = normal[~normal.kernel.isin(OWN)].sort_values("hot_us")
    return peers.groupby(["columns", "rows"]).first()


def _classes(timings: pd.DataFrame) -> str:
    """How much longer other data take than normal data, four rows."""
    four = timings[(timings.rows == 4) & timings.kernel.isin(OWN)]
    times = four.pivot_table(index=["kernel", "k", "columns"], columns="input_class", values="hot_us")
    ratios = times.div(times["normal"], axis=0).drop(columns="normal")
    lines = [
        "## Other data",
        "Time over that of normal data, four rows, hot; twice is the bar.",
        "| kernel | k | length | " + " | ".join(ratios.columns) + " |",
        "|---|---:|---:|" + "---:|" * len(ratios.columns),
    ]
    for (kernel, k, length), row in ratios.iterrows():
        cells = [f"{value:.2f}" if value <= 2 else f"**{value:.2f}**" for value in row]
        lines.append(f"| {kernel} | {k:,} | {length:,} | " + " | ".join(cells) + " |")
    return "\n\n".join(lines[:2]) + "\n\n" + "\n".join(lines[2:])


def _wrong(timings: pd.DataFrame) -> str:
    """Wrong entries by kernel and class, summed over the cells."""
    table = timings.pivot_table(index="kernel", columns="input_class", values="wrong_entries", aggfunc="sum")
    asked = timings.assign(entries=timings.k * timings.rows).groupby("kernel").entries.sum()
    lines = [
        "## Wrong entries",
        "Entries of all cells that are no best of their row. For peers any choice among ties is right; ours has one.",
        "| kernel | entries | " + " | ".join(table.columns) + " |",
        "|---|---:|" + "---:|" * len(table.columns),
    ]
    for kernel, row in table.iterrows():
        lines.append(f"| {kernel} | {asked[kernel]:,} | " + " | ".join(f"{int(value):,}" for value in row) + " |")
    return "\n\n".join(lines[:2]) + "\n\n" + "\n".join(lines[2:])


def draw(timings: pd.DataFrame, path: Path) -> None:
    """The plot: microseconds over length, k 512, one row."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "campaign"
    from matplotlib import pyplot

    one = timings[(timings.input_class == "normal") & (timings.k == 512) & (timings.rows == 1)]
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for kernel, cells in one.groupby("kernel"):
        own = kernel in OWN
        axes.plot(cells["columns"], cells.hot_us, "o-" if own else "s--", label=kernel, linewidth=2 if own else 1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    lengths = sorted(one["columns"].unique())
    axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
    axes.set_yticks([4, 8, 16, 32, 64, 128], ["4", "8", "16", "32", "64", "128"])
    axes.minorticks_off()
    axes.set_xlabel("length of the row")
    axes.set_ylabel("µs a call, hot")
    axes.set_title("k 512, one row, normal data")
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def write(data: Path, out: Path) -> None:
    """Writes the page and the plot of the records in `data`."""
    timings = pd.read_csv(data / "bench.csv")
    environment = json.loads((data / "bench.json").read_text())
    check = json.loads((data / "certificate.json").read_text())
    draw(timings, out.with_suffix(".svg"))
    out.write_text(page(timings, environment, check, out.with_suffix(".svg").name))
