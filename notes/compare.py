"""Comparing a body, as a reader sees it, with the ledger and fresh readings: place by place.

The expected body is the ledger's literal text with what its sources give now in the places. Where the body
differs from it, the difference is a finding when it touches a bound place, a number, a number word, a comparing
word, a name of what is compared, a table, or any word in a number's own clause; other words are the body hash's
business. Apart from that, every number in the body must lie in a place, be a declared name, or be structure, and
every comparing word beside a number must lie in a place.
"""

import difflib
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from campaign.analysis.errors import ReadingError
from campaign.analysis.readings import Readings
from campaign.notes.errors import TemplateError
from campaign.notes.findings import Coverage, Finding
from campaign.notes.ledger import Ledger, Place
from campaign.notes.lines import line_column
from campaign.notes.marked import plainly
from campaign.notes.numbers import Token, find, find_in, surroundings
from campaign.notes.reader import Block, read
from campaign.notes.table_rows import RowChange, row_changes

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_SIGN = re.compile(r"[−+±%‰×÷=<>≤≥~≈$€£\d]|(?<!\w)-(?=[\w.])|\b(?:UTC|GMT|CES?T)\b|```|~~~|<!--")
"""What changes a quantity, or hides it, even where no number is seen beside it."""
_TURNING = re.compile(
    r"\b(?:no|not|nobody|nothing|never|without|mean|median|minimum|maximum|up|down|over|under|from|wins?|los[et]s?|"
    r"saves?|costs?|gains?)\b",
    re.IGNORECASE,
)
"""Words that turn round what the numbers beside them say."""
_PER = re.compile(r"\s+(?:a|an|per|each)\s+\w+(?:\s+step)?")
"""The denominator of a unit in prose: ms a verify step."""
_CLAUSE_END = re.compile(r"[.;!?…][_)\]”\"’]*\s|\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)]|\#+)\s)")
"""What ends a clause, as far as a number in it goes; a lead-in in bold belongs to what follows it."""
_UNIT_SIGNS = {"ns", "us", "µs", "μs", "ms", "s", "W", "kW", "%", "GB", "GiB", "MB", "MiB", "KB", "KiB", "bytes", "×"}
"""Units whose sign in the text can be compared with a reading's unit."""
_SAME_UNIT = {"us": "µs", "μs": "µs", "×": ""}
"""What is one unit by two signs; a multiple of something has none."""


@lru_cache(maxsize=1024)
def _value_of(printed: str, decimal: str) -> object:
    """The value of a number as it is printed alone, or None where the text is no number."""
    found = [token for token in find(printed, decimal_comma=decimal == ",") if token.role in ("number", "word")]
    return found[0].value if len(found) == 1 else None


@dataclass(frozen=True)
class Where:
    """Which file the body lies in, and how its findings are mended."""

    path: str
    first_line: int
    """Line of the file on which the body begins."""
    mend: str
    """What brings an edited text back."""
    elsewhere: str = ""
    """What is done where the text stands as it was built and its source gives something else; `mend` if empty."""


@dataclass(frozen=True)
class _Region:
    """A stretch of the expected body and the stretch of the actual one that stands in its place."""

    start: int
    end: int
    actual_start: int
    actual_end: int

    def touches(self, start: int, end: int) -> bool:
        """Whether it changes something in [start, end) of the expected body, or inserts inside it."""
        if self.start == self.end:
            return start < self.start < end
        return self.start < end and start < self.end


@dataclass(frozen=True)
class Comparison:
    """Findings of one body and what was covered."""

    findings: tuple[Finding, ...]
    coverage: Coverage


@lru_cache(maxsize=8)
def _label_pattern(labels: tuple[str, ...]) -> re.Pattern[str] | None:
    """What finds any of these labels as whole words, also at the beginning of a sentence."""
    words = sorted({label for label in labels if label.strip()}, key=len, reverse=True)
    either = "|".join(r"\s+".join(map(re.escape, label.split())) for label in words)
    return re.compile(rf"(?<!\w)(?:{either})(?!\w)", re.IGNORECASE) if words else None


@lru_cache(maxsize=8)
def _read(text: str, names: tuple[str, ...], decimal: str) -> tuple[tuple[Block, ...], tuple[Token, ...]]:
    """What a reader sees of a text, and its tokens."""
    blocks = tuple(read(text))
    return blocks, tuple(find_in(blocks, text, names, decimal_comma=decimal == ","))


def compare(
    body: str,
    ledger: Ledger,
    readings: Readings,
    names: Collection[str],
    where: Where,
    labels: Collection[str] = (),
) -> Comparison:
    """What is wrong in `body`, and how many of its numbers are bound.

    `names` hold digits that are no numbers; `labels` name what is compared, so that a swap of two of them is found.
    """
    findings: list[Finding] = []
    texts: list[str] = []
    for place, (start, _) in zip(ledger.places, ledger.spans(), strict=True):
        try:
            texts.append(place.fresh(readings))
        except (ReadingError, TemplateError) as wrong:
            mend = "declare it in the plan or facts again, or correct the template; then notes build"
            line, column = line_column(ledger.body(), start)
            findings.append(
                Finding(
                    "gone",
                    where.path,
                    where.first_line + line - 1,
                    column,
                    place.text,
                    str(wrong),
                    place.source,
                    mend,
                )
            )
            texts.append(place.text)
    checker = _Checker(body, ledger, texts, readings, tuple(names), where, _label_pattern(tuple(labels)))
    findings += checker.changed()
    unbound, coverage = checker.covered()
    return Comparison(tuple(sorted([*findings, *unbound], key=lambda f: (f.line, f.column))), coverage)


class _Checker:
    def __init__(
        self,
        body: str,
        ledger: Ledger,
        texts: list[str],
        readings: Readings,
        names: tuple[str, ...],
        where: Where,
        labels: re.Pattern[str] | None = None,
    ) -> None:
        self.body = body
        self.ledger = ledger
        self.texts = texts
        self.readings = readings
        self.where = where
        self.expected = ledger.body(texts)
        self.spans = ledger.spans(texts)
        self.rows = row_changes(self.expected, body)
        """Rows of tables that are missing, were put in, or stand elsewhere: each a finding of its own."""
        self.regions = _regions(self.expected, body, self.rows)
        self.reported: list[_Region] = []
        """Differences that are findings."""
        self.names = names
        self.labels = labels
        self.blocks, self.tokens = _read(body, names, readings.decimal)

    def changed(self) -> Iterator[Finding]:
        """A finding for every difference that touches a number or a word that counts, one for each bound place."""
        expected_tokens = _read(self.expected, self.names, self.readings.decimal)[1] if self.regions else ()
        touched: dict[int, _Region] = {}
        """For each bound place, all that is different in it or beside it."""
        whole_rows = {span for change in self.rows for span in change.spans}
        for region in self.regions:
            if (region.start, region.end, region.actual_start, region.actual_end) in whole_rows:
                self.reported.append(region)
                continue
            places = [i for i, span in enumerate(self.spans) if region.touches(*span) or self._turns_round(region, i)]
            for index in places:
                touched[index] = self._widened(index, region, touched.get(index))
            if places or self._wrapped_anew(region):
                self.reported += [region] if places else []
                continue
            was = [t for t in expected_tokens if region.touches(t.start, _reach(self.expected, t)) or _abuts(region, t)]
            now = [t for t in self.tokens if _inside(t, region, _reach(self.body, t))]
            if not was and not now and not self._counts(region):
                continue
            self.reported.append(region)
            whole = _Region(
                min([region.start, *(t.start for t in was)]) if was else region.start,
                max([region.end, *(t.noun_end for t in was)]) if was else region.end,
                min([region.actual_start, *(t.start for t in now)]) if now else region.actual_start,
                max([region.actual_end, *(t.noun_end for t in now)]) if now else region.actual_end,
            )
            bound = [
                i for t in was for i, (start, end) in enumerate(self.spans) if t.start < end and start < t.noun_end
            ]
            if bound:
                touched[bound[0]] = self._widened(bound[0], whole, touched.get(bound[0]))
                continue
            wanted, said = self._texts(whole)
            if now and not was:
                wanted = wanted.strip() or "nothing here"
            at = whole.actual_start
            if said.strip() and said.strip() != wanted.strip():
                at, said = at + len(said) - len(said.lstrip()), said.strip()
            yield self._finding(_code(was or now), at, said, wanted, "the text as it was built")
        for index, whole in touched.items():
            wanted, said = self._texts(whole)
            at = whole.actual_start + len(said) - len(said.lstrip())
            built = self.ledger.places[index].text, self.texts[index]
            as_built = (said.strip(), wanted.strip()) == (built[0].strip(), built[1].strip())
            mend = self.where.elsewhere if as_built else ""
            yield self._finding("changed", at, said.strip(), wanted.strip(), self._source(index), mend)
        yield from self._rows()

    def _rows(self) -> Iterator[Finding]:
        """A finding for each row that is missing or was put in, and one for each table whose rows were put in order."""
        for change in self.rows:
            bound = [
                i
                for i, place in enumerate(self.spans)
                for at in change.spans
                if at[0] <= place[0] and place[1] <= at[1]
            ]
            source = ", ".join(dict.fromkeys(self._source(index) for index in bound)) or "the table as it was built"
            code = "changed" if bound else "structure"
            yield self._finding(code, change.at, change.said, change.expected, source)

    def _widened(self, index: int, region: _Region, before: _Region | None) -> _Region:
        """The place with all that is different in it or beside it."""
        start, end = self.spans[index]
        actual = start + self._shift(start), end + self._shift(end)
        known = [region, *([before] if before else [])]
        return _Region(
            min([start, *(one.start for one in known)]),
            max([end, *(one.end for one in known)]),
            min([actual[0], *(one.actual_start for one in known)]),
            max([actual[1], *(one.actual_end for one in known)]),
        )

    def _turns_round(self, region: _Region, index: int) -> bool:
        """Whether a word was put directly before or behind a bound word, as in: not above."""
        place, (start, end) = self.ledger.places[index], self.spans[index]
        if region.start != region.end or place.kind not in ("claim", "reading") or re.search(r"\d", place.text):
            return False
        between = self.expected[region.start : start] if region.start <= start else self.expected[end : region.start]
        return not between.strip() and re.search(r"\w", self._texts(region)[1]) is not None

    def _wrapped_anew(self, region: _Region) -> bool:
        """Whether only white space became other white space, outside tables: a reader sees the same."""
        was, now = self._texts(region)
        if not was or not now or was.strip() or now.strip():
            return False
        return min(was.count("\n"), now.count("\n")) > 1 or not self._in_table(region)

    def _counts(self, region: _Region) -> bool:
        """Whether a difference without a number in it matters: a sign, a table's cell, a word that turns it round."""
        was, now = self._texts(region)
        if _SIGN.search(was) or _SIGN.search(now) or self._in_table(region) or self._names_another(region):
            return True
        if not re.search(r"\w", was + now):
            return False
        turned = _TURNING.search(was) or _TURNING.search(now)
        if turned and any(character.isdigit() for character in _paragraph(self.expected, region.start)):
            return True
        # The words of a clause say what its number is a number of.
        start, end = _clause(self.expected, region.start, region.end)
        numbers = [
            t.start
            for t in _read(self.expected, self.names, self.readings.decimal)[1]
            if t.role in ("number", "word", "structure")
        ]
        return any(start <= at < end for at in [*numbers, *(at for at, _ in self.spans)])

    def _names_another(self, region: _Region) -> bool:
        """Whether a label is changed, taken away or put in."""
        if not self.labels:
            return False
        ends = ((self.expected, region.start, region.end), (self.body, region.actual_start, region.actual_end))
        return any(
            found.start() < end and start < found.end()
            for text, start, end in ends
            for found in self.labels.finditer(text, max(0, start - 80), min(len(text), end + 80))
        )

    def _texts(self, region: _Region) -> tuple[str, str]:
        return self.expected[region.start : region.end], self.body[region.actual_start : region.actual_end]

    def _in_table(self, region: _Region) -> bool:
        return _table_line(self.expected, region.start, region.end) or _table_line(
            self.body, region.actual_start, region.actual_end
        )

    def covered(self) -> tuple[list[Finding], Coverage]:
        """Findings for numbers that nothing binds, and the count of all."""
        findings: list[Finding] = []
        count = dict.fromkeys(
            ("quoted", "facts", "structure", "names", "unbound", "words", "words_bound", "words_claimed"), 0
        )
        places = self._actual_places()
        starts = [start for start, _, _ in places]
        beside = self._beside_numbers()
        for token in self.tokens:
            at = bisect_right(starts, token.core_start) - 1
            inside = at >= 0 and token.core_start < places[at][1]
            whole = inside and token.core_end <= places[at][1]
            place = self.ledger.places[places[at][2]] if inside else None
            if token.role == "comparing":
                if inside or surroundings(self.blocks, token) in beside:
                    count["words"] += 1
                    count["words_bound"] += inside
                    count["words_claimed"] += place is not None and place.kind == "claim"
                    findings += [] if inside else [self._loose(token)]
            elif token.role == "structure":
                count["facts" if inside else "structure"] += 1
            elif token.role == "name" or (token.role == "undeclared" and inside):
                count["names"] += 1
            elif place is not None and whole:
                count["facts" if place.kind == "fact" else "quoted"] += 1
                if not self._changed_at(token):
                    findings += self._unit(token, place, places[at][1])
            else:
                count["unbound"] += 1
                if not self._changed_at(token):
                    findings.append(self._unbound(token, inside))
        numbers = count["quoted"] + count["facts"] + count["structure"] + count["unbound"]
        return findings, Coverage(numbers, **count)

    def _beside_numbers(self) -> set[tuple[int, int]]:
        """The blocks and rows of tables that hold a number."""
        return {surroundings(self.blocks, token) for token in self.tokens if token.role in ("number", "word")}

    def _changed_at(self, token: Token) -> bool:
        """Whether a difference that is a finding already touches the token."""
        return any(region.actual_start <= token.end and token.start <= region.actual_end for region in self.reported)

    def _actual_places(self) -> list[tuple[int, int, int]]:
        """Start and end in the actual body, and index, of every place."""
        found = []
        for index, (start, end) in enumerate(self.spans):
            shift_start, shift_end = self._shift(start), self._shift(end)
            found.append((start + shift_start, max(end + shift_end, start + shift_start), index))
        return found

    def _shift(self, at: int) -> int:
        """How far offset `at` of the expected body is moved in the actual one."""
        shift = 0
        for region in self.regions:
            if region.end <= at:
                shift = region.actual_end - region.end
            elif region.start < at:
                return min(region.actual_start + at - region.start, region.actual_end) - at
        return shift

    def _source(self, index: int) -> str:
        place = self.ledger.places[index]
        if place.kind == "claim":
            return f"claim {place.source}"
        return f"{place.kind} {place.source}"

    def _unit(self, token: Token, place: Place, place_end: int) -> Iterator[Finding]:
        """A finding where the text behind a quote gives the number another unit or another size."""
        if token.end <= place_end or place.source not in self.readings:
            return
        if token.value is not None and token.value != _value_of(place.text, self.readings.decimal):
            said = f"{place.text} as the quote prints it"
            yield self._finding("unit", token.start, token.text, said, place.source)
            return
        unit = token.unit or ""
        declared = self.readings[place.source].unit
        expected = re.split(r"[/ ]", declared)[0]
        if unit in _UNIT_SIGNS and _SAME_UNIT.get(unit, unit) != _SAME_UNIT.get(expected, expected):
            wanted = f"a number in {declared}" if declared else "a number without unit, as it is declared"
            yield self._finding("unit", token.start, token.text, wanted, place.source)

    def _unbound(self, token: Token, inside: bool) -> Finding:
        if token.role == "undeclared":
            mend = f"declare {token.text!r} in facts.toml under names, or correct it"
            return self._finding("undeclared", token.start, token.text, "a declared name", "", mend)
        if inside:
            return self._finding("unbound", token.start, token.text, "digits that all come from the quote", "")
        block = self.blocks[token.block]
        text = self.body[token.core_start : token.core_end]
        mend = 'quote a reading or fact in the template, {{ q("...") }}, and build again'
        if text not in block.text:
            plain = plainly(token.text, self.readings.decimal)
            mend = f"write {plain}, as no quote prints {' '.join(text.split())}; then {mend}"
        return self._finding("unbound", token.start, token.text, "a number bound to a reading, fact or name", "", mend)

    def _loose(self, token: Token) -> Finding:
        expected = "a comparing word that a claim or a fact binds"
        mend = (
            'write it as {{ claim("…", "' + token.text + '") }} in the template, or, where no data decide it, as {{ '
            f'q("…") }}}} of a fact with value = "{token.text}" and its source; then build again'
        )
        return replace(self._finding("claim", token.start, token.text, expected, "", mend), level="warning")

    def _finding(self, code: str, at: int, said: str, expected: str, source: str, mend: str = "") -> Finding:
        line, column = line_column(self.body, at)
        return Finding(
            code,
            self.where.path,
            self.where.first_line + line - 1,
            column,
            said,
            expected,
            source,
            mend or self.where.mend,
            length=_length(self.body, at, said),
        )


def _length(text: str, at: int, said: str) -> int:
    """How many characters from `at` show what is said, at most to the end of the line."""
    return len(said.split("\n")[0]) if said and text.startswith(said, at) else 0


def _table_line(text: str, start: int, end: int) -> bool:
    """Whether a line that [start, end) touches belongs to a table."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return any(line.lstrip(" >").startswith("|") for line in text[first : last if last >= 0 else None].split("\n"))


def _code(tokens: Sequence[Token]) -> str:
    roles = {token.role for token in tokens}
    if not roles or roles <= {"word", "comparing"}:
        return "word"
    return "unbound" if "number" in roles else "structure"


def _abuts(region: _Region, token: Token) -> bool:
    """Whether the region replaces or inserts something directly at an end of the token's digits or noun."""
    return region.start == region.end and region.start in (token.start, token.end)


def _inside(token: Token, region: _Region, end: int) -> bool:
    """Whether what stands in the region now is part of the token, which ends at `end`."""
    if region.actual_start == region.actual_end:
        return False
    return token.start < region.actual_end and region.actual_start < end


def _reach(text: str, token: Token) -> int:
    """The end of a number with its unit or noun, and with what it is a rate of: `0.314 ms a verify step`."""
    if token.role not in ("number", "word") or token.unit is None:
        return token.noun_end
    per = _PER.match(text, token.noun_end)
    return per.end() if per else token.noun_end


def _paragraph(text: str, at: int) -> str:
    """The paragraph of `text` around an offset."""
    start = text.rfind("\n\n", 0, at) + 1
    end = text.find("\n\n", at)
    return text[start : end if end >= 0 else None]


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the clause begins and ends that [start, end) lies in: between full stops, semicolons, blank lines."""
    before = [found.end() for found in _CLAUSE_END.finditer(text, max(0, start - 2000), start)]
    after = _CLAUSE_END.search(text, end)
    return before[-1] if before else max(0, start - 2000), after.start() if after else len(text)


def _regions(expected: str, actual: str, rows: Sequence[RowChange]) -> list[_Region]:
    """The stretches in which `actual` differs from `expected`, by words, in order; rows of tables whole."""
    found: list[_Region] = []
    start = actual_start = 0
    for span in sorted(span for change in rows for span in change.spans):
        row = _Region(*span)
        found += [*_by_words(expected, actual, _Region(start, row.start, actual_start, row.actual_start)), row]
        start, actual_start = row.end, row.actual_end
    return found + _by_words(expected, actual, _Region(start, len(expected), actual_start, len(actual)))


def _by_words(expected: str, actual: str, within: _Region) -> list[_Region]:
    """The stretches within two texts in which they differ, by words, in order."""
    return [
        _Region(
            within.start + region.start,
            within.start + region.end,
            within.actual_start + region.actual_start,
            within.actual_start + region.actual_end,
        )
        for region in _differing(expected[within.start : within.end], actual[within.actual_start : within.actual_end])
    ]


def _differing(expected: str, actual: str) -> list[_Region]:
    """The stretches in which `actual` differs from `expected`, by words, in order."""
    if expected == actual:
        return []
    old, new = _WORDS.findall(expected), _WORDS.findall(actual)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    old_at, new_at = _offsets(old), _offsets(new)
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    matcher = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=False)
    return [
        _Region(old_at[head + i1], old_at[head + i2], new_at[head + j1], new_at[head + j2])
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _offsets(words: Sequence[str]) -> list[int]:
    offsets = [0]
    for word in words:
        offsets.append(offsets[-1] + len(word))
    return offsets
