"""The page of what the kernels' bench measured."""

import json

import pandas as pd
import pytest

from campaign.kernels import report

DATA = report.__file__.replace("report.py", "data")


@pytest.fixture
def timings():
    """The committed records of the bench."""
    return pd.read_csv(f"{DATA}/bench.csv")


def test_committed_page_is_what_the_records_give(tmp_path, timings):
    """No figure of the page is older than its records, and none is typed."""
    out = tmp_path / "MEASURED.md"
    report.write(report.Path(DATA), out)
    committed = report.Path(DATA).parent / "MEASURED.md"
    assert out.read_text() == committed.read_text()


def test_certificate_is_of_the_sources_that_were_timed():
    """What was timed is what was checked."""
    bench, check = (json.loads((report.Path(DATA) / f"{name}.json").read_text()) for name in ("bench", "certificate"))
    assert bench["sources"] == check["sources"] and not check["wrong"]


def test_wrong_answer_of_ours_has_no_time(timings):
    """A cell in which one of our kernels is wrong shows no time."""
    own = timings[timings.kernel.isin(report.OWN)]
    assert own[own.wrong_entries > 0].hot_us.isna().all() and (own.wrong_entries == 0).all()


def test_lost_cell_says_so(timings):
    """Where a peer is quicker than auto, the table marks the cell."""
    normal = timings[(timings.input_class == "normal") & (timings.k == 512)]
    slow = normal.assign(hot_us=normal.hot_us.where(normal.kernel != "auto", 1e6))
    assert report._times(slow).count("**lost**") == len(slow[slow.kernel == "auto"])
    quick = normal.assign(hot_us=normal.hot_us.where(normal.kernel != "auto", 1e-6))
    assert "**lost**" not in report._times(quick)
