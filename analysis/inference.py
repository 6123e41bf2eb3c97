"""Kinds of reading that say how far a comparison can be trusted: equivalence, ratios, shares, bounds, rows needed.

`relative`     what an arm saves as a share of another's time, with Fieller's interval
`equivalence`  p that two arms differ by less than a margin: "equal" is said only where it is small
`proportion`   the share of records for which a condition holds, with an interval that is never ±0
`fisher`       p that two arms have the same share, adjusted for its family after Holm
`tipping`      how large a day effect would have to be to take a saving under its bar
`placebo`      how often yardstick rows alone, split as if some were changed, would carry
`variance`     what varies: between rows, between the draws of a row
`rows_needed`  rows of an arm that would resolve a difference
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from campaign.analysis import power, proportions, resampling, tipping, variance
from campaign.analysis.equivalence import tost
from campaign.analysis.errors import ReadingError
from campaign.analysis.intervals import Estimate, difference, relative_saving
from campaign.analysis.kinds import (
    Arms,
    Declared,
    TableView,
    arm_values,
    families,
    member_id,
    reason_empty,
    text_of_where,
)
from campaign.analysis.readings import Reading
from campaign.analysis.rows import DRAW_VALUES, ROW_VALUES
from campaign.engine.strict import Id, Text

Estimates = list[tuple[str, Estimate]]
"""Id and value of each reading that one declaration gives."""


@dataclass(frozen=True)
class Known:
    """What a kind computes from."""

    view: TableView
    level: float
    """Of the plan's intervals, percent."""
    constant: Callable[[str], float]
    """Value of a constant or of a reading above."""
    reading: Callable[[str], Reading]


class Inference(Declared):
    """A declaration that computes itself."""

    @abstractmethod
    def estimates(self, known: Known) -> Estimates:
        """Id and value of each reading that it declares."""

    @property
    @abstractmethod
    def formula(self) -> str:
        """How it is computed, in one line."""


class Relative(Arms, Inference):
    """What `arm` saves as a share of the time of `against`, in percent; Fieller's interval."""

    kind: Literal["relative"]
    column: Text = "step_ms"

    def estimates(self, known: Known) -> Estimates:
        """The saving in percent."""
        arm, against = arm_values(known.view, self, self.column)
        found = relative_saving(against, arm, known.level)
        if found.value is None:
            return [(self.id, found)]
        in_percent = {name: 100 * getattr(found, name) for name in ("value", "lo", "hi")}
        return [(self.id, replace(found, **in_percent, sd=None))]

    @property
    def formula(self) -> str:
        """As a person would write it."""
        return f"100 × (1 − row mean of {self.arm} / row mean of {self.against}), {self.column}; Fieller"


class Equivalence(Arms, Inference):
    """p of two one-sided t tests that `arm` and `against` differ by less than the margin; its level is 1 − 2α."""

    kind: Literal["equivalence"]
    column: Text
    margin: Id

    def estimates(self, known: Known) -> Estimates:
        """The p of the test; equality is shown only where it is below α."""
        arm, against = arm_values(known.view, self, self.column)
        alpha = 1 - known.level / 100
        margin = known.constant(self.margin)
        if alpha >= 0.5:
            return [(self.id, Estimate(None, reason=f"no test of equality at the level of {known.level:g} percent"))]
        if margin <= 0:
            return [(self.id, Estimate(None, reason=f"the margin {self.margin} is {margin:g}; need one above zero"))]
        found = tost(difference(arm, against, known.level), -margin, margin, alpha)
        if found.p is None:
            return [(self.id, Estimate(None, n=found.n, reason=found.reason))]
        # no ends: the interval of the test is one of the drift, and none of its p
        level = 100 * (1 - 2 * alpha)
        return [(self.id, Estimate(found.p, df=found.df, n=found.n, warnings=found.warnings, level=level))]

    @property
    def formula(self) -> str:
        """As a person would write it."""
        return f"p that |{self.arm} − {self.against}| < {self.margin}, {self.column}; two one-sided t tests over rows"


class Proportion(Inference):
    """The share of the records for which `column` holds, with its interval."""

    kind: Literal["proportion"]
    table: Text
    where: str = ""
    column: Text
    """A condition over the table's columns."""
    each: list[str] = []
    method: Literal["wilson", "clopper-pearson", "upper bound"] = "wilson"
    scale: float = 1

    def estimates(self, known: Known) -> Estimates:
        """The share of each member of the family."""
        frame = known.view.records(self.table, self.where)
        if not self.each:
            return [(self.id, self._share(known, frame))]
        groups = families(frame, self.each, self.table)
        return [(member_id(self.id, self.each, values), self._share(known, group)) for values, group in groups]

    def _share(self, known: Known, frame: Any) -> Estimate:
        empty = reason_empty(frame, self.column, self.table)
        if empty:
            return Estimate(None, n=len(frame), reason=empty)
        held = _held(known, frame, self.column, self.table)
        share = {
            "wilson": proportions.wilson,
            "clopper-pearson": proportions.clopper_pearson,
            "upper bound": proportions.failure_bound,
        }[self.method](int(held.sum()), len(held), known.level)
        if share.value is None:
            return share
        scaled = {name: self.scale * getattr(share, name) for name in ("value", "lo", "hi")}
        return replace(share, **scaled, level=known.level)

    @property
    def formula(self) -> str:
        """As a person would write it."""
        each = f", for each {', '.join(self.each)}" if self.each else ""
        scale = f" × {self.scale:g}" if self.scale != 1 else ""
        shared = f"share of {self.column} in {self.table}{text_of_where(self.where)}{each}{scale}"
        return f"{shared}; {self.method}, records counted as independent"


class Fisher(Arms, Inference):
    """Fisher's exact p that `arm` and `against` have the same share of records for which `column` holds.

    With `each` one p for every member, adjusted together after Holm.
    """

    kind: Literal["fisher"]
    table: Text
    where: str = ""
    column: Text
    each: list[str] = []

    def estimates(self, known: Known) -> Estimates:
        """The adjusted p of each member of the family."""
        frame = known.view.records(self.table, self.where)
        frame = frame[frame["arm"].isin([self.arm, self.against])]
        groups = list(families(frame, self.each, self.table)) if self.each else [((), frame)]
        found = [self._p(known, group) for _, group in groups]
        adjusted = proportions.holm([one.value for one in found])
        names = [member_id(self.id, self.each, values) if self.each else self.id for values, _ in groups]
        return [
            (name, one if one.value is None else replace(one, value=p))
            for name, one, p in zip(names, found, adjusted, strict=True)
        ]

    def _p(self, known: Known, frame: Any) -> Estimate:
        empty = reason_empty(frame, self.column, self.table)
        if empty:
            return Estimate(None, n=len(frame), reason=empty)
        counts: list[int] = []
        for name in (self.arm, self.against):
            runs = frame[frame["arm"] == name]
            counts += [int(_held(known, runs, self.column, self.table).sum()), len(runs)]
        return proportions.fisher(*counts)

    @property
    def formula(self) -> str:
        """As a person would write it."""
        family = f", for each {', '.join(self.each)} (Holm)" if self.each else ""
        return (
            f"p that {self.arm} and {self.against} have one share of {self.column} in "
            f"{self.table}{text_of_where(self.where)}{family}; Fisher's exact test, records counted as independent"
        )


class Tipping(Inference):
    """Standard deviation of a day effect that would bring the lower end of a saving down to its bar."""

    kind: Literal["tipping"]
    saving: Id
    bar: Id

    def estimates(self, known: Known) -> Estimates:
        """The day effect, in the unit of the saving; 0 where the lower end is at the bar or below already."""
        saving = known.reading(self.saving)
        if saving.value is None:
            return [(self.id, Estimate(None, reason=f"{self.saving} is not resolved: {saving.reason}"))]
        said = saving.aspects
        if "se" not in said or "lo" not in said:
            raise ReadingError(f"{self.saving} has no interval; expected a saving or a difference. Correct `saving`.")
        t = (float(saving.value) - said["lo"]) / said["se"]
        bar = known.constant(self.bar)
        return [(self.id, Estimate(tipping.day_tipping(float(saving.value), bar, t, said["se"]), n=int(said["n"])))]

    @property
    def formula(self) -> str:
        """As a person would write it."""
        return f"√(((S − {self.bar}) / t)² − se²), S = {self.saving}"


class Placebo(Inference):
    """Share of the splits of an arm's rows in which `pick` of them would carry against the rest."""

    kind: Literal["placebo"]
    arm: Text
    column: Text = "step_ms"
    pick: Annotated[int, Field(ge=1)]
    scale: float = 100

    def estimates(self, known: Known) -> Estimates:
        """The share, in percent where `scale` is 100."""
        rows = known.view.records(ROW_VALUES, "")
        chosen = rows[rows["arm"] == self.arm]
        values = known.view.values(chosen, self.column, ROW_VALUES).to_numpy(dtype=float)
        if not 0 < self.pick < max(len(values), resampling.FEWEST_YARDSTICK):
            return [(self.id, Estimate(None, n=len(values), reason=f"cannot pick {self.pick} of {len(values)} rows"))]
        found = resampling.placebo(values, self.pick, level=known.level)
        if found.share is None:
            return [(self.id, Estimate(None, n=len(values), reason=found.reason))]
        return [(self.id, Estimate(self.scale * found.share, n=found.splits, warnings=found.warnings))]

    @property
    def formula(self) -> str:
        """As a person would write it."""
        return f"share of the splits of {self.arm}'s rows, {self.pick} against the rest, whose lower end is above 0"


class Variance(Inference):
    """A part of the variance of an arm's draws: between its rows, or within them."""

    kind: Literal["variance"]
    arm: Text
    column: Text = "step_ms"
    part: Literal["between rows", "within rows", "icc", "best draws"]
    """Both standard deviations are in the column's unit; best draws needs the costs of a row and of a draw."""
    row_cost: Annotated[float, Field(gt=0)] | None = None
    draw_cost: Annotated[float, Field(gt=0)] | None = None
    """Both in one unit, as minutes."""

    def estimates(self, known: Known) -> Estimates:
        """The part asked for."""
        draws = known.view.records(DRAW_VALUES, "")
        frame = draws[draws["arm"] == self.arm]
        values = known.view.values(frame, self.column, DRAW_VALUES)
        groups = [group.to_numpy(dtype=float) for _, group in values.groupby(frame["row"], sort=False)]
        return [(self.id, self._part(variance.components(groups)))]

    def _part(self, found: variance.Components) -> Estimate:
        if found.reason:
            return Estimate(None, n=found.draws, reason=found.reason)
        warnings = ("between rows nothing is left over: its variance stands at 0",) if found.boundary else ()
        if self.part == "best draws":
            if self.row_cost is None or self.draw_cost is None:
                raise ReadingError("best draws without row_cost and draw_cost; expected both, in one unit. Add them.")
            best = variance.best_draws(self.row_cost, self.draw_cost, found.var_w, found.var_b)
            reason = best.reason or ("as many as fit: rows do not differ" if best.draws is None else "")
            return Estimate(best.draws, n=found.draws, warnings=warnings, reason=reason)
        value = {"between rows": sqrt(found.var_b), "within rows": sqrt(found.var_w), "icc": found.icc}[self.part]
        return Estimate(value, n=found.draws, warnings=warnings)

    @property
    def formula(self) -> str:
        """As a person would write it."""
        return f"{self.part} of {self.column} over the draws of {self.arm}; one-way random effects"


class RowsNeeded(Inference):
    """Rows of the changed arm that would bring the half width of a difference's interval down to `half_width`."""

    kind: Literal["rows_needed"]
    of: Id
    half_width: Id
    against: Id
    """A reading with the rows of the other arm, which stay as many as they are."""

    def estimates(self, known: Known) -> Estimates:
        """The number of rows; unresolved where no number of them is enough."""
        of = known.reading(self.of)
        if of.value is None or "sd" not in of.aspects:
            return [(self.id, Estimate(None, reason=f"{self.of} is not resolved: {of.reason or 'it has no spread'}"))]
        half_width, rows = known.constant(self.half_width), int(known.constant(self.against))
        if not half_width > 0:
            return [(self.id, Estimate(None, reason=f"{self.half_width} is {half_width:g}; need a width above zero"))]
        needed = power.rows_for_half_width(half_width, of.aspects["sd"], rows, known.level)
        return [(self.id, Estimate(needed.rows, n=rows, reason=needed.reason))]

    @property
    def formula(self) -> str:
        """As a person would write it."""
        return f"least rows with t · sd({self.of}) · √(1/n₁ + 1/n₂) at most {self.half_width}"


def _held(known: Known, frame: pd.DataFrame, condition: str, table: str) -> np.ndarray:
    """For each record of `frame` whether the condition holds."""
    if not len(frame):
        return np.array([], dtype=bool)
    held = known.view.values(frame, condition, table).to_numpy()
    if held.dtype != bool:
        raise ReadingError(f"{condition} is no condition; expected one, as outcome == 'pass'. Correct it.")
    return held


INFERENCES: dict[str, type[Inference]] = {
    "relative": Relative,
    "equivalence": Equivalence,
    "proportion": Proportion,
    "fisher": Fisher,
    "tipping": Tipping,
    "placebo": Placebo,
    "variance": Variance,
    "rows_needed": RowsNeeded,
}
