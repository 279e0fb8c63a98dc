"""Serve the samples with a scripted model, and inspect the resources that the server uses."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from elt_llm_api.serve.workers import COMPUTE_THREADS, Workers
from model_servers.backends import ScriptedBackend
from model_servers.http_server import ModelHttpServer, running_model_server
from processes.command_line import FAKE
from served.server import RunningServer, served

CHAT = "/api/chat"
"""The path at which the fake model server receives requests for answers."""
EXTRACTIVE = {**FAKE, "ELT_LLM_LLM__PROVIDER": "extractive"}
"""The environment for fast answers that quote the documents: a fake embedding and no language model."""
QUESTION = "When was the Association founded, and in which town?"
ANSWER = "The Association was founded on 9 November 1887 in Quillhaven [1]."


@dataclass(frozen=True)
class AnsweringServer:
    """The running server, and the fake model server that writes its answers."""

    server: RunningServer
    model: ModelHttpServer

    def asked_of_model(self) -> int:
        """Return the number of requests to the model so far."""
        return len(self.model.bodies(CHAT))


def copied_project(samples: Path, folder: Path) -> Path:
    """Copy the project in `samples`, so that a test may change it; return the new folder."""
    shutil.copytree(samples, folder)
    return folder


@contextmanager
def answering(
    samples: Path, folder: Path, *answers: str, token: str | None = None, **serve: str
) -> Iterator[AnsweringServer]:
    """Serve a copy of the samples in `folder`; the model returns `answers` in turn, with the faults of its script."""
    copied_project(samples, folder)
    backend = ScriptedBackend(answers or (ANSWER,), context_length=16384)
    with running_model_server(backend) as model:
        environment = {
            **FAKE,
            "ELT_LLM_LLM__PROVIDER": "ollama",
            "ELT_LLM_OLLAMA__BASE_URL": model.address,
            "ELT_LLM_OLLAMA__LLM_MODEL": backend.name,
        }
        with served(folder, token=token, environment=environment, **serve) as server:
            yield AnsweringServer(server, model)


@contextmanager
def every_turn_taken(workers: Workers) -> Iterator[None]:
    """Occupy every compute slot of the server until the block ends."""
    with ExitStack() as taken:
        for _ in range(COMPUTE_THREADS):
            taken.enter_context(workers.computing(threading.Event()))
        yield


def threads_named(prefix: str) -> int:
    """Return the number of running threads with this name."""
    return sum(thread.name.startswith(prefix) for thread in threading.enumerate())


def becomes_true(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Wait for a condition and return whether it became true within these seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
