"""What a scan means for a collection: which files are new, changed, the same, or gone."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from elt_llm_core.store.records import FileRecord, StoredDocument, document_id

from elt_llm_ingest.roots import Located
from elt_llm_ingest.versions import content_hash

# A file written within this time before it was looked at may be written again without its time showing it.
_SETTLED_NS = 2_000_000_000
_MOST_GONE_SHARE = 0.2
_MOST_GONE = 10


@dataclass(frozen=True)
class Seen:
    """A file as this scan sees it. `digest` is the sha256 of its bytes."""

    located: Located
    document_id: str
    digest: bytes
    checked_ns: int

    def record(self, outcome: str, reason: str) -> FileRecord:
        """The row that lets the next scan skip reading it."""
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


def look_at(collection: str, located: Located, known: Mapping[str, FileRecord]) -> Seen:
    """Identity and hash of a file; its bytes are read only if size or time say that they may have changed.

    Raises UnreadableDocument if they cannot be read.
    """
    identity = document_id(collection, located.root, located.relative)
    record = known.get(identity)
    if (
        record
        and record.size == located.file.size
        and record.modified_ns == located.file.modified_ns
        and record.modified_ns < record.checked_ns - _SETTLED_NS
    ):
        return Seen(located, identity, record.content_hash, record.checked_ns)
    started = time.time_ns()
    return Seen(located, identity, content_hash(located.file.path), started)


@dataclass(frozen=True)
class Gone:
    """Documents whose files are no longer there: those to remove, and those kept because too much is gone at once."""

    removed: tuple[StoredDocument, ...]
    held_back: tuple[StoredDocument, ...]


def find_gone(
    published: Sequence[StoredDocument],
    present: Iterable[str],
    scanned: frozenset[str],
    missing: frozenset[str],
    *,
    allow_delete: bool,
) -> Gone:
    """Published documents of completely scanned roots (by name) whose ids are not `present`, and those `missing`.

    More than 20 % and 10 documents of a root, or all of it, are held back unless `allow_delete`: an unmounted disk
    looks like that. So is what was given by its own name and is `missing`.
    """
    here = frozenset(present)
    by_root: dict[str, list[StoredDocument]] = defaultdict(list)
    for document in published:
        if document.root in scanned:
            by_root[document.root].append(document)
    removed: list[StoredDocument] = []
    held_back: list[StoredDocument] = []
    by_name = [document for document in published if document.document_id in missing and document.root not in scanned]
    (removed if allow_delete else held_back).extend(by_name)
    for documents in by_root.values():
        gone = [document for document in documents if document.document_id not in here]
        too_many = len(gone) > max(_MOST_GONE, _MOST_GONE_SHARE * len(documents)) or len(gone) == len(documents)
        (held_back if gone and too_many and not allow_delete else removed).extend(gone)
    return Gone(tuple(removed), tuple(held_back))
