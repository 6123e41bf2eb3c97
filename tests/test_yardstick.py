"""Yardstick rows from an earlier part: taken as they were when the plan was written, or refused."""

import hashlib
from pathlib import Path

import pytest
from tests.compiled import Compiled, compiled
from tests.reference import Rule
from tests.test_rule_random import disagreements

from campaign.engine.data import read_data
from campaign.engine.errors import PlanError, RecordError

FILES = ("rows", "draws", "tasks", "power")


def digest(part: Compiled, names: tuple[str, ...] = FILES) -> str:
    """The hash that a plan names for the part's data: over the lines `../part-1/data/rows.csv <sha256>`."""
    lines = []
    for name in sorted(names):
        content = (part.folder / "data" / f"{name}.csv").read_bytes()
        lines.append(f"../{part.folder.name}/data/{name}.csv {hashlib.sha256(content).hexdigest()}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@pytest.fixture
def earlier(tmp_path) -> Compiled:
    """part-1: an arm `served` of three rows and one void one, and another arm."""
    part = Compiled(tmp_path / "parts" / "part-1")
    part.plan = {
        "about": "The earlier part",
        "arms": {"served": {"label": "served"}, "other": {"label": "other"}},
        "rows": {"order": ["served", "other", "served", "served"], "draws": 2},
        "tables": part.plan["tables"],
    }
    part.add_row("served", [14.4, 14.42])
    part.add_row("other", [13.0, 13.1])
    part.add_row("served", [9.0, 9.0], state="void", reason="the machine was not idle")
    part.add_row("served", [14.45, 14.47])
    part.add_row("served", [14.35, 14.33])
    part.write()
    return part


@pytest.fixture
def part(tmp_path, earlier) -> Compiled:
    """part-2, whose yardstick is part-1's arm `served`."""
    part = compiled(tmp_path / "parts" / "part-2")
    for name in FILES:
        setattr(part, name, [one for one in getattr(part, name) if one["row"] not in ("r01", "r02", "r03")])
    source = {"part": "part-1", "arm": "served", "sha256": digest(earlier)}
    part.plan["arms"]["yardstick"]["source"] = source
    return part


def test_rows_come_with_the_arms_name(part):
    """Three complete rows of the earlier part, none void and none of another arm, are the arm's of this plan."""
    rows = part.data().tables["rows"]
    taken = rows[rows["arm"] == "yardstick"]
    assert list(taken["row"]) == ["part-1/r01", "part-1/r04", "part-1/r05"]
    assert part.read()["rows.yardstick.n"].value == 3


def test_readings_are_those_of_rows_of_ones_own(part, earlier):
    """The same rows among the part's own files give the same readings: the reference knows no earlier part."""
    readings = part.read()
    del part.plan["arms"]["yardstick"]["source"]
    tables = {name: [dict(one) for one in getattr(part, name)] for name in FILES}
    rows = {one["row"] for one in earlier.rows if one["arm"] == "served" and one["state"] == "complete"}
    for name in FILES:
        for one in getattr(earlier, name):
            if one["row"] in rows:
                more = {"arm": "yardstick"} if name == "rows" else {}
                tables[name].append(one | {"row": f"part-1/{one['row']}"} | more)
    rule = Rule(part.plan, tables)
    for one in list(rule.answers):
        if one.startswith("power.share."):
            rule.answers[one.replace("part-1/", "part_1_")] = rule.answers.pop(one)
    assert disagreements(readings, rule) == []


def test_rows_of_two_parts_do_not_collide(part):
    """Both parts have a row r04; the yardstick's is part-1/r04 in every table."""
    data = part.data()
    for name in FILES:
        assert {"r04", "part-1/r04"} <= set(data.tables[name]["row"])
    assert not data.tables["rows"]["row"].duplicated().any()


def test_hash_of_the_data_covers_the_yardstick(part, earlier):
    """Its files are among those that the data's hash is made of."""
    data = part.data()
    assert {f"../part-1/data/{name}.csv" for name in FILES} <= set(data.digests)
    earlier.draws[0]["step_time_ms"] += 1
    earlier.write()
    part.plan["arms"]["yardstick"]["source"]["sha256"] = digest(earlier)
    assert part.data().digest != data.digest


@pytest.mark.parametrize("name", FILES)
def test_changed_byte_is_refused_with_both_hashes(part, earlier, name):
    """A byte more in any of its files, and the rows are not read; the text has what was found and expected."""
    before = digest(earlier)
    path = earlier.folder / "data" / f"{name}.csv"
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(RecordError) as wrong:
        part.data()
    assert before in str(wrong.value) and digest(earlier) in str(wrong.value)
    assert "arms.yardstick.source: the data of part-1 have the sha256" in str(wrong.value)


def test_unknown_arm_is_refused(part):
    """An arm that the part does not have, with the nearest one."""
    part.plan["arms"]["yardstick"]["source"]["arm"] = "servd"
    with pytest.raises(
        RecordError, match=r"part-1 has no rows of the arm 'servd'; expected one of other, served.*served"
    ):
        part.data()


def test_missing_part_is_refused(part):
    """A part that is not there."""
    part.plan["arms"]["yardstick"]["source"]["part"] = "part-3"
    with pytest.raises(PlanError, match=r"part-3/plan\.toml: there is no such file"):
        part.data()


def test_missing_file_is_refused(part, earlier):
    """A table that is no longer there."""
    (earlier.folder / "data" / "draws.csv").unlink()
    with pytest.raises(RecordError, match=r"part-1/data/draws\.csv: there is no such file"):
        part.data()


def test_source_says_on_which_day_its_rows_ran(part):
    """A yardstick without `earlier` would count among the rows that are planned."""
    del part.plan["arms"]["yardstick"]["earlier"]
    with pytest.raises(PlanError, match="takes its rows from part-1 but has no `earlier`"):
        part.data()


def test_same_rows_twice_are_refused(part):
    """Two arms from one arm of one part would count each row twice."""
    part.plan["arms"]["again"] = dict(part.plan["arms"]["yardstick"])
    with pytest.raises(RecordError, match=r"arms\.again\.source: row part-1/r01 is there already"):
        part.data()


def test_own_row_that_is_called_like_one_of_the_yardstick_is_refused(part):
    """A row of the part's own called part-1/r04 would be taken for the yardstick's."""
    for name in FILES:
        for one in getattr(part, name):
            one["row"] = "part-1/r04" if one["row"] == "r04" else one["row"]
    with pytest.raises(RecordError, match="row part-1/r04 is there already"):
        part.data()


def test_two_yardsticks_of_one_part_stand_side_by_side(part):
    """Different arms of one part are different rows."""
    source = part.plan["arms"]["yardstick"]["source"] | {"arm": "other"}
    part.plan["arms"]["second"] = part.plan["arms"]["yardstick"] | {"source": source}
    found = part.read()
    assert (found["rows.yardstick.n"].value, found["rows.second.n"].value) == (3, 1)


def test_yardstick_rows_are_not_rows_of_this_plan(part):
    """They neither complete the planned rows nor break their order."""
    for name in FILES:
        setattr(part, name, [one for one in getattr(part, name) if one["row"] != "r07"])
    assert part.read()["verdict"].reason == "1 of 4 planned rows are missing"


def test_yardstick_without_power_samples_leaves_the_power_guard_open(part, earlier):
    """What the earlier part did not measure is not passed by a guard that asks for it."""
    del earlier.plan["tables"]["power"]
    earlier.write()
    names = ("rows", "draws", "tasks")
    part.plan["arms"]["yardstick"]["source"]["sha256"] = digest(earlier, names)
    found = part.read()
    assert found["power.spread"].value is None
    assert "power: not run: power.spread is not resolved" in found["verdict"].reason


def test_folder_is_found_beside_the_part(part, earlier):
    """The path in messages and hashes is the one beside the part."""
    assert earlier.folder == Path(part.folder.parent / "part-1")
    assert all(not Path(name).is_absolute() for name in part.data().digests)


def test_yardstick_is_known_before_any_file_of_the_part_is(part):
    """What a plan could decide is known from the yardstick alone: the part's own tables have no file yet."""
    plan = part.typed_plan()
    for path in (part.folder / "data").glob("*.csv"):
        path.unlink()
    found = read_data(plan, part.folder, str, absent_is_empty=True)
    assert set(found.tables["rows"]["arm"]) == {"yardstick"} and set(found.tables["draws"]["row"]) == {
        "part-1/r01",
        "part-1/r04",
        "part-1/r05",
    }
