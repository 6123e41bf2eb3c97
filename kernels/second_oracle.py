"""A second oracle of top-k, slower and written another way, against which `oracle` is checked.

It compares scores as numbers, kind by kind, and never as keys: an entry is selected where fewer than k others beat it.
"""

import math
import struct
from collections.abc import Sequence
from enum import IntEnum
from fractions import Fraction
from functools import cache
from typing import NamedTuple

SMALLEST_NORMAL = Fraction(1, 2**126)


class Kind(IntEnum):
    """Kinds of float32 in the order of IEEE 754, lowest first."""

    NEGATIVE_NAN = 0
    NEGATIVE_INFINITY = 1
    NEGATIVE = 2
    NEGATIVE_ZERO = 3
    POSITIVE_ZERO = 4
    POSITIVE = 5
    POSITIVE_INFINITY = 6
    POSITIVE_NAN = 7


class Rank(NamedTuple):
    """Where a score ranks: by kind, and within a kind by size."""

    kind: Kind
    size: Fraction
    """The number itself; for NaN its payload, for -NaN less than 0; 0 where all of a kind are the same."""


@cache
def rank_of(score: bytes, order: str) -> Rank:
    """The rank of a float32 that lies in memory as these four bytes, the lowest first."""
    number = struct.unpack("<f", score)[0]
    negative = score[3] >= 0x80
    if math.isnan(number):
        payload = int.from_bytes(score[:3], "little") % 2**23  # a float64 would not keep every payload
        if negative:
            return Rank(Kind.NEGATIVE_NAN, Fraction(-payload))
        if order == "served":
            return Rank(Kind.NEGATIVE_ZERO, Fraction(0))
        return Rank(Kind.POSITIVE_NAN, Fraction(payload))
    if math.isinf(number):
        return Rank(Kind.NEGATIVE_INFINITY if negative else Kind.POSITIVE_INFINITY, Fraction(0))
    exact = Fraction(number)
    if exact == 0:
        return Rank(Kind.NEGATIVE_ZERO if negative else Kind.POSITIVE_ZERO, Fraction(0))
    if order == "served" and 0 < exact < SMALLEST_NORMAL:
        return Rank(Kind.POSITIVE_ZERO, Fraction(0))
    return Rank(Kind.NEGATIVE if negative else Kind.POSITIVE, exact)


def selected(scores: Sequence[bytes], k: int, order: str) -> list[int]:
    """The indices of one row's k best scores, ascending, then -1 up to k places.

    An entry beats another where its rank is higher, or the same at a lower index.
    """
    ranks = [rank_of(score, order) for score in scores]
    levels = {rank: level for level, rank in enumerate(sorted(set(ranks)))}
    level = [levels[rank] for rank in ranks]
    best = [
        index
        for index, own in enumerate(level)
        if sum(other > own or (other == own and at < index) for at, other in enumerate(level)) < k
    ]
    return best + [-1] * (k - len(best))


def float32_scores(row: bytes) -> list[bytes]:
    """A row of float32 in memory, little-endian, score by score."""
    return [row[at : at + 4] for at in range(0, len(row), 4)]


def bfloat16_scores(row: bytes) -> list[bytes]:
    """A row of bfloat16 in memory, little-endian, as the float32 that have zeros for the lower half of their bits."""
    return [b"\0\0" + row[at : at + 2] for at in range(0, len(row), 2)]
