"""What a task is: files, turns in a fixed order, a grader, and solutions that prove the grader."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from campaign.engine.grading import Grader
from campaign.engine.tools import Tool

AGENTIC = "agentic"
QA = "qa"

EDITOR = "You edit files with tools."
"""The system message of the tasks with tools.

It names no tool and shows no call: a model of this size copies what it is shown. The schema of each turn says
which tool is called.
"""

READER = "You answer questions."
"""The system message of the tasks without tools."""


@dataclass(frozen=True)
class Turn:
    """One request to the model."""

    ask: str
    """The user's message."""
    max_tokens: int
    tool: Tool | None = None
    """The tool that is called in this turn; None for an answer."""
    answer_schema: Mapping[str, Any] | None = None
    """The schema of an answer; None for free text."""

    @property
    def schema(self) -> Mapping[str, Any] | None:
        return self.tool.schema if self.tool else self.answer_schema


@dataclass(frozen=True)
class Task:
    """One graded piece of work."""

    name: str
    kind: str
    """agentic or qa."""
    system: str
    files: Mapping[str, str]
    """What the scratch directory holds at the start."""
    turns: tuple[Turn, ...]
    grade: Grader
    reference: tuple[str, ...]
    """What a model says, turn by turn, that does everything right."""
    wrong: Mapping[str, tuple[str, ...]]
    """By what is wrong: what a model says, turn by turn, that must not pass."""


def answer_schema(**properties: str) -> dict[str, Any]:
    """The schema of an answer that is a JSON object, as in `answer_schema(year="integer")`.

    A text may have 80 characters.
    """
    return {
        "type": "object",
        "properties": {
            name: {"type": kind} | ({"maxLength": 80} if kind == "string" else {}) for name, kind in properties.items()
        },
        "required": list(properties),
        "additionalProperties": False,
    }
