"""Checking a part: what was changed or is missing, and what cannot be read."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.campaigns import PLAN, TriedCampaign, built_campaign, empty_campaign, findings, rows_csv

from campaign.notes import data_mutants, mutants
from campaign.notes.findings import FORMATS

ROWS, DRAWS, TASKS = "data/rows.csv", "data/draws.csv", "data/tasks.csv"


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


def told(campaign: TriedCampaign) -> list[dict[str, str]]:
    return findings(campaign.notes("check", "1", exit=1).stdout)


def in_json(campaign: TriedCampaign) -> list[dict[str, Any]]:
    """The findings of part-1, those that follow from others with them."""
    return json.loads(campaign.notes("check", "1", "--format", "json", exit=1).stdout.split("\n")[0])["findings"]


def run_mend(campaign: TriedCampaign, finding: dict[str, Any]) -> None:
    """Nothing; the git command in the finding's mend has run then, and names its file alone."""
    command = re.search(r"git (checkout \S+ -- [^`,(]+)", finding["mend"])
    assert command and command[1].split()[3:] == [finding["path"]]
    campaign.git(*command[1].split())


# Data and built files


def test_number_changed_in_text_and_ledger_alike_is_told_so(campaign):
    """Neither plan nor facts nor data changed: nothing says that they did."""
    place = next(one for one in json.loads(campaign.text("numbers.json"))["places"] if "." in one["text"])
    becomes = place["text"][:-1] + str((int(place["text"][-1]) + 1) % 10)
    for name in ("post.md", "numbers.json"):
        campaign.write(name, campaign.text(name).replace(place["text"], becomes))
    found = [one for one in in_json(campaign) if one["code"] == "changed"]
    mend = "notes build part-1 (the text and numbers.json were changed alike: readings.json gives otherwise)"
    assert {one["mend"] for one in found} == {mend}


def test_lost_row_is_one_finding(campaign):
    """Its places are not told one by one; that there are fewer numbers follows from it."""
    row = next(line for line in campaign.text().splitlines() if re.match(r"\|.*\d.*\d.*\|$", line))
    campaign.change(f"{row}\n", "")
    lost, *others = [one for one in in_json(campaign) if one["level"] == "error"]
    assert lost["said"] == f"the row `{row}` is missing"
    assert {one["cause"] for one in others} <= {f"{lost['code']} at {lost['path']}:{lost['line']}:1"}


def test_number_in_other_characters_is_told_so(campaign):
    """Both look the same on the page."""
    place = next(one for one in json.loads(campaign.text("numbers.json"))["places"] if "." in one["text"])
    campaign.write("post.md", campaign.text().replace(place["text"], f"**{place['text']}**", 1))
    assert any("the same number, written otherwise: " in said for one in in_json(campaign) for said in one["also"])


def test_byte_order_mark_of_numbers_json_is_told(campaign):
    """An editor that adds one spoils the file to the eye of a program alone."""
    campaign.write("numbers.json", f"\ufeff{campaign.text('numbers.json')}")
    assert "byte order mark" in campaign.notes("check", "1", exit=2).stderr


def test_draw_changed_by_a_millisecond_turns_the_check_red(campaign):
    """The file that changed, the reading and the place in the text are told."""
    campaign.change_cell(DRAWS, 3, "step_time_ms", lambda said: f"{float(said) + 1:.3f}")
    found = in_json(campaign)
    paths = {one["path"] for one in found}
    assert {"parts/part-1/data/draws.csv", "parts/part-1/readings.json", "parts/part-1/post.md"} <= paths
    first = found[0]
    assert (first["path"], first["line"], first["code"]) == ("parts/part-1/data/draws.csv", 5, "stale")


def test_changed_data_have_one_mend(campaign):
    """What follows from a changed file names it, and is mended with it: the command names that file alone."""
    campaign.commit_all("Before")
    campaign.change_cell(DRAWS, 3, "step_time_ms", lambda said: f"{float(said) + 1:.3f}")
    first, *others = in_json(campaign)
    followed = [one for one in others if one["cause"]]
    assert {one["mend"] for one in followed} == {first["mend"]} and len(followed) > 3
    assert {one["cause"] for one in followed} == {f"stale at {first['path']}:{first['line']}:{first['column']}"}
    run_mend(campaign, first)
    campaign.notes("check", "1")


def test_committed_change_of_data_is_brought_back_from_its_commit(campaign):
    """Where HEAD has the changed data too, the command names the commit that had those of the build."""
    campaign.commit_all("Before")
    campaign.change_cell(DRAWS, 3, "step_time_ms", lambda said: f"{float(said) + 1:.3f}")
    campaign.commit_all("Tidy up")
    run_mend(campaign, in_json(campaign)[0])
    campaign.notes("check", "1")


def test_edited_text_beside_changed_data_is_told_apart(campaign):
    """A typed fact in the text does not follow from data."""
    campaign.change_cell(DRAWS, 3, "step_time_ms", lambda said: f"{float(said) + 1:.3f}")
    campaign.change("saves 0.300", "saves 0.777")
    (typed,) = [one for one in in_json(campaign) if one["said"] == "0.777"]
    assert (typed["code"], typed["cause"], typed["mend"]) == ("changed", "", "notes build part-1")


def test_check_writes_nothing(campaign):
    """A check leaves every file as it was, with findings too."""
    campaign.change_cell(DRAWS, 3, "step_time_ms", lambda said: f"{float(said) + 1:.3f}")
    before = campaign.tree()
    campaign.notes("check", "1", exit=1)
    assert campaign.tree() == before


def test_changed_readings_are_found(campaign):
    """A value in readings.json that recomputation does not give is a finding that names the reading."""
    value = next(r for r in json.loads(campaign.text("readings.json"))["readings"] if r["id"] == "saving")["value"]
    campaign.change(f'"value": {value}', '"value": 0.4', "readings.json")
    (one,) = told(campaign)
    assert (one["code"], one["path"], one["said"], one["source"]) == (
        "stale",
        "parts/part-1/readings.json",
        "'0.4'",
        "value of reading saving",
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"readings": [], "data": {}}',
        '{"readings": [], "data": []}',
        '{"readings": [3], "data": {}}',
        "\x00",
    ],
)
def test_damaged_readings_are_found(campaign, text):
    """A readings.json that cannot be read is a finding that a build mends."""
    campaign.write("readings.json", text)
    assert "notes build part-1" in {one["mend"] for one in told(campaign)}
    campaign.notes("build", "1")
    campaign.notes("check", "1")


def test_last_bit_of_another_machine_is_no_finding(campaign):
    """Readings that differ by the last bits of a float are the same."""
    value = next(r for r in json.loads(campaign.text("readings.json"))["readings"] if r["id"] == "saving")["value"]
    campaign.change(f'"value": {value}', f'"value": {value * (1 + 1e-12)!r}', "readings.json")
    campaign.notes("check", "1")


def test_stale_plot_is_found(campaign):
    """A plot drawn from other points is a finding."""
    campaign.write("plots/rows.svg", re.sub(r"[0-9a-f]{64}", "0" * 64, campaign.text("plots/rows.svg")))
    assert ("stale", "parts/part-1/plots/rows.svg") in {(one["code"], one["path"]) for one in told(campaign)}


def test_missing_plot_is_found(campaign):
    """So is one that is not there."""
    (campaign.part.plots / "rows.svg").unlink()
    assert "parts/part-1/plots/rows.svg" in {one["path"] for one in told(campaign)}


@pytest.mark.parametrize("name", ["numbers.json", "post.md", "readings.json"])
def test_missing_built_file_leaves_the_check_undecided(campaign, name):
    """Without what was built it cannot be compared: exit 3, and the command that makes it."""
    (campaign.part.folder / name).unlink()
    result = campaign.notes("check", "1", exit=3)
    assert f"cannot tell: parts/part-1/{name}: there is no such file" in result.stderr
    assert "notes build part-1" in result.stderr
    campaign.notes("build", "1")
    campaign.notes("check", "1")


def test_missing_data_cannot_be_checked(campaign):
    """Data that are not here, as in a clone without them, leave the check undecided."""
    (campaign.part.data / "draws.csv").unlink()
    assert "parts/part-1/data/draws.csv: there is no such file" in campaign.notes("check", "1", exit=None).stderr


def test_reading_that_the_plan_no_longer_declares_is_a_finding(campaign):
    """A place whose source is gone is told with its line."""
    text = campaign.text("plan.toml")
    campaign.write("plan.toml", text.replace('id = "steps"', 'id = "steps_taken"'))
    gone = next(one for one in told(campaign) if one["code"] == "gone")
    assert "there is no reading 'steps'" in gone["expected"]


def test_changed_fact_is_a_finding(campaign):
    """Facts are compared as readings are."""
    campaign.change("value = 2", "value = 3", "facts.toml")
    assert ("'two'", "'three'") in {(one["said"], one["expected"]) for one in told(campaign)}


def test_changed_banner_is_found(campaign):
    """What stands above the body is what the part's state gives."""
    campaign.change("Draft. Not published", "Published long ago", "post.md")
    (one,) = told(campaign)
    assert (one["code"], one["line"]) == ("stale", "1")


def test_text_below_the_body_is_found(campaign):
    """Nothing stands below the body of a draft."""
    campaign.write("post.md", campaign.text() + "\nIt saves 7 ms.\n")
    assert "stale" in {one["code"] for one in told(campaign)}


# Nothing to check


def test_body_without_numbers_is_a_failure(campaign):
    """A check that found nothing to check has not succeeded."""
    campaign.write("post.md.j2", "Nothing is said here.\n")
    campaign.notes("build", "1")
    (one,) = told(campaign)
    assert (one["code"], one["said"]) == ("nothing", "'0 numbers'")


def test_fewer_numbers_than_at_the_build_are_a_failure(campaign):
    """A paragraph that went missing is told by its places, and by the count."""
    campaign.change("Of their tasks 94 % passed; nothing here is about people.\n", "")
    assert "nothing" in {one["code"] for one in told(campaign)}


def test_emptied_ledger_is_a_failure(campaign):
    """A numbers.json without places binds nothing, and every number is then unbound."""
    held = json.loads(campaign.text("numbers.json"))
    held |= {"places": [], "after": campaign.body, "counts": {name: 0 for name in held["counts"]}}
    campaign.write("numbers.json", json.dumps(held))
    assert sum(one["code"] == "unbound" for one in told(campaign)) >= 12


def test_campaign_without_parts_cannot_be_checked(tmp_path, monkeypatch):
    """Success is never reported on nothing."""
    campaign = empty_campaign(tmp_path, monkeypatch)
    assert "no part" in campaign.notes("check", exit=3).stderr


def test_denominator_is_told(campaign):
    """How many numbers there are, how many are bound and how many are not stands in the output."""
    assert re.search(
        r"part-1: \d+ numbers: \d+ quoted, \d+ facts, \d+ structure, 0 unbound; ", campaign.notes("check", "1").stdout
    )


def test_denominator_adds_up(campaign):
    """Quoted, facts, structure and unbound together are all numbers."""
    count = json.loads(campaign.notes("check", "1", "--format", "json").stdout)["coverage"]
    assert count["numbers"] == count["quoted"] + count["facts"] + count["structure"] + count["unbound"] > 15


# Several parts


@pytest.fixture
def two(campaign: TriedCampaign) -> TriedCampaign:
    """A campaign with a second part like the first."""
    shutil.copytree(campaign.part.folder, campaign.root / "parts" / "part-2")
    campaign.write("../part-2/post.md.j2", campaign.text("post.md.j2").replace("part.1", "part.2"))
    campaign.notes("build", "2")
    return campaign


def test_without_a_name_every_part_is_checked(two):
    """`notes check` goes through all parts in order."""
    lines = two.notes("check").stdout.splitlines()
    assert [line.split(":")[0] for line in lines if "findings" in line] == ["part-1", "part-2"]


def test_part_that_cannot_be_read_is_in_every_format(two):
    """What a program reads names each part, also one without a check, and the exit code stays."""
    two.write("data/draws.csv", "row,draw\n")
    for form in FORMATS:
        shown = two.notes("check", "--format", form, exit=2).stdout
        assert "part-1" in shown and "parts/part-1/data/draws.csv" in shown and "part-2" in shown, form


def test_parts_of_which_none_can_be_read_are_in_every_format(two):
    """Neither is the output empty where no part could be checked."""
    (two.root / "campaign.toml").write_text("names = 3\n")
    for form in FORMATS:
        result = two.notes("check", "--format", form, exit=2)
        assert "part-1" in result.stdout and "part-2" in result.stdout and "no findings" not in result.stdout, form
    assert result.stderr.count("\n") == 1  # one fault, told once


def test_folder_in_place_of_a_file_stops_no_other_part(two):
    """What the system does not let be read is told like other bad input."""
    (two.part.data / "draws.csv").unlink()
    (two.part.data / "draws.csv").mkdir()
    result = two.notes("check", exit=2)
    assert "parts/part-1/data/draws.csv: " in result.stderr and "part-2: no findings" in result.stdout


def test_chain_that_cannot_be_read_is_in_every_format(two):
    """A damaged chain is one more thing that was not checked, beside the parts that were."""
    (two.root / "parts" / "chain.toml").write_text("link = 3\n")
    for form in FORMATS:
        shown = two.notes("check", "--format", form, exit=2).stdout
        assert "chain" in shown and "part-2" in shown, form


def test_self_test_leaves_a_document_whole(campaign, monkeypatch):
    """What a self-test prints stands outside of a document."""
    monkeypatch.setattr(mutants, "CLASSES", {"sign": mutants.CLASSES["sign"]})
    monkeypatch.setattr(data_mutants, "kinds", dict)
    monkeypatch.setattr(data_mutants.Search, "__iter__", lambda search: iter(()))
    shown = campaign.notes(*"check 1 --format sarif --selftest --sample 1 --jobs 1".split(), exit=None)
    assert json.loads(shown.stdout)["version"] == "2.1.0" and "part-1" in shown.stderr


def test_findings_of_one_part_come_before_the_doubts_about_another(two):
    """Exit 1 where anything was found, though another part cannot be told."""
    two.change("saves 0.300", "saves 0.301")
    (two.root / "parts" / "part-2" / "numbers.json").unlink()
    two.notes("check", exit=1)


def test_part_that_cannot_be_told_does_not_hide_the_others(two):
    """A part without its numbers.json is told, and the next one is checked."""
    (two.part.folder / "numbers.json").unlink()
    result = two.notes("check", exit=3)
    assert "part-1: cannot tell" in result.stderr and "part-2: no findings" in result.stdout


def test_part_that_cannot_be_read_does_not_hide_the_others(two):
    """Neither does one whose input is bad: the others are checked before the command exits with 2."""
    two.write("plan.toml", "about = \n")
    result = two.notes("check", exit=2)
    assert "parts/part-1/plan.toml" in result.stderr and "part-2: no findings" in result.stdout


# Bad input


def replaced(name: str, was: str, becomes: str) -> Callable[[TriedCampaign], None]:
    def change(campaign: TriedCampaign) -> None:
        text = campaign.text(name)
        assert was in text
        campaign.write(name, text.replace(was, becomes, 1))

    return change


def written(name: str, text: str | bytes) -> Callable[[TriedCampaign], None]:
    def change(campaign: TriedCampaign) -> None:
        (campaign.part.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return change


def cell(name: str, record: int, column: str, becomes: str) -> Callable[[TriedCampaign], None]:
    return lambda campaign: campaign.change_cell(name, record, column, lambda _: becomes)


def column_dropped(campaign: TriedCampaign) -> None:
    lines = campaign.text(DRAWS).splitlines()
    campaign.write(DRAWS, "".join(f"{line.rpartition(',')[0]}\n" for line in lines))


def column_added(campaign: TriedCampaign) -> None:
    head, *lines = campaign.text(DRAWS).splitlines()
    campaign.write(DRAWS, "".join(f"{line}\n" for line in (f"{head},mood", *(f"{line},good" for line in lines))))


def record_doubled(name: str) -> Callable[[TriedCampaign], None]:
    return lambda campaign: campaign.write(name, campaign.text(name) + campaign.text(name).splitlines()[-1] + "\n")


def sealed(campaign: TriedCampaign) -> None:
    """Nothing; the plan is then sealed now, after the rows that stand in the data."""
    campaign.seal_before_rows()


def sealed_and_changed(campaign: TriedCampaign) -> None:
    campaign.write(ROWS, rows_csv().replace("2026", "2099"))
    campaign.seal_before_rows()
    replaced("plan.toml", "value = 0.1", "value = 0.2")(campaign)


def facts(line: str) -> Callable[[TriedCampaign], None]:
    return lambda campaign: campaign.write("facts.toml", f"{campaign.text('facts.toml')}{line}\n")


BAD: dict[str, tuple[Callable[[TriedCampaign], None], str]] = {
    # the list of the issue
    "missing column": (column_dropped, "draws.csv:1: column passes is missing; found row, "),
    "extra column": (column_added, "draws.csv:1: unknown column mood; expected row, "),
    "wrong unit": (
        replaced(DRAWS, "step_time_ms", "step_time_s"),
        "draws.csv:1: wrong unit: found column step_time_s, expected step_time_ms",
    ),
    "duplicate row": (record_doubled(ROWS), "rows.csv:6: "),
    "duplicate draw": (record_doubled(DRAWS), "draws.csv:10: "),
    "NaN": (cell(DRAWS, 1, "step_time_ms", "NaN"), "draws.csv:3: step_time_ms is 'NaN'; expected a finite number"),
    "infinity": (cell(DRAWS, 1, "model_time_s", "inf"), "draws.csv:3: model_time_s is 'inf'"),
    "time without a zone": (
        cell(ROWS, 0, "started", "2026-11-06T04:00:00"),
        "rows.csv:2: started is '2026-11-06T04:00:00'",
    ),
    "fact's time without a zone": (
        facts('[facts."since"]\nvalue = 2026-11-06T04:00:00\nsource = "x"'),
        "facts.toml: facts.since: the time 2026-11-06T04:00:00 has no zone",
    ),
    "plan changed after its seal": (sealed_and_changed, "plan.toml: plan.toml changed after its seal: found sha256 "),
    "measured row from before the seal": (
        sealed,
        "rows.csv: row 1 started 2026-11-06T04:00:00+00:00, before the plan was sealed",
    ),
    "unknown reading in a template": (
        replaced("post.md.j2", 'q("saving")', 'q("savings")'),
        "post.md.j2:5: part-1: there is no reading 'savings'",
    ),
    # tables
    "empty cell": (cell(DRAWS, 1, "tokens", ""), "draws.csv:3: tokens is empty"),
    "fraction for a whole number": (cell(DRAWS, 1, "tokens", "12.5"), "draws.csv:3: tokens is '12.5'"),
    "record too short": (
        written(DRAWS, "row,draw,step_time_ms,verify_steps,tokens,model_time_s,passes\n1,1\n"),
        "draws.csv:2: ",
    ),
    "table that is not text": (written(DRAWS, b"\xff\xfe\x00"), "is not UTF-8"),
    "table that is empty": (written(DRAWS, b""), "draws.csv:1: "),
    "table that is missing": (lambda c: (c.part.data / "draws.csv").unlink(), "draws.csv: there is no such file"),
    "unknown arm": (cell(ROWS, 1, "arm", "chaged"), "rows.csv"),
    "unknown state": (cell(ROWS, 1, "state", "done"), "rows.csv: row 2: state is 'done'"),
    "row out of order": (cell(ROWS, 0, "started", "2026-11-06T04:20:00Z"), "rows.csv: row 2 ran at place 1"),
    "draw of an unknown row": (cell(DRAWS, 0, "row", "9"), "draws.csv: "),
    "passes that the tasks do not show": (
        cell(DRAWS, 0, "passes", "2"),
        "draws.csv: row 1, draw 1: passes is 2, but 1 tasks passed",
    ),
    "fewer tokens than steps": (cell(DRAWS, 0, "tokens", "3"), "draws.csv: row 1, draw 1: 3 tokens in"),
    "unknown outcome": (cell(TASKS, 0, "outcome", "passed"), "tasks.csv"),
    # what a person types
    "plan that is no TOML": (written("plan.toml", "about = \n"), "plan.toml: not TOML"),
    "plan that is not text": (written("plan.toml", b"\xff"), "plan.toml: not TOML"),
    "plan that is missing": (lambda c: c.part.plan.unlink(), "plan.toml: there is no such file"),
    "unknown key in the plan": (
        written("plan.toml", PLAN.replace("order =", "ordr =")),
        "plan.toml: rows.ordr: unknown key",
    ),
    "unknown kind of reading": (
        written("plan.toml", PLAN.replace('"saving"\narm', '"savings"\narm')),
        "kind is 'savings'",
    ),
    "constant that is no number": (replaced("plan.toml", "value = 0.1", "value = nan"), "plan.toml: constants.bar"),
    "constant that is true": (replaced("plan.toml", "value = 0.1", "value = true"), "plan.toml: constants.bar"),
    "facts that are no TOML": (written("facts.toml", "["), "facts.toml: not TOML"),
    "facts that are missing": (lambda c: c.part.facts.unlink(), "facts.toml: there is no such file"),
    "unknown key in the facts": (facts('[facts."x"]\nvalu = 1\nsource = "x"'), "facts.toml: facts.x.valu: unknown key"),
    "fact without a source": (facts('[facts."x"]\nvalue = 1'), "facts.toml: facts.x.source: missing"),
    "fact that is no number": (facts('[facts."x"]\nvalue = inf\nsource = "x"'), "facts.toml: facts.x"),
    "fact that is true": (facts('[facts."x"]\nvalue = true\nsource = "x"'), "facts.toml: facts.x"),
    "fact with the id of a reading": (
        facts('[facts."saving"]\nvalue = 1\nsource = "x"'),
        "facts.toml: saving is declared twice",
    ),
    "fact with the id of a reading's end": (
        facts('[facts."saving.lo"]\nvalue = 1\nsource = "x"'),
        "facts.toml: saving.lo",
    ),
    "unknown key in the credits": (written("credits.toml", '[credit.x]\nnam = "x"\n'), "credits.toml: credit.x.nam"),
    "run.json that is no JSON": (written("data/run.json", "{"), "run.json: not JSON"),
    "run.json of another origin": (written("data/run.json", '{"origin": "guessed"}'), "run.json: origin is 'guessed'"),
    "run.json that is missing": (lambda c: c.part.run.unlink(), "run.json: there is no such file"),
    "template that is no template": (replaced("post.md.j2", '{{ q("saving") }}', "{{ q( }}"), "post.md.j2:5: "),
    "template that is not text": (written("post.md.j2", b"\xff"), "post.md.j2: byte 0 is not UTF-8"),
    "false claim": (
        replaced("post.md.j2", 'claim("saving > bar", "above", "below")', 'claim("saving < bar", "below")'),
        "post.md.j2:6: claim 'below' is not true of the data",
    ),
    "plot that does not exist": (
        replaced("post.md.j2", 'plot("rows"', 'plot("row"'),
        "post.md.j2:18: plot 'row': not declared",
    ),
    "plot of nothing": (replaced("plan.toml", 'readings = "row.*"', 'readings = "rov.*"'), "plot rows"),
    "plot with an unknown key": (
        replaced("plan.toml", "x_label", "xlabel"),
        "plan.toml: plot rows: xlabel: unknown key",
    ),
    "plot without a name": (replaced("plan.toml", 'name = "rows"\n', ""), "plan.toml: plot"),
    "campaign.toml that is no TOML": (written("../../campaign.toml", "names = ["), "campaign.toml: "),
    "campaign.toml that is not text": (written("../../campaign.toml", b"\xff"), "campaign.toml: "),
    "names that are no list": (written("../../campaign.toml", "names = 3\n"), "campaign.toml: "),
    "names that are no texts": (written("../../campaign.toml", "names = [3]\n"), "campaign.toml: "),
    "unknown key in campaign.toml": (
        written("../../campaign.toml", 'nams = ["W01"]\n'),
        "campaign.toml: nams: unknown key",
    ),
    # what the program writes
    "seal that is no TOML": (written("seal.toml", "["), "seal.toml: "),
    "record of publication that is no TOML": (written("published.toml", "["), "published.toml: "),
    "unknown key in a record of publication": (
        written("published.toml", 'dat = "x"\n'),
        "published.toml: dat: unknown key",
    ),
    "corrections that are no TOML": (written("corrections.toml", "["), "corrections.toml: "),
}


@pytest.mark.parametrize("command", ["build", "check"])
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_message(campaign, case, command):
    """Exit 2, one line on stderr that says where and what, no traceback, and nothing on disk changes."""
    spoil, message = BAD[case]
    spoil(campaign)
    before = campaign.tree()
    result = campaign.notes(command, "1", exit=2)
    assert result.stderr.startswith("notes: ") and result.stderr.count("\n") == 1, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert campaign.tree() == before


def test_format_that_does_not_exist_is_told_with_its_line(campaign):
    """A format of the plan is tried where a template quotes it."""
    replaced("plan.toml", 'print = ".3f"', 'print = ".3g"')(campaign)
    message = campaign.notes("build", "1", exit=2).stderr
    assert message.startswith("notes: parts/part-1/post.md.j2:15: row.1: unknown format '.3g'")


@pytest.mark.parametrize("command", ["build", "check", "read", "seal", "publish", "why"])
def test_part_that_does_not_exist_is_told(campaign, command):
    """The nearest part, all parts and the commands that help are named."""
    before = campaign.tree()
    result = campaign.notes(command, "part-11", *(["0.3"] if command == "why" else []), exit=2)
    assert result.stderr.startswith("notes: part-11: there is no such part in ")
    assert "expected one of part-1. Did you mean part-1?" in result.stderr
    assert campaign.tree() == before


@pytest.mark.parametrize("text", ["no markers at all\n", "<!-- campaign:body end -->\n", ""])
def test_post_without_its_markers_is_told(campaign, text):
    """A post in which no body can be found is one message."""
    campaign.write("post.md", text)
    result = campaign.notes("check", "1", exit=2)
    assert result.stderr.startswith("notes: parts/part-1/post.md: no line `<!-- campaign:body")


def test_numbers_of_another_schema_are_told(campaign):
    """A numbers.json of another version is one message."""
    campaign.change('"schema": 1', '"schema": 2', "numbers.json")
    assert "numbers.json: schema" in campaign.notes("check", "1", exit=2).stderr


def test_folder_in_the_place_of_a_file_is_told(campaign):
    """An operating system's error becomes a message too."""
    campaign.part.template.unlink()
    campaign.part.template.mkdir()
    before = campaign.tree()
    assert campaign.notes("build", "1", exit=None).stderr.startswith("notes: ")
    assert campaign.tree() == before
