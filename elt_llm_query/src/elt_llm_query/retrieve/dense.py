"""The vector leg: the generation's vector store asked with the question's embedding."""

from elt_llm_core.models.embedding_model import EmbeddingModel
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery

from elt_llm_query.retrieve.searchable import Searchable


class DenseRetriever(BaseRetriever):
    """Nearest nodes by cosine, ties by node id; ids only, the text is fetched for the survivors."""

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
        found = self._generation.vector_store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=top_k))
        hits = zip(found.ids or [], found.similarities or [], strict=True)
        ordered = sorted(hits, key=lambda hit: (-hit[1], hit[0]))
        return [NodeWithScore(node=TextNode(id_=node_id, text=""), score=float(score)) for node_id, score in ordered]
