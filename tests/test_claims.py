"""Claims: what the data do not decide is no claim, and a claim says by how much it holds."""

import itertools
import random

import pytest
from tests.served import served

from campaign.analysis.expressions import parse
from campaign.analysis.readings import Reading, Readings
from campaign.analysis.worlds import other_world
from campaign.notes.claims import claim_holds, typed_numbers, weak_claims, weakness
from campaign.notes.ledger import Place
from campaign.notes.margins import margins

STAT = {"kind": "stat", "unit": "ms"}
DECLARED = (
    {"id": "saving", "kind": "saving", "arm": "rs8", "against": "old", "slope": "low", "unit": "ms", "print": ".3f"},
    {"id": "saving.short", "kind": "expr", "expr": "saving", "unit": "ms", "print": ".2f"},
    {
        "id": "drift",
        "kind": "drift",
        "arm": "old",
        "against": "yardstick",
        "slope": "low",
        "unit": "ms",
        "print": ".3f",
    },
    {"id": "row.{row}", **STAT, "table": "row_values", "each": ["row"], "column": "matched_low", "stat": "value"},
    {"id": "least", **STAT, "table": "row_values", "column": "matched_low", "stat": "min", "print": ".3f"},
    {"id": "middle", **STAT, "table": "row_values", "column": "matched_low", "stat": "median", "print": ".3f"},
    {"id": "most", **STAT, "table": "row_values", "column": "matched_low", "stat": "max", "print": ".3f"},
    {"id": "rs8.most", **STAT, "table": "row_values", "where": "arm == 'rs8'", "column": "step_ms", "stat": "max"},
    {"id": "rows.n", "kind": "stat", "table": "row_values", "stat": "count"},
    {"id": "rows.{arm}.n", "kind": "stat", "table": "row_values", "each": ["arm"], "stat": "count"},
    {"id": "passed.{arm}", "kind": "stat", "table": "tasks", "where": "outcome == 'pass'", "each": ["arm"]}
    | {"stat": "count"},
    {"id": "graded.{arm}", "kind": "stat", "table": "tasks", "where": "outcome != 'infrastructure error'"}
    | {"each": ["arm"], "stat": "count"},
    {"id": "share", "kind": "stat", "table": "tasks", "column": "outcome == 'pass'", "stat": "share", "scale": 100},
    {"id": "wilson", "kind": "proportion", "table": "tasks", "column": "outcome == 'pass'"},
    {"id": "p", "kind": "fisher", "arm": "rs8", "against": "old", "table": "tasks", "column": "outcome == 'pass'"},
    {"id": "capped", "kind": "stat", "table": "row_values", "column": "power_share", "stat": "max", "scale": 100},
    {"id": "time", "kind": "stat", "table": "row_values", "column": "model_time_s", "stat": "mean"},
    {"id": "spread", **STAT, "table": "row_values", "column": "matched_low", "stat": "spread"},
    {"id": "failed", "kind": "stat", "table": "tasks", "where": "kind == 'agentic' and outcome == 'fail'"}
    | {"stat": "count"},
    {"id": "drift.low", "kind": "expr", "expr": "drift"},
    {"id": "saving.low", "kind": "saving", "arm": "rs8", "against": "yardstick", "slope": "low"},
    {"id": "tripped", "kind": "expr", "expr": "count(failed > 0, abs(drift) > bar)"},
    {"id": "word", "kind": "choice", "cases": [{"when": "saving.lo > zero", "word": "faster"}, {"word": "not told"}]},
    {"id": "verdict", "kind": "verdict"},
)


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    return served(tmp_path_factory.mktemp("part"), *DECLARED).read()


@pytest.mark.parametrize(
    "expression",
    [
        "saving.lo <= saving",
        "saving.hi >= saving.lo",
        "not saving > saving.hi",
        "saving == saving.short",
        "min(row.*) <= max(row.*)",
        "least <= middle",
        "middle <= most",
        "most - least == spread",
        "saving.se >= 0",
        "saving.sd >= 0",
        "rows.n >= 0",
        "rows.rs8.n <= rows.n",
        "passed.rs8 <= graded.rs8",
        "share <= 100",
        "capped <= 100",
        "wilson <= 1",
        "wilson.lo >= 0",
        "p <= 1",
        "time > 0",
        "tripped <= 1 + 1",
        "saving > bar or saving <= bar",
        "saving.lo > zero or word == 'not told'",
        "word != 'slower'",
        "verdict in ['carries', 'seen', 'rolled back', 'held', 'confounded']",
        "verdict != 'carries' or saving.low.lo >= bar",
        "saving ** 2 >= 0",
        "abs(saving) >= zero",
        "saving.level == 95",
    ],
)
def test_what_is_true_of_any_data_is_no_claim(expression, readings):
    """Readings that belong together move together, so that no impossible values make a tautology look false."""
    assert "no data could make it false" in weakness(expression, readings)


@pytest.mark.parametrize(
    "expression",
    [
        "saving.lo > saving.hi",
        "rows.n < 0",
        "least > most",
        "share > 100",
        "abs(saving) < zero",
        "word == 'slower'",
        "saving > bar and saving < zero",
    ],
)
def test_what_is_false_of_any_data_is_no_claim(expression, readings):
    """A word that could never be printed is refused as one that always is."""
    assert "no data could make it true" in weakness(expression, readings)


@pytest.mark.parametrize(
    "expression",
    [
        "saving.lo > zero",
        "saving > bar",
        "saving == saving.lo",
        "saving.lo == saving.hi",
        "saving > 1e12",
        "saving < -1e12",
        "least < middle",
        "rows.n == 7",
        "rows.rs8.n == rows.old.n",
        "passed.rs8 == graded.rs8",
        "share == 100",
        "share < 50",
        "wilson.hi < 1",
        "p < 0.05",
        "time == 14.123456789",
        "tripped == 0",
        "tripped == 2",
        "tripped > 0 and failed == 0",
        "all(row.* < most)",
        "any(row.* == least) and len(row.*) == 7",
        "count(row.* < middle) == 3",
        "word == 'faster'",
        "verdict == 'confounded'",
        "verdict == 'carries' and saving.low.lo > bar",
        "abs(drift) <= bar",
        "rows.n * saving == rows.old.n * drift",
    ],
)
def test_what_the_data_decide_is_a_claim(expression, readings):
    """Bars far off, equalities and counts are claims, whether they are true now or not."""
    assert weakness(expression, readings) == ""


CLAIMS = [
    f"{left} {sign} {right}"
    for left, right in itertools.combinations(
        "saving.lo saving saving.short least middle most rows.n rows.rs8.n passed.rs8 graded.rs8 share tripped failed "
        "time zero bar 1".split(),
        2,
    )
    for sign in ("<=", ">=")
]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_refused_as_always_true_is_true_of_other_data(tmp_path, readings, seed):
    """No claim that some data would turn is refused: it holds in parts that were measured otherwise."""
    chance = random.Random(seed)
    other = served(tmp_path, *DECLARED)
    other.draws = [one | {"step_time_ms": 1000 * chance.uniform(2, 14)} for one in other.draws]
    other.draws = [one | {"passes": "", "reason": "a test changes the tasks"} for one in other.draws]
    outcomes = ("pass", "fail", "infrastructure error")
    other.tasks = [one | {"outcome": chance.choice(outcomes)} for one in other.tasks]
    measured = other.read()
    refused = [one for one in CLAIMS if "true for all values" in weakness(one, readings)]
    assert len(refused) > 10
    assert [one for one in refused if claim_holds(one, measured) is False] == []


def test_the_same_claim_has_the_same_answer(readings):
    """The values that are tried come from no clock and no chance."""
    found = [other_world(parse("saving > bar"), readings, False) for _ in range(2)]
    assert found[0] == found[1] is not None


def test_a_world_holds_what_belongs_together(readings):
    """Where a claim turns, interval, value and alias still fit together."""
    world = other_world(parse("saving.lo <= saving and saving == saving.short and saving < 0"), readings, True)
    assert world["saving.lo"] <= world["saving"] == world["saving.short"] < 0


def test_an_interval_that_does_not_hold_its_value_binds_nothing():
    """Where the data themselves have a value outside its interval, no order of the two is taken for granted."""
    odd = Readings({"odd": Reading("odd", 3.0, aspects={"lo": 0.0, "hi": 1.0})}, "part-1")
    assert weakness("odd.hi < odd", odd) == ""


def test_a_claim_over_something_open_is_not_judged():
    """What is not resolved prints neither word; it is no tautology."""
    still = Readings({"open": Reading("open", None, reason="rows are missing")}, "part-1")
    assert weakness("open == open", still) == ""


def test_constants_alone_are_no_claim(readings):
    """Two bars compare in one way whatever is measured."""
    assert "names no reading that is computed from data" in weakness("bar > zero", readings)


def claim(source: str, word: str = "so", otherwise: str = "not so") -> Place:
    return Place(word, "claim", source, word=word, otherwise=otherwise)


def test_weak_claims_of_a_ledger_are_found_by_their_place(readings):
    """Tautologies and words that stand either way are told; numbers and good claims are passed over."""
    places = [
        claim("saving > bar"),
        Place("0.1", "reading", "saving"),
        claim("rows.n >= 0"),
        claim("saving > bar", "a", "a"),
    ]
    found = weak_claims(places, readings)
    assert [index for index, _ in found] == [2, 3]
    assert "no data could make it false" in found[0][1] and "whether it is true or not" in found[1][1]


def test_a_claim_whose_reading_is_gone_is_left_to_the_comparison(readings):
    """A weak claim is one that can be judged."""
    assert weak_claims([claim("gone > bar")], readings) == []


@pytest.mark.parametrize(
    ("expression", "numbers"),
    [
        ("saving > 0.3", "0.3"),
        ("saving > 2 * bar", "2"),
        ("count(row.* < most) == 6", "6"),
        ("-5 < saving", "5"),
        ("p < 0.05 or p > 0.95", "0.05, 0.95"),
        ("row.r1 in [14, 15]", "14, 15"),
    ],
)
def test_a_typed_number_in_a_claim_comes_from_nothing(expression, numbers):
    """The finding names the number and the table in which to declare it."""
    ((index, why),) = typed_numbers([claim(expression)])
    assert index == 0 and f"compares with {numbers}, which nothing declares" in why
    assert f'[constants."…"] with value = {numbers.split(", ")[0]}' in why


@pytest.mark.parametrize(
    "expression", ["saving > 0", "failed == 1", "saving ** 2 > bar", "100 * saving / most > bar", "saving * 1000 > bar"]
)
def test_none_and_one_and_changes_of_unit_are_no_typed_numbers(expression):
    """0, 1, exponents and factors between units say nothing that a plan would declare."""
    assert typed_numbers([claim(expression)]) == []


# ---- margins


def value(name: str, number: float, **more: object) -> Reading:
    return Reading(name, number, "ms", ".3f", **more)


MARGINS = Readings(
    {
        "saving": value("saving", 0.3, aspects={"lo": 0.1, "hi": 0.5}),
        "copy": value("copy", 0.3, formula="saving", operands=(("saving", 0.3),)),
        "other": value("other", 0.25, aspects={"se": 0.02}),
        "plain": value("plain", 0.3),
        "near": value("near", 0.3004),
        "n": Reading("n", 12, "rows"),
        "none": Reading("none", 0, "rows"),
        "bar": Reading("bar", 0.155, "ms", ".3f", role="constant"),
        "coarse": Reading("coarse", 0.3, "ms", ".1f", role="constant"),
        "fine": Reading("fine", 0.0000001, "ms", ".8f", role="constant"),
        "limit": Reading("limit", 4, "rows", role="constant"),
        "row.a": value("row.a", 14.1),
        "row.b": value("row.b", 14.4),
        "row.c": value("row.c", 14.2),
        "tripped": Reading(
            "tripped",
            0,
            "guards",
            formula="count(saving < bar, n < limit)",
            operands=(("saving", 0.3), ("bar", 0.155), ("n", 12), ("limit", 4)),
        ),
        "word": Reading("word", "faster"),
        "open": Reading("open", None),
    },
    "part-1",
)


@pytest.mark.parametrize(
    ("expression", "distance", "is_fragile"),
    [
        ("saving > bar", 0.145, True),  # within the interval, which reaches 0.2 below
        ("saving.lo > 0", 0.1, False),  # the end of the interval is the end
        ("copy > bar", 0.145, True),  # another name moves with the reading
        ("other > bar", 0.095, False),  # nearly five standard errors
        ("plain > bar", 0.145, False),
        ("plain < near", 0.0004, True),  # both are printed 0.300
        ("plain >= coarse", 0.0, True),  # exactly at a bar that is printed like it
        ("abs(plain - plain) <= fine", 1e-7, False),  # compared more finely than it is printed
        ("saving < bar", -0.145, True),
        ("n > limit", 8, False),
        ("n >= limit", 9, False),
        ("n < limit", -9, False),
        ("n == 12", 1, False),
        ("n != limit", 8, False),
        ("n == limit", -8, False),
        ("none == 0", 1, False),
        ("tripped == 0", 1, False),
        ("plain > bar and n > limit", 0.145, False),
        ("plain > bar and saving > bar", 0.145, True),
        ("plain > bar or saving > bar", 0.145, False),
        ("not saving > bar", -0.145, True),
        ("bar < plain < row.a", 0.145, False),
        ("all(row.* > bar)", 13.945, False),
        ("any(row.* < row.b)", 0.3, False),
        ("max(row.*) < row.b + bar", 0.155, False),
    ],
)
def test_a_claim_says_how_far_it_is_from_turning(expression, distance, is_fragile):
    """Above zero where it holds; fragile where the noise of its readings reaches that far."""
    found = margins(expression, MARGINS)
    assert found.decides.distance == pytest.approx(distance, abs=1e-9)
    assert found.fragile is is_fragile
    assert found.decides.holds is claim_holds(expression, MARGINS)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("saving > bar", "holds by 0.14 ms (fragile: the interval of saving reaches ±0.2)"),
        ("saving.lo > 0", "holds by 0.1 ms"),
        ("saving < bar", "does not hold, by 0.14 ms (fragile: the interval of saving reaches ±0.2)"),
        ("plain < near", "holds by 0.0004 ms (fragile: plain is printed to ±0.0005)"),
        ("n > limit", "holds by 8 rows"),
        ("n == 12", "holds by 1"),
        ("all(row.* > bar)", "holds by 13.9 ms at row.a"),
        ("min(row.*) > bar", "holds by 13.9 ms at row.a"),
        ("word == 'faster'", "holds"),
        ("word == 'slower'", "does not hold"),
        ("plain >= plain", "holds, with nothing to spare"),
        (
            "tripped == 0",
            "holds by 1; of the conditions that it counts, saving < bar is the nearest to turning: "
            "it does not hold, by 0.14 ms",
        ),
    ],
)
def test_a_margin_reads_as_a_person_would_say_it(expression, text):
    """With its unit, the member that decides, and what makes it fragile."""
    assert str(margins(expression, MARGINS)) == text


def test_every_comparison_of_a_claim_has_its_margin():
    """What decides is one of them; the others are there beside it."""
    found = margins("saving > bar and n > limit", MARGINS)
    assert [(one.text, one.holds) for one in found.comparisons] == [("saving > bar", True), ("n > limit", True)]


def test_a_claim_over_something_open_has_no_margin():
    """Neither word is printed, so nothing holds by anything."""
    assert margins("open > bar", MARGINS) is None
