"""Scan the files of a run: store a document version of each file, and report the outcome of every file."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from elt_llm_core.errors import IngestError, UnreadableDocument
from elt_llm_core.index.passport import Passport
from elt_llm_core.progress import ProgressListener
from elt_llm_core.store.records import CollectionRecord, FileRecord, StoredDocument, document_id, version_key
from elt_llm_core.store.store import Store, uploads_folder
from elt_llm_core.utilities import Failpoint, failpoint

from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import readable_suffixes
from elt_llm_ingest.run.reading import FileReading
from elt_llm_ingest.run.report import FileOutcome
from elt_llm_ingest.run.versions import DocumentOrigin, VersionMaker, content_hash
from elt_llm_ingest.sources.collection_sources import CollectionSources, LocatedFile

# Nanoseconds. A file that was written this shortly before the scan may be written again with the same time stamp.
_SETTLED_NS = 2_000_000_000
_MAX_DELETED_SHARE = 0.2  # of the documents in a root (source folder)
_MAX_DELETED = 10


def published_documents(store: Store, record: CollectionRecord) -> dict[str, StoredDocument]:
    """Return the documents of the published generation by id; empty if nothing is published."""
    if record.published is None:
        return {}
    return {document.document_id: document for document in store.documents.in_generation(record.id, record.published)}


def published_passport(store: Store, record: CollectionRecord) -> Passport | None:
    """Return the passport (record of how it was built) of the published generation; None if nothing is published."""
    if record.published is None:
        return None
    return Passport.from_json(store.generations.get(record.id, record.published).passport)


@dataclass(frozen=True)
class ScannedFile:
    """A file at the time of the scan. `digest` is the SHA-256 hash of its bytes."""

    located: LocatedFile
    document_id: str
    digest: bytes
    checked_ns: int

    def record(self, outcome: str, reason: str) -> FileRecord:
        """Build the record by which the next scan can skip the file if it is unchanged."""
        return FileRecord(
            document_id=self.document_id,
            root=self.located.root,
            path=self.located.relative,
            size=self.located.file.size,
            modified_ns=self.located.file.modified_ns,
            checked_ns=self.checked_ns,
            content_hash=self.digest,
            outcome=outcome,
            reason=reason,
        )


def inspect_file(collection: str, located: LocatedFile, known: Mapping[str, FileRecord]) -> ScannedFile:
    """Return a file with its document id and hash.

    The bytes are hashed only if the size or time changed since the scan that recorded the file, or if that scan was so
    soon after the last write that a later write may have the same time. A changed remote file is fetched first. Raises
    UnreadableDocument if the file cannot be fetched or read.
    """
    identity = document_id(collection, located.root, located.relative)
    record = known.get(identity)
    if (
        record
        and record.size == located.file.size
        and record.modified_ns == located.file.modified_ns
        and record.modified_ns < record.checked_ns - _SETTLED_NS
    ):
        return ScannedFile(located, identity, record.content_hash, record.checked_ns)
    started = time.time_ns()
    located.file.fetch()
    return ScannedFile(located, identity, content_hash(located.file.path), started)


def is_uploaded_again(store: Store, collection: str, seen: ScannedFile) -> bool:
    """Return whether a forgotten file is an upload that was stored after its document was forgotten."""
    if not seen.located.file.path.is_relative_to(uploads_folder(store.data_dir, collection).resolve()):
        return False
    record = store.collections.get(collection)
    return _modified_time(seen.located) >= store.forgotten.last_time(record.id, seen.document_id, seen.digest)


@dataclass(frozen=True)
class DeletedDocuments:
    """Documents whose files were deleted: those to remove, and those that are kept for now (held back).

    `failed` are the records of deleted files that were never read.
    """

    removed: tuple[StoredDocument, ...] = ()
    held_back: tuple[StoredDocument, ...] = ()
    failed: tuple[FileRecord, ...] = ()


def find_deleted(
    published: Sequence[StoredDocument],
    present: Iterable[str],
    scanned: frozenset[str],
    missing: frozenset[str],
    *,
    allow_delete: bool,
) -> DeletedDocuments:
    """Find the published documents whose files were deleted.

    A document is deleted if its id is in `missing`, or if its root (source folder) was completely scanned and its id is
    not `present`. Without `allow_delete`, deletions are held back if they affect a whole root, or more than 10
    documents and 20 % of a root, because an unmounted disk looks the same. Missing files that the user named
    individually are held back too.
    """
    here = frozenset(present)
    by_root: dict[str, list[StoredDocument]] = defaultdict(list)
    for document in published:
        if document.root in scanned:
            by_root[document.root].append(document)
    removed: list[StoredDocument] = []
    held_back: list[StoredDocument] = []
    single = [document for document in published if document.document_id in missing and document.root not in scanned]
    (removed if allow_delete else held_back).extend(single)
    for documents in by_root.values():
        gone = [document for document in documents if document.document_id not in here]
        too_many = len(gone) > max(_MAX_DELETED, _MAX_DELETED_SHARE * len(documents)) or len(gone) == len(documents)
        (held_back if gone and too_many and not allow_delete else removed).extend(gone)
    return DeletedDocuments(tuple(removed), tuple(held_back))


def find_deleted_failures(
    known: Mapping[str, FileRecord], published: Collection[str], sources: CollectionSources, deleted: DeletedDocuments
) -> DeletedDocuments:
    """Add the records of failed files that have no document and are no longer in their folder to `deleted`.

    They are kept if documents of the same folder are held back.
    """
    roots = sources.whole_roots - {document.root for document in deleted.held_back}
    here = {(located.root, located.relative) for located in sources.files}
    gone = (record for identity, record in known.items() if record.root in roots and identity not in published)
    failed = (record for record in gone if record.outcome == "failed" and (record.root, record.path) not in here)
    return replace(deleted, failed=tuple(failed))


@dataclass
class ScanResult:
    """The result of a scan: document versions by document id, ids of all existing files, outcomes and file records."""

    versions: dict[str, int] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    outcomes: list[FileOutcome] = field(default_factory=list)
    records: list[FileRecord] = field(default_factory=list)
    deleted: DeletedDocuments = field(default_factory=DeletedDocuments)


class Scan:
    """Reads files whose size or time has changed.

    A file that `elt-llm forget` removed is read with `remember`, or if it was uploaded again since.
    """

    def __init__(
        self,
        store: Store,
        collection: int,
        maker: VersionMaker,
        published: Mapping[str, StoredDocument],
        reading: FileReading,
        ending: str = "",
        *,
        remember: bool = False,
    ) -> None:
        self._store, self._collection, self._maker = store, collection, maker
        self._published, self._reading, self._remember = published, reading, remember
        # Enrichment may replace the versions from `maker`. The `extraction` of the replacements ends with `ending`.
        self._ending = ending
        self._known = store.files.of_collection(collection)
        self._forgotten = store.forgotten.all(collection)
        self._result = ScanResult()

    def run(self, files: Iterable[LocatedFile], progress: ProgressListener) -> ScanResult:
        """Scan `files`. An unreadable file never stops the scan of other files."""
        to_read: list[ScannedFile] = []
        for located in files:
            seen = self._inspect(located)
            if seen is not None and not self._is_stored(seen) and self._is_fetched(seen):
                to_read.append(seen)
            else:
                progress.advance(1, located.relative)
        documents = iter(self._reading.parser.read_all(self._reading.request(seen.located) for seen in to_read))
        for seen in to_read:
            with failpoint(Failpoint.PARSE):
                parsed = next(documents)
            self._store_version(seen, parsed)
            progress.advance(1, seen.located.relative)
        self._result.outcomes.sort(key=lambda outcome: outcome.path)
        return self._result

    def _inspect(self, located: LocatedFile) -> ScannedFile | None:
        """Return a file with its hash. If it is unreadable or was removed by `elt-llm forget`, note it; return None."""
        identity = document_id(self._maker.collection, located.root, located.relative)
        try:
            seen = inspect_file(self._maker.collection, located, self._known)
        except UnreadableDocument as error:
            self._result.present.add(identity)
            self._result.outcomes.append(self._failed(located, identity, error))
            return None
        if self._forgotten.covers(identity, seen.digest):
            if not (self._remember or is_uploaded_again(self._store, self._maker.collection, seen)):
                reason = "removed with `elt-llm forget`: to read it again, use --remember"
                self._result.outcomes.append(FileOutcome(located.relative, "skipped", reason))
                return None
            self._store.forgotten.lift_file(self._collection, identity, seen.digest)
        self._result.present.add(identity)
        return seen

    def _is_stored(self, seen: ScannedFile) -> bool:
        """Return whether the file need not be read, as it is stored or has no reader. If so, record its outcome."""
        located = seen.located
        try:
            reader = self._reading.identity(located)
        except UnreadableDocument as error:
            self._note(seen, self._failed(located, seen.document_id, error))
            return True
        chunker, own = self._maker.chunker_identity, self._maker.extraction_of(self._reading.owner_fields(located))
        extractions = dict.fromkeys((own + self._ending, own))
        keys = (version_key(seen.document_id, seen.digest, reader, chunker, it) for it in extractions)
        stored = next(filter(None, map(self._store.documents.find, keys)), None)
        if stored is None:
            return False
        before = self._published.get(seen.document_id)
        outcome, notes, nodes = self._store.documents.summary(stored)
        self._result.versions[seen.document_id] = stored
        self._store.documents.touch(stored, _modified_time(located))
        if before is not None and before.version == stored and outcome == "ok":
            self._note(seen, FileOutcome(located.relative, "unchanged", "; ".join(notes), nodes))
        else:
            self._note(seen, _read_outcome(located.relative, outcome, notes, nodes))
        return True

    def _is_fetched(self, seen: ScannedFile) -> bool:
        """Fetch the file if it is remote, and return whether it is on this disk. If not, record its outcome."""
        try:
            seen.located.file.fetch()
        except UnreadableDocument as error:
            self._result.outcomes.append(self._failed(seen.located, seen.document_id, error))
            return False
        return True

    def _store_version(self, seen: ScannedFile, parsed: ParsedDocument | UnreadableDocument) -> None:
        located = seen.located
        try:
            if isinstance(parsed, UnreadableDocument):
                raise parsed
            if content_hash(located.file.path) != seen.digest:
                raise UnreadableDocument("the file changed while it was read; run the ingest again")
            reader, modified = self._reading.identity(located), _modified_time(located)
            size = located.file.size
            origin = DocumentOrigin(located.root, located.relative, seen.digest, size, reader, modified)
            owner = self._reading.owner_fields(located)
            own, *parts = self._maker.from_parsed(origin, self._reading.take(parsed), owner)
        except UnreadableDocument as error:
            self._note(seen, self._failed(located, seen.document_id, error))
            return
        with failpoint(Failpoint.WRITE):
            self._result.versions[seen.document_id] = self._store.documents.add(self._collection, own, parts)
        nodes = len(own.nodes) + sum(len(part.nodes) for part in parts)
        self._note(seen, _read_outcome(located.relative, own.outcome, own.notes, nodes))

    def _note(self, seen: ScannedFile, outcome: FileOutcome) -> None:
        self._result.outcomes.append(outcome)
        self._result.records.append(seen.record(outcome.status, outcome.reason))

    def _failed(self, located: LocatedFile, identity: str, error: UnreadableDocument) -> FileOutcome:
        return FileOutcome(located.relative, "failed", error.reason_and_hint, stale=identity in self._published)


def _modified_time(located: LocatedFile) -> str:
    return datetime.fromtimestamp(located.file.written_ns / 1e9, UTC).isoformat(timespec="seconds")


def _read_outcome(name: str, outcome: str, notes: Iterable[str], nodes: int) -> FileOutcome:
    reason = "; ".join(notes)
    if outcome == "empty":
        return FileOutcome(name, "empty", reason or "it contains no text")
    return FileOutcome(name, "ok", reason, nodes)


def file_outcomes(
    store: Store, sources: CollectionSources, scanned: ScanResult, known: Collection[str]
) -> Iterator[FileOutcome]:
    """Yield the outcome of every file, noting renamed and duplicate files. `known` are the published document ids."""
    removed = {document.document_hash: document.source for document in scanned.deleted.removed}
    renamed = {  # the former path of each new file that has the same bytes as a removed file
        file.path: removed[file.content_hash.hex()]
        for file in scanned.records
        if file.document_id not in known and file.content_hash.hex() in removed
    }
    first = store.documents.duplicates(list(scanned.versions.values()))
    notes = {path: f"renamed from {before}" for path, before in renamed.items()} | {
        file.path: f"same bytes as {first[file.document_id]}: indexed once"
        for file in scanned.records
        if file.document_id in first
    }
    for outcome in scanned.outcomes:
        more = notes.get(outcome.path) if outcome.status in ("ok", "unchanged") else None
        yield replace(outcome, reason="; ".join(filter(None, (outcome.reason, more)))) if more else outcome
    yield from _unread_outcomes(sources, scanned.deleted, {before: path for path, before in renamed.items()})


def _unread_outcomes(
    sources: CollectionSources, deleted: DeletedDocuments, renamed: Mapping[str, str]
) -> Iterator[FileOutcome]:
    """Yield the outcomes of files that were not read. `renamed` maps old paths to new paths."""
    for skipped in sources.skipped:
        yield FileOutcome(str(skipped.path), "skipped", skipped.reason)
    for source in sources.failed:
        yield FileOutcome(source.url, "failed", source.reason, stale=source.known)
    for path in sources.missing:
        yield FileOutcome(
            str(path),
            "missing",
            "the folder does not exist: its documents are kept; to remove them, use --allow-delete",
        )
    for document in deleted.removed:
        now = renamed.get(document.source)
        reason = f"renamed to {now}" if now else "no longer found"
        yield FileOutcome(document.source, "removed", reason, document.nodes)
    for record in deleted.failed:
        yield FileOutcome(record.path, "removed", "no longer found")
    for document in deleted.held_back:
        reason = "missing together with many other files, or named individually: kept; to remove it, use --allow-delete"
        yield FileOutcome(document.source, "missing", reason, document.nodes, stale=True)


def nothing_to_ingest_error(sources: CollectionSources) -> IngestError:
    """Build the error for a run that found no files to ingest. Its message names some of the skipped files."""
    if sources.failed:
        reasons = "; ".join(source.reason for source in sources.failed)
        return IngestError(f"There is nothing to ingest: {reasons}.", hint="Correct the source, and run it again.")
    readable = ", ".join(sorted(readable_suffixes()))
    skipped = "; ".join(f"{Path(item.path).name} ({item.reason})" for item in sources.skipped[:5])
    return IngestError(
        "There is nothing to ingest" + (f": skipped {skipped}." if skipped else ": no files were found."),
        hint=f"Give files or folders with documents of these types: {readable}",
    )
