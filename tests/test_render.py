"""Rendering: what a template prints is recorded, and what it may not do is refused with its line."""

import pytest

from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Reading, Readings
from campaign.notes.errors import ClaimError, TemplateError
from campaign.notes.ledger import Ledger, Place
from campaign.notes.render import render

READINGS = Readings(
    {
        "saving": Reading("saving", 0.314, "ms/verify step", ".3f", {"lo": 0.217, "hi": 0.41, "n": 4}),
        "row.1": Reading("row.1", 14.1, "ms/verify step", ".1f"),
        "row.2": Reading("row.2", 14.2, "ms/verify step", ".1f"),
        "rows.n": Reading("rows.n", 4, "rows"),
        "verdict": Reading("verdict", "carries"),
        "open": Reading("open", None, "ms", ".3f", reason="2 of 4 planned rows are missing"),
        "bar": Reading("bar", 0.155, "ms/verify step", ".3f", role="constant"),
        "half": Reading("half", 0.31, "ms/verify step", ".2f", role="constant"),
        "gpus": Reading("gpus", 2, "GPUs", role="fact"),
    },
    "part-1",
)


def rendered(template: str, **context: object) -> Ledger:
    return render(template, "parts/part-1/post.md.j2", READINGS, context, {"macro.md.j2": MACRO}.get)


MACRO = (
    '{% macro twice(id) %}{{ q(id) }}, {{ q(id) }}{% endmacro %}\n{% macro bad() %}\n{{ q("nothing") }}{% endmacro %}'
)


def refused(template: str, kind: type[Exception] = TemplateError) -> str:
    """The message with which the template is refused."""
    with pytest.raises(kind) as wrong:
        rendered(template)
    return str(wrong.value)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ('{{ q("saving") }}', "0.314"),
        ('{{ q("saving", ".1f") }}', "0.3"),
        ('{{ q("saving.lo") }}', "0.217"),
        ('{{ q("saving.n", "word") }}', "four"),
        ('{{ q("rows.n", "Word") }}', "Four"),
        ('{{ q("verdict", "Text") }}', "Carries"),
        ('{{ q("open") }}', "not resolved"),
        ('{{ claim("saving > bar", "above", "below") }}', "above"),
        ('{{ claim("saving < bar", "below", "above") }}', "above"),
        ('{% if value("saving") > 0 %}yes{% endif %}', "yes"),
        ('{% for n in members("row.*") %}{{ q("row." ~ n) }};{% endfor %}', "14.1;14.2;"),
        ('{% from "macro.md.j2" import twice with context %}{{ twice("saving") }}', "0.314, 0.314"),
        ("a\n\n\n\nb", "a\n\nb"),
    ],
)
def test_template_prints(template, text):
    """q, claim, value, members and macros give what they promise."""
    assert rendered(template).body() == text


def test_places_are_recorded_in_reading_order():
    """The ledger has each place as it follows in the text, not as it was computed."""
    ledger = rendered('{% set late = q("bar") %}{{ q("saving") }} over {{ late }} with {{ q("gpus", "word") }}')
    assert [(place.text, place.kind, place.source, place.format) for place in ledger.places] == [
        ("0.314", "reading", "saving", ""),
        ("0.155", "constant", "bar", ""),
        ("two", "fact", "gpus", "word"),
    ]


def test_text_around_places_is_recorded():
    """Places and the text around them give the body again, and say where each stands."""
    ledger = rendered('Saves {{ q("saving") }} ms.\n')
    assert (ledger.literals, ledger.spans()) == (("Saves ", " ms.\n"), [(6, 11)])


def test_quote_that_is_not_printed_leaves_no_place():
    """A quote in a branch that is computed and dropped is no place."""
    assert rendered('{% set unused = q("saving") %}text').places == ()


def test_claim_is_recorded_with_both_words():
    """A claim keeps its expression and the word for the other case."""
    assert rendered('{{ claim("saving > bar", "above", "below") }}').places == (
        Place("above", "claim", "saving > bar", word="above", otherwise="below"),
    )


def test_false_claim_is_refused_with_its_operands():
    """A sentence that the data do not bear out is refused, with what they say and what to do."""
    message = refused('one\n{{ claim("saving < bar", "below") }}', ClaimError)
    assert message.startswith("parts/part-1/post.md.j2:2: claim 'below' is not true of the data: saving < bar")
    assert "(saving = 0.314, bar = 0.155)" in message
    assert "as a third argument" in message


def test_claim_of_many_values_is_refused():
    """A claim over a family says whether all or any of it is meant."""
    assert refused('{{ claim("row.* < 15", "so") }}', Exception).startswith("parts/part-1/post.md.j2:1: ")


@pytest.mark.parametrize(
    "expression", ["saving % 2 > 0", "saving // 2 > 0", "saving is bar", "saving @ bar", "saving & 1"]
)
def test_operator_that_claims_do_not_have_is_refused(expression):
    """Only the arithmetic that the plan knows can be used."""
    assert "post.md.j2:1: " in refused(f'{{{{ claim("{expression}", "so") }}}}', ReadingError)


def test_claim_over_something_unresolved_prints_neither_word():
    """The word for the other case is a claim as well: it is printed only where the data show it."""
    assert rendered('{{ claim("open > 0", "saves", "costs") }}').body() == "not resolved"
    assert rendered('{{ claim("open > 0", "saves") }}').body() == "not resolved"


@pytest.mark.parametrize("expression", ["1 < 2", "bar < half", "gpus == 2", "bar.half_count > 0"])
def test_claim_that_no_data_could_make_false_is_refused(expression):
    """A claim has to name a reading that is computed from data."""
    message = refused(f'{{{{ claim("{expression}", "so") }}}}', Exception)
    assert "nothing could make it false" in message or "there is no reading" in message


@pytest.mark.parametrize(
    "expression", ["saving == saving", "saving > bar or True", "saving * 0 == 0", "saving - saving < bar"]
)
def test_claim_that_is_true_whatever_the_reading_is_refused(expression):
    """Naming a reading is not enough: some value of it has to make the claim false."""
    assert "could make it false" in refused(f'{{{{ claim("{expression}", "so") }}}}', ClaimError)


@pytest.mark.parametrize(
    "expression",
    [
        "all(row.* < 15)",
        "count(row.* < 15) == 2",
        "len(row.*) == 2",
        "abs(saving) < 1",
        "row.1 <= row.2",
        "verdict == 'carries'",
    ],
)
def test_claim_that_data_can_make_false_is_taken(expression):
    """Patterns, functions and words of verdicts are claims."""
    assert rendered(f'{{{{ claim("{expression}", "so") }}}}').body() == "so"


def test_unknown_reading_names_the_nearest_and_the_line():
    """A mistyped id is told with file, line and the id that is meant."""
    message = refused('one\ntwo {{ q("savings") }}', ReadingError)
    assert message.startswith("parts/part-1/post.md.j2:2: part-1: there is no reading 'savings'")
    assert "Did you mean saving?" in message


def test_unknown_reading_in_a_claim_names_the_line():
    """The ids of a claim are looked up too."""
    assert "post.md.j2:1: " in refused('{{ claim("savin > 0", "so") }}', ReadingError)


@pytest.mark.parametrize(
    "template", ["x\n{{ nothing }}", "x\n{{ q }} {{ nothing.more }}", "x\n{% for a in nothing %}{% endfor %}"]
)
def test_undefined_name_is_refused_with_its_line(template):
    """Nothing is printed for a name that does not exist."""
    message = refused(template)
    assert message.startswith("parts/part-1/post.md.j2:2: 'nothing' is undefined")


@pytest.mark.parametrize("template", ["x\n{{ q( }}", "x\n{% if %}", "x\n{% unknown %}", "x\n{{ 'a'|nofilter }}"])
def test_syntax_error_is_told_with_its_line(template):
    """What is no template is refused with file and line."""
    assert refused(template).startswith("parts/part-1/post.md.j2:2: ")


@pytest.mark.parametrize(
    "template",
    [
        'x\n{{ q("saving") | round }}',
        "x\n{{ 1 / 0 }}",
        "x\n{{ q() }}",
        'x\n{{ q("saving", fmt=3) }}',
        'x\n{{ value("verdict") > 3 }}',
        'x\n{{ "a" + 1 }}',
    ],
)
def test_mistake_in_an_expression_is_told_with_its_line(template):
    """A wrong use of a value in a template is one message with file and line, not a traceback."""
    assert refused(template).startswith("parts/part-1/post.md.j2:2: ")


@pytest.mark.parametrize(
    "filter", ["upper", "replace('r', 'R')", "reverse", "truncate(3, true, '', 0)", "wordwrap(2)", "join('-')"]
)
def test_filter_on_a_quote_is_refused(filter):
    """What is quoted is printed as it is, or not at all."""
    assert "parts/part-1/post.md.j2" in refused(f'{{{{ q("verdict") | {filter} }}}}')


def test_part_of_a_quote_is_refused():
    """A quote is not cut."""
    assert "cut by a filter" in refused('{{ q("saving")[:5] }}')


def test_filter_on_a_number_word_is_refused_with_the_format_to_use():
    """A capital comes from a format."""
    assert "Use a format (`Word`, `Text`) in place of a filter" in refused('{{ q("gpus", "word") | upper }}')


def test_value_is_not_printed():
    """A bare value carries no source, so printing one leaves an unbound number and no place."""
    assert rendered('{{ value("rows.n") }}').places == ()


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__ }}",
        "{{ q.__globals__ }}",
        "{{ q.__self__ }}",
        "{{ q.__func__.__globals__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ '{0.__class__}'.format(q) }}",
        "{{ ''|attr('__class__') }}",
        "{{ self._TemplateReference__context }}",
    ],
)
def test_template_cannot_reach_into_python(template):
    """Attributes that lead out of the template are refused or empty."""
    try:
        text = rendered(template).body()
    except TemplateError:
        return
    assert "<class" not in text and "module" not in text and "Context" not in text


@pytest.mark.parametrize(
    "template", ['{% include "/etc/hostname" %}', '{% include "nothing.md.j2" %}', '{% import "../x" as x %}']
)
def test_only_the_templates_of_the_program_are_included(template):
    """Files of the machine are no templates."""
    assert "parts/part-1/post.md.j2" in refused(template)


def test_error_in_a_macro_names_the_line_in_the_template():
    """The line told is one of the person's own file, not of the program's macro."""
    message = refused('one\n{% from "macro.md.j2" import bad with context %}\n{{ bad() }}', ReadingError)
    assert message.startswith("parts/part-1/post.md.j2:3: ")


@pytest.mark.parametrize("mark", ["\ue000", "\ue001", "\ue002"])
def test_private_characters_are_refused(mark):
    """The characters that mark places cannot stand in a template."""
    assert "private-use character" in refused(f"a{mark}b")


def test_quote_in_a_text_of_a_fact_is_no_template():
    """What is quoted is printed, not rendered once more."""
    readings = Readings({"x": Reading("x", '{{ q("x") }}', role="fact")}, "part-1")
    assert render('{{ q("x") }}', "t", readings, {}, {}.get).body() == '{{ q("x") }}'
