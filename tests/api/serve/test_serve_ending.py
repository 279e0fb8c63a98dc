"""Who asks a server twice to end does not wait for what it is at."""

import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from answering import ANSWER, CHAT, QUESTION, soon
from command_line import FAKE, CommandLine
from model_backends import ScriptedBackend
from model_faults import Fault
from model_http_server import ModelHttpServer, running_model_server
from served_command import Running, serving

pytestmark = pytest.mark.network


@contextmanager
def amid_an_answer(folder: Path, logs: Path) -> Iterator[tuple[Running, Future[httpx.Response]]]:
    """A server whose model has been asked and says nothing, and the answer that is waited for."""
    with running_model_server(ScriptedBackend((ANSWER,), context_length=16384)) as model:
        model.faults.plan(CHAT, Fault.HANG)
        with serving(folder, logs, environment=written_by(model)) as running, ThreadPoolExecutor(1) as asking:
            asked = {"question": QUESTION}
            answer = asking.submit(httpx.post, f"{running.address}/v1/query", json=asked, timeout=60)
            assert soon(lambda: bool(model.bodies(CHAT)), 60)
            yield running, answer
            running.process.kill()  # else who asks would wait for a model that hangs


def written_by(model: ModelHttpServer) -> dict[str, str]:
    return {
        **FAKE,
        "ELT_LLM_LLM__PROVIDER": "ollama",
        "ELT_LLM_OLLAMA__BASE_URL": model.address,
        "ELT_LLM_OLLAMA__LLM_MODEL": model.backend.name,
    }


def test_a_second_signal_ends_it_at_once(own_samples: CommandLine, tmp_path: Path) -> None:
    with amid_an_answer(own_samples.folder, tmp_path) as (running, answer):
        running.process.send_signal(signal.SIGINT)
        assert soon(lambda: refuses(running))
        assert running.end(signal.SIGTERM) == 143  # by itself it would end with the code of the first, 130
        with pytest.raises(httpx.TransportError):
            answer.result()


def refuses(running: Running) -> bool:
    """Whether it takes nothing more: it is about to end."""
    try:
        return running.get("/health").status_code == 503
    except httpx.TransportError:
        return True
