"""Building: the same input gives the same bytes, and a refused build leaves everything as it was."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.campaigns import TriedCampaign, built_campaign, draws_csv, published_campaign, written_campaign

BUILT = ("post.md", "numbers.json", "readings.json", "plots/rows.svg")


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


def outputs(campaign: TriedCampaign) -> dict[str, bytes]:
    """Every file that a build writes."""
    files = {name: (campaign.part.folder / name).read_bytes() for name in BUILT}
    return files | {"page": campaign.part.page.read_bytes()}


def test_second_build_gives_the_same_bytes(campaign):
    """Nothing in post, numbers, readings, plots and page depends on when they are built."""
    before = outputs(campaign)
    campaign.notes("build", "1")
    assert outputs(campaign) == before


def test_build_of_another_machine_gives_the_same_bytes(campaign):
    """Neither hash seed, zone, locale nor folder matters."""
    before = outputs(campaign)
    for name in BUILT:
        (campaign.part.folder / name).unlink()
    moved = campaign.root.rename(campaign.root.parent / "elsewhere")
    settings = {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "campaign.notes", "build", "1"],
        cwd=moved / "parts",
        env=os.environ | settings,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert outputs(TriedCampaign(moved, moved)) == before


def test_build_says_what_it_wrote(campaign):
    """Coverage comes first, then each file as a person would type it."""
    lines = campaign.notes("build", "1").stdout.splitlines()
    assert lines[0].startswith("built Part 1: ") and "0 unbound" in lines[0]
    assert [line.strip() for line in lines[1:]] == [
        "parts/part-1/readings.json",
        "parts/part-1/plots/rows.svg",
        "parts/part-1/numbers.json",
        "parts/part-1/post.md",
        "build/part-1/index.html",
    ]


def test_first_build_needs_nothing_but_what_a_person_wrote(tmp_path, monkeypatch):
    """A part that was never built, in a campaign without any commit of it, builds."""
    campaign = written_campaign(tmp_path, monkeypatch)
    campaign.notes("build", "1")
    campaign.notes("check", "1")


def test_build_writes_below_its_own_part_and_the_build_folder(campaign):
    """No other file of the campaign is touched."""
    campaign.write("../part-2/plan.toml", "about = 'x'\n")
    campaign.write("../part-2/facts.toml", "[post]\ntitle = 'x'\ndate = 2026-11-06\n")
    before = campaign.tree()
    campaign.write("data/draws.csv", draws_csv().replace("14", "15", 1))
    campaign.notes("build", "1")
    changed = {name for name, data in campaign.tree().items() if before.get(name) != data}
    assert all(name.startswith(("parts/part-1/", "build/part-1/")) for name in changed)


def test_post_has_banner_body_and_markers(campaign):
    """A draft says that it is one, and the body stands between two lines of its own."""
    text = campaign.text()
    assert text.startswith(
        "> **Part 1.** Draft. Not published; its text may still change.\n\n<!-- campaign:body begin -->\n"
    )
    assert text.endswith("\n<!-- campaign:body end -->\n")


def test_body_that_does_not_end_its_last_line_is_ended(campaign):
    """The end marker stands on a line of its own even where the template lacks its last line end."""
    campaign.write("post.md.j2", campaign.text("post.md.j2").rstrip("\n"))
    campaign.notes("build", "1")
    assert "\n<!-- campaign:body end -->\n" in campaign.text()


def test_template_with_line_ends_of_windows_builds_the_same_post(campaign):
    """A checkout with CRLF line ends changes nothing."""
    before = campaign.text()
    campaign.part.template.write_bytes(campaign.part.template.read_bytes().replace(b"\n", b"\r\n"))
    campaign.notes("build", "1")
    assert campaign.text() == before


def test_readings_are_committed_with_what_they_come_from(campaign):
    """readings.json has value, unit, format, interval, formula and the hash of each data file."""
    held = json.loads(campaign.text("readings.json"))
    saving = next(reading for reading in held["readings"] if reading["id"] == "saving")
    assert saving["unit"] == "ms/verify step" and saving["print"] == ".3f" and "pooled t" in saving["formula"]
    assert saving["lo"] < saving["value"] < saving["hi"] and saving["level"] == 95
    assert set(held["data"]) == {"data/rows.csv", "data/draws.csv", "data/tasks.csv", "data/run.json"}


def test_readings_are_strict_json(campaign):
    """readings.json has no NaN or infinity, which other programs cannot read."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(campaign.text("readings.json"), parse_constant=refuse)


def test_one_draw_changed_by_a_millisecond_changes_the_note(campaign):
    """No record can change without the note showing it."""
    before = campaign.body
    campaign.change_cell("data/draws.csv", 3, "step_time_ms", lambda said: f"{float(said) + 1:.3f}")
    campaign.notes("check", "1", exit=1)
    campaign.notes("build", "1")
    assert campaign.body != before
    campaign.notes("check", "1")


def test_other_numbers_build_without_touching_the_prose(campaign):
    """Where the data turn round, number, claim and verdict follow, from the same template."""
    for record in (2, 3, 4, 5):  # the draws of the rows 2 and 3
        campaign.change_cell("data/draws.csv", record, "step_time_ms", lambda said: f"{float(said) * 1.1:.3f}")
    campaign.notes("build", "1")
    assert re.search(r"saves −1\.\d{3} ms a verify step,\nbelow the bar", campaign.body)
    assert ": rolled back.**" in campaign.body
    campaign.notes("check", "1")


def test_missing_template_cannot_be_built(campaign):
    """Without prose there is nothing to build; the text that stands stays."""
    campaign.part.template.unlink()
    before = campaign.tree()
    result = campaign.notes("build", "1", exit=3)
    assert result.stderr.startswith("notes: cannot tell: parts/part-1/post.md.j2: there is no such file")
    assert "git checkout -- parts/part-1/post.md.j2" in result.stderr
    assert campaign.tree() == before


def test_build_with_findings_says_so(campaign):
    """A typed number is announced at the build, with the command that shows it."""
    campaign.change("about people.", "about 7 people.", "post.md.j2")
    assert "1 finding: `notes check part-1` shows it" in campaign.notes("build", "1").stdout


def test_published_part_keeps_its_body(tmp_path, monkeypatch):
    """A build of a published part from the same data makes its page anew and changes nothing else."""
    campaign = published_campaign(tmp_path, monkeypatch)
    before = campaign.tree()
    result = campaign.notes("build", "1")
    assert "was published on 2026-11-06; its body stands" in result.stdout and "the same text" in result.stdout
    assert campaign.tree() == before


def test_published_part_with_other_data_proposes_a_text(tmp_path, monkeypatch):
    """The kept body stays; what the data give now is written below build/, and the exit code says that they differ."""
    campaign = published_campaign(tmp_path, monkeypatch)
    before = campaign.tree()
    campaign.change_cell("data/draws.csv", 3, "step_time_ms", lambda said: f"{float(said) + 100:.3f}")
    result = campaign.notes("build", "1", exit=1)
    assert "build/part-1/post.md" in result.stdout and "notes correct part-1" in result.stdout
    after = campaign.tree()
    assert after["build/part-1/post.md"] != before["parts/part-1/post.md"]
    assert {name for name in after if after[name] != before.get(name)} <= {
        "parts/part-1/data/draws.csv",
        "build/part-1/post.md",
        "build/part-1/index.html",
    }


def test_published_part_with_other_data_leaves_what_was_built_with_it(tmp_path, monkeypatch):
    """Readings, numbers and plots of a published text stay those of its publication."""
    campaign = published_campaign(tmp_path, monkeypatch)
    before = campaign.tree()
    campaign.change_cell("data/draws.csv", 3, "step_time_ms", lambda said: f"{float(said) + 100:.3f}")
    campaign.notes("build", "1", exit=1)
    after = campaign.tree()
    for name in BUILT:
        assert after[f"parts/part-1/{name}"] == before[f"parts/part-1/{name}"]


@pytest.mark.parametrize("image", ["img-12.svg", "drawn/a%20b.svg"])
def test_an_image_that_is_not_there_leaves_everything_as_it_was(tmp_path, monkeypatch, image):
    """It is looked for before the first file is written, and named with its line."""
    campaign = written_campaign(tmp_path, monkeypatch)
    template = campaign.part.template
    template.write_text(f"{template.read_text()}\n![drawn]({image})\n")
    before = campaign.tree()
    done = campaign.notes("build", "1", exit=2)
    said = f"parts/part-1/{image.replace('%20', ' ')} (line "
    assert said in done.stderr and "there is no such file" in done.stderr and "Nothing was written" in done.stderr
    assert campaign.tree() == before


def test_images_of_other_places_are_not_looked_for(tmp_path, monkeypatch):
    """An address, and a picture that no page takes in, hinder no build."""
    campaign = written_campaign(tmp_path, monkeypatch)
    template = campaign.part.template
    template.write_text(f"{template.read_text()}\n![a](https://example.org/x.svg) ![b](photo.png) ![c](../x.svg)\n")
    assert campaign.notes("build", "1").exit_code == 0
