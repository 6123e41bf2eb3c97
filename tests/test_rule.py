"""What a plan compiles to: Part 5's published figures, the verdict's edges, and what must change nothing."""

import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compiled import Compiled, compiled, timing
from tests.served import repeatable
from tests.test_rule_random import random_part, reference

from campaign.analysis.compute import read
from campaign.analysis.readings import Readings
from campaign.analysis.rule import declarations, rule_digest
from campaign.engine.data import read_data
from campaign.engine.errors import PlanError, RecordError
from campaign.engine.plan import read_plan
from campaign.notes.quote import format_value
from campaign.notes.verdict_text import guard_states

ROOT = Path(__file__).resolve().parents[1]
PART_5 = ROOT / "parts" / "part-5"
FIGURES = {
    record["id"]: record["printed"]
    for record in csv.DictReader((ROOT / "tests/data/part-5-figures.csv").read_text("utf-8").splitlines())
}
SAME = (
    *(f"saving.{slope}{end}" for slope in ("low", "high") for end in ("", ".lo", ".hi")),
    *(f"saving.same_day.{slope}{end}" for slope in ("low", "high") for end in ("", ".lo", ".hi")),
    *("drift.low", "drift.high", "tps.rs8", "tps.yardstick", "passes.rs8", "passes.yardstick"),
    *("rows.rs8.n", "rows.yardstick.n", "steps.per_draw", "f.saving"),
)
"""Figures whose id is the same where the plan compiles to them, but for the slopes' own names."""
RENAMED = {
    "decide.lower": "saving.lower",
    "rows.same_day.n": "rows.old.n",
    "tps.same_day": "tps.old",
    "qa_remote.rs8": "quality.qa_remote.rs8",
    "qa_remote.yardstick": "quality.qa_remote.yardstick",
    "qa_config.rs8": "quality.qa_config.rs8",
    "qa_config.yardstick": "quality.qa_config.yardstick",
    "agentic.rs8": "agentic.rs8.n",
    "agentic.yardstick": "agentic.yardstick.n",
    "time.rs8.draw": "time.rs8",
    "time.same_day.draw": "time.old",
    "time.yardstick.draw": "time.yardstick",
    "time.se": "time.gap.se",
    "implied.draw": "time.implied",
    "moe.segment_end": "moe.saving",
    "moe.segment_end.lo": "moe.saving.lo",
    "moe.segment_end.hi": "moe.saving.hi",
    "moe.copy.1": "copy1.saving",
    "moe.copy.2": "copy2.saving",
    "moe.copy.3": "copy3.saving",
    "steps.per_draw": "steps.yardstick",
}
"""The id that a figure has in a plan that compiles to it, where it is another."""
GUARDS = [
    {"name": "an agentic task failed", "kind": "agentic failures", "verdict": "held"},
    {"name": "passes", "kind": "passes", "verdict": "held", "limit": "guard.passes"},
    {"name": "drift", "kind": "drift", "verdict": "confounded", "limit": "guard.drift"},
    {"name": "power", "kind": "power share", "verdict": "confounded", "limit": "power.alike"},
]


def compact_plan() -> dict[str, Any]:
    """Part 5's plan with all that [saving], [[lever]] and the guards' kinds stand for taken out."""
    plan = tomllib.loads((PART_5 / "plan.toml").read_text("utf-8"))
    kept = [one for one in plan["reading"] if one["id"] in ("bar.half_count", "f.saving")]
    plan |= {"reading": [one | {"kind": "paired"} if one["id"] == "f.saving" else one for one in kept]}
    plan["saving"] = {"arm": "rs8", "against": "yardstick", "same_day": "old", "count": "saving.count"}
    plan["lever"] = [
        {"id": "moe", "label": "segment end", "bar": "moe.bar", "where": "lever == 'moe-segment-end'"},
        *(
            {"id": f"copy{i}", "label": f"copy {i}", "bar": "moe.bar", "keep": "estimate"}
            | {"where": f"lever == 'moe-copy' and variant == '{i}'"}
            for i in (1, 2, 3)
        ),
    ]
    plan["verdict"] |= {"reading": "saving.lower", "guards": GUARDS}
    return plan


@pytest.fixture(scope="module")
def part_5(tmp_path_factory) -> Readings:
    """The readings of Part 5's data under the plan that compiles to them."""
    part = Compiled(tmp_path_factory.mktemp("part"), compact_plan())
    part.plan["tables"] = {}
    part.write()
    shutil.copytree(PART_5 / "data", part.folder / "data", dirs_exist_ok=True)
    part.plan["tables"] = compact_plan()["tables"]
    (part.folder / "plan.toml").write_text(tomlkit.dumps(part.plan))
    plan = read_plan(part.folder / "plan.toml", "plan.toml")
    return read(plan, read_data(plan, part.folder, part.show), "plan.toml")


# ---- Part 5


@pytest.mark.parametrize("name", dict.fromkeys((*SAME, *RENAMED)))
def test_compiled_plan_gives_the_published_figure(part_5, name):
    """What [saving], the levers and the guards stand for prints as the hand-written plan's readings were published."""
    found = part_5[RENAMED.get(name, name)]
    decimals = len(FIGURES[name].partition(".")[2])
    assert format_value(found.value, f".{decimals}f", name) == FIGURES[name]


def test_compiled_plan_gives_the_published_power_shares(part_5):
    """The least and the greatest share of samples under the cap."""
    shares = [part_5[name].value for name in part_5.matching("power.share.*")]
    assert [format_value(end(shares), ".0f", "") for end in (min, max)] == [
        FIGURES["power.share.min"],
        FIGURES["power.share.max"],
    ]


def test_compiled_plan_gives_the_published_words(part_5):
    """It carries with its count kept, no guard trips, time is not resolved and every lever is parked."""
    assert (part_5["verdict"].value, part_5["verdict"].warnings) == ("carries", ())
    assert (part_5["count.rule"].value, part_5["count.value"].value) == ("kept", 0.31)
    assert part_5["time.verdict"].value == "not resolved"
    assert {part_5[f"{lever}.outcome"].value for lever in ("moe", "copy1", "copy2", "copy3")} == {"parked"}


def test_every_generated_reading_says_how_it_is_computed(part_5):
    """Each reading has a formula, and those with an interval its level."""
    for one in part_5.values():
        if one.role == "reading":
            assert one.formula, one.id
            assert "level" in one.aspects or "lo" not in one.aspects, one.id


# ---- the verdict's edges, from the tables on


@pytest.fixture
def part(tmp_path) -> Compiled:
    return compiled(tmp_path)


def set_constant(part: Compiled, name: str, value: float) -> None:
    part.plan["constants"][name] = {"value": value, "because": "for a test"}


def verdict(part: Compiled) -> Any:
    return part.read()["verdict"]


@pytest.mark.parametrize(
    ("bar", "word"), [(0.0, "carries"), (4e-10, "carries"), (-4e-10, "carries"), (1e-5, "seen"), (2e-9, "seen")]
)
def test_lower_end_at_the_bar_carries(part, bar, word):
    """At the bar, to float noise, it carries; 0.00001 below it is seen."""
    lower = part.read()["saving.lower"].value
    set_constant(part, "bar", lower + bar)
    assert verdict(part).value == word


@pytest.mark.parametrize(("above", "word"), [(-1e-5, "seen"), (0.0, "rolled back"), (1e-5, "rolled back")])
def test_lower_end_at_zero_is_rolled_back(part, above, word):
    """At the lower bound it is rolled back, not seen."""
    lower = part.read()["saving.lower"].value
    set_constant(part, "zero", lower + above)
    set_constant(part, "bar", lower + 1)
    assert verdict(part).value == word


@pytest.mark.parametrize(
    ("shift", "word"), [(0.13, "carries"), (-0.13, "carries"), (0.13 + 1e-12, "carries"), (0.131, "confounded")]
)
def test_drift_of_exactly_the_limit_passes(part, shift, word):
    """Yardstick rows and the day's differ by the limit: the floats are off by some 1e-15, and it passes."""
    for name, ms in (("r04", 14.45), ("r07", 14.35)):
        for number in (1, 2):
            part.set_draw(name, number, step_time_ms=(ms + shift) * 1000, model_time_s=20)
    found = part.read()
    assert found["drift.most"].value == pytest.approx(abs(shift), abs=1e-11)
    assert found["verdict"].value == word


def test_passes_at_the_limit_are_held(part):
    """A mean of exactly the limit is held; one task more lets it pass."""
    set_constant(part, "limit.passes", 1.75)
    set_constant(part, "limit.failures", 9)
    part.plan["verdict"]["guards"][0]["limit"] = "limit.failures"
    part.set_draw("r05", 1, passes=1)
    next(one for one in part.tasks if (one["row"], one["draw"], one["kind"]) == ("r05", 1, "qa"))["outcome"] = "fail"
    assert verdict(part).value == "held"
    set_constant(part, "limit.passes", 1.7499)
    assert verdict(part).value == "carries"


@pytest.mark.parametrize(("above", "word", "value"), [(0.0, "kept", 0), (1e-5, "recounted", 1)])
def test_count_at_the_upper_end_is_kept(part, above, word, value):
    """A count of exactly the least upper end is kept; above it the least saving takes its place."""
    first = part.read()
    count = first["saving.upper"].value + above
    set_constant(part, "count", count)
    found = part.read()
    assert found["count.rule"].value == word
    assert found["count.value"].value == pytest.approx((count, first["saving.least"].value)[value])


def test_count_that_is_recounted_is_never_below_zero(part):
    """A change that costs time has a count of nothing, not a negative one."""
    for name in ("r05", "r06"):
        for number in (1, 2):
            part.set_draw(name, number, step_time_ms=15000 + number, model_time_s=20)
    part.set_draw("r05", 1, step_time_ms=15020)
    found = part.read()
    assert found["saving.least"].value < 0
    assert (found["count.rule"].value, found["count.value"].value) == ("recounted", 0)


@pytest.mark.parametrize(("above", "word"), [(0.0, "kept"), (1e-5, "parked")])
@pytest.mark.parametrize("keep", ["estimate", "lower end"])
def test_lever_at_its_bar_is_kept(part, keep, above, word):
    """What has to reach the bar is kept where it is exactly there, and parked below."""
    part.plan["lever"] = [{"id": "f", "label": "F", "bar": "lever.bar", "where": "lever == 'f'", "keep": keep}]
    part.plan["tables"]["kernel_timings"] = "data/kernel_timings.csv"
    part.kernel_timings = [timing("f", i, 100 + i % 3, 60) for i in range(9)]
    found = part.read()["f.saving"]
    set_constant(part, "lever.bar", above + (found.value if keep == "estimate" else found.aspects["lo"]))
    assert part.read()["f.outcome"].value == word


def fail_everything(part: Compiled) -> None:
    """Nothing; every guard then trips."""
    for one in part.tasks:
        one["outcome"] = "fail"
    for one in part.draws:
        one["passes"] = 0
    set_constant(part, "limit.drift", 1e-9)
    part.set_draw("r04", 1, step_time_ms=15000, model_time_s=20)
    next(one for one in part.power if one["row"] == "r01")["cap_engaged"] = "false"


@pytest.mark.parametrize(
    ("verdicts", "word"), [(["held", "confounded"], "held"), (["confounded", "held"], "confounded")]
)
def test_precedence_says_whose_word_stands(part, verdicts, word):
    """Where all guards trip, the first word of the plan's precedence stands, either way."""
    fail_everything(part)
    part.plan["verdict"]["precedence"] = verdicts
    assert verdict(part).value == word


def test_roll_back_is_hidden_by_no_guard(part):
    """With a lower end below zero all four guards trip, are told, and change nothing."""
    fail_everything(part)
    for name in ("r05", "r06"):
        part.set_draw(name, 1, step_time_ms=16000, model_time_s=20)
    found = verdict(part)
    assert found.value == "rolled back"
    assert len(found.warnings) == 4


@pytest.mark.parametrize("precedence", [["held"], ["confounded"], [], ["held", "held"]])
def test_precedence_names_both_words(part, precedence):
    """A precedence without one of the words would let a guard that tripped pass; it is refused."""
    part.plan["verdict"]["precedence"] = precedence
    with pytest.raises(PlanError, match=r"verdict\.precedence: found .*; expected held and confounded, each once"):
        part.typed_plan()


@pytest.mark.parametrize(("key", "arm"), [("against", "rs8"), ("same_day", "rs8"), ("same_day", "yardstick")])
def test_an_arm_is_not_compared_with_itself(part, key, arm):
    """The drift of an arm against itself is never anything: its guard would always pass."""
    part.plan["saving"][key] = arm
    with pytest.raises(PlanError, match=rf"saving\.{key}: names {arm}, which stands there already"):
        part.typed_plan()


# ---- what could not be measured


def outcomes(part: Compiled, kind: str, outcome: str) -> None:
    """Nothing; every task of that kind then has the outcome, and draws the passes that remain."""
    for one in part.tasks:
        if one["kind"] == kind:
            one["outcome"] = outcome
    for draw in part.draws:
        runs = [one for one in part.tasks if (one["row"], one["draw"]) == (draw["row"], draw["draw"])]
        draw["passes"] = sum(one["outcome"] == "pass" for one in runs)


def test_infrastructure_error_is_no_failure(part):
    """One run that was not graded counts neither as failed nor as run."""
    next(one for one in part.tasks if (one["row"], one["kind"]) == ("r05", "agentic"))["outcome"] = (
        "infrastructure error"
    )
    part.set_draw("r05", 1, passes=1)
    found = part.read()
    assert (found["agentic.rs8.failed"].value, found["agentic.rs8.n"].value) == (0, 3)
    assert found["completeness.rs8"].value == 87.5
    assert found["verdict"].value == "carries"


@pytest.mark.parametrize("kind", ["agentic", ""])
def test_run_that_was_not_recorded_is_refused(part, kind):
    """A draw without a record of some task, or of any: it would count neither as failed nor as lost."""
    part.tasks = [one for one in part.tasks if one["row"] != "r05" or not one["kind"].startswith(kind)]
    for number in (1, 2):
        part.set_draw("r05", number, passes=1 if kind else 0)
    with pytest.raises(
        RecordError, match="row r05, draw 1 has no record of the task agentic-1, which other draws have"
    ):
        part.read()


@pytest.mark.parametrize(("mismatched", "records"), [(1, 3), (0, 0)])
def test_matching_that_is_not_proven_leaves_no_matched_figure(part, mismatched, records):
    """One row of bytes that differs, or no check at all: nothing that stands on matched values has one, of any kind."""
    part.plan["matching"]["certificate"] = "check == 'rs8'"
    part.plan["tables"]["equality"] = "data/equality.csv"
    record = {"check": "rs8", "version": "v1", "rows": 6, "mismatched_rows": 0}
    part.equality = [record | {"call": call} for call in range(3)]
    matched = {"table": "row_values", "column": "matched_low"}
    part.plan["reading"] = [
        {"id": "row.{row}", "kind": "stat", "stat": "value", "each": ["row"]} | matched,
        {"id": "slow", "kind": "stat", "stat": "count", "table": "row_values", "where": "matched_low > 14.2"},
        {"id": "icc", "kind": "variance", "arm": "yardstick", "part": "icc", "column": "matched_low"},
    ]
    proven = part.read()
    assert proven["verdict"].value == "carries" and proven["matching.rows"].value == 18
    part.equality = part.equality[:records]
    if records:
        part.equality[0]["mismatched_rows"] = mismatched
    found = part.read()
    for name in (
        "saving.low",
        "saving.lower",
        "saving.relative.low",
        "drift.most",
        "row.r05",
        "slow",
        "icc",
        "verdict",
    ):
        assert found[name].value is None and "lo" not in found[name].aspects, name
        assert "matching is not legal" in found[name].reason, name
    assert found["saving.unmatched"].value == pytest.approx(0.4)


def test_no_graded_run_is_no_pass(part):
    """Where no agentic run was graded none was seen not to fail: the guard did not run, and nothing carries."""
    outcomes(part, "agentic", "infrastructure error")
    set_constant(part, "limit.passes", 0.5)
    found = part.read()
    assert found["agentic.rs8.failed"].value is None
    assert found["verdict"].value is None
    assert "failures: not run: agentic.rs8.failed is not resolved: no record of tasks" in found["verdict"].reason


def test_one_row_in_each_arm_is_no_interval(part):
    """One row against one leaves the saving without value, not with a point."""
    part.plan["rows"]["order"] = ["old", "rs8"]
    part.plan["verdict"]["guards"] = []
    del part.plan["arms"]["yardstick"]
    part.plan["saving"] = {"arm": "rs8", "against": "old"}
    keep = {"r04", "r05"}
    for name in ("rows", "draws", "tasks", "power"):
        setattr(part, name, [one for one in getattr(part, name) if one["row"] in keep])
    found = part.read()
    assert found["saving.low"].value is None and "lo" not in found["saving.low"].aspects
    assert "need two rows in at least one arm" in found["verdict"].reason


def test_single_row_borrows_the_variance_and_says_so(part):
    """One rs8 row: the interval stands on the other arm's variance, flagged."""
    part.plan["rows"]["order"] = ["old", "rs8", "old"]
    for name in ("rows", "draws", "tasks", "power"):
        setattr(part, name, [one for one in getattr(part, name) if one["row"] != "r06"])
    found = part.read()
    for name in ("saving.low", "saving.unmatched", "saving.relative.low", "time.gap"):
        assert found[name].warnings == ("one arm has a single row: its variance is taken from the other arm",), name
    assert found["saving.low"].aspects["df"] == 2


def test_rows_without_variance_leave_no_interval(part):
    """Rows of an arm that are all alike: unresolved with the reason, never ±0."""
    for one in part.draws:
        one["step_time_ms"] = 14000 if one["row"] in ("r05", "r06") else 14400
    found = part.read()
    for name in ("saving.low", "saving.relative.low", "drift.low", "saving.lower", "count.value"):
        assert found[name].value is None and found[name].reason, name
    assert "do not vary" in found["verdict"].reason


@pytest.mark.parametrize(
    ("column", "lost", "kept"),
    [
        ("tokens", ["saving.low", "saving.lower", "tps.rs8", "tps.balance", "verdict"], ["saving.unmatched"]),
        ("step_time_ms", ["saving.low", "saving.unmatched", "verdict"], ["tps.rs8", "time.gap"]),
        ("verify_steps", ["saving.low", "saving.unmatched", "steps.rs8"], ["time.gap", "time.implied"]),
        ("model_time_s", ["time.rs8", "time.gap", "time.rows_needed", "time.verdict"], ["verdict", "saving.low"]),
        ("passes", ["passes.rs8", "verdict"], ["saving.low", "agentic.rs8"]),
    ],
)
def test_draw_without_a_value_leaves_its_readings_open(part, column, lost, kept):
    """An empty cell with a reason: what stands on it has no value and says why, the rest has one."""
    part.set_draw("r05", 2, **{column: "", "reason": "the log was cut off"})
    found = part.read()
    for name in lost:
        assert found[name].value is None and found[name].reason and "lo" not in found[name].aspects, name
    for name in kept:
        assert found[name].value is not None, name


def test_yardstick_draw_without_steps_leaves_the_implied_time_open(part):
    """Where the steps of a yardstick's draw are missing, the rows needed are not known; nothing breaks."""
    part.set_draw("r01", 1, verify_steps="", reason="the log was cut off")
    found = part.read()
    assert found["time.rows_needed"].value is None
    assert "steps.yardstick is not resolved: verify_steps is empty in 1 of 3" in found["time.rows_needed"].reason


def test_empty_draws_never_narrow_an_interval(part):
    """A draw that loses its value makes no interval narrower: the reading has none."""
    before = part.read()
    part.set_draw("r02", 1, step_time_ms="", reason="the log was cut off")
    after = part.read()
    for name, one in before.items():
        now = after[name]
        if "lo" in one.aspects and now.value is not None:
            assert now.aspects["hi"] - now.aspects["lo"] >= one.aspects["hi"] - one.aspects["lo"] - 1e-12, name


def test_missing_row_leaves_only_its_number(part):
    """Three of four rows: no reading has a value, an interval or a warning, and each says how many are missing."""
    part.plan["lever"] = [
        {"id": "f", "label": "F", "bar": "lever.bar", "where": "lever == 'f'", "autocorrelated": True}
    ]
    part.plan["tables"]["kernel_timings"] = "data/kernel_timings.csv"
    part.kernel_timings = [timing("f", i, 100 + i, 90) for i in range(1, 20)]
    for name in ("rows", "draws", "tasks", "power"):
        setattr(part, name, [one for one in getattr(part, name) if one["row"] != "r07"])
    for one in part.read().values():
        if one.role == "reading":
            assert (one.value, one.reason) == (None, "1 of 4 planned rows are missing"), one.id
            assert not one.aspects and not one.warnings and not one.operands, one.id


def test_arm_without_rows_is_told_and_breaks_nothing(part):
    """Yardstick rows that are not there: nothing has a value that stands on them, the rest has."""
    for name in ("rows", "draws", "tasks", "power"):
        setattr(part, name, [one for one in getattr(part, name) if one["row"] not in ("r01", "r02", "r03")])
    found = part.read()
    assert found["rows.yardstick.n"].value == 0
    assert found["verdict"].value is None and "need at least one row in each arm" in found["verdict"].reason
    assert found["saving.same_day.low"].value is not None


def test_tokens_per_step_that_do_not_vary_pass_their_guard(part):
    """Text that is the same in every row gives equal tokens per step, without an interval: the guard can still run."""
    set_constant(part, "limit.tps", 0.01)
    part.plan["verdict"]["guards"].append(
        {"name": "tps", "kind": "tokens per step", "verdict": "confounded", "limit": "limit.tps"}
    )
    found = part.read()
    assert found["tps.balance"].value is None
    assert found["verdict"].value == "carries"


def test_arm_may_have_a_name_that_is_no_id(part):
    """An arm called rs-8 has the readings of rs_8, and its guards run."""
    as_it_is = json.loads(json.dumps(part.plan, default=str).replace("rs8", "rs-8"))
    as_it_is["arms"]["yardstick"]["earlier"] = part.plan["arms"]["yardstick"]["earlier"]
    part.plan = as_it_is
    for one in part.rows:
        one["arm"] = one["arm"].replace("rs8", "rs-8")
    found = part.read()
    assert found["verdict"].value == "carries" and found["agentic.rs_8.failed"].value == 0


# ---- what changes a reading in a known way, or not at all


def numbers(readings: Readings) -> dict[str, tuple[Any, ...]]:
    """Value and interval of every reading that the data decide."""
    return {
        name: (one.value, one.aspects.get("lo"), one.aspects.get("hi"))
        for name, one in readings.items()
        if one.role == "reading"
    }


def assert_alike(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        for one, other in zip(found[name], values, strict=True):
            assert one == (pytest.approx(other, rel=1e-9, abs=1e-11) if isinstance(other, float) else other), name


MESSY = 2797
"""A seed whose part has three slopes, a margin, four guards, and the verdict of a band."""


@pytest.fixture
def messy(tmp_path) -> Compiled:
    """A drawn part with all of that."""
    part = random_part(tmp_path, MESSY)
    part.plan["lever"][0]["autocorrelated"] = False
    return part


def test_messy_part_has_much_of_everything(messy):
    """What must change nothing is tried on a part in which much could change."""
    rule = reference(messy)
    assert len(rule.slopes) == 3 and "margin" in rule.saving and rule.saving["against"] == "yardstick"
    assert len(rule.guards) >= 4 and rule.verdict in ("carries", "seen")
    assert {one["outcome"] for one in messy.tasks} == {"pass", "fail", "infrastructure error"}


def test_swapped_arms_turn_the_signs(messy):
    """With the two arms exchanged every saving is the other's with the other sign."""
    before = messy.read()
    messy.plan["saving"] |= {"arm": "yardstick", "against": "rs8"}
    after = messy.read()
    for name in ("saving.s0", "saving.s1", "saving.s2", "saving.unmatched", "time.gap", "tps.balance"):
        one, other = before[name], after[name]
        assert other.value == pytest.approx(-one.value)
        assert (other.aspects["lo"], other.aspects["hi"]) == pytest.approx((-one.aspects["hi"], -one.aspects["lo"]))
        assert other.aspects["se"] == pytest.approx(one.aspects["se"])


def test_scaled_times_scale_what_is_a_time(messy):
    """Times, slopes, bars and limits in another unit: savings scale, shares and words stay."""
    before, c = messy.read(), 1000.0
    for one in messy.draws:
        for column in ("step_time_ms", "model_time_s"):
            one[column] = one[column] * c if one[column] != "" else ""
    for one in messy.kernel_timings:
        one |= {"served_us": one["served_us"] * c, "changed_us": one["changed_us"] * c}
    times = ("slope.s0", "slope.s1", "slope.s2", "bar", "count", "limit.drift", "lever.bar")
    for name in times:
        set_constant(messy, name, messy.plan["constants"][name]["value"] * c)
    after = messy.read()
    for name, one in before.items():
        if one.role == "constant":
            continue
        scale = c if one.unit in ("ms/verify step", "s/draw") else 1.0
        if isinstance(one.value, str) or one.value is None:
            assert after[name].value == one.value, name
            continue
        assert after[name].value == pytest.approx(one.value * scale, rel=1e-9, abs=1e-9), name
        for end in ("lo", "hi"):
            if end in one.aspects:
                assert after[name].aspects[end] == pytest.approx(one.aspects[end] * scale, rel=1e-9, abs=1e-9), name


def test_order_of_the_records_does_not_matter(messy):
    """Every file shuffled: the same readings, words and guards, but for what is in order of time."""
    before = numbers(messy.read())
    shuffle = random.Random(5)
    for name in messy.plan["tables"]:
        shuffle.shuffle(getattr(messy, name))
    assert_alike(numbers(messy.read()), before)


def test_lever_whose_pairs_depend_on_each_other_is_read_in_order_of_time(part):
    """Neighbours are those that were timed one after the other, in whatever order the file has them."""
    part.plan["lever"] = [
        {"id": "f", "label": "F", "bar": "lever.bar", "where": "lever == 'f'", "autocorrelated": True}
    ]
    part.plan["tables"]["kernel_timings"] = "data/kernel_timings.csv"
    walk = random.Random(3)
    at = 100.0
    for chunk in range(40):
        at += walk.gauss(0, 1) - 0.2 * (at - 100)
        part.kernel_timings.append(timing("f", chunk, at, 90))
    before = part.read()["f.saving"]
    walk.shuffle(part.kernel_timings)
    after = part.read()["f.saving"]
    assert (after.aspects["lo"], after.warnings) == (pytest.approx(before.aspects["lo"]), before.warnings)
    assert "count as" in before.warnings[0] and before.aspects["df"] < 20


def test_constant_added_to_every_step_changes_no_difference(messy):
    """What all draws take longer, no difference between arms shows."""
    before = messy.read()
    for one in messy.draws:
        if "" not in (one["step_time_ms"], one["verify_steps"]):
            one["step_time_ms"] += 2.5 * one["verify_steps"]
            one["model_time_s"] = 1000.0
    after = messy.read()
    for name, one in before.items():
        if name.startswith(("saving.", "drift.", "count.", "tps.", "verdict")) and not name.startswith(
            "saving.relative"
        ):
            found, wanted = ((x.value, x.aspects.get("lo"), x.aspects.get("hi")) for x in (after[name], one))
            assert_alike({name: found}, {name: wanted})


def test_names_of_rows_change_nothing(messy):
    """Other names of the rows: the same values, under the rows' own ids where they have some."""
    before = numbers(messy.read())
    for table in ("rows", "draws", "tasks", "power"):
        for one in getattr(messy, table):
            one["row"] = f"z{100 - int(one['row'][1:])}"
    after = numbers(messy.read())
    assert_alike(*({n: v for n, v in one.items() if not n.startswith("power.share")} for one in (after, before)))
    assert sorted(str(v) for n, v in after.items() if n.startswith("power.share")) == sorted(
        str(v) for n, v in before.items() if n.startswith("power.share")
    )


@settings(repeatable, max_examples=12)
@given(st.sampled_from(["r02", "r05", "r06"]), st.floats(0.001, 5))
def test_slower_row_never_saves_more(tmp_path_factory, name, ms):
    """A changed row that took longer lowers the saving, a yardstick row raises it; along every slope."""
    part = compiled(tmp_path_factory.getbasetemp() / "slower")
    before = numbers(part.read())
    for number in (1, 2):
        one = next(draw for draw in part.draws if (draw["row"], draw["draw"]) == (name, number))
        one |= {"step_time_ms": one["step_time_ms"] + ms * 1000, "model_time_s": 30}
    after = numbers(part.read())
    rises = name == "r02"
    for saving in ("saving.low", "saving.high", "saving.unmatched", "saving.least"):
        assert (after[saving][0] > before[saving][0]) == rises


# ---- a pure function


def test_same_bytes_give_the_same_readings(messy):
    """Computed twice, and in a process with another hash seed: the same readings to the last bit, in one order."""
    messy.write()
    script = (
        "import sys, json, pathlib\n"
        "from campaign.analysis.compute import read\n"
        "from campaign.engine.data import read_data\n"
        "from campaign.engine.plan import read_plan\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "plan = read_plan(folder / 'plan.toml', 'plan.toml')\n"
        "found = read(plan, read_data(plan, folder, str), 'plan.toml')\n"
        "print(json.dumps([one.to_json() for one in found.values()]))\n"
    )
    here = json.dumps([one.to_json() for one in messy.read().values()])
    assert json.dumps([one.to_json() for one in messy.read().values()]) == here
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, str(messy.folder)],
        env=os.environ | {"PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == here


def test_digest_of_the_rule_knows_every_part_of_it(part):
    """The rule's hash is the same for the same plan, and another one for another bar, guard, slope or order."""
    first = rule_digest(part.typed_plan())
    assert rule_digest(part.typed_plan()) == first
    part.plan["about"] = "said in other words"
    assert rule_digest(part.typed_plan()) == first
    seen = {first}
    for change in (
        lambda: set_constant(part, "bar", 0.2),
        lambda: part.plan["verdict"]["guards"].pop(),
        lambda: part.plan["matching"]["slopes"].pop("high"),
        lambda: part.plan["rows"]["order"].reverse(),
        lambda: part.plan["rows"]["order"].append("rs8"),
        lambda: part.plan["verdict"].update(precedence=["confounded", "held"]),
    ):
        before = rule_digest(part.typed_plan())
        change()
        now = rule_digest(part.typed_plan())
        assert (now == before) == (part.plan["rows"]["order"] == ["old", "rs8", "rs8", "old"] and now in seen)
        seen.add(now)
    assert len(seen) == 6


def test_digest_of_the_rule_leaves_out_what_decides_nothing(part):
    """A count that is kept or recounted, and a reading of the plan's own, change no verdict."""
    first = rule_digest(part.typed_plan())
    part.plan["saving"].pop("count")
    part.plan["reading"] = [{"id": "more", "kind": "stat", "table": "draws", "stat": "count"}]
    assert rule_digest(part.typed_plan()) == first
    part.plan["verdict"]["guards"].append({"name": "m", "verdict": "held", "when": "more > 5"})
    assert rule_digest(part.typed_plan()) != first


def test_guards_of_the_readout_are_those_of_the_verdict(part):
    """What a person is shown of a guard is what the verdict made of it."""
    fail_everything(part)
    found = part.read()
    states = guard_states(part.typed_plan(), found)
    assert {state.state for state in states} == {"tripped"}
    assert found["verdict"].warnings == tuple(f"guard tripped: {state.name}" for state in states)


def test_what_the_plan_declares_comes_after_the_rule(part):
    """The plan's own readings can use those of the rule, and come before the verdict."""
    part.plan["reading"] = [{"id": "twice", "kind": "expr", "expr": "2 * saving.lower"}]
    names = [one["id"] for one in declarations(part.typed_plan())]
    assert names.index("saving.lower") < names.index("twice") < names.index("verdict")
    found = part.read()
    assert found["twice"].value == pytest.approx(2 * found["saving.lower"].value)
