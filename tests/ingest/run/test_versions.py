"""Equal bytes of a file always give the same document version with the same nodes."""

from pathlib import Path

from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import ChunkingSettings, Settings
from elt_llm_core.store.records import NewDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument, Part
from elt_llm_ingest.readers.markdown import MarkdownReader
from elt_llm_ingest.run.versions import DocumentOrigin, VersionMaker, node_id
from hypothesis import given
from hypothesis import strategies as st


def _maker(**chunking: int) -> VersionMaker:
    sizes = {"chunk_size": 24, "chunk_overlap": 0, **chunking}
    return VersionMaker("library", Settings(chunking=ChunkingSettings(**sizes)), FakeEmbedding())  # type: ignore[arg-type]


def _make(text: str, path: str = "a.md") -> NewDocument:
    origin = DocumentOrigin("root", path, b"digest", len(text), "test-1")
    [document] = _maker().from_parsed(origin, ParsedDocument(text, "A"))
    return document


def _read(path: Path) -> NewDocument:
    [document] = _maker().from_parsed(
        DocumentOrigin("root", path.name, b"digest", 1, "test-1"), MarkdownReader().read(path)
    )
    return document


@given(
    st.lists(st.sampled_from(["The tide turns.", "A reef.", "An anchor is dropped here.", "\n\n", " ", "é\U0001f40b."]))
)
def test_the_text_of_every_node_is_the_document_text_at_its_span_and_node_ids_are_unique(parts: list[str]) -> None:
    document = _make(" ".join(parts))
    for node in document.nodes:
        assert document.text[node.start : node.end] == node.text != ""
    assert len({node.node_id for node in document.nodes}) == len(document.nodes)
    assert document.outcome == ("ok" if document.nodes else "empty")
    assert document == _make(" ".join(parts))


def test_a_chunk_keeps_its_id_when_text_is_inserted_before_it(tmp_path: Path) -> None:
    path, section = tmp_path / "a.md", "# Lock\n\nThe harbour master keeps the lock at night.\n"
    path.write_text(section)
    [before] = _read(path).nodes
    path.write_text(f"# New\n\nSomething quite new stands here, in more than a few words.\n\n{section}")
    after = _read(path).nodes
    assert after[-1].text == before.text
    assert (after[-1].node_id, after[-1].start > before.start) == (before.node_id, True)


def test_the_node_id_of_a_text_depends_on_document_and_chunker() -> None:
    ids = {node_id("d", "c", "text", 0), node_id("d", "c", "text", 1), node_id("d", "c2", "text", 0)}
    assert len(ids | {node_id("d2", "c", "text", 0)}) == 4
    assert _maker().chunker_identity != _maker(chunk_size=32).chunker_identity


def test_each_character_that_cannot_be_stored_is_replaced_by_one_character() -> None:
    document = _make("A \ud800 reef \udfff here.")
    assert document.text == "A \ufffd reef \ufffd here."
    assert document.text.encode()


def _with_parts() -> ParsedDocument:
    parts = tuple(Part(f"item/{n}", "kind", ParsedDocument(f"Item {n} is a reef.", f"Item {n}")) for n in (1, 2))
    return ParsedDocument("", "All", parts=parts, artefacts={"model": {"items": 2}})


def test_documents_within_a_file_have_separate_versions() -> None:
    own, *parts = _maker().from_parsed(DocumentOrigin("root", "all.xml", b"digest", 9, "test-1"), _with_parts())
    assert (own.outcome, own.nodes, own.artefacts) == ("ok", (), {"model": {"items": 2}})
    assert [(part.path, part.part, part.title) for part in parts] == [
        ("all.xml#item/1", "item/1", "Item 1"),
        ("all.xml#item/2", "item/2", "Item 2"),
    ]
    assert len({document.key for document in (own, *parts)}) == 3


def test_every_chunk_has_its_token_count_and_extracted_names() -> None:
    text = "The Harbour Council met on 2 March 2024 about the reef."
    [node] = _make(text).nodes
    assert node.metadata["words"] == 11
    assert node.metadata["dates"] == ["2024-03-02"]
    assert (node.metadata["kind"], node.metadata["tokens"]) == ("prose", len(FakeEmbedding().token_spans(text)))


def test_static_metadata_and_the_ingested_part_of_files_change_the_identity_of_document_versions() -> None:
    makers = [
        VersionMaker("library", Settings(), FakeEmbedding(), metadata, scope)
        for metadata, scope in (({}, ""), ({"owner": "x"}, ""), ({"owner": "y"}, ""), ({}, "a"))
    ]
    assert len({maker.extraction for maker in makers}) == 4
