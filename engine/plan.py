"""The plan of a part: what will be run and what would count, typed by a person before rows exist."""

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from campaign.engine.aggregate import Aggregate
from campaign.engine.errors import PlanError
from campaign.engine.records import KNOWN, known_schema
from campaign.engine.strict import Id, Strict, Text, parse_strict, read_toml
from campaign.engine.tables import Schema
from campaign.kernels.errors import nearest


class Constant(Strict):
    """A number or word that is fixed before the data: a bar, a slope, a published input."""

    value: int | float | str
    unit: str = ""
    print: str = ""
    """How it is printed where a quote names no format, as `.3f`."""
    because: Text
    """Where it comes from or why it has this value."""


class Question(Strict):
    """What the part asks."""

    text: Text
    author: Text
    rule_reader: str = ""
    """Who reads the rule once the rows are there."""


class Source(Strict):
    """Where the rows of a yardstick come from: an arm of an earlier part."""

    part: Annotated[str, Field(pattern=r"^part-\d+$")]
    arm: Text
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Of that part's rows, draws, tasks and power samples, so that what was fixed before the rows stays fixed."""


class Arm(Strict):
    """One named setting of the engine."""

    label: Text
    """How tables and prose name the arm."""
    earlier: date | None = None
    """The day on which its rows ran, for rows that are older than this plan (a yardstick)."""
    source: Source | None = None
    """Where a yardstick's rows are; without it they stand among the part's own."""
    settings: dict[str, str | int | float | bool] = {}
    """How the engine is started for it, where this program measures the rows itself."""


class Rows(Strict):
    """The rows that will run."""

    order: Annotated[list[str], Field(min_length=1)]
    """The arm of each row, in the order in which they start."""
    draws: Annotated[int, Field(ge=1)]
    """Draws in each row."""
    looks: Annotated[int, Field(ge=0)] = 0
    """Planned looks at the data before the last row."""
    look_after: list[Annotated[int, Field(ge=1)]] = []
    """After how many complete rows each planned look is taken."""
    boundary: Literal["pocock", "obrien-fleming"] | None = None
    """How the looks share the chance of a wrong positive; the plain interval is not for repeated looks."""
    replace: Literal["in its place", "at the end"] = "in its place"
    """When the row that replaces a void one runs."""
    replace_at_most: Annotated[int, Field(ge=0)] | None = None
    """How many void rows may be replaced; None sets no limit."""


class Matching(Strict):
    """How draws with different tokens per step are compared: each is shifted to one point along a slope."""

    at: Id
    """The constant to which draws are shifted, tokens per verify step."""
    slopes: Annotated[dict[Annotated[str, Field(pattern=r"^\w+$")], Id], Field(min_length=1)]
    """Name of each slope and the constant that holds it, ms per token."""
    certificate: str = ""
    """Which byte-equality checks (an expression over the table `equality`) prove that the change cannot alter the text.

    Tokens per step may be matched only then: otherwise they are an effect of the change. One mismatch, or no check at
    all, leaves every matched reading without value.
    """


class Saving(Strict):
    """What the part decides about: one arm's time per verify step against another's, over every slope."""

    arm: Text
    """The changed arm; its saving is positive where it is faster."""
    against: Text
    """The arm that it is compared with, as the yardstick."""
    same_day: str = ""
    """The baseline arm that ran between its rows: the same-day saving, and the drift of the day."""
    count: Id | None = None
    """The constant with the saving that a kernel's count implies, ms/verify step: kept or recounted."""
    margin: Id | None = None
    """The constant with the largest drift that counts as none, ms/verify step: for the equivalence test."""
    unit: str = "ms/verify step"
    print: str = ".3f"


class Lever(Strict):
    """A change that was tried, and the saving that it must reach."""

    id: Id
    label: Text
    bar: Id
    """The constant with the saving that it must reach, ms/verify step; written before it ran."""
    keep: Literal["lower end", "estimate"] = "lower end"
    """What must reach the bar: the lower end of the interval, or the estimate."""
    where: str = ""
    """Which kernel timings are its pairs."""
    table: str = "kernel_timings"
    value: str = "(served_us - changed_us) * calls / 1000"
    """What one pair saves, ms/verify step."""
    variants: Annotated[int, Field(ge=1)] = 1
    """How many variants compete; their intervals are then simultaneous."""
    autocorrelated: bool = False
    """Whether neighbouring pairs depend on each other; the interval then counts fewer of them."""
    reading: Id | None = None
    """A declared reading that holds the saving, in place of pairs."""
    certificate: str = ""
    """Which byte-equality checks (an expression over the table `equality`) it must pass: one mismatch fails it."""
    unit: str = "ms/verify step"
    print: str = ".3f"


class Planning(Strict):
    """What the planner assumes where no yardstick rows tell it."""

    sd: Id
    """The constant with the standard deviation of a row, ms/verify step."""
    time_sd: Id | None = None
    """The constant with the standard deviation of a row's model time, s/draw."""
    steps: Id | None = None
    """The constant with the verify steps of a draw."""
    power: Annotated[float, Field(gt=0, lt=1)] = 0.8
    """The chance of a positive verdict that the rows needed are computed for."""


class Power(Strict):
    """How power samples become a share."""

    floor: Id
    """The constant below which a sample counts as idle, W."""


class Measure(Strict):
    """How this program measures the rows itself."""

    engine: Literal["embedded"]
    seed: int
    """Draw d of every row uses this plus d."""
    temperature: float = 0.0
    """0 is greedy."""


class Band(Strict):
    """One verdict and the part of the line that it covers; bands are tried from the top."""

    verdict: Text
    at_least: Id | None = None
    above: Id | None = None


GUARDS = ("agentic failures", "passes", "drift", "power share", "completeness", "tokens per step")


class Guard(Strict):
    """A condition that holds a positive verdict, or marks it confounded: a known one by its kind, or an expression."""

    name: Text
    verdict: Literal["held", "confounded"]
    when: str = ""
    """An expression over readings; the guard trips where it is true."""
    kind: Literal[GUARDS] | None = None  # type: ignore[valid-type]
    """A guard whose readings and condition the plan's [saving] gives."""
    limit: Id | None = None
    """The constant that a guard of a kind compares with."""


class Verdict(Strict):
    """How the deciding reading becomes a word."""

    reading: Id
    """The reading that decides, usually the lower end of an interval."""
    bands: Annotated[list[Band], Field(min_length=1)]
    guards: list[Guard] = []
    negative: list[str] = ["rolled back"]
    """Verdicts that no guard may hide."""
    precedence: list[Literal["held", "confounded"]] = ["held", "confounded"]
    """Which word stands where guards of both verdicts trip: the first."""


class TableSpec(Strict):
    """A table whose columns the plan itself declares; with `group` one that is aggregated while it is read."""

    file: Text
    """Below the part; where it is aggregated also a pattern, as data/steps/*.parquet."""
    key: list[str] = []
    columns: Annotated[dict[str, str], Field(min_length=1)]
    group: list[str] = []
    """Columns of which each set of values gives one record."""
    sums: dict[str, Text] = {}
    """Name of each sum, its unit at the end, and an expression over the columns of a record."""
    count: str = ""
    """The column that holds the number of records of each group."""
    rest: str = ""
    """A file with the columns of a known table that the records do not give."""


class Plan(Strict):
    """A whole plan."""

    about: Text
    """One line: what this part is."""
    question: Question | None = None
    rounding: Literal["half away from zero"] = "half away from zero"
    """How figures are printed: on the decimal of the shortest representation, never −0."""
    constants: dict[Id, Constant] = {}
    tables: dict[str, str | TableSpec] = {}
    arms: dict[str, Arm] = {}
    rows: Rows | None = None
    matching: Matching | None = None
    saving: Saving | None = None
    lever: list[Lever] = []
    planning: Planning | None = None
    power: Power | None = None
    measure: Measure | None = None
    verdict: Verdict | None = None
    reading: list[dict[str, Any]] = []
    """Declarations of readings; `analysis` knows their kinds."""
    plot: list[dict[str, Any]] = []
    """Declarations of plots over readings."""

    def table(self, name: str, shown: str = "plan.toml") -> tuple[str, Schema | Aggregate]:
        """File of the table `name`, with its schema or how it is aggregated; `shown` is how an error names the plan."""
        said = self.tables[name]
        if isinstance(said, str):
            schema = known_schema(name)
            if schema is None:
                raise PlanError(
                    f"{shown}: tables.{name}: gives only a file, but no table of that name is known; expected one "
                    f"of {', '.join(KNOWN)}, or a table with file, key and columns.{nearest(name, KNOWN)} "
                    "Declare its columns."
                )
            return said, schema
        schema = Schema.parse(name, said.columns, said.key, f"{shown}: tables")
        if not (said.group or said.sums or said.count or said.rest):
            return said.file, schema
        where = f"{shown}: tables.{name}"
        return said.file, Aggregate.parse(schema, said.group, said.sums, said.count, said.rest, where)


def read_plan(path: Path, shown: str) -> Plan:
    """The plan in the file at `path`; `shown` is how an error names the file."""
    return parse_strict(Plan, read_toml(path, shown), shown, _check_plan)


def _check_plan(plan: Plan, shown: str) -> None:
    """Refuse a plan that names constants, arms or verdicts that it does not have, or says a thing twice."""
    for arm in plan.rows.order if plan.rows else ():
        if arm not in plan.arms:
            raise PlanError(
                f"{shown}: rows.order: names the arm {arm}; expected one of {', '.join(plan.arms) or 'none yet'}."
                f"{nearest(arm, plan.arms)} Correct it, or add it under [arms]."
            )
        if plan.arms[arm].earlier:
            raise PlanError(
                f"{shown}: rows.order: names the arm {arm}, whose rows ran earlier; expected arms that still run. "
                f"Take it out of the order, or remove arms.{arm}.earlier."
            )
    if plan.matching:
        _check_constant(plan, plan.matching.at, f"{shown}: matching.at")
        for slope, name in plan.matching.slopes.items():
            _check_constant(plan, name, f"{shown}: matching.slopes.{slope}")
    if plan.rows:
        _check_looks(plan.rows, f"{shown}: rows")
    for name, arm in plan.arms.items():
        if arm.source and not arm.earlier:
            raise PlanError(
                f"{shown}: arms.{name}: takes its rows from {arm.source.part} but has no `earlier`; expected the "
                "day on which they ran. Add it."
            )
    if plan.power:
        _check_constant(plan, plan.power.floor, f"{shown}: power.floor")
    if plan.saving:
        _check_saving(plan, plan.saving, f"{shown}: saving")
    if plan.planning:
        for key in ("sd", "time_sd", "steps"):
            if getattr(plan.planning, key):
                _check_constant(plan, getattr(plan.planning, key), f"{shown}: planning.{key}")
    for lever in plan.lever:
        _check_constant(plan, lever.bar, f"{shown}: lever {lever.id}.bar")
    certificates = [("matching.certificate", plan.matching.certificate)] if plan.matching else []
    certificates += [(f"lever {lever.id}.certificate", lever.certificate) for lever in plan.lever]
    for where, certificate in certificates:
        if certificate and "equality" not in plan.tables:
            raise PlanError(
                f"{shown}: {where}: {certificate!r} chooses records of the table `equality`, which the plan does not "
                "have; expected it under [tables]. Add it."
            )
    if LEVEL in plan.constants:
        _check_constant(plan, LEVEL, f"{shown}: constants.{LEVEL}")
        level = plan.constants[LEVEL].value
        if not 0 < level < 100:
            raise PlanError(
                f"{shown}: constants.{LEVEL}: found {level}; expected percent above 0 and below 100, as 95. Correct it."
            )
    if plan.verdict:
        _check_bands(plan.verdict, f"{shown}: verdict")
        for guard in plan.verdict.guards:
            _check_guard(plan, guard, f"{shown}: verdict: guard {guard.name!r}")
    seen: set[str] = set(plan.constants)
    for number, said in enumerate(plan.reading):
        name = said.get("id")
        if not isinstance(name, str):
            raise PlanError(f"{shown}: reading[{number}].id: found {name!r}; expected an id, as saving.low. Add one.")
        if name in seen:
            raise PlanError(f"{shown}: reading {name}: the id stands twice; expected each id once. Rename one.")
        seen.add(name)
    for name in plan.tables:
        plan.table(name, shown)


LEVEL = "interval.level"
"""The constant that holds the level of every interval in percent."""


def _check_constant(plan: Plan, name: str, where: str) -> None:
    """Refuse a name that is no constant, or one that holds no number."""
    if name not in plan.constants:
        raise PlanError(
            f"{where}: names {name}, which is no constant; expected one of "
            f"{', '.join(plan.constants) or 'none yet'}.{nearest(name, plan.constants)} Add it under [constants]."
        )
    if isinstance(plan.constants[name].value, str):
        raise PlanError(
            f"{where}: the constant {name} is {plan.constants[name].value!r}; expected a number. Correct the constant."
        )


def _check_bands(verdict: Verdict, where: str) -> None:
    """Refuse bands that nothing can reach, and negative verdicts that no band gives."""
    for number, band in enumerate(verdict.bands):
        if band.at_least is not None and band.above is not None:
            raise PlanError(
                f"{where}.bands[{number}]: {band.verdict} has at_least and above; expected at most one. Remove one."
            )
        if band.at_least is None and band.above is None and number < len(verdict.bands) - 1:
            raise PlanError(
                f"{where}.bands[{number}]: {band.verdict} has no bound, so the bands below it are never reached; "
                "expected at_least or above in every band but the last. Add one, or move the band to the end."
            )
    if sorted(verdict.precedence) != ["confounded", "held"]:
        raise PlanError(
            f"{where}.precedence: found {', '.join(verdict.precedence) or 'none'}; expected held and confounded, each "
            "once, the one first whose word stands where guards of both trip. Correct it."
        )
    words = [band.verdict for band in verdict.bands]
    for word in verdict.negative if "negative" in verdict.model_fields_set else ():
        if word not in words:
            raise PlanError(
                f"{where}.negative: names {word!r}, which no band gives; expected some of {', '.join(words)}."
                f"{nearest(word, words)} Correct it."
            )


def _check_looks(rows: Rows, where: str) -> None:
    """Refuse looks that are not fully planned: their number, when each is taken, and how they share the error."""
    after, last = rows.look_after, len(rows.order)
    if after and (len(after) != rows.looks or after != sorted(set(after)) or after[-1] >= last):
        raise PlanError(
            f"{where}.look_after: found {after} with looks = {rows.looks}; expected {rows.looks} numbers of complete "
            f"rows, ascending, below {last}. Correct them."
        )
    if after and rows.boundary is None:
        raise PlanError(
            f"{where}.boundary: missing with {rows.looks} planned looks; expected pocock or obrien-fleming, because "
            "a plain interval at each of several looks is wrong too often. Name one."
        )


def _check_saving(plan: Plan, saving: Saving, where: str) -> None:
    """Refuse arms and constants that the plan does not have."""
    for key in ("arm", "against", "same_day"):
        name = getattr(saving, key)
        if name not in plan.arms and (name or key != "same_day"):
            raise PlanError(
                f"{where}.{key}: names the arm {name!r}; expected one of {', '.join(plan.arms) or 'none yet'}."
                f"{nearest(name, plan.arms)} Correct it, or add it under [arms]."
            )
    pairs = (("against", saving.arm), ("same_day", saving.arm), ("same_day", saving.against))
    for key, other in pairs:
        if getattr(saving, key) == other:
            raise PlanError(
                f"{where}.{key}: names {other}, which stands there already; expected three different arms, since "
                "between an arm and itself nothing can differ. Name another, or leave same_day out."
            )
    for key in ("count", "margin"):
        if getattr(saving, key):
            _check_constant(plan, getattr(saving, key), f"{where}.{key}")


def _check_guard(plan: Plan, guard: Guard, where: str) -> None:
    """Refuse a guard that is given twice over, or whose kind lacks what it needs."""
    if bool(guard.when) == bool(guard.kind):
        raise PlanError(
            f"{where}: found {'both' if guard.when else 'neither'} of `when` and `kind`; expected one of them: an "
            f"expression, or one of {', '.join(GUARDS)}. Correct it."
        )
    if guard.kind is None:
        return
    if plan.saving is None:
        raise PlanError(f"{where}: its kind needs to know the arms; expected [saving] in the plan. Add it.")
    if guard.limit is None:
        if guard.kind != "agentic failures":
            raise PlanError(f"{where}.limit: missing; expected the constant that it compares with. Add it.")
    else:
        _check_constant(plan, guard.limit, f"{where}.limit")
    if guard.kind == "drift" and not plan.saving.same_day:
        raise PlanError(f"{where}: the drift needs baseline rows of the same day; expected saving.same_day. Add it.")
