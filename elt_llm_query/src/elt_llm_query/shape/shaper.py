"""Turn a ranking into the chunks of a result: minimum relevance, selection, expansion and token budget."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from elt_llm_core.index.searchable import Searchable
from elt_llm_core.settings.tree import QuerySettings

from elt_llm_query.retrieve.filters import FilterLimits
from elt_llm_query.retrieve.fusion import SearchCandidate
from elt_llm_query.retrieve.pools import OpenCollection, stored_nodes
from elt_llm_query.retrieve.trace import LeftOut, OpenStage, ShapeDetails
from elt_llm_query.shape.context import CandidateChunk, ContextExpander, merge_siblings
from elt_llm_query.shape.selection import (
    Similarities,
    cap_per_source,
    marginal_relevance_order,
    merge_equal_texts,
    near_duplicates,
    similarities,
)


def drop_below(
    candidates: Sequence[SearchCandidate], minimum: float
) -> tuple[list[SearchCandidate], list[SearchCandidate]]:
    """Return two lists: the candidates with at least the minimum score (0 to 1), and those below it."""
    return [one for one in candidates if one.score >= minimum], [one for one in candidates if one.score < minimum]


def indexes_beyond_budget(tokens: Sequence[int], scores: Sequence[float], budget: int) -> list[int]:
    """Return which chunks to drop, lowest score first, so that all others fit into `budget` tokens; the best stays."""
    total = sum(tokens)
    left_out: list[int] = []
    lowest_first = sorted(range(len(tokens)), key=lambda index: (scores[index], -index))
    for index in lowest_first[: max(0, len(tokens) - 1)]:
        if total <= budget:
            break
        total -= tokens[index]
        left_out.append(index)
    return left_out


# Factors for fetching more texts than needed: LOOKAHEAD to replace duplicates, VARIETY to give MMR a choice.
LOOKAHEAD = 2
VARIETY = 4


class ChunkShaper:
    """Selects and expands the chunks of a ranking, and records a reason for each dropped chunk."""

    def __init__(self, collections: Sequence[OpenCollection], query: QuerySettings, max_tokens: int) -> None:
        self._by_name = {collection.name: collection for collection in collections}
        self._query = query
        self._max_tokens = max_tokens
        self._generations = {one.name: one.generation for one in collections}
        most = query.full_context_max_chunks
        self._small = {name: one for name, one in self._generations.items() if 0 < one.size <= most}
        self._expander = ContextExpander(self._generations, query)

    def shape(
        self,
        ranked: Sequence[SearchCandidate],
        top_k: int,
        stage: OpenStage,
        *,
        to_read: bool = False,
        limits: FilterLimits | None = None,
    ) -> tuple[list[CandidateChunk], list[str]]:
        """Return at most `top_k` chunks in their final order with notes, and record the dropped chunks in `stage`.

        With `to_read`, small collections are added whole after the other chunks, and all chunks together stay within
        the language model's token limit. If there are filters (`limits`), no collection is added whole, and chunks are
        expanded only if all filters are about whole documents.
        """
        small = self._small if to_read and not limits else {}
        notes: list[str] = []
        relevant, irrelevant, minimum = self._relevant([one for one in ranked if one.collection not in small], notes)
        as_found = limits is not None and not limits.of_documents
        chunks, unselected = self._select(relevant, top_k, as_found=as_found)
        left_out: dict[str, LeftOut] = {"below min_relevance_score": [one.node_id for one in irrelevant], **unselected}
        left_out |= _beyond_top_k(relevant, chunks, left_out)
        chunks, wider = (chunks, None) if as_found else self._expander.expand(chunks, left_out)
        chunks = [*chunks, *(chunk for generation in small.values() for chunk in _all_chunks(generation, ranked))]
        if to_read:
            chunks = self._within_budget(chunks, left_out, notes)
        details = ShapeDetails(
            top_k=top_k,
            min_relevance_score=minimum,
            ranking=[(chunk.candidate.node_id, chunk.candidate.score) for chunk in chunks],
            read_whole=sorted(small) or None,
            read_wider=wider or None,
            lowered_minimum=minimum if minimum != self._query.min_relevance_score else None,
            left_out=left_out,
        )
        stage.record(len(chunks), details)
        return chunks, notes

    def _relevant(
        self, ranked: Sequence[SearchCandidate], notes: list[str]
    ) -> tuple[list[SearchCandidate], list[SearchCandidate], float]:
        """Return the relevant candidates, all others, and the minimum score, which is halved if none reaches it."""
        minimum = configured = self._query.min_relevance_score
        relevant, irrelevant = drop_below(ranked, minimum)
        if irrelevant and not relevant:
            minimum /= 2
            relevant, irrelevant = drop_below(ranked, minimum)
            used = f"; chunks with {minimum:g} or more were used." if relevant else " or half of it."
            notes.append(f"No chunk reaches the minimum relevance of {configured:g} (query.min_relevance_score){used}")
        return relevant, irrelevant, minimum

    def _select(
        self, candidates: Sequence[SearchCandidate], top_k: int, *, as_found: bool
    ) -> tuple[list[CandidateChunk], dict[str, LeftOut]]:
        """Select the best `top_k` chunks. Also return the nodes that were left out, by reason.

        With `as_found`, chunks are not expanded later, so several chunks of the same parent can be selected.
        """
        wanted = top_k * VARIETY if self._query.use_mmr else top_k
        fetched: list[CandidateChunk] = []
        step = wanted * LOOKAHEAD
        while True:
            batch = candidates[len(fetched) : len(fetched) + step]
            nodes = stored_nodes(batch, self._generations)
            fetched += [CandidateChunk(candidate, nodes[candidate.key]) for candidate in batch]
            chunks, left_out = self._distinct(fetched, as_found)
            if len(chunks) >= wanted or len(fetched) >= len(candidates):
                break
            step = len(fetched)
        if not self._query.use_mmr:
            return chunks[:top_k], left_out
        relevance = [chunk.candidate.score for chunk in chunks]
        order = marginal_relevance_order(relevance, self._similarities(chunks), self._query.mmr_threshold, top_k)
        return [chunks[index] for index in order], left_out

    def _distinct(
        self, fetched: Sequence[CandidateChunk], as_found: bool
    ) -> tuple[list[CandidateChunk], dict[str, LeftOut]]:
        chunks = merge_equal_texts(fetched)
        same = {other.candidate.node_id: chunk.candidate.node_id for chunk in chunks for other in chunk.alternates}
        left_out: dict[str, LeftOut] = {}
        if self._query.read_parents and not as_found:
            chunks = merge_siblings(chunks)
            pairs = ((node.node_id, chunk.node.node_id) for chunk in chunks for node in chunk.matches)
            left_out["same parent as another"] = {own: read for own, read in pairs if own != read}
        if self._query.near_duplicate_cosine < 1:
            originals = near_duplicates(self._similarities(chunks), self._query.near_duplicate_cosine)
            left_out["nearly the same as another"] = {
                chunks[index].node.node_id: chunks[other].node.node_id for index, other in originals.items()
            }
            chunks = [chunk for index, chunk in enumerate(chunks) if index not in originals]
        if self._query.max_per_source:
            chunks, beyond = cap_per_source(chunks, self._query.max_per_source)
            left_out["beyond max_per_source"] = [chunk.node.node_id for chunk in beyond]
        given = {reason: nodes for reason, nodes in left_out.items() if nodes}
        return chunks, {"same text as another": same, **given}

    def _similarities(self, chunks: Sequence[CandidateChunk]) -> Similarities:
        by_collection: dict[str, list[str]] = defaultdict(list)
        for chunk in chunks:
            by_collection[chunk.candidate.collection].append(chunk.candidate.node_id)
        vectors = {
            (name, node_id): vector
            for name, node_ids in by_collection.items()
            for node_id, vector in zip(node_ids, self._generations[name].vectors(node_ids), strict=True)
        }
        spaces = [self._by_name[chunk.candidate.collection].space for chunk in chunks]
        return similarities([vectors[chunk.candidate.key] for chunk in chunks], spaces)

    def _within_budget(
        self, chunks: list[CandidateChunk], left_out: dict[str, LeftOut], notes: list[str]
    ) -> list[CandidateChunk]:
        """Return the chunks that fit into the token limit. Record all others in `left_out` and `notes`."""
        models = [self._by_name[chunk.candidate.collection].embedding for chunk in chunks]
        # A chunk that was not expanded has at most as many tokens as its embedding model can read.
        if not any(chunk.matches for chunk in chunks) and sum(one.token_limit for one in models) <= self._max_tokens:
            return chunks
        # The embedding model's tokeniser estimates the number of the language model's tokens.
        texts = (f"{chunk.node.context}\n{chunk.node.text}" for chunk in chunks)
        tokens = [len(model.token_spans(text)) for model, text in zip(models, texts, strict=True)]
        scores = [chunk.candidate.score for chunk in chunks]
        beyond = sorted(indexes_beyond_budget(tokens, scores, self._max_tokens))
        if beyond:
            left_out["beyond llm.max_context_tokens"] = [chunks[index].node.node_id for index in beyond]
            notes.append(
                f"The least relevant {len(beyond)} of {len(chunks)} chunks were left out: all chunks together have"
                f" {sum(tokens)} tokens, and llm.max_context_tokens is {self._max_tokens}."
            )
        return [chunk for index, chunk in enumerate(chunks) if index not in beyond]


def _all_chunks(generation: Searchable, ranked: Iterable[SearchCandidate]) -> list[CandidateChunk]:
    """Return all chunks of a collection, sorted by source and position. Those in `ranked` keep their scores."""
    by_id = {one.node_id: one for one in ranked if one.collection == generation.collection}
    nodes = generation.nodes(list(generation.every_id()))
    nodes.sort(key=lambda node: (node.source, node.document_id, node.start, node.ordinal))
    return [
        CandidateChunk(by_id.get(node.node_id) or SearchCandidate(node.node_id, generation.collection), node)
        for node in nodes
    ]


def _beyond_top_k(
    candidates: Iterable[SearchCandidate], kept: Iterable[CandidateChunk], left_out: dict[str, LeftOut]
) -> dict[str, LeftOut]:
    read = {(chunk.candidate.collection, chunk.node.node_id) for chunk in kept}
    explained = set[str]().union(*left_out.values())
    beyond = [one.node_id for one in candidates if one.node_id not in explained and one.key not in read]
    return {"beyond top_k": beyond} if beyond else {}
