"""Prepare the build of an index: create document versions, choose the settings, detect the language, embed texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elt_llm_core.index.builder import GenerationRecipe
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.records import MetadataValue
from elt_llm_core.store.store import Store
from elt_llm_core.text.language import detect_language
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import Failpoint, failpoint

from elt_llm_ingest.chunkers import create_chunker
from elt_llm_ingest.metadata.chunk_metadata import ChunkMetadata
from elt_llm_ingest.run.versions import VersionMaker, VersionMetadata

_SAMPLE_DOCUMENTS, _SAMPLE_CHARACTERS = 100, 2_000  # documents, and characters of each, for language detection


def version_maker(
    collection: str,
    settings: Settings,
    embedding: EmbeddingModel,
    metadata: Mapping[str, MetadataValue] | None = None,
    scope: str = "",
) -> VersionMaker:
    """Create the maker of document versions; its chunks depend on the chunker and on the model's tokenizer.

    `metadata` is added to every document. `scope` names the part of each file that is ingested.
    """
    chunker = create_chunker(settings.chunking, embedding)
    model = f"{embedding.fingerprint.model}:{embedding.fingerprint.digest[:16]}"
    chunk_metadata = ChunkMetadata(settings.ingest.topics, settings.ingest.organisations)
    description = VersionMetadata(chunk_metadata, metadata or {}, scope)
    return VersionMaker(collection, chunker, f"{chunker.fingerprint}|{model}", description)


def index_recipe(settings: Settings, embedding: EmbeddingModel, language: str) -> GenerationRecipe:
    """Return the recipe of a generation. `language` is the language of the keyword stemmer."""
    return GenerationRecipe(
        fingerprint=embedding.fingerprint,
        chunker=create_chunker(settings.chunking, embedding).fingerprint,
        tokeniser=KeywordTokeniser(language),
        chroma=settings.chroma,
    )


def collection_language(store: Store, versions: Sequence[int]) -> str:
    """Detect the language from a sample of these document versions; English if it is unclear."""
    ordered = sorted(versions)
    step = max(1, len(ordered) // _SAMPLE_DOCUMENTS)
    sample = "\n".join(store.documents.text(version)[:_SAMPLE_CHARACTERS] for version in ordered[::step])
    return detect_language(sample)


@dataclass(frozen=True)
class EmbeddingCounts:
    """Number of texts embedded in this run, and of texts whose vectors were already stored."""

    new: int
    reused: int


def embed_missing(
    store: Store, versions: Sequence[int], embedding: EmbeddingModel, batch_size: int, progress: ProgressListener
) -> EmbeddingCounts:
    """Embed every node of these versions that has no vector yet. An interrupted run loses at most one batch."""
    texts = store.nodes.to_embed(store.documents.indexed(versions))
    fingerprint = embedding.fingerprint.key
    missing = store.vectors.missing(fingerprint, texts)
    progress.stage("embed", len(missing))
    for start in range(0, len(missing), batch_size):
        batch = missing[start : start + batch_size]
        with failpoint(Failpoint.EMBED):
            store.vectors.add(fingerprint, batch, embedding.embed_texts([texts[digest] for digest in batch]))
        progress.advance(len(batch))
    return EmbeddingCounts(new=len(missing), reused=len(texts) - len(missing))
