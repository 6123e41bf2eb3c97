"""The count: a saving per call times calls per verify step at a mix, with its interval."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from campaign.analysis.compute import read
from campaign.analysis.errors import ReadingError
from campaign.analysis.intervals import paired_mean, stratified_sum, welch
from campaign.analysis.readings import Reading
from campaign.analysis.rule import rule_digest
from campaign.analysis.rule_check import problems
from campaign.engine.data import Data
from campaign.engine.plan import Plan

COUNT = {
    "id": "x",
    "kind": "count",
    "table": "pairs",
    "on": "columns",
    "mix": "mix.*",
    "calls": "calls",
    "print": ".3f",
}
BY_LAYER = COUNT | {"by": "layer", "calls": "calls.*"}
SAVED = {("full", 1): (2, 4), ("full", 2): (5, 6, 10)}
"""Microseconds that the pairs of a layer and length save."""


def plan(declaration: dict[str, Any] = COUNT, **constants: float | str) -> Plan:
    """A plan whose mix has two lengths; `constants` change or add to its own, __ standing for a point."""
    fixed = {"mix.1": 0.25, "mix.2": 0.75, "calls": 4} | {
        name.replace("__", "."): value for name, value in constants.items()
    }
    shape = {"layer": "text", "columns": "integer", "pair": "integer", "kernel_us": "number?", "against_us": "number"}
    return Plan.model_validate(
        {
            "about": "A count",
            "constants": {name: {"value": value, "because": "a test"} for name, value in fixed.items()},
            "tables": {"pairs": {"file": "data/pairs.csv", "columns": shape}},
            "reading": [declaration],
        }
    )


def records(saved: dict[tuple[str, int], tuple[float, ...]] = SAVED) -> pd.DataFrame:
    """Pairs that save so much, each at a time of its own."""
    found = [
        {"layer": layer, "columns": columns, "pair": number, "kernel_us": 7.0 + number, "against_us": 7 + number + us}
        for (layer, columns), savings in saved.items()
        for number, us in enumerate(savings, 1)
    ]
    return pd.DataFrame(found, columns=["layer", "columns", "pair", "kernel_us", "against_us"])


def count(table: pd.DataFrame | None = None, declaration: dict[str, Any] = COUNT, **constants: float | str) -> Reading:
    """The reading that a plan with these constants has."""
    tables = {"pairs": records() if table is None else table}
    return read(plan(declaration, **constants), Data(tables, {}), "plan.toml")["x"]


def test_count_is_shares_times_calls_times_mean_savings():
    """0.25 × 4 × 3 µs and 0.75 × 4 × 7 µs make 0.024 ms; variance 1² × 2/2 + 3² × 7/3 = 22 µs², 22²/(1 + 441/2) df."""
    found = count()
    assert found.value == pytest.approx(0.024)
    assert found.aspects["se"] == pytest.approx(22**0.5 / 1000)
    assert found.aspects["df"] == pytest.approx(484 / 221.5)
    assert (found.aspects["n"], found.aspects["level"]) == (5, 95)


def test_one_place_has_the_paired_interval():
    """At a single length with one call the count is the mean of pairs: 3 µs, its ends 12.7062 (t of 1 df) away."""
    found = count(records({("full", 1): (2, 4)}), calls=1, mix__1=1, mix__2=0)
    ends = [found.aspects["lo"], found.value, found.aspects["hi"]]
    assert ends == pytest.approx([(3 - 12.7062) / 1000, 0.003, (3 + 12.7062) / 1000], abs=1e-7)


def test_level_is_the_plans():
    """The interval stands at the plan's level: at 50 percent t of 1 df is 1."""
    found = count(records({("full", 1): (2, 4)}), calls=1, mix__1=1, mix__2=0, interval__level=50)
    assert (found.aspects["hi"], found.aspects["level"]) == (pytest.approx(0.004), 50)


def test_calls_beside_each_other_add_up():
    """Layers of two kinds come in every verify step: 4 × (0.25 × 3 + 0.75 × 7) + 2 × (0.25 × 1 + 0.75 × 2) µs."""
    table = records(SAVED | {("masked", 1): (0, 2), ("masked", 2): (1, 3)})
    found = count(table, BY_LAYER, calls__full=4, calls__masked=2)
    assert found.value == pytest.approx(0.024 + 0.0035)
    assert found.aspects["se"] == pytest.approx((22 + 0.5**2 + 1.5**2) ** 0.5 / 1000)


def test_sum_over_strata_of_two_is_welchs():
    """With factors 1 and −1 the sum is the difference of two means, and its interval Welch's."""
    one, other = np.array([3.0, 4.0, 8.0]), np.array([1.0, 1.5, 0.0, 2.0, 7.0])
    expected, found = welch(one, other, 95), stratified_sum([one, other], [1, -1], 95)
    assert [found.value, found.lo, found.hi, found.df] == pytest.approx(
        [expected.value, expected.lo, expected.hi, expected.df]
    )


def test_sum_over_one_stratum_is_the_paired_mean():
    """One stratum has the degrees of freedom of its pairs."""
    pairs = np.array([3.0, 4.0, 8.0])
    expected, found = paired_mean(pairs, 90), stratified_sum([pairs], [1], 90)
    assert [found.value, found.lo, found.hi, found.df] == pytest.approx([expected.value, expected.lo, expected.hi, 2])


STARTS = COUNT | {"over": "start", "unit": "ms/verify step"}


def started(*counts: Sequence[Sequence[float]]) -> pd.DataFrame:
    """Pairs of several starts, each a list of savings at each of the two lengths."""
    found = []
    for start, lengths in enumerate(counts, 1):
        table = records({("full", columns): tuple(saved) for columns, saved in enumerate(lengths, 1)})
        found.append(table.assign(start=start))
    return pd.concat(found, ignore_index=True)


def test_interval_over_starts_is_of_their_counts():
    """Starts that count 1 × 3 + 3 × 7 = 24 and 1 × 5 + 3 × 9 = 32 µs make 28 ± 12.7062 × 4 µs; n is the starts."""
    found = count(started([(2, 4), (7,)], [(5,), (8, 10)]), STARTS)
    assert found.value == pytest.approx(0.028)
    assert found.aspects["lo"] == pytest.approx((28 - 4 * 12.7062) / 1000, abs=1e-6)
    assert (found.aspects["n"], found.aspects["df"], found.unit) == (2, 1, "ms/verify step")


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (started([(2,), (7,)]), "need at least two values of start for an interval, have 1"),
        (started([(2,), (7,)], [(3,), ()]), "start 2 has no pair at columns 2"),
        (started([(2,), (7,)], [(3,), (8,)]).replace({"start": {2: None}}), "start is empty in some of pairs"),
        (started([(2,), ()], [(3,), ()]), "need 1 or more pairs at columns 2, have 0"),
    ],
)
def test_every_start_has_pairs_at_every_place(table, reason):
    """A start without a pair at some length has no count, and one start alone no interval."""
    found = count(table, STARTS)
    assert (found.value, found.reason) == (None, reason)


def test_starts_cover_what_pairs_alone_do_not():
    """Where a start shifts its pairs together, 95 of 100 intervals over starts hold the truth; over pairs, fewer."""
    rng = np.random.default_rng(9)
    factors, means = np.linspace(0.1, 0.8, 10), np.linspace(1, 60, 10)
    over_starts = over_pairs = 0
    for _ in range(2_000):
        drawn = means + rng.normal(0, 0.3, (10, 1)) + rng.normal(0, 0.2, (10, 10))
        truth = float(factors @ means)
        for_starts, for_pairs = paired_mean(drawn @ factors, 95), stratified_sum(list(drawn.T), list(factors), 95)
        over_starts += for_starts.lo <= truth <= for_starts.hi
        over_pairs += for_pairs.lo <= truth <= for_pairs.hi
    assert over_starts / 2_000 == pytest.approx(0.95, abs=0.015)  # three standard errors of the simulation
    assert over_pairs / 2_000 < 0.8


def test_interval_covers_as_often_as_it_says():
    """Over 2,000 counts of ten lengths with unequal spread, 95 of 100 intervals hold the true one."""
    rng = np.random.default_rng(6)
    factors, means, deviations = np.linspace(0.1, 0.8, 10), np.linspace(1, 60, 10), np.linspace(0.1, 3, 10)
    held = 0
    for _ in range(2_000):
        drawn = rng.normal(means, deviations, (6, 10))
        found = stratified_sum(list(drawn.T), list(factors), 95)
        held += found.lo <= float(factors @ means) <= found.hi
    assert held / 2_000 == pytest.approx(0.95, abs=0.015)  # three standard errors of the simulation


@pytest.mark.parametrize(
    ("saved", "reason"),
    [
        ({}, "no record of pairs"),
        ({("full", 1): (2, 4)}, "need 2 or more pairs at columns 2, have 0"),
        ({("full", 1): (2, 4), ("full", 2): (5,)}, "need 2 or more pairs at columns 2, have 1"),
        (SAVED | {("full", 3): (1, 2)}, "pairs at columns 3, to which mix.* and calls give nothing"),
        ({("full", 1): (2, 2), ("full", 2): (5, 5)}, "the pairs do not vary, so no interval can be given"),
    ],
)
def test_count_needs_pairs_at_every_place_and_a_place_for_every_pair(saved, reason):
    """A length without two pairs, or one that the mix does not have, leaves the count unresolved with its reason."""
    found = count(records(saved))
    assert (found.value, found.reason) == (None, reason)


def test_wrong_answer_leaves_no_count():
    """A pair without a time, because an answer was wrong, is not passed over."""
    table = records()
    table.loc[1, "kernel_us"] = np.nan
    expected = "1 of 2 pairs at columns 1 have no value (a wrong answer has no time)"
    assert count(table).reason == expected


def test_layer_without_calls_leaves_no_count():
    """Pairs of a layer for which the plan has no calls are not passed over."""
    table = records(SAVED | {("masked", 1): (0, 2), ("masked", 2): (1, 3)})
    found = count(table, BY_LAYER, calls__full=4)
    assert found.reason == "pairs at columns 1, layer masked, to which mix.* and calls.* give nothing"


def test_layer_without_pairs_leaves_no_count():
    """Calls that no pair was timed for are not counted as nothing."""
    found = count(records(), BY_LAYER, calls__full=4, calls__masked=4)
    assert found.reason == "need 2 or more pairs at columns 1, layer masked, have 0"


def test_place_without_a_share_needs_no_pairs():
    """A length with a share of 0 may stay without pairs."""
    assert count(records({("full", 1): (2, 4)}), mix__1=1, mix__2=0).value == pytest.approx(0.012)


def test_pairs_of_two_contests_are_refused():
    """Where a pair's number comes twice at one length, two comparisons would be mixed."""
    table = records(SAVED | {("masked", 1): (0, 2), ("masked", 2): (1, 3)})
    with pytest.raises(ReadingError, match=r"reading x: pair 1 comes twice at columns 1: several contests.*`where`"):
        count(table)


@pytest.mark.parametrize(
    ("declaration", "constants", "fault"),
    [
        (COUNT, {"mix__2": 0.7}, "mix: the shares mix.* add up to 0.95; expected 1. Correct the constants."),
        (COUNT, {"mix__3": -0.1}, "mix: mix.3 is -0.1; expected a number from 0 on. Correct the constant."),
        (COUNT, {"mix__2": "some"}, "mix: mix.2 is 'some'; expected a number from 0 on. Correct the constant."),
        (COUNT, {"calls": 0}, "calls: calls is 0; expected a call in a verify step. Correct the constant."),
        (COUNT | {"mix": "mox.*"}, {}, "mix is 'mox.*', which no constant fits; expected some. Add them."),
        (COUNT | {"mix": "mix"}, {}, "mix is 'mix'; expected a pattern that ends in a star, as mix.*. Correct it."),
        (
            COUNT | {"calls": "calls.*"},
            {},
            "calls is 'calls.*'; expected the id of one constant (no `by`). Correct it.",
        ),
        (
            BY_LAYER | {"calls": "calls"},
            {},
            "calls is 'calls'; expected a pattern that ends in a star, as calls.*. Correct it.",
        ),
    ],
)
def test_wrong_mix_is_found_before_the_data(declaration, constants, fault):
    """What is wrong with the mix or the calls is a fault of the plan, told before it is sealed and when it is read."""
    assert problems(plan(declaration, **constants)) == [f"reading x: {fault}"]
    with pytest.raises(ReadingError, match=re.escape(fault)):
        count(declaration=declaration, **constants)


def test_sound_count_has_no_fault():
    """A mix whose shares add up to one is fit to be sealed."""
    assert problems(plan()) == []


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("value", "layer", "layer holds no numbers; expected what one call saves"),
        ("on", "column", "there is no column 'column'.*Did you mean columns?"),
        ("over", "run", "there is no column 'run'; expected one of.*Correct `over`"),
        ("pair", "chunk", "there is no column 'chunk'; expected one of.*Correct `pair`"),
    ],
)
def test_column_that_cannot_be_is_refused(key, value, message):
    """A misspelt column, or one without numbers, is an error."""
    with pytest.raises(ReadingError, match=message):
        count(declaration=COUNT | {key: value})


def test_sealed_rule_covers_the_mix():
    """A verdict on a count has another hash where a share of the mix is another."""

    def digest(**constants: float) -> str:
        said = plan(bar=0.01, **constants).model_dump(exclude_defaults=True)
        bands = [{"verdict": "carries", "above": "bar"}, {"verdict": "rolled back"}]
        return rule_digest(Plan.model_validate(said | {"verdict": {"reading": "x.lo", "bands": bands}}))

    assert digest() != digest(mix__1=0.5, mix__2=0.5)
