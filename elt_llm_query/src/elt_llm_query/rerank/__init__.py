"""Rerankers. `create_reranker` builds the reranker that the settings name."""

import os

from elt_llm_core.settings.tree import QuerySettings

from elt_llm_query.rerank.reranker import (
    NO_MODELS,
    ChunkScorer,
    EmbeddingReranker,
    FusedOrderReranker,
    ModelReranker,
    ModelSources,
    Reranker,
)


def create_reranker(query: QuerySettings, sources: ModelSources = NO_MODELS) -> Reranker:
    """Build the configured reranker; with `use_reranker: false`, one that keeps the fused order.

    Raises ModelError for a missing or damaged model, SettingsError for a model that the settings do not allow.
    """
    if query.reranker_strategy == "none" or not query.use_reranker:
        return FusedOrderReranker()
    if query.reranker_strategy == "embedding":
        return EmbeddingReranker(query.rerank_weight)
    from elt_llm_query.rerank import scorers

    scorer: ChunkScorer | None
    notes: tuple[str, ...] = ()
    match query.reranker_strategy:
        case "cross-encoder":
            scorer = scorers.open_cross_encoder(query.reranker_model, sources.models_dir)
        case "llm":
            scorer = scorers.open_llm_scorer(sources.llm)
        case "cohere":
            scorer = scorers.open_cohere(query.reranker_model, os.environ, allowed=sources.allow_remote)
        case "auto":
            scorer, notes = scorers.choose_scorer(query.reranker_model, sources, os.environ)
    return ModelReranker(scorer, query.rerank_weight) if scorer else EmbeddingReranker(query.rerank_weight, notes=notes)
