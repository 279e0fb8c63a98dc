"""Select chunks: drop equal texts and near duplicates, limit the chunks per document, diversify by MMR."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from elt_llm_core.settings.tree import QuerySettings
from numpy.typing import NDArray

from elt_llm_query.retrieve.fusion import SearchCandidate
from elt_llm_query.retrieve.pools import OpenCollection
from elt_llm_query.retrieve.trace import LeftOut
from elt_llm_query.shape.context import CandidateChunk, merge_siblings

Vectors = NDArray[np.float32]
Similarities = NDArray[np.float64]


def merge_equal_texts(chunks: Iterable[CandidateChunk]) -> list[CandidateChunk]:
    """Keep the best-ranked chunk of each text, with lower-ranked chunks of the same text as its alternates."""
    merged: dict[str, CandidateChunk] = {}
    for chunk in chunks:
        text = chunk.node.text.strip()
        best = merged.get(text)
        merged[text] = chunk if best is None else replace(best, alternates=(*best.alternates, chunk))
    return list(merged.values())


def near_duplicates(similarity: Similarities, threshold: float) -> dict[int, int]:
    """Map the index of each near duplicate to the index of its better-ranked original.

    `similarity` has shape (n, n), in ranked order. A chunk is compared only with chunks that are kept, so the last of a
    chain of similar chunks is not dropped for the first.
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
    """Split chunks into the first `most` chunks of each document and the remaining chunks."""
    seen: Counter[tuple[str, str]] = Counter()
    kept: list[CandidateChunk] = []
    beyond: list[CandidateChunk] = []
    for chunk in chunks:
        seen[chunk.document] += 1
        (kept if seen[chunk.document] <= most else beyond).append(chunk)
    return kept, beyond


def similarities(vectors: Sequence[Vectors], spaces: Sequence[bytes]) -> Similarities:
    """Return the cosine of each pair of unit vectors, shape (n, n); 0 for vectors of different models."""
    result = np.zeros((len(vectors), len(vectors)))
    for space in set(spaces):
        members = np.array([index for index, own in enumerate(spaces) if own == space])
        block = np.stack([vectors[index] for index in members])
        result[np.ix_(members, members)] = block @ block.T
    return result


def marginal_relevance_order(
    relevance: Sequence[float], similarity: Similarities, threshold: float, limit: int
) -> list[int]:
    """Return the indexes of at most `limit` chunks in order of marginal relevance; equal values by index.

    Each step chooses the chunk with the greatest threshold x relevance - (1 - threshold) x similarity, where similarity
    is the greatest one to a chosen chunk. A threshold of 1 means relevance only, 0 variety only.
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


# Number of texts fetched per selected chunk: LOOKAHEAD finds duplicates, and VARIETY gives MMR a choice.
LOOKAHEAD = 2
VARIETY = 4


@dataclass
class SelectionResult:
    """The selected chunks in order, and the nodes that were left out, by reason."""

    chunks: list[CandidateChunk]
    left_out: dict[str, LeftOut] = field(default_factory=dict)


class ChunkSelector:
    """A selector of chunks that fetches the texts of only the best candidates."""

    def __init__(self, collections: Sequence[OpenCollection], query: QuerySettings) -> None:
        self._by_name = {collection.name: collection for collection in collections}
        self._query = query

    def select(self, candidates: Sequence[SearchCandidate], top_k: int, *, as_found: bool = False) -> SelectionResult:
        """Select `top_k` chunks, or fewer if there are not enough usable candidates.

        With `as_found`, chunks are not expanded, so two chunks of one parent are both selected.
        """
        wanted = top_k * VARIETY if self._query.use_mmr else top_k
        fetched: list[CandidateChunk] = []
        step = wanted * LOOKAHEAD
        while True:
            fetched += self._fetch(candidates[len(fetched) : len(fetched) + step])
            selected = self._distinct(fetched, as_found)
            if len(selected.chunks) >= wanted or len(fetched) >= len(candidates):
                break
            step = len(fetched)
        selected.chunks = self._varied(selected.chunks, top_k)
        return selected

    def _distinct(self, fetched: Sequence[CandidateChunk], as_found: bool) -> SelectionResult:
        selected = SelectionResult(merge_equal_texts(fetched))
        selected.left_out["same text as another"] = {
            alternate.candidate.node_id: chunk.candidate.node_id
            for chunk in selected.chunks
            for alternate in chunk.alternates
        }
        if self._query.read_parents and not as_found:
            self._merge_siblings(selected)
        if self._query.near_duplicate_cosine < 1:
            self._drop_near_duplicates(selected)
        if self._query.max_per_source:
            selected.chunks, beyond = cap_per_source(selected.chunks, self._query.max_per_source)
            if beyond:
                selected.left_out["beyond max_per_source"] = [chunk.node.node_id for chunk in beyond]
        return selected

    def _merge_siblings(self, selected: SelectionResult) -> None:
        selected.chunks = merge_siblings(selected.chunks)
        siblings = {
            node.node_id: chunk.node.node_id
            for chunk in selected.chunks
            for node in chunk.matches
            if node.node_id != chunk.node.node_id
        }
        if siblings:
            selected.left_out["same parent as another"] = siblings

    def _drop_near_duplicates(self, selected: SelectionResult) -> None:
        chunks = selected.chunks
        duplicates = near_duplicates(self._similarities(chunks), self._query.near_duplicate_cosine)
        selected.chunks = [chunk for index, chunk in enumerate(chunks) if index not in duplicates]
        if duplicates:
            selected.left_out["nearly the same as another"] = {
                chunks[index].node.node_id: chunks[other].node.node_id for index, other in duplicates.items()
            }

    def _varied(self, chunks: list[CandidateChunk], top_k: int) -> list[CandidateChunk]:
        if not self._query.use_mmr:
            return chunks[:top_k]
        relevance = [chunk.candidate.score for chunk in chunks]
        order = marginal_relevance_order(relevance, self._similarities(chunks), self._query.mmr_threshold, top_k)
        return [chunks[index] for index in order]

    def _similarities(self, chunks: Sequence[CandidateChunk]) -> Similarities:
        vectors, spaces = [], []
        for chunk in chunks:
            collection = self._by_name[chunk.candidate.collection]
            position = collection.generation.positions([chunk.candidate.node_id])[0]
            vectors.append(collection.generation.vectors[position])
            spaces.append(collection.space)
        return similarities(vectors, spaces)

    def _fetch(self, candidates: Sequence[SearchCandidate]) -> list[CandidateChunk]:
        by_collection: dict[str, list[str]] = defaultdict(list)
        for candidate in candidates:
            by_collection[candidate.collection].append(candidate.node_id)
        nodes = {
            (name, node.node_id): node
            for name, node_ids in by_collection.items()
            for node in self._by_name[name].generation.nodes(node_ids)
        }
        return [CandidateChunk(candidate, nodes[candidate.collection, candidate.node_id]) for candidate in candidates]
