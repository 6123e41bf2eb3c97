"""Byte equality of the kernels with the oracle, on a GPU: every input class, every awkward shape of a call."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from campaign.kernels import topk
from campaign.kernels.environment import environment
from campaign.kernels.inputs import INPUT_CLASSES, classes_aimed_at
from campaign.kernels.oracle import UNWRITTEN, Order, top_k
from campaign.kernels.shapes import SHAPES

DEVICE = "cuda"
GUARD = 64
"""Places before and after an output that no call may touch."""

MASKED_SIZES = ((4_099, 512), (20_000, 2_048), (70_001, 512), (131_072, 1_024))
"""Columns and k of masked rows."""
MASKED_KINDS = ("normal", "few_values", "negative_infinity_90", "nan_payloads", "any_bits")

Launch = Callable[..., None]
ORDERS: tuple[Order, ...] = ("ieee", "served")
KS = (512, 1024, 2048)
LENGTHS = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144)
ODD_LENGTHS = (3_001, 8_193, 30_938, 65_504, 100_003)


@dataclass(frozen=True)
class Case:
    """One call: what goes in, and how it lies in memory."""

    name: str
    scores: np.ndarray
    """[rows, columns] float32, or uint16 that hold bfloat16 bits."""
    lengths: np.ndarray
    k: int
    offset: int = 0
    """How many scores the first row starts after an aligned address."""
    gap: int = 0
    """Scores between the end of a row and the start of the next, all NaN."""


@dataclass
class Tally:
    """What a kernel was asked and what it got wrong."""

    calls: int = 0
    rows: int = 0
    wrong_rows: int = 0
    outputs: Any = field(default_factory=hashlib.sha256)
    """A hash over every output, in order."""


@dataclass
class Certificate:
    """A check's outcome, by kernel."""

    seed: int
    tallies: dict[str, Tally] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    """One line for each of the first wrong calls."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Calls that this device has too small clusters or too little shared memory for, by kernel."""
    inputs: Any = field(default_factory=hashlib.sha256)
    """A hash over what went into every call, in order."""

    def took(self, *arrays: np.ndarray, k: int, order: Order, offset: int = 0, gap: int = 0) -> None:
        """Adds a call's inputs to their hash: arrays with their types and shapes, and how they lay in memory."""
        settings = [k, order, offset, gap, *([array.dtype.str, array.shape] for array in arrays)]
        self.inputs.update(json.dumps(settings).encode())
        for array in arrays:
            self.inputs.update(array.tobytes())

    @property
    def right(self) -> bool:
        """Whether something was checked and nothing was wrong."""
        return bool(self.tallies) and not self.wrong

    def record(self) -> dict[str, Any]:
        """What is kept of it: counts, hashes, environment."""
        return {
            **environment(),
            "seed": self.seed,
            "inputs_sha256": self.inputs.hexdigest(),
            "kernels": {
                name: {
                    "calls": tally.calls,
                    "rows": tally.rows,
                    "wrong_rows": tally.wrong_rows,
                    "outputs_sha256": tally.outputs.hexdigest(),
                }
                for name, tally in sorted(self.tallies.items())
            },
            "left_out": dict(sorted(self.left_out.items())),
            "wrong": self.wrong,
        }

    def __str__(self) -> str:
        lines = [f"{'kernel':<24}{'calls':>9}{'rows':>10}{'wrong rows':>12}"]
        lines += [
            f"{name:<24}{t.calls:>9,}{t.rows:>10,}{t.wrong_rows:>12,}" for name, t in sorted(self.tallies.items())
        ]
        lines += [
            f"{name:<24}{calls:>9,} calls left out: too small clusters or too little shared memory here"
            for name, calls in sorted(self.left_out.items())
        ]
        return "\n".join([*lines, *self.wrong])


def check(seed: int, seconds: float, said: Callable[[str], None] = lambda _: None) -> Certificate:
    """Runs the cases of `seed` for about `seconds`, at least each kind once, and says which kind is under way."""
    certificate = Certificate(seed)
    until = time.monotonic() + seconds
    kinds = (
        ("awkward lengths", awkward_lengths),
        ("layouts", layouts),
        ("bfloat16", bfloat16_cases),
        ("input classes", class_cases),
    )
    for number, (kind, cases) in enumerate(kinds):
        rng = np.random.default_rng([seed, number])
        share = time.monotonic() + max(0.0, until - time.monotonic()) / (len(kinds) + 2 - number)
        count = 0
        for count, case in enumerate(cases(rng), 1):
            for order in ORDERS:
                run_case(certificate, case, order)
            if time.monotonic() > share and count >= 12:
                break
        said(f"{kind}: {count} inputs")
    for kind, run in (("repeats and streams", repeats), ("graph replays", replays), ("masked rows", masked_cases)):
        run(certificate, np.random.default_rng([seed, len(kind)]))
        said(kind)
    return certificate


def kernels_for(case: Case) -> dict[str, Launch]:
    """The kernels for a case: the named ones, and every shape that its rows fit, on a device that has the room."""
    columns = case.scores.shape[1] + 3
    named: dict[str, Launch] = {"served_topk": topk.served_topk, "rs8": topk.rs8, "auto": topk.auto}
    for shape in SHAPES:
        # A shape far larger than the row repeats what a smaller one has shown.
        if columns <= shape.capacity <= max(16 * columns, 32_768) or (
            not shape.vectors and columns >= 2 * shape.threads
        ):
            named[f"shape {shape}"] = partial(topk.shaped, shape=shape)
    return named


def run_case(certificate: Certificate, case: Case, order: Order) -> None:
    """Runs every kernel that takes `case`, and counts the rows that differ from the oracle's."""
    want = top_k(case.scores, case.k, np.minimum(case.lengths, case.scores.shape[1]), order)
    certificate.took(case.scores, case.lengths, k=case.k, order=order, offset=case.offset, gap=case.gap)
    scores, before, lengths = on_device(case)
    for name, launch in kernels_for(case).items():
        where = f"{case.name}, k {case.k}, {order}"
        judge(certificate, name, where, want, partial(launch, scores, lengths, order=order))
    if not torch.equal(whole(scores), before):
        certificate.wrong.append(f"{case.name}: a kernel wrote into the scores")


def judge(certificate: Certificate, kernel: str, where: str, want: np.ndarray, launch: Callable[[Any], None]) -> None:
    """One call into poisoned, guarded memory: its rows are compared byte for byte and counted.

    A call that the device cannot run is counted as left out.
    """
    rows, k = want.shape
    memory = torch.full((rows * k + 2 * GUARD,), UNWRITTEN, dtype=torch.int32, device=DEVICE)
    try:
        launch(memory[GUARD:-GUARD].view(rows, k))
    except topk.DoesNotFit:
        certificate.left_out[kernel] = certificate.left_out.get(kernel, 0) + 1
        return
    got = memory.cpu().numpy()
    tally = certificate.tallies.setdefault(kernel, Tally())
    inside = got[GUARD:-GUARD].reshape(rows, k)
    tally.calls += 1
    tally.rows += rows
    tally.outputs.update(inside.tobytes())
    differs = (inside != want).any(axis=1)
    tally.wrong_rows += int(differs.sum())
    guards = (got[:GUARD] != UNWRITTEN).any() or (got[-GUARD:] != UNWRITTEN).any()
    if (differs.any() or guards) and len(certificate.wrong) < 20:
        row = int(np.argmax(differs))
        place = int(np.argmax(inside[row] != want[row]))
        what = (
            "wrote outside its output"
            if guards
            else f"row {row}, place {place}: got {inside[row, place]}, want {want[row, place]}"
        )
        certificate.wrong.append(f"{kernel}: {where}: {what}")
    elif differs.any() or guards:
        certificate.wrong[-1] = "… and more"


def on_device(case: Case) -> tuple[Any, Any, Any]:
    """Scores as the case lays them out, with NaN around them; a copy of that memory; the lengths."""
    rows, columns = case.scores.shape
    bits = np.uint32 if case.scores.dtype == np.float32 else np.uint16
    filler = 0x7FC0_0000 if bits is np.uint32 else 0x7FC0
    stride = columns + case.gap
    host = np.full(case.offset + rows * stride + 8, filler, bits)
    host[case.offset : case.offset + rows * stride].reshape(rows, stride)[:, :columns] = case.scores.view(bits)
    kind = torch.float32 if bits is np.uint32 else torch.bfloat16
    flat = torch.from_numpy(host.view(np.int32 if bits is np.uint32 else np.int16)).to(DEVICE).view(kind)
    scores = flat[case.offset :].as_strided((rows, columns), (stride, 1), case.offset)
    return scores, whole(scores).clone(), torch.from_numpy(case.lengths.astype(np.int32)).to(DEVICE)


def whole(scores: Any) -> Any:
    """All bits of the memory that scores lie in."""
    flat = torch.empty(0, dtype=scores.dtype, device=scores.device).set_(scores.untyped_storage())
    return flat.view(torch.int32 if scores.dtype == torch.float32 else torch.int16)


def class_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Every input class, at lengths drawn anew each time, short ones more often."""
    while True:
        for k in KS:
            for name, make in {**INPUT_CLASSES, **classes_aimed_at(k)}.items():
                length = int(rng.choice([*LENGTHS, *ODD_LENGTHS], p=_weights()))
                rows = int(rng.integers(1, 5)) if length < 50_000 else 1
                lengths = rng.integers(max(1, length // 2), length + 1, rows)
                lengths[0] = length
                yield Case(f"{name} {rows} × {length}", make(rng, rows, length), lengths, k)


def _weights() -> np.ndarray:
    """Chances of the lengths, falling with the length."""
    inverse = 1 / np.sqrt(np.array([*LENGTHS, *ODD_LENGTHS], float))
    return inverse / inverse.sum()


def awkward_lengths(rng: np.random.Generator) -> Iterator[Case]:
    """Lengths around k, none, negative and whole rows, all in one call; and around the sizes at which shapes change."""
    for k in KS:
        lengths = np.array([-1, 0, 1, k - 1, k, k + 1, k + 3, 3 * k + 5, 4096, -(2**31)])
        for name in ("normal", "few_values", "all_negative_infinity", "nan_payloads"):
            columns = max(4096, 3 * k + 5)
            yield Case(f"{name}, lengths around k", INPUT_CLASSES[name](rng, len(lengths), columns), lengths, k)
    for near in (4_096, 8_192, 16_384, 32_768, 65_536):
        for k in (512, 2_048):
            columns = near + 1
            lengths = np.array([near - 1, near, near + 1, near - 4, k + 1, 0])
            yield Case(f"normal around {near}", INPUT_CLASSES["normal"](rng, 6, columns), lengths, k)
            yield Case(f"few_values around {near}", INPUT_CLASSES["few_values"](rng, 6, columns), lengths, k)
    for columns in (131_073, 262_145, 1_048_576):
        for name in ("normal", "few_values", "narrow_range"):
            scores = INPUT_CLASSES[name](rng, 2, columns)
            yield Case(f"{name} {columns}", scores, np.array([columns, columns // 3]), 2_048)


def layouts(rng: np.random.Generator) -> Iterator[Case]:
    """Rows that start anywhere and lie any distance apart, 1 to 64 of them with mixed lengths."""
    for rows in (1, 2, 4, 6, 8, 17, 64):
        for columns in (2_500, 6_000, 20_000):
            offset, gap = int(rng.integers(0, 4)), int(rng.integers(0, 9))
            lengths = rng.integers(0, columns + 1, rows)
            make = INPUT_CLASSES[
                str(rng.choice(["normal", "few_values", "any_bits", "zero_band", "negative_infinity_90"]))
            ]
            name = f"{make.__name__} {rows} × {columns}, offset {offset}, gap {gap}"
            yield Case(name, make(rng, rows, columns), lengths, int(rng.choice(KS)), offset, gap)


def bfloat16_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Input classes cut to bfloat16: many ties, and NaN, infinities and subnormals as they are."""
    while True:
        for name, make in INPUT_CLASSES.items():
            columns, k = int(rng.choice([3_001, 4_096, 8_192, 20_000, 70_000])), int(rng.choice(KS))
            rows = int(rng.integers(1, 4))
            bits = (make(rng, rows, columns).view(np.uint32) >> 16).astype(np.uint16)
            lengths = rng.integers(columns // 2, columns + 1, rows)
            yield Case(
                f"bfloat16 {name} {rows} × {columns}",
                bits,
                lengths,
                k,
                int(rng.integers(0, 4)),
                int(rng.integers(0, 4)),
            )


def repeats(certificate: Certificate, rng: np.random.Generator) -> None:
    """The same call a hundred times, and two streams at once: the same bytes every time."""
    for name in ("few_values", "two_values", "equal_upper_22_bits"):
        case = Case(name, INPUT_CLASSES[name](rng, 6, 30_000), np.full(6, 30_000), 512)
        certificate.took(case.scores, case.lengths, k=case.k, order="ieee")
        want = torch.from_numpy(top_k(case.scores, case.k)).to(DEVICE)
        scores, _, lengths = on_device(case)
        for kernel, launch in (("served_topk", topk.served_topk), ("rs8", topk.rs8), ("auto", topk.auto)):
            streams = [torch.cuda.Stream() for _ in range(2)]
            outputs = [torch.full((6, case.k), UNWRITTEN, dtype=torch.int32, device=DEVICE) for _ in range(100)]
            torch.cuda.synchronize()
            for i, out in enumerate(outputs):
                launch(scores, lengths, out, order="ieee", stream=streams[i % 2].cuda_stream)
            torch.cuda.synchronize()
            _count(certificate, kernel, f"{name}, repeated", [(out, want) for out in outputs])


def replays(certificate: Certificate, rng: np.random.Generator) -> None:
    """A graph captured with short rows and replayed with longer ones, other scores, and memory churn in between."""
    columns, k, rows = 65_536, 512, 6
    for kernel, launch in (("served_topk", topk.served_topk), ("rs8", topk.rs8), ("auto", topk.auto)):
        scores = torch.zeros((rows, columns), device=DEVICE)
        lengths = torch.full((rows,), 700, dtype=torch.int32, device=DEVICE)
        out = torch.full((rows, k), UNWRITTEN, dtype=torch.int32, device=DEVICE)
        launch(scores, lengths, out, order="ieee")
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            launch(scores, lengths, out, order="ieee")
        for longest in (100, 5_000, columns):
            host = INPUT_CLASSES["normal"](rng, rows, columns)
            live = rng.integers(0, longest + 1, rows).astype(np.int32)
            live[0] = longest
            certificate.took(host, live, k=k, order="ieee")
            scores.copy_(torch.from_numpy(host))
            lengths.copy_(torch.from_numpy(live))
            out.fill_(UNWRITTEN)
            churn = [torch.empty(1 << 20, device=DEVICE).normal_() for _ in range(4)]
            graph.replay()
            torch.cuda.synchronize()
            del churn
            want = torch.from_numpy(top_k(host, k, live)).to(DEVICE)
            _count(certificate, kernel, f"graph replay, rows up to {longest}", [(out, want)])


def masked_cases(certificate: Certificate, rng: np.random.Generator) -> None:
    """F against the oracle of masked rows, and against the two masking kernels followed by a selection."""
    from campaign.kernels.masks import CANDIDATE_CLASSES, masked_top_k

    for name, make in CANDIDATE_CLASSES.items():
        for columns, k in MASKED_SIZES:
            rows = 3
            # Where few scores are above -inf, as in the last kind, F has to read the whole row.
            kind = str(rng.choice([*MASKED_KINDS, "few_finite"]))
            host = (
                few_finite(rng, rows, columns, k) if kind == "few_finite" else INPUT_CLASSES[kind](rng, rows, columns)
            )
            lengths = np.array([columns, int(rng.integers(k + 1, columns)), int(rng.integers(0, columns))])
            candidates = make(rng, rows, columns)
            case = Case(f"{kind} {columns}, candidates {name}", host, lengths, k, int(rng.integers(0, 4)))
            scores, before, live = on_device(case)
            ids = torch.from_numpy(candidates).to(DEVICE)
            for order in ORDERS:
                want = masked_top_k(host, k, lengths, candidates, order)
                certificate.took(host, lengths, candidates, k=k, order=order, offset=case.offset)
                where = f"{case.name}, k {k}, {order}"
                for cluster in (1, 8):
                    call = partial(topk.masked_topk, scores, live, ids, cluster=cluster, order=order)
                    judge(certificate, f"masked_topk c{cluster}", where, want, call)
                call = partial(_reference, scores, live, ids, order=order)
                judge(certificate, "masked reference", where, want, call)
            if not torch.equal(whole(scores), before):
                certificate.wrong.append(f"{case.name}: F wrote into the scores")


def few_finite(rng: np.random.Generator, rows: int, columns: int, k: int) -> np.ndarray:
    """-inf, but for fewer than k normal scores."""
    scores = np.full((rows, columns), -np.inf, np.float32)
    for row in scores:
        row[rng.choice(columns, k // 2, replace=False)] = rng.standard_normal(k // 2)
    return scores


def _reference(scores: Any, lengths: Any, candidates: Any, out: Any, *, order: Order) -> None:
    """The two masking kernels on a copy of the scores, then served_topk."""
    masked = scores.contiguous().clone()
    flags = torch.empty(scores.shape, dtype=torch.uint8, device=DEVICE)
    topk.mask_candidates(masked, candidates, flags)
    topk.served_topk(masked, lengths, out, order=order)


def _count(certificate: Certificate, kernel: str, where: str, outcomes: list[tuple[Any, Any]]) -> None:
    """Counts outputs against what they must be."""
    tally = certificate.tallies.setdefault(kernel, Tally())
    for got, want in outcomes:
        tally.calls += 1
        tally.rows += len(want)
        tally.outputs.update(got.cpu().numpy().tobytes())
        wrong = int((got != want).any(dim=1).sum())
        tally.wrong_rows += wrong
        if wrong and len(certificate.wrong) < 20:
            certificate.wrong.append(f"{kernel}: {where}: {wrong} of {len(want)} rows differ")


def write(certificate: Certificate, path: Path) -> None:
    """Writes the certificate's record as JSON."""
    path.write_text(json.dumps(certificate.record(), indent=1) + "\n")
