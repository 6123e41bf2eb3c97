"""The HTML that a Markdown text may hold, made safe for a page: every text stays, tags keep no attributes.

Plain elements are kept and always closed; others go, with a block in their place where they stood as one. Scripts,
styles and comments go whole. A reader of the Markdown on a code host sees the same words.
"""

from collections.abc import Callable, Iterable, Sequence
from html import escape

from markdown_it.token import Token

from campaign.notes.html_pieces import Piece, pieces, text_of

_INLINE = frozenset("abbr b cite code del em i ins kbd mark q s samp small span strong sub sup u var".split())
_FLOWING = _INLINE | frozenset("a bdi bdo big data dfn font label strike time tt wbr".split())
"""Those that begin no block, whether they are kept or not."""
_BLOCKS = frozenset("blockquote dd details div dl dt h2 h3 h4 h5 h6 li ol p pre summary table ul".split())
_IN_TABLE = frozenset("caption tbody td tfoot th thead tr".split())


def safe_block(html: str, allowed: Callable[[str], bool]) -> str:
    """A block of HTML, made safe; `allowed` says of an address whether an image may come from there."""
    out: list[str] = []
    open_: list[tuple[str, str]] = []
    """The elements that are open, by the name in the source and by that in the page."""
    for piece in pieces(html):
        if piece.kind == "text":
            out.append(html[piece.start : piece.end].replace("<", "&lt;"))
        elif piece.kind == "end":
            if any(name == piece.name for name, _ in open_):
                out += _closed(open_, piece.name)
        elif void := _void(html, piece, allowed):
            out.append(void)
        elif kept := _kept(piece.name, any(shown == "table" for _, shown in open_)):
            open_.append((piece.name, kept))
            out.append(f"<{kept}>")
    out += _closed(open_, "")
    return "".join(out)


def _closed(open_: list[tuple[str, str]], name: str) -> Iterable[str]:
    """The end tags down to the innermost element of this name; all, where none has it."""
    while open_:
        found, shown = open_.pop()
        yield f"</{shown}>"
        if found == name:
            return


def _kept(name: str, in_table: bool) -> str:
    """The element of the page for one of the source; empty where its text stands without one."""
    if name in _INLINE or name in _BLOCKS or (name in _IN_TABLE and in_table):
        return name
    return "" if name in _FLOWING else "div"


def _void(html: str, piece: Piece, allowed: Callable[[str], bool]) -> str:
    """The tag of an element without content; empty for one that has some."""
    if piece.name in ("br", "hr"):
        return f"<{piece.name}>"
    if piece.name != "img":
        return ""
    alt, source = (text_of(html, *piece.attributes.get(name, (0, 0))) for name in ("alt", "src"))
    shown = f' src="{escape(source)}"' if allowed(source) else ""
    return f'<img{shown} alt="{escape(alt)}">'


def safe_inline(tokens: Sequence[Token], allowed: Callable[[str], bool]) -> list[Token]:
    """Inline tokens with their HTML made safe: its elements end where the Markdown's around them do."""
    out: list[Token] = []
    open_: list[str] = []
    """The elements that are open; an empty name for one of the Markdown's own."""

    def close(name: str) -> None:
        while open_ and (last := open_.pop()) != name:
            out.append(_raw(f"</{last}>"))

    for token in tokens:
        if token.type != "html_inline":
            if token.nesting < 0:
                close("")
            out.append(token)
            open_ += [""] * (token.nesting > 0)
            continue
        for piece in pieces(token.content):
            if piece.kind == "end":
                inner = open_[len(open_) - open_[::-1].index("") :] if "" in open_ else open_
                if piece.name in inner:
                    close(piece.name)
                    out.append(_raw(f"</{piece.name}>"))
            elif void := _void(token.content, piece, allowed):
                out.append(_raw("<br>" if void == "<hr>" else void))
            elif piece.name in _INLINE:
                open_.append(piece.name)
                out.append(_raw(f"<{piece.name}>"))
    while open_:
        close("")
    return out


def _raw(html: str) -> Token:
    return Token("raw", "", 0, content=html)
