"""Tests of `query_collection` and `query_collections`, which answer a question with one call."""

from pathlib import Path

import pytest
from elt_llm_core.errors import UnknownCollection
from elt_llm_core.settings.tree import EmbeddingSettings, Settings
from elt_llm_query.engine import query_collection, query_collections
from stored.folders import run_ingest, write_files

FAKE = Settings(embedding=EmbeddingSettings(provider="fake"))


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """The collections `ship` and `port`, in the data directory of the folder `work`."""
    data_dir = tmp_path / "work" / ".elt_llm"
    for name, text in (("ship", "The mast is twelve metres tall."), ("port", "The quay is ninety metres long.")):
        run_ingest(data_dir, write_files(tmp_path / name, {"note.md": text}), collection=name)
    return data_dir


def test_query_collection_answers_from_one_collection(data_dir: Path) -> None:
    result = query_collection("How tall is the mast?", "ship", settings=FAKE, data_dir=data_dir)
    assert "twelve metres" in result.answer
    assert result.citations[0].collection == "ship"


def test_query_collections_answers_from_several_collections(data_dir: Path) -> None:
    result = query_collections("How long is the quay?", ["ship", "port"], settings=FAKE, data_dir=data_dir)
    assert "ninety metres" in result.answer
    assert set(result.metadata["generations"]) == {"ship", "port"}


def test_query_helpers_use_the_same_default_settings_and_data_directory_as_the_command(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data_dir.parent)
    monkeypatch.setenv("ELT_LLM_EMBEDDING__PROVIDER", "fake")
    assert query_collection("How tall is the mast?", "ship").answered


def test_an_unknown_collection_is_reported_with_the_most_similar_name(data_dir: Path) -> None:
    with pytest.raises(UnknownCollection) as unknown:
        query_collection("How tall is the mast?", "shop", settings=FAKE, data_dir=data_dir)
    assert unknown.value.hint == "Nearest: ship."
