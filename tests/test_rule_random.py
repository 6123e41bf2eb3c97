"""Plans and rows made at random: the program and a second implementation of the rule say the same of each."""

import math
import random
from pathlib import Path
from typing import Any

import pytest
from tests.compiled import TASKS, Compiled, plan_dict, started, timing
from tests.reference import Answer, Rule
from tests.served import draw, row, sample, task

from campaign.analysis.readings import Readings
from campaign.notes.verdict_text import guard_states

SEEDS = range(200, 250)
"""Few that between them reach every corner: see the test of it."""
KINDS = ("agentic failures", "passes", "drift", "power share", "completeness", "tokens per step")


def random_part(folder: Path, seed: int) -> Compiled:
    """A part drawn with this seed: arms of 1 to 20 rows, slopes, guards, levers, and draws that lack a value."""
    draw_of = random.Random(seed)
    part = Compiled(folder)
    part.plan = random_plan(draw_of)
    constants, order = part.plan["constants"], part.plan["rows"]["order"]
    spread = draw_of.choice([0.02, 0.1, 0.4])
    saving, drift = draw_of.choice([-0.3, 0, 0.1, 0.31, 0.6]), draw_of.choice([0, 0, 0.1, 0.3])
    failing = draw_of.choice([0, 0, 0.02, 0.2])
    missing = draw_of.choice([0, 0, 0, 0.02])
    broken = draw_of.choice([0, 0.05, 0.3])
    for arm in ["yardstick"] * draw_of.choice([1, 2, 3, 8, 20]) + order:
        name = f"r{len(part.rows) + 1:02d}"
        part.rows.append(row(name, arm, started(len(part.rows), arm)))
        middle = (
            14.4 + draw_of.gauss(0, spread) + (0 if arm == "yardstick" else drift) - (saving if arm == "rs8" else 0)
        )
        for number in range(1, part.plan["rows"]["draws"] + 1):
            outcomes = {
                which: draw_of.choices(
                    ["pass", "fail", "infrastructure error"], [1 - failing - 0.1 * broken, failing, 0.1 * broken]
                )[0]
                for which in TASKS
            }
            passes = sum(one == "pass" for one in outcomes.values())
            tokens = draw_of.gauss(3.7, 0.05 if "matching" in part.plan else 0.1)
            one = draw(name, number, middle + draw_of.gauss(0, spread), tokens, passes) | {"reason": ""}
            for column in ("step_time_ms", "verify_steps", "tokens", "model_time_s", "passes"):
                if draw_of.random() < missing:
                    one |= {column: "", "reason": "the log was cut off"}
            part.draws.append(one)
            part.tasks += [task(name, number, which, outcome) for which, outcome in outcomes.items()]
        part.power += [
            sample(name, second, draw_of.choice([100, 400, 500]), draw_of.random() < 0.5)
            for second in range(draw_of.choice([5, 30]))
        ]
    trend = 0.0
    for chunk in range(1, draw_of.choice([2, 6, 40])):
        trend = 0.7 * trend + draw_of.gauss(0, 2)
        part.kernel_timings.append(timing("f", chunk, 100 + trend, 100 - 4 * constants["bar"]["value"] * 50))
    return part


def random_plan(draw_of: random.Random) -> dict[str, Any]:
    """A plan drawn from `draw_of`."""
    plan = plan_dict()
    order = ["old"] * draw_of.choice([1, 1, 2, 5]) + ["rs8"] * draw_of.choice([1, 2, 4, 12])
    draw_of.shuffle(order)
    plan["rows"] = {"order": order, "draws": draw_of.choice([1, 2, 3])}
    slopes = {f"s{i}": f"slope.s{i}" for i in range(draw_of.randint(0, 3))}
    values = {f"slope.s{i}": draw_of.uniform(-1, 1) for i in range(3)}
    values |= {"bar": draw_of.choice([0.05, 0.155, 0.3]), "count": draw_of.choice([0.31, 0.05, 0.9])}
    values |= {"limit.drift": draw_of.choice([0.05, 0.13, 0.5]), "limit.tps": draw_of.choice([0.01, 0.1])}
    values |= {"limit.passes": draw_of.choice([0, 1.5, 1.9]), "limit.power": draw_of.choice([5, 60])}
    values |= {"limit.failures": draw_of.choice([0, 1]), "limit.complete": draw_of.choice([90, 99.9])}
    values |= {"interval.level": draw_of.choice([80, 90, 95, 99])}
    plan["constants"] |= {name: {"value": value, "because": "drawn"} for name, value in values.items()}
    if slopes:
        plan["matching"] = {"at": "match.at", "slopes": slopes}
    else:
        del plan["matching"]
    limits = dict(zip(KINDS, ("failures", "passes", "drift", "power", "complete", "tps"), strict=True))
    verdicts = ["held", "confounded"]
    plan["verdict"]["guards"] = [
        {"name": kind, "kind": kind, "verdict": draw_of.choice(verdicts), "limit": f"limit.{limits[kind]}"}
        for kind in draw_of.sample(KINDS, draw_of.randint(0, len(KINDS)))
    ]
    plan["verdict"]["precedence"] = draw_of.sample(verdicts, 2)
    plan["verdict"]["negative"] = draw_of.choice([["rolled back"], ["seen", "rolled back"]])
    if draw_of.random() < 0.3:
        plan["saving"] |= {"against": "old", "same_day": "yardstick"}
    if draw_of.random() < 0.5:
        plan["saving"]["margin"] = "limit.drift"
    plan["tables"]["kernel_timings"] = "data/kernel_timings.csv"
    lever = {"id": "f", "label": "F", "bar": "lever.bar", "where": "lever == 'f'"}
    lever |= {"keep": draw_of.choice(["lower end", "estimate"]), "variants": draw_of.choice([1, 3])}
    plan["lever"] = [lever | {"autocorrelated": draw_of.random() < 0.5}]
    return plan


def reference(part: Compiled) -> Rule:
    """The second implementation's answer to the part."""
    return Rule(part.plan, {name: getattr(part, name) for name in part.plan["tables"]})


def disagreements(readings: Readings, rule: Rule) -> list[str]:
    """What the program and the reference say differently, a line each."""
    generated = {name for name, one in readings.items() if one.role == "reading" and name != "verdict"}
    only = generated ^ set(rule.answers)
    told = [f"{name} is known to one of the two only" for name in sorted(only)]
    for name in sorted(generated & set(rule.answers)):
        found, answer = readings[name], rule.answers[name]
        told += [f"{name}: {found.value} ({found.reason}) and {answer.value}"] if not alike(found.value, answer) else []
        for end in ("lo", "hi") if answer.lo is not None else ():
            other = found.aspects.get(end)
            if other is None or not math.isclose(other, getattr(answer, end), rel_tol=1e-7, abs_tol=1e-9):
                told.append(f"{name}.{end}: {other} and {getattr(answer, end)}")
        if found.value is None and (not found.reason or set(found.aspects) - {"n"}):
            told.append(f"{name} has no value and {found.reason!r}, {found.aspects}")
    if readings["verdict"].value != rule.verdict:
        told.append(f"verdict: {readings['verdict'].value} ({readings['verdict'].reason}) and {rule.verdict}")
    return told


def alike(value: Any, answer: Answer) -> bool:
    """Whether both have one value, numbers to 1e-9."""
    if isinstance(value, int | float) and isinstance(answer.value, int | float):
        return math.isclose(value, answer.value, rel_tol=1e-9, abs_tol=1e-9)
    return value == answer.value


@pytest.mark.parametrize("block", range(4))
def test_program_and_reference_agree(tmp_path, block):
    """Every reading, interval, guard and verdict of random plans over random rows."""
    for seed in SEEDS[block::4]:
        part = random_part(tmp_path, seed)
        readings, rule = part.read(), reference(part)
        assert disagreements(readings, rule) == [], f"seed {seed}"
        states = {state.name: state.state for state in guard_states(part.typed_plan(), readings)}
        assert states == rule.guards, f"seed {seed}"


def test_random_parts_reach_every_corner(tmp_path):
    """The parts drawn hold each verdict, each state of each guard, and readings without value."""
    words, states, open_ = set(), set(), set()
    for seed in SEEDS:
        rule = reference(random_part(tmp_path, seed))
        words.add(rule.verdict)
        kinds = {guard["name"]: guard["kind"] for guard in rule.plan["verdict"]["guards"]}
        states |= {(kinds[name], state) for name, state in rule.guards.items()}
        open_ |= {name for name, answer in rule.answers.items() if answer.value is None}
    assert words == {"carries", "seen", "rolled back", "held", "confounded", None}
    assert {(kind, state) for kind in KINDS for state in ("tripped", "passed")} <= states
    assert {"saving.unmatched", "drift.most", "tps.balance", "f.saving", "passes.rs8", "time.rows_needed"} <= open_
