"""One change and what follows from it: findings with one cause are told as one thing, with one way to mend it.

A changed file of data turns every number that stands on it; an edit of a published text is a matter of the text that is
kept and of each number in it. Each of these stays a finding of its own, and names the one that it follows from.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from campaign.notes.errors import CannotTell
from campaign.notes.findings import Finding
from campaign.notes.history import History, Repository
from campaign.notes.paths import Part

DATA_HASH = "the data's hash"
"""The source of a finding about a data file that is not as it was built from."""
_COMPARED = ("changed", "word", "structure", "unit", "unbound", "undeclared", "nothing")
_CHECKOUT = re.compile(r"git checkout \S+ -- [^`;,(]*[^`;,( ]")
_AT = re.compile(r" at (?P<line>\d+):(?P<column>\d+)$")
_BETWEEN = re.compile(r"[\s,|]+")
_CONTEXT = 24
"""How many characters are shown on each side of a difference, to a word's end."""


def with_causes(part: Part, findings: Sequence[Finding], edited: str) -> list[Finding]:
    """The findings, those that follow from another one with its name and its mend, and none told twice at one place.

    `edited` is the mend that findings have whose place in the text is not as it was built.
    """
    found = _once(findings)
    text = next((one for one in found if _is_edit(one, part)), None)
    if text is not None:
        found = [_of_text(one, text, part, edited) for one in found]
    data = [one for one in found if _is_about_data(one)]
    if data:
        found = [_of_data(one, data, part, edited) for one in found]
    return found


def order(part: Part, findings: Sequence[Finding]) -> list[Finding]:
    """The findings by their places, the post first; what others follow from stands before all."""
    causes = {finding.cause for finding in findings}
    post = part.show(part.post)
    return sorted(findings, key=lambda one: (one.name not in causes, one.path != post, one.path, one.line, one.column))


def located(finding: Finding, root: Path, repository: History) -> Finding:
    """A finding about a whole file of text that git can bring back, at the first line that is different."""
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


def _is_edit(finding: Finding, part: Part) -> bool:
    """Whether it tells that a published text is not as it was kept."""
    return (finding.code, finding.source, finding.path) == ("kept", "body-edited", part.show(part.post))


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
    also = tuple(said for said in finding.also if not said.startswith("right when it was published: "))
    return replace(finding, cause=causes[0].name, mend=mend, also=also)


def _stands_on_data(finding: Finding, part: Part, edited: str) -> Iterator[bool]:
    """Whether it is one of the findings that data decide: readings, plots, and text that stands as it was built."""
    yield finding.code == "stale" and finding.path == part.show(part.readings) and " of reading " in finding.source
    yield finding.code == "stale" and finding.path.startswith(f"{part.show(part.plots)}/")
    as_built = finding.path == part.show(part.post) and finding.code in ("changed", "word") and finding.mend != edited
    typed = finding.source.startswith("fact ") and finding.source != "fact data.digest"
    yield as_built and not typed and finding.level == "error"
