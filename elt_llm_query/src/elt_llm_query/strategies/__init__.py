"""Strategies: how a question is searched for; `create_strategy` lists them all."""

from typing import TYPE_CHECKING

from elt_llm_query.retrieve.wording import LegChoice

if TYPE_CHECKING:
    from elt_llm_core.settings import QuerySettings, StrategyName
    from llama_index.core.llms import LLM

    from elt_llm_query.strategies.strategy import Strategy


def may_ask_model(name: "StrategyName", query: "QuerySettings") -> bool:
    """Whether a search by this strategy, reranked as configured, asks a language model where there is one."""
    return name not in {"dense", "sparse", "hybrid"} or query.reranker_strategy == "llm"


def create_strategy(name: "StrategyName", query: "QuerySettings", llm: "LLM | None" = None) -> "Strategy":
    """The strategy of this name. With `use_hybrid_search: false` only `sparse` asks for keywords.

    `llm` is any language model of LlamaIndex; a strategy that wants one and has none says so in its notes.
    """
    both = LegChoice(dense=True, keyword=query.use_hybrid_search)
    match name:
        case "dense" | "sparse" | "hybrid":
            from elt_llm_query.strategies.one_search import OneSearch

            one = {"dense": LegChoice(dense=True, keyword=False), "sparse": LegChoice(dense=False, keyword=True)}
            return OneSearch(name, one.get(name, both))
        case "multi_query":
            from elt_llm_query.strategies.multi_query import MultiQuery

            return MultiQuery(both, query.num_queries, llm)
        case "hyde":
            from elt_llm_query.strategies.hyde import Hyde

            return Hyde(both, llm)
        case "multi_hop":
            from elt_llm_query.strategies.multi_hop import MultiHop

            return MultiHop(both, query.max_hops, llm)
        case "auto":
            return _create_auto(query, llm)


def _create_auto(query: "QuerySettings", llm: "LLM | None") -> "Strategy":
    from elt_llm_query.strategies.auto import Auto
    from elt_llm_query.strategies.multi_hop import MultiHop

    routes: tuple[StrategyName, ...] = ("sparse", "hybrid", "multi_query")
    strategies: dict[str, Strategy] = {name: create_strategy(name, query, llm) for name in routes}
    both = LegChoice(dense=True, keyword=query.use_hybrid_search)
    # Nobody asked for hops here: only those that the documents themselves make are taken.
    return Auto({**strategies, "multi_hop": MultiHop(both, query.max_hops, llm, needs_link=True)})
