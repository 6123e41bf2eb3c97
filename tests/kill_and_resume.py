"""Kills `notes run` at random moments and lets it go on, until every row is there.

By hand, some ten minutes: .venv/bin/python -P tests/kill_and_resume.py --kills 40 --seed 1

A campaign of its own in a temporary folder, the embedded engine, Part 7's plan with four rows of one draw and two short
tasks. It needs Linux, the extra `engine` and the weights. After each kill nothing may run on, and the lock is free;
at the end the records are as the journal says, and the note builds and checks.
"""

import contextlib
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
NOTES = Path(sys.executable).with_name("notes")
ORDER = ["scan", "index", "index", "scan"]

SHORT_TASKS = """
import sys
if any("campaign.engine.measure" in word for word in sys.orig_argv):
    from campaign.engine import tasks
    from campaign.engine.benchmark.task import AGENTIC, EDITOR, QA, READER, Task, Turn
    from campaign.engine.grading import answer_is, calls_return
    from campaign.engine.tools import RUN_PYTHON
    SLOW = {"slow.py": "import time\\ntime.sleep(0.5)\\ndef two(): return 2\\n"}
    RUN = Turn('Call run_python with path "slow.py".', 40, RUN_PYTHON)
    tasks.TASKS = (
        Task("run-slow", AGENTIC, EDITOR, SLOW, (RUN, RUN), calls_return("slow", "two", [((), {})], [2]), (), {}),
        Task("say-yes", QA, READER, {}, (Turn("Say yes.", 12),), answer_is("yes"), (), {}),
    )
"""
"""A sitecustomize.py that gives the measuring process, and no other, two tasks that take a second or two."""


class Measured:
    """A campaign with one sealed part, and what was true of it so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.part = folder / "campaign" / "parts" / "part-7"
        self.data = self.part / "data"
        self.temporary = folder / "tmp"
        (folder / "short").mkdir()
        (folder / "short" / "sitecustomize.py").write_text(SHORT_TASKS)
        self.temporary.mkdir()
        self.temporary.chmod(0o1777)
        self.finished: dict[str, bytes] = {}
        """The bytes of each finished row's file, as they were when it was first seen."""
        self.journal = b""
        self._make()

    def _make(self) -> None:
        source = ROOT / "parts" / "part-7"
        (self.part / "data").mkdir(parents=True)
        shutil.copy(ROOT / "campaign.toml", self.folder / "campaign")
        for name in ("facts.toml", "credits.toml", "post.md.j2", "data/README.md"):
            shutil.copy(source / name, self.part / name)
        plan = (source / "plan.toml").read_text()
        plan = re.sub(r"order = \[.*\]", f"order = {json.dumps(ORDER)}", plan).replace("draws = 3", "draws = 1")
        (self.part / "plan.toml").write_text(plan)
        for command in (
            ["git", "init", "-q"],
            ["git", "config", "user.name", "A Tester"],
            ["git", "config", "user.email", "tester@localhost"],
            ["git", "add", "-A"],
            ["git", "commit", "-qm", "Plan"],
            [NOTES, "seal", "part-7"],
        ):
            self.call(*command)

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(self.folder / "short"), "TMPDIR": str(self.temporary)}

    def call(self, *command: object) -> str:
        """What a command prints; it must succeed."""
        done = subprocess.run(
            [str(word) for word in command], cwd=self.folder / "campaign", capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> subprocess.Popen:
        """`notes run`, as the leader of a process group of its own."""
        return subprocess.Popen(
            [NOTES, "run", "part-7"],
            cwd=self.folder / "campaign",
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def attempts(self) -> list[dict]:
        """The journal's rows with their last state."""
        rows: dict[str, dict] = {}
        for line in (self.data / "journal.jsonl").read_text().splitlines() if self.journal_exists else []:
            entry = json.loads(line)
            rows.setdefault(entry["row"], entry | {"state": "begun"})
            rows[entry["row"]] |= {"state": entry["event"], "reason": entry.get("reason", "")}
        return list(rows.values())

    @property
    def journal_exists(self) -> bool:
        return (self.data / "journal.jsonl").exists()

    def still_running(self) -> list[str]:
        """Processes that belong to the measurement: they name its folder, or work in it."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = process.joinpath("cmdline").read_bytes()
                where = os.readlink(process / "cwd")
                state = process.joinpath("stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            mine = str(self.folder).encode() in words or where.startswith(str(self.folder))
            if mine and state != "Z" and int(process.name) != os.getpid():
                found.append(f"{process.name} {words!r}")
        return found

    def require_kept(self) -> None:
        """Nothing; what was finished is there with the same bytes, and the journal only grew."""
        if self.journal_exists:
            now = (self.data / "journal.jsonl").read_bytes()
            whole = self.journal[: self.journal.rfind(b"\n") + 1]
            assert now.startswith(whole), "the journal lost a line"
            self.journal = now
        for row, content in self.finished.items():
            assert (self.data / "rows" / f"{row}.json").read_bytes() == content, f"{row} changed"
        for attempt in self.attempts():
            if attempt["state"] == "complete":
                file = self.data / "rows" / f"{attempt['row']}.json"
                self.finished.setdefault(attempt["row"], file.read_bytes())

    def require_quiet(self) -> None:
        """Nothing; within seconds no process is left, and the lock can be had."""
        until = time.monotonic() + 10
        while (left := self.still_running()) and time.monotonic() < until:
            time.sleep(0.05)
        assert not left, f"still running: {left}"
        if self.data.joinpath(".measuring").exists():
            with (self.data / ".measuring").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def require_consistent(self) -> None:
        """Nothing; after the last row every file says the same, and the note builds and checks."""
        attempts = self.attempts()
        complete = [a["row"] for a in attempts if a["state"] == "complete"]
        assert [a["arm"] for a in attempts if a["state"] == "complete"] == ORDER
        assert [a["place"] for a in attempts if a["state"] == "complete"] == list(range(len(ORDER)))
        assert [a["row"] for a in attempts] == [f"r{n}" for n in range(1, len(attempts) + 1)]
        assert all(a["reason"] for a in attempts if a["state"] == "void"), "a void row without a reason"
        assert {a["state"] for a in attempts} <= {"complete", "void"}
        rows = pd.read_csv(self.data / "rows.csv", keep_default_na=False)
        assert list(zip(rows["row"], rows["state"], rows["reason"], strict=True)) == [
            (a["row"], a["state"], a["reason"]) for a in attempts
        ]
        steps = pd.read_parquet(self.data / "steps.parquet")
        draws, tasks = pd.read_csv(self.data / "draws.csv"), pd.read_csv(self.data / "tasks.csv")
        for table in (draws, tasks, steps, pd.read_csv(self.data / "load.csv")):
            assert list(dict.fromkeys(table["row"])) == complete
        assert len(draws) == len(ORDER) and len(tasks) == 2 * len(ORDER)
        assert list(steps.groupby("row", sort=False).size()) == list(draws["verify_steps"])
        assert sorted(path.name for path in (self.data / "rows").iterdir()) == sorted(f"{r}.json" for r in complete)
        assert not [*self.data.glob(".*.tmp")], "a half-written file was left"
        assert not [*self.temporary.iterdir()], f"left in the temporary folder: {[*self.temporary.iterdir()]}"
        run = json.loads((self.data / "run.json").read_text())
        assert run["void_rows"] == sum(a["state"] == "void" for a in attempts)
        self.call(NOTES, "build", "part-7")
        self.call(NOTES, "check", "part-7")


def child_of(pid: int) -> int | None:
    """The measuring process that `notes run` started, once it is there."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    for child in children:
        # git is another one.
        with contextlib.suppress(OSError):
            if b"campaign.engine.measure" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
    return None


def wait_for_writing(measured: Measured, process: subprocess.Popen, seconds: float) -> None:
    """Nothing; a file is half-written, the journal grew, or the time is over."""
    journal = measured.data / "journal.jsonl"
    before = journal.stat().st_size if journal.exists() else 0
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        if any(".tmp" in name for name in os.listdir(measured.data)):
            return
        rows = measured.data / "rows"
        if rows.exists() and any(".tmp" in name for name in os.listdir(rows)):
            return
        if journal.exists() and journal.stat().st_size != before:
            return


def kill_once(measured: Measured, chosen: random.Random) -> str:
    """What was done to one `notes run`; a run that ended by itself is said so."""
    target = chosen.choice(["both", "parent", "child"])
    number = chosen.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    writing = chosen.random() < 0.3
    delay = chosen.choice([chosen.uniform(0, 1.5), chosen.uniform(1, 5), chosen.uniform(3, 20)])
    process = measured.start()
    began = time.monotonic()
    if writing:
        wait_for_writing(measured, process, 20)
        delay = chosen.choice([0, 0.001, 0.01])
    while process.poll() is None and time.monotonic() - began < delay and not writing:
        time.sleep(0.005)
    time.sleep(delay if writing else 0)
    after = time.monotonic() - began
    pid = process.pid
    if target == "child":
        pid = child_of(process.pid) or process.pid
    try:
        if target == "both":
            os.killpg(process.pid, number)
        else:
            os.kill(pid, number)
    except ProcessLookupError:
        pass
    said = f"{signal.Signals(number).name:8} {target:7} {'writing' if writing else f'{after:5.2f} s'}"
    ended = time.monotonic()
    try:
        output, _ = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError(f"{said}: goes on 30 s later\n{process.communicate()[0]}") from None
    took = time.monotonic() - ended
    measured.require_quiet()
    measured.require_kept()
    if "Traceback" in output:
        said += "  TRACEBACK\n" + output
    states = " ".join(f"{a['row']}:{a['state']}" for a in measured.attempts())
    return f"{said}  exit {process.returncode:4} in {took:.2f} s  {states}"


@click.command()
@click.option("--kills", default=40)
@click.option("--seed", default=1)
def main(kills: int, seed: int) -> None:
    """Kill, go on, and say what was found; a fault ends it as an error."""
    # A shell's background ignores them, and what it starts would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    chosen = random.Random(seed)
    done, campaigns = 0, 0
    while done < kills:
        campaigns += 1
        with tempfile.TemporaryDirectory(prefix="kill-and-resume-") as name:
            measured = Measured(Path(name))
            while done < kills and not (measured.data / "run.json").exists():
                done += 1
                print(f"{done:3} {kill_once(measured, chosen)}", flush=True)
            process = measured.start()
            output, _ = process.communicate()
            assert process.returncode == 0, output
            measured.require_quiet()
            measured.require_kept()
            measured.require_consistent()
            voids = sum(a["state"] == "void" for a in measured.attempts())
            print(f"    campaign {campaigns}: complete, {voids} void rows; built and checked", flush=True)


if __name__ == "__main__":
    main()
