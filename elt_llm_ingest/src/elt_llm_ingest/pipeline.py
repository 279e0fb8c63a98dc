"""Ingest files into a collection: discover, read, chunk, enrich, embed, publish.

After an interruption, the same command continues from the stored state.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from elt_llm_core.collection.lifecycle import (
    check_fingerprint,
    collect_garbage,
    publish,
    remove_leftovers,
)
from elt_llm_core.errors import UsageError
from elt_llm_core.index.builder import GenerationRecipe
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.records import CollectionRecord, canonical_json
from elt_llm_core.store.store import Store
from elt_llm_core.utilities import Failpoint, failpoint

from elt_llm_ingest.leanix.model_check import check_models
from elt_llm_ingest.readers.options import ReaderOptions
from elt_llm_ingest.run.changes import find_deleted, published_documents, published_passport
from elt_llm_ingest.run.enrichment import (
    ContextWriter,
    create_context_writer,
    enrich_versions,
    enriched_extraction,
)
from elt_llm_ingest.run.indexing import EmbeddingCounts, collection_language, embed_missing, index_recipe, version_maker
from elt_llm_ingest.run.reading import FileReading
from elt_llm_ingest.run.report import IngestReport
from elt_llm_ingest.run.request import IngestRequest
from elt_llm_ingest.run.scan import Scan, ScanResult, file_outcomes, nothing_to_ingest_error
from elt_llm_ingest.sandbox.parser import Parser
from elt_llm_ingest.sources.collection_sources import CollectionSources, KnownSources
from elt_llm_ingest.sources.remote_files import find_all_sources


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

    The caller holds the writer's lock. `writer` writes contexts for chunks if the settings enable enrichment. By
    default it uses the language model of the settings. Raises UsageError for a missing path, a URL whose host is not
    allowed, or a collection that was rolled back, FingerprintMismatch if it was built with another embedding model, and
    IngestError if there is nothing to ingest.
    """
    with TemporaryDirectory(prefix="elt-llm-remote-") as folder:
        return _ingest(request, settings, embedding, store, progress, _Tools(parser, writer, Path(folder)))


@dataclass(frozen=True)
class _Tools:
    """The parser, the writer of contexts, and the folder into which remote files are fetched."""

    parser: Parser
    writer: ContextWriter | None
    fetched: Path


def _ingest(
    request: IngestRequest,
    settings: Settings,
    embedding: EmbeddingModel,
    store: Store,
    progress: ProgressListener,
    tools: _Tools,
) -> IngestReport:
    started = time.monotonic()
    remove_leftovers(store)
    with failpoint(Failpoint.DISCOVER):
        known = KnownSources.of(store, request.collection)
        sources = find_all_sources(known, request.sources, settings.ingest, tools.fetched)
    if not sources.discovery.files and not sources.known:
        raise nothing_to_ingest_error(sources)
    record = store.collections.create(request.collection)
    run = _Run(request, settings, embedding, store, record)
    run.check_allowed()
    if settings.chunking.enrichment == "llm":
        run.writer = tools.writer or create_context_writer(settings, embedding)
    store.collections.begin_run(record.id, request.command)
    # Root names are recorded before any document is stored under one, so that an interrupted run keeps the names.
    for name, (path, whole) in sources.roots.items():
        store.collections.record_root(record.id, name, path, whole=whole)
    scanned = run.scan(sources, tools.parser, progress)
    versions = run.merge_versions(scanned, progress)
    embedded = run.publish(versions, progress)
    report = run.report(sources, scanned, embedded, time.monotonic() - started)
    run.finish(sources, scanned, report)
    return report


class _Run:
    def __init__(
        self,
        request: IngestRequest,
        settings: Settings,
        embedding: EmbeddingModel,
        store: Store,
        record: CollectionRecord,
    ) -> None:
        self._request, self._settings, self._embedding = request, settings, embedding
        self._store, self._record = store, record
        self._published = published_documents(store, record)
        self._passport = published_passport(store, record)
        forgotten = store.forgotten.all(record.id)
        # Published files, without those that an interrupted `forget` was removing.
        self._files = {
            identity: document
            for identity, document in self._published.items()
            if not document.part and not forgotten.covers(identity, bytes.fromhex(document.document_hash))
        }
        self.writer: ContextWriter | None = None

    def check_allowed(self) -> None:
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

    def scan(self, sources: CollectionSources, parser: Parser, progress: ProgressListener) -> ScanResult:
        """Read new and changed files, and find deleted files."""
        request, store = self._request, self._store
        options = ReaderOptions.of(self._settings.ingest, request.columns)
        reading = FileReading(parser, options, request.reader, request.split_by or None, request.group)
        maker = version_maker(self._record.name, self._settings, self._embedding, request.metadata, reading.scope)
        progress.stage("read", len(sources.files))
        extraction = enriched_extraction(maker.extraction, self.writer) if self.writer else ""
        scan = Scan(store, self._record.id, maker, self._files, reading, extraction, remember=request.remember)
        scanned = scan.run(sources.files, progress)
        scanned.deleted = find_deleted(
            list(self._files.values()),
            scanned.present,
            sources.whole_roots,
            sources.missing_files,
            allow_delete=request.allow_delete,
        )
        return scanned

    def merge_versions(self, scanned: ScanResult, progress: ProgressListener) -> list[int]:
        """Return the document versions for the next generation: files read now, and unchanged files."""
        kept = {identity: document.version for identity, document in self._files.items()}
        for document in scanned.deleted.removed:
            kept.pop(document.document_id, None)
        kept.update(scanned.versions)
        versions = self._store.documents.with_parts(list(kept.values()))
        return enrich_versions(self._store, versions, self.writer, progress) if self.writer else versions

    def publish(self, versions: list[int], progress: ProgressListener) -> EmbeddingCounts | None:
        """Embed missing texts and publish a generation; None if nothing changed."""
        recipe = index_recipe(self._settings, self._embedding, collection_language(self._store, versions))
        if not self._must_publish(versions, recipe):
            return None
        embedded = embed_missing(self._store, versions, self._embedding, self._settings.embedding.batch_size, progress)
        publish(self._store, self._record.name, versions, recipe, progress, afresh=self._request.rebuild)
        return embedded

    def report(
        self, sources: CollectionSources, scanned: ScanResult, embedded: EmbeddingCounts | None, seconds: float
    ) -> IngestReport:
        """Build the report of the ingest: the outcome of every file, and counts."""
        record = self._store.collections.get(self._record.name)
        row = self._store.generations.get(record.id, record.published) if record.published is not None else None
        against = self._request.check_against
        notes, model = check_models(self._store, record.name, against) if row else ((), None)
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
        """Record the scanned files, and remove data that no kept generation needs."""
        collection = self._record.id
        if report.generation is None:
            self._store.collections.delete(collection)
            return
        never_published = sources.missing_files - self._files.keys()
        deleted_ids = [*(document.document_id for document in scanned.deleted.removed), *never_published]
        self._store.files.record(collection, scanned.records, deleted_ids)
        self._store.collections.finish_run(collection, canonical_json(report.counts))
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
            or not (self._store.folder(self._record.name) / str(self._record.published)).is_dir()
        )
