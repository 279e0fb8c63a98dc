"""The vector leg: the generation's vector store asked with the question's embedding, or all its vectors if filtered."""

import numpy as np
from elt_llm_core.index.arrays import best_places
from elt_llm_core.index.exact import ExactVectorStore
from elt_llm_core.models.embedding_model import EmbeddingModel
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery
from numpy.typing import NDArray

from elt_llm_query.retrieve.candidates import Ranking
from elt_llm_query.retrieve.masks import Mask, MaskedBundle, bounded
from elt_llm_query.retrieve.searchable import Searchable

_FEW = 8  # one node in so many: fewer are gathered, of more all cosines are taken, which reads the vectors in order


class DenseRetriever(BaseRetriever):
    """Nearest nodes by cosine, ties by node id; ids only, the text is fetched for the survivors.

    Under a mask the cosines come from the generation's own vectors: none is lost, as an index that is searched for
    the nearest and filtered afterwards would lose them.
    """

    def __init__(self, generation: Searchable, embedding: EmbeddingModel, top_k: int) -> None:
        self._generation = generation
        self._embedding = embedding
        self.similarity_top_k = top_k
        super().__init__()

    def ranking(self, query_bundle: QueryBundle) -> Ranking:
        """Ids and cosines, best first, without a node around each."""
        top_k = bounded(min(self.similarity_top_k, len(self._generation.ids)), query_bundle)
        if top_k == 0:
            return []
        store = self._generation.vector_store
        mask = query_bundle.mask if isinstance(query_bundle, MaskedBundle) else None
        if mask is not None or type(store) is ExactVectorStore:
            return self._nearest_of(self._vector(query_bundle), mask, top_k)
        vector = self._vector(query_bundle).tolist()
        found = store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=top_k))
        hits = zip(found.ids or [], found.similarities or [], strict=True)
        return [(node_id, float(score)) for node_id, score in sorted(hits, key=lambda hit: (-hit[1], hit[0]))]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(id_=node_id, text=""), score=score)
            for node_id, score in self.ranking(query_bundle)
        ]

    def _vector(self, query_bundle: QueryBundle) -> NDArray[np.float32]:
        # The caller embeds once for all collections of one model and passes the vector along.
        if isinstance(query_bundle, MaskedBundle) and query_bundle.vector is not None:
            return query_bundle.vector
        if query_bundle.embedding:
            return np.array(query_bundle.embedding, dtype=np.float32)
        return self._embedding.embed_question(query_bundle.query_str)

    def _nearest_of(self, vector: NDArray[np.float32], mask: Mask | None, top_k: int) -> Ranking:
        vectors, ids = self._generation.vectors, self._generation.ids
        if mask is None:
            cosines = vectors @ vector
            return [(ids[place], float(cosines[place])) for place in best_places(cosines, top_k).tolist()]
        allowed = np.flatnonzero(mask)
        few = len(allowed) * _FEW < len(mask)
        cosines = vectors[allowed] @ vector if few else (vectors @ vector)[allowed]
        return [(ids[allowed[place]], float(cosines[place])) for place in best_places(cosines, top_k).tolist()]
