"""Ingests after the folders or the embedding model have changed, and after a rollback."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.lifecycle import drop, open_generation, roll_back
from elt_llm_core.collection.verification import repair, verify_collection
from elt_llm_core.errors import FingerprintMismatch, StoreError, UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.documents import ForgottenDocument
from elt_llm_core.store.store import open_store, uploads_folder
from elt_llm_core.store.uploads import unread_uploads
from stored.folders import generated_files, run_ingest, statuses, write_files
from stored.shelf import COLLECTION, writing

pytestmark = pytest.mark.halved


PDF = b"%PDF-1.4\nthis is not the rest of a document\n%%EOF\n"


@pytest.fixture
def place(tmp_path: Path, new_workspace: Callable[[Path], Workspace]) -> Workspace:
    return new_workspace(tmp_path / "data")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Return a folder with twenty files."""
    return write_files(tmp_path / "docs", generated_files(20))


@pytest.mark.parametrize(("deleted", "kept"), [(5, False), (10, False), (11, True), (20, True)])
def test_many_deletions_at_once_are_postponed_until_deletions_are_allowed(
    place: Workspace, docs: Path, deleted: int, kept: bool
) -> None:
    first = run_ingest(place, docs)
    for path in sorted(docs.rglob("*.md"))[:deleted]:
        path.unlink()
    report = run_ingest(place, docs)
    assert report.exit_code == int(kept)
    assert report.documents == (20 if kept else 20 - deleted)
    assert (report.collection_hash == first.collection_hash) == kept
    assert sum(file.status == ("missing" if kept else "removed") for file in report.files) == deleted
    allowed = run_ingest(place, docs, allow_delete=True)
    assert (allowed.exit_code, allowed.documents) == (0, 20 - deleted)


def test_a_failed_file_that_was_deleted_is_reported_as_removed_and_forgotten(place: Workspace, docs: Path) -> None:
    bad = docs / "bad.md"
    bad.write_bytes(b"\0")
    assert statuses(run_ingest(place, docs))["bad.md"] == "failed"
    bad.unlink()
    assert statuses(run_ingest(place, docs))["bad.md"] == "removed"
    assert "bad.md" not in statuses(run_ingest(place, docs))
    with open_store(place.folder) as store:
        files = store.files.of_collection(store.collections.get(COLLECTION).id)
    assert "failed" not in {file.outcome for file in files.values()}


@pytest.mark.parametrize("first", [{}, {"roses.md": "# Roses\n\nWatered every second day.\n"}])
def test_an_ingest_without_paths_reads_all_uploads_that_no_ingest_has_read(
    place: Workspace, first: dict[str, str]
) -> None:
    uploads = uploads_folder(place.folder, COLLECTION)
    if first:
        run_ingest(place, *(write_files(uploads, first) / name for name in first))
    write_files(uploads, {"roses.md": "# Roses\n\nWatered daily.\n", "tulips.md": "# Tulips\n\nNever.\n"})
    assert statuses(run_ingest(place)) == {"roses.md": "ok", "tulips.md": "ok"}
    assert run_ingest(place).counts == {"unchanged": 2}


def test_the_documents_of_a_missing_folder_are_kept(place: Workspace, docs: Path, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", generated_files(3, seed=1))
    first = run_ingest(place, docs, other)
    docs.rename(tmp_path / "unmounted")
    report = run_ingest(place)
    assert (report.exit_code, report.collection_hash) == (1, first.collection_hash)
    assert statuses(report)[str(docs)] == "missing"
    with pytest.raises(UsageError, match="no file or folder"):
        run_ingest(place, docs)


def test_the_documents_of_a_missing_folder_and_the_folder_are_removed_if_deletions_are_allowed(
    place: Workspace, docs: Path, tmp_path: Path
) -> None:
    other = write_files(tmp_path / "other", generated_files(3, seed=1))
    run_ingest(place, docs, other)
    docs.rename(tmp_path / "renamed")
    assert "use --allow-delete" in next(file.reason for file in run_ingest(place).files if file.status == "missing")
    report = run_ingest(place, allow_delete=True)
    assert (report.exit_code, report.documents, report.counts) == (0, 3, {"removed": 20, "unchanged": 3})
    assert run_ingest(place).counts == {"unchanged": 3}
    with open_store(place.folder) as store:
        assert list(store.collections.roots(store.collections.get(COLLECTION).id)) == ["other"]
    assert run_ingest(place, tmp_path / "renamed").documents == 23
    other.rename(tmp_path / "docs")
    assert run_ingest(place, allow_delete=True).documents == 20


def test_the_documents_of_a_moved_folder_are_kept(place: Workspace, docs: Path, tmp_path: Path) -> None:
    first = run_ingest(place, docs)
    (tmp_path / "new place").mkdir()
    docs.rename(tmp_path / "new place" / "docs")
    embedding = FakeEmbedding()
    moved = run_ingest(place, tmp_path / "new place" / "docs", embedding=embedding)
    assert (moved.collection_hash, moved.published, moved.exit_code) == (first.collection_hash, False, 0)
    assert embedding.calls == 0
    assert run_ingest(place).exit_code == 0


def test_two_source_folders_with_the_same_name_get_different_names_in_the_collection(
    place: Workspace, tmp_path: Path
) -> None:
    one = write_files(tmp_path / "one" / "docs", {"a.md": "# A\n\nAnchor.\n"})
    two = write_files(tmp_path / "two" / "docs", {"a.md": "# A\n\nBasin.\n"})
    run_ingest(place, one)
    assert run_ingest(place, two).documents == 2
    assert run_ingest(place).counts == {"unchanged": 2}


def test_a_rolled_back_collection_is_changed_only_with_the_resume_option(place: Workspace, docs: Path) -> None:
    first = run_ingest(place, docs)
    write_files(docs, {"new.md": "# New\n\nA reef.\n"})
    second = run_ingest(place, docs)
    with writing(place) as store:
        roll_back(store, COLLECTION)
    with pytest.raises(UsageError, match="rolled back") as caught:
        run_ingest(place, docs)
    assert f"elt-llm ingest -c {COLLECTION} --resume" in caught.value.hint
    with open_store(place) as store:
        assert store.collections.unfinished_runs() == []
        assert store.collections.get(COLLECTION).published == first.generation
    resumed = run_ingest(place, docs, resume=True)
    assert (resumed.collection_hash, resumed.embedded) == (second.collection_hash, 0)
    assert not run_ingest(place, docs).published


def test_an_ingest_with_the_rebuild_option_is_allowed_after_a_rollback(place: Workspace, docs: Path) -> None:
    first = run_ingest(place, docs)
    write_files(docs, {"new.md": "# New\n\nA reef.\n"})
    run_ingest(place, docs)
    (docs / "new.md").unlink()
    with writing(place) as store:
        roll_back(store, COLLECTION)
    assert run_ingest(place, rebuild=True).collection_hash == first.collection_hash


def test_a_different_embedding_model_is_refused_and_the_command_in_the_hint_works(place: Workspace, docs: Path) -> None:
    run_ingest(place, docs)
    other = FakeEmbedding(version="2")
    with pytest.raises(FingerprintMismatch) as caught:
        run_ingest(place, docs, embedding=other)
    assert caught.value.hint.startswith(f"Run: elt-llm ingest -c {COLLECTION} --rebuild   (")
    rebuilt = run_ingest(place, embedding=other, rebuild=True)
    assert rebuilt.embedded == rebuilt.chunks
    with open_store(place) as store, open_generation(store, COLLECTION, other.fingerprint) as generation:
        assert generation.notes == ()
    assert not run_ingest(place, docs, embedding=other).published


def test_an_ingest_with_the_former_embedding_model_after_a_rollback_embeds_nothing(
    place: Workspace, docs: Path
) -> None:
    first = run_ingest(place, docs)
    run_ingest(place, embedding=FakeEmbedding(version="2"), rebuild=True)
    embedding = FakeEmbedding()
    back = run_ingest(place, embedding=embedding, rebuild=True)
    assert (back.collection_hash, embedding.calls) == (first.collection_hash, 0)


def test_a_rebuild_of_the_same_files_gives_the_same_collection_hash(place: Workspace, docs: Path) -> None:
    first = run_ingest(place, docs)
    rebuilt = run_ingest(place, rebuild=True)
    assert (rebuilt.collection_hash, rebuilt.embedded, rebuilt.published) == (first.collection_hash, 0, True)


def test_a_published_generation_that_was_deleted_from_the_disk_is_rebuilt(place: Workspace, docs: Path) -> None:
    first = run_ingest(place, docs)
    shutil.rmtree(place.folder / "collections")
    again = run_ingest(place, docs)
    assert again.published
    assert again.embedded == 0
    assert again.collection_hash == first.collection_hash
    with open_store(place) as store, open_generation(store, COLLECTION) as generation:
        assert generation.size == first.chunks


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE nodes SET text = 'X' || substr(text, 2) WHERE id = 5",
        "UPDATE texts SET text = text || ' And more.'",
        "UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE id = 4) WHERE id = 3",
        "UPDATE document_versions SET title = 'Another' WHERE id = 1",
    ],
)
def test_damaged_vectors_are_repaired_by_dropping_and_ingesting_the_collection(
    place: Workspace, docs: Path, damage: str
) -> None:
    first = run_ingest(place, docs)
    with writing(place) as store:
        store.database.execute(damage)
        found = verify_collection(store, COLLECTION).damage
        with pytest.raises(StoreError) as refused:
            repair(store, found, SilentListener())
        assert f"elt-llm drop {COLLECTION}, then elt-llm ingest PATH -c {COLLECTION}" in refused.value.hint
        drop(store, COLLECTION)
    again = run_ingest(place, docs)
    assert again.collection_hash == first.collection_hash
    with open_store(place) as store:
        assert verify_collection(store, COLLECTION).damage == ()


def test_a_forgotten_document_is_skipped_until_an_ingest_with_the_remember_option(place: Workspace, docs: Path) -> None:
    first = run_ingest(place, docs)
    with writing(place) as store:
        forget(store, COLLECTION, "part-1/note-01.md", SilentListener())
    (docs / "part-1" / "note-01.md").rename(docs / "renamed.md")
    report = run_ingest(place, docs)
    assert (statuses(report)["renamed.md"], report.documents, report.exit_code) == ("skipped", 19, 0)
    again = run_ingest(place, docs / "renamed.md", remember=True)
    assert (statuses(again)["renamed.md"], again.documents) == ("ok", 20)
    assert run_ingest(place, docs).documents == 20
    assert again.chunks == first.chunks


@pytest.mark.sampled(2)
@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("moved", [False, True])
def test_a_copied_or_moved_data_directory_reads_its_own_uploads(tmp_path: Path, *, moved: bool, earlier: bool) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    folder = write_files(uploads_folder(old, COLLECTION), {"a.md": "# A\n\nA reef.\n", "b.md": "# B\n\nA bay.\n"})
    run_ingest(old, folder / "a.md", folder / "b.md")
    if earlier:  # versions that stored absolute paths
        with writing(old) as store:
            store.database.execute("UPDATE roots SET path = ?", (str(folder),))
    if moved:
        old.rename(new)
    else:
        shutil.copytree(old, new)
    with writing(new) as store:
        assert unread_uploads(store, COLLECTION) == []
    assert run_ingest(new).counts == {"unchanged": 2}
    write_files(uploads_folder(new, COLLECTION), {"a.md": "# A\n\nA lagoon.\n"})
    report = run_ingest(new)
    assert (report.counts, report.documents, report.exit_code) == ({"ok": 1, "unchanged": 1}, 2, 0)


def test_a_folder_of_the_same_path_as_uploads_is_not_taken_for_them(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "site" / "uploads" / COLLECTION, {"a.md": "# A\n\nA reef.\n"})
    place = tmp_path / "data"
    uploads = write_files(uploads_folder(place, COLLECTION), {"b.md": "# B\n\nA bay.\n"})
    run_ingest(place, docs)
    run_ingest(place, uploads / "b.md")
    shutil.rmtree(docs)
    assert statuses(run_ingest(place)) == {str(docs): "missing", "b.md": "unchanged"}


def test_a_forgotten_upload_is_read_again_only_if_it_was_stored_after_the_document_was_forgotten(
    place: Workspace,
) -> None:
    folder = write_files(uploads_folder(place.folder, COLLECTION), {"a.md": "# A\n\nA reef.\n"})
    run_ingest(place, folder / "a.md")
    with writing(place) as store:
        record = store.collections.get(COLLECTION)
        [document] = store.documents.in_generation(record.id, 1)
        gone = ForgottenDocument(document.document_id, bytes.fromhex(document.document_hash), b"")
        store.forgotten.add(record.id, [gone])
    os.utime(folder / "a.md", (0, 0))
    assert statuses(run_ingest(place)) == {"a.md": "skipped"}
    os.utime(folder / "a.md")
    assert statuses(run_ingest(place)) == {"a.md": "ok"}
    assert run_ingest(place).documents == 1


def test_an_ingest_finishes_an_interrupted_forget_command(place: Workspace, tmp_path: Path) -> None:
    docs = write_files(tmp_path / "few", {"a.md": "# A\n\nA reef.\n"})
    run_ingest(place, docs)
    with writing(place) as store:
        record = store.collections.get(COLLECTION)
        [document] = store.documents.in_generation(record.id, 1)
        gone = ForgottenDocument(document.document_id, bytes.fromhex(document.document_hash), b"")
        store.forgotten.add(record.id, [gone])
    report = run_ingest(place, docs)
    assert (report.documents, report.exit_code, statuses(report)) == (0, 0, {"a.md": "skipped"})
