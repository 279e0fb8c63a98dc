"""Inline images in Markdown are removed, and their names are kept."""

import time
from pathlib import Path

from elt_llm_ingest.readers.html import HtmlReader
from elt_llm_ingest.readers.markdown import MarkdownReader, remove_inline_images
from hypothesis import given
from hypothesis import strategies as st

PICTURE = "data:image/png;base64," + "iVBORw0KGgo" * 20 + "="


def test_an_inline_image_in_markdown_is_replaced_by_its_name() -> None:
    assert remove_inline_images(f"See ![the crest]({PICTURE}) here.") == "See ![the crest]() here."
    assert remove_inline_images(f'<img alt="crest" src="{PICTURE}">') == '<img alt="crest" src="">'


def test_a_markdown_line_that_only_defines_an_inline_image_is_removed() -> None:
    source = f"![][one]\n\n[one]: <{PICTURE}>\n[two]: {PICTURE} 'title'\nEnd."
    assert remove_inline_images(source) == "![][one]\n\nEnd."


def test_image_links_to_files_and_short_data_urls_are_kept() -> None:
    source = "![crest](crest.png) [a](http://x.org/data:y) `data:text/plain,hello` and data: 5/6,7"
    assert remove_inline_images(source) == source


@given(text=st.text(alphabet="data:imge/png;bs64,[]<>() \n", max_size=300))
def test_markdown_text_without_long_data_urls_is_unchanged(text: str) -> None:
    without = remove_inline_images(text)
    assert without == text or max(len(word) for word in text.replace("\n", " ").split(" ")) >= 64


def test_megabytes_of_inline_images_are_removed_quickly(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text(f"# Report\n\n![a](data:image/png;base64,{'A' * 2_000_000})\n\nWords.\n" + "data:" * 200_000)
    started = time.monotonic()
    document = MarkdownReader().read(path)
    assert time.monotonic() - started < 20
    assert document.text.startswith("# Report\n\n![a]()\n\nWords.\n")


def test_inline_images_in_html_are_excluded_from_the_text(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(f'<h1>Report</h1><p>Words <img alt="crest" src="{PICTURE}"> and more.</p>')
    assert "iVBOR" not in HtmlReader().read(path).text


def test_markdown_link_definitions_of_excessive_length_are_read_in_linear_time() -> None:
    source = f"[a]: {PICTURE} " * 3_000
    started = time.monotonic()
    remove_inline_images(source)
    assert time.monotonic() - started < 20
