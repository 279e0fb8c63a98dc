"""Checks of the collection after an interrupted ingest, and after the ingest was repeated."""

from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import StoreError, UnknownCollection, UsageError
from elt_llm_core.store.database import STORE_NAME, find_damage
from elt_llm_core.store.lock import lock_holder
from elt_llm_core.store.store import Store, open_store
from processes.killing import Scene, Work, do
from stored.shelf import COLLECTION


def hash_seen(store: Store) -> str | None:
    """Return the hash of the published collection, after reading every text."""
    try:
        generation = open_generation(store, COLLECTION)
    except (UnknownCollection, UsageError):
        return None
    with generation:
        assert generation.notes == ()
        assert len(set(generation.ids)) == len(generation.ids)
        for node in generation.nodes(generation.ids):
            assert node.text
        record = store.collections.get(COLLECTION)
        return store.generations.get(record.id, generation.number).collection_hash.hex()


def check_what_is_left(work: Work, scene: Scene) -> str | None:
    """Check that readers see the old or the new collection, never a mix; return its hash."""
    assert lock_holder(work.data_dir) is None
    if not (work.data_dir / STORE_NAME).exists():
        return None
    try:
        store = open_store(work.data_dir)
    except StoreError as error:  # killed while the store was created
        if scene.before is None and "no data" in str(error):
            return None
        raise
    with store:
        assert find_damage(store.database) == []
        assert store.database.rows("PRAGMA integrity_check") == [("ok",)]
        seen = hash_seen(store)
        assert seen in scene.hashes
        if seen is not None:
            assert verify_collection(store, COLLECTION).damage == ()
        return seen


def check_the_end(work: Work, scene: Scene) -> None:
    """Check that the expected collection is complete, without leftovers."""
    with open_store(work.data_dir) as store:
        assert hash_seen(store) == scene.hashes[1]
        assert verify_collection(store, COLLECTION).damage == ()
        record = store.collections.get(COLLECTION)
        numbers = {str(row.number) for row in store.generations.of_collection(record.id)}
        assert {path.name for path in store.folder(COLLECTION).iterdir()} == numbers
        assert len(numbers) <= 2
        assert not store.trash.exists() or list(store.trash.iterdir()) == []
        assert store.collections.unfinished_runs() == []
        unreached = "SELECT count(*) FROM document_versions WHERE id NOT IN (SELECT version FROM generation_documents)"
        assert store.database.rows(unreached) == [(0,)]
        assert store.database.rows("PRAGMA foreign_key_check") == []
    assert not list(work.data_dir.rglob("building-*"))


def finish(work: Work, scene: Scene) -> None:
    """Repeat the command and check that it gives the expected result."""
    do(work)
    check_the_end(work, scene)
