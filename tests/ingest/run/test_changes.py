"""A scan reads files only if they may have changed, and holds back the deletion of many documents at once."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import StoredDocument
from elt_llm_ingest.run.scan import find_deleted, inspect_file
from elt_llm_ingest.sources.collection_sources import LocatedFile
from elt_llm_ingest.sources.discovery import FoundFile

HOUR = 3_600_000_000_000


def _located(path: Path) -> LocatedFile:
    status = path.stat()
    found = FoundFile(path.parent, path.name, path, status.st_size, status.st_mtime_ns)
    return LocatedFile(found, "root", path.parent, path.name)


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    path = tmp_path / "a.md"
    path.write_text("one")
    then = time.time_ns() - HOUR
    os.utime(path, ns=(then, then))
    return path


def test_a_file_with_unchanged_size_and_modification_time_is_not_read_again(old_file: Path) -> None:
    seen = inspect_file("library", _located(old_file), {})
    remembered = replace(seen.record("ok", ""), content_hash=b"remembered")
    assert inspect_file("library", _located(old_file), {seen.document_id: remembered}).digest == b"remembered"


@pytest.mark.parametrize("change", ["size", "time"])
def test_a_file_with_a_changed_size_or_modification_time_is_read_again(old_file: Path, change: str) -> None:
    seen = inspect_file("library", _located(old_file), {})
    old_file.write_text("four" if change == "size" else "two")
    if change == "size":
        os.utime(old_file, ns=(seen.located.file.modified_ns,) * 2)
    again = inspect_file("library", _located(old_file), {seen.document_id: seen.record("ok", "")})
    assert again.digest != seen.digest


def test_a_file_written_just_before_the_last_scan_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("one")
    seen = inspect_file("library", _located(path), {})
    path.write_text("two")
    os.utime(path, ns=(seen.located.file.modified_ns,) * 2)
    assert inspect_file("library", _located(path), {seen.document_id: seen.record("ok", "")}).digest != seen.digest


def test_a_file_that_is_deleted_after_discovery_is_reported_as_unreadable(old_file: Path) -> None:
    located = _located(old_file)
    old_file.unlink()
    with pytest.raises(UnreadableDocument, match="cannot be opened"):
        inspect_file("library", located, {})


def _documents(count: int, root: str = "root") -> list[StoredDocument]:
    return [
        StoredDocument(number, f"{root}-{number}", f"{number}.md", root, "", "", "ok", "", (), 1, 1)
        for number in range(count)
    ]


def _gone(total: int, gone: int, *, allow: bool = False, scanned: str = "root", missing: str = "") -> tuple[int, int]:
    documents = _documents(total)
    present = [document.document_id for document in documents[gone:]]
    found = find_deleted(documents, present, frozenset([scanned]), frozenset([missing]), allow_delete=allow)
    return len(found.removed), len(found.held_back)


@pytest.mark.parametrize(
    ("total", "gone", "expected"),
    [
        (10, 0, (0, 0)),
        (10, 9, (9, 0)),
        (10, 10, (0, 10)),
        (1, 1, (0, 1)),
        (100, 20, (20, 0)),
        (100, 21, (0, 21)),
        (40, 10, (10, 0)),
        (40, 11, (0, 11)),
    ],
)
def test_few_deletions_are_applied_and_many_deletions_are_postponed_until_they_are_allowed(
    total: int, gone: int, expected: tuple[int, int]
) -> None:
    assert _gone(total, gone) == expected
    assert _gone(total, gone, allow=True) == (gone, 0)


def test_no_document_of_a_folder_that_was_not_scanned_is_deleted() -> None:
    assert _gone(10, 5, scanned="other") == (0, 0)
    assert _gone(10, 5, scanned="other", allow=True) == (0, 0)


def test_the_document_of_an_individually_named_file_is_deleted_only_if_deletions_are_allowed() -> None:
    assert _gone(10, 1, scanned="other", missing="root-0") == (0, 1)
    assert _gone(10, 1, scanned="other", missing="root-0", allow=True) == (1, 0)


def test_the_limit_on_deletions_applies_to_each_folder_separately() -> None:
    documents = [*_documents(3, "small"), *_documents(100, "large")]
    present = [document.document_id for document in documents[3:]]
    found = find_deleted(documents, present, frozenset(["small", "large"]), frozenset(), allow_delete=False)
    assert ([d.root for d in found.held_back], found.removed) == (["small"] * 3, ())
