"""Quantities in digits: sign, digits, exponent, unit and counted noun of each."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import gcd

from campaign.notes.units import (
    GLUED_NOUN,
    HYPHEN,
    MONEY_SCALE,
    PER,
    POWERS_OF_TEN,
    SCALE,
    SPACE,
    UNIT,
    counted_noun,
    unit_name,
)
from campaign.notes.words import Value, exact, sign_word


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
    """The power of ten that a word such as million says, or a letter."""
    letter: bool = False
    """Whether a letter says it."""


def plain(role: str, kind: str, start: int, end: int) -> Found:
    """A token without sign, unit or value."""
    return Found(role, kind, start, end, start, end, end)


_SPELLED = "1/2 1/3 2/3 1/4 3/4 1/5 2/5 3/5 4/5 1/6 5/6 1/7 1/8 3/8 5/8 7/8 1/9 1/10"
_VULGAR = dict(zip("½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒", map(Fraction, _SPELLED.split()), strict=True))
_VULGARS = "".join(_VULGAR)
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+", strict=True))
COMMANDS = "times cdot pm approx sim le leq ge geq lt gt".split()
"""What stands before a number in a formula, as in `\\pm0.3`."""
_AFTER_COMMAND = "|".join(rf"(?<=\\{command})" for command in COMMANDS)
_GAPS = "\u2007\u2009\u202f\u00a0'’_"


def _bodies(point: str, group: str, others: str = "") -> re.Pattern[str]:
    """What finds the digits of a number with this decimal mark and these marks between groups of digits."""
    return re.compile(
        rf"""(?:(?<!\w)|(?<=\d[xX])|{_AFTER_COMMAND})(?:
            (?P<hexadecimal>0[xX][0-9a-fA-F]{{1,16}}(?!\w))
          | (?P<digits>{others}
                (?<!\d[ ])[1-9]\d{{0,2}}(?:(?:[ ]\d{{3}})*[ ]0\d\d|[ ]\d{{3}}(?=[ ]\d{{3}}))(?:[ ]\d{{3}})*
                (?![ ]?\d)(?:{point}\d+)? |
                (?<!\d,)(?!0)\d{{1,3}}(?P<group>{group})\d{{3}}(?:(?P=group)\d{{3}})*(?!\d|(?P=group)\d)(?:{point}\d+)?
              | \d+(?:{point}\d+)? | (?<![.,)\]…]){point}\d+ )(?:{SPACE}?(?P<vulgar>[{_VULGARS}]))?
          | (?P<fraction>[{_VULGARS}]) )
          | \\[dt]?frac\{{(?P<upper>\d{{1,4}})\}}\{{(?P<lower>\d{{1,4}})\}}""",
        re.VERBOSE,
    )


_BODY = _bodies(
    "[.．]",
    rf"[,，{_GAPS}]|\{{,\}}",
    r"(?<!\d,)\d{1,2}(?:,\d\d)+,\d{3}(?!\d|,\d)(?:\.\d+)? | \d{1,3}(?:\.\d{3}){2,}(?![.\d]) |",
)
# Where the comma is declared, a point that parts no groups of three can only be a decimal mark as well.
_COMMA_BODY = _bodies("[,.]", rf"[.{_GAPS}]", r"(?<!\d[ ])[1-9]\d{0,2}(?:[ ]\d{3})+,\d+(?![\d,.]) |")
_MARKS_OF_GROUPS = re.compile(rf"[ {_GAPS}{{}}]")
_FRACTION = re.compile(
    rf"""(?P<base>\d{{1,6}}){SPACE}and{SPACE}(?:an?|one)[ -](?P<share>half|third|quarter)(?![\w-]|{SPACE}of\b)
      | (?P<whole>\d{{1,3}}){SPACE}(?P<part>[1-9]\d?)/(?P<parts>\d{{1,2}})(?![\w/⁄]|[.,]\d)
      | (?P<upper>\d{{1,4}})(?: ⁄(?P<lower>\d{{1,4}})(?![\w⁄])
          | /(?:(?P<nth>[2-9]|[1-9]\d|100|1000)(?:nd|rd|th)s?(?!\w)
              | (?P<of>[2-9]|10)(?![\w/⁄]|[.,]\d)(?={SPACE}(?:of|the|as)\b)
              | (?P<bound>[2-9]|10)(?![\w/⁄]|[.,]\d) ) )""",
    re.VERBOSE,
)
"""A fraction with a stroke: 3 1/2, 1⁄2, 1/10th, 2/3 of, an end of 1/2 to 3/4; also 3 and a half."""
_SHARES = {"half": 2, "third": 3, "quarter": 4}
_JOINT = rf"(?:{SPACE}to{SPACE}|[–—])"
_ENDS = re.compile(rf"(?<![\w/.,])(\d)/([2-9]|10){_JOINT}(\d)/([2-9]|10)(?![\w/⁄]|[.,]\d)")
_LOW_END = re.compile(rf"\d/(?:[2-9]|10){_JOINT}\Z")
_MIXED_PARTS = frozenset((2, 3, 4, 5, 6, 8, 10, 16, 32, 64))
_PLAIN_PARTS = {(1, lower) for lower in range(2, 11)} | {(2, 3), (3, 4)}
_ONE_IN = re.compile(
    rf"1(?P<in>{SPACE}|{HYPHEN})in(?P=in)(?P<many>\d{{1,3}}(?:,\d{{3}}){{1,4}}|(?!(?:199|20[0-3])\d(?!\d))\d{{1,9}})(?![\w%°]|[.,:/–-]?\d|{SPACE}(?:ms|µs|s|GB)\b)"
)
_EXPONENT = re.compile(r"[eE]([+\-−]?\d{1,4})(?![\d_])")
_POWER = re.compile(r"(?:\^\{?([-−+]?\d{1,6})\}?|\*\*([-−]?\d{1,6})|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))(?![\d_])")
_TIMES_TEN = re.compile(rf"{SPACE}?(?:×|[x·⋅*]|\\times|\\cdot){SPACE}?10(?=\^|\*\*|[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹])")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)(?!\w)")
_HOUR = re.compile(r"(\d{1,3})h([0-5]\d)(?!\w)")
_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d))?(?:\.(\d{1,9}))?(?![\w:])")
_NAMED_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)\s?(?:(?P<hours>h|hrs?|hours?)|min|mins|minutes?)(?!\w)")
_MATH = re.compile(r"\$\$\s?(?:[^$]{1,300}?)\$\$|(?<![\\$\w])\$(?=[^\s$])([^$]{1,300}?)(?<=\S)\$(?![\d$\w])")
_CHUNK = re.compile(rf"\w+(?:(?:{HYPHEN}|[.+@])\w+)*")
_NAMED = re.compile(rf"{HYPHEN}[A-Z]")
_INDEXED = re.compile(r"[\^_][{(\[]?[-−+]?$")
_PART_OF = re.compile(r"\s+of\b|\s?[/–-]")
_YEAR_AFTER = re.compile(
    r"(?:\b(?:in|since|during|until|early|late|mid|year|end\sof)[\s-](?:(?:199|20[0-3])\d(?:,\s(?:and\s)?|\s(?:and|or)\s)){0,4}"
    r"|\bal\.?,?\s\(?|©\s)$",
    re.IGNORECASE,
)

_SPANS = (
    ("w", "weeks?|wks?", 604800, 0),
    ("d", "days?|d", 86400, 7),
    ("h", "hours?|hrs?|h", 3600, 24),
    ("m", "minutes?|mins?|m", 60, 60),
    ("s", "seconds?|secs?|s", 1, 60),
)
"""Name, words, seconds, and what there are fewer of behind a larger one with a comma or "and" between."""
_DURATION = re.compile(
    "".join(
        rf"(?:(?P<{name}_joint>,\s(?:and\s)?|\sand\s|\s)?(?P<{name}>\d{{1,6}}(?:\.\d{{1,9}})?)\s?"
        rf"(?:{words})(?![A-Za-z·⋅/²³^]))?"
        for name, words, _, _ in _SPANS
    )
    + r"(?:\s?(?P<ms>\d{1,3}(?:\.\d{1,6})?)\s?ms(?![\w/]))?"
)


_BLANKS = SPACE[1:-1]
# What may follow the digits, directly or behind a blank; the empty end of a text is in each of these strings.
_ENDING = ',;)]|?!"”'
_DURATION_GOES_ON = ":wdhmsWDHMS"
_FRACTION_GOES_ON = "/⁄ai-‐‑0123456789"
_TIMES = "×x·⋅*\\"
_RAISING = f"^*{''.join(_RAISED)}"
_INDEXING = "^_{([-−+"


def quantities(text: str, code: Sequence[tuple[int, int]] = (), decimal_comma: bool = False) -> Iterator[Found]:
    """Every quantity in digits, and what begins with a digit but is a name (`3D`).

    A space parts no groups of digits inside `code`: "`--sizes 128 256 512`" are three numbers.
    """
    marks = (
        {math.start() + n for math in _MATH.finditer(text) for n, mark in enumerate(math[0]) if mark == "$"}
        if "$" in text
        else set()
    )
    position, bodies = 0, _COMMA_BODY if decimal_comma else _BODY
    while body := bodies.search(text, position):
        if " " in body[0] and any(start <= body.start() < end for start, end in code):
            body = bodies.match(text, body.start(), text.index(" ", body.start())) or body
        one = _quantity(text, body, position, marks)
        yield one
        position = max(one.end, body.end())


def _quantity(text: str, body: re.Match[str], limit: int, marks: set[int]) -> Found:
    start, end = body.span()
    after = text[end : end + 1]
    then = text[end + 1 : end + 2] if after in _BLANKS else after
    if text[start - 1 : start] in _INDEXING and _INDEXED.search(text[max(limit, start - 3) : start]):
        chunk = _CHUNK.match(text, end)
        return plain("structure", "exponent", start, chunk.end() if chunk else end)
    if body["hexadecimal"]:
        return Found("number", "integer", start, end, start, end, end, Decimal(int(body[0], 16)))
    if then in _DURATION_GOES_ON and (duration := _duration(text, start)):
        return _with_sign(duration, *_signed(text, start, limit, marks))
    value, kind, end = _value(text, body, after, then)
    core_end = end
    begin, core_start, money, negative = _signed(text, start, limit, marks)
    if negative and value is not None:
        value = value.copy_negate() if isinstance(value, Decimal) else -value
    unit, noun_end, said_scale = money, end, 0
    if kind == "scientific" and isinstance(value, Decimal) and value and after not in "eE":
        said_scale = value.adjusted() - Decimal(_plain_digits(body)).adjusted()
    letter = False
    if kind != "proportion" and (end != body.end() or after not in _ENDING or text[end + 1 : end + 2] == "\\"):
        if kind != "fraction" and (ordinal := _ORDINAL.match(text, end)):
            return Found("number", "ordinal", begin, ordinal.end(), core_start, core_end, ordinal.end(), value)
        scale = (MONEY_SCALE.match(text, end) if money else None) or SCALE.match(text, end)
        measured = None if money else UNIT.match(text, end)
        if scale and scale["letter"] and _NAMED.match(text, scale.end()):
            chunk = _CHUNK.match(text, body.end())
            return plain("undeclared", "name", start, chunk.end() if chunk else scale.end())  # 7B-Instruct
        if scale and not money and scale["apart"] in ("k", "K", "M") and not _is_counted(text, scale.end()):
            scale = None
        if scale and not (measured and measured["symbol"]):
            end, letter = scale.end(), bool(scale["letter"] or scale["apart"])
            said_scale = POWERS_OF_TEN[scale["letter"] or scale["apart"] or scale["word"]]
            value = scaled(value, said_scale)
            measured = None if money else UNIT.match(text, end)
        if money and (per := PER.match(text, end)):
            end, unit = per.end(), money + per[0]
        elif measured:
            end = noun_end = measured.end()
            unit = unit_name(measured)
            if kind != "fraction":
                kind = {"%": "percent", "×": "multiplier"}.get(unit, kind)
        elif text[end : end + 1] == "$" and not money and _ends_with_dollar(text, end, marks):
            end, unit = end + 1, "$"
        elif (
            not money
            and text[end : end + 1] in ("\\", "$", ",")
            and (after_formula := _unit_of_formula(text, end, marks))
        ):
            unit, noun_end = after_formula
            if kind in ("integer", "decimal"):
                kind = {"%": "percent", "×": "multiplier"}.get(unit, kind)
        elif not money and text[begin - 1 : begin] != ":" and (noun := counted_noun(text, end, one=value == 1)):
            unit, noun_end = noun
    if unit is None and text[begin - 1 : begin] == "×" and _is_multiplier(text, begin - 1, limit):
        begin, unit, kind = begin - 1, "×", "multiplier"
    kind = "fraction" if kind == "proportion" else kind
    if noun_end <= end and (text[end : end + 1].isalnum() or text[end : end + 1] == "_"):
        if re.match(r"[xX][\w\ufffc]", text[end : end + 2]) and kind in ("integer", "decimal"):
            return Found("number", kind, begin, core_end, core_start, core_end, core_end, value, money)
        if chunk := _CHUNK.match(text, body.end()):
            return plain("undeclared", "name", start, chunk.end())
    alone = kind == "integer" and unit is None and end - begin == 4 and not _PART_OF.match(text, end)
    if alone and "1990" <= text[begin:end] <= "2039" and _YEAR_AFTER.search(text[max(0, begin - 48) : begin]):
        return plain("structure", "date", begin, end)
    noun_end = max(noun_end, end)
    return Found("number", kind, begin, end, core_start, core_end, noun_end, value, unit, said_scale, letter)


def _with_sign(duration: Found, begin: int, core_start: int, money: str | None, negative: bool) -> Found:
    """The duration with the sign that stands before it."""
    if money or not isinstance(duration.value, Decimal):
        return duration
    value = duration.value.copy_negate() if negative else duration.value
    return replace(duration, start=begin, core_start=core_start, value=value)


def _is_counted(text: str, end: int) -> bool:
    """Whether things that are counted, or a rate, follow a letter that stands apart: 10 k rows."""
    unit = UNIT.match(text, end)
    return bool(unit and unit["symbol"]) or counted_noun(text, end, one=False) is not None


def _ends_with_dollar(text: str, end: int, marks: set[int]) -> bool:
    """Whether the dollar sign at `end` belongs to the number before it, not to a formula."""
    return end not in marks and not (text[end + 1 : end + 2].isalnum() or text[end + 1 : end + 2] in ("$", "\ufffc"))


_FORMULA_SPACE = re.compile(r"\\?[,;: ]")  # Markdown takes the backslash of some
_UNIT_IN_TEXT = re.compile(r"\\(?:text|textrm|mathrm|mathsf|operatorname|rm)\{(?:\\[,; ]|\s|~)*([^{}\\]{1,24}?)\s*\}")


def _unit_of_formula(text: str, end: int, marks: set[int]) -> tuple[str, int] | None:
    r"""The unit or noun of a number at whose end something else of a formula stands, and where it ends.

    It is no part of what was printed as the number: `$12$ ms`, `$1.2\,\mathrm{ms}$`.
    """
    space = _FORMULA_SPACE.match(text, end)
    at = space.end() if space else end
    if found := _UNIT_IN_TEXT.match(text, at):
        measured = UNIT.fullmatch(" " + found[1]) or UNIT.fullmatch(found[1])
        return (unit_name(measured) if measured else found[1]), found.end()
    if text[at : at + 1] != "$" or at not in marks:
        return None
    after = at + 2 if at + 1 in marks else at + 1
    if measured := UNIT.match(text, after):
        return unit_name(measured), measured.end()
    return counted_noun(text, after, one=False)


def _is_multiplier(text: str, place: int, limit: int) -> bool:
    """Whether the sign at `place` says how many times, as in "×3 faster", and multiplies no number before it."""
    between = text[limit:place]
    if limit and not between.strip():
        return False
    return not between or between[-1].isspace() or between[-1] in "(~≈|["


def _value(text: str, body: re.Match[str], after: str, then: str) -> tuple[Value | None, str, int]:
    """The value without its sign, the kind, and where the digits with their exponent end.

    `after` is the character behind them, `then` the one behind that where it is a blank.
    """
    end = body.end()
    if body["fraction"]:
        return exact(_VULGAR[body["fraction"]]), "fraction", end
    if body["upper"]:
        return (exact(Fraction(f"{body['upper']}/{body['lower']}")) if int(body["lower"]) else None), "fraction", end
    if then in _FRACTION_GOES_ON and (fraction := _fraction(text, body.start())):
        return fraction
    digits = _plain_digits(body)
    value: Value | None = Decimal(digits)
    kind = "decimal" if "." in digits else "integer"
    if body["vulgar"] and kind == "integer":
        return (exact(Fraction(digits) + _VULGAR[body["vulgar"]]) if len(digits) < 99 else None), "fraction", end
    if after in "eE" and (exponent := _ended(text, _EXPONENT.match(text, end))):
        return scaled(value, int(exponent[1].replace("−", "-"))), "scientific", exponent.end()
    ten = _TIMES_TEN.match(text, end) if then in _TIMES else None
    if ten and (power := _ended(text, _POWER.match(text, ten.end()))):
        return scaled(value, _exponent(power)), "scientific", power.end()
    if after in _RAISING and (power := _ended(text, _POWER.match(text, end))):
        return _power(digits, _exponent(power)), "power", power.end()
    return value, kind, end


def _ended(text: str, exponent: re.Match[str] | None) -> re.Match[str] | None:
    """The exponent where nothing but a unit or a noun is joined to its end."""
    if not exponent:
        return None
    end = exponent.end()
    joined = text[end : end + 1].isalnum()
    return exponent if not joined or UNIT.match(text, end) or GLUED_NOUN.match(text, end) else None


def _plain_digits(body: re.Match[str]) -> str:
    """The digits with no marks between groups and with a point as decimal mark."""
    digits = body["digits"]
    if digits.isdecimal():
        return digits
    if body.re is _COMMA_BODY:
        digits = digits.replace(".", "") if body["group"] == "." else digits
        return _MARKS_OF_GROUPS.sub("", digits).replace(",", ".")
    digits = _MARKS_OF_GROUPS.sub("", digits).replace(",", "").replace("，", "").replace("．", ".")
    return digits.replace(".", "") if digits.count(".") > 1 else digits


def _fraction(text: str, start: int) -> tuple[Value, str, int] | None:
    """A fraction with a stroke, or one in so many; "proportion" is the kind of one that counts nothing."""
    if found := _ONE_IN.match(text, start):
        many = int(found["many"].replace(",", ""))
        return (exact(Fraction(1, many)), "proportion", found.end()) if many > 1 else None
    found = _FRACTION.match(text, start)
    if not found:
        return None
    if found["base"]:
        return exact(int(found["base"]) + Fraction(1, _SHARES[found["share"]])), "fraction", found.end()
    if found["bound"] and not _ends_range(text, start):
        return None
    if found["whole"]:
        part, parts = int(found["part"]), int(found["parts"])
        if part < parts and parts in _MIXED_PARTS and gcd(part, parts) == 1:
            return exact(int(found["whole"]) + Fraction(part, parts)), "fraction", found.end()
        return None
    upper, lower = int(found["upper"]), int(found["lower"] or found["nth"] or found["of"] or found["bound"])
    if not lower or (found["of"] and (upper, lower) not in _PLAIN_PARTS):
        return None
    return exact(Fraction(upper, lower)), "proportion", found.end()


def _ends_range(text: str, start: int) -> bool:
    """Whether the fraction at `start` is an end of "1/2 to 3/4", not a count of a total."""
    low = _LOW_END.search(text, max(0, start - 9), start)
    ends = _ENDS.match(text, low.start() if low else start)
    if not ends:
        return False
    upper, lower, other_upper, other_lower = map(int, ends.groups())
    reduced = gcd(upper, lower) == gcd(other_upper, other_lower) == 1
    return reduced and lower != other_lower and upper * other_lower < other_upper * lower < lower * other_lower


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
    if named := _NAMED_CLOCK.match(text, start):
        seconds = Decimal((int(named[1]) * 60 + int(named[2])) * (60 if named["hours"] else 1))
        return Found("number", "duration", start, named.end(), start, named.end(), named.end(), seconds, "s")
    clock = _CLOCK.match(text, start)
    if clock and (clock[3] or clock[4]):
        seconds = Decimal(0)
        for part in filter(None, clock.group(1, 2, 3)):
            seconds = seconds * 60 + int(part)
        if clock[4]:
            seconds = Decimal(f"{seconds}.{clock[4]}")
        end = clock.end()
        return Found("number", "duration", start, end, start, end, end, seconds, "s")
    if hour := _HOUR.match(text, start):
        seconds = Decimal(hour[1]) * 3600 + Decimal(hour[2]) * 60
        return Found("number", "duration", start, hour.end(), start, hour.end(), hour.end(), seconds, "s")
    said = _DURATION.match(text, start)
    if not said:
        return None
    parts = [(Decimal(said[name]), size) for name, _, size, _ in _SPANS if said[name]]
    if said["ms"] and said["s"]:
        parts.append((Decimal(said["ms"]).scaleb(-3), 1))
    elif said["ms"] or any(_too_many(said, name, limit) for name, _, _, limit in _SPANS):
        return None
    end = said.end()
    if (comma := _item_end(text, said)) is not None:
        end = comma
        parts = [(Decimal(said[name]), size) for name, _, size, _ in _SPANS if said[name] and said.end(name) <= end]
    if len(parts) < 2:
        return None
    seconds = sum((count * size for count, size in parts), Decimal(0))
    return Found("number", "duration", start, end, start, end, end, seconds, "s")


_SPAN = rf"\d{{1,6}}(?:\.\d{{1,9}})?\s?(?:{'|'.join(words for _, words, _, _ in _SPANS)})(?![A-Za-z])"
_NEXT_ITEM = re.compile(rf"(?:,\s(?:and\s|or\s)?|\s(?:and|or)\s){_SPAN}")
_LAST_ITEM = re.compile(rf"(?<![\w.]){_SPAN},\s\Z")


def _item_end(text: str, said: re.Match[str]) -> int | None:
    """Where the first of several durations ends whose list was taken for one: "1h, 30m, 15m"."""
    names = [name for name, *_ in _SPANS if said[name]]
    joints = [(said[f"{name}_joint"] or "", said.start(f"{name}_joint")) for name in names[1:]]
    commas = [place for joint, place in joints if joint.startswith(",")]
    if not commas:
        return None
    mixed = any(joint in ("", " ") for joint, _ in joints)
    before = _LAST_ITEM.search(text, max(0, said.start() - 24), said.start())
    return commas[0] if mixed or before or _NEXT_ITEM.match(text, said.end()) else None


def _too_many(said: re.Match[str], name: str, limit: int) -> bool:
    """Whether a part of a duration is one of its own: 90 minutes in "2 h, 90 min"."""
    return (said[f"{name}_joint"] or " ") != " " and Decimal(said[name]) >= limit


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
        if not money and before in "$€£¥₹" and begin - 1 not in marks:
            money, begin = before, begin - 1
            if begin >= limit + 2 and text[begin - 2 : begin] == "US":
                begin -= 2
        elif not sign and before in _MINUS + "+" and _is_sign(text, begin - 1, limit):
            begin -= 1
            sign, core = before, begin
        else:
            break
    if not sign and (word := sign_word(text, begin)) is not None and word >= limit:
        return word, word, money, True
    return begin, core, money, sign in _MINUS and bool(sign)


_UPPER_ERROR = re.compile(r"\+\d[\d.,]{0,9}\s?[^\W\d]{0,3}%?\s?/\Z")  # of +0.4/−0.3


def _is_sign(text: str, place: int, limit: int) -> bool:
    """Whether the mark at `place` is a sign, not a dash of a range and not a hyphen."""
    mark = text[place]
    before = text[place - 1] if place else " "
    if mark in "–‒":
        ahead = text[max(0, place - 2) : place].strip()
        return (before.isspace() or before in "([|") and not (ahead and (ahead[-1].isdecimal() or ahead[-1] == "%"))
    if place < limit:
        return False
    if before == "/" and _UPPER_ERROR.search(text, max(0, place - 24), place):
        return True
    if before in "–—…" or text[place - 2 : place] == "..":
        return mark != "+"
    return before.isspace() or before in "([{|<>=≤≥~≈:,;*\"'“‘→$€£¥₹" or (before == "-" and mark == "−")
