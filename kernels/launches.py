"""The reduced sweep: few small launches that reach every kernel, or every way through them, for tools that are slow."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import NamedTuple

import numpy as np

from campaign.kernels import topk
from campaign.kernels.device_array import STREAM, DeviceArray
from campaign.kernels.inputs import INPUT_CLASSES
from campaign.kernels.masks import CANDIDATE_CLASSES, masked, masked_top_k
from campaign.kernels.oracle import UNWRITTEN, Order, top_k
from campaign.kernels.shapes import MASKED_SHAPES, SHAPES, Shape, smallest

K = 512
CLASSES = ("normal", "few_values", "narrow_range", "nan_payloads")
KINDS: tuple[tuple[str, Order], ...] = (
    ("float32", "ieee"),
    ("float32", "served"),
    ("bfloat16", "ieee"),
    ("bfloat16", "served"),
)
"""The types of score, each in both orders."""
CANDIDATES = ("every_block", "unsorted_half", "out_of_range", "three_blocks")
"""Classes of candidates that take F each of its ways."""


class Data(NamedTuple):
    """What a launch selects from."""

    dtype: str
    order: Order
    input_class: str
    columns: int
    lengths: tuple[int, ...]
    """Live entries of each row."""

    def __str__(self) -> str:
        return f"{self.dtype} {self.order}, {self.input_class}, {len(self.lengths)} × {self.columns}"

    def scores(self, rng: np.random.Generator) -> np.ndarray:
        """[rows, columns] float32, or uint16 that hold bfloat16 bits."""
        scores = INPUT_CLASSES[self.input_class](rng, len(self.lengths), self.columns)
        return scores if self.dtype == "float32" else (scores.view(np.uint32) >> 16).astype(np.uint16)


class Launch(NamedTuple):
    """One call, made ready but for its random numbers."""

    group: str
    """The build unit that its kernel is in, as "topk_c8"."""
    cluster: int
    """Blocks a row."""
    name: str
    rows: int
    run: Callable[[np.random.Generator], int]
    """Makes the call on the current device: how many of its rows differ from the oracle's."""


def wide() -> Iterator[Launch]:
    """Every kernel, and F in each of its ways: ragged rows of up to 20,003 columns, data of four classes in turn."""
    classes = cycle(CLASSES)
    for shape in SHAPES:
        most = min(shape.capacity, 20_000)
        for dtype, order in KINDS:
            # Such rows start at other places than multiples of 16 bytes.
            yield _whole(shape, Data(dtype, order, next(classes), most - 3, (most - 3, most // 3, 300)))
        yield _whole(shape, Data("float32", "ieee", "narrow_range", most, (most, most // 3, 300)))
    for cluster in _clusters(MASKED_SHAPES):
        for dtype, order in KINDS:
            for candidates in CANDIDATES:
                yield _masked(cluster, Data(dtype, order, next(classes), 20_003, (20_003, 7_001, 300)), candidates)
    for dtype in ("float32", "bfloat16"):
        yield _masks(Data(dtype, "ieee", "normal", 5_001, (5_001, 5_001)))


def narrow() -> Iterator[Launch]:
    """For each size of cluster, a shape that keeps its row and the one that reads it again; mostly one small row."""
    for cluster in _clusters(SHAPES):
        own = [shape for shape in SHAPES if shape.cluster == cluster]
        kept = smallest(cluster, 2_500, of=tuple(shape for shape in own if shape.vectors))
        streamed = next(shape for shape in own if not shape.vectors)
        yield _whole(kept, Data("float32", "ieee", "normal", 2_500, (2_500,)))
        yield _whole(kept, Data("bfloat16", "served", "few_values", 2_500, (2_500,)))
        yield _whole(kept, Data("float32", "ieee", "narrow_range", 2_500, (2_500,)))
        yield _whole(streamed, Data("float32", "ieee", "normal", 5_000, (5_000,)))
        yield _whole(streamed, Data("float32", "served", "narrow_range", 5_000, (5_000,)))
        yield _whole(kept, Data("float32", "served", "normal", 2_497, (2_497, 300)))
    for cluster in _clusters(MASKED_SHAPES):
        yield _masked(cluster, Data("float32", "ieee", "normal", 5_000, (5_000,)), "unsorted_half")
        yield _masked(cluster, Data("bfloat16", "served", "few_values", 5_000, (5_000,)), "unsorted_half")
        yield _masked(cluster, Data("float32", "served", "normal", 2_500, (2_500,)), "three_blocks")
        yield _masked(cluster, Data("float32", "ieee", "narrow_range", 16_500, (16_500,)), "every_block")


SWEEPS: dict[str, Callable[[], Iterator[Launch]]] = {"wide": wide, "narrow": narrow}


def groups(sweep: str) -> list[str]:
    """The groups of a sweep, in its order."""
    return list(dict.fromkeys(launch.group for launch in SWEEPS[sweep]()))


def _clusters(shapes: tuple[Shape, ...]) -> list[int]:
    """The sizes of cluster among `shapes`, ascending."""
    return sorted({shape.cluster for shape in shapes})


def _whole(shape: Shape, data: Data) -> Launch:
    """A selection from whole rows in a given shape."""
    name = f"topk {shape}, {data}"
    return Launch(f"topk_c{shape.cluster}", shape.cluster, name, len(data.lengths), partial(select, shape, data))


def _masked(cluster: int, data: Data, candidates: str) -> Launch:
    """A selection among candidate blocks by F."""
    name = f"masked_topk c{cluster}, {data}, candidates {candidates}"
    return Launch(
        f"masked_c{cluster}", cluster, name, len(data.lengths), partial(select_among, cluster, data, candidates)
    )


def _masks(data: Data) -> Launch:
    """The two masking kernels."""
    return Launch("masked_c1", 1, f"mask_candidates, {data}", len(data.lengths), partial(mask, data))


def select(shape: Shape, data: Data, rng: np.random.Generator) -> int:
    """Selects on the device: how many rows differ from the oracle's."""
    host, lengths = data.scores(rng), np.array(data.lengths, np.int32)
    scores, live, out = DeviceArray(host, dtype=data.dtype), DeviceArray(lengths), _output(data)
    topk.shaped(scores, live, out, shape, order=data.order, stream=STREAM)
    return _differing(out, top_k(host, K, lengths, data.order))


def select_among(cluster: int, data: Data, candidates: str, rng: np.random.Generator) -> int:
    """Selects on the device among the blocks of a class of candidates: how many rows differ from the oracle's."""
    host, lengths = data.scores(rng), np.array(data.lengths, np.int32)
    ids = CANDIDATE_CLASSES[candidates](rng, *host.shape)
    scores, live, out = DeviceArray(host, dtype=data.dtype), DeviceArray(lengths), _output(data)
    among = DeviceArray(ids)
    topk.masked_topk(scores, live, among, out, cluster=cluster, order=data.order, stream=STREAM)
    return _differing(out, masked_top_k(host, K, lengths, ids, data.order))


def mask(data: Data, rng: np.random.Generator) -> int:
    """Masks on the device: how many rows differ from the oracle's."""
    host = data.scores(rng)
    ids = CANDIDATE_CLASSES["out_of_range"](rng, *host.shape)
    scores, flags = DeviceArray(host, dtype=data.dtype), DeviceArray(np.zeros(host.shape, np.uint8))
    among = DeviceArray(ids)
    topk.mask_candidates(scores, among, flags, stream=STREAM)
    return _differing(scores, masked(host, ids))


def _output(data: Data) -> DeviceArray:
    """Places for the columns of each row's best, poisoned."""
    return DeviceArray(np.full((len(data.lengths), K), UNWRITTEN, np.int32))


def _differing(got: DeviceArray, want: np.ndarray) -> int:
    """How many rows of `got` differ from `want` in a byte."""
    bits = f"u{want.itemsize}"
    return int((got.to_host().view(bits) != want.view(bits)).any(axis=1).sum())
