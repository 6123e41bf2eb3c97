"""The second oracle of top-k, and that the first one agrees with it."""

import ast
import struct
import sys
from fractions import Fraction

import numpy as np
import pytest

from campaign.kernels import second_oracle
from campaign.kernels.inputs import INPUT_CLASSES, classes_aimed_at
from campaign.kernels.oracle import sort_keys, top_k
from campaign.kernels.second_oracle import Kind, Rank, bfloat16_scores, float32_scores, rank_of, selected

ORDERS = ("ieee", "served")
every_order = pytest.mark.parametrize("order", ORDERS)
every_class = pytest.mark.parametrize("name", INPUT_CLASSES | classes_aimed_at(1))


def drawn(name: str, k: int, rows: int, length: int) -> np.ndarray:
    """The scores of the input class `name`, always the same ones."""
    return (INPUT_CLASSES | classes_aimed_at(k))[name](np.random.default_rng(length), rows, length)


def bytes_of(bits: int) -> bytes:
    """A float32 in memory, from its bits."""
    return bits.to_bytes(4, "little")


def slow_top_k(scores: np.ndarray, k: int, lengths: list[int], order: str) -> list[list[int]]:
    """What the second oracle selects in each row."""
    apart = bfloat16_scores if scores.dtype == np.uint16 else float32_scores
    return [
        selected(apart(row[: max(length, 0)].tobytes()), k, order) for row, length in zip(scores, lengths, strict=True)
    ]


@every_order
@every_class
def test_oracles_agree_on_each_class(name, order):
    """On each class, the two oracles select the same columns, at lengths on either side of k and below 0."""
    for k in (1, 5, 32):
        lengths = [75, k + 1, k, k - 1, 0, -1]
        scores = drawn(name, k, len(lengths), 75)
        assert top_k(scores, k, lengths, order).tolist() == slow_top_k(scores, k, lengths, order), k


@every_order
@every_class
def test_oracles_agree_on_bfloat16(name, order):
    """On each class cut to bfloat16, the two oracles select the same columns."""
    scores = (drawn(name, 9, 3, 75).view(np.uint32) >> 16).astype(np.uint16)
    assert top_k(scores, 9, order=order).tolist() == slow_top_k(scores, 9, [75] * 3, order)


@every_order
def test_oracles_rank_any_two_scores_alike(order):
    """Of any two awkward or drawn scores, both oracles rank the same one higher, or both call it a tie."""
    edges = [0, 1, 0x7F_FFFF, 0x80_0000, 0x3F80_0000, 0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001, 0x7FC0_0000, 0x7FFF_FFFF]
    bits = np.array([sign | edge for sign in (0, 1 << 31) for edge in edges], np.uint32)
    bits = np.concatenate([bits, np.random.default_rng(3).integers(0, 2**32, 120, np.uint32)])
    ranks = [rank_of(bytes_of(int(each)), order) for each in bits]
    keys = sort_keys(bits.view(np.float32)[None], order)[0].tolist()
    for rank, key in zip(ranks, keys, strict=True):
        assert [rank > other for other in ranks] == [key > other for other in keys]
        assert [rank == other for other in ranks] == [key == other for other in keys]


@every_order
def test_oracles_rank_all_bfloat16_alike(order):
    """All 65,536 bfloat16, sorted by the second oracle's ranks, have keys that never fall and tie where ranks tie."""
    ranks = [rank_of(score, order) for score in bfloat16_scores(np.arange(2**16, dtype="<u2").tobytes())]
    keys = sort_keys(np.arange(2**16, dtype=np.uint16), order)
    place = {rank: number for number, rank in enumerate(sorted(set(ranks)))}
    _, places = np.unique(keys, return_inverse=True)
    assert places.tolist() == [place[rank] for rank in ranks]


@pytest.mark.parametrize(
    "bits, ieee, served",
    [
        (0x0000_0001, Rank(Kind.POSITIVE, Fraction(1, 2**149)), Rank(Kind.POSITIVE_ZERO, Fraction(0))),
        (0x8000_0001, Rank(Kind.NEGATIVE, Fraction(-1, 2**149)), Rank(Kind.NEGATIVE, Fraction(-1, 2**149))),
        (0x0080_0000, Rank(Kind.POSITIVE, Fraction(1, 2**126)), Rank(Kind.POSITIVE, Fraction(1, 2**126))),
        (0x7FA0_0001, Rank(Kind.POSITIVE_NAN, Fraction(0x20_0001)), Rank(Kind.NEGATIVE_ZERO, Fraction(0))),
        (0xFFC0_0000, Rank(Kind.NEGATIVE_NAN, Fraction(-0x40_0000)), Rank(Kind.NEGATIVE_NAN, Fraction(-0x40_0000))),
    ],
)
def test_score_has_the_rank_of_its_order(bits, ieee, served):
    """Subnormals and NaN of either sign have the kind and size that the order gives them."""
    assert rank_of(bytes_of(bits), "ieee") == ieee
    assert rank_of(bytes_of(bits), "served") == served


def test_ties_go_to_the_lower_index():
    """Of three scores that tie at the second place, the first is selected."""
    assert selected([struct.pack("<f", score) for score in (1, 1, 5, 1)], 2, "ieee") == [0, 2]


def test_short_row_is_padded():
    """A row of fewer than k scores is selected whole, and -1 fills the other places."""
    assert selected([struct.pack("<f", score) for score in (1, 2)], 4, "ieee") == [0, 1, -1, -1]


def test_second_oracle_shares_nothing_with_the_first():
    """The second oracle imports Python's own modules only: no NumPy, and nothing of the first."""
    with open(second_oracle.__file__, encoding="utf-8") as file:
        nodes = list(ast.walk(ast.parse(file.read())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
