"""Why input was refused: one base for the whole program, so that one place turns it into an exit code."""

import difflib
from collections.abc import Iterable


class CampaignError(Exception):
    """Something that a person has to mend before the command can go on.

    The text names where, what was found, what was expected and what to do.
    """


def nearest(found: str, known: Iterable[str]) -> str:
    """` Did you mean x?` for the known name nearest to `found`, or nothing when none is near."""
    near = difflib.get_close_matches(found, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]}?" if near else ""
