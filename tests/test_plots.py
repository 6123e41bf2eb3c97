import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise

import pytest

from campaign.notes.errors import TemplateError
from campaign.notes.plots import LinePlot, Series, line_plot, points_digest
from campaign.notes.svg import STYLES, read_digest

SVG = "{http://www.w3.org/2000/svg}"
X = (4096.0, 8192.0, 16384.0)


def series(label: str = "ours", y: tuple[float, ...] = (4.1, 4.4, 4.9), spread: float | None = 0.1) -> Series:
    if spread is None:
        return Series(label, X, y)
    return Series(label, X, y, tuple(v - spread for v in y), tuple(v + spread for v in y))


def plot(*lines: Series, **changes: object) -> LinePlot:
    spec = LinePlot("Top-k", "row length", "µs a call", lines or (series(),), alt="Time hardly grows.")
    return replace(spec, **changes)


def texts(svg: str) -> dict[str, ElementTree.Element]:
    return {element.text or "": element for element in ElementTree.fromstring(svg).iter(f"{SVG}text")}


def test_same_spec_gives_the_same_bytes():
    """Two drawings of one spec do not differ in a byte."""
    assert line_plot(plot()) == line_plot(plot())


def test_bytes_do_not_depend_on_the_process_or_a_users_settings(tmp_path):
    """Another process, with another hash seed and a matplotlibrc of its own, draws the same bytes."""
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 9\nfont.size: 30\nsvg.fonttype: path\n")
    code = (
        "import sys; from campaign.notes.plots import *\n"
        "s = Series('ours', (1.0, 2.0), (4.1, 4.4), (4.0, 4.3), (4.2, 4.5))\n"
        "sys.stdout.buffer.write(line_plot(LinePlot('T', 'x', 'y', (s,), alt='A')).encode())"
    )
    here = line_plot(LinePlot("T", "x", "y", (Series("ours", (1, 2), (4.1, 4.4), (4.0, 4.3), (4.2, 4.5)),), alt="A"))
    env = os.environ | {"MATPLOTLIBRC": str(tmp_path), "PYTHONHASHSEED": "7"}
    there = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True, env=env)
    assert there.stdout.decode() == here


def test_drawing_leaves_matplotlibs_settings_alone():
    """A caller's rcParams are the same before and after a drawing."""
    import matplotlib

    matplotlib.rcParams["lines.linewidth"] = 3.25
    try:
        before = dict(matplotlib.rcParams)
        line_plot(plot())
        assert dict(matplotlib.rcParams) == before
    finally:
        matplotlib.rcdefaults()


def test_importing_plots_does_not_import_matplotlib():
    """A build without a plot never loads matplotlib."""
    code = "import sys, campaign.notes.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0


def test_text_stays_text():
    """Labels, ticks and names can be read and searched in the SVG."""
    svg = line_plot(plot(x_scale="log2", x_tick_labels=("4 Ki", "8 Ki", "16 Ki"), rule=(4.5, "bar: 4.5 µs")))
    assert {"Top-k", "row length", "µs a call", "ours", "4 Ki", "16 Ki", "bar: 4.5 µs"} <= texts(svg).keys()


def test_dollar_signs_and_markup_in_labels_are_shown_as_typed():
    """A label is never read as mathematics or as XML."""
    assert "cost $a$ <b> & more" in texts(line_plot(plot(series("cost $a$ <b> & more"))))


def test_svg_carries_no_date_and_no_outside_address():
    """Nothing in the SVG says when or where it was made, or fetches anything."""
    svg = line_plot(plot())
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"20\d\d-|matplotlib|<style", svg, re.IGNORECASE)


def test_ids_that_nothing_refers_to_are_gone():
    """Only ids that a part of the drawing needs remain, so that two plots in a page do not meet."""
    svg = line_plot(plot())
    assert set(re.findall(r'\sid="([^"]+)"', svg)) == set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))


def test_ordinary_plot_is_small():
    """Six series of eleven points with spreads stay under 60 kB."""
    x = tuple(float(2**n) for n in range(8, 19))
    lines = tuple(
        Series(f"arm {i}", x, tuple(v / (i + 2) for v in x), tuple(v / (i + 3) for v in x), x) for i in range(6)
    )
    assert len(line_plot(plot(*lines, x_scale="log2", y_scale="log")).encode()) < 60_000


def test_title_element_is_the_alternative_text():
    """A reader who does not see the plot hears `alt`."""
    assert ElementTree.fromstring(line_plot(plot())).findtext(f"{SVG}title") == "Time hardly grows."


def test_digest_in_the_svg_is_that_of_its_points():
    """What `read_digest` finds is what `points_digest` computes."""
    assert read_digest(line_plot(plot())) == points_digest(plot())


def test_svg_without_a_digest_has_none():
    """A drawing from elsewhere is not taken for one of ours."""
    assert read_digest("<svg xmlns='http://www.w3.org/2000/svg'/>") is None


@pytest.mark.parametrize(
    "other",
    [
        plot(series(y=(4.1, 4.4, 4.9000001))),
        plot(series(spread=0.2)),
        plot(series(spread=None)),
        plot(series("theirs")),
        plot(title="Top-8"),
        plot(y_label="ms a call"),
        plot(x_scale="log2"),
        plot(rule=(4.5, "bar")),
        plot(alt="Time grows."),
        plot(x_tick_labels=("a", "b", "c")),
    ],
)
def test_any_change_of_what_is_shown_changes_the_digest(other):
    """The digest covers values, spreads, labels, scales, the rule and the alternative text."""
    assert points_digest(other) != points_digest(plot())


def test_digest_does_not_see_how_a_number_is_stored():
    """Whole numbers, floats and NumPy's floats of the same value have one digest."""
    numpy = pytest.importorskip("numpy")
    plain = plot(Series("a", (1, 2), (0, 3)))
    assert points_digest(plain) == points_digest(plot(Series("a", (1.0, 2.0), (-0.0, 3.0))))
    assert points_digest(plain) == points_digest(plot(Series("a", tuple(numpy.array([1, 2])), (0, numpy.float64(3)))))


def test_digest_is_the_same_on_every_machine():
    """The digest of a known plot is a known string, so that a committed SVG can be checked anywhere."""
    known = LinePlot("T", "x", "y", (Series("a", (1.0, 2.0), (0.1, 0.2)),))
    assert points_digest(known) == "c9903d1b75ba5285ebc442b3fb25b8a6687130be69511817a1c6aabb4d84c45d"


def test_names_at_line_ends_do_not_overlap():
    """Lines that end at nearly the same height still have names a line apart, in the order of the lines."""
    lines = [series(f"arm {i}", (4.0, 4.0, 4.0 + i / 1000), None) for i in range(6)]
    shown = texts(line_plot(plot(*lines, rule=(4.0, "bar"))))
    heights = [float(shown[name].attrib["y"]) for name in ("bar", *(f"arm {i}" for i in range(6)))]
    assert all(lower - upper >= 10 for lower, upper in pairwise(heights[1:]))
    assert len({round(height) for height in heights}) == 7


def test_names_stay_inside_the_drawing():
    """The longest name makes the plot narrower; it does not run out of the picture."""
    svg = line_plot(plot(series("a long name for a kernel with clusters"), series("b", (5.0, 5.0, 5.0))))
    name = texts(svg)["a long name for a kernel with clusters"]
    assert float(name.attrib["x"]) < 417.6 - 180


def test_more_than_six_series_have_a_legend():
    """Seven names at line ends would be a list anyway."""
    lines = [series(f"arm {i}", (4.0, 4.0, 4.0 + i)) for i in range(7)]
    shown = texts(line_plot(plot(*lines)))
    assert len({shown[f"arm {i}"].attrib["x"] for i in range(7)}) == 1
    assert {f"arm {i}" for i in range(7)} <= shown.keys()


def test_few_points_have_bars_and_many_a_band():
    """A spread is a bar at each of a few measured points, one area under many."""
    x = tuple(float(i) for i in range(40))
    y = tuple(4.0 + i / 10 for i in range(40))
    many = Series("many", x, y, tuple(v - 1 for v in y), tuple(v + 1 for v in y))
    assert "opacity: 0.16" in line_plot(plot(many))
    assert "opacity: 0.16" not in line_plot(plot())


def test_every_series_colour_can_be_read_on_white():
    """A name in its line's colour has a contrast of at least 4.5 on the card."""

    def light(channel: str) -> float:
        value = int(channel, 16) / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    for colour, _ in STYLES:
        luminance = 0.2126 * light(colour[1:3]) + 0.7152 * light(colour[3:5]) + 0.0722 * light(colour[5:7])
        assert 1.05 / (luminance + 0.05) >= 4.5, colour


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (plot(replace(series(), x=())), "no points"),
        (plot(series(), series()), "2 series are called 'ours'"),
        (plot(series(y=(4.1, 4.4))), "2 values of y; expected one for each of 3 x"),
        (plot(replace(series(), high=None)), "only one end of the spread"),
        (plot(series(y=(4.1, float("nan"), 4.9), spread=None)), "Leave the point out"),
        (plot(replace(series(spread=None), x=(1.0, 3.0, 2.0))), "x that do not ascend"),
        (plot(replace(series(), low=(4.2, 4.2, 4.2))), r"spread \[4.2, 4.2\] around 4.1"),
        (plot(Series("a", (0.0, 1.0), (1.0, 2.0)), x_scale="log2"), "x = 0 on a log2 axis"),
        (plot(Series("a", (1.0, 2.0), (0.0, 2.0)), y_scale="log"), "0 or less on a log axis"),
        (plot(rule=(float("inf"), "bar")), "a rule at inf"),
        (plot(x_tick_labels=("a", "b")), "2 tick labels; expected one for each of 3 distinct x"),
        (plot(*(series(f"arm {i}") for i in range(9))), "Make two plots"),
    ],
)
def test_points_that_cannot_be_drawn_are_refused(spec, said):
    """The message says what was found, what was expected and what to do."""
    with pytest.raises(TemplateError, match=said):
        line_plot(spec)


def test_a_plot_of_nothing_is_refused():
    """A plot without series is never drawn as an empty frame."""
    with pytest.raises(TemplateError, match="no series"):
        line_plot(LinePlot("T", "x", "y", ()))
