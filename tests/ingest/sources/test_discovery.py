"""Discovery finds every supported file once, and reports every other path."""

import os
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from elt_llm_core.errors import UsageError
from elt_llm_ingest.sources.discovery import Discovery, discover


def _touch(path: Path, text: str = "words") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _reasons(found: Discovery) -> dict[str, str]:
    return {Path(skipped.path).name: skipped.reason for skipped in found.skipped}


def test_files_are_found_in_the_order_of_their_names_with_path_and_size(tmp_path: Path) -> None:
    for name in ("b.md", "a/z.txt", "a/b.pdf", "c.HTML"):
        _touch(tmp_path / name)
    found = discover([tmp_path])
    assert [file.relative for file in found.files] == ["b.md", "c.HTML", "a/b.pdf", "a/z.txt"]
    assert {file.size for file in found.files} == {5}
    assert all(file.root == tmp_path.resolve() and file.path.is_file() for file in found.files)
    assert found.scanned_roots == (tmp_path.resolve(),)


def test_every_skipped_path_is_reported_with_its_reason(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _touch(root / "kept.md")
    _touch(root / ".hidden.md")
    _touch(root / ".git" / "config.md")
    _touch(root / "tool.exe")
    _touch(root / "README")
    (root / "out.md").symlink_to(_touch(tmp_path / "secret.md"))
    (root / "dead.md").symlink_to(tmp_path / "nowhere.md")
    (root / "loop").symlink_to(root)
    (root / "same.md").symlink_to(root / "kept.md")
    os.mkfifo(root / "pipe.md")
    found = discover([root])
    assert [file.relative for file in found.files] == ["kept.md", "same.md"]
    assert _reasons(found) == {
        ".git": "hidden",
        ".hidden.md": "hidden",
        "README": "no reader for files without a suffix",
        "dead.md": "symbolic link to a missing file",
        "loop": "symbolic link to a folder that is already scanned",
        "out.md": "symbolic link that leads out of the folder",
        "pipe.md": "not a regular file",
        "tool.exe": "no reader for .exe",
    }


def test_the_folder_of_a_file_that_is_named_individually_does_not_count_as_scanned(tmp_path: Path) -> None:
    found = discover([_touch(tmp_path / "one.md")])
    assert [(file.root, file.relative) for file in found.files] == [(tmp_path.resolve(), "one.md")]
    assert found.scanned_roots == ()


def test_a_file_reached_by_two_paths_is_found_once(tmp_path: Path) -> None:
    _touch(tmp_path / "sub" / "one.md")
    found = discover([tmp_path / "sub" / "one.md", tmp_path / "sub", tmp_path])
    assert [file.relative for file in found.files] == ["sub/one.md"]
    assert set(_reasons(found)) == {"one.md"}


def test_file_names_are_normalised_to_composed_unicode(tmp_path: Path) -> None:
    _touch(tmp_path / unicodedata.normalize("NFD", "Übersicht.md"))
    assert [file.relative for file in discover([tmp_path]).files] == ["Übersicht.md"]


def test_a_modification_time_that_was_set_back_does_not_hide_a_change(tmp_path: Path) -> None:
    path = _touch(tmp_path / "a.md", "one")
    os.utime(path, ns=(0, 0))
    [before] = discover([path]).files
    time.sleep(0.02)  # longer than the resolution of the kernel's file clock
    path.write_text("two")
    os.utime(path, ns=(0, 0))
    [after] = discover([path]).files
    assert after.size == before.size
    assert after.modified_ns != before.modified_ns


def test_a_file_whose_name_is_not_utf8_is_skipped_with_the_reason(tmp_path: Path) -> None:
    try:
        with open(os.path.join(os.fsencode(tmp_path), b"caf\xe9.md"), "wb"):
            pass
    except OSError:
        pytest.skip("the file system takes UTF-8 names only")
    found = discover([tmp_path])
    assert found.files == ()
    assert _reasons(found) == {"caf\ufffd.md": "its name is not valid UTF-8"}


def test_the_error_for_a_missing_path_suggests_the_nearest_name(tmp_path: Path) -> None:
    _touch(tmp_path / "handbook" / "one.md")
    with pytest.raises(UsageError, match="no file or folder") as caught:
        discover([tmp_path / "handbok"])
    assert "handbook" in caught.value.hint


@contextmanager
def _ordinary_user() -> Iterator[None]:
    """Run the block as an ordinary user, because the superuser may read everything."""
    superuser = os.geteuid() == 0
    if superuser:
        os.seteuid(65534)
    try:
        yield
    finally:
        if superuser:
            os.seteuid(0)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """Return a folder that every user can read."""
    with TemporaryDirectory() as folder:
        path = Path(folder).resolve()
        path.chmod(0o755)
        yield path


def test_a_source_folder_counts_as_incompletely_scanned_if_a_folder_in_it_cannot_be_read(public_folder: Path) -> None:
    _touch(public_folder / "open.md")
    closed = _touch(public_folder / "closed" / "one.md").parent
    closed.chmod(0)
    try:
        with _ordinary_user():
            found = discover([public_folder])
    finally:
        closed.chmod(0o700)
    assert [file.relative for file in found.files] == ["open.md"]
    assert "cannot be read" in _reasons(found)["closed"]
    assert found.scanned_roots == ()
