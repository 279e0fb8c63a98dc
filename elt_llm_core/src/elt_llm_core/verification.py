"""Verifying what a collection has on the disk, and healing what is damaged from the store, without embedding."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.collection import clear_leftovers, rebuild_afresh
from elt_llm_core.errors import CorruptIndex, StoreError
from elt_llm_core.index.arrays import read_arrays
from elt_llm_core.index.check import index_faults
from elt_llm_core.index.chroma import CHROMA_FOLDER, open_chroma
from elt_llm_core.index.contents import collection_hash, read_contents
from elt_llm_core.index.passport import Passport, damaged_files
from elt_llm_core.progress import Progress
from elt_llm_core.store.backups import backup_faults
from elt_llm_core.store.pins import discard
from elt_llm_core.store.records import CollectionRecord, GenerationRecord
from elt_llm_core.store.space import can_write
from elt_llm_core.store.store import Store
from elt_llm_core.unsound_rows import unsound_rows

_ROOM_TO_OPEN = 1 << 17  # bytes that Chroma may write when it is opened


@dataclass(frozen=True)
class Damage:
    """One thing that is wrong with one generation. `healable` is false where the truth itself is damaged."""

    collection: str
    generation: int
    what: str
    healable: bool = True


@dataclass(frozen=True)
class Findings:
    """What is wrong, and, in sentences, what could not be looked at here and now."""

    damage: tuple[Damage, ...]
    unchecked: tuple[str, ...] = ()


def find_damage(store: Store, name: str) -> list[Damage]:
    """Compare the published and the previous generation with their passports, and those with the store.

    Older ones only wait to be collected.
    """
    return list(examine(store, name).damage)


def examine(store: Store, name: str, *, deep: bool = False) -> Findings:
    """As `find_damage`, telling what could not be checked.

    `deep` also looks at every older generation that is kept, at each vector, and makes all stems anew.
    """
    record = store.collections.get(name)
    damage: list[Damage] = []
    unchecked: list[str] = []
    for generation in store.generations.of_collection(record.id):
        if not deep and generation.number not in (record.published, record.previous):
            continue
        directory = store.folder(name) / str(generation.number)
        faults = damaged_files(directory, generation.passport) or _index_damage(directory, generation, unchecked)
        damage += [Damage(name, generation.number, fault) for fault in faults]
        lost = _truth_damage(store, record, generation)
        if deep and not lost:
            lost = unsound_rows(store, record, generation)
        damage += [Damage(name, generation.number, fault, healable=False) for fault in lost]
    return Findings(tuple(damage), tuple(unchecked))


def store_damage(store: Store, *, deep: bool = False) -> list[str]:
    """What SQLite itself finds wrong with the store, and if `deep` with its backups; empty if nothing."""
    rows = store.database.rows("PRAGMA integrity_check" if deep else "PRAGMA quick_check")
    found = [str(row[0]) for row in rows if row[0] != "ok"]
    return found + backup_faults(store.data_dir) if deep else found


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
    replacement = rebuild_afresh(store, name, number, progress)
    record = store.collections.get(name)
    if discard(store.folder(name) / str(number), store.trash):  # else a reader has it open, and needs its rows
        store.generations.delete(record.id, number)
    return replacement


def _index_damage(directory: Path, generation: GenerationRecord, unchecked: list[str]) -> list[str]:
    """Faults that file hashes cannot show, for Chroma's own database may change when it is opened."""
    if Passport.from_json(generation.passport).exact:
        return []
    try:
        with open_chroma(directory / CHROMA_FOLDER) as index:
            return index_faults(index.store, read_arrays(directory), ())
    except CorruptIndex as error:
        database = directory / CHROMA_FOLDER / "chroma.sqlite3"
        size = database.stat().st_size if database.is_file() else 0
        if os.access(directory, os.W_OK) and can_write(directory, size + _ROOM_TO_OPEN):
            return [str(error)]
        unchecked.append(
            f"{directory / CHROMA_FOLDER} cannot be checked, for opening it writes and nothing can be written there;"
            " its graph and the exact arrays are as published."
        )
        return []


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
