"""The self-test: change every digit of a published text, one at a time, and see whether the check finds it."""

from collections.abc import Iterator
from dataclasses import dataclass

from campaign.notes.build import assemble
from campaign.notes.check import check_body, read_kept
from campaign.notes.stale import stale_around
from campaign.notes.paths import Part
from campaign.notes.post import Post, split
from campaign.notes.sources import load


@dataclass(frozen=True)
class Mutant:
    """One changed digit."""

    line: int
    column: int
    """Place in post.md, counted from 1."""
    was: str
    became: str
    text: str
    """The whole changed text."""


@dataclass(frozen=True)
class SelfTest:
    """How many changed digits the check found by their binding alone: without template, hash or git."""

    mutants: int
    found: int
    missed: tuple[Mutant, ...]
    false_findings: int
    """Findings on the untouched text; anything but zero makes the share worthless."""

    def __str__(self) -> str:
        share = self.found / self.mutants if self.mutants else 0
        return (
            f"self-test: {self.mutants} digits changed one at a time, {self.found} found ({share:.1%}) by binding "
            f"alone, without template, hash or git; {self.false_findings} false findings on the untouched text"
        )

    @property
    def passed(self) -> bool:
        """Whether every mutant was found and nothing else."""
        return self.mutants > 0 and self.found == self.mutants and not self.false_findings


def digit_mutants(text: str) -> Iterator[Mutant]:
    """The text with each of its digits replaced by another one, in order."""
    line, start = 1, 0
    for at, character in enumerate(text):
        if character == "\n":
            line, start = line + 1, at + 1
        elif character in "0123456789":
            became = str((int(character) + 1) % 10)
            yield Mutant(line, at - start + 1, character, became, f"{text[:at]}{became}{text[at + 1 :]}")


def selftest(part: Part) -> SelfTest:
    """Mutate every digit of post.md and check each mutant against its bindings."""
    sources = load(part)
    post, ledger, _ = read_kept(part)
    wanted = assemble(part, post.body, sources)

    def findings(tried: Post) -> int:
        compared, _ = check_body(part, tried, ledger, sources)
        around = stale_around(part, tried, wanted)
        return sum(not finding.warning for finding in [*compared, *around])

    mutants, missed = 0, []
    for mutant in digit_mutants(post.text):
        mutants += 1
        if not findings(split(mutant.text, part.show(part.post))):
            missed.append(mutant)
    return SelfTest(mutants, mutants - len(missed), tuple(missed), findings(post))
