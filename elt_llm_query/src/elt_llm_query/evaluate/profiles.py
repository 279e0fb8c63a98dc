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


def for_evaluation(settings: Settings) -> Settings:
    """Both legs asked for at least 100 and nothing left out, so that the cut made for a reader decides no figure."""
    return _with(settings, leg_top_k=max(DEPTH, settings.query.leg_top_k), min_relevance_score=0.0)


def _with(settings: Settings, **changed: object) -> Settings:
    query = QuerySettings.model_validate({**settings.query.model_dump(), **changed})
    return settings.model_copy(update={"query": query})
