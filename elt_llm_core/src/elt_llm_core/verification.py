"""Verifying what a collection has on the disk, and healing what is damaged from the store, without embedding."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.collection import build_in_place, clear_leftovers, row_of
from elt_llm_core.errors import CorruptIndex, StoreError
from elt_llm_core.index.arrays import read_arrays
from elt_llm_core.index.builder import Recipe
from elt_llm_core.index.check import index_faults
from elt_llm_core.index.chroma import CHROMA_FOLDER, open_chroma
from elt_llm_core.index.contents import collection_hash, read_contents
from elt_llm_core.index.passport import Passport, damaged_files
from elt_llm_core.progress import Progress
from elt_llm_core.settings import ChromaSettings
from elt_llm_core.store.pins import discard
from elt_llm_core.store.records import CollectionRecord, GenerationRecord
from elt_llm_core.store.store import Store
from elt_llm_core.text.stems import KeywordTokeniser


@dataclass(frozen=True)
class Damage:
    """One thing that is wrong with one generation. `healable` is false where the truth itself is damaged."""

    collection: str
    generation: int
    what: str
    healable: bool = True


def find_damage(store: Store, name: str) -> list[Damage]:
    """Compare the published and the previous generation with their passports, and those with the store.

    Older ones only wait to be collected.
    """
    record = store.collections.get(name)
    found: list[Damage] = []
    for generation in store.generations.of_collection(record.id):
        if generation.number not in (record.published, record.previous):
            continue
        directory = store.folder(name) / str(generation.number)
        faults = damaged_files(directory, generation.passport) or _index_damage(directory, generation)
        found += [Damage(name, generation.number, fault) for fault in faults]
        lost = _truth_damage(store, record, generation)
        found += [Damage(name, generation.number, fault, healable=False) for fault in lost]
    return found


def store_damage(store: Store) -> list[str]:
    """What SQLite itself finds wrong with the store; empty if nothing."""
    rows = store.database.rows("PRAGMA quick_check")
    return [str(row[0]) for row in rows if row[0] != "ok"]


def heal(store: Store, damage: Sequence[Damage], progress: Progress) -> list[tuple[int, int]]:
    """Build each damaged generation anew from the store and put it in the old one's place.

    The caller holds the writer's lock. Returns (damaged number, number that replaced it) for each. Raises StoreError
    if the store itself is damaged, for then there is nothing true to build from.
    """
    lost = [fault for fault in damage if not fault.healable]
    if lost:
        raise StoreError(
            f"The store itself is damaged: {lost[0].what}",
            hint=f"Restore the data directory from a backup, or read everything anew:"
            f" elt-llm drop {lost[0].collection}, then elt-llm ingest PATH -c {lost[0].collection}",
        )
    clear_leftovers(store)
    places = sorted({(fault.collection, fault.generation) for fault in damage})
    return [(number, _rebuild(store, name, number, progress)) for name, number in places]


def _rebuild(store: Store, name: str, number: int, progress: Progress) -> int:
    record = store.collections.get(name)
    passport = Passport.from_json(store.generations.get(record.id, number).passport)
    recipe = Recipe(
        fingerprint=passport.fingerprint,
        chunker=passport.chunker,
        tokeniser=KeywordTokeniser(passport.language),
        chroma=ChromaSettings.model_validate(passport.chroma),
    )
    versions = store.generations.versions(record.id, number)
    built = build_in_place(store, record, versions, recipe, None, progress)
    store.generations.replace(record.id, number, row_of(store, built), versions)
    if discard(store.folder(name) / str(number), store.trash):  # else a reader has it open, and needs its rows
        store.generations.delete(record.id, number)
    return built.place.number


def _index_damage(directory: Path, generation: GenerationRecord) -> list[str]:
    """Faults that file hashes cannot show, for Chroma's own database may change when it is opened."""
    if Passport.from_json(generation.passport).exact:
        return []
    try:
        with open_chroma(directory / CHROMA_FOLDER) as index:
            return index_faults(index.store, read_arrays(directory), ())
    except CorruptIndex as error:
        return [str(error)]


def _truth_damage(store: Store, record: CollectionRecord, generation: GenerationRecord) -> list[str]:
    try:
        passport = Passport.from_json(generation.passport)
        versions = store.generations.versions(record.id, generation.number)
        contents = read_contents(store, versions, passport.fingerprint, passport.duplicates)
        if collection_hash(store, contents) != generation.collection_hash:
            return ["its texts or vectors in the store have changed since it was published."]
        return _misplaced_spans(store, versions) + _changed_versions(store, record, versions)
    except StoreError as error:
        return [str(error)]


def _misplaced_spans(store: Store, versions: Sequence[int]) -> list[str]:
    faults = []
    for version in versions:
        text = store.documents.text(version)
        spans = store.nodes.spans(version)
        if any(text[start:end] != chunk for start, end, chunk in spans):
            faults.append(f"the text of document version {version} and its chunks differ.")
    return faults


def _changed_versions(store: Store, record: CollectionRecord, versions: Sequence[int]) -> list[str]:
    return [
        f"document version {version} has changed since it was stored."
        for version in versions
        if not store.documents.is_consistent(version, record.name)
    ]
