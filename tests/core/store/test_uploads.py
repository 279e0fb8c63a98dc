"""Uploads are deleted with a forgotten document, with a dropped collection, and by a purge."""

import os
import time
from contextlib import closing
from pathlib import Path

import pytest
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.lifecycle import drop
from elt_llm_core.collection.purging import purge
from elt_llm_core.progress import SilentListener
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue
from elt_llm_core.store.database import UPLOADS_FOLDER
from elt_llm_core.store.store import uploads_folder
from elt_llm_core.store.uploads import INCOMING, unread_uploads
from stored.folders import run_ingest
from stored.shelf import COLLECTION, writing


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Return a data directory with two uploads that are ingested."""
    data_dir = tmp_path / "data"
    folder = uploads_folder(data_dir, COLLECTION)
    folder.mkdir(parents=True)
    for name in ("roses", "lilies"):
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\nAll about {name}, at some length.\n", encoding="utf-8")
    run_ingest(data_dir, folder)
    return data_dir


def uploads(data_dir: Path) -> set[str]:
    """Return the names of all files in the uploads folder."""
    return {path.name for path in (data_dir / UPLOADS_FOLDER).rglob("*") if path.is_file()}


def test_forgetting_a_document_deletes_its_uploaded_file(data_dir: Path) -> None:
    with writing(data_dir) as store:
        report = forget(store, COLLECTION, "roses.md", SilentListener())
    assert report.uploads == 1
    assert uploads(data_dir) == {"lilies.md"}


def test_an_uploaded_file_that_is_newer_than_the_request_to_forget_it_is_kept(data_dir: Path) -> None:
    with writing(data_dir) as store:
        report = forget(store, COLLECTION, "roses.md", SilentListener(), asked_at=time.time() - 3600)
    assert report.uploads == 0
    assert uploads(data_dir) == {"roses.md", "lilies.md"}


def test_dropping_a_collection_deletes_its_uploaded_files(data_dir: Path) -> None:
    with writing(data_dir) as store:
        drop(store, COLLECTION)
    assert uploads(data_dir) == set()


def test_a_purge_keeps_uploaded_files_that_are_published_or_waiting_to_be_read(data_dir: Path) -> None:
    incoming = data_dir / UPLOADS_FOLDER / INCOMING
    orphans = uploads_folder(data_dir, "never-made")
    for folder, name in ((incoming, "coming"), (incoming, "cut-off"), (orphans, "unread.md")):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("words", encoding="utf-8")
    os.utime(incoming / "cut-off", (0, 0))
    for name in ("waiting.md", "unreadable.md"):
        (uploads_folder(data_dir, COLLECTION) / name).write_text("words", encoding="utf-8")
    with closing(open_state(data_dir)) as state:
        queue = JobQueue(state)
        ended = queue.submit("ingest", {"collection": COLLECTION, "uploads": ["unreadable.md"]}, "local")
        queue.end(ended.id, "done", {})
        queue.submit("ingest", {"collection": COLLECTION, "uploads": ["waiting.md"]}, "local")
        with writing(data_dir) as store:
            receipt = purge(store, [], SilentListener())
        assert [job.status for job in queue.all()] == ["queued"]
    assert uploads(data_dir) == {"roses.md", "lilies.md", "waiting.md", "coming"}
    assert f"{UPLOADS_FOLDER}/never-made/unread.md" in receipt.files
    assert not any(UPLOADS_FOLDER in source for source in receipt.sources)


def test_an_upload_is_unread_until_an_ingest_has_read_its_present_content(data_dir: Path) -> None:
    folder, fresh = uploads_folder(data_dir, COLLECTION), uploads_folder(data_dir, "fresh")
    with writing(data_dir) as store:
        assert unread_uploads(store, COLLECTION) == []
        (folder / "roses.md").write_text(
            "# Roses\n\nAll about thorns, at some length.\n", encoding="utf-8"
        )  # same size
        os.utime(folder / "lilies.md")  # as after a restored backup: another time, the same bytes
        for path in (folder / "tenant_id=acme" / "tulips.md", fresh / "new.md"):
            path.parent.mkdir(parents=True)
            path.write_text("# Tulips\n\nAll about tulips.\n", encoding="utf-8")
        assert unread_uploads(store, COLLECTION) == ["roses.md", "tenant_id=acme/tulips.md"]
        assert unread_uploads(store, "fresh") == ["new.md"]
    run_ingest(data_dir, folder)
    with writing(data_dir) as store:
        assert unread_uploads(store, COLLECTION) == []
