"""A store of the previous schema is refused for reading, and backed up and migrated for writing."""

import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import OutdatedStore, StoreError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.store.backups import back_up, backup_faults, list_backups
from elt_llm_core.store.database import STORE_NAME, STORE_VERSION, SqliteDatabase, find_damage
from elt_llm_core.store.migrations import migrate
from elt_llm_core.store.store import open_store
from elt_llm_core.utilities import FAILPOINT_VARIABLE
from old_stores import unpack
from sampling import FULL
from stored.folders import run_ingest
from stored.shelf import store_faults, writing

pytestmark = pytest.mark.halved


OLD_STORE = Path(__file__).resolve().parents[2] / "fixtures" / "store-schema-1.tar.xz"
HASHES = {"birds": 2, "boats": 2}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a data directory of schema 1 with the collections `boats` and `birds`, of which `birds` is rolled back."""
    unpack(OLD_STORE, tmp_path)
    return tmp_path / "data"


def _rows_of(path: Path) -> list[tuple[object, ...]]:
    database = SqliteDatabase(path, for_writing=False)
    try:
        return database.rows("SELECT id, document_id, checksum FROM document_versions ORDER BY id")
    finally:
        database.close()


def _version_of(path: Path) -> int:
    database = SqliteDatabase(path, for_writing=False)
    try:
        return database.schema_version()
    finally:
        database.close()


def test_reading_a_store_with_an_old_schema_is_refused_with_the_command_that_migrates_it(old: Path) -> None:
    with pytest.raises(OutdatedStore, match="older version") as caught:
        open_store(old)
    assert "elt-llm verify" in caught.value.hint
    assert _version_of(old / STORE_NAME) == 1


def test_writing_to_a_store_with_an_old_schema_backs_up_and_migrates_the_store(old: Path) -> None:
    before = _rows_of(old / STORE_NAME)
    with writing(old) as store:
        assert store.database.schema_version() == STORE_VERSION
        assert store_faults(store) == []
    [backup] = list_backups(old)
    assert backup.name.startswith("store-schema-1-")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert _version_of(backup) == 1
    assert _rows_of(backup) == _rows_of(old / STORE_NAME) == before
    with writing(old):
        assert list_backups(old) == [backup]


def test_a_migrated_store_can_be_searched_and_is_undamaged(old: Path) -> None:
    with writing(old) as store:
        for name in HASHES:
            findings = verify_collection(store, name, deep=True)
            assert findings.damage == ()
            assert findings.unchecked == ()
        birds = store.collections.get("birds")
        assert (birds.published, birds.previous, birds.rolled_back) == (1, 2, True)
        with open_generation(store, "boats", FakeEmbedding().fingerprint) as generation:
            assert generation.passport.duplicates == "each"
            assert all("built by another tokeniser; it was rebuilt in memory" in note for note in generation.notes)
            assert generation.size == 6
            best = generation.ids[int(generation.keyword.scores("how tall is the mast").argmax())]
            assert "fifteen metres" in generation.nodes([best])[0].text


def test_an_ingest_after_a_migration_embeds_nothing_again(old: Path) -> None:
    with writing(old) as store:
        store.collections.record_root(store.collections.get("boats").id, "boats", old.parent / "boats", whole=True)
    report = run_ingest(old, collection="boats")
    assert report.embedded == 0
    assert report.documents == 3
    with writing(old) as store:
        assert verify_collection(store, "boats").damage == ()


def _migrate_until(data_dir: Path, plan: str, statement: int) -> None:
    os.environ[FAILPOINT_VARIABLE] = plan
    database = SqliteDatabase(data_dir / STORE_NAME, for_writing=True)
    left = statement

    def step(_: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    database._connection.set_trace_callback(step if statement else None)
    migrate(database)
    os._exit(0)


def _killed(data_dir: Path, plan: str = "", statement: int = 0) -> bool:
    process = multiprocessing.get_context("fork").Process(target=_migrate_until, args=(data_dir, plan, statement))
    process.start()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def _check_unharmed(old: Path, before: list[tuple[object, ...]]) -> None:
    assert _version_of(old / STORE_NAME) in range(1, STORE_VERSION + 1)  # each step of a migration is one transaction
    assert _rows_of(old / STORE_NAME) == before
    with writing(old) as store:
        assert store_faults(store) == []
        assert all(verify_collection(store, name).damage == () for name in HASHES)
    assert len(list_backups(old)) in (1, 2)
    assert backup_faults(old) == []


@pytest.mark.parametrize("place", ["backup-before", "backup-after", "migrate-before", "migrate-after"])
def test_a_migration_killed_before_or_after_a_stage_loses_no_data_and_the_next_run_completes_it(
    old: Path, place: str
) -> None:
    before = _rows_of(old / STORE_NAME)
    assert _killed(old, plan=f"{place}:1:kill")
    _check_unharmed(old, before)


@pytest.mark.faults
def test_a_migration_killed_before_any_sql_statement_loses_no_data_and_the_next_run_completes_it(
    old: Path, tmp_path: Path
) -> None:
    before = _rows_of(old / STORE_NAME)
    for statement in range(1, 1000, 1 if FULL else 20):
        place = tmp_path / f"copy-{statement}"
        shutil.copytree(old, place)
        if not _killed(place, statement=statement):
            assert statement > 10
            return
        _check_unharmed(place, before)
        shutil.rmtree(place)
    pytest.fail("the migration never ended")


def test_the_next_backup_removes_the_files_of_an_interrupted_backup(old: Path) -> None:
    (old / "backups").mkdir()
    torn = old / "backups" / "store-schema-1-20200101T000000Z.sqlite3.tmp-journal"
    torn.write_bytes(b"torn")
    with writing(old):
        assert not torn.exists()


def test_only_the_latest_two_backups_of_the_store_are_kept(old: Path) -> None:
    (old / "backups").mkdir()
    for year in (2019, 2020, 2021):
        shutil.copy(old / STORE_NAME, old / "backups" / f"store-schema-1-{year}0101T000000Z.sqlite3")
    with writing(old):
        kept = [path.name for path in list_backups(old)]
    assert kept[0] == "store-schema-1-20210101T000000Z.sqlite3"
    assert len(kept) == 2


def test_a_damaged_backup_of_the_store_is_reported(old: Path) -> None:
    with writing(old) as store:
        [backup] = list_backups(old)
        backup.write_bytes(b"no database at all, but long enough to be looked at")
        assert str(backup) in backup_faults(store.data_dir)[0]
        assert find_damage(store.database) == []


def test_a_migration_without_disk_space_for_a_backup_changes_nothing(old: Path) -> None:
    database = SqliteDatabase(old / STORE_NAME, for_writing=True)
    (old / "backups").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match="backups"):
        back_up(database, 1)
    assert database.schema_version() == 1
    database.close()
