"""Ingest: discover, read, cut, embed, publish. Every step can be cut off; the same command again goes on from there."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from elt_llm_core.collection import Published, check_fingerprint, clear_leftovers, collect_garbage, publish
from elt_llm_core.errors import UsageError
from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.index.builder import Recipe
from elt_llm_core.index.passport import Passport
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import Progress
from elt_llm_core.settings import Settings
from elt_llm_core.store.forgotten import Remembered
from elt_llm_core.store.records import CollectionRecord, StoredDocument, canonical_json
from elt_llm_core.store.store import Store

from elt_llm_ingest.changes import Gone, find_gone
from elt_llm_ingest.embedding import Embedded, embed_missing
from elt_llm_ingest.enrichment.context_writer import ContextWriter, create_context_writer
from elt_llm_ingest.enrichment.enriching import enrich, enriched_extraction
from elt_llm_ingest.ingest_request import IngestRequest
from elt_llm_ingest.language import collection_language
from elt_llm_ingest.model_check import ModelCheck, check_models
from elt_llm_ingest.outcomes import file_outcomes, nothing_to_ingest
from elt_llm_ingest.readers.options import ReaderOptions
from elt_llm_ingest.reading import Reading
from elt_llm_ingest.recipe import index_recipe, version_maker
from elt_llm_ingest.report import IngestReport
from elt_llm_ingest.sandbox.parser import Parser
from elt_llm_ingest.scan import Scan, ScanResult
from elt_llm_ingest.sources import Sources, find_sources


def ingest(
    request: IngestRequest,
    settings: Settings,
    embedding: EmbeddingModel,
    store: Store,
    progress: Progress,
    parser: Parser,
    writer: ContextWriter | None = None,
) -> IngestReport:
    """Bring a collection up to date with its files and publish it if anything changed.

    The caller holds the writer's lock. `writer` puts passages into their context where the settings ask for that; none:
    one of the language model that they name. Raises UsageError for a missing path or a collection that was rolled back,
    FingerprintMismatch if it was built with another embedding model, IngestError if there is nothing to ingest.
    """
    started = time.monotonic()
    clear_leftovers(store)
    with stage(Stage.DISCOVER):
        sources = _sources(request, store)
    if not sources.discovery.files and not sources.known:
        raise nothing_to_ingest(sources.discovery)
    record = store.collections.create(request.collection)
    if writer is None and settings.chunking.enrichment == "llm":
        writer = create_context_writer(settings, embedding)
    run = _Run(request, settings, embedding, store, record, Tools(parser, writer))
    run.check_allowed()
    store.collections.begin_run(record.id, request.command)
    run.remember_roots(sources)
    scanned, gone = run.scan(sources, progress)
    versions = run.membership(scanned, gone, progress)
    published, embedded = run.publish(versions, progress)
    report = run.report(sources, scanned, gone, published, embedded, time.monotonic() - started)
    run.finish(sources, scanned, gone, report)
    return report


@dataclass(frozen=True)
class Tools:
    """What reads files, and what writes contexts, if anything does."""

    parser: Parser
    writer: ContextWriter | None


class _Run:
    def __init__(
        self,
        request: IngestRequest,
        settings: Settings,
        embedding: EmbeddingModel,
        store: Store,
        record: CollectionRecord,
        tools: Tools,
    ) -> None:
        self._request, self._settings, self._embedding = request, settings, embedding
        self._store, self._record = store, record
        self._before = _published_documents(store, record)
        self._files = _files(self._before, store.forgotten.all(record.id))
        self._passport = _published_passport(store, record)
        split_by = request.split_by or None
        self._writer = tools.writer if settings.chunking.enrichment == "llm" else None
        options = ReaderOptions.of(settings.ingest)
        self._reading = Reading(tools.parser, options, request.reader, split_by, request.group)

    def check_allowed(self) -> None:
        """Refuse what would mix embedding models, or undo a rollback unasked."""
        if self._request.rebuild:
            return
        if self._passport is not None:
            check_fingerprint(self._passport, self._embedding.fingerprint)
        if self._record.rolled_back and not self._request.resume:
            name = self._record.name
            raise UsageError(
                f"Collection '{name}' was rolled back to generation {self._record.published}.",
                hint=f"Run: elt-llm ingest -c {name} --resume   (go on from there), or --rebuild   (index all anew)",
            )

    def remember_roots(self, sources: Sources) -> None:
        """Give the folders their names before any document is known by one: a cut off run must not lend them out."""
        for name, (path, whole) in sources.roots.items():
            self._store.collections.record_root(self._record.id, name, path, whole=whole)

    def scan(self, sources: Sources, progress: Progress) -> tuple[ScanResult, Gone]:
        """Read what is new, and find what is gone."""
        request = self._request
        maker = version_maker(self._record.name, self._settings, self._embedding, request.metadata, self._reading.scope)
        progress.stage("read", len(sources.files))
        in_the_end = enriched_extraction(maker.extraction, self._writer) if self._writer else ""
        scan = Scan(
            self._store, self._record.id, maker, self._files, self._reading, in_the_end, remember=request.remember
        )
        scanned = scan.run(sources.files, progress)
        gone = find_gone(
            list(self._files.values()),
            scanned.present,
            sources.whole_roots,
            sources.missing_files,
            allow_delete=self._request.allow_delete,
        )
        return scanned, gone

    def membership(self, scanned: ScanResult, gone: Gone, progress: Progress) -> list[int]:
        """The document versions the collection is to contain: what was read, and what stays as it was."""
        kept = {identity: document.version for identity, document in self._files.items()}
        for document in gone.removed:
            kept.pop(document.document_id, None)
        kept.update(scanned.versions)
        versions = self._store.documents.with_parts(list(kept.values()))
        return enrich(self._store, versions, self._writer, progress) if self._writer else versions

    def publish(self, versions: list[int], progress: Progress) -> tuple[Published | None, Embedded]:
        """Embed what is missing and publish, if anything changed."""
        recipe = index_recipe(self._settings, self._embedding, collection_language(self._store, versions))
        if not self._must_publish(versions, recipe):
            return None, Embedded(0, 0)
        embedded = embed_missing(self._store, versions, self._embedding, self._settings.embedding.batch_size, progress)
        published = publish(self._store, self._record.name, versions, recipe, progress, afresh=self._request.rebuild)
        return published, embedded

    def report(
        self,
        sources: Sources,
        scanned: ScanResult,
        gone: Gone,
        published: Published | None,
        embedded: Embedded,
        seconds: float,
    ) -> IngestReport:
        """What became of everything."""
        record = self._store.collections.get(self._record.name)
        row = self._store.generations.get(record.id, record.published) if record.published is not None else None
        check = check_models(self._store, record.name, self._request.check_against) if row else ModelCheck()
        return IngestReport(
            collection=record.name,
            files=tuple(file_outcomes(self._store, sources, scanned, gone, self._files)),
            generation=record.published,
            published=published is not None,
            documents=row.documents if row else 0,
            chunks=row.nodes if row else 0,
            embedded=embedded.new,
            reused=embedded.reused,
            collection_hash=row.collection_hash.hex() if row else "",
            seconds=seconds,
            notes=check.notes,
            model=check.values,
        )

    def finish(self, sources: Sources, scanned: ScanResult, gone: Gone, report: IngestReport) -> None:
        """Remember what was seen, and collect what nothing needs any more."""
        collection = self._record.id
        if report.generation is None:
            self._store.collections.delete(collection)
            return
        never_published = sources.missing_files - self._files.keys()
        gone_ids = [*(document.document_id for document in gone.removed), *never_published]
        self._store.files.record(collection, scanned.records, gone_ids)
        self._store.collections.finish_run(collection, canonical_json(report.counts))
        collect_garbage(self._store, self._settings.storage.keep_generations)

    def _must_publish(self, versions: list[int], recipe: Recipe) -> bool:
        before = sorted(document.version for document in self._before.values())
        if self._passport is None:
            return bool(versions)
        return (
            self._request.rebuild
            or self._record.rolled_back
            or versions != before
            or self._passport.tokeniser != recipe.tokeniser.fingerprint
            or self._passport.chroma != recipe.chroma.model_dump()
            or not (self._store.folder(self._record.name) / str(self._record.published)).is_dir()
        )


def _sources(request: IngestRequest, store: Store) -> Sources:
    return find_sources(
        store,
        request.collection,
        request.paths,
        everything=request.rebuild,
        include=request.include,
        exclude=request.exclude,
    )


def _files(documents: Mapping[str, StoredDocument], forgotten: Remembered) -> dict[str, StoredDocument]:
    """The files among published documents, without those that a cut off forgetting was to take out."""
    return {
        identity: document
        for identity, document in documents.items()
        if not document.part and not forgotten.covers(identity, bytes.fromhex(document.document_hash))
    }


def _published_documents(store: Store, record: CollectionRecord) -> dict[str, StoredDocument]:
    if record.published is None:
        return {}
    documents = store.documents.in_generation(record.id, record.published)
    return {document.document_id: document for document in documents}


def _published_passport(store: Store, record: CollectionRecord) -> Passport | None:
    if record.published is None:
        return None
    return Passport.from_json(store.generations.get(record.id, record.published).passport)
