"""A plan as a person reads it before the first row: what it compiles to, and what it can decide."""

from campaign.analysis.characteristics import Characteristics
from campaign.analysis.constants import Fixed, fixed
from campaign.analysis.rule import declarations, guards, rule_digest
from campaign.engine.plan import Band, Plan
from campaign.notes.tables import table


def plan_text(plan: Plan) -> str:
    """What runs, and the rule that the plan compiles to."""
    known = fixed(plan)
    lines = [f"question: {plan.question.text} ({plan.question.author})"] if plan.question else []
    if plan.rows:
        lines += [f"rows: {', '.join(plan.rows.order)}; {plan.rows.draws} draws each; {_looks(plan)}", _void(plan)]
    for name, arm in plan.arms.items():
        if arm.earlier:
            loose = "; no source: nothing fixes which rows these are"
            source = (
                f"; {arm.source.arm} of {arm.source.part}, sha256 {arm.source.sha256[:12]}" if arm.source else loose
            )
            lines.append(f"yardstick: {name}: {arm.label} ({arm.earlier}){source}")
    if plan.matching:
        slopes = ", ".join(f"{name} {known[constant]:g}" for name, constant in plan.matching.slopes.items())
        lines.append(f"matched at {known[plan.matching.at]:g} tokens per verify step along {slopes} ms per token")
    if plan.saving:
        pair = f"{plan.saving.arm} against {plan.saving.against}"
        lines.append(f"saving: {pair}" + (f", same day {plan.saving.same_day}" if plan.saving.same_day else ""))
    if plan.verdict:
        lines.append(f"decides: {plan.verdict.reading}: {'; '.join(_band(band, known) for band in plan.verdict.bands)}")
        order = [*plan.verdict.negative, *plan.verdict.precedence]
        stands = f"no guard hides {', '.join(plan.verdict.negative)}" if plan.verdict.negative else "a guard hides any"
        lines.append(f"precedence: incomplete, {', '.join(order)}, then the band; {stands}")
        for guard, when in guards(plan):
            limit = f" ({guard.limit} = {known[guard.limit]:g})" if guard.limit else ""
            lines.append(f"guard: {guard.name}: {guard.verdict} when {when}{limit}")
    for lever in plan.lever:
        lines.append(f"lever: {lever.label}: kept when its {lever.keep} reaches {known[lever.bar]:g} {lever.unit}")
    lines.append(f"readings: {len(declarations(plan))} declarations; rule sha256 {rule_digest(plan)[:12]}")
    return "\n".join(lines)


def _looks(plan: Plan) -> str:
    assert plan.rows is not None, "the caller has rows"
    if not plan.rows.look_after:
        return "no look before the last row"
    return f"looks after {', '.join(map(str, plan.rows.look_after))} rows, {plan.rows.boundary} boundary"


def _void(plan: Plan) -> str:
    assert plan.rows is not None, "the caller has rows"
    most = f", at most {plan.rows.replace_at_most} of them" if plan.rows.replace_at_most is not None else ""
    return f"void rows: run again {plan.rows.replace}{most}"


def _band(band: Band, known: Fixed) -> str:
    if band.at_least:
        return f"{band.verdict} from {band.at_least} = {known.get(band.at_least)} on"
    if band.above:
        return f"{band.verdict} above {band.above} = {known.get(band.above)}"
    return f"{band.verdict} otherwise"


def power_text(found: Characteristics) -> str:
    """What the plan can decide, before its first row."""
    if found.reason:
        return f"what the plan can decide: not known: {found.reason}"
    rows = []
    for chance in found.chances:
        verdicts = [f"{100 * chance.verdicts.get(word, 0):.1f} %" for word in found.words]
        rows.append((chance.name, f"{chance.saving:g}", *verdicts))
    lines = [
        f"what the plan can decide, with a standard deviation of {found.sd:.3g} between rows ({found.sd_from});",
        f"{found.rows} rows of {found.arm} against {found.reference_rows} of {found.against}",
        "",
        table(("true saving", "ms/step", *found.words), rows, right=tuple(range(1, 2 + len(found.words)))),
        "",
        *found.remarks,
    ]
    return "\n".join(lines)
