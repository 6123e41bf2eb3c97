"""What may follow a number: a unit's symbol, a scale such as million, or the noun that is counted."""

import re

SPACE = "[ \u00a0\u2007\u2009\u202f]"
HYPHEN = "[-\u2010\u2011]"

_TIME = "[npfµμu]s|ms|s|[mnu]?secs?|mins?|h|hrs?"
_DATA = "[kKMGTP]?(?:bit|bps|bit/s)|[kKMGTPE]i?B|[kmgKMGT]b|[MGT]T/s|B(?=/)"
_POWER = "[mkMGT]?W(?:h|[·⋅]h)?|[mµμkMG]?J|[mk]?V|k?VA|mA|m?Ah|[kMGT]?[Hh]z|kg[·⋅]m|k?N[·⋅]m"
_RATE = (
    "[kMGTPE]?(?:FLOP[Ss]?|[Ff]lops?)|[GTP]?OPS|[kMG]?ops?(?=/)|toks?(?=/)|tok|reqs?(?=/)|it(?=/)|t/s"
    "|[fF]ps|FPS|QPS|RPS|TPS|IOPS|rpm"
)
_SMALL = (
    "[mcknµμ]m|[mkµμn]g|m?L|m(?=[/²³]|\\^[23](?!\\d))|g(?=/)|dB[Am]?|°C|°F|[kM]?Ω|[kMG]?Pa|mol|px|pp|ppm|ppb|bpw|bps?|pct"
    "|USD|EUR|GBP|CHF|JPY|CNY"
)
_PER = "(?:/[A-Za-zµμ]+(?:-[A-Za-z]+)*(?:[²³]|\\^[23](?!\\d))?)"
_INVERSE = r"(?:⁻[¹²³]|\^-[123](?!\d)|\^\{-[123]\})"
_PER_RAISED = rf"(?:{SPACE}?[·⋅]?{SPACE}?(?:s|min|h|d|W|kg|g|m|cm|mm|K|token|step){_INVERSE})"
"""Per something as a negative power: MB s⁻¹."""
_RATES = "s|sec|second|min|minute|h|hr|hour|day|week|month|year"
_QUALIFIED = f"/(?:verify|decode|draft|output|input|prompt|engine){SPACE}(?:step|token|pass|call|run)s?"
_WORDS = f"(?:percentage|basis|percent)(?:-|{SPACE})points?|percent|per{SPACE}cent|points?|pts?"
_AS_MUCH = (
    r"as|the|more|less|fewer|that|its|their|what|worse|(?!(?:n?ev|p|ov|aft|und|togeth|eith|wheth|rath|oth)er\b)\w+er"
)
"""What follows a multiplier: three times as, 2 x faster."""

UNIT = re.compile(
    rf"""(?: {SPACE}? (?P<worded> %(?:-|{SPACE})(?:points?|pts?)\b | %pts?\b | p\.p\.(?!\w) )
          | {SPACE}? (?P<sign> [%％‰°](?![CF]) | [€£¥₹¢]{_PER}? )
          | {SPACE}? (?P<symbol> (?:{_TIME}|{_DATA}|{_POWER}|{_RATE}|{_SMALL})
              (?:{_QUALIFIED}|{_INVERSE}|(?:[²³]|\^[23](?!\d))?{_PER}{{0,3}}){_PER_RAISED}? ) (?![\w^])
          | (?P<rate> /(?:{_RATES}) ) (?![\w/-])
          | {SPACE}? (?P<lone> [σ′″Å] ) (?!\w)
          | {SPACE} (?P<spaced> [gmB] ) (?![\w^'’=(/-]|\.\w)
          | {SPACE} (?P<ampere> A ) (?=[,;)]|\.?(?:\s*\Z)|{SPACE}(?:and|or|to|at)\b)
          | (?P<joined> {HYPHEN}?percent ) (?![\w-])
          | (?P<glued> [dmgbAt] {_PER}? ) (?![\w^])
          | {SPACE} (?P<word> {_WORDS} ) (?!\w)
          | (?P<times> {SPACE}?(?:×|\\times(?![A-Za-z]))(?!{SPACE}?[$€]?\.?\d)(?![\w\ufffc]) | [xX](?![\w\ufffc])
              | {SPACE}[xX](?={SPACE}(?:the|as|\w+er)\b)
              | (?:{SPACE}|{HYPHEN})times(?={SPACE}(?:{_AS_MUCH})\b)
              | (?:{HYPHEN}|{SPACE})?fold(?!\w) ) )""",
    re.VERBOSE,
)
"""A unit at the end of the digits; for `times` the unit is ×."""

SCALE = re.compile(
    rf"(?P<letter>[kKMBGT]|[bm]n)(?!\w)"
    rf"|{SPACE}(?P<apart>[kKM](?={SPACE}[a-z])|[bm]n(?!\w)"
    rf"|B(?={SPACE}(?:(?:active|total|trainable){SPACE})?(?:param(?:eter)?s?|tokens|weights)\b))"
    rf"|(?:{SPACE}|{HYPHEN})(?P<word>hundred|thousand|million|billion|trillion|lakh|crore)\b"
)
"""What multiplies the digits before it; of a letter that stands `apart`, what is counted has to follow."""

POWERS_OF_TEN = {"hundred": 2, "thousand": 3, "lakh": 5, "million": 6, "crore": 7, "billion": 9, "trillion": 12}
POWERS_OF_TEN |= {"k": 3, "K": 3, "M": 6, "mn": 6, "m": 6, "B": 9, "bn": 9, "G": 9, "T": 12}

MONEY_SCALE = re.compile(rf"(?P<letter>[kKMBT]|[bm]n|m)(?!\w)|{SPACE}(?P<apart>[kMB]|[bm]n)(?!\w)")
"""What multiplies an amount of money besides: `$5m` is no length."""

PER = re.compile(_PER)
"""What an amount of money is paid for: `/hour`."""

_NAMES = ("sign", "symbol", "rate", "lone", "spaced", "ampere", "joined", "glued", "worded", "word")
_HYPHENS = HYPHEN[1:-1]
_SAME = {"％": "%", "percent": "%", "per cent": "%", "pct": "%", "point": "pp", "bp": "bps"}


def unit_name(found: re.Match[str]) -> str:
    """The unit that `UNIT` found, in its usual spelling."""
    if found["times"]:
        return "×"
    said = next(filter(None, found.group(*_NAMES)))
    said = re.sub(f"{SPACE}|-(?=point)", " ", said).replace("μ", "µ").lstrip(_HYPHENS)
    if said.endswith(("point", "points", "pt", "pts", "p.p.")):
        return "bps" if said.startswith("basis") else "pp"
    return _SAME.get(said, said)


# Counted nouns

_NOT_NOUNS = frozenset(
    """
    a about above across after again against all almost along already also although always am among an and
    another any are around as at away back be became because become becomes been before began behind being below
    beneath beside besides between beyond both but by came can cannot come comes could did do does doing done
    down due during each either else enough even ever every except far fell few for from further gave get gets
    give given gives go goes gone got had has have having he hence her here hers him his how however i if in
    indeed inside instead into is it its itself just kept least left less like made make makes many may me mean
    means meant might mine more most much must my near needs neither never nevertheless next no nobody none nor
    not nothing now of off often on once one ones only onto or other others otherwise our ours out outside over
    own per perhaps plus quite rather really said same say says see seen shall she should shows showed since so
    some something sometimes soon stands still such take taken takes than that the their theirs them then there
    therefore these they thing this those though through throughout thus till to together too toward towards
    twice under unless unlike until up upon us use used uses using very via was we well went were what whatever
    when where whereas wherever whether which while who whoever whole whom whose why will with within without
    would x yes yet you your yours adds achieves allows answers appears applies asks becomes belongs brings builds
    carries causes changes comes confirms contains counts covers decides differs does drops enables ends ensures
    equals exceeds exists explains fails falls finds fits follows goes grows happens helps holds implies
    improves includes increases keeps lacks leads leaves lets lies looks loses matches matters meets moves
    passes prints produces proves provides puts reaches reads reduces remains reports requires reveals rises
    sees seems sets shrinks sits stays suffices suggests supports tells turns wants wins works writes yields
    faster slower lower higher fewer larger smaller bigger greater better worse shorter longer cheaper earlier
    later first second third last total versus vs zero two three four five six seven eight nine ten eleven
    twelve half
    """.split()
)
_PLURALS = frozenset("people men women children data criteria series feet".split())
_NOT_PLURALS = frozenset("basis analysis axis bias process access loss pass less across class miss plus thus".split())
_QUALIFIERS = frozenset(
    """
    baseline benchmark bonus candidate decode draft engine expert graded input kernel output prompt
    sampled served single target test token verify warm warmup
    """.split()
)
_SINGULARS = frozenset("bit byte degree percent second minute hour day week month year".split())
_NOT_SINGULAR = re.compile(r"(?:ed|ly|est|ing)$")

_NOUN = re.compile(rf"{SPACE}([A-Za-z]+(?:-[A-Za-z]+)*)(/[A-Za-z]+)?(?![\w'’@=(])")
GLUED_NOUN = re.compile(
    r"((?:byte|bit|char|token|core|thread|row|step|layer|node|day|hour|minute|second|week|month|year)s?)(?![\w-])"
)
"""A counted noun that stands at the end of the digits: 16bytes."""
_HYPHENED = re.compile(rf"{HYPHEN}([A-Za-z]+)(?!\w)")
_JOINING = frozenset("in to by and or of on off up out down the a an is per at as plus minus".split())


def counted_noun(text: str, end: int, one: bool) -> tuple[str, int] | None:
    """The noun directly after the number that ends at `end`, and where the noun ends.

    A plural with at most one word before it ("verify steps"); after the number one, a single word as well.
    """
    if hyphened := _HYPHENED.match(text, end):
        joins = hyphened[1].lower() in _JOINING
        return None if joins else (hyphened[1], hyphened.end())
    if glued := GLUED_NOUN.match(text, end):
        return glued[1], glued.end()
    found = _NOUN.match(text, end)
    if not found or (found[1].lower() in _NOT_NOUNS and found[1] != "second"):
        return None
    then = _NOUN.match(text, found.end())
    if found[1] == "data" and then and _plural(then[1]) and then[1].lower() not in _NOT_NOUNS:
        return f"data {then[0][1:]}", then.end()
    if _plural(found[1]) or found[1].lower() in _SINGULARS:
        return found[0][1:], found.end()
    if then and then[1].lower() in _NOT_NOUNS:
        then = None
    if then and _plural(then[1]) and (not one or found[1].lower() in _QUALIFIERS):
        return f"{found[1]} {then[0][1:]}", then.end()
    if not one or _NOT_SINGULAR.search(found[1].lower()):
        return None
    if then and found[1].lower() in _QUALIFIERS:
        return f"{found[1]} {then[0][1:]}", then.end()
    return found[1], found.end()


def _plural(word: str) -> bool:
    lower = word.lower()
    ending = word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 2
    return (ending and lower not in _NOT_PLURALS) or lower in _PLURALS
