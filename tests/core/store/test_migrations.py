"""A store of the previous schema: refused by name for reading, backed up and migrated for writing, and whole after."""

import multiprocessing
import os
import shutil
import signal
import tarfile
from pathlib import Path

import pytest
from elt_llm_core.collection import open_generation
from elt_llm_core.errors import OutdatedStore, StoreError
from elt_llm_core.failpoints import FAILPOINT_VARIABLE
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.store.backups import back_up, backup_faults, backups
from elt_llm_core.store.database import STORE_NAME, Database
from elt_llm_core.store.migrations import STEPS, migrate, schema_version
from elt_llm_core.store.store import open_store
from elt_llm_core.verification import examine, store_damage
from folders import run_ingest
from shelf import writing

OLD_STORE = Path(__file__).resolve().parents[2] / "fixtures" / "store-schema-1.tar.xz"
HASHES = {"birds": 2, "boats": 2}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A data directory of schema 1 beside the folders it was filled from: `boats`, and `birds`, rolled back."""
    with tarfile.open(OLD_STORE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "data"


def _rows_of(path: Path) -> list[tuple[object, ...]]:
    database = Database(path, for_writing=False)
    try:
        return database.rows("SELECT id, document_id, checksum FROM document_versions ORDER BY id")
    finally:
        database.close()


def _version_of(path: Path) -> int:
    database = Database(path, for_writing=False)
    try:
        return schema_version(database)
    finally:
        database.close()


def test_reading_an_old_store_is_refused_with_the_command_that_migrates_it(old: Path) -> None:
    with pytest.raises(OutdatedStore, match="older version") as caught:
        open_store(old)
    assert "elt-llm verify" in caught.value.hint
    assert _version_of(old / STORE_NAME) == 1


def test_writing_backs_it_up_and_migrates_it(old: Path) -> None:
    before = _rows_of(old / STORE_NAME)
    with writing(old) as store:
        assert schema_version(store.database) == len(STEPS)
        assert store_damage(store, deep=True) == []
    [backup] = backups(old)
    assert backup.name.startswith("store-schema-1-")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert _version_of(backup) == 1
    assert _rows_of(backup) == _rows_of(old / STORE_NAME) == before
    with writing(old):
        assert backups(old) == [backup]


def test_what_it_held_answers_and_is_undamaged(old: Path) -> None:
    with writing(old) as store:
        for name in HASHES:
            findings = examine(store, name, deep=True)
            assert findings.damage == ()
            assert findings.unchecked == ()
        birds = store.collections.get("birds")
        assert (birds.published, birds.previous, birds.rolled_back) == (1, 2, True)
        with open_generation(store, "boats", FakeEmbedding().fingerprint) as generation:
            assert generation.passport.duplicates == "each"
            assert all("made by another tokeniser; it was rebuilt in memory" in note for note in generation.notes)
            assert generation.size == 6
            best = generation.ids[int(generation.keyword.scores("how tall is the mast").argmax())]
            assert "fifteen metres" in generation.nodes([best])[0].text


def test_the_next_ingest_embeds_nothing_again(old: Path) -> None:
    with writing(old) as store:
        store.collections.record_root(store.collections.get("boats").id, "boats", old.parent / "boats", whole=True)
    report = run_ingest(old, collection="boats")
    assert report.embedded == 0
    assert report.documents == 3
    with writing(old) as store:
        assert examine(store, "boats").damage == ()


def _migrate_until(data_dir: Path, plan: str, statement: int) -> None:
    os.environ[FAILPOINT_VARIABLE] = plan
    database = Database(data_dir / STORE_NAME, for_writing=True)
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
    assert _version_of(old / STORE_NAME) in (1, len(STEPS))
    assert _rows_of(old / STORE_NAME) == before
    with writing(old) as store:
        assert store_damage(store, deep=True) == []
        assert all(examine(store, name).damage == () for name in HASHES)
    assert len(backups(old)) in (1, 2)
    assert backup_faults(old) == []


@pytest.mark.parametrize("place", ["backup-before", "backup-after", "migrate-before", "migrate-after"])
def test_killed_around_a_stage_it_is_unharmed_and_the_next_run_completes(old: Path, place: str) -> None:
    before = _rows_of(old / STORE_NAME)
    assert _killed(old, plan=f"{place}:1:kill")
    _check_unharmed(old, before)


def test_killed_before_any_statement_it_is_unharmed_and_the_next_run_completes(old: Path, tmp_path: Path) -> None:
    before = _rows_of(old / STORE_NAME)
    for statement in range(1, 100):
        place = tmp_path / f"copy-{statement}"
        shutil.copytree(old, place)
        if not _killed(place, statement=statement):
            assert statement > 10
            return
        _check_unharmed(place, before)
        shutil.rmtree(place)
    pytest.fail("the migration never ended")


def test_a_backup_that_was_cut_off_is_cleared_by_the_next(old: Path) -> None:
    (old / "backups").mkdir()
    torn = old / "backups" / "store-schema-1-20200101T000000Z.sqlite3.tmp-journal"
    torn.write_bytes(b"torn")
    with writing(old):
        assert not torn.exists()


def test_the_latest_two_backups_are_kept(old: Path) -> None:
    (old / "backups").mkdir()
    for year in (2019, 2020, 2021):
        shutil.copy(old / STORE_NAME, old / "backups" / f"store-schema-1-{year}0101T000000Z.sqlite3")
    with writing(old):
        kept = [path.name for path in backups(old)]
    assert kept[0] == "store-schema-1-20210101T000000Z.sqlite3"
    assert len(kept) == 2


def test_a_damaged_backup_is_named(old: Path) -> None:
    with writing(old) as store:
        [backup] = backups(old)
        backup.write_bytes(b"no database at all, but long enough to be looked at")
        assert str(backup) in store_damage(store, deep=True)[0]
        assert store_damage(store) == []


def test_without_room_for_a_backup_nothing_is_changed(old: Path) -> None:
    database = Database(old / STORE_NAME, for_writing=True)
    (old / "backups").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match="backups"):
        back_up(database, 1)
    assert schema_version(database) == 1
    database.close()
