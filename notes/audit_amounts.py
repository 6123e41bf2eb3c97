"""Amounts in several units of one kind: milliseconds and minutes, MB and GiB, as what both are multiples of."""

import re
from collections.abc import Sequence

from campaign.notes.audit_page import Number
from campaign.notes.audit_printed import Printed

_TIME = {
    "ns": 1e-9,
    "µs": 1e-6,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
}
_TIME_WORDS = {"nanosecond": "ns", "microsecond": "µs", "millisecond": "ms", "second": "s", "sec": "s"}
_TIME_WORDS |= {"minute": "min", "mins": "min", "hour": "h", "hr": "h", "day": "d", "week": "w"}
_LENGTH = {"nm": 1e-9, "µm": 1e-6, "mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3}
_LENGTH_WORDS = {"metre": "m", "meter": "m", "kilometre": "km", "kilometer": "km"}
_MASS = {"mg": 1e-6, "g": 1e-3, "kg": 1.0}
_PREFIXES = "kMGTPE"
_DATA = re.compile(r"(?:([kKMGTPE])(i?))?([Bb])|([kKMGT])bit")
_POWER = re.compile(r"([mkMG]?)(W|Hz|J|V)")
_POWER_FACTORS = {"m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_MONEY = "$€£¥₹"


def kind_of(number: Number) -> tuple[str, tuple[float, ...]]:
    """What a number measures, and by what its value may be multiplied; ("", (1.0,)) for a plain count.

    A megabyte is a million bytes or 2^20.
    """
    token = number.token
    unit = token.unit or ""
    if token.kind == "duration":
        return "time", (1.0,)
    if token.end != token.noun_end:
        word = unit.lower().split()[-1] if unit else ""
        single = word.removesuffix("s")
        if time := _TIME_WORDS.get(word) or _TIME_WORDS.get(single):
            return "time", (_TIME[time],)
        if length := _LENGTH_WORDS.get(single):
            return "length", (_LENGTH[length],)
        return ("bytes", (1.0,)) if single == "byte" else ("", (1.0,))
    unit = _TIME_WORDS.get(unit, _TIME_WORDS.get(unit.removesuffix("s"), unit))
    for kind, table in (("time", _TIME), ("length", _LENGTH), ("mass", _MASS)):
        if unit in table:
            return kind, (table[unit],)
    if found := _DATA.fullmatch(unit):
        return ("bytes" if found[3] == "B" else "bits"), _data_factors(found[1] or found[4] or "", bool(found[2]))
    if found := _POWER.fullmatch(unit):
        return found[2], (_POWER_FACTORS[found[1]],)
    return unit, (1.0,)


def _data_factors(prefix: str, binary: bool) -> tuple[float, ...]:
    power = 1 + _PREFIXES.index(prefix.replace("K", "k")) if prefix else 0
    return (1024.0**power,) if binary else tuple(dict.fromkeys((1000.0**power, 1024.0**power)))


def in_common(numbers: Sequence[Number], seen: Sequence[Printed]) -> list[tuple[Printed, ...]]:
    """The amounts in one unit, in each way in which that can be read; empty where they measure different things.

    One of money has no other currency; a number without a unit beside others takes theirs.
    """
    kinds = [kind_of(number) for number in numbers]
    named = {kind for kind, _ in kinds if kind}
    if len(named) > 1:
        return []
    if not named or named <= {"%", "pp", "×", *_MONEY}:
        return [tuple(seen)]
    units = {number.token.unit for number, (kind, _) in zip(numbers, kinds, strict=True) if kind}
    if len(units) == 1 and all(number.token.kind != "duration" for number in numbers):
        return [tuple(seen)]
    if any(not kind for kind, _ in kinds):
        return []
    most = max(len(factors) for _, factors in kinds)
    ways = [[factors[min(at, len(factors) - 1)] for _, factors in kinds] for at in range(most)]
    return [
        tuple(one if factor == 1.0 else one.times(factor) for one, factor in zip(seen, way, strict=True))
        for way in ways
    ]


def is_money(unit: str) -> bool:
    """Whether an amount of money is told."""
    return unit[:1] in tuple(_MONEY)
