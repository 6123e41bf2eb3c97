"""Rendering a template: what it prints through q() and claim() is recorded, place by place."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jinja2
from jinja2.sandbox import SandboxedEnvironment

from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Readings
from campaign.notes.claims import check_claim, operands_of
from campaign.notes.errors import ClaimError, TemplateError
from campaign.notes.ledger import NOT_TRUE, Ledger, Place
from campaign.notes.quote import print_reading

OPEN, MIDDLE, CLOSE = "\ue000", "\ue001", "\ue002"
"""Private-use characters that mark a place while the template is rendered."""
_PLACE = re.compile(f"{OPEN}(\\d+){MIDDLE}([^{OPEN}{MIDDLE}{CLOSE}]*){CLOSE}")
_BLANK_LINES = re.compile(r"\n{3,}")


@dataclass
class _Recorder:
    """The functions that a template can call; each place that they print is kept."""

    readings: Readings
    places: list[Place] = field(default_factory=list)

    def _record(self, place: Place) -> str:
        self.places.append(place)
        return f"{OPEN}{len(self.places) - 1}{MIDDLE}{place.text}{CLOSE}"

    def q(self, name: str, fmt: str = "") -> str:
        """The reading, constant or fact `name`, printed in `fmt` or its own format."""
        reading = self.readings[name]
        return self._record(Place(print_reading(reading, fmt or None, self.readings.decimal), reading.role, name, fmt))

    def claim(self, expression: str, word: str, otherwise: str = "") -> str:
        """`word` where the expression is true of the data, `otherwise` (if given) where it is not."""
        check_claim(expression, self.readings)
        place = Place(word, "claim", expression, word=word, otherwise=otherwise)
        text = place.fresh(self.readings)
        if text == NOT_TRUE:
            operands = ", ".join(f"{name} = {value}" for name, value in operands_of(expression, self.readings))
            raise ClaimError(
                f"claim {word!r} is not true of the data: {expression} does not hold ({operands}); expected a true "
                "sentence. Change the sentence, or give the word for the other case as a third argument."
            )
        return self._record(Place(text, "claim", expression, word=word, otherwise=otherwise))

    def value(self, name: str) -> Any:
        """The bare value of a reading, for conditions and loops; never printed."""
        return self.readings[name].value

    def members(self, pattern: str) -> list[str]:
        """What the star of `pattern` stands for, for each id that fits, in declaration order."""
        stem, _, tail = pattern.partition("*")
        return [name.removeprefix(stem).removesuffix(tail) for name in self.readings.matching(pattern)]


def render(
    template: str, shown: str, readings: Readings, context: dict[str, Any], load: Callable[[str], str | None]
) -> Ledger:
    """The body that `template` gives, as a ledger of its places; `load` finds templates that it includes."""
    if any(mark in template for mark in (OPEN, MIDDLE, CLOSE)):
        raise TemplateError(f"{shown}: holds a private-use character (U+E000 to U+E002); expected none. Remove it.")
    recorder = _Recorder(readings)
    environment = SandboxedEnvironment(
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(load),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    functions = {name: getattr(recorder, name) for name in ("q", "claim", "value", "members")}
    environment.globals.update(functions, **context)
    try:
        text = environment.from_string(template).render()
    except jinja2.TemplateSyntaxError as wrong:
        raise TemplateError(f"{wrong.name or shown}:{wrong.lineno}: {wrong.message}. Correct the template.") from None
    except jinja2.UndefinedError as wrong:
        raise TemplateError(
            f"{shown}:{_line(wrong)}: {wrong.message}; expected something that is defined. Correct it."
        ) from None
    except (TemplateError, ReadingError) as wrong:
        raise type(wrong)(f"{shown}:{_line(wrong)}: {wrong}") from None
    except Exception as wrong:  # whatever an expression of the template can raise: 1 / 0, "a" + 1, q()
        raise TemplateError(f"{shown}:{_line(wrong)}: {wrong}. Correct the template.") from None
    return _ledger(_BLANK_LINES.sub("\n\n", text), recorder.places, shown)


def _line(wrong: BaseException) -> int:
    """The template's line on which an error arose."""
    line, trace = 0, wrong.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename in ("<template>", "<unknown>"):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _ledger(text: str, recorded: list[Place], shown: str) -> Ledger:
    places: list[Place] = []
    literals: list[str] = []
    at = 0
    for found in _PLACE.finditer(text):
        place = recorded[int(found[1])]
        if found[2] != place.text:
            raise TemplateError(
                f"{shown}: {place.source}: printed as {place.text!r} but changed to {found[2]!r} afterwards; expected "
                "quotes to be left as they are. Use a format (`Word`, `Text`) in place of a filter."
            )
        literals.append(text[at : found.start()])
        places.append(place)
        at = found.end()
    literals.append(text[at:])
    if any(mark in literal for literal in literals for mark in (OPEN, MIDDLE, CLOSE)):
        raise TemplateError(
            f"{shown}: a quote was cut by a filter; expected quotes to be printed whole. Leave it whole."
        )
    return Ledger(tuple(places), tuple(literals))
