"""Row values: one record per served row, computed from its draws. The row is the unit of inference."""

from collections.abc import Mapping

import pandas as pd

from campaign.engine.data import Data, planned_rows
from campaign.engine.plan import Plan

ROW_VALUES = "row_values"
"""The name under which readings use the table with one record for each complete row."""
DRAW_VALUES = "draw_values"
"""The same for each draw of a complete row."""


def served_tables(plan: Plan, data: Data) -> dict[str, pd.DataFrame]:
    """The tables of the data, and `draw_values` and `row_values` beside them.

    Draws, tasks, power samples and every other table with a column `row` are those of complete rows only, each
    record with the arm and start of its row.
    """
    tables = dict(data.tables)
    if "rows" not in tables:
        return tables
    rows = tables["rows"]
    complete = rows[rows["state"] == "complete"]
    for name in tables:
        if name != "rows" and "row" in tables[name]:
            tables[name] = tables[name].merge(complete[["row", "arm", "started"]], on="row", how="inner")
    if "draws" in tables:
        tables[DRAW_VALUES] = draw_values(plan, tables["draws"])
        tables[ROW_VALUES] = row_values(plan, complete, tables)
    return tables


def draw_values(plan: Plan, draws: pd.DataFrame) -> pd.DataFrame:
    """The draws with step_ms (ms per verify step), tokens_per_step, and matched_<slope> for each slope of the plan."""
    values = draws.copy()
    values["step_ms"] = values["step_time_ms"] / values["verify_steps"]
    values["tokens_per_step"] = values["tokens"] / values["verify_steps"]
    if plan.matching:
        at = float(plan.constants[plan.matching.at].value)
        for name, constant in plan.matching.slopes.items():
            slope = float(plan.constants[constant].value)
            values[f"matched_{name}"] = values["step_ms"] - slope * (values["tokens_per_step"] - at)
    return values


def row_values(plan: Plan, rows: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One record per complete row, in the order of start: unweighted means of its draws.

    Columns: row, arm, started, step_ms (ms per verify step, no matching), tokens_per_step, matched_<slope>
    (ms per verify step, each draw shifted to the plan's point along that slope), verify_steps, tokens,
    model_time_s, passes, and power_share where power samples exist: of the samples at or above the plan's
    floor, the share in which the cap was engaged (GPUs pooled). NaN where a draw has no such value.
    """
    draws = draw_values(plan, tables["draws"])
    columns = ["step_ms", "tokens_per_step", "verify_steps", "tokens", "model_time_s", "passes"]
    columns += [f"matched_{name}" for name in plan.matching.slopes] if plan.matching else []
    by_row = draws.groupby("row", sort=False)[columns]
    # a draw without a value leaves its row without one: what was not measured is not the mean of the others
    means = by_row.mean().where(by_row.count().eq(by_row.size(), axis=0))
    values = rows[["row", "arm", "started"]].merge(means, on="row", how="inner")
    if plan.power and "power" in tables:
        floor = float(plan.constants[plan.power.floor].value)
        busy = tables["power"][tables["power"]["power_w"] >= floor]
        share = busy.groupby("row")["cap_engaged"].mean().rename("power_share")
        values = values.merge(share, on="row", how="left")
    return values.sort_values("started", kind="stable").reset_index(drop=True)


def missing_rows(plan: Plan, data: Data) -> int:
    """How many planned rows are not there yet; 0 where the plan orders no rows."""
    if plan.rows is None:
        return 0
    if "rows" not in data.tables:
        return len(plan.rows.order)
    return max(0, len(plan.rows.order) - len(planned_rows(plan, data.tables["rows"])))


def earlier_rows(plan: Plan, data: Data) -> dict[str, int]:
    """How many complete rows each arm has that ran before the plan: those of a yardstick."""
    if "rows" not in data.tables:
        return {}
    rows = data.tables["rows"]
    complete = rows[rows["state"] == "complete"]
    return {name: int((complete["arm"] == name).sum()) for name, arm in plan.arms.items() if arm.earlier}
