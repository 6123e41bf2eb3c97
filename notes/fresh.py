"""Data and readings of a part, read and computed again only where what they come from has changed.

A text is edited far more often than data are, and the self-test checks thousands of texts over the same data. What
lies in the files decides, never when they were written.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from campaign.analysis.compute import read
from campaign.analysis.interim import Look
from campaign.analysis.readings import Reading, Readings
from campaign.engine.aggregate import Aggregate
from campaign.engine.data import Data, files_below, read_data
from campaign.engine.files import sha256_of
from campaign.engine.plan import Plan, read_plan
from campaign.kernels.errors import CampaignError
from campaign.notes.cache import digest
from campaign.notes.index import Snapshot
from campaign.notes.paths import Part

IN_MEMORY = 4
"""Parts whose data and readings are held: those of the part at work, and of the parts that it takes rows from."""

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class PartData:
    """The data of a part, with what names their content."""

    data: Data
    key: str
    """Of the plan and of every file that was read; empty where that is not certain."""


class _Memory(Generic[Kept]):
    """The last few values by their keys; a value under a key never becomes another one."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, Kept] = OrderedDict()

    def get(self, key: str) -> Kept | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: str, value: Kept) -> None:
        self._values[key] = value
        while len(self._values) > IN_MEMORY:
            self._values.popitem(last=False)


_data: _Memory[Data] = _Memory()
_readings: _Memory[Readings] = _Memory()


def data_of(part: Part, plan: Plan) -> PartData:
    """The data of a part; raises what is wrong with them."""
    files = _hashes(plan, part.folder)
    key = digest([plan.model_dump(mode="json"), part.show(part.folder), files]) if files is not None else ""
    known = _data.get(key) if key else None
    if known is not None:
        return PartData(known, key)
    data = read_data(plan, part.folder, part.show)
    # A file that changed between its hash and its reading must not give its content to the key of another.
    if files is None or any(files.get(name) != sha256 for name, sha256 in data.digests.items()):
        return PartData(data, "")
    _data.put(key, data)
    return PartData(data, key)


def readings_of(part: Part, plan: Plan, found: PartData, looks: Sequence[Look]) -> Readings:
    """The readings that a part's data give; raises what is wrong with the plan."""
    shown = part.show(part.plan)
    if not found.key:
        return read(plan, found.data, shown, looks)
    key = digest([found.key, [[look.rows, look.planned] for look in looks]])
    known = _readings.get(key) or _from_disk(part, key)
    if known is None:
        known = read(plan, found.data, shown, looks)
        _to_disk(part, key, known)
    _readings.put(key, known)
    return known


def _hashes(plan: Plan, folder: Path) -> dict[str, str] | None:
    """sha256 of every file of the data, by its path from `folder`; None where one cannot be read."""
    try:
        found = {"plan.toml": sha256_of(folder / "plan.toml")}
        own = {path.relative_to(folder).as_posix(): path for path in _files(plan, folder)}
        own |= {path.relative_to(folder).as_posix(): path for path in files_below(folder / "data")}
        found |= {name: sha256_of(path) for name, path in own.items()}
        for arm in plan.arms.values():
            if arm.source:
                home = folder.parent / arm.source.part
                its = read_plan(home / "plan.toml", "")
                paths = [home / "plan.toml", *_files(its, home)]
                found |= {f"../{home.name}/{path.relative_to(home).as_posix()}": sha256_of(path) for path in paths}
    except (OSError, CampaignError):
        return None
    return found


def _files(plan: Plan, folder: Path) -> Iterator[Path]:
    for name in plan.tables:
        file, schema = plan.table(name)
        yield from sorted(folder.glob(file)) if "*" in file else [folder / file]
        if isinstance(schema, Aggregate) and schema.rest:
            yield folder / schema.rest


def _from_disk(part: Part, key: str) -> Readings | None:
    """What an earlier run computed, where this run keeps such things."""
    kept = part.campaign.kept if isinstance(part.campaign, Snapshot) else None
    if kept is None:
        return None
    said = kept.cache.get(_slot(part), digest([kept.program, key]))
    try:
        return None if said is None else readings_from(said, part.show(part.plan))
    except (KeyError, TypeError, ValueError):
        return None


def _to_disk(part: Part, key: str, readings: Readings) -> None:
    kept = part.campaign.kept if isinstance(part.campaign, Snapshot) else None
    if kept is None:
        return
    with suppress(TypeError, ValueError):
        said = readings_json(readings)
        if _alike(readings_from(said, part.show(part.plan)), readings):
            kept.cache.put(_slot(part), digest([kept.program, key]), said)


def _slot(part: Part) -> str:
    return f"readings {part.campaign.root} {part.name}"


def readings_json(readings: Readings) -> dict[str, Any]:
    """Readings as JSON can say them."""
    return {"pending": readings.pending, "readings": [asdict(readings[name]) for name in readings]}


def readings_from(said: Mapping[str, Any], where: str) -> Readings:
    """The readings that `readings_json` gave, of the plan `where`; raises what Python does where it is not that."""
    found = {}
    for one in said["readings"]:
        operands = tuple((name, value) for name, value in one["operands"])
        found[one["id"]] = Reading(**one | {"operands": operands, "warnings": tuple(one["warnings"])})
    return Readings(found, where, said["pending"])


def _alike(one: Readings, other: Readings) -> bool:
    """Whether two readings are the same in every value and its type."""
    return list(one) == list(other) and all(repr(one[name]) == repr(other[name]) for name in one)
