"""Means, differences and their t intervals; scipy does the statistics."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt
from typing import Self

import numpy as np
import scipy

DUST = 1e-12
"""A standard deviation below this share of the values is rounding dust of floats and no variation."""
CONSTANT_ARMS = "the rows of each arm do not vary, so no interval can be given"
NO_END = "the mean below the line is not told from zero: the ratio has no end"


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
    level: float | None = None
    """Level of the interval in percent, where it is not the plan's or no degrees of freedom belong to it."""

    def aspects(self, level: float) -> dict[str, float]:
        """What a reading carries beside its value; `level` is that of the plan's intervals in percent."""
        said = {"lo": self.lo, "hi": self.hi, "se": self.se, "sd": self.sd, "df": self.df, "n": self.n}
        known = {name: float(value) if name != "n" else value for name, value in said.items() if value is not None}
        if self.level is not None:
            return known | {"level": self.level}
        return known | ({"level": level} if self.df is not None else {})


@dataclass(frozen=True)
class Summary:
    """What the rows of an arm come to, where the rows themselves are not at hand: a published yardstick."""

    mean: float
    sd: float
    """Sample standard deviation (n − 1); of no account where n is 1."""
    n: int
    """Rows."""


Arm = np.ndarray | Summary
"""The row values of an arm, or their summary."""


def difference(first: Arm, second: Arm, level: float) -> Estimate:
    """Mean of `first` minus mean of `second` with the pooled two-sample t interval at `level` percent.

    One value in one arm borrows the other arm's variance and says so; one in each, or no variance at all,
    leaves the difference unresolved: a point is no interval. R1; R: t.test(var.equal=TRUE).
    """
    n = _size(first) + _size(second)
    lacking = reason_rows_lack(first, second)
    if lacking:
        return Estimate(None, n=n, reason=lacking)
    df = n - 2
    if df < 1:
        return Estimate(None, n=n, reason="need two rows in at least one arm for an interval, have one in each")
    one, other = _Moments.of(first), _Moments.of(second)
    sd = sqrt((one.squares + other.squares) / df)
    if is_dust(sd, one.values, other.values):
        return Estimate(None, n=n, reason=CONSTANT_ARMS)
    warnings = ("one arm has a single row: its variance is taken from the other arm",) if 1 in (one.n, other.n) else ()
    return _t_interval(one.mean - other.mean, sd * sqrt(1 / one.n + 1 / other.n), df, level, sd, n, warnings)


def welch(first: Arm, second: Arm, level: float) -> Estimate:
    """Mean of `first` minus mean of `second` with Welch's t interval at `level` percent: each arm has its own variance.

    Degrees of freedom after Satterthwaite, not whole; no single standard deviation, so `sd` is None. Fewer than two
    rows in an arm, or no variance at all, leave it unresolved. R16; R: t.test(var.equal=FALSE).
    """
    n = _size(first) + _size(second)
    lacking = reason_rows_lack(first, second)
    if lacking:
        return Estimate(None, n=n, reason=lacking)
    one, other = _Moments.of(first), _Moments.of(second)
    if min(one.n, other.n) < 2:
        return Estimate(None, n=n, reason=f"need at least two rows in each arm, have {one.n} and {other.n}")
    if all(is_dust(sqrt(arm.squares / (arm.n - 1)), one.values, other.values) for arm in (one, other)):
        return Estimate(None, n=n, reason=CONSTANT_ARMS)
    parts = [arm.squares / (arm.n - 1) / arm.n for arm in (one, other)]
    df = _satterthwaite(parts, [one.n, other.n])
    return _t_interval(one.mean - other.mean, sqrt(sum(parts)), df, level, n=n)


def relative(first: Arm, second: Arm, level: float) -> Estimate:
    """Mean of `first` as a share of the mean of `second`, with Fieller's interval at `level` percent, pooled variance.

    The interval is not symmetric, so `se` is None. Unresolved wherever the difference is, where the mean of `second`
    is not above zero, and where the interval has no end because that mean is itself not told from zero (g >= 1).
    R15; Fieller 1954.
    """
    return _fieller(first, second, difference(first, second, level), level)


def relative_saving(first: Arm, second: Arm, level: float) -> Estimate:
    """Share of the mean of `first` that `second` saves, as 0.02 for 2 percent; positive is faster.

    One minus `relative(second, first, level)`, whose interval and edge cases it has. R15.
    """
    found = _fieller(second, first, difference(first, second, level), level)
    return found if found.value is None else replace(found, value=1 - found.value, lo=1 - found.hi, hi=1 - found.lo)


def simultaneous_level(level: float, k: int) -> float:
    """Level in percent at which each of `k` intervals stands, so that all hold together at `level`.

    Bonferroni: t at 1 − alpha/(2k). With k = 1 it is `level` itself. R12.
    """
    if k < 1:
        raise ValueError(f"{k} variants; expected one or more.")
    return level if k == 1 else 100 - (100 - level) / k


def resolution_floor(q: float) -> float:
    """Standard deviation that reading to steps of `q` alone leaves, q/√12, in the unit of `q`.

    To print where rows do not vary, as what they cannot tell apart; no interval stands on it. R1; GUM F.2.2.1.
    """
    if not 0 < q < inf:
        raise ValueError(f"a resolution of {q}; expected a number above zero.")
    return q / sqrt(12)


def paired_mean(pairs: np.ndarray, level: float) -> Estimate:
    """Mean of paired differences with its t interval at `level` percent. R12; R: t.test(paired=TRUE)."""
    lacking = reason_lacking(pairs, "pairs")
    if lacking:
        return Estimate(None, n=len(pairs), reason=lacking)
    if len(pairs) < 2:
        return Estimate(None, n=len(pairs), reason=f"need at least two pairs for an interval, have {len(pairs)}")
    sd = float(np.std(pairs, ddof=1))
    if is_dust(sd, pairs):
        return Estimate(None, n=len(pairs), reason="the pairs do not vary, so no interval can be given")
    interval = scipy.stats.ttest_1samp(pairs, 0).confidence_interval(level / 100)
    return Estimate(
        float(np.mean(pairs)),
        float(interval.low),
        float(interval.high),
        sd / sqrt(len(pairs)),
        sd,
        len(pairs) - 1,
        len(pairs),
    )


def paired_mean_autocorrelated(pairs: np.ndarray, level: float) -> Estimate:
    """Mean of paired differences in order of time, with an interval that counts neighbours which are alike as fewer.

    n pairs with the lag-1 autocorrelation rho count as n(1 − rho)/(1 + rho), which gives the standard error and the
    degrees of freedom; rho below zero makes no more of them. A warning says both. Unresolved wherever `paired_mean`
    is, and where the pairs count as fewer than two. The estimate of rho is low in short series, by some (1 + 4 rho)/n.
    R12; R: acf(pairs)$acf[2].
    """
    found = paired_mean(pairs, level)
    if found.value is None:
        return found
    apart = pairs - found.value
    rho = float(np.sum(apart[1:] * apart[:-1]) / np.sum(apart**2))
    n_eff = len(pairs) * min(1.0, (1 - rho) / (1 + rho))
    said = f"lag-1 autocorrelation {rho:z.2f}: {len(pairs)} pairs count as {n_eff:.1f}"
    if rho <= 0:
        return replace(found, warnings=(said,))
    if n_eff < 2:
        return Estimate(None, n=len(pairs), reason=f"{said}, and an interval needs two")
    return _t_interval(found.value, found.sd / sqrt(n_eff), n_eff - 1, level, found.sd, len(pairs), (said,))


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> Estimate:
    """Mean of `values` weighted by `weights`; no interval."""
    lacking = reason_lacking(values, "values") or reason_lacking(weights, "weights")
    if lacking:
        return Estimate(None, n=len(values), reason=lacking)
    if np.any(weights < 0):
        return Estimate(None, n=len(values), reason="a weight is below zero")
    if not len(values) or not np.sum(weights) > 0:
        return Estimate(None, n=len(values), reason="need at least one value with a weight above zero")
    return Estimate(float(np.sum(values * weights) / np.sum(weights)), n=len(values))


def stratified_sum(strata: Sequence[np.ndarray], factors: Sequence[float], level: float) -> Estimate:
    """Sum over strata of factor times mean, with its t interval at `level` percent.

    Variance Σ factor² s²/n, each stratum with its own s; degrees of freedom after Satterthwaite, so `sd` is None. n is
    the number of values. Values that are missing, fewer than two in a stratum, or no variance at all leave it
    unresolved. Cochran 1977, 5.4; Satterthwaite 1946.
    """
    values = np.concatenate([*strata, np.array([])])
    lacking = reason_lacking(values, "pairs")
    if lacking:
        return Estimate(None, n=len(values), reason=lacking)
    if not strata or min(map(len, strata)) < 2:
        return Estimate(None, n=len(values), reason="need at least two pairs in each stratum for an interval")
    deviations = [float(np.std(stratum, ddof=1)) for stratum in strata]
    if all(is_dust(sd, stratum) for sd, stratum in zip(deviations, strata, strict=True)):
        return Estimate(None, n=len(values), reason="the pairs do not vary, so no interval can be given")
    parts = [(factor * sd) ** 2 / len(one) for factor, sd, one in zip(factors, deviations, strata, strict=True)]
    total = sum(factor * float(np.mean(one)) for factor, one in zip(factors, strata, strict=True))
    return _t_interval(
        total, sqrt(sum(parts)), _satterthwaite(parts, [len(one) for one in strata]), level, n=len(values)
    )


@dataclass(frozen=True)
class _Moments:
    """What the statistics need of an arm."""

    n: int
    mean: float
    squares: float
    """Sum of squared deviations from the mean."""
    values: np.ndarray
    """What a standard deviation has to stand out from."""

    @classmethod
    def of(cls, arm: Arm) -> Self:
        """Those of row values, or of a summary."""
        if isinstance(arm, Summary):
            squares = (arm.n - 1) * arm.sd**2 if arm.n > 1 else 0.0
            return cls(arm.n, arm.mean, squares, np.array([arm.mean]))
        mean = arm.mean()
        return cls(len(arm), float(mean), float(np.sum((arm - mean) ** 2)), arm)


def _size(arm: Arm) -> int:
    return arm.n if isinstance(arm, Summary) else len(arm)


def _fieller(above: Arm, below: Arm, compared: Estimate, level: float) -> Estimate:
    """Ratio of the means of two arms whose difference, either way round, is `compared`."""
    if compared.value is None:
        return compared
    over, under = _Moments.of(above), _Moments.of(below)
    if under.mean <= 0:
        return Estimate(None, n=compared.n, reason="the mean below the line is not above zero")
    t = _t_quantile(level, compared.df)
    over_se, under_se = compared.sd / sqrt(over.n), compared.sd / sqrt(under.n)
    g = (t * under_se / under.mean) ** 2
    if g >= 1:
        return Estimate(None, n=compared.n, reason=NO_END)
    ratio = over.mean / under.mean
    half = t / under.mean * sqrt((1 - g) * over_se**2 + (ratio * under_se) ** 2)
    ends = (ratio - half) / (1 - g), (ratio + half) / (1 - g)
    return replace(compared, value=ratio, lo=ends[0], hi=ends[1], se=None)


def reason_rows_lack(first: Arm, second: Arm) -> str:
    """Why two arms give no number: values that are missing, or an arm without rows."""
    lacking = reason_lacking(
        np.concatenate([arm for arm in (first, second) if not isinstance(arm, Summary)] or [[]]), "rows"
    )
    if lacking:
        return lacking
    if min(_size(first), _size(second)) < 1:
        return f"need at least one row in each arm, have {_size(first)} and {_size(second)}"
    for arm in (first, second):
        if isinstance(arm, Summary) and not (isfinite(arm.mean) and (arm.n == 1 or 0 <= arm.sd < inf)):
            return "a summarised arm has no mean or no standard deviation"
    return ""


def _satterthwaite(parts: Sequence[float], sizes: Sequence[int]) -> float:
    """Degrees of freedom of a sum of variances, each estimated from so many values."""
    return sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))


def _t_interval(
    value: float, se: float, df: float, level: float, sd: float | None = None, n: int = 0, warnings: Sequence[str] = ()
) -> Estimate:
    half = se * _t_quantile(level, df)
    return Estimate(value, value - half, value + half, se, sd, df, n, tuple(warnings))


def _t_quantile(level: float, df: float) -> float:
    return float(scipy.stats.t.ppf(0.5 + level / 200, df))


def reason_lacking(values: np.ndarray, what: str) -> str:
    """Why `values` give no number: some of them are NaN or infinite; empty where all are finite."""
    lacking = int(np.sum(~np.isfinite(values)))
    return f"{lacking} of {len(values)} {what} have no value" if lacking else ""


def is_dust(sd: float, *values: np.ndarray) -> bool:
    """Whether `sd` is what adding and dividing floats leaves behind: three times 0.1 has a mean beside 0.1."""
    return sd <= DUST * float(np.max(np.abs(np.concatenate(values))))
