"""Hosts on this machine: named network namespaces, each connected to the machine by a virtual cable.

Run as a program on such a host, this module holds a lock, tries to take one, answers, or runs jobs; see `WORK`.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from elt_llm_api.serve.access.principal import ReadableCollection
from elt_llm_api.serve.jobs.runner import run_queued_jobs
from elt_llm_api.serve.services import open_services
from elt_llm_core.errors import EltError, LockHeld
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue
from elt_llm_core.store.lock import writer_lock

ATTEMPTS = 50


@dataclass(frozen=True)
class Host:
    """A host, whose processes reach this machine at `gateway`."""

    name: str
    gateway: str

    def start(self, work: str, folder: Path, **environment: str) -> "subprocess.Popen[str]":
        """Start the named work on a project in `folder`. The process prints lines of JSON, and ends with its input."""
        words = ["ip", "netns", "exec", self.name, "unshare", "--uts", "sh", "-c", f'hostname {self.name}; exec "$@"']
        path = f"{os.environ.get('PYTHONPATH', '')}:{Path(__file__).parents[1]}"
        return subprocess.Popen(
            [*words, "sh", sys.executable, "-m", "processes.hosts", work, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, **environment},
        )

    def disconnect(self) -> None:
        """Disconnect the cable, as if the host had died: its connections end without notice."""
        _ip("-n", self.name, "link", "set", "eth0", "down")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def two_hosts() -> Iterator[tuple[Host, Host]]:
    """Make two hosts, which only root can do, and remove them at the end."""
    made = []
    try:
        for number in (1, 2):
            network = f"10.{200 + number}.{os.getpid() % 250}"  # workers, which start together, have different ones
            host = Host(f"elt{os.getpid()}-{number}", f"{network}.1")
            cable = f"elt{os.getpid() % 10**8}.{number}"
            _ip("netns", "add", host.name)
            made.append(host)
            _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", host.name)
            _ip("address", "add", f"{host.gateway}/24", "dev", cable)
            _ip("link", "set", cable, "up")
            _ip("-n", host.name, "address", "add", f"{network}.2/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                _ip("-n", host.name, "link", "set", device, "up")
        yield made[0], made[1]
    finally:
        for host in made:
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "delete", host.name)


def _say(value: object) -> None:
    print(json.dumps(value), flush=True)  # noqa: T201 - the output of a program


def _hold(folder: Path) -> None:
    """Hold the lock of the writer until the input ends."""
    with writer_lock(load_settings(None, {}, folder).workspace, "elt-llm ingest"):
        _say("held")
        sys.stdin.read()


def _try(folder: Path) -> None:
    """Try to become a second writer, and print the time and the message of each refusal."""
    workspace, refused = load_settings(None, {}, folder).workspace, []
    for _ in range(ATTEMPTS):
        began = time.monotonic()
        try:
            with writer_lock(workspace, "elt-llm purge"):
                refused.append((0.0, "not refused"))
        except LockHeld as error:
            refused.append((time.monotonic() - began, str(error)))
    _say(refused)


def _answer(folder: Path) -> None:
    """Search as a server does, and print when each generation was first searched, and its number."""
    with open_services(load_settings(None, {}, folder)) as services:
        last = 0
        while last < 2:
            with suppress(EltError), services.engines.lend([ReadableCollection("library")], "default") as engine:
                engine.search("reef")
                if (number := engine.generations[0].number) > last:
                    last = number
                    _say((time.time(), last))
            time.sleep(0.05)


def _run_jobs(folder: Path) -> None:
    """Run the jobs of the queue until the input ends."""
    loaded = load_settings(None, {}, folder)
    with closing(open_state(loaded.workspace)) as state, run_queued_jobs(JobQueue(state), lambda: loaded):
        _say("running")
        sys.stdin.read()


WORK: dict[str, Callable[[Path], None]] = {"hold": _hold, "try": _try, "answer": _answer, "run-jobs": _run_jobs}


if __name__ == "__main__":
    WORK[sys.argv[1]](Path(sys.argv[2]))
