"""What stands there and what was expected, where both are the same to a reader and not to a program."""

import html
import re
import unicodedata
from dataclasses import replace

from campaign.notes.findings import Finding
from campaign.notes.marked import plainly

_FORMS = ("NFD", "NFKC", "NFKD")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_MARKS = re.compile(r"[*`\\]|(?<![\w])_+|_+(?![\w])")
_HYPHEN = re.compile(r"(?<!\w)[-‐‑﹣－–‒](?=[\d.,])")


def written_otherwise(finding: Finding) -> Finding:
    """The finding, with a line that says so where it shows one text, or one number, in two ways of writing."""
    told = _told(finding.said, finding.expected)
    return replace(finding, also=(told, *finding.also)) if told and told not in finding.also else finding


def _told(said: str, expected: str) -> str:
    """How what stands there is written otherwise than expected; empty where it says something else."""
    if said.strip() == expected.strip():
        return ""
    composed = unicodedata.normalize("NFC", said)
    if composed == unicodedata.normalize("NFC", expected):
        form = next((form for form in _FORMS if unicodedata.normalize(form, said) == said != composed), "not NFC")
        return f"the same text, in another Unicode normalisation ({form}); write NFC"
    if not any(character.isdigit() for character in expected) or _seen(said) != _seen(expected):
        return ""
    return f"the same number, written otherwise: {_apart(said.strip(), expected.strip())}"


def _apart(said: str, expected: str) -> str:
    """How the two are written: by the names of the first characters that differ where they differ one by one."""
    pair = next(((a, b) for a, b in zip(said, expected, strict=False) if a != b), None)
    if pair and len(said) == len(expected):
        names = [f"{unicodedata.name(c, 'a character')} (U+{ord(c):04X})" for c in pair]
        return f"{names[0]} for {names[1]}"
    return f"{said} for {expected}"


def _seen(text: str) -> str:
    """A text as its reader sees it: without marks and tags, digits and signs in the characters of the prose."""
    shown = _MARKS.sub("", _TAG.sub("", html.unescape(text)))
    digits = (str(unicodedata.decimal(c)) if unicodedata.category(c) == "Nd" else c for c in shown)
    visible = "".join(c for c in digits if unicodedata.category(c) != "Cf")
    return " ".join(plainly(word) for word in _HYPHEN.sub("−", visible).split())
