"""Shares of counts, against SciPy, statsmodels and the sums that define them."""

import gc
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from tests.served import repeatable

from campaign.analysis.proportions import (
    clopper_pearson,
    early_stopping_samples,
    failure_bound,
    fisher,
    holm,
    mismatch_bound,
    wilson,
    zero_failure_bound,
)

COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LEVELS = st.sampled_from([80.0, 90.0, 95.0, 99.0])


@repeatable
@given(COUNTS, LEVELS)
def test_intervals_agree_with_statsmodels(counts, level):
    """Wilson's and the exact interval are those of another program, at every level."""
    for mine, method in ((wilson, "wilson"), (clopper_pearson, "beta")):
        found = mine(*counts, level)
        lo, hi = proportion_confint(*counts, alpha=1 - level / 100, method=method)
        assert (found.lo, found.hi) == pytest.approx((lo, hi), rel=1e-9, abs=1e-12)
        assert found.level == level


@repeatable
@given(COUNTS, LEVELS)
def test_no_share_has_an_interval_of_one_point(counts, level):
    """0 of n and n of n keep a bound, and the share lies inside."""
    for found in (wilson(*counts, level), clopper_pearson(*counts, level)):
        assert 0 <= found.lo <= found.value <= found.hi <= 1
        assert found.hi - found.lo > 0


@repeatable
@given(COUNTS, LEVELS)
def test_failure_bound_leaves_the_tail_it_says(counts, level):
    """At the bound so few failures have the chance α."""
    failures, n = counts
    found = failure_bound(failures, n, level)
    assert found.lo == 0
    if failures == n:
        assert found.hi == 1
    else:
        assert stats.binom.cdf(failures, n, found.hi) == pytest.approx(1 - level / 100, rel=1e-9)


def test_bound_without_a_failure_is_the_root_of_alpha():
    """1 − α^(1/n), and nearly 3/n."""
    assert zero_failure_bound(12).hi == pytest.approx(1 - 0.05 ** (1 / 12))
    assert zero_failure_bound(10**9).hi == pytest.approx(-math.log(0.05) / 1e9, rel=1e-8)
    assert mismatch_bound(0, 3000) == failure_bound(0, 3000, 95)


@pytest.mark.parametrize(
    "found", [wilson(0, 0, 95), clopper_pearson(0, 0, 95), failure_bound(0, 0, 95), fisher(0, 0, 3, 4)]
)
def test_nothing_run_gives_no_share(found):
    """No run is neither 0 percent nor 100."""
    assert found.value is None and found.lo is None
    assert "nothing was run" in found.reason


@pytest.mark.parametrize("counts", [(3, 2), (-1, 5)])
def test_counts_that_cannot_be_are_refused(counts):
    with pytest.raises(ValueError, match="expected a count"):
        wilson(*counts, 95)


def fisher_by_hand(k1: int, n1: int, k2: int, n2: int) -> float:
    """Sum of the chances of all tables that are no likelier than this one."""
    total = math.comb(n1 + n2, k1 + k2)
    tables = range(max(0, k1 + k2 - n2), min(n1, k1 + k2) + 1)
    ways = {k: math.comb(n1, k) * math.comb(n2, k1 + k2 - k) for k in tables}
    return sum(way for way in ways.values() if way <= ways[k1]) / total


@repeatable
@given(
    st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
)
def test_fisher_sums_the_tables_no_likelier_and_is_symmetric(first, second):
    p = fisher(*first, *second).value
    assert p == pytest.approx(fisher_by_hand(*first, *second), rel=1e-9)
    assert p == pytest.approx(fisher(*second, *first).value, rel=1e-9)


@pytest.fixture
def frozen():
    """Nothing; what is in memory is left out of collections: statsmodels asks for one in every call."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("frozen")
@repeatable
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_agrees_with_statsmodels(ps):
    assert holm(ps) == pytest.approx(multipletests(ps, method="holm")[1])


def test_a_test_that_could_not_run_counts_in_its_family():
    """Three tests of which two ran: the smaller p is still tripled."""
    assert holm([0.04, None, 0.01]) == (pytest.approx(0.08), None, pytest.approx(0.03))
    assert holm([]) == ()
    assert holm([None]) == (None,)


def test_holm_refuses_what_is_no_p():
    with pytest.raises(ValueError, match="0 to 1"):
        holm([0.2, math.nan])


@repeatable
@given(st.integers(0, 5), st.sampled_from([0.5, 0.9, 0.97]), st.sampled_from([0.9, 0.99]), st.sampled_from([0, 0.01]))
def test_early_stopping_takes_the_smallest_number(overlong, percentile, confidence, tolerance):
    """So many samples are enough, and one fewer is not."""
    n = early_stopping_samples(overlong, percentile, confidence, tolerance)
    chances = stats.binom.cdf(overlong, np.array([n - 1, n]), 1 - percentile + tolerance)
    assert chances[0] > 1 - confidence >= chances[1]


def test_early_stopping_refuses_what_is_no_share():
    with pytest.raises(ValueError, match="between 0 and 1"):
        early_stopping_samples(0, 99, 0.99)
