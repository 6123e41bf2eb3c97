"""Control charts: against a published example, pandas and the definition."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.served import repeatable

from campaign.analysis.chart import ewma_chart, individuals_chart

FLOW = [49.6, 47.6, 49.9, 51.3, 47.8, 51.2, 52.6, 52.4, 53.6, 52.1]
"""Flow rates of ten batches: NIST/SEMATECH e-Handbook 6.3.2.2."""
SERIES = st.lists(st.integers(0, 1000), min_size=8, max_size=30).filter(lambda values: len(set(values)) > 1)


def test_individuals_of_the_published_example():
    """Mean 50.81, mean moving range 1.8778, limits 45.8159 and 55.8041 (which take 3/1.128 for 2.66)."""
    found = individuals_chart(FLOW)
    assert found.center == pytest.approx(50.81)
    assert found.moving_range == pytest.approx(1.8778, abs=5e-5)
    assert (found.lo[0], found.hi[0]) == pytest.approx((45.8159, 55.8041), abs=1e-3)
    assert found.shifts == ()


def test_a_point_beyond_the_limits_is_marked():
    found = individuals_chart([1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1.0, 1.1, 3.0, 1.0])
    assert found.shifts == (8,)


@repeatable
@given(SERIES, st.sampled_from([0.1, 0.2, 0.4, 1.0]))
def test_moving_averages_are_those_of_pandas(values, weight):
    """Begun at the mean of all."""
    found = ewma_chart(values, weight)
    averages = pd.Series([np.mean(values), *values]).ewm(alpha=weight, adjust=False).mean()
    assert found.points == pytest.approx(tuple(averages[1:]))


@repeatable
@given(SERIES)
def test_limits_widen_to_the_asymptote(values):
    """The first is L·λ·σ from the mean, the last near L·σ·√(λ/(2 − λ)): exact at every point, not the asymptote."""
    found = ewma_chart(values)
    sd = found.moving_range / 1.128
    half = np.array(found.hi) - found.center
    assert half[0] == pytest.approx(2.7 * 0.2 * sd)
    assert np.all(np.diff(half) > 0) and half[-1] < 2.7 * sd * math.sqrt(0.2 / 1.8)
    variance = 0.0
    for width in half:  # Var z_i = λ²σ² + (1 − λ)² Var z_{i−1}
        variance = 0.04 * sd**2 + 0.64 * variance
        assert width == pytest.approx(2.7 * math.sqrt(variance))


@repeatable
@given(SERIES)
def test_weight_of_one_leaves_the_individuals(values):
    found, each = ewma_chart(values, 1, 3), individuals_chart(values)
    assert found.points == pytest.approx(each.points)
    assert found.hi == pytest.approx(each.hi, rel=1e-3)


def test_a_lasting_small_shift_is_seen_by_the_averages_alone():
    values = [0.0, 1.0] * 8 + [1.6, 2.0] * 4
    assert not individuals_chart(values).shifts
    assert ewma_chart(values).shifts


@pytest.mark.parametrize("chart", [individuals_chart, ewma_chart])
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (FLOW[:7], "need at least 8 points for limits, have 7"),
        ([0.1 * 3, 0.3] * 5, "the points do not vary"),
        ([*FLOW, math.nan], "1 of 11 points have no value"),
        ([], "there are no points"),
    ],
)
def test_what_has_no_limits_says_why(chart, values, reason):
    """And keeps its points."""
    found = chart(values)
    assert found.lo == found.hi == found.shifts == ()
    assert reason in found.reason
    assert len(found.points) == len(values)


def test_a_weight_that_is_none_is_refused():
    with pytest.raises(ValueError, match="a weight above 0"):
        ewma_chart(FLOW, 0)
