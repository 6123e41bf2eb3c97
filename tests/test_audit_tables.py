"""The audit of tables: totals, shares and ratios that the numbers beside them do not give, and right ones."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.notes.audit import Audit, audit

CASES = json.loads((Path(__file__).parent / "data" / "audit-tables.json").read_text())


def table(*rows: str) -> str:
    """A Markdown table of lines whose cells are parted by bars."""
    head, *body = rows
    rule = "|".join("---" for _ in head.split("|"))
    return "\n".join(f"| {row} |" for row in (head, rule, *body)) + "\n"


def audited(*rows: str) -> Audit:
    """The audit of one table."""
    return audit(table(*rows), "any.md")


def found(done: Audit) -> list[tuple[str, str, str]]:
    """Code, what was said and the level of each finding, but for that of nothing tested."""
    return [(one.code, one.said, one.level) for one in done.findings if one.code != "nothing"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_each_wrong_table_is_found_and_no_right_one(case):
    """Of every table in the file exactly the numbers that are wrong are told."""
    text = case["html"] + "\n" if "html" in case else f"{case.get('above', '')}\n\n{table(*case['rows'])}"
    told = [[code, said] for code, said, _ in found(audit(text, "any.md"))]
    assert sorted(told) == sorted(case["expected"])


def test_whole_numbers_are_exact():
    """A total of whole things counted that is off by one is an error, however many items there are."""
    assert found(audited("part | n", "a | 33", "b | 33", "c | 33", "Total | 100")) == [("sum", "100", "error")]


def test_measured_numbers_are_rounded():
    """A total of whole milliseconds may be off by what rounding its items makes."""
    assert found(audited("part | ms", "a | 33", "b | 33", "c | 33", "Total | 100")) == []
    assert found(audited("part | ms", "a | 33", "b | 33", "c | 33", "Total | 103")) == [("sum", "103", "warning")]


def test_a_total_of_the_last_rows_needs_a_reason():
    """A total of the last rows alone is wrong in one column, and right where every column says so or a heading does."""
    assert found(audited("part | n", "a | 5", "b | 10", "c | 20", "Total | 30")) == [("sum", "30", "error")]
    assert found(audited("part | n | m", "a | 5 | 1", "b | 10 | 4", "c | 20 | 7", "Total | 30 | 11")) == []
    assert found(audited("part | n", "a | 5", "**rest** |", "b | 10", "c | 20", "Total | 30")) == []


def test_a_total_that_its_table_may_leave_out_items_of():
    """Where rows are left out, a total may be more than what is shown, but never less."""
    rows = ["part | n", "a | 5", "b | 10", "… | …"]
    assert found(audited(*rows, "Total | 30")) == []
    assert found(audited(*rows, "Total | 14")) == [("sum", "14", "error")]


def test_a_finding_shows_its_items_and_how_the_sum_is_printed():
    """A total of money is expected with its sign, one of thousands with its letter."""
    (money,) = audited("item | price", "a | $1,200", "b | $300", "Total | $1,700").findings
    assert (money.expected, money.also[0]) == ("$1,500", "2 items give 1500")
    (big,) = audited("part | rows", "a | 1.2k", "b | 3.4k", "Total | 5.9k").findings
    assert big.expected == "4.6k"


def test_what_is_sure_is_an_error_and_what_others_could_explain_a_warning():
    """A speedup of the columns called before and after is sure; one of two other columns is not."""
    rows = ["a | 40 | 20 | 3.0x", "b | 80 | 20 | 5.0x"]
    levels = [level for *_, level in found(audited("case | before (ms) | after (ms) | speedup", *rows))]
    assert levels == ["error", "error"]
    levels = [level for *_, level in found(audited("case | pandas (ms) | ours (ms) | speedup", *rows))]
    assert levels == ["warning", "warning"]


def test_a_wrong_share_is_told_once():
    """The share that is wrong is told, and not besides that the shares no longer give 100 %."""
    rows = ["kind | count | share", "a | 50 | 50%", "b | 30 | 25%", "c | 20 | 20%", "Total | 100 | 100%"]
    assert found(audited(*rows)) == [("share", "25%", "error")]


def test_a_table_in_html_points_into_the_source():
    """A finding in a table of raw HTML has the line and column of its cell."""
    text = "# T\n\n<table>\n<tr><th>part</th><th>n</th></tr>\n<tr><td>a</td><td>1</td></tr>\n"
    text += "<tr><td>b</td><td>2</td></tr>\n<tr><td>Total</td><td>8</td></tr>\n</table>\n"
    (finding,) = audit(text, "any.md").findings
    assert (finding.code, finding.said, finding.line, finding.column) == ("sum", "8", 7, 23)


def test_a_table_in_fenced_html_is_code():
    """HTML that is shown as code is no table."""
    text = "```html\n<table><tr><th>part</th><th>n</th></tr><tr><td>a</td><td>1</td></tr>"
    text += "<tr><td>b</td><td>2</td></tr><tr><td>Total</td><td>8</td></tr></table>\n```\n\n3 dogs\n"
    assert found(audit(text, "any.md")) == []


counts = st.lists(st.integers(min_value=1, max_value=5000), min_size=2, max_size=9)


@given(counts, st.sampled_from(["Total", "**Total**", "Sum", "Totals:", "Grand total", "TOTAL"]), st.integers(1, 400))
@settings(max_examples=40, deadline=None)
def test_any_wrong_total_of_counts_is_an_error_or_a_warning(values, label, off):
    """A right total of counts is fine under any of its names; a greater one is told by however little or much."""
    rows = [f"r{i} | {value}" for i, value in enumerate(values)]
    assert found(audited("part | n", *rows, f"{label} | {sum(values)}")) == []
    assert [said for _, said, _ in found(audited("part | n", *rows, f"{label} | {sum(values) + off}"))] == [
        str(sum(values) + off)
    ]


@given(st.lists(st.tuples(st.integers(1, 999), st.integers(1000, 9999)), min_size=1, max_size=6), st.integers(0, 2))
@settings(max_examples=40, deadline=None)
def test_any_wrong_rate_of_counts_is_told(pairs, digits):
    """A rate of "k/n" is fine at any precision; each that is moved by a tenth of the whole is told, even if all are."""
    right = [f"r{i} | {k}/{n} | {100 * k / n:.{digits}f}%" for i, (k, n) in enumerate(pairs)]
    assert found(audited("suite | passed | rate", *right)) == []
    wrong = [f"r{i} | {k}/{n} | {100 * k / n + 10:.{digits}f}%" for i, (k, n) in enumerate(pairs)]
    assert len(found(audited("suite | passed | rate", *wrong))) == len(pairs)
