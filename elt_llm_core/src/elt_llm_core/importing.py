"""Importing an exported collection: all of it is checked before any of it is stored."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from elt_llm_core.collection import Published, drop, publish
from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.exchange import KEY_BYTES, KEYS, VECTORS, ExchangedDocument
from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.fingerprint import EmbeddingFingerprint
from elt_llm_core.index.builder import Recipe
from elt_llm_core.index.contents import collection_hash, read_contents
from elt_llm_core.outline import Section
from elt_llm_core.package import Package
from elt_llm_core.progress import Progress
from elt_llm_core.settings import ChromaSettings
from elt_llm_core.store.collections import check_collection_name
from elt_llm_core.store.forgotten import ForgottenDocument
from elt_llm_core.store.records import NewDocument, NewNode, document_id, sha256
from elt_llm_core.store.space import generation_size, require_space
from elt_llm_core.store.store import Store
from elt_llm_core.text.stems import LANGUAGES, KeywordTokeniser
from elt_llm_core.unsound_rows import UNIT_TOLERANCE

COMMAND = "elt-llm import"
_VECTORS_AT_ONCE = 1000


@dataclass
class _Seen:
    """What a pass over the documents has met so far."""

    documents: dict[str, bool] = field(default_factory=dict)  # ids in the order of lines: whether it is a whole file
    nodes: set[str] = field(default_factory=set)
    embedded: set[bytes] = field(default_factory=set)


def import_collection(store: Store, source: Path, progress: Progress) -> Published:
    """Store and publish what `source` has, under the name it was exported with.

    The caller holds the writer's lock. A crash at any moment is mended by repeating it. Raises ImportRefused, having
    stored nothing, if anything in the file is not as it should be; UsageError if there is such a collection already.
    """
    with Package(source) as package:
        name = check_collection_name(package.manifest.collection)
        if (done := _finished(store, name, package.manifest.collection_hash)) is not None:
            return done
        recipe = _recipe(package)
        with stage(Stage.IMPORT):
            _check(package)
            unpacked = sum(member.size for member in package.manifest.members.values())
            size = unpacked + generation_size(package.manifest.nodes, recipe.fingerprint.dimension)
            require_space(store.data_dir, 2 * size, f"the import of '{name}'")
        with stage(Stage.IMPORT), store.database.transaction():
            versions = _insert(store, package, recipe)
        forgotten = [
            ForgottenDocument(it.document_id, bytes.fromhex(it.content_hash), bytes.fromhex(it.name))
            for it in package.manifest.forgotten
        ]
    store.forgotten.add(store.collections.get(name).id, forgotten)
    with stage(Stage.IMPORT):
        published = publish(store, name, versions, recipe, progress)
    store.collections.finish_run(store.collections.get(name).id, "{}")
    return published


def _finished(store: Store, name: str, digest: str) -> Published | None:
    """What an import published that was cut off just then; one that had not come so far is cleared away."""
    record = store.collections.find(name)
    if record is None:
        return None
    last = store.collections.last_run(record.id)
    if last is None or last.finished_at or last.command != COMMAND:
        raise UsageError(
            f"There is a collection '{name}' already.", hint=f"Nothing was imported. To replace it: elt-llm drop {name}"
        )
    row = store.generations.get(record.id, record.published) if record.published is not None else None
    if row is None or row.collection_hash.hex() != digest:
        drop(store, name)
        return None
    store.collections.finish_run(record.id, "{}")
    return Published(name, row.number, row.documents, row.nodes, digest, afresh=True)


def _recipe(package: Package) -> Recipe:
    manifest = package.manifest
    try:
        chroma = ChromaSettings.model_validate(manifest.chroma)
    except ValidationError as error:
        raise package.refuse("its index settings are not valid") from error
    if manifest.language not in LANGUAGES:
        raise package.refuse(f"its language '{manifest.language}' is not known")
    fingerprint = EmbeddingFingerprint(**manifest.fingerprint.model_dump())
    return Recipe(fingerprint, manifest.chunker, KeywordTokeniser(manifest.language), chroma)


def _check(package: Package) -> None:
    """Go through everything without storing it."""
    manifest, seen = package.manifest, _Seen()
    for _ in _documents(package, seen):
        pass
    if len(seen.documents) != manifest.documents:
        raise package.refuse(f"it has {len(seen.documents)} documents, not {manifest.documents}")
    if len(seen.nodes) < manifest.nodes:
        raise package.refuse(f"it has {len(seen.nodes)} passages, not {manifest.nodes}")
    for keys, _ in _vectors(package):
        if not seen.embedded.issuperset(keys):
            raise package.refuse("a vector is of no passage")


def _documents(package: Package, seen: _Seen) -> Iterator[tuple[ExchangedDocument, NewDocument]]:
    """Each line as it is and as it will be stored, checked."""
    for number, line in enumerate(package.lines()):
        value = package.parse(ExchangedDocument, line, f"document {number}")
        if fault := _fault(value, package, seen):
            raise package.refuse(f"document {number}: {fault}")
        document = _new_document(value)
        seen.documents[value.document_id] = value.part_of is None
        seen.nodes.update(node.node_id for node in document.nodes)
        seen.embedded.update(sha256(node.embedded_text) for node in document.nodes)
        yield value, document


def _fault(value: ExchangedDocument, package: Package, seen: _Seen) -> str:
    """What is wrong with a document that has the right shape; empty if nothing."""
    manifest, length = package.manifest, len(value.text)
    ids = [node.node_id for node in value.nodes]
    whole = list(seen.documents.values())
    checks = {
        "its id is not that of its place": value.document_id
        == document_id(manifest.collection, value.root, value.path),
        "its folder is not in the manifest": value.root in manifest.roots,
        "it comes twice": value.document_id not in seen.documents,
        "a passage comes twice": len(set(ids)) == len(ids) and not seen.nodes.intersection(ids),
        "a passage is not within its text": all(0 <= it.start < it.end <= length for it in value.nodes),
        "a page or section is not within its text": max([0, *value.pages, *(it[0] for it in value.sections)]) <= length,
        "it is part of what is no file": value.part_of is None or (value.part_of < len(whole) and whole[value.part_of]),
        "it has a part's name or file alone": (value.part_of is None) or bool(value.part),
        "an artefact is no plain JSON": _is_finite(value.artefacts),
    }
    return next((fault for fault, holds in checks.items() if not holds), "")


def _is_finite(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _new_document(value: ExchangedDocument) -> NewDocument:
    nodes = tuple(
        NewNode(
            node_id=node.node_id,
            start=node.start,
            end=node.end,
            text=value.text[node.start : node.end],
            context=node.context,
            page=node.page,
            section=node.section,
            metadata=node.metadata,
            stems=node.stems,
        )
        for node in value.nodes
    )
    taken = value.model_dump(exclude={"part_of", "created_at", "content_hash", "sections", "nodes"})
    return NewDocument(
        **taken,
        content_hash=bytes.fromhex(value.content_hash),
        sections=tuple(Section(*section) for section in value.sections),
        nodes=nodes,
    )


def _vectors(package: Package) -> Iterator[tuple[list[bytes], NDArray[np.float32]]]:
    """Keys, ascending, and vectors, shape (n, dimension), finite and of length 1, some at a time."""
    dimension, last = package.manifest.fingerprint.dimension, b""
    keys = package.pieces(KEYS, KEY_BYTES * _VECTORS_AT_ONCE)
    rows = package.pieces(VECTORS, 4 * dimension * _VECTORS_AT_ONCE)
    sizes = (package.manifest.members[KEYS].size, package.manifest.members[VECTORS].size)
    if sizes != (package.manifest.vectors * KEY_BYTES, package.manifest.vectors * 4 * dimension):
        raise package.refuse("its vectors are not as many, or not as long, as the manifest says")
    for piece, row in zip(keys, rows, strict=True):
        found = [piece[start : start + KEY_BYTES] for start in range(0, len(piece), KEY_BYTES)]
        matrix = np.frombuffer(row, dtype="<f4").reshape(len(found), dimension).astype(np.float32, copy=False)
        if any(first >= second for first, second in zip([last, *found], found, strict=False)):
            raise package.refuse(f"{KEYS} is not in order")
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(matrix, axis=1)
        if not np.all(np.abs(lengths - 1) <= UNIT_TOLERANCE):
            raise package.refuse("a vector is not of length 1")
        last = found[-1]
        yield found, matrix


def _insert(store: Store, package: Package, recipe: Recipe) -> list[int]:
    """Everything, within one transaction; the file is checked once more, for it may have changed since."""
    record = store.collections.create(package.manifest.collection)
    store.collections.begin_run(record.id, COMMAND)
    versions: list[int] = []
    for value, document in _documents(package, _Seen()):
        file = versions[value.part_of] if value.part_of is not None else None
        versions.append(store.documents.add_within(record.id, document, file, value.created_at))
    for keys, matrix in _vectors(package):
        store.vectors.add_within(recipe.fingerprint.key, keys, matrix)
    try:
        contents = read_contents(store, versions, recipe.fingerprint)
    except StoreError as error:
        raise package.refuse("a passage has no vector") from error
    if collection_hash(store, contents).hex() != package.manifest.collection_hash:
        raise package.refuse("what it holds has another hash than the manifest says")
    return versions
