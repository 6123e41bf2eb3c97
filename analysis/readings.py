"""Readings: named numbers (or words) with unit, interval, count, formula, operands and warnings."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from campaign.analysis.errors import ReadingError, UnknownReading
from campaign.kernels.errors import nearest

Value = int | float | str | None

ASPECTS = ("lo", "hi", "se", "sd", "df", "n", "level")
"""What a reading may carry beside its value, quoted as `saving.low.lo`."""


@dataclass(frozen=True)
class Reading:
    """A named number computed from the data."""

    id: str
    value: Value
    """None where it cannot be computed; `reason` says why."""
    unit: str = ""
    print: str = ""
    """The format in which it is printed where a quote names none."""
    aspects: Mapping[str, float] = field(default_factory=dict)
    """Interval ends (lo, hi) and the level reached, standard error, pooled standard deviation, degrees of
    freedom, count n: those that the reading has."""
    formula: str = ""
    operands: tuple[tuple[str, Value], ...] = ()
    """Ids (or names of records) that it was computed from, with their values."""
    warnings: tuple[str, ...] = ()
    reason: str = ""
    """Why there is no value."""
    role: str = "reading"
    """reading, constant or fact."""
    because: str = ""
    """Where a constant or fact comes from."""

    def to_json(self) -> dict[str, Any]:
        """As readings.json holds it; what is empty is left out."""
        said = {
            "id": self.id,
            "value": self.value,
            "unit": self.unit,
            "print": self.print,
            **self.aspects,
            "formula": self.formula,
            "operands": dict(self.operands),
            "warnings": list(self.warnings),
            "reason": self.reason,
            "because": self.because,
        }
        return {key: value for key, value in said.items() if value not in ("", [], {}) or key == "value"}


class Readings(Mapping[str, Reading]):
    """All readings, constants and facts of a part, by id, in the order of their declaration."""

    def __init__(
        self,
        readings: Mapping[str, Reading],
        where: str,
        pending: Mapping[str, str] | None = None,
        decimal: str = ".",
    ) -> None:
        """`pending` holds the ids of families (`row.{row}`) whose members are still to come, with the reason.

        `decimal` is the mark before the decimals in prose: a point or a comma.
        """
        self._readings = dict(readings)
        self._where = where
        self.pending = dict(pending or {})
        self.decimal = decimal
        self.memo: dict[Any, Any] = {}
        """What was worked out from these readings before; they never change."""

    def __getitem__(self, name: str) -> Reading:
        """The reading `name`; `saving.low.lo` is the lower end of `saving.low` as a reading of its own."""
        if name in self._readings:
            return self._readings[name]
        base, _, aspect = name.rpartition(".")
        if base in self._readings and aspect in ASPECTS:
            return self._aspect(self._readings[base], aspect)
        for family, reason in self.pending.items():
            if re.fullmatch(re.sub(r"\\\{[^{}]*\\\}", r"\\w+", re.escape(family)), name):
                return Reading(name, None, reason=reason)
        raise UnknownReading(
            f"{self._where}: there is no reading {name!r}; expected one that the part's plan or facts declare."
            f"{nearest(name, self._readings)} `notes read` lists them."
        )

    @staticmethod
    def _aspect(reading: Reading, aspect: str) -> Reading:
        name = f"{reading.id}.{aspect}"
        if reading.value is not None and aspect not in reading.aspects:
            have = ", ".join(reading.aspects) or "none"
            raise ReadingError(f"reading {reading.id} has no {aspect}; expected one of: {have}. Quote one of these.")
        unit = {"n": "", "df": "", "level": "%"}.get(aspect, reading.unit)
        return Reading(
            name,
            reading.aspects.get(aspect),
            unit,
            reading.print if unit == reading.unit else "",
            formula=f"{aspect} of {reading.id}: {reading.formula}",
            operands=reading.operands,
            warnings=reading.warnings,
            reason=reading.reason,
            role=reading.role,
        )

    def get(self, name: str, default: Any = None) -> Any:
        """The reading `name`, or `default` where nothing declares it."""
        try:
            return self[name]
        except UnknownReading:
            return default

    def __contains__(self, name: object) -> bool:
        base, _, aspect = str(name).rpartition(".")
        return name in self._readings or (
            aspect in ASPECTS and base in self._readings and aspect in self._readings[base].aspects
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._readings)

    def __len__(self) -> int:
        return len(self._readings)

    def matching(self, pattern: str) -> list[str]:
        """The ids that `pattern` fits, in declaration order; `*` stands for one part of an id."""
        if ("matching", pattern) not in self.memo:
            self.memo["matching", pattern] = tuple(match_ids(pattern, self._readings))
        return list(self.memo["matching", pattern])


def match_ids(pattern: str, ids: Mapping[str, Any]) -> list[str]:
    """The ids that a pattern such as `hot.*.512` fits; a `*` at the end may stand for several parts."""
    steps = [r"\w+" if step == "*" else re.escape(step) for step in pattern.split(".")]
    if pattern.endswith(".*"):
        steps[-1] = r"\w+(\.\w+)*"
    expression = re.compile(r"\.".join(steps))
    return [name for name in ids if expression.fullmatch(name)]
