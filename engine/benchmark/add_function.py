"""A new module with one function is written beside another of the same kind, and its check is run."""

from itertools import product

from campaign.engine.benchmark.solutions import answer, but, call
from campaign.engine.benchmark.task import AGENTIC, EDITOR, Task, Turn, answer_schema
from campaign.engine.grading import all_of, answer_holds, calls_return, only_changed
from campaign.engine.tools import READ_FILE, RUN_PYTHON, WRITE_FILE

SHAPES = """def square_area(side): return side * side
def rectangle_area(width, height): return width * height
def triangle_area(width, height): return width * height / 2
"""
ADDED = "def box_volume(width, height, depth): return width * height * depth"
CHECK = """from shapes import rectangle_area
from volume import box_volume

assert box_volume(2, 3, 4) == 24
assert box_volume(2, 3, 1) == rectangle_area(2, 3)
print("all volumes are right")
"""
FILES = {"shapes.py": SHAPES, "check_volume.py": CHECK}

SIZES = list(product((0, 1, 2.5, 7), (0, 3, 0.5), (1, 4, 6)))
CALLS = [*[(sizes, {}) for sizes in SIZES], *[((), {"width": a, "height": b, "depth": c}) for a, b, c in SIZES]]

REFERENCE = (
    call(READ_FILE, path="shapes.py"),
    call(WRITE_FILE, path="volume.py", content=ADDED),
    call(RUN_PYTHON, path="check_volume.py"),
    answer(printed="all volumes are right"),
)


def written(content: str, path: str = "volume.py") -> tuple[str, ...]:
    """The reference with another text, or another file, written."""
    return but(REFERENCE, (1, call(WRITE_FILE, path=path, content=content)))


TASK = Task(
    name="add-function",
    kind=AGENTIC,
    system=EDITOR,
    files=FILES,
    turns=(
        Turn(
            "The file shapes.py has no function for the volume of a box. Read shapes.py first.",
            40,
            READ_FILE,
        ),
        Turn(f'Now call write_file with path "volume.py" and content "{ADDED}".', 100, WRITE_FILE),
        Turn('Now call run_python with path "check_volume.py".', 40, RUN_PYTHON),
        Turn("Copy the line that check_volume.py printed.", 40, answer_schema=answer_schema(printed="string")),
    ),
    grade=all_of(
        only_changed(FILES, "volume.py"),
        calls_return("volume", "box_volume", CALLS, [a * b * c for a, b, c in SIZES * 2]),
        answer_holds({"printed": "all volumes are right"}),
    ),
    reference=REFERENCE,
    wrong={
        "no function": written("# box_volume\n"),
        "the function without its body": written(ADDED.partition(" return")[0]),
        "a sum in place of a product": written(ADDED.replace("height * depth", "height + depth")),
        "printed, not returned": written(ADDED.replace("return width * height * depth", "print(24)")),
        "the function in the wrong file": written(ADDED, "shapes.py"),
        "the name of the file misspelt": written(ADDED, "volumes.py"),
        "right for the check's numbers alone": written(
            ADDED.replace("return width * height * depth", "return width * height * (1 if depth == 1 else 4)")
        ),
        "parameters of other names": written("def box_volume(a, b, c): return a * b * c\n"),
        "a loop without end": written(ADDED + "\nwhile True: pass\n"),
        "a value that is equal to every other": written(
            "class E:\n    def __eq__(self, other): return True\n\ndef box_volume(width, height, depth): return E()\n"
        ),
        "the hidden check read and ended": written(
            "import os\nsaid = open('hidden_check.py').read()\nprint(said.rpartition('print(')[2][:-2])\nos._exit(0)\n"
        ),
        "an end before the check": written('print("all volumes are right")\nraise SystemExit(0)\n'),
        "the check made easy": written('print("all volumes are right")\n', "check_volume.py"),
        "in a fence": written(f"```python\n{ADDED}\n```"),
        "text behind the answer": but(REFERENCE, (3, answer(printed="all volumes are right") + " now")),
        "more than was printed": but(REFERENCE, (3, answer(printed="all volumes are right, exit status 0"))),
        "an empty answer": but(REFERENCE, (3, "")),
    },
)
