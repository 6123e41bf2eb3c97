"""A part's readings, computed from its plan and data alone: the same input gives the same readings."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from campaign.analysis import kinds
from campaign.analysis.compared import DEFAULT_LEVEL
from campaign.analysis.counts import Count
from campaign.analysis.errors import ReadingError, UnknownReading
from campaign.analysis.expressions import Expression, Undefined, parse
from campaign.analysis.inference import INFERENCES, Inference, Known
from campaign.analysis.interim import Look, state_of
from campaign.analysis.intervals import Estimate
from campaign.analysis.readings import Reading, Readings, match_ids
from campaign.analysis.rows import earlier_rows, missing_rows, served_tables
from campaign.analysis.rule import MATCHING, declarations
from campaign.analysis.verdict import decide
from campaign.engine.data import Data
from campaign.engine.plan import LEVEL, Plan
from campaign.engine.strict import ID, parse_strict
from campaign.kernels.errors import nearest

KINDS = kinds.KINDS | INFERENCES | {"count": Count}


def read(plan: Plan, data: Data, where: str, looks: Sequence[Look] = ()) -> Readings:
    """Every reading that the plan compiles to, and its constants; `where` names the plan in errors.

    Declarations are computed from the top; an expression uses what stands above it. What cannot be computed
    is a reading without value and with the reason. While planned rows are missing no reading has a value, unless one
    of `looks` was taken at just these rows; a look that the plan does not provide for marks every reading for good.
    """
    computation = _Computation(plan, data, where, looks)
    declared = declarations(plan)
    for declaration in declared:
        computation.add(declaration)
    families = [str(said["id"]) for said in declared if "{" in str(said.get("id"))]
    pending = dict.fromkeys(families, computation.incomplete) if computation.incomplete else {}
    return Readings(computation.known, where, pending)


class _Computation:
    def __init__(self, plan: Plan, data: Data, where: str, looks: Sequence[Look]) -> None:
        self.plan = plan
        self.data = data
        self.where = where
        self.known: dict[str, Reading] = {
            name: Reading(name, said.value, said.unit, said.print, role="constant", because=said.because)
            for name, said in plan.constants.items()
        }
        level = float(self.known[LEVEL].value) if LEVEL in self.known else DEFAULT_LEVEL  # type: ignore[arg-type]
        self.view = kinds.TableView(served_tables(plan, data), plan.constants)
        state = state_of(plan, missing_rows(plan, data), looks, level, earlier_rows(plan, data))
        self.level = state.level
        self.incomplete = state.incomplete
        self.interim = state.interim

    def add(self, declaration: dict[str, Any]) -> None:
        """Compute one declaration and everything that it gives."""
        name = declaration.get("id", "without id")
        kind = declaration.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            what = f"kind is {kind!r}" if "kind" in declaration else "kind is missing"
            raise ReadingError(
                f"{self.where}: reading {name}: {what}; expected one of {', '.join(KINDS)}."
                f"{nearest(str(kind), KINDS)} Name one of them."
            )
        said = parse_strict(KINDS[kind], declaration, f"{self.where}: reading {name}")
        matched = re.search(r"\bmatched_", f"{getattr(said, 'column', '')} {getattr(said, 'where', '')}")
        illegal = self._illegal_matching() if matched else ""
        try:
            found = list(self._compute(said))
        except UnknownReading as wrong:
            if not self.incomplete:
                raise ReadingError(f"{self.where}: reading {name}: {wrong}") from None
            # it may be a member of a family whose records are still to come
            found = [] if "{" in said.id else [Reading(said.id, None, said.unit, said.print)]
        except (ReadingError, Undefined) as wrong:
            raise ReadingError(f"{self.where}: reading {name}: {wrong}") from None
        for reading in found:
            if reading.id in self.known:
                raise ReadingError(f"{self.where}: reading {reading.id}: the id stands twice. Rename one.")
            if not ID.fullmatch(reading.id):
                raise ReadingError(
                    f"{self.where}: reading {reading.id!r}: not an id; expected words joined by dots. Rename it."
                )
            if illegal:
                reading = replace(reading, value=None, aspects={}, operands=(), warnings=(), reason=illegal)
            if self.incomplete and reading.role != "constant":
                # warnings too: one may tell how the pairs of a lever go together
                reading = replace(reading, value=None, aspects={}, operands=(), warnings=(), reason=self.incomplete)
            if self.interim and reading.role != "constant":
                reading = replace(reading, warnings=(*reading.warnings, self.interim))
            self.known[reading.id] = reading

    def _compute(self, said: Any) -> Iterator[Reading]:
        if isinstance(said, kinds.Arms):
            self._check_arms(said)
        if isinstance(said, Inference):
            try:
                members = said.estimates(Known(self.view, self.level, self._constant, self._above))
            except Undefined as why:
                if "{" in said.id:
                    raise  # nobody knows which members there would be
                members = [(said.id, Estimate(None, reason=str(why)))]
            for name, estimate in members:
                yield self._reading(said, name, estimate, said.formula)
        elif isinstance(said, kinds.Stat | kinds.Ratio):
            members = kinds.stat(self.view, said) if isinstance(said, kinds.Stat) else kinds.ratio(self.view, said)
            for name, estimate in members:
                reading = self._reading(said, name, estimate, formula_of(said))
                is_name = isinstance(said, kinds.Ratio) and isinstance(estimate.value, str)
                yield replace(reading, print="", unit="") if is_name else reading
        elif isinstance(said, kinds.Saving | kinds.Drift | kinds.Difference):
            yield self._reading(said, said.id, kinds.arms(self.view, said, self.level), formula_of(said))
        elif isinstance(said, kinds.Paired):
            try:
                estimate = kinds.paired(self.view, said, self.level)
            except Undefined as why:
                estimate = Estimate(None, reason=str(why))
            yield self._reading(said, said.id, estimate, formula_of(said))
        elif isinstance(said, kinds.Expr):
            for name, fill in self._members(said):
                yield self._expression(said, name, fill)
        elif isinstance(said, kinds.Choice):
            for name, fill in self._members(said):
                yield self._choice(said, name, fill)
        else:
            yield self._verdict(said)

    def _illegal_matching(self) -> str:
        """Why tokens per step may not be matched: the plan's certificate of equal bytes does not hold."""
        if self.plan.matching is None or not self.plan.matching.certificate:
            return ""
        mismatches = self.known[f"{MATCHING}.mismatches"]
        if mismatches.value is None:
            return f"matching is not legal: its certificate has no value: {mismatches.reason}"
        rows = self.known[f"{MATCHING}.rows"].value
        return f"matching is not legal: {mismatches.value} of {rows} rows differ" if mismatches.value else ""

    def _check_arms(self, said: kinds.Arms) -> None:
        """Refuse an arm or a slope that the plan does not have."""
        for key, name in (("arm", said.arm), ("against", said.against)):
            if name not in self.plan.arms:
                raise ReadingError(
                    f"{key} is {name!r}; expected one of {', '.join(self.plan.arms) or 'none yet'}."
                    f"{nearest(name, self.plan.arms)} Correct it, or add it under [arms]."
                )
        if isinstance(said, kinds.Matched) and said.slope:
            slopes = self.plan.matching.slopes if self.plan.matching else {}
            if said.slope not in slopes:
                raise ReadingError(
                    f"slope is {said.slope!r}; expected one of {', '.join(slopes) or 'none yet'}."
                    f"{nearest(said.slope, slopes)} Correct it, or add it to matching.slopes."
                )

    def _members(self, said: kinds.Expr | kinds.Choice) -> Iterator[tuple[str, Callable[[str], str]]]:
        """The id and the filling-in of {0} for each member of a family; the id itself where it is none."""
        if not said.for_each:
            yield said.id, lambda text: text
            return
        if said.for_each.count("*") != 1 or "{0}" not in said.id:
            raise ReadingError(
                f"for_each is {said.for_each!r} and the id {said.id!r}; expected a pattern with one *, as row.*, and "
                "an id with {0} where the star's part goes. Correct them."
            )
        before, after = said.for_each.split("*")
        found = match_ids(said.for_each, self.known)
        if not found:
            raise self._unknown(said.for_each)
        for member in found:
            part = member.removeprefix(before).removesuffix(after)
            yield said.id.replace("{0}", part), lambda text, part=part: text.replace("{0}", part)

    def _expression(self, said: kinds.Expr, name: str, fill: Callable[[str], str]) -> Reading:
        expression = parse(fill(said.expr))
        try:
            value = _scalar(expression.value(self.lookup), said.id)
        except Undefined as why:
            return Reading(name, None, said.unit, said.print, formula=expression.text, reason=str(why))
        operands = tuple(self._operands(expression))
        role = self._role(operands)
        return Reading(name, value, said.unit, said.print, formula=expression.text, operands=operands, role=role)

    def _role(self, operands: tuple[tuple[str, Any], ...]) -> str:
        """What is computed from constants alone, or from nothing, is as fixed as they are: no data can change it."""
        readings = Readings(self.known, self.where)
        return "constant" if all(readings[name].role == "constant" for name, _ in operands) else "reading"

    def _choice(self, said: kinds.Choice, name: str, fill: Callable[[str], str]) -> Reading:
        conditions = [parse(fill(case.when)) for case in said.cases if case.when]
        formula = "; ".join(f"{case.word} if {fill(case.when)}" if case.when else case.word for case in said.cases)
        try:
            word = kinds.choose(said, self.lookup, fill)
        except Undefined as why:
            return Reading(name, None, said.unit, formula=formula, reason=str(why))
        operands = tuple(item for condition in conditions for item in self._operands(condition))
        return Reading(name, word, said.unit, formula=formula, operands=operands, role=self._role(operands))

    def _verdict(self, said: kinds.VerdictWord) -> Reading:
        rule = self.plan.verdict
        if rule is None:
            raise ReadingError("the plan has no [verdict]; expected its reading and bands. Add it.")
        bands = ", ".join(
            f"{band.verdict}"
            + "".join(
                f" {sign} {bound}" for sign, bound in ((">=", band.at_least), (">", band.above)) if bound is not None
            )
            for band in rule.bands
        )
        formula = f"{rule.reading}: {bands}; guards: {', '.join(guard.name for guard in rule.guards) or 'none'}"
        try:
            decision = decide(self.plan, self.lookup)
        except Undefined as why:
            return Reading(said.id, None, formula=formula, reason=str(why))
        warnings = tuple(f"guard tripped: {name}" for name in decision.tripped) + decision.not_run
        operands = ((rule.reading, Readings(self.known, self.where)[rule.reading].value),)
        word = f"{decision.word} (interim)" if self.interim else decision.word
        return Reading(said.id, word, formula=formula, operands=operands, warnings=warnings)

    def _above(self, name: str) -> Reading:
        """The reading `name`, which something above declares."""
        try:
            return Readings(self.known, self.where)[name]
        except UnknownReading:
            raise self._unknown(name) from None

    def _constant(self, name: str) -> float:
        value = _value(self._above(name))
        if isinstance(value, str):
            raise ReadingError(f"{name} is {value!r}; expected a number. Name another.")
        return float(value)

    def lookup(self, name: str) -> Any:
        """The value of an id, or the array of values of a pattern; Undefined where one has no value."""
        readings = Readings(self.known, self.where)
        if "*" in name:
            found = readings.matching(name)
            if not found:
                raise self._unknown(name)
            return np.array([_value(readings[one]) for one in found])
        try:
            return _value(readings[name])
        except UnknownReading:
            raise self._unknown(name) from None

    def _unknown(self, name: str) -> UnknownReading:
        """The error for an id or a pattern that nothing declared so far fits."""
        below = [str(said.get("id")) for said in declarations(self.plan) if said.get("id") not in self.known]
        if "*" in name:
            return UnknownReading(f"no reading fits {name!r}; expected one declared above. Correct the pattern.")
        if name in below or name.rpartition(".")[0] in below:
            return UnknownReading(f"{name} is declared below; expected what it uses above it. Move it up.")
        return UnknownReading(
            f"there is no reading {name!r}; expected one declared above.{nearest(name, self.known)} Correct it."
        )

    def _operands(self, expression: Expression) -> Iterator[tuple[str, Any]]:
        readings = Readings(self.known, self.where)
        for name in expression.ids:
            for one in readings.matching(name) if "*" in name else [name]:
                yield one, readings[one].value

    def _reading(self, said: Any, name: str, estimate: Estimate, formula: str) -> Reading:
        if isinstance(estimate.value, float) and not isfinite(estimate.value):
            estimate = Estimate(None, n=estimate.n, reason=f"the value is {estimate.value}, no number")
        return Reading(
            name,
            estimate.value,
            said.unit,
            said.print,
            estimate.aspects(self.level),
            formula,
            warnings=estimate.warnings,
            reason=estimate.reason,
        )


def formula_of(said: Any) -> str:
    """How a declared reading is computed, in one line."""
    match said:
        case kinds.Stat():
            of = f" of {said.column}" if said.column else " of records"
            each = f", for each {', '.join(said.each)}" if said.each else ""
            scale = f" × {said.scale:g}" if said.scale != 1 else ""
            return f"{said.stat}{of} in {said.table}{kinds.text_of_where(said.where)}{each}{scale}"
        case kinds.Saving():
            return f"row mean of {said.against} − row mean of {said.arm}, {said.column}; pooled t over rows"
        case kinds.Drift() | kinds.Difference():
            return f"row mean of {said.arm} − row mean of {said.against}, {said.column}; pooled t over rows"
        case kinds.Paired() if said.weight_table:
            weight = f"{said.weight_table}.{said.weight}"
            return f"mean of {said.value} in {said.table}{kinds.text_of_where(said.where)}, weighted by {weight}"
        case kinds.Paired():
            return f"mean of {said.value} over the pairs of {said.table}{kinds.text_of_where(said.where)}; paired t"
        case kinds.Ratio():
            return (
                f"{said.stat} over {', '.join(said.pair)} of {said.column} where {said.top} / least {said.column} "
                f"where {said.bottom}"
            )
    raise ReadingError(f"no formula for {type(said).__name__}")


def _value(reading: Reading) -> Any:
    if reading.value is None:
        raise Undefined(f"{reading.id} is not resolved: {reading.reason}")
    return reading.value


def _scalar(value: Any, name: str) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int | float | str):
        raise ReadingError(f"{name}: the expression gives many values; expected one. Use min, max, mean, all or count.")
    return value
