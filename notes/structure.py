"""Digits that are no quantities: dates, times of day, versions, hashes, references, paths and addresses.

What is taken for structure is not checked, so a doubtful form is left out: "torch 13.8" may be a time.
"""

import re
from collections.abc import Iterable, Iterator

from campaign.notes.units import UNIT, counted_noun

_MONTH = (
    r"(?:Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust|\.)?"
    r"|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)(?![A-Za-z])"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DAY_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])"
_DAYS = rf"{_DAY}(?:\s?(?:[-–/&]|to\b|and\b|or\b)\s?{_DAY}){{0,4}}"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|CES?T|[+−-]\d\d:?\d\d)(?!\w))"
_CLOCK = r"(?:[01]\d|2[0-4]):[0-5]\d(?::[0-5]\d)?"
_YEAR = r"(?:19[89]|20[0-3])\d"
_MEASURED = r"\s(?:ms|µs|us|s|W|GB|MB|[a-z]+s)\b"
_NUMBER = r"\d+(?:\.\d+)*[a-z]?(?!\w)"
# "Parts 4 and 5" are two references, but in "Parts 4 and 12 rows" the rows are counted.
_COUNTED = r"\s(?!(?:is|was|has|as|its|this|does)\b)[a-z]+s\b"
_MORE = (
    r"(?:(?:\s?[-–&]\s?|,?\s(?:to|and|or)\s|,\s)\#?\d+(?:\.\d+)*"
    rf"(?![\w%]|\s?[-–]?\d|\s(?:ms|µs|us|s|W|GB)\b|{_COUNTED}))*"
)
_EXTENSION = (
    "c|cc|cfg|cpp|css|csv|cu|cuh|gif|go|gz|h|hpp|html|ini|ipynb|j2|jpg|js|json|jsonl|lock|log|md|parquet|patch"
    "|pdf|png|py|rs|rst|sh|svg|tar|toml|tsv|txt|whl|xml|yaml|yml|zip|bin|exe|java|jsx|jpeg|kt|mp4|onnx|parquet|pt"
    "|rb|safetensors|swift|ts|tsx|webp|webm|zst"
)
_SOFTWARE = (
    r"Python|PyPy|CPython|CUDA|GCC|gcc|[Cc]lang|LLVM|MSVC|Ubuntu|Debian|Fedora|RHEL|CentOS|Alpine|FreeBSD|Linux|[mM]acOS|OS\sX"
    r"|iOS|iPadOS|Android|Windows|Node(?:\.js)?|Deno|Java|JDK|OpenJDK|JVM|Kotlin|Scala|Swift|Ruby|PHP|Perl|Lua|Go|Rust"
    r"|Julia|Cython|glibc|NSS|Mono|TypeScript|ECMAScript|cuDNN|CUTLASS|cuBLAS|NCCL|NVCC|nvcc|CMake|Bazel|Docker|Kubernetes|Helm|ROCm|PyTorch|TensorFlow"
    r"|NumPy|Xcode|Safari|Chrome|Firefox|PostgreSQL|Postgres|MySQL|MariaDB|SQLite|Redis|OpenSSL|OpenGL|OpenCL|OpenMP"
    r"|Vulkan|Unicode|CommonMark|HTTP|TLS|PCIe|PCI-e|USB|Bluetooth|SemVer|License|LICENSE|licen[cs]e|Apache|L?GPL|AGPL"
    r"|MPL|BY|SA|CC0|SM|Toolkit|[Rr]untime|[Dd]river|[Vv]ersions?:?|[Cc]apability|C\+\+"
)
# After a comparison even a lower-case name says that a version follows: "torch>=2.1".
_PACKAGES = (
    "python|torch|numpy|scipy|pandas|pyarrow|polars|transformers|tensorflow|jax|triton|vllm|cuda|gcc|cmake|node|npm|pip"
    "|setuptools|rust|go|pydantic|pytest|ruff|uv"
)
_NO_AUTHOR = (
    "(?:Total|Rows?|Sum|Max|Min|Mean|Median|About|Over|Under|Only|Nearly|Of|All|From|Up|Count|Limit|Size|Batch|Steps?|Tokens?"
    r"|Runs?|Seed|Port|Page|Tasks?|Draws?|Requests?|Version|Group|With|At|After|Before|By|Figure|Table|To)\b"
)
# What stands before [3, 4] where it is no interval.
_CITING = (
    r"(?:(?<=\bwork\s)|(?<=\bworks\s)|(?<=\bpapers\s)|(?<=\bpaper\s)|(?<=\bstudies\s)|(?<=\bstudy\s)|(?<=\bliterature\s)"
    r"|(?<=\bet\sal\.\s)|(?<=\bet\sal\s)|(?<=\bsee\s)|(?<=\bSee\s)|(?<=\bcf\.\s)|(?<=\bauthors\s)|(?<=\bproposed\s)"
    r"|(?<=\bsurveys\s)|(?<=\barticles\s)|(?<=\bpublications\s)|(?<=\belsewhere\s)|(?<=\bmethods\s)|(?<=\bapproaches\s))"
)
_UNITS = r"(?:ms|µs|us|s|W|GB|MB|min|h)\b"
_COMPARED = r"\s?(?:[<>=~!]=|[≥≤])\s?"

_ADDRESS = re.compile(
    r"""\b[A-Za-z][A-Za-z0-9+-]{1,11}://[^\s<>"`]* | \bwww\.[^\s<>"`]*
      | \b(?:[\w-]{1,40}\.){1,4}(?:com|org|io|dev|net|ai|edu)/[^\s<>"`]*""",
    re.VERBOSE,
)
_FILE_END = re.compile(rf"\.(?:{_EXTENSION})(?!\w)(?:\:\d+(?:[-:]\d+)?)?")
_FILE_START = re.compile(r"[\w./+@~-]{1,200}\Z")

# A letter-led pattern is tried only where a number follows the word: this keeps prose fast.
_STRUCTURE = re.compile(
    rf"""
    (?<![\w&])(?=[A-Za-z.+/§№]{{0,20}}(?::?\s|[:/-]|{_COMPARED})?[\#(\['’]?\d | [0-9a-f]{{7}}
      | (?=[(©CEPSVefpsv])(?: \([A-Zc] | © | Copyright | [Pp]ull\srequest | [Vv]ersion\s | [Ss]tatus\scode | [Ee]xit\s
          | from\s ) | [A-Z][a-z]{{2,8}},\s(?:19|20)\d ) (?:
    (?P<hash>
      (?:
        [0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}
      | (?:sha-?\d+|md5)[:=-][0-9a-f]{{6,}}
      | (?=[0-9a-f]*[a-f])(?=[a-f]*\d)(?!\d+e(?:\d\d?\b|[-+−]\d))[0-9a-f]{{7,64}}
      | (?:sha|SHA)-?(?:1|256|512)
      | (?<=commit\s)[0-9a-f]{{6,64}} | (?<=blob\s)[0-9a-f]{{6,64}}
      | (?:(?<=\bsha\s)|(?<=\bSHA\s)|(?<=revision\s))[0-9a-f]{{7,64}} )(?!\w) )
  | (?P<date> (?<![\w.])(?=[\d©(A-Z'’w])(?:
        \d{{4}}-\d\d-\d\d(?:[T\s]{_CLOCK}(?:[.,]\d+)?{_ZONE}?)? | \d{{8}}T\d{{4,6}}Z? | \d{{4}}-W\d\d(?:-\d)?
      | (?:©|\([cC]\)|Copyright)\s(?:(?:©|\([cC]\))\s)?{_YEAR}(?:(?:\s?[-–]\s?|,\s?){_YEAR})*
      | (?<=[Dd]ate\s)20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])
      | (?:0[1-9]|(?:(?<=\bin\s)|(?<=since\s)|(?<=until\s)|(?<=from\s))(?:[1-9]|1[0-2]))/20[0-3]\d
        (?!/|\sof\b|{_COUNTED}|{_MEASURED})
      | {_YEAR}/0[1-9](?!/) | (?<=\[){_YEAR}/(?:1[0-2])(?=\])
      | {_YEAR}[–-]{_YEAR}(?![.,]\d|\s?%|{_MEASURED})
      | \d{{4}}/\d{{1,2}}/\d{{1,2}} | (?<!/){_DAY_NUMBER}/{_DAY_NUMBER}/(?:\d{{4}}|\d\d)(?!/)
      | \d{{1,2}}(?P<mark_of_date>[.-])\d{{1,2}}(?P=mark_of_date)(?:19|20)\d\d
      | (?:19|20)\d\d-(?:0[1-9]|1[0-2])(?!-)
      | {_DAYS}\s(?:of\s)?{_MONTH}(?:,?\s(?:19|20)\d\d(?![\d]|-\d))?
      | {_MONTH},?\s(?:19|20)\d\d(?!\d) | [Ww]eek\s\d{{1,2}}(?!{_MEASURED}|[.,]\d)
      | {_MONTH}\s{_DAYS}(?!\d|[.,:]\d|\s?%)(?:,?\s(?:19|20)\d\d(?!\d|-\d))?
      | (?:Q[1-4]|H[12])\s(?:19|20)\d\d | (?<!\w)['’]\d0s )(?!\w) )
  | (?:(?<=[a-z.]\s)|(?<=[A-Za-z]\d\s))\((?P<year> (?!2000){_YEAR} )(?=\))
  | (?:(?:[Tt]he|[Ee]arly|[Ll]ate|[Mm]id)[\s-](?=(?:19|20)\d0s)
      | (?:(?<=\bin\s)|(?<=since\s)|(?<=during\s)|(?<=of\s)|(?<=from\s))the\s
        (?=[5-9]0s(?:[.,;:)]|\Z|\s(?:it|we|they|he|she|and|the|when|with|by|a|an|this|that|most|all)\b)) )
    (?P<decade> (?:(?:19|20)\d|[5-9])0s )(?!\w)
  | from\s(?P<years> {_YEAR}\s(?:to|until)\s{_YEAR} )(?!\w|[.,]\d|{_MEASURED})
  | (?:\(|(?<=;\s))(?!{_MONTH})[A-Z]\w+(?:\s(?:and|&)\s[A-Z]\w+|\set\sal\.?)?,\s(?P<cited> {_YEAR} )(?=[a-z]?[);])
  | (?:\(|(?<=;\s))(?!{_MONTH}|{_NO_AUTHOR})[A-Z][a-z]+(?:\s(?:and|&)\s[A-Z]\w+|\set\sal\.?)?\s
    (?P<cited_year> (?!2000){_YEAR} )(?=[a-z]?[);])
  | (?P<zone> (?:UTC|GMT)[+−-](?:1[0-4]|0?\d)(?::?[0-5]\d)?(?!\w) )
  | (?P<time> (?=\d)(?<![\w:.])(?!\d\d?:\d\d\s?(?:min|mins|minutes?)\b)
      (?:(?<=\bat\s)|(?<=\bby\s)|(?<=until\s)|(?!\d\d?:\d\d\s?(?:h|hrs?|hours?)\b))(?:
        {_CLOCK}(?:\.\d+(?={_ZONE}))?(?![\d:]|\.\d){_ZONE}?(?:\s?[ap]\.?m\b\.?)?
      | \d{{1,2}}(?::[0-5]\d)?\s?(?:[ap]m\b|[ap]\.m\.|AM\b|PM\b) | \d:[0-5]\d{_ZONE}
      | (?<=\bat\s)\d:[0-5]\d(?![\d:.]) | 24/7(?![\d/]) ) )
  | (?P<version> (?=[v\d])(?<![\w.,])(?:
        v\d+(?:\.\d+)*(?!-\d+(?:\.\d+)?[BbMm](?!\w))(?:[-+.]?(?:rc|dev|post|alpha|beta|a|b|cu)\.?\d+)*
      | \d+(?:\.\d+){{2,}}(?:\.?(?:rc|dev|post|a|b)\d+|[a-z])?(?:[-+][A-Za-z][\w.]*\w)?
        (?:(?<=\d):\d{{2,5}})?(?:/\d{{1,2}}(?!\d))?
      | \d+(?:\.\d+)*\.[x*](?:\.[x*])? )(?![\w]|\.\d) )
  | (?=[A-Za-z])(?:
    (?:(?:{_SOFTWARE})(?:[\s/]|{_COMPARED})|[Vv]ersion\s(?:is\snow|is|to|now)\s|(?<![%\d]\s)[Rr]elease\s|(?:{_PACKAGES}){_COMPARED}
      |[A-Za-z]\w{{2,}}==)
    (?P<named_version> (?:\d+(?:\.\d+){{2,}}[a-z] | \d+(?:\.\d+)+(?:[-+]?(?:rc|dev|post|a|b|cu)\d+)*)(?![\w]|\s?%) )
  | (?:Rust|[Ee]dition|Studio|VS|Windows|Server|Office|C\+\+)\s
    (?P<edition> {_YEAR}(?:(?:,\s|,?\s(?:and|or)\s|\s?/\s?){_YEAR})* )(?!\w|[.,]\d)
  | (?:(?:Python|CUDA|Ubuntu|Debian|Fedora|RHEL|CentOS|Windows|Server|Studio|macOS|iOS|Android|GCC|[Cc]lang|LLVM
      |Node(?:\.js)?|Java|JDK|OpenJDK|PostgreSQL|[Vv]ersion|C\+\+|HTTP(?=/)|Gen)(?:[\s/]?|{_COMPARED})(?=\d)
      |(?:{_PACKAGES}){_COMPARED}(?=\d))
    (?P<whole_version> \d+(?:(?:\s(?:and|or)\s|\s?/\s?)\d{{1,2}}(?=[.,;:)]?(?:\s|\Z)))?(?![\w%]|[.,]\d) )
  | (?:[A-Z][\w+#.]{{1,20}}|{_PACKAGES})\s
    (?P<least_version> \d+(?:\.\d+)* )
    (?=\+?\s(?:or|and)\s(?:higher|later|newer|above|up|better|greater|earlier|older)\b)
  | (?:localhost:|[Pp]ort\s|HTTP\s(?=[1-5]\d\d\b)|[Ss]tatus\s(?:code\s)?(?=[1-5]\d\d\b)|[Ee]xit\s(?:code|status)\s)
    (?P<code> \d{{1,5}}(?![\w%]|[.,]\d) ) )
  | (?P<reference> (?:
        (?=[A-Za-z§№])(?:(?<!\d\s)|(?<=[A-Za-z]\d\s)|(?<=[A-Za-z]\d\d\s)|(?<=[A-Za-z]\d\d\d\s))(?:
        (?:[Pp]arts|[Ff]igures|Figs\.?|[Tt]ables|[Ss]ections|Secs\.|[Cc]hapters|[Aa]ppendices|[Ee]quations|Eqs\.
          |Listings|[Ff]ootnotes|[Ii]ssues|PRs|[Pp]ull\srequests|[Pp]ages|pp\.|[Cc]orrections|Nos\.|§§)
          [\s-]?\#?{_NUMBER}{_MORE}
      | (?:[Pp]art|[Ff]igure|Fig|[Ff]ig\.|[Tt]able|[Ss]ection|[Ss]ec\.|[Cc]hapter|[Aa]ppendix|[Ee]quation
          |[Ee]q\.|Listing|Algorithm|[Ff]ootnote|[Ii]ssue(?=\s\#?\d+(?!\w|{_COUNTED}))|PR|MR|[Pp]ull\srequest|RFC|PEP|[Pp]age|p\.
          |[Cc]orrection|Step|Phase|Stage|Theorem|Lemma|Corollary|Proposition|Definition|Remark|Example|Experiment
          |Benchmark(?=\s\#?\d+:)|Exercise|Study|Lecture|Lesson|Milestone|[Tt]ier|phase|Strategy|Method|Option|Rule|Question|Scenario|Tip|[Vv]ol\.|Volume|№|§
          |Sect\.|[Cc]h\.|Tab\.|Alg\.|Thm\.|Def\.|App\.|BCP|BSD(?=\s))
          [\s-]?(?:\#?{_NUMBER}|\(\d+[a-z]?\)) )
      | (?=[Ll])(?<!\d\s)(?:[Ll]ine\s\d+(?:\s?[-–]\s?\d+)?|[Ll]ines\s\d+(?:\s?[-–]\s?|\s(?:to|and)\s)\d+)
        (?![\w%]|[.,]\d|\s?[-–]\s?\d|\s?(?:%|{_UNITS})|{_COUNTED})
      | (?:ISO(?:/IEC)?|IEC|IEEE|SP|FIPS|EN|DIN)[\s-]?\d+(?:[-.:]\d+)* | CVE-\d{{4}}-\d+ | \#\d+(?!\w)
      | arXiv[:\s]\s?\d{{4}}\.\d{{4,5}}(?:v\d+)? | (?:ISBN|isbn)[:\s]\s?[\d-]{{10,17}}X?
      | (?:doi:\s?|DOI:?\s)?(?<![.\d])10\.\d{{4,9}}/[^\s<>"|]*[^\s<>"|.,;:)\]]
      | (?:(?<=\w\s)|(?<=\w[.,;)]\s)|\A(?=\[\d+\]\s))\[\d{{1,3}}\](?![\w(\[:])
      | {_CITING}\[\d{{1,3}}(?:(?:,\s?|[-–])\d{{1,3}}){{1,8}}\](?![\w(\[:%]|\s?(?:%|{_UNITS})) | \[\d{{7,40}}\] ) )
  | (?P<phone> \+\d{{1,3}}[\s-](?=(?:[\s()-]?\d){{7,13}}(?!\d))\(?\d{{1,4}}\)?(?:[\s-]\d{{2,8}}){{1,4}}(?!\w) )
  | (?P<mark> \d\ufe0f?\u20e3 )
    )""",
    re.VERBOSE,
)
_NAMED = [name for name in _STRUCTURE.groupindex if name != "mark_of_date"]
_HEADING_NUMBER = re.compile(r"\s*(?:(\d+(?:\.\d+)*)[.):](?=\s)|([1-9]\d?(?:\.\d\d?)+)(?=\s[A-Z]))")
_SECTION = re.compile(r"\s*([1-9]\d?)(?:\.(\d\d?))?(?=\s[A-Z])")
_KINDS = dict.fromkeys(("named_version", "whole_version", "least_version", "edition"), "version")
_KINDS |= dict.fromkeys(("code", "phone", "mark"), "reference")
_KINDS |= dict.fromkeys(("decade", "years", "cited", "cited_year", "year"), "date") | {"zone": "time"}
_REPOSITORY = re.compile(r"(?<![\w./-])[\w.-]{1,60}(?:/[\w.-]{1,60})?#\d+(?!\w)")
_ROUTE = re.compile(r"(?<![\w.)\]}/])[~.]{0,2}/[A-Za-z][\w.+-]*(?:/[\w.+{}:@-]+)+")
_MARKER = re.compile(
    r"(?:(?<![^\s])|(?<=\())(?:(?<=\A)|(?<=\A\()|(?<=[:;,.—–]\s)|(?<=[:;,.—–]\s\()|(?<=\b(?:and|are|for)\s)"
    r"|(?<=\b(?:and|are|for)\s\()|(?<=\b(?:or|is|to|by|as|of)\s)|(?<=\b(?:or|is|to|by|as|of)\s\())([1-9])\)(?=\s\S)"
)
_DIGIT = re.compile(r"\d")
_CLOSING = ".,;:!?'’”"


_COLUMNS = (
    (re.compile(r"years?|dates?", re.IGNORECASE), "date", re.compile(_YEAR)),
    (re.compile(r"(?:[\w.+-]+\s)?versions?", re.IGNORECASE), "version", re.compile(r"[≥>=~^]{0,2}\s?\d+(?:\.\d+)*\+?")),
)
"""What the head of a table's column says of cells that hold nothing but digits of this form."""


def counts_sections(headings: Iterable[str]) -> bool:
    """Whether a text counts its sections without a mark behind the number: `1 Setup`, `2 Results`, or `2.1 Rows`."""
    numbers = [found.groups() for text in headings if (found := _SECTION.match(text))]
    whole = [number for number, part in numbers if not part]
    counted = len(whole) > 1 and whole == [str(n) for n in range(1, len(whole) + 1)]
    return counted or any(part and number in whole for number, part in numbers)


def structures(
    text: str, heading: bool = False, column: str = "", *, section: bool = False
) -> Iterator[tuple[str, int, int]]:
    """The kind, the start and the end of each stretch of `text` whose digits are no quantity.

    `heading`: it is a heading, whose own number may stand before it, of a `section` without a mark behind it; `column`:
    the head of the column of a cell.
    """
    start = 0
    for head, kind, digits in _COLUMNS if column else ():
        if head.fullmatch(column) and digits.fullmatch(text):
            yield kind, 0, len(text)
            return
    if heading and (number := _HEADING_NUMBER.match(text)):
        group = 1 if number[1] else 2
        start = number.end(group)
        yield "heading", number.start(group), start
    elif section and (number := _SECTION.match(text)):
        start = number.end(1)
        yield "heading", number.start(1), start
    taken = list(_places(text, start))
    yield from taken
    ahead = iter([*taken, ("", len(text) + 1, len(text) + 1)])
    _, other, other_end = next(ahead)
    for found in _STRUCTURE.finditer(text, start):
        kind = next(name for name in _NAMED if found[name] is not None)
        begin, end = found.span(kind)
        while other_end <= begin:
            _, other, other_end = next(ahead)
        if end <= other:
            said = _KINDS.get(kind, kind)
            if kind == "named_version":
                end = _last_version(text, begin, end)
            named = kind.endswith("_version") and _VERSION_WORD.search(text, max(0, begin - 12), begin)
            if named or not _is_quantity(text, said, end):
                yield said, begin, end


_VERSION_WORD = re.compile(r"[Vv]ersions?:?\s\Z")
_NEXT_VERSION = re.compile(r"(?:,\s(?:and\s|or\s)?|\s(?:and|or|to)\s|\s?[/–-]\s?)(\d+)\.\d+(?![\w%.]|\s?%|,\d)")


def _last_version(text: str, begin: int, end: int) -> int:
    """Where a list of versions ends that begins with this one: "3.10, 3.11 and 3.12"."""
    major = int(text[begin:end].split(".")[0][:9])
    while (then := _NEXT_VERSION.match(text, end)) and abs(int(then[1][:9]) - major) <= 1:
        if _is_quantity(text, "version", then.end()):
            break
        end = then.end()
    return end


def _is_quantity(text: str, kind: str, end: int) -> bool:
    """Whether a unit follows what looked like a reference or a version: "Python 3.12 ms"."""
    if kind not in ("date", "reference", "version") or text[end - 1] in "x*":
        return False
    unit = UNIT.match(text, end)
    measured = unit is not None and bool(unit["symbol"] or unit["sign"] or unit["times"])
    return measured or (kind == "version" and counted_noun(text, end, one=False) is not None)


def _places(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Addresses, routes, and paths of files with a known extension, where they hold a digit; in order, apart."""
    last = 0
    for place in sorted(_all_places(text, start), key=lambda place: place[1]):
        if place[1] >= last:
            last = place[2]
            yield place


def _all_places(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    last = start
    if "1)" in text:
        yield from _markers(text, start)
    if "#" in text:
        yield from (("reference", *found.span()) for found in _REPOSITORY.finditer(text, start))
    if "/" in text or "www." in text:
        for found in _ADDRESS.finditer(text, start):
            last = _address_end(text, *found.span())
            if _DIGIT.search(text, found.start(), last):
                yield "url", found.start(), last
        for found in _ROUTE.finditer(text, start):
            if _DIGIT.search(found[0]):
                yield "path", *found.span()
    last = start
    for found in _FILE_END.finditer(text, start):
        head = _FILE_START.search(text, max(last, found.start() - 200), found.start())
        if head and "://" not in text[max(0, head.start() - 3) : found.start()]:
            last = found.end()
            if _DIGIT.search(text, head.start(), last):
                yield "path", head.start(), last


def _markers(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """The numbers of a list inside a sentence: "for (1) its speed and (2) its size"."""
    markers = list(_MARKER.finditer(text, start))
    count = next((i for i, marker in enumerate(markers) if int(marker[1]) != i + 1), len(markers))
    if count > 1:
        yield from (("marker", *marker.span(1)) for marker in markers[:count])


def _address_end(text: str, start: int, end: int) -> int:
    """Where a bare address ends: not with a sentence's mark nor with a bracket that was open before it."""
    surplus = {
        ")": text.count(")", start, end) - text.count("(", start, end),
        "]": text.count("]", start, end) - text.count("[", start, end),
    }
    while end > start and (surplus.get(text[end - 1], 0) > 0 or text[end - 1] in _CLOSING):
        end -= 1
        if text[end] in surplus:
            surplus[text[end]] -= 1
    return end
