"""What is wrong with a plan's rule, found before the first row: bands with a gap, thresholds that nothing reaches."""

import difflib
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from campaign.analysis import inference, kinds
from campaign.analysis.compute import KINDS
from campaign.analysis.constants import Fixed, fixed
from campaign.analysis.counts import Count
from campaign.analysis.errors import ReadingError
from campaign.analysis.expressions import parse
from campaign.analysis.interim import information
from campaign.analysis.readings import ASPECTS
from campaign.analysis.rows import DRAW_VALUES, ROW_VALUES
from campaign.analysis.rule import declarations, guards
from campaign.engine.errors import PlanError
from campaign.engine.plan import LEVEL, Guard, Plan, Rows, Verdict
from campaign.engine.strict import parse_strict
from campaign.kernels.errors import nearest

SHARES = ("power share", "completeness")
"""Guards whose limit is in percent, or in percentage points."""
NEEDS = {
    "agentic failures": "the table tasks",
    "passes": "the tables draws and tasks",
    "drift": "saving.same_day",
    "power share": "the table power, and [power]",
    "completeness": "the table tasks",
    "tokens per step": "the table draws",
}
"""What a plan has to have for the readings of a guard's kind."""


def problems(plan: Plan, tasks: int | None = None, step_ms: float | None = None) -> list[str]:
    """Everything that makes the plan's rule unfit to be sealed; each says what was found, expected, and what to do.

    `tasks` is the number of tasks in a draw and `step_ms` the time of a verify step, where an earlier part tells them.
    """
    known = fixed(plan)
    found = [*_declared(plan), *_bars(plan, known)]
    if plan.verdict:
        found += [*_bands(plan, plan.verdict, known), *_guards(plan, known, tasks, step_ms)]
    if plan.rows:
        found += _looks(plan, plan.rows)
    near = difflib.get_close_matches(LEVEL, plan.constants, n=1, cutoff=0.85) if LEVEL not in plan.constants else []
    for name in near:
        found.append(
            f"constants.{name}: nothing reads it as a level, so intervals would have 95 percent; expected {LEVEL}. "
            "Correct the id, or name it otherwise."
        )
    return found


def _declared(plan: Plan) -> Iterator[str]:
    """Each declaration has to be one that can be computed once the rows are there: then the plan is sealed."""
    seen = list(plan.constants)
    lacking: dict[str, str] = {}
    served = [ROW_VALUES, DRAW_VALUES] if {"rows", "draws"} <= set(plan.tables) else []
    for declaration in declarations(plan):
        name = str(declaration.get("id"))
        where = f"reading {name}"
        if name in seen:
            yield (
                f"{where}: the id is a constant's, a reading's above, or one that [saving] or a lever stands for; "
                "expected each id once. Rename it, or the slope or lever."
            )
        kind = str(declaration.get("kind"))
        if kind not in KINDS:
            yield f"{where}: kind is {kind!r}; expected one of {', '.join(KINDS)}.{nearest(kind, KINDS)} Name one."
            continue
        try:
            said = parse_strict(KINDS[kind], declaration, where)
            named = list(_named(said))
        except (PlanError, ReadingError) as wrong:
            yield str(wrong)
            continue
        yield from (f"{where}: {fault}" for fault in _equal_words(plan, said))
        if isinstance(said, Count):
            yield from (f"{where}: {fault}" for fault in said.faults(plan.constants))
        for table in _tables(said):
            if table not in (*plan.tables, *served):
                lack = "rows and draws" if table in (ROW_VALUES, DRAW_VALUES) else table
                lacking.setdefault(lack, f"{where}: needs {lack}, not under [tables]; expected it there. Add it.")
        yield from (f"{where}: {fault}" for fault in _arms(plan, said))
        for used in named:
            if not _is_known(used, seen):
                yield (
                    f"{where}: names {used}, which nothing above declares; expected a constant or a reading."
                    f"{nearest(used, seen)} Correct it."
                )
        seen.append(name)
        if getattr(said, "winner", ""):
            seen.append(said.winner)
    yield from lacking.values()


def _arms(plan: Plan, said: Any) -> Iterator[str]:
    """What is wrong with the arms and the slope that a declaration names."""
    slopes = plan.matching.slopes if plan.matching else {}
    for key, known in (("arm", plan.arms), ("against", plan.arms), ("slope", slopes)):
        name = "" if isinstance(said, inference.RowsNeeded) else getattr(said, key, "")
        if name and name not in known:
            among = ", ".join(known) or "none yet"
            yield f"{key} is {name!r}; expected one of {among}.{nearest(name, known)} Correct it."


def _tables(said: Any) -> Iterator[str]:
    """The tables that a declaration is computed from."""
    if isinstance(said, kinds.Arms | inference.Placebo) and not isinstance(said, inference.Fisher):
        yield ROW_VALUES
    if isinstance(said, inference.Variance):
        yield DRAW_VALUES
    yield from filter(None, (getattr(said, key, "") for key in ("table", "weight_table")))


def _named(said: Any) -> Iterator[str]:
    """The ids of what a declaration is computed from."""
    texts = [said.expr] if isinstance(said, kinds.Expr) else []
    texts += [case.when for case in said.cases if case.when] if isinstance(said, kinds.Choice) else []
    texts += [said.for_each] if getattr(said, "for_each", "") else []
    for text in texts:
        yield from parse(text.replace("{0}", "*")).ids
    yield from filter(None, (getattr(said, key, "") for key in ("saving", "bar", "margin", "of", "half_width")))
    if isinstance(said, inference.RowsNeeded):
        yield said.against


def _is_known(name: str, ids: list[str]) -> bool:
    """Whether `name` is one of the ids, a member of a family, or a figure that a reading carries."""
    if "*" in name:
        # which members there will be only the records tell
        return name.split(".")[0] in {one.split(".")[0] for one in ids}
    families = [re.sub(r"\\\{[^{}]*\\\}", r"\\w+(\\.\\w+)*", re.escape(one)) for one in ids if "{" in one]
    base, _, aspect = name.rpartition(".")
    wanted = [name, base] if aspect in ASPECTS else [name]
    return any(one in ids or any(re.fullmatch(family, one) for family in families) for one in wanted)


def _looks(plan: Plan, rows: Rows) -> Iterator[str]:
    """Looks have to be planned whole, and each has to know more than the one before."""
    if rows.looks and not rows.look_after:
        yield (
            f"rows.looks: found {rows.looks} looks and no look_after; expected after how many rows each is taken, "
            "and a boundary. Add both, or plan no look."
        )
    if rows.look_after:
        try:
            information(plan, {name: 1 for name, arm in plan.arms.items() if arm.earlier})
        except ReadingError as wrong:
            yield str(wrong)


def _bands(plan: Plan, verdict: Verdict, known: Fixed) -> Iterator[str]:
    """Bands have to cover every value of the deciding reading, each of them some."""
    bounds: list[tuple[str, float, bool]] = []
    for band in verdict.bands:
        name = band.at_least or band.above
        if name is None:
            continue
        value = known.get(name)
        if isinstance(value, str) or value is None:
            yield (
                f"verdict.bands: {band.verdict} is bounded by {name}, which is not fixed before the rows; expected a "
                "constant, or an expression over constants. Fix it."
            )
            return
        bounds.append((band.verdict, float(value), band.at_least is not None))
    last = verdict.bands[-1]
    if last.at_least is not None or last.above is not None:
        yield (
            f"verdict.bands: no band covers what lies below {last.verdict}; expected a last band without a bound, so "
            "that every value has a verdict. Add one."
        )
    for (upper, high, upper_has_it), (lower, low, lower_has_it) in pairwise(bounds):
        if low > high or (low == high and (upper_has_it or not lower_has_it)):
            yield (
                f"verdict.bands: {lower} begins at {low:g} and {upper} above it at {high:g}, so {lower} is never "
                "reached; expected bounds that descend. Correct a bound, or the order of the bands."
            )
    words = [band.verdict for band in verdict.bands]
    if verdict.guards and not set(words) & set(verdict.negative):
        yield (
            f"verdict.negative: found {', '.join(verdict.negative) or 'none'}, which no band gives; expected the "
            f"verdicts that no guard may hide, some of {', '.join(words)}. Name them."
        )
    if not _is_known(verdict.reading, _ids(plan)):
        yield (
            f"verdict.reading: {verdict.reading} is not declared; expected one of the plan's readings, as saving.lower "
            "where it has [saving]. Correct it."
        )


def _ids(plan: Plan) -> list[str]:
    return [*plan.constants, *(str(said.get("id")) for said in declarations(plan))]


def _guards(plan: Plan, known: Fixed, tasks: int | None, step_ms: float | None) -> Iterator[str]:
    """A guard has to be able to trip, and to pass."""
    for guard, when in guards(plan):
        try:
            named = parse(when).ids
        except ReadingError as wrong:
            yield f"verdict.guards: {guard.name!r}: {wrong}"
            continue
        unknown = [name for name in named if not _is_known(name, _ids(plan))]
        if unknown and guard.kind:
            yield (
                f"verdict.guards: {guard.name!r} needs {unknown[0]}, which the plan does not give; expected "
                f"{NEEDS[guard.kind]}. Add what is missing, or remove the guard."
            )
        elif unknown:
            yield (
                f"verdict.guards: {guard.name!r} names {unknown[0]}, which nothing declares; expected a constant or a "
                f"reading.{nearest(unknown[0], _ids(plan))} Correct it."
            )
        if all(name in known for name in named):
            yield (
                f"verdict.guards: {guard.name!r} names no reading of data, so it always trips or never; expected a "
                "condition that the data decide. Correct it, or remove it."
            )
        if guard.kind and guard.limit:
            yield from _limit(plan, guard, float(known[guard.limit]), tasks, step_ms)


def _limit(plan: Plan, guard: Guard, limit: float, tasks: int | None, step_ms: float | None) -> Iterator[str]:
    where = f"verdict.guards: {guard.name!r} compares with {guard.limit} = {limit:g}"
    if guard.kind in SHARES and not 0 < limit < 100:
        yield f"{where}; expected above 0 and below 100 percent, or it cannot both trip and pass. Correct the constant."
    if guard.kind in ("drift", "tokens per step") and limit <= 0:
        yield f"{where}; expected above 0, or every day trips it. Correct the constant."
    if guard.kind == "agentic failures" and (limit < 0 or not limit.is_integer()):
        yield f"{where}; expected a whole number of failures from 0 on. Correct the constant."
    rows = plan.rows.order.count(plan.saving.arm) * plan.rows.draws if plan.rows and plan.saving else 0
    runs = rows * tasks if tasks else None
    if guard.kind == "agentic failures" and runs is not None and limit >= runs:
        yield f"{where}, and only {runs} tasks run with the change; expected fewer, or it never trips. Correct it."
    if guard.kind == "drift" and step_ms is not None and limit >= step_ms:
        yield f"{where}, and a whole verify step takes {step_ms:.3g} ms; expected less, or it never trips. Correct it."
    if guard.kind == "passes" and (limit < 0 or (tasks is not None and limit >= tasks)):
        most = f"below {tasks}, the tasks of a draw" if tasks is not None else "a number of tasks"
        yield f"{where}; expected from 0 on and {most}, or it cannot both trip and pass. Correct the constant."


def _bars(plan: Plan, known: Fixed) -> Iterator[str]:
    """A bar has to lie above nothing, and a verdict's below the count that it is a share of."""
    for lever in plan.lever:
        bar = float(known[lever.bar])
        if bar <= 0:
            yield (
                f"lever {lever.id}.bar: {lever.bar} is {bar:g}; expected above 0, or a lever that saves nothing is "
                "kept. Correct the constant."
            )
    if plan.saving and plan.saving.margin and float(known[plan.saving.margin]) <= 0:
        yield f"saving.margin: {plan.saving.margin} is not above 0; expected a width. Correct the constant."
    if plan.saving and plan.saving.count and plan.verdict:
        count = float(known[plan.saving.count])
        if count <= 0:
            yield f"saving.count: {plan.saving.count} is {count:g}; expected a saving above 0. Correct the constant."
        top = plan.verdict.bands[0]
        bound = known.get(top.at_least or top.above or "")
        if isinstance(bound, int | float) and bound > count:
            yield (
                f"verdict.bands: {top.verdict} begins at {bound:g}, above the count of {count:g}; expected a bar that "
                "the change can reach if its count is right. Lower the bar, or correct the count."
            )


_EQUAL = re.compile(r"\b(equal|same|unchanged|no (change|difference))\b", re.IGNORECASE)


def _equal_words(plan: Plan, said: Any) -> Iterator[str]:
    """A choice that calls two things equal has to ask a test that can show it."""
    tests = {str(one.get("id")) for one in declarations(plan) if one.get("kind") == "equivalence"}
    for case in said.cases if isinstance(said, kinds.Choice) else ():
        if _EQUAL.search(case.word) and not (case.when and tests & set(parse(case.when).ids)):
            yield (
                f"prints {case.word!r} where no equivalence test decides; expected a condition on a reading of kind "
                "equivalence, as drift.equal.low < 0.05, or a word that claims less, as 'not told apart'. Change it."
            )
