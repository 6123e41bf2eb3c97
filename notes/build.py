"""Building a part: from its sources to post.md, numbers.json, readings.json, plots and a page."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from campaign.engine.files import write_text
from campaign.notes import plotting
from campaign.notes.compare import Comparison, Where, compare
from campaign.notes.corrections import banner, corrected_places, entries, read_corrections
from campaign.notes.credits import read_credits
from campaign.notes.dates import long_date
from campaign.notes.errors import CannotTell, TemplateError
from campaign.notes.findings import Coverage
from campaign.notes.history import sha256_of
from campaign.notes.ledger import Ledger
from campaign.notes.page import CorrectedPlace, render_page
from campaign.notes.paths import Part
from campaign.notes.plot_specs import declared_plots, unknown_plot
from campaign.notes.post import Post, split
from campaign.notes.publish import read_published
from campaign.notes.quote import NOT_RESOLVED
from campaign.notes.render import render
from campaign.notes.sources import Sources, caused_until, load

DIGITS = 12
"""Significant digits of a number in readings.json: what differs beyond them is the machine's last bit."""


@dataclass(frozen=True)
class Built:
    """What a build gives, before anything is written."""

    sources: Sources
    ledger: Ledger
    post: Post
    plots: dict[str, str]
    """SVG text of each plot, by its name."""
    comparison: Comparison
    """The check of the new body against its own ledger: unbound numbers are in it."""

    @property
    def coverage(self) -> Coverage:
        """How many numbers the body has and how many are bound."""
        return self.comparison.coverage


def build(part: Part) -> Built:
    """Everything that the part's sources give now; nothing is written."""
    sources = load(part)
    plots = {plot.name: plot.svg for plot in plotting.plots_of(sources.plan, part, sources.data, sources.readings)}
    ledger = render(
        _template(part),
        part.show(part.template),
        sources.readings,
        context_of(sources, plots),
        package_template,
    )
    ledger = replace(ledger, plots={name: sha256_of(svg.encode()) for name, svg in plots.items()})
    body = ledger.body()
    post = assemble(part, body, sources)
    where = Where(part.show(part.post), 1 + post.text.count("\n", 0, post.body_start), f"notes build {part.name}")
    return Built(sources, ledger, post, plots, compare(body, ledger, sources.readings, sources.names, where))


def _template(part: Part) -> str:
    if not part.template.is_file():
        raise CannotTell(
            f"{part.show(part.template)}: there is no such file; expected the part's prose with its quotes. "
            f"`git checkout -- {part.show(part.template)}` restores it where git has it."
        )
    try:
        text = part.template.read_bytes().decode()
    except UnicodeDecodeError as wrong:
        raise TemplateError(
            f"{part.show(part.template)}: byte {wrong.start} is not UTF-8; expected UTF-8 text. Save it so."
        ) from None
    # The marker after the body needs a line of its own.
    return text if text.endswith("\n") else f"{text}\n"


def package_template(name: str) -> str | None:
    """The text of a template that comes with the program, or None."""
    found = resources.files("campaign") / "templates" / name
    return found.read_text(encoding="utf-8") if found.is_file() else None


def context_of(sources: Sources, plots: dict[str, str]) -> dict[str, object]:
    """What a template can use beside its functions: credits in order, the part, caused corrections, plots."""
    declared = [spec.name for spec in declared_plots(sources.plan, sources.part)]

    def plot(name: str, alt: str) -> str:
        if name not in declared:
            raise unknown_plot(name, declared)
        if name not in plots:
            return f"*{NOT_RESOLVED}*"
        return f"![{alt}](plots/{name}.svg)"

    def plotted(name: str) -> dict[str, object]:
        return plotting.ids_of(name, sources.plan, sources.part, sources.data, sources.readings)

    return {
        "credits": {key: credit.model_dump() for key, credit in read_credits(sources.part).credit.items()},
        "part": sources.part.number,
        "caused": [
            {"part": found.part.number, "number": found.correction.number}
            for found in caused_until(sources.part, sources.facts)
        ],
        "plot": plot,
        "plotted": plotted,
    }


def fill_entry(part: Part, text: str, sources: Sources) -> str:
    """The text of a dated entry with its quotes filled from fresh readings."""
    return render(text, part.show(part.corrections), sources.readings, {}, package_template).body()


def assemble(part: Part, body: str, sources: Sources) -> Post:
    """The post around `body`: the banner for the part's state, and its dated entries."""
    published = read_published(part)
    corrections = read_corrections(part)

    def fill(text: str) -> str:
        return fill_entry(part, text, sources)

    def link(name: str) -> str:
        return f"[{part.campaign.part(name).title}](../{name}/post.md)"

    below = entries(corrections, fill, link)
    return Post(banner(part.title, published, corrections), body, f"\n{below}" if below else "")


def readings_json(sources: Sources) -> str:
    """The text of readings.json: the constants and computed readings with all that they were computed from.

    One reading a line, so that a change of one number is a change of one line.
    """
    memo = sources.readings.memo
    if "json" not in memo:
        memo["json"] = _readings_json(sources)
    return memo["json"]


def _readings_json(sources: Sources) -> str:
    head = {
        "part": sources.part.name,
        "origin": sources.data.origin,
        "data": dict(sorted(sources.data.digests.items())),
    }
    lines = [json.dumps(_rounded(sources.readings[name].to_json()), ensure_ascii=False) for name in sources.computed]
    opened = json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}")
    return f'{opened},\n "readings": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return value


def page_of(part: Part, post: Post, sources: Sources) -> str:
    """The HTML page of a post."""
    corrections = read_corrections(part)
    dates = {entry.number: long_date(entry.date) for entry in corrections}
    shift = post.body_start
    corrected = [
        CorrectedPlace(
            place.start + shift, place.end + shift, f"correction-{place.number}", f"corrected {dates[place.number]}"
        )
        for place in corrected_places(post.body, corrections)
    ]
    others = [(other.title, f"../{other.name}/index.html") for other in part.campaign.parts() if other != part]
    return render_page(
        post.text,
        title=f"{part.title}: {sources.facts.post.title}",
        date=sources.facts.post.date.isoformat(),
        corrected=corrected,
        links=others,
        footer=[
            f"Data: {sources.data.origin}; sha256 {sources.data.digest[:12]}.",
            "Every number in the text is bound to a reading, a fact with its source, or a declared name; "
            f"`notes check {part.name}` compares them.",
        ],
        asset_base=part.folder,
    )


def write(built: Built) -> list[Path]:
    """The files written for a draft: readings.json, plots, numbers.json, post.md and the page."""
    part = built.sources.part
    texts: list[tuple[Path, Callable[[], str]]] = [
        (part.readings, lambda: readings_json(built.sources)),
        *((part.plots / f"{name}.svg", lambda svg=svg: svg) for name, svg in built.plots.items()),
        (part.numbers, lambda: built.ledger.to_json(built.coverage.counts())),
        (part.post, lambda: built.post.text),
    ]
    ready = [(path, text()) for path, text in texts]
    for path, text in ready:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    return [*(path for path, _ in ready), write_page(built)]


def write_page(built: Built, post: Post | None = None) -> Path:
    """The page of `post` (of the built post, where none is given), written below build/."""
    part = built.sources.part
    page = page_of(part, post or built.post, built.sources)
    part.page.parent.mkdir(parents=True, exist_ok=True)
    write_text(part.page, page)
    return part.page


def kept_post(part: Part, sources: Sources) -> Post | None:
    """For a published part its kept body in today's banner and entries; None for a draft."""
    if read_published(part) is None:
        return None
    text = part.post.read_bytes().decode("utf-8", errors="replace").replace("\r\n", "\n")
    body = split(text, part.show(part.post)).body
    return assemble(part, body, sources)
