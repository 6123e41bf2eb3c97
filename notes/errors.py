"""What can stop a command of `notes`."""

from campaign.kernels.errors import CampaignError


class UsageError(CampaignError):
    """The command was asked for something that does not exist or is not allowed now."""


class CannotTell(CampaignError):
    """What would decide the question is not here: a shallow clone, a missing blob, missing data."""


class TemplateError(CampaignError):
    """A template quotes something that it cannot have."""


class ClaimError(TemplateError):
    """A sentence claims what the data do not show."""
