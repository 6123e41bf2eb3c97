"""What a tool may touch: a scratch directory that no path leaves, and processes that can only compute.

Files. The tools read and write for the model, never the model's code. A path is a few plain ASCII names with single
slashes between them: absolute paths, `..`, names that start with a dot, NUL, other scripts, control characters and
long names are refused before the disk is asked. On the disk every step is opened from its parent's descriptor
without following a link, and only a regular file with one name is read or written, so that a symbolic link, a hard
link, a pipe or a device leads nowhere, also when it is put there between two calls. Sizes and the number of files
are limited.

Processes. A file of the scratch directory runs in a new Python with an empty environment, no open files but its
output, a session of its own, and limits on memory, processor time, wall time and output. It cannot write at all, not
even in its own directory: the kernel's limit on file size is zero. It cannot start a process or a thread: that limit
is zero too, and a trial fork proves it before the file runs. Its group is killed with SIGKILL at the end, always, and
it dies with the process that started it.

- Always held by the kernel: no byte written to a file, no process, no thread, limits on resources, the end in time.
- Held by the kernel where the measuring process is root: an unprivileged user, so that nothing that is not open to
  everybody can be emptied, renamed or removed, and no process of another user be signalled.
- Held by the kernel where it offers Landlock (from 5.13 on, and not switched off): no file opened for writing, made,
  renamed or removed anywhere; nothing read but the scratch directory, the standard library and the system's
  libraries; from 6.7 on no TCP; from 6.12 on no signal to other processes.
- Held by the kernel where it offers seccomp (any Linux on x86_64 or aarch64 that does not switch it off): no socket of
  any kind, no other program, no signal, no look into other processes, no file opened for writing, made, renamed,
  removed or changed in its rights and times.
- Held by Python, with an audit hook: the same refusals with a clear message. Anything but a refused reading ends the
  run at once, so that no `except` hides it. It is there for the message: code that means to can switch it off.

None of it needs a namespace, so it holds inside containers too. Each process has what of this its machine offers:
`Run.extras` says which of `landlock`, `unprivileged user` and `seccomp` held, and `optional_measures` asks once.

Not confined: code that switches the audit hook off can still look at names and sizes of files that its user may look
at. Without Landlock it can read what its user may read (a measuring process that is not root: all that its owner may);
without seccomp it can use sockets other than TCP; without both it can make, empty or remove files that its user may,
and signal its user's processes. Caches and bandwidth of the machine are shared.

Linux only.
"""

import contextlib
import errno
import json
import os
import re
import selectors
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from campaign.kernels.errors import CampaignError

NAME = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,64}", re.ASCII)
"""One step of a path."""

FOLDERS = 4
"""Folders that a path may pass through, at most."""

FILE_BYTES = 16 * 1024
FILES = 24

INSIDE = Path(__file__).with_name("confined.py")


class Refused(Exception):
    """The model asked for what a tool does not do; the text is what the model is told."""


class ConfinementError(CampaignError):
    """The harness could not confine or run a file; the model has no part in it."""


@dataclass(frozen=True)
class Limits:
    """What a run may use."""

    wall_seconds: float = 5.0
    """From the moment that the file starts."""
    processor_seconds: int = 1
    memory_bytes: int = 256 * 1024 * 1024
    output_bytes: int = 4 * 1024
    start_seconds: float = 30.0
    """Until the confinement stands; longer than that is the machine's fault."""


@dataclass(frozen=True)
class Run:
    """What came of running a file."""

    output: str
    """Standard output and errors in the order written."""
    code: int | None
    """Exit status; None where the run was stopped."""
    stopped: str
    """Why the run was stopped, or nothing."""
    extras: tuple[str, ...]
    """Optional measures that held: `landlock`, `unprivileged user`, `seccomp`."""

    @property
    def succeeded(self) -> bool:
        return self.code == 0


class Scratch:
    """A directory in which paths are looked up without ever leaving it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    @classmethod
    def laid(cls, root: Path, files: Mapping[str, str]) -> "Scratch":
        """A new directory at `root` that holds `files`."""
        root.mkdir()
        # Code runs as an unprivileged user, whatever the umask of this process is.
        root.chmod(0o755)
        scratch = cls(root)
        for path, text in files.items():
            scratch.write(path, text)
        return scratch

    def close(self) -> None:
        os.close(self._root)

    def __enter__(self) -> "Scratch":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def paths(self) -> tuple[str, ...]:
        """Every file below the directory by its path, sorted; links and other kinds among them."""
        return tuple(sorted(self._walk(self._root, "", FOLDERS)))

    def read(self, path: str) -> str:
        """The text of a file."""
        file = self._open(path, os.O_RDONLY)
        try:
            data = b""
            while chunk := os.read(file, FILE_BYTES + 1 - len(data)):
                data += chunk
        finally:
            os.close(file)
        if len(data) > FILE_BYTES:
            raise Refused(f"{path} is larger than {FILE_BYTES} bytes")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Refused(f"{path} is no UTF-8 text") from None

    def write(self, path: str, text: str) -> None:
        """Nothing; the file at `path` holds `text`, its folders were made where they were missing."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise Refused("the text holds half of a surrogate pair; it cannot be written") from None
        if len(data) > FILE_BYTES:
            raise Refused(f"the text has {len(data)} bytes; a file may have {FILE_BYTES}")
        if path not in (there := self.paths()) and len(there) >= FILES:
            raise Refused(f"the directory holds {len(there)} files already, and may hold {FILES}")
        file = self._open(path, os.O_WRONLY | os.O_CREAT)
        try:
            os.ftruncate(file, 0)
            os.fchmod(file, 0o644)
            while data:
                data = data[os.write(file, data) :]
        finally:
            os.close(file)

    def files(self) -> dict[str, str | None]:
        """The text of every file by its path; None for what is no regular UTF-8 file of one name."""
        found: dict[str, str | None] = {}
        for path in self.paths():
            try:
                found[path] = self.read(path)
            except Refused:
                found[path] = None
        return found

    def _open(self, path: str, flags: int) -> int:
        """The descriptor of the regular file at `path`."""
        steps = _steps(path)
        make = bool(flags & os.O_CREAT)
        folder = os.dup(self._root)
        try:
            for step in steps[:-1]:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(step, 0o755, dir_fd=folder)
                below = self._open_step(step, os.O_RDONLY | os.O_DIRECTORY, folder, path)
                os.close(folder)
                folder = below
            # O_NONBLOCK: a pipe without a writer would hold the harness for ever.
            file = self._open_step(steps[-1], flags | os.O_NONBLOCK, folder, path)
        finally:
            os.close(folder)
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            os.close(file)
            raise Refused(f"{path} is not a plain file")
        return file

    @staticmethod
    def _open_step(step: str, flags: int, folder: int, path: str) -> int:
        try:
            return os.open(step, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)
        except FileNotFoundError:
            raise Refused(f"there is no file {path}") from None
        except OSError as error:
            # A full disk or too many open files is the machine's fault; these are the path's.
            if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EMLINK):
                raise Refused(f"{path} is not a plain file") from None
            raise

    def _walk(self, folder: int, before: str, depth: int) -> list[str]:
        found = []
        for name in os.listdir(folder):
            entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(entry.st_mode) or depth == 0:
                found.append(before + name)
                continue
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                found += self._walk(below, f"{before}{name}/", depth - 1)
            finally:
                os.close(below)
        return found


def _steps(path: str) -> list[str]:
    steps = path.split("/")
    if len(steps) > FOLDERS + 1 or not all(NAME.fullmatch(step) for step in steps):
        raise Refused(f"{path[:80]!r} is not a path here; use plain names, for example notes.txt or data/notes.txt")
    return steps


def run_python(scratch: Scratch, path: str, limits: Limits = Limits()) -> Run:
    """What the Python file at `path` of `scratch` does, confined as the module says."""
    scratch.read(path)  # refused here where it is no plain file
    told, tell = os.pipe()
    try:
        said = {
            "path": path,
            "ready": tell,
            "parent": os.getpid(),
            "processor_seconds": limits.processor_seconds,
            "memory_bytes": limits.memory_bytes,
        }
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-X", "utf8", str(INSIDE), json.dumps(said)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=scratch.root,
            env={},
            pass_fds=(tell,),
            start_new_session=True,
        )
    except OSError as error:
        os.close(told)
        raise ConfinementError(f"{INSIDE.name} could not be started: {error}; expected a new process") from error
    finally:
        os.close(tell)
    try:
        ready, output, stopped = _follow(child, told, limits)
        if not stopped and not _ended(child, limits.wall_seconds):
            stopped = f"stopped after {limits.wall_seconds:g} s"
    finally:
        os.close(told)
        # Before its exit status is taken: until then its number, the group's, belongs to nobody else.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.stdout.close()
        child.wait()
    text = output.decode(errors="replace")
    if not ready.startswith(b"ready"):
        raise ConfinementError(
            f"{path}: the confinement did not come about: {stopped or text.strip()[-400:] or 'no word from it'}; "
            "expected every measure to hold before the file runs"
        )
    if not stopped and child.returncode == -signal.SIGXCPU:
        stopped = f"stopped after {limits.processor_seconds} s of processor time"
    elif not stopped and child.returncode == -signal.SIGKILL:
        stopped = "killed by the kernel"
    extras = tuple(filter(None, ready.removeprefix(b"ready ").decode().split(", ")))
    return Run(text, None if stopped else child.returncode, stopped, extras)


def optional_measures(folder: Path) -> tuple[str, ...]:
    """The optional measures that hold on this machine, found out with an empty file in a new directory of `folder`."""
    with (
        tempfile.TemporaryDirectory(prefix="measures-", dir=folder) as name,
        Scratch.laid(Path(name) / "files", {"empty.py": ""}) as scratch,
    ):
        return run_python(scratch, "empty.py").extras


def _follow(child: subprocess.Popen, told: int, limits: Limits) -> tuple[bytes, bytes, str]:
    """What the confinement said, what was written, and why the run must be stopped; until the output ends."""
    ready, output = b"", b""
    until = time.monotonic() + limits.start_seconds
    with selectors.DefaultSelector() as selector:
        selector.register(told, selectors.EVENT_READ)
        selector.register(child.stdout, selectors.EVENT_READ)
        while child.stdout in (key.fileobj for key in selector.get_map().values()):
            left = until - time.monotonic()
            if left <= 0:
                return ready, output, f"stopped after {limits.wall_seconds if ready else limits.start_seconds:g} s"
            for key, _ in selector.select(left):
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fd == told:
                    ready += data
                    until = time.monotonic() + limits.wall_seconds
                else:
                    output += data
            if len(output) > limits.output_bytes:
                return ready, output[: limits.output_bytes], f"stopped after {limits.output_bytes} bytes of output"
    return ready, output, ""


def _ended(child: subprocess.Popen, seconds: float) -> bool:
    """Whether the process has ended by then; its exit status is left where it is."""
    until = time.monotonic() + seconds
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True
