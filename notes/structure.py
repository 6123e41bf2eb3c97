"""Digits that are no quantities: dates, times of day, versions, hashes, references, paths and addresses.

What is taken for structure is not checked, so a doubtful form is left out: "torch 13.8" may be a time.
"""

import re
from collections.abc import Iterator

from campaign.notes.units import UNIT, counted_noun

_MONTH = (
    r"(?:Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust|\.)?"
    r"|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)(?![A-Za-z])"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DAYS = rf"{_DAY}(?:\s?(?:[-–/&]|to\b|and\b|or\b)\s?{_DAY}){{0,4}}"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|CES?T|[+−-]\d\d:?\d\d)(?!\w))"
_CLOCK = r"(?:[01]\d|2[0-4]):[0-5]\d(?::[0-5]\d)?"
_NUMBER = r"\d+(?:\.\d+)*[a-z]?(?!\w)"
# "Parts 4 and 5" are two references, but in "Parts 4 and 12 rows" the rows are counted.
_COUNTED = r"\s(?!(?:is|was|has|as|its|this|does)\b)[a-z]+s\b"
_MORE = (
    r"(?:(?:\s?[-–&]\s?|,?\s(?:to|and|or)\s|,\s)\#?\d+(?:\.\d+)*"
    rf"(?![\w%]|\s?[-–]?\d|\s(?:ms|µs|us|s|W|GB)\b|{_COUNTED}))*"
)
_EXTENSION = (
    "c|cc|cfg|cpp|css|csv|cu|cuh|gif|go|gz|h|hpp|html|ini|ipynb|j2|jpg|js|json|jsonl|lock|log|md|parquet|patch"
    "|pdf|png|py|rs|rst|sh|svg|tar|toml|tsv|txt|whl|xml|yaml|yml|zip"
)

_ADDRESS = re.compile(
    r"""\b(?:https?|ftp|ssh|git|file)://[^\s<>"`]* | \bwww\.[^\s<>"`]*
      | \b(?:[\w-]{1,40}\.){1,4}(?:com|org|io|dev|net|ai|edu)/[^\s<>"`]*""",
    re.VERBOSE,
)
_FILE_END = re.compile(rf"\.(?:{_EXTENSION})(?!\w)(?:\:\d+(?:[-:]\d+)?)?")
_FILE_START = re.compile(r"[\w./+@~-]{1,200}\Z")

# A letter-led pattern is tried only where a number follows the word: this keeps prose fast.
_STRUCTURE = re.compile(
    rf"""
    (?<![\w&])(?=[A-Za-z.+/§№]{{0,20}}[\s:-]?\#?\d | [0-9a-f]{{7}} | [Pp]ull\srequest | [Cc]ompute\scap ) (?:
    (?P<hash>
      (?:
        [0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}
      | (?:sha-?\d+|md5)[:=-][0-9a-f]{{6,}}
      | (?=[0-9a-f]*[a-f])(?=[a-f]*\d)(?!\d+e\d\d?\b)[0-9a-f]{{7,64}}
      | (?:sha|SHA)-?(?:1|256|512)
      | (?<=commit\s)[0-9a-f]{{6,64}} | (?<=blob\s)[0-9a-f]{{6,64}} )(?!\w) )
  | (?P<date> (?<![\w.])(?:
        \d{{4}}-\d\d-\d\d(?:[T\s]{_CLOCK}(?:[.,]\d+)?{_ZONE}?)? | \d{{8}}T\d{{4,6}}Z? | \d{{4}}-W\d\d(?:-\d)?
      | \d{{4}}/\d{{1,2}}/\d{{1,2}} | \d{{1,2}}/\d{{1,2}}/(?:\d{{4}}|\d\d)
      | \d{{1,2}}\.\d{{1,2}}\.(?:19|20)\d\d
      | (?:19|20)\d\d-(?:0[1-9]|1[0-2])(?!-)
      | {_DAYS}\s(?:of\s)?{_MONTH}(?:,?\s(?:19|20)\d\d(?!\d))?
      | {_MONTH}\s(?:19|20)\d\d(?!\d)
      | {_MONTH}\s{_DAYS}(?!\d|[.,:]\d|\s?%)(?:,?\s(?:19|20)\d\d(?!\d))?
      | Q[1-4]\s(?:19|20)\d\d )(?!\w) )
  | (?P<time> (?<![\w:.])(?:
        {_CLOCK}(?:\.\d+(?={_ZONE}))?(?![\d:]|\.\d){_ZONE}?(?:\s?[ap]\.?m\b\.?)?
      | \d{{1,2}}(?::[0-5]\d)?\s?(?:[ap]m\b|[ap]\.m\.) | \d:[0-5]\d{_ZONE} ) )
  | (?P<version> (?<![\w.,])(?:
        v\d+(?:\.\d+)*(?:[-+.]?(?:rc|dev|post|alpha|beta|a|b|cu)\.?\d+)*
      | \d+(?:\.\d+){{2,}}(?:(?:rc|dev|post|a|b)\d+)?(?:[-+][A-Za-z][\w.]*\w)? )(?![\w]|\.\d) )
  | (?:Python|CUDA|GCC|gcc|[Cc]lang|LLVM|Ubuntu|Debian|Linux|Node(?:\.js)?|cuDNN|CMake|Docker|ROCm|CommonMark
      |HTTP|TLS|[Vv]ersions?|[Cc]ompute\scapability)[\s/]
    (?P<named_version> \d+(?:\.\d+)+(?:[-+]?(?:rc|dev|post|a|b|cu)\d+)*(?![\w]|\s?%) )
  | (?:Python|CUDA|Ubuntu|Debian|Windows|[Vv]ersion|C\+\+)\s?(?P<whole_version> \d+(?![\w%]|[.,]\d) )
  | (?P<reference>
        (?:[Pp]arts|[Ff]igures|Figs\.?|[Tt]ables|[Ss]ections|Secs\.|[Cc]hapters|[Aa]ppendices|[Ee]quations|Eqs\.
          |Listings|[Ff]ootnotes|[Ii]ssues|PRs|[Pp]ull\srequests|[Pp]ages|pp\.|[Cc]orrections|Nos\.|§§)
          [\s-]?\#?{_NUMBER}{_MORE}
      | (?:[Pp]art|[Ff]igure|Fig\.?|[Tt]able|[Ss]ection|Sec\.|[Cc]hapter|[Aa]ppendix|[Ee]quation|Eq\.|Listing
          |Algorithm|[Ff]ootnote|Issue|PR|MR|[Pp]ull\srequest|RFC|ISO(?:/IEC)?|IEEE|PEP|[Pp]age|p\.
          |[Cc]orrection|№|§)
          [\s-]?\#?{_NUMBER}
      | CVE-\d{{4}}-\d+ | \#\d+(?!\w) )
    )""",
    re.VERBOSE,
)
_HEADING_NUMBER = re.compile(r"\s*(?:(\d+(?:\.\d+)*)[.):](?=\s)|([1-9]\d?(?:\.\d\d?)+)(?=\s[A-Z]))")
_KINDS = {"named_version": "version", "whole_version": "version"}
_DIGIT = re.compile(r"\d")
_CLOSING = ".,;:!?'’”"


def structures(text: str, heading: bool = False) -> Iterator[tuple[str, int, int]]:
    """The kind, the start and the end of each stretch of `text` whose digits are no quantity."""
    start = 0
    if heading and (number := _HEADING_NUMBER.match(text)):
        group = 1 if number[1] else 2
        start = number.end(group)
        yield "heading", number.start(group), start
    taken = list(_places(text, start))
    yield from taken
    for found in _STRUCTURE.finditer(text, start):
        kind = found.lastgroup or ""
        begin, end = found.span(kind)
        if not any(begin < other_end and other < end for _, other, other_end in taken):
            kind = _KINDS.get(kind, kind)
            if not _is_quantity(text, kind, end):
                yield kind, begin, end


def _is_quantity(text: str, kind: str, end: int) -> bool:
    """Whether a unit follows what looked like a reference or a version: "Python 3.12 ms"."""
    if kind not in ("date", "reference", "version"):
        return False
    unit = UNIT.match(text, end)
    measured = unit is not None and bool(unit["symbol"] or unit["sign"] or unit["times"])
    return measured or (kind == "version" and counted_noun(text, end, one=False) is not None)


def _places(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Addresses, and paths of files with a known extension, where they hold a digit."""
    last = start
    if "/" in text or "www." in text:
        for found in _ADDRESS.finditer(text, start):
            last = _address_end(text, *found.span())
            if _DIGIT.search(text, found.start(), last):
                yield "url", found.start(), last
    last = start
    for found in _FILE_END.finditer(text, start):
        head = _FILE_START.search(text, max(last, found.start() - 200), found.start())
        if head and "://" not in text[max(0, head.start() - 3) : found.start()]:
            last = found.end()
            if _DIGIT.search(text, head.start(), last):
                yield "path", head.start(), last


def _address_end(text: str, start: int, end: int) -> int:
    """Where a bare address ends: not with a sentence's mark nor with a bracket that was open before it."""
    while end > start:
        last = text[end - 1]
        if (
            last in ")]" and text.count("(["[last == "]"], start, end) < text.count(last, start, end)
        ) or last in _CLOSING:
            end -= 1
        else:
            break
    return end
