"""The commands `plan` and `seal`: what they show, what they refuse and how they exit; and rows of other plans."""

import datetime
import hashlib
import json
import re
import tomllib
from collections.abc import Callable

import pytest
from tests.campaigns import TriedCampaign, empty_campaign
from tests.compiled import Compiled, compiled
from tests.test_rule_check import FAULTS
from tests.test_yardstick import digest

from campaign.analysis.rule import rule_digest
from campaign.engine.errors import RecordError

REFUSED = (
    "gap below",
    "order of bands",
    "bound from data",
    "bar above the count",
    "drift limit",
    "passes never",
    "guard of a typo",
    "looks without boundary",
    "reading not there",
    "slope that clashes",
    "key",
)
"""Faults that the commands are tried with; all of them are tried on the rule itself elsewhere."""


@pytest.fixture
def campaign(tmp_path, monkeypatch) -> TriedCampaign:
    return empty_campaign(tmp_path, monkeypatch)


@pytest.fixture
def part(campaign) -> Compiled:
    """part-1 of the campaign: a plan that compiles to its rule, no rows yet, and else what `notes new` writes."""
    campaign.notes("new", "part-1")
    made = Compiled(campaign.part.folder)
    made.write()
    return made


def commit(campaign: TriedCampaign, part: Compiled) -> None:
    """Nothing; the part's files are written and committed."""
    part.write()
    campaign.commit_all("A plan")


# ---- what is refused


@pytest.mark.parametrize("name", REFUSED)
def test_unfit_rule_is_refused(campaign, part, name):
    """`notes plan` says why and ends with 1, `notes seal` with 2; neither writes anything."""
    change, _ = FAULTS[name]
    change(part)
    commit(campaign, part)
    before, head = campaign.tree(), campaign.git("rev-parse", "HEAD")
    said = campaign.notes("plan", "1", exit=1).stderr.strip()
    assert said.startswith("parts/part-1/plan.toml: ")
    refused = campaign.notes("seal", "1", exit=2).stderr
    assert said.splitlines()[0] in refused
    assert (campaign.tree(), campaign.git("rev-parse", "HEAD")) == (before, head)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda plan: plan["saving"].update(againts="yardstick"), "saving.againts: unknown key; .*mean against"),
        (lambda plan: plan["saving"].update(against="yardstik"), "saving.against: names the arm 'yardstik'.*yardstick"),
        (lambda plan: plan["verdict"]["guards"][2].update(kind="drft"), "found 'drft'; expected .*mean drift"),
        (lambda plan: plan["verdict"]["guards"][2].update(limit="limit.drit"), "limit.drit, which is no.*limit.drift"),
        (lambda plan: plan["verdict"]["guards"][2].pop("limit"), "limit: missing; expected the constant"),
        (lambda plan: plan["verdict"].update(precedence=["held"]), "expected held and confounded, each once"),
        (lambda plan: plan["verdict"]["bands"].reverse(), "so the bands below it are never reached"),
        (lambda plan: plan["rows"].update(look_after=[2]), r"look_after: found \[2\] with looks = 0"),
        (lambda plan: plan["saving"].pop("same_day"), "the drift needs baseline rows of the same day"),
    ],
)
def test_plan_that_cannot_be_read_is_wrong_use(campaign, part, change: Callable[[dict], None], told):
    """A key, an arm or a constant that is not known, with the nearest one: both commands end with 2."""
    change(part.plan)
    commit(campaign, part)
    before = campaign.tree()
    for command in ("plan", "seal"):
        assert re.search(told, campaign.notes(command, "1", exit=2).stderr)
    assert campaign.tree() == before


# ---- what is shown


def test_plan_shows_what_it_compiles_to(campaign, part):
    """Rows, yardstick, slopes, bands, precedence, guards with their limits, and the rule's hash."""
    said = campaign.notes("plan", "1").stdout
    for line in (
        "rows: old, rs8, rs8, old; 2 draws each; no look before the last row",
        "matched at 3.7 tokens per verify step along low 0.4, high 0.6 ms per token",
        "decides: saving.lower: carries from bar = 0.155 on; seen above zero = 0; rolled back otherwise",
        "precedence: incomplete, rolled back, held, confounded, then the band; no guard hides rolled back",
        "guard: drift: confounded when drift.most > limit.drift (limit.drift = 0.13)",
        "guard: failures: held when agentic.rs8.failed > 0",
    ):
        assert line in said, line
    assert rule_digest(part.typed_plan())[:12] in said


def test_plan_says_which_verdicts_a_guard_can_hide(campaign, part):
    """A plan that protects no verdict is not said to protect one."""
    part.plan["verdict"]["negative"] = []
    part.write()
    assert "then the band; a guard hides any" in campaign.notes("plan", "1", exit=1).stdout


def test_plan_shows_the_chances_and_repeats_itself(campaign, part):
    """Part 5's design without a drift guard: 89 in 100 at the count, the same digits each time."""
    part.plan["rows"]["order"] = ["old", "rs8", "rs8", "rs8", "rs8", "old"]
    part.plan["verdict"]["guards"] = []
    part.plan["constants"]["sd"] = {"value": 0.0837, "because": "assumed"}
    part.plan["planning"] = {"sd": "sd"}
    for i in range(18):
        part.add_row("yardstick", [14.4, 14.4 + i / 100])
    commit(campaign, part)
    said = campaign.notes("plan", "1", "--power").stdout
    assert campaign.notes("plan", "1", "--power").stdout == said
    assert "4 rows of rs8 against 18 of yardstick" in said
    line = next(line for line in said.splitlines() if line.startswith("at the count"))
    assert float(line.split()[4]) == pytest.approx(88.98, abs=0.7)


def test_rows_that_ran_do_not_shape_what_the_plan_says(campaign, tmp_path):
    """With the plan's own rows there, `notes plan` says what it said without them."""
    campaign.notes("new", "part-1")
    made = compiled(campaign.part.folder)
    made.write()
    with_rows = campaign.notes("plan", "1", "--power").stdout
    yardstick = {one["row"] for one in made.rows if one["arm"] == "yardstick"}
    for name in ("rows", "draws", "tasks", "power"):
        setattr(made, name, [one for one in getattr(made, name) if one["row"] in yardstick])
    made.write()
    assert campaign.notes("plan", "1", "--power").stdout == with_rows


def test_yardstick_of_an_earlier_part_tells_how_rows_vary(campaign, part):
    """Before the first row the chances stand on the rows of the part that the plan names."""
    for i in range(8):
        part.add_row("yardstick", [14.4 + i / 50, 14.4 + i / 50])
    part.write()
    campaign.notes("new", "part-2")
    later = Compiled(campaign.part_named("part-2").folder)
    later.plan["arms"]["yardstick"]["source"] = {"part": "part-1", "arm": "yardstick", "sha256": digest(part)}
    later.write()
    said = campaign.notes("plan", "2", "--power").stdout
    assert "2 rows of rs8 against 8 of yardstick" in said and "(from 8 rows of yardstick)" in said
    assert "yardstick of part-1, sha256 " + digest(part)[:12] in said


def test_table_that_is_still_to_come_hides_no_yardstick(campaign, part):
    """A file of timings that nobody has measured yet does not take away what earlier rows tell."""
    for i in range(8):
        part.add_row("yardstick", [14.4 + i / 50, 14.4 + i / 50])
    part.plan["tables"]["kernel_timings"] = "data/kernel_timings.csv"
    part.write()
    (part.folder / "data" / "kernel_timings.csv").unlink()
    assert "2 rows of rs8 against 8 of yardstick" in campaign.notes("plan", "1", "--power").stdout


# ---- the seal


def sealed(campaign: TriedCampaign, part: Compiled) -> None:
    """Nothing; the plan is committed and sealed, before any row."""
    commit(campaign, part)
    campaign.notes("seal", "1")


def test_seal_holds_the_hash_of_the_rule(campaign, part):
    """seal.toml has the sha256 of what the plan compiled to."""
    sealed(campaign, part)
    assert tomllib.loads(campaign.part.seal.read_text())["decision_sha256"] == rule_digest(part.typed_plan())


def test_rule_that_compiles_otherwise_is_a_finding(campaign, part, monkeypatch):
    """A program that reads the sealed plan as another rule says so, and a person sees both hashes."""
    campaign.write("post.md.j2", '# {{ q("part.1") }}\n\nThe bar stands at {{ q("bar", ".3f") }}.\n')
    sealed(campaign, part)
    campaign.notes("build", "1")
    campaign.commit_all("Built")
    assert "the plan's rule" not in campaign.notes("check", "1", exit=None).stdout
    monkeypatch.setattr("campaign.analysis.rule.SERVED", "outcome == 'pass'")
    said = campaign.notes("check", "1", exit=1).stdout
    assert "the plan's rule" in said and rule_digest(part.typed_plan())[:12] in said


def test_changed_bar_after_the_seal_is_refused(campaign, part):
    """A sealed plan is not changed: every command that reads it refuses."""
    sealed(campaign, part)
    part.plan["constants"]["bar"]["value"] = 0.1
    part.write()
    assert "plan.toml changed after its seal" in campaign.notes("read", "1", exit=2).stderr


# ---- the rows of a plan


@pytest.fixture
def rows(tmp_path) -> Compiled:
    return compiled(tmp_path)


def plan_hash(part: Compiled) -> str:
    part.write()
    return hashlib.sha256((part.folder / "plan.toml").read_bytes()).hexdigest()


def test_rows_of_this_plan_are_read(rows):
    """Rows that carry the plan's hash, and yardstick rows that carry another one."""
    expected = plan_hash(rows)
    for one in rows.rows:
        one["plan_sha256"] = "0" * 64 if one["arm"] == "yardstick" else expected
    assert rows.read()["verdict"].value == "carries"


def test_row_of_another_plan_is_refused(rows):
    """One row whose hash is another plan's; the message has both."""
    expected = plan_hash(rows)
    for one in rows.rows:
        one["plan_sha256"] = expected
    rows.rows[5]["plan_sha256"] = "a" * 64
    with pytest.raises(RecordError, match=f"row r06 ran under the plan {'a' * 12}; expected {expected[:12]}"):
        rows.read()


@pytest.mark.parametrize("place", [3, 5])
def test_void_row_is_run_again_in_its_place(rows, place):
    """The row that replaces a void one runs before the next; the void one counts for nothing."""
    rows.plan["rows"]["replace_at_most"] = 1
    again(rows, place, at_the_end=False)
    assert rows.read()["saving.low"].value == pytest.approx(0.4)
    rows.plan["rows"]["replace"] = "at the end"
    with pytest.raises(RecordError, match="Rows out of the planned order"):
        rows.read()


@pytest.mark.parametrize("place", [3, 5])
def test_void_row_is_run_again_at_the_end(rows, place):
    """The row that replaces a void one runs after the last."""
    rows.plan["rows"] |= {"replace": "at the end", "replace_at_most": 1}
    again(rows, place, at_the_end=True)
    assert rows.read()["saving.low"].value == pytest.approx(0.4)
    rows.plan["rows"]["replace"] = "in its place"
    with pytest.raises(RecordError, match="Rows out of the planned order"):
        rows.read()


def test_more_void_rows_than_planned_are_refused(rows):
    """A plan that replaces none reads nothing once a row is void."""
    rows.plan["rows"]["replace_at_most"] = 0
    again(rows, 3, at_the_end=False)
    with pytest.raises(RecordError, match="1 rows are void; the plan replaces at most 0"):
        rows.read()


def test_void_row_that_was_not_run_again_is_missing(rows):
    """Without its replacement the plan is not complete."""
    rows.rows[6] |= {"state": "void", "reason": "the machine was not idle"}
    assert rows.read()["verdict"].reason == "1 of 4 planned rows are missing"


def again(part: Compiled, place: int, *, at_the_end: bool) -> None:
    """Nothing; the row at `place` is void, with wild values, and another one with its values ran."""
    old = part.rows[place]
    new = dict(old) | {"row": "again"}
    late = datetime.timedelta(minutes=5) if not at_the_end else datetime.timedelta(days=1)
    new["started"] = (datetime.datetime.fromisoformat(old["started"].removesuffix("Z")) + late).isoformat() + "Z"
    for name in ("draws", "tasks", "power"):
        records = getattr(part, name)
        records += [dict(one) | {"row": "again"} for one in records if one["row"] == old["row"]]
    old |= {"state": "void", "reason": "the machine was not idle"}
    for number in (1, 2):
        part.set_draw(old["row"], number, step_time_ms=99000, model_time_s=100)
    part.rows.append(new)


def test_rows_from_before_the_seal_are_refused(campaign, part):
    """Rows that started before the plan was sealed are no rows of it."""
    sealed(campaign, part)
    for arm, ms in zip(["old", "rs8", "rs8", "old"], (14.4, 14.0, 14.1, 14.5), strict=True):
        part.add_row(arm, [ms, ms])
    for one in part.rows:
        one["started"] = "2001" + one["started"][4:]
    part.write()
    assert "before the plan was sealed" in campaign.notes("read", "1", exit=2).stderr


def test_origin_of_the_data_is_the_seals(campaign, part):
    """Measured data under a seal that says so; anything else is refused."""
    sealed(campaign, part)
    campaign.write("data/run.json", json.dumps({"origin": "stated"}))
    assert "origin is 'stated'" in campaign.notes("read", "1", exit=2).stderr


# ---- rows and the seal


def with_rows(part: Compiled) -> None:
    """Nothing; the planned rows then stand beside the plan, after it."""
    for number, arm in enumerate(part.plan["rows"]["order"]):
        part.add_row(arm, [14.4 + number / 10, 14.4])


def test_rows_of_a_compiled_plan_need_its_seal(campaign, part):
    """Measured rows without a seal are read by no command: nothing says that the plan came first."""
    with_rows(part)
    commit(campaign, part)
    for command in ("read", "build"):
        assert "there is no seal, and 4 rows are there" in campaign.notes(command, "1", exit=2).stderr


def test_plan_is_sealed_before_any_file_of_data(campaign, part):
    """What measures the rows makes the files: none of them has to be there at the seal."""
    del part.plan["arms"]["yardstick"]
    part.plan["saving"] = {"arm": "rs8", "against": "old"}
    part.plan["verdict"]["guards"] = []
    commit(campaign, part)
    for path in campaign.part.data.iterdir():
        path.unlink()
    campaign.notes("seal", "1")


def test_mismatches_cannot_cancel(campaign, part):
    """A certificate counts calls that differ; fewer than none, or more than all rows, is no record."""
    for wrong in (-1, 7):
        part.plan["tables"]["equality"] = "data/equality.csv"
        part.equality = [{"check": "c", "version": "v", "call": 1, "rows": 6, "mismatched_rows": wrong}]
        part.write()
        assert f"{wrong} of 6 rows differ" in campaign.notes("plan", "1", exit=2).stderr
