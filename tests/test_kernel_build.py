"""What the compiler makes of the CUDA kernels, for both targets, and the reading of what it says.

The tests that compile are skipped where nvcc is missing, and those that look at machine code where nvdisasm is. After a
change of the kernels or the compiler, `.venv/bin/python -P tests/test_kernel_build.py` writes their budget anew.
"""

import fcntl
import json
import pickle
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from campaign.kernels import build, machine_code, toolkit
from campaign.kernels.build import FLAGS, TARGETS, Unit, units
from campaign.kernels.errors import CampaignError
from campaign.kernels.machine_code import (
    Instruction,
    Usage,
    budget_key,
    budget_of,
    compiled,
    disassembled,
    float_instructions,
    instructions,
    over_budget,
    shape_of,
    tool,
    usages,
)
from campaign.kernels.shapes import Shape

BUDGET = Path(__file__).parent / "data" / "kernel-budget.json"
MOST_SPILLED_BYTES = 112
"""96, and the room that a budget gives."""
FLOAT32, BFLOAT16 = "KERNEL({}, float, float32, served, {})", "KERNEL({}, bfloat16, bfloat16, ieee, {})"
"""A kernel of each type of score, each in another order."""
FUNCTIONS = {"topk.cu": "topk", "masked.cu": "masked_topk"}
"""What the kernels of each source are called."""
BOTH = {"topk_c8"}
"""Units of which both are compiled here for the shape that keeps keys; of the others, one."""

every_unit = pytest.mark.parametrize("unit", units(), ids=lambda unit: unit.name)
every_target = pytest.mark.parametrize("target", TARGETS)


def need(name: str, package: str) -> None:
    """Skips the test where a tool of the CUDA toolkit is missing."""
    if tool(name) is None:
        pytest.skip(f"NOT COMPILED, NOT CHECKED: no {name} here. Put it on the PATH, or install {package}")


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """One folder for all workers of this run."""
    here = tmp_path_factory.getbasetemp()
    shared = (here.parent if here.name.startswith("popen-") else here) / "machine-code"
    shared.mkdir(exist_ok=True)
    return shared


def representatives(unit: Unit) -> dict[Shape, tuple[str, ...]]:
    """Of a unit, the largest shape that keeps keys and the one that keeps none, each with its kernels to compile.

    Of F, which takes longest to compile, one shape a unit: each of its kernels has both ways of reading in it.
    """
    kept = max((shape for shape in unit.shapes if shape.vectors), key=lambda shape: shape[1:])
    (none,) = (shape for shape in unit.shapes if not shape.vectors)
    if unit.name in BOTH:
        return {kept: (FLOAT32, BFLOAT16), none: (FLOAT32,)}
    if unit.source == "masked.cu":
        return {kept: (FLOAT32,)} if kept.cluster == 1 else {none: (BFLOAT16,)}
    return {kept: (FLOAT32,), none: (BFLOAT16,)}


def text_of(unit: Unit, kinds: dict[Shape, tuple[str, ...]]) -> str:
    """What the compiler is given for kernels of these kinds."""
    name = FUNCTIONS[unit.source]
    kernels = [kind.format(name, ", ".join(map(str, shape))) for shape, each in kinds.items() for kind in each]
    return f'#define SHAPES {" ".join(kernels)}\n#include "{unit.source}"\n'


def made(folder: Path, unit: Unit, target: str) -> tuple[list[Usage], Path]:
    """What a unit's representatives use, and their machine code; compiled once, whichever worker asks first."""
    need("nvcc", "nvidia-cuda-nvcc")
    cubin, kept = folder / f"{unit.name}.{target}.cubin", folder / f"{unit.name}.{target}.usages"
    with open(folder / f"{unit.name}.{target}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            report = compiled(text_of(unit, representatives(unit)), target, cubin)
            kept.write_bytes(pickle.dumps(usages(report)))
    return pickle.loads(kept.read_bytes()), cubin


@every_target
@every_unit
def test_kernels_keep_their_budget(folder, unit, target):
    """No representative uses more registers, spilled bytes or static shared memory than its budget has."""
    found, _ = made(folder, unit, target)
    assert {shape_of(usage.kernel) for usage in found} >= {str(shape) for shape in representatives(unit)}
    assert over_budget(found, json.loads(BUDGET.read_text())[target]) == []


@every_target
@every_unit
def test_kernels_calculate_with_integers_alone(folder, unit, target):
    """No representative holds a float instruction, under which subnormals or NaN could change their rank."""
    need("nvdisasm", "nvidia-cuda-nvdisasm")
    found, cubin = made(folder, unit, target)
    code = disassembled(cubin)
    assert set(code) == {usage.kernel for usage in found}
    assert all(len(lines) > 30 for lines in code.values())
    floats = {kernel: [str(each) for each in float_instructions(lines)] for kernel, lines in code.items()}
    assert {kernel: lines for kernel, lines in floats.items() if lines} == {}


NAIVE = """
#include <cuda_fp16.h>
extern "C" __global__ void naive(const float* scores, unsigned* coarse, unsigned* keys) {
    const float score = scores[threadIdx.x];
    coarse[threadIdx.x] = __half_as_ushort(__float2half_rn(score));
    const unsigned bits = __float_as_uint(score);
    keys[threadIdx.x] = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
"""
"""The usual mapping of a score to its key, beside a coarse bin that needs the score as a float."""


def naive_floats(folder: Path, target: str, *flags: str) -> set[str]:
    """The opcodes of the float instructions in NAIVE."""
    need("nvcc", "nvidia-cuda-nvcc")
    need("nvdisasm", "nvidia-cuda-nvdisasm")
    cubin = folder / f"naive-{target}-{len(flags)}.cubin"
    compiled(NAIVE, target, cubin, flags=[*FLAGS, *flags])
    (code,) = disassembled(cubin).values()
    return {each.opcode for each in float_instructions(code)}


def test_naive_key_under_fast_math_is_found(tmp_path):
    """The usual mapping, compiled for sm_120a with -use_fast_math, is seen to flush subnormals."""
    assert "FADD.FTZ" in naive_floats(tmp_path, "sm_120a", "-use_fast_math")


def test_naive_key_is_found_without_fast_math_too(tmp_path):
    """Even without the flag, the usual mapping is seen to go through a float addition on sm_120a."""
    assert "FADD" in naive_floats(tmp_path, "sm_120a")


def test_naive_key_stays_integer_on_hopper(tmp_path):
    """On sm_90a the usual mapping stays integer work under -use_fast_math: the quirk has to be coded there."""
    assert naive_floats(tmp_path, "sm_90a", "-use_fast_math") == {"F2F.F16.F32"}


def test_source_that_nvcc_refuses_is_an_error(tmp_path):
    """What nvcc says of a wrong source is in the error."""
    need("nvcc", "nvidia-cuda-nvcc")
    with pytest.raises(CampaignError, match=r"nvcc refused .* for sm_90a:\n(.|\n)*no_such_thing"):
        compiled("int wrong = no_such_thing;", "sm_90a", tmp_path / "wrong.cubin")


@pytest.mark.parametrize("call", [lambda at: compiled("", "sm_90a", at), disassembled])
def test_missing_tool_is_an_error(call, tmp_path, monkeypatch):
    """Where nvcc or nvdisasm is missing, the error says which to get."""
    monkeypatch.setattr(machine_code, "tool", lambda name: None)
    with pytest.raises(CampaignError, match=r"no (nvcc|nvdisasm) on the PATH"):
        call(tmp_path / "x.cubin")


def test_missing_build_is_an_error(tmp_path, monkeypatch):
    """Where no build is found, the error says where it was looked for and how to make one."""
    monkeypatch.setattr(build, "BUILT", tmp_path / "built")
    monkeypatch.setattr(build, "cache", lambda: tmp_path / "cache")
    with pytest.raises(CampaignError, match=r"for sm_90a in .*built, .*cache .*campaign\.kernels build`"):
        build.find("sm_90a")


def test_build_of_these_sources_is_found(tmp_path):
    """A folder that has the machine code of every unit, under the hash of these sources, is found."""
    folder = tmp_path / build.fingerprint()
    folder.mkdir()
    for unit in units():
        (folder / f"{unit.name}.sm_90a.cubin").touch()
    assert build.find("sm_90a", [tmp_path]) == folder


@pytest.mark.parametrize(
    "refusal", [CampaignError("nvcc refused it"), KeyboardInterrupt()], ids=["refused", "interrupted"]
)
def test_compilation_that_ends_early_leaves_no_files(refusal, tmp_path, monkeypatch):
    """What nvcc was given, and what it had written by then, are gone where it refuses or is interrupted."""

    def run(command: list[Path], **options: object) -> None:
        *_, cubin, source = command
        assert source.read_text()
        cubin.write_bytes(b"half")
        raise refusal

    monkeypatch.setattr(toolkit.subprocess, "run", run)
    with pytest.raises(type(refusal)):
        build._compile(Path("nvcc"), tmp_path, units()[0], "sm_90a")
    assert list(tmp_path.iterdir()) == []


def test_no_flag_loosens_float_arithmetic():
    """The kernels are compiled without fast math, and without flushing of subnormals."""
    assert not [flag for flag in FLAGS if "fast" in flag or "ftz" in flag]


def budgets(target: str) -> dict[str, dict[str, int]]:
    """The budget of a target's kernels that have a shape."""
    return {key: most for key, most in json.loads(BUDGET.read_text())[target].items() if "_v" in key}


@every_target
def test_every_shape_has_a_budget(target):
    """The budget has the shapes that are built, and no others."""
    assert set(budgets(target)) == {f"{FUNCTIONS[unit.source]} {shape}" for unit in units() for shape in unit.shapes}


SPILLING = {
    "sm_90a": {"masked_topk c8_t512_v1", "masked_topk c8_t1024_v0"}
    | {f"topk c{cluster}_t1024_v0" for cluster in (2, 4, 8, 16)},
    "sm_120a": set(),
}
"""Shapes that may spill more than that: clusters that read the row again at every pass, as F may in each shape."""


@every_target
def test_budget_has_few_spills(target):
    """No shape may spill more than 96 bytes of a thread's registers, but for those named here."""
    over = {key for key, most in budgets(target).items() if most["spill_store_bytes"] > MOST_SPILLED_BYTES}
    assert over == SPILLING[target]


@every_target
def test_budget_has_no_more_registers_than_there_are(target):
    """A block of 1,024 threads gets by with 64 registers a thread, one of 512 with 128."""
    for key, most in budgets(target).items():
        assert most["registers"] <= (128 if "_t512_" in key else 64), key


REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'topk_float32_ieee_c8_t512_v2' for 'sm_90a'
ptxas info    : Function properties for topk_float32_ieee_c8_t512_v2
    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 79 registers, used 1 barriers, 256 bytes smem
ptxas info    : Compiling entry function 'topk_bfloat16_served_c8_t1024_v4' for 'sm_90a'
ptxas info    : Function properties for topk_bfloat16_served_c8_t1024_v4
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers
"""
FIRST = Usage("topk_float32_ieee_c8_t512_v2", 79, 12, 20, 256)
SECOND = Usage("topk_bfloat16_served_c8_t1024_v4", 64, 0, 0, 0)


def test_report_is_read_kernel_by_kernel():
    """Registers, spilled bytes and shared memory of each kernel are taken from the report."""
    assert usages(REPORT) == [FIRST, SECOND]


def test_report_without_figures_is_refused():
    """A kernel without its figures is an error, and not a kernel that uses nothing."""
    with pytest.raises(ValueError, match="no registers or spills of topk_bfloat16_served_c8_t1024_v4"):
        usages(REPORT.partition("    0 bytes stack frame")[0])


@pytest.mark.parametrize("figure", ["registers", "spill_store_bytes", "spill_load_bytes", "shared_bytes"])
def test_figure_over_its_budget_is_named(figure):
    """One more than the budget of any figure is said, with the kernel, the figure and the budget."""
    budget = budget_of([FIRST, SECOND], registers=0, spilled=0)
    assert over_budget([FIRST, SECOND], budget) == []
    most = getattr(FIRST, figure)
    worse = Usage(**{**FIRST.__dict__, figure: most + 1})
    assert over_budget([worse], budget) == [
        f"{FIRST.kernel}: {most + 1} {figure.replace('_', ' ')}, the budget is {most}"
    ]


def test_kernel_without_a_budget_is_named():
    """A kernel of a shape that the budget lacks is said, and does not pass."""
    assert over_budget([SECOND], budget_of([FIRST])) == [f"{SECOND.kernel}: no budget for 'topk c8_t1024_v4'"]


def test_budget_is_one_for_all_types_and_orders_of_a_shape():
    """Kernels that differ in type or order share a budget, which has room for the largest of them."""
    other = Usage("topk_bfloat16_served_c8_t512_v2", 85, 0, 24, 0)
    assert budget_key(other.kernel) == budget_key(FIRST.kernel) == "topk c8_t512_v2"
    assert budget_of([FIRST, other], registers=0, spilled=0) == {
        "topk c8_t512_v2": {"registers": 85, "spill_store_bytes": 12, "spill_load_bytes": 24, "shared_bytes": 256}
    }


def test_budget_stays_below_what_a_block_can_have():
    """The room that a budget gives ends at the registers that a block of so many threads can have."""
    assert budget_of([SECOND])["topk c8_t1024_v4"]["registers"] == 64


LISTING = """\
	.section	.text.first,"ax",@progbits
first:
.text.first:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P1 FADD.FTZ R9, |R2|, -RZ ;
.L_x_1:
        /*0020*/                   EXIT ;
	.section	.text.second,"ax",@progbits
        /*0000*/              @UP0 UMOV UR4, 0x400 ;
"""


def test_listing_is_read_kernel_by_kernel():
    """Each kernel's instructions come with their operands and without their predicates."""
    assert instructions(LISTING) == {
        "first": [
            Instruction("LDC", "R1, c[0x0][0x28]"),
            Instruction("FADD.FTZ", "R9, |R2|, -RZ"),
            Instruction("EXIT", ""),
        ],
        "second": [Instruction("UMOV", "UR4, 0x400")],
    }


DIVISION = [
    Instruction("I2F.RP", "R3, R4"),
    Instruction("MUFU.RCP", "R3, R3"),
    Instruction("F2I.FTZ.U32.TRUNC.NTZ", "R3, R3"),
]


@pytest.mark.parametrize(
    "text",
    [
        "FADD R1, R2, R3",
        "FMUL.FTZ R1, R2, R3",
        "FFMA R1, R2, R3, R4",
        "FMNMX R1, R2, R3, PT",
        "FSETP.GT.FTZ.AND P0, PT, R2, R3, PT",
        "FSEL R1, R2, R3, P0",
        "F2F.F16.F32 R0, R2",
        "MUFU.EX2 R1, R2",
        "MUFU.RCP R1, R2",
        "HADD2.F32 R1, -RZ, R2.H0_H0",
        "HFMA2 R1, R2, R3, R4",
        "DADD R2, R4, R6",
    ],
)
def test_float_instruction_is_found(text):
    """An instruction that works on floats is found, also beside an integer division."""
    opcode, _, operands = text.partition(" ")
    each = Instruction(opcode, operands)
    assert each in float_instructions([*DIVISION, each])


@pytest.mark.parametrize(
    "text",
    ["FLO.U32 R1, R2", "FENCE.VIEW.ASYNC.S", "HFMA2 R5, -RZ, RZ, 0, 1.1920928955078125e-07", "LOP3.LUT R1, R2, R3, RZ"],
)
def test_integer_instruction_is_no_float(text):
    """A bit count, a fence, a constant put in a register and a logic step are no float instructions."""
    opcode, _, operands = text.partition(" ")
    assert float_instructions([Instruction(opcode, operands)]) == []


def test_integer_division_is_no_float():
    """The reciprocal of an integer division, between its conversions, is no float instruction."""
    assert float_instructions(DIVISION) == []


def write_budget() -> None:
    """Writes the budget of what the compiler gives now, for every shape and both types of score."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor() as pool:

        def found(each: tuple[str, Unit]) -> list[Usage]:
            target, unit = each
            text = text_of(unit, dict.fromkeys(unit.shapes, (FLOAT32, BFLOAT16)))
            return usages(compiled(text, target, Path(name) / f"{unit.name}.{target}.cubin"))

        every = [(target, unit) for target in TARGETS for unit in units()]
        used = list(zip(every, pool.map(found, every), strict=True))
    budget = {
        target: budget_of(usage for (at, _), usages_of_unit in used if at == target for usage in usages_of_unit)
        for target in TARGETS
    }
    BUDGET.write_text(json.dumps(budget, indent=1) + "\n")


if __name__ == "__main__":
    write_budget()
