"""The oracle of top-k, the inputs that it is asked about, and the comparison of selections."""

import ast
import sys
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.kernels import compare as compare_module
from campaign.kernels import inputs, oracle
from campaign.kernels.compare import Comparison, Difference, compare
from campaign.kernels.inputs import INPUT_CLASSES, classes_aimed_at
from campaign.kernels.oracle import sort_keys, top_k, widened
from campaign.kernels.records import EQUALITY
from campaign.kernels.second_oracle import float32_scores, selected

ORDERS = ("ieee", "served")
K = (1, 7, 32)

SIGN = 0x8000_0000
INFINITY = 0x7F80_0000
NAN = 0x7FC0_0000
SMALLEST_NORMAL = 0x0080_0000
LARGEST_SUBNORMAL = SMALLEST_NORMAL - 1


def slow_top_k(scores: np.ndarray, k: int, lengths: list[int] | None = None, order: str = "ieee") -> np.ndarray:
    """What `top_k` should return for float32 `scores`: what the second oracle selects of each row's live entries."""
    found = []
    for row, scores_of_row in enumerate(scores):
        entries = float32_scores(scores_of_row.tobytes())
        live = entries if lengths is None else entries[: max(lengths[row], 0)]
        found.append(selected(live, k, order))
    return np.array(found, np.int32)


def scores_of(*bits: int) -> np.ndarray:
    """One row of float32 that have these bits."""
    return np.array([bits], np.uint32).view(np.float32)


def row_of(*scores: float) -> np.ndarray:
    """One row of float32 scores."""
    return np.array([scores], np.float32)


def chosen(scores: np.ndarray, k: int, **options) -> list[int]:
    """The one row that `top_k` returns."""
    (row,) = top_k(scores, k, **options).tolist()
    return row


def lengths_around(k: int) -> list[int]:
    """Row lengths at which a selection of k changes its nature, and longer odd ones."""
    return sorted({1, max(k - 1, 1), k, k + 1, k + 3, 2 * k + 1, 101})


def drawn(name: str, k: int, rows: int, length: int) -> np.ndarray:
    """The scores of the input class `name`, always the same ones."""
    make = (INPUT_CLASSES | classes_aimed_at(k))[name]
    return make(np.random.default_rng(length), rows, length)


every_class = pytest.mark.parametrize("name", INPUT_CLASSES | classes_aimed_at(1))
every_order = pytest.mark.parametrize("order", ORDERS)


@every_order
@every_class
def test_both_oracles_agree(name, order):
    """On each class, at each k and length, the oracle selects what sorting in plain Python selects."""
    for k in K:
        for length in lengths_around(k):
            scores = drawn(name, k, 3, length)
            result = compare(top_k(scores, k, order=order), slow_top_k(scores, k, order=order))
            assert result.equal, f"k {k}, length {length}: {result}"


@every_order
@every_class
def test_both_oracles_agree_on_bfloat16(name, order):
    """On each class cut to bfloat16, the oracle given the 16 bits selects what sorting the float32 selects."""
    for k in K:
        bits = (drawn(name, k, 3, 101).view(np.uint32) >> 16).astype(np.uint16)
        whole = (bits.astype(np.uint32) << 16).view(np.float32)
        result = compare(top_k(bits, k, order=order), slow_top_k(whole, k, order=order))
        assert result.equal, f"k {k}: {result}"


# Few patterns, so that ties are common, and all others.
AWKWARD_BITS = [
    sign | bits
    for sign in (0, SIGN)
    for bits in (0, 1, LARGEST_SUBNORMAL, SMALLEST_NORMAL, INFINITY - 1, INFINITY, INFINITY + 1, NAN, SIGN - 1)
]
any_bits = st.sampled_from(AWKWARD_BITS) | st.integers(0, 2**32 - 1)


@every_order
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(row=st.lists(any_bits, min_size=1, max_size=20), k=st.integers(1, 24), data=st.data())
def test_both_oracles_agree_on_any_bits(order, row, k, data):
    """Whatever a row's bits, its live length and k, the two oracles agree."""
    lengths = [data.draw(st.integers(-1, len(row)))]
    scores = scores_of(*row)
    assert top_k(scores, k, lengths, order).tolist() == slow_top_k(scores, k, lengths, order).tolist()


def test_ties_go_to_the_lower_index():
    """Of four entries that tie at the second place, the first one is taken."""
    assert chosen(row_of(1, 1, 5, 1, 1), 2) == [0, 2]


@every_order
def test_all_equal_row_selects_its_first_entries(order):
    """A row of equal scores selects columns 0 to k-1."""
    assert chosen(row_of(*[3] * 9), 4, order=order) == [0, 1, 2, 3]


def test_selection_is_written_in_ascending_index():
    """The selected columns come in ascending index, whatever the order of their scores."""
    assert chosen(row_of(7, 0, 9, 8), 3) == [0, 2, 3]


def test_descending_row_selects_its_first_entries():
    """A descending row selects columns 0 to k-1."""
    assert chosen(drawn("descending", 7, 1, 101), 7) == list(range(7))


def test_ascending_row_selects_its_last_entries():
    """An ascending row selects its last k columns."""
    assert chosen(drawn("ascending", 7, 1, 101), 7) == list(range(94, 101))


LADDER = [
    SIGN | NAN | 1,
    SIGN | NAN,
    SIGN | INFINITY,
    SIGN | SMALLEST_NORMAL,
    SIGN | LARGEST_SUBNORMAL,
    SIGN | 1,
    SIGN,
    0,
    1,
    LARGEST_SUBNORMAL,
    SMALLEST_NORMAL,
    INFINITY,
    NAN,
    NAN | 1,
]
"""Bits in the order of IEEE 754, lowest first."""


def test_ieee_order_tells_all_bits_apart():
    """From -NaN over -inf, -0, +0 and +inf to +NaN, each key of the IEEE order exceeds the one before it."""
    keys = sort_keys(scores_of(*LADDER), "ieee")[0].tolist()
    assert keys == sorted(set(keys))


def test_orders_differ_in_positive_subnormals_and_positive_nan_only():
    """Served keys are the IEEE keys, except that positive subnormals have that of +0, and +NaN that of -0."""
    scores = scores_of(*LADDER)
    ieee, served = (dict(zip(LADDER, sort_keys(scores, order)[0].tolist(), strict=True)) for order in ORDERS)
    moved = {bits: served[bits] for bits in LADDER if served[bits] != ieee[bits]}
    assert moved == {1: ieee[0], LARGEST_SUBNORMAL: ieee[0], NAN: ieee[SIGN], NAN | 1: ieee[SIGN]}


@pytest.mark.parametrize("order, taken", [("ieee", 1), ("served", 0)])
def test_positive_subnormal_is_zero_in_served_order(order, taken):
    """Behind a +0, a positive subnormal is taken in the IEEE order and loses the tie in the served one."""
    assert chosen(scores_of(0, LARGEST_SUBNORMAL), 1, order=order) == [taken]


@every_order
def test_negative_subnormals_keep_their_ranks(order):
    """In both orders a small negative subnormal is taken before a large one, and after -0."""
    assert chosen(scores_of(SIGN | LARGEST_SUBNORMAL, SIGN | 1), 1, order=order) == [1]
    assert chosen(scores_of(SIGN | 1, SIGN), 1, order=order) == [1]


@every_order
def test_negative_zero_ranks_below_positive_zero(order):
    """A +0 is taken before a -0 that has the lower index."""
    assert chosen(scores_of(SIGN, 0), 1, order=order) == [1]


@pytest.mark.parametrize("order, taken", [("ieee", 2), ("served", 1)])
def test_positive_nan_is_best_or_negative_zero(order, taken):
    """A +NaN behind -0 and +inf is the best of the IEEE order, and no better than -0 in the served one."""
    assert chosen(scores_of(SIGN, INFINITY, NAN), 1, order=order) == [taken]
    assert chosen(scores_of(SIGN, NAN), 1, order="served") == [0]


@every_order
def test_negative_nan_is_worst(order):
    """A -NaN is selected only after -inf."""
    assert chosen(scores_of(SIGN | NAN, SIGN | INFINITY), 1, order=order) == [1]


def test_bfloat16_ranks_as_its_own_16_bits_do():
    """Ranking all 65,536 bfloat16 by a rule on 16 bits, and by the key of the widened float32, is the same."""
    bits = np.arange(2**16, dtype=np.uint16)
    for order in ORDERS:
        keys = [~b & 0xFFFF if b >> 15 else b | 0x8000 for b in bits.tolist()]
        if order == "served":
            keys = [0x8000 if 1 <= b <= 0x7F else key for b, key in enumerate(keys)]
            keys = [0x7FFF if 0x7F80 < b < 0x8000 else key for b, key in enumerate(keys)]
        _, places = np.unique(keys, return_inverse=True)
        _, widened_places = np.unique(sort_keys(bits, order), return_inverse=True)
        assert np.array_equal(widened_places, places), order


def test_widened_holds_the_same_number():
    """The bfloat16 bits of 1.5 widen to the float32 1.5."""
    assert widened(np.array([0x3FC0], np.uint16)).tolist() == [1.5]


@every_order
def test_short_row_selects_all_and_is_padded(order):
    """A row of two entries selects both in index order, and -1 fills the other places."""
    assert chosen(row_of(1, 2), 5, order=order) == [0, 1, -1, -1, -1]


@every_order
def test_live_negative_infinity_is_no_padding(order):
    """Where one score is finite, the -inf of lowest index fill the selection."""
    inf = np.inf
    assert chosen(row_of(-inf, -inf, 4, -inf, -inf), 3, order=order) == [0, 1, 2]


@every_order
def test_k_of_the_whole_row_selects_every_column(order):
    """At k equal to the length, even a row of NaN and -inf selects all of its columns."""
    assert chosen(scores_of(SIGN | NAN, NAN, SIGN | INFINITY, 0), 4, order=order) == [0, 1, 2, 3]


def test_each_row_has_its_own_length():
    """Rows of length -1, 0, 1, k, k+1 and the full width each select among their own live entries."""
    scores = np.tile(row_of(1, 2, 3, 4, 5), (6, 1))
    want = [[-1, -1], [-1, -1], [0, -1], [0, 1], [1, 2], [3, 4]]
    assert top_k(scores, 2, lengths=[-1, 0, 1, 2, 3, 5]).tolist() == want


@every_order
@every_class
def test_both_oracles_agree_on_ragged_rows(name, order):
    """On each class, rows whose lengths differ select what sorting their live entries selects."""
    lengths = [101, 0, 7, 33, -1, 6, 8, 1]
    scores = drawn(name, 7, len(lengths), 101)
    result = compare(top_k(scores, 7, lengths, order), slow_top_k(scores, 7, lengths, order))
    assert result.equal, str(result)


@pytest.mark.parametrize("garbage", [NAN, INFINITY, SIGN | NAN, 0])
def test_entries_behind_the_live_ones_change_nothing(garbage):
    """Whatever stands at and behind a row's length, the selection is that of the row cut there."""
    scores = drawn("normal", 7, 4, 50)
    cut = top_k(scores[:, :40].copy(), 7)
    scores[:, 40:] = scores_of(garbage)[0, 0]
    assert compare(top_k(scores, 7, lengths=[40] * 4), cut).equal


@every_class
def test_scores_are_left_as_they_were(name):
    """The oracle writes nothing into its input."""
    scores = drawn(name, 7, 2, 50)
    before = scores.tobytes()
    top_k(scores, 7, order="served")
    assert scores.tobytes() == before


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"scores": np.zeros((2, 3))}, "scores must be float32, or uint16 that hold bfloat16, got float64"),
        ({"scores": np.zeros(3, np.float32)}, r"scores must be \[rows, columns\], got shape \(3,\)"),
        ({"k": 0}, "k must be at least 1, got 0"),
        ({"k": 1.5}, "'float' object cannot be interpreted as an integer"),
        ({"lengths": [1]}, r"lengths must be one per row: expected shape \(2,\), got \(1,\)"),
        ({"lengths": [1.0, 2.0]}, "lengths must be integers, got float64"),
        ({"lengths": [3, 4]}, r"lengths\[1\] is 4, but scores have 3 columns"),
        ({"order": "server"}, "order must be one of ieee, served, got 'server'. Did you mean served"),
    ],
)
def test_wrong_call_is_refused(change, reason):
    """A wrong argument is refused with what was found and what was expected."""
    call = {"scores": np.zeros((2, 3), np.float32), "k": 2} | change
    with pytest.raises((TypeError, ValueError), match=reason):
        top_k(**call)


@every_class
def test_class_makes_contiguous_float32_of_the_asked_shape(name):
    """Each class fills [rows, length], down to a single entry, with contiguous float32."""
    for rows, length in ((1, 1), (3, 9), (6, 101)):
        scores = drawn(name, 7, rows, length)
        assert scores.shape == (rows, length)
        assert scores.dtype == np.float32
        assert scores.flags.c_contiguous


@every_class
def test_equal_seeds_give_equal_bytes(name):
    """Two generators of one seed draw the same bytes from a class."""
    make = (INPUT_CLASSES | classes_aimed_at(7))[name]
    first, second = (make(np.random.default_rng(5), 3, 40).tobytes() for _ in range(2))
    assert first == second


@every_order
@pytest.mark.parametrize("k", K)
@pytest.mark.parametrize("name", ["ties_at_kth", "all_equal"])
def test_ties_straddle_the_kth_entry(name, k, order):
    """In a row of these classes that is longer than k, the k-th and the next entry tie."""
    keys = np.sort(sort_keys(drawn(name, k, 3, 3 * k + 1), order), axis=1)[:, ::-1]
    assert (keys[:, k - 1] == keys[:, k]).all()


@pytest.mark.parametrize("name, infinite", [("k_less_one_finite", 1), ("k_finite", 0)])
def test_as_many_scores_are_finite_as_the_class_says(name, infinite):
    """Of k - 1 finite scores all and one -inf are selected; of k finite ones, no -inf."""
    scores = drawn(name, 7, 3, 60)
    taken = np.take_along_axis(scores, top_k(scores, 7), axis=1)
    assert (np.isneginf(taken).sum(axis=1) == infinite).all()


@pytest.mark.parametrize("name, share", [("negative_infinity_90", 0.90), ("negative_infinity_99", 0.99)])
def test_masked_class_has_its_share_of_negative_infinity(name, share):
    """About the said share of a long row is -inf."""
    assert np.isneginf(drawn(name, 7, 1, 20_000)).mean() == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("name", ["positive_subnormals", "kth_near_zero", "positive_nan", "nan_payloads", "any_bits"])
def test_class_tells_the_two_orders_apart(name):
    """A kernel of the wrong order is caught by this class: the two orders select differently."""
    scores = drawn(name, 7, 6, 101)
    assert not compare(top_k(scores, 7, order="ieee"), top_k(scores, 7, order="served")).equal


def test_planted_wrong_entry_is_found():
    """One wrong entry is reported with its row, its place, what was got and what was wanted."""
    want = top_k(drawn("normal", 7, 6, 101), 7)
    got = want.copy()
    got[4, 2] = -7
    result = compare(got, want)
    assert result == Comparison(6, 1, Difference(row=4, place=2, got=-7, want=int(want[4, 2])))
    assert str(result) == f"1 of 6 rows differ; first at row 4, place 2: got -7, want {want[4, 2]}"
    assert not result.equal


def test_mismatches_are_counted_in_rows():
    """Three wrong entries in two rows are two mismatched rows, and the first is that of lowest row, then place."""
    want = np.arange(12, dtype=np.int32).reshape(3, 4)
    got = want.copy()
    got[1, 3] = got[2, 0] = got[2, 1] = 99
    assert compare(got, want) == Comparison(3, 2, Difference(row=1, place=3, got=99, want=7))


def test_same_columns_in_another_order_differ():
    """A selection of the right columns in the wrong order is a mismatch."""
    want = np.array([[3, 5]], np.int32)
    assert compare(want[:, ::-1], want).mismatched_rows == 1


def test_equal_selections_compare_equal():
    """Equal selections have no mismatched row and no first difference."""
    want = np.array([[3, 5], [1, -1]], np.int32)
    result = compare(want.copy(), want)
    assert result == Comparison(2, 0, None)
    assert result.equal
    assert str(result) == "2 rows, all equal"


@pytest.mark.parametrize(
    "got, want, reason",
    [
        (np.zeros((2, 3), np.int64), np.zeros((2, 3), np.int32), "got must be int32, got int64"),
        (np.zeros((2, 3), np.int32), np.zeros((2, 3), np.float32), "want must be int32, got float32"),
        (np.zeros((2, 3), np.int32), np.zeros((2, 4), np.int32), r"got shapes \(2, 3\) and \(2, 4\)"),
        (np.zeros(3, np.int32), np.zeros(3, np.int32), r"must both be \[rows, k\]"),
        (np.zeros((0, 3), np.int32), np.zeros((0, 3), np.int32), "nothing to compare"),
    ],
)
def test_selections_that_cannot_be_compared_are_refused(got, want, reason):
    """Another dtype, another shape, or nothing at all is refused, and never counts as equal."""
    with pytest.raises((TypeError, ValueError), match=reason):
        compare(got, want)


def test_comparison_counts_what_the_records_hold():
    """The counts of a comparison are columns of the equality records, under the same names."""
    assert {field.name for field in fields(Comparison)} & set(EQUALITY["columns"]) == {"rows", "mismatched_rows"}


@pytest.mark.parametrize("module", [oracle, inputs, compare_module], ids=lambda module: module.__name__)
def test_module_needs_numpy_alone(module):
    """The oracle, its inputs and the comparison import Python's own modules, NumPy and campaign.kernels only."""
    with open(module.__file__, encoding="utf-8") as file:
        nodes = list(ast.walk(ast.parse(file.read())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    outside = {name for name in names if name.partition(".")[0] not in {*sys.stdlib_module_names, "numpy"}}
    assert {name for name in outside if not name.startswith("campaign.kernels.")} == set()
