"""Purge: erase unpublished text from the disk, and return a receipt that lists the erased documents and files."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elt_llm_core.collection.lifecycle import (
    check_databases,
    collect_points,
    databases_of,
    rebuild_generation,
    remove_leftovers,
)
from elt_llm_core.index.contents import CHROMA_FOLDER, has_uncleared_bytes
from elt_llm_core.progress import ProgressListener
from elt_llm_core.state.database import open_state
from elt_llm_core.state.erasure import ErasureCounts, erase_unpublished
from elt_llm_core.state.jobs import JobQueue
from elt_llm_core.store import erasure
from elt_llm_core.store.backups import BACKUPS_FOLDER
from elt_llm_core.store.database import UPLOADS_FOLDER
from elt_llm_core.store.disk import tree_size
from elt_llm_core.store.generations import PIN_NAME, pin_holders
from elt_llm_core.store.records import CollectionRecord, document_id, utc_now
from elt_llm_core.store.store import Store
from elt_llm_core.store.uploads import unpublished_uploads
from elt_llm_core.utilities import Failpoint, failpoint

OUT_OF_REACH = (
    "snapshots of the file system or a virtual machine",
    "backups and copies of the data directory made by others",
    "exported collections, outputs of jobs, printed or saved answers",
    "freed blocks of a solid-state disk or a swap area",
)
_OUT_OF_REACH_OF_A_SERVER = (
    "index files, uploads and traces in the data directories of other machines; run elt-llm purge there too",
    "write-ahead logs, replicas and backups of the PostgreSQL server",
)


@dataclass(frozen=True)
class PurgeReceipt:
    """The record of what a purge erased, how the erasure was checked, and what the purge could not reach.

    `documents` are the ids of documents that lost a version. `cut_off` are the collections whose unfinished ingest
    lost its stored data. `rebuilt` are those whose index was rebuilt, because it could still contain deleted data.
    `turns`, `rows` and `reviews` count the erased conversation turns, job rows and reviews with unpublished text.
    `pinned` are directories that readers still have open. `vectors_left` are the reasons why a database still contains
    vectors of erased chunks. `sources` are the source files of unpublished documents that still exist.
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
    check: erasure.SampleSearch
    pinned: tuple[dict[str, Any], ...]
    vectors_left: tuple[str, ...]
    sources: tuple[str, ...]
    beyond_reach: tuple[str, ...] = OUT_OF_REACH

    @property
    def is_clean(self) -> bool:
        """Whether the search found no erased text, no vectors remain, and no reader has a deleted generation open."""
        return not self.check.found_in and not self.pinned and not self.vectors_left

    def to_json(self) -> dict[str, Any]:
        """Return the receipt as plain JSON types."""
        return {**asdict(self), "clean": self.is_clean}


_DATABASE = "snapshots of the vector database {0}, and its files until it has optimised them"


def purge(store: Store, names: Sequence[str], progress: ProgressListener) -> PurgeReceipt:
    """Erase the unpublished text of these collections (default: all), every backup, and the trash.

    The caller must hold the writer's lock. After a crash, the purge can be repeated. Raises StoreError if there is too
    little space to rewrite the database. By then, rows and files are deleted, but the database file has their bytes.
    """
    chosen, addresses = [store.collections.get(name) for name in names] or store.collections.all(), databases_of(store)
    check_databases(store)  # a database that is down would keep vectors of erased text
    before, files = tree_size(store.data_dir), _files_to_delete(store, chosen)
    generations = sum(len(store.generations.of_collection(record.id)) for record in chosen)
    cut_off = [it.name for it in chosen if it.id in store.collections.with_unfinished_runs()]
    doomed = {record.id: erasure.unpublished_versions(store, record) for record in chosen}
    versions, sources = [version for found in doomed.values() for version in found], _remaining_sources(store, chosen)
    rows = store.database.rows_in("SELECT DISTINCT document_id FROM document_versions WHERE id IN ({})", versions)
    documents = sorted({str(identity) for (identity,) in rows})
    samples = list(dict.fromkeys([*erasure.take_samples(store, versions), *erasure.stored_samples(store)]))
    with failpoint(Failpoint.PURGE):
        for path in [*(store.data_dir / BACKUPS_FOLDER).glob("*"), *_uploads_to_delete(store, chosen)]:
            path.unlink(missing_ok=True)
    with failpoint(Failpoint.PURGE):
        rebuilt = [it.name for it in chosen if _rebuild_copied_index(store, it, progress)]
    erased = _erase_rows(store, chosen, doomed, samples)
    return PurgeReceipt(
        finished_at=utc_now(),
        collections=tuple(record.name for record in chosen),
        documents=tuple(documents),
        versions=len(versions),
        generations=generations - sum(record.published is not None for record in chosen),
        files=tuple(files),
        cut_off=tuple(cut_off),
        rebuilt=tuple(rebuilt),
        **asdict(erased),
        bytes_before=before,
        bytes_after=tree_size(store.data_dir),
        check=_search_samples(store, samples),
        pinned=tuple(_pinned_directories(store)),
        vectors_left=collect_points(store),
        sources=tuple(sources),
        beyond_reach=_out_of_reach(store, addresses),
    )


def _out_of_reach(store: Store, addresses: Sequence[str]) -> tuple[str, ...]:
    """Return what a purge cannot erase, including the vector databases at these addresses."""
    server = _OUT_OF_REACH_OF_A_SERVER if store.workspace.is_shared else ()
    return (*OUT_OF_REACH, *server, *(_DATABASE.format(url) for url in addresses))


def _erase_rows(
    store: Store, chosen: Sequence[CollectionRecord], doomed: Mapping[int, Sequence[int]], samples: Sequence[str]
) -> ErasureCounts:
    for record in chosen:
        with failpoint(Failpoint.PURGE):
            erasure.erase_unpublished_rows(store, store.collections.get(record.name), doomed[record.id])
    with failpoint(Failpoint.PURGE):
        remove_leftovers(store)
    with failpoint(Failpoint.PURGE):
        erased = erase_unpublished(store, [store.collections.get(it.name) for it in chosen], samples)
        store.database.erase_deleted()
    return erased


def _search_samples(store: Store, samples: Sequence[str]) -> erasure.SampleSearch:
    """Search all files for samples: words and lines of erased text.

    Samples from earlier erasures are stored in a file for the next purge. That file is deleted, but written again if
    the search found a sample.
    """
    kept = erasure.stored_samples(store)
    erasure.erase_samples(store)
    found = erasure.search_samples(store, samples)
    if found.found_in:
        erasure.store_samples(store, kept)
    return found


def _rebuild_copied_index(store: Store, record: CollectionRecord, progress: ProgressListener) -> bool:
    """Rebuild the published index if it may contain deleted data, as copied indexes do. Return true if rebuilt."""
    if record.published is None:
        return False
    copied = store.generations.get(record.id, record.published).fresh_base != record.published
    if not copied and not has_uncleared_bytes(store.folder(record.name) / str(record.published) / CHROMA_FOLDER):
        return False
    rebuild_generation(store, record.name, record.published, progress)
    return True


def _files_to_delete(store: Store, chosen: Sequence[CollectionRecord]) -> list[str]:
    """Return the paths of backups, trash, unpublished generations and uploads, relative to the data directory."""
    folders = [store.data_dir / BACKUPS_FOLDER, store.trash]
    found = [path for folder in folders for path in folder.glob("*")] + _uploads_to_delete(store, chosen)
    for record in chosen:
        directories = (path for path in store.folder(record.name).glob("*") if path.is_dir())
        found += [path for path in directories if path.name != str(record.published)]
    return sorted(path.relative_to(store.data_dir).as_posix() for path in found)


def _uploads_to_delete(store: Store, chosen: Sequence[CollectionRecord]) -> list[Path]:
    """Return the uploaded files that are neither published nor waiting to be read.

    The upload folders of the `chosen` collections are searched, and those that belong to no existing collection.
    Interrupted uploads are returned, too.
    """
    if not (store.data_dir / UPLOADS_FOLDER).is_dir():
        return []
    with closing(open_state(store.workspace)) as state:
        pending = JobQueue(state).pending_uploads()
    return unpublished_uploads(store, {record.name for record in chosen}, pending)


def _remaining_sources(store: Store, chosen: Sequence[CollectionRecord]) -> list[str]:
    """Return the source files, except uploads, that still exist although their documents are not published."""
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
                for path in root.rglob("*")
                if document_id(record.name, name, path.relative_to(root).as_posix()) in forgotten
            }
    ours = store.data_dir / UPLOADS_FOLDER
    return sorted(str(path) for path in found if path.is_file() and not path.is_relative_to(ours.resolve()))


def _pinned_directories(store: Store) -> list[dict[str, Any]]:
    """Return deleted generations' directories that readers still have open. A later writing command deletes them."""
    numbers = store.generation_names()
    return [
        {"directory": path.parent.relative_to(store.data_dir).as_posix(), "processes": pin_holders(path)}
        for path in sorted(store.data_dir.glob(f"collections/*/*/{PIN_NAME}"))
        if path.parent.name not in numbers.get(path.parent.parent.name, set())
    ]
