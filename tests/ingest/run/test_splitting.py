"""The groups of a split document contain all text once, and pages keep their numbers."""

import time

import pytest
from elt_llm_core.text.outline import Section
from elt_llm_ingest.parsing.parsed_document import Block, ParsedDocument, Part
from elt_llm_ingest.readers.markdown import MarkdownReader
from elt_llm_ingest.run.reading import LEADING_GROUP, UNTYPED_GROUP, document_groups, take_group
from hypothesis import given
from hypothesis import strategies as st
from stored.folders import write_files

TITLES = st.sampled_from(["Scope", "Rules", "Fees", "Scope (2)", "beginning", " ", "Ämter"])


@st.composite
def documents(draw: st.DrawFn) -> ParsedDocument:
    """Return texts with sections of three levels, and with pages that start anywhere."""
    text, sections, blocks = "", [], []
    for _ in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            title = draw(TITLES)
            sections.append(Section(len(text), draw(st.integers(1, 3)), title))
            blocks.append(Block(len(text), len(text) + len(title), "heading"))
            text += f"{title}\n\n"
        else:
            body = draw(st.sampled_from(["One.", "Two three.", "x"]))
            blocks.append(Block(len(text), len(text) + len(body), "prose"))
            text += f"{body}\n\n"
    pages = tuple(sorted(draw(st.lists(st.integers(0, len(text)), max_size=5))))
    return ParsedDocument(text, "A title", (0, *pages) if pages else (), tuple(sections), tuple(blocks))


@given(documents())
def test_the_sections_of_a_split_document_together_contain_its_whole_text_in_order(parsed: ParsedDocument) -> None:
    groups = document_groups(parsed, "section")
    assert len(set(groups)) == len(groups)
    pieces = [take_group(parsed, "section", group) for group in groups]
    assert "".join(piece.text for piece in pieces) == parsed.text
    assert sum(len(piece.sections) for piece in pieces) == len(parsed.sections)
    assert [piece.text[block.start : block.end] for piece in pieces for block in piece.blocks] == [
        parsed.text[block.start : block.end] for block in parsed.blocks
    ]


@given(documents())
def test_a_section_of_a_split_document_keeps_the_page_numbers_of_the_document(parsed: ParsedDocument) -> None:
    start = 0
    for group in document_groups(parsed, "section"):
        piece = take_group(parsed, "section", group)
        for offset in range(len(piece.text)):
            assert piece.page_at(offset) == parsed.page_at(start + offset)
        start += len(piece.text)


def test_the_document_title_above_all_sections_is_not_treated_as_a_section() -> None:
    text = "Handbook\n\nScope\n\nHere.\n\nRules\n\nThere.\n"
    parsed = ParsedDocument(
        text,
        "Handbook",
        sections=(Section(0, 1, "Handbook"), Section(10, 2, "Scope"), Section(24, 2, "Rules")),
        blocks=(Block(0, 8, "heading"), Block(10, 15, "heading"), Block(17, 22, "prose"), Block(24, 29, "heading")),
    )
    assert document_groups(parsed, "section") == ["Scope", "Rules"]
    assert take_group(parsed, "section", "Scope").text.startswith("Handbook")


def test_text_before_the_first_section_is_a_separate_group() -> None:
    parsed = ParsedDocument("Preface.\n\nRules\n\nThere.\n", "", sections=(Section(10, 1, "Rules"),))
    assert document_groups(parsed, "section") == [LEADING_GROUP, "Rules"]
    assert take_group(parsed, "section", LEADING_GROUP).text == "Preface.\n\n"


def test_a_document_without_headings_is_one_group_and_an_empty_document_has_no_group(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = write_files(tmp_path_factory.mktemp("files"), {"a.md": "Words.\n", "b.md": ""})
    assert document_groups(MarkdownReader().read(folder / "a.md"), "section") == [LEADING_GROUP]
    assert document_groups(MarkdownReader().read(folder / "b.md"), "section") == []


def test_an_unknown_group_has_no_text_and_no_documents() -> None:
    parsed = ParsedDocument("Words.\n", "", parts=(Part("1", "Ship", ParsedDocument("Oak.", "")),))
    for split_by in ("section", "type"):
        empty = take_group(parsed, split_by, "nowhere")
        assert (empty.text, empty.parts) == ("", ())


def test_documents_within_a_file_are_grouped_by_type_and_the_text_of_the_file_itself_has_no_type() -> None:
    parts = tuple(
        Part(name, group, ParsedDocument(f"{name}.", name))
        for name, group in (("1", "Ship"), ("2", "Port"), ("3", "Ship"), ("4", ""))
    )
    parsed = ParsedDocument("About.\n", "Register", parts=parts, artefacts={"register": [1, 2]})
    assert document_groups(parsed, "type") == ["Ship", "Port", UNTYPED_GROUP]
    ships = take_group(parsed, "type", "Ship")
    assert ([part.name for part in ships.parts], ships.text) == (["1", "3"], "")
    assert ships.artefacts == {"register": [1, 2]}
    other = take_group(parsed, "type", UNTYPED_GROUP)
    assert ([part.name for part in other.parts], other.text) == (["4"], "About.\n")
    assert document_groups(ParsedDocument("", "", parts=parts[:1]), "type") == ["Ship"]
    assert [part.name for part in take_group(parsed, "section", LEADING_GROUP).parts] == ["1", "2", "3", "4"]


def test_thousands_of_sections_with_one_title_get_distinct_groups_quickly() -> None:
    count = 20_000
    document = ParsedDocument("x" * count, "T", sections=tuple(Section(start, 1, "Same") for start in range(count)))
    begun = time.monotonic()
    groups = document_groups(document, "section")
    assert groups[:3] + groups[-1:] == ["Same", "Same (2)", "Same (3)", f"Same ({count})"]
    assert time.monotonic() - begun < 20  # trying all numbers again for each title took minutes
