"""Scores of several collections brought to one scale, as `retrieve/collections` says which may be compared."""

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from elt_llm_query.rerank.blend import Scores, min_max, over_maximum
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


def scale_keywords(question: str, pools: Sequence[Pool], scores: Sequence[Scores]) -> list[Scores]:
    """BM25 scores as a share of what the question could attain in their collection, the greatest of all set to 1.

    For one collection that is BM25 / greatest BM25.
    """
    if not pools:
        return []
    if len(pools) == 1:
        return [over_maximum(scores[0])]
    shares = [
        part / (_attainable(question, pool.collection.generation) or 1.0)
        for pool, part in zip(pools, scores, strict=True)
    ]
    return _parts(over_maximum(np.concatenate(shares)), scores)


def _parts(joined: Scores, like: Sequence[Scores]) -> list[Scores]:
    return np.split(joined, np.cumsum([len(part) for part in like])[:-1])


def _attainable(question: str, generation: Searchable) -> float:
    """Sum of the weights of the question's words in this collection; a word it lacks weighs as its rarest would.

    The weight is Lucene's: ln(1 + (n - df + 0.5) / (df + 0.5)), an upper limit of what one word can add.
    """
    size = len(generation.ids)
    weights = []
    for stem in generation.keyword.tokeniser.stems(question):
        frequency = generation.keyword.document_frequency(stem)
        weights.append(math.log1p((size - frequency + 0.5) / (frequency + 0.5)))
    return math.fsum(weights)
