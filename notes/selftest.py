"""The self-test: change a published text and its data in every known way, and see what `notes check` finds.

Every mutant is written into a scratch copy of the campaign that has neither a template nor git, with the text's hash
stamped anew, and is checked by the real command. So only the binding of each place to its reading can find it.
"""

import contextlib
import gc
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from campaign.analysis.compute import read as read_readings
from campaign.analysis.readings import Readings
from campaign.analysis.rule import declarations
from campaign.kernels.errors import CampaignError
from campaign.notes import check as checking
from campaign.notes import data_mutants, mutants
from campaign.notes.build import readings_json
from campaign.notes.check import read_kept
from campaign.notes.data_mutants import Cells, DataMutant, Search
from campaign.notes.errors import CannotTell
from campaign.notes.history import Repository, open_history, sha256_of
from campaign.notes.ledger import Ledger
from campaign.notes.lines import line_column
from campaign.notes.mutants import Mutant, Published, reads_the_same
from campaign.notes.paths import MARKER, Campaign, Part
from campaign.notes.post import Post, split
from campaign.notes.sources import Sources, load

WHOLE = ("digit",)
"""Classes of which every mutant is tried even where a sample is asked for."""
REAL_OF_A_CLASS = 2
"""How many mutants of each class are also checked in a process of their own."""
SEARCH_SECONDS = (10.0, 180.0)
"""How long data are searched that turn one claim round, at first and once others are turned."""
CLAIMS = "claim turned"
"""The name of the class of mutants whose data make a claim false."""


@dataclass(frozen=True)
class Missed:
    """One mutant that the check did not find."""

    kind: str
    path: str
    line: int
    column: int
    was: str
    became: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        return f"{place}: {self.kind}: {_short(self.was)} → {_short(self.became)}"


def _short(text: str) -> str:
    shown = text.replace("\n", "⏎")
    return shown if len(shown) <= 100 else f"{shown[:97]}…"


@dataclass(frozen=True)
class Tally:
    """What became of the mutants of one class."""

    kind: str
    changes: str
    """What the class changes, for a person."""
    mutants: int
    equivalent: int
    """Those whose text is the same, or whose page is: there is nothing to find."""
    found: int
    located: int
    """Of those found, the ones whose finding is on a changed line (of data: names the changed file)."""
    refused: int
    """Of those found, the ones whose data were refused as unreadable (exit 2)."""
    missed: tuple[Missed, ...] = ()

    @property
    def to_find(self) -> int:
        """How many mutants there were to be found."""
        return self.mutants - self.equivalent


@dataclass(frozen=True)
class SelfTest:
    """How many changed texts and data the check found: without template, git or a hash that tells."""

    part: str
    tallies: tuple[Tally, ...]
    false_findings: int
    """Findings on the untouched text; anything but zero makes the share worthless."""
    unturned: tuple[str, ...] = ()
    """Claims that no change of the data made false, with how many were tried: nothing is proved of them."""
    real: int = 0
    """How many mutants were also checked in a process of their own."""
    differing: tuple[str, ...] = ()
    """Those of them whose answer was another one there."""
    sampled: bool = False
    """Whether only a sample of the larger classes was tried."""

    @property
    def mutants(self) -> int:
        """All mutants, the equivalent ones too."""
        return sum(tally.mutants for tally in self.tallies)

    @property
    def equivalent(self) -> int:
        """The mutants that a reader could not tell from the text."""
        return sum(tally.equivalent for tally in self.tallies)

    @property
    def found(self) -> int:
        """The mutants that the check found."""
        return sum(tally.found for tally in self.tallies)

    @property
    def located(self) -> int:
        """Those that it found in the right place."""
        return sum(tally.located for tally in self.tallies)

    @property
    def missed(self) -> tuple[Missed, ...]:
        """Those that it did not find."""
        return tuple(missed for tally in self.tallies for missed in tally.missed)

    @property
    def passed(self) -> bool:
        """Whether every mutant was found, every claim was turned, and nothing is told of the untouched text."""
        to_find = self.mutants - self.equivalent
        return bool(
            to_find and self.found == to_find and not self.false_findings and not self.differing and not self.unturned
        )

    def __str__(self) -> str:
        width = max([len(tally.kind) for tally in self.tallies] + [5])
        lines = [f"{'':{width}}  mutants  equivalent   found  located     share"]
        for tally in self.tallies:
            lines.append(
                f"{tally.kind:{width}} {_figures(tally.mutants, tally.equivalent, tally.found, tally.located)}"
            )
        lines.append(f"{'total':{width}} {_figures(self.mutants, self.equivalent, self.found, self.located)}")
        refused = sum(tally.refused for tally in self.tallies)
        if refused:
            lines.append(f"{refused} of those found are data that are refused as unreadable (exit 2)")
        lines += [f"missed: {missed}" for missed in self.missed]
        lines += [f"not turned: {unturned}" for unturned in self.unturned]
        lines += [f"another answer in a process of its own: {told}" for told in self.differing]
        share = self.found / (self.mutants - self.equivalent) if self.mutants > self.equivalent else 0
        sampled = ", a sample of each class but the digits" if self.sampled else ""
        lines.append(
            f"self-test: {self.mutants} changed texts and data{sampled}: {self.found} of "
            f"{self.mutants - self.equivalent} found ({share:.1%}) by binding alone, without template, hash or git; "
            f"{self.real} also in a process of their own; {self.false_findings} false findings on the untouched text"
        )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The same as values of JSON."""
        return {
            "part": self.part,
            "passed": self.passed,
            "mutants": self.mutants,
            "equivalent": self.equivalent,
            "found": self.found,
            "located": self.located,
            "false_findings": self.false_findings,
            "sampled": self.sampled,
            "processes": self.real,
            "differing": list(self.differing),
            "unturned": list(self.unturned),
            "classes": [{**vars(tally), "missed": [vars(missed) for missed in tally.missed]} for tally in self.tallies],
        }


def _figures(mutants: int, equivalent: int, found: int, located: int) -> str:
    to_find = mutants - equivalent
    share = f"{found / to_find:.1%}" if to_find else "-"
    return f"{mutants:8d} {equivalent:11d} {found:7d} {located:8d} {share:>9}"


# The command


@dataclass(frozen=True)
class Answer:
    """What `notes check` said of a part."""

    exit: int
    findings: tuple[tuple[Any, ...], ...]
    """Code, path, line, column, said and expected of each error."""
    crash: str = field(default="", compare=False)
    """What stopped the command that should have been a finding."""

    @classmethod
    def of(cls, exit: int, printed: str) -> "Answer":
        """The answer in what the command printed as JSON."""
        lines = [line for line in printed.splitlines() if line.startswith("{")]
        said = json.loads(lines[0])["findings"] if lines else []
        keys = ("code", "path", "line", "column", "said", "expected")
        return cls(exit, tuple(tuple(one[key] for key in keys) for one in said if one["level"] == "error"))

    def new(self, before: "Answer") -> list[tuple[Any, ...]]:
        """The findings that were not there before."""
        known = set(before.findings)
        return [finding for finding in self.findings if finding not in known]


def _arguments(part: Part) -> list[str]:
    return ["check", part.name, "--format", "json", "--jobs", "1"]


def ask(part: Part) -> Answer:
    """What the command says of the part, in this process."""
    from campaign.notes.cli import main

    printed = io.StringIO()
    exit = 0
    with (
        contextlib.chdir(part.campaign.root),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        try:
            main([*_arguments(part), "--no-cache"], standalone_mode=False)
        except SystemExit as end:
            exit = int(end.code or 0)
        except Exception as wrong:  # as a process of its own ends with it: a mutant that is not found
            return Answer(1, (), f"{type(wrong).__name__}: {wrong}")
    return Answer.of(exit, printed.getvalue())


def ask_process(part: Part) -> Answer:
    """What the command says of the part in a process of its own, with a cache that knows the untouched part."""
    command = [sys.executable, "-P", "-m", "campaign.notes", *_arguments(part)]
    root = part.campaign.root
    outside = os.environ | {"XDG_CACHE_HOME": str(root.with_name(f"{root.name}-cache"))}
    ran = subprocess.run(command, cwd=root, env=outside, capture_output=True, text=True, check=False)
    return Answer.of(ran.returncode, ran.stdout)


# A scratch copy


class Scratch:
    """A copy of a campaign in which one part is changed and checked."""

    def __init__(self, campaign: Path, name: str, folder: Path) -> None:
        root = Path(tempfile.mkdtemp(dir=folder)).resolve()
        shutil.copy2(campaign / MARKER, root / MARKER)
        shutil.copytree(campaign / "parts", root / "parts", ignore=shutil.ignore_patterns("*.j2", ".git"))
        if isinstance(open_history(root), Repository):
            raise CannotTell(
                f"{root}: the folder for temporary files lies in a git work tree, so the history would find what only "
                "the binding should; expected one outside. Set TMPDIR to another folder."
            )
        self.part = Part(Campaign(root), name)
        self.text = self.part.post.read_bytes().decode("utf-8").replace("\r\n", "\n")
        self.before = ask(self.part)
        self._sources: Sources | None = None

    @property
    def sources(self) -> Sources:
        """The untouched part's, loaded once."""
        if self._sources is None:
            self._sources = load(self.part)
        return self._sources

    @property
    def shown(self) -> str:
        """post.md as findings name it."""
        return self.part.show(self.part.post)

    @contextlib.contextmanager
    def post(self, text: str) -> Iterator[None]:
        """The part with another text, its hash stamped anew."""
        stamped = self.part.published.read_text("utf-8") if self.part.published.is_file() else ""
        try:
            self.part.post.write_text(text, encoding="utf-8", newline="")
            if stamped:
                self.part.published.write_text(_stamped(stamped, text, self.shown), encoding="utf-8")
            yield
        finally:
            self.part.post.write_text(self.text, encoding="utf-8", newline="")
            if stamped:
                self.part.published.write_text(stamped, encoding="utf-8")

    @contextlib.contextmanager
    def files(self, changed: Mapping[str, bytes]) -> Iterator[None]:
        """The part with other files, by their path below it."""
        kept = {name: (self.part.folder / name).read_bytes() for name in changed}
        try:
            for name, content in changed.items():
                (self.part.folder / name).write_bytes(content)
            yield
        finally:
            for name, content in kept.items():
                (self.part.folder / name).write_bytes(content)

    @contextlib.contextmanager
    def loaded_once(self) -> Iterator[None]:
        """While only the text changes, its sources are not read again for each mutant."""
        # The command runs as it is; what it would read from unchanged files is handed to it.
        before, sources = checking.load, self.sources
        own = self.part.folder
        checking.load = lambda part: sources if part.folder == own else before(part)  # type: ignore[assignment]
        try:
            yield
        finally:
            checking.load = before


def _stamped(record: str, text: str, shown: str) -> str:
    """published.toml with the hash of this text's body."""
    try:
        body = split(text, shown).body
    except CampaignError:
        return record
    return re.sub(r'(?m)^body_sha256 = ".*"$', f'body_sha256 = "{sha256_of(body.encode())}"', record)


# What is tried


@dataclass(frozen=True)
class _Text:
    mutant: Mutant
    real: bool = False
    """Whether it is also checked in a process of its own."""


@dataclass(frozen=True)
class _File:
    mutant: DataMutant
    real: bool = False


@dataclass(frozen=True)
class _Claim:
    expression: str
    places: tuple[tuple[int, int, int], ...]
    """Line, column and length of each place of the claim in post.md."""
    real: bool = False


_Job = _Text | _File | _Claim


@dataclass(frozen=True)
class _Outcome:
    """What became of one mutant."""

    kind: str
    found: bool = False
    located: bool = False
    refused: bool = False
    equivalent: bool = False
    unturned: str = ""
    missed: Missed | None = None
    real: bool = False
    differs: str = ""


class _Worker:
    """Tries mutants in a scratch copy of its own."""

    def __init__(self, campaign: Path, name: str, folder: Path) -> None:
        self.scratch = Scratch(campaign, name, folder)
        self.turns: list[tuple[Cells, ...]] = []

    def try_all(self, jobs: Sequence[_Job]) -> list[_Outcome]:
        """What became of each."""
        texts = [job for job in jobs if isinstance(job, _Text)]
        outcomes = []
        if texts:
            with self.scratch.loaded_once():
                outcomes += [self._text(job) for job in texts]
        outcomes += [self._file(job) for job in jobs if isinstance(job, _File)]
        claims = [job for job in jobs if isinstance(job, _Claim)]
        searches = [(job, Search(self.scratch.sources, job.expression, self.turns, 0)) for job in claims]
        for seconds in SEARCH_SECONDS:
            tried = [(job, search, self._claim(job, search, seconds)) for job, search in searches]
            outcomes += [outcome for *_, outcome in tried if not outcome.unturned]
            searches = [(job, search) for job, search, outcome in tried if outcome.unturned]
        return outcomes + [outcome for *_, outcome in tried if outcome.unturned]

    def _answers(self, told: str, real: bool) -> tuple[Answer, str]:
        """The command's answer, and what differs where it is also asked in a process of its own."""
        answer = ask(self.scratch.part)
        differs = real and ask_process(self.scratch.part) != answer
        return answer, told if differs else ""

    def _text(self, job: _Text) -> _Outcome:
        mutant, scratch = job.mutant, self.scratch
        missed = Missed(mutant.kind, scratch.shown, mutant.line, mutant.column, mutant.was, mutant.became)
        text = mutant.apply(scratch.text)
        if text == scratch.text:
            return _Outcome(mutant.kind, equivalent=True)
        with scratch.post(text):
            answer, differs = self._answers(str(missed), job.real)
        # what a hash or a chain of hashes tells is not the binding's work
        new = [one for one in answer.new(scratch.before) if one[1] == scratch.shown and one[0] != "kept"]
        if answer.exit == 1 and new:
            located = any(finding[2] in mutant.lines(scratch.text) for finding in new)
            return _Outcome(mutant.kind, found=True, located=located, real=job.real, differs=differs)
        if answer.exit == 2:
            return _Outcome(mutant.kind, found=True, refused=True, real=job.real, differs=differs)
        if reads_the_same(scratch.text, text):
            return _Outcome(mutant.kind, equivalent=True, real=job.real, differs=differs)
        return _Outcome(mutant.kind, missed=_with_crash(missed, answer), real=job.real, differs=differs)

    def _file(self, job: _File) -> _Outcome:
        mutant, scratch = job.mutant, self.scratch
        path = scratch.part.folder / mutant.path
        shown = scratch.part.show(path)
        if path.read_bytes() == mutant.content:
            return _Outcome(mutant.kind, equivalent=True)
        missed = Missed(mutant.kind, shown, 0, 0, mutant.what, "")
        with scratch.files({mutant.path: mutant.content}):
            answer, differs = self._answers(str(missed), job.real)
        if answer.exit == 2:
            return _Outcome(mutant.kind, found=True, located=True, refused=True, real=job.real, differs=differs)
        new = answer.new(scratch.before)
        if answer.exit == 1 and new:
            located = any(finding[1] == shown for finding in new)
            return _Outcome(mutant.kind, found=True, located=located, real=job.real, differs=differs)
        return _Outcome(mutant.kind, missed=_with_crash(missed, answer), real=job.real, differs=differs)

    def _claim(self, job: _Claim, search: Search, seconds: float) -> _Outcome:
        scratch = self.scratch
        search.seconds = seconds
        for change in search:
            with scratch.files({**data_mutants.changed_files(scratch.sources, change), **self._readings()}):
                try:
                    changed = readings_json(load(scratch.part))
                except CampaignError:
                    continue  # data that no attacker could leave there: they are refused
                scratch.part.readings.write_text(changed, encoding="utf-8")
                answer, differs = self._answers(job.expression, job.real)
            if answer.exit == 2:
                continue  # nor those, with which a plot cannot be drawn
            if change not in self.turns:
                self.turns.append(change)
            new = [finding for finding in answer.new(scratch.before) if finding[1] == scratch.shown]
            told = "; ".join(cells.what for cells in change)
            seen = [any(_at(finding, place) for finding in new) for place in job.places]
            if answer.exit == 1 and all(seen):
                return _Outcome(CLAIMS, found=True, located=True, real=job.real, differs=differs)
            line, column, _ = job.places[seen.index(False) if False in seen else 0]
            missed = Missed(CLAIMS, scratch.shown, line, column, job.expression, told)
            return _Outcome(CLAIMS, missed=missed, real=job.real, differs=differs)
        return _Outcome(CLAIMS, unturned=f"{job.expression}: {search.tried} changes of the data tried")

    def _readings(self) -> dict[str, bytes]:
        """readings.json as it is, so that it is put back."""
        return {self.scratch.part.readings.name: self.scratch.part.readings.read_bytes()}


def _with_crash(missed: Missed, answer: Answer) -> Missed:
    return replace(missed, became=f"{missed.became} ({answer.crash})") if answer.crash else missed


def _at(finding: tuple[Any, ...], place: tuple[int, int, int]) -> bool:
    _, _, line, column, *_ = finding
    return line == place[0] and place[1] <= column <= place[1] + place[2]


_workers: dict[str, _Worker] = {}
"""In a process of a pool: the worker of each part that it has tried mutants of."""


def _try(campaign: Path, name: str, folder: Path, jobs: Sequence[_Job]) -> tuple[list[_Outcome], Answer]:
    """What became of each, and what the command says of the untouched part."""
    if name not in _workers:
        _workers[name] = _Worker(campaign, name, folder)
        gc.freeze()  # what is loaded now stays: a collection in each of thousands of checks need not look through it
    return _workers[name].try_all(jobs), _workers[name].scratch.before


# The whole


def selftest(part: Part, *, sample: int | None = None, seed: int = 0, jobs: int | None = None) -> SelfTest:
    """What the check finds of a part's mutants; nothing of the part itself is changed.

    With `sample` at most so many mutants of each class are tried, drawn with `seed`, but all of WHOLE. `jobs`
    processes share the work: as many as there are cores, where it is None; with 1 this one does it.
    """
    [result] = selftests([part], sample=sample, seed=seed, jobs=jobs)
    return result


def selftests(
    parts: Sequence[Part], *, sample: int | None = None, seed: int = 0, jobs: int | None = None
) -> Iterator[SelfTest]:
    """The self-test of each part, in the order asked for; the processes go on with the next one meanwhile."""
    jobs = jobs or os.cpu_count() or 1
    with ExitStack() as after:
        folder = Path(after.enter_context(tempfile.TemporaryDirectory(prefix="notes-selftest-")))
        if jobs == 1:
            for part in parts:
                worker = _Worker(part.campaign.root, part.name, folder)
                outcomes = worker.try_all(list(_work(part, sample, seed)))
                yield _result(part, outcomes, worker.scratch.before, sample)
            return
        pool = after.enter_context(ProcessPoolExecutor(jobs, get_context("spawn")))
        after.callback(pool.shutdown, wait=False, cancel_futures=True)  # where one fails the others need not end
        running: list[tuple[Part, list[Future[tuple[list[_Outcome], Answer]]]]] = []
        for part in parts:
            lots = _lots(list(_work(part, sample, seed)), jobs)
            running.append((part, [pool.submit(_try, part.campaign.root, part.name, folder, lot) for lot in lots]))
        for part, lots_of_part in running:
            done = [lot.result() for lot in lots_of_part]
            yield _result(part, [one for outcomes, _ in done for one in outcomes], done[0][1], sample)


def _lots(work: Sequence[_Job], jobs: int) -> list[list[_Job]]:
    """The work in lots for `jobs` processes, at least one, those first that take long."""
    claims = [job for job in work if isinstance(job, _Claim)]
    texts = [job for job in work if isinstance(job, _Text)]
    # Claims in a few lots, since data that turned one often turn the next.
    lots: list[list[_Job]] = [list(claims[i::jobs]) for i in range(min(jobs, len(claims)))]
    lots += [[job] for job in work if isinstance(job, _File)]
    lots += [list(texts[i : i + 32]) for i in range(0, len(texts), 32)]
    return lots or [[]]


def _result(part: Part, outcomes: Sequence[_Outcome], before: Answer, sample: int | None) -> SelfTest:
    changes = {name: one.changes for name, one in mutants.CLASSES.items()} | data_mutants.kinds()
    changes[CLAIMS] = "data that make each claim false, with readings.json made anew from them"
    return SelfTest(
        part.name,
        tuple(_tallies(outcomes, changes)),
        len(before.findings),
        tuple(one.unturned for one in outcomes if one.unturned),
        sum(one.real for one in outcomes),
        tuple(one.differs for one in outcomes if one.differs),
        sample is not None,
    )


def _tallies(outcomes: Iterable[_Outcome], changes: Mapping[str, str]) -> Iterator[Tally]:
    by: dict[str, list[_Outcome]] = {kind: [] for kind in changes}
    for outcome in outcomes:
        if not outcome.unturned:
            by[outcome.kind].append(outcome)
    for kind, found in by.items():
        if found:
            yield Tally(
                kind,
                changes[kind],
                len(found),
                sum(one.equivalent for one in found),
                sum(one.found for one in found),
                sum(one.located for one in found),
                sum(one.refused for one in found),
                tuple(one.missed for one in found if one.missed),
            )


def _work(part: Part, sample: int | None, seed: int) -> Iterator[_Job]:
    """All that is tried of a part."""
    sources = load(part)
    post, ledger, _ = read_kept(part)
    chosen = random.Random(seed)
    published = published_text(part, sources, post, ledger)

    def drawn(kind: str, found: list[Any], job: Callable[[Any, bool], _Job]) -> Iterator[_Job]:
        if sample is not None and kind not in WHOLE and len(found) > sample:
            found = [found[i] for i in sorted(chosen.sample(range(len(found)), sample))]
        real = set(chosen.sample(range(len(found)), min(REAL_OF_A_CLASS, len(found))))
        if sample is not None:
            real = {i for i in real if chosen.random() < 1 / 16}
        for i, one in enumerate(found):
            yield job(one, i in real)

    for kind in mutants.CLASSES:
        yield from drawn(kind, list(mutants.mutants(published, kind)), _Text)
    for kind in data_mutants.kinds():
        yield from drawn(kind, list(data_mutants.data_mutants(sources, kind, seed)), _File)
    places: dict[str, list[tuple[int, int, int]]] = {}
    for start, end, place in published.places:
        if place.kind == "claim":
            places.setdefault(place.source, []).append((*line_column(post.text, start), end - start))
    for i, (expression, where) in enumerate(places.items()):
        yield _Claim(expression, tuple(where), real=i == 0)


def published_text(part: Part, sources: Sources, post: Post, ledger: Ledger) -> Published:
    """The part's text with everything that its mutants are made from."""
    spans = ledger.spans()
    places = tuple(
        (post.body_start + start, post.body_start + end, place)
        for (start, end), place in zip(spans, ledger.places, strict=True)
    )
    plan = sources.plan
    names = [(name, arm.label) for name, arm in plan.arms.items() if not arm.earlier]
    labels: set[tuple[str, str]] = set()
    for i, (name, label) in enumerate(names):
        for other, its_label in names[i + 1 :]:
            # also by the word that tells them apart: the old rows
            labels |= {(label, its_label), (name, other), (label.split()[0], its_label.split()[0])}
    labels = {(one, another) for one, another in labels if one != another}
    words = {
        str(said["id"]): tuple(case["word"] for case in said.get("cases", ()))
        for said in declarations(plan)
        if said.get("kind") == "choice"
    }
    if plan.verdict:
        bands = tuple(band.verdict for band in plan.verdict.bands)
        words |= {str(said["id"]): bands for said in declarations(plan) if said.get("kind") == "verdict"}
    return Published(
        post.text, sources.names, places, sources.readings, tuple(sorted(labels)), words, tuple(_earlier(part, sources))
    )


def _earlier(part: Part, sources: Sources) -> Iterator[Readings]:
    """The readings before the last row or record, and those of the other parts."""
    for plan, data in data_mutants.earlier_data(sources):
        with contextlib.suppress(CampaignError, ValueError, KeyError):
            yield read_readings(plan, data, part.show(part.plan), sources.looks)
    for other in part.campaign.parts():
        if other.name != part.name:
            with contextlib.suppress(CampaignError):
                yield load(other).readings
