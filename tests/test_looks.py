"""Looks at unfinished data: what they cost, and the bounds that keep to alpha."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.served import repeatable

from campaign.analysis.looks import boundary, error_of

KINDS = st.sampled_from(["pocock", "obrien-fleming"])
FRACTIONS = st.lists(st.integers(1, 19), max_size=4, unique=True).map(lambda v: [*(n / 20 for n in sorted(v)), 1.0])
"""Shares of information at up to five looks."""


@repeatable
@given(KINDS, FRACTIONS, st.sampled_from([0.01, 0.05, 0.2]))
def test_bounds_err_with_alpha(kind, fractions, alpha):
    """The bounds of planned looks, at equal steps or others, together err with alpha."""
    found = boundary(kind, len(fractions), alpha, fractions)
    assert error_of(found.z, fractions) == pytest.approx(alpha, rel=1e-9)


@repeatable
@given(st.lists(st.floats(0.5, 4), min_size=2, max_size=2), st.integers(1, 19))
def test_error_of_two_looks_is_that_of_two_correlated_normals(z, twentieth):
    """For two looks the error is that of a bivariate normal distribution, which scipy knows."""
    root = math.sqrt(twentieth / 20)
    both = stats.multivariate_normal(cov=[[1, root], [root, 1]], abseps=1e-10, maxpts=10**6, seed=1)
    inside = both.cdf(z, lower_limit=[-one for one in z])
    assert error_of(z, [twentieth / 20, 1]) == pytest.approx(1 - inside, abs=1e-7)


@repeatable
@given(FRACTIONS, st.floats(1.5, 3), st.floats(0.1, 1))
def test_stricter_bounds_err_less(fractions, bound, more):
    """A bound farther out lowers the error, and further looks raise it above that of the last alone."""
    looks = len(fractions)
    loose, strict = error_of([bound] * looks, fractions), error_of([bound + more] * looks, fractions)
    assert strict < loose
    assert loose >= 2 * stats.norm.sf(bound) * (1 - 1e-12)


@repeatable
@given(FRACTIONS, st.floats(1.5, 3))
def test_bound_that_nothing_reaches_is_no_look(fractions, bound):
    """A look with an infinite bound costs nothing."""
    z = [math.inf] * (len(fractions) - 1) + [bound]
    assert error_of(z, fractions) == pytest.approx(2 * stats.norm.sf(bound), rel=1e-10)


@pytest.mark.parametrize("level", [80.0, 90.0, 95.0, 99.0, 99.9])
@pytest.mark.parametrize("kind", ["none", "pocock", "obrien-fleming"])
def test_one_look_is_the_plain_interval(kind, level):
    """With one planned look the level is the plain one, to the last digit, whatever the kind."""
    found = boundary(kind, 1, 1 - level / 100)
    assert found.level_at(1) == level
    assert found.z == (pytest.approx(stats.norm.ppf(0.5 + level / 200)),)


def test_levels_are_those_of_the_bounds():
    """Each look has the level of its bound: O'Brien–Fleming's fall to a last one near 95, Pocock's are alike."""
    strict, even = boundary("obrien-fleming", 5), boundary("pocock", 5)
    levels = [strict.level_at(look) for look in range(1, 6)]
    assert levels == sorted(levels, reverse=True)
    assert levels[-1] == pytest.approx(100 * (2 * stats.norm.cdf(2.040073175) - 1), rel=1e-9)
    assert {round(even.level_at(look), 9) for look in range(1, 6)} == {round(even.level_at(1), 9)}
    assert all(strict.level_at(look) > 95 for look in range(1, 6))


def test_obrien_fleming_bounds_fall_as_the_root_of_information():
    """The bound at a quarter of the rows is twice the last."""
    found = boundary("obrien-fleming", 2, fractions=[0.25, 1])
    assert found.z[0] == pytest.approx(2 * found.z[1])


def test_simulated_looks_keep_to_alpha():
    """Of 40 000 simulated campaigns without difference, about alpha end with one at some look (seed 7)."""
    found = boundary("pocock", 3, fractions=[0.2, 0.5, 1])
    steps = np.random.default_rng(7).normal(0, np.sqrt([0.2, 0.3, 0.5]), (40_000, 3))
    z = np.cumsum(steps, axis=1) / np.sqrt(found.fractions)
    assert np.mean(np.any(np.abs(z) >= found.z, axis=1)) == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 40_000))


def test_ten_looks_take_less_than_a_second():
    """A plan with ten looks is checked while its author waits."""
    start = time.process_time()
    boundary("obrien-fleming", 10)
    assert time.process_time() - start < 1


def test_naive_looks_are_refused():
    """Looks at the plain level are no kind of bound, and the refusal says what they would cost."""
    with pytest.raises(ValueError, match=r"expected pocock or obrien-fleming. At 1.96 each, they would err with 0.142"):
        boundary("none", 5)


@pytest.mark.parametrize(
    ("looks", "alpha", "fractions"),
    [
        (0, 0.05, None),
        (2, 0.0, None),
        (2, 1.0, None),
        (2, 0.05, [1.0]),
        (2, 0.05, [0.5, 0.9]),
        (2, 0.05, [0.5, 1.1]),
        (3, 0.05, [0.5, 0.5, 1.0]),
        (2, 0.05, [0.0, 1.0]),
        (2, 0.05, [math.nan, 1.0]),
    ],
)
def test_looks_without_meaning_are_refused(looks, alpha, fractions):
    """Looks are one or more, and their shares of information rise to 1."""
    with pytest.raises(ValueError, match="expected"):
        boundary("pocock", looks, alpha, fractions)


@pytest.mark.parametrize(
    ("z", "fractions"), [([], None), ([2.0, -1.0], None), ([2.0, math.nan], None), ([2.0], [0.5, 1])]
)
def test_bounds_without_meaning_are_refused(z, fractions):
    """A bound is above zero, and there is one for each look."""
    with pytest.raises(ValueError, match="expected"):
        error_of(z, fractions)


@pytest.mark.parametrize("look", [0, 4])
def test_unplanned_look_has_no_level(look):
    """A look that was not planned has no level."""
    with pytest.raises(ValueError, match="expected one of the 3 planned"):
        boundary("pocock", 3).level_at(look)
