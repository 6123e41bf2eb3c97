"""Checking a part: the published text against a fresh recomputation, and everything that is kept."""

import codecs
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from campaign.notes.agreement import agreement
from campaign.notes.build import assemble, fill_entry
from campaign.notes.causes import DATA_HASH, kept_in, located, narrowed, order, others_named, with_causes
from campaign.notes.claim_findings import claim_findings
from campaign.notes.compare import Where, compare
from campaign.notes.corrections import check_corrections, corrected_places, read_corrections, stands_whole
from campaign.notes.derived import derived
from campaign.notes.errors import CannotTell, UsageError
from campaign.notes.findings import Coverage, Finding, Report
from campaign.notes.history import History, Repository, blob_of, workable
from campaign.notes.index import history_of
from campaign.notes.ledger import Ledger, read_ledger
from campaign.notes.look_log import check_looks
from campaign.notes.neighbours import check_data, check_neighbours
from campaign.notes.otherwise import written_otherwise
from campaign.notes.paths import Part
from campaign.notes.post import Post, split
from campaign.notes.publish import check_published, read_published
from campaign.notes.readers import check_readers
from campaign.notes.same_set import same_set
from campaign.notes.seal import Problem, check_seal
from campaign.notes.since import told_apart
from campaign.notes.sources import Sources, load
from campaign.notes.stale import stale_around, stale_plots, stale_readings, stale_template
from campaign.notes.unquoted import unquoted
from campaign.notes.waivers import waived, waived_summary


def check(part: Part) -> Report:
    """Everything that is wrong with a part; raises what makes a check impossible.

    The body is compared with fresh readings through numbers.json alone: neither the template nor the body's
    hash is needed for that. What git could not show is told in the report, beside what was found without it.
    """
    sources = load(part)
    post, ledger, counts = read_kept(part)
    repository = history_of(part.campaign)
    findings, coverage = check_body(part, post, ledger, sources)
    findings = _known_by_correction(part, post, findings, sources)
    findings += stale_around(part, post, assemble(part, post.body, sources))
    findings += _too_little(part, coverage, counts)
    findings += stale_readings(part, sources, repository)
    findings += stale_plots(part, sources, ledger)
    findings += _rule(part, sources)
    findings = told_apart(part, findings, sources, repository)
    edited = any(finding.code == "changed" for finding in findings)
    for finding in _in_themselves(part, post, ledger, sources):
        # two places that print one reading differ where one was edited: that one is told already
        if not (edited and finding.code == "disagree" and finding.path == part.show(part.post)):
            findings.append(finding)
    kept, unknown = _kept(part, sources, repository)
    findings = _changed_alike(part, findings, repository)
    findings = [located(finding, part.campaign.root, repository) for finding in [*findings, *kept]]
    elsewhere = kept_in(others_named(part, findings), repository)
    findings = with_causes(part, findings, _mend(part), elsewhere)
    for later in (lambda: stale_template(part, post), lambda: check_readers(part, post, sources)):
        if not any(finding.level == "error" for finding in findings):
            findings += later()
    notes = []
    if sources.data.origin != "measured":
        notes.append(f"the data are {sources.data.origin}: order and seal are stated by the source, not proven here")
    findings, covered = waived(part, findings, datetime.now(UTC).date())
    if covered:
        notes.append(waived_summary(covered))
    findings = [written_otherwise(replace(one, mend=workable(one.mend, repository))) for one in findings]
    return Report(part.name, part.show(part.post), coverage, order(part, findings), "; ".join(unknown), notes)


def _in_themselves(part: Part, post: Post, ledger: Ledger, sources: Sources) -> Iterator[Finding]:
    """What needs no comparison with the text's build: claims, and what the printed numbers say of each other."""
    yield from claim_findings(part, post, ledger, sources)
    yield from derived(part, post, ledger, sources)
    yield from same_set(part, sources)
    yield from agreement(part, post, ledger, sources)
    yield from unquoted(part, ledger, sources)


def _kept(part: Part, sources: Sources, repository: History) -> tuple[list[Finding], list[str]]:
    """What git says of the part, and what it cannot tell, which does not hide what it can."""
    says = {entry.number: fill_entry(part, entry.says, sources) for entry in read_corrections(part)}
    looks: list[Callable[[], Iterable[Problem | Finding]]] = [
        *(partial(look, part, repository) for look in (check_seal, check_looks, check_published, check_corrections)),
        lambda: check_data(part, sources, repository),
        lambda: check_neighbours(part, sources, repository, says),
    ]
    findings: list[Finding] = []
    unknown: dict[str, None] = {}
    for look in looks:
        try:
            findings += [one if isinstance(one, Finding) else narrowed(one.finding) for one in look()]
        except CannotTell as why:
            unknown[str(why)] = None
    return findings, list(unknown)


def read_kept(part: Part) -> tuple[Post, Ledger, dict[str, int]]:
    """post.md and numbers.json as they lie on disk; CannotTell where one is missing."""
    for path in (part.post, part.numbers):
        if not path.is_file():
            raise CannotTell(
                f"{part.show(path)}: there is no such file; expected what `notes build` writes. "
                f"Run `notes build {part.name}`, or restore it with `git checkout -- {part.show(path)}`."
            )
    if part.numbers.read_bytes().startswith(codecs.BOM_UTF8):
        raise UsageError(
            f"{part.show(part.numbers)}: begins with a byte order mark, which some editors add; expected UTF-8 without "
            f"one. Run `notes build {part.name}`, or save it so."
        )
    text = part.post.read_bytes().decode("utf-8", errors="replace").replace("\r\n", "\n")
    post = split(text, part.show(part.post))
    ledger, counts = read_ledger(part.numbers, part.show(part.numbers))
    return post, ledger, counts


def check_body(part: Part, post: Post, ledger: Ledger, sources: Sources) -> tuple[list[Finding], Coverage]:
    """Findings of the body against fresh readings, and the coverage."""
    first_line = 1 + post.text.count("\n", 0, post.body_start)
    where = Where(part.show(part.post), first_line, _mend(part), _mend_elsewhere(part))
    compared = compare(post.body, ledger, sources.readings, sources.names, where, labels_of(sources))
    return list(compared.findings), compared.coverage


def labels_of(sources: Sources) -> tuple[str, ...]:
    """What a text names when it compares: arms and levers by their ids and labels."""
    arms = [said for name, arm in sources.plan.arms.items() for said in (name, arm.label)]
    return tuple(dict.fromkeys([*arms, *(said for lever in sources.plan.lever for said in (lever.id, lever.label))]))


def _known_by_correction(part: Part, post: Post, findings: list[Finding], sources: Sources) -> list[Finding]:
    """The findings, those only warnings whose place an entry below the body corrects to what is found now."""
    entries = {entry.number: entry for entry in read_corrections(part)}
    if not findings or not entries:
        return findings
    says = {number: fill_entry(part, entry.says, sources) for number, entry in entries.items()}
    places = corrected_places(post.body, entries.values())
    lines = post.text.split("\n")

    def told(finding: Finding) -> Finding:
        at = sum(len(line) + 1 for line in lines[: finding.line - 1]) + finding.column - 1 - post.body_start
        for place in places:
            inside = finding.code == "changed" and place.start <= at < place.end
            if inside and stands_whole(finding.expected, says[place.number]):
                mend = f"nothing: correction {place.number} says so below the text"
                return replace(finding, level="warning", mend=mend)
        return finding

    return [told(finding) for finding in findings]


def _mend(part: Part) -> str:
    """What brings back a text that is not as it was built."""
    published = read_published(part)
    if published:
        return (
            f"git checkout {published.commit[:12]} -- {part.show(part.post)} (the published text), "
            f"then notes build {part.name}"
        )
    if not part.template.is_file():
        return f"git checkout -- {part.show(part.post)}"
    return f"notes build {part.name}"


def _mend_elsewhere(part: Part) -> str:
    """What is done about a text that stands as it was built while its plan, facts or data give something else."""
    if read_published(part):
        return f"notes correct {part.name}, or bring back what changed in its plan, facts or data"
    if not part.template.is_file():
        return "bring back what changed in the plan, facts or data"
    return f"notes build {part.name} (the text is as it was built; its plan, facts or data changed)"


def _changed_alike(part: Part, findings: list[Finding], repository: History) -> list[Finding]:
    """The findings, with the mend of those whose number was changed in the text and in numbers.json alike."""
    elsewhere = _mend_elsewhere(part)
    if read_published(part):
        first = repository.first_version(part.published) if isinstance(repository, Repository) else None
        kept = repository.blob_at(first.commit, part.numbers) if first and isinstance(repository, Repository) else None
        if first is None or kept in (None, blob_of(part.numbers.read_bytes())):
            return findings
        files = f"{part.show(part.post)} {part.show(part.numbers)}"
        mend = f"git checkout {first.commit[:12]} -- {files} (both were changed alike), then notes build {part.name}"
    else:
        if any(one.code == "stale" and (" of reading " in one.source or one.source == DATA_HASH) for one in findings):
            return findings
        mend = f"notes build {part.name} (the text and numbers.json were changed alike: readings.json gives otherwise)"
    return [
        replace(one, mend=mend) if one.mend == elsewhere and one.source.startswith(("reading ", "claim ")) else one
        for one in findings
    ]


def _too_little(part: Part, coverage: Coverage, counts: dict[str, int]) -> Iterator[Finding]:
    """Nothing to check is a failure, and so are fewer numbers than at the build or at publication."""
    published = read_published(part)
    before = max(counts.get("numbers", 0), published.numbers if published else 0)
    if coverage.numbers == 0 or coverage.numbers < before:
        yield Finding(
            "nothing",
            part.show(part.post),
            1,
            1,
            f"{coverage.numbers} numbers",
            f"at least {before or 1}",
            "the count at the build",
            _mend(part),
        )


def _rule(part: Part, sources: Sources) -> Iterator[Finding]:
    """A sealed plan that this program compiles to another rule than at its seal."""
    sealed = sources.seal.decision_sha256 if sources.seal else None
    found = sources.decision
    if sealed is not None and sealed != found:
        yield Finding(
            "rule",
            part.show(part.seal),
            1,
            1,
            f"the rule {found[:12]}",
            f"{sealed[:12]}, as the plan was compiled at its seal",
            "the plan's rule",
            "check with the version of campaign-notes that sealed it: this one reads the plan differently",
        )
