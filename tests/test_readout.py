"""What a person reads in a terminal: verdict first, then the readings; nothing before the last planned row."""

import json
import re
from functools import cache
from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign
from tests.served import DRIFT, FAILED, SAVING, VERDICT, served

from campaign.analysis.readings import Reading
from campaign.notes.panel import panel_text
from campaign.notes.paths import Campaign
from campaign.notes.readout import readout
from campaign.notes.sources import Sources, load
from campaign.notes.terminal import Line, grid
from campaign.notes.verdict_text import guard_states, interval, verdict_lines

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("part-4", "part-5", "part-6", "part-7")


@cache
def part(name: str) -> Sources:
    return load(Campaign.above(ROOT).part(name))


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    monkeypatch.setenv("COLUMNS", "100")
    return built_campaign(tmp_path, monkeypatch)


def cut(campaign: TriedCampaign) -> None:
    """Nothing; the last row has then not run yet."""
    last = campaign.text("data/rows.csv").splitlines()[-1].partition(",")[0]
    for name in ("rows", "draws", "tasks"):
        kept = [one for one in campaign.text(f"data/{name}.csv").splitlines() if not one.startswith(f"{last},")]
        campaign.write(f"data/{name}.csv", "\n".join(kept) + "\n")


# ---------------------------------------------------------------- the verdict


def test_verdict_says_how_far_it_is_from_each_bar():
    lines = list(verdict_lines(part("part-5").plan, part("part-5").readings))
    assert lines[0] == "carries"
    assert "carries needs at least 0.155 (bar.half_count): 0.060 above it" in lines
    assert "saving.low 0.314 [0.217, 0.410] 95 %, n = 22" in lines


def test_question_and_verdict_stand_first():
    text = readout(part("part-5"), 100)
    assert text.index("Question") < text.index("Verdict") < text.index("Guards") < text.index("reading  ")


def test_guard_says_how_far_it_is_from_tripping():
    states = {one.name: one for one in guard_states(part("part-5").plan, part("part-5").readings)}
    assert states["passes per draw"].state == "passed"
    assert states["passes per draw"].said == "passes.rs8 = 5.17; trips at or below 4.5 (guard.passes), 0.67 away"


def test_guard_that_tripped_is_told(tmp_path):
    one = served(tmp_path, SAVING, DRIFT, FAILED, VERDICT)
    one.tasks = [t if (t["row"], t["task"]) != ("r3", "agentic-1") else t | {"outcome": "fail"} for t in one.tasks]
    one.draws = [d if d["row"] != "r3" else d | {"passes": 1} for d in one.draws]
    states = {state.name: state for state in guard_states(one.plan(), one.read())}
    assert states["failures"].state == "tripped" and states["failures"].verdict == "held"
    assert "by its band alone it would be carries" in list(verdict_lines(one.plan(), one.read()))


def test_guard_that_cannot_run_is_not_passed(tmp_path):
    one = served(tmp_path, SAVING, DRIFT, FAILED, VERDICT)
    one.head = one.head.replace('when = "failed > 0"', 'when = "1 / failed > 0"')
    states = {state.name: state for state in guard_states(one.plan(), one.read())}
    assert states["failures"].state == "not run" and "division by zero" in states["failures"].said
    assert next(iter(verdict_lines(one.plan(), one.read()))).startswith("not resolved: carries, were it not that")


def test_part_without_verdict_has_its_table_alone():
    text = readout(part("part-4"), 100)
    assert "Verdict" not in text and "Guards" not in text and "saving.count" in text


def test_rows_and_task_runs_are_counted():
    text = " ".join(readout(part("part-5"), 100).split())
    assert "24 complete rows (yardstick 18, old 2, rs8 4); 6 of 6 planned; 72 draws; 432 task runs; 0 infra" in text


def test_number_that_a_reader_cannot_derive_is_told():
    assert "a reader gets 34.78" in " ".join(readout(part("part-5"), 100).split())


# ---------------------------------------------------------------- the table


def test_long_family_is_one_line_unless_all_are_asked_for():
    folded, unfolded = (readout(part("part-7"), 100, everything=everything) for everything in (False, True))
    assert "row.{row}         7 readings, 69.52 to 88.23 ms/verify step" in folded and "row.r3" not in folded
    assert "row.r3" in unfolded and "7 readings" not in unfolded


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_line_runs_over_the_edge(name, width):
    sources = part(name)
    texts = (readout(sources, width), readout(sources, width, everything=True), panel_text(sources, width))
    assert all(len(line) <= width for text in texts for line in text.splitlines())


def test_id_that_is_too_long_has_a_line_of_its_own():
    lines = grid(("a", "b"), [Line(("x" * 40, "1")), Line(("y", "2" * 20))], 30).splitlines()
    assert lines[2:] == ["x" * 40, " " * 10 + "1", "y".ljust(10) + "2" * 20]


def test_interval_without_a_level_is_over_runs():
    assert interval(Reading("a", 1.0, print=".1f", aspects={"lo": 0.9, "hi": 1.1})) == "[0.9, 1.1] over runs"


@pytest.mark.parametrize("name", ["part-5", "part-7"])
def test_nothing_is_called_equal_that_was_not_tested(name):
    """Neither part has an equivalence test."""
    sources = part(name)
    assert not re.search(r"\b(equal|no change|same as)\b", readout(sources, 100) + panel_text(sources, 100))


# ---------------------------------------------------------------- before the last row


def test_before_the_last_row_only_the_missing_ones_are_counted(campaign):
    cut(campaign)
    said = campaign.notes("read", "1").stdout
    assert "1 of 4 planned rows are missing: no reading is shown" in said
    assert "saving" not in said and "verdict" not in said
    said = campaign.notes("read", "1", "--robustness").stdout
    assert "1 of 4 planned rows are missing" in said and "check " not in said


def test_interim_look_is_logged_and_marks_what_it_shows(campaign):
    cut(campaign)
    said = campaign.notes("read", "1", "--interim", "--because", "The machine goes back tonight.").stdout
    assert "logged in parts/part-1/looks.toml: after 3 rows, not planned, because: The machine" in said
    assert "committed as" in said and "Verdict" in said and "interim" in said.partition("Verdict")[2]
    assert "The machine goes back tonight." in campaign.text("looks.toml")


def test_interim_look_without_a_reason_is_refused(campaign):
    cut(campaign)
    assert "--because" in campaign.notes("read", "1", "--interim", exit=2).stderr
    assert not campaign.part.looks.exists()


def test_look_at_complete_rows_is_no_interim_look(campaign):
    assert "nothing was logged" in campaign.notes("read", "1", "--interim").stdout
    assert not campaign.part.looks.exists()


def test_reason_without_a_look_is_refused(campaign):
    assert "expected --interim" in campaign.notes("read", "1", "--because", "so", exit=2).stderr


def test_json_is_readings_json_byte_for_byte(campaign):
    assert campaign.notes("read", "1", "--json").stdout == campaign.text("readings.json")


def test_robustness_as_json_says_that_it_decides_nothing(campaign):
    said = json.loads(campaign.notes("read", "1", "--robustness", "--json").stdout)
    assert said["decides"] is False and said["part"] == "part-1"
    assert all({"id", "value"} <= check.keys() for check in said["checks"])
