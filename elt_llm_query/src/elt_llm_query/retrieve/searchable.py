"""What retrieval needs of an open generation, so that it can be asked of anything that has it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import bm25s
import numpy as np
from elt_llm_core.fingerprint import EmbeddingFingerprint
from elt_llm_core.index.fields import Fields
from elt_llm_core.outline import Outline
from elt_llm_core.store.records import StoredNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore
from numpy.typing import NDArray


class Tokeniser(Protocol):
    """Turns text into the stems that a keyword index holds."""

    @property
    def language(self) -> str:
        """Code of the language it stems by."""

    def stems(self, text: str) -> list[str]:
        """Stems in the order of the words, stopwords left out."""

    def stems_of_guess(self, word: str) -> list[str]:
        """The stems of one word in lower case that nobody may ever have written."""


class KeywordSource(Protocol):
    """A keyword index whose row numbers are positions in the generation's ids."""

    @property
    def bm25(self) -> bm25s.BM25 | None:
        """The index, or None where the collection has none."""

    @property
    def tokeniser(self) -> Tokeniser:
        """The tokeniser the index was built with."""

    def document_frequency(self, stem: str) -> int:
        """In how many nodes a stem occurs."""

    def scores(self, question: str) -> NDArray[np.float32]:
        """BM25 score of every node, shape (size,), 0 where nothing matches."""

    def scores_at(self, question: str, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """The same of the nodes at these positions alone."""

    def scores_weighing(self, weights: Mapping[str, float]) -> NDArray[np.float32]:
        """BM25 score of every node, shape (size,), each stem with this weight in place of the index's own."""

    def having(self, stems: Sequence[str]) -> NDArray[np.int64]:
        """Positions of the nodes that have every one of these stems."""


class PassportLike(Protocol):
    """The part of a passport that decides whether vectors may be compared."""

    @property
    def fingerprint(self) -> EmbeddingFingerprint:
        """The embedding model the vectors came from."""


class Searchable(Protocol):
    """An open, read-only generation of one collection."""

    @property
    def collection(self) -> str:
        """Name of the collection."""

    @property
    def identity(self) -> str:
        """Differs for each state that was ever published, so that what was found in one is not taken for another."""

    @property
    def ids(self) -> Sequence[str]:
        """Node ids by position, ascending."""

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Vectors of length 1, shape (size, dimension), in the order of `ids`."""

    @property
    def vector_store(self) -> BasePydanticVectorStore:
        """The vector index; its similarities are cosines."""

    @property
    def keyword(self) -> KeywordSource:
        """The keyword index."""

    @property
    def passport(self) -> PassportLike:
        """What the generation was built with."""

    @property
    def filter_fields(self) -> Fields:
        """What its nodes can be filtered by."""

    @property
    def notes(self) -> Sequence[str]:
        """What was degraded on opening."""

    def positions(self, node_ids: Sequence[str]) -> NDArray[np.int64]:
        """Positions of the ids, in the order given."""

    def stems(self, node_ids: Sequence[str]) -> Sequence[Sequence[str]]:
        """The stems of these nodes, context first, in the order given; fetched without their texts."""

    def nodes(self, node_ids: Sequence[str]) -> Sequence[StoredNode]:
        """The stored passages, in the order given, with their text."""

    def texts(self, document_ids: Sequence[str]) -> Mapping[str, str]:
        """The texts of these documents by their id."""

    def outlines(self, document_ids: Sequence[str]) -> Mapping[str, Outline]:
        """Pages and sections of these documents by their id; those without may be left out."""
