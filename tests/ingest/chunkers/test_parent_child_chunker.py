"""The parent-child chunker makes small chunks, each within a larger span that an answer reads instead."""

from pathlib import Path
from typing import Any

from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import to_llama_document
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from retrieval.word_counter import WordCounter, cut_into_words, word_chunker


def _document(lengths: list[int]) -> ParsedDocument:
    """Return a document that has, for each number in `lengths`, a section of this many sentences."""
    builder = DocumentBuilder()
    for number, length in enumerate(lengths, start=1):
        builder.add_heading(f"Section {number}", 1)
        builder.add(f"Section {number} says a few words. " * length)
    return builder.build("Book")


def _parents(document: ParsedDocument, **settings: Any) -> list[str]:
    spans = [span for span, _ in cut_into_words(document, "parent_child", **settings)]
    return [document.text[start:end] for start, end in sorted({span.parent for span in spans if span.parent})]


def test_a_section_is_the_parent_node_of_its_chunks() -> None:
    parents = _parents(_document([10, 12, 8]), chunk_size=20, parent_size=100)
    assert [parent.split("\n")[0] for parent in parents] == ["Section 1", "Section 2", "Section 3"]


def test_a_section_larger_than_parent_size_is_split_into_several_parents_of_whole_sentences() -> None:
    parents = _parents(_document([60]), chunk_size=20, parent_size=100)
    assert len(parents) == 4
    assert all(len(WordCounter().token_spans(parent)) <= 100 for parent in parents)
    assert all(parent.endswith("words.") for parent in parents)


def test_subsections_that_fit_into_one_parent_share_the_parent_of_their_section() -> None:
    builder = DocumentBuilder()
    builder.add_heading("Chapter", 1)
    builder.add("The chapter says a few words. " * 5)
    for number in (1, 2):
        builder.add_heading(f"Section {number}", 2)
        builder.add("The section says a few words. " * 5)
    builder.add_heading("Next", 1)
    builder.add("The next one says some words. " * 15)
    parents = _parents(builder.build("Book"), chunk_size=20, parent_size=120)
    assert [parent.split("\n")[0] for parent in parents] == ["Chapter", "Next"]


def test_the_parent_size_is_part_of_the_chunker_fingerprint_and_each_node_refers_to_its_parent() -> None:
    document = _document([10, 12])
    chunker = word_chunker("parent_child", chunk_size=20, parent_size=100)
    assert chunker.fingerprint != word_chunker("parent_child", chunk_size=20, parent_size=101).fingerprint
    nodes = chunker.get_nodes_from_documents([to_llama_document(document, Path("book.md"))])
    found = {(node.metadata["parent_start"], node.metadata["parent_end"]) for node in nodes}
    assert len(found) == 2


def test_chunks_of_other_chunkers_have_no_parent() -> None:
    assert all(span.parent is None for span, _ in cut_into_words(_document([10]), "markdown", chunk_size=20))
