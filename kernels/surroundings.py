"""What kernels ran on, said without torch."""

import platform
from datetime import UTC, datetime
from typing import Any

import numpy as np

from campaign.kernels import build, driver
from campaign.kernels.driver import Device


def surroundings(device: Device | None) -> dict[str, Any]:
    """The versions and the sources of a run, and its machine where it had a GPU."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        **(_machine(device) if device else {}),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "sources": build.fingerprint(),
    }


def _machine(device: Device) -> dict[str, Any]:
    """The GPU and its driver."""
    return {
        "gpu": device.name,
        "multiprocessors": device.multiprocessors,
        "compute_capability": ".".join(map(str, device.capability)),
        "driver_cuda": driver.version(),
    }
