"""What a check or a bench ran on, as its record says it."""

import platform
from datetime import UTC, datetime
from typing import Any

import numpy as np
import torch

from campaign.kernels import build


def environment() -> dict[str, Any]:
    """The machine, the versions and the sources of a run on the current GPU."""
    device = torch.cuda.get_device_properties(torch.cuda.current_device())
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "gpu": device.name,
        "multiprocessors": device.multi_processor_count,
        "compute_capability": f"{device.major}.{device.minor}",
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "sources": build.fingerprint(),
    }
