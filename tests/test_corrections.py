"""Dated corrections to a published text, which itself stays as it was."""

import datetime
import unicodedata
from pathlib import Path

import pytest
from tests.repositories import BODY, CORRECTED, PUBLISHED, RECORDED, SmallCampaign, small_campaign, write_post

from campaign.notes.corrections import (
    Correction,
    append,
    banner,
    canonical,
    check_corrections,
    corrected_places,
    entries,
    read_corrections,
)
from campaign.notes.dates import long_date, utc_minute
from campaign.notes.errors import CannotTell, UsageError
from campaign.notes.history import NoHistory, sha256_of
from campaign.notes.index import index_of
from campaign.notes.publish import publish, read_published

NO_GIT = NoHistory("no git here")


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallCampaign:
    """A campaign whose part-4 is published, and that has a part-5."""
    campaign = small_campaign(tmp_path, monkeypatch)
    publish(campaign.part, date=PUBLISHED, numbers=1, repo=campaign.repo)
    campaign.part_named("part-5").folder.mkdir()
    campaign.commit_all("Publish part 4")
    return campaign


def correct(campaign: SmallCampaign, **other: object) -> Correction:
    """The entry that was appended, with these values or plain ones."""
    values = dict(
        date=CORRECTED,
        recorded=RECORDED,
        said="Drafting was low.",
        says="Drafting was fine.",
        because="Decoding ran on.",
        reported_by="BrightPeak",
    )
    return append(campaign.part, **(values | other), repo=campaign.repo)


def two(campaign: SmallCampaign) -> list[Correction]:
    """Two entries, each committed."""
    first = correct(campaign)
    campaign.commit_all("Correct")
    second = correct(campaign, said="The kernel is from vLLM.", says="It is diffbot's.", caused_by="5")
    campaign.commit_all("Correct again")
    return [first, second]


def edit(campaign: SmallCampaign, old: str, new: str) -> None:
    """Nothing; corrections.toml then has `new` where it had `old`."""
    text = campaign.part.corrections.read_text()
    assert old in text
    campaign.part.corrections.write_text(text.replace(old, new))


def codes(campaign: SmallCampaign) -> list[str]:
    return [problem.code for problem in check_corrections(campaign.part, campaign.repo)]


def test_entries_read_back_as_they_were_written(campaign):
    """corrections.toml holds all of every entry."""
    assert read_corrections(campaign.part) == []
    assert two(campaign) == read_corrections(campaign.part)


def test_entries_form_a_chain_from_the_body(campaign):
    """The first entry names the published body's hash, the next one that of the entry before."""
    first, second = two(campaign)
    assert first.previous == sha256_of(BODY.encode())
    assert second.previous == sha256_of(canonical(first).encode())


def test_earlier_bytes_of_the_file_stay(campaign):
    """A new entry is appended to the very bytes that were there, a person's remark among them."""
    correct(campaign)
    with campaign.part.corrections.open("ab") as file:
        file.write("# a remark, été\r\n#without a line end".encode())
    before = campaign.part.corrections.read_bytes()
    correct(campaign, said="The kernel is from vLLM.")
    assert campaign.part.corrections.read_bytes().startswith(before)
    assert len(read_corrections(campaign.part)) == 2


def test_awkward_words_come_back(campaign):
    """Quotes, backslashes and other scripts survive the file."""
    says = r'It is "0.31\0.3" − not \u0031, {{ q("count", ".2f") }} été 漢 [[correction]]'
    correct(campaign, says=says)
    assert read_corrections(campaign.part)[0].says == says


def test_line_ends_in_words_become_spaces(campaign):
    """Words given over several lines cannot begin a heading in the post."""
    assert correct(campaign, says="fine\n\n## Not a heading\n").says == "fine ## Not a heading"


def test_quote_may_be_wrapped_otherwise(campaign):
    """White space in the quoted words matches any white space in the body."""
    assert correct(campaign, said=" 0.31 ms a\n  verify step.").said == "0.31 ms a verify step."


def test_draft_is_not_corrected(campaign):
    """A draft's text is changed itself."""
    campaign.part.published.unlink()
    with pytest.raises(UsageError, match="is a draft"):
        correct(campaign)


def test_words_that_were_not_published_are_refused(campaign):
    """What the entry says was said has to be in the published body."""
    with pytest.raises(UsageError, match=r"“Drafting was fine\.” not at all; expected exactly once"):
        correct(campaign, said="Drafting was fine.")


def test_words_only_on_disk_are_refused(campaign):
    """The published blob counts, not what lies on disk."""
    write_post(campaign.part, BODY + "Added.\n")
    with pytest.raises(UsageError, match="not at all"):
        correct(campaign, said="Added.")


def test_words_published_twice_are_refused(campaign):
    """Words that stand in two places ask for a longer quote."""
    with pytest.raises(UsageError, match=r"2 times; expected exactly once\. Give a longer quote"):
        correct(campaign, said="is")  # in "The saving is" and in "The kernel is"


@pytest.mark.parametrize("key", ["said", "says", "because", "reported_by"])
def test_empty_words_are_refused(campaign, key):
    """Every entry has all of its words."""
    with pytest.raises(UsageError):
        correct(campaign, **{key: " \n"})


def test_time_without_a_zone_is_refused(campaign):
    """The moment of recording has a zone."""
    with pytest.raises(UsageError, match="has no zone"):
        correct(campaign, recorded=RECORDED.replace(tzinfo=None))


def test_correction_from_before_publication_is_refused(campaign):
    """A text is not corrected before it was published."""
    with pytest.raises(UsageError, match="is before 2026-11-06"):
        correct(campaign, date=datetime.date(2026, 11, 5))


def test_unknown_cause_is_refused_with_the_known_parts(campaign):
    """A cause is a part that exists."""
    with pytest.raises(UsageError, match="expected one of part-4, part-5"):
        correct(campaign, caused_by="part-50")


def test_part_is_not_its_own_cause(campaign):
    """A cause is another part."""
    with pytest.raises(UsageError, match="names part-4 itself"):
        correct(campaign, caused_by="4")


def test_refused_entry_leaves_the_file(campaign):
    """An entry that is refused changes no byte."""
    correct(campaign)
    before = campaign.part.corrections.read_bytes()
    with pytest.raises(UsageError):
        correct(campaign, said="never said")
    assert campaign.part.corrections.read_bytes() == before


def test_nothing_is_added_to_a_broken_chain(campaign):
    """Entries that were changed have to be mended before another one is added."""
    two(campaign)
    edit(campaign, "Decoding ran on.", "It stopped early.")
    with pytest.raises(UsageError, match="nothing was added"):
        correct(campaign, said="The saving")


def test_new_part_knows_the_entries_it_caused(campaign):
    """The link runs both ways: from the cause to the entry as well."""
    _, second = two(campaign)
    known = index_of(campaign.part.campaign).caused["part-5"]
    assert [(each.part.name, each.correction) for each in known] == [("part-4", second)]


def test_unknown_key_is_refused_with_the_nearest(campaign):
    """A mistyped key is answered with the entry and the right key."""
    correct(campaign)
    edit(campaign, "because =", "becuase =")
    with pytest.raises(UsageError, match=r"correction 1: becuase: unknown key.*Did you mean because\?"):
        read_corrections(campaign.part)


def test_unknown_table_is_refused(campaign):
    """The file holds entries and nothing else."""
    campaign.part.corrections.write_text("[[corection]]\nnumber = 1\n")
    with pytest.raises(UsageError, match=r"corection: unknown key"):
        read_corrections(campaign.part)


def test_good_entries_have_no_problem(campaign):
    """Entries as they were written pass, committed or not yet."""
    two(campaign)
    correct(campaign, said="The saving")
    assert codes(campaign) == []


def test_changed_entry_breaks_the_chain(campaign):
    """A changed entry is found by the next one, before any commit."""
    correct(campaign)
    correct(campaign, said="The saving")
    edit(campaign, "Decoding ran on.", "It stopped early.")
    assert codes(campaign) == ["chain-broken"]


def test_entry_changed_after_its_commit_is_found(campaign):
    """The last entry, which no other one names, is kept by the history."""
    two(campaign)
    edit(campaign, "It is diffbot's.", "It is ours.")
    [problem] = check_corrections(campaign.part, campaign.repo)
    assert (problem.code, problem.said) == ("correction-changed", "says = It is ours. in correction 2")
    assert problem.expected.startswith("It is diffbot's., as ")


def test_removed_entry_is_found_after_its_removal_was_committed(campaign):
    """An entry that an earlier commit has is found though HEAD does without it."""
    two(campaign)
    text = campaign.part.corrections.read_text()
    campaign.part.corrections.write_text(text[: text.rindex("[[correction]]")])
    campaign.commit_all()
    assert codes(campaign) == ["correction-removed"]


def test_entry_with_characters_composed_otherwise_says_so(campaign):
    """An entry that an editor put into another Unicode form looks the same, and its finding tells why it is not."""
    correct(campaign, because="The Café's clock was wrong.")
    campaign.commit_all("Correct")
    edit(campaign, "Café", unicodedata.normalize("NFD", "Café"))
    [problem] = check_corrections(campaign.part, campaign.repo)
    assert problem.said.endswith("its characters composed otherwise (another Unicode form)")


def test_entry_that_was_changed_and_restored_is_as_it_was(campaign):
    """A fault that was committed and mended leaves no finding: the entry as it was first committed counts."""
    two(campaign)
    text = campaign.part.corrections.read_text()
    edit(campaign, "It is diffbot's.", "It is ours.")
    campaign.commit_all("A fault")
    assert codes(campaign) == ["correction-changed"]
    campaign.part.corrections.write_text(text)
    campaign.commit_all("Mend it")
    assert codes(campaign) == []


def test_entries_of_two_branches_are_joined(campaign):
    """An entry of a branch that stands behind another's after their merge is kept; one that is lost is found."""
    campaign.git("checkout", "--quiet", "-b", "side")
    correct(campaign, said="The kernel is from vLLM.", says="It is diffbot's.")
    campaign.commit_all("Correct on a branch")
    campaign.git("checkout", "--quiet", "main")
    correct(campaign)
    campaign.commit_all("Correct")
    campaign.git("merge", "--quiet", "--strategy=ours", "side")
    [problem] = check_corrections(campaign.part, campaign.repo)
    assert problem.code == "correction-changed" and "`notes correct part-4` adds it again" in problem.mend
    campaign.git("reset", "--quiet", "--hard", "HEAD~1")
    correct(campaign, said="The kernel is from vLLM.", says="It is diffbot's.")
    campaign.commit_all("Take up the other entry")
    campaign.git("merge", "--quiet", "--strategy=ours", "side")
    assert codes(campaign) == []


def test_removed_file_is_found(campaign):
    """A file of entries that is gone is a problem for every entry."""
    two(campaign)
    campaign.part.corrections.unlink()
    campaign.commit_all()
    assert codes(campaign) == ["correction-removed", "correction-removed"]


def test_swapped_numbers_are_found(campaign):
    """Entries are numbered from 1 in the order of the file."""
    correct(campaign)
    edit(campaign, "number = 1", "number = 2")
    assert codes(campaign) == ["correction-number"]


def test_words_that_were_never_published_are_found(campaign):
    """An entry written by hand that quotes what was not published is a problem."""
    correct(campaign)
    edit(campaign, "Drafting was low.", "Drafting was poor.")
    assert codes(campaign) == ["said-not-published"]


def test_entries_of_a_draft_are_found(campaign):
    """A draft has no corrections."""
    correct(campaign)
    campaign.part.published.unlink()
    assert codes(campaign) == ["correction-of-a-draft"]


def test_shallow_clone_cannot_tell(campaign, tmp_path):
    """A clone that does not reach the publication cannot tell what it said."""
    two(campaign)
    shallow = campaign.clone(tmp_path / "shallow", "--depth=1")
    with pytest.raises(CannotTell, match="git fetch --unshallow"):
        check_corrections(shallow.part, shallow.repo)


def test_broken_chain_is_found_without_git(campaign):
    """The chain is checked by hashes alone; what it quotes is not."""
    correct(campaign)
    correct(campaign, said="The saving")
    with pytest.raises(CannotTell, match="no git here"):
        check_corrections(campaign.part, NO_GIT)
    edit(campaign, "Decoding ran on.", "It stopped early.")
    assert [problem.code for problem in check_corrections(campaign.part, NO_GIT)] == ["chain-broken"]


def test_banner_of_a_draft():
    """A draft's banner says that its text may change."""
    assert banner("Part 4", None, []) == "> **Part 4.** Draft. Not published; its text may still change.\n\n"


def test_banner_of_a_published_part(campaign):
    """A published part's banner has its date."""
    text = banner("Part 4", read_published(campaign.part), [])
    assert text == "> **Part 4.** Published 6 November 2026.\n\n"


def test_banner_of_a_part_corrected_once(campaign):
    """One correction is counted in digits, and named in the singular."""
    correct(campaign)
    text = banner("Part 4", read_published(campaign.part), read_corrections(campaign.part))
    assert "Published 6 November 2026. 1 correction; " in text


def test_banner_points_at_every_correction(campaign):
    """Each correction has a line with its date, a link and what it is about."""
    text = banner("Part 4", read_published(campaign.part), two(campaign))
    assert text.splitlines() == [
        "> **Part 4.** Published 6 November 2026. 2 corrections; the text below stays as it was published:",
        ">",
        "> - 7 November 2026: [correction 1](#correction-1), on “Drafting was low.”",
        "> - 7 November 2026: [correction 2](#correction-2), on “The kernel is from vLLM.”",
        "",
    ]


def test_banner_cuts_long_words_without_open_marks(campaign):
    """A long quote is cut at a word, and its Markdown marks are left out."""
    said = "**The saving** is [`0.31`](#x) ms a verify step, and " + "so on " * 20
    correction = correct(campaign).model_copy(update={"said": said.strip()})
    last = banner("Part 4", read_published(campaign.part), [correction]).splitlines()[2]
    assert last.endswith("on “The saving is 0.31 ms a verify step, and so on so on so on …”")


def test_no_entries_no_text():
    """Without corrections there is nothing below the body."""
    assert entries([], str, str) == ""


def test_entries_as_a_reader_sees_them(campaign):
    """Every entry has an anchor, a heading and a paragraph for each thing it tells."""
    text = entries(two(campaign)[1:], lambda words: words.upper(), lambda part: f"[{part}](../{part}/post.md)")
    assert text == (
        "## Corrections\n\n"
        '<a id="correction-2"></a>\n\n'
        "### Correction 2, 7 November 2026\n\n"
        "**It said:** “The kernel is from vLLM.”\n\n"
        "**It should say:** IT IS DIFFBOT'S.\n\n"
        "**Because:** DECODING RAN ON.\n\n"
        "**Reported by:** BrightPeak\n\n"
        "**Came out of:** [part-5](../part-5/post.md)\n\n"
        "**Recorded:** 2026-11-07 09:30Z\n"
    )


def test_entries_are_apart_by_one_empty_line(campaign):
    """Two entries follow each other with one empty line between."""
    text = entries(two(campaign), str, str)
    assert text.count("### Correction") == 2
    assert "09:30Z\n\n<a id=" in text
    assert "\n\n\n" not in text


def test_corrected_places_are_found_across_line_ends(campaign):
    """Places come in the order of the body, wrapped words among them."""
    found = [correct(campaign), correct(campaign, said="a verify step.")]
    places = corrected_places(BODY, found)
    assert [(BODY[place.start : place.end], place.number) for place in places] == [
        ("a verify\nstep.", 2),
        ("Drafting was low.", 1),
    ]


def test_words_that_are_gone_have_no_place(campaign):
    """Words that the text does not have are not marked in it."""
    assert corrected_places("something else", [correct(campaign)]) == []


def test_long_date_has_no_leading_zero():
    """A day is written as a reader says it."""
    assert long_date(datetime.date(2026, 11, 7)) == "7 November 2026"


def test_minute_is_in_utc():
    """A moment in another zone is printed in UTC."""
    east = datetime.timezone(datetime.timedelta(hours=2))
    assert utc_minute(datetime.datetime(2026, 11, 6, 8, 11, 59, tzinfo=east)) == "2026-11-06 06:11Z"


def test_minute_without_a_zone_is_refused():
    """A moment without a zone is not taken for UTC."""
    with pytest.raises(UsageError, match="has no zone"):
        utc_minute(datetime.datetime(2026, 11, 6, 6, 11))
