"""Waivers: findings that stand for a time, with a reason, an owner and an end."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.campaigns import empty_campaign

from campaign.kernels.errors import CampaignError
from campaign.notes.findings import Finding
from campaign.notes.paths import Campaign
from campaign.notes.waivers import LONGEST_DAYS, NEVER, waived, waived_summary

TODAY = date(2026, 11, 30)
POST = "parts/part-1/post.md"
SEVEN = Finding("unbound", POST, 41, 17, "7", "a number bound to a reading, fact or name", "", "quote it")
"""The finding that most tests waive."""
WAIVER = """\
[[waiver]]
code = "unbound"
text = "7"
reason = "the release is named so"
owner = "Ada"
until = 2027-01-31
"""


@pytest.fixture
def part(tmp_path, monkeypatch):
    """A part with nothing in its folder."""
    campaign = empty_campaign(tmp_path, monkeypatch)
    (campaign.root / "parts/part-1").mkdir(parents=True)
    return Campaign(campaign.root).part("part-1")


def waive(part, text, findings=(SEVEN,), today=TODAY):
    """What `waived` gives for a waivers.toml with this text."""
    (part.folder / "waivers.toml").write_text(text)
    return waived(part, list(findings), today)


def refused(part, text):
    """Why a waivers.toml with this text is refused."""
    with pytest.raises(CampaignError) as why:
        waive(part, text)
    return str(why.value)


def test_a_part_without_waivers_keeps_its_findings(part):
    """Where there is no waivers.toml the findings are those that went in, and nothing is waived."""
    assert waived(part, [SEVEN], TODAY) == ([SEVEN], [])


def test_a_waived_finding_becomes_a_note(part):
    """The note shows reason, owner and end, and fails no check."""
    (note,), (one,) = waive(part, WAIVER)
    assert (note.level, note.also) == ("note", ("waived until 31 January 2027 by Ada: the release is named so",))
    assert one.finding == SEVEN


def test_a_waived_warning_becomes_a_note(part):
    """A warning can be waived as an error can."""
    warning = Finding("claim", POST, 3, 1, "7", "a claim", "", "write it so", level="warning")
    (note,), _ = waive(part, WAIVER.replace("unbound", "claim"), [warning])
    assert note.level == "note"


@pytest.mark.parametrize("place", ["line = 41", f'place = "{POST}"', f'place = "{POST}:41"', f'place = "{POST}:41:17"'])
def test_a_waiver_may_say_where(part, place):
    """A line, or the place as a finding prints it: file, line and column, or less of it."""
    (note,), _ = waive(part, WAIVER + place)
    assert note.level == "note"


@pytest.mark.parametrize(
    "waiver",
    [
        WAIVER.replace("unbound", "unit"),
        WAIVER.replace('"7"', '"8"'),
        WAIVER + "line = 40",
        WAIVER + f'place = "{POST}:4"',
        WAIVER + 'place = "parts/part-2/post.md"',
    ],
)
def test_another_finding_is_not_covered(part, waiver):
    """Another code, text, line or file is another finding; the waiver is then a warning: nothing needs it."""
    (kept, warning), in_force = waive(part, waiver)
    assert (kept, in_force) == (SEVEN, [])
    assert (warning.code, warning.level, warning.line) == ("waiver", "warning", 1)
    assert "take it out of parts/part-1/waivers.toml" in warning.mend


def test_a_note_needs_no_waiver(part):
    """What only informs is left as it is."""
    note = Finding("unbound", POST, 41, 17, "7", "", "", "", level="note")
    (kept, warning), in_force = waive(part, WAIVER, [note])
    assert (kept, warning.level, in_force) == (note, "warning", [])


def test_an_ended_waiver_waives_nothing(part):
    """The finding stands, and the waiver is an error that says which one, whose it was, when it ended, what to do."""
    (kept, ended), in_force = waive(part, "# first\n\n" + WAIVER, today=date(2027, 2, 1))
    assert (kept, in_force) == (SEVEN, [])
    assert (ended.code, ended.level, ended.line) == ("waiver", "error", 3)
    assert ended.said == "a waiver of unbound '7', ended on 31 January 2027"
    assert ended.source.startswith("owner: Ada; reason: ")
    assert ended.also == (f"what it waived stands again: {POST}:41:17: a number that comes from nothing",)
    assert ended.mend.startswith(f"mend {POST}:41:17 and take the waiver out") and "decide again with Ada" in ended.mend


def test_an_ended_waiver_of_nothing_is_to_be_taken_out(part):
    """Where the finding is gone too, there is nothing to decide."""
    (ended,), _ = waive(part, WAIVER, [], today=date(2027, 2, 1))
    assert ended.level == "error" and ended.mend.startswith("take it out of parts/part-1/waivers.toml")


@given(days=st.integers(-400, LONGEST_DAYS))
def test_a_waiver_holds_to_the_end_of_its_last_day(tmp_path_factory, days):
    """On every day up to and on `until` the finding is a note, and on every later day an error again."""
    root = tmp_path_factory.mktemp("campaign")
    (root / "campaign.toml").write_text("")
    (root / "parts/part-1").mkdir(parents=True)
    until = date(2027, 1, 31)
    findings, in_force = waive(Campaign(root).part("1"), WAIVER, today=until - timedelta(days=days))
    assert (findings[0].level == "note") == (days >= 0) == bool(in_force)
    assert [one.code for one in findings[1:]] == ([] if days >= 0 else ["waiver"])


def test_a_waiver_that_fits_two_places_covers_neither(part):
    """It is an error that lists the places and names a key that tells them apart."""
    other = Finding("unbound", POST, 50, 2, "7", "", "", "")
    (first, second, wrong), in_force = waive(part, WAIVER, [SEVEN, other])
    assert (first, second, in_force) == (SEVEN, other, [])
    assert (wrong.level, wrong.also) == ("error", (f"{POST}:41:17", f"{POST}:50:2"))
    assert wrong.mend.endswith(f'place = "{POST}:41:17"')


def test_two_places_can_be_waived_one_by_one(part):
    """Two waivers that differ in line alone each cover their finding."""
    other = Finding("unbound", POST, 50, 2, "7", "", "", "")
    findings, in_force = waive(part, f"{WAIVER}line = 41\n{WAIVER}line = 50\n", [SEVEN, other])
    assert [one.level for one in findings] == ["note", "note"]
    assert waived_summary(in_force) == "2 waived (the first ends 2027-01-31)"


def test_the_summary_names_the_first_end(part):
    """The number in force and the earliest end; nothing where nothing is waived."""
    later = WAIVER.replace("2027-01-31", "2027-03-01").replace('"7"', '"8"')
    eight = Finding("unbound", POST, 50, 2, "8", "", "", "")
    _, in_force = waive(part, later + WAIVER, [eight, SEVEN])
    assert waived_summary(in_force) == "2 waived (the first ends 2027-01-31)"
    assert waived_summary(in_force[:1]) == "1 waived (it ends 2027-03-01)"
    assert waived_summary([]) == ""


@pytest.mark.parametrize("code", NEVER)
def test_kept_text_cannot_be_waived(part, code):
    """A changed kept text, a changed seal, a stale file, an empty check and a waiver's own finding always stand."""
    said = refused(part, WAIVER.replace("unbound", code))
    assert said.startswith("parts/part-1/waivers.toml: waiver[0].code: ") and "cannot be waived" in said


@pytest.mark.parametrize("key", ["code", "text", "reason", "owner", "until"])
def test_a_waiver_says_everything(part, key):
    """Code, text, reason, owner and end are each required."""
    lines = [line for line in WAIVER.splitlines() if not line.startswith(key)]
    assert f"waiver[0].{key}: missing" in refused(part, "\n".join(lines))


@pytest.mark.parametrize(
    ("was", "becomes", "told"),
    [
        ('"unbound"', '"unbond"', "Did you mean unbound?"),
        ('"Ada"', '""', "waiver[0].owner: found ''"),
        ('"Ada"', '" "', "waiver[0].owner: found only spaces"),
        ('"the release is named so"', '"\\t"', "waiver[0].reason: found only spaces"),
        ("2027-01-31", '"2027-01-31"', "expected a date"),
        ("2027-01-31", "2027-12-02", "expected 2027-12-01 or earlier"),
        ("until =", "line = 0\nuntil =", "waiver[0].line: found 0"),
        ("until =", 'line = 41\nplace = "x"\nuntil =', "has a line and a place"),
        ("until =", "untill =", "unknown key"),
        ("[[waiver]]", "[[waivers]]", "Did you mean waiver?"),
        ("until = ", "until = \n", "not TOML"),
    ],
)
def test_a_wrong_waiver_is_refused(part, was, becomes, told):
    """What does not fit is refused with file, key, what was found and what was expected."""
    said = refused(part, WAIVER.replace(was, becomes))
    assert said.startswith("parts/part-1/waivers.toml: ") and told in said


def test_a_waiver_may_end_a_year_from_now(part):
    """The latest day that is allowed is allowed."""
    (note,), _ = waive(part, WAIVER.replace("2027-01-31", str(TODAY + timedelta(days=LONGEST_DAYS))))
    assert note.level == "note"


def test_one_finding_is_waived_once(part):
    """The same waiver written twice is refused."""
    assert "waiver[1]: waives what waiver[0] waives" in refused(part, WAIVER + WAIVER)


def test_two_waivers_of_one_finding_count_once(part):
    """A waiver with and one without a line both fit; one finding is waived, by the first of them."""
    (note,), (one,) = waive(part, f"{WAIVER}line = 41\n{WAIVER}")
    assert (note.level, one.waiver.line) == ("note", 41)
