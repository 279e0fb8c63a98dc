"""A reranker's score and the keyword score in one, so that neither throws the other away."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Scores = NDArray[np.float64]


def min_max(scores: ArrayLike) -> Scores:
    """Scores stretched to 0..1 over the list; scores that are all equal count as 1."""
    values = np.asarray(scores, dtype=np.float64)
    if values.size == 0:
        return values
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.ones_like(values)


def over_maximum(scores: ArrayLike) -> Scores:
    """Scores of 0 or more divided by the greatest; all 0 stay 0."""
    values = np.asarray(scores, dtype=np.float64)
    greatest = values.max(initial=0.0)
    return values / greatest if greatest > 0 else np.zeros_like(values)


def weigh(reranked: Scores, keyword: Scores, weight: float) -> Scores:
    """Weight x reranked + (1 - weight) x keyword, for lists within 0..1; the result is within 0..1 too."""
    return np.clip(weight * reranked + (1.0 - weight) * keyword, 0.0, 1.0)


ORDER_SHARE = 0.8
"""What the order of the words weighs beside their scaled score, which weighs 1."""


CURVE = 0.7
"""Power that brings scores to the height of those of cosine and keywords alone, which answers are judged by."""


def weigh_matches(cosines: Scores, keyword: Scores, order: Scores, weight: float) -> Scores:
    """Cosines by `weight`, scaled keyword scores and order by 1 and ORDER_SHARE times the rest, then the CURVE.

    All are within 0..1, and so is the result.
    """
    rest = 1.0 - weight
    whole = weight + rest * (1.0 + ORDER_SHARE)
    mean = np.clip((weight * cosines + rest * (keyword + ORDER_SHARE * order)) / whole, 0.0, 1.0)
    return np.power(mean, CURVE)


def blend(cosines: ArrayLike, keyword_scores: ArrayLike, weight: float) -> Scores:
    """Weight x min-max cosine + (1 - weight) x BM25 / greatest BM25, both within 0..1.

    Source: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023
    (convex combination of scaled scores).
    """
    return weigh(min_max(cosines), over_maximum(keyword_scores), weight)
