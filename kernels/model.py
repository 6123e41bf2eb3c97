"""A model of how long a selection takes: what was predicted before any kernel ran, and a refit to what was measured.

A call is a chain of steps that wait for one another: the graph node, the load, the rounds of the cluster, the listing,
the emission. Its time is a fixed part, which grows with the cluster, and parts that grow with what one block has to
go through. The prediction stands as it was made; the refit has other terms, those that the measurements ask for.
Times are of float32 rows in the L2 cache.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import ceil, log2

import numpy as np
import pandas as pd
from scipy.stats import norm
from statsmodels.api import WLS

from campaign.kernels.emulation import KERNEL_SIZES
from campaign.kernels.shapes import Shape, chosen, smallest

MEASURED_ALONE = "measured by themselves on an H200, 2026-11-29"
NODE_US = {1: 0.58, 8: 0.88, 16: 0.96}
"""A graph node with an empty kernel, by cluster size, of 1,024 threads a block: MEASURED_ALONE."""
RESIDENT = {1: 132, 8: 15, 16: 7}
"""Clusters that an H200 holds at once, one block a multiprocessor: MEASURED_ALONE. Others are not modelled."""
HELD_OUT = 1_024
"""Cells of this k are not fitted: they show what the refit says of calls that it has not seen."""
THREADS_A_MULTIPROCESSOR = 1_024
"""With 64 registers each, to which kernel.cuh holds the compiler: so two blocks of 512 threads."""


@dataclass(frozen=True)
class Prediction:
    """Constants of a time that is predicted from the cluster size and the length of a row, whatever k is."""

    label: str
    source: str
    node_us: Mapping[int, float]
    """The graph node, by cluster size, with what a cluster adds to a launch."""
    rest_us: float
    """First load, tail of the histogram, output: what every row takes once."""
    round_us: float
    """One exchange of counts among the blocks of a cluster."""
    wide_us: float
    """What a cluster of 16 blocks takes more than one of eight."""
    slope_us: float
    """For each 1,024 keys of a block: reading, counting, loop and emission."""
    again_us: float
    """The same, more, where a block does not keep its keys and reads them again."""
    kept_keys: int
    """Keys that a block keeps at most."""

    def time_us(self, cluster: int, columns: int, *, rounds: int = 2) -> float:
        """Microseconds for one wave of rows of `columns` keys; rounds: exchanges, of which one block needs none."""
        keys = columns / cluster
        fixed = self.node_us[cluster] + self.rest_us
        if cluster > 1:
            fixed += rounds * self.round_us + (self.wide_us if cluster > 8 else 0)
        return fixed + (self.slope_us + (self.again_us if keys > self.kept_keys else 0)) * keys / 1024


PREDICTED = Prediction(
    label="predicted",
    source="the kernels' specification, not later than 2026-11-29, before any of them ran",
    node_us={1: 2.15, 8: 2.65, 16: 2.65},
    rest_us=2.15,
    round_us=0.9,
    wide_us=0.9,
    slope_us=0.27,
    again_us=0.10,
    kept_keys=32_768,
)
"""One block 4.3 µs, eight 6.6, sixteen 7.5, and 0.27 µs for each 1,024 keys of a block, 0.10 more where it keeps none.

The specification's parts of a round, 0.35 for a barrier and about 0.25 for each of two reads, add up to 0.85; 0.9 is
what its totals give.
"""

CORRECTED = replace(
    PREDICTED,
    label="corrected",
    source=f"the same, with the constants put in that were {MEASURED_ALONE}",
    node_us=NODE_US,
    round_us=0.383 + 2 * 0.213,
    slope_us=0.27 - 0.11 + 0.036,
)
"""Three constants replaced: the graph node; a cluster's barrier and a pull of 2 KB; the histogram, 0.036 for 0.11."""


@dataclass(frozen=True)
class Call:
    """What a time depends on: one call of a kernel on normal data."""

    k: int
    columns: int
    rows: int
    shape: Shape

    @property
    def keys(self) -> float:
        """Thousands (1,024) of positions that a block goes through, those past the end of a short row included."""
        if self.shape.vectors:
            return self.shape.threads * self.shape.vectors * 4 / 1024
        return self.columns / self.shape.cluster / 1024

    @property
    def rereads(self) -> bool:
        """Whether the blocks keep no keys and read the row again at every pass."""
        return self.shape.vectors == 0

    @property
    def resident(self) -> int:
        """Rows that are worked on at once."""
        return RESIDENT[self.shape.cluster] * (THREADS_A_MULTIPROCESSOR // self.shape.threads)

    @property
    def waves(self) -> int:
        """How often the GPU fills with clusters until all rows are done."""
        return ceil(self.rows / self.resident)

    @property
    def listed(self) -> float:
        """Thousands of entries that are expected in the bin with the k-th best, which the finish goes through."""
        return in_the_crossing_bin(self.k, self.columns) / 1000


POSITIVE = 1 << 31
"""The key of +0: that of a positive score is so much more than its bits."""


@cache
def in_the_crossing_bin(k: int, columns: int) -> float:
    """Of `columns` normal scores, how many are expected to share the first histogram's bin with the k-th largest."""
    at = np.array([abs(norm.isf(k / columns))], np.float32).view(np.uint32)
    (scaled,) = KERNEL_SIZES.scaled_bin(at | np.uint32(POSITIVE))
    least, most = KERNEL_SIZES.range_of_bin((int(scaled) >> KERNEL_SIZES.step_bits) + KERNEL_SIZES.side)
    edges = (np.array([least, most + 1]) - POSITIVE).astype(np.uint32).view(np.float32)
    return float(columns * (norm.sf(edges[0]) - norm.sf(edges[1])))


@dataclass(frozen=True)
class Term:
    """One part of the refitted time of a wave: a constant, fitted, times a quantity of the call."""

    name: str
    says: str
    quantity: Callable[[Call], float] = field(repr=False)


TERMS = (
    *(
        Term(
            f"fixed, {cluster} block{'s' if cluster > 1 else ''}",
            "µs, whatever the length",
            lambda call, cluster=cluster: float(call.shape.cluster == cluster),
        )
        for cluster in RESIDENT
    ),
    Term("keys", "µs for each 1,024 positions that a block goes through", lambda call: call.keys),
    Term("read again", "µs where a block keeps no keys", lambda call: float(call.rereads)),
    Term("keys read again", "µs more for each 1,024 of those", lambda call: call.keys * call.rereads),
    Term(
        "listed, one block",
        "µs for each 1,000 entries in the bin of the k-th best, one block",
        lambda call: call.listed * (call.shape.cluster == 1),
    ),
    Term(
        "listed, cluster",
        "the same in a cluster, whose blocks send them to one another",
        lambda call: call.listed * (call.shape.cluster > 1),
    ),
    Term("emitted", "µs for each 1,000 of k", lambda call: call.k / 1000),
    Term(
        "company",
        "µs for each doubling of the rows that are worked on at once",
        lambda call: log2(min(call.rows, call.resident)),
    ),
)
"""A call takes its graph node (NODE_US), and in each wave the sum of these."""


def rms_share(cells: pd.DataFrame) -> float:
    """Root of the mean square of what a model misses, as shares of the measured times."""
    return float((((cells.measured_us - cells.refitted_us) / cells.measured_us) ** 2).mean() ** 0.5)


@dataclass(frozen=True)
class Estimate:
    """A fitted constant."""

    value: float
    standard_error: float


@dataclass(frozen=True)
class Refit:
    """The model, fitted."""

    constants: Mapping[str, Estimate]
    """By the name of the term; those alone that the calls can tell."""
    cells: pd.DataFrame
    """kernel, k, columns, rows, shape, waves, measured_us and refitted_us of each cell that was fitted."""

    def time_us(self, call: Call) -> float:
        """Microseconds of a call, NaN where it has a term whose constant the fitted calls could not tell."""
        if any(term.quantity(call) and term.name not in self.constants for term in TERMS):
            return float("nan")
        wave = sum(
            self.constants[term.name].value * term.quantity(call) for term in TERMS if term.name in self.constants
        )
        return NODE_US[call.shape.cluster] + call.waves * wave

    @property
    def residual_us(self) -> pd.Series:
        """Measured less refitted."""
        return self.cells.measured_us - self.cells.refitted_us

    @property
    def rms_us(self) -> float:
        """Root of the mean square of the residuals."""
        return float((self.residual_us**2).mean() ** 0.5)

    @property
    def rms_share(self) -> float:
        """The same of the residuals as shares of the measured times: what the fit makes least."""
        return rms_share(self.cells)

    @property
    def worst(self) -> pd.Series:
        """The cell whose residual is the largest share of its time."""
        return self.cells.loc[(self.residual_us / self.cells.measured_us).abs().idxmax()]


def shape_of(kernel: str, rows: int, columns: int) -> Shape:
    """The shape that a kernel takes on an H200 for rows of float32 that start at multiples of 16 bytes."""
    if kernel == "auto":
        return chosen(rows, columns)
    return smallest(8, columns) if kernel == "rs8" else smallest(1, columns, threads=1024)


def modelled(timings: pd.DataFrame) -> pd.DataFrame:
    """The cells that are fitted, with their calls: normal data, hot; of auto, those that take 16 blocks."""
    cells = []
    for cell in timings[(timings.input_class == "normal") & timings.hot_us.notna()].itertuples():
        if getattr(cell, "candidates", 0) or cell.kernel not in ("served_topk", "rs8", "auto"):
            continue
        shape = shape_of(cell.kernel, cell.rows, cell.columns)
        if cell.kernel != "auto" or shape.cluster == 16:
            call = Call(cell.k, cell.columns, cell.rows, shape)
            cells.append((cell.kernel, cell.k, cell.columns, cell.rows, str(shape), call.waves, call, cell.hot_us))
    return pd.DataFrame(cells, columns=["kernel", "k", "columns", "rows", "shape", "waves", "call", "measured_us"])


def refit(timings: pd.DataFrame) -> Refit:
    """The model fitted to a bench's timings but those of k HELD_OUT, by least squares of shares of measured times.

    Standard errors take cells of one kernel, k and length for dependent, whatever their rows: they share the shape and
    what the model lacks. Raises ValueError where there are too few cells.
    """
    cells = modelled(timings[timings.k != HELD_OUT])
    quantities = np.array([[term.quantity(call) * call.waves for term in TERMS] for call in cells.call])
    if len(cells) <= len(TERMS):
        raise ValueError(f"the model has {len(TERMS)} constants, so it needs more cells than that, got {len(cells)}")
    there: list[int] = []
    for i in range(len(TERMS)):
        # A term that these cells cannot tell from those before it has no constant.
        if np.linalg.matrix_rank(quantities[:, [*there, i]]) > len(there):
            there.append(i)
    node = np.array([NODE_US[call.shape.cluster] for call in cells.call])
    alike = cells.groupby(["kernel", "k", "columns"]).ngroup()
    fitted = WLS(cells.measured_us - node, quantities[:, there], weights=cells.measured_us**-2).fit(
        cov_type="cluster", cov_kwds={"groups": alike}
    )
    constants = {
        TERMS[i].name: Estimate(float(value), float(error))
        for i, value, error in zip(there, fitted.params, fitted.bse, strict=True)
    }
    return Refit(constants, cells.drop(columns="call").assign(refitted_us=node + fitted.fittedvalues))


def held_out(timings: pd.DataFrame, fit: Refit) -> pd.DataFrame:
    """The cells of k HELD_OUT, as in Refit.cells, with what the refit says of them; empty where none was measured."""
    cells = modelled(timings[timings.k == HELD_OUT])
    return cells.drop(columns="call").assign(refitted_us=[fit.time_us(call) for call in cells.call])


def against_prediction(
    fit: Refit, predictions: pd.DataFrame, k: int, rows: int, lengths: Sequence[int]
) -> pd.DataFrame:
    """Predicted, corrected, measured and refitted µs for each modelled kernel and length; NaN where there is none.

    predictions: cluster, columns, predicted_us, as they were made. rows: so few that one wave holds them, as the
    prediction takes for granted.
    """
    measured = fit.cells[(fit.cells.k == k) & (fit.cells["rows"] == rows)].set_index(["kernel", "columns"]).measured_us
    predicted = predictions.set_index(["cluster", "columns"]).predicted_us
    lines = []
    for kernel in ("served_topk", "rs8", "auto"):
        for columns in lengths:
            shape = shape_of(kernel, rows, columns)
            if kernel == "auto" and shape.cluster != 16:
                continue
            lines.append(
                {
                    "kernel": kernel,
                    "columns": columns,
                    "shape": str(shape),
                    "predicted_us": predicted.get((shape.cluster, columns), float("nan")),
                    "corrected_us": CORRECTED.time_us(shape.cluster, columns),
                    "measured_us": measured.get((kernel, columns), float("nan")),
                    "refitted_us": fit.time_us(Call(k, columns, rows, shape)),
                }
            )
    return pd.DataFrame(lines)
