"""The text of a Markdown document is its source, with its structure as sections and blocks."""

from pathlib import Path

import pytest
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.markdown import MarkdownReader


def _read(folder: Path, source: str) -> ParsedDocument:
    path = folder / "note.md"
    path.write_text(source)
    return MarkdownReader().read(path)


def _texts(document: ParsedDocument, kind: str) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks if block.kind == kind]


def test_the_text_of_a_markdown_document_equals_its_source_and_headings_become_sections(tmp_path: Path) -> None:
    source = "# The *Book*\n\nWords.\n\n## [Part](x.md) one\n\nMore.\n\nOther\n-----\n"
    document = _read(tmp_path, source)
    assert document.text == source
    assert [(section.level, section.title) for section in document.sections] == [
        (1, "The Book"),
        (2, "Part one"),
        (2, "Other"),
    ]
    assert document.title == "The Book"


def test_title_and_metadata_are_taken_from_the_front_matter_which_is_excluded_from_the_text(tmp_path: Path) -> None:
    document = _read(tmp_path, "---\ntitle: 'The Rules'\nowner: board\ntags:\n- a\n- b\n---\n\n# Heading\n")
    assert document.title == "The Rules"
    assert document.metadata == {"title": "The Rules", "owner": "board", "tags": "a; b"}
    assert document.text == "# Heading\n"
    assert [(section.start, section.title) for section in document.sections] == [(0, "Heading")]


@pytest.mark.parametrize(
    "authors", ["author: A. B.; C. D.", "authors: [A. B., 'C. D.']", "authors:\n  - A. B.\n  - name: C. D."]
)
def test_authors_year_and_address_are_read_from_front_matter_in_several_notations(tmp_path: Path, authors: str) -> None:
    document = _read(tmp_path, f"---\n{authors}\ndate: 3 March 2021\nsource: https://example.org/a\n---\nWords.\n")
    assert document.metadata["authors"] == "A. B.; C. D."
    assert document.metadata["year"] == 2021
    assert document.metadata["url"] == "https://example.org/a"
    assert "author" not in document.metadata


def test_each_markdown_table_row_is_a_block_with_the_header_row_as_its_header(tmp_path: Path) -> None:
    document = _read(tmp_path, "Before.\n\n| Club | Town |\n|---|---|\n| A | B |\n| C | D |\n\nAfter.\n")
    rows = [block for block in document.blocks if block.kind == "table"]
    assert [block.header for block in rows] == ["", "Club | Town", "Club | Town"]
    assert _texts(document, "table") == ["| Club | Town |\n|---|---|", "| A | B |", "| C | D |"]


def test_lists_and_code_are_separate_blocks_and_code_may_contain_heading_marks(tmp_path: Path) -> None:
    document = _read(tmp_path, "- one\n- two\n  more\n\n```\n# no heading\n```\n\n1.2.3 A rule.\n")
    assert _texts(document, "list") == ["- one", "- two\n  more"]
    assert _texts(document, "code") == ["```\n# no heading\n```"]
    assert _texts(document, "rule") == ["1.2.3 A rule."]
    assert document.sections == ()


def test_the_file_name_is_the_title_of_a_markdown_file_without_a_heading(tmp_path: Path) -> None:
    assert _read(tmp_path, "words").title == "note"


def test_a_table_with_an_empty_header_keeps_its_rows_separate(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("| | |\n|---|---|\n| a | b |\n| c | d |\n")
    document = MarkdownReader().read(tmp_path / "a.md")
    assert [document.text[block.start : block.end] for block in document.blocks] == [
        "| | |\n|---|---|",
        "| a | b |",
        "| c | d |",
    ]


def test_a_title_in_front_matter_becomes_the_first_heading(tmp_path: Path) -> None:
    document = _read(tmp_path, "---\ntitle: Glossary\n---\n\n- **ADR** - a record.\n\n# Notes\n")
    assert document.text == "# Glossary\n\n- **ADR** - a record.\n\n# Notes\n"
    assert [(one.level, one.title) for one in document.sections] == [(1, "Glossary"), (1, "Notes")]


@pytest.mark.parametrize("body", ["# The Rules\n\nWords.\n", "The Rules\n=====\n\nWords.\n"])
def test_a_first_heading_of_the_text_replaces_the_title_of_the_front_matter(tmp_path: Path, body: str) -> None:
    assert _read(tmp_path, f"---\ntitle: Rules | Site\n---\n{body}").text == body


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("means ~~24 months~~36 months after", "means 36 months after"),
        ("Keep the ~~old~~ rule in <del>14 days</del><ins>21 days</ins>.", "Keep the rule in <ins>21 days</ins>."),
        (
            "| A | B |\n|---|---|\n| ~~Invoice~~ | ~~5 years~~ |\n| Bill | 6 |",
            "| A | B |\n|---|---|\n| | |\n| Bill | 6 |",
        ),
        ("- ~~one\n  more~~ two\n- three ~~3~~", "- two\n- three "),
        ("| ~~a | b~~ | ~~c~~ |\n|---|---|---|", "| ~~a | b~~ | |\n|---|---|---|"),
        ("~~Old~~\n===\n\nLine one\n~~gone~~\nLine three", "\n\nLine one\nLine three"),
        ("~~old~~ - new\n\n- ~~old~~ # new\n\n~~old~~ *new*", " \\- new\n\n- \\# new\n\n *new*"),
        (f"Keep ~~{'old ' * 2500}rule~~ this", "Keep this"),
        ("<div>\n<del>old</del>\n- new\n</div>", "<div>\n- new\n</div>"),
    ],
)
def test_struck_out_text_of_a_markdown_document_is_removed_with_a_note(tmp_path: Path, source: str, text: str) -> None:
    document = _read(tmp_path, source)
    assert (document.text, document.notes) == (text, ("holds struck-out text, which is not read",))


def test_tildes_in_code_and_link_targets_escaped_tildes_and_tildes_for_about_strike_nothing_out(tmp_path: Path) -> None:
    links = "[a](http://x/~~b~~/y) <https://x.org/~~c~~/y>\n\n"
    source = links + "`a ~~b~~` \\~~c~~ about ~~5 or ~~6, ~7~\n\n~~~\n~~d~~ <s>e</s>\n~~~\n\n    ~~f~~\n"
    document = _read(tmp_path, source)
    assert (document.text, document.notes) == (source, ())


def test_comments_are_not_read_except_in_code(tmp_path: Path) -> None:
    source = "Text <!-- fee 10 --> more `<!-- code -->`.\n\n<!-- a:\n\nb -->\n\n```\n<!-- code -->\n```\n\n<!-- open\n"
    assert _read(tmp_path, source).text == ("Text  more `<!-- code -->`.\n\n\n\n```\n<!-- code -->\n```\n\n<!-- open\n")


def test_table_rows_without_outer_bars_get_them_and_other_lines_with_bars_do_not(tmp_path: Path) -> None:
    table = "| Record | Kept |\n|---|---|\nAudit log|7 years\n| Ledger | 6 years |\n\nRun ls|wc now.\n"
    document = _read(tmp_path, table)
    assert "\n| Audit log|7 years |\n" in document.text
    assert document.text.endswith("Run ls|wc now.\n")
