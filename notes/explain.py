"""One printed number or word explained: value, rounding, what it was computed from, and who vouches for it."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from textwrap import shorten
from typing import Any

from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Reading
from campaign.analysis.rows import ROW_VALUES
from campaign.kernels.errors import CampaignError
from campaign.notes.behind import declaration_of, line_of, records_behind
from campaign.notes.check import read_kept
from campaign.notes.claims import operands_of
from campaign.notes.dates import utc_minute
from campaign.notes.facts import read_facts
from campaign.notes.margins import POINTS, Margin, margins
from campaign.notes.paths import MARKER, Part
from campaign.notes.publish import read_published
from campaign.notes.quote import MINUS, print_reading
from campaign.notes.sources import Sources
from campaign.notes.standing import Standing, standing_in
from campaign.notes.terminal import USUAL, wrapped

LABEL = 11
MOST = 8
"""As many operands, or places, are listed one by one."""
HASH = 12
"""How many digits of a hash are shown."""
_NUMBER_FORMAT = re.compile(r"\+?,?(?:\.(?P<digits>\d+))?(?P<kind>[fd%])")
_MACHINE = """gpu gpus gpu_count gpu_model cpu cores memory_mib power_cap_w system driver cuda torch vllm python engine
model weights serving concurrency threads""".split()


Said = tuple[str, str]
"""A label, empty where the one above goes on, and what is said under it; spaces before it indent it."""


def explain(sources: Sources, here: Standing, same: Sequence[Standing], depth: int, width: int = USUAL) -> list[str]:
    """Lines that explain what stands `here`; `same` are all the places of the post that have its source."""
    head = shorten(f"{here.address}: {here.text}", width, placeholder=" …")
    return [head, *wrapped(here.context, width, "  "), "", *_in_lines(_said(sources, here, same, depth), width)]


def _said(sources: Sources, here: Standing, same: Sequence[Standing], depth: int) -> Iterator[Said]:
    if here.place is None:
        yield from _loose(sources, here)
        yield from _section("also at", _places(here, same))
        return
    if here.place.kind == "claim":
        yield from _claim(sources, here, depth)
        ids = [name for name, _ in _operands_of(here.place.source, sources)]
    else:
        reading = sources.readings[here.place.source]
        yield from _reading(sources, here, reading, depth)
        ids = [reading.id]
    yield from _vouched(sources, ids)
    yield from _section("also at", _places(here, same))
    if here.place.kind != "claim":
        yield from _section("in parts", _elsewhere(sources, ids[0]))
        yield from _section("decides", _used_by(sources, here.part, ids[0]))


def _section(label: str, texts: Iterable[str]) -> Iterator[Said]:
    """Texts under one label, which stands before the first."""
    for text in texts:
        yield label, text
        label = ""


def _in_lines(said: Iterable[Said], width: int) -> Iterator[str]:
    for label, text in said:
        indent = len(text) - len(text.lstrip())
        yield from wrapped(text.strip(), width, label.ljust(LABEL) + " " * indent, " " * (LABEL + indent + 2))


# What nothing binds


_UNITS = {"pp": POINTS, "×": "times"}
"""How a unit is written where it stands alone."""
_KINDS = {
    "date": "a date",
    "time": "a time of day",
    "version": "a version",
    "hash": "a hash, a name of bytes",
    "reference": "a reference: the number of a part, section, figure or footnote",
    "url": "part of an address",
    "path": "part of a file's name",
    "heading": "the number of a heading",
}


def _loose(sources: Sources, here: Standing) -> Iterator[Said]:
    token, part = here.token, here.part
    assert token is not None, "what nothing binds is a token"
    if token.role == "structure":
        yield from _section("structure", [f"{_KINDS.get(token.kind, token.kind)}; its digits are no quantity"])
    elif token.role == "name":
        yield from _section("name", [f"declared in {_declared_at(part, here.text)}; its digits are no quantity"])
    elif token.role == "undeclared":
        yield from _section("unbound", ["letters with digits that no list of names declares; `notes check` tells"])
    elif token.role == "comparing":
        yield from _section("unbound", ["a comparing word that nothing binds; `notes check` lists them"])
    else:
        unit = f" {_UNITS.get(token.unit, token.unit)}" if token.unit else ""
        yield from _section("value", [f"{token.value}{unit}"])
        post, _, _ = read_kept(part)
        below = here.start >= len(post.banner) and _is_entry(part, here)
        mend = f"no reading, fact or name prints it; `notes check {part.name}` says what to do"
        told = "stands in a dated entry, which corrections.toml gives" if below else mend
        yield from _section("unbound", [told])


def _is_entry(part: Part, here: Standing) -> bool:
    post, ledger, _ = read_kept(part)
    return here.start >= post.body_start + len(ledger.body())


def _declared_at(part: Part, name: str) -> str:
    """File and line of the list of names that holds this one."""
    said = re.compile(rf"""["']{re.escape(name)}["']""")
    for path in (part.facts, part.campaign.root / MARKER):
        if path.is_file():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if said.search(line):
                    return f"{part.show(path)} line {number}"
    return f"{part.show(part.facts)} or {MARKER}"


# What a reading is


def _reading(sources: Sources, here: Standing, reading: Reading, depth: int) -> Iterator[Said]:
    assert here.place is not None
    unit = f", in {reading.unit}" if reading.unit else ""
    yield from _section(reading.role, [f"{reading.id}{unit}"])
    if reading.value is None:
        yield from _section("value", [f"not resolved: {reading.reason}"])
    else:
        yield from _section("value", [_exact(reading.value)])
        yield from _printed(reading, here.place.format or reading.print, here.place.text)
    yield from _interval(reading)
    yield from _section("formula", [reading.formula] if reading.formula else [])
    yield from _section("operands", _operands(sources, reading.operands, depth))
    yield from _section("because", [reading.because] if reading.because and reading.role == "constant" else [])
    yield from _section("source", [reading.because] if reading.because and reading.role == "fact" else [])
    yield from _section("data", _data(sources, reading))
    yield from _section("warning", reading.warnings)


def _exact(value: object) -> str:
    return repr(value).replace("-", MINUS) if isinstance(value, int | float) else str(value)


def _printed(reading: Reading, fmt: str, text: str) -> Iterator[Said]:
    """The way from the value to its characters."""
    value = reading.value
    if fmt == "" and isinstance(value, int | float) and float(value).is_integer():
        fmt = "d"
    found = _NUMBER_FORMAT.fullmatch(fmt)
    if not isinstance(value, int | float) or not found or found["kind"] == "d":
        yield from _section("printed", [f"{text}, in the format {fmt or 's'}"])
        return
    digits, exact = int(found["digits"] or 0), Decimal(repr(value))
    path = _exact(value)
    if found["kind"] == "%":
        exact *= 100
        path += f" → × 100 = {_plain(exact)}"
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    tie = abs(exact - rounded) * 2 == Decimal(1).scaleb(-digits)
    how = "exact" if exact == rounded else "a tie, which goes away from zero" if tie else "half away from zero"
    places = "to a whole number" if not digits else f"to {digits} decimal{'s' if digits > 1 else ''}"
    written = "" if _plain(rounded) == text else f"{_plain(rounded)} → "
    yield from _section("rounding", [f"{path} → {places}, {how} → {written}{text} (format {fmt})"])


def _plain(value: Decimal) -> str:
    return f"{value:f}".replace("-", MINUS)


def _interval(reading: Reading) -> Iterator[Said]:
    said = dict(reading.aspects)
    lo, hi, level = (said.pop(name, None) for name in ("lo", "hi", "level"))
    if lo is not None and hi is not None:
        at = f" at {level:g} %" if level is not None else ""
        yield from _section("interval", [f"{lo:.6g} to {hi:.6g}{at}".replace("-", MINUS)])
    more = ", ".join(f"{name} {value:.6g}" for name, value in said.items())
    yield from _section("sample", [more.replace("-", MINUS)] if more else [])


def _operands(sources: Sources, operands: Sequence[tuple[str, Any]], depth: int, indent: str = "") -> Iterator[str]:
    """Each operand with its value and, to a depth, where it comes from."""
    width = max((len(name) for name, _ in operands[:MOST]), default=0)
    last = ""
    for name, value in operands[:MOST]:
        known = sources.readings.get(name)
        unit = f" {known.unit}" if known and known.unit else ""
        shown = f"{value:.10g}".replace("-", MINUS) if isinstance(value, float) else _exact(value)
        whence = ""
        if known and depth > 0:
            told = known.formula or known.because
            whence = f"  ← {told}" if told and told != last else ""  # of a family it is said once
            last = told
        yield f"{indent}{name.ljust(min(width, 28))}  {shown}{unit}{whence}"
        if known and depth > 1 and known.operands:
            yield from _operands(sources, known.operands, depth - 1, indent + "  ")
    if len(operands) > MOST:
        yield f"{indent}and {len(operands) - MOST} more"


def _data(sources: Sources, reading: Reading) -> Iterator[str]:
    """The records behind a reading: how many, which, in which files with which hash."""
    if reading.role != "reading":
        return
    for records in records_behind(sources, reading):
        of = f"{records.chosen:,}" if records.chosen == records.total else f"{records.chosen:,} of {records.total:,}"
        made = " (of draws, by row)" if records.table == ROW_VALUES else ""
        yield f"{records.table}{made}: {of} record{'' if records.total == 1 else 's'}"
        if records.named:
            yield f"  {records.named}"
        if len(records.files) > MOST // 2:
            first, last = records.files[0], records.files[-1]
            yield f"  {len(records.files)} files, {first[0]} to {last[0]}, sha256 {first[1][:HASH]} to {last[1][:HASH]}"
        else:
            for path, sha256 in records.files:
                yield f"  {path}  sha256 {sha256[:HASH]}"


# Claims


def _operands_of(expression: str, sources: Sources) -> list[tuple[str, Any]]:
    try:
        return operands_of(expression, sources.readings)
    except ReadingError:
        return []


def _claim(sources: Sources, here: Standing, depth: int) -> Iterator[Said]:
    assert here.place is not None
    place = here.place
    otherwise = f"; {place.otherwise!r} while it is not" if place.otherwise else "; a false one is not printed"
    yield from _section("claim", [place.source])
    yield from _section("word", [f"{place.word!r} while it is true{otherwise}"])
    try:
        found = margins(place.source, sources.readings)
    except ReadingError as wrong:
        yield from _section("margin", [str(wrong)])
        found = None
    if found:
        several = len(found.comparisons) > 1
        yield from _section("compared", (f"{one.text}: {_sides(one)}{one}" for one in found.comparisons))
        if several or found.beneath:
            yield from _section("margin", [str(found)])
    yield from _section("operands", _operands(sources, _operands_of(place.source, sources), depth))


def _sides(margin: Margin) -> str:
    if margin.left is None or margin.right is None:
        return ""
    left, right = (
        f"{side:.6g}".replace("-", MINUS) if isinstance(side, float) else str(side)
        for side in (margin.left, margin.right)
    )
    return f"{left} against {right}, "


# Who vouches for it


def _vouched(sources: Sources, ids: Sequence[str]) -> Iterator[Said]:
    part = sources.part
    yield from _section("declared", _declarations(sources, ids))
    if any(name in sources.readings and sources.readings[name].role == "reading" for name in ids):
        yield from _section("run", _run(sources))
    if sources.seal:
        seal = sources.seal
        how = "" if seal.origin == "measured" else f"; {seal.origin}: the order is stated, not proven"
        yield from _section("sealed", [f"{utc_minute(seal.sealed)}, the plan in commit {seal.commit[:HASH]}{how}"])
    else:
        yield from _section("sealed", ["no seal: nothing proves that the plan came before the data"])
    published = read_published(part)
    if published:
        said = f"{published.date.isoformat()}, post.md in commit {published.commit[:HASH]}"
    else:
        said = "not yet: a draft, its text may still change"
    yield from _section("published", [said])


def _declarations(sources: Sources, ids: Sequence[str]) -> Iterator[str]:
    part = sources.part
    for name in ids[:MOST]:
        role = sources.readings[name].role if name in sources.readings else "reading"
        for path in (part.facts, part.plan) if role == "fact" else (part.plan,):
            plan = sources.plan if path == part.plan else None
            line = line_of(path, name, plan)
            if line:
                declared = declaration_of(sources.plan, name) if plan and role == "reading" else None
                as_ = f", as {declared['id']}" if declared and declared["id"] != name else ""
                many = f"  {name}" if len(ids) > 1 else ""
                yield f"{part.show(path)}:{line}{as_}{many}"
                break


def _run(sources: Sources) -> Iterator[str]:
    """Where the data come from: their origin and hash, the machine and its versions as run.json has them."""
    yield f"{sources.data.origin}; all data sha256 {sources.data.digest[:HASH]}"
    found: dict[str, list[str]] = {}
    for key, value in _scalars(sources.data.run):
        if key in _MACHINE and value not in found.setdefault(key, []):
            found[key].append(value)
    said = [f"{key.replace('_', ' ')} {' / '.join(found[key])}" for key in _MACHINE if key in found]
    if said:
        yield "; ".join(said)


def _scalars(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in run.items():
        if isinstance(value, Mapping):
            yield from _scalars(value)
        elif isinstance(value, str | int | float):
            yield key, str(value)


# Every other place


def _places(here: Standing, same: Sequence[Standing]) -> Iterator[str]:
    others = [one for one in same if one.start != here.start]
    yield from _listed(others)


def _listed(places: Sequence[Standing]) -> Iterator[str]:
    for one in places[:MOST]:
        yield f"{one.address}  {one.around}"
    if len(places) > MOST:
        yield f"and {len(places) - MOST} more"


def _elsewhere(sources: Sources, name: str) -> Iterator[str]:
    """Places in other parts that print the same fact, or the same reading of the same data."""
    for other in sources.part.campaign.parts():
        if other == sources.part:
            continue
        try:
            found = [
                one
                for one in standing_in(other, (), sources.readings.decimal)
                if one.place and one.place.source == name
            ]
            alike = bool(found) and (_same_fact(sources, other, found[0]) or _same_reading(sources, other, name))
        except CampaignError:
            continue  # a part that cannot be read is told of by its own check
        if alike:
            yield from _listed(found)


_SHARED = ("credit.", "part.", "correction.")
"""Facts that are the same in every part; the others that no facts.toml declares are each part's own."""


def _same_fact(sources: Sources, other: Part, one: Standing) -> bool:
    """Whether a fact that the other part prints says the same as ours of this id."""
    name = one.source[1]
    ours, theirs = sources.facts.facts.get(name), read_facts(other).facts.get(name)
    if ours and theirs:
        return (ours.value, ours.unit) == (theirs.value, theirs.unit)
    reading = sources.readings[name]
    return reading.role == "fact" and name.startswith(_SHARED) and one.text == _shown(reading, sources)


def _same_reading(sources: Sources, other: Part, name: str) -> bool:
    """Whether the other part's reading of this id was computed from the same files and has the same value."""
    if sources.readings[name].role != "reading":
        return False
    try:
        kept = json.loads(other.readings.read_bytes())
        value = next((one["value"] for one in kept["readings"] if one["id"] == name), None)
        digests = set(kept["data"].values())
    except (AttributeError, OSError, ValueError, KeyError, TypeError):
        return False
    ours = {sha256 for path, sha256 in sources.data.digests.items() if not path.endswith("run.json")}
    mine = sources.readings[name].value
    alike = value == mine or (
        isinstance(value, float) and isinstance(mine, float) and abs(value - mine) <= 1e-9 * max(abs(mine), 1e-6)
    )
    return bool(ours & digests) and value is not None and alike


def _used_by(sources: Sources, part: Part, name: str) -> Iterator[str]:
    """Claims that compare it, and printed readings that are computed from it."""
    said: dict[str, list[str]] = {}
    for one in standing_in(part, (), sources.readings.decimal):
        if one.place is None:
            continue
        kind, source = one.source
        if kind == "claim" and any(operand == name for operand, _ in _operands_of(source, sources)):
            said.setdefault(f"{one.text!r}, by the claim {source}", []).append(f"{one.line}:{one.column}")
        elif kind == "reading" and source in sources.readings and source != name:
            reading = sources.readings[source]
            if any(operand == name for operand, _ in reading.operands):
                shown = _shown(reading, sources)
                said.setdefault(f"{source}, printed as {shown}", []).append(f"{one.line}:{one.column}")
    for index, (what, places) in enumerate(said.items()):
        if index == MOST:
            yield f"and {len(said) - MOST} more"
            return
        more = f" and {len(places) - 3} more places" if len(places) > 3 else ""
        yield f"{what}  at {', '.join(places[:3])}{more}"


def _shown(reading: Reading, sources: Sources) -> str:
    try:
        return print_reading(reading, decimal=sources.readings.decimal)
    except CampaignError:
        return str(reading.value)
