import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.notes.errors import TemplateError
from campaign.notes.page import CorrectedPlace, render_page
from campaign.notes.plots import LinePlot, Series, line_plot

ENTRY = '\n<a id="correction-1"></a>\n\n### Correction 1, 7 November 2026\n\nIt said 1.\n'
LABEL = "corrected 7 November 2026"
LINK = f'<a class="correction-badge" href="#correction-1">{LABEL}</a>'
BADGE = f'<span id="place-correction-1" data-furniture> {LINK}</span>'
VOID = {"br", "hr", "img", "input", "link", "meta"}


class Page(HTMLParser):
    """What a browser would make of a page: ids, links, and every tag that is closed by another."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        said = dict(attrs)
        self.ids += [said["id"]] if "id" in said else []
        self.links += [said["href"]] if tag == "a" else []
        if tag == "a" and "a" in self.open:
            self.wrong.append("a link in a link")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def page(markdown: str, **more: object) -> str:
    return render_page(markdown, **{"title": "Part 5", "date": "2026-11-05"} | more)


def body(html: str) -> str:
    return html.split('<main id="post" tabindex="-1">\n')[1].split("\n</main>")[0]


def marked(markdown: str, said: str) -> str:
    """The body of a page in which the first `said` of `markdown` is corrected."""
    start = markdown.index(said)
    place = CorrectedPlace(start, start + len(said), "correction-1", LABEL)
    return body(page(markdown + ENTRY, corrected=[place]))


def without_marks(html: str) -> str:
    html = re.sub(r'<p class="corrected-place" data-furniture>.*?</p>\n', "", html)
    html = re.sub(r' <a class="to-place"[^>]*>to the place</a>', "", html)
    return re.sub(r'</?mark[^>]*>|<span id="place-[^>]*> <a class="correction-badge"[^>]*>[^<]*</a></span>', "", html)


RICH = """\
> **Part 5.** Published.

<!-- campaign:body begin -->
# A *title*

The **saving** is `0.314` ms, see [the plan](plan.toml "sealed") and <https://example.org/a_b>.[^1]
Not ~~0.5~~ \\* &amp; x.

- one _two_ three
- four

| a | b |
|---|---|
| `x` | −0.012 |
| **y** | 1,204 |

```text
<!-- shown --> 0.3
```

## Next

Half a line of https://example.org/x,
and another.\\
Break. ![alt](x.png) <b>raw</b>

[^1]: A *note*.

[ref]: https://example.org

<!-- campaign:body end -->
"""


# The page as a whole


def test_same_arguments_give_the_same_bytes():
    """A page does not depend on when, where or in which process it is made."""
    code = (
        "import sys; from campaign.notes.page import *\n"
        "sys.stdout.buffer.write(render_page(sys.argv[1], title='Part 5', date='2026-11-05').encode())"
    )
    there = subprocess.run([sys.executable, "-P", "-c", code, RICH], capture_output=True, check=True)
    assert there.stdout.decode() == page(RICH)


def test_page_is_well_formed():
    """Every element of a page is closed where it should be, and no id is there twice."""
    start = RICH.index("0.314")
    place = CorrectedPlace(start, start + 5, "correction-1", LABEL)
    seen = Page(page(RICH + ENTRY, corrected=[place], links=[("Part 4", "../part-4/")], footer=["Data: measured."]))
    assert seen.wrong == [] and seen.open == []
    assert len(seen.ids) == len(set(seen.ids))


def test_page_fetches_and_runs_nothing():
    """No script, no style sheet, font or image from elsewhere."""
    html = page("# Title\n\nText.")
    assert not re.search(r"<script|<link|@import|@font-face|url\(|https?:", html)


def test_page_names_its_language_and_fits_a_phone():
    """Readers' software learns the language, and a phone shows the page at its own width."""
    html = page("# Title")
    assert '<html lang="en">' in html
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html


def test_first_link_skips_to_the_text():
    """Someone with a keyboard gets past the other parts in one step."""
    seen = Page(page("# Title", links=[("Part 4", "../part-4/")]))
    assert seen.links[0] == "#post" and "post" in seen.ids


def test_title_links_and_footer_are_text():
    """Markup in what the caller passes is shown, not obeyed."""
    html = page("# T", title="<i>", links=[("A & <b>", '"x')], footer=["<script>"], date="<u>")
    for written in (
        "<title>&lt;i&gt;</title>",
        "A &amp; &lt;b&gt;",
        'href="&#34;x"',
        "&lt;script&gt;",
        "&lt;u&gt;",
    ):
        assert written in html


def test_date_is_written_out():
    """A machine's date is shown as a reader would write it."""
    assert '<time datetime="2026-11-05">5 November 2026</time>' in page("# T")


def test_post_without_a_heading_gets_its_title_as_one():
    """A page has one h1, from the post or else from the title."""
    assert page("Text.").count("<h1") == page("# Own\n\nText.").count("<h1") == 1


def test_markers_and_comments_do_not_show():
    """Comments vanish, over several lines and inside a sentence too."""
    html = body(page("<!-- campaign:body begin -->\n# T\n\nOne<!-- x --> two.\n\n<!-- a\nb -->\nThree."))
    assert "<!--" not in html and "campaign" not in html and "&lt;" not in html
    assert "<p>One two.</p>" in html and "<p>Three.</p>" in html


def test_comment_in_a_code_block_is_code():
    """What a code block shows stays in it."""
    assert "&lt;!-- x --&gt;" in body(page("```html\n<!-- x -->\n```"))


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("10<sup>6</sup> x<sub>2</sub>", "<p>10<sup>6</sup> x<sub>2</sub></p>"),
        ("a<br>b<hr>c", "<p>a<br>b<br>c</p>"),
        ("<b onclick=x>5</b> ms", "<p><b>5</b> ms</p>"),
        ("<font color=red>5</font> <td>6</td>", "<p>5 6</p>"),
        ("x<sup>2 **<i>bold** text", "<p>x<sup>2 <strong><i>bold</i></strong> text</sup></p>"),
        ("</sup>5", "<p>5</p>"),
        ("<div class=x>5 ms</div>", "<div>5 ms</div>"),
        ("<table><tr><td>1<td>2</table>", "<table><tr><td>1<td>2</td></td></tr></table>"),
        ("<td>1</td>", "<div>1</div>"),
        ("<!-- 5 --> 6", "6"),
        ("<div>\n1 < 2 &lt; 3\n</div>", "<div>\n1 &lt; 2 &lt; 3\n</div>"),
        ('<img onerror=x src="javascript:x" alt="5 &quot;ms&quot;">', '<img alt="5 &quot;ms&quot;">'),
        ('<img src="a.png">', '<img src="a.png" alt="">'),
    ],
)
def test_raw_html_is_made_safe(markdown, shown):
    """Texts stay, plain elements are kept without attributes and are always closed, other tags go."""
    assert body(page(f"# T\n\n{markdown}")).removeprefix('<h1 id="t">T</h1>\n') == shown


@pytest.mark.parametrize(
    "raw",
    [
        "<script>alert(5)</script>",
        "<style>b{5}</style>",
        "<svg><script>5</script></svg>",
        "<x <script>5</script>",
        "<a href='javascript:5'>x</a>",
        "<iframe src=5></iframe>",
        "<b/onmouseover=5>x</b>",
        "<math><style><img src onerror=5></style></math>",
        "<p <!-- --> onclick=5>x</p>",
    ],
)
def test_no_script_and_no_attribute_comes_through(raw):
    """Whatever raw HTML says, the page runs nothing of it."""
    for markdown in (raw, f"x {raw}"):
        html = body(page(f"# T\n\n{markdown}"))
        assert not re.search(r"<(script|style|iframe|svg|a)\b|<\w+[^>]*\s(on\w+|style|href)\s*=", html)


# Any text


@given(
    st.lists(
        st.sampled_from(
            "<b> </b> <sup> </sup> <div> </div> <table> <td> </table> <script> ** * `x` 5 ms <!-- --> <x".split()
        )
        | st.sampled_from(["\n\n", "\n", "- ", "> ", "| a |\n|---|\n"]),
        max_size=14,
    ).map(" ".join)
)
@settings(deadline=None, max_examples=60)
def test_raw_html_leaves_the_page_whole(markdown):
    """Every element that raw HTML opens is closed inside the block in which it stands."""
    assert Page(page(markdown)).wrong == []


def test_inline_footnotes_are_text():
    """`^[…]` is no footnote on a code host, and none here."""
    assert "<p>A^[note 5].</p>" in page("A^[note 5].")


def test_alternative_text_keeps_code():
    """Code in an image's description is part of what is said."""
    assert 'alt="p 9 ms"' in page("![p `9` *ms*](x.png)")


# Headings, contents, links


def test_headings_have_the_ids_that_github_gives_them():
    """A link inside the Markdown works on the page as it does there."""
    seen = Page(page("## What `q` saves, in ms\n\n## Same\n\n## Same\n"))
    assert {"what-q-saves-in-ms", "same", "same-1"} <= set(seen.ids)


def test_entry_of_a_correction_has_a_short_id():
    """Its id is `correction-1` whatever follows in the heading, and the long form of a link arrives too."""
    html = page("[see](#correction-1-7-november-2026)\n\n### Correction 1, 7 November 2026\n")
    assert '<h3 id="correction-1">' in html and 'href="#correction-1"' in html


def test_anchor_above_a_heading_is_the_headings_id():
    """The line `<a id=…></a>` that GitHub needs does not show and makes no second id."""
    html = body(page('<a id="data"></a>\n\n## Where the data are\n'))
    assert html.endswith('</h1>\n<h2 id="data">Where the data are</h2>')


def test_anchor_elsewhere_stays_a_target():
    """An anchor above a paragraph can still be linked to."""
    assert "here" in Page(page('<a id="here"></a>\n\nText.\n')).ids


@pytest.mark.parametrize(("count", "shown"), [(4, False), (5, True)])
def test_contents_stand_in_long_posts_only(count, shown):
    """More than four sections get a table of contents."""
    html = page("".join(f"## S{n}\n\nText.\n\n" for n in range(count)))
    assert ('<nav class="contents"' in html) is shown


def test_contents_link_every_section():
    """Each h2 is in the contents, and each link of the contents arrives."""
    seen = Page(page("".join(f"## S {n}\n\nText.\n\n" for n in range(5))))
    assert [link for link in seen.links if link != "#post"] == [f"#s-{n}" for n in range(5)]
    assert {f"s-{n}" for n in range(5)} <= set(seen.ids)


def test_link_to_another_part_goes_to_its_page():
    """Markdown links another part's post.md; the page links that part's page, at the same place."""
    links = Page(page("[a](../part-4/post.md#correction-1) [b](post.md)")).links
    assert links[1:] == ["../part-4/index.html#correction-1", "post.md"]


def test_bare_address_is_a_link():
    """An address in a credit can be followed, as it can on GitHub."""
    assert "https://example.org/a_b" in Page(page("- Work; MIT; https://example.org/a_b.")).links


def test_quote_that_begins_in_bold_is_a_notice():
    """A banner looks like a notice and a quotation does not."""
    html = body(page("# T\n\nText.\n\n> **Draft.** May change.\n\n> Quoted words.\n"))
    assert html.count('<blockquote class="notice" role="note">') == 1
    assert "<blockquote>\n<p>Quoted words." in html


def test_footnotes_lead_there_and_back():
    """A note links to its reference, which links to the note."""
    seen = Page(page("Text.[^a]\n\n[^a]: Note.\n"))
    assert {"#fn1", "#fnref1"} <= set(seen.links) and {"fn1", "fnref1"} <= set(seen.ids)


# Tables


def columns(cells: list[str], head: str = "---") -> str:
    rows = "".join(f"| {cell} |\n" for cell in cells)
    return body(page(f"## S\n\n| h |\n|{head}|\n{rows}"))


@pytest.mark.parametrize(
    "cells",
    [
        ["0.314", "−0.064"],
        ["15,648", "–"],
        ["0.182 to 0.441", "−0.191 to 0.063"],
        ["[0.18, 0.44]", "0.31 ± 0.02"],
        ["12.5 %", "8.2×"],
        ["11.8 µs", "4.272 TB/s"],
        ["`512`", "**6**"],
        ["0.314 (0.182 to 0.441)", "1e-5"],
        ["15,648 of 15,648", "~"],
    ],
)
def test_column_of_numbers_is_aligned_right(cells):
    """Numbers with signs, units and intervals stand under each other, their heading too."""
    html = columns(cells)
    assert '<th scope="col" class="num">' in html and html.count('<td class="num">') == len(cells)


@pytest.mark.parametrize("cells", [["held", "0.3"], ["2026-11-05", "2026-11-06"], ["–", "–"], ["W01", "W02"], ["k8"]])
def test_other_columns_are_not(cells):
    """Words, dates and names stay on the left."""
    assert 'class="num"' not in columns(cells)


def test_alignment_that_the_markdown_asks_for_stays():
    """A column that is centred in the Markdown is centred on the page."""
    assert '<td class="center num">' in columns(["0.3"], ":-:")


def test_table_scrolls_inside_a_region_with_a_name():
    """A table that is too wide scrolls by keyboard, and its region says where it belongs."""
    assert '<div class="scroll" role="region" aria-label="Table: S" tabindex="0">' in columns(["a"])


# Images


@pytest.fixture
def plots(tmp_path):
    for name in ("one", "two"):
        drawn = LinePlot("T", "x", "y", (Series(name, (1.0, 2.0), (1.0, 2.0), (0.5, 1.5), (1.5, 2.5)),), alt="Own.")
        (tmp_path / f"{name}.svg").write_text(line_plot(drawn), encoding="utf-8")
    return tmp_path


def test_plot_becomes_part_of_the_page(plots):
    """An SVG under the base stands in the page itself, with the image's alternative text."""
    html = body(page('![It "grows".](one.svg "In five runs.")', asset_base=plots))
    assert '<svg role="img" aria-label="It &quot;grows&quot;."' in html and "<img" not in html
    assert '<figure class="plot">' in html and "<p>" not in html and "<figcaption>In five runs.</figcaption>" in html


def test_plot_without_alternative_text_keeps_its_own(plots):
    """The SVG's title speaks where the Markdown does not."""
    assert 'aria-label="Own."' in page("![](one.svg)", asset_base=plots)


def test_plots_on_one_page_do_not_share_ids(plots):
    """Each plot refers to its own parts."""
    html = page("![a](one.svg)\n\n![b](two.svg)", asset_base=plots)
    seen = Page(html)
    assert len(seen.ids) == len(set(seen.ids))
    assert set(re.findall(r'<use href="#([^"]+)"|url\(#([^)]+)\)', html)[0]) - {""} <= set(seen.ids)


def test_plot_keeps_the_digest_of_its_points(plots):
    """A page can be held against the data like the SVG itself."""
    assert "campaign-points sha256:" in page("![a](one.svg)", asset_base=plots)


def test_svg_with_styles_or_scripts_is_shut_in(plots):
    """An SVG that could reach the rest of the page is still in the file, as an image."""
    (plots / "wild.svg").write_text("<svg><style>*{color:red}</style></svg>", encoding="utf-8")
    html = page("![a](wild.svg)", asset_base=plots)
    assert '<img src="data:image/svg+xml;base64,' in html and "color:red" not in html


@pytest.mark.parametrize("source", ["photo.png", "https://example.org/one.svg", "/one.svg", "../one.svg"])
def test_other_images_are_left(plots, source):
    """Only an SVG below the base is read."""
    inside = plots / "inside"
    inside.mkdir()
    assert f'<img src="{source}" alt="a"' in page(f"![a]({source})", asset_base=inside)


def test_missing_plot_is_refused(plots):
    """The message names the file and what to do."""
    with pytest.raises(TemplateError, match=r"three\.svg: there is no such file.*Build the plot"):
        page("![a](three.svg)", asset_base=plots)


# Corrected places


def test_corrected_words_are_marked():
    """Words inside a sentence are marked, and a badge beside them leads to the entry."""
    html = marked("The saving is 0.314 ms.", "0.314")
    assert f'The saving is <mark class="corrected">0.314</mark>{BADGE} ms.' in html


def test_entry_leads_back_to_the_place():
    """The entry's heading links to the place that it corrects."""
    html = marked("The saving is 0.314 ms.", "0.314")
    link = '<a class="to-place" data-furniture href="#place-correction-1">'
    assert f'<h3 id="correction-1">Correction 1, 7 November 2026 {link}' in html


def test_whole_markup_inside_a_place_is_marked():
    """A place may hold emphasis, as long as it holds all of it."""
    html = marked("A **saving of `0.3`** ms.", "A **saving of `0.3`** ms")
    assert f'<mark class="corrected">A <strong>saving of <code>0.3</code></strong> ms</mark>{BADGE}.' in html


@pytest.mark.parametrize(
    ("markdown", "said", "shown"),
    [
        ("A **saving of 0.3** ms.", "saving of 0.3** ms", f"<strong>saving of 0.3</strong> ms{BADGE}."),
        ("A saving.\n\nOf 0.3 ms.", "saving.\n\nOf 0.3", f"<p>Of 0.3{BADGE} ms.</p>"),
        ("- one 0.3\n- two", "0.3\n- two", f"<li>two{BADGE}</li>"),
        ("| a | b |\n|---|---|\n| x | y |\n", "x | y", f"<td>y{BADGE}</td>"),
        ("| a | b |\n|---|---|\n| x | y |\n", "x | y |", f"<td>y{BADGE}</td>"),
    ],
)
def test_place_across_markup_or_blocks_has_a_badge_at_its_end(markdown, said, shown):
    """Where no mark can stand, the badge does."""
    html = marked(markdown, said)
    assert shown in html and "<mark" not in html


def test_cell_of_a_table_is_marked_and_stays_a_number():
    """A mark in a cell does not change what the column is."""
    html = marked("| a |\n|---|\n| 0.314 |\n", "0.314")
    assert f'<td class="num"><mark class="corrected">0.314</mark>{BADGE}</td>' in html


def test_code_is_marked_and_its_badge_stands_after_it():
    """The badge is not set in code."""
    assert f'<code>k=<mark class="corrected">8</mark></code>{BADGE}.' in marked("Arm `k=8`.", "8")


def test_code_block_is_marked_and_its_badge_stands_below_it():
    """A link never becomes part of a listing."""
    html = marked("```\nk = 8\n```\n", "8")
    assert (
        'k = <mark class="corrected">8</mark>\n</code></pre>\n<p class="corrected-place" data-furniture>' + BADGE
        in html
    )


def test_link_text_is_marked_and_its_badge_stands_after_the_link():
    """A link never stands in a link."""
    assert f'<a href="p.md">of <mark class="corrected">5</mark></a>{BADGE}.' in marked("See [of 5](p.md).", "5")


def test_place_inside_a_links_address_has_a_badge_after_the_link():
    """An address is never changed by a mark."""
    html = marked("See [the plan](plan-5.toml) there.", "5")
    assert f'<a href="plan-5.toml">the plan</a>{BADGE} there.' in html


def test_place_that_shows_nowhere_has_a_badge_after_its_block():
    """A place inside a comment or a link's definition still gets its badge, in order."""
    html = marked("One.\n\n[x]: https://example.org/5\n\nTwo.", "/5")
    assert f'<p>One.</p>\n<p class="corrected-place" data-furniture>{BADGE}</p>\n<p>Two.</p>' in html


def test_heading_keeps_its_id_when_a_word_in_it_is_corrected():
    """A mark changes neither a heading's id nor the contents."""
    html = marked("## Saves 0.3 ms\n", "0.3")
    assert '<h2 id="saves-03-ms">Saves <mark class="corrected">0.3</mark>' in html


def test_two_entries_can_correct_the_same_words():
    """One mark, two badges."""
    text = "Saves 0.3 ms.\n"
    places = [CorrectedPlace(6, 9, f"correction-{n}", f"corrected {n}") for n in (1, 2)]
    html = body(page(text + "\n### Correction 1, a\n\n### Correction 2, b\n", corrected=places))
    assert html.count("<mark") == 1
    assert [m for m in re.findall(r">(corrected \d)<", html)] == ["corrected 1", "corrected 2"]


@given(st.data())
@settings(max_examples=60, deadline=None, database=None)
def test_marks_never_change_the_rest_of_a_page(data):
    """Wherever places lie, the page without its marks and badges is the page without corrections."""
    text = RICH + ENTRY
    offsets = st.integers(0, len(RICH))
    places = [
        CorrectedPlace(*sorted(data.draw(st.tuples(offsets, offsets))), "correction-1", LABEL)
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    html = page(text, corrected=places)
    seen = Page(html)
    assert without_marks(html) == page(text)
    assert html.count('class="correction-badge"') == len(places)
    assert seen.wrong == [] and len(seen.ids) == len(set(seen.ids))


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2), (0, 999)])
def test_place_outside_the_markdown_is_refused(start, end):
    """Offsets are those of the text that was passed."""
    with pytest.raises(ValueError, match="not inside the Markdown"):
        page("Text." + ENTRY, corrected=[CorrectedPlace(start, end, "correction-1", LABEL)])


def test_place_without_an_entry_is_refused():
    """A badge never leads nowhere."""
    with pytest.raises(ValueError, match="nothing has the id correction-9"):
        page("Text.", corrected=[CorrectedPlace(0, 4, "correction-9", LABEL)])


# Colours


def schemes() -> dict[str, dict[str, str]]:
    css = (files("campaign") / "templates" / "page.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL)[:2]
    )
    return {"light": light, "dark": light | dark}


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "ground"),
    [
        ("ink", "ground"), ("muted", "ground"), ("link", "ground"), ("ink", "notice"), ("link", "notice"),
        ("muted", "notice"), ("ink", "code"), ("mark-ink", "mark"), ("badge-ink", "badge"),
    ],
)  # fmt: skip
def test_text_has_enough_contrast(scheme, ink, ground):
    """Every text colour reaches 4.5 to 1 on its ground, in both schemes."""
    colours = schemes()[scheme]
    lighter, darker = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5
