"""Starting the measuring side as a process of its own: this side never loads an engine."""

import os
import subprocess
import sys
from pathlib import Path

from campaign.engine.plan import read_plan
from campaign.notes.errors import UsageError
from campaign.notes.paths import Part
from campaign.notes.seal import read_seal, require_sealed_plan


def run_part(part: Part) -> int:
    """The exit code of the process that measures the part's rows; what it says goes to the terminal."""
    plan = read_plan(part.plan, part.show(part.plan))
    if plan.measure is None:
        raise UsageError(
            f"{part.show(part.plan)}: has no [measure]; expected the engine and its seed. "
            "A part whose records come from elsewhere gets them as files in data/."
        )
    require_sealed_plan(part)
    seal = read_seal(part)
    if seal is None or seal.origin != "measured":
        raise UsageError(
            f"{part.show(part.seal)}: the plan is not sealed as measured; expected the seal before the first row. "
            f"Commit the plan and run `notes seal {part.name}`."
        )
    return measuring_process(part.folder)


def measuring_process(folder: Path) -> int:
    """The exit code of `python -P -m campaign.engine.measure folder`."""
    # Threads that wait for work give the core away: spinning ones made steps ten times as long beside other work.
    environment = {"OMP_WAIT_POLICY": "PASSIVE"} | os.environ
    process = subprocess.Popen([sys.executable, "-P", "-m", "campaign.engine.measure", str(folder)], env=environment)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            # The terminal told both; the measuring side ends its row and says so.
            continue
