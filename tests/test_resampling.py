"""Permutations, ranks, resamples and rows left out: against SciPy, and counted by hand on small arms."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.served import repeatable

from campaign.analysis import resampling
from campaign.analysis.intervals import difference
from campaign.analysis.resampling import (
    exact_row_bootstrap,
    hodges_lehmann,
    leave_one_out,
    mann_whitney,
    permutation_test,
    placebo,
)

FEW = st.lists(st.integers(0, 6).map(lambda n: n / 10), min_size=1, max_size=5)
"""Values of few rows, with many ties."""
YARDSTICK = np.random.default_rng(5).normal(14.43, 0.088, 18)
OFF, ON = np.array([14.451, 14.376]), np.array([14.171, 14.097, 14.049, 14.145])


def splits(first: list[float], second: list[float]):
    """Every split of the values into two such arms."""
    both, n = [*first, *second], len(first) + len(second)
    for chosen in itertools.combinations(range(n), len(first)):
        yield [both[i] for i in chosen], [both[i] for i in range(n) if i not in chosen]


def u(first: list[float], second: list[float]) -> float:
    return sum((x > y) + (x == y) / 2 for x in first for y in second)


# ---- permutation


@repeatable
@given(FEW, FEW)
def test_permutation_test_counts_every_split(first, second):
    """As counted with whole tenths, in which equal differences are equal."""

    def apart(x, y):
        return abs(round(10 * sum(x)) * len(y) - round(10 * sum(y)) * len(x))

    every = [apart(x, y) for x, y in splits(first, second)]
    found = permutation_test(np.array(first), np.array(second))
    assert (found.count, found.total) == (sum(one >= apart(first, second) for one in every), len(every))
    assert found.exact and found.p == found.count / found.total


def test_permutation_test_agrees_with_scipy():
    def apart(x, y, axis):
        return abs(x.mean(axis=axis) - y.mean(axis=axis))

    first, second = YARDSTICK[:5] - 0.08, YARDSTICK[5:]
    of_scipy = stats.permutation_test((first, second), apart, alternative="greater", vectorized=True)
    assert permutation_test(first, second).p == pytest.approx(of_scipy.pvalue, rel=1e-9)


def test_too_many_splits_are_drawn_with_a_seed_and_say_so(monkeypatch):
    """Drawn, p lies within a few of its standard errors of the exact one; the same seed gives the same p."""
    first, second = YARDSTICK[:9] - 0.05, YARDSTICK[9:]
    exact = permutation_test(first, second)
    monkeypatch.setattr(resampling, "MOST_EXACT", 1000)
    drawn = permutation_test(first, second, seed=3)
    assert not drawn.exact and drawn.total == resampling.DRAWS
    assert abs(drawn.p - exact.p) < 4 * drawn.se
    assert "100,000 of 48,620 splits drawn with seed 3" in drawn.warnings
    assert permutation_test(first, second, seed=3) == drawn != permutation_test(first, second, seed=4)


def test_rows_that_are_all_the_same_are_split_alike():
    """Three times 0.1 is 0.3, whatever floats make of it."""
    assert permutation_test(np.array([0.3]), np.array([0.1 * 3, 0.3])).p == 1


def test_a_p_that_is_drawn_is_never_zero(monkeypatch):
    monkeypatch.setattr(resampling, "MOST_EXACT", 1000)
    assert permutation_test(YARDSTICK[:9] + 100, YARDSTICK[9:]).p > 0


# ---- ranks


@repeatable
@given(FEW, FEW)
def test_mann_whitney_counts_every_split_with_ties_at_their_mid_ranks(first, second):
    middle = len(first) * len(second) / 2
    every = [abs(u(x, y) - middle) for x, y in splits(first, second)]
    found = mann_whitney(np.array(first), np.array(second))
    assert found.u == u(first, second)
    assert found.p == pytest.approx(sum(one >= abs(found.u - middle) for one in every) / len(every), rel=1e-12)


@repeatable
@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=40, unique=True), st.integers(2, 10))
def test_mann_whitney_without_ties_is_that_of_scipy(values, cut):
    first, second = np.array(values[: min(cut, len(values) - 2)]), np.array(values[min(cut, len(values) - 2) :])
    of_scipy = stats.mannwhitneyu(first, second, method="exact")
    found = mann_whitney(first, second)
    assert (found.u, found.p) == pytest.approx((of_scipy.statistic, of_scipy.pvalue), rel=1e-9)


def test_very_many_rows_have_an_approximate_p_and_say_so():
    values = np.random.default_rng(1).normal(size=300)
    found = mann_whitney(values[:100], values[100:])
    assert not found.exact and "normal approximation" in found.warnings[0]
    assert mann_whitney(np.ones(150), np.ones(150)).p == 1


# ---- Hodges and Lehmann


def test_four_rows_against_two_reach_no_interval_at_95():
    """They reach 86.7 percent: the interval is withheld, and the level that they can reach is said."""
    found = hodges_lehmann(OFF, ON, 95)
    assert found.estimate.value is None and found.estimate.lo is None
    assert "at most 86.7 percent" in found.estimate.reason
    assert found.most == pytest.approx(100 * (1 - 2 / 15))
    assert found.median == pytest.approx(0.293)


def test_interval_at_the_level_that_is_reached():
    """At that level and below it runs from the least difference to the greatest, and keeps the level reached."""
    for level in (80, hodges_lehmann(OFF, ON, 95).most):
        found = hodges_lehmann(OFF, ON, level).estimate
        assert (found.lo, found.hi) == pytest.approx((14.376 - 14.171, 14.451 - 14.049))
        assert found.level == pytest.approx(100 * 13 / 15)


@repeatable
@given(st.lists(st.integers(0, 10**4), min_size=8, max_size=14, unique=True), st.sampled_from([80, 90, 95]))
def test_interval_holds_the_shifts_that_the_rank_test_does_not_reject(values, level):
    """Just inside it p exceeds what the level leaves, just outside it does not."""
    first, second = np.array(values[:4], dtype=float), np.array(values[4:], dtype=float)
    found = hodges_lehmann(first, second, level).estimate
    if found.value is None:
        return
    assert found.level >= level
    for end, inside in ((found.lo, 1e-6), (found.hi, -1e-6)):
        assert mann_whitney(first - end - inside, second).p > 1 - found.level / 100 + 1e-12
        assert mann_whitney(first - end + inside, second).p <= 1 - found.level / 100 + 1e-12


def test_rows_that_do_not_vary_have_no_interval_of_one_point():
    """Not even one as wide as the dust of floats."""
    for first, second in ((np.full(6, 2.0), np.full(6, 1.0)), (np.array([0.3, 0.1 * 3] * 3), np.full(6, 0.3))):
        found = hodges_lehmann(first, second, 95)
        assert found.estimate.value is None and "are the same" in found.estimate.reason


# ---- bootstrap


def test_bootstrap_of_few_rows_takes_every_resample():
    """Against all pairs of resamples, written out."""
    first, second = [1.0, 2.0, 4.0], [0.5, 0.75]
    means = [
        np.mean(x) - np.mean(y) for x in itertools.product(first, repeat=3) for y in itertools.product(second, repeat=2)
    ]
    found = exact_row_bootstrap(np.array(first), np.array(second), 90)
    assert found.resamples == len(means) == 108 and found.exact
    assert found.estimate.se == pytest.approx(np.std(means))
    assert (found.estimate.lo, found.estimate.hi) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])))


@repeatable
@given(st.lists(st.integers(0, 99), min_size=2, max_size=4), st.lists(st.integers(0, 99), min_size=2, max_size=4))
def test_bootstrap_spread_is_the_plug_in_one(first, second):
    """Over all resamples the variance is each arm's, divided by n, over its rows."""
    x, y = np.array(first, dtype=float), np.array(second, dtype=float)
    found = exact_row_bootstrap(x, y)
    if found.estimate.value is not None:
        assert found.estimate.se == pytest.approx(math.sqrt(x.var() / len(x) + y.var() / len(y)))


def test_many_rows_are_resampled_with_a_seed_and_say_so():
    found = exact_row_bootstrap(YARDSTICK, ON, seed=1)
    assert not found.exact and "drawn with seed 1" in found.estimate.warnings[0]
    assert found.estimate.se == pytest.approx(math.sqrt(YARDSTICK.var() / 18 + ON.var() / 4), rel=0.02)
    assert found == exact_row_bootstrap(YARDSTICK, ON, seed=1)


def test_a_single_row_is_not_resampled():
    """Resampling would take it for exactly known."""
    found = exact_row_bootstrap(OFF[:1], ON)
    assert found.estimate.value is None and "at least two rows in each arm" in found.estimate.reason


# ---- leave one out


def test_every_row_of_both_arms_is_left_out_by_name():
    found = leave_one_out(OFF, ON, 95, second_names=["r2", "r3", "r4", "r5"])
    assert [(one.arm, one.row) for one in found] == [
        *(("first", "1"), ("first", "2")),
        *(("second", "r2"), ("second", "r3"), ("second", "r4"), ("second", "r5")),
    ]
    assert found[2].estimate == difference(OFF, ON[1:], 95)
    assert found[1].estimate.warnings  # one row is left, which borrows the other arm's variance


def test_an_arm_that_loses_its_only_row_is_unresolved():
    found = leave_one_out(OFF[:1], ON, 95)
    assert found[0].estimate.value is None and "at least one row" in found[0].estimate.reason


def test_names_that_are_too_few_are_refused():
    with pytest.raises(ValueError, match="expected one each"):
        leave_one_out(OFF, ON, 95, ["only"])


# ---- placebo


@pytest.mark.parametrize("bar", [0, 0.05])
def test_placebo_counts_the_splits_that_the_interval_would_carry(bar):
    """Split by split with the interval of the readings."""
    values = YARDSTICK[:9]
    carried = 0
    for chosen in itertools.combinations(range(9), 3):
        lower = difference(np.delete(values, chosen), values[list(chosen)], 80).lo
        carried += lower > 0 and lower >= bar
    found = placebo(values, 3, bar, 80)
    assert (found.carried, found.splits) == (carried, 84)
    assert carried > 0
    assert found.expected == pytest.approx(0.1)


def test_placebo_carries_as_often_as_it_should_on_average():
    """Over many yardsticks the share is half of what the level leaves; of one yardstick it may be more."""
    rng = np.random.default_rng(11)
    shares = [placebo(rng.normal(size=18), 4).share for _ in range(200)]
    assert np.mean(shares) == pytest.approx(0.025, abs=4 * np.std(shares) / math.sqrt(200))
    assert max(shares) > 0.025


def test_placebo_of_many_rows_is_drawn_and_says_so(monkeypatch):
    exact = placebo(YARDSTICK, 4, level=80)
    monkeypatch.setattr(resampling, "MOST_EXACT", 1000)
    drawn = placebo(YARDSTICK, 4, level=80)
    assert exact.splits == 3060 and not drawn.exact
    assert abs(drawn.share - exact.share) < 4 * drawn.se
    assert "drawn with seed 0" in drawn.warnings[0]


def test_placebo_is_skipped_below_eight_rows():
    found = placebo(YARDSTICK[:7], 2)
    assert found.share is None and found.reason == "need at least 8 yardstick rows, have 7"


def test_placebo_of_rows_that_do_not_vary_is_skipped():
    assert "do not vary" in placebo(np.full(18, 0.1 * 3), 4).reason


def test_placebo_needs_rows_to_pick_and_to_leave():
    with pytest.raises(ValueError, match="one left over"):
        placebo(YARDSTICK, 18)


# ---- all of them


@repeatable
@given(FEW, FEW)
def test_swapping_the_arms_turns_the_sign_and_no_p(first, second):
    x, y = np.array(first), np.array(second)
    assert permutation_test(x, y) == permutation_test(y, x)
    assert mann_whitney(x, y).p == pytest.approx(mann_whitney(y, x).p, rel=1e-12)
    assert hodges_lehmann(x, y, 50).median == pytest.approx(-hodges_lehmann(y, x, 50).median)


@pytest.mark.parametrize("second", [[], [14.0, math.nan]])
def test_rows_that_lack_give_no_number_and_a_reason(second):
    x, y = OFF, np.array(second)
    for found in (permutation_test(x, y), mann_whitney(x, y)):
        assert found.p is None and found.reason
    for estimate in (hodges_lehmann(x, y, 95).estimate, exact_row_bootstrap(x, y).estimate):
        assert estimate.value is None and estimate.reason
    assert placebo(np.array([*YARDSTICK, math.nan]), 4).reason
