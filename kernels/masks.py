"""The oracle of the masked top-k: which columns candidate blocks keep, and what is selected among them.

Candidate ids name blocks of eight columns. They come in any order; one that comes twice counts once, and a negative one
is padding. The served mask clamps columns to the row, so an id past the last block keeps the last column alone.
"""

from collections.abc import Callable, Sequence

import numpy as np

from campaign.kernels.oracle import Order, top_k

BLOCK = 8
"""Columns of a candidate block."""

NEGATIVE_INFINITY = {np.dtype(np.float32): np.float32(-np.inf), np.dtype(np.uint16): np.uint16(0xFF80)}
"""-inf in each type that scores come in; uint16 holds bfloat16 bits."""


def masked_top_k(
    scores: np.ndarray,
    k: int,
    lengths: Sequence[int] | np.ndarray | None,
    candidates: np.ndarray,
    order: Order = "ieee",
) -> np.ndarray:
    """The columns of each row's k best scores, those outside its candidate blocks as -inf: [rows, k] int32.

    candidates: [rows, ids] int32. Everything else as in `oracle.top_k`: a hidden column is a live entry, so it is
    selected where fewer than k entries rank above -inf, and before a -NaN that is kept.
    """
    return top_k(masked(scores, candidates), k, lengths, order)


def masked(scores: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """A copy of the scores in which every column without a flag is -inf, bit for bit."""
    flags = candidate_flags(candidates, scores.shape[1])
    if len(flags) != len(scores):
        raise ValueError(
            f"candidates must have one row for each row of scores: expected {len(scores)}, got {len(flags)}"
        )
    if scores.dtype not in NEGATIVE_INFINITY:
        raise TypeError(f"scores must be float32, or uint16 that hold bfloat16, got {scores.dtype}")
    result = scores.copy()
    result[flags == 0] = NEGATIVE_INFINITY[scores.dtype]
    return result


def candidate_flags(candidates: np.ndarray, columns: int) -> np.ndarray:
    """1 where the candidates keep a column, else 0: [rows, columns] uint8."""
    if candidates.ndim != 2 or candidates.dtype != np.int32:
        raise TypeError(f"candidates must be [rows, ids] int32, got {candidates.dtype} of shape {candidates.shape}")
    flags = np.zeros((len(candidates), columns), np.uint8)
    for row, ids in enumerate(candidates.astype(np.int64)):
        for column in range(BLOCK):
            flags[row, np.minimum(ids[ids >= 0] * BLOCK + column, columns - 1)] = 1
    return flags


CandidateClass = Callable[[np.random.Generator, int, int], np.ndarray]

CANDIDATE_CLASSES: dict[str, CandidateClass] = {}
"""Named classes of candidates: functions of (rng, rows, columns) that return [rows, ids] int32, by name."""


def _candidate_class(make: CandidateClass) -> CandidateClass:
    """`make`, which CANDIDATE_CLASSES then holds under its own name."""
    CANDIDATE_CLASSES[make.__name__] = make
    return make


def blocks_of(columns: int) -> int:
    """How many blocks a row has; the last one may be partial."""
    return -(-columns // BLOCK)


@_candidate_class
def every_block(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """All blocks, ascending: nothing is hidden."""
    return _same(rows, np.arange(blocks_of(columns)))


@_candidate_class
def sorted_half(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Half of the blocks, ascending."""
    return np.sort(unsorted_half(rng, rows, columns), axis=1)


@_candidate_class
def unsorted_half(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Half of the blocks, in no order."""
    return _shuffled(rng, rows, columns)[:, : -(-blocks_of(columns) // 2)].copy()


@_candidate_class
def duplicates(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Half of the blocks, each of them twice."""
    half = unsorted_half(rng, rows, columns)
    return rng.permuted(np.concatenate([half, half], axis=1), axis=1)


@_candidate_class
def padded(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Three quarters of the blocks, then as many places of -1."""
    ids = _shuffled(rng, rows, columns)[:, : -(-3 * blocks_of(columns) // 4)]
    return np.concatenate([ids, np.full_like(ids, -1)], axis=1)


@_candidate_class
def padding_between(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Half of the blocks with negative ids between them, down to the smallest integer."""
    half = unsorted_half(rng, rows, columns)
    negative = rng.choice(np.array([-1, -2, -(2**31)], np.int32), half.shape)
    return rng.permuted(np.concatenate([half, negative], axis=1), axis=1)


@_candidate_class
def out_of_range(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Half of the blocks and ids past the last one, up to the largest integer: these keep the last column."""
    half = unsorted_half(rng, rows, columns)
    past = rng.choice(np.array([blocks_of(columns), blocks_of(columns) + 7, 2**31 - 1], np.int32), (rows, 3))
    return rng.permuted(np.concatenate([half, past], axis=1), axis=1)


@_candidate_class
def last_column_alone(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """All blocks but the last, and an id past it: of the last block, only the last column is kept."""
    return _same(rows, np.append(np.arange(blocks_of(columns) - 1), blocks_of(columns)))


@_candidate_class
def only_out_of_range(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """A single id past the last block: one column is kept."""
    return _same(rows, np.array([blocks_of(columns)]))


@_candidate_class
def without_the_last_block(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """All blocks but the last."""
    return _same(rows, np.append(np.arange(blocks_of(columns) - 1), -1))


@_candidate_class
def three_blocks(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Three blocks, or all where there are fewer: not enough to fill a selection."""
    return _shuffled(rng, rows, columns)[:, :3].copy()


@_candidate_class
def only_the_last_block(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """The last block alone, which may be partial."""
    return _same(rows, np.array([blocks_of(columns) - 1]))


@_candidate_class
def nothing(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Padding only: every column is hidden."""
    return _same(rows, np.full(4, -1))


def _same(rows: int, ids: np.ndarray) -> np.ndarray:
    """The same ids in each row."""
    return np.tile(ids.astype(np.int32), (rows, 1))


def _shuffled(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """All ids of a row's blocks, in an order of each row's own."""
    return rng.permuted(every_block(rng, rows, columns), axis=1)
