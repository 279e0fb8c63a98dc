"""Files of the server are ingested only from allowed folders; ingests continue after cancelled jobs and rollbacks."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.uploads import UploadActions
from elt_llm_api.serve.errors import RolledBack
from elt_llm_api.serve.services import open_services
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.uploads import INCOMING
from processes.command_line import FAKE
from served.documents import TOKEN, documents, ended, key, upload, uploaded
from served.server import RunningServer, served

pytestmark = pytest.mark.network
ROSES = {"roses.md": "# Roses\n\nRoses are watered every second day.\n"}


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


def test_the_uploads_of_a_cancelled_job_are_named_and_read_by_the_next_ingest_without_paths(
    server: RunningServer, client: httpx.Client
) -> None:
    uploaded(client, "kept", ROSES)
    with writer_lock(server.data_dir, "somebody else"):
        files = {"roses.md": "# Roses\n\nRoses are watered daily.\n", "tulips.md": "# Tulips\n\nTulips are not.\n"}
        identity = upload(client, "kept", files).json()["job"]["id"]
        error = client.post(f"/v1/jobs/{identity}/cancel").json()["error"]
    assert error.startswith("The uploads are kept: roses.md, tulips.md. To read them, ingest 'kept' without paths, or")
    listing = client.get("/v1/documents", params={"collection": "kept"}).json()
    assert (listing["unread_uploads"], listing["total"]) == (["roses.md", "tulips.md"], 1)
    assert uploaded(client, "kept", {"lilies.md": "# Lilies\n\nLilies are rare.\n"})["status"] == "done"
    assert documents(client, "kept").keys() == {"roses.md", "lilies.md"}
    again = ended(client, client.post("/v1/ingest", json={"collection": "kept"}).json()["id"])
    read = {one["path"]: one["status"] for one in client.get(f"/v1/jobs/{again['id']}/result").json()["files"]}
    assert read == {"lilies.md": "unchanged", "roses.md": "ok", "tulips.md": "ok"}
    assert documents(client, "kept").keys() == {"roses.md", "tulips.md", "lilies.md"}
    assert client.get("/v1/documents", params={"collection": "kept"}).json()["unread_uploads"] == []


def test_the_uploads_of_a_cancelled_job_into_a_new_collection_are_read_by_the_next_ingest(
    server: RunningServer, client: httpx.Client
) -> None:
    with writer_lock(server.data_dir, "somebody else"):
        identity = upload(client, "postponed", ROSES).json()["job"]["id"]
        client.post(f"/v1/jobs/{identity}/cancel")
    listing = client.get("/v1/documents", params={"collection": "postponed"}).json()
    assert listing == {"documents": [], "total": 0, "unread_uploads": ["roses.md"]}
    other = key(server, "other", ["shelf"], [])
    assert client.get("/v1/documents", params={"collection": "postponed"}, headers=other).status_code == 403
    assert ended(client, client.post("/v1/ingest", json={"collection": "postponed"}).json()["id"])["status"] == "done"
    assert documents(client, "postponed").keys() == {"roses.md"}


def test_a_forgotten_document_whose_new_upload_was_cancelled_is_read_by_the_next_ingest_without_paths(
    server: RunningServer, client: httpx.Client
) -> None:
    uploaded(client, "again", {**ROSES, "tulips.md": "# Tulips\n\nTulips are not.\n"})
    forgotten = client.delete(f"/v1/documents/again/{documents(client, 'again')['roses.md']['id']}")
    assert ended(client, forgotten.json()["id"])["status"] == "done"
    with writer_lock(server.data_dir, "somebody else"):
        client.post(f"/v1/jobs/{upload(client, 'again', ROSES).json()['job']['id']}/cancel")
    assert ended(client, client.post("/v1/ingest", json={"collection": "again"}).json()["id"])["status"] == "done"
    assert documents(client, "again").keys() == {"roses.md", "tulips.md"}


@pytest.mark.parametrize("way", ["resume", "rebuild"])
def test_after_a_rollback_uploads_and_ingests_are_refused_until_one_of_them_resumes_or_rebuilds(
    server: RunningServer, client: httpx.Client, way: str
) -> None:
    collection, more = f"gates-{way}", {"more.md": "# More\n\nA lantern hangs above the gate.\n"}
    for text in ("Gates open at nine.", "Gates open at ten."):
        uploaded(client, collection, {"gates.md": f"# Gates\n\n{text}\n"})
    assert client.post(f"/v1/collections/{collection}/rollback", json={}).json()["now"] == 1
    refused = upload(client, collection, more)
    assert (refused.status_code, refused.json()["error"]["type"]) == (409, "rolled_back")
    assert "resume=true" in refused.json()["error"]["hint"]
    assert not list(server.data_dir.glob(f"uploads/{collection}/more.md"))
    assert asked(client, collection).status_code == 409
    accepted = client.post("/v1/ingest", json={"collection": collection, way: True})
    assert ended(client, accepted.json()["id"])["status"] == "done"
    assert uploaded(client, collection, more)["status"] == "done"


def test_an_upload_with_the_field_resume_continues_after_a_rollback(client: httpx.Client) -> None:
    for text in ("Doors open at nine.", "Doors open at ten."):
        uploaded(client, "doors", {"doors.md": f"# Doors\n\n{text}\n"})
    client.post("/v1/collections/doors/rollback", json={})
    files = [("files", ("more.md", b"# More\n\nA lantern hangs above the gate.\n"))]
    sent = client.post("/v1/documents", data={"collection": "doors", "resume": "true"}, files=files)
    assert ended(client, sent.json()["job"]["id"])["status"] == "done"
    assert documents(client, "doors").keys() == {"doors.md", "more.md"}


def test_an_upload_during_which_its_collection_is_rolled_back_is_refused_and_not_kept(
    server: RunningServer, client: httpx.Client, tmp_path: Path
) -> None:
    for text in ("Locks open at nine.", "Locks open at ten."):
        uploaded(client, "locks", {"locks.md": f"# Locks\n\n{text}\n"})
    os.mkfifo(tmp_path / "more.md")  # copying it takes until the test closes its other end
    loaded = load_settings(None, {**FAKE, "ELT_LLM_DATA_DIR": str(server.data_dir)}, server.folder)
    with open_services(loaded) as services, ThreadPoolExecutor(1) as pool:
        storing = pool.submit(UploadActions(services).add, LOCAL, "locks", [str(tmp_path / "more.md")])
        with (tmp_path / "more.md").open("wb") as other_end:
            other_end.write(b"# More\n\nA lantern hangs above the lock.\n")
            while not (storing.done() or list(server.data_dir.glob(f"uploads/{INCOMING}/*"))):
                time.sleep(0.01)
            assert client.post("/v1/collections/locks/rollback", json={}).is_success
        with pytest.raises(RolledBack):
            storing.result()
    assert not list(server.data_dir.glob("uploads/locks/more.md"))
