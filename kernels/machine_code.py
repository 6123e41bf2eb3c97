"""What the compiler makes of the kernels: registers and spills, and float instructions where none may be.

Scores are ranked as bits. A compiler may still turn integer steps on a sign bit into float ones, which flush subnormals
and lose NaN; that happens in ptxas, after PTX, so only the machine code shows it.
"""

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from campaign.kernels.build import FLAGS, SOURCES
from campaign.kernels.errors import CampaignError
from campaign.kernels.toolkit import compile_cubin, tool

REGISTERS_OF_A_MULTIPROCESSOR = 65_536


@dataclass(frozen=True)
class Usage:
    """What one kernel uses, as ptxas reports it."""

    kernel: str
    registers: int
    """Registers of a thread."""
    spill_store_bytes: int
    spill_load_bytes: int
    shared_bytes: int
    """Static shared memory of a block."""


def compiled(text: str, target: str, cubin: Path, *, flags: Sequence[str] = FLAGS) -> str:
    """What ptxas reports of the CUDA source `text`, whose machine code for `target` is now in the file `cubin`.

    Raises CampaignError where nvcc is missing or refuses the text.
    """
    nvcc = tool("nvcc")
    if nvcc is None:
        raise CampaignError("no nvcc on the PATH, expected CUDA 13.0 or later. Install it, or skip what needs it.")
    source = cubin.with_suffix(".cu")
    source.write_text(text)
    return compile_cubin(nvcc, source, target, cubin, (*flags, f"-I{SOURCES}", "-Xptxas=-v"), str(source))


def usages(report: str) -> list[Usage]:
    """What each kernel uses, from a report of `ptxas -v`, in the order of the report.

    Raises ValueError where a kernel's figures are not all there.
    """
    found = []
    for part in re.split(r"Compiling entry function '", report)[1:]:
        kernel = part.partition("'")[0]
        registers = re.search(r"Used (\d+) registers", part)
        spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part)
        shared = re.search(r"(\d+) bytes smem", part)
        if registers is None or spilled is None:
            raise ValueError(f"no registers or spills of {kernel} in the report of ptxas: {part[:300]!r}")
        static = int(shared[1]) if shared else 0
        found.append(Usage(kernel, int(registers[1]), int(spilled[1]), int(spilled[2]), static))
    return found


def shape_of(kernel: str) -> str:
    """The launch shape that a kernel's name ends with, as `str(Shape)` writes it; the name where there is none."""
    match = re.search(r"c\d+_t\d+_v\d+$", kernel)
    return match[0] if match else kernel


def threads_of(kernel: str) -> int:
    """Threads of a block, from a kernel's name; 1,024 where it does not say."""
    match = re.search(r"_t(\d+)_v", kernel)
    return int(match[1]) if match else 1024


Budget = Mapping[str, Mapping[str, int]]
"""For each family of kernels and shape (`budget_key`), the most of each figure of a Usage."""


def budget_key(kernel: str) -> str:
    """What a kernel's budget is kept under: its function and its shape, whatever its type of score and order."""
    return f"{kernel.partition('_float32')[0].partition('_bfloat16')[0]} {shape_of(kernel)}"


def budget_of(found: Iterable[Usage], *, registers: int = 6, spilled: int = 16) -> dict[str, dict[str, int]]:
    """A budget that the usages keep, with room for so many registers of a thread, and so many bytes spilled."""
    budget: dict[str, dict[str, int]] = {}
    for usage in found:
        own = {
            "registers": min(REGISTERS_OF_A_MULTIPROCESSOR // threads_of(usage.kernel), usage.registers + registers),
            "spill_store_bytes": usage.spill_store_bytes + spilled,
            "spill_load_bytes": usage.spill_load_bytes + spilled,
            "shared_bytes": usage.shared_bytes,
        }
        kept = budget.setdefault(budget_key(usage.kernel), own)
        kept.update({name: max(kept[name], value) for name, value in own.items()})
    return dict(sorted(budget.items()))


def over_budget(found: Iterable[Usage], budget: Budget) -> list[str]:
    """A sentence for each figure that exceeds the budget, and for each kernel that has none."""
    said = []
    for usage in found:
        key = budget_key(usage.kernel)
        if key not in budget:
            said.append(f"{usage.kernel}: no budget for {key!r}")
            continue
        figures = asdict(usage)
        said += [
            f"{usage.kernel}: {figures[name]} {name.replace('_', ' ')}, the budget is {most}"
            for name, most in budget[key].items()
            if figures[name] > most
        ]
    return said


@dataclass(frozen=True)
class Instruction:
    """One line of machine code."""

    opcode: str
    """With its suffixes: FADD.FTZ."""
    operands: str

    @property
    def name(self) -> str:
        """The opcode without its suffixes."""
        return self.opcode.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.opcode} {self.operands}"


def disassembled(cubin: Path) -> dict[str, list[Instruction]]:
    """The machine code of each kernel in a cubin.

    Raises CampaignError where nvdisasm is missing or cannot read the file.
    """
    nvdisasm = tool("nvdisasm")
    if nvdisasm is None:
        raise CampaignError("no nvdisasm on the PATH. Install the package nvidia-cuda-nvdisasm.")
    done = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CampaignError(f"nvdisasm cannot read {cubin}: {done.stderr.strip()[-1000:]}")
    return instructions(done.stdout)


def instructions(listing: str) -> dict[str, list[Instruction]]:
    """The machine code of each kernel in a listing of nvdisasm."""
    line = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);", re.MULTILINE)
    parts = re.split(r"^\s*\.section\s+\.text\.(\w+),.*$", listing, flags=re.MULTILINE)
    return {
        kernel: [Instruction(opcode, operands.strip()) for opcode, operands in line.findall(code)]
        for kernel, code in zip(parts[1::2], parts[2::2], strict=True)
    }


NO_FLOATS = {"FENCE", "FLO", "F2I"}
"""Names that begin with F, of which two mean no float, and the third is the end of an integer division."""
HALVES = ("HADD", "HFMA", "HMUL", "HMNMX", "HSET")
OTHERS = ("MUFU", "DADD", "DMUL", "DFMA", "DSETP", "DMNMX")


def float_instructions(code: Sequence[Instruction]) -> list[Instruction]:
    """The instructions that calculate with floats or compare them.

    Not counted is what stands for integer work: a half-precision multiplication of zero by zero, by which a constant is
    put in a register, and the reciprocals of integer divisions, each with its conversion from an integer and back.
    """
    reciprocals = sum(each.opcode == "MUFU.RCP" for each in code)
    of_integers = all(sum(each.name == name for each in code) >= reciprocals for name in ("I2F", "F2I"))
    return [each for each in code if _is_float(each) and not (of_integers and each.opcode == "MUFU.RCP")]


def _is_float(each: Instruction) -> bool:
    """Whether an instruction works on floats."""
    if each.name.startswith(HALVES):
        multiplied = [operand.strip().lstrip("-") for operand in each.operands.split(",")[1:3]]
        return multiplied != ["RZ", "RZ"]
    return each.name not in NO_FLOATS and each.name.startswith(("F", *OTHERS))
