"""The seal: proof that a part's plan was there before its rows."""

import codecs
import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime

from campaign.engine import files
from campaign.notes.dates import utc_minute, with_zone
from campaign.notes.errors import UsageError
from campaign.notes.findings import Finding
from campaign.notes.history import (
    Held,
    History,
    NoHistory,
    Repository,
    Version,
    blob_of,
    mend_line_ends,
    only_line_ends_differ,
    require_here,
    require_history,
    sha256_of,
)
from campaign.notes.paths import Part
from campaign.notes.toml_files import GitName, Record, Sentence, Sha256, parse_toml, read_toml, record_lines, validated

Origin = Literal["measured", "reconstructed", "stated"]
ORIGINS: tuple[Origin, ...] = ("measured", "reconstructed", "stated")

NOTES: dict[Origin, str] = {
    "measured": "The plan was committed before this seal was written, and the rows come after it.",
    "reconstructed": "The data are a reconstruction; order and seal are stated by the source, not proven here.",
    "stated": "Order and seal are stated by the source, not proven here.",
}


@dataclass(frozen=True)
class Problem:
    """One thing about kept files that is not as it was left: a finding."""

    path: str
    """The file, as a person at the campaign's root would type it."""
    code: str
    """One short name for this kind of problem."""
    said: str
    """What was found."""
    expected: str
    """What was expected instead."""
    mend: str
    """What a person does about it; commands stand in backquotes."""
    line: int | None = None
    """The line in the file, from 1, where one line can be named."""

    @property
    def finding(self) -> Finding:
        """As a check tells it."""
        return Finding("kept", self.path, self.line or 1, 1, self.said, self.expected, self.code, self.mend)

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.code}: found {self.said}; expected {self.expected}. To mend: {self.mend}."


class Seal(Record):
    """What seal.toml holds."""

    origin: Origin
    """measured here, reconstructed, or stated by a source."""
    plan_sha256: Sha256
    """the sha256 of plan.toml."""
    plan_blob: GitName
    """git's name for plan.toml as it was sealed."""
    rule_sha256: Sha256 | None = None
    """of every declaration, as the first seals have it; kept, and not compared: readings are added later."""
    decision_sha256: Sha256 | None = None
    """the sha256 of the rule that the plan compiled to when it was sealed."""
    commit: GitName
    """the full name of the earlier commit that holds the plan."""
    sealed: AwareDatetime
    """when the plan was sealed, with its zone; for data not measured here, as their source states it."""
    note: Sentence
    """one line of plain words about how far the seal proves the order."""

    @property
    def is_proof(self) -> bool:
        """Whether the seal proves that the plan came first; otherwise a source merely says so."""
        return self.origin == "measured"


def make_seal(
    part: Part,
    *,
    origin: Origin,
    sealed: datetime.datetime,
    repo: History,
    note: str | None = None,
    decision_sha256: str | None = None,
) -> Seal:
    """The seal of the part's plan as HEAD holds it; nothing is written.

    `sealed` is the present moment for a measured part, kept to the second in UTC, and otherwise the moment that the
    source states. Raises UsageError where the plan is not committed as it is, or the part was sealed before.
    """
    where = part.show(part.seal)
    repo = require_history(repo, "A seal")
    _refuse_a_second_seal(part, repo)
    plan_blob = repo.require_committed(part.plan, part.show(part.plan))
    commit = repo.earlier_commit_with(part.plan, plan_blob)
    assert commit is not None, "HEAD holds the plan, so some commit brought it"
    sealed = with_zone(sealed, where)
    if origin == "measured":
        sealed = sealed.astimezone(datetime.UTC).replace(microsecond=0)
        committed = repo.commit_date(commit)
        if sealed < committed:
            raise UsageError(
                f"{where}: sealed at {sealed.isoformat()}, before {commit[:12]} committed the plan at "
                f"{committed.isoformat()}; expected a later moment. Set this machine's clock right."
            )
    values = {
        "origin": origin,
        "plan_sha256": sha256_of(part.plan.read_bytes()),
        "plan_blob": plan_blob,
        "decision_sha256": decision_sha256,
        "commit": commit,
        "sealed": sealed,
        "note": (NOTES.get(origin) or "") if note is None else note,
    }
    return validated(Seal, values, where)


def write_seal(part: Part, seal: Seal) -> None:
    """Nothing; seal.toml then holds `seal`. Raises UsageError where there is one already."""
    if part.seal.exists():
        raise _sealed_already(part, "it is there already")
    files.write_text(part.seal, record_lines(seal))


def read_seal(part: Part) -> Seal | None:
    """What the part's seal.toml says, or None where the part has none."""
    where = part.show(part.seal)
    values = read_toml(part.seal, where)
    return None if values is None else validated(Seal, values, where)


def require_sealed_plan(part: Part) -> Seal | None:
    """The part's seal, or None where it has none; raises UsageError where the plan changed after its seal.

    Hashes alone decide, so that this works on a host without git.
    """
    seal = read_seal(part)
    if seal is None:
        return None
    where = part.show(part.plan)
    restore = f"`git checkout {seal.commit} -- {where}`"
    if not part.plan.is_file():
        raise UsageError(f"{where}: there is no such file; expected the sealed plan. Restore it: {restore}.")
    plan = part.plan.read_bytes()
    found = sha256_of(plan)
    if found == seal.plan_sha256:
        return seal
    if sha256_of(plan.removeprefix(codecs.BOM_UTF8)) == seal.plan_sha256:
        raise UsageError(
            f"{where}: plan.toml changed after its seal: it begins with a byte order mark, which some editors add; "
            f"expected the sealed plan, without one. Save it so, or restore it with {restore}."
        )
    unix = plan.replace(b"\r\n", b"\n")
    windows = unix.replace(b"\n", b"\r\n")
    if any(sha256_of(other) == seal.plan_sha256 and only_line_ends_differ(plan, other) for other in (unix, windows)):
        raise UsageError(
            f"{where}: plan.toml changed after its seal, by its line ends only: found sha256 {found}, "
            f"expected {seal.plan_sha256}. To mend: {mend_line_ends(where)}."
        )
    raise UsageError(
        f"{where}: plan.toml changed after its seal: found sha256 {found}, expected {seal.plan_sha256} "
        f"({part.show(part.seal)}, {utc_minute(seal.sealed)}). A sealed plan is not changed: "
        f"restore it with {restore}, or put the new plan into a new part (`notes new`)."
    )


def check_seal(part: Part, repo: History) -> list[Problem]:
    """What is wrong with the part's seal, by the history where there is one, else by hashes alone.

    Raises UsageError where the plan changed after its seal, and CannotTell in a shallow clone.
    """
    seal = require_sealed_plan(part)
    if isinstance(repo, NoHistory):
        return [] if seal is None else _wrong_blob(part, seal)
    first = repo.first_version(part.seal)
    if seal is None:
        return [] if first is None else [removed(part, part.seal, first, "seal-removed")]
    problems = _wrong_blob(part, seal)
    if first is not None:
        problems += _sealed_again(part, seal, first, repo)
    if problems:
        return problems
    held = repo.holds(seal.commit, part.plan, seal.plan_blob)
    require_here(held, seal.commit, part.show(part.seal))
    if held is not Held.YES:
        return [not_held(part, part.seal, seal.commit, part.plan, seal.plan_blob, held, repo)]
    if seal.origin == "measured" and seal.sealed < repo.commit_date(seal.commit):
        return [
            Problem(
                path=part.show(part.seal),
                code="seal-before-plan",
                said=f"sealed = {seal.sealed.isoformat()}",
                expected=f"no earlier than {repo.commit_date(seal.commit).isoformat()}, when {seal.commit} "
                "committed the plan",
                mend=f"restore the seal as it was written: `git log -- {part.show(part.seal)}` shows when",
            )
        ]
    return []


def removed(part: Part, path: Path, first: Version, code: str) -> Problem:
    """The finding that a file which is never removed is gone."""
    return Problem(
        path=part.show(path),
        code=code,
        said="no such file",
        expected=f"the file that {first.commit} committed",
        mend=f"`git checkout {first.commit} -- {part.show(path)}`",
    )


def not_held(part: Part, record: Path, commit: str, path: Path, blob: str, held: Held, repo: Repository) -> Problem:
    """The finding that the commit named by `record` does not prove what it should."""
    shown = part.show(record)
    if held is Held.OTHER_BLOB:
        return Problem(
            path=shown,
            code="blob-not-in-commit",
            said=f"commit = {commit}, which does not hold the blob {blob} of {part.show(path)}",
            expected="a commit that holds it",
            mend=f"restore {shown} as it was written: `git log -- {shown}` shows when",
        )
    elsewhere = repo.earlier_commit_with(path, blob)
    return Problem(
        path=shown,
        code="history-rewritten",
        said=f"commit = {commit}, which is not in HEAD's history"
        + (f" (the same text stands in {elsewhere})" if elsewhere else ""),
        expected="an earlier commit of this history; the history was rewritten after that commit",
        mend=f"`git merge -s ours --allow-unrelated-histories {commit}` takes the old history up again "
        "and changes no file (after `git fetch --all`, where the commit is not here)",
    )


def replaced(record: Record, before: Record, shown: str, code: str, since: str, mend: str) -> list[Problem]:
    """A finding for each key of a kept record that is no longer what its first committed version says."""
    return [
        Problem(
            path=shown,
            code=code,
            said=f"{key} = {getattr(record, key)}",
            expected=f"{getattr(before, key)}, {since}",
            mend=mend,
        )
        for key in type(record).model_fields
        if getattr(record, key) != getattr(before, key)
    ]


def _wrong_blob(part: Part, seal: Seal) -> list[Problem]:
    blob = blob_of(part.plan.read_bytes())
    if blob == seal.plan_blob:
        return []
    return [
        Problem(
            path=part.show(part.seal),
            code="seal-blob",
            said=f"plan_blob = {seal.plan_blob}",
            expected=f"{blob}, the blob of the sealed plan",
            mend=f"restore the seal as it was written: `git log -- {part.show(part.seal)}` shows when",
        )
    ]


def _sealed_again(part: Part, seal: Seal, first: Version, repo: Repository) -> list[Problem]:
    shown = part.show(part.seal)
    assert first.blob is not None, "first_version gives a state with a file"
    before = validated(Seal, parse_toml(repo.text_of(first.blob), f"{first.commit}:{shown}"), f"{first.commit}:{shown}")
    mend = f"`git checkout {first.commit} -- {shown}`; a new plan goes into a new part (`notes new`)"
    return replaced(seal, before, shown, "seal-replaced", f"as {first.commit} sealed it", mend)


def _refuse_a_second_seal(part: Part, repo: Repository) -> None:
    if part.seal.exists():
        seal = require_sealed_plan(part)
        assert seal is not None, "the file is there"
        raise _sealed_already(part, f"{utc_minute(seal.sealed)}, the plan is unchanged since")
    first = repo.first_version(part.seal)
    if first is not None:
        shown = part.show(part.seal)
        raise _sealed_already(part, f"in {first.commit}, and removed since; `git checkout {first.commit} -- {shown}`")


def _sealed_already(part: Part, how: str) -> UsageError:
    return UsageError(
        f"{part.show(part.seal)}: sealed already ({how}); expected a part without a seal. "
        "A sealed plan is not changed: a new part carries a new plan (`notes new`)."
    )
