"""Every number, number word and comparing word of a published text, with its exact place in the Markdown."""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from campaign.notes.quantities import COMMANDS, Found, plain, quantities, scaled
from campaign.notes.reader import Block, Span, read
from campaign.notes.structure import counts_sections, structures
from campaign.notes.units import HYPHEN, SPACE, UNIT, unit_name
from campaign.notes.words import SIDED, Value, comparing_words, number_words


@dataclass(frozen=True, slots=True)
class Token:
    """One number, number word, comparing word, or stretch of digits that is no quantity."""

    role: str
    """"number", "word", "comparing", "structure", "name" (declared), "undeclared" (letters with digits)."""
    text: str
    """What a reader sees, with sign, symbol and abbreviated unit; not the counted noun."""
    value: Value | None
    """Percentages as printed (95 for "95%"); None for comparing words, structure and names."""
    unit: str | None
    """A symbol ("ms", "%", "×", "pp"), or the counted noun; a range's low end has that of its high end."""
    kind: str
    start: int
    """Offsets are those of the source; `start` to `end` covers `text`."""
    end: int
    core_start: int
    """From here to `core_end` stands what a formatter printed: sign, digits, exponent; the word for words."""
    core_end: int
    noun_end: int
    """Where the counted noun ends, or `end`."""
    line: int
    column: int
    block: int
    """The index of its block."""


def find(markdown: str, names: Collection[str] = (), *, decimal_comma: bool = False) -> list[Token]:
    """All tokens of a Markdown text in reading order, none overlapping another.

    With `decimal_comma` the text writes 3,14 and 1.234,5 for what is otherwise 3.14 and 1,234.5.
    """
    return find_in(read(markdown), markdown, names, decimal_comma=decimal_comma)


def find_in(
    blocks: Sequence[Block], source: str, names: Collection[str] = (), *, decimal_comma: bool = False
) -> list[Token]:
    """All tokens of what a reader sees in `blocks`, whose offsets are those of `source`, in reading order."""
    lines = [0, *(found.end() for found in re.finditer(r"\r\n?|\n", source))]
    declared = _declared(tuple(sorted(set(names))))
    heads = {(c.table, c.column): block.text for block in blocks if (c := block.cell) and c.row == 0}
    tokens = []
    sections = counts_sections(block.text for block in blocks if block.kind == "heading")
    for index, block in enumerate(blocks):
        cell = block.cell
        head = heads.get((cell.table, cell.column), "").strip() if cell and cell.row else ""
        column = head if _TELLING.search(head) else ""
        place: Place = ("section" if sections else "heading") if block.kind == "heading" else ""
        for found in _found(block.text, block.spans, place, column, declared, decimal_comma):
            start = block.source[found.start]
            line = bisect_right(lines, start)
            tokens.append(
                Token(
                    role=found.role,
                    text=block.text[found.start : found.end],
                    value=found.value,
                    unit=found.unit,
                    kind=found.kind,
                    start=start,
                    end=block.ends[found.end - 1],
                    core_start=block.source[found.core_start],
                    core_end=block.ends[found.core_end - 1],
                    noun_end=block.ends[found.noun_end - 1],
                    line=line,
                    column=start - lines[line - 1] + 1,
                    block=index,
                )
            )
    return sorted(tokens, key=lambda token: token.start)


Place = Literal["", "heading", "section"]
"""Of a block: a heading, or one in a text that counts its sections."""
_PARAMETERS = re.compile(r"param", re.IGNORECASE)
_TELLING = re.compile(r"year|date|version|param", re.IGNORECASE)  # heads of columns that are looked at


def surroundings(blocks: Sequence[Block], token: Token) -> tuple[int, int]:
    """The block that a token stands in; in a table, its row: what stands beside a number is in the same."""
    cell = blocks[token.block].cell
    return (cell.table, cell.row) if cell else (-1, token.block)


_DIGIT = re.compile(r"\d")
_BARE = re.compile(r"[-−+]?\d{1,12}(?:\.\d{1,12})?")  # most cells: nothing around the number needs a look
# Cells such as "0.31 ms (0.286 to 0.341)": what is here can be no date, version, reference or name.
_ONLY_NUMBERS = re.compile(
    r"(?:[-−(\[±]{0,2}(?:\d{1,7}\.\d+|\d{1,3})[%×)\],]{0,2}(?:[ –]|\Z)|(?:to|of|ms|µs|s|W|±) )*+(?:ms|µs|s|W)?"
)
_POINTED = re.compile(r"\d{1,3}(?:\.\d{3})+")  # where the comma is the decimal mark, these are groups of digits
_BLANK = "\ufffc"
"""What stands in a text for characters that already belong to a token; no pattern matches across it."""


def _blank(text: str, stretches: list[tuple[int, int]]) -> str:
    """`text` with these stretches blanked out."""
    pieces, last = [], 0
    for start, end in sorted(stretches):
        if end > last:
            start = max(start, last)
            pieces += [text[last:start], _BLANK * (end - start)]
            last = end
    return "".join([*pieces, text[last:]])


@lru_cache(maxsize=8192)
def _found(
    seen: str,
    spans: tuple[Span, ...],
    place: Place,
    column: str,
    declared: re.Pattern[str] | None,
    decimal_comma: bool,
) -> tuple[Found, ...]:
    """The tokens of a block with this text; equal blocks have equal ones, wherever they stand."""
    return tuple(_in_text(seen, spans, place, column, declared, decimal_comma))


def _in_text(
    seen: str,
    spans: tuple[Span, ...],
    place: Place,
    column: str,
    declared: re.Pattern[str] | None,
    decimal_comma: bool,
) -> list[Found]:
    text = seen
    if not column and not decimal_comma and _BARE.fullmatch(text) and not (declared and declared.fullmatch(text)):
        value = Decimal(text.replace("−", "-"))
        kind = "decimal" if "." in text else "integer"
        return [Found("number", kind, 0, len(text), 0, len(text), len(text), value)]
    found: list[Found] = []

    def take(more: list[Found]) -> None:
        nonlocal text
        if more:
            found.extend(more)
            text = _blank(text, [(one.start, one.end) for one in more])

    digits = _DIGIT.search(text) is not None
    if digits:
        kinds = {"url": "url", "footnote": "reference"}
        whole = [span for span in spans if span.kind in kinds]
        take([plain("structure", kinds[span.kind], span.start, span.end) for span in whole])
    if declared:
        take([plain("name", "name", *one.span(1)) for one in declared.finditer(text)])
    if digits and (place or column or not _ONLY_NUMBERS.fullmatch(text)):
        said = structures(text, bool(place), column, section=place == "section")
        take([plain("structure", *one) for one in said if not (decimal_comma and _POINTED.fullmatch(text, *one[1:]))])
        take(list(_mixed(text)))
    code = [(span.start, span.end) for span in spans if span.kind == "code"]
    prose = _blank(text, code) if code else text
    words = [
        Found("word", w.kind, w.start, w.end, w.start, w.core_end or w.end, w.noun_end or w.end, w.value, w.unit)
        for w in number_words(prose)
    ]
    compared = [plain("comparing", w.kind, w.start, w.end) for w in comparing_words(prose)]
    take(words)
    take([plain("undeclared", "name", *one.span()) for one in SIDED.finditer(prose)])
    measured = list(quantities(text, code, decimal_comma))
    if column and _PARAMETERS.search(column):
        measured = [_in_billions(one) for one in measured]
    take([_count_of_hardware(seen, one) for one in measured])
    counted = sorted((one for one in found if one.role in ("number", "word")), key=lambda one: one.start)
    related = _relate(seen, counted)
    others = [one for one in found if one.role not in ("number", "word")]
    return related + compared + [o for o in others if o.role == "undeclared" or _has_digit(seen[o.start : o.end])]


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


_HARDWARE = re.compile(
    r"\s?(?:(?:NVIDIA|Nvidia|AMD|Intel|Google|Apple)\s)?(?:(?:[ABHKLPTV]|MI|GB|GH)\d{1,4}[A-Z]{0,3}\b"
    r"|(?:RTX|GTX|GeForce|Quadro|Tesla|Radeon|Instinct|EPYC|Xeon|Ryzen|Threadripper|Core|TPU|Gaudi)\s\w)"
)


def _count_of_hardware(text: str, one: Found) -> Found:
    """The number as a count where what looked like a multiplier stands before a device: 4x A100."""
    if (
        one.unit != "×"
        or one.noun_end != one.end
        or text[one.end - 1] not in "xX×"
        or not _HARDWARE.match(text, one.end)
    ):
        return one
    kind = "decimal" if "." in text[one.core_start : one.core_end] else "integer"
    return replace(one, kind=kind, unit=None, end=one.core_end, noun_end=one.core_end)


def _in_billions(one: Found) -> Found:
    """The number with B for billion, not for bytes."""
    if one.unit != "B":
        return one
    return replace(one, value=scaled(one.value, 9), unit=None, scale=9, letter=True)


# Names


@lru_cache(maxsize=8)
def _declared(names: tuple[str, ...]) -> re.Pattern[str] | None:
    """What finds any of these names as a whole word, the longest first."""
    said = sorted((name.split() for name in names if name.strip()), key=lambda words: -len(" ".join(words)))
    if not said:
        return None
    alternatives = "|".join(r"\s".join(map(re.escape, words)) for words in said)
    return re.compile(rf"(?:(?<!\w)|(?<=\d[xX×]))({alternatives})(?!\w)")


_LETTERED = re.compile(
    rf"(?:(?<!\w)|(?<=\d[xX]))[^\W\d]\w*(?:(?:{HYPHEN}|[.+@])\w+)*(?:(?<=\d)/\d{{1,3}}(?![\w/]|[.,]\d))?"
)
_COMMAND = re.compile(rf"(?:{'|'.join(COMMANDS)})\d")
_SERIES = re.compile(
    r"\b(?=[A-Zi\d7bglpxz])(?:(?:zstd|gzip|pigz|xz|bzip2|lz4|brotli|zip|lzma|7z)\s-{1,2}\d{1,2}(?![\w%]|[.,]\d)"
    r"|Zen\s[1-9]\+?(?![\w%]|[.,]\d)|(?:RTX|GTX|GeForce|Quadro|Tesla|Radeon|Instinct|EPYC|Xeon|Ryzen|Threadripper|Core)"
    r"(?:\s(?:PRO|Pro|Ada|RTX|GTX|Gold|Silver|Platinum|Ultra|Threadripper|RX))*\s\d{1,5}\w*(?:\s\d{4}\w*)?"
    r"|(?:Llama|LLaMA|Qwen|Gemma|Mistral|Phi|Claude|Gemini|Grok|DeepSeek|GPT|Falcon|GLM|Kimi|ERNIE|EXAONE|Ministral|Devstral|LFM|O[Ll][Mm]o|InternLM|Granite|Nemotron|Raspberry\sPi|Snapdragon|iPhone"
    r"|Pixel|SSE|AVX)\s\d{1,2}(?:\.\d{1,2})?(?:-\d*[A-Za-z][\w.]*)*(?![\w%]|[.,]\d|\s?[/:–]\s?\d)"
    r"|\d{1,3}[x×]\d{1,4}(?:\.\d+)?B\b)"
)
_PREFIXED = re.compile(
    r"(?:top|sub|mid|pre|post|non|over|under|near|rank|batch|size|length|width|depth|order|degree|in|to|by|of|or"
    rf"|best(?:{HYPHEN}of)?|and|per|pass|recall|precision|hits?|acc|at)(?:{HYPHEN}|@)(?=\d)",
    re.IGNORECASE,
)


def _mixed(text: str) -> Iterator[Found]:
    """Words that begin with a letter and hold digits, such as `rs9`; also a series with its number, RTX 4090.

    In `top-8` or `pass@6` a quantity follows a plain word: that is left to be read as a number.
    """
    last = 0
    for series in _SERIES.finditer(text):
        yield from _lettered(text, last, series.start())
        yield plain("undeclared", "name", *series.span())
        last = series.end()
    yield from _lettered(text, last, len(text))


def _lettered(text: str, start: int, end: int) -> Iterator[Found]:
    while digit := _DIGIT.search(
        text, start, end
    ):  # only what stands around digits is looked at: prose is mostly words
        first = text.rfind(" ", start, digit.start()) + 1 or start
        start = text.find(" ", digit.end(), end) + 1 or end
        for word in _LETTERED.finditer(text, first, start):
            in_formula = text[word.start() - 1 : word.start()] == "\\" and _COMMAND.match(word[0])
            if _has_digit(word[0]) and not _PREFIXED.match(word[0]) and not in_formula:
                yield plain("undeclared", "name", *word.span())


# What stands between two numbers

_RANGE = re.compile(
    rf"(?:{HYPHEN}to{HYPHEN}|{SPACE}?[–—]{SPACE}?|{HYPHEN}{{1,2}}|~|{SPACE}?(?:\.{{2,3}}|…){SPACE}?|{SPACE}(?:to|through){SPACE})$"
)
_ODDS = re.compile(f"{HYPHEN}to{HYPHEN}")
_SPACED_HYPHEN = re.compile(rf"{SPACE}{HYPHEN}{SPACE}$")
_COMMA = re.compile(rf"[,;]{SPACE}?$")
_ARROW = re.compile(r"\s?(?:-{1,2}>|→|=>|⇒|⟶)\s?$")
_OF = re.compile(r"\s(?:out\s)?of\s(?:(?:the|its|our|their|these|those|all|every)\s){0,2}$")
_SLASH = re.compile(rf"{SPACE}?[/⁄∕]{SPACE}?$")
_FROM = re.compile(r"\bfrom\s(?:[~≈$€£]|about\s)?$", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s(?:[~≈$€£]|about\s)?$", re.IGNORECASE)
_BOUND = re.compile(rf"(?:<=|>=|(?<![-=])>|[<≤≥≦≧⩽⩾]|\\(?:leq?|geq?|lt|gt|[lg]eqslant)){SPACE}{{0,4}}$")
_PLUS_MINUS = re.compile(rf"(?:±|∓|\+/[-−]|\+-|\\pm){SPACE}{{0,4}}$")
_PLUS_MINUS_SIGNS = ("±", "∓", "+/-", "+/−", "+-", "\\pm")
_UP_AND_DOWN = re.compile(rf"{SPACE}?/{SPACE}?$")
_COUNTS = ("integer", "word")


def _relate(text: str, counted: list[Found]) -> list[Found]:
    """The same numbers with what their neighbours say: ends of ranges, counts and totals, bounds."""
    out: list[Found] = []
    for one in counted:
        ahead = text[max(0, one.start - 12) : one.start]
        mark = ahead.rstrip()[-1:]
        if mark and mark in "±∓-−m" and _PLUS_MINUS.search(ahead):
            one = replace(one, kind="plus-minus")
            before = out[-1] if out else one
            if text[before.end : one.start].strip() in _PLUS_MINUS_SIGNS:
                one = _with_unit_behind(text, before, one)
                if before.end == before.noun_end and not before.unit and _of_both(before, one):
                    out[-1] = replace(before, unit=one.unit)
        elif out and _is_lower_error(text, out[-1], one):
            one = replace(one, kind="plus-minus")
            for i in (-1, -2):
                if len(out) >= -i and not out[i].unit and (i == -1 or text[out[i].end : out[-1].start].isspace()):
                    out[i] = replace(out[i], unit=one.unit)
            out[-1] = replace(out[-1], kind="plus-minus")
        elif mark and mark in "=<>≤≥≦≧⩽⩾eqtn" and _BOUND.search(ahead):
            one = replace(one, kind="bound")
        elif out:
            out[-1], one = _pair(text, out[-1], one)
        out.append(one)
    return out


def _of_both(value: Found, error: Found) -> bool:
    """Whether a value has the unit of its error; in "12.3 ± 5%" the percentage may be one of the value."""
    if error.unit != "%":
        return error.unit is not None
    small = isinstance(value.value, Decimal) and isinstance(error.value, Decimal) and abs(value.value) <= 100
    return small and value.value.as_tuple().exponent >= error.value.as_tuple().exponent


def _is_lower_error(text: str, upper: Found, lower: Found) -> bool:
    """Whether two numbers are the errors of +0.4/−0.3."""
    signs = text[upper.core_start] == "+" and text[lower.core_start] in "-−"
    return signs and _UP_AND_DOWN.fullmatch(text, upper.end, lower.start) is not None


def _with_unit_behind(text: str, first: Found, last: Found) -> Found:
    """The last number with the unit that stands behind a bracket around both: (5 ± 0.2) ms."""
    brackets = (text[first.start - 1 : first.start], text[last.end : last.end + 1])
    if last.unit or first.unit or brackets not in (("(", ")"), ("[", "]")):
        return last
    unit = UNIT.match(text, last.end + 1)
    return replace(last, unit=unit_name(unit), noun_end=unit.end()) if unit else last


def _pair(text: str, first: Found, second: Found) -> tuple[Found, Found]:
    """Two neighbours, renamed where the text between them makes them a pair."""
    between = text[first.end : second.start]
    after_noun = text[first.noun_end : second.start]
    if len(after_noun) > 24:
        return first, second
    ahead = text[max(0, first.start - 12) : first.start]
    if _ODDS.fullmatch(between) and not _rises(first, second):
        return first, second  # odds of five-to-one
    joined = _RANGE.match(between) or (_BETWEEN.search(ahead) and re.match(r"\sand\s$", between))
    if _ARROW.match(after_noun) or (re.match(r"\sto\s$", after_noun) and _FROM.search(ahead)):
        return _shared(first, second, "from"), replace(second, kind="to")
    if not joined and _rises(first, second):
        spaced = not first.unit and _SPACED_HYPHEN.match(between)
        joined = spaced or _is_interval(text, first, second, between)
        second = _with_unit_behind(text, first, second) if joined and not spaced else second
    if joined:
        unit = second.unit or (first.unit if first.unit in (*_MONEY, "×") else None)
        if first.unit in _MONEY and unit and unit.startswith("/"):
            first, unit = replace(first, unit=first.unit + unit), first.unit + unit
        return _shared(first, second, "range-low"), replace(second, kind="range-high", unit=unit)
    listed = "/" in (text[first.start - 1 : first.start], text[second.end : second.end + 1])
    parts = first.kind in _COUNTS and second.kind in _COUNTS and not listed
    if _OF.match(between) or (_SLASH.match(between) and parts):
        count = replace(first, kind="count-of") if first.kind in _COUNTS and not first.unit else first
        return count, replace(second, kind="total") if second.kind in _COUNTS else second
    return first, second


_MONEY = ("$", "€", "£", "¥", "₹")


def _rises(first: Found, second: Found) -> bool:
    """Whether the second of two numbers is the larger one."""
    return first.value is not None and second.value is not None and first.value < second.value


def _is_interval(text: str, first: Found, second: Found, between: str) -> bool:
    """Whether two numbers are the ends of [0.286, 0.341] or (0.2, 0.3), whatever stands before them inside."""
    if not _COMMA.match(between):
        return False
    closing = text[second.end : second.end + 1]
    both_decimal = first.kind == second.kind and first.kind in ("decimal", "percent")
    opening = text[first.start - 1 : first.start] if first.start else ""
    if closing == "]":
        return both_decimal or opening == "["
    return closing == ")" and opening == "(" and both_decimal


def _shared(low: Found, high: Found, kind: str) -> Found:
    """The low end of a pair with the unit that its high end has, and with its million.

    The K of "8–16K" is said of both ends, that of "100–2K" is not.
    """
    value = low.value
    if low.unit in (None, *_MONEY) and not low.scale and high.scale and not (high.letter and kind == "from"):
        both = scaled(low.value, high.scale)
        value = both if both is not None and high.value is not None and both < high.value else value
    return replace(low, kind=kind, unit=low.unit or high.unit, value=value)
