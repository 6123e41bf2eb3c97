"""The inside of the confinement: what a new Python process does to itself before it runs a file.

`confinement.py` starts this file as a program; it imports nothing but the standard library, and nothing imports it.
What each measure holds is said there. A byte on the pipe `ready` says that every measure is in place: whatever comes
after it is the doing of the file that runs, and nothing that the file does can take it back.
"""

import importlib
import json
import os
import sys
import traceback
import types

RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many of Landlock's file rights a kernel knows, by the version of its interface; 16 from version 5 on."""

READ = 1 << 2 | 1 << 3
"""Landlock's rights to read a file and to list a folder."""

NOBODY = 65534

LOOKING = ("os.listdir", "os.scandir")
HARMLESS = ("os.putenv", "os.unsetenv", "os.getxattr", "os.listxattr", "os.walk", "os.fwalk")
REFUSED = ("os.", "shutil.", "subprocess.", "socket.", "ctypes.", "fcntl.", "mmap.", "pty.", "signal.", "resource.")
REFUSED_ALSO = ("_thread.start_new_thread", "_thread.start_joinable_thread", "sqlite3.connect", "syslog.openlog")
UNTOLD = ("mkfifo", "mknod", "setsid", "setpgid", "setpgrp", "nice", "setpriority", "sched_setaffinity")
"""Functions of which no audit event tells; they are removed."""

PRELOADED = (
    *("bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal", "functools", "heapq", "io"),
    *("itertools", "math", "operator", "random", "re", "statistics", "string", "textwrap", "typing"),
)
"""Modules that a file may import on every machine; others only where their files can be read."""

REFUSED_MODULES = (
    "ctypes",
    "_ctypes",
    "mmap",
    "subprocess",
    "_posixsubprocess",
    "socket",
    "_socket",
    "multiprocessing",
)


def readable_folders() -> list[str]:
    """The folders of the standard library and of the shared libraries that its modules load."""
    import sysconfig

    paths = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(os.__file__)}
    return sorted(os.path.realpath(path) for path in paths | {"/usr/lib", "/lib", "/lib64"} if os.path.isdir(path))


def restrict_files(libc, readable: list[str]) -> bool:
    """Whether the kernel now refuses every file access but reading below `readable` and the current folder."""
    import ctypes

    class Ruleset(ctypes.Structure):
        _fields_ = [("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]

    class Beneath(ctypes.Structure):
        _pack_ = 1
        _layout_ = "ms"
        _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]

    abi = libc.syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if abi < 1:
        return False
    # From version 4 on TCP can be refused too, from version 6 on signals and abstract sockets.
    wanted = Ruleset((1 << RIGHTS_BY_ABI.get(abi, 16)) - 1, 3, 3)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    rules = libc.syscall(444, ctypes.byref(wanted), ctypes.c_size_t(size), ctypes.c_uint32(0))
    if rules < 0:
        return False
    for path in (*readable, "."):
        folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        failed = libc.syscall(445, rules, 1, ctypes.byref(Beneath(READ, folder)), ctypes.c_uint32(0))
        os.close(folder)
        if failed:
            return False
    restricted = libc.syscall(446, rules, ctypes.c_uint32(0)) == 0
    os.close(rules)
    return restricted


def confine(limits: dict) -> list[str]:
    """Names of the optional measures that hold; the process can no longer write, start others or use much."""
    import resource

    extras = []
    libc = None
    try:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, which Landlock asks for
    except (ImportError, OSError, AttributeError):
        pass
    # Before root is given up, so that a library below /root can be named.
    if libc and restrict_files(libc, limits["readable"]):
        extras.append("landlock")
    if os.geteuid() == 0:
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            extras.append("unprivileged user")
        except OSError:
            pass  # the trial below decides whether the limits hold for this root
    if libc:
        libc.prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG: a killed parent takes this process with it; a setuid clears it
        if os.getppid() != limits["parent"]:
            os._exit(1)
    for name, value in (
        ("FSIZE", 0),
        ("NPROC", 0),
        ("CORE", 0),
        ("NOFILE", 24),
        ("AS", limits["memory_bytes"]),
        ("DATA", limits["memory_bytes"]),
        ("MSGQUEUE", 0),
        ("MEMLOCK", 0),
    ):
        if hasattr(resource, "RLIMIT_" + name):
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["processor_seconds"], limits["processor_seconds"] + 1))
    try:
        child = os.fork()
    except OSError:
        return extras
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    raise RuntimeError("the limit on processes does not hold for this user; expected a fork to be refused")


def watch(readable: list[str]) -> None:
    """Nothing; from now on Python itself refuses what the file must not do.

    Reading elsewhere raises PermissionError. Anything else ends the process, so that no `except` hides it.
    """
    here = os.getcwd()
    allowed = tuple(path + os.sep for path in (*map(os.path.realpath, readable), os.path.realpath(here)))
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    realpath, join, fsdecode, write, leave = os.path.realpath, os.path.join, os.fsdecode, os.write, os._exit
    looking, harmless, refused, also, modules = LOOKING, HARMLESS, REFUSED, REFUSED_ALSO, REFUSED_MODULES

    def outside(path: object) -> bool:
        if path is None:
            return False
        if isinstance(path, int):
            return True
        return not (realpath(join(here, fsdecode(path))) + "/").startswith(allowed)

    def end(what: str) -> None:
        write(2, f"PermissionError: {what} is not allowed here\n".encode("utf-8", "replace"))
        leave(1)

    def hook(event: str, args: tuple) -> None:
        if event == "open":
            path, mode, flags = args
            if isinstance(path, int):
                return  # an open file, the standard streams
            if flags & writing or (isinstance(mode, str) and any(letter in mode for letter in "wax+")):
                end(f"writing {path!r}")
            if outside(path):
                raise PermissionError(f"reading {path!r} is not allowed here")
        elif event in looking:
            if outside(args[0]):
                raise PermissionError(f"listing {args[0]!r} is not allowed here")
        elif event == "import":
            if args[0] in modules:
                end(f"import {args[0]}")
        elif event in also or (event.startswith(refused) and event not in harmless):
            end(event)

    for name in UNTOLD:
        for module in (os, sys.modules["posix"]):
            if hasattr(module, name):
                delattr(module, name)
    for name in modules:
        sys.modules.pop(name, None)
    sys.addaudithook(hook)


class Beside:
    """Imports a module from the file beside the one that runs, by its name in the current folder.

    Python's own finder asks for the absolute path, whose parents an unprivileged user may not pass through.
    """

    @staticmethod
    def find_spec(name, path=None, target=None):
        from importlib.machinery import ModuleSpec

        if name.isidentifier() and os.path.isfile(name + ".py"):
            return ModuleSpec(name, Beside, origin=name + ".py")
        return None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        module.__file__ = module.__spec__.origin
        with open(module.__spec__.origin, encoding="utf-8") as file:
            source = file.read()
        exec(compile(source, module.__spec__.origin, "exec"), module.__dict__)


def main() -> None:
    """The file that is named on the command line has run, or a traceback says why not."""
    # Before the confinement: the standard library may lie where an unprivileged user cannot read it.
    for name in PRELOADED:
        importlib.import_module(name)
    limits = json.loads(sys.argv[1])
    path, ready = limits["path"], limits["ready"]
    limits["readable"] = readable_folders()
    extras = confine(limits)
    sys.argv[:] = [path]
    sys.dont_write_bytecode = True
    sys.meta_path.append(Beside)
    running = types.ModuleType("__main__")
    running.__file__ = path
    watch(limits["readable"])
    os.write(ready, ("ready " + ", ".join(extras)).encode())
    os.close(ready)
    sys.modules["__main__"] = running
    try:
        with open(path, encoding="utf-8") as file:
            source = file.read()
        exec(compile(source, path, "exec"), running.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        told = traceback.TracebackException.from_exception(error)
        # Only the scratch directory's own frames: the others name folders of this machine.
        told.stack = traceback.StackSummary.from_list(
            [frame for frame in told.stack if not os.path.isabs(frame.filename) and frame.filename[0] != "<"][-5:]
        )
        sys.stdout.flush()
        print("".join(told.format(chain=False)), end="", file=sys.stderr, flush=True)
        os._exit(1)


if __name__ == "__main__":
    main()
