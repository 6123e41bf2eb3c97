"""The self-test: texts and data are changed in every known way, and what the real command finds is counted."""

import json
from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign, published_campaign

from campaign.notes import check as checking
from campaign.notes import data_mutants, mutants
from campaign.notes import selftest as module
from campaign.notes.selftest import CLAIMS, Answer, Missed, Scratch, SelfTest, Tally, ask, ask_process, selftest


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    monkeypatch.setattr(module, "REAL_OF_A_CLASS", 0)
    monkeypatch.setattr(module, "WHOLE", ())
    return built_campaign(tmp_path, monkeypatch)


def tally(**more) -> Tally:
    return Tally(
        **({"kind": "digit", "changes": "", "mutants": 4, "equivalent": 0, "found": 4, "located": 4} | more), refused=0
    )


def only(monkeypatch: pytest.MonkeyPatch, *kinds: str, data: bool = False, claims: bool = False) -> None:
    """Nothing; these classes of changed texts alone are then tried."""
    monkeypatch.setattr(mutants, "CLASSES", {kind: mutants.CLASSES[kind] for kind in kinds})
    if not data:
        monkeypatch.setattr(data_mutants, "kinds", dict)
    if not claims:
        monkeypatch.setattr(module.Search, "__iter__", lambda search: iter(()))


def test_every_class_is_found_on_a_built_text(campaign):
    """Of a sample of each class every mutant is found, claims are turned, and nothing is told of the untouched text."""
    result = selftest(campaign.part, sample=2, jobs=1)
    assert result.missed == ()
    assert result.unturned == ()
    assert (result.false_findings, result.passed) == (0, True)
    tried = {tally.kind for tally in result.tallies}
    assert {"digit", "unit", "comparing word", "rows", "typed number", "cell a little", "truncated", CLAIMS} <= tried


def test_every_digit_is_found_and_located(campaign, monkeypatch):
    """Each digit of post.md is changed once, found, and told on its own line."""
    only(monkeypatch, "digit")
    [digits] = selftest(campaign.part, jobs=1).tallies
    assert digits.mutants == sum(character in "0123456789" for character in campaign.text())
    assert digits.found == digits.located == digits.mutants


def test_published_text_is_stamped_anew(tmp_path, monkeypatch):
    """The hash in published.toml fits each changed body, so that only the binding can find it."""
    monkeypatch.setattr(module, "REAL_OF_A_CLASS", 0)
    published = published_campaign(tmp_path, monkeypatch)
    scratch = Scratch(published.root, "part-1", tmp_path)
    with scratch.post(scratch.text.replace("about people", "about persons")):
        assert ask(scratch.part).new(scratch.before) == []
    with scratch.post(scratch.text.replace("0.300", "0.301")):
        assert [finding[0] for finding in ask(scratch.part).new(scratch.before)] == ["changed"]


def test_scratch_copy_has_no_template_and_no_git(campaign, tmp_path):
    """What could find a change beside the binding is not there."""
    scratch = Scratch(campaign.root, "part-1", tmp_path)
    assert not scratch.part.template.exists()
    assert not list(scratch.part.campaign.root.rglob(".git"))


def test_self_test_leaves_every_file_as_it_was(campaign, monkeypatch):
    """Texts and data are changed in a copy."""
    only(monkeypatch, "sign", data=True)
    before = campaign.tree()
    selftest(campaign.part, sample=1, jobs=1)
    assert campaign.tree() == before


def test_process_of_its_own_says_the_same(campaign, tmp_path):
    """The command in a process of its own gives the answer that it gives in this one."""
    scratch = Scratch(campaign.root, "part-1", tmp_path)
    with scratch.post(scratch.text.replace("0.300", "0.301")):
        assert ask(scratch.part) == ask_process(scratch.part)
        assert ask(scratch.part).exit == 1


def test_blind_check_is_told_and_fails(campaign, monkeypatch):
    """A check that finds nothing in the body passes no self-test: each missed mutant is named with its place."""
    only(monkeypatch, "digit")
    honest = checking.check_body

    def blind(*arguments):
        _, *more = honest(*arguments)
        return [], *more

    monkeypatch.setattr(checking, "check_body", blind)
    result = selftest(campaign.part, sample=20, jobs=1)
    assert not result.passed
    assert any(str(missed).startswith("parts/part-1/post.md:") and " → " in str(missed) for missed in result.missed)
    assert "missed: parts/part-1/post.md:" in str(result)


def test_crash_of_the_check_finds_nothing(campaign, monkeypatch):
    """A mutant that stops the check with an error of Python is missed, and the error is told."""
    only(monkeypatch, "sign")
    before = campaign.text()

    def broken(part, post, *more):
        if post.text != before:
            raise ValueError("a fault of the program")
        return honest(part, post, *more)

    honest = checking.check_body
    monkeypatch.setattr(checking, "check_body", broken)
    result = selftest(campaign.part, sample=1, jobs=1)
    assert "ValueError: a fault of the program" in str(result)
    assert not result.passed


def test_equal_cells_count_as_equivalent(campaign, monkeypatch):
    """Two equal cells that change places are no mutant to be found, and are counted."""
    only(monkeypatch, "cells of a column swapped")
    [cells] = selftest(campaign.part, jobs=1).tallies
    assert cells.equivalent > 0
    assert cells.found == cells.mutants - cells.equivalent == cells.to_find


def test_work_is_shared_among_processes(campaign, monkeypatch):
    """Two processes find what one finds."""
    only(monkeypatch, "sign", "unit")
    shared, alone = (selftest(campaign.part, sample=6, jobs=jobs).tallies[:2] for jobs in (2, 1))
    assert shared == alone
    assert [tally.found for tally in shared] == [6, 6]


def test_same_seed_draws_the_same_sample(campaign, monkeypatch):
    """The sample hangs on the seed alone."""
    only(monkeypatch, "digit")
    assert selftest(campaign.part, sample=5, seed=3, jobs=1) == selftest(campaign.part, sample=5, seed=3, jobs=1)


def test_claim_that_nothing_turns_is_named_and_fails(campaign, monkeypatch):
    """A claim that no change of the data made false proves nothing: it is named, and not counted as found."""
    only(monkeypatch, "sign")
    result = selftest(campaign.part, sample=1, jobs=1)
    assert not result.passed
    assert any("saving > bar" in told for told in result.unturned)
    assert "not turned: " in str(result)


def test_claim_that_is_turned_has_its_finding_at_its_place(campaign, monkeypatch):
    """Readings made anew from data that make a claim false leave its word to be found in the text."""
    only(monkeypatch, claims=True)
    result = selftest(campaign.part, jobs=1)
    [claims] = result.tallies
    assert (claims.kind, claims.found, claims.located) == (CLAIMS, claims.mutants, claims.mutants)


def test_temporary_folder_in_a_git_tree_is_refused(campaign):
    """Where the history would be at hand the self-test would prove too much, and says so."""
    with pytest.raises(module.CannotTell, match="TMPDIR"):
        Scratch(campaign.root, "part-1", campaign.root)


def test_only_errors_that_are_new_count():
    """A finding that the untouched text has, and a warning, find no mutant."""
    line = {"code": "changed", "path": "p", "line": 1, "column": 1, "said": "a", "expected": "b", "level": "error"}
    warning = line | {"line": 2, "level": "warning"}
    answer = Answer.of(1, json.dumps({"part": "part-1", "findings": [line, warning]}))
    assert len(answer.findings) == 1
    assert answer.new(answer) == []


@pytest.mark.parametrize(
    ("result", "passed"),
    [
        (SelfTest("part-1", (tally(),), 0), True),
        (SelfTest("part-1", (tally(found=3, equivalent=1),), 0), True),
        (SelfTest("part-1", (), 0), False),
        (SelfTest("part-1", (tally(mutants=0, found=0),), 0), False),
        (SelfTest("part-1", (tally(found=3),), 0), False),
        (SelfTest("part-1", (tally(),), 1), False),
        (SelfTest("part-1", (tally(),), 0, unturned=("x",)), False),
        (SelfTest("part-1", (tally(),), 0, differing=("x",)), False),
    ],
)
def test_what_passes(result, passed):
    """All that there was to find is found, nothing else is told, and there was something to find."""
    assert result.passed is passed


def test_report_is_a_table_and_json():
    """A person reads a line a class and the total; a program gets the same numbers."""
    missed = Missed("digit", "parts/part-1/post.md", 3, 5, "4", "5")
    result = SelfTest("part-1", (tally(found=3, located=2, missed=(missed,)),), 0)
    assert "75.0%" in str(result) and "missed: parts/part-1/post.md:3:5: digit: 4 → 5" in str(result)
    said = json.loads(json.dumps(result.to_json()))
    assert (said["mutants"], said["found"], said["located"], said["passed"]) == (4, 3, 2, False)
    assert said["classes"][0]["missed"][0]["line"] == 3
