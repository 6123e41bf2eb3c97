"""Old posts taken into a campaign: what is proposed for their numbers, and that nothing is lost or bound silently."""

import functools
import re
import tempfile
import tomllib
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.campaigns import PARTS, built_campaign, empty_campaign, notes

from campaign.analysis.readings import Reading, Readings
from campaign.kernels.errors import CampaignError
from campaign.notes.build import build
from campaign.notes.check import read_kept
from campaign.notes.errors import UsageError
from campaign.notes.importing import STUBS, propose, read_old, report, summary, write_import
from campaign.notes.numbers import find
from campaign.notes.paths import Campaign
from campaign.notes.sources import load

DAY = date(2026, 11, 30)


@functools.cache
def small_sources():
    """The sources of the small campaign, read once; its saving is 0.300 ms, its bar 0.10 ms."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        campaign = built_campaign(Path(tempfile.mkdtemp(prefix="campaign-")), monkeypatch)
        return load(campaign.part)


def imported(text, sources=None, names=()):
    """The proposal for a text."""
    return propose(text, "old.md", sources, names)


def outcomes(found):
    """Text and outcome of each item."""
    return [(item.text, item.outcome) for item in found.items]


# Without data


def test_without_data_every_number_becomes_a_fact_without_a_source():
    """Numbers and number words are quoted as facts, the text stays, and nothing is bound."""
    found = imported("# A post\n\nThe cap was 500 W on two cards.\n")
    assert outcomes(found) == [("500 W", "fact"), ("two", "fact")]
    assert [(stub.value, stub.unit, stub.print) for stub in found.facts] == [(500, "W", ""), (2, "cards", "word")]
    assert found.template == '# A post\n\nThe cap was {{ q("cap") }} W on {{ q("cards") }} cards.\n'
    assert found.rendered() == "# A post\n\nThe cap was 500 W on two cards.\n"


@pytest.mark.parametrize(
    "said",
    [
        *("1,024", "12\u202f345", "½", "1e-5", "2×10^5", "8m30s", "3 million", "0.50", "+3", "−0.5", "-0.5", "007"),
        *("twenty-one", "half", "third", "95%", "$4.50", "2×", "1" * 30, "99,999.125", "twice", "00:02.157", "10^500"),
    ],
)
def test_a_fact_prints_the_same_characters(said):
    """Whatever its form, a number is printed as it was, without a change."""
    text = f"It took {said} in the end.\n"
    found = imported(text)
    assert (found.rendered(), found.changes) == (text, ())
    assert [item.outcome for item in found.items] == ["fact"]


def test_structure_and_names_stay():
    """Dates, references and link targets stay text; a declared name stays, another one is proposed for the names."""
    text = "On 7 November 2026 an H100 ran W01, see [Part 4](part-4.md), and an H100 again.\n"
    found = imported(text, names=["W01"])
    assert found.template == text
    assert found.names == ("H100",)
    assert outcomes(found) == [
        ("7 November 2026", "structure"),
        ("H100", "name"),
        ("W01", "declared"),
        ("Part 4", "structure"),
        ("H100", "name"),
    ]


def test_facts_are_named_from_the_words_around_them():
    """In prose from the words before, in a table from the labels of row and column; one name for one fact."""
    text = "Threads per block: 512.\n\n| Card | Watts |\n|---|---|\n| Small | 70 |\n| Large | 300 |\n"
    names = [stub.id for stub in imported(text).facts]
    assert names == ["threads_per_block", "small_watts", "large_watts"]


def test_one_name_never_stands_for_two_numbers():
    """Equal words around another number make another name."""
    found = imported("The cap is 5 W.\n\nThe cap is 6 W.\n\nThe cap is 5 W.\n")
    assert [(stub.id, stub.value) for stub in found.facts] == [("cap", 5), ("cap_2", 6)]


def test_a_number_that_marks_cut_is_left_to_a_person():
    """No quote can print emphasis inside a number; the text stays and says so in a comment."""
    text = "It took 1**2**3 ms.\n"
    found = imported(text)
    assert [item.outcome for item in found.items] == ["decide"]
    assert "marks stand in it" in found.template and found.rendered() == text


# The text comes back

_PIECES = [
    *"{ } # % \" ' | * _ ` $ [ ] ( ) < > ! ~ + - − . , : ; \\ & = /".split(),
    *"{{ }} {% %} {# #} {{- -}} {%- +%} {#+ ``` ~~~ ** --- | |---| <!-- --> [^1] &minus;0.31 <b>".split(),
    "<img alt='4'>",
    *"0.31 -0.300 0.300 95% 95 4 four Four first 1,024 1e-5 2× H100 v1.2 2026-11-06 3–5 0 two twice ½ 8m30s".split(),
    *"all below faster rows ms saving steps bar the of raw endraw set".split(),
    *[
        "\n",
        "\n\n",
        "\n\n\n\n",
        "\r\n",
        "\r",
        "\t",
        " ",
        "  ",
        "    ",
        "\x00",
        "\ufeff",
        "\u2028",
        "\u00ad",
        "q('bar')",
    ],
]
documents = st.lists(st.sampled_from(_PIECES), max_size=40).map("".join) | st.lists(
    st.sampled_from(_PIECES), max_size=40
).map(" ".join)


def tidy(text):
    """The text with the line ends and blank lines that a template can give."""
    lines = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    return re.sub(r"\n{3,}", "\n\n", lines if lines.endswith("\n") else f"{lines}\n")


def values(text):
    """What a reader reads as numbers."""
    return [token.value for token in find(text) if token.role in ("number", "word")]


@given(text=documents | st.text(st.characters(exclude_categories=["Cs", "Co"]), max_size=80))
@example("{0.31} {{ 4 }} {% raw %} {# 5 #}\n")
@example("a {4\n  {# b\n5\n")
@example("four\n\n\n\nrows")
def test_any_text_comes_back_without_data(text):
    """The template renders the old bytes, but for line ends and blank lines, and never fails."""
    found = imported(text)
    assert found.rendered() == found.body == tidy(text)


@settings(deadline=None)
@given(text=documents)
@example("the saving is -0.300 ms\n")
@example("the saving is {0.300} ms\n")
def test_any_text_comes_back_with_data(text):
    """With data the signs of minus may change, and every number keeps its value."""
    found = imported(text, small_sources())
    assert found.rendered() == found.body
    assert re.sub("&minus;|−", "-", found.body) == re.sub("&minus;|−", "-", tidy(text))
    assert values(found.body) == values(tidy(text))


@pytest.mark.parametrize("tag", ["{{ x }}", "{% if x %}", "{# note #}", "{{{{", "{{%", "{%- raw -%}", "{"])
def test_text_like_a_template_is_printed_as_it_was(tag):
    """Braces of another template language, beside numbers and alone."""
    text = f"Write {tag} or {tag}7{tag} here.\n"
    assert imported(text).rendered() == text


def test_blank_lines_that_go_do_not_move_the_places():
    """Where several blank lines follow each other all but one go; a report names the lines of the old file."""
    found = imported("Begin\n\n\n\n\nThe cap is 500 W.\n")
    assert found.body == "Begin\n\nThe cap is 500 W.\n"
    assert [(item.line, item.column) for item in found.items] == [(6, 12)]
    assert found.changes == (
        "3 further blank lines are left out where several follow each other; a reader sees the same",
    )


def test_blank_lines_of_a_code_block_are_told():
    """Where a reader would see the difference the summary says so."""
    found = imported("```\na\n\n\nb\n```\n")
    assert "a reader sees a difference" in summary(found)


def test_of_a_built_post_the_body_is_taken():
    """Banner and entries are made anew; places are those of the file."""
    found = imported("> banner\n\n<!-- campaign:body begin -->\nThe cap is 5 W.\n<!-- campaign:body end -->\n")
    assert found.body == "The cap is 5 W.\n"
    assert [item.line for item in found.items] == [4]


def test_private_use_characters_are_refused():
    """They mark places while a template is rendered."""
    with pytest.raises(UsageError, match=r"old.md: holds a private-use character"):
        imported("a \ue000 b")


# With data


def test_a_number_that_its_place_explains_is_bound():
    """Value, unit, words and format of one reading: the quote prints the same characters."""
    found = imported("The saving is 0.300 ms a verify step.\n", small_sources())
    assert found.template == 'The saving is {{ q("saving") }} ms a verify step.\n'
    assert [item.outcome for item in found.items] == ["bound"]
    assert found.items[0].why == "in its own format; unit ms; words: sav; every word of its id stands there"


def test_an_interval_is_bound_by_its_ends():
    """The ends stand beside each other, and beside their reading."""
    saving = small_sources().readings["saving"]
    ends = f"{saving.aspects['lo']:.3f}", f"{saving.aspects['hi']:.3f}"
    found = imported(f"The saving is 0.300 ms ({ends[0]} to {ends[1]} ms).\n", small_sources())
    assert '({{ q("saving.lo") }} to {{ q("saving.hi") }} ms)' in found.template


def test_rows_of_a_table_are_told_by_their_labels():
    """A cell of a row that a reading of the same row labels is bound."""
    body = read_kept(small_sources().part)[1].body()
    found = imported(body, small_sources())
    for row in ("1", "2", "3", "4"):
        assert f'{{{{ q("row.{row}") }}}}' in found.template


@pytest.mark.parametrize(
    "text",
    [
        "The page has 2 columns and 4 links.\n",
        "It was released in 8 languages by two people.\n",
        "See the four items, of which 1 is new.\n",
        "At a price of 0.10 it is cheap.\n",
        "The paper is 95 pages long.\n",
    ],
)
def test_an_equal_value_is_not_enough(text):
    """Small and round numbers equal some reading; without a word or unit for it nothing is bound."""
    found = imported(text, small_sources())
    assert {item.outcome for item in found.items} <= {"fact", "decide"}


def test_another_unit_is_never_bound():
    """A number whose unit is not the reading's is no candidate."""
    found = imported("The saving is 0.300 s a verify step.\n", small_sources())
    assert [item.outcome for item in found.items] == ["fact"]


def test_another_sign_is_another_number():
    """The sign belongs to the characters: a reading of the other sign is no candidate."""
    (item,) = imported("The saving is −0.300 ms a verify step.\n", small_sources()).items
    assert (item.outcome, item.proposal.split(" (")[0]) == ("decide", '{{ q("change", ".3f") }}')


def test_an_unclear_number_lists_its_candidates():
    """The text stays, with a comment that renders to nothing and names what there is to choose from."""
    found = imported("There were four of them.\n", small_sources())
    assert found.rendered() == "There were four of them.\n"
    assert re.search(r'four\{# decide: four: \{\{ q\("rows\.n", "word"\) \}\} \(\d+%.*\) #\} of', found.template)
    assert outcomes(found) == [("four", "decide")]
    assert re.fullmatch(r"rows\.n fits best, and not well enough: \d+%, and it needs 85%", found.items[0].why)


def test_a_typed_minus_becomes_the_sign_that_quotes_print():
    """The one change of a bound number: it is listed with its place."""
    text = "The change is -0.30 ms a verify step.\n"
    found = imported(text, small_sources())
    assert found.rendered() == text.replace("-", "−")
    assert found.changes == ("1:15: -0.30 is printed as −0.30, with the sign of minus",)


def with_readings(*more):
    """The small campaign's sources with further readings."""
    there = small_sources().readings
    known = {name: there[name] for name in there} | {reading.id: reading for reading in more}
    return replace(small_sources(), readings=Readings(known, "part-1"))


def test_a_share_is_printed_with_its_percent_sign():
    """A reading of a share whose format prints the sign: the quote stands for digits and sign."""
    share = Reading("cache.hit", 0.2734, print=".1%", formula="share of cache hits")
    found = imported("Of the calls 27.3% were a cache hit.\n", with_readings(share))
    assert found.template == 'Of the calls {{ q("cache.hit") }} were a cache hit.\n'


def test_readings_that_are_computed_from_each_other_are_left_to_a_person():
    """A minimum equals one of its operands: no value can tell which of them is meant."""
    lower = Reading("end.low", 0.2151, "ms", ".3f")
    least = Reading("decide.least", 0.2151, "ms", ".3f", formula="min(end.low)", operands=(("end.low", 0.2151),))
    (item,) = imported("It is 0.215 ms.\n", with_readings(lower, least)).items
    assert (item.outcome, item.why) == (
        "decide",
        "another reading is computed as end.low is: their values are the same",
    )


def test_words_tell_readings_apart_that_are_computed_from_each_other():
    """Where the words of one alone stand beside the number it is that one."""
    lower = Reading("end.low", 0.2151, "ms", ".3f")
    least = Reading("decide.least", 0.2151, "ms", ".3f", formula="min(end.low)", operands=(("end.low", 0.2151),))
    (item,) = imported("The end is as low as 0.215 ms.\n", with_readings(lower, least)).items
    assert (item.outcome, item.proposal) == ("bound", '{{ q("end.low") }}')


@pytest.mark.parametrize("text", ["The change is `-0.30` ms.\n", "The change is $-0.30$ ms.\n"])
def test_code_and_formulas_keep_their_minus(text):
    """There a hyphen is a hyphen: the number is left to a person."""
    found = imported(text, small_sources())
    assert (found.rendered(), found.changes) == (text, ())


def test_a_comparing_word_gets_a_claim_that_is_true():
    """Between two bound numbers the claim that holds is suggested; it stays in a comment."""
    text = "The saving of 0.300 ms a verify step is above the bar of 0.10 ms that pays.\n"
    found = imported(text, small_sources())
    assert 'above{# decide: {{ claim("saving > bar", "above") }} #}' in found.template
    assert found.rendered() == text


def test_a_false_comparing_word_gets_no_claim():
    """The person has to see that it is not true; nothing suggests otherwise."""
    text = "The saving of 0.300 ms a verify step is below the bar of 0.10 ms that pays.\n"
    assert 'below{# decide: {{ claim("…", "below") }} #}' in imported(text, small_sources()).template


def test_a_comparing_word_lists_the_facts_that_are_it():
    """A fact whose value is the word may bind it as well."""
    word = Reading("machine.as_before", "same", role="fact")
    found = imported("It ran on the same 2 cards.\n", with_readings(word))
    assert 'same{# decide: {{ claim("…", "same") | q("machine.as_before") }} #}' in found.template


def test_comparing_words_without_numbers_stay():
    """Only beside a number, in its paragraph or its row of a table, does a comparing word need a claim."""
    found = imported("It is faster.\n\nIt took 2 s.\n\n| a | b |\n|---|---|\n| faster | 3 |\n| slower | x |\n")
    assert [item.text for item in found.items if item.outcome == "worded"] == ["faster"]


@functools.cache
def committed(name):
    """The sources of a committed part, and the ledger of its body."""
    part = Campaign(PARTS.parent).part(name)
    return load(part), read_kept(part)[1]


@pytest.mark.parametrize(("name", "least"), [("part-4", 2), ("part-5", 85), ("part-7", 35), ("part-8", 40)])
def test_proposals_for_committed_posts_are_those_of_their_ledgers(name, least):
    """What is bound is bound to what the post's author bound it to; one number stands in words that a text prints."""
    sources, ledger = committed(name)
    found = imported(ledger.body(), sources)
    assert found.rendered() == ledger.body()
    places = {}
    for place, (start, end) in zip(ledger.places, ledger.spans(), strict=True):
        line = ledger.body().count("\n", 0, start) + 1
        column = start - ledger.body().rfind("\n", 0, start)
        places |= {(line, at): place.source for at in range(column, column + end - start)}
    bound = [item for item in found.items if item.outcome == "bound"]
    right = [item for item in bound if f'q("{places.get((item.line, item.column))}"' in item.proposal]
    assert len(bound) >= least
    assert len(right) >= len(bound) - 1


def test_foreign_data_bind_next_to_nothing():
    """The numbers of one part against the readings of another: only what both say of the benchmark they share."""
    sources, _ = committed("part-8")
    found = imported(committed("part-5")[1].body(), sources)
    bound = {(item.text, item.proposal) for item in found.items if item.outcome == "bound"}
    assert bound <= {
        ("95 %", '{{ q("interval.level") }}'),
        ("one", '{{ q("starts.per_row", "word") }}'),
        ("three", '{{ q("draws.per_row", "word") }}'),
    }


# What a person reads


def test_the_summary_counts_everything():
    """Bound, proposed, to decide, structure, comparing words and names."""
    text = "The saving is 0.300 ms a verify step, 7.7 s on an H100; all four of them on 2026-11-06.\n"
    assert summary(imported(text, small_sources())) == (
        "old.md: 4 numbers: 1 bound to readings, 1 proposed as 1 fact, 1 of them without a source, 1 to decide, "
        "1 structure; 1 comparing word to decide; 0 declared names, 1 proposed (H100)"
    )


def test_the_report_has_a_line_for_each():
    """Place, text, outcome, proposal and the reasons in words."""
    lines = report(imported("The saving is 0.300 ms a verify step.\n", small_sources())).splitlines()
    assert lines[-1] == (
        "old.md:1:15: '0.300 ms': bound: {{ q(\"saving\") }} (in its own format; unit ms; words: sav; "
        "every word of its id stands there)"
    )


# What is written


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """A campaign without parts."""
    return Campaign(empty_campaign(tmp_path, monkeypatch).root)


OLD = "# An old post\n\nThe cap was 500 W on two H100 cards, and W01 took 1e-5 of −0.5 s.\n"


def test_an_imported_part_is_refused_until_its_facts_have_sources(campaign):
    """An empty source passes nowhere: reading the part names the fact that lacks one."""
    write_import(campaign, "3", imported(OLD, names=["W01"]), DAY)
    with pytest.raises(CampaignError, match=r"(?s)parts/part-3/facts.toml:.*source.*: cap\n"):
        load(campaign.part("3"))


def test_an_imported_part_builds_to_its_old_text(campaign):
    """Once its facts have sources, the built body is the old post, and no number in it is unbound."""
    write_import(campaign, "part-3", imported(OLD, names=["W01"]), DAY)
    facts = campaign.part("3").facts
    facts.write_text(facts.read_text().replace('source = ""', 'source = "the old post"'))
    built = build(campaign.part("3"))
    assert built.post.body == OLD
    assert (built.coverage.facts, built.coverage.unbound) == (4, 0)
    assert built.sources.facts.post.title == "An old post" and built.sources.facts.post.date == DAY


def test_only_new_files_are_written(campaign):
    """The old post stays as it is, and all that is written lies in the part's new folder."""
    old = campaign.root / "old.md"
    old.write_text(OLD)
    written = write_import(campaign, "3", propose(read_old(old), "old.md", None, ()), DAY)
    folder = campaign.root / "parts/part-3"
    assert old.read_text() == OLD
    assert sorted(written) == sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_part_that_is_there_is_not_overwritten(campaign):
    """A second import into the same part is refused and changes nothing."""
    write_import(campaign, "3", imported(OLD), DAY)
    before = {path: path.read_bytes() for path in campaign.root.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match=r"parts/part-3: is there already"):
        write_import(campaign, "3", imported("Other 7 text\n"), DAY)
    assert {path: path.read_bytes() for path in campaign.root.rglob("*") if path.is_file()} == before


def test_a_part_with_data_gets_a_template_and_proposed_facts_beside_its_own(tmp_path, monkeypatch):
    """Plan, data and facts.toml stay; the proposed facts lie in a file of their own."""
    tried = built_campaign(tmp_path, monkeypatch)
    for name in ("post.md.j2", "post.md"):
        (tried.part.folder / name).unlink()
    before = tried.tree()
    found = imported("The saving is 0.300 ms a verify step, 7.7 s on an H100.\n", load(tried.part))
    write_import(Campaign(tried.root), "part-1", found, DAY)
    added = {name: text for name, text in tried.tree().items() if name not in before}
    assert before.items() <= tried.tree().items()
    assert sorted(added) == [f"parts/part-1/{name}" for name in (STUBS, "import.txt", "post.md.j2")]
    stubs = tomllib.loads(added[f"parts/part-1/{STUBS}"].decode())
    assert stubs["names"] == ["H100"]
    assert [(fact["value"], fact["source"]) for fact in stubs["facts"].values()] == [(7.7, "")]


def test_a_template_that_is_there_is_not_overwritten(tmp_path, monkeypatch):
    """A part with its own prose refuses the import, and nothing is written."""
    tried = built_campaign(tmp_path, monkeypatch)
    before = tried.tree()
    with pytest.raises(UsageError, match=r"parts/part-1/post.md.j2: is there already"):
        write_import(Campaign(tried.root), "part-1", imported("0.300 ms\n", load(tried.part)), DAY)
    assert tried.tree() == before


def test_a_new_part_can_stand_on_a_copy_of_another_part(tmp_path, monkeypatch):
    """Plan, data, facts and credits are copied; what was measured there is only stated here, and the text builds."""
    tried = built_campaign(tmp_path, monkeypatch)
    text = "The saving is 0.300 ms a verify step.\n"
    write_import(Campaign(tried.root), "part-2", imported(text, load(tried.part)), DAY)
    built = build(tried.part_named("part-2"))
    assert (built.post.body, built.coverage.quoted) == (text, 1)
    assert built.sources.data.origin == "stated"


def test_an_old_post_that_is_no_text_is_refused(tmp_path):
    """Bytes that are no UTF-8, and a file that is not there, are refused by name."""
    (tmp_path / "old.md").write_bytes(b"abc \xff")
    with pytest.raises(UsageError, match=r"old.md: byte 4 is not UTF-8"):
        read_old(tmp_path / "old.md")
    with pytest.raises(UsageError, match=r"none.md: cannot be read"):
        read_old(tmp_path / "none.md")


# What is obvious


def test_a_setting_that_the_run_holds_is_its_source():
    """A number beside all the words of a key that holds its value gets that key as its source."""
    run = {"sampling": {"temperature": 0.7}, "power_cap_w": 350, "cards": 2}
    sources = replace(small_sources(), data=replace(small_sources().data, run=run))
    found = imported("It was sampled at a temperature of 0.7, with a power cap of 350 W and 350 others.\n", sources)
    assert [(stub.value, stub.source) for stub in found.facts] == [
        (0.7, "data/run.json: sampling.temperature"),
        (350, "data/run.json: power_cap_w"),
        (350, ""),
    ]
    assert [item.outcome for item in found.items] == ["fact"] * 3


@pytest.mark.parametrize(
    "text",
    [
        "Of the tasks 12 of 16 passed, which is 75 %.",
        "It fell from 40 ms to 30 ms, by 25%.",
        "It takes 30 ms in place of 60 ms, so it is 2.0× as fast.",
    ],
)
def test_a_number_that_those_beside_it_give_is_derived(text):
    """A share of a count, a change and a ratio name the numbers that they follow from."""
    found = imported(f"{text}\n")
    first, second, last = found.facts
    assert last.source.startswith("derived from the numbers beside it: ")
    assert first.id in last.source and second.id in last.source
    assert not first.source and not second.source
    assert " gives it" in found.items[-1].why


@pytest.mark.parametrize("text", ["Of them 12 of 16 passed, which is 74 %.", "A share of 75 % passed."])
def test_a_percentage_that_nothing_gives_says_so(text):
    """Where no numbers beside it give it, or others do, a person is told why it is left to him."""
    found = imported(f"{text}\n")
    assert not found.facts[-1].source
    assert "no count with its total, and no two numbers of one unit, beside it give it" in found.items[-1].why


def test_a_number_without_a_reading_names_the_nearest():
    """What a person looks at first is the reading of the same unit with the nearest value."""
    (item,) = imported("It was 0.31 s, or 0.33 ms a step.\n", small_sources()).items[1:]
    assert (item.outcome, item.why.split(",")[0]) == ("fact", "no reading prints it; the nearest are saving = 0.300")


def test_equal_value_and_unit_alone_bind_nothing():
    """A percentage of two digits with no word of its reading beside it is left to a person."""
    reading = Reading("power.share.most", 37.0, "%", ".0f")
    (item,) = imported("Prices rose by 37 % in a year.\n", with_readings(reading)).items
    assert item.outcome in ("decide", "fact")


def test_digits_inside_code_bind_nothing():
    """A part of an expression in code is a part of a name."""
    reading = Reading("std", 32, "", "d")
    (item,) = imported("The data are `std + 32 std` here.\n", with_readings(reading)).items
    assert item.outcome in ("decide", "fact")


def test_next_steps_name_every_open_place(campaign, monkeypatch):
    """The command ends with what to do: all facts without a source and all numbers to decide by file and line."""
    monkeypatch.chdir(campaign.root)
    (campaign.root / "old.md").write_text(OLD + "\nIt took 1**2**3 ms.\n")
    said = notes("import", "old.md", "--as", "3").stdout
    facts = campaign.part("3").facts.read_text().split("\n")
    lines = [str(n) for n, line in enumerate(facts, 1) if line == 'source = ""']
    assert len(lines) == 4
    assert f"  1. parts/part-3/facts.toml:{lines[0]}: 4 facts lack a source, on lines {', '.join(lines)}: say" in said
    assert (
        "  2. parts/part-3/post.md.j2:5: settle each comment {# decide … #}, on line 5: a quote for the number" in said
    )
    assert said.rstrip().endswith("4. notes build part-3, then notes check part-3")


# What stands above the text

HEAD = "---\ntitle: A saving\ndate: 2026-11-20\ntags: [a]\n---\n\n"


def test_front_matter_becomes_title_and_date(campaign):
    """Its title and date stand in facts.toml, the body begins behind it, and what is left out is told."""
    found = imported(f"{HEAD}# A post\n\nThe cap was 5 W.\n")
    assert found.body == "# A post\n\nThe cap was 5 W.\n"
    assert [(item.line, item.column) for item in found.items] == [(9, 13)]
    told = "the front matter is no text: its title and date go into facts.toml; left out: tags"
    assert found.changes == (told,)
    write_import(campaign, "3", found, DAY)
    post = tomllib.loads(campaign.part("3").facts.read_text())["post"]
    assert post == {"title": "A saving", "date": date(2026, 11, 20)}


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("Published 3 May 2024 by Ada.", date(2024, 5, 3)),
        ("*7 November 2026.*", date(2026, 11, 7)),
        ("It ran on 3 May 2024 for 5 s.", None),
    ],
)
def test_a_line_at_the_top_proposes_the_date(campaign, line, day):
    """A day that a post says it was published on is taken and marked PROPOSED; without one the import's day is."""
    write_import(campaign, "3", imported(f"# A post\n\n{line}\n\nThe cap was 5 W.\n"), DAY)
    facts = campaign.part("3").facts.read_text()
    assert tomllib.loads(facts)["post"]["date"] == (day or DAY)
    assert ("# PROPOSED: look whether this is its date" in facts) == (day is not None)
    assert ("# TO DECIDE: the old post says no date" in facts) == (day is None)


# What cannot stand as it is


def test_a_text_without_numbers_is_refused(campaign):
    """A check of it would have nothing to compare: the import says so, and writes nothing."""
    with pytest.raises(UsageError, match=r"old.md: holds no number"):
        write_import(campaign, "3", imported("# A post\n\nIt is fast.\n"), DAY)
    assert not (campaign.root / "parts/part-3").exists()


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("&#8722;7", "−7"),
        ("5 x 10<sup>3</sup>", "5×10^3"),
        ("**1**,**024**", "1,024"),
        ("3&thinsp;000", "3,000"),
    ],
)
def test_a_number_with_marks_inside_says_what_to_write(written, plain):
    """No quote can print it as it stands; what is to be written in its place is one number, and can be a fact."""
    (item,) = imported(f"It was {written} in the end.\n").items
    assert item.outcome == "decide" and item.why.endswith(f"write {plain}")
    assert [one.outcome for one in imported(f"It was {plain} in the end.\n").items] == ["fact"]


def test_a_comparing_word_without_data_is_a_fact_that_builds(campaign):
    """Where nothing computed is there the word is quoted as a fact; with sources it builds without a loose word."""
    write_import(campaign, "3", imported("It took 4 W, less than the cap of 5 W.\n"), DAY)
    facts = campaign.part("3").facts
    facts.write_text(facts.read_text().replace('source = ""', 'source = "the old post"'))
    assert tomllib.loads(facts.read_text())["facts"]["word.less"]["value"] == "less"
    built = build(campaign.part("3"))
    assert built.comparison.findings == ()
    assert (built.coverage.words, built.coverage.words_bound) == (1, 1)


def test_a_word_between_readings_of_other_units_gets_no_claim():
    """What is measured in other units cannot be compared."""
    count = Reading("tasks.passed", 48, "tasks", "d")
    found = imported("The saving of 0.300 ms a verify step is below the 48 tasks passed.\n", with_readings(count))
    assert [item.outcome for item in found.items] == ["bound", "compared", "bound"]
    assert 'claim("…", "below")' in found.template


# What stands where a reading would


@pytest.mark.parametrize("level", ["", "95 % interval "])
def test_a_wrong_number_beside_its_interval_names_the_reading(level):
    """The ends tell which value belongs there: a transposed one is for a person, with what it would be."""
    saving = small_sources().readings["saving"]
    ends = f"{saving.aspects['lo']:.3f}", f"{saving.aspects['hi']:.3f}"
    found = imported(f"The saving is 0.030 ms ({level}{ends[0]} to {ends[1]} ms).\n", small_sources())
    assert (found.items[0].outcome, found.items[0].why) == (
        "decide",
        "stands where saving would, which prints 0.300",
    )


def test_what_is_needed_is_never_said_to_be_there():
    """A chance just below the bound is not printed as the bound."""
    found = imported(committed("part-5")[1].body(), committed("part-5")[0])
    assert not [item.why for item in found.items if "enough: 85%" in item.why]


def test_hours_are_no_cards():
    """A number of hours is no reading that counts something else."""
    cards = Reading("gpus", 2, "GPUs", "d")
    (item,) = imported("It took two hours of GPU time.\n", with_readings(cards)).items
    assert item.outcome == "fact"


def test_the_part_of_a_total_has_more_conditions():
    """In "48 of 48" the count with the further condition stands first, the count of all behind it."""
    passed = Reading("agentic.new", 48, "runs", "d", formula="count of tasks where kind == 'a' and outcome == 'pass'")
    runs = Reading("agentic_runs.new", 48, "runs", "d", formula="count of tasks where kind == 'a'")
    found = imported("Of the agentic runs 48 of 48 passed.\n", with_readings(passed, runs))
    first = [item.proposal.split('"')[1] for item in found.items]
    assert first == ["agentic.new", "agentic_runs.new"]


# What else it needs


def test_images_beside_the_post_are_copied_and_others_named(campaign, monkeypatch):
    """One that lies there goes into the part; one that does not is a step, by its place."""
    monkeypatch.chdir(campaign.root)
    (campaign.root / "here.svg").write_text("<svg/>")
    (campaign.root / "old.md").write_text("The cap was 5 W.\n\n![a](here.svg)\n\n![b](img/gone.svg)\n")
    said = notes("import", "old.md", "--as", "3").stdout
    assert (campaign.root / "parts/part-3/here.svg").read_text() == "<svg/>"
    assert "old.md:5: shows img/gone.svg, which was not beside it: put it at parts/part-3/img/gone.svg" in said
    assert "shows here.svg" not in said


def test_a_part_that_the_text_reports_on_is_named(tmp_path, monkeypatch):
    """By its name, and by readings that it prints: the way to match with its data is the first step."""
    tried = built_campaign(tmp_path, monkeypatch)
    monkeypatch.chdir(tried.root)
    (tried.root / "old.md").write_text("As in Part 1 the saving is 0.300 ms a verify step.\n")
    said = notes("import", "old.md", "--as", "2").stdout
    assert "  1. the text names Part 1" in said and "import again with --from part-1" in said


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("It takes 5 ms a verify step.", ["verify_step"]),
        ("The old kernel (95 % interval) is slow.", ["interval"]),
        ("It is half of the bar.", ["half_bar"]),
        ("The run took 8m30s on 4 GPUs.", ["run", "gpus"]),
        ("The chance is 93 % here.", ["chance"]),
        ("It took 4 W, less than the cap.", ["number", "word.less"]),
    ],
)
def test_a_fact_is_named_by_its_nouns(text, names):
    """By what it counts, by the noun behind it or by those before it: never by a unit that is measured in."""
    assert [stub.id for stub in imported(f"{text}\n").facts] == names
