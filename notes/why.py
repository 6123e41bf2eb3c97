"""Where a printed number comes from: its reading, formula, operands, and every other place that prints it."""

import re
from dataclasses import dataclass

from campaign.notes.check import read_kept
from campaign.notes.claims import operands_of
from campaign.notes.errors import UsageError
from campaign.notes.ledger import Place
from campaign.notes.paths import Part
from campaign.notes.publish import read_published
from campaign.notes.quote import MINUS
from campaign.notes.sources import Sources, load

_PLACE = re.compile(r"(?P<part>.+?):(?P<line>\d+)(?::(?P<column>\d+))?")


@dataclass(frozen=True)
class Standing:
    """A bound place in post.md."""

    place: Place
    line: int
    column: int


def parse_target(said: str) -> tuple[str, int | None, int | None]:
    """Part, line and column of `part-5:41:17`; the last two None for a bare part."""
    found = _PLACE.fullmatch(said)
    if not found:
        return said, None, None
    return found["part"], int(found["line"]), int(found["column"]) if found["column"] else None


def why(part: Part, text: str | None, line: int | None = None, column: int | None = None) -> list[str]:
    """Lines that explain every place that prints `text`, or the places on a line of post.md (at a column)."""
    sources = load(part)
    standing = _standing(part)
    if line is not None:
        chosen = [
            s
            for s in standing
            if s.line == line and (column is None or s.column <= column < s.column + len(s.place.text))
        ]
    else:
        asked = (text or "").replace("-", MINUS)
        chosen = [s for s in standing if s.place.text == text or s.place.text == asked]
    if not chosen:
        asked = f"line {line}" + (f", column {column}" if column else "") if line is not None else repr(text)
        raise UsageError(
            f"{part.show(part.post)}: no bound place for {asked}; expected a number as it is printed, or its line and "
            f"column. `notes read {part.name}` lists what is printed."
        )
    said: list[str] = []
    sources_named = list(dict.fromkeys((s.place.kind, s.place.source) for s in chosen))
    if len(sources_named) > 1:
        said.append(f"{len(sources_named)} different sources print this:")
        said.append("")
    for kind, source in sources_named:
        here = [s for s in standing if (s.place.kind, s.place.source) == (kind, source)]
        said += [*_explain(part, sources, here), ""]
    return said[:-1]


def _standing(part: Part) -> list[Standing]:
    post, ledger, _ = read_kept(part)
    first = post.text.count("\n", 0, post.body_start)
    body = ledger.body()
    found = []
    for place, (start, _) in zip(ledger.places, ledger.spans(), strict=True):
        line = body.count("\n", 0, start)
        found.append(Standing(place, first + line + 1, start - body.rfind("\n", 0, start)))
    return found


def _explain(part: Part, sources: Sources, here: list[Standing]) -> list[str]:
    place = here[0].place
    places = ", ".join(f"{s.line}:{s.column} {s.place.text!r}" for s in here)
    if place.kind == "claim":
        lines = [f"claim  {place.source}"]
        lines += [f"  word       {s!r} while it is true" for s in dict.fromkeys(s.place.word for s in here)]
        lines += [f"  operand    {name} = {value!r}" for name, value in operands_of(place.source, sources.readings)]
    else:
        reading = sources.readings[place.source]
        lines = [f"{reading.role}  {reading.id}", f"  value      {reading.value!r} {reading.unit}".rstrip()]
        lines += [f"  not resolved: {reading.reason}"] if reading.reason else []
        lines += [f"  printed    {s}" for s in dict.fromkeys(_printed(s.place, reading.print) for s in here)]
        lines += [f"  {name:<10} {value:.10g}" for name, value in reading.aspects.items()]
        lines += [f"  formula    {reading.formula}"] if reading.formula else []
        lines += [f"  operand    {name} = {value!r}" for name, value in reading.operands]
        lines += [f"  source     {reading.because}"] if reading.because else []
        lines += [f"  warning    {warning}" for warning in reading.warnings]
    lines.append(f"  stands at  {part.show(part.post)} {places}")
    lines.append(f"  plan       {part.show(part.plan)}; data {sources.data.origin}, sha256 {sources.data.digest[:12]}")
    published = read_published(part)
    if published:
        lines.append(f"  published  {published.date.isoformat()}, commit {published.commit[:12]}")
    return lines


def _printed(place: Place, default: str) -> str:
    fmt = place.format or default or "as it is"
    return f"{place.text!r}, format {fmt} (half away from zero)" if "f" in fmt else f"{place.text!r}, format {fmt}"
