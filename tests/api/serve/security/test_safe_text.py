"""Shown texts of documents and models run no script, load nothing, and contain no links."""

import time
from itertools import pairwise

import pytest
from attacks.script_payloads import PAYLOADS
from browsing.html_effects import ShownHtml
from elt_llm_api.serve.safe_text import (
    JOINER,
    SafeMarkdown,
    escape_html,
    escape_markdown,
    route_link,
    show_invisible_characters,
)
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from optional import needs

RENDERER = MarkdownIt("gfm-like", {"html": True, "linkify": True})
FORMATTING = {
    *("p", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "br", "s"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
FRAGMENTS = st.sampled_from(
    [
        *"<>[]()!:/\\@.`~ \n\t#&;=\"'{}$|*-",
        *("http", "https:", "//", "www.", "evil", ".com", "a@b", "![", "](", "]:", "javascript:", "<img src="),
        *("mailto:", "```", "mermaid", "&#58;", "\u202e", JOINER, "рф", "é", "x" * 70),
    ]
)
TEXTS = st.one_of(st.lists(FRAGMENTS, max_size=40).map("".join), st.text(max_size=60))


def shown(markdown: str) -> ShownHtml:
    needs("linkify_it")
    return ShownHtml(RENDERER.render(markdown))


def in_pieces(text: str, size: int) -> str:
    safe = SafeMarkdown()
    return "".join(safe.feed(text[place : place + size]) for place in range(0, len(text), size)) + safe.end()


def test_the_list_of_attack_texts_has_eighty_entries() -> None:
    assert len(PAYLOADS) == len(set(PAYLOADS)) == 80


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_attack_text_becomes_active_html_when_escaped_as_text(payload: str) -> None:
    shown_as = ShownHtml(f'<b title="{escape_html(payload)}">{escape_html(payload)}</b>')
    assert shown_as.tags == {"b"}
    assert shown_as.active == []
    assert shown_as.text == show_invisible_characters(payload)
    assert not {"${", "{{", "`", "\\"} & {
        escape_html(payload)[place : place + size] for place in range(99) for size in (1, 2)
    }


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_attack_text_becomes_active_html_when_escaped_as_markdown_at_once_or_in_pieces(payload: str) -> None:
    shown_as = shown(escape_markdown(payload))
    assert shown_as.tags <= FORMATTING
    assert shown_as.active == []
    for size in range(1, len(payload) + 1):
        assert in_pieces(payload, size) == escape_markdown(payload)


@pytest.mark.parametrize(
    "text",
    [
        "![x](https://evil.example/?q=1)",
        "![x][y]\n\n[y]: https://evil.example/",
        "[y]\n\n[y]: <https://evil.example/> 'title'",
        "[x](//evil.example)",
        "[x](/\\evil.example)",
        "<https://evil.example>",
        "<me@evil.example>",
        "https://evil.example/?q=1",
        "HTTPS://EVIL.EXAMPLE",
        "ftp://evil.example",
        "//evil.example.com/x",
        "www.evil.example",
        "evil.com and evil.io/x?q=1 and evil.xn--p1ai and зло.рф",
        "me@evil.com",
        "mailto:me@evil.example",
        "tel:112 xmpp:me@evil.example",
        "http&#58;//evil.com &#104;ttps://evil.com",
        "https:\\/\\/evil.com",
        "`x` https://evil.com `y`",
        "> https://evil.com\n\n- https://evil.com\n\n|https://evil.com|\n|-|\n|www.evil.com|",
        "[^1]\n\n[^1]: https://evil.com",
        "\\![x](https://evil.com) \\\\![x](https://evil.com)",
        "[a\n](https://evil.com) [a](\nhttps://evil.com\n)",
    ],
)
def test_no_escaped_address_becomes_an_image_or_a_link(text: str) -> None:
    shown_as = shown(escape_markdown(text))
    assert shown_as.tags <= FORMATTING
    assert shown_as.active == []
    assert "://" not in escape_markdown(text)


@given(TEXTS)
def test_no_generated_text_becomes_a_link_an_image_or_html(text: str) -> None:
    shown_as = shown(escape_markdown(text))
    assert shown_as.tags <= FORMATTING
    assert shown_as.active == []


@given(TEXTS, st.lists(st.integers(0, 200), max_size=8))
def test_escaped_markdown_does_not_depend_on_how_the_text_is_split(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    safe = SafeMarkdown()
    reported = "".join(safe.feed(text[begin:end]) for begin, end in pairwise(places))
    assert reported + safe.end() == escape_markdown(text)


@given(TEXTS)
def test_escaping_does_not_change_the_visible_text(text: str) -> None:
    assert escape_markdown(text).replace(JOINER, "") == show_invisible_characters(text).replace(JOINER, "")


@given(TEXTS)
def test_escaping_a_stream_delays_at_most_64_characters(text: str) -> None:
    safe = SafeMarkdown()
    reported = safe.feed(text)
    assert len(show_invisible_characters(text)) - len(reported.replace(JOINER, "")) <= 64 + show_invisible_characters(
        text
    ).count(JOINER)


def test_escaping_does_not_change_prose_lists_citations_tables_or_code() -> None:
    text = (
        "# Grades\n\nA ground needs **25 points**, e.g. 3.5 m of *turf* [1]; see report.pdf [2].\n\n1. First: a < b.\n"
        "2. `os.path.join(x)` at 12:30, 50 % & more\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```python\nx = {1: 2}\n```\n"
    )
    assert escape_markdown(text) == text
    assert {"h1", "strong", "em", "ol", "table", "pre"} <= shown(escape_markdown(text)).tags


def test_characters_that_change_the_text_direction_are_shown_as_their_code_points() -> None:
    assert escape_html("a\u202eb\x00\ud800\U000e0041") == "a⟨U+202E⟩b⟨U+0000⟩⟨U+D800⟩⟨U+E0041⟩"
    assert escape_markdown("a\u2067b\x1b[31m") == "a⟨U+2067⟩b⟨U+001B⟩[31m"


def test_links_in_answers_point_only_to_paths_on_this_server() -> None:
    assert route_link("page [4]", "/v1/documents/3?page=4") == "[page \\[4\\]](/v1/documents/3?page=4)"
    assert shown(route_link("](https://evil.com) <b>", "/x#y")).active == [("href", "/x#y")]
    for route in [
        "https://evil.com",
        "//evil.com",
        "/\\evil.com",
        "x",
        "",
        "/x) [y](//evil.com",
        "/x\n",
        "javascript:1",
    ]:
        with pytest.raises(ValueError, match="not a path"):
            route_link("x", route)


def test_a_megabyte_of_text_is_escaped_in_linear_time() -> None:
    for sign in ("<", "[", "a.", "](", "`", "x"):
        started = time.monotonic()
        assert escape_markdown(sign * (500_000 // len(sign)))
        assert time.monotonic() - started < 30
