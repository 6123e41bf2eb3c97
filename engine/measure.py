"""The measuring side: runs the rows of a plan on this machine, one engine start a row, and writes their records.

Its own process (`notes run` starts it; `python -P -m campaign.engine.measure FOLDER` is the same). Finished rows
stay; a row that was cut off is void with its reason and is run again; a second measurement at the same time is
refused.
"""

import fcntl
import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from campaign.engine.agent import TaskOutcome, run_task
from campaign.engine.benchmark.task import Task
from campaign.engine.contract import Engine, Settings
from campaign.engine.errors import PlanError, RecordError
from campaign.engine.files import write_bytes
from campaign.engine.journal import BEGUN, COMPLETE, VOID, Attempt, Journal
from campaign.engine.plan import Plan, read_plan
from campaign.engine.records import DRAWS, ROWS, TASKS
from campaign.kernels.errors import CampaignError

CUT_OFF = "cut off before its end"
INTERRUPTED = "interrupted by hand"
STEP = ("started_ns", "ended_ns", "drafted", "accepted", "emitted", "drafting_ns")
"""What is kept of each step."""


@dataclass(frozen=True)
class Bench:
    """What rows run on."""

    start: Callable[[Settings], Engine]
    """Starts an engine with the settings of an arm."""
    tasks: Sequence[Task]
    scratch: Path
    """A folder in which each task gets a fresh directory."""
    now: Callable[[], datetime]
    say: Callable[[str], None] = lambda line: None


def measure(plan: Plan, folder: Path, bench: Bench) -> list[Attempt]:
    """Every attempt of the measurement, all rows of the plan complete; records are written row by row.

    Raises RecordError where another measurement runs in the folder. What the engine cannot do (no weights, a
    full disk) is raised, the row before it void, the rows before that untouched.
    """
    rows, settings = _runnable(plan)
    data = folder / "data"
    data.mkdir(exist_ok=True)
    with _alone(data / ".measuring"):
        journal = Journal(data / "journal.jsonl")
        for attempt in journal.attempts():
            if attempt.state == BEGUN:
                journal.end(attempt.row, VOID, _text(bench.now()), CUT_OFF)
                bench.say(f"{attempt.row} ({attempt.arm}) was {CUT_OFF}: void, and run again")
        for place, arm in enumerate(rows.order):
            if any(a.place == place and a.state == COMPLETE for a in journal.attempts()):
                continue
            _row(plan, folder, journal, place, settings[arm], bench)
        write_tables(folder, journal.attempts())
        return journal.attempts()


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
    attempt = journal.begin(place, arm, _text(bench.now()))
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
        machine = {"load_before": load_before, "load_after": os.getloadavg()[0], "engine": described}
        _write_row(folder, attempt, outcomes, machine)
    except BaseException as wrong:
        reason = INTERRUPTED if isinstance(wrong, KeyboardInterrupt) else f"{type(wrong).__name__}: {wrong}"
        journal.end(attempt.row, VOID, _text(bench.now()), reason)
        raise
    journal.end(attempt.row, COMPLETE, _text(bench.now()))
    write_tables(folder, journal.attempts())


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
    said = {"row": attempt.row, "arm": attempt.arm, "started": attempt.started, **machine, "tasks": tasks}
    rows = folder / "data" / "rows"
    rows.mkdir(exist_ok=True)
    write_bytes(rows / f"{attempt.row}.json", json.dumps(said, ensure_ascii=False).encode())


def write_tables(folder: Path, attempts: Sequence[Attempt]) -> None:
    """Nothing; rows.csv, draws.csv, tasks.csv, load.csv and steps.parquet then hold every finished row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = folder / "data"
    rows, draws, tasks, load = [], [], [], []
    steps: list[tuple[Any, ...]] = []
    for attempt in attempts:
        state = {BEGUN: "running"}.get(attempt.state, attempt.state)
        rows.append((attempt.row, attempt.arm, attempt.started, state, attempt.reason, ""))
        if attempt.state != COMPLETE:
            continue
        kept = json.loads((data / "rows" / f"{attempt.row}.json").read_bytes())
        load.append((attempt.row, f"{kept['load_before']:.2f}", f"{kept['load_after']:.2f}"))
        for draw in sorted({task["draw"] for task in kept["tasks"]}):
            done = [task for task in kept["tasks"] if task["draw"] == draw]
            draws.append((attempt.row, draw, *_draw(done)))
            tasks += [(attempt.row, draw, t["task"], t["kind"], t["outcome"], "") for t in done]
            steps += [(attempt.row, draw, t["task"], *step) for t in done for step in t["steps"]]
    _write_csv(data / "rows.csv", ROWS["columns"], rows)
    _write_csv(data / "draws.csv", DRAWS["columns"], draws)
    _write_csv(data / "tasks.csv", TASKS["columns"], tasks)
    _write_csv(data / "load.csv", ("row", "load_before", "load_after"), load)
    names = ["row", "draw", "task", "turn", "step", *STEP]
    kinds = [pa.string(), pa.int32(), pa.string(), pa.int32(), pa.int32(), *[pa.int64()] * len(STEP)]
    columns = list(zip(*steps, strict=True)) if steps else [[] for _ in names]
    table = pa.table([pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)], names=names)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    write_bytes(data / "steps.parquet", sink.getvalue().to_pybytes())


def _draw(tasks: Sequence[dict[str, Any]]) -> tuple[str, int, int, str, int]:
    """Step time in ms, verify steps, tokens, model time in s and passes of the tasks of one draw."""
    steps = [dict(zip(STEP, step[2:], strict=True)) for task in tasks for step in task["steps"]]
    step_ns = sum(step["ended_ns"] - step["started_ns"] for step in steps)
    tokens = sum(step["emitted"] for step in steps)
    model_ns = sum(task["model_ns"] for task in tasks)
    passes = sum(task["outcome"] == "pass" for task in tasks)
    return f"{step_ns / 1e6:.6f}", len(steps), tokens, f"{model_ns / 1e9:.9f}", passes


def _write_csv(path: Path, columns: Sequence[str] | dict[str, str], records: Sequence[Sequence[Any]]) -> None:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(records)
    write_bytes(path, text.getvalue().encode())


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


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def write_run(folder: Path, plan_bytes: bytes, attempts: Sequence[Attempt]) -> None:
    """Nothing; run.json then says on what machine, when, with which versions and under which plan the rows ran."""
    rows = [a for a in attempts if a.state == COMPLETE]
    kept = [json.loads((folder / "data" / "rows" / f"{a.row}.json").read_bytes()) for a in rows]
    said = {
        "origin": "measured",
        "plan_sha256": hashlib.sha256(plan_bytes).hexdigest(),
        "first_row": rows[0].started,
        "last_row": rows[-1].started,
        "void_rows": sum(a.state == VOID for a in attempts),
        "machine": {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "engine": {row["arm"]: row["engine"] for row in kept},
    }
    write_bytes(folder / "data" / "run.json", (json.dumps(said, indent=1, default=str) + "\n").encode())


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(folder: Path) -> None:
    """Measure the part in FOLDER: every row of its plan that is not there yet."""
    import tempfile

    from campaign.engine.tasks import TASKS as BENCHMARK

    try:
        from campaign.engine.embedded import EmbeddedEngine
    except ModuleNotFoundError as wrong:
        click.echo(
            f"notes: {wrong.name} is not installed; expected the extra: pip install 'campaign-notes[engine]'", err=True
        )
        sys.exit(2)

    def say(line: str) -> None:
        click.echo(line, err=True)

    try:
        plan = read_plan(folder / "plan.toml", str(folder / "plan.toml"))
        with tempfile.TemporaryDirectory(prefix="campaign-") as scratch:
            Path(scratch).chmod(0o711)
            bench = Bench(
                lambda settings: EmbeddedEngine(settings, say=say),
                BENCHMARK,
                Path(scratch),
                lambda: datetime.now(UTC),
                say,
            )
            attempts = measure(plan, folder, bench)
        write_run(folder, (folder / "plan.toml").read_bytes(), attempts)
    except KeyboardInterrupt:
        say("interrupted: finished rows stay; run it again to go on")
        sys.exit(130)
    except (CampaignError, OSError) as wrong:
        say(f"notes: {wrong}")
        sys.exit(2)


if __name__ == "__main__":
    main()
