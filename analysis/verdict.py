"""The verdict: bands on the deciding reading, then the guards. Guards block positive verdicts only."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from campaign.analysis.expressions import Undefined, parse
from campaign.analysis.rule import guards
from campaign.engine.plan import Plan


@dataclass(frozen=True)
class Decision:
    """The verdict's word and how it came about."""

    word: str
    band: str
    tripped: tuple[str, ...]
    """Names of the guards that tripped."""
    not_run: tuple[str, ...]
    """Guards that could not be evaluated, with the reason: never a pass."""


def decide(plan: Plan, lookup: Callable[[str], Any]) -> Decision:
    """The plan's verdict for the readings that `lookup` gives.

    A band that is negative (rolled back) stands whatever the guards say; then the word of the guards that tripped,
    in the plan's precedence: held before confounded, unless it says otherwise.

    Undefined where the deciding reading or a bound has no value, and where a verdict
    would be positive though a guard could not run: what was not checked has not passed.
    """
    rule = plan.verdict
    if rule is None:
        raise Undefined("the plan has no verdict")
    value = parse(rule.reading).value(lookup)
    # every band is asked, so that a bound without a value is seen wherever it stands
    covering = [band for band in rule.bands if _covers(band, rule.reading, lookup)]
    band = next(iter(covering), None)
    if band is None:
        raise Undefined(f"no band covers {rule.reading} = {value!r}")
    tripped: list[str] = []
    not_run: list[str] = []
    words: list[str] = []
    for guard, when in guards(plan):
        try:
            if parse(when).truth(lookup):
                tripped.append(guard.name)
                words.append(guard.verdict)
        except Undefined as why:
            not_run.append(f"{guard.name}: not run: {why}")
    word = band.verdict
    if word not in rule.negative:
        if not_run and not words:
            raise Undefined(f"{word}, were it not that a guard could not run: {'; '.join(not_run)}")
        # a guard that tripped stands though the precedence does not name its word
        word = next((said for said in (*rule.precedence, *words) if said in words), word)
    return Decision(word, band.verdict, tuple(tripped), tuple(not_run))


def _covers(band: Any, reading: str, lookup: Callable[[str], Any]) -> bool:
    conditions = []
    if band.at_least is not None:
        conditions.append(f"{reading} >= {band.at_least}")
    if band.above is not None:
        conditions.append(f"{reading} > {band.above}")
    return all(parse(condition).truth(lookup) for condition in conditions)
