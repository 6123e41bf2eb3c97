"""What is the same to a reader and not to a program is told as such."""

import pytest

from campaign.notes.findings import Finding
from campaign.notes.otherwise import written_otherwise


def also(said: str, expected: str) -> tuple[str, ...]:
    return written_otherwise(Finding("changed", "post.md", 1, 1, said, expected, "", "")).also


@pytest.mark.parametrize(
    ("said", "expected", "how"),
    [
        ("-11.29", "−11.29", "HYPHEN-MINUS (U+002D) for MINUS SIGN (U+2212)"),
        ("&minus;0.015", "−0.015", "&minus;0.015 for −0.015"),
        ("7<b>7</b>.26", "77.26", "7<b>7</b>.26 for 77.26"),
        ("**14.171**", "14.171", "**14.171** for 14.171"),
        ("１4.171", "14.171", "FULLWIDTH DIGIT ONE (U+FF11) for DIGIT ONE (U+0031)"),
    ],
)
def test_same_number_in_other_characters_is_told(said, expected, how):
    """Both look alike, or are alike on the page: what is different is named."""
    assert also(said, expected) == (f"the same number, written otherwise: {how}",)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("11.29", "−11.29"),
        ("10²", "102"),
        ("0.31", "0.13"),
        ("**more**", "more"),
        ("1.5", "1.50"),
        ("5", "5"),
        ("", "5"),
    ],
)
def test_what_says_something_else_is_left_alone(said, expected):
    """Another number, another printed place, and words are not the same number."""
    assert also(said, expected) == ()


def test_text_in_another_normalisation_is_told():
    """A letter and its accent apart look like one letter."""
    assert also("cafe\u0301", "caf\u00e9") == ("the same text, in another Unicode normalisation (NFD); write NFC",)
