"""Everything that is printed in a post, place by place, and which of it a person means."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from campaign.notes.check import read_kept
from campaign.notes.ledger import Place
from campaign.notes.lines import line_column
from campaign.notes.numbers import Token, find, find_in
from campaign.notes.paths import Part
from campaign.notes.post import Post
from campaign.notes.quote import COMMA, MINUS
from campaign.notes.reader import Block, read

AROUND, CONTEXT = 22, 70
"""How many characters are shown to either side of a number: in a list, and where it stands alone."""


@dataclass(frozen=True)
class Standing:
    """One place of post.md: a bound one with its place in the ledger, or any other number."""

    part: Part
    text: str
    start: int
    end: int
    line: int
    column: int
    around: str
    """A few words around it, itself in brackets; in a table the names of its row and column before its cell."""
    context: str
    """More words around it."""
    place: Place | None
    """What binds it; None where nothing does."""
    token: Token | None
    """The number that a reader sees there; None for words of a claim or a text."""

    @property
    def address(self) -> str:
        """As an editor, and `notes why`, takes it: parts/part-5/post.md:41:17."""
        return f"{self.part.show(self.part.post)}:{self.line}:{self.column}"

    @property
    def source(self) -> tuple[str, str]:
        """Kind and id of what it comes from; for what nothing binds its role and its text."""
        if self.place:
            return self.place.kind, self.place.source
        assert self.token is not None, "what nothing binds is a number"
        return self.token.role, self.text


def standing_in(part: Part, names: Sequence[str], decimal: str) -> list[Standing]:
    """Every bound place and every number of the post as it was built, in reading order.

    `decimal` is the mark before the decimals in its prose: a point or a comma.
    """
    post, ledger, _ = read_kept(part)
    built = Post(post.banner, ledger.body(), post.entries)
    text = built.text
    blocks = read(text)
    tokens = find_in(blocks, text, names, decimal_comma=decimal == ",")
    words = _Words(text, blocks)
    spans = [(start + built.body_start, end + built.body_start) for start, end in ledger.spans()]
    first_in: dict[int, Token] = {}
    loose = []
    at = 0
    for token in tokens:
        while at < len(spans) and spans[at][1] <= token.core_start:
            at += 1
        inside = at < len(spans) and spans[at][0] <= token.core_start
        if inside and token.role != "comparing":
            first_in.setdefault(at, token)
        elif not inside:
            loose.append(token)
    found = [
        _standing(part, words, start, end, place, first_in.get(index))
        for index, (place, (start, end)) in enumerate(zip(ledger.places, spans, strict=True))
    ]
    found += [_standing(part, words, token.start, token.end, None, token) for token in loose]
    return sorted(found, key=lambda one: one.start)


def _standing(part: Part, words: "_Words", start: int, end: int, place: Place | None, token: Token | None) -> Standing:
    line, column = line_column(words.text, start)
    around, context = (words.around(start, end, length) for length in (AROUND, CONTEXT))
    return Standing(part, words.text[start:end], start, end, line, column, around, context, place, token)


class _Words:
    """A post's text as it is shown around a place."""

    def __init__(self, text: str, blocks: Sequence[Block]) -> None:
        self.text = text
        cells = [block for block in blocks if block.cell and block.source]
        self._cells = sorted(cells, key=lambda block: block.source[0])
        self._starts = [block.source[0] for block in self._cells]
        self._texts = {(c.table, c.row, c.column): block.text for block in self._cells if (c := block.cell)}

    def around(self, start: int, end: int, length: int) -> str:
        """So many characters of the paragraph or cell to either side, what stands in the middle in brackets."""
        text = self.text
        cell = self._cell(start)
        if cell:
            before, after = text[cell.source[0] : start], text[end : max(end, cell.ends[-1])]
        else:
            before, after = text[max(0, start - 3 * length) : start], text[end : end + 3 * length]
            before = before[before.rfind("\n\n") + 1 :]
            after = after[: after.find("\n\n")] if "\n\n" in after else after
        said = _cut(_plain(text[start:end]), 2 * length)
        shown = f"{_cut(_plain(before), -length)}[{said}]{_cut(_plain(after), length)}".strip()
        named = ", ".join(self._names(cell)) if cell else ""
        return f"{named}: {shown}" if named else shown

    def _cell(self, at: int) -> Block | None:
        """The cell of a table that holds an offset."""
        index = bisect_right(self._starts, at) - 1
        found = self._cells[index] if index >= 0 else None
        return found if found and at < found.ends[-1] else None

    def _names(self, block: Block) -> list[str]:
        """What names the row and the column of a cell."""
        cell = block.cell
        assert cell is not None, "it is a cell"
        if cell.row == 0:
            return []
        row = next((said for i in range(cell.column) if (said := self._texts.get((cell.table, cell.row, i)))), "")
        head = self._texts.get((cell.table, 0, cell.column), "")
        return [_cut(_plain(said), AROUND) for said in (row, head) if said]


def _plain(markdown: str) -> str:
    noted = re.sub(r"\[\^([^\]]*)\](:?)", lambda found: f"footnote {found[1]}:" if found[2] else "", markdown)
    bare = re.sub(r"^[> ]*> ?|\]\([^)\s]*\)|[*`\[\]]|<!--.*?-->", "", noted, flags=re.MULTILINE)
    return re.sub(r"\s+", " ", bare)


def _cut(text: str, length: int) -> str:
    """The first or the last characters of a text, whole words of it."""
    if len(text) <= abs(length):
        return text
    if length < 0:
        tail = text[length:]
        return "… " + tail.partition(" ")[2] if " " in tail.rstrip() else "…" + tail
    return text[:length].rpartition(" ")[0] + " …"


# What a person means


def at_place(everything: Iterable[Standing], line: int, column: int | None) -> list[Standing]:
    """What stands on a line; of these the one at a column, where one is given."""
    on_line = [(one, span) for one in everything if (span := _columns(one, line)) and (one.token or one.place)]
    if column is None:
        return [one for one, _ in on_line if one.place or (one.token and one.token.role != "comparing")]
    inside = [one for one, (first, last) in on_line if first <= column <= last]
    # an editor's cursor stands beside a character as often as on it
    beside = [one for one, (first, last) in on_line if first - 1 <= column <= last + 1]
    return (inside or beside)[:1]


def stands_at(one: Standing, line: int, column: int) -> bool:
    """Whether it takes up this column of this line."""
    span = _columns(one, line)
    return span is not None and span[0] <= column <= span[1]


def _columns(one: Standing, line: int) -> tuple[int, int] | None:
    """The first and the last column that it takes up on a line; None where it does not stand there."""
    rows = one.text.split("\n")
    at = line - one.line
    if not 0 <= at < len(rows):
        return None
    first = 1 if at else one.column
    return first, first + len(rows[at]) - 1


def printed_as(everything: Iterable[Standing], text: str, decimal: str) -> list[Standing]:
    """What is printed just so: grouping, spaces, the kind of minus and capitals aside, with or without its unit."""
    asked = folded(text, decimal)
    return [one for one in everything if asked in _forms(one, decimal)]


def with_word(everything: Iterable[Standing], text: str) -> list[Standing]:
    """Bound words of which a word that a person typed is a part: `same` of the claim "are the same"."""
    if not re.fullmatch(r"[^\W\d]+(?:[\s'’-][^\W\d]+)*", text.strip()):
        return []
    said = r"\s+".join(map(re.escape, text.split()))
    inside = re.compile(rf"(?<!\w){said}(?!\w)", re.IGNORECASE)
    return [one for one in everything if one.place and inside.search(one.text)]


def of_value(everything: Iterable[Standing], text: str, decimal: str) -> list[Standing]:
    """Numbers that are equal to what a person typed, in whatever digits or words they are printed."""
    asked = _quantity(text, decimal)
    if asked is None or asked.value is None:
        return []
    value, unit = asked.value, asked.unit
    return [
        one for one in everything if one.token and one.token.value == value and (unit is None or one.token.unit == unit)
    ]


def nearest_to(everything: Iterable[Standing], text: str, decimal: str, most: int = 3) -> list[Standing]:
    """The numbers that come nearest to what a person typed, each printed text once."""
    asked = _quantity(text, decimal)
    if asked is None or asked.value is None:
        return []
    wanted = Fraction(asked.value)
    counted = [one for one in everything if one.token and one.token.value is not None]
    ranked = sorted(counted, key=lambda one: abs(Fraction(_value(one)) - wanted))
    return list({folded(one.text, decimal): one for one in reversed(ranked[: 4 * most])}.values())[::-1][:most]


def _value(one: Standing) -> Decimal | Fraction:
    assert one.token is not None and one.token.value is not None
    return one.token.value


def _quantity(text: str, decimal: str) -> Token | None:
    found = [token for token in find(text, decimal_comma=decimal == ",") if token.role in ("number", "word")]
    return found[0] if len(found) == 1 else None


def _forms(one: Standing, decimal: str) -> set[str]:
    forms = {one.text}
    if token := one.token:
        forms |= {token.text}
        if token.unit:
            forms |= {f"{one.text} {token.unit}", f"{token.text} {token.unit}"}
        if token.role in ("number", "word") and token.unit and token.text.endswith(token.unit):
            forms.add(token.text.removesuffix(token.unit))
    return {folded(form, decimal) for form in forms}


def folded(text: str, decimal: str) -> str:
    """A printed text without what two people may type differently; a decimal comma as the point."""
    text = text.strip().translate(COMMA) if decimal == "," else text.strip()
    text = re.sub(r"(?<=\d)[,\s\u2009\u202f'](?=\d{3}(?!\d))", "", text)
    text = re.sub(r"(?<!\w)[-\u2010\u2011\u2012](?=[\d.])", MINUS, text)
    return re.sub(r"\s+", "", re.sub(r"\bpercent\b", "%", text.casefold()))
