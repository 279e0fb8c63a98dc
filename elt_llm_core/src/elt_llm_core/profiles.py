"""The profiles that exist without any file; `elt-llm init` writes them out as examples to change."""

from collections.abc import Mapping
from types import MappingProxyType

from elt_llm_core.settings import Profile, QuerySettings

BUILT_IN_PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "default": Profile(description="The settings as they are: both legs, reranked by cosine and keyword score."),
        "classic": Profile(
            description="The plain textbook: reciprocal rank fusion of 20 and 20, reordered by cosine, the best 8.",
            query=QuerySettings(
                use_hybrid_search=True,
                strategy="hybrid",
                fusion="reciprocal_rerank",
                dense_weight=0.5,
                leg_top_k=20,
                use_reranker=True,
                reranker_strategy="embedding",
                rerank_weight=1.0,
                reranker_retrieve_k=20,
                reranker_top_k=8,
            ),
        ),
        "fast": Profile(
            description="Fused and not reranked.",
            query=QuerySettings(use_reranker=False),
        ),
        "thorough": Profile(
            description="Several variants of the question, and passages that differ from each other.",
            query=QuerySettings(strategy="multi_query", num_queries=4, use_mmr=True),
        ),
    }
)
