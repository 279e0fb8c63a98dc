"""A worker has no secrets and no network, and always ends with its parent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from elt_llm_ingest.sandbox.guards import ParseLimits, can_leave_network
from elt_llm_ingest.sandbox.pool import ParsePool
from processes.sandbox_workers import ENDLESS_PDF, reason_for, runs, wait_until, workers_of

pytestmark = pytest.mark.halved


PARENT = """
import sys
from pathlib import Path
from elt_llm_ingest.sandbox.pool import ParseLimits, ParsePool, ParseRequest

with ParsePool(ParseLimits(), 2) as pool:
    requests = [ParseRequest(Path(name)) for name in sys.argv[1:]]
    print(len(pool.read(requests[0]).text), *[worker.identifier for worker in pool._alive], flush=True)
    list(pool.read_all(requests[1:]))
"""
TRIES = """
import os, sys
from pathlib import Path
from elt_llm_ingest.sandbox.guards import give_up_writing

kept, free = map(Path, sys.argv[1:])
given_up = give_up_writing([free, Path("/dev/null"), kept / "nothing of this name"])
print(given_up)
if given_up:
    print("read" * ((kept / "a.txt").read_text() == "word"))
    (free / "b").mkdir()
    (free / "b" / "c.txt").write_text("word")
    Path("/dev/null").write_text("word")
    tries = {
        "write": lambda: (kept / "a.txt").write_text("no"),
        "create": lambda: (kept / "b.txt").write_text("no"),
        "truncate": lambda: os.truncate(kept / "a.txt", 0),
        "remove": lambda: (kept / "a.txt").unlink(),
        "move in": lambda: (free / "b" / "c.txt").rename(kept / "c.txt"),
        "move out": lambda: (kept / "a.txt").rename(free / "a.txt"),
        "link": lambda: (kept / "d.txt").symlink_to("a.txt"),
        "folder": lambda: (kept / "e").mkdir(),
        "memory": lambda: Path(f"/proc/{os.getppid()}/mem").open("r+b"),
        "network of the parent": lambda: os.open(f"/proc/{os.getppid()}/ns/net", os.O_RDONLY),
    }
    for name, attempt in tries.items():
        try:
            attempt()
        except OSError:
            continue
        print(name)
    print("freely")
"""
linux = pytest.mark.xfail(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Yield the process id of a worker whose parent has a secret environment variable."""
    monkeypatch.setenv("API_TOKEN", "a secret")
    (tmp_path / "a.txt").write_text("word")
    with ParsePool(ParseLimits(memory_mb=777), 1) as pool:
        assert reason_for(pool, tmp_path / "a.txt") == ""
        yield workers_of(pool).pop()


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Yield a process that is parsing two files, and the id of one of its workers."""
    (tmp_path / "a.txt").write_text("word")
    for name in ("b.pdf", "c.pdf"):
        (tmp_path / name).write_bytes(ENDLESS_PDF)
    names = [str(tmp_path / name) for name in ("a.txt", "b.pdf", "c.pdf")]
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, *names], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        length, identifier = process.stdout.readline().split()
        assert length == "4"
        time.sleep(0.5)
        yield process, int(identifier)
        process.kill()


@linux
def test_the_environment_of_a_worker_process_contains_no_secrets(worker: int) -> None:
    variables = Path(f"/proc/{worker}/environ").read_bytes().split(b"\0")
    assert not [variable for variable in variables if b"secret" in variable or variable.startswith(b"HOME=")]


@linux
def test_a_worker_process_has_resource_limits(worker: int) -> None:
    limits = Path(f"/proc/{worker}/limits").read_text()
    rows = {line[:26].strip(): line[26:47].strip() for line in limits.splitlines()}
    assert rows["Max address space"] == str(777 * 1024 * 1024)
    assert rows["Max file size"] == str(256 * 1024 * 1024)
    assert rows["Max core file size"] == "0"


@linux
def test_a_worker_process_starts_without_llama_index_and_pydantic(worker: int) -> None:
    assert "pydantic_core" not in Path(f"/proc/{worker}/maps").read_text()


@linux
def test_a_worker_process_has_no_network_if_the_system_supports_namespaces(worker: int) -> None:
    interfaces = Path(f"/proc/{worker}/net/dev").read_text().splitlines()[2:]
    alone = os.readlink(f"/proc/{worker}/ns/net") != os.readlink("/proc/self/ns/net")
    assert alone is can_leave_network()
    assert not alone or [line.split(":")[0].strip() for line in interfaces] == ["lo"]


@linux
def test_a_worker_process_has_no_system_capability_except_reading_files(worker: int) -> None:
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{worker}/status").read_text().splitlines())
    assert int(status["CapEff"], 16) & ~4 == int(status["CapPrm"], 16) & ~4 == 0
    assert status["NoNewPrivs"] == "1"


@linux
def test_a_process_that_gave_up_write_access_cannot_change_files_or_signal_other_processes(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "a.txt").write_text("word")
    (tmp_path / "free").mkdir()
    command = [sys.executable, "-c", TRIES, str(tmp_path / "kept"), str(tmp_path / "free")]
    done = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert done in (["False"], ["True", "read", "freely"])
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["a.txt"]
    assert (tmp_path / "kept" / "a.txt").read_text() == "word"


@pytest.mark.sampled(2, "worker guards")
@linux
def test_a_worker_process_dies_with_its_parent(parent: tuple[subprocess.Popen[str], int]) -> None:
    process, worker = parent
    assert runs(worker)
    process.kill()
    assert wait_until(lambda: not runs(worker), 5)


@pytest.mark.sampled(2, "worker guards")
@linux
def test_an_interrupted_parent_and_its_workers_end_within_two_seconds(
    parent: tuple[subprocess.Popen[str], int],
) -> None:
    process, worker = parent
    process.send_signal(signal.SIGINT)
    process.wait(2)
    assert process.returncode != 0
    assert wait_until(lambda: not runs(worker), 2)


@linux
def test_a_worker_ignores_interrupts(worker: int) -> None:
    os.kill(worker, signal.SIGINT)
    time.sleep(0.2)
    assert runs(worker)


@pytest.mark.sampled(2, "worker guards")
def test_the_memory_limit_of_a_worker_does_not_count_the_memory_of_its_parent(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from elt_llm_ingest.sandbox.pool import ParseLimits, ParsePool, ParseRequest

held = bytearray(900_000_000)
with ParsePool(ParseLimits(), 1) as pool:
    for _ in range(2):
        pool.read(ParseRequest(Path(sys.argv[1])))
        print(*[worker.identifier for worker in pool._alive])
"""
    (tmp_path / "a.txt").write_text("word")
    command = [sys.executable, "-c", script, str(tmp_path / "a.txt")]
    first, second = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert first == second
