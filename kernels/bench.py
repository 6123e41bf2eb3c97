"""Times of the kernels and of their peers on a GPU, side by side in one run; wrong answers are counted, not hidden.

A call is timed in a CUDA graph: the time of a replay over the calls in it, the median of several replays. Hot: all
calls read the same few buffers, which the L2 cache holds where they fit. Cold: calls go round different buffers, after
a flush. Every output is compared with the oracle before it is timed, entry by entry for ours, as sets of scores for
peers, whose order is their own. Where one of ours is wrong no time is recorded; a peer's stands beside its wrong
entries.
"""

import csv
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from campaign.kernels import topk
from campaign.kernels.errors import CampaignError
from campaign.kernels.inputs import INPUT_CLASSES
from campaign.kernels.oracle import top_k

LENGTHS = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144)
ROWS = (1, 2, 4, 6, 8, 32, 64)
KS = (512, 2_048)
CLASSES = ("normal", "indexer_like", "uniform", "narrow_range", "few_values", "negative_infinity_90")
CALLS = 40
REPLAYS = 9
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
    """Of rows × k, entries whose score is below the k-th best or that are there twice; for ours, any wrong byte."""


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


def bench(
    *,
    lengths: Sequence[int] = LENGTHS,
    rows: Sequence[int] = ROWS,
    ks: Sequence[int] = KS,
    classes: Sequence[str] = CLASSES,
    seed: int = 0,
    with_peers: bool = True,
) -> Iterator[Timing]:
    """The timings of every cell, one after another."""
    rng = np.random.default_rng(seed)
    for k in ks:
        for columns in lengths:
            for count in rows:
                for input_class in classes:
                    # Other classes than normal show whether data matter: four rows stand for all numbers of rows.
                    if columns <= k or (input_class != "normal" and count != 4):
                        continue
                    yield from _cell(rng, k, columns, count, input_class, with_peers)


def _cell(
    rng: np.random.Generator, k: int, columns: int, rows: int, input_class: str, with_peers: bool
) -> Iterator[Timing]:
    """The timings of one cell: the same scores for every kernel."""
    size = rows * columns * 4
    sets = [INPUT_CLASSES[input_class](rng, rows, columns) for _ in range(DATA_SETS if size <= 8 << 20 else 1)]
    want = top_k(sets[0], k)
    hot = [torch.from_numpy(scores).cuda() for scores in sets]
    cold = [hot[i % len(hot)].clone() for i in range(max(2, min(CALLS, MOST_COLD_BYTES // size)))]
    lengths = torch.full((rows,), columns, dtype=torch.int32, device="cuda")
    for name, launch in {**ours(), **(peers(k, rows) if with_peers else {})}.items():
        out = torch.full((rows, k), -7, dtype=torch.int32, device="cuda")
        returned = launch(hot[0], lengths, out)
        got = (out if returned is None else returned).cpu().numpy()
        wrong = int((got != want).sum()) if name in ours() else wrong_entries(sets[0], got, want)
        if wrong and name in ours():
            yield Timing(name, k, columns, rows, input_class, None, None, wrong)
            continue
        calls = [partial(launch, scores, lengths, out) for scores in hot]
        hot_us = timed(calls)
        cold_us = timed([partial(launch, scores, lengths, out) for scores in cold], flush=True)
        yield Timing(name, k, columns, rows, input_class, round(hot_us, 3), round(cold_us, 3), wrong)


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
