"""What a reader sees of a rendered page, and where it stands in the HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.notes.html_reader import read_html
from campaign.notes.numbers import find_in
from campaign.notes.reader import Block, Cell


def texts(html: str, *, article: bool = False) -> list[str]:
    return [block.text for block in read_html(html, article=article)]


def numbers(html: str) -> list[str]:
    return [token.text for token in find_in(read_html(html), html) if token.role in ("number", "word")]


def only(html: str) -> Block:
    (block,) = read_html(html)
    return block


def test_every_character_stands_in_the_source():
    """A character that stands for itself is found at its place, an entity from its first to its last character."""
    html = "<p>a  b &minus;1&#50;\n&ampc</p>"
    block = only(html)
    assert block.text == "a b −12 &c"
    pieces = [html[start:end] for start, end in zip(block.source, block.ends, strict=True)]
    assert pieces == ["a", "  ", "b", " ", "&minus;", "1", "&#50;", "\n", "&amp", "c"]


@pytest.mark.parametrize(
    "unread",
    [
        "<script>5</script>",
        "<style>p{5}</style>",
        "<template><p>5</p></template>",
        "<!-- 5 -->",
        "<!-- 5",
        "<!5>",
        "<?php 5 ?>",
        "<title>5</title>",
        "<noscript>5</noscript>",
        "<textarea>5</textarea>",
        "<pre>5</pre>",
        "<p hidden>5</p>",
        '<span aria-hidden="true">5</span>',
        '<p style="color:red; display: none">5</p>',
        "<svg><text>5</text></svg>",
        "<select><option>5</select>",
        "<dialog>5</dialog>",
        '<a title="5" href="5">link</a>',
        "<ol start=5><li>item</ol>",
        "<math><semantics><mi>x</mi><annotation>5</annotation></semantics></math>",
        "<x 5",
        "</5>",
    ],
)
def test_unread(unread):
    """What a browser does not show as text is in no block, and what stands behind it is."""
    assert not any("5" in text for text in texts(unread))
    if not unread.endswith((" 5", "</5>")):
        assert texts(f"{unread}<p>7</p>")[-1] == "7"


def test_comment_may_be_empty():
    """A comment that ends where it begins hides nothing, as in a browser."""
    assert texts("<!-->5") == texts("<!--->5") == ["5"]


def test_split_emphasis_is_joined():
    """Marks inside a number leave it whole."""
    assert numbers("<p>saves <b>0.</b><i>31<u>4</u></i> ms</p>") == ["0.314 ms"]


def test_tag_that_breaks_parts_two_numbers():
    """Digits of two blocks are never one number."""
    assert numbers("<p>1<p>2<div>3</div>4<table><tr><td>5<td>6<tr><td>7</table>") == list("1234567")


def test_line_break_is_a_space():
    """A break stands between two words."""
    assert texts("<p>one<br>two<br/> three</p>") == ["one two three"]


def test_raised_and_lowered_text_is_marked():
    """`<sup>` reads as ^, `<sub>` as _, as in the Markdown."""
    assert texts("10<sup>6</sup> x<sub>2</sub>") == ["10^6 x_2"]
    assert numbers("2.4 × 10<sup>6</sup> rows") == ["2.4 × 10^6"]
    assert texts("the 21<sup>st</sup> row <sub>small print</sub>") == ["the 21st row small print"]


def test_cells_know_their_place():
    """Row and column are counted over heads, bodies, and cells that cover several places."""
    html = (
        "<table><thead><tr><th colspan=2>a<th>b</thead><tbody><tr><td rowspan=2>c<td>d<td>e<tr><td>f<td>g</table>"
        "<table><tr><td>h</table>"
    )
    found = {block.text: block.cell for block in read_html(html)}
    places = {"a": (0, 0, 0), "b": (0, 0, 2), "c": (0, 1, 0), "d": (0, 1, 1), "e": (0, 1, 2), "f": (0, 2, 1)}
    places |= {"g": (0, 2, 2), "h": (1, 0, 0)}
    assert found == {text: Cell(*place) for text, place in places.items()}


def test_kinds_of_blocks():
    """Headings, items, quotes, cells, footnotes, alternative texts and paragraphs are told apart."""
    html = (
        "<h2>a</h2><p>b</p><ul><li>c<li><p>d</ul><blockquote><p>e</blockquote><table><tr><td><p>f</table>"
        '<img alt="g"><section class="footnotes"><ol><li>h</ol></section>'
    )
    assert [(block.kind, block.text) for block in read_html(html)] == [
        ("heading", "a"),
        ("paragraph", "b"),
        ("item", "c"),
        ("item", "d"),
        ("quote", "e"),
        ("cell", "f"),
        ("paragraph", "\ufffc"),
        ("alt", "g"),
        ("footnote", "h"),
    ]


def test_picture_reads_as_its_label():
    """Of an inlined picture its label is read, not the text in it."""
    assert texts('<p>x <svg role="img" aria-label="5 ms"><text>6</text><path/></svg> y') == ["x \ufffc y", "5 ms"]


def test_code_is_read_and_marked():
    """Inline code has its span; a number word in it is none."""
    block = only("<p>the <code>k = 8</code> arm</p>")
    assert [(span.kind, block.text[span.start : span.end]) for span in block.spans] == [("code", "k = 8")]
    assert numbers("<p><code>two 8</code></p>") == ["8"]


@pytest.mark.parametrize(
    ("html", "kind"),
    [
        ('<a href="https://x.org/5">https://x.org/5</a>', "url"),
        ('<a href="http://x.org/5/">x.org/5</a>', "url"),
        ('<a href="https://x.org/5">5 rows</a>', "link"),
        ('<a href="5">5</a>', "link"),
        ('<sup><a href="#fn5">[5]</a></sup>', "footnote"),
        ('<sup><a href="#cite-5"><span>[</span>5<span>]</span></a></sup>', "footnote"),
        ('x<sup><a href="#fn5">5</a></sup>', "footnote"),
    ],
)
def test_links(html, kind):
    """An address that is its own text and a reference to a footnote hold no number; another link's text may."""
    (span,) = only(html).spans
    assert span.kind == kind
    assert bool(numbers(html)) is (kind == "link")


def test_reference_does_not_raise_the_number_before_it():
    """A number with a footnote is no power."""
    assert numbers('<p>0.5<sup><a href="#fn1">[1]</a></sup> ms and 3<sup><a href="#fn2">[2]</a></sup>') == ["0.5", "3"]


def test_end_tag_ends_only_what_is_open():
    """An end tag out of place changes nothing; one that closes an outer element closes the inner ones."""
    assert texts("<div hidden>1<b>2</div>3</i></div>4") == ["34"]
    assert texts("<table><tr><td hidden>1</div><td>2</table>") == ["2"]


def test_elements_whose_end_may_be_left_out():
    """What hides one item, cell or paragraph does not hide the next."""
    assert texts("<ul><li hidden>1<li>2</ul>") == ["2"]
    assert texts("<table><tr hidden><td>1<tr><td hidden>2<td>3</table>") == ["3"]
    assert texts("<p hidden>1<p>2") == ["2"]
    assert texts("<dl><dt hidden>1<dd>2</dl>") == ["2"]


def test_article_is_what_main_holds_without_furniture():
    """Of a page of ours only the text is read."""
    html = "<nav>1</nav><main><h1 data-furniture>2</h1><p>3<span data-furniture> 4</span> ms</main><footer>5</footer>"
    assert texts(html, article=True) == ["3 ms"]
    assert texts(html) == ["1", "2", "3 4 ms", "5"]


def test_endless_number_of_an_entity_is_no_crash():
    """Python refuses to read such an integer; a browser shows a replacement character."""
    assert texts("&#" + "1" * 5000 + ";") == ["\ufffd"]


PIECES = st.sampled_from(
    """<table> </table> <tr> <td> <td/rowspan=9> </td> <p> </p> <p/hidden> <b> </b> <a/href="#1"> </a> <sup> </sup> <li>
    <ul> </ul> <svg> </svg> <path/> <object> </object> <script> </script> <!-- --> <pre> </pre> <code> </code> <br> <hr>
    &minus; &#50; &#; & < > <img/alt="5"> <main> </main> <caption> <section/class="footnotes"> </section> 5 ms <dl> <dd>
    <select> <option> <template> </template> <math> </math> "=' <x""".split()
)


@given(st.lists(PIECES | st.text(max_size=4), max_size=40).map("".join), st.booleans())
def test_any_text_is_read(html, article):
    """No text is refused, and every character that is read has a place, in order within its block."""
    for block in read_html(html, article=article):
        assert block.text and len(block.text) == len(block.source) == len(block.ends)
        assert all(0 <= start < end <= len(html) for start, end in zip(block.source, block.ends, strict=True))
        assert list(block.source) == sorted(block.source)
        assert all(0 <= span.start < span.end <= len(block.text) for span in block.spans)
