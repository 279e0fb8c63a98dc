"""An output that cannot be written is reported with the path and advice."""

from pathlib import Path

import pytest
from elt_llm_consumer.export.text import write_atomically
from elt_llm_core.errors import StoreError


def test_an_output_folder_with_a_null_byte_is_reported_as_not_writable(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written: embedded null byte") as told:
        write_atomically(tmp_path / "a\0b" / "out.json", b"{}")
    assert "outputs.folder" in told.value.hint
