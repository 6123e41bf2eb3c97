"""Looking at the data before all rows are there: what it costs, and the bounds that pay for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import pi, sqrt
from typing import Literal

import numpy as np
import scipy

Kind = Literal["none", "pocock", "obrien-fleming"]
SHAPES = {"pocock": 0.0, "obrien-fleming": -0.5}
"""Power of the information fraction by which a kind's bounds fall: z_k = c t_k**power."""
REACH = 9.0
"""Standard deviations beyond which nothing is left to integrate (1e-18): a bound farther out ends no course."""


@dataclass(frozen=True)
class Boundary:
    """Two-sided bounds for planned looks, which together err with probability alpha."""

    kind: Kind
    alpha: float
    fractions: tuple[float, ...]
    """Share of the planned information (rows) at each look; the last is 1."""
    z: tuple[float, ...]
    """Standardised difference at which each look decides."""

    def level_at(self, look: int) -> float:
        """Level in percent of the interval at `look`, the first being 1: 100 (1 − p), p = 2 (1 − Φ(z)).

        It goes into a t interval in place of the plain level. With one planned look it is the plain level.
        """
        if not 1 <= look <= len(self.z):
            raise ValueError(f"look {look}; expected one of the {len(self.z)} planned.")
        if len(self.z) == 1:
            return round(100 * (1 - self.alpha), 9)  # exactly 95, where Φ and its inverse give almost that
        return 100 * (1 - 2 * float(scipy.stats.norm.sf(self.z[look - 1])))


def boundary(kind: Kind, looks: int, alpha: float = 0.05, fractions: Sequence[float] | None = None) -> Boundary:
    """Bounds of `kind` for `looks` planned looks; a look decides where the standardised difference passes its bound.

    Pocock: the same bound at each look. O'Brien–Fleming: bounds that fall as 1/√t. `fractions` are the shares t of
    information at the looks, equal steps by default; the bounds err with alpha at exactly these, so that looks at
    other times void them. One look has the plain bound whatever the kind. "none" with more than one look is refused:
    it has no bound that errs with alpha. R22; Jennison and Turnbull 2000, tables 2.1 and 2.3.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha {alpha}; expected a number between 0 and 1.")
    if looks < 1:
        raise ValueError(f"{looks} looks; expected one or more.")
    shares = _checked(fractions if fractions is not None else [(k + 1) / looks for k in range(looks)])
    if len(shares) != looks or shares[-1] != 1:
        raise ValueError(f"fractions {shares} for {looks} looks; expected one for each, the last being 1.")
    plain = float(scipy.stats.norm.isf(alpha / 2))
    if looks == 1:
        return Boundary(kind, alpha, shares, (plain,))
    if kind not in SHAPES:
        raise ValueError(
            f"{looks} looks with bounds {kind!r}; expected {' or '.join(SHAPES)}. At {plain:.2f} each, they would err "
            f"with {error_of([plain] * looks, shares):.3f} and not with {alpha}."
        )
    shape = [t ** SHAPES[kind] for t in shares]
    # Between the bound of one look and that of looks which each take their part of alpha (Bonferroni).
    constant = scipy.optimize.brentq(
        lambda c: error_of([c * s for s in shape], shares) - alpha,
        plain * (1 - 1e-9),
        float(scipy.stats.norm.isf(alpha / looks / 2)),
        xtol=1e-12,
    )
    return Boundary(kind, alpha, shares, tuple(constant * s for s in shape))


def error_of(z: Sequence[float], fractions: Sequence[float] | None = None) -> float:
    """Probability that looks with the two-sided bounds `z` decide for a difference where there is none.

    `fractions` are the shares of information at the looks, equal steps by default. [1.96] * K gives the error of K
    naive looks. R22; the recursion of Armitage, McPherson and Rowe 1969, by Gauss–Legendre quadrature.
    """
    times = _checked(fractions if fractions is not None else [(k + 1) / len(z) for k in range(len(z))])
    if len(times) != len(z):
        raise ValueError(f"{len(z)} bounds at {len(times)} looks; expected one for each.")
    if not all(bound > 0 for bound in z):
        raise ValueError(f"bounds {tuple(z)}; expected numbers above zero.")
    # `weights` hold the density of the sum of all data so far, at `points`, among courses that no look has ended.
    ends = [min(bound, REACH) * sqrt(t) for bound, t in zip(z, times, strict=True)]
    steps = [sqrt(later - t) for t, later in zip((0.0, *times), times, strict=False)]
    points, weights = np.zeros(1), np.ones(1)
    for number, (end, step) in enumerate(zip(ends, steps, strict=True)):
        # Points no farther apart than half the step to this look or to the next: between them the density is smooth.
        nodes, shares = _quadrature(1 + int(2 * pi * end / min(steps[number : number + 2]) / 32))
        onto = nodes * end
        density = scipy.stats.norm.pdf((onto[:, None] - points) / step) @ weights / step
        points, weights = onto, density * shares * end
    return 1 - float(np.sum(weights))


@lru_cache
def _quadrature(blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights on −1 to 1; in blocks of 32, so that close bounds share them."""
    return np.polynomial.legendre.leggauss(32 + 32 * blocks)


def _checked(fractions: Sequence[float]) -> tuple[float, ...]:
    """`fractions`, which have to rise from above 0 to at most 1."""
    times = tuple(float(t) for t in fractions)
    if not times or not all(a < b for a, b in zip((0.0, *times), (*times, 1.0 + 1e-12), strict=False)):
        raise ValueError(f"information fractions {times}; expected ones that rise from above 0 to 1.")
    return times
