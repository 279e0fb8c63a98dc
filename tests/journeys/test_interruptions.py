"""Interrupted and concurrent ingests: exit codes, messages, and no lost work."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from elt_llm_api.cli import run
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from processes.command_line import FAKE, CommandLine, CommandResult, command
from stored.folders import generated_files, write_files

pytestmark = pytest.mark.halved


GOES_ON = "Run the same command again to continue where it stopped."
HANGING = 4
"""The number of the request for vectors that is not answered: the first is a check, and further ones store chunks."""

# The signal arrives when the lock is taken, but before the `with` statement would release it after an error.
LOCKING = """
import functools, os, signal, threading, time, types
from elt_llm_api.cli import stop_on_signal
signal.signal(signal.SIGINT, stop_on_signal)
taken = functools.partial(os.kill, os.getpid(), signal.SIGINT)
lock = {"acquire": None, "release": None, "__enter__": taken, "__exit__": lambda *_: print("released")}
try:
    with threading.Condition(types.SimpleNamespace(**lock)):
        time.sleep(50)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture
def models() -> Iterator[ModelHttpServer]:
    """A server that does not answer one request for vectors, so that a signal surely arrives during an ingest."""
    with running_model_server(ScriptedBackend()) as server:
        server.faults.plan("/api/embed", *[Fault.NONE] * (HANGING - 1), Fault.HANG)
        yield server


@pytest.fixture
def elt_llm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line in the folder of the library, within this process."""
    return CommandLine(tmp_path, capsys)


@pytest.fixture
def embedding(models: ModelHttpServer, elt_llm: CommandLine) -> CommandLine:
    """The same command line with the models of the server."""
    return replace(
        elt_llm,
        environment={
            "ELT_LLM_INGEST__WORKERS": "1",
            "ELT_LLM_EMBEDDING__PROVIDER": "ollama",
            "ELT_LLM_EMBEDDING__BATCH_SIZE": "8",
            "ELT_LLM_OLLAMA__BASE_URL": models.address,
            "ELT_LLM_OLLAMA__EMBEDDING_MODEL": models.backend.name,
        },
    )


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with enough files to interrupt an ingest in the middle."""
    write_files(tmp_path / "files", generated_files(60, sections=8))
    return tmp_path


@contextmanager
def started(elt_llm: CommandLine, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Start the command as a process that receives signals like one in the foreground."""
    process = subprocess.Popen(
        command(*arguments),
        cwd=elt_llm.folder,
        env={**os.environ, **elt_llm.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - one thread
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_hanging_request(models: ModelHttpServer, process: "subprocess.Popen[str]") -> None:
    """Wait until the process has sent the request that is not answered."""
    while len(models.bodies("/api/embed")) < HANGING:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def ended(process: "subprocess.Popen[str]") -> CommandResult:
    out, err = process.communicate(timeout=60)
    return CommandResult(process.returncode, out, err)


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "Interrupted."), (signal.SIGTERM, 143, "Terminated.")]
)
def test_a_signal_stops_an_ingest_and_the_same_command_continues_it(
    number: signal.Signals, code: int, word: str, models: ModelHttpServer, embedding: CommandLine
) -> None:
    with started(embedding, "ingest", "files", "-c", "all") as process:
        wait_for_hanging_request(models, process)
        process.send_signal(number)
        stopped = ended(process)
    assert stopped.code == code, stopped
    assert f"{word} {GOES_ON}" in stopped.err
    assert "Traceback" not in stopped.err
    assert stopped.out == ""
    resumed = embedding("ingest", "files", "-c", "all", "--json").json
    assert resumed["published"]
    assert resumed["documents"] == 60
    oneshot = embedding("--data-dir", "other", "ingest", "files", "-c", "all", "--json")
    assert resumed["collection_hash"] == oneshot.json["collection_hash"]


def test_a_signal_while_a_lock_is_taken_leaves_no_lock_behind() -> None:
    done = subprocess.run([sys.executable, "-c", LOCKING], capture_output=True, text=True, timeout=40, check=True)
    assert done.stdout.split() == ["released", "interrupted"]


@pytest.mark.parametrize("arguments", [("ask", "Why?", "-c", "a"), ("chat", "-c", "a"), ("search", "w", "-c", "a")])
def test_commands_that_store_nothing_do_not_offer_to_continue(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting(Mapping[str, str]):
        """Raises KeyboardInterrupt while the settings are read."""

        def __getitem__(self, name: str) -> str:
            raise KeyError(name)

        def __len__(self) -> int:
            return 0

        def __iter__(self) -> Iterator[str]:
            raise KeyboardInterrupt

    assert run(arguments, Interrupting(), tmp_path) == 130
    assert capsys.readouterr().err == "\nInterrupted.\n"
    assert run(["ingest", "files", "-c", "a"], Interrupting(), tmp_path) == 130
    assert capsys.readouterr().err == f"\nInterrupted. {GOES_ON}\n"


def test_a_second_writing_command_is_refused_while_reading_commands_continue(
    library: Path, elt_llm: CommandLine, models: ModelHttpServer, embedding: CommandLine
) -> None:
    (library / "note.md").write_text("The mast is twelve metres tall.", encoding="utf-8")
    assert elt_llm("ingest", "note.md", "-c", "note").code == 0
    with started(embedding, "ingest", "files", "-c", "all") as process:
        wait_for_hanging_request(models, process)
        process.send_signal(signal.SIGSTOP)  # it holds the lock until it is killed
        refused = elt_llm("ingest", "note.md", "-c", "second")
        answered = elt_llm("ask", "How tall is the mast?", "-c", "note", "--json")
        status = elt_llm("status")
        models.released.set()
        process.send_signal(signal.SIGCONT)
        first = ended(process)
    assert refused.code == 75
    assert f"process {process.pid} (elt-llm ingest files -c all" in refused.err
    assert answered.json["answered"]
    assert f"process {process.pid}" in status.out
    assert first.code == 0, first


def test_a_closed_pipe_ends_the_command_quietly(tmp_path: Path, elt_llm: CommandLine) -> None:
    more_than_a_pipe_holds = "# Long\n\n" + "The mast is twelve metres tall.\n\n" * 8000
    (tmp_path / "long.md").write_text(more_than_a_pipe_holds, encoding="utf-8")
    assert elt_llm("ingest", "long.md", "-c", "all").code == 0
    shell = subprocess.run(
        ["bash", "-c", '"$@" | head -1; exit ${PIPESTATUS[0]}', "bash", *command("show", "long.md", "-c", "all")],
        cwd=tmp_path,
        env={**os.environ, **FAKE, "PYTHONUNBUFFERED": ""},  # unbuffered Python itself ignores a partial write
        capture_output=True,
        text=True,
        check=False,
    )
    assert (shell.stdout, shell.returncode) == ("# Long\n", 128 + signal.SIGPIPE)
    assert "Traceback" not in shell.stderr
    assert "BrokenPipeError" not in shell.stderr
