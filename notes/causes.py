"""One change and what follows from it: findings with one cause are told as one thing, with one way to mend it.

A changed file of data turns every number that stands on it; an edit of a published text is a matter of the text that is
kept and of each number in it. Each of these stays a finding of its own, and names the one that it follows from.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from campaign.kernels.errors import CampaignError
from campaign.notes.corrections import check_corrections
from campaign.notes.errors import CannotTell
from campaign.notes.findings import Finding
from campaign.notes.history import History, Repository
from campaign.notes.paths import Part
from campaign.notes.publish import check_published, read_published
from campaign.notes.table_rows import MISSING

DATA_HASH = "the data's hash"
"""The source of a finding about a data file that is not as it was built from."""
_COMPARED = ("changed", "word", "structure", "unit", "unbound", "undeclared", "nothing")
_FROM_SOURCES = ("changed", "word", "gone", "since")
"""Findings of a place whose source gives something else than stands there, or nothing."""
_SINCE = "right when it was published: "
_CHECKOUT = re.compile(r"git checkout \S+ -- [^`;,(]*[^`;,( ]")
_AT = re.compile(r" at (?P<line>\d+):(?P<column>\d+)$")
_BETWEEN = re.compile(r"[\s,|]+")
_OF_PART = re.compile(r"\b(?:correction|part)\.(?P<number>\d+)\b")
"""What the id of a reading that another part gives begins with."""
_OF_ALL = re.compile(r"\bcorrections\.caused\b")
_ENTRY = re.compile(r"\b(?:entry|link|correction) (?P<number>\d+)\b")
_KEY = re.compile(r"(\w+) = ")
_CONTEXT = 24
"""How many characters are shown on each side of a difference, to a word's end."""


def with_causes(
    part: Part, findings: Sequence[Finding], edited: str, elsewhere: Sequence[Finding] = ()
) -> list[Finding]:
    """The findings, those that follow from another one with its name and its mend, and none told twice at one place.

    `edited` is the mend that findings have whose place in the text is not as it was built; `elsewhere` is what is not
    as it was kept in the parts that this one takes texts from.
    """
    found = _once(findings)
    found = _of_rows(found)
    kept = [one for one in found if one.code == "kept"]
    found = [
        one if one.mend == edited and one.code in _COMPARED else _of_kept(one, kept, elsewhere, part) for one in found
    ]
    text = next((one for one in found if _is_edit(one, part)), None)
    if text is not None:
        found = [_of_text(one, text, part, edited) for one in found]
    data = [one for one in found if _is_about_data(one)]
    if data:
        found = [_of_data(one, data, part, edited) for one in found]
    return found


def others_named(part: Part, findings: Iterable[Finding]) -> list[Part]:
    """The other parts that give what these findings' places print: their dates, their corrections."""
    sources = " ".join(finding.source for finding in findings if finding.code in _FROM_SOURCES)
    numbers = {int(found["number"]) for found in _OF_PART.finditer(sources)}
    every = _OF_ALL.search(sources) is not None
    if not numbers and not every:
        return []
    return [other for other in part.campaign.parts() if other != part and (every or other.number in numbers)]


def kept_in(parts: Iterable[Part], repository: History) -> list[Finding]:
    """What is not as it was kept of the parts' publications and corrections, as far as it can be told."""
    found: list[Finding] = []
    for part in parts:
        for look in (check_corrections, check_published):
            with contextlib.suppress(CampaignError):
                found += [
                    located(problem.finding, part.campaign.root, repository) for problem in look(part, repository)
                ]
    return found


def order(part: Part, findings: Sequence[Finding]) -> list[Finding]:
    """The findings by their places, the post first; what others follow from stands before all."""
    causes = {finding.cause for finding in findings}
    post = part.show(part.post)
    return sorted(findings, key=lambda one: (one.name not in causes, one.path != post, one.path, one.line, one.column))


def located(finding: Finding, root: Path, repository: History) -> Finding:
    """A finding about a kept record at its key or entry, one about a file of text at the first line that is different.

    The first line is shown where git has the file as it was.
    """
    if finding.code in ("kept", "rule") and finding.line == 1 and finding.path.endswith(".toml"):
        return replace(finding, line=_entry_line(root / finding.path, f"{finding.said} {finding.expected}"))
    command = _CHECKOUT.search(finding.mend)
    if not command or not _is_about_data(finding) or not isinstance(repository, Repository):
        return finding
    path = root / finding.path
    try:
        blob = repository.blob_at(command[0].split()[2], path)
        before = repository.text_of(blob).decode() if blob else ""
        now = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError, CannotTell):
        return finding
    pairs = zip_longest(now.splitlines(), before.splitlines())
    found = next(((at, pair) for at, pair in enumerate(pairs, 1) if pair[0] != pair[1]), None)
    if not before or found is None:
        return finding
    line, (said, expected) = found
    ends = [
        f"{sign}{text}" if text is not None else "the end of the file" for sign, text in (("+", said), ("-", expected))
    ]
    shown = [f"`{text}`" if text[0] in "+-" else text for text in ends]
    what = f"{finding.said}; expected {finding.expected}"
    return narrowed(replace(finding, line=line, said=shown[0], expected=shown[1], also=(what, *finding.also)))


def _entry_line(path: Path, told: str) -> int:
    """The line of what is told of: a key of a record, or of its entry with a number; 1 where it is not there."""
    try:
        lines = path.read_bytes().decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        return 1
    tables = [number for number, line in enumerate(lines, 1) if line.lstrip().startswith("[[")]
    entry = _ENTRY.search(told)
    first, last = 1, tables[0] if tables else len(lines) + 1
    if entry and tables:
        # Of an entry that is gone, the last one that is there tells where it stood.
        index = min(int(entry["number"]), len(tables)) - 1
        first, last = tables[index], [*tables[1:], len(lines) + 1][index]
    key = _KEY.match(told)
    if key:
        head = re.compile(rf"\s*{re.escape(key[1])}\s*=")
        return next((number for number in range(first, last) if head.match(lines[number - 1])), first)
    return first if entry else 1


def narrowed(finding: Finding) -> Finding:
    """A finding about two whole lines as one about what is different in them, with a few words around it."""
    said, expected = _line(finding.said), _line(finding.expected)
    if said is None or expected is None or said == expected:
        return replace(
            finding,
            said=finding.said if said is None else said or "an empty line",
            expected=finding.expected if expected is None else expected or "an empty line",
        )
    start = _alike(said, expected)
    tail = _alike(said[start:][::-1], expected[start:][::-1])
    start = max(_word(said, start), _word(expected, start))
    ends = [_word_end(line, len(line) - tail) for line in (said, expected)]
    return replace(
        finding,
        column=start + 1,
        length=ends[0] - start,
        said=_around(said, start, ends[0]) or "an empty line",
        expected=_around(expected, start, ends[1]) or "an empty line",
    )


def _word(line: str, at: int) -> int:
    """Where the word begins that `at` is in or behind."""
    return max((found.end() for found in _BETWEEN.finditer(line, 0, at)), default=0)


def _word_end(line: str, at: int) -> int:
    found = _BETWEEN.search(line, at)
    return found.start() if found else len(line)


def _line(shown: str) -> str | None:
    """The line of a text that a diff shows; None for other words."""
    found = re.fullmatch(r"`[+-](.*)`", shown, re.DOTALL)
    return found[1] if found else None


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _around(line: str, start: int, end: int) -> str:
    """A part of a line with what stands around it, cut at words."""
    first = _word_end(line, start - _CONTEXT) if start > _CONTEXT else 0
    last = _word(line, end + _CONTEXT) if end + _CONTEXT < len(line) else len(line)
    first, last = min(first, start), max(last, end)
    return f"{'…' if first else ''}{line[first:last].strip()}{'…' if last < len(line) else ''}"


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that say less of a place than an error there, or rest on a number that is wrong.

    What a reader derives from an edited number is no second fault; nor is a file's hash beside its publication.
    """
    wrong = [one for one in findings if one.level == "error" and one.length]
    published = {one.path for one in findings if (one.code, one.source) == ("kept", "data-changed")}

    def told(one: Finding) -> bool:
        if one.code == "stale" and one.source == DATA_HASH:
            return one.path in published
        if one.code != "derived":
            return False
        places = [(one.line, one.column, max(one.length, 1))]
        places += [(int(at["line"]), int(at["column"]), 1) for said in one.also if (at := _AT.search(said))]
        return any(_overlap(error, place) for error in wrong if error.path == one.path for place in places)

    return [one for one in findings if not told(one)]


def _overlap(one: Finding, place: tuple[int, int, int]) -> bool:
    line, column, length = place
    return one.line == line and one.column < column + length and column < one.column + one.length


def _of_rows(findings: Sequence[Finding]) -> list[Finding]:
    """The findings; that there is less to check than before follows from a row that is missing."""
    lost = next((one for one in findings if one.said.endswith(MISSING) and one.code in _COMPARED), None)
    if lost is None:
        return list(findings)
    return [replace(one, cause=lost.name, mend=lost.mend) if one.code == "nothing" else one for one in findings]


def _of_kept(finding: Finding, kept: Sequence[Finding], elsewhere: Sequence[Finding], part: Part) -> Finding:
    """A finding that an edited seal, record or entry leads to, here or in another part, mended with it."""
    if finding.cause or finding.code == "kept":
        return finding
    named: Sequence[str] = ()
    known = kept
    if finding.code == "rule" or (finding.code in _FROM_SOURCES and finding.source.split(" ")[-1] == "seal.date"):
        named = [part.show(part.seal)]
    elif finding.code == "stale" and finding.source.startswith(("the banner that ", "the entries that ")):
        named = [part.show(part.corrections), part.show(part.published)]
    elif finding.code in _FROM_SOURCES:
        others = others_named(part, [finding])
        dated = finding.source.endswith(".published")
        named = [other.show(other.published if dated else other.corrections) for other in others]
        known = elsewhere
    causes = [one for one in known if one.path in named]
    if not causes and (not named or finding.level != "error" or finding.code not in _FROM_SOURCES):
        return finding
    if not causes and read_published(part) is None and known is elsewhere:
        return finding
    also = tuple(said for said in finding.also if not said.startswith(_SINCE))
    if causes:
        return replace(finding, cause=causes[0].name, mend=causes[0].mend, also=also)
    shown = " or ".join(named)
    back = f"restore {shown} as it was written: `git log -p -- {' '.join(named)}` shows it"
    mend = f"notes correct {part.name}, or {back}" if known is elsewhere else back
    return replace(finding, mend=mend, also=also)


def _is_edit(finding: Finding, part: Part) -> bool:
    """Whether it tells that a published text is not as it was kept."""
    edited = finding.code == "kept" and finding.source in ("body-edited", "unicode-form")
    return edited and finding.path == part.show(part.post)


def _of_text(finding: Finding, cause: Finding, part: Part, edited: str) -> Finding:
    """A finding in an edited text, mended with it."""
    if finding.path != cause.path or finding.code not in _COMPARED or finding.mend != edited:
        return finding
    command = _CHECKOUT.search(cause.mend)
    mend = f"{command[0]} (the published text), then notes build {part.name}" if command else cause.mend
    return replace(finding, cause=cause.name, mend=mend)


def _is_about_data(finding: Finding) -> bool:
    """Whether it is about a data file that is not as it was."""
    return (finding.code, finding.source) in (("kept", "data-changed"), ("stale", DATA_HASH))


def _of_data(finding: Finding, causes: Sequence[Finding], part: Part, edited: str) -> Finding:
    """A finding that changed data lead to, mended with them."""
    if finding in causes or finding.cause or not any(_stands_on_data(finding, part, edited)):
        return finding
    mend = "; ".join(dict.fromkeys(one.mend for one in causes))
    also = tuple(said for said in finding.also if not said.startswith(_SINCE))
    return replace(finding, cause=causes[0].name, mend=mend, also=also)


def _stands_on_data(finding: Finding, part: Part, edited: str) -> Iterator[bool]:
    """Whether it is one of the findings that data decide: readings, plots, and text that stands as it was built."""
    yield finding.code == "stale" and finding.path == part.show(part.readings) and " of reading " in finding.source
    yield finding.code == "stale" and finding.path.startswith(f"{part.show(part.plots)}/")
    as_built = finding.path == part.show(part.post) and finding.code in ("changed", "word") and finding.mend != edited
    typed = finding.source.startswith("fact ") and finding.source != "fact data.digest"
    yield as_built and not typed and finding.level == "error"
