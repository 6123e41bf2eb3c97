"""credits.toml: whose work a part stands on, where it is, its licence, what it was used for."""

from campaign.analysis.readings import Reading
from campaign.engine.strict import Strict, Text, parse_strict, read_toml
from campaign.notes.paths import Part


class Credit(Strict):
    """One credit."""

    name: Text
    used_for: Text
    where: str = ""
    """A link or a path; empty where only the name is known."""
    version: str = ""
    licence: str = ""


class Credits(Strict):
    """A whole credits.toml: a table for each credit, in the order in which they are printed."""

    credit: dict[str, Credit] = {}


def read_credits(part: Part) -> Credits:
    """The credits of a part; none where there is no file."""
    if not part.credits.is_file():
        return Credits()
    shown = part.show(part.credits)
    return parse_strict(Credits, read_toml(part.credits, shown), shown)


def credit_readings(credits: Credits) -> dict[str, Reading]:
    """Each filled-in field as a fact that prose can quote: `credit.vllm.name`."""
    return {
        f"credit.{key}.{field}": Reading(f"credit.{key}.{field}", value, role="fact", because="credits.toml")
        for key, credit in credits.credit.items()
        for field, value in credit.model_dump().items()
        if value
    }
