"""The benchmark of checks: its campaigns are as they should be, and what is shown is what was recorded."""

import json
import statistics
from itertools import pairwise

import pytest
from tests.campaigns import shut_out

from campaign.notes import bench_check
from campaign.notes.bench_check import CHANGED, COLD, RECORDS, UNKEPT, WARM, as_table, fewer, make_campaign
from campaign.notes.checking import check_all
from campaign.notes.corrections import read_corrections
from campaign.notes.publish import read_published
from campaign.notes.seal import read_seal

SAID = json.loads(RECORDS.read_text()) if RECORDS.exists() else None
recorded = pytest.mark.skipif(SAID is None, reason="nothing is recorded")


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    shut_out(monkeypatch)
    return make_campaign(tmp_path / "whole", 4, 1)


def wrong(campaign) -> list[object]:
    """What is wrong with the parts of a campaign, and what cannot be told."""
    checked = list(check_all(campaign.parts(), jobs=1, cache=False))
    reports = [one.report for one in checked if one.report is not None]
    return [
        *(one.wrong for one in checked if one.wrong),
        *(one for report in reports for one in report.findings if one.level == "error"),
        *(report.cannot_tell for report in reports if report.cannot_tell),
    ]


def test_parts_that_are_made_are_published_and_right(campaign, tmp_path):
    """Each part is sealed and published, no two have the same data, one is corrected, and the check finds nothing."""
    parts = campaign.parts()
    assert all(read_seal(part) and read_published(part) for part in parts)
    assert len({(part.data / "timings.csv").read_text() for part in parts}) == len(parts) == 4
    assert [len(read_corrections(part)) for part in parts] == [1, 0, 0, 0]
    assert wrong(campaign) == []
    few = fewer(campaign, 2, tmp_path / "few")
    assert [part.name for part in few.parts()] == ["part-1", "part-2"]
    assert wrong(few) == []


def test_checks_that_differ_are_not_timed(campaign, monkeypatch):
    """No time is given where two ways to check do not say the same."""
    answers = iter("ab")
    said = {"seconds": 1.0, "cpu_seconds": 1.0, "load": 0.0}
    monkeypatch.setattr(bench_check.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(bench_check, "timed_check", lambda *ways, **more: said | {"reports_sha256": next(answers, "b")})
    with pytest.raises(RuntimeError, match="found 2 different answers"):
        bench_check._measured(campaign, 4, 1, 1, False, lambda line: None)


def cpu(parts: int, way: str) -> float:
    """Recorded seconds of CPU, the median of the runs."""
    (one,) = [one for one in SAID["results"] if (one["parts"], one["way"]) == (parts, way) and one["jobs"] > 1]
    return statistics.median(one["cpu_seconds"])


@recorded
def test_recorded_check_is_linear():
    """Twice the parts took no more than about twice the time, from 125 parts to 1,000."""
    sizes = sorted({one["parts"] for one in SAID["results"]})
    assert sizes == [125, 250, 500, 1000]
    for less, more in pairwise(sizes):
        assert cpu(more, COLD) <= 2.5 * cpu(less, COLD)


@recorded
def test_recorded_check_of_what_did_not_change_is_short():
    """With nothing changed a check took a small part of the first; with one part changed hardly more than one part."""
    assert cpu(1000, WARM) < 0.1 * cpu(1000, COLD)
    assert cpu(1000, CHANGED) < 0.25 * cpu(1000, COLD)
    assert any(one["way"] == UNKEPT for one in SAID["results"])


@recorded
def test_table_holds_every_result():
    """The table has a line for each recorded result, and says when it was measured."""
    table = as_table(SAID)
    assert sum(line.startswith("| 1") for line in table.splitlines()) >= 3
    assert SAID["measured"][:10] in table
