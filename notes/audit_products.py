"""Products that a sentence says in words: 3 machines at $200 each cost $600; 16 blocks of 64 tokens, 1,024 tokens."""

import re

from campaign.notes.audit_amounts import in_common
from campaign.notes.audit_printed import follows
from campaign.notes.audit_sentence import Prose, noun, symbol, whole

_EACH_BETWEEN = re.compile(
    r"\s*(?:with|at|for|of|×|x|have|has|having|use|uses|take|takes|run|runs)?\s*(?:only\s)?", re.IGNORECASE
)
_EACH_BEHIND = re.compile(
    r"(?:\s\w+){0,2}?\s*(?:each|apiece|per\s\w+)\b[^.;()\d]{0,24}?"
    r"(?:,|\s(?:costs?|gives?|makes?|is|are|for\sa\stotal\sof|comes?\sto|total|adds?\sup\sto|=)|\()\s*"
    r"(?:(?:so|or|i\.e\.|that\sis|for\sa\stotal\sof|which\sis|a\stotal\sof|in\stotal|making|giving)\s+)*",
    re.IGNORECASE,
)
_EACH_AHEAD = re.compile(r"\beach\sof\s(?:the\s|our\s|these\s)?$", re.IGNORECASE)
_HAS = re.compile(r"\s(?:has|had|have|holds|runs|takes|ran|took)\s", re.IGNORECASE)
_SO = re.compile(
    r"\s*(?:,|\(|=)\s*(?:(?:so|or|i\.e\.|that\sis|for\sa\stotal\sof|which\sis|a\stotal\sof|in\stotal|=)[,\s]+)*"
)
_OF = re.compile(r"\sof\s")
_GIVES = re.compile(r"\s*(?:,\s*(?:i\.e\.|or|that\sis|for\sa\stotal\sof)|=|,?\sso)[,\s]+")
_EACH_TAKES = re.compile(r"\beach\s([a-z]+)\s(?:takes|uses|needs|costs|has|holds|is|took|used|cost)\s$", re.IGNORECASE)
_THUS = re.compile(r",?\s(?:and\s)?(?:so|thus|hence|therefore)\s(?:the\s|all\s)?", re.IGNORECASE)
_TAKES = re.compile(
    r"\s(?:would\s)?(?:takes?|uses?|needs?|costs?|have|hold|are|is|makes?|come\sto|took|used)\s", re.IGNORECASE
)
_PER = re.compile(r"\s*(?:per|an?|/)\s?([a-z]+),?\s(?:so\s)?", re.IGNORECASE)
_TOTAL = re.compile(r"\s*(?:in\stotal|in\sall|altogether|overall)\b", re.IGNORECASE)


def audit_products(prose: Prose) -> None:
    """Every count, amount and product in a row."""
    for at in range(len(prose.numbers) - 2):
        if not prose.firm(at, at + 1, at + 2):
            continue
        if prose.plain(at + 1) and _is_rate(prose, at):
            _multiply(prose, at + 1, at, at + 2)
        elif prose.plain(at) and noun(prose.numbers[at]) and _is_product(prose, at):
            _multiply(prose, at, at + 1, at + 2)


def _is_product(prose: Prose, at: int) -> bool:
    between, link = prose.gap(at, at + 1), prose.gap(at + 1, at + 2)
    if _EACH_BETWEEN.fullmatch(between) and _EACH_BEHIND.fullmatch(link):
        return True
    totals = _TOTAL.match(prose.behind(at + 2)) is not None
    if _EACH_AHEAD.search(prose.ahead(at)) and _HAS.fullmatch(between):
        return _SO.fullmatch(link) is not None and totals
    return _OF.fullmatch(between) is not None and _GIVES.fullmatch(link) is not None


def _is_rate(prose: Prose, at: int) -> bool:
    """Whether it is "each run takes 5 minutes, so 12 runs take 60 minutes", or "$3 per hour, 20 hours cost $60"."""
    counted = _stem(noun(prose.numbers[at + 1]))
    if not counted or not _TAKES.fullmatch(prose.gap(at + 1, at + 2)):
        return False
    each = _EACH_TAKES.search(prose.ahead(at))
    if each and _THUS.fullmatch(prose.gap(at, at + 1)):
        return _stem(each[1].lower()) == counted
    per = _PER.fullmatch(prose.text[prose.numbers[at].end : prose.numbers[at + 1].start])
    rate = prose.numbers[at].token.unit or ""
    return (per is not None and _stem(per[1].lower()) == counted) or (rate.partition("/")[2].startswith(counted))


def _stem(word: str) -> str:
    return word.split()[-1].removesuffix("s") if word else ""


def _multiply(prose: Prose, times: int, one_of: int, product: int) -> None:
    count, each, result = (prose.numbers[at] for at in (times, one_of, product))
    units = symbol(each), symbol(result)
    nouns = noun(each), noun(result)
    if bool(units[0]) != bool(units[1]) or (not units[0] and not _alike(*nouns)):
        return
    if symbol(count) or units[0] == "%":
        return
    ways = in_common([each, result], [prose.known(one_of), prose.known(product)])
    if len(ways) != 1:
        return
    n, (one, said) = prose.known(times).exact(), ways[0]
    one = one.exact() if whole(one) else one
    verdict = follows(said, lambda x, y: x * y, (n, one))
    value = n.value * one.value
    if not said.value or not 0.5 <= value / said.value <= 2:
        return
    expected = said.alike(value) if verdict == "no" else ""
    prose.tell("sum", said, (n, one), expected, f"{n.token.text} times {one.token.text}")


def _alike(one: str, other: str) -> bool:
    """Whether both count the same: `times` counts whatever the result does."""
    if not other:
        return False
    return one == "times" or (bool(one) and one.split()[-1].removesuffix("s") == other.split()[-1].removesuffix("s"))
