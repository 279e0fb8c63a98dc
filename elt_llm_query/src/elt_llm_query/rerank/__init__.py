"""Rerankers; `create_reranker` lists them all."""

from typing import TYPE_CHECKING

from elt_llm_query.rerank.scorer import NO_MODELS, ModelSources

if TYPE_CHECKING:
    from elt_llm_core.settings import QuerySettings

    from elt_llm_query.rerank.reranker import Reranker
    from elt_llm_query.rerank.scorer import PassageScorer


def create_reranker(query: "QuerySettings", sources: ModelSources = NO_MODELS) -> "Reranker":
    """The reranker the settings name; `use_reranker: false` is the same as none.

    Raises ModelError for a model that is not there or damaged, SettingsError for one that cannot or must not be used.
    """
    match query.reranker_strategy if query.use_reranker else "none":
        case "embedding":
            return _embedding(query)
        case "cross-encoder":
            from elt_llm_query.rerank.cross_encoder import open_cross_encoder

            return _by_model(open_cross_encoder(query.reranker_model, sources.models_dir), query)
        case "llm":
            from elt_llm_query.rerank.llm import open_llm_scorer

            return _by_model(open_llm_scorer(sources.llm), query)
        case "cohere":
            import os

            from elt_llm_query.rerank.cohere import open_cohere

            return _by_model(open_cohere(query.reranker_model, os.environ, allowed=sources.allow_remote), query)
        case "auto":
            return _automatic(query, sources)
        case "none":
            from elt_llm_query.rerank.fused_order import FusedOrder

            return FusedOrder()


def _embedding(query: "QuerySettings") -> "Reranker":
    from elt_llm_query.rerank.embedding import EmbeddingReranker

    return EmbeddingReranker(weight=query.rerank_weight)


def _by_model(scorer: "PassageScorer", query: "QuerySettings") -> "Reranker":
    from elt_llm_query.rerank.model_reranker import ModelReranker

    return ModelReranker(scorer, weight=query.rerank_weight)


def _automatic(query: "QuerySettings", sources: ModelSources) -> "Reranker":
    import os

    from elt_llm_query.rerank.automatic import choose_scorer
    from elt_llm_query.rerank.noted import Noted

    choice = choose_scorer(query.reranker_model, sources, os.environ)
    if choice.scorer is not None:
        return _by_model(choice.scorer, query)
    return Noted(_embedding(query), choice.notes) if choice.notes else _embedding(query)
