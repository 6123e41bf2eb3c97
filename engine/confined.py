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

# fmt: off
REFUSED_CALLS = {
    # processes
    "clone": (56, 220), "clone3": (435, 435), "execve": (59, 221), "execveat": (322, 281), "fork": (57, None),
    "vfork": (58, None), "setns": (308, 268), "unshare": (272, 97), "setsid": (112, 157), "setpgid": (109, 154),
    # signals and other processes
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438), "ptrace": (101, 117), "kcmp": (312, 272), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "process_madvise": (440, 440), "setpriority": (141, 140),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "ioprio_set": (251, 30),
    # sockets
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    # memory and queues shared with others
    "memfd_create": (319, 279), "mq_open": (240, 180), "msgctl": (71, 187), "msgget": (68, 186), "msgrcv": (70, 188),
    "msgsnd": (69, 189), "semctl": (66, 191), "semget": (64, 190), "semop": (65, 193), "semtimedop": (220, 192),
    "shmat": (30, 196), "shmctl": (31, 195), "shmget": (29, 194), "userfaultfd": (323, 282),
    # files
    "creat": (85, None), "openat2": (437, 437), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "truncate": (76, 45), "ftruncate": (77, 46), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276),
    "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None), "link": (86, None), "linkat": (265, 37),
    "unlink": (87, None), "unlinkat": (263, 35), "symlink": (88, None), "symlinkat": (266, 36), "mknod": (133, None),
    "mknodat": (259, 33), "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "fchownat": (260, 54), "lchown": (94, None), "utime": (132, None),
    "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5),
    "fsetxattr": (190, 7), "lsetxattr": (189, 6), "removexattr": (197, 14), "fremovexattr": (199, 16),
    "lremovexattr": (198, 15), "inotify_init": (253, None), "inotify_init1": (294, 26), "fanotify_init": (300, 262),
    # the system
    "mount": (165, 40), "umount2": (166, 39), "mount_setattr": (442, 442), "move_mount": (429, 429),
    "open_tree": (428, 428), "fsopen": (430, 430), "fsmount": (432, 432), "fsconfig": (431, 431),
    "fspick": (433, 433), "pivot_root": (155, 41), "chroot": (161, 51), "personality": (135, 92),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "bpf": (321, 280),
    "perf_event_open": (298, 241), "add_key": (248, 217), "keyctl": (250, 219), "request_key": (249, 218),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "reboot": (169, 142), "swapon": (167, 224),
}
# fmt: on
"""Calls that the kernel refuses by their numbers on x86_64 and aarch64; None where there is no such call."""

OPENING = {"open": (2, None, 1), "openat": (257, 56, 2)}
"""Calls that open a file: their numbers as above, and the place of their flags."""

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What the kernel calls each machine in a filter."""

NEWEST = 452
"""Calls with higher numbers are younger than these lists; to a confined process they do not exist."""

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
    "_multiprocessing",
    "_posixshmem",
    "_xxsubinterpreters",
    "_interpreters",
    "_testcapi",
    "_testinternalcapi",
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


def restrict_calls(libc) -> bool:
    """Whether the kernel now refuses REFUSED_CALLS, and to open a file for writing."""
    import ctypes

    class Line(ctypes.Structure):
        _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32)]

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_uint16), ("lines", ctypes.POINTER(Line))]

    machine = os.uname().machine
    # A 32-bit Python on a 64-bit kernel makes other calls.
    if machine not in MACHINES or sys.maxsize < 2**32 or sys.byteorder != "little":
        return False
    which = list(MACHINES).index(machine)
    load, equal, above, any_of, answer = 0x20, 0x15, 0x25, 0x45, 0x06
    allow, refuse, unknown, kill = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000  # EPERM, ENOSYS
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    program = [
        (load, 0, 0, 4), (equal, 1, 0, MACHINES[machine]), (answer, 0, 0, kill),
        (load, 0, 0, 0), (above, 0, 1, NEWEST), (answer, 0, 0, unknown),
    ]  # fmt: skip
    for *numbers, flags in OPENING.values():
        if numbers[which] is not None:
            program += [
                (equal, 0, 4, numbers[which]), (load, 0, 0, 16 + 8 * flags),
                (any_of, 0, 1, writing), (answer, 0, 0, refuse), (answer, 0, 0, allow),
            ]  # fmt: skip
    for numbers in REFUSED_CALLS.values():
        if numbers[which] is not None:
            program += [(equal, 0, 1, numbers[which]), (answer, 0, 0, refuse)]
    program.append((answer, 0, 0, allow))
    lines = (Line * len(program))(*(Line(*line) for line in program))
    loaded = Program(len(program), lines)
    return libc.prctl(22, 2, ctypes.byref(loaded), 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


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
    refuse_fork()
    # After the trial, which proves the limit and not the filter.
    if libc and restrict_calls(libc):
        extras.append("seccomp")
    return extras


def refuse_fork() -> None:
    """Nothing; RuntimeError where a process can be started all the same."""
    try:
        child = os.fork()
    except OSError:
        return
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
            # By the last part: a library is found by it, whatever package it is said to lie in.
            if args[0].rpartition(".")[2] in modules:
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
