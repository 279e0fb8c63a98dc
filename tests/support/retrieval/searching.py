"""Search without keeping a pipeline open."""

from collections.abc import Sequence

from elt_llm_core.collection.generation import Generation
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings.tree import Settings
from elt_llm_query.search import SearchPipeline, SearchResult


def search_once(
    question: str, generations: Sequence[Generation], embedding: EmbeddingModel, settings: Settings
) -> SearchResult:
    """Open a pipeline, search once and close it."""
    with SearchPipeline(generations, [embedding], settings) as pipeline:
        return pipeline.search(question)
