"""An ingest is refused with a hint, before anything is changed, if Qdrant cannot store its points."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from elt_llm_core.errors import IndexRefused, IndexUnavailable
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import EmbeddingSettings, IndexSettings, Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sources.request import IngestRequest
from elt_llm_query.engine import open_engine
from optional import needs
from stored.folders import generated_files, write_files
from stored.shelf import COLLECTION, writing

needs("qdrant_client")

from elt_llm_core.index.qdrant import collection_name  # noqa: E402
from qdrant_client import models as q  # noqa: E402
from stored.qdrant_server import KEY, READER_KEY, QdrantServer, running_qdrant  # noqa: E402

pytestmark = pytest.mark.network
MODEL = FakeEmbedding()
NAME, SIZE = collection_name(MODEL.fingerprint), MODEL.fingerprint.dimension
FULL_DISK = 500, "Service internal error: No space left on device: WAL buffer size exceeds available disk space"
READ_ONLY = 403, "Read-only mode: write operations are not allowed."


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with running_qdrant() as running:
        yield running


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", generated_files(3))


def run(place: Path, docs: Path, index: IndexSettings) -> None:
    settings = Settings(embedding=EmbeddingSettings(provider="fake"), index=index)
    with writing(place) as store:
        ingest(IngestRequest(COLLECTION, (docs,)), settings, MODEL, store, SilentListener(), DirectParser())


@dataclass(frozen=True)
class Refusal:
    """A server that refuses writes, by a fault or because of the API key, and the expected message and hint."""

    fault: tuple[int, str] | None
    key: str
    shown: str
    mend: str


REFUSALS = {
    "no key": Refusal(None, "", "401 Must provide an API key", "Set ELT_LLM_INDEX__API_KEY"),
    "key that reads": Refusal(None, READER_KEY, "403 .*manage access is required", "Use a key that may write"),
    "read-only": Refusal(READ_ONLY, KEY, "403 .*Read-only mode", "check that the server is not read-only"),
    "full disk": Refusal(FULL_DISK, KEY, "500 .*No space left on device", "Free space or memory on Qdrant's machine"),
}


def contents(place: Path, server: QdrantServer) -> tuple[object, ...]:
    """Return all points of the server, and the numbers of collections, documents and generations of the store."""
    names = [it.name for it in server.client.get_collections().collections]
    points = [server.client.scroll(name, limit=1000)[0] for name in names]
    with open_store(place) as store:
        tables = ("collections", "document_versions", "generations", "vectors")
        rows = [store.database.row(f"SELECT count(*) FROM {table}") for table in tables]  # noqa: S608
    return names, points, rows


@pytest.mark.sampled(3)
@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_qdrant_server_that_refuses_writes_is_reported_with_a_hint_before_anything_is_changed(
    server: QdrantServer,
    docs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    published: bool,
    refusal: Refusal,
) -> None:
    place = tmp_path / "data"
    run(place, docs if published else write_files(tmp_path / "other", {"a.md": "One."}), IndexSettings())
    if published:
        run(place, docs, server.settings)
    write_files(docs, {"new.md": "A new document."})
    before = contents(place, server)
    server.with_keys, server.write_fault = True, refusal.fault
    monkeypatch.setenv("ELT_LLM_INDEX__API_KEY", refusal.key)
    with pytest.raises(IndexRefused, match=refusal.shown) as raised:
        run(place, docs, server.settings)
    assert refusal.mend in raised.value.hint
    assert "reader-key" not in f"{raised.value}{raised.value.hint}"
    assert contents(place, server) == before


@pytest.mark.parametrize(
    ("size", "distance", "shown"),
    [(SIZE + 1, q.Distance.COSINE, f"has {SIZE + 1} dimensions"), (SIZE, q.Distance.DOT, "the distance Dot")],
)
def test_a_qdrant_collection_of_another_dimension_or_distance_is_refused_before_anything_is_changed(
    server: QdrantServer, docs: Path, tmp_path: Path, size: int, distance: q.Distance, shown: str
) -> None:
    place = tmp_path / "data"
    run(place, docs, IndexSettings())
    server.client.create_collection(NAME, q.VectorParams(size=size, distance=distance))
    write_files(docs, {"new.md": "A new document."})
    before = contents(place, server)
    with pytest.raises(IndexRefused, match=shown) as raised:
        run(place, docs, server.settings)
    assert "Delete or rename it" in raised.value.hint
    assert contents(place, server) == before


def test_without_the_qdrant_server_a_collection_is_searched_by_keywords_with_a_note_and_an_ingest_fails(
    docs: Path, tmp_path: Path
) -> None:
    place, settings = tmp_path / "data", Settings(embedding=EmbeddingSettings(provider="fake"))
    with running_qdrant() as server:
        run(place, docs, server.settings)
        before = contents(place, server)
    with open_engine(settings, place, [COLLECTION], embedding=MODEL) as engine:
        found = engine.search("Which canal has a lock near the harbour?")
    assert found.chunks
    assert "cannot be reached" in " ".join(found.notes)
    write_files(docs, {"new.md": "A new document."})
    with pytest.raises(IndexUnavailable, match="cannot be reached") as raised:
        run(place, docs, server.settings)
    assert "Start the server" in raised.value.hint
    with open_store(place) as store:
        assert store.database.row("SELECT count(*) FROM generations") == before[2][2]  # type: ignore[index]


def test_a_qdrant_collection_is_created_as_configured_and_missing_payload_indexes_are_added(
    server: QdrantServer, docs: Path, tmp_path: Path
) -> None:
    index = server.settings.model_copy(update={"shards": 4, "replicas": 3})
    run(tmp_path / "data", docs, index)
    creation = next(body for method, path, body in server.requests if method == "PUT" and path.endswith(NAME))
    assert creation["vectors"] == {"size": SIZE, "distance": "Cosine"}
    assert (creation["shard_number"], creation["replication_factor"]) == (4, 3)
    assert creation["write_consistency_factor"] == 2
    assert creation["hnsw_config"] == {"m": 16, "ef_construct": 100}
    schemas = {it["field_name"]: it["field_schema"] for it in server.bodies("/index")}
    assert schemas.keys() == {"lineage", "tenant_id", "collection", "node", "born", "died", "codes"}
    assert {name for name, schema in schemas.items() if schema.get("is_tenant")} == {"lineage", "tenant_id"}
    assert schemas["codes"] == {"type": "integer", "lookup": True, "range": False}
    del server.schemas[NAME]["codes"]
    write_files(docs, {"new.md": "A new document."})
    run(tmp_path / "data", docs, index)
    assert [it["field_name"] for it in server.bodies("/index")[7:]] == ["codes"]
