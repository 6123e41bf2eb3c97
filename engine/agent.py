"""Drives an engine through one task: what is asked, what the model says, what its tool calls do, how it is graded.

The order of the tools is the task's; the arguments are the model's. A call that cannot be carried out is told
to the model as an error, and the task goes on, so that every draw asks for the same turns.
"""

import shutil
import tempfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

from campaign.engine.benchmark.task import Task
from campaign.engine.confinement import Limits, Scratch
from campaign.engine.contract import Engine, Generation, Message, Request, Step
from campaign.engine.grading import Files, Grade

PASS = "pass"
FAIL = "fail"
INFRASTRUCTURE_ERROR = "infrastructure error"


@dataclass(frozen=True)
class TurnRecord:
    """One generation of a task, and what its tool call did."""

    turn: int
    """From 0 on."""
    generation: Generation
    started_ns: int
    """Before the request; this clock and that of the steps are the same monotonic one."""
    ended_ns: int
    tool: str | None
    result: str | None
    """What the model was told after its call; None where the turn asks for no call."""
    tool_failed: bool
    tool_ns: int
    """Time that the call took."""


@dataclass(frozen=True)
class TurnStep:
    """One forward pass, and where in the task it belongs."""

    turn: int
    step: int
    """From 0 on within the turn."""
    times: Step


@dataclass(frozen=True)
class TaskOutcome:
    """What came of one task of one draw."""

    task: str
    kind: str
    outcome: str
    """pass, fail or infrastructure error."""
    reason: str
    """What is wrong; empty for a pass."""
    seed: int
    transcript: tuple[Message, ...]
    """Every message that was made, in order; with an infrastructure error up to there."""
    turns: tuple[TurnRecord, ...]
    files: Files
    """The scratch directory at the end; empty where the task did not get so far."""
    answer: str
    """The text of the last turn."""
    started_ns: int
    ended_ns: int

    @property
    def steps(self) -> tuple[TurnStep, ...]:
        """Every step of every turn, in order."""
        return tuple(
            TurnStep(turn.turn, number, step)
            for turn in self.turns
            for number, step in enumerate(turn.generation.steps)
        )


class EngineFault(Exception):
    """The engine raised, or did not keep its contract."""


def run_task(
    engine: Engine,
    task: Task,
    seed: int,
    scratch: Path,
    *,
    temperature: float = 0.0,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
) -> TaskOutcome:
    """The outcome of `task`, worked on in a new directory inside the folder `scratch`, which is removed again.

    Nothing that the model says raises. What the engine, the tools' harness or a grader raises is an infrastructure
    error; KeyboardInterrupt and SystemExit pass through, the directory removed.
    """
    started = time.monotonic_ns()
    transcript: list[Message] = []
    turns: list[TurnRecord] = []
    files: Files = {}
    answer = ""
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{task.name}-", dir=scratch))
        # Code that a tool runs is an unprivileged user's.
        folder.chmod(0o711)
        with Scratch.laid(folder / "files", task.files) as directory:
            transcript.append(Message("system", task.system))
            for number, turn in enumerate(task.turns):
                transcript.append(Message("user", turn.ask))
                request = Request(
                    tuple(transcript), turn.max_tokens, turn.schema, temperature, turn_seed(seed, task.name, number)
                )
                began = time.monotonic_ns()
                generation = _generate(engine, request)
                ended = time.monotonic_ns()
                answer = generation.text
                transcript.append(Message("assistant", answer))
                result = None
                if turn.tool:
                    result = turn.tool.call(directory, answer, limits)
                    transcript.append(Message("tool", result.text))
                turns.append(
                    TurnRecord(
                        number,
                        generation,
                        began,
                        ended,
                        turn.tool.name if turn.tool else None,
                        result.text if result else None,
                        result.failed if result else False,
                        time.monotonic_ns() - ended if turn.tool else 0,
                    )
                )
            files = directory.files()
        grade = task.grade(files, answer)
        if not isinstance(grade, Grade):
            raise TypeError(f"the grader of {task.name} returned {grade!r}; expected a Grade")
        outcome, reason = (PASS, "") if grade.passed else (FAIL, grade.reason)
    except Exception as error:
        where = f"turn {len(turns)}" if len(turns) < len(task.turns) else "grading"
        outcome, reason = INFRASTRUCTURE_ERROR, f"{where}: {type(error).__name__}: {error}"
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
    return TaskOutcome(
        task.name,
        task.kind,
        outcome,
        reason,
        seed,
        tuple(transcript),
        tuple(turns),
        files,
        answer,
        started,
        time.monotonic_ns(),
    )


def turn_seed(seed: int, task: str, turn: int) -> int:
    """The seed of one generation: no two turns of a draw share their random numbers."""
    return zlib.crc32(f"{seed} {task} {turn}".encode())


def _generate(engine: Engine, request: Request) -> Generation:
    generation = engine.generate(request)
    if not isinstance(generation.text, str) or generation.finish not in ("stop", "length"):
        raise EngineFault(
            f"the engine returned a {type(generation.text).__name__} that finished by {generation.finish!r}; "
            "expected text that finished by stop or length"
        )
    return generation
