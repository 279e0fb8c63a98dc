"""Candidates and the fusion of two rankings, with the hybrid LlamaIndex retriever that runs both retrievers at once."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Literal, Protocol, runtime_checkable

from elt_llm_core.errors import EltError
from elt_llm_core.index.searchable import Ranking
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.constants import DEFAULT_SIMILARITY_TOP_K
from llama_index.core.llms.mock import MockLLM
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES, QUERY_GEN_PROMPT, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from elt_llm_query.retrieve.query_variant import BOTH_RETRIEVERS, RetrieverChoice
from elt_llm_query.retrieve.trace import ScoreParts

NodeKey = tuple[str, str]  # a collection and a node id


@dataclass(frozen=True, slots=True)
class SearchCandidate:
    """A chunk that a retriever returned. Ranks count from 1; a rank is None if that retriever did not return the chunk.

    `coverage` (0 to 1) is the weighted share of the question's words that the chunk contains, `order` (0 to 1) the same
    share of the question's neighbouring word pairs. `fused_score` is not scaled. `score` is the latest score, 0 to 1.
    """

    node_id: str
    collection: str
    dense_rank: int | None = None
    cosine: float | None = None
    keyword_rank: int | None = None
    keyword_score: float | None = None
    fused_score: float = 0.0
    score: float = 0.0
    coverage: float | None = None
    order: float | None = None

    @property
    def key(self) -> NodeKey:
        """The collection and the node id, which together identify the candidate."""
        return self.collection, self.node_id

    def parts(self) -> ScoreParts:
        """Return the collection and the metrics from which a reranker computes the score."""
        return {
            "collection": self.collection,
            "cosine": self.cosine,
            "keyword_score": self.keyword_score,
            "coverage": self.coverage,
            "order": self.order,
        }


def join_rankings(
    collection: str, fused: Ranking, dense: Ranking, keyword: Ranking, scale: float
) -> list[SearchCandidate]:
    """Return candidates in fused order with both retrievers' ranks. A score, 0 to 1, is the fused score x `scale`."""
    dense_ranks = {node_id: (rank, score) for rank, (node_id, score) in enumerate(dense, 1)}
    keyword_ranks = {node_id: (rank, score) for rank, (node_id, score) in enumerate(keyword, 1)}
    missing = (None, None)
    candidates = []
    for node_id, fused_score in fused:
        dense_rank, cosine = dense_ranks.get(node_id, missing)
        keyword_rank, keyword_score = keyword_ranks.get(node_id, missing)
        score = min(1.0, max(0.0, fused_score * scale))
        candidates.append(
            SearchCandidate(node_id, collection, dense_rank, cosine, keyword_rank, keyword_score, fused_score, score)
        )
    return candidates


def best_first(candidates: Sequence[SearchCandidate]) -> list[SearchCandidate]:
    """Sort candidates by score, highest first; equal scores are ordered by node id."""
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.node_id))


def to_node(candidate: SearchCandidate) -> NodeWithScore:
    """Convert a candidate to a LlamaIndex node without text, with ranks and scores in the metadata."""
    return NodeWithScore(
        node=TextNode(id_=candidate.node_id, text="", metadata=asdict(candidate)), score=candidate.score
    )


def from_node(node: NodeWithScore, collection: str) -> SearchCandidate:
    """Convert a LlamaIndex node to a candidate. A node that `to_node` did not make keeps only its id and score."""
    metadata = node.node.metadata
    if {"node_id", "fused_score", "keyword_rank"} <= metadata.keys():
        return SearchCandidate(**{name: metadata[name] for name in SearchCandidate.__dataclass_fields__})
    return SearchCandidate(node.node.node_id, collection, fused_score=node.score or 0.0)


Fusion = Literal["reciprocal_rerank", "relative_score"]
RANK_CONSTANT = 60
LIKENESS_SLOPE = 0.2  # how much a dense weight of .5 is lowered if the question consists only of keywords
# The errors of a damaged index, a full disk or a model that does not respond; any other error is a bug.
RETRIEVER_FAILURES = (EltError, OSError, ValueError, RuntimeError)


def reciprocal_rank_fusion(rankings: Sequence[Ranking], weights: Sequence[float], k: int = RANK_CONSTANT) -> Ranking:
    """Score each id by the sum of weight / (k + rank) over the rankings that contain the id; ranks count from 1.

    Equal scores are ordered by node id.

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods", SIGIR 2009, which has k = 60 and no weights.
    """
    shares: dict[str, list[float]] = defaultdict(list)
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, (node_id, _) in enumerate(ranking, 1):
            shares[node_id].append(weight / (k + rank))
    return _ordered(shares)


def relative_score_fusion(rankings: Sequence[Ranking], weights: Sequence[float]) -> Ranking:
    """Score each id by the sum of weight x min-max score over the rankings that contain the id.

    If all scores of a ranking are equal, each counts as 1. Equal sums are ordered by node id.
    """
    shares: dict[str, list[float]] = defaultdict(list)
    for ranking, weight in zip(rankings, weights, strict=True):
        scores = [score for _, score in ranking]
        low, spread = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
        for node_id, score in ranking:
            shares[node_id].append(weight * ((score - low) / spread if spread > 0 else 1.0))
    return _ordered(shares)


def _ordered(shares: dict[str, list[float]]) -> Ranking:
    # Summed without intermediate rounding, so that the order of the rankings cannot break a tie.
    fused = {node_id: math.fsum(parts) for node_id, parts in shares.items()}
    return sorted(fused.items(), key=lambda item: (-item[1], item[0]))


def fuse(fusion: Fusion, rankings: Sequence[Ranking], weights: Sequence[float]) -> Ranking:
    """Fuse rankings by reciprocal ranks or by relative scores."""
    by_rank = fusion == "reciprocal_rerank"
    return reciprocal_rank_fusion(rankings, weights) if by_rank else relative_score_fusion(rankings, weights)


def attainable_fused_score(fusion: Fusion, weights: Sequence[float]) -> float:
    """Return the greatest possible fused score: that of a node which is first in every ranking."""
    return sum(weights) / (RANK_CONSTANT + 1) if fusion == "reciprocal_rerank" else sum(weights)


def adapted_dense_weight(configured: float, likeness: float) -> float:
    """Return the weight of the dense retriever. The more the question looks like a list of keywords, the lower it is.

    `likeness`, 0 to 1, measures this. A configured weight of .5 becomes .3 at likeness 1; configured weights of 0 and 1
    do not change.
    """
    return configured - LIKENESS_SLOPE * likeness * 4.0 * configured * (1.0 - configured)


@dataclass(frozen=True)
class RetrieverResults:
    """The rankings of both retrievers. A retriever that failed or was not used has an empty ranking."""

    dense: Ranking
    keyword: Ranking
    failures: tuple[tuple[str, Exception], ...] = ()


@runtime_checkable
class RankingRetriever(Protocol):
    """A retriever that returns ids and scores directly, which is faster than building a node for each id."""

    def ranking(self, query_bundle: QueryBundle, /) -> Ranking:
        """Return ids and scores, best first."""


class HybridRetriever(QueryFusionRetriever):
    """A retriever that runs a dense and a keyword retriever at the same time and fuses their rankings with weights.

    One of the two retrievers may be None. Many threads may share one object. The caller owns the executor, whose
    threads must not call `retrieve` of this object.
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
        self._available = RetrieverChoice(dense=dense is not None, keyword=keyword is not None)
        self._prepare_fusion([retriever for retriever in (dense, keyword) if retriever is not None])

    def _prepare_fusion(self, retrievers: list[BaseRetriever]) -> None:
        """Set what the constructor of LlamaIndex sets, which imports LangChain for .4 s to examine a model."""
        self._retrievers = retrievers
        self._retriever_weights = list(self._weights(self._available)) if len(retrievers) == 2 else [1.0]
        # This model is never called. Without it, LlamaIndex would look for a hosted model.
        self._llm = MockLLM()
        self.query_gen_prompt = QUERY_GEN_PROMPT
        self.similarity_top_k = DEFAULT_SIMILARITY_TOP_K
        self.mode = FUSION_MODES(self.fusion)
        self.num_queries = 1
        self.use_async = False
        super(QueryFusionRetriever, self).__init__()

    def start(
        self, question: QueryBundle, chosen: RetrieverChoice = BOTH_RETRIEVERS, *, in_thread: bool = True
    ) -> Callable[[], RetrieverResults]:
        """Start the dense retriever in a thread and return a function that waits for the results of both retrievers.

        The function runs the keyword retriever and, with `in_thread` false, the dense retriever too. The results record
        the errors of failed retrievers.
        """
        dense = partial(self._rank_dense, question) if self._rank_dense and chosen.dense else None
        keyword = partial(self._rank_keyword, question) if self._rank_keyword and chosen.keyword else None
        # The calling thread runs the keyword retriever, because a second thread would take longer.
        return partial(_collect, self._executor.submit(dense).result if dense and in_thread else dense, keyword)

    def fuse(
        self, hits: RetrieverResults, chosen: RetrieverChoice = BOTH_RETRIEVERS, likeness: float = 0.0
    ) -> list[SearchCandidate]:
        """Fuse the hits of the chosen retrievers. Return candidates with their ranks and scores."""
        rankings = (hits.dense, hits.keyword)
        configured = self._weights(chosen, likeness)
        # A retriever that was not used or failed does not count in the greatest attainable score.
        weights = [weight if ranking else 0.0 for ranking, weight in zip(rankings, configured, strict=True)]
        best = attainable_fused_score(self.fusion, weights)
        fused = fuse(self.fusion, rankings, configured)
        return join_rankings(self.collection, fused, *rankings, scale=1.0 / best if best > 0 else 0.0)

    def candidates(self, question: str | QueryBundle) -> list[SearchCandidate]:
        """Return the fused candidates for a question. If both retrievers failed, raises the error of one of them."""
        bundle = QueryBundle(question) if isinstance(question, str) else question
        hits = self.start(bundle)()
        if hits.failures and not (hits.dense or hits.keyword):
            raise hits.failures[0][1]
        return self.fuse(hits)

    def _weights(self, chosen: RetrieverChoice, likeness: float = 0.0) -> tuple[float, float]:
        """Return the weights of the dense and the keyword retriever. If only one of them is used, its weight is 1.

        `likeness` is how much the question looks like a list of keywords, 0 to 1: the more, the lower the dense weight.
        """
        both = chosen == BOTH_RETRIEVERS and self._available == BOTH_RETRIEVERS
        dense = adapted_dense_weight(self._dense_weight, likeness)
        return (dense, 1.0 - dense) if both else (1.0, 1.0)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [to_node(candidate) for candidate in self.candidates(query_bundle)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


def _collect(dense: Callable[[], Ranking] | None, keyword: Callable[[], Ranking] | None) -> RetrieverResults:
    failures: list[tuple[str, Exception]] = []
    rankings: dict[str, Ranking] = {"dense": [], "keyword": []}
    for name, rank in (("keyword", keyword), ("dense", dense)):
        if rank is None:
            continue
        try:
            rankings[name] = rank()
        except RETRIEVER_FAILURES as failure:
            failures.append((name, failure))
    return RetrieverResults(rankings["dense"], rankings["keyword"], tuple(failures))


def _ranker(retriever: BaseRetriever | None) -> Callable[[QueryBundle], Ranking] | None:
    if retriever is None:
        return None
    if isinstance(retriever, RankingRetriever):
        return retriever.ranking
    return lambda question: [(hit.node.node_id, hit.score or 0.0) for hit in retriever.retrieve(question)]
