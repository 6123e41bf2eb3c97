"""The `notes` command as a newcomer meets it: help, names of parts, exit codes."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tests.campaigns import TriedCampaign, built_campaign, notes, notes_process

from campaign.notes.cli import main

LIFE = "new import list plan seal run read build check why publish correct chain audit".split()
COMMANDS = sorted(main.commands)
INSTALLED = any(importlib.metadata.packages_distributions().get("campaign", []))


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


# Help


def test_commands_are_those_of_a_parts_life():
    """`notes` knows these commands, and no other."""
    assert sorted(LIFE) == COMMANDS


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_commands_are_shown_in_the_order_of_a_parts_life(arguments):
    """`notes` alone shows every command, from new to correct."""
    shown = notes(*arguments).output
    found = re.findall(rf"^  ({'|'.join(LIFE)})  ", shown, re.MULTILINE)
    assert found == LIFE


@pytest.mark.parametrize("command", ["", *LIFE])
def test_exit_codes_are_documented(command):
    """Every help text says what the exit codes mean."""
    shown = notes(*command.split(), "--help").stdout
    for meaning in ("0 as it should be", "1 findings", "2 wrong use or unreadable input", "3 cannot tell"):
        assert meaning in " ".join(shown.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_command_has_help(command):
    """Each command says in a sentence what it does."""
    said = main.commands[command].help or ""
    assert re.match(r"[A-Z].{15,}\.", said, re.DOTALL)


@pytest.mark.parametrize("command", COMMANDS)
def test_short_help_is_not_cut(command):
    """The line in the list of commands is a whole sentence."""
    line = next(line for line in notes("--help").stdout.splitlines() if line.startswith(f"  {command} "))
    assert not line.endswith("...")


@pytest.mark.parametrize("command", COMMANDS)
def test_option_has_help(command):
    """Each option says what it is for."""
    for option in main.commands[command].params:
        if isinstance(option, click.Option):
            assert re.match(r"\S.{8,}\.$", option.help or "", re.DOTALL), option.name


@pytest.mark.parametrize("command", LIFE)
def test_help_fits_a_terminal(command):
    """No line of a help text is wider than 80 characters."""
    assert max(map(len, notes(command, "--help").stdout.splitlines())) <= 80


@pytest.mark.skipif(not INSTALLED, reason="only an installed program knows its version")
def test_version_is_told():
    """--version names the program and its version."""
    assert re.match(r"notes, version \d+\.\d+", notes("--version").stdout)


def test_help_needs_no_campaign(tmp_path, monkeypatch):
    """Help is there before there is a campaign."""
    monkeypatch.chdir(tmp_path)
    assert notes("build", "--help").exit_code == 0


# Names of parts, and where commands are run


@pytest.mark.parametrize("name", ["1", "01", "part-1", "parts/part-1", "parts/part-1/", "./parts/part-1"])
def test_part_has_several_names(campaign, name):
    """A number, a name and a path name the same part."""
    campaign.notes("check", name)


@pytest.mark.parametrize(("folder", "name"), [("parts", "1"), ("parts/part-1", "parts/part-1"), ("build", "part-1")])
def test_commands_work_in_any_folder_below(campaign, monkeypatch, folder, name):
    """The campaign is found from any folder in it."""
    monkeypatch.chdir(campaign.root / folder)
    campaign.notes("check", name)


def test_path_to_a_part_is_completed_by_a_shell(campaign, monkeypatch):
    """A path from the folder one is in, as a shell completes it, names the part."""
    monkeypatch.chdir(campaign.root / "parts" / "part-1" / "data")
    campaign.notes("check", "../../part-1/")


def test_outside_a_campaign_the_marker_is_named(tmp_path, monkeypatch):
    """Without campaign.toml above, the message says what to look for."""
    monkeypatch.chdir(tmp_path)
    result = notes("list")
    assert result.exit_code == 2
    assert result.stderr.startswith("notes: ") and "no campaign.toml here or in any folder above" in result.stderr


def test_message_names_files_from_the_campaigns_root(campaign, monkeypatch):
    """Paths are shown from the root, wherever the command is run."""
    campaign.change("saves 0.300", "saves 0.301")
    monkeypatch.chdir(campaign.part.data)
    assert campaign.notes("check", "1", exit=1).stdout.startswith("parts/part-1/post.md:8:")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("11", "Did you mean part-1?"), ("part-12", "Did you mean part-1?"), ("parts/part-10", "Did you mean part-1?")],
)
def test_part_that_does_not_exist_names_the_nearest(campaign, name, hint):
    """A mistyped part is told with the nearest one, all of them, and the commands that help."""
    message = campaign.notes("check", name, exit=2).stderr
    assert hint in message and "`notes list` shows them" in message


# Exit codes, through a process of its own


def test_process_exits_with_0_where_all_is_well(campaign):
    """A green check says nothing on stderr."""
    done = notes_process("check", cwd=campaign.root)
    assert (done.returncode, done.stderr) == (0, "")


def test_process_exits_with_1_on_findings(campaign):
    """Findings go to stdout."""
    campaign.change("saves 0.300", "saves 0.301")
    done = notes_process("check", cwd=campaign.root)
    assert (done.returncode, done.stderr) == (1, "") and "said '0.301', expected '0.300'" in done.stdout


def test_process_exits_with_2_on_bad_input(campaign):
    """What cannot be read goes to stderr, as one line."""
    campaign.write("facts.toml", "[")
    done = notes_process("build", "1", cwd=campaign.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("notes: parts/part-1/facts.toml: ") and done.stderr.count("\n") == 1


def test_process_exits_with_3_where_it_cannot_tell(campaign):
    """What is not here goes to stderr."""
    campaign.part.numbers.unlink()
    done = notes_process("check", cwd=campaign.root)
    assert done.returncode == 3 and "cannot tell" in done.stderr


def test_process_speaks_in_a_terminal_without_unicode(campaign):
    """A minus sign in the output does not break a process whose locale knows only ASCII."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "campaign.notes", "read", "1"],
        cwd=campaign.root,
        env=os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr and done.returncode == 0


def test_output_can_be_cut_by_a_pipe(campaign):
    """`notes read | head` ends quietly, whoever closes the pipe first."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "campaign.notes", "read", "1"],
            cwd=campaign.root,
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.stderr == ""


def test_usage_names_the_command_as_a_person_types_it(campaign):
    """Started as a module too, the program calls itself `notes`."""
    assert notes_process("check", "--help", cwd=campaign.root).stdout.startswith("Usage: notes check ")


# Wrong use


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chek"], "No such command 'chek'"),
        (["build"], "Missing argument 'PART'"),
        (["build", "1", "2"], "Got unexpected extra argument (2)"),
        (["check", "1", "--selfttest"], "No such option"),
        (["seal", "1", "--origin", "guessed"], "'guessed' is not one of"),
        (["correct", "1"], "Missing option"),
        (["publish", "1", "--date", "7 November"], "--date: '7 November' is no date; expected one as 2026-11-07"),
        (["seal", "1", "--origin", "stated", "--sealed", "2026-11-06T04:00:00"], "is no time with a zone"),
        (["why", "1"], "no number named"),
    ],
)
def test_wrong_use_is_exit_2(campaign, arguments, message):
    """A mistyped command line changes nothing and says what was expected."""
    before = campaign.tree()
    assert message in campaign.notes(*arguments, exit=2).stderr
    assert campaign.tree() == before


def test_mistyped_command_names_the_nearest():
    """A mistyped command is told which one is near."""
    assert "check" in notes("chek").stderr.split("No such command 'chek'")[1]


def test_time_of_a_seal_of_measured_data_is_now(campaign):
    """--sealed is for data whose source states it; for measured data it is refused, not passed over."""
    result = campaign.notes("seal", "1", "--sealed", "2020-01-01T00:00:00Z", exit=2)
    assert "--sealed" in result.stderr or "before" in result.stderr
