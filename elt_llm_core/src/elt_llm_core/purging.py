"""Purging: what is no longer published leaves the bytes on the disk too, with a receipt of what that reached."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elt_llm_core.collection import clear_leftovers, rebuild_afresh
from elt_llm_core.erased_samples import SearchResult, search_files, take_samples
from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.forgotten_samples import erase_samples, keep_samples, kept_samples
from elt_llm_core.index.chroma import CHROMA_FOLDER
from elt_llm_core.index.spare_bytes import has_stray_bytes
from elt_llm_core.progress import Progress
from elt_llm_core.state.database import open_state
from elt_llm_core.state.erasing import erase_unpublished
from elt_llm_core.state.job_queue import JobQueue
from elt_llm_core.store.backups import BACKUPS_FOLDER
from elt_llm_core.store.clock import now
from elt_llm_core.store.erasing import compact, erase_rows, unpublished_versions
from elt_llm_core.store.pins import PIN_NAME, pin_holders
from elt_llm_core.store.records import CollectionRecord, document_id
from elt_llm_core.store.store import Store
from elt_llm_core.store.uploads import UPLOADS_FOLDER, unpublished_uploads

BEYOND_REACH = (
    "snapshots that the file system or a virtual machine keeps",
    "backups and copies of the data directory made by others",
    "exported collections, outputs of jobs, printed or saved answers",
    "blocks that a solid-state disk or a swap area keeps after they were given up",
)


@dataclass(frozen=True)
class Receipt:
    """What a purge erased, how that was checked, and what it could not reach.

    `documents` are ids of documents that lost a version; `cut_off` names collections whose unfinished run lost what it
    had stored; `rebuilt` those whose copied index was built anew; `turns` counts those of conversations that showed
    what is not published, or had words of what was erased, `rows` and `reviews` those of jobs that did; `pinned` tells
    directories that readers have open; `sources` files that still lie where documents that are not published were
    read.
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
    check: SearchResult
    pinned: tuple[dict[str, Any], ...]
    sources: tuple[str, ...]
    beyond_reach: tuple[str, ...] = BEYOND_REACH

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found and nothing is left for a reader's sake."""
        return not self.check.found_in and not self.pinned

    def to_json(self) -> dict[str, Any]:
        """The receipt as plain values."""
        return {**asdict(self), "clean": self.is_clean}


def purge(store: Store, names: Sequence[str], progress: Progress) -> Receipt:
    """Erase what these collections, or all, no longer publish; always also every backup, and all of the trash.

    The caller holds the writer's lock. A crash at any moment is mended by repeating it. Raises StoreError, having
    erased rows and files but not yet their bytes in the database, if there is no room to write that anew.
    """
    chosen = [store.collections.get(name) for name in names] or store.collections.all()
    before, files, generations = _size(store.data_dir), _doomed_files(store, chosen), _generations(store, chosen)
    cut_off = [it.name for it in chosen if it.id in store.collections.with_unfinished_runs()]
    doomed = {record.id: unpublished_versions(store, record) for record in chosen}
    versions, sources = [version for found in doomed.values() for version in found], _sources(store, chosen)
    documents, samples = tuple(_documents(store, versions)), _samples(store, versions)
    with stage(Stage.PURGE):
        _delete_files(store, chosen)
    with stage(Stage.PURGE):
        rebuilt = [it.name for it in chosen if _without_copied_index(store, it, progress)]
    for record in chosen:
        with stage(Stage.PURGE):
            erase_rows(store, store.collections.get(record.name), doomed[record.id])
    with stage(Stage.PURGE):
        clear_leftovers(store)
    with stage(Stage.PURGE):
        erased = erase_unpublished(store, [store.collections.get(it.name) for it in chosen], samples)
        compact(store.database)
    return Receipt(
        finished_at=now(),
        collections=tuple(record.name for record in chosen),
        documents=documents,
        versions=len(versions),
        generations=generations - sum(record.published is not None for record in chosen),
        files=tuple(files),
        cut_off=tuple(cut_off),
        rebuilt=tuple(rebuilt),
        **asdict(erased),
        bytes_before=before,
        bytes_after=_size(store.data_dir),
        check=_searched(store, samples),
        pinned=tuple(_pinned(store)),
        sources=tuple(sources),
    )


def _delete_files(store: Store, chosen: Sequence[CollectionRecord]) -> None:
    """Every backup, and the uploads that nothing published comes from any more."""
    _delete_backups(store.data_dir)
    for path in _uploads(store, chosen):
        path.unlink(missing_ok=True)


def _samples(store: Store, versions: Sequence[int]) -> list[str]:
    return list(dict.fromkeys([*take_samples(store, versions), *kept_samples(store)]))


def _searched(store: Store, samples: Sequence[str]) -> SearchResult:
    """The search; nothing keeps the samples of what was forgotten after it, unless the next purge is to look again."""
    kept = kept_samples(store)
    erase_samples(store)
    found = search_files(store, samples)
    if found.found_in:
        keep_samples(store, kept)
    return found


def _generations(store: Store, chosen: Sequence[CollectionRecord]) -> int:
    return sum(len(store.generations.of_collection(record.id)) for record in chosen)


def _delete_backups(data_dir: Path) -> None:
    folder = data_dir / BACKUPS_FOLDER
    for path in folder.glob("*") if folder.is_dir() else ():
        path.unlink()


def _without_copied_index(store: Store, record: CollectionRecord, progress: Progress) -> bool:
    """Rebuild an index that was copied, for it has what was deleted from the other, or that has stray memory in it."""
    if record.published is None:
        return False
    copied = store.generations.get(record.id, record.published).fresh_base != record.published
    if not copied and not has_stray_bytes(store.folder(record.name) / str(record.published) / CHROMA_FOLDER):
        return False
    rebuild_afresh(store, record.name, record.published, progress)
    return True


def _doomed_files(store: Store, chosen: Sequence[CollectionRecord]) -> list[str]:
    """Backups, trash, and directories of generations that readers do not see, relative to the data directory."""
    folders = [store.data_dir / BACKUPS_FOLDER, store.trash]
    found = [path for folder in folders if folder.is_dir() for path in folder.iterdir()] + _uploads(store, chosen)
    for record in chosen:
        folder = store.folder(record.name)
        kept = {str(record.published)}
        found += [path for path in folder.glob("*") if path.is_dir() and path.name not in kept]
    return sorted(path.relative_to(store.data_dir).as_posix() for path in found)


def _uploads(store: Store, chosen: Sequence[CollectionRecord]) -> list[Path]:
    """Uploads that are not published, of these collections and of none, but for those that wait to be read."""
    if not (store.data_dir / UPLOADS_FOLDER).is_dir():
        return []
    with closing(open_state(store.data_dir)) as state:
        pending = JobQueue(state).pending_uploads()
    return unpublished_uploads(store, {record.name for record in chosen}, pending)


def _documents(store: Store, versions: Sequence[int]) -> list[str]:
    wanted = set(versions)
    rows = store.database.rows("SELECT id, document_id FROM document_versions")
    return sorted({str(identity) for version, identity in rows if version in wanted})


def _sources(store: Store, chosen: Sequence[CollectionRecord]) -> list[str]:
    """Files at their paths that gave documents which are stored or forgotten, but not published."""
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
                path for name, (root, _) in roots.items() for path in _files_of(record.name, name, root, forgotten)
            }
    ours = store.data_dir / UPLOADS_FOLDER
    return sorted(str(path) for path in found if path.is_file() and not path.is_relative_to(ours.resolve()))


def _files_of(collection: str, name: str, root: Path, identities: frozenset[str]) -> list[Path]:
    """Files below a root whose place is that of one of these documents; no name of theirs was kept to look it up."""
    files = (path for path in root.rglob("*") if path.is_file())
    return [path for path in files if document_id(collection, name, path.relative_to(root).as_posix()) in identities]


def _pinned(store: Store) -> list[dict[str, Any]]:
    """Directories that no row names, which a reader still has open: they go with the next command that writes."""
    numbers = {
        record.name: {str(it.number) for it in store.generations.of_collection(record.id)}
        for record in store.collections.all()
    }
    return [
        {"directory": path.parent.relative_to(store.data_dir).as_posix(), "processes": pin_holders(path)}
        for path in sorted(store.data_dir.glob(f"collections/*/*/{PIN_NAME}"))
        if path.parent.name not in numbers.get(path.parent.parent.name, set())
    ]


def _size(data_dir: Path) -> int:
    return sum(path.stat().st_size for path in data_dir.rglob("*") if path.is_file())
