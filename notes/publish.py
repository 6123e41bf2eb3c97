"""Publication: from then on the body of a post is kept, byte for byte."""

import datetime
import unicodedata
from itertools import zip_longest
from typing import Annotated, Literal

from pydantic import Field

from campaign.engine import files
from campaign.notes import post
from campaign.notes.dates import long_date
from campaign.notes.errors import CannotTell, UsageError
from campaign.notes.history import (
    Held,
    History,
    NoHistory,
    Repository,
    Version,
    blob_of,
    mend_line_ends,
    require_here,
    require_history,
    sha256_of,
)
from campaign.notes.paths import Part
from campaign.notes.seal import Problem, not_held, removed, replaced, require_sealed_plan
from campaign.notes.toml_files import GitName, Record, Sha256, parse_toml, read_toml, record_lines, validated

FORMS: tuple[Literal["NFC"], Literal["NFD"]] = ("NFC", "NFD")
"""The forms in which one text has other bytes: composed, and decomposed as some systems and editors save it."""


class Published(Record):
    """What published.toml holds."""

    date: datetime.date
    """the date of publication."""
    version: Literal[1]
    """1: a body is published once, and what is wrong in it is corrected by dated entries."""
    numbers: Annotated[int, Field(ge=0)]
    """how many numbers the post had at publication."""
    body_sha256: Sha256 | None = None
    """the sha256 of the body's bytes, markers left out; where it was taken out, that is a finding."""
    post_blob: GitName
    """git's name for post.md as it was published."""
    commit: GitName
    """the full name of the earlier commit that holds it."""


def publish(part: Part, *, date: datetime.date, numbers: int, repo: History) -> Published:
    """What published.toml then holds; the body's bytes never change after this.

    The banner is not part of the body and says the date from now on: assemble post.md anew afterwards. Raises
    UsageError where the part was published before or anything in its folder is not committed as it is.
    """
    where = part.show(part.published)
    if part.published.exists():
        published = read_published(part)
        assert published is not None, "the file is there"
        raise _published_already(part, long_date(published.date))
    repo = require_history(repo, "Publishing")
    first = repo.first_version(part.published)
    if first is not None:
        raise _published_already(part, f"in {first.commit}, and its record removed since; restore it")
    require_sealed_plan(part)
    post_blob = repo.require_committed(part.post, part.show(part.post))
    for path in (part.numbers, part.readings, part.plan, *([part.seal] if part.seal.exists() else [])):
        repo.require_committed(path, part.show(path))
    changed = repo.changed_below(part.folder)
    if changed:
        names = " ".join(part.show(path) for path in changed)
        raise UsageError(
            f"{part.show(part.folder)}: not committed as it is: {names}; expected all of the part at HEAD. "
            f"First `git add {names}` and `git commit`."
        )
    body = _body_of(part.post.read_bytes(), part.show(part.post))
    values = {
        "date": date,
        "version": 1,
        "numbers": numbers,
        "body_sha256": sha256_of(body.encode()),
        "post_blob": post_blob,
        "commit": repo.earlier_commit_with(part.post, post_blob),
    }
    published = validated(Published, values, where)
    files.write_text(part.published, record_lines(published))
    return published


def read_published(part: Part) -> Published | None:
    """What the part's published.toml says, or None where the part is a draft."""
    where = part.show(part.published)
    values = read_toml(part.published, where)
    return None if values is None else validated(Published, values, where)


def published_body(part: Part, repo: History) -> str:
    """The body as it was published, from git; raises UsageError for a draft, CannotTell where git does not have it."""
    published = read_published(part)
    if published is None:
        raise UsageError(
            f"{part.show(part.folder)}: {part.name} is a draft; expected a published part. "
            f"`notes publish {part.name}` publishes it."
        )
    repo = require_history(repo, "The published text")
    held = repo.holds(published.commit, part.post, published.post_blob)
    require_here(held, published.commit, part.show(part.published))
    return _body_in_blob(part, published, repo)


def check_published(part: Part, repo: History) -> list[Problem]:
    """What is wrong with the part's published text; nothing for a draft that never was published.

    Raises CannotTell where nothing wrong can be seen and the history that would prove it is not here.
    """
    published = read_published(part)
    first = None if isinstance(repo, NoHistory) else repo.first_version(part.published)
    if published is None:
        return [] if first is None else [removed(part, part.published, first, "published-removed")]
    original = _original_body(part, published, repo)
    problems = [*_stamped_again(part, published, original), *_edited(part, published, original, repo)]
    if first is not None and not isinstance(repo, NoHistory):
        problems += _published_again(part, published, first, repo)
    if not isinstance(repo, NoHistory):
        held = repo.holds(published.commit, part.post, published.post_blob)
        if held in (Held.REWRITTEN, Held.OTHER_BLOB):
            problems.append(
                not_held(part, part.published, published.commit, part.post, published.post_blob, held, repo)
            )
        if not problems:
            require_here(held, published.commit, part.show(part.published))
    if not problems:
        published_body(part, repo)
    return problems


def _published_already(part: Part, how: str) -> UsageError:
    return UsageError(
        f"{part.show(part.published)}: published already ({how}); expected a draft. A published text is not "
        f"changed: `notes correct {part.name}` adds a dated entry to it."
    )


def _body_of(data: bytes, where: str) -> str:
    try:
        return post.split(data.decode("utf-8"), where).body
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{where}: byte {error.start} is not UTF-8; expected text. Build it anew with `notes build`."
        ) from error


def _body_in_blob(part: Part, published: Published, repo: Repository) -> str:
    return _body_of(repo.text_of(published.post_blob), f"{published.post_blob}:{part.show(part.post)}")


def _original_body(part: Part, published: Published, repo: History) -> str | None:
    """The body in the blob, or None where it cannot be read: the hash alone then tells an edit."""
    if isinstance(repo, NoHistory):
        return None
    try:
        return _body_in_blob(part, published, repo)
    except (CannotTell, UsageError):
        return None


def _stamped_again(part: Part, published: Published, original: str | None) -> list[Problem]:
    if original is None or sha256_of(original.encode()) == published.body_sha256:
        return []
    return [
        Problem(
            path=part.show(part.published),
            code="hash-stamped-again" if published.body_sha256 else "hash-removed",
            said=f"body_sha256 = {published.body_sha256}" if published.body_sha256 else "no body_sha256",
            expected=f"{sha256_of(original.encode())}, the body in the published blob {published.post_blob}",
            mend=f"restore the record as it was written: `git log -- {part.show(part.published)}` shows when",
        )
    ]


def _edited(part: Part, published: Published, original: str | None, repo: History) -> list[Problem]:
    """The finding that post.md no longer holds the published body, if that is so."""
    shown = part.show(part.post)
    source = published.commit
    if isinstance(repo, Repository) and original is not None and _head_body(part, repo) == original:
        source = "HEAD"
    restore = f"`git checkout {source} -- {shown}`, then `notes build {part.name}`"
    if not part.post.is_file():
        return [Problem(shown, "post-missing", "no such file", "the published post", restore)]
    data = part.post.read_bytes()
    want = sha256_of(original.encode()) if original is not None else published.body_sha256
    if want is None or _hash_of_body(data, shown) == want:
        return []
    # From here on with LF ends only, so that a changed word is found among changed line ends.
    data = data.replace(b"\r\n", b"\n")
    found = _hash_of_body(data, shown)
    if found == want:
        return [
            Problem(
                path=shown,
                code="line-ends",
                said="CRLF line ends in the published body; its words are as published",
                expected="LF line ends, as git holds them",
                mend=mend_line_ends(" ".join(_with_crlf(part, repo)) or shown),
            )
        ]
    if found is None:
        return [
            Problem(
                path=shown,
                code="body-markers",
                said="text in which the published body cannot be found",
                expected=f"UTF-8 with the lines `{post.BEGIN.strip()}` and `{post.END.strip()}` around the body",
                mend=restore,
            )
        ]
    mend = f"{restore}; to change what it says, `notes correct {part.name}`"
    form = _other_form(data, want, original, shown)
    if form is not None:
        return [
            Problem(
                path=shown,
                code="unicode-form",
                said=f"the published body in the Unicode form {form}; its words are as published",
                expected="the bytes that git holds: the same characters, composed otherwise",
                mend=f"{restore}; save it with a program that leaves characters as they are",
            )
        ]
    if original is None:
        said = f"a body with the sha256 {found}"
        return [Problem(shown, "body-edited", said, f"the published body, sha256 {want}", mend)]
    text = data.decode("utf-8")
    above = text[: text.find(post.BEGIN) + len(post.BEGIN)].count("\n")
    index, said, expected = _first_difference(post.split(text, shown).body, original)
    return [Problem(shown, "body-edited", said, expected, mend, line=above + index + 1)]


def _with_crlf(part: Part, repo: History) -> list[str]:
    """The part's files that differ from HEAD by CRLF line ends alone: one command mends them all."""
    if isinstance(repo, NoHistory):
        return []
    files_here = (path for path in sorted(part.folder.rglob("*")) if path.is_file())
    return [part.show(path) for path in files_here if _is_crlf(path.read_bytes(), repo.committed_blob(path))]


def _is_crlf(found: bytes, committed: str | None) -> bool:
    unix = found.replace(b"\r\n", b"\n")
    return unix != found and blob_of(unix) == committed


def _other_form(data: bytes, want: str, original: str | None, shown: str) -> str | None:
    """The Unicode form that the body in `data` was put into, where nothing else was changed; None otherwise."""
    text = data.decode("utf-8")
    if original is not None:
        same = _composed(post.split(text, shown).body) == _composed(original)
    else:
        same = any(_hash_of_body(unicodedata.normalize(form, text).encode(), shown) == want for form in FORMS)
    if not same:
        return None
    return next((form for form in FORMS if unicodedata.is_normalized(form, text)), "of no standard")


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _head_body(part: Part, repo: Repository) -> str | None:
    blob = repo.committed_blob(part.post)
    try:
        return None if blob is None else _body_of(repo.text_of(blob), part.show(part.post))
    except (CannotTell, UsageError):
        return None


def _hash_of_body(data: bytes, shown: str) -> str | None:
    """The sha256 of the body in a post's bytes, or None where there is no body to be found."""
    try:
        return sha256_of(_body_of(data, shown).encode())
    except UsageError:
        return None


def _first_difference(found: str, expected: str) -> tuple[int, str, str]:
    """Index of the first line that differs, and that line in both, as a diff shows them."""
    for index, (have, want) in enumerate(zip_longest(found.split("\n"), expected.split("\n"))):
        if have is None or want is None or _composed(have) != _composed(want):
            return index, _as_shown("+", have), _as_shown("-", want)
    raise AssertionError("asked only where the two differ by more than the form of their characters")


def _as_shown(sign: str, line: str | None) -> str:
    return "the end of the body" if line is None else "`" + sign + line.replace("\r", "\\r") + "`"


def _published_again(part: Part, published: Published, first: Version, repo: Repository) -> list[Problem]:
    """The findings that published.toml is not what its first commit holds."""
    shown = part.show(part.published)
    assert first.blob is not None, "first_version gives a state with a file"
    try:
        data = repo.text_of(first.blob)
    except CannotTell:
        return []
    before = validated(Published, parse_toml(data, f"{first.commit}:{shown}"), f"{first.commit}:{shown}")
    mend = f"`git checkout {first.commit} -- {shown}`; to change what the post says, `notes correct {part.name}`"
    return replaced(published, before, shown, "published-replaced", f"as {first.commit} published it", mend)
