"""Yardstick rows: those of an earlier part's arm, taken from its data as they were when the plan was written."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pandas as pd

from campaign.engine.aggregate import read_records
from campaign.engine.errors import RecordError
from campaign.engine.files import digest_of
from campaign.engine.plan import Plan, read_plan
from campaign.kernels.errors import nearest

YARDSTICK_TABLES = ("rows", "draws", "tasks", "power")
"""What a yardstick brings from its own part."""


def add_yardstick(
    plan: Plan, name: str, folder: Path, show: Callable[[Path], str], tables: dict[str, pd.DataFrame]
) -> dict[str, str]:
    """sha256 of each file of the part that the arm `name` takes its rows from; its records are then in `tables`.

    Its rows are named `part-5/0425`, so that they are no one else's.
    """
    source = plan.arms[name].source
    assert source is not None, "the caller asks for arms with a source"
    home = folder.parent / source.part
    where = f"{show(folder / 'plan.toml')}: arms.{name}.source"
    its_plan = read_plan(home / "plan.toml", show(home / "plan.toml"))
    digests = {}
    found = {}
    for table in YARDSTICK_TABLES:
        if table in its_plan.tables:
            read = read_records(*its_plan.table(table), home, show)
            found[table] = read.table
            digests |= {f"../{source.part}/{file}": sha256 for file, sha256 in read.digests.items()}
    digest = digest_of(digests)
    if digest != source.sha256:
        raise RecordError(
            f"{where}: the data of {source.part} have the sha256 {digest}; expected {source.sha256}, as they were when "
            f"the plan was written. Restore the data, or seal a new plan with the new hash."
        )
    if "rows" not in found or source.arm not in set(found["rows"]["arm"]):
        arms = sorted(set(found["rows"]["arm"])) if "rows" in found else []
        raise RecordError(
            f"{where}: {source.part} has no rows of the arm {source.arm!r}; expected one of "
            f"{', '.join(arms) or 'none'}.{nearest(source.arm, arms)} Correct the arm."
        )
    rows = found["rows"][(found["rows"]["arm"] == source.arm) & (found["rows"]["state"] == "complete")]
    _refuse_the_same_again(f"{source.part}/" + rows["row"], tables, where)
    first, last = rows["started"].min().date(), rows["started"].max().date()
    day = plan.arms[name].earlier
    if day is not None and not first - timedelta(days=1) <= day <= last + timedelta(days=1):
        raise RecordError(
            f"{show(folder / 'plan.toml')}: arms.{name}.earlier is {day}, and the rows of {source.part} ran from "
            f"{first} to {last}; expected the day on which they ran. Correct it."
        )
    for table, frame in found.items():
        if table not in tables:
            continue
        chosen = frame[frame["row"].isin(rows["row"])].copy()
        chosen["row"] = f"{source.part}/" + chosen["row"]
        if table == "rows":
            chosen["arm"] = name
        tables[table] = pd.concat([chosen, tables[table]], ignore_index=True)
    return digests


def _refuse_the_same_again(names: pd.Series, tables: dict[str, pd.DataFrame], where: str) -> None:
    """Refuse rows that are there already: each would count twice."""
    again = sorted(set(names) & set(tables["rows"]["row"])) if "rows" in tables else []
    if again:
        raise RecordError(
            f"{where}: row {again[0]} is there already, of another arm or among the part's own; expected each row of a "
            "yardstick once. Take one of the two arms out, or rename the row."
        )
