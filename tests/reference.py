"""The rule of a compiled plan once more, written without the program, for tests to compare with.

Plain Python over records, with scipy's distributions only. It takes the plan as tomllib gives it and the tables as
lists of records. What has no value is None.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum, sqrt
from typing import Any

from scipy import optimize, stats

Record = Mapping[str, Any]
EMPTY = ""


@dataclass(frozen=True)
class Answer:
    """A number or word with the ends of its interval; no value at all where it cannot be computed."""

    value: Any = None
    lo: float | None = None
    hi: float | None = None
    se: float | None = None
    sd: float | None = None
    df: float | None = None


NONE = Answer()


@dataclass
class Rule:
    """What the plan compiles to over its records."""

    plan: Mapping[str, Any]
    tables: Mapping[str, Sequence[Record]]
    level: float | None = None
    """Of the intervals, percent; the plan's where None."""
    answers: dict[str, Answer] = field(default_factory=dict)
    guards: dict[str, str] = field(default_factory=dict)
    """tripped, passed or not run."""
    verdict: str | None = None

    def __post_init__(self) -> None:
        self.constants = {name: said["value"] for name, said in self.plan["constants"].items()}
        if self.level is None:
            self.level = self.constants.get("interval.level", 95)
        rows = [one for one in self.tables["rows"] if one["state"] == "complete"]
        self.rows = sorted(rows, key=lambda one: one["started"])
        self.arm_of = {one["row"]: one["arm"] for one in self.rows}
        self.arms = list(dict.fromkeys(one["arm"] for one in self.rows))
        self.slopes = self.plan.get("matching", {}).get("slopes") or {"": None}
        self.saving = self.plan["saving"]
        self._savings()
        self._balance()
        if "tasks" in self.plan["tables"]:
            self._quality()
        if "power" in self.plan["tables"] and "power" in self.plan:
            self._power()
        self._time()
        for lever in self.plan.get("lever", []):
            self._lever(lever)
        if "verdict" in self.plan:
            self._decide()

    # ---- values of rows

    def values(self, arm: str, of_draw: Callable[[Record], float | None]) -> list[float | None]:
        """One value a row: the plain mean over its draws, or None where a draw has none."""
        found: list[float | None] = []
        for row in self.rows:
            if row["arm"] == arm:
                draws = [of_draw(one) for one in self.tables["draws"] if one["row"] == row["row"]]
                found.append(None if None in draws else fsum(draws) / len(draws))
        return found

    def matched(self, slope: str) -> Callable[[Record], float | None]:
        """Milliseconds a step of a draw, shifted along the slope to the plan's tokens per step."""

        def value(draw: Record) -> float | None:
            time, steps, tokens = draw["step_time_ms"], draw["verify_steps"], draw["tokens"]
            if EMPTY in (time, steps) or (slope and tokens == EMPTY):
                return None
            if not slope:
                return time / steps
            b, at = self.constants[self.slopes[slope]], self.constants[self.plan["matching"]["at"]]
            return time / steps - b * (tokens / steps - at)

        return value

    # ---- readings

    def _two(self, minuend: list, subtrahend: list) -> Answer:
        return pooled(minuend, subtrahend, self.level)

    def _savings(self) -> None:
        arm, against, day = self.saving["arm"], self.saving["against"], self.saving.get("same_day", "")
        for slope in dict.fromkeys([*self.slopes, ""]):
            values = {one: self.values(one, self.matched(slope)) for one in (arm, against, day)}
            self.answers[f"saving.{slope or 'unmatched'}"] = self._two(values[against], values[arm])
            if slope in self.slopes and day:
                self.answers[f"saving.same_day.{slope or 'unmatched'}"] = self._two(values[day], values[arm])
                drift = self._two(values[day], values[against])
                self.answers[f"drift.{slope or 'unmatched'}"] = drift
                if "margin" in self.saving:
                    p = tost(drift, self.constants[self.saving["margin"]])
                    self.answers[f"drift.equal.{slope or 'unmatched'}"] = Answer(p)
        of = [self.answers[f"saving.{slope or 'unmatched'}"] for slope in self.slopes]
        for name, end in (("lower", "lo"), ("upper", "hi"), ("least", "value")):
            self.answers[f"saving.{name}"] = Answer(least(getattr(one, end) for one in of))
        for slope in self.slopes:
            column = self.matched(slope)
            ratio = fieller(self.values(against, column), self.values(arm, column), self.level)
            self.answers[f"saving.relative.{slope or 'unmatched'}"] = ratio
        if day:
            drifts = [self.answers[f"drift.{slope or 'unmatched'}"].value for slope in self.slopes]
            self.answers["drift.most"] = Answer(None if None in drifts else max(map(abs, drifts)))
            if "margin" in self.saving:
                ps = [self.answers[f"drift.equal.{slope or 'unmatched'}"].value for slope in self.slopes]
                alpha = 1 - self.level / 100
                word = None if None in ps else "equal" if below(max(ps), alpha) else "not told apart"
                self.answers["drift.word"] = Answer(word)
        if "count" in self.saving:
            count, upper = self.constants[self.saving["count"]], self.answers["saving.upper"].value
            kept = upper is not None and not below(upper, count)
            least_saving = self.answers["saving.least"].value
            self.answers["count.rule"] = NONE if upper is None else Answer("kept" if kept else "recounted")
            self.answers["count.value"] = NONE if upper is None else Answer(count if kept else max(least_saving, 0))

    def _balance(self) -> None:
        def tps(draw: Record) -> float | None:
            tokens, steps = draw["tokens"], draw["verify_steps"]
            return None if EMPTY in (tokens, steps) else tokens / steps

        for arm in self.arms:
            self.answers[f"rows.{arm}.n"] = Answer(sum(one["arm"] == arm for one in self.rows))
            self.answers[f"tps.{arm}"] = Answer(mean(self.values(arm, tps)))
        pair = [self.values(self.saving[name], tps) for name in ("arm", "against")]
        self.answers["tps.balance"] = self._two(*pair)
        if self.slopes != {"": None}:
            steepest = max(abs(self.constants[name]) for name in self.slopes.values())
            off = self.answers["tps.balance"].value
            self.answers["tps.bias"] = Answer(None if off is None else steepest * abs(off))

    def _quality(self) -> None:
        arm, against = self.saving["arm"], self.saving["against"]
        runs = [one | {"arm": self.arm_of[one["row"]]} for one in self.tables["tasks"] if one["row"] in self.arm_of]
        for name in dict.fromkeys(one["arm"] for one in runs):
            own = [one for one in runs if one["arm"] == name]
            graded = [one for one in own if one["outcome"] != "infrastructure error"]
            agentic = [one for one in graded if one["kind"] == "agentic"]
            failed = sum(one["outcome"] == "fail" for one in agentic)
            bound = 100 * upper_bound(failed, len(agentic), self.level) if agentic else None
            self.answers[f"agentic.{name}"] = Answer(100 * failed / len(agentic), 0, bound) if agentic else NONE
            self.answers[f"agentic.{name}.failed"] = Answer(failed if agentic else None)
            share = wilson(len(graded), len(own), self.level)
            self.answers[f"completeness.{name}"] = Answer(*(100 * one for one in share))
            for which in dict.fromkeys(one["task"] for one in graded):
                outcomes = [one["outcome"] for one in graded if one["task"] == which]
                passed = wilson(outcomes.count("pass"), len(outcomes), self.level)
                self.answers[f"quality.{which.replace('-', '_')}.{name}"] = Answer(*passed)
            draws = [one["passes"] for one in self.tables["draws"] if self.arm_of.get(one["row"]) == name]
            passes = None if EMPTY in draws else mean(draws)
            self.answers[f"passes.{name}"] = Answer(passes)
            scaled = passes * len(own) / len(graded) if passes is not None and graded else None
            self.answers[f"passes.{name}.graded"] = Answer(scaled)
        ps: dict[str, float | None] = {}
        for which in sorted({one["task"] for one in runs}):
            table = []
            for name in (arm, against):
                fitting = [one for one in runs if (one["arm"], one["task"]) == (name, which)]
                outcomes = [one["outcome"] for one in fitting if one["outcome"] != "infrastructure error"]
                table += [outcomes.count("pass"), len(outcomes)]
            if table[1] or table[3]:
                ps[which] = fisher(*table) if table[1] and table[3] else None
        for which, p in holm(ps).items():
            self.answers[f"quality.p.{which.replace('-', '_')}"] = Answer(p)

    def _power(self) -> None:
        floor, shares = self.constants[self.plan["power"]["floor"]], []
        for row in self.rows:
            samples = [one for one in self.tables["power"] if one["row"] == row["row"] and one["power_w"] >= floor]
            capped = sum(one["cap_engaged"] == "true" for one in samples)
            shares.append(100 * capped / len(samples) if samples else None)
            self.answers[f"power.share.{row['row']}"] = Answer(shares[-1])
        self.answers["power.spread"] = Answer(None if None in shares else max(shares) - min(shares))

    def _time(self) -> None:
        def model_time(draw: Record) -> float | None:
            return None if draw["model_time_s"] == EMPTY else draw["model_time_s"]

        def steps(draw: Record) -> float | None:
            return None if draw["verify_steps"] == EMPTY else draw["verify_steps"]

        for arm in self.arms:
            self.answers[f"time.{arm}"] = Answer(mean(self.values(arm, model_time)))
        arm, against = self.saving["arm"], self.saving["against"]
        gap = self._two(self.values(against, model_time), self.values(arm, model_time))
        self.answers["time.gap"] = gap
        told = gap.value is not None and (below(0, gap.lo) or below(gap.hi, 0))
        self.answers["time.verdict"] = NONE if gap.value is None else Answer("resolved" if told else "not resolved")
        if "count" not in self.saving:
            return
        for name in self.arms:
            self.answers[f"steps.{name}"] = Answer(mean(self.values(name, steps)))
        spent = self.answers[f"steps.{against}"].value
        implied = None if spent is None else self.constants[self.saving["count"]] * spent / 1000
        self.answers["time.implied"] = Answer(implied)
        for end in ("lower", "upper"):
            saved = self.answers[f"saving.{end}"].value
            self.answers[f"time.implied.{end}"] = Answer(None if None in (saved, spent) else saved * spent / 1000)
        rows = sum(one["arm"] == against for one in self.rows)
        self.answers["time.rows_needed"] = Answer(
            None if implied is None or gap.sd is None else rows_for(implied, gap.sd, rows, self.level)
        )

    def _lever(self, lever: Mapping[str, Any]) -> None:
        timings = [one for one in self.tables["kernel_timings"] if f"lever == '{one['lever']}'" == lever["where"]]
        saved = [(one["served_us"] - one["changed_us"]) * one["calls"] / 1000 for one in timings]
        level = 100 - (100 - self.level) / lever.get("variants", 1)
        found = one_mean(saved, level, autocorrelated=lever.get("autocorrelated", False))
        self.answers[f"{lever['id']}.saving"] = found
        reached = found.value if lever.get("keep") == "estimate" else found.lo
        word = None if reached is None else "parked" if below(reached, self.constants[lever["bar"]]) else "kept"
        self.answers[f"{lever['id']}.outcome"] = Answer(word)

    # ---- the verdict

    def _decide(self) -> None:
        said = self.plan["verdict"]
        words = []
        for guard in said.get("guards", []):
            trips = self._trips(guard)
            self.guards[guard["name"]] = {True: "tripped", False: "passed", None: "not run"}[trips]
            words += [guard["verdict"]] if trips else []
        value = self.answers[said["reading"]].value
        if value is None:
            return
        band = next(one["verdict"] for one in said["bands"] if self._covers(one, value))
        if band in said.get("negative", ["rolled back"]):
            self.verdict = band
        elif words:
            self.verdict = next(one for one in said.get("precedence", ["held", "confounded"]) if one in words)
        elif "not run" not in self.guards.values():
            self.verdict = band

    def _covers(self, band: Mapping[str, str], value: float) -> bool:
        if "at_least" in band:
            return not below(value, self.constants[band["at_least"]])
        return "above" not in band or below(self.constants[band["above"]], value)

    def _trips(self, guard: Mapping[str, str]) -> bool | None:
        """Whether the guard trips; None where it cannot run."""
        arm, against = self.saving["arm"], self.saving["against"]
        limit = self.constants[guard["limit"]] if "limit" in guard else 0
        if guard["kind"] == "tokens per step":
            ends = [self.answers[f"tps.{name}"].value for name in (arm, against)]
            return None if None in ends else below(limit, abs(ends[0] - ends[1]))
        name = {
            "agentic failures": f"agentic.{arm}.failed",
            "passes": f"passes.{arm}",
            "drift": "drift.most",
            "power share": "power.spread",
            "completeness": f"completeness.{arm}",
        }[guard["kind"]]
        value = self.answers[name].value
        if value is None:
            return None
        if guard["kind"] == "passes":
            graded = self.answers[f"completeness.{arm}"].value
            return not below(limit, 100 * value / graded) if graded else None
        return below(value, limit) if guard["kind"] == "completeness" else below(limit, value)


def below(one: float, other: float) -> bool:
    """Whether `one` is less than `other`, both to nine decimals."""
    return round(one, 9) < round(other, 9)


def least(values: Iterable[float | None]) -> float | None:
    found = list(values)
    return None if None in found else min(found)


def mean(values: Sequence[float | None]) -> float | None:
    return None if None in values or not values else fsum(values) / len(values)


def squares(values: Sequence[float]) -> float:
    middle = fsum(values) / len(values)
    return fsum((one - middle) ** 2 for one in values)


def quantile(level: float, df: float) -> float:
    return float(stats.t.isf((1 - level / 100) / 2, df))


def pooled(minuend: Sequence[float | None], subtrahend: Sequence[float | None], level: float) -> Answer:
    """Difference of means with the pooled t interval."""
    n1, n2 = len(minuend), len(subtrahend)
    if None in minuend or None in subtrahend or not (n1 and n2 and n1 + n2 > 2):
        return NONE
    df = n1 + n2 - 2
    sd = sqrt((squares(minuend) + squares(subtrahend)) / df)
    if sd < 1e-12 * max(map(abs, [*minuend, *subtrahend])):
        return NONE
    value, se = mean(minuend) - mean(subtrahend), sd * sqrt(1 / n1 + 1 / n2)
    half = quantile(level, df) * se
    return Answer(value, value - half, value + half, se, sd, df)


def one_mean(values: Sequence[float], level: float, autocorrelated: bool = False) -> Answer:
    """Mean with its t interval; with the number of values that neighbours which are alike leave."""
    n = len(values)
    if n < 2 or sqrt(squares(values) / (n - 1)) < 1e-12 * max(map(abs, values)):
        return NONE
    middle, sd = fsum(values) / n, sqrt(squares(values) / (n - 1))
    if autocorrelated:
        off = [one - middle for one in values]
        rho = fsum(a * b for a, b in pairwise(off)) / fsum(one * one for one in off)
        n = n * (1 - rho) / (1 + rho) if rho > 0 else n
        if n < 2:
            return NONE
    half = quantile(level, n - 1) * sd / sqrt(n)
    return Answer(middle, middle - half, middle + half, sd / sqrt(n), sd, n - 1)


def tost(drift: Answer, margin: float) -> float | None:
    """The p of two one-sided tests that the drift lies within the margin."""
    if drift.value is None:
        return None
    ts = [(margin + drift.value) / drift.se, (margin - drift.value) / drift.se]
    return max(float(stats.t.sf(t, drift.df)) for t in ts)


def fieller(against: Sequence[float | None], arm: Sequence[float | None], level: float) -> Answer:
    """Percent of the mean of `against` that `arm` saves: the ratios that a t test does not reject."""
    found = pooled(against, arm, level)
    if found.value is None or mean(against) <= 0:
        return NONE
    above, under, limit = mean(arm), mean(against), (quantile(level, found.df) * found.sd) ** 2
    a, b, c = under**2 - limit / len(against), -2 * above * under, above**2 - limit / len(arm)
    if a <= 0:
        return NONE
    root = sqrt(b * b - 4 * a * c)
    ends = (-b + root) / (2 * a), (-b - root) / (2 * a)
    return Answer(100 * (1 - above / under), *(100 * (1 - end) for end in ends))


def wilson(k: int, n: int, level: float) -> tuple[float, float, float]:
    """Share and the shares that a score test does not reject."""
    z = float(stats.norm.isf((1 - level / 100) / 2))
    middle, half = (k + z * z / 2) / (n + z * z), z * sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    return k / n, middle - half, middle + half


def upper_bound(k: int, n: int, level: float) -> float:
    """The share at which k or fewer of n have the chance that the level leaves."""
    if k == n:
        return 1.0
    return float(optimize.brentq(lambda p: stats.binom.cdf(k, n, p) - (1 - level / 100), 0, 1, xtol=1e-14))


def fisher(k1: int, n1: int, k2: int, n2: int) -> float:
    """Chance of tables no more likely than this one, its margins given."""
    law = stats.hypergeom(n1 + n2, k1 + k2, n1)
    chances = [float(law.pmf(k)) for k in range(max(0, k1 + k2 - n2), min(n1, k1 + k2) + 1)]
    return min(1.0, fsum(one for one in chances if one <= law.pmf(k1) * (1 + 1e-7)))


def holm(ps: Mapping[str, float | None]) -> dict[str, float | None]:
    """Each p times the number of hypotheses not yet rejected, never falling."""
    adjusted: dict[str, float | None] = dict.fromkeys(ps)
    so_far = 0.0
    known = sorted((p, name) for name, p in ps.items() if p is not None)
    for rank, (p, name) in enumerate(known):
        so_far = max(so_far, min(1.0, p * (len(ps) - rank)))
        adjusted[name] = so_far
    return adjusted


def rows_for(half_width: float, sd: float, others: int, level: float) -> int | None:
    """The least rows of the changed arm with an interval no wider, tried one after the other."""
    if stats.norm.isf((1 - level / 100) / 2) * sd / sqrt(others) >= half_width:
        return None
    for n in range(1, 1001):
        if n + others > 2 and quantile(level, n + others - 2) * sd * sqrt(1 / n + 1 / others) <= half_width:
            return n
    return None


# ---- looks


def information(order: Sequence[str], after: Sequence[int], arm: str, against: str, earlier: int) -> list[float]:
    """Share of the final information, 1/(1/n₁ + 1/n₂), at each look and at the end."""
    known = []
    for rows in [*after, len(order)]:
        n1, n2 = order[:rows].count(arm), earlier or order[:rows].count(against)
        known.append(n1 * n2 / (n1 + n2))
    return [one / known[-1] for one in known]


def levels(kind: str, shares: Sequence[float], level: float) -> list[float]:
    """Level in percent of the interval at each of two looks, by a search for the bound over the normal plane."""
    assert len(shares) == 2, "written for one look before the last row"
    law = stats.multivariate_normal(cov=[[1, sqrt(shares[0])], [sqrt(shares[0]), 1]])

    def error(c: float) -> float:
        z1, z2 = (c / sqrt(t) if kind == "obrien-fleming" else c for t in shares)
        inside = law.cdf([z1, z2]) - law.cdf([-z1, z2]) - law.cdf([z1, -z2]) + law.cdf([-z1, -z2])
        return 1 - float(inside) - (1 - level / 100)

    c = float(optimize.brentq(error, 1.5, 4, xtol=1e-9))
    bounds = [c / sqrt(t) if kind == "obrien-fleming" else c for t in shares]
    return [100 * (1 - 2 * float(stats.norm.sf(z))) for z in bounds]


def power(delta: float, bar: float, sd: float, n1: int, n2: int, level: float = 95) -> float:
    """Chance that the lower end of the pooled interval reaches the bar, by numbers: over the law of the variance."""
    df, width = n1 + n2 - 2, sqrt(1 / n1 + 1 / n2)
    t = quantile(level, df)

    def given(u: float) -> float:
        return float(stats.norm.sf((bar - delta) / (sd * width) + t * sqrt(stats.chi2.ppf(u, df) / df)))

    steps = 800
    return fsum(given((i + 0.5) / steps) for i in range(steps)) / steps
