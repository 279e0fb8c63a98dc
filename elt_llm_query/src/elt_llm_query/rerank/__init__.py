"""Rerankers. `create_reranker` builds the reranker that the settings name."""

import os
from typing import TYPE_CHECKING

from elt_llm_query.rerank.reranker import (
    NO_MODELS,
    EmbeddingReranker,
    FusedOrderReranker,
    ModelReranker,
    ModelSources,
    Reranker,
)

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import QuerySettings

    from elt_llm_query.rerank.reranker import ChunkScorer


def create_reranker(query: "QuerySettings", sources: ModelSources = NO_MODELS) -> Reranker:
    """Build the configured reranker; with `use_reranker: false`, one that keeps the fused order.

    Raises ModelError for a missing or damaged model, SettingsError for a model that the settings do not allow.
    """
    scorer: ChunkScorer
    match query.reranker_strategy if query.use_reranker else "none":
        case "none":
            return FusedOrderReranker()
        case "embedding":
            return EmbeddingReranker(query.rerank_weight)
        case "cross-encoder":
            from elt_llm_query.rerank.scorers import open_cross_encoder

            scorer = open_cross_encoder(query.reranker_model, sources.models_dir)
        case "llm":
            from elt_llm_query.rerank.scorers import open_llm_scorer

            scorer = open_llm_scorer(sources.llm)
        case "cohere":
            from elt_llm_query.rerank.scorers import open_cohere

            scorer = open_cohere(query.reranker_model, os.environ, allowed=sources.allow_remote)
        case "auto":
            from elt_llm_query.rerank.scorers import choose_scorer

            chosen, notes = choose_scorer(query.reranker_model, sources, os.environ)
            if chosen is None:
                return EmbeddingReranker(query.rerank_weight, notes=notes)
            scorer = chosen
    return ModelReranker(scorer, query.rerank_weight)
