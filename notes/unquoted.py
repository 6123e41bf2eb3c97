"""Declarations that nothing uses: readings, constants and facts that no place, claim, plot, rule or reading names."""

import re
from collections.abc import Iterator
from functools import lru_cache

from campaign.analysis.errors import ReadingError
from campaign.analysis.expressions import parse
from campaign.analysis.readings import ASPECTS
from campaign.analysis.rule import texts_in
from campaign.engine.plan import LEVEL, Plan
from campaign.notes.corrections import read_corrections
from campaign.notes.findings import Finding
from campaign.notes.ledger import Ledger
from campaign.notes.paths import Part
from campaign.notes.sources import Sources
from campaign.notes.toml_places import line_of_id, line_of_table

_ID = re.compile(r"[A-Za-z_]\w*(?:\.(?:\w+|\*))*")
_QUOTED = re.compile(r"""(["'])((?:[A-Za-z_]\w*)(?:\.(?:\w+|\*))*\.?)\1""")
_BY_THEMSELVES = (LEVEL,)
"""What the program reads by its own name."""


def unquoted(part: Part, ledger: Ledger, sources: Sources) -> Iterator[Finding]:
    """A note for each declaration of the plan and of facts.toml that nothing uses, at its line.

    A family is one declaration: any of its members in use is enough. What the template asks for without printing it
    (`value`, `members`) counts as used, where the template lies there.
    """
    used = _used(part, ledger, sources)
    plan = part.plan.read_text(encoding="utf-8") if part.plan.is_file() else ""
    facts = part.facts.read_text(encoding="utf-8") if part.facts.is_file() else ""
    for name in sources.plan.constants:
        if name not in _BY_THEMSELVES and not _is_used(name, used):
            line = line_of_table(plan, "constants", name)
            yield _finding(part.show(part.plan), line, name, "constant", "plan")
    for said in sources.plan.reading:
        name, kind = str(said["id"]), said.get("kind")
        if kind != "verdict" and not any(_is_used(one, used) for one in (name, str(said.get("winner") or name))):
            yield _finding(part.show(part.plan), line_of_id(plan, name), name, "reading", "plan")
    for name in sources.facts.facts:
        if not _is_used(name, used):
            line = line_of_table(facts, "facts", name)
            yield _finding(part.show(part.facts), line, name, "fact", "facts")


def _finding(path: str, line: int, name: str, role: str, where: str) -> Finding:
    return Finding(
        "unquoted",
        path,
        line,
        1,
        f"{role} {name}",
        "something that uses it",
        "",
        f"quote it, or take it out of the {where}",
        level="note",
    )


def _used(part: Part, ledger: Ledger, sources: Sources) -> set[str]:
    """Every id and pattern that something names."""
    found: set[str] = set()
    for place in ledger.places:
        if place.kind == "claim":
            try:
                found.update(parse(place.source).ids)
            except ReadingError:
                continue
        else:
            found.add(place.source)
    for entry in read_corrections(part):
        found.update(one[1] for text in (entry.says, entry.because) for one in _QUOTED.findall(text))
    if part.template.is_file():
        found.update(one[1] for one in _QUOTED.findall(part.template.read_text("utf-8", errors="replace")))
    found.update(_in_plan(sources.plan))
    return found | {_stem(name) for name in found}


def _in_plan(plan: Plan) -> Iterator[str]:
    """The words of the plan that may be ids: those of its sections, and those of each declaration but its own id."""
    held = plan.model_dump(exclude={"reading", "constants", "about", "question", "arms"}, exclude_none=True)
    for text in texts_in(held):
        yield from _ID.findall(text)
    for said in plan.reading:
        own = str(said["id"])
        for key, value in said.items():
            if key in ("id", "unit", "print", "because", "kind", "winner"):
                continue
            for text in texts_in(value):
                yield from (word for word in _ID.findall(_filled(text)) if not _fits(word, own))


def _filled(text: str) -> str:
    """A text of a family's declaration, with a star for what stands in braces."""
    return re.sub(r"\{[^{}]*\}", "*", text)


def _stem(name: str) -> str:
    """The id without the aspect at its end."""
    base, _, aspect = name.rpartition(".")
    return base if base and aspect in ASPECTS else name


def _is_used(name: str, used: set[str]) -> bool:
    """Whether a declaration, or a member of its family, is among what is used."""
    return name in used or any(_fits(word, name) for word in used if "{" in name or "*" in word or word.endswith("."))


@lru_cache(maxsize=2**16)
def _fits(word: str, name: str) -> bool:
    """Whether a used id or pattern can mean the declaration `name`; what ends with a dot is the head of an id."""
    steps, said = _filled(name).split("."), word.split(".")
    if word.endswith("."):
        return len(said) - 1 <= len(steps) and all(map(_step, said[:-1], steps))
    while len(said) > len(steps) and (said[-1] in ASPECTS or steps[-1] == "*"):
        said = said[:-1]
    if said[-1] == "*" and len(said) < len(steps):
        return all(map(_step, said, steps))
    return len(said) == len(steps) and all(map(_step, said, steps))


def _step(one: str, other: str) -> bool:
    """Whether two parts of ids can be the same; a star, also within a part, stands for anything."""
    if "*" not in one and "*" not in other:
        return one == other
    first, second = (re.escape(text).replace(r"\*", r"[\w*]*") for text in (one, other))
    return re.fullmatch(first, other) is not None or re.fullmatch(second, one) is not None
