"""Only regular files within the size limit and inside their folder reach a worker; pipes do not block."""

import os
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.sandbox.guards import check_file


def reason(path: Path, within: Path | None = None) -> str:
    with pytest.raises(UnreadableDocument) as raised:
        check_file(path, within, 1)
    return str(raised.value)


def test_a_regular_file_passes_the_check(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(1024 * 1024))
    check_file(tmp_path / "a", None, 1)
    check_file(tmp_path / "a", tmp_path, 1)


def test_pipes_devices_and_folders_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert reason(tmp_path / "pipe") == "is not a regular file"
    assert reason(Path("/dev/null")) == "is not a regular file"
    assert reason(tmp_path) == "is not a regular file"


def test_a_missing_file_is_reported_with_the_system_error(tmp_path: Path) -> None:
    assert reason(tmp_path / "none") == "cannot be opened: No such file or directory"
    assert reason(tmp_path / "none", tmp_path) == "cannot be opened: No such file or directory"
    assert reason(tmp_path / "a\0b").startswith("cannot be opened: ")


def test_a_file_beyond_the_size_limit_is_reported_with_the_setting_to_raise(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(3 * 1024 * 1024)
    assert reason(tmp_path / "a") == "is 3 MB, more than the limit of 1 MB"


def test_a_symbolic_link_is_followed_only_if_its_target_is_inside_the_folder(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("secret")
    (folder / "a").write_text("word")
    (folder / "inside").symlink_to(folder / "a")
    (folder / "out").symlink_to(outside)
    (folder / "ring").symlink_to(folder / "ring")
    check_file(folder / "inside", folder, 1)
    assert reason(folder / "inside") == "is a symbolic link"
    assert reason(folder / "out", folder) == "is a symbolic link that leads out of the folder"
    assert reason(folder / ".." / "outside", folder) == "is a symbolic link that leads out of the folder"
    assert reason(folder / "ring", folder).startswith("cannot be opened: ")
