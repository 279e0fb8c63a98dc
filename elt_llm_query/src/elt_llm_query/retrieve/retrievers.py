"""The dense and the keyword retriever of one generation."""

import bm25s
import numpy as np
from elt_llm_core.collection.generation import Generation
from elt_llm_core.index.contents import top_positions
from elt_llm_core.index.vector_index import ExactVectorStore
from elt_llm_core.models.embedding_model import EmbeddingModel
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery
from llama_index.retrievers.bm25 import BM25Retriever
from numpy.typing import NDArray

from elt_llm_query.retrieve.filters import FilteredQueryBundle, Mask, limited_top_k
from elt_llm_query.retrieve.fusion import Ranking
from elt_llm_query.retrieve.query_variant import score_with_alternatives

# If a mask allows less than one node in eight, only the vectors of these nodes are read; otherwise all vectors are.
_FEW = 8


class DenseRetriever(BaseRetriever):
    """A retriever of the nearest nodes by cosine, without their texts; equal cosines are ordered by node id.

    Under a mask, cosines are computed from the vectors of the generation. Filtering the nearest nodes of a vector index
    would lose some of the allowed nodes.
    """

    def __init__(self, generation: Generation, embedding: EmbeddingModel, top_k: int) -> None:
        self._generation = generation
        self._embedding = embedding
        self.similarity_top_k = top_k
        super().__init__()

    def ranking(self, query_bundle: QueryBundle) -> Ranking:
        """Return ids and cosines, best first."""
        top_k = limited_top_k(min(self.similarity_top_k, len(self._generation.ids)), query_bundle)
        if top_k == 0:
            return []
        store = self._generation.vector_store
        mask = query_bundle.mask if isinstance(query_bundle, FilteredQueryBundle) else None
        if mask is not None or type(store) is ExactVectorStore:
            return self._nearest_of(self._vector(query_bundle), mask, top_k)
        vector = self._vector(query_bundle).tolist()
        result = store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=top_k))
        hits = zip(result.ids or [], result.similarities or [], strict=True)
        return [(node_id, float(score)) for node_id, score in sorted(hits, key=lambda hit: (-hit[1], hit[0]))]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _as_nodes(self.ranking(query_bundle))

    def _vector(self, query_bundle: QueryBundle) -> NDArray[np.float32]:
        # The caller embeds the question once for all collections of one model.
        if isinstance(query_bundle, FilteredQueryBundle) and query_bundle.vector is not None:
            return query_bundle.vector
        if query_bundle.embedding:
            return np.array(query_bundle.embedding, dtype=np.float32)
        return self._embedding.embed_question(query_bundle.query_str)

    def _nearest_of(self, vector: NDArray[np.float32], mask: Mask | None, top_k: int) -> Ranking:
        vectors, ids = self._generation.vectors, self._generation.ids
        if mask is None:
            cosines = vectors @ vector
            return [(ids[index], float(cosines[index])) for index in top_positions(cosines, top_k).tolist()]
        allowed = np.flatnonzero(mask)
        few = len(allowed) * _FEW < len(mask)
        cosines = vectors[allowed] @ vector if few else (vectors @ vector)[allowed]
        return [(ids[allowed[index]], float(cosines[index])) for index in top_positions(cosines, top_k).tolist()]


class KeywordRetriever(BM25Retriever):
    """A retriever of the nodes with the best BM25 scores, without their texts; equal scores are ordered by node id.

    The class corrects three faults of its parent. The tokeniser of the index stems the question, nodes without a
    matching word are not returned, and `similarity_top_k` keeps its value in a smaller collection.
    """

    def __init__(self, generation: Generation, top_k: int) -> None:
        self._generation = generation
        self._ids = generation.ids
        index = generation.keyword.bm25
        # The parent would warn of each small collection, and would reduce top_k to its size permanently.
        fitting = min(top_k, max(1, len(self._ids)))
        super().__init__(existing_bm25=index or _empty_index(), similarity_top_k=fitting, skip_stemming=True)
        self.similarity_top_k = top_k

    def ranking(self, query_bundle: QueryBundle) -> Ranking:
        """Return ids and scores, best first."""
        names = query_bundle.names if isinstance(query_bundle, FilteredQueryBundle) else ()
        scores = self._generation.keyword.scores(query_bundle.query_str)
        if names:
            scores = score_with_alternatives(scores, names, self._generation, self._generation.keyword.scores)
        matches = scores > 0
        if isinstance(query_bundle, FilteredQueryBundle) and query_bundle.mask is not None:
            matches &= query_bundle.mask  # before the best nodes are selected, so that no allowed node is lost
        matching = np.flatnonzero(matches)
        # Positions ascend with node ids, so ties are broken by node id.
        best = matching[top_positions(scores[matching], limited_top_k(self.similarity_top_k, query_bundle))]
        return [(self._ids[position], float(scores[position])) for position in best.tolist()]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _as_nodes(self.ranking(query_bundle))


def _as_nodes(ranking: Ranking) -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(id_=node_id, text=""), score=score) for node_id, score in ranking]


def _empty_index() -> bm25s.BM25:
    """Return an index without words, because the parent class requires an index."""
    index = bm25s.BM25()
    index.scores = {"num_docs": 0}
    index.vocab_dict = {}
    return index
