"""Real documents that are ingested into PostgreSQL give the same collection and the same answers as with SQLite."""

from pathlib import Path

import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import EmbeddingSettings, Settings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sources.request import IngestRequest
from elt_llm_query.engine import open_engine
from stored.folders import generated_files, run_ingest, write_files
from stored.postgres import PostgresServer
from stored.shelf import COLLECTION, writing

SETTINGS = Settings(embedding=EmbeddingSettings(provider="fake"))


def _ingested(place: Path | Workspace, folder: Path) -> tuple[str, list[str]]:
    model = FakeEmbedding()
    with writing(place) as store:
        ingest(IngestRequest(COLLECTION, (folder,)), SETTINGS, model, store, SilentListener(), DirectParser())
        record = store.collections.get(COLLECTION)
        assert record.published is not None
        digest = store.generations.get(record.id, record.published).collection_hash.hex()
    with open_engine(SETTINGS, place, [COLLECTION], embedding=model) as engine:
        found = engine.search("Which canal has a lock near the harbour?", top_k=10)
        return digest, [chunk.text for chunk in found.chunks]


def test_an_ingest_gives_the_same_collection_and_answers_with_postgresql_as_with_sqlite(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    folder = write_files(tmp_path / "docs", generated_files(10))
    assert _ingested(postgres.workspace(tmp_path / "shared"), folder) == _ingested(tmp_path / "local", folder)


@pytest.mark.long
def test_all_documents_of_the_datasets_give_the_same_hash_with_postgresql_as_with_sqlite(
    postgres: PostgresServer, tmp_path: Path, datasets: Path
) -> None:
    folder = datasets / "docs"
    assert _ingested(postgres.workspace(tmp_path / "shared"), folder) == _ingested(tmp_path / "local", folder)


def test_a_second_ingest_of_unchanged_files_reads_nothing_again(workspace: Workspace, tmp_path: Path) -> None:
    folder = write_files(tmp_path / "docs", generated_files(4))
    run_ingest(workspace, folder)
    report = run_ingest(workspace, folder)
    assert {file.status for file in report.files} <= {"unchanged"}
    with open_store(workspace) as store:
        assert store.collections.get(COLLECTION).published == 1
