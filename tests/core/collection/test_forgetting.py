"""A forgotten document is removed from every index, row, text and vector, and later ingests skip the document."""

import resource
from pathlib import Path

import pytest
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.lifecycle import collect_garbage, open_generation, publish, roll_back
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.store.forget_selection import select_to_forget
from elt_llm_core.store.records import NewDocument, document_id, sha256
from elt_llm_core.store.store import Store
from stored.shelf import COLLECTION, new_document, put, recipe_of, some_documents, stored_versions

pytestmark = pytest.mark.halved


SECRET = "page-003.md"


def _count(store: Store, table: str) -> int:
    return int(store.database.rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 - a name from below


def _sources(store: Store) -> list[str]:
    with open_generation(store, COLLECTION) as generation:
        return [document.source for document in generation.documents()]


def _identity(path: str) -> str:
    return document_id(COLLECTION, "shelf", path)


@pytest.mark.parametrize("reference", [SECRET, _identity(SECRET), "page-003"])
def test_a_document_can_be_named_by_id_path_or_title_and_is_forgotten_in_every_generation(
    store: Store, reference: str
) -> None:
    put(store, some_documents(10))
    put(store, some_documents(12))
    report = forget(store, COLLECTION, reference, SilentListener())
    assert (report.documents, report.chunks, report.generation) == ((SECRET,), 4, 3)
    assert (report.deleted_generations, report.pinned) == ((1, 2), ())
    assert SECRET not in _sources(store)
    assert len(_sources(store)) == 11
    assert (_count(store, "document_versions"), _count(store, "texts"), _count(store, "vectors")) == (11, 11, 44)
    assert [path.name for path in store.folder(COLLECTION).iterdir()] == ["3"]
    assert verify_collection(store, COLLECTION).damage == ()
    record = store.collections.get(COLLECTION)
    assert (record.published, record.previous) == (3, None)
    assert store.forgotten.all(record.id).document_ids == {_identity(SECRET)}


def test_forgetting_a_document_a_second_time_changes_nothing(store: Store) -> None:
    put(store, some_documents(5))
    forget(store, COLLECTION, SECRET, SilentListener())
    for reference in (SECRET, _identity(SECRET)):
        report = forget(store, COLLECTION, reference, SilentListener())
        assert (report.documents, report.generation, report.deleted_generations) == ((), 2, ())


def test_forgetting_a_document_also_forgets_documents_with_the_same_bytes(store: Store) -> None:
    texts = some_documents(1)["page-000.md"]
    put(store, {**some_documents(3), "copy.md": texts})
    chosen = select_to_forget(store, COLLECTION, "page-000.md")
    assert list(dict.fromkeys(file.path for file in chosen)) == ["copy.md", "page-000.md"]
    report = forget(store, COLLECTION, "page-000.md", SilentListener())
    assert report.documents == ("copy.md", "page-000.md")
    assert _sources(store) == ["page-001.md", "page-002.md"]
    assert _count(store, "vectors") == 8
    remembered = store.forgotten.all(store.collections.get(COLLECTION).id)
    assert remembered.covers("any", sha256("\n".join(texts)))


def test_forgetting_the_last_document_leaves_an_empty_collection(store: Store) -> None:
    put(store, some_documents(1))
    forget(store, COLLECTION, "page-000.md", SilentListener())
    assert _sources(store) == []
    assert _count(store, "vectors") == 0


def test_a_document_that_is_only_in_an_older_generation_can_be_forgotten(store: Store) -> None:
    put(store, some_documents(4))
    put(store, some_documents(2))
    report = forget(store, COLLECTION, SECRET, SilentListener())
    assert (report.generation, report.deleted_generations) == (2, (1,))
    assert store.forgotten.all(store.collections.get(COLLECTION).id).content_hashes == frozenset()


def test_if_a_document_cannot_be_removed_on_a_full_disk_the_error_states_that_it_is_recorded_as_forgotten(
    store: Store,
) -> None:
    put(store, some_documents(12))
    store.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(StoreError, match="recorded as forgotten, so the next ingest leaves it out"):
            forget(store, COLLECTION, SECRET, SilentListener())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert SECRET in _sources(store)
    assert store.forgotten.all(store.collections.get(COLLECTION).id).document_ids == {_identity(SECRET)}
    assert forget(store, COLLECTION, SECRET, SilentListener()).documents == (SECRET,)
    assert SECRET not in _sources(store)


def test_forgetting_keeps_documents_of_other_collections(store: Store) -> None:
    put(store, some_documents(4))
    put(store, some_documents(4), name="other")
    forget(store, COLLECTION, SECRET, SilentListener())
    assert _count(store, "vectors") == 16
    with open_generation(store, "other") as generation:
        assert generation.document(SECRET).text


def test_a_document_can_be_forgotten_during_an_unfinished_ingest(store: Store) -> None:
    put(store, some_documents(4))
    other = put(store, some_documents(1, first=50), name="other")
    store.collections.begin_run(store.collections.get(other.collection).id, "elt-llm ingest other")
    stored_versions(store, some_documents(2, first=60), FakeEmbedding(), name="other")
    forget(store, COLLECTION, SECRET, SilentListener())
    assert _count(store, "vectors") == 12 + 4 + 8
    assert _count(store, "document_versions") == 3 + 1 + 2


def test_a_document_stored_by_an_interrupted_ingest_can_be_forgotten(store: Store) -> None:
    put(store, some_documents(1))
    store.collections.begin_run(store.collections.get(COLLECTION).id, "elt-llm ingest")
    stored_versions(store, some_documents(5), FakeEmbedding())
    report = forget(store, COLLECTION, SECRET, SilentListener())
    assert (report.documents, report.generation) == ((SECRET,), 1)
    assert _count(store, "vectors") == 16


def test_an_open_generation_keeps_its_index_files_but_forgotten_texts_can_no_longer_be_read(store: Store) -> None:
    put(store, some_documents(4))
    with open_generation(store, COLLECTION) as reader:
        report = forget(store, COLLECTION, SECRET, SilentListener())
        assert report.pinned == (1,)
        assert reader.arrays.vectors.shape == (16, 64)
        with pytest.raises(StoreError):
            reader.nodes(reader.ids)
    collect_garbage(store, keep=2)
    forget(store, COLLECTION, SECRET, SilentListener())
    assert [path.name for path in store.folder(COLLECTION).iterdir()] == ["2"]


def test_a_rolled_back_collection_stays_rolled_back_after_a_document_is_forgotten(store: Store) -> None:
    put(store, some_documents(4))
    put(store, some_documents(5))
    roll_back(store, COLLECTION)
    forget(store, COLLECTION, SECRET, SilentListener())
    assert store.collections.get(COLLECTION).rolled_back
    assert len(_sources(store)) == 3


def _with_parts(store: Store) -> None:
    embedding = FakeEmbedding()
    record = store.collections.create(COLLECTION)
    whole = new_document("model.xml", ["The whole model."])
    part = NewDocument(**{**vars(new_document("model.xml#one", ["One part."])), "part": "one", "title": "One"})
    version = store.documents.add(record.id, NewDocument(**{**vars(whole), "artefacts": {"model": {"a": 1}}}), [part])
    versions = [*store.documents.with_parts([version]), *stored_versions(store, some_documents(2), embedding)]
    wanted = store.nodes.to_embed(versions)
    missing = store.vectors.missing(embedding.fingerprint.key, wanted)
    vectors = embedding.embed_texts([wanted[digest] for digest in missing])
    store.vectors.add(embedding.fingerprint.key, missing, vectors)
    publish(store, COLLECTION, versions, recipe_of(embedding), SilentListener())


@pytest.mark.parametrize("reference", ["model.xml#one", "One", "one", _identity("model.xml#one")])
def test_forgetting_a_document_within_a_file_is_refused_and_the_error_names_the_file(
    store: Store, reference: str
) -> None:
    _with_parts(store)
    with pytest.raises(UsageError, match="part of a file") as caught:
        forget(store, COLLECTION, reference, SilentListener())
    assert "elt-llm forget 'model.xml'" in caught.value.hint


def test_forgetting_a_file_removes_the_documents_within_it_and_its_artefacts(store: Store) -> None:
    _with_parts(store)
    with open_generation(store, COLLECTION) as generation:
        assert generation.artefact_names == ["model"]
    assert forget(store, COLLECTION, "model.xml", SilentListener()).chunks == 2
    with open_generation(store, COLLECTION) as generation:
        assert generation.artefact_names == []
        assert generation.size == 8
    assert _count(store, "artefacts") == 0
    assert _count(store, "vectors") == 8


def test_forgetting_an_ambiguous_name_is_refused_with_the_ids_of_the_documents(store: Store, tmp_path: Path) -> None:
    put(store, {"a/notes.md": ["One."], "b/notes.md": ["Two."]})
    with pytest.raises(UsageError, match="names 2 documents") as caught:
        forget(store, COLLECTION, "notes.md", SilentListener())
    assert _identity("a/notes.md") in caught.value.hint


def test_forgetting_an_unknown_document_is_refused_with_similar_names(store: Store) -> None:
    put(store, some_documents(2))
    with pytest.raises(UsageError, match=r"no document 'page-00\.md'") as caught:
        forget(store, COLLECTION, "page-00.md", SilentListener())
    assert "page-000.md" in caught.value.hint


def test_a_file_that_is_no_longer_listed_as_forgotten_can_be_stored_again(
    store: Store,
) -> None:
    texts = some_documents(4)
    put(store, {**texts, "copy.md": texts["page-000.md"]})
    record = store.collections.get(COLLECTION)
    forget(store, COLLECTION, "copy.md", SilentListener())
    forget(store, COLLECTION, SECRET, SilentListener())
    assert len(store.forgotten.all(record.id).document_ids) == 3
    digest = sha256("\n".join(texts["page-000.md"]))
    store.forgotten.lift_file(record.id, _identity("copy.md"), digest)
    left = store.forgotten.all(record.id)
    assert left.covers(_identity("page-000.md"), digest)  # it may be the document of somebody else
    assert not left.covers(_identity("copy.md"), digest)
    store.forgotten.lift_file(record.id, _identity("page-000.md"), digest)
    store.forgotten.lift_file(record.id, _identity(SECRET), sha256("\n".join(texts[SECRET])))
    assert store.forgotten.all(record.id).document_ids == set()
    put(store, some_documents(4))
    assert SECRET in _sources(store)
