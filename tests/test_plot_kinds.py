"""Plots of rows, slopes, drift and levers: deterministic, honest about what is missing, bound to the data."""

import atexit
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, part_files, shut_out, written_campaign
from tests.plotted import HEAD, NAMES, PLOTS, drawn, given, more_yardsticks, part_in, plotted, with_one_row_each
from tests.served import FAILED, row

from campaign.engine.errors import PlanError
from campaign.notes.errors import TemplateError
from campaign.notes.svg import read_digest

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def said(svg: str) -> str:
    """Every text of the drawing, in its order."""
    return " ".join(texts(svg))


# ---- bytes and digests


def test_same_data_give_the_same_bytes_in_every_process(tmp_path):
    """Neither the hash seed, the zone nor a user's matplotlibrc shows."""
    more_yardsticks(plotted(tmp_path), [14.4, 14.41, 15.6, 14.4, 14.39]).write()
    (tmp_path / "campaign.toml").write_text('title = "x"\n')
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 9\nfont.size: 30\n")
    code = (
        "import sys; from pathlib import Path; from campaign.notes.paths import Campaign, Part\n"
        "from campaign.engine.plan import read_plan; from campaign.engine.data import read_data\n"
        "from campaign.analysis.compute import read; from campaign.notes.plotting import plots_of\n"
        "part = Part(Campaign(Path(sys.argv[1])), 'part-1'); plan = read_plan(part.plan, 'plan')\n"
        "data = read_data(plan, part.folder, str)\n"
        "for plot in plots_of(plan, part, data, read(plan, data, 'plan')): sys.stdout.buffer.write(plot.svg.encode())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-P", "-c", code, str(tmp_path)], capture_output=True, check=True, env=os.environ | more
        ).stdout
        for more in (
            {"PYTHONHASHSEED": "1"},
            {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "MATPLOTLIBRC": str(tmp_path)},
        )
    }
    assert len(found) == 1 and found.pop().count(b"<svg") == 4


def test_digest_in_the_svg_is_that_of_its_points(tmp_path):
    for plot in drawn(tmp_path, plotted(tmp_path)).values():
        assert read_digest(plot.svg) == plot.digest


def test_changed_data_change_every_digest(tmp_path):
    """One row that took a hundredth of a millisecond longer shows in each plot that has it."""
    before = drawn(tmp_path, plotted(tmp_path))
    made = plotted(tmp_path)
    made.set_row("y1", 14.41)
    after = drawn(tmp_path, made)
    assert {name for name in NAMES if after[name].digest != before[name].digest} == set(NAMES)


def test_the_machines_last_bit_changes_no_digest(tmp_path):
    made = plotted(tmp_path)
    before = drawn(tmp_path, made)["slope"]
    made.draws[0] = made.draws[0] | {"step_time_ms": made.draws[0]["step_time_ms"] + 2e-12}
    assert drawn(tmp_path, made)["slope"].digest == before.digest


# ---- what is drawn


def test_texts_stand_inside_the_drawing(tmp_path):
    made = more_yardsticks(plotted(tmp_path), [14.4, 14.41, 15.6, 14.4, 14.39])
    made.head = made.head.replace('label = "rs8"', f'label = "rs8{" with a very long name" * 6}"')
    made.head = made.head.replace('label = "copies"', f'label = "copies{" of many kinds" * 6}"')
    for plot in drawn(tmp_path, made).values():
        root = ElementTree.fromstring(plot.svg)
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        for element in root.iter(f"{SVG}text"):
            assert len(element.text or "") < 90
            if "x" in element.attrib:
                assert 0 <= float(element.attrib["x"]) <= width and 0 < float(element.attrib["y"]) < height


def test_arms_have_their_labels_and_markers(tmp_path):
    svg = drawn(tmp_path, plotted(tmp_path))["rows"].svg
    assert {"served kernel, the day before", "served kernel", "rs8"} <= set(texts(svg))
    assert "5 Nov 2026, UTC" in texts(svg) and "6 Nov 2026, UTC" in texts(svg)
    assert "Band: served kernel, the day before, mean ± t·s of the rows, n = 3, 95 %." in said(svg)


def test_void_rows_are_in_the_legend(tmp_path):
    made = plotted(tmp_path)
    assert "void row" not in texts(drawn(tmp_path, made)["rows"].svg)
    made.rows.append(row("bad", "old", "2026-11-06T05:30:00Z", "void", "the server stopped"))
    assert "void row" in texts(drawn(tmp_path, made)["rows"].svg)


def test_a_single_yardstick_row_is_said(tmp_path):
    svg = drawn(tmp_path, plotted(tmp_path).without("y2").without("y3"))["rows"].svg
    assert "need at least two rows for a band, have 1" in said(svg) and "opacity: 0.2" not in svg


def test_one_row_in_each_arm_draws_no_curve_and_says_why(tmp_path):
    svg = drawn(tmp_path, with_one_row_each(plotted(tmp_path)))["slope"].svg
    assert "Saving not resolved: need two rows in at least one arm" in said(svg)
    assert "opacity: 0.16" not in svg and "saving" not in texts(svg)


def test_slopes_and_bars_are_named(tmp_path):
    shown = texts(drawn(tmp_path, plotted(tmp_path))["slope"].svg)
    assert {"low 0.4", "high 0.6", "≥ 0.155 carries", "> 0 seen", "95 % interval"} <= set(shown)


def test_flips_are_marked(tmp_path):
    made = plotted(tmp_path, PLOTS.replace('kind = "slope"', 'kind = "slope"\nrange = [-10, 10]'))
    made.set_row("r2", 14.02, 3.9)
    assert any(text.startswith("flip ") for text in texts(drawn(tmp_path, made)["slope"].svg))


def test_few_baseline_rows_have_no_limits_and_it_is_said(tmp_path):
    svg = drawn(tmp_path, plotted(tmp_path))["drift"].svg
    assert "No limits: need at least 8 points for limits, have 5." in texts(svg)
    assert "limits" not in texts(svg) and "moving average" not in texts(svg)


def test_a_row_beyond_its_limits_is_ringed_and_named(tmp_path):
    svg = drawn(tmp_path, more_yardsticks(plotted(tmp_path), [14.4, 14.41, 15.6, 14.4, 14.39, 14.4]))["drift"].svg
    assert {"beyond its limits", "limits", "moving average", "Rows beyond their limits: m2."} <= set(texts(svg))


def test_kept_and_parked_differ_without_colour(tmp_path):
    """A kept lever has a filled marker and a parked one an open one; the word stands beside each."""
    made = plotted(tmp_path)
    made.set_row("r1", 14.05)
    made.set_row("r4", 14.0)
    svg = drawn(tmp_path, made)["levers"].svg
    assert any(text.endswith(" kept") for text in texts(svg)) and any(text.endswith(" parked") for text in texts(svg))
    assert "fill: #ffffff; stroke: #0b66a8" in svg and "fill: #0b66a8; stroke: #0b66a8" in svg


def test_values_are_printed_as_the_text_prints_them(tmp_path):
    made = plotted(tmp_path)
    assert any(text == "0.400 kept" for text in texts(drawn(tmp_path, made)["levers"].svg))


def test_rows_of_many_days_share_one_panel(tmp_path):
    made = plotted(tmp_path)
    for number in range(8):
        made.rows.append(row(f"v{number}", "yardstick", f"2026-10-{10 + 2 * number}T08:00:00Z", "void", "a rehearsal"))
    assert "10 Oct 2026 to 6 Nov 2026, UTC" in texts(drawn(tmp_path, made)["rows"].svg)


def test_a_look_marks_the_plots(tmp_path):
    """What marks every reading stands under every plot."""
    from campaign.analysis.compute import read
    from campaign.analysis.interim import Look
    from campaign.notes.plotting import plots_of

    made = plotted(tmp_path)
    readings = read(made.plan(), made.data(), "plan.toml", [Look(2, False)])
    for plot in plots_of(made.plan(), part_in(tmp_path), made.data(), readings):
        assert "Interim: looked at after 2 of 4 rows" in said(plot.svg)


def test_nothing_is_drawn_while_rows_are_missing(tmp_path):
    made = plotted(tmp_path).without("r4")
    assert drawn(tmp_path, made) == {}
    for name, reading in given(tmp_path, made).items():
        assert reading.value is None or reading.role == "constant", name


# ---- refusals

NO_VERDICT = HEAD[: HEAD.index("[saving]")] + HEAD[HEAD.index("[tables]") :]


@pytest.mark.parametrize(
    ("plot", "head", "message"),
    [
        ('kind = "row"', HEAD, r"plot p: kind is 'row'; expected one of line, rows, .*Did you mean rows\?"),
        ('kind = "rows"\nbend = "mean"', HEAD, r"plot p: bend: unknown key.*Did you mean band\?"),
        ('kind = "rows"\nband = "row"', HEAD, r"plot p: band: found 'row'.*Did you mean rows\?"),
        ('kind = "rows"\nyardstick = "yardstik"', HEAD, r"plot p: yardstick: names the arm 'yardstik'.*Did you mean"),
        ('kind = "rows"\ncolumn = "step"', HEAD, r"plot p: column: 'step' is no column of the row values"),
        ('kind = "slope"', NO_VERDICT, r"plot p: the plan has no verdict over two arms; expected \[verdict\]"),
        ('kind = "slope"\nrange = [1, 0]', HEAD, r"plot p: range is .*the least slope and then a greater one"),
        ('kind = "slope"\nrange = [1]', HEAD, r"plot p: range.*at least 2 of them"),
        ('kind = "drift chart"', NO_VERDICT, r"plot p: the plan compares no two arms.*expected `arms`"),
        ('kind = "drift chart"\narms = ["odl"]', HEAD, r"plot p: arms: names the arm 'odl'.*Did you mean old\?"),
        ('kind = "levers"', NO_VERDICT, r"plot p: the plan has no \[\[lever\]\]; expected at least one"),
        ('kind = "levers"\nlevers = ["swop"]', HEAD, r"plot p: levers: names 'swop'.*Did you mean swap\?"),
        ('title = "no kind"', HEAD, r"plot p: x_label: missing"),
    ],
)
def test_a_plot_that_the_plan_cannot_have_is_refused(tmp_path, plot, head, message):
    """The error names the plan, the plot, what was expected and what to do."""
    made = plotted(tmp_path, f'\n[[plot]]\nname = "p"\n{plot}\n', head, readings=(FAILED,) if head != HEAD else ())
    made.readings = made.readings or plotted(tmp_path).readings
    with pytest.raises((PlanError, TemplateError), match=message) as refused:
        drawn(tmp_path, made)
    assert str(refused.value).startswith("parts/part-1/plan.toml: plot p: ")


def test_a_slope_needs_matching(tmp_path):
    head = re.sub(r"\[matching\]\n.*\n.*\n", "", HEAD).replace('saving.low"', 'saving.unmatched"')
    made = plotted(
        tmp_path, '\n[[plot]]\nname = "p"\nkind = "slope"\n', head.replace("same_day.low", "same_day.unmatched")
    )
    with pytest.raises(TemplateError, match=r"plot p: the plan matches its rows along no slope; expected \[matching\]"):
        drawn(tmp_path, made)


def test_rows_need_their_tables(tmp_path):
    head = 'about = "x"\n'
    made = plotted(tmp_path, '\n[[plot]]\nname = "p"\nkind = "rows"\n', head, readings=())
    with pytest.raises(TemplateError, match=r"plot p: the plan reads no rows and draws; expected the tables"):
        drawn(tmp_path, made)


def test_two_plots_of_one_name_are_refused(tmp_path):
    with pytest.raises(TemplateError, match="plot rows: the name stands twice"):
        drawn(tmp_path, plotted(tmp_path, PLOTS.replace('"slope"\nkind', '"rows"\nkind')))


# ---- in a note

NOTE_PLOTS = """
[[plot]]
name = "in-time"
kind = "rows"
yardstick = "served"

[[plot]]
name = "slope"
kind = "slope"

[[plot]]
name = "drift"
kind = "drift chart"
arms = ["served"]

[[plot]]
name = "levers"
kind = "levers"
"""
LEVER = """
[[lever]]
id = "swap"
label = "schedule 3 of the swap"
bar = "bar"
table = "pairs"
value = "served_us - changed_us"
"""
PAIRS = """
[tables.pairs]
file = "data/pairs.csv"
key = ["pair"]
columns = { pair = "integer", served_us = "number", changed_us = "number" }
"""


@functools.cache
def _noted_once() -> Path:
    """A built part with a plot of each kind, made once in a test run and only copied from."""
    files = part_files()
    plan = files["plan.toml"].replace("[tables]\n", f"{LEVER}\n[tables]\n") + PAIRS + NOTE_PLOTS
    plots = "".join(f'{{{{ plot("{name}", alt("{name}")) }}}}\n\n' for name in ("in-time", "slope", "drift", "levers"))
    template = '{% from "plots.md.j2" import alt %}\n' + files["post.md.j2"].replace("## Credits", f"{plots}## Credits")
    pairs = "pair,served_us,changed_us\n1,5.0,4.7\n2,5.1,4.9\n3,5.0,4.6\n"
    folder = Path(tempfile.mkdtemp(prefix="plotted-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with pytest.MonkeyPatch.context() as monkeypatch:
        campaign = written_campaign(
            folder, monkeypatch, {"plan.toml": plan, "post.md.j2": template, "data/pairs.csv": pairs}
        )
        campaign.notes("build", "1")
    return campaign.root


@pytest.fixture
def note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    """A built part with a plot of each kind, whose alternative texts are the usual ones."""
    shut_out(monkeypatch)
    root = tmp_path / "campaign"
    shutil.copytree(_noted_once(), root)
    monkeypatch.chdir(root)
    return TriedCampaign(root, root)


def alt_of(campaign: TriedCampaign, name: str) -> str:
    return re.search(rf"!\[([^]]*)\]\(plots/{name}\.svg\)", campaign.body)[1]


def test_usual_alternative_texts_are_bound(note):
    """Every number of them is quoted, and the check finds nothing."""
    found = note.notes("check", "1").stdout
    assert "0 unbound" in found and "comparing words stand" not in found
    assert alt_of(note, "in-time").startswith("The rows at their start times, matched step time: 2 of served kernel")
    assert "At 0.4 it is " in alt_of(note, "slope") and "Bars: 0.10 (carries), 0 (seen)." in alt_of(note, "slope")
    assert alt_of(note, "drift").endswith("No limits can be given.")
    assert "schedule 3 of the swap: 0.300 (0.0" in alt_of(note, "levers")


@pytest.mark.parametrize("name", ["in-time", "slope", "drift", "levers"])
def test_a_changed_number_of_an_alternative_text_is_found(note, name):
    was = alt_of(note, name)
    number = re.search(r"\d+\.\d+", was)[0]
    note.change(was, was.replace(number, f"{number}9", 1))
    found = note.notes("check", "1", exit=1).stdout
    assert f"{number}9" in found and number in found


def test_changed_data_make_the_plots_stale(note):
    note.change_cell("data/draws.csv", 3, "step_time_ms", lambda said: f"{float(said) + 100:.3f}")
    found = note.notes("check", "1", exit=1).stdout
    for name in ("in-time", "slope"):
        assert f"parts/part-1/plots/{name}.svg" in found


def test_an_edited_plot_is_found(note):
    text = note.text("plots/levers.svg")
    note.write("plots/levers.svg", text.replace("parked", "kept"))
    assert "parts/part-1/plots/levers.svg" in note.notes("check", "1", exit=1).stdout


def test_a_plot_while_rows_are_missing_is_not_resolved(note):
    """The text says so in its place, and no figure of the rows that are there is shown."""
    for name in ("rows", "draws", "tasks"):
        lines = note.text(f"data/{name}.csv").splitlines()
        note.write(f"data/{name}.csv", "".join(f"{line}\n" for line in lines if not line.startswith("4,")))
    for path in note.part.plots.iterdir():
        path.unlink()
    note.notes("build", "1")
    assert note.body.count("*not resolved*") == 5 and not list(note.part.plots.iterdir())


def test_building_without_plots_does_not_load_matplotlib(tmp_path, monkeypatch):
    files = part_files()
    plan = files["plan.toml"][: files["plan.toml"].index("[[plot]]")]
    template = files["post.md.j2"].replace('{{ plot("rows", "The matched time of each row.") }}\n', "")
    written_campaign(tmp_path, monkeypatch, {"plan.toml": plan, "post.md.j2": template})
    code = (
        "import sys; from click.testing import CliRunner; from campaign.notes.cli import main\n"
        "assert CliRunner().invoke(main, ['build', '1']).exit_code == 0\n"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0
