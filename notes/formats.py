"""Findings for those who read them: a terminal, JSON, GitHub's annotations, SARIF, JUnit."""

import json
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click

from campaign.notes.findings import CODES, NOTHING_COVERED, Finding, Report
from campaign.notes.terminal import wrapped

CONTEXT = 1
"""Lines of the file that are shown before and after a finding's own."""
_COLOURS = {"error": "red", "warning": "yellow", "note": "blue"}
_DRAWN = 2
"""The narrowest gutter, so that findings on lines 7 and 41 stand alike."""


def terminal(reports: Iterable[Report], root: Path, width: int, *, notes: bool = False) -> str:
    """Every finding with its line of the file and a caret below what is wrong, then what was covered.

    Notes, which only inform, are counted; with `notes` they are shown too.
    """
    lines = _lines_of(root)
    shown: list[str] = []
    for report in reports:
        hidden = 0
        for finding in report.findings:
            if finding.level == "note" and not notes:
                hidden += 1
                continue
            shown += [*_shown(finding, lines, width), ""]
        found = dict.fromkeys(finding.code for finding in report.findings if notes or finding.level != "note")
        shown += [f"  {code}: {CODES[code]}" for code in found]
        shown += [f"{report.part}: {said}" for said in summary(report)]
        if hidden:
            shown.append(f"{report.part}: {hidden} note{'' if hidden == 1 else 's'} not shown; --notes shows them")
        shown.append(f"{report.part}: {_outcome(report)}")
    return "\n".join(shown)


def summary(report: Report) -> list[str]:
    """What a check covered and what a reader of it should know, a line each."""
    return [*([] if report.coverage is NOTHING_COVERED else [str(report.coverage)]), *report.notes]


def _outcome(report: Report) -> str:
    counts = [
        (sum(finding.level == level for finding in report.findings), name)
        for level, name in (("error", "finding"), ("warning", "warning"))
    ]
    told = ", ".join(f"{n} {name}{'' if n == 1 else 's'}" for n, name in counts if n)
    return f"{told} in {report.post}" if told else f"no findings in {report.post}"


def _shown(finding: Finding, lines: Callable[[str], Sequence[str]], width: int) -> list[str]:
    """One finding: where and what; its line with a caret; what it is bound to; how it is mended."""
    colour = _COLOURS[finding.level]
    head = f"{finding.path}:{finding.line}:{finding.column}: "
    kind = click.style(f"{finding.level}[{finding.code}]", fg=colour, bold=True)
    shown = [f"{head}{kind}: said {_short(finding.said)}, expected {_short(finding.expected)}"]
    known = lines(finding.path)
    gutter = max(len(str(min(finding.line + CONTEXT, len(known)))), _DRAWN)
    bar = f"{'':>{gutter}} |"
    if 1 <= finding.line <= len(known):
        shown.append(bar)
        first, last = max(1, finding.line - CONTEXT), min(len(known), finding.line + CONTEXT)
        room = max(width - gutter - 3, 40)
        for number in range(first, last + 1):
            text = known[number - 1]
            own = number == finding.line
            if not own and not text.strip():
                continue
            cut, at = _window(text, finding.column if own else 1, max(finding.length, 1), room)
            shown.append(f"{number:>{gutter}} | {cut}".rstrip())
            length = _length(finding, text)
            if own and length:
                caret = "^" * max(1, _width(text[finding.column - 1 : finding.column - 1 + length]))
                caret = caret[: max(1, room - at)]
                shown.append(f"{bar} {' ' * at}{click.style(caret, fg=colour, bold=True)}")
        shown.append(bar)
    told = [finding.source] if finding.source else []
    told += [*finding.also, f"to mend: {finding.mend}"]
    for said in told:
        shown += wrapped(said, width, f"{'':>{gutter}} = ", f"{'':>{gutter}}   ")
    return shown


def _length(finding: Finding, line: str) -> int:
    """How many characters of the line are underlined; none where the finding is about the line as a whole."""
    if finding.length:
        return finding.length
    at = finding.column - 1
    return len(finding.said) if finding.said and line.startswith(finding.said, at) else int(at > 0)


def _short(said: str, most: int = 160) -> str:
    said = said if len(said) <= most else f"{said[: most - 1]}…"
    return repr(said)


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
    }


def as_json(reports: Iterable[Report]) -> str:
    """One JSON object a line for each part."""
    return "\n".join(json.dumps(as_dict(report), ensure_ascii=False) for report in reports)


def github(reports: Iterable[Report]) -> str:
    """Workflow commands that GitHub shows beside the lines of a change, and the coverage for the log."""
    commands = {"error": "error", "warning": "warning", "note": "notice"}
    shown = []
    for report in reports:
        for finding in report.findings:
            place = {
                "file": finding.path,
                "line": finding.line,
                "col": finding.column,
                **({"endColumn": finding.column + finding.length} if finding.length else {}),
                "title": f"notes: {finding.code}",
            }
            where = ",".join(f"{key}={_property(str(value))}" for key, value in place.items())
            shown.append(f"::{commands[finding.level]} {where}::{_data(message(finding))}")
        if report.cannot_tell:
            shown.append(f"::error title=notes%3A cannot tell::{_data(f'{report.part}: {report.cannot_tell}')}")
        shown += [f"{report.part}: {said}" for said in (*summary(report), _outcome(report))]
    return "\n".join(shown)


def message(finding: Finding) -> str:
    """What a finding says, in lines of plain text."""
    source = f" ({finding.source})" if finding.source else ""
    said = f"said {finding.said!r}, expected {finding.expected!r}{source}."
    return "\n".join([said, *finding.also, f"To mend: {finding.mend}"])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(reports: Sequence[Report]) -> str:
    """One SARIF 2.1.0 document, as code-scanning services take it."""
    rules = sorted(CODES)
    results = [_result(finding, report, rules) for report in reports for finding in report.findings]
    undecided = [f"{report.part}: {report.cannot_tell}" for report in reports if report.cannot_tell]
    run = {
        "tool": {
            "driver": {
                "name": "notes",
                "version": version("campaign-notes"),
                "rules": [{"id": code, "shortDescription": {"text": CODES[code]}} for code in rules],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not undecided,
                "toolExecutionNotifications": [{"level": "error", "message": {"text": said}} for said in undecided],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"description": {"text": "the folder that holds campaign.toml"}}},
        "results": results,
        "properties": {"coverage": {report.part: report.coverage.counts() for report in reports}},
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, ensure_ascii=False, indent=1)


def _result(finding: Finding, report: Report, rules: Sequence[str]) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": finding.line, "startColumn": finding.column}
    if finding.length:
        region["endColumn"] = finding.column + finding.length
    place = {"artifactLocation": {"uri": finding.path, "uriBaseId": "ROOT"}, "region": region}
    return {
        "ruleId": finding.code,
        "ruleIndex": rules.index(finding.code),
        "level": finding.level,
        "message": {"text": message(finding)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"said/v1": f"{finding.path}:{finding.code}:{finding.source}:{finding.said}"},
        "properties": {"part": report.part, "said": finding.said, "expected": finding.expected, "mend": finding.mend},
    }


def junit(reports: Sequence[Report]) -> str:
    """JUnit's XML: a suite for each part, a failed case for each error, a passed one for each kind without any."""
    suites = ElementTree.Element("testsuites", name="notes check")
    for report in reports:
        suite = ElementTree.SubElement(suites, "testsuite", name=report.part)
        errors = [finding for finding in report.findings if finding.level == "error"]
        cases = sorted(set(CODES) - {finding.code for finding in errors})
        for code in cases:
            ElementTree.SubElement(suite, "testcase", classname=report.part, name=code)
        for finding in errors:
            name = f"{finding.code} {finding.path}:{finding.line}:{finding.column}"
            case = ElementTree.SubElement(suite, "testcase", classname=report.part, name=name, file=finding.path)
            said = f"said {finding.said!r}, expected {finding.expected!r}"
            failure = ElementTree.SubElement(case, "failure", type=finding.code, message=_xml(said))
            failure.text = _xml(message(finding))
        if report.cannot_tell:
            case = ElementTree.SubElement(suite, "testcase", classname=report.part, name="cannot tell")
            ElementTree.SubElement(case, "error", type="cannot tell", message=_xml(report.cannot_tell))
        rest = [f"{f.path}:{f.line}:{f.column}: {f.level}[{f.code}]: {message(f)}"
                for f in report.findings if f.level != "error"]  # fmt: skip
        ElementTree.SubElement(suite, "system-out").text = _xml("\n".join([*summary(report), *rest]))
        undecided = int(bool(report.cannot_tell))
        suite.set("tests", str(len(cases) + len(errors) + undecided))
        suite.set("failures", str(len(errors)))
        suite.set("errors", str(undecided))
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


def shown_as(name: str, reports: Sequence[Report], root: Path, width: int, *, notes: bool = False) -> str:
    """The reports in one of FORMATS."""
    match name:
        case "json":
            return as_json(reports)
        case "github":
            return github(reports)
        case "sarif":
            return sarif(reports)
        case "junit":
            return junit(reports)
    return terminal(reports, root, width, notes=notes)
