"""One engine over several collections, some empty, damaged, with a common document, or built with another model."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.errors import FingerprintMismatch, UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import EmbeddingSettings, QuerySettings, Settings
from elt_llm_core.store.store import open_store
from elt_llm_query.engine import open_engine
from stored.folders import run_ingest, write_files
from stored.shelf import writing

SETTINGS = Settings(embedding=EmbeddingSettings(provider="fake"), query=QuerySettings(cache_size=0))
MAST = {"mast.md": "# Mast\n\nThe mast is twelve metres tall.\n"}
QUAY = {"quay.md": "# Quay\n\nThe quay is ninety metres long.\n"}
TALL = "How tall is the mast?"


def fill(data_dir: Path, name: str, files: Mapping[str, str], model: FakeEmbedding | None = None) -> None:
    run_ingest(data_dir, write_files(data_dir.parent / name, files), collection=name, embedding=model)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Two collections: `port-quay` and `port-ship`."""
    fill(tmp_path / "data", "port-ship", MAST)
    fill(tmp_path / "data", "port-quay", QUAY)
    return tmp_path / "data"


def test_a_document_in_two_collections_is_read_once_and_both_locations_are_listed(data_dir: Path) -> None:
    fill(data_dir, "port-copy", MAST)
    with open_engine(SETTINGS, data_dir, [], prefixes=["port-"]) as engine:
        result = engine.ask(TALL)
    assert "twelve metres" in result.answer
    [first, *others] = [chunk for chunk in result.chunks if "twelve" in chunk.text]
    assert others == []
    places = {first.collection, *(place["collection"] for place in first.metadata["alternates"])}
    assert places == {"port-copy", "port-ship"}


def test_collections_with_different_embedding_models_are_searched_together(data_dir: Path) -> None:
    other = FakeEmbedding(version="2")
    fill(data_dir, "port-other", {"crane.md": "# Crane\n\nThe crane lifts nine tonnes.\n"}, other)
    names = ["port-ship", "port-other"]
    with open_engine(SETTINGS, data_dir, names, embedding=[FakeEmbedding(), other]) as engine:
        assert engine.ask(TALL).citations[0].collection == "port-ship"
        assert engine.ask("What does the crane lift?").citations[0].collection == "port-other"
    with pytest.raises(FingerprintMismatch, match="port-other"):
        open_engine(SETTINGS, data_dir, names)


def test_a_collection_without_a_generation_is_left_out_with_a_note(data_dir: Path) -> None:
    with writing(data_dir) as store:
        store.collections.create("port-new")
    with open_engine(SETTINGS, data_dir, [], prefixes=["port-"]) as engine:
        result = engine.ask(TALL)
        assert any("'port-new' was left out" in note for note in engine.search(TALL).notes)
    assert result.citations[0].collection == "port-ship"
    assert any("'port-new' was left out" in note for note in result.notes)
    assert set(result.metadata["generations"]) == {"port-quay", "port-ship"}
    with pytest.raises(UsageError, match="'port-new' is empty"):
        open_engine(SETTINGS, data_dir, ["port-new"])


def test_a_note_reports_a_collection_that_was_emptied(data_dir: Path) -> None:
    with writing(data_dir) as store:
        forget(store, "port-quay", "quay.md", SilentListener())
    with open_engine(SETTINGS, data_dir, ["port-quay", "port-ship"]) as engine:
        result = engine.ask(TALL)
    assert result.citations[0].collection == "port-ship"
    assert any("'port-quay' has no chunks" in note for note in result.notes)


def test_a_collection_with_damaged_vectors_is_searched_with_a_note(data_dir: Path) -> None:
    with open_engine(SETTINGS, data_dir, ["port-quay", "port-ship"]) as engine:
        whole = engine.ask(TALL)
    vectors = data_dir / "collections" / "port-quay" / "1" / "vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-7])
    with open_engine(SETTINGS, data_dir, ["port-quay", "port-ship"]) as engine:
        result = engine.ask(TALL)
    assert "twelve metres" in result.answer
    assert (result.answer, result.citations) == (whole.answer, whole.citations)
    [note] = [note for note in result.notes if "vectors.npy" in note]
    assert "rebuilt in memory. Run: elt-llm verify -c port-quay" in note


def test_a_result_from_several_collections_reports_the_candidate_budget_of_each_collection(data_dir: Path) -> None:
    with open_engine(SETTINGS, data_dir, ["port-ship", "port-quay"]) as engine:
        assert engine.ask(TALL).metadata["budget"] == {
            "port-ship": {"of each retriever": 1, "nodes": 1, "brought": 2},
            "port-quay": {"of each retriever": 1, "nodes": 1, "brought": 1},
        }
    with open_engine(SETTINGS, data_dir, ["port-ship"]) as engine:
        assert "budget" not in engine.ask(TALL).metadata


def test_a_prefix_that_selects_many_collections_searches_only_the_best_collections_and_adds_a_note(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "data"
    for number, thing in enumerate(["anchor", "basin", "canal", "delta", "estuary", "ferry"]):
        fill(data_dir, f"part-{number}", {f"{thing}.md": f"# {thing}\n\nThe {thing} is {number + 3} metres long.\n"})
    few = SETTINGS.model_copy(update={"query": QuerySettings(cache_size=0, route_above=4, route_to=2)})
    with open_engine(few, data_dir, [], prefixes=["part-"]) as engine:
        result = engine.ask("How long is the canal?")
    assert "5 metres" in result.answer
    assert any("2 of 6 collections were searched" in note for note in result.notes)
    assert len(result.metadata["generations"]) == 6
    assert len(result.metadata["budget"]) == 2
    with open_store(data_dir) as store:
        assert len(store.collections.all()) == 6
