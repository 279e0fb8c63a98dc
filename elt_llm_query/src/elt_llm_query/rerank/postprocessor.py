"""A reranker as a LlamaIndex node postprocessor."""

from elt_llm_core.errors import EltError
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import PrivateAttr

from elt_llm_query.rerank.reranker import Reranker
from elt_llm_query.retrieve.fusion import from_node, to_node
from elt_llm_query.retrieve.pools import OpenCollection, Pool
from elt_llm_query.retrieve.query_variant import QueryVariant


class RerankPostprocessor(BaseNodePostprocessor):
    """Reranks nodes of one collection. Without a question, the order of the nodes is kept."""

    _reranker: Reranker = PrivateAttr()
    _collection: OpenCollection = PrivateAttr()

    def __init__(self, reranker: Reranker, collection: OpenCollection) -> None:
        super().__init__()
        self._reranker = reranker
        self._collection = collection

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises the postprocessor."""
        return "RerankPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None or not nodes:
            return nodes
        question = query_bundle.query_str
        try:
            vector = self._collection.embedding.embed_question(question)
        except EltError:  # without a vector, keywords alone decide the order
            vector = None
        candidates = tuple(from_node(node, self._collection.name) for node in nodes)
        pool = Pool(self._collection, candidates, vector, QueryVariant(question))
        return [to_node(candidate) for candidate in self._reranker.rerank(question, [pool]).candidates]
