"""Whether two arms are equal within a margin: two one-sided t tests (TOST)."""

from dataclasses import dataclass

import scipy

from campaign.analysis.intervals import Estimate


@dataclass(frozen=True)
class Equivalence:
    """How an estimate stands to a margin; or nothing, with the reason."""

    equal: bool | None
    """True only where p is below alpha; False is "not shown equal", not "different"; None with a reason."""
    p: float | None = None
    """The greater of `p_lower` and `p_upper`."""
    p_lower: float | None = None
    """Probability of an estimate this far above the margin's lower end, or farther, if the truth were that end."""
    p_upper: float | None = None
    """Probability of an estimate this far below the margin's upper end, or farther, if the truth were that end."""
    estimate: float | None = None
    lo: float | None = None
    """Lower end of the 1 − 2 alpha interval, which lies within the margin exactly where p is below alpha."""
    hi: float | None = None
    se: float | None = None
    df: float | None = None
    n: int = 0
    warnings: tuple[str, ...] = ()
    reason: str = ""


def tost(estimate: Estimate, lower: float, upper: float, alpha: float = 0.05) -> Equivalence:
    """Whether `estimate` is shown to lie between `lower` and `upper`, in its unit, by two one-sided t tests at `alpha`.

    `estimate` is a `difference` (pooled), a `welch` or a `paired_mean`, of rows or of summaries; its own level does
    not matter. Undecided, with the reason, where it has no value or no standard error. R6 with `lower` −Δ and `upper`
    Δ: p = max(P(T >= (D + Δ)/se), P(T <= (D − Δ)/se)); Schuirmann 1987; R: TOSTER::tsum_TOST, equivalence::tost.
    """
    if not lower < upper:
        raise ValueError(f"a margin from {lower} to {upper}; expected its lower end below its upper end.")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha {alpha}; expected a number between 0 and 0.5.")
    if estimate.value is None or estimate.se is None or estimate.df is None:
        reason = estimate.reason or "the estimate has no standard error, so it cannot be told equal"
        return Equivalence(None, n=estimate.n, warnings=estimate.warnings, reason=reason)
    value, se, df = estimate.value, estimate.se, estimate.df
    p_lower = float(scipy.stats.t.sf((value - lower) / se, df))
    p_upper = float(scipy.stats.t.cdf((value - upper) / se, df))
    half = se * float(scipy.stats.t.ppf(1 - alpha, df))
    return Equivalence(
        equal=max(p_lower, p_upper) < alpha,
        p=max(p_lower, p_upper),
        p_lower=p_lower,
        p_upper=p_upper,
        estimate=value,
        lo=value - half,
        hi=value + half,
        se=se,
        df=df,
        n=estimate.n,
        warnings=estimate.warnings,
    )
