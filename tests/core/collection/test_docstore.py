"""A generation behind LlamaIndex's docstore interface is readable and never writable."""

import asyncio
from collections.abc import Iterator

import pytest
from elt_llm_core.collection.docstore import generation_docstore
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.store.store import open_store
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from stored.shelf import COLLECTION, StoredLibrary


@pytest.fixture
def generation(made: StoredLibrary) -> Iterator[Generation]:
    with open_store(made.data_dir) as store, open_generation(store, COLLECTION) as opened:
        yield opened


def test_the_docstore_returns_every_node_with_its_span_and_source(generation: Generation) -> None:
    docstore = generation_docstore(generation)
    assert sorted(docstore.docs) == generation.ids
    for stored in generation.nodes(generation.ids[:5]):
        node = docstore.get_node(stored.node_id)
        assert isinstance(node, TextNode)
        assert (node.text, node.start_char_idx, node.end_char_idx) == (stored.text, stored.start, stored.end)
        assert node.ref_doc_id == stored.document_id
        assert node.metadata["source"] == stored.source


def test_the_docstore_returns_nodes_in_the_requested_order(generation: Generation) -> None:
    wanted = generation.ids[10:4:-1]
    assert [node.node_id for node in generation_docstore(generation).get_nodes(wanted)] == wanted


def test_the_docstore_lists_the_nodes_of_a_document_in_order(generation: Generation) -> None:
    docstore = generation_docstore(generation)
    known = docstore.get_all_ref_doc_info()
    assert known is not None
    assert set(known) == {document.document_id for document in generation.documents()}
    for identity, info in known.items():
        nodes = generation.nodes(info.node_ids)
        assert {node.document_id for node in nodes} == {identity}
        assert [node.ordinal for node in nodes] == list(range(len(nodes)))
        assert docstore.get_ref_doc_info(identity) == info


def test_the_docstore_raises_an_error_for_a_missing_node_unless_the_caller_wants_none(generation: Generation) -> None:
    docstore = generation_docstore(generation)
    assert docstore.get_document("nothing", raise_error=False) is None
    with pytest.raises(ValueError, match="nothing"):
        docstore.get_document("nothing")
    assert docstore.get_ref_doc_info("nothing") is None
    assert docstore.document_exists(generation.ids[0])
    assert not docstore.document_exists("nothing")


def test_asynchronous_docstore_reads_return_the_same_nodes(generation: Generation) -> None:
    docstore = generation_docstore(generation)
    node = asyncio.run(docstore.aget_node(generation.ids[0]))
    assert node == docstore.get_node(generation.ids[0])


def test_writing_to_the_docstore_is_refused(generation: Generation) -> None:
    docstore = generation_docstore(generation)
    with pytest.raises(NotImplementedError, match="is immutable"):
        docstore.add_documents([TextNode(text="new")])
    with pytest.raises(NotImplementedError, match="is immutable"):
        docstore.delete_document(generation.ids[0])
    with pytest.raises(NotImplementedError, match="is immutable"):
        asyncio.run(docstore.async_add_documents([TextNode(text="new")]))


def test_a_llama_index_retriever_works_with_the_docstore(generation: Generation) -> None:
    retriever = BM25Retriever.from_defaults(docstore=generation_docstore(generation), similarity_top_k=1)
    _, words = generation.nodes(generation.ids[:1])[0].text.split(": ")
    # The number before the words is no help: LlamaIndex also reads the time in the metadata, which may contain it.
    [found] = retriever.retrieve(words)
    assert found.node.get_content().endswith(words)
