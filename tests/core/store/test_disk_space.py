"""Disk space is checked before work starts, and errors name the missing bytes."""

from pathlib import Path

import pytest
from elt_llm_core.errors import StoreError
from elt_llm_core.store.disk import can_write, generation_size, require_space, tree_size


def test_too_little_disk_space_is_reported_with_path_and_bytes(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=rf"{tmp_path}.*a test: {1 << 60} bytes are needed, \d+ are free") as caught:
        require_space(tmp_path / "not" / "there" / "yet", 1 << 60, "a test")
    assert "Free space" in caught.value.hint


def test_enough_disk_space_is_accepted(tmp_path: Path) -> None:
    require_space(tmp_path, 1, "a test")


def test_checking_whether_a_folder_is_writable_leaves_it_unchanged(tmp_path: Path) -> None:
    assert can_write(tmp_path, 1000)
    assert not can_write(tmp_path / "missing", 1000)
    assert not can_write(tmp_path, 1 << 60)
    assert list(tmp_path.iterdir()) == []


def test_the_size_of_a_folder_counts_each_file_once_and_no_link(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "file")
    (tmp_path / "circle").symlink_to("circle")
    assert tree_size(tmp_path) == 5
    assert tree_size(tmp_path / "missing") == 0


def test_the_estimated_size_of_a_generation_grows_with_its_content() -> None:
    assert generation_size(0, 384) < generation_size(1000, 64) < generation_size(1000, 384)
