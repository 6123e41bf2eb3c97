"""A small valid campaign, built and committed in a git repository of its own, for tests of the whole command line."""

import atexit
import csv
import datetime
import functools
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.repositories import SmallCampaign

from campaign.notes.cli import main
from campaign.notes.paths import Part
from campaign.notes.post import split

PARTS = Path(__file__).resolve().parents[1] / "parts"
"""The parts that are committed beside the tests."""

CAMPAIGN = 'title = "A small campaign"\nnames = ["W01"]\n'

PLAN = """\
about = "A small part with every kind of number in it."

[arms.served]
label = "served kernel"

[arms.changed]
label = "changed kernel"

[rows]
order = ["served", "changed", "changed", "served"]
draws = 2

[constants."bar"]
value = 0.1
unit = "ms/verify step"
print = ".2f"
because = "the saving that pays"

[constants."nothing"]
value = 0
unit = "ms/verify step"
print = ".0f"
because = "no saving"

[constants."match.at"]
value = 3.7
unit = "tokens/verify step"
print = ".1f"
because = "where draws are compared"

[constants."match.slope"]
value = 0.4
unit = "ms per token"
print = ".1f"
because = "how a step grows with its tokens"

[constants."interval.level"]
value = 95
unit = "%"
print = ".0f"
because = "the level of every interval"

[matching]
at = "match.at"
slopes = { one = "match.slope" }

[verdict]
reading = "saving.lo"
bands = [
    { verdict = "carries", at_least = "bar" },
    { verdict = "seen", above = "nothing" },
    { verdict = "rolled back" },
]
guards = [{ name = "a task failed", verdict = "held", when = "failed > 2" }]

[tables]
rows = "data/rows.csv"
draws = "data/draws.csv"
tasks = "data/tasks.csv"

[[reading]]
id = "row.{row}"
kind = "stat"
table = "row_values"
each = ["row"]
column = "matched_one"
stat = "value"
unit = "ms/verify step"
print = ".3f"

[[reading]]
id = "started.{row}"
kind = "stat"
table = "row_values"
each = ["row"]
column = "started"
stat = "value"
print = "clock"

[[reading]]
id = "arm_of.{row}"
kind = "stat"
table = "row_values"
each = ["row"]
column = "arm"
stat = "value"

[[reading]]
id = "saving"
kind = "saving"
arm = "changed"
against = "served"
slope = "one"
unit = "ms/verify step"
print = ".3f"

[[reading]]
id = "change"
kind = "difference"
arm = "changed"
against = "served"
column = "matched_one"
unit = "ms/verify step"
print = ".2f"

[[reading]]
id = "rows.n"
kind = "stat"
table = "row_values"
stat = "count"
unit = "rows"

[[reading]]
id = "steps"
kind = "stat"
table = "draws"
column = "verify_steps"
stat = "sum"
unit = "steps"
print = ",d"

[[reading]]
id = "passed"
kind = "stat"
table = "tasks"
column = "outcome == 'pass'"
stat = "share"
scale = 100
unit = "%"
print = ".0f"

[[reading]]
id = "failed"
kind = "stat"
table = "tasks"
where = "outcome == 'fail'"
stat = "count"
unit = "tasks"

[[reading]]
id = "verdict"
kind = "verdict"

[[plot]]
name = "rows"
x_label = "row"
y_label = "ms a verify step"
series = [{ label = "matched", readings = "row.*" }]
"""

FACTS = """\
names = ["RTX 4090"]

[post]
title = "a smaller kernel"
date = 2026-11-06

[facts."gpus"]
value = 2
unit = "GPUs"
source = "the machine"
"""

TEMPLATE = """\
# {{ q("part.1") }}: {{ q("post.title") }}

*{{ q("post.date") }}. Rows of W01 on {{ q("gpus", "word") }} RTX 4090 cards.*

**The changed kernel saves {{ q("saving") }} ms a verify step,
{{ claim("saving > bar", "above", "below") }} the bar of {{ q("bar") }} ms.
Its {{ q("interval.level") }} % interval begins at {{ q("saving.lo") }} ms: {{ q("verdict") }}.**

The {{ q("rows.n", "word") }} rows took {{ q("steps") }} steps, and a step changed by {{ q("change") }} ms.
Of their tasks {{ q("passed") }} % passed; nothing here is about people.

| Start | Arm | ms a verify step |
|---|---|---:|
{% for row in members("row.*") %}
| {{ q("started." ~ row) }} | {{ q("arm_of." ~ row) }} | {{ q("row." ~ row) }} |
{% endfor %}

{{ plot("rows", "The matched time of each row.") }}

## Credits

- **{{ q("credit.vllm.name") }}**: {{ q("credit.vllm.used_for") }}.

*Built from data with sha256 `{{ q("data.digest") }}`.*
"""

CREDITS = """\
[credit.vllm]
name = "vLLM"
used_for = "the serving engine"
"""

ARMS = ("served", "changed", "changed", "served")
SERVED = datetime.datetime(2026, 11, 6, 4, 0, tzinfo=datetime.UTC)
STEP_TIMES = {"served": 14.4, "changed": 14.1}
"""Milliseconds of a verify step, before each draw's own small difference."""


def rows_csv(start: datetime.datetime = SERVED, arms: Sequence[str] = ARMS) -> str:
    """Rows a quarter of an hour apart, named 1, 2, 3 and so on."""
    records = [
        (i, arm, f"{start + (i - 1) * datetime.timedelta(minutes=15):%Y-%m-%dT%H:%M:%SZ}", "complete", "", "")
        for i, arm in enumerate(arms, 1)
    ]
    return table("row arm started state reason assumed".split(), records)


def draws_csv(arms: Sequence[str] = ARMS, draws: int = 2) -> str:
    """Draws whose values all differ; one of two tasks passes in the first draw of row 1, elsewhere both."""
    records = []
    for i, arm in enumerate(arms, 1):
        for draw in range(1, draws + 1):
            steps = 1000 + 37 * i + 11 * draw
            time = (STEP_TIMES[arm] + 0.013 * i - 0.009 * draw) * steps
            passes = 1 if (i, draw) == (1, 1) else 2
            records.append((i, draw, f"{time:.3f}", steps, int(steps * 3.7) + draw, f"{time / 1000 + 5:.3f}", passes))
    return table("row draw step_time_ms verify_steps tokens model_time_s passes".split(), records)


def tasks_csv(arms: Sequence[str] = ARMS, draws: int = 2) -> str:
    """Two tasks a draw, as `draws_csv` counts them."""
    records = [
        (i, draw, f"task-{task}", "agentic", "fail" if (i, draw, task) == (1, 1, 2) else "pass", "")
        for i in range(1, len(arms) + 1)
        for draw in range(1, draws + 1)
        for task in (1, 2)
    ]
    return table("row draw task kind outcome assumed".split(), records)


def table(head: Sequence[str], records: Iterable[Sequence[object]]) -> str:
    """CSV text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(records)
    return text.getvalue()


def part_files() -> dict[str, str]:
    """What a person writes and measures for the small part, by path below its folder."""
    return {
        "plan.toml": PLAN,
        "facts.toml": FACTS,
        "post.md.j2": TEMPLATE,
        "credits.toml": CREDITS,
        "data/run.json": '{"origin": "measured"}\n',
        "data/rows.csv": rows_csv(),
        "data/draws.csv": draws_csv(),
        "data/tasks.csv": tasks_csv(),
    }


@dataclass(frozen=True)
class TriedCampaign(SmallCampaign):
    """A campaign in which commands are run as a person would."""

    @property
    def part(self) -> Part:
        return self.part_named("part-1")

    def write(self, name: str, text: str) -> None:
        """Nothing; the file `name` below part-1 then holds `text`."""
        path = self.part.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def text(self, name: str = "post.md") -> str:
        """What the file `name` below part-1 holds."""
        return (self.part.folder / name).read_text(encoding="utf-8")

    def change(self, was: str, becomes: str, name: str = "post.md") -> None:
        """Nothing; the one place of `was` in the file then holds `becomes`."""
        text = self.text(name)
        assert text.count(was) == 1, f"{was!r} stands {text.count(was)} times in {name}"
        self.write(name, text.replace(was, becomes))

    def change_cell(self, name: str, record: int, column: str, change: Callable[[str], str]) -> None:
        """Nothing; the cell of the CSV file, records counted from 0, then holds what `change` makes of it."""
        head, *records = csv.reader(io.StringIO(self.text(name)))
        at = head.index(column)
        records[record][at] = change(records[record][at])
        self.write(name, table(head, records))

    def notes(self, *arguments: str, exit: int | None = 0) -> Result:
        """What one `notes` command said; its exit code has to be `exit`."""
        result = notes(*arguments)
        assert exit is None or result.exit_code == exit, f"exit {result.exit_code}\n{result.stdout}{result.stderr}"
        return result

    def seal_before_rows(self) -> None:
        """Nothing; the plan is then sealed now, and the data that lay there lie there again: rows that came first."""
        kept = {path: path.read_text() for path in self.part.data.glob("*.csv")}
        for path, text in kept.items():
            path.write_text(text.partition("\n")[0] + "\n")
        self.notes("seal", "1")
        for path, text in kept.items():
            path.write_text(text)

    @property
    def body(self) -> str:
        """The body of post.md."""
        return split(self.text(), "post.md").body

    def tree(self) -> dict[str, bytes]:
        """Every file of the campaign by its path, git's own left out."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".git" not in path.relative_to(self.root).parts
        }


def notes(*arguments: str) -> Result:
    """What one `notes` command said; an error that the command does not turn into a message is raised here."""
    result = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
    print(f"$ notes {' '.join(arguments)}\n{result.output}(exit {result.exit_code})")
    return result


def notes_process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "campaign.notes", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def shut_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing; git then knows no settings of this machine, and who commits is a tester."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)  # nothing is kept
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A Tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@example.org")


def empty_campaign(folder: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    """A campaign without parts, committed, with the working directory in it."""
    shut_out(monkeypatch)
    root = folder.resolve() / "campaign"
    root.mkdir()
    campaign = TriedCampaign(root, root)
    campaign.git("init", "--quiet", "--initial-branch=main")
    (root / "campaign.toml").write_text(CAMPAIGN)
    (root / ".gitignore").write_text("build/\n")
    campaign.commit_all("Begin a campaign")
    monkeypatch.chdir(root)
    return campaign


def written_campaign(folder: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, str] = {}) -> TriedCampaign:
    """A campaign whose part-1 is written and neither built nor committed; `files` override the usual ones."""
    campaign = empty_campaign(folder, monkeypatch)
    for name, text in (part_files() | dict(files)).items():
        campaign.write(name, text)
    return campaign


def built_campaign(folder: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    """A campaign whose part-1 is built and committed, with the working directory in it."""
    shut_out(monkeypatch)
    root = folder.resolve() / "campaign"
    shutil.copytree(_built_once(), root)
    monkeypatch.chdir(root)
    return TriedCampaign(root, root)


def _kept_folder() -> Path:
    """A folder that is there until the test run ends."""
    folder = Path(tempfile.mkdtemp(prefix="campaign-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def _built_once() -> Path:
    """A folder with the built campaign, made once in a test run and only copied from."""
    folder = _kept_folder()
    with pytest.MonkeyPatch.context() as monkeypatch:
        campaign = written_campaign(folder, monkeypatch)
        campaign.notes("build", "1")
        campaign.commit_all("Build Part 1")
    return campaign.root


def published_campaign(folder: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    """The built campaign with its part-1 published and committed."""
    shut_out(monkeypatch)
    root = folder.resolve() / "campaign"
    shutil.copytree(_published_once(), root)
    monkeypatch.chdir(root)
    return TriedCampaign(root, root)


@functools.cache
def _published_once() -> Path:
    folder = _kept_folder()
    with pytest.MonkeyPatch.context() as monkeypatch:
        campaign = built_campaign(folder, monkeypatch)
        campaign.notes("publish", "1")
    return campaign.root


_FINDING = re.compile(
    r"^(?P<path>\S+?):(?P<line>\d+):(?P<column>\d+): (?P<level>\w+)\[(?P<code>\w+)\]: said (?P<said>'.*?'|\".*?\"), "
    r"expected (?P<expected>'.*?'|\".*?\")$(?P<rest>(?:\n *(?:\d+ )?[|=].*|\n {3,}.*)*)",
    re.MULTILINE,
)
_TOLD = re.compile(r"^ *= (?P<said>.*(?:\n {5,}\S.*)*)", re.MULTILINE)


def findings(output: str) -> list[dict[str, str]]:
    """The findings that `notes check` printed, each by its fields."""
    return [_finding(found) for found in _FINDING.finditer(output)]


def _finding(found: re.Match[str]) -> dict[str, str]:
    fields = found.groupdict()
    told = [" ".join(one["said"].split()) for one in _TOLD.finditer(fields.pop("rest"))]
    mend = next(one.removeprefix("to mend: ") for one in told if one.startswith("to mend: "))
    source = None if told[0].startswith("to mend: ") else told[0]
    return fields | {"source": source, "mend": mend}
