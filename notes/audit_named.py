"""One named quantity that is printed in two paragraphs: "the median latency is 4.2 ms", and later 4.3 ms."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from campaign.notes.audit_page import Page, Sight, Tested
from campaign.notes.audit_printed import Printed, agree
from campaign.notes.audit_sentence import Prose, noun, symbol

_NAME = re.compile(
    r"(?:^|[\s,:(])(?:the|our|its|a)\s(?P<name>(?:(?!the\s|our\s|its\s|an?\s)[a-z][a-z-]+\s){1,4}?)(?:is|was|of|=|comes\sto|came\sto|remains|stays\sat"
    r"|stood\sat)\s(?:now\s|still\s|therefore\s|thus\s)?$",
    re.IGNORECASE,
)
_BARE_NAME = re.compile(
    r"\s*(?P<name>(?!the\b|our\b|its\b|an?\b|it\b|this\b|that\b)[A-Z][a-z-]+\s(?:[a-z][a-z-]+\s){1,3}?)(?:is|was)\s$"
)
"""A name without an article that begins its sentence: of two words at least."""
_TELLS_APART = re.compile(
    r"\b(?:for|with|without|before|after|when|while|if|under|at|per|old|new|previous\w*|prior|earlier|later|now|then|first"
    r"|second|third|initial\w*|original\w*|baseline|version|default|only|other|another|respectively|whereas|compared|than"
    r"|versus|vs|instead|but|in|by|during|until|since|from|to|this|that|between|using|used|via|through|both|once|one|set"
    r"|could|would|should|can|may|might|must|will|recommended|example|e\.g|suppose|say|typical\w*|usual\w*|up|limit\w*"
    r"|max\w*|min\w*|best|worst|case|on|today|last|next|year|month|week|day)\b|[A-Z]{2,}|[a-z][A-Z]|\w_\w|`|\d",
)
_HARMLESS = re.compile(
    r"\b(?:on\s(?:every|all|each)\s[a-z]+|in\sthe\send|in\stotal|in\sall|in\sshort|in\ssummary|to\s(?:conclude|sum\sup"
    r"|summari[sz]e|recap)|as\s(?:said|noted|shown|stated|above)|is\swell\sbelow\sthe\slimit|once\sagain|in\sconclusion)\b",
    re.IGNORECASE,
)
_NEUTRAL = re.compile(
    r"\W*(?:summary|tl;?dr|abstract|overview|highlights|(?:key\s)?results?|conclusions?|at a glance|details?|discussion"
    r"|introduction|intro|findings|notes|limitations|appendix|outlook|closing|background|measurements?)\W*",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:before|after|enabl\w+|disabl\w+|switch\w*|instead|old|new|now|then|without|chang\w+|improv\w+|reduc\w+|tun\w+"
    r"|optimi[sz]\w+|default|baseline|upgrad\w+|second|first|example|suppose)\b",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    r"\s*(?P<name>(?:the\s)?[A-Za-z][a-z-]+\s[a-z][a-z-]+(?:\s[a-z][a-z-]+){0,2})\s?(?::|=|—|–)\s", re.IGNORECASE
)
_LABELLED_KINDS = ("integer", "decimal", "percent", "duration")
_NEAR = 1.5


@dataclass(frozen=True, slots=True)
class _Place:
    """A named quantity: the name, the number, and what heading it stands under."""

    number: Printed
    sight: Sight
    section: int
    plain_section: bool


def audit_named(page: Page, tested: Tested) -> None:
    """Every name with a measured number whose sentence has nothing that would tell it from another of that name."""
    found: dict[tuple[str, str], list[_Place]] = {}
    for section, plain, sight in _paragraphs(page):
        prose = Prose(page, sight, tested)
        for name, at in _names(prose):
            place = _Place(prose.known(at), sight, section, plain)
            found.setdefault((name, prose.numbers[at].token.unit or ""), []).append(place)
    for section, plain, sight in _items(page):
        prose = Prose(page, sight, tested)
        if name := _labelled(prose):
            place = _Place(prose.known(0), sight, section, plain)
            found.setdefault((name, prose.numbers[0].token.unit or ""), []).append(place)
    for (name, _), places in found.items():
        if len(places) > 1:
            _hold(page, tested, name, places)


def _hold(page: Page, tested: Tested, name: str, places: Sequence[_Place]) -> None:
    """All places of one name against the first; told where just one says otherwise, and near enough to be a slip."""
    if len({place.section for place in places}) > 1 and not all(place.plain_section for place in places):
        return
    first = places[0]
    others = [place for place in places[1:] if not agree(first.number, place.number)]
    values = {place.number.value for place in places}
    if not others:
        tested.add("twice", [place.number.token for place in places])
        return
    low, high = sorted((abs(first.number.value), abs(others[0].number.value)))
    if len(others) > 1 or len(values) > 2 or not low or high / low > _NEAR:
        return
    if any(_CHANGED.search(place.sight.text) for place in (first, others[0])):
        return
    wrong = others[0].number
    also = [f"printed {page.place(first.number.token)}"]
    finding = page.finding("twice", wrong.token, first.number.token.text, f"the {name}", "warning", also)
    tested.add("twice", [first.number.token, wrong.token], finding)


def _names(prose: Prose) -> Iterator[tuple[str, int]]:
    for sentence in prose.sentences():
        if len(sentence) != 1 or not prose.firm(sentence[0]):
            continue
        at = sentence[0]
        number = prose.numbers[at]
        unit = symbol(number) or (noun(number) if "/" in noun(number) else "")
        if not unit or number.token.kind in ("multiplier", "bound", "range-low", "range-high", "from", "to"):
            continue
        start, end = prose.sentence(number.start)
        before = prose.text[start : number.start]
        name = _NAME.search(before) or _BARE_NAME.match(before)
        if not name:
            continue
        opening = _HARMLESS.sub(" ", before[: name.start()]).strip()
        rest = f"{opening[:1].lower()}{opening[1:]} {prose.text[number.end : end]}"
        called = name["name"].strip()
        if not _TELLS_APART.search(_HARMLESS.sub(" ", rest)) and not _TELLS_APART.search(called):
            yield " ".join(called.lower().split()), at


def _labelled(prose: Prose) -> str:
    """What an item names that is nothing but a name, a colon and one measured number; else empty."""
    found = _LABELLED.match(prose.text)
    if not found or len(prose.numbers) != 1 or not prose.firm(0) or not symbol(prose.numbers[0]):
        return ""
    number, name = prose.numbers[0], found["name"].strip().lower()
    alone = number.start == found.end() and not prose.text[number.end :].strip(" .;")
    return name if alone and not _TELLS_APART.search(found["name"]) and number.token.kind in _LABELLED_KINDS else ""


def _items(page: Page) -> Iterator[tuple[int, bool, Sight]]:
    """The paragraphs of lists that stand in no other, with the number of their section, and whether nothing names it.

    A list whose lead names something, as "Model A:" does, has quantities of its own and is left out.
    """
    section, plain, named = 0, True, False
    titled = sum(node.kind == "heading" and node.level == 1 for node in page.outline) == 1
    end = 0
    for node in page.outline:
        sight = page.sight_of(node) if node.kind in ("heading", "paragraph") else None
        if node.kind == "heading":
            section += 1
            plain = (titled and node.level == 1) or (sight is not None and _NEUTRAL.fullmatch(sight.text) is not None)
            named = False
        elif node.kind == "list" and node.parent == -1:
            end = node.end
        elif node.kind == "paragraph" and node.parent == -1 and sight:
            named = sight.text.rstrip().endswith(":") and _NEUTRAL.fullmatch(sight.text) is None
        elif node.kind == "paragraph" and sight and node.line < end and not named:
            yield section, plain, sight


def _paragraphs(page: Page) -> Iterator[tuple[int, bool, Sight]]:
    """Paragraphs outside lists with the number of their section, and whether its title says no more than "details"."""
    section, plain = 0, True
    titled = sum(node.kind == "heading" and node.level == 1 for node in page.outline) == 1
    for node in page.outline:
        sight = page.sight_of(node) if node.kind in ("heading", "paragraph") and node.parent == -1 else None
        if node.kind == "heading":
            section += 1
            plain = (titled and node.level == 1) or (sight is not None and _NEUTRAL.fullmatch(sight.text) is not None)
        elif sight:
            yield section, plain, sight
