"""One file to one version: the same bytes always to the same nodes."""

from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings import ChunkingSettings, Settings
from elt_llm_core.store.records import NewDocument
from elt_llm_ingest.discovery import FoundFile
from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.markdown import MarkdownReader
from elt_llm_ingest.recipe import version_maker
from elt_llm_ingest.roots import Located
from elt_llm_ingest.versions import Origin, VersionMaker, content_hash, node_id
from hypothesis import given
from hypothesis import strategies as st


def _maker(**chunking: int) -> VersionMaker:
    sizes = {"chunk_size": 24, "chunk_overlap": 0, **chunking}
    return version_maker("library", Settings(chunking=ChunkingSettings(**sizes)), FakeEmbedding())  # type: ignore[arg-type]


def _make(text: str, path: str = "a.md") -> NewDocument:
    return _maker().from_parsed(Origin("root", path, b"digest", len(text), "test-1"), ParsedDocument(text, "A"))


def _located(path: Path) -> Located:
    return Located(FoundFile(path.parent, path.name, path, 1, 1), "root", path.parent, path.name)


@given(
    st.lists(st.sampled_from(["The tide turns.", "A reef.", "An anchor is dropped here.", "\n\n", " ", "é\U0001f40b."]))
)
def test_every_node_is_its_span_and_ids_never_repeat(parts: list[str]) -> None:
    document = _make(" ".join(parts))
    for node in document.nodes:
        assert document.text[node.start : node.end] == node.text != ""
    assert len({node.node_id for node in document.nodes}) == len(document.nodes)
    assert document.outcome == ("ok" if document.nodes else "empty")
    assert document == _make(" ".join(parts))


def test_a_chunk_keeps_its_id_when_text_is_put_before_it(tmp_path: Path) -> None:
    path, section = tmp_path / "a.md", "# Lock\n\nThe harbour master keeps the lock at night.\n"
    path.write_text(section)
    [before] = _maker().make(_located(path), MarkdownReader(), content_hash(path)).nodes
    path.write_text(f"# New\n\nSomething quite new stands here, in more than a few words.\n\n{section}")
    after = _maker().make(_located(path), MarkdownReader(), content_hash(path)).nodes
    assert after[-1].text == before.text
    assert (after[-1].node_id, after[-1].start > before.start) == (before.node_id, True)


def test_the_same_text_elsewhere_or_cut_otherwise_has_another_id() -> None:
    ids = {node_id("d", "c", "text", 0), node_id("d", "c", "text", 1), node_id("d", "c2", "text", 0)}
    assert len(ids | {node_id("d2", "c", "text", 0)}) == 4
    assert _maker().chunker_identity != _maker(chunk_size=32).chunker_identity


def test_characters_that_cannot_be_stored_are_replaced_one_for_one() -> None:
    document = _make("A \ud800 reef \udfff here.")
    assert document.text == "A \ufffd reef \ufffd here."
    assert document.text.encode()


def test_a_file_that_changes_while_it_is_read_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# A\n\nA reef.\n")
    with pytest.raises(UnreadableDocument, match="changed while it was read"):
        _maker().make(_located(path), MarkdownReader(), b"what it was before")
    document = _maker().make(_located(path), MarkdownReader(), content_hash(path))
    assert (document.outcome, document.reader) == ("ok", f"markdown-{MarkdownReader.version}")
