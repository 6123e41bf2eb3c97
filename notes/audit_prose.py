"""Sentences: every relation between the numbers of one block of prose or one cell."""

from campaign.notes.audit_changes import audit_changes
from campaign.notes.audit_directions import audit_directions
from campaign.notes.audit_equations import audit_equations
from campaign.notes.audit_listed import audit_listed
from campaign.notes.audit_page import Page, Tested
from campaign.notes.audit_parts import audit_parts
from campaign.notes.audit_products import audit_products
from campaign.notes.audit_quantified import audit_quantified
from campaign.notes.audit_rates import audit_rates
from campaign.notes.audit_rivals import audit_rivals
from campaign.notes.audit_same import audit_same
from campaign.notes.audit_sentence import Prose
from campaign.notes.audit_shares import audit_shares
from campaign.notes.audit_splits import audit_splits

_RELATIONS = (
    audit_equations,
    audit_shares,
    audit_changes,
    audit_parts,
    audit_splits,
    audit_listed,
    audit_products,
    audit_same,
    audit_rates,
    audit_rivals,
    audit_quantified,
    audit_directions,
)


def audit_prose(page: Page, tested: Tested) -> None:
    """Every block of the page that holds two numbers or more."""
    for sight in page.sights:
        if len(sight.numbers) >= 2 and sight.block.kind != "alt":
            prose = Prose(page, sight, tested)
            for relation in _RELATIONS:
                relation(prose)
