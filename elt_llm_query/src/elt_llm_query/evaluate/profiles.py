"""The ways of asking that are measured against each other."""

from elt_llm_core.profiles import BUILT_IN_PROFILES
from elt_llm_core.settings import QuerySettings, Settings

DEPTH = 100


def comparison_profiles(settings: Settings) -> dict[str, Settings]:
    """Each leg alone, their fusion alone, the settings as they are, and the plain textbook."""
    return {
        "bm25": _with(settings, strategy="sparse", use_reranker=False),
        "dense": _with(settings, strategy="dense", use_reranker=False),
        "fusion": _with(settings, strategy="hybrid", use_reranker=False),
        "default": settings,
        "classic": BUILT_IN_PROFILES["classic"].apply_to(settings),
    }


def with_strategy(settings: Settings, name: str) -> Settings:
    """The settings with this strategy. Raises ValueError if there is none of the name."""
    return _with(settings, strategy=name)


def for_evaluation(settings: Settings) -> Settings:
    """Both legs asked for at least 100, nothing left out, widened or remembered: what is measured is the ranking.

    What a reader is spared or given besides would decide figures: of 100 passages in all most touch others, and a
    passage that is read with all its neighbours answers everything.
    """
    return _with(
        settings,
        leg_top_k=max(DEPTH, settings.query.leg_top_k),
        min_relevance_score=0.0,
        near_duplicate_cosine=1.0,
        max_per_source=0,
        read_parents=False,
        merge_adjacent=False,
        widen_sentences=0,
        cache_size=0,
    )


def _with(settings: Settings, **changed: object) -> Settings:
    query = QuerySettings.model_validate({**settings.query.model_dump(), **changed})
    return settings.model_copy(update={"query": query})
