"""The tables of the page of what a bench measured."""

from collections.abc import Callable, Iterable

import pandas as pd

from campaign.kernels.comparisons import (
    FUSED,
    LEVEL,
    REFERENCE,
    Records,
    against_prototypes,
    against_quickest,
    class_ratios,
    fused_ratios,
    masked_times,
    verdict,
)
from campaign.kernels.names import MASKED, MASKED_FIRST

ABSENT = "not measured"
CLASS_BAR = 2.0
"""How many times as long as normal data other data may take."""
SHORT = {"cooperative_topk": "c", "persistent_topk": "p", "top_k_per_row_decode": "r", "torch.topk": "t"}
KEY = (
    "In the tables of times: `auto` : the quickest peer = their ratio; c is cooperative_topk, p persistent_topk, r "
    f"top_k_per_row_decode, t torch.topk. **Lost**: `auto` takes over {LEVEL:.0%} longer; level: within {LEVEL:.0%}."
)
MASKED_ORDER = (
    FUSED,
    f"{MASKED} c1",
    REFERENCE,
    f"{MASKED_FIRST}served_topk",
    f"{MASKED_FIRST}cooperative_topk",
)


def in_rows(count: int) -> str:
    """A number of rows in words."""
    return f"{count} row{'s' if count != 1 else ''}"


def numbers(values: Iterable[int]) -> str:
    """Different numbers in order, as words list them."""
    texts = [f"{value:,}" for value in sorted(set(values))]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def texts(values: Iterable[str]) -> str:
    """Different texts in order, with commas."""
    return ", ".join(sorted(set(values)))


def us(value: float) -> str:
    """Microseconds, or that there are none."""
    return ABSENT if pd.isna(value) else f"{value:.2f}"


def table(head: Iterable[str], lines: Iterable[Iterable[str]], *, left: int = 0) -> str:
    """A table in Markdown, its first `left` columns aligned left and the others right."""
    head = list(head)
    rule = "|" + "---|" * left + "---:|" * (len(head) - left)
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(line)} |" for line in lines)])


def times(plain: pd.DataFrame, column: str = "hot_us") -> str:
    """Times of auto by length and number of rows, with the quickest peer's and the ratio; one k."""
    auto = plain[plain.kernel == "auto"].set_index(["columns", "rows"])[column]

    def alone(length: int, count: int) -> str:
        own = auto.get((length, count), float("nan"))
        return ABSENT if pd.isna(own) else f"{own:.2f} : no peer"

    return _grid(plain, against_quickest(plain, column), "lost", alone)


def _grid(cells: pd.DataFrame, ratios: pd.DataFrame, slower: str, absent: Callable[[int, int], str]) -> str:
    """A table of ratios with a line for each length and a column for each number of rows that `cells` have.

    slower: the word at a ratio that is too large; absent: what stands where there is no ratio.
    """
    found = ratios.set_index(["columns", "rows"])
    marks = {"slower": f" **{slower}**", "level": " level", "quicker": ""}

    def text(length: int, count: int) -> str:
        if (length, count) not in found.index:
            return absent(length, count)
        cell = found.loc[(length, count)]
        name = SHORT.get(cell["name"], cell["name"])
        return f"{cell.own:.2f} : {cell.peer:.2f} {name} = {cell.ratio:.2f}{marks[verdict(cell.ratio)]}"

    counts = sorted(cells["rows"].unique())
    lines = ["| length | " + " | ".join(map(in_rows, counts)) + " |", "|---:|" + "---|" * len(counts)]
    for length in sorted(cells["columns"].unique()):
        lines.append(f"| {length:,} | " + " | ".join(text(length, count) for count in counts) + " |")
    return "\n".join(lines)


def prototypes(records: Records) -> str:
    """The section of auto beside the quickest exact prototype of each cell; nothing where no cell has both."""
    ratios = against_prototypes(records)
    if not len(ratios):
        return ""
    parts = [
        "## Beside the prototypes",
        "`auto` : the quickest exact prototype = their ratio, hot, normal data. The prototypes are research code, "
        f"measured on {texts(records.prototypes.date)} in other runs on a machine of the same kind; the least of many "
        "variants is taken, so chance is on their side. A letter is the design, its digit the cluster, t the threads "
        "of a block.",
    ]
    for k, cells in ratios.groupby("k"):
        above = cells[cells.ratio.map(verdict) == "slower"].sort_values(["columns", "rows"])
        named = "; ".join(f"{cell.columns:,} × {in_rows(cell.rows)}" for cell in above.itertuples())
        parts += [
            f"### k {k:,}",
            _grid(cells, cells, "above", lambda length, count: ABSENT),
            f"Above the prototype: {named or 'none'}.",
        ]
    return "\n\n".join(parts)


def masked(timings: pd.DataFrame) -> str:
    """The section of F beside what it replaces: two masking kernels, and a selection."""
    times = masked_times(timings)
    if not len(times):
        return f"## The masked F\n\n{ABSENT.capitalize()}."
    kernels = [name for name in MASKED_ORDER if name in times]
    hot, cold = fused_ratios(timings), fused_ratios(timings, "cold_us")
    lines = [
        [f"{value:,}" for value in cell]
        + [us(row[name]) for name in kernels]
        + [us(ratios.get(cell, float("nan"))) for ratios in (hot, cold)]
        for cell, row in times.iterrows()
    ]
    return "\n\n".join(
        [
            "## The masked F",
            f"Microseconds a call, hot, {numbers(timings.candidates[timings.candidates > 0])} candidate ids a row: "
            "each row its own blocks of eight columns, drawn at random, in no order, then padding where a row has "
            f"fewer blocks. F (`{MASKED}`, in clusters of eight blocks and in one block) gathers and selects in one "
            "launch; its reference masks the scores by two small kernels and then selects. Those two are our own "
            "re-creation after the served path's and were **not tuned**: quicker ones would raise the ratios. The last "
            "columns are F in clusters over its reference with `auto`, hot and cold.",
            table(["k", "length", "rows", *kernels, "F / reference", "cold"], lines),
        ]
    )


def classes(timings: pd.DataFrame) -> str:
    """The section of how much longer other data take than normal data, four rows."""
    ratios = class_ratios(timings)
    if not len(ratios):
        return f"## Other data\n\n{ABSENT.capitalize()}."

    def text(ratio: float) -> str:
        return us(ratio) if not ratio > CLASS_BAR else f"**{us(ratio)}**"

    lines = [[kernel, f"{k:,}", f"{length:,}", *map(text, row)] for (kernel, k, length), row in ratios.iterrows()]
    return "\n\n".join(
        [
            "## Other data",
            f"Time over that of normal data, four rows, hot. The bar is {CLASS_BAR:g}; above it is bold.",
            table(["kernel", "k", "length", *ratios.columns], lines, left=1),
        ]
    )


def compared_entries(timings: pd.DataFrame) -> "pd.Series[int]":
    """How many entries of each cell were compared with the oracle's: of one set of scores where the record has none."""
    return timings.get("compared_entries", timings.k * timings["rows"])


def wrong(timings: pd.DataFrame) -> str:
    """The section of wrong entries by kernel and class, summed over the cells without candidates."""
    plain = timings[timings.candidates == 0]
    found = plain.pivot_table(index="kernel", columns="input_class", values="wrong_entries", aggfunc="sum")
    asked = compared_entries(plain).groupby(plain.kernel).sum()

    def text(count: float) -> str:
        return ABSENT if pd.isna(count) else f"{int(count):,}"

    lines = [[kernel, f"{asked[kernel]:,}", *map(text, row)] for kernel, row in found.iterrows()]
    return "\n\n".join(
        [
            "## Wrong entries",
            "Entries that were compared, of all cells, and those that are no best of their row. For peers any choice "
            "among ties is right; ours has one.",
            table(["kernel", "entries", *found.columns], lines, left=1),
        ]
    )


def lost(records: Records) -> str:
    """The section of the cells that are lost, hot, with the words of lost.md."""
    ratios = against_quickest(records.plain)
    slower = ratios[ratios.ratio.map(verdict) == "slower"]
    said = []
    for length, cells in slower.groupby("columns"):
        more = cells.own - cells.peer
        said.append(
            f"- {length:,}: {len(cells)} of {(ratios['columns'] == length).sum()} cells, ratios "
            f"{cells.ratio.min():.2f} to {cells.ratio.max():.2f}, {more.min():.2f} to {more.max():.2f} µs behind "
            f"{texts(cells['name'])}."
        )
    return "\n\n".join(["## Where it is lost, and what was tried", "\n".join(said) or "No cell is lost.", records.lost])
