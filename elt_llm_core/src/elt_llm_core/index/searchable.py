"""The questions that a search asks of a collection, whichever library or database answers them.

Nothing that crosses this interface is as long as the collection: answers are about the best chunks, about chunks that
the caller names, or about distinct values and stems. An implementation serves one published generation, which never
changes, so it may keep what it has answered. Order is part of every answer: equal scores are ordered by node id.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import UsageError
from elt_llm_core.index.passport import Passport
from elt_llm_core.store.records import StoredDocument, StoredNode
from elt_llm_core.text.outline import Outline
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import nearest_names

FieldType = Literal["text", "path", "number", "date"]
FieldValue = str | int | float
Ranking = list[tuple[str, float]]  # node ids with their scores, best first


@dataclass(frozen=True)
class FieldValues:
    """The distinct values of a filter field, ascending; dates are ISO 8601 texts.

    `codes[n]` is the code of `values[n]`: an integer that no value of another field of the collection has.
    `of_documents` is true if all chunks of a document have the same values.
    """

    name: str
    type: FieldType
    values: Sequence[FieldValue]
    codes: Sequence[int]
    of_documents: bool


@dataclass(frozen=True)
class ValueFilter:
    """A filter condition as value codes: a chunk must have one of `codes`, or none of them if `denies` is true."""

    codes: Sequence[int]
    denies: bool = False


class AllowedChunks(Protocol):
    """The chunks that fulfil a filter. Only the collection that returned the object can use it."""

    @property
    def count(self) -> int:
        """The number of these chunks."""


@dataclass(frozen=True)
class OtherName:
    """Another name of something that a query names, as the stems of each of its words.

    A chunk matches the name if it matches every word. Its BM25 score is then multiplied by `weight`.
    """

    words: tuple[tuple[str, ...], ...]
    weight: float


@dataclass(frozen=True)
class NamedInQuery:
    """The stems of a name in a query, and other names of the same thing."""

    stems: tuple[str, ...]
    others: tuple[OtherName, ...]


@dataclass(frozen=True)
class KeywordQuery:
    """A query for BM25 with the parameters and document frequencies of the collection.

    A stem adds its BM25 score as often as it occurs in `stems`, multiplied by its factor in `factors`, by default 1.
    Each of `names` adds the amount by which the best of its other names scores higher than the name itself, if any.
    """

    stems: tuple[str, ...]
    factors: Mapping[str, float] = field(default_factory=dict)
    names: tuple[NamedInQuery, ...] = ()


class BothScores(NamedTuple):
    """The cosine and the BM25 score of each chunk, shape (chunks,); None if it was not asked for."""

    cosines: NDArray[np.float32] | None
    keyword: NDArray[np.float32] | None


class Searchable(Protocol):
    """A published generation of a collection, as a search sees it. Many threads may share one object."""

    @property
    def collection(self) -> str:
        """The name of the collection."""

    @property
    def number(self) -> int:
        """The number of the generation. Numbers restart after a drop."""

    @property
    def identity(self) -> str:
        """A text that is unique for each published state."""

    @property
    def passport(self) -> Passport:
        """The models and parameters that the generation was built with."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on every part that is damaged or outdated and was replaced."""

    @property
    def size(self) -> int:
        """The number of chunks."""

    @property
    def tokeniser(self) -> KeywordTokeniser:
        """The tokeniser of the keyword index."""

    @property
    def has_keywords(self) -> bool:
        """Whether any chunk has a stem."""

    @property
    def answers_at_once(self) -> bool:
        """Whether a search takes less time than handing it to another thread."""

    @property
    def field_names(self) -> Sequence[str]:
        """The names of the filter fields, ascending."""

    @property
    def fields_complete(self) -> bool:
        """Whether every filter field is known; false for generations that an earlier version published."""

    def field(self, name: str, allowed: AllowedChunks | None = None) -> FieldValues | None:
        """Return the values of a filter field, or None if no chunk can have the field. Raises CorruptIndex.

        With `allowed`, only values of these chunks are returned.
        """

    def allow(self, filters: Sequence[ValueFilter]) -> AllowedChunks:
        """Return the chunks that fulfil all filters."""

    def allowed_among(self, node_ids: Sequence[str], allowed: AllowedChunks) -> frozenset[str]:
        """Return those of these chunks that are allowed."""

    def nearest(self, vector: NDArray[np.float32], top_k: int, allowed: AllowedChunks | None = None) -> Ranking:
        """Return at most `top_k` chunks with the greatest cosines; exact if only `allowed` chunks are searched."""

    def matching(self, query: KeywordQuery, top_k: int, allowed: AllowedChunks | None = None) -> Ranking:
        """Return at most `top_k` chunks with the greatest BM25 scores above 0, among the `allowed` ones."""

    def completed(
        self, node_ids: Sequence[str], vector: NDArray[np.float32] | None, query: KeywordQuery | None
    ) -> BothScores:
        """Return the scores of these chunks, exact, whichever retriever found them. Raises CorruptIndex."""

    def frequencies(self, stems: Sequence[str], allowed: AllowedChunks | None = None) -> Mapping[str, int]:
        """Return for each of these stems the number of chunks that contain it, among the `allowed` ones."""

    def having(self, stems: Sequence[str], most: int, allowed: AllowedChunks | None = None) -> list[str]:
        """Return the ids of the first `most` chunks that contain all of these stems, ascending."""

    def stems_beginning(self, prefix: str) -> Sequence[str]:
        """Return the stems that start with this text, ascending."""

    def vectors(self, node_ids: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of these chunks, shape (chunks, dimension), each of length 1. Raises CorruptIndex."""

    def stems(self, node_ids: Sequence[str]) -> list[list[str]]:
        """Return the stems of each chunk: first of its context, then of its text. An unknown id has no stems."""

    def nodes(self, node_ids: Sequence[str]) -> list[StoredNode]:
        """Return these chunks with their texts, in the given order. Raises CorruptIndex if one is missing."""

    def every_id(self) -> Iterator[str]:
        """Yield the id of every chunk, ascending."""

    def documents(self) -> list[StoredDocument]:
        """Return the documents sorted by path, without their texts."""

    def document(self, reference: str) -> StoredDocument:
        """Return the one document with this id, path, file name or title, and its text. Raises UsageError otherwise."""

    def texts(self, document_ids: Sequence[str]) -> Mapping[str, str]:
        """Return the texts of these documents by document id. Unknown ids are skipped."""

    def outlines(self, document_ids: Sequence[str]) -> Mapping[str, Outline]:
        """Return pages and sections of these documents by document id. Unknown ids are skipped."""

    @property
    def artefact_names(self) -> Sequence[str]:
        """The names of the artefacts that document readers stored besides text, such as `enterprise_model`."""

    def artefacts(self, name: str) -> Mapping[str, Any]:
        """Return the artefacts with this name by document id. Raises CorruptIndex if one has changed."""


def find_document(documents: Sequence[StoredDocument], reference: str, collection: str) -> StoredDocument:
    """Return the one of these documents with this id, path, file name or title. Raises UsageError otherwise."""
    ways = (
        [it for it in documents if it.document_id == reference],
        [it for it in documents if it.source == reference],
        [it for it in documents if reference in (PurePosixPath(it.source).name, it.title)],
    )
    for matches in ways:
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UsageError(
                f"'{reference}' names {len(matches)} documents of '{collection}'.",
                hint="Use an id: " + ", ".join(f"{d.document_id} ({d.source})" for d in matches[:5]),
            )
    raise UsageError(
        f"There is no document '{reference}' in '{collection}'.",
        hint=nearest_names(reference, [document.source for document in documents]),
    )
