"""Time and peak memory of step logs that are aggregated while they are read, beside those that are read whole.

`python -P -m campaign.engine.bench_aggregate` makes step logs in a temporary folder, sums each in a process of its own,
several times, and prints a table. Both ways check every record, and must give the same bits before they are timed.
"""

import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from campaign.engine.files import write_text

RECORDS = Path(__file__).with_suffix(".json")
"""Where `--record` writes what was measured."""
SIZES = (10**5, 10**6, 10**7)
SEED = 1
CORES = 2
ROW_GROUP = 100_000
IN_A_ROW = 50_000
"""Steps of one row: 5 draws of 20 tasks of 10 turns of 50 steps."""
WAYS = {"aggregated while it is read": "stream", "read whole, then summed": "whole"}
MOST_GIB = 12
"""Address space that a process may take; one that needs more did not fit."""

COLUMNS = {
    "row": "text",
    "draw": "integer",
    "task": "text",
    "turn": "integer",
    "step": "integer",
    "started_ns": "integer",
    "ended_ns": "integer",
    "drafted": "integer",
    "accepted": "integer",
    "emitted": "integer",
    "drafting_ns": "integer",
}
KEY = ["row", "draw", "task", "turn", "step"]
GROUP = ["row", "draw"]
SUMS = {
    "step_time_ms": "(ended_ns - started_ns) / 1000000",
    "tokens": "emitted",
    "drafting_ms": "drafting_ns / 1000000",
}


def write_log(path: Path, records: int, seed: int = SEED) -> None:
    """Nothing; `path` then holds a step log of that many records, made and written row by row."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"text": pa.string(), "integer": pa.int64()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    random = np.random.default_rng(seed)
    tasks = pa.array([f"task-{number}" for number in range(20)])
    clock = 0
    with pq.ParquetWriter(path, schema) as file:
        for row in range(-(-records // IN_A_ROW)):
            count = min(IN_A_ROW, records - row * IN_A_ROW)
            place = np.arange(count)
            ended = clock + np.cumsum(random.integers(20_000_000, 30_000_000, count))
            clock = int(ended[-1])
            drafted = random.integers(0, 4, count)
            accepted = np.minimum(drafted, random.integers(0, 4, count))
            values = {
                "row": pa.array([f"r{row}"]).take(pa.array(np.zeros(count, dtype=int))),
                "draw": place // 10_000 + 1,
                "task": tasks.take(pa.array(place // 500 % 20)),
                "turn": place // 50 % 10,
                "step": place % 50,
                "started_ns": ended - random.integers(19_000_000, 20_000_000, count),
                "ended_ns": ended,
                "drafted": drafted,
                "accepted": accepted,
                "emitted": accepted + 1,
                "drafting_ns": random.integers(1_000, 90_000, count),
            }
            file.write_table(pa.table(values, schema=schema), row_group_size=ROW_GROUP)


def _stream(path: Path) -> Any:
    from campaign.engine.aggregate import Aggregate, aggregate
    from campaign.engine.tables import Schema

    schema = Aggregate.parse(
        Schema.parse("steps", COLUMNS, KEY, "bench"), GROUP, SUMS, "verify_steps", "", "bench: tables.steps"
    )
    return lambda: aggregate([path], schema, [path.name])


def _whole(path: Path) -> Any:
    from campaign.engine.tables import Schema, read_table

    schema = Schema.parse("steps", COLUMNS, KEY, "bench")

    def summed() -> Any:
        steps = read_table(path, schema, path.name)
        steps["step_ns"] = steps["ended_ns"] - steps["started_ns"]
        sums = steps.groupby(GROUP)[["step_ns", "emitted", "drafting_ns"]].sum()
        sums["verify_steps"] = steps.groupby(GROUP).size()
        sums["step_ns"] /= 1_000_000
        sums["drafting_ns"] /= 1_000_000
        return sums.reset_index()

    return summed


def _peak_mib() -> float:
    """The most memory that this process held, MiB.

    The kernel's VmHWM: what getrusage says may be the peak of the process that started this one.
    """
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def measure_once(way: str, path: Path) -> dict[str, Any]:
    """Seconds by the clock and of CPU, memory before and at most in MiB, and a hash of the sums: one reading, here."""
    import duckdb  # noqa: F401 - loaded before the clock starts
    import pyarrow.parquet  # noqa: F401

    work: Callable[[], Any] = {"stream": _stream, "whole": _whole}[way](path)
    before = _peak_mib()
    began, busy = time.perf_counter(), time.process_time()
    table = work()
    seconds, cpu = time.perf_counter() - began, time.process_time() - busy
    text = "\n".join(" ".join(v.hex() if isinstance(v, float) else str(v) for v in r[1:]) for r in table.itertuples())
    return {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "before_mib": before,
        "peak_mib": _peak_mib(),
        "sums_sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def _in_a_process(way: str, path: Path) -> dict[str, Any] | None:
    """`measure_once` in a new process on at most CORES cores; None where it did not fit into memory."""
    code = (
        "import json, os, pathlib, resource, sys\n"
        f"os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{CORES}])\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({MOST_GIB} << 30,) * 2)\n"
        "from campaign.engine.bench_aggregate import measure_once\n"
        "print(json.dumps(measure_once(sys.argv[1], pathlib.Path(sys.argv[2]))))\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code, way, path], capture_output=True, text=True)
    if done.returncode and ("MemoryError" in done.stderr or "ArrowMemoryError" in done.stderr):
        return None
    if done.returncode:
        raise RuntimeError(f"{way} of {path.name} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def bench(sizes: Sequence[int], runs: int, say: Callable[[str], None]) -> dict[str, Any]:
    """What was measured and on what machine, as JSON holds it; `runs` processes for each size and way, in turn."""
    from campaign.engine.aggregate import MEMORY, THREADS

    found = []
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as folder:
        for size in sizes:
            path = Path(folder) / "steps.parquet"
            write_log(path, size)
            # In turn, so that whatever else the machine does meets both ways.
            measured: dict[str, list[dict[str, Any] | None]] = {way: [] for way in WAYS.values()}
            load = []
            for run in range(runs):
                for way, results in measured.items():
                    load.append(os.getloadavg()[0])
                    results.append(_in_a_process(way, path))
                    say(f"{size} records, {way}, run {run + 1}: {results[-1]}")
            sums = {one["sums_sha256"] for results in measured.values() for one in results if one}
            if len(sums) != 1:
                raise RuntimeError(f"{size} records: found {len(sums)} different sums, expected one and the same")
            for name, way in WAYS.items():
                fits = [one for one in measured[way] if one]
                record = {"records": size, "file_mib": path.stat().st_size / 2**20, "way": name, "runs": len(fits)}
                if fits:
                    record["seconds"] = [round(one["seconds"], 3) for one in fits]
                    record["cpu_seconds"] = [round(one["cpu_seconds"], 3) for one in fits]
                    record["before_mib"] = round(max(one["before_mib"] for one in fits), 1)
                    record["peak_mib"] = round(max(one["peak_mib"] for one in fits), 1)
                found.append(record | {"load_most": round(max(load), 2)})
    return {
        "measured": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "machine": {
            "cpu": _cpu(),
            "cores_used": min(CORES, os.cpu_count() or CORES),
            "cores": os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "system": platform.platform(),
        },
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("duckdb", "numpy", "pandas", "pyarrow")},
        "settings": {"memory_limit": MEMORY, "threads": THREADS, "seed": SEED, "row_group": ROW_GROUP},
        "results": found,
    }


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def as_table(said: dict[str, Any]) -> str:
    """What was measured as a Markdown table, and a line that says where and when."""
    lines = [
        "| records | file | way | time | CPU time | peak memory | program alone |",
        "|---:|---:|---|---:|---:|---:|---:|",
    ]
    for one in said["results"]:
        cells = [f"10^{len(str(one['records'])) - 1}", f"{one['file_mib']:.0f} MiB", one["way"]]
        if one["runs"]:
            cells += [f"{statistics.median(one[key]):.2f} s" for key in ("seconds", "cpu_seconds")]
            cells += [f"{one[key]:.0f} MiB" for key in ("peak_mib", "before_mib")]
        else:
            cells += [f"does not fit into {MOST_GIB} GiB", "", "", ""]
        lines.append(f"| {' | '.join(cells)} |")
    machine, versions = said["machine"], said["versions"]
    load = max(one["load_most"] for one in said["results"])
    runs = max(one["runs"] for one in said["results"])
    lines += [
        "",
        f"Measured on {said['measured'][:10]} on {machine['cores_used']} cores ({machine['cpu']}) at a load of up to "
        f"{load:.1f}:",
        f"median time and greatest memory of {runs} runs, each a process of its own. DuckDB {versions['duckdb']} with "
        f"{said['settings']['memory_limit']},",
        f"pyarrow {versions['pyarrow']}, pandas {versions['pandas']}.",
    ]
    return "\n".join(lines)


@click.command()
@click.option("--runs", default=5, show_default=True, help="Processes for each size and way.")
@click.option("--size", "sizes", multiple=True, type=int, default=SIZES, show_default=True, help="Records.")
@click.option("--record", is_flag=True, help=f"Write what was measured to {RECORDS.name}.")
def main(runs: int, sizes: Sequence[int], record: bool) -> None:
    """Measure how long step logs take to aggregate, and how much memory."""
    said = bench(sizes, runs, lambda line: click.echo(line, err=True))
    click.echo(as_table(said))
    if record:
        write_text(RECORDS, json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
