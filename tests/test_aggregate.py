"""Tables aggregated while they are read: exact sums, the same whatever the order, and every wrong record refused."""

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st
from tests.served import repeatable

from campaign.analysis.compute import read
from campaign.engine import aggregate as module
from campaign.engine.aggregate import Aggregate, aggregate, read_records
from campaign.engine.data import Data, read_data
from campaign.engine.errors import PlanError, RecordError
from campaign.engine.linear import Linear
from campaign.engine.plan import Plan, read_plan
from campaign.engine.records import known_schema
from campaign.engine.tables import Column, Schema, read_table
from campaign.notes.paths import Campaign

PART = Campaign.above(Path(__file__)).part("part-7")
COLUMNS = {
    "row": "text",
    "draw": "integer",
    "step": "integer",
    "started_ns": "integer",
    "ended_ns": "integer",
    "wait_ms": "number",
    "emitted": "integer",
    "capped": "flag",
    "at": "time",
    "note": "text?",
}
KEY = ["row", "draw", "step"]
GROUP = ["row", "draw"]
SUMS = {"step_time_ms": "(ended_ns - started_ns) / 1000000", "tokens": "emitted", "waited_ms": "wait_ms"}
DAY = pa.scalar(0, pa.timestamp("us", tz="UTC"))


@cache
def _columns(count: int) -> Mapping[str, pa.Array]:
    rng = random.Random(7)
    started = [1000 * i + rng.randrange(1000) for i in range(count)]
    return {
        "row": pa.array([f"r{1 + 2 * i // count}" for i in range(count)]),
        "draw": pa.array([1 + 4 * i // count % 2 for i in range(count)], pa.int32()),
        "step": pa.array(range(count), pa.int32()),
        "started_ns": pa.array(started),
        "ended_ns": pa.array([at + rng.randrange(10**9) for at in started]),
        "wait_ms": pa.array([rng.random() * 10.0 ** rng.randrange(-9, 9) for _ in range(count)]),
        "emitted": pa.array([rng.randrange(1, 5) for _ in range(count)]),
        "capped": pa.array([i % 3 == 0 for i in range(count)]),
        "at": pa.array([DAY.as_py()] * count, DAY.type),
        "note": pa.nulls(count, pa.string()),
    }


def steps(count: int = 12, **changed: list) -> pa.Table:
    """A log of two rows with two draws each, `count` steps in all; `changed` gives a column other values."""
    columns = dict(_columns(count))
    for name, values in changed.items():
        columns[name] = values if isinstance(values, pa.Array) else pa.array(values, columns[name].type)
    return pa.table(columns)


def spec(columns=COLUMNS, key=KEY, group=GROUP, sums=SUMS, count="verify_steps", rest="", name="per_draw") -> Aggregate:
    schema = Schema.parse(name, columns, key, "plan.toml: tables")
    return Aggregate.parse(schema, group, sums, count, rest, f"plan.toml: tables.{name}")


def made(folder: Path, table: pa.Table, schema: Aggregate | None = None, threads: int = 2, **how) -> pd.DataFrame:
    """The aggregate of a file that holds `table`."""
    pq.write_table(table, folder / "steps.parquet", **how)
    return aggregate([folder / "steps.parquet"], schema or spec(), ["data/steps.parquet"], threads)


def refusal(folder: Path, table: pa.Table, schema: Aggregate | None = None) -> str:
    with pytest.raises(RecordError) as refused:
        made(folder, table, schema)
    return str(refused.value)


def plan_refusal(**changed) -> str:
    with pytest.raises(PlanError) as refused:
        spec(**changed)
    return str(refused.value)


def bits(frame: pd.DataFrame) -> list:
    """The values of `frame`, floats to the last bit."""
    return [[v.hex() if isinstance(v, float) else v for v in record] for record in frame.itertuples(index=False)]


# ---- what is right


def test_one_record_for_each_group(tmp_path):
    """The aggregate has the group, the sums and the count, each in the dtype of a small table."""
    found = made(tmp_path, steps())
    assert list(map(str, found.dtypes)) == ["object", "int64", "float64", "int64", "float64", "int64"]
    assert found[[*GROUP, "verify_steps"]].values.tolist() == [["r1", 1, 3], ["r1", 2, 3], ["r2", 1, 3], ["r2", 2, 3]]


def test_sums_are_those_of_exact_arithmetic(tmp_path):
    """Every sum is the exact one, rounded once."""
    table = steps(400)
    expected = [
        [
            sum(r["ended_ns"] - r["started_ns"] for r in records) / 1_000_000,
            sum(r["emitted"] for r in records),
            float(sum(Fraction(r["wait_ms"]) for r in records)),
        ]
        for records in (table.slice(at, 100).to_pylist() for at in (0, 100, 200, 300))
    ]
    assert bits(made(tmp_path, table)[list(SUMS)]) == [
        [v.hex() if isinstance(v, float) else v for v in e] for e in expected
    ]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows_in_group", [7, 1000, 200_000])
@pytest.mark.parametrize("shuffled", [False, True])
def test_same_bits_whatever_the_order(tmp_path, threads, rows_in_group, shuffled):
    """Neither threads nor row groups nor the order of the records change a bit, in sums of numbers either."""
    table = steps(700 if rows_in_group == 7 else 140_000)
    once = bits(made(tmp_path, table, threads=1))
    if shuffled:
        table = table.take(pa.array(random.Random(1).sample(range(len(table)), len(table))))
    assert bits(made(tmp_path, table, threads=threads, row_group_size=rows_in_group)) == once


def test_several_files_give_what_one_gives(tmp_path):
    """A log may be cut into files: they are one table."""
    table = steps()
    whole = made(tmp_path, table)
    (tmp_path / "data").mkdir()
    for number, at in enumerate((0, 5, 9)):
        pq.write_table(table.slice(at, (5, 4, 3)[number]), tmp_path / "data" / f"{number}.parquet")
    found = read_records("data/*.parquet", spec(), tmp_path, lambda path: path.relative_to(tmp_path).as_posix())
    assert found.table.equals(whole)
    assert list(found.digests) == ["data/0.parquet", "data/1.parquet", "data/2.parquet"]


@repeatable
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=0).filter(lambda x: not 0 < x < 1e-270)))
def test_sum_of_numbers_is_the_nearest_to_the_exact_one(tmp_path_factory, values):
    """Numbers of any size are summed without rounding on the way."""
    exact = sum(map(Fraction, values))
    if not values or exact >= 2**1023:
        return
    table = pa.table({"row": ["r"] * len(values), "n": range(len(values)), "x_ms": values})
    schema = spec({"row": "text", "n": "integer", "x_ms": "number"}, ["n"], ["row"], {"sum_ms": "x_ms"})
    assert made(tmp_path_factory.mktemp("x"), table, schema)["sum_ms"].tolist() == [math.fsum(values)]


def test_log_without_records_is_an_empty_table(tmp_path):
    """No records give no groups, in the right dtypes."""
    found = made(tmp_path, steps().slice(0, 0))
    assert (len(found), str(found["step_time_ms"].dtype)) == (0, "float64")


def test_whole_numbers_beyond_64_bits_on_the_way_are_exact(tmp_path):
    """Sums of clocks may leave 64 bits as long as their difference does not."""
    table = steps(started_ns=[2**62] * 12, ended_ns=[2**62 + 1_000_000] * 12)
    assert made(tmp_path, table)["step_time_ms"].tolist() == [3.0] * 4


def test_flags_count_as_one_and_nothing(tmp_path):
    """A flag that is summed counts the records that have it; one that makes a group stays a flag."""
    found = made(tmp_path, steps(), spec(group=["capped"], sums={"engaged": "capped"}))
    assert found.values.tolist() == [[False, 0, 8], [True, 4, 4]]


def test_constants_count_once_a_record(tmp_path):
    """A number in a sum is added for every record."""
    found = made(tmp_path, steps(), spec(sums={"x": "2 * (emitted + 0.5) - emitted"}))
    assert found["x"].tolist() == [t + 3 for t in made(tmp_path, steps())["tokens"]]


def test_names_never_become_a_part_of_a_query(tmp_path):
    """A column may be called anything."""
    odd = 'x"; DROP TABLE records; --'
    table = steps().append_column(odd, pa.array([1] * 12))
    assert len(made(tmp_path, table, spec({**COLUMNS, odd: "integer"}, [*KEY, odd]))) == 4


def test_keys_that_do_not_fit_into_memory_are_compared(tmp_path, monkeypatch):
    """With less memory than the keys need, the two that are equal are found all the same."""
    monkeypatch.setattr(module, "MEMORY", "48MB")
    count = 1_000_000
    names = [f"a name that is no short text {i}" for i in (*range(count - 1), 5)]
    table = pa.table({"name": names, "n": [1] * count})
    said = refusal(tmp_path, table, spec({"name": "text", "n": "integer"}, ["name"], ["n"], {}, "count"))
    assert said.startswith(
        "data/steps.parquet: record 1000000: the record name=a name that is no short text 5 stands already at "
        "data/steps.parquet: record 6; expected each name once."
    )


def test_long_reading_prints_nothing():
    """DuckDB draws no progress bar into the output of a command, however long it takes."""
    with module._duckdb(2) as (connection, _):
        assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]


def test_reading_reaches_no_other_file(tmp_path):
    """DuckDB sees the records that it is given, and cannot be made to open a file."""
    pq.write_table(steps(), tmp_path / "steps.parquet")
    with module._duckdb(2) as (connection, errors), pytest.raises(errors, match="disabled by configuration"):
        connection.execute(f"SELECT * FROM read_parquet('{tmp_path}/steps.parquet')")


# ---- records that are refused


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"row": [*["r1"] * 5, "r1 ", *["r2"] * 6]}, "record 6: row is 'r1 '; expected a text without spaces"),
        ({"row": [*["r1"] * 5, "", *["r2"] * 6]}, "record 6: row is ''; expected a text without spaces"),
        (
            {"emitted": [1, 2, None, *[1] * 9]},
            "record 3: emitted is empty; expected a whole number in each record. Fill",
        ),
        ({"wait_ms": [math.nan, *[1.0] * 11]}, "record 1: wait_ms is nan; expected a finite number"),
        ({"wait_ms": [*[1.0] * 11, math.inf]}, "record 12: wait_ms is inf; expected a finite number"),
        ({"wait_ms": [0.0, 1e-280, *[1.0] * 10]}, "record 2: wait_ms is 1e-280; expected 0, or a number that is not"),
        ({"wait_ms": [*[1.0] * 4, -0.5, *[1.0] * 7]}, "record 5: waited_ms = wait_ms is below zero (wait_ms=-0.5)"),
        (
            {"emitted": [1, -1, *[1] * 10]},
            "record 2: tokens = emitted is below zero (emitted=-1); expected a duration or",
        ),
        ({"wait_ms": pa.array(["1"] * 12)}, "column wait_ms holds string; expected a finite number"),
        (
            {"emitted": pa.array([2**63] * 12, pa.uint64())},
            "record 1: emitted is 9223372036854775808; expected a whole",
        ),
        ({"emitted": [2**62] * 12}, "the sum tokens of row=r1, draw=1 is too large for a column; expected less than"),
        ({"wait_ms": [1.7e308] * 12}, "the sum waited_ms of row=r1, draw=1 is too large for a column; expected less"),
    ],
)
def test_wrong_value_is_refused_with_its_record(tmp_path, changed, said):
    """What no small table may hold, no log may hold; nor a duration below zero."""
    place = "data/steps.parquet: "
    assert refusal(tmp_path, steps(**changed)).startswith(place + said)


def test_step_that_ends_before_it_starts_is_refused(tmp_path):
    """A negative duration is named with its record and its values, in whichever batch it stands."""
    table = steps(100_000)
    ended = table["ended_ns"].to_pylist()
    started = table["started_ns"].to_pylist()
    ended[90_000] = started[90_000] - 1
    assert refusal(tmp_path, steps(100_000, ended_ns=ended)) == (
        "data/steps.parquet: record 90001: step_time_ms = (ended_ns - started_ns) / 1000000 is below zero "
        f"(ended_ns={ended[90_000]}, started_ns={started[90_000]}); expected a duration or number of at least 0 in "
        "each record. Correct the record, or mark its row void with a reason and take its records out."
    )


def test_key_that_is_there_again_is_refused(tmp_path):
    """Two records with the same key are refused with both places, however far apart."""
    table = steps(100_000)
    again = pa.concat_tables([table, table.slice(70_001, 1), table.slice(80_000, 1)])
    assert refusal(tmp_path, again) == (
        "data/steps.parquet: record 100001: the record row=r2, draw=1, step=70001 stands already at "
        "data/steps.parquet: record 70002; expected each row and draw and step once. Remove one of the two."
    )


def test_key_that_is_there_again_in_another_file_is_refused(tmp_path):
    """Two files may not hold the same record."""
    for name in ("a", "b"):
        pq.write_table(steps(), tmp_path / f"{name}.parquet")
    with pytest.raises(RecordError, match=r"b\.parquet: record 1: .* stands already at a\.parquet: record 1; expected"):
        read_records("*.parquet", spec(), tmp_path, lambda path: path.name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.drop_columns("emitted"), "column emitted is missing; found row, draw, step"),
        (lambda t: t.append_column("accepted", t["emitted"]), "unknown column accepted; expected row, draw, step"),
        (
            lambda t: t.rename_columns({"ended_ns": "ended_us"}),
            "wrong unit: found column ended_us, expected ended_ns. Convert the values",
        ),
    ],
)
def test_other_columns_are_refused(tmp_path, change, said):
    """A log has the columns of the plan, in their units."""
    assert refusal(tmp_path, change(steps())).startswith(f"data/steps.parquet: {said}")


def test_what_is_no_parquet_is_refused(tmp_path):
    """A file of other bytes is named."""
    (tmp_path / "steps.parquet").write_bytes(b"row,draw\n")
    with pytest.raises(RecordError, match=r"^data/steps.parquet: not a Parquet file"):
        aggregate([tmp_path / "steps.parquet"], spec(), ["data/steps.parquet"])


def test_damaged_pages_are_refused(tmp_path):
    """A file whose footer is right and whose records are not is refused, and not by DuckDB's words."""
    path = tmp_path / "steps.parquet"
    pq.write_table(steps(), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"^data/steps.parquet: not a Parquet file"):
        aggregate([path], spec(), ["data/steps.parquet"])


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("none.parquet", "none.parquet: there is no such file; expected the records of table per_draw"),
        ("none/*.parquet", r"none/\*.parquet: there is no such file; expected the records of table per_draw"),
        ("steps.csv", "steps.csv: a file whose name ends in .csv; expected .parquet"),
        ("../*.parquet", "table per_draw lies outside the part"),
        ("/tmp/*.parquet", "table per_draw lies outside the part"),
    ],
)
def test_file_that_cannot_be_read_is_refused(tmp_path, file, said):
    """What is aggregated is Parquet, lies below the part, and is there."""
    with pytest.raises(RecordError, match=said):
        read_records(file, spec(), tmp_path, lambda path: str(path).replace(f"{tmp_path}/", ""))


def test_log_that_does_not_fit_is_refused_in_our_words(tmp_path, monkeypatch):
    """Where DuckDB has not the memory that it needs, the error says how much it may use and what to do."""
    monkeypatch.setattr(module, "MEMORY", "1MB")
    said = refusal(tmp_path, steps(200_000))
    assert said.startswith("data/steps.parquet: 200000 records cannot be aggregated: Out of Memory")
    assert "expected 1MB of memory and free space in" in said


# ---- plans that are refused


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("emited", "emited is no column; expected some of row, draw, step"),
        ("emitted * emitted", "a column times a column"),
        ("1 / emitted", "a division by a column"),
        ("emitted / (2 - 2)", "a division by zero"),
        ("emitted ** 2", "Pow cannot be used"),
        ("sum(emitted)", "Call cannot be used"),
        ("__import__('os').system('true')", "Call cannot be used"),
        ("emitted.real", "Attribute cannot be used"),
        ("emitted if 1 else 2", "IfExp cannot be used"),
        ("emitted; DROP TABLE records", "not an expression"),
        ("emitted +", "not an expression"),
        ("emitted + '1'", "'1' is no number such as"),
        ("emitted * 1e400", "1e400 is no number such as"),
        ("emitted * 1_000", "1_000 is no number such as"),
        ("emitted * 0x10", "0x10 is no number such as"),
        ("emitted * True", "True is no number such as"),
        ("emitted * 1.0000000000000000000001 - draw", "its numbers have too many digits"),
        ("1", "names no column"),
        ("emitted - emitted", "names no column"),
        ("emitted" + " + 1" * 200, "807 characters long, more than 500"),
        ("row", "the column row is of type text; expected one of integer, number, flag"),
        ("note", r"the column note is of type text?; expected one of"),
        ("at", "the column at is of type time; expected one of"),
    ],
)
def test_expression_that_is_no_sum_of_columns_is_refused(text, why):
    """Sums know columns, numbers, + - * / and parentheses, and nothing else."""
    said = plan_refusal(sums={"x": text})
    assert said.startswith("plan.toml: tables.per_draw.sums.x: ")
    assert why in said


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"group": []}, ": group is missing; expected group, and sums or count"),
        ({"sums": {}, "count": ""}, ": sums or count is missing; expected group, and sums or count"),
        ({"key": []}, ".key: missing; expected the columns that name a record"),
        ({"group": ["rows"]}, ".group: rows: found no column; expected columns of the types text, integer, flag"),
        ({"group": ["at"]}, ".group: at: found the type time; expected columns of the types"),
        ({"group": ["note"]}, ".group: note: found the type text?; expected columns of the types"),
        ({"columns": COLUMNS | {"at": "time??"}}, ".columns.at: found time??; expected a column that every file has"),
        ({"count": "tokens"}, ": 'tokens' stands twice; expected a name of its own for each column"),
        ({"sums": {"a b": "emitted"}}, ": 'a b' is no name; expected a name of its own"),
        ({"rest": "data/x.csv"}, ".rest: found 'data/x.csv'; expected none, since only a known table has further"),
    ],
)
def test_aggregate_that_cannot_be_is_refused(changed, said):
    """A plan that says too little, or a thing twice, is refused."""
    assert plan_refusal(**changed).startswith(f"plan.toml: tables.per_draw{said}")


DRAWS = {"name": "draws", "sums": {n: SUMS[n] for n in ("step_time_ms", "tokens")}, "rest": "data/draws.csv"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rest": ""}, ".rest: missing; expected a file with row, draw, model_time_s, passes"),
        ({"group": ["row"]}, ".group: found row; expected row, draw, the key of draws"),
        ({"sums": {"step_ms": "emitted"}}, ": step_ms is no column of draws; expected some of row, draw, step_time_ms"),
        ({"sums": {"tokens": "emitted / 2"}}, ": tokens comes out of type number; expected integer. Correct its sum."),
    ],
)
def test_known_table_keeps_its_columns(changed, said):
    """Draws that are summed from steps are draws: the same key, columns and types."""
    assert plan_refusal(**(DRAWS | changed)).startswith(f"plan.toml: tables.draws{said}")


@repeatable
@given(st.integers(1, 10**6), st.integers(-(10**6), 10**6), st.integers(1, 10**6))
def test_expression_is_exact(top, added, bottom):
    """Numbers are taken as they are written, and nothing is rounded."""
    columns = {"x": Column("x", "integer")}
    linear = Linear.parse(f"({top}.25 * x + 0.1 - {-added} * x) / {bottom}", columns, "plan")
    factor = Fraction(4 * top + 1, 4) + added
    assert linear.total({"x": Fraction(7)}, 3) == (factor * 7 + Fraction(3, 10)) / bottom


# ---- in a part


@pytest.fixture
def part_7(tmp_path) -> Path:
    """Part 7 in a folder, planned to sum its draws from the step log; rest.csv holds what the log does not say."""
    (tmp_path / "data").mkdir()
    for path in PART.data.iterdir():
        if path.is_file():
            (tmp_path / "data" / path.name).write_bytes(path.read_bytes())
    draws = pd.read_csv(tmp_path / "data" / "draws.csv", dtype=str)
    draws[["row", "draw", "model_time_s", "passes"]].to_csv(tmp_path / "data" / "rest.csv", index=False)
    document = tomlkit.parse(PART.plan.read_text()).unwrap()
    summed = {**document["tables"]["steps"], "group": GROUP, "sums": DRAWS["sums"], "count": "verify_steps"}
    document["tables"]["draws"] = {**summed, "rest": "data/rest.csv"}
    (tmp_path / "plan.toml").write_text(tomlkit.dumps(document))
    return tmp_path


def data_of(folder: Path) -> tuple[Plan, Data]:
    plan = read_plan(folder / "plan.toml", "plan.toml")
    return plan, read_data(plan, folder, lambda path: path.relative_to(folder).as_posix())


def test_part_7_has_the_same_draws_from_its_steps(part_7):
    """What the measuring side summed and wrote is, bit for bit, what its step log sums to."""
    _, data = data_of(part_7)
    written = read_table(PART.data / "draws.csv", known_schema("draws"), "data/draws.csv")
    assert bits(data.tables["draws"]) == bits(written.sort_values(GROUP))


def test_part_7_has_the_same_readings_from_its_steps(part_7):
    """A plan that sums its draws from steps has the readings of one that reads them."""
    aggregated = read(*data_of(part_7), "plan.toml")
    whole = read_plan(PART.plan, "plan.toml")
    expected = read(whole, read_data(whole, PART.folder, PART.show), "plan.toml")
    assert {name: aggregated[name].to_json() for name in aggregated} == {
        name: expected[name].to_json() for name in expected
    }


def test_digests_name_every_file_of_an_aggregate(part_7):
    """The log and the rest are among the part's files, so that a change of either is one of the data."""
    _, data = data_of(part_7)
    assert {"data/steps.parquet", "data/rest.csv"} <= set(data.digests)
    assert "data/draws.csv" in data.records  # there, and read into no table of this plan


def test_draw_without_steps_is_refused(part_7):
    """A draw that only one of both files knows is refused."""
    rest = part_7 / "data" / "rest.csv"
    rest.write_text(rest.read_text() + "r1,9,1.0,1\n")
    with pytest.raises(RecordError) as refused:
        data_of(part_7)
    assert str(refused.value) == (
        "data/steps.parquet: has no record of row=r1, draw=9, which data/rest.csv has; expected the same row and draw "
        "in both. Add what lacks, or take the other out."
    )


def test_steps_without_their_draw_are_refused(part_7):
    """Steps of a draw that the rest does not know are refused."""
    rest = part_7 / "data" / "rest.csv"
    rest.write_text("".join(line for line in rest.read_text().splitlines(True) if not line.startswith("r3,2,")))
    with pytest.raises(RecordError, match=r"^data/rest.csv: has no record of row=r3, draw=2, which data/steps.parquet"):
        data_of(part_7)


def test_wrong_sum_is_refused_when_the_plan_is_read(part_7):
    """A plan with a sum that cannot be is refused before any data are read."""
    plan = part_7 / "plan.toml"
    plan.write_text(plan.read_text().replace('tokens = "emitted"', 'tokens = "emited"'))
    with pytest.raises(
        PlanError, match=r"^plan.toml: tables.draws.sums.tokens: emited is no column; .* mean emitted\?"
    ):
        read_plan(plan, "plan.toml")


def test_table_beside_the_draws_is_read_by_stat(part_7):
    """A table of sums has the arm of its row, as every table with a column `row`, and can be read."""
    said = tomlkit.parse((part_7 / "plan.toml").read_text()).unwrap()
    said["tables"]["drafting"] = {
        **said["tables"]["steps"],
        "group": ["row"],
        "sums": {"drafting_ms": "drafting_ns / 1000000"},
        "count": "verify_steps",
    }
    said["reading"] = [
        {"id": "most", "kind": "stat", "table": "drafting", "where": "arm == 'scan'", "stat": "max"}
        | {"column": "drafting_ms / verify_steps"}
    ]
    del said["verdict"]
    (part_7 / "plan.toml").write_text(tomlkit.dumps(said))
    assert 0 < read(*data_of(part_7), "plan.toml")["most"].value < 1
