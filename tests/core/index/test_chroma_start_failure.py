"""An index that Chroma failed to open can be opened after a repair, although Chroma caches its client by path."""

from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.chroma import create_chroma, open_chroma
from elt_llm_core.settings.tree import ChromaSettings


def test_a_damaged_chroma_index_fails_to_open_until_its_files_are_repaired(tmp_path: Path) -> None:
    folder = tmp_path / "chroma"
    with create_chroma(folder, ChromaSettings(), 2) as index:
        index.store.put(["a", "b"], np.eye(2, dtype=np.float32))
    database = folder / "chroma.sqlite3"
    whole = database.read_bytes()
    database.write_bytes(b"no database" * 400)
    for _ in range(3):
        with pytest.raises(CorruptIndex), open_chroma(folder):
            pass
    database.write_bytes(whole)
    with open_chroma(folder) as index:
        assert index.store.all_ids() == ["a", "b"]
