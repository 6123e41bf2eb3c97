"""The benchmark of step logs: both ways agree on what it makes, and what is shown is what was recorded."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from campaign.engine import bench_aggregate
from campaign.engine.bench_aggregate import RECORDS, SIZES, WAYS, as_table, bench, write_log

ROOT = Path(__file__).resolve().parents[1]
SAID = json.loads(RECORDS.read_text())


@pytest.mark.parametrize("count", [1, 1_000, 120_000])
def test_log_has_the_records_that_were_asked_for(tmp_path, count):
    """A log of any length is made, the same in every run."""
    for name in ("a", "b"):
        write_log(tmp_path / name, count)
    assert pq.ParquetFile(tmp_path / "a").metadata.num_rows == count
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_small_bench_measures_both_ways():
    """Each size and way is run in processes of its own, and its sums are compared."""
    said = bench([2_000], 1, lambda line: None)
    assert [(one["way"], one["runs"]) for one in said["results"]] == [(way, 1) for way in WAYS]
    assert all(0 < one["before_mib"] <= one["peak_mib"] for one in said["results"])


def test_ways_that_differ_are_not_timed(monkeypatch):
    """No time is given for a wrong sum."""
    found = iter({"sums_sha256": text, "seconds": 1.0} for text in "ab")
    monkeypatch.setattr(bench_aggregate, "_in_a_process", lambda way, path: next(found))
    with pytest.raises(RuntimeError, match="found 2 different sums"):
        bench([100], 1, lambda line: None)


def test_records_are_of_all_sizes():
    """What is recorded covers 10**5, 10**6 and 10**7 records on two cores, each measured several times."""
    assert {(one["records"], one["way"]) for one in SAID["results"]} == {(size, way) for size in SIZES for way in WAYS}
    assert SAID["machine"]["cores_used"] == 2
    assert min(one["runs"] for one in SAID["results"] if one["way"] == next(iter(WAYS))) >= 3


def test_recorded_memory_is_flat():
    """Ten times the records took at most a quarter more memory, and never half a GiB."""
    peaks = {one["records"]: one["peak_mib"] for one in SAID["results"] if one["way"] == next(iter(WAYS))}
    assert peaks[10**7] <= 1.25 * peaks[10**6]
    assert max(peaks.values()) < 512


def test_table_of_the_readme_is_what_was_recorded():
    """The table in analysis/README.md is the one that the records give."""
    assert as_table(SAID) in (ROOT / "analysis" / "README.md").read_text()
