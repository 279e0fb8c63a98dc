"""Strategies: how a question is searched for; `create_strategy` lists them all."""

from typing import TYPE_CHECKING

from elt_llm_query.retrieve.wording import LegChoice

if TYPE_CHECKING:
    from elt_llm_core.settings import QuerySettings, StrategyName
    from llama_index.core.llms import LLM

    from elt_llm_query.strategies.strategy import Strategy

MULTI_QUERY_NOTE = "The strategy multi_query needs a language model; the question was asked once, as hybrid."


def create_strategy(name: "StrategyName", query: "QuerySettings", _llm: "LLM | None" = None) -> "Strategy":
    """The strategy of this name. With `use_hybrid_search: false` only `sparse` asks for keywords."""
    from elt_llm_query.strategies.one_search import OneSearch

    both = LegChoice(dense=True, keyword=query.use_hybrid_search)
    match name:
        case "dense":
            return OneSearch(name, LegChoice(dense=True, keyword=False))
        case "sparse":
            return OneSearch(name, LegChoice(dense=False, keyword=True))
        case "hybrid":
            return OneSearch(name, both)
        case "multi_query":
            return OneSearch(name, both, notes=(MULTI_QUERY_NOTE,))
