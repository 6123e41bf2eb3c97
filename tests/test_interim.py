"""Looks before the last row: refused, logged, paid for by a boundary, and marked for good."""

from pathlib import Path

import pytest
from tests.campaigns import ARMS, TriedCampaign, draws_csv, rows_csv, tasks_csv, written_campaign
from tests.compiled import Compiled
from tests.reference import Rule, information, levels

from campaign.analysis.errors import ReadingError
from campaign.analysis.interim import Look, is_planned, level_after, state_of
from campaign.analysis.interim import information as information_of
from campaign.engine.errors import PlanError
from campaign.engine.plan import Plan

PLANNED, UNPLANNED = Look(2, planned=True), Look(2, planned=False)


@pytest.fixture
def part(tmp_path) -> Compiled:
    """A part of six planned rows with looks after three of them."""
    part = Compiled(tmp_path)
    for ms in (14.4, 14.45, 14.35, 14.42):
        part.add_row("yardstick", [ms, ms])
    order = ["rs8", "old", "rs8", "rs8", "old", "rs8"]
    for arm, ms in zip(order, (14.05, 14.45, 13.98, 14.02, 14.36, 14.0), strict=True):
        part.add_row(arm, [ms, ms])
    part.plan["rows"] = {"order": order, "draws": 2, "looks": 1, "look_after": [3], "boundary": "pocock"}
    return part


def cut(part: Compiled, rows: int) -> Compiled:
    """The part with so many planned rows."""
    gone = {one["row"] for one in part.rows[4 + rows :]}
    for name in ("rows", "draws", "tasks", "power"):
        setattr(part, name, [one for one in getattr(part, name) if one["row"] not in gone])
    return part


# ---- without a look


@pytest.mark.parametrize("rows", range(6))
def test_without_a_look_only_the_number_of_missing_rows_is_told(part, rows):
    """Not one value, and not even whether a saving could be computed."""
    found = cut(part, rows).read()
    told = {(one.value, one.reason, one.warnings) for one in found.values() if one.role == "reading"}
    assert told == {(None, f"{6 - rows} of 6 planned rows are missing", ())}


def test_look_at_other_rows_shows_nothing(part):
    """A look after two rows does not show three."""
    found = cut(part, 3).read(UNPLANNED)
    assert found["saving.low"].value is None
    assert found["verdict"].reason == "3 of 6 planned rows are missing"


# ---- looks that the plan does not provide for


def test_unplanned_look_marks_every_reading(part):
    """The verdict says interim, and so does each reading's warning."""
    found = cut(part, 4).read(Look(4, planned=False))
    mark = "interim: looked at after 4 of 6 rows, which the plan does not provide for"
    assert found["verdict"].value.endswith(" (interim)")
    assert all(mark in one.warnings for one in found.values() if one.role == "reading")
    assert not any(one.warnings for one in found.values() if one.role == "constant")


def test_unplanned_look_marks_for_good(part):
    """With all rows there the readings are marked still, and their values are what they would be."""
    without, after = part.read(), part.read(UNPLANNED)
    assert after["verdict"].value == f"{without['verdict'].value} (interim)"
    assert after["saving.low"].aspects == without["saving.low"].aspects
    mark = "interim: looked at after 2 of 6 rows, which the plan does not provide for"
    assert all(mark in one.warnings for one in after.values() if one.role == "reading")


def test_log_does_not_make_a_look_planned(part):
    """An entry that calls itself planned, after rows for which the plan has no look, marks like any other."""
    assert part.read(PLANNED)["verdict"].value.endswith(" (interim)")


# ---- looks that the plan provides for


def test_planned_look_shows_and_does_not_mark_the_end(part):
    """At the look the readings are interim; with all rows there they are not."""
    look = Look(3, planned=True)
    assert part.read(look)["verdict"].value == "carries"
    found = cut(part, 3).read(look)
    assert found["verdict"].value.endswith(" (interim)")
    assert found["saving.low"].warnings == ("interim: planned look after 3 of 6 rows",)


@pytest.mark.parametrize("kind", ["pocock", "obrien-fleming"])
@pytest.mark.parametrize("after", [1, 3, 4])
@pytest.mark.parametrize("level", [90, 95])
def test_level_at_each_look_is_the_boundarys(part, kind, after, level):
    """The bounds of two looks, searched for once more over the normal plane, give the levels of the intervals."""
    part.plan["rows"] |= {"look_after": [after], "boundary": kind}
    plan = part.typed_plan()
    shares = information(part.plan["rows"]["order"], [after], "rs8", "yardstick", 4)
    assert information_of(plan, {"yardstick": 4}) == pytest.approx(shares)
    wanted = levels(kind, shares, level)
    found = [level_after(plan, rows, level, {"yardstick": 4}) for rows in (after, 6)]
    assert found == pytest.approx(wanted, abs=2e-3)
    assert all(one > level for one in found)


@pytest.mark.parametrize("kind", ["pocock", "obrien-fleming"])
def test_readings_at_a_look_have_the_level_of_the_look(part, kind):
    """The intervals at the look and at the end are those of the reference at the boundary's level."""
    part.plan["rows"]["boundary"] = kind
    part.plan["saving"]["margin"] = "limit.drift"
    shares = information(part.plan["rows"]["order"], [3], "rs8", "yardstick", 4)
    for rows, level in ((6, levels(kind, shares, 95)[1]), (3, levels(kind, shares, 95)[0])):
        found = cut(part, rows).read(Look(3, planned=True))
        rule = Rule(part.plan, {name: getattr(part, name) for name in part.plan["tables"]}, level)
        for name in ("saving.low", "saving.same_day.low", "drift.high", "time.gap"):
            assert found[name].aspects["level"] == pytest.approx(level, abs=2e-3)
            assert found[name].aspects["lo"] == pytest.approx(rule.answers[name].lo, abs=1e-4)
        assert found["drift.word"].value == rule.answers["drift.word"].value
        assert found["verdict"].value.removesuffix(" (interim)") == rule.verdict


def test_equal_is_said_at_the_level_of_the_look(part):
    """A drift whose p lies between the look's α and the plan's is not called equal."""
    part.plan["saving"]["margin"] = "limit.drift"
    part.plan["rows"]["boundary"] = "obrien-fleming"
    early = cut(part, 3)
    p = early.read(Look(3, planned=True))["drift.equal.low"]
    alpha = (1 - p.aspects["level"] / 100) / 2
    assert alpha < 0.02
    wide = next(m / 1000 for m in range(1, 2000) if alpha < equal_at(early, m / 1000) < 0.05)
    assert equal_at(early, wide) < 0.05
    assert early.read(Look(3, planned=True))["drift.word"].value == "not told apart"


def equal_at(part: Compiled, margin: float) -> float:
    """The greater p of both slopes at that margin."""
    part.plan["constants"]["limit.drift"]["value"] = margin
    rule = Rule(part.plan, {name: getattr(part, name) for name in part.plan["tables"]}, 99)
    return max(rule.answers["drift.equal.low"].value, rule.answers["drift.equal.high"].value)


def test_plan_without_a_yardstick_counts_the_rows_of_both_arms(part):
    """Where both arms run, both grow: 1/(1/n₁ + 1/n₂) of the rows in order."""
    part.plan["saving"] = {"arm": "rs8", "against": "old"}
    part.plan["verdict"]["guards"] = []
    assert information_of(part.typed_plan(), {}) == pytest.approx(
        information(part.plan["rows"]["order"], [3], "rs8", "old", 0)
    )


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"look_after": [2, 3], "looks": 2, "boundary": "pocock"}, r"\[2, 3\]"),
        ({"look_after": [1], "looks": 1, "boundary": "pocock"}, r"\[1\]"),
    ],
)
def test_look_that_knows_nothing_new_is_refused(part, rows, told):
    """A look with rows of neither arm since the one before, or without any of one arm, has no bound."""
    part.plan["rows"] |= {"order": ["old", "rs8", "old", "rs8"]} | rows
    with pytest.raises(ReadingError, match=rf"rows\.look_after: found {told}; expected looks that each have more rows"):
        information_of(part.typed_plan(), {"yardstick": 4})


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"look_after": [6]}, "ascending, below 6"),
        ({"look_after": [3, 2], "looks": 2}, "ascending"),
        ({"looks": 2}, "expected 2 numbers"),
        ({"boundary": None}, "expected pocock or obrien-fleming"),
    ],
)
def test_looks_are_planned_whole(part, rows, told):
    """Their number, when each is taken, and what pays for them."""
    part.plan["rows"] = {key: value for key, value in (part.plan["rows"] | rows).items() if value is not None}
    with pytest.raises(PlanError, match=told):
        part.typed_plan()


def test_state_of_a_plan_without_rows_is_open():
    """Where no rows are planned, nothing is incomplete."""
    plan = Plan(about="x")
    assert state_of(plan, 0, (), 95, {}).incomplete == "" and not is_planned(plan, 0)


# ---- the log


@pytest.fixture
def campaign(tmp_path, monkeypatch) -> TriedCampaign:
    """A campaign whose part has three of its four rows."""
    arms = ARMS[:3]
    files = {"data/rows.csv": rows_csv(arms=arms), "data/draws.csv": draws_csv(arms), "data/tasks.csv": tasks_csv(arms)}
    campaign = written_campaign(tmp_path, monkeypatch, files)
    campaign.commit_all("Three rows")
    return campaign


def test_look_needs_a_reason(campaign):
    """Without one nothing is shown and nothing is logged."""
    said = campaign.notes("read", "1", "--interim", exit=2).stderr
    assert "1 of 4 planned rows are missing, and the plan provides for no look after so few" in said
    assert not campaign.part.looks.exists()


def test_look_is_logged_and_marks_the_verdict_for_good(campaign):
    """The log has the moment, the rows and the reason; with all rows there the verdict is interim still."""
    plain = campaign.notes("read", "1").stdout
    assert "1 of 4 planned rows are missing" in plain and not campaign.part.looks.exists()
    campaign.notes("read", "1", "--interim", "--because", "the machine is wanted elsewhere")
    text = campaign.part.looks.read_text()
    assert text.startswith("# Append only") and 'because = "the machine is wanted elsewhere"' in text
    assert "rows = 3\nplanned = false\n" in text
    for name, full in (("rows", rows_csv()), ("draws", draws_csv()), ("tasks", tasks_csv())):
        campaign.write(f"data/{name}.csv", full)
    assert "(interim)" in campaign.notes("read", "1").stdout
    campaign.notes("read", "1", "--interim", "--because", "all are there")
    assert campaign.part.looks.read_text() == text


def test_planned_look_needs_no_reason(campaign):
    """It is logged as planned, shown at its boundary's level, and does not mark the end."""
    looks = "draws = 2\nlooks = 1\nlook_after = [3]\nboundary = 'pocock'"
    campaign.change("draws = 2", looks, "plan.toml")
    said = campaign.notes("read", "1", "--interim").stdout
    assert "(interim)" in said
    assert 'planned = true\nbecause = "planned"' in campaign.part.looks.read_text()
    for name, full in (("rows", rows_csv()), ("draws", draws_csv()), ("tasks", tasks_csv())):
        campaign.write(f"data/{name}.csv", full)
    assert "(interim)" not in campaign.notes("read", "1").stdout


def test_second_look_is_appended(campaign):
    """Each look has an entry of its own, and none is written over."""
    for why in ("first", "second"):
        campaign.notes("read", "1", "--interim", "--because", why)
    text = campaign.part.looks.read_text()
    assert text.count("[[look]]") == 2 and text.index("first") < text.index("second")


@pytest.mark.parametrize("gone", ["entry", "file"])
def test_look_that_was_taken_back_is_found(campaign, gone):
    """An entry that the history holds and looks.toml no longer does is a finding that names the commit."""
    campaign.notes("read", "1", "--interim", "--because", "first")
    commit = campaign.git("rev-parse", "HEAD")
    campaign.notes("build", "1")
    campaign.commit_all("What the look showed")
    assert "look-removed" not in campaign.notes("check", "1", exit=None).stdout
    looks: Path = campaign.part.looks
    if gone == "entry":
        looks.write_text(looks.read_text().partition("[[look]]")[0])
    else:
        looks.unlink()
    campaign.notes("build", "1")
    campaign.commit_all("Nothing was looked at")
    said = campaign.notes("check", "1", exit=1).stdout
    assert "look-removed" in said and commit[:12] in said


def test_changed_reason_is_found(campaign):
    """An entry that says something else now is as good as removed."""
    campaign.notes("read", "1", "--interim", "--because", "first")
    campaign.notes("build", "1")
    campaign.commit_all("A look")
    campaign.change("first", "planned", "looks.toml")
    assert "look-removed" in campaign.notes("check", "1", exit=1).stdout
