"""Starting the measuring side as a process of its own: this side never loads an engine."""

import os
import signal
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


STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a measurement; whichever of the two processes gets one, both end."""


def measuring_process(folder: Path) -> int:
    """The exit code of `python -P -m campaign.engine.measure folder`; 128 + N where signal N ended it."""
    # Threads that wait for work give the core away: spinning ones made steps ten times as long beside other work.
    environment = {"OMP_WAIT_POLICY": "PASSIVE"} | os.environ
    command = [sys.executable, "-P", "-m", "campaign.engine.measure", "--parent", str(os.getpid()), str(folder)]
    # Held back until the new process, which inherits this, can end its row and say so.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        process = subprocess.Popen(command, env=environment)
        # One that is ignored, under nohup or in a shell's background, stays ignored.
        heard = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
        handlers = {number: signal.signal(number, lambda n, _: process.send_signal(n)) for number in heard}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        code = process.wait()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if code < 0:
        print(
            f"notes: the measuring process was ended by {signal.Signals(-code).name}: finished rows stay, the row "
            "under way is void. Run it again to go on.",
            file=sys.stderr,
        )
        return 128 - code
    return code
