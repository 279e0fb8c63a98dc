"""Ingest texts that are not files: fill a whole collection from titles and texts."""

from collections.abc import Iterable
from dataclasses import dataclass

from elt_llm_core.collection.lifecycle import collect_garbage, publish, remove_leftovers
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.records import document_id, sha256, version_key
from elt_llm_core.store.store import Store

from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.run.indexing import collection_language, embed_missing, index_recipe, version_maker
from elt_llm_ingest.run.versions import DocumentOrigin, VersionMaker

_READER, _ROOT = "text-1", "texts"


@dataclass(frozen=True)
class TextDocument:
    """A document in memory; `name` becomes its source."""

    name: str
    title: str
    text: str


def ingest_texts(
    collection: str,
    texts: Iterable[TextDocument],
    settings: Settings,
    embedding: EmbeddingModel,
    store: Store,
    progress: ProgressListener,
) -> None:
    """Fill a collection with exactly these texts. Stored texts are neither chunked nor embedded again.

    The caller holds the writer's lock.
    """
    remove_leftovers(store)
    record = store.collections.create(collection)
    store.collections.begin_run(record.id, "texts")
    maker = version_maker(collection, settings, embedding)
    versions = [_store_version(store, record.id, maker, document) for document in texts]
    published = None if record.published is None else store.generations.versions(record.id, record.published)
    if sorted(versions) != published:
        recipe = index_recipe(settings, embedding, collection_language(store, versions))
        embed_missing(store, versions, embedding, settings.embedding.batch_size, progress)
        publish(store, collection, versions, recipe, progress)
    store.collections.finish_run(record.id, "{}")
    collect_garbage(store, settings.storage.keep_generations)


def _store_version(store: Store, collection: int, maker: VersionMaker, document: TextDocument) -> int:
    # The name is part of the hash, so that equal texts are separate documents.
    digest = sha256(document.name, document.title, document.text)
    identity = document_id(maker.collection, _ROOT, document.name)
    stored = store.documents.find(version_key(identity, digest, _READER, maker.chunker_identity, maker.extraction))
    if stored is not None:
        return stored
    origin = DocumentOrigin(_ROOT, document.name, digest, len(document.text.encode()), _READER)
    own, *parts = maker.from_parsed(origin, ParsedDocument(document.text, document.title or document.name))
    return store.documents.add(collection, own, parts)
