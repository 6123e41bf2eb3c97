"""`python -P -m campaign.kernels`: builds, checks and times the CUDA kernels."""

import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from campaign.kernels import build as builds
from campaign.kernels.errors import CampaignError
from campaign.kernels.shapes import MOST_COLUMNS
from campaign.kernels.topk import MOST_K

OK, WRONG, CANNOT, INTERRUPTED = 0, 1, 2, 130

COUNT = click.IntRange(min=1)
SEED = click.IntRange(min=0)
SECONDS = click.FloatRange(min=0)
COLUMNS = click.IntRange(1, MOST_COLUMNS)
K = click.IntRange(1, MOST_K)


class _Commands(click.Group):
    """Commands that never end with the exit code of a wrong answer because they could not go on."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            click.echo("kernels: interrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except CampaignError as wrong:
            click.echo(f"kernels: {wrong}", err=True)
        except (ValueError, TypeError, OSError, MemoryError) as wrong:
            click.echo(f"kernels: {type(wrong).__name__}: {wrong}", err=True)
        except Exception:
            traceback.print_exc()
        ctx.exit(CANNOT)


class _Output(click.Path):
    """A file to write, refused at the start where it could not be written at the end.

    with_environment: a table (.csv), beside which its environment goes (.json).
    """

    def __init__(self, *, with_environment: bool = False):
        super().__init__(dir_okay=False, path_type=Path)
        self.with_environment = with_environment

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(super().convert(value, param, ctx))
        if self.with_environment and path.suffix != ".csv":
            self.fail(f"found {path.name}, expected a name that ends in .csv: the environment goes beside it, as .json")
        for each in (path, path.with_suffix(".json")) if self.with_environment else (path,):
            try:
                _try_to_write(each)
            except OSError as wrong:
                self.fail(f"{each}: cannot be written ({wrong.strerror}); name a file in a folder that takes it")
        return path


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Build, check and time the top-k kernels.

    Exit codes: 0 right; 1 a wrong answer; 2 no GPU, no build, wrong use, nothing timed, or broken off.
    """


@main.command(short_help="Compile the kernels ahead of time.")
@click.option(
    "--target",
    "targets",
    multiple=True,
    type=click.Choice(builds.TARGETS),
    default=builds.TARGETS,
    show_default=True,
)
@click.option("--jobs", type=COUNT, help="Compilations at a time.  [default: one a core]")
def build(targets: tuple[str, ...], jobs: int | None) -> None:
    """Compile the kernels ahead of time, with nvcc; what runs needs no compiler."""
    from campaign.kernels import faults

    click.echo(builds.build(builds.writable(), targets, jobs=jobs))
    for target in targets:
        faults.ready(target)


@main.command(short_help="Compare bytes with the oracle's.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--seconds", type=SECONDS, default=120, show_default=True, help="About how long to go on.")
@click.option("--record", type=_Output(), help="Write a certificate here: counts, hashes, environment.")
@click.option("--recorded", is_flag=True, help="Compare on the recorded calls in FILES instead (.npz).")
@click.option("--oracle", is_flag=True, help="With --recorded: compare the oracle alone; no GPU is needed.")
@click.option("--name", default="real-calls", show_default=True, help="With --recorded: what the check is called.")
@click.option("--table", type=_Output(), help="With --recorded: write a part's table equality (.csv).")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.pass_context
def check(
    ctx: click.Context,
    seed: int,
    seconds: float,
    record: Path | None,
    recorded: bool,
    oracle: bool,
    name: str,
    table: Path | None,
    files: tuple[Path, ...],
) -> None:
    """Compare every kernel's bytes with the oracle's, or with those of recorded calls."""
    if recorded != bool(files) or (not recorded and (oracle or table)):
        raise click.UsageError("--recorded goes with FILES of recorded calls; --oracle and --table with --recorded.")
    given = {name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if recorded and given & {"seed", "seconds"}:
        raise click.UsageError(
            "--seed and --seconds have no effect beside --recorded, whose calls are those in FILES. Leave them out."
        )
    if not recorded and "name" in given:
        raise click.UsageError("--name has no effect without --recorded. Leave it out.")
    if recorded:
        _check_recorded(files, record, table, name, on_gpu=not oracle)
    _ready()
    from campaign.kernels import check as checks

    certificate = checks.check(seed, seconds, said=lambda text: click.echo(text, err=True))
    click.echo(certificate)
    if record:
        checks.write(certificate, record)
    sys.exit(OK if certificate.right else WRONG)


@main.command(short_help="Time the kernels beside their peers.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option(
    "--record", type=_Output(with_environment=True), help="Write the timings here as CSV, the environment beside."
)
@click.option("--peers/--no-peers", default=True, show_default=True, help="Time vLLM's kernels and torch.topk too.")
@click.option("--length", "lengths", type=COLUMNS, multiple=True, help="Row length; all of the table's by default.")
@click.option("--rows", type=COUNT, multiple=True, help="Number of rows; all of the table's by default.")
@click.option("--k", "ks", type=K, multiple=True, help="k; 512, 1,024 and 2,048 by default.")
@click.option("--masked/--no-masked", default=True, show_default=True, help="Time the masked F too.")
def bench(
    seed: int,
    record: Path | None,
    peers: bool,
    lengths: tuple[int, ...],
    rows: tuple[int, ...],
    ks: tuple[int, ...],
    masked: bool,
) -> None:
    """Time the kernels beside their peers, in one run."""
    _ready()
    from campaign.kernels import bench as benches
    from campaign.kernels.environment import environment
    from campaign.kernels.names import is_own

    timings: list[benches.Timing] = []
    said = {**environment(), "vllm": benches.vllm_version() if peers else None, "seed": seed}
    with _written(timings, record, said):
        for timing in benches.bench(
            lengths=lengths or benches.LENGTHS,
            rows=rows or None,
            ks=ks or benches.KS,
            seed=seed,
            with_peers=peers,
            masked=masked,
        ):
            timings.append(timing)
            click.echo(
                f"{timing.kernel:<24}k {timing.k:<6}{timing.columns:>8} × {timing.rows:<4}"
                f"{'candidates' if timing.candidates else timing.input_class:<22}"
                + (f"{timing.hot_us:9.2f} hot {timing.cold_us:9.2f} cold" if timing.hot_us is not None else " " * 28)
                + (f"   {timing.wrong_entries} wrong" if timing.wrong_entries else "")
            )
    sys.exit(WRONG if any(timing.wrong_entries for timing in timings if is_own(timing.kernel)) else OK)


@main.command(short_help="Time two kernels in pairs, for a count.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option(
    "--record", type=_Output(with_environment=True), help="Write the pairs here as CSV, the environment beside."
)
@click.option("--kernel", "kernels", multiple=True, help="In full layers.  [default: auto, rs8]")
@click.option("--masked-kernel", "masked", multiple=True, help="In masked layers.  [default: masked_topk, rs8]")
@click.option("--against", default="served_topk", show_default=True)
@click.option("--length", "lengths", type=COLUMNS, multiple=True, help="Row length; all of the mix by default.")
@click.option("--rows", type=COUNT, default=6, show_default=True)
@click.option("--k", type=K, default=512, show_default=True)
@click.option("--starts", type=COUNT, default=10, show_default=True, help="Processes, one after another.")
@click.option("--pairs", "count", type=COUNT, default=2, show_default=True, help="Of a contest and length in a start.")
def pairs(
    seed: int,
    record: Path | None,
    kernels: tuple[str, ...],
    masked: tuple[str, ...],
    against: str,
    lengths: tuple[int, ...],
    rows: int,
    k: int,
    starts: int,
    count: int,
) -> None:
    """Time two kernels in pairs, at the lengths of a mix: what the count is computed from."""
    _ready()
    from campaign.kernels import bench as benches
    from campaign.kernels import pairs as paired
    from campaign.kernels.environment import environment

    between = paired.contests(kernels or ("auto", "rs8"), masked or (paired.F, "rs8"), against)
    options = {"lengths": lengths or paired.LENGTHS, "rows": rows, "k": k, "count": count, "seed": seed}
    found: list[paired.Pair] = []
    said = {"origin": "measured", **environment(), "seed": seed, "calls": benches.CALLS, "replays": benches.REPLAYS}
    with _written(found, record, said):
        for pair in (pair for start in paired.starts(between, starts, **options) for pair in start):
            found.append(pair)
            click.echo(
                f"{pair.start:>3}.{pair.pair:<3}{pair.layer:<8}{pair.columns:>8} × {pair.rows:<4}{pair.kernel:<14}"
                + (f"{pair.kernel_us:9.2f} : {pair.against_us:.2f} {pair.against}" if not pair.wrong_rows else "")
                + (f"{pair.wrong_rows} wrong rows" if pair.wrong_rows else "")
            )
    sys.exit(WRONG if any(pair.wrong_rows for pair in found) else OK)


@main.command(short_help="Run compute-sanitizer, with controls.")
@click.option("--seconds", type=SECONDS, default=420, show_default=True, help="Stop by then in any case.")
@click.option("--limit", type=SECONDS, default=120, show_default=True, help="Seconds for one sweep process at most.")
@click.option("--jobs", type=COUNT, default=4, show_default=True, help="Processes at a time.")
@click.option("--record", type=_Output(), help="Write what was seen here, as JSON.")
@click.option("--logs", type=_Output(), help="Add every log of the tools to this file.")
def sanitize(seconds: float, limit: float, jobs: int, record: Path | None, logs: Path | None) -> None:
    """Run compute-sanitizer's four tools over a reduced sweep, with planted faults as controls.

    Exit code 1 is a finding on a kernel of ours, a wrong answer, or a planted fault that a tool did not report; 2 is a
    tool that did not finish, or no tool.
    """
    _expect_apart(record, logs)
    from campaign.kernels import sanitize as sanitizing

    _built()
    found = sanitizing.sanitize(
        seconds=seconds,
        limit_seconds=limit,
        jobs=jobs,
        logs=logs,
        said=lambda text: click.echo(text, err=True),
    )
    if record:
        sanitizing.write(found, record)
    code, reasons = sanitizing.verdict(found)
    click.echo("\n".join([sanitizing.table(found), *reasons]))
    sys.exit(code)


@main.command(short_help="Write the page of the records.")
def report() -> None:
    """Write the page of what the records in kernels/data say."""
    from campaign.kernels import report as reports

    folder = Path(__file__).resolve().parent
    reports.write(folder / "data", folder / "MEASURED.md")
    click.echo(folder / "MEASURED.md")


def _check_recorded(
    files: tuple[Path, ...], record: Path | None, table: Path | None, name: str, *, on_gpu: bool
) -> None:
    """Compares on recorded calls, writes what is asked for, and exits."""
    from campaign.kernels import recorded_check
    from campaign.kernels.driver import Device

    _expect_apart(record, table, read=files)
    if on_gpu:
        try:
            _built()
        except CampaignError as wrong:
            raise CampaignError(
                f"{wrong} Without a GPU, --oracle compares the recorded calls with the oracle alone."
            ) from None
    certificate = recorded_check.check(files, device=Device() if on_gpu else None, name=name)
    click.echo(certificate)
    if record:
        recorded_check.write(certificate, record)
    if table:
        recorded_check.write_table(certificate, table)
    sys.exit(OK if certificate.right else WRONG)


@contextmanager
def _written(found: Sequence[Any], record: Path | None, said: dict[str, Any]) -> Iterator[None]:
    """Writes what was timed by the end of the block, or by where it broke off, and `said` beside it.

    Raises CampaignError where the block ends and nothing was timed.
    """
    from campaign.kernels import bench as benches

    complete = False
    try:
        yield
        complete = True
    finally:
        if record and found:
            benches.write(found, record)
            record.with_suffix(".json").write_text(json.dumps({**said, "complete": complete}, indent=1) + "\n")
            if not complete:
                click.echo(f"kernels: broken off; what was timed by then is in {record}.", err=True)
    if not found:
        raise CampaignError("nothing was timed: no cell has more columns than k. Name a longer row or a smaller k.")


def _try_to_write(path: Path) -> None:
    """Raises OSError where the file could not be written; leaves it as it is."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        return  # a pipe or a terminal
    new = not os.path.lexists(path)
    path.open("ab").close()
    if new:
        path.unlink()


def _expect_apart(*written: Path | None, read: Sequence[Path] = ()) -> None:
    """Raises UsageError where a file that is written is also read, or written twice."""
    taken = {path.resolve() for path in read}
    for path in filter(None, written):
        if path.resolve() in taken:
            raise click.UsageError(f"{path} is named twice; expected a file of its own for each thing to write.")
        taken.add(path.resolve())


def _ready() -> None:
    """Makes sure of a GPU, of torch and of a build; compiles where only that is missing."""
    _built()
    try:
        import torch  # noqa: F401
    except ImportError:
        raise CampaignError("torch is not installed: checks and benches need a CUDA build of it.") from None


def _built() -> None:
    """Makes sure of a GPU and of a build; compiles where only that is missing."""
    from campaign.kernels.driver import Device

    target = Device().target
    try:
        builds.find(target)
    except CampaignError:
        click.echo(f"building the kernels for {target}, once …", err=True)
        builds.build(builds.writable(), (target,))


if __name__ == "__main__":
    main()
