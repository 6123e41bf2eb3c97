"""The points of the plots: those of the readings that the text quotes."""

import numpy as np
import pytest
from scipy import stats
from tests.plotted import PLOTS, more_yardsticks, plotted, with_one_row_each
from tests.served import ARM_OF, STEP_MS, Served, row

from campaign.analysis import pictures
from campaign.analysis.errors import ReadingError

YARDSTICK = [14.4, 14.45, 14.35]


def rows_of(made: Served, column: str = "matched_low", of: pictures.BandOf = "rows") -> pictures.RowsPicture:
    return pictures.rows_picture(made.plan(), made.data(), column, "yardstick", of, 95)


def slope_of(made: Served, span: tuple[float, float] | None = None) -> pictures.SlopePicture:
    return pictures.slope_picture(made.plan(), made.data(), made.read(), span)


def drift_of(made: Served) -> pictures.DriftPicture:
    return pictures.drift_picture(made.plan(), made.data(), "matched_low", ["yardstick", "old"])


# ---- rows


def test_every_complete_row_is_a_point_at_its_start(tmp_path):
    found = rows_of(plotted(tmp_path))
    assert {one.row: one.arm for one in found.points} == ARM_OF
    assert {one.row: one.value for one in found.points} == pytest.approx(STEP_MS)
    starts = [one.started for one in found.points]
    assert starts == sorted(starts)


@pytest.mark.parametrize(("of", "width"), [("rows", 1.0), ("next row", np.sqrt(4 / 3)), ("mean", 1 / np.sqrt(3))])
def test_band_is_mean_and_t_times_s(tmp_path, of, width):
    band = rows_of(plotted(tmp_path), of=of).band
    half = stats.t.ppf(0.975, 2) * np.std(YARDSTICK, ddof=1) * width
    assert (band.lo, band.center, band.hi) == pytest.approx((14.4 - half, 14.4, 14.4 + half))
    assert (band.n, band.level) == (3, 95)


def test_a_single_yardstick_row_has_no_band(tmp_path):
    found = rows_of(plotted(tmp_path).without("y2").without("y3"))
    assert found.band.lo is None and found.band.reason == "need at least two rows for a band, have 1"
    assert found.band.outside(found.points, "rs8") is None


def test_rows_outside_the_band_are_counted(tmp_path):
    found = rows_of(more_yardsticks(plotted(tmp_path), [14.3, 14.5] * 5))
    assert (found.band.outside(found.points, "rs8"), found.band.outside(found.points, "old")) == (2, 0)


def test_void_rows_are_no_points(tmp_path):
    made = plotted(tmp_path)
    made.rows.append(row("bad", "old", "2026-11-06T05:30:00Z", "void", "the server stopped"))
    found = rows_of(made)
    assert [one.row for one in found.voids] == ["bad"] and "bad" not in {one.row for one in found.points}


def test_a_row_without_a_value_has_none(tmp_path):
    made = plotted(tmp_path)
    made.power = [one for one in made.power if one["row"] != "r2"]
    assert {one.row for one in rows_of(made, "power_share").points if one.value is None} == {"r2"}


def test_an_unknown_column_is_refused(tmp_path):
    with pytest.raises(ReadingError, match=r"'mached_low' is no column of the row values.*Did you mean matched_low\?"):
        rows_of(plotted(tmp_path), "mached_low")


# ---- the saving over the slope


def test_curve_goes_through_the_readings(tmp_path):
    """At a slope of the plan the curve has the value and the interval that the text quotes."""
    made = plotted(tmp_path)
    made.set_row("y1", 14.4, 3.5)
    made.set_row("r2", 14.02, 3.8)
    found, readings = slope_of(made, (0.4, 0.6)), made.read()
    for place, name in ((0, "saving.low"), (-1, "saving.high")):
        curve = (found.values[place], found.lo[place], found.hi[place])
        said = readings[name]
        assert curve == pytest.approx((said.value, said.aspects["lo"], said.aspects["hi"]))
    assert [(mark.slope, mark.at, mark.value) for mark in found.marks] == [
        ("low", 0.4, readings["saving.low"].value),
        ("high", 0.6, readings["saving.high"].value),
    ]


def test_range_covers_zero_and_the_plans_slopes(tmp_path):
    found = slope_of(plotted(tmp_path))
    assert found.slopes[0] < 0 < 0.4 < 0.6 < found.slopes[-1]
    assert list(found.slopes) == sorted(found.slopes)


def test_a_flip_is_where_the_lower_end_is_the_bar(tmp_path):
    made = plotted(tmp_path)
    made.set_row("r2", 14.02, 3.9)
    wide = slope_of(made, (-10, 10))
    assert wide.flips
    for flip in wide.flips:
        assert slope_of(made, (flip, 11)).lo[0] == pytest.approx(0.155)


def test_bounds_are_those_of_the_verdict(tmp_path):
    found = slope_of(plotted(tmp_path))
    assert [(one.verdict, one.constant, one.at, one.belongs) for one in found.bounds] == [
        ("carries", "bar", 0.155, True),
        ("seen", "zero", 0.0, False),
    ]


def test_one_row_in_each_arm_gives_no_curve(tmp_path):
    found = slope_of(with_one_row_each(plotted(tmp_path)))
    assert (found.values, found.flips) == ((), ())
    assert found.reason == "need two rows in at least one arm for an interval, have one in each"
    assert [mark.value for mark in found.marks] == [None, None]


def test_one_row_in_one_arm_is_said(tmp_path):
    """As for the reading, the interval then stands on the other arm's variance."""
    found = slope_of(plotted(tmp_path).without("y2").without("y3"))
    assert found.warnings == ("one arm has a single row: its variance is taken from the other arm",)


# ---- drift chart


def test_baseline_rows_stand_in_the_order_of_start(tmp_path):
    assert [one.row for one in drift_of(plotted(tmp_path)).points] == ["y1", "y2", "y3", "r1", "r4"]


def test_fewer_than_eight_rows_have_no_limits(tmp_path):
    found = drift_of(plotted(tmp_path))
    assert (found.individuals.lo, found.averages.lo) == ((), ())
    assert found.individuals.reason == "need at least 8 points for limits, have 5"
    assert found.individuals.center == pytest.approx(14.4)


def test_a_row_beyond_its_limits_is_found(tmp_path):
    found = drift_of(more_yardsticks(plotted(tmp_path), [14.4, 14.41, 15.6, 14.4, 14.39, 14.4]))
    assert [found.points[place].row for place in found.individuals.shifts] == ["m2"]


# ---- levers


def test_levers_have_the_outcomes_of_the_readings(tmp_path):
    made = plotted(tmp_path)
    readings = made.read()
    found = pictures.lever_points(made.plan(), readings, [])
    assert [(one.lever.id, one.outcome) for one in found] == [
        ("swap", readings["swap.outcome"].value),
        ("copy", readings["copy.outcome"].value),
    ]
    assert found[0].value == readings["saving.low"].value and found[0].bar == 0.155


def test_levers_can_be_chosen(tmp_path):
    made = plotted(tmp_path)
    assert [one.lever.id for one in pictures.lever_points(made.plan(), made.read(), ["copy"])] == ["copy"]


def test_levers_of_two_units_share_no_axis(tmp_path):
    made = plotted(tmp_path)
    made.head = made.head.replace('reading = "saving.same_day.low"', 'reading = "saving.same_day.low"\nunit = "s"')
    with pytest.raises(ReadingError, match=r"the levers are in ms/verify step and in s; expected one unit"):
        pictures.lever_points(made.plan(), made.read(), [])


def test_every_kind_of_plot_is_tried():
    assert PLOTS.count("[[plot]]") == 4
