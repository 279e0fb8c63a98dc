"""Several machines use one PostgreSQL database: each has its own files, and all have the same collections."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.lifecycle import collect_garbage, drop, open_generation, remove_leftovers, roll_back
from elt_llm_core.collection.purging import purge
from elt_llm_core.collection.verification import repair, verify_collection
from elt_llm_core.errors import StoreError, UnknownCollection
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.store import Store, open_store
from elt_llm_core.utilities import FAILPOINT_VARIABLE
from stored.shelf import COLLECTION, put, some_documents, writing

pytestmark = pytest.mark.halved


if TYPE_CHECKING:
    from stored.postgres import PostgresServer


@pytest.fixture
def here(postgres: "PostgresServer", tmp_path: Path) -> Workspace:
    """The workspace of one machine."""
    return postgres.workspace(tmp_path / "here")


@pytest.fixture
def there(here: Workspace, tmp_path: Path) -> Workspace:
    """The workspace of another machine, on the same database as `here`."""
    return replace(here, folder=tmp_path / "there")


def _answers(store: Store, question: str = "tide reef") -> list[str]:
    model = FakeEmbedding()
    with open_generation(store, COLLECTION, model.fingerprint) as generation:
        [vector] = model.embed_texts([question])
        found = generation.nearest(np.asarray(vector), 10)
        return [node.text for node in generation.nodes([node_id for node_id, _ in found])]


def test_hashes_and_answers_are_the_same_as_with_sqlite(here: Workspace, tmp_path: Path) -> None:
    results = []
    for place in (here, Workspace(tmp_path / "local")):
        with writing(place) as store:
            first = put(store, some_documents(10))
            second = put(store, {**some_documents(9), **some_documents(1, first=50)})
            results.append((first.collection_hash, second.collection_hash, second.afresh, _answers(store)))
    assert results[0] == results[1]


def test_another_machine_builds_its_own_index_files_and_gives_the_same_answers(
    here: Workspace, there: Workspace
) -> None:
    with writing(here) as store:
        put(store, some_documents(10))
        ours = _answers(store)
        identity = open_generation(store, COLLECTION).identity
    with open_store(there) as store:
        assert _answers(store) == ours
        with open_generation(store, COLLECTION) as generation:
            assert generation.identity == identity
            assert generation.notes == ()
        assert verify_collection(store, COLLECTION, deep=True).damage == ()
        assert (there.folder / "collections" / COLLECTION / "1" / "passport.json").is_file()


def test_unfinished_index_files_are_removed_after_a_full_disk_or_a_kill(
    here: Workspace, there: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(here) as store:
        put(store, some_documents(2))
    drafts = there.folder / "providing"
    with writing(there) as store:
        monkeypatch.setenv(FAILPOINT_VARIABLE, "verify-before:1:enospc")
        with pytest.raises(StoreError, match="cannot be written"):
            open_generation(store, COLLECTION)
        assert not drafts.exists()
        (drafts / "left by a kill").mkdir(parents=True)
        remove_leftovers(store)
        assert not drafts.exists()


def test_a_generation_published_by_one_machine_is_read_by_another_machine(here: Workspace, there: Workspace) -> None:
    with writing(here) as store:
        put(store, some_documents(20))
    with writing(there) as store:
        published = put(store, {**some_documents(20), **some_documents(1, first=50)})
        assert not published.afresh, "the index that this machine has built is changed, not built again"
    with open_store(here) as store, open_generation(store, COLLECTION) as generation:
        assert generation.number == 2
        assert len(generation.ids) == published.nodes


def test_a_generation_that_another_machine_reads_is_kept(here: Workspace, there: Workspace) -> None:
    with writing(here) as store:
        put(store, some_documents(3))
    with open_store(there) as reader:
        pinned = open_generation(reader, COLLECTION)
        with writing(here) as store:
            for number in range(4, 8):
                put(store, some_documents(number))
            collect_garbage(store, 2)
            assert store.generation_names()[COLLECTION] == {"1", "4", "5"}
            assert len(pinned.nodes(list(pinned.ids))) == 12
            pinned.close()
            collect_garbage(store, 2)
            assert store.generation_names()[COLLECTION] == {"4", "5"}


def test_index_files_of_a_dropped_collection_are_not_used_for_a_new_collection_of_the_same_name(
    here: Workspace, there: Workspace
) -> None:
    with writing(here) as store:
        put(store, some_documents(3))
    with open_store(there) as store:
        _answers(store)
    with writing(here) as store:
        drop(store, COLLECTION)
        with pytest.raises(UnknownCollection):
            store.collections.get(COLLECTION)
        shutil.rmtree(here.folder / "collections", ignore_errors=True)
        put(store, some_documents(3, first=7))
        assert store.collections.get(COLLECTION).published == 1
        ours = _answers(store)
    with open_store(there) as store:
        assert _answers(store) == ours


def test_repairing_the_damaged_index_files_of_one_machine_keeps_the_generation_number(here: Workspace) -> None:
    with writing(here) as store:
        put(store, some_documents(3))
        ours = _answers(store)
        with (here.folder / "collections" / COLLECTION / "1" / "ids.npy").open("ab") as stream:
            stream.write(b"x")
        damage = verify_collection(store, COLLECTION).damage
        assert damage
        assert repair(store, damage, SilentListener()) == [(1, 1)]
        assert verify_collection(store, COLLECTION).damage == ()
        assert _answers(store) == ours


def test_rollback_forget_and_purge_work_on_another_machine(here: Workspace, there: Workspace) -> None:
    with writing(here) as store:
        put(store, some_documents(4))
        put(store, some_documents(6))
    with writing(there) as store:
        assert roll_back(store, COLLECTION) == (2, 1)
        assert len(store.documents.in_generation(store.collections.get(COLLECTION).id, 1)) == 4
        forget(store, COLLECTION, "page-001.md", SilentListener())
        receipt = purge(store, [], SilentListener())
        assert receipt.check.found_in == ()
        assert receipt.versions
        assert "write-ahead logs" in receipt.beyond_reach[-1]
        assert "other machines" in receipt.beyond_reach[-2]
        texts = store.database.rows("SELECT text FROM texts")
        assert len(texts) == 3
