"""The robustness panel: its numbers are those of scipy and statsmodels, and what must not matter does not."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS, WLS
from tests.served import SAVING, Served, draw, served

from campaign.analysis.checks import METHODS, Panel
from campaign.analysis.compute import read
from campaign.analysis.robustness import robustness
from campaign.analysis.rows import DRAW_VALUES, ROW_VALUES, served_tables
from campaign.analysis.tipping import saving_curve, tau_sweep
from campaign.analysis.unequal_draws import pooled_components, weighted_difference
from campaign.analysis.variance import components
from campaign.engine.data import Data
from campaign.engine.plan import Plan
from campaign.notes.paths import Campaign
from campaign.notes.sources import Sources, load

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def five() -> Sources:
    return load(Campaign.above(ROOT).part("part-5"))


@pytest.fixture(scope="module")
def panel(five: Sources) -> Panel:
    return robustness(five.plan, five.data, five.readings)


@pytest.fixture(scope="module")
def rows(five: Sources) -> Any:
    return served_tables(five.plan, five.data)[ROW_VALUES]


def arms(rows: Any, column: str) -> list[np.ndarray]:
    """The yardstick's row values and those of rs8."""
    return [rows[rows["arm"] == arm][column].to_numpy() for arm in ("yardstick", "rs8")]


def of(part: Served, plan: Plan | None = None, data: Data | None = None) -> Panel:
    """The panel of the small part."""
    plan, data = plan or part.plan(), data or part.data()
    return robustness(plan, data, read(plan, data, "plan.toml"))


def rounded(value: Any) -> Any:
    """JSON with its numbers to ten digits: sums in another order differ in the last bits."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


# ---------------------------------------------------------------- the numbers of part 5


def test_deciding_reading_is_the_least_favourable_lower_end(panel, five):
    one = panel.deciding
    assert (one.slope, one.figure, one.band) == ("high", "lower end", "carries")
    assert one.value == five.readings["decide.lower"].value == one.saving.lo


def test_welch_is_that_of_scipy(panel, rows):
    found = panel.by_id()["welch"].estimate
    test = stats.ttest_ind(*arms(rows, "matched_high"), equal_var=False)
    interval = test.confidence_interval(0.95)
    assert (found.lo, found.hi) == pytest.approx((interval.low, interval.high))
    assert panel.by_id()["welch"].p == pytest.approx(test.pvalue)


def test_unmatched_is_the_t_test_of_scipy(panel, rows):
    check = panel.by_id()["unmatched"]
    test = stats.ttest_ind(*arms(rows, "step_ms"))
    assert (check.estimate.lo, check.p) == pytest.approx((test.confidence_interval(0.95).low, test.pvalue))


def test_ancova_is_that_of_statsmodels(panel, rows):
    check = panel.by_id()["ancova"]
    two = rows[rows["arm"] != "old"]
    x = np.column_stack([np.ones(len(two)), two["arm"] == "yardstick", two["tokens_per_step"]]).astype(float)
    fit = OLS(two["step_ms"].to_numpy(), x).fit()
    assert (check.estimate.value, check.estimate.se, check.p) == pytest.approx(
        (fit.params[1], fit.bse[1], fit.pvalues[1])
    )
    assert dict(check.details)["slope"].value == pytest.approx(fit.params[2])


def test_trend_is_that_of_statsmodels(panel, rows):
    check = panel.by_id()["time_trend"]
    earlier = (rows["arm"] == "yardstick").to_numpy()
    hours = np.array([(t - min(rows["started"][earlier == e])).total_seconds() / 3600 for t, e in zip(rows["started"], earlier, strict=True)])  # fmt: skip # noqa: E501
    x = np.column_stack([earlier, rows["arm"] == "rs8", rows["arm"] == "old", hours]).astype(float)
    fit = OLS(rows["matched_high"].to_numpy(), x).fit()
    assert check.estimate.value == pytest.approx(fit.params[0] - fit.params[1])
    assert dict(check.details)["high.per_hour"].value == pytest.approx(fit.params[3])


def test_permutation_p_is_that_of_scipy(panel, rows):
    worst = max(
        stats.permutation_test(
            arms(rows, column), lambda a, b: abs(np.mean(a) - np.mean(b)), n_resamples=np.inf, alternative="greater"
        ).pvalue
        for column in ("matched_low", "matched_high")
    )
    assert panel.by_id()["permutation"].p == pytest.approx(worst)


def test_rank_p_is_that_of_scipy(panel, rows):
    tests = [stats.mannwhitneyu(*arms(rows, f"matched_{s}"), method="exact").pvalue for s in ("low", "high")]
    assert panel.by_id()["ranks"].p == pytest.approx(max(tests))


def test_median_of_pairs_is_the_median_of_all_differences(panel, rows):
    check = panel.by_id()["hodges_lehmann"]
    assert check.estimate.value == pytest.approx(np.median(np.subtract.outer(*arms(rows, f"matched_{check.slope}"))))
    assert check.estimate.level >= 95


def test_row_left_out_is_the_worst_of_all(panel, rows):
    lower = {}
    for slope in ("low", "high"):
        both = arms(rows, f"matched_{slope}")
        for arm in (0, 1):
            for place in range(len(both[arm])):
                kept = list(both)
                kept[arm] = np.delete(both[arm], place)
                lower[slope, arm, place] = stats.ttest_ind(*kept).confidence_interval(0.95).low
    check = panel.by_id()["leave_one_out"]
    assert check.estimate.lo == pytest.approx(min(lower.values()))
    assert len(check.details) == len(lower)


def test_rows_that_have_to_go_do_move_the_band(panel, rows):
    """One is not enough, the two that are named are: 0500 and 0518."""
    check = panel.by_id()["rows_removed"]
    assert check.estimate.value == 2 and not panel.by_id()["leave_one_out"].flips
    kept = rows[~rows["row"].isin(["0500", "0518"])]
    assert "0500 and 0518" in check.note
    assert (
        min(stats.ttest_ind(*arms(kept, f"matched_{s}")).confidence_interval(0.95).low for s in ("low", "high")) < 0.155
    )


def test_lower_end_is_at_the_bar_at_the_slope_where_it_flips(panel, rows):
    slope = panel.by_id()["slope.flip.1"].estimate.value
    pairs = [rows[rows["arm"] == arm][["step_ms", "tokens_per_step"]].to_numpy() for arm in ("yardstick", "rs8")]
    assert saving_curve(*pairs, 3.74, [slope], 0.155, 95).estimates[0].lo == pytest.approx(0.155)


def test_lower_end_is_at_the_bar_where_days_differ_by_the_tipping_effect(panel):
    one_day = dict(panel.by_id()["day.tipping"].details)["one_day"].value
    assert tau_sweep(panel.deciding.saving, [one_day], 95, 1)[0].lo == pytest.approx(0.155)


def test_placebo_counts_every_split_of_the_yardstick(panel):
    assert panel.by_id()["placebo"].estimate.n == math.comb(18, 4)


def test_flips_are_those_whose_band_or_sign_differs(panel):
    """Nothing but a large effect of the day turns Part 5 over."""
    assert {check.id for check in panel.flips} == {"day.tau.0.5", "day.tau.1"}


def test_every_check_has_an_id_of_its_own_and_every_number_goes_into_json(panel):
    assert len(panel.by_id()) == len(panel.checks) > 25
    assert json.loads(json.dumps(panel.to_json(), allow_nan=False))["decides"] is False


def test_panel_is_the_same_again(panel, five):
    assert robustness(five.plan, five.data, five.readings).to_json() == panel.to_json()


# ---------------------------------------------------------------- other parts


def test_part_without_matching_is_checked_too():
    """Part 7 has neither slopes nor a yardstick; each check that needs one says so."""
    part = load(Campaign.above(ROOT).part("part-7"))
    found = robustness(part.plan, part.data, part.readings)
    checks = found.by_id()
    assert found.deciding.band == "not resolved" and checks["welch"].estimate.value is not None
    assert "no slope" in checks["unmatched"].reason and "same days" in checks["day.tipping"].reason
    assert checks["leave_one_out"].flips == ("sign",), "without r4 the index is slower"


@pytest.mark.parametrize("name", ["part-4", "part-6"])
def test_part_that_compares_nothing_says_so(name):
    part = load(Campaign.above(ROOT).part(name))
    found = robustness(part.plan, part.data, part.readings)
    assert not found.checks and "compares no two arms" in found.reason


# ---------------------------------------------------------------- what must not matter, and what must


def test_labels_swapped_swap_the_sign(tmp_path):
    parts = [
        served(tmp_path / "a", SAVING),
        served(tmp_path / "b", SAVING | {"arm": "yardstick", "against": "rs8"}),
    ]
    for part in parts:
        part.set_row("y1", 14.41, 3.72)  # tokens per step vary, so that there is a slope
    forth, back = (of(part).by_id() for part in parts)
    for name in ("unmatched", "slope.low", "ancova", "welch", "time_trend", "hodges_lehmann", "bootstrap"):
        one, other = forth[name].estimate, back[name].estimate
        assert one.value == pytest.approx(-other.value), name
        if one.lo is not None:
            assert (one.lo, one.hi) == pytest.approx((-other.hi, -other.lo)), name
    assert [forth[name].p for name in ("permutation", "ranks")] == [back[name].p for name in ("permutation", "ranks")]


def test_another_unit_changes_no_p_and_no_band(tmp_path):
    """Tenths of a millisecond: slopes, bars and times are all ten times as large."""
    small = served(tmp_path / "a", SAVING)
    small.set_row("y1", 14.41, 3.71)
    large = served(tmp_path / "b", SAVING)
    large.draws = [{**one, **{key: 10 * one[key] for key in ("step_time_ms", "model_time_s")}} for one in small.draws]
    for was, becomes in (("value = 0.155", "value = 1.55"), ("value = 0.4", "value = 4"), ("value = 0.6", "value = 6")):
        large.head = large.head.replace(was, becomes)
    one, other = of(small), of(large)
    assert [check.id for check in one.checks] == [check.id for check in other.checks]
    for check, scaled in zip(one.checks, other.checks, strict=True):
        assert (check.band, check.flips) == (scaled.band, scaled.flips), check.id
        assert check.p == (pytest.approx(scaled.p) if scaled.p is not None else None), check.id
        if check.unit == one.unit and check.estimate.value is not None and check.method.decides_like:
            assert scaled.estimate.value == pytest.approx(10 * check.estimate.value), check.id


def test_constant_added_to_every_row_changes_no_saving(tmp_path):
    one, other = served(tmp_path / "a", SAVING), served(tmp_path / "b", SAVING)
    other.draws = [
        said
        | {"step_time_ms": said["step_time_ms"] + 10 * said["verify_steps"], "model_time_s": said["model_time_s"] + 10}
        for said in one.draws
    ]
    for check, moved in zip(of(one).checks, of(other).checks, strict=True):
        if check.method.decides_like and check.id != "relative" and check.estimate.value is not None:
            assert moved.estimate.value == pytest.approx(check.estimate.value), check.id
            assert (moved.band, moved.flips) == (check.band, check.flips), check.id


def test_order_of_records_does_not_matter(tmp_path):
    part = served(tmp_path, SAVING)
    data = part.data()
    turned = {name: table.iloc[::-1].reset_index(drop=True) for name, table in data.tables.items()}
    assert rounded(of(part, data=replace(data, tables=turned)).to_json()) == rounded(of(part).to_json())


def test_draw_without_value_leaves_everything_unresolved(tmp_path):
    """Never another, narrower interval from the draws that are left."""
    part = served(tmp_path, SAVING)
    data = part.data()
    draws = data.tables["draws"].copy()
    draws["step_time_ms"] = draws["step_time_ms"].astype(float)
    draws.loc[(draws["row"] == "r2") & (draws["draw"] == 1), "step_time_ms"] = np.nan
    found = of(part, data=replace(data, tables={**data.tables, "draws": draws}))
    assert found.deciding.value is None and not found.flips
    for check in found.checks:
        if check.method.decides_like:
            assert check.estimate.value is None and check.estimate.lo is None and check.p is None, check.id
            assert check.reason, check.id


def test_missing_rows_leave_only_their_number(tmp_path):
    found = of(served(tmp_path, SAVING).without("r4"))
    assert found == Panel(reason="1 of 4 planned rows are missing")


def test_matching_that_is_not_legal_leaves_only_the_unmatched_check(five):
    """A mismatch in the certificate: tokens per step are an effect of the change, and nothing may be matched."""
    certificate = {"certificate": "check == 'pre-timing' and version == 'v1'"}
    plan = five.plan.model_copy(update={"matching": five.plan.matching.model_copy(update=certificate)})
    found = robustness(plan, five.data, read(plan, five.data, "plan.toml"))
    assert [check.id for check in found.checks] == ["unmatched"] and "not legal" in found.deciding.reason
    assert found.checks[0].estimate.value is not None


# ---------------------------------------------------------------- rows of unequal numbers of draws


UNEQUAL = (
    [np.array([14.4, 14.5]), np.array([14.1, 14.2, 14.3]), np.array([14.6, 14.7])],
    [np.array([14.0, 14.05]), np.array([13.8, 13.9, 13.95, 14.1])],
)


def test_weights_are_those_of_weighted_least_squares():
    found = weighted_difference(*UNEQUAL, 95)
    pooled = pooled_components(UNEQUAL)
    every = [row for arm in UNEQUAL for row in arm]
    weights = [1 / (pooled.var_b + pooled.var_w / len(row)) for row in every]
    x = np.column_stack([np.ones(5), [1, 1, 1, 0, 0]])
    fit = WLS([row.mean() for row in every], x, weights=weights).fit()
    assert (found.value, found.se, found.lo) == pytest.approx((fit.params[1], fit.bse[1], fit.conf_int()[1][0]))


def test_components_pooled_over_one_arm_are_those_of_its_rows():
    one = components(UNEQUAL[0])
    pooled = pooled_components(UNEQUAL[:1])
    assert (pooled.var_b, pooled.var_w) == pytest.approx((one.var_b, one.var_w))


def test_rows_of_unequal_draws_are_weighted(tmp_path):
    """A yardstick row with a third draw is read with its weight; equal rows say that all weigh the same."""
    part = served(tmp_path, SAVING)
    part.draws = [one | {"step_time_ms": one["step_time_ms"] + 20 * one["draw"]} for one in part.draws]
    assert "all weigh the same" in of(part).by_id()["gls"].reason
    part.draws.append(draw("y1", 3, 14.5, passes=0))
    check = of(part).by_id()["gls"]
    values = served_tables(part.plan(), part.data())[DRAW_VALUES]
    groups = [
        [g["matched_low"].to_numpy() for _, g in values[values["arm"] == arm].groupby("row")]
        for arm in ("yardstick", "rs8")
    ]
    assert check.estimate.value == pytest.approx(weighted_difference(*groups, 95).value)


def test_every_method_is_named_once():
    """The catalogue holds every id, with its group, formula and source."""
    assert all(method.group and method.what and method.formula and method.source for method in METHODS.values())
