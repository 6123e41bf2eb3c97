"""Changed texts for the self-test: everything that a wrong number, unit, word or table cell can look like.

Each class of mutants is one generator in `CLASSES`. A mutant is a list of edits of post.md, so that ten thousand of
them cost no more memory than their edits.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_EVEN, Decimal
from functools import cached_property
from itertools import pairwise

from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Reading, Readings
from campaign.analysis.rounding import MINUS
from campaign.notes.errors import TemplateError
from campaign.notes.ledger import Place
from campaign.notes.numbers import Token, find
from campaign.notes.parser import parser
from campaign.notes.quote import format_value, number_word, ordinal_word
from campaign.notes.reader import Block, read


@dataclass(frozen=True, slots=True)
class Edit:
    """One stretch of a text, and what stands there afterwards."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed text."""

    kind: str
    """Its class, one of CLASSES."""
    edits: tuple[Edit, ...]
    """In the order of the text, none over another."""
    line: int
    column: int
    """Place of the first edit in the untouched post.md, counted from 1."""
    was: str
    became: str

    def apply(self, text: str) -> str:
        """The whole changed text."""
        pieces, at = [], 0
        for edit in self.edits:
            pieces += [text[at : edit.start], edit.text]
            at = edit.end
        return "".join([*pieces, text[at:]])

    def lines(self, text: str) -> set[int]:
        """The lines of the changed text on which it is changed."""
        found: set[int] = set()
        shift = 0
        changed = self.apply(text)
        for edit in self.edits:
            start = edit.start + shift
            first = changed.count("\n", 0, start) + 1
            found |= set(range(first, first + changed.count("\n", start, start + len(edit.text)) + 1))
            shift += len(edit.text) - (edit.end - edit.start)
        return found


@dataclass(frozen=True)
class Published:
    """A text with everything that its mutants are made from."""

    text: str
    """post.md."""
    names: tuple[str, ...] = ()
    """Declared names, whose digits are no numbers."""
    places: tuple[tuple[int, int, Place], ...] = ()
    """Start and end in `text` of each place that the ledger binds."""
    readings: Readings = field(default_factory=lambda: Readings({}, ""))
    """What the places are filled from."""
    labels: tuple[tuple[str, str], ...] = ()
    """Pairs of words that name two arms."""
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The words that a reading chooses from, by its id; a family's by its id with `{0}`."""
    earlier: tuple[Readings, ...] = ()
    """Readings of earlier states of the data, and of other parts."""

    @cached_property
    def tokens(self) -> list[Token]:
        """Every number, number word and comparing word of the text."""
        return find(self.text, self.names)

    @cached_property
    def numbers(self) -> list[Token]:
        """The tokens that say a quantity in digits."""
        return [token for token in self.tokens if token.role == "number"]

    @cached_property
    def blocks(self) -> list[Block]:
        """What a reader sees, block by block."""
        return read(self.text)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """Start and end of each sentence outside tables and headings."""
        found = []
        for block in self.blocks:
            if block.kind in ("paragraph", "item", "quote", "footnote"):
                for sentence in _SENTENCE.finditer(block.text):
                    found.append((block.source[sentence.start()], block.ends[sentence.end() - 1]))
        return found

    @cached_property
    def counting(self) -> list[tuple[int, int]]:
        """The sentences with a quantity, a comparing word, a name or a bound place in them."""
        marks = sorted([t.start for t in self.tokens] + [start for start, _, _ in self.places])
        return [(s, e) for s, e in self.sentences if bisect_right(marks, e - 1) > bisect_right(marks, s - 1)]

    @cached_property
    def measuring(self) -> list[tuple[int, int]]:
        """The sentences with a quantity or a bound place in them."""
        marks = sorted([t.start for t in self.numbers] + [start for start, _, _ in self.places])
        return [(s, e) for s, e in self.sentences if bisect_right(marks, e - 1) > bisect_right(marks, s - 1)]

    @cached_property
    def tables(self) -> list["Table"]:
        """Every table of the text."""
        return list(_tables(self.text))

    def mutant(self, kind: str, *edits: Edit) -> Mutant:
        """The mutant of these edits."""
        edits = tuple(sorted(edits, key=lambda edit: edit.start))
        at = edits[0].start
        line = bisect_right(self._line_starts, at)
        was = " … ".join(self.text[edit.start : edit.end] for edit in edits)
        became = " … ".join(edit.text for edit in edits)
        return Mutant(kind, edits, line, at - self._line_starts[line - 1] + 1, was, became)


_SENTENCE = re.compile(r"\S(?:.*?)(?:[.!?:](?=\s+[A-Z*“\"(])|$)", re.DOTALL)

Generator = Callable[[Published], Iterable[tuple[Edit, ...]]]


@dataclass(frozen=True)
class MutantClass:
    """One way in which a text is made wrong."""

    name: str
    changes: str
    """What it changes, for a person."""
    make: Generator


CLASSES: dict[str, MutantClass] = {}
"""Every class of changed texts, by its name."""


def _class(name: str, changes: str) -> Callable[[Generator], Generator]:
    def register(make: Generator) -> Generator:
        CLASSES[name] = MutantClass(name, changes, make)
        return make

    return register


def mutants(published: Published, kind: str) -> Iterator[Mutant]:
    """Every mutant of one class, each text once."""
    seen: set[tuple[Edit, ...]] = set()
    for edits in CLASSES[kind].make(published):
        if edits not in seen:
            seen.add(edits)
            yield published.mutant(kind, *edits)


def reads_the_same(text: str, changed: str) -> bool:
    """Whether both texts make the same page, white space aside."""
    if text == changed:
        return True
    pages = (re.sub(r"\s+", " ", parser().render(one, {})) for one in (text, changed))
    return next(pages) == next(pages)


# Digits


@_class("digit", "each digit becomes another one")
def _digit(published: Published) -> Iterator[tuple[Edit, ...]]:
    for found in re.finditer(r"[0-9]", published.text):
        yield (Edit(*found.span(), str((int(found[0]) + 1) % 10)),)


@_class("digit dropped", "each digit is left out")
def _digit_dropped(published: Published) -> Iterator[tuple[Edit, ...]]:
    for found in re.finditer(r"[0-9]", published.text):
        yield (Edit(*found.span(), ""),)


@_class("digit inserted", "a digit stands before and after each number, and each digit is doubled")
def _digit_inserted(published: Published) -> Iterator[tuple[Edit, ...]]:
    for found in re.finditer(r"[0-9]+", published.text):
        yield (Edit(found.start(), found.start(), "1"),)
        for at in range(found.start(), found.end()):
            yield (Edit(at, at, published.text[at]),)
        yield (Edit(found.end(), found.end(), "0"),)


@_class("digits swapped", "two neighbouring digits change places")
def _digits_swapped(published: Published) -> Iterator[tuple[Edit, ...]]:
    for found in re.finditer(r"(?=([0-9])([.,]?)([0-9]))", published.text):
        yield (Edit(found.start(1), found.end(3), found[3] + found[2] + found[1]),)


@_class("first digit", "the first digit of each number is doubled, or mirrored: 3 to 6")
def _first_digit(published: Published) -> Iterator[tuple[Edit, ...]]:
    for found in re.finditer(r"(?<![0-9.,])[0-9]", published.text):
        for other in {int(found[0]) * 2 % 10, 9 - int(found[0])} - {int(found[0])}:
            yield (Edit(*found.span(), str(other)),)


_LOOK_ALIKE = {"0": "O", "1": "l", "5": "S", "8": "B"}


@_class("look-alike", "each digit becomes a letter or a digit of another script that looks like it")
def _look_alike(published: Published) -> Iterator[tuple[Edit, ...]]:
    for found in re.finditer(r"[0-9]", published.text):
        yield (Edit(*found.span(), _LOOK_ALIKE.get(found[0], chr(ord("０") + int(found[0])))),)


@_class("numbers swapped", "two neighbouring numbers of a block change places")
def _numbers_swapped(published: Published) -> Iterator[tuple[Edit, ...]]:
    counted = [t for t in published.tokens if t.role in ("number", "word")]
    for first, second in pairwise(counted):
        if first.block == second.block:
            text = published.text
            yield (
                Edit(first.core_start, first.core_end, text[second.core_start : second.core_end]),
                Edit(second.core_start, second.core_end, text[first.core_start : first.core_end]),
            )


# Signs, bounds, points


@_class("sign", "each sign is lost, turned to plus, or typed as a hyphen; each number without one gets one")
def _sign(published: Published) -> Iterator[tuple[Edit, ...]]:
    """A hyphen in place of U+2212 counts as a change: a reader sees a shorter mark, and characters are compared."""
    text = published.text
    for token in published.numbers:
        at = token.core_start
        if text[at] in "+-−":
            yield from ((Edit(at, at + 1, sign),) for sign in ("", "+", "−", "-") if sign != text[at])
        else:
            yield from ((Edit(at, at, sign),) for sign in ("−", "-", "+"))
    for found in re.finditer(r"−", text):
        yield from ((Edit(*found.span(), sign),) for sign in ("", "+", "-"))


@_class("bound", "a mark of approximation or of a bound is put before each number, or taken away")
def _bound(published: Published) -> Iterator[tuple[Edit, ...]]:
    for token in published.numbers:
        yield from ((Edit(token.start, token.start, mark),) for mark in ("~", "≤ ", "±", "> ", "less than ", "up to "))
    for found in re.finditer(r"[~≈≤≥±<>]\s?(?=[0-9])", published.text):
        yield (Edit(*found.span(), ""),)


@_class("decimal point", "each decimal point moves left and right, is lost, and becomes a comma")
def _decimal_point(published: Published) -> Iterator[tuple[Edit, ...]]:
    for found in re.finditer(r"([0-9])\.([0-9])", published.text):
        before, after = found[1], found[2]
        yield from ((Edit(*found.span(), new),) for new in (f".{before}{after}", f"{before}{after}."))
        at = found.start() + 1
        yield from ((Edit(at, at + 1, new),) for new in ("", ",", ";", ". "))


@_class("size", "each number becomes ten or a thousand times as large, or loses the mark between its groups")
def _size(published: Published) -> Iterator[tuple[Edit, ...]]:
    for token in published.numbers:
        said = published.text[token.core_start : token.core_end]
        if re.fullmatch(r"[0-9,]+", said):
            yield (Edit(token.core_end, token.core_end, "0"),)
            yield (Edit(token.core_end, token.core_end, ",000"),)
        yield (Edit(token.core_end, token.core_end, " thousand"),)
        yield (Edit(token.core_end, token.core_end, "e3"),)
        yield (Edit(token.core_end, token.core_end, "k"),)
    for found in re.finditer(r"(?<=[0-9]),(?=[0-9])", published.text):
        yield from ((Edit(*found.span(), new),) for new in ("", ".", " ", ", "))


@_class("trailing zero", "each number gets a trailing zero, or loses its last digit")
def _trailing_zero(published: Published) -> Iterator[tuple[Edit, ...]]:
    for found in re.finditer(r"[0-9]+\.[0-9]+", published.text):
        yield (Edit(found.end(), found.end(), "0"),)
        yield (Edit(found.end() - 1, found.end(), ""),)
    for token in published.numbers:
        if re.fullmatch(r"[0-9]+", published.text[token.core_start : token.core_end]):
            yield (Edit(token.core_end, token.core_end, ".0"),)
            yield (Edit(token.core_end, token.core_end, ".5"),)


# Units

_OTHER_UNITS = {
    "ms": ("s", "µs", "ns"),
    "µs": ("ms", "ns"),
    "us": ("ms",),
    "s": ("ms", "min"),
    "%": ("pp", "‰", " points", ""),
    "pp": ("%",),
    "GB": ("GiB", "MB"),
    "GiB": ("GB",),
    "MB": ("MiB", "GB"),
    "MiB": ("MB", "GiB"),
    "W": ("kW", "mW"),
    "tok/s": ("tok", "req/s"),
    "×": ("%",),
    "bit": ("byte",),
}


@_class("unit", "each unit becomes another one, and is lost; a counted noun becomes another counted noun")
def _unit(published: Published) -> Iterator[tuple[Edit, ...]]:
    text = published.text
    nouns = sorted({t.unit for t in published.tokens if t.unit and t.noun_end > t.end})
    for index, token in enumerate(t for t in published.tokens if t.role in ("number", "word") and t.unit):
        end = max(token.end, token.noun_end)
        said = text[token.core_end : end]
        if not said.strip():
            continue
        symbol = said.strip()
        start = end - len(said.lstrip())
        others = _OTHER_UNITS.get(symbol, ())
        if not others and token.noun_end > token.end and len(nouns) > 1:
            choices = [noun for noun in nouns if noun != symbol]
            others = (choices[index % len(choices)], choices[(index * 7 + 3) % len(choices)])
        yield from ((Edit(start, end, other),) for other in others)
        yield (Edit(token.core_end, end, ""),)


@_class("unit added", "each number without a unit gets one")
def _unit_added(published: Published) -> Iterator[tuple[Edit, ...]]:
    for token in published.numbers:
        if not token.unit:
            yield from ((Edit(token.core_end, token.core_end, unit),) for unit in (" s", " %", "×"))


_PER = re.compile(r"(?<=\s)(a|an|per|each|every)\s((?:verify\s)?(?:step|draw|task|token|row|call|turn|run|second)s?)\b")


@_class("per", "what a number is a rate of becomes something else: a verify step to a draw")
def _per(published: Published) -> Iterator[tuple[Edit, ...]]:
    for found in _PER.finditer(published.text):
        if any(t.end <= found.start() <= t.noun_end + 24 for t in published.numbers):
            other = "draw" if "step" in found[2] else "verify step"
            yield (Edit(*found.span(2), other),)
            yield (Edit(found.start() - 1, found.end(), ""),)


# Ranges

_JOINT = re.compile(r"\s?(to|and|or|–|—|of|±|to between|\()\s?")


@_class("range", "the ends of each range change places, one is dropped, and the word between them becomes another")
def _range(published: Published) -> Iterator[tuple[Edit, ...]]:
    text = published.text
    for low, high in pairwise(t for t in published.tokens if t.role in ("number", "word")):
        if low.block != high.block or high.core_start <= low.core_end:
            continue
        first, joint, second = low.core_end, text[low.core_end : high.core_start], text[high.core_start : high.core_end]
        said = _JOINT.search(joint)
        if not said or len(joint) > 24 or "|" in joint:
            continue
        yield (Edit(low.core_start, high.core_end, f"{second}{joint}{text[low.core_start : first]}"),)
        yield (Edit(low.core_start, high.core_start, ""),)
        yield (Edit(first, high.core_end, ""),)
        for other in {"to", "and", "of", "or"} - {said[1]}:
            yield (Edit(first + said.start(1), first + said.end(1), other),)


# Words

_OTHER_WORDS = {
    "half": ("third", "quarter"),
    "twice": ("three times", "once"),
    "double": ("triple",),
    "doubles": ("triples",),
    "doubled": ("tripled",),
    "thrice": ("twice",),
    "quarter": ("third",),
}


@_class("number word", "each number word becomes another one: four to five, half to third, twice to three times")
def _number_word(published: Published) -> Iterator[tuple[Edit, ...]]:
    for token in published.tokens:
        if token.role != "word":
            continue
        said = published.text[token.core_start : token.core_end]
        others = list(_OTHER_WORDS.get(said.lower(), ()))
        if not others and token.value is not None and token.value == int(token.value):
            value = int(token.value)
            spell = ordinal_word if token.kind == "ordinal" else number_word
            others = [spell(one) for one in (value + 1, value - 1, value * 10) if 0 <= one < 1000]
            if token.kind == "word":
                others.append(str(value + 1))
        for other in others:
            yield (Edit(token.core_start, token.core_end, other.capitalize() if said[0].isupper() else other),)
        yield (Edit(token.core_start, token.core_end, ""),)


OPPOSITES = {
    "all": "most none some half-of-the",
    "none": "all some",
    "every": "nearly-every no",
    "only": "also even",
    "both": "neither one-of",
    "neither": "both",
    "always": "never mostly",
    "never": "always",
    "most": "few all",
    "least": "most",
    "first": "second last",
    "second": "first",
    "last": "first",
    "best": "worst",
    "worst": "best",
    "fastest": "slowest second-fastest",
    "slowest": "fastest",
    "lowest": "highest",
    "highest": "lowest",
    "largest": "smallest",
    "smallest": "largest",
    "widest": "narrowest",
    "faster": "slower",
    "slower": "faster",
    "quicker": "slower",
    "lower": "upper higher",
    "upper": "lower",
    "higher": "lower",
    "more": "less fewer",
    "less": "more",
    "fewer": "more",
    "larger": "smaller",
    "smaller": "larger",
    "bigger": "smaller",
    "greater": "smaller",
    "better": "worse",
    "worse": "better",
    "shorter": "longer",
    "longer": "shorter",
    "long": "short",
    "short": "long",
    "longest": "shortest",
    "cheaper": "dearer",
    "equal": "unequal similar",
    "equals": "exceeds",
    "same": "other",
    "identical": "different",
    "identically": "differently",
    "different": "identical",
    "above": "below at",
    "below": "above at",
    "beyond": "within",
    "over": "under",
    "under": "over at",
    "within": "outside",
    "inside": "outside",
    "outside": "inside",
    "exceed": "miss",
    "exceeds": "misses",
    "beat": "lose-to",
    "beats": "loses-to",
    "reaches": "misses",
    "reached": "missed",
    "reach": "miss",
    "minimum": "maximum mean",
    "maximum": "minimum",
    "mean": "median maximum",
    "median": "mean",
    "average": "median",
    "up": "down",
    "down": "up",
    "before": "after",
    "after": "before",
    "saves": "costs",
    "save": "cost",
    "saving": "cost",
    "wins": "losses",
    "win": "lose",
    "losses": "wins",
    "lose": "win",
    "loses": "wins",
    "lost": "won",
    "passed": "failed",
    "right": "wrong",
    "wrong": "right",
    "cold": "hot",
    "hot": "cold",
    "no": "some",
    "nothing": "something",
    "nobody": "somebody",
    "not": "",
    "carries": "rolled-back is-seen",
    "kept": "dropped",
    "parked": "kept",
    "unresolved": "resolved",
    "resolved": "unresolved",
    "rises": "falls",
    "falls": "rises",
    "differs": "agrees",
    "differ": "agree",
    "later": "earlier",
    "earlier": "later",
    "with": "without",
    "without": "with",
}
"""Words and what turns each into another claim; a hyphen stands for a space."""


def _opposites(published: Published, words: Iterable[tuple[int, int]]) -> Iterator[tuple[Edit, ...]]:
    for start, end in words:
        said = published.text[start:end]
        for other in OPPOSITES.get(said.lower(), "").split(" "):
            became = other.replace("-", " ")
            if said.lower() in OPPOSITES:
                yield (Edit(start, end, became.capitalize() if said[0].isupper() else became),)


@_class("comparing word", "each comparing word becomes its opposite or a neighbour, is lost, and is negated")
def _comparing(published: Published) -> Iterator[tuple[Edit, ...]]:
    compared = [(t.core_start, t.core_end) for t in published.tokens if t.role == "comparing"]
    yield from _opposites(published, compared)
    for start, end in compared:
        yield (Edit(start, start, "not "),)
        yield (Edit(start, end + 1, ""),)


@_class("turning word", "in a sentence with a quantity, each word that can turn it round becomes its opposite")
def _turning(published: Published) -> Iterator[tuple[Edit, ...]]:
    taken = {t.core_start for t in published.tokens if t.role == "comparing"}
    for start, end in published.measuring:
        words = [(start + w.start(), start + w.end()) for w in re.finditer(r"[A-Za-z]+", published.text[start:end])]
        yield from _opposites(published, [one for one in words if one[0] not in taken])


@_class("negation", "a sentence with a quantity gets a not, or loses the one that it has")
def _negation(published: Published) -> Iterator[tuple[Edit, ...]]:
    for start, end in published.measuring:
        text = published.text[start:end]
        for verb in re.finditer(r"\b(?:is|are|was|were|has|have|had|can|would|could|does|do|did|it|than)\b", text):
            yield (Edit(start + verb.end(), start + verb.end(), " not"),)
        for found in re.finditer(r"\s(?:not|no|never)\b|n't\b", text):
            yield (Edit(start + found.start(), start + found.end(), ""),)


@_class("claim", "each bound word becomes its false one, is negated on either side, and loses its last word")
def _claim(published: Published) -> Iterator[tuple[Edit, ...]]:
    for start, end, place in published.places:
        if place.kind != "claim":
            continue
        said = published.text[start:end]
        other = place.otherwise if said == place.word else place.word
        if other:
            yield (Edit(start, end, other),)
        yield (Edit(start, start, "not "),)
        yield (Edit(end, end, " not"),)
        yield (Edit(start, start, "hardly "),)
        yield (Edit(start + len(said.rpartition(" ")[0]), end, ""),)


@_class("verdict word", "each word that a reading chose becomes another one of its choices, and is negated")
def _verdict_word(published: Published) -> Iterator[tuple[Edit, ...]]:
    for start, end, place in published.places:
        said = published.text[start:end]
        if place.kind == "claim" or not said or re.search(r"\d", said):
            continue
        for other in published.words.get(place.source) or published.words.get(_family(place.source), ()):
            if other != said:
                yield (Edit(start, end, other),)
        if place.kind == "reading":
            yield (Edit(start, start, "not "),)
            yield (Edit(end, end, " not"),)
            yield (Edit(start, end, "undecided"),)


def _family(name: str) -> str:
    return f"{name.rpartition('.')[0]}.{{0}}"


# Tables


@dataclass(frozen=True)
class Table:
    """A table's lines and cells by their places in the text."""

    lines: tuple[tuple[int, int], ...]
    """Start and end of each line, with its line break; the second is the rule below the header."""
    cells: tuple[tuple[tuple[int, int], ...], ...]
    """Start and end of each cell of each line, without the white space around."""

    @property
    def body(self) -> range:
        """The indices of the lines below the rule."""
        return range(2, len(self.lines))


_TABLE_LINES = re.compile(r"(?:^[ >]*\|[^\n]*\n){2,}", re.MULTILINE)
_CELL = re.compile(r"\|[ \t]*((?:\\\||[^|\n])*?)[ \t]*(?=\|)")


def _tables(text: str) -> Iterator[Table]:
    for found in _TABLE_LINES.finditer(text):
        lines, cells = [], []
        for line in re.finditer(r"[^\n]*\n", text[found.start() : found.end()]):
            start = found.start() + line.start()
            lines.append((start, found.start() + line.end()))
            cells.append(tuple((start + c.start(1), start + c.end(1)) for c in _CELL.finditer(line[0])))
        yield Table(tuple(lines), tuple(cells))


def _swap(text: str, first: tuple[int, int], second: tuple[int, int]) -> tuple[Edit, ...]:
    return (Edit(*first, text[second[0] : second[1]]), Edit(*second, text[first[0] : first[1]]))


@_class("cells of a row swapped", "two neighbouring cells of a row, and the first and the last, change places")
def _row_cells(published: Published) -> Iterator[tuple[Edit, ...]]:
    for table in published.tables:
        for index in table.body:
            cells = table.cells[index]
            yield from (_swap(published.text, *pair) for pair in pairwise(cells))
            if len(cells) > 2:
                yield _swap(published.text, cells[0], cells[-1])


@_class("cells of a column swapped", "two neighbouring cells of a column, and the first and the last, change places")
def _column_cells(published: Published) -> Iterator[tuple[Edit, ...]]:
    for table in published.tables:
        for column in zip(*(table.cells[i] for i in table.body), strict=False):
            yield from (_swap(published.text, *pair) for pair in pairwise(column))
            if len(column) > 2:
                yield _swap(published.text, column[0], column[-1])


@_class("rows", "two rows change places; a row is lost, is there twice, or stands in another table")
def _rows(published: Published) -> Iterator[tuple[Edit, ...]]:
    text = published.text
    for table, other in zip(published.tables, [*published.tables[1:], *published.tables[:1]], strict=True):
        lines = [table.lines[i] for i in table.body]
        yield from (_swap(text, *pair) for pair in pairwise(lines))
        for start, end in lines:
            yield (Edit(start, end, ""),)
            yield (Edit(end, end, text[start:end]),)
            yield (Edit(other.lines[-1][1], other.lines[-1][1], text[start:end]),)


@_class("header", "two header cells change places; a column is lost; the header becomes a row")
def _header(published: Published) -> Iterator[tuple[Edit, ...]]:
    text = published.text
    for table in published.tables:
        header = table.cells[0]
        yield from (_swap(text, *pair) for pair in pairwise(header))
        for column in range(len(header)):
            spans = [cells[column] for cells in table.cells if column < len(cells)]
            if len(spans) == len(table.cells):
                yield tuple(Edit(text.rfind("|", 0, start), text.index("|", end), "") for start, end in spans)
        if header:
            yield (Edit(*header[-1], ""),)
        yield (Edit(table.lines[-1][1], table.lines[-1][1], text[slice(*table.lines[0])]),)


# Arms, stale copies


@_class("arms swapped", "the labels of two arms change places in a sentence, a cell, a row of a table")
def _arms_swapped(published: Published) -> Iterator[tuple[Edit, ...]]:
    text = published.text
    stretches = [*published.counting]
    for table in published.tables:
        stretches += [table.lines[0], *(table.lines[i] for i in table.body)]
    for first, second in published.labels:
        either = re.compile(rf"(?<![\w-])(?:{re.escape(first)}|{re.escape(second)})(?![\w-])", re.IGNORECASE)
        for start, end in stretches:
            found = list(either.finditer(text, start, end))
            if found:
                yield tuple(Edit(*one.span(), second if one[0].lower() == first.lower() else first) for one in found)


_DIGITS = re.compile(r"(?P<sign>[+−-]?)(?P<number>[0-9][0-9,]*(?:\.[0-9]+)?)(?P<percent>%?)")


@_class("rounded otherwise", "each quoted number is cut, rounded half to even, up or down, or a digit more or less")
def _rounded_otherwise(published: Published) -> Iterator[tuple[Edit, ...]]:
    for start, end, place in published.places:
        said = published.text[start:end]
        for other in _roundings(said, published.readings.get(place.source)):
            if other != said:
                yield (Edit(start, end, other),)


def _roundings(said: str, reading: Reading | None) -> Iterator[str]:
    found = _DIGITS.fullmatch(said)
    if not found or reading is None or isinstance(reading.value, str) or reading.value is None:
        return
    digits = len(found["number"].partition(".")[2])
    exact = Decimal(repr(reading.value)) * (100 if found["percent"] else 1)
    for rule in (ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_DOWN, ROUND_CEILING, ROUND_FLOOR):
        value = exact.quantize(Decimal(1).scaleb(-digits), rounding=rule)
        yield f"{MINUS if value < 0 else ''}{abs(value):{',' if ',' in said else ''}f}{found['percent']}"
    for more in (digits + 1, digits - 1):
        if more >= 0:
            yield format_value(
                reading.value, f"{',' if ',' in said else ''}.{more}{'%' if found['percent'] else 'f'}", ""
            )


@_class("stale copy", "each quoted value is that of an earlier state of the data, or of another part")
def _stale_copy(published: Published) -> Iterator[tuple[Edit, ...]]:
    for start, end, place in published.places:
        if place.kind == "claim":
            continue
        for readings in published.earlier:
            try:
                other = place.fresh(readings)
            except (ReadingError, TemplateError):
                continue
            if other != published.text[start:end]:
                yield (Edit(start, end, other),)


@_class("changed everywhere", "one quantity is changed alike in all its places")
def _changed_everywhere(published: Published) -> Iterator[tuple[Edit, ...]]:
    by_source: dict[str, list[tuple[int, int]]] = {}
    for start, end, place in published.places:
        by_source.setdefault(f"{place.kind} {place.source}", []).append((start, end))
    for spans in by_source.values():
        edits = [Edit(*span, _raised(published.text[slice(*span)])) for span in spans]
        if all(edit.text for edit in edits):
            yield tuple(edits)


def _raised(said: str) -> str:
    """The same print with its last digit one higher; the next word for a number word; empty where it is neither."""
    digits = list(re.finditer(r"[0-9]", said))
    if digits:
        at = digits[-1].start()
        return f"{said[:at]}{(int(said[at]) + 1) % 10}{said[at + 1 :]}"
    words = [token for token in find(said) if token.role == "word" and token.kind == "word" and token.value is not None]
    if len(words) == 1 and words[0].text == said:
        following = number_word(int(words[0].value or 0) + 1)
        return following.capitalize() if said[0].isupper() else following
    return ""


# Sentences, numbers where none were


@_class("sentence", "a sentence with a quantity is lost, stands twice, or changes places with the next one")
def _sentence(published: Published) -> Iterator[tuple[Edit, ...]]:
    """A sentence without any quantity, name or comparing word is the hash's business, and is left alone."""
    text = published.text
    for start, end in published.counting:
        yield (Edit(start, end, ""),)
        yield (Edit(end, end, f" {text[start:end]}"),)
    for first, second in pairwise(published.sentences):
        if first in published.counting and second in published.counting and text[first[1] : second[0]].strip() == "":
            yield _swap(text, first, second)


_TYPED = ("It took 12 ms.", "That is 40 % less.", "There were seven of them.", "It is twice as fast.")


@_class("typed number", "a new sentence with a number that nothing binds stands after a paragraph, in digits or words")
def _typed_number(published: Published) -> Iterator[tuple[Edit, ...]]:
    printed = [
        published.text[start:end] for start, end, _ in published.places if re.search(r"\d", published.text[start:end])
    ]
    for index, block in enumerate(published.blocks):
        if block.kind in ("paragraph", "item", "quote", "footnote"):
            yield (Edit(block.ends[-1], block.ends[-1], f" {_TYPED[index % len(_TYPED)]}"),)
            if printed:
                yield (Edit(block.ends[-1], block.ends[-1], f" It read {printed[index % len(printed)]} once more."),)


@_class(
    "number elsewhere", "a number is typed into a heading, an alternative text, a footnote, a link, code, HTML, a cell"
)
def _number_elsewhere(published: Published) -> Iterator[tuple[Edit, ...]]:
    for block in published.blocks:
        end = block.ends[-1]
        match block.kind:
            case "heading":
                yield from ((Edit(end, end, more),) for more in (" in 12 ms", ": two of three"))
            case "alt":
                yield (Edit(end, end, " It shows 12 ms."),)
            case "cell":
                yield (Edit(end, end, " 12"),)
            case "paragraph" | "item":
                for more in (
                    " ![A picture of 12 rows.](x.svg)",
                    " [after 12 ms](x.md)",
                    " `12 ms`",
                    ' <span title="x">12 ms</span>',
                    "[^m]\n\n[^m]: It took 12 ms.",
                    "\n\n## After 12 ms",
                    "\n\n<div>12 ms</div>\n",
                    "\n\n| a |\n|---|\n| 12 |\n",
                    " *12* ms",
                    " &#49;2 ms",
                    " ½ of it",
                    " 10^3 rows",
                ):
                    yield (Edit(end, end, more),)


@_class("number hidden", "a number is struck out, turned into code, or put where no reader sees it")
def _number_hidden(published: Published) -> Iterator[tuple[Edit, ...]]:
    for token in published.numbers:
        said = published.text[token.core_start : token.core_end]
        for new in (
            f"~~{said}~~",
            f"<!-- {said} -->",
            f"<del>{said}</del>",
            f"<sup>{said}</sup>",
            f"[{said}](x.md)",
            "…",
        ):
            yield (Edit(token.core_start, token.core_end, new),)
    for start, end in published.counting:
        yield (Edit(start, start, "<!-- "), Edit(end, end, " -->"))
