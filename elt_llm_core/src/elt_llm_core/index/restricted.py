"""A view of a collection that contains only the documents that a caller's conditions allow.

Its results do not depend on any other document, with one exception: BM25 uses the term statistics of the whole
collection.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.searchable import (
    AllowedChunks,
    BothScores,
    FieldValues,
    KeywordQuery,
    Ranking,
    Searchable,
    ValueFilter,
    find_document,
)
from elt_llm_core.store.conditions import DocumentCondition, DocumentConditions, admit
from elt_llm_core.store.records import StoredDocument, StoredNode, canonical_json
from elt_llm_core.text.outline import Outline
from elt_llm_core.utilities import leaves_out_conditions

_IDS_AT_ONCE = 10_000


def restrict(index: Searchable, conditions: DocumentConditions) -> Searchable:
    """Return a view of an index that contains only the documents that fulfil the conditions."""
    return RestrictedIndex(index, conditions) if conditions else index


class RestrictedIndex:
    """A `Searchable` that behaves as if only the documents that fulfil some conditions existed."""

    def __init__(self, index: Searchable, conditions: DocumentConditions) -> None:
        """Compute the allowed chunks. A condition on a field that does not exist allows no chunks."""
        self._index, self._conditions = index, conditions
        self.collection, self.number, self.passport = index.collection, index.number, index.passport
        self.tokeniser, self.has_keywords = index.tokeniser, index.has_keywords
        self.fields_complete, self.answers_at_once = index.fields_complete, index.answers_at_once
        enforced = () if leaves_out_conditions() else conditions
        self._filters = tuple(_value_filter(index, condition) for condition in enforced)
        self._allowed = index.allow(self._filters)

    @property
    def identity(self) -> str:
        """A text that is unique for the generation and these conditions, so that caches can distinguish both."""
        return f"{self._index.identity} {canonical_json([one.to_json() for one in self._conditions])}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about parts of the index that were damaged or outdated and had to be replaced."""
        return self._index.notes

    @property
    def size(self) -> int:
        """The number of allowed chunks."""
        return self._allowed.count

    @cached_property
    def field_names(self) -> Sequence[str]:
        """The names of the fields in which an allowed chunk has a value, ascending."""
        return [name for name in self._index.field_names if self.field(name) is not None]

    def field(self, name: str, allowed: AllowedChunks | None = None) -> FieldValues | None:
        """Return the values that allowed chunks have in a field, or None if there are none."""
        found = self._index.field(name, allowed or self._allowed)
        return found if found is not None and len(found.values) else None

    def allow(self, filters: Sequence[ValueFilter]) -> AllowedChunks:
        """Return the allowed chunks that fulfil all filters."""
        return self._index.allow((*self._filters, *filters))

    def allowed_among(self, node_ids: Sequence[str], allowed: AllowedChunks) -> frozenset[str]:
        """Return those of `node_ids` that `allowed` contains."""
        return self._index.allowed_among(node_ids, allowed)

    def nearest(self, vector: NDArray[np.float32], top_k: int, allowed: AllowedChunks | None = None) -> Ranking:
        """Return at most `top_k` allowed chunks with the greatest cosines."""
        return self._index.nearest(vector, top_k, allowed or self._allowed)

    def matching(self, query: KeywordQuery, top_k: int, allowed: AllowedChunks | None = None) -> Ranking:
        """Return at most `top_k` allowed chunks with the greatest BM25 scores."""
        return self._index.matching(query, top_k, allowed or self._allowed)

    def completed(
        self, node_ids: Sequence[str], vector: NDArray[np.float32] | None, query: KeywordQuery | None
    ) -> BothScores:
        """Return cosines and BM25 scores of these chunks. Raises CorruptIndex for a chunk that is not allowed."""
        return self._index.completed(self._only_allowed(node_ids), vector, query)

    def frequencies(self, stems: Sequence[str], allowed: AllowedChunks | None = None) -> Mapping[str, int]:
        """Return the number of allowed chunks that contain each of these stems, by stem."""
        return self._index.frequencies(stems, allowed or self._allowed)

    def having(self, stems: Sequence[str], most: int, allowed: AllowedChunks | None = None) -> list[str]:
        """Return the ids of the first `most` allowed chunks that contain all of these stems."""
        return self._index.having(stems, most, allowed or self._allowed)

    def stems_beginning(self, prefix: str) -> Sequence[str]:
        """Return the stems of allowed chunks that start with this text, ascending."""
        stems = self._index.stems_beginning(prefix)
        counts = self.frequencies(stems)
        return [stem for stem in stems if counts[stem]]

    def vectors(self, node_ids: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of these chunks. Raises CorruptIndex for a chunk that is not allowed."""
        return self._index.vectors(self._only_allowed(node_ids))

    def stems(self, node_ids: Sequence[str]) -> list[list[str]]:
        """Return the stems of each chunk. Raises CorruptIndex for a chunk that is not allowed."""
        return self._index.stems(self._only_allowed(node_ids))

    def nodes(self, node_ids: Sequence[str]) -> list[StoredNode]:
        """Return these chunks with their texts. Raises CorruptIndex for a chunk that is not allowed."""
        return self._index.nodes(self._only_allowed(node_ids))

    def every_id(self) -> Iterator[str]:
        """Yield the id of every allowed chunk, ascending."""
        every_id = self._index.every_id()
        while ids := list(islice(every_id, _IDS_AT_ONCE)):
            allowed = self._index.allowed_among(ids, self._allowed)
            yield from (node_id for node_id in ids if node_id in allowed)

    def documents(self) -> list[StoredDocument]:
        """Return the allowed documents sorted by path, without their texts."""
        return [one for one in self._index.documents() if admit(self._conditions, one.metadata)]

    def document(self, reference: str) -> StoredDocument:
        """Return the one allowed document with this id, path, file name or title. Raises UsageError otherwise."""
        found = find_document(self.documents(), reference, self.collection)
        return self._index.document(found.document_id)

    def texts(self, document_ids: Sequence[str]) -> Mapping[str, str]:
        """Return texts by document id, leaving out documents that are not allowed."""
        return self._index.texts(self._allowed_documents(document_ids))

    def outlines(self, document_ids: Sequence[str]) -> Mapping[str, Outline]:
        """Return pages and sections by document id, leaving out documents that are not allowed."""
        return self._index.outlines(self._allowed_documents(document_ids))

    def outdated(self, document_ids: Sequence[str]) -> Mapping[str, str]:
        """Return why the changed file of an allowed document could not be read, by document id."""
        return self._index.outdated(self._allowed_documents(document_ids))

    @property
    def artefact_names(self) -> Sequence[str]:
        """The names of the artefacts of the allowed documents, such as `enterprise_model`.

        An artefact is a JSON value that a reader extracted from a document in addition to the text.
        """
        return [name for name in self._index.artefact_names if self.artefacts(name)]

    def artefacts(self, name: str) -> Mapping[str, Any]:
        """Return the artefacts of the allowed documents with this name, as parsed JSON by document id.

        An artefact is a JSON value that a reader extracted in addition to the text, such as `enterprise_model`.
        """
        found = self._index.artefacts(name)
        allowed = frozenset(self._allowed_documents(list(found)))
        return {identity: content for identity, content in found.items() if identity in allowed}

    @cached_property
    def _document_ids(self) -> frozenset[str]:
        return frozenset(document.document_id for document in self.documents())

    def _allowed_documents(self, document_ids: Sequence[str]) -> list[str]:
        return [identity for identity in document_ids if identity in self._document_ids]

    def _only_allowed(self, node_ids: Sequence[str]) -> Sequence[str]:
        allowed = self._index.allowed_among(node_ids, self._allowed) if node_ids else frozenset()
        if len(allowed) < len(set(node_ids)):
            raise CorruptIndex(
                f"A chunk of the index is not in '{self.collection}'.", hint=f"Run: elt-llm verify -c {self.collection}"
            )
        return node_ids


def _value_filter(index: Searchable, condition: DocumentCondition) -> ValueFilter:
    """Convert a condition to a filter. It allows nothing if no field of documents has the condition's field name."""
    found = index.field(condition.field)
    if found is None or not found.of_documents:
        return ValueFilter(())
    codes = [code for code, value in zip(found.codes, found.values, strict=True) if value in condition.values]
    return ValueFilter(codes)
