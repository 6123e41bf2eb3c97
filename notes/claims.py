"""Claims: words that are printed only while an expression over readings is true of the data."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from campaign.analysis.expressions import Undefined, parse
from campaign.analysis.readings import Readings
from campaign.notes.errors import ClaimError

TRIALS = 400
"""How many other values of its readings a claim is tried with, to see whether any makes it false."""


def claim_holds(expression: str, readings: Readings) -> bool | None:
    """Whether the claim is true of the readings; None where something in it is not resolved."""
    return _truth(expression, lambda name: _values_of(readings, name))


def operands_of(expression: str, readings: Readings) -> list[tuple[str, Any]]:
    """The ids that an expression names, every one that a pattern fits, with their values."""
    return [(name, readings[name].value) for said in parse(expression).ids for name in _names(readings, said)]


def check_claim(expression: str, readings: Readings) -> None:
    """Refuse a claim that no data could make false.

    It must name a reading that is computed from data, and be false for some other values of these readings:
    `saving == saving` and `saving > bar or True` are not claims.
    """
    computed = [name for name, _ in operands_of(expression, readings) if readings[name].role == "reading"]
    if not computed:
        raise ClaimError(
            f"claim {expression!r}: names no reading that is computed from data, so nothing could make it false; "
            "expected at least one. Write the word as plain text, or claim something that the data decide."
        )
    if not _can_be_false(expression, readings):
        raise ClaimError(
            f"claim {expression!r}: true for {TRIALS} other values of {', '.join(computed)}, so no data could make it "
            "false; expected one that they decide. Compare a reading with a bar or with another reading."
        )


def _can_be_false(expression: str, readings: Readings) -> bool:
    operands = operands_of(expression, readings)
    if any(value is None for _, value in operands):
        return True  # not resolved: neither word is printed
    numbers = [float(value) for _, value in operands if isinstance(value, int | float)]
    texts = [value for _, value in operands if isinstance(value, str)]
    # Values around and beyond those of the operands: near ones decide equalities, far ones decide bars.
    candidates = [0.0, 1.0, -1.0, 1e6, -1e6, *numbers, *(n + d for n in numbers for d in (-1e-3, 1e-3))]
    chosen = random.Random(0)
    for _ in range(TRIALS):
        tried = {name: _other(value, candidates, texts, chosen) for name, value in operands}
        size = chosen.random()

        def lookup(name: str, tried: dict[str, Any] = tried, size: float = size) -> Any:
            names = _names(readings, name)
            found = [tried[one] if readings[one].role == "reading" else readings[one].value for one in names]
            # With other data a family may have fewer members.
            return np.array(found[: 1 + int(size * len(found))]) if "*" in name else found[0]

        if _truth(expression, lookup) is False:
            return True
    return False


def _other(value: Any, candidates: list[float], texts: list[str], chosen: random.Random) -> Any:
    if isinstance(value, str):
        return chosen.choice([*texts, "another word"])
    return chosen.choice(candidates)


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
