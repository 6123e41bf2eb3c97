"""Where the facts of a published part are said to come from: as it was said when each was first there."""

import tomllib
from collections.abc import Iterator

from campaign.notes.errors import CannotTell
from campaign.notes.facts import Facts
from campaign.notes.findings import Finding
from campaign.notes.history import History, Repository
from campaign.notes.paths import Part
from campaign.notes.publish import read_published
from campaign.notes.toml_places import line_of_table


def check_fact_sources(part: Part, facts: Facts, repository: History) -> Iterator[Finding]:
    """A warning for each fact of a published part whose source is not the one that it had when it was published.

    A fact that came later, for a place that was bound anew, is held to the source it first had. A draft's sources may
    change, and without git there is nothing to compare with.
    """
    if read_published(part) is None or not isinstance(repository, Repository):
        return
    before = _first_sources(part, repository)
    shown = part.show(part.facts)
    lines = part.facts.read_bytes().decode(errors="replace").replace("\r\n", "\n").split("\n")
    for name, fact in facts.facts.items():
        source, commit = before.get(name, (fact.source, ""))
        if fact.source == source:
            continue
        line, column = _place(lines, name)
        yield Finding(
            "kept",
            shown,
            line,
            column,
            fact.source,
            source,
            f"the source of the fact {name}",
            f"write the source as it was (git show {commit[:12]}:{shown} has it), or notes correct {part.name} where "
            "the text is wrong",
            level="warning",
            length=len(fact.source) if fact.source in lines[line - 1] else 0,
        )


def _first_sources(part: Part, repository: Repository) -> dict[str, tuple[str, str]]:
    """The source that each fact first had since the publication, and the commit that has it."""
    first = repository.first_version(part.published)
    if first is None:
        return {}
    at_first = repository.blob_at(first.commit, part.facts)
    states = [(version.commit, version.blob) for version in repository.versions(part.facts)]
    blobs = [blob for _, blob in states]
    later = states[: blobs.index(at_first)] if at_first in blobs else []
    found: dict[str, tuple[str, str]] = {}
    for commit, blob in [(first.commit, at_first), *reversed(later)]:
        for name, source in _sources_in(blob, repository).items():
            found.setdefault(name, (source, commit))
    return found


def _sources_in(blob: str | None, repository: Repository) -> dict[str, str]:
    """The source of each fact in one state of the file; none where it cannot be read."""
    try:
        facts = tomllib.loads(repository.text_of(blob).decode("utf-8-sig"))["facts"] if blob else {}
        return {name: said["source"] for name, said in facts.items() if isinstance(said.get("source"), str)}
    except (AttributeError, CannotTell, KeyError, ValueError):
        return {}


def _place(lines: list[str], name: str) -> tuple[int, int]:
    """Line and column of a fact's source, or where the fact begins."""
    line = line_of_table("\n".join(lines), "facts", name)
    for number, said in enumerate(lines[line:], line + 1):
        key, equals, _ = said.partition("=")
        if said.lstrip().startswith("["):
            break
        if equals and key.strip() == "source":
            return number, said.find('"') + 2
    return line, 1
