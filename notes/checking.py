"""Checking many parts: on every core, and again only those of which something changed."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, date, datetime
from importlib import import_module
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, NamedTuple

from campaign.kernels.errors import CampaignError
from campaign.notes.cache import Cache, Hashes, user_folder
from campaign.notes.errors import CannotTell, UsageError
from campaign.notes.findings import NOTHING_COVERED, Report
from campaign.notes.index import Kept, Snapshot
from campaign.notes.keys import Around, around, files_of, named_by, program, state_of, used
from campaign.notes.paths import Part
from campaign.notes.reports import report_from, report_json
from campaign.notes.seen import seen

FEW = 16
"""Where processes start from nothing, loading the program in each takes longer than so many checks in one."""
AT_ONCE = 8
"""Parts that a process takes at a time."""


class Checked(NamedTuple):
    """What came of the check of one part: a report, or what made a check impossible."""

    part: Part
    report: Report | None
    wrong: CampaignError | None = None

    @property
    def told(self) -> Report:
        """The report; where there is none, one that says why."""
        return self.report or not_checked(self.part.name, self.part.show(self.part.post), self.wrong)


def not_checked(name: str, path: str, wrong: CampaignError | None) -> Report:
    """The report of what could not be checked at all, with what made it impossible."""
    if isinstance(wrong, CannotTell):
        return Report(name, path, NOTHING_COVERED, (), cannot_tell=str(wrong))
    return Report(name, path, NOTHING_COVERED, (), unreadable=str(wrong))


class _Done(NamedTuple):
    """The same as a process hands it back, with what else of the campaign it read."""

    report: Report | None
    wrong: CampaignError | None
    asked: frozenset[tuple[str, str]]


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_all(
    parts: Sequence[Part], *, jobs: int | None = None, cache: bool = True, today: date | None = None
) -> Iterator[Checked]:
    """The check of each part, in the order asked for, each as soon as it and those before it are known.

    At most `jobs` processes work at a time, one for each core where none is given. With `cache` a part is checked only
    where something changed of what its report follows from, and what is decided is kept for the next time. All see the
    list of parts, and what they say about each other, as it was at the beginning.
    """
    if not parts:
        return
    campaign = Snapshot(parts[0].campaign.root)
    kept = None
    if cache:
        kept = _Kept(campaign, today or datetime.now(UTC).date())
        campaign = kept.campaign
    campaign.read()
    asked = [Part(campaign, part.name) for part in parts]
    known = {part: kept.report(part) for part in asked} if kept else {}
    open_ = [part for part in dict.fromkeys(asked) if known.get(part) is None]
    with ExitStack() as after:
        # A snapshot and its parts hold each other, and git's helpers would end when Python happens to collect them.
        after.callback(vars(campaign).pop, "history", None)
        if kept:
            after.callback(kept.close)
        done = after.enter_context(closing(_check_each(campaign, open_, jobs or cores())))
        fresh: dict[Part, _Done] = {}
        for part, original in zip(asked, parts, strict=True):
            report = known.get(part)
            if report is not None:
                yield Checked(original, report)
                continue
            if part not in fresh:
                fresh[part] = next(done)
                if kept:
                    kept.keep(part, fresh[part])
            yield Checked(original, fresh[part].report, fresh[part].wrong)


class _Kept:
    """Reports of earlier runs, and those of this one for later ones."""

    def __init__(self, campaign: Snapshot, today: date) -> None:
        self._today = today
        self._began = time.time_ns()
        self._cache = Cache(user_folder())
        self._slot = f"files {campaign.root}"
        before = self._cache.peek(self._slot)
        self._hashes = Hashes(before["said"] if before and isinstance(before["said"], dict) else None)
        code = program()
        self.campaign = Snapshot(campaign.root, Kept(self._cache, code)) if code else campaign
        """The campaign, with what this run may keep and believe of it."""
        self._around: Around | None = around(self.campaign, today)
        self._trees: dict[str, str | None] = {}
        self._named: dict[Part, list[str]] = {}
        self._waiting: list[tuple[Part, str, dict[str, Any]]] = []

    def report(self, part: Part) -> Report | None:
        """The report that an earlier run made of just what is there now, or None."""
        key = self._key(part)
        said = self._cache.get(self._place(part), key) if key else None
        try:
            if said is not None and self._is_as_it_was(said):
                return report_from(said["report"])
        except (TypeError, ValueError, KeyError):
            pass
        # Before the check: what changes while it runs must not look as if it had been like that.
        if key:
            try:
                self._named[part] = named_by(part, self.campaign.index)
            except OSError:
                return None
            for name in self._named[part]:
                self._tree(name)
        return None

    def _is_as_it_was(self, said: Mapping[str, Any]) -> bool:
        """Whether all that an entry rests on beside its key is as it was."""
        places = [(kind, path) for kind, path, _ in said["used"]]
        return (
            all(self._tree(name) == files for name, files in said["named"])
            and state_of(places, self._hashes) == said["used"]
        )

    def keep(self, part: Part, done: _Done) -> None:
        """Nothing; the report is kept for later runs, where it is decided and nothing changed meanwhile."""
        key = self._key(part)
        if key is None or part not in self._named or done.report is None or done.report.cannot_tell:
            return
        named = [(name, self._tree(name)) for name in self._named[part]]
        outside = used(done.asked, part, self._named[part], self._hashes, self._began)
        said = report_json(done.report)
        if outside is not None and all(files for _, files in named) and report_from(said) == done.report:
            self._waiting.append((part, key, {"report": said, "used": outside, "named": named}))

    def close(self) -> None:
        """Nothing; what waits is written, if the program, git and the files are still what they were."""
        if self._waiting and around(Snapshot(self.campaign.root), self._today) == self._around:
            before, self._trees = self._trees, {}
            for part, key, said in self._waiting:
                names = (part.name, *self._named[part])
                if all(self._tree(name) == before[name] for name in names):
                    self._cache.put(self._place(part), key, said)
        if self._hashes.changed:
            self._cache.put(self._slot, "", self._hashes.as_json())
        self._cache.prune()

    def _key(self, part: Part) -> str | None:
        """The key of the part's report; None where it cannot be told, and the check itself has to say why."""
        own = self._tree(part.name)
        return self._around.key(part, own) if self._around and own else None

    def _tree(self, name: str) -> str | None:
        """A digest of all files of a part, as they were when first asked for; None where one cannot be read."""
        if name not in self._trees:
            try:
                self._trees[name] = files_of(Part(self.campaign, name), self._hashes)
            except OSError:
                self._trees[name] = None
        return self._trees[name]

    def _place(self, part: Part) -> str:
        return f"report {self.campaign.root} {part.name}"


def _check_each(campaign: Snapshot, parts: Sequence[Part], jobs: int) -> Iterator[_Done]:
    """What came of each part, in order; in processes of their own where that is worth it."""
    context = _context()
    copies = context.get_start_method() == "fork"
    if min(jobs, len(parts)) < 2 or (not copies and len(parts) < FEW):
        for part in parts:
            yield _check_one(part)
        return
    if copies:
        import_module("campaign.notes.check")  # once, here, for all of them
    before = set(multiprocessing.active_children())
    at_once = max(1, min(AT_ONCE, len(parts) // (2 * jobs)))
    with ProcessPoolExecutor(min(jobs, len(parts)), context, _begin, (campaign,)) as pool:
        try:
            yield from pool.map(_check_named, [part.name for part in parts], chunksize=at_once)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            started = set(multiprocessing.active_children()) - before
            for process in started:
                process.terminate()
            for process in started:
                process.join()
            raise


def _context() -> BaseContext:
    """How processes are made: as copies of this one where nothing else runs in it, else from nothing."""
    copies = sys.platform == "linux" and threading.active_count() == 1
    return multiprocessing.get_context("fork" if copies else "spawn")


_run: list[Snapshot] = []
"""In a process that was started for a run: the campaign, which goes there once and not with every part."""


def _begin(campaign: Snapshot) -> None:
    """Nothing; this process then checks parts of `campaign`, and ends when the one that started it says so."""
    # Ctrl-C, which every process of a terminal hears, is left to that one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _run.append(campaign)


def _check_named(name: str) -> _Done:
    return _check_one(Part(_run[-1], name))


def _check_one(part: Part) -> _Done:
    from campaign.notes.check import check

    with seen() as asked:
        try:
            return _Done(check(part), None, frozenset(asked))
        except CampaignError as wrong:
            return _Done(None, wrong, frozenset(asked))
        except OSError as wrong:
            return _Done(None, _refused(part, wrong), frozenset(asked))


def _refused(part: Part, wrong: OSError) -> UsageError:
    """What to tell of a file that the system does not let be read."""
    named = Path(os.fsdecode(wrong.filename)) if wrong.filename else part.folder
    shown = part.show(named) if named.is_relative_to(part.campaign.root) else str(named)
    return UsageError(
        f"{shown}: {wrong.strerror or wrong}; expected a file that can be read. Restore it, or give it the rights that "
        "it needs."
    )
