"""Vectors ("points") in Qdrant: a folder or a server, an unreachable server, wrong collections, and the key."""

import json
from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import drop, open_generation
from elt_llm_core.errors import IndexRefused, IndexUnavailable, SettingsError
from elt_llm_core.index.qdrant import PointDatabases, database_key
from elt_llm_core.settings.tree import IndexSettings
from elt_llm_core.store.store import open_store
from optional import needs
from stored.points import MODEL, QDRANT_FOLDER, QdrantPlace
from stored.shelf import COLLECTION, put, some_documents, writing

needs("qdrant_client")

from elt_llm_core.index.qdrant import collection_name  # noqa: E402
from qdrant_client import models as q  # noqa: E402

NOWHERE = IndexSettings(backend="qdrant", url="http://127.0.0.1:9", timeout_seconds=1)


def test_a_copied_data_directory_does_not_change_the_points_of_the_original(tmp_path: Path) -> None:
    with writing(tmp_path / "one") as store:
        put(store, some_documents(3), MODEL, index=QDRANT_FOLDER)
    record = next((tmp_path / "one" / "points").glob("*.json"))
    record.write_text(json.dumps({**json.loads(record.read_text()), "home": "/elsewhere"}))
    kept = QdrantPlace(tmp_path / "one").stored()
    with writing(tmp_path / "one") as store:
        put(store, some_documents(4), MODEL, index=QDRANT_FOLDER)
        drop(store, COLLECTION)
    assert QdrantPlace(tmp_path / "one").stored() == kept


def test_publishing_while_the_qdrant_server_is_unreachable_fails_with_a_hint_and_changes_nothing(
    tmp_path: Path,
) -> None:
    with writing(tmp_path) as store:
        put(store, some_documents(2), MODEL, index=QDRANT_FOLDER)
        with pytest.raises(IndexUnavailable, match=r"http://127\.0\.0\.1:9 cannot be reached") as raised:
            put(store, some_documents(3), MODEL, index=NOWHERE)
        assert "Start the server, or correct index.url" in raised.value.hint
    with open_store(tmp_path) as store, open_generation(store, COLLECTION) as generation:
        assert generation.number == 1
        assert generation.size == 8


def test_a_qdrant_folder_that_another_process_has_open_is_reported(tmp_path: Path) -> None:
    with (
        QdrantPlace(tmp_path).points(),
        PointDatabases(tmp_path) as others,
        pytest.raises(IndexUnavailable, match="Another process"),
    ):
        others.get(QDRANT_FOLDER, MODEL.fingerprint)


@pytest.mark.parametrize(
    ("size", "distance", "shown"),
    [(33, q.Distance.COSINE, "33 dimensions and the distance Cosine"), (32, q.Distance.DOT, "the distance Dot")],
)
def test_a_qdrant_collection_with_another_dimension_or_distance_is_refused(
    tmp_path: Path, size: int, distance: q.Distance, shown: str
) -> None:
    with QdrantPlace(tmp_path).qdrant() as database:
        database.client.create_collection(database.name, q.VectorParams(size=size, distance=distance))
        with pytest.raises(IndexRefused, match=shown) as raised:
            database.prepare()
        assert "Delete or rename it" in raised.value.hint
    assert collection_name(MODEL.fingerprint) in str(raised.value)


def test_the_database_key_is_read_from_an_environment_variable_or_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("sesame\n")
    assert database_key({}) is None
    assert database_key({"ELT_LLM_INDEX__API_KEY": " one "}) == "one"
    assert database_key({"ELT_LLM_INDEX__API_KEY_FILE": str(path)}) == "sesame"
    with pytest.raises(SettingsError, match="which cannot be read"):
        database_key({"ELT_LLM_INDEX__API_KEY_FILE": str(tmp_path / "none")})
