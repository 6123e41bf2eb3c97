"""Reconstructed records of Part 5: rows, draws, tasks, power samples, kernel timings, equality checks.

The campaign's own records are not available. This script makes records, draw by draw, from which every
published figure comes out as printed. They are a reconstruction and no measurement: data/README.md says so.

    python parts/part-5/reconstruct.py

writes `data/` beside itself, recomputes every figure from the files it has just written, prints a table, and
exits 1 if one differs. The records come from one seed: a second run writes the same bytes. The published
figures stand in this script alone, and the program that reads `data/` never imports it.
"""

import csv
import datetime as dt
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.optimize import minimize
from scipy.stats import t as student_t

SEED = 20261106
DATA = Path(__file__).resolve().parent / "data"

# ---- What was published -----------------------------------------------------------------------------------

PUBLISHED = {
    # ms per verify step; the row values are matched to MATCH_AT at the low slope
    "row.0425": "14.451", "row.0443": "14.171", "row.0500": "14.097",
    "row.0518": "14.049", "row.0536": "14.145", "row.0552": "14.376",
    "yardstick.mean": "14.429", "yardstick.min": "14.280", "yardstick.max": "14.582",
    "saving.low": "0.314", "saving.low.lo": "0.217", "saving.low.hi": "0.410",
    "saving.high": "0.316", "saving.high.lo": "0.215", "saving.high.hi": "0.417",
    "drift.low": "-0.015", "drift.high": "-0.014",
    "saving.same_day.low": "0.298", "saving.same_day.low.lo": "0.169", "saving.same_day.low.hi": "0.428",
    "saving.same_day.high": "0.301", "saving.same_day.high.lo": "0.168", "saving.same_day.high.hi": "0.435",
    "saving.same_day.short": "0.30", "decide.lower": "0.215",
    # tokens per verify step
    "tps.rs8": "3.749", "tps.same_day": "3.736", "tps.yardstick": "3.740",
    # counts of rows, draws, runs and passes; shares
    "rows.rs8.n": "4", "rows.same_day.n": "2", "rows.yardstick.n": "18",
    "draws.rs8": "12", "draws.yardstick": "54", "draws.per_row": "3",
    "tasks.agentic": "4", "tasks.qa": "2", "tasks.per_draw": "6", "gpus": "2",
    "agentic.rs8": "48", "agentic.yardstick": "216", "passes.rs8": "5.17", "passes.yardstick": "5.00",
    "qa_remote.rs8": "0.83", "qa_remote.yardstick": "0.52",
    "qa_config.rs8": "0.33", "qa_config.yardstick": "0.48",
    # percent of the samples at or above POWER_FLOOR_W
    "power.share.min": "26", "power.share.max": "30",
    # seconds of model time, a draw or a task
    "time.rs8.draw": "206.28", "time.rs8.task": "34.38",
    "time.same_day.draw": "206.25", "time.same_day.task": "34.38",
    "time.yardstick.draw": "208.65", "time.yardstick.task": "34.77",
    "time.se": "7.45", "time.se_floor": "3.18",
    "steps.per_draw": "12340", "implied.draw": "3.83", "implied.task": "0.64",
    # levers: ms per verify step, calls, rows
    "f.saving": "0.071", "f.calls": "388", "f.rows": "2328", "f.pre_rows": "816", "f.mismatch_rows": "12",
    "f.layers": "4", "moe.segment_end": "0.039", "moe.segment_end.lo": "0.035", "moe.segment_end.hi": "0.042",
    "moe.chunks": "128", "moe.copy.1": "0.000", "moe.copy.2": "0.026", "moe.copy.3": "0.055",
    "moe.copy.n": "3", "levers.n": "3",
}  # fmt: skip
"""Every published figure that follows from records, as printed."""

WINDOWS = {
    "saving.low": (0.3135, 0.3140),
    "saving.same_day.low": (0.2980, 0.2985),
    "saving.same_day.low.half_width": (0.1290, 0.1300),
    "row_sd.low": (0.0836, 0.0838),
    "row_sd.high": (0.0875, 0.0877),
    "yardstick.row_sd": (0.0875, 0.0885),
    "time.same_day.draw": (206.250, 206.255),
    "time.yardstick.draw": (208.645, 208.650),
    "time.row_sd": (13.470, 13.485),
    "moe.segment_end": (0.0385, 0.0390),
}
"""Windows, low end included, in which the unrounded values lie."""

COUNT_MS, MATCH_AT, SLOPE_LOW, SLOPE_HIGH = 0.31, 3.740, 0.366, 0.602
BAR_HALF_COUNT_MS, BAR_F_MS, BAR_MOE_MS = 0.155, 0.08, 0.10
POWER_FLOOR_W, POWER_CAP_W = 250.0, 500.0
STEPS_PER_DRAW, DRAWS, TASKS_PER_DRAW = 12340, 3, 6
SAME_DAY = {"0425": "old", "0443": "rs8", "0500": "rs8", "0518": "rs8", "0536": "rs8", "0552": "old"}
QA_PASSES = {
    "rs8": {"qa-remote": 10, "qa-config": 4},
    "yardstick": {"qa-remote": 28, "qa-config": 26},
    "old": {"qa-remote": 4, "qa-config": 2},  # not published: assumed
}

# ---- What was chosen, inside the published windows --------------------------------------------------------

STEP_TOTALS = {"rs8": 148_083, "old": 74_038, "yardstick": 666_359}
"""Verify steps of an arm's draws together; over all 72 draws the mean is STEPS_PER_DRAW."""
MODEL_TIME_S = {"rs8": 206.2794, "old": 206.2523, "yardstick": 208.6471}
"""Mean model time of a draw, by arm."""
MODEL_TIME_ROW_SD_S = 13.4768
STEP_SLOPE = 0.47
"""Milliseconds that one more token per step adds to a step inside a row; between the two frozen slopes."""
BAND = 0.00035
"""How far an unrounded row figure may lie from its printed value."""
KEPT_APART = 0.00005
"""How far, at least, an unrounded row value lies from its printed value."""
CONTEXT_TOKENS = (8192, 16384, 24576, 32768, 49152, 65536, 98304, 131072, 196608, 262144)


@dataclass(frozen=True)
class Row:
    """One engine start of one arm."""

    row: str
    arm: str
    started: dt.datetime
    assumed: str


class Interval(NamedTuple):
    """A difference of means with its two-sided 95 % interval."""

    estimate: float
    lo: float
    hi: float
    sd: float


def pooled_interval(first: np.ndarray, second: np.ndarray) -> Interval:
    """Mean of `first` minus mean of `second`, with the pooled two-sample t interval over their values."""
    df = len(first) + len(second) - 2
    sd = float(np.sqrt((first.var(ddof=1) * (len(first) - 1) + second.var(ddof=1) * (len(second) - 1)) / df))
    half = float(student_t.ppf(0.975, df)) * sd * float(np.sqrt(1 / len(first) + 1 / len(second)))
    estimate = float(first.mean() - second.mean())
    return Interval(estimate, estimate - half, estimate + half, sd)


def row_figures(rows: Sequence[str], arms: np.ndarray, low: np.ndarray, tokens_per_step: np.ndarray) -> dict:
    """Figures that follow from each row's matched value at the low slope and its tokens per verify step."""
    figures = {f"row.{row}": value for row, value in zip(rows, low, strict=True) if row in SAME_DAY}
    for slope in ("low", "high"):
        turn = SLOPE_HIGH - SLOPE_LOW if slope == "high" else 0.0
        matched = low - turn * (tokens_per_step - MATCH_AT)
        yardstick, rs8, old = (matched[arms == arm] for arm in ("yardstick", "rs8", "old"))
        saving, same_day = pooled_interval(yardstick, rs8), pooled_interval(old, rs8)
        for name, interval in ((f"saving.{slope}", saving), (f"saving.same_day.{slope}", same_day)):
            figures |= {name: interval.estimate, f"{name}.lo": interval.lo, f"{name}.hi": interval.hi}
        figures[f"drift.{slope}"] = old.mean() - yardstick.mean()
        figures[f"row_sd.{slope}"] = saving.sd
        figures[f"rs8_below.{slope}"] = yardstick.min() - rs8.max()
    yardstick = low[arms == "yardstick"]
    figures |= {"yardstick.mean": yardstick.mean(), "yardstick.row_sd": yardstick.std(ddof=1)}
    figures |= {"yardstick.min": yardstick.min(), "yardstick.max": yardstick.max()}
    for name, arm in (("rs8", "rs8"), ("same_day", "old"), ("yardstick", "yardstick")):
        figures[f"tps.{name}"] = tokens_per_step[arms == arm].mean()
    return {name: float(value) for name, value in figures.items()}


# ---- Making the records -----------------------------------------------------------------------------------


def make_rows(rng: np.random.Generator) -> list[Row]:
    """The 18 yardstick rows of 5 November, then the six rows of 6 November, in order of their start."""
    start = dt.datetime(2026, 11, 5, 9, 7, tzinfo=dt.UTC)
    rows = []
    for number in range(1, 19):
        rows.append(Row(f"y{number:02d}", "yardstick", start, "started"))
        start += dt.timedelta(minutes=int(rng.integers(17, 19)))
    for row, arm in SAME_DAY.items():
        at = dt.datetime(2026, 11, 6, int(row[:2]), int(row[2:]), tzinfo=dt.UTC)
        rows.append(Row(row, arm, at, ""))
    return rows


def row_record(row: Row) -> dict:
    """One record of rows.csv."""
    record = {"row": row.row, "arm": row.arm, "started": f"{row.started:%Y-%m-%dT%H:%M:%SZ}"}
    return record | {"state": "complete", "reason": "", "assumed": row.assumed}


def make_row_values(rng: np.random.Generator, rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray]:
    """Each row's matched value at the low slope [ms] and its tokens per verify step.

    Starts from a plausible sample and moves it as little as possible until every row figure is in its band.
    """
    ids, arms = [row.row for row in rows], np.array([row.arm for row in rows])
    matched, tokens_per_step = np.empty(len(rows)), np.empty(len(rows))
    for arm, name in (("rs8", "rs8"), ("old", "same_day"), ("yardstick", "yardstick")):
        spread = rng.normal(0, 0.06, (arms == arm).sum())
        tokens_per_step[arms == arm] = float(PUBLISHED[f"tps.{name}"]) + spread - spread.mean()
    for place, row in enumerate(rows):
        if row.arm == "yardstick":
            matched[place] = np.clip(rng.normal(14.429, 0.088), 14.304, 14.563)
        else:
            matched[place] = float(PUBLISHED[f"row.{row.row}"]) + rng.uniform(-3e-4, 3e-4)
    yardstick = np.flatnonzero(arms == "yardstick")
    lowest, highest = rng.choice(yardstick, 2, replace=False)
    matched[lowest], matched[highest] = 14.2801, 14.5818

    start = np.concatenate([matched, tokens_per_step])
    scale = np.concatenate([np.where(arms == "yardstick", 0.09, 0.0002), np.full(len(rows), 0.06)])

    def figures_at(move: np.ndarray) -> dict:
        return row_figures(ids, arms, *np.split(start + scale * move, 2))

    names = sorted(figures_at(np.zeros(len(start))).keys() & (PUBLISHED.keys() | WINDOWS.keys()))
    bands = np.array([band(name) for name in names])

    def room(move: np.ndarray) -> np.ndarray:
        """Distance of every figure from both ends of its band [0.1 us]; negative where it is outside."""
        figures = figures_at(move)
        now = np.array([figures[name] for name in names])
        return np.concatenate([now - bands[:, 0], bands[:, 1] - now]) / 1e-4

    fit = minimize(
        lambda move: move @ move / 2,
        np.zeros(len(start)),
        jac=lambda move: move,
        constraints={"type": "ineq", "fun": room},
        method="SLSQP",
        options={"maxiter": 200, "ftol": 1e-9},
    )
    # rounded, so that another machine's last bits do not reach the files
    matched, tokens_per_step = np.split(np.round(start + scale * fit.x, 5), 2)
    return matched + rng.uniform(-4e-6, 4e-6, len(rows)), tokens_per_step


def band(name: str) -> tuple[float, float]:
    """Ends between which the unrounded row figure `name` is put, a little inside the published ones."""
    lo, hi = WINDOWS.get(name, (-np.inf, np.inf))
    if name in PUBLISHED:
        lo, hi = max(lo, float(PUBLISHED[name]) - BAND), min(hi, float(PUBLISHED[name]) + BAND)
    room = 5e-6  # for whole tokens and for rounded values
    return lo + room, hi - room


def make_draws(rng: np.random.Generator, rows: Sequence[Row], passes: dict) -> list[dict]:
    """Three draws a row: their sums of step time, verify steps and tokens, model time and passes."""
    arms = np.array([row.arm for row in rows])
    matched, row_tokens_per_step = make_row_values(rng, rows)
    shape = (len(rows), DRAWS)

    spread = rng.normal(0, 850, shape) + rng.normal(0, 780, (len(rows), 1))
    steps = np.empty(shape, dtype=int)
    for arm, total in STEP_TOTALS.items():
        mine = spread[arms == arm]
        whole = np.rint(total / mine.size + mine - mine.mean()).astype(int).ravel()
        left = total - whole.sum()
        whole[rng.choice(whole.size, abs(left), replace=False)] += np.sign(left)
        steps[arms == arm] = whole.reshape(mine.shape)

    offset = rng.normal(0, 0.10, shape)
    tokens = np.rint((row_tokens_per_step[:, None] + centred(offset)) * steps).astype(int)
    x = tokens / steps
    noise = (STEP_SLOPE - SLOPE_LOW) * x + rng.normal(0, 0.075, shape)
    y = matched[:, None] + SLOPE_LOW * (x - MATCH_AT) + centred(noise)
    step_time_ms = y * steps

    # outside the verify steps: prefill, sampling and the server's own work
    rest = rng.normal(0, 4.5, (len(rows), 1)) + rng.normal(0, 4.0, shape)
    model_time_s = step_time_ms / 1000 + rest
    row_time = model_time_s.mean(axis=1)
    for arm in MODEL_TIME_S:
        row_time[arms == arm] -= row_time[arms == arm].mean()
    now = pooled_interval(row_time[arms == "rs8"], row_time[arms == "yardstick"]).sd
    wanted = np.array([MODEL_TIME_S[arm] for arm in arms]) + row_time * MODEL_TIME_ROW_SD_S / now
    model_time_s += (wanted - model_time_s.mean(axis=1))[:, None]

    return [
        {
            "row": row.row, "draw": draw + 1, "step_time_ms": f"{step_time_ms[place, draw]:.3f}",
            "verify_steps": steps[place, draw], "tokens": tokens[place, draw],
            "model_time_s": f"{model_time_s[place, draw]:.3f}", "passes": passes[row.row, draw + 1],
        }
        for place, row in enumerate(rows) for draw in range(DRAWS)
    ]  # fmt: skip


def centred(values: np.ndarray) -> np.ndarray:
    """Each row's values minus their mean."""
    return values - values.mean(axis=1, keepdims=True)


def make_tasks(rng: np.random.Generator, rows: Sequence[Row]) -> list[dict]:
    """Six graded tasks a draw: every agentic task passes, the QA tasks pass as often as published."""
    passed = set()
    for arm, counts in QA_PASSES.items():
        draws = [(row.row, draw) for row in rows if row.arm == arm for draw in range(1, DRAWS + 1)]
        for task, count in counts.items():
            passed |= {(*draws[place], task) for place in rng.choice(len(draws), count, replace=False)}
    records = []
    for row in rows:
        unpublished = ["outcome"] if row.arm == "old" else []
        for draw in range(1, DRAWS + 1):
            agentic = [(f"agentic-{n}", "agentic", "pass", ["task", *unpublished]) for n in range(1, 5)]
            qa = [
                (task, "qa", "pass" if (row.row, draw, task) in passed else "fail", unpublished)
                for task in ("qa-remote", "qa-config")
            ]
            for task, kind, outcome, assumed in agentic + qa:
                record = {"row": row.row, "draw": draw, "task": task, "kind": kind, "outcome": outcome}
                records.append(record | {"assumed": ";".join(assumed)})
    return records


def make_power(rng: np.random.Generator, rows: Sequence[Row], draws: Sequence[dict]) -> pa.Table:
    """Power samples of both GPUs, one every 5 s from the first draw of a row to its last.

    A common load drives both GPUs. The cap is engaged on the busiest samples of the row, which then sit just
    below it. Tool calls leave idle samples; on some of them the cap's flag is still set.
    """
    shares = rng.uniform(0.267, 0.292, len(rows))
    first, last = rng.choice(len(rows), 2, replace=False)
    shares[first], shares[last] = 0.2606, 0.2987
    columns = {"row": [], "at": [], "gpu": [], "power_w": [], "cap_engaged": []}
    for row, share in zip(rows, shares, strict=True):
        times = [float(record["model_time_s"]) for record in draws if record["row"] == row.row]
        busy = np.concatenate([busy_samples(rng, seconds) for seconds in times])
        load = np.zeros((len(busy), 2))
        state = rng.normal(0, 1, 3)
        for place in range(len(busy)):
            state = 0.72 * state + rng.normal(0, 1, 3)
            load[place] = state[0] + 0.55 * state[1:]
        # where a busy sample's load stands among the row's, from 0 to 1
        rank = np.full(load.shape, np.nan)
        rank[busy] = (load[busy].ravel().argsort().argsort().reshape(-1, 2) + 0.5) / (2 * busy.sum())
        capped = rank > 1 - share
        below = np.clip(292 + 205 * (rank / (1 - share)) ** 0.8 + rng.normal(0, 9, load.shape), 254, 496)
        at_cap = np.clip(POWER_CAP_W - 0.2 - np.abs(rng.normal(0, 1.9, load.shape)), 493, None)
        idle = np.clip(rng.normal((88, 94), (9, 10), load.shape) + rng.exponential(14, load.shape), 61, 238)
        watts = np.where(capped, at_cap, np.where(busy[:, None], below, idle))
        engaged = capped.copy()
        engaged[1:] |= ~busy[1:, None] & capped[:-1]
        begin = int(row.started.timestamp() * 1000) + int(rng.integers(80_000, 112_000))
        at = begin + 5000 * np.arange(len(busy)) + rng.integers(-38, 39, len(busy))
        columns["row"] += [row.row] * watts.size
        columns["at"] += np.repeat(at, 2).tolist()
        columns["gpu"] += [0, 1] * len(busy)
        columns["power_w"] += np.round(watts, 1).ravel().tolist()
        columns["cap_engaged"] += engaged.ravel().tolist()
    types = (pa.string(), pa.timestamp("ms", tz="UTC"), pa.int8(), pa.float32(), pa.bool_())
    return pa.table(columns, schema=pa.schema(list(zip(columns, types, strict=True))))


def busy_samples(rng: np.random.Generator, model_time_s: float) -> np.ndarray:
    """Whether each sample of a draw falls in model time; tool calls come between, and end the draw."""
    busy = np.ones(int(model_time_s / 5), dtype=bool)
    calls = np.sort(rng.choice(np.arange(4, len(busy) - 2), rng.integers(3, 6), replace=False))
    for call in calls[::-1]:
        busy = np.insert(busy, call, np.zeros(rng.integers(1, 4), dtype=bool))
    return np.append(busy, False)


def make_context_mix(rng: np.random.Generator) -> list[dict]:
    """Verify steps that the benchmark spends at each context length: a choice, not published."""
    weights = np.array([0.9, 2.6, 4.2, 5.6, 8.1, 8.7, 7.4, 4.6, 1.5, 0.4]) * rng.uniform(0.9, 1.1, 10)
    steps = np.rint(weights / weights.sum() * 100_000).astype(int)
    return [
        {"context_tokens": context, "verify_steps": count, "assumed": "verify_steps"}
        for context, count in zip(CONTEXT_TOKENS, steps, strict=True)
    ]


def make_kernel_timings(rng: np.random.Generator, mix: Sequence[dict]) -> list[dict]:
    """Paired timings of each lever's bench: one call of the served kernel and of the changed one."""
    context = np.array(CONTEXT_TOKENS)
    steps = np.array([record["verify_steps"] for record in mix])
    served = 21.4 + 1.62e-4 * context + rng.normal(0, 0.25, len(context))
    changed = 12.6 + 1.4e-5 * context + rng.normal(0, 0.15, len(context))
    changed += np.average(served - changed, weights=steps) - 1000 * 0.07093 / 4
    records = [
        timing("fused-masked-topk", "v2", chunk, 4, *times)
        for chunk, times in enumerate(zip(served, changed, strict=True), start=1)
    ]
    for place, tokens in enumerate(CONTEXT_TOKENS):
        records[place]["context_tokens"] = tokens
    benches = (  # lever, variant, chunks, mean saving and its sd [us], time of a verify step's MoE part [us]
        ("moe-segment-end", "v1", 128, 38.72, 20.1, 6042.0),
        ("moe-copy", "1", 32, 0.21, 17.4, 6057.0),
        ("moe-copy", "2", 32, 26.13, 19.2, 6049.0),
        ("moe-copy", "3", 32, 54.78, 18.6, 6061.0),
    )
    for lever, variant, chunks, mean, sd, level in benches:
        saving = rng.normal(0, 1, chunks)
        saving = mean + sd * (saving - saving.mean()) / saving.std(ddof=1)
        served = level + np.cumsum(rng.normal(0, 2.5, chunks)) + rng.normal(0, 31, chunks)
        records += [
            timing(lever, variant, chunk, 1, *times)
            for chunk, times in enumerate(zip(served, served - saving, strict=True), start=1)
        ]
    return records


def timing(lever: str, variant: str, chunk: int, calls: int, served_us: float, changed_us: float) -> dict:
    """One record of kernel_timings.csv, its context length left open."""
    record = {"lever": lever, "variant": variant, "chunk": chunk, "context_tokens": "", "calls": calls}
    return record | {"served_us": f"{served_us:.3f}", "changed_us": f"{changed_us:.3f}"}


def make_equality(rng: np.random.Generator) -> list[dict]:
    """Byte comparisons of the fused masked top-k with the served kernels, six rows a call."""
    unequal = dict(zip(rng.choice(np.arange(1, 137), 5, replace=False), (3, 1, 4, 2, 2), strict=True))
    records = []
    runs = (("pre-timing", "v1", 136), ("pre-timing", "v2", 136), ("real-calls", "v2", 388))
    for check, version, calls in runs:
        for call in range(1, calls + 1):
            mismatched = unequal.get(call, 0) if version == "v1" else 0
            record = {"check": check, "version": version, "call": call, "rows": 6}
            records.append(record | {"mismatched_rows": mismatched})
    return records


RUN = {
    "origin": "reconstructed",
    "label": "A reconstruction made to agree with the published figures of Part 5, not a measurement.",
    "made_by": "parts/part-5/reconstruct.py",
    "seed": SEED,
    "stated_environment": {
        "stated_by": "the source, not proven here",
        "model": "DeepSeek-V4.1-Flash-1017",
        "gpus": "2x RTX PRO 6000 Blackwell Workstation Edition, SM120",
        "gpu_count": 2,
        "power_cap_w": 500,
        "serving": "vLLM + EXL3 3-bit pack (diffbot)",
        "concurrency": 1,
        "benchmark": "W01",
        "unchanged_since": "Part 4",
    },
    "assumed": [
        "The names of the four agentic tasks are placeholders.",
        "The start times of the yardstick rows were chosen; the source states their day alone.",
        "All outcomes in the two old rows of 6 November, and so the passes of their draws, were chosen.",
        "The number of verify steps at each context length of the benchmark was chosen.",
        "Where the two matching slopes come from is not stated; they are taken as given.",
        "Which draws passed a QA task was chosen; how many did is stated for the rs8 and the yardstick rows.",
        "Power samples, kernel timings and equality checks were made record by record to agree with what is "
        "stated of them together; so were the times, steps and tokens of each draw.",
        "The context lengths of the fused masked top-k bench, and the number of chunks of each memory-copy "
        "schedule, were chosen.",
        "The calls in which the first fused masked top-k differed were chosen; the rows are stated.",
    ],
}  # fmt: skip
"""run.json: what these records are, what the source states of its machine, what was assumed."""


def write_csv(path: Path, records: Iterable[dict]) -> None:
    """Write `records` to `path`, the first one's keys as the header, LF line ends."""
    records = list(records)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def reconstruct(folder: Path) -> None:
    """Write all records to `folder`; each kind has its own stream of random numbers, all from SEED."""
    streams = iter(np.random.default_rng(SEED).spawn(7))
    rows = make_rows(next(streams))
    tasks = make_tasks(next(streams), rows)
    passes = {}
    for task in tasks:
        key = (task["row"], task["draw"])
        passes[key] = passes.get(key, 0) + (task["outcome"] == "pass")
    draws = make_draws(next(streams), rows, passes)
    power = make_power(next(streams), rows, draws)
    mix = make_context_mix(next(streams))

    folder.mkdir(exist_ok=True)
    write_csv(folder / "rows.csv", [row_record(row) for row in rows])
    write_csv(folder / "draws.csv", draws)
    write_csv(folder / "tasks.csv", tasks)
    write_csv(folder / "context_mix.csv", mix)
    write_csv(folder / "kernel_timings.csv", make_kernel_timings(next(streams), mix))
    write_csv(folder / "equality.csv", make_equality(next(streams)))
    pq.write_table(power, folder / "power.parquet", compression="zstd", compression_level=9, version="2.6")
    run = json.dumps(RUN, indent=2, ensure_ascii=False) + "\n"
    (folder / "run.json").write_text(run, encoding="utf-8", newline="\n")


# ---- Checking what was written ----------------------------------------------------------------------------


def recompute(folder: Path) -> dict[str, float]:
    """Every figure in PUBLISHED and WINDOWS, from the files in `folder`."""
    text = {"row": str, "variant": str}
    rows, draws, tasks, mix, timings, equality = (
        pd.read_csv(folder / f"{name}.csv", dtype=text, keep_default_na=False)
        for name in ("rows", "draws", "tasks", "context_mix", "kernel_timings", "equality")
    )
    power = pd.read_parquet(folder / "power.parquet")
    arm = rows.set_index("row")["arm"]

    draws["x"] = draws["tokens"] / draws["verify_steps"]
    draws["matched"] = draws["step_time_ms"] / draws["verify_steps"] - SLOPE_LOW * (draws["x"] - MATCH_AT)
    means = draws.groupby("row")[["matched", "x", "model_time_s", "verify_steps"]].mean().loc[arm.index]
    arms = arm.to_numpy()
    figures = row_figures(means.index, arms, means["matched"].to_numpy(), means["x"].to_numpy())
    figures["saving.same_day.short"] = figures["saving.same_day.low"]
    same_day = "saving.same_day.low"
    figures[f"{same_day}.half_width"] = (figures[f"{same_day}.hi"] - figures[f"{same_day}.lo"]) / 2
    figures["decide.lower"] = min(figures["saving.low.lo"], figures["saving.high.lo"])

    times = means["model_time_s"].to_numpy()
    sd = pooled_interval(times[arms == "rs8"], times[arms == "yardstick"]).sd
    figures |= {"time.row_sd": sd, "time.se": sd * (1 / 4 + 1 / 18) ** 0.5, "time.se_floor": sd / 18**0.5}
    for name, of in (("rs8", "rs8"), ("same_day", "old"), ("yardstick", "yardstick")):
        mine = draws[draws["row"].map(arm) == of]
        figures[f"time.{name}.draw"] = mine["model_time_s"].mean()
        figures[f"time.{name}.task"] = mine["model_time_s"].mean() / TASKS_PER_DRAW
        figures |= {f"rows.{name}.n": (arms == of).sum(), f"draws.{name}": len(mine)}
        graded = tasks[tasks["row"].map(arm) == of]
        passed = graded["outcome"] == "pass"
        figures[f"agentic.{name}"] = (passed & (graded["kind"] == "agentic")).sum()
        figures[f"passes.{name}"] = passed.sum() / len(mine)
        for task in ("qa-remote", "qa-config"):
            figures[f"{task.replace('-', '_')}.{name}"] = passed[graded["task"] == task].mean()
    for kind in ("agentic", "qa"):
        figures[f"tasks.{kind}"] = tasks.loc[tasks["kind"] == kind, "task"].nunique()
    figures["draws.per_row"] = len(draws) / len(rows)
    figures["tasks.per_draw"] = len(tasks) / len(draws)
    figures["steps.per_draw"] = draws["verify_steps"].mean()
    figures["implied.draw"] = COUNT_MS * draws["verify_steps"].mean() / 1000
    figures["implied.task"] = figures["implied.draw"] / TASKS_PER_DRAW

    loaded = power[power["power_w"] >= POWER_FLOOR_W].groupby("row")["cap_engaged"].mean() * 100
    figures |= {"power.share.min": loaded.min(), "power.share.max": loaded.max()}
    figures["gpus"] = power["gpu"].nunique()

    timings["saving_ms"] = (timings["served_us"] - timings["changed_us"]) / 1000
    fused = timings[timings["lever"] == "fused-masked-topk"].astype({"context_tokens": int}).merge(mix)
    a_step = fused["saving_ms"] * fused["calls"]
    figures["f.saving"] = (a_step * fused["verify_steps"]).sum() / mix["verify_steps"].sum()
    figures["f.layers"] = fused["calls"].iloc[0]
    end = timings.loc[timings["lever"] == "moe-segment-end", "saving_ms"]
    half = student_t.ppf(0.975, len(end) - 1) * end.std(ddof=1) / len(end) ** 0.5
    figures |= {"moe.segment_end": end.mean(), "moe.segment_end.lo": end.mean() - half}
    figures |= {"moe.segment_end.hi": end.mean() + half, "moe.chunks": len(end)}
    copies = timings[timings["lever"] == "moe-copy"].groupby("variant")["saving_ms"].mean()
    figures |= {f"moe.copy.{variant}": saving for variant, saving in copies.items()}
    figures |= {"moe.copy.n": len(copies), "levers.n": timings["lever"].nunique()}

    real = equality[equality["check"] == "real-calls"]
    before = equality[equality["check"] == "pre-timing"].groupby("version")[["rows", "mismatched_rows"]].sum()
    figures |= {"f.calls": len(real), "f.rows": real["rows"].sum(), "f.pre_rows": before.loc["v2", "rows"]}
    figures["f.mismatch_rows"] = before.loc["v1", "mismatched_rows"]
    return {name: float(value) for name, value in figures.items()}


def claims(folder: Path, figures: dict[str, float]) -> dict[str, bool]:
    """Sentences that are published, or that hold for any measurement, each with its truth in `folder`."""
    rows = pd.read_csv(folder / "rows.csv", dtype=str)
    draws = pd.read_csv(folder / "draws.csv", dtype={"row": str}).set_index(["row", "draw"])
    tasks = pd.read_csv(folder / "tasks.csv", dtype={"row": str})
    equality = pd.read_csv(folder / "equality.csv")
    adapted = equality[equality["version"] == "v2"]
    passed = tasks[tasks["outcome"] == "pass"].groupby(["row", "draw"]).size().loc[draws.index]
    samples = pd.read_parquet(folder / "power.parquet").groupby("row")["at"]
    starts = pd.to_datetime(rows["started"]).array
    first, last = samples.min().loc[rows["row"]].array, samples.max().loc[rows["row"]].array
    apart = [abs(figures[f"row.{row}"] - float(PUBLISHED[f"row.{row}"])) for row in SAME_DAY]
    moe = max(figures[f"moe.{name}"] for name in ("segment_end", "copy.1", "copy.2", "copy.3"))
    upper = min(figures["saving.low.hi"], figures["saving.high.hi"])
    held = {
        "every rs8 row is below the smallest yardstick row, at the low slope": figures["rs8_below.low"] > 0,
        "the same at the high slope": figures["rs8_below.high"] > 0,
        "the lower end carries": figures["decide.lower"] >= BAR_HALF_COUNT_MS,
        "both upper ends exceed the count": upper > COUNT_MS,
        "every lever is under its bar": figures["f.saving"] < BAR_F_MS and moe < BAR_MOE_MS,
        "no row of the second fused top-k differs": adapted["mismatched_rows"].sum() == 0,
        "the six unrounded rows differ from the printed ones": min(apart) >= KEPT_APART,
        "the mean of the verify steps is exact": figures["steps.per_draw"] == STEPS_PER_DRAW,
        "step time is less than model time": (draws["step_time_ms"] < 1000 * draws["model_time_s"]).all(),
        "a verify step emits one token or more": (draws["tokens"] >= draws["verify_steps"]).all(),
        "passes of a draw are its passed tasks": (draws["passes"] == passed).all(),
        "power samples lie between a row's start and the next": (starts < first).all()
        and (last[:-1] < starts[1:]).all(),
    }
    return {claim: bool(truth) for claim, truth in held.items()}


def as_printed(value: float, like: str) -> str:
    """`value` with as many decimals as `like`; a half of its shortest decimal form goes away from zero."""
    return str(Decimal(repr(value)).quantize(Decimal(like), rounding=ROUND_HALF_UP))


def verify(folder: Path) -> int:
    """Number of published figures, windows and claims that the files in `folder` miss; prints the table."""
    figures = recompute(folder)
    lines = [
        (name, printed, f"{figures[name]:.6f}", as_printed(figures[name], printed) == printed)
        for name, printed in PUBLISHED.items()
    ]
    for name, (lo, hi) in WINDOWS.items():
        lines.append((name, f"[{lo}, {hi})", f"{figures[name]:.6f}", lo <= figures[name] < hi))
    print(f"{'figure':<32}{'printed':>18}{'recomputed':>16}  ok")
    for name, printed, recomputed, ok in lines:
        print(f"{name:<32}{printed:>18}{recomputed:>16}  {'yes' if ok else 'NO'}")
    held = claims(folder, figures)
    for claim, ok in held.items():
        print(f"{claim:<68}{'yes' if ok else 'NO'}")
    missed = sum(not ok for *_, ok in lines) + sum(not ok for ok in held.values())
    print(f"{len(PUBLISHED)} figures, {len(WINDOWS)} windows, {len(held)} claims: {missed} missed")
    return missed


if __name__ == "__main__":
    reconstruct(DATA)
    sys.exit(1 if verify(DATA) else 0)
