"""The verdict: bands with exact edges, guards that block positive verdicts alone, and nothing that passes unseen."""

import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.served import DRIFT, FAILED, SAVING, VERDICT, Served, repeatable, served

from campaign.analysis.errors import ReadingError
from campaign.analysis.expressions import Undefined
from campaign.analysis.verdict import Decision, decide
from campaign.engine.plan import Band, Guard, Plan, Verdict

BANDS = [
    Band(verdict="carries", at_least="bar"),
    Band(verdict="seen", above="zero"),
    Band(verdict="rolled back"),
]
HELD = Guard(name="failures", verdict="held", when="failed > 0")
PASSES = Guard(name="passes", verdict="held", when="passes <= 4.5")
DRIFTED = Guard(name="drift", verdict="confounded", when="abs(drift) > 0.13")
VALUES = {"lower": 0.2, "bar": 0.155, "zero": 0.0, "failed": 0, "passes": 5.0, "drift": 0.0}


def decision(
    values: Mapping[str, object] = {}, guards=(HELD, PASSES, DRIFTED), bands=BANDS, **rule: object
) -> Decision:
    """The verdict where readings have the values above, or these; a text stands for a reason why there is none."""
    plan = Plan(about="x", verdict=Verdict(reading="lower", bands=list(bands), guards=list(guards), **rule))
    known = VALUES | values

    def lookup(name: str) -> object:
        if name not in known:
            raise ReadingError(f"there is no reading {name!r}")
        if isinstance(known[name], Undefined):
            raise known[name]
        return known[name]

    return decide(plan, lookup)


# ---- bands


@pytest.mark.parametrize(
    ("lower", "word"),
    [
        (0.2, "carries"),
        (0.155, "carries"),
        (0.15499999999999997, "carries"),
        (0.31 * 0.5, "carries"),
        (0.1549999994, "seen"),
        (0.154999, "seen"),
        (1e-9, "seen"),
        (4e-10, "rolled back"),
        (0.0, "rolled back"),
        (-0.0, "rolled back"),
        (-4e-10, "rolled back"),
        (-0.2, "rolled back"),
    ],
)
def test_bands_have_exact_edges(lower, word):
    """At the bar carries, above zero is seen, at zero or below is rolled back: to 1e-9."""
    assert decision({"lower": lower}).word == word


@repeatable
@given(st.floats(-1, 1))
def test_exactly_one_band_covers_a_value(lower):
    """Every lower end has one verdict, and a greater one has no worse."""
    order = ["rolled back", "seen", "carries"]
    word, better = decision({"lower": lower}).word, decision({"lower": lower + 0.01}).word
    assert order.index(word) <= order.index(better)


def test_value_outside_all_bands_has_no_verdict():
    """Where no band covers the reading there is no word."""
    with pytest.raises(Undefined, match=r"no band covers lower = -1\.0"):
        decision({"lower": -1.0}, bands=BANDS[:2])


def test_bound_may_be_a_reading():
    """A bar that is computed binds like one that is typed."""
    assert decision({"bar": 0.3}).word == "seen"


# ---- guards


@pytest.mark.parametrize(
    ("values", "word", "tripped"),
    [
        ({}, "carries", ()),
        ({"failed": 1}, "held", ("failures",)),
        ({"passes": 4.5}, "held", ("passes",)),
        ({"passes": 4.500000001}, "carries", ()),
        ({"drift": 0.13}, "carries", ()),
        ({"drift": -0.13}, "carries", ()),
        ({"drift": 0.1 + 0.03}, "carries", ()),
        ({"drift": 0.13 + 1e-8}, "confounded", ("drift",)),
        ({"drift": -0.2}, "confounded", ("drift",)),
        ({"drift": 0.2, "failed": 1}, "held", ("failures", "drift")),
    ],
)
def test_guards_block_a_positive_verdict(values, word, tripped):
    """A guard at its exact limit lets pass or trips as it is written; held comes before confounded."""
    found = decision(values)
    assert (found.word, found.band, found.tripped) == (word, "carries", tripped)


def test_held_comes_before_confounded_in_any_order():
    """The order of the guards does not decide between held and confounded."""
    assert decision({"drift": 0.2, "failed": 1}, guards=(DRIFTED, HELD)).word == "held"


@pytest.mark.parametrize("values", [{"failed": 3}, {"drift": 0.5}, {"failed": 3, "passes": 0.0, "drift": 0.5}])
def test_roll_back_is_never_hidden(values):
    """Whatever the guards say, a roll-back stands, and they are told beside it."""
    found = decision(values | {"lower": -0.1})
    assert found.word == "rolled back" and found.tripped


def test_guards_block_what_is_seen():
    """A smaller gain is positive too."""
    assert decision({"lower": 0.1, "failed": 1}).word == "held"


def test_negative_verdicts_are_the_plans():
    """The plan says which verdicts no guard hides."""
    bands = [Band(verdict="pays", at_least="bar"), Band(verdict="costs")]
    assert decision({"lower": 0.0, "failed": 1}, bands=bands, negative=["costs"]).word == "costs"
    assert decision({"lower": 0.0, "failed": 1}, bands=bands, negative=[]).word == "held"


# ---- what could not be asked


def test_guard_that_cannot_run_has_not_passed():
    """A positive verdict needs every guard: while one could not run there is no verdict, and the reason names it."""
    missing = {"drift": Undefined("no day rows")}
    with pytest.raises(Undefined, match="carries, were it not that a guard could not run: drift: not run: no day rows"):
        decision(missing)


def test_tripped_guard_stands_beside_one_that_could_not_run():
    """A verdict that one guard blocks is known though another could not run, which is told."""
    found = decision({"drift": Undefined("no day rows"), "failed": 1})
    assert (found.word, found.tripped, found.not_run) == ("held", ("failures",), ("drift: not run: no day rows",))


def test_roll_back_stands_beside_a_guard_that_could_not_run():
    """A roll-back needs no guard."""
    found = decision({"lower": -0.1, "drift": Undefined("no day rows")})
    assert (found.word, found.not_run) == ("rolled back", ("drift: not run: no day rows",))


@pytest.mark.parametrize("name", ["lower", "bar", "zero"])
def test_missing_operand_of_the_bands_leaves_no_verdict(name):
    """Without the deciding reading, or any bound, there is no word."""
    with pytest.raises(Undefined, match="too few rows"):
        decision({name: Undefined("too few rows")})


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["lower", "bar", "zero"])
def test_no_number_cannot_reach_a_verdict(bad, name):
    """NaN is below nothing and above nothing: it gives no verdict, not the last one."""
    with pytest.raises(Undefined, match="no number"):
        decision({name: bad})


def test_nan_passes_no_guard():
    """A guard over NaN could not run."""
    with pytest.raises(Undefined, match="passes: not run: a value is nan, no number"):
        decision({"passes": math.nan})


def test_nan_reaches_no_verdict_without_bounds():
    """A single band for everything does not cover NaN either."""
    with pytest.raises(Undefined):
        decision({"lower": math.nan}, bands=BANDS[2:])


@pytest.mark.parametrize("when", ["failed", "count(failed > 0)", "'yes'", "nonsense > 0"])
def test_guard_is_a_condition_over_readings(when):
    """A guard that is no condition, or reads what is not there, is an error."""
    with pytest.raises(ReadingError):
        decision(guards=(Guard(name="g", verdict="held", when=when),))


def test_plan_without_a_rule_has_no_verdict():
    """Without bands there is nothing to read."""
    with pytest.raises(Undefined, match="the plan has no verdict"):
        decide(Plan(about="x"), VALUES.__getitem__)


# ---- the verdict as a reading


@pytest.fixture
def part(tmp_path) -> Served:
    return served(tmp_path)


def test_verdict_is_a_reading_with_its_rule(part):
    """The word, the deciding reading and the bands can be read."""
    found = part.read()["verdict"]
    assert found.value == "carries"
    assert found.formula == "saving.low.lo: carries >= bar, seen > zero, rolled back; guards: failures, drift"
    assert found.operands[0][0] == "saving.low.lo"


def test_tripped_guard_is_a_warning_of_the_verdict(part):
    """A verdict that a guard changed says which."""
    for name in ("r1", "r4"):
        part.set_row(name, 14.9)
    found = part.read()["verdict"]
    assert (found.value, found.warnings) == ("confounded", ("guard tripped: drift",))


def test_slower_arm_is_rolled_back_on_a_drifting_day(part):
    """The whole way: a slower arm on a drifting day is rolled back, not confounded."""
    for name in ("r1", "r2", "r3", "r4"):
        part.set_row(name, 15 + int(name[1]) / 100)
    found = part.read()["verdict"]
    assert (found.value, found.warnings) == ("rolled back", ("guard tripped: drift",))


def test_unresolved_saving_has_no_verdict(part):
    """Rows that do not vary give no interval, and so no verdict."""
    for name, step_ms in (("y1", 14.4), ("y2", 14.4), ("y3", 14.4), ("r2", 14.0), ("r3", 14.0)):
        part.set_row(name, step_ms)
    found = part.read()["verdict"]
    assert found.value is None
    assert (
        found.reason == "saving.low.lo is not resolved: the rows of each arm do not vary, so no interval can be given"
    )


def test_guard_without_day_rows_leaves_no_verdict(part):
    """Where no row of the day's own arm was planned or run, the drift guard could not run, and nothing carries."""
    part.head = part.head.replace('order = ["old", "rs8", "rs8", "old"]', 'order = ["rs8", "rs8"]')
    part.without("r1").without("r4")
    found = part.read()["verdict"]
    assert found.value is None
    assert "drift: not run: drift.low is not resolved: need at least one row in each arm, have 0 and 3" in found.reason


def test_plan_without_a_verdict_cannot_declare_one(tmp_path):
    """A declaration of the verdict needs the plan's rule."""
    part = served(tmp_path, SAVING, DRIFT, FAILED, VERDICT)
    start, end = part.head.index("[verdict]"), part.head.index("[tables]")
    part.head = part.head[:start] + part.head[end:]
    with pytest.raises(ReadingError, match=r"reading verdict: the plan has no \[verdict\]"):
        part.read()
