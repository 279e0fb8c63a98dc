"""Export a collection's published generation as one file that any machine can import."""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

from elt_llm_core.collection.export_format import DOCUMENTS, FORMAT, FORMAT_VERSION, KEYS, MANIFEST, VECTORS
from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.index.contents import GenerationContents, collection_hash, read_contents
from elt_llm_core.index.passport import Passport
from elt_llm_core.store.disk import file_sha256, require_space, sync_file
from elt_llm_core.store.documents import read_version
from elt_llm_core.store.records import CollectionRecord, canonical_json
from elt_llm_core.store.store import Store
from elt_llm_core.utilities import Failpoint, failpoint

_VECTOR_BATCH = 1000  # vectors read at a time
_ZIP_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # a constant, so that equal contents give equal files
_EXTRA_BYTES = 1 << 20  # for everything except texts and vectors


@dataclass(frozen=True)
class ExportReport:
    """The result of an export. `sha256` is the hash of the whole file."""

    collection: str
    file: str
    size: int
    sha256: str
    documents: int
    nodes: int
    collection_hash: str


def export_collection(store: Store, name: str, target: Path, *, force: bool = False) -> ExportReport:
    """Write the published generation to `target` atomically. No lock is needed.

    Raises UsageError if nothing is published or if `target` exists without `force`, and StoreError if the disk is full.
    """
    _refuse_existing(target, force=force)
    record = store.collections.get(name)
    pin = store.pin_published(record)
    if pin is None:
        raise UsageError(f"Collection '{name}' is empty: there is nothing to export.", hint="Run: elt-llm status")
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        with failpoint(Failpoint.EXPORT):
            manifest = _write_archive(store, record, pin.number, unfinished)
            sync_file(unfinished)
        with failpoint(Failpoint.EXPORT):
            _refuse_existing(target, force=force)
            unfinished.replace(target)
            sync_file(target.parent)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error}.", hint="Choose another folder.") from error
    finally:
        pin.release()
        unfinished.unlink(missing_ok=True)
    digest = file_sha256(target)
    counts = {key: manifest[key] for key in ("documents", "nodes", "collection_hash")}
    return ExportReport(collection=name, file=str(target), size=target.stat().st_size, sha256=digest, **counts)


def _refuse_existing(target: Path, *, force: bool) -> None:
    if target.exists() and not force:
        raise UsageError(f"{target} exists already.", hint="Choose another file name, or add --force")


def _write_archive(store: Store, record: CollectionRecord, number: int, path: Path) -> dict[str, Any]:
    passport = Passport.from_json(store.generations.get(record.id, number).passport)
    contents = read_contents(store, store.generations.versions(record.id, number), passport.fingerprint)
    lengths = store.database.rows_in(
        "SELECT length(t.text) FROM document_versions v JOIN texts t ON t.id = v.text WHERE v.id IN ({})",
        contents.versions,
    )
    size = contents.vectors.nbytes + sum(int(length) for (length,) in lengths)
    require_space(path.parent, size + _EXTRA_BYTES, "the export")
    path.unlink(missing_ok=True)  # an interrupted export may have left this file
    keys = sorted({node.embedded_hash for node in contents.nodes})
    members: dict[str, dict[str, Any]] = {}
    with path.open("xb") as stream, zipfile.ZipFile(stream, "w") as package:
        members[DOCUMENTS] = _write_member(package, DOCUMENTS, _document_lines(store, contents), zipfile.ZIP_DEFLATED)
        members[KEYS] = _write_member(package, KEYS, keys, zipfile.ZIP_STORED)
        model, starts = passport.fingerprint, range(0, len(keys), _VECTOR_BATCH)
        batches = (store.vectors.matrix(model.key, keys[it : it + _VECTOR_BATCH], model.dimension) for it in starts)
        vectors = (matrix.astype("<f4").tobytes() for matrix in batches)
        members[VECTORS] = _write_member(package, VECTORS, vectors, zipfile.ZIP_STORED)
        manifest = _manifest(store, passport, contents) | {"vectors": len(keys), "members": members}
        _write_member(package, MANIFEST, [canonical_json(manifest).encode()], zipfile.ZIP_DEFLATED)
    return manifest


def _write_member(package: zipfile.ZipFile, name: str, pieces: Iterable[bytes], compression: int) -> dict[str, Any]:
    info = zipfile.ZipInfo(name, _ZIP_TIMESTAMP)
    info.compress_type, info.external_attr = compression, 0o600 << 16
    digest, size = hashlib.sha256(), 0
    with package.open(info, "w", force_zip64=True) as member:
        for piece in pieces:
            member.write(piece)
            digest.update(piece)
            size += len(piece)
    return {"size": size, "sha256": digest.hexdigest()}


def _document_lines(store: Store, contents: GenerationContents) -> Iterator[bytes]:
    wanted = set(contents.versions)
    # Import stores the versions in this order: all files by id, then all parts by id.
    rows = store.database.rows_in("SELECT id, part_of FROM document_versions WHERE id IN ({})", contents.versions)
    ordered = sorted((part_of in wanted, int(version)) for version, part_of in rows)
    lines: dict[int, int] = {}
    for number, (_, version) in enumerate(ordered):
        values = _document_values(store, version, lines)
        lines[version] = number
        yield json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _document_values(store: Store, version: int, lines: dict[int, int]) -> dict[str, Any]:
    """Return a document version as plain values. `lines` has the line of each version already in the export."""
    document = read_version(store.database, version)
    [(part_of, created_at)] = store.database.rows(
        "SELECT part_of, created_at FROM document_versions WHERE id = ?", (version,)
    )
    return {
        **vars(document),
        "content_hash": document.content_hash.hex(),
        "sections": [astuple(section) for section in document.sections],
        "nodes": [{name: value for name, value in vars(node).items() if name != "text"} for node in document.nodes],
        "part_of": lines.get(part_of),
        "created_at": created_at,
    }


def _manifest(store: Store, passport: Passport, contents: GenerationContents) -> dict[str, Any]:
    roots = store.database.rows_in("SELECT DISTINCT root FROM document_versions WHERE id IN ({})", contents.versions)
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "collection": passport.collection,
        "collection_hash": collection_hash(store, contents).hex(),
        "fingerprint": asdict(passport.fingerprint),
        "chunker": passport.chunker,
        "language": passport.language,
        "chroma": passport.chroma,
        "library_versions": passport.library_versions,
        "roots": sorted({str(root) for (root,) in roots}),
        "documents": len(contents.versions),
        "nodes": len(contents.nodes),
        "forgotten": [
            {"document_id": it.document_id, "content_hash": it.content_hash.hex(), "name": it.name.hex()}
            for it in store.forgotten.listed(store.collections.get(passport.collection).id)
        ],
    }
