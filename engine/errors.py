"""What can be wrong with a plan or with records."""

from campaign.kernels.errors import CampaignError


class RecordError(CampaignError):
    """A data file does not hold what its schema says."""


class PlanError(CampaignError):
    """A plan cannot be read, or asks for what cannot be."""
