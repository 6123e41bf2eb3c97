"""A new part: its folder with files that say what belongs into them."""

import shutil
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from campaign.engine.files import write_bytes
from campaign.engine.records import KNOWN
from campaign.engine.tables import empty_table
from campaign.notes.build import package_template
from campaign.notes.errors import UsageError
from campaign.notes.paths import Campaign, Part, part_name

COPIED = ("plan.toml", "facts.toml", "post.md.j2", "credits.toml")
"""What a new part takes over from an earlier one; rows, seal and publication are its own."""


def new_part(campaign: Campaign, said: str, today: date, like: str | None = None) -> list[Path]:
    """The files written for a new part: a skeleton, or plan, facts, prose and credits of the part `like`."""
    part = Part(campaign, part_name(said))
    if part.folder.exists():
        raise UsageError(f"{part.show(part.folder)}: is there already; expected a new name. Choose another number.")
    texts: dict[str, str] = {}
    if like is not None:
        source = campaign.part(like)
        texts = {name: (source.folder / name).read_text("utf-8") for name in COPIED if (source.folder / name).is_file()}
    else:
        for name in COPIED:
            skeleton = package_template(f"new/{name}")
            assert skeleton is not None, f"the program comes with templates/new/{name}"
            for mark, value in (("@DATE@", today.isoformat()), ("@PART@", part.title)):
                skeleton = skeleton.replace(mark, value)
            texts[name] = skeleton
    texts["data/README.md"] = (
        f"# The data of {part.title}\n\nWhat each file holds, where it comes from, and in which units.\n"
    )
    texts["data/run.json"] = '{\n "origin": "measured"\n}\n'
    contents = {name: text.encode() for name, text in texts.items()}
    contents = _empty_tables(texts["plan.toml"]) | contents
    return write_folder(part.folder, contents)


def _empty_tables(plan: str) -> dict[str, bytes]:
    """The files of a plan's tables with their columns and no record, so that the part builds from the first day."""
    tables = tomllib.loads(plan).get("tables", {})
    files = {}
    for name, said in tables.items():
        if isinstance(said, str):
            said = {"file": said, "columns": KNOWN[name]["columns"]}
        file = said["file"].replace("*", "none")
        files[file] = empty_table(said["columns"], Path(file).suffix)
        if "rest" in said:
            summed = {*said.get("sums", ()), said.get("count")}
            rest = {column: kind for column, kind in KNOWN[name]["columns"].items() if column not in summed}
            files[said["rest"]] = empty_table(rest, Path(said["rest"]).suffix)
    return files


def write_folder(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """The files written into `folder`; where one cannot be written nothing new stays."""
    there = folder.exists()
    written: list[Path] = []
    try:
        for name, content in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, content)
            written.append(path)
    except OSError:
        for path in written:
            path.unlink(missing_ok=True)
        if not there:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return written
