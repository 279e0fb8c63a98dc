"""How one ingest cuts and indexes, made from the settings and the embedding model once."""

from elt_llm_core.index.builder import Recipe
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings import Settings
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_ingest.chunkers import create_chunker
from elt_llm_ingest.versions import VersionMaker


def version_maker(collection: str, settings: Settings, embedding: EmbeddingModel) -> VersionMaker:
    """The maker of document versions: its chunks depend on the chunker and on the model whose tokens it counts."""
    chunker = create_chunker(settings.chunking, embedding)
    model = f"{embedding.fingerprint.model}:{embedding.fingerprint.digest[:16]}"
    return VersionMaker(collection, chunker, f"{chunker.fingerprint}|{model}")


def index_recipe(settings: Settings, embedding: EmbeddingModel, language: str) -> Recipe:
    """What a generation is built with; `language` decides how keywords are stemmed."""
    return Recipe(
        fingerprint=embedding.fingerprint,
        chunker=create_chunker(settings.chunking, embedding).fingerprint,
        tokeniser=KeywordTokeniser(language),
        chroma=settings.chroma,
    )
