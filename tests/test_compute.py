"""A part's readings from its plan and data: expressions, choices, families, and what has no value."""

import pytest
from tests.served import DRIFT, FAILED, HEAD, SAVING, VERDICT, constant, reading, row, served, table

from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Reading, Readings, match_ids
from campaign.engine.plan import Plan

ROW = {"id": "row.{row}", "kind": "stat", "table": "row_values", "each": ["row"], "column": "step_ms", "stat": "value"}
NOTHING = {"id": "nothing", "kind": "stat", "table": "draws", "where": "draw > 9", "column": "passes", "stat": "mean"}


def expr(text: str, name: str = "x", **keys: object) -> dict:
    return {"id": name, "kind": "expr", "expr": text, **keys}


def choice(*cases: tuple[str, str], name: str = "x", **keys: object) -> dict:
    said = [{"when": when, "word": word} if when else {"word": word} for when, word in cases]
    return {"id": name, "kind": "choice", "cases": said, **keys}


def refusal(part) -> str:
    with pytest.raises(ReadingError) as refused:
        part.read()
    return str(refused.value)


# ---- expressions and choices


def test_expression_uses_what_stands_above(tmp_path):
    """An expression computes with readings, their aspects and constants."""
    found = reading(tmp_path, SAVING, expr("saving.low.lo + saving.low.n * bar - saving.low.lo"))
    assert found.value == pytest.approx(5 * 0.155)


def test_expression_keeps_its_operands(tmp_path):
    """A reading says what it was computed from, with the values, wildcards spelt out."""
    found = reading(tmp_path, SAVING, SAVING | {"id": "saving.high"}, expr("min(saving.*) - bar"))
    assert [name for name, _ in found.operands] == ["saving.low", "saving.high", "bar"]
    assert found.operands[2] == ("bar", 0.155)
    assert found.formula == "min(saving.*) - bar"


@pytest.mark.parametrize("text", ["bar * 2", "min(bar, zero)", "len(slope.*)", "2 + 2", "all(slope.* > zero)"])
def test_expression_of_constants_alone_is_constant(tmp_path, text):
    """What no data can change has the role of a constant, so that no claim can stand on it alone."""
    assert reading(tmp_path, expr(text)).role == "constant"


def test_constant_stays_constant_through_expressions(tmp_path):
    """An expression over constant expressions is constant too."""
    assert reading(tmp_path, expr("bar / 2", "half"), expr("half + 1")).role == "constant"


def test_choice_that_no_data_can_change_is_constant(tmp_path):
    """A word that depends on constants, or on nothing, is constant."""
    assert reading(tmp_path, choice(("bar > 0", "yes"), ("", "no"))).role == "constant"
    assert reading(tmp_path, choice(("", "faster"))).role == "constant"


def test_expression_of_data_is_a_reading(tmp_path):
    """One operand from the data is enough."""
    assert reading(tmp_path, SAVING, expr("saving.low > bar")).role == "reading"


def test_condition_gives_a_word(tmp_path):
    """The value of a condition is the text true or false."""
    assert reading(tmp_path, expr("bar > 0")).value == "true"
    assert reading(tmp_path, expr("bar < 0")).value == "false"


@pytest.mark.parametrize(("limit", "word"), [(0.1, "large"), (0.4, "small"), (0.5, "small")])
def test_choice_is_the_first_word_that_holds(tmp_path, limit, word):
    """Cases are asked from the top; one without a condition is what remains."""
    cases = choice((f"saving.low > {limit}", "large"), ("saving.low > 0", "small"), ("", "none"))
    assert reading(tmp_path, SAVING, cases).value == word


def test_choice_without_a_fitting_case_is_unresolved(tmp_path):
    """Where no case holds there is no word."""
    found = reading(tmp_path, SAVING, choice(("saving.low > 9", "huge")))
    assert (found.value, found.reason) == (None, "no case of the choice holds")


@pytest.mark.parametrize("when", ["saving.low", "'rs8'", "row.* > 1", "count(row.* > 1)"])
def test_choice_asks_conditions(tmp_path, when):
    """A number, a text or many values are no condition."""
    assert "expected a condition, true or false" in refusal(
        served(tmp_path, SAVING, ROW, choice((when, "x"), ("", "y")))
    )


def test_expression_with_many_values_is_refused(tmp_path):
    """A reading has one value."""
    assert "the expression gives many values; expected one" in refusal(served(tmp_path, ROW, expr("row.* * 2")))


# ---- families of expressions


def test_for_each_makes_a_reading_for_each_id(tmp_path):
    """{0} is what the star stands for, in the id and in the expression."""
    found = served(tmp_path, ROW, expr("row.{0} * 2", "twice.{0}", for_each="row.*")).read()
    assert found["twice.r2"].value == pytest.approx(28.04)
    assert len(found.matching("twice.*")) == 7


def test_choice_for_each_id(tmp_path):
    """A choice has a word for each id that fits."""
    words = choice(("row.{0} < 14.1", "fast"), ("", "slow"), name="word.{0}", for_each="row.*")
    found = served(tmp_path, ROW, words).read()
    assert [found[f"word.{r}"].value for r in ("r1", "r2", "r3", "r4")] == ["slow", "fast", "fast", "slow"]


def test_star_in_the_middle_stands_for_its_part_alone(tmp_path):
    """With a pattern that goes on behind the star, {0} is the part between."""
    declared = [expr("1 * bar", "a.one.n"), expr("2 * bar", "a.two.n"), expr("a.{0}.n * 10", "b.{0}", for_each="a.*.n")]
    found = served(tmp_path, *declared).read()
    assert [found["b.one"].value, found["b.two"].value] == pytest.approx([1.55, 3.1])


@pytest.mark.parametrize(("pattern", "name"), [("row.*", "x"), ("row", "x.{0}"), ("*.*", "x.{0}")])
def test_family_needs_one_star_and_a_place_for_it(tmp_path, pattern, name):
    """A pattern has one star, and the id says where its part goes."""
    said = refusal(served(tmp_path, ROW, expr("1", name, for_each=pattern)))
    assert f"for_each is {pattern!r} and the id {name!r}; expected a pattern with one *" in said


def test_family_of_nothing_is_refused(tmp_path):
    """A pattern that fits no id is a slip."""
    assert "no reading fits 'rwo.*'; expected one declared above" in refusal(
        served(tmp_path, ROW, expr("1", "x.{0}", for_each="rwo.*"))
    )


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("a.*", ["a.b", "a.b.c", "a.d.c"]),
        ("a.*.c", ["a.b.c", "a.d.c"]),
        ("*.b", ["a.b", "z.b"]),
        ("a.b", ["a.b"]),
        ("a", []),
        ("a.b*", []),
    ],
)
def test_star_stands_for_one_part_and_for_several_at_the_end(pattern, fits):
    """A star is one part of an id; at the end it may be several."""
    assert match_ids(pattern, dict.fromkeys(["a.b", "a.b.c", "a.d.c", "z.b", "ab"])) == fits


# ---- ids


def test_unknown_id_is_refused_with_the_nearest(tmp_path):
    """An id that nothing declares is an error."""
    said = refusal(served(tmp_path, SAVING, expr("savin.low + 1")))
    assert said == (
        "plan.toml: reading x: there is no reading 'savin.low'; expected one declared above. "
        "Did you mean saving.low? Correct it."
    )


@pytest.mark.parametrize("text", ["saving.low + 1", "saving.low.lo + 1"])
def test_id_that_is_declared_below_is_told_to_move(tmp_path, text):
    """An expression uses what stands above it, and says so where it does not."""
    said = refusal(served(tmp_path, expr(text), SAVING))
    assert f"reading x: {text.split()[0]} is declared below" in said and said.endswith("Move it up.")


def test_expression_cannot_use_itself(tmp_path):
    """A reading is not its own operand."""
    assert "reading x: x is declared below" in refusal(served(tmp_path, expr("x + 1")))


def test_pattern_that_fits_nothing_is_refused(tmp_path):
    """A wildcard without an id is an error, and no empty sum."""
    assert "no reading fits 'rows.*'" in refusal(served(tmp_path, SAVING, expr("sum(rows.*)")))


def test_family_that_repeats_an_id_is_refused(tmp_path):
    """A member of a family and a reading do not share an id."""
    assert "reading row.r1: the id stands twice" in refusal(served(tmp_path, expr("1", "row.r1"), ROW))


@pytest.mark.parametrize("name", ["a b", "1a", "a.", "a..b", "a-b", "a.{0}"])
def test_id_is_words_joined_by_dots(tmp_path, name):
    """Anything else is no id."""
    assert "not an id; expected words joined by dots" in refusal(served(tmp_path, expr("1", name)))


def test_aspect_that_a_reading_lacks_is_refused(tmp_path):
    """A constant has no interval to quote."""
    assert "reading bar has no lo; expected one of: none" in refusal(served(tmp_path, expr("bar.lo")))


def test_aspect_is_a_reading_of_its_own(tmp_path):
    """An interval's end has the reading's unit and format; a count has none."""
    found = served(tmp_path, SAVING | {"unit": "ms", "print": ".3f"}).read()
    assert (found["saving.low.lo"].unit, found["saving.low.lo"].print) == ("ms", ".3f")
    assert (found["saving.low.n"].unit, found["saving.low.n"].print, found["saving.low.n"].value) == ("", "", 5)
    assert found["saving.low.level"].unit == "%"


# ---- what has no value


@pytest.mark.parametrize(
    "text", ["nothing", "nothing * 0", "1 + nothing", "max(nothing, 1)", "nothing > 0", "0 < 1 or nothing > 0"]
)
def test_unresolved_operand_leaves_an_expression_unresolved(tmp_path, text):
    """A reading over one without value has none either, says which, and is never 0."""
    found = reading(tmp_path, NOTHING, expr(text))
    assert found.value is None
    assert found.reason == "nothing is not resolved: no record of draws where draw > 9"


def test_unresolved_member_leaves_a_wildcard_unresolved(tmp_path):
    """A wildcard with one member without value has no sum."""
    found = reading(tmp_path, expr("bar * 1", "a.one"), NOTHING | {"id": "a.two"}, expr("sum(a.*)"))
    assert (found.value, found.reason[:24]) == (None, "a.two is not resolved: n")


def test_unresolved_operand_leaves_a_choice_unresolved(tmp_path):
    """A choice does not fall to its last word when it cannot ask."""
    found = reading(tmp_path, NOTHING, choice(("nothing > 0", "kept"), ("", "parked")))
    assert (found.value, found.reason[:27]) == (None, "nothing is not resolved: no")


def test_division_by_zero_is_unresolved(tmp_path):
    """A reading over zero has no value, with the reason."""
    found = reading(tmp_path, expr("bar / zero"))
    assert (found.value, found.reason) == (None, "a division by zero in bar / zero")


@pytest.mark.parametrize("text", ["9 ** 9 ** 9", "sqrt(zero - 1)", "1e308 * 10"])
def test_reading_is_finite_or_has_no_value(tmp_path, text):
    """No reading is infinite, NaN or complex."""
    assert reading(tmp_path, expr(text)).value is None


def test_sum_that_overflows_has_no_value(tmp_path):
    """A sum of numbers too large is unresolved."""
    said = {"id": "x", "kind": "stat", "table": "mine", "column": "us", "stat": "sum"}
    found = table(tmp_path, {"us": "number"}, "us\n1e308\n1e308\n", said).read()["x"]
    assert (found.value, found.reason) == (None, "the value is inf, no number")


def test_unresolved_reading_keeps_its_unit_and_gives_null(tmp_path):
    """In readings.json a reading without value is null with its reason, under its own unit."""
    said = reading(tmp_path, NOTHING, expr("nothing + 1", unit="ms")).to_json()
    assert (said["value"], said["unit"], said["formula"]) == (None, "ms", "nothing + 1")
    assert said["reason"].startswith("nothing is not resolved")


def test_aspect_of_an_unresolved_reading_is_unresolved():
    """The end of an interval that is not there has no value, and the same reason."""
    found = Readings({"a": Reading("a", None, reason="too few rows")}, "plan.toml")["a.lo"]
    assert (found.value, found.reason) == (None, "too few rows")


# ---- missing rows


@pytest.mark.parametrize("rows", [("r4",), ("r3", "r4"), ("r1", "r2", "r3", "r4")])
def test_missing_rows_leave_every_reading_without_value(tmp_path, rows):
    """While planned rows are missing there is no reading of data, not even a count; what constants give stands."""
    count = {"id": "rows.{arm}.n", "kind": "stat", "table": "row_values", "each": ["arm"], "stat": "count"}
    declared = [SAVING, DRIFT, FAILED, VERDICT, count, ROW, expr("rows.old.n + rows.rs8.n", "today"), expr("bar * 2")]
    part = served(tmp_path, *declared, expr("row.{0} + 1", "more.{0}", for_each="row.*"))
    for name in rows:
        part.without(name)
    found = part.read()
    assert (found["x"].role, found["x"].value) == ("constant", 0.31)
    computed = [one for one in found.values() if one.role == "reading"]
    assert {"saving.low", "drift.low", "failed", "verdict", "today"} <= {one.id for one in computed}
    assert {one.value for one in computed} == {None}
    assert {one.reason for one in computed} == {f"{len(rows)} of 4 planned rows are missing"}
    assert all(not one.aspects and not one.operands for one in computed)


def test_members_to_come_are_not_resolved(tmp_path):
    """While rows are missing, a member of a family that has no record yet is a reading without value, not a mistake."""
    part = served(tmp_path, ROW)
    part.without("r4")
    found = part.read()["row.r4"]
    assert (found.value, found.reason) == (None, "1 of 4 planned rows are missing")
    with pytest.raises(ReadingError):
        part.read()["rwo.r1"]


def test_constants_stand_while_rows_are_missing(tmp_path):
    """What was fixed before the rows is there before the rows."""
    assert served(tmp_path).without("r4").read()["bar"].value == 0.155


def test_slips_are_told_while_rows_are_missing(tmp_path):
    """A declaration that could never be computed is refused before the last row."""
    assert "unknown function medain" in refusal(served(tmp_path, SAVING, expr("medain(saving.low)")).without("r4"))


def test_part_with_an_order_but_no_table_of_rows_misses_them_all(tmp_path):
    """A plan that orders rows and has none yet has no readings."""
    head = HEAD.replace('rows = "data/rows.csv"\ndraws = "data/draws.csv"\ntasks = "data/tasks.csv"\n', "")
    samples = {"id": "x", "kind": "stat", "table": "power", "stat": "count"}
    found = served(tmp_path, samples, head=head).read()["x"]
    assert (found.value, found.reason) == (None, "4 of 4 planned rows are missing")


def test_void_row_in_place_of_a_planned_one_is_a_missing_row(tmp_path):
    """A row that was voided and not run again is missing."""
    part = served(tmp_path, SAVING).without("r4")
    part.rows.append(row("r4", "old", "2026-11-06T08:00:00Z", "void", "the host was restarted"))
    assert part.read()["saving.low"].reason == "1 of 4 planned rows are missing"


# ---- the whole


def test_readings_stand_in_the_order_of_the_plan(tmp_path):
    """Constants first, then what the plan declares, in its order."""
    part = served(tmp_path, SAVING, DRIFT, expr("saving.low"))
    assert list(part.read()) == [*part.plan().constants, "saving.low", "drift.low", "x"]


def test_same_data_give_the_same_readings(tmp_path):
    """Reading a part twice gives the same values, to the last bit."""
    first, second = (served(tmp_path).read() for _ in range(2))
    assert {name: one.to_json() for name, one in first.items()} == {name: one.to_json() for name, one in second.items()}


def test_every_reading_says_how_it_was_computed(tmp_path):
    """Each computed reading has a formula."""
    part = served(tmp_path, SAVING, DRIFT, FAILED, ROW, expr("saving.low * 2"), choice(("", "a"), name="y"), VERDICT)
    assert all(one.formula for name, one in part.read().items() if name not in part.plan().constants)


def test_changed_draw_changes_the_saving(tmp_path):
    """One draw that is slower by 1 ms a step takes a quarter of that from a saving over two rows of two draws."""
    part = served(tmp_path, SAVING)
    before = part.read()["saving.low"].value
    next(d for d in part.draws if d["row"] == "r2")["step_time_ms"] += 1000
    assert part.read()["saving.low"].value == pytest.approx(before - 1 / 4)


def test_constants_carry_why_they_have_their_value(tmp_path):
    """A constant is a reading with its unit and its because."""
    found = served(tmp_path, head=HEAD + constant("word", "kept")).read()
    assert (found["bar"].role, found["bar"].unit, found["bar"].because) == (
        "constant",
        "ms/verify step",
        "half of the count",
    )
    assert found["word"].value == "kept"


def test_plan_without_readings_has_its_constants(tmp_path):
    """A plan may state constants alone."""
    part = served(tmp_path, head=HEAD)
    part.readings = ()
    assert isinstance(part.plan(), Plan)
    assert set(part.read()) == set(part.plan().constants)
