"""A context is requested from the language model only once, even after an interruption."""

from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import ModelError
from elt_llm_core.models.fakes import ScriptedLLM
from elt_llm_core.store.store import open_store
from stored.folders import run_ingest, write_files
from stored.shelf import COLLECTION, Notes

TEXT = "# Harbour\n\nThe ferry leaves at noon.\n"


def _contexts(data_dir: Path) -> list[str]:
    with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
        assert verify_collection(store, COLLECTION).damage == ()
        return sorted(node.context for node in generation.nodes(generation.ids))


def test_an_unchanged_file_is_neither_read_nor_enriched_again(tmp_path: Path) -> None:
    docs, notes = write_files(tmp_path / "docs", {"a.md": TEXT}), Notes()
    llm = ScriptedLLM(["This is from the timetable of the harbour."])
    first = run_ingest(tmp_path / "data", docs, llm=llm, progress=notes)
    assert "called 1 times" in notes.notes[0]
    assert "timetable of the harbour" in _contexts(tmp_path / "data")[0]
    again = run_ingest(tmp_path / "data", docs, llm=llm)
    assert (first.embedded, again.published, again.counts) == (1, False, {"unchanged": 1})
    assert len(llm.prompts) == 1


def test_after_a_model_error_the_next_ingest_requests_only_the_missing_contexts(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {"a.md": TEXT, "b.md": TEXT.replace("ferry", "yawl")})
    with pytest.raises(ModelError):
        run_ingest(tmp_path / "data", docs, llm=ScriptedLLM(["It is about the ferry and its time."]))
    second = ScriptedLLM(["It is about the yawl and its time."])
    run_ingest(tmp_path / "data", docs, llm=second)
    assert len(second.prompts) == 1
    assert ["ferry" in _contexts(tmp_path / "data")[0], "yawl" in _contexts(tmp_path / "data")[1]] == [True, True]
