"""The data of a part: its tables, read and checked together, and where they come from."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from campaign.engine.errors import RecordError
from campaign.engine.plan import Plan
from campaign.engine.records import check_together
from campaign.engine.tables import read_table
from campaign.kernels.errors import nearest

ORIGINS = ("measured", "reconstructed", "stated")


@dataclass(frozen=True)
class Data:
    """What a part's plan reads."""

    tables: Mapping[str, pd.DataFrame]
    digests: Mapping[str, str]
    """sha256 of each file, by its path below the part."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """run.json: origin, environment, plan hash."""

    @property
    def origin(self) -> str:
        """measured, reconstructed or stated."""
        return self.run.get("origin", "measured")

    @property
    def digest(self) -> str:
        """sha256 over all files' names and hashes: changes with any byte of the data."""
        lines = "".join(f"{name} {sha}\n" for name, sha in sorted(self.digests.items()))
        return hashlib.sha256(lines.encode()).hexdigest()


def read_data(plan: Plan, folder: Path, show: Callable[[Path], str]) -> Data:
    """Every table of the plan, from the part's folder, with run.json; RecordError where anything is wrong."""
    tables: dict[str, pd.DataFrame] = {}
    digests: dict[str, str] = {}
    shown: dict[str, str] = {}
    for name in plan.tables:
        file, schema = plan.table(name)
        path = folder / file
        if not path.resolve().is_relative_to(folder.resolve()):
            raise RecordError(
                f"{show(path)}: table {name} lies outside the part; expected a file below {show(folder)}, so that git "
                "keeps the data with the note. Copy it there."
            )
        shown[name] = show(path)
        tables[name] = read_table(path, schema, shown[name])
        digests[file] = hashlib.sha256(path.read_bytes()).hexdigest()
    check_together(tables, shown)
    _check_against_plan(plan, tables, shown)
    run: dict[str, Any] = {}
    run_file = folder / "data" / "run.json"
    if run_file.is_file():
        run = _read_run(run_file, show(run_file))
        digests["data/run.json"] = hashlib.sha256(run_file.read_bytes()).hexdigest()
    elif plan.tables:
        raise RecordError(
            f"{show(run_file)}: there is no such file; expected where the data come from (origin, environment). "
            'Write it, with at least {"origin": "measured"}.'
        )
    return Data(tables, digests, run)


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
    ran = planned_rows(plan, rows)
    order = list(ran["arm"])
    if order != plan.rows.order[: len(order)]:
        place = next(i for i, arm in enumerate(order) if plan.rows.order[i : i + 1] != [arm])
        expected = plan.rows.order[place] if place < len(plan.rows.order) else "no further row"
        raise RecordError(
            f"{shown['rows']}: row {ran['row'].iloc[place]} ran at place {place + 1} as {order[place]}; the plan's "
            f"order has {expected} there. Rows out of the planned order cannot be read: check the start times."
        )
    if "draws" in tables:
        complete = set(ran["row"])
        per_row = tables["draws"].groupby("row").size()
        for row, draws in per_row.items():
            if row in complete and draws != plan.rows.draws:
                raise RecordError(
                    f"{shown['draws']}: row {row} has {draws} draws; the plan has {plan.rows.draws} a row. "
                    "Complete the row, or mark it void with its reason."
                )


def planned_rows(plan: Plan, rows: pd.DataFrame) -> pd.DataFrame:
    """The complete rows that ran under this plan (no yardstick row), in the order of their start."""
    earlier = [name for name, arm in plan.arms.items() if arm.earlier]
    ran = rows[(rows["state"] == "complete") & ~rows["arm"].isin(earlier)]
    return ran.sort_values("started", kind="stable")
