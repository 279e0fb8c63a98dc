"""The interface through which a search reads a collection, independent of the library or database behind it.

No result has one entry for every chunk, except `every_id`: results are about the best chunks, about chunks that the
caller names, or about distinct values and stems. An implementation serves one published generation, which never
changes, so it may cache its results. All results are in a defined order: equal scores are ordered by node id.
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

    `codes[n]` is the code of `values[n]`, an integer that is unique among all values of all fields in the collection.
    `of_documents` is true if the field belongs to documents, so that all chunks of a document have the same values.
    """

    name: str
    type: FieldType
    values: Sequence[FieldValue]
    codes: Sequence[int]
    of_documents: bool


@dataclass(frozen=True)
class ValueFilter:
    """A filter condition: a chunk must have a value with one of `codes` or, if `denies` is true, with none of them."""

    codes: Sequence[int]
    denies: bool = False


class AllowedChunks(Protocol):
    """The chunks that fulfil a filter. Only the collection that returned the object can use it."""

    @property
    def count(self) -> int:
        """The number of chunks that fulfil the filter."""


@dataclass(frozen=True)
class OtherName:
    """Another name for something that a query mentions. `words` are the stems of each of its words.

    A chunk matches the name if it matches every word. The BM25 score of the name is multiplied by `weight`.
    """

    words: tuple[tuple[str, ...], ...]
    weight: float


@dataclass(frozen=True)
class NamedInQuery:
    """The stems of a name in a query, such as "GDPR", and other names for it, such as "data protection regulation"."""

    stems: tuple[str, ...]
    others: tuple[OtherName, ...]


@dataclass(frozen=True)
class KeywordQuery:
    """A query for BM25, which uses the collection's parameters and document frequencies.

    Each occurrence of a stem in `stems` adds its BM25 score, multiplied by its factor in `factors` (1 if absent).
    `names` are names in the query that have other names: "GDPR" is also "data protection regulation". If a chunk scores
    higher for one of the other names than for the name in the query, the difference is added to its score.
    """

    stems: tuple[str, ...]
    factors: Mapping[str, float] = field(default_factory=dict)
    names: tuple[NamedInQuery, ...] = ()


class BothScores(NamedTuple):
    """The cosines and the BM25 scores of chunks, each of shape (chunks,), or None if not requested."""

    cosines: NDArray[np.float32] | None
    keyword: NDArray[np.float32] | None


class Searchable(Protocol):
    """A published generation of a collection, as a search sees it. Several threads may share one object."""

    @property
    def collection(self) -> str:
        """The name of the collection."""

    @property
    def number(self) -> int:
        """The generation's number. Numbers restart if the collection is dropped."""

    @property
    def identity(self) -> str:
        """A text that is unique for each published generation, even if numbers restart."""

    @property
    def passport(self) -> Passport:
        """The record of the models and parameters with which the generation was built."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about parts of the index that were damaged or outdated and had to be replaced."""

    @property
    def size(self) -> int:
        """The number of chunks."""

    @property
    def tokeniser(self) -> KeywordTokeniser:
        """The tokeniser of the keyword index."""

    @property
    def has_keywords(self) -> bool:
        """Whether any chunk contains a stem."""

    @property
    def answers_at_once(self) -> bool:
        """Whether a search takes less time than handing it to another thread."""

    @property
    def field_names(self) -> Sequence[str]:
        """The names of the filter fields, ascending."""

    @property
    def fields_complete(self) -> bool:
        """Whether every filter field is known. False for generations published by an older program version."""

    def field(self, name: str, allowed: AllowedChunks | None = None) -> FieldValues | None:
        """Return a filter field's values, or None if there is no such field. Raises CorruptIndex if it is damaged.

        With `allowed`, only the values of those chunks are returned.
        """

    def allow(self, filters: Sequence[ValueFilter]) -> AllowedChunks:
        """Return the chunks that fulfil all filters."""

    def allowed_among(self, node_ids: Sequence[str], allowed: AllowedChunks) -> frozenset[str]:
        """Return those of `node_ids` that `allowed` contains."""

    def nearest(self, vector: NDArray[np.float32], top_k: int, allowed: AllowedChunks | None = None) -> Ranking:
        """Return at most `top_k` chunks with the greatest cosines. With `allowed`, the result is exact."""

    def matching(self, query: KeywordQuery, top_k: int, allowed: AllowedChunks | None = None) -> Ranking:
        """Return at most `top_k` chunks with the greatest BM25 scores above 0, among the `allowed` ones."""

    def completed(
        self, node_ids: Sequence[str], vector: NDArray[np.float32] | None, query: KeywordQuery | None
    ) -> BothScores:
        """Return the exact cosines and BM25 scores of these chunks. Raises CorruptIndex if a chunk is missing."""

    def frequencies(self, stems: Sequence[str], allowed: AllowedChunks | None = None) -> Mapping[str, int]:
        """Return the number of chunks, among the `allowed` ones, that contain each of these stems, by stem."""

    def having(self, stems: Sequence[str], most: int, allowed: AllowedChunks | None = None) -> list[str]:
        """Return the ids of the first `most` chunks that contain all of these stems, ascending."""

    def stems_beginning(self, prefix: str) -> Sequence[str]:
        """Return the stems that start with this text, ascending."""

    def vectors(self, node_ids: Sequence[str]) -> NDArray[np.float32]:
        """Return these chunks' unit vectors, shape (chunks, dimension). Raises CorruptIndex if one is missing."""

    def stems(self, node_ids: Sequence[str]) -> list[list[str]]:
        """Return each chunk's stems, first from its context, then from its text. Unknown ids have none."""

    def nodes(self, node_ids: Sequence[str]) -> list[StoredNode]:
        """Return these chunks with their texts, in the given order. Raises CorruptIndex if one is missing."""

    def every_id(self) -> Iterator[str]:
        """Yield the id of every chunk, ascending."""

    def documents(self) -> list[StoredDocument]:
        """Return the documents sorted by path, without their texts."""

    def document(self, reference: str) -> StoredDocument:
        """Return the only document with this id, path, file name or title, with its text, or raise UsageError."""

    def texts(self, document_ids: Sequence[str]) -> Mapping[str, str]:
        """Return the texts of these documents by document id. Unknown ids are skipped."""

    def outlines(self, document_ids: Sequence[str]) -> Mapping[str, Outline]:
        """Return the pages and sections of these documents by document id. Unknown ids are skipped."""

    def outdated(self, document_ids: Sequence[str]) -> Mapping[str, str]:
        """Return why the changed file of a document could not be read, for documents of an older version, by id."""

    @property
    def artefact_names(self) -> Sequence[str]:
        """The names of the documents' artefacts, such as `enterprise_model`.

        An artefact is a JSON value that a reader extracted from a document in addition to the text.
        """

    def artefacts(self, name: str) -> Mapping[str, Any]:
        """Return the artefacts with this name, as parsed JSON by document id. Raises CorruptIndex if they are damaged.

        An artefact is a JSON value that a reader extracted in addition to the text, such as `enterprise_model`.
        """


def find_document(documents: Sequence[StoredDocument], reference: str, collection: str) -> StoredDocument:
    """Return the only document with this id, path, file name or title. Raises UsageError for none or several."""
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
