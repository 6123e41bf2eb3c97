"""What it would take to turn a reading over: an effect of the day, another slope."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt

import numpy as np
import scipy

from campaign.analysis.intervals import Estimate, difference


def day_tipping(saving: float, bar: float, t: float, se: float, days: float = inf) -> float:
    """Standard deviation τ* of a day effect that would bring the lower end, saving − t·se, down to `bar`; its unit.

    τ* = √(((S − bar)/t)² − se²), the effect on the difference of the two days. With `days` yardstick days it is
    divided by √(1 + 1/days) and is that of one day, as `tau_sweep` takes it. 0 where the lower end does not exceed
    the bar. R19, D6.
    """
    if not (t > 0 and se >= 0 and days >= 1 and all(map(isfinite, (saving, bar, se)))):
        raise ValueError(
            f"saving {saving}, bar {bar}, t {t}, se {se}, days {days}; expected finite numbers, t above 0, and a day."
        )
    if saving - t * se <= bar:
        return 0.0
    return sqrt((((saving - bar) / t) ** 2 - se**2) / (1 + 1 / days))


def tau_sweep(estimate: Estimate, taus: Sequence[float], level: float, days: float = 1) -> tuple[Estimate, ...]:
    """The difference with the interval that it has where days differ with standard deviation τ, for each of `taus`.

    se² = se₀² + τ²·(1 + 1/days), one day against the mean of `days` yardstick days; its degrees of freedom stay. A
    difference without value stays without one. D8.
    """
    if days < 1 or any(not tau >= 0 for tau in taus):
        raise ValueError(f"taus {list(taus)} over {days} days; expected none below 0, and at least one day.")
    if estimate.value is None or estimate.se is None or estimate.df is None:
        missing = estimate if estimate.value is None else Estimate(None, n=estimate.n, reason="it has no t interval")
        return tuple(missing for _ in taus)
    t = float(scipy.stats.t.ppf(0.5 + level / 200, estimate.df))
    swept = []
    for tau in taus:
        se = sqrt(estimate.se**2 + tau**2 * (1 + 1 / days))
        swept.append(replace(estimate, lo=estimate.value - t * se, hi=estimate.value + t * se, se=se))
    return tuple(swept)


@dataclass(frozen=True)
class SavingCurve:
    """The saving over the slope at which rows are matched."""

    slopes: tuple[float, ...]
    estimates: tuple[Estimate, ...]
    """The saving at each slope, with its interval."""
    flips: tuple[float, ...]
    """Slopes in the range at which the lower end crosses the bar, ascending: none where the verdict holds in it."""
    reason: str = ""
    """Why no slope could be found at which it flips."""


def saving_curve(
    first: np.ndarray, second: np.ndarray, at: float, slopes: Sequence[float], bar: float, level: float
) -> SavingCurve:
    """Mean of `first` minus mean of `second` at every slope b, in the unit of y, rows matched as ȳ − b(x̄ − at).

    first, second: [rows, 2], y (ms) and x (tokens per step) of each row; `first` is the yardstick, so that positive
    is faster. `slopes` spans the range. The slopes at which the lower end is the bar are solved for, not looked for
    between grid points. A slope at which `difference` is unresolved is so here. D7.
    """
    first, second = (np.asarray(rows, dtype=float).reshape(-1, 2) for rows in (first, second))
    if not len(slopes):
        raise ValueError("no slopes; expected at least one.")

    def at_slope(slope: float) -> Estimate:
        return difference(*(rows[:, 0] - slope * (rows[:, 1] - at) for rows in (first, second)), level)

    estimates = tuple(at_slope(slope) for slope in slopes)
    unresolved = next((found for found in estimates if found.value is None), None)
    if unresolved:
        return SavingCurve(tuple(slopes), estimates, (), unresolved.reason)
    # the lower end is at the bar where (S(b) − bar)² = t²·se²(b) and S(b) >= bar; both sides are quadratic in b
    df = len(first) + len(second) - 2
    scale = float(scipy.stats.t.ppf(0.5 + level / 200, df)) ** 2 * (1 / len(first) + 1 / len(second)) / df
    (yy, xy), (_, xx) = scale * sum(np.cov(rows.T, bias=True) * len(rows) for rows in (first, second))
    y, x = first.mean(axis=0) - second.mean(axis=0)
    y -= bar
    roots = np.roots([x * x - xx, 2 * (xy - x * y), y * y - yy])
    real = sorted(float(root.real) for root in roots if abs(root.imag) <= 1e-9 * abs(root))
    flips = [b for b in real if min(slopes) <= b <= max(slopes) and y - b * x >= 0]
    return SavingCurve(tuple(slopes), estimates, tuple(flips))
