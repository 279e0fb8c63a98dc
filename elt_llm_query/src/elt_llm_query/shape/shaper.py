"""Turn a ranking into the chunks of a result: minimum relevance, selection, expansion and token budget."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elt_llm_core.collection.generation import Generation
from elt_llm_core.settings.tree import QuerySettings

from elt_llm_query.retrieve.filters import FilterMasks
from elt_llm_query.retrieve.fusion import SearchCandidate
from elt_llm_query.retrieve.pools import OpenCollection
from elt_llm_query.retrieve.trace import LeftOut, OpenStage, ShapeDetails
from elt_llm_query.shape.context import CandidateChunk, ContextExpander
from elt_llm_query.shape.selection import ChunkSelector


def drop_below(
    candidates: Sequence[SearchCandidate], minimum: float
) -> tuple[list[SearchCandidate], list[SearchCandidate]]:
    """Split candidates into those with at least the minimum score (0 to 1) and those below it."""
    kept = [candidate for candidate in candidates if candidate.score >= minimum]
    dropped = [candidate for candidate in candidates if candidate.score < minimum]
    return kept, dropped


def indexes_beyond_budget(tokens: Sequence[int], scores: Sequence[float], budget: int) -> list[int]:
    """Return the indexes of the chunks to drop, lowest score first, until the rest has at most `budget` tokens.

    Of two chunks with equal scores, the later chunk is dropped first. One chunk always remains, even if its tokens
    exceed the budget.
    """
    total = sum(tokens)
    left_out: list[int] = []
    lowest_first = sorted(range(len(tokens)), key=lambda index: (scores[index], -index))
    for index in lowest_first[: max(0, len(tokens) - 1)]:
        if total <= budget:
            break
        total -= tokens[index]
        left_out.append(index)
    return left_out


@dataclass(frozen=True)
class ShapeResult:
    """The chunks of a result in their final order, with notes."""

    chunks: tuple[CandidateChunk, ...]
    notes: tuple[str, ...]


class ChunkShaper:
    """A shaper that selects and expands the chunks of a ranking, and records a reason for each dropped chunk."""

    def __init__(self, collections: Sequence[OpenCollection], query: QuerySettings, max_tokens: int) -> None:
        self._by_name = {collection.name: collection for collection in collections}
        self._query = query
        self._max_tokens = max_tokens
        generations = {one.name: one.generation for one in collections}
        most = query.full_context_max_chunks
        self._small = {name: one for name, one in generations.items() if 0 < len(one.ids) <= most}
        self._selector = ChunkSelector(collections, query)
        self._expander = ContextExpander(generations, query)

    def shape(
        self,
        ranked: Sequence[SearchCandidate],
        top_k: int,
        stage: OpenStage,
        *,
        to_read: bool = False,
        limits: FilterMasks | None = None,
    ) -> ShapeResult:
        """Select at most `top_k` chunks in their final order, and record dropped chunks and reasons in `stage`.

        With `to_read`, small collections are added whole after the other chunks, and all chunks together stay within
        the token limit of the model. Under `limits`, no collection is added whole, and chunks are expanded only if the
        limits are about whole documents.
        """
        small = self._small if to_read and not limits else {}
        relevant, irrelevant, minimum = self._relevant([one for one in ranked if one.collection not in small])
        as_found = limits is not None and not limits.of_documents
        selected = self._selector.select(relevant, top_k, as_found=as_found)
        left_out: dict[str, LeftOut] = {"below min_relevance_score": [one.node_id for one in irrelevant]}
        left_out |= selected.left_out
        left_out |= _beyond_top_k(relevant, selected.chunks, left_out)
        chunks, wider = (selected.chunks, None) if as_found else self._expander.expand(selected.chunks, left_out)
        chunks = [*chunks, *(chunk for generation in small.values() for chunk in _all_chunks(generation, ranked))]
        notes = self._relevance_notes(minimum, relevant)
        if to_read:
            chunks, more = self._within_budget(chunks, left_out)
            notes += more
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
        return ShapeResult(tuple(chunks), tuple(notes))

    def _relevant(
        self, ranked: Sequence[SearchCandidate]
    ) -> tuple[list[SearchCandidate], list[SearchCandidate], float]:
        """Return relevant and irrelevant candidates and the minimum score, halved if no candidate reaches it."""
        minimum = self._query.min_relevance_score
        relevant, irrelevant = drop_below(ranked, minimum)
        if relevant or not irrelevant:
            return relevant, irrelevant, minimum
        return *drop_below(ranked, minimum / 2), minimum / 2

    def _relevance_notes(self, minimum: float, relevant: Sequence[SearchCandidate]) -> list[str]:
        configured = self._query.min_relevance_score
        if minimum == configured:
            return []
        outcome = f"; chunks with {minimum:g} or more were used." if relevant else " or half of it."
        return [f"No chunk reaches the minimum relevance of {configured:g} (query.min_relevance_score){outcome}"]

    def _within_budget(
        self, chunks: list[CandidateChunk], left_out: dict[str, LeftOut]
    ) -> tuple[list[CandidateChunk], list[str]]:
        if self._surely_fit(chunks):
            return chunks, []
        tokens = [self._tokens(chunk) for chunk in chunks]
        scores = [chunk.candidate.score for chunk in chunks]
        beyond = sorted(indexes_beyond_budget(tokens, scores, self._max_tokens))
        if not beyond:
            return chunks, []
        left_out["beyond llm.max_context_tokens"] = [chunks[index].node.node_id for index in beyond]
        kept = [chunk for index, chunk in enumerate(chunks) if index not in set(beyond)]
        return kept, [
            f"{len(beyond)} of {len(chunks)} chunks were left out, the least relevant ones: together they have"
            f" {sum(tokens)} tokens, and llm.max_context_tokens is {self._max_tokens}."
        ]

    def _surely_fit(self, chunks: Sequence[CandidateChunk]) -> bool:
        """Return whether the chunks certainly fit the token budget.

        Each is assumed to have as many tokens as its embedding model can read.
        """
        if any(chunk.matches for chunk in chunks):
            return False
        most = sum(self._by_name[one.candidate.collection].embedding.token_limit for one in chunks)
        return most <= self._max_tokens

    def _tokens(self, chunk: CandidateChunk) -> int:
        """Count tokens by the embedding model, as an estimate of the tokens of the language model."""
        embedding = self._by_name[chunk.candidate.collection].embedding
        return len(embedding.token_spans(f"{chunk.node.context}\n{chunk.node.text}"))


def _all_chunks(generation: Generation, ranked: Iterable[SearchCandidate]) -> list[CandidateChunk]:
    """Return every chunk of a collection by source and position; ranked chunks keep their ranks and scores."""
    by_id = {one.node_id: one for one in ranked if one.collection == generation.collection}
    nodes = sorted(
        generation.nodes(generation.ids), key=lambda node: (node.source, node.document_id, node.start, node.ordinal)
    )
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
