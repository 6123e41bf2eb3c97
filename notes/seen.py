"""Which files and folders a piece of work asked for, found out while it works and not declared."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

KINDS = {"open": "file", "os.listdir": "folder", "os.scandir": "folder"}
"""What Python tells of, and what it is about."""

_asked: ContextVar[set[tuple[str, str]] | None] = ContextVar("asked", default=None)


@contextmanager
def seen() -> Iterator[set[tuple[str, str]]]:
    """What is asked for in this context: `file` or `folder`, and its path; also what turned out not to be there.

    Files that a library opens without Python are not in it, nor is the question whether there is a file.
    """
    _listen()
    found: set[tuple[str, str]] = set()
    token = _asked.set(found)
    try:
        yield found
    finally:
        _asked.reset(token)


@cache
def _listen() -> None:
    """Nothing; Python then tells of each file. It cannot be told to stop, so it is asked once in a process."""
    # Held here: Python tells of files to its very end, when a module's own names are gone already.
    kinds, asked = KINDS, _asked.get

    def told(event: str, arguments: tuple[object, ...]) -> None:
        if event not in kinds:
            return
        found = asked()
        path = arguments[0] if arguments else None
        if found is not None and isinstance(path, str | bytes | os.PathLike):
            found.add((kinds[event], os.path.abspath(os.fsdecode(path))))

    sys.addaudithook(told)
