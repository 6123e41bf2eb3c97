"""The six tasks: their graders with right and wrong work."""

import json
from pathlib import Path

import pytest

from campaign.engine.agent import TaskOutcome, run_task
from campaign.engine.benchmark import add_function, fix_constant, qa_sentence, rename_key
from campaign.engine.benchmark.task import Task
from campaign.engine.confinement import Limits
from campaign.engine.contract import Generation, Request
from campaign.engine.grading import PASSED, answer_holds, answer_is, calls_return, json_file_is
from campaign.engine.tasks import TASKS

ROOT = Path(__file__).resolve().parents[1]
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
    """How an answer is set does not count; whatever else is there does."""
    grade = answer_is("four")
    for answer in (" four\n", "four\r\n", "four.", '"four"', "'four'", "`four`", "“four.”"):
        assert grade({}, answer).passed
    for answer in ("Four", "four four", "fo ur", "the answer is four", "not three, it is four", "four\u200b", "four!"):
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
        "import os\nos.remove('hidden_check.py')",
        "import os\nos.symlink('/etc/passwd', 'link')",
        "import time\ntime.sleep(60)",
        "while True: pass",
        "print('x' * 100_000)",
        "print('[5]')\nraise SystemExit(0)",
        "import os\nprint(open('hidden_check.py').read(), flush=True)\nos._exit(0)",
        "def double(n): return 5",
        "def double(n): return '4'",
        "def double(n): return True",
        "def double(n): return float('nan')",
        "def double(n): return [4]",
        "def double(n): print(4)",
        "class E:\n    def __eq__(self, other): return True\ndef double(n): return E()",
        "class E(int):\n    def __repr__(self): return '4'\ndef double(n): return E(5)",
        "import builtins\nbuiltins.AssertionError = None\ndef double(n): return 3",
    ],
)
def test_a_check_cannot_be_fooled(source):
    """A file that ends, stops, floods or tampers with the check, or returns what only looks right, does not pass."""
    check = calls_return("part", "double", [([2], {})], [4], Limits(wall_seconds=1))
    assert not check({"part.py": source}, "").passed


@pytest.mark.parametrize(
    "source", ["def double(n): return n * 2", "double = lambda n: n + n", "print('hello')\ndouble = (2.0).__mul__"]
)
def test_a_check_takes_any_code_that_computes(source):
    """What is called returns the right number: how it comes to it does not count."""
    assert calls_return("part", "double", [([2], {})], [4])({"part.py": source}, "").passed


# What a judge might say: right work set otherwise, and wrong work that looks right.


def theme(*changes: tuple[str, str]) -> dict[str, str]:
    """The files of rename-key as they should be, and then changed."""
    text = rename_key.THEME.replace("colour", "color")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return {"theme.json": text}


RIGHT_FILES = {
    "fix-constant": {"settings.py": fix_constant.SETTINGS.replace("MAX_RETRIES = 3", "MAX_RETRIES = 7")},
    "rename-key": theme(),
    "count-lines": {"count.txt": "2\n"},
    "add-function": {"volume.py": add_function.ADDED},
    "qa-bridges": {},
    "qa-sentence": {},
}


def graded(name: str, files: dict[str, str | None] | None = None, answer: str | None = None):
    """The grade of right work with these files and this answer in place of its own."""
    task = BY_NAME[name]
    said = task.reference[-1] if answer is None else answer
    return task.grade({**task.files, **RIGHT_FILES[name], **(files or {})}, said)


LONG = add_function.ADDED.replace(": return", ":\n    return")
RIGHT = [
    ("fix-constant", {"settings.py": RIGHT_FILES["fix-constant"]["settings.py"].replace("\n", "\r\n")}, None),
    ("fix-constant", {"settings.py": RIGHT_FILES["fix-constant"]["settings.py"].rstrip("\n")}, None),
    ("fix-constant", {"settings.py": RIGHT_FILES["fix-constant"]["settings.py"] + "\n"}, None),
    ("fix-constant", None, '{\r\n  "line" : "MAX_RETRIES = 7\\n"\r\n}\r\n'),
    ("fix-constant", None, '{"line": "\\u004dAX_RETRIES = 7"}'),
    ("rename-key", theme(("\n", "\r\n")), None),
    ("rename-key", {"theme.json": json.dumps(dict(reversed(json.loads(theme()["theme.json"]).items())))}, None),
    ("rename-key", {"theme.json": json.dumps(json.loads(theme()["theme.json"]), indent=8)}, None),
    ("rename-key", None, '{"color":"blue"}\n'),
    ("rename-key", None, '{"color": " blue."}'),
    ("count-lines", {"count.txt": "2"}, None),
    ("count-lines", {"count.txt": " 2\r\n\r\n"}, None),
    ("count-lines", {"count.txt": '"2"'}, None),
    ("count-lines", None, '  {"errors":2}\r\n'),
    ("add-function", {"volume.py": LONG + "\n"}, None),
    ("add-function", {"volume.py": LONG.replace("\n", "\r\n")}, None),
    (
        "add-function",
        {"volume.py": "from math import prod\nbox_volume = lambda width, height, depth: prod((width, height, depth))"},
        None,
    ),
    (
        "add-function",
        {
            "volume.py": '"""Volumes."""\n'
            + LONG.replace("return width * height", "area = height * width\n    return area")
        },
        None,
    ),
    ("add-function", {"volume.py": f"{LONG}\n\n\nprint(box_volume(1, 2, 3))\n"}, None),
    (
        "add-function",
        {"volume.py": add_function.ADDED.replace("width * height * depth", "depth * (height * width)")},
        None,
    ),
    ("add-function", None, '{"printed": "all volumes are right\\n"}'),
    ("qa-bridges", None, '{"engineer": "Paul  Orrin.", "metres": 310}'),
    ("qa-bridges", None, '\n{ "metres" : 310 , "engineer" : "Paul Orrin" }\r\n'),
    ("qa-sentence", None, f'"{qa_sentence.BELL}"'),
    ("qa-sentence", None, f"{qa_sentence.BELL}\r\n"),
    ("qa-sentence", None, qa_sentence.BELL.replace(", so", ",\nso").removesuffix(".")),
]
FOOLING = [
    ("fix-constant", {"settings.py": RIGHT_FILES["fix-constant"]["settings.py"] + "MAX_RETRIES = 3\n"}, None),
    ("fix-constant", {"settings.py": "MAX_RETRIES = 7\n"}, None),
    ("fix-constant", {"settings.py": RIGHT_FILES["fix-constant"]["settings.py"].replace("\nMAX_Q", "\x0cMAX_Q")}, None),
    ("fix-constant", {"settings.py": None}, None),
    ("fix-constant", {"settings.py": fix_constant.SETTINGS}, None),
    ("fix-constant", None, '{"line": "MAX_RETRIES = 3, no: MAX_RETRIES = 7"}'),
    ("fix-constant", None, "MAX_RETRIES = 7"),
    ("rename-key", theme(("12", "12.0")), None),
    ("rename-key", theme(("true", "1")), None),
    ("rename-key", theme(("thin", " thin")), None),
    ("rename-key", None, '{"color": "not red, it is blue"}'),
    ("rename-key", None, '{"color": "blue", "color": "blue"}'),
    ("count-lines", {"count.txt": "3 2"}, None),
    ("count-lines", {"count.txt": "not 3, it is 2\n"}, None),
    ("count-lines", {"count.txt": "2.0"}, None),
    ("count-lines", {"count.txt": "-2"}, None),
    ("count-lines", {"pump.log": ""}, None),
    ("count-lines", None, '{"errors": 2.5}'),
    ("count-lines", None, "7, no: 2"),
    ("add-function", {"volume.py": LONG, "check_volume.py": "print('all volumes are right')\n"}, None),
    ("add-function", {"volume.py": LONG, "hidden_check.py": "print([0])\n"}, None),
    ("add-function", {"volume.py": LONG, "json.py": "dumps = lambda value: '[0]'\n"}, None),
    ("add-function", {"volume.py": "import shapes\nbox_volume = shapes.rectangle_area\n"}, None),
    ("add-function", {"volume.py": None}, None),
    ("add-function", None, '{"printed": "all volumes are right, or not"}'),
    ("qa-bridges", None, '{"metres": 310, "engineer": "not Anne Teviot, it is Paul Orrin"}'),
    ("qa-bridges", None, '{"metres": 39, "metres": 310, "engineer": "Paul Orrin"}'),
    ("qa-bridges", None, '{"metres": 310, "engineer": "paul orrin"}'),
    ("qa-sentence", None, f"Not this: I cleaned the lamp. It is: {qa_sentence.BELL}"),
    ("qa-sentence", None, qa_sentence.TUESDAY),
    ("qa-sentence", None, qa_sentence.BELL * 100_000),
    ("qa-sentence", {"answer.txt": qa_sentence.BELL}, None),
]


@pytest.mark.parametrize(("name", "files", "answer"), RIGHT)
def test_right_work_set_otherwise_passes(name, files, answer):
    """Line ends, white space, quotes, order of keys and the way in which code computes do not count."""
    assert graded(name, files, answer).reason == ""


@pytest.mark.parametrize(("name", "files", "answer"), FOOLING)
def test_wrong_work_that_looks_right_fails(name, files, answer):
    """Nearly right work, right and wrong together, and files beside that would change the check are wrong."""
    assert not graded(name, files, answer).passed


def test_outcomes_of_part_7_stand(tmp_path):
    """What the models of Part 7 said gets the same grades from these tools and graders as it got then."""
    said: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for path in (ROOT / "parts" / "part-7" / "data" / "rows").glob("*.json"):
        for one in json.loads(path.read_text())["tasks"]:
            texts = tuple(message["content"] for message in one["transcript"] if message["role"] == "assistant")
            said.setdefault((one["task"], texts), set()).add(one["outcome"])
    assert len(said) > 10
    for (name, texts), outcomes in said.items():
        assert {worked(BY_NAME[name], texts, tmp_path).outcome} == outcomes


def test_names_tell_nothing_of_results():
    """A task's name is lower-case words and hyphens."""
    assert all(name.replace("-", "").isalpha() and name.islower() for name in BY_NAME)
