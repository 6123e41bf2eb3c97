"""The words of a correction before it is written: an entry is never changed, so a fault in them could not be mended."""

import datetime

from campaign.notes.build import package_template
from campaign.notes.compare import Where, compare
from campaign.notes.corrections import require_fit
from campaign.notes.errors import UsageError
from campaign.notes.history import History
from campaign.notes.paths import Part
from campaign.notes.render import render
from campaign.notes.sources import Sources, load


def require_words(
    part: Part,
    *,
    date: datetime.date,
    recorded: datetime.datetime,
    said: str,
    says: str,
    because: str,
    caused_by: str | None,
    repo: History,
) -> Sources:
    """The part's sources; raises UsageError for the first thing that is wrong with an entry in itself.

    What else stands on the words that it corrects is no part of this.
    """
    require_fit(part, date=date, recorded=recorded, said=said, caused_by=caused_by, repo=repo)
    sources = load(part)
    require_bound(part, {"says": says, "because": because}, sources)
    return sources


def require_bound(part: Part, words: dict[str, str], sources: Sources) -> None:
    """Nothing; raises UsageError for a number in the words of an entry, by their key, that nothing binds."""
    where = part.show(part.corrections)
    for name, text in words.items():
        ledger = render(text, f"{where}: {name}", sources.readings, {}, package_template)
        for finding in compare(ledger.body(), ledger, sources.readings, sources.names, Where(where, 1, "")).findings:
            if not finding.warning:
                raise UsageError(
                    f"{where}: {name}: {finding.said!r} is bound to nothing; expected {finding.expected}. "
                    'Quote a reading or fact: {{ q("...") }}.'
                )
