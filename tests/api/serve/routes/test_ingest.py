"""Files of the server are ingested only from folders that the operator allows."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from processes.command_line import FAKE
from served.documents import TOKEN, documents, ended, key
from served.server import RunningServer, served

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Start a server that may read `shelf` and `data`, and no other folder."""
    folder = tmp_path_factory.mktemp("ingest")
    for name in ("shelf", "secrets", "data/deep"):
        (folder / name).mkdir(parents=True)
        (folder / name / "note.md").write_text(f"# Note\n\nWords about {name}.\n", encoding="utf-8")
    (folder / "shelf" / "way-out").symlink_to(folder / "secrets")
    environment = {**FAKE, "ELT_LLM_INGEST__ROOTS": "[shelf, data]", "ELT_LLM_DATA_DIR": str(folder / "data" / "kept")}
    with served(folder, token=TOKEN, environment=environment, requests_per_minute="100000") as server:
        yield server


@pytest.fixture
def client(server: RunningServer) -> httpx.Client:
    return server.client


def asked(client: httpx.Client, collection: str, *paths: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return client.post("/v1/ingest", json={"collection": collection, "paths": paths}, headers=headers)


def test_a_folder_within_an_allowed_folder_can_be_ingested_twice(server: RunningServer, client: httpx.Client) -> None:
    job = ended(client, asked(client, "shelf", "shelf").json()["id"])
    assert (job["status"], job["error"]) == ("done", "")
    assert documents(client, "shelf").keys() == {"note.md"}
    (server.folder / "shelf" / "more.md").write_text("# More\n\nMore words.\n", encoding="utf-8")
    again = ended(client, asked(client, "shelf").json()["id"])
    assert again["status"] == "done"
    assert documents(client, "shelf").keys() == {"note.md", "more.md"}
    assert client.get(f"/v1/jobs/{again['id']}/result").json()["counts"]["ok"] == 1


@pytest.mark.parametrize(
    "path",
    [
        *("secrets", "secrets/note.md", "/etc/passwd", "shelf/../secrets", "shelf/way-out", "..", "~", "", "\0"),
        *("file:///etc/passwd", "\\\\server\\share", "/proc/self/environ", "data", "data/kept", "data/kept/uploads"),
    ],
)
def test_paths_outside_the_allowed_folders_are_refused(client: httpx.Client, path: str) -> None:
    answer = asked(client, "elsewhere", path)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["hint"]


def test_a_folder_next_to_the_data_directory_can_be_ingested(client: httpx.Client) -> None:
    assert ended(client, asked(client, "deep", "data/deep").json()["id"])["status"] == "done"


def test_a_key_can_ingest_only_into_collections_it_may_write(server: RunningServer, client: httpx.Client) -> None:
    reader, writer = key(server, "reads", ["*"], []), key(server, "writes", [], ["mine"])
    assert asked(client, "shelf", "shelf", headers=reader).status_code == 403
    assert asked(client, "shelf", "shelf", headers=writer).status_code == 403
    accepted = asked(client, "mine", "shelf", headers=writer)
    assert accepted.status_code == 202
    assert client.post(f"/v1/jobs/{accepted.json()['id']}/cancel").json()["status"] == "cancelled"


def test_an_ingest_without_paths_is_refused_for_an_unknown_collection(client: httpx.Client) -> None:
    assert asked(client, "nothing").status_code == 400


def test_without_allowed_folders_only_uploads_are_ingested(sample_folder: Path, tmp_path: Path) -> None:
    with served(tmp_path) as server:
        (tmp_path / "note.md").write_text("# Note\n\nWords.\n", encoding="utf-8")
        answer = asked(server.client, "mine", "note.md")
        assert answer.status_code == 400
        assert "ingest.roots" in answer.json()["error"]["hint"]
