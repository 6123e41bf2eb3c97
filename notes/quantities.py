"""Quantities in digits: sign, digits, exponent, unit and counted noun of each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from campaign.notes.units import HYPHEN, POWERS_OF_TEN, SCALE, SPACE, UNIT, counted_noun, unit_name
from campaign.notes.words import Value, exact


@dataclass(frozen=True, slots=True)
class Found:
    """A token by its offsets in a block's text."""

    role: str
    kind: str
    start: int
    end: int
    core_start: int
    core_end: int
    noun_end: int
    value: Value | None = None
    unit: str | None = None
    scale: int = 0
    """The power of ten that a word such as million says."""


def plain(role: str, kind: str, start: int, end: int) -> Found:
    """A token without sign, unit or value."""
    return Found(role, kind, start, end, start, end, end)


_SPELLED = "1/2 1/3 2/3 1/4 3/4 1/5 2/5 3/5 4/5 1/6 5/6 1/7 1/8 3/8 5/8 7/8 1/9 1/10"
_VULGAR = dict(zip("½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒", map(Fraction, _SPELLED.split()), strict=True))
_VULGARS = "".join(_VULGAR)
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+", strict=True))
_GROUP = r"[,\u2009\u202f\u00a0'’_]|\{,\}"
_BODY = re.compile(
    rf"""(?:(?<!\w)|(?<=\d[xX]))(?:
        (?P<hexadecimal>0[xX][0-9a-fA-F]{{1,16}}(?!\w))
      | (?P<digits>(?!0)\d{{1,3}}(?P<group>{_GROUP})\d{{3}}(?:(?P=group)\d{{3}})*(?!\d|(?P=group)\d)(?:\.\d+)?
          | \d+(?:\.\d+)? | (?<![.)\]…])\.\d+)(?P<vulgar>[{_VULGARS}])?
      | (?P<fraction>[{_VULGARS}]) )""",
    re.VERBOSE,
)
_EXPONENT = re.compile(r"[eE]([+\-−]?\d{1,4})(?!\w)")
_POWER = re.compile(r"(?:\^\{?([-−+]?\d{1,6})\}?|\*\*([-−]?\d{1,6})|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))(?!\w)")
_TIMES_TEN = re.compile(rf"{SPACE}?(?:×|[x·*]|\\times|\\cdot){SPACE}?10(?=\^|\*\*|[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹])")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)(?!\w)")
_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d))?(?:\.(\d{1,9}))?(?![\w:])")
_MATH = re.compile(r"(?<![\\$\w])\$(?=[^\s$])([^$]{1,300}?)(?<=\S)\$(?![\d$\w])")
_CHUNK = re.compile(rf"\w+(?:(?:{HYPHEN}|[.+@])\w+)*")
_NAMED = re.compile(rf"{HYPHEN}[A-Z]")
_INDEXED = re.compile(r"[\^_]\{?[-−+]?$")
_PART_OF = re.compile(r"\s+of\b|\s?[/–-]")
_YEAR_AFTER = re.compile(r"\b(?:in|since|during|until|early|late|mid|year|©)[\s-]$", re.IGNORECASE)

_SPANS = (
    ("d", "days?|d", 86400),
    ("h", "hours?|hrs?|h", 3600),
    ("m", "minutes?|mins?|m", 60),
    ("s", "seconds?|secs?|s", 1),
)
_DURATION = re.compile(
    "".join(
        rf"(?:(?:,?\s(?:and\s)?)?(?P<{name}>\d{{1,6}}(?:\.\d{{1,9}})?)\s?(?:{words})(?![A-Za-z]))?"
        for name, words, _ in _SPANS
    )
)


def quantities(text: str) -> Iterator[Found]:
    """Every quantity in digits, and what begins with a digit but is a name (`3D`)."""
    marks = {place for math in _MATH.finditer(text) for place in (math.start(), math.end() - 1)}
    position = 0
    while body := _BODY.search(text, position):
        one = _quantity(text, body, position, marks)
        yield one
        position = max(one.end, body.end())


def _quantity(text: str, body: re.Match[str], limit: int, marks: set[int]) -> Found:
    start, end = body.span()
    if _INDEXED.search(text[max(limit, start - 3) : start]):
        chunk = _CHUNK.match(text, end)
        return plain("structure", "exponent", start, chunk.end() if chunk else end)
    if body["hexadecimal"]:
        return Found("number", "integer", start, end, start, end, end, Decimal(int(body[0], 16)))
    if duration := _duration(text, start):
        return duration
    value, kind, end = _value(text, body)
    core_end = end
    begin, core_start, money, negative = _signed(text, start, limit, marks)
    if negative and value is not None:
        value = value.copy_negate() if isinstance(value, Decimal) else -value
    unit, noun_end, said_scale = money, end, 0
    if kind in ("integer", "decimal", "scientific", "power"):
        if ordinal := _ORDINAL.match(text, end):
            return Found("number", "ordinal", begin, ordinal.end(), core_start, core_end, ordinal.end(), value)
        scale = SCALE.match(text, end)
        measured = UNIT.match(text, end)
        chunk = _CHUNK.match(text, body.end())
        if chunk and scale and scale["letter"] and _NAMED.match(text, scale.end()):
            return plain("undeclared", "name", start, chunk.end())  # 7B-Instruct
        if scale and not (measured and measured["symbol"]):
            end = scale.end()
            power = POWERS_OF_TEN[scale["letter"] or scale["word"]]
            value, said_scale = scaled(value, power), power if scale["word"] else 0
            measured = UNIT.match(text, end)
        if measured and not money:
            end = noun_end = measured.end()
            unit = unit_name(measured)
            kind = {"%": "percent", "×": "multiplier"}.get(unit, kind)
        elif not money and (noun := counted_noun(text, end, one=value == 1)):
            unit, noun_end = noun
    if text[end : end + 1].isalnum() or text[end : end + 1] == "_":
        if re.match(r"[xX][\w\ufffc]", text[end : end + 2]) and kind in ("integer", "decimal"):
            return Found("number", kind, begin, core_end, core_start, core_end, core_end, value, money)
        if chunk := _CHUNK.match(text, body.end()):
            return plain("undeclared", "name", start, chunk.end())
    alone = kind == "integer" and unit is None and end - begin == 4 and not _PART_OF.match(text, end)
    if alone and "1990" <= text[begin:end] <= "2039" and _YEAR_AFTER.search(text[max(0, begin - 8) : begin]):
        return plain("structure", "date", begin, end)
    return Found("number", kind, begin, end, core_start, core_end, max(noun_end, end), value, unit, said_scale)


def _value(text: str, body: re.Match[str]) -> tuple[Value | None, str, int]:
    """The value without its sign, the kind, and where the digits with their exponent end."""
    end = body.end()
    if body["fraction"]:
        return exact(_VULGAR[body["fraction"]]), "fraction", end
    digits = re.sub(_GROUP, "", body["digits"])
    value: Value | None = Decimal(digits)
    kind = "decimal" if "." in digits else "integer"
    if body["vulgar"]:
        return exact(Fraction(digits) + _VULGAR[body["vulgar"]]), "fraction", end
    if exponent := _EXPONENT.match(text, end):
        return scaled(value, int(exponent[1].replace("−", "-"))), "scientific", exponent.end()
    ten = _TIMES_TEN.match(text, end)
    if ten and (power := _POWER.match(text, ten.end())):
        return scaled(value, _exponent(power)), "scientific", power.end()
    if power := _POWER.match(text, end):
        return _power(digits, _exponent(power)), "power", power.end()
    return value, kind, end


def _exponent(power: re.Match[str]) -> int:
    said = power[1] or power[2] or "".join(_RAISED[character] for character in power[3][:7])
    return int(said.replace("−", "-"))


def _power(base: str, exponent: int) -> Value | None:
    """The power where it is of a size that someone may print, else None."""
    if len(base) > 12 or abs(exponent) > 400:
        return None
    if exponent < 0 and not Decimal(base):
        return None
    return exact(Fraction(base) ** exponent)


def scaled(value: Value | None, exponent: int) -> Value | None:
    """`value` times ten to the `exponent`, not rounded."""
    if not exponent:
        return value
    if not isinstance(value, Decimal) or abs(exponent) > 9999:
        return None
    sign, digits, own = value.as_tuple()
    assert isinstance(own, int), "a number that was printed is finite"
    exponent += own
    if 0 < exponent < 40:
        digits, exponent = digits + (0,) * exponent, 0
    return Decimal((sign, digits, exponent))


def _duration(text: str, start: int) -> Found | None:
    """A duration of several parts, in seconds: `8m30s`, `2 hours 46 minutes`, `00:02.157`."""
    clock = _CLOCK.match(text, start)
    if clock and (clock[3] or clock[4]):
        seconds = Decimal(0)
        for part in filter(None, clock.group(1, 2, 3)):
            seconds = seconds * 60 + int(part)
        if clock[4]:
            seconds = Decimal(f"{seconds}.{clock[4]}")
        end = clock.end()
        return Found("number", "duration", start, end, start, end, end, seconds, "s")
    said = _DURATION.match(text, start)
    if not said or sum(said[name] is not None for name, _, _ in _SPANS) < 2:
        return None
    seconds = sum((Decimal(said[name]) * size for name, _, size in _SPANS if said[name]), Decimal(0))
    end = said.end()
    return Found("number", "duration", start, end, start, end, end, seconds, "s")


_MINUS = "-−‐‑﹣－–‒"


def _signed(text: str, start: int, limit: int, marks: set[int]) -> tuple[int, int, str | None, bool]:
    """Where a number begins, with its currency and without; the currency; whether it is negative."""
    begin = core = start
    money = None
    sign = ""
    for _ in range(2):
        if begin <= limit:
            break
        before = text[begin - 1]
        if not money and before in "$€£¥" and begin - 1 not in marks:
            money, begin = before, begin - 1
            if begin >= limit + 2 and text[begin - 2 : begin] == "US":
                begin -= 2
        elif not sign and before in _MINUS + "+" and _is_sign(text, begin - 1, limit):
            begin -= 1
            sign, core = before, begin
        else:
            break
    return begin, core, money, sign in _MINUS and bool(sign)


def _is_sign(text: str, place: int, limit: int) -> bool:
    """Whether the mark at `place` is a sign, not a dash of a range and not a hyphen."""
    mark = text[place]
    before = text[place - 1] if place else " "
    if mark in "–‒":
        ahead = text[max(0, place - 2) : place].strip()
        return (before.isspace() or before in "([|") and not (ahead and (ahead[-1].isdecimal() or ahead[-1] == "%"))
    if place < limit:
        return False
    if before in "–—":
        return mark != "+"
    return before.isspace() or before in "([{|<>=≤≥~≈:,;*\"'“‘→$€£¥" or (before == "-" and mark == "−")
