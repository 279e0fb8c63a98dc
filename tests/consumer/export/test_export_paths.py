"""Where an output cannot be written, that is said with the path and the cure."""

from pathlib import Path

import pytest
from elt_llm_consumer.export.atomic import write_whole
from elt_llm_core.errors import StoreError


def test_a_folder_with_a_zero_byte_is_told_like_any_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written: embedded null byte") as told:
        write_whole(tmp_path / "a\0b" / "out.json", b"{}")
    assert "outputs.folder" in told.value.hint
