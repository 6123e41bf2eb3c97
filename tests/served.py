"""A small valid part of served rows, made in a folder, for tests to change in one place."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit
from hypothesis import settings

from campaign.analysis.compute import read
from campaign.analysis.readings import Reading, Readings
from campaign.engine.data import Data, read_data
from campaign.engine.plan import Plan, read_plan

repeatable = settings(deadline=None, derandomize=True)
"""For tests over many inputs: the same inputs in every run, and no failure because a machine is busy."""

HEAD = """\
about = "A part for tests"

[question]
text = "Is the saving at least the bar?"
author = "A Tester"

[arms.yardstick]
label = "served kernel, the day before"
earlier = 2026-11-05

[arms.old]
label = "served kernel"

[arms.rs8]
label = "rs8"

[rows]
order = ["old", "rs8", "rs8", "old"]
draws = 2

[constants."bar"]
value = 0.155
unit = "ms/verify step"
because = "half of the count"

[constants."zero"]
value = 0
unit = "ms/verify step"
because = "at or below it the change goes"

[constants."match.at"]
value = 3.7
because = "the yardstick's mean"

[constants."slope.low"]
value = 0.4
because = "frozen"

[constants."slope.high"]
value = 0.6
because = "frozen"

[constants."power.floor"]
value = 250
unit = "W"
because = "less is idle"

[matching]
at = "match.at"
slopes = { low = "slope.low", high = "slope.high" }

[power]
floor = "power.floor"

[verdict]
reading = "saving.low.lo"
bands = [
    { verdict = "carries", at_least = "bar" },
    { verdict = "seen", above = "zero" },
    { verdict = "rolled back" },
]
guards = [
    { name = "failures", verdict = "held", when = "failed > 0" },
    { name = "drift", verdict = "confounded", when = "abs(drift.low) > 0.13" },
]

[tables]
rows = "data/rows.csv"
draws = "data/draws.csv"
tasks = "data/tasks.csv"
power = "data/power.csv"
"""
"""Everything of the small part's plan but its readings."""

SAVING = {"id": "saving.low", "kind": "saving", "arm": "rs8", "against": "yardstick", "slope": "low"}
DRIFT = {"id": "drift.low", "kind": "drift", "arm": "old", "against": "yardstick", "slope": "low"}
FAILED = {
    "id": "failed",
    "kind": "stat",
    "table": "tasks",
    "where": "kind == 'agentic' and outcome == 'fail' and arm == 'rs8'",
    "stat": "count",
}
VERDICT = {"id": "verdict", "kind": "verdict"}

ARM_OF = {"y1": "yardstick", "y2": "yardstick", "y3": "yardstick", "r1": "old", "r2": "rs8", "r3": "rs8", "r4": "old"}
STEP_MS = {"y1": 14.4, "y2": 14.45, "y3": 14.35, "r1": 14.45, "r2": 14.02, "r3": 13.98, "r4": 14.35}
"""Milliseconds per verify step of both draws of a row, at 3.7 tokens per step."""


def row(name: str, arm: str, started: str, state: str = "complete", reason: str = "") -> dict[str, Any]:
    """One record of rows.csv."""
    return {"row": name, "arm": arm, "started": started, "state": state, "reason": reason, "assumed": ""}


def draw(name: str, number: int, step_ms: float, tokens_per_step: float = 3.7, passes: int = 2) -> dict[str, Any]:
    """One record of draws.csv: a thousand verify steps of `step_ms` each."""
    return {
        "row": name,
        "draw": number,
        "step_time_ms": step_ms * 1000,
        "verify_steps": 1000,
        "tokens": round(tokens_per_step * 1000),
        "model_time_s": step_ms + 1,
        "passes": passes,
    }


def task(name: str, number: int, which: str, outcome: str = "pass") -> dict[str, Any]:
    """One record of tasks.csv; the kind is the first word of the task's name."""
    kind = which.partition("-")[0]
    return {"row": name, "draw": number, "task": which, "kind": kind, "outcome": outcome, "assumed": ""}


def sample(name: str, second: int, watts: float, capped: bool) -> dict[str, Any]:
    """One record of power.csv."""
    at = f"2026-11-06T00:00:{second:02d}Z"
    return {"row": name, "at": at, "gpu": 0, "power_w": watts, "cap_engaged": str(capped).lower()}


def _started(name: str) -> str:
    day, hour = (5, 8) if name.startswith("y") else (6, 4)
    return f"2026-11-{day:02d}T{hour + int(name[1]):02d}:00:00Z"


@dataclass
class Served:
    """The part's files as lists of records; a test changes them and reads the part."""

    folder: Path
    readings: Sequence[Mapping[str, Any]] = (SAVING, DRIFT, FAILED, VERDICT)
    head: str = HEAD
    rows: list[dict[str, Any]] = field(default_factory=lambda: [row(r, a, _started(r)) for r, a in ARM_OF.items()])
    draws: list[dict[str, Any]] = field(
        default_factory=lambda: [draw(r, n, ms) for r, ms in STEP_MS.items() for n in (1, 2)]
    )
    tasks: list[dict[str, Any]] = field(
        default_factory=lambda: [task(r, n, t) for r in ARM_OF for n in (1, 2) for t in ("agentic-1", "qa-1")]
    )
    power: list[dict[str, Any]] = field(
        default_factory=lambda: [
            sample(r, n, watts, n < 2) for r in ARM_OF for n, watts in enumerate((500, 490, 400, 300, 100))
        ]
    )
    run: str = '{"origin": "measured"}'
    """run.json; no file where it is empty."""
    more: dict[str, str] = field(default_factory=dict)
    """Text of further files, by their path below the part."""

    def write(self) -> None:
        """Nothing; the folder then holds the part."""
        (self.folder / "data").mkdir(parents=True, exist_ok=True)
        said = tomlkit.dumps({"reading": [dict(one) for one in self.readings]}) if self.readings else ""
        (self.folder / "plan.toml").write_text(f"{self.head}\n{said}")
        for name in ("rows", "draws", "tasks", "power"):
            (self.folder / "data" / f"{name}.csv").write_text(csv_text(getattr(self, name)))
        if self.run:
            (self.folder / "data" / "run.json").write_text(self.run)
        for name, text in self.more.items():
            (self.folder / name).write_text(text)

    def plan(self) -> Plan:
        self.write()
        return read_plan(self.folder / "plan.toml", "plan.toml")

    def data(self) -> Data:
        """The part's data as the program reads them."""
        return read_data(self.plan(), self.folder, lambda path: path.relative_to(self.folder).as_posix())

    def read(self) -> Readings:
        """The part's readings."""
        return read(self.plan(), self.data(), "plan.toml")

    def set_row(self, name: str, step_ms: float, tokens_per_step: float = 3.7) -> None:
        """Nothing; both draws of the row then have these values."""
        self.draws = [draw(name, d["draw"], step_ms, tokens_per_step) if d["row"] == name else d for d in self.draws]

    def without(self, name: str) -> "Served":
        """The part, with no record of that row."""
        for table in ("rows", "draws", "tasks", "power"):
            setattr(self, table, [one for one in getattr(self, table) if one["row"] != name])
        return self


def served(folder: Path, *readings: Mapping[str, Any], **overrides: Any) -> Served:
    """The small part in `folder`, with these readings where some are given."""
    return Served(folder, **({"readings": readings} if readings else {}), **overrides)


def reading(folder: Path, *readings: Mapping[str, Any], **overrides: Any) -> Reading:
    """The last of `readings`, computed in the small part."""
    return served(folder, *readings, **overrides).read()[readings[-1]["id"]]


def constant(name: str, value: float | str) -> str:
    """A constant as a plan declares it."""
    return f'\n[constants."{name}"]\nvalue = {json.dumps(value)}\nbecause = "for a test"\n'


def table(folder: Path, columns: Mapping[str, str], text: str, *readings: Mapping[str, Any]) -> Served:
    """A part with one table `mine`, whose file is `text`, and no rows."""
    head = (
        f'about = "A table"\n{constant("interval.level", 95)}{constant("bar", 2)}\n[tables.mine]\nfile = "mine.csv"\n'
    )
    head += "columns = { " + ", ".join(f'{name} = "{kind}"' for name, kind in columns.items()) + " }\n"
    return Served(folder, readings, head, more={"mine.csv": text})


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """`records` as CSV, the first one's keys as the header."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()
