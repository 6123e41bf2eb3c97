"""Variance parts and the repetitions they are worth, against other programs and a search of all choices."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import mixedlm
from tests.served import repeatable

from campaign.analysis.variance import best_draws, components, kalibera_jones

GROUPS = st.lists(st.lists(st.integers(0, 1000), min_size=1, max_size=5), min_size=2, max_size=6).filter(
    lambda groups: any(len(set(group)) > 1 for group in groups)
)
POSITIVE = st.floats(0.01, 100)


@repeatable
@given(GROUPS)
def test_mean_squares_agree_with_scipy(groups):
    found = components(groups)
    if sum(map(len, groups)) > len(groups):
        assert found.f == pytest.approx(stats.f_oneway(*groups).statistic, rel=1e-9, abs=1e-12)
    assert found.boundary == (found.var_b == 0)
    assert 0 <= found.icc < 1


def test_balanced_components_are_those_of_a_mixed_model():
    """The same as restricted maximum likelihood where rows have as many draws each."""
    rng = np.random.default_rng(3)
    groups = rng.normal(14.4, 0.09, (8, 1)) + rng.normal(0, 0.05, (8, 3))
    frame = pd.DataFrame({"y": groups.ravel(), "row": np.repeat(np.arange(8), 3)})
    fitted = mixedlm("y ~ 1", frame, groups="row").fit(reml=True)
    found = components(groups.tolist())
    assert found.var_b == pytest.approx(float(fitted.cov_re.iloc[0, 0]), rel=1e-3)
    assert found.var_w == pytest.approx(float(fitted.scale), rel=1e-3)


def test_unequal_numbers_of_draws_count_by_m0():
    """m0 = (N − Σm²/N)/(I − 1), the draws of each row where they are equal."""
    assert components([[1, 2, 4], [3, 5]]).m0 == pytest.approx(5 - 13 / 5)
    assert components([[1, 2, 4], [3, 5, 5]]).m0 == pytest.approx(3)


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ([[1, 2]], "at least two rows"),
        ([], "at least two rows"),
        ([[1], [2], [3]], "two draws in at least one row"),
        ([[1, 2], []], "a row has no draws"),
        ([[1, 2], [math.nan, 3]], "1 of 4 draws have no value"),
        ([[0.3, 0.1 * 3], [0.7, 0.7]], "do not vary within rows"),
    ],
)
def test_what_has_no_components_says_why(groups, reason):
    found = components(groups)
    assert found.var_b is None and found.icc is None
    assert reason in found.reason


@repeatable
@given(POSITIVE, POSITIVE, POSITIVE, POSITIVE)
def test_best_draws_cost_least_for_their_variance(c_row, c_draw, var_w, var_b):
    """Of all whole numbers near it none is cheaper, and so of all."""

    def spent(m):
        return (c_row + m * c_draw) * (var_b + var_w / m)

    found = best_draws(c_row, c_draw, var_w, var_b)
    assert found.exact == pytest.approx(math.sqrt(c_row / c_draw * var_w / var_b))
    others = range(max(1, found.draws - 20), found.draws + 20)
    assert spent(found.draws) <= min(map(spent, others)) * (1 + 1e-12)


def test_rows_that_do_not_differ_take_as_many_draws_as_fit():
    found = best_draws(10, 1, 2.0, 0.0)
    assert found.draws is None and found.boundary and not found.reason


def test_draws_that_do_not_vary_are_drawn_once():
    assert best_draws(10, 1, 0.0, 1.0).draws == 1


def test_unknown_variances_have_no_best_draws():
    assert best_draws(10, 1, math.nan, 1.0).reason == "a variance is not known"


def test_costs_must_be_costs():
    with pytest.raises(ValueError, match="costs above zero"):
        best_draws(10, 0, 1, 1)


def test_two_levels_are_the_components_of_rows_and_draws():
    """T_1² and T_2² of balanced data are σ_W² and σ_B², and the best repetitions are m*."""
    groups = np.random.default_rng(4).normal(0, 1, (6, 1)) + np.random.default_rng(5).normal(0, 1, (6, 4))
    found, parts = kalibera_jones(groups.tolist(), [20, 3]), components(groups.tolist())
    assert found.t2 == pytest.approx((parts.var_w, parts.var_b))
    assert found.best == pytest.approx((best_draws(20, 3, parts.var_w, parts.var_b).exact,))


PAPER = [[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]]
"""Worked example of the paper, whose second level adds nothing."""


def test_a_level_that_adds_nothing_is_dropped_and_paid_with_the_next():
    """Its lower level is weighed against the level above it, whose repetition starts the dropped one once too."""
    found = kalibera_jones(PAPER, [100, 20, 3])
    assert found.dropped == (2,)
    assert found.best == pytest.approx((math.sqrt(120 / 3 * found.t2[0] / found.t2[2]), 1.0))


def test_where_the_highest_level_adds_nothing_as_many_as_fit():
    found = kalibera_jones([[1, 2, 3], [1, 2, 3]], [20, 3])
    assert found.dropped == (2,) and found.best == (None,)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([[1, 2], [3]], "as many repetitions everywhere"),
        ([[1, 2]], "at least two repetitions of every level"),
        ([[1, 2], [3, math.nan]], "1 of 4 values lack"),
    ],
)
def test_repetitions_that_cannot_be_told_apart_say_why(data, reason):
    assert reason in kalibera_jones(data).reason


def test_costs_of_another_number_of_levels_are_refused():
    with pytest.raises(ValueError, match="expected one above zero for each"):
        kalibera_jones(PAPER, [20, 3])
