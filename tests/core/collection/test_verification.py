"""Every kind of damage to a generation's files is reported, and can be repaired from the store without embedding."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.collection.verification import repair, verify_collection
from elt_llm_core.errors import StoreError
from elt_llm_core.progress import SilentListener
from elt_llm_core.store.database import find_damage
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.store import Store, open_store
from stored.shelf import COLLECTION, StoredLibrary, writing

FILES = (
    "ids.npy",
    "vectors.npy",
    "fields/document.npy",
    "fields/page.npy",
    "passport.json",
    "bm25/params.index.json",
    "bm25/vocab.index.json",
    "bm25/data.csc.index.npy",
    "bm25/indices.csc.index.npy",
    "bm25/indptr.csc.index.npy",
    "chroma/*/header.bin",
    "chroma/*/data_level0.bin",
    "chroma/*/length.bin",
    "chroma/*/link_lists.bin",
    "chroma/*/index_metadata.pickle",
)


def flip(path: Path) -> None:
    """Damage a file: invert 64 of its bytes, at an offset that depends on the file's name."""
    content = bytearray(path.read_bytes())
    start = random.Random(path.name).randrange(max(1, len(content) - 64))  # noqa: S311
    for place in range(start, min(start + 64, len(content))):
        content[place] ^= 0xFF
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def delete(path: Path) -> None:
    path.unlink()


HARMS = (flip, truncate, empty, delete)


def _harmed(made: StoredLibrary, generation: int, pattern: str, harm: Callable[[Path], None]) -> str:
    """Damage one file and return its path within the generation."""
    directory = made.data_dir / "collections" / COLLECTION / str(generation)
    [path] = directory.glob(pattern)
    before = path.read_bytes()
    harm(path)
    if path.exists() and path.read_bytes() == before:
        pytest.skip(f"{path.name} was empty before: there is nothing to {harm.__name__}")
    return path.relative_to(directory).as_posix()


def _hashes(store: Store) -> set[str]:
    record = store.collections.get(COLLECTION)
    return {row.collection_hash.hex() for row in store.generations.of_collection(record.id)}


def _is_whole(store: Store, made: StoredLibrary) -> None:
    record = store.collections.get(COLLECTION)
    assert verify_collection(store, COLLECTION).damage == ()
    assert store.generations.get(record.id, record.published or 0).collection_hash.hex() == made.hashes[1]
    assert store.generations.get(record.id, record.previous or 0).collection_hash.hex() == made.hashes[0]
    kept = {str(record.published), str(record.previous)}
    assert {path.name for path in store.folder(COLLECTION).iterdir()} == kept
    with open_generation(store, COLLECTION) as generation:
        assert generation.notes == ()
        assert len(generation.nodes(generation.ids)) == 44


def test_verification_reports_no_damage_for_an_unchanged_collection(made: StoredLibrary) -> None:
    with open_store(made.data_dir) as store:
        assert verify_collection(store, COLLECTION).damage == ()
        assert find_damage(store.database) == []


@pytest.mark.sampled(20)
@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("pattern", FILES)
def test_deleted_truncated_and_altered_files_of_every_type_are_reported(
    made: StoredLibrary, pattern: str, harm: Callable[[Path], None]
) -> None:
    name = _harmed(made, 2, pattern, harm)
    with open_store(made.data_dir) as store:
        [damage] = verify_collection(store, COLLECTION).damage
    assert (damage.collection, damage.generation, damage.healable) == (COLLECTION, 2, True)
    assert damage.what.startswith(f"{name}: ")


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("pattern", "harm"), [(pattern, HARMS[n % 4]) for n, pattern in enumerate((*FILES, "pin"))])
@pytest.mark.parametrize("generation", [1, 2])
def test_damage_is_repaired_without_an_embedding_model(
    made: StoredLibrary, generation: int, pattern: str, harm: Callable[[Path], None]
) -> None:
    name = _harmed(made, generation, pattern, delete if pattern == "pin" else harm)
    with writing(made.data_dir) as store:
        damage = verify_collection(store, COLLECTION).damage
        assert [(it.generation, it.what.split(":")[0]) for it in damage] == [(generation, name)]
        assert repair(store, damage, SilentListener()) == [(generation, 3)]
        _is_whole(store, made)


@pytest.mark.parametrize("harm", [truncate, empty, delete])
def test_a_damaged_chroma_database_is_repaired(made: StoredLibrary, harm: Callable[[Path], None]) -> None:
    _harmed(made, 2, "chroma/chroma.sqlite3", harm)
    with writing(made.data_dir) as store:
        damage = verify_collection(store, COLLECTION).damage
        assert ["chroma" in it.what for it in damage] == [True]
        repair(store, damage, SilentListener())
        _is_whole(store, made)


def test_repairing_restores_a_missing_generation_and_all_damaged_files(made: StoredLibrary) -> None:
    for number in (1, 2):
        directory = made.data_dir / "collections" / COLLECTION / str(number)
        directory.rename(made.data_dir / f"gone-{number}")
    with writing(made.data_dir) as store:
        damage = verify_collection(store, COLLECTION).damage
        assert {it.generation for it in damage} == {1, 2}
        assert repair(store, damage, SilentListener()) == [(1, 3), (2, 4)]
        _is_whole(store, made)


def test_a_file_that_does_not_belong_to_the_generation_is_reported(made: StoredLibrary) -> None:
    (made.data_dir / "collections" / COLLECTION / "2" / "extra.txt").touch()
    with open_store(made.data_dir) as store:
        [damage] = verify_collection(store, COLLECTION).damage
    assert damage.what == "extra.txt: not part of this generation"


def test_readers_can_still_read_texts_while_a_damaged_generation_is_repaired(made: StoredLibrary) -> None:
    _harmed(made, 2, "chroma/*/header.bin", truncate)
    with open_store(made.data_dir) as readers, open_generation(readers, COLLECTION) as pinned:
        with writing(made.data_dir) as store:
            repair(store, verify_collection(store, COLLECTION).damage, SilentListener())
            assert verify_collection(store, COLLECTION).damage == ()
        assert len(pinned.nodes(pinned.ids)) == 44
        with open_generation(readers, COLLECTION) as healed:
            assert (healed.number, healed.notes) == (3, ())
    assert pinned.number == 2


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE nodes SET text = 'X' || substr(text, 2) WHERE id = 5",
        "UPDATE nodes SET context = 'other' WHERE id = 5",
        "UPDATE vectors SET vector = zeroblob(256) WHERE id = 5",
        "DELETE FROM vectors WHERE id = 5",
        "DELETE FROM nodes WHERE id = 5",
        "UPDATE texts SET text = 'X' || substr(text, 2)",
        "UPDATE texts SET text = text || ' And more.'",
        "UPDATE document_versions SET path = 'other.md' WHERE id = 1",
        "UPDATE document_versions SET content_hash = zeroblob(32) WHERE id = 1",
        "UPDATE document_versions SET title = 'Another' WHERE id = 1",
        "UPDATE document_versions SET pages = '[0,7]' WHERE id = 1",
        "UPDATE document_versions SET sections = '[[0,1,\"Elsewhere\"]]' WHERE id = 1",
        "UPDATE document_versions SET metadata = '{\"year\":1999}' WHERE id = 1",
        "UPDATE nodes SET stems = stems || ' more' WHERE id = 5",
    ],
)
def test_damage_to_the_store_database_is_reported_and_never_repaired(made: StoredLibrary, statement: str) -> None:
    with writing(made.data_dir) as store:
        store.database.execute(statement)
        damage = verify_collection(store, COLLECTION).damage
        assert damage
        assert not any(it.healable for it in damage)
        with pytest.raises(StoreError, match="store itself is damaged") as caught:
            repair(store, damage, SilentListener())
        assert "backup" in caught.value.hint
        assert _hashes(store) == set(made.hashes)


def test_repairing_an_undamaged_collection_changes_nothing(made: StoredLibrary) -> None:
    with writer_lock(made.data_dir, "test"), open_store(made.data_dir, for_writing=True) as store:
        assert repair(store, [], SilentListener()) == []
        assert store.collections.get(COLLECTION).published == 2
