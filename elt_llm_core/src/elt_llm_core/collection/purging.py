"""Purge: erase from the disk what is no longer published, and return a receipt of what was erased."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elt_llm_core.collection.lifecycle import rebuild_generation, remove_leftovers
from elt_llm_core.index.chroma import CHROMA_FOLDER, has_uncleared_bytes
from elt_llm_core.progress import ProgressListener
from elt_llm_core.state.database import open_state
from elt_llm_core.state.erasure import ErasureCounts, erase_unpublished
from elt_llm_core.state.jobs import JobQueue
from elt_llm_core.store.database import BACKUPS_FOLDER
from elt_llm_core.store.erasure import (
    SampleSearch,
    erase_samples,
    erase_unpublished_rows,
    search_samples,
    store_samples,
    stored_samples,
    take_samples,
    unpublished_versions,
    vacuum,
)
from elt_llm_core.store.generations import PIN_NAME, pin_holders
from elt_llm_core.store.records import CollectionRecord, document_id, utc_now
from elt_llm_core.store.store import Store
from elt_llm_core.store.uploads import UPLOADS_FOLDER, unpublished_uploads
from elt_llm_core.utilities import Failpoint, failpoint

OUT_OF_REACH = (
    "snapshots of the file system or a virtual machine",
    "backups and copies of the data directory made by others",
    "exported collections, outputs of jobs, printed or saved answers",
    "freed blocks of a solid-state disk or a swap area",
)


@dataclass(frozen=True)
class PurgeReceipt:
    """What a purge erased, how it was checked, and what it could not reach.

    `documents` are ids of documents that lost a version; `cut_off` names collections whose unfinished run lost its
    stored data; `rebuilt` those whose copied index was rebuilt. `turns` counts conversation turns, `rows` and `reviews`
    those of jobs, that showed unpublished or erased text. `pinned` are directories that readers have open; `sources`
    are files that still exist at the paths of unpublished documents.
    """

    finished_at: str
    collections: tuple[str, ...]
    documents: tuple[str, ...]
    versions: int
    generations: int
    files: tuple[str, ...]
    cut_off: tuple[str, ...]
    rebuilt: tuple[str, ...]
    turns: int
    rows: int
    reviews: int
    bytes_before: int
    bytes_after: int
    check: SampleSearch
    pinned: tuple[dict[str, Any], ...]
    sources: tuple[str, ...]
    beyond_reach: tuple[str, ...] = OUT_OF_REACH

    @property
    def is_clean(self) -> bool:
        """Whether the search found nothing and no reader keeps anything."""
        return not self.check.found_in and not self.pinned

    def to_json(self) -> dict[str, Any]:
        """Return the receipt as plain values."""
        return {**asdict(self), "clean": self.is_clean}


def purge(store: Store, names: Sequence[str], progress: ProgressListener) -> PurgeReceipt:
    """Erase what these collections, or all, no longer publish, with every backup and the trash.

    The caller holds the writer's lock. After a crash, run it again. Raises StoreError if there is no space to rewrite
    the database; rows and files are erased by then, their bytes in the database are not.
    """
    chosen = [store.collections.get(name) for name in names] or store.collections.all()
    before, files = _data_dir_size(store.data_dir), _files_to_delete(store, chosen)
    generations = _purge_generations(store, chosen)
    cut_off = [it.name for it in chosen if it.id in store.collections.with_unfinished_runs()]
    doomed = {record.id: unpublished_versions(store, record) for record in chosen}
    versions, sources = [version for found in doomed.values() for version in found], _remaining_sources(store, chosen)
    documents, samples = tuple(_document_paths(store, versions)), _collect_samples(store, versions)
    with failpoint(Failpoint.PURGE):
        _delete_files(store, chosen)
    with failpoint(Failpoint.PURGE):
        rebuilt = [it.name for it in chosen if _rebuild_copied_index(store, it, progress)]
    erased = _erase_rows(store, chosen, doomed, samples)
    return PurgeReceipt(
        finished_at=utc_now(),
        collections=tuple(record.name for record in chosen),
        documents=documents,
        versions=len(versions),
        generations=generations - sum(record.published is not None for record in chosen),
        files=tuple(files),
        cut_off=tuple(cut_off),
        rebuilt=tuple(rebuilt),
        **asdict(erased),
        bytes_before=before,
        bytes_after=_data_dir_size(store.data_dir),
        check=_search_samples(store, samples),
        pinned=tuple(_pinned_directories(store)),
        sources=tuple(sources),
    )


def _erase_rows(
    store: Store, chosen: Sequence[CollectionRecord], doomed: Mapping[int, Sequence[int]], samples: Sequence[str]
) -> ErasureCounts:
    for record in chosen:
        with failpoint(Failpoint.PURGE):
            erase_unpublished_rows(store, store.collections.get(record.name), doomed[record.id])
    with failpoint(Failpoint.PURGE):
        remove_leftovers(store)
    with failpoint(Failpoint.PURGE):
        erased = erase_unpublished(store, [store.collections.get(it.name) for it in chosen], samples)
        vacuum(store.database)
    return erased


def _delete_files(store: Store, chosen: Sequence[CollectionRecord]) -> None:
    """Delete every backup, and the uploads that no published document comes from."""
    _delete_backups(store.data_dir)
    for path in _uploads_to_delete(store, chosen):
        path.unlink(missing_ok=True)


def _collect_samples(store: Store, versions: Sequence[int]) -> list[str]:
    return list(dict.fromkeys([*take_samples(store, versions), *stored_samples(store)]))


def _search_samples(store: Store, samples: Sequence[str]) -> SampleSearch:
    """Search for samples of erased text, then delete the samples, unless the next purge must search again."""
    kept = stored_samples(store)
    erase_samples(store)
    found = search_samples(store, samples)
    if found.found_in:
        store_samples(store, kept)
    return found


def _purge_generations(store: Store, chosen: Sequence[CollectionRecord]) -> int:
    return sum(len(store.generations.of_collection(record.id)) for record in chosen)


def _delete_backups(data_dir: Path) -> None:
    folder = data_dir / BACKUPS_FOLDER
    for path in folder.glob("*") if folder.is_dir() else ():
        path.unlink()


def _rebuild_copied_index(store: Store, record: CollectionRecord, progress: ProgressListener) -> bool:
    """Rebuild a copied index, since it may contain deleted text or stray memory."""
    if record.published is None:
        return False
    copied = store.generations.get(record.id, record.published).fresh_base != record.published
    if not copied and not has_uncleared_bytes(store.folder(record.name) / str(record.published) / CHROMA_FOLDER):
        return False
    rebuild_generation(store, record.name, record.published, progress)
    return True


def _files_to_delete(store: Store, chosen: Sequence[CollectionRecord]) -> list[str]:
    """Backups, trash and unpublished generations, relative to the data directory."""
    folders = [store.data_dir / BACKUPS_FOLDER, store.trash]
    found = [path for folder in folders if folder.is_dir() for path in folder.iterdir()] + _uploads_to_delete(
        store, chosen
    )
    for record in chosen:
        folder = store.folder(record.name)
        kept = {str(record.published)}
        found += [path for path in folder.glob("*") if path.is_dir() and path.name not in kept]
    return sorted(path.relative_to(store.data_dir).as_posix() for path in found)


def _uploads_to_delete(store: Store, chosen: Sequence[CollectionRecord]) -> list[Path]:
    """Unpublished uploads of these collections or of none, except those that wait to be read."""
    if not (store.data_dir / UPLOADS_FOLDER).is_dir():
        return []
    with closing(open_state(store.data_dir)) as state:
        pending = JobQueue(state).pending_uploads()
    return unpublished_uploads(store, {record.name for record in chosen}, pending)


def _document_paths(store: Store, versions: Sequence[int]) -> list[str]:
    wanted = set(versions)
    rows = store.database.rows("SELECT id, document_id FROM document_versions")
    return sorted({str(identity) for version, identity in rows if version in wanted})


def _remaining_sources(store: Store, chosen: Sequence[CollectionRecord]) -> list[str]:
    """Existing files of documents that are stored or forgotten but not published."""
    found: set[Path] = set()
    for record in chosen:
        forgotten = store.forgotten.all(record.id).document_ids
        seen = {it.document_id for it in store.documents.in_generation(record.id, record.published or 0)}
        rows = store.database.rows(
            "SELECT document_id, root, path FROM document_versions WHERE collection = ?", (record.id,)
        )
        roots = store.collections.roots(record.id)
        places = [(root, path) for identity, root, path in rows if identity not in seen]
        found |= {roots[root][0] / path for root, path in places if root in roots}
        if forgotten:
            found |= {
                path
                for name, (root, _) in roots.items()
                for path in _files_of_documents(record.name, name, root, forgotten)
            }
    ours = store.data_dir / UPLOADS_FOLDER
    return sorted(str(path) for path in found if path.is_file() and not path.is_relative_to(ours.resolve()))


def _files_of_documents(collection: str, name: str, root: Path, identities: frozenset[str]) -> list[Path]:
    """Files below a root whose path has the id of one of these documents, whose names were not kept."""
    files = (path for path in root.rglob("*") if path.is_file())
    return [path for path in files if document_id(collection, name, path.relative_to(root).as_posix()) in identities]


def _pinned_directories(store: Store) -> list[dict[str, Any]]:
    """Directories without a row that a reader still has open; the next writing command deletes them."""
    numbers = {
        record.name: {str(it.number) for it in store.generations.of_collection(record.id)}
        for record in store.collections.all()
    }
    return [
        {"directory": path.parent.relative_to(store.data_dir).as_posix(), "processes": pin_holders(path)}
        for path in sorted(store.data_dir.glob(f"collections/*/*/{PIN_NAME}"))
        if path.parent.name not in numbers.get(path.parent.parent.name, set())
    ]


def _data_dir_size(data_dir: Path) -> int:
    return sum(path.stat().st_size for path in data_dir.rglob("*") if path.is_file())
