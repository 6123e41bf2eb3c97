"""Means, differences and their intervals, against published cases, other programs and what must not change them."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW
from tests.served import STEP_MS, Served, repeatable, served

from campaign.analysis.intervals import Estimate, difference, paired_mean, weighted_mean
from campaign.analysis.rows import row_values
from campaign.engine.plan import Matching, Plan

CASES = {case["id"]: case for case in json.loads((Path(__file__).parent / "data" / "stats-cases.json").read_text())}
ROWS = st.lists(st.integers(1000, 2000).map(lambda n: n / 100), min_size=2, max_size=8).filter(
    lambda v: len(set(v)) > 1
)
"""Row values in ms that vary."""


def case(name: str) -> tuple[dict, dict, float]:
    """Inputs, expected values and relative tolerance of a case."""
    found = CASES[name]
    return found["inputs"], found["expected"], found["rel_tol"]


def arrays(*values: list[float]) -> list[np.ndarray]:
    return [np.array(one, dtype=float) for one in values]


def ends(found: Estimate) -> tuple[float, float, float]:
    return found.lo, found.value, found.hi


# ---- published cases


@pytest.mark.parametrize("name", ["P1", "P4", "S1"])
def test_pooled_difference_of_published_cases(name):
    """Difference, interval, degrees of freedom and t agree with R, NIST and the published rows."""
    inputs, expected, tolerance = case(name)
    found = difference(*arrays(inputs["x"], inputs["y"]), 95)
    said = {"lo": found.lo, "hi": found.hi, "df": found.df, "t": found.value / found.se, "sp": found.sd}
    said |= {"diff": found.value, "se": found.se, "p": 2 * stats.t.sf(abs(found.value / found.se), found.df)}
    assert {key: said[key] for key in expected} == {key: pytest.approx(v, rel=tolerance) for key, v in expected.items()}


def test_difference_from_a_yardstick_of_published_case():
    """Eighteen yardstick rows with the published mean and spread, and four rs8 rows, give the published interval."""
    inputs, expected, tolerance = case("S2")
    n = inputs["n_ref"]
    spread = np.array([-1.0, 1.0] * (n // 2))
    yardstick = inputs["m_ref"] + inputs["s_ref"] * spread / spread.std(ddof=1)
    found = difference(yardstick, np.array(inputs["x"]), 95)
    said = {"diff": found.value, "sp": found.sd, "df": found.df, "lo": found.lo, "hi": found.hi}
    assert said == {key: pytest.approx(expected[key], rel=tolerance) for key in said}


def test_paired_mean_of_published_case():
    """R's paired t test on its sleep data."""
    inputs, expected, tolerance = case("P3")
    x, y = arrays(inputs["x"], inputs["y"])
    found = paired_mean(x - y, 95)
    said = {"t": found.value / found.se, "df": found.df, "lo": found.lo, "hi": found.hi}
    said["p"] = 2 * stats.t.sf(abs(said["t"]), found.df)
    assert said == {key: pytest.approx(value, rel=tolerance) for key, value in expected.items()}


def test_mean_interval_of_published_case():
    """A mean of six values with its interval, as Go's benchmark mathematics gives it."""
    inputs, expected, tolerance = case("P12")
    found = paired_mean(np.array(inputs["x"], dtype=float), 95)
    assert ends(found) == pytest.approx((expected["lo"], expected["mean"], expected["hi"]), rel=tolerance)


@pytest.mark.parametrize("slope", ["0", "0.366", "0.602"])
def test_matched_rows_of_worked_case(slope):
    """Draws shifted to one point along a slope, averaged to rows, give the worked difference and interval."""
    inputs, expected, tolerance = case("S3")
    records, rows = [], []
    for arm in ("off", "on"):
        for number, draws in enumerate(inputs[arm]):
            rows.append({"row": f"{arm}{number}", "arm": arm, "started": number})
            for place, (step_ms, tokens_per_step) in enumerate(draws):
                record = {"row": f"{arm}{number}", "draw": place, "step_time_ms": step_ms * 100, "verify_steps": 100}
                records.append(record | {"tokens": tokens_per_step * 100, "model_time_s": 1.0, "passes": 0})
    constants = {
        "at": {"value": inputs["x0"], "because": "given"},
        "slope": {"value": float(slope), "because": "given"},
    }
    matching = Matching(at="at", slopes={"one": "slope"})
    plan = Plan(about="S3", constants=constants, matching=matching)
    values = row_values(plan, pd.DataFrame(rows), {"draws": pd.DataFrame(records)})
    off, on = (values.loc[values["arm"] == arm, "matched_one"].to_numpy() for arm in ("off", "on"))
    found = difference(off, on, 95)
    assert (found.value, found.lo, found.hi) == pytest.approx(expected[slope], rel=tolerance)


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
    """Rows that differ in their eighth digit vary: the atomic weights of NIST have an interval."""
    inputs, _, _ = case("P4")
    assert difference(*arrays(inputs["x"], inputs["y"]), 95).sd == pytest.approx(1.51e-5, rel=1e-2)


@repeatable
@given(ROWS, ROWS, st.floats(-8, 8).map(lambda power: 10.0**power))
def test_dust_is_told_by_size_and_not_by_unit(first, second, scale):
    """Whether rows vary does not depend on the unit in which they are written."""
    x, y = arrays(first, second)
    assert difference(x * scale, y * scale, 95).value is not None


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


# ---- what must not change a difference, and what must


@repeatable
@given(ROWS, ROWS)
def test_swapped_arms_flip_the_sign(first, second):
    """The difference of swapped arms has the other sign, and its interval's ends change places."""
    x, y = arrays(first, second)
    forth, back = difference(x, y, 95), difference(y, x, 95)
    assert ends(back) == pytest.approx((-forth.hi, -forth.value, -forth.lo), rel=1e-12, abs=1e-12)


@repeatable
@given(ROWS, ROWS, st.sampled_from([1e-3, 1e3, 60.0]))
def test_another_unit_scales_everything(first, second, scale):
    """Values in another unit give difference, interval and spread in that unit."""
    x, y = arrays(first, second)
    one, other = difference(x, y, 95), difference(x * scale, y * scale, 95)
    assert [*ends(other), other.se, other.sd] == pytest.approx(
        [v * scale for v in (*ends(one), one.se, one.sd)], abs=1e-9
    )


@repeatable
@given(ROWS, ROWS, st.randoms())
def test_order_of_rows_does_not_matter(first, second, random):
    """Rows in another order give the same difference and interval."""
    shuffled = random.sample(first, len(first)), random.sample(second, len(second))
    one, other = difference(*arrays(first, second), 95), difference(*arrays(*shuffled), 95)
    assert ends(one) == pytest.approx(ends(other), rel=1e-12, abs=1e-12)


@repeatable
@given(ROWS, ROWS, st.integers(-100, 100))
def test_constant_in_every_row_cancels(first, second, constant):
    """The same amount added to every row changes no difference and no interval."""
    x, y = arrays(first, second)
    assert ends(difference(x + constant, y + constant, 95)) == pytest.approx(ends(difference(x, y, 95)), abs=1e-9)


@repeatable
@given(ROWS, ROWS, st.floats(-1, 1))
def test_amount_in_one_arm_shifts_the_difference(first, second, amount):
    """What is added to one arm is added to the difference; the width stays."""
    x, y = arrays(first, second)
    one, other = difference(x, y, 95), difference(x + amount, y, 95)
    assert other.value - one.value == pytest.approx(amount, abs=1e-9)
    assert other.hi - other.lo == pytest.approx(one.hi - one.lo, rel=1e-9)


@repeatable
@given(ROWS, ROWS)
def test_higher_level_is_wider(first, second):
    """A higher level gives an interval around the lower one's."""
    narrow, wide = (difference(*arrays(first, second), level) for level in (90, 99))
    assert wide.lo < narrow.lo < narrow.value < narrow.hi < wide.hi


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
