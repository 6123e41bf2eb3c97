"""The Python face of the kernels: what it refuses, what it launches, and, on a GPU, that its bytes are right."""

import ctypes
import re
import secrets
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from campaign.kernels import driver, shapes, topk
from campaign.kernels.driver import Device
from campaign.kernels.errors import CampaignError
from campaign.kernels.masks import masked, masked_top_k
from campaign.kernels.oracle import top_k
from campaign.kernels.shapes import MOST_COLUMNS, Shape

GPU = SimpleNamespace(type="cuda", index=0)
CPU = SimpleNamespace(type="cpu", index=None)
BYTES = {
    "torch.float32": 4,
    "torch.bfloat16": 2,
    "torch.float16": 2,
    "torch.int32": 4,
    "torch.int64": 8,
    "torch.uint8": 1,
}
SHARED_BYTES = {"an H200": 232_448, "SM120": 101_376}
"""Shared memory that a block can have."""
FIXED_BYTES = {1: 38_256, 2: 39_296, 4: 40_896, 8: 44_096, 16: 50_496}
"""What a block needs of it in any case, by size of cluster: sizeof(Shared<cluster>), as the machine code has it."""
README = Path(topk.__file__).resolve().parent / "README.md"


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
    stand_in = SimpleNamespace(
        ordinal=0, current=nullcontext, capability=(9, 0), shared_bytes=SHARED_BYTES["an H200"], name="a stand-in"
    )
    monkeypatch.setattr(topk, "_opened", lambda ordinal: stand_in)
    return stand_in


@pytest.fixture
def fixed_bytes() -> dict[int, int]:
    """Shared memory that each kernel of a test needs in any case, by size of cluster."""
    return dict.fromkeys(FIXED_BYTES, 1000)


@pytest.fixture
def launches(device, fixed_bytes, monkeypatch) -> list[SimpleNamespace]:
    """The launches of a test."""
    seen = []

    def kernel(device: Any, source: str, name: str, shape: Shape, stream: int) -> tuple[Any, int]:
        def launch(blocks: Any, shared_bytes: int, stream: int, arguments: Any, *others: Any) -> None:
            seen.append(
                SimpleNamespace(name=name, blocks=blocks, bytes=shared_bytes, stream=stream, arguments=arguments)
            )

        return SimpleNamespace(launch=launch, launch_grid=launch), fixed_bytes[shape.cluster]

    monkeypatch.setattr(topk, "_kernel", kernel)
    return seen


@pytest.fixture
def consumer_blackwell(device, fixed_bytes) -> None:
    """The stand-in is an SM120, with kernels of their own size."""
    device.capability, device.shared_bytes = (12, 0), SHARED_BYTES["SM120"]
    fixed_bytes.update(FIXED_BYTES)


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
    "flags, said",
    [
        (Tensor(3, 4999, dtype="uint8"), r"flags must be \[3, 5000\] uint8 without gaps, got shape \(3, 4999\)"),
        (Tensor(3, 5000, dtype="uint8", strides=(5001, 1)), "uint8 without gaps"),
        (Tensor(3, 5000, dtype="uint8", strides=(5000, 2)), "uint8 without gaps"),
        (integers(3, 5000), "flags must be uint8, got torch.int32"),
        (Tensor(3, 5000, dtype="uint8", device=CPU), "flags must be on the device of scores"),
    ],
    ids=["shape", "rows apart", "columns apart", "type", "device"],
)
def test_wrong_flags_are_refused(flags, said, launches):
    """Flags of another shape, type, stride or device are refused with what was expected."""
    with pytest.raises((TypeError, ValueError), match=said):
        topk.mask_candidates(RIGHT["scores"], MASKED["candidates"], flags, stream=0)
    assert launches == []


def mask(rows: int) -> None:
    """A call of mask_candidates with so many rows."""
    topk.mask_candidates(Tensor(rows, 5000), integers(rows, 9), Tensor(rows, 5000, dtype="uint8"), stream=0)


def test_masks_are_two_launches(launches):
    """One block a row flags the candidates, then a grid over columns and rows masks the others."""
    mask(65_535)
    assert [(launch.name, launch.blocks) for launch in launches] == [
        ("candidate_flags", 65_535),
        ("mask_candidates_float32", (5, 65_535, 1)),
    ]


def test_masks_of_no_rows_launch_nothing(launches):
    """No rows are no work, and no error."""
    mask(0)
    assert launches == []


def test_masks_of_more_rows_than_a_grid_has_are_refused(launches):
    """A grid's second dimension ends at 65,535: the error says so, and what to do."""
    with pytest.raises(ValueError, match=r"at most 65,535 rows, got 65,536\. Call it for fewer rows at a time"):
        mask(65_536)
    assert launches == []


@pytest.mark.parametrize("name", ["scores", "lengths", "indices", "candidates"])
def test_numpy_array_is_named(name, launches):
    """An array that is no tensor is refused with what was expected, and where NumPy arrays are taken."""
    said = rf"{name} must be a torch tensor on a CUDA device, got numpy\.ndarray\. .* campaign\.kernels\.oracle"
    with pytest.raises(TypeError, match=said):
        topk.masked_topk(**MASKED | {name: np.zeros((3, 9), np.int32)}, stream=0)
    assert launches == []


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


@pytest.mark.parametrize("shape", [Shape(2, 512, 1), Shape(3, 512, 4)], ids=str)
def test_shape_that_does_not_take_the_row_is_refused(shape, launches):
    """A shape that is too small or not built is refused."""
    with pytest.raises(ValueError, match=rf"shape {shape} does not take rows of 5,000 positions: expected one") as why:
        topk.shaped(**RIGHT, shape=shape, stream=0)
    assert not isinstance(why.value, topk.DoesNotFit)
    assert launches == []


def test_cluster_that_a_device_has_not_does_not_fit(consumer_blackwell, launches):
    """A shape of a larger cluster than there are here is refused as what this device cannot run."""
    said = r"shape c16_t512_v1 is of 16 blocks a cluster, and this device has at most 8"
    with pytest.raises(topk.DoesNotFit, match=said):
        topk.shaped(**RIGHT, shape=Shape(16, 512, 1), stream=0)
    assert launches == []


@pytest.mark.parametrize(
    "call, advice",
    [(topk.served_topk, "Use a larger cluster: auto or rs8"), (topk.rs8, "Use shorter rows")],
    ids=["served_topk", "rs8"],
)
def test_row_that_no_shared_memory_takes_is_refused(call, advice, device, launches):
    """Where the marks of a row do not fit a block's shared memory, the error says so and what to use."""
    device.shared_bytes = 10_000
    said = rf"1,048,576 positions need \d+,\d{{3}} bytes of shared memory .* a stand-in has 10,000\. {advice}"
    with pytest.raises(topk.DoesNotFit, match=said):
        call(**RIGHT | {"scores": Tensor(3, MOST_COLUMNS)}, stream=0)
    assert launches == []


@pytest.mark.parametrize("columns, name", [(983_040, "c2_t1024_v0"), (983_044, "c4_t1024_v0")])
def test_auto_goes_on_to_the_next_cluster_that_fits(columns, name, consumer_blackwell, launches, monkeypatch):
    """On SM120 two blocks have room for the marks of 983,040 positions: auto spreads longer rows over four."""
    monkeypatch.setattr(shapes, "CHOICES", ((MOST_COLUMNS + 3, *["c2_t1024_v0"] * 3),))
    topk.auto(**RIGHT | {"scores": Tensor(3, columns)}, stream=0)
    assert launches[0].name == f"topk_float32_served_{name}"


def test_every_choice_of_auto_has_the_room(consumer_blackwell, launches):
    """On SM120 auto takes the longest rows, however many, and wherever they start."""
    for rows in (1, 8, 64):
        for columns in (*(most for most, *_ in shapes.CHOICES[:-1]), MOST_COLUMNS):
            scores = Tensor(rows, columns, address=(1 << 20) + 4)
            topk.auto(scores, integers(rows), integers(rows, 512), stream=0)
            assert launches[-1].bytes <= SHARED_BYTES["SM120"]


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


@pytest.mark.parametrize("ids, shape", [(2_048, "c8_t512_v1"), (2_049, "c8_t1024_v0")])
def test_masked_selection_takes_the_shape_of_its_ids(ids, shape, launches):
    """F keeps the keys of as many blocks as there are ids, where a shape has the registers for them."""
    topk.masked_topk(**among(65_536, ids, 8), stream=0)
    assert launches[0].name == f"masked_topk_float32_served_{shape}"


def test_candidates_that_no_shared_memory_takes_are_refused(consumer_blackwell, launches):
    """F's error says columns, ids, what fits and what to do."""
    said = (
        r"rows of 262,144 columns with 5,541 candidate ids, padding included, need 101,380 bytes .* c1_t1024_v0, and "
        r"a stand-in has 101,376, room for 5,540 ids a row\. Use fewer ids a row or cluster=8 or mask"
    )
    with pytest.raises(topk.DoesNotFit, match=said):
        topk.masked_topk(**among(262_144, 5_541, 1), stream=0)
    topk.masked_topk(**among(262_144, 5_540, 1), stream=0)
    assert launches[0].bytes == 101_376


def among(columns: int, ids: int, cluster: int) -> dict[str, Any]:
    """A call of F."""
    return MASKED | {"scores": Tensor(3, columns), "candidates": integers(3, ids), "cluster": cluster}


def limits() -> dict[tuple[int, str, int], str]:
    """The table of F's limits in the page of the kernels: by columns, device and cluster."""
    rows = re.findall(r"^  \| ([\d,]+) \| (.*) \|$", README.read_text(), re.MULTILINE)
    heads = [(device, cluster) for device in SHARED_BYTES for cluster in (8, 1)]
    return {
        (int(columns.replace(",", "")), *head): said
        for columns, cells in rows
        for head, said in zip(heads, cells.split(" | "), strict=True)
    }


@pytest.mark.parametrize("columns, name, cluster", limits())
def test_page_has_the_candidates_that_fit(columns, name, cluster, device, fixed_bytes, launches):
    """As many ids a row as the page says fit a device, and one more does not."""
    device.shared_bytes = SHARED_BYTES[name]
    fixed_bytes.update(FIXED_BYTES)
    said = limits()[columns, name, cluster]
    words = {"any": columns, "none": 0}
    most = words[said] if said in words else int(said.replace(",", ""))
    if most:
        topk.masked_topk(**among(columns, most, cluster), stream=0)
        assert launches.pop().bytes <= device.shared_bytes
    if said != "any":
        with pytest.raises(topk.DoesNotFit, match=f"room for {most:,} ids a row"):
            topk.masked_topk(**among(columns, most + 1, cluster), stream=0)


def test_page_has_every_limit_of_the_table():
    """The table has four lengths, for both devices and both clusters."""
    assert len(limits()) == 16


def test_page_has_the_longest_row_of_served_topk(consumer_blackwell, launches):
    """On SM120 one block takes the columns that the page says, and three fewer where rows start anywhere."""
    (dense, loose) = re.search(r"rows to ([\d,]+) columns \(([\d,]+) where", README.read_text()).groups()
    for said, strides in ((dense, 4), (loose, 1)):
        most = int(said.replace(",", ""))
        call = partial(topk.served_topk, lengths=integers(3), indices=integers(3, 512), stream=0)
        call(Tensor(3, most, strides=(4 * most + strides, 1)))
        with pytest.raises(topk.DoesNotFit):
            call(Tensor(3, most + 1, strides=(4 * most + strides, 1)))
    assert len(launches) == 2


def test_page_has_what_a_block_needs():
    """The page says the bytes of shared memory that a block needs in any case."""
    *first, last = (f"{size:,}" for size in FIXED_BYTES.values())
    assert f"{', '.join(first)} or {last} bytes in any case" in README.read_text()


def test_page_has_the_largest_ratio_of_the_classes():
    """How much longer other data take at most is the figure of the measurement's own page."""
    (line,) = re.findall(r"^- Other data take at most .*$", README.with_name("MEASURED.md").read_text(), re.MULTILINE)
    largest = max(re.findall(r"(\d\.\d\d) times", line))
    assert f"at most {largest} times as long as normal ones" in README.read_text().replace("\n  ", " ")


@pytest.fixture
def loaded(device, monkeypatch) -> list[str]:
    """What a test loads, in order: modules and kernels."""
    seen = []

    class Module:
        def __init__(self, unit: str):
            seen.append(unit)

        def integer(self, name: str) -> int:
            return 1000

    class Kernel:
        def __init__(self, module: Module, name: str, **settings: int):
            seen.append(name)

        def launch(self, *arguments: Any) -> None:
            seen.append("launch")

        launch_grid = launch

    monkeypatch.setattr(topk, "_KERNELS", {})
    monkeypatch.setattr(topk, "_module", lambda ordinal, unit: Module(unit))
    monkeypatch.setattr(topk, "Kernel", Kernel)
    monkeypatch.setattr(driver, "is_captured", lambda stream: False)
    return seen


CALLS = {
    "rs8": (topk.rs8, RIGHT, ["topk_c8", "topk_float32_served_c8_t512_v1"], ["launch"]),
    "masked_topk": (topk.masked_topk, MASKED, ["masked_c8", "masked_topk_float32_served_c8_t512_v1"], ["launch"]),
    "mask_candidates": (
        topk.mask_candidates,
        {
            "scores": RIGHT["scores"],
            "candidates": MASKED["candidates"],
            "flags": Tensor(3, 5000, dtype="uint8"),
        },
        ["masked_c1", "candidate_flags", "masked_c1", "mask_candidates_float32"],
        ["launch", "launch"],
    ),
}


@pytest.mark.parametrize("call, arguments, loads, launched", CALLS.values(), ids=CALLS)
def test_prepared_call_has_nothing_left_to_load(call, arguments, loads, launched, loaded, monkeypatch):
    """`prepare` loads what a call launches and launches nothing; the call then launches, in a capture too."""
    topk.prepare(call, **arguments, stream=0)
    assert loaded == loads
    monkeypatch.setattr(driver, "is_captured", lambda stream: True)
    call(**arguments, stream=0)
    assert loaded == loads + launched


@pytest.mark.parametrize("call, arguments, loads, launched", CALLS.values(), ids=CALLS)
def test_nothing_is_loaded_in_a_capture(call, arguments, loads, launched, loaded, monkeypatch):
    """A call whose kernel is not loaded says what to do before a capture, and touches nothing."""
    monkeypatch.setattr(driver, "is_captured", lambda stream: stream == 7)
    with pytest.raises(
        CampaignError, match=rf"^{loads[1]} is not loaded yet.* once before the capture, or topk\.prepare"
    ):
        call(**arguments, stream=7)
    assert loaded == []


def test_prepare_refuses_what_the_call_refuses(loaded):
    """Arguments that do not fit are named before anything is loaded."""
    with pytest.raises(TypeError, match="lengths must be int32"):
        topk.prepare(topk.auto, **RIGHT | {"lengths": Tensor(3, dtype="int64")}, stream=0)
    assert loaded == []


class Contexts:
    """A driver's current context, and how often it was set; a stream far up in memory is being captured."""

    def __init__(self, current: int | None) -> None:
        self.current, self.set = current, 0

    def cuCtxGetCurrent(self, found: Any) -> int:
        found._obj.value = self.current
        return 0

    def cuCtxSetCurrent(self, context: ctypes.c_void_p) -> int:
        self.current, self.set = context.value, self.set + 1
        return 0

    def cuStreamIsCapturing(self, stream: ctypes.c_void_p, status: Any) -> int:
        status._obj.value = (stream.value or 0) >> 40
        return 0


@pytest.mark.parametrize("before, times", [(0x500, 0), (0x700, 2), (None, 2)], ids=["the same", "another", "none"])
def test_device_is_current_for_its_call_alone(before, times, monkeypatch):
    """A call on another device leaves the thread's context as it was, even where it fails; none is set for its own."""
    contexts = Contexts(before)
    monkeypatch.setattr(driver, "driver", lambda: contexts)
    device = object.__new__(Device)
    device.context = ctypes.c_void_p(0x500)
    with pytest.raises(KeyError), device.current():
        assert contexts.current == 0x500
        raise KeyError
    assert (contexts.current, contexts.set) == (before, times)


@pytest.mark.parametrize("stream, captured", [(0, False), (7, False), (1 << 40, True)])
def test_capture_is_told_of_the_whole_stream(stream, captured, monkeypatch):
    """Whether a stream is captured is asked with all bits of its handle."""
    monkeypatch.setattr(driver, "driver", lambda: Contexts(None))
    assert driver.is_captured(stream) is captured


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
    with pytest.raises(CampaignError, match=r"no CUDA driver here .* 9\.0 or 12\.0\..*campaign\.kernels\.oracle"):
        call(**RIGHT, stream=0)


@pytest.mark.parametrize("capability, clusters, target", [((9, 0), True, "sm_90a"), ((12, 0), True, "sm_120a")])
def test_device_has_the_machine_code_of_its_kind(capability, clusters, target):
    """Hopper and consumer Blackwell have builds."""
    assert stand_in_device(capability, clusters).target == target


@pytest.mark.parametrize("capability, clusters", [((8, 0), False), ((9, 0), False), ((10, 0), True), ((12, 1), True)])
def test_device_without_a_build_is_named(capability, clusters, monkeypatch):
    """A GPU without clusters, or of a kind that is not built for, is named with its capability and what is needed."""
    monkeypatch.setattr(Device, "name", "A stand-in")
    major, minor = capability
    said = rf"A stand-in has compute capability {major}\.{minor}: .*9\.0 \(Hopper\) and 12\.0, and run on no other"
    with pytest.raises(CampaignError, match=said):
        _ = stand_in_device(capability, clusters).target


def stand_in_device(capability: tuple[int, int], clusters: bool) -> Device:
    """A device that no driver was asked for."""
    device = object.__new__(Device)
    device.capability, device.has_clusters = capability, clusters
    return device


@pytest.fixture
def check(monkeypatch) -> Any:
    """The check on the host: the oracle in the kernels' place, on CPU tensors, with a graph that does nothing."""
    torch = pytest.importorskip("torch", reason="NOT RUN: torch is missing")
    from campaign.kernels import check  # it imports torch

    def select(scores: Any, lengths: Any, out: Any, *, order: str, **_: Any) -> None:
        live = np.minimum(lengths.numpy(), scores.shape[1])
        out.copy_(torch.from_numpy(top_k(scores.numpy(), out.shape[1], live, order)))

    def select_among(scores: Any, lengths: Any, ids: Any, out: Any, *, order: str, **_: Any) -> None:
        out.copy_(torch.from_numpy(masked_top_k(scores.numpy(), out.shape[1], lengths.numpy(), ids.numpy(), order)))

    def mask(scores: Any, ids: Any, flags: Any) -> None:
        scores.copy_(torch.from_numpy(masked(scores.numpy(), ids.numpy())))

    for name in ("served_topk", "rs8", "auto", "shaped"):
        monkeypatch.setattr(topk, name, select)
    monkeypatch.setattr(topk, "masked_topk", select_among)
    monkeypatch.setattr(topk, "mask_candidates", mask)
    monkeypatch.setattr(check, "DEVICE", "cpu")
    monkeypatch.setattr(check, "MASKED_SIZES", ((4_099, 512),))
    monkeypatch.setattr(torch.cuda, "Stream", lambda: SimpleNamespace(cuda_stream=0))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: SimpleNamespace(replay=lambda: None))
    monkeypatch.setattr(torch.cuda, "graph", nullcontext)
    return check


def case(check: Any, **other: Any) -> Any:
    """A small case for the check."""
    scores = np.random.default_rng(1).standard_normal((2, 700)).astype(np.float32)
    return check.Case(**{"name": "a case", "scores": scores, "lengths": np.array([700, 600]), "k": 512} | other)


def inputs(check: Any, case: Any, order: str = "ieee") -> str:
    """The hash of inputs of a check of one case."""
    certificate = check.Certificate(0)
    check.run_case(certificate, case, order)
    assert certificate.right
    return certificate.inputs.hexdigest()


def test_hash_of_inputs_is_of_all_that_a_case_is(check):
    """Scores, lengths, k, order, offset and gap each change the hash of a certificate's inputs."""
    others = [{"scores": case(check).scores[:, ::-1]}, {"lengths": np.array([700, 599])}, {"k": 511}]
    others += [{"offset": 1}, {"gap": 1}, {"scores": case(check).scores.reshape(1, -1), "lengths": np.array([700])}]
    hashes = [inputs(check, case(check, **other)) for other in ({}, *others)]
    assert len({*hashes, inputs(check, case(check), "served")}) == len(hashes) + 1
    assert inputs(check, case(check)) == hashes[0]


@pytest.mark.parametrize("kind", ["repeats", "replays", "masked_cases"])
def test_hash_of_inputs_is_of_every_kind(kind, check, monkeypatch):
    """What repeats, graph replays and masked rows take in is in the hash too, whatever comes out."""
    for name in ("served_topk", "rs8", "auto", "masked_topk"):
        monkeypatch.setattr(topk, name, lambda *arguments, **options: None)

    def run(seed: int) -> str:
        certificate = check.Certificate(0)
        getattr(check, kind)(certificate, np.random.default_rng(seed))
        return certificate.inputs.hexdigest()

    assert run(1) != run(2)


def test_masked_rows_are_right_on_the_host(check):
    """The check's own reference of F, and F's place taken by the oracle, are found right."""
    certificate = check.Certificate(0)
    check.masked_cases(certificate, np.random.default_rng(3))
    assert certificate.right and not certificate.left_out
    assert set(certificate.tallies) == {"masked_topk c1", "masked_topk c8", "masked reference"}


def test_call_that_a_device_cannot_run_is_left_out(check, monkeypatch):
    """A shape or F that does not fit the device is listed as left out; the rest is checked, and nothing is wrong."""

    def refuse(*arguments: Any, **options: Any) -> None:
        raise topk.DoesNotFit("too large here")

    monkeypatch.setattr(topk, "shaped", refuse)
    monkeypatch.setattr(topk, "masked_topk", refuse)
    certificate = check.Certificate(0)
    check.run_case(certificate, case(check), "ieee")
    check.masked_cases(certificate, np.random.default_rng(3))
    assert certificate.right
    assert set(certificate.tallies) == {"served_topk", "rs8", "auto", "masked reference"}
    monkeypatch.setattr(check, "environment", dict)
    kept = certificate.record()["left_out"]
    assert kept["shape c16_t512_v1"] == 1
    assert kept["masked_topk c8"] == certificate.tallies["masked reference"].calls
    assert "shape c16_t512_v1               1 calls left out" in str(certificate)


def test_wrong_argument_is_no_call_left_out(check, monkeypatch):
    """A refusal that is not the device's is an error of the check, and stays one."""

    def refuse(*arguments: Any, **options: Any) -> None:
        raise ValueError("no such shape")

    monkeypatch.setattr(topk, "shaped", refuse)
    with pytest.raises(ValueError, match="no such shape"):
        check.run_case(check.Certificate(0), case(check), "ieee")


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


@pytest.mark.gpu
def test_prepared_call_is_captured(monkeypatch):
    """On an sm_90 GPU, a call that was prepared and never made is captured in a graph, and right when replayed."""
    torch = pytest.importorskip("torch", reason="NOT RUN ON A GPU: torch is missing")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("NOT RUN ON A GPU: torch sees no sm_90 here")
    monkeypatch.setattr(topk, "_KERNELS", {})
    topk._module.cache_clear()
    scores = torch.randn((3, 20_000), device="cuda")
    lengths = torch.full((3,), 20_000, dtype=torch.int32, device="cuda")
    out = torch.empty((3, 512), dtype=torch.int32, device="cuda")
    topk.prepare(topk.auto, scores, lengths, out, order="ieee")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        topk.auto(scores, lengths, out, order="ieee")
    graph.replay()
    assert (out.cpu().numpy() == top_k(scores.cpu().numpy(), 512)).all()
