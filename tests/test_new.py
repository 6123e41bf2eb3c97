"""A new part: its skeleton builds before any row exists, and gives a verdict once the rows are there."""

import datetime
import hashlib
from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign, draws_csv, empty_campaign, rows_csv, tasks_csv

ARMS = ("served", "changed", "changed", "changed", "served", "served")


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    """An empty campaign in which part-1 was just made."""
    made = empty_campaign(tmp_path, monkeypatch)
    made.notes("new", "part-1")
    return made


def measure(campaign: TriedCampaign, *, failing: bool = False) -> None:
    """Nothing; the skeleton's plan is then sealed, and its rows lie in data/."""
    campaign.commit_all("Plan Part 1")
    campaign.notes("seal", "1")
    start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)
    sha256 = hashlib.sha256((campaign.part.plan).read_bytes()).hexdigest()
    rows = rows_csv(start, ARMS).splitlines()
    campaign.write("data/rows.csv", f"{rows[0]},plan_sha256\n" + "".join(f"{row},{sha256}\n" for row in rows[1:]))
    campaign.write("data/draws.csv", draws_csv(ARMS, draws=3))
    campaign.write("data/tasks.csv", tasks_csv(ARMS, draws=3))
    tasks = campaign.text("data/tasks.csv").replace("fail", "pass")
    campaign.change_cell("data/draws.csv", 0, "passes", lambda _: "2")
    if failing:
        tasks = tasks.replace("2,1,task-2,agentic,pass", "2,1,task-2,agentic,fail")
        campaign.change_cell("data/draws.csv", 3, "passes", lambda _: "1")
    campaign.write("data/tasks.csv", tasks)


def test_every_file_that_was_written_is_told(campaign):
    """The files of a new part are those that `notes new` named."""
    result = campaign.notes("new", "2")
    told = {line.removeprefix("wrote ") for line in result.stdout.splitlines() if line.startswith("wrote ")}
    assert told == {name for name in campaign.tree() if name.startswith("parts/part-2/")}
    assert "plan.toml" in result.stdout.splitlines()[-1] and "notes seal" in result.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "name", ["plan.toml", "facts.toml", "credits.toml", "post.md.j2", "data/run.json", "data/rows.csv"]
)
def test_part_has_the_files_that_a_person_fills_in(campaign, name):
    """Plan, facts, credits, prose and empty tables are there, without a placeholder left in them."""
    assert "@" not in campaign.text(name)


def test_skeleton_builds_and_checks_green_before_any_row(campaign):
    """What no row decides yet is printed as not resolved, and nothing else is wrong."""
    campaign.notes("build", "1")
    assert campaign.body.count("not resolved") >= 2
    assert "no findings" in campaign.notes("check", "1").stdout


def test_skeleton_claims_nothing_before_any_row(campaign):
    """As long as a reading is not resolved, no word says which way it went."""
    campaign.notes("build", "1")
    headline = next(line for line in campaign.body.splitlines() if "The changed kernel" in line)
    assert "less" not in headline and "more" not in headline


def test_skeleton_says_what_is_missing(campaign):
    """`notes read` gives the reason for each reading without a value."""
    assert "6 of 6 planned rows are missing" in campaign.notes("read", "1").stdout


def test_skeleton_gives_a_verdict_with_rows(campaign):
    """With the planned rows in data/, the same files give a number, its interval and the verdict."""
    measure(campaign)
    campaign.notes("build", "1")
    assert "carries" in campaign.body and "not resolved" not in campaign.body
    assert campaign.body.count("| changed |") == 3
    campaign.notes("check", "1")


def test_guard_of_the_skeleton_holds(campaign):
    """An agentic task that fails with the change holds the verdict."""
    measure(campaign, failing=True)
    campaign.notes("build", "1")
    assert "fixed beforehand: held." in campaign.body


def test_rows_that_are_missing_leave_everything_open(campaign):
    """Fewer rows than planned give no number to look at."""
    measure(campaign)
    lines = campaign.text("data/rows.csv").splitlines(keepends=True)
    campaign.write("data/rows.csv", "".join(lines[:-1]))
    for name in ("draws", "tasks"):
        kept = [
            line for line in campaign.text(f"data/{name}.csv").splitlines(keepends=True) if not line.startswith("6,")
        ]
        campaign.write(f"data/{name}.csv", "".join(kept))
    campaign.notes("build", "1")
    assert "carries" not in campaign.body and "not resolved" in campaign.body
    assert "1 of 6 planned rows are missing" in campaign.notes("read", "1").stdout


def test_post_is_dated_and_named(campaign):
    """The skeleton's post has its part's number and today's date."""
    campaign.notes("build", "1")
    assert campaign.body.startswith("# Part 1: ")
    assert f"date = {datetime.datetime.now(datetime.UTC).date().isoformat()}" in campaign.text("facts.toml")


def test_part_that_is_there_is_not_written_over(campaign):
    """A second `new` of the same number changes nothing."""
    before = campaign.tree()
    assert "parts/part-1: is there already" in campaign.notes("new", "1", exit=2).stderr
    assert campaign.tree() == before


@pytest.mark.parametrize("name", ["five", "part-x", "-", "part-1a", "../x"])
def test_name_that_is_no_number_is_refused(campaign, name):
    """A part is named by its number."""
    before = campaign.tree()
    assert "not the name of a part; expected part-5" in campaign.notes("new", "--", name, exit=2).stderr
    assert campaign.tree() == before


def test_earlier_part_gives_plan_facts_prose_and_credits(tmp_path, monkeypatch):
    """--from takes over what a person wrote, byte for byte; data, seal and built files are not taken."""
    campaign = built_campaign(tmp_path, monkeypatch)
    campaign.write("seal.toml", "")
    campaign.notes("new", "2", "--from", "part-1")
    files = campaign.tree()
    taken = {"plan.toml", "facts.toml", "post.md.j2", "credits.toml"}
    both = {name.removeprefix("parts/part-2/") for name in files if name.startswith("parts/part-2/")}
    both &= {name.removeprefix("parts/part-1/") for name in files if name.startswith("parts/part-1/")}
    tables = {name for name in both if name.endswith(".csv")}
    assert both - tables <= taken | {"data/run.json"}
    assert tables and all(files[f"parts/part-2/{name}"].count(b"\n") == 1 for name in tables), "heads, no records"
    for name in taken:
        assert files[f"parts/part-2/{name}"] == files[f"parts/part-1/{name}"]


def test_part_made_from_an_earlier_one_names_itself(campaign):
    """The post of a part taken over from Part 1 is headed Part 2."""
    campaign.notes("new", "2", "--from", "1")
    campaign.notes("build", "2")
    assert "# Part 2: " in campaign.text("../part-2/post.md")


def test_unknown_earlier_part_is_told(campaign):
    """--from a part that does not exist writes nothing."""
    before = campaign.tree()
    assert "7: there is no such part" in campaign.notes("new", "2", "--from", "7", exit=2).stderr
    assert campaign.tree() == before
