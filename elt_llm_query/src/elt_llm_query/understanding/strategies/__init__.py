"""Search strategies, which decide how often to search for a question, and with which query variants."""

from typing import TYPE_CHECKING

from elt_llm_core.settings.tree import QuerySettings, StrategyName

from elt_llm_query.retrieve.query_variant import RetrieverChoice
from elt_llm_query.understanding.strategies.multi_hop import MultiHopStrategy
from elt_llm_query.understanding.strategies.query_expansion import HydeStrategy, MultiQueryStrategy
from elt_llm_query.understanding.strategies.strategy import AutoStrategy, SingleSearchStrategy, Strategy

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


def may_ask_model(name: StrategyName, query: QuerySettings) -> bool:
    """Return whether this strategy or the configured reranker calls a language model if one is in use."""
    return name not in {"dense", "sparse", "hybrid"} or query.reranker_strategy == "llm"


def create_strategy(name: StrategyName, query: QuerySettings, llm: "LLM | None" = None) -> Strategy:
    """Build the strategy with this name. With `use_hybrid_search: false`, only `sparse` uses keywords.

    `llm` is any LlamaIndex language model. A strategy that needs one but has none uses a fallback and adds a note.
    """
    both = RetrieverChoice(dense=True, keyword=query.use_hybrid_search)
    match name:
        case "dense" | "hybrid":
            return SingleSearchStrategy(name, both if name == "hybrid" else RetrieverChoice(dense=True, keyword=False))
        case "sparse":
            return SingleSearchStrategy(name, RetrieverChoice(dense=False, keyword=True))
        case "multi_query":
            return MultiQueryStrategy(both, query.num_queries, llm)
        case "hyde":
            return HydeStrategy(both, llm)
        case "multi_hop":
            return MultiHopStrategy(both, query.max_hops, llm)
        case "auto":
            routes: tuple[StrategyName, ...] = ("sparse", "hybrid", "multi_query")
            strategies: dict[str, Strategy] = {route: create_strategy(route, query, llm) for route in routes}
            # The user did not choose multi-hop, so a hop needs a link between two documents.
            hops = MultiHopStrategy(both, query.max_hops, llm, needs_link=True)
            return AutoStrategy({**strategies, "multi_hop": hops})
