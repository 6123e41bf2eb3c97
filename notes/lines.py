"""Where an offset stands for a person: line and column, both from 1."""


def line_column(text: str, at: int) -> tuple[int, int]:
    """Line and column of the character at offset `at` of `text`, whose lines end with a line feed."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
