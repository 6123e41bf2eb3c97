"""TOML files that a person types, read strictly: what does not fit is refused in words that say how to mend it."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from campaign.engine.errors import PlanError
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
