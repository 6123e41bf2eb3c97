"""The `notes` command: from plan to published, checked text. Exit codes are decided here and nowhere else."""

import functools
import json
import re
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import click

from campaign.kernels.errors import CampaignError
from campaign.notes.errors import CannotTell
from campaign.notes.findings import FORMATS, Report
from campaign.notes.paths import Campaign, Part

OK, FINDINGS, WRONG_USE, CANNOT_TELL = 0, 1, 2, 3
INTERRUPTED = 130
"""As a shell says of a command that Ctrl-C ended."""

EXIT_CODES = """\b
Exit codes: 0 as it should be; 1 findings; 2 wrong use or unreadable input;
3 cannot tell (a shallow clone, data that is not here)."""


class _Group(click.Group):
    """Commands in the order of a part's life, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return "new import list plan seal run read build check why publish correct chain audit".split()


@click.group(cls=_Group, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="campaign-notes", prog_name="notes")
def main() -> None:
    """Carry a measurement campaign from question to published, dated note.

    A campaign is a folder with campaign.toml and parts/. Work in it, or in any folder below. A PART is named
    part-5, parts/part-5 or 5. The usual way: new, (write the plan), plan, seal, run (or measure elsewhere), read,
    build, check, publish; later, correct.
    """


def _command(
    *decorators: Callable[[Any], Any], anywhere: bool = False, **settings: Any
) -> Callable[[Callable[..., int | None]], click.Command]:
    """A command whose errors become messages and whose result becomes the exit code; `anywhere` needs no campaign."""

    def wrap(function: Callable[..., int | None]) -> click.Command:
        @functools.wraps(function)
        def run(**options: Any) -> None:
            try:
                code = function(**options) if anywhere else function(Campaign.above(Path.cwd()), **options)
            except CannotTell as wrong:
                click.echo(f"notes: cannot tell: {wrong}", err=True)
                sys.exit(CANNOT_TELL)
            except CampaignError as wrong:
                click.echo(f"notes: {wrong}", err=True)
                sys.exit(WRONG_USE)
            except BrokenPipeError:
                raise  # `notes read | head`: click ends quietly
            except KeyboardInterrupt:
                click.echo("notes: interrupted; what was written before stays. Run it again.", err=True)
                sys.exit(INTERRUPTED)
            except OSError as wrong:
                click.echo(
                    f"notes: {wrong.filename or ''}: {wrong.strerror}. Nothing was lost; mend it and run again.",
                    err=True,
                )
                sys.exit(WRONG_USE)
            sys.exit(code or OK)

        command: Any = run
        for decorator in reversed(decorators):
            command = decorator(command)
        # click would cut the first sentence of a long help text in the list of commands.
        short = re.split(r"[.:;]", function.__doc__ or "")[0] + "."
        return main.command(
            name=function.__name__.rstrip("_"), short_help=short, epilog=EXIT_CODES, context_settings=settings
        )(command)

    return wrap


_part = click.argument("part")


@_command(
    _part,
    click.option("--from", "like", metavar="PART", help="Take plan, facts, prose and credits over from this part."),
)
def new(campaign: Campaign, part: str, like: str | None) -> None:
    """Make the folder of a new part, with files that say what belongs into them."""
    from campaign.notes.new import new_part

    written = new_part(campaign, part, datetime.now(UTC).date(), like)
    for path in written:
        click.echo(f"wrote {path.relative_to(campaign.root)}")
    click.echo("next: write plan.toml, commit it, then `notes seal`")


@_command(
    click.argument("old", type=click.Path(path_type=Path), metavar="FILE"),
    click.option("--as", "name", required=True, metavar="PART", help="The part that it becomes."),
    click.option("--from", "origin", metavar="PART", help="Match with this part's data, and copy its plan and data."),
)
def import_(campaign: Campaign, old: Path, name: str, origin: str | None) -> None:
    """Take an existing Markdown post in as a part: propose a binding for each number, mark what a person decides.

    The post itself stays; what is written renders the same text. A number is bound only where one reading is clearly
    ahead; the others are left with their candidates in a comment, or become facts whose source is still to be said.
    """
    from campaign.notes.importing import next_steps, origin_steps, propose, read_old, summary, write_import
    from campaign.notes.paths import part_name
    from campaign.notes.settings import read_settings
    from campaign.notes.sources import load

    part = Part(campaign, part_name(name))
    source = campaign.part(origin) if origin else part if part.plan.is_file() else None
    settings = read_settings(campaign)
    text = read_old(old)
    found = propose(text, str(old), load(source) if source else None, settings.names, settings.decimal)
    for path in write_import(campaign, name, found, datetime.now(UTC).date()):
        click.echo(f"  {part.show(path)}")
    click.echo(summary(found))
    click.echo("next:")
    steps = [*([] if source else origin_steps(text, found, part)), *next_steps(found, part)]
    for number, step in enumerate(steps, 1):
        click.echo(f"  {number}. {step}")


@_command()
def list_(campaign: Campaign) -> None:
    """List the parts: date, state, numbers, corrections, title."""
    from campaign.notes.listing import listing

    click.echo(listing(campaign))


@_command(
    _part,
    click.option("--power", "with_power", is_flag=True, help="What the plan could decide: the chance of each verdict."),
)
def plan(campaign: Campaign, part: str, with_power: bool) -> int:
    """Show what a part's plan compiles to, and what is wrong with its rule, before the first row.

    Exit code 1 where the rule is not fit to be sealed.
    """
    from campaign.notes.sources import compiled

    what = compiled(campaign.part(part))
    click.echo(what.text)
    if with_power:
        none = "not known before its rule is mended" if what.problems else "the plan has no verdict over planned rows"
        click.echo("\n" + (what.decides or none))
    for problem in what.problems:
        click.echo(f"\n{problem}", err=True)
    return FINDINGS if what.problems else OK


@_command(
    _part,
    click.option(
        "--origin",
        type=click.Choice(["measured", "reconstructed", "stated"]),
        default="measured",
        show_default=True,
        help="Where the data come from; anything but measured proves no order.",
    ),
    click.option(
        "--sealed",
        metavar="TIME",
        help="For reconstructed or stated data: when the source says the plan "
        "was sealed, with its zone (2026-11-06T04:00:00Z). Measured: now.",
    ),
    click.option("--note", help="One plain sentence on how far the seal proves the order, in place of the usual one."),
    click.option("--commit/--no-commit", "commit", default=True, help="Commit seal.toml (default) or leave it."),
)
def seal(campaign: Campaign, part: str, origin: str, sealed: str | None, note: str | None, commit: bool) -> None:
    """Seal a part's plan before its first row: it must be committed, and never changes again."""
    from campaign.notes.history import open_history, require_history
    from campaign.notes.seal import make_seal, write_seal
    from campaign.notes.sources import check_before_seal

    found = campaign.part(part)
    history = open_history(campaign.root)
    if commit:
        require_history(history, "A seal").require_can_commit()
    what = check_before_seal(found, measured=origin == "measured")
    moment = _moment(sealed, "--sealed") if sealed else datetime.now(UTC)
    made = make_seal(found, origin=origin, sealed=moment, repo=history, note=note, decision_sha256=what.digest)  # type: ignore[arg-type]
    write_seal(found, made)
    if what.decides:
        click.echo(what.text + "\n\n" + what.decides + "\n")
    click.echo(f"sealed {found.show(found.plan)}: sha256 {made.plan_sha256[:12]}, in commit {made.commit[:12]}")
    click.echo(made.note)
    if commit:
        done = require_history(history, "A seal").commit([found.seal], f"Seal the plan of {found.title}")
        click.echo(f"committed as {done[:12]}")


@_command(_part)
def run(campaign: Campaign, part: str) -> int:
    """Measure a part's rows on this machine, in a process of its own.

    Finished rows stay. A row that is cut off, by hand or by a fault, is void with its reason and runs again at the
    next call. Needs the extra: pip install 'campaign-notes[engine]'.
    """
    from campaign.notes.running import run_part

    return run_part(campaign.part(part))


@_command(
    _part,
    click.option("--json", "as_json", is_flag=True, help="Everything that readings.json holds, freshly computed."),
    click.option("--all", "everything", is_flag=True, help="Every member of long families, every rounded number."),
    click.option(
        "--robustness",
        is_flag=True,
        help="In place of the readings: the compared rows read in other ways. It never decides.",
    ),
    click.option("--interim", is_flag=True, help="Look before the last planned row; the look is logged for good."),
    click.option("--because", metavar="TEXT", help="Why you look, where the plan provides for no look."),
)
def read(
    campaign: Campaign, part: str, as_json: bool, everything: bool, robustness: bool, interim: bool, because: str | None
) -> None:
    """Compute a part's readings from its data and print them; nothing is written but the log of a look.

    While planned rows are missing only their number is shown, unless --interim logs a look at those that are there, and
    commits the log.
    """
    from campaign.notes.build import readings_json
    from campaign.notes.errors import UsageError
    from campaign.notes.history import Repository, open_history
    from campaign.notes.look_log import log_look
    from campaign.notes.panel import panel_json, panel_text
    from campaign.notes.readout import logged_text, readout
    from campaign.notes.sources import load
    from campaign.notes.terminal import columns

    if because and not interim:
        raise UsageError("--because says why you look before the last row; expected --interim with it. Add it.")
    found = campaign.part(part)
    sources = load(found)
    if interim:
        history = open_history(campaign.root)
        if isinstance(history, Repository):
            history.require_can_commit()
        look = log_look(found, sources.plan, sources.data, datetime.now(UTC), because or "")
        commit = ""
        if look is not None and isinstance(history, Repository):
            commit = history.commit([found.looks], f"Look at {found.title} after {look.rows} rows")
        click.echo(logged_text(found, look, commit) + "\n", err=as_json)
        sources = load(found)
    if as_json:
        click.echo(panel_json(sources) if robustness else readings_json(sources), nl=False)
    else:
        click.echo((panel_text if robustness else readout)(sources, columns(), everything=everything))


@_command(_part)
def build(campaign: Campaign, part: str) -> int:
    """Build a part's post and page from its plan, data and prose.

    A published body is never changed: then only banner, entries and page are made anew, and where the data give
    another text now that text is written below build/ to be looked at.
    """
    from campaign.notes import building

    outcome = building.build_part(campaign.part(part))
    for line in outcome.lines:
        click.echo(line)
    return FINDINGS if outcome.differs else OK


_format = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="terminal",
    show_default=True,
    help="For people, for programs (one JSON object a line), for GitHub's annotations, code scanning or test reports.",
)


@_command(
    click.argument("parts", nargs=-1, metavar="[PART]..."),
    click.option(
        "--selftest", "prove", is_flag=True, help="Change text and data in every way and count what the check finds."
    ),
    _format,
    click.option("--notes", is_flag=True, help="Show what only informs, too: readings that nothing quotes, say."),
    click.option("--jobs", type=click.IntRange(1), help="Processes at a time; one for each core where none is given."),
    click.option(
        "--cache/--no-cache",
        default=True,
        help="Check only the parts of which something changed since the last run (default), or every one.",
    ),
    click.option("--sample", type=click.IntRange(1), help="Self-test: at most so many of a kind, digits apart."),
    click.option("--seed", type=int, default=0, show_default=True, help="Self-test: which ones a sample takes."),
)
def check(
    campaign: Campaign,
    parts: tuple[str, ...],
    prove: bool,
    form: str,
    notes: bool,
    jobs: int | None,
    cache: bool,
    sample: int | None,
    seed: int,
) -> int:
    """Compare published text with a fresh recomputation; without a PART, of every part.

    Every number, number word, comparing word, unit and table cell is compared; so are seals, published text and
    corrections against git. A finding names its line, what recomputation gives, and the command that mends it.
    """
    from campaign.notes.checking import check_all
    from campaign.notes.formats import colour, shown_as
    from campaign.notes.terminal import columns

    chosen = [campaign.part(part) for part in parts] or campaign.parts()
    if not chosen:
        raise CannotTell(f"{campaign.parts_folder}: no part; expected at least one. `notes new part-1` makes one.")
    reports = [one.told for one in check_all(chosen, jobs=jobs, cache=cache)]
    reports += _chain(campaign, reports)
    codes = [_code(report) for report in reports]
    document = form in ("sarif", "junit")  # one that nothing may stand beside
    proved = [part for part in chosen if not _failed(part, reports)] if prove else []
    if prove and document:
        codes.append(_prove(proved, form, jobs, sample, seed))
    code = _worst(codes)
    wrap = sys.stdout.isatty()
    shown = shown_as(form, reports, campaign.root, columns(), notes=notes, wrap=wrap, exit_code=code)
    click.echo(shown, color=colour())
    for said in dict.fromkeys(said for report in reports for said in _told(report)):
        click.echo(said, err=True)
    if prove and not document:
        codes.append(_prove(proved, form, jobs, sample, seed))
    return _worst(codes)


def _worst(codes: Sequence[int]) -> int:
    """The exit code where several outcomes meet."""
    return next((code for code in (WRONG_USE, FINDINGS, CANNOT_TELL) if code in codes), OK)


def _chain(campaign: Campaign, reports: Sequence[Report]) -> list[Report]:
    """The report of the chain; none where there is nothing to tell of it that a part's report does not tell."""
    from campaign.notes.chain import chain_file, chain_report
    from campaign.notes.checking import not_checked

    try:
        links = chain_report(campaign)
    except CampaignError as wrong:
        told = any(str(wrong) in (report.unreadable, report.cannot_tell) for report in reports)
        return [] if told else [not_checked("chain", chain_file(campaign).relative_to(campaign.root).as_posix(), wrong)]
    return [links] if links else []


def _told(report: Report) -> list[str]:
    """What could not be read or told of a part, as standard error says it."""
    return [
        *([f"notes: {report.unreadable}"] if report.unreadable else []),
        *([f"{report.part}: cannot tell: {report.cannot_tell}"] if report.cannot_tell else []),
    ]


def _code(report: Report) -> int:
    """The exit code for what a report says."""
    if report.unreadable:
        return WRONG_USE
    return FINDINGS if report.failed else CANNOT_TELL if report.cannot_tell else OK


def _failed(part: Part, reports: Sequence[Report]) -> bool:
    return not any(report.part == part.name and not report.failed for report in reports)


def _prove(parts: Sequence[Part], form: str, jobs: int | None, sample: int | None, seed: int) -> int:
    """The exit code of the self-test of each part, which is shown."""
    from campaign.notes.selftest import selftests

    passed = bool(parts)
    for result in selftests(parts, sample=sample, seed=seed, jobs=jobs):
        passed &= result.passed
        shown = json.dumps(result.to_json(), ensure_ascii=False) if form == "json" else f"\n{result.part}\n{result}"
        click.echo(shown, err=form in ("sarif", "junit"))
    return OK if passed else FINDINGS


@_command(
    click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)),
    _format,
    click.option("--names", metavar="NAME,...", default="", help="Names whose digits are no numbers: RTX 4090,W01."),
    anywhere=True,
)
def audit(files: tuple[Path, ...], form: str, names: str) -> int:
    """Check any Markdown or HTML file without data: whether its numbers agree with each other.

    Totals against their items, shares, ratios, sort order, count words against lists, one quantity printed twice.
    Needs no campaign. It tells how many numbers stand in no relation that it tests.
    """
    from campaign.notes.audit import audit_files
    from campaign.notes.formats import colour, shown_as
    from campaign.notes.terminal import columns

    declared = [name.strip() for name in names.split(",") if name.strip()]
    reports = audit_files(files, declared)
    code = _worst([_code(report) for report in reports])
    wrap = sys.stdout.isatty()
    click.echo(shown_as(form, reports, Path.cwd(), columns(), wrap=wrap, exit_code=code), color=colour())
    for said in dict.fromkeys(said for report in reports for said in _told(report)):
        click.echo(said, err=True)
    return code


# A negative number is no option.
@_command(
    click.argument("target"),
    click.argument("text", required=False),
    click.option(
        "--depth", type=click.IntRange(0), default=1, show_default=True, help="How far operands are followed."
    ),
    ignore_unknown_options=True,
)
def why(campaign: Campaign, target: str, text: str | None, depth: int) -> None:
    """Show where a printed number or bound word comes from.

    TARGET is a part with the number or word as printed (`notes why part-5 0.314`, `notes why part-5 carries`), or a
    place in its post.md (`notes why part-5:41:17`, `parts/part-5/post.md:41:17`, or `part-5:41` for a whole line).
    """
    from campaign.notes.errors import UsageError
    from campaign.notes.terminal import USUAL, columns
    from campaign.notes.why import parse_target
    from campaign.notes.why import why as explain

    name, line, column = parse_target(target)
    if text is None and line is None:
        raise UsageError(
            f"{target}: no number named; expected `notes why {target} 0.314` or `notes why {target}:41:17`."
        )
    for said in explain(campaign.part(name), text, line, column, depth, min(columns(), USUAL)):
        click.echo(said)


@_command(
    _part,
    click.option(
        "--date", "day", metavar="DATE", help="Date of publication (2026-11-07); the post's date where not given."
    ),
    click.option("--commit/--no-commit", "commit", default=True, help="Commit the publication (default) or leave it."),
)
def publish(campaign: Campaign, part: str, day: str | None, commit: bool) -> int:
    """Freeze a part's body: its bytes are hashed, git holds them, and they never change again."""
    from campaign.notes import building

    found = campaign.part(part)
    outcome = building.publish_part(found, _day(day, "--date") if day else None, commit=commit)
    for line in outcome.lines:
        click.echo(line)
    return FINDINGS if outcome.differs else OK


@_command(
    _part,
    click.option("--said", required=True, help="The words of the published text, exactly and unmistakably."),
    click.option("--says", required=True, help='What is right; numbers as quotes: {{ q("saving.low") }}.'),
    click.option("--because", required=True, help="Why it is so."),
    click.option("--reported-by", required=True, help="Who found it."),
    click.option("--date", "day", required=True, metavar="DATE", help="Date of the correction (2026-11-07)."),
    click.option("--caused-by", metavar="PART", help="The part whose work led to it."),
    click.option(
        "--acknowledge",
        multiple=True,
        metavar="PLACE=REASON",
        help="Why another place that stands on what is corrected stays as it is: part-5:41:17=…, or a reading's id "
        "for all its places, or a part's name. Without it the command lists them.",
    ),
    click.option("--commit/--no-commit", "commit", default=True, help="Commit the entry (default) or leave it."),
)
def correct(
    campaign: Campaign,
    part: str,
    said: str,
    says: str,
    because: str,
    reported_by: str,
    day: str,
    caused_by: str | None,
    acknowledge: tuple[str, ...],
    commit: bool,
) -> None:
    """Append a dated correction to a published part; its text stays as it was.

    Other places that print the same reading, or stand on the same data, are listed: each has to be corrected, to give
    the same when it is derived again, or to be acknowledged.
    """
    from campaign.notes import building

    found = campaign.part(part)
    causing: Part | None = campaign.part(caused_by) if caused_by else None
    date_of, now = _day(day, "--date"), datetime.now(UTC).replace(microsecond=0)
    by = causing.name if causing else None
    lines = building.correct_part(
        found,
        day=date_of,
        recorded=now,
        said=said,
        says=says,
        because=because,
        reported_by=reported_by,
        caused_by=by,
        commit=commit,
        acknowledge=acknowledge,
    )
    for line in lines:
        click.echo(line)


@_command(
    click.option("--adopt", is_flag=True, help="Add the links that are missing: what was published before the chain."),
    click.option("--anchor", metavar="HASH", help="A head that was kept elsewhere: the chain must still hold it."),
    click.option("--commit/--no-commit", "commit", default=True, help="Commit the chain (default) or leave it."),
)
def chain(campaign: Campaign, adopt: bool, anchor: str | None, commit: bool) -> int:
    """Check the chain over all publications and corrections, and list its links.

    Its last line is the head, one hash over everything before it. A repository of which all was rewritten, the chain
    with it, looks sound from inside: keep the head outside (a variable of the CI system, say) and give it as --anchor.
    """
    from campaign.notes import building
    from campaign.notes.chain import check_anchor, check_events, head_of
    from campaign.notes.history import open_history

    lost = check_anchor(campaign, anchor) if anchor is not None else []
    for problem in lost:  # before anything that cannot be told here ends the command
        click.echo(problem)
    outcome = building.adopt_chain(campaign, commit=commit) if adopt else building.show_chain(campaign)
    history = open_history(campaign.root)
    problems = [] if adopt or outcome.differs else check_events(campaign, history)
    for line in (*outcome.lines, *problems):
        click.echo(line)
    if head := head_of(campaign, history):
        click.echo(head)
        if not anchor:
            click.echo(f"to notice a history that was rewritten as a whole: notes chain --anchor {head.sha256}")
    return FINDINGS if lost or outcome.differs or problems else OK


def _day(said: str, option: str) -> date:
    from campaign.notes.errors import UsageError

    try:
        return date.fromisoformat(said)
    except ValueError:
        raise UsageError(f"{option}: {said!r} is no date; expected one as 2026-11-07. Correct it.") from None


def _moment(said: str, option: str) -> datetime:
    from campaign.notes.errors import UsageError

    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise UsageError(
            f"{option}: {said!r} is no time with a zone; expected one as 2026-11-06T04:00:00Z. Correct it."
        )
    return moment
