"""Claims: words that are printed only while an expression over readings is true of the data."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from campaign.analysis.errors import ReadingError
from campaign.analysis.expressions import Undefined, parse
from campaign.analysis.readings import Readings
from campaign.analysis.worlds import named, other_world
from campaign.notes.errors import ClaimError

WORD_FACT = (
    'quote a fact that is the word, {{ q("…") }}: in facts.toml its value is the word, and its source says who '
    "states it"
)
"""What binds a comparing word that no computed reading stands behind; begins with a small letter."""
MOST_NAMED = 6
"""How many ids a message names."""


def claim_holds(expression: str, readings: Readings) -> bool | None:
    """Whether the claim is true of the readings; None where something in it is not resolved."""
    return _truth(expression, lambda name: _values_of(readings, name))


def operands_of(expression: str, readings: Readings) -> list[tuple[str, Any]]:
    """The ids that an expression names, every one that a pattern fits, with their values."""
    return [(name, readings[name].value) for name in named(parse(expression), readings)]


def check_claim(expression: str, readings: Readings) -> None:
    """Refuse a claim that no data could make false, or that no data could make true.

    It must name a reading that is computed from data, and be false for some values that these readings could have:
    `saving == saving`, `saving.lo <= saving` and `saving > bar or True` are not claims.
    """
    why = weakness(expression, readings)
    if why:
        raise ClaimError(f"claim {expression!r}: {why}")


def weakness(expression: str, readings: Readings) -> str:
    """Why the data do not decide a claim, and what to do; empty where they do.

    What is known of readings is kept to: what is computed from other readings follows them, an interval encloses its
    value, a count is whole and not below zero. A claim over something that is not resolved is not judged.
    """
    key = "weakness", expression
    if key not in readings.memo:
        readings.memo[key] = _weakness(expression, readings)
    return readings.memo[key]


def _weakness(expression: str, readings: Readings) -> str:
    operands = operands_of(expression, readings)
    computed = [name for name, _ in operands if readings[name].role == "reading"]
    if not computed:
        return (
            "names no reading that is computed from data, so nothing could make it false; "
            f"expected at least one. Claim something that the data decide; where no data do, {WORD_FACT}."
        )
    holds = claim_holds(expression, readings)
    if holds is None or other_world(parse(expression), readings, not holds) is not None:
        return ""
    never, always = ("false", "true") if holds else ("true", "false")
    return (
        f"{always} for all values that {', '.join(_shortened(computed))} could have, so no data could make it {never}; "
        "expected one that they decide. Compare a reading with a bar or with another reading."
    )


def weak_claims(places: Sequence["Claimed"], readings: Readings) -> list[tuple[int, str]]:
    """Index and reason of each place whose claim the data do not decide, or whose word is the same either way.

    Places that claim nothing are passed over, and so are those that name a reading which is gone.
    """
    reasons: dict[str, str] = {}
    found = []
    for index, place in enumerate(places):
        if place.kind != "claim":
            continue
        if place.source not in reasons:
            try:
                reasons[place.source] = weakness(place.source, readings)
            except ReadingError:
                reasons[place.source] = ""  # the comparison with the text tells of it
        why = reasons[place.source]
        if not why and place.word and place.word == place.otherwise:
            why = (
                f"says {place.word!r} whether it is true or not; expected two words, or one and none. Give the word "
                f"for the other case; where no data decide it, {WORD_FACT}."
            )
        if why:
            found.append((index, why))
    return found


def typed_numbers(places: Sequence["Claimed"]) -> list[tuple[int, str]]:
    """Index and reason of each place whose claim compares with a number that comes from nothing."""
    found = []
    for index, place in enumerate(places):
        numbers = _typed(place.source) if place.kind == "claim" else ()
        if numbers:
            said = ", ".join(numbers)
            found.append(
                (
                    index,
                    f"compares with {said}, which nothing declares; expected the id of a constant. Declare "
                    f'[constants."…"] with value = {numbers[0]} and because in the plan, and name it in the claim.',
                )
            )
    return found


class Claimed(Protocol):
    """What is asked of a place: a claim's expression and its words."""

    @property
    def kind(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def word(self) -> str: ...
    @property
    def otherwise(self) -> str: ...


def _typed(expression: str) -> tuple[str, ...]:
    try:
        return parse(expression).typed_numbers()
    except ReadingError:
        return ()


def _shortened(names: list[str]) -> list[str]:
    return names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]


def _truth(expression: str, lookup: Callable[[str], Any]) -> bool | None:
    try:
        found = parse(expression).value(lookup)
    except Undefined:
        return None
    if np.ndim(found):
        raise ClaimError(
            f"claim {expression!r}: gives {np.size(found)} answers; expected one. Put all(…) or any(…) around it."
        )
    return bool(found)


def _names(readings: Readings, name: str) -> list[str]:
    return readings.matching(name) if "*" in name else [name]


def _values_of(readings: Readings, name: str) -> Any:
    found = [readings[one].value for one in _names(readings, name)]
    if None in found:
        raise Undefined(f"{name} is not resolved")
    return np.array(found) if "*" in name else found[0]
