"""What makes a rule unfit to be sealed: each fault is found before the first row, and nothing else is."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.compiled import Compiled, compiled
from tests.test_rule_random import random_part

from campaign.analysis.rule_check import problems
from campaign.engine.plan import read_plan

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def part(tmp_path) -> Compiled:
    return compiled(tmp_path)


def found(part: Compiled, tasks: int | None = None) -> list[str]:
    return problems(part.typed_plan(), tasks)


def constant(name: str, value: Any) -> Callable[[Compiled], None]:
    return lambda part: part.plan["constants"].update({name: {"value": value, "because": "for a test"}})


def bands(*said: tuple[str, str, str]) -> Callable[[Compiled], None]:
    """Bands of a verdict, the key of a bound and the bound; no key for the last."""

    def change(part: Compiled) -> None:
        part.plan["verdict"]["bands"] = [{"verdict": word} | ({key: bound} if key else {}) for word, key, bound in said]

    return change


def guard(**said: str) -> Callable[[Compiled], None]:
    return lambda part: part.plan["verdict"]["guards"].append({"name": "g", "verdict": "held"} | said)


def reading(**said: Any) -> Callable[[Compiled], None]:
    return lambda part: part.plan.update(reading=[{"id": "it"} | said])


def without(*tables: str) -> Callable[[Compiled], None]:
    return lambda part: [part.plan["tables"].pop(name) for name in tables]


def saving(**said: str) -> Callable[[Compiled], None]:
    return lambda part: part.plan["saving"].update(said)


def rows(**said: Any) -> Callable[[Compiled], None]:
    return lambda part: part.plan["rows"].update(said)


def verdict(**said: Any) -> Callable[[Compiled], None]:
    return lambda part: part.plan["verdict"].update(said)


def lever(**said: Any) -> Callable[[Compiled], None]:
    return lambda part: part.plan.update(lever=[{"id": "f", "label": "F", "bar": "lever.bar"} | said])


CARRIES, SEEN, BACK = ("carries", "at_least", "bar"), ("seen", "above", "zero"), ("rolled back", "", "")
FAULTS = {
    "gap below": (bands(CARRIES, SEEN), "no band covers what lies below seen"),
    "order of bands": (
        bands(SEEN, CARRIES, BACK),
        "carries begins at 0.155 and seen above it at 0, so",
    ),
    "same bound": (bands(CARRIES, ("seen", "above", "bar"), BACK), "so seen is never reached"),
    "bound from data": (
        bands(("carries", "at_least", "saving.upper"), SEEN, BACK),
        "bounded by saving.upper, which",
    ),
    "bound unknown": (bands(("carries", "at_least", "baar"), SEEN, BACK), "bounded by baar, which is not fixed"),
    "bar above the count": (constant("bar", 0.4), "carries begins at 0.4, above the count of 0.31"),
    "no count": (constant("count", 0), "saving.count: count is 0; expected a saving above 0"),
    "lever bar": (lambda part: (lever(reading="saving.low")(part), constant("lever.bar", 0)(part)), "lever.bar is 0"),
    "margin": (lambda part: (saving(margin="m")(part), constant("m", 0)(part)), "saving.margin: m is not above 0"),
    "drift limit": (constant("limit.drift", 0), "limit.drift = 0; expected above 0"),
    "power limit": (constant("limit.power", 100), "limit.power = 100; expected above 0 and below 100"),
    "power never": (constant("limit.power", 0), "limit.power = 0; expected above 0 and below 100"),
    "passes never": (constant("limit.passes", -1), "limit.passes = -1; expected from 0 on"),
    "failures": (
        lambda part: (constant("n", 0.5)(part), guard(kind="agentic failures", limit="n")(part)),
        "n = 0.5; expected a whole number of failures",
    ),
    "guard of constants": (guard(when="bar > 1"), "names no reading of data, so it always trips or never"),
    "guard of a typo": (guard(when="drift.mots > 0.1"), "names drift.mots, which nothing declares.*mean drift.most"),
    "guard of no aspect": (guard(when="saving.lower.lower > 0"), "names saving.lower.lower, which nothing declares"),
    "power without its table": (
        without("power"),
        "'power' needs power.spread, .*expected the table power, and",
    ),
    "quality without tasks": (without("tasks"), "'failures' needs agentic.rs8.failed, .*expected the table tasks"),
    "no draws": (without("draws"), "saving.low: needs rows and draws, not under"),
    "lever without timings": (lever(where="lever == 'f'"), "f.saving: needs kernel_timings, not under"),
    "looks without boundary": (rows(looks=2), "found 2 looks and no look_after; expected after how many rows"),
    "look at nothing": (rows(looks=1, look_after=[1], boundary="pocock"), "expected looks that each have more rows"),
    "reading not there": (verdict(reading="saving.lowr"), "saving.lowr is not declared"),
    "no figure of a reading": (verdict(reading="saving.low.low"), "saving.low.low is not declared"),
    "slope that clashes": (
        lambda part: part.plan["matching"].update(slopes={"lower": "slope.low"}),
        "reading saving.lower: the id is a constant's, .*expected each id once",
    ),
    "constant that clashes": (constant("drift.most", 1), "reading drift.most: the id is a constant's"),
    "reading that clashes": (reading(id="tps.rs8", kind="expr", expr="1 + bar"), "reading tps.rs8: the id is"),
    "kind": (reading(kind="savin"), "kind is 'savin'; expected one of .*Did you mean saving"),
    "key": (reading(kind="expr", exp="1"), "exp: unknown key; .*Did you mean expr"),
    "name": (reading(kind="expr", expr="saving.lwo * 2"), "names saving.lwo, which nothing above declares.*saving.low"),
    "name in a case": (
        reading(kind="choice", cases=[{"when": "baar > 1", "word": "x"}, {"word": "y"}]),
        "names baar, which nothing above declares",
    ),
    "name of a bar": (reading(kind="tipping", saving="saving.low", bar="baar"), "names baar, which nothing above"),
    "expression": (reading(kind="expr", expr="saving.low +"), "expression 'saving.low \\+': not an expression"),
    "arm": (reading(kind="placebo", arm="yardstik", pick=4), "arm is 'yardstik'; .*Did you mean yardstick"),
    "slope": (reading(kind="drift", arm="old", against="yardstick", slope="hi"), "slope is 'hi'; expected one of low"),
    "expression of a guard": (guard(when="drift.most >"), "'g': expression 'drift.most >': not an expression"),
    "negative words that protect none": (verdict(negative=[]), "found none, which no band gives"),
    "no negative word": (
        bands(("pays", "at_least", "bar"), ("costs", "", "")),
        "expected the verdicts that no guard",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(part, name):
    """One fault in a plan that has none else, told with what was expected."""
    change, told = FAULTS[name]
    change(part)
    said = found(part)
    assert any(re.search(told, one) for one in said), said
    assert all("expected" in one for one in said), said


def test_plan_without_faults_has_none(part):
    """The plan that the faults are put into."""
    assert found(part) == []


def test_limit_of_passes_lies_below_the_tasks_of_a_draw(part):
    """A limit that no draw can exceed always trips; without earlier tasks it cannot be told."""
    constant("limit.passes", 2)(part)
    assert found(part) == []
    assert "expected from 0 on and below 2, the tasks of a draw" in found(part, tasks=2)[0]
    assert found(part, tasks=3) == []


def test_limit_of_drift_lies_below_a_verify_step(part):
    """A drift of a whole step never comes; without earlier rows it cannot be told."""
    constant("limit.drift", 1000)(part)
    assert found(part) == []
    assert "a whole verify step takes 14.4 ms" in problems(part.typed_plan(), step_ms=14.4)[0]


def test_limit_of_failures_lies_below_the_runs(part):
    """More failures than there are runs never trip a guard."""
    constant("limit.failures", 8)(part)
    part.plan["verdict"]["guards"][0]["limit"] = "limit.failures"
    assert found(part) == []
    assert "only 8 tasks run with the change" in found(part, tasks=2)[0]


@pytest.mark.parametrize(
    "change",
    [
        bands(("carries", "above", "bar"), ("at it", "at_least", "bar"), SEEN, BACK),
        bands(("pays", "at_least", "bar"), ("rolled back", "", "")),
        verdict(reading="saving.low.lo"),
        verdict(reading="passes.rs8"),
        verdict(negative=["costs"], bands=[{"verdict": "pays", "at_least": "bar"}, {"verdict": "costs"}]),
        guard(when="power.share.r05 > 90"),
        guard(when="max(power.share.*) > 90"),
        guard(when="quality.qa_1.rs8.lo < 0.1"),
        guard(when="agentic.rs8.n < 4"),
        rows(looks=1, look_after=[2], boundary="obrien-fleming"),
        constant("bar", 0.31),
        lever(reading="saving.same_day.low"),
        reading(kind="expr", expr="saving.low.se * 2"),
    ],
)
def test_what_is_no_fault_is_not_called_one(part, change):
    """Bounds that meet, members of families, figures of readings, a bar at the count."""
    change(part)
    assert found(part) == []


@pytest.mark.parametrize("name", ["part-4", "part-5", "part-6", "part-7"])
def test_plans_of_the_campaign_have_no_fault(name):
    """The plans that are committed here."""
    path = ROOT / "parts" / name / "plan.toml"
    assert problems(read_plan(path, name)) == []


def test_skeleton_of_a_new_part_has_no_fault(part):
    """What `notes new` writes is fit to be sealed as it is."""
    part.plan = tomllib.loads((ROOT / "templates" / "new" / "plan.toml").read_text().replace("@PART@", "Part 9"))
    for name in ("rows", "draws", "tasks"):
        setattr(part, name, [])
    assert found(part) == []


def test_plans_drawn_at_random_can_be_computed_where_no_fault_is_found(tmp_path):
    """What passes here does not break when the rows are there: names, tables and ids were checked."""
    for seed in range(300, 312):
        made = random_part(tmp_path, seed)
        if problems(made.typed_plan()) == []:
            made.read()


def test_equal_is_a_word_that_a_test_has_to_show(part):
    """A choice says "equal" only on the p of an equivalence test."""

    def said(when: str) -> list[str]:
        cases = [{"when": when, "word": "equal"}, {"word": "not told apart"}]
        part.plan["reading"] = [{"id": "word", "kind": "choice", "cases": cases}]
        return found(part)

    part.plan["saving"]["margin"] = "limit.drift"
    assert "prints 'equal' where no equivalence test decides" in said("abs(drift.low) < 5")[0]
    assert said("drift.equal.low < 0.05") == []
