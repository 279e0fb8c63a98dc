"""Ingest files into a collection: discover, read, chunk, enrich, embed, publish.

If an ingest was interrupted, the same command continues from the stored state.
"""

import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.collection.lifecycle import (
    DOWNLOADS_FOLDER,
    check_fingerprint,
    check_index,
    collect_garbage,
    publish,
    remove_leftovers,
)
from elt_llm_core.errors import UsageError
from elt_llm_core.index.builder import GenerationRecipe
from elt_llm_core.models.embedded import MODEL_NAME as ENGLISH_MODEL
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.multilingual import MODEL_NAME as MULTILINGUAL_MODEL
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.records import StoredDocument, canonical_json, document_id, sha256, version_key
from elt_llm_core.store.store import Store
from elt_llm_core.text.languages import languages
from elt_llm_core.utilities import Failpoint, failpoint, install_command

from elt_llm_ingest.leanix.model_check import check_models
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.run.enrichment import ContextWriter, create_context_writer, enrich_versions, enriched_extraction
from elt_llm_ingest.run.reading import FileReading
from elt_llm_ingest.run.report import IngestReport
from elt_llm_ingest.run.scan import (
    Scan,
    ScanResult,
    file_outcomes,
    find_deleted,
    find_deleted_failures,
    nothing_to_ingest_error,
    published_documents,
    published_passport,
)
from elt_llm_ingest.run.versions import (
    DocumentOrigin,
    EmbeddingCounts,
    VersionMaker,
    collection_language,
    embed_missing,
    index_recipe,
)
from elt_llm_ingest.sandbox.parser import Parser
from elt_llm_ingest.sources.collection_sources import CollectionSources, KnownSources
from elt_llm_ingest.sources.remote_files import find_all_sources
from elt_llm_ingest.sources.request import IngestRequest


def ingest(
    request: IngestRequest,
    settings: Settings,
    embedding: EmbeddingModel,
    store: Store,
    progress: ProgressListener,
    parser: Parser,
    writer: ContextWriter | None = None,
) -> IngestReport:
    """Bring a collection up to date with its files, and publish it if anything changed.

    The caller holds the writer's lock. If the settings enable enrichment, `writer` writes contexts for chunks; by
    default, the configured language model does. Raises UsageError for a missing path, a URL whose host is not allowed,
    or a collection that was rolled back; FingerprintMismatch if the collection was built with another embedding model;
    and IngestError if there is nothing to ingest.
    """
    started = time.monotonic()
    for left in remove_leftovers(store):
        progress.note(left)
    with _download_folder(store) as folder:
        with failpoint(Failpoint.DISCOVER):
            known = KnownSources.of(store, request.collection)
            sources = find_all_sources(known, request, settings.ingest, folder)
        if not sources.files and not sources.known:
            raise nothing_to_ingest_error(sources)
        run = _Run(request, settings, embedding, store, progress)
        run.begin(sources, writer)
        scanned = run.scan(sources, parser)
        embedded = run.publish(run.merge_versions(scanned))
        report = run.report(sources, scanned, embedded, time.monotonic() - started)
        run.finish(sources, scanned, report)
    return report


@contextmanager
def _download_folder(store: Store) -> Iterator[Path]:
    """Make a folder for fetched files. If this process is killed, the next command that writes deletes the folder."""
    folder = store.data_dir / DOWNLOADS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Run:
    def __init__(
        self,
        request: IngestRequest,
        settings: Settings,
        embedding: EmbeddingModel,
        store: Store,
        progress: ProgressListener,
    ) -> None:
        self._request, self._settings, self._embedding = request, settings, embedding
        self._store, self._progress = store, progress
        self._record = record = store.collections.create(request.collection)
        self._published = published_documents(store, record)
        self._passport = published_passport(store, record)
        forgotten = store.forgotten.all(record.id)
        # The published files, except those that an interrupted `forget` was removing.
        self._files = {
            identity: document
            for identity, document in self._published.items()
            if not document.part and not forgotten.covers(identity, bytes.fromhex(document.document_hash))
        }
        self._writer: ContextWriter | None = None

    def begin(self, sources: CollectionSources, writer: ContextWriter | None) -> None:
        """Check that the ingest is allowed, and record its start and the names of its source folders (roots)."""
        self._check_allowed()
        check_index(self._store, self._settings.index, self._embedding.fingerprint, self._settings.chroma)
        if self._settings.chunking.enrichment == "llm":
            self._writer = writer or create_context_writer(self._settings, self._embedding)
        self._store.collections.begin_run(self._record.id, self._request.command)
        # Names of roots are recorded before any document is stored under them, so that an interrupted run keeps them.
        for name, (path, whole) in sources.roots.items():
            self._store.collections.record_root(self._record.id, name, path, whole=whole)

    def _check_allowed(self) -> None:
        """Raise an error if the ingest would mix embedding models, or undo a rollback without --resume."""
        if self._request.rebuild:
            return
        if self._passport is not None:
            check_fingerprint(self._passport, self._embedding.fingerprint)
        if self._record.rolled_back and not self._request.resume:
            name = self._record.name
            raise UsageError(
                f"Collection '{name}' was rolled back to generation {self._record.published}.",
                hint=f"Run: elt-llm ingest -c {name} --resume   (continue), or --rebuild   (index everything)",
            )

    def scan(self, sources: CollectionSources, parser: Parser) -> ScanResult:
        """Read new and changed files, and find deleted files."""
        request, store = self._request, self._store
        reading = FileReading(request, self._settings.ingest, parser, store.data_dir)
        maker = VersionMaker(self._record.name, self._settings, self._embedding, request.metadata, reading.scope)
        self._progress.stage("read", len(sources.files))
        ending = enriched_extraction("", self._writer) if self._writer else ""
        scan = Scan(store, self._record.id, maker, self._files, reading, ending, remember=request.remember)
        scanned = scan.run(sources.files, self._progress)
        deleted = find_deleted(
            list(self._files.values()),
            scanned.present,
            sources.whole_roots,
            sources.missing_files,
            allow_delete=request.allow_delete,
        )
        known = store.files.of_collection(self._record.id)
        scanned.deleted = find_deleted_failures(known, self._files, sources, deleted)
        return scanned

    def merge_versions(self, scanned: ScanResult) -> list[int]:
        """Return the document versions of the next generation: those of files read now, and of unchanged files."""
        kept = {identity: document.version for identity, document in self._files.items()}
        for document in scanned.deleted.removed:
            kept.pop(document.document_id, None)
        kept.update(scanned.versions)
        versions = self._store.documents.with_parts(list(kept.values()))
        return enrich_versions(self._store, versions, self._writer, self._progress) if self._writer else versions

    def publish(self, versions: list[int]) -> EmbeddingCounts | None:
        """Embed texts that have no vectors yet, and publish a generation. Return None if nothing changed."""
        recipe = index_recipe(self._settings, self._embedding, collection_language(self._store, versions))
        if not self._must_publish(versions, recipe):
            return None
        batch = self._settings.embedding.batch_size
        embedded = embed_missing(self._store, versions, self._embedding, batch, self._progress)
        publish(self._store, self._record.name, versions, recipe, self._progress, afresh=self._request.rebuild)
        return embedded

    def report(
        self, sources: CollectionSources, scanned: ScanResult, embedded: EmbeddingCounts | None, seconds: float
    ) -> IngestReport:
        """Build the ingest's report: the outcome of every file, and counts."""
        record = self._store.collections.get(self._record.name)
        row = self._store.generations.get(record.id, record.published) if record.published is not None else None
        against = self._request.check_against
        notes, model = check_models(self._store, record.name, against) if row else ((), None)
        if embedded is not None:
            notes = (
                *notes,
                *_language_notes(record.name, published_documents(self._store, record).values(), self._embedding),
            )
        return IngestReport(
            collection=record.name,
            files=tuple(file_outcomes(self._store, sources, scanned, self._files)),
            generation=record.published,
            published=embedded is not None,
            documents=row.documents if row else 0,
            chunks=row.nodes if row else 0,
            embedded=embedded.new if embedded else 0,
            reused=embedded.reused if embedded else 0,
            collection_hash=row.collection_hash.hex() if row else "",
            seconds=seconds,
            notes=notes,
            model=model,
        )

    def finish(self, sources: CollectionSources, scanned: ScanResult, report: IngestReport) -> None:
        """Record the scanned files, and remove data that no generation needs any more."""
        collection = self._record.id
        if report.generation is None:
            self._store.collections.delete(collection)
            return
        never_published = sources.missing_files - self._files.keys()
        removed, failed = scanned.deleted.removed, scanned.deleted.failed
        deleted_ids = [*(it.document_id for it in removed), *(it.document_id for it in failed), *never_published]
        self._store.files.record(collection, scanned.records, deleted_ids)
        self._store.collections.delete_roots(collection, sources.deleted_roots)
        summary = {**report.counts, "skipped_files": sources.first_skipped(100)}
        self._store.collections.finish_run(collection, canonical_json(summary))
        collect_garbage(self._store, self._settings.storage.keep_generations)

    def _must_publish(self, versions: list[int], recipe: GenerationRecipe) -> bool:
        if self._passport is None:
            return bool(versions)
        return (
            self._request.rebuild
            or self._record.rolled_back
            or versions != sorted(document.version for document in self._published.values())
            or self._passport.tokeniser != recipe.tokeniser.fingerprint
            or self._passport.chroma != recipe.chroma.model_dump()
            or not self._passport.index_settings.is_same_place(recipe.index)
            or not (self._store.folder(self._record.name) / str(self._record.published)).is_dir()
        )


_READER, _ROOT = "text-1", "texts"


@dataclass(frozen=True)
class TextDocument:
    """A document in memory. Its `name` is shown as its source."""

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
    """Make a collection contain exactly these texts. Only new ones are embedded. The caller holds the writer's lock."""
    for left in remove_leftovers(store):
        progress.note(left)
    record = store.collections.create(collection)
    store.collections.begin_run(record.id, "texts")
    maker = VersionMaker(collection, settings, embedding)
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


def _language_notes(collection: str, documents: Iterable[StoredDocument], model: EmbeddingModel) -> tuple[str, ...]:
    """Return a note if the model is all-MiniLM-L6-v2 and most of a collection's documents are not in English.

    Nothing is known about the languages of the models of a server.
    """
    if (model.fingerprint.provider, model.fingerprint.model) != ("embedded", ENGLISH_MODEL):
        return ()
    found = [document.metadata.get("language") for document in documents if document.nodes]
    others = sum(language in languages() and language != "en" for language in found)
    if others * 2 <= len(found):
        return ()
    return (
        f"Most documents ({others} of {len(found)}) are not in English, but the embedding model {ENGLISH_MODEL}"
        f" was trained on English texts. To find more, run {install_command('multilingual')}, set embedding.model to"
        f" {MULTILINGUAL_MODEL}, and run elt-llm ingest -c {collection} --rebuild.",
    )
