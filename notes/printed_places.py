"""Where the places of a ledger stand in a post as it is now, and what is printed there."""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from campaign.analysis.readings import Reading
from campaign.analysis.rounding import Printed
from campaign.notes.ledger import Ledger, Place
from campaign.notes.post import Post
from campaign.notes.quote import COMMA, number_word

_WORDS = {number_word(value): value for value in range(1000)}


@dataclass(frozen=True)
class PrintedPlace:
    """One place of the ledger as it stands in post.md."""

    place: Place
    index: int
    """Its index in the ledger."""
    text: str
    """What is printed there now."""
    line: int
    """Of post.md, from 1."""
    column: int

    @property
    def where(self) -> str:
        """Line and column, for people."""
        return f"{self.line}:{self.column}"


def printed_places(post: Post, ledger: Ledger) -> list[PrintedPlace]:
    """The places of the ledger in the body of `post`, in reading order.

    Places in lines that were changed beyond what stands in the places themselves are left out: the comparison with
    fresh readings tells of these.
    """
    first = 1 + post.text.count("\n", 0, post.body_start)
    lines, built = post.body.split("\n"), ledger.body().split("\n")
    to_line = _same_lines(built, lines)
    found = []
    for line, spans in _by_line(ledger):
        at = to_line.get(line)
        if at is None:
            continue
        within = _within(built[line], [(start, end) for _, start, end in spans], lines[at])
        for (index, _, _), (start, end) in zip(spans, within, strict=False):
            found.append(PrintedPlace(ledger.places[index], index, lines[at][start:end], first + at, start + 1))
    return found


def by_source(places: Iterable[PrintedPlace]) -> dict[str, list[PrintedPlace]]:
    """Those that print a reading, constant or fact, by its id."""
    said: dict[str, list[PrintedPlace]] = {}
    for one in places:
        if one.place.kind != "claim":
            said.setdefault(one.place.source, []).append(one)
    return said


def printed_number(text: str, reading: Reading, decimal: str = ".") -> Printed | None:
    """What a text that is printed for `reading` stands for; None where either is no number.

    A whole number, in digits or in a word, stands for itself; any other one is rounded in its last place.
    """
    if not isinstance(reading.value, int | float):
        return None
    word = _WORDS.get(text.lower())
    exact = word is not None or isinstance(reading.value, int)
    if decimal == ",":
        text = text.translate(COMMA)
    return _printed(text if word is None else str(word), exact)


@lru_cache(maxsize=2**14)
def _printed(text: str, exact: bool) -> Printed | None:
    """The same for a text in digits; a table's numbers are asked for by many readings."""
    return Printed.read(text, exact=exact)


def _by_line(ledger: Ledger) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """For each line of the body as built its places: index, and start and end on the line. None goes over lines."""
    body = ledger.body()
    found: dict[int, list[tuple[int, int, int]]] = {}
    line, line_start, at = 0, 0, 0
    for index, (start, end) in enumerate(ledger.spans()):
        line += body.count("\n", at, start)
        at = start
        line_start = body.rfind("\n", 0, start) + 1
        if "\n" not in body[start:end]:
            found.setdefault(line, []).append((index, start - line_start, end - line_start))
    yield from found.items()


def _same_lines(built: list[str], lines: list[str]) -> dict[int, int]:
    """The line of the post for each line as built that is there as it was, or has one line in its place."""
    if built == lines:
        return {number: number for number in range(len(built))}
    pairs = {}
    for tag, old, old_end, new, new_end in difflib.SequenceMatcher(None, built, lines, autojunk=False).get_opcodes():
        if tag == "equal" or old_end - old == new_end - new:
            pairs.update(zip(range(old, old_end), range(new, new_end), strict=True))
    return pairs


def _within(line: str, spans: list[tuple[int, int]], now: str) -> list[tuple[int, int]]:
    """Where the places of a line stand in the line as it is now; none where more than the places differ.

    What stands between two places is looked for from the left, each time where it first stands.
    """
    if line == now:
        return spans
    edges = [0, *(edge for span in spans for edge in span), len(line)]
    between = [line[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    if not now.startswith(between[0]) or not all(between[1:-1]):
        return []
    found, at = [], len(between[0])
    for literal in between[1:-1]:
        end = now.find(literal, at)
        if end < 0:
            return []
        found.append((at, end))
        at = end + len(literal)
    end = len(now) - len(between[-1])
    return [*found, (at, end)] if end >= at and now.endswith(between[-1]) else []
