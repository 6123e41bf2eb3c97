"""What the bench times and how it judges outputs, on the CPU: the kernels and the clock are replaced."""

import csv
import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from campaign.kernels import bench, environment, topk  # noqa: E402
from campaign.kernels.bench import Cell  # noqa: E402
from campaign.kernels.masks import masked  # noqa: E402
from campaign.kernels.names import is_own  # noqa: E402
from campaign.kernels.oracle import top_k  # noqa: E402


@pytest.fixture
def on_cpu(monkeypatch):
    """The bench with tensors on the CPU, the oracle for every kernel of ours, and a clock that makes no calls."""
    clock = []

    def timed(calls, *, flush=False):
        clock.append(len(calls))
        return 12.3456 if flush else 7.65432

    def select(scores, lengths, out, **_):
        out.copy_(torch.from_numpy(top_k(scores.numpy(), out.shape[1])))

    def mask(scores, candidates, flags):
        scores.copy_(torch.from_numpy(masked(scores.numpy(), candidates.numpy())))

    def fused(scores, lengths, candidates, out, **_):
        select(torch.from_numpy(masked(scores.numpy(), candidates.numpy())), lengths, out)

    monkeypatch.setattr(bench, "DEVICE", "cpu")
    monkeypatch.setattr(bench, "CALLS", 3)
    monkeypatch.setattr(bench, "timed", timed)
    for name in ("served_topk", "rs8", "auto"):
        monkeypatch.setattr(topk, name, select)
    monkeypatch.setattr(topk, "mask_candidates", mask)
    monkeypatch.setattr(topk, "masked_topk", fused)
    return clock


def test_table_has_every_length_and_number_of_rows():
    """The two full tables have each length at each number of rows, on normal data."""
    found = {(cell.k, cell.columns, cell.rows) for cell in bench.cells() if cell.input_class == "normal"}
    assert {(k, length, rows) for k in (512, 2048) for length in bench.LENGTHS for rows in bench.ROWS} <= found


def test_k_1024_is_timed_at_each_length_and_fewer_rows():
    """K of 1,024 has all lengths, and the numbers of rows of FEWER_ROWS."""
    found = {(cell.columns, cell.rows) for cell in bench.cells(ks=(1_024,))}
    assert found == {(length, rows) for length in bench.LENGTHS for rows in bench.FEWER_ROWS[1_024]}


def test_other_classes_are_timed_at_four_rows():
    """Data classes but normal stand at four rows."""
    assert {cell.rows for cell in bench.cells() if cell.input_class != "normal"} == {4}


def test_a_row_no_longer_than_k_is_no_cell():
    """Where every column is chosen there is nothing to select."""
    assert bench.cells(lengths=(2_048,), ks=(2_048,)) == []
    assert bench.cells(lengths=(2_049,), ks=(2_048,), rows=(1,), masked=False) == [Cell(2_048, 2_049, 1, "normal")]


def test_cells_with_candidates_are_those_of_a_verify_step():
    """F is timed at one row and at six, with 2,048 candidate ids, and not at all where it is not asked for."""
    among = [cell for cell in bench.cells() if cell.candidates]
    assert {(cell.rows, cell.candidates) for cell in among} == {(1, 2_048), (6, 2_048)}
    assert {cell.columns for cell in among} == set(bench.LENGTHS)
    assert not any(cell.candidates for cell in bench.cells(masked=False))


def test_rows_that_are_asked_for_are_the_rows_of_each_k():
    """A caller's numbers of rows hold for K of 1,024 too; F keeps to its own."""
    asked = bench.cells(lengths=(4_096,), rows=(6, 64), ks=(1_024, 512), classes=("normal",))
    assert asked == [
        Cell(1_024, 4_096, 6, "normal"),
        Cell(1_024, 4_096, 64, "normal"),
        Cell(512, 4_096, 6, "normal"),
        Cell(512, 4_096, 64, "normal"),
        Cell(512, 4_096, 6, "normal", 2_048),
    ]


@pytest.mark.parametrize(("columns", "live"), [(4_096, 512), (16_384, 2_048), (100_003, 2_048)])
def test_candidates_are_distinct_blocks_then_padding(columns, live):
    """A row has 2,048 ids: distinct blocks in no order, all of them where there are fewer, and -1 after those."""
    for ids in bench.served_candidates(np.random.default_rng(3), 2, columns):
        assert len(ids) == 2_048 and (ids[live:] == -1).all()
        assert len(np.unique(ids[:live])) == live and ids[:live].min() >= 0 and ids[:live].max() < -(-columns // 8)
        assert (np.diff(ids[:live]) < 0).any()


def test_wrong_entries_counts_low_double_and_outside_ones():
    """An entry below the k-th score, one that is there twice and one outside the row are wrong; a tie is not."""
    scores = np.array([[9, 8, 7, 7, 1]], np.float32)
    want = np.array([[0, 1, 2]])
    for got, wrong in (((0, 1, 2), 0), ((3, 1, 0), 0), ((0, 1, 4), 1), ((0, 0, 1), 1), ((0, 1, -1), 1), ((0, 1, 5), 1)):
        assert bench.wrong_entries(scores, np.array([got]), want) == wrong


def test_every_kernel_of_a_cell_is_timed(on_cpu):
    """Each kernel has a hot and a cold time, of a cell without candidates."""
    timings = list(bench.bench(lengths=(64,), rows=(2,), ks=(8,), classes=("normal",), with_peers=False))
    assert [timing.kernel for timing in timings] == ["served_topk", "rs8", "auto"]
    assert {(timing.hot_us, timing.cold_us, timing.wrong_entries, timing.candidates) for timing in timings} == {
        (7.654, 12.346, 0, 0)
    }


def test_f_stands_beside_what_it_replaces(on_cpu):
    """A cell with candidates has F in both sizes of cluster, and two masked selections, all right."""
    timings = list(bench._masked_cell(np.random.default_rng(0), Cell(8, 200, 3, "normal", 10), with_peers=False))
    assert [timing.kernel for timing in timings] == [
        "masked_topk c8",
        "masked_topk c1",
        "mask + served_topk",
        "mask + auto",
    ]
    assert all(timing.hot_us and not timing.wrong_entries and timing.candidates == 10 for timing in timings)


def test_a_wrong_f_is_found_and_not_timed(on_cpu, monkeypatch):
    """An F that leaves the candidates out of account has wrong entries and no time; its reference keeps its own."""
    monkeypatch.setattr(topk, "masked_topk", lambda scores, lengths, candidates, out, **_: out.fill_(0))
    timings = list(bench._masked_cell(np.random.default_rng(0), Cell(8, 200, 3, "normal", 10), with_peers=False))
    assert [timing.hot_us is None for timing in timings] == [True, True, False, False]
    assert timings[0].wrong_entries > 0 and timings[0].cold_us is None
    assert len(on_cpu) == 4


def test_a_wrong_kernel_of_ours_is_not_timed(on_cpu, monkeypatch):
    """One wrong byte, and no time is recorded."""
    monkeypatch.setattr(topk, "rs8", lambda scores, lengths, out, **_: out.fill_(0))
    cell = {"lengths": (64,), "rows": (2,), "ks": (8,), "classes": ("normal",), "with_peers": False}
    (wrong,) = [timing for timing in bench.bench(**cell) if timing.kernel == "rs8"]
    assert wrong.wrong_entries > 0 and wrong.hot_us is None and wrong.cold_us is None


@pytest.mark.parametrize("place", range(4))
def test_a_kernel_of_ours_that_is_wrong_on_one_set_is_not_timed(on_cpu, monkeypatch, place):
    """Every set of scores that a hot call reads is compared, not the first alone."""
    right, calls = topk.rs8, []

    def wrong_once(scores, lengths, out, **_):
        right(scores, lengths, out)
        out[0, 0] += len(calls) == place
        calls.append(scores)

    monkeypatch.setattr(topk, "rs8", wrong_once)
    cell = {"lengths": (64,), "rows": (2,), "ks": (8,), "classes": ("normal",), "with_peers": False}
    (wrong,) = [timing for timing in bench.bench(**cell) if timing.kernel == "rs8"]
    assert (wrong.wrong_entries, wrong.hot_us, len(calls)) == (1, None, 4)


def test_a_wrong_f_on_one_set_is_not_timed(on_cpu, monkeypatch):
    """Cells with candidates are compared on every set too."""
    right, calls = topk.masked_topk, []

    def wrong_last(scores, lengths, candidates, out, **_):
        right(scores, lengths, candidates, out)
        calls.append(scores)
        out[0, 0] += len(calls) == 4

    monkeypatch.setattr(topk, "masked_topk", wrong_last)
    first, *_ = bench._masked_cell(np.random.default_rng(0), Cell(8, 200, 3, "normal", 10), with_peers=False)
    assert (first.wrong_entries, first.hot_us) == (1, None)


def test_timing_says_how_many_entries_were_compared(on_cpu):
    """Rows × k of each of the four sets that a small cell has."""
    timings = list(bench.bench(lengths=(64,), rows=(2,), ks=(8,), classes=("normal",), with_peers=False))
    assert {timing.compared_entries for timing in timings} == {4 * 2 * 8}


def test_a_wrong_peer_is_timed_and_its_entries_counted(on_cpu, monkeypatch):
    """A peer's time stands beside its wrong entries."""

    def worst(scores, lengths, out):
        out.fill_(0)

    monkeypatch.setattr(bench, "peers", lambda k, rows: {"worst": worst})
    cell = {"lengths": (64,), "rows": (2,), "ks": (8,), "classes": ("normal",)}
    (peer,) = [timing for timing in bench.bench(**cell) if timing.kernel == "worst"]
    assert peer.wrong_entries >= 14 and peer.hot_us == 7.654


@pytest.mark.parametrize(
    ("kernel", "own"),
    [
        ("auto", True),
        ("masked_topk c8", True),
        ("mask + served_topk", True),
        ("mask + cooperative_topk", False),
        ("torch.topk", False),
    ],
)
def test_own_kernels_are_known_by_name(kernel, own):
    """What is ours decides whether a wrong entry fails the bench."""
    assert is_own(kernel) is own


def test_record_has_the_old_columns_first(on_cpu, tmp_path):
    """A record's columns are those that readers know, and the candidates at the end."""
    bench.write(
        list(bench.bench(lengths=(64,), rows=(1,), ks=(8,), classes=("normal",), with_peers=False)), tmp_path / "a.csv"
    )
    with (tmp_path / "a.csv").open() as file:
        header = next(csv.reader(file))
    assert (
        header == "kernel k columns rows input_class hot_us cold_us wrong_entries candidates compared_entries".split()
    )


@pytest.mark.parametrize(
    ("ops", "installed", "version"), [(True, "0.26.0", "0.26.0"), (True, None, "0.27"), (False, "0.26.0", None)]
)
def test_version_of_vllm_is_that_of_the_ops(monkeypatch, ops, installed, version):
    """Its package says it, or the module; where no op is loaded there is none."""

    def installed_version(name):
        if installed is None:
            raise bench.importlib.metadata.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(bench, "_has_vllm", lambda: ops)
    monkeypatch.setattr(bench.importlib.metadata, "version", installed_version)
    monkeypatch.setitem(bench.sys.modules, "vllm", SimpleNamespace(__version__="0.27"))
    assert bench.vllm_version() == version


class Management:
    """A stand-in for the driver's management library."""

    def __init__(self, code):
        self.code = code

    def nvmlInit_v2(self):
        return self.code

    def nvmlSystemGetDriverVersion(self, text, size):
        ctypes.memmove(text, b"580.95.05", 10)
        return 0


@pytest.mark.parametrize(("library", "version"), [(Management(0), "580.95.05"), (Management(9), None), (None, None)])
def test_environment_has_the_driver(monkeypatch, library, version):
    """The driver's own version, or none where its library does not say it; and the CUDA that it runs."""

    def load(name):
        if library is None:
            raise OSError(name)
        return library

    properties = SimpleNamespace(name="a stand-in", multi_processor_count=1, major=9, minor=0)
    monkeypatch.setattr(environment.ctypes, "CDLL", load)
    monkeypatch.setattr(environment.driver, "version", lambda: "13.0")
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    found = environment.environment()
    assert (found["driver"], found["driver_cuda"]) == (version, "13.0")
