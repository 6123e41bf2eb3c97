"""The robustness panel as a table for a terminal, and as JSON."""

import json

from campaign.analysis.checks import SEED, Check, Panel
from campaign.analysis.intervals import Estimate
from campaign.analysis.robustness import robustness
from campaign.notes.quote import format_value
from campaign.notes.readout import heading
from campaign.notes.sources import Sources
from campaign.notes.terminal import Line, grid, wrapped

FORMATS = {"%": ".2f", "rows": "d", "draws": "d", "ms per token": ".3f"}
"""How figures that are no savings are printed, by their unit."""
USUAL = ".3f"
DIFFERS = "≠"


def panel_json(sources: Sources) -> str:
    """The panel as JSON, every number unrounded."""
    said = {"part": sources.part.name, "data": sources.data.digest, **_panel(sources).to_json()}
    return json.dumps(said, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def panel_text(sources: Sources, width: int, *, everything: bool = False) -> str:
    """Every check below its heading, at most `width` columns wide, and which of them differ from the verdict.

    With `everything` also what each check gives for each slope, row and part.
    """
    head = "\n".join(heading(sources, width))
    panel = _panel(sources)
    if panel.deciding is None:
        return f"{head}\n\n{panel.reason[:1].upper()}{panel.reason[1:]}."
    one = panel.deciding
    value = _printed(panel, one.value, panel.unit) if one.value is not None else f"not resolved: {one.reason}"
    what = f"{one.reading} = {value} {panel.unit}".rstrip() + (f", {one.band}" if one.band else "")
    opening = (
        f"Robustness of {what}. The same rows of {panel.arm} and {panel.against}, read in other ways; positive: "
        f"{panel.arm} is faster. None of this decides. `reads` is the plan's word for it, before guards."
    )
    if len({check.slope for check in panel.checks if check.slope}) > 1:
        opening += " Along several slopes, the least favourable one is shown."
    if any("drawn" in warning for check in panel.checks for warning in check.warnings):
        opening += f" What is drawn is drawn with seed {SEED}."
    blocks = [head, "\n".join(wrapped(opening, width))]
    head = ("check", "value", f"interval, {one.level:g} %", "p", "unit", "reads")
    lines: list[Line] = []
    group = ""
    for check in panel.checks:
        if check.method.group != group:
            group = check.method.group
            lines.append(Line((group,)))
        lines.append(_line(panel, check))
        lines += [_detail(panel, check, *one) for one in check.details] if everything else []
    blocks.append(grid(head, lines, width, right=(1, 2, 3)))
    blocks.append("\n".join(_flips(panel, width)))
    return "\n\n".join(blocks)


def _line(panel: Panel, check: Check) -> Line:
    name = f"  {check.what}"
    remarks = tuple(filter(None, ["; ".join(filter(None, [check.note, *check.warnings]))]))
    if check.reason:
        return Line((name,), f"not run: {check.reason}", remarks)
    estimate = check.estimate
    value = _printed(panel, estimate.value, check.unit) if isinstance(estimate.value, int | float) else ""
    interval = _interval(panel, estimate, check.unit)
    reads = check.band
    if check.flips:
        differs = [word for word in check.flips if word != "band"]
        reads = " ".join([DIFFERS, *filter(None, [check.band if "band" in check.flips else "", *differs])])
    unit = "" if check.unit == panel.unit else check.unit
    return Line((name, value, interval, _p(check.p), unit, reads), remarks=remarks)


def _panel(sources: Sources) -> Panel:
    return robustness(sources.plan, sources.data, sources.readings)


def _detail(panel: Panel, check: Check, name: str, estimate: Estimate) -> Line:
    if not isinstance(estimate.value, int | float):
        return Line((f"      {name}",), f"not run: {estimate.reason}")
    return Line(
        (f"      {name}", _printed(panel, float(estimate.value), ""), _interval(panel, estimate, ""), "", "", "")
    )


def _interval(panel: Panel, estimate: Estimate, unit: str) -> str:
    if estimate.lo is None or estimate.hi is None:
        return ""
    return f"[{_printed(panel, estimate.lo, unit)}, {_printed(panel, estimate.hi, unit)}]"


def _flips(panel: Panel, width: int) -> list[str]:
    """Which checks differ, and in what."""
    resolved = sum(not check.reason for check in panel.checks)
    if panel.deciding is not None and panel.deciding.value is None:
        return wrapped("The deciding reading is not resolved, so nothing can differ from it.", width)
    if not panel.flips:
        return wrapped(f"None of the {resolved} that could be computed differs in sign or band.", width)
    lines = wrapped(f"{len(panel.flips)} of the {resolved} that could be computed differ:", width)
    for check in panel.flips:
        now = f" ({check.band})" if "band" in check.flips and check.band else ""
        lines += wrapped(f"{DIFFERS} {check.id}: {check.what}: {', '.join(check.flips)}{now}", width, "  ", "    ")
    return lines


def _printed(panel: Panel, value: float, unit: str) -> str:
    fmt = (panel.print or USUAL) if unit == panel.unit else FORMATS.get(unit, USUAL)
    return format_value(value, fmt, unit)


def _p(p: float | None) -> str:
    """A p as a person reads it."""
    if p is None:
        return ""
    return "<0.0001" if p < 0.0001 else format_value(p, ".4f" if p < 0.001 else ".3f", "p")
