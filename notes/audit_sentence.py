"""A block of prose as its relations read it: its numbers as printed, what stands around them, where sentences end."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from campaign.notes.audit_page import Number, Page, Sight, Tested
from campaign.notes.audit_printed import Printed, printed
from campaign.notes.findings import Level

_SENTENCE_END = re.compile(
    r"(?<!\bvs)(?<!\bca)(?<!\bcf)(?<!i\.e)(?<!e\.g)(?<!\bapprox)(?<!\bFig)[.!?][\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z])|\n\s*\n"
)
_PRONOUN = re.compile(
    r"\b(?:old|new|former|latter|previous|other|last|the|this|that|which|each|every|[a-z]+er|[a-z]+est)\s$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Prose:
    """One block with its numbers."""

    page: Page
    sight: Sight
    tested: Tested

    @property
    def text(self) -> str:
        """What a reader sees."""
        return self.sight.text

    @property
    def numbers(self) -> Sequence[Number]:
        """Its numbers and number words, in order; no "one" that stands for something else."""
        return self._numbers

    @cached_property
    def _numbers(self) -> tuple[Number, ...]:
        return tuple(
            number
            for number in self.sight.numbers
            if number.token.text.lower() != "one"
            or not _PRONOUN.search(self.text[max(0, number.start - 16) : number.start])
        )

    @cached_property
    def seen(self) -> tuple[Printed | None, ...]:
        """Each of them as a reader takes it; None where it has no value to compute with."""
        return tuple(printed(number, self.text) for number in self.numbers)

    @cached_property
    def _ends(self) -> list[int]:
        return [found.end() for found in _SENTENCE_END.finditer(self.text)]

    def sentence(self, at: int) -> tuple[int, int]:
        """Where the sentence that holds the offset `at` begins and ends."""
        place = bisect_right(self._ends, at)
        start = self._ends[place - 1] if place else 0
        return start, self._ends[place] if place < len(self._ends) else len(self.text)

    def sentences(self) -> Iterator[range]:
        """For each sentence that holds numbers, which."""
        first = 0
        while first < len(self.numbers):
            end = self.sentence(self.numbers[first].start)[1]
            last = first
            while last + 1 < len(self.numbers) and self.numbers[last + 1].start < end:
                last += 1
            yield range(first, last + 1)
            first = last + 1

    def gap(self, first: int, second: int) -> str:
        """What stands between two numbers, the counted noun of the first left out."""
        return self.text[self.numbers[first].noun_end : self.numbers[second].start]

    def ahead(self, at: int, most: int = 60) -> str:
        """What stands before a number in its sentence."""
        start = self.numbers[at].start
        return self.text[max(self.sentence(start)[0], start - most) : start]

    def behind(self, at: int, most: int = 60) -> str:
        """What stands behind a number and its noun."""
        end = self.numbers[at].noun_end
        return self.text[end : end + most]

    def firm(self, *at: int) -> bool:
        """Whether these numbers have a value and no word that says "about"."""
        return all(0 <= one < len(self.seen) and (two := self.seen[one]) and not two.loose for one in at)

    def known(self, at: int) -> Printed:
        """A number that has a value."""
        one = self.seen[at]
        assert one, "asked only of numbers that have a value"
        return one

    def plain(self, *at: int) -> bool:
        """Whether these numbers count whole things, and surely so."""
        return all(self.firm(one) and whole(self.known(one)) for one in at)

    def tell(
        self,
        code: str,
        result: Printed,
        operands: Sequence[Printed],
        expected: str,
        source: str,
        *,
        what: str = "operand",
        also: Sequence[str] = (),
        level: Level = "error",
    ) -> None:
        """One relation of these numbers; a finding at the result where `expected` says another one."""
        finding = None
        if expected:
            places = [f"{what} {self.page.place(one.token)}" for one in operands]
            finding = self.page.finding(code, result.token, expected, source, level, [*places, *also])
        self.tested.add(code, [result.token, *(one.token for one in operands)], finding)


def whole(one: Printed) -> bool:
    """Whether it counts whole things."""
    return one.token.role == "word" or (one.token.text[-1:].isdigit() and "." not in one.token.text and one.step == 1.0)


def symbol(number: Number) -> str:
    """The unit's symbol, "" where there is none or only a counted noun."""
    return number.token.unit or "" if number.token.end == number.token.noun_end else ""


def noun(number: Number) -> str:
    """What it counts, in small letters; "" where nothing is named."""
    return "" if number.token.end == number.token.noun_end else (number.token.unit or "").lower()
