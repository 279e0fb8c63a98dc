"""What an ingest would do, without the lock, without reading a document and without writing anything."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.index.passport import Passport
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings import Settings
from elt_llm_core.store.forgotten import Remembered
from elt_llm_core.store.records import CollectionRecord, StoredDocument, version_key
from elt_llm_core.store.store import Store

from elt_llm_ingest.changes import Seen, find_gone, look_at
from elt_llm_ingest.ingest_request import IngestRequest
from elt_llm_ingest.patterns import Selection
from elt_llm_ingest.readers.options import ReaderOptions
from elt_llm_ingest.reading import Reading
from elt_llm_ingest.recipe import version_maker
from elt_llm_ingest.roots import Located
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sources import Known, Sources, locate_sources

PlannedStatus = Literal[
    "new", "changed", "unchanged", "renamed", "removed", "missing", "skipped", "forgotten", "failed"
]
_CHANGING = frozenset({"new", "changed", "renamed", "removed"})


@dataclass(frozen=True)
class PlannedFile:
    """What would become of one file. `missing` means gone, but kept without --allow-delete."""

    path: str
    status: PlannedStatus
    reason: str = ""


@dataclass(frozen=True)
class Plan:
    """What would change. `rebuilt` says why all would be indexed anew, and is empty if it would not."""

    collection: str
    files: tuple[PlannedFile, ...]
    rebuilt: str = ""
    refused: str = ""
    job: str = ""

    @property
    def changes(self) -> bool:
        """Whether a new generation would be published, as far as can be told without reading."""
        return not self.refused and (bool(self.rebuilt) or any(it.status in _CHANGING for it in self.files))

    @property
    def counts(self) -> dict[str, int]:
        """How many files would end how."""
        return dict(Counter(file.status for file in self.files))

    def to_json(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {**asdict(self), "counts": self.counts, "changes": self.changes}


def plan_ingest(
    request: IngestRequest, settings: Settings, embedding: EmbeddingModel | None, store: Store | None
) -> Plan:
    """What `ingest` would do with this request.

    Without a `store` everything is new; without an `embedding` it is not told which files would be read again because
    the model or the chunking changed. Raises UsageError for a path that does not exist.
    """
    known = Known.of(store, request.collection) if store else Known()
    selection = Selection.of(request.include, request.exclude)
    sources = locate_sources(known, request.paths, selection, everything=request.rebuild)
    planner = _Planner(request, settings, embedding, store)
    seen = [planner.look(located, known) for located in sources.files]
    files = [*planner.with_gone(seen, sources), *_left_out(sources)]
    return Plan(request.collection, tuple(files), planner.rebuilt(), planner.refused(), request.job)


@dataclass(frozen=True)
class _Look:
    file: PlannedFile
    document_id: str
    digest: str


class _Planner:
    def __init__(
        self, request: IngestRequest, settings: Settings, embedding: EmbeddingModel | None, store: Store | None
    ) -> None:
        self._request, self._embedding, self._store = request, embedding, store
        self._record = store.collections.find(request.collection) if store else None
        self._before = _published_files(store, self._record)
        self._forgotten = (
            store.forgotten.all(self._record.id) if store and self._record else Remembered(*[frozenset()] * 2)
        )
        options = ReaderOptions.of(settings.ingest)
        self._reading = Reading(DirectParser(), options, request.reader, request.split_by or None, request.group)
        self._maker = (
            version_maker(request.collection, settings, embedding, request.metadata, self._reading.scope)
            if embedding
            else None
        )

    def look(self, located: Located, known: Known) -> _Look:
        """What would become of a file that is there."""
        try:
            seen = look_at(self._request.collection, located, known.files)
            reader = self._reading.identity(located)
        except UnreadableDocument as error:
            return _Look(PlannedFile(located.relative, "failed", str(error)), "", "")
        status, reason = self._status(seen, reader)
        record = known.files.get(seen.document_id)
        if status == "new" and record is not None and record.outcome == "failed":
            reason = f"failed before: {record.reason}"
        return _Look(PlannedFile(located.relative, status, reason), seen.document_id, seen.digest.hex())

    def _status(self, seen: Seen, reader: str) -> tuple[PlannedStatus, str]:
        if not self._request.remember and self._forgotten.covers(seen.document_id, seen.digest):
            return "forgotten", "it was forgotten on purpose"
        before = self._before.get(seen.document_id)
        if before is None:
            return "new", ""
        if before.document_hash != seen.digest.hex():
            return "changed", ""
        if self._maker is None or self._store is None:
            return "unchanged", ""
        key = version_key(seen.document_id, seen.digest, reader, self._maker.chunker_identity, self._maker.extraction)
        if self._store.documents.find(key) == before.version:
            return "unchanged", ""
        return "changed", "the same bytes; its reader, the chunking or its metadata changed"

    def with_gone(self, seen: list[_Look], sources: Sources) -> list[PlannedFile]:
        """The files that are there, some of them renamed, and those that are not."""
        gone = find_gone(
            list(self._before.values()),
            [look.document_id for look in seen if look.file.status != "forgotten"],
            sources.whole_roots,
            sources.missing_files,
            allow_delete=self._request.allow_delete,
        )
        removed = {document.document_hash: document for document in gone.removed}
        files = []
        for look in seen:
            former = removed.pop(look.digest, None) if look.file.status == "new" else None
            files.append(replace(look.file, status="renamed", reason=f"from {former.source}") if former else look.file)
        files += [
            PlannedFile(it.source, "removed", "no longer in its folder")
            for it in gone.removed
            if it in removed.values()
        ]
        held = "gone, but so is much else, or it was given by name: kept without --allow-delete"
        return files + [PlannedFile(document.source, "missing", held) for document in gone.held_back]

    def rebuilt(self) -> str:
        """Why everything would be indexed anew; empty if it would not."""
        if self._record is None or self._record.published is None or self._store is None:
            return ""
        if self._request.rebuild:
            return "--rebuild was given"
        folder = self._store.folder(self._record.name) / str(self._record.published)
        return "" if folder.is_dir() else "its index is gone from the disk"

    def refused(self) -> str:
        """Why an ingest would be refused; empty if it would not."""
        if self._record is None or self._record.published is None or self._store is None or self._request.rebuild:
            return ""
        if self._record.rolled_back and not self._request.resume:
            return "it was rolled back: --resume goes on from there, --rebuild reads all anew"
        passport = Passport.from_json(self._store.generations.get(self._record.id, self._record.published).passport)
        if self._embedding is not None and passport.fingerprint != self._embedding.fingerprint:
            return "it was built with another embedding model: --rebuild embeds all anew"
        return ""


def _published_files(store: Store | None, record: CollectionRecord | None) -> Mapping[str, StoredDocument]:
    if store is None or record is None or record.published is None:
        return {}
    documents = store.documents.in_generation(record.id, record.published)
    return {document.document_id: document for document in documents if not document.part}


def _left_out(sources: Sources) -> list[PlannedFile]:
    skipped = [PlannedFile(str(it.path), "skipped", it.reason) for it in sources.discovery.skipped]
    reason = "the folder is not there: its documents are kept"
    return skipped + [PlannedFile(str(path), "missing", reason) for path in sources.missing]
