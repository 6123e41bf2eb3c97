"""`python -P -m campaign.kernels`: builds, checks and times the CUDA kernels."""

import sys
from pathlib import Path

import click

from campaign.kernels import build as builds
from campaign.kernels.errors import CampaignError

OK, WRONG, CANNOT = 0, 1, 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Build, check and time the top-k kernels.

    Exit codes: 0 right; 1 a wrong answer; 2 no GPU, no build, wrong use.
    """


@main.command()
@click.option("--target", "targets", multiple=True, default=builds.TARGETS, show_default=True)
@click.option("--jobs", type=int, help="Compilations at a time.  [default: one a core]")
def build(targets: tuple[str, ...], jobs: int | None) -> None:
    """Compile the kernels ahead of time, with nvcc; what runs needs no compiler."""
    click.echo(builds.build(_writable(), targets, jobs=jobs))


@main.command()
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--seconds", type=float, default=120, show_default=True, help="About how long to go on.")
@click.option(
    "--record", type=click.Path(path_type=Path), help="Write a certificate here: counts, hashes, environment."
)
def check(seed: int, seconds: float, record: Path | None) -> None:
    """Compare every kernel's bytes with the oracle's."""
    _ready()
    from campaign.kernels import check as checks

    certificate = checks.check(seed, seconds, said=lambda text: click.echo(text, err=True))
    click.echo(certificate)
    if record:
        checks.write(certificate, record)
    sys.exit(OK if certificate.right else WRONG)


@main.command()
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--record", type=click.Path(path_type=Path), help="Write the timings here as CSV, the environment beside."
)
@click.option("--peers/--no-peers", default=True, show_default=True, help="Time vLLM's kernels and torch.topk too.")
@click.option("--length", "lengths", type=int, multiple=True, help="Row length; all of the table's by default.")
@click.option("--rows", type=int, multiple=True, help="Number of rows; all of the table's by default.")
@click.option("--k", "ks", type=int, multiple=True, help="k; 512 and 2,048 by default.")
def bench(
    seed: int,
    record: Path | None,
    peers: bool,
    lengths: tuple[int, ...],
    rows: tuple[int, ...],
    ks: tuple[int, ...],
) -> None:
    """Time the kernels beside their peers, in one run."""
    _ready()
    import json

    from campaign.kernels import bench as benches
    from campaign.kernels.environment import environment

    timings = []
    for timing in benches.bench(
        lengths=lengths or benches.LENGTHS,
        rows=rows or benches.ROWS,
        ks=ks or benches.KS,
        seed=seed,
        with_peers=peers,
    ):
        timings.append(timing)
        click.echo(
            f"{timing.kernel:<22}k {timing.k:<6}{timing.columns:>8} × {timing.rows:<4}{timing.input_class:<22}"
            + (f"{timing.hot_us:9.2f} hot {timing.cold_us:9.2f} cold" if timing.hot_us is not None else " " * 28)
            + (f"   {timing.wrong_entries} wrong" if timing.wrong_entries else "")
        )
    if record:
        benches.write(timings, record)
        record.with_suffix(".json").write_text(json.dumps({**environment(), "seed": seed}, indent=1) + "\n")
    own = set(benches.ours())
    sys.exit(WRONG if any(timing.wrong_entries for timing in timings if timing.kernel in own) else OK)


@main.command()
def report() -> None:
    """Write the page of what the records in kernels/data say."""
    from campaign.kernels import report as reports

    folder = Path(__file__).resolve().parent
    reports.write(folder / "data", folder / "MEASURED.md")
    click.echo(folder / "MEASURED.md")


def _writable() -> Path:
    """The package's own folder for builds, or the user's cache where that cannot be written."""
    try:
        builds.BUILT.mkdir(exist_ok=True)
        (builds.BUILT / ".writable").touch()
        (builds.BUILT / ".writable").unlink()
    except OSError:
        return builds.cache()
    return builds.BUILT


def _ready() -> None:
    """Makes sure of a GPU, of torch and of a build; compiles where only that is missing."""
    from campaign.kernels.driver import Device

    target = Device().target
    try:
        import torch  # noqa: F401
    except ImportError:
        raise CampaignError("torch is not installed: checks and benches need a CUDA build of it.") from None
    try:
        builds.find(target)
    except CampaignError:
        click.echo(f"building the kernels for {target}, once …", err=True)
        builds.build(_writable(), (target,))


if __name__ == "__main__":
    try:
        main()
    except CampaignError as wrong:
        click.echo(f"kernels: {wrong}", err=True)
        sys.exit(CANNOT)
