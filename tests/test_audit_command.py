"""`notes audit` and `notes import` as commands: exit codes, formats, and what they leave alone."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from tests.campaigns import TriedCampaign, built_campaign
from tests.campaigns import notes as asked

WRONG = "| n | before | after | ratio |\n|---|---|---|---|\n" + "".join(
    f"| {n} | {before} | {after} | {ratio}× |\n"
    for n, before, after, ratio in (
        ("a", "9.6", "4.8", "2.0"),
        ("b", "11.2", "5.6", "3.0"),
        ("c", "15.0", "5.0", "3.0"),
    )
)


def notes(*arguments: str, exit: int = 0) -> Result:
    result = asked(*arguments)
    assert result.exit_code == exit
    return result


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is in no campaign."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_wrong_ratio_is_found_outside_any_campaign(folder):
    """A finding is shown with its line, and the exit code is 1."""
    (folder / "any.md").write_text(WRONG)
    result = notes("audit", "any.md", exit=1)
    assert "any.md:4:" in result.stdout and "error[ratio]: said '3.0×', expected '2.0×'" in result.stdout


def test_text_whose_numbers_agree_has_no_finding(folder):
    """With the ratio put right the exit code is 0, and what was tested is told."""
    (folder / "any.md").write_text(WRONG.replace("5.6 | 3.0", "5.6 | 2.0"))
    assert "tested: 3 ratios" in notes("audit", "any.md").stdout


def test_page_is_read_as_a_page(folder):
    """An HTML file is read by the reader of pages: its tables too."""
    cells = [line.strip("|").split("|") for line in WRONG.splitlines() if "---" not in line]
    rows = "".join("<tr>" + "".join(f"<td>{cell.strip()}</td>" for cell in row) + "</tr>" for row in cells)
    (folder / "any.html").write_text(f"<style>p {{ margin: 3px }}</style><table>{rows}</table>")
    said = json.loads(notes("audit", "any.html", "--format", "json", exit=1).stdout)
    assert said["coverage"]["numbers"] == 9


def test_text_without_numbers_passes_and_says_so(folder):
    """A document without a number holds up no commit."""
    (folder / "any.md").write_text("Nothing is said here.\n")
    assert "no numbers found" in notes("audit", "any.md").stdout


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x7fELF\x02\x01\x01\x00", "a binary file: byte 7 is zero"),
        ("12 ms".encode("utf-16"), "a binary file"),
        (b"12 \xb5s\n", "no text in UTF-8: byte 3 is 0xb5"),
    ],
)
def test_file_that_is_no_text_is_refused(folder, data, why):
    """What cannot be read as UTF-8 is wrong use; the message says what was found and what to do."""
    (folder / "any.md").write_bytes(data)
    result = notes("audit", "any.md", exit=2)
    assert why in result.stderr and "expected" in result.stderr


def test_other_files_are_audited_all_the_same(folder):
    """One file that cannot be read does not hide what is wrong in another."""
    (folder / "binary.md").write_bytes(b"\x00")
    (folder / "wrong.md").write_text(WRONG)
    assert "error[ratio]" in notes("audit", "binary.md", "wrong.md", exit=2).stdout


def test_file_that_is_not_there_is_wrong_use(folder):
    """One message, exit code 2."""
    assert notes("audit", "none.md", exit=2).stderr.startswith("notes: none.md: ")


def test_old_post_becomes_a_part_that_says_the_same(campaign):
    """With the sources filled in it builds to the old text, and every number of it is bound."""
    old = campaign.root / "old.md"
    old.write_text("# Old\n\nIt takes 4.79 µs on 3 cards.\n")
    campaign.notes("import", "old.md", "--as", "2")
    part = campaign.root / "parts" / "part-2"
    campaign.notes("build", "2", exit=2)
    (part / "facts.toml").write_text((part / "facts.toml").read_text().replace('source = ""', 'source = "a notebook"'))
    campaign.notes("build", "2")
    assert "It takes 4.79 µs on 3 cards." in (part / "post.md").read_text()
    assert "0 unbound" in campaign.notes("check", "2").stdout


def test_import_overwrites_nothing(campaign):
    """A part that is there stays as it is."""
    (campaign.root / "old.md").write_text("# Old\n\nIt takes 4.79 µs.\n")
    before = campaign.text("post.md.j2")
    campaign.notes("import", "old.md", "--as", "1", exit=2)
    assert campaign.text("post.md.j2") == before
