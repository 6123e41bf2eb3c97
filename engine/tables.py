"""Tables of records on disk: what a file must hold, and reading it without letting anything wrong in.

A schema names each column with its type; the unit is the end of the column's name (`step_time_ms`), so a
file whose unit differs has a differently named column and is refused.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from campaign.engine.errors import PlanError, RecordError
from campaign.kernels.errors import nearest

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table
    from pyarrow.parquet import ParquetFile

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
    may_lack: bool = False
    """Whether a file may do without it: it is then empty in every record."""

    @classmethod
    def parse(cls, name: str, said: str, where: str) -> "Column":
        """The column that a schema describes as `number`, `number?` or, where a file may do without it, `number??`."""
        kind = said.rstrip("?")
        if kind not in TYPES:
            raise PlanError(
                f"{where}: column {name} has the type {said!r}; expected one of {', '.join(TYPES)}, "
                f"with ? at the end where a record may leave it empty.{nearest(kind, TYPES)} Name one of them."
            )
        return cls(name, kind, said.endswith("?"), said.endswith("??"))

    @property
    def stem(self) -> str:
        """The name without its unit."""
        head, _, tail = self.name.rpartition("_")
        return head if head and tail in UNITS else self.name

    def differs_in_unit(self, name: str) -> bool:
        """Whether `name` is this column's, its unit aside; an ending that is no known unit counts as one."""
        return self.stem != self.name and self.stem in (name, name.rpartition("_")[0])


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


def empty_table(columns: Mapping[str, str], suffix: str) -> bytes:
    """A file with these columns and no record: CSV, or Parquet where `suffix` is .parquet."""
    if suffix != ".parquet":
        return f"{','.join(columns)}\n".encode()
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "time": pa.timestamp("ms", tz="UTC"),
        "flag": pa.bool_(),
    }
    schema = pa.schema([(name, kinds[said.rstrip("?")]) for name, said in columns.items()])
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink)
    return sink.getvalue().to_pybytes()


def no_records(schema: Schema) -> pd.DataFrame:
    """A table without records, as `read_table` would give it."""
    return typed(pd.DataFrame(columns=[column.name for column in schema.columns]), schema)


def read_table(path: Path, schema: Schema, shown: str) -> pd.DataFrame:
    """The records of the file at `path`, each validated; `shown` is how an error names the file.

    Types: text -> str, integer -> int64, number -> float64, time -> UTC timestamps, flag -> bool. Where an
    optional column is left empty it holds None (text), NaT (time) or NaN; an integer or flag (1 and 0) column in
    which a cell is empty is float64.
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
    raise RecordError(
        f"{shown}: a file whose name ends in {path.suffix or 'nothing'}; expected .csv or .parquet. "
        "Save it as one of these."
    )


def _check_columns(found: Sequence[str], schema: Schema, where: str) -> None:
    expected = [column.name for column in schema.columns]
    doubled = sorted({name for name in found if found.count(name) > 1})
    if doubled:
        raise RecordError(f"{where}: column {doubled[0]} stands twice; expected each column once. Remove one.")
    missing = [column for column in schema.columns if column.name not in found and not column.may_lack]
    extra = [name for name in found if name not in expected]
    for column in missing:
        same_stem = [name for name in extra if column.differs_in_unit(name)]
        if same_stem:
            raise RecordError(
                f"{where}: wrong unit: found column {same_stem[0]}, expected {column.name}. "
                f"Convert the values to the unit that {column.name} names, and rename the column."
            )
    if missing:
        name = missing[0].name
        misspelt = [other for other in extra if nearest(name, [other])]
        mend = f"Rename {misspelt[0]} to {name}." if misspelt else "Add the column."
        raise RecordError(
            f"{where}: column {name} is missing; found {', '.join(found) or 'no columns'}; "
            f"expected {', '.join(expected)}. {mend}"
        )
    if extra:
        raise RecordError(
            f"{where}: unknown column {extra[0]}; expected {', '.join(expected)}.{nearest(extra[0], expected)} "
            "Remove it, or add it to the table's columns in the plan."
        )


def _read_csv(path: Path, schema: Schema, shown: str) -> pd.DataFrame:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        raise RecordError(
            f"{shown}:{line}: byte 0x{content[wrong.start]:02x} is not UTF-8; expected UTF-8 text. "
            "Save the file as UTF-8."
        ) from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        _check_columns(header, schema, f"{shown}:1")
        columns = {column.name: column for column in schema.columns}
        parsers = [(columns[name], _PARSERS[columns[name].type]) for name in header]
        lines: list[int] = []
        values: list[list[Any]] = []
        last = reader.line_num
        for record in reader:
            # a record whose quoted text has line breaks is named by its first line
            line, last = last + 1, reader.line_num
            if not record:
                continue
            if len(record) != len(header):
                raise RecordError(
                    f"{shown}:{line}: found {len(record)} values, expected {len(header)} "
                    f"({', '.join(header)}). Complete the record, or remove the line."
                )
            values.append(
                [
                    _cell(cell, column, parse, f"{shown}:{line}", schema)
                    for cell, (column, parse) in zip(record, parsers, strict=True)
                ]
            )
            lines.append(line)
    except csv.Error as wrong:
        raise RecordError(
            f"{shown}:{reader.line_num}: not CSV: {wrong}; expected one record a line. Correct the quotes of that line."
        ) from None
    frame = pd.DataFrame(values, columns=header)
    _refuse_duplicates(frame, schema, lambda index: f"{shown}:{lines[index]}")
    return typed(frame, schema)


def _cell(cell: str, column: Column, parse: Callable[[str], Any], where: str, schema: Schema) -> Any:
    if cell == "":
        if column.optional:
            return None
        raise RecordError(
            f"{where}: {column.name} is empty; expected {_EXPECTED[column.type]}. Fill it in{or_void(schema)}."
        )
    try:
        value = parse(cell)
        greatest = _EXACT_FLOAT if column.optional else _GREATEST
        if isinstance(value, int) and not -greatest - 1 <= value <= greatest:
            raise ValueError("too large")
        return value
    except (ValueError, OverflowError) as wrong:
        detail = f" ({wrong})" if str(wrong) else ""
        raise RecordError(
            f"{where}: {column.name} is {cell!r}{detail}; expected {_EXPECTED[column.type]}. "
            f"Correct the value{or_void(schema)}."
        ) from None


def or_void(schema: Schema) -> str:
    """The end of a sentence: what can be done, beside correcting it, where a row's value was never measured."""
    of_a_row = schema.name != "rows" and "row" in (column.name for column in schema.columns)
    return ", or mark its row void with a reason and take its records out" if of_a_row else ""


_GREATEST = 2**63 - 1
"""What an int64 holds."""
_EXACT_FLOAT = 2**53
"""Up to here a float64 holds every whole number."""
# Patterns, since Python's own parsers take more: spaces, underscores, digits of other scripts, week dates.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"-?\d+", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)


def _text(cell: str) -> str:
    if cell != cell.strip():
        raise ValueError("spaces at its ends")
    if "\x00" in cell:
        raise ValueError("a NUL character in it")
    return cell


def _number(cell: str) -> float:
    if not _NUMBER.fullmatch(cell):
        raise ValueError
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError("too large")
    if value == 0 and re.search("[1-9]", re.split("[eE]", cell)[0]):
        raise ValueError("too small to be told from zero")
    return value


def _integer(cell: str) -> int:
    if not _INTEGER.fullmatch(cell):
        raise ValueError
    return int(cell) if len(cell) < 25 else _refuse("too large")


def _time(cell: str) -> datetime:
    found = _TIME.fullmatch(cell)
    if not found:
        raise ValueError
    if not found[4]:
        raise ValueError("it has no zone")
    if len(found[3] or "") > 7:
        raise ValueError("finer than microseconds")
    return datetime.fromisoformat(cell).astimezone(UTC)


def _flag(cell: str) -> bool:
    return {"true": True, "false": False}[cell] if cell in ("true", "false") else _refuse("")


def _refuse(why: str) -> Any:
    raise ValueError(why)


_PARSERS: dict[str, Callable[[str], Any]] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "time": _time,
    "flag": _flag,
}
_EXPECTED = {
    "text": "a text without spaces at its ends",
    "integer": "a whole number",
    "number": "a finite number (no NaN, no infinity)",
    "time": "a time with its zone, as 2026-11-06T04:25:00Z",
    "flag": "true or false",
}


def typed(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The frame with each column in the dtype that `read_table` promises."""
    kinds = {"integer": "int64", "number": "float64", "flag": "bool", "time": "datetime64[us, UTC]", "text": object}
    for column in schema.columns:
        if column.may_lack and column.name not in frame:
            frame[column.name] = None
        lacks = column.optional and column.type in ("integer", "flag") and frame[column.name].isna().any()
        kind = "float64" if lacks else kinds[column.type]
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
    # by group, since two empty values are not == though they are the same key
    groups = frame.groupby(key, sort=False, dropna=False).ngroup().to_numpy()
    first = int((groups == groups[second]).argmax())
    named = ", ".join(f"{column}={frame.loc[second, column]}" for column in key)
    raise RecordError(
        f"{place(second)}: the record {named} stands already at {place(first)}; expected each "
        f"{' and '.join(key)} once. Remove one of the two."
    )


def _read_parquet(path: Path, schema: Schema, shown: str) -> pd.DataFrame:
    import pyarrow as pa

    with open_parquet(path, schema, shown) as file:
        try:
            table = file.read()
        except (pa.ArrowInvalid, OSError) as wrong:
            raise no_parquet(shown, wrong) from None
    check_records(table, schema, lambda index: f"{shown}: record {index + 1}")
    frame = table.to_pandas()
    _refuse_duplicates(frame, schema, lambda index: f"{shown}: record {index + 1}")
    return typed(frame, schema)


def open_parquet(path: Path, schema: Schema, shown: str, **options: Any) -> "ParquetFile":
    """The opened Parquet file, of which the footer is read: its columns and their types are the schema's.

    `options` are those of pyarrow.parquet.ParquetFile. RecordError where it is no Parquet file, or another table.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # not read_table, which makes columns of folders named key=value
        file = pq.ParquetFile(path, **options)
    except (pa.ArrowInvalid, OSError) as wrong:
        raise no_parquet(shown, wrong) from None
    try:
        found = file.schema_arrow
        _check_columns(found.names, schema, shown)
        for column in schema.columns:
            if column.name in found.names and not _parquet_type_fits(found.field(column.name).type, column.type):
                raise RecordError(
                    f"{shown}: column {column.name} holds {found.field(column.name).type}; expected "
                    f"{_EXPECTED[column.type]}. Write the column with that type."
                )
    except RecordError:
        file.close()
        raise
    return file


def no_parquet(shown: str, wrong: Exception) -> RecordError:
    """The error for a file that cannot be read as Parquet."""
    first_line = str(wrong).partition("\n")[0]
    return RecordError(f"{shown}: not a Parquet file ({first_line}); expected one. Write it again.")


def check_records(records: "Table | RecordBatch", schema: Schema, place: Callable[[int], str]) -> None:
    """Refuse what a column's type lets through; `place` names the record with an index in `records`.

    That is an empty cell where none may be, NaN, infinity, too large whole numbers, texts that no CSV holds.
    """
    for column in schema.columns:
        if column.name not in records.schema.names:
            continue
        values = records[column.name]
        if values.null_count and not column.optional:
            index = _first(values.is_null())
            raise RecordError(
                f"{place(index)}: {column.name} is empty; expected {_EXPECTED[column.type]} in each record. "
                f"Fill it in{or_void(schema)}."
            )
        wrong = _wrong_values(values, column)
        index = None if wrong is None else _first(wrong)
        if index is not None:
            raise RecordError(
                f"{place(index)}: {column.name} is {values[index].as_py()!r}; expected {_EXPECTED[column.type]}. "
                f"Correct the value{or_void(schema)}."
            )


def _first(wrong: Any) -> int | None:
    """The index of the first true value."""
    import pyarrow.compute as pc

    wrong = pc.fill_null(wrong, False)
    return pc.index(wrong, True).as_py() if pc.any(wrong).as_py() else None


def _wrong_values(values: Any, column: Column) -> Any:
    """Which values are wrong though their type is right; None where none can be."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type == "number":
        return pc.invert(pc.is_finite(values.cast("float64", safe=False)))
    if column.type == "integer" and (column.optional or pa.types.is_uint64(values.type)):
        greatest = _EXACT_FLOAT if column.optional else _GREATEST
        whole = values.cast(pa.decimal128(20, 0))
        return pc.or_(pc.greater(whole, greatest), pc.less(whole, -greatest - 1))
    if column.type == "text":
        return pc.or_(pc.equal(values, ""), pc.not_equal(values, pc.utf8_trim_whitespace(values)))
    return None


def _parquet_type_fits(found: Any, expected: str) -> bool:
    import pyarrow.types as pt

    return {
        "text": pt.is_string(found) or pt.is_large_string(found),
        "integer": pt.is_integer(found),
        "number": pt.is_floating(found) or pt.is_integer(found),
        "time": pt.is_timestamp(found) and getattr(found, "tz", None) is not None,
        "flag": pt.is_boolean(found),
    }[expected]
