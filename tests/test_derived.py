"""Derived numbers: what a reader computes from the printed numbers is what is printed, or is told calmly."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from campaign.analysis.expressions import parse
from campaign.analysis.readings import Reading, Readings
from campaign.notes.derived import derived
from campaign.notes.post import Post
from campaign.notes.render import render


def number(name: str, value: float, fmt: str = ".2f", **more: object) -> Reading:
    return Reading(name, value, "ms", fmt, **more)


def computed(name: str, formula: str, fmt: str, *operands: Reading) -> Reading:
    """A reading that is computed from others by an expression."""
    values = {one.id: one.value for one in operands}
    value = parse(formula).value(lambda one: values[one])
    return number(name, value, fmt, formula=formula, operands=tuple(values.items()))


SCAN, INDEX = number("scan", 0.06554, ".3f"), number("index", 0.08608, ".3f")
SAVED = computed("saved", "scan - index", ".3f", SCAN, INDEX)
DRAW, TASKS = number("draw", 208.647), Reading("tasks", 6, "tasks")
EACH = computed("each", "draw / tasks", ".2f", DRAW, TASKS)
BAR = number("bar", 0.5, ".1f", role="constant")
HALF = computed("half", "bar * draw", ".1f", BAR, DRAW)
PACE = "row mean of one − row mean of two, step_ms; pooled t over rows"
MEANS = {
    "step.one": number("step.one", 91.104, formula="mean of step_ms in row_values, for each arm"),
    "step.two": number("step.two", 77.253, formula="mean of step_ms in row_values, for each arm"),
    "saving": number("saving", 91.104 - 77.253, formula=PACE),
    "gap": number("gap", 13.857, formula=PACE),
}
MEANS["relative"] = number("relative", 15.2, formula="100 × (1 − row mean of two / row mean of one), step_ms; Fieller")
READINGS = Readings({one.id: one for one in (SCAN, INDEX, SAVED, DRAW, TASKS, EACH, BAR, HALF)} | MEANS, "part-1")


def found(template: str, becomes: tuple[str, str] = ("", ""), readings: Readings = READINGS) -> list:
    """The findings in the body that a template gives, in which one text has become another."""
    ledger = render(template, "post.md.j2", readings, {}, lambda name: None)
    folder = Path("parts/part-1")
    part = SimpleNamespace(show=Path.as_posix, folder=folder, post=folder / "post.md")
    post = Post("", ledger.body().replace(*becomes), "")
    return list(derived(part, post, ledger, SimpleNamespace(readings=readings)))


def test_a_difference_that_its_printed_numbers_do_not_give_is_a_warning():
    """The finding says what a reader gets, from which places, and that the unrounded values give what is printed."""
    (one,) = found('A {{ q("scan") }} and {{ q("index") }}:\n\n{{ q("saved") }} ms.\n')
    assert (one.code, one.level, one.said, one.expected) == ("derived", "warning", "−0.021", "−0.020")
    assert (one.line, one.column, one.length) == (4, 1, 6)
    assert one.source == "saved = scan - index"
    assert one.also == (
        "from scan = 0.066 at 2:3",
        "from index = 0.086 at 2:13",
        "the unrounded values give −0.02054, which is printed as −0.021",
    )


def test_the_rule_that_would_fit_is_named():
    """208.65 / 6 is 34.775; what is printed is its truncation, and the rounding of the unrounded values."""
    (one,) = found('{{ q("draw") }} over {{ q("tasks", "word") }} is {{ q("each") }}\n')
    assert (one.said, one.expected) == ("34.77", "34.78")
    assert one.also[-1].endswith("printed as 34.77; of the printed numbers truncation would give it")


@pytest.mark.parametrize(
    "template",
    [
        '{{ q("scan", ".5f") }} {{ q("index", ".5f") }} {{ q("saved") }}',  # precise enough
        '{{ q("scan") }} {{ q("index") }} {{ q("saved", ".2f") }}',  # coarse enough
        '{{ q("scan") }} {{ q("index") }} {{ q("scan", ".4f") }} {{ q("index", ".4f") }} {{ q("saved") }}',
        '{{ q("scan") }} {{ q("saved") }}',  # a reader cannot compute it
        '{{ q("saved") }}',
        '{{ q("scan") }} {{ q("index") }} {{ claim("saved < 0", "less", "more") }}',
        '{{ q("step.one") }} {{ q("step.two") }} {{ q("saving") }}',
        '{{ q("bar") }} of {{ q("draw") }} is {{ q("half") }}',
    ],
)
def test_what_follows_from_the_printed_numbers_is_no_finding(template):
    """The most precise printing of an operand counts, and what is not printed cannot be computed with."""
    assert found(template) == []


def test_the_difference_of_two_printed_means_is_held_to_them():
    """A saving stands on the means of two arms, also where its formula is in words."""
    (one,) = found('{{ q("step.one") }} {{ q("step.two") }} {{ q("gap") }}')
    assert (one.said, one.expected, one.source) == ("13.86", "13.85", "gap = step.one - step.two")


def test_a_saving_in_percent_is_held_to_the_printed_means():
    """100 × (1 − 77.25 / 91.10) is 15.203."""
    assert found('{{ q("step.one") }} {{ q("step.two") }} {{ q("relative") }}') == []
    assert [one.expected for one in found('{{ q("step.one", ".0f") }} {{ q("step.two") }} {{ q("relative") }}')] == [
        "15.11"
    ]


def test_places_that_print_the_same_are_told_once():
    """The first has the finding, the others stand beside it."""
    (one,) = found('{{ q("scan") }} {{ q("index") }} {{ q("saved") }} {{ q("saved") }} {{ q("saved", ".2f") }}')
    assert one.also[-1] == "printed so too at 2:20"


def test_a_number_changed_by_hand_cannot_follow():
    """What stands in the post is asked for, not what was built."""
    (one,) = found('{{ q("draw") }} over {{ q("tasks", "word") }}\nis {{ q("each") }}\n', ("34.77", "35.77"))
    assert one.said == "35.77"
    assert one.also[-1] == "no rounding of the printed numbers gives it: they were not computed from one another"


def test_what_is_told_has_the_decimal_mark_of_the_prose():
    """A campaign with decimal commas reads commas in every number of a finding."""
    readings = Readings({name: READINGS[name] for name in READINGS}, "part-1", decimal=",")
    (one,) = found('{{ q("scan") }} und {{ q("index") }}: {{ q("saved") }} ms.', readings=readings)
    assert (one.said, one.expected) == ("−0,021", "−0,020")
    assert one.also[-1] == "the unrounded values give −0,02054, which is printed as −0,021"
    assert one.also[0].startswith("from scan = 0,066 at ")


def test_a_rounding_that_is_meant_can_be_waived():
    """The finding names the file and the keys of the waiver that lets it stand."""
    (one,) = found('{{ q("scan") }} and {{ q("index") }}: {{ q("saved") }} ms.')
    assert 'parts/part-1/waivers.toml: a [[waiver]] with code = "derived", text = "−0.021"' in one.mend
