"""Import an exported collection. The whole file is checked before anything is stored."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from elt_llm_core.collection.export_format import (
    KEY_BYTES,
    KEYS,
    VECTORS,
    ExportedDocument,
    ExportManifest,
    ExportPackage,
)
from elt_llm_core.collection.lifecycle import PublishedGeneration, drop, publish
from elt_llm_core.collection.verification import UNIT_TOLERANCE
from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.index.builder import GenerationRecipe
from elt_llm_core.index.contents import collection_hash, read_contents
from elt_llm_core.index.passport import Passport
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.tree import GRAPH_FROM, ChromaSettings, IndexSettings
from elt_llm_core.store.collections import check_collection_name
from elt_llm_core.store.disk import generation_size, require_space
from elt_llm_core.store.records import CollectionRecord, GenerationRecord, NewDocument, NewNode, document_id, sha256
from elt_llm_core.store.store import Store
from elt_llm_core.text.languages import languages
from elt_llm_core.text.outline import Section
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import Failpoint, failpoint

IMPORT_COMMAND = "elt-llm import"
_VECTOR_BATCH = 1000  # vectors read at a time


@dataclass
class _CheckedContents:
    """The ids of documents and nodes, and the hashes of embedded texts, that have been checked so far."""

    documents: dict[str, bool] = field(default_factory=dict)
    """Whether each document is a whole file, by document id, in the order of the lines."""
    nodes: set[str] = field(default_factory=set)
    embedded: set[bytes] = field(default_factory=set)


def import_collection(
    store: Store,
    source: Path,
    progress: ProgressListener,
    index: IndexSettings | None = None,
    graph_from: int = GRAPH_FROM,
) -> PublishedGeneration:
    """Store and publish the collection in `source` under its exported name.

    The caller must hold the writer's lock. `index` and `graph_from` choose the vector index. After a crash, the import
    can be repeated. Raises ImportRefused if the file is invalid, in which case nothing is stored. Raises UsageError if
    the collection already exists.
    """
    with ExportPackage(source) as package:
        name = check_collection_name(package.manifest.collection)
        if (done := _finished_import(store, name, package.manifest)) is not None:
            return done
        recipe = replace(_package_recipe(package), index=index or IndexSettings(), graph_from=graph_from)
        with failpoint(Failpoint.IMPORT):
            _check_package(package)
            unpacked = sum(member.size for member in package.manifest.members.values())
            size = unpacked + generation_size(package.manifest.nodes, recipe.fingerprint.dimension)
            require_space(store.data_dir, 2 * size, f"the import of '{name}'")
        with failpoint(Failpoint.IMPORT), store.database.transaction():
            versions = _insert_package(store, package, recipe)
        forgotten = package.manifest.forgotten
    store.forgotten.add(store.collections.get(name).id, forgotten)
    with failpoint(Failpoint.IMPORT):
        published = publish(store, name, versions, recipe, progress)
    store.collections.finish_run(store.collections.get(name).id, "{}")
    return published


def _finished_import(store: Store, name: str, manifest: ExportManifest) -> PublishedGeneration | None:
    """Finish an interrupted import. Return its generation, or delete its rows and return None if none was published."""
    record = store.collections.find(name)
    if record is None:
        return None
    last = store.collections.last_run(record.id)
    if last is None or last.finished_at or last.command != IMPORT_COMMAND:
        hint = f"To replace it: elt-llm drop {name}. To keep both: elt-llm --data-dir DIR import FILE"
        raise UsageError(f"There is already a collection '{name}'.", hint=hint)
    row = store.generations.get(record.id, record.published) if record.published is not None else None
    if row is None or not _is_import_of(store, record, row, manifest):
        drop(store, name)
        return None
    store.collections.finish_run(record.id, "{}")
    return PublishedGeneration(name, row.number, row.documents, row.nodes, row.collection_hash.hex(), afresh=True)


def _is_import_of(store: Store, record: CollectionRecord, row: GenerationRecord, manifest: ExportManifest) -> bool:
    """Return whether a generation has the same contents as an export file."""
    versions = store.generations.versions(record.id, row.number)
    contents = read_contents(store, versions, Passport.from_json(row.passport).fingerprint)
    return collection_hash(store, contents, manifest.hashing).hex() == manifest.collection_hash


def _package_recipe(package: ExportPackage) -> GenerationRecipe:
    manifest = package.manifest
    try:
        chroma = ChromaSettings.model_validate(manifest.chroma)
    except ValidationError as error:
        raise package.refuse("its index settings are not valid") from error
    if manifest.language not in languages():
        raise package.refuse(f"its language '{manifest.language}' is not known")
    return GenerationRecipe(manifest.fingerprint, manifest.chunker, KeywordTokeniser(manifest.language), chroma)


def _check_package(package: ExportPackage) -> None:
    manifest, seen = package.manifest, _CheckedContents()
    for _ in _check_documents(package, seen):
        pass
    if len(seen.documents) != manifest.documents:
        raise package.refuse(f"it has {len(seen.documents)} documents, but its manifest has {manifest.documents}")
    if len(seen.nodes) < manifest.nodes:
        raise package.refuse(f"it has {len(seen.nodes)} chunks, but its manifest has {manifest.nodes}")
    for keys, _ in _vector_batches(package):
        if not seen.embedded.issuperset(keys):
            raise package.refuse("a vector does not belong to any chunk")


def _check_documents(package: ExportPackage, seen: _CheckedContents) -> Iterator[tuple[ExportedDocument, NewDocument]]:
    """Check each line of the file's documents. Yield the parsed line with the document to store."""
    for number, line in enumerate(package.lines()):
        value = package.parse(ExportedDocument, line, f"document {number}")
        if fault := _document_fault(value, package, seen):
            raise package.refuse(f"document {number} is not valid: {fault}")
        document = NewDocument(
            **value.model_dump(exclude={"part_of", "created_at", "content_hash", "sections", "nodes"}),
            content_hash=bytes.fromhex(value.content_hash),
            sections=tuple(Section(*section) for section in value.sections),
            nodes=tuple(NewNode(**node.model_dump(), text=value.text[node.start : node.end]) for node in value.nodes),
        )
        seen.documents[value.document_id] = value.part_of is None
        seen.nodes.update(node.node_id for node in document.nodes)
        seen.embedded.update(sha256(node.embedded_text) for node in document.nodes)
        yield value, document


def _document_fault(value: ExportedDocument, package: ExportPackage, seen: _CheckedContents) -> str:
    """Return the first fault of a parsed document, or an empty string."""
    manifest, length = package.manifest, len(value.text)
    ids = [node.node_id for node in value.nodes]
    whole = list(seen.documents.values())
    checks = {
        "its id does not match its path": value.document_id == document_id(manifest.collection, value.root, value.path),
        "its folder is not in the manifest": value.root in manifest.roots,
        "it appears twice": value.document_id not in seen.documents,
        "a chunk appears twice": len(set(ids)) == len(ids) and not seen.nodes.intersection(ids),
        "a chunk is outside its text": all(0 <= it.start < it.end <= length for it in value.nodes),
        "a page or section is outside its text": max([0, *value.pages, *(it[0] for it in value.sections)]) <= length,
        "it is part of a document that is not a file": value.part_of is None
        or (value.part_of < len(whole) and whole[value.part_of]),
        "it is a part of a file but has no part name": (value.part_of is None) or bool(value.part),
    }
    try:
        json.dumps(value.artefacts, allow_nan=False)
    except ValueError:
        checks["an artefact is not plain JSON"] = False
    return next((fault for fault, holds in checks.items() if not holds), "")


def _vector_batches(package: ExportPackage) -> Iterator[tuple[list[bytes], NDArray[np.float32]]]:
    """Yield batches of keys (hashes of embedded texts), ascending, with their unit vectors, shape (n, dimension)."""
    dimension, last = package.manifest.fingerprint.dimension, b""
    keys = package.pieces(KEYS, KEY_BYTES * _VECTOR_BATCH)
    rows = package.pieces(VECTORS, 4 * dimension * _VECTOR_BATCH)
    sizes = (package.manifest.members[KEYS].size, package.manifest.members[VECTORS].size)
    if sizes != (package.manifest.vectors * KEY_BYTES, package.manifest.vectors * 4 * dimension):
        raise package.refuse("the number or the length of its vectors does not match the manifest")
    for piece, row in zip(keys, rows, strict=True):
        found = [piece[start : start + KEY_BYTES] for start in range(0, len(piece), KEY_BYTES)]
        matrix = np.frombuffer(row, dtype="<f4").reshape(len(found), dimension).astype(np.float32, copy=False)
        if any(first >= second for first, second in zip([last, *found], found, strict=False)):
            raise package.refuse(f"the keys in {KEYS} are not in ascending order")
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(matrix, axis=1)
        if not np.all(np.abs(lengths - 1) <= UNIT_TOLERANCE):
            raise package.refuse("a vector is not normalised")
        last = found[-1]
        yield found, matrix


def _insert_package(store: Store, package: ExportPackage, recipe: GenerationRecipe) -> list[int]:
    """Insert the documents and vectors, and return the versions. The file may have changed, so it is checked again."""
    record = store.collections.create(package.manifest.collection)
    store.collections.begin_run(record.id, IMPORT_COMMAND)
    versions: list[int] = []
    for value, document in _check_documents(package, _CheckedContents()):
        file = versions[value.part_of] if value.part_of is not None else None
        versions.append(store.documents.add_within(record.id, document, file, value.created_at))
    for keys, matrix in _vector_batches(package):
        store.vectors.add_within(recipe.fingerprint.key, keys, matrix)
    try:
        contents = read_contents(store, versions, recipe.fingerprint)
    except StoreError as error:
        raise package.refuse("a chunk has no vector") from error
    if collection_hash(store, contents, package.manifest.hashing).hex() != package.manifest.collection_hash:
        raise package.refuse("its contents do not match the hash in the manifest")
    return versions
