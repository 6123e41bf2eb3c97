"""The plan: what a person may type, and how a slip is told."""

import datetime
from pathlib import Path

import pytest
from tests.served import HEAD, constant, served

from campaign.engine.errors import PlanError
from campaign.engine.plan import Plan, read_plan
from campaign.kernels.errors import CampaignError

SHORT = 'about = "A part"\n' + constant("bar", 1)
ARMS = '[arms.old]\nlabel = "served kernel"\n'
ORDER = f'{ARMS}[rows]\norder = ["old"]\ndraws = 3\n'
RULE = '[verdict]\nreading = "saving"\n'
SHOWN = "parts/part-5/plan.toml"


def plan(folder: Path, text: str | bytes) -> Plan:
    path = folder / "plan.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_plan(path, SHOWN)


def refusal(folder: Path, text: str | bytes) -> str:
    """The message with which the plan is refused, without the file's name in front of it."""
    with pytest.raises(PlanError) as refused:
        plan(folder, text)
    said = str(refused.value)
    assert said.startswith(f"{SHOWN}: ")
    return said.removeprefix(f"{SHOWN}: ")


def test_whole_plan_is_read(tmp_path):
    """A plan's arms, order, bounds and tables come out as they were typed."""
    found = served(tmp_path).plan()
    assert found.arms["yardstick"].earlier == datetime.date(2026, 11, 5)
    assert found.rows.order == ["old", "rs8", "rs8", "old"]
    assert [band.at_least for band in found.verdict.bands] == ["bar", None, None]
    assert found.table("rows")[1].key == ("row",)


def test_plan_may_begin_with_a_byte_order_mark(tmp_path):
    """A plan that an editor saved with a byte order mark is read."""
    assert plan(tmp_path, b"\xef\xbb\xbf" + SHORT.encode()).about == "A part"


# ---- unknown keys


@pytest.mark.parametrize(
    ("text", "where", "near"),
    [
        ('abuot = "x"\n' + SHORT, "abuot", "about"),
        (f'{SHORT}[[readings]]\nid = "a"', "readings", "reading"),
        (f'{SHORT}[question]\ntext = "q"\nauthr = "a"', "question.authr", "author"),
        (f'{SHORT}[constants.x]\nvalue = 1\nbecause = "b"\nunits = "ms"', "constants.x.units", "unit"),
        (f'{SHORT}[arms.old]\nlable = "x"', "arms.old.lable", "label"),
        (f'{SHORT}{ARMS}[rows]\norder = ["old"]\ndraw = 3', "rows.draw", "draws"),
        (f'{SHORT}[matching]\nat = "bar"\nslope = {{ low = "bar" }}', "matching.slope", "slopes"),
        (f'{SHORT}[power]\nflor = "bar"', "power.flor", "floor"),
        (f"{SHORT}{RULE}band = []", "verdict.band", "bands"),
        (f'{SHORT}{RULE}bands = [{{ verdict = "a", at_leats = "bar" }}]', "verdict.bands[0].at_leats", "at_least"),
        (
            f'{SHORT}{RULE}bands = [{{ verdict = "a" }}]\nguards = [{{ name = "g", verdict = "held", whne = "x" }}]',
            "verdict.guards[0].whne",
            "when",
        ),
        (f'{SHORT}[tables.mine]\nfiel = "x.csv"\ncolumns = {{ a = "text" }}', "tables.mine.fiel", "file"),
        (f'{SHORT}[tables.mine]\nfile = "x.csv"\ncolums = {{ a = "text" }}', "tables.mine.colums", "columns"),
    ],
)
def test_unknown_key_is_refused_with_the_nearest(tmp_path, text, where, near):
    """At every level an unknown key is refused with its place, the known keys and the nearest of them."""
    said = refusal(tmp_path, text)
    assert said.startswith(f"{where}: unknown key; expected one of ")
    assert said.endswith(f" Did you mean {near}? Correct or remove it.")


def test_dotted_id_without_quotes_is_understood(tmp_path):
    """`[constants.x.y]` is told to become `[constants."x.y"]`."""
    said = refusal(tmp_path, f'{SHORT}[constants.x.y]\nvalue = 1\nbecause = "b"')
    assert 'Did you mean [constants."x.y"]? An id with dots stands in quotes.' in said


# ---- missing and wrong values


@pytest.mark.parametrize(
    ("text", "where", "found", "among"),
    [
        (constant("bar", 1), "about", "constants", "about, question,"),
        (f'{SHORT}[question]\ntext = "q"', "question.author", "text", "text, author, rule_reader"),
        (f"{SHORT}[constants.x]\nvalue = 1", "constants.x.because", "value", "value, unit, print, because"),
        (f'{SHORT}{ARMS}[rows]\norder = ["old"]', "rows.draws", "order", "order, draws, looks"),
        (f'{SHORT}[verdict]\nbands = [{{ verdict = "a" }}]', "verdict.reading", "bands", "reading, bands, guards"),
        (f'{SHORT}{RULE}bands = [{{ above = "bar" }}]', "verdict.bands[0].verdict", "above", "verdict, at_least"),
        (f'{SHORT}[tables.mine]\nfile = "x.csv"', "tables.mine.columns", "file", "file, key, columns"),
    ],
)
def test_missing_field_is_named(tmp_path, text, where, found, among):
    """A field that must be given is named with those that stand beside it."""
    said = refusal(tmp_path, text)
    assert said.startswith(f"{where}: missing; found {found}; expected it among {among}")
    assert said.endswith("Add it.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("about = 3", "about: found 3; expected a text."),
        ('about = ""', "about: found ''; expected a text that is not empty."),
        (f"{SHORT}{ARMS}[rows]\norder = []\ndraws = 3", "rows.order: found []; expected at least 1 of them."),
        (f'{SHORT}{ARMS}[rows]\norder = ["old", 3]\ndraws = 3', "rows.order[1]: found 3; expected a text."),
        (f'{SHORT}{ARMS}[rows]\norder = ["old"]\ndraws = 0', "rows.draws: found 0; expected at least 1."),
        (f'{SHORT}{ARMS}[rows]\norder = ["old"]\ndraws = "3"', "rows.draws: found '3'; expected a whole number."),
        (f'{SHORT}{ARMS}[rows]\norder = ["old"]\ndraws = 3.0', "rows.draws: found 3.0; expected a whole number."),
        (f'{SHORT}{ARMS}earlier = "5 May"', "arms.old.earlier: found '5 May'; expected a date, as 2026-11-06."),
        (f"{SHORT}{RULE}bands = []", "verdict.bands: found []; expected at least 1 of them."),
        (f'{SHORT}{RULE}bands = ["a"]', "verdict.bands[0]: found 'a'; expected a table of keys and values."),
        (f"{SHORT}{RULE}bands = {{}}", "verdict.bands: found {}; expected a list in [ ]."),
        (
            f'{SHORT}{RULE}bands = [{{ verdict = "a", at_least = 0.155 }}]',
            "verdict.bands[0].at_least: found 0.155; expected an id: words joined by dots, as saving.low.",
        ),
        (
            f'{SHORT}{RULE}bands = [{{ verdict = "a" }}]\nguards = [{{ name = "g", verdict = "hold", when = "x" }}]',
            "verdict.guards[0].verdict: found 'hold'; expected 'held' or 'confounded'. Did you mean held?",
        ),
        (f"{SHORT}[tables]\nrows = 3", "tables.rows: found 3; expected a text or a table of keys and values."),
        (
            f'{SHORT}[tables.mine]\nfile = "x.csv"\ncolumns = {{ a = 3 }}',
            "tables.mine.columns.a: found 3; expected a text.",
        ),
        (
            f'{SHORT}[tables.mine]\nfile = "x.csv"\nkey = "a"\ncolumns = {{ a = "text" }}',
            "tables.mine.key: found 'a'; expected a list in [ ].",
        ),
        (f"{SHORT}[constants]\nx = 1", "constants.x: found 1; expected a table of keys and values."),
        (f'{SHORT}[constants."a b"]\nvalue = 1\nbecause = "b"', "constants.a b: found 'a b'; expected an id:"),
        (f'{SHORT}[matching]\nat = "bar"\nslopes = {{}}', "matching.slopes: found {}; expected at least 1 of them."),
        (f'{SHORT}[reading]\nid = "a"', "reading: found {'id': 'a'}; expected a list in [ ]."),
        (f'{SHORT}[[reading]]\nkind = "expr"', "reading[0].id: found None; expected an id, as saving.low."),
        (f'{SHORT}[[reading]]\nid = ["a"]', "reading[0].id: found ['a']; expected an id, as saving.low."),
    ],
)
def test_wrong_value_is_told_in_our_words(tmp_path, text, said):
    """A wrong value is told with its place, what was found and what was expected."""
    text = text.replace(f"{SHORT}[constants]", 'about = "A part"\n[constants]')
    assert refusal(tmp_path, text).startswith(said)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "true", "[1]", "2026-11-06"])
def test_constant_is_a_finite_number_or_a_text(tmp_path, value):
    """A constant that is NaN, infinite, a flag, a list or a date is refused."""
    said = refusal(tmp_path, f'{SHORT}[constants.x]\nvalue = {value}\nbecause = "b"')
    assert said.startswith("constants.x.value: found ") and "number or a text. Correct it." in said


@pytest.mark.parametrize("level", [0, 100, -5, 1000])
def test_interval_level_is_a_percentage(tmp_path, level):
    """The level of the intervals lies between 0 and 100."""
    said = refusal(tmp_path, SHORT + constant("interval.level", level))
    assert said.startswith(f"constants.interval.level: found {level}; expected percent above 0 and below 100")


# ---- names that lead nowhere


@pytest.mark.parametrize(
    ("text", "where", "name"),
    [
        ('[matching]\nat = "baz"\nslopes = { low = "bar" }', "matching.at", "baz"),
        ('[matching]\nat = "bar"\nslopes = { low = "baz" }', "matching.slopes.low", "baz"),
        ('[power]\nfloor = "baz"', "power.floor", "baz"),
    ],
)
def test_constant_that_does_not_exist_is_refused(tmp_path, text, where, name):
    """Matching and power name constants that the plan has."""
    said = refusal(tmp_path, SHORT + text)
    assert said.startswith(f"{where}: names {name}, which is no constant; expected one of bar. Did you mean bar?")


@pytest.mark.parametrize("text", ['[matching]\nat = "w"\nslopes = { low = "bar" }', '[power]\nfloor = "w"'])
def test_constant_to_compute_with_is_a_number(tmp_path, text):
    """A constant to which draws are shifted, or that is a floor, is no word."""
    assert "the constant w is 'word'; expected a number" in refusal(tmp_path, SHORT + constant("w", "word") + text)


def test_arm_that_does_not_exist_is_refused(tmp_path):
    """The order of rows names arms that the plan has."""
    said = refusal(tmp_path, SHORT + ORDER.replace('["old"]', '["odl"]'))
    assert said.startswith("rows.order: names the arm odl; expected one of old. Did you mean old?")


def test_order_without_arms_is_refused(tmp_path):
    """An order of rows needs arms."""
    assert "expected one of none yet" in refusal(tmp_path, SHORT + ORDER.removeprefix(ARMS))


def test_earlier_arm_cannot_be_ordered(tmp_path):
    """An arm whose rows ran before the plan is in no order of rows."""
    said = refusal(tmp_path, HEAD.replace('order = ["old",', 'order = ["yardstick",'))
    assert said.startswith("rows.order: names the arm yardstick, whose rows ran earlier")


def test_unknown_table_without_columns_is_refused(tmp_path):
    """A table given by its file alone is one that the program knows."""
    said = refusal(tmp_path, f'{SHORT}[tables]\nrosw = "data/rows.csv"')
    assert said.startswith("tables.rosw: gives only a file") and "Did you mean rows?" in said


def test_bad_column_type_names_the_plan(tmp_path):
    """A column type that does not exist is refused with the plan's path."""
    said = refusal(tmp_path, f'{SHORT}[tables.mine]\nfile = "x.csv"\ncolumns = {{ a = "nubmer" }}')
    assert said.startswith("tables: table mine: column a has the type 'nubmer'") and "Did you mean number?" in said


# ---- bands


def test_band_with_two_bounds_is_refused(tmp_path):
    """A band has one bound at most."""
    said = refusal(tmp_path, f'{SHORT}{RULE}bands = [{{ verdict = "a", at_least = "bar", above = "bar" }}]')
    assert said.startswith("verdict.bands[0]: a has at_least and above; expected at most one.")


def test_band_below_one_without_a_bound_is_refused(tmp_path):
    """A band that nothing can reach is refused."""
    said = refusal(tmp_path, f'{SHORT}{RULE}bands = [{{ verdict = "a" }}, {{ verdict = "b", above = "bar" }}]')
    assert said.startswith("verdict.bands[0]: a has no bound, so the bands below it are never reached")


def test_negative_verdict_is_one_of_the_bands(tmp_path):
    """A misspelt negative verdict would let a guard hide a roll-back, so it is refused."""
    rule = f'{RULE}bands = [{{ verdict = "rolled back" }}]\nnegative = ["roled back"]'
    said = refusal(tmp_path, SHORT + rule)
    assert said.startswith("verdict.negative: names 'roled back', which no band gives")
    assert "Did you mean rolled back?" in said


# ---- things said twice


def test_reading_declared_twice_is_refused(tmp_path):
    """Each id stands once."""
    said = refusal(tmp_path, f'{SHORT}[[reading]]\nid = "a"\n[[reading]]\nid = "a"')
    assert said == "reading a: the id stands twice; expected each id once. Rename one."


def test_reading_named_like_a_constant_is_refused(tmp_path):
    """A reading and a constant do not share an id."""
    assert refusal(tmp_path, f'{SHORT}[[reading]]\nid = "bar"').startswith("reading bar: the id stands twice")


def test_key_given_twice_is_refused(tmp_path):
    """A key that stands twice in a table is no TOML."""
    assert refusal(tmp_path, 'about = "a"\nabout = "b"').startswith("not TOML: ")


# ---- files


@pytest.mark.parametrize("content", [b"about =", b"about", b"about = '\xff'", b"\x00", b"[a\nb = 1"])
def test_what_is_no_toml_is_refused(tmp_path, content):
    """A file that is no TOML is refused with its name and what to do."""
    said = refusal(tmp_path, content)
    assert said.startswith("not TOML: ") and said.endswith("; expected a file of keys and values. Correct it.")


def test_missing_plan_is_refused(tmp_path):
    """A plan that is not there is refused, with the command that makes one."""
    with pytest.raises(PlanError, match=r"plan\.toml: there is no such file; expected one\. `notes new` makes"):
        read_plan(tmp_path / "plan.toml", SHOWN)


def test_folder_is_no_plan(tmp_path):
    """A folder where the plan should be is refused."""
    with pytest.raises(PlanError, match=r"plan\.toml: cannot be read: .*; expected a file"):
        read_plan(tmp_path, SHOWN)


# ---- declarations, which are read where they are computed


@pytest.mark.parametrize(
    ("declaration", "said"),
    [
        ({"id": "a"}, "kind is missing; expected one of stat, saving,"),
        ({"id": "a", "kind": "sta"}, "kind is 'sta'; expected one of stat, saving,"),
        ({"id": "a", "kind": ["stat"]}, "kind is ['stat']; expected one of"),
        (
            {"id": "a", "kind": "expr"},
            "expr: missing; found id, kind; expected it among id, unit, print, because, kind",
        ),
        ({"id": "a", "kind": "expr", "exrp": "1"}, "exrp: unknown key; expected one of"),
        ({"id": "a", "kind": "choice", "cases": []}, "cases: found []; expected at least 1 of them."),
        (
            {"id": "a", "kind": "choice", "cases": [{"wrod": "x"}]},
            "cases[0].wrod: unknown key; expected one of when, word. Did you mean word?",
        ),
        (
            {"id": "a", "kind": "stat", "table": "rows", "stat": "avg"},
            "stat: found 'avg'; expected 'count', 'sum', 'mean', 'median'",
        ),
        (
            {"id": "a", "kind": "stat", "table": "rows", "stat": "median", "scale": "2"},
            "scale: found '2'; expected a number.",
        ),
        (
            {"id": "a", "kind": "paired", "weight_table": "context_mix"},
            "found {'id': 'a', 'kind': 'paired', 'weight_table': 'context_mix'}; expected weight_table, weight and on",
        ),
    ],
)
def test_wrong_declaration_is_told_with_its_id(tmp_path, declaration, said):
    """A slip in a reading's declaration names the plan, the reading and the key."""
    with pytest.raises(CampaignError) as refused:
        served(tmp_path, declaration).read()
    assert str(refused.value).startswith(f"plan.toml: reading a: {said}")
