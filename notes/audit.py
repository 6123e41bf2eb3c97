"""The check that needs no data: whether the numbers printed in a text agree with each other."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.notes.audit_counts import audit_counts
from campaign.notes.audit_enumerations import audit_enumerations
from campaign.notes.audit_named import audit_named
from campaign.notes.audit_order import audit_order
from campaign.notes.audit_page import Node, Page, Tested, outline
from campaign.notes.audit_prose import audit_prose
from campaign.notes.audit_sequences import audit_sequences
from campaign.notes.audit_tables import audit_tables
from campaign.notes.audit_twice import audit_twice
from campaign.notes.errors import UsageError
from campaign.notes.findings import NOTHING_COVERED, Finding, Report, counted
from campaign.notes.html_reader import read_html
from campaign.notes.numbers import Token, find_in
from campaign.notes.reader import Block, read

RELATIONS = ("sum", "share", "ratio", "order", "count", "twice")
"""The codes of what is tested."""

_RELATIONS = (
    audit_tables,
    audit_order,
    audit_sequences,
    audit_prose,
    audit_counts,
    audit_enumerations,
    audit_twice,
    audit_named,
)


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
    def seen(self) -> int:
        """Numbers, in digits or words."""
        return self.numbers + self.words

    @property
    def tested(self) -> int:
        """How many relations were tested."""
        return self.sums + self.shares + self.ratios + self.orders + self.lengths + self.twice

    def counts(self) -> dict[str, int]:
        """By name, as JSON holds it."""
        return dict(vars(self))

    def __str__(self) -> str:
        if not self.seen:
            return "no numbers found"
        words = f" ({self.words} in words)" if self.words else ""
        related = f"{self.related} of them in a relation that was tested, {self.seen - self.related} in none"
        places = _listed(tables=self.tables, lists=self.lists)
        tested = _listed(
            sums=self.sums,
            shares=self.shares,
            ratios=self.ratios,
            orders=self.orders,
            counts=self.lengths,
            quantities_printed_twice=self.twice,
        )
        return f"{counted(self.seen, 'number')}{words}, {related}; {places}; tested: {tested}"


def _listed(**counts: int) -> str:
    names = {name: name.replace("_", " ") for name in counts}
    names |= {name: said.removesuffix("s") for name, said in names.items() if counts[name] == 1}
    there = [f"{count} {names[name]}" for name, count in counts.items() if count]
    return ", ".join(there) or ("no tables or lists" if "tables" in counts else "nothing")


@dataclass(frozen=True)
class Audit:
    """What an audit of one text found."""

    path: str
    coverage: AuditCoverage
    findings: Sequence[Finding]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know who takes no finding for a success."""
        if self.coverage.seen and not self.coverage.tested:
            return ("none of its numbers stands in a relation that can be tested: this says nothing about them",)
        return ()

    @property
    def failed(self) -> bool:
        """Whether anything but warnings was found."""
        return any(not finding.warning for finding in self.findings)


def audit(text: str, path: str, names: Collection[str] = ()) -> Audit:
    """The audit of a Markdown text; `names` are those with digits that are no numbers."""
    blocks = read(text)
    return audit_blocks(blocks, find_in(blocks, text, names), text, path, outline(text))


def audit_files(paths: Iterable[Path], names: Collection[str] = ()) -> list[Report]:
    """The report of each file; one that cannot be read has a report that says so, and the others are still audited."""
    reports = []
    for path in paths:
        try:
            reports.append(audit_file(path, names))
        except UsageError as wrong:
            reports.append(Report(path.as_posix(), path.as_posix(), NOTHING_COVERED, (), unreadable=str(wrong)))
    return reports


def audit_file(path: Path, names: Collection[str] = ()) -> Report:
    """The audit of a Markdown or HTML file; raises UsageError where it cannot be read as text."""
    text = _text(path)
    shown = path.as_posix()
    if path.suffix.lower() in (".html", ".htm"):
        blocks = read_html(text)
        found = audit_blocks(blocks, find_in(blocks, text, names), text, shown)
    else:
        found = audit(text, shown, names)
    return Report(shown, shown, found.coverage, found.findings, notes=found.notes)


def _text(path: Path) -> str:
    """What a file says; raises UsageError for one that is not there, or that is no text in UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as wrong:
        raise UsageError(f"{path}: {wrong.strerror}; expected a Markdown or HTML file. Name one.") from None
    zero = data.find(0)
    if zero >= 0:
        raise UsageError(
            f"{path}: a binary file: byte {zero} is zero; expected the text of a Markdown or HTML file. Name one; "
            "a text in UTF-16 has to be written as UTF-8 first."
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        line = 1 + data.count(b"\n", 0, wrong.start)
        raise UsageError(
            f"{path}:{line}: no text in UTF-8: byte {wrong.start} is 0x{data[wrong.start]:02x}; expected a Markdown or "
            "HTML file. If it is text, write it as UTF-8 first (`iconv -f latin1 -t utf-8`)."
        ) from None


def audit_blocks(
    blocks: Sequence[Block], tokens: Sequence[Token], source: str, path: str, structure: Sequence[Node] = ()
) -> Audit:
    """The audit of what any reader made of `source`; without a structure, nothing is counted against lists."""
    page = Page(source, path, blocks, tokens, structure)
    tested = Tested()
    for relation in _RELATIONS:
        relation(page, tested)
    numbers = sum(token.role == "number" for token in tokens)
    words = sum(token.role == "word" for token in tokens)
    tables, lists = len(page.tables), sum(node.kind == "list" for node in structure)
    counts = [tested.counts.get(code, 0) for code in RELATIONS]
    coverage = AuditCoverage(numbers, words, tables, lists, *counts, related=len(tested.numbers))
    return Audit(path, coverage, sorted(tested.findings, key=lambda one: (one.line, one.column, one.code)))
