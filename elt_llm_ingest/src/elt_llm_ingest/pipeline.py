"""Ingest: discover, read, cut, embed, publish. Every step can be cut off; the same command again goes on from there."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from elt_llm_core.collection import Published, check_fingerprint, clear_leftovers, collect_garbage, publish
from elt_llm_core.errors import IngestError, UsageError
from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.index.builder import Recipe
from elt_llm_core.index.passport import Passport
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import Progress
from elt_llm_core.settings import Settings
from elt_llm_core.store.records import CollectionRecord, MetadataValue, StoredDocument, canonical_json
from elt_llm_core.store.store import Store

from elt_llm_ingest.changes import Gone, find_gone
from elt_llm_ingest.discovery import Discovery
from elt_llm_ingest.duplicates import duplicate_files, renamed_files
from elt_llm_ingest.embedding import Embedded, embed_missing
from elt_llm_ingest.enrichment.context_writer import ContextWriter, create_context_writer
from elt_llm_ingest.enrichment.enriching import enrich, enriched_extraction
from elt_llm_ingest.language import collection_language
from elt_llm_ingest.model_check import ModelCheck, check_models
from elt_llm_ingest.readers import SUPPORTED_SUFFIXES
from elt_llm_ingest.readers.options import ReaderOptions
from elt_llm_ingest.reading import Reading
from elt_llm_ingest.recipe import index_recipe, version_maker
from elt_llm_ingest.report import FileOutcome, IngestReport
from elt_llm_ingest.sandbox.parser import Parser
from elt_llm_ingest.scan import Scan, ScanResult
from elt_llm_ingest.sources import Sources, find_sources


@dataclass(frozen=True)
class IngestRequest:
    """What to ingest. No paths: the folders and files the collection was filled from before.

    `include` and `exclude` are patterns over paths below a folder, `reader` the name of a reader for all files, or
    "auto", `metadata` goes onto every document. With `split_by`, only what belongs to `group` is taken of each file:
    a top-level section, or the documents within it of one type. `job` is the job file that asks, if one does;
    `check_against` the collection of the inventory that an enterprise model is compared with.
    """

    collection: str
    paths: tuple[Path, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    reader: str = "auto"
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    split_by: Literal["", "section", "type"] = ""
    group: str = ""
    job: str = ""
    check_against: str = ""
    rebuild: bool = False
    resume: bool = False
    allow_delete: bool = False
    command: str = "elt-llm ingest"


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
        raise _nothing(sources.discovery)
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
        self._files = {identity: document for identity, document in self._before.items() if not document.part}
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
                hint=f"Run: elt-llm ingest -c {name} --resume   (go on from there), or --rebuild   (read all anew)",
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
        scan = Scan(self._store, self._record.id, maker, self._files, self._reading, in_the_end)
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
            files=tuple(self._outcomes(sources, scanned, gone)),
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

    def _outcomes(self, sources: Sources, scanned: ScanResult, gone: Gone) -> Iterable[FileOutcome]:
        """What became of each file, with what a look at all of them tells: duplicates and renamed files."""
        versions = list(scanned.versions.values())
        notes = {
            **renamed_files(gone.removed, scanned.records, self._files),
            **duplicate_files(self._store, versions, scanned.records),
        }
        for outcome in scanned.outcomes:
            more = notes.get(outcome.path) if outcome.status in ("ok", "unchanged") else None
            yield replace(outcome, reason="; ".join(filter(None, (outcome.reason, more)))) if more else outcome
        yield from _outcomes(sources, gone)

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


def _outcomes(sources: Sources, gone: Gone) -> Iterable[FileOutcome]:
    for skipped in sources.discovery.skipped:
        yield FileOutcome(str(skipped.path), "skipped", skipped.reason)
    for path in sources.missing:
        yield FileOutcome(str(path), "missing", "the folder is not there: its documents are kept")
    for document in gone.removed:
        yield FileOutcome(document.source, "removed", "no longer in its folder", document.nodes)
    for document in gone.held_back:
        reason = "gone, but so is much else, or it was given by name: kept; if that is right, use --allow-delete"
        yield FileOutcome(document.source, "missing", reason, document.nodes, stale=True)


def _published_documents(store: Store, record: CollectionRecord) -> dict[str, StoredDocument]:
    if record.published is None:
        return {}
    documents = store.documents.in_generation(record.id, record.published)
    return {document.document_id: document for document in documents}


def _published_passport(store: Store, record: CollectionRecord) -> Passport | None:
    if record.published is None:
        return None
    return Passport.from_json(store.generations.get(record.id, record.published).passport)


def _nothing(discovery: Discovery) -> IngestError:
    readable = ", ".join(sorted(SUPPORTED_SUFFIXES))
    skipped = "; ".join(f"{item.path.name} ({item.reason})" for item in discovery.skipped[:5])
    return IngestError(
        "There is nothing to ingest" + (f": skipped {skipped}." if skipped else ": no files were found."),
        hint=f"Give files or folders with documents of these types: {readable}",
    )
