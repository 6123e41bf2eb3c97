"""Tables that are aggregated while they are read, so that only the aggregate is ever in memory.

A step log has one record per verify step and grows with the campaign; readings need sums per draw. A plan names the
columns that make a group and what is summed, `step_time_ms = "(ended_ns - started_ns) / 1000000"`. Every record is
held to what a small table's is. Sums are exact and rounded once, at the end, so that neither the order of the records
nor the number of threads changes a bit of them.
"""

import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from campaign.engine.errors import PlanError, RecordError
from campaign.engine.files import sha256_of
from campaign.engine.linear import Linear
from campaign.engine.records import KNOWN, known_schema
from campaign.engine.tables import (
    Column,
    Schema,
    check_records,
    no_parquet,
    open_parquet,
    or_void,
    read_table,
    typed,
)
from campaign.kernels.errors import nearest

MEMORY = "128MB"
"""What DuckDB may hold; what it needs beyond that lies in a temporary folder."""
THREADS = 2
BATCH = 65_536
"""Records that are decoded and checked at a time."""
GROUPED = ("text", "integer", "flag")
"""Types of columns that may make a group."""

BINADES = 32
"""How many powers of two share a partial sum of numbers: 53 + 32 bits leave room for 2**42 records in a HUGEINT."""
LEAST = 2.0**-900
"""A number nearer to zero than this, other than zero, cannot be summed exactly here."""


@dataclass(frozen=True)
class Aggregate:
    """How the records of one or more Parquet files become a table with one record for each group."""

    records: Schema
    """What every record of the files holds."""
    group: tuple[str, ...]
    sums: Mapping[str, Linear]
    """Name of each sum and what is summed."""
    count: str
    """Name of the column that holds the number of records; none where it is empty."""
    rest: str
    """File below the part with the other columns of a known table, one record for each group; none where empty."""
    table: Schema
    """What the aggregate holds, the rest included."""

    @classmethod
    def parse(
        cls, records: Schema, group: Sequence[str], sums: Mapping[str, str], count: str, rest: str, where: str
    ) -> "Aggregate":
        """The aggregate that a plan declares; PlanError where it cannot be computed or is not the known table."""
        columns = {column.name: column for column in records.columns}
        if not group or not (sums or count):
            lacks = "sums or count" if group else "group"
            raise PlanError(
                f"{where}: {lacks} is missing; expected group, and sums or count, where a table is aggregated while it "
                "is read. Add it, or remove the others."
            )
        if not records.key:
            raise PlanError(
                f"{where}.key: missing; expected the columns that name a record, so that none counts twice. Add it."
            )
        for name, column in columns.items():
            if column.may_lack:
                raise PlanError(
                    f"{where}.columns.{name}: found {column.type}??; expected a column that every file has, as "
                    f"{column.type}?. Correct its type."
                )
        for name in group:
            if name not in columns or columns[name].type not in GROUPED or columns[name].optional:
                found = (
                    f"the type {columns[name].type}{'?' * columns[name].optional}" if name in columns else "no column"
                )
                raise PlanError(
                    f"{where}.group: {name}: found {found}; expected columns of the types {', '.join(GROUPED)} that no "
                    f"record leaves empty.{'' if name in columns else nearest(name, columns)} Correct it."
                )
        names = [*group, *sums, *([count] if count else [])]
        for name in names:
            if names.count(name) > 1 or not name.isidentifier():
                found = "stands twice" if name.isidentifier() else "is no name"
                raise PlanError(f"{where}: {name!r} {found}; expected a name of its own for each column. Rename it.")
        parsed = {name: Linear.parse(text, columns, f"{where}.sums.{name}") for name, text in sums.items()}
        made = [Column(name, columns[name].type) for name in group]
        made += [Column(name, "integer" if one.is_whole(columns) else "number") for name, one in parsed.items()]
        made += [Column(count, "integer")] if count else []
        if records.name in KNOWN:
            table = _known(records.name, made, group, rest, where)
        elif rest:
            raise PlanError(
                f"{where}.rest: found {rest!r}; expected none, since only a known table has further columns. Declare "
                "that file as a table of its own."
            )
        else:
            table = Schema(records.name, tuple(made), tuple(group))
        return cls(records, tuple(group), parsed, count, rest, table)

    @property
    def rest_schema(self) -> Schema:
        """What the file `rest` holds: the group, and the columns that the records do not give."""
        given = {*self.sums, self.count}
        return Schema(self.table.name, tuple(c for c in self.table.columns if c.name not in given), self.table.key)


def _known(name: str, made: list[Column], group: Sequence[str], rest: str, where: str) -> Schema:
    """The schema of the known table `name`, that these columns and `rest` together fill."""
    known = known_schema(name)
    assert known is not None, "the caller asks for known tables"
    columns = {column.name: column for column in known.columns}
    if set(group) != set(known.key):
        raise PlanError(
            f"{where}.group: found {', '.join(group)}; expected {', '.join(known.key)}, the key of {name}. Correct it."
        )
    for column in made:
        expected = columns.get(column.name)
        if expected is None:
            raise PlanError(
                f"{where}: {column.name} is no column of {name}; expected some of {', '.join(columns)}."
                f"{nearest(column.name, columns)} Rename it, or give the whole table another name."
            )
        if column.type != expected.type and (column.type, expected.type) != ("integer", "number"):
            raise PlanError(
                f"{where}: {column.name} comes out of type {column.type}; expected {expected.type}. Correct its sum."
            )
    further = [c for c in known.columns if c.name not in {one.name for one in made}]
    lacking = [c.name for c in further if not c.may_lack]
    if (lacking and not rest) or (rest and not further):
        raise PlanError(
            f"{where}.rest: "
            + (
                f"missing; expected a file with {', '.join([*group, *lacking])}, which the records do not give. "
                f'Add one, as rest = "data/{name}.csv".'
                if lacking
                else f"found {rest!r}; expected none, since the records give every column. Remove it."
            )
        )
    return known


# ---------------------------------------------------------------- reading


@dataclass(frozen=True)
class Found:
    """A table of a plan as its files hold it."""

    table: pd.DataFrame
    shown: str
    """How an error names its file, or files."""
    digests: Mapping[str, str]
    """sha256 of each file, by its path below the part."""


def read_records(file: str, schema: Schema | Aggregate, folder: Path, show: Callable[[Path], str]) -> Found:
    """The table that `file` below `folder` holds, read whole or aggregated; `show` is how an error names a path.

    The file of an aggregate may be a pattern, as `data/steps/*.parquet`. RecordError where anything is wrong.
    """
    if isinstance(schema, Schema):
        path = _inside(folder / file, folder, schema.name, show)
        return Found(read_table(path, schema, show(path)), show(path), {file: sha256_of(path)})
    _inside(folder / file, folder, schema.table.name, show)
    paths = sorted(folder.glob(file)) if "*" in file else [folder / file]
    for path in paths:
        _inside(path, folder, schema.table.name, show)
        if path.suffix != ".parquet":
            raise RecordError(
                f"{show(path)}: a file whose name ends in {path.suffix or 'nothing'}; expected .parquet, since what is "
                "aggregated while it is read is in Parquet. Save it as that."
            )
    paths = [path for path in paths if path.is_file()]
    if not paths:
        raise RecordError(
            f"{show(folder / file)}: there is no such file; expected the records of table {schema.table.name}. "
            "Put the file there, or take the table out of the plan."
        )
    summed = aggregate(paths, schema, [show(path) for path in paths])
    digests = {path.relative_to(folder).as_posix(): sha256_of(path) for path in paths}
    if schema.rest:
        path = _inside(folder / schema.rest, folder, schema.table.name, show)
        rest = read_table(path, schema.rest_schema, show(path))
        _refuse_other_groups(summed, rest, schema.group, show(folder / file), show(path))
        summed = summed.merge(rest, on=list(schema.group))
        digests[schema.rest] = sha256_of(path)
    return Found(typed(summed, schema.table), show(folder / file), digests)


def _inside(path: Path, folder: Path, name: str, show: Callable[[Path], str]) -> Path:
    """`path`, that lies below `folder`; else RecordError."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise RecordError(
            f"{show(path)}: table {name} lies outside the part; expected a file below {show(folder)}, so that git "
            "keeps the data with the note. Copy it there."
        )
    return path


def _refuse_other_groups(
    summed: pd.DataFrame, rest: pd.DataFrame, group: Sequence[str], shown: str, rest_shown: str
) -> None:
    """RecordError for a group that is in one of both tables only."""
    both = summed.merge(rest, on=list(group), how="outer", indicator=True)
    for side, has, lacks in (("left_only", shown, rest_shown), ("right_only", rest_shown, shown)):
        alone = both[both["_merge"] == side]
        if len(alone):
            named = ", ".join(f"{name}={alone.iloc[0][name]}" for name in group)
            raise RecordError(
                f"{lacks}: has no record of {named}, which {has} has; expected the same {' and '.join(group)} in both. "
                "Add what lacks, or take the other out."
            )


def aggregate(paths: Sequence[Path], schema: Aggregate, shown: Sequence[str], threads: int = THREADS) -> pd.DataFrame:
    """One record for each group in the Parquet files at `paths`, ordered by the group; without the rest.

    Every record is checked as `read_table` does it; no two records have the same key; no record gives a sum below
    zero. RecordError says where, with the number of the record. A sum of whole numbers over 1 is int64, any other is
    the float64 nearest to the exact sum: the same bits whatever the order of the records, the row groups and the
    number of threads. Memory stays below half a gigabyte, whatever the number of records: DuckDB holds MEMORY, and
    what does not fit lies in the folder for temporary files (TMPDIR) meanwhile. Only the groups must fit.
    """
    log = _Log(paths, schema.records, shown, threads)
    try:
        parts = log.ask(*_question(schema, log.names), check=True)
        groups = _merged(parts, schema, log)
        log.refuse_duplicates()
    finally:
        log.close()
    columns = [*schema.group, *schema.sums, *([schema.count] if schema.count else [])]
    made = {column.name: column for column in schema.table.columns}
    return typed(
        pd.DataFrame(groups, columns=columns),
        Schema(schema.table.name, tuple(Column(name, made[name].type) for name in columns), schema.group),
    )


class _Log:
    """Parquet files as one stream of records, and what DuckDB says about them.

    DuckDB sees columns c0, c1, … in the order of the schema and `record`, the record's number over all files: nothing
    that a plan or file says becomes a part of a query. The stream is pyarrow's, since it decodes page by page whatever
    the size of a row group, and lets every batch pass the checks that small tables pass.
    """

    def __init__(self, paths: Sequence[Path], schema: Schema, shown: Sequence[str], threads: int) -> None:
        self.schema = schema
        self.shown = shown
        self.threads = threads
        self.names = {column.name: f"c{number}" for number, column in enumerate(schema.columns)}
        self.files = []
        self.starts = [0]
        try:
            for path, name in zip(paths, shown, strict=True):
                file = open_parquet(path, schema, name, buffer_size=1 << 20, pre_buffer=False)
                self.files.append(file)
                self.starts.append(self.starts[-1] + file.metadata.num_rows)
        except RecordError:
            self.close()
            raise

    def close(self) -> None:
        for file in self.files:
            file.close()

    def place(self, record: int) -> str:
        """How an error names the record with this number over all files."""
        number = bisect_right(self.starts, record) - 1
        return f"{self.shown[number]}: record {record - self.starts[number] + 1}"

    def record(self, number: int) -> dict[str, Any]:
        """The record with this number, by the names of its columns."""
        for start, batch in self._batches([column.name for column in self.schema.columns]):
            if number < start + len(batch):
                return batch.slice(number - start, 1).to_pylist()[0]
        raise IndexError(number)

    def _batches(self, columns: list[str]) -> Iterator[tuple[int, Any]]:
        """The number of the first record of each batch, and the batch."""
        import pyarrow as pa

        for file, start, shown in zip(self.files, self.starts[:-1], self.shown, strict=True):
            try:
                for batch in file.iter_batches(BATCH, columns=columns):
                    yield start, batch.select(columns)
                    start += len(batch)
            except (pa.ArrowInvalid, OSError) as wrong:
                raise no_parquet(shown, wrong) from None

    def ask(self, query: str, columns: Sequence[str], check: bool = False) -> list[tuple[Any, ...]]:
        """DuckDB's answer to a query over the table `records`, which has these columns and the record's number.

        With `check`, all columns of every batch are read and checked first.
        """
        import pyarrow as pa

        kinds = {
            "text": pa.string(),
            "integer": pa.int64(),
            "number": pa.float64(),
            "time": pa.int64(),
            "flag": pa.int8(),
        }
        types = {c.name: kinds[c.type] for c in self.schema.columns}
        stream = pa.schema([*((self.names[name], types[name]) for name in columns), ("record", pa.int64())])
        failed: list[BaseException] = []

        def batches() -> Iterator[Any]:
            try:
                read = [column.name for column in self.schema.columns] if check else list(columns)
                for start, batch in self._batches(read):
                    if check:
                        check_records(batch, self.schema, lambda index, start=start: self.place(start + index))
                    arrays = [batch[name].cast(types[name], safe=False) for name in columns]
                    numbers = pa.array(np.arange(start, start + len(batch)))
                    yield pa.RecordBatch.from_arrays([*arrays, numbers], schema=stream)
            except (Exception, KeyboardInterrupt) as wrong:
                # DuckDB would tell it as an error of its own.
                failed.append(wrong)
                raise

        with _duckdb(self.threads) as (connection, errors):
            connection.register("records", pa.RecordBatchReader.from_batches(stream, batches()))
            try:
                return connection.execute(query).fetchall()
            except errors as wrong:
                if failed:
                    raise failed[0] from None
                first_line = str(wrong).partition("\n")[0]
                raise RecordError(
                    f"{self.shown[0]}: {self.starts[-1]} records cannot be aggregated: {first_line}; expected {MEMORY} "
                    f"of memory and free space in {tempfile.gettempdir()}. Free some, or name another folder in TMPDIR."
                ) from None

    def refuse_duplicates(self) -> None:
        """RecordError where two records have the same key: the first one that is there again."""
        key = ", ".join(self.names[name] for name in self.schema.key)
        twice = f"SELECT {{}} FROM records GROUP BY {key} HAVING count(*) > 1"
        if not self.ask(f"SELECT count(*) FROM ({twice.format('1')})", self.schema.key)[0][0]:
            return
        ends = f"{twice.format('min(record) AS first, max(record) AS last')} ORDER BY first LIMIT 1"
        ((first, last),) = self.ask(ends, self.schema.key)
        record = self.record(first)
        named = ", ".join(f"{name}={record[name]}" for name in self.schema.key)
        raise RecordError(
            f"{self.place(last)}: the record {named} stands already at {self.place(first)}; expected each "
            f"{' and '.join(self.schema.key)} once. Remove one of the two."
        )


@contextmanager
def _duckdb(threads: int) -> Iterator[tuple[Any, type[Exception]]]:
    """A database that holds at most MEMORY, spills into a folder of its own and reads no file; and its errors."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="campaign-") as spill:
        settings = {
            "memory_limit": MEMORY,
            "threads": threads,
            "temp_directory": spill,
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            # After two seconds it would be drawn on stdout, amid what a command prints.
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield connection, duckdb.Error


def _question(schema: Aggregate, names: Mapping[str, str]) -> tuple[str, list[str]]:
    """The query for the sums of all columns that are summed, and the columns that it reads.

    Its answer has for each group (and, where numbers are summed, each bucket): the group, the buckets, the count, the
    sums, and for each check the first record that fails it. A number is taken apart into a whole number times a power
    of two that its bucket names, so that its sum is one of whole numbers too.
    """
    columns = {column.name: column for column in schema.records.columns}
    summed = _summed_columns(schema)
    floats = [name for name in summed if columns[name].type == "number"]
    keys = [names[name] for name in schema.group] + [f"b_{names[name]}" for name in floats]
    made = [
        f"CASE WHEN {c} = 0 THEN 0 ELSE greatest(floor(log2(abs({c})) / {BINADES}), -30)::INTEGER END AS b_{c}"
        for c in (names[name] for name in floats)
    ]
    sums = [
        f"sum(({names[name]} * pow(2.0::DOUBLE, 53 - {BINADES} * b_{names[name]}))::HUGEINT)"
        if name in floats
        else f"sum({names[name]})"
        for name in summed
    ]
    tiny = [f"{names[name]} <> 0 AND abs({names[name]}) < {LEAST!r}::DOUBLE" for name in floats]
    below = [_below_zero(linear, columns, names) for linear in schema.sums.values()]
    firsts = [f"min(record) FILTER (WHERE {failed})" for failed in (*tiny, *below)]
    answer = ", ".join([*keys, "count(*)", *sums, *firsts])
    query = f"SELECT {answer} FROM (SELECT {', '.join(['*', *made])} FROM records) GROUP BY {', '.join(keys)}"
    return query, list(dict.fromkeys([*schema.group, *summed]))


def _summed_columns(schema: Aggregate) -> list[str]:
    return list(dict.fromkeys(name for linear in schema.sums.values() for name in linear.terms))


def _below_zero(linear: Linear, columns: Mapping[str, Column], names: Mapping[str, str]) -> str:
    """A condition that holds where `linear` is below zero, made of whole numbers and names as c0.

    What is subtracted stands on the right, so that the usual forms need no arithmetic: c6 < c5.
    """
    kind = "DOUBLE" if linear.needs_floats(columns) else "HUGEINT"
    factors, constant = linear.scaled()

    def side(sign: int) -> str:
        terms = {names[name]: sign * factor for name, factor in factors.items() if sign * factor > 0}
        if sign * constant <= 0 and list(terms.values()) in ([], [1]):
            return next(iter(terms), "0")
        return " + ".join(
            [*(f"{k}::{kind} * {c}::{kind}" for c, k in terms.items()), f"{max(0, sign * constant)}::{kind}"]
        )

    return f"{side(1)} < {side(-1)}"


def _merged(parts: list[tuple[Any, ...]], schema: Aggregate, log: _Log) -> list[tuple[Any, ...]]:
    """The records of the aggregate, from DuckDB's answer to `_question`."""
    columns = {column.name: column for column in schema.records.columns}
    summed = _summed_columns(schema)
    floats = [name for name in summed if columns[name].type == "number"]
    wide = len(schema.group)
    counts: dict[tuple[Any, ...], int] = {}
    totals: dict[tuple[Any, ...], dict[str, Fraction]] = {}
    failed: list[list[int]] = [[] for _ in (*floats, *schema.sums)]
    for part in parts:
        group, buckets = part[:wide], dict(zip(floats, part[wide:], strict=False))
        count, *found = part[wide + len(floats) :]
        counts[group] = counts.get(group, 0) + count
        total = totals.setdefault(group, dict.fromkeys(summed, Fraction(0)))
        for name, value in zip(summed, found, strict=False):
            scale = Fraction(2) ** (BINADES * buckets[name] - 53) if name in buckets else 1
            total[name] += value * scale
        for place, first in zip(failed, found[len(summed) :], strict=True):
            place += [first] if first is not None else []
    _refuse_failed(failed, floats, schema, log)
    flags = [i for i, name in enumerate(schema.group) if columns[name].type == "flag"]
    records = []
    for group in sorted(counts):
        values = [
            _value(linear, columns, totals[group], counts[group], name, schema, group, log)
            for name, linear in schema.sums.items()
        ]
        named = [bool(value) if i in flags else value for i, value in enumerate(group)]
        records.append((*named, *values, *([counts[group]] if schema.count else [])))
    return records


def _refuse_failed(failed: list[list[int]], floats: list[str], schema: Aggregate, log: _Log) -> None:
    """RecordError for the first record that fails a check of `_question`."""
    for name, records in zip(floats, failed, strict=False):
        if records:
            found = log.record(min(records))[name]
            raise RecordError(
                f"{log.place(min(records))}: {name} is {found!r}; expected 0, or a number that is not nearer to zero "
                f"than {LEAST:.0e}. Correct the value{or_void(schema.records)}."
            )
    for (name, linear), records in zip(schema.sums.items(), failed[len(floats) :], strict=True):
        if records:
            record = log.record(min(records))
            values = ", ".join(f"{column}={record[column]}" for column in linear.terms)
            raise RecordError(
                f"{log.place(min(records))}: {name} = {linear.text} is below zero ({values}); expected a duration or "
                f"number of at least 0 in each record. Correct the record{or_void(schema.records)}."
            )


def _value(
    linear: Linear,
    columns: Mapping[str, Column],
    sums: Mapping[str, Fraction],
    count: int,
    name: str,
    schema: Aggregate,
    group: tuple[Any, ...],
    log: _Log,
) -> int | float:
    """The sum over the records of one group: exact where it is whole, else the nearest float64."""
    exact = linear.total(sums, count)
    try:
        if linear.is_whole(columns):
            if exact >= 2**63:
                raise OverflowError
            return int(exact)
        return float(exact)
    except OverflowError:
        named = ", ".join(f"{column}={value}" for column, value in zip(schema.group, group, strict=True))
        raise RecordError(
            f"{log.shown[0]}: the sum {name} of {named} is too large for a column; expected less than 2**63, or a "
            "finite number. Check the unit, or divide in the plan."
        ) from None
