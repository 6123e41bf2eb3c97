"""The data of a part: tables that contradict each other or the plan are refused, and what does not count does not."""

import pytest
from tests.served import DRIFT, HEAD, SAVING, Served, draw, row, sample, served, table, task

from campaign.engine.errors import RecordError


@pytest.fixture
def part(tmp_path) -> Served:
    return served(tmp_path)


def refusal(part: Served) -> str:
    """The message with which the part's data are refused."""
    with pytest.raises(RecordError) as refused:
        part.data()
    return str(refused.value)


def test_small_part_is_valid(part):
    """The helper's part is read, so that each test below fails for its own reason."""
    assert {name: len(table) for name, table in part.data().tables.items()} == {
        "rows": 7,
        "draws": 14,
        "tasks": 28,
        "power": 35,
    }


# ---- tables that contradict each other


@pytest.mark.parametrize(
    ("table", "record"),
    [
        ("draws", draw("r9", 1, 14.0)),
        ("tasks", task("r9", 1, "qa-1")),
        ("power", sample("r9", 1, 400, False)),
    ],
)
def test_records_of_an_unknown_row_are_refused(part, table, record):
    """Every draw, task and power sample is of a row that rows.csv lists."""
    getattr(part, table).append(record)
    assert refusal(part) == (
        f"data/{table}.csv: row r9 has records but is not in data/rows.csv; expected every row to be listed there. "
        "Add the row, or remove its records."
    )


def test_complete_row_without_draws_is_refused(part):
    """A row that is complete has draws."""
    part.draws = [one for one in part.draws if one["row"] != "r2"]
    part.tasks = [one for one in part.tasks if one["row"] != "r2"]
    assert refusal(part).startswith("data/draws.csv: row r2 is complete in data/rows.csv but has no draws")


def test_task_of_a_draw_that_does_not_exist_is_refused(part):
    """A graded task is of a draw that draws.csv lists."""
    part.tasks.append(task("r2", 7, "qa-1"))
    said = refusal(part)
    assert said.startswith("data/tasks.csv: row r2, draw 7: task qa-1 was graded, but data/draws.csv has no such draw")


def test_passes_are_the_tasks_that_passed(part):
    """A draw's passes are refused where tasks.csv has another number."""
    part.draws[0]["passes"] = 1
    assert refusal(part) == (
        "data/draws.csv: row y1, draw 1: passes is 1, but 2 tasks passed in data/tasks.csv; expected the same number. "
        "Correct the one that is wrong."
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"verify_steps": 0, "tokens": 0}, "found 0 verify steps in 14400.0 ms; expected both above zero"),
        ({"verify_steps": -5}, "found -5 verify steps"),
        ({"step_time_ms": 0}, "found 1000 verify steps in 0.0 ms; expected both above zero"),
        ({"tokens": 999}, "999 tokens in 1000 verify steps; expected at least one token a step"),
        ({"model_time_s": 14.3}, "its verify steps take 14.4 s, its model time is 14.3 s; expected the steps to fit"),
        ({"step_time_ms": 14_400_000}, "its verify steps take 14400 s, its model time is 15.4 s"),
    ],
)
def test_draw_that_cannot_be_is_refused(part, changed, said):
    """A draw has steps and time, at least a token a step, and a model time that its steps fit into."""
    part.draws[0].update(changed)
    assert refusal(part).startswith(f"data/draws.csv: row y1, draw 1: {said}")


def test_steps_may_fill_the_model_time(part):
    """Verify steps that take all of the model time are no contradiction."""
    part.draws[0]["model_time_s"] = 14.4
    assert len(part.data().tables["draws"]) == 14


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("rows", "state", "planned, running, complete, void"),
        ("tasks", "outcome", "pass, fail, infrastructure error"),
    ],
)
def test_unknown_word_is_refused(part, table, column, words):
    """A row's state and a task's outcome are known words."""
    getattr(part, table)[0][column] = "done"
    assert refusal(part) == f"data/{table}.csv: row y1: {column} is 'done'; expected one of {words}. Correct it."


def test_void_row_says_why(part):
    """A row is void for a reason that is given."""
    part.rows[0]["state"] = "void"
    assert refusal(part).startswith("data/rows.csv: row y1 is void, and its reason is empty; expected why")


# ---- the plan against the data


def test_arm_that_the_plan_does_not_have_is_refused(part):
    """A row is of an arm of the plan."""
    part.rows[-2]["arm"] = "rs9"
    said = refusal(part)
    assert said.startswith(
        "data/rows.csv: row r3 is of arm 'rs9'; expected one of yardstick, old, rs8. Did you mean rs8?"
    )


def test_rows_out_of_the_planned_order_are_refused(part):
    """Rows ran in the order of the plan, by their starts."""
    part.rows[3]["started"] = "2026-11-06T06:30:00Z"  # r1, now after r2
    assert refusal(part) == (
        "data/rows.csv: row r2 ran at place 1 as rs8; the plan's order has old there. "
        "Rows out of the planned order cannot be read: check the start times."
    )


def test_order_is_that_of_starts_and_not_of_lines(part):
    """The lines of rows.csv may stand in any order."""
    part.rows.reverse()
    assert len(part.data().tables["rows"]) == 7


def test_start_is_compared_across_zones(part):
    """A start with another zone counts as the moment that it is."""
    part.rows[3]["started"] = "2026-11-06T12:30:00+08:00"  # r1: 04:30Z, still the first
    assert len(part.data().tables["rows"]) == 7


def test_more_rows_than_planned_are_refused(part):
    """A row beyond the plan's order is refused: no looks, no further rows."""
    part.rows.append(row("r5", "rs8", "2026-11-06T09:00:00Z"))
    part.draws += [draw("r5", n, 14.0) for n in (1, 2)]
    part.tasks += [task("r5", n, t) for n in (1, 2) for t in ("agentic-1", "qa-1")]
    assert "row r5 ran at place 5 as rs8; the plan's order has no further row there" in refusal(part)


@pytest.mark.parametrize("count", [1, 3])
def test_row_with_another_number_of_draws_is_refused(part, count):
    """A complete row has the planned number of draws, no fewer and no more."""
    part.draws = [d for d in part.draws if (d["row"], d["draw"]) != ("r2", 2)]
    part.tasks = [t for t in part.tasks if (t["row"], t["draw"]) != ("r2", 2)]
    if count == 3:
        part.draws += [draw("r2", n, 14.0) for n in (2, 3)]
        part.tasks += [task("r2", n, t) for n in (2, 3) for t in ("agentic-1", "qa-1")]
    assert refusal(part).startswith(f"data/draws.csv: row r2 has {count} draws; the plan has 2 a row.")


def test_yardstick_rows_keep_their_own_number_of_draws(part):
    """The planned number of draws does not bind rows that ran before the plan."""
    part.draws.append(draw("y1", 3, 14.4))
    part.tasks += [task("y1", 3, t) for t in ("agentic-1", "qa-1")]
    assert len(part.data().tables["draws"]) == 15


# ---- what does not count


def void(part: Served, name: str, arm: str) -> None:
    """Nothing; the part then has a void row, whose one draw is absurd."""
    part.rows.append(row(name, arm, "2026-11-06T05:30:00Z", "void", "the host was restarted"))
    part.draws.append(draw(name, 1, 99.0, passes=2))
    part.tasks += [task(name, 1, "agentic-1", "fail"), task(name, 1, "qa-1", "fail")]
    part.power.append(sample(name, 1, 400, True))


def test_void_row_changes_no_reading(tmp_path, part):
    """A void row's draws, failed tasks and power samples count nowhere."""
    shares = {"id": "share.{row}", "kind": "stat", "table": "row_values", "each": ["row"], "column": "power_share"}
    part.readings = (*part.readings, shares | {"stat": "value"})
    before = part.read()
    void(part, "x1", "rs8")
    after = part.read()
    assert {name: after[name].to_json() for name in after} == {name: before[name].to_json() for name in before}


def test_void_row_is_no_row_of_the_order(part):
    """A void row stands outside the planned order, so its place can be run again."""
    void(part, "x1", "old")
    assert part.read()["saving.low"].value is not None


def test_void_row_may_be_absurd(part):
    """What a void row recorded is not held to what can be."""
    void(part, "x1", "rs8")
    part.draws[-1].update(verify_steps=0, step_time_ms=0)
    assert len(part.data().tables["draws"]) == 15


@pytest.mark.parametrize("state", ["planned", "running"])
def test_unfinished_row_does_not_count(part, state):
    """A row that is planned or running has no part in any reading; the planned row is missing."""
    part.rows[-1]["state"] = state
    assert part.read()["saving.low"].reason == "1 of 4 planned rows are missing"


def test_infrastructure_error_is_no_failed_task(part):
    """A task that the infrastructure broke is neither passed nor failed."""
    part.tasks = [t | {"outcome": "infrastructure error"} if t["row"] == "r2" else t for t in part.tasks]
    part.draws = [d | {"passes": 0} if d["row"] == "r2" else d for d in part.draws]
    assert part.read()["failed"].value == 0


def test_failed_task_of_the_arm_is_counted(part):
    """A failed agentic task is one failure."""
    next(t for t in part.tasks if t["row"] == "r2" and t["kind"] == "agentic")["outcome"] = "fail"
    next(d for d in part.draws if d["row"] == "r2")["passes"] = 1
    assert part.read()["failed"].value == 1


# ---- run.json, digests, files


def test_data_without_run_json_are_refused(part):
    """Data say where they come from."""
    part.run = ""
    said = refusal(part)
    assert said.startswith("data/run.json: there is no such file; expected where the data come from")
    assert '{"origin": "measured"}' in said


@pytest.mark.parametrize("text", ["{", "not JSON", '{"origin": NaN}', '{"origin": "measured", "x": Infinity}', "\x00"])
def test_run_json_that_is_no_json_is_refused(part, text):
    """run.json is JSON, and JSON knows no NaN."""
    part.run = text
    assert refusal(part).startswith("data/run.json: not JSON: ")


@pytest.mark.parametrize(
    "text", ["{}", "[]", '"measured"', '{"origin": "guessed"}', '{"origin": ["measured"]}', "null"]
)
def test_unknown_origin_is_refused(part, text):
    """Data are measured, reconstructed or stated."""
    part.run = text
    said = refusal(part)
    assert said.startswith("data/run.json: origin is ")
    assert "expected one of measured, reconstructed, stated" in said


def test_origin_is_that_of_run_json(part):
    """What run.json says of the origin is what the data say."""
    part.run = '{"origin": "stated"}'
    assert part.data().origin == "stated"


@pytest.mark.parametrize("changed", ["rows", "draws", "tasks", "power", "run"])
def test_digest_changes_with_every_file(part, changed):
    """The data's digest depends on the bytes of each table and of run.json."""
    before = part.data().digest
    if changed == "run":
        part.run += "\n"
    else:
        getattr(part, changed).reverse()
    assert part.data().digest != before


def test_missing_table_is_named_by_its_path(part):
    """A table's file that is not there is named as the plan places it."""
    part.head = HEAD.replace("data/draws.csv", "data/draw.csv")
    assert refusal(part).startswith("data/draw.csv: there is no such file; expected the records of table draws.")


def test_cell_is_named_by_path_and_line(part):
    """A wrong cell is named with the file's path below the part and its line."""
    part.draws[3]["step_time_ms"] = "nan"
    assert refusal(part).startswith("data/draws.csv:5: step_time_ms is 'nan'; expected a finite number")


def test_reading_needs_no_tasks_or_power(tmp_path):
    """A part with rows and draws alone has its readings."""
    head = HEAD.replace('tasks = "data/tasks.csv"\npower = "data/power.csv"\n', "")
    assert served(tmp_path, SAVING, DRIFT, head=head).read()["saving.low"].value is not None


def test_plan_without_tables_needs_no_data(tmp_path):
    """A plan that only states constants reads no file: what lies there counts as raw records."""
    part = served(tmp_path, head='about = "Constants"\n')
    part.readings, part.run = (), ""
    data = part.data()
    assert dict(data.tables) == {} and data.digests.keys() == data.records == {
        f"data/{name}.csv" for name in ("rows", "draws", "tasks", "power")
    }


def test_table_outside_the_part_is_refused(tmp_path):
    """Data lie with the note, so that git keeps both together."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.csv").write_text("n\n1\n")
    part = table(tmp_path / "part", {"n": "integer"}, "n\n1\n")
    part.head = part.head.replace('file = "mine.csv"', 'file = "../other/mine.csv"')
    assert "lies outside the part" in refusal(part)
