"""Byte equality on recorded calls: what kernels and oracle give beside what the serving engine's kernel wrote."""

import csv
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from campaign.kernels import topk
from campaign.kernels.compare import compare
from campaign.kernels.device_array import STREAM, DeviceArray
from campaign.kernels.driver import Device
from campaign.kernels.masks import masked_top_k
from campaign.kernels.oracle import UNWRITTEN, top_k
from campaign.kernels.recorded import Call, RecordingError, read
from campaign.kernels.records import EQUALITY
from campaign.kernels.surroundings import surroundings

CHECK = "real-calls"
"""The name of these checks in a part's table `equality`, unless another is given."""
ORACLE = "oracle"
MOST_TOLD = 20

Compute = Callable[[Call], np.ndarray]
"""What gives a call's indices, [rows, k] int32."""


@dataclass
class Tally:
    """How one way of selecting compares with what was recorded."""

    calls: int = 0
    rows: int = 0
    mismatched_rows: int = 0
    """Rows that differ from the recorded ones in a byte."""
    other_order_rows: int = 0
    """Of those, the rows that hold the same columns in another order."""
    rows_unlike_oracle: int = 0
    """Rows that differ from the oracle's in a byte."""
    outputs: Any = field(default_factory=hashlib.sha256)

    def record(self) -> dict[str, Any]:
        """Its counts, and a hash over every output."""
        return {
            "calls": self.calls,
            "rows": self.rows,
            "mismatched_rows": self.mismatched_rows,
            "other_order_rows": self.other_order_rows,
            "rows_unlike_oracle": self.rows_unlike_oracle,
            "outputs_sha256": self.outputs.hexdigest(),
        }


@dataclass
class File:
    """What came of one file of recorded calls."""

    name: str
    sha256: str
    versions: dict[str, str]
    """What ran when it was recorded."""
    skipped: int
    """Calls that were made then and not kept."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Of those, how many for which reason."""
    calls: int = 0
    rows: int = 0
    mismatches: int = 0
    """Rows in which anything that was compared differs from what was recorded."""
    tallies: dict[str, Tally] = field(default_factory=dict)


@dataclass
class Certificate:
    """The outcome over all files."""

    environment: dict[str, Any]
    files: list[File] = field(default_factory=list)
    equality: list[dict[str, Any]] = field(default_factory=list)
    """A record a call, as a part's table `equality` has them."""
    wrong: list[str] = field(default_factory=list)
    """One line for each of the first differences."""

    @property
    def right(self) -> bool:
        """Whether something was compared and nothing differed, neither from the recording nor from the oracle."""
        return bool(self.equality) and not self.wrong

    def record(self) -> dict[str, Any]:
        """What is kept of it: counts, hashes, environment."""
        return {
            **self.environment,
            "calls": sum(file.calls for file in self.files),
            "rows": sum(file.rows for file in self.files),
            "mismatches": sum(file.mismatches for file in self.files),
            "files": [
                {
                    "file": file.name,
                    "sha256": file.sha256,
                    "versions": file.versions,
                    "skipped": file.skipped,
                    "reasons": file.reasons,
                    "calls": file.calls,
                    "rows": file.rows,
                    "mismatches": file.mismatches,
                    "compared": {name: tally.record() for name, tally in sorted(file.tallies.items())},
                }
                for file in self.files
            ],
            "wrong": self.wrong,
        }

    def __str__(self) -> str:
        lines = [f"{'compared':<20}{'calls':>9}{'rows':>10}{'mismatched':>12}{'other order':>13}{'unlike oracle':>15}"]
        for file in self.files:
            lines.append(f"{file.name}  sha256 {file.sha256[:16]}")
            lines += [
                f"{name:<20}{t.calls:>9,}{t.rows:>10,}{t.mismatched_rows:>12,}{t.other_order_rows:>13,}"
                f"{t.rows_unlike_oracle:>15,}"
                for name, t in sorted(file.tallies.items())
            ]
        return "\n".join([*lines, *self.wrong])

    def _tell(self, line: str) -> None:
        """Keeps a line, of the first ones."""
        if len(self.wrong) < MOST_TOLD:
            self.wrong.append(line)
        else:
            self.wrong[-1] = "… and more"


def check(paths: Sequence[Path], *, device: Device | None, name: str = CHECK) -> Certificate:
    """The certificate of all calls in the files `paths`.

    Every call goes to the oracle and, with a device, to each kernel that takes it. name: the check's name in the table
    `equality`. Raises RecordingError where a file is not what it should be, or is named twice.
    """
    environment = surroundings(device)
    certificate = Certificate({**environment, "check": name, "kernels_ran": device is not None})
    version = environment["sources"] if device else ORACLE
    for path in paths:
        recording = read(path)
        digest = _sha256(path)
        twin = next((file.name for file in certificate.files if file.sha256 == digest), None)
        if twin:
            raise RecordingError(f"{path}: has the bytes of {twin}; its calls would count twice. Name it once.")
        file = File(str(path), digest, dict(recording.versions), recording.skipped, dict(recording.reasons))
        certificate.files.append(file)
        for place, call in enumerate(recording.calls()):
            differing = _compare(certificate, file, f"{path}: call {place}", call, with_kernels=device is not None)
            file.calls += 1
            file.rows += call.rows
            file.mismatches += differing
            counts = {"call": len(certificate.equality) + 1, "rows": call.rows, "mismatched_rows": differing}
            certificate.equality.append({"check": name, "version": version, **counts})
    return certificate


def _compare(certificate: Certificate, file: File, where: str, call: Call, *, with_kernels: bool) -> int:
    """How many rows of a call differ from the recorded ones in anything that was compared; all of it is counted."""
    differs = np.zeros(call.rows, bool)
    truth = from_oracle(call)
    for name, got in [(ORACLE, truth), *(_from_kernels(call, where) if with_kernels else ())]:
        tally = file.tallies.setdefault(name, Tally())
        against, right = compare(got, call.indices), compare(got, truth)
        rows = (got != call.indices).any(axis=1)
        differs |= rows
        tally.calls += 1
        tally.rows += call.rows
        tally.mismatched_rows += against.mismatched_rows
        tally.other_order_rows += int((rows & (np.sort(got) == np.sort(call.indices)).all(axis=1)).sum())
        tally.rows_unlike_oracle += right.mismatched_rows
        tally.outputs.update(got.tobytes())
        if not against.equal:
            certificate._tell(f"{where}: {name} and what was recorded: {against}")
        if not right.equal:
            certificate._tell(f"{where}: {name} and the oracle: {right}")
    return int(differs.sum())


def from_oracle(call: Call) -> np.ndarray:
    """The oracle's indices of a call; a length past the row counts as the row, as in the kernels."""
    lengths = np.minimum(call.lengths, call.scores.shape[1])
    if call.candidates is None:
        return top_k(call.values, call.k, lengths, call.order)
    return masked_top_k(call.values, call.k, lengths, call.candidates, call.order)


def _from_kernels(call: Call, where: str) -> Iterator[tuple[str, np.ndarray]]:
    """The indices that each kernel which takes the call writes, by the kernel's name."""
    for name, launch in _kernels(call).items():
        try:
            yield name, _launched(call, launch)
        except ValueError as wrong:
            raise RecordingError(f"{where}: {name} does not take it: {wrong}") from None


def _kernels(call: Call) -> dict[str, Callable[..., None]]:
    """The kernels that take a call: the whole row's, or F."""
    if call.candidates is None:
        return {"served_topk": topk.served_topk, "rs8": topk.rs8, "auto": topk.auto}
    return {f"masked_topk c{cluster}": partial(topk.masked_topk, cluster=cluster) for cluster in (1, 8)}


def _launched(call: Call, launch: Callable[..., None]) -> np.ndarray:
    """What a kernel writes for the call, on the current device."""
    scores, lengths = DeviceArray(call.scores, dtype=call.dtype), DeviceArray(call.lengths)
    candidates = [] if call.candidates is None else [DeviceArray(call.candidates)]
    out = DeviceArray(np.full(call.indices.shape, UNWRITTEN, np.int32))
    launch(scores, lengths, *candidates, out, order=call.order, stream=STREAM)
    return out.to_host()


def write(certificate: Certificate, path: Path) -> None:
    """Writes the certificate's record as JSON."""
    path.write_text(json.dumps(certificate.record(), indent=1) + "\n")


def write_table(certificate: Certificate, path: Path) -> None:
    """Writes the records of a part's table `equality` as CSV: one a call."""
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(EQUALITY["columns"]), lineterminator="\n")
        table.writeheader()
        table.writerows(certificate.equality)


def _sha256(path: Path) -> str:
    """The hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
