"""The audit: what printed numbers say of each other, without any data."""

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from campaign.notes.audit import Audit, audit, audit_blocks
from campaign.notes.findings import CODES
from campaign.notes.numbers import find_in
from campaign.notes.reader import read

ROOT = Path(__file__).resolve().parents[1]


def found(text: str) -> list[tuple[str, str, str]]:
    """Code, what was said and what was expected of each finding."""
    return [(one.code, one.said, one.expected) for one in audit(text, "any.md").findings]


def table(*rows: str) -> str:
    """A Markdown table of lines whose cells are parted by bars."""
    head, *body = rows
    rule = "|".join("---" for _ in head.split("|"))
    return "\n".join(f"| {row} |" for row in (head, rule, *body)) + "\n"


def clean(text: str) -> Audit:
    """The audit of a text, which must have tested something and found nothing."""
    done = audit(text, "any.md")
    assert done.coverage.tested > 0
    assert list(done.findings) == []
    return done


# Sums


def test_a_total_that_its_items_give_is_no_finding():
    """A total row that is the sum of its column is tested and fine."""
    assert clean(table("engine | rows", "a | 12", "b | 30", "Total | 42")).coverage.sums == 1


def test_a_total_that_its_items_do_not_give_is_found():
    """A total of whole numbers that is off by one is an error at its own cell."""
    done = audit(table("engine | rows | s", "a | 12 | 1.0", "b | 30 | 2.0", "Total | 44 | 3.0"), "any.md")
    (finding,) = done.findings
    assert (finding.code, finding.said, finding.expected, finding.level) == ("sum", "44", "42", "error")
    assert (finding.line, finding.column, finding.length) == (5, 11, 2)
    assert "item '12' at 3:7" in finding.also


def test_rounded_items_may_miss_their_total():
    """Items of one decimal may add up to a total that is off by their rounding."""
    clean(table("part | ms", "a | 1.3", "b | 1.3", "c | 1.3", "Total | 4.0"))


@pytest.mark.parametrize(
    "text",
    [
        table("part | mean ms", "a | 10", "b | 30", "Overall | 20"),
        table("part | speedup", "a | 1.5x", "b | 2.5x", "Total | 1.9x"),
        table("part | peak MB", "a | 10", "b | 30", "Total | 30"),
        table("part | n", "a | ~10", "b | 30", "Total | 41"),
        table("run | n", "a | 10", "b | 30", "All | 700"),
    ],
)
def test_what_need_not_be_a_sum_is_not_tested(text):
    """Means, ratios, maxima, rough numbers and "all" of something else are no sums."""
    assert found(text) == []


def test_a_total_column_is_the_sum_of_those_before_it():
    """In a total column the row that its items do not give is found."""
    rows = ["layer | up | down | total", "a | 1 | 2 | 3", "b | 3 | 4 | 7", "c | 5 | 6 | 11", "d | 7 | 8 | 18"]
    assert found(table(*rows)) == [("sum", "18", "15")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12 + 30 = 43 rows", [("sum", "43", "42")]),
        ("1.25 + 1.25 = 2.6", [("sum", "2.6", "2.5")]),
        ("2 × 3 × 4 = 25", [("sum", "25", "24")]),
        ("12 + 30 = 42 rows", []),
        ("1.25 + 1.25 = 2.5", []),
        ("x + 2 + 3 = 7", []),
        ("7 + 8 = 3 (mod 12)", []),
    ],
)
def test_a_sum_in_a_sentence(text, expected):
    """A sum that is written out must hold; one with a variable or a modulus is left alone."""
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("214 numbers: 187 quoted, 15 facts, 12 structure.", []),
        ("12 tests: 9 passed, 3 failed", []),
        ("12 tests: 9 passed, 2 failed", [("sum", "12", "11")]),
        ("9 passed, 2 failed: 12 tests in total.", [("sum", "12", "11")]),
        ("4 GPUs: 8 cores, 16 threads.", []),
        ("3 files: 12 insertions, 4 deletions", []),
    ],
)
def test_parts_of_a_whole(text, expected):
    """Parts that a sentence sums up must give their whole; a list of other things is none."""
    assert found(text) == expected


# Shares


@pytest.mark.parametrize("share", ["2.13 %", "2.12 %", "2.125%", "2 %", "2.1%"])
def test_a_share_may_be_rounded_in_any_way(share):
    """17 of 800 is 2.125 %: half up, half even and cut off are all right."""
    clean(f"17 of 800 ({share})")


@pytest.mark.parametrize("text", ["48 of 60 (81 %) passed", "81 %: 48 of 60", "48/60 = 81%", "48/60 = 0.81"])
def test_a_share_that_its_counts_do_not_give_is_found(text):
    """48 of 60 is 80 %, whatever the form."""
    assert [code for code, *_ in found(text)] == ["share"]


@pytest.mark.parametrize(
    "text", ["10 of 12 tests (100% of the fast ones) passed", "5 of the 8 (at 90% load)", "3 of 4 (about 80 %)"]
)
def test_another_percentage_in_brackets_is_no_share(text):
    """A percentage that has its own words is of something else."""
    assert found(text) == []


def test_shares_of_a_whole_must_add_up():
    """Shares above a total of 100 % that give less are found; those within rounding are not."""
    rows = ["part | share", "a | 41%", "b | 33%", "c | 25%", "Total | 100%"]
    clean(table(*rows))
    assert found(table(*rows).replace("41%", "31%")) == [("share", "100%", "89%")]


def test_a_share_column_follows_from_its_counts():
    """One share of many that its count and the sum of all do not give is found."""
    rows = ["kind | count | % of total", "a | 6740 | 37.1%", "b | 6469 | 35.6%", "c | 2939 | 16.2%", "d | 2004 | 11.0%"]
    assert found(table(*rows)) == []
    assert ("share", "17.2%", "16.2%") in found(table(*rows).replace("16.2%", "17.2%"))


def test_counts_with_their_whole_in_one_cell():
    """A column of "k of n" is held against the percentages beside it."""
    rows = ["kernel | wrong | share", "a | 37 of 130 | 28 %", "b | 58 of 130 | 45 %", "c | 13 of 130 | 10 %"]
    rows.append("d | 26 of 130 | 21 %")
    assert found(table(*rows)) == [("share", "21 %", "20%")]


# Ratios

RIPGREP = [
    "Tool | Lines | Time",
    "ripgrep | 6749 | **15.569s** (1.00x)",
    "[ugrep](https://example.org/ugrep) | 6749 | 21.857s (1.40x)",
    "GNU grep | 6749 | 32.409s (2.08x)",
    "GNU grep (Unicode) | 6795 | 8m30s (32.74x)",
]


def test_ratios_from_raw_times_follow_as_intervals():
    """Ratios that were computed before rounding follow from printed times, 8m30s as half a second to either side."""
    assert clean(table(*RIPGREP)).coverage.ratios == 3


def test_a_ratio_out_of_reach_is_found():
    """A ratio that no times printed so can give is an error that shows its operands."""
    done = audit(table(*RIPGREP).replace("2.08x", "2.18x"), "any.md")
    (finding,) = done.findings
    assert (finding.code, finding.said, finding.expected, finding.level) == ("ratio", "2.18x", "2.08×", "error")
    assert any("32.409s" in line and "5:21" in line for line in finding.also)


def test_a_speedup_column_against_two_columns():
    """A speedup is held against the two columns that the others follow from."""
    rows = ["case | before (ms) | after (ms) | speedup", "a | 29.79 | 4.93 | 6.04x", "b | 13.09 | 5.90 | 2.22x"]
    rows += ["c | 58.68 | 21.38 | 2.74x", "d | 10.00 | 4.00 | 2.40x"]
    assert found(table(*rows)) == [("ratio", "2.40x", "2.50×")]


def test_a_row_of_speedups():
    """The same holds where settings are columns and the ratio is a row."""
    rows = [
        "what | a | b | c | d",
        "before, ms | 29.79 | 13.09 | 58.68 | 10.00",
        "after, ms | 4.93 | 5.90 | 21.38 | 4.00",
    ]
    rows.append("speedup | 6.04x | 2.22x | 2.74x | 2.40x")
    assert found(table(*rows)) == [("ratio", "2.40x", "2.50×")]


def test_times_in_several_units():
    """Milliseconds and microseconds of one table are compared in one unit."""
    rows = ["case | before | after | speedup", "a | 78.45ms | 15.98ms | 4.91x", "b | 1.02ms | 714µs | 1.43x"]
    clean(table(*rows, "c | 3.73ms | 3.40ms | 1.10x"))


def test_another_column_that_explains_all_is_believed():
    """Where a coarse column explains every ratio, a finer one that does not is no evidence."""
    rows = [
        "library | latency (ms) | operations | relative (latency)",
        "a | 0.03 | 28817.3 | 1",
        "b | 0.18 | 5478.2 | 5.26",
    ]
    assert found(table(*rows, "c | 0.1 | 9686.4 | 2.98", "d | 0.26 | 3901.3 | 7.39", "e | 0.18 | 5437 | 5.27")) == []


def test_ratios_of_something_else_are_not_tested():
    """Where most ratios do not follow from the columns beside them, none is told."""
    rows = [
        "case | x (ms) | y (ms) | speedup",
        "a | 10.0 | 20.0 | 7.3x",
        "b | 11.0 | 25.0 | 5.1x",
        "c | 12.0 | 31.0 | 6.6x",
    ]
    assert found(table(*rows)) == []


def test_rows_of_different_units():
    """Each row of a table of metrics has its own unit; its change is of its own two numbers."""
    rows = ["metric | before | after | change", "size | 35% | 15% | -57%", "profit | 0.5% | 1.5% | +200%"]
    rows += ["loss | 3.0% | 1.0% | -67%", "trade | $21,000 | $9,000 | -57%"]
    assert found(table(*rows)) == []
    assert found(table(*rows).replace("| -67%", "| -76%")) == [("ratio", "-76%", "-67%")]


def test_percentage_points_may_be_printed_as_percent():
    """The difference of two percentages is no wrong change of them."""
    clean(table("metric | before | after | change", "a | 74.4% | 99.0% | +24.6%", "b | 67.1% | 92.1% | +25.0%"))


def test_two_rows_of_which_one_follows_are_a_warning():
    """With two rows alone, the one that does not follow as the other does is only likely to be wrong."""
    rows = [
        "width | eager | captured | speedup",
        "128 | 14.36 ms | 1.65 ms | 8.72×",
        "256 | 15.41 ms | 1.68 ms | 9.98×",
    ]
    done = audit(table(*rows), "any.md")
    assert [(one.said, one.expected, one.level) for one in done.findings] == [("9.98×", "9.17×", "warning")]


@pytest.mark.parametrize(
    "text",
    [
        "It fell from 12.5 ms to 10.0 ms, a 20 % drop.",
        "It went from 200 to 100 ms (2× faster).",
        "100 ms vs 50 ms (2×)",
        "Latency 12.3 → 9.8 ms (−20 %)",
        "Accuracy rose from 40 % to 50 %, a 25% increase.",
        "It rose from 1,000 to 3,000 req/s, a 2.96x improvement",
    ],
)
def test_a_change_that_follows(text):
    """A change that its two numbers give is tested and fine."""
    assert clean(text).coverage.ratios == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It fell from 12.5 ms to 10.0 ms, a 30 % drop.", ("ratio", "30 %", "20%")),
        ("It went from 200 to 100 ms (3× faster).", ("ratio", "3×", "2×")),
        ("Latency 12.3 → 9.8 ms (−30 %)", ("ratio", "−30 %", "-20%")),
        ("It grew from 10.0 ms to 12.5 ms, a 25 % drop.", ("ratio", "25 %", "a rise")),
        ("from 9.8 ms to 12.3 ms, 1.26× faster", ("ratio", "1.26×", "a rise")),
    ],
)
def test_a_change_that_does_not_follow(text, expected):
    """A wrong size of a change, and a wrong direction, are found."""
    assert found(text) == [expected]


@pytest.mark.parametrize("text", ["From 1 to 8 threads, a 6.1x speedup.", "Going from 4 to 8 GPUs (1.8× faster)."])
def test_settings_are_no_operands(text):
    """A number of threads or GPUs is what was set, not what got faster."""
    assert found(text) == []


# Order


def test_a_rank_out_of_line_is_found():
    """Ranks run 1, 2, 3; a tie may repeat or skip."""
    rows = ["rank | engine", "1 | a", "2 | b", "2 | c", "4 | d"]
    clean(table(*rows))
    assert found(table(*rows[:3], "4 | c", "5 | d")) == [("order", "4", "3 after 2")]


SORTED = ["engine | time (s) | memory", "x | 1.5 | 9", "y | 2.5 | 8", "z | 2.0 | 12", "w | 3.5 | 7"]


def test_a_table_that_says_how_it_is_sorted():
    """A table that its text calls sorted by a column is held to it."""
    assert found(f"The results, sorted by time:\n\n{table(*SORTED)}") == [
        ("order", "2.0", "rising numbers in 'time (s)'")
    ]
    assert found(f"The results, in no order:\n\n{table(*SORTED)}") == []


def test_the_direction_that_is_said():
    """A table in falling order is not in ascending order."""
    falling = table("engine | time (s)", "x | 3.5", "y | 2.5", "z | 1.5")
    clean(f"The results, sorted by time:\n\n{falling}")
    assert [code for code, *_ in found(f"The results, sorted by time, ascending:\n\n{falling}")] == ["order"]


def test_a_long_column_in_order_but_for_one_row_is_a_warning():
    """Twelve rows in order but for one neighbouring pair say how they are meant to be sorted."""
    times = [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 4.5, 5.5, 6.0, 6.5, 7.0]
    names = "kiwi lime pear plum fig date nut oat rye pea yam corn".split()
    rows = [f"{name} | {time} | {(i * 7) % 12}" for i, (name, time) in enumerate(zip(names, times, strict=True))]
    done = audit(table("fruit | time (s) | memory", *rows), "any.md")
    assert [(one.code, one.level, one.said) for one in done.findings] == [("order", "warning", "4.5")]


# Counts

LIST = "\n- one thing\n- another thing\n- a last thing\n"


@pytest.mark.parametrize("count", ["four", "4"])
def test_a_count_before_a_list(count):
    """A count right before the colon that opens a list must be its length."""
    assert found(f"There are {count} reasons:\n{LIST}") == [("count", count, "3")]
    clean(f"There are three reasons:\n{LIST}")


@pytest.mark.parametrize(
    "text",
    [
        f"Pick one of four options, for example:\n{LIST}",
        f"At least four reasons:\n{LIST}",
        f"There are four reasons. Some of them:\n{LIST}",
        "Two problems are fixed:\n\n- one is idempotent\n- one runs once\n- NOTE: there are others\n",
        "It has 6 inputs:\n\n- `q`, a tensor\n- `start` and `end`, tensors\n- `c`, a flag\n- `d`\n- `e`\n",
    ],
)
def test_a_count_of_something_else_is_left_alone(text):
    """A count that is rough, far from the colon, or of items that name two things is not told."""
    assert found(text) == []


def test_a_numbered_list_goes_on_after_code():
    """A numbered list that code interrupts is counted as one."""
    clean("Three steps:\n\n1. first\n\n```\nx\n```\n\n2. then\n3. last\n")


def test_entries_of_a_section_against_its_summary():
    """A line of counts is held against the sections below, and "only one" against the line."""
    text = (
        "# Log\n\nOnly one outright regression this week.\n\n2 Regressions, 2 Improvements\n\n"
        "#### Regressions\n\nfirst\n- a\n\nsecond\n- b\n\n#### Improvements\n\nthird\n- c\n"
    )
    assert found(text) == [("count", "one", "2"), ("count", "2", "1")]


def test_all_rows_of_the_only_table():
    """A sentence of all 4 engines beside a table of three engines is found."""
    rows = table("Engine | ms", "a | 1.5", "b | 2.5", "c | 3.5")
    assert found(f"# T\n\nAll 4 engines ran.\n\n{rows}") == [("count", "4", "3")]
    clean(f"# T\n\nAll three engines ran.\n\n{rows}")


# Twice


def test_a_row_that_is_there_twice():
    """Two rows of one label in a table of unique labels must agree."""
    rows = ["engine | time (s)", "x | 1.5", "y | 2.5", "z | 3.5", "x | 1.6"]
    assert found(table(*rows)) == [("twice", "1.6", "1.5")]


def test_a_sentence_that_names_a_cell():
    """A sentence that names a row and a column prints what stands there, each at its own precision."""
    rows = table("Engine | median | peak", "falcon | 12.41 ms | 3 GB", "heron | 15.20 ms | 4 GB")
    assert found(f"# T\n\nThe falcon median is 12.51 ms.\n\n{rows}") == [("twice", "12.51 ms", "12.41 ms")]
    clean(f"# T\n\nThe falcon median is 12.4 ms.\n\n{rows}")


def test_the_same_words_with_another_number():
    """A summary that repeats a sentence with another number is found."""
    said = "The served engine saves {} ms at every verify step."
    text = f"# Summary\n\n{said.format('0.314')}\n\n# Rows\n\n{said.format('0.341')}\n"
    assert found(text) == [("twice", "0.341 ms", "0.314 ms")]


# What is told


def test_a_text_without_numbers_has_no_finding():
    """Where there is no number there is nothing to say, and that is said."""
    done = audit("No digits here.", "any.md")
    assert not done.findings and not done.notes
    assert str(done.coverage) == "no numbers found"


def test_numbers_of_which_none_was_tested_are_told():
    """Numbers that stand in no relation are counted as not tested, and that is no success."""
    done = audit("It took 12 ms and four tries.", "any.md")
    assert not done.findings
    assert "says nothing about them" in done.notes[0]
    assert str(done.coverage).startswith("2 numbers (1 in words), 0 of them in a relation that was tested, 2 in none")


def test_numbers_in_tested_relations_are_counted():
    """Each number counts once, however many relations it stands in."""
    done = clean("It fell from 12.5 ms to 10.0 ms, a 20 % drop, in 3 of 4 runs on 5 hosts.")
    assert (done.coverage.seen, done.coverage.related) == (6, 3)
    assert "6 numbers, 3 of them in a relation that was tested, 3 in none" in str(done.coverage)


def test_blocks_of_another_reader_are_audited_alike():
    """Without an outline, all but lists and sections is tested on any reader's blocks."""
    text = table(*RIPGREP).replace("2.08x", "2.18x")
    blocks = read(text)
    assert audit_blocks(blocks, find_in(blocks, text), text, "any.md").findings == audit(text, "any.md").findings


@pytest.mark.parametrize(
    "path", ["README.md", "analysis/README.md", *(f"parts/part-{n}/post.md" for n in (4, 5, 6, 7, 8))]
)
def test_the_campaign_itself_is_clean(path):
    """Nothing is wrong in the campaign's own texts."""
    assert found((ROOT / path).read_text()) == []


# Random tables


def shown(value: Decimal, places: int) -> str:
    """A value with so many decimals, half away from zero."""
    return str(value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


amounts = st.integers(min_value=10_000, max_value=9_999_999).map(lambda n: Decimal(n).scaleb(-4))
columns = st.lists(amounts, min_size=4, max_size=8, unique=True)
places = st.integers(min_value=1, max_value=3)


@given(columns, places)
@settings(max_examples=25, deadline=None)
def test_a_right_sum_is_never_told_and_a_wrong_one_always(values, digits):
    """A total printed from raw items is fine at any precision; moved beyond their rounding it is found."""
    rows = [f"r{i} | {shown(value, digits)}" for i, value in enumerate(values)]
    total = sum(values, Decimal(0))
    assert found(table("part | ms", *rows, f"Total | {shown(total, digits)}")) == []
    moved = total + (len(values) + 3) * Decimal(1).scaleb(-digits)
    assert [code for code, *_ in found(table("part | ms", *rows, f"Total | {shown(moved, digits)}"))] == ["sum"]


@given(columns, st.integers(min_value=0, max_value=2))
@settings(max_examples=25, deadline=None)
def test_right_shares_are_never_told_and_a_wrong_one_always(values, digits):
    """Shares of a column are fine at any precision; one that is moved is found."""
    counts = [int(value * 100) for value in values]
    shares = [shown(Decimal(100 * count) / sum(counts), digits) for count in counts]
    rows = [f"r{i} | {count} | {share}%" for i, (count, share) in enumerate(zip(counts, shares, strict=True))]
    assert found(table("part | count | share", *rows)) == []
    assume(len({share for share in shares[1:] if Decimal(share) >= 4 * Decimal(1).scaleb(-digits)}) >= 3)
    rows[0] = f"r0 | {counts[0]} | {Decimal(shares[0]) + 3 * Decimal(1).scaleb(-digits)}%"
    assert "share" in [code for code, *_ in found(table("part | count | share", *rows))]


@given(st.lists(st.tuples(amounts, amounts), min_size=5, max_size=9), places)
@settings(max_examples=25, deadline=None)
def test_right_ratios_are_never_told_and_a_wrong_one_always(pairs, digits):
    """Ratios of two columns are fine at any precision; one that is moved beyond the operands' reach is found."""
    ratios = [old / new for old, new in pairs]
    rows = [
        f"r{i} | {shown(old, digits)} | {shown(new, digits)} | {shown(ratio, 2)}x"
        for i, ((old, new), ratio) in enumerate(zip(pairs, ratios, strict=True))
    ]
    head = "case | before (ms) | after (ms) | speedup"
    assert found(table(head, *rows)) == []
    clear = {ratio.quantize(Decimal("0.01")) for ratio in ratios[1:] if abs(ratio - 1) > Decimal("0.5")}
    assume(len(clear) >= 3)
    rows[0] = rows[0].rpartition("|")[0] + f"| {shown(ratios[0] * 2 + 1, 2)}x"
    assert [code for code, *_ in found(table(head, *rows))] == ["ratio"]


words = st.text(alphabet="ab 01.59%x×|-+=/:()[]#*\n~sm,<>`\\&;_^$\u2212\u00a0\ufffc①½", max_size=300)


@given(st.one_of(st.text(max_size=300), words))
@settings(max_examples=60, deadline=None)
def test_any_text_is_audited(text):
    """No text stops the audit, and every finding points into it."""
    done = audit(text, "any.md")
    lines = text.count("\n") + text.count("\r") + 1
    assert all(one.code in CODES and 1 <= one.line <= lines and one.column >= 1 for one in done.findings)
    assert done.coverage.related <= done.coverage.numbers + done.coverage.words


pieces = st.sampled_from(
    ["|", "12", "3.5 ms", "(2x)", "50%", "Total", "\n", "\n\n", "---|---|---", "- ", "three things:", "a"]
)


@given(st.lists(pieces, max_size=60).map(" ".join))
@settings(max_examples=60, deadline=None)
def test_any_table_is_audited(text):
    """No table, however broken, stops the audit."""
    assert audit(text, "any.md").coverage.numbers >= 0
