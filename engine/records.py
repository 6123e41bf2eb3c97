"""The tables that served rows leave, and what must hold between them."""

from collections.abc import Mapping

import pandas as pd

from campaign.engine.errors import RecordError
from campaign.engine.tables import Schema
from campaign.kernels.records import EQUALITY, KERNEL_TIMINGS

ROWS = {
    "key": ("row",),
    "columns": {
        "row": "text",
        "arm": "text",
        "started": "time",
        "state": "text",
        "reason": "text?",
        "assumed": "text?",
        "plan_sha256": "text??",
    },
}
"""One engine start of one arm. `assumed` names the columns whose value is assumed, not recorded; `plan_sha256` is of
the plan under which the row ran."""

DRAWS = {
    "key": ("row", "draw"),
    "columns": {
        "row": "text",
        "draw": "integer",
        "step_time_ms": "number?",
        "verify_steps": "integer?",
        "tokens": "integer?",
        "model_time_s": "number?",
        "passes": "integer?",
        "reason": "text??",
    },
}
"""One pass over all tasks: the sum of its verify steps' times, their number, the tokens that they emitted
(the bonus token included), the server's model time, the tasks passed. A draw that gave no such value leaves its cell
empty and says why in `reason`; what is computed from it then has no value either."""

TASKS = {
    "key": ("row", "draw", "task"),
    "columns": {
        "row": "text",
        "draw": "integer",
        "task": "text",
        "kind": "text",
        "outcome": "text",
        "assumed": "text?",
    },
}
"""One graded task of one draw. An infrastructure error is an outcome of its own, never a fail."""

POWER = {
    "key": ("row", "at", "gpu"),
    "columns": {"row": "text", "at": "time", "gpu": "integer", "power_w": "number", "cap_engaged": "flag"},
}
"""One sample of one GPU's power, and whether the power cap was engaged."""

CONTEXT_MIX = {
    "key": ("context_tokens",),
    "columns": {"context_tokens": "integer", "verify_steps": "integer", "assumed": "text?"},
}
"""How many verify steps the benchmark spends at each context length."""

ROW_STATES = ("planned", "running", "complete", "void")
OUTCOMES = ("pass", "fail", "infrastructure error")

KNOWN = {
    "rows": ROWS,
    "draws": DRAWS,
    "tasks": TASKS,
    "power": POWER,
    "context_mix": CONTEXT_MIX,
    "kernel_timings": KERNEL_TIMINGS,
    "equality": EQUALITY,
}
"""Tables whose columns the program knows; a plan gives only their file."""


def known_schema(name: str) -> Schema | None:
    """The schema of a table that the program knows, or None."""
    if name not in KNOWN:
        return None
    return Schema.parse(name, KNOWN[name]["columns"], KNOWN[name]["key"], "engine/records.py")


def check_together(tables: Mapping[str, pd.DataFrame], shown: Mapping[str, str]) -> None:
    """Refuse records that contradict each other or what is physically possible.

    Every draw, task and power sample names a row that exists; a task, a draw that exists; a void row says why; a
    complete row has draws. In every row that is not void each verify step emits at least one token, the verify
    steps of a draw take no longer than its model time, and a draw's passes are the tasks that passed.
    """
    if "equality" in tables:
        _check_equality(tables["equality"], shown["equality"])
    if "rows" not in tables:
        return
    rows = tables["rows"]
    _one_of(rows, "state", ROW_STATES, shown["rows"])
    void = rows[rows["state"] == "void"]
    for row in void[void["reason"].isna()]["row"]:
        raise RecordError(
            f"{shown['rows']}: row {row} is void, and its reason is empty; expected why it does not count. "
            "Give the reason."
        )
    for name in ("draws", "tasks", "power"):
        if name in tables:
            unknown = sorted(set(tables[name]["row"]) - set(rows["row"]))
            if unknown:
                raise RecordError(
                    f"{shown[name]}: row {unknown[0]} has records but is not in {shown['rows']}; "
                    "expected every row to be listed there. Add the row, or remove its records."
                )
    counted = {
        name: tables[name][~tables[name]["row"].isin(void["row"])] for name in ("draws", "tasks") if name in tables
    }
    if "draws" in tables:
        _check_draws(rows, counted["draws"], shown)
    if "tasks" in tables:
        _one_of(tables["tasks"], "outcome", OUTCOMES, shown["tasks"])
        if "draws" in tables:
            _check_passes(counted["draws"], counted["tasks"], shown)


def _check_equality(calls: pd.DataFrame, shown: str) -> None:
    wrong = calls[(calls["mismatched_rows"] < 0) | (calls["mismatched_rows"] > calls["rows"]) | (calls["rows"] < 1)]
    for call in wrong.itertuples():
        raise RecordError(
            f"{shown}: check {call.check}, call {call.call}: {call.mismatched_rows} of {call.rows} rows differ; "
            "expected at least one row, and from none to all of them. Correct the record."
        )


def _one_of(frame: pd.DataFrame, column: str, allowed: tuple[str, ...], shown: str) -> None:
    wrong = frame[~frame[column].isin(allowed)]
    if len(wrong):
        record = wrong.iloc[0]
        raise RecordError(
            f"{shown}: row {record['row']}: {column} is {record[column]!r}; expected one of {', '.join(allowed)}. "
            "Correct it."
        )


def _check_draws(rows: pd.DataFrame, draws: pd.DataFrame, shown: Mapping[str, str]) -> None:
    for column in ("step_time_ms", "verify_steps", "tokens", "model_time_s", "passes"):
        unsaid = draws[draws[column].isna() & draws["reason"].isna()] if "reason" in draws else draws.iloc[:0]
        for draw in unsaid.itertuples():
            raise RecordError(
                f"{shown['draws']}:{draw.Index + 2}: {column} is empty; expected a finite number, or why there is none "
                f"in a column `reason`. Fill it in, or mark its row void with a reason and take its records out."
            )
    empty = sorted(set(rows.loc[rows["state"] == "complete", "row"]) - set(draws["row"]))
    if empty:
        raise RecordError(
            f"{shown['draws']}: row {empty[0]} is complete in {shown['rows']} but has no draws; expected some. "
            "Add its draws, or mark the row void with its reason."
        )
    for draw in draws.itertuples():
        where = f"{shown['draws']}: row {draw.row}, draw {draw.draw}"
        if draw.verify_steps <= 0 or draw.step_time_ms <= 0:
            raise RecordError(
                f"{where}: found {draw.verify_steps} verify steps in {draw.step_time_ms} ms; expected "
                "both above zero. Correct them, or mark the row void."
            )
        if draw.tokens < draw.verify_steps:
            raise RecordError(
                f"{where}: {draw.tokens} tokens in {draw.verify_steps} verify steps; expected at least one token a "
                "step, the bonus token included. Check which of the two is wrong."
            )
        if draw.step_time_ms / 1000 > draw.model_time_s:
            raise RecordError(
                f"{where}: its verify steps take {draw.step_time_ms / 1000:g} s, its model time is "
                f"{draw.model_time_s:g} s; expected the steps to fit into the model time. "
                "Check the units: step_time_ms is in milliseconds, model_time_s in seconds."
            )


def _check_passes(draws: pd.DataFrame, tasks: pd.DataFrame, shown: Mapping[str, str]) -> None:
    there = set(zip(draws["row"], draws["draw"], strict=True))
    for task in tasks.itertuples():
        if (task.row, task.draw) not in there:
            raise RecordError(
                f"{shown['tasks']}: row {task.row}, draw {task.draw}: task {task.task} was graded, but "
                f"{shown['draws']} has no such draw; expected every draw to be listed there. "
                "Add the draw, or correct the task's."
            )
    passed = tasks[tasks["outcome"] == "pass"].groupby(["row", "draw"]).size()
    for draw in draws[draws["passes"].notna()].itertuples():
        graded = int(passed.get((draw.row, draw.draw), 0))
        if graded != draw.passes:
            raise RecordError(
                f"{shown['draws']}: row {draw.row}, draw {draw.draw}: passes is {draw.passes}, but "
                f"{graded} tasks passed in {shown['tasks']}; expected the same number. Correct the one that is wrong."
            )
