"""The table of readings that a person reads in a terminal."""

from campaign.analysis.readings import Reading
from campaign.notes.quote import NOT_RESOLVED, print_reading
from campaign.notes.sources import Sources
from campaign.notes.tables import table

FAMILY = 12
"""A family with more members than this is shown by its first ones, unless all are asked for."""


def readout(sources: Sources, *, everything: bool = False) -> str:
    """Every constant, reading and fact: value as printed, interval, n, unit, what gives it, warnings."""
    names = [*sources.computed, *sources.facts.facts]
    shown, hidden = (names, 0) if everything else _without_long_families(names)
    rows = [_row(sources.readings[name]) for name in shown]
    text = table(("reading", "value", "interval", "n", "unit", "from", "warnings"), rows, right=(1, 3))
    return text + (f"\n… and {hidden} more of the same families: --all shows them" if hidden else "")


def _without_long_families(names: list[str]) -> tuple[list[str], int]:
    """The names without the later members of long families, and how many were left out."""
    sizes: dict[str, int] = {}
    kept = []
    for name in names:
        stem = name.split(".")[0]
        sizes[stem] = sizes.get(stem, 0) + 1
        if sizes[stem] <= FAMILY:
            kept.append(name)
    return kept, len(names) - len(kept)


def _row(reading: Reading) -> tuple[str, str, str, str, str, str, str]:
    lo, hi = reading.aspects.get("lo"), reading.aspects.get("hi")
    interval = ""
    if lo is not None and hi is not None:
        low, high = (_printed(Reading("end", end, print=reading.print)) for end in (lo, hi))
        interval = f"[{low}, {high}]"
        interval += f" {reading.aspects['level']:g} %" if "level" in reading.aspects else " over runs"
    n = str(reading.aspects["n"]) if "n" in reading.aspects else ""
    origin = {"constant": "plan", "fact": "facts"}.get(reading.role, "data")
    if reading.value is None:
        return reading.id, NOT_RESOLVED, "", n, reading.unit, origin, reading.reason
    return reading.id, _printed(reading), interval, n, reading.unit, origin, "; ".join(reading.warnings)


def _printed(reading: Reading) -> str:
    """The value in its format; a number without one with six significant digits."""
    if reading.print or isinstance(reading.value, str | int):
        return print_reading(reading)
    return f"{reading.value:.6g}".replace("-", "−")
