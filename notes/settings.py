"""campaign.toml: what holds for every part of a campaign."""

from typing import Literal

from campaign.engine.strict import Strict, Text, parse_strict, read_toml
from campaign.notes.paths import MARKER, Campaign


class Settings(Strict):
    """A whole campaign.toml."""

    title: Text = "A campaign"
    names: list[Text] = []
    """Names with digits in them that every part may use: their digits are no numbers."""
    decimal: Literal[".", ","] = "."
    """The mark before the decimals in the prose of every part: 3.14, or 3,14."""


def read_settings(campaign: Campaign) -> Settings:
    """The campaign's settings; an error names file and key."""
    return parse_strict(Settings, read_toml(campaign.root / MARKER, MARKER), MARKER)
