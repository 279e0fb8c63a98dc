"""Ingesting texts that are no files: a whole collection from titles and texts at hand."""

from collections.abc import Iterable
from dataclasses import dataclass

from elt_llm_core.collection import clear_leftovers, collect_garbage, publish
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import Progress
from elt_llm_core.settings import Settings
from elt_llm_core.store.records import document_id, sha256, version_key
from elt_llm_core.store.store import Store

from elt_llm_ingest.embedding import embed_missing
from elt_llm_ingest.language import collection_language
from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.recipe import index_recipe, version_maker
from elt_llm_ingest.versions import Origin, VersionMaker

_READER = "text-1"
_ROOT = "texts"


@dataclass(frozen=True)
class GivenText:
    """A document at hand; `name` becomes its source."""

    name: str
    title: str
    text: str


def ingest_texts(
    collection: str,
    texts: Iterable[GivenText],
    settings: Settings,
    embedding: EmbeddingModel,
    store: Store,
    progress: Progress,
) -> None:
    """Make a collection of exactly these texts; what is in the store already is neither cut nor embedded again.

    The caller holds the writer's lock.
    """
    clear_leftovers(store)
    record = store.collections.create(collection)
    store.collections.begin_run(record.id, "texts")
    maker = version_maker(collection, settings, embedding)
    versions = [_version(store, record.id, maker, given) for given in texts]
    recipe = index_recipe(settings, embedding, collection_language(store, versions))
    published = None if record.published is None else store.generations.versions(record.id, record.published)
    if sorted(versions) != published:
        embed_missing(store, versions, embedding, settings.embedding.batch_size, progress)
        publish(store, collection, versions, recipe, progress)
    store.collections.finish_run(record.id, "{}")
    collect_garbage(store, settings.storage.keep_generations)


def _version(store: Store, collection: int, maker: VersionMaker, given: GivenText) -> int:
    digest = sha256(given.name, given.title, given.text)  # texts that are equal are documents of their own here
    identity = document_id(maker.collection, _ROOT, given.name)
    stored = store.documents.find(version_key(identity, digest, _READER, maker.chunker_identity, maker.extraction))
    if stored is not None:
        return stored
    origin = Origin(_ROOT, given.name, digest, len(given.text.encode()), _READER)
    parsed = ParsedDocument(given.text, given.title or given.name)
    own, *parts = maker.from_parsed(origin, parsed)
    return store.documents.add(collection, own, parts)
