"""Publishing and rolling back move the pointer to the published generation."""

from collections.abc import Iterator

import pytest
from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.records import CollectionRecord, GenerationRecord
from elt_llm_core.store.store import Store, open_store
from stored.shelf import COLLECTION, new_document


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with open_store(workspace, for_writing=True) as opened:
        opened.collections.create(COLLECTION)
        yield opened


def _record(store: Store) -> CollectionRecord:
    return store.collections.get(COLLECTION)


def _row(number: int) -> GenerationRecord:
    return GenerationRecord(number, "", number, 0, 1, 1, bytes([number]), "{}")


def _publish(store: Store, number: int, built_upon: int | None, versions: tuple[int, ...] = ()) -> None:
    store.generations.publish(_record(store).id, _row(number), versions, built_upon=built_upon)


def test_publishing_makes_the_generation_current_and_keeps_the_previous_one(store: Store) -> None:
    version = store.documents.add(_record(store).id, new_document("a.md", ["Text."]))
    _publish(store, 1, None)
    _publish(store, 2, 1, (version,))
    record = _record(store)
    assert (record.published, record.previous) == (2, 1)
    assert store.generations.versions(record.id, 2) == [version]
    assert store.generations.versions(record.id, 1) == []


def test_publishing_a_generation_built_on_an_outdated_generation_changes_nothing(store: Store) -> None:
    _publish(store, 1, None)
    for built_upon in (None, 7):
        with pytest.raises(StoreError, match="published in the meantime") as caught:
            _publish(store, 2, built_upon)
        assert caught.value.hint == "Run the same command again."
    record = _record(store)
    assert (record.published, record.previous) == (1, None)
    assert [row.number for row in store.generations.of_collection(record.id)] == [1]


def test_publishing_a_generation_with_a_missing_document_version_changes_nothing(store: Store) -> None:
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        _publish(store, 1, None, (99,))
    assert _record(store).published is None
    assert store.generations.of_collection(_record(store).id) == []


def test_a_document_version_that_a_generation_contains_cannot_be_deleted(store: Store) -> None:
    version = store.documents.add(_record(store).id, new_document("a.md", ["Text."]))
    _publish(store, 1, None, (version,))
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        store.database.execute("DELETE FROM document_versions WHERE id = ?", (version,))


def _pointers(store: Store) -> tuple[int | None, int | None, bool]:
    record = _record(store)
    return record.published, record.previous, record.rolled_back


def test_repeating_a_rollback_changes_nothing_and_the_newer_generation_can_be_published_again(store: Store) -> None:
    _publish(store, 1, None)
    _publish(store, 2, 1)
    store.generations.point_at(_record(store).id, 1)
    assert _pointers(store) == (1, 2, True)
    store.generations.point_at(_record(store).id, 1)
    assert _pointers(store) == (1, 2, True)
    store.generations.point_at(_record(store).id, 2)
    assert _pointers(store) == (2, 1, False)


def test_a_second_rollback_keeps_the_previous_generation_of_the_first_rollback(store: Store) -> None:
    for number in (1, 2, 3):
        _publish(store, number, number - 1 or None)
    for number, expected in ((2, (2, 3, True)), (1, (1, 3, True)), (3, (3, 1, False))):
        store.generations.point_at(_record(store).id, number)
        assert _pointers(store) == expected


def test_publishing_a_generation_ends_a_rollback_unless_the_rollback_is_kept_explicitly(store: Store) -> None:
    _publish(store, 1, None)
    _publish(store, 2, 1)
    store.generations.point_at(_record(store).id, 1)
    store.generations.publish(_record(store).id, _row(3), (), built_upon=1, rolled_back=True)
    assert _pointers(store) == (3, 1, True)
    _publish(store, 4, 3)
    assert _pointers(store) == (4, 3, False)


def test_only_a_generation_that_is_still_stored_can_be_published(store: Store) -> None:
    _publish(store, 1, None)
    with pytest.raises(UsageError, match="no generation 7"):
        store.generations.point_at(_record(store).id, 7)


@pytest.mark.parametrize(("old", "expected"), [(2, (3, 1)), (1, (2, 3))])
def test_replacing_a_generation_updates_every_reference_to_it(
    store: Store, old: int, expected: tuple[int, int]
) -> None:
    _publish(store, 1, None)
    _publish(store, 2, 1)
    store.generations.replace(_record(store).id, old, _row(3), ())
    assert (_record(store).published, _record(store).previous) == expected


def test_deleting_the_previous_generation_leaves_no_previous_generation(store: Store) -> None:
    _publish(store, 1, None)
    _publish(store, 2, 1)
    store.generations.delete(_record(store).id, 1)
    assert _record(store).previous is None
    with pytest.raises(StoreError, match="Generation 1"):
        store.generations.get(_record(store).id, 1)
