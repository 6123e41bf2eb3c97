"""NumPy arrays on the GPU without torch: what the kernels ask of a tensor, over memory of the driver."""

from types import SimpleNamespace

import numpy as np

from campaign.kernels.driver import Memory

STREAM = 0
"""The default stream, on which what reads such an array is put."""


class DeviceArray:
    """A dense array on the current device, in memory of exactly its size.

    The calls in `topk` take it for a tensor, with a stream named.
    """

    def __init__(self, host: np.ndarray, *, dtype: str | None = None, filled: bool = True):
        """A copy of `host`; where not `filled`, fresh memory of its shape.

        dtype: the type of the entries where it is not NumPy's: "bfloat16", whose bits `host` holds as uint16.
        """
        if not host.size:
            raise ValueError(f"an array on the device needs entries, got shape {host.shape}")
        self._like = np.ascontiguousarray(host)
        self.dtype = dtype or str(host.dtype)
        self.shape = host.shape
        self.device = SimpleNamespace(type="cuda", index=0)
        self._memory = Memory(self._like.nbytes)
        if filled:
            self._memory.write(self._like.tobytes())

    def data_ptr(self) -> int:
        """The address of the first entry."""
        return self._memory.address

    def stride(self, dimension: int) -> int:
        """Entries from one place of a dimension to the next."""
        return self._like.strides[dimension] // self._like.itemsize

    def element_size(self) -> int:
        """Bytes of an entry."""
        return self._like.itemsize

    def numel(self) -> int:
        """How many entries there are."""
        return self._like.size

    def is_contiguous(self) -> bool:
        """True: no gaps are made here."""
        return True

    def to_host(self) -> np.ndarray:
        """What the array holds now, in NumPy's type, once all that was launched before has run."""
        return np.frombuffer(self._memory.read(), self._like.dtype).reshape(self.shape)
