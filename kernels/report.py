"""The page of what a bench measured: a summary computed from the records, then tables, plots and a model."""

from pathlib import Path
from typing import Any

import pandas as pd

from campaign.kernels import plots, report_model, report_tables, sanitize
from campaign.kernels.comparisons import (
    LEVEL,
    Records,
    against_prototypes,
    against_quickest,
    class_ratios,
    counts,
    fused_ratios,
    read,
    verdict,
)
from campaign.kernels.names import OWN, is_own
from campaign.kernels.report_tables import CLASS_BAR, compared_entries, in_rows, numbers

STATED_VLLM = "0.26.0"
"""The version of vLLM beside which records without one were made."""
BROKEN_OFF = " **The run broke off: cells are missing.**"


def write(data: Path, out: Path) -> None:
    """Writes the page and its plots from the records in `data`: the page at `out`, the plots beside it."""
    records = read(data)
    plots.headline(records.plain, _picture(out, ""))
    plots.by_rows(records.plain, _picture(out, "-rows"))
    report_model.draw(records, _picture(out, "-model"))
    out.write_text(page(records, out))


def _picture(out: Path, name: str) -> Path:
    """Where a plot of the page at `out` goes."""
    return out.with_name(f"{out.stem}{name}.svg")


def page(records: Records, out: Path) -> str:
    """The page in Markdown. out: where it goes, by which its pictures are named."""
    plain = records.plain
    parts = [
        "# Measured: top-k kernels on an H200",
        "Made by `python -P -m campaign.kernels report` from the records in `data/`.",
        summary(records),
        "![Microseconds a call over the length of a row, k 512, six rows, a line for each kernel]"
        f"({_picture(out, '').name})",
        f"![The same for one, eight, 32 and 64 rows]({_picture(out, '-rows').name})",
        _how(records),
        report_tables.KEY,
    ]
    for temperature, says in (("hot", "scores in the L2 cache"), ("cold", "scores in no cache")):
        for k in sorted(plain.k.unique()):
            parts += [
                f"## k {k:,}, {temperature}: microseconds a call, normal data, {says}",
                report_tables.times(plain[plain.k == k], f"{temperature}_us"),
            ]
    parts += [
        report_tables.prototypes(records),
        report_tables.masked(records.timings),
        report_tables.classes(records.timings),
        report_tables.wrong(records.timings),
        report_tables.lost(records),
        report_model.section(records, _picture(out, "-model").name),
        _sanitizer(records.sanitizer),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(records: Records) -> str:
    """How exact, how many cells are won and lost to whom, and the table of that by length: each sentence computed."""
    ratios = against_quickest(records.plain)
    lines = ["| length | cells | quicker | level | slower | least ratio | largest ratio |", "|---:|" + "---:|" * 6]
    for length, cells in [*ratios.groupby("columns"), ("all", ratios)]:
        if len(cells):
            found = counts(cells.ratio)
            lines.append(
                f"| {length if isinstance(length, str) else f'{length:,}'} | {len(cells)} | {found.quicker} | "
                f"{found.level} | {found.slower} | {_ratio_of(cells.iloc[0])} | {_ratio_of(cells.iloc[-1])} |"
            )
    sentences = [
        _exactness(records),
        _speed(ratios),
        _cold(records.plain),
        _beside_prototypes(records),
        _other_data(records.timings),
        _fused(records.timings),
    ]
    return "\n\n".join(
        [
            "## In short",
            "\n".join(f"- {said}" for said in sentences if said),
            "Time of `auto` over that of the quickest peer, right or wrong, in each cell (k, length, number of rows), "
            f"hot, normal data. Level is within {LEVEL:.0%}.",
            "\n".join(lines),
        ]
    )


def _ratio_of(cell: pd.Series) -> str:
    """A ratio and its cell."""
    return f"{cell.ratio:.2f} (k {cell.k:,}, {in_rows(cell['rows'])})"


def _exactness(records: Records) -> str:
    """How much was compared with the oracle, and what was wrong."""
    checked = pd.DataFrame(records.check["kernels"]).loc[["calls", "rows", "wrong_rows"]].sum(axis=1)
    own = records.timings[records.timings.kernel.map(is_own)]
    entries = compared_entries(own).sum()
    wrong = records.timings.groupby("kernel").wrong_entries.sum()
    peers = [f"{name} {count:,}" for name, count in wrong.items() if count and not is_own(name)]
    return (
        f"Exact: {checked.calls:,} calls, {checked['rows']:,} rows checked byte for byte, "
        f"{_none(checked.wrong_rows)} wrong; of the {entries:,} entries compared in the bench "
        f"{_none(own.wrong_entries.sum())}." + (f" Wrong entries of peers there: {', '.join(peers)}." if peers else "")
    )


def _none(count: int) -> str:
    """A count, or the word for nothing."""
    return f"{count:,}" if count else "none"


def _speed(ratios: pd.DataFrame) -> str:
    """In how many cells auto is the quickest, and at which lengths it is not."""
    found = counts(ratios.ratio)
    slower = ratios[ratios.ratio.map(verdict) == "slower"]
    where = f", at lengths of {numbers(slower['columns'])}" if found.slower else ""
    return (
        f"`auto` is quicker than every peer in {found.quicker} of {len(ratios)} cells, level with the quickest in "
        f"{found.level}, slower in {found.slower}{where}."
    )


def _cold(plain: pd.DataFrame) -> str:
    """The same of cold times."""
    ratios = against_quickest(plain, "cold_us")
    found = counts(ratios.ratio)
    return f"Cold: quicker in {found.quicker} of {len(ratios)} cells, level in {found.level}, slower in {found.slower}."


def _beside_prototypes(records: Records) -> str:
    """The same against the prototypes."""
    ratios = against_prototypes(records)
    if not len(ratios):
        return ""
    found = counts(ratios.ratio)
    return (
        f"Beside the quickest exact prototype of each cell, in other runs: quicker in {found.quicker} of {len(ratios)} "
        f"cells, level in {found.level}, slower in {found.slower}; ratios from {ratios.ratio.min():.2f} to "
        f"{ratios.ratio.max():.2f}."
    )


def _other_data(timings: pd.DataFrame) -> str:
    """How much longer the worst class of data takes, for each kernel."""
    ratios = class_ratios(timings)
    if not len(ratios):
        return ""
    most = ratios.max(axis=1).groupby("kernel").max()
    named = [f"{most[kernel]:.2f} times ({kernel})" for kernel in reversed(OWN) if kernel in most]
    return f"Other data take at most {', '.join(named)} what normal data take; the bar is {CLASS_BAR:g}."


def _fused(timings: pd.DataFrame) -> str:
    """How much of its reference's time F takes."""
    ratios = fused_ratios(timings)
    if not len(ratios):
        return ""
    return (
        f"The masked F takes, in one launch, {ratios.min():.2f} to {ratios.max():.2f} of the time of two masking "
        "kernels and `auto`; the masking kernels are our own re-creation and were not tuned."
    )


def _how(records: Records) -> str:
    """On what, when, with which versions; and what was checked before."""
    environment, check = records.environment, records.check
    return (
        "## How\n\n"
        f"One {environment['gpu']} ({environment['multiprocessors']} multiprocessors), CUDA {environment['cuda']}, "
        f"torch {environment['torch']}, {environment['when']}, one run; sources {environment['sources']}. Each time is "
        "the median of nine replays of a CUDA graph with forty calls that go round up to four sets of random scores "
        f"(hot), or go once round many buffers after a flush (cold). {_compared(records.timings)} Beside ours, "
        "compiled as they are: `cooperative_topk` (up to 32 rows), `persistent_topk` and `top_k_per_row_decode` of "
        f"{_vllm(environment)}, and `torch.topk`. Checked "
        f"first, with seed {check['seed']}, {check['when']}, sources {check['sources']}. Nothing here has run on SM120."
        f"{BROKEN_OFF if environment.get('complete') is False else ''}"
        f"{_spread(records.prototypes.spread_us.dropna())}"
    )


def _compared(timings: pd.DataFrame) -> str:
    """Which outputs were compared with the oracle before they were timed."""
    if "compared_entries" in timings:
        return (
            "Before it was timed, each kernel's output on every one of these sets was compared with the oracle's; cold "
            "calls read copies of the same sets."
        )
    return (
        "Before it was timed, each kernel's output on the first of these sets was compared with the oracle's; on the "
        "others, of the same class, it was not."
    )


def _vllm(environment: dict[str, Any]) -> str:
    """The version of vLLM that was timed, and who says it."""
    if "vllm" not in environment:
        return f"vLLM {STATED_VLLM} (stated by hand: the record has no version)"
    return f"vLLM {environment['vllm']}" if environment["vllm"] else "vLLM (its version was not found)"


def _spread(spreads: "pd.Series[float]") -> str:
    """How much one kernel's time differs between runs, as far as that is known."""
    if not len(spreads):
        return ""
    return (
        f"\n\nHow far apart two runs can be: of {len(spreads)} cells, the times of the same prototype in several runs "
        f"lay {spreads.median():.2f} µs apart in the middle cell and {spreads.quantile(0.9):.2f} µs in one of ten."
    )


def _sanitizer(record: dict[str, Any] | None) -> str:
    """What compute-sanitizer said, where there is a record."""
    return f"## compute-sanitizer\n\n{sanitize.paragraph(record).strip()}" if record is not None else ""
