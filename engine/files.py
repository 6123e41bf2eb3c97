"""Files written whole or not at all, and what names their bytes."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from campaign.engine.errors import RecordError


def write_bytes(path: Path, data: bytes) -> None:
    """Nothing; `path` then holds exactly `data`, or still what it held before when writing fails."""
    # A link is followed, or os.replace would put a file in its place.
    path = path.resolve()
    if not path.parent.is_dir():
        raise RecordError(f"{path}: its folder does not exist; expected {path.parent}. Make that folder first.")
    # In the same folder, because os.replace is atomic only within one file system.
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o7777)
        os.replace(beside, path)
        _sync_folder(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Nothing; names that changed in `folder` are on the disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def write_text(path: Path, text: str) -> None:
    """Nothing; `path` then holds `text` as UTF-8, its line ends as they are in `text`."""
    write_bytes(path, text.encode("utf-8"))


def sha256_of(path: Path) -> str:
    """The sha256 of a file in hexadecimal, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(digests: Mapping[str, str]) -> str:
    """One sha256 over the names and hashes of files, in the order of their names."""
    lines = "".join(f"{name} {sha}\n" for name, sha in sorted(digests.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
