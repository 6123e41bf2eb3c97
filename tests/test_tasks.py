"""The six tasks: their graders with right and wrong work."""

import json
from pathlib import Path

import pytest

from campaign.engine.agent import TaskOutcome, run_task
from campaign.engine.benchmark.task import Task
from campaign.engine.confinement import Limits
from campaign.engine.contract import Generation, Request
from campaign.engine.grading import PASSED, answer_holds, answer_is, check_runs, json_file_is
from campaign.engine.tasks import TASKS

BY_NAME = {task.name: task for task in TASKS}
WRONG = [pytest.param(task, said, id=f"{task.name}: {name}") for task in TASKS for name, said in task.wrong.items()]
REFERENCES = {}


class Says:
    """An engine that says what it was given, turn by turn."""

    def __init__(self, said: tuple[str, ...]) -> None:
        self.said = list(said)
        self.requests: list[Request] = []

    def describe(self) -> dict:
        return {"name": "says"}

    def generate(self, request: Request) -> Generation:
        self.requests.append(request)
        return Generation(self.said.pop(0), (), 0, (), 0, "stop")

    def stop(self) -> None:
        pass


def worked(task: Task, said: tuple[str, ...], tmp_path: Path) -> TaskOutcome:
    """What comes of a model that says this."""
    assert len(said) == len(task.turns), "one text for each turn"
    return run_task(Says(said), task, 1, tmp_path)


def reference(name: str, tmp_path: Path) -> TaskOutcome:
    """The outcome of a task's reference solution, worked once."""
    if name not in REFERENCES:
        REFERENCES[name] = worked(BY_NAME[name], BY_NAME[name].reference, tmp_path)
    return REFERENCES[name]


every_task = pytest.mark.parametrize("name", BY_NAME)


@every_task
def test_reference_passes(name, tmp_path):
    """Work that does everything right passes, every tool call of it carried out."""
    outcome = reference(name, tmp_path)
    assert (outcome.outcome, outcome.reason) == ("pass", "")
    assert not any(turn.tool_failed for turn in outcome.turns)


@pytest.mark.parametrize(("task", "said"), WRONG)
def test_wrong_work_fails(task, said, tmp_path):
    """Wrong work is a fail with a reason, never a pass and never an infrastructure error."""
    outcome = worked(task, said, tmp_path)
    assert outcome.outcome == "fail"
    assert outcome.reason


@every_task
def test_a_file_too_many_fails(name, tmp_path):
    """The right files and answer beside a file that nobody asked for are a fail."""
    task, outcome = BY_NAME[name], reference(name, tmp_path)
    assert task.grade({**outcome.files, "notes.txt": "done\n"}, outcome.answer).reason == "notes.txt was added"


@every_task
def test_a_missing_file_fails(name, tmp_path):
    """The right answer without any one of the files is a fail."""
    task, outcome = BY_NAME[name], reference(name, tmp_path)
    for path in outcome.files:
        left = {other: text for other, text in outcome.files.items() if other != path}
        assert not task.grade(left, outcome.answer).passed


@every_task
def test_a_link_in_place_of_a_file_fails(name, tmp_path):
    """What is no plain text file counts as wrong work."""
    task, outcome = BY_NAME[name], reference(name, tmp_path)
    for path in outcome.files:
        assert not task.grade({**outcome.files, path: None}, outcome.answer).passed


@every_task
def test_doing_nothing_fails(name):
    """The files as they were laid fail with the right answer too, where the task is to change them."""
    task = BY_NAME[name]
    if task.kind == "agentic":
        assert not task.grade(task.files, task.reference[-1]).passed


@every_task
@pytest.mark.parametrize(
    "answer", ["", " ", "\0", "{", "[]", "null", "NaN", "{}", "\ud800", "[" * 100_000, "9" * 5000, "﻿{}"]
)
def test_any_answer_is_graded(name, answer, tmp_path):
    """A grader fails nonsense; it does not raise."""
    assert not BY_NAME[name].grade(reference(name, tmp_path).files, answer).passed


@every_task
def test_graders_are_deterministic(name, tmp_path):
    """The same work gets the same grade each time."""
    task, outcome = BY_NAME[name], reference(name, tmp_path)
    assert {task.grade(outcome.files, outcome.answer) for _ in range(3)} == {PASSED}
    assert len({task.grade(task.files, "") for _ in range(3)}) == 1


@every_task
def test_prompts_fit(name, tmp_path):
    """The whole conversation, every turn as long as it may be, stays below 1,500 tokens of four characters."""
    task, outcome = BY_NAME[name], reference(name, tmp_path)
    said_by_others = sum(len(message.content) for message in outcome.transcript if message.role != "assistant")
    assert said_by_others / 4 + sum(turn.max_tokens for turn in task.turns) < 1500


@every_task
def test_references_fit_their_turns(name):
    """A turn has room for its reference with a third to spare, at three characters a token."""
    task = BY_NAME[name]
    for turn, said in zip(task.turns, task.reference, strict=True):
        assert len(said) / 3 <= turn.max_tokens * 0.75


@every_task
def test_references_follow_their_schemas(name):
    """What the reference says is what the schema of its turn admits: its keys in order, its types, its lengths."""
    task = BY_NAME[name]
    for turn, said in zip(task.turns, task.reference, strict=True):
        if turn.schema is not None:
            assert follows(json.loads(said), turn.schema)


def follows(value, schema) -> bool:
    """Whether a value follows a schema, of which every keyword is known."""
    assert set(schema) <= {"type", "enum", "properties", "required", "additionalProperties", "maxLength"}
    if schema["type"] == "object":
        return list(value) == schema["required"] == list(schema["properties"]) and all(
            follows(value[key], below) for key, below in schema["properties"].items()
        )
    kinds = {"string": str, "integer": int}
    fits = schema["type"] != "string" or len(value) <= schema.get("maxLength", len(value))
    return type(value) is kinds[schema["type"]] and fits and value in schema.get("enum", [value])


def test_the_benchmark_has_six_tasks():
    """Four tasks are agentic and call tools, two answer questions; each has at least three wrong solutions."""
    assert len(BY_NAME) == len(TASKS) == 6
    assert sorted(task.kind for task in TASKS) == ["agentic"] * 4 + ["qa"] * 2
    for task in TASKS:
        assert len(task.wrong) >= 3
        assert any(turn.tool for turn in task.turns) == (task.kind == "agentic")


def test_exact_answers_are_exact():
    """White space around an answer does not count; whatever else is there does."""
    grade = answer_is("four")
    assert grade({}, " four\n").passed
    for answer in ("four.", "Four", "four four", "'four'", "fo ur", "the answer is four", "four\u200b"):
        assert not grade({}, answer).passed


@pytest.mark.parametrize("answer", ['{"n": 1.0}', '{"n": true}', '{"n": "1"}', '{"n": 1, "n": 1}', '{"n": 1} ok', "1"])
def test_json_answers_are_compared_by_type(answer):
    """1.0, true and "1" are not 1, and a key given twice is wrong."""
    assert answer_holds({"n": 1})({}, '{"n": 1}').passed
    assert not answer_holds({"n": 1})({}, answer).passed


def test_the_order_of_keys_does_not_count():
    """A JSON file is compared by its value."""
    assert json_file_is("a.json", {"a": 1, "b": 2})({"a.json": '{"b":2,"a":1}'}, "").passed


@pytest.mark.parametrize(
    "source",
    [
        "raise SystemExit(0)",
        "import os\nos._exit(0)",
        "import sys\nsys.modules['__main__'].__dict__.clear()\nraise SystemExit(0)",
        "open('hidden_check.py', 'w').write('')",
        "import time\ntime.sleep(60)",
        "while True: pass",
        "print('x' * 100_000)",
    ],
)
def test_a_check_that_is_cut_short_fails(source):
    """A file that ends, stops or floods the check does not pass it."""
    check = "import part\nassert part"
    assert check_runs(check)({"part.py": "x = 1\n"}, "").passed
    assert not check_runs(check, Limits(wall_seconds=0.5))({"part.py": source}, "").passed


def test_names_tell_nothing_of_results():
    """A task's name is lower-case words and hyphens."""
    assert all(name.replace("-", "").isalpha() and name.islower() for name in BY_NAME)
