"""The latency model: the prediction as it was made, hand-calculated terms, and constants found again in their times."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from campaign.kernels import model
from campaign.kernels.build import SOURCES
from campaign.kernels.model import CORRECTED, NODE_US, PREDICTED, TERMS, Call
from campaign.kernels.shapes import Shape

DATA = Path(model.__file__).parent / "data"
PREDICTIONS = pd.read_csv(DATA / "predictions.csv")
LENGTHS = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144)
CONSTANTS = dict(
    zip([term.name for term in TERMS], [2.5, 3.0, 3.75, 0.25, 1.5, -0.03, 9.0, 1.5, 0.125, 0.08], strict=True)
)
BY_CLUSTER = {cluster: Shape(cluster, 1024, 4) for cluster in model.RESIDENT}


def time_us(call, constants=CONSTANTS):
    """What the model with known constants takes for a call."""
    return NODE_US[call.shape.cluster] + call.waves * sum(constants[term.name] * term.quantity(call) for term in TERMS)


def synthetic(noise=0.0, seed=0):
    """A bench's timings whose times are the model's own, times 1 + noise * a normal number."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            {
                "kernel": kernel,
                "k": k,
                "columns": columns,
                "rows": rows,
                "input_class": "normal",
                "hot_us": time_us(Call(k, columns, rows, shape)) * (1 + noise * rng.standard_normal()),
            }
            for kernel in ("served_topk", "rs8", "auto")
            for k in (512, 1_024, 2_048)
            for columns in LENGTHS
            for rows in (1, 2, 4, 6, 8, 32, 64)
            if (shape := model.shape_of(kernel, rows, columns)).cluster in model.RESIDENT
        ]
    )


def test_prediction_is_the_table_that_was_made_before():
    """The constants give each predicted time of the table, to the digits in which it is written."""
    for line in PREDICTIONS[PREDICTIONS.cluster > 0].itertuples():
        time = PREDICTED.time_us(line.cluster, line.columns)
        # The table has two digits above ten at most places, and none behind the point from 28 on.
        assert time == pytest.approx(line.predicted_us, abs=0.51 if line.predicted_us >= 16 else 0.06), line


@pytest.mark.parametrize(
    ("cluster", "columns", "time"),
    [
        (1, 4_096, 2.15 + 2.15 + 4 * 0.27),
        (1, 65_536, 2.15 + 2.15 + 64 * 0.37),
        (8, 16_384, 2.65 + 2.15 + 2 * 0.9 + 2 * 0.27),
        (16, 262_144, 2.65 + 2.15 + 2 * 0.9 + 0.9 + 16 * 0.27),
        (16, 1_048_576, 2.65 + 2.15 + 2 * 0.9 + 0.9 + 64 * 0.37),
    ],
)
def test_prediction_by_hand(cluster, columns, time):
    """A fixed part by cluster, and a slope that is steeper where a block cannot keep its keys."""
    assert PREDICTED.time_us(cluster, columns) == pytest.approx(time)


def test_each_round_costs_an_exchange_in_a_cluster_alone():
    """A third round adds one exchange to a cluster's time and nothing to one block's."""
    assert PREDICTED.time_us(8, 8_192, rounds=3) - PREDICTED.time_us(8, 8_192) == pytest.approx(0.9)
    assert PREDICTED.time_us(1, 8_192, rounds=3) == PREDICTED.time_us(1, 8_192)


def test_correction_puts_in_what_was_measured_alone():
    """Of a cluster of eight at 16,384 keys: node 0.88, rest 2.15, two rounds of 0.809, 2,048 keys at 0.196."""
    assert CORRECTED.time_us(8, 16_384) == pytest.approx(0.88 + 2.15 + 2 * 0.809 + 2 * 0.196)


@pytest.mark.parametrize(
    ("shape", "rows", "waves"),
    [
        (Shape(8, 1024, 4), 15, 1),
        (Shape(8, 1024, 4), 16, 2),
        (Shape(8, 1024, 4), 64, 5),
        (Shape(8, 512, 1), 30, 1),
        (Shape(8, 512, 1), 64, 3),
        (Shape(16, 1024, 4), 7, 1),
        (Shape(16, 1024, 4), 8, 2),
        (Shape(16, 512, 2), 14, 1),
        (Shape(1, 1024, 4), 64, 1),
    ],
)
def test_waves_by_hand(shape, rows, waves):
    """An H200 holds 15 clusters of eight and seven of sixteen, twice as many with half the threads a block."""
    assert Call(512, 16_384, rows, shape).waves == waves


def test_compiler_is_held_to_so_many_threads_a_multiprocessor():
    """What the model says of two blocks a multiprocessor is what the kernels' launch bounds ask of the compiler."""
    assert f"__launch_bounds__(NT, {model.THREADS_A_MULTIPROCESSOR} / NT)" in (SOURCES / "kernel.cuh").read_text()


def test_a_block_goes_through_its_places_where_it_keeps_keys():
    """512 threads with one vector of four are 2,048 places; a block that keeps nothing goes through its own keys."""
    assert Call(512, 4_096, 1, Shape(8, 512, 1)).keys == 2
    assert Call(512, 262_144, 1, Shape(8, 1024, 0)).keys == 32


def test_entries_of_the_crossing_bin_by_counting():
    """What is expected in the bin of the k-th best of normal scores is what a large sample has there."""
    scores = np.random.default_rng(5).standard_normal(4_000_000).astype(np.float32)
    k, columns = 512, 65_536
    bins = np.sort(scores)[::-1].view(np.uint32) >> 17
    at = bins[len(scores) * k // columns]
    counted = (bins == at).sum() * columns / len(scores)
    assert model.in_the_crossing_bin(k, columns) == pytest.approx(counted, rel=0.02)


def test_middle_of_the_row_has_a_bin_of_almost_nothing():
    """Half of a row's scores lie above 0, whose bin holds what is less than 2^-15."""
    assert model.in_the_crossing_bin(2_048, 4_096) == pytest.approx(4_096 * 2**-15 / np.sqrt(2 * np.pi), rel=1e-3)


def test_known_constants_are_found_again():
    """Times made by the model give its constants back, and nothing is left over."""
    fit = model.refit(synthetic())
    for name, value in CONSTANTS.items():
        assert fit.constants[name].value == pytest.approx(value, abs=1e-6)
    assert fit.rms_us < 1e-6


def test_standard_errors_are_as_wide_as_the_noise():
    """Of noisy times nearly all constants come back within three standard errors, and the error is the noise."""
    fit = model.refit(synthetic(noise=0.02))
    off = [
        abs(fit.constants[name].value - value) / fit.constants[name].standard_error for name, value in CONSTANTS.items()
    ]
    assert sum(each < 3 for each in off) >= len(off) - 1
    assert fit.rms_share == pytest.approx(0.02, rel=0.2)


def test_k_that_is_held_out_is_not_fitted():
    """Wild times of k 1,024 change no constant, and are what the refit is tested on."""
    timings = synthetic()
    wild = timings.assign(hot_us=timings.hot_us.where(timings.k != 1_024, timings.hot_us * 2))
    fit = model.refit(wild)
    assert fit.constants["keys"].value == pytest.approx(CONSTANTS["keys"])
    assert model.rms_share(model.held_out(wild, fit)) == pytest.approx(0.5)
    assert model.rms_share(model.held_out(timings, fit)) < 1e-6


def test_worst_cell_is_the_one_that_was_changed():
    """One time that is half as long again is the worst cell."""
    timings = synthetic()
    at = timings[(timings.kernel == "rs8") & (timings.k == 512) & (timings["rows"] == 4)].index[2]
    timings.loc[at, "hot_us"] *= 1.5
    worst = model.refit(timings).worst
    assert (worst.kernel, worst.k, worst["columns"], worst["rows"]) == ("rs8", 512, timings.loc[at, "columns"], 4)


def test_terms_that_cells_cannot_tell_have_no_constant():
    """Without auto there are no clusters of sixteen: no constant of theirs, and no time, but all of the others."""
    timings = synthetic()
    fit = model.refit(timings[timings.kernel != "auto"])
    assert set(CONSTANTS) - set(fit.constants) == {"fixed, 16 blocks"}
    assert np.isnan(fit.time_us(Call(512, 65_536, 1, BY_CLUSTER[16])))
    assert fit.time_us(Call(512, 16_384, 1, BY_CLUSTER[8])) == pytest.approx(
        time_us(Call(512, 16_384, 1, BY_CLUSTER[8]))
    )


def test_too_few_cells_are_refused():
    """Ten constants need more than ten cells."""
    with pytest.raises(ValueError, match="has 10 constants, so it needs more cells than that, got 9"):
        model.refit(synthetic().head(9))


def test_prediction_stands_beside_the_result():
    """A line has the table's own prediction, the time measured, and the refit's; auto only where it takes 16 blocks."""
    timings = synthetic()
    lines = model.against_prediction(model.refit(timings), PREDICTIONS, 512, 6, LENGTHS)
    sixteen = [columns for columns in LENGTHS if model.shape_of("auto", 6, columns).cluster == 16]
    assert list(lines.groupby("kernel").size()) == [len(sixteen), 7, 7]
    line = lines[(lines.kernel == "rs8") & (lines["columns"] == 65_536)].iloc[0]
    assert (line.predicted_us, line["shape"]) == (8.8, str(model.shape_of("rs8", 6, 65_536)))
    assert line.measured_us == pytest.approx(line.refitted_us)


def test_cell_that_was_not_measured_is_nan():
    """A length without a measured time keeps its prediction and its refit."""
    timings = synthetic()
    fit = model.refit(timings[timings["columns"] != 8_192])
    line = model.against_prediction(fit, PREDICTIONS, 512, 6, [8_192]).iloc[0]
    assert np.isnan(line.measured_us) and line.predicted_us == 6.5 and line.refitted_us > 0


def test_corrected_prediction_differs_in_named_constants_alone():
    """Only the node, the round and the slope were replaced."""
    put_back = replace(
        CORRECTED,
        label=PREDICTED.label,
        source=PREDICTED.source,
        node_us=PREDICTED.node_us,
        round_us=PREDICTED.round_us,
        slope_us=PREDICTED.slope_us,
    )
    assert put_back == PREDICTED
