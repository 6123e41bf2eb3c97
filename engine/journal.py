"""The journal of a measurement: what was begun, finished or lost, written before and after each row.

A line is added and forced to the disk before the row it speaks of may count. Nothing is ever changed, so a
measurement that was cut off at any moment is known from the journal alone: a row that was begun and not finished
is void.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.engine.errors import RecordError

BEGUN, COMPLETE, VOID = "begun", "complete", "void"


@dataclass(frozen=True)
class Attempt:
    """One try at a row of the plan."""

    row: str
    """r1, r2, ...: in the order of their start."""
    place: int
    """Place in the plan's order, from 0."""
    arm: str
    started: str
    """UTC, ISO 8601."""
    state: str
    """begun, complete or void."""
    reason: str = ""
    """Why it is void."""


class Journal:
    """The journal in one file, one JSON object a line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, place: int, arm: str, now: str) -> Attempt:
        """A new attempt at the plan's row `place`."""
        attempt = Attempt(f"r{len(self.attempts()) + 1}", place, arm, now, BEGUN)
        self._write({"event": BEGUN, "row": attempt.row, "place": place, "arm": arm, "at": now})
        return attempt

    def end(self, row: str, state: str, now: str, reason: str = "") -> None:
        """Nothing; the attempt `row` is then complete, or void for `reason`."""
        self._write({"event": state, "row": row, "at": now} | ({"reason": reason} if reason else {}))

    def attempts(self) -> list[Attempt]:
        """Every attempt so far with its state, in the order of their start."""
        found: dict[str, Attempt] = {}
        for number, said in self._lines():
            try:
                if said["event"] == BEGUN:
                    found[said["row"]] = Attempt(said["row"], said["place"], said["arm"], said["at"], BEGUN)
                else:
                    begun = found[said["row"]]
                    found[said["row"]] = Attempt(
                        begun.row, begun.place, begun.arm, begun.started, said["event"], said.get("reason", "")
                    )
            except (KeyError, TypeError) as wrong:
                raise RecordError(
                    f"{self.path}:{number}: not an entry of a journal ({type(wrong).__name__}: {wrong}); expected what "
                    "`notes run` writes. Restore the file."
                ) from None
        return list(found.values())

    def _lines(self) -> list[tuple[int, Any]]:
        if not self.path.exists():
            return []
        # What stands behind the last line break was cut off; it did not count yet, and the next entry takes its place.
        *lines, _ = self.path.read_bytes().split(b"\n")
        found = []
        for number, line in enumerate(lines, 1):
            try:
                found.append((number, json.loads(line)))
            except ValueError:
                raise RecordError(
                    f"{self.path}:{number}: not JSON; expected an entry of the journal. Restore the file."
                ) from None
        return found

    def _write(self, entry: dict[str, Any]) -> None:
        data = self.path.read_bytes() if self.path.exists() else b""
        line = json.dumps(entry).encode() + b"\n"
        with self.path.open("ab") as file:
            if data and not data.endswith(b"\n"):
                # Drop what a cut-off left behind, or this entry would be glued to it.
                file.truncate(data.rfind(b"\n") + 1)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
