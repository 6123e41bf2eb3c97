"""The self-test: every digit of a text is changed once, and the share that the check finds is reported."""

from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign

from campaign.notes import selftest as module
from campaign.notes.selftest import SelfTest, digit_mutants, selftest


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


def test_each_digit_is_changed_once():
    """There is one mutant for each digit, which differs from the body in that digit alone."""
    body = "saves 0.90 ms\nin 4 rows\n"
    mutants = list(digit_mutants(body))
    assert [(m.line, m.column, m.was, m.became) for m in mutants] == [
        (1, 7, "0", "1"),
        (1, 9, "9", "0"),
        (1, 10, "0", "1"),
        (2, 4, "4", "5"),
    ]
    assert all(sum(a != b for a, b in zip(body, m.text, strict=True)) == 1 for m in mutants)


def test_every_changed_digit_of_a_built_text_is_found(campaign):
    """All digits are found, and nothing is told of the untouched text."""
    result = selftest(campaign.part)
    assert result.mutants == sum(character in "0123456789" for character in campaign.text()) > 50
    assert (result.found, result.false_findings, result.passed) == (result.mutants, 0, True)


def test_share_is_reported(campaign):
    """The command prints how many digits were changed and found, and exits with 0."""
    result = campaign.notes("check", "1", "--selftest")
    assert "digits changed one at a time" in result.stdout and "(100.0%)" in result.stdout


def test_self_test_leaves_every_file_as_it_was(campaign):
    """Texts are changed in memory only."""
    before = campaign.tree()
    campaign.notes("check", "1", "--selftest")
    assert campaign.tree() == before


def test_missed_digit_is_told_and_fails(campaign, monkeypatch):
    """A check that misses digits exits with 1 and says where each stands."""
    honest = module.check_body

    def blind(part, post, ledger, sources):
        findings, coverage = honest(part, post, ledger, sources)
        return [finding for finding in findings if "reading saving" not in finding.source], coverage

    monkeypatch.setattr(module, "check_body", blind)
    result = campaign.notes("check", "1", "--selftest", exit=1)
    line = next(i for i, text in enumerate(campaign.text().splitlines(), 1) if "saves 0.300" in text)
    assert f"missed: line {line}, column " in result.stdout


def test_text_without_digits_proves_nothing():
    """No mutant at all is no success."""
    assert not SelfTest(0, 0, (), 0).passed


def test_check_that_cries_wolf_does_not_pass():
    """Findings on the untouched text make the share worthless."""
    assert not SelfTest(10, 10, (), 1).passed
