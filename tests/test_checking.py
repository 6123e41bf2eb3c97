"""Checking many parts: the same answer from one process or several, kept or computed, whatever has changed."""

import functools
import importlib
import multiprocessing
import os
import pickle
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType

import pytest
from tests.campaigns import (
    PLAN,
    TriedCampaign,
    empty_campaign,
    part_files,
    rows_csv,
    shut_out,
)

import campaign
from campaign.engine.files import digest_of, sha256_of
from campaign.kernels.errors import CampaignError
from campaign.notes import checking, fresh, keys, plotting
from campaign.notes.checking import check_all
from campaign.notes.errors import CannotTell
from campaign.notes.findings import Coverage, Finding, Report
from campaign.notes.plots import points_digest
from campaign.notes.reports import report_from, report_json

SOURCE = """\
[arms.before]
label = "kernel before"
earlier = 2026-11-06
source = { part = "part-1", arm = "served", sha256 = "%s" }

[rows]
"""


@functools.cache
def made_once() -> Path:
    """A campaign of three parts: the second takes rows from the first and caused a correction in it; a third draft."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        tried = empty_campaign(kept_folder(), monkeypatch)
        write_part(tried, 1)
        tried.notes("build", "1")
        tried.commit_all("Build Part 1")
        tried.notes("publish", "1")
        names = [f"data/{name}.csv" for name in ("rows", "draws", "tasks")]
        source = digest_of({f"../part-1/{name}": sha256_of(tried.part.folder / name) for name in names})
        write_part(tried, 2, {"plan.toml": PLAN.replace("[rows]\n", SOURCE % source)})
        write_part(tried, 3)
        tried.notes(
            *"correct 1 --because y --reported-by z --date 2026-11-06 --caused-by part-2 --says".split(),
            'a saving of {{ q("saving") }} ms',
            "--said",
            "nothing here is about people",
        )
        tried.notes("build", "2")
        tried.notes("build", "3")
        tried.commit_all("Parts 2 and 3")
    return tried.root


def kept_folder() -> Path:
    from tests.campaigns import _kept_folder

    return _kept_folder()


def write_part(tried: TriedCampaign, number: int, files: Mapping[str, str] = MappingProxyType({})) -> None:
    more = {"data/rows.csv": rows_csv()} if number == 1 else {}
    template = part_files()["post.md.j2"].replace('q("part.1")', 'q("part")')
    if number == 2:
        template += '\n{% for one in caused %}\nIt corrected Part 1: {{ q("correction.1.1.says") }}.\n{% endfor %}\n'
    for name, text in (part_files() | {"post.md.j2": template} | more | dict(files)).items():
        path = tried.root / "parts" / f"part-{number}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def tried(tmp_path, monkeypatch) -> TriedCampaign:
    shut_out(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # A test may run while the program is being written.
    monkeypatch.setattr(keys, "_STARTED", float("inf"))
    # Its files are written just before its checks.
    monkeypatch.setattr(keys, "RACY_NS", 0)
    root = tmp_path.resolve() / "campaign"
    shutil.copytree(made_once(), root, symlinks=True)
    monkeypatch.chdir(root)
    return TriedCampaign(root, root)


@pytest.fixture
def checks(monkeypatch) -> list[str]:
    """The names of the parts that were checked, not looked up."""
    names: list[str] = []
    check_one = checking._check_one
    monkeypatch.setattr(checking, "_check_one", lambda part: names.append(part.name) or check_one(part))
    return names


def answers(tried: TriedCampaign, *, cache: bool, jobs: int = 1, today: date | None = None) -> list[object]:
    """What is said of each part."""
    parts = tried.part.campaign.parts()
    return [
        (one.part.name, one.report, type(one.wrong), str(one.wrong))
        for one in check_all(parts, jobs=jobs, cache=cache, today=today)
    ]


def same(tried: TriedCampaign) -> list[object]:
    """What is said of each part, which is the same whether it is kept or computed."""
    kept = answers(tried, cache=True)
    assert kept == answers(tried, cache=False)
    return kept


# Many parts


def test_unchanged_campaign_has_no_findings(tried):
    """The campaign of these tests is as it should be."""
    assert [(name, [one.code for one in report.findings if not one.warning]) for name, report, *_ in same(tried)] == [
        ("part-1", []),
        ("part-2", []),
        ("part-3", []),
    ]


@pytest.mark.parametrize("jobs", [2, 5])
def test_processes_give_the_same_in_the_order_asked_for(tried, jobs):
    """Several processes give the reports that one gives, in the order in which the parts were named."""
    parts = [tried.part_named(f"part-{number}") for number in (3, 1, 2, 1)]
    several = list(check_all(parts, jobs=jobs, cache=False))
    assert [one.part for one in several] == parts
    assert several == list(check_all(parts, jobs=1, cache=False))


def test_processes_that_start_from_nothing_give_the_same(tried, monkeypatch):
    """Where a process cannot be copied, new ones are started, and say the same."""
    parts = tried.part.campaign.parts()
    monkeypatch.setattr(checking, "_context", lambda: multiprocessing.get_context("spawn"))
    assert len(parts) < checking.FEW  # so few are checked here
    monkeypatch.setattr(checking, "FEW", 2)
    assert list(check_all(parts, jobs=2, cache=False)) == list(check_all(parts, jobs=1, cache=False))


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_wrong_with_one_part_stops_no_other(tried, jobs):
    """A part that cannot be read and one that cannot be decided are answers like the others."""
    (tried.part_named("part-2").plan).write_text("about = ")
    tried.part_named("part-3").numbers.unlink()
    first, second, third = check_all(tried.part.campaign.parts(), jobs=jobs, cache=False)
    assert first.report is not None
    assert (second.report, "part-2/plan.toml: not TOML" in str(second.wrong)) == (None, True)
    assert isinstance(third.wrong, CannotTell)


def test_no_parts_give_no_answers():
    """A check of nothing says nothing."""
    assert list(check_all([], jobs=2)) == []


def test_one_part_needs_no_process(tried, monkeypatch):
    """A single part is checked in this process."""
    monkeypatch.setattr(checking, "ProcessPoolExecutor", None)
    assert [one.report is not None for one in check_all([tried.part], jobs=8, cache=False)] == [True]


def test_errors_come_whole_from_another_process():
    """Every error of the program is the same after its way from one process to another."""
    for module in pkgutil.walk_packages(campaign.__path__, "campaign."):
        if module.name.endswith(".errors"):
            importlib.import_module(module.name)
    kinds, found = [CampaignError], set()
    while kinds:
        kind = kinds.pop()
        found.add(kind)
        kinds += kind.__subclasses__()
    for kind in found:
        again = pickle.loads(pickle.dumps(kind("what was wrong")))
        assert (type(again), str(again)) == (kind, "what was wrong")


SLOW = """\
import os, sys, time
from pathlib import Path
from campaign.notes import checking
from campaign.notes.paths import Campaign

def never(part):
    os.write(1, b"%d\\n" % os.getpid())  # at once, whatever the other one writes
    time.sleep(600)

checking._check_one = never
parts = Campaign.above(Path.cwd()).parts()
checks = checking.check_all(parts, jobs=2, cache=False)
try:
    next(checks)
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_interrupt_ends_every_process(tried):
    """Ctrl-C ends the run and the processes that it started, and nothing of them is left."""
    command = [sys.executable, "-P", "-c", SLOW]
    with subprocess.Popen(command, cwd=tried.root, stdout=subprocess.PIPE, text=True, process_group=0) as started:
        try:
            workers = [int(started.stdout.readline()) for _ in range(2)]
            os.killpg(started.pid, signal.SIGINT)
            assert started.wait(60) == 130
        finally:
            started.kill()
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


def test_caller_that_stops_early_leaves_no_process(tried):
    """Who takes the first answer only leaves no process behind."""
    before = set(multiprocessing.active_children())
    checks = check_all(tried.part.campaign.parts(), jobs=2, cache=False)
    next(checks)
    checks.close()
    assert set(multiprocessing.active_children()) <= before


# What is kept


def test_unchanged_parts_are_not_checked_again(tried, checks):
    """A second run checks nothing and says the same."""
    first = answers(tried, cache=True)
    assert checks == ["part-1", "part-2", "part-3"]
    assert answers(tried, cache=True) == first
    assert len(checks) == 3


def test_without_the_cache_everything_is_checked(tried, checks):
    """A run without the cache neither reads nor writes one."""
    answers(tried, cache=False)
    answers(tried, cache=False)
    assert len(checks) == 6
    assert not Path(os.environ["XDG_CACHE_HOME"]).exists()


def test_changed_text_is_checked_and_no_other(tried, checks):
    """Of three parts only the one whose text changed is checked again."""
    answers(tried, cache=True)
    checks.clear()
    with tried.part_named("part-3").post.open("a") as file:
        file.write("more")
    same(tried)
    assert checks[0] == "part-3"
    assert checks[1:] == ["part-1", "part-2", "part-3"]  # those without the cache


def changed(data: bytes) -> bytes:
    """The data with one byte changed: their last digit."""
    at = max((i for i, byte in enumerate(data) if chr(byte).isdigit()), default=len(data) - 1)
    return data[:at] + (b"7" if data[at : at + 1] != b"7" else b"8") + data[at + 1 :]


def files_of(tried: TriedCampaign) -> list[Path]:
    """Every file of the campaign that git holds, but for those of the third part."""
    names = tried.git("ls-files").splitlines()
    return [tried.root / name for name in names if "part-3" not in name]


def test_every_file_counts(tried, monkeypatch):
    """Whichever file is changed by one byte or taken away, the kept answer is the one that a fresh check gives."""
    drawn: dict[str, str] = {}
    draw = plotting.line_plot
    # The same points are drawn once here, and the program is read once: neither is among the files that change.
    monkeypatch.setattr(
        plotting,
        "line_plot",
        lambda spec: drawn.get(found := points_digest(spec)) or drawn.setdefault(found, draw(spec)),
    )
    program = functools.cache(keys.program)
    monkeypatch.setattr(keys, "program", program)
    monkeypatch.setattr(checking, "program", program)
    shutil.rmtree(tried.root / "parts" / "part-3")
    before = same(tried)
    told = set()
    for path in files_of(tried):
        data = path.read_bytes()
        path.write_bytes(changed(data))
        if same(tried) != before:
            told.add(path.name)
        path.unlink()
        if path.name != "campaign.toml":  # without it there is no campaign
            same(tried)
        path.write_bytes(data)
    assert same(tried) == before
    assert told >= {"plan.toml", "facts.toml", "post.md", "numbers.json", "rows.svg", "rows.csv", "draws.csv"}
    assert told >= {"published.toml", "corrections.toml", "campaign.toml"}


@pytest.mark.parametrize("name", ["part-1/seal.toml", "part-3/looks.toml", "part-2/corrections.toml"])
def test_every_new_file_counts(tried, name):
    """A file that was not there before is seen."""
    before = same(tried)
    (tried.root / "parts" / name).write_text("x = 1\n")
    assert same(tried) != before


def test_rows_of_another_part_count(tried):
    """A part that takes rows from another is checked again when those change."""
    before = same(tried)
    path = tried.part.data / "draws.csv"
    path.write_bytes(changed(path.read_bytes()))
    assert same(tried)[1] != before[1]


def test_what_a_correction_in_another_part_says_counts(tried):
    """A part quotes what it corrected elsewhere, as that part's own data give it."""
    before = same(tried)
    facts = tried.part.corrections
    facts.write_text(facts.read_text().replace("a saving of", "the saving of"))
    assert same(tried)[1] != before[1]


def test_part_that_is_named_counts(tried, checks):
    """A part whose facts name another one is checked again when a file of that one changes."""
    facts = tried.part_named("part-3").facts
    facts.write_text(facts.read_text().replace('"the machine"', '"stated in Part 1"'))
    answers(tried, cache=True)
    checks.clear()
    (tried.part.folder / "notes.txt").write_text("x")
    answers(tried, cache=True)
    (tried.part.folder / "notes.txt").write_text("y")
    checks.clear()
    answers(tried, cache=True)
    assert checks == ["part-1", "part-2", "part-3"]


# Git


def test_rewritten_history_counts(tried):
    """The files are the same, and the history that held them is not."""
    before = same(tried)
    tried.git("checkout", "--quiet", "--orphan", "new")
    tried.commit_all("All at once")
    after = same(tried)
    assert after[0] != before[0]
    assert {one.code for one in after[0][1].findings} == {"kept"}


def test_missing_object_counts(tried, checks):
    """Where a blob is no longer in git, its part is checked again, and git decides anew."""
    same(tried)
    checks.clear()
    blob = next(line for line in tried.part.published.read_text().splitlines() if "post_blob" in line).split('"')[1]
    (tried.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    answers(tried, cache=True)
    assert "part-1" in checks


def borrowing(tried: TriedCampaign, tmp_path: Path) -> Path:
    """The folder from which the campaign's repository borrows all its objects now."""
    own = tried.root / ".git" / "objects"
    store = tmp_path / "store"
    shutil.move(own, store)
    (own / "info").mkdir(parents=True)
    (own / "pack").mkdir()
    (own / "info" / "alternates").write_text(f"{store}\n")
    return store


def test_missing_object_of_a_borrowed_store_counts(tried, checks, tmp_path):
    """A clone made with --shared has its objects elsewhere; what happens there counts as well."""
    store = borrowing(tried, tmp_path)
    same(tried)
    checks.clear()
    blob = next(line for line in tried.part.published.read_text().splitlines() if "post_blob" in line).split('"')[1]
    (store / blob[:2] / blob[2:]).unlink()
    answers(tried, cache=True)
    assert "part-1" in checks


def test_store_that_is_borrowed_from_through_another_counts(tried, tmp_path):
    """A store may itself borrow, by a path from its own folder, and two may borrow from each other."""
    store = borrowing(tried, tmp_path)
    further = tmp_path / "further"
    (further / "ab").mkdir(parents=True)
    (further / "info").mkdir()
    (further / "info" / "alternates").write_text(f"{store}\n")
    (store / "info").mkdir(exist_ok=True)
    (store / "info" / "alternates").write_text("../further\n# a comment\n")
    before = keys.git_state(tried.root)
    assert keys.git_state(tried.root) == before
    (further / "ab" / ("0" * 38)).write_text("")
    assert keys.git_state(tried.root) != before


def test_work_tree_beside_another_shares_its_git(tried, tmp_path):
    """In a linked work tree the same objects and refs count, and its own HEAD."""
    tried.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    linked = tmp_path / "linked"
    before, here = keys.git_state(linked), keys.git_state(tried.root)
    tried.commit_all("Nothing")
    assert keys.git_state(linked) != before and keys.git_state(tried.root) != here


def test_packed_refs_count(tried):
    """A ref that is only in packed-refs is a ref."""
    tried.git("branch", "other")
    tried.git("pack-refs", "--all")
    before = keys.git_state(tried.root)
    packed = tried.root / ".git" / "packed-refs"
    packed.write_text(re.sub(r".* refs/heads/other\n", "", packed.read_text()))
    assert keys.git_state(tried.root) != before


def test_settings_of_the_user_count(tried, tmp_path, monkeypatch):
    """What git is told outside of the repository, about line ends say, counts as well."""
    before = keys.git_state(tried.root)
    settings = tmp_path / "settings"
    settings.write_text("[core]\n\tautocrlf = true\n")
    tried.git("config", "include.path", str(settings))
    included = keys.git_state(tried.root)
    settings.write_text("[core]\n\tautocrlf = false\n")
    assert len({repr(state) for state in (before, included, keys.git_state(tried.root))}) == 3


def test_commit_counts(tried, checks):
    """What was committed since may have changed the history of a file."""
    answers(tried, cache=True)
    tried.commit_all("Nothing")
    same(tried)
    assert len(checks) == 9


def test_no_git_is_another_answer(tried):
    """Where the history is gone altogether, what is kept is not believed."""
    same(tried)
    shutil.rmtree(tried.root / ".git")
    assert same(tried)[0][1].cannot_tell


def test_undecided_answer_is_not_kept(tried, checks):
    """What could not be told is asked anew: what lacked may be here the next time."""
    shutil.rmtree(tried.root / ".git")
    answers(tried, cache=True)
    answers(tried, cache=True)
    assert checks.count("part-1") == 2


# The day, the program, the place


def test_another_day_is_another_check(tried, checks):
    """What ends on a date may have ended."""
    answers(tried, cache=True, today=date(2026, 11, 7))
    answers(tried, cache=True, today=date(2026, 11, 7))
    answers(tried, cache=True, today=date(2026, 11, 7) + timedelta(days=1))
    assert len(checks) == 6


def test_another_program_is_another_check(tried, checks, monkeypatch):
    """What an earlier version found is nothing that this one says."""
    answers(tried, cache=True)
    monkeypatch.setattr(keys, "_installed", lambda: iter(["numpy-9.9.dist-info"]))
    answers(tried, cache=True)
    assert len(checks) == 6


def test_program_that_changed_since_its_start_keeps_nothing(tried, checks, monkeypatch):
    """The files of the program may not be those that run: nothing is kept, nor is anything kept believed."""
    answers(tried, cache=True)
    monkeypatch.setattr(keys, "_STARTED", 0.0)
    answers(tried, cache=True)
    assert len(checks) == 6


def test_copy_of_a_campaign_is_another_one(tried, checks, monkeypatch):
    """Messages name paths: a copy does not get the answers of the original."""
    answers(tried, cache=True)
    shutil.copytree(tried.root, tried.root.parent / "copy", symlinks=True)
    monkeypatch.chdir(tried.root.parent / "copy")
    same(TriedCampaign(tried.root.parent / "copy", tried.root.parent / "copy"))
    assert len(checks) == 9


def test_file_that_changes_during_its_check_is_not_kept(tried, monkeypatch):
    """The report of what was there before is not taken for that of what is there now."""
    check_one = checking._check_one

    def meanwhile(part):
        done = check_one(part)
        with part.post.open("a") as file:
            file.write("1 more")
        return done

    monkeypatch.setattr(checking, "_check_one", meanwhile)
    answers(tried, cache=True)
    monkeypatch.setattr(checking, "_check_one", check_one)
    same(tried)


# Readings


def test_readings_are_computed_once_for_the_same_data(tried, monkeypatch):
    """A changed text does not compute readings again, in this process or the next; changed data do."""
    computed = []
    read = fresh.read
    monkeypatch.setattr(fresh, "read", lambda *said: computed.append(said[2]) or read(*said))

    def forget():
        monkeypatch.setattr(fresh, "_readings", fresh._Memory())
        monkeypatch.setattr(fresh, "_data", fresh._Memory())

    forget()
    part = tried.part_named("part-3")
    list(check_all([part], jobs=1))
    assert len(computed) == 1
    part.post.write_text(part.post.read_text() + "\n")
    list(check_all([part], jobs=1))
    forget()
    list(check_all([part], jobs=1))
    assert len(computed) == 1
    draws = part.data / "draws.csv"
    draws.write_text(re.sub(r"\.\d\d\d,", ".000,", draws.read_text(), count=1))
    list(check_all([part], jobs=1))
    assert len(computed) == 2


# Reports


def test_report_comes_back_as_it_was():
    """A report that was kept is the one that was made, in every field."""
    finding = Finding("changed", "a.md", 3, 4, "1", "2", "x", "mend", "warning", 7, ("one", "two"))
    coverage = Coverage(*range(len(fields(Coverage))))
    report = Report("part-1", "a.md", coverage, [finding, replace(finding, also=())], "why", ["a note"])
    assert report_from(report_json(report)) == report


@pytest.mark.parametrize("said", [None, [], {}, {"part": "part-1"}])
def test_what_is_no_report_is_refused(said):
    """A report of another version is not read."""
    with pytest.raises(ValueError, match="not a Report"):
        report_from(said)


def test_page_that_appears_is_seen(tried):
    """A page that was not there at the first check, and shows another number, is a finding of the second."""
    page = tried.part.page
    page.unlink(missing_ok=True)
    same(tried)
    tried.notes("build", "1")
    page.write_text(page.read_text().replace("0.300", "0.400"))
    told = {name: [one.code for one in report.findings if not one.warning] for name, report, *_ in same(tried)}
    assert set(told["part-1"]) == {"stale"}
