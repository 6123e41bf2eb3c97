"""Everything that is printed in a post, place by place, and which of it a person means."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from campaign.notes.check import read_kept
from campaign.notes.ledger import Place
from campaign.notes.lines import line_column
from campaign.notes.numbers import Token, find
from campaign.notes.paths import Part
from campaign.notes.post import Post
from campaign.notes.quote import MINUS

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
    """A few words around it, itself in brackets."""
    context: str
    """More words around it."""
    place: Place | None
    """What binds it; None where nothing does."""
    token: Token | None
    """The number that a reader sees there; None for words of a claim or a text."""

    @property
    def address(self) -> str:
        """As `notes why` takes it: part-5:41:17."""
        return f"{self.part.name}:{self.line}:{self.column}"

    @property
    def file_address(self) -> str:
        """As an editor takes it: parts/part-5/post.md:41:17."""
        return f"{self.part.show(self.part.post)}:{self.line}:{self.column}"

    @property
    def source(self) -> tuple[str, str]:
        """Kind and id of what it comes from; for what nothing binds its role and its text."""
        if self.place:
            return self.place.kind, self.place.source
        assert self.token is not None, "what nothing binds is a number"
        return self.token.role, self.text


def standing_in(part: Part, names: Sequence[str]) -> list[Standing]:
    """Every bound place and every number of the post as it was built, in reading order."""
    post, ledger, _ = read_kept(part)
    built = Post(post.banner, ledger.body(), post.entries)
    text = built.text
    tokens = find(text, names)
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
        _standing(part, text, start, end, place, first_in.get(index))
        for index, (place, (start, end)) in enumerate(zip(ledger.places, spans, strict=True))
    ]
    found += [_standing(part, text, token.start, token.end, None, token) for token in loose]
    return sorted(found, key=lambda one: one.start)


def _standing(part: Part, text: str, start: int, end: int, place: Place | None, token: Token | None) -> Standing:
    line, column = line_column(text, start)
    around, context = (_around(text, start, end, length) for length in (AROUND, CONTEXT))
    return Standing(part, text[start:end], start, end, line, column, around, context, place, token)


def _around(text: str, start: int, end: int, length: int) -> str:
    """So many characters of the paragraph to either side, what stands in the middle in brackets."""
    before, after = text[max(0, start - 3 * length) : start], text[end : end + 3 * length]
    before = before[before.rfind("\n\n") + 1 :]
    after = after[: after.find("\n\n")] if "\n\n" in after else after
    said = _cut(_plain(text[start:end]), 2 * length)
    return f"{_cut(_plain(before), -length)}[{said}]{_cut(_plain(after), length)}".strip()


def _plain(markdown: str) -> str:
    bare = re.sub(r"^[> ]*> ?|\]\([^)\s]*\)|[*`\[\]]|<!--.*?-->", "", markdown, flags=re.MULTILINE)
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
    on_line = [one for one in everything if one.line == line and (one.token or one.place)]
    if column is None:
        return [one for one in on_line if one.place or (one.token and one.token.role != "comparing")]
    return [one for one in on_line if one.column <= column < one.column + (one.end - one.start)][:1]


def printed_as(everything: Iterable[Standing], text: str) -> list[Standing]:
    """What is printed just so: grouping, spaces, the kind of minus and capitals aside, with or without its unit."""
    asked = folded(text)
    return [one for one in everything if asked in _forms(one)]


def of_value(everything: Iterable[Standing], text: str) -> list[Standing]:
    """Numbers that are equal to what a person typed, in whatever digits or words they are printed."""
    asked = _quantity(text)
    if asked is None or asked.value is None:
        return []
    value, unit = asked.value, asked.unit
    return [
        one for one in everything if one.token and one.token.value == value and (unit is None or one.token.unit == unit)
    ]


def nearest_to(everything: Iterable[Standing], text: str, most: int = 3) -> list[Standing]:
    """The numbers that come nearest to what a person typed, each printed text once."""
    asked = _quantity(text)
    if asked is None or asked.value is None:
        return []
    wanted = Fraction(asked.value)
    counted = [one for one in everything if one.token and one.token.value is not None]
    ranked = sorted(counted, key=lambda one: abs(Fraction(_value(one)) - wanted))
    return list({folded(one.text): one for one in reversed(ranked[: 4 * most])}.values())[::-1][:most]


def _value(one: Standing) -> Decimal | Fraction:
    assert one.token is not None and one.token.value is not None
    return one.token.value


def _quantity(text: str) -> Token | None:
    found = [token for token in find(text) if token.role in ("number", "word")]
    return found[0] if len(found) == 1 else None


def _forms(one: Standing) -> set[str]:
    forms = {one.text}
    if token := one.token:
        forms |= {token.text}
        if token.unit:
            forms |= {f"{one.text} {token.unit}", f"{token.text} {token.unit}"}
        if token.role in ("number", "word") and token.unit and token.text.endswith(token.unit):
            forms.add(token.text.removesuffix(token.unit))
    return {folded(form) for form in forms}


def folded(text: str) -> str:
    """A printed text without what two people may type differently."""
    text = re.sub(r"(?<=\d)[,\s\u2009\u202f'](?=\d{3}(?!\d))", "", text.strip())
    text = re.sub(r"(?<!\w)[-\u2010\u2011\u2012](?=[\d.])", MINUS, text)
    return re.sub(r"\s+", "", text).casefold().replace("percent", "%")
