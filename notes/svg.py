"""SVG text of a matplotlib figure: the same bytes for the same figure, and the digest of its points inside."""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Each at least 4.5:1 on white, so that a series' name can be written in its colour; hues after Okabe and Ito.
# The markers differ too: no reader needs the colours.
STYLES = (
    ("#0b66a8", "o"),
    ("#b34700", "s"),
    ("#00735a", "^"),
    ("#9c3f78", "D"),
    ("#4a4a4a", "v"),
    ("#7a5c00", "P"),
    ("#5a4fb0", "X"),
    ("#a1272d", "<"),
)
"""Colour and marker of each series, arm or lever, in their order."""
INK, MUTED, GRID = "#1e1f22", "#5a5c62", "#e6e6e1"
WIDTH_INCHES = 5.8
DIGEST_DECIMALS = 9
"""Decimals that count in a digest: what differs beyond them is the machine's last bit."""
TEXT_POINTS = 10.0
_FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"


def svg_of(draw: "Callable[[Figure], None]", height_inches: float, title: str, digest: str) -> str:
    """SVG text of what `draw` puts on a figure; the same bytes for the same figure on one matplotlib version.

    `title` is what someone hears who does not see it, `digest` that of its points. Nothing global is changed.
    """
    # A part without a plot does not pay for this.
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.hashsalt": "campaign",
        "svg.fonttype": "none",
        # Shipped with matplotlib: the layout does not depend on the fonts of a machine.
        "font.family": ["DejaVu Sans"],
        "font.size": TEXT_POINTS,
        "axes.unicode_minus": True,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": MUTED,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "text.parse_math": False,
    }
    with matplotlib.rc_context():
        # A user's matplotlibrc must not show in a post.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(settings)
        figure = Figure(figsize=(WIDTH_INCHES, height_inches), dpi=72)  # what SVG is written in: a pixel is a point
        FigureCanvasSVG(figure)
        draw(figure)
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _tidied(out.getvalue(), title, digest)


@dataclass(frozen=True)
class Drawn(ABC):
    """What a plot shows; a class for each kind draws it."""

    kind: ClassVar[str]
    """Tells the digests of kinds apart."""
    title: str
    """Printed above the plot; may be empty."""
    alt: str
    """What someone who does not see the plot should know what it is; a post says more."""
    remarks: tuple[str, ...]
    """Lines under the plot: what an area is, what is missing and why."""

    @abstractmethod
    def draw(self, figure: "Figure") -> None:
        """Nothing; the figure then shows the plot."""

    @property
    def digest(self) -> str:
        """Sha256, in hex, over everything that the plot shows."""
        return digest_of(self, self.kind, digits=DIGEST_DECIMALS)

    @property
    def svg(self) -> str:
        """SVG text of the plot; the same bytes for the same spec on one matplotlib version."""
        return svg_of(self.draw, WIDTH_INCHES, self.alt or self.title, self.digest)


def digest_of(spec: Any, *kind: str, digits: int | None = None) -> str:
    """Sha256, in hex, over everything that the dataclass `spec` says; `kind` tells specs of several kinds apart.

    With `digits` numbers count to so many decimals: what differs beyond them is the machine's last bit.
    """
    said = ["campaign-points", 1, *kind, _canonical(astuple(spec), digits)]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def read_digest(svg: str) -> str | None:
    """The digest of the points that `svg` was drawn from, or None when it names none."""
    found = re.search(r"campaign-points sha256:([0-9a-f]{64})\b", svg)
    return found[1] if found else None


def _canonical(value: Any, digits: int | None) -> Any:
    """`value` with 1 and 1.0, 0.0 and −0.0, and other packages' floats made one."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return [_canonical(item, digits) for item in value]
    number = float(value)
    return (number if digits is None else round(number, digits)) + 0.0


def _tidied(svg: str, said: str, points: str) -> str:
    """`svg` small, titled, on a white card, and without styles for anything outside it."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->\s*|<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    # The style sheet says this for every element; inside a page that would be the page's too.
    svg = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font: (?:(\w+) )?([\d.]+px) 'DejaVu Sans'[^;\"]*", _font, svg)
    svg = re.sub(r"font-family: 'DejaVu Sans'[^;\"]*; ", "", svg)
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    svg = svg.replace("xlink:href=", "href=").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    referred = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    svg = re.sub(r'\sid="([^"]*)"', lambda found: found[0] if found[1] in referred else "", svg)
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"-?\d+\.\d+", _rounded, tag[0]), svg)
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"\s+", " ", tag[0]).replace(' "', '"'), svg)
    svg = re.sub(r"[ \t]*\n\s*", "\n", _without_bare_groups(svg))
    opening, rest = re.fullmatch(r"(<svg[^>]*)>(.*)", svg, re.DOTALL).groups()  # type: ignore[union-attr]
    title = f"<title>{escape(said, quote=False)}</title>\n"
    digest = f"<metadata>campaign-points sha256:{points}</metadata>\n"
    # White in dark mode too: the colours are chosen for it.
    card = '<rect width="100%" height="100%" rx="4" fill="#fff"/>'
    style = f' role="img" font-family="{_FONTS}" stroke-linejoin="round" stroke-linecap="butt"'
    return f"{opening}{style}>\n{title}{digest}{card}{rest.rstrip()}\n"


def _without_bare_groups(svg: str) -> str:
    """`svg` without the `<g>` that carry no attribute."""
    bare: list[bool] = []

    def keep(tag: re.Match[str]) -> str:
        if tag[0] == "</g>":
            return "" if bare.pop() else tag[0]
        bare.append(tag[0] == "<g>")
        return "" if bare[-1] else tag[0]

    # Points outside their axes leave a group that is closed where it opens.
    return re.sub(r"<g>|<g [^>]*>|</g>", keep, re.sub(r"<g [^>]*/>\s*", "", svg))


def _font(found: "re.Match[str]") -> str:
    weight = f"font-weight: {found[1]}; " if found[1] else ""
    return f"{weight}font-size: {found[2]}"


def _rounded(found: "re.Match[str]") -> str:
    # A hundredth of a point is far below what a screen shows.
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
