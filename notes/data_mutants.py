"""Changed data for the self-test: files with a wrong cell, record or byte, and data that turn a claim round."""

import csv
import io
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice, pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from campaign.analysis.compute import KINDS, read
from campaign.analysis.errors import ReadingError
from campaign.analysis.rows import DRAW_VALUES, ROW_VALUES
from campaign.analysis.rule import declarations, texts_in
from campaign.engine.data import Data
from campaign.engine.plan import Plan
from campaign.engine.records import OUTCOMES, ROW_STATES
from campaign.engine.tables import Schema
from campaign.kernels.errors import CampaignError
from campaign.notes.claims import claim_holds
from campaign.notes.sources import Sources

PATIENCE = 60
"""After so many changes none of which made a claim false, data will do under which its reading is gone."""
MOST_BYTES = 16_000_000
"""A file above this is changed by its bytes alone."""


@dataclass(frozen=True)
class DataMutant:
    """One changed data file."""

    kind: str
    """Its class, one of CLASSES."""
    path: str
    """The file, below the part's folder."""
    what: str
    """What was changed, for a person."""
    content: bytes


# Files as records


@dataclass(frozen=True)
class Records:
    """A data file as a header and records; cells of a CSV file are texts, those of Parquet are values."""

    header: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]
    schema: Any = None
    """The schema of a Parquet file."""

    @classmethod
    def of(cls, path: Path) -> "Records":
        """The records of a file, each value as it is written."""
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            table = pq.read_table(path)
            columns = [column.to_pylist() for column in table.columns]
            return cls(tuple(table.column_names), tuple(zip(*columns, strict=True)), table.schema)
        header, *cells = csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline=""))
        return cls(tuple(header), tuple(map(tuple, cells)))

    def content(self) -> bytes:
        """The bytes of a file with these records."""
        if self.schema is not None:
            import pyarrow as pa
            import pyarrow.parquet as pq

            columns = list(zip(*self.cells, strict=True)) or [()] * len(self.header)
            arrays = [pa.array(values, self.schema.field(i).type) for i, values in enumerate(columns)]
            sink = pa.BufferOutputStream()
            pq.write_table(pa.table(arrays, names=list(self.header)), sink)
            return sink.getvalue().to_pybytes()
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.cells])
        return text.getvalue().encode()

    def with_cell(self, record: int, column: int, value: Any) -> "Records":
        """The records with one other cell."""
        cells = list(self.cells)
        cells[record] = (*cells[record][:column], value, *cells[record][column + 1 :])
        return replace(self, cells=tuple(cells))

    def without(self, records: Sequence[int]) -> "Records":
        """The records, these left out."""
        gone = set(records)
        return replace(self, cells=tuple(cell for i, cell in enumerate(self.cells) if i not in gone))


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def _number(cell: Any) -> float | int | None:
    """What a cell says, where it is a number."""
    if isinstance(cell, bool):
        return None
    if isinstance(cell, int | float):
        return cell
    if isinstance(cell, str) and _NUMBER.fullmatch(cell):
        return int(cell) if re.fullmatch(r"-?\d+", cell) else float(cell)
    return None


def _as_cell(value: Any, like: Any) -> Any:
    """`value` as the file writes it: a text where `like` is one."""
    if not isinstance(like, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(float(value))
    return str(value)


Change = Callable[[Records, random.Random], Iterator[tuple[str, Records | bytes]]]
CLASSES: dict[str, tuple[str, Change]] = {}
"""Every class of changed files, by its name: what it changes, and how."""


def _class(name: str, changes: str) -> Callable[[Change], Change]:
    def register(make: Change) -> Change:
        CLASSES[name] = (changes, make)
        return make

    return register


def _cells(records: Records, chosen: random.Random, number: bool) -> Iterator[tuple[int, int, Any]]:
    """Record, column and cell of some records in each column that holds numbers (or other things)."""
    for column in range(len(records.header)):
        fits = [
            i
            for i, record in enumerate(records.cells)
            if record[column] not in ("", None) and (_number(record[column]) is not None) == number
        ]
        for record in sorted(chosen.sample(fits, min(2, len(fits)))):
            yield record, column, records.cells[record][column]


def _told(records: Records, record: int, column: int, was: Any, became: Any) -> str:
    return f"record {record + 1}, {records.header[column]}: {was} → {became}"


def _numbers(make: Callable[[Any], Any]) -> Change:
    def change(records: Records, chosen: random.Random) -> Iterator[tuple[str, Records | bytes]]:
        for record, column, cell in _cells(records, chosen, number=True):
            became = make(_number(cell))
            if became is not None:
                written = _as_cell(became, cell)
                yield _told(records, record, column, cell, written), records.with_cell(record, column, written)

    return change


def _a_little(value: float | int) -> float | int:
    if isinstance(value, int):
        return value + 1
    digits = len(repr(value).partition(".")[2])
    return round(value + 10.0**-digits, digits)


_class("cell a little", "a number is one higher in its last place")(_numbers(_a_little))
_class("cell by much", "a number is ten times as large")(_numbers(lambda value: value * 10 if value else 7))
_class("below the print", "a number is changed by less than any printed one shows")(
    _numbers(lambda value: None if isinstance(value, int) else value * (1 + 2e-15) if value else 1e-12)
)


@_class("cell lost", "a cell is empty")
def _lost(records: Records, chosen: random.Random) -> Iterator[tuple[str, Records | bytes]]:
    for number in (True, False):
        for record, column, cell in _cells(records, chosen, number):
            empty = "" if isinstance(cell, str) else None
            yield _told(records, record, column, cell, "nothing"), records.with_cell(record, column, empty)


@_class("text cell", "a text becomes another one of its column, or one that may stand there")
def _text(records: Records, chosen: random.Random) -> Iterator[tuple[str, Records | bytes]]:
    for record, column, cell in _cells(records, chosen, number=False):
        allowed = {"outcome": OUTCOMES, "state": ROW_STATES}.get(records.header[column], ())
        others = sorted({*allowed, *(other[column] for other in records.cells)} - {cell, "", None}, key=str)
        if others:
            became = chosen.choice(others)
            yield _told(records, record, column, cell, became), records.with_cell(record, column, became)


@_class("record dropped", "a record is left out")
def _dropped(records: Records, chosen: random.Random) -> Iterator[tuple[str, Records | bytes]]:
    size = len(records.cells)
    for record in sorted({0, size // 2, size - 1}) if size else ():
        yield f"record {record + 1} left out", records.without([record])


@_class("record doubled", "a record stands there twice")
def _doubled(records: Records, chosen: random.Random) -> Iterator[tuple[str, Records | bytes]]:
    for record in sorted(chosen.sample(range(len(records.cells)), min(2, len(records.cells)))):
        cells = (*records.cells[: record + 1], *records.cells[record:])
        yield f"record {record + 1} twice", replace(records, cells=cells)


@_class("arms exchanged", "two records of a column with few texts (arms, kernels, outcomes) exchange theirs")
def _exchanged(records: Records, chosen: random.Random) -> Iterator[tuple[str, Records | bytes]]:
    for column, name in enumerate(records.header):
        found = {str(record[column]): i for i, record in enumerate(records.cells)}
        if not 2 <= len(found) <= 64 or all(_number(record[column]) is not None for record in records.cells):
            continue
        first, second = sorted(chosen.sample(sorted(found.values()), 2))
        one, other = records.cells[first][column], records.cells[second][column]
        changed = records.with_cell(first, column, other).with_cell(second, column, one)
        yield f"records {first + 1} and {second + 1} exchange {name}: {one}, {other}", changed


@_class("records exchanged", "two neighbouring records change places")
def _moved(records: Records, chosen: random.Random) -> Iterator[tuple[str, Records | bytes]]:
    different = [i for i, (one, other) in enumerate(pairwise(records.cells)) if one != other]
    for at in sorted(chosen.sample(different, min(2, len(different)))):
        cells = (*records.cells[:at], records.cells[at + 1], records.cells[at], *records.cells[at + 2 :])
        yield f"records {at + 1} and {at + 2} change places", replace(records, cells=cells)


@_class("columns swapped", "two columns exchange their names, or their values")
def _columns(records: Records, chosen: random.Random) -> Iterator[tuple[str, Records | bytes]]:
    for first, second in pairwise(range(len(records.header))):
        names = list(records.header)
        names[first], names[second] = names[second], names[first]
        yield f"{names[second]} and {names[first]} exchange names", replace(records, header=tuple(names), schema=None)


_BYTES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "truncated": ("the file ends in its middle, or a byte early", lambda content: content[: len(content) // 2]),
    "last byte lost": ("the file ends a byte early", lambda content: content[:-1]),
    "emptied": ("the file is empty", lambda content: b""),
    "line end": ("the file ends with a line end more", lambda content: content + b"\n"),
}
"""Changes of any file's bytes."""


def kinds() -> dict[str, str]:
    """The classes of changed files and what each changes."""
    return {name: changes for name, (changes, _) in CLASSES.items()} | {
        n: changes for n, (changes, _) in _BYTES.items()
    }


def data_files(sources: Sources) -> list[str]:
    """The files below the part that its data are read from."""
    return [name for name in sources.data.digests if not name.startswith("..")]


def data_mutants(sources: Sources, kind: str, seed: int = 0) -> Iterator[DataMutant]:
    """Every changed file of one class."""
    for name in data_files(sources):
        path = sources.part.folder / name
        chosen = random.Random(f"{seed} {kind} {name}")
        if kind in _BYTES:
            yield DataMutant(kind, name, _BYTES[kind][0], _BYTES[kind][1](path.read_bytes()))
        elif path.suffix in (".csv", ".parquet") and path.stat().st_size <= MOST_BYTES:
            for what, changed in CLASSES[kind][1](Records.of(path), chosen):
                content = changed if isinstance(changed, bytes) else _content(changed, path)
                if content is not None:
                    yield DataMutant(kind, name, what, content)
        elif kind == "cell a little" and path.suffix == ".json":
            yield from _json(kind, name, path)


def _content(records: Records, path: Path) -> bytes | None:
    """The file's bytes; None where Parquet cannot hold the change."""
    if path.suffix == ".parquet" and records.schema is None:
        import pyarrow.parquet as pq

        schema = pq.read_schema(path)
        if any(schema.field(name).type != schema.field(i).type for i, name in enumerate(records.header)):
            return None
        records = replace(records, schema=schema)
    return records.content()


def _json(kind: str, name: str, path: Path) -> Iterator[DataMutant]:
    text = path.read_text("utf-8")
    digits = list(re.finditer(r"\d", text))
    for found in (digits[:1] + digits[-1:]) if digits else ():
        became = str((int(found[0]) + 1) % 10)
        changed = f"{text[: found.start()]}{became}{text[found.end() :]}"
        yield DataMutant(kind, name, f"offset {found.start()}: {found[0]} → {became}", changed.encode())


# Data that turn a claim round


@dataclass(frozen=True)
class Cells:
    """Other values in one column of some records of a table; records that are dropped where no column is named."""

    table: str
    records: tuple[int, ...]
    column: str
    values: tuple[Any, ...]
    what: str
    """For a person."""


class Search:
    """Changes of the data under which a claim is no longer what it is, one after the other.

    `first` are changes that turned other claims, and are tried first; after `seconds` the search ends. Asked for more
    it goes on: with what `first` has won since, then where it had stopped.
    """

    def __init__(self, sources: Sources, expression: str, first: Sequence[tuple[Cells, ...]], seconds: float) -> None:
        self.sources = sources
        self.expression = expression
        self.first = first
        self.seconds = seconds
        self.tried = 0
        """How many changes were tried so far."""
        self.plan, self.words = _needed(sources.plan, expression)
        self.holds = claim_holds(expression, sources.readings)
        if self._holds(()) is not self.holds:
            self.plan = sources.plan  # more hangs together than its ids tell
        self._known = 0
        self._further = changes(sources, self.words)
        self._lost: list[tuple[Cells, ...]] = []

    def __iter__(self) -> Iterator[tuple[Cells, ...]]:
        until = time.monotonic() + self.seconds
        first = self.first[self._known :]
        self._known += len(first)
        for change in chain(first, map(self._the_other_way, first), self._further):
            self.tried += 1
            holds = self._holds(change)
            if holds is None:
                self._lost.append(change)
            elif holds is not self.holds:
                yield change
            if self.tried >= PATIENCE:
                # what can only be there or gone: data under which a reading of it is gone
                yield from self._taken()
            if time.monotonic() > until:
                break
        yield from self._taken()

    def _taken(self) -> list[tuple[Cells, ...]]:
        """The changes under which a reading of the claim is gone, each once."""
        lost, self._lost = self._lost, []
        return lost

    def _the_other_way(self, change: tuple[Cells, ...]) -> tuple[Cells, ...]:
        """The change with what it scaled up scaled down by as much; nothing where it scaled nothing."""
        turned = []
        for cells in change:
            was = self.sources.data.tables[cells.table][cells.column] if cells.column else pd.Series(dtype=object)
            if was.dtype != "float64" or any(not value or pd.isna(value) for value in cells.values):
                return ()
            before = was.iloc[list(cells.records)]
            values = tuple(float(a * a / b) for a, b in zip(before, cells.values, strict=True))
            turned.append(replace(cells, values=values, what=f"{cells.what}, the other way"))
        return tuple(turned)

    def _holds(self, change: tuple[Cells, ...]) -> bool | None:
        """Whether the claim holds under the change; None where it cannot be told any more."""
        try:
            readings = read(self.plan, changed_data(self.sources.data, change), "plan.toml", self.sources.looks)
        except CampaignError:
            return self.holds if change else None
        except (ValueError, KeyError, ArithmeticError, TypeError):
            return self.holds  # data that the reader of files refuses
        try:
            return claim_holds(self.expression, readings)
        except ReadingError:
            return None


def _needed(plan: Plan, expression: str) -> tuple[Plan, frozenset[str]]:
    """The plan with the readings that an expression needs (rather too many than too few), and every word in them."""
    known = {str(one.get("id")): one for one in declarations(plan)}
    known |= {str(one["winner"]): one for one in plan.reading if one.get("winner")}
    texts, said, found = [expression], [expression], set()
    while texts:
        for word in _ID.findall(texts.pop()):
            for name in [name for name in known if name not in found and _means(word, name)]:
                found.add(name)
                more = [*texts_in(known[name]), *_defaults(known[name])]
                texts += more
                said += more
    words = frozenset(word for text in said for word in re.findall(r"[\w-]+", text))
    ids = {known[name].get("id") for name in found}
    fewer: dict[str, Any] = {"reading": [one for one in plan.reading if one.get("id") in ids]}
    if "verdict" not in found:
        fewer["verdict"] = None  # it would need what its guards are computed from
    return plan.model_copy(update=fewer), words


_ID = re.compile(r"[A-Za-z_]\w*(?:\.(?:\w+|\*))*")


def _means(word: str, name: str) -> bool:
    """Whether an id or a pattern in an expression can mean what the plan declares under `name`."""
    head = name.partition("{")[0]
    if "*" in word:
        said = word.partition("*")[0]
        return head.startswith(said) or ("{" in name and said.startswith(head))
    if "{" in name:  # in a family's own expressions its members end where {0} begins: gain.{0}
        return word.startswith(head) or head.startswith(f"{word}.")
    return word == name or word.startswith(f"{name}.")


def _defaults(declaration: Mapping[str, Any]) -> list[str]:
    """The texts that the declaration's kind fills in: the table and the columns that it reads."""
    kind = KINDS.get(str(declaration.get("kind")))
    fields = kind.model_fields if kind else {}
    unsaid = [field.default for name, field in fields.items() if name not in declaration]
    return [default for default in unsaid if isinstance(default, str)]


def changes(sources: Sources, words: frozenset[str]) -> Iterator[tuple[Cells, ...]]:
    """Changes of the data, those first that a claim with these words is likely to hang on."""
    plan = sources.plan
    tables = {name: frame for name, frame in sources.data.tables.items() if _is_plain(plan, name) and len(frame)}
    served = {"rows", "draws"} & tables.keys() if words & {ROW_VALUES, DRAW_VALUES, "saving", "drift"} else set()
    asked = [name for name in tables if name in words]
    asked += [name for name in tables if name in served and name not in asked]
    for name in asked:
        pairs = list(islice(_pairs(tables, name, words, True), 12))
        yield from _without(tables, name, pairs)
        yield from islice(_set_texts(tables, name, plan, words, pairs, keys=True), 24)
    for likely in (True, False):
        for chosen in (asked, [name for name in tables if name not in asked]):
            for name in chosen:
                groups = [(what, records) for fits, what, records in _groups(tables, name, words) if fits == likely]
                columns = _numeric(tables[name], plan, name, words)
                yield from _scaled(tables, name, groups, columns, (0.5, 2.0))
                yield from _set_texts(tables, name, plan, words, groups, keys=False)
                yield from _scaled(tables, name, groups, columns, (10.0, 0.1, "one more", "zero", 1.1, 0.9))
            for name in chosen:
                pairs = list(_pairs(tables, name, words, likely))
                yield from _scaled(tables, name, pairs[:48], _numeric(tables[name], plan, name, words)[:1], (0.5, 2.0))
                yield from _without(tables, name, pairs)
                yield from _set_texts(tables, name, plan, words, pairs, keys=True)
            for name in chosen:
                groups = [(what, records) for fits, what, records in _groups(tables, name, words) if fits == likely]
                yield from _without(tables, name, groups)
                yield from _set_texts(tables, name, plan, words, groups, keys=True)


def _is_plain(plan: Plan, table: str) -> bool:
    return table in plan.tables and isinstance(plan.table(table)[1], Schema)


Tables = Mapping[str, pd.DataFrame]


Group = tuple[str, tuple[int, ...]]
"""What a group of records has in common, and their positions."""


def _groups(tables: Tables, name: str, words: frozenset[str]) -> Iterator[tuple[bool, str, tuple[int, ...]]]:
    """The groups of a table's records, and whether the claim names them: all, those of an arm, those of one value."""
    yield True, "all", tuple(range(len(tables[name])))
    for _, what, said, mask in _masks(tables, name, words):
        yield said, what, tuple(np.flatnonzero(mask).tolist())


def _masks(tables: Tables, name: str, words: frozenset[str]) -> Iterator[tuple[str, str, bool, np.ndarray]]:
    """Column, what it is, whether a word of the claim names it, and which records have it, for each single value."""
    frame = tables[name]
    if "row" in frame and name != "rows" and "rows" in tables:
        arms = frame["row"].map(tables["rows"].set_index("row")["arm"])
        for arm in sorted(arms.dropna().unique()):
            yield "arm", f"arm {arm}", True, (arms == arm).to_numpy()
    for column in frame:
        if frame[column].dtype == "float64" or "datetime" in str(frame[column].dtype):
            continue
        values = frame[column].dropna().unique()
        if 2 <= len(values) <= 64:
            for value in values:
                yield column, f"{column} {value}", _said(str(value), words), (frame[column] == value).to_numpy()


def _pairs(tables: Tables, name: str, words: frozenset[str], likely: bool) -> Iterator[Group]:
    """The records with two values in common, of which the claim names both where they are likely, else one."""
    masks = list(_masks(tables, name, words))
    for (one, what, said, mask), (other, more, too, its) in combinations(masks, 2):
        if one != other and (said and too if likely else said != too) and (mask & its).any():
            yield f"{what}, {more}", tuple(np.flatnonzero(mask & its).tolist())


def _said(value: str, words: frozenset[str]) -> bool:
    return value in words or re.sub(r"\W", "_", value) in words or value.rpartition(".")[2] in words


def _numeric(frame: pd.DataFrame, plan: Plan, name: str, words: frozenset[str]) -> list[str]:
    """The columns that hold measured numbers, those first that the claim is computed from."""
    keys = plan.table(name)[1].key  # type: ignore[union-attr]
    found = [c for c in frame if c not in keys and pd.api.types.is_numeric_dtype(frame[c]) and frame[c].dtype != bool]
    # passes are counted from the tasks
    return sorted((c for c in found if c != "passes"), key=lambda column: column not in words)


def _scaled(
    tables: Tables, name: str, groups: Sequence[Group], columns: Sequence[str], factors: Sequence[Any]
) -> Iterator[tuple[Cells, ...]]:
    frame = tables[name]
    for column in columns:
        for what, records in groups:
            for factor in factors:
                values = tuple(_other(value, factor) for value in frame[column].iloc[list(records)])
                yield (Cells(name, records, column, values, f"{name}, {what}: {column} × {factor}"),)


def _other(value: Any, factor: Any) -> Any:
    if pd.isna(value):
        return value
    if factor == "zero":
        return type(value)(0)
    changed = value + 1 if factor == "one more" else value * factor
    return round(changed) if isinstance(value, int | np.integer) else float(changed)


_LEFT_ALONE = frozenset("row arm draw started state reason assumed plan_sha256".split())
"""Columns that the plan orders, or that no reading is computed from."""


def _set_texts(
    tables: Tables, name: str, plan: Plan, words: frozenset[str], groups: Sequence[Group], keys: bool
) -> Iterator[tuple[Cells, ...]]:
    """Other texts, flags or keys: in one record of a group, then in all of it."""
    frame = tables[name]
    key = plan.table(name)[1].key  # type: ignore[union-attr]
    columns = [c for c in frame if (c in key) == keys and (frame[c].dtype in (object, bool) or (keys and c != "row"))]
    for what, records in groups:
        for column in columns:
            if column in _LEFT_ALONE:
                continue
            found = list(frame[column].dropna().unique())
            if not 1 <= len(found) <= 64:
                continue
            others = [*found, *(OUTCOMES if column == "outcome" else ())]
            others += [True, False] if frame[column].dtype == bool else []
            others = sorted(dict.fromkeys(others), key=lambda value: not _said(str(value), words))
            if pd.api.types.is_integer_dtype(frame[column]):
                others.insert(0, max(found) + 1)
            for value in others:
                differing = [i for i in records if frame[column].iloc[i] != value]
                if len(differing) > 1:
                    yield _consistent(tables, name, tuple(differing), column, value, what)
                if differing:
                    yield _consistent(tables, name, tuple(differing[:1]), column, value, f"the first of {what}")


def _consistent(
    tables: Tables, name: str, records: tuple[int, ...], column: str, value: Any, what: str
) -> tuple[Cells, ...]:
    """The change, and the passes of the draws that follow from it."""
    told = f"{name}, {what}: {column} = {value}"
    change = Cells(name, records, column, (value,) * len(records), told)
    if name != "tasks" or column != "outcome" or "draws" not in tables or "passes" not in tables["draws"]:
        return (change,)
    tasks = tables["tasks"].copy()
    tasks.iloc[list(records), tasks.columns.get_loc(column)] = value
    passed = tasks[tasks["outcome"] == "pass"].groupby(["row", "draw"]).size()
    draws = tables["draws"]
    places = list(zip(draws["row"], draws["draw"], strict=True))
    values = tuple(int(passed.get(place, 0)) for place in places)
    differing = [i for i, value in enumerate(values) if value != draws["passes"].iloc[i]]
    return (change, Cells("draws", tuple(differing), "passes", tuple(values[i] for i in differing), "counted anew"))


def _without(tables: Tables, name: str, groups: Sequence[Group]) -> Iterator[tuple[Cells, ...]]:
    for what, records in groups:
        if len(records) < len(tables[name]):
            yield (Cells(name, records, "", (), f"{name}, {what}: left out"),)


def changed_data(data: Data, change: tuple[Cells, ...]) -> Data:
    """The data with other cells, in memory."""
    tables = dict(data.tables)
    for cells in change:
        frame = tables[cells.table].copy()
        if cells.column:
            column = frame[cells.column].copy()
            column.iloc[list(cells.records)] = list(cells.values)
            frame[cells.column] = column
        else:
            frame = frame.drop(index=frame.index[list(cells.records)]).reset_index(drop=True)
        tables[cells.table] = frame
    return replace(data, tables=tables)


def changed_files(sources: Sources, change: tuple[Cells, ...]) -> dict[str, bytes]:
    """The same change in the files: their bytes, by their path below the part."""
    files: dict[str, Records] = {}
    for cells in change:
        name = PurePosixPath(sources.plan.table(cells.table)[0]).as_posix()
        records = files.get(name) or Records.of(sources.part.folder / name)
        if cells.column:
            column = records.header.index(cells.column)
            lines = list(records.cells)
            for at, value in zip(cells.records, cells.values, strict=True):
                line = lines[at]
                lines[at] = (*line[:column], _as_cell(_plain(value), line[column]), *line[column + 1 :])
            records = replace(records, cells=tuple(lines))
        else:
            records = records.without(cells.records)
        files[name] = records
    return {name: records.content() for name, records in files.items()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def earlier_data(sources: Sources) -> Iterator[tuple[Plan, Data]]:
    """The plan and the data as they were before the last record of each table, and before the last row."""
    data, plan = sources.data, sources.plan
    if plan.rows and "rows" in data.tables and len(plan.rows.order) > 1:
        rows = data.tables["rows"]
        last = rows.sort_values("started")["row"].iloc[-1]
        tables = {
            name: frame[frame["row"] != last].reset_index(drop=True) if "row" in frame else frame
            for name, frame in data.tables.items()
        }
        shorter = plan.model_copy(update={"rows": plan.rows.model_copy(update={"order": plan.rows.order[:-1]})})
        yield shorter, replace(data, tables=tables)
    else:
        for name, frame in islice(data.tables.items(), 4):
            if len(frame) > 1:
                yield plan, replace(data, tables={**data.tables, name: frame.iloc[:-1]})
