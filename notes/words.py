"""Words that say a number, and words that compare."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from campaign.notes.units import HYPHEN, SPACE, UNIT, counted_noun, unit_name

Value = Decimal | Fraction


@dataclass(frozen=True, slots=True)
class Word:
    """A number word or a comparing word in a block's text."""

    start: int
    end: int
    kind: str
    """For numbers word, fraction, multiplier or ordinal; for comparing words the group of the lexicon."""
    value: Value | None = None
    unit: str | None = None
    noun_end: int | None = None
    core_end: int | None = None
    """Where the number itself ends, for one that has its unit in words: five percent."""


# Numbers

_DIGIT = dict(zip("one two three four five six seven eight nine".split(), range(1, 10), strict=True))
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TEEN = dict(zip(_TEENS.split(), range(10, 20), strict=True))
_TEN_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = dict(zip(_TEN_WORDS.split(), range(20, 100, 10), strict=True))
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SMALL = _DIGIT | _TEEN | _TENS
_PARTS = {"half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7}
_PARTS |= {"eighth": 8, "ninth": 9, "tenth": 10, "twelfth": 12, "twentieth": 20}
_PARTS |= {"hundredth": 100, "thousandth": 1000}
_EARLY = "first second third fourth fifth sixth seventh eighth ninth"
_ORDINALS = dict(zip(_EARLY.split(), range(1, 10), strict=True))
_LATER = "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
_LATE_ORDINALS = dict(zip(_LATER.split(), range(10, 20), strict=True))
_LATE_ORDINALS |= {f"{ten[:-1]}ieth": value for ten, value in _TENS.items()} | {
    "hundredth": 100,
    "thousandth": 1000,
}
_TIMES: dict[str, Value] = {"twice": Decimal(2), "thrice": Decimal(3)}
_TIMES |= dict.fromkeys(("double", "doubles", "doubled", "doubling"), Decimal(2))
_TIMES |= dict.fromkeys(("triple", "triples", "tripled", "tripling"), Decimal(3))
_TIMES |= dict.fromkeys(("quadruple", "quadruples", "quadrupled", "quadrupling"), Decimal(4))
_TIMES |= dict.fromkeys(("quintuple", "quintuples", "quintupled", "quintupling"), Decimal(5))
_TIMES |= dict.fromkeys(("halve", "halves", "halved", "halving"), Decimal("0.5"))
_FOLDS = _SMALL | {"hundred": 100, "thousand": 1000}
_TIMES |= {f"{word}fold": Decimal(value) for word, value in _FOLDS.items() if value > 1}


def _any(words: dict[str, int]) -> str:
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})(?![A-Za-z])"


_BELOW_100 = rf"(?:{_any(_TENS)}(?:(?:{HYPHEN}|{SPACE}){_any(_DIGIT)})?|{_any(_TEEN)}|{_any(_DIGIT)})"
_BELOW_1000 = rf"(?:(?:an?|{_BELOW_100}){SPACE}hundred(?![A-Za-z])(?:{SPACE}(?:and{SPACE})?{_BELOW_100})?|{_BELOW_100})"
_SCALE = _any(_SCALES)
_CARDINAL = (
    rf"(?:(?<!few\s)(?<!several\s)hundred{SPACE}and{SPACE}{_BELOW_100}"
    rf"|(?:half{SPACE})?an?{SPACE}(?:dozen|{_SCALE})\b|half[- ]dozen\b|{_BELOW_100}{SPACE}dozen\b"
    rf"|(?:{_BELOW_1000}{SPACE}{_SCALE},?{SPACE}(?:and{SPACE})?){{0,4}}{_BELOW_1000}(?:{SPACE}{_SCALE})?)"
)
_PART = rf"(?:halves|half|(?:{'|'.join(part for part in _PARTS if part not in ('half', 'halve'))})s?)"
_ORDINAL = f"(?:{_any(_TENS)}{HYPHEN})?{_any(_ORDINALS | _LATE_ORDINALS)}"
_NUMBER_WORD = re.compile(
    rf"""(?P<one_in> (?P<few>{_BELOW_100}) (?P<in>{SPACE}|{HYPHEN})in(?P=in)
           (?P<many>{_CARDINAL}|\d{{1,9}}(?!\w|[.,]\d)) )
       | (?P<fraction> (?P<parts>an?|{_BELOW_100})(?P<joint>{HYPHEN}|{SPACE})(?P<part>{_PART})(?![A-Za-z]) )
       | (?P<times> (?:{"|".join(sorted(_TIMES, key=len, reverse=True))}
           |{_any(_FOLDS)}{HYPHEN}fold)
           (?!\w|{HYPHEN}\w) )
       | (?P<ordinal> {_ORDINAL} )
       | (?P<long_ordinal> (?P<before> {_CARDINAL} ) {SPACE}(?:and{SPACE})?(?P<last> {_ORDINAL} ) )
       | (?P<cardinal> {_CARDINAL} )
           (?: (?:{SPACE}and{SPACE}|{HYPHEN}and{HYPHEN})
               (?P<more>an?|{_any(_DIGIT)})(?:{HYPHEN}|{SPACE})(?P<of_one>{_PART})(?![A-Za-z]) )?
       | (?P<zero> (?<!non-)zero(?![\w-]) )
       | (?P<half> half(?!\w|{HYPHEN}\w) )""",
    re.VERBOSE | re.IGNORECASE,
)
_STARTS = frozenset(_SMALL) | frozenset(_ORDINALS) | frozenset(_LATE_ORDINALS) | frozenset(_TIMES)
_STARTS |= {"a", "an", "half", "zero", "hundred", "thousand"}
_NUMBERED = frozenset(_SMALL) | {"hundred", "thousand", "million"}

# "a third of", "a third less" are fractions; "a third run" is an ordinal.
_AFTER_PART = re.compile(
    r"\s+(?:of|less|more|fewer|as|in|\w+er)\b|\s*(?:[.,;:)]|$)|\s\([~≈]?\d[\d.,]*\s?%"
    rf"|\s(?:to|or)\s(?:an?|one|two|three|four)[\s-]{_PART}\b|\sand\s(?:an?|one|two|three)[\s-](?:half|halves|quarters?)\b",
    re.IGNORECASE,
)
_JOINED_TO_ONE = frozenset(
    "shot click stop time line sided tailed off way to size hot liner party hand class copy".split()
)
_MEASURES = frozenset("point percent second minute hour day week month year".split())
_FROM_ANOTHER = re.compile(rf"(?<![A-Za-z])(?!one\b){_BELOW_100}{HYPHEN}to{HYPHEN}\Z", re.IGNORECASE)
SIDED = re.compile(rf"(?<!\w)(?:one|two|three|four){HYPHEN}(?:sided|tailed)(?!\w)", re.IGNORECASE)
"""Names of tests that say a number, and another test with another one."""

# "one" is a number where it counts. It is a pronoun in these, and before a verb that says what people do.
_PRONOUN_BEFORE = frozenset("this that no each every any another which some everyone".split())
_PRONOUN_AFTER = re.compile(
    r"['’]s\b|\s+(?:another|hand|or\s+more|can|cannot|could|may|might|must|should|would|will|that|which|who|whose|(?:has|needs|wants|ought)\s+to"
    r"|by\s+one|to\s+one|after\s+(?:another|the\s+other)"
    r"|at\s+a\s+time|day\b|of\s+(?:the\s+)?(?:most|few|many|main|reasons?|ways?|things?|\w+est))\b"
)
# Where no noun follows "one" it counts only after these, or where a clause begins.
_COUNTS_AFTER = frozenset(
    """and or but with by than to of from plus minus only exactly just about least most between
        except for is was has had have are were lost gained in at over under after before""".split()
)


_LISTED_AFTER = re.compile(rf"(?:,|,?{SPACE}(?:and|or|to)){SPACE}(?!one\b){_BELOW_100}", re.IGNORECASE)
_LOWER_WORD = re.compile(r"\s+([a-z]+)")
_ADJECTIVES = frozenset("double triple quadruple".split())
_OF_A_KIND = re.compile(
    r"\s(?:precision|quot\w+|buffer\w*|click\w*|check\w*|colons?|free|slash\w*|backticks?|dash\w*|spac\w+|brackets?|braces?"
    r"|underscores?|blind|negatives?|counting|dispatch|linked|equals|stars?|pointers?|arrays?|types?|values?)\b"
)


def number_words(text: str) -> Iterator[Word]:
    """The number words of `text` in order; `text` has code and declared names blanked out.

    Left out: vague ones (dozens, a couple), once, single, and what is part of a name (one-sided, zero-copy).
    """
    found = _joined_spans(text, list(_single_words(text)))
    for word in found:
        if word.kind != "ordinal" and word.value and (sign := sign_word(text, word.start)) is not None:
            word = replace(word, start=sign, value=-word.value)
        yield word


def _single_words(text: str) -> Iterator[Word]:
    position = 0
    for candidate in re.finditer(r"[A-Za-z]+", text):
        start = candidate.start()
        if start < position or candidate[0].lower() not in _STARTS or text[start - 1 : start].isalnum():
            continue
        if mixed := _AND_A_PART.match(text, max(0, start - 6)):
            position = mixed.end()
            continue
        found = _NUMBER_WORD.match(text, start)
        word = _word(text, found) if found else None
        if word:
            position = word.end
            yield word


_SIGN_WORD = re.compile(
    r"(?:\A|[(\[:;,.|]\s?|\b(?:of|to|by|at|is|was|are|were|from|and|or|between|an?|about|with|only|even)\s)(minus)\s\Z"
    r"|(?<!false )(?<!true )\b(negative)\s\Z",
    re.IGNORECASE,
)


def sign_word(text: str, start: int) -> int | None:
    """Where the word that makes the number at `start` a negative one begins: minus 3; not in "5 minus 3"."""
    if text[start - 2 : start].lower() not in ("s ", "e "):
        return None
    found = _SIGN_WORD.search(text, max(0, start - 24), start)
    return found.start(1 if found[1] else 2) if found else None


_AND_A_PART = re.compile(rf"\d{SPACE}and{SPACE}(?:an?|one)[ -](?:half|third|quarter)(?![\w-]|{SPACE}of\b)")
"""Behind digits, with which it is read: 3 and a half."""
_ONE_UNIT = re.compile(
    rf"\b(?:an?|one){SPACE}(hour|minute|second|day|week|month|year){SPACE}and{SPACE}\Z", re.IGNORECASE
)
_SECONDS = {"week": 604800, "day": 86400, "hour": 3600, "minute": 60, "second": 1}
_FEWER = {86400: 7, 3600: 24, 60: 60, 1: 60}


def _joined_spans(text: str, words: list[Word]) -> list[Word]:
    """The same words, with "two hours and forty-six minutes" as one duration."""
    out: list[Word] = []
    for word in words:
        size = _SECONDS.get((word.unit or "").removesuffix("s"))
        before = out[-1] if out else None
        one = _ONE_UNIT.search(text, max(0, word.start - 16), word.start) if word.kind == "fraction" else None
        if one and word.value is not None and not word.unit:
            if before and before.start >= one.start():
                out.pop()
            out.append(Word(one.start(), word.end, "word", exact(1 + Fraction(word.value)), one[1]))
            continue
        if size and before and before.noun_end and word.value is not None and before.value is not None:
            last = _SECONDS.get(text[max(0, before.noun_end - 7) : before.noun_end].split()[-1].removesuffix("s"), 0)
            between = text[before.noun_end : word.start]
            if last > size and word.value < _FEWER[size] and between in (" ", ", ", " and ", ", and "):
                whole = before.value if before.kind == "duration" else before.value * last
                end = word.noun_end or word.end
                out[-1] = Word(before.start, end, "duration", whole + word.value * size, "s", end)
                continue
        out.append(word)
    return out


def _word(text: str, found: re.Match[str]) -> Word | None:
    start, end = found.span()
    if found["one_in"]:
        few, many = _cardinal(found["few"]), _cardinal(found["many"])
        if few < many:
            return Word(start, end, "fraction", exact(Fraction(few) / Fraction(many)))
        return _counted(text, start, found.end("few"), few)
    if found["fraction"]:
        hyphened = re.fullmatch(HYPHEN, found["joint"]) is not None
        if hyphened and found["parts"].lower() in _TENS and found["part"].lower() in _ORDINALS:
            return _ordinal(text, start, end, found[0].lower())
        return _fraction(text, found) or _counted_or_none(text, found)
    if found["ordinal"]:
        return _ordinal(text, start, end, found[0].lower())
    if found["long_ordinal"] and re.search("hundred|thousand", found["before"].lower()):
        return Word(start, end, "ordinal", _cardinal(found["before"]) + _ordinal_value(found["last"].lower()))
    if found["long_ordinal"]:
        return _counted(text, start, found.end("before"), _cardinal(found["before"]))
    if found["cardinal"]:
        value = _cardinal(found["cardinal"])
        if found["of_one"]:
            more, size = _cardinal(found["more"]), _size(found["of_one"])
            if (found["of_one"].lower()[-1] == "s") == (more > 1):
                return _counted(
                    text, start, end, exact(Fraction(value) + Fraction(more) / size * _whole(found["cardinal"]))
                )
        return _counted(text, start, found.end("cardinal"), value)
    if found["zero"]:
        return _counted(text, start, end, Decimal(0))
    if found["half"]:
        return _half_of_one(text, start, end)
    said = re.sub(HYPHEN, "", found["times"].lower())
    if said in _ADJECTIVES and _OF_A_KIND.match(text, end):
        return None
    return Word(start, end, "multiplier", _TIMES[said], "×")


_HALF_OF = re.compile(rf"(?:{SPACE}of)?{SPACE}an?(?={SPACE}[a-z])", re.IGNORECASE)


def _half_of_one(text: str, start: int, end: int) -> Word:
    """Half, with the unit of which it is the half: half an hour."""
    value = Decimal("0.5")
    one = _HALF_OF.match(text, end)
    unit = UNIT.match(text, one.end()) if one else None
    if unit and unit["word"]:
        name = unit_name(unit)
        return Word(start, unit.end(), "percent" if name == "%" else "fraction", value, name, unit.end(), end)
    noun = counted_noun(text, one.end(), one=True) if one else None
    if noun and (noun[0] in _MEASURES or noun[0].endswith("second")):
        return Word(start, end, "fraction", value, *noun)
    return Word(start, end, "fraction", value)


def _whole(cardinal: str) -> int:
    """What "and a half" is the half of: a dozen, a million, or one."""
    last = cardinal.lower().split()[-1]
    return 12 if last.endswith("dozen") else _SCALES.get(last, 1)


def _fraction(text: str, found: re.Match[str]) -> Word | None:
    parts, part, joint = found["parts"].lower(), found["part"].lower(), found["joint"]
    article = parts in ("a", "an")
    count = Decimal(1) if article else _cardinal(parts)
    plural = part.endswith("s")
    if plural != (count > 1) or (part == "half" and text[found.end() : found.end() + 1] == "-"):
        return None
    if article and (joint == "-" or (part not in ("half", "quarter") and not _AFTER_PART.match(text, found.end()))):
        return None
    return Word(found.start(), found.end(), "fraction", exact(Fraction(count) / _size(part)))


def _size(part: str) -> int:
    """How many of this part make one: 3 for a third."""
    part = part.lower()
    return _PARTS["half" if part == "halves" else part.rstrip("s")]


def _counted_or_none(text: str, found: re.Match[str]) -> Word | None:
    """The number before what turned out to be no fraction: two in "two half rows"."""
    if found["parts"].lower() in ("a", "an"):
        return None
    return _counted(text, found.start(), found.end("parts"), _cardinal(found["parts"]))


def _ordinal(text: str, start: int, end: int, said: str) -> Word | None:
    if said == "first" or re.match(rf"{HYPHEN}\w", text[end : end + 2]) or text[start - 1 : start] == "-":
        return None  # "first" compares, see below
    if _opens_sentence(text, start, end):
        return None
    if said == "second" and not _is_second_of_several(text, start, end):
        return None
    return Word(start, end, "ordinal", Decimal(_ordinal_value(said)))


def _ordinal_value(said: str) -> int:
    tens, _, last = re.sub(HYPHEN, "-", said).rpartition("-")
    return _TENS.get(tens, 0) + (_ORDINALS.get(last) or _LATE_ORDINALS[last])


def _opens_sentence(text: str, start: int, end: int) -> bool:
    """Whether a word only numbers the sentence that it opens: "Second, it is slow"."""
    return text[end : end + 1] == "," and text[max(0, start - 20) : start].rstrip()[-1:] in ("", *".:;!?")


def _is_second_of_several(text: str, start: int, end: int) -> bool:
    """Whether "second" is an ordinal here, not a unit of time."""
    before = text[max(0, start - 40) : start].split()[-1:]
    after = _LOWER_WORD.match(text, end)
    if before in (["the"], ["The"], ["this"], ["every"], ["its"], ["their"], ["our"]):
        return True
    units = after is None or after[1] in (
        "later",
        "after",
        "before",
        "per",
        "and",
        "or",
        "to",
        "for",
        "in",
        "on",
        "at",
    )
    return before in (["a"], ["A"], ["each"]) and not units and counted_noun(text, end, one=True) is not None


def _counted(text: str, start: int, end: int, value: Value) -> Word | None:
    said = text[start:end].lower()
    joined = re.match(rf"{HYPHEN}([A-Za-z]+)", text[end : end + 20])
    if joined and said == "one" and (text[start - 1 : start] == "-" or joined[1].lower() in _JOINED_TO_ONE):
        return None
    if SIDED.match(text, start):
        return None
    unit_word = UNIT.match(text, end)
    if unit_word and unit_word["times"]:
        return Word(start, unit_word.end(), "multiplier", value, "×", unit_word.end(), end)
    if (
        unit_word
        and unit_word["word"]
        and (not unit_word["word"].startswith(("point", "pt")) or _changes(text, start, end))
    ):
        stop, unit = unit_word.end(), unit_name(unit_word)
        return Word(start, stop, "percent" if unit == "%" else "word", value, unit, stop, end)
    noun = counted_noun(text, end, one=value == 1)
    if said == "one" and not _one_counts(text, start, end, noun is not None):
        return None
    unit, noun_end = noun or (None, None)
    return Word(start, end, "word", value, unit, noun_end)


_CHANGE_BEHIND = re.compile(
    r"\spo?i?n?ts?\s(?:lower|higher|more|less|fewer|better|worse|above|below|behind|ahead|up|down|apart|clear)\b"
)
_CHANGE_AHEAD = re.compile(
    r"\b(?:by|fell|rose|falls|rises|drops|dropped|gains|gained|gain\sof|loses|lost|loss\sof|drop\sof|gap\sof|lead\sof)"
    r"\s(?:about\s|some\s|only\s)?\Z",
    re.IGNORECASE,
)


def _changes(text: str, start: int, end: int) -> bool:
    """Whether the points of this number are those of a percentage, not of a plane: twenty points lower."""
    return bool(_CHANGE_BEHIND.match(text, end) or _CHANGE_AHEAD.search(text, max(0, start - 16), start))


def _one_counts(text: str, start: int, end: int, noun: bool) -> bool:
    """Whether "one" counts here: "one block", "and one after", not "the one", "this one", "one can".

    "one of the rows" counts, "one of the fastest" does not.
    """
    if _FROM_ANOTHER.search(text, max(0, start - 24), start):
        return True
    if _PRONOUN_AFTER.match(text, end) or text[start - 1 : start] == "-":
        return False
    if noun and re.match(rf"{HYPHEN}(?:{'|'.join(_MEASURES)})\b", text[end : end + 9]):
        return True
    before = re.findall(r"[A-Za-z]+|[^\sA-Za-z]", text[max(0, start - 30) : start])
    last = before[-1].lower() if before else ""
    if last in _PRONOUN_BEFORE or [word.lower() for word in before[-2:]] in (["one", "by"], ["one", "to"]):
        return False
    if last in ("the", "a"):
        return noun and text[end : end + 1] != "-" and last == "the"
    if noun or _LISTED_AFTER.match(text, end) or re.match(r"\s+of\b", text[end : end + 6]):
        return True
    return not last.isalpha() or (last in _COUNTS_AFTER and before[-2:-1] not in (["the"], ["The"]))


def _cardinal(said: str) -> Decimal:
    """What a cardinal says, in words or digits."""
    if said[0].isdecimal():
        return Decimal(said)
    total = current = 0
    factor = Decimal(1)
    for word in re.findall(r"[a-z]+", said.lower()):
        if word == "half":
            factor = Decimal("0.5")
        elif word in ("a", "an"):
            current += 1
        elif word == "dozen":
            current = 12 * max(current, 1)
        elif word == "hundred":
            current = 100 * max(current, 1)
        elif word in _SCALES:
            total, current = total + current * _SCALES[word], 0
        else:
            current += _SMALL.get(word, 0)
    return Decimal(int(factor * (total + current)))


def exact(value: Fraction) -> Value:
    """The same value as a Decimal where it has one of few digits."""
    if value.denominator == 1:
        return Decimal(value.numerator)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    return decimal if Fraction(decimal) == value else value


# Comparing words

COMPARING: dict[str, frozenset[str]] = {
    "quantifier": frozenset(
        "all none only every both neither always never most majority dozens hundreds thousands millions".split()
    ),
    "order": frozenset("first best worst".split()),
    "superlative": frozenset(
        """fastest slowest lowest highest largest smallest biggest greatest shortest longest
            cheapest fewest least strongest weakest quickest""".split()
    ),
    "comparative": frozenset(
        """faster slower lower higher more less fewer larger smaller bigger greater better worse
            shorter longer cheaper stronger weaker quicker""".split()
    ),
    "equality": frozenset("equal equals equally equalled same identical identically unchanged".split()),
    "position": frozenset("above below beyond over under within".split()),
    "passing": frozenset("exceed exceeds exceeded exceeding outperform outperforms outperformed beat beats".split()),
}
"""The lexicon. "no", "each", "last", "some" and verbs of change (rose, fell) are not in it: they are too
common to say that things were compared. "half", "twice", "doubled" are number words."""

_GROUP = {word: group for group, words in COMPARING.items() for word in words}
_WORD = re.compile(r"[A-Za-z]+")
_QUANTITY = re.compile(
    r"\s+(?:about |some |roughly )?(?:[~≈$€£+−-]{0,2}[.\d½¼¾]"
    r"|(?:a hundred|a dozen|a thousand|half|twice|zero|every|all|its|their|his|our|this|that|the|any)\b"
    rf"|(?:{'|'.join(sorted(_NUMBERED, key=len, reverse=True))})\b)",
    re.IGNORECASE,
)
_BAR = re.compile(
    r"\s+(?:its|their|the|this|that|every|all)\s+(?:\w+\s+){0,2}?"
    r"(?:bar|band|threshold|limit|budget|target|noise)\b"
)
_ACROSS = frozenset(
    "average averaged mean median sum summed spread taken total totalled pooled repeated counted".split()
)
_AT = re.compile(r"(?:[^\w\ufffc]|^)?at\s", re.IGNORECASE)
_IDIOMS_BEFORE = {
    "all": frozenset("at after above".split()),
    "first": frozenset(("at",)),
    "longer": frozenset(("no",)),
    "more": frozenset(("once",)),
}


def comparing_words(text: str) -> Iterator[Word]:
    """The comparing words of `text` in order; `text` has code, names and structure blanked out.

    over, under and within compare where a quantity or a bar follows; above and below also before "its",
    "the" and the like, not as directions ("the table above"). A word joined to another by a hyphen is
    part of a name.
    """
    before = ""
    for found in _WORD.finditer(text):
        said = found[0].lower()
        group = _GROUP.get(said)
        if group and _compares(text, found, said, group, before):
            start = found.start()
            if said in ("least", "most") and _AT.fullmatch(text, max(0, start - 4), start):
                start -= 3
            yield Word(start, found.end(), group)
        before = said


def _compares(text: str, found: re.Match[str], said: str, group: str, before: str) -> bool:
    start, end = found.span()
    around = (text[start - 1 : start] if start else "") + text[end : end + 1]
    if any(mark in "-‐‑_\ufffd" or mark.isalnum() for mark in around):
        return False
    if before in _IDIOMS_BEFORE.get(said, ()):
        return False
    if said == "first" and (_opens_sentence(text, start, end) or text[end : end + 7] == " of all"):
        return False
    if said == "lower" and re.match(r"\s+(?:ends?|bounds?|limits?)\b", text[end : end + 9]):
        return False  # of an interval
    if said == "all" and text[max(0, start - 9) : start].lower() == "first of ":
        return False
    if group != "position":
        return True
    if said in ("above", "below"):
        return _QUANTITY.match(text, end) is not None
    if said == "over" and before in _ACROSS:
        return False
    if _BAR.match(text, end):
        return True
    follows = _QUANTITY.match(text, end)
    last = follows[0].split()[-1].lower() if follows else "the"
    return not last.isalpha() or last in _NUMBERED
