"""The searches that one question is answered by: each embeds, asks the legs, fuses and reranks, and is told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from elt_llm_core.errors import EltError, RetrievalError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings import QuerySettings

from elt_llm_query.rerank.adapted_weight import weight_in_use
from elt_llm_query.rerank.model_reranker import Reranked, rerank_and_tell
from elt_llm_query.rerank.reranker import Reranker
from elt_llm_query.retrieve.budgets import leg_budgets, share_budget
from elt_llm_query.retrieve.collections import (
    Answered,
    OpenCollection,
    Pool,
    Vector,
    ask_collections,
    fuse_collections,
)
from elt_llm_query.retrieve.fusion import weight_of_vectors
from elt_llm_query.retrieve.masks import Mask, Masks
from elt_llm_query.retrieve.routing import Router
from elt_llm_query.retrieve.stages import OpenStage, StageLog
from elt_llm_query.retrieve.wording import BOTH, LegChoice, Wording


def _as_it_is(wording: Wording) -> Wording:
    return wording


@dataclass(frozen=True)
class SearchTools:
    """What every question is searched with. `embed` may remember the vectors of questions.

    `worded` adds what is known of the words of a way to put the question.
    """

    collections: tuple[OpenCollection, ...]
    reranker: Reranker
    query: QuerySettings
    router: Router
    embed: Callable[[EmbeddingModel, str], Vector]
    cache_counts: Callable[[], dict[str, int]]
    worded: Callable[[Wording], Wording] = _as_it_is


@dataclass(frozen=True)
class _Scope:
    """What one round asks, with the masks of these collections if there are any."""

    collections: tuple[OpenCollection, ...]
    masks: tuple[Mask, ...] | None

    @property
    def findable(self) -> list[int]:
        """How many nodes of each collection may be found."""
        if self.masks is None:
            return [len(one.generation.ids) for one in self.collections]
        return [int(mask.sum()) for mask in self.masks]


class SearchRounds:
    """The rounds of one question; every one leaves its stages in the log. Not to be shared between questions.

    `failures` is what did not work in any of them: a question with failures is asked anew the next time.
    """

    def __init__(
        self,
        tools: SearchTools,
        limits: Masks | None,
        log: StageLog,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """`cancelled` says whether nobody waits any more; models that help to search look at it."""
        self._tools = tools
        self.cancelled = cancelled
        self._limits = limits
        self._log = log
        self._failures: list[str] = []
        self._notes: list[str] = []

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out so far, in sentences."""
        return tuple(dict.fromkeys(self._notes))

    @property
    def failures(self) -> tuple[str, ...]:
        """What did not work so far, in sentences."""
        return tuple(dict.fromkeys(self._failures))

    @property
    def collections(self) -> tuple[OpenCollection, ...]:
        """What may be asked; of many, each round asks the best."""
        return self._tools.collections

    @property
    def log(self) -> StageLog:
        """Where a strategy tells of stages of its own."""
        return self._log

    def tell_failure(self, sentence: str) -> None:
        """Something that a strategy wanted did not work, and was done without: the next time it may."""
        self._failures.append(sentence)

    def rank(self, wording: Wording, legs: LegChoice) -> Reranked:
        """One round: the candidates of the legs, reranked by the wording's text.

        Raises RetrievalError if no leg of any collection worked.
        """
        return self.rerank(wording.text, self.search(wording, legs))

    def search(self, wording: Wording, legs: LegChoice) -> list[Pool]:
        """The candidates of the legs, one pool per collection. Raises RetrievalError if no leg of any worked."""
        wording = self._tools.worded(wording)
        scope = self._route(wording)
        vectors = self._embed(wording, legs, scope)
        answered = self._retrieve(wording, legs, vectors, scope)
        return self._fuse(wording, legs, answered, vectors)

    def rerank(self, question: str, pools: list[Pool]) -> Reranked:
        """All candidates in one ranking, but for those beyond the budget of a reranker that asks a model."""
        reranker = self._tools.reranker
        with self._log.stage("rerank") as stage:
            if reranker.calls_model:
                pools = _within_budget(pools, self._tools.query, stage)
            reranked = rerank_and_tell(reranker, question, pools, self.cancelled)
            self._failures += reranked.notes
            stage.kept = len(reranked.candidates)
            stage.details["question"] = question
            stage.details["method"] = reranker.name
            stage.details["ranking"] = [(candidate.node_id, candidate.score) for candidate in reranked.candidates]
            stage.details["weight"] = _weight(self._tools, pools, reranked)
            stage.details["parts"] = [(candidate.node_id, candidate.parts()) for candidate in reranked.candidates]
            stage.details["collections"] = {pool.collection.name: _given(pool) for pool in pools}
            if reranker.calls_model:
                stage.details["model scores"] = list(reranked.model_scores)
        return reranked

    def _route(self, wording: Wording) -> _Scope:
        """The collections of this round: all, or the best of many, which a stage then tells of."""
        masks = self._limits.masks if self._limits else None
        begun = perf_counter()
        route = self._tools.router.route(wording, masks)
        if route is None:
            return _Scope(self._tools.collections, masks)
        with self._log.stage("route", begun) as stage:
            stage.kept = len(route.asked)
            stage.details["question"] = wording.text
            stage.details["keywords"] = wording.keywords
            stage.details["collections"] = route.told
            stage.details["names in too many"] = list(route.common_names)
        self._notes += [route.note] if route.note else []
        chosen = tuple(self._tools.collections[place] for place in route.asked)
        return _Scope(chosen, tuple(masks[place] for place in route.asked) if masks else None)

    def _embed(self, wording: Wording, legs: LegChoice, scope: _Scope) -> dict[bytes, Vector]:
        in_use = scope.collections if legs.dense or self._tools.reranker.needs_vector else ()
        vectors: dict[bytes, Vector] = {}
        failed: list[EltError] = []
        with self._log.stage("embed") as stage:
            stage.details["question"] = wording.text
            for space, embedding in {one.space: one.embedding for one in in_use}.items():
                try:
                    vectors[space] = self._vector(embedding, wording)
                except EltError as failure:
                    failed.append(failure)
            stage.kept = len(vectors)
            stage.details["passages"] = list(wording.passages)
            stage.details["cache"] = self._tools.cache_counts()
        self._say_not_embedded(failed, legs, scope)
        return vectors

    def _vector(self, embedding: EmbeddingModel, wording: Wording) -> Vector:
        vector = self._tools.embed(embedding, wording.text)
        if not wording.passages:
            return vector
        mean = np.vstack([vector, embedding.embed_texts(wording.passages)]).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return np.asarray(mean / length if length else vector, dtype=np.float32)

    def _say_not_embedded(self, failed: Sequence[EltError], legs: LegChoice, scope: _Scope) -> None:
        """Without a vector the keywords may still be asked for; without those the model's own error says most."""
        by_keywords = legs.keyword and not all(one.keywords_missing for one in scope.collections)
        if failed and not by_keywords:
            raise RetrievalError(f"The question could not be embedded: {failed[0]}", hint=failed[0].hint)
        self._failures += [f"The question could not be embedded: {failure}" for failure in failed]

    def _retrieve(
        self, wording: Wording, legs: LegChoice, vectors: dict[bytes, Vector], scope: _Scope
    ) -> list[Answered]:
        with self._log.stage("retrieve") as stage:
            findable = scope.findable
            most = leg_budgets(findable, self._tools.query)
            answered = ask_collections(wording, legs, scope.collections, vectors, scope.masks, most)
            stage.kept = sum(len(one.legs.dense) + len(one.legs.keyword) for one in answered)
            stage.details["keywords"] = wording.keywords
            stage.details["names"] = {one.name: list(one.others) for one in wording.names}
            stage.details["budget"] = {
                one.collection.name: {
                    "of each leg": share,
                    "nodes": nodes,
                    "brought": len(one.legs.dense) + len(one.legs.keyword),
                }
                for one, share, nodes in zip(answered, most, findable, strict=True)
            }
            stage.details["collections"] = {
                one.collection.name: {"dense": one.legs.dense, "keyword": one.legs.keyword} for one in answered
            }
        self._failures += [note for one in answered for note in one.notes]
        return answered

    def _fuse(
        self, wording: Wording, legs: LegChoice, answered: Sequence[Answered], vectors: dict[bytes, Vector]
    ) -> list[Pool]:
        with self._log.stage("fuse") as stage:
            pools = fuse_collections(wording, legs, answered, vectors)
            stage.kept = sum(len(pool.candidates) for pool in pools)
            stage.details["method"] = self._tools.query.fusion
            weight = weight_of_vectors(self._tools.query.dense_weight, wording.likeness)
            stage.details["weights"] = {"dense": weight, "keyword": 1.0 - weight} if legs == BOTH else None
            stage.details["collections"] = {
                pool.collection.name: [(candidate.node_id, candidate.fused_score) for candidate in pool.candidates]
                for pool in pools
            }
        return pools


def _weight(tools: SearchTools, pools: Sequence[Pool], reranked: Reranked) -> float:
    """What cosines, or a model's scores, weighed."""
    by_model = any(score is not None for _, score in reranked.model_scores)
    weight = tools.query.rerank_weight
    return weight if by_model else weight_in_use(weight, pools, reranked.candidates)


def _given(pool: Pool) -> dict[str, Any]:
    """What the scores of one collection were brought to one scale with, as `collections` says; None has no say."""
    return {
        "candidates": len(pool.candidates),
        "attainable": pool.attainable if pool.weighs_keywords else None,
        "embedding": None if pool.vector is None else str(pool.collection.embedding.fingerprint),
    }


def _within_budget(pools: list[Pool], query: QuerySettings, stage: OpenStage) -> list[Pool]:
    shared = share_budget(pools, query)
    stage.details["budget"] = {
        cut.collection.name: {"read": len(cut.candidates), "brought": len(pool.candidates)}
        for pool, cut in zip(pools, shared, strict=True)
    }
    stage.details["beyond the reranker's budget"] = [
        candidate.node_id
        for pool, cut in zip(pools, shared, strict=True)
        for candidate in pool.candidates[len(cut.candidates) :]
    ]
    return shared
