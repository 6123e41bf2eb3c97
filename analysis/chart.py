"""Control charts of values in order of time: which of them lie outside what the others lead to expect."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from campaign.analysis.expressions import COMPARISON_DIGITS
from campaign.analysis.intervals import DUST, reason_lacking

FEWEST_POINTS = 8
"""Points below which no limits are drawn."""
MOVING_RANGE_SD = 1.128
"""Mean moving range of two over the standard deviation, d2, for normal values."""
INDIVIDUALS_WIDTH = 2.66
"""Limits of an individuals chart in mean moving ranges: 3/d2."""


@dataclass(frozen=True)
class Chart:
    """The points of a control chart with their limits."""

    points: tuple[float, ...]
    """What is drawn: the values, or their moving averages."""
    center: float | None
    """Mean of the values; None with a reason."""
    lo: tuple[float, ...] = ()
    """Lower limit at each point; empty with a reason."""
    hi: tuple[float, ...] = ()
    """Upper limit at each point; empty with a reason."""
    shifts: tuple[int, ...] = ()
    """Places, from 0, of the points beyond their limits."""
    moving_range: float | None = None
    """Mean absolute difference of neighbours."""
    reason: str = ""
    """Why there are no limits."""


def individuals_chart(values: Sequence[float]) -> Chart:
    """The values with the limits mean ± 2.66 · mean moving range, in their unit.

    Below FEWEST_POINTS values, where neighbours never differ and where values lack, there are no limits. R21;
    R: qcc::qcc(type="xbar.one").
    """
    points, center, moving_range, reason = _centre(values)
    if reason:
        return Chart(points, center, moving_range=moving_range, reason=reason)
    half = INDIVIDUALS_WIDTH * moving_range
    return _with_limits(points, center, np.full(len(points), half), moving_range)


def ewma_chart(values: Sequence[float], weight: float = 0.2, width: float = 2.7) -> Chart:
    """Exponentially weighted moving averages of the values with their limits, in their unit.

    z_i = λ·x_i + (1 − λ)·z_{i−1} from the mean on; limits mean ± L·σ·√(λ/(2 − λ)·(1 − (1 − λ)^(2i))), exact at
    every i, with σ = mean moving range/1.128. λ is `weight`, L `width`. No limits where `individuals_chart` has none.
    R21; R: qcc::ewma; Lucas and Saccucci 1990.
    """
    if not 0 < weight <= 1 or not width > 0:
        raise ValueError(f"weight {weight}, width {width}; expected a weight above 0, at most 1, and a width above 0.")
    found, center, moving_range, reason = _centre(values)
    if center is None:
        return Chart(found, None, reason=reason)
    averages, last = [], center
    for value in found:
        last = weight * value + (1 - weight) * last
        averages.append(last)
    points = tuple(averages)
    if reason:
        return Chart(points, center, moving_range=moving_range, reason=reason)
    spread = weight / (2 - weight) * (1 - (1 - weight) ** (2 * np.arange(1, len(points) + 1)))
    return _with_limits(points, center, width * moving_range / MOVING_RANGE_SD * np.sqrt(spread), moving_range)


def _centre(values: Sequence[float]) -> tuple[tuple[float, ...], float | None, float | None, str]:
    """The values, their mean, their mean moving range, and why there are no limits."""
    array = np.asarray(values, dtype=float)
    points = tuple(array.tolist())
    if not points:
        return points, None, None, "there are no points"
    lacking = reason_lacking(array, "points")
    if lacking:
        return points, None, None, lacking
    center = float(array.mean())
    if len(points) < FEWEST_POINTS:
        return points, center, None, f"need at least {FEWEST_POINTS} points for limits, have {len(points)}"
    moving_range = float(np.mean(np.abs(np.diff(array))))
    if moving_range <= DUST * float(np.max(np.abs(array))):
        return points, center, None, "the points do not vary, so no limits can be given"
    return points, center, moving_range, ""


def _with_limits(points: tuple[float, ...], center: float, half: np.ndarray, moving_range: float) -> Chart:
    lo, hi = center - half, center + half
    at, below, above = (np.round(one, COMPARISON_DIGITS) for one in (points, lo, hi))
    shifts = np.flatnonzero((at < below) | (at > above))
    return Chart(points, center, tuple(lo.tolist()), tuple(hi.tolist()), tuple(shifts.tolist()), moving_range)
