"""Operating characteristics: how likely each verdict of a plan is, before its first row."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, floor, log10, sqrt

import numpy as np
import pandas as pd
import scipy

from campaign.analysis import power
from campaign.analysis.compared import Compared, compared
from campaign.analysis.constants import fixed
from campaign.analysis.expressions import parse
from campaign.analysis.interim import level_after
from campaign.analysis.rows import ROW_VALUES
from campaign.analysis.rule import declarations
from campaign.engine.plan import Plan

POWER = 0.8
"""Chance of the best verdict for which rows are counted where the plan names none."""


@dataclass(frozen=True)
class Chance:
    """The chance of each verdict where the change truly saves `saving`."""

    name: str
    """What is assumed, in words."""
    saving: float
    """ms/verify step."""
    verdicts: Mapping[str, float]
    """By verdict, guards included; they add up to 1."""


@dataclass(frozen=True)
class Characteristics:
    """What a plan can decide."""

    words: tuple[str, ...] = ()
    """The verdicts, bands first."""
    chances: tuple[Chance, ...] = ()
    sd: float | None = None
    """Standard deviation of a row that is assumed, in the unit of the saving."""
    sd_from: str = ""
    arm: str = ""
    against: str = ""
    rows: int = 0
    reference_rows: int = 0
    remarks: tuple[str, ...] = ()
    """Rows needed, what the guards do where nothing drifts, and what cannot be decided."""
    reason: str = ""


@dataclass(frozen=True)
class _Yardstick:
    """What rows that are already there tell about rows to come."""

    rows: int = 0
    sd: float | None = None
    time_sd: float | None = None
    passes: tuple[float, float] | None = None
    """Mean and standard deviation over rows of the tasks passed in a draw."""
    steps: float | None = None
    """Verify steps of a draw."""
    agentic: tuple[int, int] = field(default=(0, 0))
    """Failures and runs of agentic tasks."""


def characteristics(plan: Plan, tables: Mapping[str, pd.DataFrame]) -> Characteristics:
    """The chance of each verdict with no effect, at the bar and at the count, and what the rows cannot decide.

    `tables` are the served tables that are there (`rows.served_tables`): a yardstick's rows tell how rows vary; without
    them the plan's [planning] does. R18, R14, D4. Simulated with a fixed seed; the closed form without guards agrees.
    """
    known = fixed(plan)
    said = compared(plan, known)
    if said is None or plan.rows is None:
        return Characteristics(reason="the plan compares no two arms over planned rows")
    seen = _yardstick(said, tables)
    sd, sd_from = seen.sd, f"from {seen.rows} rows of {said.against}"
    if plan.planning:
        sd, sd_from = float(known[plan.planning.sd]), f"assumed: {plan.planning.sd}"
    order = plan.rows.order
    n_on = order.count(said.arm)
    n_ref = order.count(said.against) or seen.rows
    if sd is None or not np.isfinite(sd) or sd <= 0:
        return Characteristics(
            reason="no earlier rows tell how rows vary; expected a yardstick with two rows or more, or [planning] with "
            "the standard deviation of a row"
        )
    if n_on < 1 or n_ref < 1 or n_on + n_ref < 3:
        return Characteristics(reason=f"need rows of both arms, have {n_on} and {n_ref}")
    n_day = order.count(said.same_day) if said.same_day and said.same_day != said.against else 0
    if not _on_lower_end(plan, said):
        return Characteristics(
            reason=f"the verdict stands on {plan.verdict.reading}, and what is known here is how likely a lower end "
            "reaches a bar"
        )
    earlier = {said.against: n_ref} if plan.arms[said.against].earlier else {}
    said = replace(said, level=level_after(plan, len(order), said.level, earlier))
    limits = {guard.kind: float(known[guard.limit]) for guard in _guards(plan) if guard.limit}
    failures, runs = seen.agentic
    task_runs = n_on * plan.rows.draws * _agentic_tasks(tables)
    fails = float(scipy.stats.binom.sf(limits.get("agentic failures", 0), task_runs, failures / runs)) if runs else 0.0
    campaign = power.Campaign(
        sd=sd,
        n_on=n_on,
        n_ref=n_ref,
        level=said.level,
        bands=said.bars,
        negative=tuple(plan.verdict.negative) if plan.verdict else (),
        precedence=tuple(plan.verdict.precedence) if plan.verdict else (),
        n_day=n_day,
        drift_limit=limits.get("drift"),
        # one run that fails where more would than the guard lets pass
        task_runs=1 if "agentic failures" in _kinds(plan) else 0,
        failure=fails,
    )
    words, chances = (), []
    for name, saving in _savings(said):
        verdicts = power.verdict_probabilities(saving, campaign).chances
        words = tuple(verdicts)
        chances.append(Chance(name, saving, verdicts))
    return Characteristics(
        words,
        tuple(chances),
        sd,
        sd_from,
        said.arm,
        said.against,
        n_on,
        n_ref,
        tuple(_remarks(plan, said, campaign, seen)),
    )


def _on_lower_end(plan: Plan, said: Compared) -> bool:
    """Whether the verdict stands on the lower end of the saving's interval, or on the least of several."""
    assert plan.verdict is not None, "what is compared is what a verdict stands on"
    ends = {f"{name}.lo" for name in said.ids.values()}
    reading = plan.verdict.reading
    if reading in ends:
        return True
    declared = next((one for one in declarations(plan) if one.get("id") == reading), {})
    if declared.get("kind") != "expr":
        return False
    inner = parse(str(declared["expr"]))
    return set(inner.ids) <= ends and (len(inner.ids) == 1 or inner.text.startswith("min("))


def _kinds(plan: Plan) -> set[str]:
    return {str(guard.kind) for guard in _guards(plan)}


def _guards(plan: Plan) -> list:
    return plan.verdict.guards if plan.verdict else []


def _savings(said: Compared) -> list[tuple[str, float]]:
    """The true savings that are asked about."""
    found = [("no effect", 0.0)]
    if said.bar is not None:
        found.append(("at the bar", said.bar))
    if said.count is not None:
        found.append(("at the count", said.count))
    elif said.bar:
        found.append(("twice the bar", 2 * said.bar))
    return found


def _yardstick(said: Compared, tables: Mapping[str, pd.DataFrame]) -> _Yardstick:
    if ROW_VALUES not in tables:
        return _Yardstick()
    rows = said.rows(tables[ROW_VALUES], said.against)
    if len(rows) < 2:
        return _Yardstick(len(rows))
    sds = [float(np.std(said.values(tables[ROW_VALUES], said.against, slope), ddof=1)) for slope in said.slopes]
    agentic = (0, 0)
    if "tasks" in tables:
        runs = tables["tasks"]
        runs = runs[(runs["arm"] == said.against) & (runs["kind"] == "agentic")]
        agentic = int((runs["outcome"] == "fail").sum()), int(runs["outcome"].isin(["pass", "fail"]).sum())
    return _Yardstick(
        len(rows),
        max(sds),
        float(np.std(rows["model_time_s"], ddof=1)),
        (float(rows["passes"].mean()), float(np.std(rows["passes"], ddof=1))),
        float(rows["verify_steps"].mean()),
        agentic,
    )


def _agentic_tasks(tables: Mapping[str, pd.DataFrame]) -> int:
    if "tasks" not in tables:
        return 0
    tasks = tables["tasks"]
    return int(tasks.loc[tasks["kind"] == "agentic", "task"].nunique())


def _remarks(plan: Plan, said: Compared, campaign: power.Campaign, seen: _Yardstick):
    """What a person should know beside the table, a line each."""
    wanted = plan.planning.power if plan.planning else POWER
    n_on, n_ref, sd = campaign.n_on, campaign.n_ref, campaign.sd
    first = said.bars[0][0]
    bar = said.bar if said.bar is not None else 0.0
    at_the_bar = 0.5 - said.level / 200
    least = power.least_detectable(wanted, bar, sd, n_on, n_ref, said.level) if wanted > at_the_bar else None
    if least is not None and least.value is not None:
        yield f"{first} with a chance of {wanted:.0%} from a true saving of {_rounded_up(least.value)} on"
    if said.against in plan.arms and plan.arms[said.against].earlier:
        yield f"{said.against} ran on another day: no chance here and no interval counts what days differ by"
    goal = said.count if said.count is not None else 2 * bar
    if goal > bar:
        both_run = bool(plan.rows and said.against in plan.rows.order)
        needed = (
            power.rows_needed_in_each(wanted, goal, bar, sd, said.level)
            if both_run
            else power.rows_needed(wanted, goal, bar, sd, n_ref, said.level)
        )
        which = "each arm" if both_run else said.arm
        rows = f"{needed.rows} rows of {which}" if needed.rows is not None else needed.reason
        yield f"for a chance of {wanted:.0%} at a true saving of {goal:g}: {rows}; the plan has {n_on}"
    if campaign.drift_limit is not None and campaign.n_day:
        se = sd * sqrt(1 / campaign.n_day + 1 / n_ref)
        trips = 2 * float(scipy.stats.norm.sf(campaign.drift_limit / se))
        yield f"the drift guard trips on a day without drift with a chance of {trips:.1%}"
    limits = [guard for guard in _guards(plan) if guard.kind == "passes" and guard.limit]
    if limits and seen.passes and seen.passes[1] > 0:
        mean, spread = seen.passes
        held = float(scipy.stats.norm.cdf((float(fixed(plan)[limits[0].limit]) - mean) / (spread / sqrt(n_on))))
        yield f"passes like the yardstick's ({mean:.2f} a draw) are held with a chance of {held:.1%}"
    if "agentic failures" in _kinds(plan) and seen.agentic[1]:
        failures, runs = seen.agentic
        yield f"agentic runs: {failures} of {runs} failed in the yardstick; so often is assumed of the rows to come"
    elif "agentic failures" in _kinds(plan):
        yield "agentic runs: no earlier ones tell how often they fail; the table assumes that none does"
    unasked = [guard.name for guard in _guards(plan) if guard.kind not in ("drift", "agentic failures")]
    if unasked:
        yield f"the table leaves out what these guards would hold or call confounded: {', '.join(unasked)}"
    if plan.rows and plan.rows.look_after and plan.rows.boundary:
        yield f"this is the last look, with intervals at {said.level:.2f} %; what earlier looks decide comes on top"
    yield from _task_time(plan, said, campaign, seen)


def _rounded_up(value: float) -> str:
    """Three digits, rounded up: the chance at what is printed is then not below the one named."""
    digits = 2 - floor(log10(abs(value))) if value else 2
    return f"{ceil(value * 10**digits - 1e-9) / 10**digits:.{max(0, digits)}f}"


def _task_time(plan: Plan, said: Compared, campaign: power.Campaign, seen: _Yardstick):
    """R14: whether rows like these could show what the count implies for the time of a draw."""
    known = fixed(plan)
    time_sd, steps = seen.time_sd, seen.steps
    if plan.planning:
        time_sd = float(known[plan.planning.time_sd]) if plan.planning.time_sd else time_sd
        steps = float(known[plan.planning.steps]) if plan.planning.steps else steps
    if said.count is None or time_sd is None or steps is None:
        return
    implied = said.count * steps / 1000
    found = power.floor_test(time_sd, campaign.n_ref, implied, said.level)
    if found.resolvable is None:
        yield f"task time: not known: {found.reason}"
    elif found.resolvable:
        yield (
            f"task time: the count implies {implied:.2f} s a draw; {found.rows} rows of {said.arm} could show it, the "
            f"plan has {campaign.n_on}"
        )
    else:
        yield (
            f"task time cannot be decided: the count implies {implied:.2f} s a draw, and {campaign.n_ref} rows of "
            f"{said.against} leave {found.floor:.2f} s however many rows of {said.arm} run"
        )
