"""The best candidates by cosine and BM25, which are compared with the question word by word."""

from collections.abc import Sequence

import numpy as np

from elt_llm_query.rerank.blend import Scores
from elt_llm_query.rerank.matching import QuestionMatcher
from elt_llm_query.rerank.term_weights import term_weights
from elt_llm_query.retrieve.collections import Pool
from elt_llm_query.retrieve.other_names import renamed

HEAD = 30  # candidates of all collections together; more cost time and change no figure


def head_places(scores: Sequence[Scores]) -> list[list[int]]:
    """For each pool the places of those among the HEAD best of all pools; those as good as the last come too."""
    joined = np.concatenate([*scores, np.zeros(0)])
    least = np.partition(joined, -HEAD)[-HEAD] if len(joined) > HEAD else 0.0
    return [np.flatnonzero(one >= least).tolist() for one in scores]


def matches(pool: Pool, keyword_scores: Scores, places: Sequence[int]) -> tuple[Scores, Scores]:
    """Coverage and order of every candidate: measured at `places`, elsewhere the least they can be.

    No word adds more to a BM25 score than its weight, so its share of what is attainable is a share that is covered.
    """
    coverage = np.minimum(1.0, keyword_scores / (pool.attainable or 1.0))
    order = np.zeros(len(coverage))
    if places:
        generation = pool.collection.generation
        question_stems = generation.keyword.tokeniser.stems(pool.keywords)
        matcher = QuestionMatcher(question_stems, term_weights(question_stems, generation))
        stems = generation.stems([pool.candidates[place].node_id for place in places])
        if pool.names:
            stems = [renamed(one, pool.names, generation) for one in stems]
        for place, found in zip(places, map(matcher.match, stems), strict=True):
            coverage[place], order[place] = found.coverage, found.order
    return coverage, order
