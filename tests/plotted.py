"""The small served part with a saving, levers and a plot of each kind, for tests to change in one place."""

from pathlib import Path
from typing import Any

from tests.served import ARM_OF, FAILED, HEAD, STEP_MS, VERDICT, Served, draw, row, sample, task

from campaign.analysis.readings import Reading
from campaign.notes.paths import Campaign, Part
from campaign.notes.plotting import Plot, plot_readings, plots_of

SAVING = """\
[saving]
arm = "rs8"
against = "yardstick"
same_day = "old"

[[lever]]
id = "swap"
label = "cheaper swap"
bar = "bar"
reading = "saving.low"

[[lever]]
id = "copy"
label = "copies"
bar = "bar"
reading = "saving.same_day.low"

[verdict]
reading = "saving.lower"
"""
PLOTS = """
[[plot]]
name = "rows"
kind = "rows"

[[plot]]
name = "slope"
kind = "slope"

[[plot]]
name = "drift"
kind = "drift chart"

[[plot]]
name = "levers"
kind = "levers"
"""
NAMES = ("rows", "slope", "drift", "levers")
HEAD = HEAD.replace('[verdict]\nreading = "saving.low.lo"\n', SAVING).replace(
    '    { name = "drift", verdict = "confounded", when = "abs(drift.low) > 0.13" },\n', ""
)


def part_in(folder: Path) -> Part:
    return Part(Campaign(folder), "part-1")


def plotted(folder: Path, plots: str = PLOTS, head: str = HEAD, **overrides: Any) -> Served:
    """The small part below `folder`, with these plots."""
    readings = overrides.pop("readings", (FAILED, VERDICT))
    return Served(part_in(folder).folder, readings, head + plots, **overrides)


def drawn(folder: Path, made: Served) -> dict[str, Plot]:
    """The plots of the part by name."""
    return {plot.name: plot for plot in plots_of(made.plan(), part_in(folder), made.data(), made.read())}


def given(folder: Path, made: Served) -> dict[str, Reading]:
    """The readings that the plots give."""
    return plot_readings(made.plan(), part_in(folder), made.data(), made.read())


def more_yardsticks(made: Served, steps: list[float]) -> Served:
    """The part with a further yardstick row for each of `steps`, ms per verify step, an hour apart."""
    for number, step in enumerate(steps):
        name = f"m{number}"
        made.rows.append(row(name, "yardstick", f"2026-11-05T{12 + number // 2:02d}:{30 * (number % 2):02d}:00Z"))
        made.draws += [draw(name, n, step) for n in (1, 2)]
        made.tasks += [task(name, n, which) for n in (1, 2) for which in ("agentic-1", "qa-1")]
        made.power += [sample(name, n, 500, True) for n in range(3)]
    return made


def with_one_row_each(made: Served) -> Served:
    """The part with one row of the yardstick and one of rs8."""
    made.head = made.head.replace('order = ["old", "rs8", "rs8", "old"]', 'order = ["old", "rs8", "old"]')
    return made.without("y2").without("y3").without("r3")


assert set(ARM_OF) == set(STEP_MS), "every row has a step time"
