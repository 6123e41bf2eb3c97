"""Changed data: what each class makes of a part's files, and data that turn a claim round."""

from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign

from campaign.notes import data_mutants
from campaign.notes.claims import claim_holds
from campaign.notes.data_mutants import (
    Cells,
    Records,
    Search,
    changed_data,
    changed_files,
    earlier_data,
    kinds,
)
from campaign.notes.data_mutants import data_mutants as mutants
from campaign.notes.sources import Sources, load


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


@pytest.fixture
def sources(campaign: TriedCampaign) -> Sources:
    return load(campaign.part)


@pytest.mark.parametrize("kind", list(kinds()))
def test_every_mutant_changes_its_file(sources, kind):
    """Each class changes some file, and every mutant of it holds other bytes than the file does."""
    made = list(mutants(sources, kind))
    assert made
    assert all((sources.part.folder / one.path).read_bytes() != one.content for one in made)


def test_same_seed_makes_the_same_mutants(sources):
    """What is drawn is drawn with the seed, and another seed draws other cells."""
    assert list(mutants(sources, "cell a little")) == list(mutants(sources, "cell a little"))
    assert list(mutants(sources, "cell a little")) != list(mutants(sources, "cell a little", seed=1))


def test_every_numeric_column_is_changed(sources):
    """A number of each column with numbers in it is changed by a little."""
    told = " ".join(one.what for one in mutants(sources, "cell a little") if one.path == "data/draws.csv")
    assert all(column in told for column in ("step_time_ms", "verify_steps", "tokens", "model_time_s", "passes"))


def test_change_below_the_print_is_tiny(sources):
    """The number that is written differs, and by far less than any print shows."""
    for one in mutants(sources, "below the print"):
        was, became = one.what.rpartition(": ")[2].split(" → ")
        assert float(was) != float(became)
        assert float(became) == pytest.approx(float(was), rel=1e-12)


def test_outcome_becomes_another_one_that_may_stand_there(sources):
    """A text cell takes a value that the reader of files knows, even one that no other record has."""
    outcomes = {one.what.rpartition(" → ")[2] for seed in range(20) for one in mutants(sources, "text cell", seed)}
    assert {"fail", "infrastructure error"} <= outcomes


def test_parquet_is_written_with_its_own_types(tmp_path):
    """Records of a Parquet file go back into one with the same schema, the change in it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"at": pa.array([1, 2], pa.int32()), "watts": [1.5, 2.5], "on": [True, False]})
    pq.write_table(table, tmp_path / "x.parquet")
    records = Records.of(tmp_path / "x.parquet").with_cell(0, 1, 3.5)
    (tmp_path / "y.parquet").write_bytes(records.content())
    assert pq.read_table(tmp_path / "y.parquet") == table.set_column(1, "watts", pa.array([3.5, 2.5]))


@pytest.mark.parametrize("expression", ["saving > bar", "failed > 0", "passed < 100", "steps > 100", "saving.lo > bar"])
def test_claim_is_turned_round(sources, expression):
    """The search gives data under which the claim is no longer what it was."""
    search = Search(sources, expression, (), 20)
    change = next(iter(search))
    assert search._holds(change) is not claim_holds(expression, sources.readings)


def test_claim_that_nothing_turns_is_not_turned(sources):
    """Where no data make a claim false the search gives only data under which it cannot be told any more, and ends."""
    search = Search(sources, "saving == saving", (), 1)
    assert all(search._holds(change) is None for change in search)
    assert search.tried > 0


def test_files_hold_the_change_that_was_tried(campaign, sources):
    """What is computed from the changed files is what was computed in memory."""
    change = (Cells("draws", (0, 3), "step_time_ms", (1000.0, 2000.0), "two draws"),)
    for name, content in changed_files(sources, change).items():
        (campaign.part.folder / name).write_bytes(content)
    in_memory = changed_data(sources.data, change).tables["draws"]
    assert load(campaign.part).data.tables["draws"].equals(in_memory)


def test_passes_follow_the_outcomes(sources):
    """Where an outcome is changed the draw's passes are counted anew, or the data would be refused."""
    tables = sources.data.tables
    change = data_mutants._consistent(tables, "tasks", (0,), "outcome", "infrastructure error", "the first")
    assert [cells.table for cells in change] == ["tasks", "draws"]


def test_earlier_data_lack_the_last_row(sources):
    """The state before the last row has one row less, and so has its plan."""
    [(plan, data)] = earlier_data(sources)
    assert len(data.tables["rows"]) == len(sources.data.tables["rows"]) - 1 == len(plan.rows.order)
