"""compute-sanitizer over the reduced sweep: each tool, with planted faults that show whether it sees anything.

A tool's silence on our kernels counts only where it reported the faults that it must, and stayed silent on the same
kernels without their fault.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from campaign.kernels import sanitizer_log
from campaign.kernels.errors import CampaignError
from campaign.kernels.faults import FAULTS, Fault
from campaign.kernels.launches import groups
from campaign.kernels.toolkit import tool as toolkit_tool

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SWEEP_OF = {"memcheck": "wide", "synccheck": "wide", "initcheck": "wide", "racecheck": "narrow"}
"""Racecheck slows kernels with much shared memory most: it gets the smaller sweep."""
OPTIONS = {
    "memcheck": (("--padding", "4096"),),
    "racecheck": (),
    "synccheck": (),
    "initcheck": (),
}
"""Settings of each tool; one that the installed version does not know is left out."""
COMMON = (("--launch-timeout", "60"), ("--print-limit", "20"), ("--target-processes", "all"))
EXIT_OF_FINDINGS = 9
CONTROL_SECONDS = 60
MOST_SAID = 10
"""Findings that a record keeps in words."""

OK, WRONG, CANNOT = 0, 1, 2


class Run(NamedTuple):
    """One process that a tool watches; no tool: it runs by itself."""

    tool: str
    arguments: tuple[str, ...]
    """What the swept process is asked for."""
    limit_seconds: float


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    lines: tuple[dict[str, Any], ...]
    """What the swept process said."""
    log: sanitizer_log.Log
    ended: bool
    """Whether process and tool came to their end in time."""
    seconds: float
    said: str
    """The end of what the process wrote beside its lines: why it stopped, where it did."""
    text: str = ""
    """The tool's log as it is."""

    @property
    def begun(self) -> list[str]:
        """The launches that began, in order."""
        return [line["begun"] for line in self.lines if "begun" in line]

    @property
    def launches(self) -> list[dict[str, Any]]:
        """The launches that ended, with their rows and wrong rows."""
        return [line for line in self.lines if "ended" in line]


Runner = Callable[[Run], Outcome]


def sanitize(
    *,
    seconds: float = 420,
    limit_seconds: float = 120,
    jobs: int = 4,
    logs: Path | None = None,
    said: Callable[[str], None] = lambda _: None,
    runner: Runner | None = None,
) -> dict[str, Any]:
    """The record of all tools: launches, findings, controls seen or not, and the environment.

    seconds: when to stop in any case; what has not ended by then is recorded as not finished. limit_seconds: the most
    that one sweep process may take. jobs: processes at a time. logs: a file that every log goes to as it is. runner:
    what runs one process, for tests.

    Raises CampaignError where there is no compute-sanitizer, or it refuses this device.
    """
    tool_version = version()
    began = time.monotonic()
    until = began + seconds

    def timed(each: Run) -> Outcome:
        left = until - time.monotonic()
        if left < 1:
            return Outcome((), sanitizer_log.read(""), False, 0.0, "there was no time left to begin")
        outcome = (runner or watched)(each._replace(limit_seconds=min(each.limit_seconds, left)))
        if logs:
            with logs.open("a") as file:
                file.write(f"##### {each.tool or 'no tool'} {' '.join(each.arguments)}\n{outcome.text}{outcome.said}\n")
        told = f"{len(outcome.launches)} launches in {outcome.seconds:.0f} s" + (
            "" if outcome.ended else ", NOT FINISHED"
        )
        found = f", {len(outcome.log.findings)} findings" if outcome.log.findings else ""
        said(f"{each.tool or 'no tool'}: {' '.join(each.arguments)}: {told}{found}")
        return outcome

    plain = _plain(timed)
    _refused_not(timed(_control(FAULTS[0], sound=True)))
    runs = [*_controls(), *_sweeps(limit_seconds)]
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = dict(zip(runs, pool.map(timed, runs), strict=True))
    return {
        **_surroundings(plain),
        "sanitizer": tool_version,
        "seconds": round(time.monotonic() - began, 1),
        "without_a_tool": _counts([plain]),
        "tools": {name: _of_tool(name, outcomes, limit_seconds) for name in TOOLS},
    }


def _controls() -> list[Run]:
    """Each fault, planted and left out."""
    return [_control(fault, sound=sound) for fault in FAULTS for sound in (False, True)]


def _control(fault: Fault, *, sound: bool) -> Run:
    """The run of one fault's kernel."""
    return Run(fault.tool, ("fault", fault.name, *(["sound"] if sound else [])), CONTROL_SECONDS)


def _sweeps(limit_seconds: float) -> list[Run]:
    """The sweep of each tool: in one process; for racecheck, one for each build unit, the longest first."""
    whole = [Run(name, ("sweep", SWEEP_OF[name]), limit_seconds) for name in TOOLS if name != "racecheck"]
    parts = [Run("racecheck", ("sweep", "narrow", group), limit_seconds) for group in reversed(groups("narrow"))]
    return [*parts, *whole]


def _plain(run: Runner) -> Outcome:
    """The wide sweep without a tool; CampaignError where not even that runs."""
    plain = run(Run("", ("sweep", "wide"), 120))
    if not plain.ended or not plain.launches:
        raise CampaignError(f"the sweep does not run here, without any tool:\n{plain.said or 'it said nothing'}")
    return plain


def _refused_not(outcome: Outcome) -> None:
    """Raises CampaignError where the tool would not look at a kernel without a fault."""
    if outcome.log.refusal or not outcome.log.ended:
        why = outcome.log.refusal or outcome.said or "it said nothing"
        raise CampaignError(
            f"compute-sanitizer does not look at kernels here: {why}. Expected it to watch a small kernel. It refuses "
            "devices in some virtual machines (gVisor among them): run it on a host with the GPU itself."
        )


def _surroundings(plain: Outcome) -> dict[str, Any]:
    """The environment that the swept process said."""
    return next((line["surroundings"] for line in plain.lines if "surroundings" in line), {})


def _counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Launches and rows, and how many rows were wrong."""
    launches = [launch for outcome in outcomes for launch in outcome.launches]
    return {
        "launches": len(launches),
        "rows": sum(launch["rows"] for launch in launches),
        "wrong_rows": sum(launch["wrong_rows"] for launch in launches),
    }


def _of_tool(name: str, outcomes: dict[Run, Outcome], limit_seconds: float) -> dict[str, Any]:
    """What one tool did and saw."""
    swept = [outcome for run, outcome in outcomes.items() if run.tool == name and run.arguments[0] == "sweep"]
    controls = [_seen(fault, outcomes) for fault in FAULTS if fault.tool == name]
    remote = [control["reported"] for control in controls if control["remote"]]
    return {
        **_counts(swept),
        "errors": sum(outcome.log.errors for outcome in swept),
        "warnings": sum(outcome.log.warnings for outcome in swept),
        "findings": [_words(each) for outcome in swept for each in outcome.log.findings][:MOST_SAID],
        "not_finished": [_stopped(outcome, limit_seconds) for outcome in swept if not outcome.ended],
        "seconds": round(sum(outcome.seconds for outcome in swept), 1),
        "sees_remote_shared_memory": any(remote) if remote else None,
        "controls": controls,
    }


def _seen(fault: Fault, outcomes: dict[Run, Outcome]) -> dict[str, Any]:
    """Whether a tool reported a fault, and whether it reported the same kernel without it."""
    planted, sound = (outcomes[_control(fault, sound=each)] for each in (False, True))
    reports = _reports(fault, planted)
    return {
        "fault": fault.name,
        "what": fault.what,
        "remote": fault.remote,
        "required": fault.required,
        "ended": (planted.ended or bool(reports)) and sound.ended,
        "reported": bool(reports),
        "said": reports[0] if reports else "",
        "reported_without_fault": bool(_reports(fault, sound)),
    }


def _reports(fault: Fault, outcome: Outcome) -> list[str]:
    """The findings that name the fault's kernel, in words."""
    return [_words(each) for each in outcome.log.findings if fault.name in each.kernels]


def _words(finding: sanitizer_log.Finding) -> str:
    """A finding in one line."""
    missing = [kernel for kernel in finding.kernels if kernel not in finding.said]
    return finding.said + (f" at {', '.join(missing)}" if missing else "")


def _stopped(outcome: Outcome, limit_seconds: float) -> str:
    """Where a sweep that did not end was, and what it said last."""
    ended = {launch["ended"] for launch in outcome.launches}
    inside = next((name for name in outcome.begun if name not in ended), "before its first launch")
    why = outcome.log.refusal or outcome.said or f"stopped after {outcome.seconds:.0f} s"
    return f"{inside}: {why}"


def verdict(record: dict[str, Any]) -> tuple[int, list[str]]:
    """The exit code of a record, and its reasons: 1 a finding or a fault not seen, 2 cannot tell, else 0."""
    wrong, unsure = [], []
    for where, counts in (("without a tool", record["without_a_tool"]), *record["tools"].items()):
        if counts["wrong_rows"]:
            wrong.append(f"{where}: {counts['wrong_rows']} of {counts['rows']} rows differ from the oracle's")
        if not counts["launches"]:
            unsure.append(f"{where}: no launch ended")
    for name, tool in record["tools"].items():
        if tool["errors"] or tool["warnings"] or tool["findings"]:
            first = tool["findings"][0] if tool["findings"] else "not listed"
            wrong.append(
                f"{name}: {tool['errors']} errors and {tool['warnings']} warnings on our kernels; first: {first}"
            )
        unsure += [f"{name}: not finished: {where}" for where in tool["not_finished"]]
        for control in tool["controls"]:
            if not control["ended"]:
                unsure.append(f"{name}: the control {control['fault']} did not come to its end")
            elif not control["reported"] and control["required"]:
                wrong.append(f"{name}: did not report {control['what']} ({control['fault']}): its silence says nothing")
            if control["reported_without_fault"]:
                unsure.append(f"{name}: reports {control['fault']} also without its fault")
    return (WRONG if wrong else CANNOT if unsure else OK), [*wrong, *unsure]


def table(record: dict[str, Any]) -> str:
    """The record in lines for a terminal: a line a tool and a line a control."""
    lines = [f"{'tool':<12}{'launches':>9}{'rows':>7}{'wrong':>7}{'errors':>8}{'warnings':>10}{'seconds':>9}"]
    for name, tool in record["tools"].items():
        state = "   NOT FINISHED" if tool["not_finished"] else ""
        lines.append(
            f"{name:<12}{tool['launches']:>9}{tool['rows']:>7}{tool['wrong_rows']:>7}{tool['errors']:>8}"
            f"{tool['warnings']:>10}{tool['seconds']:>9.1f}{state}"
        )
        for control in tool["controls"]:
            seen = "reported" if control["reported"] else "NOT REPORTED"
            also = ", ALSO WITHOUT ITS FAULT" if control["reported_without_fault"] else ""
            lines.append(f"  planted {control['fault']:<26}{seen}{also}")
    return "\n".join(lines)


def paragraph(record: dict[str, Any]) -> str:
    """What the record says, in Markdown, for the page of measurements."""
    code, reasons = verdict(record)
    head = {OK: "nothing reported on our kernels", WRONG: "**not clean**", CANNOT: "**not all of it finished**"}[code]
    lines = [
        f"compute-sanitizer {record['sanitizer']} over a reduced sweep on one {record['gpu']} ({record['when']}, "
        f"sources {record['sources']}): {head}. Each tool was given planted faults, and the same kernels without their "
        "fault; answers were compared with the oracle's as they were made. "
        f"{' and '.join(name for name in TOOLS if SWEEP_OF[name] == 'narrow')} saw a narrow sweep: two shapes of each "
        "size of cluster, mostly one small row; the other tools saw every shape.",
        "| tool | launches | rows | wrong rows | errors | warnings | planted faults reported | not reported | "
        "sees other blocks' shared memory |\n|---|---:|---:|---:|---:|---:|---|---|---|\n"
        + "\n".join(_line(name, tool) for name, tool in record["tools"].items()),
    ]
    if reasons:
        lines.append("\n".join(f"- {reason}" for reason in reasons))
    return "\n\n".join(lines)


def _line(name: str, tool: dict[str, Any]) -> str:
    """One tool's line of the page's table."""
    seen, unseen = (
        ", ".join(control["what"] for control in tool["controls"] if control["reported"] is reported) or "none"
        for reported in (True, False)
    )
    remote = {True: "yes", False: "no", None: "not asked"}[tool["sees_remote_shared_memory"]]
    state = " (not finished)" if tool["not_finished"] else ""
    return (
        f"| {name}{state} | {tool['launches']} | {tool['rows']} | {tool['wrong_rows']} | {tool['errors']} | "
        f"{tool['warnings']} | {seen} | {unseen} | {remote} |"
    )


def write(record: dict[str, Any], path: Path) -> None:
    """Writes the record as JSON."""
    path.write_text(json.dumps(record, indent=1) + "\n")


def watched(run: Run) -> Outcome:
    """Runs one swept process, under its tool where it has one, for as long as it may."""
    with tempfile.TemporaryDirectory() as folder:
        log, out, err = (Path(folder) / name for name in ("log", "out", "err"))
        watcher = [] if not run.tool else [*_command(run.tool), "--log-file", str(log)]
        command = [*watcher, sys.executable, "-P", "-m", "campaign.kernels.swept", *run.arguments]
        began = time.monotonic()
        with out.open("wb") as to, err.open("wb") as errors:
            process = subprocess.Popen(command, stdout=to, stderr=errors, start_new_session=True)
            try:
                code = process.wait(run.limit_seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
        seconds = time.monotonic() - began
        text = log.read_text(errors="replace") if log.is_file() else ""
        lines = tuple(
            json.loads(line) for line in out.read_text().splitlines() if line.startswith("{") and line[-1] == "}"
        )
        read = sanitizer_log.read(text)
        in_time = code in (0, EXIT_OF_FINDINGS) and (read.ended or not run.tool) and not read.refusal
        said = f"{err.read_text(errors='replace')[-600:]}{'' if in_time else text[-600:]}".strip()
        return Outcome(lines, read, in_time, seconds, said, text)


def _command(tool: str) -> list[str]:
    """The sanitizer with the settings of `tool` that its version knows."""
    known = _help()
    pairs = [pair for pair in (*COMMON, *OPTIONS[tool]) if pair[0] in known]
    settings = [word for pair in pairs for word in pair]
    return [str(_sanitizer()), "--tool", tool, "--error-exitcode", str(EXIT_OF_FINDINGS), *settings]


def _sanitizer() -> Path:
    """Where compute-sanitizer is; CampaignError where it is not."""
    found = toolkit_tool("compute-sanitizer")
    if found is None:
        raise CampaignError(
            "no compute-sanitizer on the PATH or in /usr/local/cuda/bin: it comes with the CUDA toolkit. Run this "
            "where the toolkit is."
        )
    return found


@cache
def _help() -> str:
    """The options that the installed version names."""
    done = subprocess.run([_sanitizer(), "--help"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@cache
def version() -> str:
    """The sanitizer's version, as "2025.3.1.0"."""
    said = subprocess.run([_sanitizer(), "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\d+(\.\d+)+", said)
    return found[0] if found else said.strip()[:80] or "unknown"
