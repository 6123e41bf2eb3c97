"""The files by which others run the check: a pre-commit hook and a GitHub Action."""

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from campaign.notes.cli import main

ROOT = Path(__file__).resolve().parents[1]
yaml = pytest.importorskip("yaml")


def loaded(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def hooks() -> dict[str, dict[str, Any]]:
    return {hook["id"]: hook for hook in loaded(".pre-commit-hooks.yaml")}


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    return loaded("action.yml")


def test_hooks_have_what_pre_commit_needs(hooks):
    """Each has an id, a name, an entry and a language that installs this project."""
    assert list(hooks) == ["notes-check", "notes-audit"]
    for hook in hooks.values():
        assert {"id", "name", "description", "entry", "language"} <= hook.keys()
        assert hook["language"] == "python"


@pytest.mark.parametrize("name", ["notes-check", "notes-audit"])
def test_hooks_run_a_command_that_there_is(hooks, name):
    """The entry is the installed script with one of its commands."""
    script, command = hooks[name]["entry"].split()
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert script in scripts and command in main.commands


@pytest.mark.parametrize(
    ("file", "checked"),
    [
        ("parts/part-5/post.md", True),
        ("parts/part-12/data/rows.csv", True),
        ("campaign.toml", True),
        ("sub/parts/part-5/plan.toml", True),
        ("README.md", False),
        ("parts/README.md", False),
        ("notes/campaign.toml.bak", False),
    ],
)
def test_check_runs_for_files_of_a_part(hooks, file, checked):
    """A commit that touches a part, or the campaign's own file, is checked; another is not."""
    hook = hooks["notes-check"]
    assert (re.search(hook["files"], file) is not None) is checked
    assert hook["pass_filenames"] is False


def test_action_says_what_it_takes(action):
    """Every input has a description and a default, and none is used that is not declared."""
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    declared = action["inputs"]
    assert all(one["description"] and isinstance(one["default"], str) for one in declared.values())
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(declared)


def test_action_puts_no_input_into_a_script(action):
    """What a caller writes reaches the shell as an environment variable, never as its text."""
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert scripts and all("${{" not in script for script in scripts)
    assert all(step["shell"] == "bash" for step in action["runs"]["steps"] if "run" in step)


STUB = """#!/usr/bin/env bash
printf '%s\\n' "notes $*" >> "$LOG"
if [ "$3" = sarif ]; then echo '{}'; fi
exit "$CODE"
"""


@pytest.fixture
def runner(tmp_path, action):
    """Runs the script of the step that checks, with a stand-in for `notes` that ends with some exit code."""
    (script,) = [step["run"] for step in action["runs"]["steps"] if step.get("id") == "check"]
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "notes").write_text(STUB, encoding="utf-8")
    (programs / "notes").chmod(0o755)
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)

    def run(code: int, parts: str = "", *, allow: str = "false", sarif: str = "false", shallow: bool = False):
        if shallow:
            (repository / ".git" / "shallow").write_text("0" * 39 + "1\n", encoding="utf-8")
        told = {"PARTS": parts, "ALLOW_UNDECIDED": allow, "SARIF": sarif, "CODE": str(code)}
        places = {"LOG": "log", "GITHUB_OUTPUT": "output", "RUNNER_TEMP": "."}
        files = {name: str(tmp_path / file) for name, file in places.items()}
        path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        # as GitHub runs a step's bash script
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        done = subprocess.run(
            command, cwd=repository, env={**os.environ, **path, **told, **files}, capture_output=True, text=True
        )
        return done, (tmp_path / "log").read_text(encoding="utf-8").splitlines(), tmp_path

    return run


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_action_ends_as_the_check_ends(runner, code):
    """Findings, wrong use and what cannot be told fail the job; the code is its output."""
    done, log, folder = runner(code)
    assert done.returncode == code and log == ["notes check --format github"]
    assert (folder / "output").read_text(encoding="utf-8") == f"code={code}\n"


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 1), (2, 2), (3, 0)])
def test_undecided_may_be_allowed(runner, code, ends):
    """With allow-undecided only what cannot be told passes, and the command is printed all the same."""
    done, _, _ = runner(code, "part-5", allow="true")
    assert done.returncode == ends
    assert ("Cannot tell" in done.stdout and "notes check part-5" in done.stdout) is (code == 3)


def test_parts_are_handed_on_one_by_one(runner):
    """The names of parts are arguments of their own, and nothing in them is run."""
    _, log, folder = runner(0, "part-5 $(touch ../made) part-6")
    assert log == ["notes check --format github part-5 $(touch ../made) part-6"]
    assert not (folder / "made").exists()


def test_findings_are_written_for_code_scanning(runner):
    """With sarif the findings are written to a file, and the job still fails for them."""
    done, log, folder = runner(1, sarif="true")
    assert done.returncode == 1 and log[1] == "notes check --format sarif"
    assert (folder / "notes.sarif").read_text(encoding="utf-8") == "{}\n"


def test_shallow_clone_is_told(runner):
    """A clone without its history says how it is fetched."""
    done, _, _ = runner(3, shallow=True)
    assert "fetch-depth: 0" in done.stdout and "git fetch --unshallow" in done.stdout
