"""Part 6's figures, computed again from its CSV files with pandas alone and compared with the campaign's readings."""

from pathlib import Path

import pandas as pd
import pytest

from campaign.notes.paths import Campaign
from campaign.notes.sources import Sources, load

PART = Campaign.above(Path(__file__)).part("part-6")
SETTING = ["k", "row_length", "rows"]
COOPERATIVE = "vllm.cooperative_topk"
FIXED = "prototype.H8f1t1024"
SETTINGS = [(512, 4096, 1), (512, 65536, 8), (2048, 131072, 32)]
"""Short rows where prototypes lose, long ones where they win, and the closest setting of all."""


@pytest.fixture(scope="module")
def part() -> Sources:
    return load(PART)


@pytest.fixture(scope="module")
def timings() -> pd.DataFrame:
    return pd.read_csv(PART.data / "timings.csv")


@pytest.fixture(scope="module")
def exactness() -> pd.DataFrame:
    return pd.read_csv(PART.data / "exactness.csv")


@pytest.fixture(scope="module")
def times(timings) -> pd.DataFrame:
    """One hot time on normal data for each run, kernel and setting, µs; two timings in a run give their median."""
    normal = timings[timings.data == "normal"]
    return normal.groupby(["run", "kernel", *SETTING], as_index=False).hot_us.median()


@pytest.fixture(scope="module")
def ratios(times) -> pd.DataFrame:
    """Each prototype's time over the fastest public kernel's in the same run and setting."""
    is_prototype = times.kernel.str.startswith("prototype.")
    fastest = times[~is_prototype].groupby(["run", *SETTING]).hot_us.min().rename("fastest").reset_index()
    both = times[is_prototype].merge(fastest, on=["run", *SETTING])
    return both.assign(ratio=both.hot_us / both.fastest)


@pytest.fixture(scope="module")
def best(ratios) -> pd.Series:
    """The best prototype's ratio in each setting: every variant's median over its runs, then the least."""
    return ratios.groupby(["kernel", *SETTING]).ratio.median().groupby(SETTING).min()


def dotted(setting: tuple[int, int, int]) -> str:
    return ".".join(map(str, setting))


def value(part: Sources, name: str) -> float:
    return pytest.approx(part.readings[name].value, rel=1e-12)


def test_second_timings_are_all_that_the_added_column_tells_apart(timings):
    """Without `repeat`, 130 records have the key of an earlier one; with it none has."""
    key = ["run", "kernel", *SETTING, "data"]
    assert timings.duplicated(key).sum() == (timings.repeat == 2).sum() == 130
    assert not timings.duplicated([*key, "repeat"]).any()


@pytest.mark.parametrize("setting", SETTINGS)
def test_time_is_the_median_over_runs(part, times, setting):
    """A setting's time of cooperative_topk is the median of its runs, each run counting once."""
    chosen = times[(times.kernel == COOPERATIVE) & (times[SETTING] == list(setting)).all(axis=1)]
    assert chosen.hot_us.median() == value(part, f"time.cooperative.{dotted(setting)}")


@pytest.mark.parametrize("setting", SETTINGS)
def test_ratio_is_against_the_same_run(part, ratios, setting):
    """A prototype's ratio is the median over runs of its time over the fastest public kernel's of that run."""
    chosen = ratios[(ratios.kernel == FIXED) & (ratios[SETTING] == list(setting)).all(axis=1)]
    assert len(chosen) == 3
    assert chosen.ratio.median() == value(part, f"fixed.middle.{dotted(setting)}")


@pytest.mark.parametrize("setting", SETTINGS)
def test_best_is_the_least_ratio_of_all_variants(part, best, setting):
    """A setting's best ratio is the least of its variants' ratios."""
    assert best[setting] == value(part, f"best.{dotted(setting)}")


@pytest.mark.parametrize("setting", SETTINGS)
def test_best_is_named(part, ratios, setting):
    """The name beside a setting's best ratio is the variant that has it."""
    chosen = ratios[(ratios[SETTING] == list(setting)).all(axis=1)].groupby("kernel").ratio.median()
    assert part.readings[f"best_name.{dotted(setting)}"].value == chosen.idxmin()


def test_every_setting_with_a_prototype_is_compared(part, best):
    """The compared settings are those in which a prototype and a public kernel ran together, no others."""
    assert {f"best.{dotted(setting)}" for setting in best.index} == set(part.readings.matching("best.*"))


def test_wins_and_losses(part, best):
    """Wins are the settings with a best ratio below 1, losses those above it, and together they are all."""
    wins, losses = (best < 1).sum(), (best > 1).sum()
    assert (wins, losses) == (value(part, "wins.n"), value(part, "losses.n"))
    assert wins + losses == len(best) == value(part, "settings.n")


@pytest.mark.parametrize(("axis", "family"), [("row_length", "wins.at"), ("rows", "wins.rows")])
def test_wins_by_length_and_by_rows(part, best, axis, family):
    """The wins at each row length, and with each number of rows, are counted apart."""
    for key, wins in (best < 1).groupby(axis).sum().items():
        assert wins == value(part, f"{family}.{key}")


def test_cooperative_topk_is_the_fastest_public_kernel_wherever_it_ran(times):
    """No public kernel is below cooperative_topk in any run and setting of both."""
    public = times[~times.kernel.str.startswith("prototype.")]
    table = public.pivot_table(index=["run", *SETTING], columns="kernel", values="hot_us").dropna(subset=[COOPERATIVE])
    assert (table.min(axis=1) == table[COOPERATIVE]).all()


def test_the_fixed_variant_wins_or_loses_in_all_its_runs(part, ratios):
    """H8f1t1024 is on one side of 1 in all three runs of a setting as often as the note says."""
    sides = ratios[ratios.kernel == FIXED].groupby(SETTING).ratio.agg(["min", "max"])
    assert (sides["max"] < 1).sum() == value(part, "fixed.wins.n")
    assert (sides["min"] > 1).sum() == value(part, "fixed.losses.n")


def test_spread_between_runs(part, times, best):
    """cooperative_topk's spread is (greatest − least) / median over runs, in % and over the compared settings."""
    grouped = times[times.kernel == COOPERATIVE].groupby(SETTING).hot_us
    spread = (100 * (grouped.max() - grouped.min()) / grouped.median())[best.index]
    assert spread.median() == value(part, "spread.middle.cooperative")
    assert spread.max() == value(part, "spread.most.cooperative")
    assert spread.idxmax() == (2048, 16384, 8)


def test_wins_that_stand_out_from_the_spread(part, times, best):
    """A win or loss stands out where its distance from 1 is more than cooperative_topk's spread in the setting."""
    grouped = times[times.kernel == COOPERATIVE].groupby(SETTING).hot_us
    stands_out = (1 - best).abs() > ((grouped.max() - grouped.min()) / grouped.median())[best.index]
    assert ((best < 1) & stands_out).sum() == value(part, "clear_wins.n")
    assert ((best > 1) & stands_out).sum() == value(part, "clear_losses.n")


@pytest.mark.parametrize("kernel", ["top_k_per_row_decode", "persistent_topk", "cooperative_topk"])
def test_wrong_picks_and_wrong_cases(part, exactness, kernel):
    """A kernel's wrong picks are summed, and its cases with any wrong pick counted, over all of its cases."""
    cases = exactness[exactness.kernel == f"vllm.{kernel}"]
    assert cases.below_threshold.sum() == value(part, f"below.vllm_{kernel}")
    assert (cases.below_threshold > 0).sum() == value(part, f"wrong.vllm_{kernel}")
    assert cases.picks.sum() == value(part, f"picks.vllm_{kernel}")
    assert 100 * (cases.below_threshold / cases.picks).max() == value(part, f"worst.vllm_{kernel}")


def test_persistent_topk_is_wrong_on_short_rows_alone(part, exactness):
    """The longest rows with a wrong pick of persistent_topk are the ones that the note names."""
    wrong = exactness[(exactness.kernel == "vllm.persistent_topk") & (exactness.below_threshold > 0)]
    assert wrong.row_length.max() == value(part, "exact.wrong_length.persistent")


def test_no_prototype_ran_beside_the_kernel_that_is_exact(timings):
    """top_k_per_row_decode was timed in one run, without any prototype."""
    runs = set(timings[timings.kernel == "vllm.top_k_per_row_decode"].run)
    assert runs == {0}
    assert not timings[timings.run.isin(runs)].kernel.str.startswith("prototype.").any()
