"""Export the published generation of a collection as one file that any machine can import."""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

from elt_llm_core.collection.export_format import DOCUMENTS, FORMAT, FORMAT_VERSION, KEYS, MANIFEST, VECTORS
from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.index.contents import GenerationContents, collection_hash, read_contents
from elt_llm_core.index.passport import Passport
from elt_llm_core.store.disk import require_space, sync_file
from elt_llm_core.store.documents import read_version
from elt_llm_core.store.generations import pin_published
from elt_llm_core.store.records import CollectionRecord, canonical_json
from elt_llm_core.store.store import Store
from elt_llm_core.utilities import Failpoint, failpoint

_VECTOR_BATCH = 1000
_ZIP_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # a constant, so that equal contents give equal files
_EXTRA_BYTES = 1 << 20


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
    """Write the published generation to `target` atomically. The caller needs no lock.

    Raises UsageError if nothing is published, or if `target` exists and `force` is not set. Raises StoreError if the
    disk is full.
    """
    _refuse_existing(target, force=force)
    record = store.collections.get(name)
    pin = pin_published(store.folder(name), lambda: store.generations.pointer(record.id))
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
    with target.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    counts = {key: manifest[key] for key in ("documents", "nodes", "collection_hash")}
    return ExportReport(collection=name, file=str(target), size=target.stat().st_size, sha256=digest, **counts)


def _refuse_existing(target: Path, *, force: bool) -> None:
    if target.exists() and not force:
        raise UsageError(f"{target} exists already.", hint="Choose another file name, or add --force")


def _write_archive(store: Store, record: CollectionRecord, number: int, path: Path) -> dict[str, Any]:
    passport = Passport.from_json(store.generations.get(record.id, number).passport)
    contents = read_contents(store, store.generations.versions(record.id, number), passport.fingerprint)
    require_space(
        path.parent, contents.vectors.nbytes + _content_size(store, contents.versions) + _EXTRA_BYTES, "the export"
    )
    path.unlink(missing_ok=True)  # an interrupted export may have left this file
    keys = sorted({node.embedded_hash for node in contents.nodes})
    members: dict[str, dict[str, Any]] = {}
    with path.open("xb") as stream, zipfile.ZipFile(stream, "w") as package:
        members[DOCUMENTS] = _write_member(package, DOCUMENTS, _document_lines(store, contents), zipfile.ZIP_DEFLATED)
        members[KEYS] = _write_member(package, KEYS, keys, zipfile.ZIP_STORED)
        members[VECTORS] = _write_member(package, VECTORS, _vector_bytes(store, passport, keys), zipfile.ZIP_STORED)
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
    lines: dict[int, int] = {}
    for number, version in enumerate(_export_order(store, contents.versions)):
        values = _document_values(store, version, lines)
        lines[version] = number
        yield json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _export_order(store: Store, versions: Sequence[int]) -> list[int]:
    """Return the versions in storage order, each file before its parts. An import stores the versions in this order."""
    wanted = set(versions)
    rows = store.database.rows("SELECT id, part_of FROM document_versions ORDER BY id")
    chosen = [(int(version), part_of) for version, part_of in rows if version in wanted]
    return [version for version, _ in sorted(chosen, key=lambda row: (row[1] in wanted, row[0]))]


def _document_values(store: Store, version: int, lines: dict[int, int]) -> dict[str, Any]:
    """Return one document version as plain values. `lines` maps each exported version to its line number."""
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


def _vector_bytes(store: Store, passport: Passport, keys: list[bytes]) -> Iterator[bytes]:
    model = passport.fingerprint
    for start in range(0, len(keys), _VECTOR_BATCH):
        matrix = store.vectors.matrix(model.key, keys[start : start + _VECTOR_BATCH], model.dimension)
        yield matrix.astype("<f4").tobytes()


def _manifest(store: Store, passport: Passport, contents: GenerationContents) -> dict[str, Any]:
    wanted = set(contents.versions)
    rows = store.database.rows("SELECT id, root FROM document_versions")
    roots = {str(root) for version, root in rows if version in wanted}
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
        "roots": sorted(roots),
        "documents": len(contents.versions),
        "nodes": len(contents.nodes),
        "forgotten": [
            {"document_id": it.document_id, "content_hash": it.content_hash.hex(), "name": it.name.hex()}
            for it in store.forgotten.listed(store.collections.get(passport.collection).id)
        ],
    }


def _content_size(store: Store, versions: Sequence[int]) -> int:
    wanted = set(versions)
    rows = store.database.rows("SELECT v.id, length(t.text) FROM document_versions v JOIN texts t ON t.id = v.text")
    return sum(int(length) for version, length in rows if version in wanted)
