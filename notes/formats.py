"""Findings for those who read them: a terminal, JSON, GitHub's annotations, SARIF, JUnit."""

import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

import click

from campaign.notes.findings import CODES, NOTHING_COVERED, Finding, Report, counted
from campaign.notes.terminal import wrapped

CONTEXT = 1
"""Lines of the file that are shown before and after a finding's own."""
FEW = 3
"""So many findings that follow from another one are shown with their lines; more are listed below it."""
_COLOURS = {"error": "red", "warning": "yellow", "note": "blue"}
_DRAWN = 2
"""The narrowest gutter, so that findings on lines 7 and 41 stand alike."""


_FILE = re.compile(r"(?P<path>[^:`\n]+\.\w+)(?::(?P<line>\d+))?: ")
"""How a message begins that is about a file."""
_COMMAND = re.compile(r"`[^`\n]+`|git checkout (?:\S+ )?-- \S+")
_ROOT = "%SRCROOT%"
"""What the places of a SARIF document start from, by the name that those who read it know."""
_NO_HISTORY = ("kept", "since", "neighbour")
"""What cannot be found without the history."""


def colour(environment: Mapping[str, str] = os.environ) -> bool | None:
    """Whether to paint what is printed, where the user said so (NO_COLOR, FORCE_COLOR); None leaves it to the terminal.

    Both count where they are not empty; NO_COLOR wins.
    """
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return False if environment.get("TERM") == "dumb" else None


def terminal(reports: Iterable[Report], root: Path, width: int, *, notes: bool = False, wrap: bool = True) -> str:
    """Every finding with its line of the file and a caret below what is wrong, then what was covered.

    Notes, which only inform, are counted; with `notes` they are shown too. A finding that follows from another one is
    a line below that one. Without `wrap` only lines of the file are cut at the width: what a program takes up from a
    pipe, or a person searches in a log, stays on one line.
    """
    page = _Page(_lines_of(root), width, wrap)
    shown: list[str] = []
    for report in reports:
        told = [finding for finding in report.findings if notes or finding.level != "note"]
        hidden = len(report.findings) - len(told)
        under = _under(told)
        listed = {id(finding) for those in under.values() for finding in those}
        for finding in told:
            if id(finding) not in listed:
                shown += [*page.finding(finding, under.get(finding.name, ())), ""]
        shown += [f"  {code}: {CODES[code]}" for code in dict.fromkeys(finding.code for finding in told)]
        said = list(summary(report))
        if hidden:
            said.append(f"{counted(hidden, 'note')} not shown; --notes shows {'it' if hidden == 1 else 'them'}")
        for line in (*said, _outcome(report)):
            shown += page.text(line, f"{report.part}: ")
    return "\n".join(shown)


def _under(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """The findings that need no lines of their own, by the name of the one that they follow from.

    A few are shown whole, and so is one that stands in the same file.
    """
    found: dict[str, list[Finding]] = {}
    causes = {finding.name: finding for finding in findings if not finding.cause}
    for finding in findings:
        cause = causes.get(finding.cause)
        if cause and cause.path != finding.path:
            found.setdefault(cause.name, []).append(finding)
    return {name: those for name, those in found.items() if len(those) > FEW}


def summary(report: Report) -> list[str]:
    """What a check covered and what a reader of it should know, a line each."""
    return [*([] if report.coverage is NOTHING_COVERED else [str(report.coverage)]), *report.notes]


def _outcome(report: Report) -> str:
    """What came of a check, in one line; never that nothing was found where something could not be told."""
    missing = report.unreadable or report.cannot_tell
    about = _file_of(missing).path
    if report.unreadable:
        return f"not checked: {about or 'its input'} cannot be used as it is; the error message says why"
    if report.unchecked:
        needs = about or report.post
        return f"not checked: cannot tell without more than is here ({needs}); the error message says what"
    counts = [
        (sum(finding.level == level for finding in report.findings), name)
        for level, name in (("error", "finding"), ("warning", "warning"))
    ]
    told = ", ".join(counted(n, name) for n, name in counts if n)
    if report.cannot_tell:
        found = f"{told} in {report.post}" if told else "nothing wrong in what is here"
        return f"{found}, but not everything can be told; the error message says what is missing"
    return f"{told} in {report.post}" if told else f"no findings in {report.post}"


class _About(NamedTuple):
    """The file that a message begins with, and the line where it names one."""

    path: str = ""
    line: int = 1


def _file_of(told: str) -> _About:
    """What a message is about: `data/rows.csv:3: …`; nothing where it begins otherwise."""
    found = _FILE.match(told)
    if not found or Path(found["path"]).is_absolute():
        return _About()
    return _About(found["path"], int(found["line"] or 1))


def said_and_expected(finding: Finding) -> str:
    """`said '0.31', expected '0.13'`, cut where they are long; what cannot be seen is written as an escape."""
    return f"said {_short(finding.said)}, expected {_short(finding.expected)}"


def _short(said: str, most: int = 160) -> str:
    return repr(said if len(said) <= most else f"{said[: most - 1]}…")


class _Page:
    """How findings are laid out for people."""

    def __init__(self, lines: Callable[[str], Sequence[str]], width: int, wrap: bool) -> None:
        self._lines = lines
        self._width = width
        self._wrap = wrap
        self._before: tuple[object, ...] = ()

    def finding(self, finding: Finding, under: Sequence[Finding] = ()) -> list[str]:
        """One finding: where and what; its line with a caret; what it is bound to; what follows; how it is mended."""
        shown = self._head(finding)
        known = self._lines(finding.path)
        gutter = max(len(str(min(finding.line + CONTEXT, len(known)))), _DRAWN)
        shown += self._source(finding, known, gutter)
        first, later = f"{'':>{gutter}} = ", f"{'':>{gutter}}   "
        follows = [f"follows from {finding.cause}"] if finding.cause else []
        for said in [*([finding.source] if finding.source else []), *finding.also, *follows]:
            shown += self.text(said, first, later)
        if under:
            shown.append(f"{first}from it {'follows' if len(under) == 1 else 'follow'}:")
            shown += [line for one in under for line in self._head(one, later, source=True)]
        return shown + self.text(f"to mend: {finding.mend}", first, later)

    def _head(self, finding: Finding, indent: str = "", *, source: bool = False) -> list[str]:
        """Where a finding is, its level and code, and what is wrong."""
        kind = f"{finding.level}[{finding.code}]"
        behind = f" ({finding.source})" if source and finding.source else ""
        lines = [f"{indent}{finding.place}: {kind}: {said_and_expected(finding)}{behind}"]
        if self._wrap and _width(lines[0]) > self._width:
            # One below the other, what stands there and what should can be compared by eye.
            lines = [f"{indent}{finding.place}: {kind}:{behind}"]
            for name, said in (("said    ", finding.said), ("expected", finding.expected)):
                lines += self.text(f"{name} {_short(said)}", f"{indent}    ", f"{indent}{'':>13}")
        painted = click.style(kind, fg=_COLOURS[finding.level], bold=True)
        return [lines[0].replace(kind, painted, 1), *lines[1:]]

    def _source(self, finding: Finding, known: Sequence[str], gutter: int) -> Iterator[str]:
        """The line that a finding is about, between its neighbours, with carets below what is wrong."""
        if not 1 <= finding.line <= len(known):
            return
        where = (finding.path, finding.line, finding.column, finding.length)
        whole = finding.line == 1 and not _length(finding, known[0])
        if where == self._before or whole:
            return
        self._before = where
        bar = f"{'':>{gutter}} |"
        yield bar
        room = max(self._width - gutter - 3, 40)
        for number in range(max(1, finding.line - CONTEXT), min(len(known), finding.line + CONTEXT) + 1):
            text = known[number - 1]
            own = number == finding.line
            if not own and not text.strip():
                continue
            cut, at = _window(text, finding.column if own else 1, max(finding.length, 1), room)
            yield f"{number:>{gutter}} | {cut}".rstrip()
            length = _length(finding, text)
            if own and length:
                caret = "^" * max(1, _width(text[finding.column - 1 : finding.column - 1 + length]))
                caret = caret[: max(1, room - at)]
                yield f"{bar} {' ' * at}{click.style(caret, fg=_COLOURS[finding.level], bold=True)}"
        yield bar

    def text(self, said: str, first: str, later: str = "    ") -> list[str]:
        """A text in lines of the width, or in one; a command in backquotes is never broken: it can be copied."""
        if not self._wrap:
            return [f"{first}{said}"]
        whole = _COMMAND.sub(lambda found: found[0].replace(" ", _NO_BREAK), said)
        return [line.replace(_NO_BREAK, " ") for line in wrapped(whole, self._width, first, later)]


_NO_BREAK = "\ue000"
"""Stands for a space at which no line is broken; no text holds it."""


def _length(finding: Finding, line: str) -> int:
    """How many characters of the line are underlined; none where the finding is about the line as a whole."""
    if finding.length:
        return finding.length
    at = finding.column - 1
    return len(finding.said) if finding.said and line.startswith(finding.said, at) else int(at > 0)


def _width(text: str) -> int:
    """Columns that a terminal gives to `text`."""
    return sum(
        0 if unicodedata.combining(c) or unicodedata.category(c) in ("Cf", "Me", "Mn")
        else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )  # fmt: skip


def _window(text: str, column: int, length: int, room: int) -> tuple[str, int]:
    """As much of a line as has room, with the part at `column` in it; and at what terminal column that part stands."""
    text = "".join(" " if unicodedata.category(c) == "Cc" else c for c in text)
    at = column - 1
    if _width(text) <= room:
        return text, _width(text[:at])
    start = max(0, min(at - room // 3, len(text) - room + 2)) if at + length > room * 2 // 3 else 0
    cut = ("…" if start else "") + text[start:]
    if _width(cut) > room:
        while _width(cut) > room - 1:
            cut = cut[: len(cut) - max(1, (_width(cut) - room) // 2)]
        cut += "…"
    return cut, _width(("…" if start else "") + text[start:at])


def _lines_of(root: Path) -> Callable[[str], Sequence[str]]:
    """The lines of a file that a finding names; none where it cannot be read as text."""

    @cache
    def lines(path: str) -> Sequence[str]:
        try:
            return (root / path).read_bytes().decode("utf-8", errors="replace").replace("\r\n", "\n").split("\n")
        except OSError:
            return ()

    return lines


def as_dict(report: Report) -> dict[str, Any]:
    """A report as JSON holds it."""
    return {
        "part": report.part,
        "coverage": report.coverage.counts(),
        "findings": [vars(finding) | {"also": list(finding.also)} for finding in report.findings],
        "notes": list(report.notes),
        "cannot_tell": report.cannot_tell,
        "unreadable": report.unreadable,
    }


def as_json(reports: Iterable[Report]) -> str:
    """One JSON object a line for each part."""
    return "\n".join(json.dumps(as_dict(report), ensure_ascii=False) for report in reports)


class _Told(NamedTuple):
    """Why something of a part could not be checked."""

    id: str
    """unreadable, or cannot-tell."""
    text: str
    about: _About


def _undecided(report: Report) -> list[_Told]:
    """What could not be read or told of a part, with the part's name."""
    found = (("unreadable", report.unreadable), ("cannot-tell", report.cannot_tell))
    return [_Told(name, f"{report.part}: {said}", _file_of(said)) for name, said in found if said]


def _from_top(root: Path | None) -> Callable[[str], str]:
    """A file as those who read a whole repository name it: from the folder that git keeps; else as it was named."""
    if root is None:
        return lambda path: path
    here = root.resolve()
    top = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)

    def named(path: str) -> str:
        whole = Path(os.path.normpath(here / path))
        return whole.relative_to(top).as_posix() if whole.is_relative_to(top) else path

    return named


def github(reports: Iterable[Report], root: Path | None = None) -> str:
    """Workflow commands that GitHub shows beside the lines of a change, and the coverage for the log.

    Files are named from the top of the repository that holds `root`.
    """
    commands = {"error": "error", "warning": "warning", "note": "notice"}
    named = _from_top(root)
    shown = []
    for report in reports:
        for finding in report.findings:
            place = {
                "file": named(finding.path),
                "line": finding.line,
                "col": finding.column,
                **({"endColumn": finding.column + finding.length} if finding.length else {}),
                "title": f"notes: {finding.code}",
            }
            shown.append(_workflow(commands[finding.level], place, message(finding)))
        for told in _undecided(report):
            about = {"file": named(told.about.path), "line": told.about.line} if told.about.path else {}
            shown.append(_workflow("error", about | {"title": f"notes: {told.id.replace('-', ' ')}"}, told.text))
        shown += [f"{report.part}: {said}" for said in (*summary(report), _outcome(report))]
    return "\n".join(shown)


def _workflow(command: str, place: Mapping[str, object], text: str) -> str:
    where = ",".join(f"{key}={_property(str(value))}" for key, value in place.items())
    return f"::{command} {where}::{_data(text)}"


def message(finding: Finding) -> str:
    """What a finding says, in lines of plain text."""
    source = f" ({finding.source})" if finding.source else ""
    follows = [f"Follows from {finding.cause}."] if finding.cause else []
    return "\n".join([f"{said_and_expected(finding)}{source}.", *finding.also, *follows, f"To mend: {finding.mend}"])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(reports: Sequence[Report], root: Path | None = None, exit_code: int | None = None) -> str:
    """One SARIF 2.1.0 document, as code-scanning services take it; places start at the top of the repository."""
    rules = sorted(CODES)
    named = _from_top(root)
    results = [_result(finding, report, rules, named) for report in reports for finding in report.findings]
    undecided = [told for report in reports for told in _undecided(report)]
    invocation = {
        "executionSuccessful": not undecided,
        **({} if exit_code is None else {"exitCode": exit_code}),
        "toolExecutionNotifications": [_notification(told, named) for told in undecided],
    }
    run = {
        "tool": {
            "driver": {
                "name": "notes",
                "version": version("campaign-notes"),
                "rules": [{"id": code, "shortDescription": {"text": CODES[code]}} for code in rules],
                "notifications": [
                    {"id": "unreadable", "shortDescription": {"text": "input that cannot be used as it is"}},
                    {"id": "cannot-tell", "shortDescription": {"text": "what cannot be decided with what is here"}},
                ],
            }
        },
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "the top of the repository"}}},
        "results": results,
        "properties": {"coverage": {report.part: report.coverage.counts() for report in reports}},
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, ensure_ascii=False, indent=1)


def _notification(told: _Told, named: Callable[[str], str]) -> dict[str, Any]:
    """What a run could not read or tell, as SARIF says it."""
    region = {"startLine": told.about.line}
    place = {"artifactLocation": _artifact(named(told.about.path)), "region": region}
    return {
        "descriptor": {"id": told.id},
        "level": "error",
        "message": {"text": told.text},
        **({"locations": [{"physicalLocation": place}]} if told.about.path else {}),
    }


def _artifact(path: str) -> dict[str, str]:
    """A file as SARIF names it: a URI reference, from the top of the repository where it lies in it."""
    if Path(path).is_absolute():
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(path.encode(errors="surrogateescape")), "uriBaseId": _ROOT}


def _result(finding: Finding, report: Report, rules: Sequence[str], named: Callable[[str], str]) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": finding.line, "startColumn": finding.column}
    if finding.length:
        region["endColumn"] = finding.column + finding.length
    path = named(finding.path)
    place = {"artifactLocation": _artifact(path), "region": region}
    return {
        "ruleId": finding.code,
        "ruleIndex": rules.index(finding.code),
        "level": finding.level,
        "message": {"text": message(finding)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"said/v1": f"{path}:{finding.code}:{finding.source}:{finding.said}"},
        "properties": {
            "part": report.part,
            "said": finding.said,
            "expected": finding.expected,
            "mend": finding.mend,
            **({"cause": finding.cause} if finding.cause else {}),
        },
    }


def junit(reports: Sequence[Report]) -> str:
    """JUnit's XML: a suite for each part, a failed case for each error, a passed one for each kind without any.

    What could not be read or told is a case with an error; then no kind passes that was not checked.
    """
    suites = ElementTree.Element("testsuites", name="notes check")
    for report in reports:
        suite = ElementTree.SubElement(suites, "testsuite", name=report.part)
        errors = [finding for finding in report.findings if finding.level == "error"]
        undecided = _undecided(report)
        left = set(CODES if report.unchecked else _NO_HISTORY if undecided else ())
        for code in sorted(set(CODES) - {finding.code for finding in errors} - left):
            ElementTree.SubElement(suite, "testcase", classname=report.part, name=code)
        for finding in errors:
            name = f"{finding.code} {finding.place}"
            case = ElementTree.SubElement(suite, "testcase", classname=report.part, name=name, file=finding.path)
            said = _xml(said_and_expected(finding))
            failure = ElementTree.SubElement(case, "failure", type=finding.code, message=said)
            failure.text = _xml(message(finding))
        for told in undecided:
            name = told.id.replace("-", " ")
            about = {"file": told.about.path} if told.about.path else {}
            case = ElementTree.SubElement(suite, "testcase", classname=report.part, name=name, **about)
            ElementTree.SubElement(case, "error", type=name, message=_xml(told.text)).text = _xml(told.text)
        rest = [f"{one.place}: {one.level}[{one.code}]: {message(one)}"
                for one in report.findings if one.level != "error"]  # fmt: skip
        ElementTree.SubElement(suite, "system-out").text = _xml("\n".join([*summary(report), *rest]))
        suite.set("tests", str(len(suite.findall("testcase"))))
        suite.set("failures", str(len(errors)))
        suite.set("errors", str(len(undecided)))
    for count in ("tests", "failures", "errors"):
        suites.set(count, str(sum(int(suite.get(count, "0")) for suite in suites)))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True)


def _xml(text: str) -> str:
    """`text` without the characters that XML has no way to say."""
    return "".join(c if _is_xml(c) else "\ufffd" for c in text)


def _is_xml(character: str) -> bool:
    if character < " ":
        return character in "\t\n\r"
    return not ("\ud800" <= character <= "\udfff" or character in "\ufffe\uffff")


def shown_as(
    name: str,
    reports: Sequence[Report],
    root: Path,
    width: int,
    *,
    notes: bool = False,
    wrap: bool = True,
    exit_code: int | None = None,
) -> str:
    """The reports in one of FORMATS; `exit_code` is that of the run, for those who want it in the document."""
    match name:
        case "json":
            return as_json(reports)
        case "github":
            return github(reports, root)
        case "sarif":
            return sarif(reports, root, exit_code)
        case "junit":
            return junit(reports)
    return terminal(reports, root, width, notes=notes, wrap=wrap)
