"""A post as it lies on disk: a banner, the body between two markers, the dated entries below it."""

from dataclasses import dataclass

from campaign.notes.errors import UsageError

BEGIN = "<!-- campaign:body begin -->\n"
END = "<!-- campaign:body end -->\n"


@dataclass(frozen=True)
class Post:
    """The three parts of post.md, each ending with a line end (or empty)."""

    banner: str
    body: str
    entries: str

    @property
    def text(self) -> str:
        """The bytes of post.md, as text."""
        return f"{self.banner}{BEGIN}{self.body}{END}{self.entries}"

    @property
    def body_start(self) -> int:
        """Offset of the body's first character in `text`."""
        return len(self.banner) + len(BEGIN)


def split(text: str, where: str) -> Post:
    """The banner, body and entries of a post's text; `where` names the file in an error.

    The first BEGIN and the last END count, so that a marker quoted inside a body does not cut it.
    """
    begin, end = text.find(BEGIN), text.rfind(END)
    if begin < 0 or end < begin + len(BEGIN):
        missing = BEGIN.strip() if begin < 0 else END.strip()
        raise UsageError(
            f"{where}: no line `{missing}`; expected the body between two such markers. "
            "Restore the file from git, or build it anew with `notes build`."
        )
    return Post(text[:begin], text[begin + len(BEGIN) : end], text[end + len(END) :])
