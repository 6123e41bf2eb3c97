"""Derived numbers against what a reader gets from the printed ones that they were computed from.

A reader has only what is printed. Where a printed number was computed from others that the same post prints, each at
its own precision, the reader's arithmetic should give it; where it gives another last digit, that is told calmly.
"""

import re
from collections.abc import Iterator, Mapping

from campaign.analysis.expressions import Expression, parse
from campaign.analysis.formulas import expression_of
from campaign.analysis.readings import Reading, Readings
from campaign.analysis.rounding import MINUS, UNROUNDED, Printed, audit, rule_that_fits
from campaign.analysis.worlds import named
from campaign.notes.findings import Finding
from campaign.notes.ledger import Ledger
from campaign.notes.paths import Part
from campaign.notes.post import Post
from campaign.notes.printed_places import PrintedPlace, by_source, printed_number, printed_places
from campaign.notes.quote import COMMA
from campaign.notes.sources import Sources
from campaign.notes.waivers import FILE

_TWO_MEANS = re.compile(r"row mean of (?P<top>.+?) − row mean of (?P<bottom>.+?), (?P<column>.+?); pooled t over rows")
_SAVED_SHARE = re.compile(
    r"100 × \(1 − row mean of (?P<top>.+?) / row mean of (?P<bottom>.+?)\), (?P<column>.+?); Fieller"
)


def derived(part: Part, post: Post, ledger: Ledger, sources: Sources) -> Iterator[Finding]:
    """A warning for each number in the post that a reader computes otherwise from the printed numbers behind it.

    A number that is printed several times in one way is told once, with the other places beside it.
    """
    places = by_source(printed_places(post, ledger))
    readings = sources.readings
    known = {name: said for name in places if (said := _readable(places[name], readings)) is not None}
    for name, here in places.items():
        if name not in readings or readings[name].role != "reading":
            continue
        expression = _expression(readings[name], readings)
        if expression is None:
            continue
        operands = _operands(expression, readings, known)
        if operands is None:
            continue
        yield from _differences(part, readings[name], expression, operands, here, readings.decimal)


def _differences(
    part: Part,
    reading: Reading,
    expression: Expression,
    operands: Mapping[str, tuple[Printed, PrintedPlace]],
    here: list[PrintedPlace],
    decimal: str,
) -> Iterator[Finding]:
    """The ways in which one reading is printed that its printed operands do not give."""
    printed_operands = {name: printed for name, (printed, _) in operands.items()}
    for text in dict.fromkeys(one.text for one in here):
        printed = printed_number(text, reading, decimal)
        if printed is None:
            continue
        found = audit(reading.id, expression, printed, printed_operands)
        if found.verdict not in ("differs by rounding", "cannot follow"):
            continue
        alike = [one for one in here if one.text == text]
        rule = rule_that_fits(printed, expression, printed_operands)
        also = [f"from {name} = {one.text} at {one.where}" for name, (_, one) in operands.items()]
        also.append(_told(rule, found.verdict, printed, reading, decimal))
        if len(alike) > 1:
            also.append(f"printed so too at {', '.join(one.where for one in alike[1:])}")
        yield Finding(
            "derived",
            part.show(part.post),
            alike[0].line,
            alike[0].column,
            text,
            _in_prose(found.from_printed, decimal),
            f"{reading.id} = {expression.text}",
            _mend(part, text, found.verdict),
            level="warning",
            length=len(text),
            also=tuple(also),
        )


def _mend(part: Part, text: str, verdict: str) -> str:
    """What is done about a number that its operands do not give: another digit, or a waiver that says why it stands."""
    waiver = (
        f'waive it in {part.show(part.folder / FILE)}: a [[waiver]] with code = "derived", text = "{text}", and its '
        "reason, owner and until"
    )
    if verdict == "cannot follow":
        return f"correct the one that is wrong; where all are right, say what it was computed from, and {waiver}"
    return f"print it, or what it is computed from, with another digit; where the rounding is meant, {waiver}"


def _in_prose(said: str, decimal: str) -> str:
    """A number with the decimal mark of the campaign's prose."""
    return said.translate(COMMA) if decimal == "," else said


def _told(rule: str, verdict: str, printed: Printed, reading: Reading, decimal: str) -> str:
    """How the printed number came about, as far as its operands tell."""
    if verdict == "cannot follow":
        return "no rounding of the printed numbers gives it: they were not computed from one another"
    exact = Printed.read(f"{reading.value:.12f}") if isinstance(reading.value, int | float) else None
    unrounded = exact is not None and printed.alike(exact.value) == printed.alike(printed.value)
    value = _in_prose(f"{reading.value:.6g}".replace("-", MINUS), decimal)
    shown = _in_prose(printed.text, decimal)
    said = f"the unrounded values give {value}, which is printed as {shown}" if unrounded else ""
    by_rule = f"of the printed numbers {rule} would give it" if rule != UNROUNDED else ""
    return "; ".join(filter(None, (said, by_rule))) or "no rule of rounding fits the printed numbers"


def _expression(reading: Reading, readings: Readings) -> Expression | None:
    """How a number was computed from other readings; None where it was not."""
    if not isinstance(reading.value, int | float):
        return None
    found = expression_of(reading, readings)
    if found is not None:
        return found
    means = _TWO_MEANS.fullmatch(reading.formula) or _SAVED_SHARE.fullmatch(reading.formula)
    if not means:
        return None
    top, bottom = (_mean_of(means[side], means["column"], readings) for side in ("top", "bottom"))
    if not top or not bottom:
        return None
    return parse(f"100 * (1 - {top} / {bottom})" if means.re is _SAVED_SHARE else f"{top} - {bottom}")


def _mean_of(arm: str, column: str, readings: Readings) -> str:
    """The id of the reading that is an arm's mean of `column` over its rows; empty where there is none."""
    family = f"mean of {column} in row_values, for each arm"
    alone = [f"mean of {column} in row_values where arm == {quote}{arm}{quote}" for quote in "'\""]
    for name, reading in readings.items():
        if reading.formula in alone or (reading.formula == family and arm in name.split(".")):
            return name
    return ""


def _operands(
    expression: Expression, readings: Readings, known: Mapping[str, tuple[Printed, PrintedPlace]]
) -> dict[str, tuple[Printed, PrintedPlace]] | None:
    """What is printed for each operand; None where one is not printed in this post."""
    names = named(expression, readings)
    if not names or not all(name in known for name in names):
        return None
    return {name: known[name] for name in names}


def _readable(places: list[PrintedPlace], readings: Readings) -> tuple[Printed, PrintedPlace] | None:
    """What a reader takes a reading to be: the most precise number that is printed for it."""
    name = places[0].place.source
    reading = readings.get(name)
    if reading is None:
        return None
    said = [
        (printed, one) for one in places if (printed := printed_number(one.text, reading, readings.decimal)) is not None
    ]
    return min(said, key=lambda one: one[0].half) if said else None
