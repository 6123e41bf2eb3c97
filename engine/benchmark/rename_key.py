"""One key of a JSON file gets another name, and the file is read again."""

import json

from campaign.engine.benchmark.solutions import answer, but, call
from campaign.engine.benchmark.task import AGENTIC, EDITOR, Task, Turn, answer_schema
from campaign.engine.grading import all_of, answer_holds, json_file_is, only_changed
from campaign.engine.tools import READ_FILE, REPLACE_IN_FILE

THEME = """{
  "name": "harbour",
  "colour": "blue",
  "border": "thin",
  "width": 640,
  "height": 480,
  "margin": 12,
  "padding": 12,
  "visible": true
}
"""
FILES = {"theme.json": THEME, "old.json": '{\n  "colour": "red"\n}\n'}

REFERENCE = (
    call(READ_FILE, path="theme.json"),
    call(REPLACE_IN_FILE, path="theme.json", old="colour", new="color"),
    call(READ_FILE, path="theme.json"),
    answer(color="blue"),
)


def replaced(old: str, new: str, path: str = "theme.json") -> tuple[str, ...]:
    """The reference with another replacement, or one in another file."""
    return but(REFERENCE, (1, call(REPLACE_IN_FILE, path=path, old=old, new=new)))


TASK = Task(
    name="rename-key",
    kind=AGENTIC,
    system=EDITOR,
    files=FILES,
    turns=(
        Turn("In the file theme.json the key colour must be called color. Read theme.json first.", 40, READ_FILE),
        Turn(
            'Now call replace_in_file with path "theme.json", old "colour" and new "color".',
            60,
            REPLACE_IN_FILE,
        ),
        Turn("Read theme.json once more.", 40, READ_FILE),
        Turn("Which color does theme.json name?", 24, answer_schema=answer_schema(color="string")),
    ),
    grade=all_of(
        json_file_is("theme.json", json.loads(THEME.replace("colour", "color"))),
        only_changed(FILES, "theme.json"),
        answer_holds({"color": "blue"}),
    ),
    reference=REFERENCE,
    wrong={
        "nothing replaced": replaced("colour", "colour"),
        "what is replaced is not there": replaced("Colour", "color"),
        "the right name in the wrong file": replaced("colour", "color", "old.json"),
        "both keys": replaced('"colour": "blue"', '"colour": "blue",\n  "color": "blue"'),
        "the new key twice": replaced('"colour": "blue"', '"color": "blue",\n  "color": "blue"'),
        "a value changed too": replaced('"colour": "blue"', '"color": "navy"'),
        "the key without its quotes": replaced('"colour"', "color"),
        "a comma lost": replaced('"colour": "blue",', '"color": "blue"'),
        "another key left out": replaced('"colour": "blue",\n  "border": "thin"', '"color": "blue"'),
        "white space in the key": replaced("colour", "color "),
        "another color as the answer": but(REFERENCE, (3, answer(color="red"))),
        "a color too many": but(REFERENCE, (3, answer(color="blue, thin"))),
        "text behind the answer": but(REFERENCE, (3, answer(color="blue") + " Done.")),
        "an empty answer": but(REFERENCE, (3, "")),
    },
)
