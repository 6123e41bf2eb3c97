"""What a check or a bench ran on, as its record says it."""

import ctypes
from typing import Any

import torch

from campaign.kernels import driver
from campaign.kernels.surroundings import surroundings


def environment() -> dict[str, Any]:
    """The machine, the versions and the sources of a run on the current GPU."""
    device = torch.cuda.get_device_properties(torch.cuda.current_device())
    return {
        **surroundings(None),
        "gpu": device.name,
        "multiprocessors": device.multi_processor_count,
        "compute_capability": f"{device.major}.{device.minor}",
        "driver": driver_version(),
        "driver_cuda": driver.version(),
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
    }


def driver_version() -> str | None:
    """The version of the NVIDIA driver, as "580.95.05"; None where its management library does not say it."""
    text = ctypes.create_string_buffer(80)
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        if library.nvmlInit_v2() or library.nvmlSystemGetDriverVersion(text, len(text)):
            return None
    except (OSError, AttributeError):
        return None
    return text.value.decode()
