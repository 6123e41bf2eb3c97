"""The tools that the model may call, each with the schema of its call; they act in a scratch directory only.

A call is the text `{"name": "read_file", "arguments": {"path": "notes.txt"}}`. Its schema uses type, enum, properties,
required, additionalProperties and maxLength, and nothing else.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from campaign.engine.confinement import FILE_BYTES, Limits, Refused, Scratch, run_python

PATH_CHARACTERS = 64
TEXT_CHARACTERS = 2000

RESULT_CHARACTERS = 2000
"""A longer result is cut: it has to fit into the context beside the rest."""


@dataclass(frozen=True)
class Tool:
    """One thing that the model can have done."""

    name: str
    description: str
    """What it does."""
    parameters: Mapping[str, int]
    """The longest text, in characters, that each argument may be."""
    act: Callable[..., str]
    """The result's text from a scratch directory, limits and the arguments; raises Refused."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a call, its keys in the order in which they are written."""
        arguments = {
            "type": "object",
            "properties": {name: {"type": "string", "maxLength": most} for name, most in self.parameters.items()},
            "required": list(self.parameters),
            "additionalProperties": False,
        }
        return {
            "type": "object",
            "properties": {"name": {"type": "string", "enum": [self.name]}, "arguments": arguments},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }

    def arguments(self, text: str) -> dict[str, str]:
        """The arguments of the call that `text` is; raises Refused where it is none of this tool."""
        call = strict_json(text)
        if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
            raise Refused("the call must have the keys name and arguments, and no others")
        if call["name"] != self.name:
            raise Refused(f"the call must name {self.name}")
        arguments = call["arguments"]
        if not isinstance(arguments, dict) or set(arguments) != set(self.parameters):
            raise Refused(f"the arguments must be {', '.join(self.parameters) or 'empty'}, and no others")
        for name, most in self.parameters.items():
            if not isinstance(arguments[name], str) or len(arguments[name]) > most:
                raise Refused(f"{name} must be a text of {most} characters at most")
        return arguments

    def call(self, scratch: Scratch, text: str, limits: Limits = Limits()) -> "Result":  # noqa: B008 (frozen)
        """What came of the call that `text` is; raises only where the harness is at fault."""
        try:
            result = self.act(scratch, limits, **self.arguments(text))
        except Refused as refused:
            return Result(f"error: {refused}", failed=True)
        if len(result) > RESULT_CHARACTERS:
            result = result[:RESULT_CHARACTERS] + "\n(cut here)"
        return Result(result, failed=result.startswith("error: "))


@dataclass(frozen=True)
class Result:
    """What the model is told after a call."""

    text: str
    failed: bool
    """Whether the tool refused the call, or what it ran was stopped."""


def strict_json(text: str) -> Any:
    """The value that `text` is in JSON; a key given twice, NaN or anything behind the value is refused."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(value := dict(pairs)) != len(pairs):
            raise ValueError("a key is given twice")
        return value

    def no_constant(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(f"this is not valid JSON: {error}") from None


def _list_files(scratch: Scratch, limits: Limits) -> str:
    return "\n".join(scratch.paths()) or "(no files)"


def _read_file(scratch: Scratch, limits: Limits, path: str) -> str:
    return scratch.read(path)


def _write_file(scratch: Scratch, limits: Limits, path: str, content: str) -> str:
    scratch.write(path, content)
    return f"wrote {path}"


def _replace_in_file(scratch: Scratch, limits: Limits, path: str, old: str, new: str) -> str:
    text = scratch.read(path)
    if not old or (times := text.count(old)) != 1:
        raise Refused(f"old must stand in {path} exactly once; it stands there {times if old else 'nowhere'}")
    scratch.write(path, text.replace(old, new))
    return f"replaced in {path}"


def _run_python(scratch: Scratch, limits: Limits, path: str) -> str:
    run = run_python(scratch, path, limits)
    if run.stopped:
        return f"error: {path} was {run.stopped}\n{run.output}".rstrip()
    return f"exit status {run.code}\n{run.output}".rstrip()


LIST_FILES = Tool("list_files", "the names of all files.", {}, _list_files)
READ_FILE = Tool("read_file", "the text of a file.", {"path": PATH_CHARACTERS}, _read_file)
WRITE_FILE = Tool(
    "write_file",
    "makes the file hold content, and nothing else.",
    {"path": PATH_CHARACTERS, "content": TEXT_CHARACTERS},
    _write_file,
)
REPLACE_IN_FILE = Tool(
    "replace_in_file",
    "replaces old, which stands in the file once, by new.",
    {"path": PATH_CHARACTERS, "old": 200, "new": 200},
    _replace_in_file,
)
RUN_PYTHON = Tool("run_python", "runs a Python file and shows what it prints.", {"path": PATH_CHARACTERS}, _run_python)

TOOLS: tuple[Tool, ...] = (LIST_FILES, READ_FILE, WRITE_FILE, REPLACE_IN_FILE, RUN_PYTHON)

assert FILE_BYTES >= 4 * TEXT_CHARACTERS, "a text that a call may carry fits into a file"
