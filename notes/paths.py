"""Where everything of a campaign lies; the one place that knows the layout."""

import re
from dataclasses import dataclass
from pathlib import Path

from campaign.kernels.errors import nearest
from campaign.notes.errors import UsageError

MARKER = "campaign.toml"
PART = re.compile(r"part-(0|[1-9]\d*)")


@dataclass(frozen=True)
class Campaign:
    """The folder that holds campaign.toml and parts/."""

    root: Path

    @classmethod
    def above(cls, start: Path) -> "Campaign":
        """The campaign whose folder is `start` or the nearest one above it."""
        start = start.resolve()
        for folder in (start, *start.parents):
            if (folder / MARKER).is_file():
                return cls(folder)
        raise UsageError(
            f"{start}: no {MARKER} here or in any folder above; expected to be inside a campaign. "
            f"Change into one, or make a file {MARKER} in a new folder."
        )

    @property
    def parts_folder(self) -> Path:
        return self.root / "parts"

    @property
    def build_folder(self) -> Path:
        """Where pages for a browser are written; never committed."""
        return self.root / "build"

    def parts(self) -> "list[Part]":
        """Every part of the campaign, by number."""
        if not self.parts_folder.is_dir():
            return []
        found = [p.name for p in self.parts_folder.iterdir() if PART.fullmatch(p.name) and p.is_dir()]
        return [Part(self, name) for name in sorted(found, key=lambda n: int(n[5:]))]

    def part(self, said: str) -> "Part":
        """The part that a person means by `part-5`, `parts/part-5`, a path to it, or `5`."""
        name = part_name(said)
        known = [part.name for part in self.parts()]
        if name not in known:
            hint = nearest(name, known)
            raise UsageError(
                f"{said}: there is no such part in {self.parts_folder}; expected one of "
                f"{', '.join(known) or 'none yet'}.{hint} `notes list` shows them; `notes new {name}` makes a new one."
            )
        return Part(self, name)


def part_name(said: str) -> str:
    """`part-5` for `part-5`, `parts/part-5`, `./parts/part-5/`, `parts/part-5/post.md` and `5`."""
    path = Path(said).resolve() if said.startswith(".") else Path(said)
    last = path.parent.name if path.suffix else path.name
    if re.fullmatch(r"\d+", last):
        return f"part-{int(last)}"
    if re.fullmatch(r"part-\d+", last):
        return f"part-{int(last[5:])}"
    raise UsageError(f"{said}: not the name of a part; expected part-5, parts/part-5 or 5. Name one like that.")


@dataclass(frozen=True)
class Part:
    """One part's folder and the files in it."""

    campaign: Campaign
    name: str

    @property
    def number(self) -> int:
        return int(self.name[5:])

    @property
    def title(self) -> str:
        """`Part 5`: how prose names the part."""
        return f"Part {self.number}"

    @property
    def folder(self) -> Path:
        return self.campaign.parts_folder / self.name

    @property
    def plan(self) -> Path:
        return self.folder / "plan.toml"

    @property
    def seal(self) -> Path:
        return self.folder / "seal.toml"

    @property
    def looks(self) -> Path:
        return self.folder / "looks.toml"

    @property
    def facts(self) -> Path:
        return self.folder / "facts.toml"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def run(self) -> Path:
        return self.data / "run.json"

    @property
    def readings(self) -> Path:
        return self.folder / "readings.json"

    @property
    def template(self) -> Path:
        return self.folder / "post.md.j2"

    @property
    def post(self) -> Path:
        return self.folder / "post.md"

    @property
    def numbers(self) -> Path:
        return self.folder / "numbers.json"

    @property
    def published(self) -> Path:
        return self.folder / "published.toml"

    @property
    def corrections(self) -> Path:
        return self.folder / "corrections.toml"

    @property
    def credits(self) -> Path:
        return self.folder / "credits.toml"

    @property
    def plots(self) -> Path:
        return self.folder / "plots"

    @property
    def page(self) -> Path:
        """The HTML page that a browser shows."""
        return self.campaign.build_folder / self.name / "index.html"

    def show(self, path: Path) -> str:
        """`path` as a person at the campaign's root would type it."""
        try:
            return path.resolve().relative_to(self.campaign.root).as_posix()
        except ValueError:
            return str(path)
