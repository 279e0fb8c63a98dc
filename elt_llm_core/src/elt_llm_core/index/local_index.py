"""A generation's index on this machine, which implements most of `Searchable` with arrays and bm25s."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery
from numpy.typing import NDArray

from elt_llm_core.index.contents import GenerationArrays, top_positions
from elt_llm_core.index.fields import FilterFields
from elt_llm_core.index.keyword_index import KeywordIndex
from elt_llm_core.index.points import PointSearch, points_filters
from elt_llm_core.index.searchable import (
    AllowedChunks,
    BothScores,
    FieldValue,
    FieldValues,
    KeywordQuery,
    Ranking,
    ValueFilter,
)
from elt_llm_core.index.vector_index import EXACT_BELOW, ExactVectorStore
from elt_llm_core.text.stems import KeywordTokeniser

_CODES_OF_A_FIELD = 1 << 32  # a value's code is its field's number times this, plus its index in the field's values
# If a filter allows fewer than one node in eight, only those nodes' vectors are read, otherwise all vectors.
_FEW = 8


@dataclass(frozen=True)
class _AllowedNodes:
    """A mask of the allowed nodes, shape (nodes,), their number, and the filters from which the mask was computed."""

    mask: NDArray[np.bool_]
    count: int
    filters: tuple[ValueFilter, ...]


@dataclass(eq=False, repr=False)
class LocalIndex:
    """The methods of `Searchable` that need no texts, computed from arrays in memory or in memory-mapped files.

    Nodes are in the order of their ids, so breaking a tie by position means breaking it by node id.
    """

    arrays: GenerationArrays
    filter_fields: FilterFields
    keyword: KeywordIndex
    vector_store: BasePydanticVectorStore
    points: PointSearch | None = None
    """The vector database that is searched instead of `vector_store`, if the generation has one."""
    visible: NDArray[np.bool_] | None = None
    """A mask of the nodes that may be found at all, shape (nodes,), or None for all nodes."""

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.arrays.ids)

    @property
    def tokeniser(self) -> KeywordTokeniser:
        """The tokeniser of the keyword index."""
        return self.keyword.tokeniser

    @property
    def has_keywords(self) -> bool:
        """Whether any node contains a stem."""
        return self.keyword.bm25 is not None

    @property
    def answers_at_once(self) -> bool:
        """Whether a search takes less time than handing it to another thread."""
        return self.size < EXACT_BELOW and self.points is None

    @property
    def field_names(self) -> list[str]:
        """The names of the filter fields, ascending."""
        return self.filter_fields.names

    @property
    def fields_complete(self) -> bool:
        """Whether every filter field is known. False for generations published by an older program version."""
        return self.filter_fields.complete

    def field(self, name: str, allowed: AllowedChunks | None = None) -> FieldValues | None:
        """Return a filter field's values, or None if there is no such field. Raises CorruptIndex if it is damaged."""
        field = self.filter_fields.get(name)
        if field is None:
            return None
        first = self.field_names.index(name) * _CODES_OF_A_FIELD
        of_documents = field.rows is not None
        if allowed is None:
            codes = range(first, first + len(field.values))
            return FieldValues(name, field.type, field.values, codes, of_documents=of_documents)
        places = field.places_among(self._mask(allowed)).tolist()
        values = [field.values[place] for place in places]
        return FieldValues(name, field.type, values, [first + place for place in places], of_documents=of_documents)

    def allow(self, filters: Sequence[ValueFilter]) -> AllowedChunks:
        """Return the nodes that fulfil all filters."""
        mask = np.ones(self.size, dtype=bool) if self.visible is None else self.visible.copy()
        for one in filters:
            having = self._having_codes(one.codes)
            np.logical_and(mask, ~having if one.denies else having, out=mask)
        return _AllowedNodes(mask, int(np.count_nonzero(mask)), tuple(filters))

    def allowed_among(self, node_ids: Sequence[str], allowed: AllowedChunks) -> frozenset[str]:
        """Return those of `node_ids` that `allowed` contains."""
        are_allowed = self._mask(allowed)[self.arrays.positions(node_ids)]
        return frozenset(node_id for node_id, is_allowed in zip(node_ids, are_allowed, strict=True) if is_allowed)

    def nearest(self, vector: NDArray[np.float32], top_k: int, allowed: AllowedChunks | None = None) -> Ranking:
        """Return at most `top_k` nodes with the greatest cosines, best first.

        With `allowed`, cosines are computed from the allowed nodes' vectors, because filtering the results of a vector
        index would lose some allowed nodes.
        """
        vectors, most = self.arrays.vectors, min(top_k, self.size)
        if most == 0:
            return []
        if (
            self.points is not None
            and (ranking := self._nearest_points(self.points, vector, most, allowed)) is not None
        ):
            return ranking
        if allowed is not None:
            places = np.flatnonzero(self._mask(allowed))
            few = len(places) * _FEW < self.size
            cosines = vectors[places] @ vector if few else (vectors @ vector)[places]
            best = top_positions(cosines, most)
            return self._ranking(places[best], cosines[best])
        if type(self.vector_store) is ExactVectorStore:
            return self._ranking(*self.arrays.exact_search(vector, most))
        found = self.vector_store.query(VectorStoreQuery(query_embedding=vector.tolist(), similarity_top_k=most))
        hits = zip(found.ids or [], found.similarities or [], strict=True)
        return [(node_id, float(score)) for node_id, score in sorted(hits, key=lambda hit: (-hit[1], hit[0]))]

    def matching(self, query: KeywordQuery, top_k: int, allowed: AllowedChunks | None = None) -> Ranking:
        """Return at most `top_k` nodes with the greatest BM25 scores above 0, best first."""
        scores = self.keyword.scores_of(query)
        matches = scores > 0
        if allowed is not None:
            matches &= self._mask(allowed)  # before the best nodes are selected, so that no allowed node is lost
        places = np.flatnonzero(matches)
        best = places[top_positions(scores[places], top_k)]
        return self._ranking(best, scores[best])

    def completed(
        self, node_ids: Sequence[str], vector: NDArray[np.float32] | None, query: KeywordQuery | None
    ) -> BothScores:
        """Return both scores of these nodes: cosine and BM25. Raises CorruptIndex if a node is missing."""
        places = self.arrays.positions(node_ids)
        return BothScores(
            None if vector is None else self.arrays.vectors[places] @ vector,
            None if query is None else self.keyword.scores_of(query, places),
        )

    def frequencies(self, stems: Sequence[str], allowed: AllowedChunks | None = None) -> dict[str, int]:
        """Return the number of nodes that contain each of these stems, by stem."""
        mask = None if allowed is None else self._mask(allowed)
        return {stem: self.keyword.document_frequency(stem, mask) for stem in stems}

    def having(self, stems: Sequence[str], most: int, allowed: AllowedChunks | None = None) -> list[str]:
        """Return the ids of the first `most` nodes that contain all of these stems, ascending."""
        places = self.keyword.having(stems)
        if allowed is not None:
            places = places[self._mask(allowed)[places]]
        return self.arrays.ids_at(places[:most])

    def stems_beginning(self, prefix: str) -> list[str]:
        """Return the stems that start with this text, ascending."""
        start = bisect_left(self._sorted_stems, prefix)
        end = bisect_left(self._sorted_stems, prefix + "\U0010ffff", lo=start)
        return self._sorted_stems[start:end]

    def vectors(self, node_ids: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of these nodes, shape (nodes, dimension). Raises CorruptIndex if a node is missing."""
        return self.arrays.vectors[self.arrays.positions(node_ids)]

    def every_id(self) -> Iterator[str]:
        """Yield the id of every node, ascending."""
        return (bytes(value).decode() for value in self.arrays.ids)

    @property
    def ids(self) -> list[str]:
        """The id of every node, ascending, as a new list."""
        return list(self.every_id())

    @cached_property
    def _sorted_stems(self) -> list[str]:
        return sorted(self.keyword.vocabulary)

    def _nearest_points(
        self, points: PointSearch, vector: NDArray[np.float32], most: int, allowed: AllowedChunks | None
    ) -> Ranking | None:
        """Search the vector database. Returns None to search here instead. Raises IndexUnavailable, IndexRefused."""
        if allowed is None:
            found = points.nearest(self.arrays, vector, most)
        else:
            mask = self._mask(allowed)
            filters = allowed.filters if isinstance(allowed, _AllowedNodes) else ()
            found = points.nearest(self.arrays, vector, most, points_filters(filters, self._value_of), mask)
        return None if found is None else self._ranking(*found)

    def _value_of(self, code: int) -> tuple[str, FieldValue]:
        """Decode the code of a field value: return the field's name and the value."""
        number, place = divmod(code, _CODES_OF_A_FIELD)
        name = self.field_names[number]
        field = self.filter_fields.get(name)
        if field is None:
            raise ValueError(f"No field has the code {code}.")
        return name, field.values[place]

    def _having_codes(self, codes: Sequence[int]) -> NDArray[np.bool_]:
        """Return a mask, shape (nodes,): whether each node has one of these field values, given as codes."""
        having = np.zeros(self.size, dtype=bool)
        places_of: dict[str, list[int]] = {}
        for code in codes:
            number, place = divmod(code, _CODES_OF_A_FIELD)
            places_of.setdefault(self.field_names[number], []).append(place)
        for name, places in places_of.items():
            field = self.filter_fields.get(name)
            if field is not None:
                chosen = np.zeros(len(field.values), dtype=bool)
                chosen[places] = True
                having |= field.having(chosen)
        return having

    def _mask(self, allowed: AllowedChunks) -> NDArray[np.bool_]:
        if not isinstance(allowed, _AllowedNodes) or len(allowed.mask) != self.size:
            raise TypeError("These allowed nodes belong to another index.")
        return allowed.mask

    def _ranking(self, places: NDArray[np.int64], scores: NDArray[np.float32]) -> Ranking:
        return list(zip(self.arrays.ids_at(places), scores.tolist(), strict=True))
