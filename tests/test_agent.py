"""Driving an engine through a task."""

import json
import time
from pathlib import Path

import pytest

from campaign.engine import agent
from campaign.engine.agent import run_task, turn_seed
from campaign.engine.benchmark.task import Task, Turn
from campaign.engine.contract import Generation, Request, Step
from campaign.engine.grading import PASSED, all_of, answer_is, failed, file_is
from campaign.engine.records import OUTCOMES
from campaign.engine.tools import READ_FILE, RUN_PYTHON, WRITE_FILE


def call(tool, **arguments: str) -> str:
    return json.dumps({"name": tool.name, "arguments": arguments})


TASK = Task(
    name="copy-note",
    kind="agentic",
    system="system",
    files={"note.txt": "hello\n", "loop.py": "while True: pass\n"},
    turns=(
        Turn("read", 40, READ_FILE),
        Turn("write", 60, WRITE_FILE),
        Turn("answer", 10),
    ),
    grade=all_of(file_is("copy.txt", "hello"), answer_is("hello")),
    reference=(
        call(READ_FILE, path="note.txt"),
        call(WRITE_FILE, path="copy.txt", content="hello\n"),
        "hello",
    ),
    wrong={},
)


class Scripted:
    """An engine that says its script, two steps a generation; an exception in the script is raised."""

    def __init__(self, *script: str | BaseException, finish: str = "stop") -> None:
        self.script = list(script)
        self.finish = finish
        self.requests: list[Request] = []

    def describe(self) -> dict:
        return {"name": "scripted"}

    def generate(self, request: Request) -> Generation:
        self.requests.append(request)
        said = self.script.pop(0)
        if isinstance(said, BaseException):
            raise said
        now = time.monotonic_ns()
        steps = (Step(now, now + 10, 4, 2, 3), Step(now + 10, now + 20, 0, 0, 1))
        return Generation(said, (1, 2, 3, 4), 50, steps, 1000, self.finish)

    def stop(self) -> None:
        pass


def changed(**fields) -> Task:
    """The task with other fields."""
    return Task(**{**TASK.__dict__, **fields})


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path):
    """After a task its directory is gone."""
    yield
    assert list(tmp_path.iterdir()) == []


def test_every_message_is_handed_on(tmp_path):
    """Each request holds the conversation so far, the results of the tools among it."""
    engine = Scripted(*TASK.reference)
    outcome = run_task(engine, TASK, 1, tmp_path)
    assert outcome.outcome == "pass"
    assert [message.role for message in outcome.transcript] == [
        *("system", "user", "assistant", "tool"),
        *("user", "assistant", "tool", "user", "assistant"),
    ]
    assert outcome.transcript[3].content == "hello\n"
    assert [len(request.messages) for request in engine.requests] == [2, 5, 8]
    assert tuple(engine.requests[2].messages) == outcome.transcript[:8]


def test_calls_are_constrained_and_answers_free(tmp_path):
    """A turn with a tool asks for its schema; each turn asks for its number of tokens."""
    engine = Scripted(*TASK.reference)
    run_task(engine, TASK, 1, tmp_path)
    assert [request.schema for request in engine.requests] == [READ_FILE.schema, WRITE_FILE.schema, None]
    assert [request.max_tokens for request in engine.requests] == [40, 60, 10]


def test_steps_carry_their_turn(tmp_path):
    """Every step of every generation is kept with the turn it belongs to, in order."""
    outcome = run_task(Scripted(*TASK.reference), TASK, 1, tmp_path)
    assert [(step.turn, step.step) for step in outcome.steps] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert sum(step.times.emitted for step in outcome.steps) == 12


def test_times_are_in_order(tmp_path):
    """The task's times hold those of its turns, which follow each other."""
    outcome = run_task(Scripted(*TASK.reference), TASK, 1, tmp_path)
    times = [outcome.started_ns]
    for turn in outcome.turns:
        times += [turn.started_ns, turn.ended_ns, turn.ended_ns + turn.tool_ns]
    times.append(outcome.ended_ns)
    assert times == sorted(times)


def test_each_turn_has_its_seed(tmp_path):
    """A seed gives the same seeds each time, and no two turns, tasks or seeds share one."""
    engine = Scripted(*TASK.reference)
    run_task(engine, TASK, 5, tmp_path, temperature=0.7)
    seeds = [request.seed for request in engine.requests]
    assert seeds == [turn_seed(5, "copy-note", turn) for turn in range(3)]
    assert len({*seeds, *(turn_seed(6, "copy-note", turn) for turn in range(3)), turn_seed(5, "other", 0)}) == 7
    assert {request.temperature for request in engine.requests} == {0.7}


def test_a_bad_call_is_told_and_the_task_goes_on(tmp_path):
    """A call that cannot be carried out is an error result; the turns after it are asked for all the same."""
    script = (call(READ_FILE, path="../note.txt"), '{"name": "write_fi', "hello")
    outcome = run_task(Scripted(*script), TASK, 1, tmp_path)
    assert outcome.outcome == "fail"
    assert [turn.tool_failed for turn in outcome.turns] == [True, True, False]
    assert outcome.transcript[3].content.startswith("error: ")


def test_a_looping_tool_is_an_error_result(tmp_path):
    """A file that does not end is stopped, the model is told, and the task ends with its grade."""
    task = changed(turns=(Turn("run", 20, RUN_PYTHON), Turn("answer", 10)), grade=answer_is("stopped"))
    script = (call(RUN_PYTHON, path="loop.py"), "stopped")
    outcome = run_task(Scripted(*script), task, 1, tmp_path)
    assert outcome.outcome == "pass"
    assert outcome.turns[0].tool_failed
    assert "error: loop.py was stopped after 1 s" in outcome.transcript[3].content


def test_a_tool_that_writes_elsewhere_fails(tmp_path):
    """A written file that writes outside when it runs changes nothing, and the model sees the error."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside.txt"
    task = changed(turns=(Turn("write", 60, WRITE_FILE), Turn("run", 20, RUN_PYTHON)), grade=lambda *_: PASSED)
    content = f"open({str(outside)!r}, 'w').write('x')\n"
    script = (call(WRITE_FILE, path="a.py", content=content), call(RUN_PYTHON, path="a.py"))
    outcome = run_task(Scripted(*script), task, 1, tmp_path)
    assert "not allowed here" in outcome.turns[1].result
    assert not outside.exists()


@pytest.mark.parametrize("error", [RuntimeError("boom"), MemoryError(), TimeoutError("no answer")])
def test_what_the_engine_raises_is_an_infrastructure_error(tmp_path, error):
    """An exception of the engine is never a fail; what was done before it is kept."""
    outcome = run_task(Scripted(TASK.reference[0], error), TASK, 1, tmp_path)
    assert outcome.outcome == "infrastructure error"
    assert outcome.reason == f"turn 1: {type(error).__name__}: {error}"
    assert len(outcome.turns) == 1


def test_a_broken_contract_is_an_infrastructure_error(tmp_path):
    """A generation that did not end in a known way is the engine's fault."""
    outcome = run_task(Scripted(*TASK.reference, finish="abort"), TASK, 1, tmp_path)
    assert outcome.outcome == "infrastructure error"
    assert "abort" in outcome.reason


def test_what_a_tool_raises_is_an_infrastructure_error(tmp_path, monkeypatch):
    """A full disk under a tool is not the model's mistake."""

    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(agent.Scratch, "read", no_space)
    outcome = run_task(Scripted(*TASK.reference), TASK, 1, tmp_path)
    assert (outcome.outcome, outcome.reason[:15]) == ("infrastructure error", "turn 0: OSError")


def test_a_folder_that_is_not_there_is_an_infrastructure_error(tmp_path):
    """Where no directory can be made, no generation is asked for."""
    engine = Scripted(*TASK.reference)
    assert run_task(engine, TASK, 1, tmp_path / "none").outcome == "infrastructure error"
    assert engine.requests == []


@pytest.mark.parametrize("grade", [lambda files, answer: files["no such file"], lambda files, answer: True])
def test_a_grader_that_breaks_is_an_infrastructure_error(tmp_path, grade):
    """A grader that raises, or returns no grade, grades nothing."""
    outcome = run_task(Scripted(*TASK.reference), changed(grade=grade), 1, tmp_path)
    assert outcome.outcome == "infrastructure error"
    assert outcome.reason.startswith("grading: ")
    assert len(outcome.turns) == 3


def test_a_fail_says_why(tmp_path):
    """The grader's reason is the outcome's."""
    outcome = run_task(Scripted(*TASK.reference), changed(grade=lambda *_: failed("too short")), 1, tmp_path)
    assert (outcome.outcome, outcome.reason) == ("fail", "too short")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interruption_passes_through(tmp_path, stop):
    """Ctrl-C ends the draw, and the directory is removed all the same."""
    with pytest.raises(stop):
        run_task(Scripted(TASK.reference[0], stop()), TASK, 1, tmp_path)


def test_the_same_work_leaves_the_same_record(tmp_path):
    """Two runs of one script differ in their times alone: no name of a directory gets into the transcript."""
    task = changed(turns=(*TASK.turns, Turn("run", 20, RUN_PYTHON)), grade=lambda *_: PASSED)
    script = (
        TASK.reference[0],
        call(WRITE_FILE, path="a.py", content="import os\n1 / 0\n"),
        "",
        call(RUN_PYTHON, path="a.py"),
    )
    first, second = (run_task(Scripted(*script), task, 1, tmp_path) for _ in range(2))
    assert first.transcript == second.transcript
    assert first.files == second.files
    assert "ZeroDivisionError" in first.turns[3].result


def test_outcomes_are_those_of_the_records():
    """The three outcomes are the ones that a table of tasks may hold."""
    assert (agent.PASS, agent.FAIL, agent.INFRASTRUCTURE_ERROR) == OUTCOMES


def test_the_answer_is_the_last_turn(tmp_path):
    """What is graded is the last text and the files at the end; both are kept."""
    outcome = run_task(Scripted(*TASK.reference), TASK, 1, tmp_path)
    assert outcome.answer == "hello"
    assert outcome.files == {**TASK.files, "copy.txt": "hello\n"}
