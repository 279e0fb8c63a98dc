"""The completing reranker: every candidate of either leg gets both scores, and is ranked by their blend."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from elt_llm_query.rerank.blend import Scores, weigh
from elt_llm_query.rerank.scaling import scale_cosines, scale_keywords
from elt_llm_query.retrieve.candidates import Candidate, best_first
from elt_llm_query.retrieve.collections import Pool


@dataclass(frozen=True)
class _Completed:
    """A pool whose candidates all know their cosine and their keyword score; cosines None without a vector."""

    pool: Pool
    cosines: Scores | None
    keyword_scores: Scores


class EmbeddingReranker:
    """Ranks by weight x min-max cosine + (1 - weight) x BM25 / greatest BM25; no model is called.

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

    def rerank(self, question: str, pools: Sequence[Pool]) -> list[Candidate]:
        """All candidates with both scores, best first, ties by node id."""
        completed = [_complete(question, pool) for pool in pools if pool.candidates]
        pools = [one.pool for one in completed]
        cosines = scale_cosines(pools, [one.cosines for one in completed])
        keywords = scale_keywords(question, pools, [one.keyword_scores for one in completed])
        scored = zip(completed, cosines, keywords, strict=True)
        return best_first([candidate for one in scored for candidate in self._scored(*one)])

    def _scored(self, completed: _Completed, scaled_cosines: Scores, scaled_keywords: Scores) -> list[Candidate]:
        weight = 0.0 if completed.cosines is None else self.weight if completed.pool.weighs_keywords else 1.0
        scores = weigh(scaled_cosines, scaled_keywords, weight)
        known = scaled_cosines if completed.cosines is None else completed.cosines
        return [
            replace(
                candidate,
                cosine=None if completed.cosines is None else float(cosine),
                keyword_score=float(keyword_score) if completed.pool.weighs_keywords else None,
                score=float(score),
            )
            for candidate, cosine, keyword_score, score in zip(
                completed.pool.candidates, known, completed.keyword_scores, scores, strict=True
            )
        ]


def _complete(question: str, pool: Pool) -> _Completed:
    generation = pool.collection.generation
    positions = generation.positions([candidate.node_id for candidate in pool.candidates])
    cosines: Scores | None = None
    if pool.vector is not None:
        products = np.asarray(generation.vectors[positions] @ pool.vector, dtype=np.float64)
        # Rounded to what 32 bits can tell, so that equal vectors tie whatever the order of the sum.
        cosines = np.clip(np.round(products, 6), -1.0, 1.0)
    keyword_scores = np.zeros(len(positions))
    if pool.weighs_keywords:
        keyword_scores = generation.keyword.scores(question)[positions].astype(np.float64)
    return _Completed(pool, cosines, keyword_scores)
