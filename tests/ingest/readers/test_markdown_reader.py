"""Markdown: the source stands, its structure is known."""

from pathlib import Path

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.markdown import MarkdownReader


def _read(folder: Path, source: str) -> ParsedDocument:
    path = folder / "note.md"
    path.write_text(source)
    return MarkdownReader().read(path)


def _texts(document: ParsedDocument, kind: str) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks if block.kind == kind]


def test_the_text_is_the_source_and_headings_are_sections(tmp_path: Path) -> None:
    source = "# The *Book*\n\nWords.\n\n## [Part](x.md) one\n\nMore.\n\nOther\n-----\n"
    document = _read(tmp_path, source)
    assert document.text == source
    assert [(section.level, section.title) for section in document.sections] == [
        (1, "The Book"),
        (2, "Part one"),
        (2, "Other"),
    ]
    assert document.title == "The Book"


def test_front_matter_gives_title_and_metadata_and_can_still_be_found(tmp_path: Path) -> None:
    document = _read(tmp_path, "---\ntitle: 'The Rules'\nowner: board\ntags:\n- a\n---\n\n# Heading\n")
    assert document.title == "The Rules"
    assert document.metadata == {"title": "The Rules", "owner": "board"}
    assert _texts(document, "definition")[0].startswith("---\ntitle")
    assert [section.title for section in document.sections] == ["Heading"]


def test_a_table_has_one_block_a_row_under_its_header(tmp_path: Path) -> None:
    document = _read(tmp_path, "Before.\n\n| Club | Town |\n|---|---|\n| A | B |\n| C | D |\n\nAfter.\n")
    rows = [block for block in document.blocks if block.kind == "table"]
    assert [block.header for block in rows] == ["", "Club | Town", "Club | Town"]
    assert _texts(document, "table") == ["| Club | Town |\n|---|---|", "| A | B |", "| C | D |"]


def test_lists_code_and_marks_inside_code_are_told_apart(tmp_path: Path) -> None:
    document = _read(tmp_path, "- one\n- two\n  more\n\n```\n# no heading\n```\n\n1.2.3 A rule.\n")
    assert _texts(document, "list") == ["- one", "- two\n  more"]
    assert _texts(document, "code") == ["```\n# no heading\n```"]
    assert _texts(document, "rule") == ["1.2.3 A rule."]
    assert document.sections == ()


def test_without_heading_the_file_gives_the_title(tmp_path: Path) -> None:
    assert _read(tmp_path, "words").title == "note"
