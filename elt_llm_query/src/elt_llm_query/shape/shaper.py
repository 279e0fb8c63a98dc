"""From a ranking to what is read: relevance, different texts, variety, wider spans, and how much in all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_core.settings import QuerySettings

from elt_llm_query.retrieve.candidates import Candidate
from elt_llm_query.retrieve.collections import OpenCollection
from elt_llm_query.retrieve.masks import Masks
from elt_llm_query.retrieve.stages import OpenStage
from elt_llm_query.shape.budget import beyond_budget
from elt_llm_query.shape.passages import Passage
from elt_llm_query.shape.relevance import drop_irrelevant
from elt_llm_query.shape.selection import Selector
from elt_llm_query.shape.whole import read_whole, small_enough
from elt_llm_query.shape.wider import WiderReader


@dataclass(frozen=True)
class Shaped:
    """Passages in the order they are read, and what has to be said about them."""

    passages: tuple[Passage, ...]
    notes: tuple[str, ...]


class Shaper:
    """Keeps the passages of a ranking that are worth reading; everything left out is told with its reason."""

    def __init__(self, collections: Sequence[OpenCollection], query: QuerySettings, max_tokens: int) -> None:
        self._by_name = {collection.name: collection for collection in collections}
        self._query = query
        self._max_tokens = max_tokens
        self._small = small_enough((one.generation for one in collections), query.full_context_max_chunks)
        self._selector = Selector(collections, query)
        self._reader = WiderReader({one.name: one.generation for one in collections}, query)

    def shape(
        self,
        ranked: Sequence[Candidate],
        top_k: int,
        stage: OpenStage,
        *,
        to_read: bool = False,
        limits: Masks | None = None,
    ) -> Shaped:
        """At most top_k passages in their final order; what was dropped and why is written to the stage.

        `to_read`: for a reader who named no number. Small collections are then read whole, beside and behind the
        others, and together all have no more tokens than a model may be given. Under `limits` nothing is read that
        they leave out: no collection whole, and nothing around a passage unless they are about whole documents.
        """
        small = {one.collection for one in self._small} if to_read and not limits else set()
        competing = [one for one in ranked if one.collection not in small]
        relevant, irrelevant, minimum = drop_irrelevant(competing, self._query.min_relevance_score)
        as_found = limits is not None and not limits.of_documents
        selected = self._selector.select(relevant, top_k, as_found=as_found)
        told = {"below min_relevance_score": [one.node_id for one in irrelevant], **selected.told}
        told |= _beyond(relevant, selected.passages, told)
        passages = list(selected.passages) if as_found else self._reader.read(selected.passages, told)
        for generation in self._small if small else ():
            passages += read_whole(generation, ranked)
        if small:
            told["read whole"] = sorted(small)
        notes = self._relevance_notes(minimum, relevant, told)
        if to_read:
            passages, more = self._within_budget(passages, told)
            notes += more
        stage.kept = len(passages)
        stage.details["top_k"] = top_k
        stage.details["min_relevance_score"] = minimum
        stage.details.update(told)
        stage.details["ranking"] = [(passage.candidate.node_id, passage.candidate.score) for passage in passages]
        return Shaped(tuple(passages), tuple(notes))

    def _relevance_notes(self, minimum: float, relevant: Sequence[Candidate], told: dict[str, Any]) -> list[str]:
        configured = self._query.min_relevance_score
        if minimum == configured:
            return []
        told["lowered min_relevance_score"] = minimum
        if not relevant:
            return [
                f"No passage has the least relevance of {configured:g} (query.min_relevance_score), nor half of it."
            ]
        return [
            f"No passage has the least relevance of {configured:g} (query.min_relevance_score);"
            f" those with {minimum:g} or more were taken."
        ]

    def _within_budget(self, passages: list[Passage], told: dict[str, Any]) -> tuple[list[Passage], list[str]]:
        if self._surely_fit(passages):
            return passages, []
        tokens = [self._tokens(passage) for passage in passages]
        scores = [passage.candidate.score for passage in passages]
        beyond = sorted(beyond_budget(tokens, scores, self._max_tokens))
        if not beyond:
            return passages, []
        told["beyond llm.max_context_tokens"] = [passages[index].node.node_id for index in beyond]
        kept = [passage for index, passage in enumerate(passages) if index not in set(beyond)]
        return kept, [
            f"{len(beyond)} of {len(passages)} passages were left out, the least relevant ones: together they have"
            f" {sum(tokens)} tokens, and llm.max_context_tokens is {self._max_tokens}."
        ]

    def _surely_fit(self, passages: Sequence[Passage]) -> bool:
        """No node has more tokens than its model reads, so that nothing need be counted where that is enough."""
        if any(passage.matches for passage in passages):
            return False
        most = sum(self._by_name[one.candidate.collection].embedding.token_limit for one in passages)
        return most <= self._max_tokens

    def _tokens(self, passage: Passage) -> int:
        """Tokens of the collection's embedding model, an estimate of those of the model that reads."""
        embedding = self._by_name[passage.candidate.collection].embedding
        return len(embedding.token_spans(f"{passage.node.context}\n{passage.node.text}"))


def _beyond(candidates: Iterable[Candidate], kept: Iterable[Passage], told: dict[str, Any]) -> dict[str, Any]:
    """Candidates that nothing speaks against but their rank, or their likeness where variety is asked for."""
    read = {(passage.candidate.collection, passage.node.node_id) for passage in kept}
    told_of = set[str]().union(*told.values())
    beyond = [
        one.node_id for one in candidates if one.node_id not in told_of and (one.collection, one.node_id) not in read
    ]
    return {"beyond top_k": beyond} if beyond else {}
