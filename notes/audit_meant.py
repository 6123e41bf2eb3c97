"""Numbers of a table against what their names say that they were computed from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from campaign.notes.audit_compared import compared
from campaign.notes.audit_grid import Grid, Series, in_base, own_unit
from campaign.notes.audit_option import Option
from campaign.notes.audit_part_of import part_of
from campaign.notes.audit_printed import Formula, Printed, follows
from campaign.notes.audit_ways import (
    DIFFERS,
    DIVIDES,
    change,
    difference,
    drop,
    fall,
    gain,
    is_counted,
    over,
    percent_back,
    percent_of,
    under,
)

_MOST_ROWS = 60
_LIMIT = 0.75
"""A number of unsaid operands that misses by more than this part of itself was computed from something else."""


@dataclass(frozen=True)
class Meant:
    """A number with what its name says it is computed from, and whether it follows."""

    one: Printed
    operands: Sequence[Printed]
    formula: Formula
    says: str
    code: str
    follows: bool
    sure: bool
    """Whether others of its series follow, so that this one, which does not, is wrong."""


def meant(grid: Grid, series: Series) -> list[Meant]:
    """Every number of a series that a name says how to compute; nothing where it is doubtful that it says so."""
    if len(series.numbers) > _MOST_ROWS:
        return []
    for options in (list(part_of(grid, series)), list(compared(grid, series))):
        found = [one for row in range(len(series.numbers)) if (one := _read(series, row, options))]
        if found:
            return _believed(found, options)
    return []


def _believed(found: list[tuple[Meant, float]], options: Sequence[Option]) -> list[Meant]:
    """The numbers, where enough of them follow or their names leave no doubt."""
    fits = sum(one.follows for one, _ in found)
    wrong = [(one, miss) for one, miss in found if not one.follows]
    named = all(option.named for option in options)
    if not wrong:
        return [one for one, _ in found]
    if 2 * fits < len(found) and not (named and (fits == 0 or len(found) < 4)):
        if fits or not options or len(found) < 2 or max(miss for _, miss in wrong) > _LIMIT:
            return []
        if not all(option.named or option.only for option in options):
            return []
    sure = (2 * fits >= len(found) > 0 and (named or fits > 1)) or (
        fits == 0 and all(option.plain for option in options)
    )
    return [replace(one, sure=sure) for one, _ in found]


def _read(series: Series, row: int, options: Sequence[Option]) -> tuple[Meant, float] | None:
    """A number against every option, and by what part of itself it misses the nearest."""
    one, _ = in_base(series, row)
    if not one or one.loose:
        return None
    nearest: tuple[float, Meant] | None = None
    for option in options:
        operands = option.operands(row)
        if not operands or any(operand.loose for operand in operands):
            continue
        for formula in _formulas(option, series, one, operands):
            verdict = _verdict(series, one, formula, operands)
            if verdict is None:
                continue
            value = formula(*(operand.value for operand in operands))
            result = Meant(one, operands, formula, option.says, option.code, verdict in ("", "cut"), False)
            if result.follows:
                return result, 0.0
            miss = abs(one.value - value) / max(abs(value), 1e-9)
            if not nearest or miss < nearest[0]:
                nearest = miss, result
    return (nearest[1], nearest[0]) if nearest else None


def _verdict(series: Series, one: Printed, formula: Formula, operands: Sequence[Printed]) -> str | None:
    """Whether it follows; a difference of whole things counted is exact."""
    if formula not in (difference, fall):
        return follows(one, formula, operands)
    if is_counted(one, operands) and not series.unit:
        return follows(one.exact(), formula, [operand.exact() for operand in operands])
    return follows(one, formula, [operand.fine() for operand in operands])


def _formulas(option: Option, series: Series, one: Printed, operands: Sequence[Printed]) -> Iterator[Formula]:
    if option.formulas:
        yield from option.formulas
        return
    unit = own_unit(one) or (series.unit if series.unit != "?" else "")
    if option.directed:
        yield change if unit == "%" else difference
        if unit == "%" and all(operand.token.unit == "%" for operand in operands):
            yield difference
    elif unit == "%":
        yield from (change, drop, gain, percent_of, percent_back)
        if all(operand.token.unit == "%" for operand in operands):
            yield from (difference, fall)
    elif unit == "×":
        yield from (over, under)
    else:
        divides = not unit and (option.divides or DIVIDES.search(series.name) is not None)
        if divides:
            yield from (over, under)
        if not divides or DIFFERS.search(series.name):
            yield from (difference, fall)
