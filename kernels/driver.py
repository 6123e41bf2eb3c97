"""The CUDA driver through ctypes: modules, launches in clusters, memory, and what a device can do.

No header, compiler or binding package is needed at run time; the structures are those of cuda.h (CUDA 12 and later).
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from campaign.kernels.errors import CampaignError

_MULTIPROCESSORS, _MAJOR, _MINOR, _SHARED_OPTIN, _CLUSTERS = 16, 75, 76, 97, 120
_MAX_DYNAMIC_SHARED, _NON_PORTABLE_CLUSTER = 8, 14
_CLUSTER_DIMENSION = 4

TARGET_OF = {(9, 0): "sm_90a", (12, 0): "sm_120a"}
"""The machine code of each compute capability; code with an "a" in its name loads on no other, 12.1 included."""


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("attribute_count", ctypes.c_uint),
    ]


@cache
def driver() -> Any:
    """The driver's library, initialised.

    Raises CampaignError where there is none, or no device.
    """
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise CampaignError(
            "no CUDA driver here (libcuda.so.1 was not found): these kernels need an NVIDIA GPU of compute capability "
            "9.0 or 12.0. What they must return can be had without one: campaign.kernels.oracle."
        ) from None
    _checked(library, "cuInit", 0)
    return library


def call(name: str, *arguments: Any) -> None:
    """Calls a function of the driver; CampaignError with the driver's words where it fails."""
    _checked(driver(), name, *arguments)


def _checked(library: Any, name: str, *arguments: Any) -> None:
    """Calls `name`, and raises where it does not answer 0."""
    code = getattr(library, name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        library.cuGetErrorString(code, ctypes.byref(text))
        said = text.value.decode() if text.value else "unknown error"
        raise CampaignError(f"CUDA driver: {name} failed: {said} (error {code}).")


def version() -> str:
    """The newest CUDA that this driver runs, as "13.0"."""
    number = ctypes.c_int()
    call("cuDriverGetVersion", ctypes.byref(number))
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


def synchronize() -> None:
    """Waits for everything on the current device; CampaignError where a kernel failed."""
    call("cuCtxSynchronize")


def is_captured(stream: int) -> bool:
    """Whether what is put on `stream`, of the current device, goes into a CUDA graph that is being captured."""
    status = ctypes.c_int()
    call("cuStreamIsCapturing", ctypes.c_void_p(stream), ctypes.byref(status))
    return status.value != 0


class Device:
    """One GPU, with its primary context, which torch uses too."""

    def __init__(self, ordinal: int = 0, *, use: bool = True):
        """use: whether its context becomes the thread's current one."""
        self.ordinal = ordinal
        self.handle = ctypes.c_int()
        call("cuDeviceGet", ctypes.byref(self.handle), ordinal)
        self.context = ctypes.c_void_p()
        call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.handle)
        if use:
            self.use()
        self.capability = self._attribute(_MAJOR), self._attribute(_MINOR)
        self.multiprocessors = self._attribute(_MULTIPROCESSORS)
        self.shared_bytes = self._attribute(_SHARED_OPTIN)
        self.has_clusters = bool(self._attribute(_CLUSTERS))

    def use(self) -> None:
        """Makes this device's context the thread's current one."""
        call("cuCtxSetCurrent", self.context)

    @contextmanager
    def current(self) -> Iterator[None]:
        """This device's context is the thread's current one while the block runs; then the one before is."""
        before = ctypes.c_void_p()
        call("cuCtxGetCurrent", ctypes.byref(before))
        if before.value == self.context.value:
            yield
            return
        self.use()
        try:
            yield
        finally:
            call("cuCtxSetCurrent", before)

    @property
    def name(self) -> str:
        """What the driver calls it."""
        text = ctypes.create_string_buffer(256)
        call("cuDeviceGetName", text, 256, self.handle)
        return text.value.decode()

    @property
    def target(self) -> str:
        """The compiler's name of the machine code that runs here.

        Raises CampaignError where these kernels are not built for it.
        """
        major, minor = self.capability
        if self.has_clusters and self.capability in TARGET_OF:
            return TARGET_OF[self.capability]
        raise CampaignError(
            f"{self.name} has compute capability {major}.{minor}: these kernels use thread block clusters and are "
            "built for 9.0 (Hopper) and 12.0, and run on no other. Run them on such a GPU."
        )

    def _attribute(self, which: int) -> int:
        value = ctypes.c_int()
        call("cuDeviceGetAttribute", ctypes.byref(value), which, self.handle)
        return value.value


class Memory:
    """Bytes on the current device, freed with the object; what they hold at first is not set."""

    def __init__(self, size_bytes: int):
        self.size_bytes = size_bytes
        self._address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(self._address), ctypes.c_size_t(size_bytes))

    @property
    def address(self) -> int:
        """Where they begin."""
        return self._address.value

    def write(self, data: bytes) -> None:
        """Puts `data`, as many bytes as there are here, into the memory."""
        self._fits(len(data))
        call("cuMemcpyHtoD_v2", self._address, data, ctypes.c_size_t(len(data)))

    def read(self) -> bytes:
        """What the memory holds once all that was launched before has run."""
        data = ctypes.create_string_buffer(self.size_bytes)
        call("cuMemcpyDtoH_v2", data, self._address, ctypes.c_size_t(self.size_bytes))
        return data.raw

    def _fits(self, size_bytes: int) -> None:
        """Raises ValueError where so many bytes are not those of this memory."""
        if size_bytes != self.size_bytes:
            raise ValueError(f"expected {self.size_bytes:,} bytes for this memory, got {size_bytes:,}")

    def __del__(self) -> None:
        if self._address.value:
            driver().cuMemFree_v2(self._address)  # a failed kernel has already been said


class Module:
    """Machine code loaded from a file."""

    def __init__(self, path: Path):
        self.path = path
        self.handle = ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self.handle), path.read_bytes())

    def function(self, name: str) -> ctypes.c_void_p:
        """The kernel `name`."""
        found = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(found), self.handle, name.encode())
        return found

    def integer(self, name: str) -> int:
        """The value of the unsigned 32-bit variable `name`."""
        address, size, value = ctypes.c_uint64(), ctypes.c_size_t(), ctypes.c_uint()
        call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), self.handle, name.encode())
        call("cuMemcpyDtoH_v2", ctypes.byref(value), address, ctypes.sizeof(value))
        return value.value


class Kernel:
    """A kernel with the shape of its launches, ready for use in a captured graph."""

    def __init__(self, module: Module, name: str, *, cluster: int, threads: int, most_shared_bytes: int):
        self.name, self.cluster, self.threads = name, cluster, threads
        self.function = module.function(name)
        call("cuFuncSetAttribute", self.function, _MAX_DYNAMIC_SHARED, most_shared_bytes)
        if cluster > 8:
            call("cuFuncSetAttribute", self.function, _NON_PORTABLE_CLUSTER, 1)
        self.attribute = _Attribute(id=_CLUSTER_DIMENSION)
        self.attribute.value[0:3] = [cluster, 1, 1]

    def launch(
        self, blocks: int, shared_bytes: int, stream: int, *arguments: ctypes._SimpleCData | ctypes.Structure
    ) -> None:
        """Puts the kernel on `stream`: `blocks` blocks, `shared_bytes` of dynamic shared memory a block."""
        self.launch_grid((blocks, 1, 1), shared_bytes, stream, *arguments)

    def launch_grid(self, grid: tuple[int, int, int], shared_bytes: int, stream: int, *arguments: Any) -> None:
        """As `launch`, over a grid of three dimensions."""
        config = _Config(
            grid=grid,
            block=(self.threads, 1, 1),
            shared_bytes=shared_bytes,
            stream=stream,
            attributes=ctypes.pointer(self.attribute),
            attribute_count=1 if self.cluster > 1 else 0,
        )
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(each) for each in arguments))
        call("cuLaunchKernelEx", ctypes.byref(config), self.function, pointers, None)
