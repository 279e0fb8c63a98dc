"""Two rankings into one: pure functions, and the LlamaIndex retriever that asks both legs at once."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, runtime_checkable

from elt_llm_core.errors import EltError
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms.mock import MockLLM
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from elt_llm_query.retrieve.candidates import Candidate, Ranking, join_legs, to_node
from elt_llm_query.retrieve.wording import BOTH, LegChoice

Fusion = Literal["reciprocal_rerank", "relative_score"]
RANK_CONSTANT = 60
LIKENESS_SLOPE = 0.2
# What a damaged index, a full disk or a model that does not answer raises; anything else is a mistake of ours.
LEG_FAILURES = (EltError, OSError, ValueError, RuntimeError)


def reciprocal_rank_fusion(rankings: Sequence[Ranking], weights: Sequence[float], k: int = RANK_CONSTANT) -> Ranking:
    """Sum of weight / (k + rank), ranks from 1, over the rankings that hold the id; ties by node id.

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods", SIGIR 2009, which has k = 60 and no weights.
    """
    shares: dict[str, list[float]] = defaultdict(list)
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, (node_id, _) in enumerate(ranking, 1):
            shares[node_id].append(weight / (k + rank))
    return _ordered(shares)


def relative_score_fusion(rankings: Sequence[Ranking], weights: Sequence[float]) -> Ranking:
    """Sum of weight x min-max score; an id that a ranking lacks gets 0 from it; ties by node id.

    The scores of a ranking that are all equal count as 1.
    """
    shares: dict[str, list[float]] = defaultdict(list)
    for ranking, weight in zip(rankings, weights, strict=True):
        scores = [score for _, score in ranking]
        low, spread = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
        for node_id, score in ranking:
            shares[node_id].append(weight * ((score - low) / spread if spread > 0 else 1.0))
    return _ordered(shares)


def fuse(fusion: Fusion, rankings: Sequence[Ranking], weights: Sequence[float]) -> Ranking:
    """The rankings fused in the chosen way."""
    match fusion:
        case "reciprocal_rerank":
            return reciprocal_rank_fusion(rankings, weights)
        case "relative_score":
            return relative_score_fusion(rankings, weights)


def attainable(fusion: Fusion, weights: Sequence[float]) -> float:
    """The fused score of a node that is first in every ranking: what fused scores are measured against."""
    return sum(weights) / (RANK_CONSTANT + 1) if fusion == "reciprocal_rerank" else sum(weights)


def weight_of_vectors(configured: float, likeness: float) -> float:
    """The weight of the vector leg: for keywords alone (likeness 1) .3 where .5 is configured; 0 and 1 stay."""
    return configured - LIKENESS_SLOPE * likeness * 4.0 * configured * (1.0 - configured)


def _ordered(shares: dict[str, list[float]]) -> Ranking:
    # Summed without rounding in between, so that the order of the rankings cannot break a tie.
    fused = {node_id: math.fsum(parts) for node_id, parts in shares.items()}
    return sorted(fused.items(), key=lambda item: (-item[1], item[0]))


@dataclass(frozen=True)
class Legs:
    """What the two legs brought, each ranking best first; a leg that failed or was not asked is empty."""

    dense: Ranking
    keyword: Ranking
    failures: tuple[tuple[str, Exception], ...] = ()


@runtime_checkable
class RankingLeg(Protocol):
    """A leg that can do without a node around each id, which takes longer than to find it in a small collection."""

    def ranking(self, query_bundle: QueryBundle, /) -> Ranking:
        """Ids and scores, best first."""


@dataclass(frozen=True)
class PendingLegs:
    """Both legs on their way; `HybridRetriever.collect` calls them, which waits, or does the work now."""

    dense: Callable[[], Ranking] | None
    keyword: Callable[[], Ranking] | None


class HybridRetriever(QueryFusionRetriever):
    """A vector leg and a keyword leg asked at the same time and fused by node id, weights honoured.

    A leg may be None. No state changes while asking, so one object serves many threads. The executor is the
    caller's: it is opened and closed with the engine, and must not run `retrieve` of this object itself.
    """

    def __init__(
        self,
        collection: str,
        dense: BaseRetriever | None,
        keyword: BaseRetriever | None,
        *,
        executor: Executor,
        fusion: Fusion = "reciprocal_rerank",
        dense_weight: float = 0.5,
    ) -> None:
        self.collection = collection
        self.dense = dense
        self.keyword = keyword
        self.fusion: Fusion = fusion
        self._executor = executor
        self._dense_weight = dense_weight
        self._rank_dense, self._rank_keyword = _ranker(dense), _ranker(keyword)
        self._whole = LegChoice(dense=dense is not None, keyword=keyword is not None)
        super().__init__(
            retrievers=[leg for leg in (dense, keyword) if leg is not None],
            # Never called, but without one LlamaIndex would look for a hosted model.
            llm=MockLLM(),
            mode=FUSION_MODES(fusion),
            num_queries=1,
            use_async=False,
            retriever_weights=list(self._weights(self._whole)) if self._whole == BOTH else None,
        )

    def ask(self, question: QueryBundle, legs: LegChoice = BOTH, *, at_once: bool = True) -> PendingLegs:
        """Start the vector leg and return; whoever collects asks for keywords, and unless `at_once` for both."""
        dense = partial(self._rank_dense, question) if self._rank_dense and legs.dense else None
        keyword = partial(self._rank_keyword, question) if self._rank_keyword and legs.keyword else None
        # The collecting thread has the keywords to do meanwhile: handing them over as well would take longer.
        return PendingLegs(self._executor.submit(dense).result if dense and at_once else dense, keyword)

    def collect(self, pending: PendingLegs) -> Legs:
        """What the legs brought; a leg that failed is empty and its failure told."""
        failures: list[tuple[str, Exception]] = []
        found: dict[str, Ranking] = {"dense": [], "keyword": []}
        for name, bring in (("keyword", pending.keyword), ("dense", pending.dense)):
            if bring is None:
                continue
            try:
                found[name] = bring()
            except LEG_FAILURES as failure:
                failures.append((name, failure))
        return Legs(found["dense"], found["keyword"], tuple(failures))

    def fuse(self, legs: Legs, asked: LegChoice = BOTH, likeness: float = 0.0) -> list[Candidate]:
        """The candidates of the legs that were asked in fused order, with the ranks and scores either leg gave them."""
        rankings = (legs.dense, legs.keyword)
        chosen = self._weights(asked, likeness)
        # A leg that was not asked or failed takes no part in what can be attained.
        weights = [weight if ranking else 0.0 for ranking, weight in zip(rankings, chosen, strict=True)]
        best = attainable(self.fusion, weights)
        fused = fuse(self.fusion, rankings, chosen)
        return join_legs(self.collection, fused, *rankings, scale=1.0 / best if best > 0 else 0.0)

    def candidates(self, question: str | QueryBundle) -> list[Candidate]:
        """Ask, collect and fuse. Raises the failure of a leg only if no leg worked."""
        bundle = QueryBundle(question) if isinstance(question, str) else question
        legs = self.collect(self.ask(bundle))
        if legs.failures and not (legs.dense or legs.keyword):
            raise legs.failures[0][1]
        return self.fuse(legs)

    def _weights(self, asked: LegChoice, likeness: float = 0.0) -> tuple[float, float]:
        """The weights of vectors and keywords; of a leg alone the weight is 1."""
        both = asked == BOTH and self._whole == BOTH
        dense = weight_of_vectors(self._dense_weight, likeness)
        return (dense, 1.0 - dense) if both else (1.0, 1.0)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [to_node(candidate) for candidate in self.candidates(query_bundle)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


def _ranker(leg: BaseRetriever | None) -> Callable[[QueryBundle], Ranking] | None:
    """What asks a leg for ids and scores."""
    if leg is None:
        return None
    if isinstance(leg, RankingLeg):
        return leg.ranking

    def ranking(question: QueryBundle) -> Ranking:
        return [(hit.node.node_id, hit.score or 0.0) for hit in leg.retrieve(question)]

    return ranking
