"""Each kind of reading that a plan can declare."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.served import DRIFT, HEAD, SAVING, constant, reading, repeatable, sample, served, table

from campaign.analysis.errors import ReadingError
from campaign.analysis.kinds import slug

COLUMNS = {"name": "text", "n": "integer", "us": "number", "at": "time", "ok": "flag", "cold_us": "number?"}
MINE = """\
name,n,us,at,ok,cold_us
a,1,1.5,2026-11-06T04:00:00Z,true,9
b,2,2.5,2026-11-06T06:00:00Z,false,
b,3,6.5,2026-11-06T05:00:00Z,true,7
"""
TIMINGS = {"run": "integer", "kernel": "text", "rows": "integer", "us": "number"}


def stat(name: str, column: str = "us", **keys: object) -> dict:
    return {"id": "x", "kind": "stat", "table": "mine", "stat": name, **({"column": column} if column else {}), **keys}


def refusal(part) -> str:
    with pytest.raises(ReadingError) as refused:
        part.read()
    return str(refused.value)


# ---- stat


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        ("count", "", 3),
        ("sum", "us", 10.5),
        ("mean", "us", 3.5),
        ("median", "us", 2.5),
        ("min", "us", 1.5),
        ("max", "us", 6.5),
        ("spread", "us", 5.0),
        ("sd", "us", 7.0**0.5),
        ("share", "us > 2", 2 / 3),
        ("share", "ok", 2 / 3),
        ("distinct", "name", 2),
        ("sum", "n", 6),
        ("sum", "ok", 2),
        ("spread", "ok", 1),
        ("mean", "us * n / 2", (1.5 + 5 + 19.5) / 6),
        ("max", "us * bar", 13),
        ("min", "name", "a"),
        ("max", "name", "b"),
        ("min", "at", "2026-11-06T04:00:00+00:00"),
        ("min", "ok", "false"),
    ],
)
def test_each_stat_is_what_it_says(tmp_path, name, column, expected):
    """A stat of a column, or of an expression over columns and constants, over all records."""
    found = table(tmp_path, COLUMNS, MINE, stat(name, column)).read()["x"]
    assert found.value == (pytest.approx(expected) if isinstance(expected, float) else expected)
    assert found.aspects["n"] == 3


@pytest.mark.parametrize(("where", "expected"), [("us > bar", 4.5), ("name == 'b' and n != 2", 6.5), ("ok", 4.0)])
def test_where_chooses_records(tmp_path, where, expected):
    """Only records for which the condition is true count."""
    assert table(tmp_path, COLUMNS, MINE, stat("mean", where=where)).read()["x"].value == expected


def test_threshold_in_where_is_reached_to_1e_9(tmp_path):
    """A record at a threshold is chosen by >= though its float lies a last bit below."""
    part = table(tmp_path, {"us": "number"}, "us\n0.15499999999999997\n0.154\n", stat("count", "", where="us >= 0.155"))
    assert part.read()["x"].value == 1


def test_value_takes_exactly_one_record(tmp_path):
    """The stat `value` is that of one record; of several it is unresolved."""
    assert table(tmp_path, COLUMNS, MINE, stat("value", where="n == 2")).read()["x"].value == 2.5
    found = table(tmp_path, COLUMNS, MINE, stat("value")).read()["x"]
    assert (found.value, found.reason) == (None, "need exactly one record of mine, have 3")


def test_time_is_given_in_utc(tmp_path):
    """A record's time is a text with its zone."""
    found = table(tmp_path, COLUMNS, MINE, stat("value", "at", where="n == 2")).read()["x"]
    assert found.value == "2026-11-06T06:00:00+00:00"


def test_scale_multiplies(tmp_path):
    """A share times 100 is a percentage."""
    assert table(tmp_path, COLUMNS, MINE, stat("share", "ok", scale=100)).read()["x"].value == pytest.approx(200 / 3)


@pytest.mark.parametrize("name", ["sum", "mean", "median", "min", "max", "spread", "sd", "share", "distinct", "value"])
def test_stat_of_no_record_is_unresolved(tmp_path, name):
    """Nothing has no sum and no mean: the reading has no value, and never 0."""
    found = table(tmp_path, COLUMNS, MINE, stat(name, where="n > 9")).read()["x"]
    assert (found.value, found.reason) == (None, "no record of mine where n > 9")


def test_count_of_no_record_is_zero(tmp_path):
    """The count of no record is 0: that is what was counted."""
    assert table(tmp_path, COLUMNS, MINE, stat("count", "", where="n > 9")).read()["x"].value == 0


def test_spread_of_one_record_needs_two(tmp_path):
    """One record has no standard deviation."""
    found = table(tmp_path, COLUMNS, MINE, stat("sd", where="n == 1")).read()["x"]
    assert (found.value, found.reason) == (None, "need at least two records for a standard deviation")


@pytest.mark.parametrize("name", ["sum", "mean", "median", "min", "max", "spread", "sd", "distinct"])
def test_empty_cells_leave_a_stat_unresolved(tmp_path, name):
    """A missing value is not passed over in silence: the mean of those that are there is the mean of others."""
    found = table(tmp_path, COLUMNS, MINE, stat(name, "cold_us")).read()["x"]
    assert (found.value, found.reason) == (None, "cold_us is empty in 1 of 3 records of mine")


def test_records_with_a_value_can_be_chosen(tmp_path):
    """An empty number fits no comparison, so `where` leaves it out."""
    assert table(tmp_path, COLUMNS, MINE, stat("mean", "cold_us", where="cold_us > 0")).read()["x"].value == 8


def test_division_by_zero_in_a_column_is_unresolved(tmp_path):
    """A column's expression that has no value leaves the reading without one, with the reason."""
    found = table(tmp_path, COLUMNS, MINE, stat("mean", "us / (n - 2)")).read()["x"]
    assert (found.value, found.reason) == (None, "a division by zero in us / (n - 2)")


@pytest.mark.parametrize(
    ("declaration", "said"),
    [
        (stat("mean", "name"), "mean of name, which holds no numbers"),
        (stat("spread", "at"), "spread of at, which holds no numbers"),
        (stat("max", "name", scale=100), "scale of name, which holds no numbers"),
        (stat("share", "us"), "share of us, which is not true or false; expected a condition"),
        (stat("mean", ""), "mean of nothing; expected a column"),
        (stat("mean", "su"), "table mine: there is no column 'su'; expected one of name, n, us,"),
        (stat("mean", "barr"), "or a constant of the plan. Did you mean bar?"),
        (stat("count", "", where="su > 1"), "there is no column 'su'"),
        (stat("count", "", where="us"), "table mine: 'us' is no condition"),
        (stat("count", "", where="name == 1"), "it compares a number with a text"),
        (stat("count", "", where="us >"), "not an expression"),
        (stat("count", "", table="mien"), "table 'mien' is not there; expected one of mine. Did you mean mine?"),
        (stat("count", "", each=["nmae"]), "there is no column 'nmae' to tell a family apart"),
    ],
)
def test_stat_that_makes_no_sense_is_refused(tmp_path, declaration, said):
    """A declaration that cannot mean anything is an error and not an unresolved reading."""
    found = refusal(table(tmp_path, COLUMNS, MINE, declaration))
    assert found.startswith("plan.toml: reading x: ") and said in found


# ---- families


def test_family_has_a_member_for_each_value(tmp_path):
    """`each` makes a reading for every value, in the order of the records, over that value's records."""
    found = table(tmp_path, COLUMNS, MINE, stat("sum", id="x.{name}", each=["name"])).read()
    assert {name: found[name].value for name in found if name.startswith("x.")} == {"x.a": 1.5, "x.b": 9.0}


def test_family_over_two_columns(tmp_path):
    """Members are told apart by several columns, in the order in which the id names them."""
    found = table(tmp_path, COLUMNS, MINE, stat("count", "", id="x.{ok}.{name}", each=["name", "ok"])).read()
    assert [name for name in found if name.startswith("x.")] == ["x.True.a", "x.False.b", "x.True.b"]


@pytest.mark.parametrize("made_from", ["vllm.persistent_topk", "torch.topk(sorted)", "a b", "é", "x-1"])
def test_value_becomes_one_part_of_an_id(made_from):
    """Dots, brackets and spaces of a value do not make further parts of the id."""
    assert slug(made_from).replace("_", "").isalnum()


def test_two_values_with_one_id_are_refused(tmp_path):
    """Values that would share an id are not mixed up."""
    text = "name,us\na-b,1\na_b,2\n"
    said = refusal(table(tmp_path, {"name": "text", "us": "number"}, text, stat("sum", id="x.{name}", each=["name"])))
    assert "reading x.a_b: the id stands twice" in said


@pytest.mark.parametrize("name", ["x", "x.{nmae}", "x.{0}", "x.{name.__class__}", "x.{name!r}", "x.{name"])
def test_family_id_names_its_columns(tmp_path, name):
    """An id of a family names the columns of `each` in braces, and nothing else."""
    said = refusal(table(tmp_path, COLUMNS, MINE, stat("sum", id=name, each=["name"])))
    assert "expected {name}, which tell its members apart" in said


def test_family_over_empty_cells_is_refused(tmp_path):
    """A record that belongs to no member would be lost, so it is not passed over."""
    said = refusal(table(tmp_path, COLUMNS, MINE, stat("count", "", id="x.{cold_us}", each=["cold_us"])))
    assert "table mine: cold_us is empty in 1 of 3 records" in said


# ---- arms over rows


def test_saving_is_positive_where_the_arm_is_faster(tmp_path):
    """The yardstick's mean row minus the arm's mean row."""
    assert reading(tmp_path, SAVING).value == pytest.approx(14.4 - 14.0)


def test_drift_is_positive_where_the_arm_is_slower(tmp_path):
    """The arm's mean row minus the reference's."""
    assert reading(tmp_path, DRIFT | {"arm": "rs8"}).value == pytest.approx(14.0 - 14.4)


def test_saving_carries_its_interval(tmp_path):
    """A saving has ends, standard error, spread, degrees of freedom, count and level."""
    found = reading(tmp_path, SAVING)
    assert set(found.aspects) == {"lo", "hi", "se", "sd", "df", "n", "level"}
    assert found.aspects["lo"] < found.value < found.aspects["hi"]
    assert (found.aspects["df"], found.aspects["n"], found.aspects["level"]) == (3, 5, 95)


def test_level_is_the_plans(tmp_path):
    """The constant interval.level sets the level of every interval, and is kept with it."""
    wide, narrow = (
        reading(tmp_path, SAVING, head=HEAD + constant("interval.level", level) if level != 95 else HEAD)
        for level in (95, 80)
    )
    assert narrow.aspects["level"] == 80
    assert wide.aspects["lo"] < narrow.aspects["lo"] and narrow.aspects["hi"] < wide.aspects["hi"]


def test_slopes_shift_draws_to_the_matching_point(tmp_path):
    """A draw with longer drafts is taken down along the slope: ms minus slope times tokens above the point."""
    part = served(tmp_path, SAVING, SAVING | {"id": "saving.high", "slope": "high"})
    for name in ("r2", "r3"):
        part.set_row(name, 14.0, tokens_per_step=3.8)
    found = part.read()
    assert [found[f"saving.{slope}"].value for slope in ("low", "high")] == pytest.approx([0.44, 0.46])


def test_difference_takes_any_column_of_the_rows(tmp_path):
    """A difference of model time is the arm's mean row minus the other's, without matching."""
    keys = {"id": "gap", "kind": "difference", "arm": "yardstick", "against": "rs8", "column": "model_time_s"}
    assert reading(tmp_path, keys).value == pytest.approx(0.4)


def test_row_value_is_the_mean_of_its_draws_whatever_their_length(tmp_path):
    """A draw with many steps weighs in its row as much as one with few."""
    part = served(tmp_path, SAVING)
    for one, steps in ((d, 1000 if d["draw"] == 1 else 3000) for d in part.draws if d["row"] == "r2"):
        one.update(verify_steps=steps, tokens=steps * 3.7 // 1 + 0, step_time_ms=steps * (13.92 + 0.1 * one["draw"]))
        one.update(tokens=int(steps * 37 // 10), model_time_s=100)
    value = {
        "id": "x",
        "kind": "stat",
        "table": "row_values",
        "where": "row == 'r2'",
        "column": "step_ms",
        "stat": "value",
    }
    part.readings = [value]
    assert part.read()["x"].value == pytest.approx((14.02 + 14.12) / 2)


def test_power_share_is_of_the_samples_above_the_floor(tmp_path):
    """The share of a row: samples at or above the floor with the cap engaged, over samples at or above the floor."""
    share = {"id": "x", "kind": "stat", "table": "row_values", "where": "row == 'r1'", "column": "power_share"}
    part = served(tmp_path, share | {"stat": "value"})
    assert part.read()["x"].value == 0.5
    part.power += [sample("r1", 50, 250.0, False), sample("r1", 51, 249.9, True)]
    assert part.read()["x"].value == pytest.approx(2 / 5)


def test_row_without_busy_samples_leaves_shares_unresolved(tmp_path):
    """A row whose power was not sampled is not passed over when the least share is taken."""
    part = served(tmp_path, {"id": "x", "kind": "stat", "table": "row_values", "column": "power_share", "stat": "min"})
    part.power = [one for one in part.power if one["row"] != "r2"]
    assert part.read()["x"].reason == "power_share is empty in 1 of 7 records of row_values"
    part.readings = [{"id": "x", "kind": "difference", "arm": "rs8", "against": "old", "column": "power_share"}]
    assert part.read()["x"].reason == "1 of 4 rows have no value"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"arm": "rs9"}, "arm is 'rs9'; expected one of yardstick, old, rs8. Did you mean rs8?"),
        (
            {"against": "yardstik"},
            "against is 'yardstik'; expected one of yardstick, old, rs8. Did you mean yardstick?",
        ),
        ({"slope": "lwo"}, "slope is 'lwo'; expected one of low, high. Did you mean low?"),
    ],
)
def test_unknown_arm_or_slope_is_refused(tmp_path, changed, said):
    """A misspelt arm is no arm without rows."""
    assert said in refusal(served(tmp_path, SAVING | changed))


def test_slope_without_matching_is_refused(tmp_path):
    """A saving needs the plan's matching."""
    head = HEAD.replace('[matching]\nat = "match.at"\nslopes = { low = "slope.low", high = "slope.high" }\n', "")
    assert "slope is 'low'; expected one of none yet" in refusal(served(tmp_path, SAVING, head=head))


def test_arm_whose_name_has_a_quote_is_an_arm(tmp_path):
    """An arm may be called anything."""
    part = served(tmp_path, SAVING | {"arm": "rs'8"}, head=HEAD.replace("[arms.rs8]", '[arms."rs\'8"]'))
    part.head = part.head.replace('"rs8", "rs8"', '"rs\'8", "rs\'8"')
    part.rows = [r | {"arm": r["arm"].replace("rs8", "rs'8")} for r in part.rows]
    assert part.read()["saving.low"].value == pytest.approx(0.4)


# ---- paired

PAIRS = {"lever": "text", "at": "integer?", "calls": "integer", "served_us": "number", "changed_us": "number"}
PAIRED = {"id": "x", "kind": "paired", "table": "mine"}
WEIGHTED = PAIRED | {"weight_table": "mix", "weight": "steps", "on": "at"}


def pairs(folder, records: str, declaration: dict, mix: str = "") -> object:
    part = table(folder, PAIRS, "lever,at,calls,served_us,changed_us\n" + records, declaration)
    if mix:
        part.head += '[tables.mix]\nfile = "mix.csv"\ncolumns = { at = "integer", steps = "integer" }\n'
        part.more["mix.csv"] = "at,steps\n" + mix
    return part.read()["x"]


def test_paired_saving_is_milliseconds_per_step(tmp_path):
    """Served minus changed, times the calls of a step, in ms, with a t interval over the pairs."""
    found = pairs(tmp_path, "f,,4,30,20\nf,,4,32,20\ng,,4,99,20\n", PAIRED | {"where": "lever == 'f'"})
    assert found.value == pytest.approx(0.044)
    assert (found.aspects["n"], found.aspects["df"], found.aspects["level"]) == (2, 1, 95)


def test_weighted_saving_is_the_mean_over_the_mix(tmp_path):
    """With weights the saving is the mean at the mix, and has no interval."""
    found = pairs(tmp_path, "f,1,1,3000,1000\nf,2,1,5000,1000\n", WEIGHTED, "1,300\n2,100\n")
    assert found.value == pytest.approx((2 * 3 + 4) / 4)
    assert dict(found.aspects) == {"n": 2}


def test_repeats_at_one_place_weigh_once(tmp_path):
    """A place that was timed twice counts with its mean and its weight, not by how often it was timed."""
    found = pairs(tmp_path, "f,1,1,3000,1000\nf,1,1,5000,1000\nf,2,1,5000,1000\n", WEIGHTED, "1,300\n2,100\n")
    assert (found.value, found.aspects["n"]) == (pytest.approx((3 * 3 + 4) / 4), 3)


@pytest.mark.parametrize(
    ("records", "mix", "reason"),
    [
        ("f,1,1,3,1\nf,3,1,5,1\n", "1,300\n2,100\n", "mix has no at 3"),
        ("f,1,1,3,1\n", "1,300\n2,100\n", "no timing at at 2, which has a weight"),
        ("f,1,1,3,1\nf,,1,5,1\n", "1,300\n2,100\n", "at is empty in 1 records of mine"),
        ("f,1,1,3,1\nf,2,1,5,1\n", "1,300\n1,200\n2,100\n", "mix has at 1 more than once"),
        ("f,1,1,3,1\nf,2,1,5,1\n", "1,0\n2,0\n", "need at least one value with a weight above zero"),
        ("f,1,1,3,1\nf,2,1,5,1\n", "1,5\n2,-1\n", "a weight is below zero"),
    ],
)
def test_weights_fit_the_timings(tmp_path, records, mix, reason):
    """Every timing has one weight and every weight a timing, or the saving is unresolved."""
    found = pairs(tmp_path, records, WEIGHTED, mix)
    assert (found.value, found.reason) == (None, reason)


@pytest.mark.parametrize(
    ("declaration", "reason"),
    [
        (PAIRED | {"where": "lever == 'g'"}, "no record of mine where lever == 'g'"),
        (PAIRED | {"where": "calls / 0 > 1"}, "a division by zero in calls / 0 > 1"),
        (PAIRED | {"value": "served_us / (changed_us - 20)"}, "a division by zero in served_us / (changed_us - 20)"),
        (PAIRED, "the pairs do not vary, so no interval can be given"),
    ],
)
def test_paired_saving_without_pairs_is_unresolved(tmp_path, declaration, reason):
    """No pairs, no variation or no value: no saving, and the reason."""
    found = pairs(tmp_path, "f,,4,30,20\nf,,4,30,20\n", declaration)
    assert (found.value, found.reason) == (None, reason)


def test_weights_of_a_column_that_is_not_there_are_refused(tmp_path):
    """A misspelt weight is an error."""
    with pytest.raises(ReadingError, match=r"table mix: there is no column 'step'.*Did you mean steps\?"):
        pairs(tmp_path, "f,1,1,3,1\n", WEIGHTED | {"weight": "step"}, "1,3\n")


def test_count_of_a_member_without_records_is_zero(tmp_path):
    """A family of counts has a member for every value of its column, also where no record fits."""
    part = table(tmp_path, COLUMNS, MINE, stat("count", "", id="x.{name}", each=["name"], where="us > 2"))
    found = part.read()
    assert (found["x.a"].value, found["x.b"].value) == (0, 2)


# ---- ratio

RATIO = {"id": "x", "kind": "ratio", "table": "mine", "column": "us", "among": "kernel", "pair": ["run"]}
SIDES = {"top": "kernel == 'ours'", "bottom": "kernel != 'ours'"}


def ratios(folder, records: str, **keys: object):
    part = table(folder, TIMINGS, "run,kernel,rows,us\n" + records, RATIO | SIDES | keys)
    return part.read()


def test_ratio_is_to_the_fastest_competitor_of_the_same_run(tmp_path):
    """Each pair divides by the least of its own run, never by that of another; the median of pairs is the reading."""
    records = "1,ours,4,10\n1,a,4,5\n1,b,4,20\n2,ours,4,30\n2,a,4,10\n3,ours,4,8\n3,b,4,2\n"
    found = ratios(tmp_path, records)["x"]
    assert (found.value, found.aspects["lo"], found.aspects["hi"], found.aspects["n"]) == (3, 2, 4, 3)


def test_runs_with_one_side_make_no_pair(tmp_path):
    """A run that measured only one side takes no part."""
    found = ratios(tmp_path, "1,ours,4,10\n1,a,4,5\n2,ours,4,1\n3,a,4,1\n")["x"]
    assert (found.value, found.aspects["n"]) == (2, 1)


def test_repeats_of_a_run_count_as_their_median(tmp_path):
    """Several times of one kernel in one run are one time, their median, on both sides."""
    records = "1,ours,4,10\n1,ours,4,12\n1,ours,4,99\n1,a,4,1\n1,a,4,6\n1,a,4,7\n1,b,4,9\n"
    assert ratios(tmp_path, records)["x"].value == 2


@pytest.mark.parametrize(("name", "expected"), [("median", 2.5), ("min", 2), ("max", 3), ("count", 2)])
def test_ratio_stats(tmp_path, name, expected):
    """Over the pairs: their median, least, greatest or number."""
    assert ratios(tmp_path, "1,ours,4,10\n1,a,4,5\n2,ours,4,30\n2,a,4,10\n", stat=name)["x"].value == expected


def test_ratio_families_keep_settings_apart(tmp_path):
    """`each` compares equal numbers of rows alone; `members` gives each kernel of the top readings of its own."""
    records = "1,p1,4,10\n1,p2,4,20\n1,a,4,5\n1,p1,8,40\n1,a,8,10\n"
    keys = {"id": "x.{kernel}.{rows}", "members": ["kernel"], "each": ["rows"]}
    found = ratios(tmp_path, records, top="kernel in ['p1', 'p2']", bottom="kernel == 'a'", **keys)
    assert {n: found[n].value for n in found if n.startswith("x.")} == {"x.p1.4": 2, "x.p2.4": 4, "x.p1.8": 4}


def test_winner_keeps_the_least_member_and_names_it(tmp_path):
    """With `winner` the members compete in each setting; n of the name is how many did."""
    records = "1,p.1,4,10\n1,p.2,4,20\n1,a,4,5\n1,p.1,8,40\n1,p.2,8,30\n1,a,8,10\n"
    keys = {"id": "x.{rows}", "winner": "name.{rows}", "members": ["kernel"], "each": ["rows"]}
    found = ratios(tmp_path, records, top="kernel in ['p.1', 'p.2']", bottom="kernel == 'a'", **keys)
    told = {n: found[n].value for n in found if n.startswith(("x.", "name."))}
    assert told == {"x.4": 2, "name.4": "p.1", "x.8": 3, "name.8": "p.2"}
    assert found["name.4"].aspects["n"] == 2


def test_winner_without_members_is_refused(tmp_path):
    """Nothing competes where nothing tells members apart."""
    with pytest.raises(ReadingError, match="winner names no member"):
        ratios(tmp_path, "1,ours,4,10\n1,a,4,5\n", winner="name")


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ("1,ours,4,10\n2,a,4,5\n", "no record of one side was measured together with one of the other"),
        ("1,a,4,5\n", "no record of one side was measured together with one of the other"),
        ("1,ours,4,10\n1,a,4,0\n", "a time below the line is not above zero"),
    ],
)
def test_ratio_without_pairs_is_unresolved(tmp_path, records, reason):
    """Without a pair, or with nothing to divide by, there is no ratio."""
    found = ratios(tmp_path, records)["x"]
    assert (found.value, found.reason) == (None, reason)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"column": "kernel"}, "kernel holds no numbers"),
        ({"column": "su"}, "there is no column 'su'"),
        ({"pair": ["rnu"]}, "there is no column 'rnu'"),
        ({"among": "kernle"}, "there is no column 'kernle'"),
        ({"pair": []}, "pair: found []; expected at least 1 of them"),
    ],
)
def test_ratio_that_makes_no_sense_is_refused(tmp_path, keys, said):
    """Columns that do not exist, or that hold no times, are refused."""
    from campaign.kernels.errors import CampaignError

    with pytest.raises(CampaignError) as refused:
        ratios(tmp_path, "1,ours,4,10\n1,a,4,5\n", **keys)
    assert said in str(refused.value)


@repeatable
@given(st.permutations(range(6)))
def test_order_of_timings_changes_no_ratio(tmp_path_factory, order):
    """The lines of the timings may stand in any order."""
    lines = ["1,ours,4,10", "1,a,4,5", "1,b,4,4", "2,ours,4,30", "2,a,4,10", "2,ours,4,32"]
    records = "\n".join(lines[place] for place in order) + "\n"
    assert ratios(tmp_path_factory.mktemp("r"), records)["x"].value == (10 / 4 + 31 / 10) / 2
