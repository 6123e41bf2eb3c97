"""Whether a task's work is right: small functions of the files that are there at the end and of the answer.

A grader returns a grade for whatever the model left. What it raises is a fault of the harness, never the model's.

Answers and files are compared whole: a sentence around the right word, or the right one beside a wrong one, is wrong.
What does not count is how a text is set: white space around and within it, quotes around it, a full stop at its end,
line ends in a file, the order and layout of JSON.
"""

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
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

Call = tuple[Sequence[float], Mapping[str, float]]
"""The arguments of a call: by their place, and by their name."""


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
    """Passes this answer and no other, as `plain` compares them."""

    def grade(files: Files, answer: str) -> Grade:
        same = plain(answer) == plain(wanted)
        return PASSED if same else failed(f"the answer is {_short(answer)}, not {_short(wanted)}")

    return grade


def answer_holds(wanted: Mapping[str, Any]) -> Grader:
    """Passes an answer that is this JSON object: the same keys and values of the same types, in any order.

    Texts are compared as `plain` has them.
    """

    def grade(files: Files, answer: str) -> Grade:
        try:
            found = strict_json(answer)
        except Refused:
            return failed(f"the answer is no JSON: {_short(answer)}")
        same = _same(_plain_value(found), _plain_value(wanted))
        return PASSED if same else failed(f"the answer is {_short(answer)}, not {_shown(wanted)}")

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
    """Passes a file with this text; line ends, and white space at the end of lines and of the file, do not count."""
    return _same_file(path, wanted, _lines)


def file_says(path: str, wanted: str) -> Grader:
    """Passes a file that holds this and nothing else, as `plain` compares them."""
    return _same_file(path, wanted, plain)


def _same_file(path: str, wanted: str, read: Callable[[str], object]) -> Grader:
    """Passes a file that is read as the wanted text is."""

    def grade(files: Files, answer: str) -> Grade:
        found = files.get(path)
        if found is None:
            return failed(f"there is no text file {path}")
        return PASSED if read(found) == read(wanted) else failed(f"{path} holds another text")

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


def calls_return(
    module: str,
    function: str,
    calls: Sequence[Call],
    wanted: Sequence[float],
    limits: Limits = Limits(),  # noqa: B008 (frozen)
) -> Grader:
    """Passes files in which `function` of `module` returns these numbers for these calls, in order.

    The calls run confined, in a directory of its own, and the model never saw them. What is wanted stays outside: the
    process has only the arguments, so nothing that the file does to it (reading the check, ending it early, values that
    are equal to everything) brings the right numbers, short of computing them.
    """
    source = (
        f"import json, {module}\n"
        f"calls = json.loads({json.dumps(calls)!r})\n"
        f"print()\nprint(json.dumps([{module}.{function}(*given, **named) for given, named in calls]))\n"
    )

    def grade(files: Files, answer: str) -> Grade:
        if None in files.values():
            return failed("there is a file that is no plain text")
        with tempfile.TemporaryDirectory(prefix="grading-") as folder:
            laid = {path: text for path, text in files.items() if text is not None}
            with Scratch.laid(Path(folder) / "files", laid | {CHECK: source}) as scratch:
                run = run_python(scratch, CHECK, limits)
        if run.stopped:
            return failed(f"the check was {run.stopped}")
        last = run.output.strip().rpartition("\n")[2]
        if not run.succeeded:
            return failed(f"the check did not come to its end: {_short(last)}")
        try:
            found = strict_json(last)
        except Refused:
            found = None
        if not isinstance(found, list) or len(found) != len(wanted):
            return failed(f"the check did not come to its end: {_short(last)}")
        for call, number, right in zip(calls, found, wanted, strict=True):
            # Factors in another order may round differently.
            if type(number) not in (int, float) or not math.isclose(number, right, rel_tol=1e-9):
                return failed(f"{function} of {_shown(call)} returned {_short(_shown(number))}, not {right!r}")
        return PASSED

    return grade


CHECK = "hidden_check.py"


def plain(text: str) -> str:
    """`text` as it is compared: runs of white space as one blank, none around it, nor quotes, nor a full stop."""
    found = " ".join(text.split())
    for quotes in ('""', "''", "``", "“”", "‘’"):
        if len(found) > 1 and found[0] == quotes[0] and found[-1] == quotes[1]:
            found = found[1:-1].strip()
            break
    return found.removesuffix(".")


def _lines(text: str) -> str:
    """`text` with line ends as Unix has them, and no white space at the ends of lines and of the text."""
    return "\n".join(line.rstrip(" \t") for line in text.replace("\r\n", "\n").split("\n")).rstrip("\n")


def _plain_value(value: Any) -> Any:
    """The value with each text in it as `plain` has it; the keys stay as they are."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {key: _plain_value(below) for key, below in value.items()}
    return [_plain_value(below) for below in value] if isinstance(value, list) else value


def _same(found: Any, wanted: Any) -> bool:
    # As text: 1, 1.0 and true are equal to Python.
    return json.dumps(found, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
