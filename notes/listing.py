"""The list of a campaign's parts."""

from campaign.kernels.errors import CampaignError
from campaign.notes.corrections import read_corrections
from campaign.notes.facts import read_facts
from campaign.notes.ledger import read_ledger
from campaign.notes.paths import Campaign, Part
from campaign.notes.publish import read_published
from campaign.notes.seal import read_seal
from campaign.notes.tables import table


def listing(campaign: Campaign) -> str:
    """A table: part, date, state, numbers, corrections, title; below it, why a part cannot be read."""
    parts = campaign.parts()
    if not parts:
        return "no parts yet: `notes new part-1` makes one"
    rows, wrong = [], []
    for part in parts:
        try:
            rows.append(_row(part))
        except CampaignError as why:
            rows.append((part.name, "", "unreadable", "", "", ""))
            wrong.append(str(why))
    text = table(("part", "date", "state", "numbers", "corrections", "title"), rows, right=(3, 4))
    return "\n".join([text, *wrong])


def _row(part: Part) -> tuple[str, str, str, str, str, str]:
    facts = read_facts(part)
    published = read_published(part)
    seal = read_seal(part)
    state = f"published {published.date}" if published else "draft"
    if seal:
        state += ", sealed" if seal.is_proof else f", seal {seal.origin}"
    numbers = ""
    if part.numbers.is_file():
        numbers = str(read_ledger(part.numbers, part.show(part.numbers))[1]["numbers"])
    corrections = len(read_corrections(part))
    return part.name, str(facts.post.date), state, numbers, str(corrections or ""), facts.post.title
