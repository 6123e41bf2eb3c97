"""Paired times of two kernels: what a verify step's calls save, pair by pair, at each length of a mix.

A pair is one kernel and the one it stands against on the same fresh random rows, one right after the other; which goes
first alternates from pair to pair. Pairs go round the lengths, so that those of one length lie spread over a start.
A start is a process of its own: what differs from one process to the next shows between starts, and in no other way.
Calls of two layers are told apart: a full one selects among all columns of a row, a masked one among its candidate
blocks, by the two masking kernels and a selection, or by F in one launch. Every answer is compared with the oracle
first, byte for byte: a pair with a wrong one has no times.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch

from campaign.kernels import bench, topk
from campaign.kernels.errors import CampaignError, nearest
from campaign.kernels.inputs import INPUT_CLASSES
from campaign.kernels.masks import masked_top_k
from campaign.kernels.names import MASKED as F
from campaign.kernels.names import OWN
from campaign.kernels.oracle import UNWRITTEN, top_k

LENGTHS = (8_192, 16_384, 24_576, 32_768, 49_152, 65_536, 98_304, 131_072, 196_608, 262_144)
"""Of the mix in which Part 5 counts verify steps by their context."""
ROWS = 6
"""Rows of a call: five drafted tokens and one more."""
K = 512
STARTS = 10
PAIRS = 2
"""Of each contest at each length in a start: each kernel goes first once."""

FULL, MASKED = "full", "masked"


@dataclass(frozen=True)
class Contest:
    """A kernel and the one that it stands against, in one kind of layer.

    In a masked layer the two masking kernels go before a kernel that selects among all columns.
    """

    layer: str
    """"full" or "masked"."""
    kernel: str
    against: str

    def __post_init__(self) -> None:
        known = [*OWN, *([F] if self.layer == MASKED else [])]
        for name in (self.kernel, self.against):
            if name not in known:
                raise CampaignError(
                    f"{self.layer} layer: no kernel {name!r}; expected one of {', '.join(known)}."
                    f"{nearest(name, known)} Name one of them."
                )
        if self.kernel == self.against:
            raise CampaignError(
                f"{self.layer} layer: {self.kernel} against itself; expected two kernels. Name another."
            )


@dataclass(frozen=True)
class Pair:
    """One line of the record."""

    start: int
    """The process that timed it, from 1."""
    layer: str
    kernel: str
    against: str
    k: int
    rows: int
    columns: int
    pair: int
    """From 1, for each start, layer, kernel and number of columns."""
    first: str
    """Which of the two was timed first."""
    started: str
    """When the two were timed, in UTC."""
    kernel_us: float | None
    """Microseconds a call, hot; None where either answer is wrong."""
    against_us: float | None
    wrong_rows: int
    """Rows of both answers that differ from the oracle's in at least one byte."""


@dataclass(frozen=True)
class Work:
    """The rows of one pair, and the right answer."""

    scores: np.ndarray
    """[rows, columns] float32, normal."""
    candidates: np.ndarray | None
    """[rows, ids] int32, as served; None in a full layer."""
    want: np.ndarray
    """[rows, k] int32."""


Run = Callable[[Work, str], tuple[np.ndarray, Callable[[], None]]]
"""(work, kernel): the kernel's answer [rows, k] int32, and the call that gives it again."""
Timed = Callable[[Sequence[Callable[[], None]]], float]
"""Microseconds a call that goes round the given ones, as `bench.timed`."""


def contests(kernels: Sequence[str], masked_kernels: Sequence[str], against: str) -> list[Contest]:
    """Each kernel in full layers, and each of `masked_kernels` in masked ones; CampaignError for one that is not."""
    return [
        *(Contest(FULL, kernel, against) for kernel in kernels),
        *(Contest(MASKED, kernel, against) for kernel in masked_kernels),
    ]


def pairs(
    between: Sequence[Contest],
    run: Run,
    timed: Timed,
    *,
    start: int = 1,
    lengths: Sequence[int] = LENGTHS,
    rows: int = ROWS,
    k: int = K,
    count: int = PAIRS,
    seed: int = 0,
) -> Iterator[Pair]:
    """`count` pairs of each contest at each length, one after another, in this process.

    Raises CampaignError where a row is too short to select from.
    """
    short = [length for length in lengths if length <= k]
    if short:
        raise CampaignError(f"length {short[0]} with k {k}: nothing to select; expected more columns than k.")
    for number in range(1, count + 1):
        for columns in lengths:
            for layer in dict.fromkeys(contest.layer for contest in between):
                work = fresh([seed, start, number, columns, int(layer == MASKED)], layer, rows, columns, k)
                for contest in between:
                    if contest.layer == layer:
                        yield _pair(contest, work, start, number, run, timed)


def fresh(seed: Sequence[int], layer: str, rows: int, columns: int, k: int) -> Work:
    """Normal rows that no other seed gives, with candidates where the layer is masked."""
    rng = np.random.default_rng(seed)
    scores = INPUT_CLASSES["normal"](rng, rows, columns)
    if layer == FULL:
        return Work(scores, None, top_k(scores, k))
    candidates = bench.served_candidates(rng, rows, columns)
    return Work(scores, candidates, masked_top_k(scores, k, None, candidates))


def starts(between: Sequence[Contest], processes: int, **options: Any) -> Iterator[list[Pair]]:
    """The pairs of each start on the GPU, one process after another; options as those of `pairs`.

    Where a start breaks off, its pairs so far come before what broke it off is raised.
    """
    for start in range(1, processes + 1):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found, wrong = pool.submit(_pairs_of_start, between, start, options).result()
        yield found
        if wrong is not None:
            raise wrong


def _pairs_of_start(
    between: Sequence[Contest], start: int, options: dict[str, Any]
) -> tuple[list[Pair], Exception | None]:
    """The pairs of one start, and what broke it off where something did."""
    found: list[Pair] = []
    try:
        for pair in pairs(between, on_gpu, bench.timed, start=start, **options):
            found.append(pair)
    except Exception as wrong:
        return found, wrong
    return found, None


def _pair(contest: Contest, work: Work, start: int, number: int, run: Run, timed: Timed) -> Pair:
    names = (contest.kernel, contest.against) if (start + number) % 2 else (contest.against, contest.kernel)
    answers = {name: run(work, name) for name in names}
    wrong = sum(int((answer != work.want).any(axis=1).sum()) for answer, _ in answers.values())
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    times = {name: None if wrong else round(timed([call]), 3) for name, (_, call) in answers.items()}
    rows, columns = work.scores.shape
    return Pair(
        start,
        contest.layer,
        contest.kernel,
        contest.against,
        work.want.shape[1],
        rows,
        columns,
        number,
        names[0],
        at,
        times[contest.kernel],
        times[contest.against],
        wrong,
    )


def on_gpu(work: Work, kernel: str) -> tuple[np.ndarray, Callable[[], None]]:
    """The kernel's answer on the current GPU, and its call: in a masked layer without F, the masking kernels too."""
    rows, columns = work.scores.shape
    scores = torch.tensor(work.scores, device=bench.DEVICE)  # a copy: masking writes into it
    lengths = torch.full((rows,), columns, dtype=torch.int32, device=bench.DEVICE)
    out = torch.full(work.want.shape, UNWRITTEN, dtype=torch.int32, device=bench.DEVICE)
    call = partial(_launch(work, kernel), scores, lengths, out)
    call()
    return out.cpu().numpy(), call


def _launch(work: Work, kernel: str) -> bench.Launch:
    """How the kernel is launched on scores, lengths and output."""
    if work.candidates is None:
        return bench.ours()[kernel]
    candidates = torch.tensor(work.candidates, device=bench.DEVICE)
    if kernel == F:
        return lambda scores, lengths, out: topk.masked_topk(scores, lengths, candidates, out, order="ieee")
    flags = torch.empty(work.scores.shape, dtype=torch.uint8, device=bench.DEVICE)
    return bench.masked_first(bench.ours()[kernel], candidates, flags)
