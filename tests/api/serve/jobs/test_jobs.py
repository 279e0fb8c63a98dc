"""Jobs are queued, followed, cancelled and run exactly once, even if several servers share the data directory."""

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue
from elt_llm_core.store.lock import writer_lock
from served.documents import TOKEN, ended, key, until, upload
from served.server import RunningServer, served

pytestmark = pytest.mark.network
Followed = tuple[str, list[tuple[str, str, dict[str, Any]]]]
NOTE = {"roses.md": "# Roses\n\nRoses are watered every second day.\n"}


@pytest.fixture(scope="module")
def server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("jobs") / "project"
    shutil.copytree(sample_folder, folder)
    with served(folder, token=TOKEN, requests_per_minute="100000") as server:
        yield server


@pytest.fixture
def client(server: RunningServer) -> httpx.Client:
    return server.client


def measured(client: httpx.Client, questions: int = 20) -> str:
    """Queue an evaluation of the samples and return its job id. More questions make the job slower."""
    asked = {"collection": "samples", "questions": questions, "profiles": ["default"]}
    answer = client.post("/v1/evaluate", json=asked)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def events(client: httpx.Client, identity: str, last: str = "") -> list[tuple[str, str, dict[str, Any]]]:
    """Return id, name and data of the events of a job until it ends."""
    headers = {"last-event-id": last} if last else {}
    text = client.get(f"/v1/jobs/{identity}/events", headers=headers).text
    frames = [
        dict(line.split(": ", 1) for line in frame.split("\n"))
        for frame in text.strip().split("\n\n")
        if frame[0] != ":"
    ]
    return [(frame["id"], frame["event"], json.loads(frame["data"])) for frame in frames]


@pytest.fixture(scope="module")
def followed(server: RunningServer) -> Followed:
    """Return the id of an evaluation that was followed to its end, and its events."""
    identity = measured(server.client)
    return identity, events(server.client, identity)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def running_pid(server: RunningServer, identity: str) -> int:
    """Return the id of the process that runs a job."""
    until(server.client, identity, "running")
    with closing(open_state(server.data_dir)) as state:
        pid = JobQueue(state).get(identity).pid
    assert pid is not None
    return pid


def test_the_event_stream_of_a_job_reports_its_end_and_then_the_job_has_a_result(
    client: httpx.Client, followed: Followed
) -> None:
    identity, reported = followed
    assert {name for _, name, _ in reported[:-1]} <= {"progress"}
    _, name, last = reported[-1]
    assert (name, last["status"], last["error"]) == ("end", "done", "")
    assert last["progress"]["done"] == last["progress"]["total"] > 0
    assert client.get(f"/v1/jobs/{identity}/result").json()["reports"][0]["queries"] == 20
    assert identity in {job["id"] for job in client.get("/v1/jobs", params={"collection": "samples"}).json()["jobs"]}


def test_the_event_stream_of_a_job_that_has_already_ended_reports_its_end(
    client: httpx.Client, followed: Followed
) -> None:
    identity, reported = followed
    last, _, _ = reported[-1]
    assert [name for _, name, _ in events(client, identity, last)] == ["end"]


def test_a_request_for_the_result_of_an_unfinished_job_is_refused(server: RunningServer, client: httpx.Client) -> None:
    with writer_lock(server.data_dir, "somebody else"):
        identity = upload(client, "waiting", NOTE).json()["job"]["id"]
        assert client.get(f"/v1/jobs/{identity}/result").status_code == 409
        client.post(f"/v1/jobs/{identity}/cancel")


def test_a_job_waits_while_another_process_holds_the_lock_and_names_the_process(
    server: RunningServer, client: httpx.Client
) -> None:
    with writer_lock(server.data_dir, "a long ingest"):
        identity = upload(client, "later", NOTE).json()["job"]["id"]
        waiting = until(client, identity, "queued", notes="a long ingest")
        assert waiting["attempts"] == 0
    assert ended(client, identity)["status"] == "done"


def test_a_queued_job_is_cancelled_at_once(server: RunningServer, client: httpx.Client) -> None:
    with writer_lock(server.data_dir, "somebody else"):
        identity = upload(client, "never", NOTE).json()["job"]["id"]
        assert client.post(f"/v1/jobs/{identity}/cancel").json()["status"] == "cancelled"
    time.sleep(1)
    assert client.get(f"/v1/jobs/{identity}").json()["status"] == "cancelled"
    assert "never" not in {one["name"] for one in client.get("/v1/collections").json()}


def test_cancelling_a_running_job_stops_its_process(server: RunningServer, client: httpx.Client) -> None:
    identity = measured(client, questions=1000)
    pid = running_pid(server, identity)
    assert client.post(f"/v1/jobs/{identity}/cancel").json()["status"] == "cancelled"
    deadline = time.monotonic() + 30
    while is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert client.get(f"/v1/jobs/{identity}").json()["status"] == "cancelled"


def test_a_job_whose_process_is_killed_is_run_again(server: RunningServer, client: httpx.Client) -> None:
    identity = measured(client, questions=20)
    os.kill(running_pid(server, identity), signal.SIGKILL)
    job = ended(client, identity)
    assert (job["status"], job["attempts"]) == ("done", 2)


def test_several_servers_that_share_a_data_directory_run_each_job_once(
    server: RunningServer, client: httpx.Client
) -> None:
    with served(server.folder, token=TOKEN):
        jobs = [measured(client) for _ in range(2)]
        assert [(job["status"], job["attempts"]) for job in (ended(client, it) for it in jobs)] == [("done", 1)] * 2
    assert not list((server.data_dir / "jobs" / "queue").iterdir())


def test_the_next_server_continues_the_job_of_a_stopped_server(sample_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_folder, tmp_path / "project")
    with served(tmp_path / "project") as server:
        identity = measured(server.client, questions=20)
        pid = running_pid(server, identity)
    assert not is_alive(pid)
    with closing(open_state(server.data_dir)) as state:
        left = JobQueue(state).get(identity)
    assert (left.status, left.attempts) == ("queued", 0)
    with served(tmp_path / "project") as server:
        assert ended(server.client, identity)["status"] == "done"


def test_a_read_only_key_sees_jobs_but_cannot_cancel_a_job(server: RunningServer) -> None:
    reader, stranger = key(server, "reader", ["samples", "hold"], []), key(server, "stranger", ["other"], ["other"])
    with writer_lock(server.data_dir, "somebody else"):
        identity = upload(server.client, "hold", NOTE).json()["job"]["id"]
        path = f"/v1/jobs/{identity}"
        assert server.client.get(path, headers=reader).json()["mine"] is False
        assert server.client.post(f"{path}/cancel", headers=reader).status_code == 403
        for way in ("", "/result", "/events"):
            assert server.client.get(f"{path}{way}", headers=stranger).status_code == 403
        assert server.client.post(f"{path}/cancel", headers=stranger).status_code == 403
        assert server.client.get("/v1/jobs", headers=stranger).json()["jobs"] == []
        assert server.client.post(f"{path}/cancel").json()["status"] == "cancelled"


def test_an_unknown_job_id_is_refused(client: httpx.Client) -> None:
    assert client.get(f"/v1/jobs/{'0' * 32}").status_code == 403
    assert client.get("/v1/jobs/../../etc/passwd").status_code == 404
    assert client.get("/v1/jobs/x").status_code == 422
