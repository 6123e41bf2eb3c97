"""A finished Markdown post as one self-contained HTML page, the same bytes for the same arguments."""

import base64
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import validateLink
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

from campaign.notes.dates import long_date
from campaign.notes.errors import TemplateError
from campaign.notes.html_reader import FURNITURE
from campaign.notes.raw_html import safe_block, safe_inline

CONTENTS_FROM = 5
"""A post with at least this many h2 gets a table of contents."""


@dataclass(frozen=True)
class CorrectedPlace:
    """A place of the body that an entry below it corrects."""

    start: int
    """Offset of its first character in the Markdown."""
    end: int
    """Offset after its last character."""
    anchor: str
    """The id of the entry's heading: `correction-1` for `### Correction 1, 7 November 2026`."""
    label: str
    """What the badge says: `corrected 7 November 2026`."""


def render_page(
    markdown: str,
    *,
    title: str,
    date: str,
    corrected: Sequence[CorrectedPlace] = (),
    links: Sequence[tuple[str, str]] = (),
    footer: Sequence[str] = (),
    asset_base: Path | None = None,
) -> str:
    """The HTML page of a post; without its marks and badges it is the page without `corrected`.

    `links` are (label, href) of other parts, `footer` lines of small print. A relative image ending in
    .svg is read under `asset_base` and becomes part of the page. Raises ValueError for a place outside
    the Markdown or one whose entry has no heading, TemplateError for an image that is not there.
    """
    post = _Post(markdown, asset_base)
    marker = _Marker(post, corrected)
    templates = files("campaign") / "templates"
    shell = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return shell.from_string((templates / "page.html.j2").read_text(encoding="utf-8")).render(
        title=title,
        date=Markup(_time(date)),
        links=links,
        footer=footer,
        # Markup: our own bytes and the body below, whose text is escaped where it is made.
        css=Markup((templates / "page.css").read_text(encoding="utf-8").rstrip()),
        body=Markup(marker.html().rstrip()),
        has_heading=post.has_h1,
        furniture=FURNITURE,
    )


def _time(said: str) -> str:
    """`said` as HTML: 2026-11-07 is written out, with the machine's form beside it; anything else stays."""
    try:
        day = date.fromisoformat(said)
    except ValueError:
        return escape(said)
    return f'<time datetime="{day.isoformat()}">{long_date(day)}</time>'


# Sentinels: one character for the start and one for the end of each place. They go into the Markdown, come
# out in the HTML, and there turn into tags. Supplementary private-use characters: no post has them.

_SENTINEL = re.compile("[\U000f0000-\U000ffffd]")
_TAG = re.compile(r"<[^>]*>")
_NOTE = f'<p class="corrected-place" {FURNITURE}>{{}}</p>\n'


def _start(index: int) -> str:
    return chr(0xF0000 + 2 * index)


def _end(index: int) -> str:
    return chr(0xF0001 + 2 * index)


def _without_sentinels(text: str) -> str:
    return _SENTINEL.sub("", text)


class _Post:
    """One post's Markdown; its HTML for any set of sentinels in it."""

    def __init__(self, markdown: str, asset_base: Path | None) -> None:
        if _SENTINEL.search(markdown):
            raise ValueError("the Markdown has a character from U+F0000 to U+FFFFD, used here for marks; remove it")
        self.markdown = markdown
        self.asset_base = asset_base
        self.parser = _parser()
        self._svgs: dict[str, str] = {}
        env, tokens = self._parse(markdown)
        self.plain = self._html(tokens, env)
        self.ids: set[str] = env["ids"]
        self.has_h1 = any(token.type == "heading_open" and token.tag == "h1" for token in tokens)

    def html(self, sentinels: Sequence[tuple[int, str]], notes: Sequence[tuple[int, str]] = ()) -> str:
        """The body with `sentinels` (offset, character) in its text, `notes` after the block at an offset."""
        pieces, last = [], 0
        for offset, character in sorted(sentinels, key=lambda s: s[0]):
            pieces += [self.markdown[last:offset], character]
            last = offset
        env, tokens = self._parse("".join(pieces) + self.markdown[last:])
        for offset, character in notes:
            note = Token("raw", "", 0, content=_NOTE.format(character))
            tokens.insert(_after_block(tokens, self.markdown.count("\n", 0, offset)), note)
        return self._html(tokens, env)

    def _parse(self, source: str) -> tuple[dict[str, Any], list[Token]]:
        env: dict[str, Any] = {"svg": self._svg}
        return env, self.parser.parse(source, env)

    def _html(self, tokens: list[Token], env: dict[str, Any]) -> str:
        html = str(self.parser.renderer.render(tokens, self.parser.options, env))
        for written, anchor in env["aliases"].items():
            html = html.replace(f'href="#{written}"', f'href="#{anchor}"')
        return html

    def _svg(self, source: str, alt: str) -> str | None:
        """The image at `source` as HTML, or None when it is not a file of ours."""
        if self.asset_base is None or not source.endswith(".svg") or re.match(r"[a-z][a-z0-9+.-]*:|/", source, re.I):
            return None
        base = self.asset_base.resolve()
        path = (base / source).resolve()
        if not path.is_relative_to(base):
            return None
        key = f"{source}\n{alt}"
        if key not in self._svgs:
            if not path.is_file():
                raise TemplateError(
                    f"{path}: there is no such file; the post shows it as an image. "
                    "Build the plot, or remove the image."
                )
            self._svgs[key] = _inlined(path.read_text(encoding="utf-8"), alt, f"svg{len(self._svgs) + 1}_")
        return self._svgs[key]


class _Marker:
    """Finds, for each place, the tightest mark that leaves the rest of the page as it is."""

    def __init__(self, post: _Post, places: Sequence[CorrectedPlace]) -> None:
        self.post = post
        self.places = places
        self._sentinels: list[tuple[int, str]] = []
        self._notes: list[tuple[int, str]] = []
        self._marked: list[CorrectedPlace] = []
        for index, place in enumerate(places):
            where = f"corrected place {place.start}–{place.end}"
            if not 0 <= place.start <= place.end <= len(post.markdown):
                raise ValueError(f"{where}: not inside the Markdown, which has {len(post.markdown)} characters")
            if place.anchor not in post.ids:
                raise ValueError(f"{where}: nothing has the id {place.anchor}; expected ### Correction 1, <date>")
            self._settle(index, place)

    def html(self) -> str:
        """The body with every place marked."""
        if not self.places:
            return self.post.plain
        return self._linked_back(self._tagged(self.post.html(self._sentinels, self._notes)))

    def _settle(self, index: int, place: CorrectedPlace) -> None:
        """Keep the first that holds: a mark; a badge at the end, later in the line, after the block."""
        apart = all(place.end <= other.start or other.end <= place.start for other in self._marked)
        if place.start < place.end and apart:
            pair = [(place.start, _start(index)), (place.end, _end(index))]
            if self._holds(pair, marked=True):
                self._marked.append(place)
                self._sentinels += pair
                return
        for offset in _stops(self.post.markdown, place.start, place.end):
            if self._holds([(offset, _end(index))]):
                self._sentinels.append((offset, _end(index)))
                return
        self._notes.append((max(place.start, place.end - 1), _end(index)))

    def _holds(self, sentinels: list[tuple[int, str]], *, marked: bool = False) -> bool:
        """Whether `sentinels` come out once each, in text, with the page around them unchanged."""
        html = self.post.html([*self._sentinels, *sentinels])
        if _without_sentinels(html) != self.post.plain:
            return False
        text = _TAG.sub("", html)
        if any(text.count(character) != 1 for _, character in sentinels):
            return False
        return not marked or _is_inline(html.split(sentinels[0][1])[1].split(sentinels[1][1])[0])

    def _tagged(self, html: str) -> str:
        """`html` with its sentinels turned into marks and badges."""
        badges = {_end(i): badge for i, badge in enumerate(_badges(self.places))}
        opening = {_start(i): '<mark class="corrected">' for i in range(len(self.places))}
        out: list[str] = []
        around: list[str] = []  # open elements that a link may not stand in, or would look wrong in
        waiting: list[str] = []
        for piece in re.split(rf"({_TAG.pattern}|{_SENTINEL.pattern})", html):
            if piece in opening:
                out.append(opening[piece])
            elif piece in badges:
                if _start(_index(piece)) in html:
                    out.append("</mark>")
                waiting.append(badges[piece])
            else:
                out.append(piece)
                if found := re.match(r"<(/?)(a|code|em|pre|s|strong|sup)\b", piece):
                    around.pop() if found[1] else around.append(found[2])
            if waiting and not around:
                said = "".join(waiting)
                out.append("\n" + _NOTE.format(said).rstrip() if piece == "</pre>" else said)
                waiting = []
        return "".join(out)

    def _linked_back(self, html: str) -> str:
        """`html` with a link from each entry to the first place that it corrects."""
        for anchor in {place.anchor: None for place in self.places}:
            html = re.sub(
                rf'(<h(\d) id="{re.escape(anchor)}">.*?)(</h\2>)',
                rf'\1 <a class="to-place" {FURNITURE} href="#place-{anchor}">to the place</a>\3',
                html,
                count=1,
                flags=re.DOTALL,
            )
        return html


def _index(end: str) -> int:
    return (ord(end) - 0xF0001) // 2


def _badges(places: Sequence[CorrectedPlace]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for place in places:
        seen[place.anchor] = n = seen.get(place.anchor, 0) + 1
        name = escape(f"place-{place.anchor}" + (f"-{n}" if n > 1 else ""))
        link = f'<a class="correction-badge" href="#{escape(place.anchor)}">{escape(place.label)}</a>'
        # The space is the badge's own: "0.3" and "%" with a badge between them are still one number.
        yield f'<span id="{name}" {FURNITURE}> {link}</span>'


def _stops(markdown: str, start: int, end: int) -> Iterator[int]:
    """Where a badge may stand, best first: `end`, the word before it, later ends of words in the line."""
    yield end
    trimmed = start + len(markdown[start:end].rstrip(" |\n"))
    if start < trimmed < end:
        yield trimmed
    line_end = markdown.find("\n", end)
    line_end = len(markdown) if line_end < 0 else line_end
    for at in range(end + 1, line_end + 1):
        if (at == line_end or markdown[at] in " |") and not markdown[at - 1].isspace():
            yield at


def _is_inline(fragment: str) -> bool:
    """Whether the HTML `fragment` is text and whole inline elements only."""
    stack: list[str] = []
    for tag in _TAG.findall(fragment):
        found = re.match(r"<(/?)(a|br|code|em|s|strong|sup)\b", tag)
        if found is None:
            return False
        if found[2] == "br":
            continue
        if not found[1]:
            stack.append(found[2])
        elif not stack or stack.pop() != found[2]:
            return False
    return not stack


def _after_block(tokens: Sequence[Token], line: int) -> int:
    """Index after the last top-level block that begins at or above `line`."""
    index, inside = 0, False
    for at, token in enumerate(tokens):
        if token.level:
            continue
        if token.nesting >= 0:
            inside = token.map is not None and token.map[0] <= line
        if inside and token.nesting <= 0:
            index = at + 1
    return index


# Markdown: CommonMark, tables, strikethrough, footnotes, bare addresses; what raw HTML holds is made safe.


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.use(footnote_plugin, inline=False).use(gfm_autolink_plugin)
    parser.block.ruler.before("html_block", "anchor", _anchor, {"alt": ["paragraph", "reference", "blockquote"]})
    for rule in (_raw_html, _headings, _notices, _tables, _figures, _contents):
        parser.core.ruler.push(rule.__name__, rule)
    for name, render in _RULES.items():
        parser.add_render_rule(name, render)
    return parser


def _anchor(state: StateBlock, start_line: int, _end_line: int, silent: bool) -> bool:
    """A line `<a id="correction-1"></a>`: the one tag that keeps its attribute."""
    if state.is_code_block(start_line):
        return False
    start = state.bMarks[start_line] + state.tShift[start_line]
    found = re.fullmatch(r'<a id="([\w-]+)"></a>\s*', state.src[start : state.eMarks[start_line]])
    if found is None:
        return False
    if not silent:
        token = state.push("anchor", "", 0)
        token.meta["id"] = found[1]
        token.map = [start_line, start_line + 1]
        state.line = start_line + 1
    return True


def _raw_html(state: StateCore) -> None:
    """Make the HTML inside the text safe."""
    for token in state.tokens:
        if token.type == "inline" and token.children:
            token.children = safe_inline(token.children, _may_show)


def _may_show(source: str) -> bool:
    return bool(source) and validateLink(source)


def _words(inline: Token) -> str:
    """What a reader sees of an inline token, without markup."""
    shown = {"text": None, "code_inline": None, "softbreak": " ", "hardbreak": " "}
    said = (shown[t.type] or t.content for t in inline.children or () if t.type in shown)
    return _without_sentinels("".join(said)).strip()


def _headings(state: StateCore) -> None:
    """Give each heading the id of the anchor right above it, or GitHub's: links work in both places."""
    ids: set[str] = {"post"}  # what the shell uses
    # An entry's id must not change when its date is written another way; links to GitHub's id still arrive.
    aliases: dict[str, str] = {}
    for before, opening, inline in zip([None, *state.tokens], state.tokens, state.tokens[1:], strict=False):
        if opening.type != "heading_open":
            continue
        words = _words(inline)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-") or "section"
        entry = re.match(r"Correction (\d+)\b", words)
        wanted = f"correction-{entry[1]}" if entry else slug
        if before is not None and before.type == "anchor":
            wanted = before.meta["id"]
        anchor, n = wanted, 0
        while anchor in ids or re.fullmatch(r"fn(ref)?[\d:]+", anchor):
            n += 1
            anchor = f"{wanted}-{n}"
        ids.add(anchor)
        if wanted != slug:
            aliases[slug] = anchor
        opening.attrSet("id", anchor)
        opening.meta["words"] = words
        if before is not None and before.type == "anchor" and anchor == wanted:
            before.meta["id"] = ""  # the heading has it now
    ids.update(token.meta["id"] for token in state.tokens if token.type == "anchor")
    state.env["ids"] = ids
    state.env["aliases"] = {slug: anchor for slug, anchor in aliases.items() if slug not in ids}


def _notices(state: StateCore) -> None:
    """Call a quoted block a notice when it stands first in the post, or begins in bold."""
    first = True
    for at, token in enumerate(state.tokens):
        if token.level:
            continue
        if token.type == "blockquote_open":
            inline = next((t for t in state.tokens[at:] if t.type == "inline"), None)
            seen = [t for t in (inline and inline.children) or () if _without_sentinels(t.content) or t.nesting]
            if first or (seen and seen[0].type == "strong_open"):
                token.attrSet("class", "notice")
                token.attrSet("role", "note")
        elif token.type == "paragraph_open" or token.tag not in ("", "h1", "p", "blockquote"):
            first = False


_NUMBER = r"[~<>≤≥≈±+−-]?\s*[$€]?\d+(?:[,   ]\d{3})*(?:\.\d+)?(?:[eE][+−-]?\d+)?"
_UNIT = r"(?:\s*(?:%|‰|×|x|°C|[kKMGT]i?B(?:/s)?|T?FLOPS|[nµμm]?s|min|h|W|kW|[MG]?Hz|[kMGTB]))?"
_NUMERIC = re.compile(
    rf"[\[(]*{_NUMBER}{_UNIT}[\])]*(?:\s*(?:,|/|;|to|–|±|of|\(|\[|\s)\s*[\[(]*{_NUMBER}{_UNIT}[\])]*)*"
)
_NOTHING = {"", "-", "–", "—", "~", "?", "n/a", "none", "…"}


def _tables(state: StateCore) -> None:
    """Mark the columns of numbers, and say to which heading a table belongs."""
    columns: list[list[Token]] = []
    bodies: list[list[str]] = []
    heading = ""
    for at, token in enumerate(state.tokens):
        if token.type == "heading_open":
            heading = token.meta["words"]
        elif token.type == "table_open":
            columns, bodies = [], []
            token.meta["label"] = f"Table: {heading}" if heading else "Table"
        elif token.type == "tr_open":
            column = 0
        elif token.type in ("th_open", "td_open"):
            if token.type == "th_open":
                token.attrSet("scope", "col")
                columns.append([])
                bodies.append([])
            else:
                bodies[column].append(_words(state.tokens[at + 1]))
            columns[column].append(token)
            if style := token.attrs.pop("style", None):
                token.attrSet("class", str(style).removeprefix("text-align:"))
            column += 1
        elif token.type == "table_close":
            for cells, said in zip(columns, bodies, strict=True):
                numbers = [text for text in said if text.lower() not in _NOTHING]
                if numbers and all(_NUMERIC.fullmatch(text) for text in numbers):
                    for cell in cells:
                        cell.attrJoin("class", "num")


def _figures(state: StateCore) -> None:
    """Turn a paragraph that is one image into a figure."""
    for opening, inline, closing in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if opening.type != "paragraph_open" or opening.hidden or len(inline.children or ()) != 1:
            continue
        image = (inline.children or [])[0]
        if image.type == "image":
            image.meta["figure"] = True
            opening.tag = closing.tag = "figure"
            opening.attrSet("class", "plot")


def _contents(state: StateCore) -> None:
    """Put a table of contents before the first h2 of a long post."""
    found = [at for at, t in enumerate(state.tokens) if t.type == "heading_open" and t.tag == "h2" and not t.level]
    if len(found) < CONTENTS_FROM:
        return
    items = "".join(
        f'<li><a href="#{escape(str(state.tokens[at].attrGet("id")))}">'
        f"{escape(state.tokens[at].meta['words'], quote=False)}</a></li>\n"
        for at in found
    )
    nav = f'<nav class="contents" {FURNITURE} aria-label="Contents">\n<p>Contents</p>\n<ul>\n{items}</ul>\n</nav>\n'
    state.tokens.insert(found[0], Token("raw", "", 0, content=nav))


def _raw(_self: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    return tokens[at].content


def _anchor_alone(_self: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    anchor = tokens[at].meta["id"]
    return f'<p class="anchor" id="{anchor}"></p>\n' if anchor else ""


def _link_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    if tokens[at].markup == "autolink":
        # Print need not write out its address.
        tokens[at].attrSet("class", "bare")
    # Between parts the Markdown links Markdown, and a page links pages.
    target = re.sub(r"^(\.\./part-\d+/)post\.md(?=#|$)", r"\1index.html", str(tokens[at].attrGet("href") or ""))
    tokens[at].attrSet("href", target)
    return str(self.renderToken(tokens, at, options, env))


def _table_open(_self: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    label = escape(tokens[at].meta["label"])
    # A region that scrolls must be reachable by keyboard, and what takes the focus needs a name.
    opening = f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">'
    return f'<figure class="table">{opening}\n<table>\n'


def _table_close(_self: Any, _tokens: Any, _at: int, _options: Any, _env: Any) -> str:
    return "</table>\n</div></figure>\n"


def _image(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    token = tokens[at]
    alt = _alt(token.children or [])
    source = str(token.attrGet("src") or "")
    caption = str(token.attrs.pop("title", "")) if token.meta.get("figure") else ""
    html: str | None = env["svg"](source, _without_sentinels(alt))
    if html is None:
        token.attrSet("alt", alt)
        html = str(self.renderToken(tokens, at, options, env))
    if token.meta.get("figure"):
        html = f'<div class="scroll" role="region" aria-label="Figure" tabindex="0">{html}</div>'
    return html + (f"<figcaption>{escape(caption, quote=False)}</figcaption>" if caption else "")


def _alt(tokens: Sequence[Token]) -> str:
    """What an image's alternative text says, without markup."""
    breaks = {"softbreak": "\n", "hardbreak": "\n"}
    shown = ("text", "code_inline", "text_special")
    return "".join(
        _alt(token.children or []) if token.type == "image" else breaks.get(token.type) or token.content
        for token in tokens
        if token.type in shown or token.type in breaks or token.type == "image"
    )


def _html_block(_self: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    html = safe_block(tokens[at].content, _may_show).strip()
    return f"{html}\n" if html else ""


def _code(self: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    text = escape(tokens[at].content, quote=False)
    return f'<pre role="region" aria-label="Code" tabindex="0"><code>{text}</code></pre>\n'


def _footnotes_open(_self: Any, _tokens: Any, _at: int, _options: Any, _env: Any) -> str:
    return '<section class="footnotes" aria-label="Footnotes">\n<ol>\n'


def _footnote_anchor(_self: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    n, sub = tokens[at].meta["id"] + 1, tokens[at].meta["subId"]
    reference = f"{n}:{sub}" if sub > 0 else f"{n}"
    # U+FE0E: phones would show the arrow as an emoji.
    label = f"Back to reference {reference}"
    return f' <a href="#fnref{reference}" class="backref" {FURNITURE} aria-label="{label}">↩\ufe0e</a>'


_RULES: dict[str, Callable[..., str]] = {
    "raw": _raw,
    "anchor": _anchor_alone,
    "html_block": _html_block,
    "link_open": _link_open,
    "table_open": _table_open,
    "table_close": _table_close,
    "image": _image,
    "fence": _code,
    "code_block": _code,
    "footnote_block_open": _footnotes_open,
    "footnote_anchor": _footnote_anchor,
}


# Images


_UNSAFE = re.compile(r"<script|<style|<foreignObject|<!ENTITY|\son\w+\s*=|javascript:", re.IGNORECASE)


def _inlined(svg: str, alt: str, prefix: str) -> str:
    """`svg` as an element of the page, its ids made its own by `prefix`.

    One that could reach out of its frame (styles for every element, scripts) becomes an image instead:
    still part of the file, and shut in.
    """
    if _UNSAFE.search(svg) or _SENTINEL.search(svg):
        data = base64.b64encode(svg.encode()).decode()
        return f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(alt)}">'
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->", "", svg, flags=re.DOTALL).strip()
    titled = re.search(r"<title[^>]*>(.*?)</title>\s*", svg, re.DOTALL)
    label = escape(alt) if alt or titled is None else titled[1].strip()
    if titled:
        # The label says it; a title would also hang over the plot as a tooltip.
        svg = svg.replace(titled[0], "", 1)
    svg = re.sub(r'\sxmlns(?::\w+)?="[^"]*"', "", svg).replace("xlink:href=", "href=")
    svg = re.sub(r'(\sid=")', rf"\1{prefix}", svg)
    svg = re.sub(r'(\shref="#|url\(#)', rf"\1{prefix}", svg)
    svg = re.sub(r'\s(?:role|aria-label|aria-labelledby)="[^"]*"', "", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
