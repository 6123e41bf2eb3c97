"""The count: the saving that a kernel's saving per call, times its calls per verify step, implies at a mix of contexts.

`count`  savings of pairs, weighted by the mix, times calls, with an interval over starts or over the pairs
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from campaign.analysis.errors import ReadingError
from campaign.analysis.inference import Estimates, Inference, Known
from campaign.analysis.intervals import Estimate, paired_mean, stratified_sum
from campaign.analysis.kinds import families, slug, text_of_where
from campaign.analysis.readings import match_ids
from campaign.engine.plan import Constant
from campaign.engine.strict import Text
from campaign.kernels.errors import nearest

DUST = 1e-9
"""How far shares may add up beside one: they are typed as decimals."""


class Count(Inference):
    """Sum over places of share × calls × mean saving of a call, over the pairs timed at each place.

    Shares and calls are constants, so that a seal covers them; the interval takes them as they are stated. With
    `over` it is over counts of their own, as those of the starts of a program: what the pairs of one start share does
    not pass for agreement. Without it, pairs count as independent.
    """

    kind: Literal["count"]
    table: Text
    where: str = ""
    value: Text = "(against_us - kernel_us) / 1000"
    """An expression over the columns: what one call saves, ms."""
    pair: Text = "pair"
    """The column that numbers the pairs of a place: no number comes twice, or `where` chooses more than one contest."""
    over: str = ""
    """The column that tells apart what is independent, as the start in which a pair was timed."""
    on: Text
    """The column whose values are places in the mix, as the length of a row."""
    mix: Text
    """Constants with the share of verify steps at each place, as mix.*: the star stands for the value of `on`."""
    by: str = ""
    """A column that tells calls apart which come beside each other in every verify step, as the kind of layer."""
    calls: Text
    """The constant with the calls a verify step; with `by` a pattern, as calls.*: the star stands for its value."""

    def estimates(self, known: Known) -> Estimates:
        """The count; unresolved where a place lacks pairs, or pairs lack a place."""
        faults = list(self.faults(known.view.constants))
        if faults:
            raise ReadingError(faults[0])
        frame = known.view.records(self.table, self.where)
        if not len(frame):
            return [(self.id, Estimate(None, reason=f"no record of {self.table}{text_of_where(self.where)}"))]
        if self.over in frame and frame[self.over].isna().any():
            return [(self.id, Estimate(None, n=len(frame), reason=f"{self.over} is empty in some of {self.table}"))]
        values = known.view.values(frame, self.value, self.table)
        if values.dtype.kind not in "iuf":
            raise ReadingError(f"{self.value} holds no numbers; expected what one call saves. Correct `value`.")
        factors, strata = self._factors(known.view.constants), self._strata(frame, values)
        reason = self._reason(factors, strata)
        if reason:
            return [(self.id, Estimate(None, n=len(frame), reason=reason))]
        weighted = {place: factor for place, factor in factors.items() if factor}
        if self.over:
            return [(self.id, self._over_units(frame[self.over], strata, weighted, known.level))]
        saved = [strata[place].to_numpy(dtype=float) for place in weighted]
        return [(self.id, stratified_sum(saved, list(weighted.values()), known.level))]

    @property
    def formula(self) -> str:
        """As a person would write it."""
        over = f"{self.on} and {self.by}" if self.by else self.on
        return (
            f"Σ over {over} of {self.mix} × {self.calls} × mean of {self.value} over the pairs of "
            f"{self.table}{text_of_where(self.where)}; "
            + (f"t over {self.over}" if self.over else "t, degrees of freedom after Satterthwaite")
        )

    def faults(self, constants: Mapping[str, Constant]) -> Iterator[str]:
        """What is wrong with the constants, known before the data: none named, no numbers, shares that miss 1."""
        found = [*_fault("mix", self.mix, True, constants), *_fault("calls", self.calls, bool(self.by), constants)]
        yield from found
        if found:
            return
        shares = [float(constants[name].value) for name in match_ids(self.mix, constants)]
        if abs(sum(shares) - 1) > DUST:
            yield f"mix: the shares {self.mix} add up to {sum(shares):.6g}; expected 1. Correct the constants."
        if not any(constants[name].value for name in match_ids(self.calls, constants)):
            yield f"calls: {self.calls} is 0; expected a call in a verify step. Correct the constant."

    def _factors(self, constants: Mapping[str, Constant]) -> dict[tuple[str, ...], float]:
        """Share times calls of each place: by the value of `on` and, where there is one, of `by`."""

        def of(pattern: str) -> dict[str, float]:
            stem = pattern.removesuffix("*")
            return {name.removeprefix(stem): float(constants[name].value) for name in match_ids(pattern, constants)}

        shares = of(self.mix)
        if not self.by:
            calls = float(constants[self.calls].value)
            return {(place,): share * calls for place, share in shares.items()}
        return {
            (place, kind): share * calls for place, share in shares.items() for kind, calls in of(self.calls).items()
        }

    def _strata(self, frame: pd.DataFrame, values: pd.Series) -> dict[tuple[str, ...], pd.Series]:
        """What the pairs of each place save; ReadingError where a pair's number comes twice at one."""
        for key, name in (("pair", self.pair), ("over", self.over)):
            if name and name not in frame:
                raise ReadingError(
                    f"table {self.table}: there is no column {name!r}; expected one of {', '.join(frame.columns)}."
                    f"{nearest(name, frame.columns)} Correct `{key}`."
                )
        strata: dict[tuple[str, ...], pd.Series] = {}
        columns = [self.on, *([self.by] if self.by else [])]
        for found, group in families(frame, columns, self.table):
            place = tuple(_part(one) for one in found)
            numbers = [name for name in (self.over, self.pair) if name]
            twice = group[group.duplicated(numbers)]
            if len(twice):
                raise ReadingError(
                    f"{self.pair} {twice[self.pair].iloc[0]} comes twice at {self._named(place)}: several contests "
                    "are chosen; expected the pairs of one. Choose it with `where`."
                )
            strata[place] = values.loc[group.index]
        return strata

    def _reason(self, factors: Mapping[tuple[str, ...], float], strata: Mapping[tuple[str, ...], pd.Series]) -> str:
        """Why there is no count: a place of the mix without two pairs, or pairs at a place that has no share."""
        for place, pairs in strata.items():
            if place not in factors:
                return f"pairs at {self._named(place)}, to which {self.mix} and {self.calls} give nothing"
            lacking = int(pairs.isna().sum())
            if lacking:
                where = self._named(place)
                return f"{lacking} of {len(pairs)} pairs at {where} have no value (a wrong answer has no time)"
        for place, factor in factors.items():
            have, need = len(strata.get(place, ())), 1 if self.over else 2
            if factor and have < need:
                return f"need {need} or more pairs at {self._named(place)}, have {have}"
        return ""

    def _over_units(
        self,
        units: pd.Series,
        strata: Mapping[tuple[str, ...], pd.Series],
        factors: Mapping[tuple[str, ...], float],
        level: float,
    ) -> Estimate:
        """Mean of the count of each unit, with its t interval; each has to have pairs at every place."""
        means = {place: strata[place].groupby(units.loc[strata[place].index]).mean() for place in factors}
        for place, found in means.items():
            lacking = sorted(set(units) - set(found.index))
            if lacking:
                reason = f"{self.over} {lacking[0]} has no pair at {self._named(place)}"
                return Estimate(None, n=len(units), reason=reason)
        counts = sum(factor * means[place] for place, factor in factors.items()).to_numpy(dtype=float)
        if len(counts) < 2:
            reason = f"need at least two values of {self.over} for an interval, have {len(counts)}"
            return Estimate(None, n=len(counts), reason=reason)
        return paired_mean(counts, level)

    def _named(self, place: tuple[str, ...]) -> str:
        return ", ".join(f"{column} {value}" for column, value in zip((self.on, self.by), place, strict=False))


def _fault(key: str, pattern: str, starred: bool, constants: Mapping[str, Constant]) -> Iterator[str]:
    """What is wrong with the constants that one key names; the first thing only."""
    if pattern.count("*") != starred or (starred and not pattern.endswith(".*")):
        expected = f"a pattern that ends in a star, as {key}.*" if starred else "the id of one constant (no `by`)"
        yield f"{key} is {pattern!r}; expected {expected}. Correct it."
        return
    found = match_ids(pattern, constants)
    if not found:
        yield f"{key} is {pattern!r}, which no constant fits; expected some. Add them."
    for name in found:
        number = constants[name].value
        if isinstance(number, str) or not np.isfinite(number) or number < 0:
            yield f"{key}: {name} is {number!r}; expected a number from 0 on. Correct the constant."
            return


def _part(value: Any) -> str:
    """A column's value as a part of an id."""
    return slug(int(value) if isinstance(value, float) and value.is_integer() else value)
