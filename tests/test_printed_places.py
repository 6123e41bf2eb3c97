"""Printed places: where each place of the ledger stands in a post, also in one that was changed."""

from campaign.notes.ledger import Ledger, Place
from campaign.notes.post import Post
from campaign.notes.printed_places import by_source, printed_places

PLACES = (
    Place("0.30", "reading", "saving"),
    Place("above", "claim", "saving > bar"),
    Place("0.3", "reading", "saving"),
)
LEDGER = Ledger(PLACES, ("# Title\n\nIt saves ", " ms, ", " the bar.\n\nAgain ", " ms.\n"))
BODY = LEDGER.body()


def standing(body: str, banner: str = "") -> list[tuple[str, int, int]]:
    return [(one.text, one.line, one.column) for one in printed_places(Post(banner, body, ""), LEDGER)]


def test_places_of_a_body_as_it_was_built_have_line_and_column_of_the_file():
    """The marker before the body is a line of the file, and so is a banner."""
    assert standing(BODY) == [("0.30", 4, 10), ("above", 4, 19), ("0.3", 6, 7)]
    assert standing(BODY, "banner\n\n")[0] == ("0.30", 6, 10)


def test_a_changed_number_stands_where_it_stood():
    """What is printed there now is told, and what comes after it moves along."""
    assert standing(BODY.replace("0.30", "10.300")) == [("10.300", 4, 10), ("above", 4, 21), ("0.3", 6, 7)]


def test_lines_added_before_a_place_move_it():
    """A line of its own is no change of another."""
    assert standing(BODY.replace("It saves", "More.\nLines.\n\nIt saves")) == [
        ("0.30", 7, 10),
        ("above", 7, 19),
        ("0.3", 9, 7),
    ]


def test_a_line_that_was_rewritten_has_no_places():
    """Nobody knows what its numbers are now; the comparison tells of it."""
    assert standing(BODY.replace("It saves", "It costs")) == [("0.3", 6, 7)]


def test_claims_print_no_reading():
    """By source stand the places of readings, constants and facts."""
    said = by_source(printed_places(Post("", BODY, ""), LEDGER))
    assert {name: [one.where for one in places] for name, places in said.items()} == {"saving": ["4:10", "6:7"]}
