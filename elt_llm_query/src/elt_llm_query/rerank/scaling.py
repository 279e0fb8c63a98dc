"""Scores of several collections brought to one scale, as `retrieve/collections` says which may be compared."""

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from elt_llm_query.rerank.blend import Scores, min_max, over_maximum
from elt_llm_query.rerank.term_weights import term_weights
from elt_llm_query.retrieve.collections import Pool
from elt_llm_query.retrieve.searchable import Searchable


def scale_cosines(pools: Sequence[Pool], cosines: Sequence[Scores | None]) -> list[Scores]:
    """Cosines stretched to 0..1 over all pools of one embedding model; zeros for a pool without any."""
    scaled = [np.zeros(len(pool.candidates)) for pool in pools]
    members: dict[bytes, list[int]] = defaultdict(list)
    for index, pool in enumerate(pools):
        if cosines[index] is not None:
            members[pool.collection.space].append(index)
    for indexes in members.values():
        together = min_max(np.concatenate([part for index in indexes if (part := cosines[index]) is not None]))
        for index, part in zip(indexes, _parts(together, [scaled[index] for index in indexes]), strict=True):
            scaled[index] = part
    return scaled


def scale_keywords(pools: Sequence[Pool], scores: Sequence[Scores]) -> list[Scores]:
    """Keyword scores as a share of what could be attained in their collection, the greatest set to 1.

    They are BM25, or BM25 x coverage, which can attain no more.

    For one collection that is the score / the greatest.
    """
    if not pools:
        return []
    if len(pools) == 1:
        return [over_maximum(scores[0])]
    shares = [part / (pool.attainable or 1.0) for pool, part in zip(pools, scores, strict=True)]
    return _parts(over_maximum(np.concatenate(shares)), scores)


def _parts(joined: Scores, like: Sequence[Scores]) -> list[Scores]:
    return np.split(joined, np.cumsum([len(part) for part in like])[:-1])


def attainable(keywords: str, generation: Searchable) -> float:
    """Sum of the weights of the words asked for in this collection, each as often as it is asked."""
    stems = generation.keyword.tokeniser.stems(keywords)
    weights = term_weights(stems, generation)
    return math.fsum(weights[stem] for stem in stems)
