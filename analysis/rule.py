"""The rule that a plan compiles to: the readings that its saving, guards and levers stand for, and what trips a guard.

A plan that says [saving] need not write out how a saving, a drift or a guard is computed: these are always computed in
the same way, under the same ids. What a plan declares under [[reading]] comes after them and can use them.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from campaign.analysis.kinds import slug
from campaign.engine.plan import Guard, Lever, Plan, Saving

Declaration = dict[str, Any]

SERVED = "outcome != 'infrastructure error'"
"""Runs that were graded: an infrastructure error is no failed task."""


def declarations(plan: Plan) -> list[Declaration]:
    """Every declaration of a reading: those that the rule stands for, then the plan's own, then the verdict."""
    verdicts = [said for said in plan.reading if said.get("kind") == "verdict"]
    verdict = [{"id": "verdict", "kind": "verdict"}] if plan.saving and plan.verdict and not verdicts else []
    # a lever that names a reading may name one of the plan's own
    named = [said for lever in plan.lever if lever.reading for said in _lever(lever)]
    return [*_generated(plan), *plan.reading, *named, *verdict]


def guards(plan: Plan) -> list[tuple[Guard, str]]:
    """Each guard of the verdict with the condition under which it trips."""
    return [(guard, condition(plan, guard)) for guard in (plan.verdict.guards if plan.verdict else [])]


def condition(plan: Plan, guard: Guard) -> str:
    """The expression under which `guard` trips."""
    if guard.kind is None:
        return guard.when
    assert plan.saving is not None, "the plan was checked: a guard of a kind has [saving]"
    arm, against = slug(plan.saving.arm), slug(plan.saving.against)
    return {
        "agentic failures": f"agentic.{arm}.failed > {guard.limit or 0}",
        "passes": f"passes.{arm}.graded <= {guard.limit}",
        "drift": f"drift.most > {guard.limit}",
        "power share": f"power.spread > {guard.limit}",
        "completeness": f"completeness.{arm} < {guard.limit}",
        # the means, not their difference with an interval: where no row varies there is none, and yet they are equal
        "tokens per step": f"abs(tps.{arm} - tps.{against}) > {guard.limit}",
    }[guard.kind]


def rule_digest(plan: Plan) -> str:
    """sha256 of the rule as it is compiled: changes when the plan, or how this program reads it, changes the verdict.

    It covers the verdict with its bands, guards and precedence, every declaration and constant that these are computed
    from, matching, and the rows. Readings that nothing decides on are not part of it.
    """
    used, verdict = _deciding(plan), plan.verdict
    said = {
        "declarations": [one for one in declarations(plan) if one.get("id") in used],
        "constants": {name: constant.value for name, constant in plan.constants.items() if name in used},
        "verdict": verdict.model_dump(include={"reading", "bands", "negative", "precedence"}) if verdict else "",
        "guards": [(text, guard.verdict) for guard, text in guards(plan)],
        "matching": plan.matching.model_dump(exclude_defaults=True) if plan.matching else "",
        "rows": plan.rows.model_dump(exclude_defaults=True) if plan.rows else "",
    }
    text = json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


_ID = re.compile(r"[A-Za-z_]\w*(?:\.(?:\w+|\*))*")


def _deciding(plan: Plan) -> set[str]:
    """The ids of the declarations and constants that the verdict is computed from."""
    if plan.verdict is None:
        return set()
    known = {str(one.get("id")): one for one in declarations(plan)} | {name: {} for name in plan.constants}
    texts = [plan.verdict.reading, *(text for _, text in guards(plan))]
    texts += [band.at_least or band.above or "" for band in plan.verdict.bands]
    texts += [plan.matching.at, *plan.matching.slopes.values()] if plan.matching else []
    texts += ["interval.level", f"{MATCHING}.mismatches"]
    found: set[str] = set()
    while texts:
        for name in _named(texts.pop(), known) - found:
            found.add(name)
            texts += texts_in(known[name])
    return found


def _named(text: str, known: Mapping[str, Declaration]) -> set[str]:
    """The known ids that a text names: as they are, by an aspect, as a member of a family, or by a pattern."""
    return {name for word in _ID.findall(text) for name in known if _fits(word, name)}


def _fits(word: str, name: str) -> bool:
    """Whether `word` of an expression can mean the declaration `name`."""
    if "*" in word:
        steps = re.escape(word).replace(r"\*", r"[\w{}]+")
        more = r"(\.[\w{}]+)*" if word.endswith(".*") else ""  # there the star stands for several parts
        return re.fullmatch(steps + more, name) is not None
    member = re.sub(r"\\\{[^{}]*\\\}", r"\\w+", re.escape(name))
    return re.fullmatch(rf"{member}(\.\w+)?", word) is not None


def declares(declared: str, name: str) -> bool:
    """Whether a declaration's id is `name`, or a family that has it as a member."""
    return member_of(declared, name) is not None


def member_of(declared: str, name: str) -> dict[str, str] | None:
    """What stands in `name` for each brace of a declaration's id; None where it is neither that id nor a member."""
    columns, members = _members_of(declared)
    found = members.fullmatch(name)
    return dict(zip(columns, found.groups(), strict=True)) if found else None


@lru_cache(maxsize=4096)
def _members_of(declared: str) -> tuple[tuple[str, ...], re.Pattern[str]]:
    """What stands in the braces of a declaration's id, in their order, and the ids that it gives."""
    pieces = re.split(r"\{([^{}]*)\}", declared)
    # what is made for each of other readings may take several parts over from their ids
    members = (r"([\w.]+)" if brace == "0" else r"(\w+)" for brace in pieces[1::2])
    pattern = "".join(re.escape(piece) + next(members, "") for piece in pieces[::2])
    return tuple(pieces[1::2]), re.compile(pattern)


def texts_in(value: Any) -> list[str]:
    """Every text in a declaration."""
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in texts_in(inner)]
    if isinstance(value, list | tuple):
        return [text for inner in value for text in texts_in(inner)]
    return [value] if isinstance(value, str) else []


def _generated(plan: Plan) -> Iterator[Declaration]:
    if plan.matching and plan.matching.certificate:
        yield from _certificate(MATCHING, plan.matching.certificate)
    if plan.saving:
        yield from _savings(plan, plan.saving)
        yield from _balance(plan, plan.saving)
        if "tasks" in plan.tables:
            yield from _quality(plan, plan.saving)
        if "power" in plan.tables and plan.power:
            yield from _power_share()
        yield from _task_time(plan, plan.saving)
    for lever in plan.lever:
        if not lever.reading:
            yield from _lever(lever)


MATCHING = "matching"
"""Whose certificate says whether tokens per step may be matched: `matching.calls`, `matching.mismatches`."""


def _certificate(stem: str, where: str) -> Iterator[Declaration]:
    """R11: how many calls and rows were compared byte for byte, how many differ, and what that bounds."""
    table = {"table": "equality", "where": where}
    yield {"id": f"{stem}.calls", "kind": "stat", **table, "stat": "count", "unit": "calls", "print": ",d"}
    for name, column in (("rows", "rows"), ("mismatches", "mismatched_rows")):
        shape = {"stat": "sum", "unit": "rows", "print": ",d"}
        yield {"id": f"{stem}.{name}", "kind": "stat", **table, "column": column, **shape}
    yield {
        "id": f"{stem}.bound",
        "kind": "proportion",
        **table,
        "column": "mismatched_rows > 0",
        "method": "upper bound",
        "scale": 100,
        "unit": "%",
        "print": ".2f",
    }


def _slopes(plan: Plan) -> list[str]:
    """The names of the slopes; one empty name where nothing is matched."""
    return list(plan.matching.slopes) if plan.matching else [""]


def saving_ids(plan: Plan) -> list[str]:
    """The ids of the savings along each slope, which decide together."""
    return [_id("saving", slope) for slope in _slopes(plan)]


def _id(stem: str, slope: str) -> str:
    return f"{stem}.{slope or 'unmatched'}"


def _column(slope: str) -> str:
    return f"matched_{slope}" if slope else "step_ms"


def _savings(plan: Plan, said: Saving) -> Iterator[Declaration]:
    """R1 to R6: savings over every slope, the worst of them, the same day's, the drift, the count."""
    shape = {"unit": said.unit, "print": said.print}
    slopes = _slopes(plan)
    pair = {"arm": said.arm, "against": said.against}
    for slope in dict.fromkeys([*slopes, ""]):
        yield {"id": _id("saving", slope), "kind": "saving", **pair, "slope": slope, **shape}
    ids = saving_ids(plan)
    for name, figure in (("lower", "min({lo})"), ("upper", "min({hi})"), ("least", "min({value})")):
        ends = {key: ", ".join(f"{one}{tail}" for one in ids) for key, tail in _TAILS.items()}
        yield {"id": f"saving.{name}", "kind": "expr", "expr": figure.format(**ends), **shape}
    for slope in slopes:
        share = {"column": _column(slope), "unit": "%", "print": ".1f"}
        yield {"id": _id("saving.relative", slope), "kind": "relative", **pair, **share}
    if said.same_day:
        for slope in slopes:
            yield {
                "id": _id("saving.same_day", slope),
                "kind": "saving",
                "arm": said.arm,
                "against": said.same_day,
                "slope": slope,
                **shape,
            }
        drifting = {"arm": said.same_day, "against": said.against}
        for slope in slopes:
            yield {"id": _id("drift", slope), "kind": "drift", **drifting, "slope": slope, **shape}
        drifts = ", ".join(f"abs({_id('drift', slope)})" for slope in slopes)
        yield {"id": "drift.most", "kind": "expr", "expr": f"max({drifts})", **shape}
        if said.margin:
            for slope in slopes:
                yield {
                    "id": _id("drift.equal", slope),
                    "kind": "equivalence",
                    **drifting,
                    "column": _column(slope),
                    "margin": said.margin,
                    "print": ".3f",
                }
            ps = ", ".join(_id("drift.equal", slope) for slope in slopes)
            # of the test, which at a look is not the plan's: its interval has the level 1 − 2α
            alpha = f"(1 - {_id('drift.equal', slopes[0])}.level / 100) / 2"
            yield {
                "id": "drift.word",
                "kind": "choice",
                "cases": [
                    {"when": f"max({ps}) < {alpha}", "word": "equal"},
                    {"word": "not told apart"},
                ],
            }
    if said.count:
        keeps = f"saving.upper >= {said.count}"
        yield {
            "id": "count.rule",
            "kind": "choice",
            "cases": [{"when": keeps, "word": "kept"}, {"word": "recounted"}],
        }
        yield {
            "id": "count.value",
            "kind": "expr",
            "expr": f"count({keeps}) * {said.count} + count(saving.upper < {said.count}) * max(saving.least, 0)",
            **shape,
        }


_TAILS = {"lo": ".lo", "hi": ".hi", "value": ""}


def _each_arm(plan: Plan) -> Iterator[tuple[str, str]]:
    """Each arm as a part of an id, and the condition for its records: an arm without any is not resolved, and told."""
    for arm in plan.arms:
        quote = '"' if "'" in arm else "'"
        yield slug(arm), f"arm == {quote}{arm}{quote}"


def _balance(plan: Plan, said: Saving) -> Iterator[Declaration]:
    """R7: tokens per step of each arm, and what their difference could move the saving by at most."""
    for arm, where in _each_arm(plan):
        yield {"id": f"rows.{arm}.n", "kind": "stat", "table": "row_values", "where": where, "stat": "count"}
    for arm, where in _each_arm(plan):
        yield {
            "id": f"tps.{arm}",
            "kind": "stat",
            "table": "row_values",
            "where": where,
            "column": "tokens_per_step",
            "stat": "mean",
            "unit": "tokens/verify step",
            "print": ".3f",
        }
    yield {
        "id": "tps.balance",
        "kind": "difference",
        "arm": said.arm,
        "against": said.against,
        "column": "tokens_per_step",
        "unit": "tokens/verify step",
        "print": ".3f",
    }
    if plan.matching:
        slopes = ", ".join(f"abs({constant})" for constant in plan.matching.slopes.values())
        yield {
            "id": "tps.bias",
            "kind": "expr",
            "expr": f"max({slopes}) * abs(tps.balance)",
            "unit": said.unit,
            "print": said.print,
        }


def _quality(plan: Plan, said: Saving) -> Iterator[Declaration]:
    """R8 and R9: failures of agentic tasks, passes a draw, pass rates of each task, what was not graded."""
    in_percent = {"kind": "proportion", "table": "tasks", "scale": 100, "unit": "%", "print": ".1f"}
    for arm, where in _each_arm(plan):
        # both need graded runs: where there are none, none failed and none was seen not to fail
        graded = f"kind == 'agentic' and {SERVED} and {where}"
        failed = {"where": graded, "column": "outcome == 'fail'"}
        yield {"id": f"agentic.{arm}", **in_percent, **failed, "method": "upper bound"}
        yield {
            "id": f"agentic.{arm}.failed",
            "kind": "stat",
            "table": "tasks",
            **failed,
            "stat": "sum",
            "unit": "runs",
        }
    for arm, where in _each_arm(plan):
        yield {
            "id": f"passes.{arm}",
            "kind": "stat",
            "table": "draws",
            "where": where,
            "column": "passes",
            "stat": "mean",
            "unit": "tasks/draw",
            "print": ".2f",
        }
    yield {
        "id": "quality.{task}.{arm}",
        "kind": "proportion",
        "table": "tasks",
        "where": SERVED,
        "each": ["task", "arm"],
        "column": "outcome == 'pass'",
        "unit": "share",
        "print": ".2f",
    }
    yield {
        "id": "quality.p.{task}",
        "kind": "fisher",
        "table": "tasks",
        "where": SERVED,
        "arm": said.arm,
        "against": said.against,
        "each": ["task"],
        "column": "outcome == 'pass'",
        "print": ".3f",
    }
    for arm, where in _each_arm(plan):
        yield {"id": f"completeness.{arm}", **in_percent, "where": where, "column": SERVED}
        # what a draw passes where all of its tasks are graded: an infrastructure error is no failed task
        graded = f"100 * passes.{arm} / completeness.{arm}"
        yield {"id": f"passes.{arm}.graded", "kind": "expr", "expr": graded, "unit": "tasks/draw", "print": ".2f"}


def _power_share() -> Iterator[Declaration]:
    """R10: the share of busy samples under the power cap, row by row, and how far the rows lie apart."""
    share = {"kind": "stat", "table": "row_values", "column": "power_share", "scale": 100, "print": ".0f"}
    yield {"id": "power.share.{row}", **share, "each": ["row"], "stat": "value", "unit": "%"}
    yield {"id": "power.spread", **share, "stat": "spread", "unit": "percentage points"}


def _task_time(plan: Plan, said: Saving) -> Iterator[Declaration]:
    """R13 and R14: the time of a draw, what the count implies for it, and whether rows could show it."""
    shape = {"unit": "s/draw", "print": ".2f"}
    mean = {"kind": "stat", "table": "row_values", "stat": "mean"}
    for arm, where in _each_arm(plan):
        yield {"id": f"time.{arm}", **mean, "where": where, "column": "model_time_s", **shape}
    yield {
        "id": "time.gap",
        "kind": "difference",
        "arm": said.against,
        "against": said.arm,
        "column": "model_time_s",
        **shape,
    }
    yield {
        "id": "time.verdict",
        "kind": "choice",
        "cases": [{"when": "time.gap.lo > 0 or time.gap.hi < 0", "word": "resolved"}, {"word": "not resolved"}],
    }
    if said.count:
        steps_shape = {"unit": "verify steps/draw", "print": ",.0f"}
        for arm, where in _each_arm(plan):
            yield {"id": f"steps.{arm}", **mean, "where": where, "column": "verify_steps", **steps_shape}
        steps = f"steps.{slug(said.against)}"
        yield {"id": "time.implied", "kind": "expr", "expr": f"{said.count} * {steps} / 1000", **shape}
        for end in ("lower", "upper"):
            yield {"id": f"time.implied.{end}", "kind": "expr", "expr": f"saving.{end} * {steps} / 1000", **shape}
        yield {
            "id": "time.rows_needed",
            "kind": "rows_needed",
            "of": "time.gap",
            "half_width": "time.implied",
            "against": f"rows.{slug(said.against)}.n",
            "unit": "rows",
            "print": ",d",
        }


def saving_of(lever: Lever) -> str:
    """The id of the reading that holds what a lever saves."""
    return lever.reading or f"{lever.id}.saving"


def _lever(lever: Lever) -> Iterator[Declaration]:
    """R12: what a lever saves, and whether it reaches the bar that was written before it ran."""
    shape = {"unit": lever.unit, "print": lever.print}
    saving = saving_of(lever)
    if not lever.reading:
        yield {
            "id": saving,
            "kind": "paired",
            "table": lever.table,
            "where": lever.where,
            "value": lever.value,
            "variants": lever.variants,
            "autocorrelated": lever.autocorrelated,
            **shape,
        }
    reached = f"{saving}.lo" if lever.keep == "lower end" else saving
    cases = [{"when": f"{reached} >= {lever.bar}", "word": "kept"}, {"word": "parked"}]
    if lever.certificate:
        yield from _certificate(lever.id, lever.certificate)
        cases.insert(0, {"when": f"{lever.id}.mismatches > 0", "word": "failed"})
    yield {"id": f"{lever.id}.outcome", "kind": "choice", "cases": cases}
