"""The Markdown and its rendered page, read apart, give the same numbers."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.campaigns import PARTS, TriedCampaign, built_campaign

from campaign.notes.check import read_kept
from campaign.notes.findings import Finding
from campaign.notes.page import render_page
from campaign.notes.paths import Campaign, Part
from campaign.notes.readers import check_readers, compare_readers
from campaign.notes.sources import load


def compared(markdown: str, rendered: str | None = None) -> list[Finding]:
    """The differences of a text and its page, or the page of another text."""
    page = render_page(markdown if rendered is None else rendered, title="Part 5", date="2026-11-05")
    return list(compare_readers(markdown, page, ("W01",), "parts/part-5/post.md"))


@pytest.mark.parametrize("number", [4, 5, 6, 7, 8])
def test_committed_parts_read_alike(number):
    """No part has a number that its page does not show, nor the other way round."""
    part = Campaign(PARTS.parent).part(str(number))
    post, _, _ = read_kept(part)
    assert list(check_readers(part, post, load(part))) == []


@pytest.mark.parametrize(
    ("shown", "said", "expected"),
    [
        ("It saves 0.31 ms in four rows.", "0.314 ms", "0.31 ms"),
        ("It saves 0.314 s in four rows.", "0.314 ms", "0.314 s"),
        ("It saves 0.314 ms in five rows.", "four rows", "five rows"),
        ("It saves 0.314 ms in rows.", "four rows", "no number"),
        ("It saves 0.314 ms of 9 in four rows.", "no number", "9"),
    ],
)
def test_difference_is_told_with_what_each_sees(shown, said, expected):
    """A finding stands at the number in the Markdown and names what either reader sees."""
    (found,) = compared("# T\n\nIt saves 0.314 ms in four rows.", shown)
    assert (found.code, found.line, found.said, found.expected) == ("readers", 3, said, expected)
    assert found.column == (22 if said == "four rows" else 10)


def test_footnotes_are_compared_wherever_they_stand():
    """A page shows footnotes at its end, in the order of their references."""
    assert not compared("A[^b] and[^a].\n\n[^a]: foot 3 ms\n\n[^b]: foot 4 ms\n\nAnd 5 ms.")


SNIPPETS = r"""saves 0.314 ms ; **0.**314 ms ; *12*% ; 1&#44;024 rows ; &minus;3.2% ; &#8722;5 ms ; 5&ndash;27% ;
`k = 8` ; `` 7 ` 9 `` ; ~~12~~ 13 rows ; four rows ; twenty-*one* tasks ; <http://x.org/5> ; http://x.org/12/3 ;
[see 6](http://x.org/7 "t 8") ; [ref][r] ; [no such 9] ; ![alt 12 ms](fig-3.png) ; ![p **99** `k=8`][r] ;
10<sup>6</sup> ; 2<sub>3</sub> ms ; the 1<sup>st</sup> row ; <sub>2 ms</sub> ;
x<br>5 ; y <!-- 7 --> 8 ; \*9\* ; 3\. x ; ½ of ; &frac12; ; 3e-5 ;
12&thinsp;345 ms ; 5\⏎6 ms ; <b>3</b> ms ; <span title='4'>5</span> ; <kbd>6</kbd> ; a_1_b ; _4_ ms ; W01 ;
8xH100 ; 2026-11-05 ; v1.2.3 ; 3 &lt; 4 ; &amp;#52; ; &nosuch; 4 ; 7¦% ; $4.50 ; ^[inline 6] ; [`9`](y) ;
<script>6</script> ; **5 ms ; <x> 5 ; </b>5 ms ; <img alt='9 ms'> ; 1\ ; 2 ; <td>5</td> ; <p>6</p>
"""
"""Apart by semicolons; ⏎ is a line end, ¦ a narrow space that does not break."""
TEXTS = [text.strip().replace("⏎", "\n").replace("¦", "\u202f") for text in re.split(r" ;\s", SNIPPETS)]
HTML = [
    "<div>5 ms</div>",
    "<table><tr><td>0.42<td>5</table>",
    "<details><summary>3 rows</summary>",
    "<pre>6</pre>",
    "<script>7</script>",
    "<!-- 5\n6 -->",
    "<!-- 5 --> 6 ms",
    '<img src=x alt="5 ms">',
    "<h2>5 rows</h2>",
    "<ul><li>5<li>6</ul>",
    "<div>\n\n5 ms\n\n</div>",
]
LINE = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4).map(", ".join)
CELL = LINE.map(lambda said: said.replace("\n", " "))
BLOCKS = st.recursive(
    st.one_of(
        LINE,
        CELL.map(lambda said: f"## {said}"),
        st.tuples(CELL, CELL, CELL, CELL).map(lambda c: f"| {c[0]} | {c[1]} |\n|---|--:|\n| {c[2]} | {c[3]} |"),
        LINE.map(lambda said: f"```\n{said}\n```"),
        CELL.map(lambda said: f"    {said}"),
        st.sampled_from(HTML),
    ),
    lambda inner: st.one_of(
        inner.map(lambda said: "\n".join(f"> {line}" for line in said.split("\n"))),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda items: "\n".join("- " + item.replace("\n", "\n  ") for item in items)
        ),
        inner.map(lambda said: "1. " + said.replace("\n", "\n   ")),
    ),
    max_leaves=4,
)


@settings(deadline=None, max_examples=80)
@given(st.lists(BLOCKS, min_size=1, max_size=4).map("\n\n".join))
def test_both_readers_see_the_same_in_any_text(markdown):
    """Tables, emphasis, entities, links, images, raw HTML, lists and code read alike in both."""
    markdown += "\n\nEnd[^1] x[^n].\n\n[^1]: foot 3 ms\n\n[^n]: note 4 rows\n\n[r]: http://z.org/1"
    assert compared(markdown) == []


# The page on disk


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TriedCampaign:
    return built_campaign(tmp_path, monkeypatch)


def on_disk(campaign: TriedCampaign) -> tuple[Part, list[Finding]]:
    part = Campaign.above(Path()).part("1")
    post, _, _ = read_kept(part)
    return part, list(check_readers(part, post, load(part)))


def test_built_page_is_as_it_should_be(campaign):
    """A page that was just built gives no finding, and one that is not there gives none."""
    part, found = on_disk(campaign)
    assert part.page.is_file() and found == []
    part.page.unlink()
    assert on_disk(campaign)[1] == []


@pytest.mark.parametrize(
    ("old", "new", "level", "said"),
    [
        ("0.300", "0.400", "error", "0.400"),
        ("nothing here", "nothing at all here", "warning", "at all here is"),
        ("<style>", "<style>/* mine */", "note", "other links, marks or styles"),
    ],
)
def test_edited_page_is_found(campaign, old, new, level, said):
    """Another number is an error, another word a warning, other markup a note; each names the command that mends it."""
    part, _ = on_disk(campaign)
    page = part.page.read_text(encoding="utf-8")
    assert old in page
    part.page.write_text(page.replace(old, new), encoding="utf-8")
    found = on_disk(campaign)[1]
    assert {(one.code, one.level) for one in found} == {("stale", level)}
    assert said in found[0].said and found[0].mend == "notes build part-1"
    if level != "note":
        line = page.replace(old, new).split("\n")[found[0].line - 1]
        assert re.search(re.escape(new.split()[-1]), line)
