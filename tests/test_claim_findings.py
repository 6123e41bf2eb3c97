"""Findings about claims: what no data could turn, what is typed, and what is fragile, each at its place."""

from types import SimpleNamespace

from campaign.analysis.readings import Reading, Readings
from campaign.notes.claim_findings import claim_findings
from campaign.notes.ledger import Ledger, Place
from campaign.notes.post import Post

READINGS = Readings(
    {
        "saving": Reading("saving", 0.3, "ms", ".3f", {"lo": 0.1, "hi": 0.5}),
        "bar": Reading("bar", 0.155, "ms", ".3f", role="constant"),
    },
    "part-1",
)


def found(expression: str) -> list:
    """The findings about one claim."""
    ledger = Ledger((Place("above", "claim", expression, word="above", otherwise="below"),), ("It is ", " it.\n"))
    part = SimpleNamespace(show=lambda path: "post.md", post=None)
    return list(claim_findings(part, Post("", ledger.body(), ""), ledger, SimpleNamespace(readings=READINGS)))


def test_a_claim_that_the_data_decide_clearly_is_no_finding():
    """The lower end of the interval is above nothing."""
    assert found("saving.lo > 0") == []


def test_a_claim_that_no_data_could_turn_is_an_error_at_its_word():
    """With line, column and length of the word that it prints."""
    (one,) = found("saving.lo <= saving")
    assert (one.code, one.level, one.line, one.column, one.length) == ("claim", "error", 2, 7, 5)
    assert "no data could make it false" in one.expected and one.source == "claim saving.lo <= saving"


def test_a_typed_number_is_a_warning():
    """It comes from nothing that the plan declares."""
    (one,) = found("saving.lo > 0.05")
    assert (one.code, one.level) == ("claim", "warning") and "0.05, which nothing declares" in one.expected


def test_a_fragile_claim_is_a_note_with_its_margin():
    """A change within the interval would turn it."""
    (one,) = found("saving > bar")
    assert (one.code, one.level, one.said) == ("fragile", "note", "above")
    assert one.also == ("holds by 0.14 ms (fragile: the interval of saving reaches ±0.2)",)


def test_a_claim_whose_reading_is_gone_is_left_to_the_comparison():
    """It is told once, there."""
    assert found("gone > bar") == []


def test_a_claim_without_data_names_the_fact_that_binds_its_word():
    """Never plain text, which the check would ask to be bound again."""
    (one,) = found("bar > 0")
    assert one.level == "error" and "names no reading that is computed from data" in one.expected
    assert "quote a fact that is the word" in one.mend and "plain text" not in f"{one.mend}{one.expected}"
