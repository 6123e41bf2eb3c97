"""The oracle of top-k: which entries of a row every kernel must select, and in which order it must write them."""

import operator
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from campaign.kernels.errors import nearest

Order = Literal["ieee", "served"]

PADDING = -1
"""What fills the places of a row that has fewer than k live entries."""

UNWRITTEN = -7
"""What checks put into an output before a call: no right answer has it."""

# float32 bit patterns, and keys of the two zeros.
POSITIVE_INFINITY = 0x7F80_0000
LARGEST_SUBNORMAL = 0x007F_FFFF
KEY_OF_POSITIVE_ZERO = 0x8000_0000
KEY_OF_NEGATIVE_ZERO = 0x7FFF_FFFF


def top_k(
    scores: np.ndarray, k: int, lengths: Sequence[int] | np.ndarray | None = None, order: Order = "ieee"
) -> np.ndarray:
    """The columns of each row's k best scores: [rows, k] int32, ascending column, then -1.

    scores: [rows, columns] float32, or uint16 that hold bfloat16 bits (see `widened`). lengths: [rows] integers;
    the first lengths[row] entries of a row are live, and what the rest hold changes nothing. A negative length, as
    padded rows carry it, counts as 0. None means that every column is live.

    Best means largest key (see `sort_keys`). Of the entries that tie at the k-th key, those of lowest index are
    taken. The selected columns are written in ascending index, not in order of score. That is the contract declared
    here: an entry is placed by counting alone, and a right answer has one form only. A row with at most k live entries
    selects all of them, and -1 fills the remaining places. A live -inf or NaN is an entry like any other: it is never
    padding.

    Raises TypeError or ValueError where shapes, dtypes, k, lengths or order are not as said above.
    """
    live = _checked_lengths(scores, lengths)
    k = operator.index(k)
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    keys = sort_keys(scores, order)
    selected = np.full((len(scores), k), PADDING, np.int32)
    for row, length in enumerate(live):
        best = _best(keys[row, :length], k)
        selected[row, : len(best)] = best
    return selected


def sort_keys(scores: np.ndarray, order: Order = "ieee") -> np.ndarray:
    """An unsigned key for each score, uint32 of the same shape: the larger key ranks higher, equal keys tie.

    "ieee" is the totalOrder of IEEE 754, in which only equal bits tie. From the top: +NaN (larger payload higher),
    +inf, positive normals, positive subnormals, +0, -0, negative subnormals, negative normals, -inf, -NaN (larger
    payload lower).

    "served" is our re-creation of the order in which the served kernel ranks; its source was not found. It differs for
    two kinds of score, both of positive sign: every positive subnormal ties with +0, and every +NaN ties with -0, just
    below +0. Negative subnormals keep their own ranks below -0, and -NaN stays below -inf. That subnormals above zero
    only are flushed is what has been published of that kernel; the ranks of NaN are declared here.
    """
    if order not in get_args(Order):
        known = get_args(Order)
        raise ValueError(f"order must be one of {', '.join(known)}, got {order!r}.{nearest(order, known)}")
    bits = (widened(scores) if scores.dtype == np.uint16 else _checked_float32(scores)).view(np.uint32)
    negative = bits >> 31 == 1
    keys = np.where(negative, ~bits, bits | KEY_OF_POSITIVE_ZERO)
    if order == "served":
        keys = np.where((bits >= 1) & (bits <= LARGEST_SUBNORMAL), KEY_OF_POSITIVE_ZERO, keys)
        keys = np.where((bits > POSITIVE_INFINITY) & ~negative, KEY_OF_NEGATIVE_ZERO, keys)
    return keys.astype(np.uint32)


def widened(bits: np.ndarray) -> np.ndarray:
    """The float32 scores, of the same shape, whose upper halves are the bfloat16 `bits` (uint16).

    Widening keeps both orders: it maps zeros, subnormals, infinities and NaNs to their own kind, payloads in order.
    """
    if bits.dtype != np.uint16:
        raise TypeError(f"bits must be uint16 that hold bfloat16, got {bits.dtype}")
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _best(keys: np.ndarray, k: int) -> np.ndarray:
    """The indices of the k largest of one row's `keys`, ties at the k-th to the lower index, in ascending index."""
    if len(keys) <= k:
        return np.arange(len(keys))
    kth = np.sort(keys)[-k]
    above = np.flatnonzero(keys > kth)
    ties = np.flatnonzero(keys == kth)
    return np.sort(np.concatenate([above, ties[: k - len(above)]]))


def _checked_float32(scores: np.ndarray) -> np.ndarray:
    """`scores`, which are float32 in this machine's byte order."""
    if scores.dtype != np.float32:
        raise TypeError(f"scores must be float32, or uint16 that hold bfloat16, got {scores.dtype}")
    return scores


def _checked_lengths(scores: np.ndarray, lengths: Sequence[int] | np.ndarray | None) -> np.ndarray:
    """How many entries of each row are live: [rows], from 0 to the number of columns."""
    if scores.ndim != 2:
        raise ValueError(f"scores must be [rows, columns], got shape {scores.shape}")
    rows, columns = scores.shape
    live = np.full(rows, columns) if lengths is None else np.asarray(lengths)
    if live.shape != (rows,):
        raise ValueError(f"lengths must be one per row: expected shape ({rows},), got {live.shape}")
    if rows and not np.issubdtype(live.dtype, np.integer):
        raise TypeError(f"lengths must be integers, got {live.dtype}")
    too_long = np.flatnonzero(live > columns)
    if len(too_long):
        row = too_long[0]
        raise ValueError(f"lengths[{row}] is {live[row]}, but scores have {columns} columns")
    return np.maximum(live, 0)
