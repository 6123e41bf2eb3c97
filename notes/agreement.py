"""One reading printed twice must say one thing: in two places of a post, in a fact that restates it, in two parts.

Each number agrees at its own precision: all that is printed for one reading must be roundings of one value. Another
part is read only where this one refers to it: a fact or constant whose source names it, a yardstick taken from it, a
correction that it caused.
"""

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from campaign.analysis.formulas import first_name
from campaign.analysis.readings import Readings
from campaign.analysis.rounding import Printed
from campaign.notes.corrections import read_corrections
from campaign.notes.findings import Finding
from campaign.notes.ledger import Ledger
from campaign.notes.paths import Part
from campaign.notes.post import Post
from campaign.notes.printed_places import PrintedPlace, by_source, printed_number, printed_places
from campaign.notes.sources import Sources
from campaign.notes.toml_places import line_of_table

_PART = re.compile(r"\b[Pp]art[ -](\d+)\b")
_COMPUTED = re.compile(
    r"\b(?:half|third|quarter|tenth|hundredth|twice|double|times|pooled|means?|median|sum|total|rounded|about|around|"
    r"more|less|above|below|over|under|near|like|unlike|not|than|between|least|most|largest|smallest)\b|[×*/+]",
    re.IGNORECASE,
)
"""Words that make of another part's number a new one: what they stand beside restates nothing."""
_KEY = re.compile(r"(?P<file>data/run\.json|plan\.toml): (?P<key>[\w.-]+)(?=$|[;,])")
_CLOSE = 1e-9


def agreement(part: Part, post: Post, ledger: Ledger, sources: Sources) -> Iterator[Finding]:
    """An error for each number that is printed or typed otherwise than the same reading elsewhere."""
    places = by_source(printed_places(post, ledger))
    yield from _in_the_post(part, places, sources.readings)
    yield from _with_files(part, sources)
    yield from _with_parts(part, sources, places)


# ---------------------------------------------------------------- in one post


def _in_the_post(part: Part, places: Mapping[str, list[PrintedPlace]], readings: Readings) -> Iterator[Finding]:
    """Places of one reading, or of two names of it, that no single value can stand behind."""
    together: dict[str, list[PrintedPlace]] = {}
    for name, here in places.items():
        together.setdefault(first_name(name, readings), []).extend(here)
    for name, here in together.items():
        said = [(one, printed) for one in here if (printed := _printed(one.text, name, readings)) is not None]
        if len(said) < 2:
            continue
        finest, most = min(said, key=lambda one: one[1].half)
        for one, printed in said:
            if _meet(printed, most):
                continue
            mend = f"notes build {part.name}, so that both are printed from one value"
            yield _printed_otherwise(part, one, finest.text, name, mend, f"{finest.text} at {finest.where}")


def _printed(text: str, name: str, readings: Readings) -> Printed | None:
    """The number that is printed for the reading `name`; None for other texts."""
    reading = readings.get(name)
    return printed_number(text, reading, readings.decimal) if reading is not None else None


def _meet(one: Printed, other: Printed) -> bool:
    """Whether one value can stand behind both."""
    return abs(one.value - other.value) <= one.half + other.half


# ---------------------------------------------------------------- facts that restate something


def _with_files(part: Part, sources: Sources) -> Iterator[Finding]:
    """Facts whose source names a key of run.json or of the plan that holds another value."""
    for name, fact in sources.facts.facts.items():
        found = _KEY.search(fact.source)
        if not found or isinstance(fact.value, str):
            continue
        plan = part.plan.read_text(encoding="utf-8") if found["file"] == "plan.toml" else ""
        held = _at(tomllib.loads(plan) if plan else sources.data.run, found["key"])
        if isinstance(held, str) and held in sources.plan.constants:
            held = sources.plan.constants[held].value
        is_alike = isinstance(held, date) if isinstance(fact.value, date) else isinstance(held, int | float)
        if is_alike and not _same(fact.value, held):
            yield _typed(part, name, fact.value, held, f"{found['file']}: {found['key']}")


def _at(held: Any, key: str) -> Any:
    """What stands under a dotted key; None where nothing does."""
    for step in key.split("."):
        if not isinstance(held, Mapping) or step not in held:
            return None
        held = held[step]
    return held


def _with_parts(part: Part, sources: Sources, places: Mapping[str, list[PrintedPlace]]) -> Iterator[Finding]:
    """Facts, constants and readings that another part has under the same id with another value."""
    for number, names in _named_parts(part, sources).items():
        other = Part(part.campaign, f"part-{number}")
        if other.name == part.name or not other.folder.is_dir():
            continue
        theirs = _of_part(other)
        for name in names:
            held = theirs.values.get(name)
            if held is not None:
                yield from _restated(part, sources, name, held, other, places.get(name, []))
        if _same_data(sources, theirs, other.name):
            yield from _recomputed(part, sources, theirs, other)


def _named_parts(part: Part, sources: Sources) -> dict[int, list[str]]:
    """Each part that this one refers to, with the facts and constants whose source names it."""
    said = {name: fact.source for name, fact in sources.facts.facts.items()}
    said |= {name: constant.because for name, constant in sources.plan.constants.items()}
    found: dict[int, list[str]] = {}
    for name, source in said.items():
        clauses = [clause for clause in re.split(r"[:;,.]", source) if not _COMPUTED.search(clause)]
        for number in _PART.findall("; ".join(clauses)):
            found.setdefault(int(number), []).append(name)
    sourced = [arm.source.part for arm in sources.plan.arms.values() if arm.source]
    caused = [entry.caused_by for entry in read_corrections(part) if entry.caused_by]
    for name in (*sourced, *caused):
        found.setdefault(int(name.partition("-")[2]), [])
    return found


@dataclass(frozen=True)
class _Held:
    """A number or text that another part has."""

    value: Any
    unit: str = ""
    formula: str = ""
    line: str = ""
    """Where it stands, for people."""


@dataclass(frozen=True)
class _Theirs:
    """What another part says, by id."""

    values: Mapping[str, _Held]
    data: Mapping[str, str]


def _of_part(other: Part) -> _Theirs:
    """The readings, constants and facts of another part, as they lie in its files."""
    shown, shown_facts = other.show(other.readings), other.show(other.facts)
    values: dict[str, _Held] = {}
    data: Mapping[str, str] = {}
    try:
        held = tomllib.loads(other.facts.read_text("utf-8")).get("facts", {}) if other.facts.is_file() else {}
        values |= {name: _Held(one["value"], one.get("unit", ""), "", shown_facts) for name, one in held.items()}
        built: dict[str, Any] = {"readings": [], "data": {}}
        if other.readings.is_file():
            built = json.loads(other.readings.read_bytes())
        for one in built["readings"]:
            values[one["id"]] = _Held(one["value"], one.get("unit", ""), one.get("formula", ""), shown)
        data = dict(built["data"].items())
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # that part's own check tells what is wrong with it
    return _Theirs(values, data)


def _restated(
    part: Part, sources: Sources, name: str, held: _Held, other: Part, here: list[PrintedPlace]
) -> Iterator[Finding]:
    """A fact or constant that another part has under its id: as typed, and as printed in this post."""
    constant = sources.plan.constants.get(name)
    said = constant or sources.facts.facts[name]
    where = f"{name} of {other.title}, {held.line}"
    if said.unit and held.unit and said.unit != held.unit:
        yield _typed(part, name, f"{said.value} {said.unit}", f"{held.value} {held.unit}", where)
        return
    if not _same(said.value, held.value):
        yield _typed(part, name, said.value, held.value, where, also=_rounded_twice(said.value, held.value))
        return
    if not _is_number(held.value):
        return
    for one in here:
        printed = _printed(one.text, name, sources.readings)
        if printed is None or abs(printed.value - Fraction(repr(held.value))) <= printed.half:
            continue
        mend = f"type {name} with all its digits, as {other.title} has it, then notes build {part.name}"
        also = f"typed as {said.value}, which is {held.value} rounded: printed shorter it is rounded twice"
        yield _printed_otherwise(part, one, printed.alike(Fraction(repr(held.value))), where, mend, also)


def _rounded_twice(typed: Any, held: Any) -> tuple[str, ...]:
    """That a typed number is a rounding of a rounding."""
    if not (_is_number(typed) and _is_number(held)):
        return ()
    digits = _digits(typed)
    for between in range(digits + 1, digits + 4):
        once = Printed.read(f"{held:.{between}f}")
        if once is not None and abs(once.value - Fraction(repr(typed))) <= Fraction(1, 2 * 10**digits):
            return (f"{typed} is {float(once.value)} rounded again, which is {held} rounded: round once",)
    return ()


def _same_data(sources: Sources, theirs: _Theirs, name: str) -> bool:
    """Whether both parts are computed from the same files."""
    prefix = f"../{name}/"
    own = {file.removeprefix(prefix): digest for file, digest in sources.data.digests.items()}
    if len(own) < len(sources.data.digests):
        return False  # rows of its own beside those of the other part
    own.pop("data/run.json", None)
    their = {file: digest for file, digest in theirs.data.items() if file != "data/run.json"}
    return bool(own) and own == their


def _recomputed(part: Part, sources: Sources, theirs: _Theirs, other: Part) -> Iterator[Finding]:
    """Readings that both parts compute in the same way from the same data, with two values."""
    for name in sources.computed:
        reading, held = sources.readings[name], theirs.values.get(name)
        if held is None or reading.role != "reading" or not reading.formula or held.formula != reading.formula:
            continue
        if _close(reading.value, held.value):
            continue
        yield Finding(
            "disagree",
            part.show(part.readings),
            1,
            1,
            f"{name} = {reading.value}",
            str(held.value),
            f"{name} of {other.title}, {held.line}, from the same data",
            f"notes build {part.name} and notes check {other.name}, to see which one is stale",
        )


def _printed_otherwise(part: Part, one: PrintedPlace, expected: str, source: str, mend: str, also: str) -> Finding:
    """The finding at a place that prints another number than another place or part."""
    path = part.show(part.post)
    return Finding(
        "disagree", path, one.line, one.column, one.text, expected, source, mend, length=len(one.text), also=(also,)
    )


def _typed(part: Part, name: str, said: Any, expected: Any, source: str, also: tuple[str, ...] = ()) -> Finding:
    """The finding at the line on which a fact or constant is typed."""
    for path, table in ((part.facts, "facts"), (part.plan, "constants")):
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        line = line_of_table(text, table, name)
        if line > 1:
            return Finding(
                "disagree", part.show(path), line, 1, str(said), str(expected), source, f"correct {name}", also=also
            )
    return Finding("disagree", part.show(part.facts), 1, 1, str(said), str(expected), source, f"correct {name}")


def _same(typed: Any, held: Any) -> bool:
    """Whether a typed value is another one, or a rounding of it at the digits that were typed."""
    typed, held = _plain(typed), _plain(held)
    if _is_number(typed) and _is_number(held):
        half = Fraction(1, 2 * 10 ** _digits(typed)) if isinstance(held, float) else Fraction(0)
        return abs(Fraction(repr(typed)) - Fraction(repr(held))) <= half
    return bool(typed == held)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= _CLOSE * max(abs(one), abs(other), 1e-6)
    return bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _digits(value: int | float) -> int:
    """How many decimals were typed."""
    exponent = Decimal(repr(value)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _plain(value: Any) -> Any:
    """Dates as their text, true and false as they are written, numbers and texts as they are."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else value
