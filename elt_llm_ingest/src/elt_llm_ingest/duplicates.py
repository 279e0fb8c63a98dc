"""What a look at all files of a run tells of one: that it was renamed, or that another has the same bytes."""

from collections.abc import Collection, Sequence

from elt_llm_core.store.records import FileRecord, StoredDocument
from elt_llm_core.store.store import Store


def renamed_files(
    removed: Sequence[StoredDocument], seen: Sequence[FileRecord], known: Collection[str]
) -> dict[str, str]:
    """By path: what a new file was called before, which has the bytes of one that is gone. `known` are earlier ids."""
    gone = {document.document_hash: document.source for document in removed}
    return {
        file.path: gone[file.content_hash.hex()]
        for file in seen
        if file.document_id not in known and file.content_hash.hex() in gone
    }


def duplicate_files(store: Store, versions: Sequence[int], seen: Sequence[FileRecord]) -> dict[str, str]:
    """By path: what to say of a file whose bytes another one has, which is indexed in its place."""
    firsts = store.documents.duplicates(versions)
    return {
        file.path: f"same bytes as {firsts[file.document_id]}: indexed once"
        for file in seen
        if file.document_id in firsts
    }
