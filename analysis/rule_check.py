"""What is wrong with a plan's rule, found before the first row: bands with a gap, thresholds that nothing reaches."""

from collections.abc import Iterator
from itertools import pairwise

from campaign.analysis.constants import Fixed, fixed
from campaign.analysis.expressions import parse
from campaign.analysis.rule import declarations, guards
from campaign.engine.plan import Guard, Plan, Verdict

SHARES = ("power share", "completeness")
"""Guards whose limit is in percent, or in percentage points."""


def problems(plan: Plan, tasks: int | None = None) -> list[str]:
    """Everything that makes the plan's rule unfit to be sealed; each says what was found, expected, and what to do.

    `tasks` is the number of tasks in a draw, where an earlier part tells it.
    """
    known = fixed(plan)
    found = [*_bars(plan, known)]
    if plan.verdict:
        found += [*_bands(plan, plan.verdict, known), *_guards(plan, known, tasks)]
    if plan.rows and plan.rows.looks and not plan.rows.look_after:
        found.append(
            f"rows.looks: found {plan.rows.looks} looks and no look_after; expected after how many rows each is taken, "
            "and a boundary. Add both, or plan no look."
        )
    return found


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
    if verdict.reading.rpartition(".")[0] not in _ids(plan) and verdict.reading not in _ids(plan):
        yield (
            f"verdict.reading: {verdict.reading} is not declared; expected one of the plan's readings, as saving.lower "
            "where it has [saving]. Correct it."
        )


def _ids(plan: Plan) -> set[str]:
    return {str(said.get("id")) for said in declarations(plan)} | set(plan.constants)


def _guards(plan: Plan, known: Fixed, tasks: int | None) -> Iterator[str]:
    """A guard has to be able to trip, and to pass."""
    for guard, when in guards(plan):
        named = parse(when).ids
        if all(name in known for name in named):
            yield (
                f"verdict.guards: {guard.name!r} names no reading of data, so it always trips or never; expected a "
                "condition that the data decide. Correct it, or remove it."
            )
        if guard.kind and guard.limit:
            yield from _limit(guard, float(known[guard.limit]), tasks)


def _limit(guard: Guard, limit: float, tasks: int | None) -> Iterator[str]:
    where = f"verdict.guards: {guard.name!r} compares with {guard.limit} = {limit:g}"
    if guard.kind in SHARES and not 0 < limit < 100:
        yield f"{where}; expected above 0 and below 100 percent, or it cannot both trip and pass. Correct the constant."
    if guard.kind in ("drift", "tokens per step") and limit <= 0:
        yield f"{where}; expected above 0, or every day trips it. Correct the constant."
    if guard.kind == "agentic failures" and (limit < 0 or not limit.is_integer()):
        yield f"{where}; expected a whole number of failures from 0 on. Correct the constant."
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
