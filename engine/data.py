"""The data of a part: its tables, read and checked together, and where they come from."""

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from campaign.engine.aggregate import read_records
from campaign.engine.errors import RecordError
from campaign.engine.files import digest_of, sha256_of
from campaign.engine.plan import Plan, Rows
from campaign.engine.records import check_together
from campaign.engine.tables import Schema, no_records
from campaign.engine.yardstick import add_yardstick
from campaign.kernels.errors import nearest

ORIGINS = ("measured", "reconstructed", "stated")


@dataclass(frozen=True)
class Data:
    """What a part's plan reads."""

    tables: Mapping[str, pd.DataFrame]
    digests: Mapping[str, str]
    """sha256 of each file, by its path below the part: of those that tables are read from and of the raw records."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """run.json: origin, environment, plan hash."""
    records: frozenset[str] = frozenset()
    """The raw records among the files: what lies below data/ and is read into no table."""

    @property
    def origin(self) -> str:
        """measured, reconstructed or stated."""
        return self.run.get("origin", "measured")

    @property
    def digest(self) -> str:
        """sha256 over the names and hashes of the files that are read: changes with any byte that a reading sees."""
        return digest_of({name: sha256 for name, sha256 in self.digests.items() if name not in self.records})

    @property
    def whole_digest(self) -> str:
        """sha256 over all files' names and hashes, the raw records too; `digest` where there are none."""
        return digest_of(self.digests)


def read_data(plan: Plan, folder: Path, show: Callable[[Path], str], *, absent_is_empty: bool = False) -> Data:
    """Every table of the plan, from the part's folder, with run.json; RecordError where anything is wrong.

    With `absent_is_empty` a table whose file is not there yet has no records, and run.json may be missing too: before
    the first row.
    """
    tables: dict[str, pd.DataFrame] = {}
    digests: dict[str, str] = {}
    shown: dict[str, str] = {}
    for name in plan.tables:
        file, schema = plan.table(name)
        if absent_is_empty and isinstance(schema, Schema) and not any(folder.glob(file)):
            shown[name] = show(folder / file)
            tables[name] = no_records(schema)
            continue
        found = read_records(file, schema, folder, show)
        shown[name] = found.shown
        tables[name] = found.table
        digests |= found.digests
    for name, arm in plan.arms.items():
        if arm.source:
            digests |= add_yardstick(plan, name, folder, show, tables)
    check_together(tables, shown)
    _check_against_plan(plan, tables, shown)
    _check_plan_hash(plan, folder, tables, shown)
    run: dict[str, Any] = {}
    run_file = folder / "data" / "run.json"
    if run_file.is_file():
        run = _read_run(run_file, show(run_file))
        digests["data/run.json"] = sha256_of(run_file)
    elif plan.tables and not absent_is_empty:
        raise RecordError(
            f"{show(run_file)}: there is no such file; expected where the data come from (origin, environment). "
            'Write it, with at least {"origin": "measured"}.'
        )
    records = {path.relative_to(folder).as_posix(): path for path in files_below(folder / "data")}
    unread = {name: sha256_of(path) for name, path in records.items() if name not in digests}
    return Data(tables, digests | unread, run, frozenset(unread))


def files_below(folder: Path) -> list[Path]:
    """Every file of data below a folder, by its path.

    What is no data is left out: a README, hidden files, and those that an editor leaves beside a file.
    """
    found = (path for path in sorted(folder.rglob("*")) if not path.name.endswith(("~", ".tmp")))
    return [path for path in found if not _is_aside(path.relative_to(folder)) and path.is_file()]


def _is_aside(path: Path) -> bool:
    return path.stem.casefold() == "readme" or any(name.startswith((".", "#", "__")) for name in path.parts)


def _read_run(path: Path, shown: str) -> dict[str, Any]:
    try:
        run = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as wrong:  # bad JSON and bad UTF-8 are ValueErrors
        raise RecordError(f"{shown}: not JSON: {wrong}; expected where the data come from. Correct the file.") from None
    if not isinstance(run, dict) or run.get("origin") not in ORIGINS:
        found = run.get("origin") if isinstance(run, dict) else run
        raise RecordError(
            f"{shown}: origin is {found!r}; expected one of {', '.join(ORIGINS)}. Say where the data come from."
        )
    return run


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _check_against_plan(plan: Plan, tables: Mapping[str, pd.DataFrame], shown: Mapping[str, str]) -> None:
    """Refuse arms that the plan does not have, rows out of the planned order, and too many draws."""
    if "rows" not in tables or not plan.arms:
        return
    rows = tables["rows"]
    for row in rows.itertuples():
        if row.arm not in plan.arms:
            raise RecordError(
                f"{shown['rows']}: row {row.row} is of arm {row.arm!r}; expected one of {', '.join(plan.arms)}."
                f"{nearest(row.arm, plan.arms)} Correct the arm, or add it to the plan."
            )
    if plan.rows is None:
        return
    _check_order(plan.rows, rows_of(plan, rows), shown["rows"])
    complete = set(planned_rows(plan, rows)["row"])
    if "tasks" in tables and "draws" in tables:
        draws, tasks = (tables[name][tables[name]["row"].isin(complete)] for name in ("draws", "tasks"))
        _check_tasks(draws, tasks, shown["tasks"])
    if "draws" in tables:
        per_row = tables["draws"].groupby("row").size()
        for row, draws in per_row.items():
            if row in complete and draws != plan.rows.draws:
                raise RecordError(
                    f"{shown['draws']}: row {row} has {draws} draws; the plan has {plan.rows.draws} a row. "
                    "Complete the row, or mark it void with its reason."
                )


def _check_tasks(draws: pd.DataFrame, tasks: pd.DataFrame, shown: str) -> None:
    """Refuse a draw without a record of some task: what was not recorded would count neither as failed nor as lost."""
    every = set(tasks["task"])
    found = {place: set(names) for place, names in tasks.groupby(["row", "draw"])["task"]}
    for row, draw in zip(draws["row"], draws["draw"], strict=True):
        lacking = sorted(every - found.get((row, draw), set()))
        if lacking:
            raise RecordError(
                f"{shown}: row {row}, draw {draw} has no record of the task {lacking[0]}, which other draws have; "
                "expected every draw to have each task with its outcome (an infrastructure error is one). Add it."
            )


def planned_rows(plan: Plan, rows: pd.DataFrame) -> pd.DataFrame:
    """The complete rows that ran under this plan (no yardstick row), in the order of their start."""
    ran = rows_of(plan, rows)
    return ran[ran["state"] == "complete"]


def rows_of(plan: Plan, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that ran under this plan, in the order of their start."""
    earlier = [name for name, arm in plan.arms.items() if arm.earlier]
    return rows[~rows["arm"].isin(earlier)].sort_values("started", kind="stable")


def _check_order(planned: Rows, ran: pd.DataFrame, shown: str) -> None:
    """Refuse rows that did not run in the planned order, and more replacements of void rows than planned.

    A void row is run again in its place, before the next one, or after the last one, as the plan says.
    """
    again = ran[ran["started"].duplicated()]
    if len(again):
        raise RecordError(
            f"{shown}: row {again['row'].iloc[0]} starts at {again['started'].iloc[0].isoformat()}, as another row "
            "does; expected one start after the other, since their order counts. Correct the start times."
        )
    at_the_end = planned.replace == "at the end"
    to_come = deque(planned.order)
    for place, row in enumerate(ran.itertuples() if at_the_end else ran[ran["state"] != "void"].itertuples(), 1):
        expected = to_come[0] if to_come else "no further row"
        if row.arm != expected:
            raise RecordError(
                f"{shown}: row {row.row} ran at place {place} as {row.arm}; the plan's order has {expected} there. "
                "Rows out of the planned order cannot be read: check the start times."
            )
        to_come.popleft()
        if row.state == "void":
            to_come.append(row.arm)
    voided = int((ran["state"] == "void").sum())
    if planned.replace_at_most is not None and voided > planned.replace_at_most:
        raise RecordError(
            f"{shown}: {voided} rows are void; the plan replaces at most {planned.replace_at_most}. These rows cannot "
            "be read under this plan: put them under a new one (`notes new`)."
        )


def _check_plan_hash(plan: Plan, folder: Path, tables: Mapping[str, pd.DataFrame], shown: Mapping[str, str]) -> None:
    """Refuse rows that say that they ran under another plan."""
    if "rows" not in tables or not (folder / "plan.toml").is_file():
        return
    ran = rows_of(plan, tables["rows"])
    expected = sha256_of(folder / "plan.toml")
    for row in ran[ran["plan_sha256"].notna() & (ran["plan_sha256"] != expected)].itertuples():
        raise RecordError(
            f"{shown['rows']}: row {row.row} ran under the plan {row.plan_sha256[:12]}; expected {expected[:12]}, the "
            "plan of this part. Restore that plan, or put the rows into a part of their own."
        )
