"""Everything that a post may quote, freshly read: plan, data, readings, facts, credits, the other parts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from campaign.analysis.characteristics import characteristics
from campaign.analysis.interim import Look
from campaign.analysis.readings import Reading, Readings
from campaign.analysis.rows import ROW_VALUES, served_tables
from campaign.analysis.rule import rule_digest
from campaign.analysis.rule_check import problems
from campaign.engine.data import Data, read_data, rows_of
from campaign.engine.plan import Plan, read_plan
from campaign.engine.tables import Schema
from campaign.notes.corrections import Caused
from campaign.notes.credits import credit_readings, read_credits
from campaign.notes.errors import UsageError
from campaign.notes.facts import Facts, fact_readings, read_facts
from campaign.notes.fresh import data_of, readings_of
from campaign.notes.index import index_of
from campaign.notes.look_log import looks_of
from campaign.notes.paths import Part
from campaign.notes.plan_text import plan_text, power_text
from campaign.notes.plotting import declared_plots, plot_readings
from campaign.notes.render import render
from campaign.notes.seal import Seal, read_seal, require_sealed_plan
from campaign.notes.settings import read_settings

DIGEST_DIGITS = 12
"""How many digits of the data's hash a post prints."""


@dataclass(frozen=True)
class Sources:
    """What stands behind a part's numbers."""

    part: Part
    plan: Plan
    data: Data
    facts: Facts
    seal: Seal | None
    looks: tuple[Look, ...]
    """Those that were taken before the last row."""
    readings: Readings
    """Computed readings, constants, facts, credits, names of arms and parts: all that can be quoted."""
    computed: tuple[str, ...]
    """Ids of the constants and computed readings: what readings.json holds."""
    names: tuple[str, ...]
    """Declared names, whose digits are no numbers."""

    @cached_property
    def decision(self) -> str:
        """The sha256 of what the plan decides by."""
        return rule_digest(self.plan)


def load(part: Part) -> Sources:
    """Read and compute everything of a part; the first thing that is wrong is raised, and nothing is written."""
    plan = read_plan(part.plan, part.show(part.plan))
    require_sealed_plan(part)
    found = data_of(part, plan)
    data = found.data
    seal = read_seal(part)
    _refuse_another_origin(part, data, seal)
    _refuse_rows_before_seal(part, plan, data, seal)
    _require_seal_and_hash(part, plan, data, seal)
    facts = read_facts(part)
    looks = tuple(looks_of(part)) if plan.rows else ()  # without planned rows there is nothing to look at too early
    computed = readings_of(part, plan, found, looks)
    quotable: dict[str, Reading] = {name: computed[name] for name in computed}
    for more in (
        fact_readings(facts),
        credit_readings(read_credits(part)),
        _words(plan),
        _parts(part, facts),
        _provenance(data, seal),
        plot_readings(plan, part, data, computed),
    ):
        _refuse_twice(part, more, quotable, computed)
        quotable |= more
    settings = read_settings(part.campaign)
    names = (*settings.names, *facts.names)
    return Sources(
        part,
        plan,
        data,
        facts,
        seal,
        looks,
        Readings(quotable, part.name, computed.pending, settings.decimal),
        tuple(computed),
        names,
    )


def _refuse_twice(part: Part, more: Mapping[str, Reading], quotable: Mapping[str, Reading], computed: Readings) -> None:
    for name, reading in more.items():
        if name in quotable or name in computed:
            earlier = quotable.get(name) or computed[name]
            raise UsageError(
                f"{part.show(part.facts)}: {name} is declared twice, as {earlier.role} and as "
                f"{reading.role}; expected each id once. Rename one."
            )


def _refuse_another_origin(part: Part, data: Data, seal: Seal | None) -> None:
    if seal is not None and seal.origin != data.origin:
        raise UsageError(
            f"{part.show(part.run)}: origin is {data.origin!r}, and {part.show(part.seal)} says {seal.origin!r}; "
            "expected both to say the same. Correct run.json, or restore it from git: a seal is not changed."
        )


def _refuse_rows_before_seal(part: Part, plan: Plan, data: Data, seal: Seal | None) -> None:
    if seal is None or data.origin != "measured" or "rows" not in data.tables:
        return
    rows = data.tables["rows"]
    earlier_arms = [name for name, arm in plan.arms.items() if arm.earlier]
    early = rows[(rows["started"] < seal.sealed) & ~rows["arm"].isin(earlier_arms)]
    if len(early):
        row = early.iloc[0]
        raise UsageError(
            f"{part.show(part.data / 'rows.csv')}: row {row['row']} started {row['started'].isoformat()}, before the "
            f"plan was sealed on {seal.sealed.isoformat()}; expected measured rows only after the seal. "
            "Leave the row out, or make it a yardstick (an arm with `earlier`)."
        )


def _require_seal_and_hash(part: Part, plan: Plan, data: Data, seal: Seal | None) -> None:
    """Refuse measured rows of a plan that compiles to its verdict where no seal, or no hash, ties them to the plan."""
    if plan.saving is None or data.origin != "measured" or "rows" not in data.tables:
        return
    ran = rows_of(plan, data.tables["rows"])
    if len(ran) and seal is None:
        raise UsageError(
            f"{part.show(part.seal)}: there is no seal, and {len(ran)} rows are there; expected the plan sealed before "
            "its first measured row. Rows that ran before it can be a yardstick (an arm with `earlier`); "
            '`"origin": "stated"` in run.json says that nothing proves the order.'
        )
    without = ran[ran["plan_sha256"].isna()]
    if len(without):
        raise UsageError(
            f"{part.show(part.data / 'rows.csv')}: row {without['row'].iloc[0]} has no plan_sha256; expected "
            f"{seal.plan_sha256 if seal else ''}, the plan under which it ran. Whatever measures a row writes it there."
        )


def _words(plan: Plan) -> dict[str, Reading]:
    """The plan's words: `arm.rs8` as its label, `band.1` as the verdict of the first band, `plan.order` of the rows."""
    arms = {f"arm.{name}": (arm.label, f"arms.{name}") for name, arm in plan.arms.items()}
    bands = plan.verdict.bands if plan.verdict else []
    verdicts = {f"band.{i}": (band.verdict, "verdict.bands") for i, band in enumerate(bands, 1)}
    order = {"plan.order": (", ".join(plan.rows.order), "rows.order")} if plan.rows else {}
    return {
        name: Reading(name, word, role="constant", because=f"plan.toml: {where}")
        for name, (word, where) in (arms | verdicts | order).items()
    }


def _parts(part: Part, facts: Facts) -> dict[str, Reading]:
    """`part.4` as "Part 4", `part.4.published` as its date, and the corrections that this part caused in others.

    Corrections dated after this part's own day are not among them: they cannot stand in its text.
    """
    found = index_of(part.campaign).quotable(part)

    def add(name: str, value: str, fmt: str, where: Part) -> None:
        found[name] = Reading(name, value, print=fmt, role="fact", because=where.show(where.folder))

    entries = caused_until(part, facts)
    found["corrections.caused.n"] = Reading(
        "corrections.caused.n", len(entries), "corrections", role="fact", because="corrections.toml of the other parts"
    )
    for other, entry in entries:
        stem = f"correction.{other.number}.{entry.number}"
        add(f"{stem}.label", f"correction {entry.number}", "s", other)
        add(f"{stem}.date", entry.date.isoformat(), "date", other)
        for name in ("because", "says"):
            add(f"{stem}.{name}", _filled(other, getattr(entry, name)), "s", other)
    return found


def caused_until(part: Part, facts: Facts) -> list[Caused]:
    """The corrections in other parts that `part` caused, up to its own date."""
    caused = index_of(part.campaign).caused_by(part)
    return [found for found in caused if found.correction.date <= facts.post.date]


def _filled(part: Part, text: str) -> str:
    """The text of an entry of `part` with its quotes filled from the part's own plan, data, facts and credits."""
    if "{" not in text:
        return text
    plan = read_plan(part.plan, part.show(part.plan))
    computed = readings_of(part, plan, data_of(part, plan), looks_of(part))
    own = {name: computed[name] for name in computed} | fact_readings(read_facts(part))
    return render(
        text,
        part.show(part.corrections),
        Readings(own, part.name, decimal=read_settings(part.campaign).decimal),
        {},
        lambda name: None,
    ).body()


def _provenance(data: Data, seal: Seal | None) -> dict[str, Reading]:
    found = {
        "data.digest": Reading("data.digest", data.digest[:DIGEST_DIGITS], role="fact", because="sha256 over data/"),
        "data.origin": Reading("data.origin", data.origin, role="fact", because="data/run.json"),
    }
    if seal:
        found["seal.date"] = Reading(
            "seal.date", seal.sealed.isoformat(), print="minute", role="fact", because="seal.toml"
        )
    return found


@dataclass(frozen=True)
class Compiled:
    """A plan as it is before its first row."""

    text: str
    """What it compiles to, for a person."""
    decides: str
    """The chance of each verdict; empty where the plan has none over planned rows."""
    problems: tuple[str, ...]
    """What makes its rule unfit to be sealed."""
    digest: str
    """sha256 of the compiled rule."""


def compiled(part: Part) -> Compiled:
    """What the part's plan compiles to; what is wrong with the plan itself is raised."""
    shown = part.show(part.plan)
    plan = read_plan(part.plan, shown)
    declared_plots(plan, part)
    tables = _tables_there(plan, part)
    title = f"{part.title}: {plan.about}"
    tasks = int(tables["tasks"]["task"].nunique()) if "tasks" in tables and len(tables["tasks"]) else None
    steps = tables[ROW_VALUES]["step_ms"].mean() if ROW_VALUES in tables and len(tables[ROW_VALUES]) else None
    faults = problems(plan, tasks, steps) + _power_fault(plan, tables)
    found = tuple(f"{shown}: {problem}" for problem in faults)
    decides = power_text(characteristics(plan, tables)) if plan.verdict and plan.rows and not found else ""
    return Compiled(f"{title}\n{plan_text(plan)}", decides, found, rule_digest(plan))


def _power_fault(plan: Plan, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """That a guard on power shares could never run, because earlier rows have no power samples."""
    asked = plan.verdict and any(guard.kind == "power share" for guard in plan.verdict.guards)
    if not asked or ROW_VALUES not in tables or not len(tables[ROW_VALUES]):
        return []
    rows = tables[ROW_VALUES]
    without = rows[rows["power_share"].isna()] if "power_share" in rows else rows
    if not len(without):
        return []
    return [
        f"verdict.guards: the power shares of {len(without)} earlier rows are not known ({without['row'].iloc[0]}), so "
        "the guard could never run; expected power samples of every row. Take the guard out, or another yardstick."
    ]


def _tables_there(plan: Plan, part: Part) -> dict[str, pd.DataFrame]:
    """The served tables of the rows that are there before the plan's own: a yardstick's; none where nothing lies there.

    Rows that ran under the plan are left out: what they say must not shape it.
    """
    there = {
        name: said
        for name, said in plan.tables.items()
        if _is_there(plan, name, part) or isinstance(plan.table(name)[1], Schema)
    }
    plan = plan.model_copy(update={"tables": there})
    data = read_data(plan, part.folder, part.show, absent_is_empty=True)
    tables = dict(data.tables)
    if "rows" in tables:
        earlier = [name for name, arm in plan.arms.items() if arm.earlier]
        tables["rows"] = tables["rows"][tables["rows"]["arm"].isin(earlier)]
    return served_tables(plan, replace(data, tables=tables))


def _all_there(plan: Plan, part: Part) -> bool:
    """Whether every table of the plan has a file."""
    return all(_is_there(plan, name, part) for name in plan.tables)


def _is_there(plan: Plan, table: str, part: Part) -> bool:
    return any(part.folder.glob(plan.table(table)[0]))


def check_before_seal(part: Part, *, measured: bool) -> Compiled:
    """What the plan compiles to; raises what makes it unfit to be sealed, tried on the tables that lie there."""
    plan = read_plan(part.plan, part.show(part.plan))
    found = compiled(part)
    if found.problems:
        raise UsageError("; ".join(found.problems))
    if read_seal(part) is None and _all_there(plan, part):
        sources = load(part)
        ran = rows_of(plan, sources.data.tables["rows"]) if "rows" in sources.data.tables else ()
        if measured and sources.data.origin == "measured" and len(ran):
            raise UsageError(
                f"{part.show(part.data / 'rows.csv')}: {len(ran)} rows are there already; expected none before the "
                "seal of a measured part, which would refuse them for good. Take them out (earlier rows can be a "
                "yardstick: an arm with `earlier`), or say with --origin stated that nothing proves their order."
            )
    return found
