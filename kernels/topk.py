"""The top-k kernels on a GPU: served_topk, rs8, the masked F, and auto, which takes the shape that the row asks for.

All write the same bytes, those of `oracle.top_k`: the columns of a row's k best scores, ascending, then -1. None
allocates, waits or reads anything back, so a call can be captured in a CUDA graph; lengths are read on the device at
each replay.

Arguments are torch tensors on one device, or anything with the same `data_ptr`, `shape`, `stride`, `dtype`:
scores [rows, columns], float32 or bfloat16, columns next to each other, rows any distance apart; lengths [rows] int32;
indices [rows, k] int32, which is written. Of a row, nothing at or past its column `columns` is read, and nothing past
its length counts.
"""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, get_args

from campaign.kernels import build
from campaign.kernels.driver import Device, Kernel, Module
from campaign.kernels.errors import nearest
from campaign.kernels.masks import BLOCK
from campaign.kernels.oracle import Order
from campaign.kernels.shapes import MASKED_SHAPES, MOST_COLUMNS, SHAPES, Shape, chosen, smallest

MOST_K = 4096


def served_topk(scores: Any, lengths: Any, indices: Any, *, order: Order = "served", stream: int | None = None) -> None:
    """Selects each row's best in one block of 1,024 threads.

    Our re-creation of a one-block select, after what was published of the served kernel; it is not that kernel's code.
    """
    _run(scores, lengths, indices, order, stream, lambda rows, positions, _: smallest(1, positions, threads=1024))


def rs8(scores: Any, lengths: Any, indices: Any, *, order: Order = "served", stream: int | None = None) -> None:
    """Selects as `served_topk` does, each row spread over a cluster of eight blocks."""
    _run(scores, lengths, indices, order, stream, lambda rows, positions, _: smallest(8, positions))


def auto(scores: Any, lengths: Any, indices: Any, *, order: Order = "served", stream: int | None = None) -> None:
    """Selects as `served_topk` does, in the shape measured quickest for so many rows and columns."""
    _run(
        scores,
        lengths,
        indices,
        order,
        stream,
        lambda rows, positions, largest: chosen(rows, positions, largest_cluster=largest),
    )


def shaped(
    scores: Any, lengths: Any, indices: Any, shape: Shape, *, order: Order = "served", stream: int | None = None
) -> None:
    """Selects in a given shape, one of `shapes.SHAPES`.

    Raises ValueError where a row does not fit the shape.
    """

    def given(rows: int, positions: int, largest: int) -> Shape:
        if shape not in SHAPES or shape.capacity < positions or shape.cluster > largest:
            raise ValueError(f"shape {shape} does not take rows of {positions:,} positions here")
        return shape

    _run(scores, lengths, indices, order, stream, given)


def masked_topk(
    scores: Any,
    lengths: Any,
    candidates: Any,
    indices: Any,
    *,
    cluster: int = 8,
    order: Order = "served",
    stream: int | None = None,
) -> None:
    """Selects among a row's candidate blocks of eight columns, in one launch (F): columns outside count as -inf.

    candidates: [rows, ids] int32 in any order; negative ids are padding, duplicates count once, an id past the last
    block keeps the last column alone. The result is that of `mask_then_topk`, whose scores it leaves as they are.
    cluster: 1 or 8 blocks a row.
    """
    rows, columns, k = _checked(scores, lengths, indices, order)
    ids = _checked_candidates(scores, candidates, rows)
    if cluster not in {shape.cluster for shape in MASKED_SHAPES}:
        raise ValueError(f"cluster must be 1 or 8, got {cluster}")
    if rows == 0:
        return
    device = _device(scores)
    listed = min(ids, -(-columns // BLOCK))
    shape = smallest(cluster, listed * BLOCK, of=MASKED_SHAPES)
    kernel, fixed_bytes = _kernel(device.ordinal, "masked", f"masked_topk_{_dtype(scores)}_{order}_{shape}", shape)
    whole_row = Shape(shape.cluster, shape.threads, 0).mark_words(columns + 3)
    words = -(-columns // (32 * BLOCK)) + listed + whole_row
    arguments = _MaskedArguments(*_arguments(scores, lengths, indices, k, columns), *_candidate_arguments(candidates))
    kernel.launch(
        rows * shape.cluster,
        _fitting(device, shape, fixed_bytes + 4 * words, 4 * whole_row),
        _stream(scores, stream),
        arguments,
    )


def mask_candidates(scores: Any, candidates: Any, flags: Any, *, stream: int | None = None) -> None:
    """Sets every column of `scores` outside the candidate blocks to -inf, by two small kernels: the reference of F.

    flags: [rows, columns] uint8, which is written.
    """
    rows, columns = _checked_scores(scores)
    _checked_candidates(scores, candidates, rows)
    if (
        tuple(flags.shape) != (rows, columns)
        or str(flags.dtype).split(".")[-1] != "uint8"
        or flags.stride(0) != columns
    ):
        raise ValueError(
            f"flags must be [{rows}, {columns}] uint8 without gaps, got {tuple(flags.shape)} {flags.dtype}"
        )
    arguments = _MaskedArguments(
        scores.data_ptr(), scores.stride(0), 0, 0, 0, 0, columns, *_candidate_arguments(candidates)
    )
    pointer = ctypes.c_void_p(flags.data_ptr())
    at = _stream(scores, stream)
    first, second = _masking_kernels(_device(scores).ordinal, _dtype(scores))
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


def _run(scores: Any, lengths: Any, indices: Any, order: Order, stream: int | None, shape_for: Any) -> None:
    """Checks the arguments, and launches the kernel of the shape that `shape_for` names."""
    rows, columns, k = _checked(scores, lengths, indices, order)
    if rows == 0:
        return
    device = _device(scores)
    aligned = scores.data_ptr() % (4 * scores.element_size()) == 0 and (rows == 1 or scores.stride(0) % 4 == 0)
    positions = columns if aligned else columns + 3
    shape = shape_for(rows, positions, 16 if device.capability[0] == 9 else 8)
    kernel, fixed_bytes = _kernel(device.ordinal, "topk", f"topk_{_dtype(scores)}_{order}_{shape}", shape)
    kernel.launch(
        rows * shape.cluster,
        _fitting(device, shape, fixed_bytes + 4 * shape.mark_words(positions), 4 * shape.mark_words(positions)),
        _stream(scores, stream),
        _TopkArguments(*_arguments(scores, lengths, indices, k, columns)),
    )


def _fitting(device: Device, shape: Shape, shared_bytes: int, helpful_bytes: int) -> int:
    """`shared_bytes`, with `helpful_bytes` more where a block of this device has them.

    A second set of marks saves a pass over a row with ties (select.cuh, mark_ties). Raises ValueError where a block has
    not even the first.
    """
    if shared_bytes + helpful_bytes <= device.shared_bytes:
        return shared_bytes + helpful_bytes
    if shared_bytes > device.shared_bytes:
        raise ValueError(
            f"so long a row needs {shared_bytes:,} bytes of shared memory a block in shape {shape}, and {device.name} "
            f"has {device.shared_bytes:,}. Use a larger cluster: auto or rs8."
        )
    return shared_bytes


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
    _expect_int32("lengths", lengths, scores)
    if lengths.numel() != rows or not lengths.is_contiguous():
        raise ValueError(f"lengths must be {rows} integers without gaps, one a row, got shape {tuple(lengths.shape)}")
    _expect_int32("indices", indices, scores)
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
    _expect_int32("candidates", candidates, scores)
    if (
        len(candidates.shape) != 2
        or candidates.shape[0] != rows
        or candidates.stride(1) != 1
        or candidates.shape[1] < 1
    ):
        raise ValueError(f"candidates must be [{rows}, ids] with ids next to each other, got {tuple(candidates.shape)}")
    return candidates.shape[1]


def _expect_int32(name: str, tensor: Any, scores: Any) -> None:
    """Raises where `tensor` is not int32 on the device of the scores."""
    if str(tensor.dtype).split(".")[-1] != "int32":
        raise TypeError(f"{name} must be int32, got {tensor.dtype}")
    if getattr(tensor, "device", None) != getattr(scores, "device", None):
        raise ValueError(f"{name} must be on the device of scores, {scores.device}, got {tensor.device}")


def _dtype(scores: Any) -> str:
    """The name of the scores' type in the names of kernels."""
    name = str(scores.dtype).split(".")[-1]
    if name not in ("float32", "bfloat16"):
        raise TypeError(f"scores must be float32 or bfloat16, got {scores.dtype}")
    return name


def _device(scores: Any) -> Device:
    """The device that holds the scores, its context current in this thread."""
    device = _opened(scores.device.index or 0)
    device.use()
    return device


@cache
def _opened(ordinal: int) -> Device:
    return Device(ordinal)


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


@cache
def _kernel(ordinal: int, source: str, name: str, shape: Shape) -> tuple[Kernel, int]:
    """A kernel, and the bytes of shared memory that it needs in any case."""
    module = _module(ordinal, f"{source}_c{shape.cluster}")
    fixed_bytes = module.integer(f"shared_bytes_c{shape.cluster}")
    most = _opened(ordinal).shared_bytes
    return Kernel(module, name, cluster=shape.cluster, threads=shape.threads, most_shared_bytes=most), fixed_bytes


@cache
def _masking_kernels(ordinal: int, dtype: str) -> tuple[Kernel, Kernel]:
    """The two kernels of `mask_candidates`."""
    module = _module(ordinal, "masked_c1")
    settings = {"cluster": 1, "threads": 1024, "most_shared_bytes": 0}
    return Kernel(module, "candidate_flags", **settings), Kernel(module, f"mask_candidates_{dtype}", **settings)
