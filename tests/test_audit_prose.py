"""Relations between numbers in common prose: wrong sentences are found, their right twins and other right ones are not.

audit-prose.json holds pairs of one wrong text and its right twin, with the code of the finding and what it is about;
`missed` marks wrong ones that are known not to be found. `right` holds texts whose numbers only look related.
"""

import json
from pathlib import Path

import pytest

from campaign.notes.audit import audit
from campaign.notes.findings import Finding

CASES = json.loads((Path(__file__).parent / "data" / "audit-prose.json").read_text(encoding="utf-8"))
FOUND = [pair for pair in CASES["pairs"] if not pair.get("missed")]
MISSED = [pair for pair in CASES["pairs"] if pair.get("missed")]


def findings(text: str) -> list[Finding]:
    return list(audit(text, "any.md").findings)


def codes(text: str) -> list[str]:
    return [one.code for one in findings(text)]


@pytest.mark.parametrize("pair", FOUND, ids=lambda pair: pair["wrong"][:60])
def test_wrong_text_is_found_and_its_right_twin_is_not(pair):
    """Just what is wrong is told, once; with the numbers put right nothing is."""
    told = findings(pair["wrong"])
    assert [one.said for one in told] == pair["said"]
    assert {one.code for one in told} == {pair["code"]}
    assert codes(pair["right"]) == []


@pytest.mark.parametrize("pair", MISSED, ids=lambda pair: pair["wrong"][:60])
def test_what_is_missed_is_no_false_alarm_either(pair):
    """The right twin of a text that is not understood is left alone."""
    assert codes(pair["right"]) == []


@pytest.mark.parametrize("text", CASES["right"], ids=lambda text: text[:60])
def test_numbers_that_only_look_related_are_left_alone(text):
    """Settings, ranges, other things in brackets, and words that tell two quantities apart make no finding."""
    assert codes(text) == []


def test_cases_are_many():
    """There are enough of each kind for the score to mean something."""
    assert len(CASES["pairs"]) >= 120 and len(CASES["right"]) >= 80
    assert len(MISSED) * 20 <= len(CASES["pairs"])


@pytest.mark.parametrize("said", ["2x", "3x"])
def test_times_faster_is_taken_either_way(said):
    """What is N times faster may be N times as fast, or N + 1 times."""
    assert codes(f"It is {said} faster: 100 ms instead of 300 ms.") == []


@pytest.mark.parametrize("word", ["about", "nearly", "roughly", "almost"])
def test_a_rough_number_is_not_held_to_its_digits(word):
    """A word that says "about" takes a number out of what is tested."""
    assert codes(f"Latency dropped by {word} 50 %, from 200 ms to 120 ms.") == []


@pytest.mark.parametrize("share", ["33 %", "33.3 %", "34 %", "33.33 %"])
def test_a_fraction_in_words_is_rough(share):
    """A third may be printed as any percentage close to it."""
    assert codes(f"A third ({share}) of them came back.") == []


@pytest.mark.parametrize("factor", ["1,000", "1,024"])
def test_a_gigabyte_has_a_thousand_or_1024_megabytes(factor):
    """Both readings of a prefix are right."""
    assert codes(f"The index takes 1 GB ({factor} MB).") == []


def test_one_finding_says_what_it_stands_on():
    """A finding points at the result and lists its operands with their places."""
    (finding,) = findings("The queue grew from 50 to 75, an increase of 60%.")
    assert (finding.line, finding.column, finding.length, finding.level) == (1, 46, 3, "error")
    assert finding.expected == "50%"
    assert finding.also[:2] == ("operand '50' at 1:21", "operand '75' at 1:27")


@pytest.mark.parametrize("base", ["binary", "base 2"])
def test_sums_in_another_base_are_left_alone(base):
    """1 + 1 = 10 is right in binary."""
    assert codes(f"1 + 1 = 10 in {base}.") == []


def test_sums_of_hexadecimal_numbers_may_wrap():
    """A sum with 0x… is left alone."""
    assert codes("That is why 0xffffffff + 1 = 0 there.") == []


@pytest.mark.parametrize("title", ["Details", "Results", "Conclusion"])
def test_one_quantity_under_a_plain_title(title):
    """A title that says no more than "results" does not tell two quantities of one name apart."""
    text = f"The median latency was 41.2 ms.\n\n## {title}\n\nThe median latency was 42.1 ms."
    assert codes(text) == ["twice"]


def test_one_name_under_two_titles_is_two_quantities():
    """A title that names something makes its quantities its own."""
    assert codes("## Falcon\n\nThe median is 4.2 ms.\n\n## Heron\n\nThe median is 4.3 ms.") == []


def test_fastest_first_lets_times_rise_and_rates_fall():
    """In which direction the numbers run depends on their unit."""
    items = "\n\n- a: {} {unit}\n- b: {} {unit}\n- c: {} {unit}\n"
    assert codes("Fastest first:" + items.format(10, 20, 30, unit="ms")) == []
    assert codes("Fastest first:" + items.format(30, 20, 10, unit="ms")) == ["order"]
    assert codes("Fastest first:" + items.format(30, 20, 10, unit="req/s")) == []
