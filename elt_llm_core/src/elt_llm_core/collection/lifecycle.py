"""The life cycle of a collection: open, publish, roll back, drop and collect garbage."""

import fcntl
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from elt_llm_core.collection.generation import Generation
from elt_llm_core.errors import (
    CorruptIndex,
    FingerprintMismatch,
    IndexRefused,
    IndexUnavailable,
    SettingsError,
    StoreError,
    UsageError,
)
from elt_llm_core.index.builder import BaseGeneration, BuildTarget, GenerationRecipe, build_generation
from elt_llm_core.index.contents import DIGESTS_NAME, hash_of_digests, load_array
from elt_llm_core.index.passport import PASSPORT_NAME, Passport, passport_on_disk
from elt_llm_core.index.qdrant import PointDatabases, check_place, lineages_of, point_databases
from elt_llm_core.index.vector_index import VectorIndexPool
from elt_llm_core.progress import ProgressListener, SilentListener
from elt_llm_core.settings.tree import ChromaSettings, IndexSettings
from elt_llm_core.state.erasure import erase_dropped
from elt_llm_core.store.conditions import DocumentConditions
from elt_llm_core.store.disk import generation_size, require_space, sync_file
from elt_llm_core.store.erasure import SweepCounts, sweep
from elt_llm_core.store.generations import discard_generation
from elt_llm_core.store.records import CollectionRecord, EmbeddingFingerprint, GenerationRecord
from elt_llm_core.store.store import Store, uploads_folder
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import Failpoint, failpoint


@dataclass(frozen=True)
class PublishedGeneration:
    """A published generation. `afresh`: all indexes were built anew, none by changing a copy of the previous one."""

    collection: str
    number: int
    documents: int
    nodes: int
    collection_hash: str
    afresh: bool


def open_generation(
    store: Store,
    name: str,
    fingerprint: EmbeddingFingerprint | None = None,
    indexes: VectorIndexPool | None = None,
    tokeniser_of: Callable[[str], KeywordTokeniser] = KeywordTokeniser,
    databases: PointDatabases | None = None,
    conditions: DocumentConditions = (),
) -> Generation:
    """Pin and open a collection's published generation. The last four arguments are described at `Generation`.

    Raises UnknownCollection if there is no such collection, and UsageError if nothing was ever published. Raises
    FingerprintMismatch if the generation was built with another `fingerprint`, and CorruptIndex if it is damaged.
    """
    record = store.collections.get(name)
    pin = store.pin_published(record, partial(provide_files, store, record))
    if pin is None:
        raise UsageError(
            f"Collection '{name}' is empty: nothing is published yet.",
            hint=f"If its files are being read, wait; else run: elt-llm ingest PATH -c {name}",
        )
    try:
        passport = Passport.from_json(store.generations.get(record.id, pin.number).passport)
        if fingerprint is not None:
            check_fingerprint(passport, fingerprint)
        return Generation(store, record, pin, passport, indexes, tokeniser_of, databases, conditions=conditions)
    except BaseException:
        pin.release()
        raise


@contextmanager
def generation_opener(
    store: Store, index: IndexSettings | None = None, databases: PointDatabases | None = None
) -> Iterator[Callable[..., Generation]]:
    """Yield a function that opens published generations, which share vector indexes and database connections.

    `index` are the settings of the vector database. Connections passed as `databases` are not closed at the end.
    """
    with VectorIndexPool() as indexes, ExitStack() as opened:
        connections = databases or opened.enter_context(point_databases(store, index))
        shared = cache(KeywordTokeniser)
        yield partial(open_generation, store, indexes=indexes, tokeniser_of=shared, databases=connections)


def check_fingerprint(passport: Passport, fingerprint: EmbeddingFingerprint) -> None:
    """Raise FingerprintMismatch if another embedding model built the generation. The hint names the rebuild command."""
    if passport.fingerprint != fingerprint:
        raise FingerprintMismatch(
            f"Collection '{passport.collection}' was built with {passport.fingerprint}; the settings ask for"
            f" {fingerprint}.",
            hint=f"Run: elt-llm ingest -c {passport.collection} --rebuild   (or use the former model again)",
        )


def publish(
    store: Store,
    name: str,
    versions: Sequence[int],
    recipe: GenerationRecipe,
    progress: ProgressListener,
    *,
    afresh: bool = False,
    rolled_back: bool = False,
) -> PublishedGeneration:
    """Build, verify and publish a generation of these document versions.

    If `rolled_back`, the collection still counts as rolled back, so that the next ingest asks before it publishes. The
    caller must hold the writer's lock. After a crash, readers see either the previous generation or the new one.
    """
    record = store.collections.get(name)
    base = None
    if record.published is not None and not afresh:
        row = store.generations.get(record.id, record.published)
        directory = store.folder(record.name) / str(record.published)
        lineage = Passport.from_json(row.passport).lineage
        if store.workspace.is_shared:
            provide_files(store, record, record.published)
            row = replace(row, passport=passport_on_disk(directory, Passport.from_json(row.passport)).to_json())
        base = BaseGeneration(
            record=row,
            directory=directory,
            versions=tuple(store.generations.versions(record.id, record.published)),
            is_latest=not lineage or max(_numbers_by_lineage(store)[lineage]) == record.published,
        )
    row = build_next_generation(store, record, versions, recipe, base, progress)
    with failpoint(Failpoint.PUBLISH):
        numbers = sorted(versions)
        store.generations.publish(record.id, row, numbers, built_upon=record.published, rolled_back=rolled_back)
    digest, afresh = row.collection_hash.hex(), row.fresh_base == row.number
    return PublishedGeneration(name, row.number, row.documents, row.nodes, digest, afresh=afresh)


def roll_back(store: Store, name: str, to: int | None = None, *, again: bool = False) -> tuple[int, int]:
    """Publish the previous generation, or the generation `to`, and return the old and the new number.

    If the collection is already rolled back and `to` is None, nothing changes unless `again` is true. Then the
    generation from before the rollback is published. Raises UsageError if the generation does not exist.
    """
    record = store.collections.get(name)
    published = record.published
    if published is None or (to is None and record.previous is None):
        raise UsageError(f"'{name}' has no earlier generation to publish.", hint="Run: elt-llm status")
    if to == published or (to is None and record.rolled_back and not again):
        return published, published
    target = record.previous if to is None else to
    numbers = [generation.number for generation in store.generations.of_collection(record.id)]
    if target is None or target not in numbers:
        kept = ", ".join(map(str, numbers))
        raise UsageError(f"'{name}' has no generation {target}.", hint=f"Its generations are: {kept}.")
    if not store.workspace.is_shared and not (store.folder(name) / str(target)).is_dir():
        raise StoreError(f"Generation {target} of '{name}' has no files.", hint=f"Run: elt-llm verify --deep -c {name}")
    store.generations.point_at(record.id, target)
    return published, target


def drop(store: Store, name: str) -> None:
    """Delete a collection: first its rows, so that no reader can open it, then its uploaded files and its folder.

    If an interrupted drop left a folder without rows, the drop is completed. Raises UnknownCollection if there is no
    such collection.
    """
    if store.is_half_dropped(name):
        shutil.rmtree(store.trash, ignore_errors=True)
    else:
        store.collections.delete(store.collections.get(name).id)
    sweep(store.database, store.collections.with_unfinished_runs())
    shutil.rmtree(uploads_folder(store.data_dir, name), ignore_errors=True)
    _trash_folder(store, store.folder(name))
    collect_points(store)
    erase_dropped(store, name)


RECOVERY_FOLDER = "recovering"
DOWNLOADS_FOLDER = "downloads"  # of a running ingest


def remove_leftovers(store: Store) -> tuple[str, ...]:
    """Delete what interrupted runs left: unfinished generation directories or those without a row, downloads, trash.

    Returns the reasons, if any, why vectors of deleted chunks are still in a vector database. The next command that
    writes tries again to delete them.
    """
    for name in (RECOVERY_FOLDER, DOWNLOADS_FOLDER):
        shutil.rmtree(store.data_dir / name, ignore_errors=True)
    numbers = store.generation_names()
    parent = store.data_dir / "collections"
    for folder in sorted(parent.iterdir()) if parent.is_dir() else []:
        if folder.name not in numbers:
            _trash_folder(store, folder)
            continue
        for directory in _subfolders(folder):
            if directory.name not in numbers[folder.name]:
                discard_generation(directory, store.trash)
    shutil.rmtree(store.trash, ignore_errors=True)
    if (store.data_dir / _BUILT_FOLDER).exists():
        with _locked_drafts(store):
            pass  # leaving the block deletes the drafts
    return collect_points(store)


def has_leftovers(store: Store) -> bool:
    """Return whether interrupted runs left files, or an interrupted repair did not delete the replaced generation."""
    numbers = store.generation_names()
    directories = [path for path in store.data_dir.glob("collections/*/*") if path.is_dir()]
    return (
        any(path.name not in numbers.get(path.parent.name, ()) for path in directories)
        or any(_replaced_generations(store, record) for record in store.collections.all())
        or any(store.trash.glob("*"))
    )


def _replaced_generations(store: Store, record: CollectionRecord) -> set[int]:
    """Return the numbers of generations that an interrupted repair replaced by newer ones with the same contents."""
    rows = store.generations.of_collection(record.id)
    used = {row.number: row.collection_hash for row in rows if row.number in (record.published, record.previous)}
    return {
        row.number
        for row in rows
        if row.number not in used and any(row.number < it and row.collection_hash == used[it] for it in used)
    }


def collect_garbage(store: Store, keep: int) -> SweepCounts:
    """Delete all except the `keep` latest generations of each collection, and the rows that only deleted ones used.

    The published, the previous and all pinned generations are always kept, as are rows that an interrupted run needs.
    """
    with failpoint(Failpoint.COLLECT):
        for record in store.collections.all():
            numbers = [generation.number for generation in store.generations.of_collection(record.id)]
            kept = {record.published, record.previous, *numbers[-keep:]} - _replaced_generations(store, record)
            for number in numbers:
                if number not in kept and store.discard_files(record, number):
                    store.generations.delete(record.id, number)
        collect_points(store)
        return sweep(store.database, store.collections.with_unfinished_runs())


def build_next_generation(
    store: Store,
    record: CollectionRecord,
    versions: Sequence[int],
    recipe: GenerationRecipe,
    base: BaseGeneration | None,
    progress: ProgressListener,
) -> GenerationRecord:
    """Build a generation under an unused number, flush its files to disk, and return its row.

    The row is not in the store yet, so a crash leaves only files that will be removed later. Raises StoreError if the
    disk is full.
    """
    folder = store.folder(record.name)
    size = generation_size(store.nodes.count(versions), recipe.fingerprint.dimension)
    require_space(folder, size, f"a generation of '{record.name}'")
    number = store.collections.take_number(record.id)
    # A dropped collection with the same name may have a generation that a reader still has open.
    while (folder / str(number)).exists():
        number = store.collections.take_number(record.id)
    place = BuildTarget(record.name, number, folder / f"building-{number}")
    with _named_write_errors(place.directory):
        built = build_generation(store, place, versions, recipe, base, progress)
        place.directory.rename(folder / str(number))
        for parent in (folder, folder.parent, store.data_dir):
            sync_file(parent)
    return built


@contextmanager
def _named_write_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, CorruptIndex) as error:
        raise StoreError(
            f"{directory} cannot be written: {error}",
            hint="Readers keep the published generation. Free space on that disk, then run the same command again.",
        ) from error


_BUILT_FOLDER, _BUILD_LOCK = "providing", "providing.lock"


def provide_files(store: Store, record: CollectionRecord, number: int) -> None:
    """Build a generation's files from the database, unless they are here. Another machine may have published it.

    Nothing is embedded. Files of generations that are no longer in the store are deleted. Raises StoreError if the
    files differ from the published contents, or if a reader has files of a dropped collection with the same name open.
    """
    row = store.generations.get(record.id, number)
    directory = store.folder(record.name) / str(number)
    if _has_files(directory, row):
        return
    draft = store.data_dir / _BUILT_FOLDER / f"{record.name}-{number}"
    place = BuildTarget(record.name, number, draft, Passport.from_json(row.passport).lineage)
    with _named_write_errors(place.directory), _locked_drafts(store):
        if _has_files(directory, row):
            return
        if not discard_generation(directory, store.trash):
            raise StoreError(
                f"A reader still has files of a dropped collection '{record.name}' open.", hint="Try again later."
            )
        versions = store.generations.versions(record.id, number)
        built = build_generation(store, place, versions, generation_recipe(row), None, SilentListener())
        if built.collection_hash != row.collection_hash:
            raise StoreError(
                f"Texts or vectors of generation {number} of '{record.name}' have changed since it was published.",
                hint=f"Run: elt-llm ingest -c {record.name} --rebuild",
            )
        directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.directory.rename(directory)
        kept = store.generation_names().get(record.name, set())
        for other in _subfolders(directory.parent):
            if other.name.isdecimal() and other.name not in kept:
                discard_generation(other, store.trash)


@contextmanager
def _locked_drafts(store: Store) -> Iterator[None]:
    """Let no other process build a generation's files during the block. Delete unfinished files when the block ends."""
    with (store.data_dir / _BUILD_LOCK).open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        try:
            yield
        finally:
            shutil.rmtree(store.data_dir / _BUILT_FOLDER, ignore_errors=True)


def _has_files(directory: Path, row: GenerationRecord) -> bool:
    """Return whether a directory contains a generation's files, published or rebuilt on this machine."""
    path = directory / PASSPORT_NAME
    if not path.is_file():
        return False
    if path.read_bytes() == row.passport.encode():
        return True
    stored = Passport.from_json(row.passport)
    if passport_on_disk(directory, stored) == stored:
        return False
    try:
        return hash_of_digests(load_array(directory / DIGESTS_NAME, mapped=False)) == row.collection_hash
    except CorruptIndex:
        return False


def rebuild_generation(store: Store, name: str, number: int, progress: ProgressListener) -> int:
    """Replace a generation by a rebuilt one and return its number. Garbage collection will delete the old one."""
    record = store.collections.get(name)
    generation = store.generations.get(record.id, number)
    versions = store.generations.versions(record.id, number)
    built = build_next_generation(store, record, versions, generation_recipe(generation), None, progress)
    store.generations.replace(record.id, number, built, versions)
    return built.number


def generation_recipe(generation: GenerationRecord) -> GenerationRecipe:
    """Return a generation's models and parameters, so that another generation can be built with them."""
    return passport_recipe(Passport.from_json(generation.passport))


def passport_recipe(passport: Passport) -> GenerationRecipe:
    """Return the models and parameters that a passport records."""
    return GenerationRecipe(
        fingerprint=passport.fingerprint,
        chunker=passport.chunker,
        tokeniser=KeywordTokeniser(passport.language),
        chroma=ChromaSettings.model_validate(passport.chroma),
        graph_from=passport.graph_from,
        index=passport.index_settings,
    )


def _trash_folder(store: Store, folder: Path) -> None:
    """Delete a collection's folder, except for generations that a reader pins."""
    if not folder.is_dir():
        return
    for directory in _subfolders(folder):
        discard_generation(directory, store.trash)
    if not any(folder.iterdir()):
        folder.rmdir()


def _subfolders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir())


def collect_points(store: Store) -> tuple[str, ...]:
    """Delete the points (vectors in a database) that no generation uses. Return a reason for each database that failed.

    The caller must hold the writer's lock. Databases whose generations and points have not changed are not contacted.
    """
    record, left = lineages_of(store), list[str]()
    lineages = record.all()
    used = _numbers_by_lineage(store) if lineages else {}
    changed = [lineage for lineage in lineages if lineage.kept != tuple(used.get(lineage.name, []))]
    with point_databases(store) as databases:
        for lineage in changed:
            numbers = used.get(lineage.name, [])
            try:
                databases.get(lineage.settings, lineage.fingerprint).keep(lineage.name, numbers)
            except (IndexUnavailable, IndexRefused, SettingsError) as error:
                left.append(f"Vectors of deleted chunks are still in {lineage.settings.place}: {error} {error.hint}")
                continue
            if numbers:
                record.save(replace(lineage, kept=tuple(numbers)))
            else:
                record.remove(lineage)
    return tuple(left)


def check_databases(store: Store) -> None:
    """Check that every vector database with points of this workspace can be written to. Raises the first error."""
    with point_databases(store) as databases:
        for lineage in lineages_of(store).all():
            databases.get(lineage.settings, lineage.fingerprint).prepare()


def check_index(store: Store, index: IndexSettings, fingerprint: EmbeddingFingerprint, graph: ChromaSettings) -> None:
    """If the settings name a vector database, create what an ingest needs there, and write a test point.

    Called before a document is read or a text embedded. Raises IndexUnavailable, IndexRefused and SettingsError.
    """
    if index.backend != "local":
        check_place(index, store.workspace)
        with point_databases(store) as databases:
            databases.get(index, fingerprint, graph).prepare()


def databases_of(store: Store) -> Sequence[str]:
    """Return the addresses of the Qdrant servers or folders that contain points of this workspace."""
    return sorted({it.settings.url for it in lineages_of(store).all() if it.settings.backend == "qdrant"})


def _numbers_by_lineage(store: Store) -> dict[str, list[int]]:
    """Return the numbers of the generations, ascending, that share the points (vectors in a database) of each lineage.

    A generation without a row still counts while its directory exists, because a reader may have it open.
    """
    found: dict[str, set[int]] = {}
    texts = [row.passport for record in store.collections.all() for row in store.generations.of_collection(record.id)]
    for path in store.data_dir.glob(f"collections/*/*/{PASSPORT_NAME}"):
        if path.parent.name.isdecimal():
            with suppress(OSError, UnicodeDecodeError):
                texts.append(path.read_text(encoding="utf-8"))
    for text in texts:
        with suppress(CorruptIndex):
            passport = Passport.from_json(text)
            if passport.lineage:
                found.setdefault(passport.lineage, set()).add(passport.number)
    return {lineage: sorted(numbers) for lineage, numbers in found.items()}
