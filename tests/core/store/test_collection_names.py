"""Collection names are checked, and errors for unknown names suggest similar names."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from elt_llm_core.errors import UnknownCollection, UsageError
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.collections import check_collection_name
from elt_llm_core.store.store import Store, open_store
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with open_store(workspace, for_writing=True) as opened:
        yield opened


@pytest.mark.parametrize("name", ["a", "fa-handbook", "2025_rules", "x" * 63])
def test_valid_collection_names_are_accepted(name: str) -> None:
    assert check_collection_name(name) == name


@pytest.mark.parametrize("name", ["", "A", "-a", "_a", "a b", "a/b", "..", "a.b", "x" * 64, "é", "a\n", "a\0"])
def test_collection_names_that_are_not_valid_folder_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        check_collection_name(name)


@given(st.text(max_size=70))
def test_an_accepted_collection_name_is_exactly_one_path_component(name: str) -> None:
    try:
        check_collection_name(name)
    except UsageError:
        return
    assert Path(name).parts == (name,)
    assert name.isascii()
    assert name == name.lower()


def test_the_error_for_a_mistyped_name_suggests_the_most_similar_name(store: Store) -> None:
    for name in ("handbook", "minutes", "inventory"):
        store.collections.create(name)
    with pytest.raises(UnknownCollection, match="handbok") as caught:
        store.collections.get("handbok")
    assert caught.value.hint == "Nearest: handbook."


def test_the_hint_names_the_ingest_command_if_there_is_no_collection(store: Store) -> None:
    with pytest.raises(UnknownCollection) as caught:
        store.collections.get("library")
    assert "elt-llm ingest PATH -c library" in caught.value.hint


def test_creating_an_existing_collection_returns_it(store: Store) -> None:
    assert store.collections.create("library") == store.collections.create("library")


def test_generation_numbers_are_never_reused(store: Store) -> None:
    record = store.collections.create("library")
    assert [store.collections.take_number(record.id) for _ in range(3)] == [1, 2, 3]


def test_a_new_collection_never_gets_the_identity_of_a_deleted_one(store: Store) -> None:
    first = store.collections.create("library")
    store.collections.delete(first.id)
    assert store.collections.create("library").id != first.id


def test_a_source_folder_stays_marked_as_completely_ingested_when_its_path_changes(
    store: Store, tmp_path: Path
) -> None:
    record = store.collections.create("library")
    store.collections.record_root(record.id, "books", tmp_path / "a", whole=True)
    store.collections.record_root(record.id, "books", tmp_path / "b", whole=False)
    assert store.collections.roots(record.id) == {"books": (tmp_path / "b", True)}


def test_an_ingest_run_is_unfinished_until_a_later_run_of_its_collection_succeeds(store: Store) -> None:
    library, minutes = store.collections.create("library"), store.collections.create("minutes")
    store.collections.begin_run(library.id, "elt-llm ingest a")
    store.collections.begin_run(minutes.id, "elt-llm ingest b")
    store.collections.begin_run(library.id, "elt-llm ingest a")
    assert [run.collection for run in store.collections.unfinished_runs()] == ["library", "minutes", "library"]
    store.collections.finish_run(library.id, "{}")
    assert [run.command for run in store.collections.unfinished_runs()] == ["elt-llm ingest b"]
    last = store.collections.last_run(library.id)
    assert last is not None
    assert last.finished_at is not None
