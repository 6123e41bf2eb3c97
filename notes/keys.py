"""What the report of a part follows from: its files, the parts that they name, the program, git, the day.

A check reads the part's own files, campaign.toml, what the index holds, and files of parts that its own files name.
What else of the campaign it reads is found out while it works. Two reports that follow from the same are the same.
What goes in is taken wide: a change that would change no report may count, and then a part is only checked again.
"""

import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from campaign.notes.cache import RACY_NS, Hashes, digest, hash_or_nothing, tree
from campaign.notes.corrections import canonical
from campaign.notes.index import Index, Snapshot
from campaign.notes.paths import MARKER, Part

CODE = ("notes", "analysis", "engine", "kernels", "templates")
JUST_NOW_S = 5
"""A file of the program that changed so shortly before its start may not be the one that runs."""
GIT_FILES = ("shallow", "info/grafts", "info/attributes")
_STARTED = time.time()


_NAMED = re.compile(rb"part[-. _]?(\d+)", re.IGNORECASE)
"""How a file names another part: part-4, part.4, Part 4."""


@dataclass(frozen=True)
class Around:
    """What the reports of all parts follow from alike, and what each may quote of the others."""

    digest: str
    """Of the program, git, the campaign's settings, its parts and the names of their files, and the day."""
    quotable: str
    """Of what every part may quote of the others."""
    index: Index

    def key(self, part: Part, own: str) -> str:
        """The key of the part's report, where `own` is the digest of its files."""
        caused = [[found.part.name, canonical(found.correction)] for found in self.index.caused.get(part.name, ())]
        return digest([self.digest, self.quotable, part.name, own, caused])


def files_of(part: Part, hashes: Hashes) -> str:
    """A digest of everything in the part's folder, and of its page; OSError where it cannot be read."""
    return digest([tree(str(part.folder), hashes), hash_or_nothing(str(part.page), hashes)])


def named_by(part: Part, index: Index) -> list[str]:
    """The other parts that any of the part's files names, and those that it corrected; OSError as `files_of`."""
    found = {f"part-{int(number)}" for path in _all_below(part.folder) for number in _NAMED.findall(path.read_bytes())}
    found |= {one.part.name for one in index.caused.get(part.name, ())}
    return sorted(name for name in found - {part.name} if (part.campaign.parts_folder / name).is_dir())


def _all_below(folder: Path) -> Iterator[Path]:
    for here, _, names in os.walk(folder, followlinks=True):
        yield from (Path(here, name) for name in names)


def around(campaign: Snapshot, today: date) -> Around | None:
    """What surrounds the parts of a campaign now; None where that cannot be told, and nothing may be kept."""
    code = program()
    if code is None or campaign.index.unreadable or campaign.index.uncorrected:
        return None
    try:
        what = [
            code,
            _machine(),
            git_state(campaign.root),
            str(campaign.root),
            [hash_or_nothing(str(campaign.root / name), Hashes()) for name in (MARKER, ".gitattributes")],
            [[part.name, sorted(os.listdir(part.folder))] for part in campaign.parts()],
            [today.isoformat(), datetime.now(UTC).date().isoformat()],
        ]
    except OSError:
        return None
    quotable = [[reading.id, reading.value, reading.because] for reading in campaign.index.readings.values()]
    return Around(digest(what), digest(quotable), campaign.index)


def used(
    asked: Iterable[tuple[str, str]], part: Part, named: Sequence[str], hashes: Hashes, began_ns: int
) -> list[list[str]] | None:
    """What the check of `part` read of the campaign outside its own folder and those of the parts that it names.

    Each with what is there now. None where something cannot be read, or changed since the check began. What every
    key holds is left out.
    """
    root = os.path.realpath(part.campaign.root)
    home = Path(__file__).parents[1]
    folders = [part.folder, *(part.campaign.parts_folder / name for name in named)]
    covered = [os.path.join(root, ".git"), os.path.join(root, MARKER), *map(os.path.realpath, folders)]
    covered += [os.path.realpath(home / name) for name in CODE]
    # A prefix above the campaign, as /usr is above /usr/local/src, would cover what is read of other parts.
    prefixes = map(os.path.realpath, (sys.prefix, sys.base_prefix))
    covered += [place for place in prefixes if place != root and _below(place, root)]
    found = set()
    for kind, path in asked:
        real = os.path.realpath(path)
        if _below(real, root) and not any(_below(real, place) for place in covered):
            found.add((kind, real))
    state = state_of(sorted(found), hashes)
    return None if any(_changed_since(path, began_ns) for _, path in found) else state


def _changed_since(path: str, moment_ns: int) -> bool:
    try:
        return os.stat(path).st_ctime_ns + RACY_NS > moment_ns
    except OSError:
        return False


def state_of(places: Iterable[tuple[str, str]], hashes: Hashes) -> list[list[str]] | None:
    """Each file with its hash and each folder with the names in it, as they are now; None where one is unreadable."""
    try:
        return [[kind, path, _state(kind, path, hashes)] for kind, path in places]
    except OSError:
        return None


def _state(kind: str, path: str, hashes: Hashes) -> str:
    if kind == "file":
        return hash_or_nothing(path, hashes)
    try:
        return digest(sorted(os.listdir(path)))
    except (FileNotFoundError, NotADirectoryError):
        return ""


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def program() -> str | None:
    """sha256 over the program's own files and the versions of everything installed beside it.

    None where one of its files cannot be read, or changed after this process began, or just before: another one may be
    running.
    """
    home = Path(__file__).parents[1]
    files: list[list[str]] = []
    hashes = Hashes()
    try:
        for path in sorted(_code(home)):
            if os.stat(path).st_ctime > _STARTED - JUST_NOW_S:
                return None
            files.append([os.path.relpath(path, home), hashes.of(path)])
    except OSError:
        return None  # an editor's lock file, say
    return digest([files, sorted(_installed())])


def _code(home: Path) -> Iterator[str]:
    for folder in CODE:
        for here, folders, names in os.walk(home / folder, followlinks=True):
            folders[:] = [name for name in folders if name != "__pycache__"]
            yield from (os.path.join(here, name) for name in names)


def _installed() -> Iterator[str]:
    """The names of the folders that say which versions are installed."""
    for place in sys.path:
        try:
            names = os.listdir(place or os.curdir)
        except OSError:
            continue
        yield from (name for name in names if name.endswith((".dist-info", ".egg-info")))


def _machine() -> list[str]:
    return [sys.version, platform.system(), platform.machine()]


def git_state(root: Path) -> list[object]:
    """Everything that a check can learn from git follows from this: HEAD, the other refs, and which objects are here.

    Objects are not read: each file of them is told by its name, its size and when it changed, also in the repositories
    that this one borrows objects from.
    """
    said = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("GIT_")]
    status, where = _git(root, "rev-parse", "--show-toplevel", "--git-common-dir", "HEAD")
    if len(where.splitlines()) < 2:
        return [said, status, where]
    common = root / where.splitlines()[1]
    refs = _git(root, "for-each-ref", "--format=%(objectname) %(refname)")
    # With what it includes, what all repositories of this user have, and what this work tree has of its own.
    settings = _git(root, "config", "--list", "--null")
    files = [hash_or_nothing(str(common / name), Hashes()) for name in GIT_FILES]
    stores = [[str(store), sorted(_objects(store))] for store in _stores(root, common)]
    return [said, status, where, refs, settings, files, stores]


def _stores(root: Path, common: Path) -> list[Path]:
    """The folders in which git looks for objects: its own, and all that these borrow from."""
    own = os.environ.get("GIT_OBJECT_DIRECTORY")
    more = os.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "")
    open_ = [root / own if own else common / "objects", *(root / one for one in more.split(os.pathsep) if one)]
    found: dict[Path, None] = {}
    while open_:
        store = open_.pop(0).resolve()
        if store not in found:
            found[store] = None
            open_ += _borrowed(store)
    return list(found)


def _borrowed(store: Path) -> Iterator[Path]:
    """The folders that a folder of objects names as others to look in."""
    try:
        lines = (store / "info" / "alternates").read_bytes().split(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return
    yield from (store / os.fsdecode(line) for line in lines if line and not line.startswith(b"#"))


def _objects(folder: Path) -> Iterator[str]:
    """The files of a folder of objects; none where a borrowed one is gone."""
    for inner in sorted(os.listdir(folder)) if folder.is_dir() else ():
        if os.path.isdir(folder / inner):
            with os.scandir(folder / inner) as found:
                for entry in found:
                    state = entry.stat()
                    yield f"{inner}/{entry.name} {state.st_size} {state.st_ctime_ns}"


def _git(root: Path, *arguments: str) -> tuple[int, str]:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
    except FileNotFoundError:
        return -1, ""
    return done.returncode, os.fsdecode(done.stdout)
