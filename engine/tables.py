"""Tables of records on disk: what a file must hold, and reading it without letting anything wrong in.

A schema names each column with its type; the unit is the end of the column's name (`step_time_ms`), so a
file whose unit differs has a differently named column and is refused.
"""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from campaign.engine.errors import PlanError, RecordError
from campaign.kernels.errors import nearest

UNITS = ("ns", "us", "ms", "s", "w", "bytes", "tokens", "percent")
"""Endings of a column's name that are its unit."""

TYPES = ("text", "integer", "number", "time", "flag")


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    type: str
    """One of TYPES."""
    optional: bool = False
    """Whether a record may leave it empty."""

    @classmethod
    def parse(cls, name: str, said: str, where: str) -> "Column":
        """The column that a schema describes as `number` or `number?`."""
        kind = said.removesuffix("?")
        if kind not in TYPES:
            raise PlanError(
                f"{where}: column {name} has the type {said!r}; expected one of {', '.join(TYPES)}, "
                f"with ? at the end where a record may leave it empty.{nearest(kind, TYPES)} Name one of them."
            )
        return cls(name, kind, said.endswith("?"))

    @property
    def stem(self) -> str:
        """The name without its unit."""
        head, _, tail = self.name.rpartition("_")
        return head if head and tail in UNITS else self.name


@dataclass(frozen=True)
class Schema:
    """What every record of one table must hold."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    """Columns that together name a record; no two records share them."""

    @classmethod
    def parse(cls, name: str, columns: Mapping[str, str], key: Sequence[str], where: str) -> "Schema":
        """The schema that a plan (or a module of records) writes as {column: type} and a key."""
        parsed = tuple(Column.parse(column, said, f"{where}: table {name}") for column, said in columns.items())
        for column in key:
            if column not in columns:
                raise PlanError(
                    f"{where}: table {name}: the key names {column}, which is no column; expected some of "
                    f"{', '.join(columns)}.{nearest(column, columns)} Correct the key."
                )
        return cls(name, parsed, tuple(key))


def read_table(path: Path, schema: Schema, shown: str) -> pd.DataFrame:
    """The records of the file at `path`, each validated; `shown` is how an error names the file.

    Types: text -> str, integer -> int64, number -> float64, time -> UTC timestamps, flag -> bool; an
    optional column left empty is None (text) or NaN (integer becomes float64).
    Raises RecordError with file, line, what was found and what was expected.
    """
    if not path.is_file():
        raise RecordError(
            f"{shown}: there is no such file; expected the records of table {schema.name}. "
            "Put the file there, or take the table out of the plan."
        )
    if path.suffix == ".parquet":
        return _read_parquet(path, schema, shown)
    if path.suffix == ".csv":
        return _read_csv(path, schema, shown)
    raise RecordError(f"{shown}: a table in a {path.suffix or 'nameless'} file; expected .csv or .parquet.")


def _check_columns(found: Sequence[str], schema: Schema, where: str) -> None:
    expected = [column.name for column in schema.columns]
    doubled = sorted({name for name in found if found.count(name) > 1})
    if doubled:
        raise RecordError(f"{where}: column {doubled[0]} stands twice; expected each column once. Remove one.")
    missing = [column for column in schema.columns if column.name not in found]
    extra = [name for name in found if name not in expected]
    for column in missing:
        same_stem = [name for name in extra if Column(name, "number").stem == column.stem]
        if same_stem:
            raise RecordError(
                f"{where}: wrong unit: found column {same_stem[0]}, expected {column.name}. "
                f"Convert the values to the unit that {column.name} names, and rename the column."
            )
    if missing:
        hint = nearest(missing[0].name, extra)
        raise RecordError(
            f"{where}: column {missing[0].name} is missing; found {', '.join(found) or 'no columns'}; "
            f"expected {', '.join(expected)}.{hint} Add the column."
        )
    if extra:
        raise RecordError(
            f"{where}: unknown column {extra[0]}; expected {', '.join(expected)}.{nearest(extra[0], expected)} "
            "Remove it, or add it to the table's columns in the plan."
        )


def _read_csv(path: Path, schema: Schema, shown: str) -> pd.DataFrame:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        raise RecordError(f"{shown}: byte {wrong.start} is not UTF-8; expected UTF-8 text. Save it so.") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        _check_columns(header, schema, f"{shown}:1")
        columns = {column.name: column for column in schema.columns}
        parsers = [(columns[name], _PARSERS[columns[name].type]) for name in header]
        lines: list[int] = []
        values: list[list[Any]] = []
        for record in reader:
            line = reader.line_num
            if not record:
                continue
            if len(record) != len(header):
                raise RecordError(
                    f"{shown}:{line}: found {len(record)} values, expected {len(header)} "
                    f"({', '.join(header)}). Complete the record, or remove the line."
                )
            values.append(
                [
                    _cell(cell, column, parse, f"{shown}:{line}")
                    for cell, (column, parse) in zip(record, parsers, strict=True)
                ]
            )
            lines.append(line)
    except csv.Error as wrong:
        raise RecordError(f"{shown}:{reader.line_num}: not CSV: {wrong}; expected one record a line.") from None
    frame = pd.DataFrame(values, columns=header)
    _refuse_duplicates(frame, schema, lambda index: f"{shown}:{lines[index]}")
    return _typed(frame, schema)


def _cell(cell: str, column: Column, parse: Callable[[str], Any], where: str) -> Any:
    if cell == "":
        if column.optional:
            return None
        raise RecordError(f"{where}: {column.name} is empty; expected {_EXPECTED[column.type]}. Fill it in.")
    try:
        return parse(cell)
    except ValueError as wrong:
        detail = f" ({wrong})" if column.type == "time" else ""
        raise RecordError(
            f"{where}: {column.name} is {cell!r}{detail}; expected {_EXPECTED[column.type]}. "
            "Correct the value, or mark the row void with its reason in rows.csv."
        ) from None


def _number(cell: str) -> float:
    value = float(cell)
    if not math.isfinite(value) or "_" in cell:
        raise ValueError
    return value


def _integer(cell: str) -> int:
    if not cell.lstrip("-").isdecimal() or not cell.isascii():
        raise ValueError
    return int(cell)


def _time(cell: str) -> datetime:
    moment = datetime.fromisoformat(cell)
    if moment.tzinfo is None:
        raise ValueError("it has no zone")
    return moment.astimezone(UTC)


def _flag(cell: str) -> bool:
    return {"true": True, "false": False}[cell] if cell in ("true", "false") else _refuse()


def _refuse() -> bool:
    raise ValueError


_PARSERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "integer": _integer,
    "number": _number,
    "time": _time,
    "flag": _flag,
}
_EXPECTED = {
    "text": "a text",
    "integer": "a whole number",
    "number": "a finite number (no NaN, no infinity)",
    "time": "a time with its zone, as 2026-11-06T04:25:00Z",
    "flag": "true or false",
}


def _typed(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The frame with each column in the dtype that `read_table` promises."""
    kinds = {"integer": "int64", "number": "float64", "flag": "bool", "time": "datetime64[us, UTC]", "text": object}
    for column in schema.columns:
        kind = "float64" if column.optional and column.type == "integer" else kinds[column.type]
        frame[column.name] = frame[column.name].astype(kind)
    return frame[[column.name for column in schema.columns]]


def _refuse_duplicates(frame: pd.DataFrame, schema: Schema, place: Callable[[int], str]) -> None:
    key = list(schema.key)
    if not key or not len(frame):
        return
    again = frame.duplicated(key)
    if not again.any():
        return
    second = int(again.to_numpy().argmax())
    same = (frame[key] == frame.loc[second, key]).all(axis=1)
    first = int(same.to_numpy().argmax())
    named = ", ".join(f"{column}={frame.loc[second, column]}" for column in key)
    raise RecordError(
        f"{place(second)}: the record {named} stands already at {place(first)}; expected each "
        f"{' and '.join(key)} once. Remove one of the two."
    )


def _read_parquet(path: Path, schema: Schema, shown: str) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as wrong:
        raise RecordError(f"{shown}: not a Parquet file ({wrong}); expected one. Write it again.") from None
    _check_columns(table.column_names, schema, shown)
    for column in schema.columns:
        values = table[column.name]
        if not _parquet_type_fits(values.type, column.type):
            raise RecordError(
                f"{shown}: column {column.name} holds {values.type}; expected {_EXPECTED[column.type]}. "
                "Write the column with that type."
            )
        if values.null_count and not column.optional:
            raise RecordError(
                f"{shown}: {column.name} is empty in {values.null_count} records; expected "
                f"{_EXPECTED[column.type]} in each. Fill them in."
            )
    frame = table.to_pandas()
    for column in schema.columns:
        bad = ~frame[column.name].map(math.isfinite) if column.type == "number" else None
        if bad is not None and bad.any() and not column.optional:
            index = int(bad.to_numpy().argmax())
            raise RecordError(
                f"{shown}: record {index + 1}: {column.name} is {frame[column.name].iloc[index]}; "
                f"expected {_EXPECTED['number']}. Correct the value."
            )
    _refuse_duplicates(frame, schema, lambda index: f"{shown}: record {index + 1}")
    return _typed(frame, schema)


def _parquet_type_fits(found: Any, expected: str) -> bool:
    import pyarrow.types as pt

    return {
        "text": pt.is_string(found) or pt.is_large_string(found),
        "integer": pt.is_integer(found),
        "number": pt.is_floating(found) or pt.is_integer(found),
        "time": pt.is_timestamp(found) and getattr(found, "tz", None) is not None,
        "flag": pt.is_boolean(found),
    }[expected]
