"""An existing post, taken into a campaign: a proposal for each of its numbers, and what a person has to decide.

Nothing is bound silently. A number that one reading clearly explains is quoted; one that several may explain stays as
it is, with a comment in the template that names them; one that nothing explains becomes a fact without a source, and
facts.toml is refused until a person says the source. The template gives the old text back, byte for byte but for the
changes that `Import.changes` lists.
"""

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Literal

from campaign.analysis.readings import Reading, Readings
from campaign.analysis.rounding import MINUS
from campaign.kernels.errors import CampaignError
from campaign.notes.bindings import (
    AHEAD,
    CLEAR,
    UNIT_SIGNS,
    Bindings,
    Candidate,
    Number,
    clearly_ahead,
    format_that_prints,
    in_sequence,
    numbers_in,
)
from campaign.notes.claims import check_claim, claim_holds
from campaign.notes.errors import TemplateError, UsageError
from campaign.notes.front_matter import FrontMatter, day_in, front_matter
from campaign.notes.images import Shown, images
from campaign.notes.marked import plainly
from campaign.notes.new import write_folder
from campaign.notes.numbers import Token, find, find_in, surroundings
from campaign.notes.origins import Setting, derived, likely_parts, setting_for, settings_of
from campaign.notes.parser import parser
from campaign.notes.paths import Campaign, Part, part_name
from campaign.notes.post import BEGIN, END, split
from campaign.notes.quote import COMMA, print_reading
from campaign.notes.reader import Block, read
from campaign.notes.render import CLOSE, MIDDLE, OPEN, render
from campaign.notes.sources import Sources
from campaign.notes.toml_files import toml_lines

REPORT = "import.txt"
STUBS = "facts.import.toml"
"""Where proposed facts go when the part has a facts.toml already."""
SHOWN = 3
"""How many candidates a comment in the template names at most."""
NAMED = 12
"""How many lines a next step names."""
LIKELY = 0.05
"""The chance from which on a candidate stands in the way of a setting that the plan or the run holds."""
WORTH = 0.01
"""The chance below which a candidate is not worth a person's time."""

Outcome = Literal["bound", "fact", "decide", "compared", "worded", "name", "declared", "structure"]


@dataclass(frozen=True)
class Item:
    """One number, name or comparing word of the old post, and what is proposed for it."""

    line: int
    """Line and column in the old file, from 1."""
    column: int
    text: str
    outcome: Outcome
    """bound to a reading; fact that lacks a source; decide and compared (a comparing word): for a person;
    worded: a comparing word that becomes a fact; name: to be declared; declared and structure: as they are."""
    proposal: str
    """What the template or facts.toml has for it; for a person, what there is to choose from."""
    why: str
    """What speaks for the proposal, in words."""


@dataclass(frozen=True)
class Stub:
    """A fact that is proposed; its source is for a person to say."""

    id: str
    value: int | float | str
    unit: str
    print: str
    where: str
    """Place in the old file."""
    source: str = ""
    """Where it can be looked up, as far as the program can tell: to be looked at; empty where a person has to say."""
    why: str = ""
    """What speaks for the source, or why there is none."""

    @property
    def reading(self) -> Reading:
        """The fact as prose can quote it."""
        return Reading(self.id, self.value, self.unit, self.print, role="fact")


@dataclass(frozen=True)
class Dated:
    """The day of an old post, as it says itself."""

    day: date
    where: str
    """Place in the old file, and the words that say it."""
    certain: bool
    """Whether a setting says it; else a person looks at it."""


@dataclass(frozen=True)
class Import:
    """An old post as it would stand in a campaign; nothing is written yet."""

    path: str
    title: str
    template: str
    body: str
    """What the template renders: the old text but for `changes`."""
    items: tuple[Item, ...]
    facts: tuple[Stub, ...]
    names: tuple[str, ...]
    """Names with digits that no one has declared yet."""
    changes: tuple[str, ...]
    """Where `body` differs from the old text: line ends, blank lines, the sign of minus."""
    sources: Sources | None
    decimal: str = "."
    """The mark before the decimals in its prose."""
    dated: "Dated | None" = None
    """The day that it says it is of."""
    images: tuple[Shown, ...] = ()
    """The images that it shows from files beside it."""

    @property
    def readings(self) -> Readings:
        """All that the template quotes: what was there, and the proposed facts."""
        there = self.sources.readings if self.sources else {}
        known = {name: there[name] for name in there} | {stub.id: stub.reading for stub in self.facts}
        return Readings(known, self.path, self.sources.readings.pending if self.sources else None, self.decimal)

    def rendered(self) -> str:
        """What the template gives."""
        return render(self.template, self.path, self.readings, {}, lambda name: None).body()


def read_old(path: Path) -> str:
    """The text of an old post, its line ends as they are; raises UsageError where it cannot be read as UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise UsageError(f"{path}: byte {wrong.start} is not UTF-8; expected UTF-8 text. Save it so.") from None
    except OSError as wrong:
        raise UsageError(f"{path}: cannot be read: {wrong.strerror}; expected a Markdown file. Name one.") from None


def propose(text: str, path: str, sources: Sources | None, names: Collection[str], decimal: str = ".") -> Import:
    """What `text`, the post that lies at `path`, would be in a campaign with these declared names.

    Its numbers are matched with the readings, constants and facts of `sources`; without them all become facts.
    `decimal` is the mark before the decimals in the campaign's prose.
    """
    if any(mark in text for mark in (OPEN, MIDDLE, CLOSE)):
        raise UsageError(f"{path}: holds a private-use character (U+E000 to U+E002); expected none. Remove it.")
    old = _tidied(text, path)
    declared = (*names, *(sources.names if sources else ()))
    blocks = read(old.text)
    tokens, proposed = _all_tokens(blocks, old.text, declared, decimal)
    work = _Work(old, blocks, tokens, set(proposed), sources, decimal)
    template = work.template()
    heading = next((b.text.strip() for b in blocks if b.kind == "heading" and b.text.strip()), "")
    title = old.front.title or heading or Path(path).stem
    pictures = tuple(replace(image, line=old.place(_line_start(old.text, image.line))[0]) for image in images(old.text))
    return Import(
        path,
        title or "untitled",
        template,
        work.body,
        tuple(sorted(work.items, key=lambda item: (item.line, item.column))),
        tuple(work.stubs.values()),
        tuple(proposed),
        (*old.changes, *work.changes),
        sources,
        decimal,
        _dated(old, blocks, tokens),
        pictures,
    )


_LEAD = 6
"""So many blocks from the top a post may say when it is of."""


def _dated(old: "_Old", blocks: Sequence[Block], tokens: Sequence[Token]) -> Dated | None:
    """The day that the front matter says, or else a line at the top that holds it alone or says it was published."""
    if old.front.day:
        return Dated(old.front.day, f"{old.path}: its front matter", True)
    for index, block in enumerate(blocks[:_LEAD]):
        day = day_in(block.text)
        said = " ".join(block.text.split())
        if not day or block.kind == "heading" or block.cell:
            continue
        token = next((one for one in tokens if one.block == index and day_in(one.text) == day), None)
        if token and (_PUBLISHED.search(said) or said.find(token.text) == 0):
            line, column = old.place(token.start)
            return Dated(day, f"{old.path}:{line}:{column}: “{said[:60]}{'…' if len(said) > 60 else ''}”", False)
    return None


_PUBLISHED = re.compile(r"\b(published|posted|written|dated?|updated|released)\b", re.IGNORECASE)


def _line_start(text: str, line: int) -> int:
    """The offset at which a line, counted from 1, begins."""
    return sum(len(one) + 1 for one in text.split("\n")[: line - 1])


def _all_tokens(
    blocks: Sequence[Block], text: str, names: Collection[str], decimal: str
) -> tuple[list[Token], list[str]]:
    """The tokens as they are once every name with digits is declared, and the names to declare."""
    proposed: list[str] = []
    while True:
        tokens = find_in(blocks, text, (*names, *proposed), decimal_comma=decimal == ",")
        new = dict.fromkeys(t.text for t in tokens if t.role == "undeclared" and t.text.strip())
        more = [name for name in new if name not in proposed]
        if not more:
            return tokens, proposed
        proposed += more


# The old text


@dataclass(frozen=True)
class _Old:
    """The old text with the line ends and blank lines that a template can give."""

    text: str
    path: str
    first: int
    """Lines of the file before the text's first."""
    removed: tuple[int, ...]
    """Offsets in `text` before which one blank line was taken out, each."""
    changes: tuple[str, ...]
    front: FrontMatter

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of an offset of `text` in the old file."""
        line = bisect_right(self._lines, at)
        return line + self.first + bisect_right(self.removed, at), at - self._lines[line - 1] + 1


_RUN = re.compile(r"\n{3,}")


def _tidied(text: str, path: str) -> _Old:
    changes = []
    first = 0
    if text.startswith("\ufeff"):
        text = text[1:]
        changes.append("the byte order mark at the beginning is left out")
    if "\r" in text:
        text = re.sub(r"\r\n?", "\n", text)
        changes.append("line ends are single line feeds")
    front = front_matter(text)
    if front.length:
        first = front.lines
        text = text[front.length :]
        changes.append(_settings_told(front))
    if BEGIN in text and END in text and text.find(BEGIN) < text.rfind(END):
        post = split(text, path)
        first += text.count("\n", 0, post.body_start)
        text = post.body
        changes.append("only the body between the two markers is taken: banner and entries are built")
    if not text.endswith("\n"):
        text += "\n"
        changes.append("a line end follows the last line")
    removed: list[int] = []
    shorter = 0
    for run in _RUN.finditer(text):
        gone = len(run[0]) - 2
        removed += [run.start() - shorter + 2] * gone
        shorter += gone
    if removed:
        tight = _RUN.sub("\n\n", text)
        same = parser().render(tight) == parser().render(text)
        seen = "a reader sees the same" if same else "look at it: a reader sees a difference, as in a code block"
        changes.append(f"{len(removed)} further blank lines are left out where several follow each other; {seen}")
        text = tight
    return _Old(text, path, first, tuple(removed), tuple(changes), front)


def _settings_told(front: FrontMatter) -> str:
    """What becomes of the front matter."""
    taken = " and ".join(name for name, there in (("title", front.title), ("date", front.day)) if there)
    left = f"left out: {', '.join(front.others)}" if front.others else "nothing else stood there"
    return f"the front matter is no text: {f'its {taken} go into facts.toml; ' if taken else ''}{left}"


# Proposals


@dataclass(frozen=True)
class _Edit:
    """What stands in the template for a stretch of the old text."""

    start: int
    end: int
    template: str
    """Empty where the stretch stays, with a comment behind it."""
    printed: str = ""
    comment: str = ""


class _Work:
    """The proposals for one text, made in reading order."""

    def __init__(
        self,
        old: _Old,
        blocks: Sequence[Block],
        tokens: Sequence[Token],
        proposed: set[str],
        sources: Sources | None,
        decimal: str,
    ) -> None:
        self.old = old
        self.decimal = decimal
        self.blocks = blocks
        self.proposed = proposed
        self.sources = sources
        self.items: list[Item] = []
        self.stubs: dict[str, Stub] = {}
        self.changes: list[str] = []
        self.body = old.text
        self._taken = {"part", *(sources.readings if sources else ())}
        self._bound: dict[tuple[int, int], dict[int, str]] = {}
        """By surroundings and offset, the ids of the readings that numbers are bound to."""
        self._tokens = tokens
        self._words: dict[str, list[str]] = {}
        """The ids of facts and readings that are a word, by that word."""
        for name, reading in sources.readings.items() if sources else ():
            if isinstance(reading.value, str):
                self._words.setdefault(reading.value.lower(), []).append(name)
        self._edits: list[_Edit] = []
        self._settings = settings_of(sources) if sources else []
        self._nearest: Callable[[Number], list[tuple[str, str]]] = lambda number: []
        self._ids: dict[int, str] = {}
        """By the index of a number, the id that is quoted for it."""
        self._propose()

    def _propose(self) -> None:
        counted = [token for token in self._tokens if token.role in ("number", "word")]
        numbers = numbers_in(self.blocks, counted, self._said, self.decimal)
        found: list[tuple[Candidate, ...]] = [()] * len(numbers)
        if self.sources:
            labels = {name: arm.label for name, arm in self.sources.plan.arms.items()}
            bindings = Bindings(self.sources.readings, labels)
            found = bindings.candidates(numbers)
            self._nearest = bindings.nearest
        best = [self._best(*one) for one in zip(numbers, found, strict=True)]
        leading = [one or _leading(candidates) for one, candidates in zip(best, found, strict=True)]
        near = in_sequence(numbers)
        for index, (number, candidates) in enumerate(zip(numbers, found, strict=True)):
            self._number(index, number, candidates, best[index], self._stands_for(leading, near[index]))
        self._derive(numbers)
        with_numbers = {surroundings(self.blocks, token) for token in counted}
        for token in self._tokens:
            if token.role == "comparing" and surroundings(self.blocks, token) in with_numbers:
                self._compared(token)
            elif token.role == "name":
                new = token.text in self.proposed
                self._item(token, "name" if new else "declared", "names" if new else "", "letters with digits")
            elif token.role == "structure":
                self._item(token, "structure", "", token.kind)

    def _item(self, token: Token, outcome: Outcome, proposal: str, why: str) -> None:
        line, column = self.old.place(token.start)
        self.items.append(Item(line, column, token.text, outcome, proposal, why))

    def _said(self, token: Token) -> str:
        """What a quote would print for a token: its characters, a hyphen before digits as a minus."""
        block = self.blocks[token.block]
        start, end = _inside(block, token.core_start), _inside(block, token.core_end - 1) + 1
        said = block.text[start:end]
        return re.sub(r"^[-‐‑﹣－–‒](?=[\d.,])", MINUS, said)

    def _best(self, number: Number, candidates: Sequence[Candidate]) -> Candidate | None:
        """The candidate that a number is bound to."""
        return clearly_ahead(candidates) or self._vouched(candidates, setting_for(number, self._settings))

    def _stands_for(self, leading: Sequence[Candidate | None], near: Mapping[int, int]) -> str:
        """The id of the reading in whose place a number stands, told by an interval around it; empty for none.

        A value and the ends of its interval follow each other: where two of the three are known, the third is.
        """

        def name(step: int) -> str:
            return one.id if step in near and (one := leading[near[step]]) else ""

        for steps, ends, own in (
            ((1, 2), (".lo", ".hi"), ""),
            ((-1, 1), ("", ".hi"), ".lo"),
            ((-2, -1), ("", ".lo"), ".hi"),
        ):
            first, second = (name(step) for step in steps)
            stem = first.removesuffix(ends[0])
            around = first and (first, second) == (f"{stem}{ends[0]}", f"{stem}{ends[1]}")
            if around and (own or stem != name(-1)):
                return f"{stem}{own}"
        return ""

    def _number(
        self, index: int, number: Number, candidates: Sequence[Candidate], best: Candidate | None, stands_for: str
    ) -> None:
        token = number.token
        setting = setting_for(number, self._settings)
        worth = [one for one in candidates if one.chance >= WORTH]
        if not best and setting and (not worth or worth[0].chance < LIKELY):
            worth = []
        end = token.core_end + (len(best.said) - len(number.said) if best else 0)
        if best and self._quotable(token, end, best.said):
            self._bound.setdefault(surroundings(self.blocks, token), {})[token.start] = best.id
            self._ids[index] = best.id
            self._replace(token, token.core_start, end, best.quote, best.said)
            self._item(token, "bound", best.quote, "; ".join(best.reasons) or "nothing else prints it")
        elif worth:
            choice = " | ".join(_choice(one) for one in worth[:SHOWN])
            more = f" | {len(worth) - SHOWN} more" if len(worth) > SHOWN else ""
            more += f" | a fact, with the source {setting.source}" if setting else ""
            marked = self._marked(token, token.core_start, token.core_end)
            more += f"; marks stand in it: write {marked}" if marked else ""
            self._mark(token, f"decide: {token.text}: {choice}{more}")
            reason = "marks or code stand in it" if best else _undecided(worth)
            self._item(token, "decide", choice + more, reason)
        elif self.sources and stands_for in self.sources.readings:
            printed = print_reading(self.sources.readings[stands_for], decimal=self.decimal)
            reason = f"stands where {stands_for} would, which prints {printed}"
            self._mark(token, f"decide: {token.text}: {reason}")
            self._item(token, "decide", f'{{{{ q("{stands_for}") }}}}', reason)
        else:
            self._fact(index, number, setting)

    def _vouched(self, candidates: Sequence[Candidate], setting: Setting | None) -> Candidate | None:
        """The candidate whose own source names the setting that the number is."""
        if not setting or not self.sources:
            return None
        readings = self.sources.readings
        named = [one for one in candidates if setting.source in readings[one.id].because.split(";")[0]]
        return named[0] if len(named) == 1 else None

    def _quotable(self, token: Token, end: int, said: str) -> bool:
        """Whether a quote may stand for the characters up to `end`: the same, or with another sign of minus alone."""
        source = self.old.text[token.core_start : end]
        if said == source:
            return True
        block = self.blocks[token.block]
        start = _inside(block, token.core_start)
        plain = not block.inside("code", start) and not _in_math(block.text, start)
        sign = re.match(r"[-‐‑﹣－–‒]|&minus;|&#8722;|&#x2212;", source, re.IGNORECASE)
        return bool(plain and sign and said == MINUS + source[sign.end() :])

    def _replace(self, token: Token, start: int, end: int, quote: str, printed: str) -> None:
        was = self.old.text[start:end]
        if was != printed:
            line, column = self.old.place(start)
            self.changes.append(f"{line}:{column}: {was} is printed as {printed}, with the sign of minus")
        self._edits.append(_Edit(start, end, quote, printed))

    def _mark(self, token: Token, comment: str) -> None:
        said = " ".join(comment.replace("#}", "# }").replace("{#", "{ #").split())
        self._edits.append(_Edit(token.core_start, token.core_end, "", comment=said))

    def _fact(self, index: int, number: Number, setting: Setting | None) -> None:
        token, text = number.token, self.old.text
        start, end = token.core_start, token.core_end
        if token.value != _value_alone(text[start:end], self.decimal):
            start, end = token.start, token.end  # the word million belongs to it
        block = self.blocks[token.block]
        first, last = _inside(block, start), _inside(block, end - 1) + 1
        printed = text[start:end]
        if printed != block.text[first:last] or "\n" in printed:
            plain = self._marked(token, start, end) or " ".join(self._said(token).split())
            shown = " ".join(printed.split())
            self._mark(token, f"decide: {shown}: marks stand in it: write {plain}, then quote a fact or reading")
            reason = f"it is written {shown}, with marks inside it, so that no quote can print it: write {plain}"
            self._item(token, "decide", "", reason)
            return
        value, fmt = _as_value(token, printed, self.decimal)
        unit = token.unit or ""
        line, column = self.old.place(token.start)
        stub = self._stub(_id_of(number), value, unit, fmt, f"{self.old.path}:{line}:{column}")
        if setting:
            stub = replace(stub, source=setting.source, why=f"{setting.source} holds it, and its words stand beside it")
        elif not stub.why:
            stub = replace(stub, why=self._lacks(number))
        self.stubs[stub.id] = stub
        self._ids[index] = stub.id
        quote = f'{{{{ q("{stub.id}") }}}}'
        self._edits.append(_Edit(start, end, quote, printed))
        self._item(token, "fact", quote, stub.why)

    def _marked(self, token: Token, start: int, end: int) -> str:
        """What to write in place of a number that holds marks or entities; empty where a quote can stand for it."""
        block = self.blocks[token.block]
        said = block.text[_inside(block, start) : _inside(block, end - 1) + 1]
        return plainly(token.text, self.decimal) if self.old.text[start:end] != said else ""

    def _lacks(self, number: Number) -> str:
        """Why nothing can be proposed for a number, with what comes nearest to it."""
        if not self.sources:
            return "there are no data to match it with"
        near = [f"{name} = {said}" for name, said in self._nearest(number)]
        told = f"; the nearest are {', '.join(near)}" if near else ""
        return f"no reading prints it{told}"

    def _derive(self, numbers: Sequence[Number]) -> None:
        """Give each percentage and ratio that the numbers beside it give these as its source."""
        said = {(item.line, item.column): at for at, item in enumerate(self.items)}
        for index, number in enumerate(numbers):
            stub = self.stubs.get(self._ids.get(index, ""))
            if stub is None or stub.source or number.token.unit not in ("%", "×"):
                continue
            found = derived(index, numbers)
            if found is None:
                why = f"{stub.why}; no count with its total, and no two numbers of one unit, beside it give it"
            else:
                names = [self._ids.get(operand, "") for operand in found.operands]
                texts = [numbers[operand].token.text for operand in found.operands]
                if all(names):
                    formula = found.formula.format(*names)
                    stub = replace(stub, source=f"derived from the numbers beside it: {formula}")
                    why = f"{found.formula.format(*texts)} gives it"
                else:
                    why = f"{found.formula.format(*texts)} gives it, once these are decided"
            self.stubs[stub.id] = replace(stub, why=why)
            at = said[self.old.place(number.token.start)]
            self.items[at] = replace(self.items[at], why=why)

    def _stub(self, name: str, value: int | float | str, unit: str, fmt: str, where: str) -> Stub:
        """The fact of this name where it has the same value, unit and format, else a new one."""
        for count in range(1, len(self.stubs) + len(self._taken) + 2):
            tried = name if count == 1 else f"{name}_{count}"
            there = self.stubs.get(tried)
            if there and (type(there.value), there.value, there.unit, there.print) == (type(value), value, unit, fmt):
                return there
            if tried not in self._taken and not there:
                self.stubs[tried] = Stub(tried, value, unit, fmt, where)
                return self.stubs[tried]
        raise AssertionError("one of that many names is free")

    def _compared(self, token: Token) -> None:
        if not self._any_computed:
            self._word_fact(token)
            return
        claim = self._claim(token)
        said = claim or f'claim("…", "{token.text}")'
        facts = self._words.get(token.text.lower(), [])[:SHOWN]
        choice = " | ".join((said, *(f'q("{name}")' for name in facts)))
        fact = (
            ""
            if facts or self._compares(token)
            else f'; where no data decide it, a fact: {{{{ q("word…") }}}}, value = "{token.text}"'
        )
        self._mark(token, f"decide: {{{{ {choice} }}}}{fact}")
        self._item(token, "compared", choice + fact, "true of the numbers beside it" if claim else "a comparing word")

    @cached_property
    def _any_computed(self) -> bool:
        """Whether any reading is computed from data, so that a claim can stand on it."""
        readings = self.sources.readings if self.sources else {}
        return any(readings[name].role == "reading" for name in readings)

    def _word_fact(self, token: Token) -> None:
        """Propose a comparing word as a fact: no data are there that could decide it."""
        printed = self.old.text[token.core_start : token.core_end]
        if not printed.isalpha():
            self._mark(token, f"decide: {token.text}: marks stand in it: write it plainly, then quote a fact")
            self._item(token, "compared", "", "marks stand inside it, so that no quote can print it")
            return
        line, column = self.old.place(token.start)
        stub = self._stub(f"word.{printed.lower()}", printed, "", "", f"{self.old.path}:{line}:{column}")
        why = "a comparing word, and no data are there that decide it"
        self.stubs[stub.id] = replace(stub, why=why)
        quote = f'{{{{ q("{stub.id}") }}}}'
        self._edits.append(_Edit(token.core_start, token.core_end, quote, printed))
        self._item(token, "worded", quote, why)

    def _claim(self, token: Token) -> str:
        """A claim over the bound numbers next to a comparing word that is true of the data; empty where none is."""
        sign, pair = _SIGN_OF.get(token.text.lower()), self._compares(token)
        if not (sign and pair and self.sources):
            return ""
        expression = f"{pair[0]} {sign} {pair[1]}"
        try:
            check_claim(expression, self.sources.readings)
            holds = claim_holds(expression, self.sources.readings)
        except CampaignError:
            return ""
        return f'claim("{expression}", "{token.text}")' if holds else ""

    def _compares(self, token: Token) -> tuple[str, str] | None:
        """The readings of one unit that are quoted on both sides of a comparing word, the nearest ones."""
        here = self._bound.get(surroundings(self.blocks, token), {})
        before = [name for start, name in here.items() if start < token.start]
        after = [name for start, name in here.items() if start > token.start]
        if not (before and after and self.sources):
            return None
        one, other = (self.sources.readings[name].unit for name in (before[-1], after[0]))
        return (before[-1], after[0]) if one == other else None

    def template(self) -> str:
        """The template; `body` is then what it renders."""
        text = self.old.text
        pieces, body = [], []
        at = 0
        for edit in sorted(self._edits, key=lambda edit: (edit.start, edit.end)):
            if edit.start < at:
                continue
            kept = text[at : edit.start] if edit.template else text[at : edit.end]
            pieces.append(_literal(kept, before_tag=True))
            body.append(kept)
            if edit.template:
                pieces.append(edit.template)
                body.append(edit.printed)
            if edit.comment:
                # A plain end of a comment would take the line end behind it.
                pieces.append(f"{{# {edit.comment} {'+' if text.startswith(chr(10), edit.end) else ''}#}}")
            at = edit.end
        pieces.append(_literal(text[at:], before_tag=False))
        body.append(text[at:])
        self.body = "".join(body)
        return "".join(pieces)


_TAG = re.compile(r"\{[{%#]")
_SIGN_OF = dict.fromkeys("below under less lower fewer smaller shorter".split(), "<")
_SIGN_OF |= dict.fromkeys("above over more higher greater larger longer exceed exceeds exceeded exceeding".split(), ">")


def _literal(text: str, before_tag: bool) -> str:
    """`text` as a template has to write it to print it."""
    escaped = _TAG.sub(lambda found: f'{{{{ "{found[0]}" }}}}', text)
    ends = before_tag and escaped.endswith("{")
    return f'{escaped[:-1]}{{{{ "{{" }}}}' if ends else escaped


def _inside(block: Block, at: int) -> int:
    """The place in a block's text of an offset of the source."""
    return max(0, min(bisect_left(block.ends, at + 1), len(block.text) - 1))


def _in_math(text: str, at: int) -> bool:
    """Whether an odd number of dollar signs stands before this place: it may be a formula."""
    return text.count("$", 0, at) % 2 == 1


def _choice(one: Candidate) -> str:
    why = "; ".join(one.reasons)
    return f"{one.quote} ({_percent(one.chance)}{': ' if why else ''}{why})"


def _leading(candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate that is likelier than all others together; None where none is."""
    return candidates[0] if candidates and candidates[0].chance > 0.5 else None


def _percent(chance: float) -> str:
    """A chance in whole percent, cut off: one below a bound is never printed as the bound."""
    return f"{math.floor(chance * 100)}%"


def _undecided(worth: Sequence[Candidate]) -> str:
    """Why none of the candidates is bound."""
    first = worth[0]
    if first.kin:
        return f"another reading is computed as {first.id} is: their values are the same"
    if first.chance < CLEAR:
        many = f"; {len(worth)} readings may print it" if len(worth) > 1 else ""
        return f"{first.id} fits best, and not well enough: {_percent(first.chance)}, and it needs {CLEAR:.0%}{many}"
    if not first.named or len(worth) < 2:
        return f"only value and unit speak for {first.id}: no word or number of it stands there"
    return f"{first.id} fits best, and {worth[1].id} too well beside it: {AHEAD} times less likely is asked for"


def _value_alone(printed: str, decimal: str) -> object:
    """The value of characters that stand alone, None where they are no number."""
    found = [token for token in find(printed, decimal_comma=decimal == ",") if token.role in ("number", "word")]
    return found[0].value if len(found) == 1 else None


def _as_value(token: Token, printed: str, decimal: str) -> tuple[int | float | str, str]:
    """A value and a format that print exactly these characters: a number where there is one, else the text itself."""
    tries: list[int | float] = []
    pointed = printed.translate(COMMA) if decimal == "," else printed
    if re.fullmatch(r"[+−]?[\d,]+(\.\d+)?", pointed, re.ASCII) and len(pointed) < 18:
        plain = pointed.replace(",", "").replace(MINUS, "-")
        tries.append(float(plain) if "." in plain else int(plain))
    elif token.role == "word" and token.value is not None:
        number = float(token.value)
        tries.append(int(number) if number.is_integer() else number)
    for value in tries:
        fmt = format_that_prints(Reading("", value), pointed)
        if fmt is not None:
            return value, fmt
    return printed, ""


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]+")
_DULL = frozenset(
    """a about after all an and any are as at be been before both but by can did do does each every for from gave get
    gets give gives had has have here in into is it its made make makes more needs no not now of off on only or over own
    ran same saw so some such take taken takes than that the their them then there today these they this those to took
    under up uses used using was we were when where which while with within""".split()
)


def _id_of(number: Number) -> str:
    """A name for a fact, from the words around its number."""
    if number.cell:
        words = [word for label in reversed(number.labels) for word in _NAME.findall(label)[:3]]
    else:
        words = _named_by(number)
    said = "_".join(dict.fromkeys(word.lower() for word in words))[:48].strip("_")
    return said or "number"


def _named_by(number: Number) -> list[str]:
    """The words of a sentence that name its number: what it counts, the noun behind it, or the nouns before it."""
    unit = number.token.unit or ""
    counted = [] if unit in UNIT_SIGNS else _telling(unit)
    behind = re.sub(rf"^\s*{re.escape(unit)}(?!\w)", "", number.after) if unit else number.after
    follows = list(takewhile(lambda word: word.lower() not in _DULL, _NAME.findall(_CUT.split(behind, 1)[0])))
    before = _CUT.split(number.before)[-1]
    precedes = _telling(before)[-3:]
    if counted:
        return counted
    if number.token.role == "word" and (part := _PART_OF.match(behind)):
        return [*_NAME.findall(number.said), *_telling(part[1])[:2]]  # half of the bar
    if unit in ("%", "×", "") and follows and not (precedes and _SAYS.search(before)):
        return follows[:2]
    return precedes or follows[:2] or _telling(number.before)[-3:] or _telling(number.heading)[-3:]


def _telling(text: str) -> list[str]:
    """The words of a text that can name something."""
    return [word for word in _NAME.findall(text) if word.lower() not in _DULL | UNIT_SIGNS]


_CUT = re.compile(r"(?<!\S)\d\S*|[,;:()|](?=\s)|[()]")
"""What ends the words that belong to a number: another number, a comma, a parenthesis."""
_SAYS = re.compile(r"\b(?:is|are|was|were|of|at|by|to|from)\s*$")
"""What stands between a number and the noun that it is said of."""
_PART_OF = re.compile(r"\s+(?:of\s+)?((?:the|an?|its|that)\s.*)")


# What a person reads

_NUMBERS = ("bound", "fact", "decide", "structure")
"""The outcomes of numbers; others are those of names and words."""


def summary(imported: Import) -> str:
    """How many numbers there are, and how many are bound, proposed and left to decide."""
    count = Counter(item.outcome for item in imported.items)
    numbers = sum(count[outcome] for outcome in _NUMBERS)
    without = sum(not stub.source for stub in imported.facts)
    worded = f", {count['worded']} proposed as a fact" if count["worded"] else ""
    said = [
        f"{_counted(numbers, 'number')}: {count['bound']} bound to readings",
        f"{count['fact']} proposed as {_counted(len(imported.facts), 'fact')}, {without} of them without a source",
        f"{count['decide']} to decide",
        f"{count['structure']} structure; {_counted(count['compared'], 'comparing word')} to decide"
        f"{worded}; "
        f"{_counted(count['declared'], 'declared name')}",
        f"{len(imported.names)} proposed{f' ({_list(imported.names)})' if imported.names else ''}",
    ]
    return "\n".join(f"{imported.path}: {line}" for line in (", ".join(said), *imported.changes))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")


def next_steps(imported: Import, part: Part) -> list[str]:
    """What a person does now, a line each: facts without a source and numbers to decide by file and line."""
    facts = part.folder / (STUBS if (part.folder / STUBS).is_file() else part.facts.name)
    steps = []
    if imported.facts and facts.is_file():
        lines = _lines_with(facts, 'source = ""')
        if lines:
            those = _counted(len(lines), "fact") + (" lacks" if len(lines) == 1 else " lack")
            steps.append(f"{part.show(facts)}:{lines[0]}: {those} a source, on {_on(lines)}: say where to look it up")
        proposed = len(imported.facts) - len(lines)
        if proposed > 0:
            steps.append(f"{part.show(facts)}: look at {_counted(proposed, 'source')} marked PROPOSED")
        if facts.name == STUBS:
            steps.append(f"move what is in {part.show(facts)} to {part.show(part.facts)}")
    if lines := _lines_with(part.template, "{# decide:"):
        steps.append(
            f"{part.show(part.template)}:{lines[0]}: settle each comment {{# decide … #}}, on {_on(lines)}: a quote "
            f"for the number, a claim for the word before it; {part.show(part.folder / REPORT)} gives the reasons"
        )
    lines = {image.source: image.line for image in reversed(imported.images)}
    for source, line in sorted(lines.items(), key=lambda item: item[1]):
        path = part.folder / source
        if not path.resolve().is_relative_to(part.folder.resolve()):
            steps.append(f"{imported.path}:{line}: shows {source}, which is outside the part: move it in, name it so")
        elif not path.is_file():
            steps.append(
                f"{imported.path}:{line}: shows {source}, which was not beside it: put it at {part.show(path)}"
            )
    if imported.dated is None or not imported.dated.certain:
        steps += _date_step(part)
    return [*steps, f"notes build {part.name}, then notes check {part.name}"]


def origin_steps(text: str, imported: Import, part: Part) -> list[str]:
    """A line for each part whose data the post may report on, which was taken in without any."""
    printed = [re.sub(r"[^\d.,+−]", "", item.text) for item in imported.items if item.outcome == "fact"]
    return [
        f"{one}: to match with its data, delete {part.show(part.folder)} and import again with --from {one.part.name}"
        for one in likely_parts(text, printed, part.campaign)
        if one.part != part
    ]


def _date_step(part: Part) -> list[str]:
    """A step for a date that a person has to look at, where the part's facts hold one that was proposed."""
    if not part.facts.is_file():
        return []
    for number, line in enumerate(part.facts.read_text("utf-8").split("\n"), 1):
        if line.startswith(("# PROPOSED: look whether this is its date", "# TO DECIDE: the old post says no date")):
            return [f"{part.show(part.facts)}:{number + 1}: look at the date of the post"]
    return []


def _lines_with(path: Path, words: str) -> list[int]:
    """The lines of a file that hold some words; one for each time."""
    return [n for n, line in enumerate(path.read_text("utf-8").split("\n"), 1) for _ in range(line.count(words))]


def _on(lines: Sequence[int]) -> str:
    found = list(dict.fromkeys(map(str, lines)))
    return f"line{'' if len(found) == 1 else 's'} {', '.join(found[:NAMED])}" + (", …" if len(found) > NAMED else "")


def report(imported: Import) -> str:
    """The summary, then a line for each number, name and comparing word: place, text, outcome, proposal, why."""
    lines = [
        f"{imported.path}:{item.line}:{item.column}: {item.text!r}: {item.outcome}"
        f"{f': {item.proposal}' if item.proposal else ''} ({item.why})"
        for item in imported.items
    ]
    return "\n".join([summary(imported), "", *lines]) + "\n"


# What is written


def write_import(campaign: Campaign, part_name_said: str, imported: Import, day: date) -> list[Path]:
    """The files written for the part; a file that is there already is never touched, nor is the old post.

    A part that is there with its plan, data and facts gets a template, the report, and the proposed facts in a file
    of their own. A new part gets a plan and facts too; with the sources of another part, a copy of its plan and data.
    """
    part = Part(campaign, part_name(part_name_said))
    if imported.rendered() != imported.body:
        raise TemplateError(
            f"{imported.path}: the template does not give the text back; expected the same bytes. Nothing was written: "
            "this is a fault of the program."
        )
    there = imported.sources is not None and imported.sources.part.name == part.name
    if part.folder.exists() and not there:
        raise UsageError(
            f"{part.show(part.folder)}: is there already; expected a new part, or one with plan, data and facts to "
            "match with. Choose another number."
        )
    if not any(item.outcome in _NUMBERS for item in imported.items):
        raise UsageError(
            f"{imported.path}: holds no number; expected at least one, as a check of a part without any has nothing to "
            "compare and fails. Nothing was written: leave the post outside the campaign, or write its numbers into it."
        )
    contents = dict(_files_beside(imported) if there else _files_of_new(part, imported, day))
    contents |= {name: file for name, file in _pictures(imported).items() if not (part.folder / name).exists()}
    for name in (*contents, "post.md"):
        if (part.folder / name).exists():
            raise UsageError(
                f"{part.show(part.folder / name)}: is there already; expected none, as nothing is overwritten. "
                "Move it away, or choose another number."
            )
    return write_folder(part.folder, contents)


_PICTURES = frozenset((".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif"))


def _pictures(imported: Import) -> dict[str, bytes]:
    """The images that lie beside the old post and below its folder, by the names that it shows them under."""
    base = Path(imported.path).parent.resolve()
    found = {}
    for image in imported.images:
        path = (base / image.source).resolve()
        if path.suffix.lower() in _PICTURES and path.is_relative_to(base) and path.is_file():
            found[path.relative_to(base).as_posix()] = path.read_bytes()
    return found


def _files_beside(imported: Import) -> Iterator[tuple[str, bytes]]:
    """What a part that is there gets."""
    yield "post.md.j2", imported.template.encode()
    yield REPORT, report(imported).encode()
    if imported.facts or imported.names:
        yield STUBS, _facts_text(imported, None).encode()


def _files_of_new(part: Part, imported: Import, day: date) -> Iterator[tuple[str, bytes]]:
    """What a new part gets."""
    yield "post.md.j2", imported.template.encode()
    yield REPORT, report(imported).encode()
    yield "facts.toml", _facts_text(imported, day).encode()
    if imported.sources is None:
        head = f"# The plan of {part.title}, whose text was written before the part.\n\n"
        yield "plan.toml", (head + toml_lines({"about": " ".join(imported.title.split())})).encode()
        label = f"The text was taken over from {imported.path}; its data are not here."
        yield "data/run.json", _run_json({"origin": "stated", "label": label})
        yield "data/README.md", f"# The data of {part.title}\n\n{label}\n".encode()
        return
    source = imported.sources.part
    yield "plan.toml", source.plan.read_bytes()
    if source.credits.is_file():
        yield "credits.toml", source.credits.read_bytes()
    for path in sorted(source.data.rglob("*")):
        if path.is_file() and path != source.run and not path.name.startswith("."):
            yield path.relative_to(source.folder).as_posix(), path.read_bytes()
    run = json.loads(source.run.read_bytes())
    # A copy is under no seal of its own: nothing proves here that the plan came first.
    origin = "stated" if run.get("origin") == "measured" else run.get("origin")
    yield "data/run.json", _run_json(run | {"origin": origin, "label": f"A copy of the data of {source.title}."})


def _run_json(said: dict[str, object]) -> bytes:
    return (json.dumps(said, ensure_ascii=False, indent=1) + "\n").encode()


def _facts_text(imported: Import, day: date | None) -> str:
    """A facts.toml with the proposed facts; without a day only what belongs into one that is there."""
    facts = imported.sources.facts if imported.sources and day else None
    names = [*(facts.names if facts else ()), *imported.names]
    lines = [
        f"# Proposed for {imported.path}: each fact needs its source, and is refused until it has one.\n",
        "# A number that comes from data is no fact: declare a reading in the plan and quote that.\n",
    ]
    if names:
        listed = "".join(f"    {json.dumps(name, ensure_ascii=False)},\n" for name in names)
        lines.append(f"\nnames = [\n{listed}]\n")
    if day:
        lines.append("\n[post]\n" + toml_lines({"title": " ".join(imported.title.split())}))
        lines.append(f"# {_day_told(imported.dated)}\n" + toml_lines({"date": _day_of(imported, day)}))
    for name, fact in (facts.facts if facts else {}).items():
        said = {key: value for key, value in fact.model_dump().items() if value != ""}
        lines.append(f'\n[facts."{name}"]\n' + _with_floats(said))
    for stub in imported.facts:
        said = {"value": stub.value, "unit": stub.unit or None, "print": stub.print or None, "source": stub.source}
        asked = "PROPOSED: look whether its source is right" if stub.source else "TO DECIDE: where can it be looked up?"
        told = "".join(c if c.isprintable() else " " for c in f"{asked} {stub.where}: {stub.why}")
        lines.append(f'\n# {told}\n[facts."{stub.id}"]\n' + _with_floats(said))
    return "".join(lines)


def _day_of(imported: Import, day: date) -> date:
    return imported.dated.day if imported.dated else day


def _day_told(dated: Dated | None) -> str:
    """Where the date of the post comes from, in one line."""
    if dated is None:
        return "TO DECIDE: the old post says no date; this is the day on which it was imported"
    said = "".join(c if c.isprintable() else " " for c in dated.where)
    return f"As it stands in {said}" if dated.certain else f"PROPOSED: look whether this is its date, {said}"


def _with_floats(said: dict[str, object]) -> str:
    """Lines of TOML, in which a value may be a float."""
    lines = [
        f"{key} = {value!r}\n" if isinstance(value, float) else toml_lines({key: value}) for key, value in said.items()
    ]
    return "".join(lines)
