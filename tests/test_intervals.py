"""Means, differences, ratios and their intervals, against other programs and what must not change them."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW
from statsmodels.tsa.stattools import acf
from tests.served import STEP_MS, Served, repeatable, served

from campaign.analysis.intervals import (
    Estimate,
    Summary,
    difference,
    paired_mean,
    paired_mean_autocorrelated,
    relative,
    relative_saving,
    resolution_floor,
    simultaneous_level,
    weighted_mean,
    welch,
)

ROWS = st.lists(st.integers(4000, 5000).map(lambda n: n / 100), min_size=2, max_size=8).filter(
    lambda v: len(set(v)) > 1
)
"""Row values in ms that vary, so far from zero that each ratio of arms has an interval at 95 percent."""
COMPARISONS = st.sampled_from([difference, welch])


def arrays(*values: list[float]) -> list[np.ndarray]:
    return [np.array(one, dtype=float) for one in values]


def ends(found: Estimate) -> tuple[float, float, float]:
    return found.lo, found.value, found.hi


# ---- other programs


@repeatable
@given(ROWS, ROWS, st.sampled_from([80.0, 90.0, 95.0, 99.0]))
def test_difference_agrees_with_scipy_and_statsmodels(first, second, level):
    """The pooled interval is that of two other programs, at every level."""
    x, y = arrays(first, second)
    found = difference(x, y, level)
    of_scipy = stats.ttest_ind(x, y, equal_var=True)
    interval = of_scipy.confidence_interval(level / 100)
    assert (found.lo, found.hi) == pytest.approx((interval.low, interval.high), rel=1e-9, abs=1e-9)
    both = CompareMeans(DescrStatsW(x), DescrStatsW(y))
    assert (found.lo, found.hi) == pytest.approx(both.tconfint_diff(alpha=1 - level / 100), rel=1e-9, abs=1e-9)
    assert found.df == of_scipy.df == len(first) + len(second) - 2


@repeatable
@given(ROWS, st.sampled_from([80.0, 95.0, 99.9]))
def test_paired_mean_agrees_with_statsmodels(pairs, level):
    """The interval of a mean is that of another program, at every level."""
    found = paired_mean(np.array(pairs), level)
    expected = DescrStatsW(pairs).tconfint_mean(alpha=1 - level / 100)
    assert (found.lo, found.hi) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@repeatable
@given(ROWS, ROWS, st.sampled_from([80.0, 95.0, 99.0]))
def test_welch_agrees_with_scipy(first, second, level):
    """Welch's interval and its degrees of freedom are those of another program."""
    x, y = arrays(first, second)
    found = welch(x, y, level)
    of_scipy = stats.ttest_ind(x, y, equal_var=False)
    interval = of_scipy.confidence_interval(level / 100)
    assert (found.lo, found.hi) == pytest.approx((interval.low, interval.high), rel=1e-9, abs=1e-9)
    assert found.df == pytest.approx(of_scipy.df)


@repeatable
@given(ROWS, ROWS, st.sampled_from([90.0, 95.0]))
def test_ratio_is_told_from_the_ends_of_its_interval_at_just_the_level(first, second, level):
    """Fieller's ends are the ratios r at which first − r·second has an interval that just touches zero."""
    x, y = arrays(first, second)
    found, apart = relative(x, y, level), difference(x, y, level)
    t = stats.t.ppf(0.5 + level / 200, apart.df)
    for end in (found.lo, found.hi):
        se = apart.sd * math.sqrt(1 / len(x) + end**2 / len(y))
        assert abs(x.mean() - end * y.mean()) == pytest.approx(t * se, rel=1e-6, abs=1e-9)
    assert found.lo < found.value < found.hi


def test_lag_1_autocorrelation_is_that_of_statsmodels():
    """What is said of neighbours is what another program finds."""
    pairs = np.array([0.1, 0.3, 0.35, 0.3, 0.6, 0.7, 0.4, 0.5, 0.2, 0.1])
    rho = acf(pairs, nlags=1)[1]
    found = paired_mean_autocorrelated(pairs, 95)
    assert found.df == pytest.approx(10 * (1 - rho) / (1 + rho) - 1)
    assert found.warnings == (f"lag-1 autocorrelation {rho:.2f}: 10 pairs count as {found.df + 1:.1f}",)


# ---- edges


@pytest.mark.parametrize(("first", "second"), [([14.4], [14.1, 14.0, 14.2]), ([14.1, 14.0, 14.2], [14.4])])
def test_single_row_borrows_the_other_arms_variance(first, second):
    """One row in an arm gives an interval on the other arm's variance, and a warning that says so."""
    found = difference(*arrays(first, second), 95)
    assert (found.df, found.sd) == (2, pytest.approx(np.std([14.1, 14.0, 14.2], ddof=1)))
    assert found.warnings == ("one arm has a single row: its variance is taken from the other arm",)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([], [], "need at least one row in each arm, have 0 and 0"),
        ([], [14.0, 14.1], "need at least one row in each arm, have 0 and 2"),
        ([14.0, 14.1], [], "need at least one row in each arm, have 2 and 0"),
        ([14.0], [14.1], "need two rows in at least one arm for an interval, have one in each"),
        ([14.0, 14.0], [14.1, 14.1], "the rows of each arm do not vary, so no interval can be given"),
        ([0.0, 0.0], [0.0, 0.0], "the rows of each arm do not vary, so no interval can be given"),
        ([0.1] * 3, [0.3, 0.1 + 0.2], "the rows of each arm do not vary, so no interval can be given"),
        ([0.1 + 0.2] * 10, [0.1] * 7, "the rows of each arm do not vary, so no interval can be given"),
        ([14.0, math.nan], [14.1, 14.2], "1 of 4 rows have no value"),
        ([14.0, 14.1], [math.inf, 14.2], "1 of 4 rows have no value"),
    ],
)
def test_difference_that_cannot_be_is_unresolved(first, second, reason):
    """Without rows, variance or values there is no difference: no value, no interval, and the reason."""
    assert difference(*arrays(first, second), 95) == Estimate(None, n=len(first) + len(second), reason=reason)


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([], "need at least two pairs for an interval, have 0"),
        ([1.0], "need at least two pairs for an interval, have 1"),
        ([1.0, 1.0, 1.0], "the pairs do not vary, so no interval can be given"),
        ([0.1, 0.1, 0.1], "the pairs do not vary, so no interval can be given"),
        ([0.3, 0.1 + 0.2, 0.3], "the pairs do not vary, so no interval can be given"),
        ([1.0, math.nan], "1 of 2 pairs have no value"),
    ],
)
def test_paired_mean_that_cannot_be_is_unresolved(pairs, reason):
    """Fewer than two pairs, no variation or a missing value leave the mean unresolved."""
    assert paired_mean(np.array(pairs), 95) == Estimate(None, n=len(pairs), reason=reason)


def test_small_true_variation_is_no_dust():
    """Rows that differ in their eighth digit vary, as the atomic weights of NIST do."""
    assert difference(*arrays([107.8681568, 107.8681465], [107.8681079, 107.8681344]), 95).sd < 2e-5


@repeatable
@given(ROWS, ROWS, st.floats(-8, 8).map(lambda power: 10.0**power))
def test_dust_is_told_by_size_and_not_by_unit(first, second, scale):
    """Whether rows vary does not depend on the unit in which they are written."""
    x, y = arrays(first, second)
    assert difference(x * scale, y * scale, 95).value is not None


@pytest.mark.parametrize("of", [difference, welch, relative, relative_saving])
@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([], [14.0, 14.1], "need at least one row in each arm, have 0 and 2"),
        ([0.1] * 3, [0.3, 0.1 + 0.2], "the rows of each arm do not vary, so no interval can be given"),
        ([14.0, math.nan], [14.1, 14.2], "1 of 4 rows have no value"),
    ],
)
def test_comparison_that_cannot_be_is_unresolved(of, first, second, reason):
    """Every comparison of arms without rows, variance or values has no value, no interval and the reason."""
    assert of(*arrays(first, second), 95) == Estimate(None, n=len(first) + len(second), reason=reason)


@pytest.mark.parametrize(("first", "second"), [([14.4], [14.1, 14.0]), ([14.1, 14.0], [14.4])])
def test_welch_borrows_no_variance(first, second):
    """A single row has no variance of its own, and Welch's interval takes no other's."""
    reason = f"need at least two rows in each arm, have {len(first)} and {len(second)}"
    assert welch(*arrays(first, second), 95) == Estimate(None, n=3, reason=reason)


def test_welch_with_one_constant_arm_stands_on_the_other():
    """An arm that does not vary adds no variance and no degree of freedom."""
    found, other = welch(*arrays([14.0, 14.0], [14.1, 14.3, 14.2]), 95), np.std([14.1, 14.3, 14.2], ddof=1)
    assert (found.df, found.se) == (pytest.approx(2), pytest.approx(other / math.sqrt(3)))


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([1.0, 2.0], [-1.0, -2.0], "the mean below the line is not above zero"),
        ([1.0, 2.0], [-1.0, 1.0], "the mean below the line is not above zero"),
        ([1.0, 2.0], [-1.0, 2.0], "the mean below the line is not told from zero: the ratio has no end"),
    ],
)
def test_ratio_to_what_may_be_zero_is_unresolved(first, second, reason):
    """A mean below the line that is zero, negative or not told from zero gives no ratio."""
    assert relative(*arrays(first, second), 95) == Estimate(None, n=4, reason=reason)


def test_single_row_is_said_with_a_ratio_too():
    """A ratio on a borrowed variance carries the warning of its difference."""
    x, y = arrays([14.4], [14.1, 14.0, 14.2])
    assert relative(x, y, 95).warnings == difference(x, y, 95).warnings != ()


@pytest.mark.parametrize(
    "summary",
    [Summary(math.nan, 0.1, 18), Summary(14.4, math.nan, 18), Summary(14.4, -0.1, 18), Summary(math.inf, 1, 2)],
)
def test_summary_without_figures_is_unresolved(summary):
    """A summary that lacks its mean or its standard deviation gives no comparison."""
    reason = "a summarised arm has no mean or no standard deviation"
    for of in (difference, welch, relative):
        assert of(summary, np.array([14.1, 14.2]), 95) == Estimate(None, n=summary.n + 2, reason=reason)


def test_neighbours_that_are_alike_widen_the_interval():
    """A slow wave in the pairs leaves the mean, and fewer pairs to count."""
    pairs = np.sin(np.arange(40) / 1.5)
    plain, found = paired_mean(pairs, 95), paired_mean_autocorrelated(pairs, 95)
    assert (found.value, found.sd, found.n) == (plain.value, plain.sd, 40)
    assert found.se > plain.se
    assert found.df < plain.df


@pytest.mark.parametrize("pairs", [[1.0, -1.0] * 5, [1.0, 2.0], [0.0, 1.0, 1.0, 0.0]])
def test_neighbours_that_differ_gain_nothing(pairs):
    """A negative autocorrelation is said, and the interval is the plain one."""
    plain, found = paired_mean(np.array(pairs), 95), paired_mean_autocorrelated(np.array(pairs), 95)
    assert replace(found, warnings=()) == plain
    assert found.warnings[0].endswith(f"{len(pairs)} pairs count as {len(pairs)}.0")


def test_pairs_that_count_as_one_have_no_interval():
    """Where pairs only drift there are hardly any."""
    found = paired_mean_autocorrelated(np.repeat([0.0, 1.0], 20), 95)
    assert found.value is None
    assert found.reason == "lag-1 autocorrelation 0.93: 40 pairs count as 1.6, and an interval needs two"


@pytest.mark.parametrize("pairs", [[], [1.0], [1.0, 1.0, 1.0], [1.0, math.nan]])
def test_autocorrelated_mean_that_cannot_be_is_unresolved(pairs):
    """What the plain mean of pairs lacks, this one lacks."""
    assert paired_mean_autocorrelated(np.array(pairs), 95) == paired_mean(np.array(pairs), 95)


def test_simultaneous_intervals_share_what_may_err():
    """Of three intervals at 95 percent together each errs with a third of 5 percent; one alone is as it was."""
    assert simultaneous_level(95.0, 1) == 95.0
    assert simultaneous_level(95.0, 3) == pytest.approx(100 - 5 / 3)
    assert stats.t.ppf(0.5 + simultaneous_level(95.0, 3) / 200, 7) == pytest.approx(stats.t.isf(0.05 / (2 * 3), 7))


def test_resolution_floor_is_the_spread_of_a_rounded_value():
    """Values spread evenly over a step have this standard deviation."""
    step = np.linspace(-0.05, 0.05, 100_001)
    assert resolution_floor(0.1) == pytest.approx(step.std(), rel=1e-4)


@pytest.mark.parametrize(
    "call", [lambda: simultaneous_level(95, 0), *(lambda q=q: resolution_floor(q) for q in (0, -1, math.nan))]
)
def test_helper_of_nothing_is_refused(call):
    """No variants, or no resolution, is a mistake of the caller."""
    with pytest.raises(ValueError, match="expected"):
        call()


def test_weighted_mean_has_no_interval():
    """A weighted mean has a value and a count, and claims no more."""
    found = weighted_mean(np.array([1.0, 4.0]), np.array([3.0, 1.0]))
    assert found == Estimate(1.75, n=2)
    assert found.aspects(95) == {"n": 2}


@pytest.mark.parametrize(
    ("values", "weights", "reason"),
    [
        ([], [], "need at least one value with a weight above zero"),
        ([1.0, 2.0], [0.0, 0.0], "need at least one value with a weight above zero"),
        ([1.0, 2.0], [2.0, -1.0], "a weight is below zero"),
        ([1.0, math.nan], [1.0, 1.0], "1 of 2 values have no value"),
        ([1.0, 2.0], [1.0, math.nan], "1 of 2 weights have no value"),
    ],
)
def test_weighted_mean_that_cannot_be_is_unresolved(values, weights, reason):
    """Without a positive weight, or with a negative one, there is no weighted mean."""
    assert weighted_mean(*arrays(values, weights)) == Estimate(None, n=len(values), reason=reason)


# ---- what must not change a comparison, and what must


@repeatable
@given(ROWS, ROWS, COMPARISONS)
def test_swapped_arms_flip_the_sign(first, second, of):
    """The difference of swapped arms has the other sign, and its interval's ends change places."""
    x, y = arrays(first, second)
    forth, back = of(x, y, 95), of(y, x, 95)
    assert ends(back) == pytest.approx((-forth.hi, -forth.value, -forth.lo), rel=1e-12, abs=1e-12)


@repeatable
@given(ROWS, ROWS)
def test_swapped_arms_turn_the_ratio(first, second):
    """The ratio of swapped arms is one over it, as are its interval's ends."""
    x, y = arrays(first, second)
    forth, back = relative(x, y, 95), relative(y, x, 95)
    assert ends(back) == pytest.approx((1 / forth.hi, 1 / forth.value, 1 / forth.lo), rel=1e-9)


@repeatable
@given(ROWS, ROWS)
def test_saving_as_a_share_is_what_the_ratio_leaves(first, second):
    """What an arm saves of another's time, and what it takes of it, add up to all."""
    x, y = arrays(first, second)
    saved, taken = relative_saving(x, y, 95), relative(y, x, 95)
    assert ends(saved) == (1 - taken.hi, 1 - taken.value, 1 - taken.lo)
    assert (saved.value > 0) == (difference(x, y, 95).value > 0)


@repeatable
@given(ROWS, ROWS, st.sampled_from([1e-3, 1e3, 60.0]), COMPARISONS)
def test_another_unit_scales_everything(first, second, scale, of):
    """Values in another unit give difference, interval and spread in that unit, and the same ratio."""
    x, y = arrays(first, second)
    one, other = of(x, y, 95), of(x * scale, y * scale, 95)
    scaled = [v * scale for v in (*ends(one), one.se, one.sd or 0)]
    assert [*ends(other), other.se, other.sd or 0] == pytest.approx(scaled, abs=1e-9)
    assert ends(relative(x * scale, y * scale, 95)) == pytest.approx(ends(relative(x, y, 95)), rel=1e-9)


@repeatable
@given(ROWS, ROWS, st.randoms(), COMPARISONS | st.just(relative))
def test_order_of_rows_does_not_matter(first, second, random, of):
    """Rows in another order give the same value and interval."""
    shuffled = random.sample(first, len(first)), random.sample(second, len(second))
    one, other = of(*arrays(first, second), 95), of(*arrays(*shuffled), 95)
    assert ends(one) == pytest.approx(ends(other), rel=1e-12, abs=1e-12)


@repeatable
@given(ROWS, ROWS, st.integers(-100, 100), COMPARISONS)
def test_constant_in_every_row_cancels(first, second, constant, of):
    """The same amount added to every row changes no difference and no interval."""
    x, y = arrays(first, second)
    assert ends(of(x + constant, y + constant, 95)) == pytest.approx(ends(of(x, y, 95)), abs=1e-9)


@repeatable
@given(ROWS, ROWS, st.floats(-1, 1), COMPARISONS)
def test_amount_in_one_arm_shifts_the_difference(first, second, amount, of):
    """What is added to one arm is added to the difference; the width stays."""
    x, y = arrays(first, second)
    one, other = of(x, y, 95), of(x + amount, y, 95)
    assert other.value - one.value == pytest.approx(amount, abs=1e-9)
    assert other.hi - other.lo == pytest.approx(one.hi - one.lo, rel=1e-9)


@repeatable
@given(ROWS, ROWS, COMPARISONS | st.just(relative))
def test_higher_level_is_wider(first, second, of):
    """A higher level gives an interval around the lower one's."""
    narrow, wide = (of(*arrays(first, second), level) for level in (80, 90))
    assert wide.lo < narrow.lo < narrow.value < narrow.hi < wide.hi


@repeatable
@given(ROWS, ROWS, st.sampled_from([math.nan, math.inf, -math.inf]), COMPARISONS | st.just(relative))
def test_row_without_value_never_narrows(first, second, lost, of):
    """A row that has no value is not left out: with it nothing is told."""
    found = of(*arrays([*first, lost], second), 95)
    n = len(first) + 1 + len(second)
    assert found == Estimate(None, n=n, reason=f"1 of {n} rows have no value")


@repeatable
@given(ROWS, ROWS, COMPARISONS | st.just(relative))
def test_summary_stands_for_its_rows(first, second, of):
    """Mean, standard deviation and count of an arm give what its rows give, in either arm or both."""
    x, y = arrays(first, second)
    of_x, of_y = (Summary(float(v.mean()), float(v.std(ddof=1)), len(v)) for v in (x, y))
    for summarised in ((of_x, y), (x, of_y), (of_x, of_y)):
        assert ends(of(*summarised, 95)) == pytest.approx(ends(of(x, y, 95)), rel=1e-9, abs=1e-9)


@repeatable
@given(ROWS.filter(lambda v: len(v) > 2), st.sampled_from([80.0, 95.0]))
def test_autocorrelation_never_narrows(pairs, level):
    """The interval that minds neighbours holds the one that does not, and runs as far backwards as forwards."""
    plain, found = paired_mean(np.array(pairs), level), paired_mean_autocorrelated(np.array(pairs), level)
    if found.value is not None:
        assert found.lo <= plain.lo < plain.hi <= found.hi
    assert paired_mean_autocorrelated(np.array(pairs[::-1]), level).reason == found.reason


# ---- the same, through a whole part


def saving(part: Served) -> tuple[float, float, float]:
    found = part.read()["saving.low"]
    return found.aspects["lo"], found.value, found.aspects["hi"]


def test_saving_of_swapped_arms_flips_its_sign(tmp_path):
    """A part whose declaration swaps the arms reports the same saving, negative."""
    part = served(tmp_path)
    lo, value, hi = saving(part)
    part.readings = [part.readings[0] | {"arm": "yardstick", "against": "rs8"}]
    assert saving(part) == pytest.approx((-hi, -value, -lo))


def test_saving_does_not_depend_on_the_order_of_lines(tmp_path):
    """The records of each table may stand in any order."""
    part = served(tmp_path)
    before = {name: one.to_json() for name, one in part.read().items()}
    for table in ("rows", "draws", "tasks", "power"):
        getattr(part, table).reverse()
    after = part.read()
    assert {name: after[name].value for name in before} == {n: pytest.approx(one["value"]) for n, one in before.items()}


def test_constant_in_every_step_changes_no_saving(tmp_path):
    """A machine that is slower by the same time in every step saves the same."""
    part = served(tmp_path)
    before = saving(part)
    for name, step_ms in STEP_MS.items():
        part.set_row(name, step_ms + 1.25)
    assert saving(part) == pytest.approx(before)


def test_longer_drafts_along_the_slope_change_no_saving(tmp_path):
    """A row whose drafts were longer, and its steps by the slope times that, is worth the same when matched."""
    part = served(tmp_path)
    before = saving(part)
    part.set_row("r2", STEP_MS["r2"] + 0.4 * 0.05, tokens_per_step=3.75)
    assert saving(part) == pytest.approx(before)


def test_draw_that_is_split_in_time_counts_once(tmp_path):
    """A row's value is the mean of its draws: two draws apart by as much each way are worth two equal ones."""
    part = served(tmp_path)
    before = saving(part)
    first, second = (d for d in part.draws if d["row"] == "r2")
    first["step_time_ms"] += 50
    second["step_time_ms"] -= 50
    assert saving(part) == pytest.approx(before)


def test_more_draws_are_no_more_rows(tmp_path):
    """The row is the unit: degrees of freedom count rows, however many draws each has."""
    found = served(tmp_path).read()["saving.low"]
    assert (found.aspects["df"], found.aspects["n"]) == (3, 5)


def test_every_pair_of_arms_is_consistent(tmp_path):
    """The saving against one arm is the saving against another plus those two arms' drift."""
    arms = ("yardstick", "old", "rs8")
    declared = [
        {"id": f"d.{a}.{b}", "kind": "drift", "arm": a, "against": b, "slope": "low"}
        for a, b in itertools.permutations(arms, 2)
    ]
    found = served(tmp_path, *declared).read()
    chain = found["d.yardstick.old"].value + found["d.old.rs8"].value
    assert found["d.yardstick.rs8"].value == pytest.approx(chain)
