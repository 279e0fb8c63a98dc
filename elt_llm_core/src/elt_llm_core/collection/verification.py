"""Verify a collection's files and rows, and repair damaged indexes from the store without embedding."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from elt_llm_core.collection.lifecycle import provide_files, rebuild_generation, remove_leftovers
from elt_llm_core.errors import CorruptIndex, IndexRefused, IndexUnavailable, SettingsError, StoreError
from elt_llm_core.index.contents import CHROMA_FOLDER, FIELDS_NAME, collection_hash, read_arrays, read_contents
from elt_llm_core.index.fields import open_fields
from elt_llm_core.index.passport import Passport, damaged_files, passport_on_disk
from elt_llm_core.index.points import NodeCodes, PointsView, compared_points, points_faults
from elt_llm_core.index.qdrant import point_databases
from elt_llm_core.index.usearch import GraphVectorStore, graph_faults
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.store.disk import can_write
from elt_llm_core.store.generations import discard_generation
from elt_llm_core.store.records import CollectionRecord, GenerationRecord
from elt_llm_core.store.store import Store
from elt_llm_core.text.languages import languages
from elt_llm_core.text.stems import KeywordTokeniser

UNIT_TOLERANCE = 1e-3  # the maximum difference between the length of a unit vector and 1


def find_unsound_rows(store: Store, record: CollectionRecord, generation: GenerationRecord) -> list[str]:
    """Return a sentence about each vector whose length is not 1, and each node whose stems do not match its text."""
    passport = Passport.from_json(generation.passport)
    versions = store.generations.versions(record.id, generation.number)
    contents = read_contents(store, versions, passport.fingerprint, passport.duplicates)
    lengths = np.linalg.norm(contents.vectors, axis=1)
    wrong = ~np.isfinite(lengths) | (np.abs(lengths - 1) > UNIT_TOLERANCE)
    found = [f"the vector of node {contents.ids[int(place)]} is not normalised." for place in np.flatnonzero(wrong)]
    tokenisers = {tokeniser.fingerprint: tokeniser for tokeniser in map(KeywordTokeniser, languages())}
    for node_id, (made_by, stems, text) in sorted(store.nodes.stems_of_versions(versions).items()):
        tokeniser = tokenisers.get(made_by)  # stems from other tokenisers are recomputed when an index is built
        if tokeniser is not None and " ".join(tokeniser.stems(text)) != stems:
            found.append(f"the stems of node {node_id} do not match its text.")
    return found


_BYTES_TO_OPEN = 1 << 17  # at most so many bytes are written when Chroma opens an index


@dataclass(frozen=True)
class GenerationDamage:
    """One fault in one generation. `healable` is true if the index can be rebuilt, because the store is undamaged."""

    collection: str
    generation: int
    what: str
    healable: bool = True


@dataclass(frozen=True)
class VerificationResult:
    """The faults that were found, and a sentence about each index that could not be checked."""

    damage: tuple[GenerationDamage, ...]
    unchecked: tuple[str, ...] = ()
    published: bool = True
    """Whether the collection has a published generation."""


def verify_collection(store: Store, name: str, *, deep: bool = False) -> VerificationResult:
    """Check the published and the previous generation: their index files and their rows in the store.

    Files are compared with the hashes in the passport, the record of how a generation was built. `deep` also checks
    every older generation and every vector, and recomputes all stems.
    """
    record = store.collections.get(name)
    damage: list[GenerationDamage] = []
    unchecked: list[str] = []
    for generation in store.generations.of_collection(record.id):
        if not deep and generation.number not in (record.published, record.previous):
            continue
        directory = store.folder(name) / str(generation.number)
        here = generation
        if store.workspace.is_shared:
            if not directory.exists():  # published by another machine; this one builds the files when they are needed
                continue
            passport = passport_on_disk(directory, Passport.from_json(generation.passport))
            here = replace(generation, passport=passport.to_json())
        faults = damaged_files(directory, here.passport) or _index_damage(store, directory, here, unchecked)
        damage += [GenerationDamage(name, generation.number, fault) for fault in faults]
        lost = _record_damage(store, record, generation)
        if deep and not lost:
            lost = find_unsound_rows(store, record, generation)
        damage += [GenerationDamage(name, generation.number, fault, healable=False) for fault in lost]
    return VerificationResult(tuple(damage), tuple(unchecked), published=record.published is not None)


def repair(store: Store, damage: Sequence[GenerationDamage], progress: ProgressListener) -> list[tuple[int, int]]:
    """Replace each damaged generation by one rebuilt from the store, and return pairs of old and new numbers.

    The caller must hold the writer's lock. Raises StoreError if the store itself is damaged: nothing can be rebuilt.
    """
    lost = [fault for fault in damage if not fault.healable]
    if lost:
        raise StoreError(
            f"The store itself is damaged: {lost[0].what}",
            hint=f"Restore the data directory from a backup, or read all documents again:"
            f" elt-llm drop {lost[0].collection}, then elt-llm ingest PATH -c {lost[0].collection}",
        )
    remove_leftovers(store)
    places = sorted({(fault.collection, fault.generation) for fault in damage})
    rebuilt = []
    for name, number in places:
        record = store.collections.get(name)
        if store.workspace.is_shared:  # perhaps only this machine's files are damaged
            directory = store.folder(name) / str(number)
            discard_generation(directory, store.trash)
            provide_files(store, record, number)
            passport = Passport.from_json(store.generations.get(record.id, number).passport)
            if not passport.lineage or not _points_damage(store, directory, passport, []):
                rebuilt.append((number, number))
                continue
        rebuilt.append((number, rebuild_generation(store, name, number, progress)))
        # If a reader still has the old generation open, its rows are kept for that reader.
        if store.discard_files(record, number):
            store.generations.delete(record.id, number)
    return rebuilt


def _points_damage(store: Store, directory: Path, passport: Passport, unchecked: list[str]) -> list[str]:
    """Return the differences between a generation's points in the vector database and its files."""
    arrays, view = read_arrays(directory), PointsView(passport.lineage, passport.number)
    codes = NodeCodes.of(open_fields(directory / FIELDS_NAME, arrays.fields), len(arrays.ids))
    try:
        with point_databases(store) as databases:
            graph = ChromaSettings.model_validate(passport.chroma)
            database = databases.get(passport.index_settings, passport.fingerprint, graph)
            return points_faults(database, view, arrays) or compared_points(database, view, arrays, codes)
    except (IndexUnavailable, IndexRefused, SettingsError) as error:
        unchecked.append(f"The database vectors of '{passport.collection}' cannot be checked: {error} {error.hint}")
        return []


def _index_damage(store: Store, directory: Path, generation: GenerationRecord, unchecked: list[str]) -> list[str]:
    """Search the vector index with known vectors and return the faults that this reveals, such as low recall."""
    passport = Passport.from_json(generation.passport)
    if passport.exact:
        return []
    if passport.lineage:
        return _points_damage(store, directory, passport, unchecked)
    if passport.index == "usearch":
        arrays = read_arrays(directory)
        graph = GraphVectorStore(directory, arrays, ChromaSettings.model_validate(passport.chroma))
        return graph_faults(graph, arrays, fresh=False)
    from elt_llm_core.index.chroma import index_faults, open_chroma

    try:
        with open_chroma(directory / CHROMA_FOLDER) as index:
            return index_faults(index.store, read_arrays(directory), ())
    except CorruptIndex as error:
        database = directory / CHROMA_FOLDER / "chroma.sqlite3"
        size = database.stat().st_size if database.is_file() else 0
        if os.access(directory, os.W_OK) and can_write(directory, size + _BYTES_TO_OPEN):
            return [str(error)]
        unchecked.append(
            f"{directory / CHROMA_FOLDER} cannot be checked: opening it writes to its folder, which is read-only;"
            " its graph and the exact arrays are as published."
        )
        return []


def _record_damage(store: Store, record: CollectionRecord, generation: GenerationRecord) -> list[str]:
    try:
        passport = Passport.from_json(generation.passport)
        versions = store.generations.versions(record.id, generation.number)
        contents = read_contents(store, versions, passport.fingerprint, passport.duplicates)
        if collection_hash(store, contents, passport.hashing) != generation.collection_hash:
            return ["its texts or vectors in the store have changed since it was published."]
        changed = [version for version in versions if not store.documents.is_consistent(version, record.name)]
        found = [
            f"the text of document version {version} and its chunks differ."
            for version in versions
            for text in [store.documents.text(version)]
            if any(text[start:end] != chunk for start, end, chunk in store.nodes.spans(version))
        ]
        return found + [f"document version {version} has changed since it was stored." for version in changed]
    except StoreError as error:
        return [str(error)]
