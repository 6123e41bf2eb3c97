"""Time of checking a campaign of many parts: cold, on one core and on two, with nothing changed, with one part changed.

`python -P -m campaign.notes.bench_check` makes campaigns of published parts, no two with the same data, each in a git
repository of its own in a temporary folder. What is timed is the check that `notes check` makes, in a process of its
own that starts with nothing in memory; every way must give the same reports before its time counts.
"""

import hashlib
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click

from campaign.engine.bench_aggregate import _cpu as cpu_of_machine
from campaign.engine.files import write_text
from campaign.notes.cache import RACY_NS
from campaign.notes.paths import MARKER, Campaign, Part

RECORDS = Path(__file__).with_suffix(".json")
"""Where `--record` writes what was measured."""
PARTS = 1000
JOBS = 2
RUNS = 3
COLD = "the first"
WARM = "nothing changed"
CHANGED = "one part changed"
COMMITTED = "after a commit"
UNKEPT = "nothing kept"
SEED = 1
FIRST_DAY = date(2026, 1, 1)
CORRECTED_EVERY = 25
"""Every so many parts one has a correction, which the part after it caused."""
KERNELS = ("old", "new")
LENGTHS = (4096, 16384, 65536)
REPEATS = 3

PLAN = """\
about = "two kernels over the length of their rows"

[tables.timings]
file = "data/timings.csv"
key = ["kernel", "length", "repeat"]

[tables.timings.columns]
kernel = "text"
length = "integer"
repeat = "integer"
us = "number"

[constants."bar"]
value = 1.5
unit = "×"
print = ".1f"
because = "the ratio that is worth a change"

[[reading]]
id = "length.{length}"
kind = "stat"
table = "timings"
each = ["length"]
column = "length"
stat = "min"
unit = "scores"
print = ",d"

[[reading]]
id = "time.{kernel}.{length}"
kind = "stat"
table = "timings"
each = ["kernel", "length"]
column = "us"
stat = "median"
unit = "µs"
print = ".2f"

[[reading]]
id = "ratio.{0}"
kind = "expr"
for_each = "time.old.*"
expr = "time.old.{0} / time.new.{0}"
print = ".2f"

[[reading]]
id = "records.n"
kind = "stat"
table = "timings"
stat = "count"
unit = "records"
"""

FACTS = """\
[post]
title = "two kernels beside each other"
date = {day}

[facts."gpus"]
value = 2
unit = "GPUs"
source = "the machine"
"""

TEMPLATE = """\
# {{ q("part") }}: {{ q("post.title") }}

*{{ q("post.date") }}, on {{ q("gpus", "word") }} GPUs.*

The {{ q("records.n", "word") }} records give these times and ratios.

| Length | old, µs | new, µs | old over new |
|---:|---:|---:|---:|
{% for n in members("length.*") %}
| {{ q("length." ~ n) }} | {{ q("time.old." ~ n) }} | {{ q("time.new." ~ n) }} | {{ q("ratio." ~ n) }} |
{% endfor %}

Worth a change is a ratio of {{ q("bar") }}.
"""


def timings_csv(number: int, seed: int = SEED) -> str:
    """The records of one part, the same in every run and different in every part."""
    drawn = random.Random(f"{seed} {number}")
    lines = ["kernel,length,repeat,us"]
    for kernel in KERNELS:
        pace = drawn.uniform(1.0, 3.0)
        for length in LENGTHS:
            for repeat in range(1, REPEATS + 1):
                lines.append(f"{kernel},{length},{repeat},{pace * length / 1000 + drawn.uniform(0, 0.5):.3f}")
    return "\n".join(lines) + "\n"


def make_campaign(root: Path, parts: int, jobs: int) -> Campaign:
    """A campaign of published parts in `root`: plans sealed, texts built, published, and some corrected.

    Written and committed step by step as the commands do it, but for all parts at once: five commits, not thousands.
    """
    from campaign.notes.history import Repository, open_history
    from campaign.notes.publish import Published

    root = root.resolve()
    root.mkdir(parents=True)
    _git(root, "init", "--quiet", "--initial-branch=main")
    write_text(root / MARKER, 'title = "A campaign to be timed"\n')
    write_text(root / ".gitignore", "build/\n")
    campaign = Campaign(root)
    for number in range(1, parts + 1):
        part = Part(campaign, f"part-{number}")
        part.folder.mkdir(parents=True)
        part.plan.write_text(PLAN, encoding="utf-8")
    _commit(root, "Plans")
    made = campaign.parts()
    history = open_history(root)
    assert isinstance(history, Repository), "the repository was just made"
    _seal(made, history)
    for part in made:
        part.data.mkdir()
        part.run.write_text('{"origin": "measured"}\n', encoding="utf-8")
        (part.data / "timings.csv").write_text(timings_csv(part.number), encoding="utf-8")
        part.facts.write_text(FACTS.replace("{day}", str(FIRST_DAY + timedelta(days=part.number))), encoding="utf-8")
        part.template.write_text(TEMPLATE, encoding="utf-8")
    _commit(root, "Seals and data")
    numbers = _in_processes(_build, made, jobs)
    texts = _commit(root, "Texts")
    from campaign.notes.history import blob_of
    from campaign.notes.post import split
    from campaign.notes.toml_files import record_lines

    for part, count in zip(made, numbers, strict=True):
        text = part.post.read_bytes()
        record = Published(
            date=FIRST_DAY + timedelta(days=part.number),
            version=1,
            numbers=count,
            body_sha256=hashlib.sha256(split(text.decode(), part.name).body.encode()).hexdigest(),
            post_blob=blob_of(text),
            commit=texts,
        )
        part.published.write_text(record_lines(record), encoding="utf-8")
    _in_processes(_wrap, made, jobs)
    _commit(root, "Published")
    _in_processes(_wrap, _correct(made), jobs)
    _commit(root, "Corrected")
    _git(root, "gc", "--quiet")
    return campaign


def fewer(campaign: Campaign, parts: int, root: Path) -> Campaign:
    """The first parts of a campaign in a clone of their own; the others are taken away and that is committed."""
    _git(campaign.root, "clone", "--quiet", str(campaign.root), str(root.resolve()))
    made = Campaign(root.resolve())
    for part in made.parts()[parts:]:
        shutil.rmtree(part.folder)
    _commit(made.root, "Fewer parts")
    return made


def _git(root: Path, *arguments: str) -> str:
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    return subprocess.run(
        ["git", *who, *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def _commit(root: Path, message: str) -> str:
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "-m", message)
    return _git(root, "rev-parse", "HEAD")


def _seal(parts: Sequence[Part], history: Any) -> None:
    """The seal of each part's plan; the plans are all alike, so that one seal is made and written for all."""
    from campaign.notes.seal import make_seal, write_seal
    from campaign.notes.sources import compiled

    seal = make_seal(
        parts[0],
        origin="measured",
        sealed=datetime.now(UTC),
        repo=history,
        decision_sha256=compiled(parts[0]).digest,
    )
    for part in parts:
        write_seal(part, seal)


def _in_processes(work: Callable[[Path, list[str]], list[int]], parts: Sequence[Part], jobs: int) -> list[int]:
    """What `work` gives for the parts, done in pieces of the list, each in one of so many processes."""
    names = [part.name for part in parts]
    root = parts[0].campaign.root
    if jobs == 1:
        return work(root, names)
    size = -(-len(names) // (2 * jobs))
    pieces = [names[at : at + size] for at in range(0, len(names), size)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return [one for found in pool.map(work, [root] * len(pieces), pieces) for one in found]


def _build(root: Path, names: list[str]) -> list[int]:
    """How many numbers the text of each part has; all are built then."""
    from campaign.notes.build import build, readings_json
    from campaign.notes.index import Snapshot

    campaign = Snapshot(root)
    numbers = []
    for name in names:
        part = Part(campaign, name)
        built = build(part)
        part.readings.write_text(readings_json(built.sources), encoding="utf-8")
        part.numbers.write_text(built.ledger.to_json(built.coverage.counts()), encoding="utf-8")
        part.post.write_text(built.post.text, encoding="utf-8")
        numbers.append(built.coverage.numbers)
    return numbers


def _wrap(root: Path, names: list[str]) -> list[int]:
    """Nothing for each part; its post then has the banner and the entries that its record and corrections give."""
    from campaign.notes.build import kept_post
    from campaign.notes.index import Snapshot
    from campaign.notes.sources import load

    campaign = Snapshot(root)
    for name in names:
        part = Part(campaign, name)
        post = kept_post(part, load(part))
        assert post is not None, "the part is published"
        part.post.write_text(post.text, encoding="utf-8")
    return []


def _correct(parts: Sequence[Part]) -> list[Part]:
    """The parts that then have a correction, which the part after each caused."""
    from campaign.notes.corrections import append
    from campaign.notes.history import open_history

    history = open_history(parts[0].campaign.root)
    for part, after in zip(parts[:-1:CORRECTED_EVERY], parts[1::CORRECTED_EVERY], strict=False):
        append(
            part,
            date=FIRST_DAY + timedelta(days=part.number),
            recorded=datetime.now(UTC),
            said="Worth a change is a ratio of 1.5.",
            says='Worth a change is a ratio above {{ q("bar") }}.',
            because="A ratio of just so much is none.",
            reported_by="a reader",
            caused_by=after.name,
            repo=history,
        )
    return list(parts[:-1:CORRECTED_EVERY])


CHECK = """\
import hashlib, json, sys
from pathlib import Path
from campaign.notes.checking import check_all
from campaign.notes.cache import RACY_NS
from campaign.notes.paths import Campaign

parts = Campaign.above(Path.cwd()).parts()
said = hashlib.sha256()
for one in check_all(parts, jobs=int(sys.argv[1]), cache=sys.argv[2] == "cache"):
    assert one.report is not None and not one.report.failed and not one.report.cannot_tell, one
    said.update(repr(one.report).encode())
print(json.dumps({"parts": len(parts), "reports_sha256": said.hexdigest()}))
"""


def timed_check(campaign: Campaign, kept: Path, jobs: int, *, cache: bool = True) -> dict[str, Any]:
    """Seconds by the clock and of CPU for one check of all parts, a hash of the reports, and the load before."""
    load = os.getloadavg()[0]
    before = _busy()
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-P", "-c", CHECK, str(jobs), "cache" if cache else "no"],
        cwd=campaign.root,
        env=os.environ | {"XDG_CACHE_HOME": str(kept)},
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"the check of {campaign.root} failed:\n{done.stderr}")
    return json.loads(done.stdout) | {"seconds": seconds, "cpu_seconds": _busy() - before, "load": load}


def _busy() -> float:
    """Seconds of CPU that ended processes of this one took, those that they started included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bench(parts: int, jobs: int, runs: int, say: Callable[[str], None]) -> dict[str, Any]:
    """What was measured and on what machine, as JSON holds it."""
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as folder:
        began = time.perf_counter()
        whole = make_campaign(Path(folder) / "whole", parts, jobs)
        say(f"{parts} parts made in {time.perf_counter() - began:.0f} s")
        found = []
        for number in (parts // 8, parts // 4, parts // 2, parts):
            campaign = whole if number == parts else fewer(whole, number, Path(folder) / f"of-{number}")
            found += _measured(campaign, number, jobs, runs, number == parts // 2, say)
    return {
        "measured": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "machine": {"cpu": cpu_of_machine(), "cores": os.cpu_count(), "system": platform.platform()},
        "versions": {"python": platform.python_version(), "git": _git(Path(), "version").split()[2]}
        | {name: version(name) for name in ("numpy", "pandas", "scipy", "pydantic", "jinja2", "markdown-it-py")},
        "settings": {"parts": parts, "jobs": jobs, "seed": SEED},
        "results": found,
    }


def _measured(
    campaign: Campaign, parts: int, jobs: int, runs: int, every_way: bool, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Each way to check one campaign; those that take as long as a cold check only where `every_way` is wanted."""
    kept = campaign.root.parent / f"kept-{parts}"
    time.sleep(2 * RACY_NS / 10**9)  # nothing is kept that rests on files so new that a change would not show
    facts = campaign.parts()[parts // 2].facts

    def change(run: int) -> None:
        text = facts.read_text(encoding="utf-8").partition("# changed")[0]
        facts.write_text(f"{text}# changed {run}\n", encoding="utf-8")

    ways: list[tuple[str, int, bool, int, Callable[[int], object]]] = [
        (COLD, jobs, True, 1, lambda run: None),
        (WARM, jobs, True, runs, lambda run: None),
        (CHANGED, jobs, True, runs, change),
    ]
    if every_way:
        ways += [
            (COMMITTED, jobs, True, 1, lambda run: _commit(campaign.root, "Changed")),
            (UNKEPT, jobs, False, 1, lambda run: None),
            (UNKEPT, 1, False, 1, lambda run: None),
        ]
    found, reports = [], set()
    for way, processes, cache, times, before in ways:
        one: list[dict[str, Any]] = []
        for run in range(times):
            before(run)
            one.append(timed_check(campaign, kept, processes, cache=cache))
            say(f"{parts} parts, {way}, {processes} processes, run {run + 1}: {one[-1]['seconds']:.2f} s")
        reports |= {said["reports_sha256"] for said in one}
        record: dict[str, Any] = {"parts": parts, "way": way, "jobs": processes}
        record |= {key: [round(said[key], 3) for said in one] for key in ("seconds", "cpu_seconds")}
        found.append(record | {"load_most": round(max(said["load"] for said in one), 2)})
    if len(reports) != 1:
        raise RuntimeError(f"{parts} parts: found {len(reports)} different answers, expected one and the same")
    return found


def as_table(said: dict[str, Any]) -> str:
    """What was measured as a Markdown table, and a line that says where and when."""
    lines = [
        "| parts | check | processes | time | CPU time | CPU time a part |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    for one in said["results"]:
        seconds, cpu = (statistics.median(one[key]) for key in ("seconds", "cpu_seconds"))
        cells = [f"{one['parts']:,}", one["way"], str(one["jobs"]), f"{seconds:.2f} s", f"{cpu:.2f} s"]
        cells.append(f"{1000 * cpu / one['parts']:.1f} ms")
        lines.append(f"| {' | '.join(cells)} |")
    machine, loads = said["machine"], [one["load_most"] for one in said["results"]]
    lines += [
        "",
        f"Measured on {said['measured'][:10]} on {machine['cores']} cores ({machine['cpu']}), Python "
        f"{said['versions']['python']}, at a load of {min(loads):.1f} to {max(loads):.1f};",
        "the median where there were several runs. The load is that of the whole machine: where it is above the number",
        "of cores, other work shared them, and the time by the clock says less than the CPU time.",
    ]
    return "\n".join(lines)


@click.command()
@click.option("--parts", default=PARTS, show_default=True, help="Parts of the largest campaign.")
@click.option("--jobs", default=JOBS, show_default=True, help="Processes that check at a time.")
@click.option("--runs", default=RUNS, show_default=True, help="Runs of each check that takes little time.")
@click.option("--record", is_flag=True, help=f"Write what was measured to {RECORDS.name}.")
def main(parts: int, jobs: int, runs: int, record: bool) -> None:
    """Measure how long the check of a campaign takes, by its number of parts."""
    said = bench(parts, jobs, runs, lambda line: click.echo(line, err=True))
    click.echo(as_table(said))
    if record:
        write_text(RECORDS, json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
