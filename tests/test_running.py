"""The process that `notes run` starts: what becomes of its end, and of the signals that `notes run` gets."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from campaign.notes import running

WAITING = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
print("waits", flush=True)
time.sleep(60)
"""


def program(path: Path, text: str) -> str:
    """An executable file of Python that stands for the interpreter."""
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return str(path)


def test_exit_code_of_the_measuring_process_is_passed_on(tmp_path, monkeypatch):
    """What the measuring side ends with is what `notes run` ends with."""
    monkeypatch.setattr(running.sys, "executable", program(tmp_path / "python", "raise SystemExit(2)"))
    assert running.measuring_process(tmp_path) == 2


def test_killed_measuring_process_is_told(tmp_path, monkeypatch, capsys):
    """After kill -9 of the measuring process alone a line says so, and what to do; the exit code is a shell's."""
    killed = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setattr(running.sys, "executable", program(tmp_path / "python", killed))
    assert running.measuring_process(tmp_path) == 137
    assert "was ended by SIGKILL: finished rows stay" in capsys.readouterr().err


@pytest.mark.parametrize("ignored", [False, True])
def test_signal_reaches_the_measuring_process(tmp_path, ignored):
    """A signal for `notes run` alone ends the measuring process too, and its exit code comes back; not if ignored."""
    source = f"""
import signal, sys
from pathlib import Path
from campaign.notes import running
signal.signal(signal.SIGTERM, signal.SIG_IGN if {ignored} else signal.SIG_DFL)
sys.executable = {program(tmp_path / "python", WAITING.replace("60", "2" if ignored else "60"))!r}
sys.exit(running.measuring_process(Path({str(tmp_path)!r})))
"""
    paths = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", source], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}
    )
    with process:
        assert process.stdout.readline() == "waits\n"
        process.send_signal(signal.SIGTERM)
    assert process.returncode == (0 if ignored else 143)
