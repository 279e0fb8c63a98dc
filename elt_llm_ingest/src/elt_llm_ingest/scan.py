"""Going through the files of a run: each becomes a document version in the store, or is named with the reason."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.progress import Progress
from elt_llm_core.store.records import FileRecord, StoredDocument, document_id, version_key
from elt_llm_core.store.store import Store

from elt_llm_ingest.changes import Seen, look_at
from elt_llm_ingest.readers import create_reader
from elt_llm_ingest.readers.document_reader import DocumentReader
from elt_llm_ingest.report import FileOutcome
from elt_llm_ingest.roots import Located
from elt_llm_ingest.versions import VersionMaker, reader_identity


@dataclass
class ScanResult:
    """By document id: the version each readable file is at now, and what became of every file."""

    versions: dict[str, int] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    outcomes: list[FileOutcome] = field(default_factory=list)
    records: list[FileRecord] = field(default_factory=list)


class Scan:
    """Reads what is new or changed; what is neither costs a look at its size and time."""

    def __init__(
        self, store: Store, collection: int, maker: VersionMaker, published: Mapping[str, StoredDocument]
    ) -> None:
        self._store = store
        self._collection = collection
        self._maker = maker
        self._published = published
        self._known = store.files.of_collection(collection)

    def run(self, files: Iterable[Located], progress: Progress) -> ScanResult:
        """Go through `files`; a file that cannot be read never stops the others."""
        result = ScanResult()
        for located in files:
            identity = document_id(self._maker.collection, located.root, located.relative)
            result.present.add(identity)
            try:
                seen = look_at(self._maker.collection, located, self._known)
            except UnreadableDocument as error:
                result.outcomes.append(self._failed(located, identity, error))
            else:
                self._take(seen, result)
            progress.advance(1, located.relative)
        return result

    def _take(self, seen: Seen, result: ScanResult) -> None:
        try:
            result.versions[seen.document_id], outcome = self._version(seen, _reader_of(seen.located))
        except UnreadableDocument as error:
            outcome = self._failed(seen.located, seen.document_id, error)
        result.outcomes.append(outcome)
        result.records.append(seen.record(outcome.status, outcome.reason))

    def _failed(self, located: Located, identity: str, error: UnreadableDocument) -> FileOutcome:
        return FileOutcome(located.relative, "failed", str(error), stale=identity in self._published)

    def _version(self, seen: Seen, reader: DocumentReader) -> tuple[int, FileOutcome]:
        key = version_key(seen.document_id, seen.digest, reader_identity(reader), self._maker.chunker_identity)
        before = self._published.get(seen.document_id)
        stored = self._store.documents.find(key)
        name = seen.located.relative
        if stored is not None and before is not None and before.version == stored and before.outcome == "ok":
            return stored, FileOutcome(name, "unchanged", "; ".join(before.notes), before.nodes)
        if stored is not None:
            outcome, notes, nodes = self._store.documents.summary(stored)
            return stored, _read_outcome(name, outcome, notes, nodes)
        document = self._maker.make(seen.located, reader, seen.digest)
        version = self._store.documents.add(self._collection, document)
        return version, _read_outcome(name, document.outcome, document.notes, len(document.nodes))


def _reader_of(located: Located) -> DocumentReader:
    reader = create_reader(located.file.path)
    if reader is None:
        raise UnreadableDocument(f"no reader for {located.file.path.suffix}")
    return reader


def _read_outcome(name: str, outcome: str, notes: Iterable[str], nodes: int) -> FileOutcome:
    reason = "; ".join(notes)
    if outcome == "empty":
        return FileOutcome(name, "empty", reason or "no text in it")
    return FileOutcome(name, "ok", reason, nodes)
