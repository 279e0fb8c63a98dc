"""A killed forget, purge, import or drop leaves a complete collection to readers, and can be repeated.

A sample of the moments is tested. FULL=1 tests all of them. The environment variable CARE_KILLS sets the number of
kills of each command at random moments.
"""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from elt_llm_core.collection.exporting import export_collection
from elt_llm_core.collection.lifecycle import open_generation, remove_leftovers
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import UnknownCollection, UsageError
from elt_llm_core.store.database import find_damage
from elt_llm_core.store.store import Store, open_store
from processes.killing import Action, Moment, Scene, Work, do, killed_at, killed_by_failpoint, killed_within, seconds_of
from sampling import sampled
from stored.shelf import COLLECTION, writing

pytestmark = [pytest.mark.faults, pytest.mark.halved]

DOCUMENT = "part-2/note-07.md"
FORGET_STATEMENTS = [
    Moment("statement", "INSERT INTO forgotten"),
    Moment("statement", "INSERT INTO generations"),
    Moment("statement", "UPDATE collections SET previous"),
    Moment("statement", "DELETE FROM generations"),
    Moment("statement", "DELETE FROM document_versions"),
    Moment("statement", "DELETE FROM vectors"),
    Moment("statement", "DELETE FROM files"),
    Moment("event", "os.rename", 1),
    Moment("event", "os.rename", 2),
    Moment("event", "os.remove", 3),
]
PURGE_MOMENTS = [
    Moment("event", "os.remove", 1),
    Moment("statement", "UPDATE collections SET published"),
    Moment("statement", "DELETE FROM generations"),
    Moment("statement", "UPDATE runs"),
    Moment("statement", "COMMIT", 3),
    Moment("event", "os.rename", 1),
    Moment("event", "os.rename", 2),
    Moment("event", "os.remove", 8),
    Moment("statement", "PRAGMA secure_delete"),
    Moment("statement", "VACUUM"),
    Moment("statement", "PRAGMA wal_checkpoint"),
]


def _stages(command: str, count: int) -> list[str]:
    """Return the names of the moments to kill a command: before and after each stage, the first `count` times."""
    return [f"{command}-{when}:{time}:kill" for when in ("before", "after") for time in range(1, 1 + count)]


@pytest.fixture
def data_dir(scenes: tuple[Scene, Scene, Scene], tmp_path: Path) -> Path:
    """Return a data directory with a collection of two generations and a backup."""
    before = scenes[1].before
    assert before is not None
    shutil.copytree(before, tmp_path / "data")
    (tmp_path / "data" / "backups").mkdir()
    (tmp_path / "data" / "backups" / "store-schema-1-20200101T000000Z.sqlite3").write_bytes(b"")
    return tmp_path / "data"


def _sources(data_dir: Path) -> set[str]:
    """Read every text of the collection and return the sources that readers see."""
    with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
        assert generation.notes == ()
        assert find_damage(store.database) == []
        assert len(generation.nodes(generation.ids)) == generation.size
        return {document.source for document in generation.documents()}


def _check_undamaged(store: Store) -> None:
    assert verify_collection(store, COLLECTION, deep=True).damage == ()
    assert store.database.rows("PRAGMA foreign_key_check") == []
    assert not store.trash.exists() or list(store.trash.iterdir()) == []


def _finish_forgetting(data_dir: Path, before: set[str]) -> None:
    assert _sources(data_dir) in (before, before - {DOCUMENT})
    do(Work("forget", data_dir, document=DOCUMENT))
    assert _sources(data_dir) == before - {DOCUMENT}
    with open_store(data_dir) as store:
        _check_undamaged(store)
        assert store.database.rows("SELECT count(*) FROM document_versions WHERE path = ?", (DOCUMENT,)) == [(0,)]
        assert store.database.rows("SELECT count(*) FROM files WHERE path = ?", (DOCUMENT,)) == [(0,)]
        assert len(list(store.folder(COLLECTION).iterdir())) == 1


@pytest.mark.parametrize("moment", sampled(FORGET_STATEMENTS, 2), ids=str)
def test_a_forget_command_that_was_killed_can_be_repeated(data_dir: Path, moment: Moment) -> None:
    before = _sources(data_dir)
    assert DOCUMENT in before
    assert killed_at(Work("forget", data_dir, document=DOCUMENT), moment)
    _finish_forgetting(data_dir, before)


@pytest.mark.parametrize("place", sampled(_stages("forget", 3), 1))
def test_a_forget_command_that_was_killed_before_or_after_any_stage_can_be_repeated(data_dir: Path, place: str) -> None:
    before = _sources(data_dir)
    assert killed_by_failpoint(Work("forget", data_dir, document=DOCUMENT, failpoint=place))
    _finish_forgetting(data_dir, before)


def _finish_purging(data_dir: Path, before: set[str]) -> None:
    assert _sources(data_dir) == before
    do(Work("purge", data_dir))
    assert _sources(data_dir) == before
    with open_store(data_dir) as store:
        _check_undamaged(store)
        record = store.collections.get(COLLECTION)
        assert [it.number for it in store.generations.of_collection(record.id)] == [record.published]
        assert [it.name for it in store.folder(COLLECTION).iterdir()] == [str(record.published)]
        assert not any((data_dir / "backups").glob("*"))
        assert store.database.rows("PRAGMA freelist_count") == [(0,)]


@pytest.mark.parametrize("moment", sampled(PURGE_MOMENTS, 2), ids=str)
def test_a_purge_command_that_was_killed_can_be_repeated(data_dir: Path, moment: Moment) -> None:
    before = _sources(data_dir)
    do(Work("forget", data_dir, document=DOCUMENT))
    if not killed_at(Work("purge", data_dir), moment):
        pytest.fail("the purge ended before it reached the moment")
    _finish_purging(data_dir, before - {DOCUMENT})


@pytest.mark.parametrize("place", sampled(_stages("purge", 5), 1))
def test_a_purge_command_that_was_killed_before_or_after_any_stage_can_be_repeated(data_dir: Path, place: str) -> None:
    before = _sources(data_dir)
    assert killed_by_failpoint(Work("purge", data_dir, failpoint=place))
    _finish_purging(data_dir, before)


@pytest.mark.parametrize("place", sampled(_stages("import", 3), 1))
def test_an_import_command_that_was_killed_can_be_repeated(data_dir: Path, tmp_path: Path, place: str) -> None:
    with open_store(data_dir) as store:
        report = export_collection(store, COLLECTION, tmp_path / "library.zip")
    work = Work("import", tmp_path / "other", tmp_path / "library.zip", failpoint=place)
    assert killed_by_failpoint(work)
    _finish_importing(work, _sources(data_dir), report.collection_hash)


def _finish_importing(work: Work, expected: set[str], collection_hash: str) -> None:
    with suppress(UsageError):  # the import had finished
        do(replace(work, failpoint=""))
    assert _sources(work.data_dir) == expected
    with writing(work.data_dir) as store:
        remove_leftovers(store)
        _check_undamaged(store)
        record = store.collections.get(COLLECTION)
        row = store.generations.get(record.id, record.published or 0)
        assert row.collection_hash.hex() == collection_hash
        assert store.collections.unfinished_runs() == []
        assert len(list(store.folder(COLLECTION).iterdir())) == 1


def _finish_exporting(work: Work, place: Path, expected: set[str]) -> None:
    assert work.folder is not None
    do(work)
    assert list(work.folder.parent.glob(".*unfinished")) == []
    do(Work("import", place, work.folder))
    assert _sources(place) == expected


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", ["export-before:1:kill", "export-after:1:kill", "export-before:2:kill"])
def test_an_export_command_that_was_killed_leaves_no_file_with_the_requested_name(
    data_dir: Path, tmp_path: Path, place: str
) -> None:
    target = tmp_path / "library.zip"
    command = [sys.executable, "-m", "elt_llm_api.cli", "--data-dir", str(data_dir), "export", COLLECTION, str(target)]
    killed = subprocess.run(command, env={**os.environ, "ELT_LLM_FAILPOINT": place}, capture_output=True, check=False)
    assert killed.returncode < 0
    assert not target.exists()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert target.exists()
    assert list(tmp_path.glob(".*unfinished")) == []


DROP_MOMENTS = [
    Moment("statement", "DELETE FROM collections"),
    Moment("statement", "DELETE FROM texts"),
    Moment("statement", "DELETE FROM vectors"),
    Moment("event", "os.rename", 1),
    Moment("event", "os.remove", 3),
    Moment("event", "os.rename", 2),
    Moment("event", "os.rmdir", 2),
]


@pytest.mark.parametrize("moment", sampled(DROP_MOMENTS, 2), ids=str)
def test_a_drop_command_that_was_killed_can_be_repeated(data_dir: Path, moment: Moment) -> None:
    assert killed_at(Work("drop", data_dir), moment)
    _finish_dropping(data_dir)


def _finish_dropping(data_dir: Path) -> None:
    with suppress(UnknownCollection):  # the drop had finished
        do(Work("drop", data_dir))
    with open_store(data_dir) as store:
        assert store.collections.all() == []
        for table in ("document_versions", "texts", "vectors", "nodes", "generations"):
            assert store.database.rows(f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608 - a name from here
        assert list((data_dir / "collections").iterdir()) == []
        assert not store.trash.exists() or list(store.trash.iterdir()) == []


ACTIONS: tuple[Action, ...] = ("forget", "purge", "import", "export", "drop")


@pytest.fixture(scope="session")
def durations(scenes: tuple[Scene, Scene, Scene], tmp_path_factory: pytest.TempPathFactory) -> dict[Action, float]:
    """Return the duration of each command in seconds."""
    place = tmp_path_factory.mktemp("durations")
    found = {}
    for action in ACTIONS:
        (folder := place / action).mkdir()
        found[action] = seconds_of(_prepared(scenes, action, folder))
    return found


def _prepared(scenes: tuple[Scene, Scene, Scene], action: Action, place: Path) -> Work:
    """Prepare a command in a copy of the data directory."""
    before = scenes[1].before
    assert before is not None
    shutil.copytree(before, place / "data")
    if action == "import":
        with open_store(before) as store:
            export_collection(store, COLLECTION, place / "library.zip")
        return Work("import", place / "other", place / "library.zip")
    return Work(action, place / "data", place / "library.zip", document=DOCUMENT)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_command_that_was_killed_at_a_random_moment_can_be_repeated(
    scenes: tuple[Scene, Scene, Scene], durations: dict[Action, float], tmp_path: Path, action: Action, care_kill: int
) -> None:
    work = killed_within(
        lambda folder: _prepared(scenes, action, folder), tmp_path, durations[action], care_kill + 1000 * len(action)
    )
    before = scenes[1].before
    assert before is not None
    expected, digest = _sources(before), scenes[1].hashes[0]
    assert digest is not None
    match action:
        case "forget":
            _finish_forgetting(work.data_dir, expected)
        case "purge":
            _finish_purging(work.data_dir, expected)
        case "import":
            _finish_importing(work, expected, digest)
        case "export":
            _finish_exporting(work, tmp_path / "imported", expected)
        case _:
            _finish_dropping(work.data_dir)
