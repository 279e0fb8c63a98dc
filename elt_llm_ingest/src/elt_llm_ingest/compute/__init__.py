"""Where files are parsed and chunks embedded: in processes of this machine, or on a Ray cluster."""

from abc import abstractmethod

from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings.tree import Settings
from elt_llm_core.utilities import Closeable

from elt_llm_ingest.sandbox.guards import ParseLimits
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


def create_compute(settings: Settings) -> Compute:
    """Create the Compute of the setting `ingest.compute`. Raises UsageError if it is "ray" but Ray is not set up."""
    limits = ParseLimits.of(settings.ingest)
    if settings.ingest.compute == "local":
        return LocalCompute(limits, settings.ingest.workers)
    from elt_llm_ingest.compute.ray_cluster import RayCompute, require_ray

    require_ray(settings.ingest.ray_address)
    return RayCompute(settings, limits)
