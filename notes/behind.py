"""What stands behind a reading: its declaration in the plan, and the records of the data that it was computed from."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from campaign.analysis.compute import KINDS
from campaign.analysis.expressions import Undefined
from campaign.analysis.kinds import TableView, slug
from campaign.analysis.readings import ASPECTS, Reading
from campaign.analysis.rows import DRAW_VALUES, ROW_VALUES, served_tables
from campaign.analysis.rule import declarations, declares, member_of
from campaign.engine.plan import Plan
from campaign.engine.strict import parse_strict
from campaign.kernels.errors import CampaignError
from campaign.notes.sources import Sources

_MADE_OF = {ROW_VALUES: ("rows", "draws"), DRAW_VALUES: ("rows", "draws")}
_KEYS = {ROW_VALUES: ("row",), DRAW_VALUES: ("row", "draw")}
_FEW = 8
"""As many records with a key of several columns are named one by one."""
_MANY = 40
"""As many with a key of one column."""


@dataclass(frozen=True)
class Records:
    """Records of one table that a reading was computed from."""

    table: str
    chosen: int
    total: int
    named: str
    """Which they are, by the columns that name a record: `row 0425, 0426`."""
    files: tuple[tuple[str, str], ...]
    """The files that hold them, below the part, with their sha256."""


def declaration_of(plan: Plan, name: str) -> dict[str, Any] | None:
    """The declaration that gives the reading `name`: its own, its family's, or that of what it is an aspect of."""
    found = list(declarations(plan))
    while name:
        for said in found:
            if name in _ids(said):
                return said
        for said in found:
            if any(declares(one, name) for one in _ids(said)):
                return said
        name = name.rpartition(".")[0]
    return None


def _ids(declaration: Mapping[str, Any]) -> list[str]:
    """The ids that a declaration gives: its own, and that of the reading that names the best."""
    return [str(declaration[key]) for key in ("id", "winner") if declaration.get(key)]


def line_of(path: Path, name: str, plan: Plan | None = None) -> int | None:
    """The line of a plan.toml or facts.toml that declares `name`; of what the rule stands for its section's line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    declared = declaration_of(plan, name) if plan else None
    wanted = [name, *(_ids(declared) if declared else []), *_shorter(name)]
    for one in wanted:
        said = re.escape(one)
        quoted = rf"""(?:"{said}"|'{said}'|{said})"""
        forms = rf"""\s*(?:(?:id|winner)\s*=\s*["']{said}["']|\[(?:\w+\.)?{quoted}\]|{quoted}\s*=\s*\{{)"""
        for number, line in enumerate(lines, 1):
            if re.match(forms, line):
                return number
    if not declared:
        return None
    section = {"verdict": "verdict", "matching": "matching", "lever": "lever"}.get(name.partition(".")[0], "saving")
    return next((n for n, line in enumerate(lines, 1) if re.match(rf"\s*\[\[?{section}\]", line)), None)


def _shorter(name: str) -> Iterator[str]:
    base, _, last = name.rpartition(".")
    if last in ASPECTS:
        yield base


def records_behind(sources: Sources, reading: Reading) -> list[Records]:
    """The records of each table that the reading, or what it is computed from, was computed from."""
    tables = _Tables(sources)
    chosen: dict[str, set[Any]] = {}
    files: dict[str, list[str]] = {}
    for name in _with_operands(sources, reading):
        for table, more, frame in tables.of(name):
            chosen.setdefault(table, set()).update(frame.index)
            files.setdefault(table, []).extend(more)
    return [
        Records(
            table,
            len(index),
            len(tables.records(table, "")),
            _named(tables.records(table, "").loc[sorted(index)], _key(sources.plan, table)),
            tuple(_files(sources, [*_MADE_OF.get(table, (table,)), *files[table]])),
        )
        for table, index in chosen.items()
    ]


def _with_operands(sources: Sources, reading: Reading) -> Iterable[str]:
    """The ids of the reading and of everything that it is computed from."""
    found: dict[str, None] = {}
    waiting = [reading]
    while waiting:
        one = waiting.pop()
        if one.id in found:
            continue
        found[one.id] = None
        for name, _ in one.operands:
            if name in sources.readings:
                waiting.append(sources.readings[name])
    return found


class _Tables:
    """The tables of a part, each choice of records made once."""

    def __init__(self, sources: Sources) -> None:
        self.plan = sources.plan
        self.view = TableView(served_tables(sources.plan, sources.data), sources.plan.constants)
        self.records = cache(self.view.records)
        self.slugs = cache(lambda table, where, column: self.records(table, where)[column].map(slug))

    def of(self, name: str) -> Iterator[tuple[str, tuple[str, ...], pd.DataFrame]]:
        """Each table that a reading is declared over, the further ones joined to it, and the chosen records."""
        declared = declaration_of(self.plan, name)
        if declared is None:
            return
        try:
            said = parse_strict(KINDS[declared["kind"]], declared, name)
            patterns = [(one, said_name) for one in _ids(declared) for said_name in (name, name.rpartition(".")[0])]
            member = next((found for pattern in patterns if (found := member_of(*pattern))), {})
            yield from self._chosen(said, member)
        except (CampaignError, Undefined, KeyError):
            return

    def _chosen(self, said: Any, member: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...], pd.DataFrame]]:
        if table := getattr(said, "table", ""):
            where = f"({said.top}) or ({said.bottom})" if hasattr(said, "top") else getattr(said, "where", "")
            frame = self.records(table, where)
            for column in (column for column in member if column in frame):
                slugs = self.slugs(table, where, column)
                frame = frame[slugs.loc[frame.index] == member[column]]
            yield table, (), frame
            if weights := getattr(said, "weight_table", ""):
                yield weights, (), self.records(weights, "")
        elif arm := getattr(said, "arm", ""):
            frame = self.records(ROW_VALUES, "")
            more = ("power",) if "power" in getattr(said, "column", "") else ()
            yield ROW_VALUES, more, frame[frame["arm"].isin([arm, getattr(said, "against", arm)])]


def _key(plan: Plan, table: str) -> tuple[str, ...]:
    if table in _KEYS or table not in plan.tables:
        return _KEYS.get(table, ())
    schema = plan.table(table)[1]
    return tuple(getattr(schema, "key", ()) or getattr(schema, "group", ()))


def _named(frame: pd.DataFrame, key: tuple[str, ...]) -> str:
    """Which records these are: each of a few, else the values of what names them that are few."""
    key = tuple(column for column in key if column in frame)
    if not key or not len(frame):
        return ""
    if len(key) == 1 and len(frame) <= _MANY:
        return f"{key[0]} {', '.join(map(str, frame[key[0]]))}"
    if len(frame) <= _FEW:
        each = ("/".join(map(str, values)) for values in frame[list(key)].itertuples(index=False))
        return f"{'/'.join(key)} {', '.join(each)}"
    said = []
    for column in key:
        values = list(dict.fromkeys(map(str, frame[column])))
        shown = ", ".join(values) if len(values) <= _FEW else f"{values[0]} to {values[-1]} ({len(values)})"
        said.append(f"{column} {shown}")
    return "; ".join(said)


def _files(sources: Sources, tables: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The files of some tables with their sha256, those of a yardstick's part too."""
    plan = sources.plan
    for table in dict.fromkeys(tables):
        if table not in plan.tables:
            continue
        pattern = plan.table(table)[0]
        for path, sha256 in sources.data.digests.items():
            if fnmatch(path, pattern) or fnmatch(path, f"../*/{pattern}"):
                yield path, sha256
