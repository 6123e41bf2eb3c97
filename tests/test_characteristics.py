"""What a plan can decide, before its first row: against a closed form, and repeatable."""

import pytest
from tests.compiled import Compiled, compiled
from tests.reference import information, levels, power

from campaign.analysis.characteristics import Characteristics, characteristics
from campaign.analysis.rows import served_tables


@pytest.fixture
def part(tmp_path) -> Compiled:
    """Part 5's design without its drift guard: 4 rows against 18, σ = 0.0837 as the plan assumes it."""
    part = compiled(tmp_path)
    part.plan["rows"]["order"] = ["old", "rs8", "rs8", "rs8", "rs8", "old"]
    part.plan["verdict"]["guards"] = []
    part.plan["constants"]["sd"] = {"value": 0.0837, "because": "for a test"}
    part.plan["planning"] = {"sd": "sd"}
    for name in ("rows", "draws", "tasks", "power"):
        setattr(part, name, [])
    for _ in range(18):
        part.add_row("yardstick", [14.4, 14.5])
    return part


def of(part: Compiled) -> Characteristics:
    """What is known of the plan with the yardstick's rows at hand."""
    plan, data = part.typed_plan(), part.data()
    return characteristics(plan, served_tables(plan, data))


def chance(found: Characteristics, name: str, verdict: str) -> float:
    return next(one.verdicts[verdict] for one in found.chances if one.name == name)


def constant(part: Compiled, name: str, value: float) -> None:
    part.plan["constants"][name] = {"value": value, "because": "for a test"}


def test_reference_gives_the_worked_case():
    """Case S4: 4 rows against 18, σ 0.0837, a true saving of 0.31 and a bar of 0.155."""
    assert power(0.31, 0.155, 0.0837, 4, 18) == pytest.approx(0.889807, abs=1e-4)


def test_chance_at_the_count_is_the_worked_cases(part):
    """The simulation gives the closed form, to its own error."""
    found = of(part)
    assert (found.rows, found.reference_rows, found.sd) == (4, 18, 0.0837)
    assert chance(found, "at the count", "carries") == pytest.approx(0.889807, abs=0.007)


@pytest.mark.parametrize(("name", "saving"), [("no effect", 0.0), ("at the bar", 0.155), ("at the count", 0.31)])
def test_chances_are_those_of_the_reference(part, name, saving):
    """Each band's chance, by integration over the law of the variance; they add up to one."""
    found = of(part)
    carries, seen = (power(saving, bar, 0.0837, 4, 18) for bar in (0.155, 0.0))
    assert chance(found, name, "carries") == pytest.approx(carries, abs=0.007)
    assert chance(found, name, "seen") == pytest.approx(seen - carries, abs=0.009)
    for one in found.chances:
        assert sum(one.verdicts.values()) == pytest.approx(1)


def test_simulation_repeats_itself(part):
    """The same plan and rows give the same chances, to the last digit."""
    assert of(part) == of(part)


def test_rows_tell_how_they_vary_where_the_plan_does_not(part):
    """The yardstick's standard deviation, the greatest over the slopes."""
    del part.plan["planning"]
    for place, name in enumerate(one["row"] for one in part.rows):
        for number in (1, 2):
            part.set_draw(name, number, step_time_ms=14400 + 10 * place, model_time_s=20)
    found = of(part)
    assert found.sd == pytest.approx(0.01 * (sum((i - 8.5) ** 2 for i in range(18)) / 17) ** 0.5)
    assert found.sd_from == "from 18 rows of yardstick"


@pytest.mark.parametrize("kind", ["pocock", "obrien-fleming"])
def test_looks_cost_chance(part, kind):
    """With a planned look the last intervals are wider, and so is the chance counted."""
    part.plan["rows"] |= {"looks": 1, "look_after": [4], "boundary": kind}
    level = levels(kind, information(part.plan["rows"]["order"], [4], "rs8", "yardstick", 18), 95)[1]
    found = of(part)
    assert chance(found, "at the count", "carries") == pytest.approx(
        power(0.31, 0.155, 0.0837, 4, 18, level), abs=0.007
    )
    assert any("last look" in remark for remark in found.remarks)


def test_looks_at_two_arms_that_both_run_cost_what_their_rows_tell(part):
    """Where no yardstick ran before, the information at the look is that of the rows of both arms until then."""
    order = ["old", "rs8", "rs8", "old", "rs8", "old", "old", "rs8"]
    part.plan["rows"] |= {"order": order, "looks": 1, "look_after": [2], "boundary": "pocock"}
    part.plan["saving"] = {"arm": "rs8", "against": "old", "count": "count"}
    level = levels("pocock", information(order, [2], "rs8", "old", 0), 95)[1]
    assert f"with intervals at {level:.2f} %" in " ".join(of(part).remarks)


@pytest.mark.parametrize(("limit", "low", "high"), [(0, 0.95, 1.0), (9, 0.0, 0.2), (40, 0.0, 1e-9)])
def test_failures_that_the_guard_lets_pass_hold_nothing(part, limit, low, high):
    """Runs that fail as often as the yardstick's are held only where more fail than the guard's limit."""
    constant(part, "limit.failures", limit)
    part.plan["verdict"]["guards"] = [
        {"name": "failures", "kind": "agentic failures", "verdict": "held", "limit": "limit.failures"}
    ]
    constant(part, "count", 3)
    for one in part.tasks:
        if one["draw"] == 1 and one["kind"] == "agentic":
            one["outcome"] = "fail"
    for one in part.draws:
        one["passes"] = 1 if one["draw"] == 1 else 2
    found = of(part)
    assert low <= chance(found, "at the count", "held") <= high


def test_table_says_what_it_leaves_out(part):
    """Guards that nothing here simulates are named."""
    part.plan["verdict"]["guards"] = [
        {"name": "warm room", "verdict": "confounded", "when": "time.rs8 > 10"},
        {"name": "drift of the day", "kind": "drift", "verdict": "confounded", "limit": "limit.drift"},
        {"name": "agentic", "kind": "agentic failures", "verdict": "held"},
    ]
    part.tasks = []
    for one in part.draws:
        one["passes"] = 0
    remarks = of(part).remarks
    assert "the table leaves out what these guards would hold or call confounded: warm room" in remarks
    assert any("no earlier ones tell how often they fail" in one for one in remarks)


@pytest.mark.parametrize("reading", ["saving.least", "saving.upper", "saving.low", "tps.rs8"])
def test_verdict_on_something_else_has_no_such_chance(part, reading):
    """What is simulated is a lower end: a plan that decides on an estimate is told that it is not known."""
    part.plan["verdict"]["reading"] = reading
    found = of(part)
    assert not found.chances and f"the verdict stands on {reading}" in found.reason


@pytest.mark.parametrize("reading", ["saving.lower", "saving.low.lo", "saving.high.lo"])
def test_verdict_on_a_lower_end_has_its_chances(part, reading):
    """The least of the lower ends, and any one of them."""
    part.plan["verdict"]["reading"] = reading
    assert of(part).chances


@pytest.mark.parametrize("wanted", [0.001, 0.02, 0.5, 0.999])
def test_any_chance_can_be_wanted(part, wanted):
    """One below what a saving at the bar has is no error."""
    part.plan["planning"]["power"] = wanted
    assert of(part).chances


def test_two_rows_of_a_yardstick_or_an_assumption(part):
    """Without either there is a reason in place of a table."""
    del part.plan["planning"]
    for name in ("rows", "draws", "tasks", "power"):
        setattr(part, name, [one for one in getattr(part, name) if one["row"] == "r01"])
    found = of(part)
    assert not found.chances and "no earlier rows tell how rows vary" in found.reason


def test_task_time_that_no_rows_resolve_is_told(part):
    """The floor that the yardstick leaves, against what the count implies."""
    constant(part, "time.sd", 13.48)
    constant(part, "steps", 12340)
    part.plan["planning"] |= {"time_sd": "time.sd", "steps": "steps"}
    said = next(one for one in of(part).remarks if one.startswith("task time cannot be decided"))
    assert "implies 3.83 s a draw" in said and "leave 6.23 s" in said
