"""How one ingest cuts and indexes, made from the settings and the embedding model once."""

from collections.abc import Mapping

from elt_llm_core.index.builder import Recipe
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings import Settings
from elt_llm_core.store.records import MetadataValue
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_ingest.chunkers import create_chunker
from elt_llm_ingest.metadata.chunk_metadata import ChunkMetadata
from elt_llm_ingest.versions import Description, VersionMaker


def version_maker(
    collection: str,
    settings: Settings,
    embedding: EmbeddingModel,
    metadata: Mapping[str, MetadataValue] | None = None,
    scope: str = "",
) -> VersionMaker:
    """The maker of document versions: its chunks depend on the chunker and on the model whose tokens it counts.

    `metadata` goes onto every document; `scope` names what is taken of each file.
    """
    chunker = create_chunker(settings.chunking, embedding)
    model = f"{embedding.fingerprint.model}:{embedding.fingerprint.digest[:16]}"
    chunk_metadata = ChunkMetadata(settings.ingest.topics, settings.ingest.organisations)
    description = Description(chunk_metadata, metadata or {}, scope)
    return VersionMaker(collection, chunker, f"{chunker.fingerprint}|{model}", description)


def index_recipe(settings: Settings, embedding: EmbeddingModel, language: str) -> Recipe:
    """What a generation is built with; `language` decides how keywords are stemmed."""
    return Recipe(
        fingerprint=embedding.fingerprint,
        chunker=create_chunker(settings.chunking, embedding).fingerprint,
        tokeniser=KeywordTokeniser(language),
        chroma=settings.chroma,
    )
