"""Dated corrections to a published text, which itself stays as it was."""

import datetime
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, NamedTuple

from pydantic import AwareDatetime, Field

from campaign.engine import files
from campaign.notes.dates import long_date, utc_minute, with_zone
from campaign.notes.errors import UsageError
from campaign.notes.history import History, NoHistory, Repository, Version, require_history, sha256_of
from campaign.notes.paths import Part
from campaign.notes.publish import FORMS, Published, published_body, read_published
from campaign.notes.seal import Problem
from campaign.notes.toml_files import Record, Sentence, Sha256, parse_toml, read_toml, record_lines, validated

HEADER = "# Append only: `notes correct` adds an entry, and no entry is ever changed.\n"
TABLE = "correction"
POINTER_LENGTH = 60
"""Characters of the corrected words that the banner quotes."""


class Settled(Record):
    """A place that stands on the same reading or data as what is corrected, and what is the matter there."""

    place: Sentence
    """the place, like part-5:41:17, or the file, like parts/part-5/data/draws.csv."""
    reading: Sentence | None = None
    """what is printed there: the id of its reading or fact, or its claim."""
    says: Sentence | None = None
    """what it says, where recomputation from the sources of now gives the same."""
    because: Sentence | None = None
    """why it stays as it is, where a person says so."""


class Correction(Record):
    """One entry of corrections.toml."""

    number: Annotated[int, Field(ge=1)]
    """the entry's place in the file, from 1."""
    date: datetime.date
    """the day of the correction, an event of the campaign."""
    recorded: AwareDatetime
    """when the entry was written, with its zone."""
    said: Sentence
    """the words of the published body, any run of white space as one space."""
    says: Sentence
    """what is right; may quote readings as a template does."""
    because: Sentence
    """why it is so."""
    reported_by: Sentence
    """who found it."""
    caused_by: Annotated[str, Field(pattern=r"^part-\d+$")] | None = None
    """the part whose work led to the correction, like part-5."""
    data: Sha256 | None = None
    """the sha256 over the data that the entry saw; the first entries have none."""
    neighbours: Annotated[tuple[Settled, ...], Field(strict=False)] | None = None
    """other places that stand on what is corrected, each settled; the first entries have none."""
    previous: Sha256
    """the sha256 of the entry before this one; for the first, that of the published body."""

    @property
    def anchor(self) -> str:
        """The name that a link to the entry ends with."""
        return f"correction-{self.number}"


class CorrectedPlace(NamedTuple):
    """Where in the body the words stand that a correction is about."""

    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last character."""
    number: int
    """The correction's number."""


class Caused(NamedTuple):
    """A correction in another part that this part's work led to."""

    part: Part
    correction: Correction


def canonical(correction: Correction) -> str:
    """The entry as its file has it; what `previous` of the next entry is the sha256 of."""
    return f"[[{TABLE}]]\n{record_lines(correction)}"


def append(
    part: Part,
    *,
    date: datetime.date,
    recorded: datetime.datetime,
    said: str,
    says: str,
    because: str,
    reported_by: str,
    repo: History,
    caused_by: str | None = None,
    data: str | None = None,
    neighbours: tuple[Settled, ...] | None = None,
) -> Correction:
    """The entry that was added; the bytes that corrections.toml had before stay as they were.

    Raises UsageError for a draft, for words that the published body does not have exactly once, and where the file is
    not as it was left.
    """
    where = part.show(part.corrections)
    fit = require_fit(part, date=date, recorded=recorded, said=said, caused_by=caused_by, repo=repo)
    earlier = read_corrections(part)
    values = {
        "number": len(earlier) + 1,
        "date": date,
        "recorded": fit.recorded,
        "said": fit.said,
        "says": _one_line(says),
        "because": _one_line(because),
        "reported_by": _one_line(reported_by),
        "caused_by": fit.caused_by,
        "data": data,
        "neighbours": neighbours,
        "previous": _previous(earlier, fit.published),
    }
    correction = validated(Correction, values, f"{where}: {TABLE} {len(earlier) + 1}")
    before = part.corrections.read_bytes() if part.corrections.exists() else HEADER.encode()
    gap = b"\n" if before.endswith(b"\n") or not before else b"\n\n"
    after = before + gap + canonical(correction).encode()
    assert _corrections_in(after, where) == [*earlier, correction], "what was written reads back as it was meant"
    files.write_bytes(part.corrections, after)
    return correction


class Fit(NamedTuple):
    """What an entry will say of its place, its part and its time, where all of it can be said."""

    published: Published
    recorded: datetime.datetime
    """To the second, with its zone."""
    said: str
    """The corrected words in the Unicode form of the body."""
    caused_by: str | None
    """The name of the part whose work led to it."""


def require_fit(
    part: Part,
    *,
    date: datetime.date,
    recorded: datetime.datetime,
    said: str,
    caused_by: str | None,
    repo: History,
) -> Fit:
    """What an entry will say besides its own words; raises UsageError, as `append` does, for what it cannot say."""
    where = part.show(part.corrections)
    published = read_published(part)
    if published is None:
        raise UsageError(
            f"{where}: {part.name} is a draft; expected a published part. Change its text itself, or publish it first: "
            f"`notes publish {part.name}`."
        )
    problems = check_corrections(part, repo)
    if problems:
        raise UsageError(
            f"{where}: nothing was added, because the entries before are not as they were left. {problems[0]}"
        )
    recorded = with_zone(recorded, where).replace(microsecond=0)
    _require_day(date, recorded, published, part)
    body = published_body(part, repo)
    said = _as_published(" ".join(said.split()), body)
    _require_once(said, body, part)
    if caused_by is not None:
        caused_by = part.campaign.part(caused_by).name
        if caused_by == part.name:
            raise UsageError(f"{where}: caused_by names {part.name} itself; expected another part. Leave it out.")
    return Fit(published, recorded, said, caused_by)


def _require_day(date: datetime.date, recorded: datetime.datetime, published: Published, part: Part) -> None:
    """Refuse a day on which the part was not published yet, and one that has not come by UTC."""
    where = part.show(part.corrections)
    if date < published.date:
        raise UsageError(
            f"{where}: {date.isoformat()} is before {published.date.isoformat()}, when {part.name} was published; "
            "expected that day or a later one. Give the day of the correction."
        )
    today = recorded.astimezone(datetime.UTC).date()
    if date > today:
        raise UsageError(
            f"{where}: {date.isoformat()} has not come yet; expected {today.isoformat()}, which is today by UTC, or "
            "an earlier day. Give the day of the correction."
        )


def read_corrections(part: Part) -> list[Correction]:
    """The entries of the part's corrections.toml, in the order of the file; none where there is no such file."""
    if not part.corrections.exists():
        return []
    where = part.show(part.corrections)
    return _entries(read_toml(part.corrections, where) or {}, where)


def check_corrections(part: Part, repo: History) -> list[Problem]:
    """What is wrong with the part's entries: their chain, their history, and the words they say were published.

    Raises CannotTell where nothing wrong can be seen and the history that would prove it is not here.
    """
    shown = part.show(part.corrections)
    entries_here = read_corrections(part)
    published = read_published(part)
    problems = [] if isinstance(repo, NoHistory) else _lost(part, entries_here, repo)
    if not entries_here or problems:
        return problems
    if published is None:
        return [
            Problem(
                path=shown,
                code="correction-of-a-draft",
                said=_count(entries_here),
                expected=f"none, because {part.name} is not published",
                mend=f"`git log -- {part.show(part.published)}` shows whether it was; change a draft's text itself",
            )
        ]
    problems = _broken(part, entries_here, published)
    if problems:
        return problems
    require_history(repo, "What the corrections quote from the published text")
    body = published_body(part, repo)
    return [
        Problem(
            path=shown,
            code="said-not-published",
            said=f"“{correction.said}” in correction {correction.number}",
            expected=f"words that the published body has exactly once; it has them {_times(correction.said, body)}",
            mend=f"restore the entry as it was written: `git log -p -- {shown}` shows it",
        )
        for correction in entries_here
        if len(occurrences(correction.said, body)) != 1
    ]


def corrected_places(body: str, corrections: Iterable[Correction]) -> list[CorrectedPlace]:
    """Where the corrected words stand in `body`, by place; words that are not there exactly once are left out."""
    places = []
    for correction in corrections:
        found = occurrences(correction.said, body)
        if len(found) == 1:
            places.append(CorrectedPlace(*found[0], correction.number))
    return sorted(places)


def stands_whole(words: str, text: str) -> bool:
    """Whether `words` stand in `text` on their own: 2 does not stand in 12 or in 2.5."""
    return re.search(rf"(?<![\w.,+−-]){re.escape(words)}(?!\w|[.,]\d)", text) is not None


def banner(part_title: str, published: Published | None, corrections: Sequence[Correction]) -> str:
    """The blockquote at the top of a post, in Markdown: draft or published, and what was corrected since."""
    if published is None:
        return f"> **{part_title}.** Draft. Not published; its text may still change.\n\n"
    lines = [f"**{part_title}.** Published {long_date(published.date)}."]
    if corrections:
        lines[0] += f" {_count(corrections)}; the text below stays as it was published:"
        lines.append("")
        lines += [
            f"- {long_date(entry.date)}: [correction {entry.number}](#{entry.anchor}), on “{_pointer(entry.said)}”"
            for entry in corrections
        ]
    return "".join(f"> {line}".rstrip() + "\n" for line in lines) + "\n"


def entries(corrections: Sequence[Correction], render: Callable[[str], str], link: Callable[[str], str]) -> str:
    """The dated entries below the body, in Markdown; empty where there is none.

    `render` turns the template text of `says` and `because` into Markdown; `link` turns a part's name into a link.
    """
    if not corrections:
        return ""
    return "\n".join(["## Corrections\n", *(_entry(correction, render, link) for correction in corrections)])


def _entry(correction: Correction, render: Callable[[str], str], link: Callable[[str], str]) -> str:
    paragraphs = [
        # GitHub makes its own anchor from the whole heading; this one is short and stays.
        f'<a id="{correction.anchor}"></a>',
        f"### Correction {correction.number}, {long_date(correction.date)}",
        f"**It said:** “{correction.said}”",
        f"**It should say:** {render(correction.says)}",
        f"**Because:** {render(correction.because)}",
        f"**Reported by:** {correction.reported_by}",
    ]
    if correction.caused_by is not None:
        paragraphs.append(f"**Came out of:** {link(correction.caused_by)}")
    paragraphs.append(f"**Recorded:** {utc_minute(correction.recorded)}")
    return "\n\n".join(paragraphs) + "\n"


def _count(corrections: Sequence[Correction]) -> str:
    return f"{len(corrections)} correction" + ("" if len(corrections) == 1 else "s")


def _pointer(said: str) -> str:
    """The first words of `said` without Markdown's marks, so that a cut leaves none of them open."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", said)
    words = re.sub(r"[*`\[\]<>|\\]", "", words)
    words = " ".join(words.split())
    if len(words) <= POINTER_LENGTH:
        return words
    return words[: POINTER_LENGTH + 1].rpartition(" ")[0].rstrip(" ,;:") + " …"


def _one_line(words: str) -> str:
    """`words` on one line: a line end inside would end a paragraph or begin a heading."""
    return " ".join(line.strip() for line in words.strip().splitlines() if line.strip())


def occurrences(said: str, body: str) -> list[tuple[int, int]]:
    """Start and end of each place where `body` has the words, any run of white space as one space."""
    pattern = r"\s+".join(re.escape(word) for word in said.split())
    # Looked ahead, so that words that overlap themselves are counted too.
    return [match.span(1) for match in re.finditer(f"(?=({pattern}))", body)] if pattern else []


def _as_published(said: str, body: str) -> str:
    """`said` in the Unicode form that the body has: a terminal may compose characters otherwise."""
    return next(
        (form for form in (said, *(unicodedata.normalize(f, said) for f in FORMS)) if occurrences(form, body)), said
    )


def _times(said: str, body: str) -> str:
    count = len(occurrences(said, body))
    return "not at all" if count == 0 else "once" if count == 1 else f"{count} times"


def _require_once(said: str, body: str, part: Part) -> None:
    if len(occurrences(said, body)) == 1:
        return
    mend = (
        f"Copy the words from the body of {part.show(part.post)} as they stand there, marks included."
        if not occurrences(said, body)
        else "Give a longer quote, so that only one place is meant."
    )
    raise UsageError(
        f"{part.show(part.post)}: the published body has “{said}” {_times(said, body)}; expected exactly once. {mend}"
    )


def _corrections_in(data: bytes, where: str) -> list[Correction]:
    return _entries(parse_toml(data, where), where)


def _entries(values: dict[str, object], where: str) -> list[Correction]:
    unknown = [key for key in values if key != TABLE]
    if unknown:
        raise UsageError(
            f"{where}: {unknown[0]}: unknown key; expected only [[{TABLE}]] tables. "
            f"Restore the file: `git checkout HEAD -- {where}`."
        )
    tables = values.get(TABLE, [])
    if not isinstance(tables, list):
        raise UsageError(f"{where}: {TABLE}: found one value; expected tables headed [[{TABLE}]]. Double the brackets.")
    return [validated(Correction, table, f"{where}: {TABLE} {i}") for i, table in enumerate(tables, start=1)]


def _previous(earlier: Sequence[Correction], published: Published) -> str:
    return sha256_of(canonical(earlier[-1]).encode()) if earlier else published.body_sha256 or ""


def _broken(part: Part, found: Sequence[Correction], published: Published) -> list[Problem]:
    """The findings that the entries are not numbered 1, 2, … or do not name the entry before."""
    shown = part.show(part.corrections)
    mend = f"restore the entries as they were written: `git log -p -- {shown}` shows them"
    problems = []
    for index, correction in enumerate(found):
        if correction.number != index + 1:
            said = f"number = {correction.number} in entry {index + 1}"
            problems.append(Problem(shown, "correction-number", said, f"number = {index + 1}", mend))
        want = _previous(found[:index], published)
        if correction.previous != want:
            before = f"correction {index}" if index else "the published body"
            said = f"previous = {correction.previous} in entry {index + 1}"
            problems.append(Problem(shown, "chain-broken", said, f"{want}, the sha256 of {before}", mend))
    return problems


def _lost(part: Part, found: Sequence[Correction], repo: Repository) -> list[Problem]:
    """The findings that an entry which a commit of HEAD's history has is no longer here as it was."""
    shown = part.show(part.corrections)
    states = [(version, _entries_at(version, shown, repo)) for version in repo.versions(part.corrections)]
    problems: dict[int, Problem] = {}
    for version, entries_then in reversed(states):
        for index, before in enumerate(entries_then):
            now = found[index] if index < len(found) else None
            if now == before or index in problems or _excused(version, before, index, found, states, repo):
                continue
            changed = (
                [] if now is None else [k for k in Correction.model_fields if getattr(now, k) != getattr(before, k)]
            )
            problems[index] = Problem(
                path=shown,
                code="correction-removed" if now is None else "correction-changed",
                said=f"no correction {before.number}" if now is None else _told(now, before, changed[0]),
                expected=f"“{before.said}”, as {version.commit} has it"
                if now is None
                else f"{getattr(before, changed[0])!s}, as {version.commit} has it",
                mend=f"`notes correct {part.name}` adds it again, in the same words, behind those that are here"
                if _aside(version, now, index, states, repo)
                else f"`git checkout {version.commit} -- {shown}`, then add later entries again with "
                f"`notes correct {part.name}`",
            )
    return [problems[index] for index in sorted(problems)]


def _excused(
    version: Version,
    before: Correction,
    index: int,
    found: Sequence[Correction],
    states: Sequence[tuple[Version, list[Correction]]],
    repo: Repository,
) -> bool:
    """Whether a state that is not today's was itself the fault, or a branch's whose entry stands further down now."""
    others = [(version, then[index]) for version, then in states if index < len(then) and then[index] != before]
    if any(repo.descends(version.commit, elsewhere.commit) for elsewhere, _ in others):
        return True  # an earlier commit had another entry there, and that one counts
    again = any(_same_words(before, entry) for entry in found[index + 1 :])
    return again and _aside(version, found[index], index, states, repo)


def _aside(
    version: Version,
    now: Correction | None,
    index: int,
    states: Sequence[tuple[Version, list[Correction]]],
    repo: Repository,
) -> bool:
    """Whether today's entry was committed on a line of history that `version` is not on: two branches corrected."""
    return any(
        now is not None
        and index < len(then)
        and then[index] == now
        and not repo.descends(elsewhere.commit, version.commit)
        for elsewhere, then in states
    )


def _same_words(one: Correction, other: Correction) -> bool:
    """Whether two entries say the same, however they are numbered and whenever they were written."""
    return all(getattr(one, key) == getattr(other, key) for key in ("date", "said", "says", "because", "reported_by"))


def _told(correction: Correction, before: Correction, key: str) -> str:
    """What an entry has under a key that is not as it was: to the eye the same, where an editor composed it anew."""
    now, was = str(getattr(correction, key)), str(getattr(before, key))
    same = unicodedata.normalize("NFC", now) == unicodedata.normalize("NFC", was)
    form = ", its characters composed otherwise (another Unicode form)" if same else ""
    return f"{key} = {now} in correction {correction.number}{form}"


def _entries_at(version: Version, shown: str, repo: Repository) -> list[Correction]:
    """The entries in one state of the file; none where it was not readable even then."""
    if version.blob is None:
        return []
    try:
        return _corrections_in(repo.text_of(version.blob), f"{version.commit}:{shown}")
    except UsageError:
        return []
