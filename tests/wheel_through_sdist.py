"""Show that the wheel, built through the sdist, holds the whole program and builds a part outside the tree.

CI runs this; by hand: .venv/bin/python tests/wheel_through_sdist.py, after `make test` has set up .venv.
Exit 0 when all of it holds, 1 with what was missing or extra.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
FOLDERS = ("analysis", "engine", "kernels", "notes", "templates")
PART = "part-5"


def run(*command: object, cwd: Path) -> str:
    """What `command` printed; it is shown before it runs, and a failure ends the script with its output."""
    words = [str(word) for word in command]
    print("$", " ".join(words), flush=True)
    # PYTHONPATH could lead back into the tree.
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"PYTHONSAFEPATH": "1"}
    done = subprocess.run(words, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{words[0]} ended with exit code {done.returncode}; expected 0.")
    return done.stdout


def expected_files() -> set[str]:
    """Every file of the program as it should lie in the wheel: all that git would keep, pages for people aside."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *FOLDERS, cwd=ROOT)
    kept = {
        name
        for name in listed.splitlines()
        if (ROOT / name).is_file() and ("/data/" in name or not name.endswith(".md"))
    }
    return {"campaign/__init__.py"} | {f"campaign/{name}" for name in kept}


def wheel_files(wheel: Path) -> set[str]:
    """What `wheel` would install, its own metadata aside."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def sdist_files(sdist: Path) -> set[str]:
    """What stands in `sdist` below src/, its own metadata aside."""
    with tarfile.open(sdist) as archive:
        inside = {member.name.partition("/")[2] for member in archive if not member.isdir()}
    below = {name.removeprefix("src/") for name in inside if name.startswith("src/")}
    return {name for name in below if ".egg-info/" not in name}


def compare(archive: Path, found: set[str], expected: set[str]) -> list[str]:
    """One line for each file that `archive` lacks or has too many of."""
    print(f"{archive.name}: {len(found)} files, {len(expected)} in the tree")
    missing = [f"{archive.name}: {name}: missing; see package-data in pyproject.toml" for name in expected - found]
    extra = [f"{archive.name}: {name}: not in the tree" for name in found - expected]
    return sorted(missing + extra)


def unpinned(python: Path, cwd: Path) -> list[str]:
    """One line for each package in the environment of `python` that constraints.txt does not pin."""
    pins = set(CONSTRAINTS.read_text().splitlines())
    installed = run(python, "-m", "pip", "freeze", "--exclude", "campaign-notes", cwd=cwd).splitlines()
    loose = [line for line in installed if line not in pins]
    return [f"constraints.txt: {line}: installed but not pinned; `make pins` writes it anew" for line in loose]


def copy_of_the_campaign(to: Path) -> None:
    """The campaign with its history, and none of the program's folders, in the new folder `to`."""
    run("git", "clone", "--quiet", ROOT, to, cwd=to.parent)
    for name in (*FOLDERS, "src", "parts"):
        shutil.rmtree(to / name, ignore_errors=True)
    # Not yet committed changes count too, as they do for the wheel.
    shutil.copytree(ROOT / "parts", to / "parts")
    shutil.copy(ROOT / "campaign.toml", to)


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below `folder`, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="campaign-") as name:
        outside = Path(name).resolve()
        # Without --sdist or --wheel, the wheel is built from the unpacked sdist.
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", outside / "dist", ROOT, cwd=outside)
        [sdist] = (outside / "dist").glob("*.tar.gz")
        [wheel] = (outside / "dist").glob("*.whl")
        expected = expected_files()
        wrong = compare(sdist, sdist_files(sdist), expected) + compare(wheel, wheel_files(wheel), expected)

        run(sys.executable, "-m", "venv", outside / "venv", cwd=outside)
        tools = outside / "venv" / "bin"
        run(tools / "python", "-m", "pip", "install", "-qq", "-c", CONSTRAINTS, wheel, cwd=outside)
        wrong += unpinned(tools / "python", outside)
        if wrong:
            sys.exit("\n".join(wrong))

        campaign = outside / "campaign"
        copy_of_the_campaign(campaign)
        where = run(tools / "python", "-c", "import campaign; print(campaign.__file__)", cwd=campaign).strip()
        if not Path(where).is_relative_to(outside / "venv"):
            sys.exit(f"campaign is imported from {where}; expected from {outside / 'venv'}.")
        before = contents(campaign / "parts" / PART)
        print(run(tools / "notes", "build", PART, cwd=campaign), end="")
        print(run(tools / "notes", "check", PART, cwd=campaign), end="")
        after = contents(campaign / "parts" / PART)
        differ = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        if differ:
            sys.exit(f"parts/{PART}: what the wheel builds differs from the tree: {', '.join(differ)}")
        print(f"The wheel builds and checks {PART} outside the tree.")


if __name__ == "__main__":
    main()
