"""Stop the build with one clear message where the links under src/campaign are no links any more.

Everything else about the distribution stands in pyproject.toml.
"""

import sys
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
LINKED = ("analysis", "engine", "kernels", "notes", "templates")


def broken_links(root: Path) -> list[str]:
    """One line for each of the linked folders that does not lead to a folder: where it is and what was found."""
    lines = []
    for name in LINKED:
        link = root / "src" / "campaign" / name
        if link.is_dir():  # a link that works or, in an sdist, the folder itself
            continue
        if link.is_file():
            found = "a file, not a link"
        elif link.is_symlink():
            found = "a link that leads nowhere"
        else:
            found = "nothing"
        lines.append(f"src/campaign/{name}: {found}; expected a link to ../../{name}")
    return lines


broken = broken_links(ROOT)
if broken:
    sys.exit(
        "\n".join(broken) + "\nThe links were lost on the way here: a zip download has none, and git on Windows makes "
        "none unless told to.\nMake a new clone with `git clone -c core.symlinks=true` (on Windows turn Developer Mode "
        "on first), or build from the sdist, which holds the folders themselves."
    )

setup()
