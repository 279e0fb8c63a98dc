"""The demo, run once for all workers with the real embedding model, in processes of their own that are watched."""

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from command_line import QUESTIONS, Ended, run_process
from demonstration import WATCH, Demo


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """One folder for all workers of this test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "journeys"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Workers wait for the one that makes what all of them need."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made_once(folder: Path, name: str, make: Callable[[], Any]) -> Any:
    """What `make` gives, which only the first worker calls; the value must survive JSON."""
    file = folder / f"{name}.json"
    with one_at_a_time(folder):
        if not file.exists():
            file.write_text(json.dumps(make()), encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def demo(shared_folder: Path) -> Demo:
    """`elt-llm demo`, twice."""
    seen, watcher = shared_folder / "sockets", shared_folder / "watcher"

    def make() -> dict[str, Any]:
        watcher.mkdir()
        (watcher / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
        runs = [
            run_process("demo", *options, folder=shared_folder, PYTHONPATH=str(watcher), SOCKETS_SEEN=str(seen))
            for options in ([], ["--json"])
        ]
        sockets = seen.read_text(encoding="utf-8").splitlines() if seen.exists() else []
        return {"runs": [asdict(run) for run in runs], "sockets": sockets}

    made = made_once(shared_folder, "demo", make)
    first, second = (Ended(**run) for run in made["runs"])
    return Demo(shared_folder, first, second, made["sockets"])


@pytest.fixture(scope="session")
def answers(demo: Demo) -> dict[str, Any]:
    """The report of all sample questions, asked of the demo's collection."""

    def make() -> Any:
        ended = run_process("eval", "--answers", QUESTIONS, "-c", "demo", "--json", folder=demo.folder)
        assert ended.code == 0, ended
        return ended.json

    report: dict[str, Any] = made_once(demo.folder, "answers", make)
    return report


@pytest.fixture(scope="session")
def sample_jobs(shared_folder: Path) -> tuple[Path, Ended]:
    """A project of `elt-llm init` after `elt-llm demo --jobs`, and what the demo said."""
    folder = shared_folder / "jobs"

    def make() -> dict[str, Any]:
        folder.mkdir()
        assert run_process("init", folder=folder).code == 0
        return asdict(run_process("demo", "--jobs", "--json", folder=folder))

    return folder, Ended(**made_once(shared_folder, "sample-jobs", make))
