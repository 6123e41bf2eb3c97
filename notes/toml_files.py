"""TOML files that commands write: read strictly, written with the same bytes for the same values."""

import codecs
import datetime
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from campaign.kernels.errors import nearest
from campaign.notes.errors import UsageError

# Here and below ^ and $ are the ends of the whole text: pydantic matches with Rust, which has no \Z.
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A sha256 in hexadecimal."""
GitName = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
"""A git object's full name."""
Sentence = Annotated[str, StringConstraints(pattern=r"^\S(.*\S)?$")]
"""Words on one line, with nothing around them."""


class Record(BaseModel):
    """One strict, frozen table of a TOML file; an unknown key or another type is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


RecordT = TypeVar("RecordT", bound=Record)


def read_toml(path: Path, shown: str) -> dict[str, Any] | None:
    """What `path` holds, or None where there is no such file; `shown` names it in an error."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return parse_toml(data, shown)


def parse_toml(data: bytes, shown: str) -> dict[str, Any]:
    """The tables in `data`; raises UsageError where it is not TOML."""
    if data.startswith(codecs.BOM_UTF8):
        raise UsageError(
            f"{shown}: begins with a byte order mark, which some editors add; expected UTF-8 without one. "
            f"Save it so, or `git checkout HEAD -- {shown}`."
        )
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{shown}: byte {error.start} is not UTF-8; expected text. Restore it: `git checkout HEAD -- {shown}`."
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"{shown}: {error}; expected TOML. Mend that line, or `git checkout HEAD -- {shown}`."
        ) from error


def validated(model: type[RecordT], values: object, where: str) -> RecordT:
    """`values` as a `model`; raises UsageError for the first thing that does not fit."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        # A mistyped key is both unknown and missing; only "unknown" says how to mend it.
        found = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")[0]
    key = ".".join(str(step) for step in found["loc"])
    known = list(model.model_fields)
    if found["type"] == "extra_forbidden":
        raise UsageError(
            f"{where}: {key}: unknown key; expected only {', '.join(known)}.{nearest(key, known)} Rename or remove it."
        )
    if not found["loc"]:
        raise UsageError(f"{where}: found {found['input']!r}; expected a table with {', '.join(known)}.")
    meaning = model.model_fields[str(found["loc"][0])].description or ""
    if found["type"] == "missing":
        raise UsageError(f"{where}: {key}: missing; expected {meaning} Add it, or restore the file from git.")
    raise UsageError(
        f"{where}: {key}: found {found['input']!r}; {found['msg'][0].lower()}{found['msg'][1:]}; "
        f"expected {meaning} Mend it, or restore the file from git."
    )


def toml_lines(values: Mapping[str, object]) -> str:
    """`key = value` lines in the order of `values`; a key whose value is None is left out."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in values.items() if value is not None)


def record_lines(record: Record) -> str:
    """The lines of one record, keys in the order in which its class names them."""
    return toml_lines({key: getattr(record, key) for key in type(record).model_fields})


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime.datetime):
        return re.sub(r"\+00:00\Z", "Z", value.isoformat())
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        # JSON's escapes are TOML's too, but for DEL, which JSON leaves bare.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Record):
        keys = {key: getattr(value, key) for key in type(value).model_fields}
        return "{ " + ", ".join(f"{key} = {_value(said)}" for key, said in keys.items() if said is not None) + " }"
    if isinstance(value, tuple):
        return "[" + "".join(f"\n    {_value(said)}," for said in value) + ("\n]" if value else "]")
    raise TypeError(f"no TOML form here for {type(value).__name__}")
