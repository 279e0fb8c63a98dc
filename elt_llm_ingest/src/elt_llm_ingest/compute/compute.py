"""The seam between an ingest and the processors that parse and embed for it, and its implementation on this machine."""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import overload

import numpy as np
from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.models.embedding_model import EmbeddingModel, WrappedEmbedding
from elt_llm_core.utilities import Closeable
from numpy.typing import NDArray
from pydantic import PrivateAttr

from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.sandbox.guards import ParseLimits
from elt_llm_ingest.sandbox.parser import ParseRequest
from elt_llm_ingest.sandbox.pool import ParsePool

ParseOutcome = ParsedDocument | UnreadableDocument
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class ParseFiles:
    """Parse files. A batch of requests gives, for each request, the document or the reason why there is none."""


@dataclass(frozen=True)
class EmbedTexts:
    """Embed texts with a model. A batch of texts gives an array of shape (texts, dimension)."""

    model: EmbeddingModel


class Compute(Closeable):
    """Processors for an ingest. They get bytes of files and texts, and return documents and vectors.

    Only the ingest itself writes to the store. A Compute is also the Parser of the ingest.
    """

    @abstractmethod
    def start(self) -> None:
        """Check that the processors can be used; raise IngestError or UsageError, with the mend, if not."""

    @overload
    def map(self, work: ParseFiles, batches: Iterable[Sequence[ParseRequest]]) -> Iterator[list[ParseOutcome]]: ...
    @overload
    def map(self, work: EmbedTexts, batches: Iterable[Sequence[str]]) -> Iterator[Vectors]: ...
    def map(
        self, work: ParseFiles | EmbedTexts, batches: Iterable[Sequence[ParseRequest]] | Iterable[Sequence[str]]
    ) -> Iterator[list[ParseOutcome]] | Iterator[Vectors]:
        """Yield the result of each batch, in the order of the batches, while later batches are being worked on.

        No batch is empty. If the caller closes the iterator early, no further batch is started.
        """
        if isinstance(work, EmbedTexts):
            return self._embed(work.model, batches)  # type: ignore[arg-type]  # the overloads pair work and batches
        return self._parse(batches)  # type: ignore[arg-type]

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParseOutcome]:
        """Yield the document or the error of each file, in the order of the requests."""
        for outcomes in self.map(ParseFiles(), self._file_batches(requests)):
            yield from outcomes

    @abstractmethod
    def embedding(self, model: EmbeddingModel) -> EmbeddingModel:
        """Return the model with which an ingest embeds here."""

    @abstractmethod
    def _parse(self, batches: Iterable[Sequence[ParseRequest]]) -> Iterator[list[ParseOutcome]]: ...

    @abstractmethod
    def _embed(self, model: EmbeddingModel, batches: Iterable[Sequence[str]]) -> Iterator[Vectors]: ...

    @abstractmethod
    def _file_batches(self, requests: Iterable[ParseRequest]) -> Iterator[Sequence[ParseRequest]]: ...


class LocalCompute(Compute):
    """Parse in at most `workers` child processes, each under `limits`, and embed in this process."""

    def __init__(self, limits: ParseLimits, workers: int) -> None:
        self._pool = ParsePool(limits, workers)

    def start(self) -> None:
        """Do nothing: a process starts with its first file."""

    def close(self) -> None:
        """End all child processes at once."""
        self._pool.close()

    def embedding(self, model: EmbeddingModel) -> EmbeddingModel:
        """Return the model itself."""
        return model

    def _parse(self, batches: Iterable[Sequence[ParseRequest]]) -> Iterator[list[ParseOutcome]]:
        sizes: deque[int] = deque()

        def requests() -> Iterator[ParseRequest]:
            for batch in batches:
                sizes.append(len(batch))
                yield from batch

        outcomes = self._pool.read_all(requests())
        for first in outcomes:
            yield [first, *islice(outcomes, sizes.popleft() - 1)]

    def _embed(self, model: EmbeddingModel, batches: Iterable[Sequence[str]]) -> Iterator[Vectors]:
        return model.embed_batches(batches)

    def _file_batches(self, requests: Iterable[ParseRequest]) -> Iterator[Sequence[ParseRequest]]:
        """Yield each file alone, so that each result can be stored as soon as it is there."""
        for request in requests:
            yield [request]


class ComputedEmbedding(WrappedEmbedding):
    """An embedding model whose batches a Compute embeds. Everything else is done by the model in this process."""

    _compute: Compute = PrivateAttr()

    def __init__(self, model: EmbeddingModel, compute: Compute) -> None:
        super().__init__(model)
        self._compute = compute

    def embed_batches(self, batches: Iterable[Sequence[str]]) -> Iterator[Vectors]:
        """Yield the vectors of each batch, in the order of the batches, as the Compute returns them."""
        return self._compute.map(EmbedTexts(self._model), batches)
