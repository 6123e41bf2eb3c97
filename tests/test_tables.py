"""Reading tables: what is wrong in a file is refused with its place; what is right comes out as it was written."""

import datetime
import math
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.served import repeatable

from campaign.engine.errors import PlanError, RecordError
from campaign.engine.tables import Schema, read_table

COLUMNS = {"row": "text", "draw": "integer", "step_time_ms": "number", "at": "time", "capped": "flag"}
SCHEMA = Schema.parse("samples", COLUMNS, ["row", "draw"], "plan.toml")
OPTIONAL = Schema.parse("samples", {"row": "text", **{n: f"{COLUMNS[n]}?" for n in COLUMNS if n != "row"}}, [], "plan")
HEADER = "row,draw,step_time_ms,at,capped"
GOOD = {"row": "r1", "draw": "1", "step_time_ms": "14.5", "at": "2026-11-06T04:25:00Z", "capped": "true"}
MOMENT = datetime.datetime(2026, 11, 6, 4, 25, tzinfo=datetime.UTC)


def read(folder: Path, content: str | bytes, schema: Schema = SCHEMA) -> pd.DataFrame:
    path = folder / "samples.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, schema, "data/samples.csv")


def with_cell(column: str, cell: str) -> str:
    """A table of two records; the second holds `cell`."""
    second = {**GOOD, "draw": "2", column: cell}
    return "\n".join([HEADER, ",".join(GOOD.values()), ",".join(second.values())]) + "\n"


def refusal(folder: Path, content: str | bytes, schema: Schema = SCHEMA) -> str:
    """The message with which the table is refused."""
    with pytest.raises(RecordError) as refused:
        read(folder, content, schema)
    return str(refused.value)


def parquet_table(**changed: pa.Array | None) -> pa.Table:
    columns: dict[str, pa.Array | None] = {
        "row": pa.array(["r1", "r2"]),
        "draw": pa.array([1, 2]),
        "step_time_ms": pa.array([14.5, 14.6]),
        "at": pa.array([MOMENT, MOMENT]),
        "capped": pa.array([True, False]),
    }
    return pa.table({name: column for name, column in (columns | changed).items() if column is not None})


def read_parquet(folder: Path, table: pa.Table, schema: Schema = SCHEMA) -> pd.DataFrame:
    path = folder / "samples.parquet"
    pq.write_table(table, path)
    return read_table(path, schema, "data/samples.parquet")


def parquet_refusal(folder: Path, schema: Schema = SCHEMA, **changed: pa.Array | None) -> str:
    with pytest.raises(RecordError) as refused:
        read_parquet(folder, parquet_table(**changed), schema)
    return str(refused.value)


# ---- what is right


def test_good_values_come_out_as_written(tmp_path):
    """Each type comes out in the dtype that is promised, with the value of the file."""
    frame = read(tmp_path, f"{HEADER}\nr1,-7,0.125,2026-11-06T05:25:00.5+01:00,false\n")
    assert frame.to_dict("records") == [
        {
            "row": "r1",
            "draw": -7,
            "step_time_ms": 0.125,
            "at": pd.Timestamp("2026-11-06T04:25:00.5Z"),
            "capped": False,
        }
    ]
    assert list(map(str, frame.dtypes)) == ["object", "int64", "float64", "datetime64[us, UTC]", "bool"]


@repeatable
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_round_trips(tmp_path_factory, value):
    """The shortest text of a float reads back as that float."""
    schema = Schema.parse("one", {"x": "number"}, [], "plan")
    assert read(tmp_path_factory.mktemp("n"), f"x\n{value!r}\n", schema)["x"].tolist() == [value]


@repeatable
@given(st.integers(-(2**63), 2**63 - 1))
def test_every_int64_round_trips(tmp_path_factory, value):
    """A whole number reads back exactly, however large."""
    schema = Schema.parse("one", {"x": "integer"}, [], "plan")
    assert read(tmp_path_factory.mktemp("n"), f"x\n{value}\n", schema)["x"].tolist() == [value]


@pytest.mark.parametrize("cell", ["5", "-5", "+5", ".5", "5.", "5e3", "5.0E-3"])
def test_usual_ways_to_write_a_number_are_read(tmp_path, cell):
    """A number may have a sign, a point and an exponent."""
    assert read(tmp_path, with_cell("step_time_ms", cell))["step_time_ms"].iloc[1] == float(cell)


def test_byte_order_mark_is_no_part_of_the_first_column(tmp_path):
    """A file that begins with a byte order mark is read."""
    assert len(read(tmp_path, b"\xef\xbb\xbf" + with_cell("draw", "2").encode())) == 2


def test_windows_line_ends_are_read(tmp_path):
    """A file with CRLF gives what the same file with LF gives."""
    text = with_cell("draw", "2")
    assert read(tmp_path, text.replace("\n", "\r\n")).equals(read(tmp_path, text))


def test_columns_may_stand_in_any_order(tmp_path):
    """The order of the file's columns does not matter."""
    text = "capped,at,step_time_ms,draw,row\ntrue,2026-11-06T04:25:00Z,14.5,1,r1\n"
    assert list(read(tmp_path, text).columns) == list(COLUMNS)


def test_blank_lines_hold_no_record(tmp_path):
    """Empty lines are passed over, and the lines after them keep their numbers."""
    text = f"{HEADER}\n\n{','.join(GOOD.values())}\n\nr1,x,1,2026-11-06T04:25:00Z,true\n"
    assert refusal(tmp_path, text).startswith("data/samples.csv:5: draw is 'x'")


def test_header_alone_is_an_empty_table(tmp_path):
    """A table without records has its columns and types."""
    frame = read(tmp_path, f"{HEADER}\n")
    assert (len(frame), str(frame["at"].dtype)) == (0, "datetime64[us, UTC]")


def test_words_for_nothing_are_texts(tmp_path):
    """A row may be called NaN or None: in a text column they are words."""
    assert read(tmp_path, with_cell("row", "NaN"))["row"].tolist() == ["r1", "NaN"]


def test_empty_optional_cells_are_missing_values(tmp_path):
    """An optional cell that is empty is a missing value in every type, and never false or 0."""
    frame = read(tmp_path, f"{HEADER}\nr1,,,,\n", OPTIONAL)
    assert frame.drop(columns="row").isna().all(axis=None)


def test_optional_flag_keeps_true_and_false(tmp_path):
    """An optional flag that is given is 1 or 0."""
    assert read(tmp_path, f"{HEADER}\nr1,,,,true\nr2,,,,false\n", OPTIONAL)["capped"].tolist() == [1, 0]


# ---- columns


def test_missing_column_is_named(tmp_path):
    """A missing column is refused with what was found and what was expected."""
    said = refusal(tmp_path, "row,draw,step_time_ms,at\n")
    assert said == (
        "data/samples.csv:1: column capped is missing; found row, draw, step_time_ms, at; "
        "expected row, draw, step_time_ms, at, capped. Add the column."
    )


def test_misspelt_column_is_to_be_renamed(tmp_path):
    """Where a column lacks and another looks like it, renaming is proposed."""
    assert "Rename caped to capped." in refusal(tmp_path, HEADER.replace("capped", "caped") + "\n")


def test_extra_column_is_named(tmp_path):
    """A column that the table does not have is refused."""
    said = refusal(tmp_path, f"{HEADER},mean_ms\n")
    assert said.startswith("data/samples.csv:1: unknown column mean_ms; expected row, draw, step_time_ms, at, capped.")
    assert said.endswith("Remove it, or add it to the table's columns in the plan.")


@pytest.mark.parametrize("found", ["step_time_us", "step_time_s", "step_time", "step_time_sec"])
def test_other_unit_is_a_wrong_unit(tmp_path, found):
    """The same column with another ending has the wrong unit, and renaming alone is not proposed."""
    said = refusal(tmp_path, HEADER.replace("step_time_ms", found) + "\n")
    assert said == (
        f"data/samples.csv:1: wrong unit: found column {found}, expected step_time_ms. "
        "Convert the values to the unit that step_time_ms names, and rename the column."
    )


def test_doubled_column_is_refused(tmp_path):
    """Two columns of one name are refused."""
    assert "samples.csv:1: column row stands twice" in refusal(tmp_path, f"{HEADER},row\n")


@pytest.mark.parametrize("content", ["", "\n", "\ufeff"])
def test_file_without_a_header_is_refused(tmp_path, content):
    """An empty file is no empty table."""
    assert "samples.csv:1: column row is missing; found no columns" in refusal(tmp_path, content)


def test_semicolons_are_no_columns(tmp_path):
    """A file with semicolons is refused."""
    assert "found row;draw;step_time_ms;at;capped" in refusal(tmp_path, HEADER.replace(",", ";") + "\n")


# ---- cells


@pytest.mark.parametrize(
    "cell",
    [
        "nan",
        "NaN",
        "inf",
        "-Infinity",
        "1e400",
        "1e-400",
        "1_000",
        "１",
        "١",
        " 5",
        "5 ",
        "\t5",
        "0x10",
        "1.5.2",
        "--1",
        "1e",
        "five",
        "5ms",
        "-",
        ".",
        "−5",
    ],
)
def test_what_is_no_finite_number_is_refused(tmp_path, cell):
    """A number is written with ASCII digits alone, and is finite."""
    said = refusal(tmp_path, with_cell("step_time_ms", cell))
    assert said.startswith(f"data/samples.csv:3: step_time_ms is {cell!r}")
    assert "; expected a finite number (no NaN, no infinity). Correct the value" in said


@pytest.mark.parametrize(
    "cell", ["1.0", "1e3", "+1", "1_000", "１", " 5", "5 ", "--5", "nan", "true", "9223372036854775808", "9" * 5000]
)
def test_what_is_no_whole_number_is_refused(tmp_path, cell):
    """A whole number has digits alone and fits into 64 bits."""
    said = refusal(tmp_path, with_cell("draw", cell))
    assert said.startswith(f"data/samples.csv:3: draw is {cell!r}")
    assert "; expected a whole number. Correct the value" in said


def test_optional_whole_number_that_a_float_cannot_hold_is_refused(tmp_path):
    """An optional integer becomes a float, so it has to be one exactly."""
    assert "draw is '9007199254740993' (too large)" in refusal(
        tmp_path, f"{HEADER}\nr1,9007199254740993,,,\n", OPTIONAL
    )


@pytest.mark.parametrize("cell", ["2026-11-06T04:25:00", "2026-11-06", "2026-11-06 04:25"])
def test_time_without_a_zone_is_refused(tmp_path, cell):
    """A time names its zone."""
    said = refusal(tmp_path, with_cell("at", cell))
    assert said.startswith(
        f"data/samples.csv:3: at is {cell!r} (it has no zone); expected a time with its zone, as 2026-11-06T04:25:00Z."
    )


@pytest.mark.parametrize(
    "cell",
    [
        "soon",
        "2026-13-06T04:25:00Z",
        "2026-11-06T24:00:00Z",
        "20261106T042500Z",
        "2026-W45-5T04:25:00Z",
        "1762403100",
        "0001-01-01T00:00:00+14:00",
        " 2026-11-06T04:25:00Z",
        "2026-11-06x04:25Z",
        "2026-11-06T04:25:00.1234567Z",
    ],
)
def test_what_is_no_time_is_refused(tmp_path, cell):
    """A time is a date and a clock time as people write them, to the microsecond at most."""
    assert refusal(tmp_path, with_cell("at", cell)).startswith(f"data/samples.csv:3: at is {cell!r}")


@pytest.mark.parametrize("cell", ["True", "1", "yes", " true"])
def test_flag_is_true_or_false(tmp_path, cell):
    """A flag is one of two words."""
    assert refusal(tmp_path, with_cell("capped", cell)).startswith(
        f"data/samples.csv:3: capped is {cell!r}; expected true or false. Correct the value"
    )


@pytest.mark.parametrize("cell", ["r1 ", " r1", "  ", "r\x001"])
def test_text_that_looks_like_another_is_refused(tmp_path, cell):
    """A text has no spaces at its ends: `rs8 ` would be an arm of its own."""
    assert refusal(tmp_path, with_cell("row", cell)).startswith(f"data/samples.csv:3: row is {cell!r} (")


@pytest.mark.parametrize(("column", "expected"), [("row", "a text"), ("draw", "a whole"), ("capped", "true or false")])
def test_empty_cell_is_refused(tmp_path, column, expected):
    """A cell that may not be empty is not."""
    said = refusal(tmp_path, with_cell(column, ""))
    assert said.startswith(f"data/samples.csv:3: {column} is empty; expected {expected}")
    assert "Fill it in" in said


# ---- records


def test_duplicate_key_names_both_lines(tmp_path):
    """A second record with the key of an earlier one is refused, and both lines are named."""
    assert refusal(tmp_path, with_cell("draw", "1")) == (
        "data/samples.csv:3: the record row=r1, draw=1 stands already at data/samples.csv:2; "
        "expected each row and draw once. Remove one of the two."
    )


def test_duplicate_key_with_an_empty_part_is_found(tmp_path):
    """Two keys that both leave a part empty are the same key, and the first of them is named."""
    schema = Schema.parse("samples", {"row": "text", "draw": "integer?"}, ["row", "draw"], "plan")
    said = refusal(tmp_path, "row,draw\nr0,\nr1,\nr1,\n", schema)
    assert said.startswith("data/samples.csv:4: ") and "already at data/samples.csv:3" in said


@pytest.mark.parametrize(("record", "count"), [("r1,1", 2), ("r1,1,1,2026-11-06T04:25:00Z,true,", 6), ("  ", 1)])
def test_ragged_record_is_refused(tmp_path, record, count):
    """A record has as many values as the header has columns."""
    said = refusal(tmp_path, f"{HEADER}\n{record}\n")
    assert said.startswith(f"data/samples.csv:2: found {count} values, expected 5 (row, draw, ")
    assert "Complete the record" in said


def test_record_with_line_breaks_is_named_by_its_first_line(tmp_path):
    """Line numbers stay right after a text that has line breaks."""
    text = f'{HEADER}\n"a\nb",1,1,2026-11-06T04:25:00Z,true\nr1,x,1,2026-11-06T04:25:00Z,true\n'
    assert refusal(tmp_path, text).startswith("data/samples.csv:4: draw is 'x'")


# ---- files


def test_missing_file_is_refused(tmp_path):
    """A file that is not there is refused with what was expected in it."""
    with pytest.raises(RecordError, match=r"data/none\.csv: there is no such file; expected the records of table samp"):
        read_table(tmp_path / "none.csv", SCHEMA, "data/none.csv")


def test_folder_is_no_table(tmp_path):
    """A folder of the file's name is refused."""
    (tmp_path / "samples.csv").mkdir()
    with pytest.raises(RecordError, match="there is no such file"):
        read_table(tmp_path / "samples.csv", SCHEMA, "data/samples.csv")


@pytest.mark.parametrize("content", ["row\n\xff".encode("latin-1"), "row\n1".encode("utf-16")])
def test_other_encoding_is_refused(tmp_path, content):
    """Text that is not UTF-8 is refused with line and byte."""
    line = 2 if content.startswith(b"row") else 1
    said = refusal(tmp_path, content)
    assert said == f"data/samples.csv:{line}: byte 0xff is not UTF-8; expected UTF-8 text. Save the file as UTF-8."


@pytest.mark.parametrize("record", ['"r1,1,1', '"r"1,1,1,2026-11-06T04:25:00Z,true'])
def test_broken_quotes_are_refused(tmp_path, record):
    """A quote that is not closed, or closed too early, is no CSV."""
    assert refusal(tmp_path, f"{HEADER}\n{record}\n").startswith("data/samples.csv:2: not CSV: ")


def test_other_kinds_of_file_are_refused(tmp_path):
    """A table is CSV or Parquet."""
    (tmp_path / "samples.txt").write_text(HEADER)
    with pytest.raises(RecordError, match=r"ends in \.txt; expected \.csv or \.parquet"):
        read_table(tmp_path / "samples.txt", SCHEMA, "data/samples.txt")


# ---- Parquet


def test_parquet_gives_what_csv_gives(tmp_path):
    """The same records in both kinds of file are the same table."""
    lines = ["r1,1,14.5,2026-11-06T04:25:00Z,true", "r2,2,14.6,2026-11-06T04:25:00Z,false"]
    assert read_parquet(tmp_path, parquet_table()).equals(read(tmp_path, "\n".join([HEADER, *lines])))


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"draw": pa.array([1.0, 2.0])}, "column draw holds double; expected a whole number"),
        ({"step_time_ms": pa.array(["1", "2"])}, "column step_time_ms holds string; expected a finite number"),
        ({"capped": pa.array([1, 0])}, "column capped holds int64; expected true or false"),
        ({"row": pa.array([1, 2])}, "column row holds int64; expected a text"),
        (
            {"at": pa.array([MOMENT.replace(tzinfo=None)] * 2)},
            "column at holds timestamp[us]; expected a time with its",
        ),
        ({"at": pa.array([MOMENT.date()] * 2)}, "column at holds date32[day]; expected a time with its zone"),
    ],
)
def test_parquet_column_of_another_type_is_refused(tmp_path, changed, found):
    """A Parquet column has the type that the table says; times have a zone."""
    said = parquet_refusal(tmp_path, **changed)
    assert said.startswith(f"data/samples.parquet: {found}")
    assert said.endswith("Write the column with that type.")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("schema", [SCHEMA, OPTIONAL])
def test_parquet_number_that_is_not_finite_is_refused(tmp_path, bad, schema):
    """NaN is no empty value: it is refused even where a value may be missing."""
    said = parquet_refusal(tmp_path, schema, step_time_ms=pa.array([14.5, bad]))
    assert said.startswith(f"data/samples.parquet: record 2: step_time_ms is {bad}; expected a finite number")


def test_parquet_null_is_refused(tmp_path):
    """A null where a value must be is refused with the number of its record."""
    said = parquet_refusal(tmp_path, step_time_ms=pa.array([None, 1.0]))
    assert said.startswith("data/samples.parquet: record 1: step_time_ms is empty; expected a finite number")


def test_parquet_nulls_of_optional_columns_are_missing_values(tmp_path):
    """A null in an optional column is a missing value, a flag's too."""
    nulls = {name: pa.nulls(2, parquet_table()[name].type) for name in COLUMNS if name != "row"}
    frame = read_parquet(tmp_path, parquet_table(**nulls), OPTIONAL)
    assert frame.drop(columns="row").isna().all(axis=None)


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"row": pa.array(["", "r2"])}, "row is ''"),
        ({"row": pa.array(["r1 ", "r2"])}, "row is 'r1 '"),
        ({"draw": pa.array([2**63, 1], pa.uint64())}, "draw is 9223372036854775808"),
    ],
)
def test_parquet_values_are_held_to_what_csv_allows(tmp_path, changed, found):
    """Empty texts, spaces at the ends and numbers beyond 64 bits are refused in Parquet too."""
    assert parquet_refusal(tmp_path, **changed).startswith(f"data/samples.parquet: record 1: {found}; expected a")


def test_parquet_duplicate_key_names_both_records(tmp_path):
    """A second record with the same key is refused."""
    said = parquet_refusal(tmp_path, row=pa.array(["r1", "r1"]), draw=pa.array([1, 1]))
    assert "record 2: the record row=r1, draw=1 stands already at data/samples.parquet: record 1" in said


def test_parquet_columns_are_checked(tmp_path):
    """Missing, extra and wrongly united columns are refused in Parquet too."""
    assert "column capped is missing" in parquet_refusal(tmp_path, capped=None)
    assert "unknown column mean" in parquet_refusal(tmp_path, mean=pa.array([1, 2]))
    united = parquet_refusal(tmp_path, step_time_ms=None, step_time_us=pa.array([1.0, 2.0]))
    assert "wrong unit: found column step_time_us, expected step_time_ms" in united


def test_parquet_in_a_folder_named_like_a_key_has_no_more_columns(tmp_path):
    """A folder `day=5` adds no column to the tables in it."""
    folder = tmp_path / "day=5"
    folder.mkdir()
    assert list(read_parquet(folder, parquet_table()).columns) == list(COLUMNS)


def test_broken_parquet_is_refused(tmp_path):
    """A file that only has the name of a Parquet file is refused."""
    (tmp_path / "samples.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(RecordError, match=r"data/samples\.parquet: not a Parquet file"):
        read_table(tmp_path / "samples.parquet", SCHEMA, "data/samples.parquet")


# ---- schemas


def test_unknown_type_is_refused_with_the_nearest():
    """A column's type is one of five words."""
    with pytest.raises(PlanError, match=r"table t: column a has the type 'txt'.*Did you mean text\?"):
        Schema.parse("t", {"a": "txt"}, [], "plan.toml: tables")


def test_key_names_columns():
    """A key that names no column is refused with the nearest."""
    with pytest.raises(
        PlanError, match=r"the key names rwo, which is no column; expected some of row\. Did you mean row"
    ):
        Schema.parse("t", {"row": "text"}, ["rwo"], "plan.toml: tables")
