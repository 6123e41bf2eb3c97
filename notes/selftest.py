"""The self-test: change every digit of a published text, one at a time, and see whether the check finds it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from campaign.notes.check import check_body, read_kept
from campaign.notes.paths import Part
from campaign.notes.sources import load


@dataclass(frozen=True)
class Mutant:
    """One changed digit."""

    line: int
    column: int
    """Place in the body, counted from 1."""
    was: str
    became: str
    text: str
    """The whole changed body."""


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
            f"self-test: {self.mutants} digits of the body changed one at a time, {self.found} found ({share:.1%}) by "
            f"their binding alone; {self.false_findings} false findings on the untouched text"
        )

    @property
    def passed(self) -> bool:
        """Whether every mutant was found and nothing else."""
        return self.mutants > 0 and self.found == self.mutants and not self.false_findings


def digit_mutants(body: str) -> Iterator[Mutant]:
    """The body with each of its digits replaced by another one, in order."""
    line, start = 1, 0
    for at, character in enumerate(body):
        if character == "\n":
            line, start = line + 1, at + 1
        elif character in "0123456789":
            became = str((int(character) + 1) % 10)
            yield Mutant(line, at - start + 1, character, became, f"{body[:at]}{became}{body[at + 1 :]}")


def selftest(part: Part) -> SelfTest:
    """Mutate the body's digits and check each mutant against its bindings."""
    sources = load(part)
    post, ledger, _ = read_kept(part)
    untouched, _ = check_body(part, post, ledger, sources)
    mutants, missed = 0, []
    for mutant in digit_mutants(post.body):
        mutants += 1
        findings, _ = check_body(part, replace(post, body=mutant.text), ledger, sources)
        if not any(not finding.warning for finding in findings):
            missed.append(mutant)
    return SelfTest(mutants, mutants - len(missed), tuple(missed), sum(not f.warning for f in untouched))
