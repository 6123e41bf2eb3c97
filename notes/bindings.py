"""Which reading a printed number may come from: every candidate, how well it fits its place, and why.

An equal value proves nothing: small numbers equal many readings. So a candidate is weighed against all others, and
against the guess that the number is no reading at all; what speaks for it is the number's length, its unit, the words
around it and its neighbours in a sentence or a table.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from campaign.analysis.formulas import first_name
from campaign.analysis.readings import Reading, Readings
from campaign.analysis.rounding import MINUS
from campaign.notes.errors import TemplateError
from campaign.notes.numbers import Token
from campaign.notes.quote import COMMA, format_value, print_reading
from campaign.notes.reader import Block

CLEAR = 0.85
"""The chance from which on a candidate is clearly ahead."""
AHEAD = 20
"""How many times as likely as the next one it is then."""
TELLING_DIGITS = 4
"""So many digits need no word beside them."""
MOST = 24
"""How many candidates of a number are kept at most."""
KEYS = 2
"""How many first columns of a table name its rows at most."""

# What speaks for a candidate and what against it, as logarithms of odds; set by hand on the posts of this campaign.
_READING, _NONE = 0.6, 0.4
"""The chances that a number comes from some reading, and from none, before anything is known of it."""
_DIGIT = 2.0
"""What each further digit says against mere chance."""
_OWN_FORMAT, _WORD_FORMAT, _OTHER_FORMAT = 1.0, -0.5, -2.5
_SAME_SIGN, _SIGN_IN_TABLE, _NO_SIGN = 2.0, 1.5, -1.5
"""The reading's unit behind the number, in a label of its table, nowhere."""
_SAME_NOUN, _NOUN_FOR_SIGN, _OTHER_NOUN, _NOUN_FOR_NONE = 1.5, -4.0, -1.5, -0.5
"""Things are counted: those of the reading, though it is measured, others than the reading's, though it counts none."""
_WORD_GAIN, _WORDS_AT_MOST, _WORD_MISSING = 1.6, 5.0, -0.25
_MEMBER, _OTHER_MEMBER = 2.0, -1.5
"""A number in the reading's id that stands in the labels or the sentence, and one that does not."""
_NAMED = 1.5
"""Every word of the reading's id stands around the number."""
_ROW = 4.0
"""Another cell of the row prints a text of the reading's kin."""
_OTHER_HEAD = -1.5
"""A part of the reading's id names another row or column of the table."""
_COLUMN_KIN, _ROW_KIN = 2.5, 1.5
_BOTH_ENDS, _MIDDLE = 6.0, 2.0
_ASPECT = -3.0
"""Standard errors, counts and lone ends are rarely quoted."""
_IN_PLOT, _OUTSIDE_PLOT = 2.0, -2.0
_IN_CODE = -4.0
"""Digits in the middle of code name something more often than they tell a result."""
_PART_OR_TOTAL = 3.5
"""Of two counts in "48 of 48", the one with more conditions is the part."""
_NOTHING_TELLS = -2.0
_POWERS_OF_TWO = frozenset(2**power for power in range(5, 31))
OWN = "in its own format"
"""The reason that alone says little."""
_ENDS = (".lo", ".hi")
_PRINTED = re.compile(
    rf"(?P<sign>[+{MINUS}]?)(?P<whole>\d+|\d{{1,3}}(?:,\d{{3}})+)(?:\.(?P<digits>\d+))?(?P<percent>%?)"
)
_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)*")
_UNGROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
UNIT_SIGNS = frozenset("ns µs ms s W kW % GB GiB MB MiB KB KiB × h min".split())
"""Units that are measured in, where others count things."""
_MEASURED = frozenset(
    f"{word}{end}"
    for word in "second minute hour day week month year millisecond watt byte".split()
    for end in ("", "s")
) | {"percent", "h", "min"}
"""Words for what is measured: none of them counts another thing."""
_SAME_UNIT = {"us": "µs", "μs": "µs", "bytes": "B"}
_UNTOLD = frozenset(
    """a an and are as at be between both but by draw each every for from had has have if in into is it its mean no not
    of on or over per row rows same step than that the their them then there these they this those to under value
    verify was were what when where which with""".split()
)
"""Words that stand everywhere and tell no reading from another."""


@dataclass(frozen=True)
class Candidate:
    """A reading that prints the characters of a place."""

    id: str
    format: str
    """What a quote has to name; empty where the reading's own format prints them."""
    said: str
    """The characters that it prints: those of the number, with its % where the format prints one."""
    chance: float
    """How likely it is the one, of all that print the same and of none."""
    kin: bool
    """Whether another candidate is computed from it, or it from another, so that no value tells them apart."""
    named: bool
    """Whether more than value, unit and format speaks for it: a word, a neighbour, or digits that chance hardly has."""
    reasons: tuple[str, ...]
    """What speaks for it, in words."""

    @property
    def quote(self) -> str:
        """The quote as a template has it."""
        return f'{{{{ q("{self.id}", "{self.format}") }}}}' if self.format else f'{{{{ q("{self.id}") }}}}'


@dataclass(frozen=True)
class Number:
    """A number of the text, with what a reader sees around it."""

    token: Token
    said: str
    """The characters that a quote would print, the minus as U+2212."""
    before: str
    """What stands before it in its sentence."""
    after: str
    labels: tuple[str, ...]
    """Other words that it stands under: the label of its row, the head of its column."""
    elsewhere: tuple[str, ...]
    """The words that other rows and columns of its table stand under."""
    beside: tuple[str, ...]
    """The other cells of its row."""
    heading: str
    cell: tuple[int, int, int] | None
    """Table, row and column."""
    kind: str
    """That of its block."""
    in_code: bool = False
    """Whether it is a part of a longer stretch of inline code: an expression, or a name."""
    decimal: str = "."
    """The mark before its decimals."""

    @property
    def plain(self) -> str:
        """The characters with a point before the decimals."""
        return self.said.translate(COMMA) if self.decimal == "," else self.said

    @property
    def alone(self) -> bool:
        """Whether it is all that its cell of a table holds."""
        return self.cell is not None and not self.before.strip() and not self.after.strip()

    @cached_property
    def around(self) -> Mapping[str, float]:
        """The stems of the words around it, nearer ones with more weight."""
        found: dict[str, float] = {}
        for text, weight in ((self.heading, 0.35), *((label, 0.9) for label in self.labels)):
            for word in stems(text):
                found[word] = max(found.get(word, 0.0), weight)
        for words in (list(stems(self.before))[::-1], list(stems(self.after))):
            for distance, word in enumerate(words):
                found[word] = max(found.get(word, 0.0), 1.0 if distance < 6 else 0.5)
        return found

    @cached_property
    def others(self) -> tuple[frozenset[str], ...]:
        """The stems of what each other row or column of its table stands under."""
        return tuple(frozenset(stems(text)) for text in self.elsewhere)

    @cached_property
    def members(self) -> Counter[str]:
        """The numbers of its labels; outside tables those of its sentence."""
        texts = self.labels if self.cell else (self.before, self.after)
        return Counter(word for text in texts for word in stems(text) if word.isdecimal())


@dataclass(frozen=True)
class _Known:
    """A reading with what it can be recognised by."""

    reading: Reading
    parts: tuple[str, ...]
    """The parts of its id."""
    words: Mapping[str, float]
    """Stems by their weight: of id and labels, less of formula and reasons."""
    own: frozenset[str]
    """Those of id and labels alone."""
    prior: float

    @property
    def value(self) -> float:
        assert isinstance(self.reading.value, int | float), "only numbers are known"
        return self.reading.value


@dataclass
class _Tried:
    """A candidate while it is weighed."""

    known: _Known
    format: str
    score: float
    reasons: list[str]
    said: str
    named: bool
    """Whether a word or number of its id, or a text of its kin, stands where the number does."""
    more: float = 0.0
    """What its neighbours add."""
    more_reasons: tuple[str, ...] = ()
    chance: float = 0.0

    @property
    def traits(self) -> set[str]:
        """What candidates of one column or row can have in common: an id's part, or all of it but one part."""
        parts = self.known.parts
        families = {".".join((*parts[:i], "*", *parts[i + 1 :])) for i in range(len(parts)) if len(parts) > 1}
        return set(parts) | families


_Traits = Mapping[str, Sequence[tuple[float, str]]]


def numbers_in(
    blocks: Sequence[Block], tokens: Sequence[Token], said: Callable[[Token], str], decimal: str
) -> list[Number]:
    """The tokens with their surroundings; `said` gives the characters that a quote would print.

    `decimal` is the mark before the decimals of the text.
    """
    cells = {(b.cell.table, b.cell.row, b.cell.column): b.text for b in blocks if b.cell}
    rows: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for (table, row, column), text in cells.items():
        rows.setdefault((table, row), []).append((column, text))
    headings: list[str] = []
    heading = ""
    for block in blocks:
        heading = block.text if block.kind == "heading" else heading
        headings.append(heading)
    found = []
    for token in tokens:
        block = blocks[token.block]
        start, end = (bisect_left(block.source, at) for at in (token.core_start, token.core_end))
        before = re.split(r"[.;!?]\s", block.text[:start])[-1]
        after = re.split(r"[.;:!?](?:\s|$)", block.text[end:])[0]
        labels: tuple[str, ...] = ()
        elsewhere: tuple[str, ...] = ()
        beside: tuple[str, ...] = ()
        cell = None
        if block.cell:
            cell = (block.cell.table, block.cell.row, block.cell.column)
            keys = [(cell[0], 0, cell[2]), *((cell[0], cell[1], column) for column in range(min(cell[2], KEYS)))]
            labels = tuple(cells.get(at, "") for at in keys if at != cell)
            beside = tuple(text for column, text in rows[cell[:2]] if column != cell[2])
            elsewhere = tuple(
                text
                for (table, row, column), text in cells.items()
                if table == cell[0] and ((row == 0 and column != cell[2]) or (column == 0 and row not in (0, cell[1])))
            )
        in_code = any(span.kind == "code" and span.start <= start and end < span.end for span in block.spans) or any(
            span.kind == "code" and span.start < start and end <= span.end for span in block.spans
        )
        found.append(
            Number(
                token,
                said(token),
                before,
                after,
                labels,
                elsewhere,
                beside,
                headings[token.block],
                cell,
                block.kind,
                in_code,
                decimal,
            )
        )
    return found


class Bindings:
    """The readings of a part, ready to be recognised in a text."""

    def __init__(self, readings: Readings, labels: Mapping[str, str]) -> None:
        """`labels` are words for parts of ids, as those of arms."""
        self.readings = readings
        self._labels = {part: frozenset(stems(label)) for part, label in labels.items()}
        self._known = list(self._all())
        self._frequency = Counter(word for known in self._known for word in known.words)
        self._texts = _text_parts(readings)
        self._known.sort(key=lambda known: known.value)
        self._values = [known.value for known in self._known]
        self._families = Counter(_family(known) for known in self._known)

    def _all(self) -> Iterator[_Known]:
        for name in self.readings:
            reading = self.readings[name]
            if not isinstance(reading.value, int | float) or not math.isfinite(reading.value):
                continue
            words = dict.fromkeys(stems(f"{reading.formula} {reading.because}"), 0.4)
            words |= dict.fromkeys(stems(reading.unit), 0.6)
            parts = tuple(name.split("."))
            for part in parts:
                words |= dict.fromkeys((*self._labels.get(part, ()), *stems(part.replace("_", " "))), 1.0)
            own = frozenset(word for word, weight in words.items() if weight == 1.0) - {"plot"}  # whose it is, no word
            yield _Known(reading, parts, words, own, 0.0)
            for aspect in reading.aspects:
                yield _Known(self.readings[f"{name}.{aspect}"], (*parts, aspect), words, own, _ASPECT)

    def candidates(self, numbers: Sequence[Number]) -> list[tuple[Candidate, ...]]:
        """For each number the readings that print it, the likeliest first."""
        tried = [self._tried(number) for number in numbers]
        for _ in range(3):
            self._neighbours(tried, numbers)
            for one, number in zip(tried, numbers, strict=True):
                self._weigh(one, number)
        return [tuple(_candidates(one, self.readings)) for one in tried]

    def nearest(self, number: Number, most: int = 2) -> list[tuple[str, str]]:
        """The ids and texts of the readings of its unit whose values come nearest to a number; none for words."""
        printed = _PRINTED.fullmatch(number.plain)
        if not printed or number.token.unit not in UNIT_SIGNS:
            return []
        value, _ = _value_of(number.plain, number.token)
        alike = [one for one in self._known if _base_unit(one.reading.unit) == number.token.unit and not one.prior]
        near = sorted(alike, key=lambda one: abs(one.value - value))[:most]
        return [(one.reading.id, _text_of(one.reading, self.readings.decimal)) for one in near]

    def _tried(self, number: Number) -> list[_Tried]:
        signs = ["", "%"] if number.token.unit == "%" and number.after.startswith("%") else [""]
        found = []
        for sign in signs:
            said = f"{number.said}{sign}"
            value, reach = _value_of(f"{number.plain}{sign}", number.token)
            first, last = bisect_left(self._values, value - reach), bisect_right(self._values, value + reach)
            for known in self._known[first:last]:
                fmt = format_that_prints(known.reading, f"{number.plain}{sign}")
                if fmt is not None and (said.endswith("%") or _unit_allows(number.token, known.reading)):
                    found.append(self._weighed(known, fmt, said, number))
        self._weigh(found, number)
        return sorted(found, key=lambda one: -one.chance)[:MOST]

    def _weighed(self, known: _Known, fmt: str, said: str, number: Number) -> _Tried:
        """A candidate with what its own place says for it."""
        reasons: list[str] = []
        score = known.prior - math.log(self._families[_family(known)])
        if known.parts[0] == "plot":
            score += _IN_PLOT if number.kind == "alt" else _OUTSIDE_PLOT
        if fmt in ("", known.reading.print):
            reasons.append(OWN)
            score += _OWN_FORMAT
        else:
            score += _WORD_FORMAT if fmt in ("word", "Word", "ordinal") else _OTHER_FORMAT
        unit, why = _unit_score(number, known.reading)
        score += unit
        reasons += why
        words, told = self._word_score(known, number)
        score += words
        named = [*told]
        if told:
            reasons.append(f"words: {', '.join(told)}")
        score += _IN_CODE if number.in_code else 0.0
        if known.own - {number.plain.replace(",", "")} and known.own <= number.around.keys():
            reasons.append("every word of its id stands there")
            score += _NAMED
            named.append("all")
        members, told = _member_score(known, number)
        score += members
        named += [part for part in told if part != number.plain.replace(",", "")]
        if told:
            reasons.append(f"stands at {', '.join(told)}")
        score += _OTHER_HEAD * self._heads_of_others(known, number)
        kin, row = self._row_score(known, number)
        score += kin
        if row:
            named.append(row)
            reasons.append(f"in the row of {row}")
        if not any(reason != OWN for reason in reasons):
            score += _NOTHING_TELLS
        return _Tried(known, fmt, score, reasons, said, bool(named))

    def _word_score(self, known: _Known, number: Number) -> tuple[float, list[str]]:
        """How much the words around the number speak for the reading, and which do."""
        total, told = 0.0, []
        count = len(self._known)
        for word, weight in number.around.items():
            if word in known.words:
                rarity = math.log(count / self._frequency[word]) / math.log(max(count, 2))
                gain = _WORD_GAIN * rarity * weight * known.words[word]
                total += gain
                if gain > 0.4:
                    told.append(word)
        missing = known.own - number.around.keys()
        return min(total, _WORDS_AT_MOST) + _WORD_MISSING * len(missing), told

    def _heads_of_others(self, known: _Known, number: Number) -> int:
        """How many parts of the reading's id stand over another row or column of the table, and not over this one."""
        found = 0
        for part in known.parts if number.others else ():
            names = [words for words in (self._labels.get(part), frozenset(stems(part.replace("_", " ")))) if words]
            if not any(words <= number.around.keys() for words in names):
                found += any(words <= head for head in number.others for words in names)
        return found

    def _row_score(self, known: _Known, number: Number) -> tuple[float, str]:
        """Whether another cell of its row, or a label, prints a text that belongs to a part of the reading's id."""
        best, told = 0.0, ""
        for text in (*number.beside, *number.labels):
            parts = self._texts.get(" ".join(text.split()), Counter())
            for part in set(known.parts):
                if part in parts:
                    gain = _ROW / parts.total()
                    if gain > best:
                        best, told = gain, text.strip()
        return best, told

    def _weigh(self, tried: list[_Tried], number: Number) -> None:
        """Set the chance of each candidate, among the others and the guess that it is none of them."""
        size = max(len(self._families), 1)
        none = math.log(_NONE) + _surprise(number)
        scores = [math.log(_READING / size) + one.score + one.more for one in tried]
        top = max((none, *scores))
        total = math.exp(none - top) + sum(math.exp(score - top) for score in scores)
        for one, score in zip(tried, scores, strict=True):
            one.chance = math.exp(score - top) / total

    def _neighbours(self, tried: Sequence[list[_Tried]], numbers: Sequence[Number]) -> None:
        """Set what the candidates of neighbouring numbers say for each candidate."""
        tables: dict[tuple[int, str, int], list[int]] = {}
        for index, number in enumerate(numbers):
            if number.cell:
                tables.setdefault((number.cell[0], "column", number.cell[2]), []).append(index)
                tables.setdefault((number.cell[0], "row", number.cell[1]), []).append(index)
        traits = [_traits(one) if number.cell else {} for one, number in zip(tried, numbers, strict=True)]
        support = {key: {index: traits[index] for index in inside} for key, inside in tables.items()}
        near = in_sequence(numbers)
        for index, number in enumerate(numbers):
            for one in tried[index]:
                gain, why = 0.0, []
                if number.cell:
                    for kind, at in (("column", 2), ("row", 1)):
                        key = (number.cell[0], kind, number.cell[at])
                        share, trait = _shared(support[key], index, one, numbers)
                        if share > 0.3:
                            gain += (_COLUMN_KIN if kind == "column" else _ROW_KIN) * share
                            why.append(f"like others of its {kind} ({trait})")
                ends, told = _interval(one, tried, near[index])
                if ends:
                    gain += ends
                    why.append(told)
                if _fits_its_side(one, tried[index], number.token.kind):
                    gain += _PART_OR_TOTAL
                    why.append("counts what passes" if number.token.kind == "count-of" else "counts all")
                one.more, one.more_reasons = gain, tuple(why)


def _candidates(tried: Sequence[_Tried], readings: Readings) -> Iterator[Candidate]:
    """The candidates as others see them, the likeliest first; one stands for all names of the same reading."""
    named: dict[str, list[_Tried]] = {}
    for one in sorted(tried, key=lambda one: -one.chance):
        named.setdefault(_same_reading(one.known.reading, readings), []).append(one)
    chance = {name: sum(one.chance for one in same) for name, same in named.items()}
    operands = {
        name: {first_name(operand, readings) for one in same for operand, _ in one.known.reading.operands}
        for name, same in named.items()
    }
    for name, (one, *_) in sorted(named.items(), key=lambda item: -chance[item[0]]):
        # their values are the same, so that only words and neighbours can tell
        told = one.named or one.more_reasons
        near = [other for other in named if other != name and (not told or AHEAD * chance[other] > chance[name])]
        kin = any(name in operands[other] or other in operands[name] for other in near)
        reasons = (*one.reasons, *one.more_reasons)
        known = bool(told) or len(re.sub(r"\D", "", one.said).strip("0")) >= TELLING_DIGITS
        yield Candidate(one.known.reading.id, one.format, one.said, chance[name], kin, known, reasons)


def _same_reading(reading: Reading, readings: Readings) -> str:
    """The id that a reading goes by whatever it is called: that of which it is another name, or the number of."""
    name, _, aspect = reading.id.rpartition(".")
    counts = aspect == "n" and name in readings and readings[name].formula.startswith("count of")
    return first_name(name if counts else reading.id, readings)


def format_that_prints(reading: Reading, said: str) -> str | None:
    """The format in which `reading` prints exactly `said`, empty where it is its own; None where there is none.

    `said` has a point before its decimals.
    """
    value = reading.value
    if value is None or isinstance(value, str):
        return None
    tries = [""] if reading.print or float(value).is_integer() else []
    if found := _PRINTED.fullmatch(said):
        head = ("+" if found["sign"] == "+" else "") + ("," if "," in found["whole"] else "")
        if found["percent"]:
            tries.append(f"{head}.{len(found['digits'] or '')}%")
        elif found["digits"]:
            tries.append(f"{head}.{len(found['digits'])}f")
        else:
            tries += [f"{head}d", f"{head}.0f"]
    elif not any(map(str.isdigit, said)):
        tries += ["word", "Word", "ordinal"]
    for fmt in tries:
        try:
            printed = print_reading(reading, "") if fmt == "" else format_value(value, fmt, reading.id)
        except (TemplateError, ArithmeticError):
            continue
        if printed == said:
            return fmt
    return None


def _text_of(reading: Reading, decimal: str) -> str:
    try:
        return print_reading(reading, decimal=decimal)
    except TemplateError:
        return repr(reading.value)


def stems(text: str) -> Iterator[str]:
    """The words of a text without their endings, those left out that tell nothing."""
    for word in _WORD.findall(_UNGROUPED.sub("", text.lower())):
        if word in _UNTOLD or (len(word) == 1 and not word.isdigit()):
            continue
        yield next(
            (word[: -len(end)] for end in ("ing", "ed", "es", "s") if word.endswith(end) and len(word) > len(end) + 2),
            word,
        )


def _family(known: _Known) -> tuple[str, int]:
    """What readings that are declared together have in common."""
    return known.parts[0], len(known.parts)


def _member_score(known: _Known, number: Number) -> tuple[float, list[str]]:
    """Whether the numbers in the reading's id are those of the number's row, column or sentence."""
    members = [part for part in known.parts if part.isdecimal()]
    if not members:
        return 0.0, []
    there = number.members.copy()
    own = number.plain.replace(",", "")
    there[own] += number.alone  # k.512 is the reading that is 512
    gain, told = 0.0, []
    for part in members:
        if there[part] > 0:
            there[part] -= 1
            gain += _MEMBER
            told.append(part)
        else:
            gain += _OTHER_MEMBER
    return gain, told


def _text_parts(readings: Readings) -> dict[str, Counter[str]]:
    """For each text that a reading prints, the parts of the ids of all that print it."""
    found: dict[str, Counter[str]] = {}
    for name in readings:
        reading = readings[name]
        if not isinstance(reading.value, str) or name.startswith(("credit.", "correction.", "part", "post.")):
            continue
        try:
            printed = print_reading(reading)
        except TemplateError:
            continue
        last = name.rpartition(".")[2]
        found.setdefault(" ".join(printed.split()), Counter())[last] += 1
    return found


def _value_of(said: str, token: Token) -> tuple[float, float]:
    """The value that the characters say, infinite for one too big, and how far off one can lie that is printed so."""
    found = _PRINTED.fullmatch(said)
    if not found:
        try:
            return math.inf if token.value is None else float(token.value), 1e-9
        except OverflowError:
            return math.inf, 0.0
    scale = 100 if found["percent"] else 1
    value = float(f"{found['whole'].replace(',', '')}.{found['digits'] or '0'}") / scale
    if math.isinf(value):
        return value, 0.0
    reach = 0.51 * 10.0 ** -len(found["digits"] or "") / scale + 1e-12 * value
    return -value if found["sign"] == MINUS else value, reach


def _base_unit(unit: str) -> str:
    base = re.split(r"[/ ]", unit)[0]
    return _SAME_UNIT.get(base, base)


def _unit_allows(token: Token, reading: Reading) -> bool:
    """Whether the unit's sign behind the number is the reading's; a check would refuse another."""
    unit = _SAME_UNIT.get(token.unit or "", token.unit or "")
    if unit in _MEASURED and reading.unit and unit not in reading.unit:
        return False  # two hours are no GPUs
    said_apart = token.end > token.core_end or token.kind in ("range-low", "from")
    return not (said_apart and unit in UNIT_SIGNS and unit != _base_unit(reading.unit))


def _unit_score(number: Number, reading: Reading) -> tuple[float, list[str]]:
    """What the unit says for the reading, and the reason in words."""
    unit, declared = number.token.unit, _base_unit(reading.unit)
    measured = declared in UNIT_SIGNS
    if unit:
        same = _SAME_UNIT.get(unit, unit)
        if same in UNIT_SIGNS:
            return (_SAME_SIGN, [f"unit {same}"]) if same == declared else (0.0, [])
        nouns = set(stems(unit))
        if nouns & set(stems(f"{reading.unit} {reading.id.replace('_', ' ')}")):
            return _SAME_NOUN, [f"counts {unit}"]
        return _NOUN_FOR_SIGN if measured else _OTHER_NOUN if reading.unit else _NOUN_FOR_NONE, []
    if number.cell:
        words = set(re.findall(r"[^\s,()]+", " ".join(number.labels)))
        return (_SIGN_IN_TABLE, [f"unit {declared} in its table"]) if measured and declared in words else (0.0, [])
    behind = re.match(r"\s*(%|[^\W\d]+)", number.after)
    if measured and behind and behind[1] == declared:
        return _SAME_SIGN, [f"unit {declared}"]
    return _NO_SIGN if measured else 0.0, []


def _surprise(number: Number) -> float:
    """The logarithm of the chance that a number of some other origin is printed just so."""
    digits = re.sub(r"\D", "", number.plain).lstrip("0")
    if not digits:
        return math.log(0.3 if number.plain.lower() == "one" or not number.plain.strip("0.") else 0.15)
    first = len(digits.rstrip("0"))
    # The last zeros of 0.300 tell how it was printed, those of 300 tell nothing.
    telling = first + ((len(digits) - first) / 2 if "." in number.plain else 0)
    value = number.token.value
    if value is not None and value in _POWERS_OF_TWO:
        telling = min(telling, 2)  # powers of two stand everywhere
    return math.log(0.125) - _DIGIT * (telling - 1)


def _traits(tried: Sequence[_Tried]) -> _Traits:
    """For each trait its candidates' ids with their chances, the likeliest first."""
    found: dict[str, list[tuple[float, str]]] = {}
    for one in tried:
        for trait in one.traits:
            found.setdefault(trait, []).append((one.chance, one.known.reading.id))
    return {trait: sorted(having, reverse=True) for trait, having in found.items()}


def _shared(traits: Mapping[int, _Traits], index: int, one: _Tried, numbers: Sequence[Number]) -> tuple[float, str]:
    """The largest share of the other cells whose candidates have a trait of this one, and the trait.

    The same reading in another cell is no kin: that one number stands twice says nothing of where it comes from.
    """
    cell, own = numbers[index].cell, one.known.reading.id
    others = [other for at, other in traits.items() if numbers[at].cell != cell and other]
    if len(others) < 2:
        return 0.0, ""
    best, told = 0.0, ""
    for trait in one.traits:
        having = [next((chance for chance, name in other.get(trait, ()) if name != own), 0.0) for other in others]
        share = sum(having) / len(others)
        if share > best:
            best, told = share, trait
    return best, told


_LEVEL = re.compile(r"[\s%]*(?:confidence[\s-]+)?(?:intervals?|CI|limits?)\b")


def in_sequence(numbers: Sequence[Number]) -> list[dict[int, int]]:
    """For each number the indices of those up to two steps from it in its block, by the steps.

    The level of an interval, "0.314 (95 % interval 0.217 to 0.410)", is passed over.
    """
    order = [i for i, one in enumerate(numbers) if not (one.token.unit == "%" and _LEVEL.match(one.after))]
    found: list[dict[int, int]] = [{} for _ in numbers]
    for place, index in enumerate(order):
        for step in (-2, -1, 1, 2):
            at = place + step
            if 0 <= at < len(order) and numbers[order[at]].token.block == numbers[index].token.block:
                found[index][step] = order[at]
    return found


def _fits_its_side(one: _Tried, rivals: Sequence[_Tried], kind: str) -> bool:
    """Whether a count with more conditions stands before an "of", or one with fewer behind it, where both are there."""
    counts = {other.known.reading.formula for other in rivals if other.known.reading.formula.startswith("count of")}
    conditions = {formula.count(" == ") for formula in counts}
    own = one.known.reading.formula
    if kind not in ("count-of", "total") or own not in counts or len(conditions) < 2:
        return False
    return own.count(" == ") == (max(conditions) if kind == "count-of" else min(conditions))


def _interval(one: _Tried, tried: Sequence[list[_Tried]], beside: Mapping[int, int]) -> tuple[float, str]:
    """What is gained where an end of an interval stands beside the other end, or its middle beside both."""
    stem, _, aspect = one.known.reading.id.rpartition(".")
    if aspect == "lo":
        wanted = {f"{stem}.hi": (1,), stem: (-1,)}
    elif aspect == "hi":
        wanted = {f"{stem}.lo": (-1,), stem: (-2,)}
    else:
        wanted = {f"{one.known.reading.id}.lo": (1,), f"{one.known.reading.id}.hi": (2,)}
    gain, told = 0.0, []
    for name, steps in wanted.items():
        near = [beside[step] for step in steps if step in beside]
        if any(other.known.reading.id == name for at in near for other in tried[at]):
            gain += _BOTH_ENDS if name.endswith(_ENDS) and f".{aspect}" in _ENDS else _MIDDLE
            told.append(name)
    return gain, f"beside {' and '.join(told)}" if told else ""


def clearly_ahead(candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate that is clearly ahead of the others and of none at all."""
    if not candidates or candidates[0].chance < CLEAR or candidates[0].kin or not candidates[0].named:
        return None
    second = candidates[1].chance if len(candidates) > 1 else 0.0
    return candidates[0] if candidates[0].chance >= AHEAD * second else None
