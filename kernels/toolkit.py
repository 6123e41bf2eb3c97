"""The CUDA toolkit: where its tools are, and one call of its compiler."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from campaign.kernels.errors import CampaignError


def tool(name: str) -> Path | None:
    """Where a tool of the CUDA toolkit is: on the PATH, in /usr/local/cuda, or in an installed package of it."""
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    places = [
        shutil.which(name),
        f"/usr/local/cuda/bin/{name}",
        *sorted(packages.glob(f"cu*/bin/{name}"), reverse=True),
    ]
    return next((Path(place) for place in places if place and Path(place).is_file()), None)


def compile_cubin(nvcc: Path, source: Path, target: str, cubin: Path, flags: Sequence[str], name: str) -> str:
    """What the compiler says of `source`, whose machine code for `target` is now in the file `cubin`.

    The file appears whole or not at all. Raises CampaignError, which calls the source by `name`, where nvcc refuses it.
    """
    arch = target.removeprefix("sm_")
    code = f"-gencode=arch=compute_{arch},code={target}"
    made = cubin.with_name(f".{os.getpid()}.{cubin.name}")  # another process may be making the same
    try:
        command = [nvcc, *flags, code, "-cubin", "-o", made, source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CampaignError(f"nvcc refused {name} for {target}:\n{(done.stderr or done.stdout).strip()[-4000:]}")
        made.rename(cubin)
    finally:
        made.unlink(missing_ok=True)
    return done.stderr
