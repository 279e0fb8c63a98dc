"""A reranker as LlamaIndex sees one, for query engines that are put together from its parts."""

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import PrivateAttr

from elt_llm_query.rerank.reranker import Reranker
from elt_llm_query.retrieve.candidates import from_node, to_node
from elt_llm_query.retrieve.collections import OpenCollection, Pool, embed_question


class RerankPostprocessor(BaseNodePostprocessor):
    """Reranks the nodes that a retriever of one collection found. Without a question it keeps their order."""

    _reranker: Reranker = PrivateAttr()
    _collection: OpenCollection = PrivateAttr()

    def __init__(self, reranker: Reranker, collection: OpenCollection) -> None:
        super().__init__()
        self._reranker = reranker
        self._collection = collection

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex serialises it under."""
        return "RerankPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None or not nodes:
            return nodes
        vectors, _ = embed_question(query_bundle.query_str, [self._collection])
        candidates = tuple(from_node(node, self._collection.name) for node in nodes)
        pool = Pool(self._collection, candidates, vectors.get(self._collection.space), query_bundle.query_str)
        return [to_node(candidate) for candidate in self._reranker.rerank(query_bundle.query_str, [pool])]
