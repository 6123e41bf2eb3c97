"""numbers.json: where each quoted place of a body stands and what it comes from.

Together with the literal text between the places the ledger holds the body as it was built, so that a body
can be compared place by place without the template.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from campaign.analysis.readings import Readings
from campaign.engine.strict import Strict
from campaign.notes.claims import claim_holds
from campaign.notes.errors import UsageError
from campaign.notes.lines import line_column
from campaign.notes.quote import NOT_RESOLVED, print_reading

SCHEMA = 1


@dataclass(frozen=True)
class Place:
    """One place in a body that is produced from a reading, a fact or a claim."""

    text: str
    """What was printed there."""
    kind: str
    """reading, constant, fact or claim."""
    source: str
    """The id of the reading, or the claim's expression."""
    format: str = ""
    """The format that the quote names; empty where it takes the reading's own."""
    word: str = ""
    """A claim's word while it is true."""
    otherwise: str = ""
    """A claim's word while it is false; empty where a false claim may not be printed."""

    def fresh(self, readings: Readings) -> str:
        """What should stand here for `readings`.

        A claim that does not hold and has no other word gives `⟨not true⟩`; one over something that is not
        resolved says so, and prints neither word. Raises ReadingError where the reading is gone.
        """
        if self.kind != "claim":
            return print_reading(readings[self.source], self.format or None, readings.decimal)
        holds = claim_holds(self.source, readings)
        if holds is None:
            return NOT_RESOLVED
        return self.word if holds else self.otherwise or NOT_TRUE


NOT_TRUE = "⟨not true⟩"


@dataclass(frozen=True)
class Ledger:
    """The places of a body in reading order, with the literal text around them."""

    places: tuple[Place, ...]
    literals: tuple[str, ...]
    """One more than places: before the first, between each two, after the last."""
    plots: Mapping[str, str] = field(default_factory=dict)
    """sha256 of each plot's file, by its name."""

    def body(self, texts: list[str] | None = None) -> str:
        """The body with `texts` in its places (with what was printed, where none are given)."""
        printed = [place.text for place in self.places] if texts is None else texts
        pieces = [self.literals[0]]
        for text, literal in zip(printed, self.literals[1:], strict=True):
            pieces += [text, literal]
        return "".join(pieces)

    def spans(self, texts: list[str] | None = None) -> list[tuple[int, int]]:
        """Start and end of each place in `body(texts)`."""
        spans, at = [], len(self.literals[0])
        printed = [place.text for place in self.places] if texts is None else texts
        for text, literal in zip(printed, self.literals[1:], strict=True):
            spans.append((at, at + len(text)))
            at += len(text) + len(literal)
        return spans

    def to_json(self, counts: dict[str, int]) -> str:
        """The text of numbers.json; lines are counted from the body's first."""
        return (
            json.dumps(
                {
                    "schema": SCHEMA,
                    "counts": counts,
                    "places": list(self._described()),
                    "after": self.literals[-1],
                    "plots": dict(self.plots),
                },
                ensure_ascii=False,
                indent=1,
            )
            + "\n"
        )

    def _described(self) -> Iterator[dict[str, Any]]:
        body = self.body()
        for place, literal, (start, _) in zip(self.places, self.literals, self.spans(), strict=False):
            line, column = line_column(body, start)
            said: dict[str, Any] = {
                "line": line,
                "column": column,
                "text": place.text,
                "kind": place.kind,
                "source": place.source,
            }
            said |= {key: value for key in ("format", "word", "otherwise") if (value := getattr(place, key))}
            yield said | {"before": literal}


class _Entry(Strict):
    """One place as numbers.json holds it."""

    line: int
    column: int
    text: str
    kind: Literal["reading", "constant", "fact", "claim"]
    source: str
    format: str = ""
    word: str = ""
    otherwise: str = ""
    before: str


class _File(Strict):
    """A whole numbers.json."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    counts: dict[str, int]
    places: list[_Entry]
    after: str
    plots: dict[str, str]


def read_ledger(path: Path, shown: str) -> tuple[Ledger, dict[str, int]]:
    """The ledger in a numbers.json, and the counts at its build."""
    try:
        said = _File.model_validate_json(path.read_bytes(), strict=True)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        where = ".".join(map(str, first["loc"]))
        if where == "schema" and first["type"] == "literal_error":
            raise UsageError(f"{shown}: schema {first['input']}; expected 1. Build the part again.") from None
        told = f"{where}: {first['msg']}" if where else first["msg"]
        raise UsageError(
            f"{shown}: not a numbers.json ({told}); expected what `notes build` writes. "
            f"Restore it with `git checkout -- {shown}`."
        ) from None
    places = tuple(
        Place(entry.text, entry.kind, entry.source, entry.format, entry.word, entry.otherwise) for entry in said.places
    )
    return Ledger(places, (*(entry.before for entry in said.places), said.after), said.plots), said.counts
