"""Files that people brought: kept below the data directory by collection, under the names they are shown by.

What a collection loses, its uploads lose too: they are the only files outside the store that are ours to delete.
"""

import shutil
from pathlib import Path

from elt_llm_core.store.records import document_id
from elt_llm_core.store.store import Store

UPLOADS_FOLDER = "uploads"


def uploads_folder(data_dir: Path, collection: str) -> Path:
    """Where the uploads of a collection are; the folder need not exist."""
    return data_dir / UPLOADS_FOLDER / collection


def delete_forgotten_uploads(store: Store, collection: str, *, before: float) -> int:
    """Delete the uploads whose documents were forgotten, those last written after `before` (seconds since 1970) spared.

    Returns how many were deleted. To be repeated if it was cut off. Raises UnknownCollection.
    """
    record = store.collections.get(collection)
    remembered = store.forgotten.all(record.id).document_ids
    folder = uploads_folder(store.data_dir, collection)
    roots = [name for name, (path, _) in store.collections.roots(record.id).items() if path == folder.resolve()]
    deleted = 0
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        is_forgotten = any(document_id(collection, root, path.name) in remembered for root in roots)
        if is_forgotten and path.is_file() and path.stat().st_mtime <= before:
            path.unlink()
            deleted += 1
    return deleted


def drop_uploads(data_dir: Path, collection: str) -> None:
    """Delete every upload of a collection that is dropped."""
    shutil.rmtree(uploads_folder(data_dir, collection), ignore_errors=True)
