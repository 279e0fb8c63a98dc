"""Publishing, rolling back and dropping change what readers see and which files stay on disk."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import (
    build_next_generation,
    collect_garbage,
    drop,
    open_generation,
    publish,
    remove_leftovers,
    roll_back,
)
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import FingerprintMismatch, StoreError, UnknownCollection, UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.store.store import Store, open_store
from llama_index.core.vector_stores.types import VectorStoreQuery
from stored.shelf import COLLECTION, Notes, put, recipe_of, some_documents, stored_versions, writing

pytestmark = pytest.mark.halved


QUESTIONS = ("anchor basin", "tide and reef", "entry 7", "ferry harbour island")


def _answers(generation: Generation, embedding: FakeEmbedding) -> list[tuple[list[str], list[float]]]:
    found = []
    for question in QUESTIONS:
        query = VectorStoreQuery(query_embedding=embedding.embed_question(question).tolist(), similarity_top_k=10)
        result = generation.vector_store.query(query)
        cosines = np.round(result.similarities or [], 4)
        scores = np.round(generation.keyword.scores(question), 4)
        found.append((sorted(cosines.tolist()), scores.tolist()))
    return found


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _numbers(store: Store) -> list[str]:
    return sorted(path.name for path in store.folder(COLLECTION).iterdir())


def test_a_published_collection_can_be_searched_and_read(store: Store, embedding: FakeEmbedding) -> None:
    published = put(store, some_documents(5), embedding)
    assert (published.number, published.documents, published.nodes, published.afresh) == (1, 5, 20, True)
    with open_generation(store, COLLECTION, embedding.fingerprint) as generation:
        assert generation.notes == ()
        assert (generation.number, generation.size, generation.arrays.vectors.shape) == (1, 20, (20, 64))
        assert generation.ids == sorted(generation.ids)
        assert [node.node_id for node in generation.nodes(generation.ids[::-1])] == generation.ids[::-1]
        assert np.allclose(np.linalg.norm(generation.vectors(generation.ids), axis=1), 1, atol=1e-5)
        documents = generation.documents()
        assert [document.source for document in documents] == sorted(some_documents(5))
        assert generation.arrays.fields["document"].max() == 4


def test_the_error_for_a_collection_without_a_generation_names_the_command_that_fills_it(store: Store) -> None:
    store.collections.create(COLLECTION)
    with pytest.raises(UsageError, match="nothing is published") as caught:
        open_generation(store, COLLECTION)
    assert f"elt-llm ingest PATH -c {COLLECTION}" in caught.value.hint
    assert "If its files are being read, wait" in caught.value.hint


def test_opening_a_generation_with_another_embedding_model_is_refused_and_releases_its_pin(store: Store) -> None:
    put(store, some_documents(2))
    with pytest.raises(FingerprintMismatch, match="was built with") as caught:
        open_generation(store, COLLECTION, FakeEmbedding(version="2").fingerprint)
    assert caught.value.hint.startswith(f"Run: elt-llm ingest -c {COLLECTION} --rebuild ")
    put(store, some_documents(3))
    put(store, some_documents(4))
    collect_garbage(store, keep=2)
    assert _numbers(store) == ["2", "3"]


@pytest.mark.parametrize("empty", [{}, {"empty.md": []}])
def test_a_collection_can_be_published_without_documents(
    store: Store, embedding: FakeEmbedding, empty: Mapping[str, Sequence[str]]
) -> None:
    put(store, some_documents(2), embedding)
    put(store, empty, embedding)
    with open_generation(store, COLLECTION, embedding.fingerprint) as generation:
        assert generation.size == 0
        assert generation.keyword.scores("anchor").shape == (0,)
        query = VectorStoreQuery(query_embedding=embedding.embed_question("anchor").tolist(), similarity_top_k=3)
        assert generation.vector_store.query(query).ids == []
        assert len(generation.documents()) == len(empty)
    assert put(store, some_documents(2), embedding).nodes == 8


def test_a_reader_keeps_its_pinned_generation_through_publishing_and_garbage_collection(store: Store) -> None:
    put(store, some_documents(2))
    with open_generation(store, COLLECTION) as pinned:
        for count in (3, 4, 5):
            put(store, some_documents(count, first=10))
            collect_garbage(store, keep=2)
        assert _numbers(store) == ["1", "3", "4"]
        nodes = pinned.nodes(pinned.ids)
        for node in nodes:
            document = pinned.document(node.source)
            assert document.text[node.start : node.end] == node.text
        assert len(nodes) == 8
        assert pinned.keyword.scores("anchor").shape == (8,)
    collect_garbage(store, keep=2)
    assert _numbers(store) == ["3", "4"]
    assert store.database.rows("SELECT count(*) FROM document_versions") == [(5,)]


def test_a_reader_that_opens_a_generation_after_a_rollback_reads_every_text(
    store: Store, embedding: FakeEmbedding
) -> None:
    put(store, some_documents(2), embedding)
    put(store, some_documents(3, first=10), embedding)
    collect_garbage(store, keep=2)
    assert roll_back(store, COLLECTION) == (2, 1)
    with open_generation(store, COLLECTION) as generation:
        assert generation.number == 1
        assert {node.source for node in generation.nodes(generation.ids)} == set(some_documents(2))
        collect_garbage(store, keep=2)
        assert len(generation.nodes(generation.ids)) == 8
    with pytest.raises(UsageError, match="no earlier"):
        roll_back(store, put(store, {}, name="other").collection)


def test_a_rollback_to_a_generation_without_files_is_refused_unless_a_server_has_its_rows(store: Store) -> None:
    nodes = put(store, some_documents(1)).nodes
    put(store, some_documents(2))
    (store.folder(COLLECTION) / "1").rename(store.data_dir / "elsewhere")
    if store.workspace.is_shared:
        roll_back(store, COLLECTION)
        with open_generation(store, COLLECTION) as generation:
            assert (generation.number, generation.size) == (1, nodes)
        return
    with pytest.raises(StoreError, match="has no files"):
        roll_back(store, COLLECTION)
    assert store.collections.get(COLLECTION).published == 2


def test_dropping_a_collection_removes_only_its_own_rows_files_and_vectors(store: Store) -> None:
    put(store, some_documents(2))
    put(store, some_documents(1), name="other")
    drop(store, COLLECTION)
    with pytest.raises(UnknownCollection):
        open_generation(store, COLLECTION)
    assert not store.folder(COLLECTION).exists()
    assert store.database.rows("SELECT count(*) FROM vectors") == [(4,)]
    with open_generation(store, "other") as generation:
        assert len(generation.nodes(generation.ids)) == 4


def test_a_collection_that_is_dropped_while_it_is_read_can_be_created_again(store: Store) -> None:
    put(store, some_documents(2))
    with open_generation(store, COLLECTION) as orphan:
        drop(store, COLLECTION)
        assert orphan.arrays.vectors.shape == (8, 64)
        published = put(store, some_documents(3))
        assert published.number > 1
        with open_generation(store, COLLECTION) as generation:
            assert len(generation.nodes(generation.ids)) == 12
        with pytest.raises(StoreError):
            orphan.nodes(orphan.ids)
    remove_leftovers(store)
    assert _numbers(store) == [str(published.number)]


def test_the_function_remove_leftovers_deletes_only_files_of_interrupted_work(store: Store) -> None:
    put(store, some_documents(2))
    folder = store.folder(COLLECTION)
    for name in ("building-7", "9"):
        (folder / name).mkdir()
        (folder / name / "pin").touch()
    (folder / ".DS_Store").touch()
    (folder.parent / "stray.txt").touch()
    (folder.parent / "gone" / "1").mkdir(parents=True)
    (store.trash / "old").mkdir(parents=True)
    remove_leftovers(store)
    assert _numbers(store) == [".DS_Store", "1"]
    assert sorted(path.name for path in folder.parent.iterdir()) == [COLLECTION, "stray.txt"]
    assert not store.trash.exists()


def test_a_disk_that_is_not_writable_is_reported_and_readers_keep_their_generation(
    store: Store, embedding: FakeEmbedding
) -> None:
    put(store, some_documents(2), embedding)
    versions = stored_versions(store, some_documents(3), embedding)
    number = store.collections.get(COLLECTION).last_number + 1
    (store.folder(COLLECTION) / f"building-{number}").write_text("in the way")
    with pytest.raises(StoreError, match=rf"building-{number} cannot be written") as caught:
        publish(store, COLLECTION, versions, recipe_of(embedding), SilentListener())
    assert "Free space" in caught.value.hint
    with open_generation(store, COLLECTION) as generation:
        assert generation.number == 1


def test_readers_never_see_an_unpublished_generation(store: Store, embedding: FakeEmbedding) -> None:
    put(store, some_documents(2), embedding)
    record = store.collections.get(COLLECTION)
    versions = stored_versions(store, some_documents(3), embedding)
    built = build_next_generation(store, record, versions, recipe_of(embedding), None, SilentListener())
    with open_generation(store, COLLECTION) as generation:
        assert generation.number == 1
    remove_leftovers(store)
    assert not (store.folder(COLLECTION) / str(built.number)).exists()


def test_an_updated_copy_of_an_index_has_the_ids_and_answers_of_a_fresh_index(
    tmp_path: Path, embedding: FakeEmbedding
) -> None:
    before = some_documents(30)
    after = {**before, "page-003.md": ["Entry new: anchor basin tide.", "Entry newer: reef."]}
    del after["page-007.md"]
    with writing(tmp_path / "copied") as copied, writing(tmp_path / "fresh") as fresh:
        put(copied, before, embedding)
        one, two = put(copied, after, embedding), put(fresh, after, embedding)
        assert (one.afresh, two.afresh) == (False, True)
        assert one.collection_hash == two.collection_hash
        with open_generation(copied, COLLECTION) as left, open_generation(fresh, COLLECTION) as right:
            assert left.ids == right.ids
            assert np.array_equal(left.arrays.vectors, right.arrays.vectors)
            assert left.vector_store.all_ids() == left.ids  # type: ignore[attr-defined]
            assert _answers(left, embedding) == _answers(right, embedding)
            assert _files(left.directory / "bm25") == _files(right.directory / "bm25")


def test_a_keyword_index_of_an_earlier_version_is_rebuilt(store: Store, embedding: FakeEmbedding) -> None:
    documents = some_documents(30)
    put(store, documents, embedding)
    with store.database.transaction():
        store.database.execute("UPDATE generations SET passport = replace(passport, 'bm25/counts.npy', 'bm25/gone')")
    (store.folder(COLLECTION) / "1" / "bm25" / "counts.npy").unlink()
    put(store, {**documents, "page-003.md": ["Entry new: anchor basin tide."]}, embedding)
    assert (store.folder(COLLECTION) / "2" / "bm25" / "counts.npy").is_file()


def test_indexes_are_copied_and_updated_until_a_tenth_of_the_nodes_changed_since_the_last_fresh_build(
    store: Store, embedding: FakeEmbedding
) -> None:
    documents = dict(some_documents(25))
    put(store, documents, embedding)
    afresh, since = [], []
    for number in range(4):
        documents[f"page-{number:03}.md"] = [f"Entry changed {number} {place}: tide." for place in range(2)]
        published = put(store, documents, embedding)
        afresh.append(published.afresh)
        row = store.generations.get(store.collections.get(COLLECTION).id, published.number)
        since.append((row.fresh_base, row.changed_since_fresh))
    assert afresh == [False, True, False, True]
    assert since == [(1, 6), (3, 0), (3, 6), (5, 0)]


def test_a_requested_fresh_build_does_not_copy_an_index(store: Store, embedding: FakeEmbedding) -> None:
    put(store, some_documents(3), embedding)
    assert not put(store, some_documents(3), embedding).afresh
    assert put(store, some_documents(3), embedding, afresh=True).afresh


@pytest.mark.parametrize("name", ["header.bin", "data_level0.bin", "chroma.sqlite3", "vectors.npy"])
def test_a_damaged_index_is_not_copied_for_the_next_generation(
    store: Store, embedding: FakeEmbedding, name: str
) -> None:
    first = put(store, some_documents(12), embedding)
    [path] = (store.folder(COLLECTION) / "1").rglob(name)
    path.write_bytes(path.read_bytes()[:50])
    notes = Notes()
    versions = stored_versions(store, some_documents(12), embedding)
    published = publish(store, COLLECTION, versions, recipe_of(embedding), notes)
    assert published.afresh
    assert published.collection_hash == first.collection_hash
    assert notes.notes == []
    with open_generation(store, COLLECTION) as generation:
        assert generation.notes == ()
        assert generation.vector_store.all_ids() == generation.ids  # type: ignore[attr-defined]


def test_the_index_of_another_embedding_model_is_not_copied(store: Store) -> None:
    put(store, some_documents(3), FakeEmbedding(version="1"))
    assert put(store, some_documents(3), FakeEmbedding(version="2")).afresh


def test_readers_do_not_need_the_lock(store_with_documents: Path) -> None:
    with (
        writing(store_with_documents),
        open_store(store_with_documents) as reader,
        open_generation(reader, COLLECTION) as generation,
    ):
        assert generation.size == 44


@pytest.fixture
def store_with_documents(tmp_path: Path) -> Path:
    with writing(tmp_path / "made") as store:
        put(store, some_documents(11))
    return tmp_path / "made"


def test_after_an_index_failed_its_recall_check_a_small_change_does_not_build_it_again(store: Store) -> None:
    model, notes = FakeEmbedding(), Notes()
    poor = ChromaSettings(ef_construction=10, ef_search=10, max_neighbors=4)
    documents = some_documents(1000)
    for count in (999, 1000):
        versions = stored_versions(store, dict(list(documents.items())[:count]), model)
        published = publish(store, COLLECTION, versions, recipe_of(model, poor), notes)
        assert published.afresh == (count == 999)
    assert "vectors are searched exactly" in notes.notes[0]
    with open_generation(store, COLLECTION) as generation:
        assert generation.passport.exact
        assert not (generation.directory / "chroma").exists()
        assert len(_answers(generation, model)[0][0]) > 0
    assert verify_collection(store, COLLECTION).damage == ()
