"""What the rows say without the t distribution: permutations, ranks, resamples and rows left out.

These check a reading and never decide one (R16). What can be enumerated is exact; what cannot is drawn from
NumPy's PCG64 with the seed given, and says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb, sqrt

import numpy as np
import scipy

from campaign.analysis.expressions import COMPARISON_DIGITS
from campaign.analysis.intervals import DUST, Estimate, difference, reason_rows_lack

MOST_EXACT = 2_000_000
"""Splits or resamples that are enumerated; more are drawn."""
DRAWS = 100_000
"""Splits or resamples drawn where there are too many."""
MOST_RANKED = 200
"""Rows of both arms together for which the distribution of rank sums is computed."""
FEWEST_YARDSTICK = 8
"""Yardstick rows below which a placebo says nothing."""
_BLOCK = 20_000
_NO_VARIANCE = 1e-9
"""A split whose squares within its arms are below this share of all squares has no variance but dust of floats."""


@dataclass(frozen=True)
class PermutationTest:
    """How many ways to split the rows give a difference of means at least as large."""

    p: float | None
    """Two-sided; None with a reason."""
    count: int = 0
    """Splits whose absolute difference of means reaches the observed one."""
    total: int = 0
    """Splits enumerated, or drawn."""
    exact: bool = True
    se: float | None = None
    """Standard error of p where splits were drawn."""
    warnings: tuple[str, ...] = ()
    reason: str = ""


def permutation_test(first: np.ndarray, second: np.ndarray, seed: int = 0) -> PermutationTest:
    """Exact two-sided p of the absolute difference of means over all splits of the rows into two such arms.

    Above MOST_EXACT splits DRAWS of them are drawn, with p = (count + 1)/(total + 1), which is never 0. R16;
    R: perm::permTS(exact=TRUE, tsmethod="abs").
    """
    lacking = reason_rows_lack(first, second)
    if lacking:
        return PermutationTest(None, reason=lacking)
    values = np.concatenate([first, second])
    dust = DUST * float(np.max(np.abs(values)))  # sums that are equal differ in their last bits
    values = values - values.mean()
    # about the mean of all, the sums of both arms are opposite and in proportion to the difference of means
    pick = min(len(first), len(second))
    least = abs(float(values[: len(first)].sum())) - dust
    splits, exact = _splits(len(values), pick, seed)
    count = total = 0
    for block in splits:
        count += int(np.sum(np.abs(values[block].sum(axis=1)) >= least))
        total += len(block)
    if exact:
        return PermutationTest(count / total, count, total)
    p = (count + 1) / (total + 1)
    return PermutationTest(
        p, count, total, False, sqrt(p * (1 - p) / total), (_drawn(total, comb(len(values), pick), "splits", seed),)
    )


@dataclass(frozen=True)
class RankTest:
    """How far apart two arms stand in rank."""

    p: float | None
    """Two-sided; None with a reason."""
    u: float | None = None
    """Pairs in which the first arm's row is above the second's; a tie counts half."""
    exact: bool = True
    warnings: tuple[str, ...] = ()
    reason: str = ""


def mann_whitney(first: np.ndarray, second: np.ndarray) -> RankTest:
    """Exact two-sided p of U by |U − μ| over all splits of the rows, ties at their mid-ranks.

    Above MOST_RANKED rows the normal approximation with its correction for ties, saying so; rows that are all
    the same give p = 1. R16; R: coin::wilcox_test(distribution="exact").
    """
    lacking = reason_rows_lack(first, second)
    if lacking:
        return RankTest(None, reason=lacking)
    n, n1 = len(first) + len(second), len(first)
    # twice the mid-ranks are whole numbers, so that equal sums are equal
    doubled = np.rint(2 * scipy.stats.rankdata(np.concatenate([first, second]))).astype(int)
    rank_sum = int(doubled[:n1].sum())
    u = (rank_sum - n1 * (n1 + 1)) / 2
    if n > MOST_RANKED:
        p = (
            1.0
            if len(set(doubled)) == 1
            else float(scipy.stats.mannwhitneyu(first, second, method="asymptotic").pvalue)
        )
        return RankTest(p, u, False, (f"normal approximation: {n} rows are more than {MOST_RANKED}",))
    ways = _rank_sums(doubled, n1)
    away = np.abs(np.arange(len(ways)) - n1 * (n + 1))
    return RankTest(float(ways[away >= abs(rank_sum - n1 * (n + 1))].sum() / ways.sum()), u)


def _rank_sums(ranks: np.ndarray, pick: int) -> np.ndarray:
    """Ways to pick `pick` of the whole `ranks` with the sum that is the place in the array."""
    ways = np.zeros((pick + 1, int(np.sort(ranks)[-pick:].sum()) + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank]
    return ways[pick]


@dataclass(frozen=True)
class HodgesLehmann:
    """Median of the pairwise differences, with the level that its interval can reach."""

    estimate: Estimate
    """The median with its interval and the level reached; without value where the rows cannot reach what is asked."""
    median: float | None = None
    """The median, interval or none."""
    most: float | None = None
    """Greatest level in percent that so many rows can reach."""


def hodges_lehmann(first: np.ndarray, second: np.ndarray, level: float) -> HodgesLehmann:
    """Median of all differences, a row of `first` minus a row of `second`, with its exact rank interval.

    The interval runs between two of the differences and has at least the level asked for in percent, with ties too.
    Unresolved where the widest interval, from the least difference to the greatest, falls short of `level`: four
    rows against two reach 86.7 percent. R16; R: wilcox.test(conf.int=TRUE, exact=TRUE), which shows the lower
    level instead.
    """
    n = len(first) + len(second)
    lacking = reason_rows_lack(first, second)
    if lacking:
        return HodgesLehmann(Estimate(None, n=n, reason=lacking))
    differences = np.sort(np.subtract.outer(first, second).ravel())
    median = float(np.median(differences))
    if n > MOST_RANKED:
        reason = f"{n} rows are more than the {MOST_RANKED} for which the distribution of ranks is computed"
        return HodgesLehmann(Estimate(None, n=n, reason=reason), median)
    ways = _rank_sums(np.arange(1, n + 1), len(first))[len(first) * (len(first) + 1) // 2 :]
    levels = 100 * (1 - 2 * np.cumsum(ways) / ways.sum())
    most = float(levels[0])
    reaching = int(np.sum(np.round(levels, COMPARISON_DIGITS) >= round(level, COMPARISON_DIGITS)))
    if not reaching:
        reason = f"{len(first)} v {len(second)} rows reach at most {most:.1f} percent, less than {level:g}"
        return HodgesLehmann(Estimate(None, n=n, reason=reason), median, most)
    lo, hi = float(differences[reaching - 1]), float(differences[-reaching])
    if hi - lo <= DUST * float(np.max(np.abs(np.concatenate([first, second])))):
        reason = "the differences that bound the interval are the same, so no interval can be given"
        return HodgesLehmann(Estimate(None, n=n, reason=reason), median, most)
    return HodgesLehmann(Estimate(median, lo, hi, n=n, level=float(levels[reaching - 1])), median, most)


@dataclass(frozen=True)
class RowBootstrap:
    """The difference of means over resampled rows."""

    estimate: Estimate
    """Observed difference; `se` divides by the number of resamples, `lo` and `hi` are quantiles of them."""
    resamples: int = 0
    exact: bool = True
    """Whether all resamples were enumerated."""


def exact_row_bootstrap(first: np.ndarray, second: np.ndarray, level: float = 95, seed: int = 0) -> RowBootstrap:
    """Mean of `first` minus mean of `second` over all resamples of the rows of each arm, with replacement.

    `lo` and `hi` are the percentiles that leave half of what `level` leaves at each end. Narrow with few rows: a
    check, no interval to decide on. Above MOST_EXACT resamples DRAWS of them are drawn. Unresolved with a single row
    in an arm, which resampling would take for exactly known, and where no row varies. R16; R: boot::boot.
    """
    n = len(first) + len(second)
    reason = reason_rows_lack(first, second)
    if not reason and min(len(first), len(second)) < 2:
        reason = f"need at least two rows in each arm to resample, have {len(first)} and {len(second)}"
    found = difference(first, second, level)
    reason = reason or found.reason
    if reason:
        return RowBootstrap(Estimate(None, n=n, reason=reason))
    total = len(first) ** len(first) * len(second) ** len(second)
    exact = total <= MOST_EXACT
    if exact:
        shifts = np.subtract.outer(_all_means(first), _all_means(second)).ravel()
    else:
        rng = np.random.Generator(np.random.PCG64(seed))
        means = [arm[rng.integers(len(arm), size=(DRAWS, len(arm)))].mean(axis=1) for arm in (first, second)]
        shifts = means[0] - means[1]
    lo, hi = np.quantile(shifts, [0.5 - level / 200, 0.5 + level / 200])
    warnings = () if exact else (_drawn(DRAWS, total, "resamples", seed),)
    estimate = Estimate(found.value, float(lo), float(hi), float(shifts.std()), n=n, warnings=warnings, level=level)
    return RowBootstrap(estimate, len(shifts), exact)


def _all_means(values: np.ndarray) -> np.ndarray:
    """Means of all len(values)^len(values) resamples."""
    sums = np.zeros(1)
    for _ in values:
        sums = np.add.outer(sums, values).ravel()
    return sums / len(values)


@dataclass(frozen=True)
class LeftOut:
    """The difference without one row."""

    arm: str
    """first or second."""
    row: str
    """Its name, or its place from 1."""
    estimate: Estimate


def leave_one_out(
    first: np.ndarray,
    second: np.ndarray,
    level: float,
    first_names: Sequence[str] | None = None,
    second_names: Sequence[str] | None = None,
) -> tuple[LeftOut, ...]:
    """The pooled difference (`difference`) with each row left out in turn, of the first arm and then of the second.

    Unresolved wherever `difference` is for the rows that remain. R16.
    """
    found = []
    for arm, values, names in (("first", first, first_names), ("second", second, second_names)):
        names = names if names is not None else [str(place + 1) for place in range(len(values))]
        if len(names) != len(values):
            raise ValueError(f"{len(names)} names for the {len(values)} rows of the {arm} arm; expected one each.")
        for place, name in enumerate(names):
            rest = np.delete(values, place)
            arms = (rest, second) if arm == "first" else (first, rest)
            found.append(LeftOut(arm, str(name), difference(*arms, level)))
    return tuple(found)


@dataclass(frozen=True)
class Placebo:
    """How often yardstick rows alone, split as if some were changed, would carry."""

    share: float | None
    """Carried of splits; None with a reason."""
    expected: float
    """Share to expect where rows do not differ: half of what the level leaves, with the bar at 0."""
    carried: int = 0
    splits: int = 0
    exact: bool = True
    se: float | None = None
    """Standard error of the share where splits were drawn."""
    warnings: tuple[str, ...] = ()
    reason: str = ""


def placebo(values: np.ndarray, pick: int, bar: float = 0.0, level: float = 95, seed: int = 0) -> Placebo:
    """Share of all splits of the yardstick rows in which `pick` of them would carry against the rest.

    A split carries where the lower end of the pooled t interval, rest minus picked, is above 0 and reaches `bar`. A
    split without any variance does not. Above MOST_EXACT splits DRAWS of them are drawn. Skipped with the reason below
    FEWEST_YARDSTICK rows. R20; the share to expect holds on average over yardsticks, not in each.
    """
    expected = (100 - level) / 200
    n = len(values)
    reason = reason_rows_lack(values, values)
    if not reason and n < FEWEST_YARDSTICK:
        reason = f"need at least {FEWEST_YARDSTICK} yardstick rows, have {n}"
    reason = reason or difference(values, values, level).reason
    if reason:
        return Placebo(None, expected, reason=reason)
    if not 0 < pick < n:
        raise ValueError(f"pick {pick} of {n} rows; expected at least one, and one left over.")
    t = float(scipy.stats.t.ppf(0.5 + level / 200, n - 2)) * sqrt((1 / pick + 1 / (n - pick)) / (n - 2))
    centred = values - values.mean()
    squares = float(np.sum(centred**2))
    blocks, exact = _splits(n, pick, seed)
    carried = total = 0
    for block in blocks:
        picked = centred[block].mean(axis=1)
        rest = -picked * pick / (n - pick)
        within = np.maximum(0, squares - pick * picked**2 - (n - pick) * rest**2)
        lower = np.round(rest - picked - t * np.sqrt(within), COMPARISON_DIGITS)
        varies = within > _NO_VARIANCE * squares
        carried += int(np.sum(varies & (lower > 0) & (lower >= round(bar, COMPARISON_DIGITS))))
        total += len(block)
    share = carried / total
    if exact:
        return Placebo(share, expected, carried, total)
    se = sqrt(share * (1 - share) / total)
    return Placebo(share, expected, carried, total, False, se, (_drawn(total, comb(n, pick), "splits", seed),))


def _splits(n: int, pick: int, seed: int) -> tuple[Iterator[np.ndarray], bool]:
    """Blocks of the places picked, [splits, pick], of all splits or of DRAWS drawn; and whether they are all."""
    exact = comb(n, pick) <= MOST_EXACT
    return (_all_splits(n, pick) if exact else _drawn_splits(n, pick, seed)), exact


def _all_splits(n: int, pick: int) -> Iterator[np.ndarray]:
    every = combinations(range(n), pick)
    while block := list(islice(every, _BLOCK)):
        yield np.array(block)


def _drawn_splits(n: int, pick: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.Generator(np.random.PCG64(seed))
    for start in range(0, DRAWS, _BLOCK):
        yield rng.random((min(_BLOCK, DRAWS - start), n)).argpartition(pick - 1, axis=1)[:, :pick]


def _drawn(drawn: int, of: int, what: str, seed: int) -> str:
    size = f"{of:,}" if of < 10**12 else f"{of:.1e}"
    return f"{drawn:,} of {size} {what} drawn with seed {seed}"
