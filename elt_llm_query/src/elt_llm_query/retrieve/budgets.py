"""How many candidates each of several collections may bring, and have read by a model."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from elt_llm_core.results import TraceStage
from elt_llm_core.settings import QuerySettings

from elt_llm_query.retrieve.collections import Pool

FEWEST = 8  # each leg of a collection brings so many at least: as many as are read


def equal_shares(total: int, wanted: Sequence[int], least: int = 1, most: int | None = None) -> list[int]:
    """Shares of `total`, 0 or more each: none above what is wanted or `most`, none below `least` unless so wanted.

    What one does not want the others get. `least` goes before the total. The first get what cannot be divided.
    """
    limits = [count if most is None else min(count, max(least, most)) for count in wanted]
    shares = [min(limit, least) for limit in limits]
    left = total - sum(shares)
    hungry = [place for place, limit in enumerate(limits) if shares[place] < limit]
    while left > 0 and hungry:
        each = max(1, left // len(hungry))
        for place in hungry:
            given = min(each, left, limits[place] - shares[place])
            shares[place] += given
            left -= given
        hungry = [place for place in hungry if shares[place] < limits[place]]
    return shares


def leg_budgets(findable: Sequence[int], query: QuerySettings) -> list[int]:
    """How many candidates each leg of each collection brings, which has so many nodes that may be found."""
    if len(findable) < 2:
        return [query.leg_top_k] * len(findable)
    total = max(query.all_legs_top_k, query.leg_top_k)
    return equal_shares(total, [min(one, query.leg_top_k) for one in findable], least=FEWEST, most=query.leg_top_k)


def share_budget(pools: Sequence[Pool], query: QuerySettings) -> list[Pool]:
    """Pools cut to their shares of what a reranker that calls a model may read, best fused first."""
    brought = [len(pool.candidates) for pool in pools]
    if len(pools) < 2:
        shares = [query.reranker_retrieve_k] * len(pools)
    else:
        least, most = query.collection_budget_min, query.collection_budget_max
        shares = equal_shares(query.reranker_retrieve_k, brought, least, most)
    return [replace(pool, candidates=pool.candidates[:share]) for pool, share in zip(pools, shares, strict=True)]


def budget_of(stages: Iterable[TraceStage]) -> dict[str, dict[str, int]]:
    """What each collection that was asked might bring, brought and had read, in the last round that says so."""
    budgets: dict[str, dict[str, int]] = {}
    for stage in stages:
        for name, budget in stage.details.get("budget", {}).items():
            budgets.setdefault(name, {}).update(budget)
    return budgets
