"""Recorded calls: what a recorder keeps, what a file holds, what is refused, and the comparison with certificate."""

import csv
import hashlib
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from tests.compiled import compiled

from campaign.kernels import recorded, recorded_check, topk
from campaign.kernels.__main__ import main
from campaign.kernels.inputs import INPUT_CLASSES
from campaign.kernels.masks import CANDIDATE_CLASSES, masked_top_k
from campaign.kernels.oracle import top_k
from campaign.kernels.recorded import Call, Recorder, RecordingError, read, record

LENGTHS = np.array([90, 5, 40], np.int32)


def call_of(*, masked=False, bfloat16=False, order="served", k=16):
    """A call of three rows that the oracle answered."""
    rng = np.random.default_rng(7)
    scores = INPUT_CLASSES["zero_band"](rng, 3, 100)
    scores = (scores.view(np.uint32) >> 16).astype(np.uint16) if bfloat16 else scores
    ids = CANDIDATE_CLASSES["duplicates"](rng, 3, 100) if masked else None
    want = masked_top_k(scores, k, LENGTHS, ids, order) if masked else top_k(scores, k, LENGTHS, order)
    return Call(scores if bfloat16 else scores.view(np.uint32), LENGTHS, want, order, ids)


CALLS = [
    call_of(),
    call_of(masked=True),
    call_of(bfloat16=True, order="ieee", k=3),
    call_of(masked=True, bfloat16=True),
]


@pytest.fixture
def path(tmp_path):
    """A file of four calls."""
    record(CALLS, tmp_path / "calls.npz", versions={"vllm": "0.26.0"}, skipped=2)
    return tmp_path / "calls.npz"


def test_calls_come_back_as_they_were(path):
    """Bits, lengths, candidates, indices and order of each call, in order."""
    back = list(read(path).calls())
    assert [one.header() for one in back] == [one.header() for one in CALLS]
    for one, was in zip(back, CALLS, strict=True):
        assert one.arrays().keys() == was.arrays().keys()
        for name, array in one.arrays().items():
            assert (array.dtype, array.tobytes()) == (was.arrays()[name].dtype, was.arrays()[name].tobytes())


def test_versions_and_skipped_calls_are_kept(path):
    """What ran, and how many calls were made that the file does not hold."""
    recording = read(path)
    assert recording.versions.items() >= {"vllm": "0.26.0", "numpy": np.__version__}.items()
    assert recording.skipped == 2


def test_nothing_is_left_beside_a_written_file(path):
    """The file that was written first has become the file."""
    assert [each.name for each in path.parent.iterdir()] == ["calls.npz"]


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    """Whoever reads sees the old file or the new one, never a part."""
    before = path.read_bytes()

    def broken(file, **arrays):
        file.write(b"half")
        raise OSError("no space")

    monkeypatch.setattr(recorded.np, "savez_compressed", broken)
    with pytest.raises(OSError, match="no space"):
        record(CALLS, path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["calls.npz"]


def test_no_call_is_no_file(tmp_path):
    """A file without a call would let nothing pass for equality."""
    with pytest.raises(RecordingError, match="no call to write"):
        record([], tmp_path / "calls.npz")


def refused(path):
    """What is said of a file that is read to its end."""
    with pytest.raises(RecordingError) as wrong:
        list(read(path).calls())
    return str(wrong.value)


def test_a_missing_file_is_named(tmp_path):
    assert refused(tmp_path / "gone.npz") == f"{tmp_path}/gone.npz: not found; name a file of recorded calls (.npz)."


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 and no more"])
def test_a_file_of_something_else_is_refused(tmp_path, content):
    """Whatever is no archive is said to be none, with what was expected."""
    (tmp_path / "calls.npz").write_bytes(content)
    said = refused(tmp_path / "calls.npz")
    assert said.startswith(f"{tmp_path}/calls.npz: no readable .npz file (")
    assert "expected a file that campaign.kernels.recorded wrote. Record the calls anew" in said


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_truncated_file_is_refused(path, share):
    """A file that was cut short is no archive."""
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    assert "no readable .npz file" in refused(path)


def test_a_flipped_bit_is_refused(path):
    """The archive's own checksums are asked for every array."""
    data = bytearray(path.read_bytes())
    at = data.find(b"0.scores.npy") + 200
    data[at] ^= 1
    path.write_bytes(data)
    assert "call 0: the array '0.scores' cannot be read" in refused(path)


def test_a_single_array_is_refused(tmp_path):
    np.save(tmp_path / "calls.npy", np.zeros(3))
    assert "found a single array" in refused(tmp_path / "calls.npy")


def changed(path, **arrays):
    """Nothing; the file then holds these arrays in place of its own, or does not where one is None."""
    with np.load(path) as archive:
        own = {name: archive[name] for name in archive.files}
    own |= {name.replace("_", "."): array for name, array in arrays.items()}
    np.savez(path, **{name: array for name, array in own.items() if array is not None})


def header_of(path, **fields):
    """The file's header with these fields."""
    with np.load(path) as archive:
        return np.array(json.dumps({**json.loads(str(archive["header"])), **fields}))


def test_objects_are_never_unpickled(path):
    """An array of objects is refused, and nothing in it runs."""
    changed(path, **{"0_lengths": np.array([{}, {}, {}])})
    assert "call 0: the array '0.lengths' cannot be read (ValueError: Object arrays cannot be loaded" in refused(path)


BROKEN = {
    "no lengths": ({"0_lengths": None}, "call 0: has no array '0.lengths'"),
    "lengths of another call": ({"0_lengths": LENGTHS[:2]}, r"call 0: lengths: found shape (2,) of int32"),
    "long lengths": ({"0_lengths": LENGTHS.astype(np.int64)}, "of int64, expected [3] int32, one length a row"),
    "scores as numbers": (
        {"1_scores": np.zeros((3, 100))},
        "call 1: scores: found shape (3, 100) of float64, expected [rows, columns] uint32 or uint16",
    ),
    "no rows": ({"1_scores": np.zeros((0, 100), np.uint32)}, "at least one row and column"),
    "indices of one dimension": ({"2_indices": np.zeros(3, np.int32)}, "call 2: indices: found shape (3,)"),
    "no candidates": ({"3_candidates": None}, "call 3: has no array '3.candidates'"),
    "another k": ({"0_indices": np.zeros((3, 4), np.int32)}, "call 0: its arrays have k 4, the header says 16"),
    "another type": ({"0_scores": np.zeros((3, 9), np.uint16)}, "have dtype 'bfloat16', the header says 'float32'"),
}


@pytest.mark.parametrize(("arrays", "said"), BROKEN.values(), ids=BROKEN)
def test_a_call_that_is_none_is_refused(path, arrays, said):
    """Each array must be that of one call and what the header says: file, call, found and expected are told."""
    changed(path, **arrays)
    found = refused(path)
    assert said in found
    assert found.startswith(f"{path}: call ")


BROKEN_HEADERS = {
    "another format": ({"format": "another"}, "found the format 'another', expected 'campaign top-k calls, 1'"),
    "no calls": ({"calls": []}, "holds no call, so there is nothing to compare"),
    "calls as a number": ({"calls": 4}, "the header has no list of calls"),
    "an unknown order": (
        {"calls": [{"dtype": "float32", "order": "up", "k": 16, "masked": False}]},
        "found the order 'up', expected ieee or served",
    ),
}


@pytest.mark.parametrize(("fields", "said"), BROKEN_HEADERS.values(), ids=BROKEN_HEADERS)
def test_a_header_that_is_none_is_refused(path, fields, said):
    """Format, calls and orders are held to what is known."""
    changed(path, header=header_of(path, **fields))
    assert said in refused(path)


def test_a_header_without_json_is_refused(path):
    changed(path, header=np.array("no json"))
    assert "the header is no JSON with a format" in refused(path)


def select(scores, lengths, indices, *, order="served", stream=None):
    """A top-k function over NumPy arrays, in the place of one on a GPU."""
    indices[:] = top_k(scores, indices.shape[1], lengths, order)
    return "its result"


def test_a_recorder_keeps_what_went_in_and_came_out():
    """The call is made as ever, and its scores, lengths, order and written indices are kept."""
    recorder, scores, out = (
        Recorder(),
        INPUT_CLASSES["normal"](np.random.default_rng(0), 3, 90),
        np.zeros((3, 8), np.int32),
    )
    assert recorder.wrap(select)(scores, LENGTHS, out, order="ieee") == "its result"
    (call,) = recorder.calls
    assert (call.values.tobytes(), call.order, call.candidates) == (scores.tobytes(), "ieee", None)
    assert call.indices.tobytes() == out.tobytes()


def test_a_recorder_keeps_scores_as_they_were_before_the_call():
    """A function that masks its scores in place does not change what is kept."""
    recorder, scores = Recorder(), np.ones((3, 90), np.float32)

    def masks(scores, lengths, candidates, indices):
        scores[:, 8:] = -np.inf

    recorder.wrap_masked(masks)(scores, LENGTHS, np.zeros((3, 1), np.int32), np.zeros((3, 8), np.int32))
    (call,) = recorder.calls
    assert set(call.values.ravel()) == {1.0}
    assert (scores[:, 8:] == -np.inf).all()
    assert call.candidates.shape == (3, 1)


def test_columns_past_the_longest_row_are_not_kept():
    """They count for nothing, and buffers are wide; a masked call's are kept, for its last column can count."""
    recorder, scores, out = Recorder(), np.ones((3, 5000), np.float32), np.zeros((3, 8), np.int32)
    recorder.wrap(select)(scores, LENGTHS, out)
    recorder.wrap_masked(lambda *_: None)(scores, LENGTHS, np.zeros((3, 1), np.int32), out)
    assert [call.scores.shape for call in recorder.calls] == [(3, 90), (3, 5000)]


def test_a_recorder_stays_below_its_bytes():
    """Calls that would go past the limit are made, counted and not kept."""
    one = 3 * 90 * 4 + 3 * 4 + 3 * 8 * 4
    recorder, made = Recorder(most_bytes=2 * one + 5), []
    function = recorder.wrap(lambda *arguments: made.append(1))
    for _ in range(4):
        function(np.ones((3, 90), np.float32), LENGTHS, np.zeros((3, 8), np.int32))
    assert (len(made), len(recorder.calls), recorder.skipped) == (4, 2, 2)


def arguments_of(**changed):
    """Scores, lengths and indices of a call, some of them changed."""
    whole = {"scores": np.ones((3, 90), np.float32), "lengths": LENGTHS, "indices": np.zeros((3, 8), np.int32)}
    return [array for array in (whole | changed).values() if array is not None]


UNKEPT = {
    "scores of another type": ({"scores": np.ones((3, 90))}, "scores must be float32 or bfloat16"),
    "indices of another type": ({"indices": np.zeros((3, 8), np.int64)}, "indices must be int32, got int64"),
    "a length past int32": ({"lengths": np.array([90, 2**33, 4])}, "lengths must fit int32, got 8589934592"),
    "lengths that are no integers": ({"lengths": np.ones(3)}, "lengths must be integers, got float64"),
    "lengths of other rows": ({"lengths": LENGTHS[:2]}, "a call: lengths: found shape (2,)"),
    "indices of other rows": ({"indices": np.zeros((2, 8), np.int32)}, "a call: indices: found shape (2, 8)"),
    "no indices": ({"indices": None}, "TypeError"),
    "scores that are none": ({"scores": "scores"}, "AttributeError"),
}


@pytest.mark.parametrize(("changed", "reason"), UNKEPT.values(), ids=UNKEPT)
def test_a_call_that_cannot_be_kept_is_made_and_counted(changed, reason):
    """The wrapped function runs and gives its result, whatever is wrong with the recording; the reason is kept."""
    recorder = Recorder()
    assert recorder.wrap(lambda *_: "its result")(*arguments_of(**changed)) == "its result"
    assert (recorder.calls, recorder.skipped, sum(recorder.reasons.values())) == ([], 1, 1)
    assert reason in next(iter(recorder.reasons))


def test_an_error_of_the_wrapped_function_is_its_own():
    """What it raises comes through as it is, and is no skipped call."""

    def broken(*_):
        raise RecordingError("its own")

    recorder = Recorder()
    with pytest.raises(RecordingError, match="its own"):
        recorder.wrap(broken)(*arguments_of())
    assert (recorder.calls, recorder.skipped) == ([], 0)


def test_wide_lengths_that_fit_are_kept():
    """Lengths of 64 bits come out as int32, with the same values."""
    recorder = Recorder()
    recorder.wrap(lambda *_: None)(*arguments_of(lengths=LENGTHS.astype(np.int64)))
    (call,) = recorder.calls
    assert (call.lengths.dtype, call.lengths.tolist()) == (np.int32, LENGTHS.tolist())


def test_reasons_are_counted_and_bounded():
    """The same reason counts up; past the last that is told apart, the others count together."""
    recorder = Recorder()
    function = recorder.wrap(lambda *_: None)
    for rows in (*range(4, 40), 39, 5):
        function(*arguments_of(indices=np.zeros((rows, 8), np.int32)))
    assert (recorder.skipped, len(recorder.reasons)) == (38, recorded.MOST_REASONS + 1)
    assert recorder.reasons[recorded.OTHER] == 17
    assert max(recorder.reasons[reason] for reason in recorder.reasons if reason != recorded.OTHER) == 2


def test_reasons_go_with_the_file_into_the_certificate(tmp_path):
    """Whoever reads how many calls were skipped reads why."""
    recorder = Recorder()
    recorder.wrap(select)(*arguments_of())
    recorder.wrap(lambda *_: None)(*arguments_of(indices=np.zeros((3, 8), np.int64)))
    recorder.write(tmp_path / "calls.npz")
    (file,) = recorded_check.check([tmp_path / "calls.npz"], device=None).record()["files"]
    assert (file["skipped"], file["reasons"]) == (1, {"indices must be int32, got int64.": 1})


def test_a_recorder_that_kept_nothing_says_why(tmp_path):
    """Where every call was skipped, writing tells the reasons."""
    recorder = Recorder()
    recorder.wrap(lambda *_: None)(*arguments_of(indices=np.zeros((3, 8), np.int64)))
    with pytest.raises(RecordingError, match="no call to write; 1 skipped: indices must be int32, got int64"):
        recorder.write(tmp_path / "calls.npz")


def test_a_recorder_takes_bfloat16_tensors():
    """Bits of bfloat16 and lengths in a column are kept as the oracle takes them."""
    torch = pytest.importorskip("torch")
    bits = np.arange(270, dtype=np.uint16).reshape(3, 90)
    scores = torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16)
    lengths, out = torch.from_numpy(LENGTHS)[:, None], torch.full((3, 8), 5, dtype=torch.int32)
    recorder = Recorder()
    recorder.wrap(lambda *_: None)(scores, lengths, out)
    (call,) = recorder.calls
    assert (call.scores.tobytes(), call.dtype) == (bits.tobytes(), "bfloat16")
    assert (call.lengths.tolist(), call.indices.tolist()) == (LENGTHS.tolist(), out.tolist())


def test_a_call_in_a_captured_graph_is_made_and_skipped(monkeypatch):
    """Nothing may be copied to the host while a graph is captured."""
    cuda = SimpleNamespace(is_current_stream_capturing=lambda: True)
    monkeypatch.setitem(recorded.sys.modules, "torch", SimpleNamespace(cuda=cuda))
    recorder = Recorder()
    assert recorder.wrap(lambda *_: "made")(SimpleNamespace(is_cuda=True), None, None) == "made"
    assert (recorder.calls, recorder.skipped) == ([], 1)


def test_what_a_recorder_wrote_is_read(tmp_path):
    """From the wrapped function through the file to the comparison."""
    recorder = Recorder(skipped=1)
    recorder.wrap(select)(np.ones((3, 90), np.float32), LENGTHS, np.zeros((3, 8), np.int32))
    recorder.write(tmp_path / "calls.npz", {"vllm": "0.33.0"})
    assert recorded_check.check([tmp_path / "calls.npz"], device=None).right


def test_the_oracle_agrees_with_what_it_wrote(path):
    """Equal bytes in every call: counts of calls and rows, and the file's own hash."""
    certificate = recorded_check.check([path], device=None)
    (file,) = certificate.files
    assert certificate.right
    assert (file.calls, file.rows, file.mismatches) == (4, 12, 0)
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("place", range(4))
def test_one_changed_column_is_found(tmp_path, place):
    """A single entry that differs makes its row and its call differ, and is told with place and both values."""
    calls = [replace(call, indices=call.indices.copy()) for call in CALLS]
    calls[place].indices[2, 1] += 1
    record(calls, tmp_path / "calls.npz")
    certificate = recorded_check.check([tmp_path / "calls.npz"], device=None)
    assert not certificate.right
    assert [record["mismatched_rows"] for record in certificate.equality] == [int(at == place) for at in range(4)]
    want = calls[place].indices[2, 1]
    told = f"1 of 3 rows differ; first at row 2, place 1: got {want - 1}, want {want}"
    assert certificate.wrong[0].endswith(f"call {place}: oracle and what was recorded: {told}")


def test_another_order_differs_and_is_said_to_be_that(tmp_path):
    """The same columns in another order are other bytes; the certificate counts them apart."""
    call = CALLS[0]
    record([replace(call, indices=call.indices[:, ::-1].copy())], tmp_path / "calls.npz")
    (file,) = recorded_check.check([tmp_path / "calls.npz"], device=None).files
    tally = file.tallies["oracle"]
    assert (tally.mismatched_rows, tally.other_order_rows, tally.rows_unlike_oracle) == (3, 3, 0)


def test_a_file_counts_once(path, tmp_path):
    """The same bytes under another name would count calls twice."""
    copy = tmp_path / "copy.npz"
    copy.write_bytes(path.read_bytes())
    with pytest.raises(RecordingError, match=r"has the bytes of .*calls\.npz; its calls would count twice"):
        recorded_check.check([path, copy], device=None)


def test_a_length_past_the_row_counts_as_the_row(tmp_path):
    """As in the kernels, which read no further than the row."""
    call = CALLS[0]
    all_live = top_k(call.values, call.k, None, call.order)
    record([replace(call, lengths=np.full(3, 1000, np.int32), indices=all_live)], tmp_path / "calls.npz")
    assert recorded_check.check([tmp_path / "calls.npz"], device=None).right


@pytest.fixture
def kernels(monkeypatch):
    """The oracle in the kernels' place; a test spoils one."""
    stand_in = {}

    class Array:
        def __init__(self, host, *, dtype=None):
            self.host = host.view(np.float32) if dtype == "float32" else host
            self.shape = host.shape

        def to_host(self):
            return self.host

    def whole(name):
        def run(scores, lengths, out, *, order, stream):
            live = np.minimum(lengths.host, scores.shape[1])
            out.host[:] = top_k(scores.host, out.shape[1], live, order)
            stand_in.get(name, lambda host: None)(out.host)

        return run

    def among(scores, lengths, candidates, out, *, cluster, order, stream):
        out.host[:] = masked_top_k(scores.host, out.shape[1], lengths.host, candidates.host, order)
        stand_in.get(f"masked_topk c{cluster}", lambda host: None)(out.host)

    monkeypatch.setattr(recorded_check, "DeviceArray", Array)
    monkeypatch.setattr(recorded_check, "surroundings", lambda device: {"sources": "0123456789abcdef"})
    for name in ("served_topk", "rs8", "auto"):
        monkeypatch.setattr(topk, name, whole(name))
    monkeypatch.setattr(topk, "masked_topk", among)
    return stand_in


def test_every_kernel_that_takes_a_call_is_compared(path, kernels):
    """Whole rows go to the three kernels, masked calls to F in both sizes of cluster; each is counted by itself."""
    certificate = recorded_check.check([path], device=object())
    assert certificate.right
    counts = {name: tally.calls for name, tally in certificate.files[0].tallies.items()}
    whole, masked = dict.fromkeys(("served_topk", "rs8", "auto"), 2), {"masked_topk c1": 2, "masked_topk c8": 2}
    assert counts == {"oracle": 4, **whole, **masked}


@pytest.mark.parametrize("name", ["served_topk", "rs8", "auto", "masked_topk c1", "masked_topk c8"])
def test_a_kernel_that_is_wrong_in_one_row_is_found(path, kernels, name):
    """One kernel alone that differs makes the row differ in the table, and is named."""

    def spoil(host):
        host[1, 0] = 99

    kernels[name] = spoil
    certificate = recorded_check.check([path], device=object())
    assert not certificate.right
    assert {record["mismatched_rows"] for record in certificate.equality} == {0, 1}
    assert f"{name} and what was recorded: 1 of 3 rows differ; first at row 1, place 0: got 99" in certificate.wrong[0]


def test_a_place_that_no_kernel_wrote_differs(path, kernels, monkeypatch):
    """Outputs are poisoned before each call."""
    monkeypatch.setattr(topk, "auto", lambda *arguments, **options: None)
    certificate = recorded_check.check([path], device=object())
    assert "got -7" in certificate.wrong[0]


def test_a_call_that_no_kernel_takes_is_said(path, kernels, monkeypatch):
    """What the kernels refuse is told with file, call and kernel."""

    def refuse(*arguments, **options):
        raise ValueError("k, the second dimension of indices, must be from 1 to 4,096, got 5,000")

    monkeypatch.setattr(topk, "rs8", refuse)
    with pytest.raises(RecordingError, match="call 0: rs8 does not take it: k, the second dimension"):
        recorded_check.check([path], device=object())


def test_the_table_is_a_part_s_equality(path, kernels, tmp_path):
    """What is written is read as the table `equality` of a part, with a record a call."""
    part = compiled(tmp_path)
    part.plan["tables"]["equality"] = "data/equality.csv"
    certificate = recorded_check.check([path], device=object())
    part.write()
    table = tmp_path / "data" / "equality.csv"
    recorded_check.write_table(certificate, table)
    with table.open() as file:
        part.equality = list(csv.DictReader(file))
    frame = part.data().tables["equality"]
    assert frame["call"].tolist() == [1, 2, 3, 4]
    assert (frame["rows"].sum(), frame["mismatched_rows"].sum()) == (12, 0)
    assert set(frame["check"]) == {"real-calls"}


def run(*arguments):
    """The command's outcome."""
    return CliRunner().invoke(main, ["check", *map(str, arguments)])


def test_the_command_compares_without_a_gpu(path, tmp_path):
    """--recorded --oracle needs no GPU, writes certificate and table, and ends with 0."""
    table, certificate = tmp_path / "equality.csv", tmp_path / "certificate.json"
    done = run("--recorded", "--oracle", path, "--table", table, "--record", certificate)
    assert done.exit_code == 0, done.output
    kept = json.loads(certificate.read_text())
    assert (kept["calls"], kept["rows"], kept["mismatches"], kept["kernels_ran"]) == (4, 12, 0, False)
    assert kept["files"][0]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert table.read_text().splitlines()[:2] == ["check,version,call,rows,mismatched_rows", "real-calls,oracle,1,3,0"]


def test_the_command_fails_on_a_difference(tmp_path):
    """A row that differs ends with 1."""
    call = CALLS[0]
    record([replace(call, indices=call.indices + 1)], tmp_path / "calls.npz")
    assert run("--recorded", "--oracle", tmp_path / "calls.npz").exit_code == 1


@pytest.mark.parametrize("arguments", [["--recorded"], ["calls.npz"], ["--oracle"], ["--table", "equality.csv"]])
def test_the_command_says_what_goes_together(arguments):
    """Files, --recorded, --oracle and --table without one another are wrong use."""
    done = run(*arguments)
    assert done.exit_code == 2
    assert "--recorded goes with FILES" in done.output
