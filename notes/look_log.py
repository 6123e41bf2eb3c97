"""The log of looks at a part's readings while planned rows were missing: append only, and kept for good."""

import contextlib
import datetime
from collections.abc import Iterator
from typing import Annotated

from pydantic import AwareDatetime, Field

from campaign.analysis.interim import Look, is_planned
from campaign.analysis.rows import missing_rows
from campaign.engine import files
from campaign.engine.data import Data
from campaign.engine.plan import Plan
from campaign.notes.errors import UsageError
from campaign.notes.history import History, NoHistory, Repository, Version
from campaign.notes.index import history_of
from campaign.notes.paths import Part
from campaign.notes.seal import Problem
from campaign.notes.toml_files import Record, Sentence, parse_toml, read_toml, record_lines, validated

HEADER = "# Append only: `notes read --interim` adds a look, and no look is ever taken back.\n"
TABLE = "look"


class LoggedLook(Record):
    """One entry of looks.toml."""

    at: AwareDatetime
    """when the readings were shown, with its zone."""
    rows: Annotated[int, Field(ge=0)]
    """how many planned rows were complete."""
    planned: bool
    """whether the plan provides for a look after so many rows."""
    because: Sentence
    """why the readings were asked for."""


def read_looks(part: Part) -> list[LoggedLook]:
    """Every look that looks.toml holds, in the order in which they were taken."""
    where = part.show(part.looks)
    return _entries(read_toml(part.looks, where) or {}, where)


def looks_of(part: Part) -> list[Look]:
    """The looks as the readings take them: those of looks.toml, and those that only the history still holds."""
    found = read_looks(part)
    history = history_of(part.campaign)
    if not isinstance(history, NoHistory):
        for before in _earlier(part, history):
            found += [look for look in before[1] if look not in found]
    return [Look(look.rows, look.planned) for look in found]


def _earlier(part: Part, repo: Repository) -> Iterator[tuple[Version, list[LoggedLook]]]:
    """Each earlier state of looks.toml that can be read, the oldest first."""
    shown = part.show(part.looks)
    for version in reversed(repo.versions(part.looks)):
        if version.blob is not None:
            with contextlib.suppress(UsageError):
                yield version, _entries(parse_toml(repo.text_of(version.blob), shown), shown)


def log_look(part: Part, plan: Plan, data: Data, now: datetime.datetime, because: str) -> LoggedLook | None:
    """The look that looks.toml then holds in addition; None, and nothing written, where no planned row is missing."""
    missing = missing_rows(plan, data)
    if not missing or plan.rows is None:
        return None
    done = len(plan.rows.order) - missing
    planned = is_planned(plan, done)
    if not because and not planned:
        raise UsageError(
            f"{part.name}: {missing} of {len(plan.rows.order)} planned rows are missing, and the plan provides for no "
            "look after so few; expected a reason for looking all the same. Wait for the rows, or say why with "
            "--because: the readings are then marked interim for good."
        )
    values = {
        "at": now.astimezone(datetime.UTC).replace(microsecond=0),
        "rows": done,
        "planned": planned,
        "because": because or "planned",
    }
    look = validated(LoggedLook, values, part.show(part.looks))
    read_looks(part)  # what is there must be readable, or the entry would be glued to something broken
    before = part.looks.read_text() if part.looks.exists() else HEADER
    files.write_text(part.looks, f"{before}\n[[{TABLE}]]\n{record_lines(look)}")
    return look


def check_looks(part: Part, repo: History) -> list[Problem]:
    """The findings that a look which the history holds is no longer in looks.toml."""
    if isinstance(repo, NoHistory):
        return []
    shown = part.show(part.looks)
    now = read_looks(part)
    for version, before in _earlier(part, repo):
        if now[: len(before)] != before:
            return [
                Problem(
                    path=shown,
                    code="look-removed",
                    said=f"{len(now)} looks",
                    expected=f"the {len(before)} that {version.commit[:12]} has: a look is never taken back",
                    mend=f"`git checkout {version.commit} -- {shown}`",
                )
            ]
    return []


def _entries(values: dict[str, object], where: str) -> list[LoggedLook]:
    extra = [key for key in values if key != TABLE]
    found = values.get(TABLE, [])
    if extra or not isinstance(found, list):
        raise UsageError(f"{where}: found {extra[0] if extra else TABLE}; expected only [[{TABLE}]]. Restore the file.")
    return [validated(LoggedLook, entry, f"{where}: {TABLE} {number}") for number, entry in enumerate(found, 1)]
