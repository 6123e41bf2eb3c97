"""Declarations that nothing uses are told, each once, at its line."""

import pytest
from tests.campaigns import TriedCampaign, built_campaign

from campaign.notes.ledger import read_ledger
from campaign.notes.sources import load
from campaign.notes.unquoted import unquoted


@pytest.fixture
def campaign(tmp_path, monkeypatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


def found(campaign: TriedCampaign) -> list:
    ledger, _ = read_ledger(campaign.part.numbers, "numbers.json")
    return list(unquoted(campaign.part, ledger, load(campaign.part)))


def add_reading(campaign: TriedCampaign, name: str, more: str = "") -> None:
    said = f'[[reading]]\nid = "{name}"\n{more or STAT}\n\n[[reading]]\nid = "verdict"'
    campaign.change('[[reading]]\nid = "verdict"', said, "plan.toml")


STAT = 'kind = "stat"\ntable = "row_values"\nstat = "count"'
EXPR = 'kind = "expr"\nexpr = "{}"'


def test_nothing_of_a_part_that_uses_everything_is_told(campaign):
    """Quoted, claimed, plotted, asked for by the rule or by matching: all of that is use."""
    assert found(campaign) == []


def test_a_reading_that_nothing_quotes_is_told_at_its_line(campaign):
    """It is a note: nothing is wrong."""
    add_reading(campaign, "spare.n")
    (one,) = found(campaign)
    assert (one.code, one.level, one.path, one.said) == (
        "unquoted",
        "note",
        "parts/part-1/plan.toml",
        "reading spare.n",
    )
    assert campaign.text("plan.toml").split("\n")[one.line - 1] == 'id = "spare.n"'


def test_a_family_is_told_once(campaign):
    """Not once for each member."""
    add_reading(campaign, "spare.{row}", f'{STAT}\neach = ["row"]')
    assert [one.said for one in found(campaign)] == ["reading spare.{row}"]


def test_constants_and_facts_are_told_too(campaign):
    """Each in its own file."""
    campaign.change("[matching]", '[constants."spare.bar"]\nvalue = 2\nbecause = "in case"\n\n[matching]', "plan.toml")
    campaign.write("facts.toml", campaign.text("facts.toml") + '\n[facts."spare"]\nvalue = 3\nsource = "there"\n')
    lines = {
        one.said: (one.path, campaign.text(one.path.rpartition("/")[2]).split("\n")[one.line - 1])
        for one in found(campaign)
    }
    assert lines == {
        "constant spare.bar": ("parts/part-1/plan.toml", '[constants."spare.bar"]'),
        "fact spare": ("parts/part-1/facts.toml", '[facts."spare"]'),
    }


@pytest.mark.parametrize(
    ("was", "becomes", "name"),
    [
        ("nothing here", '{{ q("spare.n") }} rows; nothing here', "post.md.j2"),
        ("nothing here", '{{ claim("spare.n > nothing", "some") }}; nothing here', "post.md.j2"),
        ("nothing here", '{% if value("spare.n") > 0 %}nothing{% endif %} here', "post.md.j2"),
        ('when = "failed > 2"', 'when = "failed > 2 or spare.n > 9"', "plan.toml"),
        ("where = \"outcome == 'fail'\"", 'where = "outcome == \'fail\'"\nbecause = "so"', "plan.toml"),
    ],
)
def test_a_reading_that_something_uses_is_not_told(campaign, was, becomes, name):
    """A quote, a claim, a condition of the template, a guard; a reason is no use."""
    said = f'[[reading]]\nid = "spare.n"\n{STAT}\n\n[[reading]]\nid = "saving"'
    campaign.change('[[reading]]\nid = "saving"', said, "plan.toml")
    campaign.change(was, becomes, name)
    campaign.notes("build", "1")
    told = [one.said for one in found(campaign)]
    assert told == (["reading spare.n"] if "because" in becomes else [])


def test_use_by_another_reading_counts_where_that_is_its_own(campaign):
    """An expression uses what it names; being unused itself, it is told alone."""
    add_reading(campaign, "inner.n")
    add_reading(campaign, "outer", EXPR.format("inner.n.n + rows.n"))
    assert [one.said for one in found(campaign)] == ["reading outer"]


def test_a_family_is_used_by_a_pattern_or_a_member(campaign):
    """`spare.*` and `spare.1` are uses of spare.{row}."""
    add_reading(campaign, "spare.{row}", f'{STAT}\neach = ["row"]')
    add_reading(campaign, "all", EXPR.format("sum(spare.*)"))
    assert [one.said for one in found(campaign)] == ["reading all"]
    campaign.change("sum(spare.*)", "spare.1 + rows.n", "plan.toml")
    assert [one.said for one in found(campaign)] == ["reading all"]


def test_without_its_template_the_places_tell_what_is_used(campaign):
    """What the post prints is in numbers.json."""
    add_reading(campaign, "spare.n")
    campaign.part.template.unlink()
    assert [one.said for one in found(campaign)] == ["reading spare.n"]
