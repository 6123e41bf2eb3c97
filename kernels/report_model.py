"""The page's section on the latency model: the prediction, the result, the refit."""

from pathlib import Path

import pandas as pd

from campaign.kernels import model, plots
from campaign.kernels.comparisons import Records
from campaign.kernels.report_tables import ABSENT, in_rows, table, texts, us

ROWS = 6
"""The prediction is compared with a call of so many rows, which one wave holds: those of a verify step."""
KS = (512, 2_048)
HEADS = ("predicted", "corrected", "measured", "refitted")


def draw(records: Records, path: Path) -> None:
    """Draws the model's times beside the measured ones; nothing where there are too few to fit."""
    fit = _fit(records)
    if fit is not None:
        plots.models(_lines(records, fit, KS[0]), path, title=_title(KS[0]))


def section(records: Records, picture: str) -> str:
    """The section in Markdown. picture: the address of the plot."""
    fit = _fit(records)
    if fit is None:
        return f"## The latency model\n\n{ABSENT.capitalize()} in enough cells."
    predictions = records.predictions
    parts = [
        "## The latency model",
        "A prediction was fixed before any of the kernels ran, in their specification "
        f"({texts(predictions.date)} at the latest; `data/predictions.csv`): a part that grows with the keys of a "
        "block, and a fixed part that grows with the cluster. It stands as it was made. **Corrected** is the same with "
        f"those constants put in that were {model.MEASURED_ALONE}: graph node, barrier and pull of a cluster, "
        "histogram. **Refitted** has the terms of the second table, by least squares of shares of the measured times, "
        "at all numbers of rows.",
        _before_and_after(fit),
        _constants(fit),
        f"A call takes its graph node ({_nodes()}, measured alone) and, once for each wave of clusters, the sum of "
        f"these terms. The GPU holds {_resident()} at once with one block a multiprocessor, and twice as many where "
        f"two fit, in blocks of 512 threads. The bin's entries are those expected of normal data. Standard "
        "errors take cells of one kernel, k and length for dependent.",
        _errors(records, fit),
        *_misses(records, fit),
        f"![Predicted, corrected, measured and refitted times over length, one, eight and sixteen blocks]({picture})",
    ]
    for k in KS:
        parts += [f"### {_title(k)}: microseconds a call", _against(_lines(records, fit, k))]
    return "\n\n".join(parts)


def _fit(records: Records) -> model.Refit | None:
    """The refit, or nothing where there are too few cells for it."""
    try:
        return model.refit(records.timings)
    except ValueError:
        return None


def _lines(records: Records, fit: model.Refit, k: int) -> pd.DataFrame:
    """Predicted, corrected, measured and refitted times by kernel and length."""
    return model.against_prediction(fit, records.predictions, k, ROWS, records.lengths)


def _title(k: int) -> str:
    """What a table or a plot of the model shows."""
    return f"k {k:,}, {in_rows(ROWS)}, normal data"


def _before_and_after(fit: model.Refit) -> str:
    """The constants that all three have: predicted, corrected, refitted."""

    def refitted(*names: str) -> float:
        return sum(fit.constants[name].value if name in fit.constants else float("nan") for name in names)

    lines = [
        [
            f"fixed, {name}",
            *(us(prediction.time_us(cluster, 0)) for prediction in (model.PREDICTED, model.CORRECTED)),
            us(model.NODE_US[cluster] + refitted(f"fixed, {name}")),
        ]
        for cluster, name in ((1, "1 block"), (8, "8 blocks"), (16, "16 blocks"))
    ]
    kept, again = ("keys",), ("keys", "keys read again")
    for says, more, names in (("", 0, kept), (", read again", 1, again)):
        slopes = [each.slope_us + more * each.again_us for each in (model.PREDICTED, model.CORRECTED)]
        lines.append([f"1,024 keys of a block{says}", *(f"{slope:.3f}" for slope in slopes), f"{refitted(*names):.3f}"])
    return table(["µs", "predicted", "corrected", "refitted"], lines, left=1)


def _constants(fit: model.Refit) -> str:
    """The fitted constants with their errors."""
    lines = []
    for term in model.TERMS:
        found = fit.constants.get(term.name)
        numbers = [f"{found.value:.3f}", f"{found.standard_error:.3f}"] if found else [ABSENT, ""]
        lines.append([term.name, term.says, *numbers])
    return table(["term", "what it is", "refitted", "standard error"], lines, left=2)


def _nodes() -> str:
    """The graph node by cluster size."""
    return ", ".join(f"{time:.2f} µs in clusters of {cluster}" for cluster, time in model.NODE_US.items())


def _resident() -> str:
    """Clusters that are worked on at once."""
    return ", ".join(f"{count} of {cluster}" for cluster, count in model.RESIDENT.items())


def _errors(records: Records, fit: model.Refit) -> str:
    """How far the refit is off: RMS, worst cell, and on the k that it was not fitted to."""
    worst = fit.worst
    said = (
        f"Over {len(fit.cells)} cells the RMS error is {fit.rms_us:.2f} µs, {fit.rms_share:.1%} of the time"
        f"{_by_waves(fit.cells)}. The worst is {worst.kernel}, k {worst.k:,}, length {worst['columns']:,}, "
        f"{in_rows(worst['rows'])}: measured "
        f"{worst.measured_us:.2f}, refitted {worst.refitted_us:.2f}. "
    )
    cells = model.held_out(records.timings, fit)
    if not len(cells):
        return f"{said}Cells of k {model.HELD_OUT:,}, which the fit leaves out to be tested on them, are {ABSENT}."
    return (
        f"{said}On {len(cells)} cells of k {model.HELD_OUT:,}, which the fit left out, it is "
        f"{model.rms_share(cells):.1%}."
    )


def _by_waves(cells: pd.DataFrame) -> str:
    """The error of calls of one wave and of more, where there are both."""
    one, more = cells[cells.waves == 1], cells[cells.waves > 1]
    if not len(one) or not len(more):
        return ""
    return f" ({model.rms_share(one):.1%} in one wave, {model.rms_share(more):.1%} in more)"


def _misses(records: Records, fit: model.Refit) -> list[str]:
    """How far predicted, corrected and refitted times were off, by kernel; and how far auto is from the floor."""
    lines = pd.concat([_lines(records, fit, k) for k in KS]).dropna(subset="measured_us")
    said = []
    if len(lines):
        models = ("predicted", "corrected", "refitted")
        found = [
            [kernel, *(_span(of[f"{name}_us"] / of.measured_us - 1) for name in models)]
            for kernel, of in lines.groupby("kernel", sort=False)
        ]
        said += [
            f"Off the measured times at {in_rows(ROWS)}, least and most over the lengths and both k:",
            table(["kernel", *models], found, left=1),
        ]
    floors = records.predictions[records.predictions.cluster == 0].set_index("columns").predicted_us
    plain = records.plain
    auto = plain[(plain.kernel == "auto") & (plain["rows"] == 1)].set_index("columns").hot_us
    floor = floors.reindex(auto.index)
    ratios = (auto / floor).dropna()
    if len(ratios):
        said.append(
            f"The predicted floor, a chain of node, load, histogram, one exchange and output, was {floor.min():.1f} to "
            f"{floor.max():.1f} µs at these lengths; `auto` takes {ratios.min():.1f} to {ratios.max():.1f} times that "
            "for one row."
        )
    return said


def _span(shares: "pd.Series[float]") -> str:
    """The least and the most of shares."""
    return f"{shares.min():+.0%} to {shares.max():+.0%}"


def _against(lines: pd.DataFrame) -> str:
    """The table of prediction and result."""
    found = [
        [
            line.kernel,
            line.shape,
            f"{line.columns:,}",
            *(us(getattr(line, f"{name}_us")) for name in HEADS),
            _signed(line.measured_us - line.refitted_us),
        ]
        for line in lines.itertuples()
    ]
    return table(["kernel", "shape", "length", *HEADS, "measured − refitted"], found, left=2)


def _signed(value: float) -> str:
    """A difference with its sign; no sign where it is nothing, and nothing where it is unknown."""
    if pd.isna(value):
        return ""
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"
