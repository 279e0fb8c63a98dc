"""Fixtures that are built once for all workers: the demo in separate processes, and the results of other commands."""

import fcntl
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from processes.command_line import QUESTIONS, CommandResult, run_here, run_process
from processes.demonstration import WATCH, Demo
from sampling import sampled
from served.project import Project

DATA = ".elt_llm"
AS_LEFT = "data-as-the-demo-left-it"


@pytest.fixture(scope="session")
def new_project(storage_settings: Callable[[Path], dict[str, Any]]) -> Callable[..., Project]:
    """Return a function that makes a project, stored in the database that the option --backend names."""

    def make(folder: Path, settings: Mapping[str, Any] | None = None) -> Project:
        return Project(folder, {**(settings or {}), **storage_settings(folder)})

    return make


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """One folder for all workers of this test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "journeys"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def one_at_a_time(folder: Path, name: str) -> Iterator[None]:
    """Let one worker build the shared resource of this name while others that need it wait."""
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made_once(folder: Path, name: str, make: Callable[[], Any]) -> Any:
    """The result of `make`, which only the first worker calls; it must be JSON-serializable."""
    file = folder / f"{name}.json"
    with one_at_a_time(folder, name):
        if not file.exists():
            file.write_text(json.dumps(make()), encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def demo(shared_folder: Path) -> Demo:
    """Return the results of two runs of `elt-llm demo`."""
    seen, watcher = shared_folder / "sockets", shared_folder / "watcher"

    def make() -> dict[str, Any]:
        watcher.mkdir()
        (watcher / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
        runs = [
            run_process("demo", *options, folder=shared_folder, PYTHONPATH=str(watcher), SOCKETS_SEEN=str(seen))
            for options in ([], ["--json"])
        ]
        shutil.copytree(shared_folder / DATA, shared_folder / AS_LEFT)  # before any test asks or chats
        sockets = seen.read_text(encoding="utf-8").splitlines() if seen.exists() else []
        return {"runs": [asdict(run) for run in runs], "sockets": sockets}

    made = made_once(shared_folder, "demo", make)
    first, second = (CommandResult(**run) for run in made["runs"])
    return Demo(shared_folder, first, second, made["sockets"])


@pytest.fixture(scope="session")
def answers(demo: Demo) -> dict[str, Any]:
    """The evaluation report of the unanswerable sample questions, and a third of the others, on the demo's collection.

    Five of the 124 answerable questions are answered wrongly, so that any third of them has the required shares.
    """
    questions = demo.folder / "questions.jsonl"

    def make() -> Any:
        lines = QUESTIONS.read_text(encoding="utf-8").splitlines(keepends=True)
        answerable = [line for line in lines if '"kind": "answerable"' in line]
        asked = [*sampled(answerable, 42), *(line for line in lines if line not in answerable)]
        questions.write_text("".join(asked), encoding="utf-8")
        ended = run_process("eval", "--answers", questions, "-c", "demo", "--json", folder=demo.folder)
        assert ended.code == 0, ended
        return ended.json

    report: dict[str, Any] = made_once(demo.folder, "answers", make)
    return report


@pytest.fixture(scope="session")
def sample_jobs(demo: Demo, shared_folder: Path) -> tuple[Path, CommandResult]:
    """A project of `elt-llm init --examples` after `elt-llm demo --jobs`, and the output of the demo.

    It starts with a copy of the demo's data, because embedding the sample documents again would take ten seconds.
    """
    folder = shared_folder / "jobs"

    def make() -> dict[str, Any]:
        shutil.copytree(demo.folder / AS_LEFT, folder / DATA)
        assert run_here("init", "--examples", folder=folder).code == 0
        return asdict(run_here("demo", "--jobs", "--json", folder=folder))

    return folder, CommandResult(**made_once(shared_folder, "sample-jobs", make))
