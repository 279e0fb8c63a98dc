"""Uploaded files, stored below the data directory by collection and deleted with their documents."""

import time
import uuid
from collections.abc import Collection
from pathlib import Path

from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.conditions import fields_of_folders
from elt_llm_core.store.database import UPLOADS_FOLDER
from elt_llm_core.store.disk import file_sha256, write_once
from elt_llm_core.store.records import CollectionRecord, FileRecord, document_id
from elt_llm_core.store.store import Store, uploads_folder

INCOMING = ".incoming"
"""The folder for files that are still being uploaded, next to the collections' upload folders."""
_SECONDS_CUT_OFF = 3600.0  # an unfinished upload older than this was interrupted


def machine_id(workspace: Workspace) -> str:
    """Return a random text that identifies this machine among those that share a database, or "" with SQLite."""
    return write_once(workspace.folder / "machine", uuid.uuid4().hex) if workspace.is_shared else ""


def upload_fields(data_dir: Path, collection: str, path: Path) -> dict[str, str]:
    """Return an uploaded file's tenant_id, knowledge_base_id and doc_type, as far as its folders' names contain them.

    The upload `tenant_id=acme/report.pdf` -> {"tenant_id": "acme"}. A file that is not an upload has none.
    """
    folder = uploads_folder(data_dir, collection).resolve()
    return fields_of_folders(path.relative_to(folder).parts[:-1]) if path.is_relative_to(folder) else {}


def uploaded_files(folder: Path) -> list[Path]:
    """Return the files in a collection's upload folder and its subfolders for owners, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []


def unread_uploads(store: Store, collection: str) -> list[str]:
    """Return the uploads that no ingest has read in their present version, as paths in the upload folder, sorted.

    They may be waiting for a job, or a job that read them was cancelled or failed. The collection need not exist yet.
    """
    folder = uploads_folder(store.data_dir, collection).resolve()
    read: dict[Path, FileRecord] = {}
    if record := store.collections.find(collection):
        roots, files = _roots(store, record), store.files.of_collection(record.id).values()
        read = {roots[file.root] / file.path: file for file in files if file.root in roots}
    unread = (path for path in uploaded_files(folder) if not _is_version(path, read.get(path)))
    return [path.relative_to(folder).as_posix() for path in unread]


def all_unread_uploads(store: Store) -> dict[str, list[str]]:
    """Return the unread uploads of each collection that has any, also of collections that do not exist yet."""
    names = sorted(folder.name for folder in (store.data_dir / UPLOADS_FOLDER).glob("[!.]*"))
    return {name: unread for name in names if (unread := unread_uploads(store, name))}


def _is_version(path: Path, file: FileRecord | None) -> bool:
    """Return whether a file has the recorded content. It is read only if its size is that recorded, but not its time.

    A file that another process has just deleted counts as the recorded version.
    """
    try:
        status = path.stat()
        if file is None or status.st_size != file.size:
            return False
        modified_ns = max(status.st_mtime_ns, status.st_ctime_ns)
        return modified_ns == file.modified_ns or bytes.fromhex(file_sha256(path)) == file.content_hash
    except FileNotFoundError:
        return True


def delete_forgotten_uploads(store: Store, collection: str, *, before: float) -> int:
    """Delete the uploads of forgotten documents, except files written after `before` (seconds since 1970).

    Returns the number of deleted files. If interrupted, the call can be repeated. Raises UnknownCollection.
    """
    record = store.collections.get(collection)
    remembered = store.forgotten.all(record.id).document_ids
    folder = uploads_folder(store.data_dir, collection)
    roots = _roots(store, record)
    deleted = 0
    for path in uploaded_files(folder):
        is_forgotten = any(
            document_id(collection, name, path.resolve().relative_to(root).as_posix()) in remembered
            for name, root in roots.items()
            if path.resolve().is_relative_to(root)
        )
        if is_forgotten and path.stat().st_mtime <= before:
            path.unlink()
            deleted += 1
    return deleted


def unpublished_uploads(store: Store, collections: Collection[str], pending: Collection[tuple[str, str]]) -> list[Path]:
    """Return the uploaded files from which no published document was read.

    The function searches the folders of these collections, folders without a collection, and interrupted uploads.
    `pending` lists uploads that are still to be read, as (collection, path). They are not returned.
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
                needed = {roots[it.root] / it.source for it in documents if it.root in roots and not it.part}
            found += [
                path
                for path in uploaded_files(folder)
                if path.resolve() not in needed and (folder.name, path.relative_to(folder).as_posix()) not in pending
            ]
    return found


def _roots(store: Store, record: CollectionRecord) -> dict[str, Path]:
    """Return, by name, the collection's source folders that contain uploads."""
    folder = uploads_folder(store.data_dir, record.name).resolve()
    roots = store.collections.roots(record.id)
    return {name: path for name, (path, _) in roots.items() if path.is_relative_to(folder)}
