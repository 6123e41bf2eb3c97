"""The distribution, its layers and its two commands."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("analysis", "engine", "kernels", "notes")
GPU_STACK = ("torch", "transformers", "vllm")


def run(*command: object, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess:
    """`command` run in `cwd` without a caller's PYTHONPATH or make flags; output and errors in one text."""
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=kept | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def python(code: str, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    """`code` run by a new Python that does not put `cwd` on sys.path."""
    return run(sys.executable, "-P", "-c", code, cwd=cwd)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what a build reads, its links kept as links."""
    for name in ("pyproject.toml", "setup.py"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", symlinks=True, ignore=shutil.ignore_patterns("*.egg-info"))
    for name in (*FOLDERS, "templates"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def lint_imports(tree: Path) -> subprocess.CompletedProcess:
    """The import contracts of pyproject.toml, checked over the copy in `tree`."""
    lint = Path(sys.executable).with_name("lint-imports")
    return run(lint, "--no-cache", cwd=tree, PYTHONPATH=str(tree / "src"))


def ask_for_build_requirements(tree: Path) -> subprocess.CompletedProcess:
    """The first thing that pip does to build `tree`; it runs setup.py."""
    return python("import setuptools.build_meta as b; b.get_requires_for_build_wheel()", cwd=tree)


def project() -> dict:
    """The table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def distributions(requirements: list[str]) -> set[str]:
    """The names in requirements such as `pytest>=9` or `GitPython==3.2.1`, spelt one way."""
    return {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in requirements}


def imported_names(folder: Path) -> set[str]:
    """The top-level packages that any module in `folder` imports, inside functions too."""
    names = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names


def make_targets() -> list[str]:
    """The targets that the Makefile declares phony."""
    return re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()


def test_layers_hold(tree):
    """Imports run downward only, and no import leads from notes or analysis to the GPU stack."""
    done = lint_imports(tree)
    assert "2 kept, 0 broken" in done.stdout


def test_upward_import_is_found(tree):
    """An import from kernels up to notes breaks the layers, though every folder is reached through a link."""
    (tree / "kernels" / "upward.py").write_text("import campaign.notes.errors\n")
    done = lint_imports(tree)
    assert done.returncode == 1
    assert "campaign.kernels.upward -> campaign.notes.errors" in done.stdout


def test_lazy_import_of_the_gpu_stack_is_found(tree):
    """An import of torch inside a function of engine counts once analysis imports that module."""
    (tree / "engine" / "heavy.py").write_text("def load():\n    import torch\n    return torch\n")
    (tree / "analysis" / "user.py").write_text("from campaign.engine.heavy import load\n")
    done = lint_imports(tree)
    assert done.returncode == 1
    assert "campaign.engine.heavy -> torch" in done.stdout


def test_writer_and_readings_ask_for_no_gpu_stack():
    """Importing every module of notes and analysis never asks Python for torch, transformers or vllm."""
    done = python(
        f"""
import importlib, pkgutil, sys
import campaign.analysis, campaign.notes

class Watch:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {GPU_STACK!r}:
            print("asked for", name)

sys.meta_path.insert(0, Watch)
for package in (campaign.analysis, campaign.notes):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
print("done")
"""
    )
    assert done.stdout == "done\n", done.stdout


@pytest.mark.parametrize("name", FOLDERS)
def test_bare_folder_is_no_package(name):
    """In the repo root, Python under -P does not take a code folder for a top-level package."""
    done = python(f"import importlib.util as u; print(u.find_spec({name!r}))")
    assert done.returncode == 0, done.stdout
    assert str(ROOT / name) not in done.stdout


def test_links_lead_to_the_folders():
    """Each of the four code folders and templates/ is the same folder under src/campaign."""
    for name in (*FOLDERS, "templates"):
        assert (ROOT / "src" / "campaign" / name).samefile(ROOT / name)


def test_build_takes_working_links(tree):
    """setup.py has nothing to say about links that lead to their folders."""
    done = ask_for_build_requirements(tree)
    assert done.returncode == 0, done.stdout
    assert "expected a link" not in done.stdout


def test_build_takes_folders_in_place_of_links(tree):
    """setup.py has nothing to say about an sdist, which holds the folders themselves."""
    link = tree / "src" / "campaign" / "notes"
    link.unlink()
    shutil.copytree(tree / "notes", link)
    assert ask_for_build_requirements(tree).returncode == 0


def test_build_stops_at_a_link_that_became_a_text_file(tree):
    """setup.py says which link is a file, what it should be and how to get it, without a traceback."""
    link = tree / "src" / "campaign" / "kernels"
    link.unlink()
    link.write_text("../../kernels")
    done = ask_for_build_requirements(tree)
    assert done.returncode == 1
    assert "src/campaign/kernels: a file, not a link; expected a link to ../../kernels" in done.stdout
    assert "git clone -c core.symlinks=true" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("folder", ["notes", "analysis"])
def test_every_import_is_declared(folder):
    """Whatever notes and analysis import is in Python, in campaign, or among the dependencies of pyproject.toml."""
    outside = imported_names(ROOT / folder) - sys.stdlib_module_names - {"campaign"}
    homes = packages_distributions()
    owners = {name: distributions(homes.get(name, [name])) for name in outside}
    declared = distributions(project()["dependencies"])
    assert {name for name, owner in owners.items() if not owner & declared} == set()


def test_every_dependency_is_pinned():
    """constraints.txt holds one exact version, and no address, for each dependency in pyproject.toml."""
    asked = project()["dependencies"] + project()["optional-dependencies"]["test"]
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    assert distributions(asked) <= distributions(lines)


def test_commands_of_the_readme_exist():
    """Every `make` target that README.md names is one of the Makefile's, `make note` and `make test` among them."""
    named = set(re.findall(r"(?:^|`)\s*(?:\$ )?make ([a-z]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert {"note", "test"} <= named
    assert named <= set(make_targets())


def test_every_target_has_a_line_of_help():
    """`make` alone lists every target of the Makefile, one line each."""
    done = run("make", "--no-print-directory")
    assert [line.split()[1] for line in done.stdout.splitlines()] == make_targets()
