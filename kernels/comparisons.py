"""What a bench's records say beside one another: each cell's ratio to a yardstick, and who is quicker."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from campaign.kernels.names import MASKED, MASKED_FIRST, OWN

LEVEL = 0.02
"""Two times closer than this share count as level: neither is quicker."""
CELL = ["k", "columns", "rows"]
FUSED, REFERENCE = f"{MASKED} c8", f"{MASKED_FIRST}auto"
"""F as it is called by default, and what it replaces."""


@dataclass(frozen=True)
class Records:
    """What the page is made from."""

    timings: pd.DataFrame
    """bench.csv; `candidates` is 0 where the file has no such column."""
    environment: dict[str, Any]
    """bench.json"""
    check: dict[str, Any]
    """certificate.json"""
    prototypes: pd.DataFrame
    """prototypes.csv: the quickest exact prototypes, in other runs."""
    predictions: pd.DataFrame
    """predictions.csv: what was predicted before a kernel ran; a cluster of 0 blocks stands for the floor."""
    lost: str
    """lost.md, which stands on the page as it is."""
    sanitizer: dict[str, Any] | None = None
    """sanitizer.json, where there is one."""

    @property
    def plain(self) -> pd.DataFrame:
        """The timings of normal data without candidates."""
        return self.timings[(self.timings.input_class == "normal") & (self.timings.candidates == 0)]

    @property
    def lengths(self) -> list[int]:
        """The lengths of those."""
        return sorted(self.plain["columns"].unique())


def read(data: Path) -> Records:
    """The records in the folder `data`."""
    timings = pd.read_csv(data / "bench.csv")
    if "candidates" not in timings:
        timings["candidates"] = 0
    sanitizer = data / "sanitizer.json"
    return Records(
        timings=timings,
        environment=json.loads((data / "bench.json").read_text()),
        check=json.loads((data / "certificate.json").read_text()),
        prototypes=pd.read_csv(data / "prototypes.csv"),
        predictions=pd.read_csv(data / "predictions.csv"),
        lost=(data / "lost.md").read_text().strip(),
        sanitizer=json.loads(sanitizer.read_text()) if sanitizer.exists() else None,
    )


def verdict(ratio: float) -> str:
    """Whether our time over another is quicker, level or slower."""
    if abs(ratio - 1) <= LEVEL:
        return "level"
    return "quicker" if ratio < 1 else "slower"


@dataclass(frozen=True)
class Counts:
    """How many ratios are quicker, level and slower."""

    quicker: int
    level: int
    slower: int


def counts(ratios: Iterable[float]) -> Counts:
    """How many of the ratios are quicker, level and slower."""
    verdicts = [verdict(ratio) for ratio in ratios]
    return Counts(*(verdicts.count(each) for each in ("quicker", "level", "slower")))


def against_quickest(plain: pd.DataFrame, column: str = "hot_us") -> pd.DataFrame:
    """k, columns, rows, own, peer, name and ratio of each cell: auto's time over the quickest peer's, least first.

    Cells in which either is missing are left out.
    """
    peers = plain[~plain.kernel.isin(OWN)].dropna(subset=column).sort_values(column)
    return _ratios(plain, peers.groupby(CELL).first().rename(columns={column: "peer", "kernel": "name"}), column)


def against_prototypes(records: Records) -> pd.DataFrame:
    """The same against the quickest exact prototype of each cell, hot."""
    best = records.prototypes.sort_values("hot_us").groupby(CELL).first()
    return _ratios(records.plain, best.rename(columns={"hot_us": "peer", "prototype": "name"}), "hot_us")


def _ratios(plain: pd.DataFrame, others: pd.DataFrame, column: str) -> pd.DataFrame:
    """Times of auto beside those of `others`, which has peer and name by cell."""
    auto = plain[plain.kernel == "auto"].set_index(CELL)[column]
    joined = pd.DataFrame({"own": auto, "peer": others.peer, "name": others.name}).dropna().reset_index()
    return joined.assign(ratio=joined.own / joined.peer).sort_values("ratio", ignore_index=True)


def class_ratios(timings: pd.DataFrame) -> pd.DataFrame:
    """Time over that of normal data, four rows, hot: by kernel, k and length, a column for each class."""
    four = timings[(timings["rows"] == 4) & timings.kernel.isin(OWN) & (timings.candidates == 0)]
    times = four.pivot_table(index=["kernel", "k", "columns"], columns="input_class", values="hot_us")
    if "normal" not in times:
        return pd.DataFrame()
    return times.div(times["normal"], axis=0).drop(columns="normal").dropna(how="all")


def masked_times(timings: pd.DataFrame, column: str = "hot_us") -> pd.DataFrame:
    """Times of the cells with candidates: by k, length and number of rows, a column for each kernel."""
    return timings[timings.candidates > 0].set_index([*CELL, "kernel"])[column].unstack()


def fused_ratios(timings: pd.DataFrame, column: str = "hot_us") -> pd.Series:
    """Time of F over that of what it replaces, of each cell that has both."""
    times = masked_times(timings, column)
    if not {FUSED, REFERENCE} <= set(times.columns):
        return pd.Series(dtype=float)
    return (times[FUSED] / times[REFERENCE]).dropna()
