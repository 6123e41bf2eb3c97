"""The kinds of reading that a plan can declare, each with what it needs and how it is computed.

`stat`        one figure of a table's records: a count, mean, share ...
`saving`      an arm's row mean below another's: positive is faster
`drift`       an arm's row mean minus a reference's
`difference`  one arm's row mean minus another's, of any column of the row values
`paired`      mean of served minus changed over paired timings
`ratio`       one set of records over the best of another, paired by the columns that they share
`expr`        an expression over readings and constants
`choice`      the first word whose condition holds
`verdict`     the plan's verdict
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from campaign.analysis.errors import ReadingError
from campaign.analysis.expressions import Undefined, parse
from campaign.analysis.intervals import (
    Estimate,
    difference,
    paired_mean,
    paired_mean_autocorrelated,
    simultaneous_level,
    weighted_mean,
)
from campaign.analysis.rows import ROW_VALUES
from campaign.engine.strict import Strict, Text
from campaign.kernels.errors import nearest

STATS: dict[str, Callable[[pd.Series], Any]] = {
    "count": len,
    "sum": lambda s: s.sum(),
    "mean": lambda s: s.mean(),
    "median": lambda s: s.median(),
    "min": lambda s: s.min(),
    "max": lambda s: s.max(),
    "spread": lambda s: s.max() - s.min(),
    "sd": lambda s: s.std(ddof=1),
    "share": lambda s: s.mean(),
    "distinct": lambda s: s.nunique(),
    "value": lambda s: s.iloc[0],
}
CHUNK = "chunk"
"""The column that counts pairs in the order in which they were timed; without it they are in the order of the file."""
NUMBERS_ONLY = ("sum", "mean", "median", "spread", "sd", "share")
StatName = Literal["count", "sum", "mean", "median", "min", "max", "spread", "sd", "share", "distinct", "value"]


class Declared(Strict):
    """What every declaration has."""

    id: Text
    """An id; a family's has {column} for the values that tell its members apart."""
    unit: str = ""
    print: str = ""
    because: str = ""
    """A note for the reader of the plan."""


class Stat(Declared):
    """One figure of a table's records."""

    kind: Literal["stat"]
    table: Text
    where: str = ""
    """An expression over the table's columns and the constants; records where it is true count."""
    column: str = ""
    """A column, or an expression over columns; not needed for a count."""
    stat: StatName
    each: list[str] = []
    """Columns that tell the members of a family apart: one reading for each of their values."""
    scale: float = 1


class Arms(Declared):
    """Two arms compared over their rows."""

    arm: Text
    against: Text


class Matched(Arms):
    """Two arms compared in step time that is matched along a slope, or as it is where none is named."""

    slope: str
    """Name of a slope of the plan; empty for step time as it is."""

    @property
    def column(self) -> str:
        """The column of the row values that is compared."""
        return f"matched_{self.slope}" if self.slope else "step_ms"


class Saving(Matched):
    """Row mean of `against` minus that of `arm` in step time: positive is faster."""

    kind: Literal["saving"]


class Drift(Matched):
    """Row mean of `arm` minus that of `against` in step time."""

    kind: Literal["drift"]


class Difference(Arms):
    """Row mean of `arm` minus that of `against` in any column of the row values."""

    kind: Literal["difference"]
    column: Text


class Paired(Declared):
    """Mean of (served minus changed) over paired timings, with its t interval.

    With a weight (a table and its column, joined on a shared column) it is the weighted mean, without one.
    """

    kind: Literal["paired"]
    table: Text = "kernel_timings"
    where: str = ""
    value: Text = "(served_us - changed_us) * calls / 1000"
    """An expression over the columns: what one pair saves, ms per verify step."""
    weight_table: str = ""
    weight: str = ""
    on: str = ""
    variants: Annotated[int, Field(ge=1)] = 1
    """How many intervals hold together at the plan's level, this being one of them."""
    autocorrelated: bool = False
    """Whether neighbouring pairs depend on each other: the interval then counts fewer of them."""

    @model_validator(mode="after")
    def _all_or_none(self) -> "Paired":
        given = [name for name in ("weight_table", "weight", "on") if getattr(self, name)]
        if given and len(given) < 3:
            raise ValueError("weight_table, weight and on together, or none of them")
        return self


class Ratio(Declared):
    """A time of `top` over the least among the competitors in `bottom`, for each pair; then `stat` over the pairs.

    Both sides are compared only where all columns of `each` and `pair` are equal, so that a ratio is never
    between different sets; where one side is missing there is no pair. Several records of one side that
    agree in these columns (and in `members`, or in `among`) are repeats: their median counts.
    The reading's lo and hi are the least and the greatest ratio of the pairs.
    """

    kind: Literal["ratio"]
    table: Text
    column: Text
    top: Text
    """An expression that chooses the records above the line."""
    bottom: Text
    """An expression that chooses the records below the line."""
    among: Text
    """The column whose values compete below the line: the least of them is taken, pair by pair."""
    members: list[str] = []
    """Columns that tell the members of `top` apart; each gets readings of its own, or they compete (`winner`)."""
    winner: str = ""
    """An id: with it only the least member of each `each` is a reading, and this second reading names it."""
    each: list[str] = []
    pair: Annotated[list[str], Field(min_length=1)]
    """Columns that make a pair, as the run in which both were measured."""
    stat: Literal["median", "min", "max", "count"] = "median"


class Expr(Declared):
    """An expression over readings and constants declared above."""

    kind: Literal["expr"]
    expr: Text
    for_each: str = ""
    """A pattern such as `best.*`: one reading for each id that fits, {0} being what the star stands for."""


class Case(Strict):
    """One word of a choice; without a condition it is what remains."""

    when: str = ""
    word: Text


class Choice(Declared):
    """The word of the first case whose condition holds."""

    kind: Literal["choice"]
    cases: Annotated[list[Case], Field(min_length=1)]
    for_each: str = ""


class VerdictWord(Declared):
    """The plan's verdict."""

    kind: Literal["verdict"]


KINDS: dict[str, type[Declared]] = {
    "stat": Stat,
    "saving": Saving,
    "drift": Drift,
    "difference": Difference,
    "paired": Paired,
    "ratio": Ratio,
    "expr": Expr,
    "choice": Choice,
    "verdict": VerdictWord,
}


def slug(value: object) -> str:
    """`value` as one part of an id: `vllm.persistent_topk` becomes `vllm_persistent_topk`."""
    return "".join(c if c.isalnum() or c == "_" else "_" for c in str(value))


class TableView:
    """The part's tables as expressions over their columns see them."""

    def __init__(self, tables: Mapping[str, pd.DataFrame], constants: Mapping[str, Any]) -> None:
        self._tables = tables
        self.constants = constants
        """Those of the plan, by id: what is fixed before the data."""

    def records(self, name: str, where: str) -> pd.DataFrame:
        """The records of table `name` for which `where` is true; all of them where it is empty."""
        if name not in self._tables:
            raise ReadingError(
                f"table {name!r} is not there; expected one of {', '.join(self._tables) or 'none'}."
                f"{nearest(name, self._tables)} Add it to the plan's tables."
            )
        frame = self._tables[name]
        if not where:
            return frame
        chosen = np.asarray(parse(where).value(lambda column: self._cell(frame, column, name)))
        if chosen.dtype != bool:
            raise ReadingError(
                f"table {name}: {where!r} is no condition; expected one that is true or false for each record. "
                "Compare the column with something."
            )
        return frame[np.broadcast_to(chosen, len(frame))]

    def values(self, frame: pd.DataFrame, column: str, name: str) -> pd.Series:
        """A column of `frame`, or an expression over its columns, as a series beside it."""
        found = parse(column).value(lambda inner: self._cell(frame, inner, name))
        return pd.Series(np.broadcast_to(np.asarray(found), len(frame)), index=frame.index)

    def _cell(self, frame: pd.DataFrame, column: str, name: str) -> Any:
        if column in frame.columns:
            return frame[column].to_numpy()
        if column in self.constants:
            return self.constants[column].value
        raise ReadingError(
            f"table {name}: there is no column {column!r}; expected one of {', '.join(frame.columns)}, or a "
            f"constant of the plan.{nearest(column, [*frame.columns, *self.constants])} Correct the reading."
        )


def stat(view: TableView, said: Stat) -> list[tuple[str, Estimate]]:
    """Id and value of each reading that `said` declares: one, or one for each value of `each`."""
    if not said.each:
        try:
            frame = view.records(said.table, said.where)
        except Undefined as why:
            return [(said.id, Estimate(None, reason=str(why)))]
        return [(said.id, _figure(view, said, frame))]
    frame = view.records(said.table, said.where)
    members = dict(iter(families(frame, said.each, said.table)))
    if said.stat == "count" and len(said.each) == 1:
        # Where nothing fits, the count of that member is 0; the other figures have none.
        everyone = view.records(said.table, "")[said.each[0]].dropna().unique()
        members = {(one,): members.get((one,), frame.iloc[:0]) for one in everyone}
    return [(member_id(said.id, said.each, values), _figure(view, said, group)) for values, group in members.items()]


def families(frame: pd.DataFrame, columns: list[str], table: str) -> Any:
    """The records of `frame` by their values in `columns`, in which none may be empty: its record would be lost."""
    for column in columns:
        empty = int(frame[_present(frame, column, table)].isna().sum())
        if empty:
            raise ReadingError(
                f"table {table}: {column} is empty in {empty} of {len(frame)} records; expected a value that tells "
                f"to which member of the family each belongs. Choose the records that have one with `where`."
            )
    return frame.groupby(columns, sort=False)


def _present(frame: pd.DataFrame, column: str, table: str) -> str:
    if column not in frame.columns:
        raise ReadingError(
            f"table {table}: there is no column {column!r} to tell a family apart; expected one of "
            f"{', '.join(frame.columns)}.{nearest(column, frame.columns)} Correct `each`."
        )
    return column


def member_id(pattern: str, columns: list[str], values: tuple[Any, ...]) -> str:
    """The id of a family's member: `pattern` with the values of its columns in the braces."""
    names = dict(zip(columns, (slug(value) for value in values), strict=True))
    named = re.findall(r"\{([^{}]*)\}", pattern)
    if set(named) != set(columns):
        raise ReadingError(
            f"its id names {', '.join(f'{{{name}}}' for name in named) or 'no column in braces'}; expected "
            f"{', '.join(f'{{{name}}}' for name in columns)}, which tell its members apart. Correct the id."
        )
    return re.sub(r"\{([^{}]*)\}", lambda found: names[found[1]], pattern)


def _figure(view: TableView, said: Stat, frame: pd.DataFrame) -> Estimate:
    if said.stat == "count":
        return Estimate(len(frame), n=len(frame))
    if not said.column:
        raise ReadingError(f"reading {said.id}: {said.stat} of nothing; expected a column. Name one.")
    if not len(frame):
        return Estimate(None, reason=f"no record of {said.table}{text_of_where(said.where)}")
    try:
        series = view.values(frame, said.column, said.table)
    except Undefined as why:
        return Estimate(None, n=len(frame), reason=str(why))
    empty = int(series.isna().sum())
    if empty:
        return Estimate(
            None, n=len(frame), reason=f"{said.column} is empty in {empty} of {len(frame)} records of {said.table}"
        )
    lacking = reason_empty(frame, said.column, said.table) if series.dtype == bool else ""
    if lacking:
        return Estimate(None, n=len(frame), reason=lacking)
    _refuse_wrong_values(said, series)
    if series.dtype == bool and said.stat in NUMBERS_ONLY:
        series = series.astype(int)
    if said.stat == "value" and len(series) != 1:
        return Estimate(None, n=len(series), reason=f"need exactly one record of {said.table}, have {len(series)}")
    if said.stat == "sd" and len(series) < 2:
        return Estimate(None, n=len(series), reason="need at least two records for a standard deviation")
    with np.errstate(over="ignore", invalid="ignore"):  # a value that is not finite becomes an unresolved reading
        value = STATS[said.stat](series)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        value = "true" if value else "false"
    if isinstance(value, pd.Timestamp):
        value = value.isoformat()
    if isinstance(value, str):
        return Estimate(value, n=len(series))
    return Estimate(value * said.scale if said.scale != 1 else value, n=len(series))


def reason_empty(frame: pd.DataFrame, condition: str, table: str) -> str:
    """Why a condition is not known for all of `frame`: a record without a value neither holds it nor does not."""
    for name in parse(condition).ids:
        empty = int(frame[name].isna().sum()) if name in frame.columns else 0
        if empty:
            return f"{name} is empty in {empty} of {len(frame)} records of {table}"
    return ""


def _refuse_wrong_values(said: Stat, series: pd.Series) -> None:
    """Refuse a stat of values that it has no meaning for: the mean of texts, the share of numbers."""
    is_number = series.dtype.kind in "biuf"
    if (said.stat in NUMBERS_ONLY or said.scale != 1) and not is_number:
        asked = said.stat if said.stat in NUMBERS_ONLY else "scale"
        raise ReadingError(
            f"{asked} of {said.column}, which holds no numbers; expected a column of numbers. Correct it."
        )
    if said.stat == "share" and not series.isin([0, 1]).all():
        raise ReadingError(
            f"share of {said.column}, which is not true or false; expected a condition, as outcome == 'pass'. "
            "Correct it."
        )


def arms(view: TableView, said: Saving | Drift | Difference, level: float) -> Estimate:
    """The difference that `said` declares, over row values."""
    arm, against = arm_values(view, said, said.column)
    return difference(against, arm, level) if isinstance(said, Saving) else difference(arm, against, level)


def arm_values(view: TableView, said: Arms, column: str) -> tuple[np.ndarray, np.ndarray]:
    """The row values of `arm` and of `against` in `column`, which may be an expression."""
    rows = view.records(ROW_VALUES, "")
    frames = [rows[rows["arm"] == name] for name in (said.arm, said.against)]
    arm, against = (view.values(frame, column, ROW_VALUES).to_numpy(dtype=float) for frame in frames)
    return arm, against


def paired(view: TableView, said: Paired, level: float) -> Estimate:
    """The mean saving of the pairs that `said` chooses."""
    frame = view.records(said.table, said.where)
    if not len(frame):
        return Estimate(None, reason=f"no record of {said.table}{text_of_where(said.where)}")
    if said.autocorrelated and CHUNK in frame:
        # neighbours are those in time, and not in the file
        frame = frame.sort_values(CHUNK, kind="stable")
    series = view.values(frame, said.value, said.table)
    if series.dtype.kind not in "biuf":
        raise ReadingError(f"{said.value} holds no numbers; expected what one pair saves. Correct `value`.")
    if not said.weight_table:
        mean = paired_mean_autocorrelated if said.autocorrelated else paired_mean
        found = mean(series.to_numpy(dtype=float), simultaneous_level(level, said.variants))
        together = (f"one of {said.variants} intervals that hold together",) if said.variants > 1 else ()
        return replace(found, warnings=found.warnings + together) if found.value is not None else found
    weights = view.records(said.weight_table, "")
    for column in (said.on, said.weight):
        _present(weights, column, said.weight_table)
    at = frame[_present(frame, said.on, said.table)]
    if at.isna().any():
        return Estimate(
            None, n=len(frame), reason=f"{said.on} is empty in {int(at.isna().sum())} records of {said.table}"
        )
    if weights[said.on].duplicated().any():
        twice = weights.loc[weights[said.on].duplicated(), said.on].iloc[0]
        return Estimate(None, n=len(frame), reason=f"{said.weight_table} has {said.on} {twice} more than once")
    without = sorted(set(at) - set(weights[said.on]))
    if without:
        return Estimate(None, n=len(frame), reason=f"{said.weight_table} has no {said.on} {_plain_number(without[0])}")
    left_out = sorted(set(weights[said.on]) - set(at))
    if left_out:
        what = f"{said.on} {_plain_number(left_out[0])}"
        return Estimate(None, n=len(frame), reason=f"no timing at {what}, which has a weight")
    # repeats at one place count as their mean: the weight is that of the place, not of how often it was timed
    means = series.groupby(at).mean()
    weight = weights.set_index(said.on)[said.weight].loc[means.index].to_numpy(dtype=float)
    return replace(weighted_mean(means.to_numpy(dtype=float), weight), n=len(frame))


def _plain_number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def ratio(view: TableView, said: Ratio) -> list[tuple[str, Estimate]]:
    """Id and value of each ratio that `said` declares."""
    shared = [*said.each, *said.pair]
    table = view.records(said.table, "")
    for column in (*shared, *said.members, said.among, said.column):
        _present(table, column, said.table)
    if table[said.column].dtype.kind not in "iuf":
        raise ReadingError(f"{said.column} holds no numbers; expected a column of times. Correct `column`.")
    above, below = view.records(said.table, said.top), view.records(said.table, said.bottom)
    empty = int(pd.concat([above, below])[said.column].isna().sum())
    if empty:
        raise ReadingError(
            f"{said.column} is empty in {empty} of the chosen records of {said.table}; expected a time in each. "
            "Leave them out with `top` and `bottom`."
        )
    top = families(above, [*said.members, *shared], said.table)[said.column].median().rename("top").reset_index()
    competitors = families(below, [*shared, said.among], said.table)[said.column].median()
    bottom = competitors.groupby(shared, sort=False).min().rename("bottom").reset_index()
    pairs = top.merge(bottom, on=shared, how="inner")
    pairs["ratio"] = pairs["top"] / pairs["bottom"]
    if said.winner:
        return _winners(said, pairs)
    names = [*said.members, *said.each]
    if not names:
        return [(said.id, _pairs_figure(said, pairs))]
    members = pairs.groupby(names, sort=False)
    return [(member_id(said.id, names, values), _pairs_figure(said, group)) for values, group in members]


def _winners(said: Ratio, pairs: pd.DataFrame) -> list[tuple[str, Estimate]]:
    """The least member of each `each`, and a reading that names it; n is how many competed."""
    if not said.members:
        raise ReadingError("winner names no member where there are no `members`; expected some. Add them.")
    found: list[tuple[str, Estimate]] = []
    cells = pairs.groupby(said.each, sort=False) if said.each else [((), pairs)]
    for values, cell in cells:
        figures = [(name, _pairs_figure(said, group)) for name, group in cell.groupby(said.members, sort=False)]
        open_ = next((figure for _, figure in figures if figure.value is None), None)
        least = min(figures, key=lambda named: named[1].value) if open_ is None else ((), open_)
        label = " ".join(map(str, least[0]))
        name = Estimate(label or None, n=len(figures), reason=least[1].reason)
        found.append((member_id(said.id, said.each, values), least[1]))
        found.append((member_id(said.winner, said.each, values), name))
    return found


def _pairs_figure(said: Ratio, pairs: pd.DataFrame) -> Estimate:
    if said.stat == "count":
        return Estimate(len(pairs), n=len(pairs))
    if not len(pairs):
        return Estimate(None, reason="no record of one side was measured together with one of the other")
    ratios = pairs["ratio"]
    if not (pairs["bottom"] > 0).all():
        return Estimate(None, n=len(pairs), reason="a time below the line is not above zero")
    return Estimate(float(STATS[said.stat](ratios)), float(ratios.min()), float(ratios.max()), n=len(pairs))


def choose(said: Choice, lookup: Callable[[str], Any], fill: Callable[[str], str]) -> str:
    """The word of the first case that holds."""
    for case in said.cases:
        if not case.when or parse(fill(case.when)).truth(lookup):
            return case.word
    raise Undefined("no case of the choice holds")


def text_of_where(condition: str) -> str:
    """The condition of a formula, where there is one."""
    return f" where {condition}" if condition else ""
