"""The planted faults: what each is, which tool should report it, and the machine code that holds them all."""

import ctypes
import hashlib
from pathlib import Path
from typing import NamedTuple

from campaign.kernels import build
from campaign.kernels.errors import CampaignError
from campaign.kernels.toolkit import compile_cubin, tool

SOURCE = Path(__file__).resolve().parent / "planted" / "faults.cu"
THREADS = 128
"""Threads of a block, as in the source."""


class Fault(NamedTuple):
    """One planted fault: a kernel of the source, by name."""

    name: str
    tool: str
    """The tool of compute-sanitizer that is asked for it."""
    what: str
    """The fault in words."""
    blocks: int = 1
    """1, or 2: a cluster."""
    remote: bool = False
    """Whether the fault is in another block's shared memory."""
    required: bool = True
    """Whether a tool that does not report it counts as blind; else its being reported is what is asked."""
    fresh: bool = False
    """Whether the fault is that the kernel's memory was never written."""


FAULTS = (
    Fault("write_past_global", "memcheck", "a write past global memory"),
    Fault("write_past_remote_shared", "memcheck", "a write past another block's shared memory", 2, remote=True),
    Fault("race_in_block", "racecheck", "a race within a block"),
    Fault("race_in_cluster", "racecheck", "a race through another block's shared memory", 2, remote=True),
    Fault(
        "missing_wait", "racecheck", "a missing wait for stores counted by a barrier", 2, remote=True, required=False
    ),
    Fault("divergent_barrier", "synccheck", "a barrier in a loop that half a warp leaves early", required=False),
    Fault("predicated_barrier", "synccheck", "a barrier that half a warp goes past"),
    Fault("read_fresh_global", "initcheck", "a read of fresh global memory", fresh=True),
    Fault(
        "read_fresh_remote_shared",
        "initcheck",
        "a read of another block's fresh shared memory",
        2,
        remote=True,
        required=False,
    ),
)


def fault_called(name: str) -> Fault:
    """The fault of that name; KeyError where there is none."""
    return {fault.name: fault for fault in FAULTS}[name]


def arguments(address: int, *, sound: bool) -> tuple[ctypes.c_void_p, ctypes.c_int]:
    """What every kernel of the source takes: its memory, and whether its fault is left out."""
    return ctypes.c_void_p(address), ctypes.c_int(sound)


def fingerprint() -> str:
    """A hash of the source, of what it includes and of the flags."""
    digest = hashlib.sha256()
    for path in (SOURCE, build.SOURCES / "cluster.cuh"):
        digest.update(path.read_bytes() + b"\0")
    digest.update(" ".join(build.FLAGS).encode())
    return digest.hexdigest()[:16]


def ready(target: str) -> Path:
    """The machine code of the faults for `target`: built ahead, or compiled now, beside the product's builds.

    Raises CampaignError where there is none and no compiler.
    """
    name = f"planted_{fingerprint()}/faults.{target}.cubin"
    places = [folder / name for folder in (build.BUILT, build.cache())]
    found = next((place for place in places if place.is_file()), None)
    if found:
        return found
    nvcc = tool("nvcc")
    if nvcc is None:
        raise CampaignError(
            f"no machine code of the planted faults for {target} (looked for {name} in "
            f"{build.BUILT} and {build.cache()}) and no nvcc to make it. Run `python -P -m campaign.kernels build` "
            "where nvcc is, and bring the folder kernels/built/ here."
        )
    cubin = build.writable() / name
    cubin.parent.mkdir(parents=True, exist_ok=True)
    compile_cubin(nvcc, SOURCE, target, cubin, (*build.FLAGS, f"-I{build.SOURCES}"), SOURCE.name)
    return cubin
