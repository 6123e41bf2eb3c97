"""The Python face of the kernels: what it refuses, what it launches, and, on a GPU, that its bytes are right."""

import ctypes
import secrets
from types import SimpleNamespace
from typing import Any

import pytest

from campaign.kernels import driver, shapes, topk
from campaign.kernels.driver import Device
from campaign.kernels.errors import CampaignError
from campaign.kernels.shapes import MOST_COLUMNS, Shape

GPU = SimpleNamespace(type="cuda", index=0)
CPU = SimpleNamespace(type="cpu", index=None)
BYTES = {"torch.float32": 4, "torch.bfloat16": 2, "torch.float16": 2, "torch.int32": 4, "torch.int64": 8}


class Tensor:
    """What the kernels ask of a tensor, with no memory behind it."""

    def __init__(
        self,
        *shape: int,
        dtype: str = "float32",
        strides: tuple[int, ...] | None = None,
        device: Any = GPU,
        address: int = 1 << 20,
    ) -> None:
        self.shape, self.dtype, self.device, self.address = shape, f"torch.{dtype}", device, address
        self.strides = strides or tuple(self._dense(at) for at in range(len(shape)))

    def _dense(self, at: int) -> int:
        """The stride of a dimension where nothing lies between."""
        stride = 1
        for size in self.shape[at + 1 :]:
            stride *= size
        return stride

    def stride(self, at: int) -> int:
        return self.strides[at]

    def numel(self) -> int:
        return self.shape[0] * self._dense(0)

    def is_contiguous(self) -> bool:
        return self.strides == tuple(self._dense(at) for at in range(len(self.shape)))

    def element_size(self) -> int:
        return BYTES[self.dtype]

    def data_ptr(self) -> int:
        return self.address


def integers(*shape: int, **options: Any) -> Tensor:
    """A tensor of int32."""
    return Tensor(*shape, **{"dtype": "int32", **options})


RIGHT = {"scores": Tensor(3, 5000), "lengths": integers(3), "indices": integers(3, 512)}
"""A call that nothing is wrong with."""
MASKED = {**RIGHT, "candidates": integers(3, 100)}

WRONG = {
    "scores of float16": ({"scores": Tensor(3, 5000, dtype="float16")}, "scores must be float32 or bfloat16"),
    "scores of one dimension": ({"scores": Tensor(5000)}, r"scores must be \[rows, columns\]"),
    "scores without columns": ({"scores": Tensor(3, 0)}, r"with 1 to 1,048,576 columns, got \(3, 0\)"),
    "too many columns": ({"scores": Tensor(3, MOST_COLUMNS + 1)}, "with 1 to 1,048,576 columns"),
    "columns apart": ({"scores": Tensor(3, 5000, strides=(1, 3))}, r"next to each other \(stride 1\), got stride 3"),
    "scores on the CPU": ({"scores": Tensor(3, 5000, device=CPU)}, "scores must be on a CUDA device"),
    "lengths of int64": ({"lengths": Tensor(3, dtype="int64")}, "lengths must be int32, got torch.int64"),
    "one length too few": ({"lengths": integers(2)}, r"lengths must be 3 integers .* one a row, got shape \(2,\)"),
    "lengths with gaps": ({"lengths": integers(3, strides=(2,))}, "lengths must be 3 integers without gaps"),
    "lengths elsewhere": ({"lengths": integers(3, device=CPU)}, "lengths must be on the device of scores"),
    "indices of int64": ({"indices": Tensor(3, 512, dtype="int64")}, "indices must be int32, got torch.int64"),
    "indices of two rows": ({"indices": integers(2, 512)}, r"indices must be \[3, k\] .* got shape \(2, 512\)"),
    "indices of one dimension": ({"indices": integers(3)}, r"indices must be \[3, k\]"),
    "places apart": ({"indices": integers(3, 512, strides=(1024, 2))}, "places next to each other"),
    "indices elsewhere": ({"indices": integers(3, 512, device=CPU)}, "indices must be on the device of scores"),
    "k of 0": ({"indices": integers(3, 0)}, "must be from 1 to 4,096, got 0"),
    "k of 4,097": ({"indices": integers(3, 4097)}, "must be from 1 to 4,096, got 4,097"),
    "an unknown order": ({"order": "serve"}, r"order must be one of ieee, served, got 'serve'\. Did you mean served\?"),
}
WRONG_CANDIDATES = {
    "of int64": (Tensor(3, 100, dtype="int64"), "candidates must be int32"),
    "of two rows": (integers(2, 100), r"candidates must be \[3, ids\]"),
    "of one dimension": (integers(100), r"candidates must be \[3, ids\]"),
    "apart": (integers(3, 100, strides=(200, 2)), "with ids next to each other"),
    "without ids": (integers(3, 0), r"candidates must be \[3, ids\]"),
    "elsewhere": (integers(3, 100, device=CPU), "candidates must be on the device of scores"),
}


@pytest.fixture
def device(monkeypatch) -> SimpleNamespace:
    """What stands in for an H200."""
    stand_in = SimpleNamespace(ordinal=0, use=lambda: None, capability=(9, 0), shared_bytes=232_448, name="a stand-in")
    monkeypatch.setattr(topk, "_opened", lambda ordinal: stand_in)
    return stand_in


@pytest.fixture
def launches(device, monkeypatch) -> list[SimpleNamespace]:
    """The launches of a test; each kernel needs 1,000 bytes of shared memory in any case."""
    seen = []

    def kernel(ordinal: int, source: str, name: str, shape: Shape) -> tuple[Any, int]:
        def launch(blocks: int, shared_bytes: int, stream: int, arguments: Any) -> None:
            seen.append(
                SimpleNamespace(name=name, blocks=blocks, bytes=shared_bytes, stream=stream, arguments=arguments)
            )

        return SimpleNamespace(launch=launch), 1000

    monkeypatch.setattr(topk, "_kernel", kernel)
    return seen


@pytest.fixture
def few_choices(monkeypatch) -> None:
    """Two choices for auto, which measurements do not change."""
    monkeypatch.setattr(shapes, "CHOICES", ((8_192, *["c4_t512_v1"] * 3), (32_768, *["c16_t512_v1"] * 3)))


@pytest.mark.parametrize("call", [topk.served_topk, topk.rs8, topk.auto], ids=lambda call: call.__name__)
@pytest.mark.parametrize("wrong, said", WRONG.values(), ids=WRONG)
def test_wrong_argument_is_refused(call, wrong, said, launches):
    """Each argument that does not fit is named with what was expected, and nothing is launched."""
    with pytest.raises((TypeError, ValueError), match=said):
        call(**RIGHT | wrong, stream=0)
    assert launches == []


@pytest.mark.parametrize("wrong, said", WRONG.values(), ids=WRONG)
def test_masked_selection_refuses_the_same(wrong, said, launches):
    """F refuses what the others refuse."""
    with pytest.raises((TypeError, ValueError), match=said):
        topk.masked_topk(**MASKED | wrong, stream=0)
    assert launches == []


@pytest.mark.parametrize("candidates, said", WRONG_CANDIDATES.values(), ids=WRONG_CANDIDATES)
def test_wrong_candidates_are_refused(candidates, said, launches):
    """Candidates that do not fit are named, by F and by its reference alike."""
    with pytest.raises((TypeError, ValueError), match=said):
        topk.masked_topk(**MASKED | {"candidates": candidates}, stream=0)
    with pytest.raises((TypeError, ValueError), match=said):
        topk.mask_candidates(RIGHT["scores"], candidates, Tensor(3, 5000, dtype="uint8"), stream=0)
    assert launches == []


@pytest.mark.parametrize(
    "flags", [Tensor(3, 4999, dtype="uint8"), integers(3, 5000), Tensor(3, 5000, dtype="uint8", strides=(5001, 1))]
)
def test_wrong_flags_are_refused(flags):
    """Flags of another shape, type or stride are refused with what was expected."""
    with pytest.raises(ValueError, match=r"flags must be \[3, 5000\] uint8 without gaps"):
        topk.mask_candidates(RIGHT["scores"], MASKED["candidates"], flags, stream=0)


def test_right_call_is_launched_as_it_is(launches):
    """A call without fault is launched once: a cluster a row, on the stream given, with the tensors' own addresses."""
    scores = Tensor(3, 5000, strides=(8192, 1), address=1 << 24)
    topk.rs8(scores, integers(3, address=64), integers(3, 512, strides=(600, 1), address=128), stream=7)
    (launch,) = launches
    assert (launch.name, launch.blocks, launch.stream) == ("topk_float32_served_c8_t512_v1", 24, 7)
    assert {name: getattr(launch.arguments, name) for name, _ in launch.arguments._fields_} == {
        "scores": 1 << 24,
        "stride": 8192,
        "lengths": 64,
        "indices": 128,
        "out_stride": 600,
        "k": 512,
        "columns": 5000,
    }


@pytest.mark.parametrize(
    "call, columns, name",
    [
        (topk.served_topk, 4096, "topk_float32_served_c1_t1024_v1"),
        (topk.served_topk, 16384, "topk_float32_served_c1_t1024_v4"),
        (topk.served_topk, 16388, "topk_float32_served_c1_t1024_v0"),
        (topk.rs8, 131072, "topk_float32_served_c8_t1024_v4"),
        (topk.rs8, 131076, "topk_float32_served_c8_t1024_v8"),
        (topk.rs8, 262148, "topk_float32_served_c8_t1024_v0"),
        (topk.auto, 8192, "topk_float32_served_c4_t512_v1"),
        (topk.auto, 8196, "topk_float32_served_c16_t512_v1"),
    ],
)
def test_entry_points_take_their_shapes(call, columns, name, few_choices, launches):
    """served_topk has one block of 1,024 threads a row, rs8 eight blocks, and auto what the row asks for."""
    call(Tensor(3, columns), *(RIGHT[each] for each in ("lengths", "indices")), stream=0)
    assert launches[0].name == name


def test_auto_takes_eight_blocks_on_consumer_blackwell(device, few_choices, launches):
    """Only Hopper has clusters of 16 blocks: elsewhere auto takes eight."""
    device.capability = (12, 0)
    topk.auto(**RIGHT | {"scores": Tensor(3, 32768)}, stream=0)
    assert launches[0].name == "topk_float32_served_c8_t512_v2"


@pytest.mark.parametrize(
    "scores",
    [
        Tensor(3, 8192, address=(1 << 20) + 4),
        Tensor(3, 8192, strides=(8193, 1)),
        Tensor(3, 8192, dtype="bfloat16", address=(1 << 20) + 2),
    ],
)
def test_row_that_starts_off_a_boundary_needs_three_positions_more(scores, few_choices, launches):
    """A row that may start up to three scores after a boundary takes the shape of a row that is as much longer."""
    topk.auto(**RIGHT | {"scores": scores}, stream=0)
    assert launches[0].name.endswith("_c16_t512_v1")


def test_only_row_may_have_any_stride(few_choices, launches):
    """One row alone starts where it starts, whatever the distance to the next."""
    scores = Tensor(1, 8192, strides=(8193, 1))
    topk.auto(scores, integers(1), integers(1, 512), stream=0)
    assert launches[0].name.endswith("_c4_t512_v1")


@pytest.mark.parametrize("shape", [Shape(2, 512, 1), Shape(16, 512, 1), Shape(3, 512, 4)], ids=str)
def test_shape_that_does_not_take_the_row_is_refused(shape, device, launches):
    """A shape that is too small, too large a cluster for the device, or not built, is refused."""
    device.capability = (12, 0)
    with pytest.raises(ValueError, match=rf"shape {shape} does not take rows of 5,000 positions here"):
        topk.shaped(**RIGHT, shape=shape, stream=0)
    assert launches == []


def test_row_that_no_shared_memory_takes_is_refused(device, launches):
    """Where the marks of a row do not fit a block's shared memory, the error says so and what to use."""
    device.shared_bytes = 101_376
    with pytest.raises(ValueError, match=r"needs 13\d,\d{3} bytes of shared memory .* Use a larger cluster"):
        topk.served_topk(**RIGHT | {"scores": Tensor(3, MOST_COLUMNS)}, stream=0)
    assert launches == []


@pytest.mark.parametrize("room, sets", [(0, 2), (-1, 1)])
def test_second_set_of_marks_is_for_blocks_that_have_the_room(room, sets, device, launches):
    """A block that keeps nothing gets a second set of marks, for ties, where its shared memory takes it."""
    marks = Shape(1, 1024, 0).mark_words(20_000)
    device.shared_bytes = 1000 + 2 * 4 * marks + room
    topk.served_topk(**RIGHT | {"scores": Tensor(3, 20_000)}, stream=0)
    assert launches[0].bytes == 1000 + sets * 4 * marks


@pytest.mark.parametrize("call", [topk.served_topk, topk.rs8, topk.auto], ids=lambda call: call.__name__)
def test_call_without_rows_launches_nothing(call, launches):
    """No rows are no work, and no error."""
    call(Tensor(0, 5000), integers(0), integers(0, 512), stream=0)
    assert launches == []


@pytest.mark.parametrize("ids", [10, 100_000])
def test_masked_selection_has_room_for_each_block_once(ids, launches):
    """F's shared memory holds a bit a block, the ids of no more blocks than the row has, and two sets of marks."""
    topk.masked_topk(**RIGHT, candidates=integers(3, ids), cluster=1, stream=0)
    marks = Shape(1, 1024, 0).mark_words(5003)
    assert launches[0].bytes == 1000 + 4 * (-(-5000 // 256) + min(ids, 625) + 2 * marks)
    assert launches[0].arguments.candidate_count == ids


@pytest.fixture
def no_driver(monkeypatch) -> None:
    """A machine without a CUDA driver, whatever this one has."""

    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    for kept in (driver.driver, topk._opened):
        kept.cache_clear()
    yield
    for kept in (driver.driver, topk._opened):
        kept.cache_clear()


@pytest.mark.parametrize("call", [topk.served_topk, topk.rs8, topk.auto], ids=lambda call: call.__name__)
def test_machine_without_a_driver_is_named(call, no_driver):
    """Without a CUDA driver, the error says which GPU is needed, and where the answer can be had without one."""
    with pytest.raises(CampaignError, match=r"no CUDA driver here .* 9\.0 or 12\.x.*campaign\.kernels\.oracle"):
        call(**RIGHT, stream=0)


@pytest.mark.parametrize(
    "capability, clusters, target", [((9, 0), True, "sm_90a"), ((12, 0), True, "sm_120a"), ((12, 1), True, "sm_120a")]
)
def test_device_has_the_machine_code_of_its_kind(capability, clusters, target):
    """Hopper and consumer Blackwell have builds."""
    assert stand_in_device(capability, clusters).target == target


@pytest.mark.parametrize("capability, clusters", [((8, 0), False), ((9, 0), False), ((10, 0), True)])
def test_device_without_a_build_is_named(capability, clusters, monkeypatch):
    """A GPU without clusters, or of a kind that is not built for, is named with its capability and what is needed."""
    monkeypatch.setattr(Device, "name", "A stand-in")
    major, minor = capability
    with pytest.raises(CampaignError, match=rf"A stand-in has compute capability {major}\.{minor}: .*9\.0 \(Hopper\)"):
        _ = stand_in_device(capability, clusters).target


def stand_in_device(capability: tuple[int, int], clusters: bool) -> Device:
    """A device that no driver was asked for."""
    device = object.__new__(Device)
    device.capability, device.has_clusters = capability, clusters
    return device


@pytest.mark.gpu
def test_kernels_agree_with_the_oracle():
    """On an sm_90 GPU, every kernel writes the oracle's bytes on a short check of a fresh seed."""
    torch = pytest.importorskip("torch", reason="NOT RUN ON A GPU: torch is missing")
    if not torch.cuda.is_available():
        pytest.skip("NOT RUN ON A GPU: torch sees no CUDA device here")
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip(f"NOT RUN ON A GPU: {torch.cuda.get_device_name()} is no sm_90")
    from campaign.kernels.check import check  # it imports torch

    seed = secrets.randbits(32)
    certificate = check(seed, 5)
    assert certificate.right, f"seed {seed}:\n{certificate}"
