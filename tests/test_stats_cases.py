"""Worked cases with known answers: certified by NIST, printed by other programs, published with earlier parts."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from campaign.analysis.equivalence import tost
from campaign.analysis.intervals import Estimate, Summary, difference, paired_mean, relative, welch
from campaign.analysis.looks import boundary, error_of
from campaign.analysis.power import carries_probability, t_test_power
from campaign.analysis.proportions import early_stopping_samples, wilson
from campaign.analysis.regression import ancova, intercept, slope, within_groups_slope
from campaign.analysis.resampling import exact_row_bootstrap, mann_whitney, permutation_test
from campaign.analysis.rows import row_values
from campaign.analysis.variance import components, kalibera_jones
from campaign.engine.plan import Matching, Plan

CASES = json.loads((Path(__file__).parent / "data" / "stats-cases.json").read_text())


def arms(inputs: Mapping[str, list[float]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(inputs["x"], dtype=float), np.array(inputs["y"], dtype=float)


def t_test(found: Estimate) -> dict[str, float]:
    """A difference with its interval at 95 percent, as programs for t tests print it."""
    t = found.value / found.se
    said = {"t": t, "p": 2 * stats.t.sf(abs(t), found.df), "diff": found.value, "sp": found.sd}
    return said | {"lo": found.lo, "hi": found.hi, "se": found.se, "df": found.df}


# One function a kind of case: what our functions make of its inputs, under the names that cases use.


def ttest_pooled(inputs: dict) -> dict:
    return t_test(difference(*arms(inputs), 95))


def ttest_welch(inputs: dict) -> dict:
    return t_test(welch(*arms(inputs), 95))


def ttest_paired(inputs: dict) -> dict:
    x, y = arms(inputs)
    return t_test(paired_mean(x - y, 95))


def mean_ci(inputs: dict) -> dict:
    found = paired_mean(np.array(inputs["x"], dtype=float), 95)
    return {"mean": found.value, "lo": found.lo, "hi": found.hi}


def pooled_summary(inputs: dict) -> dict:
    yardstick, rows = Summary(inputs["m_ref"], inputs["s_ref"], inputs["n_ref"]), np.array(inputs["x"])
    share = relative(rows, yardstick, 95)
    return t_test(difference(yardstick, rows, 95)) | {"fieller": [share.lo, share.hi]}


def tost_pooled(inputs: dict) -> dict:
    found = tost(difference(*arms(inputs), 95), inputs["lo"], inputs["hi"])
    return {"p": found.p, "ci90": [found.lo, found.hi], "df": found.df}


def tost_welch(inputs: dict) -> dict:
    found = tost(welch(*arms(inputs), 95), inputs["lo"], inputs["hi"])
    return {"p": found.p, "ci90": [found.lo, found.hi], "df": found.df}


def tost_welch_summary(inputs: dict) -> dict:
    first, second = (Summary(inputs[f"m{arm}"], inputs[f"s{arm}"], inputs[f"n{arm}"]) for arm in (1, 2))
    estimate = welch(first, second, 95)
    found = tost(estimate, inputs["lo"], inputs["hi"])
    said = {f"t{arm}": (found.estimate - inputs[end]) / found.se for arm, end in ((1, "lo"), (2, "hi"))}
    said |= {"p1": found.p_lower, "p2": found.p_upper, "df": found.df}
    return said | {"ci90": [found.lo, found.hi], "ci95": [estimate.lo, estimate.hi]}


def ols_slope(inputs: dict) -> dict:
    line, start = slope(*arms(inputs), 95), intercept(*arms(inputs), 95)
    said = {"slope": line.value, "se_slope": line.se, "resid_sd": line.sd}
    return said | {"intercept": start.value, "se_intercept": start.se}


def ancova_of_groups(inputs: dict) -> dict:
    """Pairs are (covariate, response)."""
    pairs = np.array([pair for group in inputs["groups"].values() for pair in group], dtype=float)
    group = np.repeat(list(inputs["groups"]), [len(one) for one in inputs["groups"].values()])
    found = ancova(pairs[:, 0], pairs[:, 1], group, tuple(inputs["contrast"]), 95)
    said = {"slope": found.slope.value, "se_slope": found.slope.se, "rmse": found.slope.sd, "r2": found.r2}
    said |= {"diff": found.difference.value, "se_diff": found.difference.se, "df": found.difference.df}
    said |= {"lo": found.difference.lo, "hi": found.difference.hi}
    return said | {"lsmeans": {name: mean.value for name, mean in found.means.items()}}


def matched_draws(inputs: dict) -> dict:
    """Draws, (response, covariate), shifted to one point along a slope and averaged to rows; the arms' difference."""
    records, rows = [], []
    for arm in ("off", "on"):
        for number, draws in enumerate(inputs[arm]):
            rows.append({"row": f"{arm}{number}", "arm": arm, "started": number})
            for place, (step_ms, tokens_per_step) in enumerate(draws):
                record = {"row": f"{arm}{number}", "draw": place, "step_time_ms": step_ms * 100, "verify_steps": 100}
                records.append(record | {"tokens": tokens_per_step * 100, "model_time_s": 1.0, "passes": 0})
    slopes = {"none": "0", "low": "0.366", "high": "0.602"}
    constants = {name: {"value": float(value), "because": "given"} for name, value in slopes.items()}
    constants["at"] = {"value": inputs["x0"], "because": "given"}
    plan = Plan(about="S3", constants=constants, matching=Matching(at="at", slopes={name: name for name in slopes}))
    draws = pd.DataFrame(records)
    values = row_values(plan, pd.DataFrame(rows), {"draws": draws})
    said = {}
    for name, value in slopes.items():
        off, on = (values.loc[values["arm"] == arm, f"matched_{name}"].to_numpy() for arm in ("off", "on"))
        found = difference(off, on, 95)
        said[value] = [found.value, found.lo, found.hi]
    x, y = draws["tokens"].to_numpy() / 100, draws["step_time_ms"].to_numpy() / 100
    return said | {"within_row_slope": within_groups_slope(x, y, draws["row"].to_numpy(), 95).value}


def oneway_vc(inputs: dict) -> dict:
    found = components(inputs["groups"])
    return {"F": found.f, "msb": found.msb, "msw": found.msw, "var_b": found.var_b, "icc": found.icc}


def repetitions(inputs: dict) -> dict:
    found = kalibera_jones(inputs["data"], inputs.get("costs_high_to_low"))
    return {"S2": list(found.s2), "T2": list(found.t2), "opt": list(found.best)}


def mwu_exact(inputs: dict) -> dict:
    found = mann_whitney(*arms(inputs))
    return {"p_two": found.p, "p_two_abs": found.p, "U": found.u}


def permutation(inputs: dict) -> dict:
    found = permutation_test(*arms(inputs))
    return {"count": found.count, "total": found.total, "p_two": found.p}


def row_bootstrap(inputs: dict) -> dict:
    found = exact_row_bootstrap(*arms(inputs))
    return {"n": found.resamples, "se": found.estimate.se, "q025": found.estimate.lo, "q975": found.estimate.hi}


def power_of_t_test(inputs: dict) -> dict:
    found = t_test_power(inputs["d"], inputs["n1"], inputs["n2"], inputs["alpha"], inputs["alt"])
    return {"power": found.value}


def power_of_verdict(inputs: dict) -> dict:
    found = carries_probability(inputs["delta"], inputs["bar"], inputs["s"], inputs["n1"], inputs["n2"], 95)
    return {"power": found.value}


def wilson_intervals(inputs: dict) -> dict:
    found = {(k, n): wilson(k, n, 95) for k, n in inputs["cases"]}
    return {"lo_307": found[307, 307].lo, "hi_0_307": found[0, 307].hi, "hi_0_123": found[0, 123].hi}


def early_stopping(inputs: dict) -> dict:
    """Samples by how many were overlong: 0, 1, 2, ..."""
    return {
        f"n{percent}": [early_stopping_samples(t, percent / 100, inputs["c"], inputs["d"]) for t in range(most)]
        for percent, most in ((90, 4), (99, 3))
    }


def group_sequential(inputs: dict) -> dict:
    """By number of looks: error of that many at the plain bound, Pocock's bound, O'Brien and Fleming's last."""
    alpha = inputs["alpha"]
    plain = boundary("none", 1, alpha).z[0]
    return {
        "naive": {str(looks): error_of([plain] * looks) for looks in (2, 3, 4, 5, 10)},
        "pocock": {str(looks): boundary("pocock", looks, alpha).z[-1] for looks in (2, 4, 5)},
        "obf_final": {str(looks): boundary("obrien-fleming", looks, alpha).z[-1] for looks in (2, 4, 5)},
    }


CHECKS = {
    "ancova": ancova_of_groups,
    "exact_boot_rows": row_bootstrap,
    "group_sequential": group_sequential,
    "kalibera_jones": repetitions,
    "matched_draws": matched_draws,
    "mean_ci": mean_ci,
    "mlperf_early_stop": early_stopping,
    "mwu_exact": mwu_exact,
    "mwu_exact_ties": mwu_exact,
    "ols_slope": ols_slope,
    "oneway_vc": oneway_vc,
    "perm_exact_meandiff": permutation,
    "pooled_summary": pooled_summary,
    "power_t2": power_of_t_test,
    "power_verdict": power_of_verdict,
    "tost_pooled": tost_pooled,
    "tost_welch": tost_welch,
    "tost_welch_summary": tost_welch_summary,
    "ttest_paired": ttest_paired,
    "ttest_pooled": ttest_pooled,
    "ttest_welch": ttest_welch,
    "wilson": wilson_intervals,
}


def numbers(said: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Each number in what is said, with its place."""
    if isinstance(said, list):
        said = dict(enumerate(said))
    if isinstance(said, dict):
        for name, inner in said.items():
            yield from numbers(inner, f"{path}.{name}")
    else:
        yield path, said


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_worked_case(case):
    """Everything that the case expects comes out to its tolerance."""
    said = CHECKS[case["kind"]](case["inputs"])
    found = {name: said[name] for name in case["expected"]}
    # rel alone: a case with a small answer is no easier
    expected = {place: pytest.approx(one, rel=case["rel_tol"], abs=0) for place, one in numbers(case["expected"])}
    assert dict(numbers(found)) == expected


def test_every_check_has_a_case():
    """No check is left behind when a case goes."""
    assert CHECKS.keys() == {case["kind"] for case in CASES}
