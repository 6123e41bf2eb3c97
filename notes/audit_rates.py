"""Rates: so many in so much time, and how many a second that is said to be, in sentences and in tables."""

import re

from campaign.notes.audit_amounts import in_common, kind_of
from campaign.notes.audit_grid import Grid, Series
from campaign.notes.audit_page import Page, Tested
from campaign.notes.audit_printed import Printed, coarse, follows, significant
from campaign.notes.audit_sentence import Prose, noun, symbol, whole
from campaign.notes.audit_ways import over
from campaign.notes.findings import Level

_IN = re.compile(r"\s*(?:in|over|within|took|takes?)\s(?:just\s|only\s)?", re.IGNORECASE)
_SAYS = re.compile(r"\s*(?:\(\s*|,\s(?:or|i\.e\.,?|that\sis,?|which\sis|so)\s|=\s*)", re.IGNORECASE)
_CLOSES = re.compile(r"\s*(?:[).;]|,\s|$)")
_A_SECOND = re.compile(
    r"\W*(?:\w+\s\()?(?P<what>[a-z]+)\s?(?:/\s?(?:s|sec|second)|(?:per|a)\ssecond)\)?\W*", re.IGNORECASE
)
_TIME_NAME = re.compile(
    r"\W*(?:(?:wall|total|elapsed|run)?\s?(?:time|duration|elapsed)\W*(?:\(?(?:s|secs?|seconds)\)?)?|secs?|seconds|s)\W*",
    re.IGNORECASE,
)
_SHORT = {"img": "ima", "ims": "ima", "msg": "mes", "itr": "ite", "op": "ope", "q": "que", "t": "tok"}
_LIMIT = 2.0
"""A rate that misses by more than this factor is of something else."""


def audit_rates(prose: Prose) -> None:
    """1,000 requests in 20 s (50 req/s)."""
    for at in range(len(prose.numbers) - 2):
        if not prose.firm(at, at + 1, at + 2) or not _IN.fullmatch(prose.gap(at, at + 1)):
            continue
        count, time, rate = prose.numbers[at : at + 3]
        if kind_of(time)[0] != "time" or not _SAYS.fullmatch(prose.gap(at + 1, at + 2)):
            continue
        if _CLOSES.match(prose.text, rate.noun_end) and _rate_of(symbol(count) or noun(count), rate.token.unit or ""):
            _hold(prose, at)


def _rate_of(counted: str, unit: str) -> bool:
    """Whether a unit is that of so many of what is counted in a second."""
    what, bar, second = unit.partition("/")
    return bool(bar) and second in ("s", "sec", "second") and _alike(what, counted)


def _alike(short: str, name: str) -> bool:
    """Whether a word is short for another, or the same: req and requests."""
    short, name = short.strip().lower(), name.strip().lower()
    if not short or not name:
        return False
    stem = _SHORT.get(short, short.removesuffix("s"))
    return len(stem) > 1 and any(word.startswith(stem) for word in name.split())


def _hold(prose: Prose, at: int) -> None:
    count, time, rate = (prose.known(one) for one in (at, at + 1, at + 2))
    times = in_common([prose.numbers[at + 1]], [time])
    seconds = time if time.token.kind == "duration" else time.times(kind_of(prose.numbers[at + 1])[1][0])
    if not times or seconds.value <= 0:
        return
    operands = [count, coarse(seconds, max(2, significant(time.token)))]
    verdict = follows(rate, over, operands)
    value = count.value / seconds.value
    if verdict is None or not value or not 1 / _LIMIT <= rate.value / value <= _LIMIT:
        return
    said = f"{count.token.text} in {time.token.text}"
    prose.tell("ratio", rate, (count, time), rate.alike(value) if verdict == "no" else "", said)


def audit_rate_columns(page: Page, grid: Grid, tested: Tested) -> None:
    """Columns such as "tok/s" beside one of tokens and one of seconds."""
    for series in grid.series:
        name = _A_SECOND.fullmatch(series.name)
        if not name or series.inside:
            continue
        others = [s for s in grid.series if s is not series and not s.inside and len(s.known) > 0]
        counts = [s for s in others if not s.unit and _alike(name["what"], s.name) and "/" not in s.name]
        times = [s for s in others if s.unit in ("", "s") and _TIME_NAME.fullmatch(s.name)]
        if len(counts) == len(times) == 1:
            _column(page, grid, series, counts[0], times[0], tested)


def _column(page: Page, grid: Grid, series: Series, counts: Series, times: Series, tested: Tested) -> None:
    found: list[tuple[Printed, Printed, Printed, bool]] = []
    for row, rate in enumerate(series.numbers):
        count, time = counts.numbers[row], times.numbers[row]
        if rate and count and time and not any(one.loose for one in (rate, count, time)) and time.value > 0:
            count = count.exact() if whole(count) else count
            verdict = follows(rate, over, (count, time))
            if verdict is not None:
                found.append((rate, count, time, verdict != "no"))
    fits = sum(one[3] for one in found)
    near = all(
        1 / _LIMIT <= rate.value * time.value / max(count.value, 1e-9) <= _LIMIT for rate, count, time, _ in found
    )
    if 2 * fits < len(found) and not (near and len(found) == 1):
        return
    level: Level = "error" if fits > 1 else "warning"
    for rate, count, time, fit in found:
        finding = None
        if not fit:
            also = [f"operand {page.place(one.token)}" for one in (count, time)]
            source = f"{counts.name!r} over {times.name!r}"
            finding = page.finding("ratio", rate.token, rate.alike(count.value / time.value), source, level, also)
        tested.add("ratio", [rate.token, count.token, time.token], finding)
