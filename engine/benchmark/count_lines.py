"""The lines of one kind in a log are counted, and their number is written to a file."""

from campaign.engine.benchmark.solutions import answer, but, call
from campaign.engine.benchmark.task import AGENTIC, EDITOR, Task, Turn, answer_schema
from campaign.engine.grading import all_of, answer_holds, file_says, only_changed
from campaign.engine.tools import LIST_FILES, READ_FILE, WRITE_FILE

LOG = """08:00:01 INFO started the pump
08:00:02 INFO opened valve A
08:00:05 ERROR valve B is stuck
08:00:06 INFO opened valve C
08:00:09 WARNING pressure is low
08:00:12 ERROR valve D is stuck
08:00:15 INFO stopped the pump
"""
FILES = {"pump.log": LOG, "readme.txt": "pump.log is the log of the pump, one event a line.\n"}

REFERENCE = (
    call(LIST_FILES),
    call(READ_FILE, path="pump.log"),
    call(WRITE_FILE, path="count.txt", content="2\n"),
    answer(errors=2),
)


def written(content: str, path: str = "count.txt") -> tuple[str, ...]:
    """The reference with another text, or another file, written."""
    return but(REFERENCE, (2, call(WRITE_FILE, path=path, content=content)))


TASK = Task(
    name="count-lines",
    kind=AGENTIC,
    system=EDITOR,
    files=FILES,
    turns=(
        Turn("How many lines of pump.log say ERROR? List the files first.", 24, LIST_FILES),
        Turn('Now call read_file with path "pump.log".', 40, READ_FILE),
        Turn(
            'Now call write_file with path "count.txt" and content the number of lines that say ERROR, in digits.',
            60,
            WRITE_FILE,
        ),
        Turn("How many lines say ERROR?", 24, answer_schema=answer_schema(errors="integer")),
    ),
    grade=all_of(file_says("count.txt", "2"), only_changed(FILES, "count.txt"), answer_holds({"errors": 2})),
    reference=REFERENCE,
    wrong={
        "the right value in the wrong file": written("2\n", "counts.txt"),
        "the right value over the log": written("2\n", "pump.log"),
        "another number": written("3\n"),
        "the number as a word": written("two\n"),
        "text behind the number": written("2 errors\n"),
        "nothing in the file": written(""),
        "another number as the answer": but(REFERENCE, (3, answer(errors=3))),
        "the number as a text": but(REFERENCE, (3, answer(errors="2"))),
        "text behind the answer": but(REFERENCE, (3, answer(errors=2) + " lines")),
        "an empty answer": but(REFERENCE, (3, "")),
    },
)
