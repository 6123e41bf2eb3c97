"""Findings: single things that a check disagrees with, and how a person reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Level = Literal["error", "warning", "note"]
"""An error fails a check; a warning is worth a look; a note only informs."""

CODES = {
    "changed": "a bound place does not hold what its source gives",
    "structure": "a date, name or other fixed number was changed",
    "word": "a number word or comparing word was changed",
    "unbound": "a number that comes from nothing",
    "undeclared": "a name with digits that is declared nowhere",
    "unit": "a number's unit is not its reading's",
    "gone": "a place's reading is no longer declared",
    "stale": "a built file is not what the build gives now",
    "kept": "kept text, a seal or an entry was changed",
    "rule": "a sealed plan compiles to another rule than at its seal",
    "nothing": "nothing to check was found, or less than before",
    "claim": "a comparing word that nothing binds, or a claim that claims nothing",
    "fragile": "a claim that a change within the noise would turn",
    "derived": "a number that a reader computes otherwise from the printed ones",
    "set": "a ratio or difference over two different sets of items",
    "disagree": "one reading that is printed in two ways",
    "unquoted": "a declared reading that nothing quotes",
    "since": "a number that was right when it was published and that today's data give otherwise",
    "neighbour": "a number that stands on the same data as a corrected one",
    "readers": "the Markdown and its page do not show the same numbers",
    "waiver": "a waiver that has ended, that nothing needs, or that lacks what it must say",
    "sum": "a total that its items do not give",
    "share": "shares that do not add up, or one that its counts do not give",
    "ratio": "a ratio or difference that the numbers beside it do not give",
    "order": "a list that is not sorted as it says",
    "count": "a count that is not the number of things listed",
    "twice": "one quantity that is printed in two ways",
}
"""Every kind of finding and what it means."""

FORMATS = ("terminal", "json", "github", "sarif", "junit")
"""How findings can be printed."""


@dataclass(frozen=True)
class Finding:
    """One thing that a check disagrees with."""

    code: str
    """One of CODES."""
    path: str
    """The file, as a person at the campaign's root types it."""
    line: int
    column: int
    said: str
    """What stands there."""
    expected: str
    """What recomputation gives, or what was expected."""
    source: str
    """The reading, fact or rule that the place is bound to; may be empty."""
    mend: str
    """The command that mends it."""
    level: Level = "error"
    length: int = 0
    """How many characters of the line it is about; 0 where it is about the line, or the file, as a whole."""
    also: tuple[str, ...] = ()
    """What else a person should see beside it, a line each: other places, operands, the rule that would fit."""
    cause: str = ""
    """The finding that this one follows from, as `kept at post.md:2:7`; empty where it stands for itself."""

    @property
    def place(self) -> str:
        """Where it is: file, line and column."""
        return f"{self.path}:{self.line}:{self.column}"

    @property
    def name(self) -> str:
        """What another finding that follows from it calls it."""
        return f"{self.code} at {self.place}"

    @property
    def warning(self) -> bool:
        """Whether it does not fail a check."""
        return self.level != "error"


def counted(count: int, noun: str) -> str:
    """`1 fact`, `2 facts`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Coverage:
    """What a check covered: the denominator of its findings."""

    numbers: int
    """Numbers and number words that a reader sees in the body."""
    quoted: int
    facts: int
    structure: int
    names: int
    """Declared names with digits; not counted among the numbers."""
    unbound: int
    words: int
    """Comparing words in a paragraph, or a row of a table, that holds a number, and those that are bound."""
    words_bound: int
    words_claimed: int = 0
    """Bound words that a claim over readings decides; a source states the others."""

    def __str__(self) -> str:
        claims = "a claim" if self.words_claimed == 1 else "claims"
        claimed = f" ({self.words_claimed} by {claims})" if self.words_bound else ""
        return (
            f"{counted(self.numbers, 'number')}: {self.quoted} quoted, {counted(self.facts, 'fact')}, "
            f"{self.structure} structure, {self.unbound} unbound; {counted(self.words, 'comparing word')}, "
            f"{self.words_bound} bound{claimed}; {counted(self.names, 'name')}"
        )

    def counts(self) -> dict[str, int]:
        """As numbers.json holds it."""
        return dict(vars(self))


NOTHING_COVERED = Coverage(0, 0, 0, 0, 0, 0, 0, 0)
"""Of what has no numbers: the chain of a campaign."""


class Covered(Protocol):
    """A count of what was checked, for people and for programs."""

    def __str__(self) -> str:
        """In one line."""
        ...

    def counts(self) -> dict[str, int]:
        """By name."""
        ...


@dataclass(frozen=True)
class Report:
    """What a check of one part, or an audit of one file, found."""

    part: str
    """The part, or the file."""
    post: str
    coverage: Covered
    findings: Sequence[Finding]
    cannot_tell: str = ""
    """What could not be decided here, and what would make it possible; empty where all could."""
    notes: Sequence[str] = ()
    """What a reader of the report should know: an origin that proves nothing, say."""
    unreadable: str = ""
    """What is wrong with the input, so that there was no check; empty where there was one."""

    @property
    def unchecked(self) -> bool:
        """Whether there was no check at all, so that its lack of findings says nothing."""
        return bool(self.unreadable) or (bool(self.cannot_tell) and self.coverage is NOTHING_COVERED)

    @property
    def failed(self) -> bool:
        """Whether anything but warnings was found."""
        return any(not finding.warning for finding in self.findings)
