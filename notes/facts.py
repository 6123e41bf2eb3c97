"""facts.toml: constants that the prose quotes, each with its source; the post's title and date; names."""

from datetime import date, datetime, time
from typing import Any

from campaign.analysis.readings import Reading
from campaign.engine.strict import Id, Strict, Text, parse_strict, read_toml
from campaign.notes.errors import UsageError
from campaign.notes.paths import Part
from campaign.notes.toml_places import line_of_table


class PostHead(Strict):
    """What a post is called and when it is dated."""

    title: Text
    date: date


class Fact(Strict):
    """A constant that is no result: threads per block, a power cap, the time of an event."""

    value: int | float | str | datetime | date
    unit: str = ""
    print: str = ""
    source: Text
    """Where it can be looked up, or who states it."""


class Facts(Strict):
    """A whole facts.toml."""

    post: PostHead
    names: list[Text] = []
    """Names with digits in them (`W01`, `RTX PRO 6000`): their digits are no numbers."""
    facts: dict[Id, Fact] = {}


def read_facts(part: Part) -> Facts:
    """The facts of a part; an error names file and key."""
    shown = part.show(part.facts)
    found = read_toml(part.facts, shown)
    _require_sources(found, part, shown)
    facts = parse_strict(Facts, found, shown)
    for name, fact in facts.facts.items():
        if isinstance(fact.value, datetime) and fact.value.tzinfo is None:
            raise UsageError(
                f"{shown}: facts.{name}: the time {fact.value.isoformat()} has no zone; expected one, as "
                f"{fact.value.isoformat()}Z. Add it."
            )
    return facts


def _require_sources(found: dict[str, Any], part: Part, shown: str) -> None:
    """Refuse facts without a source, all at once, each with its line."""
    facts = found.get("facts")
    empty = [name for name, said in facts.items() if _lacks_source(said)] if isinstance(facts, dict) else []
    if empty:
        text = part.facts.read_bytes().decode("utf-8-sig")
        listed = "".join(f"\n  {shown}:{line_of_table(text, 'facts', name)}: {name}" for name in empty)
        many = f"{len(empty)} facts have" if len(empty) > 1 else "1 fact has"
        raise UsageError(
            f"{shown}: {many} no source; expected where each can be looked up, or who states it. Say it:{listed}"
        )


def _lacks_source(said: object) -> bool:
    return isinstance(said, dict) and isinstance(said.get("source"), str) and not said["source"].strip()


def fact_readings(facts: Facts) -> dict[str, Reading]:
    """Each fact, the post's title and date, as readings that prose can quote."""
    found = {
        "post.title": _fact("post.title", facts.post.title, because="facts.toml"),
        "post.date": _fact("post.date", facts.post.date.isoformat(), fmt="date", because="facts.toml"),
    }
    for name, fact in facts.facts.items():
        value = fact.value.isoformat() if isinstance(fact.value, date | datetime | time) else fact.value
        found[name] = _fact(name, value, fact.unit, fact.print or _format_of(fact.value), fact.source)
    return found


def _fact(name: str, value: int | float | str, unit: str = "", fmt: str = "", because: str = "") -> Reading:
    return Reading(name, value, unit, fmt, role="fact", because=because)


def _format_of(value: object) -> str:
    if isinstance(value, datetime):
        return "minute"
    return "date" if isinstance(value, date) else ""
