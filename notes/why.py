"""Where a printed number comes from, and every other place that prints it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from textwrap import shorten

from campaign.notes.errors import UsageError
from campaign.notes.explain import explain
from campaign.notes.lines import line_column
from campaign.notes.paths import Part
from campaign.notes.quote import COMMA
from campaign.notes.sources import load
from campaign.notes.standing import (
    Standing,
    at_place,
    nearest_to,
    of_value,
    printed_as,
    standing_in,
    stands_at,
    with_word,
)
from campaign.notes.terminal import USUAL, wrapped

_PLACE = re.compile(r"(?P<part>.+?):(?P<line>\d+)(?::(?P<column>\d+))?")
MOST = 40
"""As many candidates are listed."""


def parse_target(said: str) -> tuple[str, int | None, int | None]:
    """Part, line and column of `part-5:41:17` or parts/part-5/post.md:41:17; the last two None for a bare part."""
    found = _PLACE.fullmatch(said)
    if not found:
        return said, None, None
    return found["part"], int(found["line"]), int(found["column"]) if found["column"] else None


def why(
    part: Part, text: str | None, line: int | None = None, column: int | None = None, depth: int = 1, width: int = USUAL
) -> list[str]:
    """Lines, at most `width` columns wide, that explain a number or word by its text or by its place in post.md.

    Where several sources print it, they are listed, each with its places to ask for; `depth` says how far what a
    number is computed from is followed. Raises UsageError where nothing of the kind stands there.
    """
    sources = load(part)
    decimal = sources.readings.decimal
    everything = standing_in(part, sources.names, decimal)
    remark = ""
    if line is not None:
        chosen = at_place(everything, line, column)
        if chosen and column is not None and not stands_at(chosen[0], line, column):
            remark = f"nothing stands at {part.name}:{line}:{column}; beside it stands {chosen[0].text!r}"
    else:
        chosen, remark = _meant(everything, text or "", decimal)
    if not chosen:
        raise UsageError(_nothing(part, everything, text, line, column, decimal))
    by_source: dict[tuple[str, str], list[Standing]] = {}
    for one in chosen:
        by_source.setdefault(one.source, []).append(one)
    said = wrapped(remark, width) if remark else []
    if len(by_source) > 1:
        asked = f"{text!r} stands in" if line is None else f"line {line} of {part.name} prints"
        return [*said, *_candidates(by_source, asked, "places" if line is None else "things", width)]
    here = chosen[0]
    same = [one for one in everything if one.source == here.source]
    return [*said, *explain(sources, here, same, depth, width)]


def _meant(everything: Sequence[Standing], asked: str, decimal: str) -> tuple[list[Standing], str]:
    """What a person means who typed `asked`, exact spelling first, and a remark where nothing is printed so."""
    chosen, remark = printed_as(everything, asked, decimal), ""
    typed = [asked, asked.translate(COMMA)] if decimal == "," else [asked]
    for said in typed if not chosen else ():
        chosen = chosen or printed_as(everything, said, decimal) or of_value(everything, said, decimal)
    if chosen and not printed_as(everything, asked, decimal):
        printed = ", ".join(dict.fromkeys(one.text for one in chosen))
        remark = f"{asked!r} is not printed so; the same value is printed as {printed}"
    if not chosen and (chosen := with_word(everything, asked)):
        printed = ", ".join(dict.fromkeys(repr(" ".join(one.text.split())) for one in chosen[:3]))
        remark = f"{asked!r} is printed as part of {printed}"
    elif more := [one for one in with_word(everything, asked) if one not in chosen]:
        chosen = [*chosen, *more]
    chosen.sort(key=lambda one: (one.text != asked, asked not in one.text, one.start))
    # a number that also stands in a date or a name is most likely not meant there
    if any(one.place for one in chosen):
        chosen = [one for one in chosen if one.place or (one.token and one.token.role in ("number", "word"))]
    return chosen, remark


def _candidates(
    by_source: Mapping[tuple[str, str], Sequence[Standing]], asked: str, what: str, width: int
) -> Iterator[str]:
    """Each source that may be meant, with its places below it: where, and the words around it."""
    places = [one for found in by_source.values() for one in found]
    yield f"{asked} {len(places)} {what}, from {len(by_source)} sources:"
    address = max(len(one.address) for one in places)
    left = MOST
    for (kind, source), found in by_source.items():
        if not left:
            break
        bound = f"{kind} {source}" if found[0].place else kind if kind in ("structure", "name") else f"{kind}, unbound"
        yield ""
        yield from wrapped(bound, width, "", "  ")
        for one in found[:left]:
            yield f"  {one.address.ljust(address)}  {_narrowed(one.around, max(width - address - 4, NARROW))}"
        left = max(0, left - len(found))
    if len(places) > MOST:
        yield f"and {len(places) - MOST} more"
    yield ""
    yield f"To see one: notes why {places[0].address}"


NARROW = 24
"""As many columns the words around a candidate have at least."""


def _narrowed(around: str, width: int) -> str:
    """The words nearest to what stands in brackets."""
    start, end = around.find("["), around.rfind("]") + 1
    before, middle, after = around[:start], around[start:end], around[end:]
    while len(before + middle + after) > width and (before or after):
        if len(before) >= len(after):
            rest = before.removeprefix("… ").partition(" ")[2]
            before = f"… {rest}" if rest else ""
        else:
            rest = after.removesuffix(" …").rpartition(" ")[0]
            after = f"{rest} …" if rest else ""
    return shorten(f"{before}{middle}{after}", width, placeholder=" …]")


def _nothing(
    part: Part, everything: Sequence[Standing], text: str | None, line: int | None, column: int | None, decimal: str
) -> str:
    where = part.show(part.post)
    lists = f"`notes read {part.name}` lists the readings."
    if line is not None:
        there = [one for one in everything if one.line == line and (one.place or one.token)]
        if there and column:
            near = min(there, key=lambda one: abs(one.column - column))
            return (
                f"{where}:{line}:{column}: no number and no bound word stands there; expected a column of one. "
                f"The nearest on this line is {near.text!r}: `notes why {near.address}`."
            )
        lines = sorted({one.line for one in everything if one.place}, key=lambda other: abs(other - line))
        near_by = f" The nearest line with one is {lines[0]}: `notes why {where}:{lines[0]}`." if lines else ""
        return f"{where}:{line}: no number and no bound word stands on this line; expected one.{near_by}"
    asked = text or ""
    inside = [
        one for one in everything if asked and re.search(rf"(?<![\w.,]){re.escape(asked)}(?![\w]|[.,]\d)", one.text)
    ]
    if inside:
        said = ", ".join(f"{one.text!r} ({one.address})" for one in inside[:3])
        whole = f"expected the whole. Name it: `notes why {inside[0].address}`."
        return f"{where}: {asked!r} is printed as part of {said} only; {whole}"
    near = nearest_to(everything, asked, decimal)
    if near:
        said = ", ".join(f"{one.text} ({one.address})" for one in near)
        return f"{where}: {asked!r} is not printed there; expected a number as it is printed. The nearest are {said}."
    loose = re.search(rf"(?<!\w){re.escape(asked)}(?!\w)", part.post.read_text(encoding="utf-8", errors="replace"))
    if asked and loose:
        at = line_column(loose.string, loose.start())
        return (
            f"{where}: {asked!r} stands at {at[0]}:{at[1]} and is neither a number nor a word that a quote or a claim "
            f"prints; expected one of these. {lists}"
        )
    words = {one.text.casefold(): one for one in everything if one.place}
    alike = [words[word] for word in get_close_matches(asked.casefold(), words, 3, 0.6)]
    said = " Alike are " + ", ".join(f"{one.text!r} ({one.address})" for one in alike) + "." if alike else ""
    return f"{where}: {asked!r} is not printed there; expected a number or word as it is printed.{said} {lists}"
