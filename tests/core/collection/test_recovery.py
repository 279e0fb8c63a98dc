"""A damaged store is replaced by a store of all its undamaged rows, and lost documents are named."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.collection.recovery import RecoveryReport, recover
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import StoreError
from elt_llm_core.progress import SilentListener
from elt_llm_core.store.backups import rotate_backups
from elt_llm_core.store.database import STORE_NAME, find_damage
from elt_llm_core.store.documents import ForgottenDocument
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.store import open_store
from old_stores import unpack
from stored.shelf import COLLECTION, StoredLibrary, store_faults, writing

pytestmark = pytest.mark.halved


OLD_STORE = Path(__file__).resolve().parents[2] / "fixtures" / "store-schema-1.tar.xz"


def recovered(data_dir: Path) -> RecoveryReport:
    """Recover the store of a data directory and return the recovery report."""
    with writer_lock(data_dir, "test"):
        report = recover(data_dir, SilentListener())
    assert report is not None
    return report


def change(data_dir: Path, statement: str) -> None:
    """Change a row without updating its checksum, as damage to the disk would."""
    with closing(sqlite3.connect(data_dir / STORE_NAME)) as damaged, damaged:
        damaged.execute(statement)


def overwrite(path: Path, start: int, data: bytes) -> None:
    with path.open("r+b") as stream:
        stream.seek(start)
        stream.write(data)


def published(data_dir: Path) -> tuple[str, set[str]]:
    """Check that the store is undamaged, and return the published generation's hash and documents."""
    with open_store(data_dir) as store:
        assert store_faults(store) == []
        assert verify_collection(store, COLLECTION, deep=True).damage == ()
        assert store.database.rows("PRAGMA foreign_key_check") == []
        with open_generation(store, COLLECTION) as generation:
            assert generation.notes == ()
            assert len(generation.nodes(generation.ids)) == generation.size
            row = store.generations.get(store.collections.get(COLLECTION).id, generation.number)
            return row.collection_hash.hex(), {document.source for document in generation.documents()}


def test_an_undamaged_store_is_left_as_it_is(made: StoredLibrary) -> None:
    before = (made.data_dir / STORE_NAME).read_bytes()
    with writer_lock(made.data_dir, "test"):
        assert recover(made.data_dir, SilentListener()) is None
    assert (made.data_dir / STORE_NAME).read_bytes() == before


def test_a_document_with_a_changed_chunk_is_lost_and_all_others_are_published(made: StoredLibrary) -> None:
    _, before = published(made.data_dir)
    change(made.data_dir, "UPDATE nodes SET text = 'X' || substr(text, 2) WHERE version = 5 AND ordinal = 1")
    report = recovered(made.data_dir)
    assert report.lost_rows == {"nodes": 1}
    [lost] = report.documents
    assert lost.collection == COLLECTION
    assert report.incomplete == (COLLECTION,)
    assert published(made.data_dir)[1] == before - {lost.path}
    assert Path(report.kept).parent.name == "backups"


def test_a_changed_vector_is_restored_from_the_arrays_of_the_generation(made: StoredLibrary) -> None:
    change(made.data_dir, "UPDATE vectors SET vector = zeroblob(256) WHERE id = 5")
    report = recovered(made.data_dir)
    assert report.lost_rows == {"vectors": 1}
    assert (report.documents, report.incomplete) == ((), ())
    assert published(made.data_dir)[0] == made.hashes[1]


def test_a_document_whose_vector_is_lost_everywhere_must_be_ingested_again(made: StoredLibrary) -> None:
    _, before = published(made.data_dir)
    change(made.data_dir, "UPDATE vectors SET vector = zeroblob(256) WHERE id = 5")
    for path in (made.data_dir / "collections" / COLLECTION).glob("*/vectors.npy"):
        overwrite(path, path.stat().st_size // 2, b"damage")
    report = recovered(made.data_dir)
    [lost] = report.documents
    assert report.incomplete == (COLLECTION,)
    assert published(made.data_dir)[1] == before - {lost.path}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("start", "size"), [(0, 16), (0, 100), (20, 1), (100, 64), (100, 3900), (0, 4096)])
@pytest.mark.parametrize("backup", [True, False])
def test_no_row_is_lost_if_the_beginning_of_the_store_file_is_damaged(
    made: StoredLibrary, start: int, size: int, backup: bool
) -> None:
    if backup:
        with writing(made.data_dir) as store:
            rotate_backups(store.database, keep=1)
    overwrite(made.data_dir / STORE_NAME, start, b"\xaa" * size)
    report = recovered(made.data_dir)
    assert report.documents == ()
    assert published(made.data_dir)[0] == made.hashes[1]


def test_damage_to_a_page_of_the_store_file_loses_only_the_documents_on_that_page(made: StoredLibrary) -> None:
    _, before = published(made.data_dir)
    size = (made.data_dir / STORE_NAME).stat().st_size
    for page in range(1, size // 4096, 3):
        damaged = made.data_dir.with_name(f"page-{page}")
        shutil.copytree(made.data_dir, damaged)
        overwrite(damaged / STORE_NAME, page * 4096, b"\xaa" * 4096)
        report = recovered(damaged)
        lost = {document.path for document in report.documents}
        with open_store(damaged) as store:
            assert find_damage(store.database) == []
            record = store.collections.get(COLLECTION)
            there = {document.source for document in store.documents.in_generation(record.id, record.published or 0)}
        assert there == before - lost or report.lost_rows
        shutil.rmtree(damaged)


def test_a_missing_store_is_restored_from_the_latest_backup(made: StoredLibrary) -> None:
    with writing(made.data_dir) as store:
        backup = rotate_backups(store.database, keep=1)
    (made.data_dir / STORE_NAME).unlink()
    report = recovered(made.data_dir)
    assert (report.source, report.kept) == (str(backup), "")
    assert published(made.data_dir)[0] == made.hashes[1]


def test_recovering_a_wholly_unreadable_store_without_a_backup_is_refused_with_a_hint(made: StoredLibrary) -> None:
    path = made.data_dir / STORE_NAME
    path.write_bytes(b"\xaa" * path.stat().st_size)
    with writer_lock(made.data_dir, "test"), pytest.raises(StoreError, match="Nothing can be read") as refused:
        recover(made.data_dir, SilentListener())
    assert "ingest your documents again" in refused.value.hint
    assert path.read_bytes()[:1] == b"\xaa"


def test_the_name_of_a_collection_is_restored_from_its_folder(made: StoredLibrary) -> None:
    change(made.data_dir, "UPDATE collections SET published = 1")
    report = recovered(made.data_dir)
    assert report.lost_rows == {"collections": 1}
    assert published(made.data_dir)[0] == made.hashes[1]


def test_a_lost_row_of_a_generation_is_replaced_by_publishing_its_documents_again(made: StoredLibrary) -> None:
    change(made.data_dir, "UPDATE generations SET passport = 'x' WHERE number = 2")
    report = recovered(made.data_dir)
    assert report.incomplete == (COLLECTION,)
    assert published(made.data_dir)[0] == made.hashes[1]


def test_forgotten_documents_stay_forgotten_and_lost_records_of_them_are_counted(made: StoredLibrary) -> None:
    with writing(made.data_dir) as store:
        record = store.collections.get(COLLECTION)
        forgotten = [ForgottenDocument(str(number), bytes(32), b"name") for number in range(2)]
        store.forgotten.add(record.id, forgotten)
    change(made.data_dir, "UPDATE forgotten SET name = x'00' WHERE document_id = '1'")
    assert recovered(made.data_dir).lost_rows == {"forgotten": 1}
    with open_store(made.data_dir) as store:
        assert store.forgotten.listed(record.id) == forgotten[:1]


def test_a_damaged_store_of_an_older_schema_is_recovered_and_migrated(tmp_path: Path) -> None:
    unpack(OLD_STORE, tmp_path)
    path = tmp_path / "data" / STORE_NAME
    overwrite(path, 0, b"damage")
    report = recovered(tmp_path / "data")
    assert report.documents == ()
    with open_store(tmp_path / "data") as store:
        assert store_faults(store) == []
        for name in ("birds", "boats"):
            assert verify_collection(store, name).damage == ()
