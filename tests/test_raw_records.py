"""Raw records: the journal and the files of finished rows count as data, and the tables are what they give."""

import json
import shutil
from pathlib import Path

import pytest
from tests.campaigns import PARTS, TriedCampaign, built_campaign, published_campaign

from campaign.engine.data import files_below
from campaign.engine.journal import Journal
from campaign.engine.row_tables import write_tables
from campaign.notes.build import readings_json
from campaign.notes.findings import Finding
from campaign.notes.history import NoHistory
from campaign.notes.neighbours import check_data
from campaign.notes.paths import Campaign, Part
from campaign.notes.raw_records import check_records
from campaign.notes.sources import load


@pytest.fixture
def part(tmp_path: Path) -> Part:
    """A measured part with its raw records, its readings.json written anew."""
    (tmp_path / "campaign.toml").write_text('title = "A campaign"\n', encoding="utf-8")
    shutil.copytree(PARTS / "part-7", tmp_path / "parts" / "part-7")
    found = Part(Campaign(tmp_path), "part-7")
    built(found)
    return found


def built(part: Part) -> None:
    """Nothing; readings.json has the hashes of the files as they are now."""
    part.readings.write_text(readings_json(load(part)), encoding="utf-8")


def told(part: Part) -> list[Finding]:
    """The findings about the part's raw records."""
    return check_records(part, load(part), NoHistory("no git here"))


def change(part: Part, name: str, was: str, becomes: str) -> None:
    """Nothing; the first `was` in a file of the part's data is then `becomes`."""
    path = part.data / name
    text = path.read_text(encoding="utf-8")
    assert was in text
    path.write_text(text.replace(was, becomes, 1), encoding="utf-8")


def test_raw_records_as_measured_have_no_finding(part):
    """The tables of a measured part are what its raw records give."""
    assert told(part) == []


def test_tables_are_written_from_the_records_as_they_were(part):
    """Written anew, the tables hold what they held: the same draws, tasks and load."""
    names = ("draws.csv", "tasks.csv", "load.csv")
    before = {name: (part.data / name).read_bytes() for name in names}
    write_tables(part.folder, Journal(part.data / "journal.jsonl").attempts())
    assert {name: (part.data / name).read_bytes() for name in names} == before


def test_raw_records_have_their_hashes_in_readings_json(part):
    """Journal and rows are among the hashed files, and the digest that a text prints is of the tables alone."""
    sources = load(part)
    kept = json.loads(part.readings.read_bytes())["data"]
    assert {"data/journal.jsonl", *(f"data/rows/r{i}.json" for i in range(1, 8))} == sources.data.records
    assert sources.data.records < kept.keys()
    before = sources.data.digest, sources.data.whole_digest
    change(part, "rows/r4.json", '"arm": "scan"', '"arm": "scam"')
    after = load(part).data
    assert after.digest == before[0] and after.whole_digest != before[1]


@pytest.mark.parametrize("name", ["rows/r4.json", "journal.jsonl"])
def test_file_with_a_hash_that_is_gone_is_found(part, name):
    """A clone without history can tell that a file of the data is missing."""
    kept = json.loads(part.readings.read_bytes())
    (part.data / name).rename(part.folder / "aside")
    assert [(one.path, one.said, one.expected) for one in told(part)] == [
        (f"parts/part-7/data/{name}", "no such file", f"sha256 {kept['data'][f'data/{name}'][:12]} as built")
    ]


def test_row_that_took_the_place_of_another_is_found_whatever_its_hash(part):
    """A file of another row is told by what it says of itself."""
    shutil.copyfile(part.data / "rows/r2.json", part.data / "rows/r4.json")
    built(part)
    (one,) = told(part)
    assert (one.path, one.said) == ("parts/part-7/data/rows/r4.json", "row r2")
    assert one.expected == "r4, as journal.jsonl has it"


def test_record_that_is_gone_is_found_whatever_is_hashed(part):
    """A row that the journal calls complete has its file."""
    (part.data / "rows/r4.json").unlink()
    built(part)
    (one,) = told(part)
    assert (one.path, one.said) == ("parts/part-7/data/rows/r4.json", "no such file")


def test_rows_without_their_journal_are_found_whatever_is_hashed(part):
    """Files of rows come with the journal that says how they ran."""
    (part.data / "journal.jsonl").unlink()
    built(part)
    assert [(one.path, one.said) for one in told(part)] == [("parts/part-7/data/journal.jsonl", "no such file")]


def test_digit_of_a_step_is_found_in_every_table_made_from_it(part):
    """A raw record with another number no longer gives the draws and the steps."""
    first = json.loads((part.data / "rows/r4.json").read_bytes())["tasks"][0]["steps"][0]
    change(part, "rows/r4.json", json.dumps(first), json.dumps([*first[:3], first[3] + 9_000_000, *first[4:]]))
    built(part)
    draws, steps = told(part)
    assert draws.path == "parts/part-7/data/draws.csv" and draws.line == 11
    assert draws.said.startswith("step_time_ms ") and draws.expected.startswith("step_time_ms ")
    assert steps.said.endswith(f"ended_ns {first[3]}") and steps.expected == f"ended_ns {first[3] + 9_000_000}"
    assert steps.source == "the raw record data/rows/r4.json"


def test_cell_of_a_table_is_found_by_the_records(part):
    """A table that was changed and built over is not what its records give."""
    change(part, "load.csv", "r4,1.08", "r4,1.07")
    built(part)
    assert [(one.path, one.line, one.said, one.expected) for one in told(part)] == [
        ("parts/part-7/data/load.csv", 5, "load_before 1.07", "load_before 1.08")
    ]


def test_record_that_is_no_record_is_a_finding(part):
    """A file of other JSON is told of, not a crash."""
    (part.data / "rows/r4.json").write_text("[1]\n", encoding="utf-8")
    assert [one.code for one in told(part)] == ["stale"]


def test_what_is_no_data_is_left_out(tmp_path):
    """A README, hidden files and what editors and writers leave beside a file are no data."""
    for name in ("README.md", ".hidden", "r1.json~", "#r1.json#", ".git/x", "__pycache__/y", "rows/r1.json", "r.tmp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert files_below(tmp_path) == [tmp_path / "rows/r1.json"]


# ---- a published part


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    """A published part with a file beside its tables."""
    made = built_campaign(tmp_path, monkeypatch)
    made.write("data/log.txt", "as it was\n")
    made.notes("build", "1")
    made.commit_all("Build it")
    made.notes("publish", "1")
    return made


@pytest.mark.parametrize("becomes", ["as it was not\n", ""])
def test_record_of_a_published_part_stays(campaign, becomes):
    """A changed or missing record is found as changed data are, by readings.json and by the publication."""
    if becomes:
        campaign.write("data/log.txt", becomes)
    else:
        (campaign.part.data / "log.txt").unlink()
    found = campaign.notes("check", "1", "--no-cache", exit=1).output
    assert "parts/part-1/data/log.txt changed after the publication" in found


def test_file_added_to_a_published_part_is_no_change_of_its_data(campaign):
    """What was not there when the part was published cannot have been changed."""
    campaign.write("data/more.txt", "a note\n")
    assert check_data(campaign.part, load(campaign.part), campaign.repo) == []


# ---- sources of facts


def test_source_of_a_published_fact_that_became_another_is_a_warning(tmp_path, monkeypatch):
    """Where a number is said to come from is kept by git, and a change of it is told with its place."""
    made = published_campaign(tmp_path, monkeypatch)
    assert check_data(made.part, load(made.part), made.repo) == []
    made.change('source = "the machine"', 'source = "guessed"', "facts.toml")
    (one,) = check_data(made.part, load(made.part), made.repo)
    line = 1 + made.text("facts.toml").split("\n").index('source = "guessed"')
    assert (one.level, one.code, one.path, one.line, one.column) == (
        "warning",
        "kept",
        "parts/part-1/facts.toml",
        line,
        11,
    )
    assert (one.said, one.expected, one.source) == ("guessed", "the machine", "the source of the fact gpus")


def test_source_of_a_draft_may_become_another(tmp_path, monkeypatch):
    """A draft's facts are still written."""
    made = built_campaign(tmp_path, monkeypatch)
    made.change('source = "the machine"', 'source = "guessed"', "facts.toml")
    assert check_data(made.part, load(made.part), made.repo) == []


def test_fact_that_came_later_is_held_to_its_first_source(tmp_path, monkeypatch):
    """A place that was bound anew after the publication has a fact of its own, which changes as little."""
    made = published_campaign(tmp_path, monkeypatch)
    before = made.text("facts.toml")
    made.write("facts.toml", before + '\n[facts."later"]\nvalue = 3\nsource = "the log"\n')
    made.commit_all("Bind it anew")
    assert check_data(made.part, load(made.part), made.repo) == []
    made.change('source = "the log"', 'source = "a log"', "facts.toml")
    assert [one.expected for one in check_data(made.part, load(made.part), made.repo)] == ["the log"]
