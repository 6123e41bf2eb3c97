"""Checking a part: the published text against a fresh recomputation, and everything that is kept."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from campaign.analysis.rule import rule_digest
from campaign.notes import plotting
from campaign.notes.build import assemble, build, fill_entry, readings_json
from campaign.notes.compare import Where, compare
from campaign.notes.corrections import check_corrections, corrected_places, read_corrections
from campaign.notes.errors import CannotTell
from campaign.notes.findings import Coverage, Finding, Report
from campaign.notes.history import open_history, sha256_of
from campaign.notes.ledger import Ledger, read_ledger
from campaign.notes.look_log import check_looks
from campaign.notes.paths import Part
from campaign.notes.post import Post, split
from campaign.notes.publish import check_published, read_published
from campaign.notes.seal import Problem, check_seal
from campaign.notes.sources import Sources, load
from campaign.notes.svg import read_digest

CLOSE = 1e-9
"""Relative difference up to which two numbers of readings.json are the same: machines differ in last bits."""


def check(part: Part) -> Report:
    """Everything that is wrong with a part; raises what makes a check impossible.

    The body is compared with fresh readings through numbers.json alone: neither the template nor the body's
    hash is needed for that. What git could not show is told in the report, beside what was found without it.
    """
    sources = load(part)
    post, ledger, counts = read_kept(part)
    findings, coverage = check_body(part, post, ledger, sources)
    findings = _known_by_correction(part, post, findings, sources)
    findings += check_around(part, post, assemble(part, post.body, sources))
    findings += _too_little(part, coverage, counts)
    findings += _readings(part, sources)
    findings += _plots(part, sources, ledger)
    findings += _rule(part, sources)
    cannot_tell = ""
    try:
        repository = open_history(part.campaign.root)
        for problems in (check_seal, check_looks, check_published, check_corrections):
            findings += [_of(problem) for problem in problems(part, repository)]
    except CannotTell as why:
        cannot_tell = str(why)
    if not any(not finding.warning for finding in findings):
        findings += _template(part, post)
    notes = []
    if sources.data.origin != "measured":
        notes.append(f"the data are {sources.data.origin}: order and seal are stated by the source, not proven here")
    return Report(part.name, part.show(part.post), coverage, findings, cannot_tell, notes)


def read_kept(part: Part) -> tuple[Post, Ledger, dict[str, int]]:
    """post.md and numbers.json as they lie on disk; CannotTell where one is missing."""
    for path in (part.post, part.numbers):
        if not path.is_file():
            raise CannotTell(
                f"{part.show(path)}: there is no such file; expected what `notes build` writes. "
                f"Run `notes build {part.name}`, or restore it with `git checkout -- {part.show(path)}`."
            )
    text = part.post.read_bytes().decode("utf-8", errors="replace").replace("\r\n", "\n")
    post = split(text, part.show(part.post))
    ledger, counts = read_ledger(part.numbers, part.show(part.numbers))
    return post, ledger, counts


def check_body(part: Part, post: Post, ledger: Ledger, sources: Sources) -> tuple[list[Finding], Coverage]:
    """Findings of the body against fresh readings, and the coverage."""
    where = Where(part.show(part.post), 1 + post.text.count("\n", 0, post.body_start), _mend(part))
    compared = compare(post.body, ledger, sources.readings, sources.names, where)
    return list(compared.findings), compared.coverage


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
            if inside and _stands_whole(finding.expected, says[place.number]):
                mend = f"nothing: correction {place.number} says so below the text"
                return replace(finding, level="warning", mend=mend)
        return finding

    return [told(finding) for finding in findings]


def _stands_whole(words: str, text: str) -> bool:
    """Whether `words` stand in `text` on their own: 2 does not stand in 12 or in 2.5."""
    return re.search(rf"(?<![\w.,+−-]){re.escape(words)}(?!\w|[.,]\d)", text) is not None


def _mend(part: Part) -> str:
    if read_published(part):
        return f"git checkout -- {part.show(part.post)} (an edited text) or notes correct {part.name} (changed data)"
    if not part.template.is_file():
        return f"git checkout -- {part.show(part.post)}"
    return f"notes build {part.name}"


def check_around(part: Part, post: Post, wanted: Post) -> Iterator[Finding]:
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


def _first_difference(found: str, expected: str) -> tuple[int, str, str]:
    """Line number and both lines where two texts first differ."""
    old, new = found.split("\n"), expected.split("\n")
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return at + 1, old[at] if at < len(old) else "", new[at] if at < len(new) else ""


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


def _readings(part: Part, sources: Sources) -> Iterator[Finding]:
    """The first reading of readings.json that recomputation does not give, and a changed data file."""
    shown = part.show(part.readings)
    kept_with = f"git checkout -- {part.show(part.folder)}"
    mend = kept_with if read_published(part) else f"notes build {part.name}"
    if not part.readings.is_file():
        raise CannotTell(f"{shown}: there is no such file; expected the readings as built. Run `{mend}`.")
    try:
        found = json.loads(part.readings.read_bytes())
        kept, files = {r["id"]: r for r in found["readings"]}, found["data"]
    except (ValueError, KeyError, TypeError):
        yield Finding("stale", shown, 1, 1, "not a readings.json", "what notes build writes", "", mend)
        return
    wanted = json.loads(readings_json(sources))
    for name, digest in wanted["data"].items():
        if files.get(name) != digest:
            path = part.show(part.folder / name)
            yield Finding(
                "stale",
                path,
                1,
                1,
                f"sha256 {digest[:12]}",
                f"sha256 {str(files.get(name))[:12]} as built",
                "the data's hash",
                f"git checkout -- {path}" + ("" if mend == kept_with else f", or {mend}"),
            )
    for reading in wanted["readings"]:
        was = kept.pop(reading["id"], None)
        if not _same(was, reading):
            key, said, should = _first_differing_key(was or {}, reading)
            yield Finding("stale", shown, 1, 1, said, should, f"{key} of reading {reading['id']}", mend)
            return
    for name in kept:
        yield Finding("stale", shown, 1, 1, name, "no such reading", "the plan", mend)
        return


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


def _plots(part: Part, sources: Sources, ledger: Ledger) -> Iterator[Finding]:
    """Plots that are missing, were edited, or were drawn from other points."""
    for plot in plotting.plots_of(sources.plan, part, sources.data, sources.readings):
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


def _rule(part: Part, sources: Sources) -> Iterator[Finding]:
    """A sealed plan that this program compiles to another rule than at its seal."""
    sealed = sources.seal.decision_sha256 if sources.seal else None
    found = rule_digest(sources.plan)
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


def _template(part: Part, post: Post) -> Iterator[Finding]:
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


def _of(problem: Problem) -> Finding:
    return Finding(
        "kept", problem.path, problem.line or 1, 1, problem.said, problem.expected, problem.code, problem.mend
    )
