"""The measuring side with a scripted engine: rows, faults, resuming, and the records that it leaves."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from campaign.engine.benchmark.task import QA, Task, Turn
from campaign.engine.contract import Generation, Settings, Step
from campaign.engine.data import read_data
from campaign.engine.errors import PlanError, RecordError
from campaign.engine.grading import Grade
from campaign.engine.journal import COMPLETE, VOID, Journal
from campaign.engine.measure import Bench, measure, write_run
from campaign.engine.plan import read_plan

PLAN = """
about = "A lever that leaves the text alone"

[arms.scan]
label = "scan"
settings = { drafter = "scan", threads = 1 }

[arms.index]
label = "index"
settings = { drafter = "index", threads = 1 }

[rows]
order = ["scan", "index", "scan"]
draws = 2

[measure]
engine = "embedded"
seed = 7

[tables]
rows = "data/rows.csv"
draws = "data/draws.csv"
tasks = "data/tasks.csv"
"""


def task(name: str, answer: str) -> Task:
    return Task(
        name, QA, "You answer.", {}, (Turn("Say it.", 8),), lambda files, said: Grade(said == answer, "no"), (), {}
    )


@dataclass
class ScriptedEngine:
    """Says `text` in two steps; raises `fault` at the request of that number."""

    settings: Settings
    faults: dict[int, BaseException] = field(default_factory=dict)
    asked: int = 0
    stopped: bool = False

    def describe(self):
        return {"engine": "scripted", "drafter": self.settings.drafter}

    def generate(self, request):
        self.asked += 1
        if self.asked in self.faults:
            raise self.faults[self.asked]
        steps = (Step(100, 300, 2, 1, 2, 40), Step(300, 450, 0, 0, 1, 10))
        return Generation("yes", (1, 2, 3), 5, steps, 50, "stop")

    def stop(self):
        self.stopped = True


class Starter:
    """Starts scripted engines and keeps them; `faults` are of each start in turn."""

    def __init__(self, *faults: dict[int, BaseException]) -> None:
        self.faults = list(faults)
        self.started: list[ScriptedEngine] = []

    def __call__(self, settings: Settings) -> ScriptedEngine:
        faults = self.faults.pop(0) if self.faults else {}
        self.started.append(ScriptedEngine(settings, faults))
        return self.started[-1]


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "scratch").mkdir()
    return tmp_path


def bench(folder: Path, starter: Starter) -> Bench:
    clock = iter(datetime(2026, 11, 29, 12, tzinfo=UTC) + timedelta(minutes=i) for i in range(100))
    return Bench(starter, (task("a", "yes"), task("b", "no")), folder / "scratch", lambda: next(clock))


def run(folder: Path, *faults: dict[int, BaseException]) -> Starter:
    starter = Starter(*faults)
    measure(read_plan(folder / "plan.toml", "plan.toml"), folder, bench(folder, starter))
    return starter


def test_rows_run_in_the_planned_order_with_an_engine_start_each(folder):
    """Each row starts an engine with its arm's settings, and stops it."""
    starter = run(folder)
    assert [engine.settings.drafter for engine in starter.started] == ["scan", "index", "scan"]
    assert all(engine.stopped and engine.asked == 4 for engine in starter.started)


def test_records_are_what_a_part_reads(folder):
    """The tables pass the strict readers, with sums over the steps of each draw."""
    run(folder)
    plan = read_plan(folder / "plan.toml", "plan.toml")
    write_run(folder, (folder / "plan.toml").read_bytes(), Journal(folder / "data" / "journal.jsonl").attempts())
    tables = read_data(plan, folder, str).tables
    assert list(tables["rows"]["state"]) == ["complete"] * 3
    first = tables["draws"].iloc[0]
    assert (first["step_time_ms"], first["verify_steps"], first["tokens"], first["passes"]) == (0.0007, 4, 6, 1)


def test_steps_are_kept_one_by_one(folder):
    """steps.parquet has each forward pass with its own times and tokens."""
    run(folder)
    steps = pd.read_parquet(folder / "data" / "steps.parquet")
    assert len(steps) == 3 * 2 * 2 * 2
    kept = ["started_ns", "ended_ns", "drafted", "accepted", "emitted", "drafting_ns"]
    assert list(steps.iloc[0][kept]) == [100, 300, 2, 1, 2, 40]


def test_interrupted_row_is_void_and_runs_again(folder):
    """Ctrl-C in the second row leaves the first; the next measurement runs the second anew and then the third."""
    with pytest.raises(KeyboardInterrupt):
        run(folder, {}, {3: KeyboardInterrupt()})
    again = run(folder)
    assert [engine.settings.drafter for engine in again.started] == ["index", "scan"]
    attempts = Journal(folder / "data" / "journal.jsonl").attempts()
    assert [(a.row, a.state) for a in attempts] == [("r1", COMPLETE), ("r2", VOID), ("r3", COMPLETE), ("r4", COMPLETE)]
    assert attempts[1].reason == "interrupted by hand"


def test_killed_row_is_void_and_runs_again(folder):
    """A row that the journal shows as begun only was cut off: kill -9 leaves nothing else behind."""
    (folder / "data").mkdir()
    Journal(folder / "data" / "journal.jsonl").begin(0, "scan", "2026-11-29T11:00:00Z")
    run(folder)
    attempts = Journal(folder / "data" / "journal.jsonl").attempts()
    assert (attempts[0].state, attempts[0].reason) == (VOID, "cut off before its end")
    assert [a.state for a in attempts[1:]] == [COMPLETE] * 3


def test_journal_cut_in_the_middle_of_a_line_goes_on(folder):
    """Half a line at the end, as a power cut leaves it, did not count and does not stop the next measurement."""
    run(folder)
    journal = folder / "data" / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-20])
    assert Journal(journal).attempts()[-1].state == "begun"
    run(folder)
    assert [a.state for a in Journal(journal).attempts()] == [COMPLETE, COMPLETE, VOID, COMPLETE]


def test_finished_measurement_starts_no_engine(folder):
    """Where every row is there, nothing runs."""
    run(folder)
    assert run(folder).started == []


def test_engine_that_fails_a_request_is_an_infrastructure_error(folder):
    """A fault inside one task is that task's outcome, never a fail, and the row goes on."""
    run(folder, {2: RuntimeError("out of memory")})
    tasks = pd.read_csv(folder / "data" / "tasks.csv")
    assert list(tasks["outcome"][:2]) == ["pass", "infrastructure error"]


def test_full_disk_leaves_the_rows_before(folder, monkeypatch):
    """What cannot be written is void; the rows before it are still read."""
    from campaign.engine import measure as module

    written = []

    def full(path, data):
        if path.name == "r2.json":
            raise OSError(28, "No space left on device")
        written.append(path.name)
        path.write_bytes(data)

    monkeypatch.setattr(module, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        run(folder)
    attempts = Journal(folder / "data" / "journal.jsonl").attempts()
    assert [a.state for a in attempts] == [COMPLETE, VOID] and "No space left" in attempts[1].reason


def test_second_measurement_at_the_same_time_is_refused(folder):
    """While one process measures in a folder, another says so and leaves everything as it is."""

    class Inside(Starter):
        def __call__(self, settings):
            with pytest.raises(RecordError, match="is being measured by another process"):
                run(folder)
            return super().__call__(settings)

    starter = Inside()
    measure(read_plan(folder / "plan.toml", "plan.toml"), folder, bench(folder, starter))
    assert len(starter.started) == 3


def test_unknown_setting_is_refused_before_any_row(folder):
    """An arm with a setting that no engine has starts nothing."""
    (folder / "plan.toml").write_text(PLAN.replace("threads = 1", "threds = 1"))
    with pytest.raises(PlanError, match="threds"):
        run(folder)
    assert not (folder / "data").exists()


def test_run_says_what_was_measured(folder):
    """run.json names the plan's hash, the machine and each arm's engine as it described itself."""
    run(folder)
    write_run(folder, b"plan", Journal(folder / "data" / "journal.jsonl").attempts())
    said = json.loads((folder / "data" / "run.json").read_text())
    assert said["origin"] == "measured" and said["engine"]["index"] == {"engine": "scripted", "drafter": "index"}
