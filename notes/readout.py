"""What `notes read` prints: what was asked and decided, then the readings."""

import re
from collections.abc import Iterator, Mapping, Sequence

from campaign.analysis.readings import Reading, Readings
from campaign.analysis.rounding import audit_readings
from campaign.analysis.rows import missing_rows
from campaign.analysis.rule import declarations
from campaign.engine.data import planned_rows
from campaign.notes.look_log import LoggedLook
from campaign.notes.paths import Part
from campaign.notes.quote import NOT_RESOLVED, print_reading
from campaign.notes.sources import DIGEST_DIGITS, Sources
from campaign.notes.terminal import Line, grid, wrapped
from campaign.notes.verdict_text import GuardState, figure, guard_states, interval, lever_lines, verdict_lines

FAMILY = 6
"""A family with more members than this is one line, unless all are asked for."""
FEW = 3
"""Of a kind of warning, as many are named before they are only counted."""
LONG_TEXT = 16
"""A text longer than this takes the place of interval, n and unit."""
LABEL = 11
WRONG = ("cannot follow", "differs by rounding")
"""Verdicts of the rounding audit that are told: an error, a warning."""


def readout(sources: Sources, width: int, *, everything: bool = False) -> str:
    """Question, verdict, guards, levers, rows and warnings, then the readings; `everything` unfolds what is long.

    While planned rows are missing and no look was logged, only how many are missing.
    """
    head = heading(sources, width)
    missing = incomplete(sources)
    if missing:
        return "\n".join([*head, "", *_only_missing(sources, missing, width)])
    blocks = ["\n".join(head), "\n".join(_top(sources, width, everything)), _table(sources, width, everything)]
    return "\n\n".join(block for block in blocks if block)


def heading(sources: Sources, width: int) -> list[str]:
    """Title, and where the data come from."""
    title = wrapped(f"{sources.part.title}: {sources.facts.post.title}", width)
    return [*title, f"data: {sources.data.origin}, sha256 {sources.data.digest[:DIGEST_DIGITS]}"]


def incomplete(sources: Sources) -> str:
    """How many planned rows are missing; empty where none is, or where a look was logged at just these rows."""
    plan = sources.plan
    missing = missing_rows(plan, sources.data)
    if not missing or plan.rows is None:
        return ""
    total = len(plan.rows.order)
    looked = any(look.rows == total - missing for look in sources.looks)
    return "" if looked else f"{missing} of {total} planned rows are missing"


def _only_missing(sources: Sources, missing: str, width: int) -> Iterator[str]:
    yield f"{missing}: no reading is shown before the last one is complete."
    fixed = sum(sources.readings[name].role == "constant" for name in sources.computed)
    yield from wrapped(
        f"The plan fixes {_counted(fixed, 'constant')}; `notes plan {sources.part.name}` shows it.", width
    )


def logged_text(part: Part, look: LoggedLook | None, commit: str) -> str:
    """What was logged about a look, and in which commit; without one, what is to be done with it."""
    if look is None:
        return "no planned row is missing: this is no interim look, and nothing was logged"
    how = "planned" if look.planned else f"not planned, because: {look.because}"
    kept = f"committed as {commit[:12]}" if commit else "no git here: bring the file into the campaign's history"
    return (
        f"logged in {part.show(part.looks)}: after {_counted(look.rows, 'row')}, {how}\n"
        f"{kept}; a look is never taken back"
    )


# ---------------------------------------------------------------- the top


def _top(sources: Sources, width: int, everything: bool) -> Iterator[str]:
    plan, readings = sources.plan, sources.readings
    if plan.question:
        yield from _labelled("Question", [plan.question.text], width)
    if plan.verdict:
        yield from _labelled("Verdict", verdict_lines(plan, readings), width)
        states = guard_states(plan, readings)
        yield from _labelled("Guards", [_guard(one) for one in states] or ["none"], width)
    levers = list(lever_lines(plan, readings))
    yield from _labelled("Levers", [f"{label}: {said}" for label, said in levers], width)
    yield from _labelled("Rows", _completeness(sources), width)
    yield from _labelled("Rounding", _rounding(sources, everything), width)
    yield from _labelled("Warnings", _warnings(sources, everything), width)


def _guard(one: GuardState) -> str:
    told = {"tripped": f": {one.verdict}", "not run": ": never a pass"}.get(one.state, "")
    return f"{one.state.ljust(len('not run'))}  {one.name}: {one.said}{told}"


def _labelled(label: str, texts: Sequence[str] | Iterator[str], width: int) -> Iterator[str]:
    for number, text in enumerate(texts):
        first = label.ljust(LABEL) if number == 0 else " " * LABEL
        yield from wrapped(text, width, first, " " * (LABEL + 2))


def _completeness(sources: Sources) -> Iterator[str]:
    """Rows, draws, task runs; what is void, what was not graded."""
    plan, tables = sources.plan, sources.data.tables
    if "rows" not in tables:
        return
    rows = tables["rows"]
    complete = rows[rows["state"] == "complete"]
    arms = ", ".join(f"{arm} {int((complete['arm'] == arm).sum())}" for arm in plan.arms)
    said = f"{_counted(len(complete), 'complete row')} ({arms})"
    if plan.rows:
        said += f"; {len(planned_rows(plan, rows))} of {len(plan.rows.order)} planned"
    counted = [said]
    for name, what in (("draws", "draw"), ("tasks", "task run")):
        if name in tables:
            counted.append(_counted(int(tables[name]["row"].isin(complete["row"]).sum()), what))
    if "tasks" in tables:
        errors = int((tables["tasks"]["outcome"] == "infrastructure error").sum())
        counted.append(_counted(errors, "infrastructure error"))
    yield "; ".join(counted)
    for row in rows[rows["state"] != "complete"].itertuples():
        reason = row.reason if isinstance(row.reason, str) and row.reason else "no reason given"
        yield f"{row.state}: {row.row} ({row.arm}): {reason}"


def _rounding(sources: Sources, everything: bool) -> Iterator[str]:
    """Printed numbers that do not follow from the printed numbers that they are computed from."""
    computed = Readings({name: sources.readings[name] for name in sources.computed}, sources.part.name)
    found = [
        one
        for one in audit_readings(computed, print_reading)
        if one.verdict in ("cannot follow", "differs by rounding")
    ]
    found.sort(key=lambda one: one.verdict != "cannot follow")
    for one in found if everything else found[:FEW]:
        yield f"{'error: ' if one.verdict == 'cannot follow' else ''}{one.text}"
    if len(found) > FEW and not everything:
        yield f"… and {len(found) - FEW} more such numbers: --all shows them"


def _warnings(sources: Sources, everything: bool) -> Iterator[str]:
    """Every warning once, with the readings that carry it; then the readings without a value."""
    carried: dict[str, list[str]] = {}
    for name in sources.computed:
        for warning in sources.readings[name].warnings:
            carried.setdefault(warning, []).append(name)
    for name in sources.computed:
        reading = sources.readings[name]
        if reading.value is None:
            carried.setdefault(f"{NOT_RESOLVED}: {reading.reason}", []).append(name)
    for warning, names in carried.items():
        shown = names if everything else names[:FEW]
        more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
        yield f"{warning} ({', '.join(shown)}{more})"


# ---------------------------------------------------------------- the readings


def _table(sources: Sources, width: int, everything: bool) -> str:
    readings = sources.readings
    names = [name for name in sources.computed if readings[name].role != "constant"]
    groups = {
        "Readings": names,
        "Constants of the plan": [name for name in sources.computed if readings[name].role == "constant"],
        "Facts": list(sources.facts.facts),
    }
    families = {} if everything else _long_families(sources, names)
    lines: list[Line] = []
    for group, members in groups.items():
        if members:
            lines += [Line((group,)), *_folded(readings, members, families)]
    if not lines:
        return ""
    text = grid(("reading", "value", "interval", "n", "unit"), lines, width, right=(1, 3))
    return text + ("\n… --all shows every member of the families" if families else "")


def _folded(readings: Mapping[str, Reading], names: Sequence[str], families: Mapping[str, str]) -> Iterator[Line]:
    """A line for each name, and one for each family where its first member stands."""
    of: dict[str, list[str]] = {}
    for name in names:
        if name in families:
            of.setdefault(families[name], []).append(name)
    told: set[str] = set()
    for name in names:
        if name not in families:
            yield _line(readings[name])
        elif families[name] not in told:
            told.add(families[name])
            yield _family_line(families[name], [readings[one] for one in of[families[name]]])


def _long_families(sources: Sources, names: Sequence[str]) -> dict[str, str]:
    """The pattern of its family for each member of a long one, as row.{row} for row.r1."""
    found: dict[str, str] = {}
    for said in declarations(sources.plan):
        for pattern in (str(said.get("id")), str(said.get("winner", ""))):
            if "{" not in pattern:
                continue
            part = r"\\w+(?:\\.\\w+)*" if said.get("for_each") else r"\\w+"
            shape = re.compile(re.sub(r"\\\{[^{}]*\\\}", part, re.escape(pattern)))
            members = [name for name in names if name not in found and shape.fullmatch(name)]
            if len(members) > FAMILY:
                found |= dict.fromkeys(members, pattern)
    return found


def _family_line(pattern: str, members: Sequence[Reading]) -> Line:
    numbers = [one for one in members if isinstance(one.value, int | float)]
    said = f"{len(members)} readings"
    if numbers:
        least, most = (pick(numbers, key=lambda one: one.value) for pick in (min, max))
        same = figure(least) == figure(most)
        said += f", {'each ' if same else ''}{figure(least)}" + ("" if same else f" to {figure(most)}")
        said += f" {least.unit}" if least.unit else ""
    else:
        words = list(dict.fromkeys(figure(one) for one in members))
        said += f": {', '.join(words[:FEW])}" + (f" and {len(words) - FEW} more" if len(words) > FEW else "")
    lacking = sum(one.value is None for one in members)
    return Line((f"  {pattern}",), said + (f"; {lacking} {NOT_RESOLVED}" if lacking else ""))


def _line(reading: Reading) -> Line:
    name = f"  {reading.id}"
    n = f"{reading.aspects['n']:,d}" if "n" in reading.aspects else ""
    if reading.value is None:
        return Line((name,), f"{NOT_RESOLVED}: {reading.reason}")
    value = figure(reading)
    if len(value) > LONG_TEXT:
        return Line((name,), " ".join(filter(None, [value, reading.unit])))
    return Line((name, value, interval(reading), n, reading.unit))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
