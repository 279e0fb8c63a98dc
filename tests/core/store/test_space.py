"""Room is looked for before work begins, and what is missing is told in bytes."""

from pathlib import Path

import pytest
from elt_llm_core.errors import StoreError
from elt_llm_core.store.space import can_write, generation_size, require_space


def test_too_little_room_is_told_with_path_and_bytes(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=rf"{tmp_path}.*a test: {1 << 60} bytes are needed, \d+ are free") as caught:
        require_space(tmp_path / "not" / "there" / "yet", 1 << 60, "a test")
    assert "Make room" in caught.value.hint


def test_enough_room_is_no_matter(tmp_path: Path) -> None:
    require_space(tmp_path, 1, "a test")


def test_a_folder_is_tried_and_left_as_it_was(tmp_path: Path) -> None:
    assert can_write(tmp_path, 1000)
    assert not can_write(tmp_path / "missing", 1000)
    assert not can_write(tmp_path, 1 << 60)
    assert list(tmp_path.iterdir()) == []


def test_a_generation_is_reckoned_larger_the_more_it_holds() -> None:
    assert generation_size(0, 384) < generation_size(1000, 64) < generation_size(1000, 384)
