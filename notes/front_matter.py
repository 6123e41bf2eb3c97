"""The settings at the top of an old post that a site builder took from it: its title, its date, and others."""

import re
import tomllib
from dataclasses import dataclass
from datetime import date, datetime

from campaign.notes.dates import MONTHS
from campaign.notes.reader import front_matter_length

_SETTING = re.compile(r"^(?P<key>[\w.-]+|\"[^\"]+\")[ \t]*:(?:[ \t]+(?P<value>.*))?$", re.MULTILINE)
_TITLES, _DATES = ("title",), ("date", "published", "pubdate", "publishdate", "created")
_NAMED = "|".join(month if len(month) < 4 else f"{month[:3]}(?:{month[3:]})?" for month in MONTHS)
_DATE = re.compile(
    rf"\b(?P<iso>\d{{4}}-\d\d-\d\d)|\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ \u00a0]+(?P<month>{_NAMED})\.?,?[ \u00a0]+"
    rf"(?P<year>\d{{4}})\b|\b(?P<month2>{_NAMED})\.?[ \u00a0]+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?[ \u00a0]+"
    r"(?P<year2>\d{4})\b"
)


@dataclass(frozen=True)
class FrontMatter:
    """What stands above a text as settings of its site."""

    length: int = 0
    """Characters of the text that it takes, blank lines behind it included."""
    lines: int = 0
    title: str = ""
    day: date | None = None
    others: tuple[str, ...] = ()
    """The keys of the other settings."""


def front_matter(text: str) -> FrontMatter:
    """The front matter at the top of a text whose line ends are line feeds; of no length where it has none."""
    length = front_matter_length(text)
    if not length:
        return FrontMatter()
    settings = _settings(text[:length])
    titles = [value for key, value in settings.items() if key.lower() in _TITLES and value]
    days = {key: found for key, value in settings.items() if key.lower() in _DATES and (found := day_in(value))}
    dated = next(iter(sorted(days, key=lambda key: _DATES.index(key.lower()))), None)
    others = tuple(key for key in settings if key != dated and not (key.lower() in _TITLES and settings[key]))
    length += len(text[length:]) - len(text[length:].lstrip("\n"))
    title = titles[0] if titles else ""
    return FrontMatter(length, text.count("\n", 0, length), title, days[dated] if dated else None, others)


def _settings(head: str) -> dict[str, str]:
    """Each setting of the first level with its value as text; nothing is said of values in several lines."""
    if head.startswith("+++"):
        try:
            found = tomllib.loads("\n".join(head.rstrip().split("\n")[1:-1]))
        except tomllib.TOMLDecodeError:
            return {}
        return {key: value if isinstance(value, str) else _shown(value) for key, value in found.items()}
    return {found["key"].strip('"'): _unquoted((found["value"] or "").strip()) for found in _SETTING.finditer(head)}


def _shown(value: object) -> str:
    return value.isoformat() if isinstance(value, date | datetime) else ""


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].strip()
    return "" if value in ("|", ">", "|-", ">-") else re.sub(r"\s+#.*$", "", value)


def day_in(text: str) -> date | None:
    """The first day that a text writes, in figures from the year down or with the month's name; None where none is."""
    for found in _DATE.finditer(text):
        try:
            if found["iso"]:
                return date.fromisoformat(found["iso"])
            year, month, day = (found[name] or found[f"{name}2"] for name in ("year", "month", "day"))
            at = next(at for at, name in enumerate(MONTHS, 1) if name.startswith(month[:3]))
            return date(int(year), at, int(day))
        except ValueError:
            continue
    return None
