"""More of a document than was matched: parents, neighbouring sentences, and passages that touch as one."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from elt_llm_core.outline import Outline
from elt_llm_core.settings import QuerySettings

from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.shape.parents import parent_span
from elt_llm_query.shape.passages import Passage
from elt_llm_query.shape.spans import Reading, merge_touching, read_span, widen

Place = tuple[str, str]
"""Collection and document id."""


class WiderReader:
    """Reads as much around each passage as the settings say; documents are fetched only where it takes one."""

    def __init__(self, generations: Mapping[str, Searchable], query: QuerySettings) -> None:
        self._generations = generations
        self._query = query

    def read(self, passages: Sequence[Passage], told: dict[str, Any]) -> list[Passage]:
        """The passages with the text that is to be read, in their order; what was merged and widened is told."""
        readings = [Reading(passage, self._first_span(passage)) for passage in passages]
        needed = self._needed(readings)
        if not needed:
            return list(passages)
        texts, outlines = self._documents(needed)
        sentences = self._query.widen_sentences
        readings = [
            Reading(one.passage, widen(texts[one.passage.document], one.span, sentences)) if sentences else one
            for one in readings
        ]
        if self._merges:
            readings = merge_touching(readings, texts)
        read = [
            read_span(one, texts.get(one.passage.document, ""), outlines.get(one.passage.document)) for one in readings
        ]
        _tell(passages, read, told)
        return read

    @property
    def _merges(self) -> bool:
        # Widened passages that overlap would say the same sentences twice.
        return self._query.merge_adjacent or self._query.widen_sentences > 0

    def _first_span(self, passage: Passage) -> tuple[int, int]:
        parent = parent_span(passage) if self._query.read_parents else None
        return parent or (passage.node.start, passage.node.end)

    def _needed(self, readings: Sequence[Reading]) -> list[Place]:
        """The documents without which the passages cannot be read as configured."""
        shared = Counter(one.passage.document for one in readings)
        return list(
            dict.fromkeys(
                one.passage.document
                for one in readings
                if self._query.widen_sentences
                or one.span != (one.passage.node.start, one.passage.node.end)
                or (self._query.merge_adjacent and shared[one.passage.document] > 1)
            )
        )

    def _documents(self, needed: Sequence[Place]) -> tuple[dict[Place, str], dict[Place, Outline]]:
        wanted: dict[str, list[str]] = defaultdict(list)
        for collection, document in needed:
            wanted[collection].append(document)
        texts: dict[Place, str] = {}
        outlines: dict[Place, Outline] = {}
        for collection, documents in wanted.items():
            generation = self._generations[collection]
            texts |= {(collection, key): text for key, text in generation.texts(documents).items()}
            outlines |= {(collection, key): outline for key, outline in generation.outlines(documents).items()}
        return texts, outlines


def _tell(passages: Sequence[Passage], read: Sequence[Passage], told: dict[str, Any]) -> None:
    left = {passage.node.node_id for passage in read}
    before = {passage.node.node_id for passage in passages}
    merged = {
        node.node_id: passage.node.node_id
        for passage in read
        for node in passage.matches
        if node.node_id in before - left
    }
    wider = {passage.node.node_id: [passage.node.start, passage.node.end] for passage in read if passage.matches}
    if merged:
        told["merged with one it touches"] = merged
    if wider:
        told["read wider"] = wider
