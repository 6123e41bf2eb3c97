"""Rows of unequal numbers of draws: the more draws, the more a row says. A check; row means decide unweighted (R16)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import scipy

from campaign.analysis.intervals import Estimate, difference


@dataclass(frozen=True)
class Pooled:
    """Variances between rows and of draws within rows, of arms that each have their own mean."""

    var_b: float = 0.0
    """Between rows, σ_B², never below 0."""
    var_w: float = 0.0
    """Of draws within a row, σ_W²."""
    reason: str = ""
    """Why there are none."""


def pooled_components(arms: Sequence[Sequence[np.ndarray]]) -> Pooled:
    """Variances in the unit of the draws squared, from the draws of each row of each arm.

    Analysis of variance estimates, σ_B² = (MSB − MSW)/m0 with m0 = (N − Σ_arms Σm²/Σm)/(rows − arms); of one arm those
    of `variance.components`. R17.
    """
    rows = [row for arm in arms for row in arm]
    every = np.concatenate(rows) if rows else np.array([])
    if not np.all(np.isfinite(every)):
        return Pooled(reason=f"{int(np.sum(~np.isfinite(every)))} of {len(every)} draws have no value")
    between, within = len(rows) - len(arms), len(every) - len(rows)
    if between < 1 or within < 1:
        return Pooled(reason="need two rows in an arm, and two draws in a row")
    msw = sum(float(np.sum((row - row.mean()) ** 2)) for row in rows) / within
    squares = lost = 0.0
    for arm in filter(len, arms):
        sizes, means = np.array([len(row) for row in arm]), np.array([row.mean() for row in arm])
        squares += float(np.sum(sizes * (means - np.concatenate(arm).mean()) ** 2))
        lost += float(np.sum(sizes**2) / np.sum(sizes))
    return Pooled(max(0.0, (squares / between - msw) * between / (len(every) - lost)), msw)


def weighted_difference(first: Sequence[np.ndarray], second: Sequence[np.ndarray], level: float) -> Estimate:
    """Weighted mean of the rows of `first` minus that of `second`, each row given by its draws, at `level` percent.

    A row of m draws weighs 1/(σ_B² + σ_W²/m), with the variances of `pooled_components`; the interval is that of
    weighted least squares, with one more unknown factor for all variances. Unresolved where `difference` of the row
    means is, and where there are no variances. R16; R: lm(y ~ arm, weights = w).
    """
    arms = (first, second)
    means = [np.array([row.mean() for row in arm]) for arm in arms]
    plain = difference(*means, level)
    if plain.value is None:
        return plain
    pooled = pooled_components(arms)
    if pooled.reason:
        return Estimate(None, n=plain.n, reason=pooled.reason)
    weights = [np.array([1 / (pooled.var_b + pooled.var_w / len(row)) for row in arm]) for arm in arms]
    centres = [float(np.average(v, weights=w)) for v, w in zip(means, weights, strict=True)]
    df = plain.n - 2
    squares = sum(np.sum(w * (v - c) ** 2) for v, w, c in zip(means, weights, centres, strict=True)) / df
    se = sqrt(float(squares) * sum(1 / float(w.sum()) for w in weights))
    half = se * float(scipy.stats.t.ppf(0.5 + level / 200, df))
    value = centres[0] - centres[1]
    return Estimate(value, value - half, value + half, se, None, df, plain.n)
