"""Whether a task's work is right: small functions of the files that are there at the end and of the answer.

A grader returns a grade for whatever the model left. What it raises is a fault of the harness, never the model's.
"""

import json
import secrets
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.engine.confinement import Limits, Refused, Scratch, run_python
from campaign.engine.tools import strict_json

Files = Mapping[str, str | None]
"""The text of every file by its path; None for what is no plain text file."""


@dataclass(frozen=True)
class Grade:
    """Whether the work is right, and if not, what is wrong with it first."""

    passed: bool
    reason: str = ""


PASSED = Grade(True)

Grader = Callable[[Files, str], Grade]


def failed(reason: str) -> Grade:
    """The grade of work that is wrong for this reason."""
    return Grade(False, reason)


def all_of(*graders: Grader) -> Grader:
    """Passes what every grader passes; the first that does not says why."""

    def grade(files: Files, answer: str) -> Grade:
        for grader in graders:
            if not (found := grader(files, answer)).passed:
                return found
        return PASSED

    return grade


def answer_is(wanted: str) -> Grader:
    """Passes this answer and no other; white space around it does not count."""

    def grade(files: Files, answer: str) -> Grade:
        return PASSED if answer.strip() == wanted else failed(f"the answer is {_short(answer)}, not {_short(wanted)}")

    return grade


def answer_holds(wanted: Mapping[str, Any]) -> Grader:
    """Passes an answer that is this JSON object: the same keys and values of the same types, in any order."""

    def grade(files: Files, answer: str) -> Grade:
        try:
            found = strict_json(answer)
        except Refused:
            return failed(f"the answer is no JSON: {_short(answer)}")
        return PASSED if _same(found, wanted) else failed(f"the answer is {_short(answer)}, not {_shown(wanted)}")

    return grade


def only_changed(before: Mapping[str, str], *paths: str) -> Grader:
    """Passes files that differ from `before` at `paths` only: none missing, none added elsewhere."""

    def grade(files: Files, answer: str) -> Grade:
        for path in sorted((set(before) | set(files)) - set(paths)):
            if path not in files:
                return failed(f"{path} is gone")
            if path not in before:
                return failed(f"{path} was added")
            if files[path] != before[path]:
                return failed(f"{path} was changed")
        return PASSED

    return grade


def file_is(path: str, wanted: str) -> Grader:
    """Passes a file with exactly this text; a line break at its end does not count."""

    def grade(files: Files, answer: str) -> Grade:
        found = files.get(path)
        if found is None:
            return failed(f"there is no text file {path}")
        return PASSED if found.removesuffix("\n") == wanted.removesuffix("\n") else failed(f"{path} holds another text")

    return grade


def json_file_is(path: str, wanted: Any) -> Grader:
    """Passes a file that holds this JSON value, however it is set; the order of keys does not count."""

    def grade(files: Files, answer: str) -> Grade:
        found = files.get(path)
        if found is None:
            return failed(f"there is no text file {path}")
        try:
            value = strict_json(found)
        except Refused as refused:
            return failed(f"{path}: {refused}")
        return PASSED if _same(value, wanted) else failed(f"{path} holds another value")

    return grade


def check_runs(source: str, limits: Limits = Limits()) -> Grader:  # noqa: B008 (frozen)
    """Passes files beside which the Python text `source` runs to its end.

    It runs confined, in a directory of its own, and the model never saw it. Its end is known by a word that is new for
    every run and printed last: a file that ends the run early, with whatever status and output, has not printed it.
    """

    def grade(files: Files, answer: str) -> Grade:
        if None in files.values():
            return failed("there is a file that is no plain text")
        word = secrets.token_hex(16)
        with tempfile.TemporaryDirectory(prefix="grading-") as folder:
            laid = {path: text for path, text in files.items() if text is not None}
            with Scratch.laid(Path(folder) / "files", laid | {CHECK: f"{source}\nprint({word!r})\n"}) as scratch:
                run = run_python(scratch, CHECK, limits)
        if run.stopped:
            return failed(f"the check was {run.stopped}")
        last = run.output.strip().rpartition("\n")[2]
        if not run.succeeded or last != word:
            return failed(f"the check did not come to its end: {_short(last)}")
        return PASSED

    return grade


CHECK = "hidden_check.py"


def _same(found: Any, wanted: Any) -> bool:
    # As text: 1, 1.0 and true are equal to Python.
    return json.dumps(found, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
