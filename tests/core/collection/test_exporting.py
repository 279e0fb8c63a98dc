"""An imported collection equals the exported one, and a forged export file is refused."""

import json
import struct
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elt_llm_core.collection.export_format import DOCUMENTS, KEYS, MANIFEST, VECTORS
from elt_llm_core.collection.exporting import export_collection
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.importing import import_collection
from elt_llm_core.collection.lifecycle import open_generation, publish
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import EltError, ImportRefused, UsageError
from elt_llm_core.index.contents import collection_hash, read_contents
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.store.records import NewDocument
from elt_llm_core.store.store import Store, open_store
from llama_index.core.vector_stores.types import VectorStoreQuery
from stored.shelf import COLLECTION, new_document, put, recipe_of, some_documents, stored_versions, writing

QUESTIONS = [f"entry {number} {word}" for number in range(10) for word in ("anchor", "reef and tide", "ferry")]


def _answers(store: Store) -> list[Any]:
    model = FakeEmbedding()
    with open_generation(store, COLLECTION, model.fingerprint) as generation:
        found: list[Any] = [generation.ids, generation.notes, [vars(it) for it in generation.nodes(generation.ids)]]
        for question in QUESTIONS:
            query = VectorStoreQuery(query_embedding=model.embed_question(question).tolist(), similarity_top_k=10)
            found.append(generation.vector_store.query(query).similarities)
            found.append(generation.keyword.scores(question).tobytes())
        return found


@pytest.fixture
def exported(store: Store, tmp_path: Path) -> Path:
    put(store, {"z.md": some_documents(1)["page-000.md"], **some_documents(10)})
    export_collection(store, COLLECTION, tmp_path / "library.zip")
    return tmp_path / "library.zip"


def test_an_imported_copy_of_a_collection_has_the_same_hash_and_gives_the_same_answers(
    store: Store, exported: Path, tmp_path: Path
) -> None:
    with writing(tmp_path / "elsewhere") as other:
        published = import_collection(other, exported, SilentListener())
        record = store.collections.get(COLLECTION)
        row = store.generations.get(record.id, record.published or 0)
        assert (published.collection_hash, published.documents) == (row.collection_hash.hex(), 11)
        assert _answers(other) == _answers(store)
        assert verify_collection(other, COLLECTION, deep=True).damage == ()
        assert other.collections.unfinished_runs() == []
        again = export_collection(other, COLLECTION, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == exported.read_bytes()
    assert again.sha256 == sha256(exported.read_bytes()).hexdigest()


def test_an_export_includes_artefacts_sections_and_the_documents_within_a_file(store: Store, tmp_path: Path) -> None:
    embedding = FakeEmbedding()
    record = store.collections.create(COLLECTION)
    whole = NewDocument(
        **{**vars(new_document("model.xml", ["The whole."])), "artefacts": {"model": {"a": [1, None, "é"]}}}
    )
    part = NewDocument(**{**vars(new_document("model.xml#one", ["One part."])), "part": "one", "modified_at": None})
    version = store.documents.add(record.id, whole, [part])
    versions = [*stored_versions(store, some_documents(2), embedding), *store.documents.with_parts([version])]
    wanted = store.nodes.to_embed(versions)
    store.vectors.add(embedding.fingerprint.key, list(wanted), embedding.embed_texts(list(wanted.values())))
    publish(store, COLLECTION, versions, recipe_of(embedding), SilentListener())
    export_collection(store, COLLECTION, tmp_path / "library.zip")
    with writing(tmp_path / "elsewhere") as other:
        import_collection(other, tmp_path / "library.zip", SilentListener())
        assert _answers(other) == _answers(store)
        with open_generation(other, COLLECTION) as generation:
            [value] = generation.artefacts("model").values()
            assert value == {"a": [1, None, "é"]}
            assert [it.part for it in generation.documents()] == ["", "one", "", ""]


def test_forgotten_documents_stay_forgotten_in_an_imported_copy(store: Store, tmp_path: Path) -> None:
    put(store, some_documents(3))
    forget(store, COLLECTION, "page-001.md", SilentListener())
    export_collection(store, COLLECTION, tmp_path / "library.zip")
    with writing(tmp_path / "elsewhere") as other:
        import_collection(other, tmp_path / "library.zip", SilentListener())
        remembered = other.forgotten.all(other.collections.get(COLLECTION).id)
        assert remembered == store.forgotten.all(store.collections.get(COLLECTION).id)
        assert len(remembered.document_ids) == 1


def test_an_empty_collection_can_be_exported_and_imported(store: Store, tmp_path: Path) -> None:
    put(store, {})
    export_collection(store, COLLECTION, tmp_path / "empty.zip")
    with writing(tmp_path / "elsewhere") as other:
        assert import_collection(other, tmp_path / "empty.zip", SilentListener()).nodes == 0


def test_an_export_replaces_an_existing_file_only_with_force(store: Store, exported: Path) -> None:
    exported.write_bytes(b"mine")
    with pytest.raises(UsageError, match="exists already"):
        export_collection(store, COLLECTION, exported)
    assert exported.read_bytes() == b"mine"
    export_collection(store, COLLECTION, exported, force=True)
    assert zipfile.is_zipfile(exported)
    assert [path.name for path in exported.parent.glob("*.zip*")] == [exported.name]
    assert list(exported.parent.glob(".*unfinished")) == []


def test_an_import_never_replaces_an_existing_collection(store: Store, exported: Path) -> None:
    before = store.database.rows("SELECT id FROM document_versions")
    with pytest.raises(UsageError, match="already") as refused:
        import_collection(store, exported, SilentListener())
    assert "To keep both: elt-llm --data-dir DIR import FILE" in refused.value.hint
    assert store.database.rows("SELECT id FROM document_versions") == before


def test_an_export_contains_no_path_of_this_machine(store: Store, tmp_path: Path) -> None:
    put(store, some_documents(2))
    secret = tmp_path / "a-telling-folder"
    store.collections.record_root(store.collections.get(COLLECTION).id, "shelf", secret, whole=True)
    export_collection(store, COLLECTION, tmp_path / "library.zip")
    with zipfile.ZipFile(tmp_path / "library.zip") as package:
        content = b"".join(package.read(name) for name in package.namelist())
    assert str(tmp_path).encode() not in content
    assert b"a-telling-folder" not in content


@dataclass
class Forged:
    """An export file that a test edits. Then `write` corrects sizes and hashes in its manifest, unless `lie`."""

    members: dict[str, bytes]
    honest: bool = True
    extra: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def manifest(self) -> dict[str, Any]:
        return dict(json.loads(self.members[MANIFEST]))

    def lie(self) -> "Forged":
        self.honest = False
        return self

    def edit_manifest(self, **values: Any) -> None:
        self.members[MANIFEST] = json.dumps({**self.manifest, **values}).encode()

    def edit_document(self, change: Callable[[dict[str, Any]], Any]) -> None:
        *others, last = self.members[DOCUMENTS].splitlines(
            keepends=True
        )  # an identical copy of the first document is indexed instead
        value = json.loads(last)
        change(value)
        self.members[DOCUMENTS] = b"".join([*others, json.dumps(value).encode() + b"\n"])

    def write(self, path: Path) -> None:
        if self.honest:
            told = {
                name: {"size": len(content), "sha256": sha256(content).hexdigest()}
                for name, content in self.members.items()
                if name != MANIFEST
            }
            self.edit_manifest(members=told)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
            for name, content in [*self.members.items(), *self.extra]:
                package.writestr(name, content)


def test_an_export_of_format_version_1_is_imported_despite_its_different_hash_algorithm(
    store: Store, exported: Path, tmp_path: Path
) -> None:
    versions = store.generations.versions(store.collections.get(COLLECTION).id, 1)
    contents = read_contents(store, versions, FakeEmbedding().fingerprint)
    with zipfile.ZipFile(exported) as package:
        earlier = Forged({name: package.read(name) for name in package.namelist()})
    earlier.edit_manifest(version=1, collection_hash=collection_hash(store, contents, "whole").hex())
    earlier.write(tmp_path / "earlier.zip")
    with writing(tmp_path / "elsewhere") as other:
        import_collection(other, tmp_path / "earlier.zip", SilentListener())
        assert _answers(other) == _answers(store)


def _vectors(forged: Forged, value: float) -> None:
    row = np.frombuffer(forged.members[VECTORS], dtype="<f4").copy()
    row[3] = value
    forged.members[VECTORS] = row.tobytes()


def _remove_a_vector(forged: Forged) -> None:
    forged.members.update({KEYS: forged.members[KEYS][32:], VECTORS: forged.members[VECTORS][256:]})
    forged.edit_manifest(vectors=forged.manifest["vectors"] - 1)


def _set(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda document: document.update({name: value})


HOSTILE: dict[str, Callable[[Forged], Any]] = {
    "a member outside the folder": lambda it: it.extra.append(("../../evil", b"x")),
    "a member with an absolute path": lambda it: it.extra.append(("/etc/evil", b"x")),
    "a duplicate member": lambda it: it.extra.append((KEYS, it.members[KEYS])),
    "an additional member": lambda it: it.extra.append(("chroma/chroma.sqlite3", b"x")),
    "a missing member": lambda it: it.members.pop(KEYS),
    "no manifest": lambda it: it.lie().members.pop(MANIFEST),
    "another format": lambda it: it.edit_manifest(format="other"),
    "a later version": lambda it: it.edit_manifest(version=3),
    "an unknown field": lambda it: it.edit_manifest(run="rm"),
    "a huge count": lambda it: it.edit_manifest(documents=10**18, nodes=10**18, vectors=10**18),
    "more vectors in the manifest than in the file": lambda it: it.edit_manifest(vectors=10**12),
    "a dimension of 0": lambda it: it.edit_manifest(fingerprint={**it.manifest["fingerprint"], "dimension": 0}),
    "another dimension": lambda it: it.edit_manifest(fingerprint={**it.manifest["fingerprint"], "dimension": 32}),
    "another hash of a member": lambda it: it.lie().members.update({VECTORS: it.members[VECTORS][:-1] + b"\xff"}),
    "another collection hash": lambda it: it.edit_manifest(collection_hash="0" * 64),
    "a name that leaves the folder": lambda it: it.edit_manifest(collection="../../evil"),
    "another collection's name": lambda it: it.edit_manifest(collection="other"),
    "a forgotten file without a document id": lambda it: it.edit_manifest(
        forgotten=[{"document_id": "x", "content_hash": "", "name": ""}]
    ),
    "a forgotten file with a short hash": lambda it: it.edit_manifest(
        forgotten=[{"document_id": "0" * 32, "content_hash": "ab", "name": ""}]
    ),
    "an unknown language": lambda it: it.edit_manifest(language="../x"),
    "bad index settings": lambda it: it.edit_manifest(chroma={"space": "evil"}),
    "NaN in a vector": lambda it: _vectors(it, float("nan")),
    "an infinite vector": lambda it: _vectors(it, float("inf")),
    "a vector of length 9": lambda it: _vectors(it, 9.0),
    "keys out of order": lambda it: it.members.update(
        {KEYS: it.members[KEYS][32:64] + it.members[KEYS][:32] + it.members[KEYS][64:]}
    ),
    "a key without a chunk": lambda it: it.members.update({KEYS: bytes(32) + it.members[KEYS][32:]}),
    "a missing vector": _remove_a_vector,
    "another document's id": lambda it: it.edit_document(_set("document_id", "0" * 32)),
    "a path outside the root": lambda it: it.edit_document(_set("path", "../../etc/passwd")),
    "an absolute path": lambda it: it.edit_document(_set("path", "/etc/passwd")),
    "an unknown root": lambda it: it.edit_document(_set("root", "other")),
    "an artefact name with a path": lambda it: it.edit_document(_set("artefacts", {"../../evil": {}})),
    "NaN in an artefact": lambda it: it.edit_document(_set("artefacts", {"model": {"a": float("nan")}})),
    "a span beyond the text": lambda it: it.edit_document(lambda doc: doc["nodes"][0].update({"end": 10**9})),
    "a span that ends before its start": lambda it: it.edit_document(
        lambda doc: doc["nodes"][0].update({"start": 9, "end": 3})
    ),
    "a huge span": lambda it: it.edit_document(lambda doc: doc["nodes"][0].update({"end": 10**30})),
    "an invalid node id": lambda it: it.edit_document(lambda doc: doc["nodes"][0].update({"node_id": "x" * 36})),
    "a duplicate node": lambda it: it.edit_document(lambda doc: doc["nodes"].append(doc["nodes"][0])),
    "a page beyond the text": lambda it: it.edit_document(_set("pages", [10**9])),
    "a part of a missing file": lambda it: it.edit_document(_set("part_of", 70)),
    "an invalid creation time": lambda it: it.edit_document(_set("created_at", "yesterday")),
    "a number instead of text": lambda it: it.edit_document(_set("text", 7)),
    "a changed text": lambda it: it.edit_document(lambda doc: doc.update(text="X" + doc["text"][1:])),
    "deep nesting": lambda it: it.members.update({DOCUMENTS: b'{"artefacts":' + b"[" * 100_000 + b"\n"}),
    "invalid JSON": lambda it: it.members.update({DOCUMENTS: b"\x00\xff\n"}),
    "no documents": lambda it: it.members.update({DOCUMENTS: b""}),
    "a compression bomb": lambda it: it.members.update({DOCUMENTS: b" " * (40 << 20)}),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("what", HOSTILE)
def test_importing_a_hostile_file_is_refused_with_the_reason_and_stores_nothing(
    exported: Path, tmp_path: Path, what: str
) -> None:
    with zipfile.ZipFile(exported) as package:
        forged = Forged({name: package.read(name) for name in package.namelist()})
    HOSTILE[what](forged)
    path = tmp_path / "forged.zip"
    with warnings.catch_warnings(action="ignore"):  # zipfile warns of the duplicate member
        forged.write(path)
    _is_refused(path, tmp_path / "elsewhere")


def _is_refused(path: Path, data_dir: Path) -> None:
    with writing(data_dir) as other:
        with pytest.raises(EltError) as caught:
            import_collection(other, path, SilentListener())
        assert isinstance(caught.value, ImportRefused | UsageError)
        assert caught.value.hint
        for table in ("collections", "document_versions", "texts", "vectors", "nodes"):
            assert other.database.rows(f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608 - a name from here
    assert sorted(it.name for it in data_dir.iterdir() if not it.name.startswith("store.sqlite3")) == ["lock"]


@pytest.mark.parametrize("place", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_truncated_or_altered_export_file_is_refused(exported: Path, tmp_path: Path, place: float) -> None:
    content = exported.read_bytes()
    middle = int(len(content) * place)
    for number, harmed in enumerate((content[:middle], content[:middle] + bytes(64) + content[middle + 64 :])):
        path = tmp_path / f"harmed-{number}.zip"
        path.write_bytes(harmed)
        _is_refused(path, tmp_path / f"elsewhere-{number}")


def test_an_archive_of_a_million_members_is_refused_before_its_members_are_read(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    path.write_bytes(bytes(1 << 20) + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, 1 << 20, 0, 0))
    _is_refused(path, tmp_path / "elsewhere")


def test_an_import_path_that_is_not_a_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.zip"):
        with writing(tmp_path / "data") as store, pytest.raises(ImportRefused):
            import_collection(store, path, SilentListener())


def test_an_unpublished_collection_cannot_be_exported(store: Store, tmp_path: Path) -> None:
    store.collections.create(COLLECTION)
    with pytest.raises(UsageError, match="nothing to export"):
        export_collection(store, COLLECTION, tmp_path / "library.zip")


def test_a_collection_can_be_exported_without_the_writer_lock(store: Store, tmp_path: Path) -> None:
    put(store, some_documents(2))
    with open_store(store.workspace) as reader:
        assert export_collection(reader, COLLECTION, tmp_path / "library.zip").nodes == 8
