"""Build the directory of a new generation, from a copy of the published index or from the store."""

import importlib.metadata
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elt_llm_core.errors import StoreError
from elt_llm_core.index.chroma import CHROMA_FOLDER, clear_reserved_bytes, create_chroma, index_faults, open_chroma
from elt_llm_core.index.contents import (
    FIELDS_NAME,
    IDS_NAME,
    GenerationContents,
    load_array,
    node_stems,
    read_contents,
    write_arrays,
    write_artefacts,
)
from elt_llm_core.index.fields import build_fields, write_fields
from elt_llm_core.index.keyword_index import TermCounts, keyword_index_of, read_term_counts, write_keyword_index
from elt_llm_core.index.passport import PASSPORT_NAME, Passport, damaged_files, file_hashes
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.store.database import Database
from elt_llm_core.store.disk import sync_tree
from elt_llm_core.store.generations import PIN_NAME
from elt_llm_core.store.records import EmbeddingFingerprint, GenerationRecord
from elt_llm_core.store.store import Store
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import Failpoint, failpoint

_LIBRARIES = ("chromadb", "bm25s", "PyStemmer", "llama-index-core", "numpy", "onnxruntime", "tokenizers", "pysqlite3")


@dataclass(frozen=True)
class GenerationRecipe:
    """The models and parameters that all generations of one ingest are built with."""

    fingerprint: EmbeddingFingerprint
    chunker: str
    tokeniser: KeywordTokeniser
    chroma: ChromaSettings


@dataclass(frozen=True)
class BuildTarget:
    """The collection, number and directory of a generation to build."""

    collection: str
    number: int
    directory: Path


@dataclass(frozen=True)
class BaseGeneration:
    """The published generation whose index may be copied to build the next generation."""

    record: GenerationRecord
    directory: Path
    versions: tuple[int, ...]


@dataclass(frozen=True)
class BuiltGeneration:
    """A generation with a finished and verified directory, which is not yet recorded in the store."""

    place: BuildTarget
    contents: GenerationContents
    passport: Passport
    fresh_base: int
    changed_since_fresh: int


class IndexDifference(NamedTuple):
    """The ids of nodes to remove from an index and to add to it. A node whose text has changed is in both lists."""

    removed: list[str]
    added: list[str]


@failpoint(Failpoint.INDEX)
def build_generation(
    store: Store,
    place: BuildTarget,
    versions: Sequence[int],
    recipe: GenerationRecipe,
    base: BaseGeneration | None,
    progress: ProgressListener,
) -> BuiltGeneration:
    """Build the generation's directory from the store and verify the directory. No text is embedded."""
    shutil.rmtree(place.directory, ignore_errors=True)
    place.directory.mkdir(parents=True, mode=0o700)
    (place.directory / PIN_NAME).touch()
    contents = read_contents(store, versions, recipe.fingerprint)
    progress.stage("index", len(contents.nodes))
    write_arrays(place.directory, contents.arrays)
    write_fields(place.directory / FIELDS_NAME, build_fields(store, contents, contents.arrays.fields["document"]))
    write_artefacts(place.directory, store.documents.artefacts(contents.versions))
    if base and damaged_files(base.directory, base.record.passport):
        base = None  # nothing is copied from a damaged generation
    difference = _index_difference(store, contents, base) if base else None
    counts = _changed_counts(store, contents, recipe, base, difference) if base and difference else None
    counts = counts or TermCounts.of_stems(node_stems(store, contents.nodes, recipe.tokeniser))
    write_keyword_index(place.directory, keyword_index_of(counts, recipe.tokeniser), counts)
    changes = _copied_index(place, contents, recipe, base, difference, progress) if base and difference else None
    fresh_base, changed = place.number, 0
    if base and changes is not None:
        fresh_base, changed = base.record.fresh_base, base.record.changed_since_fresh + changes
        exact = Passport.from_json(base.record.passport).exact
    else:
        exact = not _fresh_index(place, contents, recipe, progress)
    clear_reserved_bytes(place.directory / CHROMA_FOLDER)
    passport = _passport(place, contents, recipe, exact=exact)
    (place.directory / PASSPORT_NAME).write_text(passport.to_json(), encoding="utf-8")
    sync_tree(place.directory)
    progress.advance(len(contents.nodes))
    return BuiltGeneration(place, contents, passport, fresh_base, changed)


def _fresh_index(
    place: BuildTarget, contents: GenerationContents, recipe: GenerationRecipe, progress: ProgressListener
) -> bool:
    """Build the Chroma index from the store and return whether it is usable."""
    folder = place.directory / CHROMA_FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    # For a single vector, Chroma stores no graph, and it rewrites its files whenever it opens them.
    if len(contents.nodes) < 2:
        return False
    with create_chroma(folder, recipe.chroma, len(contents.nodes)) as index:
        index.store.put(contents.ids, contents.vectors)
        with failpoint(Failpoint.VERIFY):
            faults = index_faults(index.store, contents.arrays, ())
    for fault in faults:
        progress.note(f"The vector index is not used; vectors are searched exactly instead: {fault}")
    return not faults


def _changed_counts(
    store: Store,
    contents: GenerationContents,
    recipe: GenerationRecipe,
    base: BaseGeneration,
    difference: IndexDifference,
) -> TermCounts | None:
    """Return the term counts of the base generation with the difference applied, or None if they cannot be used.

    They cannot be used if another tokeniser made them, or if an earlier version stored none.
    """
    if Passport.from_json(base.record.passport).tokeniser != recipe.tokeniser.fingerprint:
        return None
    before, now = load_array(base.directory / IDS_NAME, mapped=False), contents.arrays.ids
    counts = read_term_counts(base.directory, len(before))
    if counts is None or not len(now):
        return None
    added = contents.arrays.positions(difference.added)
    places = np.minimum(np.searchsorted(now, before), len(now) - 1)
    unchanged = (now[places] == before) & ~np.isin(places, added)
    stems = node_stems(store, [contents.nodes[place] for place in added], recipe.tokeniser)
    moved = np.where(unchanged, places, -1)
    return counts.with_changes(moved, dict(zip(added.tolist(), stems, strict=True)), len(now))


def _copied_index(
    place: BuildTarget,
    contents: GenerationContents,
    recipe: GenerationRecipe,
    base: BaseGeneration,
    difference: IndexDifference,
    progress: ProgressListener,
) -> int | None:
    """Copy the index of the base generation and apply the difference.

    Returns the number of changes, or None if no usable copy could be made. A base without a usable index is not copied,
    because a small change would not make it usable.
    """
    removed, added = difference
    changes = len({*removed, *added})
    if not _may_copy(recipe, base, changes, len(contents.nodes)):
        return None
    if Passport.from_json(base.record.passport).exact:
        return changes
    try:
        _copy_chroma(base.directory / CHROMA_FOLDER, place.directory / CHROMA_FOLDER)
        with open_chroma(place.directory / CHROMA_FOLDER) as index:
            index.store.delete_nodes(removed)
            index.store.put(added, contents.vectors[contents.arrays.positions(added)])
            with failpoint(Failpoint.VERIFY):
                faults = index_faults(index.store, contents.arrays, added)
    except StoreError as error:  # this may be damage that no hash shows, because Chroma's own database has no checksum
        faults = [str(error)]
    for fault in faults:
        progress.note(f"The vector index is rebuilt instead of copied: {fault}")
    return None if faults else changes


def _may_copy(recipe: GenerationRecipe, base: BaseGeneration, changes: int, size: int) -> bool:
    passport = Passport.from_json(base.record.passport)
    return (
        passport.fingerprint == recipe.fingerprint
        and passport.chroma == recipe.chroma.model_dump()
        and (base.record.changed_since_fresh + changes) * 10 <= size  # at most a tenth of the nodes changed
    )


def _index_difference(store: Store, contents: GenerationContents, base: BaseGeneration) -> IndexDifference:
    once = Passport.from_json(base.record.passport).duplicates == "once"
    indexed = store.documents.indexed(base.versions) if once else base.versions
    before = {node.node_id: node.embedded_hash for node in store.nodes.of_versions(indexed)}
    after = {node.node_id: node.embedded_hash for node in contents.nodes}
    removed = [node_id for node_id, digest in before.items() if after.get(node_id) != digest]
    return IndexDifference(removed, [node_id for node_id, digest in after.items() if before.get(node_id) != digest])


def _copy_chroma(source: Path, target: Path) -> None:
    """Copy the HNSW files as they are, and Chroma's database with SQLite's backup API, so that no journal is copied."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("chroma.sqlite3*"))
    with closing(Database(source / "chroma.sqlite3", for_writing=False)) as database:
        database.backup_to(target / "chroma.sqlite3")


def _passport(place: BuildTarget, contents: GenerationContents, recipe: GenerationRecipe, *, exact: bool) -> Passport:
    return Passport(
        collection=place.collection,
        number=place.number,
        nodes=len(contents.nodes),
        fingerprint=recipe.fingerprint,
        chroma=recipe.chroma.model_dump(),
        exact=exact,
        chunker=recipe.chunker,
        tokeniser=recipe.tokeniser.fingerprint,
        language=recipe.tokeniser.language,
        library_versions={name: importlib.metadata.version(name) for name in _LIBRARIES},
        files=file_hashes(place.directory),
        duplicates="once",
    )
