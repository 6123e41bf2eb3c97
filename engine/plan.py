"""The plan of a part: what will be run and what would count, typed by a person before rows exist."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from campaign.engine.errors import PlanError
from campaign.engine.records import KNOWN, known_schema
from campaign.engine.tables import Schema
from campaign.kernels.errors import nearest

ID = re.compile(r"[A-Za-z_]\w*(\.\w+)*")
"""An id of a reading, constant or fact: words joined by dots, as `saving.low.lo`."""


def _an_id(found: object) -> object:
    if not isinstance(found, str) or not ID.fullmatch(found):
        raise ValueError("an id: words joined by dots, as saving.low")
    return found


Id = Annotated[str, BeforeValidator(_an_id)]
Text = Annotated[str, Field(min_length=1)]


class Strict(BaseModel):
    """A table of a file that a person types: unknown keys are errors, and nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


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
    settings: dict[str, str | int | float | bool] = {}
    """How the engine is started for it, where this program measures the rows itself."""


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
    slopes: Annotated[dict[Annotated[str, Field(pattern=r"^\w+$")], Id], Field(min_length=1)]
    """Name of each slope and the constant that holds it, ms per token."""


class Power(Strict):
    """How power samples become a share."""

    floor: Id
    """The constant below which a sample counts as idle, W."""


class Measure(Strict):
    """How this program measures the rows itself."""

    engine: Literal["embedded"]
    seed: int
    """Draw d of every row uses this plus d."""
    temperature: float = 0.0
    """0 is greedy."""


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
    measure: Measure | None = None
    verdict: Verdict | None = None
    reading: list[dict[str, Any]] = []
    """Declarations of readings; `analysis` knows their kinds."""
    plot: list[dict[str, Any]] = []
    """Declarations of plots over readings."""

    def table(self, name: str, shown: str = "plan.toml") -> tuple[str, Schema]:
        """File and schema of the table `name`; `shown` is how an error names the plan."""
        said = self.tables[name]
        if isinstance(said, str):
            schema = known_schema(name)
            if schema is None:
                raise PlanError(
                    f"{shown}: tables.{name}: gives only a file, but no table of that name is known; expected one "
                    f"of {', '.join(KNOWN)}, or a table with file, key and columns.{nearest(name, KNOWN)} "
                    "Declare its columns."
                )
            return said, schema
        return said.file, Schema.parse(name, said.columns, said.key, f"{shown}: tables")


def read_plan(path: Path, shown: str) -> Plan:
    """The plan in the file at `path`; `shown` is how an error names the file."""
    return parse_strict(Plan, read_toml(path, shown), shown, _check_plan)


def read_toml(path: Path, shown: str) -> dict[str, Any]:
    """What a TOML file holds; PlanError where it is missing or is not TOML."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise PlanError(
            f"{shown}: there is no such file; expected one. `notes new` makes a part with all files."
        ) from None
    except OSError as wrong:
        raise PlanError(f"{shown}: cannot be read: {wrong.strerror}; expected a file. Put one there.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise PlanError(f"{shown}: not TOML: {wrong}; expected a file of keys and values. Correct it.") from None


def parse_strict(
    model: type[Any], found: dict[str, Any], shown: str, check: Callable[[Any, str], None] | None = None
) -> Any:
    """`found` as a `model`; PlanError names the file, the key, what was found and what was expected."""
    try:
        parsed = model.model_validate(found)
    except ValidationError as wrong:
        raise PlanError(_say(wrong.errors(), model, found, shown)) from None
    if check:
        check(parsed, shown)
    return parsed


def _say(errors: Iterable[Any], model: type[BaseModel], found: Any, shown: str) -> str:
    """The most telling of some validation errors, in our words."""
    placed = [(_path(error, found), error) for error in errors]
    # A misspelt key is also a missing one: say the misspelling. In a value that may be of several types (a table's
    # file, or its columns) the attempt that got furthest is the one that was meant.
    path, error = next((it for it in placed if it[1]["type"] == "extra_forbidden"), placed[0])
    if error["type"] != "extra_forbidden":
        inside = [it for it in placed if it[0][: len(path)] == path]
        path, error = max(inside, key=lambda it: len(it[0]))
    where = f"{shown}: {_place(path)}" if path else shown
    if error["type"] == "extra_forbidden":
        known = _keys_beside(model, path[:-1])
        hint = nearest(str(path[-1]), known)
        if len(path) > 2 and isinstance(error["input"], Mapping) and not hint:
            hint = f' Did you mean [{path[0]}."{_place(path[1:])}"]? An id with dots stands in quotes.'
        return f"{where}: unknown key; expected one of {', '.join(known)}.{hint} Correct or remove it."
    if error["type"] == "missing":
        given = ", ".join(_at(found, path[:-1])) or "nothing"
        known = _keys_beside(model, path[:-1])
        return f"{where}: missing; found {given}; expected it among {', '.join(known)}. Add it."
    value = error["input"]
    hint = ""
    if error["type"] == "literal_error":
        words = re.findall("'([^']*)'", error["ctx"]["expected"])
        hint = nearest(str(value), words)
    alike = [_expected(other) for place, other in placed if place == path]
    if "a number" in alike or "a finite number" in alike:
        alike = [said for said in alike if said != "a whole number"]
    found_value = value.isoformat() if isinstance(value, date) else repr(value)
    return f"{where}: found {found_value}; expected {' or '.join(dict.fromkeys(alike))}.{hint} Correct it."


def _path(error: Any, found: Any) -> list[str | int]:
    """The keys and list places that lead to an error, without pydantic's names for the types that it tried."""
    path: list[str | int] = []
    steps = error["loc"]
    for number, step in enumerate(steps):
        is_last = number == len(steps) - 1
        at = _at(found, path)
        there = step in at if isinstance(at, Mapping) else isinstance(at, list) and isinstance(step, int)
        if there or (is_last and error["type"] == "missing"):
            path.append(step)
    return path


def _at(found: Any, path: list[str | int]) -> Any:
    for step in path:
        found = found[step]
    return found


def _place(path: list[str | int]) -> str:
    """`verdict.bands[0].above`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


_WORDS = {
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "string_pattern_mismatch": "a text that fits the pattern {pattern}",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "date_type": "a date, as 2026-11-06",
    "datetime_type": "a date with time and zone, as 2026-11-06T06:11:00Z",
    "list_type": "a list in [ ]",
    "dict_type": "a table of keys and values",
    "model_type": "a table of keys and values",
    "too_short": "at least {min_length} of them",
    "greater_than_equal": "at least {ge}",
    "literal_error": "{expected}",
    "value_error": "{error}",
}


def _expected(error: Any) -> str:
    message = error["msg"][0].lower() + error["msg"][1:]
    return _WORDS.get(error["type"], message).format(**error.get("ctx", {}))


def _keys_beside(model: Any, path: list[str | int]) -> list[str]:
    """The keys that the model at `path` allows."""
    for step in path:
        field = getattr(model, "model_fields", {}).get(step)
        if field is not None:
            model = field.annotation
        inner = _models_in(model)
        if inner:
            model = inner[0]
    return list(getattr(model, "model_fields", {}))


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]


def _check_plan(plan: Plan, shown: str) -> None:
    """Refuse a plan that names constants, arms or verdicts that it does not have, or says a thing twice."""
    for arm in plan.rows.order if plan.rows else ():
        if arm not in plan.arms:
            raise PlanError(
                f"{shown}: rows.order: names the arm {arm}; expected one of {', '.join(plan.arms) or 'none yet'}."
                f"{nearest(arm, plan.arms)} Correct it, or add it under [arms]."
            )
        if plan.arms[arm].earlier:
            raise PlanError(
                f"{shown}: rows.order: names the arm {arm}, whose rows ran earlier; expected arms that still run. "
                f"Take it out of the order, or remove arms.{arm}.earlier."
            )
    if plan.matching:
        _check_constant(plan, plan.matching.at, f"{shown}: matching.at")
        for slope, name in plan.matching.slopes.items():
            _check_constant(plan, name, f"{shown}: matching.slopes.{slope}")
    if plan.power:
        _check_constant(plan, plan.power.floor, f"{shown}: power.floor")
    if LEVEL in plan.constants:
        _check_constant(plan, LEVEL, f"{shown}: constants.{LEVEL}")
        level = plan.constants[LEVEL].value
        if not 0 < level < 100:
            raise PlanError(
                f"{shown}: constants.{LEVEL}: found {level}; expected percent above 0 and below 100, as 95. Correct it."
            )
    if plan.verdict:
        _check_bands(plan.verdict, f"{shown}: verdict")
    seen: set[str] = set(plan.constants)
    for number, said in enumerate(plan.reading):
        name = said.get("id")
        if not isinstance(name, str):
            raise PlanError(f"{shown}: reading[{number}].id: found {name!r}; expected an id, as saving.low. Add one.")
        if name in seen:
            raise PlanError(f"{shown}: reading {name}: the id stands twice; expected each id once. Rename one.")
        seen.add(name)
    for name in plan.tables:
        plan.table(name, shown)


LEVEL = "interval.level"
"""The constant that holds the level of every interval in percent."""


def _check_constant(plan: Plan, name: str, where: str) -> None:
    """Refuse a name that is no constant, or one that holds no number."""
    if name not in plan.constants:
        raise PlanError(
            f"{where}: names {name}, which is no constant; expected one of "
            f"{', '.join(plan.constants) or 'none yet'}.{nearest(name, plan.constants)} Add it under [constants]."
        )
    if isinstance(plan.constants[name].value, str):
        raise PlanError(
            f"{where}: the constant {name} is {plan.constants[name].value!r}; expected a number. Correct the constant."
        )


def _check_bands(verdict: Verdict, where: str) -> None:
    """Refuse bands that nothing can reach, and negative verdicts that no band gives."""
    for number, band in enumerate(verdict.bands):
        if band.at_least is not None and band.above is not None:
            raise PlanError(
                f"{where}.bands[{number}]: {band.verdict} has at_least and above; expected at most one. Remove one."
            )
        if band.at_least is None and band.above is None and number < len(verdict.bands) - 1:
            raise PlanError(
                f"{where}.bands[{number}]: {band.verdict} has no bound, so the bands below it are never reached; "
                "expected at_least or above in every band but the last. Add one, or move the band to the end."
            )
    words = [band.verdict for band in verdict.bands]
    for word in verdict.negative if "negative" in verdict.model_fields_set else ():
        if word not in words:
            raise PlanError(
                f"{where}.negative: names {word!r}, which no band gives; expected some of {', '.join(words)}."
                f"{nearest(word, words)} Correct it."
            )
