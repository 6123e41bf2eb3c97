"""Straight lines by least squares: one line, or parallel ones with a mean for each group. statsmodels fits them."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from campaign.analysis.intervals import Estimate, is_dust, reason_lacking


@dataclass(frozen=True)
class Ancova:
    """Groups with a common slope, compared at one value of the covariate; or nothing, with the reason."""

    difference: Estimate
    """First group of the contrast minus the second, adjusted for the covariate; `sd` is that of the residuals."""
    slope: Estimate
    """Common slope, in the unit of the response for one of the covariate."""
    means: Mapping[Hashable, Estimate] = field(default_factory=dict)
    """Mean of each group at the mean covariate of all (SAS: LSMEANS)."""
    r2: float | None = None
    """Share of the response's variance about its mean that slope and groups explain."""
    reason: str = ""


def slope(x: np.ndarray, y: np.ndarray, level: float) -> Estimate:
    """Slope of `y` on `x` by ordinary least squares, in units of y for one of x, with its t interval.

    `sd` is that of the residuals, `df` n − 2. Unresolved where a value is missing, where x does not vary, where fewer
    than three points leave no degree of freedom, and where the points lie on a line. R: lm(y ~ x).
    """
    return _fit(x, y, np.zeros(len(x))).slope(level)


def intercept(x: np.ndarray, y: np.ndarray, level: float) -> Estimate:
    """Where the line of `slope` stands at x = 0, in units of y; the same edge cases."""
    fit = _fit(x, y, np.zeros(len(x)))
    return fit.estimate([1, -fit.centre], level)


def within_groups_slope(x: np.ndarray, y: np.ndarray, group: np.ndarray, level: float) -> Estimate:
    """Common slope of `y` on `x` inside groups, each about its own mean, in units of y for one of x.

    `group` names the group of each point, as the row of each draw: what differs between rows does not count. The edge
    cases of `slope`; x has to vary inside a group. R: lm(y ~ factor(group) + x).
    """
    return _fit(x, y, group).slope(level)


def ancova(
    x: np.ndarray, y: np.ndarray, group: np.ndarray, contrast: tuple[Hashable, Hashable], level: float
) -> Ancova:
    """Difference of two groups' `y` at equal covariate `x`, with one slope for all groups, which are fitted together.

    For N values in G groups df = N − G − 1 and, with the residual variance s², the sum Sxx of squares within groups
    and the contrast's difference Δx̄ in covariate, se² = s²(1/n1 + 1/n2 + Δx̄²/Sxx). Skipped, with the reason, in the
    edge cases of `slope` (Sxx = 0 among them) and where a group of the contrast has no values. R16; R: lm(y ~ x +
    factor(group)); SAS PROC GLM. No reading where the lever can change the covariate.
    """
    if contrast[0] == contrast[1]:
        raise ValueError(f"a contrast of {contrast[0]!r} with itself; expected two groups.")
    fit = _fit(x, y, group)
    unknown = [name for name in contrast if name not in fit.groups]
    if unknown and not fit.reason:
        fit = _Fit(fit.groups, n=fit.n, reason=f"no value in group {unknown[0]}")
    if fit.reason:
        nothing = Estimate(None, n=fit.n, reason=fit.reason)
        return Ancova(nothing, nothing, reason=fit.reason)
    of_group = dict(zip(fit.groups, np.eye(len(fit.groups) + 1), strict=False))
    first, second = (of_group[name] for name in contrast)
    return Ancova(
        fit.estimate(first - second, level),
        fit.slope(level),
        {name: fit.estimate(vector, level) for name, vector in of_group.items()},
        float(fit.result.rsquared),
    )


def time_trend(
    hours: np.ndarray, values: np.ndarray, arm: np.ndarray, contrast: tuple[Hashable, Hashable], level: float
) -> Ancova:
    """Slope of row values against the start of their rows, in their unit per hour, and the arms' difference without it.

    `ancova` with time as the covariate, and its edge cases: rows of an arm that all start at one time have no slope.
    Where each arm runs in one block, arm and time are told apart by the slope inside the blocks alone. R16.
    """
    return ancova(hours, values, arm, contrast, level)


@dataclass(frozen=True)
class _Fit:
    """A fit whose coefficients are each group's mean at the mean x of all, then the slope; or the reason for none."""

    groups: list[Hashable]
    result: Any = None
    centre: float = 0.0
    """Mean x of all."""
    n: int = 0
    reason: str = ""

    def estimate(self, vector: Any, level: float) -> Estimate:
        """What `vector` makes of the coefficients."""
        if self.reason:
            return Estimate(None, n=self.n, reason=self.reason)
        test = self.result.t_test(np.asarray(vector, dtype=float))
        lo, hi = test.conf_int(alpha=1 - level / 100)[0]
        sd = float(np.sqrt(self.result.mse_resid))
        effect, se = float(test.effect[0]), float(test.sd[0, 0])
        return Estimate(effect, float(lo), float(hi), se, sd, int(self.result.df_resid), self.n)

    def slope(self, level: float) -> Estimate:
        return self.estimate([*[0] * len(self.groups), 1], level)


def _fit(x: np.ndarray, y: np.ndarray, group: np.ndarray) -> _Fit:
    """Parallel lines through the groups."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    groups = list(dict.fromkeys(np.asarray(group).tolist()))
    members = np.array([[one == name for name in groups] for one in np.asarray(group).tolist()], dtype=float)
    df = len(y) - len(groups) - 1
    reason = reason_lacking(x, "covariates") or reason_lacking(y, "values")
    if not reason and df < 1:
        reason = f"need more values than groups and a slope, have {len(y)} in {len(groups)} groups"
    if not reason and is_dust(_sd_within(x, members, df + 1), x):
        reason = "the covariate does not vary within a group, so there is no slope"
    if reason:
        return _Fit(groups, n=len(y), reason=reason)
    from statsmodels.regression.linear_model import OLS  # takes a second to import, and a note needs it rarely

    result = OLS(y, np.column_stack([members, x - x.mean()])).fit()
    if is_dust(float(np.sqrt(result.mse_resid)), y):
        return _Fit(groups, n=len(y), reason="the values do not vary about the line, so no interval can be given")
    return _Fit(groups, result, float(x.mean()), len(y))


def _sd_within(x: np.ndarray, members: np.ndarray, df: int) -> float:
    """Standard deviation of `x` about the mean of its group."""
    means = members.T @ x / members.sum(axis=0)
    return float(np.sqrt(np.sum((x - members @ means) ** 2) / df))
