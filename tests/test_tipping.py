"""Tipping points: at them the lower end is the bar."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.served import repeatable

from campaign.analysis.intervals import Estimate, difference
from campaign.analysis.tipping import day_tipping, saving_curve, tau_sweep

OFF, ON = np.array([14.451, 14.376]), np.array([14.171, 14.097, 14.049, 14.145])
BAR = 0.155
T = float(stats.t.ppf(0.975, 4))


def rows(seed: int, shift: float, x_shift: float, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([14.43 - shift + rng.normal(0, 0.088, n), 3.74 + x_shift + rng.normal(0, 0.05, n)])


# ---- the day


@repeatable
@given(st.floats(0, 1), st.floats(0.001, 0.3), st.sampled_from([1, 2, 5, math.inf]))
def test_a_day_effect_of_that_size_brings_the_lower_end_to_the_bar(saving, se, days):
    tau = day_tipping(saving, BAR, T, se, days)
    if saving - T * se <= BAR:
        assert tau == 0
    else:
        assert saving - T * math.sqrt(se**2 + tau**2 * (1 + 1 / days)) == pytest.approx(BAR)


def test_the_published_saving_tips_at_no_large_day_effect():
    found = difference(OFF, ON, 95)
    tau = day_tipping(found.value, BAR, T, found.se)
    assert tau == pytest.approx(math.sqrt(((0.298 - 0.155) / T) ** 2 - found.se**2))


def test_what_is_no_number_has_no_tipping_point():
    with pytest.raises(ValueError, match="finite numbers"):
        day_tipping(math.nan, BAR, T, 0.1)


def test_sweep_widens_the_interval_about_the_same_saving():
    found = difference(OFF, ON, 95)
    swept = tau_sweep(found, [0, 0.05, 0.1], 95)
    assert (swept[0].lo, swept[0].hi) == pytest.approx((found.lo, found.hi))
    assert [one.value for one in swept] == [found.value] * 3
    assert swept[0].lo > swept[1].lo > swept[2].lo
    assert swept[1].se == pytest.approx(math.sqrt(found.se**2 + 2 * 0.05**2))


def test_sweep_at_the_tipping_point_stands_on_the_bar():
    """For as many yardstick days as it was asked for."""
    found = difference(OFF, ON, 95)
    tau = day_tipping(found.value, 0.1, T, found.se, 3)
    assert tau > 0
    assert tau_sweep(found, [tau], 95, 3)[0].lo == pytest.approx(0.1)


def test_sweep_of_what_has_no_interval_has_none():
    missing = Estimate(None, reason="one row in each arm")
    assert tau_sweep(missing, [0, 1], 95) == (missing, missing)
    assert tau_sweep(Estimate(0.3), [0], 95)[0].reason == "it has no t interval"


def test_negative_day_effects_are_refused():
    with pytest.raises(ValueError, match="none below 0"):
        tau_sweep(difference(OFF, ON, 95), [-0.1], 95)


# ---- the slope


def test_curve_is_the_difference_of_matched_rows():
    first, second = rows(1, 0, 0, 18), rows(2, 0.31, 0.1, 4)
    found = saving_curve(first, second, 3.74, [0, 0.366, 0.602], BAR, 95)
    for slope, estimate in zip(found.slopes, found.estimates, strict=True):
        matched = [arm[:, 0] - slope * (arm[:, 1] - 3.74) for arm in (first, second)]
        assert estimate == difference(*matched, 95)


@repeatable
@given(st.integers(0, 10**6), st.floats(0, 0.5), st.floats(-0.2, 0.2), st.integers(1, 5))
def test_flips_are_where_the_lower_end_crosses_the_bar(seed, shift, x_shift, n):
    """At each it is the bar; between neighbours it stays on one side, as a fine grid shows."""
    first, second = rows(seed, 0, 0, 8), rows(seed + 1, shift, x_shift, n)
    grid = np.linspace(-3, 3, 61)
    found = saving_curve(first, second, 3.74, grid, BAR, 95)
    for flip in found.flips:
        assert saving_curve(first, second, 3.74, [flip], BAR, 95).estimates[0].lo == pytest.approx(BAR, abs=1e-6)
    above = [one.lo > BAR for one in found.estimates]
    crossed = [(left, right) for left, right, a, b in zip(grid, grid[1:], above, above[1:], strict=False) if a != b]
    assert all(any(left - 1e-9 <= flip <= right + 1e-9 for flip in found.flips) for left, right in crossed)


def test_a_verdict_that_holds_in_the_range_has_no_flip():
    first, second = rows(1, 0, 0, 18), rows(2, 0.5, 0, 4)
    assert saving_curve(first, second, 3.74, [0, 0.366, 0.602], BAR, 95).flips == ()


def test_rows_that_lack_leave_the_curve_unresolved():
    first, second = rows(1, 0, 0, 1), rows(2, 0.5, 0, 1)
    found = saving_curve(first, second, 3.74, [0, 1], BAR, 95)
    assert found.flips == () and "one in each" in found.reason
    assert all(one.value is None for one in found.estimates)


def test_a_curve_needs_slopes():
    with pytest.raises(ValueError, match="at least one"):
        saving_curve(rows(1, 0, 0, 3), rows(2, 0, 0, 3), 3.74, [], BAR, 95)
