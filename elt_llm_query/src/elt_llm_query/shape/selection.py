"""Select chunks: drop equal texts and near duplicates, limit the chunks per document, diversify by MMR."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from elt_llm_query.shape.context import CandidateChunk

Vectors = NDArray[np.float32]
Similarities = NDArray[np.float64]


def merge_equal_texts(chunks: Iterable[CandidateChunk]) -> list[CandidateChunk]:
    """Keep only the best-ranked of several chunks with the same text. Its `alternates` are the others."""
    merged: dict[str, CandidateChunk] = {}
    for chunk in chunks:
        text = chunk.node.text.strip()
        best = merged.get(text)
        merged[text] = chunk if best is None else replace(best, alternates=(*best.alternates, chunk))
    return list(merged.values())


def near_duplicates(similarity: Similarities, threshold: float) -> dict[int, int]:
    """Map the index of each near duplicate to the index of its better-ranked original.

    `similarity` has shape (n, n), in ranked order. A chunk is compared only with chunks that are kept: if B is like A,
    and C is like B but not like A, then only B is dropped.
    """
    kept: list[int] = []
    duplicates: dict[int, int] = {}
    for index in range(len(similarity)):
        original = next((other for other in kept if similarity[index, other] > threshold), None)
        if original is None:
            kept.append(index)
        else:
            duplicates[index] = original
    return duplicates


def cap_per_source(chunks: Sequence[CandidateChunk], most: int) -> tuple[list[CandidateChunk], list[CandidateChunk]]:
    """Return two lists: the best `most` chunks of each document, and all other chunks."""
    seen: Counter[tuple[str, str]] = Counter()
    kept: list[CandidateChunk] = []
    beyond: list[CandidateChunk] = []
    for chunk in chunks:
        seen[chunk.document] += 1
        (kept if seen[chunk.document] <= most else beyond).append(chunk)
    return kept, beyond


def similarities(vectors: Sequence[Vectors], spaces: Sequence[bytes]) -> Similarities:
    """Return the cosine of each pair of unit vectors, shape (n, n). It is 0 for vectors from different models."""
    result = np.zeros((len(vectors), len(vectors)))
    for space in set(spaces):
        members = np.array([index for index, own in enumerate(spaces) if own == space])
        block = np.stack([vectors[index] for index in members])
        result[np.ix_(members, members)] = block @ block.T
    return result


def marginal_relevance_order(
    relevance: Sequence[float], similarity: Similarities, threshold: float, limit: int
) -> list[int]:
    """Return the indexes of at most `limit` chunks in order of marginal relevance, ties by index.

    Each step chooses the chunk with the greatest threshold x relevance - (1 - threshold) x similarity, where similarity
    is the greatest one to any chunk chosen before. A threshold of 1 means relevance only, 0 variety only.
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
