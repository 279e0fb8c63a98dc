"""A server over the samples whose answers a scripted model writes, and what it holds while it does."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from command_line import FAKE
from elt_llm_api.serve.workers import COMPUTING, Workers
from model_backends import ScriptedBackend
from model_http_server import ModelHttpServer, running_model_server
from served import Served, served

CHAT = "/api/chat"
"""Where the model is asked."""
EXTRACTIVE = {**FAKE, "ELT_LLM_LLM__PROVIDER": "extractive"}
"""For answers that quote, as quick as can be."""
QUESTION = "When was the Association founded, and in which town?"
ANSWER = "The Association was founded on 9 November 1887 in Quillhaven [1]."


@dataclass(frozen=True)
class Answering:
    """The server, and the server of the model that writes its answers."""

    server: Served
    model: ModelHttpServer

    def asked_of_model(self) -> int:
        """How often the model was asked so far."""
        return len(self.model.bodies(CHAT))


def copied(samples: Path, folder: Path) -> Path:
    """A copy of the project in `samples`, which may be changed; its folder."""
    shutil.copytree(samples, folder)
    return folder


@contextmanager
def answering(
    samples: Path, folder: Path, *answers: str, token: str | None = None, **serve: str
) -> Iterator[Answering]:
    """The app over a copy of the samples in `folder`; the model says `answers` in turn, by the faults of its script."""
    copied(samples, folder)
    backend = ScriptedBackend(answers or (ANSWER,), context_length=16384)
    with running_model_server(backend) as model:
        environment = {
            **FAKE,
            "ELT_LLM_LLM__PROVIDER": "ollama",
            "ELT_LLM_OLLAMA__BASE_URL": model.address,
            "ELT_LLM_OLLAMA__LLM_MODEL": backend.name,
        }
        with served(folder, token=token, environment=environment, **serve) as server:
            yield Answering(server, model)


@contextmanager
def every_turn_taken(workers: Workers) -> Iterator[None]:
    """Nobody else computes until the block ends."""
    with ExitStack() as taken:
        for _ in range(COMPUTING):
            taken.enter_context(workers.computing(threading.Event()))
        yield


def threads_named(prefix: str) -> int:
    """How many threads of that name there are."""
    return sum(thread.name.startswith(prefix) for thread in threading.enumerate())


def soon(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether the condition comes true within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
