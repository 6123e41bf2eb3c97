"""The oracle of the masked top-k, the candidates that it is asked about, and the emulation of F."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.kernels.emulated_cluster import Block
from campaign.kernels.emulation import KERNEL_SIZES, Sizes
from campaign.kernels.inputs import INPUT_CLASSES, classes_aimed_at
from campaign.kernels.masked_emulation import emulated_masked_top_k
from campaign.kernels.masks import BLOCK, CANDIDATE_CLASSES, blocks_of, candidate_flags, masked, masked_top_k
from campaign.kernels.oracle import top_k
from campaign.kernels.shapes import Shape

ORDERS = ("ieee", "served")
SHAPES = (Shape(1, 64, 2), Shape(1, 64, 0), Shape(4, 32, 1))
TINY = Sizes(bin_bits=8, group_bits=4, step_bits=21, listed=8, listed_together=4, ranked=2, digit_bits=4, passes=8)
LARGEST = 2**31 - 1
NEGATIVE_INFINITY = 0xFF80_0000

every_candidates = pytest.mark.parametrize("name", CANDIDATE_CLASSES)
every_order = pytest.mark.parametrize("order", ORDERS)


def ids(*candidates: int) -> np.ndarray:
    """One row of candidate ids."""
    return np.array([candidates], np.int32)


def flagged(columns: int, *candidates: int) -> list[int]:
    """The columns that one row of candidates keeps."""
    return np.flatnonzero(candidate_flags(ids(*candidates), columns)[0]).tolist()


def chosen(scores: np.ndarray, k: int, candidates: np.ndarray, **options) -> list[int]:
    """The one row that `masked_top_k` returns."""
    (row,) = masked_top_k(scores, k, options.pop("lengths", None), candidates, **options).tolist()
    return row


def rising(columns: int) -> np.ndarray:
    """One row of scores that rise with the column."""
    return np.arange(columns, dtype=np.float32)[None]


def drawn(name: str, k: int, rows: int, length: int) -> np.ndarray:
    """The scores of the input class `name`, always the same ones."""
    return (INPUT_CLASSES | classes_aimed_at(k))[name](np.random.default_rng(length), rows, length)


def candidates_of(name: str, rows: int, columns: int) -> np.ndarray:
    """The candidates of the class `name`, always the same ones."""
    return CANDIDATE_CLASSES[name](np.random.default_rng(columns), rows, columns)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(columns=st.integers(1, 60), row=st.lists(st.integers(-3, 9) | st.sampled_from([-(2**31), LARGEST]), max_size=8))
def test_column_is_kept_where_a_block_covers_it(columns, row):
    """A column is kept where some id of 0 or more has it among its eight columns, those past the row being the last."""
    covered = {min(each * BLOCK + j, columns - 1) for each in row if each >= 0 for j in range(BLOCK)}
    assert flagged(columns, *row) == sorted(covered)


def test_duplicates_keep_what_one_keeps():
    """An id that comes three times keeps the columns that it keeps once."""
    assert flagged(40, 2, 2, 2) == flagged(40, 2) == list(range(16, 24))


def test_negative_ids_keep_nothing():
    """Padding, -1 or any other negative id, keeps no column."""
    assert flagged(40, -1, -2, -(2**31)) == []


@pytest.mark.parametrize("past", [5, 6, LARGEST])
def test_id_past_the_last_block_keeps_the_last_column(past):
    """An id past the last block keeps the last column alone, however far past it is."""
    assert flagged(37, past) == [36]


def test_last_block_may_be_partial():
    """The id of a last block of five columns keeps those five."""
    assert flagged(37, 4) == [32, 33, 34, 35, 36]


@pytest.mark.parametrize("dtype, hidden", [(np.uint32, NEGATIVE_INFINITY), (np.uint16, 0xFF80)])
def test_masked_scores_are_bits_that_stay_or_negative_infinity(dtype, hidden):
    """Kept columns keep their bits, NaN and all; the others are -inf; the scores given are left as they were."""
    bits = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (3, 43), dtype, endpoint=True)
    scores = bits.view(np.float32) if dtype == np.uint32 else bits
    before = scores.tobytes()
    candidates = np.array([[0, 3], [5, -1], [9, 1]], np.int32)
    want = np.where(candidate_flags(candidates, 43), bits, dtype(hidden))
    assert masked(scores, candidates).tobytes() == want.tobytes()
    assert scores.tobytes() == before


def test_best_of_the_kept_columns_are_selected():
    """Of rising scores, the last columns of the kept blocks are selected."""
    assert chosen(rising(64), 3, ids(6, 1, 4)) == [53, 54, 55]


def test_hidden_columns_fill_a_selection():
    """Where fewer than k columns are kept, the first hidden ones are selected beside them."""
    assert chosen(rising(64), 11, ids(2)) == [0, 1, 2, *range(16, 24)]


def test_hidden_columns_outrank_a_kept_negative_nan():
    """A -NaN that is kept is selected after every hidden column."""
    scores = rising(24)
    scores.view(np.uint32)[0, 8:16] = 0xFFC0_0000
    assert chosen(scores, 16, ids(1)) == [*range(8), *range(16, 24)]


def test_hidden_nan_is_negative_infinity():
    """A +NaN that is hidden ranks as any other hidden column."""
    scores = rising(24)
    scores.view(np.uint32)[0, 20] = 0x7FC0_0000
    assert chosen(scores, 8, ids(1)) == list(range(8, 16))


def test_only_live_columns_are_selected():
    """A kept block behind the length is not selected, and a row of at most k live columns selects all of them."""
    assert chosen(rising(64), 4, ids(1, 7), lengths=[20]) == [12, 13, 14, 15]
    assert chosen(rising(64), 4, ids(1, 7), lengths=[3]) == [0, 1, 2, -1]


@every_order
def test_orders_are_those_of_the_oracle(order):
    """The masked selection is the oracle's selection of the masked row, in either order."""
    scores, candidates = drawn("kth_near_zero", 9, 4, 100), candidates_of("sorted_half", 4, 100)
    assert np.array_equal(
        masked_top_k(scores, 9, [100, 50, 9, 0], candidates, order),
        top_k(masked(scores, candidates), 9, [100, 50, 9, 0], order),
    )


@pytest.mark.parametrize(
    "scores, candidates, reason",
    [
        (
            np.zeros((2, 8)),
            np.zeros((2, 1), np.int32),
            "scores must be float32, or uint16 that hold bfloat16, got float64",
        ),
        (np.zeros((2, 8), np.float32), np.zeros((2, 1)), r"candidates must be \[rows, ids\] int32, got float64"),
        (np.zeros((2, 8), np.float32), np.zeros(2, np.int32), r"candidates must be .* of shape \(2,\)"),
        (np.zeros((2, 8), np.float32), np.zeros((3, 1), np.int32), "one row for each row of scores: expected 2, got 3"),
    ],
)
def test_wrong_call_is_refused(scores, candidates, reason):
    """Scores or candidates of another type or shape are refused, with what was found."""
    with pytest.raises((TypeError, ValueError), match=reason):
        masked_top_k(scores, 2, None, candidates)


@every_candidates
def test_candidates_are_contiguous_int32(name):
    """Each class of candidates gives every row its ids, down to rows of one column."""
    for rows, columns in ((1, 1), (3, 8), (2, 9), (4, 203)):
        made = candidates_of(name, rows, columns)
        assert made.dtype == np.int32 and made.ndim == 2 and len(made) == rows and made.shape[1] >= 1
        assert made.flags.c_contiguous


@every_candidates
def test_equal_seeds_give_equal_candidates(name):
    """Two generators of one seed draw the same candidates."""
    assert candidates_of(name, 3, 100).tobytes() == candidates_of(name, 3, 100).tobytes()


KEPT_OF_43 = {
    "every_block": 43,
    "last_column_alone": 41,
    "only_out_of_range": 1,
    "without_the_last_block": 40,
    "only_the_last_block": 3,
    "nothing": 0,
}


@pytest.mark.parametrize("name, kept", KEPT_OF_43.items())
def test_class_keeps_what_its_name_says(name, kept):
    """Of 43 columns, five blocks and one of three columns, each class keeps as many as it says."""
    assert candidate_flags(candidates_of(name, 2, 43), 43).sum(axis=1).tolist() == [kept, kept]


def test_classes_hold_what_they_are_for():
    """There are candidates out of order, twice, padded, and past the last block."""
    last = blocks_of(203) - 1
    unsorted, twice, out = (candidates_of(name, 1, 203)[0] for name in ("unsorted_half", "duplicates", "out_of_range"))
    assert (np.diff(unsorted) < 0).any()
    assert len(np.unique(twice)) == len(twice) // 2
    assert (out > last).sum() == 3
    assert (candidates_of("padded", 1, 203) == -1).sum() == candidates_of("padded", 1, 203).size // 2
    assert (candidates_of("padding_between", 1, 203) < 0).sum() == candidates_of("unsorted_half", 1, 203).size


@every_candidates
def test_emulation_agrees_with_the_oracle(name):
    """On each class of candidates and of scores, F selects what the two masking kernels and a selection would."""
    for number, scores_name in enumerate(INPUT_CLASSES | classes_aimed_at(20)):
        shape, order, columns = SHAPES[number % 3], ORDERS[number % 2], (160, 203, 297, 420)[number % 4]
        scores, candidates = drawn(scores_name, 20, 3, columns), candidates_of(name, 3, columns)
        lengths = [columns, columns // 2, 20 + number % 9]
        options = {"shape": shape, "head": number % 4, "seed": number, "sizes": (TINY, KERNEL_SIZES)[number % 5 == 0]}
        got, _ = emulated_masked_top_k(scores, 20, lengths, candidates, order, **options)
        assert np.array_equal(got, masked_top_k(scores, 20, lengths, candidates, order)), scores_name


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(data=st.data(), order=st.sampled_from(ORDERS), shape=st.sampled_from(SHAPES))
def test_emulation_agrees_on_any_candidates(data, order, shape):
    """Whatever the scores' bits, the candidates, the length and k, F selects what the oracle selects."""
    columns, seed = data.draw(st.integers(1, 200)), data.draw(st.integers(0, 2**30))
    few = np.array([0, 1, 0x3F80_0000, 0x7FC0_0000, NEGATIVE_INFINITY, 0xFFC0_0000], np.uint32)
    scores = np.random.default_rng(seed).choice(few, (1, columns)).view(np.float32)
    row = data.draw(st.lists(st.integers(-2, blocks_of(columns) + 1) | st.just(LARGEST), min_size=1, max_size=30))
    lengths, k = [data.draw(st.integers(-1, columns))], data.draw(st.integers(1, 50))
    options = {"shape": shape, "head": seed % 4, "seed": seed, "sizes": TINY}
    got, _ = emulated_masked_top_k(scores, k, lengths, ids(*row), order, **options)
    assert got.tolist() == masked_top_k(scores, k, lengths, ids(*row), order).tolist()


@every_order
def test_bfloat16_agrees_with_the_oracle(order):
    """F selects from bfloat16 what the oracle selects."""
    scores = (drawn("nan_payloads", 20, 3, 203).view(np.uint32) >> 16).astype(np.uint16)
    candidates = candidates_of("duplicates", 3, 203)
    got, _ = emulated_masked_top_k(scores, 20, None, candidates, order, shape=Shape(4, 32, 1))
    assert got.tolist() == masked_top_k(scores, 20, None, candidates, order).tolist()


@pytest.mark.parametrize(
    "scores, candidates, reads",
    [
        ("normal", "sorted_half", False),
        ("normal", "duplicates", False),
        ("normal", "out_of_range", False),
        ("normal", "three_blocks", True),
        ("normal", "as_many_columns_as_chosen", True),
        ("normal", "nothing", True),
        ("normal", "last_column_alone", True),
        ("k_finite", "every_block", False),
        ("k_less_one_finite", "every_block", True),
        ("all_negative_infinity", "every_block", True),
    ],
)
def test_whole_row_is_read_only_where_hidden_columns_may_count(scores, candidates, reads):
    """F reads the whole row where a hidden column may count, or the last one is kept alone; else its blocks."""
    row = drawn(scores, 32, 1, 203)
    if candidates == "out_of_range":
        ids_of_row = np.append(candidates_of("sorted_half", 1, 203), [[blocks_of(203) - 1, LARGEST]], axis=1)
    elif candidates == "as_many_columns_as_chosen":
        ids_of_row = ids(1, 4, 7, 9)
    else:
        ids_of_row = candidates_of(candidates, 1, 203)
    _, whole = emulated_masked_top_k(row, 32, None, ids_of_row.astype(np.int32), shape=Shape(4, 32, 1))
    assert whole.tolist() == [reads]


def test_last_column_that_is_not_live_changes_no_path():
    """An id past the last block sends no row to the whole-row path that ends before the last column."""
    options = {"shape": Shape(4, 32, 1)}
    candidates = candidates_of("last_column_alone", 2, 203)
    _, whole = emulated_masked_top_k(drawn("normal", 20, 2, 203), 20, [203, 202], candidates, **options)
    assert whole.tolist() == [True, False]


def short_round_then_whole_row(seed: int) -> None:
    """Selects from blocks that are mostly -inf: one key fills the crossing bin, and then the whole row is read."""
    scores = np.full((1, 1000), -np.inf, np.float32)
    scores[0, ::100] = 1
    candidates = candidates_of("sorted_half", 1, 1000)
    options = {"shape": Shape(8, 32, 1), "seed": seed, "sizes": Sizes(listed=64, listed_together=32, ranked=4)}
    got, whole = emulated_masked_top_k(scores, 20, None, candidates, **options)
    assert whole.all()
    assert got.tolist() == masked_top_k(scores, 20, None, candidates).tolist()


def test_whole_row_is_read_after_a_short_round():
    """Where a round ended early because all of a bin had one key, the selection from the whole row is right."""
    for seed in range(10):
        short_round_then_whole_row(seed)


def test_blocks_that_do_not_meet_before_the_whole_row_are_found(monkeypatch):
    """Without a barrier after a short round, a block that is ahead pushes counts into a round that is not over."""

    def at_once(self):
        return
        yield

    monkeypatch.setattr(Block, "meet", at_once)
    with pytest.raises(AssertionError, match=r"more than were expected|not written in use"):
        for seed in range(10):
            short_round_then_whole_row(seed)


def test_mailbox_whose_parity_is_that_of_the_round_is_found(monkeypatch):
    """A short round does not use the mailbox of bins: a wait there for the parity of the round would not wait."""
    monkeypatch.setattr(
        Block, "groups", property(lambda self: self.rounds - 1, lambda self, value: None), raising=False
    )
    with pytest.raises(AssertionError, match="wait for phase 2 ended by phase 0"):
        short_round_then_whole_row(0)
