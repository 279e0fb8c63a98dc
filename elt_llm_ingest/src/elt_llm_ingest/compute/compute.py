"""The interface to the processes that parse files and embed texts for an ingest, and the local implementation."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.utilities import Closeable

from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.sandbox.guards import ParseLimits
from elt_llm_ingest.sandbox.parser import ParseRequest
from elt_llm_ingest.sandbox.pool import ParsePool

ParseOutcome = ParsedDocument | UnreadableDocument


class Compute(Closeable):
    """The processes that parse files into documents and embed texts for an ingest.

    They never write to the store. A Compute can be passed wherever a Parser is expected.
    """

    @abstractmethod
    def start(self) -> None:
        """Check that the processes can be used. Raises IngestError or UsageError, with a hint, if they cannot."""

    @abstractmethod
    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParseOutcome]:
        """Yield each file's document or error in the order of the requests, while later files are being parsed."""

    @abstractmethod
    def embedding(self, model: EmbeddingModel) -> EmbeddingModel:
        """Return a model that produces the same vectors as `model`, but embeds in these processes."""


class LocalCompute(Compute):
    """Parses in at most `workers` child processes, each under `limits`, and embeds in this process."""

    def __init__(self, limits: ParseLimits, workers: int) -> None:
        self._pool = ParsePool(limits, workers)

    def start(self) -> None:
        """Do nothing: a child process starts only when it gets its first file."""

    def close(self) -> None:
        """End all child processes at once."""
        self._pool.close()

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParseOutcome]:
        """Yield the document or the error of each file, in the order of the requests."""
        return self._pool.read_all(requests)

    def embedding(self, model: EmbeddingModel) -> EmbeddingModel:
        """Return `model` unchanged: it embeds in this process."""
        return model
