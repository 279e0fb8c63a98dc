"""The base class of embedding models: LlamaIndex's BaseEmbedding plus fingerprint, arrays and token spans."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from numpy.typing import NDArray

from elt_llm_core.store.records import EmbeddingFingerprint


class EmbeddingModel(BaseEmbedding):
    """An embedding model. Its vectors have length 1 and depend on the text alone. It adds prefixes to texts itself."""

    @property
    @abstractmethod
    def fingerprint(self) -> EmbeddingFingerprint:
        """The identity of the model. A collection stores it in its passport, and readers compare it."""

    @abstractmethod
    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of chunks, shape (len(texts), dimension), each of length 1. Raises ModelError on failure."""

    @abstractmethod
    def embed_question(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape (dimension,), length 1."""

    @abstractmethod
    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span (start, end) of each token of the model, in order, without special tokens."""

    @property
    def multilingual(self) -> bool:
        """Whether the vector of a text is near the vectors of its translations."""
        return False

    @property
    def concurrency(self) -> int:
        """The number of calls of `embed_texts` that an ingest makes at the same time."""
        return 1

    @property
    def token_limit(self) -> int:
        """Maximum tokens of a chunk that the model reads whole, without special tokens and prefix."""
        return self.fingerprint.token_limit

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self.embed_texts(texts).tolist()
        return vectors

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self.embed_question(query).tolist()
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)
