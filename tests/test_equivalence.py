"""What may be called equal, and what may not."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW
from tests.served import repeatable

from campaign.analysis.equivalence import tost
from campaign.analysis.intervals import Estimate, difference, paired_mean, weighted_mean, welch

ROWS = st.lists(st.integers(1000, 2000).map(lambda n: n / 100), min_size=2, max_size=8).filter(
    lambda v: len(set(v)) > 1
)
"""Row values in ms that vary."""
MARGIN = st.floats(0.01, 5)
SMALL = Estimate(0.01, se=0.02, df=20, n=22)
"""A difference well inside a margin of 0.13."""


@repeatable
@given(ROWS, ROWS, MARGIN, st.sampled_from(["pooled", "unequal"]))
def test_agrees_with_statsmodels(first, second, margin, variances):
    """Both one-sided p are those of another program, with pooled variance and with Welch's."""
    estimate = (difference if variances == "pooled" else welch)(np.array(first), np.array(second), 90)
    both = CompareMeans(DescrStatsW(first), DescrStatsW(second))
    p, ((_, p_lower, _), (_, p_upper, _)) = both.ttost_ind(-margin, margin, usevar=variances)
    found = tost(estimate, -margin, margin)
    assert (found.p, found.p_lower, found.p_upper) == pytest.approx((p, p_lower, p_upper), rel=1e-7, abs=1e-12)


@repeatable
@given(ROWS, ROWS, MARGIN, st.sampled_from([0.01, 0.05, 0.1]))
def test_equal_is_interval_within_margin(first, second, margin, alpha):
    """Two arms are equal at alpha exactly where the 1 − 2 alpha interval lies within the margin."""
    found = tost(difference(np.array(first), np.array(second), 95), -margin, margin, alpha)
    assert found.equal == (found.p < alpha) == (-margin < found.lo and found.hi < margin)


@repeatable
@given(ROWS, ROWS, st.floats(0.01, 5), st.floats(0.01, 5))
def test_swapped_arms_mirror_it(first, second, below, above):
    """Swapped arms in the mirrored margin are as equal, and the two one-sided tests change places."""
    x, y = np.array(first), np.array(second)
    forth, back = tost(difference(x, y, 95), -below, above), tost(difference(y, x, 95), -above, below)
    assert (back.p_lower, back.p_upper, back.lo, back.hi) == pytest.approx(
        (forth.p_upper, forth.p_lower, -forth.hi, -forth.lo)
    )


@repeatable
@given(ROWS, ROWS, MARGIN, st.sampled_from([1e-3, 1e3]))
def test_unit_does_not_matter(first, second, margin, scale):
    """Rows and margin in another unit are as equal."""
    x, y = np.array(first), np.array(second)
    one = tost(difference(x, y, 95), -margin, margin)
    other = tost(difference(x * scale, y * scale, 95), -margin * scale, margin * scale)
    assert other.p == pytest.approx(one.p, rel=1e-6)


@repeatable
@given(ROWS, ROWS, MARGIN, st.floats(0.01, 5))
def test_wider_margin_never_makes_less_equal(first, second, margin, more):
    """What is equal within a margin is equal within a wider one."""
    estimate = difference(np.array(first), np.array(second), 95)
    assert tost(estimate, -margin - more, margin + more).p <= tost(estimate, -margin, margin).p


def test_close_arms_are_equal():
    """A difference that is small beside the margin, and known well, is equal."""
    found = tost(SMALL, -0.13, 0.13)
    assert found.equal is True
    assert found.p == found.p_upper < 0.05


def test_no_difference_seen_is_not_equal():
    """An interval that holds both zero and the margin's end shows neither difference nor equality."""
    found = tost(Estimate(0.0, se=0.2, df=4, n=6), -0.13, 0.13)
    assert (found.equal, found.reason) == (False, "")
    assert found.lo < -0.13 < 0 < 0.13 < found.hi


def test_interval_that_touches_the_margin_is_not_equal():
    """At p of exactly alpha nothing is shown."""
    found = tost(SMALL, -1, 1)
    assert tost(SMALL, -1, 1, alpha=found.p).equal is False


def test_pairs_can_be_equal():
    """A mean of pairs has what the test needs."""
    assert tost(paired_mean(np.array([0.01, -0.02, 0.0, 0.01, -0.01]), 95), -0.13, 0.13).equal is True


@pytest.mark.parametrize(
    ("estimate", "reason"),
    [
        (difference(np.array([14.0, math.nan]), np.array([14.1, 14.2]), 95), "1 of 4 rows have no value"),
        (
            difference(np.array([14.0, 14.0]), np.array([14.0, 14.0]), 95),
            "the rows of each arm do not vary, so no interval can be given",
        ),
        (
            weighted_mean(np.array([1.0, 4.0]), np.array([3.0, 1.0])),
            "the estimate has no standard error, so it cannot be told equal",
        ),
    ],
)
def test_estimate_that_is_none_is_not_equal(estimate, reason):
    """Without an estimate and its standard error there is no p, and the answer is neither yes nor no."""
    found = tost(estimate, -0.13, 0.13)
    assert (found.equal, found.p, found.lo, found.hi, found.reason) == (None, None, None, None, reason)


def test_warnings_travel():
    """What is to be said of the estimate is to be said of its equality."""
    estimate = difference(np.array([14.0]), np.array([14.0, 14.1]), 95)
    assert tost(estimate, -1, 1).warnings == estimate.warnings != ()


@pytest.mark.parametrize(
    ("lower", "upper", "alpha"), [(0.1, 0.1, 0.05), (0.1, -0.1, 0.05), (math.nan, 1, 0.05), (-1, 1, 0.5)]
)
def test_margin_or_alpha_without_meaning_is_refused(lower, upper, alpha):
    """A margin has two ends, and alpha is below one half."""
    with pytest.raises(ValueError, match="expected"):
        tost(SMALL, lower, upper, alpha)
