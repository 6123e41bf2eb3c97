"""What can be wrong with a reading's declaration."""

from campaign.kernels.errors import CampaignError


class ReadingError(CampaignError):
    """A reading is declared in a way that cannot be computed, or does not exist."""


class UnknownReading(ReadingError):
    """No reading has that id, or none fits that pattern."""
