"""The function `sync_tree` flushes every file below a folder to disk, and the folder last."""

from pathlib import Path

import pytest
from elt_llm_core.store.disk import sync_tree


def test_all_files_and_folders_of_a_tree_are_flushed_to_disk(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("text")
    (tmp_path / "empty").touch()
    sync_tree(tmp_path)


def test_a_failed_flush_to_disk_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        sync_tree(tmp_path)
