"""What a column of percentages is the part of: counts of all, good and bad, or the total of a column."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from campaign.notes.audit_grid import Grid, Series
from campaign.notes.audit_option import Operands, Option, plain
from campaign.notes.audit_printed import Formula, Printed
from campaign.notes.audit_sum import NOT_ADDED
from campaign.notes.audit_ways import SHARE, left, over, percent_of, rest, signed, whole_of

_RATE = re.compile(
    r"\W*(?:(?:pass(?:ed|ing)?|success|solved?|solve|win|hit|error|failure|fail(?:ed)?|completion|done|completed?|resolved|"
    r"correct|detection|miss|acceptance|accept)?\s?(?:rate|ratio|share|%|percent(?:age)?|pct|progress)"
    r"|accuracy|acc\.?|pass|passed|success|solved|share|done|complete|resolved|win)\s?[(\[]?%?[)\]]?\W*",
    re.IGNORECASE,
)
_ACCURACY = re.compile(r"\bacc", re.IGNORECASE)
_ACCURATE = re.compile(r"\b(?:acc|correct|right|solved|score|result|hits)", re.IGNORECASE)
_ANY_RATE = re.compile(r"\W*[a-z]+\s(?:rate|ratio|%|share)\W*", re.IGNORECASE)
_GOOD = (
    r"pass(?:ed|es|ing)?|correct|solved|success(?:ful|es)?|wins?|won|completed?|done|resolved|accepted|hits?|detected"
    r"|found|successes|ok"
)
_BAD = r"fail(?:ed|s|ures?|ing)?|flagged|errors?|miss(?:ed|es)?|wrong|incorrect|lost|losses|rejected|broken"
_SIDE = r"\W*(?:tests?\s|cases\s|tasks\s)?(?:{})(?:\s(?:tests?|cases|tasks|runs))?\W*"
_PART_NAME = re.compile(_SIDE.format(f"{_GOOD}|{_BAD}"), re.IGNORECASE)
_GOOD_NAME = re.compile(_SIDE.format(_GOOD), re.IGNORECASE)
_BAD_NAME = re.compile(_SIDE.format(_BAD), re.IGNORECASE)
_SKIPPED = re.compile(r"\W*(?:skip(?:ped|s)?|xfail(?:ed)?|pending|ignored|timeouts?|draws?|ties?)\W*", re.IGNORECASE)
_WHOLE_NAME = re.compile(
    r"\W*(?:totals?|all|n|#|count|tests?|cases|samples|attempts|runs|tasks|questions|problems|games|played|trials|of"
    r"|out of|(?:total|#|number of|no\. of)\s\w+)\W*",
    re.IGNORECASE,
)
_WHOLE_SHARE = re.compile(
    r"\W*(?:(?:shares?|proportion|portion|fraction|percent(?:age)?|pct\.?|%)"
    r"(?:\s?(?:of (?:the )?(?:total|all|whole)|\(%\)|%))?|% total)\W*",
    re.IGNORECASE,
)


def part_of(grid: Grid, series: Series) -> Iterator[Option]:
    """What a column of percentages, or of parts of 1, may be the share of."""
    percent = series.unit == "%"
    if signed(series) or not (percent or _parts_of_one(series)):
        return
    formulas = (percent_of, rest) if percent else (over, left)
    counts = [s for s in grid.series if not s.inside and s.unit == "" and s.known and all(one.whole for one in s.known)]
    counts = [s for s in counts if s is not series]
    rate = not series.inside and (_RATE.fullmatch(series.name) or _ANY_RATE.fullmatch(series.name))
    if rate:
        known = _RATE.fullmatch(series.name) is not None
        for counted in grid.counted if known else ():
            says = f"counts in {counted.name!r}"
            only = len(grid.counted) == 1 and not (_ACCURACY.search(series.name) and not _ACCURATE.search(counted.name))
            yield Option(says, _counted(counted.counts, counted.wholes), formulas, "share", named=only, plain=only)
        yield from _parts(series, counts, known, formulas)
    if _WHOLE_SHARE.fullmatch(series.name) or SHARE.search(series.name) or series.inside:
        added = [s for s in grid.series if not s.inside and s.unit not in ("%", "×", "?") and s is not series]
        added = [s for s in added if not NOT_ADDED.search(s.name) and (s.home > 0 or series.inside)]
        if series.inside:
            added = [s for s in added if s.home == series.home]
        whole = _whole(grid, added[0]) if len(added) == 1 and not _PART_NAME.fullmatch(series.name) else None
        if whole and not _other_whole(series, added[0], grid):
            says = f"share of {added[0].name!r} in its total"
            named = not series.inside and bool(_WHOLE_SHARE.fullmatch(series.name))
            yield Option(says, _of_one(added[0], whole, grid), formulas[:1], "share", named=named)


def _parts_of_one(series: Series) -> bool:
    """Whether its numbers are decimals from 0 to 1."""
    return not series.unit and all(0 <= one.value <= 1 and "." in one.token.text for one in series.known)


def _parts(series: Series, counts: Sequence[Series], known: bool, formulas: tuple[Formula, ...]) -> Iterator[Option]:
    """Good and bad of all, or of both together; where the kind of rate is not known, what is called like it."""
    stem = plain(series.name).split(" ")[0].removesuffix("s")
    parts = [
        s
        for s in counts
        if (known and _PART_NAME.fullmatch(plain(s.name)))
        or (len(stem) > 3 and plain(s.name) in (stem, f"{stem}s", f"{stem}ed"))
    ]
    wholes = [s for s in counts if _WHOLE_NAME.fullmatch(plain(s.name)) and s not in parts]
    bad = re.search(r"\b(?:error|fail|miss)", series.name, re.IGNORECASE) is not None
    if len(wholes) == 1:
        parts.sort(key=lambda s: bool(_BAD_NAME.fullmatch(plain(s.name))) != bad)
        for part in parts:
            says = f"{part.name!r} of {wholes[0].name!r}"
            yield Option(says, _counted(part.numbers, wholes[0].numbers), formulas, "share", plain=True)
        if parts:
            skipped = [s for s in counts if _SKIPPED.fullmatch(s.name)]
            for part in parts if skipped else ():
                less = _without(wholes[0].numbers, [s.numbers for s in skipped])
                yield Option(
                    f"{part.name!r} of those not skipped", _counted(part.numbers, less), formulas, "share", plain=True
                )
    elif not wholes:
        good = [s for s in parts if _GOOD_NAME.fullmatch(plain(s.name))]
        wrong = [s for s in parts if _BAD_NAME.fullmatch(plain(s.name))]
        others = [s for s in counts if _SKIPPED.fullmatch(s.name)]
        if len(good) == len(wrong) == 1:
            first, second = (wrong, good) if bad else (good, wrong)
            for more in ([], others) if others else ([],):
                both = _together([s.numbers for s in (*first, *second, *more)])
                says = f"{first[0].name!r} of all"
                yield Option(says, _counted(first[0].numbers, both), formulas, "share", plain=True)
        elif len(parts) == 1:
            rest_of = [s for s in counts if s not in (*parts, *others) and s.home > 0 and not NOT_ADDED.search(s.name)]
            for whole in rest_of if len(rest_of) == 1 else ():
                says = f"{parts[0].name!r} of {whole.name!r}"
                yield Option(says, _counted(parts[0].numbers, whole.numbers), formulas, "share", named=False)


_Numbers = Sequence[Printed | None]


def _counted(counts: _Numbers, wholes: _Numbers) -> Operands:
    def operands(row: int) -> Sequence[Printed] | None:
        count, whole = counts[row], wholes[row]
        if not count or not whole or not 0 <= count.value <= whole.value:
            return None
        return count.exact(), whole.exact()

    return operands


def _together(parts: Sequence[_Numbers]) -> list[Printed | None]:
    return [_made(row, [one for one in row if one]) for row in zip(*parts, strict=True)]


def _made(row: Sequence[Printed | None], known: Sequence[Printed]) -> Printed | None:
    """The sum of some counts as one that is printed nowhere."""
    if not row[0] or not row[1]:
        return None
    value = sum(one.value for one in known)
    return replace(known[0], value=value, step=0.0, label=f"{value:.12g} together")


def _without(wholes: _Numbers, others: Sequence[_Numbers]) -> list[Printed | None]:
    found: list[Printed | None] = []
    for row, whole in enumerate(wholes):
        left = whole and whole.value - sum(one.value for numbers in others if (one := numbers[row]))
        found.append(replace(whole, value=left, step=0.0, label=f"{left:.12g} left") if whole and left else None)
    return found


def _whole(grid: Grid, added: Series) -> Printed | None:
    if len(grid.totals) > 1 or grid.cut or added.gaps or (grid.asides and not grid.totals):
        return None
    return whole_of(grid, added)


def _of_one(added: Series, whole: Printed, grid: Grid) -> Operands:
    def operands(row: int) -> Sequence[Printed] | None:
        one = added.numbers[row]
        return (one, whole) if one and row not in grid.totals else None

    return operands


def _other_whole(series: Series, added: Series, grid: Grid) -> bool:
    """Whether all are shares of one whole that is not the sum of what is shown."""
    low, high, known = 0.0, float("inf"), 0
    hundred = 100 if series.unit == "%" else 1
    for row, (share, one) in enumerate(zip(series.numbers, added.numbers, strict=True)):
        if share and one and row not in grid.totals and share.value > 0 < one.value:
            least, most = min(share.rounded[0], share.cut[0]), max(share.rounded[1], share.cut[1])
            low = max(low, hundred * one.rounded[0] / most)
            high = min(high, hundred * one.rounded[1] / least if least > 0 else high)
            known += 1
    return known > 1 and low <= high
