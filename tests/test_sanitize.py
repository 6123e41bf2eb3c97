"""The sanitizer's command: what it reads, when it fails, and that its sweep and planted faults are what they say."""

import ctypes
import json
import os
import time
from functools import partial

import numpy as np
import pytest

from campaign.kernels import driver, faults, launches, sanitize, sanitizer_log, swept, topk
from campaign.kernels.device_array import DeviceArray
from campaign.kernels.errors import CampaignError
from campaign.kernels.faults import FAULTS
from campaign.kernels.machine_code import disassembled
from campaign.kernels.masks import masked, masked_top_k
from campaign.kernels.oracle import top_k
from campaign.kernels.sanitize import CANNOT, OK, WRONG, Outcome, Run
from campaign.kernels.shapes import MASKED_SHAPES, SHAPES
from campaign.kernels.toolkit import tool

MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at write_past_global+0xb0
=========     by thread (127,0,0) in block (0,0,0)
=========     Access at 0x7f1f3ba00200 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: ffi_call [0x7f2a] in libffi.so.8
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) on CUDA API call to cuCtxSynchronize.
=========     Saved host backtrace up to driver entry point at error
=========
========= Target application returned an error
========= ERROR SUMMARY: 2 errors
"""
RACECHECK = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at race_in_block(int *, int)+0xb0
=========     and Read access at race_in_block(int *, int)+0x110 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CLEAN = {
    "racecheck": "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n",
    **dict.fromkeys(
        ("memcheck", "synccheck", "initcheck"), "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
    ),
}
REFUSED = """\
========= COMPUTE-SANITIZER
========= Error: Device not supported. Please refer to the "Supported Devices" section of the sanitizer documentation
=========
========= ERROR SUMMARY: 1 error
"""
SURROUNDINGS = {"surroundings": {"when": "2026-11-30T12:00:00+00:00", "gpu": "a stand-in", "sources": "0123"}}


def test_a_finding_names_its_kernel():
    """A report is its first line, with the kernel that the lines below name."""
    assert sanitizer_log.read(MEMCHECK).findings == (
        ("Invalid __global__ write of size 4 bytes", ("write_past_global",)),
    )


def test_a_race_names_both_its_accesses():
    """Racecheck names kernels in the first line too; one kernel counts once."""
    (finding,) = sanitizer_log.read(RACECHECK).findings
    assert finding.kernels == ("race_in_block",)


@pytest.mark.parametrize(("text", "counts"), [(MEMCHECK, (2, 0)), (RACECHECK, (1, 0)), (CLEAN["racecheck"], (0, 0))])
def test_the_summary_counts(text, counts):
    """Errors and warnings are those of the tool's last line."""
    log = sanitizer_log.read(text)
    assert (log.errors, log.warnings) == counts


def test_warnings_are_counted_apart():
    """Hazards that are warnings are no errors."""
    log = sanitizer_log.read("========= RACECHECK SUMMARY: 3 hazards displayed (1 error, 2 warnings)\n")
    assert (log.errors, log.warnings) == (1, 2)


def test_a_log_without_summary_has_not_ended():
    """A tool that was stopped has not said that there is nothing."""
    assert not sanitizer_log.read("========= COMPUTE-SANITIZER\n").ended
    assert sanitizer_log.read(CLEAN["memcheck"]).ended


def test_a_refusal_is_no_finding_of_ours():
    """A device that the tool does not support is said in its own words."""
    assert "Device not supported" in sanitizer_log.read(REFUSED).refusal


def stand_in(run: Run, **changed: str) -> Outcome:
    """What a right run comes to: faults reported, all else clean. changed: logs, by fault or as tool_sweep."""
    if run.arguments[0] == "sweep":
        lines = [SURROUNDINGS]
        for launch in launches.SWEEPS[run.arguments[1]]():
            if launch.group in run.arguments[2:] or not run.arguments[2:]:
                lines += [{"begun": launch.name}, {"ended": launch.name, "rows": launch.rows, "wrong_rows": 0}]
        text = changed.get(f"{run.tool}_sweep", CLEAN.get(run.tool, ""))
    else:
        name, *sound = run.arguments[1:]
        lines = [SURROUNDINGS, {"begun": name}, {"ended": name, "rows": 0, "wrong_rows": 0}]
        planted = f"========= Some report\n=========     at {name}+0x10\n{CLEAN[run.tool]}"
        text = changed.get("_".join((name, *sound)), CLEAN[run.tool] if sound else planted)
    log = sanitizer_log.read(text)
    ended = (log.ended or not run.tool) and not log.refusal
    return Outcome(tuple(lines), log, ended, 1.0, "" if ended else "killed")


@pytest.fixture
def recorded(monkeypatch):
    """What makes a record from stand-ins."""
    monkeypatch.setattr(sanitize, "version", lambda: "2025.3.1.0")

    def make(runner=stand_in, **changed):
        return sanitize.sanitize(jobs=1, runner=partial(runner, **changed))

    return make


def test_faults_reported_and_nothing_else_is_right(recorded):
    """All controls seen and our kernels clean: 0, and no reasons."""
    assert sanitize.verdict(recorded()) == (OK, [])


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.required], ids=lambda fault: fault.name)
def test_a_planted_fault_that_is_not_reported_is_wrong(recorded, fault):
    """A tool that does not see what it must see is blind, and its silence is no pass."""
    code, reasons = sanitize.verdict(recorded(**{fault.name: CLEAN[fault.tool]}))
    assert code == WRONG
    assert any(fault.name in reason and "its silence says nothing" in reason for reason in reasons)


@pytest.mark.parametrize("name", sanitize.TOOLS)
def test_a_finding_on_our_kernels_is_wrong(recorded, name):
    """One report in the sweep of any tool fails the command."""
    found = f"========= Some report\n=========     at topk_float32_ieee_c8_t512_v1+0x10\n{CLEAN[name]}"
    code, reasons = sanitize.verdict(recorded(**{f"{name}_sweep": found}))
    assert (code, len(reasons)) == (WRONG, 1)
    assert "topk_float32_ieee_c8_t512_v1" in reasons[0]


def test_a_warning_on_our_kernels_is_wrong(recorded):
    """Racecheck's warnings fail the command as its errors do."""
    warned = "========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)\n"
    assert sanitize.verdict(recorded(racecheck_sweep=warned))[0] == WRONG


def test_a_tool_that_did_not_finish_cannot_tell(recorded):
    """A sweep without the tool's last line is said with the place that it had reached."""
    code, reasons = sanitize.verdict(recorded(synccheck_sweep="========= COMPUTE-SANITIZER\n"))
    assert code == CANNOT
    assert reasons[0].startswith("synccheck: not finished: ")


def test_a_report_without_a_fault_cannot_tell(recorded):
    """A tool that reports a control's sound twin as well reports too much to be believed."""
    alarm = "========= Some report\n=========     at race_in_cluster+0x10\n" + CLEAN["racecheck"]
    code, reasons = sanitize.verdict(recorded(race_in_cluster_sound=alarm))
    assert (code, reasons) == (CANNOT, ["racecheck: reports race_in_cluster also without its fault"])


def test_a_wrong_answer_is_wrong(recorded):
    """A row that differs from the oracle's fails the command whatever the tools say."""

    def wrong(run):
        outcome = stand_in(run)
        if run != Run("", ("sweep", "wide"), run.limit_seconds):
            return outcome
        return Outcome((*outcome.lines, {"ended": "x", "rows": 1, "wrong_rows": 1}), outcome.log, True, 1.0, "")

    code, reasons = sanitize.verdict(recorded(wrong))
    assert code == WRONG
    assert reasons[0].startswith("without a tool: 1 of ")


def test_a_device_that_is_refused_is_said(recorded):
    """Where the sanitizer does not support the device, nothing is recorded."""
    with pytest.raises(CampaignError, match="does not look at kernels here: Error: Device not supported"):
        recorded(write_past_global_sound=REFUSED)


def test_a_sweep_that_does_not_run_is_said(recorded):
    """Where not even the plain sweep runs, no tool is tried."""
    with pytest.raises(CampaignError, match="does not run here, without any tool:\nno driver"):
        recorded(lambda run: Outcome((), sanitizer_log.read(""), False, 0.1, "no driver"))


def test_what_had_no_time_is_not_finished(monkeypatch):
    """Past the last second nothing is begun, and all of it is recorded as not finished."""
    monkeypatch.setattr(sanitize, "version", lambda: "2025.3.1.0")
    clock = iter([0.0, 0.0, 0.0, *[421.0] * 99])
    monkeypatch.setattr(sanitize.time, "monotonic", lambda: next(clock))
    record = sanitize.sanitize(jobs=1, runner=stand_in)
    assert all(tool["not_finished"] for tool in record["tools"].values())
    assert sanitize.verdict(record)[0] == CANNOT


def test_the_record_says_which_tools_see_remote_shared_memory(recorded):
    """A tool sees another block's shared memory where it reported a fault there; with no such fault it is not asked."""
    tools = recorded(read_fresh_remote_shared=CLEAN["initcheck"])["tools"]
    sees = {name: tool["sees_remote_shared_memory"] for name, tool in tools.items()}
    assert sees == {"memcheck": True, "racecheck": True, "synccheck": None, "initcheck": False}


def test_an_optional_fault_not_seen_is_told_and_no_failure(recorded):
    """Whether a tool sees a missing wait is what is asked: the answer stands in record and page."""
    record = recorded(missing_wait=CLEAN["racecheck"])
    assert sanitize.verdict(record)[0] == OK
    line = next(line for line in sanitize.paragraph(record).splitlines() if line.startswith("| racecheck"))
    assert "| a missing wait for stores counted by a barrier | yes |" in line


def test_the_page_has_no_clean_word_for_a_finding(recorded):
    """The paragraph's head follows the verdict."""
    assert "nothing reported on our kernels" in sanitize.paragraph(recorded())
    assert "**not clean**" in sanitize.paragraph(recorded(race_in_block=CLEAN["racecheck"]))


def script(folder, monkeypatch, body):
    """A program in the sanitizer's place."""
    path = folder / "compute-sanitizer"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    monkeypatch.setattr(sanitize, "toolkit_tool", lambda name: path)
    sanitize._help.cache_clear()


def test_a_tool_that_hangs_is_stopped(tmp_path, monkeypatch):
    """A run past its limit ends with all that it started, and counts as not finished."""
    script(tmp_path, monkeypatch, f'[ "$1" = --help ] && exit; sleep 600 & echo $! > {tmp_path}/child; wait')
    outcome = sanitize.watched(Run("racecheck", ("sweep", "narrow"), 1.0))
    assert not outcome.ended
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            break
        time.sleep(0.02)
        if (status := _state(child)) in ("Z", ""):
            break
    else:
        pytest.fail(f"the child {child} goes on, in state {status}")


def _state(process):
    """A process's state as the kernel names it, or nothing."""
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def test_settings_that_a_version_does_not_know_are_left_out(tmp_path, monkeypatch):
    """Only what --help names is asked for."""
    script(tmp_path, monkeypatch, "echo '  --print-limit arg   how many'")
    settings = sanitize._command("memcheck")[1:]
    assert settings == ["--tool", "memcheck", "--error-exitcode", "9", "--print-limit", "20"]


def test_what_a_watched_process_says_is_read(tmp_path, monkeypatch):
    """Lines of JSON are the process's, the log is the tool's, and the exit code of findings is an end."""
    body = f"""[ "$1" = --help ] && exit
while [ "$1" != --log-file ]; do shift; done
cat > "$2" <<'LOG'
{RACECHECK}LOG
echo '{{"begun": "a"}}'
echo '{{"ended": "a", "rows": 1, "wrong_rows": 0}}'
echo '{{"begun": "b'
exit 9"""
    script(tmp_path, monkeypatch, body)
    outcome = sanitize.watched(Run("racecheck", ("sweep", "narrow"), 20.0))
    assert outcome.ended
    assert (outcome.begun, len(outcome.launches), len(outcome.log.findings)) == (["a"], 1, 1)


def test_every_fault_has_its_kernel(folder_of_faults):
    """The machine code holds one kernel for each planted fault, and no other."""
    assert set(disassembled(folder_of_faults)) == {fault.name for fault in FAULTS}


def test_remote_faults_store_into_another_block(folder_of_faults):
    """The missing wait is of the very instruction that the top-k kernels push with."""
    assert any(str(line).startswith("STAS") for line in disassembled(folder_of_faults)["missing_wait"])


@pytest.fixture(scope="module")
def folder_of_faults(tmp_path_factory):
    """The faults compiled for Hopper."""
    for name in ("nvcc", "nvdisasm"):
        if tool(name) is None:
            pytest.skip(f"NOT COMPILED, NOT CHECKED: no {name} here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults.build, "BUILT", tmp_path_factory.mktemp("built"))
        yield faults.ready("sm_90a")


def test_faults_without_build_and_compiler_say_what_to_do(tmp_path, monkeypatch):
    """Where neither machine code nor nvcc is, the message names the command that makes it."""
    monkeypatch.setattr(faults.build, "BUILT", tmp_path)
    monkeypatch.setattr(faults.build, "cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(faults, "tool", lambda name: None)
    with pytest.raises(CampaignError, match=r"campaign\.kernels build"):
        faults.ready("sm_90a")


def test_each_tool_has_a_required_fault():
    """No tool passes without having seen something."""
    assert {fault.tool for fault in FAULTS if fault.required} == set(sanitize.TOOLS)


def test_the_wide_sweep_reaches_every_kernel():
    """Each shape is launched with each type of score in each order, and F in each size of cluster."""
    names = [launch.name for launch in launches.wide()]
    for shape in SHAPES:
        for dtype, order in launches.KINDS:
            assert any(name.startswith(f"topk {shape}, {dtype} {order}") for name in names)
    for cluster in {shape.cluster for shape in MASKED_SHAPES}:
        assert any(name.startswith(f"masked_topk c{cluster}") for name in names)


def test_the_narrow_sweep_is_small_and_has_every_group():
    """Racecheck gets at most eight launches a group, rows of which few are long, and no group is left out."""
    narrow = list(launches.narrow())
    assert launches.groups("narrow") == launches.groups("wide")
    counts = [sum(launch.group == group for launch in narrow) for group in launches.groups("narrow")]
    assert 4 <= min(counts) <= max(counts) <= 8


def test_the_narrow_sweep_has_two_shapes_of_each_cluster():
    """As the page says of it: one that keeps its row, and one that reads it again."""
    shapes = {launch.name.split(",")[0] for launch in launches.narrow() if launch.name.startswith("topk ")}
    clusters = [shape.split("_")[0] for shape in shapes]
    assert {clusters.count(f"topk c{cluster}") for cluster in {shape.cluster for shape in SHAPES}} == {2}


def test_the_page_says_which_tool_saw_less(recorded):
    """Racecheck's silence is of fewer shapes than the others'."""
    said = sanitize.paragraph(recorded())
    assert "racecheck saw a narrow sweep: two shapes of each size of cluster, mostly one small row" in said
    assert "the other tools saw every shape" in said


class HostMemory:
    """Memory of the driver, on the host."""

    def __init__(self, size_bytes):
        self.bytes = bytearray(b"\xab" * size_bytes)

    @property
    def address(self):
        return ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))

    def write(self, data):
        assert len(data) == len(self.bytes)
        self.bytes[:] = data

    def read(self):
        return bytes(self.bytes)


@pytest.fixture
def on_the_host(monkeypatch):
    """The oracle in the kernels' place, on host memory."""
    monkeypatch.setattr("campaign.kernels.device_array.Memory", HostMemory)

    def shaped(scores, lengths, out, shape, *, order, stream):
        write(out, top_k(scores.to_host(), out.shape[1], lengths.to_host(), order))

    def among(scores, lengths, candidates, out, *, cluster, order, stream):
        write(out, masked_top_k(scores.to_host(), out.shape[1], lengths.to_host(), candidates.to_host(), order))

    def mask(scores, candidates, flags, *, stream):
        write(scores, masked(scores.to_host(), candidates.to_host()))

    def write(array, values):
        array._memory.write(values.tobytes())

    for name, stand in (("shaped", shaped), ("masked_topk", among), ("mask_candidates", mask)):
        monkeypatch.setattr(topk, name, stand)


@pytest.mark.parametrize(
    "launch", list(launches.narrow())[:6] + list(launches.wide())[-34::8], ids=lambda each: each.name
)
def test_a_right_launch_has_no_wrong_row(on_the_host, launch):
    """What the oracle itself writes is right."""
    assert launch.run(np.random.default_rng(1)) == 0


def test_a_launch_that_writes_nothing_is_wrong(on_the_host, monkeypatch):
    """An output that keeps its poison differs in every row."""
    monkeypatch.setattr(topk, "shaped", lambda *arguments, **options: None)
    launch = next(launches.wide())
    assert launch.run(np.random.default_rng(1)) == launch.rows == 3


def test_the_sweep_says_each_launch_before_and_after(on_the_host, capsys):
    """A process that is stopped has said in which launch it was."""
    swept.sweep("narrow", ["topk_c4"])
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    names = [launch.name for launch in launches.narrow() if launch.group == "topk_c4"]
    assert [line["begun"] for line in said[::2]] == [line["ended"] for line in said[1::2]] == names
    assert {line["wrong_rows"] for line in said[1::2]} == {0}


def test_the_sweep_leaves_out_clusters_that_a_device_has_not(on_the_host, capsys):
    """Clusters of 16 blocks are Hopper's: elsewhere nothing of them is begun."""
    swept.sweep("narrow", ["topk_c16"], largest_cluster=8)
    assert capsys.readouterr().out == ""


def test_an_array_on_the_device_is_what_topk_takes_for_a_tensor(monkeypatch):
    """Its arguments pass the checks of the calls, and strides count entries."""
    monkeypatch.setattr("campaign.kernels.device_array.Memory", HostMemory)
    scores = DeviceArray(np.zeros((3, 5000), np.uint16), dtype="bfloat16")
    out, lengths = DeviceArray(np.zeros((3, 512), np.int32)), DeviceArray(np.zeros(3, np.int32))
    assert topk._checked(scores, lengths, out, "ieee")[:3] == (3, 5000, 512)
    assert (scores.stride(0), scores.stride(1), scores.element_size(), scores.numel()) == (5000, 1, 2, 15_000)


def test_fresh_memory_is_not_written(monkeypatch):
    """An array that is not filled holds what its memory held."""
    monkeypatch.setattr("campaign.kernels.device_array.Memory", HostMemory)
    assert set(DeviceArray(np.zeros(4, np.uint8), filled=False).to_host()) == {0xAB}
    assert set(DeviceArray(np.zeros(4, np.uint8)).to_host()) == {0}


def test_memory_takes_and_gives_its_own_size(monkeypatch):
    """Bytes are written and read whole, freed once, and another size is refused."""
    calls = []

    class Fake:
        def __getattr__(self, name):
            return lambda *arguments: calls.append(name) or 0

    monkeypatch.setattr(driver, "driver", lambda: Fake())
    memory = driver.Memory(16)
    memory._address.value = 4096
    memory.write(bytes(16))
    assert len(memory.read()) == 16
    with pytest.raises(ValueError, match="expected 16 bytes for this memory, got 8"):
        memory.write(bytes(8))
    del memory
    assert calls == ["cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemFree_v2"]
