"""A small part whose plan compiles to its rule, made in a folder, for tests to change in one place."""

import copy
import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit
from tests.served import csv_text, draw, row, sample, task

from campaign.analysis.compute import read
from campaign.analysis.interim import Look
from campaign.analysis.readings import Readings
from campaign.engine.data import Data, read_data
from campaign.engine.plan import Plan, read_plan

CONSTANTS = {
    "bar": 0.155,
    "zero": 0,
    "count": 0.31,
    "match.at": 3.7,
    "slope.low": 0.4,
    "slope.high": 0.6,
    "limit.drift": 0.13,
    "limit.passes": 1.5,
    "limit.power": 5,
    "power.floor": 250,
    "lever.bar": 0.1,
}
GUARDS = [
    {"name": "failures", "kind": "agentic failures", "verdict": "held"},
    {"name": "passes", "kind": "passes", "verdict": "held", "limit": "limit.passes"},
    {"name": "drift", "kind": "drift", "verdict": "confounded", "limit": "limit.drift"},
    {"name": "power", "kind": "power share", "verdict": "confounded", "limit": "limit.power"},
]
BANDS = [
    {"verdict": "carries", "at_least": "bar"},
    {"verdict": "seen", "above": "zero"},
    {"verdict": "rolled back"},
]
ARMS = ("yardstick", "yardstick", "yardstick", "old", "rs8", "rs8", "old")
STEP_MS = (14.40, 14.45, 14.35, 14.45, 14.02, 13.98, 14.35)
YARDSTICK_DAY, DAY = datetime.date(2026, 11, 5), datetime.date(2026, 11, 6)
TASKS = ("agentic-1", "qa-1")


def plan_dict() -> dict[str, Any]:
    """The plan as tomllib would give it, for a test to change."""
    return copy.deepcopy(
        {
            "about": "A part for tests",
            "question": {"text": "Is the saving at least the bar?", "author": "A Tester"},
            "arms": {
                "yardstick": {"label": "served kernel, the day before", "earlier": YARDSTICK_DAY},
                "old": {"label": "served kernel"},
                "rs8": {"label": "rs8"},
            },
            "rows": {"order": ["old", "rs8", "rs8", "old"], "draws": 2},
            "constants": {name: {"value": value, "because": "for a test"} for name, value in CONSTANTS.items()},
            "matching": {"at": "match.at", "slopes": {"low": "slope.low", "high": "slope.high"}},
            "power": {"floor": "power.floor"},
            "saving": {"arm": "rs8", "against": "yardstick", "same_day": "old", "count": "count"},
            "verdict": {"reading": "saving.lower", "bands": BANDS, "guards": GUARDS},
            "tables": {name: f"data/{name}.csv" for name in ("rows", "draws", "tasks", "power")},
        }
    )


def started(place: int, arm: str) -> str:
    """When the row at `place` started: yardstick rows the day before, a quarter of an hour apart."""
    day = YARDSTICK_DAY if arm == "yardstick" else DAY
    return (datetime.datetime.combine(day, datetime.time(8)) + datetime.timedelta(minutes=15 * place)).isoformat() + "Z"


@dataclass
class Compiled:
    """The part's files as a plan and lists of records; a test changes them and reads the part."""

    folder: Path
    plan: dict[str, Any] = field(default_factory=plan_dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    draws: list[dict[str, Any]] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    power: list[dict[str, Any]] = field(default_factory=list)
    kernel_timings: list[dict[str, Any]] = field(default_factory=list)
    equality: list[dict[str, Any]] = field(default_factory=list)
    origin: str = "measured"

    def add_row(
        self,
        arm: str,
        step_ms: Sequence[float],
        tokens_per_step: Sequence[float] | float = 3.7,
        *,
        failing: Sequence[str] = (),
        capped: int = 2,
        state: str = "complete",
        reason: str = "",
    ) -> str:
        """The name of one more row; each number is a draw's, in which every task but the `failing` ones passed.

        `capped` of four busy power samples had the cap engaged.
        """
        name = f"r{len(self.rows) + 1:02d}"
        self.rows.append(row(name, arm, started(len(self.rows), arm), state, reason))
        tps = [tokens_per_step] * len(step_ms) if isinstance(tokens_per_step, int | float) else tokens_per_step
        for number, (ms, tokens) in enumerate(zip(step_ms, tps, strict=True), 1):
            outcomes = {which: "fail" if which in failing else "pass" for which in TASKS}
            self.draws.append(draw(name, number, ms, tokens, passes=sum(one == "pass" for one in outcomes.values())))
            self.tasks += [task(name, number, which, outcome) for which, outcome in outcomes.items()]
        self.power += [sample(name, second, 400, second < capped) for second in range(4)]
        self.power.append(sample(name, 4, 100, True))
        return name

    def set_draw(self, name: str, number: int, **values: Any) -> None:
        """Nothing; the draw then has these values."""
        next(one for one in self.draws if (one["row"], one["draw"]) == (name, number)).update(values)

    def write(self) -> None:
        """Nothing; the folder then holds the part."""
        (self.folder / "data").mkdir(parents=True, exist_ok=True)
        (self.folder / "plan.toml").write_text(tomlkit.dumps(self.plan))
        for name in self.plan.get("tables", {}):
            records = getattr(self, name)
            columns = list(dict.fromkeys(key for one in records for key in one))
            even = [{key: one.get(key, "") for key in columns} for one in records]
            (self.folder / "data" / f"{name}.csv").write_text(csv_text(even) if even else HEADERS[name])
        (self.folder / "data" / "run.json").write_text(json.dumps({"origin": self.origin}))

    def show(self, path: Path) -> str:
        """How an error names `path`."""
        return path.relative_to(self.folder.parent).as_posix()

    def typed_plan(self) -> Plan:
        """The plan as the program reads it."""
        self.write()
        return read_plan(self.folder / "plan.toml", "plan.toml")

    def data(self) -> Data:
        """The part's data as the program reads them."""
        return read_data(self.typed_plan(), self.folder, self.show)

    def read(self, *looks: Look) -> Readings:
        """The part's readings after `looks`."""
        return read(self.typed_plan(), self.data(), "plan.toml", looks)


HEADERS = {
    "rows": "row,arm,started,state,reason,assumed\n",
    "draws": "row,draw,step_time_ms,verify_steps,tokens,model_time_s,passes\n",
    "tasks": "row,draw,task,kind,outcome,assumed\n",
    "power": "row,at,gpu,power_w,cap_engaged\n",
    "equality": "check,version,call,rows,mismatched_rows\n",
    "kernel_timings": "lever,variant,chunk,context_tokens,calls,served_us,changed_us\n",
}
"""First lines of tables without a record."""


def compiled(folder: Path) -> Compiled:
    """The small part: three yardstick rows, then old, rs8, rs8, old; it carries."""
    part = Compiled(folder)
    for arm, step_ms in zip(ARMS, STEP_MS, strict=True):
        part.add_row(arm, [step_ms, step_ms])
    return part


def timing(lever: str, chunk: int, served_us: float, changed_us: float, variant: str = "1") -> dict[str, Any]:
    """One record of kernel_timings.csv, of 4 calls a step."""
    return {
        "lever": lever,
        "variant": variant,
        "chunk": chunk,
        "context_tokens": 8192,
        "calls": 4,
        "served_us": served_us,
        "changed_us": changed_us,
    }
