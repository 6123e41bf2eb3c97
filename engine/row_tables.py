"""The tables of a measurement: what the files of its finished rows give as rows, draws, tasks, load and steps."""

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from campaign.engine.errors import RecordError
from campaign.engine.files import write_bytes
from campaign.engine.journal import BEGUN, COMPLETE, Attempt
from campaign.engine.records import DRAWS, ROWS, TASKS

STEP = ("started_ns", "ended_ns", "drafted", "accepted", "emitted", "drafting_ns")
"""What is kept of each step."""


class Table(NamedTuple):
    """A table before it is written."""

    columns: tuple[str, ...]
    records: list[tuple[Any, ...]]


def row_file(data: Path, row: str) -> Path:
    """The file of a finished row."""
    return data / "rows" / f"{row}.json"


def kept_row(data: Path, row: str) -> dict[str, Any]:
    """A finished row as it was written; RecordError where it is not there any more."""
    path = row_file(data, row)
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError) as wrong:
        found = "no such file" if isinstance(wrong, FileNotFoundError) else f"not JSON: {wrong}"
        raise RecordError(
            f"{path}: {found}; expected the records of a row that journal.jsonl calls complete. Restore the file."
        ) from None


def tables_of(data: Path, attempts: Sequence[Attempt], plan_sha256: str) -> dict[str, Table]:
    """Each table by the name of its file: what the journal's attempts and the files of finished rows give."""
    rows, draws, tasks, load, steps = [], [], [], [], []
    for attempt in attempts:
        state = {BEGUN: "running"}.get(attempt.state, attempt.state)
        rows.append((attempt.row, attempt.arm, attempt.started, state, attempt.reason, "", plan_sha256))
        if attempt.state != COMPLETE:
            continue
        kept = kept_row(data, attempt.row)
        load.append((attempt.row, f"{kept['load_before']:.2f}", f"{kept['load_after']:.2f}"))
        for draw in sorted({task["draw"] for task in kept["tasks"]}):
            done = [task for task in kept["tasks"] if task["draw"] == draw]
            draws.append((attempt.row, draw, *_draw(done)))
            tasks += [(attempt.row, draw, t["task"], t["kind"], t["outcome"], "") for t in done]
            steps += [(attempt.row, draw, t["task"], *step) for t in done for step in t["steps"]]
    measured = tuple(name for name, kind in DRAWS["columns"].items() if not kind.endswith("??"))
    return {
        "rows.csv": Table(tuple(ROWS["columns"]), rows),
        "draws.csv": Table(measured, draws),
        "tasks.csv": Table(tuple(TASKS["columns"]), tasks),
        "load.csv": Table(("row", "load_before", "load_after"), load),
        "steps.parquet": Table(("row", "draw", "task", "turn", "step", *STEP), steps),
    }


def write_tables(folder: Path, attempts: Sequence[Attempt]) -> None:
    """Nothing; rows.csv, draws.csv, tasks.csv, load.csv and steps.parquet then hold every finished row."""
    plan = hashlib.sha256((folder / "plan.toml").read_bytes()).hexdigest()
    for name, table in tables_of(folder / "data", attempts, plan).items():
        write_bytes(folder / "data" / name, _parquet(table) if name.endswith(".parquet") else _csv(table))


def _draw(tasks: Sequence[dict[str, Any]]) -> tuple[str, int, int, str, int]:
    """Step time in ms, verify steps, tokens, model time in s and passes of the tasks of one draw."""
    steps = [dict(zip(STEP, step[2:], strict=True)) for task in tasks for step in task["steps"]]
    step_ns = sum(step["ended_ns"] - step["started_ns"] for step in steps)
    tokens = sum(step["emitted"] for step in steps)
    model_ns = sum(task["model_ns"] for task in tasks)
    passes = sum(task["outcome"] == "pass" for task in tasks)
    return f"{step_ns / 1e6:.6f}", len(steps), tokens, f"{model_ns / 1e9:.9f}", passes


def _csv(table: Table) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.records)
    return text.getvalue().encode()


def _parquet(table: Table) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = [pa.string(), pa.int32(), pa.string(), pa.int32(), pa.int32(), *[pa.int64()] * len(STEP)]
    columns = list(zip(*table.records, strict=True)) if table.records else [[] for _ in table.columns]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays, names=list(table.columns)), sink, compression="zstd")
    return sink.getvalue().to_pybytes()
