"""Shares of counts: their intervals, bounds and tests."""

from collections.abc import Sequence
from math import expm1, log

import numpy as np
import scipy

from campaign.analysis.intervals import Estimate

NO_RUNS = "nothing was run, so no share can be given"


def wilson(k: int, n: int, level: float) -> Estimate:
    """Share `k` of `n` with Wilson's score interval at `level` percent.

    0 of n and n of n have a bound, never ±0. Unresolved where n is 0. R9; R: prop.test(correct=FALSE).
    """
    _check(k, n)
    if not n:
        return Estimate(None, reason=NO_RUNS)
    found = scipy.stats.binomtest(k, n).proportion_ci(level / 100, method="wilson")
    return Estimate(k / n, float(found.low), float(found.high), n=n, level=level)


def clopper_pearson(k: int, n: int, level: float) -> Estimate:
    """Share `k` of `n` with the exact interval of Clopper and Pearson at `level` percent, equal tails.

    0 of n and n of n have a bound, never ±0. Unresolved where n is 0. R9; R: binom.test.
    """
    _check(k, n)
    if not n:
        return Estimate(None, reason=NO_RUNS)
    tail = (1 - level / 100) / 2
    # SciPy's own solves for each end to 2e-12, too coarse for a bound on millions of calls
    lo = float(scipy.stats.beta.ppf(tail, k, n - k + 1)) if k else 0.0
    hi = float(scipy.stats.beta.isf(tail, k + 1, n - k)) if k < n else 1.0
    return Estimate(k / n, lo, hi, n=n, level=level)


def failure_bound(failures: int, n: int, level: float) -> Estimate:
    """Share of failures with its one-sided upper bound at `level` percent in `hi`; `lo` is 0.

    With no failure 1 − α^(1/n), else the one-sided bound of Clopper and Pearson. Unresolved where n is 0. R8.
    """
    _check(failures, n)
    if not n:
        return Estimate(None, reason=NO_RUNS)
    tail = 1 - level / 100
    if not failures:
        hi = -expm1(log(tail) / n)
    else:
        hi = float(scipy.stats.beta.isf(tail, failures + 1, n - failures)) if failures < n else 1.0
    return Estimate(failures / n, 0.0, hi, n=n, level=level)


def zero_failure_bound(n: int, alpha: float = 0.05) -> Estimate:
    """Share of failures with its upper bound 1 − α^(1/n) in `hi`, where none of `n` failed. R8; the rule of three."""
    return failure_bound(0, n, 100 * (1 - alpha))


def mismatch_bound(mismatches: int, calls: int) -> Estimate:
    """Share of calls that differ, with its one-sided upper bound at 95 percent in `hi`.

    A bound is no pass: any mismatch fails a byte equality. R11.
    """
    return failure_bound(mismatches, calls, 95)


def fisher(k1: int, n1: int, k2: int, n2: int) -> Estimate:
    """Two-sided p of Fisher's exact test that `k1` of `n1` and `k2` of `n2` have one share.

    Unresolved where nothing was run in one of them. R9; R: fisher.test.
    """
    _check(k1, n1)
    _check(k2, n2)
    if not n1 or not n2:
        return Estimate(None, n=n1 + n2, reason=NO_RUNS)
    return Estimate(float(scipy.stats.fisher_exact([[k1, n1 - k1], [k2, n2 - k2]]).pvalue), n=n1 + n2)


def holm(ps: Sequence[float | None]) -> tuple[float | None, ...]:
    """Each p adjusted for its family after Holm, in the given order, at most 1.

    None stands for a test that could not be run: it has no p and still counts in the family. R9; R: p.adjust.
    """
    run = [place for place, p in enumerate(ps) if p is not None]
    if any(not 0 <= ps[place] <= 1 for place in run):
        raise ValueError(f"p values {list(ps)}; expected each from 0 to 1, or None.")
    run.sort(key=lambda place: ps[place])
    steps = np.minimum(1, [ps[place] * (len(ps) - rank) for rank, place in enumerate(run)])
    adjusted: list[float | None] = [None] * len(ps)
    for place, p in zip(run, np.maximum.accumulate(steps), strict=True):
        adjusted[place] = float(p)
    return tuple(adjusted)


def early_stopping_samples(overlong: int, percentile: float, confidence: float, tolerance: float = 0.0) -> int:
    """Samples that a run needs, where `overlong` of them exceeded the latency, to confirm the percentile.

    Smallest n with BinomCDF(overlong; n, 1 − percentile) <= 1 − confidence, with the percentile (0.9, 0.99)
    lowered by `tolerance`. MLPerf inference rules, early stopping.
    """
    over = 1 - (percentile - tolerance)
    if overlong < 0 or not 0 < over < 1 or not 0 < confidence < 1:
        raise ValueError(
            f"overlong {overlong}, percentile {percentile} less {tolerance}, confidence {confidence}; expected a count "
            "and shares between 0 and 1."
        )
    # n samples hold more than `overlong` such ones with the confidence asked for: a negative binomial quantile
    return overlong + 1 + int(scipy.stats.nbinom.ppf(confidence, overlong + 1, over))


def _check(k: int, n: int) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n}; expected a count from 0 to what was run.")
