"""The top-k kernels on a GPU: served_topk, rs8, the masked F, and auto, which takes the shape that the row asks for.

All write the same bytes, those of `oracle.top_k`: the columns of a row's k best scores, ascending, then -1. Once its
kernel is loaded, by a first call or by `prepare`, a call allocates nothing, waits for nothing and reads nothing back:
it can be captured in a CUDA graph. Lengths are read on the device at each replay.

Arguments are torch tensors on one device, or anything with the same `data_ptr`, `shape`, `stride`, `dtype`:
scores [rows, columns], float32 or bfloat16, columns next to each other, rows any distance apart; lengths [rows] int32;
indices [rows, k] int32, which is written. Of a row, nothing at or past its column `columns` is read, and nothing past
its length counts. With `launch` False a call does everything but launch: see `prepare`. The thread's current device
stays what it was.

Raises ValueError or TypeError where arguments are not so or do not fit one another, DoesNotFit where the device cannot
run a call, and CampaignError where there is no such device, no build for it, or a kernel to be loaded in a capture.
"""

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

from campaign.kernels import build, driver
from campaign.kernels.driver import Device, Kernel, Module
from campaign.kernels.errors import CampaignError, nearest
from campaign.kernels.masks import BLOCK, blocks_of
from campaign.kernels.oracle import Order
from campaign.kernels.shapes import MASKED_SHAPES, MOST_COLUMNS, SHAPES, Shape, chosen, largest_cluster, smallest

MOST_K = 4096
MOST_ROWS_MASKED = 65_535
"""Rows that `mask_candidates` takes in one call: blocks of a grid's second dimension."""


class DoesNotFit(ValueError):
    """A call that this device cannot run: it needs larger clusters, or more shared memory a block, than there are."""


def prepare(call: Callable[..., None], *arguments: Any, **options: Any) -> None:
    """Loads what `call(*arguments, **options)` launches, and launches nothing; what the call would raise, this does.

    The first call of a kernel loads machine code and reads from it, which a capture in a CUDA graph does not allow. Of
    the tensors only shapes, types, strides and addresses count, so others of the same description serve as well. Each
    number of rows or columns may take another kernel, and so may rows that do not start at multiples of 16 bytes.
    """
    call(*arguments, **options, launch=False)


def served_topk(
    scores: Any,
    lengths: Any,
    indices: Any,
    *,
    order: Order = "served",
    stream: int | None = None,
    launch: bool = True,
) -> None:
    """Selects each row's best in one block of 1,024 threads.

    Our re-creation of a one-block select, after what was published of the served kernel; it is not that kernel's code.
    """

    def one_block(rows: int, positions: int, largest: int) -> list[Shape]:
        return [smallest(1, positions, threads=1024)]

    _run(scores, lengths, indices, order, stream, launch, one_block)


def rs8(
    scores: Any,
    lengths: Any,
    indices: Any,
    *,
    order: Order = "served",
    stream: int | None = None,
    launch: bool = True,
) -> None:
    """Selects as `served_topk` does, each row spread over a cluster of eight blocks."""

    def eight_blocks(rows: int, positions: int, largest: int) -> list[Shape]:
        return [smallest(8, positions)]

    _run(scores, lengths, indices, order, stream, launch, eight_blocks)


def auto(
    scores: Any,
    lengths: Any,
    indices: Any,
    *,
    order: Order = "served",
    stream: int | None = None,
    launch: bool = True,
) -> None:
    """Selects as `served_topk` does, in the shape measured quickest for so many rows and columns.

    Where the shared memory of a block does not take that shape, the next larger cluster is taken.
    """

    def quickest(rows: int, positions: int, largest: int) -> Iterator[Shape]:
        first = chosen(rows, positions, largest_cluster=largest)
        yield first
        for cluster in sorted({shape.cluster for shape in SHAPES if first.cluster < shape.cluster <= largest}):
            yield smallest(cluster, positions)

    _run(scores, lengths, indices, order, stream, launch, quickest)


def shaped(
    scores: Any,
    lengths: Any,
    indices: Any,
    shape: Shape,
    *,
    order: Order = "served",
    stream: int | None = None,
    launch: bool = True,
) -> None:
    """Selects in a given shape, one of `shapes.SHAPES`.

    Raises ValueError where there is no such shape, or rows are longer than it takes.
    """

    def given(rows: int, positions: int, largest: int) -> list[Shape]:
        if shape not in SHAPES or shape.capacity < positions:
            raise ValueError(
                f"shape {shape} does not take rows of {positions:,} positions: expected one of shapes.SHAPES whose "
                "capacity is as large"
            )
        if shape.cluster > largest:
            raise DoesNotFit(
                f"shape {shape} is of {shape.cluster} blocks a cluster, and this device has at most {largest}"
            )
        return [shape]

    _run(scores, lengths, indices, order, stream, launch, given)


def masked_topk(
    scores: Any,
    lengths: Any,
    candidates: Any,
    indices: Any,
    *,
    cluster: int = 8,
    order: Order = "served",
    stream: int | None = None,
    launch: bool = True,
) -> None:
    """Selects among a row's candidate blocks of eight columns, in one launch (F): columns outside count as -inf.

    candidates: [rows, ids] int32 in any order; negative ids are padding, duplicates count once, an id past the last
    block keeps the last column alone. The result is that of `mask_candidates` and a selection, but scores stay as they
    are. cluster: 1 or 8 blocks a row.

    Shared memory has room for as many ids as `candidates` is wide, padding included, and at most for each block once.
    Raises DoesNotFit where the device has less.
    """
    rows, columns, k = _checked(scores, lengths, indices, order)
    ids = _checked_candidates(scores, candidates, rows)
    if cluster not in {shape.cluster for shape in MASKED_SHAPES}:
        raise ValueError(f"cluster must be 1 or 8, got {cluster}")
    if rows == 0:
        return
    at = _stream(scores, stream)
    device = _device(scores)
    with device.current():
        kind = f"{_dtype(scores)}_{order}"
        shape, kernel, shared_bytes = _fitting_masked(device, at, kind, cluster, columns, ids)
        if launch:
            arguments = _MaskedArguments(
                *_arguments(scores, lengths, indices, k, columns), *_candidate_arguments(candidates)
            )
            kernel.launch(rows * shape.cluster, shared_bytes, at, arguments)


def mask_candidates(
    scores: Any, candidates: Any, flags: Any, *, stream: int | None = None, launch: bool = True
) -> None:
    """Sets every column of `scores` outside the candidate blocks to -inf, by two small kernels: the reference of F.

    flags: [rows, columns] uint8, which is written. At most 65,535 rows.
    """
    rows, columns = _checked_scores(scores)
    _checked_candidates(scores, candidates, rows)
    _expect("flags", flags, "uint8", scores)
    if tuple(flags.shape) != (rows, columns) or not flags.is_contiguous():
        raise ValueError(f"flags must be [{rows}, {columns}] uint8 without gaps, got shape {tuple(flags.shape)}")
    if rows > MOST_ROWS_MASKED:
        raise ValueError(
            f"mask_candidates takes at most {MOST_ROWS_MASKED:,} rows, got {rows:,}. Call it for fewer rows at a time."
        )
    if rows == 0:
        return
    at = _stream(scores, stream)
    device = _device(scores)
    with device.current():
        one_block = Shape(1, 1024, 0)
        names = "candidate_flags", f"mask_candidates_{_dtype(scores)}"
        first, second = (_kernel(device, "masked", name, one_block, at)[0] for name in names)
        if launch:
            arguments = _MaskedArguments(
                scores.data_ptr(), scores.stride(0), 0, 0, 0, 0, columns, *_candidate_arguments(candidates)
            )
            pointer = ctypes.c_void_p(flags.data_ptr())
            first.launch(rows, 0, at, arguments, pointer)
            second.launch_grid((-(-columns // 1024), rows, 1), 0, at, arguments, pointer)


class _TopkArguments(ctypes.Structure):
    """As in topk.cu."""

    _fields_ = [
        ("scores", ctypes.c_void_p),
        ("stride", ctypes.c_longlong),
        ("lengths", ctypes.c_void_p),
        ("indices", ctypes.c_void_p),
        ("out_stride", ctypes.c_longlong),
        ("k", ctypes.c_int),
        ("columns", ctypes.c_int),
    ]


class _MaskedArguments(ctypes.Structure):
    """As in masked.cu."""

    _fields_ = [
        *_TopkArguments._fields_,
        ("candidates", ctypes.c_void_p),
        ("candidate_stride", ctypes.c_longlong),
        ("candidate_count", ctypes.c_int),
    ]


def _run(
    scores: Any,
    lengths: Any,
    indices: Any,
    order: Order,
    stream: int | None,
    launch: bool,
    shapes_for: Callable[[int, int, int], Iterable[Shape]],
) -> None:
    """Checks the arguments, and launches the kernel of the first shape that fits the device.

    shapes_for: the shapes to try, in order, for so many rows and positions and a largest cluster.
    """
    rows, columns, k = _checked(scores, lengths, indices, order)
    if rows == 0:
        return
    at = _stream(scores, stream)
    device = _device(scores)
    aligned = scores.data_ptr() % (4 * scores.element_size()) == 0 and (rows == 1 or scores.stride(0) % 4 == 0)
    positions = columns if aligned else columns + 3
    with device.current():
        shapes = shapes_for(rows, positions, largest_cluster(device.capability))
        shape, kernel, shared_bytes = _fitting(device, at, f"{_dtype(scores)}_{order}", positions, shapes)
        if launch:
            arguments = _TopkArguments(*_arguments(scores, lengths, indices, k, columns))
            kernel.launch(rows * shape.cluster, shared_bytes, at, arguments)


def _fitting(
    device: Device, stream: int, kind: str, positions: int, shapes: Iterable[Shape]
) -> tuple[Shape, Kernel, int]:
    """The first of `shapes` that fits the device, its kernel, and the bytes of shared memory to launch it with.

    kind: type of score and order, as in the names of kernels. Raises DoesNotFit where there is none.
    """
    needed = 0
    for shape in shapes:
        kernel, fixed_bytes = _kernel(device, "topk", f"topk_{kind}_{shape}", shape, stream)
        marks_bytes = 4 * shape.mark_words(positions)
        needed = fixed_bytes + marks_bytes
        if needed <= device.shared_bytes:
            return shape, kernel, _generous(device, needed, marks_bytes)
    raise DoesNotFit(
        f"rows of {positions:,} positions need {needed:,} bytes of shared memory a block in shape {shape}, and "
        f"{device.name} has {device.shared_bytes:,}. "
        + ("Use a larger cluster: auto or rs8." if shape.cluster < 8 else "Use shorter rows.")
    )


def _fitting_masked(
    device: Device, stream: int, kind: str, cluster: int, columns: int, ids: int
) -> tuple[Shape, Kernel, int]:
    """As `_fitting`, for F with so many columns and candidate ids a row."""
    blocks = blocks_of(columns)
    listed = min(ids, blocks)

    def shape_of(listed: int) -> Shape:
        return smallest(cluster, listed * BLOCK, of=MASKED_SHAPES)

    def marks_bytes(listed: int) -> int:  # of the whole row, which F may have to read
        return 4 * Shape(cluster, shape_of(listed).threads, 0).mark_words(columns + 3)

    shape = shape_of(listed)
    kernel, fixed_bytes = _kernel(device, "masked", f"masked_topk_{kind}_{shape}", shape, stream)

    def needed(listed: int) -> int:
        return fixed_bytes + 4 * (-(-columns // (32 * BLOCK)) + listed) + marks_bytes(listed)

    if needed(listed) <= device.shared_bytes:
        return shape, kernel, _generous(device, needed(listed), marks_bytes(listed))
    most = bisect_right(range(1, blocks + 1), device.shared_bytes, key=needed)
    ways = ["fewer ids a row"] * (most > 0) + ["cluster=8"] * (cluster == 1) + ["mask_candidates and auto"]
    raise DoesNotFit(
        f"masked_topk: rows of {columns:,} columns with {ids:,} candidate ids, padding included, need "
        f"{needed(listed):,} bytes of shared memory a block in shape {shape}, and {device.name} has "
        f"{device.shared_bytes:,}, room for {most:,} ids a row. Use {' or '.join(ways)}."
    )


def _generous(device: Device, shared_bytes: int, helpful_bytes: int) -> int:
    """`shared_bytes`, with `helpful_bytes` more where a block of this device has them.

    A second set of marks saves a pass over a row with ties (select.cuh, mark_ties).
    """
    both = shared_bytes + helpful_bytes
    return both if both <= device.shared_bytes else shared_bytes


def _arguments(scores: Any, lengths: Any, indices: Any, k: int, columns: int) -> tuple[int, ...]:
    """The fields of _TopkArguments."""
    return (
        scores.data_ptr(),
        scores.stride(0),
        lengths.data_ptr(),
        indices.data_ptr(),
        indices.stride(0),
        k,
        columns,
    )


def _candidate_arguments(candidates: Any) -> tuple[int, ...]:
    """The fields that _MaskedArguments has besides."""
    return candidates.data_ptr(), candidates.stride(0), candidates.shape[1]


def _checked(scores: Any, lengths: Any, indices: Any, order: Order) -> tuple[int, int, int]:
    """Rows, columns and k of a call; ValueError or TypeError where the arguments do not fit one another."""
    rows, columns = _checked_scores(scores)
    if order not in get_args(Order):
        raise ValueError(
            f"order must be one of {', '.join(get_args(Order))}, got {order!r}.{nearest(order, get_args(Order))}"
        )
    _expect("lengths", lengths, "int32", scores)
    if lengths.numel() != rows or not lengths.is_contiguous():
        raise ValueError(f"lengths must be {rows} integers without gaps, one a row, got shape {tuple(lengths.shape)}")
    _expect("indices", indices, "int32", scores)
    if len(indices.shape) != 2 or indices.shape[0] != rows or indices.stride(1) != 1:
        raise ValueError(
            f"indices must be [{rows}, k] with places next to each other, got shape {tuple(indices.shape)}"
        )
    k = indices.shape[1]
    if not 1 <= k <= MOST_K:
        raise ValueError(f"k, the second dimension of indices, must be from 1 to {MOST_K:,}, got {k:,}")
    return rows, columns, k


def _checked_scores(scores: Any) -> tuple[int, int]:
    """Rows and columns of the scores."""
    _expect_tensor("scores", scores)
    if len(scores.shape) != 2 or not 1 <= scores.shape[1] <= MOST_COLUMNS:
        raise ValueError(
            f"scores must be [rows, columns] with 1 to {MOST_COLUMNS:,} columns, got {tuple(scores.shape)}"
        )
    if scores.stride(1) != 1:
        raise ValueError(f"columns of scores must lie next to each other (stride 1), got stride {scores.stride(1)}")
    _dtype(scores)
    if getattr(scores, "device", None) is not None and scores.device.type != "cuda":
        raise ValueError(f"scores must be on a CUDA device, got {scores.device}")
    return tuple(scores.shape)


def _checked_candidates(scores: Any, candidates: Any, rows: int) -> int:
    """How many candidate ids a row has."""
    _expect("candidates", candidates, "int32", scores)
    if (
        len(candidates.shape) != 2
        or candidates.shape[0] != rows
        or candidates.stride(1) != 1
        or candidates.shape[1] < 1
    ):
        raise ValueError(f"candidates must be [{rows}, ids] with ids next to each other, got {tuple(candidates.shape)}")
    return candidates.shape[1]


def _expect(name: str, tensor: Any, dtype: str, scores: Any) -> None:
    """Raises where `tensor` is not of that type on the device of the scores."""
    _expect_tensor(name, tensor)
    if str(tensor.dtype).split(".")[-1] != dtype:
        raise TypeError(f"{name} must be {dtype}, got {tensor.dtype}")
    if getattr(tensor, "device", None) != getattr(scores, "device", None):
        raise ValueError(f"{name} must be on the device of scores, {scores.device}, got {tensor.device}")


def _expect_tensor(name: str, tensor: Any) -> None:
    """Raises where `tensor` has no address on a device, as a NumPy array."""
    if not hasattr(tensor, "data_ptr"):
        raise TypeError(
            f"{name} must be a torch tensor on a CUDA device, got {type(tensor).__module__}.{type(tensor).__name__}. "
            "For NumPy arrays use campaign.kernels.oracle."
        )


def _dtype(scores: Any) -> str:
    """The name of the scores' type in the names of kernels."""
    name = str(scores.dtype).split(".")[-1]
    if name not in ("float32", "bfloat16"):
        raise TypeError(f"scores must be float32 or bfloat16, got {scores.dtype}")
    return name


def _device(scores: Any) -> Device:
    """The device that holds the scores."""
    return _opened(scores.device.index or 0)


@cache
def _opened(ordinal: int) -> Device:
    return Device(ordinal, use=False)


def _stream(scores: Any, stream: int | None) -> int:
    """The stream to launch on: the one given, or torch's current one."""
    if stream is not None:
        return stream
    import torch  # only callers with torch tensors come here

    return torch.cuda.current_stream(scores.device).cuda_stream


@cache
def _folder(ordinal: int) -> Path:
    """The builds for a device."""
    return build.find(_opened(ordinal).target)


@cache
def _module(ordinal: int, unit: str) -> Module:
    """A unit's machine code on a device."""
    return Module(_folder(ordinal) / f"{unit}.{_opened(ordinal).target}.cubin")


_KERNELS: dict[tuple[int, str], tuple[Kernel, int]] = {}
"""What `_kernel` has loaded, by device and name."""


def _kernel(device: Device, source: str, name: str, shape: Shape, stream: int) -> tuple[Kernel, int]:
    """A kernel, and the bytes of shared memory that it needs in any case; the device is current.

    Raises CampaignError where it has yet to be loaded and `stream` is being captured.
    """
    loaded = _KERNELS.get((device.ordinal, name))
    if loaded is None:
        if driver.is_captured(stream):
            raise CampaignError(
                f"{name} is not loaded yet, and nothing can be loaded while its stream is captured in a CUDA graph. "
                "Make the same call once before the capture, or topk.prepare it; each number of rows or columns may "
                "take another kernel."
            )
        module = _module(device.ordinal, f"{source}_c{shape.cluster}")
        settings = {"cluster": shape.cluster, "threads": shape.threads, "most_shared_bytes": device.shared_bytes}
        loaded = Kernel(module, name, **settings), module.integer(f"shared_bytes_c{shape.cluster}")
        _KERNELS[device.ordinal, name] = loaded
    return loaded
