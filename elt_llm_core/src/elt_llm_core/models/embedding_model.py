"""The base class of embedding models: LlamaIndex's BaseEmbedding plus fingerprint, arrays and token spans."""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from numpy.typing import NDArray
from pydantic import PrivateAttr

from elt_llm_core.errors import UnusableReply
from elt_llm_core.store.records import EmbeddingFingerprint


class EmbeddingModel(BaseEmbedding):
    """An embedding model. Its vectors have length 1 and depend on the text alone. It adds prefixes to texts itself."""

    @property
    @abstractmethod
    def fingerprint(self) -> EmbeddingFingerprint:
        """What identifies the model. A generation's passport records it, since a question needs the same model."""

    @abstractmethod
    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of chunks, shape (len(texts), dimension). Raises ModelError on failure."""

    def embed_batches(self, batches: Iterable[Sequence[str]]) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of each batch in order. Up to `concurrency` batches are embedded at the same time.

        After an error or an interruption, no further batch is started, and requests to a model server are cancelled.
        """
        if self.concurrency == 1:
            yield from map(self.embed_texts, batches)
            return
        from elt_llm_core.models.transport import cancel_requests_when  # imports httpx, which takes 150 ms

        stopped = Event()
        with ThreadPoolExecutor(self.concurrency, "embed", cancel_requests_when, (stopped.is_set,)) as threads:
            waiting: deque[Future[NDArray[np.float32]]] = deque()
            try:
                for batch in batches:
                    waiting.append(threads.submit(self.embed_texts, batch))
                    if len(waiting) > self.concurrency:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                stopped.set()
                for future in waiting:
                    future.cancel()

    @abstractmethod
    def embed_question(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a question, shape (dimension,)."""

    @abstractmethod
    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span (start, end) of each of the text's tokens, in order, without special tokens."""

    @property
    def multilingual(self) -> bool:
        """Whether a text's vector is near the vectors of its translations."""
        return False

    @property
    def concurrency(self) -> int:
        """The number of calls to `embed_texts` that an ingest makes at the same time."""
        return 1

    @property
    def token_limit(self) -> int:
        """The maximum number of tokens in a chunk, excluding special tokens and prefix, that the model reads."""
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


_TOLERANCE = 0.01  # of the length 1, for models that compute with 16 bits


def check_unit_vectors(model: EmbeddingModel, vectors: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Return the vectors of `count` texts. Raises UnusableReply unless they are unit vectors, (count, dimension)."""
    array, shape = np.asarray(vectors), (count, model.fingerprint.dimension)
    found = f"an array of shape {array.shape}"
    if array.shape == shape:
        lengths = np.linalg.norm(array, axis=1)
        wrong = lengths[~(np.abs(lengths - 1.0) <= _TOLERANCE)]  # also NaN
        if not wrong.size:
            return array
        found = f"a vector of length {wrong[0]:.4g}"
    name = f"The embedding model {model.model_name}"
    raise UnusableReply(f"{name} returned {found}, not {count} vectors of length 1 and dimension {shape[1]}.")


class WrappedEmbedding(EmbeddingModel):
    """The base class for wrappers that change some methods of a model and delegate all others to it."""

    _model: EmbeddingModel = PrivateAttr()

    def __init__(self, model: EmbeddingModel) -> None:
        super().__init__(model_name=model.model_name)
        self._model = model

    @property
    def fingerprint(self) -> EmbeddingFingerprint:
        """The identity of the wrapped model."""
        return self._model.fingerprint

    @property
    def multilingual(self) -> bool:
        """Whether a text's vector is near the vectors of its translations."""
        return self._model.multilingual

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the model's unit vectors of chunks, shape (len(texts), dimension). Raises ModelError on failure."""
        return self._model.embed_texts(texts)

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """Return the model's unit vector of a question, shape (dimension,)."""
        return self._model.embed_question(text)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each of the text's tokens."""
        return self._model.token_spans(text)
