"""Where rows and draws get their variance from, and how many of each are worth their time."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, sqrt

import numpy as np

from campaign.analysis.intervals import DUST


@dataclass(frozen=True)
class Components:
    """One-way random effects: draws (within) inside rows (between)."""

    var_b: float | None = None
    """Variance between rows, σ_B², never below 0; None with a reason."""
    var_w: float | None = None
    """Variance of draws within a row, σ_W²."""
    icc: float | None = None
    """Share of the variance of a draw that its row has."""
    msb: float | None = None
    """Mean square between rows."""
    msw: float | None = None
    """Mean square within rows."""
    f: float | None = None
    """msb over msw."""
    m0: float | None = None
    """Draws per row that count, where rows have different numbers of them."""
    boundary: bool = False
    """Whether the estimate of σ_B² came out at or below 0 and stands at 0."""
    rows: int = 0
    draws: int = 0
    reason: str = ""


def components(groups: Sequence[Sequence[float]]) -> Components:
    """Variances between and within rows, in the unit of the draws squared, from the draws of each row.

    Analysis of variance estimates. Unresolved with fewer than two rows, with one draw in each, and where draws do not
    vary within rows. R17; R: VCA::anovaVCA, and lme4::lmer where rows have as many draws and σ_B² > 0.
    """
    rows = [np.asarray(group, dtype=float) for group in groups]
    sizes = np.array([len(row) for row in rows])
    n = int(sizes.sum())

    def unresolved(reason: str) -> Components:
        return Components(rows=len(rows), draws=n, reason=reason)

    if len(rows) < 2:
        return unresolved(f"need at least two rows, have {len(rows)}")
    if sizes.min() < 1:
        return unresolved("a row has no draws")
    if sizes.max() < 2:
        return unresolved("need two draws in at least one row, have one in each")
    every = np.concatenate(rows)
    if not np.all(np.isfinite(every)):
        return unresolved(f"{int(np.sum(~np.isfinite(every)))} of {n} draws have no value")
    means = np.array([row.mean() for row in rows])
    between, within = len(rows) - 1, n - len(rows)
    msb = float(np.sum(sizes * (means - every.mean()) ** 2)) / between
    msw = sum(float(np.sum((row - mean) ** 2)) for row, mean in zip(rows, means, strict=True)) / within
    if sqrt(msw) <= DUST * float(np.max(np.abs(every))):
        return unresolved("the draws do not vary within rows")
    m0 = float(n - np.sum(sizes**2) / n) / between
    var_b = max(0.0, (msb - msw) / m0)
    return Components(var_b, msw, var_b / (var_b + msw), msb, msw, msb / msw, m0, msb <= msw, len(rows), n)


@dataclass(frozen=True)
class BestDraws:
    """How many draws of a row are worth their time."""

    draws: int | None
    """Whole number that costs least for the variance it leaves; None where as many as fit, or with a reason."""
    exact: float | None = None
    """m*, the same before rounding."""
    boundary: bool = False
    """Whether rows do not differ, so that one row with as many draws as fit is best."""
    reason: str = ""


def best_draws(c_row: float, c_draw: float, var_w: float, var_b: float) -> BestDraws:
    """Draws per row that give the least variance of the mean for the time: m* = √(c_row/c_draw · σ_W²/σ_B²).

    `c_row` is what a row costs before its first draw, `c_draw` a draw, in one unit. σ_B² = 0 has no m*: as many draws
    as fit. σ_W² = 0 has 1. Unresolved where a variance is not known. R17; Cochran, Sampling Techniques, 10.6.
    """
    if not (c_row >= 0 and c_draw > 0):
        raise ValueError(f"a row costs {c_row} and a draw {c_draw}; expected costs above zero.")
    if not (var_w >= 0 and var_b >= 0):
        return BestDraws(None, reason="a variance is not known")
    if var_b == 0:
        return BestDraws(None, boundary=True)
    exact = sqrt(c_row / c_draw * var_w / var_b)

    def spent(draws: int) -> float:
        """Cost times variance."""
        return (c_row + draws * c_draw) * (var_b + var_w / draws)

    return BestDraws(min(max(1, floor(exact)), max(1, ceil(exact)), key=spent), exact)


@dataclass(frozen=True)
class Repetitions:
    """Variances of nested repetitions, lowest level first, and how many repetitions each level is worth."""

    s2: tuple[float, ...] = ()
    """S_i²: variance of the means of level i inside level i + 1, what lies below it included."""
    t2: tuple[float, ...] = ()
    """T_i²: what level i itself adds; an estimate, which can come out below 0."""
    dropped: tuple[int, ...] = ()
    """Levels from 1, the lowest, that add nothing (T_i² <= 0) and are not worth repeating."""
    best: tuple[float | None, ...] = ()
    """Repetitions of each level below the highest, not rounded; 1 where dropped, None where as many as fit."""
    reason: str = ""


def kalibera_jones(data: Sequence, costs_high_to_low: Sequence[float] | None = None) -> Repetitions:
    """Variance of each level of nested repetitions, in the unit of the data squared, and the best repetitions of each.

    `data` is nested, the highest level outside, as many repetitions everywhere; `costs_high_to_low` what one more
    repetition of a level costs without what lies below it. r_i = √(c_{i+1}/c_i · T_i²/T_{i+1}²); a dropped level is
    left out of it, repeated once, and its cost is paid with the next level above. Unresolved where a level has one
    repetition or a value lacks. R17; Kalibera and Jones 2013, with T_i² of its corrected version.
    """
    try:
        values = np.asarray(data, dtype=float)
    except ValueError:
        return Repetitions(reason="need as many repetitions everywhere")
    if not values.ndim or min(values.shape) < 2:
        return Repetitions(reason=f"need at least two repetitions of every level, have {list(values.shape)}")
    if not np.all(np.isfinite(values)):
        return Repetitions(reason=f"{int(np.sum(~np.isfinite(values)))} of {values.size} values lack")
    s2: list[float] = []
    t2: list[float] = []
    means, below = values, None
    while means.ndim:
        s2.append(float(means.var(axis=-1, ddof=1).mean()))
        t2.append(s2[-1] - (s2[-2] / below if below else 0.0))
        below, means = means.shape[-1], means.mean(axis=-1)
    dropped = tuple(level for level, t in enumerate(t2, 1) if t <= 0)
    best = _best_repetitions(t2, list(costs_high_to_low)[::-1]) if costs_high_to_low is not None else ()
    return Repetitions(tuple(s2), tuple(t2), dropped, best)


def _best_repetitions(t2: list[float], costs: list[float]) -> tuple[float | None, ...]:
    if len(costs) != len(t2) or not all(cost > 0 for cost in costs):
        raise ValueError(f"costs {costs} for {len(t2)} levels; expected one above zero for each.")
    kept = [level for level, t in enumerate(t2) if t > 0]
    best: list[float | None] = [1.0] * len(t2)
    for level, above in pairwise(kept):
        best[level] = sqrt(sum(costs[level + 1 : above + 1]) / costs[level] * t2[level] / t2[above])
    if kept:
        best[kept[-1]] = None  # nothing above it varies
    return tuple(best[:-1])
