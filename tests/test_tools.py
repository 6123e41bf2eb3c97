"""The tools, and what they cannot be made to do."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from campaign.engine import confinement
from campaign.engine.confinement import FILES, INSIDE, ConfinementError, Limits, Refused, Scratch, run_python
from campaign.engine.tools import (
    LIST_FILES,
    READ_FILE,
    REPLACE_IN_FILE,
    RESULT_CHARACTERS,
    RUN_PYTHON,
    WRITE_FILE,
    Tool,
    strict_json,
)

PLAIN = Limits()
SHORT = Limits(wall_seconds=0.6, processor_seconds=1)


@pytest.fixture
def scratch(tmp_path: Path):
    """A directory with one file, beside a file that is none of its."""
    (tmp_path / "secret.txt").write_text("kept")
    (tmp_path / "secret.txt").chmod(0o666)
    with Scratch.laid(tmp_path / "files", {"notes.txt": "one\ntwo\n"}) as directory:
        yield directory
    assert (tmp_path / "secret.txt").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files", "secret.txt"]


def said(tool: Tool, **arguments: str) -> str:
    return json.dumps({"name": tool.name, "arguments": arguments})


def ran(scratch: Scratch, source: str, limits: Limits = PLAIN) -> confinement.Run:
    """What comes of a file with this text."""
    scratch.write("tool.py", source)
    return run_python(scratch, "tool.py", limits)


def test_tools_do_what_they_say(scratch):
    """A text that is written is listed, read, replaced and run."""
    assert not WRITE_FILE.call(scratch, said(WRITE_FILE, path="src/a.py", content="print(1)\n")).failed
    assert LIST_FILES.call(scratch, said(LIST_FILES)).text == "notes.txt\nsrc/a.py"
    replaced = REPLACE_IN_FILE.call(scratch, said(REPLACE_IN_FILE, path="src/a.py", old="1", new="6 * 7"))
    assert not replaced.failed
    assert READ_FILE.call(scratch, said(READ_FILE, path="src/a.py")).text == "print(6 * 7)\n"
    assert RUN_PYTHON.call(scratch, said(RUN_PYTHON, path="src/a.py")).text == "exit status 0\n42"


ESCAPES = {
    "parent": "../secret.txt",
    "parent below": "src/../../secret.txt",
    "current": "./notes.txt",
    "absolute": "/etc/passwd",
    "two slashes": "//etc/passwd",
    "inner slashes": "src//a.txt",
    "slash at the end": "notes.txt/",
    "empty": "",
    "dot": ".",
    "home": "~/notes.txt",
    "NUL": "notes.txt\0.py",
    "line break": "notes.txt\n",
    "backslash": "..\\secret.txt",
    "long name": "a" * 65,
    "long path": "a/" * 20 + "a",
    "full-width dots": "\uff0e\uff0e/secret.txt",
    "one-dot leader": "\u2024\u2024/secret.txt",
    "division slash": "..\u2215secret.txt",
    "direction mark": "notes\u202etxt.py",
    "combining letter": "note\u0301s.txt",
    "full-width letter": "\uff4eotes.txt",
    "Arabic digit": "notes\u0661.txt",
    "surrogate": "notes\udcff.txt",
    "percent": "%2e%2e/secret.txt",
    "hidden": ".bashrc",
    "variable": "$HOME",
}


@pytest.mark.parametrize("path", ESCAPES.values(), ids=ESCAPES)
def test_paths_that_lead_elsewhere_are_refused(scratch, path):
    """No tool takes such a path, and no file comes of it."""
    for tool in (READ_FILE, WRITE_FILE, REPLACE_IN_FILE, RUN_PYTHON):
        arguments = dict.fromkeys(tool.parameters, "two") | {"path": path}
        result = tool.call(scratch, said(tool, **arguments))
        assert result.failed
        assert result.text.startswith("error: ")
    assert scratch.paths() == ("notes.txt",)
    with pytest.raises(Refused):
        scratch.write(path, "text")


def put_link(root: Path) -> str:
    (root / "link.txt").symlink_to("../secret.txt")
    return "link.txt"


def put_link_to_a_folder(root: Path) -> str:
    (root / "up").symlink_to("..")
    return "up/secret.txt"


def put_link_that_dangles(root: Path) -> str:
    (root / "new.txt").symlink_to("../new.txt")
    return "new.txt"


def put_link_within(root: Path) -> str:
    (root / "other.txt").symlink_to("notes.txt")
    return "other.txt"


def put_hard_link(root: Path) -> str:
    os.link(root.parent / "secret.txt", root / "hard.txt")
    return "hard.txt"


def put_pipe(root: Path) -> str:
    os.mkfifo(root / "pipe.txt")
    return "pipe.txt"


def put_socket(root: Path) -> str:
    here = os.getcwd()
    os.chdir(root)  # a socket's path is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("socket.txt")
    finally:
        os.chdir(here)
    return "socket.txt"


def put_folder(root: Path) -> str:
    (root / "folder.txt").mkdir()
    (root / "folder.txt" / "a").touch()
    return "folder.txt"


@pytest.mark.parametrize(
    "put",
    [
        put_link,
        put_link_to_a_folder,
        put_link_that_dangles,
        put_link_within,
        put_hard_link,
        put_pipe,
        put_socket,
        put_folder,
    ],
)
def test_what_is_no_plain_file_is_refused(scratch, put):
    """A link, a second name, a pipe, a socket or a folder is neither read, written nor run, and holds nobody up."""
    path = put(scratch.root)
    for tool in (READ_FILE, WRITE_FILE, REPLACE_IN_FILE, RUN_PYTHON):
        arguments = dict.fromkeys(tool.parameters, "kept") | {"path": path}
        assert tool.call(scratch, said(tool, **arguments)).failed
    assert not (scratch.root.parent / "new.txt").exists()
    assert list(scratch.files().values()).count(None) == (0 if put is put_folder else 1)
    if put is put_hard_link:
        (scratch.root / path).unlink()


def test_sizes_are_limited(scratch):
    """A text, a file and the number of files end somewhere."""
    assert WRITE_FILE.call(scratch, said(WRITE_FILE, path="a", content="x" * 2001)).failed
    with pytest.raises(Refused, match="a file may have 16384"):
        scratch.write("a", "é" * 10_000)
    (scratch.root / "big").write_bytes(b"x" * 20_000)
    assert READ_FILE.call(scratch, said(READ_FILE, path="big")).failed
    for number in range(FILES - len(scratch.paths())):
        scratch.write(f"file{number}", "")
    assert WRITE_FILE.call(scratch, said(WRITE_FILE, path="more", content="")).failed
    assert not WRITE_FILE.call(scratch, said(WRITE_FILE, path="file1", content="new")).failed


def test_long_results_are_cut(scratch):
    """What the model is told fits into its context."""
    scratch.write("long.txt", "x" * 10_000)
    assert len(READ_FILE.call(scratch, said(READ_FILE, path="long.txt")).text) < RESULT_CHARACTERS + 20


CALLS = {
    "empty": "",
    "cut": '{"name": "read_file", "arguments": {"path": "no',
    "no JSON": "read notes.txt",
    "a list": "[]",
    "another tool": '{"name": "write_file", "arguments": {"path": "notes.txt"}}',
    "no arguments": '{"name": "read_file"}',
    "arguments that are no object": '{"name": "read_file", "arguments": "notes.txt"}',
    "an argument too many": '{"name": "read_file", "arguments": {"path": "notes.txt", "mode": "w"}}',
    "a number": '{"name": "read_file", "arguments": {"path": 1}}',
    "a key twice": '{"name": "read_file", "arguments": {"path": "a", "path": "notes.txt"}}',
    "text behind": '{"name": "read_file", "arguments": {"path": "notes.txt"}} now',
    "nested without end": "[" * 100_000,
    "a long number": "9" * 5000,
    "a key too many": '{"name": "read_file", "arguments": {"path": "notes.txt"}, "id": 1}',
}


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_bad_calls_are_told_to_the_model(scratch, text):
    """A text that is no call of the tool is an error result, not an exception."""
    assert READ_FILE.call(scratch, text).text.startswith("error: ")


def test_replacing_needs_one_place(scratch):
    """A text that stands there twice, or not, is not replaced."""
    for old in ("o", "three", ""):
        assert REPLACE_IN_FILE.call(scratch, said(REPLACE_IN_FILE, path="notes.txt", old=old, new="x")).failed
    assert scratch.read("notes.txt") == "one\ntwo\n"


def test_half_a_surrogate_pair_is_refused(scratch):
    """A text that no file can hold is the model's mistake."""
    assert WRITE_FILE.call(scratch, '{"name": "write_file", "arguments": {"path": "a", "content": "\\ud800"}}').failed


def test_a_full_disk_is_no_mistake_of_the_model(scratch, monkeypatch):
    """An error of the disk is raised, never told to the model as a result."""
    full = OSError(28, "No space left on device")

    def no_space(*_):
        raise full

    monkeypatch.setattr(confinement.os, "write", no_space)
    with pytest.raises(OSError, match="No space left"):
        WRITE_FILE.call(scratch, said(WRITE_FILE, path="a", content="x"))


def test_strict_json_takes_json():
    assert strict_json('{"a": [1, true, null, "x"]}') == {"a": [1, True, None, "x"]}


# Running a file


def test_a_file_may_import_its_neighbours(scratch):
    """Modules beside the file and the plain ones of the standard library are there."""
    scratch.write("part.py", "x = 3\n")
    run = ran(scratch, "import json, math, part\nprint(part.x, json.loads('[1]'), math.pi > 3)")
    assert (run.output, run.code, run.stopped) == ("3 [1] True\n", 0, "")


def test_a_traceback_names_no_folder_of_the_machine(scratch):
    """An exception is shown with the file's own lines, the same on every machine."""
    run = ran(scratch, "import json\ndef f():\n    json.loads('x')\nf()\n")
    assert run.code == 1
    assert run.output.startswith('Traceback (most recent call last):\n  File "tool.py", line 4, in <module>\n')
    assert "json.decoder.JSONDecodeError" in run.output
    assert "/" not in run.output


def test_the_environment_is_empty(scratch, monkeypatch):
    """Nothing of the measuring process's environment, files or user is handed on."""
    monkeypatch.setenv("CAMPAIGN_SECRET", "kept")
    source = "import os\nprint('CAMPAIGN_SECRET' in os.environ, os.getuid() == 0, os.getsid(0) == os.getpid())\n"
    with open(scratch.root.parent / "secret.txt") as held:
        os.set_inheritable(held.fileno(), True)
        source += f"try: print(os.fstat({held.fileno()}))\nexcept OSError: print('closed')\n"
        run = ran(scratch, source)
    assert run.output == "False False True\nclosed\n"


LOOPS = {
    "computes": ("while True: pass", "stopped after"),
    "sleeps": ("import time\ntime.sleep(60)", "stopped after 0.6 s"),
    "ignores every signal": (
        "import _signal as signal, time\n"
        "for number in range(1, 32):\n"
        "    if number not in (9, 19): signal.signal(number, signal.SIG_IGN)\n"
        "time.sleep(60)",
        "stopped after 0.6 s",
    ),
    "hides its output": ("import os, time\nos.dup2(0, 1); os.dup2(0, 2)\ntime.sleep(60)", "stopped after 0.6 s"),
    "catches everything": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "stopped",
    ),
    "prints": ("while True: print('x' * 1000)", "stopped after 4096 bytes of output"),
}


@pytest.mark.parametrize(("source", "why"), LOOPS.values(), ids=LOOPS)
def test_a_loop_is_stopped(scratch, source, why):
    """A file that does not end is killed in time, and the model is told so as an error."""
    scratch.write("tool.py", source)
    began = time.monotonic()
    result = RUN_PYTHON.call(scratch, said(RUN_PYTHON, path="tool.py"), SHORT)
    assert time.monotonic() - began < 10
    assert result.failed
    assert result.text.startswith(f"error: tool.py was {why}")


def test_processor_time_is_limited(scratch):
    """A file that computes is stopped by the kernel though there is wall time left."""
    run = ran(scratch, "while True: pass", Limits(wall_seconds=30))
    assert run.stopped == "stopped after 1 s of processor time"


def test_memory_is_limited(scratch):
    """A file that takes too much memory gets MemoryError."""
    assert "MemoryError" in ran(scratch, "x = bytearray(10**9)").output


@pytest.mark.parametrize(
    "source",
    [
        "open('{}', 'w')",
        "open('{}', 'a').write('x')",
        "open('{}', 'r+').write('x')",
        "import os\nos.open('{}', os.O_WRONLY | os.O_TRUNC)",
        "import posix\nposix.open('{}', 1)",
        "import _io\n_io.FileIO('{}', 'w')",
        "from pathlib import Path\nPath('{}').write_text('x')",
        "import os\nos.remove('{}')",
        "import os\nos.rename('{}', 'mine')",
        "import os\nos.truncate('{}', 0)",
        "import os\nos.chmod('{}', 0)",
        "import os\nos.symlink('{}', 'link')",
        "import os\nos.link('{}', 'hard')",
        "import os\nos.mkdir('{}.folder')",
        "import os\nos.utime('{}')",
        "import os\nos.chdir('..')",
        "import os\nos.kill(os.getppid(), 9)",
        "import os\nos.fork()",
        "import os\nos.system('echo x > {}')",
        "import os\nos.execv('/bin/sh', ['sh'])",
        "import os\nos.posix_spawn('/bin/sh', ['sh'], {{}})",
        "import _posixsubprocess",
        "import subprocess",
        "import socket",
        "import _socket\n_socket.socket()",
        "import _thread\n_thread.start_new_thread(print, ())",
        "import ctypes",
        "open('mine.txt', 'w').write('x')",
        "import posix\nposix.mkfifo('{}.pipe')",
        "import os\ndel os.fsdecode, os.write, os._exit\nos.path.realpath = lambda path: '/'\nopen('{}', 'w')",
    ],
)
def test_what_a_file_must_not_do_ends_it(scratch, source):
    """Writing, processes, threads, sockets and signals end the run as an error, also where it catches everything."""
    secret = str(scratch.root.parent / "secret.txt")
    lines = source.format(secret).replace("\n", "\n    ")
    run = ran(
        scratch, f"try:\n    {lines}\nexcept BaseException as error:\n    print(error)\n    raise\nprint('went on')"
    )
    assert run.code == 1
    assert not run.stopped
    assert "went on" not in run.output
    assert scratch.paths() == ("notes.txt", "tool.py")


def test_reading_elsewhere_is_refused(scratch):
    """A file sees its own directory and Python's libraries, and no others."""
    source = "for path in ('/etc/passwd', '../secret.txt', '/proc/self/environ', '/proc/1/cmdline'):\n"
    source += "    try: open(path); print('read', path)\n    except OSError: pass\n"
    source += "import os\nfor path in ('/', '..', '/home'):\n"
    source += "    try: os.listdir(path); print('listed', path)\n    except OSError: pass\n"
    source += "print(open('notes.txt').read(), sorted(os.listdir()))"
    assert ran(scratch, source).output == "one\ntwo\n ['notes.txt', 'tool.py']\n"


def test_the_kernel_holds_without_python(tmp_path):
    """Without the audit hook writing and starting processes still fails, here and elsewhere."""
    source = f"""
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("confined", {str(INSIDE)!r})
confined = importlib.util.module_from_spec(spec)
spec.loader.exec_module(confined)
confined.confine({{"readable": confined.readable_folders(), "parent": os.getppid(), "memory_bytes": 2**28,
                   "processor_seconds": 5}})
for folder in (".", "/tmp", "/dev/shm", {str(tmp_path.parent)!r}):
    try:
        with open(folder + "/written-by-a-tool", "w") as file:
            file.write("x")
        print("wrote", folder)
    except OSError:
        pass
    try:
        os.fork()
        os._exit(9)
    except OSError:
        pass
print("end")
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", source], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)


def test_the_kernel_refuses_calls_without_python(tmp_path):
    """Where seccomp holds, sockets, signals, other programs and changed files are refused without the audit hook."""
    (tmp_path / "open.txt").write_text("kept")
    (tmp_path / "open.txt").chmod(0o666)
    tmp_path.chmod(0o777)
    source = f"""
import importlib.util, os, socket, sys
spec = importlib.util.spec_from_file_location("confined", {str(INSIDE)!r})
confined = importlib.util.module_from_spec(spec)
spec.loader.exec_module(confined)
confined.restrict_files = lambda *_: False  # as on a kernel without Landlock
held = confined.confine({{"readable": [], "parent": os.getppid(), "memory_bytes": 2**28, "processor_seconds": 5}})
for name, attempt in {{
    "datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "local": lambda: socket.socket(socket.AF_UNIX),
    "pair": socket.socketpair,
    "signal": lambda: os.kill(os.getpid(), 0),
    "program": lambda: os.execv(sys.executable, [sys.executable, "-c", "print('ran')"]),
    "opened": lambda: os.open("open.txt", os.O_WRONLY | os.O_TRUNC),
    "removed": lambda: os.remove("open.txt"),
    "renamed": lambda: os.rename("open.txt", "other.txt"),
    "made": lambda: os.mkdir("made"),
    "linked": lambda: os.symlink("open.txt", "link"),
    "rights": lambda: os.chmod("open.txt", 0),
    "times": lambda: os.utime("open.txt"),
    "session": os.setsid,
}}.items():
    try:
        attempt()
        print(name)
    except OSError:
        pass
print(held, open("open.txt").read())
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", source], cwd=tmp_path, capture_output=True, text=True)
    if "seccomp" not in done.stdout:
        pytest.skip(f"seccomp does not hold here: {done.stdout}{done.stderr}")
    assert done.stdout.endswith("'seccomp'] kept\n") and "\n" not in done.stdout[:-1]


def test_a_file_that_switches_the_hook_off_is_held_by_the_kernel(scratch):
    """Code that finds the audit hook and empties it still signals nobody and writes nothing."""
    source = """
import gc, os, types
for found in gc.get_objects():
    if isinstance(found, types.FunctionType) and found.__name__ == "hook":
        nothing = (lambda event, args: None).__code__
        found.__code__ = nothing.replace(co_freevars=found.__code__.co_freevars)
for attempt in (lambda: os.kill(os.getppid(), 0), lambda: open("mine.txt", "w"), lambda: open("/etc/passwd")):
    try:
        attempt()
        print("went through")
    except OSError as error:
        print("refused")
"""
    run = ran(scratch, source)
    if not {"landlock", "seccomp"} <= set(run.extras):
        pytest.skip(f"only {run.extras} hold here")
    assert run.output == "refused\n" * 3


@pytest.mark.parametrize("name", ["_ctypes", "a._ctypes", "a.b._socket", "_xxsubinterpreters"])
def test_refused_libraries_are_known_by_the_end_of_their_names(scratch, name):
    """A library of the interpreter is refused whatever package it is said to lie in."""
    run = ran(scratch, f"import _imp\nclass Spec: name = {name!r}; origin = {name!r}\n_imp.create_dynamic(Spec)\n")
    assert (run.code, run.output) == (1, f"PermissionError: import {name} is not allowed here\n")


def test_optional_measures_are_told(tmp_path):
    """What a run's record says of the confinement is what held a file of its own, which is gone again."""
    found = confinement.optional_measures(tmp_path)
    assert set(found) <= {"landlock", "unprivileged user", "seccomp"}
    assert list(tmp_path.iterdir()) == []


def test_nothing_runs_where_the_confinement_fails(scratch, monkeypatch, tmp_path_factory):
    """A process that cannot be confined is a fault of the harness, and the file does not run."""
    broken = tmp_path_factory.mktemp("broken") / "confined.py"
    broken.write_text(INSIDE.read_text().replace('("NPROC", 0),', "").replace("os.geteuid() == 0", "False"))
    monkeypatch.setattr(confinement, "INSIDE", broken)
    with pytest.raises(ConfinementError, match="expected a fork to be refused"):
        ran(scratch, "print('ran')")


def test_a_file_cannot_feign_a_fault_of_the_harness(scratch):
    """Whatever status a file ends with, it is the file's own."""
    assert [ran(scratch, f"import os\nos._exit({code})").code for code in (2, 97, 255)] == [2, 97, 255]


def test_a_killed_harness_takes_the_file_with_it(tmp_path):
    """After kill -9 of the measuring process no tool runs on."""
    source = f"""
from pathlib import Path
from campaign.engine import confinement

class Told(confinement.subprocess.Popen):
    def __init__(self, *command, **options):
        super().__init__(*command, **options)
        print(self.pid, flush=True)

confinement.subprocess.Popen = Told
scratch = confinement.Scratch.laid(Path({str(tmp_path / "files")!r}), {{"tool.py": "import time; time.sleep(30)"}})
confinement.run_python(scratch, "tool.py", confinement.Limits(wall_seconds=30))
"""
    paths = os.pathsep.join(filter(None, sys.path))
    harness = subprocess.Popen(
        [sys.executable, "-P", "-c", source], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}
    )
    with harness:
        child = int(harness.stdout.readline())
        time.sleep(0.5)
        assert alive(child)
        harness.kill()
    until = time.monotonic() + 5
    while alive(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert not alive(child)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
