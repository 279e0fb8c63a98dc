"""The completing reranker: every candidate of either leg gets all scores, and is ranked by their blend."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from elt_llm_query.rerank.adapted_weight import adapted_weight
from elt_llm_query.rerank.blend import Scores, weigh, weigh_matches
from elt_llm_query.rerank.head import head_places, matches
from elt_llm_query.rerank.scaling import scale_cosines, scale_keywords
from elt_llm_query.retrieve.candidates import Candidate, best_first
from elt_llm_query.retrieve.collections import Pool
from elt_llm_query.retrieve.other_names import Scored, with_other_names
from elt_llm_query.retrieve.searchable import Searchable


@dataclass(frozen=True)
class _Completed:
    """A pool whose candidates all know their cosine and their keyword score; cosines None without a vector."""

    pool: Pool
    cosines: Scores | None
    keyword_scores: Scores


@dataclass(frozen=True)
class _Matched:
    """A pool whose candidates all know how they match the question's words, 0 to 1."""

    completed: _Completed
    coverage: Scores
    order: Scores

    def candidates(self, scores: Scores) -> list[Candidate]:
        """The candidates with their scores and what those are made of; None for what has no say."""
        own, weighs = self.completed.pool.candidates, self.completed.pool.weighs_keywords
        cosines, keywords = self.completed.cosines, self.completed.keyword_scores
        nothing = [None] * len(own)
        columns = zip(
            own,
            scores.tolist(),
            nothing if cosines is None else cosines.tolist(),
            keywords.tolist() if weighs else nothing,
            self.coverage.tolist() if weighs else nothing,
            self.order.tolist() if weighs else nothing,
            strict=True,
        )
        return [one.scored(score, *parts) for one, score, *parts in columns]


class EmbeddingReranker:
    """Ranks by cosine, words and their order; no model is called.

    The score is ((weight x C + (1 - weight) x (K + 0.8 x O)) / (weight + (1 - weight) x 1.8)) ^ 0.7: C the cosine
    stretched to 0..1 over the candidates, K = BM25 x coverage divided by its greatest, coverage and O (order)
    as `matching` says. The weight is the configured one, shifted as `adapted_weight` says.
    A candidate that only one leg brought is scored by the other as well: its cosine from the stored vectors,
    its BM25 score from the keyword index, 0 if it matches nothing. Where the strategy asks no keywords the
    cosine decides alone, and the keywords do where the question could not be embedded. `retrieve/collections`
    says what is scaled together when several collections are asked.
    """

    name = "embedding"
    calls_model = False
    needs_vector = True
    notes = ()

    def __init__(self, weight: float = 0.5) -> None:
        self.weight = weight

    def rerank(self, _question: str, pools: Sequence[Pool]) -> list[Candidate]:
        """All candidates with all scores, best first, ties by node id."""
        completed = [_complete(pool) for pool in pools if pool.candidates]
        pools = [one.pool for one in completed]
        cosines = scale_cosines(pools, [one.cosines for one in completed])
        bm25 = scale_keywords(pools, [one.keyword_scores for one in completed])
        weight = adapted_weight(self.weight, bm25)
        matched = self._match(completed, cosines, bm25)
        keywords = scale_keywords(pools, [one.completed.keyword_scores * one.coverage for one in matched])
        scored = zip(matched, cosines, keywords, strict=True)
        return best_first([candidate for one in scored for candidate in _scored(*one, weight)])

    def _match(
        self, completed: list[_Completed], cosines: Sequence[Scores], keywords: Sequence[Scores]
    ) -> list[_Matched]:
        at_first = [
            weigh(cosine, keyword, _weight(self.weight, one))
            for cosine, keyword, one in zip(cosines, keywords, completed, strict=True)
        ]
        return [
            _Matched(one, *matches(one.pool, one.keyword_scores, places if one.pool.weighs_keywords else []))
            for one, places in zip(completed, head_places(at_first), strict=True)
        ]


def _weight(weight: float, completed: _Completed) -> float:
    return 0.0 if completed.cosines is None else weight if completed.pool.weighs_keywords else 1.0


def _scored(matched: _Matched, cosines: Scores, keywords: Scores, weight: float) -> list[Candidate]:
    scores = weigh_matches(cosines, keywords, matched.order, _weight(weight, matched.completed))
    return matched.candidates(scores)


def _complete(pool: Pool) -> _Completed:
    generation = pool.collection.generation
    positions = generation.positions([candidate.node_id for candidate in pool.candidates])
    cosines: Scores | None = None
    if pool.vector is not None:
        products = np.asarray(generation.vectors[positions] @ pool.vector, dtype=np.float64)
        # Rounded to what 32 bits can tell, so that equal vectors tie whatever the order of the sum.
        cosines = np.clip(np.round(products, 6), -1.0, 1.0)
    keyword_scores = np.zeros(len(positions))
    if pool.weighs_keywords:
        score = partial(_scores_at, generation, positions)
        scores = with_other_names(score(pool.keywords), pool.names, generation, score)
        keyword_scores = scores.astype(np.float64)
    return _Completed(pool, cosines, keyword_scores)


def _scores_at(generation: Searchable, positions: NDArray[np.int64], text: str) -> Scored:
    return generation.keyword.scores_at(text, positions)
