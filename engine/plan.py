"""The plan of a part: what will be run and what would count, typed by a person before rows exist."""

import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from campaign.engine.errors import PlanError
from campaign.engine.records import KNOWN, known_schema
from campaign.engine.tables import Schema
from campaign.kernels.errors import nearest

ID = re.compile(r"[A-Za-z_]\w*(\.\w+)*")
"""An id of a reading, constant or fact: words joined by dots, as `saving.low.lo`."""

Id = Annotated[str, Field(pattern=rf"^{ID.pattern}$")]
Text = Annotated[str, Field(min_length=1)]


class Strict(BaseModel):
    """A table of a file that a person types: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Constant(Strict):
    """A number or word that is fixed before the data: a bar, a slope, a published input."""

    value: int | float | str
    unit: str = ""
    print: str = ""
    """How it is printed where a quote names no format, as `.3f`."""
    because: Text
    """Where it comes from or why it has this value."""


class Question(Strict):
    """What the part asks."""

    text: Text
    author: Text
    rule_reader: str = ""
    """Who reads the rule once the rows are there."""


class Arm(Strict):
    """One named setting of the engine."""

    label: Text
    """How tables and prose name the arm."""
    earlier: date | None = None
    """The day on which its rows ran, for rows that are older than this plan (a yardstick)."""


class Rows(Strict):
    """The rows that will run."""

    order: Annotated[list[str], Field(min_length=1)]
    """The arm of each row, in the order in which they start."""
    draws: Annotated[int, Field(ge=1)]
    """Draws in each row."""
    looks: Annotated[int, Field(ge=0)] = 0
    """Planned looks at the data before the last row."""


class Matching(Strict):
    """How draws with different tokens per step are compared: each is shifted to one point along a slope."""

    at: Id
    """The constant to which draws are shifted, tokens per verify step."""
    slopes: dict[str, Id]
    """Name of each slope and the constant that holds it, ms per token."""


class Power(Strict):
    """How power samples become a share."""

    floor: Id
    """The constant below which a sample counts as idle, W."""


class Band(Strict):
    """One verdict and the part of the line that it covers; bands are tried from the top."""

    verdict: Text
    at_least: Id | None = None
    above: Id | None = None


class Guard(Strict):
    """A condition that holds a positive verdict, or marks it confounded."""

    name: Text
    verdict: Literal["held", "confounded"]
    when: Text
    """An expression over readings; the guard trips where it is true."""


class Verdict(Strict):
    """How the deciding reading becomes a word."""

    reading: Id
    """The reading that decides, usually the lower end of an interval."""
    bands: Annotated[list[Band], Field(min_length=1)]
    guards: list[Guard] = []
    negative: list[str] = ["rolled back"]
    """Verdicts that no guard may hide."""


class TableSpec(Strict):
    """A table whose columns the plan itself declares."""

    file: Text
    key: list[str] = []
    columns: Annotated[dict[str, str], Field(min_length=1)]


class Plan(Strict):
    """A whole plan."""

    about: Text
    """One line: what this part is."""
    question: Question | None = None
    constants: dict[Id, Constant] = {}
    tables: dict[str, str | TableSpec] = {}
    arms: dict[str, Arm] = {}
    rows: Rows | None = None
    matching: Matching | None = None
    power: Power | None = None
    verdict: Verdict | None = None
    reading: list[dict[str, Any]] = []
    """Declarations of readings; `analysis` knows their kinds."""
    plot: list[dict[str, Any]] = []
    """Declarations of plots over readings."""

    def table(self, name: str) -> tuple[str, Schema]:
        """File and schema of the table `name`."""
        said = self.tables[name]
        if isinstance(said, str):
            schema = known_schema(name)
            if schema is None:
                raise PlanError(
                    f"plan.toml: tables.{name}: gives only a file, but no table of that name is known; expected one "
                    f"of {', '.join(KNOWN)}, or a table with file, key and columns.{nearest(name, KNOWN)} "
                    "Declare its columns."
                )
            return said, schema
        return said.file, Schema.parse(name, said.columns, said.key, "plan.toml: tables")


def read_plan(path: Path, shown: str) -> Plan:
    """The plan in the file at `path`; `shown` is how an error names the file."""
    return parse_strict(Plan, read_toml(path, shown), shown, _check_plan)


def read_toml(path: Path, shown: str) -> dict[str, Any]:
    """What a TOML file holds; PlanError where it is missing or is not TOML."""
    try:
        return tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        raise PlanError(
            f"{shown}: there is no such file; expected one. `notes new` makes a part with all files."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise PlanError(f"{shown}: not TOML: {wrong}. Correct the file.") from None


def parse_strict(model: type[Any], found: dict[str, Any], shown: str, check: Any = None) -> Any:
    """`found` as a `model`; PlanError names the file, the key, what was found and what was expected."""
    try:
        parsed = model.model_validate(found)
    except ValidationError as wrong:
        raise PlanError(_say(wrong.errors()[0], model, shown)) from None
    if check:
        check(parsed, shown)
    return parsed


def _say(error: Any, model: type[BaseModel], shown: str) -> str:
    """One validation error as a message in our words."""
    path = [str(step) for step in error["loc"] if step not in ("str", "TableSpec")]
    where = ".".join(path)
    if error["type"] == "extra_forbidden":
        known = _keys_beside(model, path[:-1])
        return (
            f"{shown}: {where}: unknown key; expected one of {', '.join(known)}.{nearest(path[-1], known)} "
            "Correct or remove it."
        )
    if error["type"] == "missing":
        return f"{shown}: {where}: missing; expected it to be given. Add it."
    return f"{shown}: {where}: found {error.get('input')!r}; {error['msg'][0].lower() + error['msg'][1:]}. Correct it."


def _keys_beside(model: Any, path: list[str]) -> list[str]:
    """The keys that the model at `path` allows."""
    for step in path:
        field = getattr(model, "model_fields", {}).get(step)
        if field is not None:
            model = field.annotation
        inner = [t for t in _models_in(model)]
        if inner:
            model = inner[0]
    return list(getattr(model, "model_fields", {}))


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]


def _check_plan(plan: Plan, shown: str) -> None:
    """Refuse a plan that names constants or arms that it does not have."""

    def constant(name: str, where: str) -> None:
        if name not in plan.constants:
            raise PlanError(
                f"{shown}: {where}: names {name}, which is no constant; expected one of "
                f"{', '.join(plan.constants) or 'none yet'}.{nearest(name, plan.constants)} Add it under [constants]."
            )

    for arm in plan.rows.order if plan.rows else ():
        if arm not in plan.arms:
            raise PlanError(
                f"{shown}: rows.order: names the arm {arm}; expected one of {', '.join(plan.arms)}."
                f"{nearest(arm, plan.arms)} Add it under [arms]."
            )
    if plan.matching:
        constant(plan.matching.at, "matching.at")
        for slope, name in plan.matching.slopes.items():
            constant(name, f"matching.slopes.{slope}")
    if plan.power:
        constant(plan.power.floor, "power.floor")
    for band in plan.verdict.bands if plan.verdict else ():
        if band.at_least is not None and band.above is not None:
            raise PlanError(
                f"{shown}: verdict.bands: {band.verdict} has at_least and above; expected at most one. Remove one."
            )
    ids = [said.get("id") for said in plan.reading]
    for name in ids:
        if ids.count(name) > 1 or name in plan.constants:
            raise PlanError(f"{shown}: reading {name}: the id stands twice; expected each id once. Rename one.")
    for name in plan.tables:
        plan.table(name)
