"""waivers.toml: findings that a person lets stand for a time, each with a reason, an owner and the day of its end.

A waiver covers one finding. There is no count of waivers that may not grow after publication: a published text cannot
be edited, so a later version of the check that reads it otherwise could then not be answered at all. What keeps
waivers from piling up is that each ends, within a year, and that every run says how many are in force.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from campaign.engine.strict import Strict, Text, parse_strict, read_toml
from campaign.kernels.errors import nearest
from campaign.notes.dates import long_date
from campaign.notes.errors import UsageError
from campaign.notes.findings import CODES, Finding
from campaign.notes.paths import Part

FILE = "waivers.toml"
LONGEST_DAYS = 366
"""How many days after today a waiver may end at most."""
NEVER = ("kept", "rule", "since", "nothing", "stale", "waiver")
"""Codes that no waiver covers: kept text, seals, built files, a check of too little, and waivers themselves."""


class Waiver(Strict):
    """One [[waiver]]: which finding may stand, why, who answers for it, and until when."""

    code: Text
    """The finding's code, as `unbound`."""
    text: Text
    """What the finding says stands there, its `said`."""
    line: int | None = None
    """The finding's line, where several say the same."""
    place: str = ""
    """The finding's place as it was printed, whole or to its line or file: parts/part-5/post.md:41:17."""
    reason: Text
    owner: Text
    until: date
    """The last day on which it holds."""

    def fits(self, finding: Finding) -> bool:
        """Whether it is this finding that the waiver means; what only informs needs none."""
        spots = (finding.path, f"{finding.path}:{finding.line}", f"{finding.path}:{finding.line}:{finding.column}")
        return (
            finding.level != "note"
            and (finding.code, finding.said) == (self.code, self.text)
            and self.line in (None, finding.line)
            and (not self.place or self.place in spots)
        )


class _Waivers(Strict):
    """A whole waivers.toml."""

    waiver: list[Waiver] = []


@dataclass(frozen=True)
class Waived:
    """A finding that stands for now, and the waiver that lets it stand."""

    finding: Finding
    """As it was before it became a note."""
    waiver: Waiver


def read_waivers(part: Part, today: date) -> list[Waiver]:
    """The waivers of a part, none where it has no waivers.toml; an error names file, waiver and key."""
    path = part.folder / FILE
    if not path.is_file():
        return []
    shown = part.show(path)
    waivers: list[Waiver] = parse_strict(_Waivers, read_toml(path, shown), shown).waiver
    seen: dict[tuple[object, ...], int] = {}
    for index, waiver in enumerate(waivers):
        _refuse(f"{shown}: waiver[{index}]", waiver, today)
        key = (waiver.code, waiver.text, waiver.line, waiver.place)
        if key in seen:
            raise UsageError(
                f"{shown}: waiver[{index}]: waives what waiver[{seen[key]}] waives; expected each finding once. "
                "Take one of them out."
            )
        seen[key] = index
    return waivers


def _refuse(where: str, waiver: Waiver, today: date) -> None:
    """Raise UsageError for a waiver of a sort that is not allowed."""
    allowed = [code for code in CODES if code not in NEVER]
    if waiver.code in NEVER:
        raise UsageError(
            f"{where}.code: {waiver.code} ({CODES[waiver.code]}) cannot be waived; expected one of "
            f"{', '.join(allowed)}. Mend what it found."
        )
    if waiver.code not in CODES:
        raise UsageError(
            f"{where}.code: found {waiver.code!r}; expected one of {', '.join(allowed)}."
            f"{nearest(waiver.code, allowed)} Correct it."
        )
    for name in ("reason", "owner", "text"):
        if not getattr(waiver, name).strip():
            raise UsageError(f"{where}.{name}: found only spaces; expected words. Say it.")
    if waiver.line is not None and waiver.place:
        raise UsageError(f"{where}: has a line and a place; expected one of them. Take the line out.")
    if waiver.line is not None and waiver.line < 1:
        raise UsageError(f"{where}.line: found {waiver.line}; expected at least 1. Correct it.")
    latest = today + timedelta(days=LONGEST_DAYS)
    if waiver.until > latest:
        raise UsageError(
            f"{where}.until: found {waiver.until}, more than {LONGEST_DAYS} days from now; expected {latest} or "
            "earlier. Choose a nearer day, and decide again when it has come."
        )


def waived(part: Part, findings: Sequence[Finding], today: date) -> tuple[list[Finding], list[Waived]]:
    """The findings, those that waivers in force cover as notes, with what is wrong with the waivers; what is waived.

    A waiver that has ended covers nothing and is an error; so is one that fits findings in several places. One that
    fits nothing is a warning. Raises for a waivers.toml that cannot be read or waives what cannot be waived.
    """
    waivers = read_waivers(part, today)
    if not waivers:
        return list(findings), []
    in_force: dict[int, Waiver] = {}
    wrong: list[Finding] = []
    lines = list(_lines(part, len(waivers)))
    for waiver, line in zip(waivers, lines, strict=True):
        fitting = [index for index, finding in enumerate(findings) if waiver.fits(finding)]
        problem = _problem(part, waiver, line, [findings[index] for index in fitting], today)
        if problem:
            wrong.append(problem)
        else:
            in_force |= {index: waiver for index in fitting if index not in in_force}
    told = [_note(finding, in_force[i]) if i in in_force else finding for i, finding in enumerate(findings)]
    return [*told, *wrong], [Waived(findings[index], waiver) for index, waiver in sorted(in_force.items())]


def _problem(part: Part, waiver: Waiver, line: int, fitting: Sequence[Finding], today: date) -> Finding | None:
    """What is wrong with a waiver today, given the findings that it fits."""
    shown = part.show(part.folder / FILE)
    said = f"a waiver of {waiver.code} {waiver.text!r}"
    source = f"owner: {waiver.owner}; reason: {waiver.reason}"
    places = list(dict.fromkeys(one.place for one in fitting))
    if waiver.until < today:
        said += f", ended on {long_date(waiver.until)}"
        expected = "one that has not ended: from the day after its end it waives nothing"
        if not places:
            mend, also = f"take it out of {shown}: what it waived is gone", ()
        else:
            again = f"decide again with {waiver.owner} and write a new `until`"
            mend = f"mend {places[0]} and take the waiver out of {shown}, or {again}"
            also = (f"what it waived stands again: {', '.join(places)}: {CODES[waiver.code]}",)
        return Finding("waiver", shown, line, 1, said, expected, source, mend, also=also)
    if not fitting:
        mend = f"take it out of {shown}, or correct its code, text, line or place"
        return Finding(
            "waiver", shown, line, 1, said, "a finding that needs it: there is none", source, mend, level="warning"
        )
    if len(places) > 1:
        mend = f'say which one is meant: place = "{places[0]}"'
        return Finding(
            "waiver", shown, line, 1, said, f"one place; it fits {len(places)}", source, mend, also=tuple(places)
        )
    return None


def _note(finding: Finding, waiver: Waiver) -> Finding:
    said = f"waived until {long_date(waiver.until)} by {waiver.owner}: {waiver.reason}"
    return replace(finding, level="note", also=(*finding.also, said))


def waived_summary(found: Sequence[Waived]) -> str:
    """`2 waived (the first ends 2027-01-31)`; empty where nothing is waived."""
    if not found:
        return ""
    first = min(one.waiver.until for one in found)
    return f"{len(found)} waived ({'it' if len(found) == 1 else 'the first'} ends {first.isoformat()})"


_TABLE = re.compile(r"[ \t]*\[\[[ \t]*waiver[ \t]*\]\]")


def _lines(part: Part, count: int) -> Iterator[int]:
    """The line on which each waiver begins; 1 for all where they are not written as [[waiver]]."""
    text = (part.folder / FILE).read_bytes().decode("utf-8-sig")
    found = [number for number, line in enumerate(text.split("\n"), 1) if _TABLE.match(line)]
    yield from found if len(found) == count else [1] * count
