"""Building a generation's directory beside the published one: nothing that readers see is touched."""

import importlib.metadata
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.errors import StoreError
from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.fingerprint import EmbeddingFingerprint
from elt_llm_core.index.arrays import FIELDS_NAME, Arrays, write_arrays
from elt_llm_core.index.artefacts import write_artefacts
from elt_llm_core.index.bm25 import build_keyword_index, write_keyword_index
from elt_llm_core.index.check import index_faults
from elt_llm_core.index.chroma import CHROMA_FOLDER, create_chroma, open_chroma
from elt_llm_core.index.contents import Contents, read_contents, stems_of
from elt_llm_core.index.field_contents import fields_of
from elt_llm_core.index.fields import write_fields
from elt_llm_core.index.passport import PASSPORT_NAME, Passport, damaged_files, file_hashes
from elt_llm_core.index.spare_bytes import clear_spare_bytes
from elt_llm_core.progress import Progress
from elt_llm_core.settings import ChromaSettings
from elt_llm_core.store.database import Database
from elt_llm_core.store.fsync import sync_tree
from elt_llm_core.store.pins import PIN_NAME
from elt_llm_core.store.records import GenerationRecord
from elt_llm_core.store.store import Store
from elt_llm_core.text.stems import KeywordTokeniser

_LIBRARIES = ("chromadb", "bm25s", "PyStemmer", "llama-index-core", "numpy", "onnxruntime", "tokenizers", "pysqlite3")


@dataclass(frozen=True)
class Recipe:
    """What every generation of one ingest is made with."""

    fingerprint: EmbeddingFingerprint
    chunker: str
    tokeniser: KeywordTokeniser
    chroma: ChromaSettings


@dataclass(frozen=True)
class Place:
    """Where a generation is built, and what it will be called."""

    collection: str
    number: int
    directory: Path


@dataclass(frozen=True)
class Difference:
    """Node ids whose vectors leave and enter the index; one whose vector changed is in both."""

    removed: list[str]
    added: list[str]

    @property
    def size(self) -> int:
        """How many nodes it touches."""
        return len({*self.removed, *self.added})


@dataclass(frozen=True)
class Base:
    """The published generation that a new one may be copied from."""

    record: GenerationRecord
    directory: Path
    versions: tuple[int, ...]


@dataclass(frozen=True)
class Built:
    """A finished directory, on the disk and checked, that nothing points at yet."""

    place: Place
    contents: Contents
    passport: Passport
    fresh_base: int
    changed_since_fresh: int


def build_generation(
    store: Store, place: Place, versions: Sequence[int], recipe: Recipe, base: Base | None, progress: Progress
) -> Built:
    """Build the directory of `place` from the store, without embedding anything, and check it."""
    with stage(Stage.INDEX):
        return _build(store, place, versions, recipe, base, progress)


def _build(
    store: Store, place: Place, versions: Sequence[int], recipe: Recipe, base: Base | None, progress: Progress
) -> Built:
    shutil.rmtree(place.directory, ignore_errors=True)
    place.directory.mkdir(parents=True, mode=0o700)
    (place.directory / PIN_NAME).touch()
    contents = read_contents(store, versions, recipe.fingerprint)
    progress.stage("index", len(contents.nodes))
    arrays = contents.arrays()
    write_arrays(place.directory, arrays)
    write_fields(place.directory / FIELDS_NAME, fields_of(store, contents, arrays.fields["document"]))
    stems = stems_of(store, contents, recipe.tokeniser)
    write_keyword_index(place.directory, build_keyword_index(stems, recipe.tokeniser))
    write_artefacts(place.directory, store.documents.artefacts(contents.versions))
    changes = _copied_index(store, place, contents, arrays, recipe, base, progress) if base else None
    fresh_base, changed, exact = place.number, 0, False
    if base and changes is not None:
        fresh_base, changed = base.record.fresh_base, base.record.changed_since_fresh + changes
        exact = Passport.from_json(base.record.passport).exact
    else:
        exact = not _fresh_index(place, contents, arrays, recipe, progress)
    clear_spare_bytes(place.directory / CHROMA_FOLDER)
    passport = _passport(place, contents, recipe, exact=exact)
    (place.directory / PASSPORT_NAME).write_text(passport.to_json(), encoding="utf-8")
    sync_tree(place.directory)
    progress.advance(len(contents.nodes))
    return Built(place, contents, passport, fresh_base, changed)


def _fresh_index(place: Place, contents: Contents, arrays: Arrays, recipe: Recipe, progress: Progress) -> bool:
    """Build Chroma from nothing; tells whether it is fit to be used."""
    folder = place.directory / CHROMA_FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    if len(contents.nodes) < 2:  # Chroma keeps no graph of one vector, and writes its files anew whenever it is opened
        return False
    with create_chroma(folder, recipe.chroma, len(contents.nodes)) as index:
        index.store.put(contents.ids, contents.vectors)
        with stage(Stage.VERIFY):
            faults = index_faults(index.store, arrays, ())
    for fault in faults:
        progress.note(f"The vector index is not used, vectors are searched exactly instead: {fault}")
    return not faults


def _copied_index(
    store: Store,
    place: Place,
    contents: Contents,
    arrays: Arrays,
    recipe: Recipe,
    base: Base,
    progress: Progress,
) -> int | None:
    """Copy the base's index and apply the difference; returns how many nodes changed, or None if that will not do.

    Where the base has no index that is fit for use, a small change will not make it so: none is copied.
    """
    difference = _difference(store, contents, base)
    if not _may_copy(recipe, base, difference, len(contents.nodes)):
        return None
    if Passport.from_json(base.record.passport).exact:
        return difference.size
    try:
        _copy_chroma(base.directory / CHROMA_FOLDER, place.directory / CHROMA_FOLDER)
        with open_chroma(place.directory / CHROMA_FOLDER) as index:
            index.store.delete_nodes(difference.removed)
            index.store.put(difference.added, arrays.vectors[arrays.positions(difference.added)])
            with stage(Stage.VERIFY):
                faults = index_faults(index.store, arrays, difference.added)
    except StoreError as error:  # Chroma's own database has no checksum
        faults = [str(error)]
    for fault in faults:
        progress.note(f"The copied vector index is built afresh: {fault}")
    return None if faults else difference.size


def _may_copy(recipe: Recipe, base: Base, difference: Difference, size: int) -> bool:
    passport = Passport.from_json(base.record.passport)
    return (
        passport.fingerprint == recipe.fingerprint
        and passport.chroma == recipe.chroma.model_dump()
        and (base.record.changed_since_fresh + difference.size) * 10 <= size
        and not damaged_files(base.directory, base.record.passport)
    )


def _difference(store: Store, contents: Contents, base: Base) -> Difference:
    once = Passport.from_json(base.record.passport).duplicates == "once"
    indexed = store.documents.indexed(base.versions) if once else base.versions
    before = {node.node_id: node.embedded_hash for node in store.nodes.of_versions(indexed)}
    after = {node.node_id: node.embedded_hash for node in contents.nodes}
    return Difference(
        removed=[node_id for node_id, digest in before.items() if after.get(node_id) != digest],
        added=[node_id for node_id, digest in after.items() if before.get(node_id) != digest],
    )


def _copy_chroma(source: Path, target: Path) -> None:
    """Copy HNSW files as files and Chroma's database by SQLite's own backup, never a journal."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("chroma.sqlite3*"))
    database = Database(source / "chroma.sqlite3", for_writing=False)
    try:
        database.backup_to(target / "chroma.sqlite3")
    finally:
        database.close()


def _passport(place: Place, contents: Contents, recipe: Recipe, *, exact: bool) -> Passport:
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
