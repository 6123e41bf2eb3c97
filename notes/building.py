"""What the commands build, publish and correct do to a part's files, and what they tell of it."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from campaign.engine.files import write_text
from campaign.notes.build import Built, build, fill_entry, kept_post, readings_json, write, write_page
from campaign.notes.chain import chain_file, check_chain, extend, not_adopted, read_chain, require_sound
from campaign.notes.check import check
from campaign.notes.corrections import Settled, append
from campaign.notes.entry_words import require_words
from campaign.notes.errors import CannotTell, TemplateError, UsageError
from campaign.notes.history import NoHistory, Repository, open_history, require_history, sha256_of
from campaign.notes.images import missing
from campaign.notes.neighbours import neighbours, settle
from campaign.notes.paths import Campaign, Part
from campaign.notes.post import Post
from campaign.notes.publish import publish, read_published

SHOWN_LINES = 12
"""Lines of a difference that a terminal is shown."""


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    lines: tuple[str, ...]
    differs: bool = False
    """Whether the sources give another text than the published one."""


def build_part(part: Part) -> Outcome:
    """Build a draft, or make a published part's surroundings anew; its body stays."""
    built = build(part)
    kept = kept_post(part, built.sources)
    _require_images(built, kept or built.post)
    if kept is None:
        _refuse_to_build_over(part)
        written = write(built)
        lines = [f"built {part.title}: {built.coverage}", *(f"  {part.show(path)}" for path in written)]
        loose = sum(not finding.warning for finding in built.comparison.findings)
        if loose:
            them = "it" if loose == 1 else "them"
            lines.append(f"{loose} finding{'' if loose == 1 else 's'}: `notes check {part.name}` shows {them}")
        return Outcome(tuple(lines))
    published = read_published(part)
    assert published is not None, "kept_post gave its post"
    if published.body_sha256 != sha256_of(kept.body.encode()):
        line = f"{part.show(part.post)}: its published body was edited; `notes check {part.name}` shows where"
        return Outcome((line, "Nothing was written."), differs=True)
    if part.post.read_bytes() != kept.text.encode():
        write_text(part.post, kept.text)
    page = write_page(built, kept)
    lines = [f"{part.title} was published on {published.date}; its body stands. Page: {part.show(page)}"]
    if kept.body == built.post.body:
        lines.append(f"built from its data again: the same text ({built.coverage})")
        if _bound_anew(built):
            lines.append(f"bound anew: {part.show(part.numbers)}; commit it")
        return Outcome(tuple(lines))
    return Outcome((*lines, *_differs(built, kept)), differs=True)


def _require_images(built: Built, post: Post) -> None:
    """Refuse, before anything is written, a post that shows an image which is not there."""
    part = built.sources.part
    gone = missing(post.text, part.folder, {f"plots/{name}.svg" for name in built.plots})
    if gone:
        lines = {image.source: image.line for image in reversed(gone)}
        files = [
            f"{part.show(part.folder / source)} (line {line} of the post)" for source, line in sorted(lines.items())
        ]
        many = "there are no such files" if len(files) > 1 else "there is no such file"
        raise TemplateError(
            f"{', '.join(files)}: {many}; the post shows it as an image. Put it there, or take the image out of "
            f"{part.show(part.template)}. Nothing was written."
        )


def _bound_anew(built: Built) -> bool:
    """Write what the places of a published text are bound to now, where the template binds them otherwise."""
    path = built.sources.part.numbers
    text = built.ledger.to_json(built.coverage.counts())
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    write_text(path, text)
    return True


def _refuse_to_build_over(part: Part) -> None:
    """Refuse to make a body anew that was published, though its record is gone."""
    history = open_history(part.campaign.root)
    first = None if isinstance(history, NoHistory) else history.first_version(part.published)
    if first is not None:
        shown = part.show(part.published)
        raise UsageError(
            f"{shown}: there is no such file, and {first.commit[:12]} published the part; expected the record of its "
            f"publication. Restore it: `git checkout {first.commit} -- {shown}`."
        )


def _differs(built: Built, kept: Post) -> list[str]:
    """Write the text that the sources give now below build/, and show where it differs from the published one."""
    part = built.sources.part
    proposed = part.page.parent / "post.md"
    write_text(proposed, built.post.text)
    diff = list(difflib.unified_diff(kept.body.splitlines(), built.post.body.splitlines(), lineterm="", n=0))[2:]
    changed = [line for line in diff if not line.startswith("@@")]
    rest = len(changed) - SHOWN_LINES
    return [
        f"the data and prose give another text now, in {part.show(proposed)}:",
        *(f"  {line}" for line in changed[:SHOWN_LINES]),
        *([f"  … and {rest} more changed lines"] if rest > 0 else []),
        f"`notes check {part.name}` shows what differs; `notes correct {part.name}` adds a dated entry",
    ]


def publish_part(part: Part, day: date | None, *, commit: bool) -> Outcome:
    """Check a part, freeze its body, and make its banner anew."""
    report = check(part)
    if report.cannot_tell:
        raise CannotTell(report.cannot_tell)
    page = part.show(part.page)  # made anew below
    if any(finding.level == "error" and finding.path != page for finding in report.findings):
        return Outcome(
            (f"{part.name} has findings; `notes check {part.name}` shows them. Nothing was published.",), True
        )
    built = build(part)
    _refuse_unresolved(built)
    repository = require_history(open_history(part.campaign.root), "Publishing")
    if commit:
        repository.require_can_commit()
    require_sound(part.campaign, repository)
    date_of = day or built.sources.facts.post.date
    made = publish(part, date=date_of, numbers=report.coverage.numbers, repo=repository)
    kept = kept_post(part, built.sources)
    assert kept is not None, "the part is published now"
    write_text(part.post, kept.text)
    page = write_page(built, kept)
    lines = [
        f"published {part.title} as of {made.date}: body sha256 {str(made.body_sha256)[:12]}, "
        f"in commit {made.commit[:12]}",
        f"  {part.show(part.post)}\n  {part.show(page)}",
        *_link(part.campaign, repository),
    ]
    if commit:
        done = repository.commit([part.published, part.post, chain_file(part.campaign)], f"Publish {part.title}")
        lines.append(f"committed as {done[:12]}")
    return Outcome(tuple(lines))


def _refuse_unresolved(built: Built) -> None:
    """Refuse to freeze a text that prints a reading without a value: it would say "not resolved" for good."""
    readings = built.sources.readings
    for place in built.ledger.places:
        if place.kind != "claim" and readings[place.source].value is None:
            raise UsageError(
                f"{built.sources.part.show(built.sources.part.post)}: prints {place.source}, which has no value: "
                f"{readings[place.source].reason}; expected every printed reading to have one. Complete the data, or "
                "take the quote out."
            )


def correct_part(
    part: Part,
    *,
    day: date,
    recorded: datetime,
    said: str,
    says: str,
    because: str,
    reported_by: str,
    caused_by: str | None,
    commit: bool,
    acknowledge: Sequence[str] = (),
) -> tuple[str, ...]:
    """Append an entry and make the banner and entries of post.md anew; where it cannot be shown, nothing stays.

    `acknowledge` holds PLACE=REASON for other places that stand on what is corrected and stay as they are.
    """
    repository = require_history(open_history(part.campaign.root), "A correction")
    if commit:
        repository.require_can_commit()
    require_sound(part.campaign, repository)
    before = part.corrections.read_bytes() if part.corrections.exists() else None
    sources = require_words(
        part,
        date=day,
        recorded=recorded,
        said=said,
        says=says,
        because=because,
        caused_by=caused_by,
        repo=repository,
    )
    found = neighbours(part, said, fill_entry(part, says, sources), sources, repository)
    settled = settle(found, _acknowledged(acknowledge), part.show(part.corrections))
    entry = append(
        part,
        date=day,
        recorded=recorded,
        said=said,
        says=says,
        because=because,
        reported_by=reported_by,
        caused_by=caused_by,
        data=sources.data.whole_digest,
        neighbours=settled,
        repo=repository,
    )
    try:
        built = build(part)
        kept = kept_post(part, built.sources)
    except BaseException:
        _restore(part, before)
        raise
    if kept is None:
        _restore(part, before)
        raise UsageError(f"{part.name} is a draft; expected a published part. Change a draft's text itself.")
    write_text(part.post, kept.text)
    # The readings that the entry quotes are those of now; the body and its ledger stay.
    write_text(part.readings, readings_json(built.sources))
    page = write_page(built, kept)
    lines = [
        f"correction {entry.number} of {part.title}, dated {entry.date}: {part.show(part.post)}, {part.show(page)}",
        *_told(settled),
        *_link(part.campaign, repository),
    ]
    if commit:
        done = repository.commit(
            [part.corrections, part.post, part.readings, chain_file(part.campaign)],
            f"Correct {part.title}: entry {entry.number}",
        )
        lines.append(f"committed as {done[:12]}")
    return tuple(lines)


def _acknowledged(said: Sequence[str]) -> dict[str, str]:
    """Reasons by the place, reading or part that a person named as PLACE=REASON."""
    found: dict[str, str] = {}
    for one in said:
        place, sign, why = (part.strip() for part in one.partition("="))
        why = " ".join(why.split())
        if not (place and sign and why):
            raise UsageError(
                f'--acknowledge: found {one!r}; expected PLACE=REASON, as part-5:41:17="its data are its own". '
                "Give both."
            )
        found[place] = why
    return found


def _told(settled: Sequence[Settled]) -> list[str]:
    """Lines that show the neighbours of a correction, and what is the matter with each."""
    lines = [
        f"  {one.place}: " + (f"acknowledged: {one.because}" if one.because else f"derived again: still {one.says}")
        for one in settled
    ]
    rest = len(lines) - SHOWN_LINES
    return [*lines[:SHOWN_LINES], *([f"  … and {rest} more, in corrections.toml"] if rest > 0 else [])]


def adopt_chain(campaign: Campaign, *, commit: bool) -> Outcome:
    """Give each publication and correction that has none its link in the chain, and tell which."""
    repository = require_history(open_history(campaign.root), "The chain")
    if commit:
        repository.require_can_commit()
    path = chain_file(campaign)
    lines = _link(campaign, repository)
    if not lines:
        return Outcome((f"{path.relative_to(campaign.root)}: nothing to add; every publication and correction is in",))
    if commit:
        done = repository.commit([path], "Tie publications and corrections into one chain")
        lines.append(f"committed as {done[:12]}")
    return Outcome(tuple(lines))


def show_chain(campaign: Campaign) -> Outcome:
    """Every link of the chain, newest last, and what is wrong with it."""
    history = open_history(campaign.root)
    problems = check_chain(campaign, history)
    lines = [f"{link.number}  {link.event}  {link.sha256[:12]}" for link in read_chain(campaign)]
    note = not_adopted(campaign, history)
    return Outcome((*lines, *map(str, problems), *([note] if note else [])), differs=bool(problems))


def _link(campaign: Campaign, repository: Repository) -> list[str]:
    """Add the links that are missing; a line that names each."""
    shown = chain_file(campaign).relative_to(campaign.root)
    return [f"  {shown}: link {link.number}, {link.event}" for link in extend(campaign, repository)]


def _restore(part: Part, before: bytes | None) -> None:
    if before is None:
        part.corrections.unlink(missing_ok=True)
    else:
        part.corrections.write_bytes(before)
