"""Killed at any moment, an ingest leaves what was published, and the same command ends where it would have ended.

Six random moments by default; KILLS=30 (or more) for a long run.
"""

import random
from pathlib import Path

import pytest
from elt_llm_core.collection import open_generation
from elt_llm_core.errors import StoreError, UnknownCollection, UsageError
from elt_llm_core.store.database import STORE_NAME
from elt_llm_core.store.lock import holder
from elt_llm_core.store.store import Store, open_store
from elt_llm_core.verification import find_damage, store_damage
from killing import Moment, Scene, Work, do, killed_after, killed_at
from shelf import COLLECTION

pytestmark = pytest.mark.faults

Scenes = tuple[Scene, Scene]


def _seen(store: Store) -> str | None:
    """The hash of what readers see, every text of it read."""
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


def _check_what_is_left(work: Work, scene: Scene) -> str | None:
    """Old or new, never a mix; returns the hash of which."""
    assert holder(work.data_dir) is None
    if not (work.data_dir / STORE_NAME).exists():
        return None
    try:
        store = open_store(work.data_dir)
    except StoreError as error:  # killed while the store was being made
        if scene.before is None and "no data" in str(error):
            return None
        raise
    with store:
        assert store_damage(store) == []
        assert store.database.rows("PRAGMA integrity_check") == [("ok",)]
        seen = _seen(store)
        assert seen in scene.hashes
        if seen is not None:
            assert find_damage(store, COLLECTION) == []
        return seen


def _check_the_end(work: Work, scene: Scene) -> None:
    with open_store(work.data_dir) as store:
        assert _seen(store) == scene.hashes[1]
        assert find_damage(store, COLLECTION) == []
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


def _finish(work: Work, scene: Scene) -> None:
    do(work)
    _check_the_end(work, scene)


def test_a_kill_at_a_random_moment_loses_nothing(scenes: Scenes, tmp_path: Path, kill: int) -> None:
    scene = scenes[kill % 2]
    moment = random.Random(kill).uniform(0, scene.seconds)  # noqa: S311
    work = scene.set_up(tmp_path / "data")
    killed_after(work, moment)
    _check_what_is_left(work, scene)
    _finish(work, scene)


STEPS = {
    "before the documents are stored": Moment("statement", "INSERT INTO document_versions", 20),
    "within a document": Moment("statement", "INSERT INTO nodes", 50),
    "between batches of vectors": Moment("statement", "INSERT OR IGNORE INTO vectors", 2),
    "before the generation has its number": Moment("statement", "UPDATE collections SET last_number"),
    "before the directory is renamed": Moment("event", "os.rename"),
    "between renaming and publishing": Moment("statement", "INSERT INTO generations"),
    "within publishing": Moment("statement", "UPDATE collections SET previous"),
    "between publishing and remembering the files": Moment("statement", "INSERT OR REPLACE INTO files"),
    "before the run is finished": Moment("statement", "UPDATE runs"),
    "before old rows are swept": Moment("statement", "DELETE FROM document_versions"),
}
SECOND_TIME_ONLY = {
    "before the old generation goes to the trash": Moment("event", "os.rename", 2),
    "before the trash is emptied": Moment("event", "os.remove", 1),
    "while the trash is emptied": Moment("event", "os.remove", 6),
    "between emptying the trash and forgetting the old generation": Moment("statement", "DELETE FROM generations"),
    "while old rows are swept": Moment("statement", "DELETE FROM vectors", 1),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_every_step_of_a_first_ingest_loses_nothing(scenes: Scenes, tmp_path: Path, step: str) -> None:
    _kill_at(scenes[0], STEPS[step], tmp_path / "data")


@pytest.mark.parametrize(
    "step", ["before the directory is renamed", "between renaming and publishing", *SECOND_TIME_ONLY]
)
def test_a_kill_at_every_step_of_a_later_ingest_loses_nothing(scenes: Scenes, tmp_path: Path, step: str) -> None:
    _kill_at(scenes[1], {**STEPS, **SECOND_TIME_ONLY}[step], tmp_path / "data")


def _kill_at(scene: Scene, moment: Moment, place: Path) -> None:
    work = scene.set_up(place)
    assert killed_at(work, moment), "the moment never came"
    _check_what_is_left(work, scene)
    _finish(work, scene)


def test_an_ingest_killed_again_and_again_still_ends(scenes: Scenes, tmp_path: Path) -> None:
    scene = scenes[1]
    work = scene.set_up(tmp_path / "data")
    for moment in (
        Moment("statement", "INSERT INTO nodes", 1),
        Moment("event", "os.rename", 1),
        Moment("statement", "INSERT INTO generations"),
        Moment("event", "shutil.rmtree", 1),
        Moment("statement", "UPDATE collections SET previous"),
    ):
        assert killed_at(work, moment), moment
        assert _check_what_is_left(work, scene) == scene.hashes[0]
    _finish(work, scene)


@pytest.mark.parametrize("statement", [1, 2, 5, 12, 16, 17])
def test_a_kill_while_the_store_is_made_leaves_none_or_a_whole_one(
    scenes: Scenes, tmp_path: Path, statement: int
) -> None:
    scene = scenes[0]
    assert killed_at(Work("create", tmp_path / "data"), Moment("statement", "", statement))
    work = scene.set_up(tmp_path / "data")
    _check_what_is_left(work, scene)
    if statement == 12:
        _finish(work, scene)
    else:
        do(Work("create", work.data_dir))
        assert _check_what_is_left(work, scene) is None
