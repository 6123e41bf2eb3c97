"""The images that a Markdown text shows, and which of them are not there."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from markdown_it.token import Token

from campaign.notes.parser import parser


@dataclass(frozen=True)
class Shown:
    """An image that a text shows from a file beside it."""

    line: int
    """Line of the block that shows it, from 1."""
    source: str
    """The file as the text names it, relative to the text's folder."""


def images(markdown: str) -> list[Shown]:
    """The images with a relative address, in the order of the text; those of other places are left out."""
    found = []
    for token in parser().parse(markdown, {}):
        line = token.map[0] + 1 if token.map else 1
        for source in _sources(token.children or ()):
            if source and not re.match(r"[a-z][a-z0-9+.-]*:|/", source, re.IGNORECASE):
                found.append(Shown(line, source))
    return found


def _sources(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "image":
            yield unquote(str(token.attrGet("src") or ""))
        yield from _sources(token.children or ())


def missing(markdown: str, folder: Path, made: Collection[str]) -> list[Shown]:
    """The plots and drawings (.svg) that the page would take in from `folder` and that are not there.

    `made` are the files that are written with the text. A page takes no other kind of image in, and none from outside
    the folder.
    """
    base = folder.resolve()
    return [
        image
        for image in images(markdown)
        if image.source.endswith(".svg")
        and image.source not in made
        and (base / image.source).resolve().is_relative_to(base)
        and not (base / image.source).is_file()
    ]
