"""The classes for LlamaIndex and LangChain return what the engine returns, with locations, scores and citations."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from elt_llm_core.models.fakes import ScriptedLLM
from elt_llm_core.settings.tree import EmbeddingSettings, QuerySettings, Settings
from elt_llm_query.engine import Engine, open_engine
from elt_llm_query.integrations.llama_index import LlamaIndexQueryEngine, LlamaIndexRetriever
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode
from optional import needs
from stored.folders import run_ingest, write_files

FAKE = Settings(embedding=EmbeddingSettings(provider="fake"), query=QuerySettings(cache_size=0))
SHIP = {"mast.md": "# Mast\n\nThe mast is twelve metres tall.\n", "keel.md": "# Keel\n\nThe keel is made of oak.\n"}
TALL = "How tall is the mast?"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine over two short documents, which quotes its answers."""
    run_ingest(tmp_path / "data", write_files(tmp_path / "ship", SHIP), collection="ship")
    with open_engine(FAKE, tmp_path / "data", ["ship"]) as one:
        yield one


def test_the_llama_index_retriever_returns_the_chunks_of_the_engine_with_their_metadata(engine: Engine) -> None:
    nodes = LlamaIndexRetriever(engine).retrieve(TALL)
    chunks = engine.search(TALL).chunks
    assert [(it.node_id, it.score, it.text) for it in nodes] == [(it.node_id, it.score, it.text) for it in chunks]
    assert nodes[0].metadata["citation"] == "mast.md, Mast"
    assert nodes[0].metadata["span"] == list(chunks[0].span)
    assert nodes[0].metadata["cosine"] == chunks[0].cosine
    assert json.loads(json.dumps(nodes[0].metadata)) == nodes[0].metadata
    assert nodes[0].get_content(MetadataMode.LLM).startswith("citation: mast.md, Mast\n\n")


def test_the_llama_index_retriever_applies_filters_and_limits_and_works_asynchronously(engine: Engine) -> None:
    retriever = LlamaIndexRetriever(engine, top_k=1, where=["source=keel.md"])
    [node] = asyncio.run(retriever.aretrieve("mast or keel"))
    assert node.metadata["source"] == "keel.md"


def test_the_retrievers_warn_with_the_notes_of_a_search_that_found_nothing(engine: Engine) -> None:
    where = ["source=meast.md"]
    with pytest.warns(UserWarning, match=r"Nearest: mast\.md"):
        assert LlamaIndexRetriever(engine, where=where).retrieve(TALL) == []
    needs("langchain_core")
    from elt_llm_query.integrations.langchain import LangChainRetriever

    with pytest.warns(UserWarning, match=r"Nearest: mast\.md"):
        assert LangChainRetriever(engine=engine, where=where).invoke(TALL) == []


def test_the_llama_index_query_engine_answers_with_citations_and_their_chunks(engine: Engine) -> None:
    asked = LlamaIndexQueryEngine(engine)
    for response in (asked.query(TALL), asyncio.run(asked.aquery(TALL))):
        assert str(response).startswith("The mast is twelve metres tall.")
        assert response.metadata is not None
        [citation] = response.metadata["citations"]
        assert citation["excerpt"] == "The mast is twelve metres tall."
        [cited] = [node for node in response.source_nodes if node.metadata["citations"]]
        assert (cited.metadata["citations"], cited.metadata["source"]) == ([citation], "mast.md")


def test_the_llama_index_query_engine_reports_that_the_documents_hold_no_answer(engine: Engine) -> None:
    response = LlamaIndexQueryEngine(engine).query("Who won the chess olympiad of 1972?")
    assert str(response).startswith("Not found in these documents.")
    assert response.metadata is not None
    assert response.metadata["outcome"] == "not found"


def test_a_llama_index_query_engine_answers_from_our_retriever(engine: Engine) -> None:
    llm = ScriptedLLM(["Twelve metres."])
    response = RetrieverQueryEngine.from_args(LlamaIndexRetriever(engine), llm=llm).query(TALL)
    assert str(response) == "Twelve metres."
    assert "The mast is twelve metres tall." in llm.prompts[0]


def test_the_langchain_retriever_returns_the_chunks_of_the_engine_with_their_metadata(engine: Engine) -> None:
    needs("langchain_core")
    from elt_llm_query.integrations.langchain import LangChainRetriever

    retriever = LangChainRetriever(engine=engine, top_k=1)
    for [document] in (retriever.invoke(TALL), asyncio.run(retriever.ainvoke(TALL))):
        [chunk] = engine.search(TALL, top_k=1).chunks
        assert (document.id, document.page_content) == (chunk.node_id, chunk.text)
        assert (document.metadata["score"], document.metadata["citation"]) == (chunk.score, "mast.md, Mast")
