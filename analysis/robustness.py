"""The robustness panel: the same rows read in other ways. It never decides; it says what would have been read instead.

The same plan and data give the same panel: what is drawn is drawn with SEED. Where a plan matches along several
slopes, each check is read along all of them and the least favourable one counts, as it does for the verdict.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import comb, isclose, isfinite, sqrt
from typing import Any

import numpy as np
import pandas as pd
import scipy

from campaign.analysis.chart import Chart, ewma_chart, individuals_chart
from campaign.analysis.checks import METHODS, SEED, Check, Deciding, Panel
from campaign.analysis.compared import Compared, compared
from campaign.analysis.constants import fixed
from campaign.analysis.expressions import COMPARISON_DIGITS
from campaign.analysis.intervals import Estimate, difference, relative_saving, welch
from campaign.analysis.readings import Reading
from campaign.analysis.regression import Ancova, ancova, time_trend
from campaign.analysis.resampling import (
    exact_row_bootstrap,
    hodges_lehmann,
    leave_one_out,
    mann_whitney,
    permutation_test,
    placebo,
)
from campaign.analysis.rows import DRAW_VALUES, ROW_VALUES, missing_rows, served_tables
from campaign.analysis.rule import MATCHING
from campaign.analysis.tipping import SavingCurve, day_tipping, saving_curve, tau_sweep
from campaign.analysis.unequal_draws import pooled_components, weighted_difference
from campaign.analysis.variance import best_draws, components
from campaign.engine.data import Data
from campaign.engine.plan import Plan

MOST_SUBSETS = 100_000
"""Sets of rows of one size that are tried; of larger ones there are too many."""
FAR = 20
"""A slope at which the verdict flips is looked for up to so many times the plan's steepest slope."""
DAY_SHARES = (0.25, 0.5, 1.0)
"""Day effects that are tried, in standard deviations of a row."""
NOTHING = "the plan's verdict compares no two arms over rows, so there is nothing to check"
UNPROVEN = "nothing in the plan proves that both arms give the same text: tokens per step may be an effect"

Each = Sequence[tuple[str, Estimate]]
"""Name of each slope with what is read along it."""


def robustness(plan: Plan, data: Data, readings: Mapping[str, Reading]) -> Panel:
    """The panel for the comparison that the plan's verdict stands on.

    `readings` are those of `compute.read` for the same plan and data. Where they have no values because planned rows
    are missing, the panel says only how many. R15 to R17, R19 to R21, D5 to D8.
    """
    found = compared(plan, fixed(plan))
    tables = served_tables(plan, data)
    if found is None or ROW_VALUES not in tables:
        return Panel(reason=NOTHING)
    missing = missing_rows(plan, data)
    if missing and all(readings[name].value is None for name in found.ids.values()):
        return Panel(reason=f"{missing} of {len(plan.rows.order) if plan.rows else 0} planned rows are missing")
    rows = _Rows(plan, readings, found, tables)
    return Panel(found.arm, found.against, rows.unit, rows.print, rows.deciding, tuple(rows.checks()))


class _Rows:
    """The compared rows, and everything that can be read from them."""

    def __init__(
        self, plan: Plan, readings: Mapping[str, Reading], found: Compared, tables: Mapping[str, pd.DataFrame]
    ) -> None:
        self.plan = plan
        self.readings = readings
        self.found = found
        self.rows = tables[ROW_VALUES]
        self.draws = tables[DRAW_VALUES]
        self.records = tables["rows"]
        saving = readings[next(iter(found.ids.values()))]
        self.unit, self.print = saving.unit, saving.print
        self.level = float(saving.aspects.get("level", found.level))  # planned looks take it from their boundary
        self.first = {slope: found.values(self.rows, found.against, slope) for slope in found.slopes}
        self.second = {slope: found.values(self.rows, found.arm, slope) for slope in found.slopes}
        self.names = [str(row) for row in found.rows(self.rows, found.against)["row"]]
        self.other_names = [str(row) for row in found.rows(self.rows, found.arm)["row"]]

    # ---------------------------------------------------------------- what decides

    @cached_property
    def deciding(self) -> Deciding:
        """The deciding reading, and the saving that it is an end of."""
        assert self.plan.verdict is not None, "nothing is compared without a verdict"
        said = self.readings[self.plan.verdict.reading]
        value = float(said.value) if isinstance(said.value, int | float) else None
        each = self._along(self._pooled)
        slope, saving = _least(each)
        if self.illegal:
            saving = Estimate(None, n=saving.n, reason=self.illegal)
        figure = ""
        if value is not None and saving.value is not None:
            ends = {"lower end": _end(saving), "estimate": min(one.value for _, one in each)}
            figure = next((word for word, end in ends.items() if isclose(value, end, abs_tol=1e-9)), "")
        band = self._band(value) if value is not None else ""
        return Deciding(said.id, value, saving, slope, figure, band, self.level, said.reason or saving.reason)

    @cached_property
    def illegal(self) -> str:
        """Why rows may not be matched: the plan's certificate of equal text does not hold; empty where they may."""
        if self.plan.matching is None or not self.plan.matching.certificate:
            return ""
        holds = self.readings[f"{MATCHING}.mismatches"].value == 0
        return "" if holds else self.readings[next(iter(self.found.ids.values()))].reason

    @cached_property
    def bounds(self) -> list[tuple[str, float | None, bool]]:
        """Each band with its bound, None where it has none, and whether the bound belongs to it."""
        assert self.plan.verdict is not None, "nothing is compared without a verdict"
        found: list[tuple[str, float | None, bool]] = []
        for band in self.plan.verdict.bands:
            name = band.at_least or band.above
            bound = self.readings[name].value if name else None
            if name and not isinstance(bound, int | float):
                return []  # a bound has no value: no band can be told
            found.append((band.verdict, None if bound is None else float(bound), band.at_least is not None))
        return found

    def _band(self, value: float) -> str:
        for word, bound, included in self.bounds:
            if bound is None or _round(value) > _round(bound) or (included and _round(value) == _round(bound)):
                return word
        return ""

    def _pooled(self, first: np.ndarray, second: np.ndarray) -> Estimate:
        return difference(first, second, self.level)

    def _along(self, read: Callable[[np.ndarray, np.ndarray], Estimate]) -> Each:
        """What `read` gives for the two arms along each slope."""
        return tuple((slope, read(self.first[slope], self.second[slope])) for slope in self.found.slopes)

    # ---------------------------------------------------------------- one check

    def _check(
        self,
        name: str,
        estimate: Estimate | Each,
        /,
        *,
        method: str = "",
        unit: str | None = None,
        note: str = "",
        slope: str = "",
        details: Each = (),
        **filled: Any,
    ) -> Check:
        """The check `name`; an estimate along each slope becomes the least of them. `filled` goes into its words."""
        said = METHODS[method or name]
        if not isinstance(estimate, Estimate):
            details = (*(one for one in estimate if one[0]), *details)
            slope, estimate = _least(estimate)
        filled |= {"arm": self.found.arm, "against": self.found.against, "same_day": self.found.same_day}
        method_filled = replace(said, formula=said.formula.format(**filled))
        check = Check(
            name,
            said.what.format(**filled),
            method_filled,
            estimate,
            self.unit if unit is None else unit,
            slope=slope,
            note=note,
            details=tuple(details),
        )
        if not said.decides_like or estimate.value is None:
            return check
        check = replace(check, p=_p_of(estimate))
        return replace(check, band=self._band_of(check), flips=self._flips(check))

    def _band_of(self, check: Check) -> str:
        end = {"lower end": check.estimate.lo, "estimate": check.estimate.value}.get(self.deciding.figure)
        return self._band(end) if end is not None and check.unit == self.unit else ""

    def _flips(self, check: Check) -> tuple[str, ...]:
        """What of `check` differs from the deciding reading."""
        saving = self.deciding.saving.value
        if saving is None or check.estimate.value is None:
            return ()
        differs = {
            "sign": np.sign(_round(check.estimate.value)) != np.sign(_round(saving)),
            "band": self._band_of(check) not in ("", self.deciding.band),
        }
        return tuple(word for word, does in differs.items() if does)

    def checks(self) -> Iterator[Check]:
        """Every check, in the order in which they are shown; only the unmatched one where none may be matched."""
        if self.illegal:
            yield self._check("unmatched", self._curve([0.0], 0.0).estimates[0])
            return
        yield from self._matched_otherwise()
        yield self._ancova()
        yield self._check("welch", self._along(lambda one, other: welch(one, other, self.level)))
        yield self._test("permutation", lambda one, other: permutation_test(one, other, SEED))
        yield self._test("ranks", mann_whitney)
        yield self._hodges_lehmann()
        resampled = self._along(lambda one, other: exact_row_bootstrap(one, other, self.level, SEED).estimate)
        yield self._check("bootstrap", resampled)
        yield self._weighted()
        yield self._time_trend()
        yield self._check("relative", self._along(self._relative), unit="%")
        yield self._leave_one_out()
        yield self._rows_removed()
        yield from self._days()
        yield self._placebo()
        yield from self._charts()
        for arm in (self.found.against, self.found.arm):
            yield self._variance(arm)
        yield self._best_draws()

    # ---------------------------------------------------------------- matched otherwise

    def _matched_otherwise(self) -> Iterator[Check]:
        slopes = [slope for name, slope in self.found.slopes.items() if name]
        if not slopes:
            yield self._check(
                "unmatched", Estimate(None, reason="the plan matches along no slope: this is the reading")
            )
            return
        least, most = min(slopes), max(slopes)
        tried = {"unmatched": ("", 0.0)}
        tried |= {f"slope.{name}": ("slope.{name}", slope) for name, slope in self.found.slopes.items() if name}
        if least < most:
            tried["slope.between"] = ("", (least + most) / 2)
        tried |= {"slope.below": ("", least / 2), "slope.above": ("", 2 * most)}
        curve = self._curve([slope for _, slope in tried.values()], 0.0)
        for (name, (method, slope)), estimate in zip(tried.items(), curve.estimates, strict=True):
            yield self._check(name, estimate, method=method, b=f"{slope:.4g}", name=name.removeprefix("slope."))
        yield from self._flip_slopes(least, most)

    def _curve(self, slopes: Sequence[float], bar: float) -> SavingCurve:
        arms = [self.found.rows(self.rows, arm) for arm in (self.found.against, self.found.arm)]
        pairs = [rows[["step_ms", "tokens_per_step"]].to_numpy(dtype=float) for rows in arms]
        return saving_curve(*pairs, self.found.at, slopes, bar, self.level)

    def _flip_slopes(self, least: float, most: float) -> Iterator[Check]:
        """For each bound the slope, nearest to the plan's, at which the lower end is at it."""
        if self.deciding.figure != "lower end":
            return
        reach = FAR * max(abs(least), abs(most))
        for number, (band, bound, _) in enumerate(self.bounds, 1):
            if bound is None:
                continue
            curve = self._curve([-reach, reach], bound)
            note = ""
            estimate = Estimate(None, reason=curve.reason or f"none from {-reach:.4g} to {reach:.4g} ms per token")
            if curve.flips:
                nearest = min(curve.flips, key=lambda b: max(least - b, b - most))
                estimate = Estimate(nearest)
                inside = least <= nearest <= most
                note = "between the plan's slopes" if inside else f"the plan's slopes are {least:g} to {most:g}"
            yield self._check(
                f"slope.flip.{number}",
                estimate,
                method="slope.flip.{number}",
                unit="ms per token",
                note=note,
                band=band,
                bound=f"{bound:g}",
            )

    # ---------------------------------------------------------------- other statistics of the same rows

    def _ancova(self) -> Check:
        if self.found.column != "step_ms":
            return self._check("ancova", Estimate(None, reason=f"{self.found.column} is no time per verify step"))
        contrast = (self.found.against, self.found.arm)
        rows = self.rows[self.rows["arm"].isin(contrast)]
        found = ancova(rows["tokens_per_step"], rows["step_ms"], rows["arm"], contrast, self.level)
        estimate = found.difference
        if estimate.value is not None and not (self.plan.matching and self.plan.matching.certificate):
            estimate = replace(estimate, warnings=(*estimate.warnings, UNPROVEN))
        note = _slope_note(found, "ms per token")
        return self._check("ancova", estimate, note=note, details=(("slope", found.slope),))

    def _test(self, name: str, test: Callable[[np.ndarray, np.ndarray], Any]) -> Check:
        """A check that gives a p alone: the greatest over the slopes, against what the level leaves."""
        each = {slope: test(self.first[slope], self.second[slope]) for slope in self.found.slopes}
        failed = next((found.reason for found in each.values() if found.p is None), "")
        if failed:
            return self._check(name, Estimate(None, reason=failed))
        slope, found = max(each.items(), key=lambda one: one[1].p)
        sizes = len(self.first[slope]), len(self.second[slope])
        splits = comb(sum(sizes), sizes[0])
        least = (2 if sizes[0] == sizes[1] else 1) / splits
        alpha = 1 - self.level / 100
        note = f"all {splits:,} splits" if found.exact else ""
        flips: tuple[str, ...] = ()
        if least >= alpha:
            note = f"so few rows reach no p below {least:.2g}"
        elif self.deciding.saving.value is not None and (found.p < alpha) != self.deciding.told_from_zero:
            flips = ("told from zero",)
        details = tuple((f"{name}.p", Estimate(one.p)) for name, one in each.items() if name)
        estimate = Estimate(None, n=sum(sizes), warnings=found.warnings)
        return replace(
            self._check(name, estimate, unit="", note=note, slope=slope, details=details), p=found.p, flips=flips
        )

    def _hodges_lehmann(self) -> Check:
        def read(first: np.ndarray, second: np.ndarray) -> Estimate:
            found = hodges_lehmann(first, second, self.level)
            if found.estimate.value is None and found.median is not None:
                return Estimate(found.median, n=found.estimate.n, warnings=(found.estimate.reason,))
            return found.estimate

        check = self._check("hodges_lehmann", self._along(read))
        reached = check.estimate.level
        return replace(check, note=f"the interval reaches {reached:.1f} %") if reached is not None else check

    def _draws(self, arm: str, slope: str) -> list[np.ndarray]:
        """The values of the draws of each row of an arm, rows in the order of their start."""
        column = self.found.column_of(slope)
        by_row = {row: frame[column].to_numpy(dtype=float) for row, frame in self.draws.groupby("row", sort=False)}
        return [by_row[row] for row in self.found.rows(self.rows, arm)["row"]]

    def _weighted(self) -> Check:
        arms = (self.found.against, self.found.arm)
        each = {slope: [self._draws(arm, slope) for arm in arms] for slope in self.found.slopes}
        sizes = {len(row) for of_slope in each.values() for arm in of_slope for row in arm}
        if len(sizes) < 2:
            return self._check("gls", Estimate(None, reason="every row has as many draws: all weigh the same"))
        read = tuple((slope, weighted_difference(*of_slope, self.level)) for slope, of_slope in each.items())
        return self._check("gls", read)

    def _time_trend(self) -> Check:
        arms = [arm for arm in (self.found.against, self.found.arm, self.found.same_day) if arm]
        rows = self.rows[self.rows["arm"].isin(arms)]
        session = self._session(rows)
        began = rows["started"].groupby(session).transform("min")
        hours = (rows["started"] - began).dt.total_seconds() / 3600
        contrast = (self.found.against, self.found.arm)
        each = {
            slope: time_trend(hours, rows[self.found.column_of(slope)], rows["arm"], contrast, self.level)
            for slope in self.found.slopes
        }
        assumed = self._assumed_starts(rows)
        read = tuple((slope, _warned(one.difference, assumed)) for slope, one in each.items())
        slopes = tuple((f"{slope}.per_hour".lstrip("."), one.slope) for slope, one in each.items())
        check = self._check("time_trend", read, details=slopes)
        return replace(check, note=_slope_note(each[check.slope], "ms per hour"))

    def _session(self, rows: pd.DataFrame) -> pd.Series:
        """Which rows ran in one go: those of an earlier day, and those of this plan."""
        return rows["arm"].map(lambda arm: str(self.plan.arms[arm].earlier or ""))

    def _assumed_starts(self, rows: pd.DataFrame) -> str:
        """A warning where start times were not measured; empty where all were."""
        records = self.records[self.records["row"].isin(rows["row"])]
        if "assumed" not in records:
            return ""
        assumed = int(records["assumed"].fillna("").astype(str).str.contains("started").sum())
        return f"the start times of {assumed} of {len(records)} rows are assumed" if assumed else ""

    def _relative(self, first: np.ndarray, second: np.ndarray) -> Estimate:
        found = relative_saving(first, second, self.level)
        if found.value is None:
            return found
        return replace(found, value=100 * found.value, lo=100 * found.lo, hi=100 * found.hi, sd=None)

    # ---------------------------------------------------------------- without some rows

    def _leave_one_out(self) -> Check:
        every = [
            (slope, out)
            for slope in self.found.slopes
            for out in leave_one_out(self.first[slope], self.second[slope], self.level, self.names, self.other_names)
        ]
        each = tuple((f"{slope}.{out.row}".lstrip("."), out.estimate) for slope, out in every)
        worst, estimate = _least(each)
        slope, out = every[[name for name, _ in each].index(worst)]
        check = self._check("leave_one_out", estimate, slope=slope, details=each, note=f"without {out.row}")
        turns: dict[str, tuple[str, ...]] = {}
        for _, one in every:
            turns[one.row] = (*turns.get(one.row, ()), *self._flips(replace(check, estimate=one.estimate)))
        rows = [row for row, words in turns.items() if words]
        if not rows or estimate.value is None:
            return check
        flips = tuple(word for word in ("sign", "band") if any(word in words for words in turns.values()))
        alone = f"{rows[0]}" if len(rows) == 1 else f"any one of {', '.join(rows)}"
        differ = f"{' and '.join(flips)} differ{'s' if len(flips) == 1 else ''}"
        return replace(check, flips=flips, note=f"without {out.row}; {differ} without {alone}")

    def _rows_removed(self) -> Check:
        """How many rows would have to go for another band, whichever they are."""
        names = [*self.names, *self.other_names]
        n, tried = len(names), 0
        value = self.deciding.value
        reason = self.deciding.reason
        if value is None or self.deciding.figure != "lower end":
            reason = reason or "the plan decides on no lower end"
            return self._check("rows_removed", Estimate(None, n=n, reason=reason), unit="rows")
        for k in range(1, n - 3):
            if comb(n, k) > MOST_SUBSETS:
                break
            gone = np.array(list(combinations(range(n), k)))
            lower = self._lower_ends_without(gone)
            if not np.isfinite(lower).any():
                break
            tried = k
            moved = np.array([isfinite(end) and self._band(float(end)) != self.deciding.band for end in lower])
            if moved.any():
                place = int(np.argmax(np.where(moved, np.abs(lower - value), -1)))
                rows = " and ".join(names[i] for i in gone[place])
                note = f"without {rows} the lower end is {_minus(lower[place])}, {self._band(float(lower[place]))}"
                note += f"; {int(moved.sum()):,} of {len(gone):,} choices move it"
                return self._check("rows_removed", Estimate(k, n=n), unit="rows", note=note)
        reason = (
            f"no {tried} of the {n} rows are enough; larger sets were not tried"
            if tried
            else "too few rows to leave out"
        )
        return self._check("rows_removed", Estimate(None, n=n, reason=reason), unit="rows")

    def _lower_ends_without(self, gone: np.ndarray) -> np.ndarray:
        """The least lower end over the slopes without each set of rows; NaN where an arm keeps fewer than two."""
        stays = np.ones((len(gone), len(self.names) + len(self.other_names)), dtype=bool)
        stays[np.arange(len(gone))[:, None], gone] = False
        kept = stays[:, : len(self.names)], stays[:, len(self.names) :]
        enough = (kept[0].sum(axis=1) >= 2) & (kept[1].sum(axis=1) >= 2)
        kept = kept[0][enough], kept[1][enough]
        sizes = kept[0].sum(axis=1), kept[1].sum(axis=1)
        df = sizes[0] + sizes[1] - 2
        t = scipy.stats.t.ppf(0.5 + self.level / 200, df)
        ends = np.full(len(df), np.inf)
        for slope in self.found.slopes:
            centre = self.first[slope].mean()
            first, second = self.first[slope] - centre, self.second[slope] - centre
            means = kept[0] @ first / sizes[0], kept[1] @ second / sizes[1]
            squares = kept[0] @ first**2 - sizes[0] * means[0] ** 2 + kept[1] @ second**2 - sizes[1] * means[1] ** 2
            se = np.sqrt(np.maximum(0, squares) / df * (1 / sizes[0] + 1 / sizes[1]))
            ends = np.minimum(ends, means[0] - means[1] - t * se)
        found = np.full(len(gone), np.nan)
        found[enough] = ends
        return found

    # ---------------------------------------------------------------- the day

    def _days(self) -> Iterator[Check]:
        found = self.found
        if found.same_day:
            old = {slope: found.values(self.rows, found.same_day, slope) for slope in found.slopes}
            yield self._check("same_day", tuple((s, self._pooled(old[s], self.second[s])) for s in found.slopes))
        earlier = [arm for arm in (found.against, found.arm) if self.plan.arms[arm].earlier]
        if len(earlier) != 1:
            reason = "both arms ran on the same days: an effect of the day falls out"
            yield self._check("day.tipping", Estimate(None, reason=reason))
            return
        days = int(found.rows(self.rows, earlier[0])["started"].dt.date.nunique())
        yield self._tipping(days)
        sd = self.deciding.saving.sd
        for share in DAY_SHARES if sd is not None else ():
            each = tuple(
                (slope, tau_sweep(one, [share * sd], self.level, days)[0]) for slope, one in self._along(self._pooled)
            )
            filled = {"share": f"{share:g}", "tau": f"{share * sd:.3f}"}
            yield self._check(f"day.tau.{share:g}", each, method="day.tau.{share}", **filled)

    def _tipping(self, days: int) -> Check:
        """How large an effect of the day would take the lower end to the bound that it reached."""
        deciding = self.deciding
        reason = deciding.reason or ("" if deciding.figure == "lower end" else "the plan decides on no lower end")
        bound = next((bound for band, bound, _ in self.bounds if band == deciding.band), None)
        if not reason and bound is None:
            reason = "the lower end reaches no bound: no effect of the day is needed"
        if reason or bound is None:
            return self._check("day.tipping", Estimate(None, reason=reason))
        tips: dict[str, float] = {}
        for slope, one in self._along(self._pooled):
            t = float(scipy.stats.t.ppf(0.5 + self.level / 200, one.df))
            tips[slope] = day_tipping(one.value, bound, t, one.se)
        slope = min(tips, key=tips.__getitem__)
        one_day = tips[slope] / sqrt(1 + 1 / days)
        note = f"bound {bound:g}; {one_day:.3f} for each day, with {_counted(days, 'earlier day')}"
        details = tuple((name, Estimate(tip)) for name, tip in (*tips.items(), ("one_day", one_day)))
        return self._check("day.tipping", Estimate(tips[slope]), slope=slope, note=note, details=details)

    # ---------------------------------------------------------------- the compared arm against itself

    def _placebo(self) -> Check:
        rows, pick = len(self.names), len(self.other_names)
        if not 0 < pick < rows:
            reason = f"{self.found.against} has {_counted(rows, 'row')}, too few to split {pick} off"
            return self._check("placebo", Estimate(None, reason=reason), unit="%")
        each = {slope: placebo(self.first[slope], pick, 0.0, self.level, SEED) for slope in self.found.slopes}
        failed = next((found.reason for found in each.values() if found.share is None), "")
        if failed:
            return self._check("placebo", Estimate(None, reason=failed), unit="%")
        slope, found = max(each.items(), key=lambda one: one[1].share)
        note = f"{found.carried} of {found.splits:,}, {pick} rows against the rest; expected {100 * found.expected:g} %"
        details = tuple((name, Estimate(100 * one.share, n=one.splits)) for name, one in each.items() if name)
        estimate = Estimate(100 * found.share, n=found.splits, warnings=found.warnings)
        return self._check("placebo", estimate, unit="%", slope=slope, note=note, details=details)

    def _charts(self) -> Iterator[Check]:
        slope = self.deciding.slope
        values = self.first[slope]
        assumed = self._assumed_starts(self.found.rows(self.rows, self.found.against))
        for name, chart in (("chart.individuals", individuals_chart(values)), ("chart.ewma", ewma_chart(values))):
            yield self._chart(name, chart, slope, assumed)

    def _chart(self, name: str, chart: Chart, slope: str, assumed: str) -> Check:
        if chart.reason:
            return self._check(name, Estimate(None, n=len(chart.points), reason=chart.reason), unit="rows")
        limits = f"limits {chart.lo[-1]:.3f} to {chart.hi[-1]:.3f}"
        rows = [self.names[place] for place in chart.shifts]
        points = zip(self.names, chart.points, chart.lo, chart.hi, strict=True)
        return self._check(
            name,
            _warned(Estimate(len(rows), n=len(chart.points)), assumed),
            unit="rows",
            slope=slope,
            note="; ".join([*filter(None, [", ".join(rows)]), limits]),
            details=tuple((row, Estimate(point, lo, hi)) for row, point, lo, hi in points),
        )

    # ---------------------------------------------------------------- what varies

    def _variance(self, arm: str) -> Check:
        slope = self.deciding.slope
        found = components(self._draws(arm, slope))
        if found.var_b is None or found.var_w is None:
            estimate = Estimate(None, n=found.draws, reason=found.reason)
            return self._check(f"variance.{arm}", estimate, method="variance.{name}", unit="", name=arm)
        between, within = sqrt(found.var_b), sqrt(found.var_w)
        warning = "rows differ no more than their draws explain: σ_B² stands at 0" if found.boundary else ""
        return self._check(
            f"variance.{arm}",
            _warned(Estimate(found.icc, n=found.draws), warning),
            method="variance.{name}",
            unit="",
            slope=slope,
            note=f"sd between rows {between:.3f}, of draws in a row {within:.3f}",
            details=(("sd_between", Estimate(between)), ("sd_within", Estimate(within))),
            name=arm,
        )

    def _best_draws(self) -> Check:
        """How many draws a row should have, for what a start and a draw cost."""
        slope = self.deciding.slope
        pooled = pooled_components([self._draws(arm, slope) for arm in (self.found.against, self.found.arm)])
        start, a_draw = self._costs()
        reason = pooled.reason or (
            "" if start and a_draw else "the times between starts do not tell what a start costs"
        )
        if reason:
            return self._check("best_draws", Estimate(None, reason=reason), unit="draws")
        best = best_draws(start, a_draw, pooled.var_w, pooled.var_b)
        said = f"a start costs {start:.0f} s, a draw {a_draw:.0f} s"
        if best.draws is None or best.exact is None:
            reason = f"as many as fit: rows do not differ beyond their draws ({said})"
            return self._check("best_draws", Estimate(None, reason=reason), unit="draws")
        planned = f"; planned {self.plan.rows.draws}" if self.plan.rows else ""
        estimate = _warned(Estimate(best.draws), self._assumed_starts(self.rows))
        note = f"{said}; m* = {best.exact:.2f}{planned}"
        return self._check("best_draws", estimate, unit="draws", slope=slope, note=note)

    def _costs(self) -> tuple[float, float]:
        """Seconds that a row costs before its first draw, and a draw; 0 where the times between starts do not tell."""
        session = self._session(self.rows)
        between = self.rows.groupby(session)["started"].diff().dt.total_seconds()
        time = self.rows["model_time_s"]
        spent = (time * self.rows["row"].map(self.draws.groupby("row").size())).groupby(session).shift(1)
        starts = (between - spent).dropna()
        start, a_draw = float(starts.median()) if len(starts) else 0.0, float(np.mean(time.to_numpy(dtype=float)))
        return (start, a_draw) if start > 0 and a_draw > 0 and isfinite(a_draw) else (0.0, 0.0)


def _least(each: Each) -> tuple[str, Estimate]:
    """The one with the least lower end; the first without a value where there is one: then the least has none."""
    return next((one for one in each if one[1].value is None), None) or min(each, key=lambda one: _end(one[1]))


def _end(estimate: Estimate) -> float:
    """The lower end; the value where there is no interval."""
    end = estimate.lo if estimate.lo is not None else estimate.value
    assert isinstance(end, int | float), "an estimate with a value has an end"
    return end


def _p_of(estimate: Estimate) -> float | None:
    """Two-sided p of an estimate with a t interval; None for another."""
    if not isinstance(estimate.value, float) or not estimate.se or estimate.df is None:
        return None
    return float(2 * scipy.stats.t.sf(abs(estimate.value) / estimate.se, estimate.df))


def _slope_note(found: Ancova, unit: str) -> str:
    """The slope that was estimated beside the difference, in words."""
    one = found.slope
    return "" if one.value is None else f"slope {one.value:.3f} [{one.lo:.3f}, {one.hi:.3f}] {unit}".replace("-", "−")


def _warned(estimate: Estimate, warning: str) -> Estimate:
    return replace(estimate, warnings=(*estimate.warnings, warning)) if warning and not estimate.reason else estimate


def _round(value: float) -> float:
    return round(value, COMPARISON_DIGITS)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _minus(value: float) -> str:
    """Three decimals, with the sign that a reader expects."""
    return f"{value:.3f}".replace("-", "−")
