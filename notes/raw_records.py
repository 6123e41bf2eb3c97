"""Raw records: the files of finished rows and the journal, against their hashes and the tables made from them."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any

from campaign.engine.errors import RecordError
from campaign.engine.journal import COMPLETE, Attempt, Journal
from campaign.engine.row_tables import Table, kept_row, row_file, tables_of
from campaign.notes.causes import DATA_HASH
from campaign.notes.findings import Finding
from campaign.notes.history import History, Repository
from campaign.notes.paths import Part
from campaign.notes.publish import read_published
from campaign.notes.sources import Sources

JOURNAL = "journal.jsonl"


def check_records(part: Part, sources: Sources, repository: History) -> list[Finding]:
    """Data files that readings.json has a hash of and that are gone, and tables that the raw records do not give.

    A changed file is told by its hash already; this tells what a new hash would hide.
    """
    gone = list(_gone(part, sources, repository))
    if gone or not any(name.startswith("data/rows/") or name == f"data/{JOURNAL}" for name in sources.data.records):
        return gone
    earlier = frozenset(name for name, arm in sources.plan.arms.items() if arm.earlier)
    return list(_against_tables(part, sources.data.whole_digest, earlier))


def is_read(name: str, sources: Sources) -> bool:
    """Whether a data file, be it here or gone, is one that tables are read from."""
    data = sources.data
    patterns = (sources.plan.table(table)[0] for table in sources.plan.tables)
    return (name in data.digests and name not in data.records) or any(fnmatch(name, one) for one in patterns)


def _gone(part: Part, sources: Sources, repository: History) -> Iterator[Finding]:
    try:
        kept = {str(name): str(sha256) for name, sha256 in json.loads(part.readings.read_bytes())["data"].items()}
    except (OSError, AttributeError, ValueError, KeyError, TypeError):
        return  # told where readings.json itself is looked at
    meant = "correct" if read_published(part) else "build"
    for name, sha256 in kept.items():
        path = part.folder / name
        if name not in sources.data.digests and name.startswith("data/"):
            back = f"git checkout {_commit_with(path, repository)} -- {part.show(path)}"
            yield Finding(
                "stale",
                part.show(path),
                1,
                1,
                "no such file",
                f"sha256 {sha256[:12]} as built",
                DATA_HASH,
                f"{back}, or notes {meant} {part.name} (where the file is left out on purpose)",
            )


def _commit_with(path: Path, repository: History) -> str:
    """The newest commit that has a file which is gone."""
    if not isinstance(repository, Repository) or repository.committed_blob(path):
        return "HEAD"
    return next((version.commit[:12] for version in repository.versions(path) if version.blob), "HEAD")


@lru_cache(maxsize=16)
def _against_tables(part: Part, digest: str, earlier: frozenset[str]) -> tuple[Finding, ...]:
    """The first difference of each table to what the raw records give; `digest` names what lies in all of them."""
    journal = part.data / JOURNAL
    if not journal.is_file():
        return (_finding(part, JOURNAL, 1, "no such file", "the journal of the rows in data/rows", "data/rows"),)
    try:
        attempts = [one for one in Journal(journal).attempts() if one.state == COMPLETE]
        found = [one for attempt in attempts if (one := _another_row(part, attempt))]
        return tuple(found or _differing(part, attempts, tables_of(part.data, attempts, ""), earlier))
    except RecordError as wrong:
        path, _, said = str(wrong).removeprefix(f"{part.data}/").partition(": ")
        return (_finding(part, path, 1, said.partition("; ")[0], "the raw record as it was written", f"data/{path}"),)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as wrong:
        said = f"no record of rows ({type(wrong).__name__}: {wrong})"
        return (_finding(part, "rows", 1, said, "what `notes run` writes", "data/rows"),)


def _another_row(part: Part, attempt: Attempt) -> Finding | None:
    """That the file of a finished row is of another row than the journal says."""
    kept = kept_row(part.data, attempt.row)
    for key in ("row", "arm", "started"):
        if kept[key] != getattr(attempt, key):
            name = row_file(part.data, attempt.row).relative_to(part.data).as_posix()
            wanted = f"{getattr(attempt, key)}, as {JOURNAL} has it"
            return _finding(part, name, 1, f"{key} {kept[key]}", wanted, f"data/{JOURNAL}")
    return None


def _differing(
    part: Part, attempts: Sequence[Attempt], tables: dict[str, Table], earlier: frozenset[str]
) -> Iterator[Finding]:
    """Where each table first differs from what the rows give.

    A row that was made void in the table later, and one of a yardstick, is left out on both sides.
    """
    there = {name: _read(part.data / name) for name in tables if (part.data / name).is_file()}
    if "rows.csv" not in there:
        return
    columns, rows = there["rows.csv"]
    said = {record["row"]: record for record in (dict(zip(columns, row, strict=True)) for row in rows)}
    complete = {name for name, row in said.items() if row["state"] == COMPLETE and row["arm"] not in earlier}
    left = {name for name, row in said.items() if row["state"] == "void" or row["arm"] in earlier}
    for attempt in attempts:
        if attempt.row not in said:
            yield _finding(
                part, "rows.csv", 1, f"no row {attempt.row}", f"a row of {attempt.arm}", _record_of(part, attempt.row)
            )
            return
    for row in sorted(complete - {attempt.row for attempt in attempts}):
        line = 2 + [record[0] for record in rows].index(row)
        yield _finding(part, "rows.csv", line, f"row {row}", "only rows that were finished", f"data/{JOURNAL}")
        return
    for name, (columns, records) in there.items():
        wanted = tables[name]
        both = ("row", "arm", "started") if name == "rows.csv" else [one for one in wanted.columns if one in columns]
        want = [record for record in _only(wanted, both) if record[0] not in left]
        have = [
            (line, record)
            for line, record in enumerate(_only(Table(columns, records), both), 2)
            if record[0] not in left and (name != "rows.csv" or record[0] in complete)
        ]
        yield from _first_difference(part, name, both, have, want)


def _first_difference(
    part: Part,
    name: str,
    columns: Sequence[str],
    have: Sequence[tuple[int, tuple[Any, ...]]],
    want: Sequence[tuple[Any, ...]],
) -> Iterator[Finding]:
    """The first cell that is another one, or that there are more records, or fewer."""
    for (line, found), wanted in zip(have, want, strict=False):
        for column, one, other in zip(columns, found, wanted, strict=True):
            if one != other:
                row = wanted[0]
                yield _finding(part, name, line, f"{column} {one}", f"{column} {other}", _record_of(part, row))
                return
    if len(have) != len(want):
        line = have[-1][0] if have else 1
        yield _finding(part, name, line, f"{len(have)} records", f"{len(want)} records", "data/rows")


def _read(path: Path) -> Table:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        columns = [column.to_pylist() for column in table.columns]
        return Table(tuple(table.column_names), list(zip(*columns, strict=True)))
    head, *records = csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline=""))
    return Table(tuple(head), [tuple(record) for record in records])


def _only(table: Table, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The records with these columns alone; numbers and texts alike as text, as two kinds of file hold them."""
    places = [table.columns.index(column) for column in columns]
    yield from (tuple(str(record[place]) for place in places) for record in table.records)


def _record_of(part: Part, row: str) -> str:
    return row_file(part.data, row).relative_to(part.folder).as_posix()


def _finding(part: Part, name: str, line: int, said: str, expected: str, source: str) -> Finding:
    shown = part.show(part.data / name)
    if name.endswith(".parquet"):
        said, line = f"record {line - 1}: {said}", 1
    both = " ".join(dict.fromkeys([shown, part.show(part.folder / source)]))
    mend = f"git checkout COMMIT -- {both}, where COMMIT has both as they were measured: git log -- {both} lists them"
    return Finding("stale", shown, line, 1, said, expected, f"the raw record {source}", mend)
