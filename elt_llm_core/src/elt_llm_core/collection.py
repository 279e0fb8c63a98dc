"""A collection over time: opening what is published, publishing what was built, going back, dropping."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.errors import CorruptIndex, FingerprintMismatch, StoreError, UsageError
from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.fingerprint import EmbeddingFingerprint
from elt_llm_core.generation import Generation
from elt_llm_core.index.builder import Base, Built, Place, Recipe, build_generation
from elt_llm_core.index.contents import collection_hash
from elt_llm_core.index.passport import Passport
from elt_llm_core.index.vector_indexes import VectorIndexes
from elt_llm_core.progress import Progress
from elt_llm_core.settings import ChromaSettings
from elt_llm_core.state.erasing import erase_dropped
from elt_llm_core.store.clock import now
from elt_llm_core.store.fsync import sync_file
from elt_llm_core.store.pins import discard, pin_published
from elt_llm_core.store.records import CollectionRecord, GenerationRecord
from elt_llm_core.store.space import generation_size, require_space
from elt_llm_core.store.store import Store
from elt_llm_core.store.sweep import Swept, sweep
from elt_llm_core.store.uploads import drop_uploads
from elt_llm_core.text.stems import KeywordTokeniser


@dataclass(frozen=True)
class Published:
    """What a publication made. `collection_hash` is equal for equal contents, however they came to be."""

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
    indexes: VectorIndexes | None = None,
    tokeniser_of: Callable[[str], KeywordTokeniser] = KeywordTokeniser,
) -> Generation:
    """Pin and open the published generation of a collection; `indexes` and `tokeniser_of` as `Generation` has them.

    Raises UnknownCollection; UsageError if nothing was ever published; FingerprintMismatch if `fingerprint` is given
    and is not the one the generation was built with; CorruptIndex if it cannot be read.
    """
    record = store.collections.get(name)
    pin = pin_published(store.folder(name), lambda: store.generations.pointer(record.id))
    if pin is None:
        raise UsageError(
            f"Collection '{name}' is empty: nothing was published yet.", hint=f"Run: elt-llm ingest PATH -c {name}"
        )
    try:
        passport = Passport.from_json(store.generations.get(record.id, pin.number).passport)
        if fingerprint is not None:
            check_fingerprint(passport, fingerprint)
        return Generation(store, record, pin, passport, indexes, tokeniser_of)
    except BaseException:
        pin.release()
        raise


def check_fingerprint(passport: Passport, fingerprint: EmbeddingFingerprint) -> None:
    """Raise FingerprintMismatch, with the command that mends it, unless the passport has this fingerprint."""
    if passport.fingerprint != fingerprint:
        raise FingerprintMismatch(
            f"Collection '{passport.collection}' was built with {passport.fingerprint}; the settings ask for"
            f" {fingerprint}.",
            hint=f"Run: elt-llm ingest -c {passport.collection} --rebuild   (or go back to the former model)",
        )


def publish(
    store: Store,
    name: str,
    versions: Sequence[int],
    recipe: Recipe,
    progress: Progress,
    *,
    afresh: bool = False,
    rolled_back: bool = False,
) -> Published:
    """Build a generation of these document versions beside the published one, check it, and point readers at it.

    `rolled_back` keeps a collection marked so that was rolled back, for the next ingest still has to ask.
    The caller holds the writer's lock. A crash at any moment leaves readers with the former generation or this one.
    """
    record = store.collections.get(name)
    base = None if afresh else published_base(store, record)
    built = build_in_place(store, record, versions, recipe, base, progress)
    row = row_of(store, built)
    with stage(Stage.PUBLISH):
        store.generations.publish(
            record.id, row, built.contents.versions, built_upon=record.published, rolled_back=rolled_back
        )
    return Published(
        collection=name,
        number=row.number,
        documents=row.documents,
        nodes=row.nodes,
        collection_hash=row.collection_hash.hex(),
        afresh=built.fresh_base == row.number,
    )


def published_base(store: Store, record: CollectionRecord) -> Base | None:
    """The published generation, as something to copy from."""
    if record.published is None:
        return None
    return Base(
        record=store.generations.get(record.id, record.published),
        directory=store.folder(record.name) / str(record.published),
        versions=tuple(store.generations.versions(record.id, record.published)),
    )


def roll_back(store: Store, name: str, to: int | None = None, *, again: bool = False) -> tuple[int, int]:
    """Show readers the previous generation, or the one numbered `to`; returns (the number left, the number now seen).

    Where that was done already nothing is changed, so that a repetition never goes forward again, unless `again` says
    to go back to the one before the rollback. Raises UsageError if there is no such generation.
    """
    record = store.collections.get(name)
    published = record.published
    if published is None or (to is None and record.previous is None):
        raise UsageError("There is no earlier generation to go back to.", hint="Run: elt-llm status")
    if to == published or (to is None and record.rolled_back and not again):
        return published, published
    target = record.previous if to is None else to
    numbers = [generation.number for generation in store.generations.of_collection(record.id)]
    if target is None or target not in numbers:
        kept = ", ".join(map(str, numbers))
        raise UsageError(f"'{name}' has no generation {target}.", hint=f"Kept are: {kept}.")
    if not (store.folder(name) / str(target)).is_dir():
        raise StoreError(f"Generation {target} of '{name}' is no longer on the disk.")
    store.generations.point_at(record.id, target)
    return published, target


def drop(store: Store, name: str) -> None:
    """Delete a collection: first its rows, so that nobody can open it, then what only it held, its folder last.

    Files that were uploaded into it go, too.

    A folder without rows is one whose dropping was cut off; it is finished. Raises UnknownCollection.
    """
    if store.is_half_dropped(name):
        shutil.rmtree(store.trash, ignore_errors=True)
    else:
        store.collections.delete(store.collections.get(name).id)
    sweep(store.database, store.collections.with_unfinished_runs())
    drop_uploads(store.data_dir, name)
    _trash_folder(store, store.folder(name))
    erase_dropped(store, name)


def clear_leftovers(store: Store) -> None:
    """Delete what cut off runs left: unfinished directories, those that no row names, and the trash."""
    numbers = {
        record.name: {str(generation.number) for generation in store.generations.of_collection(record.id)}
        for record in store.collections.all()
    }
    parent = store.data_dir / "collections"
    for folder in sorted(parent.iterdir()) if parent.is_dir() else []:
        if folder.name not in numbers:
            _trash_folder(store, folder)
            continue
        for directory in _directories(folder):
            if directory.name not in numbers[folder.name]:
                discard(directory, store.trash)
    shutil.rmtree(store.trash, ignore_errors=True)


def collect_garbage(store: Store, keep: int) -> Swept:
    """Delete generations beyond the `keep` latest of each collection, and the rows that only they held.

    The published and the previous one always stay, and so does any that a reader pins. A cut off run keeps the rows
    of its own collection, for they are what its repetition goes on from.
    """
    with stage(Stage.COLLECT):
        for record in store.collections.all():
            numbers = [generation.number for generation in store.generations.of_collection(record.id)]
            kept = {record.published, record.previous, *numbers[-keep:]}
            for number in numbers:
                if number not in kept and discard(store.folder(record.name) / str(number), store.trash):
                    store.generations.delete(record.id, number)
        return sweep(store.database, store.collections.with_unfinished_runs())


def build_in_place(
    store: Store,
    record: CollectionRecord,
    versions: Sequence[int],
    recipe: Recipe,
    base: Base | None,
    progress: Progress,
) -> Built:
    """Build a generation under a number never used, on the disk for good. No row names it yet: a crash leaves litter.

    Raises StoreError if the disk cannot take it.
    """
    folder = store.folder(record.name)
    size = generation_size(store.nodes.count(versions), recipe.fingerprint.dimension)
    require_space(folder, size, f"a generation of '{record.name}'")
    number = store.collections.take_number(record.id)
    while (folder / str(number)).exists():  # left by a dropped collection of this name that somebody still reads
        number = store.collections.take_number(record.id)
    place = Place(record.name, number, folder / f"building-{number}")
    try:
        built = build_generation(store, place, versions, recipe, base, progress)
        place.directory.rename(folder / str(number))
        for parent in (folder, folder.parent, store.data_dir):
            sync_file(parent)
    except (OSError, CorruptIndex) as error:
        raise StoreError(
            f"{place.directory} cannot be written: {error}",
            hint="Readers keep what is published. Make room on that disk, then run the same command again.",
        ) from error
    return built


def rebuild_afresh(store: Store, name: str, number: int, progress: Progress) -> int:
    """Build a generation anew from the store and point where it was at the new one, whose number is returned.

    The old one stays, unless somebody collects it.
    """
    record = store.collections.get(name)
    generation = store.generations.get(record.id, number)
    versions = store.generations.versions(record.id, number)
    built = build_in_place(store, record, versions, recipe_of(generation), None, progress)
    store.generations.replace(record.id, number, row_of(store, built), versions)
    return built.place.number


def recipe_of(generation: GenerationRecord) -> Recipe:
    """What a generation was made with, to make another of the same kind."""
    passport = Passport.from_json(generation.passport)
    return Recipe(
        fingerprint=passport.fingerprint,
        chunker=passport.chunker,
        tokeniser=KeywordTokeniser(passport.language),
        chroma=ChromaSettings.model_validate(passport.chroma),
    )


def row_of(store: Store, built: Built) -> GenerationRecord:
    """The row that will name a finished directory."""
    return GenerationRecord(
        number=built.place.number,
        created_at=now(),
        fresh_base=built.fresh_base,
        changed_since_fresh=built.changed_since_fresh,
        documents=len(built.contents.versions),
        nodes=len(built.contents.nodes),
        collection_hash=collection_hash(store, built.contents),
        passport=built.passport.to_json(),
    )


def _trash_folder(store: Store, folder: Path) -> None:
    """Delete a collection's folder as far as no reader pins its generations."""
    if not folder.is_dir():
        return
    for directory in _directories(folder):
        discard(directory, store.trash)
    if not any(folder.iterdir()):
        folder.rmdir()


def _directories(folder: Path) -> list[Path]:
    """What is in a folder but for plain files, which are not ours."""
    return sorted(path for path in folder.iterdir() if path.is_dir())
