"""Times of the kernels and of their peers on a GPU, side by side in one run; wrong answers are counted, not hidden.

A call is timed in a CUDA graph: the time of a replay over the calls in it, the median of several replays. Hot: all
calls read the same few buffers, which the L2 cache holds where they fit. Cold: calls go round different buffers, after
a flush. Before a kernel is timed, its output on every set of scores that hot calls read is compared with the oracle's,
entry by entry for ours, as sets of scores for peers, whose order is their own. Cold calls read copies of the same sets;
what they write is not compared again. Where one of ours is wrong no time is recorded; a peer's stands beside its wrong
entries.

Cells with candidate blocks time the masked F beside what it replaces: two small kernels that set all other columns to
-inf, and a selection among what is left.
"""

import csv
import importlib
import importlib.metadata
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch

from campaign.kernels import topk
from campaign.kernels.errors import CampaignError
from campaign.kernels.inputs import INPUT_CLASSES
from campaign.kernels.masks import blocks_of, masked, masked_top_k
from campaign.kernels.names import MASKED, MASKED_FIRST
from campaign.kernels.oracle import UNWRITTEN, top_k
from campaign.kernels.shapes import MASKED_SHAPES

LENGTHS = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144)
ROWS = (1, 2, 4, 6, 8, 32, 64)
KS = (512, 1_024, 2_048)
FEWER_ROWS = {1_024: (1, 8, 32)}
"""Numbers of rows for a k that is timed at fewer of them, and on normal data alone."""
MASKED_ROWS = (1, 6)
"""Numbers of rows of cells with candidates: one row, and the six of a verify step that checks five tokens."""
MASKED_KS = (512, 2_048)
CANDIDATES = 2_048
"""Candidate ids of a row: as many blocks of eight columns as the served indexer publishes, 16,384 columns."""
CLASSES = ("normal", "indexer_like", "uniform", "narrow_range", "few_values", "negative_infinity_90")
CALLS = 40
REPLAYS = 9
DEVICE = "cuda"
MOST_COLD_BYTES = 2 << 30
FLUSH_BYTES = 512 << 20
DATA_SETS = 4
"""Hot calls go round so many rows of the same class, so that one lucky row decides nothing; all fit the cache
together up to a few megabytes, and above that there is one."""

Launch = Callable[[Any, Any, Any], Any]
"""(scores, lengths, out): fills `out`, or returns a tensor of its own."""


@dataclass(frozen=True)
class Timing:
    """One line of the record."""

    kernel: str
    k: int
    columns: int
    rows: int
    input_class: str
    hot_us: float | None
    cold_us: float | None
    wrong_entries: int
    """Of `compared_entries`, those whose score is below the k-th best or that are there twice; for ours, any wrong
    one."""
    candidates: int = 0
    """Candidate ids of a row, padding included; 0 where all columns are candidates."""
    compared_entries: int = 0
    """Entries that were compared with the oracle's: rows × k of every set of scores."""


class Cell(NamedTuple):
    """One line of the table: all kernels get the same scores."""

    k: int
    columns: int
    rows: int
    input_class: str
    candidates: int = 0


def ours() -> dict[str, Launch]:
    """The kernels of this package."""
    return {
        "served_topk": partial(topk.served_topk, order="ieee"),
        "rs8": partial(topk.rs8, order="ieee"),
        "auto": partial(topk.auto, order="ieee"),
    }


def peers(k: int, rows: int) -> dict[str, Launch]:
    """What others publish, as far as it is installed: vLLM's three kernels, and torch.topk."""

    def torch_topk(scores: Any, lengths: Any, out: Any) -> Any:
        return torch.topk(scores, k, dim=1, sorted=False).indices

    found: dict[str, Launch] = {"torch.topk": torch_topk}
    if not _has_vllm():
        return found
    workspace = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")

    def cooperative(scores: Any, lengths: Any, out: Any) -> None:
        torch.ops._C.cooperative_topk(scores, lengths, out, workspace, k, scores.shape[1])

    def persistent(scores: Any, lengths: Any, out: Any) -> None:
        torch.ops._C.persistent_topk(scores, lengths, out, workspace, k, scores.shape[1])

    def per_row(scores: Any, lengths: Any, out: Any) -> None:
        torch.ops._C.top_k_per_row_decode(scores, 1, lengths, out, rows, scores.stride(0), scores.stride(1), k)

    found |= {"persistent_topk": persistent, "top_k_per_row_decode": per_row}
    if rows <= 32:
        found["cooperative_topk"] = cooperative
    return found


@cache
def _has_vllm() -> bool:
    """Whether vLLM's compiled ops are here; only those are loaded, not the rest of it."""
    for name in ("vllm._C_stable_libtorch", "vllm._C"):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        return hasattr(torch.ops._C, "persistent_topk")
    return False


def vllm_version() -> str | None:
    """The version of vLLM whose ops are timed; None where there are none, or nothing says it."""
    if not _has_vllm():
        return None
    try:
        return importlib.metadata.version("vllm")
    except importlib.metadata.PackageNotFoundError:
        return getattr(sys.modules.get("vllm"), "__version__", None)


def cells(
    *,
    lengths: Sequence[int] = LENGTHS,
    rows: Sequence[int] | None = None,
    ks: Sequence[int] = KS,
    classes: Sequence[str] = CLASSES,
    masked: bool = True,
) -> list[Cell]:
    """The cells of a bench, those with candidates last.

    rows: numbers of rows; by default those of the table, which FEWER_ROWS and MASKED_ROWS cut. masked: with candidates
    too. A row of no more than k columns is no cell.
    """
    plain = [
        Cell(k, columns, count, input_class)
        for k in ks
        for columns in lengths
        for count in rows or FEWER_ROWS.get(k, ROWS)
        for input_class in classes
        # Other classes than normal show whether data matter: four rows stand for all numbers of rows.
        if columns > k and (input_class == "normal" or count == 4)
    ]
    among = [
        Cell(k, columns, count, "normal", CANDIDATES)
        for k in ks
        for columns in lengths
        for count in (rows or MASKED_ROWS)
        if columns > k and k in MASKED_KS and count in MASKED_ROWS
    ]
    return plain + (among if masked and "normal" in classes else [])


def bench(
    *,
    lengths: Sequence[int] = LENGTHS,
    rows: Sequence[int] | None = None,
    ks: Sequence[int] = KS,
    classes: Sequence[str] = CLASSES,
    seed: int = 0,
    with_peers: bool = True,
    masked: bool = True,
) -> Iterator[Timing]:
    """The timings of every cell, one after another; the arguments are those of `cells`."""
    rng = np.random.default_rng(seed)
    for cell in cells(lengths=lengths, rows=rows, ks=ks, classes=classes, masked=masked):
        yield from _masked_cell(rng, cell, with_peers) if cell.candidates else _plain_cell(rng, cell, with_peers)


def served_candidates(rng: np.random.Generator, rows: int, columns: int, ids: int = CANDIDATES) -> np.ndarray:
    """Candidates as the served path makes them: [rows, ids] int32, each row its own distinct blocks, in no order.

    Where the row has fewer blocks than ids, all of them, then -1. Which blocks is random: real ones follow the scores.
    """
    blocks = blocks_of(columns)
    found = np.full((rows, ids), -1, np.int32)
    for row in found:
        chosen = rng.permutation(blocks)[:ids]
        row[: len(chosen)] = chosen
    return found


def _plain_cell(rng: np.random.Generator, cell: Cell, with_peers: bool) -> Iterator[Timing]:
    """The timings of a cell without candidates."""
    sets = _score_sets(rng, cell)
    own = ours()
    others = peers(cell.k, cell.rows) if with_peers else {}
    wants = [top_k(scores, cell.k) for scores in sets]
    hot, cold = _buffers(cell, sets)
    lengths = torch.full((cell.rows,), cell.columns, dtype=torch.int32, device=DEVICE)
    for name, launch in {**own, **others}.items():
        yield _judged(name, launch, cell, name in own, hot, cold, lengths, sets, wants)


def _masked_cell(rng: np.random.Generator, cell: Cell, with_peers: bool) -> Iterator[Timing]:
    """The timings of a cell with candidates: F, and what it replaces."""
    sets = _score_sets(rng, cell)
    ids = served_candidates(rng, cell.rows, cell.columns, cell.candidates)
    left = [masked(scores, ids) for scores in sets]
    wants = [masked_top_k(scores, cell.k, None, ids) for scores in sets]
    hot, cold = _buffers(cell, sets)
    lengths = torch.full((cell.rows,), cell.columns, dtype=torch.int32, device=DEVICE)
    fused = fused_kernels(torch.from_numpy(ids).to(DEVICE))
    for name, launch in fused.items():
        yield _judged(name, launch, cell, True, hot, cold, lengths, left, wants)
    # The masking kernels write -inf into the scores, so they come last.
    selections = {name: launch for name, launch in ours().items() if name in ("auto", "served_topk")}
    if with_peers:
        selections |= {name: call for name, call in peers(cell.k, cell.rows).items() if name == "cooperative_topk"}
    flags = torch.empty((cell.rows, cell.columns), dtype=torch.uint8, device=DEVICE)
    for name, select in selections.items():
        launch = masked_first(select, torch.from_numpy(ids).to(DEVICE), flags)
        yield _judged(MASKED_FIRST + name, launch, cell, name in ours(), hot, cold, lengths, left, wants)


def fused_kernels(candidates: Any) -> dict[str, Launch]:
    """F over `candidates`, a tensor, for each size of cluster that it is built for."""

    def launch(cluster: int, scores: Any, lengths: Any, out: Any) -> None:
        topk.masked_topk(scores, lengths, candidates, out, cluster=cluster, order="ieee")

    clusters = sorted({shape.cluster for shape in MASKED_SHAPES}, reverse=True)
    return {f"{MASKED} c{cluster}": partial(launch, cluster) for cluster in clusters}


def masked_first(select: Launch, candidates: Any, flags: Any) -> Launch:
    """A launch that masks the scores where they are, and then selects."""

    def launch(scores: Any, lengths: Any, out: Any) -> Any:
        topk.mask_candidates(scores, candidates, flags)
        return select(scores, lengths, out)

    return launch


def _score_sets(rng: np.random.Generator, cell: Cell) -> list[np.ndarray]:
    """The cell's scores, several times over where they are small."""
    count = DATA_SETS if cell.rows * cell.columns * 4 <= 8 << 20 else 1
    return [INPUT_CLASSES[cell.input_class](rng, cell.rows, cell.columns) for _ in range(count)]


def _buffers(cell: Cell, sets: Sequence[np.ndarray]) -> tuple[list[Any], list[Any]]:
    """Tensors of the scores for hot calls, and many more for cold ones."""
    hot = [torch.from_numpy(scores).to(DEVICE) for scores in sets]
    size = cell.rows * cell.columns * 4
    return hot, [hot[i % len(hot)].clone() for i in range(max(2, min(CALLS, MOST_COLD_BYTES // size)))]


def _judged(
    name: str,
    launch: Launch,
    cell: Cell,
    own: bool,
    hot: Sequence[Any],
    cold: Sequence[Any],
    lengths: Any,
    sets: Sequence[np.ndarray],
    wants: Sequence[np.ndarray],
) -> Timing:
    """One kernel's timing in a cell, or its wrong entries alone where it is ours and wrong in any set.

    sets: what each hot buffer holds, as the oracle saw it; wants: the best entries of each.
    """
    out = torch.empty((cell.rows, cell.k), dtype=torch.int32, device=DEVICE)
    wrong = 0
    for buffer, scores, want in zip(hot, sets, wants, strict=True):
        out.fill_(UNWRITTEN)
        returned = launch(buffer, lengths, out)
        got = (out if returned is None else returned).cpu().numpy()
        wrong += int((got != want).sum()) if own else wrong_entries(scores, got, want)
    record = partial(Timing, name, cell.k, cell.columns, cell.rows, cell.input_class)
    judged = (wrong, cell.candidates, len(sets) * cell.rows * cell.k)
    if wrong and own:
        return record(None, None, *judged)
    hot_us = timed([partial(launch, buffer, lengths, out) for buffer in hot])
    cold_us = timed([partial(launch, buffer, lengths, out) for buffer in cold], flush=True)
    return record(round(hot_us, 3), round(cold_us, 3), *judged)


def wrong_entries(scores: np.ndarray, got: np.ndarray, want: np.ndarray) -> int:
    """How many of the entries that were `got` are no k best of their row: too low, out of range, or there twice.

    Ties at the k-th score count as right whichever were taken.
    """
    wrong = 0
    for row, selected, best in zip(scores, got, want, strict=True):
        inside = selected[(selected >= 0) & (selected < len(row))]
        unique = np.unique(inside)
        wrong += len(selected) - len(unique) + int((row[unique] < row[best].min()).sum())
    return wrong


def timed(calls: Sequence[Callable[[], None]], *, flush: bool = False) -> float:
    """Microseconds a call: the median over replays of a graph of some forty calls that go round `calls`."""
    count = len(calls) if flush else -(-CALLS // len(calls)) * len(calls)
    stream = torch.cuda.Stream()
    dirt = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda") if flush else None
    with torch.cuda.stream(stream):
        for call in calls[:2]:
            call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for i in range(count):
                calls[i % len(calls)]()
        times = []
        for _ in range(REPLAYS + 2):
            if dirt is not None:
                dirt.fill_(1)
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record(stream)
            graph.replay()
            end.record(stream)
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1000 / count)
    return median(times[2:])


def write(timings: Sequence[Timing], path: Path) -> None:
    """Writes timings as CSV."""
    if not timings:
        raise CampaignError("nothing was timed: no cell has more columns than k.")
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(timings[0])), lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(timing) for timing in timings)
