"""The vector leg: the generation's vector store asked with the question's embedding, or all its vectors if filtered."""

import numpy as np
from elt_llm_core.index.arrays import best_places
from elt_llm_core.models.embedding_model import EmbeddingModel
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery
from numpy.typing import NDArray

from elt_llm_query.retrieve.masks import Mask, MaskedBundle
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

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        top_k = min(self.similarity_top_k, len(self._generation.ids))
        if top_k == 0:
            return []
        # The caller embeds once for all collections of one model and passes the vector along.
        vector = query_bundle.embedding or self._embedding.embed_question(query_bundle.query_str).tolist()
        if isinstance(query_bundle, MaskedBundle) and query_bundle.mask is not None:
            return self._nearest_of(np.array(vector, dtype=np.float32), query_bundle.mask, top_k)
        found = self._generation.vector_store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=top_k))
        hits = zip(found.ids or [], found.similarities or [], strict=True)
        ordered = sorted(hits, key=lambda hit: (-hit[1], hit[0]))
        return [NodeWithScore(node=TextNode(id_=node_id, text=""), score=float(score)) for node_id, score in ordered]

    def _nearest_of(self, vector: NDArray[np.float32], mask: Mask, top_k: int) -> list[NodeWithScore]:
        allowed = np.flatnonzero(mask)
        if len(allowed) * _FEW < len(mask):
            cosines = self._generation.vectors[allowed] @ vector
        else:
            cosines = (self._generation.vectors @ vector)[allowed]
        ids = self._generation.ids
        return [
            NodeWithScore(node=TextNode(id_=ids[allowed[place]], text=""), score=float(cosines[place]))
            for place in best_places(cosines, top_k).tolist()
        ]
