"""No reranking: the order of the fusion, or of the one leg that was asked."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from elt_llm_query.rerank.blend import Scores
from elt_llm_query.rerank.scaling import scale_keywords
from elt_llm_query.retrieve.candidates import Candidate, best_first
from elt_llm_query.retrieve.collections import Pool


class FusedOrder:
    """Keeps the order the legs gave. Two legs: fused score as a share of the attainable one.

    One leg keeps its own measure, which says more than a rank: vectors their cosine (0 if negative), keywords
    their BM25 score as a share of the best.
    """

    name = "none"
    calls_model = False
    needs_vector = False
    notes = ("The passages are in the order of the search: no reranker is in use.",)

    def rerank(self, _question: str, pools: Sequence[Pool]) -> list[Candidate]:
        """All candidates, best first, ties by node id."""
        keywords = scale_keywords(pools, [_keyword_scores(pool) for pool in pools])
        return best_first([one for pool, scaled in zip(pools, keywords, strict=True) for one in _scored(pool, scaled)])


def _scored(pool: Pool, keywords: Scores) -> list[Candidate]:
    legs = pool.legs
    if legs.dense and legs.keyword:
        return list(pool.candidates)
    scores = [min(1.0, max(0.0, one.cosine or 0.0)) for one in pool.candidates] if legs.dense else keywords.tolist()
    return [replace(candidate, score=score) for candidate, score in zip(pool.candidates, scores, strict=True)]


def _keyword_scores(pool: Pool) -> Scores:
    return np.array([candidate.keyword_score or 0.0 for candidate in pool.candidates], dtype=np.float64)
