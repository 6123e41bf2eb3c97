"""Every change of a number, sign, unit, bound word or table cell is found by its binding alone."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.campaigns import PARTS, TriedCampaign, built_campaign, findings, published_campaign, shut_out

from campaign.notes.check import check_body, read_kept
from campaign.notes.findings import Finding
from campaign.notes.history import sha256_of
from campaign.notes.ledger import Ledger
from campaign.notes.paths import Campaign, Part
from campaign.notes.post import Post, split
from campaign.notes.sources import Sources, load

TABLE = """\
| 04:00 | served | 14.399 |
| 04:15 | changed | 14.112 |
| 04:30 | changed | 14.125 |
| 04:45 | served | 14.438 |
"""
ROWS = TABLE.splitlines(keepends=True)


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


@pytest.fixture
def bare(campaign: TriedCampaign) -> TriedCampaign:
    """The campaign without its template: bindings alone can find anything."""
    campaign.part.template.unlink()
    return campaign


def found(campaign: TriedCampaign) -> list[dict[str, str]]:
    """The findings of `notes check 1`, which has to exit 1 and to tell at least one."""
    told = findings(campaign.notes("check", "1", exit=1).stdout)
    assert told, "findings were announced and none could be read"
    return told


CHANGES = {
    "sign lost": ("by −0.30 ms", "by 0.30 ms", "0.30", "−0.30"),
    "minus as a hyphen": ("by −0.30 ms", "by -0.30 ms", "-0.30", "−0.30"),
    "sign added": ("saves 0.300", "saves −0.300", "−0.300", "0.300"),
    "plus added": ("saves 0.300", "saves +0.300", "+0.300", "0.300"),
    "decimal point moved": ("saves 0.300", "saves 3.00", "3.00", "0.300"),
    "decimal point lost": ("bar of 0.10", "bar of 010", "010", "0.10"),
    "digit lost": ("saves 0.300", "saves 0.30", "0.30", "0.300"),
    "digit added": ("saves 0.300", "saves 0.3001", "0.3001", "0.300"),
    "group moved": ("took 8,872", "took 88,72", "88,72", "8,872"),
    "group lost": ("took 8,872", "took 8872", "8872", "8,872"),
    "number lost": ("saves 0.300 ms", "saves ms", "", "0.300"),
    "another digit's shape": ("saves 0.300", "saves ０.300", "０.300", "0.300"),
    "hidden character": ("saves 0.300", "saves 0.3\u200b00", "0.3\u200b00", "0.300"),
    "number word": ("The four rows", "The five rows", "five", "four"),
    "number word of a fact": ("on two RTX", "on three RTX", "three", "two"),
    "number word as a digit": ("The four rows", "The 4 rows", "4", "four"),
    "claimed word": ("above the bar", "below the bar", "below", "above"),
    "verdict": (": carries.**", ": seen.**", "seen", "carries"),
    "verdict of two words": (": carries.**", ": rolled back.**", "rolled back", "carries"),
    "claimed word turned round": ("above the bar", "not above the bar", "not above", "above"),
    "claimed word turned round from behind": ("above the bar", "above not the bar", "above not", "above"),
    "verdict turned round": (": carries.**", ": hardly carries.**", "hardly carries", "carries"),
    "date": ("*6 November 2026", "*7 November 2026", "7 November 2026", "6 November 2026"),
    "month": ("*6 November 2026", "*6 October 2026", "6 October 2026", "6 November 2026"),
    "quoted title": (": a smaller kernel", ": a larger kernel", "a larger kernel", "a smaller kernel"),
    "part's number": ("# Part 1:", "# Part 2:", "Part 2", "Part 1"),
    "hash": ("sha256 `", "sha256 `0", None, None),
    "table cell": ("changed | 14.112", "changed | 14.113", "14.113", "14.112"),
    "word in a table cell": ("| 04:15 | changed", "| 04:15 | served", "served", "changed"),
    "clock in a table cell": ("| 04:15 |", "| 04:16 |", "04:16", "04:15"),
    "credit": ("**vLLM**: the serving", "**SGLang**: the serving", "SGLang", "vLLM"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_place_is_found(bare, change):
    """A bound place that holds something else is told with what it said and what recomputation gives."""
    was, becomes, said, expected = CHANGES[change]
    bare.change(was, becomes)
    told = found(bare)
    if said is not None:
        pairs = [(one["said"].strip("'\""), one["expected"].strip("'\"")) for one in told]
        unescaped = [(s.encode().decode("unicode_escape") if "\\u" in s else s, e) for s, e in pairs]
        assert any(said in s and expected in e for s, e in unescaped), pairs


UNITS = {
    "ms to s": ("saves 0.300 ms", "saves 0.300 s"),
    "ms to µs": ("bar of 0.10 ms", "bar of 0.10 µs"),
    "ms to minutes": ("saves 0.300 ms", "saves 0.300 minutes"),
    "unit lost": ("saves 0.300 ms", "saves 0.300"),
    "% lost": ("tasks 94 % passed", "tasks 94 passed"),
    "% to ‰": ("tasks 94 % passed", "tasks 94 ‰ passed"),
    "% to points": ("tasks 94 % passed", "tasks 94 points passed"),
    "counted noun": ("8,872 steps", "8,872 tokens"),
    "counted noun of a word": ("four rows", "four draws"),
    "unit in a table's head": ("| ms a verify step |", "| s a verify step |"),
    "arrow of a comparison": ("took 8,872", "took <8,872"),
    "approximation": ("took 8,872", "took ~8,872"),
    "power of ten": ("took 8,872 steps", "took 8,872 million steps"),
    "exponent": ("saves 0.300 ms", "saves 0.300e3 ms"),
    "range": ("saves 0.300 ms", "saves 0.300–0.400 ms"),
}


@pytest.mark.parametrize("change", UNITS)
def test_changed_unit_is_found(bare, change):
    """What a number counts or is measured in belongs to it."""
    was, becomes = UNITS[change]
    bare.change(was, becomes)
    assert all(one["mend"] == "git checkout -- parts/part-1/post.md" for one in found(bare))


TABLES = {
    "cells of a row swapped": (ROWS[1], "| 04:15 | 14.112 | changed |\n"),
    "cells of a column swapped": (
        TABLE,
        TABLE.replace("14.399", "x").replace("14.438", "14.399").replace("x", "14.438"),
    ),
    "equal columns swapped": (ROWS[0], "| served | 04:00 | 14.399 |\n"),
    "rows swapped": (ROWS[1] + ROWS[2], ROWS[2] + ROWS[1]),
    "row deleted": (ROWS[2], ""),
    "last row deleted": (ROWS[3], ""),
    "row duplicated": (ROWS[2], ROWS[2] * 2),
    "cell emptied": ("| 14.112 |", "| |"),
    "cell added": (ROWS[1], "| 04:15 | changed | 14.112 | 14.112 |\n"),
    "heads swapped": ("| Start | Arm |", "| Arm | Start |"),
    "table deleted": (TABLE, ""),
}


@pytest.mark.parametrize("change", TABLES)
def test_changed_table_is_found(bare, change):
    """A cell that stands elsewhere, or twice, or not at all, is a finding."""
    was, becomes = TABLES[change]
    bare.change(was, becomes)
    assert found(bare)


TYPED = {
    "a reading's value": ("about people.", "about people, 0.300 ms.", "unbound", "0.300 ms"),
    "a new number": ("about people.", "about 7 people.", "unbound", "7"),
    "a number word": ("about people.", "about seven people.", "word", "seven"),
    "half": ("nothing here", "half of it here", "word", "half"),
    "a percentage": ("about people.", "about 50% of people.", "unbound", "50%"),
    "a date": ("about people.", "about 3 May 2026.", "structure", "3 May 2026"),
    "an undeclared name": ("about people.", "about rs9.", "structure", "rs9"),
    "a changed name": ("RTX 4090", "RTX 5090", "structure", "RTX 5090"),
    "a changed declared name": ("Rows of W01", "Rows of W02", "structure", "W02"),
    "a line": ("## Credits", "It took 12 hours.\n\n## Credits", "unbound", "12"),
    "a list": ("## Credits", "- 12 hours\n- 13 hours\n\n## Credits", "unbound", "12 hours"),
    "a number in HTML": ("about people.", "about <b>12</b> people.", "unbound", "12"),
    "a number in code": ("about people.", "about `12` people.", "unbound", "12"),
    "a sentence once more": ("about people.", "about people. Of their tasks 94 % passed.", "unbound", "94 %"),
}


@pytest.mark.parametrize("change", TYPED)
def test_number_typed_into_the_post_is_found(bare, change):
    """What no quote printed is a finding, even where it equals a reading."""
    was, becomes, code, said = TYPED[change]
    bare.change(was, becomes)
    told = found(bare)
    assert any(said in one["said"] for one in told), told
    assert {one["code"] for one in told} - {"nothing"} <= {code, "unbound", "undeclared", "structure"}


TYPED_IN_TEMPLATE = {
    "a reading's value": ("people.", "people, 0.300 ms.", "unbound", "0.300 ms"),
    "a number word": ("people.", "seven people.", "unbound", "seven"),
    "an undeclared name": ("people.", "people of rs9.", "undeclared", "rs9"),
    "a digit beside a quote": ('saves {{ q("saving") }}', 'saves {{ q("saving") }}5', "unbound", "0.3005"),
    "a bare value": ("people.", '{{ value("rows.n") }} people.', "unbound", "4"),
    "a sign before a quote": ('saves {{ q("saving") }}', 'saves −{{ q("saving") }}', "unbound", "−0.300"),
    "a quote twice over": ('saves {{ q("saving") }}', 'saves {{ q("saving") * 2 }}', "unbound", "0.300"),
    "a power of ten": ('{{ q("steps") }} steps', '{{ q("steps") }} million steps', "unit", "million"),
    "an exponent": ('saves {{ q("saving") }}', 'saves {{ q("saving") }}e3', "unbound", "0.300e3"),
    "another unit": ('saves {{ q("saving") }} ms', 'saves {{ q("saving") }} s', "unit", "0.300 s"),
    "a percent sign": ('took {{ q("steps") }} steps', 'took {{ q("steps") }} % steps', "unit", "8,872 %"),
}


@pytest.mark.parametrize("change", TYPED_IN_TEMPLATE)
def test_number_typed_into_the_template_is_found(campaign, change):
    """A number, sign or unit that the template adds to a quote is built and then found."""
    was, becomes, code, said = TYPED_IN_TEMPLATE[change]
    campaign.change(was, becomes, "post.md.j2")
    assert "finding" in campaign.notes("build", "1").stdout
    told = found(campaign)
    assert any(one["code"] == code and said in one["said"] for one in told), told


def test_finding_names_file_line_and_column(bare):
    """A finding leads to the place in post.md."""
    bare.change("saves 0.300", "saves 0.301")
    (one,) = found(bare)
    assert one["path"] == "parts/part-1/post.md"
    line = bare.text().splitlines()[int(one["line"]) - 1]
    assert line[int(one["column"]) - 1 :].startswith("0.301")
    assert (one["code"], one["said"], one["expected"], one["source"]) == (
        "changed",
        "'0.301'",
        "'0.300'",
        "reading saving",
    )


def test_column_counts_after_what_was_inserted_before(bare):
    """Two changes in a line are both found where they stand now."""
    bare.change("The four rows took 8,872", "The twenty-five rows took 8,873")
    told = found(bare)
    line = bare.text().splitlines()[int(told[0]["line"]) - 1]
    assert [line[int(one["column"]) - 1 :].split()[0] for one in told] == ["twenty-five", "8,873"]


def test_sentence_put_in_is_told_where_it_begins(campaign):
    """A number in a new line is told on that line, not at the end of the one before."""
    campaign.change("nothing here is about people.", "nothing here is about people.\nIt took 77 hours.")
    (one,) = [one for one in found(campaign) if one["code"] == "unbound"]
    line = campaign.text().split("\n")[int(one["line"]) - 1]
    assert (line, one["column"], one["said"]) == ("It took 77 hours.", "1", "'It took 77 hours.'")


def test_mending_command_mends(campaign):
    """What a finding of a draft names as the command that mends it does so."""
    campaign.change("saves 0.300", "saves 0.301")
    (one,) = found(campaign)
    campaign.notes(*one["mend"].split()[1:])
    campaign.notes("check", "1")


QUIET = {
    "a paragraph on one line": ("bar of 0.10 ms.\nIts", "bar of 0.10 ms. Its"),
    "a line broken": ("The four rows took", "The four\nrows took"),
    "a line broken before a unit": ("saves 0.300 ms", "saves 0.300\nms"),
    "more blank lines": ("\n\n## Credits", "\n\n\n## Credits"),
}


@pytest.mark.parametrize("change", QUIET)
def test_rewrapped_text_is_no_finding(bare, change):
    """Where a reader sees the same, nothing is told."""
    bare.change(*QUIET[change])
    bare.notes("check", "1")


def test_changed_plain_word_is_no_finding_of_a_binding(bare):
    """Other words are the body hash's business."""
    bare.change("here is about people", "here speaks about persons")
    bare.notes("check", "1")


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("nothing here is", "everything here is"),
        ("saves 0.300 ms", "saves 0.300 ms a draw"),
        ("saves 0.300", "loses 0.300"),
    ],
)
def test_word_that_turns_a_number_round_is_found(bare, was, becomes):
    """A word that negates, a direction or a rate beside a number is no plain word."""
    bare.change(was, becomes)
    assert found(bare)


def test_changed_plain_word_of_a_draft_is_stale(campaign):
    """With the template at hand a changed word of a draft is told as stale."""
    campaign.change("about people", "about persons")
    (one,) = found(campaign)
    assert one["code"] == "stale"


def test_line_ends_of_windows_are_no_finding(bare):
    """A checkout with CRLF line ends says the same."""
    bare.part.post.write_bytes(bare.part.post.read_bytes().replace(b"\n", b"\r\n"))
    bare.notes("check", "1")


def test_untouched_text_has_no_finding(campaign):
    """As built, nothing is told and all is bound."""
    result = campaign.notes("check", "1")
    assert "0 unbound" in result.stdout and "part-1: no findings in parts/part-1/post.md" in result.stdout


def restamp(campaign: TriedCampaign) -> None:
    """Nothing; published.toml then has the hash of the body that lies there."""
    text = campaign.text("published.toml")
    digest = sha256_of(campaign.body.encode())
    campaign.write("published.toml", re.sub(r'body_sha256 = "\w+"', f'body_sha256 = "{digest}"', text))


REMOVED = {
    "its record removed": lambda c: c.part.published.unlink(),
    "its hash stamped again": restamp,
    "its template removed": lambda c: c.part.template.unlink(),
    "its history removed": lambda c: shutil.rmtree(c.root / ".git"),
    "all of these": lambda c: (c.part.published.unlink(), c.part.template.unlink(), shutil.rmtree(c.root / ".git")),
}


@pytest.mark.parametrize("without", REMOVED)
@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("saves 0.300", "saves 0.301"),
        ("four rows", "five rows"),
        ("0.300 ms", "0.300 s"),
        ("above the", "below the"),
        ("people.", "people, 0.300."),
    ],
)
def test_change_of_a_published_text_is_found_without_its_proof(tmp_path, monkeypatch, without, was, becomes):
    """Neither record, hash, template nor git is needed to find a changed number by its binding."""
    campaign = published_campaign(tmp_path, monkeypatch)
    campaign.change(was, becomes)
    REMOVED[without](campaign)
    assert {one["code"] for one in found(campaign)} & {"changed", "unit", "unbound"}


# The parts of this repository


BUILT = sorted(folder.name for folder in PARTS.glob("part-*") if (folder / "numbers.json").is_file())
SAMPLE = 20
"""Mutants of one kind that are tried on one part, spread over its body."""


class Body:
    """The body of a part, to be changed and checked in memory by its bindings alone."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.sources: Sources = load(part)
        self.post: Post
        self.ledger: Ledger
        self.post, self.ledger, _ = read_kept(part)

    def findings(self, body: str) -> list[Finding]:
        told, _ = check_body(self.part, replace(self.post, body=body), self.ledger, self.sources)
        return [one for one in told if not one.warning]


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Body]:
    """A copy of the repository's parts that has neither templates nor records of publication nor git."""
    root = tmp_path_factory.mktemp("copy") / "campaign"
    with pytest.MonkeyPatch.context() as monkeypatch:
        shut_out(monkeypatch)
        shutil.copytree(PARTS, root / "parts", ignore=shutil.ignore_patterns("post.md.j2"))
        shutil.copy(PARTS.parent / "campaign.toml", root)
        return {name: Body(Part(Campaign(root), name)) for name in BUILT}


def sampled(mutants: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    listed = list(mutants)
    return listed[:: max(1, -(-len(listed) // SAMPLE))]


def digits(body: str, _: Ledger) -> Iterator[tuple[str, str]]:
    for digit in re.finditer(r"[0-9]", body):
        at = digit.start()
        yield f"{at}: {body[at : at + 12]}", f"{body[:at]}{(int(digit[0]) + 1) % 10}{body[at + 1 :]}"


def signs_lost(body: str, _: Ledger) -> Iterator[tuple[str, str]]:
    for sign in re.finditer(r"−(?=[\d∞i])", body):
        yield body[sign.start() : sign.end() + 8], body[: sign.start()] + body[sign.end() :]


def signs_added(body: str, ledger: Ledger) -> Iterator[tuple[str, str]]:
    for place, (start, _) in zip(ledger.places, ledger.spans(), strict=True):
        if re.match(r"\d+(\.\d+)?$", place.text):
            yield place.text, f"{body[:start]}−{body[start:]}"


def points_moved(body: str, ledger: Ledger) -> Iterator[tuple[str, str]]:
    for place, (start, end) in zip(ledger.places, ledger.spans(), strict=True):
        if re.fullmatch(r"\d\.\d\d+", place.text):
            moved = place.text[0] + place.text[2] + "." + place.text[3:]
            yield place.text, body[:start] + moved + body[end:]


def units(body: str, _: Ledger) -> Iterator[tuple[str, str]]:
    for pattern, becomes in (
        (r"(?<=\d) ms\b", " s"),
        (r"(?<=\d) s\b", " ms"),
        (r"(?<=\d) µs\b", " ms"),
        (r"(?<=\d) W\b", " kW"),
    ):
        for unit in re.finditer(pattern, body):
            yield body[unit.start() - 6 : unit.end()], body[: unit.start()] + becomes + body[unit.end() :]
    for unit in re.finditer(r"(?<=\d) ?%", body):
        yield body[unit.start() - 6 : unit.end()], body[: unit.start()] + body[unit.end() :]


def words(body: str, ledger: Ledger) -> Iterator[tuple[str, str]]:
    for place, (start, end) in zip(ledger.places, ledger.spans(), strict=True):
        if place.kind == "claim" or place.text.isalpha():
            becomes = place.otherwise if place.otherwise not in ("", place.text) else "never"
            yield f"{place.text} ({place.source})", body[:start] + becomes + body[end:]


def cells_swapped(body: str, _: Ledger) -> Iterator[tuple[str, str]]:
    for row in re.finditer(r"^\|.*\|$", body, re.MULTILINE):
        cells = row[0].strip("|").split("|")
        for i in range(len(cells) - 1):
            if "--" not in row[0] and cells[i] != cells[i + 1]:
                other = [*cells[:i], cells[i + 1], cells[i], *cells[i + 2 :]]
                yield row[0], body[: row.start()] + f"|{'|'.join(other)}|" + body[row.end() :]


def rows_deleted(body: str, _: Ledger) -> Iterator[tuple[str, str]]:
    for row in re.finditer(r"^\|.*\|\n", body, re.MULTILINE):
        if "--" not in row[0]:
            yield row[0], body[: row.start()] + body[row.end() :]


def rows_doubled(body: str, _: Ledger) -> Iterator[tuple[str, str]]:
    for row in re.finditer(r"^\|.*\|\n", body, re.MULTILINE):
        if "--" not in row[0]:
            yield row[0], body[: row.end()] + row[0] + body[row.end() :]


def numbers_typed(body: str, ledger: Ledger) -> Iterator[tuple[str, str]]:
    number = next(place.text for place in ledger.places if re.fullmatch(r"\d+\.\d+", place.text))
    for end in re.finditer(r"\.\n(?=\n)", body):
        yield body[end.start() - 20 : end.end()], f"{body[: end.start()]}, {number}{body[end.start() :]}"


MUTATIONS = (
    digits,
    signs_lost,
    signs_added,
    points_moved,
    units,
    words,
    cells_swapped,
    rows_deleted,
    rows_doubled,
    numbers_typed,
)


@pytest.mark.parametrize("part", BUILT)
def test_part_of_this_repository_has_no_finding(bodies, part):
    """As it lies here, the text of each part agrees with its data."""
    assert bodies[part].findings(bodies[part].post.body) == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@pytest.mark.parametrize("part", BUILT)
def test_change_in_a_part_of_this_repository_is_found(bodies, part, mutation):
    """Digits, signs, points, units, words and cells of the real texts are found by their bindings."""
    body = bodies[part]
    missed = [what for what, text in sampled(mutation(body.post.body, body.ledger)) if not body.findings(text)]
    assert missed == []


def test_marker_quoted_in_a_body_does_not_cut_it():
    """The first begin and the last end count."""
    text = "<!-- campaign:body begin -->\na <!-- campaign:body end -->\n b\n<!-- campaign:body end -->\n"
    assert split(text, "post.md").body == "a <!-- campaign:body end -->\n b\n"
