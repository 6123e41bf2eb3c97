"""Slopes, and differences at equal covariate, against other programs and what must not change them."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.served import repeatable

from campaign.analysis.intervals import difference
from campaign.analysis.regression import Ancova, ancova, intercept, slope, time_trend, within_groups_slope


@st.composite
def two_arms(draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariate, response and arm of rows of two arms; the covariate varies in each, the response about any line."""
    sizes = draw(st.tuples(st.integers(2, 6), st.integers(2, 6)))
    n = sum(sizes)
    x = draw(st.lists(st.integers(0, 400), min_size=n, max_size=n, unique=True))
    noise = draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))
    noise = [one + 40 * (place % 3 == 0) for place, one in enumerate(noise)]
    return 3.5 + np.array(x) / 1000, 14 + np.array(noise) / 100, np.repeat(["off", "on"], sizes)


def figures(found: Ancova) -> list[float]:
    return [found.difference.value, found.difference.lo, found.difference.hi, found.difference.se]


def compared(x, y, arm, level: float = 95, contrast: tuple[str, str] = ("off", "on")) -> Ancova:
    return ancova(x, y, arm, contrast, level)


# ---- other programs


@repeatable
@given(two_arms(), st.sampled_from([80.0, 95.0, 99.0]))
def test_line_agrees_with_scipy(rows, level):
    """Slope, intercept and their standard errors are those of another program, and so is the interval."""
    x, y, _ = rows
    expected = stats.linregress(x, y)
    line, start = slope(x, y, level), intercept(x, y, level)
    half = stats.t.ppf(0.5 + level / 200, len(x) - 2) * expected.stderr
    assert (line.value, line.se, start.value, start.se) == pytest.approx(
        (expected.slope, expected.stderr, expected.intercept, expected.intercept_stderr), rel=1e-6, abs=1e-9
    )
    assert (line.lo, line.hi) == pytest.approx((expected.slope - half, expected.slope + half), rel=1e-6, abs=1e-9)
    assert (line.df, line.n) == (len(x) - 2, len(x))


@repeatable
@given(two_arms())
def test_adjusted_difference_is_the_textbook_formula(rows):
    """With two arms, se² = s²(1/n1 + 1/n2 + Δx̄²/Sxx) and df = N − 3."""
    x, y, arm = rows
    (x1, y1), (x2, y2) = ((x[arm == name], y[arm == name]) for name in ("off", "on"))
    sxx = sum(np.sum((v - v.mean()) ** 2) for v in (x1, x2))
    b = sum(np.sum((v - v.mean()) * w) for v, w in ((x1, y1), (x2, y2))) / sxx
    residuals = [w - w.mean() - b * (v - v.mean()) for v, w in ((x1, y1), (x2, y2))]
    df = len(x) - 3
    s2 = sum(np.sum(one**2) for one in residuals) / df
    se = math.sqrt(s2 * (1 / len(x1) + 1 / len(x2) + (x1.mean() - x2.mean()) ** 2 / sxx))
    value = y1.mean() - y2.mean() - b * (x1.mean() - x2.mean())
    found = compared(x, y, arm)
    half = stats.t.ppf(0.975, df) * se
    assert figures(found) == pytest.approx([value, value - half, value + half, se], rel=1e-6, abs=1e-9)
    assert (found.difference.df, found.slope.value) == (df, pytest.approx(b, rel=1e-6, abs=1e-7))
    assert found.slope == within_groups_slope(x, y, arm, 95)


# ---- what must not change it, and what must


@repeatable
@given(two_arms())
def test_swapped_arms_flip_the_sign(rows):
    """The contrast the other way round has the other sign and the mirrored interval; the slope is the same."""
    forth, back = compared(*rows), compared(*rows, contrast=("on", "off"))
    value, lo, hi, se = figures(forth)
    assert figures(back) == pytest.approx([-value, -hi, -lo, se], rel=1e-9, abs=1e-12)
    assert back.slope == forth.slope


@repeatable
@given(two_arms(), st.randoms())
def test_order_of_rows_does_not_matter(rows, random):
    """Rows in another order give the same difference."""
    order = random.sample(range(len(rows[0])), len(rows[0]))
    assert figures(compared(*(one[order] for one in rows))) == pytest.approx(figures(compared(*rows)), abs=1e-9)


@repeatable
@given(two_arms(), st.sampled_from([1e-3, 1e3]), st.floats(-5, 5), st.floats(-5, 5))
def test_units_and_origins_do_not_matter(rows, scale, off_x, off_y):
    """The response's unit scales the difference, the covariate's does not, and no origin matters."""
    x, y, arm = rows
    one, other = compared(x, y, arm), compared(x * 7 + off_x, (y + off_y) * scale, arm)
    assert figures(other) == pytest.approx([v * scale for v in figures(one)], rel=1e-6, abs=1e-9 * scale)
    assert other.slope.value == pytest.approx(one.slope.value * scale / 7, rel=1e-6, abs=1e-9 * scale)


@repeatable
@given(two_arms(), st.floats(-1, 1), st.floats(-1, 1))
def test_what_is_put_in_comes_out(rows, effect, b):
    """An effect in one arm and a common slope are found as what they add."""
    x, y, arm = rows
    one, other = compared(x, y, arm), compared(x, y + b * x + effect * (arm == "off"), arm)
    assert other.difference.value - one.difference.value == pytest.approx(effect, abs=1e-9)
    assert other.slope.value - one.slope.value == pytest.approx(b, abs=1e-7)
    assert other.difference.se == pytest.approx(one.difference.se, rel=1e-6)


@repeatable
@given(two_arms(), st.integers(0, 3), st.sampled_from([math.nan, math.inf]), st.booleans())
def test_missing_value_is_no_narrower_interval(rows, place, lost, in_covariate):
    """A value or covariate that is not there leaves everything unresolved; it is not left out."""
    x, y, arm = (one.copy() for one in rows)
    (x if in_covariate else y)[place] = lost
    what = "covariates" if in_covariate else "values"
    found = compared(x, y, arm)
    assert found.reason == f"1 of {len(x)} {what} have no value"
    assert (found.difference.value, found.slope.value, found.means, found.r2) == (None, None, {}, None)
    assert slope(x, y, 95).reason == intercept(x, y, 95).reason == found.reason


def test_equal_covariates_leave_the_plain_difference():
    """Where both arms have the same covariates the adjusted difference is the difference of means."""
    x, arm = np.array([1.0, 2.0, 3.0] * 2), np.repeat(["off", "on"], 3)
    y = np.array([14.0, 14.3, 14.1, 13.9, 13.8, 14.05])
    assert compared(x, y, arm).difference.value == pytest.approx(difference(y[:3], y[3:], 95).value)


def test_slope_inside_groups_is_not_that_across_them():
    """Rows that differ, with draws that fall inside each, have a falling common slope."""
    x = np.array([1.0, 2.0, 3.0, 11.0, 12.0, 13.0])
    y = np.array([1.0, 0.1, -1.0, 11.0, 9.9, 9.0])
    assert slope(x, y, 95).value > 0.9
    assert within_groups_slope(x, y, np.repeat([0, 1], 3), 95).value == pytest.approx(-1.0)


def test_time_trend_is_taken_out():
    """A machine that slows by 0.1 ms each hour does so in slope, and no longer in the arms' difference."""
    hours = np.array([0.0, 1, 2, 3, 4, 5])
    arm = np.array(["off", "on", "on", "on", "on", "off"])
    noise = np.array([0.01, -0.01, 0.0, 0.01, -0.01, 0.0])
    found = time_trend(hours, 14 + 0.1 * hours - 0.3 * (arm == "on") + noise, arm, ("off", "on"), 95)
    assert found.slope.value == pytest.approx(0.1, abs=0.005)
    assert found.difference.value == pytest.approx(0.3, abs=0.02)


# ---- edges


@pytest.mark.parametrize(
    ("x", "y", "arm", "reason"),
    [
        ([], [], [], "need more values than groups and a slope, have 0 in 0 groups"),
        ([1, 2, 3], [1, 2, 4], "aab", "need more values than groups and a slope, have 3 in 2 groups"),
        ([1, 1, 2, 2], [1, 2, 4, 5], "aabb", "the covariate does not vary within a group, so there is no slope"),
        (
            [0.1] * 3 + [0.3, 0.1 + 0.2],
            range(5),
            "aaabb",
            "the covariate does not vary within a group, so there is no slope",
        ),
        ([1, 2, 3, 4], [1, 2, 4, 5], "aabb", "the values do not vary about the line, so no interval can be given"),
        ([1, 2, 3, 4], [1, 1, 1, 1], "aabb", "the values do not vary about the line, so no interval can be given"),
        ([1, 2, 3, 4], [1, 2, 4, 6], "aaaa", "no value in group b"),
        ([1, 2, 3, math.nan], [1, 2, 4, 6], "aaaa", "1 of 4 covariates have no value"),
    ],
)
def test_line_that_cannot_be_is_unresolved(x, y, arm, reason):
    """Too few values, no spread in the covariate, none about the line or an empty arm: no figures, and the reason."""
    found = ancova(np.array(x, dtype=float), np.array(y, dtype=float), np.array(list(arm)), ("a", "b"), 95)
    assert (found.difference.value, found.difference.lo, found.difference.reason) == (None, None, reason)
    assert (found.reason, found.slope.value, found.means) == (reason, None, {})


def test_single_row_of_an_arm_stands_on_the_others():
    """An arm of one row adds no degree of freedom, and has a difference all the same."""
    found = compared(np.array([1.0, 2, 3, 2.5]), np.array([1.0, 2.2, 2.9, 3.5]), np.array(["off", "off", "off", "on"]))
    assert (found.difference.df, found.difference.n) == (1, 4)


def test_contrast_of_a_group_with_itself_is_refused():
    """A group does not differ from itself: no zero that looks measured."""
    with pytest.raises(ValueError, match="expected two groups"):
        ancova(np.arange(4.0), np.array([1.0, 2, 4, 6]), np.array(list("aabb")), ("a", "a"), 95)


def test_statsmodels_is_imported_only_to_fit():
    """Building a note that fits no line does not wait for statsmodels."""
    code = "import sys, campaign.analysis.regression; sys.exit('statsmodels' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code]).returncode == 0
