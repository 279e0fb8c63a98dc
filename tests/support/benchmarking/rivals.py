"""Baselines of the retrieval benchmark: the raw libraries, and LlamaIndex with its defaults."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import chromadb
from chromadb.config import Settings as ClientSettings
from elt_llm_core.collection.generation import Generation
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import Closeable
from llama_index.core import VectorStoreIndex
from llama_index.core.llms.mock import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import BaseNode, NodeWithScore, TextNode
from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.vector_stores.chroma import ChromaVectorStore

RETRIEVER_TOP_K, TOP_K = 50, 8
_COLLECTION, _BM25 = "stock", "bm25"
_SLICE = 2000
_PLAIN = ("file", "title", "year", "section", "content_hash", "chunk_index", "chunk_total")


class RawParts:
    """Calls Chroma directly on the index that LlamaIndex uses, and bm25s directly on our index."""

    def __init__(self, generation: Generation, model: EmbeddingModel, collection: chromadb.Collection) -> None:
        bm25 = generation.keyword.bm25
        if bm25 is None:
            raise ValueError(f"'{generation.collection}' has no BM25 index: {generation.notes}.")
        self.model = model
        self._collection = collection
        self._bm25: bm25s.BM25 = bm25
        self._tokeniser: KeywordTokeniser = generation.keyword.tokeniser
        self._top_k = min(RETRIEVER_TOP_K, generation.size)

    def embed(self, question: str) -> list[float]:
        """The vector of a question."""
        vector: list[float] = self.model.embed_question(question).tolist()
        return vector

    def chroma(self, vector: Sequence[float]) -> Any:
        """Return the ids and distances of the 50 nearest chunks."""
        return self._collection.query(query_embeddings=[vector], n_results=self._top_k, include=["distances"])

    def bm25(self, question: str) -> Any:
        """Return the row numbers and scores of the 50 best chunks of bm25s."""
        return self._bm25.retrieve([self._tokeniser.stems(question)], k=self._top_k, show_progress=False)


def build_stock(folder: Path, generation: Generation) -> None:
    """Build LlamaIndex's own stores with the same chunks, vectors and metadata, as its guides describe."""
    nodes = _stock_nodes(generation)
    client = _client(folder)
    collection = client.create_collection(_COLLECTION, embedding_function=None)
    store = ChromaVectorStore(chroma_collection=collection)
    for start in range(0, len(nodes), _SLICE):
        store.add(nodes[start : start + _SLICE])
    client.close()
    BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=RETRIEVER_TOP_K).persist(str(folder / _BM25))


def _stock_nodes(generation: Generation) -> list[BaseNode]:
    nodes: list[BaseNode] = []
    every_id = generation.ids
    for start in range(0, generation.size, _SLICE):
        ids = every_id[start : start + _SLICE]
        vectors = generation.vectors(ids).tolist()
        for stored, vector in zip(generation.nodes(ids), vectors, strict=True):
            known = {**stored.metadata, "file": stored.source, "title": stored.title, "section": stored.section}
            metadata = {name: known[name] for name in _PLAIN if known.get(name) is not None}
            nodes.append(
                TextNode(
                    id_=stored.node_id,
                    text=f"{stored.context}\n{stored.text}",
                    metadata=metadata,
                    excluded_embed_metadata_keys=list(metadata),
                    embedding=vector,
                )
            )
    return nodes


class Stock(Closeable):
    """LlamaIndex's QueryFusionRetriever over its BM25Retriever and ChromaVectorStore."""

    def __init__(self, folder: Path, model: EmbeddingModel, *, filtered: bool = True) -> None:
        self._client = _client(folder)
        self.collection: chromadb.Collection = self._client.get_collection(_COLLECTION, embedding_function=None)
        store = ChromaVectorStore(chroma_collection=self.collection)
        self._index = VectorStoreIndex.from_vector_store(store, embed_model=model)
        self._bm25 = bm25s.BM25.load(folder / _BM25, load_corpus=True, show_progress=False)
        wanted = _FILTERS if filtered else {"": None}
        self._retrievers = {where: self._fusion(filters) for where, filters in wanted.items()}

    def search(self, question: str, where: str = "") -> list[NodeWithScore]:
        """Return the 8 best chunks with text and metadata."""
        return self._retrievers[where].retrieve(question)

    def close(self) -> None:
        """Close Chroma."""
        self._client.close()

    def _fusion(self, filters: MetadataFilters | None) -> QueryFusionRetriever:
        logging.getLogger("llama_index.retrievers.bm25.base").setLevel(logging.ERROR)
        return QueryFusionRetriever(
            [
                self._index.as_retriever(similarity_top_k=RETRIEVER_TOP_K, filters=filters),
                BM25Retriever(existing_bm25=self._bm25, similarity_top_k=RETRIEVER_TOP_K, filters=filters),
            ],
            llm=MockLLM(),
            mode=FUSION_MODES.RECIPROCAL_RANK,
            similarity_top_k=TOP_K,
            num_queries=1,
            use_async=False,  # with use_async it still calls the retrievers one after the other
        )


def _filter(operator: FilterOperator) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key="year", value=2000, operator=operator)])


FEW, HALF = "year=2000", "year>=2000"
_FILTERS: dict[str, MetadataFilters | None] = {
    "": None,
    FEW: _filter(FilterOperator.EQ),
    HALF: _filter(FilterOperator.GTE),
}


def _client(folder: Path) -> Any:
    settings = ClientSettings(anonymized_telemetry=False)
    return chromadb.PersistentClient(path=str(folder / "chroma"), settings=settings)
