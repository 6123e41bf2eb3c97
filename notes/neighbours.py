"""Neighbours: the other places that stand on what a correction corrects, in its own part and in all others."""

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path

from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Readings
from campaign.analysis.rows import DRAW_VALUES, ROW_VALUES
from campaign.analysis.rule import declarations, declares
from campaign.engine.yardstick import YARDSTICK_TABLES
from campaign.kernels.errors import CampaignError
from campaign.notes.claims import operands_of
from campaign.notes.corrections import Correction, Settled, banner, occurrences, read_corrections, stands_whole
from campaign.notes.errors import TemplateError, UsageError
from campaign.notes.fact_sources import check_fact_sources
from campaign.notes.facts import read_facts
from campaign.notes.findings import Finding
from campaign.notes.history import History, NoHistory
from campaign.notes.ledger import Ledger, Place, read_ledger
from campaign.notes.paths import Part
from campaign.notes.post import split
from campaign.notes.publish import published_body, read_published
from campaign.notes.raw_records import check_records, is_read
from campaign.notes.render import render
from campaign.notes.seal import Problem
from campaign.notes.sources import Sources, load

SAME = "derived again: still "
"""How what settles a neighbour begins where recomputation gives what is printed."""
_QUOTED = re.compile(r"""\bq\(\s*["']([^"']+)["']""")


@dataclass(frozen=True)
class Neighbour:
    """A place that stands on the same reading or data as what is corrected."""

    part: str
    """Name of the part in which it stands."""
    line: int
    """Line in that part's post.md; 0 for what stands in a correction's own words."""
    column: int
    reading: str
    """The id of its reading or fact, or its claim."""
    text: str
    """What is printed there."""
    why: str
    """How it hangs together with what is corrected."""
    now: str | None = None
    """What recomputation gives there now; None where that is not known."""
    settled: str = ""
    """Why nothing is to be done; empty where a person has to say so."""
    number: int = 0
    """The number of the correction, for what stands in its words."""
    file: str = ""
    """The file, for data that changed."""
    down: int = 0
    """How many lines further down it stands as soon as the entry is written, which the banner then points to."""

    @property
    def kept_place(self) -> str:
        """As an entry keeps it: where it stands once that entry is written."""
        return replace(self, line=self.line + self.down, down=0).place

    @property
    def place(self) -> str:
        """As a person names it: part-5:41:17."""
        if self.file:
            return self.file
        if self.number:
            return f"{self.part} correction {self.number}"
        return f"{self.part}:{self.line}:{self.column}"

    def __str__(self) -> str:
        now = f", now {self.now!r}" if self.now not in (None, self.text) else ""
        said = "" if self.file else f"  {self.text!r}{now}  {self.reading}"
        return f"{self.place}{said}  ({self.why})"


@dataclass(frozen=True)
class _Standing:
    """A bound place of a part's body."""

    place: Place
    start: int
    end: int
    line: int
    column: int

    def fresh(self, readings: Readings) -> str | None:
        try:
            return self.place.fresh(readings)
        except (ReadingError, TemplateError):
            return None


@dataclass(frozen=True)
class _Corrected:
    """What one correction corrects."""

    ids: frozenset[str]
    """Readings and facts whose printed value is corrected."""
    claims: frozenset[str]
    texts: frozenset[str]
    """What is printed of them."""
    moved: bool
    """Whether the sources of now give something else there than was printed: then they were mended."""


def neighbours(part: Part, said: str, says: str, sources: Sources, repository: History) -> list[Neighbour]:
    """Every other place that stands on what `said` prints and `says` (its quotes filled) does not repeat.

    By part and place. Settled are those that an entry corrects, and those that the sources of now give as they are
    printed, where it is the sources that were mended; where they are as they were, the same number is as wrong
    wherever else it stands.
    """
    body = published_body(part, repository)
    standing = _standing(part)
    corrected = _corrected(standing, body, said, says, sources)
    before = published_digests(part, repository)
    changed = changed_data(part, sources, before)
    if corrected is None and not changed:
        return []
    down = _lines_added(part, said)
    corrected = corrected or _Corrected(frozenset(), frozenset(), frozenset(), False)
    own = _in_part(part, body, standing, corrected, [said, *_said(part)], sources, bool(changed))
    found = [replace(one, down=down) for one in own]
    if not corrected.moved:
        why = "it is not as it was published, and this entry corrects no number that it changes"
        found += [Neighbour(part.name, 0, 0, "", "", why, file=part.show(part.folder / name)) for name in changed]
    if not corrected.texts and not corrected.claims:
        return found
    found += _in_entries(part, corrected, sources)
    for other in part.campaign.parts():
        if other.name != part.name:
            found += _elsewhere(part, other, corrected, sources, before)
    return found


def _lines_added(part: Part, said: str) -> int:
    """How many lines an entry on these words adds above the body; none where it is there already."""
    entries = read_corrections(part)
    if said in {entry.said for entry in entries}:
        return 0
    more = Correction.model_construct(number=len(entries) + 1, date=date.min, said=said)
    after, before = (banner(part.title, read_published(part), known) for known in ([*entries, more], entries))
    return after.count("\n") - before.count("\n")


def changed_data(part: Part, sources: Sources, before: Mapping[str, str]) -> list[str]:
    """The data files that are not as they were published (`before`), unless an entry saw them as they are now."""
    data, seen = sources.data, {entry.data for entry in read_corrections(part)}
    if not before or data.whole_digest in seen:
        return []
    now = data.digests
    # A part that was published before raw records had a hash has none of them in what was published.
    names = before.keys() | (now.keys() - data.records)
    changed = sorted(name for name in names if before.get(name) != now.get(name))
    return [name for name in changed if not is_read(name, sources)] if data.digest in seen else changed


def check_data(part: Part, sources: Sources, repository: History) -> list[Problem | Finding]:
    """What is wrong with a part's data files beyond their hashes, and with what its facts are said to come from.

    Raw records that are gone or that do not give the tables; facts with another source than at publication; and that a
    published part's data are neither as published nor as the last entry that names them saw them. Without git, and
    where git does not have what was published, there is nothing to compare the last two with.
    """
    found: list[Problem | Finding] = [*check_records(part, sources, repository)]
    found += check_fact_sources(part, sources.facts, repository)
    return [*found, *_changed_since(part, sources, repository)]


def _changed_since(part: Part, sources: Sources, repository: History) -> list[Problem]:
    if read_published(part) is None or isinstance(repository, NoHistory):
        return []
    changed = changed_data(part, sources, published_digests(part, repository))
    seen = [entry for entry in read_corrections(part) if entry.data]
    if seen and not changed and seen[-1].data in (sources.data.digest, sources.data.whole_digest):
        return []
    if seen and not changed:
        said = f"data with the sha256 {sources.data.digest}"
        changed_since = f"{seen[-1].data}, as correction {seen[-1].number} saw them"
        mend = f"`git log -p -- {part.show(part.data)}` shows when they changed; `notes correct {part.name}` says why"
        return [Problem(part.show(part.data), "data-changed", said, changed_since, mend)]
    if not changed:
        return []
    first = repository.first_version(part.published)
    assert first is not None, "what was published could be compared"
    files = [part.show(part.folder / name) for name in changed]
    mend = f"`git checkout {first.commit} -- {' '.join(files)}`, or `notes correct {part.name}` to say why"
    said = f"{', '.join(files)} changed after the publication"
    return [Problem(files[0], "data-changed", said, f"the data that {first.commit} has, or a correction", mend)]


def settle(found: Sequence[Neighbour], acknowledged: Mapping[str, str], where: str) -> tuple[Settled, ...]:
    """Each neighbour as an entry keeps it; raises UsageError where one is open, or where nothing is acknowledged.

    `acknowledged` holds a reason by a place (part-5:41:17), a reading's id (for all its places) or a part's name.
    """
    used: set[str] = set()
    settled, open_ = [], []
    for one in found:
        names = (one.place, one.reading, f"{one.part}:{one.reading}", one.part)
        key = next((name for name in names if name in acknowledged), None)
        used |= {name for name in names if name in acknowledged}
        if key is not None and (not one.settled or key == one.place):
            settled.append(_settled(one, because=acknowledged[key]))
        elif one.settled:
            kept = {"says": one.now} if one.settled.startswith(SAME) else {"because": one.settled}
            settled.append(_settled(one, **kept))
        else:
            open_.append(one)
    idle = [name for name in acknowledged if name not in used]
    if idle:
        known = "; ".join(dict.fromkeys(one.place for one in found)) or "none"
        raise UsageError(
            f"{where}: --acknowledge {idle[0]}: no such place stands on what is corrected; expected one of: {known}. "
            "Leave it out, or name one of them."
        )
    if open_:
        raise UsageError(_asked(open_, where))
    return tuple(settled)


def _settled(one: Neighbour, **why: str | None) -> Settled:
    """A neighbour as an entry keeps it: each of its words on one line."""
    reading = " ".join(one.reading.split()) or None
    return Settled(
        place=one.kept_place, reading=reading, **{key: " ".join((said or "").split()) for key, said in why.items()}
    )


def check_neighbours(part: Part, sources: Sources, repository: History, says: Mapping[int, str]) -> list[Finding]:
    """A finding for each place that stands on what an entry of the part corrects, and that nothing settles.

    `says` holds each entry's text with its quotes filled, by number. Entries from before neighbours were kept give
    warnings. Raises CannotTell where the published text is not here.
    """
    entries = read_corrections(part)
    if not entries or read_published(part) is None or isinstance(repository, NoHistory):
        return []
    known = {
        (settled.place.partition(" ")[0].partition(":")[0], settled.reading)
        for entry in entries
        for settled in entry.neighbours or ()
    }
    findings = {}
    for entry in entries:
        for one in neighbours(part, entry.said, says[entry.number], sources, repository):
            if not one.settled and not one.number and not one.file and (one.part, one.reading) not in known:
                findings.setdefault(one.place, _finding(part, entry, one))
    return list(findings.values())


def published_digests(part: Part, repository: History) -> dict[str, str]:
    """sha256 of each data file as the part was published, by its path below the part; empty where it is not here."""
    if isinstance(repository, NoHistory):
        return {}
    first = repository.first_version(part.published)
    blob = repository.blob_at(first.commit, part.readings) if first else None
    try:
        return dict(json.loads(repository.text_of(blob))["data"].items()) if blob else {}
    except (AttributeError, CampaignError, ValueError, KeyError, TypeError):
        return {}


def files_of(name: str, sources: Sources) -> set[str]:
    """The data files that a reading stands on, by their paths below its part: those of its table or of its operands."""
    return _files_of(_base(name, sources.readings), sources, set())


def _files_of(name: str, sources: Sources, seen: set[str]) -> set[str]:
    if name in seen or name not in sources.readings or sources.readings[name].role != "reading":
        return set()
    seen.add(name)
    said = next((said for said in declarations(sources.plan) if declares(str(said.get("id", "")), name)), None)
    operands = [_base(operand, sources.readings) for operand, _ in sources.readings[name].operands]
    found = {file for operand in operands for file in _files_of(operand, sources, seen)}
    if said is None or said.get("kind") in ("expr", "choice", "verdict"):
        return found
    tables = {str(said[key]) for key in ("table", "weight_table") if said.get(key)}
    if said.get("kind") == "paired":
        tables |= {"kernel_timings"} if "table" not in said else set()
    if not tables or tables & {ROW_VALUES, DRAW_VALUES, *YARDSTICK_TABLES}:
        # Rows, draws and what was sampled in them are read together, a yardstick's with them.
        tables |= {table for table in YARDSTICK_TABLES if table in sources.plan.tables}
        found |= {file for file in sources.data.digests if file.startswith("../")}
    globs = [sources.plan.table(table)[0] for table in tables if table in sources.plan.tables]
    return found | {file for file in sources.data.digests if any(fnmatch(file, glob) for glob in globs)}


def _base(name: str, readings: Readings) -> str:
    """The reading that `name` is of: saving for saving.lo."""
    own = set(readings)
    return name if name in own or name.rpartition(".")[0] not in own else name.rpartition(".")[0]


def _standing(part: Part) -> list[_Standing]:
    """Every bound place of the part's body, where it stands in post.md."""
    ledger, _ = read_ledger(part.numbers, part.show(part.numbers))
    return list(_places(ledger, _lines_before(part)))


def _places(ledger: Ledger, before: int) -> Iterator[_Standing]:
    body = ledger.body()
    line, at = before, 0
    for place, (start, end) in zip(ledger.places, ledger.spans(), strict=True):
        line += body.count("\n", at, start)
        at = start
        yield _Standing(place, start, end, line, start - body.rfind("\n", 0, start))


def _lines_before(part: Part) -> int:
    """The line of post.md on which its body begins."""
    post = split(part.post.read_bytes().decode(errors="replace").replace("\r\n", "\n"), part.show(part.post))
    return 1 + post.text.count("\n", 0, post.body_start)


def _said(part: Part) -> list[str]:
    """The words that the part's entries correct."""
    return [entry.said for entry in read_corrections(part)]


def _spans(body: str, said: Iterable[str]) -> list[tuple[int, int]]:
    return [found[0] for words in said if len(found := occurrences(words, body)) == 1]


def _corrected(standing: Sequence[_Standing], body: str, said: str, says: str, sources: Sources) -> _Corrected | None:
    """What the words print that the correction does not repeat; None where that is no reading, fact or claim."""
    spans = _spans(body, [said])
    inside = [one for one in standing if any(one.start < end and start < one.end for start, end in spans)]
    wrong = [one for one in inside if not stands_whole(one.place.text, says)]
    if not wrong:
        return None
    numbers = [one for one in wrong if one.place.kind != "claim" and _tells_of_data(one.place, sources.readings)]
    claims = frozenset(one.place.source for one in wrong if one.place.kind == "claim")
    if not numbers and not claims:
        return None
    return _Corrected(
        frozenset(_base(one.place.source, sources.readings) for one in numbers),
        claims,
        frozenset(one.place.text for one in numbers),
        any(one.fresh(sources.readings) != one.place.text for one in wrong),
    )


_TIMES = ("date", "minute", "clock")
"""Formats in which a text is a point in time."""


def _tells_of_data(place: Place, readings: Readings) -> bool:
    """Whether a place prints a quantity, a time, or a word that is decided by other readings; a mere label does not."""
    reading = readings.get(place.source)
    if place.kind == "claim" or reading is None or not isinstance(reading.value, str):
        return True
    return bool(reading.operands) or (place.format or reading.print) in _TIMES


def _dependents(ids: frozenset[str], readings: Readings) -> set[str]:
    """The readings that are computed from those of `ids`, through any number of others."""
    found: set[str] = set()
    operands = {name: {_base(one, readings) for one, _ in readings[name].operands} for name in readings}
    while more := {name for name, of in operands.items() if of & (ids | found)} - found - ids:
        found |= more
    return found


def _in_part(
    part: Part,
    body: str,
    standing: Sequence[_Standing],
    corrected: _Corrected,
    said: Sequence[str],
    sources: Sources,
    changed: bool,
) -> Iterator[Neighbour]:
    """The places of the same part, those in words that an entry corrects left out."""
    covered = _spans(body, said)
    dependents = _dependents(corrected.ids, sources.readings)
    for one in standing:
        if any(one.start < end and start < one.end for start, end in covered):
            continue
        fresh = one.fresh(sources.readings)
        why = _why(one.place, corrected, dependents, sources.readings)
        if not why and (corrected.moved or changed) and fresh != one.place.text:
            why = "its sources were changed too"
        if why and one.place.source == "data.digest":
            yield _neighbour(part, one, why, fresh, "it names the data as they were published")
        elif why:
            same = corrected.moved and fresh == one.place.text
            yield _neighbour(part, one, why, fresh, f"{SAME}{fresh}" if same else "")


def _why(place: Place, corrected: _Corrected, dependents: set[str], readings: Readings) -> str:
    """How a place of the same part hangs together with what is corrected; empty where it does not."""
    if place.kind == "claim":
        if place.source in corrected.claims:
            return "makes the same claim"
        try:
            named = {_base(name, readings) for name, _ in operands_of(place.source, readings)}
        except ReadingError:
            return ""
        return "claims something of it" if named & (corrected.ids | dependents) else ""
    base = _base(place.source, readings)
    if base in corrected.ids:
        return "prints the same reading"
    return f"is computed from {', '.join(sorted(corrected.ids))}" if base in dependents else ""


def _neighbour(part: Part, one: _Standing, why: str, now: str | None, settled: str) -> Neighbour:
    return Neighbour(part.name, one.line, one.column, one.place.source, one.place.text, why, now, settled)


def _in_entries(part: Part, corrected: _Corrected, sources: Sources) -> Iterator[Neighbour]:
    """The part's earlier entries that quote what is corrected, with what they say now."""
    post = part.post.read_bytes().decode(errors="replace")
    touched = corrected.ids | _dependents(corrected.ids, sources.readings)
    for entry in read_corrections(part):
        quoted = [name for name in _QUOTED.findall(f"{entry.says} {entry.because}")]
        names = [name for name in quoted if _base(name, sources.readings) in touched]
        if names:
            says = render(entry.says, part.show(part.corrections), sources.readings, {}, lambda name: None).body()
            same = f"{SAME}{says}" if corrected.moved and says in post else ""
            yield Neighbour(
                part.name, 0, 0, names[0], entry.says, "an entry that quotes it", says, same, number=entry.number
            )


def _elsewhere(
    part: Part, other: Part, corrected: _Corrected, sources: Sources, before: Mapping[str, str]
) -> Iterator[Neighbour]:
    """The places of another part that stand on the same data, or that take the number from this part by hand."""
    if not other.numbers.is_file() or not other.post.is_file():
        return
    kept = _kept(other)
    mine = {file for name in corrected.ids for file in files_of(name, sources)}
    hashes = {before.get(file) for file in mine} | {sources.data.digests.get(file) for file in mine}
    shared = {file for file, sha256 in kept.digests.items() if sha256 in hashes and file != "data/run.json"}
    by_hand = {name for name, because in kept.because.items() if _names(because, part)}
    if not shared and not by_hand:
        return
    its: Sources | None = None
    trouble = ""
    if shared:
        try:
            its = load(other)
        except CampaignError as wrong:
            trouble = f"; it cannot be computed again: {wrong}"
    current = {sources.data.digests.get(file) for file in mine}
    covered = _spans(_body(other), _said(other)) if read_published(other) else []
    for one in _standing(other):
        source = one.place.source
        if source in kept.labels if its is None else not _tells_of_data(one.place, its.readings):
            continue
        inside = any(one.start < end and start < one.end for start, end in covered)
        if its is None and shared and one.place.kind != "claim" and source not in kept.because:
            yield _neighbour(other, one, f"stands on the same {', '.join(sorted(shared))}{trouble}", None, "")
        elif its is not None and (files := _files_at(one.place, its) & shared):
            fresh = one.fresh(its.readings)
            mended = all(its.data.digests.get(file) in current for file in files)
            same = mended and fresh == one.place.text
            settled = "corrected there" if inside else f"{SAME}{fresh}" if same else ""
            old = "" if mended else ", as it was before"
            yield _neighbour(other, one, f"stands on the same {', '.join(sorted(files))}{old}", fresh, settled)
        elif source in by_hand and one.place.text in corrected.texts:
            settled = "corrected there" if inside else ""
            yield _neighbour(other, one, f"takes it from {part.title} by hand", None, settled)


@dataclass(frozen=True)
class _Kept:
    """What readings.json and facts.toml of a part say without computing anything."""

    digests: Mapping[str, str]
    because: Mapping[str, str]
    """Where each constant and fact comes from, by its id."""
    labels: frozenset[str]
    """The ids of what is a text, neither a time nor decided by other readings."""


def _kept(part: Part) -> _Kept:
    return _read_kept(part, _stamp(part.readings), _stamp(part.facts))


def _stamp(path: Path) -> tuple[int, int]:
    """What changes with a file, so that what was read of it is read again."""
    try:
        with open(path, "rb") as file:  # opened, so that a kept report knows of it each time, though it is read once
            found = os.fstat(file.fileno())
    except OSError:
        return (0, 0)
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4096)
def _read_kept(part: Part, readings: tuple[int, int], facts: tuple[int, int]) -> _Kept:
    """Read once for all corrections of a campaign: each of them looks at every other part."""
    found = _read_json(part.readings)
    digests = found.get("data", {}) if isinstance(found, dict) else {}
    listed = found.get("readings", []) if isinstance(found, dict) else []
    said_of = {str(said["id"]): said for said in listed if isinstance(said, dict)}
    because = {name: str(said["because"]) for name, said in said_of.items() if "because" in said}
    texts = (name for name, said in said_of.items() if isinstance(said.get("value"), str) and not said.get("operands"))
    labels = frozenset(name for name in texts if said_of[name].get("print") not in _TIMES)
    with contextlib.suppress(CampaignError):
        because |= {name: fact.source for name, fact in read_facts(part).facts.items()}
    return _Kept(digests if isinstance(digests, dict) else {}, because, labels)


def _read_json(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}


def _names(because: str, part: Part) -> bool:
    """Whether words about the origin of a number name a part."""
    return re.search(rf"\bpart[ -]{part.number}\b", because, re.IGNORECASE) is not None


def _body(part: Part) -> str:
    return split(part.post.read_bytes().decode(errors="replace").replace("\r\n", "\n"), part.show(part.post)).body


def _files_at(place: Place, sources: Sources) -> set[str]:
    """The data files that a place stands on."""
    if place.kind != "claim":
        return files_of(place.source, sources)
    try:
        named = [name for name, _ in operands_of(place.source, sources.readings)]
    except ReadingError:
        return set()
    return {file for name in named for file in files_of(name, sources)}


def _asked(open_: Sequence[Neighbour], where: str) -> str:
    one = open_[0]
    many = f"{len(open_)} other places stand" if len(open_) > 1 else "1 other place stands"
    return (
        f"{where}: nothing was added: {many} on what is corrected; expected each to be corrected (by this entry or one "
        "before), to give the same when it is derived again, or to be acknowledged:\n"
        + "".join(f"  {neighbour}\n" for neighbour in open_)
        + f'Say why a place stays, or that a later entry corrects it: --acknowledge {one.place}="…" for one place, '
        f'--acknowledge {one.reading}="…" for all places of a reading, --acknowledge {one.part}="…" for all of a part.'
    )


def _finding(part: Part, entry: Correction, one: Neighbour) -> Finding:
    its = Part(part.campaign, one.part)
    mend = f"notes correct {one.part}" if read_published(its) else f"notes build {one.part}"
    return Finding(
        "neighbour",
        its.show(its.post),
        one.line,
        one.column,
        one.text,
        one.now if one.now not in (None, one.text) else "a place that is corrected, derived again or acknowledged",
        one.reading,
        f"{mend}, or notes correct {part.name} with --acknowledge {one.place}=…",
        level="warning" if entry.neighbours is None else "error",
        length=len(one.text.split("\n")[0]),
        also=(f"{part.title}, correction {entry.number}, corrects “{entry.said}”; this place {one.why}",),
    )
