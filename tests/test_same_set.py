"""The same set: a comparison is made over the same tasks, draws and cases on both sides, or it is told what differs."""

from types import SimpleNamespace

import pytest
from tests.served import DRIFT, SAVING, VERDICT, Served, draw, served, table, task

from campaign.analysis.rule import declares, member_of
from campaign.notes.same_set import same_set

MEAN = {"kind": "stat", "table": "tasks", "column": "draw", "stat": "mean", "each": ["arm"], "id": "mean.{arm}"}
LESS = {"id": "less", "kind": "expr", "expr": "mean.rs8 - mean.old"}


def found(part: Served) -> list:
    """The comparisons of the small part that are not over the same set."""
    plan, data = part.plan(), part.data()
    place = SimpleNamespace(plan=part.folder / "plan.toml", show=lambda path: path.name)
    return list(same_set(place, SimpleNamespace(plan=plan, data=data, readings=part.read())))


@pytest.fixture
def part(tmp_path) -> Served:
    part = served(tmp_path, SAVING, DRIFT, MEAN, LESS, {"id": "failed", **COUNT}, VERDICT)
    part.draws = [one | {"passes": "", "reason": "a test changes the tasks"} for one in part.draws]
    return part


COUNT = {"kind": "stat", "table": "tasks", "where": "outcome == 'fail'", "stat": "count"}


def test_arms_that_ran_the_same_tasks_are_comparable(part):
    """Yardstick rows of another day ran the same tasks."""
    assert found(part) == []


def test_a_task_of_the_yardstick_alone_is_an_error(part):
    """Every comparison with the yardstick is told once, at the reading's line, with the task."""
    part.tasks += [task(row, n, "qa-2") for row in ("y1", "y2", "y3") for n in (1, 2)]
    one, other = found(part)
    assert (one.code, one.level, one.source, other.source) == ("set", "error", "saving.low", "drift.low")
    assert one.said == "tasks only in yardstick: qa-2"
    assert one.expected == "the same tasks on both sides, 2 of which are in both"
    assert (part.folder / "plan.toml").read_text().split("\n")[one.line - 1] == 'id = "saving.low"'
    assert one.also == ("rs8 has 2, yardstick has 3",)


def test_a_task_that_was_never_graded_in_one_arm_is_an_error(part):
    """An infrastructure error is no result: where a task has no other, that arm was never tried on it."""
    part.tasks = [
        one | {"outcome": "infrastructure error"} if one["row"] in ("r2", "r3") and one["task"] == "qa-1" else one
        for one in part.tasks
    ]
    assert "tasks only in yardstick: qa-1" in [one.said for one in found(part)]


def test_a_task_that_was_graded_in_some_draws_is_in_the_set(part):
    """One lost run takes no task out of an arm."""
    part.tasks = [
        one | {"outcome": "infrastructure error"}
        if (one["row"], one["draw"], one["task"]) == ("r2", 1, "qa-1")
        else one
        for one in part.tasks
    ]
    assert found(part) == []


def test_a_draw_of_one_arm_alone_is_a_warning(part):
    """A row counts once, however many draws it has; the third draw of the yardstick had other seeds."""
    part.draws += [draw(row, 3, 14.4) for row in ("y1", "y2", "y3")]
    part.tasks += [task(row, 3, name) for row in ("y1", "y2", "y3") for name in ("agentic-1", "qa-1")]
    told = found(part)
    assert {(one.said, one.level) for one in told} == {("draws only in yardstick: 3", "warning")}


def test_rows_that_do_not_count_have_no_tasks(part):
    """A void row's tasks are no part of its arm."""
    part.rows.append(
        part.rows[-1] | {"row": "r9", "state": "void", "reason": "a fan stood", "started": "2026-11-06T20:00:00Z"}
    )
    part.draws.append(draw("r9", 1, 14.0))
    part.tasks.append(task("r9", 1, "qa-9"))
    assert found(part) == []


CASES = {"kernel": "text", "rows": "integer", "repeat": "integer", "hot_us": "number"}
HEAD = "kernel,rows,repeat,hot_us\n"
TIME = {"id": "time.{kernel}", "kind": "stat", "table": "mine", "each": ["kernel"], "column": "hot_us", "stat": "mean"}
KEY = 'key = ["kernel", "rows", "repeat"]\n'


def timed(folder, cases: str, expression: str = "time.a / time.b", **more: object) -> list:
    """What is told of a ratio of two kernels' mean times."""
    said = {"id": "ratio", "kind": "expr", "expr": expression} | more
    part = table(folder, CASES, HEAD + cases, TIME, said)
    part.head = part.head.replace("columns =", f"{KEY}columns =")
    part.tasks = part.draws = part.rows = part.power = []
    return found(part)


SAME = "a,1,1,3.0\na,8,1,4.0\nb,1,1,5.0\nb,8,1,6.0\n"


def test_two_kernels_timed_in_the_same_cases_are_comparable(tmp_path):
    """A repeat is no case of its own."""
    assert timed(tmp_path, SAME + "a,8,2,4.1\n") == []


@pytest.mark.parametrize("expression", ["time.a / time.b", "1 - time.b / time.a", "100 * (time.a - time.b)"])
def test_a_ratio_over_other_cases_is_an_error(tmp_path, expression):
    """The cases that one kernel alone was timed in are named, whichever way the two are compared."""
    (one,) = timed(tmp_path, SAME + "a,32,1,9.0\na,64,1,19.0\n", expression)
    assert (one.code, one.level, one.source) == ("set", "error", "ratio")
    assert one.said == "rows only in kernel a: 32, 64"


def test_a_comparison_that_is_declared_over_different_sets_is_taken(tmp_path):
    """The plan says so in the reading's reason."""
    assert timed(tmp_path, SAME + "a,32,1,9.0\n", because="over different sets: b cannot do 32 rows") == []


@pytest.mark.parametrize("expression", ["time.a + time.b", "max(time.a, time.b)", "time.a * 2"])
def test_what_is_no_difference_and_no_ratio_is_left_alone(tmp_path, expression):
    """A sum of two kernels' times compares nothing."""
    assert timed(tmp_path, SAME + "a,32,1,9.0\n", expression) == []


def test_another_name_of_a_figure_is_that_figure(tmp_path):
    """A reading whose expression is a figure brings its records along."""
    part = table(
        tmp_path,
        CASES,
        f"{HEAD}{SAME}a,32,1,9.0\n",
        TIME,
        {"id": "first", "kind": "expr", "expr": "time.a"},
        {"id": "ratio", "kind": "expr", "expr": "first / time.b"},
    )
    part.head = part.head.replace("columns =", f"{KEY}columns =")
    part.tasks = part.draws = part.rows = part.power = []
    assert [one.said for one in found(part)] == ["rows only in kernel a: 32"]


def test_figures_that_choose_by_the_case_itself_compare_it(tmp_path):
    """One row against eight is a comparison of these two cases."""
    one, eight = ({"id": f"at.{n}", "kind": "stat", "table": "mine", "where": f"rows == {n}"} for n in (1, 8))
    figure = {"column": "hot_us", "stat": "mean"}
    said = {"id": "ratio", "kind": "expr", "expr": "at.8 / at.1"}
    part = table(tmp_path, CASES, f"{HEAD}{SAME}", one | figure, eight | figure, said)
    part.head = part.head.replace("columns =", f"{KEY}columns =")
    part.tasks = part.draws = part.rows = part.power = []
    assert found(part) == []


@pytest.mark.parametrize(
    ("declared", "name", "member"),
    [
        ("row.{row}", "row.0425", {"row": "0425"}),
        ("quality.{task}.{arm}", "quality.qa_remote.rs8", {"task": "qa_remote", "arm": "rs8"}),
        ("gain.{0}.low", "gain.512.8.low", {"0": "512.8"}),
        ("saving", "saving", {}),
        ("row.{row}", "row.0425.lo", None),
        ("row.{row}", "row", None),
        ("a.b", "axb", None),
    ],
)
def test_member_of_a_declaration(declared, name, member):
    """What stands in the braces is one part of an id; what is made for other readings takes their parts over."""
    assert member_of(declared, name) == member
    assert declares(declared, name) is (member is not None)
