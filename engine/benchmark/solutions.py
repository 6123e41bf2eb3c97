"""Writing down what a model might say."""

import json
from typing import Any

from campaign.engine.tools import Tool


def call(tool: Tool, **arguments: str) -> str:
    """The text of a call."""
    return json.dumps({"name": tool.name, "arguments": arguments})


def answer(**values: Any) -> str:
    """The text of an answer that is a JSON object."""
    return json.dumps(values)


def but(said: tuple[str, ...], *changes: tuple[int, str]) -> tuple[str, ...]:
    """The same turns with other texts at some places: `but(REFERENCE, (2, ""))`."""
    turns = list(said)
    for turn, text in changes:
        turns[turn] = text
    return tuple(turns)
