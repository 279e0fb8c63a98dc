"""The dense and the keyword retriever of one collection."""

import bm25s
import numpy as np
from elt_llm_core.index.searchable import Ranking, Searchable
from elt_llm_core.models.embedding_model import EmbeddingModel
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from numpy.typing import NDArray

from elt_llm_query.retrieve.filters import FilteredQueryBundle, limited_top_k
from elt_llm_query.retrieve.query_variant import keyword_query


class DenseRetriever(BaseRetriever):
    """Retrieves the nearest nodes by cosine, without their texts; equal cosines are ordered by node id."""

    def __init__(self, generation: Searchable, embedding: EmbeddingModel, top_k: int) -> None:
        self._generation = generation
        self._embedding = embedding
        self.similarity_top_k = top_k
        super().__init__()

    def ranking(self, query_bundle: QueryBundle) -> Ranking:
        """Return ids and cosines, best first."""
        top_k = limited_top_k(min(self.similarity_top_k, self._generation.size), query_bundle)
        if top_k == 0:
            return []
        allowed = query_bundle.allowed if isinstance(query_bundle, FilteredQueryBundle) else None
        return self._generation.nearest(self._vector(query_bundle), top_k, allowed)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _as_nodes(self.ranking(query_bundle))

    def _vector(self, query_bundle: QueryBundle) -> NDArray[np.float32]:
        # The caller has usually embedded the question once for all collections with the same model.
        if isinstance(query_bundle, FilteredQueryBundle) and query_bundle.vector is not None:
            return query_bundle.vector
        if query_bundle.embedding:
            return np.array(query_bundle.embedding, dtype=np.float32)
        return self._embedding.embed_question(query_bundle.query_str)


class KeywordRetriever(BM25Retriever):
    """Retrieves the nodes with the best BM25 scores, without their texts; equal scores are ordered by node id.

    Unlike in the parent class, the index's tokeniser stems the question, nodes without a matching word are not
    returned, and `similarity_top_k` keeps its value in a smaller collection. The collection computes the scores, so no
    bm25s index is needed.
    """

    def __init__(self, generation: Searchable, top_k: int) -> None:
        self._generation = generation
        super().__init__(existing_bm25=_empty_index(), similarity_top_k=top_k, skip_stemming=True)

    def ranking(self, query_bundle: QueryBundle) -> Ranking:
        """Return ids and scores, best first."""
        bundle = query_bundle if isinstance(query_bundle, FilteredQueryBundle) else None
        query = keyword_query(query_bundle.query_str, bundle.names if bundle else (), self._generation)
        top_k = limited_top_k(self.similarity_top_k, query_bundle)
        return self._generation.matching(query, top_k, bundle.allowed if bundle else None)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _as_nodes(self.ranking(query_bundle))


def _empty_index() -> bm25s.BM25:
    """Return an index without any words, because the constructor of the parent class requires an index."""
    index = bm25s.BM25()
    index.scores = {"num_docs": 0}
    index.vocab_dict = {}
    return index


def _as_nodes(ranking: Ranking) -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(id_=node_id, text=""), score=score) for node_id, score in ranking]
