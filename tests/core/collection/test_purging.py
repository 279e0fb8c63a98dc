"""After a purge, no file of the data directory contains a word of a deleted document."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.lifecycle import drop, open_generation
from elt_llm_core.collection.purging import PurgeReceipt, purge
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.store.backups import BACKUPS_FOLDER
from elt_llm_core.store.store import Store, open_store
from stored.folders import generated_files, run_ingest, write_files
from stored.shelf import COLLECTION, put, some_documents, store_faults, stored_versions, writing

pytestmark = pytest.mark.halved


CANARY = "zuckerrohrdschungel"
STEM = "zuckerrohrdschungel"
FOREIGN = "Überseebrückenschlüssel"
SECRET = f"""---
title: The {CANARY} title
author: {CANARY.title()} Author
---

# A heading of {CANARY}

The text tells of {CANARY} and of {FOREIGN}, and of {CANARY}s in numbers.
"""
NAME = f"part-0/about-{CANARY}.md"


def _occurrences(data_dir: Path) -> list[str]:
    """Return the files with the word to erase in their bytes (as text or JSON) or name, in capitals or not."""
    forms = {form.encode() for form in (CANARY, FOREIGN.lower(), STEM[:-2])}
    forms |= {b"bersee", FOREIGN.lower().encode("unicode_escape")}
    found = []
    for path in sorted(data_dir.rglob("*")):
        content = path.read_bytes().lower() if path.is_file() else b""
        name = path.relative_to(data_dir).as_posix()
        if CANARY in name.lower() or any(form in content for form in forms):
            found.append(name)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", {**generated_files(40), NAME: SECRET})


@pytest.fixture
def data_dir(tmp_path: Path, folder: Path) -> Path:
    run_ingest(tmp_path / "data", folder, command=f"elt-llm ingest {folder / NAME}")
    assert _occurrences(tmp_path / "data")
    return tmp_path / "data"


def _node_ids(data_dir: Path) -> list[bytes]:
    """Return the chunk ids of the document to delete. Copied indexes keep the ids of deleted chunks."""
    with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
        nodes = generation.nodes(generation.ids)
    found = [node.node_id.encode() for node in nodes if node.source == NAME]
    assert found
    return found


def _delete_the_file(data_dir: Path, folder: Path) -> None:
    (folder / NAME).unlink()
    assert not run_ingest(data_dir, folder).notes


def _forget(data_dir: Path, folder: Path) -> None:
    with writing(data_dir) as store:
        forget(store, COLLECTION, NAME, SilentListener())


def _drop(data_dir: Path, folder: Path) -> None:
    with writing(data_dir) as store:
        put(store, some_documents(3), name="other")
        drop(store, COLLECTION)


def _change_the_file(data_dir: Path, folder: Path) -> None:
    (folder / NAME).unlink()
    write_files(folder, {"part-0/about.md": "Nothing to tell.\n"})
    run_ingest(data_dir, folder)
    write_files(folder, {"part-1/more.md": "Nothing more to tell.\n"})
    run_ingest(data_dir, folder)


def _purge(data_dir: Path) -> PurgeReceipt:
    with writing(data_dir) as store:
        return purge(store, [], SilentListener())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("delete", [_delete_the_file, _forget, _drop, _change_the_file])
def test_after_a_purge_no_file_contains_the_text_of_forgotten_documents(
    data_dir: Path, folder: Path, delete: Callable[[Path, Path], None]
) -> None:
    ids = _node_ids(data_dir)
    delete(data_dir, folder)
    assert _occurrences(data_dir)
    receipt = _purge(data_dir)
    assert _occurrences(data_dir) == []
    files = [path for path in data_dir.rglob("*") if path.is_file()]
    assert [path for path in files if any(node_id in path.read_bytes() for node_id in ids)] == []
    assert receipt.is_clean
    assert receipt.bytes_after < receipt.bytes_before
    with writing(data_dir) as store:
        assert store_faults(store) == []
        for record in store.collections.all():
            assert verify_collection(store, record.name, deep=True).damage == ()
            with open_generation(store, record.name, FakeEmbedding().fingerprint) as generation:
                assert generation.notes == ()
                assert len(generation.nodes(generation.ids)) == generation.size > 0


def test_an_ingest_after_a_purge_finds_no_change(data_dir: Path, folder: Path) -> None:
    _delete_the_file(data_dir, folder)
    _purge(data_dir)
    report = run_ingest(data_dir, folder)
    assert (report.published, report.embedded, report.counts) == (False, 0, {"unchanged": 40})


def test_a_purge_removes_backups_trash_and_files_of_interrupted_runs(data_dir: Path, folder: Path) -> None:
    _delete_the_file(data_dir, folder)
    for place in (BACKUPS_FOLDER, "trash", f"collections/{COLLECTION}/building-9"):
        write_files(data_dir / place, {"left": CANARY})
    receipt = _purge(data_dir)
    assert _occurrences(data_dir) == []
    assert {"backups/left", f"collections/{COLLECTION}/building-9", f"collections/{COLLECTION}/1"} <= {*receipt.files}


def test_a_purge_removes_and_reports_the_files_left_by_an_interrupted_ingest(store: Store) -> None:
    put(store, some_documents(2))
    store.collections.begin_run(store.collections.get(COLLECTION).id, f"elt-llm ingest {CANARY}")
    stored_versions(store, {f"{CANARY}.md": [f"A {CANARY}."]}, FakeEmbedding(version="2"))
    receipt = purge(store, [COLLECTION], SilentListener())
    assert (receipt.cut_off, receipt.versions, len(receipt.documents)) == ((COLLECTION,), 1, 1)
    assert store.collections.unfinished_runs() == []
    assert store.database.rows("SELECT count(*) FROM vectors") == [(8,)]
    assert _occurrences(store.data_dir) == []


def test_a_purge_keeps_the_progress_of_an_interrupted_ingest_of_another_collection(store: Store) -> None:
    put(store, some_documents(2))
    put(store, some_documents(3))
    put(store, some_documents(1), name="other")
    store.collections.begin_run(store.collections.get("other").id, "elt-llm ingest other")
    stored_versions(store, some_documents(2), FakeEmbedding(), name="other")
    receipt = purge(store, [COLLECTION], SilentListener())
    assert (receipt.collections, receipt.generations, receipt.cut_off) == ((COLLECTION,), 1, ())
    assert store.database.rows("SELECT count(*) FROM document_versions") == [(5,)]
    assert len(store.collections.unfinished_runs()) == 1


def test_a_purge_reports_generations_that_are_still_open_with_the_process_that_reads_them(
    data_dir: Path, folder: Path
) -> None:
    with open_store(data_dir) as reading, open_generation(reading, COLLECTION):
        _delete_the_file(data_dir, folder)
        receipt = _purge(data_dir)
        assert not receipt.is_clean
        assert [it["directory"] for it in receipt.pinned] == [f"collections/{COLLECTION}/1"]
        assert os.getpid() in receipt.pinned[0]["processes"]
    assert _purge(data_dir).is_clean
    assert _occurrences(data_dir) == []


def test_a_purge_reports_source_files_of_forgotten_documents_that_still_exist(data_dir: Path, folder: Path) -> None:
    _forget(data_dir, folder)
    assert _purge(data_dir).sources == (str(folder / NAME),)
    (folder / NAME).unlink()
    assert _purge(data_dir).sources == ()


def test_a_purge_reports_words_of_erased_text_that_files_still_contain(data_dir: Path, folder: Path) -> None:
    _delete_the_file(data_dir, folder)
    write_files(data_dir, {"stray.txt": SECRET})
    receipt = _purge(data_dir)
    assert receipt.check.found_in == ("stray.txt",)
    assert receipt.check.samples > 3
    assert not receipt.is_clean


def test_a_purge_searches_for_sample_words_of_forgotten_documents_and_then_erases_the_samples(
    data_dir: Path, folder: Path
) -> None:
    _forget(data_dir, folder)
    write_files(data_dir, {"stray.txt": SECRET})
    receipt = _purge(data_dir)
    assert receipt.check.samples > 3
    assert receipt.check.found_in == ("stray.txt",)
    (data_dir / "stray.txt").unlink()
    again = _purge(data_dir)
    assert (again.is_clean, again.check.samples) == (True, receipt.check.samples)
    assert _occurrences(data_dir) == []
    assert _purge(data_dir).check.samples == 0


def test_a_purge_does_not_report_erased_text_that_published_documents_also_contain(tmp_path: Path) -> None:
    files = generated_files(20)
    folder = write_files(tmp_path / "docs", {**files, "again/copy.md": files["part-0/note-00.md"]})
    run_ingest(tmp_path / "data", folder)
    (folder / "again/copy.md").unlink()
    run_ingest(tmp_path / "data", folder)
    assert _purge(tmp_path / "data").check.found_in == ()


def test_a_purge_names_the_collections_whose_documents_still_contain_erased_text(data_dir: Path, folder: Path) -> None:
    run_ingest(data_dir, write_files(folder.parent / "others", {"copy.md": SECRET}), collection="other")
    with writing(data_dir) as store:
        assert forget(store, COLLECTION, NAME, SilentListener()).elsewhere == ("other: copy.md",)
    check = _purge(data_dir).check
    assert (check.found_in, check.kept_in) == ((), ("other",))
    assert 0 < check.kept < check.samples
    with writing(data_dir) as store:
        assert forget(store, "other", "copy.md", SilentListener()).elsewhere == ()
    check = _purge(data_dir).check
    assert (check.found_in, check.kept_in, check.kept) == ((), (), 0)
    assert check.samples
    assert _occurrences(data_dir) == []


def test_a_purge_rebuilds_an_index_that_was_copied_from_the_previous_generation(data_dir: Path, folder: Path) -> None:
    _delete_the_file(data_dir, folder)
    receipt = _purge(data_dir)
    assert receipt.rebuilt == (COLLECTION,)
    assert _purge(data_dir).rebuilt == ()


def test_a_purge_with_nothing_to_erase_changes_nothing(data_dir: Path) -> None:
    first, second = _purge(data_dir), _purge(data_dir)
    assert (first.versions, second.versions, second.generations, second.files) == (0, 0, 0, ())
    assert second.rebuilt == ()
