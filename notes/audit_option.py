"""What a number of a table may have been computed from, as its name and those beside it say."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from campaign.notes.audit_printed import Formula, Printed

_UNIT_PART = re.compile(r"[(\[].*?[)\]]|,\s*\S{1,4}$")

Operands = Callable[[int], Sequence[Printed] | None]
"""The two operands at a position; None where one is not known."""


@dataclass(frozen=True)
class Option:
    """What a number may be: formulas of two operands, the likeliest first."""

    says: str
    operands: Operands
    formulas: tuple[Formula, ...]
    code: str = "ratio"
    divides: bool = False
    """Whether a number without a unit is a ratio."""
    named: bool = True
    """Whether the names of its operands say so too, not only its own."""
    only: bool = False
    """Whether there are no other operands that its name could mean."""
    directed: bool = False
    """Whether the number's sign must tell which way."""
    plain: bool = False
    """Whether nothing else can be meant, even where no number of the series follows."""


def plain(name: str) -> str:
    """A name in small letters, without its unit and what stands in brackets."""
    return _UNIT_PART.sub("", name).strip(" *_`").lower()
