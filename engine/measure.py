"""The measuring side: runs the rows of a plan on this machine, one engine start a row, and writes their records.

Its own process (`notes run` starts it; `python -P -m campaign.engine.measure FOLDER` is the same). Finished rows
stay; a row that was cut off is void with its reason and is run again; a second measurement at the same time is
refused. The process ends at the first SIGINT, SIGTERM or SIGHUP, and together with the process that started it.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from campaign.engine.agent import TaskOutcome, run_task
from campaign.engine.benchmark.task import Task
from campaign.engine.confinement import optional_measures
from campaign.engine.contract import Engine, Settings
from campaign.engine.errors import PlanError, RecordError
from campaign.engine.files import write_bytes
from campaign.engine.journal import BEGUN, COMPLETE, VOID, Attempt, Journal
from campaign.engine.plan import Plan, read_plan
from campaign.engine.row_tables import STEP, kept_row, row_file, write_tables
from campaign.engine.tasks import VERSION
from campaign.kernels.errors import CampaignError

CUT_OFF = "cut off before its end"
INTERRUPTED = "interrupted by hand"


@dataclass(frozen=True)
class Bench:
    """What rows run on."""

    start: Callable[[Settings], Engine]
    """Starts an engine with the settings of an arm."""
    tasks: Sequence[Task]
    scratch: Path
    """A folder for temporary files; the measurement has one of its own in it, and there each task has one."""
    now: Callable[[], datetime]
    say: Callable[[str], None] = lambda line: None
    prepare: Callable[[], object] = lambda: None
    """Done before the first row that is missing begins, so that what cannot be had costs no row."""
    confinement: Callable[[Path], Sequence[str]] = optional_measures
    """Which optional measures hold a tool's process, found out in a folder."""


def measure(plan: Plan, folder: Path, bench: Bench) -> list[Attempt]:
    """Every attempt of the measurement, all rows of the plan complete; records are written row by row.

    Raises RecordError where another measurement runs in the folder. What the engine cannot do (no weights, a
    full disk) is raised, the row before it void, the rows before that untouched.
    """
    rows, settings = _runnable(plan)
    data = folder / "data"
    data.mkdir(exist_ok=True)
    with _alone(data / ".measuring"), _scratch(bench.scratch, folder) as scratch:
        journal = Journal(data / "journal.jsonl")
        _clear_up(data, journal, bench)
        done = {a.place: a for a in journal.attempts() if a.state == COMPLETE}
        missing = [place for place in range(len(rows.order)) if place not in done]
        if not missing and (data / "run.json").exists():
            bench.say(f"{folder}: all {len(rows.order)} rows are there; nothing is left to measure")
            return journal.attempts()
        for attempt in done.values():
            _require_version(data, attempt)
        # A measurement that was cut off may have left older tables.
        write_tables(folder, journal.attempts())
        bench.prepare()
        began = time.monotonic()
        for number, place in enumerate(missing, 1):
            _row(plan, folder, journal, place, settings[rows.order[place]], replace(bench, scratch=scratch))
            if left := len(missing) - number:
                seconds = round((time.monotonic() - began) / number * left)
                bench.say(f"{left} of {len(rows.order)} rows to go: about {timedelta(seconds=seconds)}")
        bench.say(f"all {len(rows.order)} rows are there")
        return journal.attempts()


def _clear_up(data: Path, journal: Journal, bench: Bench) -> None:
    """Nothing; a row that was cut off is void, and what a killed process left half-written is gone."""
    for attempt in journal.attempts():
        if attempt.state == BEGUN:
            journal.end(attempt.row, VOID, _text(bench.now()), CUT_OFF)
            bench.say(f"{attempt.row} ({attempt.arm}) was {CUT_OFF}: void, and run again")
    for left in (*data.glob(".*.tmp"), *data.glob("rows/.*.tmp")):
        left.unlink(missing_ok=True)
    for attempt in journal.attempts():
        if attempt.state == VOID:
            # Written, but not yet complete when it was cut off.
            row_file(data, attempt.row).unlink(missing_ok=True)


def _require_version(data: Path, attempt: Attempt) -> None:
    """Nothing; RecordError for a finished row that was graded with another version of the tasks."""
    found = kept_row(data, attempt.row).get("benchmark", 1)
    if found != VERSION:
        raise RecordError(
            f"{row_file(data, attempt.row)}: benchmark {found}; expected {VERSION}, the one of this program: rows of "
            "two versions cannot be compared. Go on with the program that began, or measure anew in a fresh part."
        )


def _runnable(plan: Plan) -> tuple[Any, dict[str, Settings]]:
    """The plan's rows and each arm's settings; PlanError where the plan does not say how to measure."""
    if plan.rows is None or plan.measure is None:
        raise PlanError(
            "plan.toml: says not how to measure; expected [rows] with the order of the arms and [measure] with the "
            "engine and its seed. Add them before the plan is sealed."
        )
    known = set(Settings.__dataclass_fields__)
    settings = {}
    for arm in plan.rows.order:
        said = plan.arms[arm].settings
        unknown = sorted(set(said) - known)
        if unknown:
            raise PlanError(
                f"plan.toml: arms.{arm}.settings.{unknown[0]}: no setting of an engine; expected some of "
                f"{', '.join(sorted(known))}. Correct it."
            )
        settings[arm] = Settings(**said)  # type: ignore[arg-type]
    return plan.rows, settings


def _row(plan: Plan, folder: Path, journal: Journal, place: int, settings: Settings, bench: Bench) -> None:
    """Run one row: an engine start and its draws; its records are on the disk before it counts as complete."""
    assert plan.rows is not None and plan.measure is not None, "_runnable has seen to it"
    arm = plan.rows.order[place]
    now = _text(bench.now())
    if (before := journal.attempts()) and now < before[-1].started:
        raise RecordError(
            f"{journal.path}: the last row began at {before[-1].started}, and now it is {now}; expected a clock that "
            "goes on: rows are read in the order of their start. Set the clock right and run it again."
        )
    attempt = journal.begin(place, arm, now)
    try:
        load_before = os.getloadavg()[0]
        engine = bench.start(settings)
        try:
            described = dict(engine.describe())
            outcomes = []
            label = f"{attempt.row} {place + 1}/{len(plan.rows.order)} {arm}"
            total = plan.rows.draws * len(bench.tasks)
            with click.progressbar(length=total, label=label, show_eta=True, file=sys.stderr) as bar:
                for draw in range(1, plan.rows.draws + 1):
                    # The same seeds in every row: a lever that leaves the text alone leaves it alone here.
                    seed = plan.measure.seed + draw
                    for task in bench.tasks:
                        done = run_task(engine, task, seed, bench.scratch, temperature=plan.measure.temperature)
                        outcomes.append((draw, done))
                        bar.update(1)
        finally:
            engine.stop()
        _require_steps(attempt, outcomes)
        machine = {"load_before": load_before, "load_after": os.getloadavg()[0], "engine": described}
        machine["confinement"] = list(bench.confinement(bench.scratch))
        _write_row(folder, attempt, outcomes, machine)
    except BaseException as wrong:
        # Where this cannot be written either, the next measurement finds the row cut off, which is as void.
        with contextlib.suppress(OSError):
            journal.end(attempt.row, VOID, _text(bench.now()), _reason(wrong))
        raise
    journal.end(attempt.row, COMPLETE, _text(bench.now()))
    write_tables(folder, journal.attempts())


def _reason(wrong: BaseException) -> str:
    """Why a row is void, in one line."""
    if isinstance(wrong, Stopped):
        return f"stopped by {wrong}"
    if isinstance(wrong, KeyboardInterrupt):
        return INTERRUPTED
    return " ".join(f"{type(wrong).__name__}: {wrong}".split())


def _require_steps(attempt: Attempt, outcomes: Sequence[tuple[int, TaskOutcome]]) -> None:
    """Nothing; RecordError where a whole draw has no verify step, so that there is nothing to be read from it."""
    for number in sorted({draw for draw, _ in outcomes}):
        tasks = [done for draw, done in outcomes if draw == number]
        if not any(done.steps for done in tasks):
            raise RecordError(
                f"row {attempt.row}, draw {number}: no task came to a verify step ({tasks[0].task}: "
                f"{tasks[0].reason}); expected some in each draw. Mend that and run it again: finished rows stay."
            )


def _write_row(
    folder: Path, attempt: Attempt, outcomes: Sequence[tuple[int, TaskOutcome]], machine: dict[str, Any]
) -> None:
    """A finished row in a file of its own: draws, tasks, steps and transcripts, as they were."""
    tasks = []
    for draw, done in outcomes:
        tasks.append(
            {
                "draw": draw,
                "task": done.task,
                "kind": done.kind,
                "outcome": done.outcome,
                "reason": done.reason,
                "seed": done.seed,
                "answer": done.answer,
                "transcript": [asdict(message) for message in done.transcript],
                "model_ns": sum(turn.ended_ns - turn.started_ns for turn in done.turns),
                "steps": [[step.turn, step.step, *(getattr(step.times, name) for name in STEP)] for step in done.steps],
            }
        )
    said = {"row": attempt.row, "arm": attempt.arm, "started": attempt.started, "benchmark": VERSION}
    path = row_file(folder / "data", attempt.row)
    path.parent.mkdir(exist_ok=True)
    # Escaped, because a model's text may hold half of a surrogate pair, which UTF-8 cannot.
    write_bytes(path, json.dumps(said | machine | {"tasks": tasks}).encode())


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold the folder's lock, or refuse; the lock goes with the process, however it ends."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RecordError(
                f"{lock.parent}: is being measured by another process; expected one at a time. Wait for it, "
                "or stop it: its finished rows stay."
            ) from None
        yield


@contextmanager
def _scratch(folder: Path, part: Path) -> Iterator[Path]:
    """A new directory in `folder`, that of graders too; those that a killed measurement of `part` left are removed."""
    prefix = f"campaign-{hashlib.sha256(bytes(part.resolve())).hexdigest()[:12]}-"
    for left in folder.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder) as name:
        # Code that a tool runs is an unprivileged user's.
        Path(name).chmod(0o711)
        tempfile.tempdir = name
        try:
            yield Path(name)
        finally:
            tempfile.tempdir = before


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def write_run(folder: Path, plan_bytes: bytes, attempts: Sequence[Attempt]) -> None:
    """Nothing; run.json then says on what machine, when, with which versions and under which plan the rows ran.

    One that tells of these rows already stays as it is: it may have been brought here from the machine that measured.
    """
    rows = [a for a in attempts if a.state == COMPLETE]
    path = folder / "data" / "run.json"
    plan_sha256 = hashlib.sha256(plan_bytes).hexdigest()
    try:
        told = json.loads(path.read_bytes()) if path.exists() else {}
    except ValueError as wrong:
        raise RecordError(f"{path}: not JSON: {wrong}; expected what describes the run. Move it away.") from None
    if (told.get("plan_sha256"), told.get("last_row")) == (plan_sha256, rows[-1].started):
        return
    kept = [kept_row(folder / "data", a.row) for a in rows]
    said = {
        "origin": "measured",
        "plan_sha256": plan_sha256,
        "first_row": rows[0].started,
        "last_row": rows[-1].started,
        "void_rows": sum(a.state == VOID for a in attempts),
        "benchmark": VERSION,
        "confinement": kept[-1].get("confinement", []),
        "machine": {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "engine": {row["arm"]: row["engine"] for row in kept},
    }
    write_bytes(path, (json.dumps(said, indent=1, default=str) + "\n").encode())


class Stopped(KeyboardInterrupt):
    """A signal ended the measurement; the text is its name."""


class _Stop:
    """Raises Stopped at a signal; the same wish told twice, by a terminal and by `notes run`, counts once."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self._at = -float("inf")

    def __call__(self, number: int, frame: object) -> None:
        if time.monotonic() - self._at > 5:
            self._at = time.monotonic()
            raise Stopped(signal.Signals(number).name)


def _end_with(parent: int) -> None:
    """Nothing; this process gets SIGTERM when its parent ends, however that happens. Linux only."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, int(signal.SIGTERM), 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        raise Stopped(signal.SIGTERM.name)


def _fault(wrong: Exception, folder: Path) -> str:
    """What to tell about a fault: where, what was found, what was expected, what to do."""
    if isinstance(wrong, ImportError):
        return (
            f"the embedded engine cannot be loaded ({wrong}); expected the extra `engine`. Run `make engine` in a "
            "checkout, elsewhere pip install 'campaign-notes[engine]'"
        )
    if not isinstance(wrong, OSError):
        return str(wrong)
    where, found = wrong.filename or folder / "data", wrong.strerror or str(wrong)
    if wrong.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return (
            f"{where}: the disk is full ({found}); expected room for the records of a row. Finished rows stay, one "
            "that was under way is void. Free some space and run it again"
        )
    return f"{where}: {found}; expected to read and write here. Finished rows stay. Mend it and run it again"


def _measure_here(folder: Path, say: Callable[[str], None]) -> None:
    """Nothing; the part in `folder` is measured with the embedded engine and the benchmark's tasks."""
    from campaign.engine import weights
    from campaign.engine.embedded import EmbeddedEngine
    from campaign.engine.tasks import TASKS as BENCHMARK

    plan_bytes = (folder / "plan.toml").read_bytes()
    plan = read_plan(folder / "plan.toml", str(folder / "plan.toml"))
    bench = Bench(
        lambda settings: EmbeddedEngine(settings, say=say),
        BENCHMARK,
        Path(tempfile.gettempdir()),
        lambda: datetime.now(UTC),
        say,
        lambda: weights.ensure(say=say),
    )
    attempts = measure(plan, folder, bench)
    write_run(folder, plan_bytes, attempts)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--parent", type=int, help="Process that this one ends with.")
def main(folder: Path, parent: int | None) -> None:
    """Measure the part in FOLDER: every row of its plan that is not there yet."""

    def say(line: str) -> None:
        # A terminal that was closed is no reason to lose a row.
        with contextlib.suppress(OSError):
            click.echo(line, err=True)

    try:
        for number in _Stop.SIGNALS:
            # nohup and a shell's background have them ignored, and mean it.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _STOP)
        # `notes run` starts this process with them held back, so that none comes while modules are loaded.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _Stop.SIGNALS)
        if parent is not None:
            _end_with(parent)
        _measure_here(folder, say)
    except Stopped as stopped:
        for number in _Stop.SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        say(f"stopped by {stopped}: finished rows stay. Run it again to go on.")
        sys.exit(128 + signal.Signals[str(stopped)])
    except (CampaignError, OSError, ImportError) as wrong:
        say(f"notes: {_fault(wrong, folder)}")
        sys.exit(2)


_STOP = _Stop()

if __name__ == "__main__":
    main()
