"""What a reader sees of a Markdown text, and where it stands."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

from campaign.notes.reader import Block, Cell, read

POST = """# Part 5: *what* it saved #

A **saving** of 0.**31**4 &minus; `a  b`, see [the *table*](http://x.org/12 "title 13")
and <http://y.org/5%20z>.[^n]
> quoted 1
lazy 2\\*  \nhard 3

| arm | a\\|b |
|:--|--:|
|**2.8**| `x\\|y` |
| one |

1. item 4
   goes ~~on~~ 5<br>here <!-- not 6 -->

   ![p99 *lat* 12](fig-3.png) [ref][r] [r]

[r]: http://z.org/14 "fifteen"

    indented 16

```
fenced 17
```

<table><tr><td>0.42</td><td>x<sup>2</sup> &lt; 3</td></tr></table>

[^n]: foot 18
    and on

Setext 19
---------
"""


def texts(markdown: str) -> list[str]:
    return [block.text for block in read(markdown)]


def untrue_places(block: Block, markdown: str) -> list[str]:
    """Characters whose place in the source holds neither themselves nor a way to write them."""
    wrong = []
    for character, start, end in zip(block.text, block.source, block.ends, strict=True):
        raw = markdown[start:end]
        as_break = character == " " and (raw in ("\n", "\r", "\r\n", "\t", " ", "\\") or raw.startswith("<"))
        as_entity = raw[:1] == "&" and raw[-1:] == ";"
        as_tag = character in "^_\ufffc" and raw[:1] in ("<", "!")
        as_itself = raw in (character, "\\" + character, "\\\\" + character, "\0")
        if not (as_itself or as_break or as_entity or as_tag):
            wrong.append(f"{character!r} at {start}: {raw!r}")
    return wrong


def test_every_kind_of_block_is_read():
    kinds = {block.kind for block in read(POST)}
    assert kinds == {"heading", "paragraph", "quote", "cell", "item", "alt", "html", "footnote"}


def test_marks_are_gone_and_entities_are_resolved():
    assert texts(POST)[:3] == [
        "Part 5: what it saved",
        "A saving of 0.314 − a  b, see the table and http://y.org/5%20z.[^n]",
        "quoted 1 lazy 2* hard 3",
    ]


@pytest.mark.parametrize("unread", ["16", "17", "not 6", "title 13", "x.org", "z.org", "fifteen", "fig-3", "<sup>"])
def test_code_blocks_comments_and_targets_are_not_read(unread):
    assert unread not in "\n".join(texts(POST))


def test_cells_know_their_place():
    cells = {block.cell: block.text for block in read(POST) if block.kind == "cell"}
    assert cells == {
        Cell(0, 0, 0): "arm",
        Cell(0, 0, 1): "a|b",
        Cell(0, 1, 0): "2.8",
        Cell(0, 1, 1): "x|y",
        Cell(0, 2, 0): "one",
    }


def test_second_table_has_the_next_index():
    table = "| a |\n|--|\n| 1 |\n"
    assert [block.cell.table for block in read(f"{table}\n\n{table}") if block.cell] == [0, 0, 1, 1]


def test_alternative_text_is_a_block_of_its_own():
    assert [block.text for block in read(POST) if block.kind == "alt"] == ["p99 lat 12"]


def test_alternative_text_of_an_html_image_is_read():
    assert texts('a <img src="9.png" alt="p99 12&nbsp;ms"> b') == ["a \ufffc b", "p99 12\u00a0ms"]


def test_html_cells_are_apart():
    assert [block.text for block in read(POST) if block.kind == "html"] == ["0.42", "x^2 < 3"]


def test_html_comments_scripts_and_preformatted_text_are_not_read():
    scripts = "<script>3</script><style>4</style><pre>5</pre>"
    markdown = f"<div>1<!-- 2 -->{scripts}6 <b>7</b></div>\n\n<!-- 8\n\n8 -->\n\n9"
    assert texts(markdown) == ["1", "6 7", "9"]


def test_inline_html_tags_are_not_read():
    assert texts('0.<a id="x1"></a>42 and 1<br/>2') == ["0.42 and 1 2"]


def test_invisible_characters_are_not_read():
    assert texts("1\u200b234&shy;5") == ["12345"]


def test_undefined_footnote_stays_text():
    assert texts("see [^9]") == ["see [^9]"]


def test_spans_say_what_is_code_a_link_an_address_or_a_footnote():
    block = read(POST)[1]
    said = {span.kind: block.text[span.start : span.end] for span in block.spans}
    assert said == {"code": "a  b", "link": "the table", "url": "http://y.org/5%20z", "footnote": "[^n]"}
    assert block.inside("code", block.text.index("a  b"))
    assert not block.inside("code", 0)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_character_stands_where_the_block_says(newline):
    markdown = POST.replace("\n", newline)
    assert [untrue_places(block, markdown) for block in read(markdown)] == [[] for _ in read(markdown)]


def test_line_ends_do_not_change_what_is_read():
    assert texts(POST) == texts(POST.replace("\n", "\r\n")) == texts(POST.replace("\n", "\r"))


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("***7*** and *__8__*", "7 and 8"),
        ("``a ` 7``", "a ` 7"),
        ("` `` 7 `", "`` 7"),
        ("` `` 7`", " `` 7"),
        ("`7\n   8`", "7 8"),
        ("[7][a] [a][] [a]\n\n[a]: /u", "7 a a"),
        ("[![7](a.png)](b)", "\ufffc"),
        ("[7](<a b> 'c\nd')", "7"),
        ("a ~~~~7~~~~", "a 7"),
        ("> - 7\n>   8\n> 9", "7 8 9"),
        ("-\t7\n\t8", "7 8"),
        ("7\\\n8", "7 8"),
        ("# # 2 # ##", "# 2 #"),
        ("&#55;&#x38; &copy &copy;", "78 &copy ©"),
        ("*7", "*7"),
        ("a\\b \\7 \\-7", "a\\b \\7 -7"),
        ("7  \n   8", "7 8"),
        ("`a`` 7", "`a`` 7"),
    ],
)
def test_inline_forms(markdown, plain):
    """What is read is what is seen, each character in its place."""
    blocks = read(markdown)
    assert blocks[0].text == plain
    assert [untrue_places(block, markdown) for block in blocks] == [[] for _ in blocks]


# Any Markdown

PIECES = st.sampled_from(
    [
        *"*_`~[]()!<>|#-+=\\&;:.$^ \t\n\"'",
        *(
            "\n\n",
            "\r\n",
            "    ",
            "> ",
            "- ",
            "1. ",
            "**",
            "~~",
            "``",
            "](",
            "[^1]",
            "\n[^1]: ",
            "![",
            "\n|a|b|\n|-|-|\n|",
        ),
        *(
            "&amp;",
            "&minus;",
            "&#55;",
            "\\|",
            "\\*",
            "  \n",
            "<b>",
            "</b>",
            "<br>",
            "<!--",
            "-->",
            "<sup>",
            "<http://x.y/1>",
        ),
        *(
            "7",
            "0.31",
            "word",
            "−",
            "\u00a0",
            "\u200b",
            "\0",
            "é",
            "\n===\n",
            "\n---\n",
            "[r]",
            "\n\n[r]: /u 't'\n\n",
            "\n<div>\n",
        ),
    ]
)
MARKDOWN = st.lists(PIECES, max_size=40).map("".join)


@settings(max_examples=300, deadline=None)
@given(MARKDOWN | st.text(max_size=80))
def test_any_text_is_mapped_character_by_character(markdown):
    for block in read(markdown):
        assert len(block.text) == len(block.source) == len(block.ends)
        assert untrue_places(block, markdown) == []


class _Seen(HTMLParser):
    """The text that a browser would show of rendered Markdown, code blocks left out."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self.hidden = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag == "pre"
        if tag == "img":
            self.pieces.append(dict(attrs).get("alt") or "")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag == "pre"

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.pieces.append(data)


PLAIN_PIECES = PIECES.filter(lambda piece: not any(mark in piece for mark in "<^!\u200b\0"))


@settings(max_examples=300, deadline=None)
@given(st.lists(PLAIN_PIECES, max_size=40).map("".join))
def test_a_second_reader_sees_the_same(markdown):
    """The rendered HTML of the untouched parser holds the same characters in the same order."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).use(footnote_plugin, inline=False)
    seen = "".join(_Seen(parser.render(markdown)).pieces)
    ours = "".join(block.text for block in read(markdown))
    assert re.sub(r"\s", "", ours) == re.sub(r"\s", "", seen)
