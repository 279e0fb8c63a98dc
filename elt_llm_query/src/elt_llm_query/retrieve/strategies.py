"""Which legs a question is asked of."""

from dataclasses import dataclass

from elt_llm_core.settings import QuerySettings

MULTI_QUERY_NOTE = "The strategy multi_query needs a language model; the question was asked once, as hybrid."


@dataclass(frozen=True)
class LegChoice:
    """The legs a strategy asks, and what it cannot do."""

    dense: bool
    keyword: bool
    notes: tuple[str, ...] = ()


def choose_legs(query: QuerySettings) -> LegChoice:
    """The legs of the chosen strategy; `use_hybrid_search: false` means vectors only."""
    match query.strategy:
        case "sparse":
            return LegChoice(dense=False, keyword=True)
        case "dense":
            return LegChoice(dense=True, keyword=False)
        case "hybrid":
            return LegChoice(dense=True, keyword=query.use_hybrid_search)
        case "multi_query":
            return LegChoice(dense=True, keyword=query.use_hybrid_search, notes=(MULTI_QUERY_NOTE,))
