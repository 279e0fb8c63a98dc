"""Rerankers; `create_reranker` lists them all."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elt_llm_core.settings import QuerySettings

    from elt_llm_query.rerank.reranker import Reranker


def create_reranker(query: "QuerySettings") -> "Reranker":
    """The reranker the settings name; `use_reranker: false` is the same as none."""
    match query.reranker_strategy if query.use_reranker else "none":
        case "embedding":
            from elt_llm_query.rerank.embedding import EmbeddingReranker

            return EmbeddingReranker(weight=query.rerank_weight)
        case "none":
            from elt_llm_query.rerank.fused_order import FusedOrder

            return FusedOrder()
