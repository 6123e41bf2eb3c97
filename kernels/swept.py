"""The process that compute-sanitizer watches: the reduced sweep, or one planted fault, without torch.

`python -P -m campaign.kernels.swept sweep wide [GROUP …]` or `… fault NAME [sound]`; one line of JSON for each thing
that begins or ends, so that a process that is stopped has said how far it came.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from campaign.kernels import driver, faults
from campaign.kernels.device_array import STREAM, DeviceArray
from campaign.kernels.driver import Device, Kernel, Module
from campaign.kernels.errors import CampaignError
from campaign.kernels.launches import SWEEPS
from campaign.kernels.shapes import largest_cluster
from campaign.kernels.surroundings import surroundings

SEED = 5


def sweep(name: str, groups: Sequence[str], *, largest_cluster: int = 16) -> None:
    """Runs the launches of a sweep, of the named groups alone where there are any; says each before and after."""
    for number, launch in enumerate(SWEEPS[name]()):
        if (groups and launch.group not in groups) or launch.cluster > largest_cluster:
            continue
        _say(begun=launch.name)
        wrong = launch.run(np.random.default_rng([SEED, number]))
        _say(ended=launch.name, rows=launch.rows, wrong_rows=wrong)


def fault(device: Device, name: str, *, sound: bool) -> None:
    """Launches the kernel of a planted fault, or the same without it where `sound`."""
    planted = faults.fault_called(name)
    module = Module(faults.ready(device.target))
    kernel = Kernel(module, name, cluster=planted.blocks, threads=faults.THREADS, most_shared_bytes=0)
    data = DeviceArray(np.zeros(planted.blocks * faults.THREADS, np.int32), filled=sound or not planted.fresh)
    _say(begun=name)
    kernel.launch(planted.blocks, 0, STREAM, *faults.arguments(data.data_ptr(), sound=sound))
    driver.synchronize()
    _say(ended=name, rows=0, wrong_rows=0)


def _say(**what: Any) -> None:
    """Prints one line at once."""
    print(json.dumps(what), flush=True)


def main(arguments: Sequence[str]) -> None:
    """Does what the arguments name."""
    device = Device()
    _say(surroundings={**surroundings(device), "faults": faults.fingerprint()})
    if arguments[0] == "sweep":
        sweep(arguments[1], arguments[2:], largest_cluster=largest_cluster(device.capability))
    else:
        fault(device, arguments[1], sound=arguments[2:] == ["sound"])


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except CampaignError as wrong:
        sys.exit(f"swept: {wrong}")
