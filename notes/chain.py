"""The chain: one link for every publication and correction of a campaign, each over the link before it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from campaign.engine import files
from campaign.notes.causes import kept_in, located
from campaign.notes.corrections import canonical, check_corrections, read_corrections
from campaign.notes.errors import CannotTell, UsageError
from campaign.notes.findings import NOTHING_COVERED, Finding, Report
from campaign.notes.history import History, Repository, Version, blob_of, require_history, sha256_of, workable
from campaign.notes.index import history_of
from campaign.notes.paths import Campaign
from campaign.notes.publish import check_published, read_published
from campaign.notes.seal import Problem
from campaign.notes.toml_files import Record, Sha256, parse_toml, read_toml, record_lines, validated

HEADER = "# Append only: `notes publish` and `notes correct` add a link, and no link is ever changed.\n"
TABLE = "link"
ADOPT = "notes chain --adopt"
ANCHOR_DIGITS = 16
"""As many digits of a head are enough to name it."""
_ANCHOR = re.compile(rf"[0-9a-f]{{{ANCHOR_DIGITS},64}}")


class Link(Record):
    """One link of chain.toml."""

    number: Annotated[int, Field(ge=1)]
    """the link's place in the chain, from 1."""
    event: Annotated[str, Field(pattern=r"^part-\d+ (published|correction \d+)$")]
    """what it stands for, as `part-4 published` or `part-4 correction 2`."""
    sha256: Sha256
    """the sha256 of what was fixed then: the keys of published.toml, or the entry in corrections.toml."""
    previous: Sha256 | None = None
    """the sha256 of the link before this one; the first has none."""


class Event(NamedTuple):
    """A publication or a correction as its own file has it."""

    name: str
    """As a link calls it."""
    sha256: str
    path: str
    """The file, as a person at the campaign's root types it."""


def chain_file(campaign: Campaign) -> Path:
    """Where the chain of a campaign lies."""
    return campaign.parts_folder / "chain.toml"


def events(campaign: Campaign) -> list[Event]:
    """Every publication and correction in the campaign's files, by day; a part's own in the order of its entries."""
    found = []
    for part in campaign.parts():
        published = read_published(part)
        if published is None:
            continue
        shown = part.show(part.published)
        digest = sha256_of(record_lines(published).encode())
        found.append((published.date, part.number, 0, Event(f"{part.name} published", digest, shown)))
        day, shown = published.date, part.show(part.corrections)
        for entry in read_corrections(part):
            # An entry may be dated before the one above it, and stands behind it all the same.
            day = max(day, entry.date)
            digest = sha256_of(canonical(entry).encode())
            found.append(
                (day, part.number, entry.number, Event(f"{part.name} correction {entry.number}", digest, shown))
            )
    return [event for *_, event in sorted(found)]


def read_chain(campaign: Campaign) -> list[Link]:
    """The links of the campaign's chain; none where there is no such file yet."""
    shown = _shown(campaign)
    return _links(read_toml(chain_file(campaign), shown) or {}, shown)


def unlinked(campaign: Campaign) -> list[Event]:
    """The publications and corrections that no link stands for."""
    have = {link.event for link in read_chain(campaign)}
    return [event for event in events(campaign) if event.name not in have]


def extend(campaign: Campaign, repo: History) -> list[Link]:
    """The links that were added: one for each publication and correction that had none, in the order of their days.

    The bytes that chain.toml had before stay as they were. Raises UsageError, and writes nothing, where a link that
    is there is not as it was left.
    """
    shown = _shown(campaign)
    links = require_sound(campaign, repo)
    added: list[Link] = []
    for event in unlinked(campaign):
        before = [*links, *added]
        values = {
            "number": len(before) + 1,
            "event": event.name,
            "sha256": event.sha256,
            "previous": _digest(before[-1]) if before else None,
        }
        added.append(validated(Link, values, f"{shown}: {TABLE} {len(before) + 1}"))
    if added:
        path = chain_file(campaign)
        text = path.read_bytes() if path.exists() else HEADER.encode()
        text += b"" if text.endswith(b"\n") else b"\n"
        text += "".join(f"\n{_canonical(link)}" for link in added).encode()
        assert _links(parse_toml(text, shown), shown) == [*links, *added], "what was written reads back as it was meant"
        files.write_bytes(path, text)
    return added


def require_sound(campaign: Campaign, repo: History) -> list[Link]:
    """The links of the chain; raises UsageError where one of them is not as it was left, so that none may follow."""
    problems = [problem for problem in _problems(campaign, repo) if problem.code != "link-missing"]
    if problems:
        raise UsageError(
            f"{_shown(campaign)}: nothing was added, because the links before are not as they were left. {problems[0]}"
        )
    return read_chain(campaign)


def not_adopted(campaign: Campaign, repo: History) -> str:
    """What to tell of a campaign that published before it had a chain; empty where there is nothing to tell."""
    shown = _shown(campaign)
    if chain_file(campaign).exists() or (isinstance(repo, Repository) and repo.first_version(chain_file(campaign))):
        return ""
    loose = len(unlinked(campaign))
    if not loose:
        return ""
    them = "1 publication or correction" if loose == 1 else f"{loose} publications and corrections"
    return f"{them} stand in no chain yet, so nothing ties them together: `{ADOPT}` makes {shown}, once"


def check_chain(campaign: Campaign, repo: History) -> list[Problem]:
    """What is wrong with the campaign's chain: its own hashes, the files that it stands for, and its history.

    Nothing for a campaign that never had one. Raises CannotTell where nothing wrong can be seen and the history that
    would prove it is not here.
    """
    problems = _problems(campaign, repo)
    if problems or not chain_file(campaign).exists():
        return problems
    shown = _shown(campaign)
    repo = require_history(repo, "That no link was ever changed")
    if repo.is_shallow:
        raise CannotTell(
            f"{shown}: this shallow clone does not reach the first links; expected the whole history, to see that none "
            "was changed. `git fetch --unshallow` brings it."
        )
    return []


class Head(NamedTuple):
    """The newest link, which holds everything before it."""

    link: Link
    sha256: str
    """The link's own: the one hash that a person, or a CI system, keeps outside of the repository."""
    commit: str | None
    """The commit of HEAD's history that has it; None where none has."""

    def __str__(self) -> str:
        where = f"in commit {self.commit[:12]}" if self.commit else "in no commit yet"
        return f"head {self.sha256}  (link {self.link.number}, {where})"


def head_of(campaign: Campaign, repo: History) -> Head | None:
    """The newest link of the chain; None where there is no link."""
    links = read_chain(campaign)
    if not links:
        return None
    path = chain_file(campaign)
    blob = blob_of(path.read_bytes().replace(b"\r\n", b"\n"))
    commit = repo.earlier_commit_with(path, blob) if isinstance(repo, Repository) else None
    return Head(links[-1], _digest(links[-1]), commit)


def check_anchor(campaign: Campaign, anchor: str) -> list[Problem]:
    """The finding that no link has the sha256 `anchor`, the head that was kept outside of the repository.

    Links that came later are fine: each names the one before it. Raises UsageError for what is no such hash.
    """
    shown, asked = _shown(campaign), anchor.strip().lower()
    if not _ANCHOR.fullmatch(asked):
        raise UsageError(
            f"--anchor: found {anchor!r}; expected the head that `notes chain` prints, of which at least "
            f"{ANCHOR_DIGITS} of 64 hexadecimal digits. Copy it whole."
        )
    links = read_chain(campaign)
    if any(_digest(link).startswith(asked) for link in links):
        return []
    mend = (
        "compare with a clone from before the anchor was kept; where the change is right (two branches were joined, "
        "say), keep the head that `notes chain` prints now"
    )
    said = f"{len(links)} link{'' if len(links) == 1 else 's'}, none of them with the sha256 {asked[:ANCHOR_DIGITS]}…"
    return [
        Problem(shown, "anchor-lost", said, "the anchor among them: this chain is not the one it was kept of", mend)
    ]


def check_events(campaign: Campaign, repo: History) -> list[Problem]:
    """What is wrong with the publications and corrections that the links stand for, in the history of HEAD.

    A history that was rewritten no longer has the commits that they name. Raises CannotTell as `check_chain` does.
    """
    return [
        problem
        for part in campaign.parts()
        for look in (check_published, check_corrections)
        for problem in look(part, repo)
    ]


def chain_report(campaign: Campaign) -> Report | None:
    """What is wrong with the campaign's chain of publications and corrections; None where there is nothing to tell."""
    repository = history_of(campaign)
    note, cannot_tell, findings = not_adopted(campaign, repository), "", []
    try:
        findings = [_told(problem, campaign, repository) for problem in check_chain(campaign, repository)]
    except CannotTell as why:
        cannot_tell = str(why)
    if not (findings or cannot_tell or note):
        return None
    return Report("chain", _shown(campaign), NOTHING_COVERED, findings, cannot_tell, [note] if note else [])


def _told(problem: Problem, campaign: Campaign, repo: History) -> Finding:
    """A problem of the chain as a check tells it; one of a file that is not as it was kept follows from that file's."""
    finding = located(problem.finding, campaign.root, repo)
    if problem.code in ("link-unlike", "link-of-nothing"):
        for cause in kept_in(campaign.parts(), repo):
            if cause.path in problem.said:
                return replace(finding, cause=cause.name, mend=workable(cause.mend, repo))
    return replace(finding, mend=workable(finding.mend, repo))


def _problems(campaign: Campaign, repo: History) -> list[Problem]:
    path, shown = chain_file(campaign), _shown(campaign)
    versions = repo.versions(path) if isinstance(repo, Repository) else []
    if not path.exists():
        newest = next((version.commit for version in versions if version.blob), None)
        if newest is None:
            return []
        mend = f"`git checkout {newest} -- {shown}`"
        return [Problem(shown, "chain-removed", "no such file", f"the chain that {newest} has", mend)]
    links = read_chain(campaign)
    rewritten = _rewritten(links, shown, campaign, repo) if isinstance(repo, Repository) else []
    return rewritten or _broken(links, shown) or _against_files(links, events(campaign), shown)


def _shown(campaign: Campaign) -> str:
    return chain_file(campaign).relative_to(campaign.root).as_posix()


def _canonical(link: Link) -> str:
    return f"[[{TABLE}]]\n{record_lines(link)}"


def _digest(link: Link) -> str:
    return sha256_of(_canonical(link).encode())


def _links(values: dict[str, object], where: str) -> list[Link]:
    unknown = [key for key in values if key != TABLE]
    tables = values.get(TABLE, [])
    if unknown or not isinstance(tables, list):
        raise UsageError(
            f"{where}: {unknown[0] if unknown else TABLE}: found something else; expected only [[{TABLE}]] tables. "
            f"Restore the file: `git checkout HEAD -- {where}`."
        )
    return [validated(Link, table, f"{where}: {TABLE} {i}") for i, table in enumerate(tables, start=1)]


def _broken(links: Sequence[Link], shown: str) -> list[Problem]:
    """The first link that is not numbered as it stands, or does not name the link before it."""
    mend = f"restore the links as they were written: `git log -p -- {shown}` shows them"
    for index, link in enumerate(links):
        if link.number != index + 1:
            said = f"number = {link.number} in link {index + 1}"
            return [Problem(shown, "link-number", said, f"number = {index + 1}", mend)]
        want = _before(links, index)
        if link.previous != want:
            wanted = f"{want}, the sha256 of link {index}" if want else "none in the first link"
            said = f"previous = {link.previous} in link {index + 1} ({link.event})"
            return [Problem(shown, "chain-broken", said, wanted, mend)]
        if any(link.event == other.event for other in links[:index]):
            return [Problem(shown, "link-twice", f"{link.event} a second time, in link {index + 1}", "it once", mend)]
    return []


def _against_files(links: Sequence[Link], found: Sequence[Event], shown: str) -> list[Problem]:
    """Links that do not fit the files they stand for, and publications and corrections without a link."""
    here = {event.name: event for event in found}
    problems = list(_unlike(links, here, shown))
    have = {link.event for link in links}
    loose = [event.name for event in found if event.name not in have]
    if loose:
        said = f"no link for {', '.join(loose)}"
        mend = f"`{ADOPT}` adds what is missing at the end"
        problems.append(Problem(shown, "link-missing", said, "one for each publication and correction", mend))
    return problems


def _unlike(links: Sequence[Link], here: dict[str, Event], shown: str) -> Iterator[Problem]:
    for link in links:
        event = here.get(link.event)
        file = f"parts/{link.event.partition(' ')[0]}/"
        file += "published.toml" if link.event.endswith("published") else "corrections.toml"
        mend = f"restore {file} as it was written: `git log -p -- {file}` shows it"
        if event is None:
            said = f"link {link.number}, {link.event}, which {file} does not have"
            yield Problem(shown, "link-of-nothing", said, "what was fixed then, still there", mend)
        elif event.sha256 != link.sha256:
            said = f"sha256 {event.sha256} of what {file} says of {link.event}"
            yield Problem(shown, "link-unlike", said, f"{link.sha256}, as link {link.number} holds it", mend)


def _rewritten(links: Sequence[Link], shown: str, campaign: Campaign, repo: Repository) -> list[Problem]:
    """The finding that a link which a commit of HEAD's history has is gone or was changed."""
    beginnings = _beginnings(chain_file(campaign).read_bytes().replace(b"\r\n", b"\n"))
    versions = [version for version in repo.versions(chain_file(campaign)) if version.blob]
    if all(version.blob in beginnings for version in versions):
        return []
    chains = [(version, _links_at(version, shown, repo)) for version in versions]
    for version, before in reversed(chains):
        same = _common(before, links)
        if same == len(before) or _overwrote(version, before[same], same, chains, repo):
            continue
        if _joined_by_a_merge(version, before, links, chains, repo):
            continue
        lost = before[same]
        now = links[same] if same < len(links) else None
        said = f"no link {same + 1}" if now is None else f"{now.event}, sha256 {now.sha256[:12]}, in link {same + 1}"
        newest = next(version for version, chain in chains if len(chain) > same and chain[same] == lost)
        return [
            Problem(
                path=shown,
                code="link-removed" if now is None else "link-changed",
                said=said,
                expected=f"{lost.event}, sha256 {lost.sha256[:12]}, as {version.commit} has it",
                mend=f"`git checkout {newest.commit} -- {shown}`, then `{ADOPT}` adds what came later",
            )
        ]
    return []


def _beginnings(text: bytes) -> set[str]:
    """The blobs of a chain's file as it was after each of its links, so that no earlier state has to be read."""
    ends = [found.start() for found in re.finditer(rb"\n\[\[", text)][1:]
    return {blob_of(text[:end]) for end in (*ends, len(text))}


def _common(before: Sequence[Link], now: Sequence[Link]) -> int:
    """How many links two chains begin with in common."""
    return next((i for i, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), min(len(before), len(now)))


def _overwrote(
    version: Version, link: Link, index: int, chains: Sequence[tuple[Version, list[Link]]], repo: Repository
) -> bool:
    """Whether an earlier commit had another link there: then that one counts, and this state was the fault."""
    return any(
        len(other) > index and other[index] != link and repo.descends(version.commit, elsewhere.commit)
        for elsewhere, other in chains
    )


def _joined_by_a_merge(
    version: Version,
    before: Sequence[Link],
    now: Sequence[Link],
    chains: Sequence[tuple[Version, list[Link]]],
    repo: Repository,
) -> bool:
    """Whether `before` grew on a branch of its own, and all its links stand in today's chain behind those of another.

    Two branches that publish both have a link of the same number; after their merge one of the two comes later.
    """
    later = iter([(link.event, link.sha256) for link in now])
    if not all((link.event, link.sha256) in later for link in before):
        return False
    same = _common(before, now)
    return any(
        _common(other, now) == len(other) > same
        and not repo.descends(elsewhere.commit, version.commit)
        and not repo.descends(version.commit, elsewhere.commit)
        for elsewhere, other in chains
    )


def _links_at(version: Version, shown: str, repo: Repository) -> list[Link]:
    """The sound links in one state of the file; none where it was not readable even then: half a merge, say."""
    assert version.blob is not None, "asked only of states with a file"
    try:
        found = _links(parse_toml(repo.text_of(version.blob), f"{version.commit}:{shown}"), shown)
    except UsageError:
        return []
    broken = (i for i, link in enumerate(found) if link.number != i + 1 or link.previous != _before(found, i))
    return found[: next(broken, len(found))]


def _before(links: Sequence[Link], index: int) -> str | None:
    """What the link at `index` has to name as the one before it."""
    return _digest(links[index - 1]) if index else None
