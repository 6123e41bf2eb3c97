"""Kinds of reading that say how far a comparison can be trusted: formulas, and what leaves them open."""

from itertools import combinations
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compiled import Compiled, compiled
from tests.reference import fieller, fisher, holm, mean, pooled, tost, upper_bound, wilson
from tests.served import repeatable

from campaign.analysis import proportions
from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Reading
from campaign.engine.errors import PlanError

YARDSTICK, RS8 = (14.40, 14.45, 14.35), (14.02, 13.98)
PAIR = {"arm": "rs8", "against": "yardstick"}


@pytest.fixture
def part(tmp_path) -> Compiled:
    return compiled(tmp_path)


def reading(made: Compiled, kind: str, **said: object) -> Reading:
    """The reading `it` of that kind, after some that it may use."""
    made.plan["reading"] = [{"id": "it", "kind": kind, **said}]
    return made.read()["it"]


def constant(part: Compiled, name: str, value: float) -> None:
    part.plan["constants"][name] = {"value": value, "because": "for a test"}


# ---- relative


def test_relative_saving_is_fiellers(part):
    """A share of the other arm's time, in percent, with the ratios that a t test does not reject."""
    found = reading(part, "relative", **PAIR)
    wanted = fieller(YARDSTICK, RS8, 95)
    assert (found.value, found.aspects["lo"], found.aspects["hi"]) == pytest.approx(
        (wanted.value, wanted.lo, wanted.hi)
    )
    assert "se" not in found.aspects and "sd" not in found.aspects
    assert found.aspects["lo"] < found.value < found.aspects["hi"]


def test_relative_saving_without_an_end_has_no_value(part):
    """Where the mean below the line is itself not told from zero there is no share."""
    for name in ("r01", "r02", "r03"):
        ms = 1e-3 if name != "r03" else 14.0
        for number in (1, 2):
            part.set_draw(name, number, step_time_ms=ms * 1000)
    found = reading(part, "relative", **PAIR)
    assert found.value is None and "the ratio has no end" in found.reason and "lo" not in found.aspects


# ---- equivalence


@pytest.mark.parametrize("margin", [0.05, 0.13, 0.5])
def test_equivalence_is_the_greater_of_two_tests(part, margin):
    """The p of the worse side; its level is that of an interval with 1 − 2α."""
    constant(part, "margin", margin)
    found = reading(part, "equivalence", arm="old", against="yardstick", column="step_ms", margin="margin")
    assert found.value == pytest.approx(tost(pooled((14.45, 14.35), YARDSTICK, 95), margin))
    assert found.aspects["level"] == pytest.approx(90)


def test_equivalence_has_no_interval_of_its_p(part):
    """An interval of the drift beside a p would be read as the p's."""
    constant(part, "margin", 0.13)
    found = reading(part, "equivalence", arm="old", against="yardstick", column="step_ms", margin="margin")
    assert "lo" not in found.aspects and "hi" not in found.aspects


@pytest.mark.parametrize(
    ("margin", "level", "why"),
    [(0, 95, "above zero"), (-0.1, 95, "above zero"), (0.13, 50, "50 percent"), (1, 40, "40")],
)
def test_equivalence_that_cannot_be_tested_is_open(part, margin, level, why):
    """A margin that is no width, and a level at which a test says nothing."""
    constant(part, "margin", margin)
    constant(part, "interval.level", level)
    found = reading(part, "equivalence", arm="old", against="yardstick", column="step_ms", margin="margin")
    assert found.value is None and why in found.reason


def test_equal_is_not_what_is_not_significant(part):
    """A drift whose interval holds zero is not called equal where the test does not say so."""
    part.plan["saving"]["margin"] = "limit.drift"
    for name, ms in (("r04", 14.7), ("r07", 14.2)):
        for number in (1, 2):
            part.set_draw(name, number, step_time_ms=ms * 1000)
    found = part.read()
    assert found["drift.low"].aspects["lo"] < 0 < found["drift.low"].aspects["hi"]
    assert found["drift.word"].value == "not told apart"
    constant(part, "limit.drift", 2)
    assert part.read()["drift.word"].value == "equal"


# ---- shares


@settings(repeatable, max_examples=60)
@given(st.integers(0, 60), st.integers(1, 60), st.sampled_from([80, 90, 95, 99]))
def test_shares_have_the_intervals_of_the_reference(k, n, level):
    """Wilson's interval and the one-sided bound, solved for anew; never of no width."""
    k = min(k, n)
    found = proportions.wilson(k, n, level)
    assert (found.value, found.lo, found.hi) == pytest.approx(wilson(k, n, level), abs=1e-9)
    assert found.hi > found.lo
    assert proportions.failure_bound(k, n, level).hi == pytest.approx(upper_bound(k, n, level), abs=1e-7)


@settings(repeatable, max_examples=60)
@given(st.integers(0, 20), st.integers(1, 20), st.integers(0, 20), st.integers(1, 20))
def test_fisher_is_the_references(k1, n1, k2, n2):
    """Sums of the hypergeometric law."""
    k1, k2 = min(k1, n1), min(k2, n2)
    assert proportions.fisher(k1, n1, k2, n2).value == pytest.approx(fisher(k1, n1, k2, n2))


@settings(repeatable, max_examples=60)
@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=8))
def test_holm_is_the_references(ps):
    """A test that was not run has no p and still counts in the family."""
    named = dict(enumerate(ps))
    assert list(proportions.holm(ps)) == pytest.approx(list(holm(named).values()))


def test_share_of_records_with_an_empty_cell_is_open(part):
    """A draw whose passes are not known neither reaches a number nor misses it."""
    part.set_draw("r05", 1, passes="", reason="the log was cut off")
    found = reading(part, "proportion", table="draws", column="passes >= 1")
    assert found.value is None and found.reason == "passes is empty in 1 of 14 records of draws"
    found = reading(part, "stat", table="draws", column="passes >= 1", stat="share")
    assert found.value is None and found.reason == "passes is empty in 1 of 14 records of draws"
    found = reading(part, "fisher", table="draws", column="passes >= 1", **PAIR)
    assert found.value is None and found.reason == "passes is empty in 1 of 10 records of draws"


@pytest.mark.parametrize("kind", ["proportion", "fisher"])
def test_share_needs_a_condition(part, kind):
    """A column of numbers is no condition."""
    with pytest.raises(ReadingError, match="passes is no condition"):
        reading(part, kind, table="draws", column="passes", **(PAIR if kind == "fisher" else {}))


def test_share_of_no_record_is_open(part):
    """Nothing ran: no share, not 0."""
    found = reading(part, "proportion", table="tasks", where="kind == 'none'", column="outcome == 'pass'")
    assert found.value is None and "nothing was run" in found.reason


def test_formula_of_a_share_says_what_it_takes_for_granted(part):
    """Draws of one row are not independent runs: whoever reads the interval is told that it counts them so."""
    found = reading(part, "proportion", table="tasks", column="outcome == 'pass'")
    assert found.formula.endswith("records counted as independent")


# ---- tipping, placebo, variance, rows needed


def test_tipping_day_effect_brings_the_lower_end_to_the_bar(part):
    """With that standard deviation of a day the interval begins at the bar."""
    found = reading(part, "tipping", saving="saving.low", bar="bar")
    saving = pooled(YARDSTICK, RS8, 95)
    t = (saving.value - saving.lo) / saving.se
    assert saving.value - t * sqrt(saving.se**2 + found.value**2) == pytest.approx(0.155)


def test_tipping_at_the_bar_is_zero(part):
    """Where the lower end does not exceed the bar there is nothing left to tip."""
    constant(part, "bar", 0.39)
    assert reading(part, "tipping", saving="saving.low", bar="bar").value == 0


def test_tipping_without_a_bar_is_open(part):
    """A bar that has no value leaves it open; the other readings are there."""
    part.plan["reading"] = [
        {"id": "no", "kind": "stat", "table": "tasks", "where": "kind == 'x'", "column": "draw", "stat": "mean"},
        {"id": "it", "kind": "tipping", "saving": "saving.low", "bar": "no"},
    ]
    found = part.read()
    assert found["it"].value is None and found["it"].reason.startswith("no is not resolved")
    assert found["verdict"].value == "carries"


def test_tipping_needs_an_interval(part):
    """A figure without a standard error cannot tip."""
    with pytest.raises(ReadingError, match=r"tps\.rs8 has no interval"):
        reading(part, "tipping", saving="tps.rs8", bar="bar")


def test_placebo_needs_enough_rows(part):
    """Three yardstick rows say nothing about how often they alone would carry."""
    found = reading(part, "placebo", arm="yardstick", pick=2)
    assert found.value is None and "need at least 8 yardstick rows, have 3" in found.reason


def test_placebo_cannot_pick_more_rows_than_there_are(part):
    """A plan is sealed before its rows: what it asks of too few of them is open, and breaks nothing else."""
    part.plan["reading"] = [{"id": "it", "kind": "placebo", "arm": "yardstick", "pick": 9}]
    found = part.read()
    assert found["it"].reason == "cannot pick 9 of 3 rows" and found["verdict"].value == "carries"


def test_placebo_counts_the_splits_that_carry(tmp_path):
    """Every split of nine rows into two and seven, by the reference's interval."""
    part = Compiled(tmp_path)
    values = [14.0, 14.1, 14.2, 14.25, 14.4, 14.5, 14.55, 14.6, 12.9]
    for ms in values:
        part.add_row("yardstick", [ms, ms])
    for arm, ms in zip(("old", "rs8", "rs8", "old"), (14.4, 14.0, 14.1, 14.4), strict=True):
        part.add_row(arm, [ms, ms])
    found = reading(part, "placebo", arm="yardstick", pick=2)
    carried = 0
    for picked in combinations(range(9), 2):
        rest = [one for place, one in enumerate(values) if place not in picked]
        carried += round(pooled(rest, [values[place] for place in picked], 95).lo, 9) > 0
    assert found.value == pytest.approx(100 * carried / 36) and carried


def test_variance_parts_are_those_of_the_rows_and_draws(part):
    """Mean squares within and between, by hand: rows of two draws each."""
    spread = {"r01": (14.3, 14.5), "r02": (14.4, 14.6), "r03": (14.9, 15.1)}
    for name, pair in spread.items():
        for number, ms in enumerate(pair, 1):
            part.set_draw(name, number, step_time_ms=ms * 1000, model_time_s=20)
    within = mean([(a - b) ** 2 / 2 for a, b in spread.values()])
    means = [mean(pair) for pair in spread.values()]
    between = sum((one - mean(means)) ** 2 for one in means) / 2 - within / 2
    for what, wanted in (
        ("within rows", sqrt(within)),
        ("between rows", sqrt(between)),
        ("icc", between / (between + within)),
    ):
        assert reading(part, "variance", arm="yardstick", part=what).value == pytest.approx(wanted), what


@pytest.mark.parametrize("what", ["within rows", "between rows", "icc"])
def test_variance_of_equal_draws_is_open(part, what):
    """Draws of a row that do not differ in anything leave no part of the variance, and not a part of 0."""
    found = reading(part, "variance", arm="yardstick", part=what)
    assert (found.value, found.reason) == (None, "the draws do not vary within rows")


def test_best_draws_need_costs(part):
    """How many draws are worth their time cannot be said without what they cost."""
    part.set_draw("r01", 1, step_time_ms=14500)
    with pytest.raises(ReadingError, match="without row_cost and draw_cost"):
        reading(part, "variance", arm="yardstick", part="best draws")


@pytest.mark.parametrize(
    ("width", "why"), [("limit.zero", "need a width above zero"), ("limit.small", "never with this yardstick")]
)
def test_rows_needed_that_no_rows_reach_is_open(part, width, why):
    """A width of zero, and one that the other arm's rows alone exceed."""
    constant(part, "limit.zero", 0)
    constant(part, "limit.small", 1e-6)
    found = reading(part, "rows_needed", of="saving.low", half_width=width, against="rows.yardstick.n")
    assert found.value is None and why in found.reason


@pytest.mark.parametrize(
    ("kind", "said", "told"),
    [
        ("relative", {"arm": "rs8", "against": "yardstik"}, "against is 'yardstik'"),
        ("equivalence", PAIR | {"column": "step_ms", "margin": "limit.drif"}, "limit.drif"),
        ("fisher", {"arm": "rs9", "against": "old", "table": "tasks", "column": "outcome == 'pass'"}, "arm is 'rs9'"),
    ],
)
def test_unknown_names_are_refused(part, kind, said, told):
    """An arm or a constant that is not there, with the nearest one."""
    with pytest.raises(ReadingError, match=f"{told}.*Did you mean"):
        reading(part, kind, **said)


def test_unknown_key_is_refused(part):
    """A key that the kind does not have."""
    with pytest.raises(PlanError, match=r"piks: unknown key.*Did you mean pick"):
        reading(part, "placebo", arm="yardstick", piks=4)
