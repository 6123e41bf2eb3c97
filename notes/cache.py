"""What earlier runs found out, kept on disk under a digest of everything that it follows from.

It lies in the user's own folder for such files, never in the campaign: what comes with a clone could have been written
to be believed. What is kept is JSON, which cannot do anything when it is read, with a digest of its own; an entry that
is torn, foreign or of another version is as good as none.
"""

import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

FORMAT = 1
"""Changes with the form of the entries, so that an older one is not read."""
MOST_BYTES = 256 * 2**20
"""How much may be kept; the entries that were written longest ago go first."""
RACY_NS = 2 * 10**9
"""A file that changed so shortly before it was read may change again and look the same: no file system counts time in
coarser steps."""
PRIVATE = 0o700


def user_folder() -> Path:
    """Where the user's programs keep what they can make again: XDG_CACHE_HOME, or ~/.cache."""
    said = os.environ.get("XDG_CACHE_HOME", "")
    home = said if os.path.isabs(said) else os.path.join(os.path.expanduser("~"), ".cache")
    if not os.path.isabs(home):
        home = os.devnull  # a user without a home, as in a container: nothing can be kept, and that is no error
    return Path(home, "campaign-notes")


def digest(value: object) -> str:
    """sha256 over a value that JSON can say."""
    return hashlib.sha256(_text(value).encode()).hexdigest()


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


class Cache:
    """Entries by slot, each with the key under which it is true; a newer entry of a slot replaces the older one."""

    def __init__(self, folder: Path) -> None:
        """A cache in `folder`, which is made where it is missing; without one that is private nothing is kept."""
        self._folder = folder
        self._usable = _made_private(folder)
        self._wrote = False

    def get(self, slot: str, key: str) -> Any:
        """What is kept in `slot`, or None where nothing is, or what is there was written under another key."""
        found = self.peek(slot)
        return found["said"] if found is not None and found["key"] == key else None

    def peek(self, slot: str) -> dict[str, Any] | None:
        """The entry of `slot` with its key, or None where there is none that is whole."""
        if not self._usable:
            return None
        try:
            entry = json.loads(self._path(slot).read_bytes())
            body = {name: entry[name] for name in ("format", "slot", "key", "said")}
            whole = entry["sha256"] == digest(body) and (body["format"], body["slot"]) == (FORMAT, slot)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return body if whole else None

    def put(self, slot: str, key: str, said: object) -> None:
        """Nothing; `said` is then kept under `key`. What cannot be written is not kept: the next run computes it."""
        if not self._usable:
            return
        body = {"format": FORMAT, "slot": slot, "key": key, "said": said}
        text = _text(body | {"sha256": digest(body)})
        # Not synced: an entry that a power cut tears does not fit its digest.
        with suppress(OSError):
            handle, beside = tempfile.mkstemp(dir=self._folder, prefix=".")
            try:
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    file.write(text)
                os.replace(beside, self._path(slot))
                self._wrote = True
            except OSError:
                os.unlink(beside)

    def prune(self, most: int = MOST_BYTES) -> None:
        """Nothing; where this run wrote, at most `most` bytes are kept then."""
        if not self._wrote:
            return
        entries = []
        with suppress(OSError), os.scandir(self._folder) as found:
            for entry in found:
                with suppress(OSError):
                    state = entry.stat(follow_symlinks=False)
                    entries.append((state.st_mtime_ns, state.st_size, entry.path))
        left = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if left <= most:
                break
            with suppress(OSError):
                os.unlink(path)
                left -= size

    def _path(self, slot: str) -> Path:
        return self._folder / hashlib.sha256(slot.encode()).hexdigest()


def _made_private(folder: Path) -> bool:
    """Whether `folder` is there, made where it was not, and nobody but this user can write into it."""
    try:
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o022


class _Known(NamedTuple):
    """A file's hash, and how the file looked when it was read."""

    state: tuple[int, ...]
    sha256: str


class Hashes:
    """sha256 of files; one that looks as it did when it was read is not read again, as git does it.

    What a file looks like is its device and number, its size, and the times at which its bytes and its entry changed.
    A file that had changed just before it was read is read again: a change in the same moment would not show.
    """

    def __init__(self, known: Mapping[str, Any] | None = None) -> None:
        """`known` is what `as_json` gave in an earlier run; what does not fit is left out."""
        self._known: dict[str, _Known] = {}
        self._asked: dict[str, _Known] = {}
        self.changed = False
        """Whether a later run would have to read less, if it were given what is known now."""
        for path, said in (known or {}).items():
            with suppress(TypeError, ValueError):
                *state, sha256 = said
                self._known[path] = _Known(tuple(map(int, state)), str(sha256))

    def of(self, path: str) -> str:
        """The sha256 of the file at `path`; raises OSError where it cannot be read."""
        state = _state(path)
        known = self._known.get(path)
        if known is not None and known.state == state:
            self._asked[path] = known
            return known.sha256
        now = time.time_ns()
        with open(path, "rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        if _state(path) == state and max(state[:2]) + RACY_NS < now:
            self._known[path] = self._asked[path] = _Known(state, sha256)
            self.changed = True
        return sha256

    def as_json(self) -> dict[str, list[int | str]]:
        """What a later run needs; files that nobody asked for any more are left out."""
        return {path: [*known.state, known.sha256] for path, known in self._asked.items()}


def _state(path: str) -> tuple[int, ...]:
    state = os.stat(path)
    return (state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino, state.st_dev, state.st_mode)


def tree(folder: str, hashes: Hashes) -> list[list[str]]:
    """Everything below `folder`: path, kind and content, in the order of the paths; OSError where it cannot be read.

    Links are followed, so that what a reader of the files would see is in it, and named, so that they are not files.
    """
    return sorted(_walk(folder, "", hashes, ()))


def _walk(folder: str, below: str, hashes: Hashes, above: tuple[tuple[int, int], ...]) -> Iterator[list[str]]:
    state = os.stat(folder)
    here = (state.st_dev, state.st_ino)
    if here in above:
        return  # a link to a folder that holds it
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        name = f"{below}{entry.name}"
        if entry.is_symlink():
            yield [name, "link", os.readlink(entry.path)]
            if not os.path.exists(entry.path):
                continue
        if entry.is_dir():
            yield [name, "folder", ""]
            yield from _walk(entry.path, f"{name}/", hashes, (*above, here))
        elif entry.is_file():
            yield [name, "file", hashes.of(entry.path)]
        else:
            raise OSError(f"{entry.path}: neither file nor folder")


def hash_or_nothing(path: str, hashes: Hashes) -> str:
    """The sha256 of a file, or an empty text where there is none; other trouble is an OSError."""
    try:
        return hashes.of(path)
    except FileNotFoundError:
        return ""
