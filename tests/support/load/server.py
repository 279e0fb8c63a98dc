"""Start the server as a process, measure its memory, and publish from another process."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from load.corpus import Library
from processes.command_line import command

COLLECTION = "library"


@dataclass(frozen=True)
class ServerProcess:
    """The address of the server, and its process."""

    address: str
    pid: int

    @property
    def memory_mb(self) -> float:
        """Resident memory in megabytes."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1024

    @property
    def descriptors(self) -> int:
        """The number of files and sockets that the process has open."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


@contextmanager
def serving(folder: Path, environment: Mapping[str, str]) -> Iterator[ServerProcess]:
    """Run `elt-llm serve` on the project in `folder` until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command("serve", "--port", str(port)), cwd=folder, env={**os.environ, **environment}, stdout=log, stderr=log
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(address, process)
        yield ServerProcess(address, process.pid)
    finally:
        process.terminate()
        process.wait(60)


def _wait_for(address: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server did not start"
        try:
            if httpx.get(f"{address}/health", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError("the server did not start in time")


@dataclass
class Writer:
    """Publishes edition after edition of the changing files with `elt-llm ingest`, with a pause in between."""

    folder: Path
    environment: Mapping[str, str]
    library: Library
    pause: float = 5.0
    published: int = 0
    failures: list[str] = field(default_factory=list)

    def ingest(self) -> None:
        """Ingest the library completely."""
        arguments = command("ingest", "corpus", "-c", COLLECTION, "--json")
        environment = {**os.environ, **self.environment}
        ended = subprocess.run(arguments, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        if ended.returncode:
            self.failures.append(ended.stderr[-500:])
        else:
            self.published += 1

    @contextmanager
    def running(self) -> Iterator[None]:
        """Publish editions in a thread until the block ends."""
        with repeatedly(self._edition, self.pause):
            yield

    def _edition(self) -> None:
        self.library.write_edition(self.folder / "corpus", self.published + 1)
        self.ingest()


@contextmanager
def repeatedly(work: Callable[[], None], pause: float) -> Iterator[None]:
    """Call a function repeatedly in a thread until the block ends."""
    stopped = threading.Event()

    def run() -> None:
        while not stopped.is_set():
            work()
            stopped.wait(pause)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
