"""Uploaded files, stored below the data directory by collection and deleted with their documents."""

import time
from collections.abc import Collection
from pathlib import Path

from elt_llm_core.store.records import CollectionRecord, document_id
from elt_llm_core.store.store import Store

UPLOADS_FOLDER = "uploads"
INCOMING = ".incoming"
"""The folder of files that are still being uploaded. It is beside the upload folders of the collections."""
_SECONDS_CUT_OFF = 3600.0  # an unfinished upload older than this was interrupted


def uploads_folder(data_dir: Path, collection: str) -> Path:
    """Return the upload folder of a collection. The folder may not exist."""
    return data_dir / UPLOADS_FOLDER / collection


def delete_forgotten_uploads(store: Store, collection: str, *, before: float) -> int:
    """Delete the uploads of forgotten documents, except files written after `before` (seconds since 1970).

    Returns the number of deleted files. After an interruption, call this function again. Raises UnknownCollection.
    """
    record = store.collections.get(collection)
    remembered = store.forgotten.all(record.id).document_ids
    folder = uploads_folder(store.data_dir, collection)
    roots = _roots(store, record)
    deleted = 0
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        is_forgotten = any(document_id(collection, root, path.name) in remembered for root in roots)
        if is_forgotten and path.is_file() and path.stat().st_mtime <= before:
            path.unlink()
            deleted += 1
    return deleted


def unpublished_uploads(store: Store, collections: Collection[str], pending: Collection[tuple[str, str]]) -> list[Path]:
    """Return the uploaded files from which no published document was read.

    The function searches the folders of these collections, the folders of unknown collections, and interrupted uploads.
    `pending` lists the uploads that wait to be read, as (collection, file name). Pending uploads are not returned.
    """
    known = {record.name for record in store.collections.all()}
    found: list[Path] = []
    for folder in sorted((store.data_dir / UPLOADS_FOLDER).iterdir()):
        if folder.name == INCOMING:
            found += [path for path in folder.iterdir() if time.time() - path.stat().st_mtime > _SECONDS_CUT_OFF]
        elif folder.is_dir() and (folder.name in collections or folder.name not in known):
            needed: set[Path] = set()
            if (record := store.collections.find(folder.name)) and record.published is not None:
                roots, documents = _roots(store, record), store.documents.in_generation(record.id, record.published)
                needed = {folder / it.source for it in documents if it.root in roots and not it.part}
            there = (path for path in sorted(folder.iterdir()) if path.is_file())
            found += [path for path in there if path not in needed and (folder.name, path.name) not in pending]
    return found


def _roots(store: Store, record: CollectionRecord) -> list[str]:
    """Return the names under which the upload folder of the collection is stored as a source folder."""
    folder = uploads_folder(store.data_dir, record.name).resolve()
    return [name for name, (path, _) in store.collections.roots(record.id).items() if path == folder]
