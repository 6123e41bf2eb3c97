"""Ahead-of-time builds of the CUDA sources: machine code for each target, in files that need no compiler to run."""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from campaign.kernels.errors import CampaignError
from campaign.kernels.shapes import MASKED_SHAPES, SHAPES, Shape
from campaign.kernels.toolkit import compile_cubin, tool

SOURCES = Path(__file__).resolve().parent / "cuda"
BUILT = Path(__file__).resolve().parent / "built"
"""Where builds go and are looked for first; the next place is the user's cache."""

TARGETS = ("sm_90a", "sm_120a")
"""Hopper (compute capability 9.0), and consumer Blackwell (12.0), on which nothing here has run."""

FLAGS = ("-std=c++17", "-O3")
"""Never -use_fast_math or --ftz: scores are ranked as bits, and keys.cuh says how."""


class Unit(NamedTuple):
    """One compilation: a source with some of its shapes. Small ones compile side by side."""

    source: str
    shapes: tuple[Shape, ...]

    @property
    def name(self) -> str:
        """How its files are called."""
        return f"{Path(self.source).stem}_c{self.shapes[0].cluster}"

    @property
    def text(self) -> str:
        """What the compiler is given."""
        kernels = " ".join(f"KERNELS({shape.cluster}, {shape.threads}, {shape.vectors})" for shape in self.shapes)
        return f'#define SHAPES {kernels}\n#include "{self.source}"\n'


def units() -> list[Unit]:
    """All compilations: for each source, one for each size of cluster."""
    return [
        Unit(source, tuple(shape for shape in shapes if shape.cluster == cluster))
        for source, shapes in (("masked.cu", MASKED_SHAPES), ("topk.cu", SHAPES))
        for cluster in sorted({shape.cluster for shape in shapes}, reverse=True)
    ]


def fingerprint() -> str:
    """A hash of the sources, the shapes and the flags: what a build is of."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.glob("*.cu*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(json.dumps([SHAPES, MASKED_SHAPES, FLAGS]).encode())
    return digest.hexdigest()[:16]


def build(folder: Path = BUILT, targets: Sequence[str] = TARGETS, *, jobs: int | None = None) -> Path:
    """The folder with machine code of these sources for `targets`, built now as far as it is not there.

    Raises CampaignError where nvcc is missing or refuses the sources.
    """
    nvcc = tool("nvcc")
    if nvcc is None:
        raise CampaignError(
            "no nvcc on the PATH, expected CUDA 13.0 or later. Build where it is "
            "(`python -P -m campaign.kernels build`), and bring the folder kernels/built/ here: running needs no "
            "compiler."
        )
    folder = folder / fingerprint()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [(unit, target) for unit in units() for target in targets]
    missing = [each for each in wanted if not (folder / _file(*each)).is_file()]
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        list(pool.map(lambda each: _compile(nvcc, folder, *each), missing))
    return folder


def find(target: str, folders: Iterable[Path] = ()) -> Path:
    """The folder with builds of these very sources for `target`.

    Raises CampaignError where there is none; nothing is compiled.
    """
    places = [*folders, BUILT, cache()]
    for place in places:
        folder = place / fingerprint()
        if all((folder / _file(unit, target)).is_file() for unit in units()):
            return folder
    raise CampaignError(
        f"no build of these kernels for {target} in {', '.join(map(str, places))} (looked for {fingerprint()}/). "
        "Run `python -P -m campaign.kernels build`, where nvcc is."
    )


def cache() -> Path:
    """Where builds go that the package's own folder cannot take."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "campaign" / "kernels"


def writable() -> Path:
    """The package's own folder for builds, or the user's cache where that cannot be written."""
    try:
        BUILT.mkdir(exist_ok=True)
        (BUILT / ".writable").touch()
        (BUILT / ".writable").unlink()
    except OSError:
        return cache()
    return BUILT


def _file(unit: Unit, target: str) -> str:
    """The name of a unit's machine code."""
    return f"{unit.name}.{target}.cubin"


def _compile(nvcc: Path, folder: Path, unit: Unit, target: str) -> None:
    """Compiles one unit for one target; its file appears whole or not at all."""
    text = folder / f".{os.getpid()}.{unit.name}.{target}.cu"  # another process may be building the same
    try:
        text.write_text(unit.text)
        compile_cubin(nvcc, text, target, folder / _file(unit, target), (*FLAGS, f"-I{SOURCES}"), unit.source)
    finally:
        text.unlink(missing_ok=True)
