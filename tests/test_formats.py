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

from campaign.notes.findings import CODES, NOTHING_COVERED, Coverage, Finding, Report
from campaign.notes.formats import as_json, colour, github, junit, sarif
from campaign.notes.formats import terminal as coloured

COVERAGE = Coverage(9, 5, 2, 1, 0, 1, 3, 2)
WRONG = Finding("changed", "post.md", 2, 7, "0.31", "0.13", "reading saving", "notes build part-1", length=4)
LOOSE = Finding("claim", "post.md", 3, 1, "All", "a claim", "", "write a claim", level="warning", length=3)
TOLD = Finding("unquoted", "plan.toml", 4, 1, "steps", "a quote", "", "quote it", level="note")
BAD = "parts/part-1/data/rows.csv:3: no number; expected one. Correct it."
UNREAD = Report("part-1", "parts/part-1/post.md", NOTHING_COVERED, (), unreadable=BAD)
UNDECIDED = Report("part-1", "parts/part-1/post.md", NOTHING_COVERED, (), cannot_tell="no post.md. Build it.")


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
    assert "1 note not shown; --notes shows it" in terminal([report(TOLD)], root, 80)
    assert "plan.toml:4:1: note[unquoted]" in terminal([report(TOLD)], root, 80, notes=True)


def test_every_kind_of_finding_is_explained(root):
    """Below the findings each kind among them is explained once."""
    shown = terminal([report(WRONG, WRONG)], root, 80)
    assert shown.count(f"changed: {CODES['changed']}") == 1


def test_long_head_is_wrapped_on_a_terminal_alone(root):
    """On a terminal no line runs over its edge; in a pipe the place, what was said and what was expected are a line."""
    long = Finding("kept", "post.md", 2, 7, "a word " * 15, "another " * 15, "", "m", length=4)
    assert max(map(len, terminal([report(long)], root, 80).split("\n"))) <= 80
    head = terminal([report(long)], root, 80, wrap=False).split("\n")[0]
    assert long.said in head and long.expected in head


def test_long_texts_stand_one_below_the_other(root):
    """On a terminal what is said and what is expected can be compared by eye."""
    said, expected = "Every rs8 row is above the minimum of the row", "Every rs8 row is below the minimum of the row"
    shown = terminal([report(Finding("changed", "post.md", 2, 1, said, expected, "", "m", length=9))], root, 80)
    assert shown.split("\n")[:3] == [
        "post.md:2:1: error[changed]:",
        f"    said     '{said}'",
        f"    expected '{expected}'",
    ]


def test_command_is_never_broken(root):
    """A command in a mend stands on one line, wide as it may be: half of it, pasted, would do something else."""
    command = f"git checkout {'a' * 40} -- parts/part-1/data/a-file-with-a-long-name.csv"
    for mend in (f"`{command}`, or leave it", f"{command}, or leave it"):
        shown = terminal([report(Finding("kept", "post.md", 2, 1, "a", "b", "", mend))], root, 80)
        assert any(command in line for line in shown.split("\n"))


def test_what_follows_from_a_change_is_listed_below_it(root):
    """Many findings with one cause are a line each, and there is one mend."""
    (root / "data.csv").write_text("a,b\n1,2\n")
    cause = Finding("kept", "data.csv", 2, 3, "2", "3", "data-changed", "bring it back", length=1)
    those = [Finding("changed", "post.md", 2, at, f"{at}", "9", "reading x", "m", cause=cause.name) for at in range(5)]
    shown = terminal([report(cause, *those)], root, 80)
    assert "   = from it follow:\n     post.md:2:0: error[changed]: said '0', expected '9' (reading x)\n" in shown
    assert shown.count("to mend") == 1 and "5 findings" not in shown and "6 findings in post.md" in shown


def test_few_that_follow_are_shown_whole(root):
    """One or two consequences have their lines, and name what they follow from."""
    cause = Finding("kept", "data.csv", 2, 3, "2", "3", "data-changed", "bring it back", length=1)
    shown = terminal([report(cause, Finding(**vars(WRONG) | {"cause": cause.name}))], root, 80)
    assert "   = follows from kept at data.csv:2:3\n" in shown and " 2 | saves 0.31 ms" in shown


def test_part_that_was_not_checked_is_named_and_its_file(root):
    """No line says that nothing was found where nothing was checked."""
    for one, about in ((UNREAD, "parts/part-1/data/rows.csv"), (UNDECIDED, "parts/part-1/post.md")):
        shown = terminal([one], root, 80, wrap=False)
        assert shown.startswith("part-1: not checked") and about in shown and "no findings" not in shown


def test_what_could_not_be_told_is_no_absence_of_findings(root):
    """A shallow clone says on its last line that not everything could be told, with findings and without."""
    last = terminal([report(cannot_tell="shallow")], root, 160).split("\n")[-1]
    assert last.startswith("part-1: nothing wrong in what is here, but not everything can be told")
    last = terminal([report(WRONG, cannot_tell="shallow")], root, 160).split("\n")[-1]
    assert last.startswith("part-1: 1 finding in post.md, but not everything can be told")


@pytest.mark.parametrize(
    ("coverage", "said"),
    [
        (Coverage(1, 0, 1, 0, 1, 0, 1, 1, 1), "1 number: 0 quoted, 1 fact, 0 structure, 0 unbound; 1 comparing word, "
         "1 bound (1 by a claim); 1 name"),
        (Coverage(2, 0, 2, 0, 0, 0, 2, 2, 2), "2 numbers: 0 quoted, 2 facts, 0 structure, 0 unbound; 2 comparing "
         "words, 2 bound (2 by claims); 0 names"),
    ],
)  # fmt: skip
def test_one_is_singular(coverage, said):
    """Nouns agree with their counts."""
    assert str(coverage) == said


@pytest.mark.parametrize(
    ("said", "paint"),
    [
        ({}, None),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, None),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, None),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_colours_are_as_the_user_says(said, paint):
    """NO_COLOR and FORCE_COLOR count where they are not empty; without them the terminal decides."""
    assert colour(said) is paint


def test_a_check_heeds_the_colours(campaign, monkeypatch):
    """A pipe gets no escapes but where they are forced."""
    campaign.change("saves 0.300", "saves 0.301")
    assert "\x1b" not in campaign.notes("check", "1", exit=1).stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[31m" in campaign.notes("check", "1", exit=1).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in campaign.notes("check", "1", exit=1).stdout


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
        "artifactLocation": {"uri": "post.md", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 2, "startColumn": 7, "endColumn": 11},
    }
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(CODES) and rules[first["ruleIndex"]]["id"] == "changed"


def test_sarif_tells_a_run_that_could_not_decide():
    """What cannot be told makes the invocation unsuccessful."""
    (done,) = json.loads(sarif([report(cannot_tell="a shallow clone")]))["runs"][0]["invocations"]
    assert done["executionSuccessful"] is False
    assert done["toolExecutionNotifications"][0]["message"]["text"] == "part-1: a shallow clone"


def test_sarif_has_a_notification_for_a_part_that_cannot_be_read():
    """It has the file and line that the message begins with, and the run is no success and has its exit code."""
    run = json.loads(sarif([UNREAD, report(WRONG)], exit_code=2))["runs"][0]
    (done,) = run["invocations"]
    (told,) = done["toolExecutionNotifications"]
    assert (done["executionSuccessful"], done["exitCode"], len(run["results"])) == (False, 2, 1)
    assert told["descriptor"]["id"] in {one["id"] for one in run["tool"]["driver"]["notifications"]}
    assert told["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "parts/part-1/data/rows.csv", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3},
    }


def test_sarif_names_files_by_uris():
    """What a URI has no room for is written in percent."""
    one = Finding("changed", "a b/Größe #1 100%.md", 1, 1, "1", "2", "", "m")
    (result,) = json.loads(sarif([report(one)]))["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20b/Gr%C3%B6%C3%9Fe%20%231%20100%25.md"


def test_files_are_named_from_the_top_of_the_repository(tmp_path):
    """A campaign that lies below the top is found there; a file outside keeps its own name."""
    (tmp_path / ".git").mkdir()
    below = tmp_path / "notes" / "campaign"
    below.mkdir(parents=True)
    outside = Finding("changed", "/elsewhere/any.md", 1, 1, "1", "2", "", "m")
    first, second = json.loads(sarif([report(WRONG, outside)], below))["runs"][0]["results"]
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"] for one in (first, second)]
    assert places == [
        {"uri": "notes/campaign/post.md", "uriBaseId": "%SRCROOT%"},
        {"uri": "file:///elsewhere/any.md"},
    ]
    assert github([report(WRONG)], below).startswith("::error file=notes/campaign/post.md,line=2,")


def test_json_has_an_object_for_a_part_that_cannot_be_read():
    """It says why, and has the keys of the others."""
    first, second = map(json.loads, as_json([UNREAD, report(WRONG)]).split("\n"))
    assert (first["part"], first["unreadable"], first["findings"]) == ("part-1", BAD, [])
    assert first.keys() == second.keys() and second["unreadable"] == ""


def test_github_annotates_the_file_that_cannot_be_read():
    """The annotation stands at the line that the message begins with."""
    assert github([UNREAD]).split("\n")[0] == (
        f"::error file=parts/part-1/data/rows.csv,line=3,title=notes%3A unreadable::part-1: {BAD}"
    )


@pytest.mark.parametrize("one", [UNREAD, UNDECIDED])
def test_junit_passes_nothing_that_was_not_checked(one):
    """A part without a check is one case with an error."""
    suites = ElementTree.fromstring(junit([one]))
    assert [suites.get(count) for count in ("tests", "failures", "errors")] == ["1", "0", "1"]
    assert len(suites.findall("testsuite/testcase/error")) == 1


def test_junit_passes_nothing_that_git_could_not_tell():
    """What needs the history does not pass without it."""
    suite = ElementTree.fromstring(junit([report(cannot_tell="a shallow clone")]))[0]
    names = {case.get("name") for case in suite.findall("testcase")}
    assert "kept" not in names and {"changed", "cannot tell"} <= names
    assert suite.get("tests") == str(len(names))


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
