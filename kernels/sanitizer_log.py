"""What compute-sanitizer wrote, read: its findings, their number, and whether it came to an end."""

import re
from dataclasses import dataclass
from typing import NamedTuple

_LINE = re.compile(r"^=========( ?)(.*)$", re.MULTILINE)
_SUMMARY = re.compile(
    r"(ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)s?(?: displayed \((\d+) errors?, (\d+) warnings?\))?"
)
_PLACE = re.compile(r"\b(?:at|and (?:Read|Write) access at|between (?:Read|Write) access at) ([A-Za-z_]\w*)[(+]")
_NOT_OURS = (
    "Program hit",
    "COMPUTE-SANITIZER",
    "Target application returned an error",
    "Error: process didn't terminate successfully",
    "LEAK SUMMARY",
    "This tool is",
    "Process ID",
)
"""How lines begin that are no finding: what the tool says of itself, and failed calls that follow from a fault."""
_REFUSALS = (
    "Device not supported",
    "No attachable process",
    "Unable to find injection",
    "Internal Sanitizer Error",
    "Results might be incorrect",
)
"""What it says where it could not look, or not well enough."""


class Finding(NamedTuple):
    """One report of the tool."""

    said: str
    """Its first line."""
    kernels: tuple[str, ...]
    """The kernels that it names."""


@dataclass(frozen=True)
class Log:
    """What a run of the tool said."""

    findings: tuple[Finding, ...]
    errors: int
    """How many it counts; more than are listed where it cut the list short."""
    warnings: int
    ended: bool
    """Whether it wrote its summary: without one, silence says nothing."""
    refusal: str
    """Why it could not look, in its words; empty where it could."""


def read(text: str) -> Log:
    """What the log `text` says."""
    findings: list[Finding] = []
    for space, line in _LINE.findall(text):
        indented = line.startswith(" ")
        if space and line and not indented:
            if line.startswith(_NOT_OURS) or _SUMMARY.search(line):
                findings.append(Finding("", ()))
            else:
                findings.append(Finding(line.strip(), tuple(_PLACE.findall(line))))
        elif findings and findings[-1].said:
            said, kernels = findings[-1]
            findings[-1] = Finding(said, tuple(dict.fromkeys((*kernels, *_PLACE.findall(line)))))
    summaries = [(int(all_), errors, int(warnings or 0)) for _, all_, errors, warnings in _SUMMARY.findall(text)]
    return Log(
        findings=tuple(finding for finding in findings if finding.said),
        errors=sum(int(errors) if errors else count for count, errors, _ in summaries),
        warnings=sum(warnings for _, _, warnings in summaries),
        ended=bool(summaries),
        refusal=next((line.strip() for _, line in _LINE.findall(text) if any(word in line for word in _REFUSALS)), ""),
    )
