"""A second signal stops the server without waiting for running requests."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from processes.command_line import FAKE, CommandLine
from served.answering_server import ANSWER, CHAT, QUESTION, becomes_true
from served.command import RunningCommand, serving

pytestmark = pytest.mark.network


@contextmanager
def amid_an_answer(folder: Path, logs: Path) -> Iterator[tuple[RunningCommand, Future[httpx.Response]]]:
    """Start a server whose model does not respond; yield the server and the pending request."""
    with running_model_server(ScriptedBackend((ANSWER,), context_length=16384)) as model:
        model.faults.plan(CHAT, Fault.HANG)
        with serving(folder, logs, environment=written_by(model)) as running, ThreadPoolExecutor(1) as asking:
            asked = {"question": QUESTION}
            answer = asking.submit(httpx.post, f"{running.address}/v1/ask", json=asked, timeout=60)
            assert becomes_true(lambda: bool(model.bodies(CHAT)), 60)
            yield running, answer
            running.process.kill()  # otherwise the request would wait for a model that hangs


def written_by(model: ModelHttpServer) -> dict[str, str]:
    return {
        **FAKE,
        "ELT_LLM_LLM__PROVIDER": "ollama",
        "ELT_LLM_OLLAMA__BASE_URL": model.address,
        "ELT_LLM_OLLAMA__LLM_MODEL": model.backend.name,
    }


@pytest.mark.sampled(1, "shutdown")
def test_a_second_signal_stops_the_server_at_once(own_samples: CommandLine, tmp_path: Path) -> None:
    with amid_an_answer(own_samples.folder, tmp_path) as (running, answer):
        running.process.send_signal(signal.SIGINT)
        assert becomes_true(lambda: refuses(running))
        assert running.end(signal.SIGTERM) == 143  # the first signal alone would give exit code 130
        with pytest.raises(httpx.TransportError):
            answer.result()


@pytest.mark.sampled(1, "shutdown")
def test_ctrl_c_while_the_fork_server_of_jobs_loads_its_modules_prints_no_traceback(
    own_samples: CommandLine, tmp_path: Path
) -> None:
    with serving(own_samples.folder, tmp_path) as running:
        assert becomes_true(lambda: bool(loading_fork_servers(running.process.pid)), seconds=60)
        # A terminal sends the signal to every process of the server.
        os.kill(loading_fork_servers(running.process.pid)[0], signal.SIGINT)
        assert running.end(signal.SIGINT) == 130
    assert "Traceback" not in running.output


def loading_fork_servers(pid: int) -> list[int]:
    """Return the children of a process that are fork servers of `multiprocessing` and have begun to load modules."""
    listed = " ".join(file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children"))
    folders = [Path(f"/proc/{child}") for child in listed.split()]
    return [
        int(folder.name)
        for folder in folders
        if b"multiprocessing.forkserver" in (folder / "cmdline").read_bytes()
        and "pydantic_core" in (folder / "maps").read_text()
    ]


def refuses(running: RunningCommand) -> bool:
    """Return whether the server refuses connections, because it is about to end."""
    try:
        return running.get("/health").status_code == 503
    except httpx.TransportError:
        return True
