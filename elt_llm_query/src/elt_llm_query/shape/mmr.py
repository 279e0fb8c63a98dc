"""Variety: passages that are relevant and unlike those already chosen."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Similarities = NDArray[np.float64]


def similarities(vectors: Sequence[Vectors], spaces: Sequence[bytes]) -> Similarities:
    """Cosine of each pair, shape (n, n), from vectors of length 1; 0 between vectors of different models."""
    result = np.zeros((len(vectors), len(vectors)))
    for space in set(spaces):
        members = np.array([index for index, own in enumerate(spaces) if own == space])
        block = np.stack([vectors[index] for index in members])
        result[np.ix_(members, members)] = block @ block.T
    return result


def marginal_relevance_order(
    relevance: Sequence[float], similarity: Similarities, threshold: float, limit: int
) -> list[int]:
    """Indexes of the chosen, in the order chosen; 1 weighs relevance only, 0 variety only; ties by index.

    Each step takes the greatest threshold x relevance - (1 - threshold) x greatest similarity to those chosen.
    Source: Carbonell and Goldstein, "The Use of MMR", SIGIR 1998.
    """
    scores = np.asarray(relevance, dtype=np.float64)
    nearest = np.zeros(len(scores))
    chosen: list[int] = []
    left = np.ones(len(scores), dtype=bool)
    while len(chosen) < min(limit, len(scores)):
        gain = np.where(left, threshold * scores - (1 - threshold) * nearest, -np.inf)
        best = int(np.argmax(gain))
        chosen.append(best)
        left[best] = False
        nearest = np.maximum(nearest, similarity[best]) if len(chosen) > 1 else similarity[best]
    return chosen
