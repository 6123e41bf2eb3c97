"""Looks at the data before the last row: what a plan provides for, and what a look that it does not leaves behind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from campaign.analysis.errors import ReadingError
from campaign.analysis.looks import boundary
from campaign.engine.plan import Plan


@dataclass(frozen=True)
class Look:
    """One look at the readings while planned rows were missing."""

    rows: int
    """How many planned rows were complete."""
    planned: bool
    """Whether the plan provides for a look after so many rows."""


@dataclass(frozen=True)
class State:
    """How far a campaign is, and what that means for its readings."""

    level: float
    """Level of the intervals in percent: the plan's, or what its boundary leaves at this look."""
    incomplete: str = ""
    """Why no reading is shown; empty where they may be."""
    interim: str = ""
    """What marks every reading; empty where nothing does."""


def is_planned(plan: Plan, rows: int) -> bool:
    """Whether the plan provides for a look after `rows` complete rows."""
    return plan.rows is not None and rows in plan.rows.look_after


def information(plan: Plan, earlier: Mapping[str, int]) -> list[float]:
    """Share of the final information at each planned look and at the end: 1/(1/n₁ + 1/n₂) over its last value.

    n₁ and n₂ are the rows of the two arms of the plan's [saving]; `earlier` counts the rows of arms that ran before the
    plan, as a yardstick's, which are there from the start. Without [saving] it is the share of rows.
    """
    assert plan.rows is not None, "the caller asks for plans with rows"
    order = plan.rows.order
    after = [*plan.rows.look_after, len(order)]
    if plan.saving is None:
        return [rows / len(order) for rows in after]
    known = []
    for rows in after:
        counts = [earlier.get(arm) or order[:rows].count(arm) for arm in (plan.saving.arm, plan.saving.against)]
        known.append(1 / sum(1 / n for n in counts) if all(counts) else 0.0)
    if not known[-1] or any(now <= before for before, now in pairwise([0.0, *known])):
        raise ReadingError(
            f"rows.look_after: found {plan.rows.look_after}; expected looks that each have more rows of "
            f"{plan.saving.arm} or {plan.saving.against} than the one before, and at least one of both. Correct them."
        )
    return [share / known[-1] for share in known]


def level_after(plan: Plan, done: int, level: float, earlier: Mapping[str, int]) -> float:
    """Level in percent of the intervals after `done` complete rows: `level`, or what the boundary leaves of it."""
    if plan.rows is None or not plan.rows.look_after or plan.rows.boundary is None:
        return level
    shares = information(plan, earlier)
    bounds = boundary(plan.rows.boundary, len(shares), 1 - level / 100, shares)
    return bounds.level_at(1 + sum(rows < done for rows in plan.rows.look_after))


def state_of(plan: Plan, missing: int, looks: Sequence[Look], level: float, earlier: Mapping[str, int]) -> State:
    """The state with `missing` planned rows to come after `looks`; the plan's intervals have `level` percent. R22.

    `earlier` counts the complete rows of each arm that ran before the plan.
    With planned looks the intervals of each look, the last included, have the level of the plan's boundary there.
    """
    if plan.rows is None:
        return State(level)
    total = len(plan.rows.order)
    done = total - missing
    # what the log says of itself does not make a look planned
    unplanned = [look for look in looks if not (look.planned and is_planned(plan, look.rows))]
    marks = [
        f"interim: looked at after {look.rows} of {total} rows, which the plan does not provide for"
        for look in unplanned[:1]
    ]
    level = level_after(plan, done, level, earlier)
    if missing and not any(look.rows == done for look in looks):
        return State(level, incomplete=f"{missing} of {total} planned rows are missing")
    if missing and not unplanned:
        marks = [f"interim: planned look after {done} of {total} rows"]
    return State(level, interim="; ".join(marks))
