"""How much cosines weigh beside keywords for one question, by the shape of its keyword scores.

Where few passages stand out by their words, the words say more than where many match about as well. Of the many
shapes that were tried, docs/decisions tells.
"""

from collections.abc import Sequence

import numpy as np

from elt_llm_query.rerank.blend import Scores
from elt_llm_query.rerank.scaling import scale_keywords
from elt_llm_query.retrieve.candidates import Candidate
from elt_llm_query.retrieve.collections import Pool

PLACE = 10  # the keyword score in this place, over the greatest, is how flat the scores are
USUAL = 0.45  # at this the weight is the configured one; most questions have .35, and so weigh words a little more
SLOPE = 0.4


def adapted_weight(weight: float, keywords: Sequence[Scores]) -> float:
    """The weight of cosines, 0 to 1, given BM25 scores within 0..1 of all pools, the greatest 1.

    weight + 0.4 x (flatness - 0.45) x 4 x weight x (1 - weight): from .32 to .72 where .5 is configured; 0 and 1 stay.
    """
    joined = np.concatenate([*keywords, np.zeros(PLACE)])
    if not joined.any():
        return weight
    flatness = float(np.partition(joined, -PLACE)[-PLACE])
    return min(1.0, max(0.0, weight + SLOPE * (flatness - USUAL) * 4.0 * weight * (1.0 - weight)))


def weight_in_use(weight: float, pools: Sequence[Pool], candidates: Sequence[Candidate]) -> float:
    """The weight that these candidates, ranked by the embedding reranker, were ranked with."""
    asked = [pool for pool in pools if pool.candidates]
    found: dict[str, list[float]] = {pool.collection.name: [] for pool in asked}
    for one in candidates:
        if one.collection in found:
            found[one.collection].append(one.keyword_score or 0.0)
    return adapted_weight(weight, scale_keywords(asked, [np.array(scores) for scores in found.values()]))
