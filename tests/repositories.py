"""Small campaigns in git repositories of their own, for tests."""

import datetime
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from campaign.notes.history import Repository, open_history
from campaign.notes.paths import Campaign, Part
from campaign.notes.post import Post

PLAN = 'question = "Does it pay?"\n'
BODY = "# A note\n\nThe saving is 0.31 ms a verify\nstep. Drafting was low.\n\nThe kernel is from vLLM.\n"
BANNER = "> **Part 4.** Draft.\n\n"
PUBLISHED = datetime.date(2026, 11, 6)
CORRECTED = datetime.date(2026, 11, 7)
RECORDED = datetime.datetime(2026, 11, 7, 9, 30, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class SmallCampaign:
    """A campaign with part-4, whose folder may lie below the top of its git work tree."""

    top: Path
    root: Path

    @property
    def part(self) -> Part:
        return self.part_named("part-4")

    def part_named(self, name: str) -> Part:
        return Part(Campaign.above(self.root), name)

    @property
    def repo(self) -> Repository:
        repo = open_history(self.root)
        assert isinstance(repo, Repository)
        return repo

    def git(self, *arguments: str) -> str:
        """What one git command says, run at the top of the work tree."""
        done = subprocess.run(["git", *arguments], cwd=self.top, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit_all(self, message: str = "A step") -> str:
        """The commit that now holds everything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def clone(self, to: Path, *options: str) -> "SmallCampaign":
        """A clone as another machine would make it, over the transport that knows --depth and --filter."""
        self.git("config", "uploadpack.allowFilter", "true")
        subprocess.run(
            ["git", "clone", "--quiet", *options, self.top.as_uri(), str(to)], check=True, capture_output=True
        )
        return SmallCampaign(to.resolve(), to.resolve() / self.root.relative_to(self.top))


def small_campaign(folder: Path, monkeypatch: pytest.MonkeyPatch, below: str = "") -> SmallCampaign:
    """A campaign with a committed draft of part-4; git's settings of this machine and any outer git are shut out."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A Tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@example.org")
    top = folder.resolve() / "campaign"
    campaign = SmallCampaign(top, top / below if below else top)
    campaign.root.mkdir(parents=True)
    campaign.git("init", "--quiet", "--initial-branch=main")
    (campaign.root / "campaign.toml").write_text("")
    part = campaign.part
    part.folder.mkdir(parents=True)
    part.plan.write_text(PLAN)
    part.numbers.write_text("{}\n")
    part.readings.write_text("{}\n")
    write_post(part)
    campaign.commit_all("Part 4, a draft")
    return campaign


def write_post(part: Part, body: str = BODY, banner: str = BANNER, entries: str = "") -> None:
    """Nothing; post.md then holds exactly this."""
    part.post.write_bytes(Post(banner, body, entries).text.encode())
