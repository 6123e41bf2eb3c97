"""What the formulas of readings tell: which records are behind them, which values they can have, what follows what.

The formulas are those that `compute.formula_of` and the kinds of inference write; one that is not known tells nothing.
"""

import re
from dataclasses import dataclass
from functools import cache
from math import inf

from campaign.analysis.errors import ReadingError
from campaign.analysis.expressions import Expression, parse
from campaign.analysis.readings import Reading, Readings
from campaign.engine.records import KNOWN

SAMPLE = 8
"""Records that stand for the many of a table."""

_STAT = re.compile(
    r"(?P<stat>count|sum|mean|median|min|max|spread|sd|share|distinct|value) of (?P<column>.+?) in (?P<table>\w+)"
    r"(?: where (?P<where>.+?))?(?:, for each (?P<each>[\w, ]+?))?(?: × (?P<scale>[\d.e+-]+))?"
)
"""What `formula_of` writes for one figure of a table's records."""
_PAIRS = re.compile(r"(?P<stat>median|min|max) (?P<rest>over .+ / least .+)")
"""The same for a figure of ratios, each of two records of a pair."""
END_OF_PAIRS = {"min": 0, "max": 2}
_CONDITION = re.compile(r"[<>!=]=?| in | and | or |not ")
_UNSURE = re.compile(r"delta|diff|drift|change|gain|saved|saving|net|shift|error|residual|offset|bias|margin|balance")
"""Words in a column's name that let its values be below zero."""
_SIZE = re.compile(r"_(?:ns|us|ms|s|w|bytes|tokens)$")
_COUNTED = frozenset(
    column for schema in KNOWN.values() for column, kind in schema["columns"].items() if kind[:3] in ("int", "num")
) | {"step_ms", "tokens_per_step", "power_share"}
"""Columns of known tables: sizes and counts, none of which is below zero."""
_SERVED = ("draws", "draw_values", "row_values")
_POSITIVE = {
    "verify_steps": 1,
    "tokens": 1,
    "tokens_per_step": 1,
    "step_time_ms": 1e-6,
    "step_ms": 1e-6,
    "model_time_s": 1e-6,
}
"""What `engine.records` lets through of a draw at the least; a time is above zero."""
_BOUNDED: tuple[tuple[str, float, float], ...] = (
    ("p that ", 0, 1),
    ("icc of ", 0, 1),
    ("between rows of ", 0, inf),
    ("within rows of ", 0, inf),
    ("best draws of ", 0, inf),
    ("least rows with ", 1, inf),
    ("√(((S", 0, inf),
    ("100 × (1 − row mean", -inf, 100),
    ("share of the splits", 0, 100),
)
"""How the formula of an inference begins, and the least and the greatest value that it can have."""


@dataclass(frozen=True)
class Sample:
    """The records that a reading of the kind `stat` is a figure of."""

    stat: str
    column: str
    table: str
    where: str
    member: tuple[str, ...]
    scale: float

    @property
    def records(self) -> tuple[str, ...]:
        """What tells one set of records from another."""
        return (self.table, self.where, *self.member)

    @property
    def condition(self) -> bool:
        """Whether the column is one that holds or does not."""
        return self.stat == "share" or _CONDITION.search(self.column) is not None

    def least(self) -> float:
        """What every record has at least; −∞ where that is not known."""
        if self.table in _SERVED and self.column in _POSITIVE:
            return _POSITIVE[self.column]
        sized = self.counted() and (self.column in _COUNTED or _SIZE.search(self.column) is not None)
        return 0.0 if sized else -inf

    def most(self) -> float:
        """1 where no record can have more."""
        return 1.0 if self.column == "power_share" else inf

    def counted(self) -> bool:
        """Whether whole numbers in the column are counts."""
        return re.fullmatch(r"\w+", self.column) is not None and not _UNSURE.search(self.column)


def has_ends(reading: Reading) -> bool:
    """Whether it has an interval that encloses its value, as intervals do."""
    said = reading.aspects
    return "lo" in said and "hi" in said and said["lo"] <= reading.value <= said["hi"]  # type: ignore[operator]


def bounds_of(reading: Reading) -> tuple[float, float]:
    """The least and the greatest value that a reading can have, as far as its formula tells."""
    own = float(reading.value)  # type: ignore[arg-type]
    ends = next(((lo, hi) for begin, lo, hi in _BOUNDED if reading.formula.startswith(begin)), (-inf, inf))
    if " / least " in reading.formula:
        ends = (0.0, inf)
    elif ends == (-inf, inf) and reading.formula.startswith("share of "):
        scale = re.search(r" × ([\d.e+-]+);", reading.formula)
        ends = (0.0, float(scale[1]) if scale else 1.0)
    elif not reading.formula and isinstance(reading.value, int) and reading.unit:
        ends = (0.0, inf)
    return ends if ends[0] <= own <= ends[1] else (-inf, inf)


def expression_of(reading: Reading, readings: Readings) -> Expression | None:
    """The expression over other readings that a number is computed with; None where it is none."""
    if not reading.operands:
        return None
    found = _parsed(reading.formula)
    known = dict(reading.operands).keys()
    if found is None or not {one for one in found.ids if "*" not in one} <= known:
        return None
    return found


def first_name(name: str, readings: Readings) -> str:
    """The id of the reading that an id is another name of, through any number of names; itself where it is none."""
    for _ in range(len(readings)):
        found = expression_of(readings[name], readings) if name in readings else None
        inner = found.id_of(found.tree) if found else ""
        if not inner or "*" in inner:
            break
        name = inner
    return name


@cache
def _parsed(text: str) -> Expression | None:
    try:
        return parse(text)
    except ReadingError:
        return None


def cases_of(reading: Reading, readings: Readings) -> list[tuple[Expression | None, str]]:
    """The conditions and words of a choice; none where its formula is not one of conditions that can be read."""
    if not reading.operands:
        return []
    cases: list[tuple[Expression | None, str]] = []
    for said in reading.formula.split("; "):
        word, _, when = said.partition(" if ")
        condition = _parsed(when) if when else None
        if when and (condition is None or any("*" not in one and one not in readings for one in condition.ids)):
            return []
        cases.append((condition, word))
    return cases if any(condition for condition, _ in cases) else []


@dataclass(frozen=True)
class Bands:
    """What the formula of a verdict says."""

    reading: str
    bands: tuple[tuple[str, str, str], ...]
    """Each band's word, >= or > or nothing, and the id of its bound."""
    guarded: bool


def bands_of(reading: Reading) -> Bands | None:
    """The bands of a verdict; None for any other text."""
    found = re.fullmatch(r"(?P<id>[\w.]+): (?P<bands>.+); guards: (?P<guards>.+)", reading.formula)
    if not found:
        return None
    cut = [re.fullmatch(r"(.+?)(?: (>=?) ([\w.]+))?", band) for band in found["bands"].split(", ")]
    return Bands(
        found["id"], tuple((one[1], one[2] or "", one[3] or "") for one in cut if one), found["guards"] != "none"
    )


class Samples(dict[str, Sample]):
    """The records behind each reading of the kind `stat`, by its id."""

    def __init__(self) -> None:
        super().__init__()
        self.own: dict[tuple[str, ...], int] = {}
        """How many records each set has in the part's own data."""
        self.pairs: dict[str, tuple[str, ...]] = {}
        """What tells the pairs behind a ratio from others, by the ratio's id."""
        self.whole: dict[tuple[str, ...], bool] = {}
        """Whether the values of a column are whole numbers."""
        self._wider: dict[tuple[str, ...], list[Sample]] = {}

    def add(self, reading: Reading, said: re.Match[str], member: tuple[str, ...]) -> None:
        """Keep the records of one reading, whose formula is `said`; `member` tells it from its family's others."""
        column = "" if said["stat"] == "count" else said["column"]
        of_family = (said["each"], *member) if said["each"] else ()
        sample = Sample(said["stat"], column, said["table"], said["where"] or "", of_family, float(said["scale"] or 1))
        self[reading.id] = sample
        self.own.setdefault(sample.records, int(reading.aspects.get("n", SAMPLE)))
        if sample.stat in ("sum", "min", "max", "value"):
            key = ("column", sample.column, *sample.records)
            is_whole = isinstance(reading.value, int) and sample.scale == 1
            self.whole[key] = self.whole.get(key, True) and is_whole

    def wider(self, sample: Sample) -> list[Sample]:
        """Those that hold every record of `sample`, and more."""
        if sample.records not in self._wider:
            told = {one.records: one for one in self.values()}
            self._wider[sample.records] = [
                one
                for one in told.values()
                if one.table == sample.table
                and one.member in (sample.member, ())
                and one.records != sample.records
                and _implies(sample.where, one.where)
                and not (one.member == sample.member and _implies(one.where, sample.where))
            ]
        return self._wider[sample.records]


_LAST: list[tuple[Readings, Samples]] = []


def samples_of(readings: Readings) -> Samples:
    """The records behind the readings of the kind `stat`; those of the last part that was asked for are kept."""
    if _LAST and _LAST[0][0] is readings:
        return _LAST[0][1]
    found = Samples()
    families: dict[tuple[str, int], list[tuple[str, re.Match[str]]]] = {}
    for name, reading in readings.items():
        if reading.role != "reading" or not isinstance(reading.value, int | float):
            continue
        said = _STAT.fullmatch(reading.formula) or _PAIRS.fullmatch(reading.formula)
        if said:
            families.setdefault((reading.formula, name.count(".")), []).append((name, said))
    for members in families.values():
        split = [name.split(".") for name, _ in members]
        varies = [i for i, steps in enumerate(zip(*split, strict=True)) if len(set(steps)) > 1]
        for (name, said), steps in zip(members, split, strict=True):
            member = tuple(steps[i] for i in varies)
            if "rest" in said.groupdict():
                found.pairs[name] = (said["rest"], *member)
            else:
                found.add(readings[name], said, member)
    _LAST[:] = [(readings, found)]
    return found


def _implies(narrow: str, wide: str) -> bool:
    """Whether each record for which `narrow` holds is one for which `wide` does, as far as that can be read."""
    if not wide:
        return True
    if " or " in narrow or " or " in wide:
        return narrow == wide
    said = [one.strip() for one in narrow.split(" and ")]
    return all(any(_follows(one, asked.strip()) for one in said) for asked in wide.split(" and "))


def _follows(said: str, asked: str) -> bool:
    if said == asked:
        return True
    equal, other = re.fullmatch(r"(\w+) == ('[^']*')", said), re.fullmatch(r"(\w+) != ('[^']*')", asked)
    return bool(equal and other and equal[1] == other[1] and equal[2] != other[2])
