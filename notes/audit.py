"""The check that needs no data: whether the numbers printed in a text agree with each other."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.notes.audit_counts import audit_counts
from campaign.notes.audit_order import audit_order
from campaign.notes.audit_page import Node, Page, Tested, outline
from campaign.notes.audit_prose import audit_prose
from campaign.notes.audit_tables import audit_tables
from campaign.notes.audit_twice import audit_twice
from campaign.notes.errors import UsageError
from campaign.notes.findings import Finding, Report
from campaign.notes.html_reader import read_html
from campaign.notes.numbers import Token, find_in
from campaign.notes.reader import Block, read

RELATIONS = ("sum", "share", "ratio", "order", "count", "twice")
"""The codes of what is tested."""


@dataclass(frozen=True)
class AuditCoverage:
    """What an audit saw and what of it was held against something else: the denominator of its findings."""

    numbers: int
    words: int
    """Number words."""
    tables: int
    lists: int
    sums: int
    """Sums that were tested; so on for the next."""
    shares: int
    ratios: int
    orders: int
    lengths: int
    """Counts that were held against the length of a list or table."""
    twice: int
    related: int
    """Numbers and number words that stood in any relation that was tested; the others were not checked."""

    @property
    def tested(self) -> int:
        """How many relations were tested."""
        return self.sums + self.shares + self.ratios + self.orders + self.lengths + self.twice

    def counts(self) -> dict[str, int]:
        """By name, as JSON holds it."""
        return dict(vars(self))

    def __str__(self) -> str:
        seen = _listed(numbers=self.numbers, number_words=self.words, tables=self.tables, lists=self.lists)
        tested = _listed(
            sums=self.sums,
            shares=self.shares,
            ratios=self.ratios,
            orders=self.orders,
            counts=self.lengths,
            quantities_printed_twice=self.twice,
        )
        left = self.numbers + self.words - self.related
        return f"{seen}; tested: {tested}; {left} numbers stand in no relation that was tested"


def _listed(**counts: int) -> str:
    names = {name: name.replace("_", " ") for name in counts}
    names |= {name: said.removesuffix("s") for name, said in names.items() if counts[name] == 1}
    there = [f"{count} {names[name]}" for name, count in counts.items() if count]
    return ", ".join(there) or "nothing"


@dataclass(frozen=True)
class Audit:
    """What an audit of one text found."""

    path: str
    coverage: AuditCoverage
    findings: Sequence[Finding]

    @property
    def failed(self) -> bool:
        """Whether anything but warnings was found."""
        return any(not finding.warning for finding in self.findings)


def audit(text: str, path: str, names: Collection[str] = ()) -> Audit:
    """The audit of a Markdown text; `names` are those with digits that are no numbers."""
    blocks = read(text)
    return audit_blocks(blocks, find_in(blocks, text, names), text, path, outline(text))


def audit_file(path: Path, names: Collection[str] = ()) -> Report:
    """The audit of a Markdown or HTML file; raises UsageError where it cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as wrong:
        raise UsageError(f"{path}: {wrong.strerror}; expected a Markdown or HTML file. Name one.") from None
    shown = path.as_posix()
    if path.suffix.lower() in (".html", ".htm"):
        blocks = read_html(text)
        found = audit_blocks(blocks, find_in(blocks, text, names), text, shown)
    else:
        found = audit(text, shown, names)
    return Report(shown, shown, found.coverage, found.findings)


def audit_blocks(
    blocks: Sequence[Block], tokens: Sequence[Token], source: str, path: str, structure: Sequence[Node] = ()
) -> Audit:
    """The audit of what any reader made of `source`; without a structure, nothing is counted against lists."""
    page = Page(source, path, blocks, tokens, structure)
    tested = Tested()
    for one in (audit_tables, audit_order, audit_prose, audit_counts, audit_twice):
        one(page, tested)
    numbers = sum(token.role == "number" for token in tokens)
    words = sum(token.role == "word" for token in tokens)
    tables, lists = len(page.tables), sum(node.kind == "list" for node in structure)
    counts = [tested.counts.get(code, 0) for code in RELATIONS]
    coverage = AuditCoverage(numbers, words, tables, lists, *counts, related=len(tested.numbers))
    findings = [*_nothing(path, coverage), *tested.findings]
    return Audit(path, coverage, sorted(findings, key=lambda one: (one.line, one.column, one.code)))


def _nothing(path: str, coverage: AuditCoverage) -> list[Finding]:
    """What is told where there was nothing to check."""
    if not coverage.numbers + coverage.words:
        said, level = "no number", "error"
    elif not coverage.tested:
        said, level = f"{coverage.numbers + coverage.words} numbers, none tested", "warning"
    else:
        return []
    expected = "numbers that stand in a relation to each other"
    mend = "read it yourself: an audit says nothing about this text"
    return [Finding("nothing", path, 1, 1, said, expected, "", mend, level)]
