"""Asking where a printed number comes from."""

import re
import shutil
from pathlib import Path

import pytest
from tests.campaigns import PARTS, TriedCampaign, built_campaign, published_campaign

from campaign.notes.paths import Campaign
from campaign.notes.quote import format_value
from campaign.notes.why import why

POST = "parts/part-1/post.md"


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    monkeypatch.setenv("COLUMNS", "100")
    return built_campaign(tmp_path, monkeypatch)


def place(campaign: TriedCampaign, text: str) -> tuple[int, int]:
    """Line and column at which the text begins in post.md."""
    lines = campaign.text().splitlines()
    line = next(i for i, held in enumerate(lines) if text in held)
    return line + 1, lines[line].index(text) + 1


def test_number_is_explained_by_its_text(campaign):
    """Value, way of rounding, interval, formula, records, plan, run and place are told."""
    said = campaign.notes("why", "1", "0.300").stdout
    line, column = place(campaign, "0.300")
    assert said.startswith(f"parts/part-1/post.md:{line}:{column}: 0.300\n")
    for expected in (
        "reading    saving, in ms/verify step",
        "to 3 decimals, half away from zero → 0.300 (format .3f)",
        "interval   ",
        "pooled t over rows",
        "data       row_values (of draws, by row): 4 records",
        "data/draws.csv  sha256 ",
        "declared   parts/part-1/plan.toml:",
        "run        measured; all data sha256 ",
        "published  not yet",
    ):
        assert expected in said
    shown = re.search(r"declared   parts/part-1/plan.toml:(\d+)", said)
    assert Path("parts/part-1/plan.toml").read_text().splitlines()[int(shown[1]) - 1] == 'id = "saving"'


def test_value_is_told_in_full(campaign):
    """Every digit of the value stands there, with the rounding that leads to what is printed."""
    said = campaign.notes("why", "1", "0.300").stdout
    value = re.search(r"^value      (\S+)$", said, re.MULTILINE)[1]
    assert format_value(float(value), ".3f", "") == "0.300" and f"rounding   {value} →" in said


@pytest.mark.parametrize(("columns", "widest"), [("80", 80), ("100", 100), ("200", 100)])
def test_lines_fit_a_terminal(campaign, monkeypatch, columns, widest):
    """No answer is wider than the terminal, nor than 100 columns."""
    monkeypatch.setenv("COLUMNS", columns)
    line, _ = place(campaign, "8,872")
    for asked in (["1", "0.300"], ["1", "changed"], ["1", "above"], ["1", "carries"], [f"1:{line}"]):
        assert max(map(len, campaign.notes("why", *asked).stdout.splitlines())) <= widest


def test_place_is_explained_by_line_and_column(campaign):
    """PART:LINE:COLUMN names one place, at any of its characters."""
    line, column = place(campaign, "0.212")
    for at in (column, column + 4):
        said = campaign.notes("why", f"part-1:{line}:{at}").stdout
        assert "\nreading    saving.lo" in said


def test_line_lists_what_stands_on_it(campaign):
    """PART:LINE lists all places of the line with the address of each."""
    line, column = place(campaign, "8,872")
    said = campaign.notes("why", f"part-1:{line}").stdout
    assert said.startswith(f"line {line} of part-1 prints 3 things, from 3 sources:")
    for source in ("reading rows.n", "reading steps", "reading change"):
        assert source in said
    assert f"  {POST}:{line}:{column} " in said


def test_ambiguous_text_lists_every_candidate(campaign):
    """A text that several sources print is listed by source, with its places and how to ask for one."""
    said = campaign.notes("why", "1", "changed").stdout
    assert "'changed' stands in 2 places, from 2 sources:" in said
    first = re.search(rf"^reading arm_of.2\n  ({POST}:\d+:\d+)  04:15, Arm: \[changed\]$", said, re.MULTILINE)
    assert first and "\nreading arm_of.3\n" in said
    assert f"To see one: notes why {first[1]}" in said
    assert "\nreading    arm_of.2\n" in campaign.notes("why", first[1]).stdout


def test_every_place_of_a_source_is_told(campaign):
    """All other places that print the same reading are listed, in another format too."""
    campaign.change("nothing here", 'and {{ q("saving", ".1f") }} ms again; nothing here', "post.md.j2")
    campaign.notes("build", "1")
    said = campaign.notes("why", "1", "0.300").stdout
    line, column = place(campaign, "0.3 ms again")
    assert f"also at    parts/part-1/post.md:{line}:{column}  " in said
    assert "(format .1f)" in campaign.notes("why", f"part-1:{line}:{column}").stdout


def test_claim_is_explained_with_its_operands(campaign):
    """A claimed word leads to its expression, to each comparison with its sides, and to the values that decide it."""
    said = campaign.notes("why", "1", "above").stdout
    assert "claim      saving > bar" in said and "'above' while it is true" in said
    assert re.search(r"compared   saving > bar: 0\.\d+ against 0\.1, holds by ", said)
    assert "\n           bar     0.1 ms/verify step  ← the saving that pays" in said


def test_what_a_number_decides_is_told(campaign):
    """A reading lists the claims that compare it."""
    said = campaign.notes("why", "1", "0.300").stdout
    assert "decides    'above', by the claim saving > bar  at " in said


def test_constant_and_fact_name_their_source(campaign):
    """A constant says why it has its value, a fact where it can be looked up; each names its line."""
    said = campaign.notes("why", "1", "0.10").stdout
    assert "because    the saving that pays" in said and "declared   parts/part-1/plan.toml:" in said
    said = campaign.notes("why", "1", "two").stdout
    assert "source     the machine" in said and "declared   parts/part-1/facts.toml:" in said


def test_verdict_is_explained_by_its_bands(campaign):
    """The verdict shows the reading that decides and the bands."""
    said = campaign.notes("why", "1", "carries").stdout
    assert "saving.lo: carries >= bar, seen > nothing, rolled back" in said
    assert "operands   saving.lo  0.21" in said


def test_member_of_a_family_has_its_own_record(campaign):
    """Of a family's member only the record that it was computed from is named."""
    listed = campaign.notes("why", "1", "changed").stdout
    address = re.search(rf"^reading arm_of.2\n  ({POST}:\d+:\d+)", listed, re.MULTILINE)[1]
    said = campaign.notes("why", address).stdout
    assert re.search(r"data       row_values \(of draws, by row\): 1 of 4 records\n +row 2\n", said)
    assert "as arm_of.{row}" in said


def test_depth_says_how_far_operands_are_followed():
    """Operands stand alone at depth 0, with their source at depth 1, with their own operands at depth 2."""
    part = Campaign(PARTS.parent).part("5")
    found = ["\n".join(why(part, None, 97, 12, depth)) for depth in (0, 1, 2)]
    assert ["operands   decide.lower  0.2147206737" in one for one in found] == [True, True, True]
    assert ["← min(saving.low.lo, saving.high.lo)" in one for one in found] == [False, True, True]
    assert [bool(re.search("^ +saving.low.lo +0.21", one, re.MULTILINE)) for one in found] == [False, False, True]


def test_published_number_names_its_publication(tmp_path, monkeypatch):
    """A published part's number says since when it stands and in which commit."""
    campaign = published_campaign(tmp_path, monkeypatch)
    assert "published  2026-11-06, post.md in commit " in campaign.notes("why", "1", "0.300").stdout


def test_places_in_other_parts_are_told(campaign):
    """The same reading of the same data, and the same fact, are found in another part; of other data they are not."""
    copy = Path(shutil.copytree("parts/part-1", "parts/part-2"))
    line, column = place(campaign, "0.300")
    assert f"in parts   parts/part-2/post.md:{line}:{column}  " in campaign.notes("why", "1", "0.300").stdout
    assert "in parts   parts/part-2/post.md:" in campaign.notes("why", "1", "two").stdout
    readings, facts = copy / "readings.json", copy / "facts.toml"
    digits = re.sub(r"[0-9a-f]{64}", "0" * 64, readings.read_text(encoding="utf-8"))
    readings.write_text(digits, encoding="utf-8")
    facts.write_text(facts.read_text(encoding="utf-8").replace("value = 2", "value = 3"), encoding="utf-8")
    for asked in ("0.300", "two"):
        assert "in parts" not in campaign.notes("why", "1", asked).stdout


def test_part_that_cannot_be_read_is_passed_over(campaign):
    """A broken ledger elsewhere keeps nobody from an answer."""
    copy = Path(shutil.copytree("parts/part-1", "parts/part-2"))
    (copy / "numbers.json").write_text("{", encoding="utf-8")
    assert "reading    saving," in campaign.notes("why", "1", "0.300").stdout


def test_structure_and_names_say_why_they_are_no_number(campaign):
    """A date says that it is one, a declared name where it is declared."""
    text = campaign.text()
    assert "W01" in text
    said = campaign.notes("why", "1", "W01").stdout
    assert "name       declared in campaign.toml line 2; its digits are no quantity" in said


@pytest.mark.parametrize("asked", ["0.300", "0.300 ms", "0.300ms"])
def test_unit_may_be_typed(campaign, asked):
    """The unit that stands behind a number may be typed with it."""
    assert "reading    saving," in campaign.notes("why", "1", asked).stdout


@pytest.mark.parametrize("asked", ["8872", "8,872", "8 872"])
def test_grouping_is_ignored(campaign, asked):
    """Digits are found however they are grouped."""
    assert "reading    steps," in campaign.notes("why", "1", asked).stdout


def test_value_in_other_digits_is_found(campaign):
    """A number that is equal, but printed in other digits, is found and said to be."""
    said = campaign.notes("why", "1", "0.3000").stdout
    assert said.startswith("'0.3000' is not printed so; the same value is printed as") and "saving" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["1", "0.301"],
            "'0.301' is not printed there; expected a number as it is printed. The nearest are 0.300 (parts/part-1/",
        ),
        (["1", "carriers"], "Alike are 'carries' (parts/part-1/post.md:"),
        (["1", "people"], "is neither a number nor a word that a quote or a claim prints"),
        (["part-1:1:9999"], "no number and no bound word stands"),
        (["part-1:9999"], "no number and no bound word stands on this line; expected one. The nearest line"),
    ],
)
def test_text_that_nothing_prints_is_told(campaign, arguments, message):
    """What is not printed is said not to be, with the nearest that is."""
    assert message in campaign.notes("why", *arguments, exit=2).stderr


def test_question_without_a_number_is_told(campaign):
    """A bare part is asked for the number."""
    assert "no number named; expected `notes why 1 0.314`" in campaign.notes("why", "1", exit=2).stderr


def test_hyphen_stands_for_the_minus_sign(campaign):
    """A person types a negative number with the key that a keyboard has, and it is taken for no option."""
    assert "reading    change" in campaign.notes("why", "1", "-0.30").stdout
    assert "reading    change" in campaign.notes("why", "1", "--", "-0.30").stdout


def test_part_may_be_named_with_its_folder(campaign):
    """A path to the post is a place as well as the part's name."""
    line, column = place(campaign, "0.300")
    assert "saving" in campaign.notes("why", f"parts/part-1:{line}:{column}").stdout
    assert "saving" in campaign.notes("why", f"parts/part-1/post.md:{line}:{column}").stdout


def test_part_of_a_date_is_told_with_the_whole(campaign):
    """A year that stands in a date only is told where, with the command that asks for the date."""
    said = campaign.notes("why", "1", "2026", exit=2).stderr
    assert f"'2026' is printed as part of '6 November 2026' ({POST}:" in said and f"`notes why {POST}:" in said


def with_more(campaign: TriedCampaign) -> None:
    """Nothing; the post then has a long claim, numbers that nothing binds, a footnote and a difference of shares."""
    campaign.change(
        "nothing here is",
        "{{ claim('saving > bar', 'it does save\ntime', 'it saves none') }}, {{ claim('passed > nought', 'more') }}."
        "[^1]\n"
        "Twice as much, 3 percentage points more; nothing here is",
        "post.md.j2",
    )
    campaign.write("post.md.j2", campaign.text("post.md.j2") + "\n[^1]: Of {{ q('steps') }} steps, and 17 more.\n")
    bar = '[constants."nought"]\nvalue = 90\nunit = "%"\nprint = ".0f"\nbecause = "a bar"\n\n'
    campaign.change('[constants."nothing"]', f'{bar}[constants."nothing"]', "plan.toml")
    campaign.notes("build", "1")


def test_word_of_a_claim_leads_to_the_claim(campaign):
    """A word inside the words of a claim is explained by the claim, and so is each place in it, on any line."""
    with_more(campaign)
    said = campaign.notes("why", "1", "save").stdout
    assert said.startswith("'save' is printed as part of 'it does save time'\n")
    assert "\nclaim      saving > bar\n" in said
    line, column = place(campaign, "it does save")
    for address in (f"{line}:{column}", f"{line}:{column + 3}", f"{line + 1}:1", f"{line + 1}:4"):
        assert "\nclaim      saving > bar\n" in campaign.notes("why", f"1:{address}").stdout


def test_words_that_nothing_binds_are_explained(campaign):
    """A number word and percentage points are told with their value, and what to do about them."""
    with_more(campaign)
    said = campaign.notes("why", "1", "twice").stdout
    assert "\nvalue      2 times\n" in said and "no reading, fact or name prints it; `notes check part-1`" in said
    assert "\nvalue      3 percentage points\n" in campaign.notes("why", "1", "3 percentage points").stdout


def test_percentages_differ_by_percentage_points(campaign):
    """The margin between two percentages is no percentage."""
    with_more(campaign)
    said = campaign.notes("why", "1", "more").stdout
    assert "passed > nought: 93.75 against 90, holds by 3.8 percentage points" in " ".join(said.split())


def test_number_in_a_table_is_shown_with_its_row_and_column(campaign):
    """What names the row and the column of a cell stands before it, not the cells around it."""
    line, column = place(campaign, "| 04:15 | changed |")
    said = campaign.notes("why", f"1:{line}:{column + 20}").stdout
    assert "\n  04:15, ms a verify step: [14.112]\n" in said


def test_number_in_a_footnote_is_explained(campaign):
    """A footnote is a place as any other; it is shown with its mark."""
    with_more(campaign)
    line, column = place(campaign, "8,872 steps, and 17")
    said = campaign.notes("why", f"1:{line}:{column}").stdout
    assert "\n  footnote 1: Of [8,872] steps, and 17 more.\n" in said and "\nreading    steps, in steps\n" in said


def test_place_beside_a_number_is_the_number(campaign):
    """A cursor directly before or behind a number means it, and the answer says that it stands beside."""
    line, column = place(campaign, "0.300")
    for at in (column - 1, column + 5):
        said = campaign.notes("why", f"1:{line}:{at}").stdout
        assert said.startswith(f"nothing stands at part-1:{line}:{at}; beside it stands '0.300'\n")
        assert "reading    saving," in said


def test_place_of_a_number_has_no_remark(campaign):
    """A cursor on a number is answered without a word about what stands beside it."""
    line, column = place(campaign, "0.300")
    for at in (column, column + 4):
        assert campaign.notes("why", f"1:{line}:{at}").stdout.startswith(f"{POST}:{line}:{column}: 0.300\n")


@pytest.mark.parametrize(
    ("asked", "addresses"),
    [("Every", ["98:1", "108:72"]), ("every", ["108:72", "98:1"]), ("EVERY", ["98:1", "108:72"])],
)
def test_word_of_several_claims_is_listed_whole_or_in_part(asked, addresses):
    """A word that stands alone in one claim and begins another is both, capitals aside, as it is spelled first."""
    said = why(Campaign(PARTS.parent).part("5"), asked)
    assert said[0] == f"{asked!r} stands in 2 places, from 2 sources:"
    assert re.findall(r"post\.md:(\d+:\d+)  ", "\n".join(said)) == addresses
