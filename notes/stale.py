"""Built files against what a build gives now: what stands around the body, readings.json, plots, the body itself."""

import json
from collections.abc import Iterator
from pathlib import Path

from campaign.notes import plotting
from campaign.notes.build import build, readings_json
from campaign.notes.causes import DATA_HASH
from campaign.notes.errors import CannotTell
from campaign.notes.findings import Finding
from campaign.notes.history import History, Repository, mend_line_ends, sha256_of
from campaign.notes.ledger import Ledger
from campaign.notes.lines import line_column
from campaign.notes.paths import Part
from campaign.notes.post import Post
from campaign.notes.publish import read_published
from campaign.notes.sources import Sources
from campaign.notes.svg import read_digest

CLOSE = 1e-9
"""Relative difference up to which two numbers of readings.json are the same: machines differ in last bits."""


def stale_around(part: Part, post: Post, wanted: Post) -> Iterator[Finding]:
    """Findings of the banner and the dated entries against those that the files of the part give."""
    for name, found, expected, before in (
        ("banner", post.banner, wanted.banner, ""),
        ("entries", post.entries, wanted.entries, post.text[: len(post.text) - len(post.entries)]),
    ):
        if found == expected:
            continue
        line, said, should = _first_difference(found, expected)
        yield Finding(
            "stale",
            part.show(part.post),
            before.count("\n") + line,
            1,
            said,
            should,
            f"the {name} that published.toml and corrections.toml give",
            f"notes build {part.name}",
        )


def stale_readings(part: Part, sources: Sources, repository: History) -> Iterator[Finding]:
    """The first reading of readings.json that recomputation does not give, and a changed data file."""
    shown = part.show(part.readings)
    published = read_published(part)
    mend = _as_published(part, repository) if published else f"notes build {part.name}"
    if not part.readings.is_file():
        raise CannotTell(f"{shown}: there is no such file; expected the readings as built. Run `{mend}`.")
    computed = readings_json(sources)
    if part.readings.read_bytes() == computed.encode():
        return
    try:
        found = json.loads(part.readings.read_bytes())
        kept, files = {r["id"]: r for r in found["readings"]}, dict(found["data"].items())
    except (AttributeError, ValueError, KeyError, TypeError):
        yield Finding("stale", shown, 1, 1, "not a readings.json", "what notes build writes", "", mend)
        return
    wanted = json.loads(computed)
    later = sources.data.records if published else frozenset()  # a publication from before raw records had hashes
    unknown = [name for name in wanted["data"] if name not in files and name not in later]
    if unknown:
        said, expected = f"no hash of {unknown[0]}", f"sha256 {wanted['data'][unknown[0]][:12]}"
        yield Finding("stale", shown, 1, 1, said, expected, "the data that were read", mend)
    for name, digest in wanted["data"].items():
        if name in files and files[name] != digest:
            path = part.folder / name
            said, expected = f"sha256 {digest[:12]}", f"sha256 {str(files[name])[:12]} as built"
            meant = f"notes correct {part.name} to say why" if published else f"notes build {part.name}"
            bring = f"{_as_built(part, path, str(files[name]), repository)}, or {meant} (where the change is meant)"
            if sha256_of(path.read_bytes().replace(b"\r\n", b"\n")) == files[name]:
                said, bring = "CRLF line ends", mend_line_ends(part.show(path))
            yield Finding("stale", part.show(path), 1, 1, said, expected, DATA_HASH, bring)
    text = part.readings.read_text(encoding="utf-8", errors="replace")
    for reading in wanted["readings"]:
        was = kept.pop(reading["id"], None)
        if not _same(was, reading):
            key, said, should = _first_differing_key(was or {}, reading)
            source = f"{key} of reading {reading['id']}"
            yield Finding("stale", shown, *_place_in(text, reading["id"], key), said, should, source, mend)
            return
    for name in kept:
        yield Finding("stale", shown, *_place_in(text, name, "id"), name, "no such reading", "the plan", mend)
        return


def _as_built(part: Part, path: Path, sha256: str, repository: History) -> str:
    """The command that brings a file back to the bytes that have this hash."""
    commit = "HEAD"
    if isinstance(repository, Repository):
        commit = next(_commits_with(path, sha256, repository), commit)
    return f"git checkout {commit} -- {part.show(path)}"


def _commits_with(path: Path, sha256: str, repository: Repository) -> Iterator[str]:
    """The commits in which a file has the bytes with this hash: HEAD, else the newest that brought it there."""
    try:
        held = repository.committed_blob(path)
        if held and sha256_of(repository.text_of(held)) == sha256:
            yield "HEAD"
        for version in repository.versions(path):
            if version.blob and sha256_of(repository.text_of(version.blob)) == sha256:
                yield version.commit[:12]
    except CannotTell:
        return


def _as_published(part: Part, repository: History) -> str:
    """The command that brings readings.json back as it was published."""
    first = repository.first_version(part.published) if isinstance(repository, Repository) else None
    return f"git checkout {first.commit[:12] if first else 'HEAD'} -- {part.show(part.readings)}"


def _place_in(text: str, name: str, key: str) -> tuple[int, int]:
    """Line and column of what a key of a reading is in readings.json; its first place where it is not there."""
    at = max(text.find(f'{{"id": {json.dumps(name, ensure_ascii=False)}'), 0)
    end = text.find("\n", at)
    found = text.find(f'"{key}": ', at, end if end >= 0 else len(text))
    at = found + len(f'"{key}": ') if found >= 0 else at
    return line_column(text, at)


def _first_differing_key(found: dict[str, object], wanted: dict[str, object]) -> tuple[str, str, str]:
    """The first key in which two readings differ, and what stands there in both."""
    keys = [*wanted, *(key for key in found if key not in wanted)]
    key = next(key for key in keys if not _same(found.get(key), wanted.get(key)))
    return key, str(found.get(key, "nothing")), str(wanted.get(key, "nothing"))


def _same(found: object, wanted: object) -> bool:
    """Equality of what JSON gives, numbers to the last bits of a machine."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(_same(found[key], wanted[key]) for key in wanted)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_same, found, wanted))
    if isinstance(found, float) and isinstance(wanted, float):
        return abs(found - wanted) <= CLOSE * max(abs(found), abs(wanted), 1e-6)
    return type(found) is type(wanted) and found == wanted


def stale_plots(part: Part, sources: Sources, ledger: Ledger) -> Iterator[Finding]:
    """Plots that are missing, were edited, or were drawn from other points."""
    memo = sources.readings.memo
    if "plots" not in memo:
        memo["plots"] = plotting.plots_of(sources.plan, part, sources.data, sources.readings)
    for plot in memo["plots"]:
        path = part.plots / f"{plot.name}.svg"
        shown, mend = part.show(path), f"notes build {part.name}"
        found = path.read_bytes() if path.is_file() else b""
        points = read_digest(found.decode(errors="replace"))
        wanted = plot.digest
        if points != wanted:
            said = f"points {points[:12]}" if points else "no plot"
            yield Finding("stale", shown, 1, 1, said, f"points {wanted[:12]}", "the plot's readings", mend)
        elif sha256_of(found) != ledger.plots.get(plot.name):
            built = str(ledger.plots.get(plot.name))[:12]
            said = f"sha256 {sha256_of(found)[:12]}"
            yield Finding("stale", shown, 1, 1, said, f"sha256 {built}", "the plot as it was built", mend)


def stale_template(part: Part, post: Post) -> Iterator[Finding]:
    """Where the template is at hand and gives another body than the one that lies there."""
    if not part.template.is_file():
        return
    wanted = build(part).post.body
    if wanted != post.body:
        line, said, should = _first_difference(post.body, wanted)
        first = post.text.count("\n", 0, post.body_start)
        yield Finding(
            "stale",
            part.show(part.post),
            first + line,
            1,
            said,
            should,
            "the template as it is now",
            f"notes build {part.name}",
            level="warning" if read_published(part) else "error",
        )


def _first_difference(found: str, expected: str) -> tuple[int, str, str]:
    """Line number and both lines where two texts first differ."""
    old, new = found.split("\n"), expected.split("\n")
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return at + 1, old[at] if at < len(old) else "", new[at] if at < len(new) else ""
