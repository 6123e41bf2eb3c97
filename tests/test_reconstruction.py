"""Part 5 from its records: the reconstruction repeats itself, and every published figure comes out as printed."""

import csv
import importlib.util
import re
import shutil
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from campaign.analysis.compute import read
from campaign.analysis.readings import Readings
from campaign.engine.data import read_data
from campaign.engine.plan import read_plan
from campaign.engine.records import KNOWN
from campaign.notes.paths import Campaign, Part
from campaign.notes.quote import print_reading
from campaign.notes.sources import load

ROOT = Path(__file__).resolve().parents[1]
PART = Part(Campaign(ROOT), "part-5")
WRITTEN = sorted(path.name for path in PART.data.iterdir() if path.name != "README.md")
FIGURES = {
    record["id"]: record["printed"]
    for record in csv.DictReader((ROOT / "tests/data/part-5-figures.csv").read_text("utf-8").splitlines())
}
FROM_RECORDS = re.compile(
    r"row\.|yardstick\.m|saving\.(?!count)|drift\.|decide\.|tps\.|passes\.|qa_|time\.|implied\.|moe\.seg|f\.sav|moe\.copy\.\d"
)
"""Ids of figures that are computed from records and printed with decimals."""


@pytest.fixture(scope="module")
def readings() -> Readings:
    return load(PART).readings


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """reconstruct.py, loaded by its path: the program never imports it."""
    spec = importlib.util.spec_from_file_location("reconstruct_part_5", PART.folder / "reconstruct.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def again(script, tmp_path_factory) -> Path:
    """The folder into which the script has written its records once more."""
    folder = tmp_path_factory.mktemp("again") / "data"
    script.reconstruct(folder)
    return folder


def computed(folder: Path) -> Readings:
    """The readings of the copy of Part 5 in `folder`."""
    plan = read_plan(folder / "plan.toml", "plan.toml")
    return read(plan, read_data(plan, folder, lambda path: path.relative_to(folder).as_posix()), "plan.toml")


@pytest.fixture
def copy(tmp_path) -> Path:
    """A copy of Part 5's plan and data."""
    shutil.copy(PART.plan, tmp_path)
    shutil.copytree(PART.data, tmp_path / "data")
    return tmp_path


def change_draw(folder: Path, row: str, ms_per_step: float) -> None:
    """Nothing; the first draw of `row` then took that much longer in every step."""
    path = folder / "data" / "draws.csv"
    lines = path.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith(f"{row},1,"))
    name, number, step_time_ms, steps, *rest = lines[place].split(",")
    lines[place] = ",".join([name, number, f"{float(step_time_ms) + ms_per_step * int(steps):.3f}", steps, *rest])
    path.write_text("\n".join(lines) + "\n")


# ---- the records


@pytest.mark.parametrize("name", WRITTEN)
def test_script_writes_the_committed_bytes(again, name):
    """The same seed gives each data file again, byte for byte."""
    assert (again / name).read_bytes() == (PART.data / name).read_bytes()


def test_script_writes_every_data_file(again):
    """Nothing lies in data/ that the script did not make, but the README."""
    assert sorted(path.name for path in again.iterdir()) == WRITTEN


def test_records_hold_no_column_of_results():
    """The columns are those of records: no matched value, mean, saving or share."""
    for path in PART.data.glob("*.csv"):
        with path.open() as file:
            header = next(csv.reader(file))
        assert set(header) <= set(KNOWN[path.stem]["columns"]), path.name
        assert not re.search(r"\bmatched|mean|saving|share|_per_|lower|upper|sd\b", ",".join(header)), path.name


def test_no_result_is_typed_in_run_json_or_facts():
    """Neither run.json nor facts.toml holds a figure that follows from records."""
    typed = PART.run.read_text("utf-8") + PART.facts.read_text("utf-8")
    found = [
        name for name, printed in FIGURES.items() if "." in printed and FROM_RECORDS.match(name) and printed in typed
    ]
    assert not found


def test_facts_declare_nothing_that_the_plan_computes(readings):
    """Each figure comes from one place: a fact is never also a reading."""
    facts = tomllib.loads(PART.facts.read_text("utf-8"))["facts"]
    assert {readings[name].role for name in facts} == {"fact"}
    assert not [name for name in facts if FROM_RECORDS.match(name)]


@pytest.mark.parametrize("table", ["rows", "draws", "tasks", "equality", "context_mix"])
def test_no_record_is_a_published_figure(table):
    """No cell of the served rows' records is a printed result, nor stands in for one."""
    results = {printed.lstrip("−") for name, printed in FIGURES.items() if FROM_RECORDS.match(name) and "." in printed}
    with (PART.data / f"{table}.csv").open() as file:
        cells = {cell for record in csv.reader(file) for cell in record}
    assert not cells & results


def test_origin_is_a_reconstruction(readings):
    """The data say of themselves what they are."""
    assert readings["data.origin"].value == "reconstructed"


def test_program_does_not_import_the_script():
    """No module of the program names the script that holds the published figures."""
    for folder in ("analysis", "engine", "kernels", "notes"):
        for path in (ROOT / folder).glob("*.py"):
            assert "reconstruct.py" not in path.read_text("utf-8"), path
            assert not re.search(r"import.*reconstruct\b", path.read_text("utf-8")), path


# ---- the figures


def test_there_are_ninety_two_figures():
    """The list of published figures is whole."""
    assert len(FIGURES) == 92


@pytest.mark.parametrize("name", FIGURES)
def test_figure_comes_out_as_printed(readings, name):
    """The figure, computed from the records (or quoted from plan and facts), prints as published."""
    assert print_reading(readings[name]).replace(",", "") == FIGURES[name]


@pytest.mark.parametrize("name", [name for name in FIGURES if FROM_RECORDS.match(name)])
def test_result_is_computed_and_not_typed(readings, name):
    """A result is a reading with a formula, and neither a constant of the plan nor a fact."""
    assert readings[name].role == "reading" and readings[name].formula


def test_verdict_of_the_published_note(readings):
    """The rule read over the records says what was published: it carries, with its count kept and no guard tripped."""
    assert (readings["verdict"].value, readings["count.rule"].value) == ("carries", "kept")
    assert readings["guards.tripped"].value == 0
    assert readings["verdict"].warnings == ()


def test_script_agrees_with_the_program(script, again, readings):
    """The script's own arithmetic, which shares no code with the program, gives the program's values."""
    figures = script.recompute(again)
    compared = {name: value for name, value in figures.items() if name in FIGURES and readings[name].role == "reading"}
    assert len(compared) > 60
    assert {name: readings[name].value for name in compared} == {
        n: pytest.approx(v, rel=1e-9, abs=1e-12) for n, v in compared.items()
    }


# ---- a change of the records


@pytest.mark.parametrize(("row", "change"), [("0443", -1 / 12), ("y01", 1 / 54)])
def test_one_slower_draw_changes_the_saving(copy, row, change):
    """One draw that is 1 ms a step slower moves the saving by what that draw weighs."""
    before = computed(copy)["saving.low"]
    change_draw(copy, row, 1.0)
    after = computed(copy)["saving.low"]
    assert after.value - before.value == pytest.approx(change, abs=1e-6)
    assert print_reading(after) != print_reading(before)


def test_slow_rows_change_the_verdict(copy):
    """Records that are slow enough lose the verdict."""
    for row in ("0443", "0500", "0518", "0536"):
        change_draw(copy, row, 1.0)
    assert computed(copy)["verdict"].value == "rolled back"


def test_missing_row_leaves_nothing_computed(copy):
    """Without the last of the six rows no figure is printed, not one."""
    for name in ("rows", "draws", "tasks"):
        path = copy / "data" / f"{name}.csv"
        path.write_text("".join(line for line in path.read_text().splitlines(True) if line[:5] != "0552,"))
    plan = (copy / "plan.toml").read_text().replace('power = "data/power.parquet"\n', "")
    plan = plan.replace('column = "power_share"', 'column = "passes"')
    (copy / "plan.toml").write_text(plan)
    found = computed(copy)
    assert {one.value for one in found.values() if one.role != "constant"} == {None}
    assert {one.reason for one in found.values() if one.role != "constant"} == {"1 of 6 planned rows are missing"}
