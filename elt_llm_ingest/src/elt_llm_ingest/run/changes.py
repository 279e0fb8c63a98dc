"""Detect new, changed, unchanged and deleted files of a collection."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from elt_llm_core.index.passport import Passport
from elt_llm_core.store.records import CollectionRecord, FileRecord, StoredDocument, document_id
from elt_llm_core.store.store import Store

from elt_llm_ingest.run.versions import content_hash
from elt_llm_ingest.sources.collection_sources import LocatedFile

# A file written less than this time before the scan may be written again with the same time stamp.
_SETTLED_NS = 2_000_000_000
_MAX_DELETED_SHARE = 0.2
_MAX_DELETED = 10


def published_documents(store: Store, record: CollectionRecord) -> dict[str, StoredDocument]:
    """Return the documents of the published generation by id; empty if nothing is published."""
    if record.published is None:
        return {}
    return {document.document_id: document for document in store.documents.in_generation(record.id, record.published)}


def published_passport(store: Store, record: CollectionRecord) -> Passport | None:
    """Return the passport of the published generation; None if nothing is published."""
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
        """Build the row that lets the next scan skip reading the file."""
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
    """Return the document id and the hash of a file. Its bytes are read only if its size or time changed.

    A changed remote file is fetched first. Raises UnreadableDocument if the file cannot be fetched or read.
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


@dataclass(frozen=True)
class DeletedDocuments:
    """Documents whose files are deleted: those to remove, and those kept because too many were deleted at once."""

    removed: tuple[StoredDocument, ...] = ()
    held_back: tuple[StoredDocument, ...] = ()


def find_deleted(
    published: Sequence[StoredDocument],
    present: Iterable[str],
    scanned: frozenset[str],
    missing: frozenset[str],
    *,
    allow_delete: bool,
) -> DeletedDocuments:
    """Find the published documents whose files were deleted.

    These are documents of the completely scanned roots whose ids are not `present`, and documents with `missing` ids.
    Without `allow_delete`, deletions of more than 20 % and 10 documents of a root, or of the whole root, are held back,
    because an unmounted disk looks the same. Missing files that were named individually are held back too.
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
