"""The robustness panel as data: the deciding reading, and every other way in which the same rows were read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from campaign.analysis.intervals import Estimate

SEED = 0
"""Of everything in a panel that is drawn."""


@dataclass(frozen=True)
class Method:
    """One way to read the rows, whatever the plan."""

    group: str
    """The heading below which it stands."""
    what: str
    """What it is in plain words; {name} stands for what a plan fills in."""
    formula: str
    source: str
    """Where the method is from, and what computes the same."""
    decides_like: bool = True
    """Whether it gives the saving again, so that its sign and its band can differ from the deciding reading's."""


MATCHED, STATISTICS, ROWS = "Matched otherwise", "Other statistics of the same rows", "Without some rows"
DAY, ITSELF, VARIES = "The day", "The compared arm against itself", "What varies"

_AT_SLOPE = "row mean of {against} − row mean of {arm} at slope b; pooled t over rows"
_POOLED = "R1, R16; R: t.test(var.equal=TRUE)"

METHODS: dict[str, Method] = {
    "unmatched": Method(MATCHED, "not matched, b = 0", _AT_SLOPE, _POOLED),
    "slope.{name}": Method(MATCHED, "along {name} alone, b = {b}", _AT_SLOPE, _POOLED),
    "slope.between": Method(MATCHED, "half way between the slopes, b = {b}", _AT_SLOPE, _POOLED),
    "slope.below": Method(MATCHED, "half the least slope, b = {b}", _AT_SLOPE, _POOLED),
    "slope.above": Method(MATCHED, "twice the greatest slope, b = {b}", _AT_SLOPE, _POOLED),
    "slope.flip.{number}": Method(
        MATCHED, "slope that takes it to {bound} ({band})", "b with S(b) − t·se(b) = bound", "D7", False
    ),
    "ancova": Method(
        STATISTICS,
        "slope taken from these rows (ANCOVA)",
        "step_ms ~ arm + tokens_per_step over rows; se² = s²(1/n1 + 1/n2 + Δx̄²/Sxx)",
        "R16; R: lm(y ~ x + factor(arm))",
    ),
    "welch": Method(
        STATISTICS,
        "a variance for each arm (Welch)",
        "difference of row means ± t·√(s1²/n1 + s2²/n2)",
        "R16; R: t.test(var.equal=FALSE)",
    ),
    "permutation": Method(
        STATISTICS,
        "rows exchanged between the arms",
        "share of all splits with as large a |difference of means|",
        "R16; R: perm::permTS(exact=TRUE, tsmethod='abs')",
    ),
    "ranks": Method(
        STATISTICS,
        "ranks of the rows (Mann–Whitney)",
        "share of all splits with as large a |U − μ|, ties at mid-ranks",
        "R16; R: coin::wilcox_test(distribution='exact')",
    ),
    "hodges_lehmann": Method(
        STATISTICS,
        "median of all pairs (Hodges–Lehmann)",
        "median of the differences of each row with each; exact rank interval",
        "R16; R: wilcox.test(conf.int=TRUE, exact=TRUE)",
    ),
    "bootstrap": Method(
        STATISTICS,
        "rows resampled (bootstrap)",
        "percentiles of the difference of means over resampled rows",
        "R16; R: boot::boot",
    ),
    "gls": Method(
        STATISTICS,
        "rows weighted by their draws (GLS)",
        "weights 1/(σ_B² + σ_W²/m_r); weighted least squares",
        "R16, unequal draws; R: lm(y ~ arm, weights = w)",
    ),
    "time_trend": Method(
        STATISTICS,
        "a trend over the hours taken out",
        "value ~ arm + hours since the first row of its session, one slope for all arms",
        "R16; R: lm(y ~ hours + factor(arm))",
    ),
    "relative": Method(
        STATISTICS,
        "as a share of {against} (Fieller)",
        "100 × (1 − row mean of {arm} / row mean of {against})",
        "R15; Fieller 1954",
    ),
    "leave_one_out": Method(
        ROWS, "one row left out, the worst", "the pooled difference without each row of either arm in turn", "R16"
    ),
    "rows_removed": Method(
        ROWS,
        "fewest rows to go for another band",
        "the lower end without every set of rows, smallest sets first; two rows stay in each arm",
        "D6",
        False,
    ),
    "same_day": Method(
        DAY, "against {same_day}, of the same day", "row mean of {same_day} − row mean of {arm}; pooled t", "R5"
    ),
    "day.tipping": Method(
        DAY, "day effect τ* that takes it to its bar", "τ* = √(((S − bound)/t)² − se²)", "R19, D6", False
    ),
    "day.tau.{share}": Method(DAY, "days that differ by τ = {share} sd, {tau}", "se² = se₀² + τ²·(1 + 1/days)", "D8"),
    "placebo": Method(
        ITSELF,
        "{against} rows told faster (placebo)",
        "share of all splits, as many rows against the rest, whose lower end is above 0",
        "R20",
        False,
    ),
    "chart.individuals": Method(
        ITSELF, "{against} rows beyond their limits", "mean ± 2.66 · mean moving range", "R21; R: qcc::qcc", False
    ),
    "chart.ewma": Method(ITSELF, "the same of moving averages (EWMA)", "λ = 0.2, L = 2.7", "R21; R: qcc::ewma", False),
    "variance.{name}": Method(
        VARIES,
        "{name}: rows' share of variance (ICC)",
        "σ_B²/(σ_B² + σ_W²)",
        "R17; R: VCA::anovaVCA",
        False,
    ),
    "best_draws": Method(
        VARIES,
        "draws a row that are worth their time",
        "m* = √(c_row/c_draw · σ_W²/σ_B²), variances pooled over the arms",
        "R17; Cochran, Sampling Techniques, 10.6",
        False,
    ),
}
"""Every check by its id, in the order in which they are shown."""


@dataclass(frozen=True)
class Check:
    """One other way to read the same rows."""

    id: str
    """Stable, as `welch` or `day.tau.0.5`."""
    what: str
    method: Method
    estimate: Estimate
    """The saving read in this way, positive where the changed arm is faster, or the figure that `what` names."""
    unit: str = ""
    p: float | None = None
    """Two-sided, that the arms do not differ."""
    slope: str = ""
    """The slope along which it is least favourable; empty where there is one alone."""
    band: str = ""
    """The plan's band for it, before guards; empty where none applies."""
    flips: tuple[str, ...] = ()
    """What differs from the deciding reading: sign, band, told from zero."""
    note: str = ""
    """Which row, how many: what the numbers alone do not say."""
    details: tuple[tuple[str, Estimate], ...] = ()
    """The same for each slope, each row left out, each part."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What has to be known of the estimate."""
        return self.estimate.warnings

    @property
    def reason(self) -> str:
        """Why it cannot be computed; empty where it can."""
        return self.estimate.reason

    def to_json(self) -> dict[str, Any]:
        """Everything, unrounded; what is empty is left out."""
        said = {
            "id": self.id,
            "group": self.method.group,
            "what": self.what,
            **_json_of(self.estimate),
            "unit": self.unit,
            "p": self.p,
            "slope": self.slope,
            "band": self.band,
            "flips": list(self.flips),
            "note": self.note,
            "formula": self.method.formula,
            "source": self.method.source,
            "details": {name: _json_of(estimate) for name, estimate in self.details},
        }
        return {key: value for key, value in said.items() if value not in ("", [], {}, None) or key == "value"}


@dataclass(frozen=True)
class Deciding:
    """What the plan decides on."""

    reading: str
    """Id of the deciding reading."""
    value: float | None
    """Its value; None with a reason."""
    saving: Estimate
    """The saving along the slope with the least lower end."""
    slope: str
    figure: str
    """What of the savings decides: lower end or estimate; empty where the plan decides on something else."""
    band: str
    """The band that it falls into, before guards."""
    level: float
    """Of the intervals, percent."""
    reason: str = ""

    @property
    def told_from_zero(self) -> bool:
        """Whether the interval of the saving leaves zero out."""
        lo, hi = self.saving.lo, self.saving.hi
        return lo is not None and hi is not None and (lo > 0 or hi < 0)


@dataclass(frozen=True)
class Panel:
    """Every check of a plan's comparison; or nothing, with the reason."""

    arm: str = ""
    against: str = ""
    unit: str = ""
    """Of savings, which are positive where `arm` is faster."""
    print: str = ""
    """The format of savings."""
    deciding: Deciding | None = None
    checks: tuple[Check, ...] = ()
    reason: str = ""

    @property
    def flips(self) -> tuple[Check, ...]:
        """The checks whose sign or band differs from the deciding reading's."""
        return tuple(check for check in self.checks if check.flips)

    def by_id(self) -> Mapping[str, Check]:
        """The checks by their id."""
        return {check.id: check for check in self.checks}

    def to_json(self) -> dict[str, Any]:
        """Everything, unrounded."""
        if self.deciding is None:
            return {"decides": False, "reason": self.reason}
        one = self.deciding
        deciding = {"reading": one.reading, "value": one.value, "figure": one.figure, "band": one.band}
        deciding |= {"level": one.level, "slope": one.slope, "saving": _json_of(one.saving), "reason": one.reason}
        return {
            "decides": False,
            "arm": self.arm,
            "against": self.against,
            "unit": self.unit,
            "seed": SEED,
            "deciding": {key: value for key, value in deciding.items() if value != "" or key == "value"},
            "checks": [check.to_json() for check in self.checks],
            "flips": {check.id: list(check.flips) for check in self.flips},
        }


def _json_of(estimate: Estimate) -> dict[str, Any]:
    said = {name: getattr(estimate, name) for name in ("value", "lo", "hi", "se", "sd", "df", "level")}
    said |= {"n": estimate.n or None, "warnings": list(estimate.warnings), "reason": estimate.reason}
    return {key: value for key, value in said.items() if key == "value" or value not in (None, "", [])}
