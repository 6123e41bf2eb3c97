"""What was wrong when it was published, told apart from what only changed since."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Readings
from campaign.engine.plan import Plan, read_plan
from campaign.kernels.errors import CampaignError
from campaign.notes.corrections import corrected_places, read_corrections
from campaign.notes.errors import CannotTell, TemplateError
from campaign.notes.findings import Finding
from campaign.notes.history import History, Repository, blob_of, sha256_of
from campaign.notes.ledger import Place, read_ledger
from campaign.notes.paths import MARKER, Campaign, Part
from campaign.notes.post import Post, split
from campaign.notes.publish import published_body, read_published
from campaign.notes.sources import Sources, load

TOLD_APART = ("changed", "word", "gone")
"""Findings of a place that says something else than recomputation gives."""


@dataclass(frozen=True)
class AsPublished:
    """What a part stood on when it was published, and what that gives."""

    commit: str
    """The commit that recorded the publication."""
    sources: Sources
    """Read and computed from the files of that commit, with the program of today."""
    basis: dict[str, str]
    """As `basis` gives it."""


def basis(part: Part, sources: Sources) -> dict[str, str]:
    """sha256 of each file that decides a part's numbers, by its path below the part: plan, facts, credits and data."""
    typed = (path for path in (part.plan, part.facts, part.credits) if path.is_file())
    found = {path.name: sha256_of(path.read_bytes().replace(b"\r\n", b"\n")) for path in typed}
    return found | dict(sources.data.digests)


def told_apart(part: Part, findings: Sequence[Finding], sources: Sources, repository: History) -> list[Finding]:
    """The findings, those of a published place judged by what the part stood on when it was published.

    A number that the sources of that day did not give either was wrong then and stays an error. One that they gave is
    a note with the code `since`; but where the part's own sources were changed and no correction tells of the place,
    it stays an error too. Text that was edited after its publication is left to the other findings. Where the history
    is not here, the findings stay as they are and say so.
    """
    asked = [finding for finding in findings if _is_asked(finding, part)]
    if not asked or read_published(part) is None or not isinstance(repository, Repository):
        return list(findings)
    try:
        body = published_body(part, repository)
        post = split(part.post.read_bytes().decode().replace("\r\n", "\n"), part.show(part.post))
        if post.body != body:
            return list(findings)
        then = as_published(part, repository)
    except (CannotTell, UnicodeDecodeError) as why:
        return [_with(finding, f"whether it was right when it was published: {why}", asked) for finding in findings]
    except CampaignError as why:
        told = (
            f"whether it was right when it was published cannot be told: this program does not read that state: {why}"
        )
        return [_with(finding, told, asked) for finding in findings]
    ledger, _ = read_ledger(part.numbers, part.show(part.numbers))
    if ledger.body() != body:
        return list(findings)
    changed = differing(then.basis, basis(part, sources))
    known = _Known(part, post)

    def judged(finding: Finding) -> Finding:
        if finding not in asked:
            return finding
        if finding.code == "stale":
            return _plot_since(finding, part, then, changed, sources, repository)
        at = known.offset(finding)
        places = zip(ledger.places, ledger.spans(), strict=True)
        place = next((place for place, (start, end) in places if start <= at < end), None)
        if place is None:
            return finding
        gave = _gave(place, then.sources.readings)
        if gave == place.text:
            return _since(finding, part, then, changed, not changed or known.has(finding))
        what = f"gave {gave!r}" if gave is not None else "do not have its reading"
        return _with(finding, f"wrong when it was published: its sources in {then.commit[:12]} {what}")

    return [judged(finding) for finding in findings]


def as_published(part: Part, repository: Repository) -> AsPublished:
    """What the part stood on when it was published.

    Raises CannotTell where git does not have it here, and other errors of the campaign where it cannot be read.
    """
    first = repository.first_version(part.published)
    if first is None:
        raise CannotTell(f"{part.show(part.published)}: not committed yet; expected it in git. Commit it.")
    held = repository.files_at(first.commit, part.campaign.root)
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        root = Path(folder).resolve()
        then = Part(Campaign(root), part.name)
        _write(root, _needed(held, {part.name}), repository)
        (root / MARKER).touch()
        if then.plan.is_file():
            more = set(_others(then, read_plan(then.plan, then.show(then.plan))))
            _write(root, _needed(held, more), repository)
        sources = load(then)
        return AsPublished(first.commit, sources, basis(then, sources))


def differing(then: dict[str, str], now: dict[str, str]) -> list[str]:
    """The files that are not in both, or not the same in both."""
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


class _Known:
    """The places of a part that its entries tell of: those in words that one corrects, and the neighbours of these."""

    def __init__(self, part: Part, post: Post) -> None:
        entries = read_corrections(part)
        self.spans = corrected_places(post.body, entries)
        kept = [one for entry in entries for one in entry.neighbours or ()]
        self.readings = {one.reading for one in kept if one.place.startswith(f"{part.name}:")}
        self.starts = [0]
        for line in post.text.split("\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.body_start = post.body_start

    def offset(self, finding: Finding) -> int:
        """Where in the body a finding stands."""
        return self.starts[finding.line - 1] + finding.column - 1 - self.body_start

    def has(self, finding: Finding) -> bool:
        """Whether an entry tells of the place of `finding`."""
        at = self.offset(finding)
        inside = any(place.start <= at < place.end for place in self.spans)
        return inside or finding.source in self.readings or finding.source.partition(" ")[2] in self.readings


def _is_asked(finding: Finding, part: Part) -> bool:
    if finding.code == "stale":
        return finding.path.startswith(f"{part.show(part.plots)}/")
    return finding.level == "error" and finding.code in TOLD_APART and finding.path == part.show(part.post)


def _plot_since(
    finding: Finding, part: Part, then: AsPublished, changed: list[str], sources: Sources, repository: Repository
) -> Finding:
    """A plot that lies there as it was published is a note where a correction saw the data that draw another now."""
    path = part.campaign.root / finding.path
    kept = path.is_file() and blob_of(path.read_bytes()) == repository.blob_at(then.commit, path)
    seen = {sources.data.digest, sources.data.whole_digest} & {entry.data for entry in read_corrections(part)}
    return _since(finding, part, then, changed, vouched=True) if kept and seen else finding


def _with(finding: Finding, told: str, only: Sequence[Finding] | None = None) -> Finding:
    """The finding with a further line."""
    return finding if only is not None and finding not in only else replace(finding, also=(*finding.also, told))


def _since(finding: Finding, part: Part, then: AsPublished, changed: list[str], vouched: bool) -> Finding:
    files = ", ".join(part.show(part.folder / name) for name in changed)
    if not vouched:
        told = f"right when it was published: {files} changed after {then.commit[:12]}, and no correction says why"
        kept = f"git checkout {then.commit} -- {files.replace(',', '')}"
        return _with(replace(finding, mend=f"{kept}, or notes correct {part.name}"), told)
    why = f"{files} changed after {then.commit[:12]}" if changed else "what it takes from other parts changed since"
    return replace(
        _with(finding, f"right when it was published; {why}"),
        code="since",
        level="note",
        mend=f"nothing; notes correct {part.name} tells readers of it",
    )


def _gave(place: Place, readings: Readings) -> str | None:
    """What the readings print at a place; None where they do not have its own."""
    try:
        return place.fresh(readings)
    except (ReadingError, TemplateError):
        return None


def _needed(held: dict[str, str], parts: Iterable[str]) -> dict[str, str]:
    """Of a campaign's files: its settings, everything of some parts, and what others declare of themselves."""
    return {
        name: blob
        for name, blob in held.items()
        if name == MARKER
        or (
            name.startswith("parts/")
            and (name.split("/")[1] in parts or (name.count("/") == 2 and name.endswith(".toml")))
        )
    }


def _others(part: Part, plan: Plan) -> Iterator[str]:
    """The parts whose data `part` reads: those of its yardsticks, and those that a correction names it in."""
    yield from (arm.source.part for arm in plan.arms.values() if arm.source)
    yield from (
        other.name for other in part.campaign.parts() if any(c.caused_by == part.name for c in read_corrections(other))
    )


def _write(root: Path, held: dict[str, str], repository: Repository) -> None:
    """Nothing; the files then lie below `root`."""
    for name, blob in held.items():
        path = root / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(repository.text_of(blob))
