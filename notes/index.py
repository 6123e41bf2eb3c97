"""What the parts of a campaign say about each other: which there are, when each was published, who corrected whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from campaign.analysis.readings import Reading
from campaign.kernels.errors import CampaignError
from campaign.notes.cache import Cache
from campaign.notes.corrections import Caused, read_corrections
from campaign.notes.history import History, open_history
from campaign.notes.paths import Campaign, Part
from campaign.notes.publish import read_published


@dataclass(frozen=True)
class Index:
    """What every part may quote of the others, read once: published.toml and corrections.toml of each."""

    readings: Mapping[str, Reading]
    """`part.4` as "Part 4", and `part.4.published` as its date."""
    caused: Mapping[str, Sequence[Caused]]
    """By the name of the part whose work led to them: corrections in other parts."""
    unreadable: CampaignError | None = None
    """What is wrong with the first published.toml that cannot be read."""
    uncorrected: Mapping[str, CampaignError] = field(default_factory=dict)
    """What is wrong with a corrections.toml that cannot be read, by the name of its part."""

    def quotable(self, part: Part) -> dict[str, Reading]:
        """What `part` may quote of all parts; raises what is wrong with a published.toml."""
        if self.unreadable is not None:
            raise self.unreadable
        found = {"part": _said("part", part.title, "s", part), **self.readings}
        found.pop(f"part.{part.number}.published", None)
        return found

    def caused_by(self, part: Part) -> Sequence[Caused]:
        """The corrections in other parts that name `part`; raises what is wrong with one of their files."""
        for name, wrong in self.uncorrected.items():
            if name != part.name:
                raise wrong
        return self.caused.get(part.name, ())


def read_index(campaign: Campaign) -> Index:
    """The index of a campaign as its files are now."""
    readings: dict[str, Reading] = {}
    caused: dict[str, list[Caused]] = {}
    unreadable: CampaignError | None = None
    uncorrected: dict[str, CampaignError] = {}
    for part in campaign.parts():
        name = f"part.{part.number}"
        readings[name] = _said(name, part.title, "s", part)
        try:
            published = read_published(part)
        except CampaignError as wrong:
            unreadable = unreadable or wrong
            published = None
        if published:
            name = f"{name}.published"
            readings[name] = _said(name, published.date.isoformat(), "date", part)
        try:
            corrections = read_corrections(part)
        except CampaignError as wrong:
            uncorrected[part.name] = wrong
            continue
        for correction in corrections:
            if correction.caused_by and correction.caused_by != part.name:
                caused.setdefault(correction.caused_by, []).append(Caused(part, correction))
    return Index(readings, caused, unreadable, uncorrected)


def _said(name: str, value: str, fmt: str, where: Part) -> Reading:
    return Reading(name, value, print=fmt, role="fact", because=where.show(where.folder))


class Kept(NamedTuple):
    """Where a run keeps what it computed, and the program that it is true of."""

    cache: Cache
    program: str
    """A digest of its files and of what is installed beside it."""


@dataclass(frozen=True)
class Snapshot(Campaign):
    """A campaign whose list of parts and index are read once: for one run over many of its parts.

    What a run writes is not seen in it; whoever writes asks for a new one.
    """

    kept: Kept | None = field(default=None, compare=False)
    """Nothing is kept, nor anything kept believed, where there is none."""

    @cached_property
    def _parts(self) -> "tuple[Part, ...]":
        return tuple(Part(self, part.name) for part in Campaign(self.root).parts())

    @cached_property
    def index(self) -> Index:
        """What its parts say about each other."""
        return read_index(self)

    @cached_property
    def history(self) -> History:
        """What git knows of it, asked through one object for all parts."""
        return open_history(self.root)

    def __getstate__(self) -> dict[str, object]:
        """What another process gets: all but the object that asks git, which belongs to this one."""
        return {name: value for name, value in vars(self).items() if name != "history"}

    def read(self) -> None:
        """Nothing; all that is read once is read then."""
        assert self.index.readings or not self._parts, "every part is in the index"

    def parts(self) -> list[Part]:
        """Every part, by number, as they were when first asked for."""
        return list(self._parts)


def index_of(campaign: Campaign) -> Index:
    """The index of a campaign: that of a snapshot as it was first read, else as the files are now."""
    return campaign.index if isinstance(campaign, Snapshot) else read_index(campaign)


def history_of(campaign: Campaign) -> History:
    """What git knows of a campaign: that of a snapshot as it was first seen, else as it is now."""
    return campaign.history if isinstance(campaign, Snapshot) else open_history(campaign.root)
