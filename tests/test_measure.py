"""The measuring side with a scripted engine: rows, faults, resuming, and the records that it leaves."""

import json
import subprocess
import sys
from dataclasses import dataclass, field, replace
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
    journal = folder / "data" / "journal.jsonl"
    hours = journal.read_bytes().count(b"\n") if journal.exists() else 0
    clock = iter(datetime(2026, 11, 29, 12, tzinfo=UTC) + timedelta(hours=hours, minutes=i) for i in range(60))
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


def test_run_file_of_a_new_part_is_filled_in(folder):
    """What `notes new` writes names no rows yet: after the last row run.json tells of them, and then stays."""
    run(folder)
    attempts = Journal(folder / "data" / "journal.jsonl").attempts()
    path = folder / "data" / "run.json"
    path.write_text('{"origin": "measured"}')
    write_run(folder, b"plan", attempts)
    told = path.read_bytes()
    assert json.loads(told)["last_row"] == attempts[-1].started
    path.write_bytes(told.replace(b"{", b"{ ", 1))
    write_run(folder, b"plan", attempts)
    assert path.read_bytes() == told.replace(b"{", b"{ ", 1)


def test_finished_measurement_changes_nothing(folder):
    """Where every row and run.json are there, no file is written again: what was committed stays as it is."""
    run(folder)
    (folder / "data" / "run.json").write_text("as it was")
    before = {path: path.stat().st_mtime_ns for path in (folder / "data").rglob("*") if path.name != ".measuring"}
    run(folder)
    after = {path: path.stat().st_mtime_ns for path in (folder / "data").rglob("*") if path.name != ".measuring"}
    assert after == before


def test_journal_line_without_its_end_did_not_count(folder):
    """A whole entry whose line break was cut off is not read, since the next entry takes its place."""
    run(folder)
    journal = folder / "data" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-1])
    assert [a.state for a in Journal(journal).attempts()] == [COMPLETE, COMPLETE, "begun"]


def test_finished_row_without_its_file_is_refused(folder):
    """A row that the journal calls complete and whose records are gone is named with what to do."""
    with pytest.raises(KeyboardInterrupt):
        run(folder, {}, {1: KeyboardInterrupt()})
    (folder / "data" / "rows" / "r1.json").unlink()
    with pytest.raises(RecordError, match=r"r1\.json: no such file; expected the records .* Restore the file"):
        run(folder)


def test_rows_of_another_version_of_the_tasks_are_not_gone_on_with(folder):
    """A row that other graders graded is not mixed with new ones."""
    with pytest.raises(KeyboardInterrupt):
        run(folder, {}, {1: KeyboardInterrupt()})
    kept = folder / "data" / "rows" / "r1.json"
    kept.write_text(kept.read_text().replace('"benchmark": 2', '"benchmark": 1'))
    with pytest.raises(RecordError, match=r"r1\.json: benchmark 1; expected 2"):
        run(folder)


def test_draw_without_a_step_is_no_row(folder):
    """A row in which every task of a draw is an infrastructure error is void with the first task's reason."""
    with pytest.raises(RecordError, match=r"row r1, draw 1: no task came to a verify step \(a: turn 0: OSError: full"):
        run(folder, {1: OSError("full"), 2: OSError("full")})
    (attempt,) = Journal(folder / "data" / "journal.jsonl").attempts()
    assert attempt.state == VOID and "OSError: full" in attempt.reason


def test_row_that_was_written_and_not_finished_leaves_no_file(folder):
    """A row that was cut off between its records and the journal's word is void, and its file is gone."""
    run(folder)
    journal = folder / "data" / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    (folder / "data" / ".rows.csv.99.tmp").write_text("half")
    run(folder)
    assert sorted(path.name for path in (folder / "data" / "rows").iterdir()) == ["r1.json", "r2.json", "r4.json"]
    assert not (folder / "data" / ".rows.csv.99.tmp").exists()


def test_clock_that_went_back_is_refused(folder):
    """A row that would begin before an earlier one does not begin: rows are read in the order of their start."""
    (folder / "data").mkdir()
    journal = Journal(folder / "data" / "journal.jsonl")
    journal.end(journal.begin(0, "scan", "2027-01-01T00:00:00Z").row, VOID, "2027-01-01T00:01:00Z", "a test")
    with pytest.raises(RecordError, match="the last row began at 2027-01-01T00:00:00Z, and now it is 2026"):
        run(folder)
    assert len(journal.attempts()) == 1


def test_what_cannot_be_prepared_costs_no_row(folder):
    """Missing weights end the measurement before a row begins."""

    def fail():
        raise RecordError("no weights")

    with pytest.raises(RecordError, match="no weights"):
        measure(read_plan(folder / "plan.toml", "plan.toml"), folder, replace(bench(folder, Starter()), prepare=fail))
    assert Journal(folder / "data" / "journal.jsonl").attempts() == []


def test_temporary_files_of_a_killed_measurement_are_removed(folder):
    """The next measurement of the part removes what a killed one left, and nothing of another part's."""
    run(folder)
    Path(folder / "data" / "journal.jsonl").unlink()
    seen = []

    class Looking(Starter):
        def __call__(self, settings):
            seen.extend(path.name for path in (folder / "scratch").iterdir())
            return super().__call__(settings)

    measure(read_plan(folder / "plan.toml", "plan.toml"), folder, bench(folder, Looking()))
    (mine,) = set(seen)
    killed, other = folder / "scratch" / f"{mine[:22]}killed", folder / "scratch" / "campaign-000000000000-other"
    for left in (killed, other):
        (left / "files").mkdir(parents=True)
    Path(folder / "data" / "journal.jsonl").unlink()
    run(folder)
    assert not killed.exists() and other.exists()


KILLED = """
import os, sys
from pathlib import Path
tests, folder = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(tests))
import pyarrow.parquet
import test_measure

def run_in(place, stop_at):
    \"\"\"How many changes a measurement made; at the one of that number, counted from 0, the process is gone.\"\"\"
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        made = 0
        def counted(function):
            def call(*args, **keys):
                nonlocal made
                if made == stop_at:
                    os._exit(9)
                made += 1
                return function(*args, **keys)
            return call
        for name in ("fsync", "replace", "unlink"):
            setattr(os, name, counted(getattr(os, name)))
        test_measure.measure_scripted(place)
        os.write(writer, str(made).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        said = told.read()
    os.waitpid(child, 0)
    return int(said or -1)

def place(name):
    made = folder / name
    made.mkdir()
    (made / "plan.toml").write_text(test_measure.PLAN)
    (made / "scratch").mkdir()
    return made

changes = run_in(place("whole"), -1)
for number in range(0, changes, 3):  # changes come in threes, and not always: each kind has its turn
    here = place(f"at{number}")
    assert run_in(here, number) == -1, "was not killed"
    finished = {path.name: path.read_bytes() for path in here.glob("data/rows/*.json")
                if f'"complete", "row": "{path.stem}"' in (here / "data/journal.jsonl").read_text()}
    assert run_in(here, -1) > 0, "did not go on"
    for name, content in finished.items():
        assert (here / "data" / "rows" / name).read_bytes() == content, name
    test_measure.require_whole(here)
print(changes)
"""


def measure_scripted(folder: Path) -> None:
    """Nothing; the part in `folder` is measured by a scripted engine, without a confined process."""
    attempts = measure(
        read_plan(folder / "plan.toml", "plan.toml"),
        folder,
        replace(bench(folder, Starter()), confinement=lambda place: ()),
    )
    write_run(folder, (folder / "plan.toml").read_bytes(), attempts)


def require_whole(folder: Path) -> None:
    """Nothing; every row is there once, void ones have their reason, no file too many, and the readers take it."""
    attempts = Journal(folder / "data" / "journal.jsonl").attempts()
    complete = [a for a in attempts if a.state == COMPLETE]
    assert [a.arm for a in complete] == ["scan", "index", "scan"]
    assert all(a.reason == "cut off before its end" for a in attempts if a.state != COMPLETE)
    assert sorted(path.name for path in (folder / "data" / "rows").iterdir()) == sorted(
        f"{a.row}.json" for a in complete
    )
    assert not [*(folder / "data").glob(".*.tmp")]
    tables = read_data(read_plan(folder / "plan.toml", "plan.toml"), folder, str).tables
    assert list(tables["rows"]["state"]) == [a.state for a in attempts]
    assert list(tables["draws"]["row"].unique()) == [a.row for a in complete]


def test_killed_at_any_change_of_a_file_it_goes_on(tmp_path):
    """Gone at any one of its changes to the disk, a measurement goes on: finished rows stay, the rest runs again."""
    command = [sys.executable, "-P", "-c", KILLED, str(Path(__file__).parent), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50, "too few changes were seen"
