"""A number that marks or entities stand in, as a person has to write it so that a quote can stand for it."""

import re

from campaign.analysis.rounding import MINUS


def plainly(text: str, decimal: str = ".") -> str:
    """The characters of a number as a quote can print them: `−7`, `1,024`, `5×10^3`.

    `text` is what a reader sees; `decimal` is the mark before the decimals of the prose.
    """
    plain = re.sub(r"^[-‐‑﹣－–‒](?=[\d.,])", MINUS, " ".join(text.split(" ")))
    plain = re.sub(r"(?<=\d)[^\S\n](?=\d{3}(?!\d))", "," if decimal == "." else ".", plain)
    return re.sub(r"\s*[x×·⋅]\s*10(?=\^)", "×10", plain)
