"""Recorded top-k calls: what went into them and what the serving engine's kernel wrote, in one .npz file.

The file holds a header, JSON in an array of text named `header`, and for the call at place i, from 0, the arrays
`i.scores` ([rows, columns], the bits: uint32 for float32, uint16 for bfloat16), `i.lengths` ([rows] int32),
`i.indices` ([rows, k] int32, as they were written) and, where the call was masked, `i.candidates` ([rows, ids] int32).
The header has `format`, `versions`, `skipped`, why in `reasons` (a count for each), and, in `calls`, each call's dtype,
order, k and whether it was masked.
"""

import functools
import json
import os
import platform
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np

from campaign.kernels.errors import CampaignError
from campaign.kernels.oracle import Order

FORMAT = "campaign top-k calls, 1"
BITS = {"float32": np.dtype(np.uint32), "bfloat16": np.dtype(np.uint16)}
"""The type that holds the bits of each type of score."""
MOST_BYTES = 256 << 20
"""What a recorder keeps at most, before compression."""
MOST_REASONS = 20
"""Reasons that a recorder tells apart; calls skipped for others are counted together."""
OTHER = "another reason"
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


_T = TypeVar("_T")


class RecordingError(CampaignError):
    """A file of recorded calls that cannot be read, or a call that cannot be recorded."""


@dataclass(frozen=True)
class Call:
    """One call, on the host."""

    scores: np.ndarray
    """[rows, columns] uint32 or uint16: the bits of float32 or bfloat16."""
    lengths: np.ndarray
    """[rows] int32."""
    indices: np.ndarray
    """[rows, k] int32: what the recorded kernel wrote."""
    order: Order
    candidates: np.ndarray | None = None
    """[rows, ids] int32 of a masked call."""

    @property
    def dtype(self) -> str:
        """The type of the scores."""
        return next((name for name, bits in BITS.items() if bits == self.scores.dtype), str(self.scores.dtype))

    @property
    def rows(self) -> int:
        """How many rows it selects from."""
        return len(self.scores)

    @property
    def k(self) -> int:
        """How many places a row has."""
        return self.indices.shape[1]

    @property
    def values(self) -> np.ndarray:
        """The scores as the oracles take them: float32, or uint16 that hold bfloat16."""
        return self.scores.view(np.float32) if self.dtype == "float32" else self.scores

    @property
    def size_bytes(self) -> int:
        """What its arrays take before compression."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, np.ndarray]:
        """Its arrays by their names in a file."""
        named = {"scores": self.scores, "lengths": self.lengths, "indices": self.indices}
        return named if self.candidates is None else {**named, "candidates": self.candidates}

    def header(self) -> dict[str, Any]:
        """What the header says of it."""
        return {"dtype": self.dtype, "order": self.order, "k": self.k, "masked": self.candidates is not None}


@dataclass(frozen=True)
class Recording:
    """A file of calls, opened: its header is read, its calls are read one at a time."""

    path: Path
    versions: Mapping[str, str]
    """What ran when the calls were recorded, by name."""
    skipped: int
    """Calls that were made and not kept."""
    headers: Sequence[Mapping[str, Any]]
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Of the skipped calls, how many for which reason; empty in files that do not say it."""

    def calls(self) -> Iterator[Call]:
        """The calls, in the order in which they were made.

        Raises RecordingError, which names file and call, where one is not as the format has it.
        """
        with _archive(self.path) as archive:
            for place, header in enumerate(self.headers):
                where = f"{self.path}: call {place}"
                yield _checked(_read(archive, place, header, where), header, where)


def read(path: Path) -> Recording:
    """The recording in the file `path`.

    Raises RecordingError where it is no whole file of this format, or holds no call.
    """
    with _archive(path) as archive:
        text = _array(archive, "header", f"{path}")
    try:
        header = json.loads(str(text[()]))
        found = header["format"]
    except (ValueError, KeyError, TypeError):
        raise RecordingError(f"{path}: the header is no JSON with a format; {_EXPECTED}") from None
    if found != FORMAT:
        raise RecordingError(f"{path}: found the format {found!r}, expected {FORMAT!r}. Record the calls anew.")
    calls = header.get("calls")
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise RecordingError(f"{path}: the header has no list of calls; {_EXPECTED}")
    if not calls:
        raise RecordingError(f"{path}: holds no call, so there is nothing to compare. Record some.")
    return Recording(path, header.get("versions", {}), header.get("skipped", 0), calls, header.get("reasons", {}))


def record(
    calls: Sequence[Call],
    path: Path,
    *,
    versions: Mapping[str, str] | None = None,
    skipped: int = 0,
    reasons: Mapping[str, int] | None = None,
) -> None:
    """Writes `calls` to the file `path`, which appears whole or not at all.

    versions: what ran, by name; numpy, Python and, where it is loaded, torch are added. reasons: how many of the
    skipped calls for which reason. Raises RecordingError where there is no call, or one is not as the format has it.
    """
    if not calls:
        why = "".join(f"; {count} skipped: {reason}" for reason, count in (reasons or {}).items())
        raise RecordingError(f"{path}: no call to write{why}.")
    arrays: dict[str, np.ndarray] = {}
    for place, call in enumerate(calls):
        _checked(call, call.header(), f"call {place}")
        arrays |= {f"{place}.{name}": array for name, array in call.arrays().items()}
    header = {
        "format": FORMAT,
        "versions": {**_versions(), **(versions or {})},
        "skipped": skipped,
        "reasons": dict(reasons or {}),
        "calls": [call.header() for call in calls],
    }
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            np.savez_compressed(file, header=np.array(json.dumps(header)), **arrays)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


@dataclass
class Recorder:
    """Keeps the calls of top-k functions while they are made, up to a number of bytes.

    A call is copied to the host, which waits for the GPU: never record what is timed. A call that cannot be kept (no
    room, a CUDA graph that is captured, arguments that are none of a top-k) is made all the same, and counted as
    skipped with its reason: a wrapped function raises what it would raise by itself, and nothing else.
    """

    most_bytes: int = MOST_BYTES
    calls: list[Call] = field(default_factory=list)
    skipped: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """How many calls were skipped for which reason."""
    _bytes: int = 0

    def wrap(self, function: Callable[..., Any], *, order: Order = "served") -> Callable[..., Any]:
        """`function`, its calls kept: it takes (scores, lengths, indices, …) and writes the indices.

        order: how it ranks, where a call does not name its order.
        """
        return self._wrapped(
            function, order, lambda scores, lengths, indices, *_, **__: (scores, lengths, None, indices)
        )

    def wrap_masked(self, function: Callable[..., Any], *, order: Order = "served") -> Callable[..., Any]:
        """As `wrap`, for a function that takes (scores, lengths, candidates, indices, …)."""
        return self._wrapped(
            function,
            order,
            lambda scores, lengths, candidates, indices, *_, **__: (scores, lengths, candidates, indices),
        )

    def write(self, path: Path, versions: Mapping[str, str] | None = None) -> None:
        """Writes what was kept to the file `path`, as `record` does."""
        record(self.calls, path, versions=versions, skipped=self.skipped, reasons=self.reasons)

    def _wrapped(self, function: Callable[..., Any], order: Order, parts: Callable[..., tuple]) -> Callable[..., Any]:
        @functools.wraps(function)
        def kept(*arguments: Any, **options: Any) -> Any:
            def before() -> tuple[dict[str, Any], Any]:
                scores, lengths, candidates, indices = parts(*arguments, **options)
                return self._inputs(scores, lengths, candidates, indices), indices

            # What goes in is copied first: a function may mask the scores in place.
            taken = self._or_skipped(before)
            result = function(*arguments, **options)
            if taken is not None:
                inputs, indices = taken
                named = options.get("order", order)
                self._or_skipped(lambda: self._keep(Call(indices=_host(indices), order=named, **inputs)))
            return result

        return kept

    def _or_skipped(self, step: Callable[[], _T]) -> _T | None:
        """What a step of the recording gives; None where it fails, and the call counts as skipped."""
        try:
            return step()
        except Exception as wrong:  # whatever it is, it must not reach the caller of the wrapped function
            reason = str(wrong) if isinstance(wrong, RecordingError) else _first(wrong)
            self.skipped += 1
            self.reasons[reason if reason in self.reasons or len(self.reasons) < MOST_REASONS else OTHER] += 1
            return None

    def _inputs(self, scores: Any, lengths: Any, candidates: Any, indices: Any) -> dict[str, Any]:
        """Host copies of what goes into a call; RecordingError where it cannot be kept."""
        if _captured(scores):
            raise RecordingError("a CUDA graph is captured, in which nothing can be copied to the host.")
        if _named(indices) != "int32":
            raise RecordingError(f"indices must be int32, got {_named(indices)}.")
        live = _int32(_host(lengths).reshape(-1))
        # Past the longest row nothing counts, but a masked call's last column is where its row ends.
        columns = scores.shape[1] if candidates is not None else int(np.clip(live.max(initial=1), 1, scores.shape[1]))
        cut = scores[:, :columns]
        bits = next((kind for name, kind in BITS.items() if _named(scores) in (name, str(kind))), None)
        if bits is None:
            raise RecordingError(f"scores must be float32 or bfloat16 (uint16 in NumPy), got {scores.dtype}.")
        most = self.most_bytes - self._bytes - live.nbytes - 4 * _size(indices) - 4 * _size(candidates)
        if _size(cut) * bits.itemsize > most:
            raise RecordingError(f"no room: {self.most_bytes:,} bytes are kept at most.")
        ids = None if candidates is None else _host(candidates)
        return {"scores": _host(cut).view(bits), "lengths": live, "candidates": ids}

    def _keep(self, call: Call) -> None:
        """Adds a call."""
        _checked(call, call.header(), "a call")
        self.calls.append(call)
        self._bytes += call.size_bytes


_EXPECTED = "expected a file that campaign.kernels.recorded wrote. Record the calls anew, or copy the file again."


@contextmanager
def _archive(path: Path) -> Iterator[Any]:
    """The file's arrays by name; RecordingError where it is no archive of arrays."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise RecordingError(f"{path}: not found; name a file of recorded calls (.npz).") from None
    except OSError as wrong:
        raise RecordingError(f"{path}: cannot be opened ({_first(wrong)}).") from None
    with file:  # opened here, because NumPy leaves a file open that is no archive
        try:
            opened = np.load(file, allow_pickle=False)
        except _UNREADABLE as wrong:
            raise RecordingError(f"{path}: no readable .npz file ({_first(wrong)}); {_EXPECTED}") from None
        if not isinstance(opened, np.lib.npyio.NpzFile):
            raise RecordingError(f"{path}: found a single array; {_EXPECTED}")
        with opened:
            yield opened


def _array(archive: Any, name: str, where: str) -> np.ndarray:
    """One array of the archive."""
    if name not in archive.files:
        raise RecordingError(f"{where}: has no array {name!r}; {_EXPECTED}")
    try:
        return archive[name]
    except _UNREADABLE as wrong:
        raise RecordingError(f"{where}: the array {name!r} cannot be read ({_first(wrong)}); {_EXPECTED}") from None


def _read(archive: Any, place: int, header: Mapping[str, Any], where: str) -> Call:
    """The call at `place`, unchecked."""
    names = ("scores", "lengths", "indices", *(("candidates",) if header.get("masked") else ()))
    arrays = {name: _array(archive, f"{place}.{name}", where) for name in names}
    return Call(order=header.get("order", ""), **arrays)


def _checked(call: Call, header: Mapping[str, Any], where: str) -> Call:
    """The call; RecordingError where its arrays are not those of one call, or not what the header says."""
    scores, rows = call.scores, len(call.scores) if call.scores.ndim else 0
    if scores.dtype not in BITS.values() or scores.ndim != 2 or not scores.size:
        raise _refused(where, "scores", scores, "[rows, columns] uint32 or uint16, at least one row and column")
    for name, array, shape, expected in (
        ("lengths", call.lengths, (rows,), f"[{rows}] int32, one length a row"),
        ("indices", call.indices, (rows, None), f"[{rows}, k] int32"),
        ("candidates", call.candidates, (rows, None), f"[{rows}, ids] int32"),
    ):
        if array is not None and (array.dtype != np.int32 or not _fits(array.shape, shape)):
            raise _refused(where, name, array, expected)
    if call.order not in get_args(Order):
        raise RecordingError(
            f"{where}: found the order {call.order!r}, expected {' or '.join(get_args(Order))}. Correct the recorder."
        )
    for name, found in call.header().items():
        if header.get(name) != found:
            raise RecordingError(
                f"{where}: its arrays have {name} {found!r}, the header says {header.get(name)!r}; {_EXPECTED}"
            )
    return call


def _fits(found: tuple[int, ...], expected: tuple[int | None, ...]) -> bool:
    """Whether a shape is the expected one, in which None is any size from 1 up."""
    return len(found) == len(expected) and all(
        size == wanted if wanted is not None else size >= 1 for size, wanted in zip(found, expected, strict=True)
    )


def _refused(where: str, name: str, array: np.ndarray, expected: str) -> RecordingError:
    """Why an array is no part of a call."""
    return RecordingError(
        f"{where}: {name}: found shape {array.shape} of {array.dtype}, expected {expected}. Record the call anew."
    )


def _first(wrong: BaseException) -> str:
    """The first line of what an error says."""
    return f"{type(wrong).__name__}: {str(wrong).splitlines()[0] if str(wrong) else 'no word'}"


def _named(tensor: Any) -> str:
    """The name of a tensor's type."""
    return str(tensor.dtype).split(".")[-1]


def _int32(lengths: np.ndarray) -> np.ndarray:
    """The lengths as int32; RecordingError where they are no integers, or one does not fit."""
    if lengths.dtype.kind not in "iu":
        raise RecordingError(f"lengths must be integers, got {lengths.dtype}.")
    held = np.iinfo(np.int32)
    outside = lengths[(lengths < held.min) | (lengths > held.max)]
    if outside.size:
        raise RecordingError(f"lengths must fit int32, got {outside[0]}.")
    return lengths.astype(np.int32)


def _size(tensor: Any) -> int:
    """How many entries a tensor has; 0 where there is none."""
    return 0 if tensor is None else int(np.prod(tuple(tensor.shape)))


def _host(tensor: Any) -> np.ndarray:
    """A dense copy on the host; of bfloat16, the bits as uint16."""
    if isinstance(tensor, np.ndarray):
        return np.array(tensor, order="C")
    import torch  # only callers with torch tensors come here

    copy = tensor.detach().contiguous()
    if copy.dtype == torch.bfloat16:
        return np.array(copy.view(torch.int16).cpu().numpy()).view(np.uint16)
    return np.array(copy.cpu().numpy())


def _captured(scores: Any) -> bool:
    """Whether a CUDA graph is being captured, in which nothing may be copied to the host."""
    torch = sys.modules.get("torch")
    return bool(torch is not None and getattr(scores, "is_cuda", False) and torch.cuda.is_current_stream_capturing())


def _versions() -> dict[str, str]:
    """What records here."""
    torch = sys.modules.get("torch")
    loaded = {"torch": torch.__version__} if torch is not None else {}
    return {"python": platform.python_version(), "numpy": np.__version__, **loaded}
