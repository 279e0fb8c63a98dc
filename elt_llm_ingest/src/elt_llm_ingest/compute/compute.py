"""The interface to the processes that parse files and embed texts for an ingest, and the local implementation."""

from abc import abstractmethod

from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.utilities import Closeable

from elt_llm_ingest.sandbox.parser import Parser
from elt_llm_ingest.sandbox.pool import ParsePool


class Compute(Parser, Closeable):
    """The processes that parse files into documents and embed texts for an ingest. They never write to the store."""

    @abstractmethod
    def start(self) -> None:
        """Check that the processes can be used. Raises IngestError or UsageError, with a hint, if they cannot."""

    @abstractmethod
    def embedding(self, model: EmbeddingModel) -> EmbeddingModel:
        """Return a model that produces the same vectors as `model`, but embeds in these processes."""


class LocalCompute(ParsePool, Compute):
    """Parses in child processes, and embeds in this process."""

    def start(self) -> None:
        """Do nothing: a child process starts only when it gets its first file."""

    def embedding(self, model: EmbeddingModel) -> EmbeddingModel:
        """Return `model` unchanged: it embeds in this process."""
        return model
