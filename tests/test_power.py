"""Chances of verdicts and rows needed, against statsmodels, a search of all numbers and simulated campaigns."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestIndPower
from tests.served import repeatable

from campaign.analysis.power import (
    NEVER,
    Campaign,
    band_probabilities,
    carries_probability,
    floor_test,
    least_detectable,
    rows_for_half_width,
    rows_needed,
    t_test_power,
    verdict_probabilities,
)

BANDS = (("carries", 0.155, True), ("seen", 0.0, False), ("rolled back", None, False))
DESIGN = {"sd": 0.0837, "n2": 18, "level": 95}
"""Spread and yardstick of the published Part 5, ms per verify step."""
ROWS = st.integers(2, 30)
EFFECTS = st.floats(-2, 2)


@repeatable
@given(EFFECTS, ROWS, ROWS, st.sampled_from([0.01, 0.05, 0.1]))
def test_power_agrees_with_statsmodels(d, n1, n2, alpha):
    for mine, theirs in (("two", "two-sided"), ("greater", "larger"), ("less", "smaller")):
        expected = TTestIndPower().power(d, n1, alpha, ratio=n2 / n1, alternative=theirs)
        assert t_test_power(d, n1, n2, alpha, mine).value == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_an_alternative_that_is_none_is_refused():
    with pytest.raises(ValueError, match="expected two, greater or less"):
        t_test_power(1, 4, 4, alternative="both")


def test_a_saving_at_the_bar_carries_with_half_of_what_the_level_leaves():
    assert carries_probability(0.155, 0.155, n1=4, **DESIGN).value == pytest.approx(0.025)


@repeatable
@given(st.floats(0, 0.5), st.floats(0.001, 0.2), ROWS)
def test_carrying_is_likelier_with_a_larger_saving_and_a_lower_bar(delta, more, n1):
    chance = carries_probability(delta, 0.155, n1=n1, **DESIGN).value
    assert carries_probability(delta + more, 0.155, n1=n1, **DESIGN).value >= chance - 1e-12
    assert carries_probability(delta, 0.155 - more, n1=n1, **DESIGN).value >= chance - 1e-12


@repeatable
@given(st.floats(-0.2, 0.6), ROWS)
def test_bands_add_up_and_begin_with_carrying(delta, n1):
    chances = band_probabilities(delta, [0.155, 0.0], n1=n1, **DESIGN).chances
    assert sum(chances) == pytest.approx(1)
    assert chances[0] == pytest.approx(carries_probability(delta, 0.155, n1=n1, **DESIGN).value, abs=1e-12)
    assert chances[2] == pytest.approx(1 - carries_probability(delta, 0.0, n1=n1, **DESIGN).value, abs=1e-12)


def test_thresholds_must_descend():
    with pytest.raises(ValueError, match="below the one before it"):
        band_probabilities(0.3, [0, 0.155], n1=4, **DESIGN)


# ---- rows


@repeatable
@given(st.sampled_from([0.5, 0.8, 0.9, 0.99]), st.floats(0.16, 0.6))
def test_rows_needed_are_the_fewest(power, delta):
    found = rows_needed(power, delta, 0.155, most=200, **DESIGN)
    chances = [carries_probability(delta, 0.155, n1=n1, **DESIGN).value for n1 in range(1, 201)]
    enough = [n1 for n1, chance in enumerate(chances, 1) if chance >= power]
    assert found.rows == (enough[0] if enough else None)
    assert found.rows or found.reason in (NEVER, "more than 200 rows")


@pytest.mark.parametrize("delta", [0.0, 0.155, 0.16])
def test_a_yardstick_can_be_too_short_for_any_number_of_rows(delta):
    """However many rows come, its own spread stays."""
    assert rows_needed(0.8, delta, 0.155, **DESIGN).reason == NEVER
    assert carries_probability(delta, 0.155, n1=10**6, **DESIGN).value < 0.8


def test_more_rows_than_were_looked_for_is_not_never():
    just = 0.155 + (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * 0.0837 / math.sqrt(18) * 1.0001
    assert rows_needed(0.8, just, 0.155, **DESIGN).reason == "more than 1000 rows"


@repeatable
@given(st.floats(0.05, 0.5))
def test_rows_for_a_half_width_are_the_fewest(half_width):
    found = rows_for_half_width(half_width, **DESIGN)

    def half(n1):
        return stats.t.ppf(0.975, n1 + 16) * 0.0837 * math.sqrt(1 / n1 + 1 / 18)

    assert half(found.rows) == pytest.approx(found.reached)
    assert found.reached <= half_width and (found.rows == 1 or half(found.rows - 1) > half_width)


def test_a_half_width_below_the_floor_is_never_reached():
    assert rows_for_half_width(0.0386, **DESIGN).reason == NEVER


@repeatable
@given(st.floats(0.05, 0.99), ROWS)
def test_least_detectable_saving_has_the_power(power, n1):
    found = least_detectable(power, 0.155, n1=n1, **DESIGN).value
    assert carries_probability(found, 0.155, n1=n1, **DESIGN).value == pytest.approx(power, rel=1e-7)


def test_least_detectable_needs_more_power_than_the_bar_itself_has():
    with pytest.raises(ValueError, match=r"between 0\.025"):
        least_detectable(0.02, 0.155, n1=4, **DESIGN)


# ---- the floor


@repeatable
@given(st.floats(0.001, 100), st.integers(1, 40), st.floats(-50, 50))
def test_floor_test_finds_the_fewest_new_rows(sd, n_ref, implied):
    found = floor_test(sd, n_ref, implied, 95)
    z = stats.norm.ppf(0.975)
    assert found.floor == pytest.approx(z * sd / math.sqrt(n_ref))
    assert found.resolvable == (found.floor < abs(implied))
    if found.resolvable:

        def half(n):
            return z * sd * math.sqrt(1 / n + 1 / n_ref)

        assert half(found.rows) < abs(implied)
        assert found.rows == 1 or half(found.rows - 1) >= abs(implied) * (1 - 1e-9)
    else:
        assert found.rows is None and found.reason == NEVER


# ---- what is not known


@pytest.mark.parametrize("sd", [None, math.nan, 0.0])
def test_no_spread_plans_nothing(sd):
    """A spread of 0 would promise every verdict; one that is not known promises none."""
    said = {
        carries_probability(0.31, 0.155, sd, 4, 18, 95).reason,
        band_probabilities(0.31, [0.155, 0], sd, 4, 18, 95).reason,
        rows_needed(0.8, 0.31, 0.155, sd, 18, 95).reason,
        rows_for_half_width(0.1, sd, 18, 95).reason,
        least_detectable(0.8, 0.155, sd, 4, 18, 95).reason,
        floor_test(sd, 18, 0.1, 95).reason,
        verdict_probabilities(0.31, Campaign(sd, 4, 18, 95, BANDS)).reason,
    }
    assert len(said) == 1 and "standard deviation" in said.pop()


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (0, 5)])
def test_too_few_rows_plan_nothing(n1, n2):
    for found in (
        t_test_power(1, n1, n2),
        carries_probability(0.31, 0.155, 0.08, n1, n2, 95),
        least_detectable(0.8, 0.155, 0.08, n1, n2, 95),
        verdict_probabilities(0.31, Campaign(0.08, n1, n2, 95, BANDS)),
    ):
        assert "need" in found.reason


# ---- simulated verdicts

PART_5 = Campaign(0.0837, 4, 18, 95, BANDS)


def near(chance: float, draws: int) -> object:
    return pytest.approx(chance, abs=4 * math.sqrt(chance * (1 - chance) / draws) + 1e-9)


@pytest.mark.parametrize(("saving", "drift"), [(0.31, 0), (0.2, 0), (0.0, 0), (0.31, 0.1)])
def test_without_a_guard_the_simulation_agrees_with_the_closed_form(saving, drift):
    """The day's drift takes from the saving what it adds to the rows of the day."""
    found = verdict_probabilities(saving, PART_5, drift=drift, draws=50_000, seed=1)
    expected = band_probabilities(saving - drift, [0.155, 0.0], n1=4, **DESIGN).chances
    words = ("carries", "seen", "rolled back")
    assert [found.chances[word] for word in words] == [near(chance, 50_000) for chance in expected]
    assert sum(found.chances.values()) == pytest.approx(1)


def test_the_drift_guard_confounds_as_often_as_the_day_is_off():
    """Where the saving is large, the share is that of a mean difference beyond the limit."""
    plan = replace(PART_5, n_day=2, drift_limit=0.13)
    found = verdict_probabilities(5.0, plan, drift=0.05, draws=50_000)
    se = 0.0837 * math.sqrt(1 / 2 + 1 / 18)
    beyond = stats.norm.sf((0.13 - 0.05) / se) + stats.norm.cdf((-0.13 - 0.05) / se)
    assert found.chances["confounded"] == near(beyond, 50_000)


def test_a_failed_task_holds_before_the_drift_confounds():
    plan = replace(PART_5, n_day=2, drift_limit=0.1, task_runs=10, failure=0.02)
    found = verdict_probabilities(5.0, plan, drift=2, draws=50_000)
    assert found.chances["held"] == near(1 - 0.98**10, 50_000)
    assert found.chances["confounded"] == pytest.approx(1 - found.chances["held"])


def test_guards_hide_no_roll_back():
    plan = replace(PART_5, n_day=2, drift_limit=0.0, task_runs=1, failure=1.0)
    found = verdict_probabilities(-5.0, plan)
    assert found.chances["rolled back"] == 1


def test_a_guard_without_day_rows_leaves_positive_verdicts_unresolved():
    found = verdict_probabilities(5.0, replace(PART_5, drift_limit=0.13))
    assert found.chances["unresolved"] == 1


def test_the_precedence_says_whose_word_stands():
    plan = replace(PART_5, n_day=2, drift_limit=0.0, task_runs=1, failure=1.0, precedence=("confounded", "held"))
    assert verdict_probabilities(5.0, plan).chances["confounded"] == 1


def test_the_same_seed_gives_the_same_chances():
    first = verdict_probabilities(0.31, PART_5, seed=1)
    assert verdict_probabilities(0.31, PART_5, seed=1) == first
    assert verdict_probabilities(0.31, PART_5, seed=2).chances != first.chances
    assert (first.draws, first.seed) == (20_000, 1)


def test_what_is_no_chance_is_refused():
    with pytest.raises(ValueError, match="a chance and counts"):
        verdict_probabilities(0.31, replace(PART_5, failure=1.5))


def test_chances_of_far_effects_stay_chances():
    """The noncentral t is asked far out."""
    for delta in np.linspace(-500, 500, 11):
        assert 0 <= carries_probability(delta, 0.155, n1=4, **DESIGN).value <= 1
