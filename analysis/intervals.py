"""Means, differences and their t intervals; scipy does the statistics."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import stats

DUST = 1e-12
"""A standard deviation below this share of the values is rounding dust of floats and no variation."""


@dataclass(frozen=True)
class Estimate:
    """An estimate with its interval; or none, with the reason."""

    value: float | str | None
    """A number; a text where a stat picks one record's text or time; None with a reason."""
    lo: float | None = None
    hi: float | None = None
    se: float | None = None
    sd: float | None = None
    """Standard deviation that the interval stands on (pooled, for a difference)."""
    df: float | None = None
    n: int = 0
    warnings: tuple[str, ...] = ()
    reason: str = ""

    def aspects(self, level: float) -> dict[str, float]:
        """What a reading carries beside its value."""
        said = {"lo": self.lo, "hi": self.hi, "se": self.se, "sd": self.sd, "df": self.df, "n": self.n}
        known = {name: float(value) if name != "n" else value for name, value in said.items() if value is not None}
        return known | ({"level": level} if self.df is not None else {})


def difference(first: np.ndarray, second: np.ndarray, level: float) -> Estimate:
    """Mean of `first` minus mean of `second` with the pooled two-sample t interval at `level` percent.

    One value in one arm borrows the other arm's variance and says so; one in each, or no variance at all,
    leaves the difference unresolved: a point is no interval.
    """
    n = len(first) + len(second)
    lacking = _lacking(np.concatenate([first, second]), "rows")
    if lacking:
        return Estimate(None, n=n, reason=lacking)
    if not len(first) or not len(second):
        return Estimate(None, n=n, reason=f"need at least one row in each arm, have {len(first)} and {len(second)}")
    df = n - 2
    if df < 1:
        return Estimate(None, n=n, reason="need two rows in at least one arm for an interval, have one in each")
    squares = sum(float(np.sum((arm - arm.mean()) ** 2)) for arm in (first, second))
    sd = sqrt(squares / df)
    if _is_dust(sd, first, second):
        return Estimate(None, n=n, reason="the rows of each arm do not vary, so no interval can be given")
    warnings = (
        ("one arm has a single row: its variance is taken from the other arm",)
        if 1 in (len(first), len(second))
        else ()
    )
    value = float(first.mean() - second.mean())
    se = sd * sqrt(1 / len(first) + 1 / len(second))
    half = se * float(stats.t.ppf(0.5 + level / 200, df))
    return Estimate(value, value - half, value + half, se, sd, df, n, warnings)


def paired_mean(pairs: np.ndarray, level: float) -> Estimate:
    """Mean of paired differences with its t interval at `level` percent."""
    lacking = _lacking(pairs, "pairs")
    if lacking:
        return Estimate(None, n=len(pairs), reason=lacking)
    if len(pairs) < 2:
        return Estimate(None, n=len(pairs), reason=f"need at least two pairs for an interval, have {len(pairs)}")
    sd = float(np.std(pairs, ddof=1))
    if _is_dust(sd, pairs):
        return Estimate(None, n=len(pairs), reason="the pairs do not vary, so no interval can be given")
    interval = stats.ttest_1samp(pairs, 0).confidence_interval(level / 100)
    return Estimate(
        float(np.mean(pairs)),
        float(interval.low),
        float(interval.high),
        sd / sqrt(len(pairs)),
        sd,
        len(pairs) - 1,
        len(pairs),
    )


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> Estimate:
    """Mean of `values` weighted by `weights`; no interval."""
    lacking = _lacking(values, "values") or _lacking(weights, "weights")
    if lacking:
        return Estimate(None, n=len(values), reason=lacking)
    if np.any(weights < 0):
        return Estimate(None, n=len(values), reason="a weight is below zero")
    if not len(values) or not np.sum(weights) > 0:
        return Estimate(None, n=len(values), reason="need at least one value with a weight above zero")
    return Estimate(float(np.sum(values * weights) / np.sum(weights)), n=len(values))


def _lacking(values: np.ndarray, what: str) -> str:
    """Why `values` give no number: some of them are NaN or infinite; empty where all are finite."""
    lacking = int(np.sum(~np.isfinite(values)))
    return f"{lacking} of {len(values)} {what} have no value" if lacking else ""


def _is_dust(sd: float, *values: np.ndarray) -> bool:
    """Whether `sd` is what adding and dividing floats leaves behind: three times 0.1 has a mean beside 0.1."""
    return sd <= DUST * float(np.max(np.abs(np.concatenate(values))))
