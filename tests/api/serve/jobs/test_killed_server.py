"""A server killed during an ingest loses nothing: the next server finishes the ingest with the same result."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue, QueuedJob
from elt_llm_core.utilities import FAILPOINT_VARIABLE
from processes.command_line import FAKE, run_here
from served.command import serving as started
from served.documents import ended, until
from served.server import served
from stored.folders import generated_files, write_files

pytestmark = pytest.mark.network
FILES = 60
SETTINGS = {**FAKE, "ELT_LLM_INGEST__ROOTS": "[docs]", "ELT_LLM_SERVE__REQUESTS_PER_MINUTE": "100000"}


@contextmanager
def serving(project: Path, **environment: str) -> Iterator[tuple["subprocess.Popen[bytes]", httpx.Client]]:
    """Run `elt-llm serve` over a project with `docs` in ingest.roots. The server is killed at the end of the block."""
    with (
        started(project, project, environment={**SETTINGS, **environment}) as running,
        httpx.Client(base_url=running.address, timeout=60) as client,
    ):
        yield running.process, client


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the collection hash of an undisturbed ingest of the notes."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_files(folder / "docs", generated_files(FILES))
    report = run_here("ingest", "docs", "-c", "notes", "--json", folder=folder, environment=FAKE)
    return str(report.json["collection_hash"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a new project folder, which contains the notes to ingest in `docs`."""
    write_files(tmp_path / "docs", generated_files(FILES))
    return tmp_path


def kept(project: Path, identity: str) -> QueuedJob:
    with closing(open_state(project / ".elt_llm")) as state:
        return JobQueue(state).get(identity)


def wait_until_dead(pid: int) -> None:
    deadline = time.monotonic() + 120
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, f"process {pid} outlived its server"
        time.sleep(0.05)


def collection_hash(client: httpx.Client, identity: str) -> str:
    return str(client.get(f"/v1/jobs/{identity}/result").json()["collection_hash"])


def submitted(client: httpx.Client) -> str:
    return str(client.post("/v1/ingest", json={"collection": "notes", "paths": ["docs"]}).json()["id"])


@pytest.mark.sampled(1, "killed server")
def test_an_ingest_stops_when_its_server_is_killed_and_the_next_server_finishes_the_ingest(
    project: Path, expected: str
) -> None:
    with serving(project, **{FAILPOINT_VARIABLE: "embed-before:1:hang"}) as (server, client):
        identity = submitted(client)
        until(client, identity, "running")
        pid = kept(project, identity).pid
        assert pid is not None
        deadline = time.monotonic() + 120
        while client.get(f"/v1/jobs/{identity}").json()["progress"].get("stage") != "embed":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        fork_server = int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
        assert fork_server != server.pid
        server.kill()
        server.wait(60)
    wait_until_dead(pid)
    wait_until_dead(fork_server)
    assert (kept(project, identity).status, kept(project, identity).attempts) == ("queued", 0)
    with served(project, environment=SETTINGS) as server_after:
        job = ended(server_after.client, identity)
        assert (job["status"], job["error"]) == ("done", "")
        assert collection_hash(server_after.client, identity) == expected


@pytest.mark.sampled(1, "killed server")
def test_an_ingest_that_dies_with_its_server_is_started_again(project: Path, expected: str) -> None:
    with serving(project, **{FAILPOINT_VARIABLE: "index-before:1:hang"}) as (server, client):
        identity = submitted(client)
        until(client, identity, "running")
        pid = kept(project, identity).pid
        server.send_signal(signal.SIGSTOP)  # this server does not see how the job ends
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_until_dead(pid)
        server.kill()
        server.wait(60)
    assert kept(project, identity).status == "running"
    with served(project, environment=SETTINGS) as server_after:
        job = ended(server_after.client, identity)
        assert (job["status"], job["attempts"]) == ("done", 2)
        assert collection_hash(server_after.client, identity) == expected


@pytest.mark.faults
@pytest.mark.long
def test_an_ingest_whose_servers_are_repeatedly_killed_reaches_the_same_collection_hash(
    project: Path, expected: str
) -> None:
    seed = int(os.environ.get("SEED", "7"))
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    identity = ""
    for _ in range(int(os.environ.get("KILLS", "1"))):
        with serving(project) as (server, client):
            identity = identity or submitted(client)
            time.sleep(chance.uniform(0, 4))
            server.kill()
    with served(project, environment=SETTINGS) as server_after:
        assert ended(server_after.client, identity)["status"] == "done", seed
        assert collection_hash(server_after.client, identity) == expected, seed
