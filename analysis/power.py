"""What a plan can decide: the chance of each verdict, and the rows that it takes.

A lower end is that of the pooled two-sample t interval (`intervals.difference`) at `level` percent; n1 are the rows to
come, n2 those of the yardstick; `sd` is the standard deviation of a row. Chances come from the noncentral t
distribution; only `verdict_probabilities` simulates, with a seed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, isfinite, sqrt
from typing import Literal

import numpy as np
import scipy

from campaign.analysis.intervals import Estimate

MOST_ROWS = 1000
"""Rows up to which a number of rows is looked for."""
DRAWS = 20_000
"""Campaigns that are simulated."""
NEVER = "never with this yardstick"
"""What is said where no number of rows would do."""


def t_test_power(
    d: float, n1: int, n2: int, alpha: float = 0.05, alternative: Literal["two", "greater", "less"] = "two"
) -> Estimate:
    """Chance that the pooled two-sample t test rejects at `alpha` where the true difference is `d` standard deviations.

    Unresolved with fewer than three rows together. R18; R: pwr::pwr.t2n.test.
    """
    reason = _lacking_df(n1, n2)
    if reason:
        return Estimate(None, n=n1 + n2, reason=reason)
    df, away = n1 + n2 - 2, d / sqrt(1 / n1 + 1 / n2)
    if alternative not in ("two", "greater", "less"):
        raise ValueError(f"alternative {alternative!r}; expected two, greater or less.")
    t = float(scipy.stats.t.isf(alpha / 2 if alternative == "two" else alpha, df))
    greater = 0.0 if alternative == "less" else _above(t, df, away)
    less = 0.0 if alternative == "greater" else _above(t, df, -away)
    return Estimate(greater + less, n=n1 + n2)


def carries_probability(delta: float, bar: float, sd: float | None, n1: int, n2: int, level: float) -> Estimate:
    """Chance that the lower end reaches `bar` where the true saving is `delta`, in one unit with `sd`.

    1 − F_nct(t; ν, (δ − bar)/(σ√(1/n1 + 1/n2))). Refused with the reason where σ is 0 or not known, or fewer than
    three rows leave no variance. R18.
    """
    reason = _lacking_sd(sd) or _lacking_df(n1, n2)
    if reason:
        return Estimate(None, n=n1 + n2, reason=reason)
    return Estimate(_reaches(delta - bar, sd, n1, n2, level), n=n1 + n2)


@dataclass(frozen=True)
class BandProbabilities:
    """Chance of each band of the lower end."""

    chances: tuple[float, ...] = ()
    """At or above the first threshold, between it and the next, ..., below the last; empty with a reason."""
    reason: str = ""


def band_probabilities(
    delta: float, thresholds: Sequence[float], sd: float | None, n1: int, n2: int, level: float
) -> BandProbabilities:
    """Chance that the lower end falls into each band where the true saving is `delta`; they add up to 1.

    `thresholds` descend: the bar, then 0. Refused as `carries_probability` is. R18, D4.
    """
    if any(above <= below for above, below in pairwise(thresholds)):
        raise ValueError(f"thresholds {list(thresholds)}; expected each below the one before it.")
    reason = _lacking_sd(sd) or _lacking_df(n1, n2)
    if reason:
        return BandProbabilities(reason=reason)
    reached = [0.0, *(_reaches(delta - threshold, sd, n1, n2, level) for threshold in thresholds), 1.0]
    return BandProbabilities(tuple(float(chance) for chance in np.maximum(0, np.diff(reached))))


@dataclass(frozen=True)
class RowsNeeded:
    """How many rows a plan needs."""

    rows: int | None
    """Smallest number that is enough; None with a reason."""
    reached: float | None = None
    """Chance, or half width, that so many rows have."""
    reason: str = ""
    """`NEVER`, more than were looked for, or what is not known."""


def rows_needed(
    power: float, delta: float, bar: float, sd: float | None, n2: int, level: float, most: int = MOST_ROWS
) -> RowsNeeded:
    """Smallest n1 with which the chance to carry is at least `power` where the true saving is `delta`.

    First the floor test: however many rows come, the yardstick leaves σ/√n2, and where that is too much the answer is
    "never with this yardstick". Refused where σ is 0 or not known. R18.
    """
    if not 0 < power < 1:
        raise ValueError(f"power {power}; expected a chance between 0 and 1.")
    reason = _lacking_sd(sd) or _lacking_yardstick(n2)
    if reason:
        return RowsNeeded(None, reason=reason)
    at_the_floor = scipy.stats.norm.cdf((delta - bar) * sqrt(n2) / sd - scipy.stats.norm.ppf(0.5 + level / 200))
    if delta <= bar or at_the_floor <= power:
        return RowsNeeded(None, reason=NEVER)
    return _fewest(lambda n1: _reaches(delta - bar, sd, n1, n2, level), lambda chance: chance >= power, n2, most)


def rows_needed_in_each(
    power: float, delta: float, bar: float, sd: float | None, level: float, most: int = MOST_ROWS
) -> RowsNeeded:
    """Smallest number of rows in each arm with which the chance to carry is at least `power` at a true saving `delta`.

    For two arms that both still run; refused where σ is 0 or not known, never enough where `delta` is not above `bar`.
    R18.
    """
    if not 0 < power < 1:
        raise ValueError(f"power {power}; expected a chance between 0 and 1.")
    reason = _lacking_sd(sd)
    if reason or delta <= bar:
        return RowsNeeded(None, reason=reason or "never: the true saving is not above the bar")
    return _fewest(lambda n: _reaches(delta - bar, sd, n, n, level), lambda chance: chance >= power, 0, most)


def rows_for_half_width(
    half_width: float, sd: float | None, n2: int, level: float, most: int = MOST_ROWS
) -> RowsNeeded:
    """Smallest n1 with which the interval's half width, t·σ√(1/n1 + 1/n2), is at most `half_width`.

    Where z·σ/√n2 is not below it, "never with this yardstick". Refused where σ is 0 or not known. R18.
    """
    if not half_width > 0:
        raise ValueError(f"half width {half_width}; expected one above zero.")
    reason = _lacking_sd(sd) or _lacking_yardstick(n2)
    if reason:
        return RowsNeeded(None, reason=reason)
    tail = 0.5 + level / 200
    if scipy.stats.norm.ppf(tail) * sd / sqrt(n2) >= half_width:
        return RowsNeeded(None, reason=NEVER)

    def half(n1: int) -> float:
        return float(scipy.stats.t.ppf(tail, n1 + n2 - 2)) * sd * sqrt(1 / n1 + 1 / n2)

    return _fewest(half, lambda reached: reached <= half_width, n2, most)


def least_detectable(power: float, bar: float, sd: float | None, n1: int, n2: int, level: float) -> Estimate:
    """Smallest true saving that carries with a chance of `power`, in the unit of `sd`; found to 1e-10 of σ.

    Refused as `carries_probability` is. R18.
    """
    tail = 0.5 - level / 200
    if not tail < power < 1:
        raise ValueError(f"power {power}; expected a chance between {tail:g}, which a saving at the bar has, and 1.")
    reason = _lacking_sd(sd) or _lacking_df(n1, n2)
    if reason:
        return Estimate(None, n=n1 + n2, reason=reason)
    df = n1 + n2 - 2
    t = float(scipy.stats.t.isf(tail, df))
    most = 1.0
    while _above(t, df, most) < power:
        most *= 2
    away = scipy.optimize.brentq(lambda nc: _above(t, df, nc) - power, 0, most, xtol=1e-10)
    return Estimate(bar + away * sd * sqrt(1 / n1 + 1 / n2), n=n1 + n2)


@dataclass(frozen=True)
class FloorTest:
    """Whether a yardstick can tell an implied difference at all."""

    resolvable: bool | None
    """None with a reason."""
    floor: float | None = None
    """z·σ/√n_ref, the half width that no number of new rows gets below, in the unit of σ."""
    rows: int | None = None
    """New rows from which z·σ√(1/n + 1/n_ref) is below what is implied; None where never."""
    reason: str = ""


def floor_test(sd: float | None, n_ref: int, implied: float, level: float) -> FloorTest:
    """Whether z·σ/√n_ref is below the implied difference (its size, either sign), and the new rows that this takes.

    With z, not t: it says what can never be resolved; whether so many rows do, `rows_for_half_width` says. Refused
    where σ is 0 or not known. R14.
    """
    reason = _lacking_sd(sd) or ("" if n_ref >= 1 else "the yardstick has no rows")
    reason = reason or ("" if isfinite(implied) else "no difference is implied")
    if reason:
        return FloorTest(None, reason=reason)
    spread = float(scipy.stats.norm.ppf(0.5 + level / 200)) * sd
    floor = spread / sqrt(n_ref)
    if floor >= abs(implied):
        return FloorTest(False, floor, reason=NEVER)
    rows = max(1, ceil(1 / ((implied / spread) ** 2 - 1 / n_ref)))
    if spread * sqrt(1 / rows + 1 / n_ref) >= abs(implied):  # at it is not below it
        rows += 1
    return FloorTest(True, floor, rows)


@dataclass(frozen=True)
class Campaign:
    """Rows that are to come, and the rule that reads them."""

    sd: float | None
    """Standard deviation of a row, in the unit of the saving."""
    n_on: int
    """Rows with the change."""
    n_ref: int
    """Rows that they are compared with, as a yardstick's."""
    level: float
    """Of the interval, percent."""
    bands: tuple[tuple[str, float | None, bool], ...]
    """Each verdict, the bound from which the lower end has it, and whether the bound itself does; the first counts."""
    negative: tuple[str, ...] = ("rolled back",)
    """Verdicts that no guard hides."""
    precedence: tuple[str, ...] = ("held", "confounded")
    """Which guard's word comes first."""
    n_day: int = 0
    """Baseline rows of the same day."""
    drift_limit: float | None = None
    """How far their mean may lie from the yardstick's; None where no guard asks."""
    task_runs: int = 0
    """Agentic runs with the change, of which none may fail; 0 where no guard asks."""
    failure: float = 0.0
    """Chance that one of them fails."""


@dataclass(frozen=True)
class VerdictProbabilities:
    """Chance of each verdict, simulated."""

    chances: Mapping[str, float]
    """By verdict: those of the bands, of the guards, and "unresolved"; empty with a reason."""
    draws: int = 0
    """Campaigns simulated; the standard error of a chance p is √(p(1 − p)/draws)."""
    seed: int = 0
    reason: str = ""


def verdict_probabilities(
    saving: float, campaign: Campaign, *, drift: float = 0.0, draws: int = DRAWS, seed: int = 0
) -> VerdictProbabilities:
    """Chance of each verdict where rows are normal, the change saves `saving` and the day adds `drift`.

    Simulates `draws` campaigns: yardstick rows, and on the day, `drift` above them, baseline rows and rows with the
    change. The lower end of yardstick minus changed rows falls into a band; a negative one stands. Otherwise the word
    of a guard that trips stands, in its precedence: held where an agentic run fails, confounded where the day's mean
    lies farther from the yardstick's than the limit. With a drift limit and no day rows the guard cannot run, and what
    would be positive is unresolved. Refused as `carries_probability` is. R18, D4; drawn from NumPy's PCG64 with `seed`.
    """
    said = campaign
    if not 0 <= said.failure <= 1 or min(said.n_day, said.task_runs) < 0 or draws < 1:
        raise ValueError(
            f"failure {said.failure}, day rows {said.n_day}, task runs {said.task_runs}, draws {draws}; expected a "
            "chance and counts."
        )
    reason = _lacking_sd(said.sd) or _lacking_df(said.n_on, said.n_ref)
    if reason:
        return VerdictProbabilities({}, reason=reason)
    rng = np.random.Generator(np.random.PCG64(seed))
    yardstick = rng.normal(0, said.sd, (draws, said.n_ref))
    on = rng.normal(drift - saving, said.sd, (draws, said.n_on))
    day = rng.normal(drift, said.sd, (draws, said.n_day))
    df = said.n_on + said.n_ref - 2
    squares = sum(np.sum((arm - arm.mean(axis=1, keepdims=True)) ** 2, axis=1) for arm in (yardstick, on))
    half = float(scipy.stats.t.ppf(0.5 + said.level / 200, df)) * np.sqrt(
        squares / df * (1 / said.n_on + 1 / said.n_ref)
    )
    lower = yardstick.mean(axis=1) - on.mean(axis=1) - half
    no = np.zeros(draws, dtype=bool)
    asked = said.drift_limit is not None
    off = np.abs(day.mean(axis=1) - yardstick.mean(axis=1)) > said.drift_limit if asked and said.n_day else no
    trips = {"held": rng.random(draws) < 1 - (1 - said.failure) ** said.task_runs, "confounded": off}
    words = [word for word, _, _ in said.bands]
    reached = [~no if bound is None else lower >= bound if has_it else lower > bound for _, bound, has_it in said.bands]
    band = np.argmax(np.array(reached), axis=0)
    positive = ~np.isin(band, [place for place, word in enumerate(words) if word in said.negative])
    final = {word: (band == place) for place, word in enumerate(words)}
    for word in said.precedence:
        final[word] = trips[word] & positive
        positive &= ~trips[word]
    final["unresolved"] = positive if asked and not said.n_day else no
    decided = np.any([final[word] for word in (*said.precedence, "unresolved")], axis=0)
    chances = {word: found & ~decided if word in words else found for word, found in final.items()}
    return VerdictProbabilities({word: float(np.mean(found)) for word, found in chances.items()}, draws, seed)


def _reaches(above_bar: float, sd: float, n1: int, n2: int, level: float) -> float:
    df = n1 + n2 - 2
    return _above(float(scipy.stats.t.ppf(0.5 + level / 200, df)), df, above_bar / (sd * sqrt(1 / n1 + 1 / n2)))


def _above(t: float, df: int, away: float) -> float:
    """Chance that a noncentral t exceeds `t`."""
    return float(scipy.stats.nct.sf(t, df, away))


def _fewest(measure: Callable[[int], float], enough: Callable[[float], bool], n2: int, most: int) -> RowsNeeded:
    """The smallest n1 that is enough, where every larger one is too."""
    low, high = (0 if n2 >= 2 else 1), 2
    while not enough(measure(min(high, most))):
        if high >= most:
            return RowsNeeded(None, reason=f"more than {most} rows")
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(measure(middle)) else (middle, high)
    return RowsNeeded(high, measure(high))


def _lacking_sd(sd: float | None) -> str:
    """Why nothing can be planned with the standard deviation `sd`."""
    if sd is None or not isfinite(sd):
        return "the standard deviation of a row is not known"
    return "" if sd > 0 else "a standard deviation of 0 plans nothing: measure how rows vary"


def _lacking_df(n1: int, n2: int) -> str:
    if min(n1, n2) < 1:
        return f"need at least one row in each arm, have {n1} and {n2}"
    return "" if n1 + n2 > 2 else "need two rows in at least one arm for an interval, have one in each"


def _lacking_yardstick(n2: int) -> str:
    return "" if n2 >= 1 else "the yardstick has no rows"
