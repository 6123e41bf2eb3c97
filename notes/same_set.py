"""Comparisons over the same set of things: a difference or ratio says little where each side ran other tasks or cases.

Two arms are compared over the tasks that were graded in their rows and over the draws of a row, and two figures of one
table over the cases in their records: the columns of the table's key that neither side chooses by. Pairs and ratios
within a run are left alone: they are only ever made where both sides were measured.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from campaign.analysis.expressions import parse
from campaign.analysis.formulas import expression_of, first_name
from campaign.analysis.kinds import Stat, TableView, slug, text_of_where
from campaign.analysis.readings import Readings
from campaign.analysis.rule import SERVED, declarations, declares, member_of
from campaign.engine.plan import Plan
from campaign.engine.tables import Schema
from campaign.notes.findings import Finding
from campaign.notes.paths import Part
from campaign.notes.sources import Sources
from campaign.notes.toml_places import line_of_id, line_of_table

DECLARED = "different sets"
"""Words in a reading's `because` with which a plan says that it compares over different sets on purpose."""
MOST_NAMED = 6
"""How many items a finding names."""

_OF_TWO_ARMS = ("saving", "drift", "difference", "relative", "equivalence", "fisher")
_NO_COMPARISON = ("count", "distinct", "value")
"""Figures that say how many there are, or what one record holds, and nothing about a set."""
_COUNTERS = frozenset("row draw run repeat chunk call turn step at gpu seed variant version started".split())
"""Columns that number what was done again; they tell no case from another."""


def same_set(part: Part, sources: Sources) -> Sequence[Finding]:
    """An error for each comparison of the plan whose two sides stand on different items; names those of one side alone.

    Draws that only one of two arms has are a warning: a row counts once, however many draws it has.
    """
    memo = sources.readings.memo
    if "same set" not in memo:
        memo["same set"] = tuple(_same_set(part, sources))
    return memo["same set"]


def _same_set(part: Part, sources: Sources) -> Iterator[Finding]:
    plan = sources.plan
    text = part.plan.read_text(encoding="utf-8") if part.plan.is_file() else ""
    data = _Records(plan, sources.data.tables)
    for pair, (name, line) in _arms(plan, text).items():
        for what, level, sides in data.of_arms(*pair):
            yield from _finding(part, line, what, level, pair, sides, name)
    for name, first, second, line in _figures(plan, sources.readings, text):
        columns, sides = data.of_figures(first, second)
        if columns:
            yield from _finding(part, line, ", ".join(columns), "error", (str(first), str(second)), sides, name)


Sides = tuple[frozenset[Any], frozenset[Any]]


def _finding(
    part: Part, line: int, what: str, level: Any, names: Sequence[str], sides: Sides, reading: str
) -> Iterator[Finding]:
    one, other = sides
    if not one or not other or one == other:
        return  # a side without any record gives no reading, which says so itself
    alone = [
        f"{what} only in {name}: {_listed(own - others)}"
        for name, own, others in ((names[0], one, other), (names[1], other, one))
        if own - others
    ]
    yield Finding(
        "set",
        part.show(part.plan),
        line,
        1,
        "; ".join(alone),
        f"the same {what} on both sides, {len(one & other)} of which are in both",
        reading,
        f"compare what both have (`where`), or say in the reading's because that it compares {DECLARED}",
        level=level,
        also=(f"{names[0]} has {len(one)}, {names[1]} has {len(other)}",),
    )


def _listed(items: frozenset[Any]) -> str:
    ranked = [" ".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in sorted(items)]
    more = len(ranked) - MOST_NAMED
    return ", ".join([*ranked[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


# ---------------------------------------------------------------- what is compared


def _arms(plan: Plan, text: str) -> dict[tuple[str, str], tuple[str, int]]:
    """Each pair of arms that a reading compares, with the first such reading and its line in the plan."""
    found: dict[tuple[str, str], tuple[str, int]] = {}
    for said in declarations(plan):
        if said.get("kind") not in _OF_TWO_ARMS or DECLARED in str(said.get("because", "")):
            continue
        pair = (str(said.get("arm")), str(said.get("against")))
        if pair not in found and pair[::-1] not in found:
            line = line_of_id(text, str(said["id"]))
            found[pair] = (str(said["id"]), line if line > 1 else line_of_table(text, "saving"))
    return found


@dataclass(frozen=True)
class _Figure:
    """A figure of a table's records, as the plan declares it; of a family the member that is asked for."""

    said: Stat
    member: tuple[tuple[str, str], ...]
    """Column and value, as it stands in the id, of what tells the member from the others."""

    def __str__(self) -> str:
        chosen = ", ".join(f"{column} {value}" for column, value in self.member)
        return chosen or f"{self.said.table}{text_of_where(self.said.where)}"

    def chooses_by(self) -> set[str]:
        """The columns by which its records are chosen."""
        return {column for column, _ in self.member} | (set(parse(self.said.where).ids) if self.said.where else set())


def _figures(plan: Plan, readings: Readings, text: str) -> Iterator[tuple[str, _Figure, _Figure, int]]:
    """Each difference or ratio of two like figures of one table, with the reading that is computed so."""
    said = [one for one in declarations(plan) if one.get("kind") == "expr" and DECLARED not in str(one.get("because"))]
    stats = [Stat.model_validate(one) for one in declarations(plan) if one.get("kind") == "stat"]
    seen = set()
    for one in said:
        line = line_of_id(text, str(one["id"]))
        for name in filter(partial(declares, str(one["id"])), readings):
            formula = expression_of(readings[name], readings)
            for node in ast.walk(formula.tree) if formula else ():
                if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub | ast.Div):
                    continue
                sides = [_figure(formula.id_of(side), readings, stats) for side in (node.left, node.right)]
                first, second = sides
                if first and second and _alike(first, second) and (str(first), str(second), one["id"]) not in seen:
                    seen.add((str(first), str(second), one["id"]))
                    yield name, first, second, line


def _figure(name: str, readings: Readings, stats: Sequence[Stat]) -> "_Figure | None":
    """The figure that an id stands for, by way of readings that are another name of it."""
    name = first_name(name, readings)
    members = ((said, member_of(said.id, name)) for said in stats)
    return next((_Figure(said, tuple(member.items())) for said, member in members if member is not None), None)


def _alike(first: _Figure, second: _Figure) -> bool:
    """Whether two figures are one thing of two sets of records, so that they compare them."""
    one, other = first.said, second.said
    same = (one.table, one.column, one.stat) == (other.table, other.column, other.stat)
    return same and one.stat not in _NO_COMPARISON and (one.where, first.member) != (other.where, second.member)


# ---------------------------------------------------------------- the records


class _Records:
    """The records of a part, by arm and by figure."""

    def __init__(self, plan: Plan, tables: Mapping[str, pd.DataFrame]) -> None:
        self.plan = plan
        self.tables = tables
        rows = tables.get("rows")
        complete = rows[rows["state"] == "complete"] if rows is not None else None
        self.of_row = complete.set_index("row")[["arm", "started"]] if complete is not None else None
        self.served: dict[str, pd.DataFrame] = {}

    def of_arms(self, arm: str, against: str) -> Iterator[tuple[str, Any, Sides]]:
        """What the rows of two arms stand on: the tasks that were graded, and the numbers of their draws."""
        for table, column, where, level in (("tasks", "task", SERVED, "error"), ("draws", "draw", "", "warning")):
            if table in self.tables and "row" in self.tables[table]:
                frame = self._chosen(table, where)
                sides = [frozenset(frame.loc[frame["arm"] == one, column]) for one in (arm, against)]
                yield f"{column}s", level, (sides[0], sides[1])

    def of_figures(self, first: _Figure, second: _Figure) -> tuple[list[str], Sides]:
        """The columns that tell cases apart, and the cases on both sides; no column where there are none to tell."""
        table = first.said.table
        if table not in self.plan.tables or table not in self.tables:
            return [], (frozenset(), frozenset())
        schema = self.plan.table(table)[1]
        key = schema.key if isinstance(schema, Schema) else schema.table.key
        chosen_by = first.chooses_by() | second.chooses_by()
        columns = [name for name in key if name not in _COUNTERS and name not in chosen_by]
        sides = [self._cases(figure, columns) for figure in (first, second)] if columns else [frozenset()] * 2
        return columns, (sides[0], sides[1])

    def _cases(self, figure: _Figure, columns: list[str]) -> frozenset[Any]:
        frame = self._chosen(figure.said.table, figure.said.where)
        for column, value in figure.member:
            frame = frame[frame[column].map(slug) == value]
        found = frame[columns].drop_duplicates()
        return frozenset(found.itertuples(index=False, name=None)) if len(columns) > 1 else frozenset(found[columns[0]])

    def _chosen(self, table: str, where: str) -> pd.DataFrame:
        """The records for which `where` holds, those of complete rows with their arm."""
        if table not in self.served:
            frame = self.tables[table]
            if self.of_row is not None and "row" in frame and table != "rows":
                frame = frame.join(self.of_row, on="row", how="inner")
            self.served[table] = frame
        return TableView(self.served, self.plan.constants).records(table, where)
