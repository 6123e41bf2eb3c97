"""Where a printed number comes from, and every other place that prints it."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from campaign.notes.errors import UsageError
from campaign.notes.explain import explain
from campaign.notes.paths import Part
from campaign.notes.sources import load
from campaign.notes.standing import Standing, at_place, nearest_to, of_value, printed_as, standing_in
from campaign.notes.terminal import USUAL, Line, grid, wrapped

_PLACE = re.compile(r"(?P<part>.+?):(?P<line>\d+)(?::(?P<column>\d+))?")
MOST = 40
"""As many candidates are listed."""


def parse_target(said: str) -> tuple[str, int | None, int | None]:
    """Part, line and column of `part-5:41:17`; the last two None for a bare part."""
    found = _PLACE.fullmatch(said)
    if not found:
        return said, None, None
    return found["part"], int(found["line"]), int(found["column"]) if found["column"] else None


def why(part: Part, text: str | None, line: int | None = None, column: int | None = None, depth: int = 1) -> list[str]:
    """Lines, at most 100 columns wide, that explain a number by its text or by its place in post.md.

    Where several sources print it, they are listed, each with the place to ask for; `depth` says how far what a
    number is computed from is followed. Raises UsageError where nothing of the kind stands there.
    """
    sources = load(part)
    everything = standing_in(part, sources.names)
    remark = ""
    if line is not None:
        chosen = at_place(everything, line, column)
    else:
        asked = text or ""
        chosen = printed_as(everything, asked)
        if not chosen and (chosen := of_value(everything, asked)):
            printed = ", ".join(dict.fromkeys(one.text for one in chosen))
            remark = f"{asked!r} is not printed so; the same value is printed as {printed}"
        # a number that also stands in a date or a name is most likely not meant there
        if any(one.place for one in chosen) and line is None:
            chosen = [one for one in chosen if one.place or (one.token and one.token.role in ("number", "word"))]
    if not chosen:
        raise UsageError(_nothing(part, everything, text, line, column))
    by_source: dict[tuple[str, str], list[Standing]] = {}
    for one in chosen:
        by_source.setdefault(one.source, []).append(one)
    said = wrapped(remark, USUAL) if remark else []
    if len(by_source) > 1:
        return [*said, *_candidates(part, chosen, text, line)]
    here = chosen[0]
    same = [one for one in everything if one.source == here.source]
    return [*said, *explain(sources, here, same, depth)]


def _candidates(part: Part, chosen: Sequence[Standing], text: str | None, line: int | None) -> Iterator[str]:
    """The places that may be meant, each with its address, the words around it and its source."""
    many = len({one.source for one in chosen})
    asked = f"{text!r} stands in" if line is None else f"line {line} of {part.name} prints"
    what = "places" if line is None else "things"
    yield f"{asked} {len(chosen)} {what}, from {many} sources:"
    yield ""
    rows = []
    for one in chosen[:MOST]:
        kind, source = one.source
        bound = f"{kind} {source}" if one.place else kind if kind in ("structure", "name") else f"{kind}, unbound"
        rows.append(Line((one.address, _narrowed(one.around), _short(bound))))
    yield from grid(("place", "words", "source"), rows, USUAL).split("\n")
    if len(chosen) > MOST:
        yield f"and {len(chosen) - MOST} more"
    yield ""
    yield f"To see one: notes why {chosen[0].address}"


WORDS, SOURCE = 46, 30
"""The widths of the columns of a list of candidates."""


def _short(text: str) -> str:
    return text if len(text) <= SOURCE else text[: SOURCE - 1] + "…"


def _narrowed(around: str) -> str:
    """The words nearest to what stands in brackets."""
    start, end = around.find("["), around.rfind("]") + 1
    before, middle, after = around[:start], around[start:end], around[end:]
    while len(before + middle + after) > WORDS and (before or after):
        if len(before) >= len(after):
            rest = before.removeprefix("… ").partition(" ")[2]
            before = f"… {rest}" if rest else ""
        else:
            rest = after.removesuffix(" …").rpartition(" ")[0]
            after = f"{rest} …" if rest else ""
    return f"{before}{middle}{after}"


def _nothing(part: Part, everything: Sequence[Standing], text: str | None, line: int | None, column: int | None) -> str:
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
        near_by = f" The nearest line with one is {lines[0]}: `notes why {part.name}:{lines[0]}`." if lines else ""
        return f"{where}:{line}: no number and no bound word stands on this line; expected one.{near_by}"
    asked = text or ""
    inside = [
        one for one in everything if asked and re.search(rf"(?<![\w.,]){re.escape(asked)}(?![\w]|[.,]\d)", one.text)
    ]
    if inside:
        said = ", ".join(f"{one.text!r} ({one.address})" for one in inside[:3])
        whole = f"expected the whole. Name it: `notes why {inside[0].address}`."
        return f"{where}: {asked!r} is printed as part of {said} only; {whole}"
    near = nearest_to(everything, asked)
    if near:
        said = ", ".join(f"{one.text} ({one.address})" for one in near)
        return f"{where}: {asked!r} is not printed there; expected a number as it is printed. The nearest are {said}."
    words = {one.text.casefold(): one for one in everything if one.place}
    alike = [words[word] for word in get_close_matches(asked.casefold(), words, 3, 0.6)]
    said = " Alike are " + ", ".join(f"{one.text!r} ({one.address})" for one in alike) + "." if alike else ""
    return f"{where}: {asked!r} is not printed there; expected a number or word as it is printed.{said} {lists}"
