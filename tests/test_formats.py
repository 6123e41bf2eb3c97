"""Findings as a terminal, JSON, GitHub, code scanning and test reports show them."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.campaigns import TriedCampaign, built_campaign

from campaign.notes.findings import CODES, Coverage, Finding, Report
from campaign.notes.formats import github, junit, sarif
from campaign.notes.formats import terminal as coloured

COVERAGE = Coverage(9, 5, 2, 1, 0, 1, 3, 2)
WRONG = Finding("changed", "post.md", 2, 7, "0.31", "0.13", "reading saving", "notes build part-1", length=4)
LOOSE = Finding("claim", "post.md", 3, 1, "All", "a claim", "", "write a claim", level="warning", length=3)
TOLD = Finding("unquoted", "plan.toml", 4, 1, "steps", "a quote", "", "quote it", level="note")


def terminal(*arguments: Any, **settings: Any) -> str:
    return click.unstyle(coloured(*arguments, **settings))


def report(*findings: Finding, cannot_tell: str = "") -> Report:
    return Report("part-1", "post.md", COVERAGE, findings, cannot_tell, ["the data are stated"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "post.md").write_text("One\nsaves 0.31 ms\nAll rows\n")
    return tmp_path


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


# Terminal


def test_caret_stands_below_what_is_wrong(root):
    """A finding shows its line with a caret under each wrong character, the lines around it, and what mends it."""
    assert terminal([report(WRONG)], root, 80).split("\n")[:9] == [
        "post.md:2:7: error[changed]: said '0.31', expected '0.13'",
        "   |",
        " 1 | One",
        " 2 | saves 0.31 ms",
        "   |       ^^^^",
        " 3 | All rows",
        "   |",
        "   = reading saving",
        "   = to mend: notes build part-1",
    ]


def test_caret_counts_columns_not_characters(root):
    """Wide characters take two columns of a terminal, combining ones none."""
    (root / "post.md").write_text("x\n測e\u0301 0.31\n")
    shown = terminal([report(Finding("changed", "post.md", 2, 5, "0.31", "0.13", "", "m", length=4))], root, 80)
    assert "   |     ^^^^" in shown.split("\n")


def test_long_line_is_cut_around_what_is_wrong(root):
    """What is wrong is always seen, and no line of the file runs over the edge."""
    line = "a word " * 60
    (root / "post.md").write_text(f"{line}0.31 ms {line}\n")
    finding = Finding("changed", "post.md", 1, len(line) + 1, "0.31", "0.13", "", "m", length=4)
    lines = terminal([report(finding)], root, 80).split("\n")
    own = next(i for i, text in enumerate(lines) if text.startswith(" 1 |"))
    assert len(lines[own]) <= 80
    start = lines[own + 1].index("^")
    assert lines[own][start : start + 4] == "0.31" and lines[own + 1].count("^") == 4


def test_file_that_is_not_here_is_named_without_its_line(root):
    """A finding about a file that cannot be shown is told all the same."""
    shown = terminal(
        [report(Finding("stale", "gone.svg", 1, 1, "no plot", "points", "", "notes build part-1"))], root, 80
    )
    assert shown.startswith("gone.svg:1:1: error[stale]: said 'no plot', expected 'points'\n   = to mend")


def test_notes_are_counted_and_shown_on_request(root):
    """What only informs does not hide what is wrong."""
    assert "plan.toml" not in terminal([report(TOLD)], root, 80)
    assert "1 note not shown; --notes shows them" in terminal([report(TOLD)], root, 80)
    assert "plan.toml:4:1: note[unquoted]" in terminal([report(TOLD)], root, 80, notes=True)


def test_every_kind_of_finding_is_explained(root):
    """Below the findings each kind among them is explained once."""
    shown = terminal([report(WRONG, WRONG)], root, 80)
    assert shown.count(f"changed: {CODES['changed']}") == 1


@given(st.text(max_size=200), st.integers(1, 220), st.integers(0, 300), st.integers(40, 120))
def test_any_line_can_be_shown(tmp_path_factory, text, column, length, width):
    """No character, column or width makes the terminal's form fail, and a line keeps to the width."""
    root = tmp_path_factory.mktemp("root")
    (root / "post.md").write_bytes(text.encode("utf-8", errors="replace"))
    lines = terminal([report(Finding("word", "post.md", 1, column, "a", "b", "", "m", length=length))], root, width)
    assert lines.split("\n")[0].startswith("post.md:1:")


# Programs


def test_json_has_each_finding_by_its_fields(campaign):
    """One object for a part, with findings, coverage and what could not be told."""
    campaign.change("saves 0.300", "saves 0.301")
    said = json.loads(campaign.notes("check", "1", "--format", "json", exit=1).stdout)
    (one,) = said["findings"]
    assert (one["code"], one["said"], one["expected"], one["line"], one["length"]) == (
        "changed",
        "0.301",
        "0.300",
        8,
        5,
    )
    assert said["coverage"]["numbers"] > 15 and said["cannot_tell"] == ""


def test_github_annotates_the_line():
    """A workflow command names file, line and columns; its text keeps its lines as GitHub asks."""
    first = github([report(WRONG)]).split("\n")[0]
    assert first.startswith("::error file=post.md,line=2,col=7,endColumn=11,title=notes%3A changed::said '0.31'")
    assert first.endswith("(reading saving).%0ATo mend: notes build part-1")


def test_github_has_no_text_that_a_runner_reads_as_a_command():
    """Percent signs and line ends of a text are escaped."""
    one = Finding("changed", "a,b:c.md", 1, 1, "95%\n::error::x", "5%", "", "m")
    lines = github([report(one)]).split("\n")
    assert lines[0].startswith("::error file=a%2Cb%3Ac.md,") and "95%25" in lines[0]
    assert not any(line.startswith("::error::x") for line in lines)


def test_github_tells_what_cannot_be_told():
    """A shallow clone is an error of the run, not silence."""
    assert "::error title=notes%3A cannot tell::part-1: a shallow clone" in github(
        [report(cannot_tell="a shallow clone")]
    )


def test_sarif_places_each_result():
    """A result has its rule, level, place with columns, and message."""
    run = json.loads(sarif([report(WRONG, LOOSE)]))["runs"][0]
    first, second = run["results"]
    assert (first["ruleId"], first["level"], second["level"]) == ("changed", "error", "warning")
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "post.md", "uriBaseId": "ROOT"},
        "region": {"startLine": 2, "startColumn": 7, "endColumn": 11},
    }
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(CODES) and rules[first["ruleIndex"]]["id"] == "changed"


def test_sarif_tells_a_run_that_could_not_decide():
    """What cannot be told makes the invocation unsuccessful."""
    (done,) = json.loads(sarif([report(cannot_tell="a shallow clone")]))["runs"][0]["invocations"]
    assert done["executionSuccessful"] is False
    assert done["toolExecutionNotifications"][0]["message"]["text"] == "part-1: a shallow clone"


def test_junit_counts_failures():
    """Each error is a failed case, each kind without errors a passed one; warnings are told in the output."""
    suite = ElementTree.fromstring(junit([report(WRONG, LOOSE)]))[0]
    assert (suite.get("failures"), suite.get("errors"), suite.get("tests")) == ("1", "0", str(len(CODES)))
    (failed,) = suite.findall("testcase/failure")
    assert failed.get("type") == "changed" and "notes build part-1" in (failed.text or "")
    assert "warning[claim]" in (suite.findtext("system-out") or "")


def test_junit_is_xml_whatever_a_text_holds():
    """Characters that XML has no way to say are replaced."""
    one = Finding("changed", "post.md", 1, 1, "a\x00b\x1b[0m", "\ufffe", "", "m")
    assert ElementTree.fromstring(junit([report(one)])) is not None


@pytest.mark.parametrize("form", ["json", "sarif", "junit"])
def test_output_for_programs_is_nothing_else(campaign, form):
    """What a program reads from the standard output is the document alone, with findings and without."""
    read = ElementTree.fromstring if form == "junit" else json.loads
    read(campaign.notes("check", "1", "--format", form).stdout)
    campaign.change("saves 0.300", "saves 0.301")
    read(campaign.notes("check", "1", "--format", form, exit=1).stdout)
