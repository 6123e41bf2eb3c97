"""One constant in a file of settings gets another value."""

from campaign.engine.benchmark.solutions import answer, but, call
from campaign.engine.benchmark.task import AGENTIC, EDITOR, Task, Turn, answer_schema
from campaign.engine.grading import all_of, answer_holds, file_is, only_changed
from campaign.engine.tools import READ_FILE, REPLACE_IN_FILE

SETTINGS = '''"""Settings of the download service."""

CONNECT_SECONDS = 10
READ_SECONDS = 30
WRITE_SECONDS = 30
MAX_CONNECTIONS = 8
MAX_REDIRECTS = 3
MAX_RETRIES = 3
MAX_QUEUE = 64
RETRY_SECONDS = 2
CHUNK_BYTES = 4096
CACHE_BYTES = 65536
LOG_LEVEL = "info"
LOG_FILE = "download.log"
'''
LEGACY = "# Nothing reads this file any more.\nMAX_RETRIES = 3\n"
FILES = {"settings.py": SETTINGS, "legacy.py": LEGACY}

REFERENCE = (
    call(READ_FILE, path="settings.py"),
    call(REPLACE_IN_FILE, path="settings.py", old="MAX_RETRIES = 3", new="MAX_RETRIES = 7"),
    answer(line="MAX_RETRIES = 7"),
)

TASK = Task(
    name="fix-constant",
    kind=AGENTIC,
    system=EDITOR,
    files=FILES,
    turns=(
        Turn("In the file settings.py MAX_RETRIES must be 7. Read settings.py first.", 40, READ_FILE),
        Turn(
            'Now call replace_in_file with path "settings.py", old "MAX_RETRIES = 3" and new "MAX_RETRIES = 7".',
            80,
            REPLACE_IN_FILE,
        ),
        Turn("What is the line of MAX_RETRIES now?", 40, answer_schema=answer_schema(line="string")),
    ),
    grade=all_of(
        file_is("settings.py", SETTINGS.replace("MAX_RETRIES = 3", "MAX_RETRIES = 7")),
        only_changed(FILES, "settings.py"),
        answer_holds({"line": "MAX_RETRIES = 7"}),
    ),
    reference=REFERENCE,
    wrong={
        "the right value in the wrong file": but(
            REFERENCE, (1, call(REPLACE_IN_FILE, path="legacy.py", old="MAX_RETRIES = 3", new="MAX_RETRIES = 7"))
        ),
        "the neighbour's value": but(
            REFERENCE, (1, call(REPLACE_IN_FILE, path="settings.py", old="MAX_REDIRECTS = 3", new="MAX_REDIRECTS = 7"))
        ),
        "another value": but(
            REFERENCE, (1, call(REPLACE_IN_FILE, path="settings.py", old="MAX_RETRIES = 3", new="MAX_RETRIES = 77"))
        ),
        "what is replaced stands there twice": but(
            REFERENCE, (1, call(REPLACE_IN_FILE, path="settings.py", old="= 3\n", new="= 7\n"))
        ),
        "a comment behind the value": but(
            REFERENCE,
            (1, call(REPLACE_IN_FILE, path="settings.py", old="MAX_RETRIES = 3", new="MAX_RETRIES = 7  # was 3")),
        ),
        "text behind the answer": but(REFERENCE, (2, answer(line="MAX_RETRIES = 7") + " is the line.")),
        "the old line as the answer": but(REFERENCE, (2, answer(line="MAX_RETRIES = 3"))),
        "the value alone as the answer": but(REFERENCE, (2, answer(line="7"))),
        "an empty answer": but(REFERENCE, (2, "")),
    },
)
