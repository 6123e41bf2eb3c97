"""Two series that a third one compares: those that it names, before and after, or one row against the others."""

import re
from collections.abc import Callable, Iterator, Sequence

from campaign.notes.audit_grid import Grid, Series, in_base
from campaign.notes.audit_option import Operands, Option, plain
from campaign.notes.audit_printed import Printed
from campaign.notes.audit_ways import (
    AFTER,
    BEFORE,
    DIFFERS,
    DIVIDES,
    RATIO,
    counts,
    over,
    percent_back,
    percent_of,
    references,
    says_direction,
    signed,
    under,
)

_PLAIN = re.compile(
    r"\W*(?:(?:speed-?\s?up|ratio|changes?|diff(?:erence)?|delta|[Δδ∆]|reduction|improvement|faster|slower|slowdown)"
    r"\W*(?:[(\[][^()\[\]]{0,12}[)\]])?\W*|[Δδ∆]\s*\W*%?\W*)",
    re.IGNORECASE,
)
"""A name that says nothing else but that two series are compared."""
_DIFF = re.compile(r"\W*(?:diff(?:erence)?|delta|changes?|[Δδ∆])\W*", re.IGNORECASE)
_KEY = re.compile(
    r"\W*(?:#|n|no\.?|id|i|k|day|year|month|week|step|run|round|epoch|level|rank|size|batch|index)?\W*", re.IGNORECASE
)
"""The name of a column of numbers that are labels."""
_SAVED = re.compile(
    r"\W*(?:savings?|saved|you save|increase|decrease|drop|gain|growth|difference in \w+|net|overhead)\W*",
    re.IGNORECASE,
)
"""A name that may say so, or compare with something else."""
_SPEED = re.compile(r"\b(?:speed-?\s?ups?|faster|slower|slowdown)\b", re.IGNORECASE)
_NO_SPEED = re.compile(
    r"\b(?:memory|mem|ram|vram|size|disk|cost|price|accuracy|params?|files|lines|loc)\b", re.IGNORECASE
)
_SIZE = re.compile(r"[kKMGTP]?i?[Bb]")
_QUANTITY = re.compile(
    r"\b(?:time|latency|memory|mem|ram|vram|size|throughput|speed|cost|price|accuracy|tokens|requests|energy|power)\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*(?:/|÷|\bvs\.?|\bversus\b|\bover\b|→|->|\bto\b)\s*")


def compared(grid: Grid, series: Series) -> Iterator[Option]:
    """The pairs of series that a series compares: those that its name names, before and after, or the only two."""
    if not (RATIO.search(series.name) or DIFFERS.search(series.name) or "/" in series.name or series.inside):
        return
    values = [s for s in grid.series if not s.inside and s.unit != "×" and s is not series and s.home != series.home]
    values = [s for s in values if not _PLAIN.fullmatch(s.name) and s.known]
    pairs = list(_said_pairs(series, values))
    named = said = bool(pairs)
    if not pairs:
        pairs = list(_before_after(values))
        named = bool(pairs) and not series.inside
    if not pairs and (_PLAIN.fullmatch(series.name) or _SAVED.fullmatch(series.name)):
        before = [s for s in values if s.home < series.home and (s.home > 0 or s.unit) and not signed(s)]
        if _bare(grid, series, values):
            pairs, named = [(values[0], values[1])], True
        elif len(before) == 2 and before[0].unit == before[1].unit:
            pairs = [(before[0], before[1])]
    quantity = {word.lower() for word in _QUANTITY.findall(series.name)}
    if not pairs and (series.unit in ("×", "%") or (not series.unit and DIVIDES.search(series.name))):
        yield from _against_one(grid, series, values)
    for a, b in pairs:
        words = {word.lower() for word in _QUANTITY.findall(f"{a.name} {b.name}")}
        if (quantity and words and not quantity & words) or (_SPEED.search(series.name) and _no_speed(a, b)):
            continue
        only = a.unit and len(pairs) == 1 and _PLAIN.fullmatch(series.name)
        yield Option(
            f"{a.name!r} and {b.name!r}",
            _two(a, b),
            (),
            divides=said,
            named=named and len(pairs) == 1,
            only=bool(only),
            directed=says_direction(series, a, b),
            plain=named and len(pairs) == 1 and (said or _PLAIN.fullmatch(series.name) is not None),
        )


def _bare(grid: Grid, series: Series, values: Sequence[Series]) -> bool:
    """Whether a table holds nothing but two columns of counts and their difference, with no column of labels."""
    alone = len(values) == 2 and [s.home for s in (*values, series)] == [0, 1, 2] and len(grid.series) == 3
    return (
        alone and all(counts(s) and not _KEY.fullmatch(s.name) for s in values) and bool(_DIFF.fullmatch(series.name))
    )


def _against_one(grid: Grid, series: Series, values: Sequence[Series]) -> Iterator[Option]:
    """The only other series against one row of it, whose ratio is 1."""
    values = [s for s in values if s.unit not in ("?", "%") and (s.home > 0 or s.unit)]
    operands = references(grid, series, values[0]) if len(values) == 1 else None
    marked = [one for one in series.known if one.value == (100 if series.unit == "%" else 1)]
    if operands and len(marked) == 1 and not signed(series):
        formulas = (percent_of, percent_back) if series.unit == "%" else (over, under)
        says = f"{values[0].name!r} against its row of reference"
        yield Option(says, _both(operands), formulas, named=False, only=True)


def _both(operands: Callable[[int], Sequence[Printed | None]]) -> Operands:
    def known(row: int) -> Sequence[Printed] | None:
        found = [one for one in operands(row) if one]
        return found if len(found) == 2 else None

    return known


def _no_speed(a: Series, b: Series) -> bool:
    return any(_NO_SPEED.search(s.name) or _SIZE.fullmatch(s.unit) for s in (a, b))


def _said_pairs(series: Series, values: Sequence[Series]) -> Iterator[tuple[Series, Series]]:
    """The two series whose names stand in the name of a third."""
    sides = [plain(side) for side in _BETWEEN.split(plain(series.name))]
    if len(sides) == 2 and all(sides):
        found = [[s for s in values if plain(s.name) == side] for side in sides]
        if all(len(one) == 1 for one in found) and found[0][0].unit == found[1][0].unit:
            yield found[0][0], found[1][0]


def _before_after(values: Sequence[Series]) -> Iterator[tuple[Series, Series]]:
    """Each series of before with the one of after that is named alike otherwise."""
    before = [s for s in values if BEFORE.search(s.name) and not AFTER.search(s.name)]
    after = [s for s in values if AFTER.search(s.name) and not BEFORE.search(s.name)]
    for a in before:
        alike = [b for b in after if b.unit == a.unit or "?" in (a.unit, b.unit)]
        if len(alike) > 1:
            alike = [b for b in alike if AFTER.sub("", b.name).strip() == BEFORE.sub("", a.name).strip()]
        if len(alike) == 1:
            yield a, alike[0]


def _two(a: Series, b: Series) -> Operands:
    counted = counts(a) and counts(b)

    def operands(row: int) -> Sequence[Printed] | None:
        (one, unit), (other, same) = in_base(a, row), in_base(b, row)
        if not one or not other or unit != same:
            return None
        return (one.fine(), other.fine()) if counted else (one, other)

    return operands
