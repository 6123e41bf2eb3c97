"""Findings about the claims of a post: those that the data do not decide, those with typed numbers, fragile ones."""

from collections.abc import Iterator
from dataclasses import replace

from campaign.analysis.errors import ReadingError
from campaign.notes.claims import WORD_FACT, typed_numbers, weak_claims
from campaign.notes.findings import Finding, Level
from campaign.notes.ledger import Ledger
from campaign.notes.margins import Margins, margins
from campaign.notes.paths import Part
from campaign.notes.post import Post
from campaign.notes.printed_places import PrintedPlace, printed_places
from campaign.notes.sources import Sources


def claim_findings(part: Part, post: Post, ledger: Ledger, sources: Sources) -> Iterator[Finding]:
    """An error for each claim that no data could turn, a warning for one with a typed number, a note for a fragile one.

    One for each place that stands in the post as it was built; a word that was changed there is told elsewhere.
    """
    path = part.show(part.post)
    at = {one.index: one for one in printed_places(post, ledger)}
    places = ledger.places
    weak = dict(weak_claims(places, sources.readings))
    for index, why in weak.items():
        if index in at:
            mend = f"change the claim to one that the data decide; where none do, {WORD_FACT}"
            yield _finding("claim", path, at[index], why, mend, "error")
    for index, why in typed_numbers(places):
        if index in at:
            mend = "declare the number as a constant of the plan, and name it in the claim"
            yield _finding("claim", path, at[index], why, mend, "warning")
    known: dict[str, Margins | None] = {}
    for index, place in enumerate(places):
        if place.kind != "claim" or index not in at or index in weak:
            continue
        if place.source not in known:
            known[place.source] = _margins(place.source, sources)
        found = known[place.source]
        if found is not None and found.fragile:
            mend = "nothing; say in the text how sure it is, where that matters"
            one = _finding("fragile", path, at[index], "a margin beyond the noise", mend, "note")
            yield replace(one, also=(str(found),))


def _margins(expression: str, sources: Sources) -> Margins | None:
    try:
        return margins(expression, sources.readings)
    except ReadingError:
        return None  # the comparison with the text tells of it


def _finding(code: str, path: str, at: PrintedPlace, expected: str, mend: str, level: Level) -> Finding:
    source = f"claim {at.place.source}"
    return Finding(code, path, at.line, at.column, at.text, expected, source, mend, level, len(at.text))
