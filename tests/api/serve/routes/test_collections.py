"""Collections over HTTP: what a key may see of a collection, and how the key may change it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable
from processes.command_line import CommandLine
from served.answering_server import copied_project
from served.server import RunningServer, served

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = copied_project(sample_folder, tmp_path_factory.mktemp("collections") / "project")
    with served(folder, token="t" * 32) as server:
        yield server


@pytest.fixture
def reader(server: RunningServer) -> Iterator[httpx.Client]:
    """Return the headers of a key that reads the samples and may change nothing."""
    yield from _keyed(server, "reader", ["samples"])


@pytest.fixture
def stranger(server: RunningServer) -> Iterator[httpx.Client]:
    """Return the headers of a key that may read no existing collection."""
    yield from _keyed(server, "stranger", ["elsewhere"])


def _keyed(server: RunningServer, name: str, read: list[str]) -> Iterator[httpx.Client]:
    with closing(open_state(server.data_dir)) as state:
        secret = KeyTable(state).create(name, read, [])
        with httpx.Client(base_url=server.address, headers={"authorization": f"Bearer {secret}"}) as client:
            yield client
        KeyTable(state).revoke(name)


def test_collections_are_listed_with_size_embedding_model_and_health(server: RunningServer) -> None:
    [one] = server.client.get("/v1/collections").json()
    assert (one["name"], one["generation"], one["health"]) == ("samples", 1, "ok")
    assert one["documents"] > 3
    assert one["chunks"] > one["documents"]
    assert one["model"] == "fake fake"


def test_the_collection_route_returns_the_same_status_as_the_status_command(
    server: RunningServer, capsys: pytest.CaptureFixture[str]
) -> None:
    [reported] = CommandLine(server.folder, capsys).done("status", "-c", "samples", "--json").json["collections"]
    served_status = server.client.get("/v1/collections/samples").json()["status"]
    assert served_status == reported


def test_only_administrators_see_the_paths_of_source_folders(server: RunningServer, reader: httpx.Client) -> None:
    assert server.client.get("/v1/collections/samples").json()["status"]["roots"]
    reported = reader.get("/v1/collections/samples")
    assert reported.json()["status"]["roots"] == []
    assert str(server.folder) not in reported.text


def test_an_unreadable_collection_gets_the_same_response_as_an_unknown_collection(
    stranger: httpx.Client,
) -> None:
    assert stranger.get("/v1/collections").json() == []
    hidden, missing = stranger.get("/v1/collections/samples"), stranger.get("/v1/collections/nowhere")
    assert hidden.status_code == missing.status_code == 403
    assert hidden.json()["error"]["message"].replace("samples", "nowhere") == missing.json()["error"]["message"]


def test_a_read_only_key_cannot_change_a_collection(reader: httpx.Client) -> None:
    for way in ("verify", "rollback"):
        assert reader.post(f"/v1/collections/samples/{way}", json={}).status_code == 403


def test_verifying_an_undamaged_collection_reports_no_damage(server: RunningServer) -> None:
    report = server.client.post("/v1/collections/samples/verify", json={"deep": True}).json()
    assert report == {"ok": True, "damage": [], "unchecked": [], "healed": []}


def test_damage_to_a_collection_is_reported_and_after_a_repair_the_collection_can_be_searched(
    sample_folder: Path, tmp_path: Path
) -> None:
    with served(copied_project(sample_folder, tmp_path / "project")) as own:
        [generation] = (own.data_dir / "collections" / "samples").iterdir()
        damaged = max((path for path in generation.rglob("*") if path.is_file()), key=lambda it: it.stat().st_size)
        damaged.write_bytes(damaged.read_bytes()[:100])
        found = own.client.post("/v1/collections/samples/verify", json={}).json()
        assert not found["ok"]
        assert found["damage"][0]["healable"]
        mended = own.client.post("/v1/collections/samples/verify", json={"mend": True}).json()
        assert mended["ok"]
        assert mended["healed"]
        assert own.client.post("/v1/search", json={"question": "Who decides?"}).json()["chunks"]


def test_searches_rebuild_a_damaged_vector_file_in_memory_until_the_file_is_repaired(
    sample_folder: Path, tmp_path: Path
) -> None:
    folder = copied_project(sample_folder, tmp_path / "project")
    with served(folder, token="t" * 32) as own:
        [generation] = (own.data_dir / "collections" / "samples").iterdir()
        (generation / "vectors.npy").write_bytes(b"nothing")
        assert own.client.get("/ready").status_code == 200
        assert own.client.post("/v1/search", json={"question": "Who decides?"}).status_code == 200
        assert own.client.post("/v1/collections/samples/verify", json={"mend": True}).json()["ok"]


def test_a_rollback_shows_an_earlier_generation_and_can_be_undone(
    sample_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied_project(sample_folder, tmp_path / "project")
    (tmp_path / "more.md").write_text("# More\n\nA lantern hangs above the gate.\n")
    CommandLine(folder, capsys).done("ingest", tmp_path / "more.md", "-c", "samples")
    with served(folder) as own:
        back = own.client.post("/v1/collections/samples/rollback", json={}).json()
        assert back == {"collection": "samples", "left": 2, "now": 1}
        asked = own.client.post("/v1/ask", json={"question": "What hangs above the gate?"}).json()
        assert asked["metadata"]["generations"] == {"samples": 1}
        assert own.client.post("/v1/collections/samples/rollback", json={"to": 9}).status_code == 400
        again = own.client.post("/v1/collections/samples/rollback", json={"again": True}).json()
        assert again["now"] == 2


def test_profiles_are_listed_with_their_descriptions(server: RunningServer) -> None:
    listed = server.client.get("/v1/profiles").json()
    assert listed[0]["name"] == "default"
    assert {"fast", "thorough"} <= {one["name"] for one in listed}
    assert all(one["description"] for one in listed)
